-- Measures beside the density of a column: what SUM, AVG, COUNT and variance of other columns over its ranges
-- are, beside SQL; how they are fitted, found, renamed, refreshed, read and refused.
\set ECHO none \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS measures CASCADE;
CREATE SCHEMA measures;
SET search_path = measures, public;
RESET client_min_messages;

-- Amounts of both signs in cents, prices of which some are NULL, dates of five years.
CREATE TABLE sales AS
SELECT '2020-01-01'::date + (i::bigint * 7919 % 1826)::integer AS sold_on,
  ((i::bigint * 104729 % 100003) / 100.0 - 200)::numeric(10, 2) AS amount,
  i % 97 AS quantity,
  CASE WHEN i % 7 > 0 THEN (i % 1009) / 8.0::double precision END AS price,
  make_interval(mins => i % 61) AS took
FROM generate_series(1, 60000) AS i;
CREATE VIEW last_fit AS SELECT * FROM kde_densities_full ORDER BY fitted_at DESC LIMIT 1;
\set ECHO queries
SELECT FROM kde_fit('sales', 'sold_on',
  measures => ARRAY['amount', 'price', 'price * quantity', 'took'], sample_rows => -1) \g /dev/null
SELECT measures, expected_error FROM last_fit;

-- Ranges of all shapes, and what SQL says of them.
CREATE TABLE ranges (lower date, upper date);
INSERT INTO ranges
SELECT '2019-12-25'::date + i * 37, '2019-12-25'::date + i * 37 + i * i % 701 FROM generate_series(1, 50) AS i;
INSERT INTO ranges VALUES (NULL, NULL), (NULL, '2021-05-05'), ('2022-02-02', NULL), ('2021-01-01', '2021-01-01'),
  ('2023-01-01', '2022-01-01'), ('2031-01-01', '2032-01-01');

-- Whether an answer is the exact one but for rounding; NULL where both are.
CREATE FUNCTION same(answer double precision, exact double precision) RETURNS boolean LANGUAGE sql AS
  $$ SELECT CASE WHEN answer IS NULL OR exact IS NULL THEN answer IS NULL AND exact IS NULL
                 ELSE abs(answer - exact) <= 1e-10 * (abs(exact) + 1) END $$;

SELECT measure, count(*) AS ranges, bool_and(same(a.count, e.count)) AS count, bool_and(same(a.sum, e.sum)) AS sum,
  bool_and(same(a.avg, e.avg)) AS avg,
  bool_and(e.variance BETWEEN a.low * (1 - 1e-9) AND a.high * (1 + 1e-9) OR e.variance IS NULL AND a.low IS NULL) AS variance
FROM ranges AS r
CROSS JOIN (VALUES ('amount'), ('price'), ('price * quantity')) AS m(measure)
CROSS JOIN LATERAL (SELECT
  approx_count('sales.sold_on', lower, upper, measure => measure) AS count,
  approx_sum('sales.sold_on', lower, upper, measure => measure) AS sum,
  approx_avg('sales.sold_on', lower, upper, measure => measure) AS avg, lower_bound AS low, upper_bound AS high
  FROM approx_variance_ci('sales.sold_on', lower, upper, measure => measure)) AS a
CROSS JOIN LATERAL (SELECT count(y), sum(y), avg(y), variance(y) FROM (
  SELECT CASE measure WHEN 'amount' THEN amount::double precision WHEN 'price' THEN price ELSE price * quantity END AS y
  FROM sales WHERE (sold_on >= r.lower OR r.lower IS NULL) AND (sold_on <= r.upper OR r.upper IS NULL)) AS s) AS e
GROUP BY measure ORDER BY measure;

-- The bounded column is still its own.
SELECT approx_count('sales.sold_on', '2021-01-01', '2021-12-31') = (SELECT count(*) FROM sales
  WHERE sold_on BETWEEN '2021-01-01' AND '2021-12-31') AS count,
  approx_count('sales.sold_on', measure => 'price') = (SELECT count(price) FROM sales) AS present;
SELECT approx_avg_as('sales.sold_on', NULL::interval, '2021-01-01', '2021-12-31', measure => 'took')
  = (SELECT avg(took) FROM sales WHERE sold_on BETWEEN '2021-01-01' AND '2021-12-31') AS interval;
