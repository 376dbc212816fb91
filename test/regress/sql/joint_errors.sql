-- What questions about several columns refuse, and to whom.
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS joint_errors CASCADE;
DROP ROLE IF EXISTS regress_joint_reader;
CREATE SCHEMA joint_errors;
SET search_path = joint_errors, public;
RESET client_min_messages;
-- sql/refresh.sql has what a stale density does.
SET kde_aqp.stale = ignore;

CREATE TABLE t AS SELECT i % 97 AS a, i % 89 AS b, i % 83 AS c, date '2026-01-01' + i % 50 AS day, 'x' || i % 2 AS word
FROM generate_series(1, 500) AS i;
SELECT column_names FROM kde_fit('t', ARRAY['a', 'b', 'c'], seed => 1);
SELECT column_names, filter FROM kde_fit('t', ARRAY['a', 'day'], filter => 'word = ''x1''', seed => 1);

-- ----------------------------------------------------------------------------------- arguments
SELECT approx_count('t', ARRAY['a', 'b'], ARRAY[1], ARRAY[5, 5]);
SELECT approx_count('t', ARRAY['a', 'b'], ARRAY[1, 1], ARRAY[5, 5, 5]);
SELECT approx_count('t', ARRAY['a', 'b'], '{}'::integer[], ARRAY[5, 5]);
SELECT approx_count('t', ARRAY['a', 'b'], ARRAY[[1, 1]], ARRAY[5, 5]);
SELECT approx_count('t', ARRAY[['a', 'b']], ARRAY[1, 1], ARRAY[5, 5]);
SELECT approx_count('t', '{}'::text[], NULL, NULL);
SELECT approx_count('t', '{a,b}', '{1,1}', '{5,5}');
SELECT approx_count('t', ARRAY['a', NULL], ARRAY[1, 1], ARRAY[5, 5]);
SELECT approx_count('t', ARRAY['a', 'a'], ARRAY[1, 1], ARRAY[5, 5]);
SELECT approx_count('t', ARRAY['a', 'A'], ARRAY[1, 1], ARRAY[5, 5]);
SELECT approx_count('t', ARRAY['a', 'nosuch'], ARRAY[1, 1], ARRAY[5, 5]);
SELECT approx_sum('t', 'nosuch', ARRAY['a'], ARRAY[1], ARRAY[5]);
SELECT approx_sum('t', 'nosuch + 1', ARRAY['a'], ARRAY[1], ARRAY[5]);
SELECT approx_count('t', ARRAY['a', 'word'], NULL, NULL);
SELECT approx_count('t', (SELECT array_agg('a + ' || i) FROM generate_series(1, 17) AS i), NULL, NULL);
SELECT approx_count('t', ARRAY['a', 'ctid'], NULL, NULL);
SELECT approx_count('t', ARRAY['a', '(SELECT 1)'], NULL, NULL);
SELECT approx_count('t', ARRAY['a', 'b'], ARRAY['1', 'x'], NULL);
SELECT approx_count('t', ARRAY['a', 'b'], ARRAY[true, false], NULL);
SELECT approx_count('t', ARRAY['a', 'day'], ARRAY[1, 2], NULL, filter => 'word = ''x1''');
SELECT approx_count(NULL, ARRAY['a', 'b'], ARRAY[1, 1], ARRAY[5, 5]);
SELECT approx_count('t', NULL::text[], ARRAY[1, 1], ARRAY[5, 5]);
SELECT approx_sum('t', NULL, ARRAY['a'], ARRAY[1], ARRAY[5]);
SELECT approx_count('t', ARRAY['a', 'b'], NULL, NULL, filter => 'word');
SELECT approx_count_ci('t', ARRAY['a', 'b'], NULL, NULL, confidence => 1);
SELECT approx_avg_ci('t', 'c', ARRAY['a', 'b'], NULL, NULL, changed_rows => -1);
SELECT kde_conditional('t', 'a', 'a', ARRAY[1]);
SELECT kde_conditional('t', 'a', 'b', ARRAY[1], confidence => NULL);
SELECT kde_conditional('t', 'a', 'b', ARRAY[[1]]);
SELECT kde_conditional('t', 'a', NULL, ARRAY[1]);

