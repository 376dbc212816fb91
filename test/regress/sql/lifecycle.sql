-- What becomes of densities: RENAME, DROP, ALTER, TRUNCATE, rollback, savepoints, snapshots, direct
-- writes to the catalog, DROP and CREATE EXTENSION.
\pset tuples_only
\pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS lifecycle CASCADE;
DROP SCHEMA IF EXISTS elsewhere CASCADE;
CREATE SCHEMA lifecycle;
SET search_path = lifecycle, public;
RESET client_min_messages;
-- sql/refresh.sql has what a stale density does.
SET kde_aqp.stale = ignore;

-- The densities of this schema.
CREATE VIEW stored AS
SELECT d.relation, d.column_names, d.rows FROM kde_densities_full AS d JOIN pg_class AS c ON c.oid = d.relation
WHERE c.relnamespace = 'lifecycle'::regnamespace ORDER BY d.relation::text COLLATE "C", d.column_names::text COLLATE "C";

-- ------------------------------------------------------------------------------------- renaming
CREATE TABLE t AS SELECT i % 4 AS a, i % 4 * 10 AS b FROM generate_series(1, 100) AS i;
SELECT rows FROM kde_fit('t', 'a');
SELECT rows FROM kde_fit('t', 'b');
ALTER TABLE t RENAME COLUMN a TO c;
SELECT * FROM stored;
SELECT try($$SELECT approx_sum('t.a')$$);
SELECT approx_sum('t.c') AS by_text, approx_sum(kde_density('t', 'c')) AS by_column;
-- Two columns that swap their names keep their own densities; so does a refit of either, and a new
-- column of an old name.
ALTER TABLE t RENAME COLUMN c TO x;
ALTER TABLE t RENAME COLUMN b TO c;
ALTER TABLE t RENAME COLUMN x TO b;
SELECT approx_sum('t.b') AS b, approx_sum('t.c') AS c, (SELECT sum(b) FROM t) AS exact_b, (SELECT sum(c) FROM t) AS exact_c;
SELECT rows FROM kde_fit('t', 'c');
SELECT approx_sum('t.b') AS b, approx_sum('t.c') AS c;
ALTER TABLE t ADD COLUMN a integer DEFAULT 7;
SELECT try($$SELECT approx_sum('t.a')$$);
SELECT rows FROM kde_fit('t', 'a');
SELECT approx_sum('t.a') AS a, approx_sum('t.b') AS b, approx_sum('t.c') AS c;
-- A rename reaches the children of a table.
CREATE TABLE parent (k integer, v integer) PARTITION BY RANGE (k);
CREATE TABLE leaf PARTITION OF parent FOR VALUES FROM (0) TO (100);
INSERT INTO parent SELECT i % 100, i % 7 FROM generate_series(1, 700) AS i;
SELECT rows FROM kde_fit('leaf', 'v');
ALTER TABLE parent RENAME COLUMN v TO value;
SELECT relation, column_names FROM stored WHERE relation = 'leaf'::regclass;
SELECT approx_sum('leaf.value') AS child;
DROP TABLE parent;
-- The event triggers fire in every session, also where ordinary ones do not.
SET session_replication_role = replica;
CREATE TABLE quiet AS SELECT i % 4 AS a FROM generate_series(1, 100) AS i;
SELECT rows FROM kde_fit('quiet', 'a');
ALTER TABLE quiet RENAME COLUMN a TO b;
SELECT * FROM stored WHERE relation = 'quiet'::regclass;
DROP TABLE quiet;
SELECT count(*) FROM kde_aqp.fitted AS d LEFT JOIN pg_class AS c ON c.oid = d.relation WHERE c.oid IS NULL;
RESET session_replication_role;
-- Temporary tables go without telling, so they have no densities.
CREATE TEMPORARY TABLE temporary (a integer);
SELECT try($$SELECT rows FROM kde_fit('temporary', 'a')$$);
DROP TABLE temporary;
-- An expression that a procedure evaluates between transactions has no snapshot of its own.
CREATE DOMAIN asks AS double precision CHECK (approx_count('lifecycle.t.a', 0, 10) > 0);
DO $$
DECLARE
  v asks;
