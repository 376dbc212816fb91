-- What the demo found: as text of 100 columns, or with :html on as the body of an HTML page. The same SQL for both;
-- what only a page has room for stands between \if :html and \endif.
SET client_min_messages = warning;
\pset footer off
\pset border 0
\if :html
\pset format html
\set h '<h2>'
\set h_ '</h2>'
\set p '<p>'
\set p_ '</p>'
\set more ', interval AS "95 % interval", faster'
\set longest 200
\set prose html
\set plain off
\set upkeep ''
\set better ''
\else
\pset format aligned
-- A row is a paragraph, which the caller folds.
\set prose unaligned
\set plain on
\pset fieldsep ': '
\set upkeep 'Upkeep: '
\set better 'Better when: '
\set h ''
\set h_ ''
\set p ''
\set p_ ''
\set more ''
\set longest 41
\endif

CREATE TEMP VIEW found AS
  SELECT *, CASE WHEN kind <> 'time' AND exact <> 0 THEN abs(approx / exact - 1) END AS relative,
         demo.show_error(approx, exact, kind) AS error,
         exact BETWEEN low - 1e-9 * abs(low) AND high + 1e-9 * abs(high) AS held
  FROM demo.answers;

-- First what matters
\pset tuples_only on
\pset format :prose
\pset tableattr 'class="summary"'
SELECT 'Shown', format('%s questions about %s, each asked exactly and by a density.', count(*),
  (SELECT string_agg(DISTINCT format('%s (%s rows, %s)', tab, to_char(rows, 'FM999,999,999,999'),
                                     pg_size_pretty(pg_table_size(quote_ident(tab)))), ', ') FROM demo.targets)) FROM found
UNION ALL
SELECT 'Errors', CASE WHEN max(relative) < 1e-9 THEN 'none: all answers are exact.' ELSE
  format('the best %s, half of them within %s %%, the worst %s (%s).', min(error) FILTER (WHERE nth = 1),
  to_char(100 * percentile_cont(0.5) WITHIN GROUP (ORDER BY relative), 'FM990.00'),
  min(error) FILTER (WHERE nth = n), min(question) FILTER (WHERE nth = n)) END
FROM (SELECT *, row_number() OVER (ORDER BY relative) AS nth, count(relative) OVER () AS n FROM found
      WHERE relative IS NOT NULL) AS f
UNION ALL
SELECT 'Intervals', format('%s of %s, of 95 %%, hold the exact answer.', count(*) FILTER (WHERE held), count(held)) FROM found
UNION ALL
SELECT 'Times', format('a statement took %s exactly without an index, and %s by a density (medians). %s', demo.show_us(e),
  demo.show_us(a), CASE WHEN e < 1e4 THEN 'Of so few rows exact SQL is fast enough.' ELSE 'Below they stand in company.' END)
FROM (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY exact_us) AS e,
             percentile_cont(0.5) WITHIN GROUP (ORDER BY approx_us) AS a FROM found) AS t
UNION ALL
SELECT 'Densities', format('%s, fitted in %s, stored in %s.', count(*), demo.show_us(sum(total_ms) * 1e3),
  pg_size_pretty(sum(bytes)::bigint)) FROM demo.densities
UNION ALL
SELECT 'Report', :'report' || ', with pictures, plans and intervals' WHERE NOT :'html';

\if :html
\pset format unaligned
SELECT '<figure>' || picture || '</figure>'
FROM (SELECT demo.picture(name) AS picture FROM demo.densities ORDER BY position) AS p WHERE picture <> '';
\pset format html
\else
\pset format aligned
\endif
\pset tuples_only off

\echo
\echo :h'Exact and approximate answers':h_
\echo
\echo :p'Within: what the interval of 95 % promises. Error: what it was. * : the exact answer lies outside the interval, as one of twenty may.':p_
\echo
\pset tableattr 'class="answers"'
WITH shown AS (
  SELECT position, CASE WHEN length(question) > :longest THEN left(question, :longest - 3) || '...' ELSE question END AS question,
         demo.show(exact, kind) AS exact, demo.show(approx, kind) AS approx,
         demo.show_error(CASE WHEN abs(high - approx) > abs(low - approx) THEN high ELSE low END, approx, kind) AS within,
         error || CASE WHEN held THEN '' ELSE '*' END AS error,
         demo.show_us(exact_us) AS exact_time, demo.show_us(approx_us) AS approx_time,
         demo.show(low, kind) || ' to ' || demo.show(high, kind) AS interval,
         to_char(exact_us / approx_us, 'FM999,999,999') || ' x' AS faster
  FROM found
)
SELECT question,
       lpad(exact, max(length(exact)) OVER ()::integer) AS exact,
       lpad(approx, max(length(approx)) OVER ()::integer) AS approximate,
       lpad(within, max(length(within)) OVER ()::integer) AS within,
       lpad(error, max(length(error)) OVER ()::integer) AS error,
       lpad(exact_time, 8) AS "exact in",
       lpad(approx_time, 7) AS "by kde" :more
