-- Densities whose function, operator or type is gone, or whose label has another name: nothing can read their
-- texts any more. They are dropped, and set, by their names all the same: as kde_densities has them, and as
-- they were given to the fit.
\pset tuples_only
\pset format unaligned
CREATE SCHEMA gone_names;
SET search_path = gone_names, public;
SET kde_aqp.stale = ignore;
CREATE TYPE state AS ENUM ('new', 'shipped');
CREATE FUNCTION twice(integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN 2 * $1; END';
CREATE FUNCTION thrice(integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN 3 * $1; END';
CREATE OPERATOR %% (FUNCTION = twice, RIGHTARG = integer);
CREATE TABLE t (v integer, w integer, s state);
INSERT INTO t SELECT i, i % 7, CASE WHEN i % 2 = 0 THEN 'new' ELSE 'shipped' END::state FROM generate_series(1, 100) AS i;
CREATE TABLE calls (i serial, fit text, name text, filter text);
INSERT INTO calls (fit, name, filter) VALUES
  ($$ARRAY['twice(v)']$$, 't (twice( v ))', NULL),
  ($$ARRAY['twice(v)', 'w']$$, 't (w, "twice"(v))', NULL),
  ($$ARRAY['thrice(v)']$$, 't (gone_names.thrice(v))', NULL),
  ($$ARRAY['%% v']$$, 't (%% v)', 'w > 1'),
  ($$'v'$$, 't.v', 'twice(v) BETWEEN 3 AND 8 AND w IN (1, 2)'),
  ($$'v'$$, 't.v', 'w > 3 AND s = ''shipped'''),
  ($$'v'$$, 't.v', 's IN (''shipped'', ''new'')'),
  ($$'v', group_by => 'twice(w)'$$, 't.v by twice(w)', NULL),
  ($$ARRAY['(s = ''shipped'')::integer']$$, 't ((s = ''shipped'')::int4)', NULL);
SELECT i, try(format('SELECT rows FROM kde_fit(''t'', %s, seed => 1%s)', fit, ', filter => ' || quote_literal(filter)))
FROM calls ORDER BY i;
SELECT rows FROM kde_fit('t', 'w', measures => ARRAY['twice(v)'], name => 'named', seed => 1);
DROP OPERATOR %% (NONE, integer);
DROP FUNCTION twice, thrice;
ALTER TYPE state RENAME VALUE 'shipped' TO 'sent';
SELECT name, filter, alias FROM kde_densities_full WHERE pg_table_is_visible(relation) ORDER BY name, filter;

-- As kde_densities has them.
BEGIN;
SELECT count(*), bool_and(kde_drop(name, filter => filter)) FROM kde_densities_full WHERE pg_table_is_visible(relation);
ROLLBACK;
-- As they were given, or the same in other words; also to what sets something.
BEGIN;
SELECT i, name, filter, try(format('SELECT kde_set_refresh(%L, filter => %L, enabled => false)', name, filter)) AS refresh,
  try(format('SELECT kde_set_plain_sql(%L, false, filter => %L)', name, filter)) AS plain FROM calls ORDER BY i;
SELECT i, try(format('SELECT kde_drop(%L, filter => %L)', name, filter)) FROM calls ORDER BY i;
SELECT kde_drop('named');
SELECT name, filter FROM kde_densities_full WHERE pg_table_is_visible(relation);
ROLLBACK;
-- What no density has is none: an error, or with if_exists a notice. What is not understood is an error.
SELECT try(format('SELECT kde_drop(%L, filter => %L)', name, filter)), try(format('SELECT kde_drop(%L, filter => %L, if_exists => true)', name, filter))
FROM (VALUES ('t (twice(w))', NULL), ('t (nowhere(v))', NULL), ('t.v', 'twice(v) > 3'), ('t.v', 's = ''lost'''), ('t.v', 'twice(')) AS c(name, filter);
-- Two that differ in what words do not tell.
CREATE FUNCTION twice(integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN 2 * $1; END';
SELECT rows FROM kde_fit('t', 'v', filter => 'twice(v) < 30', seed => 1);
SELECT rows FROM kde_fit('t', 'v', filter => 'twice(v) > 30', seed => 1);
DROP FUNCTION twice;
SELECT try($$SELECT kde_drop('t.v', filter => 'twice(v)<30')$$);
SELECT kde_drop('t.v', filter => '(gone_names.twice(v) < 30)');
-- The other is the only one now, but another by its sign.
SELECT kde_drop('t.v', filter => '30<twice(v)');
DROP SCHEMA gone_names CASCADE;