SELECT * FROM approx_sum_ci('sales.sold_on', '2020-05-01', '2020-06-30', measure => 'amount', changed_rows => 10);

-- Dates are not added up, as in SQL; the error knows the measures. A measure that is not there is wanted beside them.
SELECT approx_sum('sales.sold_on', '2021-01-01', '2021-12-31');
SELECT * FROM approx_sum_ci('sales.sold_on');
SELECT approx_sum(kde_agg(sold_on)) FROM sales;
SELECT approx_sum(kde_agg(took)) = extract(epoch FROM sum(took)) AS intervals, approx_avg('sales.sold_on', '2021-01-01', '2021-01-01') AS avg FROM sales;
SELECT approx_sum('sales.sold_on', measure => 'quantity');
-- Answers take the measure first, a joint density where they must; kde_explain says which.
SELECT rows FROM kde_fit('sales', ARRAY['sold_on', 'amount', 'quantity'], seed => 1);
SELECT column_names, chosen, reason FROM kde_explain('sales.sold_on', '2021-01-01', '2021-02-01', measure => 'amount');
SELECT column_names, chosen, reason FROM kde_explain('sales.sold_on', '2021-01-01', '2021-02-01', measure => 'quantity');
SELECT approx_sum('sales.sold_on', '2021-01-01', '2021-02-01', measure => 'quantity') IS NOT NULL AS joint,
  approx_sum('sales(sold_on, amount)', ARRAY['2021-01-01', '0'], ARRAY['2021-02-01', '100'], measure => 'amount') IS NOT NULL AS bounded;
SELECT kde_drop('sales(sold_on, amount, quantity)');
SELECT approx_sum('sales.sold_on', '2021-01-01', '2021-02-01', measure => 'quantity');
SELECT approx_sum('sales.sold_on', '2021-01-01', '2021-02-01', measure => 'quantity', max_relative_error => 0, otherwise => 'exact');

-- A filter; a density of its own.
SELECT FROM kde_fit('sales', 'sold_on', measures => ARRAY['amount'], filter => 'quantity < 50', sample_rows => -1) \g /dev/null
SELECT measures FROM last_fit;
SELECT same(approx_sum('sales.sold_on', '2021-01-01', '2021-12-31', measure => 'amount', filter => 'quantity < 50'),
  (SELECT sum(amount) FROM sales WHERE sold_on BETWEEN '2021-01-01' AND '2021-12-31' AND quantity < 50)::double precision);

-- Values: their columns are told by numbers.
CREATE TABLE parts AS SELECT quantity % 5 AS part, kde_agg(sold_on, amount) AS d, kde_agg(sold_on) AS plain FROM sales GROUP BY 1;
SELECT bool_and(same(approx_sum(d, lower, upper, measure => '2'), e.sum)) AS sum, bool_and(same(approx_count(d, lower, upper), e.count)) AS count
FROM (SELECT rollup(d) AS d FROM parts) AS rolled CROSS JOIN ranges AS r
CROSS JOIN LATERAL (SELECT sum(amount)::double precision, count(*)
  FROM sales WHERE (sold_on >= r.lower OR r.lower IS NULL) AND (sold_on <= r.upper OR r.upper IS NULL)) AS e;
SELECT (kde_info(rollup(d, 4096))).bytes <= 4096 AS small, rollup(d)::text::kde = rollup(d) AS text FROM parts;
SELECT octet_length(kde_aqp.kde_send(d)) > 1000 AS sent FROM parts LIMIT 1;
COPY parts (d) TO '/dev/null' WITH (FORMAT binary);
SELECT same(approx_sum(kde_density('sales.sold_on'), '2021-01-01', '2021-12-31', measure => '2'),
  approx_sum('sales.sold_on', '2021-01-01', '2021-12-31', measure => 'amount'));
