-- Questions about several columns: boxes, a column under bounds on others, which density answers, a
-- conditional mean; the type's forms of a density of several columns.
--
-- All rows of the tables are in the samples: every row then stands for itself, and answers are exact.
\set ECHO queries \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS joint CASCADE;
CREATE SCHEMA joint;
SET search_path = joint, public;
RESET client_min_messages;
SET datestyle = 'ISO, YMD';
SET timezone = 'UTC';

CREATE TABLE sales AS
SELECT i AS id, (i * 2654435769 % 4294967296)::numeric % 10000 / 100 AS amount, (i % 10 + 1)::integer AS quantity,
  date '2026-01-01' + (i % 90)::integer AS day, timestamp '2026-01-01' + i * interval '1 hour' AS at,
  CASE i % 3 WHEN 0 THEN 'EU' WHEN 1 THEN 'US' ELSE 'ASIA' END AS region,
  CASE WHEN i % 50 <> 0 THEN (3 * (i % 10 + 1) + i % 7)::numeric(8, 2) END AS price
FROM generate_series(1::bigint, 1200) AS i;
CREATE VIEW last_fit AS SELECT * FROM kde_densities_full ORDER BY fitted_at DESC LIMIT 1;
SELECT FROM kde_fit('sales', ARRAY['amount', 'quantity', 'price'], seed => 1) \g /dev/null
SELECT relation, column_names, filter, method, rows, sample_rows, stored_rows FROM last_fit;
SELECT name, rows FROM kde_fit('sales', ARRAY['day', 'price'], seed => 1);
SELECT name, rows FROM kde_fit('sales', ARRAY['at', 'day', 'quantity'], seed => 1);
SELECT FROM kde_fit('sales', ARRAY['amount', 'price'], filter => 'region = ''EU''', seed => 1) \g /dev/null
SELECT column_names, filter, rows FROM last_fit;
SELECT name, rows FROM kde_fit('sales', ARRAY['amount * quantity', 'price'], seed => 1);

-- ---------------------------------------------------------------------------------------- boxes
CREATE FUNCTION same(approximate float8, exact numeric) RETURNS boolean LANGUAGE sql IMMUTABLE AS
  'SELECT CASE WHEN exact IS NULL OR approximate IS NULL THEN exact IS NULL AND approximate IS NULL
     ELSE abs(approximate - exact) <= 1e-6 * greatest(1, abs(exact)) END';
-- Of two and three columns, half open, with the target among them, a point, empty, beyond the data, crossed.
CREATE TABLE boxes (n integer, a0 numeric, a1 numeric, q0 integer, q1 integer, p0 numeric, p1 numeric);
INSERT INTO boxes VALUES
  (1, 10, 20, 1, 5, NULL, NULL), (2, 10, NULL, NULL, 5, NULL, NULL), (3, NULL, 50.5, 3, 3, NULL, NULL), (4, 20, 80, 2, 9, 10, 25),
  (5, NULL, NULL, NULL, NULL, 12, NULL), (6, 200, 300, NULL, NULL, NULL, NULL), (7, 60, 40, 1, 10, NULL, NULL),
  (8, 0, 100, 4, 4, 15, 15), (9, -1e300, 1e300, -5, 500, NULL, NULL);
SELECT n, same(approx_count('sales (' || array_to_string(c, ', ') || ')', low, high), count) AS count, same(approx_sum('sales (' || array_to_string(c, ', ') || ')', low, high, measure => 'price'), sum) AS sum,
  same(approx_avg('sales (' || array_to_string(c, ', ') || ')', low, high, measure => 'price'), avg) AS avg, same(approx_variance('sales (' || array_to_string(c, ', ') || ')', low, high, measure => 'price'), variance) AS variance,
  same(approx_stddev('sales (' || array_to_string(c, ', ') || ')', low, high, measure => 'price'), stddev) AS stddev, count AS rows
