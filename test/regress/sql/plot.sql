-- Pictures: kde_plot and kde_svg of every kind and type of column, as golden texts that were looked at.
\set VERBOSITY terse
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS plot CASCADE;
CREATE SCHEMA plot;
SET search_path = plot, public;
SET timezone = 'UTC';
SET kde_aqp.stale = 'ignore';  -- when a table's rows are counted is not for here
SET kde_aqp.changed_rows = off;
\pset tuples_only on
\pset format unaligned

-- Of every row, so that counts are exact; numbers without randomness: i * 7919 % n goes through all of them.
CREATE TABLE t AS SELECT
  i AS whole,
  (i * 7919 % 20000) / 100.0::numeric(10, 2) AS money,
  exp(3 * (i * 7919 % 20000 - 10000) / 10000.0)::float8 * 50 AS skewed,
  1 + (i * 7919 % 20000) * (i * 31 % 20000) % 6 AS side,
  date '2025-01-01' + (365 * sqrt((i * 7919 % 20000) / 20000.0))::integer AS day,
  timestamptz '2026-01-05 08:10+00' + interval '1 second' * (i * 7919 % 20000) * 7 AS at,
  time '06:00' + interval '1 second' * (i * 7919 % 20000) AS clock,
  interval '1 minute' * (i * 7919 % 20000) AS lasted,
  CASE i % 10 WHEN 0 THEN 'US' WHEN 1 THEN 'US' WHEN 2 THEN 'APAC' WHEN 3 THEN E'Latin\tAmerica <&>' WHEN 4 THEN NULL ELSE 'EU' END AS region,
  7 AS one,
  CASE WHEN i % 100 = 0 THEN 'NaN' WHEN i % 100 = 1 THEN 'infinity' WHEN i % 100 = 2 THEN NULL ELSE (i * 7919 % 20000) / 20000.0 END::float8 AS special
FROM generate_series(0, 19999) AS i;
SELECT count(*) FROM kde_fit('t', seed => 1) WHERE fitted;
SELECT count(*) FROM kde_fit('t', 'day', group_by => 'region', seed => 1);
SELECT count(*) FROM kde_fit('t', ARRAY['whole', 'money'], seed => 1);
SELECT count(*) FROM kde_fit('t', 'money', filter => 'region = ''EU''', seed => 1);

