-- What bad input gets: SQLSTATE, message, detail and hint; and that nothing is changed by it.
\set ECHO queries \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS errors CASCADE;
DROP SCHEMA IF EXISTS "Other.Schema" CASCADE;
CREATE SCHEMA errors;
SET search_path = errors, public;
RESET client_min_messages;
SET datestyle = 'ISO, YMD';

CREATE TABLE good AS SELECT i % 4 AS x, i AS dropped, i::text AS label FROM generate_series(1, 100) AS i;
ALTER TABLE good DROP COLUMN dropped;
CREATE TABLE times AS SELECT timestamp '2026-01-01' + i % 4 * interval '1 day' AS t,
  i % 4 * interval '1 hour' AS i FROM generate_series(1, 100) AS i;
SELECT rows FROM kde_fit('good', 'x');
SELECT rows FROM kde_fit('times', 't');
SELECT rows FROM kde_fit('times', 'i');
CREATE TABLE empty (x integer);
CREATE TABLE nulls AS SELECT NULL::float8 AS x FROM generate_series(1, 10);
CREATE VIEW view AS SELECT x FROM good;
CREATE INDEX good_x ON good (x);
CREATE SEQUENCE sequence;
CREATE TYPE composite AS (x integer);
CREATE MATERIALIZED VIEW unpopulated AS SELECT x FROM good WITH NO DATA;
CREATE TABLE other_types (label text, flag boolean, body bytea, list integer[], span int4range, clock timetz, id uuid, doc json, place point);

-- The catalog before.
CREATE TABLE before AS SELECT md5(string_agg(d::text, ' ' ORDER BY d.relation, d.column_names::text)) AS h
FROM kde_aqp.fitted AS d;

