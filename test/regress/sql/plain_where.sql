-- Conditions as questions: categories, lists and ends of intervals in plain SQL; approx_where() and
-- kde_explain_query().
\set ECHO queries \\ \pset tuples_only on \\ \pset format unaligned
SET search_path = public;
CREATE SCHEMA plain_where;
SET search_path = plain_where, public;
SET kde_aqp.approximate_notice = off;

CREATE TYPE mood AS ENUM ('low', 'mid', 'high', 'never');
CREATE TABLE sales (
  sold_on date NOT NULL, qty integer, amount numeric(12,2), weight double precision NOT NULL, region text,
  city varchar(20) NOT NULL, paid boolean NOT NULL, m mood, code char(4) NOT NULL, host inet, few smallint);
INSERT INTO sales
SELECT date '2026-01-01' + (i * 7919 % 365)::integer, CASE WHEN i % 11 > 0 THEN (i * 7919 % 1000)::integer END,
  CASE WHEN i % 7 > 0 THEN (i * 104729 % 100000 - 30000) / 100.0 END, (i % 64) / 8.0,
  CASE WHEN i % 13 > 0 THEN ('{EU,US,Asia,"a, b"}'::text[])[1 + i % 4] END, 'city ' || i % 97, i % 3 = 0,
  (enum_range(NULL::mood))[1 + i % 3], 'c' || i % 5, host(inet '10.0.0.0' + i % 20)::inet, i % 6
FROM generate_series(1, 20000::bigint) AS i;
ANALYZE sales;
SELECT count((kde_fit('sales', c, sample_rows => -1, measures => '{amount,qty}')).rows) AS fitted FROM unnest('{region,city,paid,m,code,host,sold_on,few,weight}'::text[]) AS c;
SELECT (kde_fit('sales', 'qty', sample_rows => -1, measures => '{amount,weight}')).rows > 0 AS qty, (kde_fit('sales', ARRAY['left(city, 6)'], sample_rows => -1)).rows > 0 AS expression;
SELECT (kde_fit('sales', 'sold_on', sample_rows => -1, measures => '{amount}', group_by => 'region')).rows > 0 AS groups;
SELECT count(kde_set_plain_sql(name, true, filter => filter)) > 0 AS allowed FROM kde_densities_full WHERE relation = 'sales'::regclass;
SELECT pg_stat_force_next_flush();

-- By whom a query is answered, and whether it is off by no more than that, relative.
CREATE FUNCTION off_by(query text, most double precision) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  exact double precision;
  got double precision;
  before bigint;
  answered CONSTANT text := 'SELECT coalesce(sum(statements), 0) FROM kde_plain_sql WHERE outcome = ''answered by a density''';
  after bigint;
BEGIN
  SET LOCAL kde_aqp.approximate = off;
  EXECUTE query INTO exact;
  EXECUTE answered INTO before;
  SET LOCAL kde_aqp.approximate = 'all';
  EXECUTE query INTO got;
  EXECUTE answered INTO after;
  RETURN CASE WHEN after = before THEN 'exact plan' WHEN got IS NOT DISTINCT FROM exact OR abs(got - exact) <= most * abs(exact) THEN 'near'
    ELSE format('%s for %s', got, exact) END;
END $$;

