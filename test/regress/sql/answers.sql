-- What every answer means: empty and unbounded ranges, special values, exact totals, and what no
-- answer may do (leave [0, rows] or [min, max], fall as the range grows).
\set ECHO queries \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS answers CASCADE;
CREATE SCHEMA answers;
SET search_path = answers, public;
RESET client_min_messages;
SET datestyle = 'ISO, YMD';

-- ---------------------------------------------------------------------------------------------
-- Special values. They count, in PostgreSQL's order -infinity < numbers < infinity < NaN; NULLs do
-- not. 2 x -infinity, 10 each of 1, 2, 3, 3 x infinity, 4 x NaN, 5 x NULL.
CREATE TABLE special (x float8);
INSERT INTO special SELECT '-infinity' FROM generate_series(1, 2);
INSERT INTO special SELECT i % 3 + 1 FROM generate_series(1, 30) AS i;
INSERT INTO special SELECT 'infinity' FROM generate_series(1, 3);
INSERT INTO special SELECT 'NaN' FROM generate_series(1, 4);
INSERT INTO special SELECT NULL FROM generate_series(1, 5);
CREATE VIEW last_fit AS SELECT * FROM kde_densities_full ORDER BY fitted_at DESC LIMIT 1;
SELECT FROM kde_fit('special', 'x') \g /dev/null
SELECT rows, rows_read, sample_rows, cells FROM last_fit;
SELECT rows, nulls, nans, lower, upper, mean FROM kde_info(kde_density('special.x'));

-- Each count beside the exact one. BETWEEN and the operators order NaN the same way.
SELECT low, high, approx_count('special.x', low, high) AS approximate,
  (SELECT count(*) FROM special WHERE (x >= low OR low IS NULL AND x IS NOT NULL)
                                  AND (x <= high OR high IS NULL AND x IS NOT NULL)) AS exact
FROM (VALUES
  (NULL::float8, NULL::float8), (NULL, 2), (2, NULL), (2, 2), (0, 4), (1.5, 1.7), (3, 1), (4, 9),
  ('-infinity', '-infinity'), ('-infinity', 1), (NULL, '-infinity'),
  ('infinity', 'infinity'), (3, 'infinity'), ('infinity', NULL),
  ('NaN', 'NaN'), ('NaN', NULL), (NULL, 'NaN'), (3, 'NaN'), ('-infinity', 'infinity'),
  ('NaN', 1), ('infinity', '-infinity')) AS v(low, high);
CREATE TYPE float8range_ AS RANGE (subtype = float8);
SELECT r, approx_count('special.x', r) AS approximate,
  (SELECT count(*) FROM special WHERE x <@ r) AS exact
FROM unnest('{"(-infinity,infinity)","(-infinity,3)","[3,infinity]","(infinity,NaN]","(infinity,NaN)",
  "[infinity,NaN)","[NaN,NaN]","(,-infinity]","(,)",empty}'::float8range_[]) AS r;

-- A sum or mean with NaN, or infinities of both signs, among its rows is NULL and says why; with
-- infinities of one sign it is that infinity, as SQL's is.
SELECT approx_sum('special.x', 1, 3) AS finite, approx_sum('special.x', '1', 'infinity') AS up,
  approx_sum('special.x', '-infinity', '3') AS down, approx_avg('special.x', '2', 'infinity') AS avg_up;
SELECT approx_sum('special.x');
SELECT approx_avg('special.x', '-infinity', 'infinity');
SELECT approx_sum('special.x', 'NaN', 'NaN');
SELECT approx_variance('special.x', '1', 'infinity');
SELECT approx_stddev('special.x', 3, NULL);
SELECT approx_avg_as('special.x', NULL::float8, '3', 'infinity');
SELECT approx_avg_as('special.x', NULL::float8, 3, NULL);
-- 39 rows that are not NULL: the quantile of q is the ceil(39 q)-th of them in order.
SELECT q, approx_quantile('special.x', q) AS approximate,
  (SELECT percentile_disc(q) WITHIN GROUP (ORDER BY x) FROM special) AS exact
