-- What `auto` makes of a column: lattices, heaps, values apart, supports, the sample itself, every row;
-- and what the answers on lattices are.
\set ECHO none \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS model CASCADE;
CREATE SCHEMA model;
SET search_path = model, public;
RESET client_min_messages;

-- Random numbers, the same everywhere.
CREATE FUNCTION u(i bigint, k integer DEFAULT 0) RETURNS float8 LANGUAGE sql IMMUTABLE AS
  'SELECT (hashint8extended(i, k) & 4294967295)::float8 / 4294967296';
-- heaped: every third is rounded to tens. rain: three of five are 0. sizes: no two are a whole number
-- of steps apart.
CREATE TABLE t AS
SELECT round((3 * (u(i) + u(i, 1)))::numeric, 2)::numeric(8, 2) AS price,
  (round(300 * (u(i) + u(i, 1))) / 100)::float8 AS price8,
  CASE WHEN u(i, 2) < 0.3 THEN round(-ln(1 - u(i)) * 100)::integer / 10 * 10 ELSE round(-ln(1 - u(i)) * 100)::integer END AS heaped,
  CASE WHEN u(i, 3) < 0.6 THEN 0 ELSE -ln(1 - u(i)) END AS rain,
  -ln(1 - u(i)) - ln(1 - u(i, 1)) AS smooth,
  floor(1 + 6 * u(i))::integer AS dice,
  sqrt(2 + floor(12 * u(i))) AS sizes
FROM generate_series(1, 60000) AS i;
CREATE TABLE columns AS
SELECT attname AS name FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0;

-- ---------------------------------------------------------------------------------------------
-- A part of the blocks: what was chosen, and that it is better than the sample alone. The last figure
-- depends on the last digits of sums, so only its size is shown.
CREATE VIEW chosen AS
SELECT column_names[1] AS name, regexp_replace(model, 'error [0-9.]+ of', 'error # of') AS model,
  substring(model FROM 'error ([0-9.]+) of')::float8 BETWEEN 0.05 AND 0.95 AS better,
  cells > 100 AS many, lattice_step, bandwidth > 0 AS bandwidth
FROM kde_densities_full WHERE relation = 't'::regclass;
SET kde_aqp.sample_blocks = 40;
\set ECHO queries
SELECT count((kde_fit('t', name, sample_rows => 3000, seed => 1)).rows) AS fitted FROM columns;
SELECT * FROM chosen ORDER BY name COLLATE "C";
SELECT name, model FROM kde_densities WHERE name LIKE 't.%' ORDER BY name COLLATE "C";
SELECT model FROM kde_fit('t', 'heaped', sample_rows => 3000, seed => 1);
-- The same seed makes the same of it.
CREATE TABLE before AS SELECT name, kde_density('t', name)::text AS d FROM columns;
SELECT count((kde_fit('t', name, sample_rows => 3000, seed => 1)).rows) AS fitted FROM columns;
SELECT bool_and(kde_density('t', name)::text = d) AS same FROM before JOIN columns USING (name);

-- Lattices: the density is the kernel's over the points, the trapezoids of its values add up to the whole,
-- and it is 0 beyond the column.
CREATE TABLE steps AS
SELECT c.name, k, i.lattice_step AS step, (i.lower::float8 / i.lattice_step + k) * i.lattice_step AS x, i.rows
FROM unnest('{price,price8,heaped,dice}'::name[]) AS c(name), kde_info(kde_density('t', c.name)) AS i,
  generate_series(0, (i.upper::float8 / i.lattice_step - i.lower::float8 / i.lattice_step)::integer) AS k;
SELECT name, round(sum(kde_pdf('t.' || name, x) * step)::numeric, 2) AS all_of_it,
  kde_pdf('t.' || name, min(x) - 0.51 * max(step)) + kde_pdf('t.' || name, max(x) + 0.51 * max(step)) AS beyond