BEGIN
  COMMIT;
  GET DIAGNOSTICS v = ROW_COUNT;
END $$;
DROP DOMAIN asks;
-- The table and its schema.
ALTER TABLE t RENAME TO u;
SELECT approx_sum('u.b') AS renamed;
SELECT try($$SELECT approx_sum('t.b')$$);
CREATE TABLE t (b integer);
SELECT try($$SELECT approx_sum('t.b')$$);
DROP TABLE t;
CREATE SCHEMA elsewhere;
ALTER TABLE u SET SCHEMA elsewhere;
SELECT approx_sum('elsewhere.u.b') AS moved;
ALTER TABLE elsewhere.u SET SCHEMA lifecycle;
DROP SCHEMA elsewhere;
SELECT * FROM stored;

-- ------------------------------------------------------------------------- dropping and altering
ALTER TABLE u DROP COLUMN a;
SELECT * FROM stored;
SELECT try($$SELECT approx_sum('u.a')$$);
ALTER TABLE u ADD COLUMN a integer;
SELECT try($$SELECT approx_sum('u.a')$$);
-- Another kind of type makes the density unusable, and says so; another number does not.
ALTER TABLE u ALTER COLUMN b TYPE numeric(12, 2);
SELECT approx_sum('u.b', 1, 2.5) AS still_numbers;
ALTER TABLE u ALTER COLUMN c TYPE timestamp USING timestamp '2026-01-01' + c * interval '1 s';
SELECT try($$SELECT approx_count('u.c')$$);
SELECT try($$SELECT approx_count('u.c')$$);
SELECT rows FROM kde_fit('u', 'c');
SELECT approx_count('u.c', '2026-01-01 00:00:10', NULL);
ALTER TABLE u ALTER COLUMN c TYPE text;
SELECT try($$SELECT approx_count('u.c')$$);
-- Its value is still a value; kde_drop works on it.
SELECT kde_drop('u.c');
-- What happens to rows does not touch the density until the next fit.
TRUNCATE u;
SELECT approx_count('u.b') AS after_truncate;
INSERT INTO u (b) SELECT 1 FROM generate_series(1, 10);
SELECT approx_count('u.b') AS before_the_refit;
SELECT rows FROM kde_fit('u', 'b');
SELECT approx_count('u.b') AS after_the_refit;
VACUUM FULL u;
SELECT approx_count('u.b') AS after_a_rewrite;
DROP TABLE u;
SELECT * FROM stored;
SELECT count(*) FROM kde_aqp.fitted WHERE NOT EXISTS (SELECT FROM pg_class WHERE oid = relation);
-- Views and their tables, partitions, materialized views, inside functions.
CREATE MATERIALIZED VIEW m AS SELECT i % 4 AS x FROM generate_series(1, 40) AS i;
CREATE TABLE p (x integer) PARTITION BY LIST (x);
CREATE TABLE p1 PARTITION OF p DEFAULT;
INSERT INTO p SELECT i % 4 FROM generate_series(1, 40) AS i;
SELECT rows FROM kde_fit('m', 'x');
SELECT rows FROM kde_fit('p', 'x');
SELECT rows FROM kde_fit('p1', 'x');
REFRESH MATERIALIZED VIEW m;
SELECT * FROM stored;
DROP MATERIALIZED VIEW m;
DROP TABLE p1;
SELECT * FROM stored;
DO 'BEGIN DROP TABLE p; END';
SELECT * FROM stored;
SELECT count(*) FROM kde_aqp.fitted WHERE NOT EXISTS (SELECT FROM pg_class WHERE oid = relation);
-- A density in a view or function is a name: the function form survives, the view has to go first.
CREATE TABLE v AS SELECT i % 4 AS x FROM generate_series(1, 40) AS i;
SELECT rows FROM kde_fit('v', 'x');
CREATE VIEW asks AS SELECT approx_count(kde_density('v', 'x'), 1, 2);
SELECT * FROM asks;
ALTER TABLE v RENAME TO w;
SELECT * FROM asks;
SELECT pg_get_viewdef('asks');