SELECT approx_sum(d, '2021-01-01', '2021-12-31') FROM parts;
SELECT approx_sum(d, '2021-01-01', '2021-12-31', measure => '3') FROM parts;
SELECT approx_avg(d, '2021-01-01', '2021-12-31', measure => '1') IS NOT NULL AS x FROM parts WHERE part = 0;
SELECT approx_quantile(d, 0.5) IS NOT NULL AS quantile FROM parts WHERE part = 0;
SELECT rollup(d) FROM (SELECT d FROM parts UNION ALL SELECT plain FROM parts) AS mixed;
SELECT rollup(d, 512) FROM parts;
SELECT kde_agg(sold_on, 'NaN'::double precision) FROM sales;
SELECT kde_agg(sold_on, NULL::double precision) IS NOT NULL AS nothing_known,
  approx_sum(kde_agg(sold_on, NULL::double precision), measure => '2') IS NULL AS no_sum,
  approx_count(kde_agg(sold_on, NULL::double precision), measure => '2') AS none FROM sales;
SELECT kde_conditional(d, ARRAY[1], measure => '2') FROM parts;

-- In parallel, over windows, and by sorting.
SELECT count(*) AS windows, bool_and(same(approx_sum(d, measure => '2'), s)) AS same FROM (
  SELECT kde_agg(quantity, amount) OVER w AS d, sum(amount) OVER w AS s
  FROM sales WHERE sold_on < '2020-01-05' WINDOW w AS (ORDER BY sold_on ROWS BETWEEN 20 PRECEDING AND CURRENT ROW)) AS x;

-- What cannot be a measure.
SELECT kde_fit('sales', 'sold_on', measures => ARRAY['sold_on']);
SELECT kde_fit('sales', 'sold_on', measures => ARRAY['amount', 'amount']);
SELECT kde_fit('sales', 'quantity', measures => ARRAY['sold_on']);
SELECT kde_fit('sales', 'quantity', measures => ARRAY['amount::text']);
SELECT kde_fit('sales', 'quantity', measures => ARRAY['amount * random()']);
SELECT kde_fit('sales', 'quantity', measures => ARRAY['sum(amount)']);
SELECT kde_fit('sales', 'quantity', measures => ARRAY['amount', NULL]);
SELECT kde_fit('sales', 'quantity', measures => ARRAY['nothing']);
SELECT kde_fit('sales', 'quantity', measures => ARRAY[['amount'], ['price']]);
SELECT kde_fit('sales', 'quantity', measures => ARRAY(SELECT 'amount + ' || i FROM generate_series(1, 9) AS i));
SELECT FROM kde_fit('sales', 'quantity', measures => '{}') \g /dev/null
SELECT measures IS NULL AS none FROM last_fit;
CREATE TABLE broken AS SELECT i AS x, CASE WHEN i = 3 THEN 'infinity' ELSE i::double precision END AS y FROM generate_series(1, 10) AS i;
SELECT kde_fit('broken', 'x', measures => ARRAY['y']);
SELECT FROM kde_fit('broken', 'x', measures => ARRAY['y'], filter => 'x > 3') \g /dev/null
SELECT measures FROM last_fit;

-- They follow renames, stay with refreshes, and go with a column that they use.
SELECT name, column_names, measures, filter FROM kde_densities_full WHERE relation = 'sales'::regclass ORDER BY name, filter;
ALTER TABLE sales RENAME COLUMN price TO "Unit price";
SELECT name, measures FROM kde_densities_full WHERE name = 'sales.sold_on' AND filter IS NULL;
SELECT action FROM kde_refresh('sales', force => true) WHERE column_names = '{sold_on}';
SELECT same(approx_sum('sales.sold_on', '2021-01-01', '2021-12-31', measure => '"Unit price" * quantity'),
  (SELECT sum("Unit price" * quantity) FROM sales WHERE sold_on BETWEEN '2021-01-01' AND '2021-12-31'));
SELECT FROM kde_fit('sales', 'sold_on', measures => ARRAY['amount']) \g /dev/null
SELECT measures FROM last_fit;
ALTER TABLE sales ALTER COLUMN amount TYPE text;
SELECT approx_sum('sales.sold_on', measure => 'amount');
ALTER TABLE sales DROP COLUMN amount;
SELECT name, measures, filter FROM kde_densities_full WHERE relation = 'sales'::regclass ORDER BY name;

