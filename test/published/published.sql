-- What other systems have published, and what measures and densities of this one do on the same data, or on data
-- of the same shape, beside a raw sample of the rows. run.sh loads pm25 and ccpp. Nothing here is a test.
--
-- Ranges are drawn with a fixed seed, ends uniform over [min, max] of x; those that hold no row are left out.
-- Errors are means over ranges: absolute, and relative in percent. At the end each figure stands beside what is asked
-- of it (bench.bound, ../bench/timing.sql).
\set ON_ERROR_STOP on
\set QUIET on
\pset footer off
SET client_min_messages = warning;
SET jit = off;
SET max_parallel_workers_per_gather = 0;
CREATE EXTENSION IF NOT EXISTS kde_aqp;

-- As it comes, 2,067 of pm2.5 missing; a third of its other rows is made to lack it, where it is cold most of them.
SELECT setseed(0.75) \g /dev/null
CREATE TABLE pm25_gaps AS SELECT "TEMP", "DEWP", "PRES",
  CASE WHEN random() > CASE WHEN "TEMP" < 5 THEN 0.7 ELSE 0.1 END THEN "pm2.5" END AS y FROM pm25;
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
-- COUNT(y) and SUM(y) where y is NULL in rows that are not like the others, of 40 samples: the mean of the answers off the
-- truth, over all ranges of at least 1 % of the rows.
CREATE TABLE gaps (x text, aggregate text, seed int, off float8);
CREATE FUNCTION measure_gaps(samples int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE x text; d kde;
BEGIN
  FOREACH x IN ARRAY ARRAY['TEMP', 'DEWP', 'PRES'] LOOP
    PERFORM cumulate('pm25_gaps', x, 'y');
    PERFORM draw_questions(200);
    DELETE FROM questions WHERE n < 400;
    FOR seed IN 1 .. samples LOOP
      PERFORM kde_fit('pm25_gaps', x, seed => seed, sample_rows => 10000, measures => ARRAY['y']);
      d := kde_density('pm25_gaps'::regclass, x::name);
      INSERT INTO gaps SELECT x, aggregate, seed, 100 * (sum(answer) / sum(exact) - 1)
      FROM questions, LATERAL (VALUES ('COUNT', n, approx_count(d, a, b, measure => '2')), ('SUM', s, approx_sum(d, a, b, measure => '2'))) AS v(aggregate, exact, answer)
      GROUP BY aggregate;
    END LOOP;
  END LOOP;
END $$;
SELECT measure_gaps(40) \g /dev/null
-- The same by ten copies: CCPP has 9,568 rows.
CREATE TABLE ccpp10 AS SELECT ccpp.* FROM ccpp, generate_series(1, 10);
SELECT dbest('DBEst CCPP', 'ccpp10', ARRAY['AT', 'AP', 'RH'], 'PE') \g /dev/null

-- DBEst++ (VLDB 2021), TPC-DS store_sales: ten ranges of a year by 51 stores. A made table of the same shape: dates
-- of five years with their seasons, stores of unequal size, prices, profits of both signs. Rows are of one length: 107
-- a block, whose number is page.
SELECT setseed(0.5) \g /dev/null
CREATE TABLE store_sales AS
SELECT 2450816 + floor(1826 * u)::int + CASE WHEN season < 0.3 THEN floor(60 * power(u, 3))::int ELSE 0 END AS sold_date,
  floor(51 * power(store, 1.5))::int + 1 AS store, quantity, ((i - 1) / 107)::int AS page, wholesale,
  round((wholesale * (1 + markup))::numeric, 2)::float8 AS list_price,
  round((wholesale * (0.2 + 1.6 * discount))::numeric, 2)::float8 AS sales_price,
  round((quantity * wholesale * (1.2 * gain - 0.8))::numeric, 2)::float8 AS net_profit
FROM (SELECT i, random() AS u, random() AS season, random() AS store, 1 + floor(100 * random())::int AS quantity,
  round((1 + 99 * random())::numeric, 2)::float8 AS wholesale, random() AS markup, random() AS discount, random() AS gain
  FROM generate_series(1, :rows) AS i) AS r;
VACUUM ANALYZE store_sales;
DO $$
BEGIN
  IF EXISTS (SELECT FROM store_sales WHERE page <> (ctid::text::point)[0]) THEN
    RAISE 'a page of store_sales is not a block';
  END IF;
END $$;
SET work_mem = '1GB';
INSERT INTO bench.query (section, what, query) VALUES
  ('fit', 'SELECT store, count(*), sum(x), avg(x) ... GROUP BY store', 'SELECT store, count(*), sum(sales_price), avg(sales_price) FROM store_sales GROUP BY store'),
  ('fit', 'kde_fit(date, measures => x, group_by => store), every row',
   $$SELECT kde_fit('store_sales', 'sold_date', measures => ARRAY['sales_price'], group_by => 'store', sample_rows => -1)$$);
CALL bench.interleave('fit', 5);

-- The ten ranges as plain SQL, by the density and by the exact plan. SET costs the same in both.
CREATE TABLE years (a int, b int);
INSERT INTO years VALUES (2451119, 2451483), (2451300, 2451665), (2451392, 2451757), (2451484, 2451849), (2451545, 2451910),
  (2451636, 2452000), (2451727, 2452091), (2451850, 2452214), (2451911, 2452275), (2452031, 2452395);
SELECT kde_set_plain_sql('store_sales.sold_date by store', true) \g /dev/null
SET kde_aqp.approximate_notice = off;
INSERT INTO bench.query (section, what, query)
SELECT 'plain SQL', format('%s to %s, %s', a, b, mode), format('SET LOCAL kde_aqp.approximate = %s;
  SELECT store, count(*), sum(sales_price), avg(sales_price) FROM store_sales WHERE sold_date BETWEEN %s AND %s GROUP BY store', mode, a, b)
FROM years, (VALUES ('off'), ('"all"')) AS m(mode);
CALL bench.interleave('plain SQL', 11);
CREATE TABLE plain_sql_counts AS SELECT * FROM kde_plain_sql;

CREATE TABLE exactly AS SELECT a, b, store, count(*) AS n, sum(sales_price) AS s
  FROM years JOIN store_sales ON sold_date BETWEEN a AND b GROUP BY 1, 2, 3;
-- What approx_groups answers, beside the exact figures.
CREATE TABLE compared (system text, aggregate text, exact float8, answer float8, low float8, high float8);
CREATE FUNCTION compare_groups(system text) RETURNS void LANGUAGE sql AS $$
  INSERT INTO compared
  SELECT system, v.* FROM exactly AS e
  LEFT JOIN (SELECT a, b, g.* FROM years, approx_groups('store_sales.sold_date by store', a, b, measure => 'sales_price') AS g) AS q
    ON (e.a, e.b, e.store::text) = (q.a, q.b, q.group_key),
  LATERAL (VALUES ('COUNT', e.n::float8, coalesce(count, 0), count_lower, count_upper), ('SUM', e.s, coalesce(sum, 0), sum_lower, sum_upper),
    ('AVG', e.s / e.n, coalesce(avg, 0), avg_lower, avg_upper)) AS v(aggregate, exact, answer, low, high)
$$;
-- By the rows that the fit of that seed read, counted: those of the pages that the groups of a fit by page are of.
CREATE FUNCTION compare_rows(system text, seed int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE each float8;
BEGIN
  PERFORM kde_fit('store_sales', ARRAY['0 * page'], seed => seed, group_by => 'page');
  CREATE TEMPORARY TABLE pages AS SELECT group_key::int AS page FROM approx_groups('store_sales (0 * page) by page') WHERE groups = 1;
  CREATE TEMPORARY TABLE days AS SELECT store, sold_date, count(*) AS n, sum(sales_price) AS s FROM store_sales JOIN pages USING (page) GROUP BY 1, 2;
  SELECT (SELECT count(*) FROM store_sales) / sum(n) INTO each FROM days;
  IF (SELECT sum(n) FROM days) <> ALL (SELECT rows_read FROM kde_densities_full WHERE relation = 'store_sales'::regclass) THEN
    RAISE 'the fits did not read the same rows';
  END IF;
  INSERT INTO compared
  SELECT system, v.* FROM exactly AS e
  CROSS JOIN LATERAL (SELECT coalesce(sum(n), 0) AS n, coalesce(sum(s), 0) AS s FROM days WHERE days.store = e.store AND sold_date BETWEEN a AND b) AS q,
  LATERAL (VALUES ('COUNT', e.n, each * q.n), ('SUM', e.s, each * q.s), ('AVG', e.s / e.n, coalesce(q.s / nullif(q.n, 0), 0))) AS v(aggregate, exact, answer);
  DROP TABLE pages, days;
END $$;
SELECT compare_groups('kde_fit by store, every row') \g /dev/null
CREATE TABLE bytes AS SELECT 'kde_fit by store, every row' AS system, bytes FROM kde_densities_full WHERE group_by = '{store}';
INSERT INTO bench.query (section, what, query)
SELECT 'groups', 'approx_groups, 51 stores', format($$SELECT * FROM approx_groups('store_sales.sold_date by store', %s, %s, measure => 'sales_price')$$, a, b) FROM years LIMIT 1;
CALL bench.interleave('groups', 21);
CREATE FUNCTION default_samples(samples int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  FOR seed IN 1 .. samples LOOP
    PERFORM kde_fit('store_sales', 'sold_date', measures => ARRAY['sales_price'], group_by => 'store', seed => seed);
    PERFORM compare_groups('kde_fit by store, default sample');
    PERFORM compare_rows('rows of the default sample', seed);
  END LOOP;
END $$;
SELECT default_samples(20) \g /dev/null
INSERT INTO bytes SELECT 'kde_fit by store, default sample', bytes FROM kde_densities_full WHERE group_by = '{store}';
INSERT INTO bytes SELECT 'rows of the default sample', 8192 * groups FROM kde_densities_full, LATERAL (SELECT count(*) AS groups FROM approx_groups('store_sales (0 * page) by page') WHERE groups = 1) AS g WHERE group_by = '{page}';
SELECT kde_drop('store_sales (0 * page) by page') \g /dev/null
INSERT INTO results
SELECT 'DBEst++ store_sales', '51 stores', system, aggregate, avg(abs(answer - exact)), 100 * avg(abs(answer - exact) / exact), bytes
FROM compared JOIN bytes USING (system) GROUP BY system, aggregate, bytes;

-- About as many groups as there are stores at scale factor 1000: 500, of 6,000 rows each.
SELECT kde_fit('store_sales', 'sold_date', measures => ARRAY['sales_price'], group_by => 'page % 500', sample_rows => -1) \g /dev/null
INSERT INTO bench.query (section, what, query)
SELECT 'groups', 'approx_groups, 500 groups', format($$SELECT * FROM approx_groups('store_sales.sold_date by (page %% 500)', %s, %s, measure => 'sales_price')$$, a, b) FROM years LIMIT 1;
CALL bench.interleave('groups', 21);
INSERT INTO results
SELECT 'DBEst++ store_sales', '500 groups', 'kde_fit by 500 groups, every row', aggregate, avg(abs(answer - exact)), 100 * avg(abs(answer - exact) / exact),
  (SELECT bytes FROM kde_densities_full WHERE group_by = '{"(page % 500)"}')
FROM (SELECT a, b, (page % 500)::text AS key, count(*) AS n, sum(sales_price) AS s FROM years JOIN store_sales ON sold_date BETWEEN a AND b GROUP BY 1, 2, 3) AS e
LEFT JOIN (SELECT a, b, g.* FROM years, approx_groups('store_sales.sold_date by (page % 500)', a, b, measure => 'sales_price') AS g) AS q
  ON (e.a, e.b, e.key) = (q.a, q.b, q.group_key),
LATERAL (VALUES ('COUNT', e.n::float8, coalesce(count, 0)), ('SUM', e.s, coalesce(sum, 0)), ('AVG', e.s / e.n, coalesce(avg, 0))) AS v(aggregate, exact, answer) GROUP BY aggregate;

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

-- Words: equality, and IN of ten, over 50, 5,000 and 500,000 values, each of which there is, the rest of the rows by Zipf's
-- law. What is asked for is drawn by rows one half, evenly from all values the other.
SELECT setseed(0.5) \g /dev/null
CREATE TABLE words AS
SELECT 'word ' || CASE WHEN i <= 50 THEN i ELSE floor(exp(u * ln(51))) END AS w50, 'word ' || CASE WHEN i <= 5000 THEN i ELSE floor(exp(v * ln(5001))) END AS w5000,
  'word ' || CASE WHEN i <= 500000 THEN i ELSE floor(exp(w * ln(500001))) END AS w500000, round((100 * y)::numeric, 2)::float8 AS amount
FROM (SELECT i, random() AS u, random() AS v, random() AS w, random() AS y FROM generate_series(1, :rows) AS i) AS r ORDER BY random();
VACUUM ANALYZE words;
CREATE TABLE word_answers (x text, system text, question text, aggregate text, exact float8, answer float8, low float8, high float8);
CREATE TABLE word_costs (x text, system text, bytes bigint, us float8);
-- All questions to the density that there is.
CREATE FUNCTION ask_words(x name, system text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE began timestamptz; took float8; density text := 'words.' || x;
BEGIN
  began := clock_timestamp();
  PERFORM approx_count(density, list[1]) FROM word_questions;
  took := extract(epoch FROM clock_timestamp() - began) * 1e6 / (SELECT count(*) FROM word_questions);
  INSERT INTO word_costs SELECT x, system, bytes, took FROM kde_densities_full WHERE name = density;
  INSERT INTO word_answers
  SELECT x, system, question, aggregate, exact, estimate, lower_bound, upper_bound FROM word_questions,
    LATERAL (SELECT 'COUNT', n, c.* FROM approx_count_ci(density, list) AS c
      UNION ALL SELECT 'SUM', s, c.* FROM approx_sum_ci(density, list, measure => 'amount') AS c) AS v(aggregate, exact);
END $$;
CREATE FUNCTION words(samples int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE x name;
BEGIN
  FOREACH x IN ARRAY ARRAY['w50', 'w5000', 'w500000'] LOOP
    EXECUTE format('CREATE TEMPORARY TABLE totals AS SELECT %I AS value, count(*) AS n, sum(amount) AS s FROM words GROUP BY 1', x);
    ALTER TABLE totals ADD PRIMARY KEY (value);
    ANALYZE totals;
    EXECUTE format('CREATE TEMPORARY TABLE drawn AS SELECT value, row_number() OVER (ORDER BY random()) AS i FROM
      ((SELECT %I AS value FROM words LIMIT 1000) UNION ALL (SELECT value FROM totals, generate_series(1, 20) ORDER BY random() LIMIT 1000)) AS d', x);
    CREATE TEMPORARY TABLE word_questions AS
    SELECT question, list, n::float8, s FROM (SELECT 'equality' AS question, ARRAY[value] AS list FROM drawn WHERE i <= 200
      UNION ALL SELECT 'IN of ten', array_agg(DISTINCT value) FROM drawn GROUP BY i / 10) AS q,
      LATERAL (SELECT sum(totals.n) AS n, sum(totals.s) AS s FROM totals WHERE value = ANY (list)) AS t;
    PERFORM kde_fit('words', x, measures => ARRAY['amount'], sample_rows => -1);
    PERFORM ask_words(x, 'every row');
    FOR seed IN 1 .. samples LOOP
      PERFORM kde_fit('words', x, measures => ARRAY['amount'], seed => seed);
      PERFORM ask_words(x, 'default sample');
    END LOOP;
    DROP TABLE totals, drawn, word_questions;
  END LOOP;
END $$;
SELECT words(10) \g /dev/null

\echo 'By pair: mean absolute and relative error, bytes, time of an AVG.'
SELECT work, pair, system, aggregate, to_char(absolute, '9.99EEEE') AS absolute, to_char(relative, '9.99EEEE') AS "relative, %", bytes, round(us::numeric, 1) AS us
FROM results ORDER BY work, pair, system, aggregate;
\echo 'Beside what is published.'
CREATE TABLE published (work text, aggregate text, who text, theirs float8);
INSERT INTO published VALUES
  ('NeuroSketch', 'AVG', 'NeuroSketch', 0.046), ('NeuroSketch', 'AVG', '10,240 rows', 0.033),
  ('DBEst PM2.5', 'COUNT', 'DBEst', 3.54), ('DBEst PM2.5', 'SUM', 'DBEst', 3.78), ('DBEst PM2.5', 'AVG', 'DBEst', 6.85),
  ('DBEst PM2.5', 'COUNT', 'VerdictDB', 9.09), ('DBEst PM2.5', 'SUM', 'VerdictDB', 8.08), ('DBEst PM2.5', 'AVG', 'VerdictDB', 11.54),
  ('DBEst CCPP', 'COUNT', 'DBEst', 5.15), ('DBEst CCPP', 'SUM', 'DBEst', 5.09), ('DBEst CCPP', 'AVG', 'DBEst', 0.19),
  ('DBEst++ store_sales', 'COUNT', 'DeepDB', 1.84), ('DBEst++ store_sales', 'SUM', 'DeepDB', 1.84), ('DBEst++ store_sales', 'AVG', 'DeepDB', 0.21),
  ('DBEst++ store_sales', 'COUNT', 'VerdictDB', 2.03), ('DBEst++ store_sales', 'SUM', 'VerdictDB', 2.59), ('DBEst++ store_sales', 'AVG', 'VerdictDB', 2.00),
  ('DBEst CCPP', 'COUNT', 'VerdictDB', 17.5), ('DBEst CCPP', 'SUM', 'VerdictDB', 17.7), ('DBEst CCPP', 'AVG', 'VerdictDB', 0.51);
SELECT r.work, r.system, r.aggregate, to_char(avg(r.relative), '9.99EEEE') AS "relative, %", p.who AS published_by, p.theirs AS "their relative, %"
FROM results AS r LEFT JOIN published AS p USING (work, aggregate)
GROUP BY r.work, r.system, r.aggregate, p.who, p.theirs ORDER BY 1, 3, 2, 5;

\echo 'Of the 95 % intervals of the grouped questions so many percent hold.'
SELECT system, aggregate, count(*) AS questions, round(100 * avg((exact BETWEEN low - 1e-12 * exact AND high + 1e-12 * exact)::int), 1) AS held
FROM compared WHERE low IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2;

\echo 'Words: questions whose answer is exact, those whose interval holds, half of its width beside the answer, in percent; time of an equality.'
CREATE VIEW word_figures AS
SELECT x, system, question, aggregate, count(*) AS questions, 100 * avg((high - low <= 1e-9 * exact AND abs(answer - exact) <= 1e-9 * exact)::int) AS exactly,
  100 * avg((exact BETWEEN low - 1e-9 * exact AND high + 1e-9 * exact)::int) AS held,
  100 * percentile_cont(0.5) WITHIN GROUP (ORDER BY (high - low) / 2 / exact) AS width
FROM word_answers GROUP BY x, system, question, aggregate;
SELECT f.x, f.system, question, aggregate, questions, round(exactly, 1) AS exact, round(held, 1) AS held, round(width::numeric, 2) AS width, bytes, us
FROM word_figures AS f JOIN (SELECT x, system, max(bytes) AS bytes, round(avg(us)::numeric, 1) AS us FROM word_costs GROUP BY 1, 2) AS c USING (x, system)
ORDER BY length(f.x), 2 DESC, 3, 4;

\echo 'COUNT(y) and SUM(y) where y is NULL in rows unlike the others, off the truth in percent, of 40 samples.'
CREATE VIEW gap_figures AS
SELECT x, aggregate, avg(off) AS off, stddev(off) / sqrt(count(*)) AS standard_error FROM gaps GROUP BY x, aggregate;
SELECT x, aggregate, round(off::numeric, 3) AS off, round(standard_error::numeric, 3) AS standard_error FROM gap_figures ORDER BY 1, 2;

\echo 'Medians in ms.'
SELECT section, what, round(ms::numeric, 2) AS ms, runs FROM bench.median ORDER BY id;
\echo 'What answered the plain SQL.'
SELECT * FROM plain_sql_counts;

INSERT INTO bench.bound (section, what, figure, bound, at_least, digits)
SELECT work, 'relative error in %, worst pair, in at most 16 kB', max(relative), 1e-4, false, 7 FROM results WHERE system = 'kde_agg' AND bytes <= 16384 GROUP BY work
UNION ALL SELECT work, 'the same in 4 kB', max(relative), 1e-3, false, 7 FROM results WHERE system = 'kde_agg, in 4 kB' AND bytes <= 4096 GROUP BY work;
INSERT INTO bench.bound (section, what, figure, bound, at_least, digits)
SELECT work, aggregate || ', relative error in %', avg(relative), theirs, false, 3
FROM results JOIN published AS p USING (work, aggregate) WHERE system = 'kde_fit' AND who = 'DBEst' GROUP BY work, aggregate, theirs ORDER BY work, aggregate;
INSERT INTO bench.bound (section, what, figure, bound, at_least, digits)
SELECT 'y that is NULL', aggregate || '(y) by ' || x || ', off in standard errors', abs(off) / standard_error, 3, false, 2 FROM gap_figures ORDER BY 1, 2;
INSERT INTO bench.bound (section, what, figure, bound, at_least, digits)
SELECT work, aggregate || ', every row, relative error in %', relative, 0.02, false, 4 FROM results WHERE system = 'kde_fit by store, every row' ORDER BY 2;
INSERT INTO bench.bound (section, what, figure, bound, at_least, digits)
SELECT 'DBEst++ store_sales', aggregate || ', default sample, error over that of the rows', a.relative / b.relative, 1.05, false, 3
FROM results AS a JOIN results AS b USING (aggregate) WHERE a.system = 'kde_fit by store, default sample' AND b.system = 'rows of the default sample' ORDER BY 2;
INSERT INTO bench.bound (section, what, figure, bound, at_least, digits)
SELECT 'DBEst++ store_sales', aggregate || ', default sample, 95 % intervals off 95 %', abs(100 * avg((exact BETWEEN low AND high)::int) - 95), 2, false, 1
FROM compared WHERE system = 'kde_fit by store, default sample' GROUP BY aggregate ORDER BY 2;
INSERT INTO bench.bound (section, what, figure, bound, at_least, digits)
SELECT work, aggregate || ', every row, relative error in %, worst pair', max(relative), 0.05, false, 4 FROM results WHERE system = 'kde_fit, all rows' GROUP BY work, aggregate ORDER BY 2;
INSERT INTO bench.bound (section, what, figure, bound, at_least, digits)
VALUES ('DBEst++ store_sales', 'a fit by store over GROUP BY store', bench.ratio('fit', 'kde_fit(date, measures => x, group_by => store), every row',
    'SELECT store, count(*), sum(x), avg(x) ... GROUP BY store'), 4, false, 2),
  ('DBEst++ store_sales', '500 groups answered, ms', (SELECT ms FROM bench.median WHERE what = 'approx_groups, 500 groups'), 20, false, 1),
  ('plain SQL', 'ten ranges by 51 stores, slowest, ms', (SELECT max(ms) FROM bench.median WHERE what LIKE '% to %, "all"'), 1, false, 2),
  ('plain SQL', 'statements that the density answered', (SELECT sum(statements) FROM plain_sql_counts WHERE outcome = 'answered by a density'), 110, true, 0),
  ('words', 'every row: intervals that hold in %', (SELECT min(held) FROM word_figures WHERE system = 'every row'), 100, true, 1),
  ('words', 'every row: answers that are exact in %, of 50 words', (SELECT min(exactly) FROM word_figures WHERE system = 'every row' AND x = 'w50'), 100, true, 1),
  ('words', 'default sample: intervals that hold in %, worst kind', (SELECT min(held) FROM word_figures WHERE system = 'default sample'), 93, true, 1);