-- Categories by themselves.
SELECT answered_by(q) AS by, q AS query FROM (VALUES
  ('SELECT count(*), sum(amount), avg(amount), count(qty) FROM sales WHERE region = ''EU'''),
  ('SELECT count(*) FROM sales WHERE ''EU'' = region AND region IS NOT NULL'),
  ('SELECT count(*), sum(amount) FROM sales WHERE region IN (''EU'', ''US'', ''EU'', NULL, ''none'')'),
  ('SELECT count(*) FROM sales WHERE region = ANY (''{EU,US}''::text[]) AND region <> ''US'''),
  ('SELECT count(*) FROM sales WHERE region = ''none'''),
  ('SELECT count(*), avg(amount) FROM sales WHERE region = NULL'),
  ('SELECT count(*), sum(amount) FROM sales WHERE region LIKE ''%a%'' OR region = ''EU'''),
  ('SELECT count(*), count(region) FROM sales WHERE lower(region) <> ''eu'''),
  ('SELECT count(*) FROM sales WHERE region IS NULL'),
  ('SELECT count(region) FROM sales'),
  ('SELECT region, count(*), sum(amount) FROM sales WHERE region IS NOT NULL GROUP BY region HAVING count(*) > 10'),
  ('SELECT region, count(*) FROM sales GROUP BY region'),
  ('SELECT city, count(*), avg(amount) FROM sales GROUP BY city ORDER BY 2 DESC, 1 LIMIT 5'),
  ('SELECT city::text AS city, count(*) FROM sales WHERE city IN (''city 5'', ''city 7'') GROUP BY city'),
  ('SELECT count(*) FROM sales WHERE city > ''city 5'''),
  ('SELECT count(*), sum(qty) FROM sales WHERE city = ''city 5''::text'),
  ('SELECT count(*) FROM sales WHERE city = ''city 5'' COLLATE "C"'),
  ('SELECT paid, count(*), sum(amount) FROM sales GROUP BY paid'),
  ('SELECT count(*), sum(amount) FROM sales WHERE paid'),
  ('SELECT count(*) FROM sales WHERE NOT paid'),
  ('SELECT count(*) FROM sales WHERE paid IS TRUE'),
  ('SELECT count(*) FROM sales WHERE paid IS NOT TRUE'),
  ('SELECT count(*) FROM sales WHERE m = ''mid'''),
  ('SELECT m, count(*) FROM sales WHERE m > ''low'' GROUP BY m'),
  ('SELECT count(*) FROM sales WHERE m = ''never'''),
  ('SELECT count(*), avg(amount) FROM sales WHERE code = ''c3'''),
  ('SELECT count(*) FROM sales WHERE code = ''c3  ''::text'),
  ('SELECT count(*) FROM sales WHERE octet_length(code) = 4'),
  ('SELECT count(*) FROM sales WHERE code <> ''c3'' AND code NOT IN (''c1   '', ''c9'')'),
  ('SELECT count(*) FROM sales WHERE code LIKE ''c3%'''),
  ('SELECT count(*) FROM sales WHERE code LIKE ''c3'''),
  ('SELECT code, count(*) FROM sales GROUP BY 1'),
  ('SELECT count(*) FROM sales WHERE host = ''10.0.0.7'''),
  ('SELECT count(*) FROM sales WHERE host << ''10.0.0.8/29'''),
  ('SELECT left(city, 6) AS c, count(*) FROM sales WHERE left(city, 6) IN (''city 1'', ''city 2'') GROUP BY 1'),
  ('SELECT count(*) FROM sales'),
  ('SELECT count(*) FROM sales WHERE city = (SELECT min(city) FROM sales)'),
  ('SELECT v, n FROM unnest(''{EU,US,none}''::text[]) AS v, LATERAL (SELECT count(*) AS n FROM sales WHERE region = v) AS s'),
  ('SELECT stddev(amount) > 0 AS spread, count(*) FROM sales WHERE region IN (''EU'', ''US'')')
) AS v (q);

-- Labels that were renamed, each to what another was.
CREATE TYPE size AS ENUM ('small', 'large');
CREATE TABLE boxes AS SELECT (CASE WHEN i % 3 = 0 THEN 'small' ELSE 'large' END)::size AS s FROM generate_series(1, 3000) AS i;
SELECT (kde_fit('boxes', 's', sample_rows => -1)).rows > 0 AS fitted, kde_set_plain_sql('boxes.s', true);
SELECT pg_stat_force_next_flush();
SELECT answered_by('SELECT s, count(*) FROM boxes WHERE s IS NOT NULL GROUP BY s') AS before;
ALTER TYPE size RENAME VALUE 'small' TO 'x';
ALTER TYPE size RENAME VALUE 'large' TO 'small';
ALTER TYPE size RENAME VALUE 'x' TO 'large';
SELECT answered_by(q) AS by, q AS query FROM (VALUES
  ('SELECT s, count(*) FROM boxes WHERE s IS NOT NULL GROUP BY s'), ('SELECT count(*) FROM boxes WHERE s::text = ''small'''),
  ('SELECT count(*) FROM boxes WHERE s = ''small''')
) AS v (q);

