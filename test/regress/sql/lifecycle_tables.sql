-- What becomes of densities when tables are reshaped: partitions attached and detached, inheritance,
-- rewrites, owners, types of columns that expressions and filters use, functions they call.
\pset tuples_only
\pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS reshaped CASCADE;
DROP SCHEMA IF EXISTS reshaped_too CASCADE;
DROP ROLE IF EXISTS regress_kde_first, regress_kde_second;
CREATE ROLE regress_kde_first;
CREATE ROLE regress_kde_second;
CREATE SCHEMA reshaped;
GRANT ALL ON SCHEMA reshaped TO PUBLIC;
SET search_path = reshaped, public;
SET kde_aqp.stale = ignore;
RESET client_min_messages;

CREATE VIEW stored AS
SELECT d.relation, d.column_names, d.filter, d.rows FROM kde_densities_full AS d JOIN pg_class AS c ON c.oid = d.relation
WHERE c.relnamespace = 'reshaped'::regnamespace
ORDER BY d.relation::text COLLATE "C", d.column_names::text COLLATE "C", d.filter COLLATE "C";

-- ------------------------------------------------------------------------------------ partitions
-- The densities of a partition and of the whole are each its own; a refit of the whole sees what came
-- and what went. Columns of a partition have other numbers.
CREATE TABLE whole (k integer, v integer) PARTITION BY RANGE (k);
CREATE TABLE low PARTITION OF whole FOR VALUES FROM (0) TO (50);
CREATE TABLE high (junk text, v integer, k integer);
ALTER TABLE high DROP junk;
INSERT INTO whole SELECT i % 50, i % 7 FROM generate_series(1, 350) AS i;
INSERT INTO high SELECT i % 7, 50 + i % 50 FROM generate_series(1, 700) AS i;
SELECT rows FROM kde_fit('whole', 'v');
SELECT rows FROM kde_fit('high', 'v');
SELECT rows FROM kde_fit('high', ARRAY['k', 'v'], filter => 'v > 2');
ALTER TABLE whole ATTACH PARTITION high FOR VALUES FROM (50) TO (100);
SELECT * FROM stored;
SELECT approx_count('whole.v') AS before, (SELECT rows FROM kde_fit('whole', 'v')) AS refit;
SELECT approx_count('whole.v') AS whole, approx_count('high.v') AS high,
  approx_count('high (k, v)', ARRAY[50, 0], ARRAY[99, 9], filter => 'v > 2') AS filtered,
  (SELECT count(*) FROM high WHERE v > 2) AS exact;
ALTER TABLE whole RENAME v TO value;
SELECT * FROM stored;
ALTER TABLE whole DETACH PARTITION high;
SELECT rows FROM kde_fit('whole', 'value');
SELECT * FROM stored;
-- What is detached is no part of the whole: renames and drops are its own.
ALTER TABLE whole RENAME value TO w;
ALTER TABLE whole DROP w;
SELECT * FROM stored;
ALTER TABLE high RENAME value TO v;
DROP TABLE whole;
SELECT * FROM stored;
SELECT action FROM kde_refresh('high', force => true);
DROP TABLE high;
-- TRUNCATE of the whole, and a partition that is dropped.
CREATE TABLE whole (k integer, v integer) PARTITION BY LIST (k);
CREATE TABLE one PARTITION OF whole FOR VALUES IN (1);
CREATE TABLE two PARTITION OF whole FOR VALUES IN (2) PARTITION BY LIST (v);
CREATE TABLE two_any PARTITION OF two DEFAULT;
INSERT INTO whole SELECT 1 + i % 2, i % 7 FROM generate_series(1, 700) AS i;
SELECT count(kde_fit(t, 'v')) FROM unnest('{whole,one,two,two_any}'::regclass[]) AS t;
SELECT * FROM stored;
DROP TABLE one;
SELECT rows FROM kde_fit('whole', 'v');
TRUNCATE whole;
SELECT try($$SELECT rows FROM kde_fit('whole', 'v')$$);
SELECT try($$SELECT action || ': ' || reason FROM kde_refresh('whole', force => true)$$);
SELECT approx_count('whole.v') AS as_of_the_last_fit;
DROP TABLE two;
SELECT * FROM stored;
DROP TABLE whole;
-- Inheritance: a parent's density is of its children's rows too.
CREATE TABLE parent (v integer);
CREATE TABLE child () INHERITS (parent);
INSERT INTO parent SELECT i FROM generate_series(1, 10) AS i;
INSERT INTO child SELECT i FROM generate_series(1, 20) AS i;
SELECT rows FROM kde_fit('parent', 'v');
ALTER TABLE child NO INHERIT parent;
SELECT approx_count('parent.v') AS as_fitted, (SELECT rows FROM kde_fit('parent', 'v')) AS refit;
ALTER TABLE parent RENAME v TO w;
SELECT rows FROM kde_fit('child', 'v');
DROP TABLE parent, child;
-- A typed table's columns are renamed with its type.
CREATE TYPE reading AS (at date, level integer);
CREATE TABLE readings OF reading;
INSERT INTO readings SELECT date '2026-01-01' + i, i % 7 FROM generate_series(1, 70) AS i;
SELECT rows FROM kde_fit('readings', ARRAY['level', 'at']);
ALTER TYPE reading RENAME ATTRIBUTE level TO height CASCADE;
SELECT * FROM stored;
DROP TYPE reading CASCADE;
SELECT * FROM stored;

