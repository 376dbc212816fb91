-- kde_agg and rollup: what they count, under every plan, and what is done with their densities.
--
-- Columns of few distinct values are held exactly: whatever the plan, their densities have the same
-- text. Others are compared within the error they state.
\set ECHO none \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS aggregate CASCADE;
CREATE SCHEMA aggregate;
SET search_path = aggregate, public;
RESET client_min_messages;
SET datestyle = 'ISO, YMD';
SET timezone = 'UTC';
SET intervalstyle = 'postgres';

-- ---------------------------------------------------------------------------------------------
-- Every type; domains are looked through. 100 values, each of 1 to 50 twice, and a NULL.
CREATE DOMAIN price AS numeric(10, 2);
CREATE DOMAIN dear AS price CHECK (value > 0);
CREATE TABLE typed AS SELECT i::smallint AS int2, i AS int4, i::bigint AS int8, (i / 4.0)::real AS float4,
  i / 8.0::float8 AS float8, i / 10.0 AS "numeric", (i / 100.0)::dear AS "domain",
  date '2026-01-01' + i AS "date", timestamp '2026-01-01' + i * interval '1 hour' AS "timestamp",
  timestamptz '2026-01-01' + i * interval '1 minute' AS "timestamptz", i * interval '1 second' AS "interval"
FROM (SELECT (n - 1) % 50 + 1 FROM generate_series(1, 100) AS n) AS g(i);
INSERT INTO typed DEFAULT VALUES;
CREATE TABLE of_type (name name, d kde, half float8);
\set ECHO queries
-- Half of the values are up to the median, which is one of them.
DO $$
DECLARE
  c name;
BEGIN
  FOR c IN SELECT attname FROM pg_attribute WHERE attrelid = 'typed'::regclass AND attnum > 0 ORDER BY attnum LOOP
    EXECUTE format('INSERT INTO of_type SELECT %1$L, d, approx_count(d, NULL, (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY %1$I) FROM typed)) '
                   'FROM (SELECT kde_agg(%1$I) AS d FROM typed) AS a', c);
  END LOOP;
END $$;
SELECT name, value_type, kind, method, rows, nulls, sample_rows, every_row_read, lower, upper, round(mean::numeric, 4) AS mean,
  lattice_step, representation_error AS error, half
FROM of_type, kde_info(d);
SELECT approx_avg_as(d, NULL::date) AS avg, approx_quantile_as(d, 0.5, NULL::date) AS median FROM of_type WHERE name = 'date';

-- ---------------------------------------------------------------------------------------------
-- NULL, NaN and infinities count apart; no rows are no density, NULLs alone are one of no rows.
CREATE TABLE special (x float8);
INSERT INTO special SELECT '-infinity' FROM generate_series(1, 2);
INSERT INTO special SELECT i % 3 + 1 FROM generate_series(1, 30) AS i;
INSERT INTO special SELECT 'infinity' FROM generate_series(1, 3);
INSERT INTO special SELECT 'NaN' FROM generate_series(1, 4);
INSERT INTO special SELECT NULL FROM generate_series(1, 5);
CREATE VIEW one AS SELECT kde_agg(x) AS d FROM special;
SELECT rows, nulls, nans, sample_rows, lower, upper, mean FROM one, kde_info(d);
SELECT low, high, approx_count(d, low, high) AS count,
  (SELECT count(*) FROM special WHERE (x >= low OR low IS NULL AND x IS NOT NULL)
                                  AND (x <= high OR high IS NULL AND x IS NOT NULL)) AS exact
FROM one, (VALUES
  (NULL::float8, NULL::float8), (NULL, 2), (2, NULL), (2, 2), (0, 4), (1.5, 1.7), (3, 1), (4, 9),
  ('-infinity', '-infinity'), ('-infinity', 1), ('infinity', 'infinity'), (3, 'infinity'), ('NaN', 'NaN'),
  (NULL, 'NaN'), ('-infinity', 'infinity')) AS v(low, high);
SELECT approx_sum(d, 1, 3) AS finite, approx_sum(d, '1', 'infinity') AS up, approx_avg(d, 2, 3) AS avg,
  round(approx_variance(d, 1, 3)::numeric, 6) AS variance, round(approx_stddev(d, 2, 3)::numeric, 6) AS stddev,
  approx_quantile(d, ARRAY[0, 0.1, 0.5, 0.8, 0.9, 1]) AS quantiles, kde_cdf(d, 2) * 39 AS below FROM one;
