-- kde_advise(): what each kind of statement asks for, by itself; what several have in common; texts of
-- pg_stat_statements, which has put parameters in the place of constants.
CREATE TABLE sales AS
SELECT date '2025-01-01' + i * 7 % 300 AS sold_on, timestamp '2025-01-01' + i * interval '20 minutes' AS at, timestamptz '2025-01-01 00:00+00' + i * interval '20 minutes' AS tz,
  'r' || i % 4 AS region, i * 11 % 40 AS store, (i * 7919 % 10007 / 100.0)::numeric(10,2) AS amount, i % 9 AS qty, i / 3.0::float8 AS f, i % 10 = 0 AS flag, i AS id
FROM generate_series(1, 20000) AS i;
ALTER TABLE sales ALTER sold_on SET NOT NULL, ALTER region SET NOT NULL, ALTER at SET NOT NULL;
CREATE TABLE regions AS SELECT 'r' || i AS region, 'n' || i AS name FROM generate_series(0, 3) AS i;
CREATE VIEW recent AS SELECT * FROM sales WHERE sold_on > '2025-02-01';
ANALYZE sales, regions;
CREATE FUNCTION advice(statements text[]) RETURNS SETOF text LANGUAGE sql AS $$
  SELECT concat_ws(' | ', answers, note, call) FROM kde_advise(statements) ORDER BY rank, note $$;
CREATE FUNCTION each_advice(statements text[]) RETURNS SETOF text LANGUAGE sql AS $$
  SELECT s || E'\n' || (SELECT string_agg('  ' || coalesce(call, note), E'\n' ORDER BY rank) FROM kde_advise(ARRAY[s])) FROM unnest(statements) WITH ORDINALITY AS u (s, i) ORDER BY i $$;
\pset format unaligned
\pset tuples_only on

-- What can be answered.
SELECT each_advice(ARRAY[
  $$SELECT count(*) FROM sales WHERE sold_on BETWEEN $1 AND $2$$,
  $$SELECT region, sum(amount) FROM sales WHERE sold_on BETWEEN $1 AND $2 GROUP BY region$$,
  $$SELECT sum(amount), avg(qty) FROM sales WHERE sold_on >= $1 AND region = $2$$,
  $$SELECT region, count(*) FROM sales GROUP BY 1 ORDER BY 2 DESC LIMIT $1$$,
  $$SELECT store, count(*), sum(amount * qty) FROM sales WHERE store > 3 GROUP BY store$$,
  $$SELECT sum(amount) FROM sales WHERE sold_on > $1 AND store BETWEEN $2 AND $3$$,
  $$SELECT sum(amount) FROM sales WHERE sold_on > $1 AND NOT flag$$,
  $$SELECT region, sum(amount) FROM sales WHERE sold_on > $1 AND flag GROUP BY region$$,
  $$SELECT region, sum(amount) FROM sales WHERE sold_on > $1 AND qty = 3 GROUP BY region$$,
  $$SELECT max(sold_on), min(sold_on) FROM sales$$,
  $$SELECT count(*) FROM sales WHERE region LIKE $1$$,
  $$SELECT region FROM sales GROUP BY region$$,
  $$SELECT count(*), stddev(amount) FROM recent$$,
  $$SELECT count(*) FROM sales WHERE at > $1$$,
  $$WITH d AS (SELECT sold_on, count(*) AS n FROM sales GROUP BY 1) SELECT avg(n) FROM d$$,
  $$SELECT r.name, s.total FROM (SELECT region, sum(amount) AS total FROM sales WHERE sold_on > current_date - $1 GROUP BY 1) AS s JOIN regions AS r USING (region)$$,
  $$SELECT sum(amount) FROM sales WHERE sold_on > $1 UNION ALL SELECT count(*) FROM sales WHERE qty = $2$$,
  $$SELECT count(*) FROM sales WHERE sold_on > (SELECT max(sold_on) - 30 FROM sales)$$,
  $$PREPARE p (date) AS SELECT count(*) FROM sales WHERE sold_on > $1$$,
  $$DECLARE c CURSOR FOR SELECT count(*) FROM sales WHERE sold_on > $1$$]);

