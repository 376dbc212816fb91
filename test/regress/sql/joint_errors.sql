-- What questions about several columns refuse, and to whom.
\set ECHO queries \\ \pset tuples_only on \\ \pset format unaligned
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
SELECT name FROM kde_fit('t', ARRAY['a', 'b', 'c'], seed => 1);
CREATE VIEW last_fit AS SELECT * FROM kde_densities_full ORDER BY fitted_at DESC LIMIT 1;
SELECT FROM kde_fit('t', ARRAY['a', 'day'], filter => 'word = ''x1''', seed => 1) \g /dev/null
SELECT column_names, filter FROM last_fit;

-- ----------------------------------------------------------------------------------- arguments
SELECT approx_count('t (a, b)', ARRAY[1], ARRAY[5, 5]);
SELECT approx_count('t (a, b)', ARRAY[1, 1], ARRAY[5, 5, 5]);
SELECT approx_count('t (a, b)', '{}'::integer[], ARRAY[5, 5]);
SELECT approx_count('t (a, b)', ARRAY[[1, 1]], ARRAY[5, 5]);
SELECT approx_count('t (a, b)', 1, 5);
SELECT approx_count('t()');
SELECT approx_count('t (a, b)', '{1,1}', '{5,5}');
SELECT approx_count('t (a,)', ARRAY[1, 1], ARRAY[5, 5]);
SELECT approx_count('t (a, a)', ARRAY[1, 1], ARRAY[5, 5]);
SELECT approx_count('t (a, "A")', ARRAY[1, 1], ARRAY[5, 5]);
SELECT approx_count('t (a, nosuch)', ARRAY[1, 1], ARRAY[5, 5]);
SELECT approx_sum('t (a)', 1, 5, measure => 'nosuch');
SELECT approx_sum('t (a)', 1, 5, measure => 'nosuch + 1');
SELECT approx_count('t (a, word)');
SELECT approx_count('t (' || (SELECT string_agg('a + ' || i, ', ') FROM generate_series(1, 17) AS i) || ')');
SELECT approx_count('t (a, ctid)');
SELECT approx_count('t (a, (SELECT 1))');
SELECT approx_count('t (a, b)', ARRAY['1', 'x']);
SELECT approx_count('t (a, b)', ARRAY[true, false]);
SELECT approx_count('t (a, day)', ARRAY[1, 2], filter => 'word = ''x1''');
SELECT approx_count(NULL, ARRAY[1, 1], ARRAY[5, 5]);
SELECT approx_sum('t (a, b)', ARRAY[1, 1], ARRAY[5, 5]);
SELECT approx_sum('t.a', 1, 5, 'b');
SELECT approx_count('t (a, b)', filter => 'word');
SELECT approx_count_ci('t (a, b)', confidence => 1);
SELECT approx_avg_ci('t (a, b)', measure => 'c', changed_rows => -1);
SELECT kde_conditional('t.a', ARRAY[1], measure => 'a');
SELECT kde_conditional('t.b', ARRAY[1], measure => 'a', confidence => NULL);
SELECT kde_conditional('t.b', ARRAY[[1]], measure => 'a');
SELECT kde_conditional('t.b', ARRAY[1]);

-- ---------------------------------------------------------------------------- what is not fitted
SELECT approx_count('t (a, day)');
SELECT approx_sum('t (a, b)', measure => 'day');
SELECT approx_count('t (day)');
SELECT approx_count('t (a, b)', filter => 'word = ''x1''');
SELECT approx_count('t (a * 2, b)');
SELECT kde_conditional('t.a', ARRAY[1], measure => 'day');
SELECT rank, column_names, chosen, reason FROM kde_explain('t (b, day)');
-- The interval of a variance is that of several columns.
SELECT rows FROM kde_fit('t', 'b', seed => 1);
SELECT approx_variance_ci('t (b)', 1, 50, measure => 'b');
SELECT estimate > 0 AS estimate FROM approx_variance_ci('t (b, a)', ARRAY[1, NULL], ARRAY[50, NULL], measure => 'b');

-- ------------------------------------------------------------------------------- changed columns
SET client_min_messages = error;
ALTER TABLE t ALTER COLUMN b TYPE date USING date '2026-01-01' + b::integer;
RESET client_min_messages;
SELECT approx_count('t (a, b)');
ALTER TABLE t ALTER COLUMN b TYPE integer USING b - date '2026-01-01';
SELECT approx_count('t (a, b)') AS again;
ALTER TABLE t RENAME COLUMN b TO renamed;
SELECT approx_count('t (a, renamed)') AS renamed;
SELECT approx_count('t (a, b)');
ALTER TABLE t DROP COLUMN c;
SELECT approx_count('t (a, renamed)');

-- ------------------------------------------------------------------------------------ privileges
-- SELECT on what is asked about, and on what a filter and an expression use; not on other columns.
SELECT name FROM kde_fit('t', ARRAY['a', 'renamed', 'day'], seed => 1);
SELECT name FROM kde_fit('t', ARRAY['a + renamed', 'day'], seed => 1);
CREATE ROLE regress_joint_reader;
GRANT USAGE ON SCHEMA joint_errors TO regress_joint_reader;
GRANT SELECT (a, day) ON t TO regress_joint_reader;
SET ROLE regress_joint_reader;
SELECT approx_count('t (a, day)') AS granted;
SELECT approx_count('t (a, renamed)');
SELECT approx_avg('t (a)', 1, measure => 'renamed');
SELECT approx_count('t (a + renamed)');
SELECT approx_count('t (a, day)', filter => 'word = ''x1''');
SELECT count(*) FROM kde_conditional('t.a', ARRAY[1], measure => 'renamed');
SELECT rank, column_names, chosen, reason FROM kde_explain('t (a, day)');
RESET ROLE;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
SET ROLE regress_joint_reader;
SELECT approx_count('t (a, day)');
SELECT rank FROM kde_explain('t (a, day)');
RESET ROLE;
SELECT approx_count('t (a, day)') AS owner;

SET client_min_messages = warning;
DROP SCHEMA joint_errors CASCADE;
DROP ROLE regress_joint_reader;
