-- Fitting: bandwidths against reference values, the kernel sum against its closed form, samples and
-- seeds, and every kind of relation.
\set ECHO none \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS fit CASCADE;
CREATE SCHEMA fit;
SET search_path = fit, public;
RESET client_min_messages;
-- sql/refresh.sql has what a stale density does.
SET kde_aqp.stale = ignore;
SET datestyle = 'ISO, YMD';

-- The Old Faithful geyser: R's data set faithful (A. Azzalini, A. W. Bowman, Applied Statistics 39,
-- 1990).
CREATE TABLE faithful (eruptions float8, waiting float8);
INSERT INTO faithful VALUES
(3.6,79),(1.8,54),(3.333,74),(2.283,62),(4.533,85),(2.883,55),(4.7,88),(3.6,85),(1.95,51),
(4.35,85),(1.833,54),(3.917,84),(4.2,78),(1.75,47),(4.7,83),(2.167,52),(1.75,62),(4.8,84),
(1.6,52),(4.25,79),(1.8,51),(1.75,47),(3.45,78),(3.067,69),(4.533,74),(3.6,83),(1.967,55),
(4.083,76),(3.85,78),(4.433,79),(4.3,73),(4.467,77),(3.367,66),(4.033,80),(3.833,74),(2.017,52),
(1.867,48),(4.833,80),(1.833,59),(4.783,90),(4.35,80),(1.883,58),(4.567,84),(1.75,58),(4.533,73),
(3.317,83),(3.833,64),(2.1,53),(4.633,82),(2,59),(4.8,75),(4.716,90),(1.833,54),(4.833,80),
(1.733,54),(4.883,83),(3.717,71),(1.667,64),(4.567,77),(4.317,81),(2.233,59),(4.5,84),(1.75,48),
(4.8,82),(1.817,60),(4.4,92),(4.167,78),(4.7,78),(2.067,65),(4.7,73),(4.033,82),(1.967,56),
(4.5,79),(4,71),(1.983,62),(5.067,76),(2.017,60),(4.567,78),(3.883,76),(3.6,83),(4.133,75),
(4.333,82),(4.1,70),(2.633,65),(4.067,73),(4.933,88),(3.95,76),(4.517,80),(2.167,48),(4,86),
(2.2,60),(4.333,90),(1.867,50),(4.817,78),(1.833,63),(4.3,72),(4.667,84),(3.75,75),(1.867,51),
(4.9,82),(2.483,62),(4.367,88),(2.1,49),(4.5,83),(4.05,81),(1.867,47),(4.7,84),(1.783,52),
(4.85,86),(3.683,81),(4.733,75),(2.3,59),(4.9,89),(4.417,79),(1.7,59),(4.633,81),(2.317,50),
(4.6,85),(1.817,59),(4.417,87),(2.617,53),(4.067,69),(4.25,77),(1.967,56),(4.6,88),(3.767,81),
(1.917,45),(4.5,82),(2.267,55),(4.65,90),(1.867,45),(4.167,83),(2.8,56),(4.333,89),(1.833,46),
(4.383,82),(1.883,51),(4.933,86),(2.033,53),(3.733,79),(4.233,81),(2.233,60),(4.533,82),
(4.817,77),(4.333,76),(1.983,59),(4.633,80),(2.017,49),(5.1,96),(1.8,53),(5.033,77),(4,77),
(2.4,65),(4.6,81),(3.567,71),(4,70),(4.5,81),(4.083,93),(1.8,53),(3.967,89),(2.2,45),(4.15,86),
(2,58),(3.833,78),(3.5,66),(4.583,76),(2.367,63),(5,88),(1.933,52),(4.617,93),(1.917,49),
(2.083,57),(4.583,77),(3.333,68),(4.167,81),(4.333,81),(4.5,73),(2.417,50),(4,85),(4.167,74),
(1.883,55),(4.583,77),(4.25,83),(3.767,83),(2.033,51),(4.433,78),(4.083,84),(1.833,46),(4.417,83),
(2.183,55),(4.8,81),(1.833,57),(4.8,76),(4.1,84),(3.966,77),(4.233,81),(3.5,87),(4.366,77),
(2.25,51),(4.667,78),(2.1,60),(4.35,82),(4.133,91),(1.867,53),(4.6,78),(1.783,46),(4.367,77),
(3.85,84),(1.933,49),(4.5,83),(2.383,71),(4.7,80),(1.867,49),(3.833,75),(3.417,64),(4.233,76),
(2.4,53),(4.8,94),(2,55),(4.15,76),(1.867,50),(4.267,82),(1.75,54),(4.483,75),(4,78),(4.117,79),
(4.083,78),(4.267,78),(3.917,70),(4.55,79),(4.083,70),(2.417,54),(4.183,86),(2.217,50),(4.45,90),
(1.883,54),(1.85,54),(4.283,77),(3.95,79),(2.333,64),(4.15,75),(2.35,47),(4.933,86),(2.9,63),
(4.583,85),(3.833,82),(2.083,57),(4.367,82),(2.133,67),(4.35,74),(2.2,54),(4.45,83),(3.567,73),
(4.5,73),(4.15,88),(3.817,80),(3.917,71),(4.45,83),(2,56),(4.283,79),(4.767,78),(4.533,84),
(1.85,58),(4.25,83),(1.983,43),(2.25,60),(4.75,75),(4.117,81),(2.15,46),(4.417,90),(1.817,46),
(4.467,74);
\set ECHO queries
SELECT count(*), sum(eruptions::numeric), sum(waiting) FROM faithful;