-- Who may not read a measure is told so, and may ask about the rest.
CREATE TABLE secret AS SELECT i % 50 AS x, i AS y, i AS z FROM generate_series(1, 1000) AS i;
SELECT FROM kde_fit('secret', 'x', measures => ARRAY['y', 'z + 1']) \g /dev/null
SELECT measures FROM last_fit;
CREATE ROLE regress_measures;
GRANT USAGE ON SCHEMA measures TO regress_measures;
GRANT SELECT (x, y) ON secret TO regress_measures;
SET ROLE regress_measures;
SELECT approx_count('secret.x', 1, 9), approx_sum('secret.x', 1, 9, measure => 'y');
SELECT approx_sum('secret.x', 1, 9, measure => 'z + 1');
SELECT kde_density('secret.x');
SELECT kde_density('secret'::regclass, 'x');
SELECT count(*) FROM kde_densities_full WHERE name = 'secret.x';
RESET ROLE;
DROP OWNED BY regress_measures;
DROP ROLE regress_measures;

-- An expression has them too, with groups; several columns have none.
CREATE TABLE expressed AS SELECT i % 50 AS x, i AS y, ('{EU,US}'::text[])[1 + i % 2] AS g FROM generate_series(1, 1000) AS i;
SELECT FROM kde_fit('expressed', ARRAY['x * 2'], measures => ARRAY['y', 'y * 2'], group_by => 'g') \g /dev/null
SELECT column_names, measures, group_by FROM kde_densities_full WHERE relation = 'expressed'::regclass AND group_by IS NOT NULL;
SELECT approx_sum('expressed (x * 2)', 10, 40, measure => 'y * 2') AS sum, (SELECT sum(y * 2) FROM expressed WHERE x * 2 BETWEEN 10 AND 40) AS exact;
SELECT group_key, count, sum FROM approx_groups('expressed (x * 2) by g', 10, 40, measure => 'y') ORDER BY group_key;
SELECT g, count(*), sum(y) FROM expressed WHERE x * 2 BETWEEN 10 AND 40 GROUP BY g ORDER BY g;
SELECT action, count(*) FROM kde_refresh('expressed', force => true) GROUP BY action;
SELECT name, measures, group_by FROM kde_densities_full WHERE relation = 'expressed'::regclass ORDER BY name;
SELECT kde_fit('expressed', ARRAY['x', 'y'], measures => ARRAY['x + 1']);
SELECT kde_fit('expressed', ARRAY['x + y'], measures => ARRAY['x + y']);
SELECT kde_fit('expressed', ARRAY['x + y'], measures => ARRAY['g']);

-- Squares beyond double precision: of a column, an expression, by groups, in parts, of a sample, as an aggregate.
CREATE TABLE huge AS SELECT i::float8 AS v, i * 1e160::float8 AS m, i * 1e300::float8 AS far, 1e160 + i * 1e140::float8 AS near, i % 3 AS g
  FROM generate_series(1, 1000) AS i;
\set VERBOSITY verbose
\set SHOW_CONTEXT never
SELECT kde_fit('huge', 'v', measures => ARRAY['g', 'm']);
\set VERBOSITY default
SELECT kde_fit('huge', 'v', measures => ARRAY['far']);
SELECT kde_fit('huge', 'v', measures => ARRAY['near'], sample_rows => -1) IS NOT NULL AS fitted;
SELECT kde_fit('huge', 'v', measures => ARRAY['m * 2']);
SELECT kde_fit('huge', 'v', measures => ARRAY['m'], group_by => 'g');
SELECT kde_fit('huge', 'v', measures => ARRAY['m'], sample_rows => 100, seed => 1);
SELECT kde_agg(v, m) IS NULL FROM huge;
SELECT kde_fit('huge', 'g', measures => ARRAY['m']);
SELECT kde_fit('huge', 'v', measures => ARRAY['m / 1e200'], sample_rows => -1) IS NOT NULL AS fitted;
SELECT lower_bound <= 5.5e-39 AND upper_bound >= 5.5e-39 AS held FROM approx_sum_ci('huge.v', 1, 10, measure => 'm / 1e200');

DROP SCHEMA measures CASCADE;