-- Texts that are no SQL any more.
SELECT each_advice(ARRAY[
  $$SELECT count($1) FROM sales WHERE sold_on >= date $2 AND sold_on < date $3 + $4$$,
  $$SELECT sum(amount) FROM sales WHERE sold_on > now() - INTERVAL $1$$,
  $$SELECT count(*) FROM sales WHERE at >= timestamp with time zone $1 AND at < timestamp with time zone $2$$,
  $$SELECT date_trunc($1, sold_on) AS month, sum(amount) FROM sales GROUP BY date_trunc('month', sold_on) ORDER BY month$$,
  $$SELECT date_trunc($1, sold_on)::date, sum(amount) FROM sales GROUP BY date_trunc($2, sold_on)::date$$,
  $$SELECT date_trunc($1, sold_on), sum(amount) FROM sales GROUP BY 1 HAVING count(*) > $2$$,
  $$SELECT extract($1 FROM sold_on), sum(amount) FROM sales GROUP BY extract(year FROM sold_on)$$,
  $$SELECT floor(extract($1 from sold_on)/$2)*$3 AS "time", sum(amount) FROM sales GROUP BY 1 ORDER BY 1$$,
  $$SELECT width_bucket(qty, $1, $2, $3), count(*) FROM sales WHERE qty IS NOT NULL GROUP BY 1$$,
  $$SELECT '$1', count(*) /* it's $2 */ FROM sales -- date $3
    WHERE "sold_on" > $4$$]);

