-- The table of 16 columns of fits.sql and card.sql. Variable: fit_rows. After timing.sql.
\set ON_ERROR_STOP on
CREATE EXTENSION IF NOT EXISTS kde_aqp;

-- Three normal clusters in 16 columns that share a factor (Box & Muller's normal deviates; OFFSET
-- 0: drawn once).
SELECT setseed(0.75) \g /dev/null
SELECT string_agg(format('x[%s] AS c%s', k, k), ', ') AS columns
FROM generate_series(1, 16) AS k \gset
CREATE TABLE bench.sixteen AS
  SELECT :columns FROM (
    SELECT id, array_agg(z + 3 * (id % 3) * (k % 2) ORDER BY k) AS x
    FROM (SELECT id, k, sqrt(-2 * ln(1 - u)) * cos(2 * pi() * v) AS z
          FROM (SELECT id, k, random() AS u, random() AS v
                FROM generate_series(1, :fit_rows) AS id, generate_series(1, 16) AS k OFFSET 0) AS drawn)
      AS normal
    GROUP BY id) AS rows;
ANALYZE bench.sixteen;
