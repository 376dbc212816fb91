-- The table of answers. Cells are text padded to the width of their column: psql aligns only numbers
-- to the right, and these carry units.
WITH shown AS (
  SELECT position, query,
         CASE kind WHEN 'count' THEN to_char(round(exact::numeric), 'FM999,999,999,999')
                   WHEN 'time' THEN to_char(to_timestamp(exact), 'YYYY-MM-DD HH24"h"')
                   ELSE demo.show_number(exact) END AS exact,
         CASE kind WHEN 'count' THEN to_char(round(approx::numeric), 'FM999,999,999,999')
                   WHEN 'time' THEN to_char(to_timestamp(approx), 'YYYY-MM-DD HH24"h"')
                   ELSE demo.show_number(approx) END AS approx,
         -- A relative error of a date means nothing: the distance is shown.
         CASE WHEN exact IS NULL OR approx IS NULL THEN ''
              WHEN kind = 'time' THEN to_char(abs(approx - exact) / 3600, 'FM999,990.0') || ' h'
              WHEN exact = 0 THEN ''
              ELSE to_char(100 * abs(approx / exact - 1), 'FM999,990.00') || ' %' END AS error,
         demo.show_us(exact_us) AS exact_time,
         demo.show_us(approx_us) AS approx_time,
         to_char(exact_us / approx_us, 'FM999,999,999') || 'x' AS faster
  FROM demo.answers
)
SELECT query,
       lpad(exact, greatest(14, max(length(exact)) OVER ())) AS "         exact",
       lpad(exact_time, 8) AS "    time",
       lpad(approx, greatest(14, max(length(approx)) OVER ())) AS "   approximate",
       lpad(error, greatest(6, max(length(error)) OVER ())) AS " error",
       lpad(approx_time, greatest(6, max(length(approx_time)) OVER ())) AS "  time",
       lpad(faster, greatest(10, max(length(faster)) OVER ())) AS "    faster"
FROM shown
ORDER BY position;
