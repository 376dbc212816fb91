-- One question, one answer: the same rows, all of them read, in every form that can hold them. A form
-- that knows the same gives the same interval; with more changed rows, or more confidence, a wider one.
\set ECHO queries \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS one_question CASCADE;
CREATE SCHEMA one_question;
SET search_path = one_question, public;
RESET client_min_messages;

CREATE TABLE t (x integer NOT NULL, y integer NOT NULL CHECK (y BETWEEN 0 AND 99), g text NOT NULL, w text NOT NULL);
INSERT INTO t SELECT i % 100, i * 7 % 100, 'all', 'w' || i % 100 FROM generate_series(1, 40000) AS i;
VACUUM ANALYZE t;
SELECT model FROM kde_fit('t', 'x', measures => ARRAY['y'], sample_rows => -1);
SELECT model FROM kde_fit('t', ARRAY['x', 'y']);
SELECT model FROM kde_fit('t', 'x', measures => ARRAY['y'], group_by => 'g', sample_rows => -1);
SELECT model FROM kde_fit('t', 'w', measures => ARRAY['y'], sample_rows => -1);

-- Half of the ranges, and the values that they hold.
CREATE TABLE asked AS SELECT l, l + n AS h, c AS confidence, k AS changed,
  ARRAY(SELECT 'w' || v FROM generate_series(l, l + n) AS v) AS words
FROM generate_series(0, 80, 16) AS l, unnest('{0,3,19}'::int[]) AS n, unnest('{0.5,0.95}'::float8[]) AS c, unnest('{0,1,500,1e6}'::float8[]) AS k;
CREATE TABLE answers AS
SELECT l, h, confidence, changed, what, form, estimate, lower_bound, upper_bound FROM asked,
  LATERAL (SELECT 'count' AS what, 'measure' AS form, * FROM approx_count_ci('t.x', l, h, measure => 'y', confidence => confidence, changed_rows => changed)
  UNION ALL SELECT 'sum', 'measure', * FROM approx_sum_ci('t.x', l, h, measure => 'y', confidence => confidence, changed_rows => changed)
  UNION ALL SELECT 'avg', 'measure', * FROM approx_avg_ci('t.x', l, h, measure => 'y', confidence => confidence, changed_rows => changed)
  UNION ALL SELECT 'variance', 'measure', * FROM approx_variance_ci('t.x', l, h, measure => 'y', confidence => confidence, changed_rows => changed)
  UNION ALL SELECT 'count', 'joint', * FROM approx_count_ci('t (x, y)', ARRAY[l, NULL], ARRAY[h, NULL], confidence => confidence, changed_rows => changed)
  UNION ALL SELECT 'sum', 'joint', * FROM approx_sum_ci('t (x, y)', ARRAY[l, NULL], ARRAY[h, NULL], measure => 'y', confidence => confidence, changed_rows => changed)
  UNION ALL SELECT 'avg', 'joint', * FROM approx_avg_ci('t (x, y)', ARRAY[l, NULL], ARRAY[h, NULL], measure => 'y', confidence => confidence, changed_rows => changed)
  UNION ALL SELECT 'variance', 'joint', * FROM approx_variance_ci('t (x, y)', ARRAY[l, NULL], ARRAY[h, NULL], measure => 'y', confidence => confidence, changed_rows => changed)
  UNION ALL SELECT 'count', 'words', * FROM approx_count_ci('t.w', words, measure => 'y', confidence => confidence, changed_rows => changed)
  UNION ALL SELECT 'sum', 'words', * FROM approx_sum_ci('t.w', words, measure => 'y', confidence => confidence, changed_rows => changed)
  UNION ALL SELECT 'avg', 'words', * FROM approx_avg_ci('t.w', words, measure => 'y', confidence => confidence, changed_rows => changed)
  UNION ALL SELECT 'variance', 'words', * FROM approx_variance_ci('t.w', words, measure => 'y', confidence => confidence, changed_rows => changed)) AS a
UNION ALL
SELECT l, h, confidence, changed, v.* FROM asked,
  approx_groups('t.x by g', l, h, measure => 'y', confidence => confidence, changed_rows => changed) AS g,
  LATERAL (VALUES ('count', 'group', count, count_lower, count_upper), ('sum', 'group', sum, sum_lower, sum_upper), ('avg', 'group', avg, avg_lower, avg_upper)) AS v
WHERE g.groups = 1;

CREATE FUNCTION same(a float8, b float8) RETURNS boolean LANGUAGE sql IMMUTABLE AS
  $$ SELECT a = b OR abs(a - b) <= 1e-9 * greatest(abs(a), abs(b), 1e-3) $$;
SELECT what, a.form, count(*) AS asked, count(*) FILTER (WHERE NOT same(a.estimate, m.estimate)) AS estimates,
  count(*) FILTER (WHERE NOT (same(a.lower_bound, m.lower_bound) AND same(a.upper_bound, m.upper_bound))) AS ends
FROM answers AS a JOIN answers AS m USING (what, l, h, confidence, changed) WHERE m.form = 'measure'
GROUP BY what, a.form ORDER BY what, a.form;
SELECT what, form, count(*) FILTER (WHERE b.lower_bound > a.lower_bound + 1e-9 OR b.upper_bound < a.upper_bound - 1e-9) AS narrower
FROM answers AS a JOIN answers AS b USING (what, form, l, h) WHERE b.changed >= a.changed AND b.confidence >= a.confidence
GROUP BY what, form ORDER BY what, form;
-- A changed row may hold what the constraint allows: k / n of the width on either side.
SELECT form, estimate, lower_bound, upper_bound FROM answers
WHERE what = 'avg' AND l = 32 AND h = 51 AND confidence = 0.95 AND changed = 500 ORDER BY form;
