-- The most frequent values and how many different ones there are, where a density knows; and that it says
-- so where it does not.
\set ECHO queries \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS top CASCADE;
CREATE SCHEMA top;
SET search_path = top, public;
RESET client_min_messages;
SET datestyle = 'ISO, YMD';

-- Every row read, every value known: SQL's own answer, without doubt.
CREATE TABLE t AS SELECT i, (i % 7) * (i % 3) AS n, ((i % 7) * (i % 3) / 7.0)::numeric(6,2) AS price,
  CASE i % 10 WHEN 0 THEN NULL WHEN 1 THEN 'NaN' WHEN 2 THEN '-infinity' ELSE (i % 4) / 3.0 END::float8 AS x,
  date '2026-01-01' + i % 5 * 30 AS day, (i * 7919 % 9973) + 0.5 AS many FROM generate_series(1, 2100) AS i;
SELECT column_name, rows, fitted FROM kde_fit('t') ORDER BY column_name COLLATE "C";
SELECT * FROM approx_top('t.n', 4);
SELECT count(*) AS listed, count(*) FILTER (WHERE h.count = s.count AND h.lower_bound = s.count AND h.upper_bound = s.count) AS right
FROM approx_top('t.n', 100) AS h FULL JOIN (SELECT n::text AS value, count(*) FROM t GROUP BY n) AS s USING (value);
SELECT * FROM approx_top('t.price', 3);
SELECT * FROM approx_top('t.x');
SELECT * FROM approx_top('t.day', 2);
SELECT * FROM approx_top((SELECT kde_agg(day) FROM t), n => 2, changed_rows => 20);
SELECT (kde_info('t.n')).distinct_values AS n, (kde_info('t.price')).distinct_values AS price, (kde_info('t.x')).distinct_values AS x,
  (kde_info('t.day')).distinct_values AS day, (kde_info('t.many')).distinct_values AS many, (SELECT (kde_info(kde_agg(many))).distinct_values FROM t) AS aggregated;
SELECT count(DISTINCT n) AS n, count(DISTINCT price) AS price, count(DISTINCT x) AS x, count(DISTINCT day) AS day, count(DISTINCT many) AS many FROM t;
-- What it holds of nothing, of NULLs alone, of one value.
SELECT (kde_info(kde_agg(v))).distinct_values AS none, (SELECT count(*) FROM approx_top(kde_agg(v))) AS top FROM (SELECT NULL::integer AS v) AS s;
SELECT distinct_values, top.* FROM (SELECT kde_agg(v) AS d FROM (VALUES (7), (7)) AS t (v)) AS s, kde_info(d), approx_top(d) AS top;
-- Not where a double may have lost digits: large bigints, and numbers that divide nothing.
SELECT (kde_info(kde_agg(9007199254740992 + v))).distinct_values AS large, (kde_info(kde_agg(v / 7.0 + v / 11.0))).distinct_values AS numeric FROM generate_series(1, 3) AS v;
-- Small gaps of a lattice are no values.
SELECT (kde_info(kde_agg(v))).distinct_values FROM generate_series(1, 1000) AS v WHERE v % 10 <> 3;

-- More values than a density holds one by one.
CREATE TABLE wide AS SELECT CASE WHEN i % 5 = 0 THEN 42 WHEN i % 11 = 0 THEN 777 ELSE i * 7919 % 1000003 END AS v FROM generate_series(1, 100000) AS i;
SELECT distinct_values FROM kde_info((SELECT kde_agg(v) FROM wide));
SELECT value, count, lower_bound <= exact AND exact <= upper_bound AS holds
FROM approx_top((SELECT kde_agg(v) FROM wide)) AS h, LATERAL (SELECT count(*) AS exact FROM wide WHERE v = h.value::integer) AS s;

-- A sample: two values that are frequent, and none of the others, which it has seen once or not.
SET kde_aqp.sample_blocks = 100;
SELECT rows_read < 50000 AS sampled FROM kde_fit('wide', 'v', seed => 1);
SELECT distinct_values FROM kde_info('wide.v');
SELECT value, lower_bound <= exact AND exact <= upper_bound AS holds, lower_bound < count AND count < upper_bound AS uncertain
FROM approx_top('wide.v', 1000) AS h, LATERAL (SELECT count(*) AS exact FROM wide WHERE v = h.value::integer) AS s ORDER BY rank;
-- 10,000 values of 30 rows each: that a sample has more of some says nothing. 50 of 6,000: each holds.
CREATE TABLE even AS SELECT sqrt(i % 10000) AS v FROM generate_series(1, 300000) AS i ORDER BY hashint4(i);
SELECT rows_read < 50000 AS sampled FROM kde_fit('even', 'v', seed => 1);
SELECT count(*) AS listed FROM approx_top('even.v', 20);
CREATE TABLE alphabet AS SELECT sqrt(i % 50) AS v FROM generate_series(1, 300000) AS i ORDER BY hashint4(i);
SELECT rows_read < 50000 AS sampled FROM kde_fit('alphabet', 'v', seed => 1);
SELECT count(*) AS listed, count(*) FILTER (WHERE lower_bound > 6000 OR upper_bound < 6000) AS false FROM approx_top('alphabet.v', 50);

-- What is refused.
\set VERBOSITY terse
SELECT * FROM approx_top('t.n', 0);
SELECT * FROM approx_top('t.n', 10001);
SELECT * FROM approx_top('t.n', NULL);
SELECT * FROM approx_top('t.n', 5, 'x');
SELECT * FROM approx_top('t.n', confidence => 1);
SELECT * FROM approx_top('t.n', changed_rows => -1);
\set VERBOSITY default
SELECT count(*) FROM approx_top(NULL::kde);
SELECT rows FROM kde_fit('t', 'many', 'plugin');
SELECT * FROM approx_top('t.many');

SET client_min_messages = warning;
DROP SCHEMA top CASCADE;
-- Values that are one as doubles are no single ones.
CREATE TABLE large AS SELECT (ARRAY[9007199254740992, 9007199254740993])[1 + i % 2]::bigint AS k,
  (ARRAY[0.1, 0.10000000000000000001])[1 + i % 2] AS n, i % 3 AS small FROM generate_series(1, 3000) AS i;
ANALYZE large;
SELECT count(*) FROM kde_fit('large') WHERE fitted;
SELECT * FROM approx_top('large.k');
SELECT * FROM approx_top('large.n');
SELECT value, count FROM approx_top('large.small');
DROP TABLE large;