FROM boxes CROSS JOIN LATERAL (
  SELECT count(*), sum(price), avg(price), variance(price), stddev(price) FROM sales
  WHERE (a0 IS NULL OR amount >= a0) AND (a1 IS NULL OR amount <= a1) AND (q0 IS NULL OR quantity >= q0) AND (q1 IS NULL OR quantity <= q1)
    AND (p0 IS NULL OR price >= p0) AND (p1 IS NULL OR price <= p1)
  ) AS exact,
  LATERAL (SELECT CASE WHEN p0 IS NULL AND p1 IS NULL THEN ARRAY['amount', 'quantity'] ELSE ARRAY['amount', 'quantity', 'price'] END AS c,
    CASE WHEN p0 IS NULL AND p1 IS NULL THEN ARRAY[a0, q0] ELSE ARRAY[a0, q0, p0] END AS low,
    CASE WHEN p0 IS NULL AND p1 IS NULL THEN ARRAY[a1, q1] ELSE ARRAY[a1, q1, p1] END AS high) AS v
ORDER BY n;
-- A column without bounds asks for a value alone.
SELECT approx_count('sales (amount, price)') AS not_null, approx_count('sales (price)', '-infinity') AS prices,
  same(approx_sum('sales.price'), (SELECT sum(price) FROM sales)) AS whole,
  same(approx_sum('sales (price)', 10, measure => 'price'), (SELECT sum(price) FROM sales WHERE price >= 10)) AS itself;
-- Bounds of any type; mixed types as text; dates and times as seconds since 1970.
SELECT same(approx_count('sales (day, price)', ARRAY['2026-02-01', '10'], ARRAY['2026-02-28', NULL]),
    (SELECT count(*) FROM sales WHERE day BETWEEN '2026-02-01' AND '2026-02-28' AND price >= 10)) AS mixed,
  same(approx_avg('sales (day)', date '2026-02-01', measure => 'price'), (SELECT avg(price) FROM sales WHERE day >= '2026-02-01')) AS dates,
  same(approx_count('sales (at, day)', ARRAY[timestamp '2026-01-03 12:00', '2026-01-10'], ARRAY[NULL::timestamp, '2026-01-20']),
    (SELECT count(*) FROM sales WHERE at >= '2026-01-03 12:00' AND day BETWEEN '2026-01-10' AND '2026-01-20')) AS times,
  to_timestamp(approx_avg('sales (quantity)', 3, 3, measure => 'day')) = (SELECT to_timestamp(avg(extract(epoch FROM day))) FROM sales WHERE quantity = 3) AS mean_day;
-- Filters and expressions, however they are written.
SELECT same(approx_avg('sales (amount)', 20, 60, measure => 'price', filter => 'region = ''EU'''), exact) AS filter,
  same(approx_avg('sales (amount)', 20, 60, measure => 'price', filter => '(region) =  ''EU''::text'), exact) AS written_otherwise
FROM (SELECT avg(price) AS exact FROM sales WHERE amount BETWEEN 20 AND 60 AND region = 'EU') AS s;
SELECT same(approx_count('sales (amount*quantity)', 100, 200), count) AS expression,
  same(approx_sum('sales ((amount  * QUANTITY))', 100, 200, measure => 'price'), sum) AS written_otherwise,
  same(approx_avg('sales (price)', 20, measure => '(amount * quantity)'), (SELECT avg(amount * quantity) FROM sales WHERE price >= 20)) AS target
FROM (SELECT count(*), sum(price) FROM sales WHERE amount * quantity BETWEEN 100 AND 200) AS s;

