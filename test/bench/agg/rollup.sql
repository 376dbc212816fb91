-- 1,000 partial densities rolled up against the direct one of the same rows, and in other orders.
-- Errors are differences of the distribution function, as shares of the rows, at 10,000 of the
-- values (and what is true of them: their ranks).
\set ON_ERROR_STOP on
SET client_min_messages = warning;
SET work_mem = '2GB';
SET max_parallel_workers_per_gather = 0;

CREATE TABLE bench.partial AS
  SELECT g % 1000 AS k, kde_agg(x) AS d FROM bench.grouped GROUP BY g % 1000;
CREATE TABLE bench.rolled AS
  SELECT 'direct' AS made, kde_agg(x) AS d FROM bench.grouped
  UNION ALL SELECT 'rolled up', rollup(d) FROM bench.partial
  UNION ALL SELECT 'rolled up, order 1', rollup(d ORDER BY k) FROM bench.partial
  UNION ALL SELECT 'rolled up, order 2', rollup(d ORDER BY hashint4(k)) FROM bench.partial
  UNION ALL SELECT 'rolled up, order 3', rollup(d ORDER BY hashint4(k # 12345)) FROM bench.partial;

-- Every (rows / 10,000)-th value of the table, and its share of rows at or below it.
CREATE TABLE bench.point AS
  SELECT DISTINCT x FROM (SELECT x, row_number() OVER () AS i FROM bench.line) AS s
  WHERE i % greatest(:rows / 10000, 1) = 0;
-- Bucket b holds the values from the b-th point up to the next; just above a value are those above
-- the point itself.
CREATE TABLE bench.truth AS
  WITH edges AS (SELECT array_agg(x ORDER BY x) AS e FROM bench.point),
  counted AS (SELECT width_bucket(-x, (SELECT array_agg(-x ORDER BY -x) FROM bench.point)) AS b, count(*) AS n
    FROM bench.line GROUP BY 1),
  cumulative AS (SELECT b, sum(n) OVER (ORDER BY b DESC) AS n FROM counted)
  SELECT p.x, c.n::double precision / :rows AS share
  FROM (SELECT x, row_number() OVER (ORDER BY -x) AS b FROM bench.point) AS p
  JOIN cumulative AS c USING (b);
CREATE TABLE bench.share AS
  SELECT r.made, t.x, t.share AS truth, kde_cdf(r.d, t.x) AS share
  FROM (SELECT made, d FROM bench.rolled OFFSET 0) AS r CROSS JOIN bench.truth AS t;

CREATE TABLE bench.distance AS
  SELECT made, i.representation_error AS stated,
    (SELECT max(abs(s.share - s.truth)) FROM bench.share AS s WHERE s.made = r.made) AS true_error,
    (SELECT max(abs(s.share - o.share)) FROM bench.share AS s JOIN bench.share AS o USING (x)
     WHERE s.made = r.made AND o.made = 'direct') AS from_direct,
    (SELECT max(abs(s.share - o.share)) FROM bench.share AS s JOIN bench.share AS o USING (x)
     WHERE s.made = r.made AND o.made = 'rolled up') AS from_rolled_up,
    i.bytes, i.rows
  FROM bench.rolled AS r CROSS JOIN LATERAL kde_info(r.d) AS i;

\pset tuples_only off
\echo
SELECT format('Rollup: 1,000 partial densities of %s rows, distances of the distribution function at %s values',
  to_char(:rows / 1000, 'FM999,999,999'), (SELECT count(*) FROM bench.truth)) AS title \gset
\echo :title
SELECT made, rows, bytes, to_char(stated, '9.99EEEE') AS "stated error", to_char(true_error, '9.99EEEE') AS "true error",
  to_char(from_direct, '9.99EEEE') AS "from direct", to_char(from_rolled_up, '9.99EEEE') AS "from rolled up"
FROM bench.distance ORDER BY made;

INSERT INTO bench.bound (section, what, figure, bound, at_least, digits, note)
  SELECT 'rollup', 'largest distance from direct / stated error of the rolled up',
    max(from_direct / nullif(stated, 0)), 2, false, 3, ''
  FROM bench.distance WHERE made <> 'direct'
  UNION ALL
  SELECT 'rollup', 'largest distance from direct / stated error of the direct',
    max(from_direct) / nullif((SELECT stated FROM bench.distance WHERE made = 'direct'), 0), 2, false, 3, ''
  FROM bench.distance
  UNION ALL
  SELECT 'rollup', 'largest distance between orders / stated error of the rolled up',
    max(from_rolled_up / nullif(stated, 0)), 2, false, 3, ''
  FROM bench.distance WHERE made <> 'direct'
  UNION ALL
  SELECT 'rollup', 'largest true error / stated error', max(true_error / nullif(stated, 0)), 1, false, 3, ''
  FROM bench.distance;