FROM shown ORDER BY position;

\echo
\echo :h'In company: the same counts by other means':h_
\echo
\echo :p'How far each is off, and how long a statement takes, in memory. Built: once for the columns asked.':p_
\echo
\pset tableattr 'class="summary"'
SELECT format('(%s) COUNT of %s: %s.', n, label, demo.show(exact, 'count')) FROM demo.questions ORDER BY n
\g (format=:prose tuples_only=on)
\echo
\pset tableattr 'class="company"'
WITH one AS (
  SELECT c.position, c.n, c.way, build_us, bytes, us,
         CASE WHEN answer = exact THEN 'exact' ELSE demo.show_error(answer, exact, 'count') END AS error
  FROM demo.company AS c JOIN demo.questions AS q USING (n)
)
SELECT way,
       lpad(coalesce(demo.show_us(nullif(min(build_us), 0)), '-'), 8) AS built,
       lpad(coalesce(pg_size_pretty(nullif(min(bytes), 0)), '-'), 10) AS size,
       lpad(min(error) FILTER (WHERE n = 1), 8) AS "(1) off", lpad(min(demo.show_us(us)) FILTER (WHERE n = 1), 8) AS "(1) in",
       lpad(min(error) FILTER (WHERE n = 2), 8) AS "(2) off", lpad(min(demo.show_us(us)) FILTER (WHERE n = 2), 8) AS "(2) in",
       lpad(min(error) FILTER (WHERE n = 3), 8) AS "(3) off", lpad(min(demo.show_us(us)) FILTER (WHERE n = 3), 8) AS "(3) in"
FROM one GROUP BY way ORDER BY min(position);

\echo
\echo :h'When each is the better choice':h_
\echo
\pset tableattr 'class="advice"'
SELECT way, :'upkeep' || upkeep AS upkeep, :'better' || better AS "the better choice when" FROM demo.advice
\g (format=:prose tuples_only=:plain fieldsep='\n    ')

\echo
\echo :h'Plain SQL: the statement as it is':h_
\echo
-- The density of the first column answers; where it cannot promise 1 %, the exact plan runs.
SELECT kde_set_plain_sql(name, true) FROM demo.densities ORDER BY position LIMIT 1 \g /dev/null
SELECT statement FROM demo.plain \gset
\pset tableattr 'class="plan"'
SELECT unnest(ARRAY['SET kde_aqp.approximate = off;', :'statement' || ';']) AS "exactly" \g (format=:prose)
SET kde_aqp.approximate = off;
:statement;
\if :html
EXPLAIN (ANALYZE, COSTS OFF) :statement;
\endif
SELECT unnest(ARRAY['SET kde_aqp.approximate = top;', :'statement' || ';']) AS "by the density" \g (format=:prose)
SET kde_aqp.approximate = top;
:statement;
EXPLAIN (ANALYZE, COSTS OFF) :statement;

\if :html
\echo :h'How each density was made':h_
\pset tableattr 'class="made"'
SELECT name, to_char(rows_read, 'FM999,999,999,999') AS "rows read", pg_size_pretty(bytes::bigint) AS stored,
       demo.show_us(scan_ms * 1e3) AS "to read", demo.show_us((total_ms - scan_ms) * 1e3) AS "to compute", model AS "what was chosen"
FROM demo.densities ORDER BY position;
\echo :h'How this was measured':h_
SELECT format('<p>%s, on %s processors, on %s UTC, by <code>%s</code>. A private, throw-away server with 512 MB of shared '
              'buffers and else the server''s defaults, parallel workers included; the tables are in memory. A time is the '
              'median of a statement that is parsed, planned and run again and again for 0.4 s in one session, so the '
              'density is in the session''s cache: without the network, and not the first call. Random numbers have fixed '
              'seeds: errors and intervals come out the same again, times do not.</p>',
              split_part(version(), ' on ', 1), :'processors', to_char(now(), 'YYYY-MM-DD HH24:MI'), :'command')
\g (format=unaligned tuples_only=on)
\endif