FROM unnest('{0,0.05,0.06,0.3,0.31,0.6,0.8,0.83,0.89,0.9,1}'::float8[]) AS q;
SELECT kde_cdf('special.x', x) * 39 AS up_to, kde_pdf('special.x', x) > 0 AS has_density
FROM unnest('{-infinity,0,1,3,infinity,NaN}'::float8[]) AS x;

-- ---------------------------------------------------------------------------------------------
-- Ranges without rows: COUNT is 0, everything else NULL.
CREATE TABLE bytes AS SELECT i % 5 AS b FROM generate_series(1, 100) AS i;
SELECT FROM kde_fit('bytes', 'b') \g /dev/null
SELECT cells FROM last_fit;
SELECT r, approx_count('bytes.b', r), approx_sum('bytes.b', r), approx_avg('bytes.b', r),
  approx_variance('bytes.b', r), approx_stddev('bytes.b', r)
FROM unnest('{empty,"(1,2)","[9,)","(,-1]","[1,1]"}'::numrange[]) AS r;
SELECT approx_count('bytes.b', 4, 2), approx_sum('bytes.b', 4, 2), approx_avg('bytes.b', 4, 2);
SELECT approx_avg_as('bytes.b', NULL::integer, 4, 2);
-- One row has no sample variance; equal ones have none to speak of.
CREATE TABLE single AS SELECT 7::smallint AS x;
SELECT FROM kde_fit('single', 'x') \g /dev/null
SELECT rows, bandwidth, cells FROM last_fit;
SELECT approx_count('single.x'), approx_sum('single.x'), approx_variance('single.x'),
  approx_quantile('single.x', ARRAY[0, 0.5, 1]), kde_pdf('single.x', 7), kde_cdf('single.x', 7);
-- Only NULLs and special values besides: no finite value at all.
CREATE TABLE infinite AS SELECT 'NaN'::float8 AS x FROM generate_series(1, 3);
SELECT FROM kde_fit('infinite', 'x') \g /dev/null
SELECT rows, cells FROM last_fit;
SELECT approx_count('infinite.x'), approx_count('infinite.x', 0, 1), approx_sum('infinite.x', 0, 1),
  approx_quantile('infinite.x', 0.5), kde_cdf('infinite.x', 0), kde_pdf('infinite.x', 0);
SELECT lower, upper, mean, stddev FROM kde_info(kde_density('infinite.x'));

-- ---------------------------------------------------------------------------------------------
-- Smooth columns. u(i) = frac(i * golden ratio) is spread evenly and the same on every machine;
-- -ln(u) is exponential, u^-1 has a heavy tail.
CREATE FUNCTION u(i bigint) RETURNS float8 LANGUAGE sql IMMUTABLE AS
  'SELECT ((i * 2654435769) % 4294967296)::float8 / 4294967296';
CREATE TABLE smooth AS
SELECT u(i) AS even, -ln(u(i)) AS exponential, 1 / u(i) AS heavy, 1e9 + u(i) AS far,
  (10000 * u(i) * u(i))::integer AS whole, (10000 * u(i) * u(i))::numeric(8, 2) / 8 AS eighths,
  round((100 * u(i))::numeric, 2)::numeric(5, 2) AS cents, -exp(20 * u(i)) AS steep
FROM generate_series(1, 5000) AS i;
CREATE TABLE columns AS
SELECT attname AS name FROM pg_attribute WHERE attrelid = 'smooth'::regclass AND attnum > 0;
SELECT count(kde_fit('smooth', name)) AS fitted FROM columns;
SELECT name, rows, cells > 100 AS smooth FROM kde_densities_full WHERE relation = 'smooth'::regclass ORDER BY name COLLATE "C";

-- Where every row was read the whole range is exact, to the rounding of doubles: SQL sums in double
-- precision too, so 1e-12 is some thousand times the difference of two good summations. A variance is
-- taken from squares of 104 bits: far from 0 that is seen.
CREATE FUNCTION equal(a float8, b float8, relative float8) RETURNS boolean LANGUAGE sql IMMUTABLE AS
  'SELECT abs(a - b) <= relative * greatest(abs(a), abs(b))';