SELECT approx_sum(d) FROM one;
SELECT kde_agg(x) IS NULL AS empty, kde_agg(x, 'plugin') IS NULL AS also FROM special WHERE false;
SELECT kde_agg(x) IS NULL AS empty_group FROM special WHERE false GROUP BY x;
SELECT rows, nulls, lower, mean, bandwidth, approx_count(d) AS count, approx_avg(d) AS avg, approx_quantile(d, 0.5) AS median, kde_pdf(d, 1) AS pdf
FROM (SELECT kde_agg(NULL::integer) AS d FROM generate_series(1, 7)) AS a, kde_info(d);
SELECT rows, nans, lower, approx_count(d) AS count, approx_count(d, 0, 1) AS none
FROM (SELECT kde_agg('NaN'::numeric) AS d FROM generate_series(1, 7)) AS a, kde_info(d);

-- ---------------------------------------------------------------------------------------------
-- Weights count as so many rows; rows of weight 0 or NULL are left out.
SELECT rows, nulls, sample_rows, mean, approx_count(d, 2, 3) AS count, approx_sum(d) AS sum,
  approx_quantile(d, 0.5) AS median, approx_count(d, 4, 5) AS left_out
FROM (SELECT kde_agg(x, 'auto', w) AS d
      FROM (VALUES (1, 1), (2, 2), (3, 5), (4, 0), (5, NULL), (NULL, 3), (NULL, NULL)) AS v(x, w)) AS a, kde_info(d);
SELECT rows, approx_count(d, NULL, 1) AS count, approx_avg(d) AS avg
FROM (SELECT kde_agg(x, 'auto', w) AS d FROM (VALUES (1, 0.25), (2, 0.75)) AS v(x, w)) AS a, kde_info(d);
SELECT kde_agg(x, 'auto', 0) IS NULL AS nothing, kde_agg(x, 'auto', NULL) IS NULL AS unknown FROM special;
-- As often as its weight says, it counts as that many rows; the bandwidth goes by the rows there are.
SELECT approx_count(weighted, 3, 7) = approx_count(repeated, 3, 7) AS count, approx_sum(weighted) = approx_sum(repeated) AS sum,
  approx_variance(weighted) = approx_variance(repeated) AS variance, kde_cdf(weighted, 6) = kde_cdf(repeated, 6) AS cdf
FROM (SELECT kde_agg(i, 'auto', i) FROM generate_series(1, 10) AS i) AS w(weighted),
  (SELECT kde_agg(i) FROM generate_series(1, 10) AS i, generate_series(1, i)) AS r(repeated);