-- Where every row is in the sample there is nothing to be uncertain of, but for changes since.
SELECT estimate = lower_bound AND estimate = upper_bound AS certain FROM approx_count_ci('sales (amount, quantity)', ARRAY[10, 1], ARRAY[20, 5]);
SELECT round(estimate - lower_bound) AS fewer, round(upper_bound - estimate) AS more
FROM approx_count_ci('sales (amount, quantity)', ARRAY[10, 1], ARRAY[20, 5], changed_rows => 7);
SELECT round((estimate - lower_bound)::numeric, 4) AS less, round((upper_bound - estimate)::numeric, 4) AS more
FROM approx_variance_ci('sales (quantity)', 1, 5, measure => 'amount', changed_rows => 7);
-- A tenth of the table's rows: intervals hold the exact answers, here as 95 times in 100, and are narrower for less confidence.
SELECT FROM kde_fit('sales', ARRAY['quantity', 'amount'], sample_rows => 400, seed => 3) \g /dev/null
SELECT rows, sample_rows FROM last_fit;
SELECT count(*) AS intervals, count(*) FILTER (WHERE (ci).lower_bound <= exact AND exact <= (ci).upper_bound) >= 11 AS hold,
  bool_and((ci).lower_bound < (ci).estimate AND (ci).estimate < (ci).upper_bound) AS have_width,
  bool_and((narrow).upper_bound - (narrow).lower_bound < (ci).upper_bound - (ci).lower_bound) AS narrower
FROM generate_series(0, 80, 20) AS a CROSS JOIN LATERAL (
  SELECT approx_count_ci('sales (' || array_to_string(c, ', ') || ')', low, high) AS ci, approx_count_ci('sales (' || array_to_string(c, ', ') || ')', low, high, confidence => 0.5) AS narrow,
    (SELECT count(*) FROM sales WHERE amount BETWEEN a AND a + 20 AND quantity <= 5)
  FROM (SELECT ARRAY['amount', 'quantity'] AS c, ARRAY[a, NULL] AS low, ARRAY[a + 20, 5] AS high) AS v
  UNION ALL SELECT approx_sum_ci('sales (' || array_to_string(c, ', ') || ')', low, high, measure => 'amount'), approx_sum_ci('sales (' || array_to_string(c, ', ') || ')', low, high, measure => 'amount', confidence => 0.5),
    (SELECT sum(amount) FROM sales WHERE amount BETWEEN a AND a + 20 AND quantity <= 5)
  FROM (SELECT ARRAY['amount', 'quantity'] AS c, ARRAY[a, NULL] AS low, ARRAY[a + 20, 5] AS high) AS v
  UNION ALL SELECT approx_avg_ci('sales (' || array_to_string(c, ', ') || ')', low, high, measure => 'quantity'), approx_avg_ci('sales (' || array_to_string(c, ', ') || ')', low, high, measure => 'quantity', confidence => 0.5),
    (SELECT avg(quantity) FROM sales WHERE amount BETWEEN a AND a + 20)
  FROM (SELECT ARRAY['amount'] AS c, ARRAY[a] AS low, ARRAY[a + 20] AS high) AS v) AS i(ci, narrow, exact);
SELECT lower_bound < estimate AND estimate < upper_bound AS variance
FROM approx_variance_ci('sales (amount)', 20, 60, measure => 'quantity');
SELECT approx_sum_ci('sales (amount)', 200, measure => 'price') IS NULL AS no_rows,
  approx_avg_ci('sales (amount)', 200, measure => 'price') IS NULL AS no_mean;

-- ------------------------------------------------------------------------------- which density
-- The fewest columns beyond those asked about: of one column by itself if there is only one.
SELECT rank, column_names, filter, method, points, chosen, reason, estimate IS NOT NULL AS answers
FROM kde_explain('sales (quantity)', 3, 5);
SELECT rows FROM kde_fit('sales', 'quantity', seed => 1) UNION ALL SELECT rows FROM kde_fit('sales', 'price', seed => 1);
SELECT approx_count('sales (price)') AS not_null, approx_count('sales (price)', 0) AS prices,
  (approx_count_ci('sales (price)')).* AS not_null_ci, approx_count('sales.price') AS text_form;
