-- What kde_agg, rollup, kde_points and kde_histogram refuse, and how they say so.
\set ECHO none \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS aggregate_errors CASCADE;
CREATE SCHEMA aggregate_errors;
SET search_path = aggregate_errors, public;
RESET client_min_messages;

CREATE TABLE t AS SELECT i, i / 4.0::float8 AS x, 'a' || i AS name FROM generate_series(1, 100) AS i;
CREATE DOMAIN name_of AS text;

\set ECHO queries
-- Types.
SELECT kde_agg(name) FROM t;
SELECT q, try(q) FROM unnest(ARRAY[
  'SELECT kde_agg(name::name_of) FROM t', 'SELECT kde_agg(true)', 'SELECT kde_agg(''1'')', 'SELECT kde_agg(NULL)',
  'SELECT kde_agg(ARRAY[1, 2])', 'SELECT kde_agg(kde_agg) FROM (SELECT kde_agg(i) FROM t) AS s', 'SELECT kde_agg(t) FROM t',
  'SELECT kde_agg(''1''::money)', 'SELECT kde_agg(name) IS NULL FROM t WHERE false']) AS q;

-- Methods, weights, bytes; all rows of a group agree.
SELECT kde_agg(x, 'magic') FROM t;
SELECT q, try('SELECT approx_count(' || q || ') FROM t') AS result FROM unnest(ARRAY[
  'kde_agg(x, NULL)', 'kde_agg(x, '''')', 'kde_agg(x, ''AUTO'')', 'kde_agg(x, ''lscv_matrix'')',
  'kde_agg(x, ''auto'', -1)', 'kde_agg(x, ''auto'', ''NaN'')', 'kde_agg(x, ''auto'', ''infinity'')', 'kde_agg(x, ''auto'', ''-infinity'')',
  'kde_agg(x, ''auto'', 1e101)', 'kde_agg(x, ''auto'', 50.5 - i)', 'kde_agg(x, ''auto'', 0)', 'kde_agg(x, ''auto'', -0.0::float8)',
  'kde_agg(x, ''auto'', 1, 511)', 'kde_agg(x, ''auto'', 1, 512)', 'kde_agg(x, ''auto'', 1, 16384)', 'kde_agg(x, ''auto'', 1, 524289)',
  'kde_agg(x, ''auto'', 1, -1)', 'kde_agg(x, ''auto'', 1, NULL)', 'kde_agg(x, ''auto'', NULL, NULL)', 'kde_agg(x, NULL, 0, 512)',
  'kde_agg(x, CASE WHEN i < 50 THEN ''auto'' ELSE ''plugin'' END)', 'kde_agg(x, ''auto'', 1, 1000 + i)',
  'kde_agg(x, CASE WHEN i < 50 THEN ''scott'' ELSE ''scott'' END)']) AS q;
-- Also where they meet as parts of groups.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT (SELECT try('SELECT kde_agg(x, ''auto'', 1, 1000 + i % 2) FROM t') LIMIT 1) LIKE '22023 all rows of a group must have the same bytes' AS parallel;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;

-- Rolling up.
CREATE TABLE parts AS
SELECT 'integer' AS name, kde_agg(i) AS d FROM t UNION ALL SELECT 'double', kde_agg(x) FROM t
UNION ALL SELECT 'plugin', kde_agg(x, 'plugin') FROM t UNION ALL SELECT 'scott', kde_agg(x, 'scott') FROM t;
INSERT INTO parts SELECT 'fitted', '\x020600000202070101000000000000000000000300000000404e0000000000004014000000000000000000000000000000000000000000000000000000000000404e0000000000003fd00000000000003ff000000000000000000000000000000000000000000000000000000000000040000000000000003ff00000000000003fe0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000fff00000000000007ff00000000000003f8000003f0000003e8000003f8000003f8000003f8000003f800000400000003f8000003f8000003f8000003f8000003f8000003f8000003f8000003f800000000000000000000000000000000000000000000000000000000000000000000000000000000000003ff0000000000000400000000000000040340000000000004044000000000000404e000000000000';
SELECT rollup(d) FROM parts WHERE name = 'fitted';
SELECT a, b, try(format('SELECT approx_count(rollup(d ORDER BY name)) FROM parts WHERE name IN (%L, %L)', a, b)) AS result
FROM (VALUES ('double', 'integer'), ('double', 'plugin'), ('plugin', 'scott'), ('fitted', 'integer'), ('plugin', 'plugin'), ('none', 'none')) AS v(a, b);
SELECT b, try(format('SELECT approx_count(rollup(d, %s)) FROM parts WHERE name = ''double''', b)) AS result
FROM unnest(ARRAY['511', '512', '16384', '524289', 'NULL']) AS b;
SELECT try('SELECT rollup(1)') AS number, try('SELECT rollup(name) FROM parts') AS text;

-- ---------------------------------------------------------------------------------------------
-- Points and bins.
SELECT q, try('SELECT count(*) FROM parts, ' || q || ' WHERE name = ''double''') AS result FROM unnest(ARRAY[
  'kde_points(d, 1)', 'kde_points(d, 2)', 'kde_points(d, 10000)', 'kde_points(d, 10001)', 'kde_points(d, NULL)', 'kde_points(d, -5)',
  'kde_points(d, 5, 3, 2)', 'kde_points(d, 5, 3, 3)', 'kde_points(d, 5, 1000)', 'kde_points(d, 5, ''NaN'')', 'kde_points(d, 5, NULL, ''infinity'')',
  'kde_points(d, 5, -1e308, 1e308)', 'approx_histogram(d, 0)', 'approx_histogram(d, 10001)', 'approx_histogram(d, NULL)', 'approx_histogram(d, 10000)']) AS q;

SET client_min_messages = warning;
DROP SCHEMA aggregate_errors CASCADE;
