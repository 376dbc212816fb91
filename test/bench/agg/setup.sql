-- What the parts of `make bench-agg` share: extensions and the table of values. After timing.sql.
-- Variables: rows, has_tdigest.
\set ON_ERROR_STOP on
SET client_min_messages = warning;
CREATE EXTENSION kde_aqp;
\if :has_tdigest
CREATE EXTENSION tdigest;
\endif

-- The values: lognormal, in random order (Box & Muller's normal deviate). OFFSET 0: drawn once.
CREATE UNLOGGED TABLE bench.line (x double precision NOT NULL) WITH (autovacuum_enabled = false);
SELECT setseed(0.5) \g /dev/null
INSERT INTO bench.line
  SELECT exp(sqrt(-2 * ln(1 - u)) * cos(2 * pi() * v))
  FROM (SELECT random() AS u, random() AS v FROM generate_series(1, :rows) OFFSET 0) AS drawn;

-- The same in groups, whose rows lie scattered: 1,000 rows a group, and 10 rows a group of a tenth
-- of the table.
CREATE UNLOGGED TABLE bench.grouped (g integer NOT NULL, x double precision NOT NULL)
  WITH (autovacuum_enabled = false);
INSERT INTO bench.grouped
  SELECT (row_number() OVER () * 7919 % greatest(:rows / 1000, 1))::integer, x FROM bench.line;
CREATE UNLOGGED TABLE bench.scattered (g integer NOT NULL, x double precision NOT NULL)
  WITH (autovacuum_enabled = false);
INSERT INTO bench.scattered
  SELECT (row_number() OVER () * 7919 % greatest(:rows / 100, 1))::integer, x
  FROM (SELECT x FROM bench.line LIMIT :rows / 10) AS s;
VACUUM ANALYZE bench.line, bench.grouped, bench.scattered;
-- Into shared memory.
SELECT count(x) FROM bench.line \g /dev/null
SELECT count(x) FROM bench.grouped \g /dev/null
SELECT count(x) FROM bench.scattered \g /dev/null
SELECT format('%s rows of double precision, lognormal in random order: %s; shared_buffers %s, jit %s',
  to_char(:rows, 'FM999,999,999,999'), pg_size_pretty(pg_relation_size('bench.line')),
  current_setting('shared_buffers'), current_setting('jit'));