FROM steps GROUP BY name ORDER BY name COLLATE "C";
-- Decimals: a bound is its lattice point, whatever binary makes of it, as in SQL. Here of points from
-- 1.00 to 3.00, by the bounds of numrange and as a double; the whole adds up.
CREATE VIEW points AS SELECT k / 100.0 AS x FROM generate_series(100, 300) AS k;
SELECT c.name, count(*),
  bool_and(approx_count('t.' || name, x, x) > 0) AS seen,
  bool_and(approx_count('t.' || name, numrange(x, x + 0.01, '()')) = 0) AS nothing_between,
  bool_and(approx_count('t.' || name, numrange(x, x + 0.01, '[)')) = approx_count('t.' || name, x, x)) AS lower_inclusive,
  bool_and(approx_count('t.' || name, numrange(x - 0.01, x, '(]')) = approx_count('t.' || name, x, x)) AS upper_inclusive,
  bool_and(approx_count('t.' || name, x::float8, x::float8) = approx_count('t.' || name, x, x)) AS as_double,
  bool_and(abs(approx_count('t.' || name, 1, x) - approx_count('t.' || name, numrange(1, x, '[)'))
    - approx_count('t.' || name, x, x)) < 1e-6) AS adds_up,
  bool_and(approx_avg('t.' || name, x, x) = x::float8) AS mean_of_one,
  bool_and(approx_quantile('t.' || name, kde_cdf('t.' || name, x)) = x::float8) AS quantile
FROM unnest('{price,price8}'::name[]) AS c(name), points GROUP BY c.name ORDER BY c.name COLLATE "C";
SELECT abs(approx_count('t.price', numrange(1, 2, '[]')) - approx_count('t.price', numrange(1, 2, '()'))
    - approx_count('t.price', 1, 1) - approx_count('t.price', 2, 2)) < 1e-6 AS ends,
  approx_sum('t.price', numrange(1.99, 2, '()')) AS sum, approx_avg('t.price', numrange(1.99, 2.01, '()')) AS avg,
  approx_quantile_as('t.price', 0.5, NULL::numeric) = round(approx_quantile_as('t.price', 0.5, NULL::numeric), 2) AS cents;
-- Zeros are apart from the rest: their count is the sample's, and nothing is between them and it. Of
-- the 3,400 rows read 60 % are 0: five standard deviations are 4.2 % of all.
SELECT abs(approx_count('t.rain', 0, 0) / approx_count('t.rain') - 0.6) < 0.042 AS zeros,
  approx_count('t.rain', NULL, 0) = approx_count('t.rain', 0, 0) AS no_less,
  abs(approx_count('t.rain', numrange(0, NULL, '()')) + approx_count('t.rain', 0, 0) - approx_count('t.rain')) < 1e-6 AS the_rest;

-- ---------------------------------------------------------------------------------------------
-- Every row read: answers are the table's. At most 500 values are counted in full, other lattices in
-- units of 2^-32 of the rows, the rest to the error that is stored, at either end.
RESET kde_aqp.sample_blocks;
SELECT count((kde_fit('t', name, seed => 1)).rows) AS fitted FROM columns;
SELECT name, model, lattice_step FROM chosen ORDER BY name COLLATE "C";
CREATE FUNCTION exact(name, low numeric, high numeric) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  n bigint;
BEGIN
  EXECUTE format('SELECT count(*) FROM t WHERE %I BETWEEN %s AND %s', $1, low, high) INTO n;
  RETURN n;
END $$;
SELECT name, bool_and(abs(approx_count('t.' || name, low, low + 2.5) - exact(name, low, low + 2.5))
    <= 60000 * (2 * representation_error + 2 ^ -31)) AS exact
FROM chosen JOIN (SELECT column_names[1] AS name, representation_error FROM kde_densities_full WHERE relation = 't'::regclass) AS e USING (name),
  unnest('{0,0.01,0.29,1,1.13,2.5,4,7.77,100}'::numeric[]) AS low
GROUP BY name ORDER BY name COLLATE "C";

-- A method by name has nothing to choose.
SELECT model FROM kde_fit('t', 'heaped', method => 'plugin', seed => 1);
SELECT model FROM kde_densities_full WHERE relation = 't'::regclass AND column_names = '{heaped}';

SET client_min_messages = warning;
DROP SCHEMA model CASCADE;
