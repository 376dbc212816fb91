-- A NULL density gives NULL, or no row, in every function that takes one, whatever else is asked. All of them,
-- from the catalog.
\set ECHO none \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS null_density CASCADE;
CREATE SCHEMA null_density;
SET search_path = null_density, public;
RESET client_min_messages;

CREATE TABLE n AS SELECT i % 10 AS x, i % 7 AS y FROM generate_series(1, 1000) AS i;
\set ECHO queries
SELECT rows FROM kde_fit('n', 'x');
SELECT rows FROM kde_fit('n', ARRAY['x', 'y']);

-- A value for each parameter by its name, or where it has none by its type.
CREATE FUNCTION value_for(name text, type text) RETURNS text LANGUAGE sql AS $$
  SELECT CASE
    WHEN type = 'kde' THEN '(SELECT kde_agg(x) FROM n)'
    ELSE CASE name
      WHEN 'density' THEN quote_literal('n.x')
      WHEN 'relation' THEN '''n''::regclass'
      WHEN 'predicate' THEN '''x < 3'''
      WHEN 'column_name' THEN '''x''::name'
      WHEN 'column_names' THEN 'ARRAY[''x'', ''y'']'
      WHEN 'at' THEN 'ARRAY[1, 2]'
      WHEN 'bounds' THEN 'ARRAY[1, 5]'
      WHEN 'fraction' THEN '0.5::' || type
      WHEN 'fractions' THEN 'ARRAY[0.5]::float8[]'
      WHEN 'as_type' THEN 'NULL::integer'
      WHEN 'x' THEN '1'
      WHEN 'bins' THEN '3'
      WHEN 'bytes' THEN '4096'
      ELSE CASE type WHEN 'bigint' THEN '7' END
    END
  END $$;
-- What says which density: a value, a name, or a relation with its columns.
CREATE FUNCTION names_density(name text, type text) RETURNS boolean LANGUAGE sql AS $$
  SELECT type = 'kde' OR name IN ('density', 'relation', 'column_name', 'column_names') $$;
-- Parameters without a default; none of those may be left out.
CREATE VIEW parameters AS
SELECT p.oid, p.proname, p.prokind, p.oid::regprocedure::text AS function, a.i, a.type, a.name,
  names_density(a.name, a.type) AS names, value_for(a.name, a.type) AS value
FROM pg_proc AS p
JOIN pg_depend AS d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND e.extname = 'kde_aqp'
CROSS JOIN LATERAL (SELECT i, format_type(t, NULL) AS type, coalesce(p.proargnames[i], '') AS name
  FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY AS u(t, i)) AS a
WHERE p.provolatile <> 'v' AND p.pronamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'public')
  AND a.i <= p.pronargs - p.pronargdefaults;
CREATE FUNCTION answer(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  result text;
BEGIN
  EXECUTE format('SELECT CASE WHEN count(*) = 0 THEN ''no row'' WHEN count(r) = 0 THEN ''NULL'' ELSE ''an answer'' END FROM (%s) AS s(r)', query) INTO result;
  RETURN result;
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
-- Each function once with all it needs, and once for each NULL among what names the density.
CREATE TABLE calls AS
SELECT function, prokind, nothing, 'SELECT ' || proname || '(' ||
  string_agg(CASE WHEN i = nothing THEN 'NULL::' || type ELSE value END, ', ' ORDER BY i) ||
  CASE proname WHEN 'kde_conditional' THEN ', measure => ''y''' ELSE '' END || ')::text' AS query
FROM parameters AS p CROSS JOIN LATERAL (SELECT 0 AS nothing UNION ALL SELECT q.i FROM parameters AS q WHERE q.oid = p.oid AND q.names) AS v
WHERE oid IN (SELECT oid FROM parameters WHERE names)
GROUP BY oid, function, proname, prokind, nothing;
SELECT count(*) AS functions, count(DISTINCT function) FILTER (WHERE query IS NULL) AS unknown FROM calls WHERE nothing = 0;
SELECT function, string_agg(DISTINCT answer(query), ', ') FILTER (WHERE nothing = 0) AS asked,
  string_agg(DISTINCT answer(query), ', ') FILTER (WHERE nothing > 0) AS of_null
FROM calls GROUP BY function ORDER BY function COLLATE "C";

-- Whatever else is asked of it.
SELECT approx_count(NULL::kde, 1, 2, max_relative_error => -1) AS count, approx_avg_as(NULL::kde, NULL::date) AS avg,
  approx_quantile(NULL::kde, 7) AS quantile, (approx_sum_ci(NULL::text, 1, 2, confidence => 7)).estimate AS sum;
SELECT count(*) FROM kde_points(NULL, NULL);
SELECT count(*) FROM approx_histogram(NULL::kde, NULL);
SELECT NULL::kde::json AS json, NULL::kde::jsonb AS jsonb, NULL::kde::text AS text, rollup(NULL::kde) AS rollup;
-- In a row beside others.
SELECT id, approx_count(d, 1, 3) AS count, (approx_count_ci(d, 1, 3)).estimate, (kde_info(d)).rows, (SELECT sum(count) FROM approx_histogram(d, 2)) AS bins
FROM (VALUES (1, kde_density('n.x')), (2, NULL)) AS v(id, d) ORDER BY id;

SET client_min_messages = warning;
DROP SCHEMA null_density CASCADE;