-- ---------------------------------------------------------------------------------------------
-- Methods: the bandwidth is that of all values (kde_bandwidth's of an array holds each), and by name
-- the answers are the kernel's.
CREATE TABLE waves AS SELECT (30 + 10 * sin(i) + 5 * cos(i * i / 100.0))::float8 AS x FROM generate_series(1, 2000) AS i;
SELECT m AS method, info.method AS used, abs(info.bandwidth / kde_bandwidth(v, m) - 1) < 0.001 AS bandwidth,
  approx_count(d, NULL, lower::float8 - 0.01 * info.bandwidth) > 0 AS beyond, approx_count(d) AS all
FROM unnest(ARRAY['plugin', 'silverman', 'normal_reference', 'scott', 'sheather_jones', 'lscv', 'smoothed_cv']) WITH ORDINALITY AS u(m, n),
  LATERAL (SELECT kde_agg(x, m) AS d, array_agg(x) AS v FROM waves) AS a, kde_info(d) AS info ORDER BY n;
SELECT (SELECT kde_agg(x)::text FROM waves) = (SELECT kde_agg(x, 'auto')::text FROM waves) AS auto_is_the_default;

-- ---------------------------------------------------------------------------------------------
-- Bytes: the most that a value takes. Counts are wrong by no more than the value says.
CREATE TABLE smooth AS SELECT exp(sin(i * 0.7) * 2 + cos(i * 1.3)) AS x FROM generate_series(1, 30000) AS i;
CREATE VIEW sized AS SELECT b, d FROM unnest(ARRAY[512, 1000, 2048, 4096, 8192, 16384, 262144]) AS b,
  LATERAL (SELECT kde_agg(x, 'auto', 1, b) AS d FROM smooth) AS a;
CREATE FUNCTION worst(d kde) RETURNS float8 LANGUAGE sql AS $$
  SELECT max(abs(approx_count(d, NULL, q) - exact)) / 30000
  FROM (SELECT x AS q, rank() OVER (ORDER BY x) - 1 + count(*) OVER (PARTITION BY x) AS exact FROM smooth) AS s $$;
SELECT b, bytes <= b AS fits, cells > b / 24 AS used, worst(d) <= representation_error + 1e-9 AS honest,
  representation_error < 48.0 / b AS fine
FROM sized, kde_info(d);
SELECT (SELECT d::text FROM sized WHERE b = 262144) = (SELECT kde_agg(x)::text FROM smooth) AS density_bytes_is_the_default;

-- ---------------------------------------------------------------------------------------------
-- Under every plan. 300 groups of 100 values out of 40.
CREATE TABLE facts AS SELECT i % 300 AS g, (i * i + i / 7) % 40 AS v, i % 2 AS h FROM generate_series(1, 30000) AS i;
ANALYZE facts;
CREATE TABLE by_group AS SELECT g, kde_agg(v) AS d FROM facts GROUP BY g;
SELECT count(*), sum(approx_count(d)) AS rows, bool_and(approx_count(d, 10, 20) = exact) AS exact,
  bool_and(abs(approx_sum(d, 10, 20) - total) < 1e-9 * total) AS sum
FROM by_group JOIN (SELECT g, count(*) FILTER (WHERE v BETWEEN 10 AND 20) AS exact, sum(v) FILTER (WHERE v BETWEEN 10 AND 20) AS total
                    FROM facts GROUP BY g) AS e USING (g);

-- Which of these nodes the plan of a query has.
CREATE FUNCTION has_nodes(query text, VARIADIC nodes text[]) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  line text;
  plan text := '';
  node text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP plan := plan || line; END LOOP;
  FOREACH node IN ARRAY nodes LOOP
    IF strpos(plan, node) = 0 THEN
      RAISE NOTICE 'no % in %', node, plan;
      RETURN false;
    END IF;
  END LOOP;
  RETURN true;
END $$;
-- How many groups of a query (g, d) have the density that they have in a table.
CREATE FUNCTION same_groups(query text, kept regclass DEFAULT 'by_group') RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  n bigint;
BEGIN
  EXECUTE format('SELECT count(*) FROM (%s) AS q(g, d) JOIN %s AS k ON k.g IS NOT DISTINCT FROM q.g AND k.d::text = q.d::text', query, kept) INTO n;
  RETURN n;
END $$;
SET max_parallel_workers_per_gather = 0;
SET enable_sort = off;
SELECT has_nodes('SELECT g, kde_agg(v) FROM facts GROUP BY g', 'HashAggregate') AS hashed, same_groups('SELECT g, kde_agg(v) FROM facts GROUP BY g');
-- In so little memory that groups spill.
SET work_mem = '64kB';
SELECT has_nodes('SELECT g, kde_agg(v) FROM facts GROUP BY g', 'HashAggregate') AS hashed, same_groups('SELECT g, kde_agg(v) FROM facts GROUP BY g');
RESET work_mem;
RESET enable_sort;
SET enable_hashagg = off;
SELECT has_nodes('SELECT g, kde_agg(v) FROM facts GROUP BY g', 'GroupAggregate', 'Sort') AS sorted, same_groups('SELECT g, kde_agg(v) FROM facts GROUP BY g');
RESET enable_hashagg;

-- Cells are fine where one state is in memory at a time, coarse where groups are hashed.
CREATE TABLE roots AS SELECT i % 2 AS g, sqrt(i) AS v FROM generate_series(1, 200000) AS i;
ANALYZE roots;
-- How far off the worst of a query's densities (g, d) is, in shares of a coarse cell.
CREATE FUNCTION coarse_cells_off(query text) RETURNS double precision LANGUAGE plpgsql AS $$
DECLARE
  worst double precision;
BEGIN
  EXECUTE format('SELECT max(9216 * representation_error) FROM (%s) AS q(g, d), kde_info(d)', query) INTO worst;
  RETURN worst;
END $$;
SELECT coarse_cells_off('SELECT 0, kde_agg(v) FROM roots') < 1.4 AS plain;
SET enable_hashagg = off;
SELECT coarse_cells_off('SELECT g, kde_agg(v) FROM roots GROUP BY g') < 1.4 AS sorted;
RESET enable_hashagg;
SET enable_sort = off;
SELECT coarse_cells_off('SELECT g, kde_agg(v) FROM roots GROUP BY g') BETWEEN 1.4 AND 4 AS hashed;
RESET enable_sort;
DROP TABLE roots;

-- The order of the rows, and the way they came together.
SELECT same_groups('SELECT g, kde_agg(v ORDER BY v DESC) FROM facts GROUP BY g') AS ordered,
  same_groups('SELECT g, kde_agg(v) FILTER (WHERE h = 1 OR h = 0) FROM facts GROUP BY g') AS filtered;
SELECT approx_count(kde_agg(v) FILTER (WHERE h = 1)) AS odd, approx_count(kde_agg(DISTINCT v)) AS distinct,
  approx_count(kde_agg(v, 'auto', 2)) AS twice, kde_agg(v) FILTER (WHERE h = 2) IS NULL AS none FROM facts;
SELECT sets, count(*), sum(approx_count(d)) AS rows FROM (
  SELECT grouping(t, h) AS sets, kde_agg(v) AS d FROM (SELECT g % 10 AS t, h, v FROM facts) AS f GROUP BY GROUPING SETS ((t, h), (t), (h), ())) AS s
GROUP BY sets ORDER BY sets;

-- A moving frame: what the final function leaves behind is what the next row goes on with.
CREATE TABLE steps AS SELECT i, CASE WHEN i % 7 <> 0 THEN i * i % 11 END AS v FROM generate_series(1, 200) AS i;
SELECT count(*), bool_and(d::text IS NOT DISTINCT FROM direct::text) AS same FROM (
  SELECT i, kde_agg(v) OVER (ORDER BY i ROWS BETWEEN 20 PRECEDING AND 3 FOLLOWING) AS d FROM steps) AS w,
  LATERAL (SELECT kde_agg(s.v) AS direct FROM steps AS s WHERE s.i BETWEEN w.i - 20 AND w.i + 3) AS s;
SELECT count(*), bool_and(d::text = direct::text) AS same FROM (
  SELECT i, kde_agg(v) OVER (ORDER BY i) AS d FROM steps) AS w,
  LATERAL (SELECT kde_agg(s.v) AS direct FROM steps AS s WHERE s.i <= w.i) AS s;
SELECT count(*) FROM (SELECT rollup(d) OVER (ORDER BY g ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS d FROM by_group) AS w
WHERE approx_count(d) = 200;
-- Also where the values come in batches that are not yet folded into cells.
SELECT bool_and(approx_count(d) = i) AS counts, bool_and(abs(approx_quantile(d, 0.5) - i / 2.0) <= 1 + i * error) AS medians
FROM (SELECT i, kde_agg(i) OVER (ORDER BY i) AS d FROM generate_series(1, 3000) AS i) AS w,
  LATERAL (SELECT representation_error AS error FROM kde_info(d)) AS e WHERE i % 500 = 0;

-- ---------------------------------------------------------------------------------------------
-- In parallel.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT has_nodes('SELECT kde_agg(v) FROM facts', 'Partial Aggregate', 'Gather') AS parallel,
  has_nodes('SELECT g, kde_agg(v) FROM facts GROUP BY g', 'Partial', 'Gather') AS grouped;
SELECT same_groups('SELECT g, kde_agg(v) FROM facts GROUP BY g');
CREATE TABLE whole AS SELECT kde_agg(v) AS parallel, kde_agg(v, 'plugin', 1, 2048) AS plugin FROM facts;
SET max_parallel_workers_per_gather = 0;
SELECT parallel::text = (SELECT kde_agg(v)::text FROM facts) AS same,
  plugin::text = (SELECT kde_agg(v, 'plugin', 1, 2048)::text FROM facts) AS also FROM whole;
-- All four forms of both aggregates; NULLs, and a worker without rows.
SET max_parallel_workers_per_gather = 2;
SELECT approx_count(kde_agg(v)) AS rows, approx_count(kde_agg(v, 'scott')) AS scott, approx_count(kde_agg(v, 'auto', 0.5)) AS halves,
  approx_count(kde_agg(v, 'auto', 0.5, 512)) AS small, approx_count(kde_agg(nullif(v, 0))) AS not_zero, kde_agg(v, 'auto', nullif(h, h)) IS NULL AS none,
  kde_agg(v) FILTER (WHERE g = 400) IS NULL AS no_rows, approx_count(kde_agg(v) FILTER (WHERE g = 7)) AS few FROM facts;
SELECT approx_count(rollup(d)) AS rows, approx_count(rollup(d, 512)) AS small, rollup(d) FILTER (WHERE g = 400) IS NULL AS none FROM by_group;
-- Values beyond those a state holds one by one: within what each says of itself.
CREATE TABLE large AS SELECT exp(sin(i * 0.7) * 2 + cos(i * 1.3) + i % 5) AS x FROM generate_series(1, 60000) AS i;
ANALYZE large;
CREATE TABLE large_whole AS SELECT kde_agg(x) AS d FROM large;
SET max_parallel_workers_per_gather = 0;
INSERT INTO large_whole SELECT kde_agg(x) FROM large;
SELECT bytes <= 262144 AS fits, abs(rows - 60000) < 1e-6 AS rows, abs(mean / (SELECT avg(x) FROM large) - 1) < 1e-12 AS mean,
  abs(stddev / (SELECT stddev_pop(x) FROM large) - 1) < 1e-12 AS stddev, lower::float8 = (SELECT min(x) FROM large) AS lower, upper::float8 = (SELECT max(x) FROM large) AS upper,
  (SELECT max(abs(approx_count(d, NULL, q) - exact)) / 60000
   FROM (SELECT x AS q, rank() OVER (ORDER BY x) - 1 + count(*) OVER (PARTITION BY x) AS exact FROM large) AS s WHERE exact % 7 = 0) <= representation_error + 1e-9 AS honest,
  representation_error < 0.003 AS fine
FROM large_whole, kde_info(d);

-- Partition by partition.
CREATE TABLE parts (g integer, v integer) PARTITION BY LIST (g);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES IN (0, 1, 2);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (3, 4);
CREATE TABLE parts_2 PARTITION OF parts DEFAULT;
INSERT INTO parts SELECT g % 10, v FROM facts;
ANALYZE parts;
CREATE TABLE thirds AS SELECT v % 3 AS g, kde_agg(v) AS d FROM parts GROUP BY v % 3;
CREATE TABLE by_part AS SELECT g, kde_agg(v) AS d FROM parts GROUP BY g;
SET enable_partitionwise_aggregate = on;
SELECT has_nodes('SELECT g, kde_agg(v) FROM parts GROUP BY g', 'Append') AS partitioned, same_groups('SELECT g, kde_agg(v) FROM parts GROUP BY g', 'by_part');
-- By a key that is not the partitions', parts of groups are combined.
SELECT has_nodes('SELECT v % 3, kde_agg(v) FROM parts GROUP BY v % 3', 'Partial', 'Finalize', 'Append') AS partial,
  same_groups('SELECT v % 3, kde_agg(v) FROM parts GROUP BY v % 3', 'thirds');
RESET enable_partitionwise_aggregate;

-- ---------------------------------------------------------------------------------------------
-- Rolled up: what groups hold is what the whole holds; so are groups of groups.
SELECT rollup(d, 262144)::text = rollup(d)::text AS bytes FROM by_group;
-- Of several roundings of a mean the last digits, and those of the bandwidth, which goes by the variance.
CREATE FUNCTION others(d kde) RETURNS bytea LANGUAGE sql AS $$
  SELECT overlay(overlay(kde_aqp.kde_send(d) PLACING int8send(0) FROM 73) PLACING int8send(0) || int8send(0) FROM 121) $$;
CREATE FUNCTION alike(a kde, b kde) RETURNS boolean LANGUAGE sql AS $$
  SELECT others(a) = others(b)
    AND abs(x.mean - y.mean) <= 1e-13 * x.stddev AND abs(x.stddev / y.stddev - 1) < 1e-13 AND abs(x.bandwidth / y.bandwidth - 1) < 1e-9
  FROM kde_info(a) AS x, kde_info(b) AS y $$;
SELECT alike(rollup(d), (SELECT kde_agg(v) FROM facts)) AS same FROM by_group;
SELECT alike(rollup(t), (SELECT kde_agg(v) FROM facts)) AS again
FROM (SELECT rollup(d) AS t FROM (TABLE by_group UNION ALL SELECT NULL::integer, NULL::kde) AS n GROUP BY g % 10) AS tens;
SELECT rollup(d) IS NULL AS none FROM by_group WHERE false;
SELECT rollup(NULL::kde) IS NULL AS nulls, rollup(NULL::kde, 512) IS NULL AS also FROM generate_series(1, 3);
SELECT rows, nulls, nans, lower, upper, approx_count(d, 'infinity', 'infinity') AS infinite
FROM (SELECT rollup(d) AS d FROM (SELECT kde_agg(x) AS d FROM special UNION ALL SELECT kde_agg(NULL::float8) UNION ALL SELECT kde_agg(x) FROM special) AS s) AS r, kde_info(d);
SELECT m AS method, info.method AS used, alike(rollup, direct) AS same
FROM unnest(ARRAY['auto', 'plugin', 'silverman', 'lscv']) WITH ORDINALITY AS u(m, n),
  LATERAL (SELECT rollup(d) AS rollup FROM (SELECT kde_agg(v, m) AS d FROM facts GROUP BY g % 10) AS t) AS r,
  LATERAL (SELECT kde_agg(v, m) AS direct FROM facts) AS w, kde_info(rollup) AS info ORDER BY n;
-- Many values: within what the result says of itself.
SELECT rows = 60000 AS rows, bytes <= b AS fits, abs(mean / (SELECT avg(x) FROM large) - 1) < 1e-12 AS mean,
  (SELECT max(abs(approx_count(d, NULL, q) - exact)) / 60000
   FROM (SELECT x AS q, rank() OVER (ORDER BY x) - 1 + count(*) OVER (PARTITION BY x) AS exact FROM large) AS s WHERE exact % 7 = 0) <= representation_error + 1e-9 AS honest
FROM unnest(ARRAY[2048, 16384]) AS b,
  LATERAL (SELECT rollup(part, b) AS d FROM (SELECT kde_agg(x) AS part FROM (SELECT x, ntile(12) OVER () AS t FROM large) AS l GROUP BY t) AS parts) AS r, kde_info(d);

-- Times and a measure: of an hour, rolled up by the day, by the week of these, and of all of them, sums between
-- midnights of a zone are those of the rows; within an hour they are held.
CREATE TABLE visits AS SELECT '2026-01-01'::timestamptz + i * interval '97.31 seconds' AS at, (i * 7919 % 100003)::numeric / 100 AS paid
FROM generate_series(1, 50000) AS i;
CREATE TABLE hourly AS SELECT date_trunc('hour', at) AS hour, kde_agg(at, paid::float8) AS d FROM visits GROUP BY 1;
CREATE VIEW rolled AS SELECT 'hours' AS parts, rollup(d) AS d FROM hourly
  UNION ALL SELECT 'days', rollup(d) FROM (SELECT rollup(d) AS d FROM hourly GROUP BY date_trunc('day', hour)) AS s
  UNION ALL SELECT 'small days', rollup(d) FROM (SELECT rollup(d, 4096) AS d FROM hourly GROUP BY date_trunc('day', hour)) AS s
  UNION ALL SELECT 'weeks of days', rollup(d) FROM (SELECT rollup(d) AS d FROM (SELECT date_trunc('day', hour) AS day, rollup(d) AS d FROM hourly GROUP BY 1) AS s GROUP BY date_trunc('week', day)) AS s;
CREATE TABLE asked AS SELECT when_asked, tstzrange(a, a + width) AS r, rows, paid
FROM (SELECT 'whole hours' AS when_asked, '2026-01-03'::timestamptz + i * interval '37 hours' AS a FROM generate_series(0, 29) AS i
      UNION ALL SELECT 'any time', '2026-01-05'::timestamptz + i * interval '4321.7 seconds' FROM generate_series(1, 29) AS i) AS s,
  unnest(ARRAY[interval '1 hour', '1 day', '9 days 5 hours']) AS width,
  LATERAL (SELECT count(*) AS rows, sum(v.paid) AS paid FROM visits AS v WHERE at >= a AND at < a + width) AS exact;
SELECT parts, when_asked, bool_and(c.lower_bound = rows AND c.upper_bound = rows AND round(s.lower_bound::numeric, 2) = paid AND round(s.upper_bound::numeric, 2) = paid) AS exact,
  bool_and(rows BETWEEN c.lower_bound AND c.upper_bound AND paid BETWEEN s.lower_bound - 1e-6 AND s.upper_bound + 1e-6) AS held, bool_and(c.upper_bound - c.lower_bound <= 74) AS within_two_hours
FROM rolled, asked, LATERAL approx_count_ci(d, r) AS c, LATERAL approx_sum_ci(d, r, measure => '2') AS s GROUP BY 1, 2 ORDER BY 1, 2;

-- What doubles have not is told: weights beside one 1e16 times as large, a measure beside one such value. Cells of
-- a century may lie on both sides of 1970, whose first second is an end of none.
CREATE TABLE weighed AS SELECT i AS x, CASE WHEN i = 1 THEN 1e15 ELSE 0.1 END AS w, CASE WHEN i = 1 THEN 1e9 / 3 ELSE (i % 7) / 3::float8 END AS y FROM generate_series(1, 1000) AS i;
SELECT 99.9 BETWEEN c.lower_bound AND c.upper_bound AS weights, v.exact BETWEEN m.lower_bound AND m.upper_bound AS variance
FROM (SELECT kde_agg(x, 'auto', w) AS d, kde_agg(x, y) AS measured, var_samp(y) FILTER (WHERE x > 1) AS exact FROM weighed) AS v,
  LATERAL approx_count_ci(d, 2, 1000) AS c, LATERAL approx_variance_ci(measured, 2, 1000, measure => '2') AS m;
CREATE TABLE centuries AS SELECT '0101-01-01'::timestamp + i * interval '33 years 5 days 1 hour 0.123457 second' AS x FROM generate_series(0, 290) AS i;
INSERT INTO centuries VALUES ('1970-01-01'), ('1988-05-05');
SELECT b, exact BETWEEN c.lower_bound AND c.upper_bound AS held, d::text::kde::text = d::text AS text
FROM unnest(ARRAY[512, 600, 800, 1000, 4000]) AS b, LATERAL (SELECT kde_agg(x, 'auto', 1, b) AS d, count(*) FILTER (WHERE x <= '1969-12-31') AS exact FROM centuries) AS s,
  LATERAL approx_count_ci(d, NULL, '1969-12-31'::timestamp) AS c;
-- Uneven values: no cell has many of them, as if there was one step for all.
SELECT representation_error < 0.01 AS even, q.lower_bound <= exact AND exact <= q.upper_bound AS quantile, q.upper_bound / q.lower_bound < 2 AS near
FROM (SELECT kde_agg(x) AS d, percentile_disc(0.05) WITHIN GROUP (ORDER BY x) AS exact FROM (SELECT exp(40 * ((i * 0.6180339887) % 1)) AS x FROM generate_series(1, 200000) AS i) AS s) AS s,
  kde_info(d), LATERAL approx_quantile_ci(d, 0.05) AS q;

-- ---------------------------------------------------------------------------------------------
-- Stored, written and read.
CREATE TABLE kept (name text, d kde);
INSERT INTO kept SELECT name, d FROM of_type UNION ALL SELECT 'sized ' || b, d FROM sized UNION ALL SELECT 'special', d FROM one UNION ALL SELECT 'large', d FROM large_whole;
INSERT INTO kept SELECT 'none', kde_agg(NULL::date);
CREATE TABLE again (name text, d kde);
COPY kept TO PROGRAM 'cat > kde_aggregate_test' (FORMAT binary);
COPY again FROM PROGRAM 'cat kde_aggregate_test; rm kde_aggregate_test' (FORMAT binary);
SELECT count(*), bool_and(d::text::kde::text = d::text) AS text, bool_and(kde_aqp.kde_send(d::text::kde) = kde_aqp.kde_send(d)) AS binary FROM kept;
SELECT count(DISTINCT k.ctid) FROM kept AS k JOIN again AS a ON a.name = k.name AND a.d::text = k.d::text;
SELECT name, approx_count(d, 1, 3) FROM again WHERE name = 'special';

-- A million rows of one value are exactly that.
SELECT rows, cells, mean, stddev, approx_count(d, 42, 42) AS at, approx_count(d, NULL, 41.999) AS below, approx_sum(d) AS sum,
  approx_quantile(d, 0.3) AS quantile, representation_error AS error
FROM (SELECT kde_agg(42.5 - 0.5) AS d FROM generate_series(1, 1000000)) AS a, kde_info(d);

-- ---------------------------------------------------------------------------------------------
-- Intervals of what was counted are points; a required accuracy is met.
SELECT approx_count_ci(d, 2, 3) AS count, approx_sum_ci(d, 1, 3) AS sum, approx_avg_ci(d, 1, 2) AS avg, approx_count(d, 1, 2, max_relative_error => 0) AS required FROM one;

-- ---------------------------------------------------------------------------------------------
-- Points to plot.
CREATE VIEW dice AS SELECT kde_agg(i % 6 + 1) AS d FROM generate_series(1, 600) AS i;
SELECT x, density > 0 AS density, round(cdf::numeric, 4) AS cdf, x_text FROM dice, kde_points(d, 6);
SELECT x, round(cdf::numeric, 4) AS cdf, x_text FROM dice, kde_points(d, 5, lower => 0, upper => 6);
SELECT to_timestamp(x) AS x, round(cdf::numeric, 3) AS cdf, x_text FROM of_type, kde_points(d, 4) WHERE name = 'date';
SELECT count(*), min(x), max(x), bool_and(density >= 0) AS positive, min(cdf) >= 0.01 AS first, max(cdf) AS last,
  bool_and(cdf = kde_cdf(d, x)) AS as_asked FROM of_type, kde_points(d) WHERE name = 'float8';
-- The curve holds all of the rows: trapezia.
SELECT round((sum((density + before) / 2 * step))::numeric, 2) AS area
FROM (SELECT density, lag(density) OVER w AS before, x - lag(x) OVER w AS step FROM (SELECT kde_agg(x) AS d FROM waves) AS a, kde_points(d, 2000) WINDOW w AS (ORDER BY x)) AS t;
-- So it does where points are sparse beside what the density does between them, single values and the hours of
-- days, at both ends as well: heights times the spacing. Of a kernel sum but for what lies farther out, and of all
-- rows but for those that are not finite.
CREATE TABLE shapes AS
SELECT 'money' AS shape, kde_agg(round(exp(1.5 * sqrt(-2 * ln((i % 997 + 1) / 998.0)) * cos(0.0063 * (i % 991)))::numeric, 2)) AS d FROM generate_series(1, 50000) AS i
UNION ALL SELECT 'prices', kde_agg(CASE WHEN i % 10 < 3 THEN 0 WHEN i % 10 < 6 THEN 9.99 ELSE i % 5000 END) FROM generate_series(1, 50000) AS i
UNION ALL SELECT 'hours', kde_agg('2026-01-01'::timestamp + i % 365 * interval '1 day' + interval '9 hours' + i % 97 * interval '5 min') FROM generate_series(1, 50000) AS i
UNION ALL SELECT 'silverman', kde_agg(i % 1000, 'silverman') FROM generate_series(1, 5000) AS i
UNION ALL SELECT 'half NaN', kde_agg(CASE WHEN i % 2 = 0 THEN 'NaN' ELSE (i % 100)::float8 END) FROM generate_series(1, 5000) AS i;
SELECT shape, points, round((sum(density) * (max(x) - min(x)) / (points - 1))::numeric, 6) AS area
FROM shapes, unnest(ARRAY[2, 50, 400]) AS points, kde_points(d, points) GROUP BY 1, 2 ORDER BY 1, 2;
SELECT shape, round((sum(density) * (max(x) - min(x)) / 99)::numeric, 6) AS of_json
FROM (SELECT shape, json_array_elements_text(d::json->'points'->'x')::float8 AS x, json_array_elements_text(d::json->'points'->'density')::float8 AS density FROM shapes) AS p
WHERE shape IN ('money', 'hours') GROUP BY 1 ORDER BY 1;
-- Of a part of the column, that part's share, from half a spacing below to half a spacing above.
SELECT round((sum(density) * 10)::numeric, 6) = round((approx_count(d, numrange(95, 205)) / 50000)::numeric, 6) AS share FROM shapes, kde_points(d, 11, 100, 200) WHERE shape = 'prices' GROUP BY d;
-- As far as can be.
SELECT density >= 0 AS finite FROM shapes, kde_points(d, 2, -1e308, 1e308) WHERE shape = 'money';
SELECT count(*), min(x), min(cdf) FROM (SELECT kde_agg(7) AS d FROM generate_series(1, 9)) AS a, kde_points(d);
SELECT count(*) AS none FROM (SELECT kde_agg(NULL::integer) AS d) AS a, kde_points(d);
SELECT count(*) AS null FROM kde_points(NULL);

-- Bins.
SELECT bin, lower_bound, upper_bound, count, fraction, lower_text FROM dice, approx_histogram(d, 5);
SELECT sum(count), count(*) FROM dice, approx_histogram(d);
SELECT count(*) AS differ FROM dice, LATERAL (SELECT * FROM approx_histogram(d, 7) EXCEPT SELECT * FROM approx_histogram(d, 7)) AS t;
SELECT count(*) AS null FROM approx_histogram(NULL);

-- JSON.
SELECT j - '{points,quantiles,bandwidth,stddev}'::text[] AS totals, jsonb_typeof(j -> 'bandwidth') AS bandwidth,
  round((j ->> 'stddev')::numeric, 6) AS stddev, j -> 'quantiles' AS quantiles FROM dice, LATERAL (SELECT d::jsonb AS j) AS v;
SELECT jsonb_array_length(j #> '{points,x}') AS x, jsonb_array_length(j #> '{points,density}') AS density, jsonb_array_length(j #> '{points,cdf}') AS cdf,
  j #>> '{points,x,0}' AS first, j #>> '{points,x,99}' AS last, (j #>> '{points,cdf,99}')::float8 AS all
FROM dice, LATERAL (SELECT d::jsonb AS j) AS v;
SELECT json_typeof(d::json) AS type, d::json::jsonb = d::jsonb AS same, to_json(d)::jsonb = d::jsonb AS to_json, to_jsonb(d) = d::jsonb AS to_jsonb,
  row_to_json(o)::jsonb -> 'd' = d::jsonb AS row FROM one AS o;
SELECT (d::jsonb) - '{points,quantiles,bandwidth,stddev}'::text[] AS special, d::jsonb #> '{quantiles,value}' AS quantiles FROM one;
SELECT name, j ->> 'min' AS min, j ->> 'min_text' AS min_text, j ->> 'max_text' AS max_text FROM of_type, LATERAL (SELECT d::jsonb AS j) AS v
WHERE name IN ('date', 'timestamp', 'domain');
SELECT d::jsonb AS none FROM (SELECT kde_agg(NULL::integer) AS d FROM generate_series(1, 3)) AS a;
SELECT NULL::kde::json IS NULL AS null, NULL::kde::jsonb IS NULL AS b;

SET client_min_messages = warning;
DROP SCHEMA aggregate CASCADE;
