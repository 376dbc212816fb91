-- What the benchmarks in SQL share: timing, and the list of figures with their bounds
-- (agg/summary.sql prints it).
\set ON_ERROR_STOP on
SET client_min_messages = warning;

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
  took double precision;
BEGIN
  FOR run IN 1 .. runs LOOP
    FOR q IN SELECT * FROM bench.query AS a WHERE a.section = of ORDER BY a.id LOOP
      PERFORM set_config('max_parallel_workers_per_gather', q.workers::text, true),
        set_config('parallel_leader_participation', q.leader::text, true);
      -- Not within the INSERT, in which plain SQL is exact.
      took := bench.ms(q.query);
      INSERT INTO bench.timing VALUES (q.id, run, took);
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