-- The three kinds.
SELECT kde_plot('t.day');
SELECT kde_plot('t.day', kind => 'density');
SELECT kde_plot('t.day', kind => 'cumulative');
-- A long tail does not take the room of the others; the notes say what is left out.
SELECT kde_plot('t.skewed', 60, 10);
-- Few values stand by themselves.
SELECT kde_plot('t.side', 60, 10);
SELECT kde_plot('t.side', 60, 10, kind => 'density');
-- Types, and the session's time zone.
SELECT kde_plot('t.money', 60, 10);
SELECT kde_plot('t.at', 60, 10);
SET timezone = 'Asia/Kolkata';
SELECT kde_plot('t.at', 60, 10);
SET timezone = 'UTC';
SELECT kde_plot('t.clock', 60, 8);
SELECT kde_plot('t.lasted', 60, 8);
SELECT kde_plot(kde_agg(i * 5.0), 60, 8) FROM generate_series(1, 100) AS i;
SELECT kde_plot(kde_agg(date '1900-01-01' + i * 300), 60, 8, kind => 'density') FROM generate_series(1, 100) AS i;
SELECT kde_plot(kde_agg(timestamp '2026-01-05 12:00' + i * interval '0.01 s'), 60, 8) FROM generate_series(1, 100) AS i;
-- A category.
SELECT kde_plot('t.region', 60);
SELECT kde_plot('t.region', 60, 6, kind => 'density');
-- Groups, the largest first.
SELECT kde_plot('t.day by (region)', 60, 9);
SELECT kde_plot(kde_density('t.day by (region)'), 60, 9, kind => 'density', lower => '2025-06-01', upper => '2025-09-01');
-- Before and after; one scale, where that shows both.
SELECT kde_plot(ARRAY[kde_agg(i), NULL, kde_agg(i + 20)], ARRAY['before', 'never', 'after'], 60, 9) FROM generate_series(1, 100) AS i;
SELECT kde_plot(ARRAY[kde_agg(i)], width => 40, height => 6) FROM generate_series(1, 100) AS i;
SELECT kde_plot(array_agg(d), width => 40, height => 9) FROM (SELECT kde_agg(i) AS d FROM generate_series(1, 300) AS i GROUP BY i % 15 ORDER BY i % 15) AS s;
SELECT kde_plot(ARRAY[kde_density('t.region'), kde_density('t.region')], '{one,two}', 40, 6);
-- A filter, bounds, confidence.
SELECT kde_plot('t.money', 60, 8, filter => 'region = ''EU''', lower => 50, upper => 100);
SELECT count(*) FROM kde_fit('t', 'money', sample_rows => 500, seed => 1);
SELECT kde_plot('t.money', 60, 12, confidence => 0.5, lower => 0, upper => 200);
SELECT kde_plot('t.money', 60, 12, kind => 'cumulative');
-- One value, none, infinities, NaN, NULL; numbers at the ends of double precision.
SELECT kde_plot('t.one', 60, 8);
SELECT kde_plot('t.one', 60, 8, kind => 'density');
SELECT kde_plot('t.special', 60, 8);
SELECT kde_plot(kde_agg(NULL::integer), 60, 8) FROM generate_series(1, 3);
SELECT kde_plot(kde_agg(x), 60, 8) FROM unnest('{infinity,-infinity}'::float8[]) AS x;
SELECT kde_plot(kde_agg(x), 60, 8) FROM unnest('{-1.7e308,1.7e308,0}'::float8[]) AS x;
SELECT kde_plot(kde_agg(x), 60, 8, kind => k) FROM unnest('{0,1e-320,2e-320}'::float8[]) AS x, unnest('{histogram,density,cumulative}'::text[]) AS k GROUP BY k ORDER BY k;
SELECT kde_plot(kde_agg(x), 60, 8) FROM unnest('{4714-11-24 BC,2000-01-01,5874897-12-31}'::date[]) AS x;
SELECT kde_plot(kde_agg(x), 60, 8) FROM unnest('{9007199254740993,9007199254740995}'::bigint[]) AS x;
SELECT kde_plot('t.whole', 60, 8, lower => 50000, upper => 60000);
SELECT kde_plot('t.whole', 60, 8, lower => 7, upper => 7);
SELECT count(*) FROM kde_plot(NULL);
SELECT count(*) FROM kde_plot('{}'::kde[]);
SELECT count(*) FROM kde_plot(ARRAY[NULL]::kde[]);
-- No line is longer than was asked for, or ends in blanks; of all widths and heights.
SELECT c, k, w, h, max(length(line)) AS longest, count(*) AS lines
FROM unnest('{day,skewed,side,at,money,special,one,day by region}'::text[]) AS c, unnest('{histogram,density,cumulative}'::text[]) AS k,
  unnest('{30,31,64,199,500}'::integer[]) AS w, unnest('{6,7,23,200}'::integer[]) AS h, kde_plot('t.' || c, w, h, kind => k) AS line
GROUP BY 1, 2, 3, 4 HAVING max(length(line)) > w OR bool_or(line ~ ' $') OR (c NOT LIKE '% by %' AND count(*) > h + 4);
-- ASCII, where the client has not UTF-8.
SET client_encoding = 'LATIN1';
SELECT kde_plot('t.money', 60, 8);
SELECT kde_plot('t.region', 60, 8);
RESET client_encoding;

-- SVG: a small one as it is, all others well-formed, with what must be in them and without what must not.
SELECT kde_svg('t.side', 160, 160, kind => 'histogram', title => 'Sides & <others>');
SELECT kde_svg('t.region', 200, 160);
CREATE FUNCTION numbers(svg text) RETURNS boolean LANGUAGE sql AS $$ SELECT svg !~ '[ MLVH"]-?(nan|inf)[ "A-Z]' $$;
SELECT c, k, xml_is_well_formed_document(s) AS well_formed, numbers(s) AS finite,
  (xpath('/s:svg/@role', s::xml, '{{s,http://www.w3.org/2000/svg}}'))[1] AS role,
  xpath('/s:svg/s:title/text()', s::xml, '{{s,http://www.w3.org/2000/svg}}') AS title,
  cardinality(xpath('//@id', s::xml)) AS ids,
  (SELECT count(*) FROM unnest(xpath('//@class', s::xml)::text[]) AS class WHERE class NOT LIKE 'kde-%') AS classes
