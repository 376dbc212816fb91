-- The kernel estimate at given points: against the closed form, what arrays it takes, and what it
-- does with extreme scales and bad input.
\set ECHO none \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS evaluate CASCADE;
CREATE SCHEMA evaluate;
SET search_path = evaluate, public;
RESET client_min_messages;

-- Every element within 1e-12 of what is expected.
CREATE FUNCTION close_to(f float8[], expected float8[], tolerance float8 DEFAULT 1e-12) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT array_dims(f) = array_dims(expected) AND bool_and(abs(a / b - 1) < tolerance)
  FROM unnest(f, expected) AS u(a, b) $$;
-- The formula as it is printed, in two columns.
CREATE FUNCTION formula(points float8[], at float8[], h float8[]) RETURNS float8[] LANGUAGE sql IMMUTABLE AS $$
  SELECT array_agg((SELECT avg(exp(-(h[2][2] * u * u - 2 * h[1][2] * u * v + h[1][1] * v * v) / (2 * det)))
                    FROM (SELECT at[k][1] - points[i][1] AS u, at[k][2] - points[i][2] AS v
                          FROM generate_subscripts(points, 1) AS i) AS difference)
                   / (2 * pi() * sqrt(det)) ORDER BY k)
  FROM generate_subscripts(at, 1) AS k, LATERAL (SELECT h[1][1] * h[2][2] - h[1][2] ^ 2 AS det) AS d $$;

\set ECHO queries
-- One point: the normal density.
SELECT close_to(kde_evaluate('{5}', '{5,7,1}', '{4}'), ARRAY[1 / p, exp(-0.5) / p, exp(-2) / p]) AS line,
  close_to(kde_evaluate('{5}', '{5,7,1}', '{{4}}'), ARRAY[1 / p, exp(-0.5) / p, exp(-2) / p]) AS squared,
  close_to(kde_evaluate('{{5}}', '{{5},{7},{1}}', '{{4}}'), ARRAY[1 / p, exp(-0.5) / p, exp(-2) / p]) AS columns
FROM (SELECT 2 * sqrt(2 * pi()) AS p) AS s;
SELECT close_to(kde_evaluate('{{0,0}}', '{{1,-1},{0,0}}', '{{4,2},{2,10}}'),
                ARRAY[exp(-0.25) / (12 * pi()), 1 / (12 * pi())]) AS plane,
  close_to(kde_evaluate('{{0,0}}', '{1,-1}', '{{4,2},{2,10}}'), ARRAY[exp(-0.25) / (12 * pi())]) AS one_query;

-- Some points, every engine.
CREATE TABLE sample AS
SELECT array_agg(ARRAY[ln(i) * 3 + sin(i), cos(i * 1.7) + sin(i) / 2] ORDER BY i) FILTER (WHERE i <= 150) AS p,
  array_agg(ARRAY[ln(i) * 3 + cos(i), sin(i * 2.3)] ORDER BY i) FILTER (WHERE i > 150) AS q
FROM generate_series(1, 200) AS i;
CREATE TABLE expected AS SELECT p, q, h, formula(p, q, h) AS f
FROM sample, LATERAL (SELECT kde_bandwidth_matrix(p, 'normal_reference') AS h) AS b;
SELECT close_to(kde_evaluate(p, q, h), f) AS given, close_to(kde_evaluate(p, q), f) AS normal_reference,
  close_to(kde_evaluate(at => q, points => p, bandwidth => NULL), f) AS by_name FROM expected;
SET kde_aqp.simd = 'reference';
SELECT close_to(kde_evaluate(p, q, h), f) AS reference FROM expected;
RESET kde_aqp.simd;
SET kde_aqp.precision = 'single';
SELECT close_to(kde_evaluate(p, q, h), f, 1e-5) AS single FROM expected;
RESET kde_aqp.precision;
-- As many as a device is asked for, where there is one.
CREATE TABLE many AS
SELECT array_agg(ARRAY[ln(i) * 3 + sin(i), cos(i * 1.7) + sin(i) / 2] ORDER BY i) AS p FROM generate_series(1, 700) AS i;
SET kde_aqp.simd = 'reference';
CREATE TABLE by_reference AS SELECT p, kde_evaluate(p, p) AS f FROM many;
RESET kde_aqp.simd;
SELECT close_to(kde_evaluate(p, p), f) AS many FROM by_reference;
SET client_min_messages = error;
SET kde_aqp.device = 'cuda';
SELECT close_to(kde_evaluate(p, p), f, 1e-9) AS device FROM by_reference;
RESET kde_aqp.device;
RESET client_min_messages;
-- One column of it, whose rule has its own bandwidth.
SELECT close_to(kde_evaluate(x, x), kde_evaluate(x, x, kde_bandwidth_matrix(x, 'normal_reference'))) AS line
FROM sample, LATERAL (SELECT array_agg(p[i][1] ORDER BY i) AS x FROM generate_subscripts(p, 1) AS i) AS c;
-- It integrates to one: steps of 0.1 are exact to rounding where h is 0.3.
SELECT abs(sum(f) * 0.1 - 1) < 1e-12 AS integral
FROM unnest(kde_evaluate('{1,2,2.5}', (SELECT array_agg(x / 10.0::float8) FROM generate_series(-100, 150) AS x), '{0.09}')) AS f;

