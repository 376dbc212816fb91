-- One density of all rows beside avg() and a t-digest: serial, and with two workers.
\set ON_ERROR_STOP on
SET client_min_messages = warning;
INSERT INTO bench.query (section, what, query, workers, leader) VALUES
  ('speed', 'avg(x), serial', 'SELECT avg(x) FROM bench.line', 0, true),
  ('speed', 'kde_agg(x), serial', 'SELECT kde_agg(x) FROM bench.line', 0, true),
\if :has_tdigest
  ('speed', 'tdigest(x, 100), serial', 'SELECT tdigest(x, 100) FROM bench.line', 0, true),
  ('speed', 'tdigest(x, 100), two workers', 'SELECT tdigest(x, 100) FROM bench.line', 2, true),
\endif
  ('speed', 'avg(x), two workers', 'SELECT avg(x) FROM bench.line', 2, true),
  ('speed', 'kde_agg(x), two workers', 'SELECT kde_agg(x) FROM bench.line', 2, true),
  ('speed', 'kde_agg(x), two workers without the leader', 'SELECT kde_agg(x) FROM bench.line', 2, false);
CALL bench.interleave('speed', :runs);

\pset tuples_only off
\echo
SELECT format('Speed: %s rows, interleaved, medians of %s; %s processors', to_char(:rows, 'FM999,999,999,999'),
  :runs, :processors) AS title \gset
\echo :title
SELECT what, round(ms::numeric, 1) AS "median ms", round(least::numeric, 1) AS "least ms",
  round((1e6 * ms / :rows)::numeric, 1) AS "ns a row",
  round((ms / (SELECT ms FROM bench.median WHERE what = 'avg(x), serial'))::numeric, 3) AS "over avg(x), serial"
FROM bench.median WHERE section = 'speed' ORDER BY id;

-- Whether it was in parallel at all.
SET max_parallel_workers_per_gather = 2;
EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) SELECT kde_agg(x) FROM bench.line;

-- What two workers are worth on this machine at this time: what avg() gains from them.
SELECT format('avg(x) in the same run: %s', round(bench.ratio('speed', 'avg(x), serial', 'avg(x), two workers')::numeric, 2))
  AS gain \gset
INSERT INTO bench.bound (section, what, figure, bound, at_least, digits, note)
  SELECT 'speed', what, figure, bound, at_least, 3, note
  FROM (VALUES
    ('kde_agg(x) / avg(x), serial', bench.ratio('speed', 'kde_agg(x), serial', 'avg(x), serial'), 2.0, false, ''),
    ('kde_agg(x) / tdigest(x, 100), serial',
      bench.ratio('speed', 'kde_agg(x), serial', 'tdigest(x, 100), serial'), 0.5, false, ''),
    ('kde_agg(x): serial / two workers',
      bench.ratio('speed', 'kde_agg(x), serial', 'kde_agg(x), two workers'), 1.8, true, :'gain'),
    ('kde_agg(x): serial / two workers without the leader',
      bench.ratio('speed', 'kde_agg(x), serial', 'kde_agg(x), two workers without the leader'), 1.8, true, :'gain'))
    AS v (what, figure, bound, at_least, note);