-- Lists of numbers and dates, and variances, which are not put together.
SELECT answered_by(q) AS by, q AS query FROM (VALUES
  ('SELECT count(*), sum(qty), avg(amount) FROM sales WHERE qty IN (1, 5, 5, NULL, 17, -4)'),
  ('SELECT count(*), sum(amount) FROM sales WHERE qty IN (1, 5, 900) AND qty > 4'),
  ('SELECT count(*) FROM sales WHERE qty IN (1.5, 2.0)'),
  ('SELECT count(*), sum(qty) FROM sales WHERE qty = ANY (NULL)'),
  ('SELECT count(*) FROM sales WHERE few IN (1, 2) AND few IN (2, 3)'),
  ('SELECT count(*), sum(amount) FROM sales WHERE sold_on IN (''2026-02-01'', ''2026-03-01'')'),
  ('SELECT region, count(*), sum(amount) FROM sales WHERE sold_on IN (''2026-02-01'', ''2026-03-01'', ''2026-03-02'') GROUP BY region'),
  ('SELECT count(*), sum(amount) FROM sales WHERE sold_on IN (''2026-02-01'', ''2026-03-01'') AND region IN (''EU'', ''US'')'),
  ('SELECT few, count(*) FROM sales WHERE few IN (1, 2) GROUP BY few'),
  ('SELECT count(*), stddev(qty) FROM sales WHERE qty < -5'),
  ('SELECT variance(qty), count(*) FROM sales WHERE qty IN (1, 2)'),
  ('SELECT min(qty), max(qty), count(*) FROM sales WHERE qty IS NOT NULL'),
  ('SELECT min(qty), max(qty) FROM sales WHERE qty > 500 AND qty < 700'),
  ('SELECT min(qty), max(qty) FROM sales WHERE qty IN (17, 900, -4)'),
  ('SELECT max(qty) FROM sales WHERE qty < -5'),
  ('SELECT region, min(sold_on), max(sold_on) FROM sales WHERE sold_on < ''2026-03-01'' GROUP BY region'),
  ('SELECT max(sold_on) AS last FROM sales WHERE region = ''EU'' AND sold_on < ''2026-03-01 12:00''::timestamp'),
  ('SELECT max(amount) FROM sales WHERE qty < 10'),
  ('SELECT max(region) FROM sales WHERE region = ''EU''')
) AS v (q);
SELECT f, off_by(format('SELECT %s(qty) FROM sales WHERE qty < 400', f), 1e-12) AS qty, off_by(format('SELECT %s(amount) FROM sales WHERE region = ''EU''', f), 1e-12) AS amount,
  off_by(format('SELECT %s(weight) FROM sales WHERE weight < 3', f), 1e-12) AS weight, off_by(format('SELECT %s(few) FROM sales WHERE few = 3', f), 1e-12) AS none
FROM unnest('{variance,var_samp,var_pop,stddev,stddev_samp,stddev_pop}'::text[]) AS f;