-- ---------------------------------------------------------------------------------------------
-- Bandwidths. The plug-in's reference values were computed directly in double precision; Silverman's
-- are 0.9 min(sd, IQR / 1.34) n^(-1/5) (B. W. Silverman, Density Estimation, 1986, eq. 3.31).
CREATE FUNCTION relative_error(a float8, b float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS
  'SELECT abs(a / b - 1)';
CREATE VIEW last_fit AS SELECT * FROM kde_densities_full ORDER BY fitted_at DESC LIMIT 1;
SELECT FROM kde_fit('faithful', 'eruptions', method => 'plugin') \g /dev/null
SELECT relative_error(bandwidth, 0.165534133327) < 1e-5 AS within_1e_5, method, bandwidth_rows FROM last_fit;
SELECT FROM kde_fit('faithful', 'waiting', method => 'plugin') \g /dev/null
SELECT relative_error(bandwidth, 2.63560392952) < 1e-5 AS within_1e_5, method FROM last_fit;
SET kde_aqp.simd = 'reference';
SELECT FROM kde_fit('faithful', 'eruptions', method => 'plugin') \g /dev/null
SELECT relative_error(bandwidth, 0.165534133327) < 1e-10 AS within_1e_10, engine FROM last_fit;
SELECT FROM kde_fit('faithful', 'waiting', method => 'plugin') \g /dev/null
SELECT relative_error(bandwidth, 2.63560392952) < 1e-10 AS within_1e_10, engine FROM last_fit;
RESET kde_aqp.simd;
-- Every instruction set of this machine, forced: within 1e-5, and the catalog says which it was.
CREATE FUNCTION sets() RETURNS TABLE (set_name text, engine text, close boolean, threads_kept boolean)
LANGUAGE plpgsql AS $$
BEGIN
  FOR set_name IN SELECT unnest(instruction_sets) FROM kde_devices() LOOP
    PERFORM set_config('kde_aqp.simd', set_name, true);
    PERFORM kde_fit('faithful', 'eruptions', method => 'plugin');
    RETURN QUERY SELECT set_name, k.engine,
      relative_error(k.bandwidth, 0.165534133327) < 1e-5, k.threads = 1 FROM last_fit AS k;
  END LOOP;
END $$;
SET kde_aqp.threads = 1;
SELECT count(*) > 0 AS some, count(*) = count(DISTINCT engine) AS different,
  bool_and(engine = 'simd ' || set_name) AS named, bool_and(close) AS close, bool_and(threads_kept) AS threads
FROM sets();
SHOW kde_aqp.simd;
RESET kde_aqp.threads;
SELECT device, in_use, threads > 0 AS threads, instruction_set = 'simd ' || instruction_sets[1] AS best
FROM kde_devices() WHERE device = 'cpu';

SELECT FROM kde_fit('faithful', 'eruptions', method => 'silverman') \g /dev/null
SELECT method, engine, bandwidth_rows, relative_error(bandwidth, (
  SELECT 0.9 * least(stddev(eruptions),
    ((percentile_cont(0.75) WITHIN GROUP (ORDER BY eruptions)
      - percentile_cont(0.25) WITHIN GROUP (ORDER BY eruptions)) / 1.34)) * power(count(*), -0.2)
  FROM faithful)) < 1e-9 AS as_in_sql
FROM last_fit;
SELECT method FROM kde_densities_full WHERE relation = 'faithful'::regclass ORDER BY column_names::text;

-- Above a few thousand values the sums are near-exact ones over all of them, unless asked otherwise;
-- the error of the near-exact ones is far below that of exact ones in single precision.
CREATE TABLE skewed AS SELECT ln(i) * 100 AS v FROM generate_series(1, 10000) AS i;
SET kde_aqp.bandwidth_rows = 20000;
SELECT FROM kde_fit('skewed', 'v', method => 'plugin', seed => 1) \g /dev/null
CREATE TABLE by_engine AS
SELECT 'near' AS label, engine, bandwidth, bandwidth_rows FROM last_fit;
SELECT FROM kde_fit('skewed', 'v', method => 'plugin', seed => 1, exact => true) \g /dev/null
INSERT INTO by_engine
SELECT 'exact', split_part(engine, ' ', 1), bandwidth, bandwidth_rows FROM last_fit;
SET kde_aqp.precision = 'single';
SELECT FROM kde_fit('skewed', 'v', method => 'plugin', seed => 1, exact => true) \g /dev/null
INSERT INTO by_engine
SELECT 'single', regexp_replace(engine, ' .* ', ' '), bandwidth, bandwidth_rows FROM last_fit;
RESET kde_aqp.precision;
RESET kde_aqp.bandwidth_rows;
SELECT label, engine, bandwidth_rows,
  relative_error(bandwidth, (SELECT bandwidth FROM by_engine WHERE label = 'exact'))
    < CASE label WHEN 'single' THEN 1e-5 ELSE 1e-10 END AS close
FROM by_engine;
SELECT requested_exact, engine LIKE 'simd % single' AS single FROM kde_densities_full WHERE relation = 'skewed'::regclass;

-- Every method fits, says which it was and how its search ended. lscv: h = 0.09040316648 sigma, an
-- interior minimum, as this column has more ties than cross-validation bears.
CREATE FUNCTION of_method(method text, OUT used text, OUT status text, OUT sums boolean, OUT h numeric)
LANGUAGE sql AS $$
  SELECT kde_fit('faithful', 'eruptions', method => $1);
  SELECT k.method, k.bandwidth_status, k.engine IS NOT NULL, k.bandwidth::numeric(12, 9) FROM last_fit AS k $$;
SELECT m, k.* FROM unnest(ARRAY['plugin', 'lscv', 'sheather_jones', 'smoothed_cv',
  'silverman', 'normal_reference', 'scott', 'auto']) AS m, of_method(m) AS k;
SELECT FROM kde_fit('faithful', 'eruptions', method => 'lscv') \g /dev/null
SELECT relative_error(bandwidth, 0.09040316648 * (SELECT stddev(eruptions) FROM faithful)) < 1e-8 AS lscv FROM last_fit;
SELECT method, bandwidth_status FROM kde_densities_full
WHERE relation = 'faithful'::regclass AND column_names = '{eruptions}';
-- Nothing but ties: no minimum at all; Silverman's rule, which the notice and the catalog name.
CREATE TABLE rounded AS SELECT (i % 60)::float8 + 0.25 * (i % 2) AS v FROM generate_series(1, 6000) AS i;
SELECT model FROM kde_fit('rounded', 'v', method => 'lscv');
SELECT model FROM kde_densities WHERE name = 'rounded.v';
SELECT method, bandwidth_status FROM last_fit;

-- h is dimensionless in x: shifting and scaling the column scales it.
CREATE TABLE scaled AS SELECT eruptions * 1e-150 AS tiny, eruptions * 1e150 AS huge, 1e6 - eruptions AS mirrored
FROM faithful;
SELECT FROM kde_fit('scaled', 'tiny', method => 'plugin') \g /dev/null
SELECT relative_error(bandwidth, 0.165534133327e-150) < 1e-5 AS tiny FROM last_fit;
SELECT FROM kde_fit('scaled', 'huge', method => 'plugin') \g /dev/null
SELECT relative_error(bandwidth, 0.165534133327e150) < 1e-5 AS huge FROM last_fit;
SELECT FROM kde_fit('scaled', 'mirrored', method => 'plugin') \g /dev/null
SELECT relative_error(bandwidth, 0.165534133327) < 1e-5 AS mirrored FROM last_fit;

-- ---------------------------------------------------------------------------------------------
-- The methods by name are the plain kernel sum: counts, sums and densities against its closed form,
--   COUNT(a, b) = sum Phi(z_b) - Phi(z_a)
--   SUM(a, b) = sum x_i (Phi(z_b) - Phi(z_a)) - h (phi(z_b) - phi(z_a)),    z = (t - x_i) / h.
-- Phi by its series (G. Marsaglia, Journal of Statistical Software 11(4), 2004).
CREATE FUNCTION phi(z float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS
  'SELECT CASE WHEN abs(z) > 38 THEN 0 ELSE exp(-z * z / 2) / sqrt(2 * pi()) END';
CREATE FUNCTION cumulative(z float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  term float8 := z;
  total float8 := z;
  k integer := 1;
BEGIN
  IF z < -8.3 THEN RETURN 0; END IF;  -- below 1e-16
  IF z > 8.3 THEN RETURN 1; END IF;
  WHILE abs(term) > 1e-17 * abs(total) LOOP
    k := k + 2;
    term := term * z * z / k;
    total := total + term;
  END LOOP;
  RETURN 0.5 + total * phi(z);
END $$;
SELECT cumulative(0), cumulative(1)::numeric(20, 15), (1 - cumulative(-1.96))::numeric(20, 15);
SELECT FROM kde_fit('faithful', 'eruptions', method => 'plugin') \g /dev/null
SELECT method FROM last_fit;
CREATE TABLE closed AS
SELECT t, h, sum(cumulative((t - eruptions) / h)) AS g,
  sum(eruptions * cumulative((t - eruptions) / h) - h * phi((t - eruptions) / h)) AS s,
  sum(phi((t - eruptions) / h)) / h / 272 AS f
FROM faithful, (SELECT bandwidth AS h FROM kde_info(kde_density('faithful.eruptions'))) AS i,
  (SELECT 0.9 + i * 0.123 AS t FROM generate_series(0, 40) AS i) AS points
GROUP BY t, h;
-- Counts within 1e-5 of the 272 rows. A sum is t G less the integral of G: with G within e of the
-- truth everywhere it is off by at most e (|a| + |b| + b - a) = 2 b e, for 0 < a < b.
SELECT count(*),
  max(abs(approx_count('faithful.eruptions', a.t, b.t) - (b.g - a.g))) <= 1e-5 * 272 AS counts,
  bool_and(abs(approx_sum('faithful.eruptions', a.t, b.t) - (b.s - a.s)) <= 1e-5 * 272 * 2 * b.t) AS sums
FROM closed AS a JOIN closed AS b ON a.t < b.t;
-- The density within 1e-3 of its maximum; it and the distribution belong together.
SELECT max(abs(kde_pdf('faithful.eruptions', t) - f)) <= 1e-3 * max(f) AS densities,
  max(abs(kde_cdf('faithful.eruptions', t) - g / 272)) <= 1e-5 AS distribution
FROM closed;
-- It reaches beyond the data, by design; `auto` does not.
SELECT approx_count('faithful.eruptions', NULL, min) > 1 AS plain_reaches_out,
  approx_count('faithful.eruptions') FROM (SELECT min(eruptions) - 0.01 AS min FROM faithful) AS m;
SELECT FROM kde_fit('faithful', 'eruptions') \g /dev/null
SELECT method FROM last_fit;
SELECT approx_count('faithful.eruptions', NULL, min) AS auto_does_not,
  kde_pdf('faithful.eruptions', min), approx_count('faithful.eruptions')
FROM (SELECT min(eruptions) - 0.01 AS min FROM faithful) AS m;

-- ---------------------------------------------------------------------------------------------
-- Few distinct values are atoms, whatever the number of rows; the rest is smooth.
CREATE TABLE few AS SELECT 5.5 AS one, i % 2 * 0.25 AS two, (i % 100)::smallint AS hundred FROM generate_series(1, 2000) AS i;
SELECT FROM kde_fit('few', 'one') \g /dev/null
SELECT bandwidth, cells FROM last_fit;
SELECT FROM kde_fit('few', 'two') \g /dev/null
SELECT bandwidth > 0 AS bandwidth, cells FROM last_fit;
SELECT FROM kde_fit('few', 'hundred') \g /dev/null
SELECT bandwidth > 0 AS bandwidth, cells FROM last_fit;
SELECT approx_count('few.one', 5.5, 5.5) AS one, approx_count('few.one', 5.4, 5.49) AS none,
  approx_count('few.two', 0.25, 9) AS half, approx_avg('few.two') AS avg,
  approx_count('few.hundred', 10, 19) AS ten, approx_sum('few.hundred', 10, 19) AS sum;

-- ---------------------------------------------------------------------------------------------
-- Samples. One seed gives one sample and one density; another seed another one. Every row read, the
-- totals are exact whatever the sample.
CREATE TABLE large AS
SELECT i, ((i * 2654435769) % 4294967296)::float8 / 4294967296 AS x FROM generate_series(1::bigint, 40000) AS i;
CREATE TABLE fits (label text, density text);
SELECT FROM kde_fit('large', 'x', sample_rows => 2000, seed => 1) \g /dev/null
SELECT rows, rows_read, sample_rows, bandwidth_rows, seed FROM last_fit;
INSERT INTO fits SELECT 'seed 1', kde_density('large.x')::text;
SELECT seed FROM kde_fit('large', 'x', sample_rows => 2000, seed => 1);
INSERT INTO fits SELECT 'seed 1 again', kde_density('large.x')::text;
SELECT seed FROM kde_fit('large', 'x', sample_rows => 2000, seed => -2);
INSERT INTO fits SELECT 'seed -2', kde_density('large.x')::text;
SELECT a.label, b.label, a.density = b.density AS same FROM fits AS a JOIN fits AS b ON a.label < b.label;
SELECT every_row_read, equal FROM kde_info(kde_density('large.x')),
  (SELECT approx_count('large.x') = 40000 AND relative_error(approx_sum('large.x'), sum(x)) < 1e-12 AS equal FROM large) AS e;
-- Without a seed one is drawn, and reported: it gives the same density again.
SELECT seed AS drawn FROM kde_fit('large', 'x', sample_rows => 2000) \gset
INSERT INTO fits SELECT 'drawn', kde_density('large.x')::text;
\set ECHO none
SELECT seed = :drawn AS kept FROM kde_fit('large', 'x', sample_rows => 2000, seed => :drawn);
\set ECHO queries
SELECT density = kde_density('large.x')::text AS same_again FROM fits WHERE label = 'drawn';
SELECT count(DISTINCT density) FROM fits;
-- The sample is one of the whole table: of 2000 rows the share in [0.2, 0.5] has a standard deviation
-- of sqrt(0.3 * 0.7 / 2000) = 0.0102; five of them and 0.8 h f for the smoothing are allowed.
SELECT abs(approx_count('large.x', 0.2, 0.5) / 40000 - 0.3) < 5 * 0.0102 + 2 * 0.8 * bandwidth AS sampled
FROM kde_info(kde_density('large.x'));

-- Threads divide the work, not the answer: sums are added in an order that does not depend on them.
CREATE TABLE by_threads (density text);
SET kde_aqp.threads = 1;
SELECT FROM kde_fit('large', 'x', sample_rows => 10000, seed => 1) \g /dev/null
SELECT threads FROM last_fit;
INSERT INTO by_threads SELECT kde_density('large.x')::text;
SET kde_aqp.threads = 1024;
SELECT FROM kde_fit('large', 'x', sample_rows => 10000, seed => 1) \g /dev/null
SELECT threads > 0 AS at_most_the_cores FROM last_fit;
INSERT INTO by_threads SELECT kde_density('large.x')::text;
RESET kde_aqp.threads;
SELECT count(*), count(DISTINCT density) FROM by_threads;

-- Exact sums use at most kde_aqp.bandwidth_rows values, of whatever sample.
SET kde_aqp.bandwidth_rows = 500;
SELECT FROM kde_fit('large', 'x', sample_rows => 2000, seed => 1, exact => true) \g /dev/null
SELECT sample_rows, bandwidth_rows FROM last_fit;
SELECT FROM kde_fit('large', 'x', sample_rows => -1, seed => 1, exact => true) \g /dev/null
SELECT sample_rows, bandwidth_rows FROM last_fit;
SELECT requested_sample_rows, rows_read, sample_rows, bandwidth_rows FROM kde_densities_full WHERE relation = 'large'::regclass;
RESET kde_aqp.bandwidth_rows;

-- Every row, streamed: the whole column's distribution to the stream's stated error, 1e-5 for the
-- stored form and the smoothing. `large.x` is uniform to within 0.001.
SELECT every_row_read, sample_rows FROM kde_info(kde_density('large.x'));
SELECT max(abs(kde_cdf('large.x', p) - p)) < 0.001 + max(representation_error) + 0.8 * max(bandwidth) AS close
FROM generate_series(0.05, 0.95, 0.05) AS p, kde_info(kde_density('large.x'));

-- Blocks: with kde_aqp.sample_blocks only so many are read, chosen by the seed. The rows are
-- extrapolated from them: all blocks but the last hold the same number, so with a tenth of the blocks
-- the estimate is off by less than a tenth.
SET kde_aqp.sample_blocks = 20;
SELECT FROM kde_fit('large', 'x', seed => 7) \g /dev/null
SELECT rows_read < 10000 AS few, rows_read = sample_rows AS all_kept, abs(rows / 40000 - 1) < 0.1 AS rows_close FROM last_fit;
INSERT INTO fits SELECT 'blocks, seed 7', kde_density('large.x')::text;
SELECT every_row_read FROM kde_densities_full WHERE relation = 'large'::regclass;
SELECT rows > 0 FROM kde_fit('large', 'x', seed => 7);
SELECT density = kde_density('large.x')::text AS same FROM fits WHERE label = 'blocks, seed 7';
SELECT rows > 0 FROM kde_fit('large', 'x', seed => 8);
SELECT density = kde_density('large.x')::text AS same FROM fits WHERE label = 'blocks, seed 7';
-- Asked for an error, a fit reads as many more blocks as it takes; a refresh asks for it again. The
-- expected error is of 95 % of the answers: of 3 blocks it is above 15 %.
CREATE FUNCTION expected(text) RETURNS float8 LANGUAGE sql AS
  $$ SELECT replace($1, ' %', '')::float8 / 100 $$;
SET kde_aqp.sample_blocks = 3;
SELECT expected(expected_error) > 0.15 AS not_met FROM kde_fit('large', 'x', seed => 7);
SELECT rows_read < 30000 AS not_all, expected(expected_error) <= 0.15 AS met
FROM kde_fit('large', 'x', seed => 7, max_relative_error => 0.15);
SELECT requested_error, rows_read AS read_before FROM kde_densities_full WHERE relation = 'large'::regclass \gset
SELECT column_names FROM kde_refresh('large', force => true);
SELECT :requested_error AS requested_error, requested_error = :requested_error AS kept, rows_read = :read_before AS read_again
FROM kde_densities_full WHERE relation = 'large'::regclass;
-- It may take every row.
SELECT rows_read FROM kde_fit('large', 'x', seed => 7, max_relative_error => 1e-6);
SELECT try($$SELECT kde_fit('large', 'x', max_relative_error => 0)$$);
SELECT try($$SELECT kde_fit('large', 'x', max_relative_error => 'NaN')$$);
SELECT try($$SELECT kde_fit('large', 'x', max_relative_error => 0.1, sample_rows => 1000)$$);
SELECT try($$SELECT kde_fit('large', ARRAY['x', 'x + 1'], max_relative_error => 0.1)$$);
SET kde_aqp.sample_blocks = 20;
-- sample_rows => -1 reads everything whatever the option says.
SELECT rows, rows_read FROM kde_fit('large', 'x', sample_rows => -1);
RESET kde_aqp.sample_blocks;

-- ---------------------------------------------------------------------------------------------
-- Kinds of relations.
-- Partitioned, over two levels, leaves of 9 to 1 and one empty, with a column that has another
-- attribute number in a leaf: one sample over all.
CREATE TABLE parts (k integer, x float8) PARTITION BY RANGE (k);
CREATE TABLE parts_low PARTITION OF parts FOR VALUES FROM (0) TO (9) PARTITION BY LIST (k);
CREATE TABLE parts_rest PARTITION OF parts_low DEFAULT;
CREATE TABLE parts_none PARTITION OF parts FOR VALUES FROM (100) TO (200);
CREATE TABLE parts_high (gone text, k integer, x float8);
ALTER TABLE parts_high DROP COLUMN gone;
ALTER TABLE parts ATTACH PARTITION parts_high FOR VALUES FROM (9) TO (10);
INSERT INTO parts SELECT i % 10, CASE WHEN i % 10 = 9 THEN 100 ELSE 0 END + x FROM large;
SELECT FROM kde_fit('parts', 'x', sample_rows => 2000, seed => 1) \g /dev/null
SELECT rows, rows_read, sample_rows FROM last_fit;
-- A tenth of the rows is above 50; a fair sample of 2000 has that share within 5 sd of
-- sqrt(0.1 * 0.9 / 2000) = 0.0067. Samples of equal size from each leaf would make it a half.
SELECT abs(approx_count('parts.x', 50, NULL) / 40000 - 0.1) < 5 * 0.0067 AS fair,
  relative_error(approx_sum('parts.x'), (SELECT sum(x) FROM parts)) < 1e-12 AS sum;
-- By blocks: 60 of some 200, of which some 20 belong to the small leaf: the number drawn is
-- hypergeometric with a standard deviation below sqrt(60 * 0.1 * 0.9) = 2.3 blocks, 0.039 of 60.
SET kde_aqp.sample_blocks = 60;
SELECT rows_read < 20000 AS few, abs(rows / 40000 - 1) < 0.1 AS rows_close FROM kde_fit('parts', 'x', seed => 1);
SELECT abs(approx_count('parts.x', 50, NULL) / approx_count('parts.x') - 0.1) < 5 * 0.039 AS fair;
RESET kde_aqp.sample_blocks;
-- A leaf alone is a table of its own.
SELECT rows FROM kde_fit('parts_high', 'x');
SELECT approx_count('parts_high.x', NULL, 50) AS below, approx_count('parts_high.x') AS all;
-- A partitioned table without a leaf, and with empty ones, has no rows.
CREATE TABLE leafless (x integer) PARTITION BY LIST (x);
\set VERBOSITY terse
SELECT rows FROM kde_fit('leafless', 'x');
SELECT rows FROM kde_fit('parts_none', 'x');
\set VERBOSITY default

-- Inheritance: the parent's rows and its children's, as a query of the parent reads them.
CREATE TABLE parent (x integer);
CREATE TABLE child (y text, z integer) INHERITS (parent);
INSERT INTO parent SELECT 1 FROM generate_series(1, 30);
INSERT INTO child (x) SELECT 2 FROM generate_series(1, 70);
SELECT rows FROM kde_fit('parent', 'x');
SELECT approx_count('parent.x', 1, 1) AS parent, approx_count('parent.x', 2, 2) AS child,
  approx_sum('parent.x') = (SELECT sum(x) FROM parent) AS sum;

-- A materialized view, an unlogged table, a generated column, a foreign table.
CREATE MATERIALIZED VIEW matview AS SELECT x * 2 AS x FROM large WHERE i <= 1000;
SELECT rows FROM kde_fit('matview', 'x');
SELECT relative_error(approx_sum('matview.x'), sum(x)) < 1e-12 AS sum FROM matview;
CREATE UNLOGGED TABLE unlogged AS SELECT i % 3 AS x FROM generate_series(1, 90) AS i;
CREATE TABLE generated (x integer, twice integer GENERATED ALWAYS AS (2 * x) STORED);
INSERT INTO generated SELECT i % 3 FROM generate_series(1, 90) AS i;
SELECT rows FROM kde_fit('unlogged', 'x');
SELECT rows FROM kde_fit('generated', 'twice');
SELECT approx_sum('unlogged.x'), approx_sum('generated.twice');
-- file_fdw comes with the server's contrib modules, which need not be there.
CREATE FUNCTION foreign_table() RETURNS TABLE (rows_right boolean, sum_right boolean, stored boolean) LANGUAGE plpgsql AS $$
DECLARE
  n integer;
BEGIN
  IF NOT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'file_fdw') THEN
    RETURN QUERY VALUES (true, true, true);
    RETURN;
  END IF;
  CREATE EXTENSION file_fdw SCHEMA fit;
  CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
  CREATE FOREIGN TABLE numbers (x integer) SERVER files OPTIONS (program 'seq 1 5000');
  FOREACH n IN ARRAY '{100000,100,-1}'::integer[] LOOP
    PERFORM kde_fit('numbers', 'x', sample_rows => n);
    SELECT k.rows = 5000 AND k.rows_read = 5000 AND k.sample_rows BETWEEN 0.9 * least(nullif(n, -1), 5000) AND least(nullif(n, -1), 5000)
      INTO rows_right FROM last_fit AS k;
    sum_right := approx_sum('numbers.x') = 5000 * 5001 / 2;
    stored := EXISTS (SELECT FROM kde_densities_full WHERE relation = 'numbers'::regclass);
    RETURN NEXT;
  END LOOP;
  DROP EXTENSION file_fdw CASCADE;
END $$;
SET client_min_messages = warning;
SELECT bool_and(rows_right) AS rows, bool_and(sum_right) AS sum, bool_and(stored) AS stored FROM foreign_table();
RESET client_min_messages;

-- Rows the fit's own transaction wrote are seen, dead ones are not.
BEGIN;
CREATE TABLE live AS SELECT i % 5 AS x FROM generate_series(1, 100) AS i;
DELETE FROM live WHERE x = 0;
UPDATE live SET x = 9 WHERE x = 1;
SELECT rows FROM kde_fit('live', 'x');
SELECT approx_count('live.x', 0, 1) AS dead, approx_count('live.x', 9, 9) AS updated;
COMMIT;

-- ---------------------------------------------------------------------------------------------
-- The catalog's view, a refit, kde_drop.
SELECT FROM kde_fit('live', 'x', seed => 3) \g /dev/null
SELECT relation, column_names FROM last_fit;
SELECT relation, column_names, method, rows, nulls, rows_read, every_row_read,
  sample_rows, lower, upper, cells, lattice_step
FROM kde_densities_full WHERE relation = 'live'::regclass;
SELECT requested_sample_rows, seed, bytes BETWEEN 160 AND 16384 AS bytes,
  scan_ms >= 0 AND select_ms >= 0 AND estimate_ms >= 0 AS timed,
  total_ms = scan_ms + select_ms + estimate_ms AS total, age >= interval '0' AS age
FROM kde_densities_full WHERE relation = 'live'::regclass;
INSERT INTO live SELECT 11 FROM generate_series(1, 20);
SELECT approx_count('live.x') AS before_the_refit;
SELECT rows FROM kde_fit('live', 'x', 'silverman', 50, 4);
SELECT approx_count('live.x') AS after_the_refit, count(*) AS stored, max(method) AS method,
  max(requested_sample_rows) AS sample_rows, max(seed) AS seed
FROM kde_densities_full WHERE relation = 'live'::regclass;
SELECT kde_drop('live.x');
SELECT count(*) FROM kde_densities_full WHERE relation = 'live'::regclass;
SELECT kde_drop('live.x', if_exists => true);
-- What error to expect: of ten blocks, where the numbers differ by the sample, and of every row of few values.
CREATE TABLE expected AS SELECT sqrt(-2 * ln(1 - random())) * cos(6.2832 * random()) AS x, i % 9 AS k FROM generate_series(1, 50000) i;
SET kde_aqp.sample_blocks = 10;
SELECT FROM kde_fit('expected', 'x', seed => 1) \g /dev/null
SELECT regexp_replace(expected_error, '[0-9.]+ (%,|standard)', '# \1', 'g') AS sampled FROM last_fit;
RESET kde_aqp.sample_blocks;
SELECT expected_error FROM kde_fit('expected', 'k');
-- At most 16 KB stored, whatever the column, and as good as promised: counts to a row, to what a summary
-- of 65,536 cells joins (2.8 of them, twice that where one leaf's values are another's no more), and to what
-- 16 KB leave of it.
SELECT max(bytes) <= 262144 AS small, count(*) > 10 AS many FROM kde_densities_full;
SELECT relation, column_names, representation_error FROM kde_densities_full
WHERE NOT representation_error <= 1.0 / sample_rows + (CASE relation::text WHEN 'parts' THEN 5.6 ELSE 2.8 END) / 65536 + 1e-4;

-- A whole table: each column as by itself, by one scan; what is not worth it, and why. More than 16 take two.
CREATE TABLE others (id integer PRIMARY KEY);
INSERT INTO others SELECT generate_series(1, 50);
CREATE TABLE whole (id bigint PRIMARY KEY, gone integer, other integer REFERENCES others, amount numeric(6, 2), day date UNIQUE,
  note text, nothing integer, flag boolean);
ALTER TABLE whole DROP COLUMN gone;
INSERT INTO whole SELECT i, 1 + i % 50, i % 700 / 100.0, date '2026-01-01' + i, 'note', NULL, true FROM generate_series(1, 2000) AS i;
SELECT column_name, fitted, reason, model, rows, expected_error FROM kde_fit('whole', seed => 1);
SELECT name, method, seed, requested_seed FROM kde_densities_full WHERE relation = 'whole'::regclass ORDER BY name;
CREATE TABLE alone AS SELECT column_names, density FROM kde_aqp.fitted WHERE relation = 'whole'::regclass;
-- A density with measures stays.
BEGIN;
SELECT rows FROM kde_fit('whole', 'amount', measures => '{other}', seed => 1);
SELECT kde_set_plain_sql('whole.amount', true);
SELECT column_name, fitted, reason FROM kde_fit('whole', seed => 1) WHERE column_name IN ('amount', 'day');
SELECT name, measures, plain_sql FROM kde_densities_full WHERE name = 'whole.amount';
SELECT approx_sum('whole.amount', measure => 'other') = (SELECT sum(other) FROM whole) AS sum;
ROLLBACK;
SELECT count(kde_fit('whole', c, seed => 1)) FROM unnest('{amount,day}'::name[]) AS c;
SELECT a.column_names, a.density = f.density AS same FROM alone AS a JOIN kde_aqp.fitted AS f USING (column_names)
WHERE f.relation = 'whole'::regclass ORDER BY 1;
-- Of more rows than are gathered at a time, drawn by the block, whatever the threads; with values that are
-- missing or not finite.
CREATE TABLE gathered AS SELECT i % 97 AS whole, sqrt(i) AS root, CASE WHEN i % 3 > 0 THEN (i * 37 % 10007) / 100.0 END AS cents,
  CASE i % 1000 WHEN 1 THEN 'NaN' WHEN 2 THEN '-Infinity' ELSE ln(i) END::float8 AS other, timestamp '2026-01-01' + i * (i % 1000) * interval '1 s' AS at
FROM generate_series(1, 100000) AS i;
CREATE TABLE side_by_side (threads text, column_names text[], density kde);
SET kde_aqp.sample_blocks = 700;
SELECT format('SET kde_aqp.threads = %s', threads), format('SELECT count(*) FILTER (WHERE fitted) FROM kde_fit(%L, seed => 7)', 'gathered'),
  format('INSERT INTO side_by_side SELECT %s, column_names, density FROM kde_aqp.fitted WHERE relation = %L::regclass', threads, 'gathered')
FROM unnest('{1,2,3}'::int[]) AS threads \gexec
SELECT count(kde_fit('gathered', c, seed => 7)) FROM unnest('{whole,root,cents,other,at}'::name[]) AS c;
SELECT count(*) AS densities, bool_and(s.density = f.density) AS same FROM side_by_side AS s JOIN kde_aqp.fitted AS f USING (column_names)
WHERE f.relation = 'gathered'::regclass;
RESET kde_aqp.sample_blocks;
RESET kde_aqp.threads;
SELECT format('CREATE TABLE many AS SELECT %s FROM generate_series(1, 100) AS i', string_agg(format('i %% %s AS c%s', k, k), ', '))
FROM generate_series(2, 21) AS k \gexec
SELECT count(*) FILTER (WHERE fitted) AS fitted, sum(rows) AS rows FROM kde_fit('many');
SELECT approx_count('many.c21', 0, 0) AS c21, approx_count('many.c2', 0, 0) AS c2;
SELECT count(*) FROM kde_fit('others') WHERE fitted;
SELECT * FROM kde_fit(NULL::regclass);

SET client_min_messages = warning;
DROP SCHEMA fit CASCADE;