SELECT rank, column_names, chosen, reason, round(estimate) AS count FROM kde_explain('sales (quantity)', 3, 5) WHERE points IS NOT NULL;
SELECT rank, column_names, filter, chosen, reason, round(estimate::numeric, 2) AS mean, round(lower_bound::numeric, 2) AS lower, round(upper_bound::numeric, 2) AS upper
FROM kde_explain('sales (amount)', 20, 60, measure => 'price');
SELECT rank, column_names, filter, chosen, reason FROM kde_explain('sales (amount)', 20, 60, measure => 'price', filter => 'region = ''EU''');
-- As many columns: auto before the methods by name, then points, then age.
CREATE TABLE four AS SELECT i % 11 AS a, i % 13 AS b, i % 17 AS c, i % 19 AS d FROM generate_series(1, 900) AS i;
SELECT name, model FROM kde_fit('four', ARRAY['a', 'b', 'c'], method => 'plugin_product', seed => 1)
UNION ALL SELECT name, model FROM kde_fit('four', ARRAY['b', 'a', 'd'], sample_rows => 300, seed => 1);
SELECT column_names, method, points, chosen, reason FROM kde_explain('four (a, b)', ARRAY[1, 1], ARRAY[5, 5]);
SELECT name FROM kde_fit('four', ARRAY['c', 'd', 'a', 'b'], sample_rows => 600, seed => 1);
SELECT name FROM kde_fit('four', ARRAY['c', 'b', 'a'], sample_rows => 600, seed => 1);
SELECT column_names, method, points, chosen, reason FROM kde_explain('four (a, b)', ARRAY[1, 1], ARRAY[5, 5]);
SELECT count(*) AS densities FROM kde_densities_full WHERE relation = 'four'::regclass;
-- The order of columns is nobody's business.
SELECT approx_count('four (a, b)', ARRAY[1, 2], ARRAY[5, 9]) = approx_count('four (b, a)', ARRAY[2, 1], ARRAY[9, 5]) AS same;

-- ---------------------------------------------------------------------------- conditional mean
-- A line, and one in a hundred off it: the same up to its ends. Beyond the kernel's reach of any row nothing is known.
CREATE TABLE line AS SELECT i / 20.0 AS x, 5 - 2.5 * i / 20.0 + CASE i % 100 WHEN 50 THEN 3 WHEN 51 THEN -3 ELSE 0 END AS y FROM generate_series(0, 400) AS i;
SELECT rows FROM kde_fit('line', ARRAY['x', 'y'], method => 'plugin_product', seed => 1);
SELECT at, at_text, round(estimate::numeric) AS estimate, lower_bound <= estimate AND estimate <= upper_bound AS inside
FROM kde_conditional('line.x', ARRAY[0, 4, 10, 20, 100, NULL], measure => 'y');
SELECT at, at_text, round(estimate::numeric, 1) AS price FROM kde_conditional('sales.quantity', '{2,5}', measure => 'price');
SELECT at_text, estimate BETWEEN lower_bound AND upper_bound AS inside FROM kde_conditional('sales.day', ARRAY['2026-01-15', '2026-02-15'], measure => 'price', confidence => 0.9);
SELECT count(*) AS filtered FROM kde_conditional('sales.amount', ARRAY[20, 40], measure => 'price', filter => 'region = ''EU''');
SELECT count(*) AS none FROM kde_conditional('sales.amount', NULL::integer[], measure => 'price');
-- Changed rows widen it: by what the call says, or the server counts.
SELECT at, bool_and(more.lower_bound <= few.lower_bound AND few.lower_bound < own.lower_bound
  AND own.upper_bound < few.upper_bound AND few.upper_bound <= more.upper_bound) AS wider
