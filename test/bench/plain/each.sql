-- What times.sql found, of each statement. Variables: relation, runs.
\o
\pset footer off
SELECT time_all(:'relation', :runs) \g /dev/null
SELECT id, tool, round(exact_ms::numeric, 1) AS "exact, ms", CASE WHEN why IS NULL THEN round(density_ms::numeric, 2) END AS "density, ms", CASE WHEN why IS NULL THEN round((exact_ms / density_ms)::numeric, 1) END AS "exact/density",
  CASE WHEN why IS NULL THEN coalesce(round((100 * off_by)::numeric, 3)::text, 'other rows') END AS "off by, %", why AS "by the exact plan, as" FROM timed ORDER BY id;
SELECT count(*) AS statements, count(*) FILTER (WHERE why IS NULL) AS answered, count(*) FILTER (WHERE why IS NULL AND off_by = 0) AS "of these the same", count(*) FILTER (WHERE why IS NULL AND density_ms <= exact_ms / 20) AS "in 1/20 of the time",
  round(percentile_cont(0.5) WITHIN GROUP (ORDER BY exact_ms / density_ms) FILTER (WHERE why IS NULL)::numeric, 1) AS "middle exact/density" FROM timed;
DROP TABLE timed, panel;
DROP FUNCTION rows_of, off_by, time_of, time_all, rows_in_order, why_exact, ask;