-- --------------------------------------------------------------------------------- transactions
-- 40 rows are fitted; each step adds 40 and fits again. Answers right inside, and after.
BEGIN;
INSERT INTO w SELECT i % 4 FROM generate_series(1, 40) AS i;
SELECT approx_count('w.x') AS before_the_fit;
SELECT rows FROM kde_fit('w', 'x');
SELECT approx_count('w.x') AS inside;
ROLLBACK;
SELECT approx_count('w.x') AS rolled_back;
BEGIN;
SAVEPOINT one;
INSERT INTO w SELECT i % 4 FROM generate_series(1, 40) AS i;
SELECT rows FROM kde_fit('w', 'x');
SELECT approx_count('w.x') AS one;
SAVEPOINT two;
INSERT INTO w SELECT i % 4 FROM generate_series(1, 40) AS i;
SELECT rows FROM kde_fit('w', 'x');
SELECT approx_count('w.x') AS two;
ROLLBACK TO two;
SELECT approx_count('w.x') AS back_to_one;
SELECT kde_drop('w.x');
SELECT try($$SELECT approx_count('w.x')$$);
ROLLBACK TO one;
SELECT approx_count('w.x') AS back_to_none;
INSERT INTO w SELECT i % 4 FROM generate_series(1, 40) AS i;
SELECT rows FROM kde_fit('w', 'x');
RELEASE one;
COMMIT;
SELECT approx_count('w.x') AS committed;
-- An error in the middle of it.
BEGIN;
SELECT kde_drop('w.x');
SAVEPOINT s;
\set VERBOSITY terse
SELECT kde_fit('w', 'y');
\set VERBOSITY default
ROLLBACK TO s;
SELECT try($$SELECT approx_count('w.x')$$);
ROLLBACK;
SELECT approx_count('w.x') AS still_there;
-- DDL rolled back.
BEGIN;
ALTER TABLE w DROP COLUMN x;
SELECT count(*) FROM stored;
ROLLBACK;
BEGIN;
ALTER TABLE w RENAME COLUMN x TO y;
SELECT approx_count('w.y') AS renamed;
ROLLBACK;
SELECT approx_count('w.x') AS renamed_back;

-- A cursor sees the density of its own snapshot, queries beside it the newer one.
BEGIN;
DECLARE c CURSOR FOR SELECT approx_count('w.x', NULL, 9 + 0 * i) FROM generate_series(1, 4) AS i;
FETCH 1 FROM c;
INSERT INTO w SELECT i % 4 FROM generate_series(1, 40) AS i;
SELECT rows FROM kde_fit('w', 'x');
SELECT approx_count('w.x') AS newer;
FETCH 1 FROM c;
SELECT kde_drop('w.x');
SELECT try($$SELECT approx_count('w.x')$$);
FETCH 2 FROM c;
COMMIT;
SELECT rows FROM kde_fit('w', 'x');
-- A STABLE function uses its caller's snapshot, so a fit in the same statement is not seen yet; a
-- later statement of a VOLATILE function sees it.
CREATE FUNCTION fit_and_ask() RETURNS float8 LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO w SELECT i % 4 FROM generate_series(1, 40) AS i;
  PERFORM kde_fit('w', 'x');
  RETURN approx_count('w.x');
END $$;
SELECT approx_count('w.x') AS before, fit_and_ask() AS inside, approx_count('w.x') AS same_statement;
SELECT approx_count('w.x') AS after;
-- Twice within one transaction, and in a REPEATABLE READ one.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT approx_count('w.x');
DELETE FROM w WHERE x = 0;
SELECT rows FROM kde_fit('w', 'x');
SELECT approx_count('w.x', 0, 0) AS deleted;
ROLLBACK;
SELECT approx_count('w.x', 0, 0) AS restored;