-- ------------------------------------------------------------------------------------ kde_fit
SELECT try($$SELECT kde_fit('nowhere', 'x')$$);
-- The server's own message names the schema up to PostgreSQL 15, the table since.
SELECT try($$SELECT kde_fit('nowhere.good', 'x')$$) ~ '"nowhere(\.good)?" does not exist$' AS unknown;
SELECT try($$SELECT kde_fit(0, 'x')$$);
SELECT try($$SELECT kde_fit('good', 'y')$$);
SELECT try($$SELECT kde_fit('good', 'X')$$);
SELECT try($$SELECT kde_fit('good', '')$$);
-- The nearest name first; an expression is no name; a point in a name.
SELECT try($$SELECT kde_fit('good', 'lable')$$);
SELECT try($$SELECT kde_fit('good', 'label||2')$$);
SELECT try($$SELECT kde_fit('good', 'x, label')$$);
CREATE TABLE pointed AS SELECT 1 AS "pm2.5";
SELECT try($$SELECT approx_count('pointed.pm2.5', 1, 2)$$);
SELECT try($$SELECT approx_count('pointed.pm2.7', 1, 2)$$);
DROP TABLE pointed;
SELECT try($$SELECT kde_fit('good', 'dropped')$$);
SELECT try($$SELECT kde_fit('good', '........pg.dropped.2........')$$);
SELECT try($$SELECT kde_fit('good', 'ctid')$$);
SELECT try($$SELECT kde_fit('good', 'tableoid')$$);
SELECT try($$SELECT kde_fit('good', 'label', method => 'plugin')$$);
SELECT attname, try(format('SELECT kde_fit(''other_types'', %L)', attname))
FROM pg_attribute WHERE attrelid = 'other_types'::regclass AND attnum > 0 ORDER BY attnum;
SELECT try($$SELECT kde_fit('empty', 'x')$$);
SELECT try($$SELECT kde_fit('nulls', 'x')$$);
SELECT try($$SELECT kde_fit('view', 'x')$$);
SELECT try($$SELECT kde_fit('good_x', 'x')$$);
SELECT try($$SELECT kde_fit('sequence', 'last_value')$$);
SELECT try($$SELECT kde_fit('composite', 'x')$$);
SELECT try($$SELECT kde_fit('unpopulated', 'x')$$);
SELECT try($$SELECT kde_fit('good', 'x', 'magic')$$);
SELECT try($$SELECT kde_fit('good', 'x', '')$$);
SELECT try($$SELECT kde_fit('good', 'x', 'Plugin')$$);
SELECT try($$SELECT kde_fit('good', 'x', 'lscv_matrix')$$);
SELECT sample_rows, try(format('SELECT kde_fit(''good'', ''x'', sample_rows => %s)', sample_rows))
FROM unnest('{0,1,-2,-9223372036854775808}'::bigint[]) AS sample_rows;
SET maintenance_work_mem = '1MB';
SELECT try($$SELECT kde_fit('good', 'x', sample_rows => 9223372036854775807)$$);
SELECT try($$SELECT kde_fit('good', 'x', sample_rows => 16385)$$);
RESET maintenance_work_mem;
SELECT argument, try(format('SELECT kde_fit(%s)', argument)) FROM unnest(ARRAY[
  'NULL, ''x''', '''good'', NULL', '''good'', ''x'', NULL']) AS argument;

-- --------------------------------------------------------------------- kde_drop, kde_density
SELECT try($$SELECT kde_drop('good.y')$$);
SELECT try($$SELECT kde_drop('good.label')$$);
SELECT try($$SELECT kde_drop('good.label', if_exists => true)$$);
SELECT try($$SELECT kde_drop('good.y', if_exists => true)$$);
SELECT try($$SELECT kde_drop(NULL)$$);
SELECT try($$SELECT kde_drop('good.x', if_exists => NULL)$$);
SELECT try($$SELECT kde_drop('good', 'x')$$);
SELECT try($$SELECT kde_density('good.label')$$);
SELECT try($$SELECT kde_density('good', 'label')$$);

-- ------------------------------------------------------------------------ names of densities
SELECT name, try(format('SELECT approx_count(%L)', name)) FROM unnest(ARRAY[
  '', ' ', '.', 'good', 'good.', '.x', 'good..x', 'good.x.', 'good.y', 'good.X', 'good.label',
  'nowhere.x', 'errors.nowhere.x', 'nowhere.good.x', 'a.b.c.d.e', '"good.x', 'good."x', 'good."".x',
  '"good.x"', 'good.x y', 'good.ctid', 'view.x', 'good.1', repeat('a', 100) || '.x',
  'Good.X', ' good . x ', '"good"."x"', 'errors.good.x']) AS name;
SELECT try('SELECT approx_count(' || quote_literal(current_database() || '.errors.good.x') || ')');
SELECT left(try($$SELECT approx_count('nosuchdatabase.errors.good.x')$$), 5) AS state;
SELECT try($$SELECT approx_count(NULL::text)$$);
SELECT try($$SELECT approx_count(NULL::kde, 1, 2)$$);
SELECT try($$SELECT approx_count('good', NULL, 1, 2)$$);
SELECT try($$SELECT approx_count('good', '1', '2', 'x')$$);
SELECT try($$SELECT approx_count('good.y', 1, 2)$$);
SELECT try($$SELECT approx_count('good.label', 1, 2)$$);
-- A table and a column in two arguments: told the right form, but where PostgreSQL reads the column's name as
-- a bound, beside an integer, before any function of the extension is called.
SELECT call, try('SELECT ' || call) FROM unnest(ARRAY[
  'approx_count(''good''::regclass)', 'approx_count(''good''::regclass, ''x'')', 'approx_sum_ci(''good''::regclass, ''x'', ''1'', ''2'')',
  'approx_quantile(''good''::regclass, 0.5)', 'kde_cdf(''good''::regclass, ''x'')', 'kde_info(''good''::regclass)',
  'count(*) FROM approx_histogram(''errors.good''::regclass)', 'approx_count(NULL::regclass)',
  'approx_count(''good'', ''x'', ''1'', ''2'')', 'approx_count(''good'', ''x'')',
  'approx_count(''good''::regclass, ''x'', 1, 2)', 'approx_count(''good'', ''x'', 1, 2)']) AS call;

-- Quoted, mixed-case and dotted names work, in the search path or out of it.
CREATE SCHEMA "Other.Schema";
CREATE TABLE "Other.Schema"."My.Table ""1""" AS SELECT i % 4 AS "A.b", i % 4 AS "It's" FROM generate_series(1, 100) AS i;
SELECT rows FROM kde_fit('"Other.Schema"."My.Table ""1"""', 'A.b');
SELECT approx_count('"Other.Schema"."My.Table ""1"""."A.b"', 1, 2) AS text,
  approx_count(kde_density('"Other.Schema"."My.Table ""1"""', 'A.b'), 1, 2) AS columns;
SELECT try($$SELECT approx_count('"My.Table ""1"""."A.b"')$$);
SELECT try($$SELECT approx_count('"Other.Schema"."My.Table ""1"""."It''s"')$$);
SELECT relation, column_names FROM kde_densities_full WHERE relation::text LIKE '%My%';
DROP SCHEMA "Other.Schema" CASCADE;
SELECT count(*) FROM kde_densities_full WHERE relation::text LIKE '%My%';

-- ------------------------------------------------------------------------------------- bounds
SELECT try($$SELECT approx_count('good.x', date '2026-01-01', NULL)$$);
SELECT try($$SELECT approx_count('good.x', interval '1 day', NULL)$$);
SELECT try($$SELECT approx_count('good.x', true, NULL)$$);
SELECT try($$SELECT approx_count('good.x', 'a', 'b')$$);
SELECT try($$SELECT approx_count('good.x', '2026-01-01', NULL)$$);
SELECT try($$SELECT approx_count('good.x', 1, 'b')$$);
SELECT try($$SELECT approx_count('good.x', daterange('2026-01-01', NULL))$$);
SELECT try($$SELECT approx_count('good.x', int4range(1, 2), int4range(1, 2))$$);
SELECT try($$SELECT approx_count('good.x', '{1,2}'::integer[], NULL)$$);
SELECT try($$SELECT approx_count('times.t', 1, 2)$$);
SELECT try($$SELECT approx_count('times.t', 'yesterday morning', NULL)$$);
SELECT try($$SELECT approx_count('times.t', interval '1 hour', NULL)$$);
SELECT try($$SELECT approx_count('times.i', timestamp '2026-01-01', NULL)$$);
SELECT try($$SELECT approx_count('times.i', 'an hour', NULL)$$);
SELECT try($$SELECT approx_sum('good.x', date '2026-01-01')$$);
SELECT try($$SELECT kde_pdf('good.x', date '2026-01-01')$$);
SELECT try($$SELECT kde_cdf(kde_density('good.x'), 'b')$$);
SELECT try($$SELECT approx_avg_as('good.x', NULL::date)$$);
SELECT try($$SELECT approx_avg_as('times.t', NULL::timestamptz)$$);
SELECT try($$SELECT approx_quantile_as('good.x', 0.5, NULL::bigint)$$);
SELECT fraction, try(format('SELECT approx_quantile(''good.x'', %L::float8)', fraction))
FROM unnest('{-0.001,1.001,NaN,infinity}'::float8[]) AS fraction;
SELECT try($$SELECT approx_quantile('good.x', '{0.5,2}'::float8[])$$);
SELECT try($$SELECT approx_quantile('good.x', 'half')$$);
SELECT try($$SELECT approx_quantile('good.x', '{0.5}')$$);

-- ------------------------------------------------------------------------------------ options
-- The ends of a range are written with their unit since PostgreSQL 17, so not shown.
SELECT option, split_part(try(format('SET kde_aqp.%s', option)), ' (', 1) FROM unnest(ARRAY[
  'bandwidth_rows = 1', 'bandwidth_rows = 4194305', 'sample_blocks = 0', 'cache_size = 63',
  'joint_bytes = 63', 'threads = -1', 'threads = 1025', 'threads = ''many''']) AS option;
-- The detail lists the processor's sets: not shown.
SELECT split_part(try('SET kde_aqp.simd = ''mmx'''), ':', 1) AS try;
SHOW kde_aqp.simd;

-- --------------------------------------------------------------------- read-only transactions
BEGIN READ ONLY;
SELECT try($$SELECT kde_fit('good', 'x')$$);
SELECT try($$SELECT kde_drop('good.x')$$);
SELECT approx_count('good.x', 1, 2);
ROLLBACK;

-- The catalog after.
SELECT md5(string_agg(d::text, ' ' ORDER BY d.relation, d.column_names::text)) = (SELECT h FROM before) AS unchanged
FROM kde_aqp.fitted AS d;

SET client_min_messages = warning;
DROP SCHEMA errors CASCADE;