CREATE TABLE exact AS
SELECT c.name, e.*
FROM columns AS c
CROSS JOIN LATERAL (SELECT x.* FROM (
  SELECT 'even' AS n, count(even), sum(even), avg(even), variance(even), stddev(even), min(even), max(even) FROM smooth
  UNION ALL SELECT 'exponential', count(exponential), sum(exponential), avg(exponential), variance(exponential), stddev(exponential), min(exponential), max(exponential) FROM smooth
  UNION ALL SELECT 'heavy', count(heavy), sum(heavy), avg(heavy), variance(heavy), stddev(heavy), min(heavy), max(heavy) FROM smooth
  UNION ALL SELECT 'far', count(far), sum(far), avg(far), variance((far - 1e9)), stddev((far - 1e9)), min(far), max(far) FROM smooth
  UNION ALL SELECT 'whole', count(whole), sum(whole), avg(whole), variance(whole), stddev(whole), min(whole), max(whole) FROM smooth
  UNION ALL SELECT 'eighths', count(eighths), sum(eighths), avg(eighths), variance(eighths), stddev(eighths), min(eighths), max(eighths) FROM smooth
  UNION ALL SELECT 'cents', count(cents), sum(cents), avg(cents), variance(cents), stddev(cents), min(cents), max(cents) FROM smooth
  UNION ALL SELECT 'steep', count(steep), sum(steep), avg(steep), variance(steep), stddev(steep), min(steep), max(steep) FROM smooth
  ) AS x WHERE x.n = c.name) AS e;
SELECT name,
  approx_count('smooth.' || name) = count AS count,
  equal(approx_sum('smooth.' || name), sum, 1e-12) AS sum,
  equal(approx_avg('smooth.' || name), avg, 1e-12) AS avg,
  equal(approx_variance('smooth.' || name), variance, 1e-12 + 4 * 2 ^ -104 * avg ^ 2 / variance) AS variance,
  equal(approx_stddev('smooth.' || name), stddev, 1e-12 + 4 * 2 ^ -104 * avg ^ 2 / variance) AS stddev,
  approx_quantile('smooth.' || name, 0) >= min AS min,
  approx_quantile('smooth.' || name, 1) <= max AS max,
  approx_count('smooth.' || name, min, max) = count AS bounded,
  equal(approx_sum('smooth.' || name, min, max), sum, 1e-12) AS bounded_sum,
  approx_count('smooth.' || name, max::float8 + abs(max)) = 0 AS above,
  approx_count('smooth.' || name, NULL, min::float8 - abs(min) - 1) = 0 AS below
FROM exact ORDER BY name COLLATE "C";

-- The promises, over 60 cut points of each column and every pair of them.
CREATE TABLE cuts AS
SELECT name, k, min + (max - min) * u(k * 37) AS x, count, min, max FROM exact, generate_series(1, 60) AS k
UNION ALL
SELECT name, 60 + k, approx_quantile('smooth.' || name, u(k)), count, min, max FROM exact, generate_series(1, 10) AS k;
CREATE TABLE ranges AS
SELECT a.name, a.x AS low, b.x AS high, a.count AS rows, a.min, a.max,
  approx_count('smooth.' || a.name, a.x, b.x) AS n,
  approx_sum('smooth.' || a.name, a.x, b.x) AS s,
  approx_avg('smooth.' || a.name, a.x, b.x) AS m,
  approx_variance('smooth.' || a.name, a.x, b.x) AS v
FROM cuts AS a JOIN cuts AS b ON a.name = b.name;
SELECT count(*),
  count(*) FILTER (WHERE n < 0 OR n > rows OR n = 'NaN') AS count_outside,
  count(*) FILTER (WHERE low > high AND n <> 0) AS reversed_not_empty,
  count(*) FILTER (WHERE (n = 0) <> (m IS NULL) OR (n = 0) <> (s IS NULL)) AS null_without_reason,
  count(*) FILTER (WHERE m < greatest(low, min) OR m > least(high, max) OR m = 'NaN') AS mean_outside,
  count(*) FILTER (WHERE v < 0 OR v = 'NaN') AS variance_negative,
  -- Popoviciu's inequality, for the sample variance of n rows: (max - min)^2 / 4 * n / (n - 1).
  count(*) FILTER (WHERE v > power(least(high, max) - greatest(low, min), 2) / 4 * n / nullif(n - 1, 0) * (1 + 1e-9))
    AS variance_too_large