-- What cannot, and why.
SELECT each_advice(ARRAY[
  $$SELECT count(DISTINCT store) FROM sales$$, $$SELECT DISTINCT region FROM sales$$,
  $$SELECT percentile_cont($1) WITHIN GROUP (ORDER BY amount) FROM sales$$,
  $$SELECT * FROM sales WHERE id = $1$$, $$SELECT bool_or(flag) FROM sales$$,
  $$SELECT r.name, sum(s.amount) FROM sales AS s JOIN regions AS r USING (region) GROUP BY 1$$,
  $$SELECT sum(amount * $1) FROM sales WHERE sold_on > $2$$,
  $$SELECT extract($1 FROM sold_on), sum(amount) FROM sales GROUP BY 1$$,
  $$SELECT tz AT TIME ZONE $1, count(*) FROM sales WHERE tz IS NOT NULL GROUP BY 1$$,
  $$SELECT to_char(sold_on, $1), count(*) FROM sales GROUP BY 1$$,
  $$SELECT region, sum(amount) FROM sales WHERE sold_on > $1 AND qty = $2 GROUP BY region$$,
  $$SELECT date_trunc('day', at), count(*) FROM sales GROUP BY 1$$,
  $$SELECT date_trunc('day', tz), count(*) FROM sales GROUP BY 1$$,
  $$SELECT count(*) FROM sales WHERE at BETWEEN '2025-02-01' AND '2025-02-02'$$,
  $$SELECT id, sum(amount) FROM sales WHERE sold_on > $1 GROUP BY id$$,
  $$SELECT sum(amount) FROM sales WHERE f > $1 AND at > $2$$,
  $$SELECT region, store, count(*) FROM sales GROUP BY CUBE (1, 2)$$,
  $$SELECT sum(2) FROM sales$$, $$SELECT count(*) FILTER (WHERE flag) FROM sales$$,
  $$SELECT count(*) FROM sales TABLESAMPLE system (1)$$, $$SELECT count(*) FROM sales FOR UPDATE$$,
  $$SELECT count(*) FROM pg_class$$, $$INSERT INTO regions VALUES ('r9', 'n9')$$, $$SELECT count(* FROM$$]);

-- One density for what several ask; the smallest of those that do.
SELECT advice(ARRAY[
  $$SELECT region, sum(amount) FROM sales WHERE sold_on > $1 GROUP BY region$$,
  $$SELECT count(*) FROM sales WHERE sold_on > $1$$, $$SELECT avg(qty) FROM sales WHERE sold_on > $1$$,
  $$SELECT region, count(*) FROM sales GROUP BY 1$$, $$SELECT 1$$]);
SELECT rank, answers, time_share, cumulated, ms_per_call, call FROM kde_advise(ARRAY[
  $$SELECT store, sum(amount) FROM sales WHERE sold_on > $1 GROUP BY store$$, $$SELECT count(*) FROM sales WHERE at > $1$$, $$SELECT max(qty) FROM sales$$,
  $$SELECT count(*), nothing FROM sales$$], weights => '{100, 880, 9, 11}');
SELECT rank, answers, call FROM kde_advise(ARRAY[$$SELECT store, sum(amount) FROM sales WHERE sold_on > $1 GROUP BY store$$, $$SELECT max(qty) FROM sales$$], '{95, 5}', least_share => 0.1);

-- Each measure of nine cannot be in one density.
CREATE TABLE wide AS SELECT i % 100 AS k, i AS m1, i AS m2, i AS m3, i AS m4, i AS m5, i AS m6, i AS m7, i AS m8, i AS m9 FROM generate_series(1, 1000) AS i;
ANALYZE wide;
SELECT advice(array_agg(format('SELECT sum(m%s) FROM wide WHERE k > $1', i))) FROM generate_series(1, 9) AS i;
SELECT advice(ARRAY['SELECT sum(m1 + m2 + m3), sum(m4), sum(m5), sum(m6), sum(m7), sum(m8), sum(m9), sum(m1), sum(m2) FROM wide WHERE k > $1']);

-- Variances of one group or range each, not of several together, of no density that is fitted either.
SELECT each_advice(ARRAY[
  $$SELECT stddev(amount) FROM sales WHERE store = 3$$, $$SELECT store, variance(amount) FROM sales WHERE sold_on > '2025-02-01' AND region = 'r1' GROUP BY store$$,
  $$SELECT stddev(amount) FROM sales WHERE store BETWEEN 3 AND 5$$, $$SELECT variance(amount) FROM sales WHERE region IN ('r1', 'r2')$$,
  $$SELECT sum(amount) FROM sales WHERE store IN (3, 5)$$,
  $$SELECT stddev(amount) FROM sales WHERE store IN (3, 5)$$, $$SELECT store, variance(amount) FROM sales WHERE store IN (3, 5) AND qty < 4 GROUP BY store$$]);
SELECT rows FROM kde_fit('sales', 'store', measures => '{amount}', sample_rows => -1);
SELECT advice(ARRAY[$$SELECT stddev(amount) FROM sales WHERE store IN (3, 5)$$]);
SELECT kde_drop('sales.store');
-- What groups take with measures.
CREATE TABLE many AS SELECT i % 5000 AS g, i % 7 AS k, i AS m FROM generate_series(1, 20000) AS i;
ALTER TABLE many ALTER k SET NOT NULL;
ANALYZE many;
SELECT each_advice(ARRAY[$$SELECT g, k, count(*) FROM many GROUP BY g, k$$, $$SELECT k, sum(m) FROM many WHERE g < 9 GROUP BY k$$, $$SELECT g, sum(m) FROM many WHERE k < 3 GROUP BY g$$]);
SELECT count(*) FROM kde_advise(ARRAY['SELECT 1', 'SELECT 2'], weights => '{1e308, 1e308}');
DROP TABLE many;

-- What a density by more groups answers, too, is one proposal: of a filter or two slicers, and of the column alone; it
-- answers them once it is there. Not variances, which are of one group each.
SELECT advice(ARRAY[
  $$SELECT region, sum(amount) FROM sales WHERE sold_on > $1 GROUP BY region$$, $$SELECT count(*) FROM sales WHERE sold_on > $1 AND store = $2$$,
  $$SELECT max(sold_on) FROM sales WHERE region = $1 AND store IN ($2, $3)$$, $$SELECT store, region, sum(qty) FROM sales WHERE sold_on > $1 GROUP BY 1, 2$$, $$SELECT sum(qty) FROM sales WHERE sold_on > $1$$]);
SELECT call AS merged FROM kde_advise(ARRAY[$$SELECT region, sum(amount) FROM sales WHERE sold_on > $1 GROUP BY region$$, $$SELECT store, region, sum(qty) FROM sales WHERE sold_on > $1 GROUP BY 1, 2$$]) \gset
\o /dev/null
:merged;
\o
SELECT advice(ARRAY[$$SELECT region, sum(amount) FROM sales WHERE sold_on > $1 GROUP BY region$$, $$SELECT count(*) FROM sales WHERE sold_on > $1 AND store = $2$$, $$SELECT store, region, sum(qty) FROM sales WHERE sold_on > $1 GROUP BY 1, 2$$]);
SELECT kde_drop('sales.sold_on by (store, region)'), kde_drop('sales.sold_on');
SELECT advice(ARRAY[$$SELECT region, variance(amount) FROM sales WHERE sold_on > $1 GROUP BY region$$, $$SELECT store, region, sum(amount) FROM sales WHERE sold_on > $1 GROUP BY 1, 2$$]);
-- Slicers of several panels are one proposal by all of them, as far as groups are not too many and cells not too long.
SELECT advice(ARRAY[$$SELECT region, count(*) FROM sales WHERE sold_on > $1 GROUP BY region$$, $$SELECT sum(amount) FROM sales WHERE sold_on > $1 AND store = $2$$, $$SELECT flag, max(sold_on) FROM sales GROUP BY flag$$]);
SELECT advice(ARRAY[$$SELECT region, count(*) FROM sales WHERE sold_on > $1 GROUP BY region$$, $$SELECT store, count(*) FROM sales WHERE sold_on > $1 GROUP BY store$$, $$SELECT qty, count(*) FROM sales WHERE sold_on > $1 GROUP BY qty$$,
  $$SELECT flag, count(*) FROM sales WHERE sold_on > $1 GROUP BY flag$$, $$SELECT id % 3, count(*) FROM sales WHERE sold_on > $1 GROUP BY id % 3$$]);
SELECT advice(ARRAY[$$SELECT store, count(*) FROM sales WHERE sold_on > $1 GROUP BY store$$, $$SELECT id, sum(amount) FROM sales WHERE sold_on > $1 AND id < 500 GROUP BY 1$$, $$SELECT qty, (f / 20)::int, sum(amount) FROM sales WHERE sold_on > $1 GROUP BY 1, 2$$]);
-- Times are exact between whole hours, or days where groups are many.
SET TimeZone = 'UTC';
SELECT each_advice(ARRAY[$$SELECT region, date_trunc('hour', at), count(*) FROM sales WHERE at < '2025-02-01 01:00' GROUP BY 1, 2$$, $$SELECT region, date_bin('30 minutes', at, '2025-01-01'), count(*) FROM sales GROUP BY 1, 2$$,
  $$SELECT region, date_trunc('hour', at), count(*) FROM sales WHERE at < '2025-02-01 01:30' GROUP BY 1, 2$$, $$SELECT to_char(at, 'YYYY-MM-DD HH24'), sum(amount) FROM sales GROUP BY 1$$, $$SELECT to_char(at, 'HH24:MI'), sum(amount) FROM sales GROUP BY 1$$,
  $$SELECT store, qty, date_trunc('day', tz), sum(amount) FROM sales WHERE tz >= '2025-02-01' GROUP BY 1, 2, 3$$, $$SELECT store, qty, date_trunc('hour', tz), sum(amount) FROM sales WHERE tz >= '2025-02-01' GROUP BY 1, 2, 3$$]);
SELECT advice(ARRAY[$$SELECT store, qty, date_trunc('day', at), sum(amount) FROM sales GROUP BY 1, 2, 3$$, $$SELECT region, date_trunc('hour', at), sum(amount) FROM sales GROUP BY 1, 2$$]);
SET TimeZone = 'America/New_York';
SELECT each_advice(ARRAY[$$SELECT store, qty, date_trunc('day', tz), sum(amount) FROM sales WHERE tz >= '2025-02-01' GROUP BY 1, 2, 3$$, $$SELECT region, date_trunc('day', tz), sum(amount) FROM sales WHERE tz >= '2025-02-01' GROUP BY 1, 2$$]);
RESET TimeZone;
-- Which statements a row is about, and how its answers stay fresh.
SELECT rank, statements, queryids, freshness FROM kde_advise(ARRAY[$$SELECT region, sum(amount) FROM sales WHERE sold_on > $1 GROUP BY region$$,
  $$SELECT count(*) FROM sales WHERE sold_on > $1$$, $$SELECT count(*) FROM sales WHERE at > $1 AND f < $2$$, $$SELECT nothing FROM sales$$, $$SELECT 1$$], weights => '{3, 4, 5, 1, 2}');
CREATE UNLOGGED TABLE unlogged AS SELECT qty FROM sales;
ANALYZE unlogged;
SELECT freshness FROM kde_advise(ARRAY['SELECT count(*) FROM unlogged WHERE qty < 4']);
DROP TABLE unlogged;
SELECT answers, cardinality(statements) FROM kde_advise(ARRAY(SELECT 'SELECT ' || i FROM generate_series(1, 30) AS i));
-- Why a text cannot be read.
SELECT answers, note FROM kde_advise(ARRAY['SELEC 1', 'SELECT nothing FROM sales', 'SELECT nothing FROM sales WHERE qty = $1', 'SELECT count(*) FROM nowhere', 'SELECT 1; SELECT 2', 'SELECT count(*) FROM sales WHERE sold_on > 7']) ORDER BY note COLLATE "C";
-- Columns that depend on each other have fewer groups together, as extended statistics know.
CREATE TABLE places AS SELECT date '2025-01-01' + i % 365 AS day, i % 200 AS city, 'state' || i % 200 / 4 AS state, 'land' || i % 200 / 20 AS land FROM generate_series(1, 60000) AS i;
ALTER TABLE places ALTER day SET NOT NULL;
ANALYZE places;
SELECT advice(ARRAY[$$SELECT land, state, city, count(*) FROM places WHERE day > $1 GROUP BY 1, 2, 3$$]);
SELECT advice(ARRAY[$$SELECT city, sum(city % 7) FROM places WHERE day > $1 GROUP BY 1$$, $$SELECT state, sum(city % 7) FROM places WHERE day > $1 GROUP BY 1$$]);
CREATE STATISTICS places_depend (ndistinct) ON land, state, city FROM places;
ANALYZE places;
SELECT advice(ARRAY[$$SELECT land, state, city, count(*) FROM places WHERE day > $1 GROUP BY 1, 2, 3$$]);
-- Of slicers of several panels, too.
SELECT advice(ARRAY[$$SELECT city, sum(city % 7) FROM places WHERE day > $1 GROUP BY 1$$, $$SELECT state, sum(city % 7) FROM places WHERE day > $1 GROUP BY 1$$]);
DROP TABLE places;

-- What is fitted is not proposed again; what is not allowed is; measures that there are stay.
SELECT rows FROM kde_fit('sales', 'sold_on', measures => '{qty}', sample_rows => -1);
SELECT advice(ARRAY[$$SELECT sum(qty) FROM sales WHERE sold_on > $1$$]);
SELECT kde_set_plain_sql('sales.sold_on', true);
SELECT advice(ARRAY[$$SELECT sum(qty) FROM sales WHERE sold_on > $1$$]);
SELECT advice(ARRAY[$$SELECT sum(amount) FROM sales WHERE sold_on > $1$$]);
SELECT advice(ARRAY[$$SELECT sum(amount) FROM sales WHERE sold_on > $1$$, $$SELECT region, sum(amount) FROM sales WHERE sold_on > $1 GROUP BY region$$]);
-- Of a sample of blocks it is not known whether it will do.
SET kde_aqp.sample_blocks = 100;
SELECT rows > 0 FROM kde_fit('sales', 'sold_on', measures => '{qty}', seed => 1);
SELECT advice(ARRAY[$$SELECT sum(qty) FROM sales WHERE sold_on > $1$$]);
RESET kde_aqp.sample_blocks;
-- What is asked for decides what is accurate enough.
SET kde_aqp.approximate_error = 0.001;
SELECT advice(ARRAY[$$SELECT count(*) FROM sales WHERE at > $1$$]);
SET kde_aqp.approximate_error = 0.1;
SELECT advice(ARRAY[$$SELECT sum(amount) FROM sales WHERE f > $1 AND at > $2$$]);
RESET kde_aqp.approximate_error;
-- Tables that are joined by keys that are unique in them are dimensions: a density by what they are joined by. It
-- answers once it is there. Not where a key has several rows, nor other joins.
CREATE TABLE shop AS SELECT i AS id, 'shop ' || i % 7 AS name, i % 5 AS area FROM generate_series(0, 39) AS i;
CREATE TABLE area AS SELECT i AS id, 'area ' || i AS name FROM generate_series(0, 4) AS i;
CREATE TABLE calendar AS SELECT date '2025-01-01' + i AS day, i % 7 = 0 AS holiday FROM generate_series(0, 299) AS i;
ANALYZE shop, area, calendar;
CREATE TABLE joining(id int GENERATED ALWAYS AS IDENTITY, query text);
INSERT INTO joining(query) SELECT unnest(ARRAY[
  'SELECT a.name, sum(s.amount) FROM sales s JOIN shop h ON h.id = s.store LEFT JOIN area a ON a.id = h.area WHERE s.sold_on >= ''2025-02-01'' GROUP BY 1',
  'SELECT h.name, s.region, count(*) FROM shop h, sales s WHERE h.id = s.store AND s.sold_on > ''2025-03-01'' GROUP BY 1, 2',
  'SELECT c.holiday, sum(s.amount) FROM sales s JOIN calendar c ON c.day = s.sold_on GROUP BY 1',
  'SELECT count(*) FROM sales s WHERE s.sold_on > ''2025-03-01'' AND EXISTS (SELECT FROM shop h WHERE h.id = s.store AND h.area = 3)',
  'SELECT count(*) FROM sales s JOIN shop h ON h.area = s.qty WHERE s.sold_on > ''2025-03-01''',
  'SELECT count(*) FROM sales s JOIN shop h ON h.id < s.store']);
SELECT each_advice(ARRAY(SELECT query FROM joining ORDER BY id));
-- A row for those without a key is one more, and two of them are two of a key where NULLs are the same.
CREATE TABLE stall AS SELECT nullif(i, 0) AS id, 'stall ' || i AS name FROM generate_series(0, 3) AS i;
ANALYZE stall;
CREATE FUNCTION joined_by(condition text) RETURNS SETOF text LANGUAGE sql AS
  $$SELECT each_advice(ARRAY[format('SELECT h.name, count(*) FROM sales s JOIN stall h ON %s WHERE s.sold_on > ''2025-03-01'' GROUP BY 1', condition)])$$;
SELECT joined_by(c) FROM unnest('{h.id = s.store,h.id IS NOT DISTINCT FROM s.store}'::text[]) AS c;
INSERT INTO stall VALUES (NULL, 'another');
ANALYZE stall;
SELECT joined_by(c) FROM unnest('{h.id = s.store,h.id IS NOT DISTINCT FROM s.store}'::text[]) AS c;
\o /dev/null
SELECT call FROM kde_advise(ARRAY(SELECT query FROM joining ORDER BY id)) WHERE rank IS NOT NULL ORDER BY rank \gexec
\o
SET kde_aqp.approximate_notice = off;
SELECT answered_by(query), query FROM joining ORDER BY id;
SELECT advice(ARRAY(SELECT query FROM joining ORDER BY id));
-- By several densities together, and by one of a sample that may do.
SELECT (kde_fit('sales', 'f', sample_rows => -1, measures => 'amount')).rows, (kde_fit('sales', '{f,qty}'::text[], seed => 1)).rows;
SELECT kde_set_plain_sql('sales.f', true), kde_set_plain_sql('sales (f, qty)', true);
SELECT advice(ARRAY['SELECT sum(amount), sum(qty) FROM sales WHERE f < 900', 'SELECT sum(amount * f), sum(qty) FROM sales WHERE f < 900']);
SELECT advice(ARRAY['SELECT count(DISTINCT id) FROM sales WHERE id > $1']);
SET kde_aqp.sample_blocks = 100;
SELECT rows > 0 FROM kde_fit('sales', 'id', seed => 1);
SELECT kde_set_plain_sql('sales.id', true);
SELECT advice(ARRAY['SELECT count(DISTINCT id) FROM sales WHERE id > $1']);
RESET kde_aqp.sample_blocks;
DROP TABLE joining, shop, area, calendar;
SELECT * FROM kde_advise();
DROP FUNCTION advice, each_advice;
DROP TABLE sales, regions, wide CASCADE;
