-- What the parts of `make bench-agg` share: timing, the list of figures with their bounds, and the
-- table of values. Variables: rows, has_tdigest.
\set ON_ERROR_STOP on
SET client_min_messages = warning;
CREATE EXTENSION kde_aqp;
\if :has_tdigest
CREATE EXTENSION tdigest;
\endif

CREATE SCHEMA bench;
-- A figure and what is asked of it.
CREATE TABLE bench.bound (
  id serial PRIMARY KEY, section text, what text, figure double precision, bound double precision,
  at_least boolean, digits integer, note text DEFAULT '');

-- What is timed: workers is max_parallel_workers_per_gather, leader parallel_leader_participation.
CREATE TABLE bench.query (
  id serial PRIMARY KEY, section text, what text, query text, workers integer DEFAULT 0,
  leader boolean DEFAULT true);
CREATE TABLE bench.timing (query_id integer REFERENCES bench.query (id), run integer, ms double precision);

-- EXECUTE without INTO throws the result away and may run in parallel.
CREATE FUNCTION bench.ms(query text) RETURNS double precision LANGUAGE plpgsql AS $$
DECLARE
  start timestamptz := clock_timestamp();
BEGIN
  EXECUTE query;
  RETURN 1000 * extract(epoch FROM clock_timestamp() - start);
END $$;

-- A section's queries in turn, `runs` times, so that what disturbs the machine disturbs them all.
CREATE PROCEDURE bench.interleave(of text, runs integer) LANGUAGE plpgsql AS $$
DECLARE
  q bench.query;
BEGIN
  FOR run IN 1 .. runs LOOP
    FOR q IN SELECT * FROM bench.query AS a WHERE a.section = of ORDER BY a.id LOOP
      PERFORM set_config('max_parallel_workers_per_gather', q.workers::text, true),
        set_config('parallel_leader_participation', q.leader::text, true);
      INSERT INTO bench.timing VALUES (q.id, run, bench.ms(q.query));
      COMMIT;
    END LOOP;
  END LOOP;
END $$;

CREATE VIEW bench.median AS
  SELECT q.*, percentile_cont(0.5) WITHIN GROUP (ORDER BY t.ms) AS ms, min(t.ms) AS least, count(*) AS runs
  FROM bench.query AS q JOIN bench.timing AS t ON t.query_id = q.id GROUP BY q.id;

-- Of medians of one section: one query's over another's.
CREATE FUNCTION bench.ratio(of text, what_of text, over text) RETURNS double precision
LANGUAGE sql STABLE AS $$
  SELECT a.ms / b.ms FROM bench.median AS a JOIN bench.median AS b USING (section)
  WHERE section = of AND a.what = what_of AND b.what = over
$$;

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