FROM ranges;
-- Monotone: with the lower bound fixed, the count never falls as the upper bound grows (but for the
-- last bit of a difference of two sums), nor with the upper fixed as the lower grows.
SELECT count(*) FILTER (WHERE n < before - 1e-9) AS falls_with_upper FROM (
  SELECT n, lag(n) OVER (PARTITION BY name, low ORDER BY high) AS before FROM ranges) AS r;
SELECT count(*) FILTER (WHERE n > before + 1e-9) AS rises_with_lower FROM (
  SELECT n, lag(n) OVER (PARTITION BY name, high ORDER BY low) AS before FROM ranges) AS r;
-- The parts make the whole.
SELECT name, bool_and(abs(approx_count('smooth.' || name, numrange(NULL, x::numeric, '()'))
  + approx_count('smooth.' || name, numrange(x::numeric, NULL, '[]')) - count) <= 1e-9 * count) AS adds_up
FROM cuts GROUP BY name ORDER BY name COLLATE "C";
-- Quantile and distribution are inverses: exactly on a continuum; on a lattice the quantile is the
-- first point at which the distribution reaches the fraction. Tolerated: 1e-9 for the rounding of
-- both, and what lies between x and the next double.
SELECT name, bool_and(x BETWEEN min AND max) AS inside,
  bool_and(kde_cdf('smooth.' || name, x) >= q - e) AS reached,
  bool_and(step IS NOT NULL OR kde_cdf('smooth.' || name, x) <= q + e) AS not_passed,
  bool_and(step IS NULL OR x <= min OR kde_cdf('smooth.' || name, x - step) < q + e) AS first
FROM (
  SELECT *, 1e-9 + kde_pdf('smooth.' || name, x) * abs(x) * 2.3e-16 AS e
  FROM (
    SELECT e.name, e.min, e.max, q, approx_quantile('smooth.' || e.name, q) AS x,
      (SELECT lattice_step FROM kde_info(kde_density('smooth', e.name))) AS step
    FROM exact AS e, unnest('{0.001,0.01,0.1,0.25,0.5,0.75,0.9,0.99,0.999}'::float8[]) AS q) AS x
  ) AS v
GROUP BY name ORDER BY name COLLATE "C";

-- Lattices, found in the values: whole numbers, cents and eighths of a cent. Between two points lies
-- nothing, bounds between points do what the points do, an open bound leaves its point out, and a
-- quantile is a point.
SELECT name, lattice_step FROM columns, kde_info(kde_density('smooth', name))
WHERE lattice_step IS NOT NULL ORDER BY name COLLATE "C";
SELECT bool_and(approx_count('smooth.whole', k, k + 9) = approx_count('smooth.whole', int4range(k, k + 10))) AS half_open,
  bool_and(approx_count('smooth.whole', k, k + 9) = approx_count('smooth.whole', k - 0.5, k + 9.5)) AS between,
  bool_and(approx_count('smooth.whole', k + 0.2, k + 0.8) = 0) AS nothing_between,
  bool_and(approx_count('smooth.whole', k, k) = (SELECT count(*) FROM smooth WHERE whole = k)) AS points_count,
  bool_and(approx_quantile('smooth.whole', k / 10000.0) = round(approx_quantile('smooth.whole', k / 10000.0))) AS whole_quantile
