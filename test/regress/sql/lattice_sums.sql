-- Parts of an incremental density whose values lie on a coarser step than their type's: each part is a few
-- ranges, and their sum counts on the same lattice, or says how far off it may be.
\set ECHO none \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS incremental_lattice CASCADE;
CREATE SCHEMA incremental_lattice;
SET search_path = incremental_lattice, public;
RESET client_min_messages;
SET kde_aqp.approximate_notice = off;

-- Table `name`, value i of the column as `value` makes it: of the first part, and from i = 15000 on of the second
-- one, which has every `every`-th alone.
CREATE FUNCTION make(name text, type text, value text, every integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('CREATE TABLE %I (at %s NOT NULL, amount numeric(12, 2), extra numeric(12, 2), part integer) PARTITION BY LIST (part)', name, type);
  EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES IN (1)', name || '_1', name);
  EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES IN (2)', name || '_2', name);
  EXECUTE format('INSERT INTO %I SELECT %s, 7, CASE WHEN i %% 3 > 0 THEN i %% 11 END, CASE WHEN i < 15000 THEN 1 ELSE 2 END
    FROM generate_series(0, 29999) AS i CROSS JOIN generate_series(1, 3) WHERE i < 15000 OR i %% $1 = 0', name, value) USING every;
  -- Ends at a value, and between two.
  EXECUTE format('CREATE TABLE %I AS SELECT k, least(a, b)::%s AS low, greatest(a, b)::%2$s AS high FROM (SELECT k,
      (SELECT %3$s FROM (SELECT k * 7919 %% 30000 AS i) AS s) AS a,
      (SELECT %3$s FROM (SELECT k * 104729 %% 29990 + (k %% 3) * 0.3 AS i) AS s) AS b FROM generate_series(1, 60) AS k) AS r', name || '_asked', type, value);
END $$;

-- How many of the ranges asked for are answered otherwise than by all rows; how many intervals do not hold them.
-- `exact`: answers said to be so. Plain SQL: which has an exact answer, if the density's interval is too wide.
CREATE FUNCTION differs(name text, OUT plain bigint, OUT counts bigint, OUT sums bigint, OUT outside bigint,
                        OUT sums_outside bigint, OUT exact bigint) LANGUAGE plpgsql AS $$
DECLARE
  r record; n bigint; s numeric; m numeric; c bigint; d numeric; l record; density text := name || '.at';
BEGIN
  plain := 0; counts := 0; sums := 0; outside := 0; sums_outside := 0; exact := 0;
  FOR r IN EXECUTE format('SELECT * FROM %I', name || '_asked') LOOP
    SET LOCAL kde_aqp.approximate = 'off';
    EXECUTE format('SELECT count(*), sum(amount), sum(extra) FROM %I WHERE at >= $1 AND at <= $2', name) INTO n, s, m USING r.low, r.high;
    SET LOCAL kde_aqp.approximate = 'all';
    EXECUTE format('SELECT count(*), sum(amount) FROM %I WHERE at >= %L AND at <= %L', name, r.low, r.high) INTO c, d;
    IF abs(c - n) > 0.01 * n OR abs(d - s) > 0.01 * s THEN plain := plain + 1; END IF;
    IF round(approx_count(density, r.low, r.high)) <> n THEN counts := counts + 1; END IF;
    IF abs(approx_sum(density, r.low, r.high, measure => 'amount')::numeric - coalesce(s, 0)) > 0.001 THEN sums := sums + 1; END IF;
    SELECT * INTO l FROM approx_count_ci(density, r.low, r.high);
    IF n NOT BETWEEN l.lower_bound - 1e-6 AND l.upper_bound + 1e-6 THEN outside := outside + 1; END IF;
    IF l.upper_bound - l.lower_bound < 1e-6 THEN exact := exact + 1; END IF;
    SELECT * INTO l FROM approx_sum_ci(density, r.low, r.high, measure => 'amount');
    IF coalesce(s, 0) NOT BETWEEN l.lower_bound - 1e-3 AND l.upper_bound + 1e-3 THEN sums_outside := sums_outside + 1; END IF;
    SELECT * INTO l FROM approx_sum_ci(density, r.low, r.high, measure => 'extra');
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
  ('time', $$'00:00'::time + i * interval '2 seconds'$$);

-- Both parts on one lattice; the second on every seventh point of it; and on points between those of the first.
CREATE TABLE tried AS
  SELECT 'same_' || split_part(type, '(', 1) AS name, type, value, 1 AS every FROM types
  UNION ALL SELECT 'seventh_' || split_part(type, '(', 1), type, value, 7 FROM types
  UNION ALL SELECT 'between_' || split_part(type, '(', 1), type, replace(value, 'i ', '(i + CASE WHEN i >= 15000 THEN 0.4 ELSE 0 END) '), 1
    FROM types WHERE type NOT LIKE '%int%' OR type = 'interval';
\set ECHO queries
SELECT count(make(name, type, value, every)) FROM tried;
SELECT 'VACUUM (FREEZE, ANALYZE) ' || name FROM tried \gexec
SELECT count(kde_fit(name::regclass, 'at', sample_rows => -1, measures => ARRAY['amount', 'extra'], incremental => true)) FROM tried;
SELECT count(*) FROM tried, kde_set_plain_sql(name || '.at', true);
SELECT tried.name, lattice_step, d.* FROM tried LEFT JOIN kde_densities_full AS k ON k.relation = tried.name::regclass,
  differs(tried.name) AS d ORDER BY tried.name;
-- Values as well: added up as one.
CREATE TABLE daily AS SELECT part, kde_agg(at) AS d FROM same_timestamp GROUP BY part;
SELECT sum((round(approx_count(d, low, high)) <> (SELECT count(*) FROM same_timestamp WHERE at >= low AND at <= high))::integer) AS differ
FROM (SELECT rollup(d) AS d FROM daily) AS s, same_timestamp_asked;

SET client_min_messages = warning;
DROP SCHEMA incremental_lattice CASCADE;
