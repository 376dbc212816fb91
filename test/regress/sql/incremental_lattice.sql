-- Parts of an incremental density whose values lie on a coarser step than their type's: each part is a few
-- ranges, and their sum counts on the same lattice, or says how far off it may be.
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS incremental_lattice CASCADE;
CREATE SCHEMA incremental_lattice;
SET search_path = incremental_lattice, public;
RESET client_min_messages;
SET kde_aqp.approximate_notice = off;

-- Table t, value i of the column as `value` makes it: of the first part, and from i = 10000 on of the second
-- one, which has every `every`-th alone.
CREATE FUNCTION make(type text, value text, every integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  SET LOCAL client_min_messages = warning;
  DROP TABLE IF EXISTS t, asked;
  EXECUTE format('CREATE TABLE t (at %s NOT NULL, amount numeric(12, 2), some numeric(12, 2), part integer) PARTITION BY LIST (part)', type);
  CREATE TABLE t1 PARTITION OF t FOR VALUES IN (1);
  CREATE TABLE t2 PARTITION OF t FOR VALUES IN (2);
  EXECUTE format('INSERT INTO t SELECT %s, 7, CASE WHEN i %% 3 > 0 THEN i %% 11 END, CASE WHEN i < 10000 THEN 1 ELSE 2 END
    FROM generate_series(0, 19999) AS i CROSS JOIN generate_series(1, 3) WHERE i < 10000 OR i %% $1 = 0', value) USING every;
  -- Ends at a value, and between two.
  EXECUTE format('CREATE TABLE asked AS SELECT k, least(a, b) AS low, greatest(a, b) AS high FROM (SELECT k,
      (SELECT %1$s FROM (SELECT k * 7919 %% 20000 AS i) AS s) AS a,
      (SELECT %1$s FROM (SELECT k * 104729 %% 19990 + (k %% 3) * 0.3 AS i) AS s) AS b FROM generate_series(1, 60) AS k) AS r', value);
  EXECUTE 'ALTER TABLE asked ALTER low TYPE ' || type || ', ALTER high TYPE ' || type;
END $$;

-- How many of the ranges asked for are answered otherwise than by all rows; how many intervals do not hold them.
CREATE FUNCTION differs(OUT plain bigint, OUT answered bigint, OUT counts bigint, OUT sums bigint, OUT outside bigint,
                        OUT sums_outside bigint) LANGUAGE plpgsql AS $$
DECLARE
  r record; n bigint; s numeric; m numeric; c bigint; d numeric; l record; hits text;
BEGIN
  plain := 0; answered := 0; counts := 0; sums := 0; outside := 0; sums_outside := 0;
  FOR r IN SELECT * FROM asked LOOP
    SET LOCAL kde_aqp.approximate = off;
    SELECT count(*), sum(amount), sum(some) INTO n, s, m FROM t WHERE at >= r.low AND at <= r.high;
    SET LOCAL kde_aqp.approximate = all;
    EXECUTE format('SELECT count(*), sum(amount) FROM t WHERE at >= %L AND at <= %L', r.low, r.high) INTO c, d;
    IF (c, d) IS DISTINCT FROM (n, s) THEN plain := plain + 1; END IF;
    EXECUTE format('EXPLAIN (FORMAT json) SELECT count(*), sum(amount) FROM t WHERE at >= %L AND at <= %L', r.low, r.high) INTO hits;
    IF hits LIKE '%kde_aqp%' THEN answered := answered + 1; END IF;
    SET LOCAL kde_aqp.approximate = off;
    IF round(approx_count('t.at', r.low, r.high)) <> n THEN counts := counts + 1; END IF;
    IF abs(approx_sum('t.at', r.low, r.high, measure => 'amount')::numeric - coalesce(s, 0)) > 0.001 THEN sums := sums + 1; END IF;
    SELECT * INTO l FROM approx_count_ci('t.at', r.low, r.high);
    IF n NOT BETWEEN l.lower_bound - 1e-6 AND l.upper_bound + 1e-6 THEN outside := outside + 1; END IF;
    SELECT * INTO l FROM approx_sum_ci('t.at', r.low, r.high, measure => 'amount');
    IF coalesce(s, 0) NOT BETWEEN l.lower_bound - 1e-3 AND l.upper_bound + 1e-3 THEN sums_outside := sums_outside + 1; END IF;
    SELECT * INTO l FROM approx_sum_ci('t.at', r.low, r.high, measure => 'some');
    IF coalesce(m, 0) NOT BETWEEN l.lower_bound - 1e-3 AND l.upper_bound + 1e-3 THEN sums_outside := sums_outside + 1; END IF;
  END LOOP;
END $$;

CREATE TABLE types (type text, value text);
INSERT INTO types VALUES
  ('timestamp', $$'2026-01-01'::timestamp + i * interval '1 minute'$$),
  ('timestamptz', $$'2026-01-01 00:00+00'::timestamptz + i * interval '250 milliseconds'$$),
  ('interval', $$i * interval '1 minute'$$),
  ('float8', $$(i * 60)::float8$$),
  ('numeric(12, 2)', $$i * 0.25$$),
  ('integer', $$(i * 5)::integer$$),
  ('bigint', $$(i * 60 + 7)::bigint$$),
  ('time', $$'00:00'::time + i * interval '4 seconds'$$);

CREATE FUNCTION fit() RETURNS double precision LANGUAGE plpgsql AS $$
BEGIN
  PERFORM kde_fit('t', 'at', sample_rows => -1, measures => ARRAY['amount', 'some'], incremental => true);
  PERFORM kde_set_plain_sql('t.at', true);
  RETURN (SELECT lattice_step FROM kde_densities_full WHERE relation = 't'::regclass);
END $$;

-- Both parts on one lattice: as exact as a fit of the whole. Then on two of which the one has all points of the
-- other, and then ones that share few.
CREATE FUNCTION try(type text, value text, every integer) RETURNS TABLE (lattice text, found record) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM make(type, value, every);
  lattice := fit();
  found := differs();
  RETURN NEXT;
END $$;
\set every 1
SELECT type, r.* FROM types, LATERAL try(type, value, :every) AS r;
\set every 7
SELECT type, r.* FROM types, LATERAL try(type, value, :every) AS r;
SELECT type, r.* FROM (SELECT type, replace(value, 'i ', '(i + CASE WHEN i >= 10000 THEN 0.4 ELSE 0 END) ') AS value FROM types WHERE type NOT IN ('integer', 'bigint')) AS s,
  LATERAL try(type, value, :every) AS r;

-- Values as well: added up as one.
SELECT make('timestamp', (SELECT value FROM types WHERE type = 'timestamp'), 1);
CREATE TABLE daily AS SELECT part, kde_agg(at) AS d FROM t GROUP BY part;
SELECT sum((round(approx_count(d, low, high)) <> (SELECT count(*) FROM t WHERE at >= low AND at <= high))::integer) AS differ
FROM (SELECT rollup(d) AS d FROM daily) AS s, asked;

SET client_min_messages = warning;
DROP SCHEMA incremental_lattice CASCADE;
