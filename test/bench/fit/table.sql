-- A table of 20 columns, fitted whole and one column alone, by one thread and by as many as a fit gets.
-- Variables: rows, runs, processors. Processor time is that of the backend with all its threads.
CREATE EXTENSION kde_aqp;
SELECT setseed(0.42) \g /dev/null
CREATE TABLE twenty AS SELECT
  (random() * 1e6)::integer AS c1, (random() * 100)::integer AS c2, (random() ^ 3 * 1e6)::integer AS c3,
  (random() * 2e9)::bigint AS c4, (random() * 30)::smallint AS c5,
  random() AS c6, -ln(1 - random()) * 100 AS c7, (random() + random() + random() - 1.5) * 10 AS c8,
  exp(4 * (random() + random() - 1)) AS c9, round((random() * 1000)::numeric, 1)::float8 AS c10,
  round((random() * 1000)::numeric, 2) AS c11, round(exp(6 * random())::numeric, 2) AS c12,
  round((random() * 1e5)::numeric, 4) AS c13, (random() * 100)::numeric AS c14, (random() * 50)::integer::numeric AS c15,
  timestamp '2020-01-01' + random() * interval '1000 days' AS c16,
  timestamptz '2020-01-01' + floor(random() * 86400 * 300) * interval '1 second' AS c17,
  date '2020-01-01' + (random() * 1500)::integer AS c18,
  timestamp '2020-01-01' + random() ^ 2 * interval '100 days' AS c19,
  date_trunc('hour', timestamp '2020-01-01' + random() * interval '700 days') AS c20
FROM generate_series(1, :rows);
VACUUM ANALYZE twenty;

CREATE FUNCTION processor_seconds() RETURNS double precision LANGUAGE sql AS $$
  SELECT (f[14]::float8 + f[15]::float8) / 100 FROM string_to_array(pg_read_file('/proc/self/stat'), ' ') AS f
$$;
CREATE TABLE timed (what text, threads integer, seconds double precision, processor double precision);
CREATE PROCEDURE time_fits(runs integer) LANGUAGE plpgsql AS $$
DECLARE
  fit record;
  start timestamptz;
  before double precision;
BEGIN
  FOR run IN 0 .. runs LOOP
    FOR fit IN
      SELECT what, of, threads FROM (VALUES ('one', '''twenty'', ''c1'''), ('all', '''twenty''')) AS f (what, of),
        unnest('{1,0}'::integer[]) AS threads
    LOOP
      PERFORM set_config('kde_aqp.threads', fit.threads::text, false);
      before := processor_seconds();
      start := clock_timestamp();
      EXECUTE format('SELECT count(f) FROM kde_fit(%s, seed => 1) AS f', fit.of);
      -- The first of each finds nothing at hand.
      CONTINUE WHEN run = 0;
      INSERT INTO timed VALUES (fit.what, fit.threads, extract(epoch FROM clock_timestamp() - start),
        processor_seconds() - before);
    END LOOP;
  END LOOP;
END $$;
CALL time_fits(:runs);

\pset tuples_only off
\echo Medians in seconds, kde_aqp.threads = 0: as many as a fit gets.
CREATE VIEW median AS
  SELECT what, threads, percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) AS seconds,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY processor) AS processor, min(seconds) AS least, max(seconds) AS most
  FROM timed GROUP BY what, threads;
SELECT what, threads, round(seconds::numeric, 3) AS seconds, round(processor::numeric, 2) AS processor_s,
  round(least::numeric, 3) AS least, round(most::numeric, 3) AS most FROM median ORDER BY what DESC, threads DESC;
SELECT threads, round((a.seconds / o.seconds)::numeric, 1) AS twenty_columns_over_one, 2.5 AS at_most,
  CASE WHEN a.seconds <= 2.5 * o.seconds THEN 'ok' ELSE 'SHORT' END AS "?", :processors AS processors
FROM median AS a JOIN median AS o USING (threads) WHERE a.what = 'all' AND o.what = 'one' ORDER BY threads DESC;
