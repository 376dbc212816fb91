-- A table of as many columns and of the kind that ClickBench has (ClickHouse, https://github.com/ClickHouse/ClickBench):
-- visits of web pages, 105 columns; and 43 statements of the shapes of its own, in words and names of this test, no
-- text of it. Which densities answer, and why not the others. A list that grows: there is no floor.
\set ECHO queries \\ \pset tuples_only on \\ \pset format unaligned
SET TimeZone = 'UTC';
SET kde_aqp.approximate_notice = off;
SET client_min_messages = warning;
-- A small table stands for a large one, where many parts cost less than rows.
SET cpu_tuple_cost = 10;
\getenv inputdir PG_ABS_SRCDIR
\set file :inputdir '/panels/asked.sql'
\set ECHO none
\i :file
\set ECHO queries
CREATE FUNCTION h(i bigint, of integer, kinds integer) RETURNS bigint IMMUTABLE LANGUAGE sql AS 'SELECT floor(kinds * ((hashint8(i * 64 + of) & 2147483647) / 2147483648.0) ^ 2)::bigint';
-- Those that are asked of, and 80 more.
SELECT 'CREATE TABLE visits AS SELECT hashint8extended(i, 1) AS visit, timestamp ''2026-07-01'' + i * interval ''133 seconds'' + h(i, 1, 100) * interval ''1 second'' AS at,
  NULL::date AS day, hashint8extended(h(i, 2, 3000), 2) AS person, h(i, 3, 90)::int AS site, h(i, 4, 200)::int AS region, CASE WHEN h(i, 5, 10) > 6 THEN ''words '' || h(i, 6, 300) ELSE '''' END AS words,
  CASE WHEN h(i, 7, 20) > 17 THEN 1 + h(i, 8, 18) ELSE 0 END::smallint AS advert, (ARRAY[1024,1280,1366,1536,1920,2560])[1 + h(i, 9, 6)]::smallint AS width, h(i, 10, 900)::smallint AS view_width, h(i, 11, 700)::smallint AS view_height,
  CASE WHEN h(i, 12, 10) > 7 THEN ''phone '' || h(i, 13, 60) ELSE '''' END AS phone, h(i, 14, 5)::smallint AS maker, ''http://'' || CASE WHEN h(i, 15, 50) = 40 THEN ''goods'' ELSE ''page'' END || h(i, 16, 2000) AS url,
  CASE WHEN h(i, 17, 9) = 5 THEN ''Goods and more '' ELSE ''Page '' END || h(i, 18, 500) AS title, CASE WHEN h(i, 19, 4) > 1 THEN ''https://www.site'' || h(i, 20, 80) || ''.org/path'' ELSE '''' END AS referrer, h(i, 21, 4000)::int AS address,
  (h(i, 22, 10) > 7)::int::smallint AS refreshed, h(i, 23, 9)::int::smallint - 1::smallint AS source, (h(i, 24, 30) > 27)::int::smallint AS uncounted, hashint8extended(h(i, 16, 2000), 3) AS url_hash, hashint8extended(h(i, 20, 80), 4) AS referrer_hash,
  (h(i, 25, 20) > 17)::int::smallint AS linked, (h(i, 26, 50) > 48)::int::smallint AS downloaded, h(i, 27, 6)::smallint AS searched_by, '
  || string_agg(CASE c % 4 WHEN 0 THEN 'h(i, ' || c || ', 5)::smallint' WHEN 1 THEN '''value '' || h(i, ' || c || ', 4)' WHEN 2 THEN 'i' ELSE '(i % 7)::int' END || ' AS more' || c, ', ') || ' FROM generate_series(1, 20000::bigint) AS i' AS made
FROM generate_series(1, 80) AS c \gset
:made;
UPDATE visits SET day = at::date;
SELECT format('ALTER TABLE visits %s', string_agg(format('ALTER %I SET NOT NULL', attname), ', ')) AS made, count(*) AS columns FROM pg_attribute WHERE attrelid = 'visits'::regclass AND attnum > 0 \gset
:made;
\echo :columns columns
VACUUM FULL visits;
VACUUM ANALYZE visits;
CREATE TABLE panel (id integer GENERATED ALWAYS AS IDENTITY (MINVALUE 0), tool text DEFAULT 'shape', query text);
INSERT INTO panel (query) VALUES
  ('SELECT count(*) FROM visits'),
  ('SELECT count(*) FROM visits WHERE advert <> 0'),
  ('SELECT sum(advert), count(*), avg(width) FROM visits'),
  ('SELECT avg(person) FROM visits'),
  ('SELECT count(DISTINCT person) FROM visits'),
  ('SELECT count(DISTINCT words) FROM visits'),
  ('SELECT min(day), max(day) FROM visits'),
  ('SELECT advert, count(*) FROM visits WHERE advert <> 0 GROUP BY advert ORDER BY count(*) DESC, 1'),
  ('SELECT region, count(DISTINCT person) AS n FROM visits GROUP BY region ORDER BY n DESC, 1 LIMIT 10'),
  ('SELECT region, sum(advert), count(*) AS n, avg(width), count(DISTINCT person) FROM visits GROUP BY region ORDER BY n DESC, 1 LIMIT 10'),
  ('SELECT phone, count(DISTINCT person) AS n FROM visits WHERE phone <> '''' GROUP BY phone ORDER BY n DESC, 1 LIMIT 10'),
  ('SELECT maker, phone, count(DISTINCT person) AS n FROM visits WHERE phone <> '''' GROUP BY maker, phone ORDER BY n DESC, 1, 2 LIMIT 10'),
  ('SELECT words, count(*) AS n FROM visits WHERE words <> '''' GROUP BY words ORDER BY n DESC, 1 LIMIT 10'),
  ('SELECT words, count(DISTINCT person) AS n FROM visits WHERE words <> '''' GROUP BY words ORDER BY n DESC, 1 LIMIT 10'),
  ('SELECT searched_by, words, count(*) AS n FROM visits WHERE words <> '''' GROUP BY searched_by, words ORDER BY n DESC, 1, 2 LIMIT 10'),
  ('SELECT person, count(*) FROM visits GROUP BY person ORDER BY count(*) DESC, 1 LIMIT 10'),
  ('SELECT person, words, count(*) FROM visits GROUP BY person, words ORDER BY count(*) DESC, 1, 2 LIMIT 10'),
  ('SELECT person, words, count(*) FROM visits GROUP BY person, words ORDER BY 1, 2 LIMIT 10'),
  ('SELECT person, extract(minute FROM at) AS minute, words, count(*) FROM visits GROUP BY person, minute, words ORDER BY count(*) DESC, 1, 2, 3 LIMIT 10'),
  ('SELECT person FROM visits WHERE person = ' || hashint8extended(5, 2)),
  ('SELECT count(*) FROM visits WHERE url LIKE ''%goods%'''),
  ('SELECT words, min(url), count(*) AS n FROM visits WHERE url LIKE ''%goods%'' AND words <> '''' GROUP BY words ORDER BY n DESC, 1 LIMIT 10'),
  ('SELECT words, min(url), min(title), count(*) AS n, count(DISTINCT person) FROM visits WHERE title LIKE ''%Goods%'' AND url NOT LIKE ''%.goods.%'' AND words <> '''' GROUP BY words ORDER BY n DESC, 1 LIMIT 10'),
  ('SELECT * FROM visits WHERE url LIKE ''%goods%'' ORDER BY at, visit LIMIT 10'),
  ('SELECT words FROM visits WHERE words <> '''' ORDER BY at, visit LIMIT 10'),
  ('SELECT words FROM visits WHERE words <> '''' ORDER BY words LIMIT 10'),
  ('SELECT words FROM visits WHERE words <> '''' ORDER BY at, words LIMIT 10'),
  ('SELECT site, avg(length(url)) AS l, count(*) AS n FROM visits WHERE url <> '''' GROUP BY site HAVING count(*) > 300 ORDER BY l DESC, 1 LIMIT 25'),
  ('SELECT regexp_replace(referrer, ''^https?://(?:www\.)?([^/]+)/.*$'', ''\1'') AS k, avg(length(referrer)) AS l, count(*) AS n, min(referrer) FROM visits WHERE referrer <> '''' GROUP BY k HAVING count(*) > 100 ORDER BY l DESC, 1 LIMIT 25'),
  ((SELECT 'SELECT ' || string_agg('sum(width + ' || i || ')', ', ') || ' FROM visits' FROM generate_series(0, 89) AS i)),
  ('SELECT searched_by, address, count(*) AS n, sum(refreshed), avg(width) FROM visits WHERE words <> '''' GROUP BY searched_by, address ORDER BY n DESC, 1, 2 LIMIT 10'),
  ('SELECT visit, address, count(*) AS n, sum(refreshed), avg(width) FROM visits WHERE words <> '''' GROUP BY visit, address ORDER BY n DESC, 1, 2 LIMIT 10'),
  ('SELECT visit, address, count(*) AS n, sum(refreshed), avg(width) FROM visits GROUP BY visit, address ORDER BY n DESC, 1, 2 LIMIT 10'),
  ('SELECT url, count(*) AS n FROM visits GROUP BY url ORDER BY n DESC, 1 LIMIT 10'),
  ('SELECT 1, url, count(*) AS n FROM visits GROUP BY 1, url ORDER BY n DESC, 2 LIMIT 10'),
  ('SELECT address, address - 1, address - 2, address - 3, count(*) AS n FROM visits GROUP BY address, address - 1, address - 2, address - 3 ORDER BY n DESC, 1 LIMIT 10'),
  ('SELECT url, count(*) AS views FROM visits WHERE site = 2 AND day >= ''2026-07-01'' AND day <= ''2026-07-31'' AND uncounted = 0 AND refreshed = 0 AND url <> '''' GROUP BY url ORDER BY views DESC, 1 LIMIT 10'),
  ('SELECT title, count(*) AS views FROM visits WHERE site = 2 AND day >= ''2026-07-01'' AND day <= ''2026-07-31'' AND uncounted = 0 AND refreshed = 0 AND title <> '''' GROUP BY title ORDER BY views DESC, 1 LIMIT 10'),
  ('SELECT url, count(*) AS views FROM visits WHERE site = 2 AND day >= ''2026-07-01'' AND day <= ''2026-07-31'' AND refreshed = 0 AND linked <> 0 AND downloaded = 0 GROUP BY url ORDER BY views DESC, 1 LIMIT 10 OFFSET 10'),
  ('SELECT source, searched_by, advert, CASE WHEN searched_by = 0 AND advert = 0 THEN referrer ELSE '''' END AS came_from, url AS went_to, count(*) AS views FROM visits WHERE site = 2 AND day >= ''2026-07-01'' AND day <= ''2026-07-31'' AND refreshed = 0 GROUP BY source, searched_by, advert, came_from, went_to ORDER BY views DESC, 1, 2, 3, 4, 5 LIMIT 10 OFFSET 10'),
  ('SELECT url_hash, day, count(*) AS views FROM visits WHERE site = 2 AND day >= ''2026-07-01'' AND day <= ''2026-07-31'' AND refreshed = 0 AND source IN (-1, 6) AND referrer_hash = ' || hashint8extended(3, 4) || ' GROUP BY url_hash, day ORDER BY views DESC, 1, 2 LIMIT 10 OFFSET 10'),
  ('SELECT view_width, view_height, count(*) AS views FROM visits WHERE site = 2 AND day >= ''2026-07-01'' AND day <= ''2026-07-31'' AND refreshed = 0 AND uncounted = 0 AND url_hash = ' || hashint8extended(1, 3) || ' GROUP BY view_width, view_height ORDER BY views DESC, 1, 2 LIMIT 10 OFFSET 10'),
  ('SELECT date_trunc(''minute'', at) AS minute, count(*) AS views FROM visits WHERE site = 2 AND day >= ''2026-07-14'' AND day <= ''2026-07-15'' AND refreshed = 0 AND uncounted = 0 GROUP BY date_trunc(''minute'', at) ORDER BY 1 LIMIT 10 OFFSET 10');
-- By what kde_advise() makes of them, and by what their owner fits beside it. (A mean of bigints beyond 2^53 is within
-- what it says, not as exact as numeric is.)
\set ECHO none
\o /dev/null
SELECT call FROM kde_advise((SELECT array_agg(query ORDER BY id) FROM panel), least_share => 0) WHERE rank IS NOT NULL ORDER BY rank \gexec
\o
\set ECHO queries
SELECT ask('as advised', 'visits');
SET kde_aqp.density_bytes = '512kB';
SELECT count(kde_fit('visits', c, group_by => g, measures => m, filter => f, sample_rows => -1)) AS fitted FROM (VALUES ('advert', NULL, '{width}'::text[], NULL), ('width', NULL, '{advert}', NULL), ('person', NULL, NULL, NULL), ('day', NULL, NULL, NULL),
  ('words', NULL, NULL, NULL), ('url', NULL, NULL, NULL), ('day', 'url', NULL, 'site = 2 AND uncounted = 0 AND refreshed = 0'), ('day', 'title', NULL, 'site = 2 AND uncounted = 0 AND refreshed = 0'), ('day', 'url', NULL, 'site = 2 AND refreshed = 0 AND linked <> 0 AND downloaded = 0'),
  ('address', NULL, NULL, NULL), ('width', 'searched_by, words', NULL, NULL), ('width', 'region', '{advert}', NULL)) AS d(c, g, m, f);
SELECT count(kde_set_plain_sql(name, true, filter => filter)) > 0 AS allowed FROM kde_densities_full WHERE relation = 'visits'::regclass;
SELECT ask('43 statements', 'visits', true);
DROP TABLE visits, panel;
DROP FUNCTION h, rows_in_order, why_exact, ask;
