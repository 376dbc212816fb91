-- Sums of densities whose values lie on a coarser step than their type's: each is a few ranges, and their sum
-- counts on the same lattice, or says how far off it may be.
\set ECHO none \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS lattice_sums CASCADE;
CREATE SCHEMA lattice_sums;
SET search_path = lattice_sums, public;
RESET client_min_messages;

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

-- Of both parts, each a density.
CREATE FUNCTION sum_of(name text, measure text) RETURNS kde LANGUAGE plpgsql AS $$
DECLARE
  d kde;
BEGIN
  EXECUTE format('SELECT rollup(d) FROM (SELECT kde_agg(at, %I) AS d FROM %I GROUP BY part) AS s', measure, name) INTO d;
  RETURN d;
END $$;
-- How many of the ranges asked for are answered otherwise than by all rows; how many intervals do not hold them.
-- `exact`: answers said to be so.
CREATE FUNCTION differs(name text, density kde, extra kde, OUT counts bigint, OUT sums bigint, OUT outside bigint,
                        OUT sums_outside bigint, OUT exact bigint) LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format($sql$
    SELECT count(*) FILTER (WHERE round(c.estimate) <> n), count(*) FILTER (WHERE abs(a.estimate - s) > 0.001),
      count(*) FILTER (WHERE n NOT BETWEEN c.lower_bound - 1e-6 AND c.upper_bound + 1e-6),
      count(*) FILTER (WHERE s NOT BETWEEN a.lower_bound - 1e-3 AND a.upper_bound + 1e-3)
        + count(*) FILTER (WHERE e NOT BETWEEN b.lower_bound - 1e-3 AND b.upper_bound + 1e-3),
      count(*) FILTER (WHERE c.upper_bound - c.lower_bound < 1e-6)
    FROM %I, LATERAL (SELECT count(*) AS n, coalesce(sum(amount), 0) AS s, coalesce(sum(extra), 0) AS e FROM %I WHERE at BETWEEN low AND high) AS t,
      approx_count_ci($1, low, high) AS c, approx_sum_ci($1, low, high, measure => '2') AS a, approx_sum_ci($2, low, high, measure => '2') AS b
  $sql$, name || '_asked', name) INTO counts, sums, outside, sums_outside, exact USING density, extra;
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
CREATE TABLE summed AS SELECT name, sum_of(name, 'amount') AS density, sum_of(name, 'extra') AS extra FROM tried;
SELECT name, lattice_step, d.* FROM summed, kde_info(density), differs(name, density, extra) AS d ORDER BY name;

SET client_min_messages = warning;
DROP SCHEMA lattice_sums CASCADE;
