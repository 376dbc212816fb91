-- What other systems have published, and what measures and densities of this one do on the same data, or on data
-- of the same shape, beside a raw sample of the rows. run.sh loads pm25 and ccpp. Nothing here is a test.
--
-- Ranges are drawn with a fixed seed, ends uniform over [min, max] of x; those that hold no row are left out.
-- Errors are means over ranges: absolute, and relative in percent.
\set ON_ERROR_STOP on
\set QUIET on
\pset footer off
SET client_min_messages = warning;
SET jit = off;
SET max_parallel_workers_per_gather = 0;
CREATE EXTENSION IF NOT EXISTS kde_aqp;

DELETE FROM pm25 WHERE "pm2.5" IS NULL;
ANALYZE;

-- Sums below every value of x, for exact answers by two look-ups.
CREATE FUNCTION cumulate(source text, x text, y text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DROP TABLE IF EXISTS cumulated;
  EXECUTE format('CREATE TABLE cumulated AS SELECT x, sum(n) OVER w AS n, sum(s) OVER w AS s FROM
    (SELECT %1$I::float8 AS x, count(%2$I) AS n, coalesce(sum(%2$I), 0)::float8 AS s FROM %3$s GROUP BY 1) AS t WINDOW w AS (ORDER BY x)',
    x, y, source);
  CREATE INDEX ON cumulated (x);
END $$;
CREATE TABLE questions (a float8, b float8, n float8, s float8);
CREATE FUNCTION draw_questions(wanted int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  TRUNCATE questions;
  PERFORM setseed(0.5);
  INSERT INTO questions
  SELECT least(u, v), greatest(u, v) FROM (SELECT lo + random() * (hi - lo) AS u, lo + random() * (hi - lo) AS v
    FROM (SELECT min(x) AS lo, max(x) AS hi FROM cumulated) AS e, generate_series(1, wanted)) AS r;
  UPDATE questions SET n = upper.n - coalesce(lower.n, 0), s = upper.s - coalesce(lower.s, 0)
  FROM questions AS q
  CROSS JOIN LATERAL (SELECT n, s FROM cumulated WHERE x <= q.b ORDER BY x DESC LIMIT 1) AS upper
  LEFT JOIN LATERAL (SELECT n, s FROM cumulated WHERE x < q.a ORDER BY x DESC LIMIT 1) AS lower ON true
  WHERE questions.a = q.a AND questions.b = q.b;
  DELETE FROM questions WHERE n IS NULL OR n = 0;
  ANALYZE questions;
END $$;

CREATE TABLE results (work text, pair text, system text, aggregate text, absolute float8, relative float8, bytes bigint, us float8);
-- Answers to all questions by a density with the measure beside it.
CREATE FUNCTION measure(work text, pair text, system text, d kde) RETURNS void LANGUAGE plpgsql AS $$
DECLARE began timestamptz; took float8;
BEGIN
  began := clock_timestamp();
  PERFORM approx_avg(d, a, b, measure => '2') FROM questions;
  took := extract(epoch FROM clock_timestamp() - began) * 1e6 / (SELECT count(*) FROM questions);
  INSERT INTO results
  SELECT work, pair, system, aggregate, avg(abs(answer - exact)), 100 * avg(abs(answer - exact) / abs(exact)), (kde_info(d)).bytes, took
  FROM questions, LATERAL (VALUES ('COUNT', n, approx_count(d, a, b, measure => '2')), ('SUM', s, coalesce(approx_sum(d, a, b, measure => '2'), 0)),
    ('AVG', s / n, coalesce(approx_avg(d, a, b, measure => '2'), 0))) AS v(aggregate, exact, answer)
  WHERE exact <> 0 GROUP BY aggregate;
END $$;
-- By the rows of a sample as they are, each counted as `each`.
CREATE FUNCTION measure_rows(work text, pair text, sample text, x text, y text, each float8) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('INSERT INTO results
  SELECT %1$L, %2$L, ''rows of the sample'', aggregate, avg(abs(answer - exact)), 100 * avg(abs(answer - exact) / abs(exact)), pg_relation_size(%3$L), NULL
  FROM questions AS q,
    LATERAL (SELECT count(%5$I) * %6$s AS n, sum(%5$I) * %6$s AS s FROM %3$s AS t WHERE t.%4$I BETWEEN q.a AND q.b) AS r,
    LATERAL (VALUES (''COUNT'', q.n, r.n), (''SUM'', q.s, coalesce(r.s, 0)), (''AVG'', q.s / q.n, coalesce(r.s / nullif(r.n, 0), 0))) AS v(aggregate, exact, answer)
  WHERE exact <> 0 GROUP BY aggregate', work, pair, sample, x, y, each);
END $$;

-- NeuroSketch (SIGMOD 2023), its pm25 example: AVG(PRES), 10,000 ranges of each.
CREATE FUNCTION neurosketch() RETURNS void LANGUAGE plpgsql AS $$
DECLARE x text; d kde; pair text;
BEGIN
  FOREACH x IN ARRAY ARRAY['pm2.5', 'DEWP', 'TEMP'] LOOP
    pair := format('AVG(PRES) by %s', x);
    PERFORM cumulate('pm25', x, 'PRES');
    PERFORM draw_questions(10000);
    EXECUTE format('SELECT kde_agg(%I, "PRES") FROM pm25', x) INTO d;
    PERFORM measure('NeuroSketch', pair, 'kde_agg', d);
    PERFORM measure('NeuroSketch', pair, 'kde_agg, in 4 kB', rollup(v, 4096)) FROM (VALUES (d)) AS t(v);
  END LOOP;
END $$;
SELECT neurosketch() \g /dev/null

-- DBEst (SIGMOD 2019): from 10,000 rows.
CREATE FUNCTION dbest(work text, source text, xs text[], y text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE x text; d kde; pair text; total float8;
BEGIN
  PERFORM setseed(0.25);
  DROP TABLE IF EXISTS drawn;
  EXECUTE format('CREATE TABLE drawn AS SELECT * FROM %s ORDER BY random() LIMIT 10000', source);
  EXECUTE format('SELECT count(*) FROM %s', source) INTO total;
  FOREACH x IN ARRAY xs LOOP
    pair := format('%s by %s', y, x);
    PERFORM cumulate(source, x, y);
    PERFORM draw_questions(1000);
    PERFORM kde_fit(source, x, seed => 1, sample_rows => 10000, measures => ARRAY[quote_ident(y)]);
    PERFORM measure(work, pair, 'kde_fit', kde_density(source::regclass, x::name));
    PERFORM measure_rows(work, pair, 'drawn', x, y, total / 10000);
  END LOOP;
END $$;
SELECT dbest('DBEst PM2.5', 'pm25', ARRAY['TEMP', 'DEWP', 'PRES'], 'pm2.5') \g /dev/null
-- The same by ten copies: CCPP has 9,568 rows.
CREATE TABLE ccpp10 AS SELECT ccpp.* FROM ccpp, generate_series(1, 10);
SELECT dbest('DBEst CCPP', 'ccpp10', ARRAY['AT', 'AP', 'RH'], 'PE') \g /dev/null

-- DBEst++ (VLDB 2021), TPC-DS store_sales: ten ranges of a year by 51 stores. A made table of the same shape: dates
-- of five years with their seasons, stores of unequal size, prices, profits of both signs.
SELECT setseed(0.5) \g /dev/null
CREATE TABLE store_sales AS
SELECT 2450816 + floor(1826 * u)::int + CASE WHEN season < 0.3 THEN floor(60 * power(u, 3))::int ELSE 0 END AS sold_date,
  floor(51 * power(store, 1.5))::int + 1 AS store, quantity, wholesale,
  round((wholesale * (1 + markup))::numeric, 2)::float8 AS list_price,
  round((wholesale * (0.2 + 1.6 * discount))::numeric, 2)::float8 AS sales_price,
  round((quantity * wholesale * (1.2 * gain - 0.8))::numeric, 2)::float8 AS net_profit
FROM (SELECT random() AS u, random() AS season, random() AS store, 1 + floor(100 * random())::int AS quantity,
  round((1 + 99 * random())::numeric, 2)::float8 AS wholesale, random() AS markup, random() AS discount, random() AS gain
  FROM generate_series(1, :rows)) AS r;
VACUUM ANALYZE store_sales;
CREATE TABLE costs (what text, ms float8);
CREATE FUNCTION timed(what text, query text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE began timestamptz := clock_timestamp();
BEGIN
  EXECUTE query;
  INSERT INTO costs VALUES (what, extract(epoch FROM clock_timestamp() - began) * 1000);
END $$;
SET work_mem = '1GB';
SELECT timed('SELECT store, count(*), sum(x), avg(x) ... GROUP BY store',
  'CREATE TABLE warm AS SELECT store, count(*), sum(sales_price), avg(sales_price) FROM store_sales GROUP BY store') \g /dev/null
SELECT timed('kde_fit(date, measures => x, group_by => store), every row',
  $$SELECT kde_fit('store_sales', 'sold_date', measures => ARRAY['sales_price'], group_by => 'store', sample_rows => -1)$$) \g /dev/null
CREATE TABLE years (a int, b int);
INSERT INTO years VALUES (2451119, 2451483), (2451300, 2451665), (2451392, 2451757), (2451484, 2451849), (2451545, 2451910),
  (2451636, 2452000), (2451727, 2452091), (2451850, 2452214), (2451911, 2452275), (2452031, 2452395);
SELECT timed('exact: ten ranges by 51 stores', 'CREATE TABLE exactly AS SELECT a, b, store, count(*) AS n, sum(sales_price) AS s
  FROM years JOIN store_sales ON sold_date BETWEEN a AND b GROUP BY 1, 2, 3') \g /dev/null
-- What approx_groups answers, beside the exact figures: errors, and the share of intervals that hold.
CREATE TABLE groups_held (system text, aggregate text, held float8);
CREATE FUNCTION measure_groups(system text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DROP TABLE IF EXISTS approximately;
  PERFORM timed('ten ranges by 51 stores, ' || system, 'CREATE TABLE approximately AS SELECT a, b, g.* FROM years,
    approx_groups(''store_sales.sold_date by store'', a, b, measure => ''sales_price'') AS g');
  DROP TABLE IF EXISTS compared;
  CREATE TABLE compared AS SELECT v.* FROM exactly AS e LEFT JOIN approximately AS q ON (e.a, e.b, e.store::text) = (q.a, q.b, q.group_key),
    LATERAL (VALUES ('COUNT', e.n::float8, count, count_lower, count_upper), ('SUM', e.s, sum, sum_lower, sum_upper),
      ('AVG', e.s / e.n, avg, avg_lower, avg_upper)) AS v(aggregate, exact, answer, low, high);
  INSERT INTO results SELECT 'DBEst++ store_sales', '51 stores', system, aggregate, avg(abs(coalesce(answer, 0) - exact)),
    100 * avg(abs(coalesce(answer, 0) - exact) / exact), (SELECT bytes FROM kde_densities WHERE group_by = '{store}'), NULL FROM compared GROUP BY aggregate;
  INSERT INTO groups_held SELECT system, aggregate, 100 * avg((exact BETWEEN low - 1e-12 * exact AND high + 1e-12 * exact)::int) FROM compared GROUP BY aggregate;
END $$;
SELECT measure_groups('kde_fit by store, every row') \g /dev/null
SELECT kde_fit('store_sales', 'sold_date', measures => ARRAY['sales_price'], group_by => 'store', seed => 1) \g /dev/null
SELECT measure_groups('kde_fit by store, default sample') \g /dev/null
CREATE TABLE sampled AS SELECT store, sold_date, sales_price FROM store_sales TABLESAMPLE SYSTEM (1) REPEATABLE (1);
INSERT INTO results
SELECT 'DBEst++ store_sales', '51 stores', 'TABLESAMPLE of 1 %', aggregate, avg(abs(answer - exact)), 100 * avg(abs(answer - exact) / exact), pg_relation_size('sampled'), NULL
FROM exactly AS e
CROSS JOIN LATERAL (SELECT 100 * count(*) AS n, 100 * coalesce(sum(sales_price), 0) AS s FROM sampled AS t WHERE t.store = e.store AND sold_date BETWEEN a AND b) AS q,
  LATERAL (VALUES ('COUNT', e.n, q.n), ('SUM', e.s, q.s), ('AVG', e.s / e.n, coalesce(q.s / nullif(q.n, 0), 0))) AS v(aggregate, exact, answer) GROUP BY aggregate;

-- DBEst's questions with one predicate on store_sales: profits of both signs over ranges of four columns, from all rows.
CREATE FUNCTION store_sales() RETURNS void LANGUAGE plpgsql AS $$
DECLARE x text;
BEGIN
  FOREACH x IN ARRAY ARRAY['sold_date', 'quantity', 'list_price', 'wholesale'] LOOP
    PERFORM cumulate('store_sales', x, 'net_profit');
    PERFORM draw_questions(300);
    DELETE FROM questions WHERE n < (SELECT count(*) / 100 FROM store_sales);
    PERFORM kde_fit('store_sales', x, sample_rows => -1, measures => ARRAY['net_profit']);
    PERFORM measure('store_sales, one predicate', 'net_profit by ' || x, 'kde_fit, all rows', kde_density('store_sales'::regclass, x::name));
    PERFORM kde_fit('store_sales', x, seed => 1, sample_rows => 10000, measures => ARRAY['net_profit']);
    PERFORM measure('store_sales, one predicate', 'net_profit by ' || x, 'kde_fit, 10,000 rows', kde_density('store_sales'::regclass, x::name));
  END LOOP;
END $$;
SELECT store_sales() \g /dev/null

\echo 'By pair: mean absolute and relative error, bytes, time of an AVG.'
SELECT work, pair, system, aggregate, to_char(absolute, '9.99EEEE') AS absolute, to_char(relative, '9.99EEEE') AS "relative, %", bytes, round(us::numeric, 1) AS us
FROM results ORDER BY work, pair, system, aggregate;
\echo 'Beside what is published.'
SELECT r.work, r.system, r.aggregate, to_char(avg(r.relative), '9.99EEEE') AS "relative, %", p.who AS published_by, p.relative AS "their relative, %"
FROM results AS r LEFT JOIN (VALUES
  ('NeuroSketch', 'AVG', 'NeuroSketch', 0.046), ('NeuroSketch', 'AVG', '10,240 rows', 0.033),
  ('DBEst PM2.5', 'COUNT', 'DBEst', 3.54), ('DBEst PM2.5', 'SUM', 'DBEst', 3.78), ('DBEst PM2.5', 'AVG', 'DBEst', 6.85),
  ('DBEst PM2.5', 'COUNT', 'VerdictDB', 9.09), ('DBEst PM2.5', 'SUM', 'VerdictDB', 8.08), ('DBEst PM2.5', 'AVG', 'VerdictDB', 11.54),
  ('DBEst CCPP', 'COUNT', 'DBEst', 5.15), ('DBEst CCPP', 'SUM', 'DBEst', 5.09), ('DBEst CCPP', 'AVG', 'DBEst', 0.19),
  ('DBEst++ store_sales', 'COUNT', 'DeepDB', 1.84), ('DBEst++ store_sales', 'SUM', 'DeepDB', 1.84), ('DBEst++ store_sales', 'AVG', 'DeepDB', 0.21),
  ('DBEst++ store_sales', 'COUNT', 'VerdictDB', 2.03), ('DBEst++ store_sales', 'SUM', 'VerdictDB', 2.59), ('DBEst++ store_sales', 'AVG', 'VerdictDB', 2.00),
  ('DBEst CCPP', 'COUNT', 'VerdictDB', 17.5), ('DBEst CCPP', 'SUM', 'VerdictDB', 17.7), ('DBEst CCPP', 'AVG', 'VerdictDB', 0.51))
  AS p(work, aggregate, who, relative) USING (work, aggregate)
GROUP BY r.work, r.system, r.aggregate, p.who, p.relative ORDER BY 1, 3, 2, 5;

\echo 'Of the 95 % intervals of the grouped questions so many percent hold.'
SELECT system, aggregate, round(held::numeric, 1) AS held FROM groups_held ORDER BY 1, 2;

\echo 'What the grouped questions cost.'
SELECT what, round(ms::numeric, 1) AS ms FROM costs;