FROM kde_conditional('line.x', ARRAY[4, 10], measure => 'y') AS own
JOIN kde_conditional('line.x', ARRAY[4, 10], measure => 'y', changed_rows => 5) AS few USING (at)
JOIN kde_conditional('line.x', ARRAY[4, 10], measure => 'y', changed_rows => 50) AS more USING (at) GROUP BY at;
CREATE TABLE steep AS SELECT i % 100 AS x, 3 * (i % 100) AS y FROM generate_series(1, 3000) AS i;
SELECT rows FROM kde_fit('steep', ARRAY['x', 'y'], seed => 1);
BEGIN;
INSERT INTO steep SELECT 50, 0 FROM generate_series(1, 40);
SELECT estimate BETWEEN 149 AND 151 AS as_fitted, lower_bound < 120 AND upper_bound > 180 AS wide
FROM kde_conditional('steep.x', ARRAY[50], measure => 'y');
COMMIT;
SELECT upper_bound - lower_bound < 5 AS as_narrow FROM kde_conditional(kde_density('steep (x, y)'), ARRAY[50], measure => '2');
SELECT * FROM kde_conditional('steep.x', ARRAY[50], measure => 'y', changed_rows => -1);
DROP TABLE steep;

-- ------------------------------------------------------------------------- as values of type kde
CREATE TABLE small AS SELECT i AS a, CASE WHEN i % 9 > 0 THEN (i * 37 % 50)::numeric / 4 END AS b FROM generate_series(1, 70) AS i;
SELECT rows FROM kde_fit('small', ARRAY['a', 'b'], seed => 1)
UNION ALL SELECT rows FROM kde_fit('small', ARRAY['b', 'a'], filter => 'a > 3', method => 'plugin_product', seed => 1);
CREATE TABLE held AS SELECT kde_density('small', ARRAY['a', 'b']) AS d UNION ALL SELECT kde_density('small', ARRAY['a', 'b'], 'a > 3');
SELECT value_type, kind, method, bandwidth, rows, nulls, sample_rows, lower, mean, cells, bytes > 0 AS some_bytes
FROM held, kde_info(d) ORDER BY rows;
SELECT d::text::kde::text = d::text AS text, kde_aqp.kde_send(d::text::kde) = kde_aqp.kde_send(d) AS bytes_of_text FROM held;
SELECT left(d::text, 43) AS begins FROM held ORDER BY 1;
-- Through the type's binary input.
CREATE TABLE received (d kde);
SELECT receive(kde_aqp.kde_send(d)) AS binary FROM held;
SELECT count(*) AS same FROM received AS r, held WHERE kde_aqp.kde_send(r.d) = kde_aqp.kde_send(held.d);
-- One field replaced at a time: byte offset and new bytes. And cut short, or longer.
CREATE TABLE wire AS SELECT kde_aqp.kde_send(kde_density('small', ARRAY['b', 'a'])) AS b;
SELECT at, bytes, receive(overlay(b PLACING bytes::bytea FROM at + 1)) FROM wire, (VALUES
  (4, '\x03'), (5, '\x04'), (6, '\x01'), (6, '\x11'), (6, '\x03'), (7, '\xff'), (8, '\x07'), (9, '\x01'), (12, '\x00000001'), (12, '\x000000ff'), (12, '\xffffffff'),
  (16, '\x7ff8000000000000'), (32, '\xbff0000000000000'), (64, '\xbf800000'), (128, '\xff'), (129, '\xff'), (132, '\x00ffffff'), (136, '\x00000008'),
  (136, '\xfffffff0'), (140, '\x00000001'), (152, '\x7ff8000000000000'), (144, '\x3ff0000000000000'), (160, '\x7ff0000000000000'), (168, '\xbff0000000000000')) AS v(at, bytes) ORDER BY at, bytes COLLATE "C";
SELECT count(*) > 50 AS many, bool_and(receive(substr(b, 1, n)) LIKE '22P03 %') AS all_refused FROM wire, generate_series(0, length(b) - 1, 31) AS n;
SELECT receive(b || '\x00000000') FROM wire;
-- What has one column's answers says so.
\set VERBOSITY terse
SELECT approx_count(d, 1, 2) FROM held;
SELECT kde_pdf(d, 1) FROM held;
SELECT * FROM held, kde_points(d);
SELECT d::json FROM held;
SELECT rollup(d) FROM held;
\set VERBOSITY default
SELECT approx_quantile(d, 0.5) FROM held;

SET client_min_messages = warning;
DROP SCHEMA joint CASCADE;
