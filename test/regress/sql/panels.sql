-- 48 panels of dashboards on a table with a timestamptz, as Grafana, Metabase, Superset, Looker, Tableau, Power BI and
-- people write them (panels/statements.sql): by few densities of every row, at rest, after one row more and after
-- 0.5 % more. Each beside the exact plan, in value and order; why one is left to it is said once.
\set ECHO queries \\ \pset tuples_only on \\ \pset format unaligned
SET TimeZone = 'UTC';
SET kde_aqp.approximate_notice = off;
\getenv inputdir PG_ABS_SRCDIR
\set file :inputdir '/panels/drawn.sql'
\set rows 200000
SET client_min_messages = warning;
\set ECHO none
\i :file
\set file :inputdir '/panels/tables.sql'
\i :file
\set file :inputdir '/panels/statements.sql'
\i :file
\set ECHO queries
RESET client_min_messages;
\set ECHO none
\set file :inputdir '/panels/asked.sql'
\i :file
\set ECHO queries
-- By what kde_advise() makes of them: its densities answer half a day within the 1 % that is allowed.
\set ECHO none
\o /dev/null
SELECT call FROM kde_advise((SELECT array_agg(query ORDER BY id) FROM panel), least_share => 0) WHERE rank IS NOT NULL ORDER BY rank \gexec
\o
\set ECHO queries
SELECT ask('as advised', 'rides');
SELECT count(kde_drop(name, filter => filter)) > 0 AS dropped FROM kde_densities_full WHERE relation = 'rides'::regclass;
\set file :inputdir '/panels/fits.sql'
\i :file
SELECT ask('at rest', 'rides', true);
INSERT INTO rides VALUES (0, '2026-06-30 12:00+00', 12.5, 'north', 'completed', 'app', 7, true);
SELECT ask('one row more', 'rides');
INSERT INTO rides SELECT -i, timestamptz '2026-06-30 12:00+00' + i * interval '40 seconds', 3 + i % 90, (ARRAY['north', 'south', 'east'])[1 + i % 3], CASE WHEN i % 9 > 0 THEN 'completed' END, 'web', 1 + i % 300, i % 7 > 0
FROM generate_series(1, 999) AS i;
SELECT ask('0.5 % more', 'rides');
DROP TABLE rides, drivers, regions, panel;
DROP FUNCTION drawn, rows_in_order, why_exact, ask;
