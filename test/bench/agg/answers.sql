-- Answers from stored densities, a second: 10,000 small ones, and 10,000 of 16 KB out of line,
-- beside the bare reading of the same values.
\set ON_ERROR_STOP on
SET client_min_messages = warning;
SET work_mem = '2GB';
SET max_parallel_workers_per_gather = 0;

SELECT avg(pg_column_size(d)) > 2000 AS too_large, round(avg(pg_column_size(d))) AS bytes_by_default
FROM (SELECT kde_agg(x) AS d FROM bench.grouped WHERE g < 100 GROUP BY g) AS s \gset
\if :too_large
\set small_bytes 2000
\else
\set small_bytes 16384
\endif
CREATE TABLE bench.small (g integer, d kde);
INSERT INTO bench.small SELECT g, kde_agg(x, 'auto', 1, :small_bytes) FROM bench.grouped GROUP BY g;
-- As many as the small ones, of the 20 largest parts of the rows.
CREATE TABLE bench.large (i integer, d kde);
INSERT INTO bench.large
  SELECT i, d FROM (SELECT g % 20 AS k, kde_agg(x, 'auto', 1, 16384) AS d FROM bench.grouped GROUP BY 1 OFFSET 0) AS s
  CROSS JOIN generate_series(1, greatest(:rows / 20000, 1)) AS i;
VACUUM ANALYZE bench.small, bench.large;
\if :has_tdigest
CREATE TABLE bench.digest AS SELECT g, tdigest(x, 100) AS d FROM bench.grouped GROUP BY g;
VACUUM ANALYZE bench.digest;
\endif

-- The cheapest thing done with a whole value: its first byte. The function is bytea's get_byte().
CREATE FUNCTION bench.first_byte(kde, integer DEFAULT 0) RETURNS integer
AS 'byteaGetByte' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;

INSERT INTO bench.query (section, what, query) VALUES
  ('answers', 'approx_count(d, 0.5, 2), small', 'SELECT sum(approx_count(d, 0.5::float8, 2::float8)) FROM bench.small'),
  ('answers', 'approx_avg(d, 0.5, 2), small', 'SELECT sum(approx_avg(d, 0.5::float8, 2::float8)) FROM bench.small'),
\if :has_tdigest
  -- An aggregate: there is no other way to ask a stored digest.
  ('answers', 'tdigest_percentile_of(d, {0.5, 2}) of each, small',
    'SELECT count(s.p) FROM bench.digest AS t CROSS JOIN LATERAL (
       SELECT tdigest_percentile_of(one.d, ARRAY[0.5, 2]::float8[]) AS p FROM (SELECT t.d) AS one) AS s'),
\endif
  ('answers', 'first byte, small', 'SELECT sum(bench.first_byte(d, 0)) FROM bench.small'),
  ('answers', 'approx_count(d, 0.5, 2), 16 KB', 'SELECT sum(approx_count(d, 0.5::float8, 2::float8)) FROM bench.large'),
  ('answers', 'approx_avg(d, 0.5, 2), 16 KB', 'SELECT sum(approx_avg(d, 0.5::float8, 2::float8)) FROM bench.large'),
  ('answers', 'first byte, 16 KB', 'SELECT sum(bench.first_byte(d, 0)) FROM bench.large');
CALL bench.interleave('answers', 1);
DELETE FROM bench.timing USING bench.query AS q WHERE q.id = query_id AND q.section = 'answers';
CALL bench.interleave('answers', :answer_runs);

\pset tuples_only off
\echo
\echo 'Stored densities'
SELECT 'small (bytes => ' || :small_bytes || '; by default ' || :bytes_by_default || ')' AS densities, count(*) AS values,
  round(avg(pg_column_size(d))) AS "mean bytes stored", pg_size_pretty(pg_relation_size('bench.small')) AS "table",
  pg_size_pretty(pg_relation_size(reltoastrelid)) AS "out of line"
FROM bench.small, pg_class WHERE oid = 'bench.small'::regclass GROUP BY reltoastrelid
UNION ALL
SELECT '16 KB', count(*), round(avg(pg_column_size(d))), pg_size_pretty(pg_relation_size('bench.large')),
  pg_size_pretty(pg_relation_size(reltoastrelid))
FROM bench.large, pg_class WHERE oid = 'bench.large'::regclass GROUP BY reltoastrelid
\if :has_tdigest
UNION ALL
SELECT 't-digest', count(*), round(avg(pg_column_size(d))), pg_size_pretty(pg_relation_size('bench.digest')),
  pg_size_pretty(pg_relation_size(reltoastrelid))
FROM bench.digest, pg_class WHERE oid = 'bench.digest'::regclass GROUP BY reltoastrelid
\endif
;
\echo
SELECT format('Answers: serial, interleaved, medians of %s', :answer_runs) AS title \gset
\echo :title
CREATE VIEW bench.rate AS
  SELECT m.id, m.what, m.ms,
    (SELECT CASE WHEN m.what LIKE '%16 KB' THEN (SELECT count(*) FROM bench.large) ELSE (SELECT count(*) FROM bench.small) END)
    / m.ms * 1000 AS a_second
  FROM bench.median AS m WHERE m.section = 'answers';
SELECT what, round(ms::numeric, 2) AS "median ms", to_char(a_second, 'FM999,999,999') AS "a second"
FROM bench.rate ORDER BY id;

INSERT INTO bench.bound (section, what, figure, bound, at_least, digits)
  SELECT 'answers', 'approx_count of small densities, a second', a_second, 300000, true, 0
  FROM bench.rate WHERE what = 'approx_count(d, 0.5, 2), small'
  UNION ALL
  SELECT 'answers', '16 KB: rate of approx_count / rate of reading the value (first byte)',
    bench.ratio('answers', 'first byte, 16 KB', 'approx_count(d, 0.5, 2), 16 KB'), 0.7, true, 3;
