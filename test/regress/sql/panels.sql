-- 48 panels of dashboards on a table with a timestamptz, as Grafana, Metabase, Superset, Looker, Tableau, Power BI and
-- people write them (panels/statements.sql): by few densities of every row, at rest, after one row more and after
-- 0.5 % more. Each beside the exact plan, in value and order; why one is left to it is said once.
\set ECHO queries \\ \pset tuples_only on \\ \pset format unaligned
SET TimeZone = 'UTC';
SET kde_aqp.approximate_notice = off;
\getenv inputdir PG_ABS_SRCDIR
\set file :inputdir '/panels/tables.sql'
\set rows 200000
SET client_min_messages = warning;
\set ECHO none
\i :file
\set file :inputdir '/panels/statements.sql'
\i :file
\set ECHO queries
RESET client_min_messages;
-- What kde_advise() makes of them.
SELECT sum(answers) AS answered FROM kde_advise((SELECT array_agg(query ORDER BY id) FROM panel), least_share => 0) WHERE rank IS NOT NULL;
\set file :inputdir '/panels/fits.sql'
\i :file
-- The rows in their order, where the query has one.
CREATE FUNCTION rows_in_order(query text, way text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  result text[];
BEGIN
  PERFORM set_config('kde_aqp.approximate', way, true);
  EXECUTE format('SELECT array_agg(r::text%s) FROM (%s) AS r', CASE WHEN query !~* 'ORDER BY [^()]*$' THEN ' ORDER BY r::text' END, query) INTO result;
  RETURN result;
END $$;
-- Whether nothing but blocks that changed was read of rides.
CREATE FUNCTION is_answered(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  line text;
  answers boolean := false;
BEGIN
  PERFORM set_config('kde_aqp.approximate', 'all', true);
  FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
    answers := answers OR line LIKE '%KdeAqp%';
    IF line ~ 'Scan.* on rides' AND line !~ 'never executed|Tid' THEN RETURN false; END IF;
  END LOOP;
  RETURN answers;
END $$;
CREATE FUNCTION ask(step text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  p record;
  answered integer := 0;
  same integer := 0;
  own boolean;
  got text[];
  exact text[];
  why text;
  told integer[] := coalesce(nullif(current_setting('test.told', true), ''), '{}');
BEGIN
  FOR p IN SELECT * FROM panel ORDER BY id LOOP
    exact := rows_in_order(p.query, 'off');
    got := rows_in_order(p.query, 'all');
    own := is_answered(p.query);
    answered := answered + own::integer;
    IF got IS NOT DISTINCT FROM exact THEN same := same + own::integer;
    ELSE RETURN NEXT format('DIFFERENT, panel %s: %s, not %s: %s', p.id, (SELECT min(x) FROM unnest(got) AS x WHERE x <> ALL (exact)), (SELECT min(x) FROM unnest(exact) AS x WHERE x <> ALL (got)), p.query);
    END IF;
    IF NOT own AND p.id <> ALL (told) THEN
      SELECT string_agg(DISTINCT reason, '; ') INTO why FROM kde_explain_query(p.query) WHERE density IS NULL;
      IF why IS NULL THEN SELECT string_agg(reason, '; ') INTO why FROM (SELECT DISTINCT reason FROM kde_explain_query(p.query) LIMIT 3) AS r; END IF;
      RETURN NEXT format('exact, panel %s of %s: %s', p.id, p.tool, why);
      told := told || p.id;
    END IF;
  END LOOP;
  PERFORM set_config('test.told', told::text, false);
  RETURN NEXT format('%s: %s of %s answered, %s of these as the exact plan has it', step, answered, p.id, same);
END $$;
SELECT ask('at rest');
INSERT INTO rides VALUES (0, '2026-06-30 12:00+00', 12.5, 'north', 'completed', 'app', 7, true);
SELECT ask('one row more');
INSERT INTO rides SELECT -i, timestamptz '2026-06-30 12:00+00' + i * interval '40 seconds', 3 + i % 90, (ARRAY['north', 'south', 'east'])[1 + i % 3], CASE WHEN i % 9 > 0 THEN 'completed' END, 'web', 1 + i % 300, i % 7 > 0
FROM generate_series(1, 999) AS i;
SELECT ask('0.5 % more');
DROP TABLE rides, drivers, regions, panel;
DROP FUNCTION drawn(bigint, integer), rows_in_order(text, text), is_answered(text), ask(text);