-- NaN is equal to itself.
CREATE TABLE odd AS SELECT (CASE i % 10 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity' ELSE (i % 10)::text END)::double precision AS x, i % 5 AS y FROM generate_series(1, 1000) AS i;
SELECT (kde_fit('odd', 'x', sample_rows => -1, measures => '{y}')).rows > 0 AS fitted, kde_set_plain_sql('odd.x', true);
SELECT pg_stat_force_next_flush();
SELECT answered_by(q) AS by, q AS query FROM (VALUES
  ('SELECT count(*), sum(y) FROM odd WHERE x IN (''NaN'', ''NaN'', 3, 3, ''Infinity'', ''Infinity'')'),
  ('SELECT count(*) FROM odd WHERE x IN (3, ''NaN'') AND x < ''NaN''')
) AS v (q);

-- A sample that met one value alone does not know that there is no other.
CREATE TABLE spikes AS SELECT i % 1000 AS x, CASE WHEN i % 997 = 0 THEN 1000 ELSE 1 END AS y FROM generate_series(1, 100000) AS i;
SELECT (kde_fit('spikes', 'x', sample_rows => 2000, seed => 1, measures => '{y}')).rows > 0 AS fitted, kde_set_plain_sql('spikes.x', true);
SELECT pg_stat_force_next_flush();
SELECT answered_by(q) AS by, q AS query FROM (VALUES
  ('SELECT round(stddev(y)) FROM spikes WHERE x BETWEEN 800 AND 820'), ('SELECT round(var_pop(y)) FROM spikes WHERE x BETWEEN 850 AND 870')
) AS v (q);

-- A constraint that PostgreSQL 18 has not validated says nothing of the rows there were.
CREATE TABLE loose AS SELECT NULLIF(i % 10, 0) AS x FROM generate_series(1, 1000) AS i;
DO $$ BEGIN
  IF current_setting('server_version_num')::integer >= 180000 THEN
    EXECUTE 'ALTER TABLE loose ADD CONSTRAINT there NOT NULL x NOT VALID';
  END IF;
END $$;
SELECT (kde_fit('loose', 'x', sample_rows => -1)).rows > 0 AS fitted, kde_set_plain_sql('loose.x', true);
SELECT pg_stat_force_next_flush();
SELECT answered_by('SELECT count(*) FROM loose') AS rows, answered_by('SELECT count(x) FROM loose') AS values;

-- Values that are beside a lattice, signed zeros, long lists, and a table of one row.
CREATE TABLE beside AS SELECT i * 0.1::double precision AS f, CASE WHEN i % 2 = 0 THEN -0.0 ELSE 0 END::double precision AS z, i % 7 AS q FROM generate_series(1, 1000) AS i;
CREATE TABLE single AS SELECT 1 AS x, 'a'::text AS r;
ANALYZE beside, single;
ALTER TABLE single ALTER x SET NOT NULL, ALTER r SET NOT NULL;
SELECT count((kde_fit('beside', c, sample_rows => -1)).rows) AS fitted FROM unnest('{f,z,q}'::text[]) AS c;
SELECT count((kde_fit('single', c)).rows) AS fitted FROM unnest('{x,r}'::text[]) AS c;
SELECT count(kde_set_plain_sql(name, true)) AS allowed FROM kde_densities_full WHERE relation IN ('beside'::regclass, 'single'::regclass);
SELECT pg_stat_force_next_flush();
-- Few rows are read as fast as many values are asked about, but where rows cost more.
SET cpu_tuple_cost = 10;
SELECT answered_by(q) AS by, q AS query FROM (VALUES
  ('SELECT max(f), min(f) FROM beside WHERE f < 0.35'),
  ('SELECT max(f) FROM beside WHERE f IS NOT NULL'),
  ('SELECT count(*) FROM beside WHERE f IN (0.1, 0.3, 0.30000000000000004)'),
  ('SELECT max(z), min(z), count(*) FROM beside WHERE z = 0'),
  ('SELECT count(*) FROM beside WHERE q = ANY (ARRAY(SELECT generate_series(1, 3)))'),
  ('SELECT count(*) FROM beside WHERE q = ANY (ARRAY(SELECT generate_series(1, 30000)))'),
  ('SELECT stddev(q), max(q) FROM beside WHERE q > 90'),
  ('SELECT count(*), max(x), sum(x), stddev(x), var_pop(x) FROM single WHERE x > 0'),
  ('SELECT r, count(*) FROM single GROUP BY r')
) AS v (q);
RESET cpu_tuple_cost;

-- Ends of intervals.
CREATE TABLE sampled AS SELECT (i * 7919 % 100003)::integer AS x, ((i * 31 % 1000) / 10.0)::numeric(8,1) AS y FROM generate_series(1, 200000::bigint) AS i;
ANALYZE sampled;
SELECT pg_stat_force_next_flush();
SET kde_aqp.sample_blocks = 100;
SELECT (kde_fit('sampled', 'x', seed => 1, measures => '{y}')).rows > 0 AS fitted, kde_set_plain_sql('sampled.x', true);
SET kde_aqp.approximate = top;
SET kde_aqp.approximate_error = 0.1;
SELECT approx_lower(count(*)) < count(*) AND approx_upper(count(*)) > count(*) AS counts, approx_lower(sum(y)) < sum(y) AND approx_upper(sum(y)) > sum(y) AS sums,
  approx_lower(avg(y)) < avg(y) AND approx_upper(avg(y)) > avg(y) AS means, scale(approx_lower(sum(y))) = 1 AS decimals,
  pg_typeof(approx_lower(count(*))) AS type, approx_lower(stddev(y)) < approx_upper(stddev(y)) AS spread
FROM sampled WHERE x < 50000 HAVING approx_lower(count(*)) > 80000;
EXPLAIN (COSTS OFF, VERBOSE) SELECT approx_upper(count(*)) - approx_lower(count(*)) AS width FROM sampled WHERE x < 50000;
-- Ends that something above the grouping would compute, of what it is shown: the exact plan's, too.
CREATE VIEW counted AS SELECT count(*) AS n FROM sampled WHERE x < 50000;
CREATE FUNCTION slow(bigint) RETURNS bigint IMMUTABLE COST 10000 LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
SET kde_aqp.approximate = 'all';
SELECT answered_by(q) AS by, q AS query FROM (VALUES
  ('SELECT approx_lower(n), n, approx_upper(n) FROM counted'),
  ('SELECT sum(approx_lower(count(*))) OVER () AS l, sum(approx_upper(count(*))) OVER () AS u FROM sampled WHERE x < 50000'),
  ('SELECT slow(approx_lower(count(*))) AS l FROM sampled WHERE x < 50000 ORDER BY count(*) LIMIT 1'),
  ('SELECT approx_upper(max(n)) AS u FROM (SELECT count(*) AS n FROM sampled WHERE x < 50000) AS s'),
  ('WITH c AS MATERIALIZED (SELECT count(*) AS n FROM sampled WHERE x < 50000) SELECT s.u FROM (SELECT approx_upper(max(n)) AS u FROM c) AS s'),
  ('SELECT approx_lower((SELECT count(*) FROM sampled WHERE x < 50000)) AS l')
) AS v (q);
SELECT l < n AND n < u AS within FROM (SELECT count(*) AS n, approx_lower(count(*)) AS l, approx_upper(count(*)) AS u FROM sampled WHERE x < 50000) AS s;
SET kde_aqp.approximate = top;
-- The exact plan's answer is itself both; and of more than an aggregate none is known.
SELECT answered_by('SELECT approx_lower(count(*)) AS l, approx_upper(sum(qty)) AS u, approx_lower(avg(qty)) AS a FROM sales WHERE qty < 100');
SELECT answered_by('SELECT approx_lower(count(*) + 1) AS l FROM sales WHERE qty < 100');
SET kde_aqp.approximate = off;
SELECT approx_lower(count(*)) AS l, count(*) AS n, approx_upper(count(*)) AS u, approx_lower(NULL::integer) AS none FROM sampled WHERE x < 50000;
RESET kde_aqp.approximate_error;

-- Of a sample most rows are told by those that they leave out, here values that lie together in some blocks; parts of
-- it are no further off than rows drawn one by one, where blocks have no effect.
CREATE TABLE burst AS SELECT CASE WHEN i BETWEEN 80000 AND 80800 THEN 500 + i % 7 ELSE i * 7919 % 1000 END AS ms FROM generate_series(1, 200000) AS i;
CREATE FUNCTION held(condition text, most double precision) RETURNS text LANGUAGE plpgsql SET kde_aqp.sample_blocks = 250 AS $$
DECLARE
  seeds CONSTANT integer := 10;
  n double precision;
  held integer := 0;
  half double precision := 0;
  f record;
BEGIN
  EXECUTE 'SELECT count(*) FROM burst WHERE ' || condition INTO n;
  FOR seed IN 1 .. seeds LOOP
    PERFORM kde_fit('burst', 'ms', seed => seed);
    SELECT (n BETWEEN count_lower AND count_upper)::integer AS held, (count_upper - count_lower) / 2 AS half INTO f FROM approx_where('burst', condition);
    held := held + f.held;
    half := half + f.half / n / seeds;
  END LOOP;
  RETURN CASE WHEN held >= 0.8 * seeds THEN 'held' ELSE held || ' held' END || CASE WHEN half > most THEN ', within ' || half ELSE '' END;
END $$;
SELECT held(c, most), c AS condition FROM (VALUES ('NOT (ms BETWEEN 500 AND 506)', 0.01), ('ms <> 503', 0.005), ('ms < 100 OR ms BETWEEN 300 AND 400 OR ms > 900', 0.015)) AS v (c, most);

-- Several densities, each for some of the aggregates; not where the query is grouped, nor a product of columns.
CREATE TABLE several AS SELECT i % 300 AS x, (i * 7919 % 1000)::integer AS y, i % 7 AS z, ('{EU,US}'::text[])[1 + i % 2] AS g FROM generate_series(1, 3000::bigint) AS i;
ALTER TABLE several ALTER x SET NOT NULL, ALTER y SET NOT NULL;
ANALYZE several;
SELECT (kde_fit('several', 'x', sample_rows => -1, measures => '{y}')).rows, (kde_fit('several', 'y', sample_rows => -1)).rows, (kde_fit('several', ARRAY['x', 'z'], seed => 1)).rows;
SELECT kde_set_plain_sql(name, true) IS NOT NULL AS allowed FROM kde_densities_full WHERE relation = 'several'::regclass;
SELECT pg_stat_force_next_flush();
SET kde_aqp.approximate_error = 0.2;
SET kde_aqp.approximate = top;
SELECT * FROM kde_explain_query('SELECT sum(y), sum(z), count(*) FROM several WHERE x < 100') WHERE answers;
EXPLAIN (COSTS OFF) SELECT sum(y), sum(z), count(*) FROM several WHERE x < 100 HAVING avg(z) > 1;
CREATE FUNCTION answered(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
    IF line LIKE '%Answered: %' THEN RETURN substring(line FROM 'Answered: (by the [a-z]+)'); END IF;
  END LOOP;
  RETURN 'not told';
END $$;
SET kde_aqp.approximate = 'all';
SELECT answered('SELECT sum(y), sum(z) FROM several WHERE x < 100') AS several, answered('SELECT sum(y) FROM several WHERE x < 100') AS one;
SET kde_aqp.approximate = top;
SELECT s.y = e.y AND s.n = e.n AS exact, abs(s.z - e.z) < 0.2 * e.z AS near
FROM (SELECT sum(y) AS y, sum(z) AS z, count(*) AS n FROM several WHERE x < 100) AS s, (SELECT 499500 AS y, 3004 AS z, 1000 AS n) AS e;
SET kde_aqp.approximate = off;
SELECT sum(y) AS y, sum(z) AS z, count(*) AS n FROM several WHERE x < 100;
SET kde_aqp.approximate = top;
SELECT count(*) FROM kde_explain_query('SELECT x, sum(y), sum(z) FROM several WHERE x < 3 GROUP BY x') WHERE answers;
SELECT count(*) FROM kde_explain_query('SELECT sum(y), sum(z) FROM several WHERE x < 100 AND y < 10') WHERE answers;
-- A category among several columns.
SELECT (kde_fit('several', ARRAY['x', 'g', 'z'], seed => 1)).rows, kde_set_plain_sql('several (x, g, z)', true);
SELECT off_by(q, 0.1), q AS query FROM (VALUES
  ('SELECT count(*) FROM several WHERE x < 100 AND g = ''EU'' AND z > 2'),
  ('SELECT sum(z) FROM several WHERE x BETWEEN 50 AND 200 AND g IN (''EU'', ''none'') AND z IS NOT NULL'),
  ('SELECT avg(z) FROM several WHERE g = ANY (''{US,EU}'') AND x < 100'),
  ('SELECT count(g) FROM several WHERE x < 100 AND z < 5'),
  ('SELECT count(*) FROM several WHERE x < 100 AND g = NULL AND z > 2'),
  ('SELECT count(*) FROM several WHERE x < 100 AND g LIKE ''E%'' AND z > 2'),
  ('SELECT count(*) FROM several WHERE x < 100 AND g > ''E'' AND z > 2'),
  ('SELECT count(*) FROM several WHERE x < 100 AND g = ''EU'' AND g = ''US'' AND z > 2')
) AS v (q);
SELECT abs(count - 285) < 30 AS near, density FROM approx_where('several', 'x < 100 AND g = ''EU'' AND z > 2');
SELECT count(*) FROM several WHERE x < 100 AND g = 'EU' AND z > 2;
RESET kde_aqp.approximate_error;
SET kde_aqp.approximate = off;

-- A function takes a condition: no consent of the density's owner, and no option of the session.
SELECT kde_set_plain_sql(name, false, filter => filter) FROM kde_densities_full WHERE relation = 'sales'::regclass AND name IN ('sales.qty', 'sales.region');
SELECT * FROM approx_where('sales', 'qty BETWEEN 10 AND 20');
SELECT * FROM approx_where('sales', 'qty BETWEEN 10 AND 20', measure => 'amount');
SELECT count, sum, density FROM approx_where('sales', 'sold_on >= ''2026-06-01'' AND region IN (''EU'', ''US'')', measure => 'amount');
SELECT (SELECT count(*) FROM sales WHERE sold_on >= '2026-06-01' AND region IN ('EU', 'US')) AS count, (SELECT sum(amount) FROM sales WHERE sold_on >= '2026-06-01' AND region IN ('EU', 'US')) AS sum;
SELECT count, exact, density FROM approx_where('sales', 'region = ''EU''');
SELECT count, exact, density FROM approx_where('sales', 'paid');
SELECT count, sum, avg FROM approx_where('sales', 'qty > 100000', measure => 'amount');
SELECT count_lower < count AND count < count_upper AS approximate, exact, density FROM approx_where('sampled', 'x < 50000');
SELECT count_lower < count AND count < count_upper AS wider FROM approx_where('sampled', 'x < 50000', changed_rows => 5000, confidence => 0.99);
-- Where none answers.
SELECT * FROM approx_where('sales', 'qty < 10 AND amount > 5');
SELECT * FROM approx_where('sales', 'qty < 10 AND amount > 5', otherwise => 'null');
SELECT count, sum, exact, density FROM approx_where('sales', 'qty < 10 AND amount > 5', measure => 'amount', otherwise => 'exact');
SELECT count(*), sum(amount) FROM sales WHERE qty < 10 AND amount > 5;
SELECT * FROM approx_where('sampled', 'x < 50000', max_relative_error => 0.000001);
SELECT count, exact, density FROM approx_where('sampled', 'x < 50000', max_relative_error => 0.000001, otherwise => 'exact');
SELECT count > 0 AS near, density FROM approx_where('sampled', 'x < 50000', max_relative_error => 0.1);
-- Conditions that the planner knows to be of no row, whatever is to be done otherwise.
CREATE TABLE parted (x integer NOT NULL) PARTITION BY RANGE (x);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (50);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (50) TO (100);
SELECT p, a.count, a.exact, a.density FROM unnest('{false,"NULL",x > 1000}'::text[]) AS p, approx_where('parted', p) AS a;
SELECT * FROM kde_explain_query('SELECT count(*) FROM parted WHERE x > 1000');
-- One within another: partitions are ruled out while the executor starts.
INSERT INTO parted SELECT i % 100 FROM generate_series(1, 1000) AS i;
CREATE FUNCTION bound() RETURNS integer STABLE LANGUAGE sql AS $$ SELECT (count / 10)::integer FROM approx_where('sales', 'qty < 10') $$;
SELECT count, density FROM approx_where('sales', 'qty < (SELECT count(*) FROM parted WHERE x < bound())');
SELECT count(*) FROM sales WHERE qty < (SELECT count(*) FROM parted WHERE x < bound());
-- NaN is no NULL.
SELECT count, sum, avg, avg_upper, exact FROM approx_where('odd', 'y < 2', measure => 'x', otherwise => 'exact');
CREATE TABLE bare AS SELECT 1 AS x;
SELECT * FROM approx_where('bare', 'x = 1');
SELECT count FROM approx_where('bare', 'x = 1', otherwise => 'exact');
CREATE VIEW recent AS SELECT sold_on AS day, amount FROM sales WHERE sold_on >= '2026-03-01';
SELECT count, density FROM approx_where('recent', 'day < ''2026-04-01''');
CREATE VIEW joined AS SELECT s.qty FROM sales AS s, bare;
SELECT * FROM approx_where('joined', 'qty < 5');
-- Subqueries that are known before; those of each row are the exact plan's.
SELECT count, density FROM approx_where('sales', 'qty < (SELECT 100)');
SELECT count, density FROM approx_where('sales', 'qty < (SELECT count(*) FROM sales WHERE few = 3)', otherwise => 'exact');
SELECT count, density FROM approx_where('sales', 'qty < (SELECT s.few FROM sales AS s WHERE s.qty = sales.qty LIMIT 1)', otherwise => 'exact');
-- Bad input.
SELECT * FROM approx_where('sales', 'qty < 10) OR (true');
SELECT * FROM approx_where('sales', 'true) GROUP BY qty --');
SELECT * FROM approx_where('sales', 'true) UNION ALL (SELECT 1');
SELECT * FROM approx_where('sales', 'qty < 10; DROP TABLE sales');
SELECT * FROM approx_where('sales', 'nothing < 10');
SELECT * FROM approx_where('sales', 'qty');
SELECT * FROM approx_where('sales', 'count(*) > 1');
SELECT * FROM approx_where('sales', '');
SELECT try($$SELECT approx_where('sales', 'qty < 10', measure => 'region')$$);
SELECT try($$SELECT approx_where('sales', 'qty < 10', measure => 'amount, qty')$$);
SELECT * FROM approx_where('sales', 'qty < 10', measure => 'amount + nothing');
SELECT * FROM approx_where('sales', 'qty < 10', 'amount');
SELECT * FROM approx_where('sales', 'qty < 10', max_relative_error => -1);
SELECT * FROM approx_where('sales', 'qty < 10', otherwise => 'perhaps');
SELECT * FROM approx_where('sales', 'qty < 10', confidence => 1);
SELECT * FROM approx_where('nowhere', 'qty < 10');
SELECT * FROM approx_where(0, 'qty < 10');
SELECT * FROM approx_where(NULL, 'qty < 10');
SELECT * FROM approx_where('sales', NULL);

-- Why a query is answered by which, or not.
SELECT * FROM kde_explain_query('SELECT count(*) FROM sales WHERE qty < 10');
SELECT * FROM kde_explain_query('SELECT region, sum(amount) FROM sales WHERE sold_on < ''2026-03-01'' GROUP BY region');
SELECT * FROM kde_explain_query('SELECT (SELECT count(*) FROM sampled WHERE x < s.few) FROM sales AS s');
SELECT density, reason FROM kde_explain_query('SELECT to_char(sold_on, ''YYYY-MM''), count(*) FROM sales GROUP BY 1') LIMIT 1;
SELECT density, reason FROM kde_explain_query('SELECT k, (SELECT count(*) FROM sales WHERE sold_on < ''2026-03-01'' AND to_char(sold_on, ''DD'') = ''07'' AND qty % k = 0) FROM generate_series(1, 2) AS k') LIMIT 1;
SELECT density, reason FROM kde_explain_query('SELECT count(*) FROM sales WHERE to_char(sold_on, ''DD'') = ''07''') LIMIT 1;
SELECT * FROM kde_explain_query('SELECT bit_or(x) FROM sampled');
SELECT * FROM kde_explain_query('SELECT count(*) FROM sampled WHERE x < 5 AND random() < 0.5');
SELECT * FROM kde_explain_query('SELECT count(DISTINCT x) FROM sampled');
SELECT * FROM kde_explain_query('SELECT count(*) FROM sampled, sales');
SELECT * FROM kde_explain_query('SELECT count(*) FROM sampled TABLESAMPLE system (10)');
SELECT * FROM kde_explain_query('SELECT count(*) FROM bare');
SELECT * FROM kde_explain_query('SELECT x FROM sampled');
SELECT * FROM kde_explain_query('DELETE FROM sampled');
SELECT * FROM kde_explain_query('SELECT 1; SELECT 2');
SELECT * FROM kde_explain_query('SELECT nothing FROM sampled');
SELECT * FROM kde_explain_query(NULL);
-- With parameters, which have no values, as prepared statements and pg_stat_statements have them.
SELECT density, answers, reason FROM kde_explain_query('SELECT count(*) FROM sales WHERE qty < $1') LIMIT 1;
SELECT density, answers, reason FROM kde_explain_query('SELECT region, date_trunc($1, sold_on), sum(amount) FROM sales WHERE sold_on BETWEEN $2 AND $3 AND region = $4 GROUP BY 1, 2') LIMIT 1;
SELECT density, answers, reason FROM kde_explain_query('SELECT count(*) FROM sales WHERE sold_on < date $1 + $2') LIMIT 1;
SELECT density, answers, reason FROM kde_explain_query('PREPARE few AS SELECT count($1) FROM sales WHERE qty < $2') LIMIT 1;
SELECT * FROM kde_explain_query('SELECT count(*) FROM sales WHERE nothing < $1');
SELECT * FROM kde_explain_query('DELETE FROM sampled WHERE x = $1');
-- Of a join the table that matters, in whatever order, whether it is answered or not.
CREATE TABLE regions AS SELECT r AS name, r = 'EU' AS near FROM unnest('{EU,US,Asia}'::text[]) AS r;
ANALYZE regions;
SELECT query, e.* FROM unnest(ARRAY[
  'SELECT r.near, sum(s.amount) FROM regions AS r JOIN sales AS s ON r.name = s.region WHERE s.sold_on < ''2026-03-01'' GROUP BY 1',
  'SELECT r.near, sum(s.amount) FROM regions AS r FULL JOIN sales AS s ON r.name = s.region GROUP BY 1',
  'SELECT count(*) FROM regions AS r, sales AS s WHERE r.name < s.region']) AS query,
  LATERAL (SELECT relation, density, answers, reason FROM kde_explain_query(query) LIMIT 1) AS e;

-- Privileges are the statement's; who may not read a density's columns learns nothing of it.
CREATE ROLE regress_kde_where;
GRANT USAGE ON SCHEMA plain_where TO regress_kde_where;
GRANT SELECT (qty) ON sales TO regress_kde_where;
SET ROLE regress_kde_where;
SELECT count FROM approx_where('sales', 'qty < 100');
SELECT count FROM approx_where('sales', 'qty < 100', measure => 'amount');
SELECT count FROM approx_where('sales', 'region = ''EU''');
SELECT density, answers, reason FROM kde_explain_query('SELECT count(*) FROM sales WHERE few = 1');
RESET ROLE;
ALTER TABLE sales ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON sales USING (qty < 50);
SET ROLE regress_kde_where;
SELECT count FROM approx_where('sales', 'qty < 100');
RESET ROLE;

-- Who may read a view alone is told what plain SQL does there, as EXPLAIN tells him, and no names.
ALTER TABLE sales DISABLE ROW LEVEL SECURITY;
REVOKE SELECT (qty) ON sales FROM regress_kde_where;
CREATE VIEW seen AS SELECT * FROM sales;
CREATE VIEW seen_by_region AS SELECT region, count(*) AS n FROM sales WHERE sold_on < '2026-03-01' GROUP BY region;
GRANT SELECT ON seen, seen_by_region TO regress_kde_where;
CREATE FUNCTION explained(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN RETURN QUERY EXECUTE 'EXPLAIN ' || query; END $$;
SET kde_aqp.approximate = 'all';
SET ROLE regress_kde_where;
SELECT query, e.*, EXISTS (SELECT FROM explained(query) AS line WHERE line LIKE '%KdeAqp%') AS in_plan
FROM unnest(ARRAY['SELECT count(*) FROM seen WHERE sold_on < ''2026-03-01''', 'SELECT * FROM seen_by_region',
  'SELECT max(amount) FROM seen WHERE region = ''EU''', 'SELECT count(*) FROM seen WHERE qty < 10', 'SELECT bit_or(qty) FROM seen']) AS query, kde_explain_query(query) AS e;
SELECT try('SELECT kde_explain_query(''SELECT count(*) FROM sales WHERE qty < 10'')');
RESET ROLE;
RESET kde_aqp.approximate;

DROP SCHEMA plain_where CASCADE;
DROP ROLE regress_kde_where;