FROM unnest('{day,skewed,side,at,one,special,day by region}'::text[]) AS c, unnest('{histogram,density,cumulative}'::text[]) AS k, kde_svg('t.' || c, kind => k) AS s;
SELECT xml_is_well_formed_document(s) AS well_formed, cardinality(regexp_split_to_array(s, '<path class="kde-line-')) - 1 AS curves
FROM (SELECT kde_svg(array_agg(d), array_agg('<' || g || '>'), 640, 320, kind => 'density', title => 'all of them') AS s
  FROM (SELECT i % 9 AS g, kde_agg(i) AS d FROM generate_series(1, 300) AS i GROUP BY 1 ORDER BY 1) AS d) AS s;
SELECT xml_is_well_formed_document(kde_svg(kde_agg(NULL::integer))) FROM generate_series(1, 3);
SELECT kde_svg(NULL) IS NULL AND kde_svg('{}'::kde[]) IS NULL AS null;

-- A uniform year of offices that are open from 8 to 16: no waves, of ten pixels.
CREATE FUNCTION ripple(svg text) RETURNS boolean LANGUAGE sql AS $$
  SELECT max(y) - min(y) > 10 FROM (SELECT (regexp_matches(line[1], '[ML][-0-9.]+ ([-0-9.]+)', 'g'))[1]::float8 AS y
    FROM regexp_matches(svg, 'kde-line-1"[^>]* d="([^"]*)"') AS line) AS p $$;
SELECT h AS hours_open, bool_or(ripple(kde_svg(d, kind => 'density'))) AS ripples
FROM unnest('{8,24}'::integer[]) AS h, LATERAL (SELECT kde_agg(timestamp '2025-01-01' + i * interval '20 minutes') AS d
  FROM generate_series(0, 365 * 72 - 1) AS i WHERE h = 24 OR i % 72 BETWEEN 24 AND 47) AS s GROUP BY h ORDER BY h;
-- No height above 100 %.
SELECT kde_plot(kde_agg(exp(i / 100.0)), 60, 6, kind => 'density') FROM generate_series(-1000, 1000) AS i;
-- A value's text, a constant of many rows.
SELECT kde_density('t.side')::text AS value \gset
SELECT count(*), count(DISTINCT s) FROM generate_series(160, 260) AS w, kde_svg(:'value', w, 160) AS s;
SELECT count(*), bool_and(kde_svg(:'value', w, 160) = kde_svg(:'value'::kde, w, 160)) FROM generate_series(160, 260) AS w;

-- What is refused.
SELECT kde_plot('t.day', 29);
SELECT kde_plot('t.day', 78, 201);
SELECT kde_plot('t.day', NULL);
SELECT kde_svg('t.day', 100000, 320);
SELECT kde_plot('t.day', kind => 'pie');
SELECT kde_plot('t.day', kind => NULL);
SELECT kde_plot('t.day', confidence => 1);
SELECT kde_plot('t.day', lower => '2026-01-02', upper => '2026-01-01');
SELECT kde_plot('t.skewed', lower => 'infinity'::float8);
SELECT kde_plot('t.region', kind => 'cumulative');
SELECT kde_plot('t.region', lower => 'EU');
SELECT kde_plot('t (whole, money)');
SELECT kde_plot('t.day by (side)');
SELECT kde_plot('t.nothing');
SELECT kde_plot('t.day', 78, 16, 'histogram');
SELECT kde_plot(kde_density('t.day'), filter => 'whole > 3');
SELECT kde_plot(ARRAY[kde_density('t.day'), kde_density('t.side')]);
SELECT kde_plot(ARRAY[kde_density('t.day')], ARRAY['one', 'two']);
SELECT kde_plot(ARRAY[ARRAY[kde_density('t.day')]]);
SELECT kde_svg(ARRAY[kde_density('t.region'), kde_density('t.region')]);

SET client_min_messages = warning;
DROP SCHEMA plot CASCADE;
