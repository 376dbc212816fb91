-- A NULL is no row of a range: a column that a question names counts with its values, one without
-- bounds with all of them; a column that is not named is no condition. Every form against SQL, over
-- rows with NULL in one column, the other, both and neither.
\set ECHO none \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
CREATE TABLE holes (a int, b float8, c numeric);
INSERT INTO holes SELECT CASE WHEN i % 2 = 0 THEN i % 50 END, CASE WHEN i % 5 < 3 THEN i * 37 % 1000 END,
    CASE WHEN i % 7 > 0 THEN i % 11 END
  FROM generate_series(1, 1000) AS i;
\set ECHO queries
SELECT count(*), count(a) AS a, count(b) AS b, count(*) FILTER (WHERE a IS NOT NULL AND b IS NOT NULL) AS both,
    count(*) FILTER (WHERE a IS NULL AND b IS NULL) AS neither
  FROM holes;
SELECT one.rows AS one, several.rows AS several FROM kde_fit('holes', 'a') AS one, kde_fit('holes', ARRAY['a', 'b', 'c'], seed => 1) AS several;

-- One column, without bounds.
SELECT approx_count('holes.a') AS by_text, approx_count(kde_density('holes', 'a')) AS by_name,
    approx_count(kde_density('holes', 'a')) AS by_value, approx_count('holes.a', int4range(NULL, NULL)) AS range,
    (SELECT approx_count(kde_agg(a)) FROM holes) AS aggregated,
    approx_count('holes.a', max_relative_error => 0, otherwise => 'exact') AS exact,
    (SELECT sum(count) FROM approx_histogram('holes.a')) AS histogram,
    kde_cdf('holes.a', 'infinity') AS cdf;
SELECT approx_count('holes (a)') AS array_form, approx_count('holes (b)') AS of_several,
    (approx_count_ci('holes.a')).*;
SELECT (approx_count_ci('holes (a)')).*;
SELECT approx_quantile('holes.a', 0) AS least, approx_quantile('holes.a', 1) AS greatest;
SELECT column_names, rows, nulls FROM kde_densities_full WHERE relation = 'holes'::regclass ORDER BY cardinality(column_names);

-- Several, bounded or not: what is asked, and SQL's answer.
CREATE TABLE asked (q int, columns text[], lower text[], upper text[], condition text);
INSERT INTO asked VALUES
  (1, '{a,b}', '{NULL,NULL}', '{NULL,NULL}', 'a IS NOT NULL AND b IS NOT NULL'),
  (2, '{a,b}', NULL, NULL, 'a IS NOT NULL AND b IS NOT NULL'),
  (3, '{a,b}', '{10,NULL}', '{20,NULL}', 'a BETWEEN 10 AND 20 AND b IS NOT NULL'),
  (4, '{b}', '{100}', '{500}', 'b BETWEEN 100 AND 500'),
  (5, '{b,c}', '{100,NULL}', '{NULL,5}', 'b >= 100 AND c <= 5'),
  (6, '{a,b,c}', '{NULL,NULL,3}', '{NULL,NULL,8}', 'a IS NOT NULL AND b IS NOT NULL AND c BETWEEN 3 AND 8'),
  (7, '{a,b,c}', '{-1,-1,-1}', '{1000,1000,1000}', 'a IS NOT NULL AND b IS NOT NULL AND c IS NOT NULL'),
  (8, '{c}', '{NULL}', '{NULL}', 'c IS NOT NULL'),
  (9, '{a}', '{NULL}', '{24}', 'a <= 24');
-- Exact numbers of all forms of one question: count, its interval's estimate, and sum and mean of c.
CREATE FUNCTION answers(q asked, OUT count float8, OUT exact_count bigint, OUT ci float8, OUT sum float8, OUT exact_sum numeric,
    OUT avg float8, OUT exact_avg numeric) LANGUAGE plpgsql AS $$
BEGIN
  SELECT approx_count('holes (' || array_to_string(q.columns, ', ') || ')', q.lower, q.upper), approx_sum('holes (' || array_to_string(q.columns, ', ') || ')', q.lower, q.upper, measure => 'c'),
      approx_avg('holes (' || array_to_string(q.columns, ', ') || ')', q.lower, q.upper, measure => 'c') INTO count, sum, avg;
  SELECT estimate INTO ci FROM approx_count_ci('holes (' || array_to_string(q.columns, ', ') || ')', q.lower, q.upper);
  EXECUTE 'SELECT count(*), sum(c), avg(c) FROM holes WHERE ' || q.condition INTO exact_count, exact_sum, exact_avg;
END $$;
-- By auto every row is stored: exact, but for rounding.
SELECT q, x.exact_count AS rows, abs(x.count - x.exact_count) < 0.01 AS count, x.ci = x.count AS ci,
    abs(x.sum - x.exact_sum) < 0.01 AS sum, abs(x.avg - x.exact_avg) < 0.001 AS avg
  FROM asked, answers(asked) AS x ORDER BY q;
SELECT approx_sum('holes.c') = sum(c) AS sum, abs(approx_avg('holes.c') - avg(c)) < 1e-6 AS avg FROM holes;

-- By name the points are the same rows: without bounds as exact, also the sum, with bounds as far as kernels reach across them.
SELECT kde_drop('holes.a') AS dropped, rows FROM kde_fit('holes', ARRAY['a', 'b', 'c'], 'plugin_product', seed => 1);
SELECT q, x.exact_count AS rows, x.exact_count BETWEEN i.lower_bound AND i.upper_bound AS held, x.ci = x.count AS ci,
    x.exact_sum BETWEEN s.lower_bound AND s.upper_bound AS sum_held
  FROM asked, answers(asked) AS x, approx_count_ci('holes (' || array_to_string(asked.columns, ', ') || ')', asked.lower, asked.upper) AS i,
    approx_sum_ci('holes (' || array_to_string(asked.columns, ', ') || ')', asked.lower, asked.upper, measure => 'c') AS s ORDER BY q;
SELECT q, abs(x.count - x.exact_count) < 0.01 AS count, abs(x.sum / x.exact_sum - 1) < 1e-6 AS sum
  FROM asked, answers(asked) AS x WHERE q IN (1, 2, 8) ORDER BY q;
SELECT abs(approx_sum('holes.c') / sum(c) - 1) < 1e-9 AS sum FROM holes;
CREATE TEMP VIEW last_fit AS SELECT * FROM kde_densities_full ORDER BY fitted_at DESC LIMIT 1;
SELECT FROM kde_fit('holes', ARRAY['a', 'b', 'c'], 'lscv_matrix', seed => 1) \g /dev/null
SELECT method, rows FROM last_fit;
SELECT q, x.exact_count BETWEEN i.lower_bound AND i.upper_bound AS held
  FROM asked, answers(asked) AS x, approx_count_ci('holes (' || array_to_string(asked.columns, ', ') || ')', asked.lower, asked.upper) AS i ORDER BY q;
DROP FUNCTION answers;
DROP TABLE holes, asked;
