-- Medians, and their ratios beside what is asked for.
CREATE VIEW bench.kinds AS
  SELECT section, what, kind, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) AS ms, count(*) AS runs
  FROM bench.figure GROUP BY 1, 2, 3;
\pset tuples_only off
\echo
\echo 'Medians'
SELECT section, what, kind, round(ms::numeric, 3) AS ms, runs FROM bench.kinds ORDER BY 1, 2, 3 DESC;
\pset tuples_only on
INSERT INTO bench.bound (section, what, figure, bound, at_least, digits, note)
SELECT a.section, format('%s, %s the extension%s', a.what, 'with', CASE a.kind WHEN 'fitted' THEN ' and 100 densities' ELSE '' END), a.ms / b.ms,
  CASE WHEN a.kind = 'fitted' THEN 2 WHEN a.section = 'restores' THEN 1.1 ELSE 1.2 END, false, 2, 'times as long as without it'
FROM bench.kinds AS a JOIN bench.kinds AS b USING (section, what)
WHERE b.kind = 'without' AND a.kind <> 'without' ORDER BY a.section, a.what, a.kind DESC;
INSERT INTO bench.bound (section, what, figure, bound, at_least, digits, note)
SELECT section, 'kde_densities_full, five densities', a.ms / b.ms, 1.5, false, 2, 'times as long as of one'
FROM bench.kinds AS a JOIN bench.kinds AS b USING (section) WHERE section = 'densities' AND a.what = 'five densities' AND b.what = 'one density';
