-- Bandwidths of arrays: every method against reference values computed directly in double precision,
-- and what they do with ties, bounds, extreme scales and bad input.
\set ECHO none \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS bandwidth CASCADE;
CREATE SCHEMA bandwidth;
SET search_path = bandwidth, public;
RESET client_min_messages;

CREATE FUNCTION relative_error(a float8, b float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS
  'SELECT abs(a / b - 1)';

-- n points of a mixture of two normals in d dimensions: u() is s = 16807 s mod (2^31 - 1) from 42, a
-- normal z = sqrt(-2 ln u1) cos(2 pi u2). Per row: whether the first component; d values; then each
-- gets half of the one before it.
CREATE FUNCTION mix(n integer, d integer) RETURNS float8[] LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  m constant bigint := 2147483647;
  s bigint := 42;
  u1 float8;
  first boolean;
  row float8[];
  rows float8[] := '{}';
BEGIN
  FOR i IN 1 .. n LOOP
    s := 16807 * s % m;
    first := s::float8 / m < 0.6;
    row := '{}';
    FOR k IN 1 .. d LOOP
      s := 16807 * s % m;
      u1 := s::float8 / m;
      s := 16807 * s % m;
      row := row || sqrt(-2 * ln(u1)) * cos(2 * pi() * (s::float8 / m));
      IF NOT first THEN row[k] := CASE k WHEN 1 THEN 3 ELSE 0 END + row[k] / 2; END IF;
    END LOOP;
    FOR k IN 2 .. d LOOP row[k] := row[k] + row[k - 1] / 2; END LOOP;
    rows := rows || CASE d WHEN 1 THEN row ELSE ARRAY[row] END;
  END LOOP;
  RETURN rows;
END $$;
CREATE TABLE sample AS
SELECT mix(1024, 1) AS one, mix(512, 2) AS two, mix(256, 4) AS four;
\set ECHO queries
SELECT one[1]::numeric(10, 8), one[2]::numeric(10, 8), array_dims(two), array_dims(four) FROM sample;

-- One column. lscv's h is in units of the standard deviation.
SELECT relative_error(kde_bandwidth(one), 0.227060924815) < 1e-11 AS plugin,
  relative_error(kde_bandwidth(one, 'lscv'), 0.12832246903 * sd) < 1e-8 AS lscv,
  relative_error(kde_bandwidth(one, 'normal_reference'), 1.06 * spread * 1024 ^ -0.2) < 1e-9 AS normal_reference,
  relative_error(kde_bandwidth(one, 'silverman'), 0.9 * spread * 1024 ^ -0.2) < 1e-9 AS silverman,
  relative_error(kde_bandwidth(one, 'scott'), sd * 1024 ^ -0.2) < 1e-9 AS scott,
  kde_bandwidth(one, 'sheather_jones') BETWEEN 0.15 AND 0.25 AS sheather_jones,
  kde_bandwidth(one, 'smoothed_cv') BETWEEN 0.15 AND 0.25 AS smoothed_cv
FROM sample, LATERAL (
  SELECT stddev_samp(x) AS sd, least(stddev_samp(x), (percentile_cont(0.75) WITHIN GROUP (ORDER BY x)
    - percentile_cont(0.25) WITHIN GROUP (ORDER BY x)) / 1.34) AS spread
  FROM unnest(one) AS x) AS s;

-- Near-exact sums above a few thousand values, exact ones on request, in either precision.
CREATE TABLE many AS SELECT array_agg(ln(i) + i % 10) AS x FROM generate_series(1, 4200) AS i;
CREATE TABLE exact AS
SELECT method, kde_bandwidth(x, method, exact => true) AS double
FROM many, unnest(ARRAY['plugin', 'lscv', 'sheather_jones']) AS method;
SET kde_aqp.precision = 'single';
CREATE TABLE single AS SELECT method, kde_bandwidth(x, method, exact => true) AS single FROM many, exact;
RESET kde_aqp.precision;
SELECT method, relative_error(kde_bandwidth(x, method), double) < 1e-8 AS near,
  single <> double AS in_single, relative_error(single, double) < 1e-5 AS close
FROM many, exact JOIN single USING (method);

-- The bandwidth moves with the unit of x and not with its origin.
SELECT method, unit, relative_error(kde_bandwidth(scaled, method), unit * kde_bandwidth(few, method)) < 1e-7 AS equivariant
FROM sample, unnest(ARRAY['plugin', 'lscv', 'sheather_jones', 'smoothed_cv', 'silverman', 'scott']) AS method,
  unnest('{1e-300,1e-9,1e6,1e300}'::float8[]) AS unit,
  LATERAL (SELECT one[1:200] AS few OFFSET 0) AS f,
  LATERAL (SELECT array_agg(x * unit) AS scaled FROM unnest(few) AS x) AS s;
SELECT relative_error(kde_bandwidth(shifted), kde_bandwidth(one)) < 1e-5 AS shifted,
  kde_bandwidth(reversed) = kde_bandwidth(one) AS reversed
FROM sample, LATERAL (SELECT array_agg(x + 1e9) AS shifted, array_agg(x ORDER BY i DESC) AS reversed
                      FROM unnest(one) WITH ORDINALITY AS u(x, i)) AS s;

-- Several columns. H as the lower triangle, by column; 1e-6 is the search's tolerance.
CREATE FUNCTION close_to(h float8[], expected float8[]) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT abs(h[1][1] / expected[1] - 1) < 1e-6 AND abs(h[2][1] / expected[2] - 1) < 1e-6
    AND abs(h[2][2] / expected[3] - 1) < 1e-6 AND h[1][2] = h[2][1] $$;
SELECT close_to(kde_bandwidth_matrix(two), ARRAY[0.0751858771, 0.0132967458, 0.0541440593]) AS quasi_newton,
  close_to(kde_bandwidth_matrix(two, 'lscv_matrix_simplex'), ARRAY[0.0751858771, 0.0132967458, 0.0541440593]) AS simplex
FROM sample;
SET kde_aqp.precision = 'single';
SELECT close_to(kde_bandwidth_matrix(two), ARRAY[0.0751858771, 0.0132967458, 0.0541440593]) AS single FROM sample;
RESET kde_aqp.precision;
SET kde_aqp.simd = 'reference';
SELECT close_to(kde_bandwidth_matrix(two), ARRAY[0.0751858771, 0.0132967458, 0.0541440593]) AS reference FROM sample;
RESET kde_aqp.simd;

-- The scalar form is h^2 times the covariance; these 512 points have two minima, of which
-- h = 0.0972790771 is the lower.
CREATE FUNCTION is_multiple(h float8[], points float8[], square float8) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT abs(h[1][1] / (square * var_samp(x)) - 1) < 1e-6 AND abs(h[2][2] / (square * var_samp(y)) - 1) < 1e-6
    AND abs(h[1][2] / (square * (regr_sxy(x, y) / (count(*) - 1))) - 1) < 1e-6
  FROM (SELECT points[i][1] AS x, points[i][2] AS y FROM generate_subscripts(points, 1) AS i) AS p $$;
CREATE TABLE two_minima AS
SELECT array_agg(ARRAY[x, y + x / 2] ORDER BY i) AS p
FROM (SELECT i, ln(u / (1 - u)) AS x, ln(v / (1 - v)) AS y
      FROM (SELECT i, i * sqrt(2::float8) - floor(i * sqrt(2::float8)) AS u,
                   i * sqrt(3::float8) - floor(i * sqrt(3::float8)) AS v
            FROM generate_series(1, 512) AS i) AS fractions) AS logistic;
SELECT is_multiple(kde_bandwidth_matrix(p, 'lscv'), p, 0.0972790771 ^ 2) AS lscv,
  is_multiple(kde_bandwidth_matrix(p, 'normal_reference'), p, (4 / (4 * 512.0)) ^ (2 / 6.0)) AS normal_reference,
  is_multiple(kde_bandwidth_matrix(p, 'scott'), p, 512 ^ (-2 / 6.0)) AS scott
FROM two_minima;
-- The papers' grid: the closest of 150 equidistant h from a quarter to four times the normal one.
SELECT is_multiple(kde_bandwidth_matrix(two, 'lscv_grid'), two, (h0 / 4 + i * (4 - 0.25) * h0 / 149) ^ 2) AS grid, i
FROM sample, LATERAL (SELECT (4 / (4 * 512.0)) ^ (1 / 6.0) AS h0) AS n,
  LATERAL (SELECT round((sqrt((kde_bandwidth_matrix(two, 'lscv_grid'))[1][1] / var_samp(x)) - h0 / 4) / (3.75 * h0 / 149)) AS i
           FROM (SELECT two[i][1] AS x FROM generate_subscripts(two, 1) AS i) AS p) AS step;
SELECT h[1][2] = 0 AND h[2][1] = 0 AND relative_error(h[1][1], kde_bandwidth(x) ^ 2) < 1e-9
  AND relative_error(h[2][2], kde_bandwidth(y) ^ 2) < 1e-9 AS product, d[1][2] = 0 AND d[1][1] > 0 AS diagonal
FROM sample, LATERAL (SELECT kde_bandwidth_matrix(two, 'plugin_product') AS h, kde_bandwidth_matrix(two, 'lscv_diagonal') AS d) AS k,
  LATERAL (SELECT array_agg(two[i][1] ORDER BY i) AS x, array_agg(two[i][2] ORDER BY i) AS y
           FROM generate_subscripts(two, 1) AS i) AS c;
-- One column in this form is h^2; an array of one dimension is one column.
SELECT relative_error(h[1][1], kde_bandwidth(one, 'lscv') ^ 2) < 1e-5 AS squared, array_dims(h) FROM sample,
  LATERAL (SELECT kde_bandwidth_matrix(one) AS h) AS k;

-- The Cholesky factor, where H itself would not fit: H = L L'.
SELECT relative_error(l[1][1] ^ 2, h[1][1]) < 1e-12 AND relative_error(l[1][1] * l[2][1], h[2][1]) < 1e-12
  AND relative_error(l[2][1] ^ 2 + l[2][2] ^ 2, h[2][2]) < 1e-12 AND l[1][2] = 0 AS factor
FROM sample, LATERAL (SELECT kde_bandwidth_matrix(two) AS h, kde_bandwidth_matrix(two, cholesky => true) AS l) AS k;
CREATE TABLE extreme AS
SELECT array_agg(ARRAY[two[i][1] * 1e300, two[i][2] * 1e-300] ORDER BY i) AS p FROM sample, generate_subscripts(two, 1) AS i;
SELECT relative_error(e[1][1], l[1][1] * 1e300) < 1e-6 AND relative_error(e[2][1], l[2][1] * 1e-300) < 1e-6
  AND relative_error(e[2][2], l[2][2] * 1e-300) < 1e-6 AS equivariant
FROM sample, extreme, LATERAL (SELECT kde_bandwidth_matrix(two, cholesky => true) AS l, kde_bandwidth_matrix(p, cholesky => true) AS e) AS k;

-- Leaving one out.
SELECT kde_bandwidth(one, 'lscv', leave_one_out => true) < kde_bandwidth(one, 'lscv') AS smaller FROM sample;

-- By name; all arguments but the first have defaults.
SELECT kde_bandwidth(sample => one, method => 'scott') = kde_bandwidth(one, 'scott') AS one,
  kde_bandwidth_matrix(points => two, method => 'scott') = kde_bandwidth_matrix(two, 'scott') AS two FROM sample;

-- Of nothing known, nothing is known.
SELECT kde_bandwidth(NULL) IS NULL AS one, kde_bandwidth_matrix(NULL) IS NULL AS several;
-- Two values are enough; the fewest points that vary in two columns are three.
SELECT kde_bandwidth('{1,2}') > 0 AS plugin, kde_bandwidth('{1,2}', 'silverman') > 0 AS silverman;

-- What cannot be answered.
SELECT call, try('SELECT ' || call) FROM unnest(ARRAY[
  $$kde_bandwidth('{}')$$, $$kde_bandwidth('{1}')$$, $$kde_bandwidth('{1,NULL,2}')$$,
  $$kde_bandwidth('{1,NaN,2}')$$, $$kde_bandwidth('{1,-Infinity,2}')$$, $$kde_bandwidth('{3,3,3}')$$,
  $$kde_bandwidth('{{1,2},{3,4}}')$$, $$kde_bandwidth('{1,2}', 'auto')$$, $$kde_bandwidth('{1,2}', 'Plugin')$$,
  $$kde_bandwidth('{1,2}', 'lscv_matrix')$$, $$kde_bandwidth('{1,2}', NULL)$$, $$kde_bandwidth('{1,2}', exact => NULL)$$,
  $$kde_bandwidth('{1,2}', leave_one_out => NULL)$$,
  $$kde_bandwidth(array_agg((i % 9)::float8), 'lscv') FROM generate_series(1, 900) AS i$$,
  $$kde_bandwidth_matrix('{}')$$, $$kde_bandwidth_matrix('{{1,2}}')$$, $$kde_bandwidth_matrix('{{1,2},{2,3}}')$$,
  $$kde_bandwidth_matrix('{{{1}}}')$$, $$kde_bandwidth_matrix('{{1,NULL},{2,3}}')$$,
  $$kde_bandwidth_matrix('{{1,NaN},{2,3},{4,9}}')$$, $$kde_bandwidth_matrix('{{1,5},{2,5},{4,5}}')$$,
  $$kde_bandwidth_matrix('{{1,2},{2,4},{4,8},{5,10}}')$$, $$kde_bandwidth_matrix('{{1,2},{2,3},{4,9}}', 'plugin')$$,
  $$kde_bandwidth_matrix('{{1,2},{2,3},{4,9}}', NULL)$$, $$kde_bandwidth_matrix('{{1,2},{2,3},{4,9}}', cholesky => NULL)$$,
  $$kde_bandwidth_matrix(array_fill(1.0::float8, ARRAY[40, 17]))$$,
  $$kde_bandwidth_matrix(p) FROM extreme$$]) AS call;