-- ----------------------------------------------------------------------------- rows of a restore
-- Cached answers notice what a restore writes by SQL. No other SQL writes.
CREATE TABLE other AS SELECT i % 4 + 100 AS x FROM generate_series(1, 40) AS i;
SELECT rows FROM kde_fit('other', 'x');
SELECT approx_avg('w.x') AS cached;
SELECT try($$UPDATE kde_aqp.fitted SET density = kde_density('other', 'x')$$), try($$TRUNCATE kde_aqp.fitted$$);
CREATE TABLE saved AS SELECT * FROM kde_aqp.fitted WHERE relation = 'w'::regclass;
UPDATE saved SET density = kde_density('other', 'x'), attribute_numbers = '{77}';
SELECT kde_drop('w.x');
SELECT try($$SELECT approx_avg('w.x')$$);
INSERT INTO kde_aqp.density SELECT * FROM saved;
SELECT approx_avg('w.x') AS inserted;
-- It gets this table's attribute numbers, whatever it brings; nothing stays in the door.
SELECT attribute_numbers FROM kde_aqp.fitted WHERE relation = 'w'::regclass;
SELECT count(*) AS in_the_door FROM kde_aqp.density;
SELECT * FROM stored;
-- Another of the same key is passed over, and one is refused that lacks what every density has.
INSERT INTO kde_aqp.density SELECT * FROM saved;
SELECT * FROM stored;
SELECT try($$INSERT INTO kde_aqp.density (relation, column_names, attribute_numbers, filter, reference_names, reference_numbers)
  SELECT relation, '{y}', attribute_numbers, filter, reference_names, reference_numbers FROM saved$$);
-- What the materialized view is made of is what is in it.
REFRESH MATERIALIZED VIEW kde_aqp.fitted;
SELECT approx_avg('w.x') AS refreshed;
BEGIN;
SELECT kde_drop('w.x');
REFRESH MATERIALIZED VIEW CONCURRENTLY kde_aqp.fitted;
SELECT * FROM stored;
ROLLBACK;
SELECT rows FROM kde_fit('w', 'x');
SELECT count(*) AS replaced FROM kde_aqp.fitted WHERE relation = 'w'::regclass;
-- Rows of no table or column are not taken in.
SELECT kde_drop('w.x');
INSERT INTO kde_aqp.density
SELECT (s.r).* FROM (SELECT jsonb_populate_record(d, '{"relation": 1}') AS r FROM saved AS d) AS s;
INSERT INTO kde_aqp.density
SELECT (s.r).* FROM (SELECT jsonb_populate_record(d, '{"column_names": ["gone"]}') AS r FROM saved AS d) AS s;
INSERT INTO kde_aqp.density
SELECT (s.r).* FROM (SELECT jsonb_populate_record(d, '{"column_names": ["x", "y"]}') AS r FROM saved AS d) AS s;
SELECT count(*) FROM kde_aqp.fitted AS d WHERE d.relation IN (1, 'w'::regclass);

-- ------------------------------------------------------------------------------------- extension
-- It cannot be moved; without it nothing is left of it; it comes back, in another schema too.
\set VERBOSITY terse
ALTER EXTENSION kde_aqp SET SCHEMA lifecycle;
DROP TABLE kde_aqp.density;
DROP MATERIALIZED VIEW kde_aqp.fitted;
DROP EXTENSION kde_aqp;
\set VERBOSITY default
SET client_min_messages = warning;
DROP EXTENSION kde_aqp CASCADE;
RESET client_min_messages;
SELECT count(*) FROM pg_proc WHERE proname LIKE 'approx%' OR proname LIKE 'kde%';
SELECT count(*) FROM pg_namespace WHERE nspname = 'kde_aqp';
DROP TABLE other;
CREATE SCHEMA elsewhere;
CREATE EXTENSION kde_aqp SCHEMA elsewhere;
SELECT rows FROM elsewhere.kde_fit('w', 'x');
SELECT elsewhere.approx_count('w.x', 1, 2) AS by_text, elsewhere.approx_count(elsewhere.kde_density('w', 'x'), 1, 2) AS by_columns,
  elsewhere.approx_count(elsewhere.kde_density('w.x'), 1, 2) AS by_value;
SELECT relation, column_names FROM elsewhere.kde_densities_full;
SELECT elsewhere.kde_drop('w.x');
DROP TABLE w;
SET client_min_messages = warning;
DROP EXTENSION kde_aqp;
DROP SCHEMA lifecycle CASCADE;
DROP SCHEMA elsewhere CASCADE;
CREATE EXTENSION kde_aqp SCHEMA public;