-- -------------------------------------------------------------------------------------- rewrites
CREATE TABLE t (id integer PRIMARY KEY, v integer, w integer);
INSERT INTO t SELECT i, i % 7, i % 5 FROM generate_series(1, 700) AS i;
SELECT rows FROM kde_fit('t', 'v');
SELECT rows FROM kde_fit('t', ARRAY['v', 'w'], filter => 'id > 7');
CREATE VIEW answers AS
SELECT approx_count(kde_density('t'::regclass, 'v'), 2, 4) AS v, approx_count('t (v, w)', ARRAY[2, 1], ARRAY[4, 3], filter => 'id > 7') AS v_w;
SELECT * FROM answers;
CLUSTER t USING t_pkey;
SELECT * FROM answers;
VACUUM FULL t;
SELECT * FROM answers;
ALTER TABLE t SET UNLOGGED;
ALTER TABLE t SET LOGGED;
ALTER TABLE t ALTER COLUMN id TYPE bigint;
ALTER TABLE t ADD COLUMN x integer DEFAULT random() * 10;
SELECT * FROM answers;
SELECT action FROM kde_refresh('t', force => true);
SELECT * FROM answers;
-- So does the catalog itself live through its own.
VACUUM FULL kde_aqp.fitted;
CLUSTER kde_aqp.fitted USING fitted_key;
REINDEX TABLE kde_aqp.fitted;
REFRESH MATERIALIZED VIEW kde_aqp.fitted;
VACUUM FULL kde_aqp.upkeep;
SELECT * FROM answers;
SELECT rows FROM kde_fit('t', 'v');
-- Rolled back: a truncation, a rewrite, a drop.
BEGIN;
TRUNCATE t;
SELECT try($$SELECT rows FROM kde_fit('t', 'v')$$);
INSERT INTO t SELECT i, i % 7, i % 5 FROM generate_series(1, 70) AS i;
SELECT rows FROM kde_fit('t', 'v');
ROLLBACK;
BEGIN;
DROP TABLE t CASCADE;
ROLLBACK;
SELECT * FROM answers;