FROM generate_series(100, 9900, 100) AS k;
SELECT bool_and(approx_count('smooth.cents', k / 100.0, (k + 9) / 100.0)
    = approx_count('smooth.cents', numrange(k / 100.0, (k + 10) / 100.0))) AS half_open,
  bool_and(approx_count('smooth.cents', k / 100.0 + 0.002, k / 100.0 + 0.008) = 0) AS nothing_between,
  -- 0.07, 0.29, 1.13 ... are no doubles, yet they name their point.
  bool_and(approx_count('smooth.cents', k / 100.0, k / 100.0) = (SELECT count(*) FROM smooth WHERE cents = k / 100.0)) AS points_count,
  bool_and(approx_count('smooth.cents', k::float8 / 100, k::float8 / 100)
    = approx_count('smooth.cents', k / 100.0, k / 100.0)) AS as_double
FROM generate_series(50, 9950, 99) AS k;

-- Accuracy where the truth has a closed form: `even` is uniform and `exponential` is -ln of it. The
-- data's distribution function is within 0.001 of its law's; the kernel's smoothing moves it by at
-- most h E|z| max(f) = 0.8 h f, where z is standard normal. 0.001 more is left for the stored form.
SELECT max(abs(rank / 5000.0 - even)) < 0.001 AS data_follows_its_law
FROM (SELECT even, row_number() OVER (ORDER BY even) AS rank FROM smooth) AS v;
SELECT bool_and(abs(kde_cdf('smooth.even', p) - p) <= 0.8 * h + 0.002) AS even,
  bool_and(abs(approx_quantile('smooth.even', p::float8) - p) <= 0.8 * h + 0.002) AS even_quantile
FROM generate_series(0.01, 0.99, 0.01) AS p,
  (SELECT bandwidth AS h FROM kde_info(kde_density('smooth.even'))) AS i;
SELECT bool_and(abs(kde_cdf('smooth.exponential', x) - (1 - exp(-x))) <= 0.8 * h + 0.002) AS exponential
FROM generate_series(0.0, 9, 0.05) AS x,
  (SELECT bandwidth AS h FROM kde_info(kde_density('smooth.exponential'))) AS i;
-- The variance is the data's, not the kernel's. With the plain kernel sum, bounds far outside take
-- in all rows without being the whole line: the variance is the sample's. A distribution function
-- within 1e-5 moves a second moment by at most 2e-5 of the squared width of the data, 0.002 here.
SELECT FROM kde_fit('smooth', 'exponential', method => 'silverman') \g /dev/null
SELECT method FROM last_fit;
SELECT power(bandwidth, 2) > 0.01 AS wide,
  abs(approx_variance('smooth.exponential', -1000, 1000) - (SELECT variance(exponential) FROM smooth)) < 0.002
    AS without_kernel
FROM kde_info(kde_density('smooth.exponential'));
-- Where the density is flat the kernel adds nothing to a part of it, and nothing must be taken out:
-- half of a uniform column has the variance 1/48, not that less h^2. The data being within 0.001 of
-- its law moves this by at most 2 * (2 * 0.001 / 0.5) * 0.25^2 = 0.0005, 2.4 % of it.
SELECT FROM kde_fit('smooth', 'even', method => 'silverman') \g /dev/null
SELECT method FROM last_fit;
SELECT power(bandwidth, 2) > 0.1 / 48 AS wide,
  equal(approx_variance('smooth.even', 0.25, 0.75), 1 / 48.0, 0.03) AS kernel_left_in
FROM kde_info(kde_density('smooth.even'));

-- The same stored density gives the same answer, in any transaction and any plan.
SELECT count(DISTINCT approx_sum('smooth.heavy', 1, 7.0 + 0 * i)) FROM generate_series(1, 1000) AS i;

-- Answers that a double cannot hold are errors, as SQL's are.
CREATE TABLE huge AS SELECT 1e308::float8 * (1 + i % 2 * 0.5) AS x FROM generate_series(1, 100) AS i;
SELECT FROM kde_fit('huge', 'x') \g /dev/null
SELECT cells FROM last_fit;
SELECT approx_count('huge.x', 1.2e308, NULL), approx_avg('huge.x') = 1.25e308 AS avg,
  approx_quantile('huge.x', 0.5);
SELECT try('SELECT approx_sum(''huge.x'')');
SELECT try('SELECT approx_variance(''huge.x'')');

SET client_min_messages = warning;
DROP SCHEMA answers CASCADE;