-- Units of any magnitude; beyond double's range the density is infinite or 0.
SELECT close_to(kde_evaluate('{{1e140,0}}', '{{3e140,0}}', '{{4e280,0},{0,1e-280}}'), ARRAY[exp(-0.5) / (4 * pi())]) AS units,
  kde_evaluate('{1e300}', '{1e300,-1e300}', '{1e-300}') AS narrow,
  kde_evaluate('{{0,0}}', '{0,0}', '{{1e-320,0},{0,1e-320}}') AS high,
  kde_evaluate('{{0,0}}', '{0,0}', '{{1e300,0},{0,1e300}}') > '{0}' AS within,
  kde_evaluate('{{0,0,0}}', '{0,0,0}', '{{1e300,0,0},{0,1e300,0},{0,0,1e300}}') AS low;

-- Nothing asked, nothing answered; of nothing known, nothing is known.
SELECT kde_evaluate('{1,2}', '{}') AS none, kde_evaluate('{{1,2},{3,5},{2,2}}', '{}') AS none_of_two,
  kde_evaluate(NULL, '{1}') IS NULL AS points, kde_evaluate('{1,2}', NULL) IS NULL AS at;

-- What cannot be answered.
SELECT call, try('SELECT ' || call) FROM unnest(ARRAY[
  $$kde_evaluate('{}', '{1}', '{1}')$$, $$kde_evaluate('{}', '{1}')$$, $$kde_evaluate('{1}', '{1}')$$,
  $$kde_evaluate('{3,3}', '{1}')$$, $$kde_evaluate('{1,NULL}', '{1}', '{1}')$$, $$kde_evaluate('{1,2}', '{NULL}', '{1}')$$,
  $$kde_evaluate('{1,NaN}', '{1}', '{1}')$$, $$kde_evaluate('{1,2}', '{Infinity}', '{1}')$$,
  $$kde_evaluate('{{{1}}}', '{1}', '{1}')$$, $$kde_evaluate('{1}', '{{{1}}}', '{1}')$$,
  $$kde_evaluate('{{1,2}}', '{1,2,3}', '{{1,0},{0,1}}')$$, $$kde_evaluate('{{1,2}}', '{{1},{2}}', '{{1,0},{0,1}}')$$,
  $$kde_evaluate('{1,2}', '{{1,2}}', '{1}')$$,
  $$kde_evaluate('{1,2}', '{1}', '{}')$$, $$kde_evaluate('{1,2}', '{1}', '{NULL}')$$, $$kde_evaluate('{1,2}', '{1}', '{1,1}')$$,
  $$kde_evaluate('{{1,2}}', '{1,2}', '{1,1}')$$, $$kde_evaluate('{{1,2}}', '{1,2}', '{{1,0},{0,1},{0,0}}')$$,
  $$kde_evaluate('{1,2}', '{1}', '{0}')$$, $$kde_evaluate('{1,2}', '{1}', '{-1}')$$, $$kde_evaluate('{1,2}', '{1}', '{NaN}')$$,
  $$kde_evaluate('{{1,2}}', '{1,2}', '{{1,0.5},{0.4,1}}')$$, $$kde_evaluate('{{1,2}}', '{1,2}', '{{1,2},{2,1}}')$$,
  $$kde_evaluate('{{1,2}}', '{1,2}', '{{1,1},{1,1}}')$$,
  $$kde_evaluate(array_fill(1.0::float8, ARRAY[2, 17]), array_fill(1.0::float8, ARRAY[17]))$$,
  $$kde_evaluate(array_fill(1.0::float8, ARRAY[2, 17]), array_fill(1.0::float8, ARRAY[17]), array_fill(1.0::float8, ARRAY[17, 17]))$$]) AS call;