-- ---------------------------------------------------------------------------------------- owners
ALTER TABLE t OWNER TO regress_kde_first;
SET ROLE regress_kde_second;
SELECT try($$SELECT rows FROM kde_fit('t', 'v')$$), try($$SELECT kde_drop('t.v')$$), try($$SELECT count(*) FROM kde_refresh('t')$$);
RESET ROLE;
ALTER TABLE t OWNER TO regress_kde_second;
SET ROLE regress_kde_second;
SELECT rows FROM kde_fit('t', 'v');
SELECT action FROM kde_refresh('t', force => true);
SELECT relation, column_names, rows FROM kde_densities_full WHERE relation = 't'::regclass ORDER BY column_names;
SET ROLE regress_kde_first;
SELECT try($$SELECT rows FROM kde_fit('t', 'v')$$), try($$SELECT approx_count('t.v')$$);
RESET ROLE;
REASSIGN OWNED BY regress_kde_second TO regress_kde_first;
SET ROLE regress_kde_first;
SELECT approx_count('t.v'), (SELECT rows FROM kde_fit('t', 'w'));
RESET ROLE;
SELECT * FROM stored;
SET client_min_messages = warning;
DROP OWNED BY regress_kde_first CASCADE;
RESET client_min_messages;
SELECT * FROM stored;
SELECT count(*) FROM kde_aqp.fitted WHERE NOT EXISTS (SELECT FROM pg_class WHERE oid = relation);

-- -------------------------------------------------- what expressions and filters stand on
CREATE SCHEMA reshaped_too;
CREATE FUNCTION half(integer) RETURNS double precision LANGUAGE sql IMMUTABLE AS 'SELECT $1 / 2.0';
CREATE TABLE t AS SELECT i % 7 AS v, i % 5 AS w, i AS x FROM generate_series(1, 700) AS i;
SELECT rows FROM kde_fit('t', ARRAY['half(v)', 'w']);
SELECT rows FROM kde_fit('t', ARRAY['w'], filter => 'x > 7');
SELECT rows FROM kde_fit('t', ARRAY['v', 'w']);
-- A column changes its type: of kinds that differ its densities can no longer be asked, nor be mistaken.
ALTER TABLE t ALTER COLUMN w TYPE date USING date '2026-01-01' + w;
SELECT try($$SELECT approx_count('t (v, w)', ARRAY[1, NULL], ARRAY[3, NULL])$$);
SELECT try($$SELECT approx_count('t (w)', '2026-01-02'::date, '2026-01-03'::date, filter => 'x > 7')$$);
SELECT action FROM kde_refresh('t', force => true);
SELECT approx_count('t (w)', '2026-01-02'::date, '2026-01-03'::date, filter => 'x > 7') AS after_a_refresh,
  (SELECT count(*) FROM t WHERE x > 7 AND w BETWEEN '2026-01-02' AND '2026-01-03') AS exact;
-- One that a filter uses.
ALTER TABLE t ALTER COLUMN x TYPE text;
SELECT try($$SELECT approx_count('t (w)', '2026-01-02'::date, '2026-01-03'::date, filter => 'x > 7')$$);
\set VERBOSITY terse \\ -- the server's own hints differ from version to version
SELECT column_names, filter, action, CASE action WHEN 'failed' THEN split_part(reason, ': No ', 1) END AS why FROM kde_refresh('t', force => true) ORDER BY column_names::text COLLATE "C";
\set VERBOSITY default
SELECT column_names, filter, refresh_failures FROM kde_densities_full WHERE relation = 't'::regclass ORDER BY 1;
ALTER TABLE t DROP x;
SELECT * FROM stored;
-- A function moves, is renamed, goes.
ALTER FUNCTION half(integer) SET SCHEMA reshaped_too;
SELECT try($$SELECT rows FROM kde_fit('t', ARRAY['reshaped_too.half(v)', 'w'])$$);
\set VERBOSITY terse \\ -- the server's own hints differ from version to version
SELECT column_names, action, CASE action WHEN 'failed' THEN split_part(reason, ': No ', 1) END AS why FROM kde_refresh('t', force => true) ORDER BY column_names::text COLLATE "C";
\set VERBOSITY default
DROP FUNCTION reshaped_too.half(integer);
SELECT * FROM stored;
SELECT kde_drop(name) FROM kde_densities_full WHERE relation = 't'::regclass ORDER BY column_names::text COLLATE "C";
SELECT * FROM stored;

SET client_min_messages = warning;
DROP SCHEMA reshaped CASCADE;
DROP SCHEMA reshaped_too CASCADE;
DROP ROLE regress_kde_first, regress_kde_second;
SELECT count(*) FROM kde_aqp.upkeep AS u WHERE NOT EXISTS (SELECT FROM kde_aqp.fitted AS d WHERE d.id = u.density_id);