-- ---------------------------------------------------------------------------- what is not fitted
SELECT approx_count('t', ARRAY['a', 'day'], NULL, NULL);
SELECT approx_sum('t', 'day', ARRAY['a', 'b'], NULL, NULL);
SELECT approx_count('t', ARRAY['day'], NULL, NULL);
SELECT approx_count('t', ARRAY['a', 'b'], NULL, NULL, filter => 'word = ''x1''');
SELECT approx_count('t', ARRAY['a * 2', 'b'], NULL, NULL);
SELECT kde_conditional('t', 'day', 'a', ARRAY[1]);
SELECT rank, column_names, chosen, reason FROM kde_explain('t', ARRAY['b', 'day'], NULL, NULL);
-- The interval of a variance is that of several columns.
SELECT rows FROM kde_fit('t', 'b', seed => 1);
SELECT approx_variance_ci('t', 'b', ARRAY['b'], ARRAY[1], ARRAY[50]);
SELECT estimate > 0 AS estimate FROM approx_variance_ci('t', 'b', ARRAY['b', 'a'], ARRAY[1, NULL], ARRAY[50, NULL]);

-- ------------------------------------------------------------------------------- changed columns
SET client_min_messages = error;
ALTER TABLE t ALTER COLUMN b TYPE date USING date '2026-01-01' + b::integer;
RESET client_min_messages;
SELECT approx_count('t', ARRAY['a', 'b'], NULL, NULL);
ALTER TABLE t ALTER COLUMN b TYPE integer USING b - date '2026-01-01';
SELECT approx_count('t', ARRAY['a', 'b'], NULL, NULL) AS again;
ALTER TABLE t RENAME COLUMN b TO renamed;
SELECT approx_count('t', ARRAY['a', 'renamed'], NULL, NULL) AS renamed;
SELECT approx_count('t', ARRAY['a', 'b'], NULL, NULL);
ALTER TABLE t DROP COLUMN c;
SELECT approx_count('t', ARRAY['a', 'renamed'], NULL, NULL);

-- ------------------------------------------------------------------------------------ privileges
-- SELECT on what is asked about, and on what a filter and an expression use; not on other columns.
SELECT column_names FROM kde_fit('t', ARRAY['a', 'renamed', 'day'], seed => 1);
SELECT column_names FROM kde_fit('t', ARRAY['a + renamed', 'day'], seed => 1);
CREATE ROLE regress_joint_reader;
GRANT USAGE ON SCHEMA joint_errors TO regress_joint_reader;
GRANT SELECT (a, day) ON t TO regress_joint_reader;
SET ROLE regress_joint_reader;
SELECT approx_count('t', ARRAY['a', 'day'], NULL, NULL) AS granted;
SELECT approx_count('t', ARRAY['a', 'renamed'], NULL, NULL);
SELECT approx_avg('t', 'renamed', ARRAY['a'], ARRAY[1], NULL);
SELECT approx_count('t', ARRAY['a + renamed'], NULL, NULL);
SELECT approx_count('t', ARRAY['a', 'day'], NULL, NULL, filter => 'word = ''x1''');
SELECT count(*) FROM kde_conditional('t', 'renamed', 'a', ARRAY[1]);
SELECT rank, column_names, chosen, reason FROM kde_explain('t', ARRAY['a', 'day'], NULL, NULL);
RESET ROLE;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
SET ROLE regress_joint_reader;
SELECT approx_count('t', ARRAY['a', 'day'], NULL, NULL);
SELECT rank FROM kde_explain('t', ARRAY['a', 'day'], NULL, NULL);
RESET ROLE;
SELECT approx_count('t', ARRAY['a', 'day'], NULL, NULL) AS owner;

SET client_min_messages = warning;
DROP SCHEMA joint_errors CASCADE;
DROP ROLE regress_joint_reader;
