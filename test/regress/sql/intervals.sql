-- Intervals, required accuracy, histograms, and the design effect of sampling by blocks.
\set ECHO queries \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS intervals CASCADE;
CREATE SCHEMA intervals;
SET search_path = intervals, public;
RESET client_min_messages;
-- sql/refresh.sql has what a stale density does.
SET kde_aqp.stale = ignore;
SET datestyle = 'ISO, YMD';
SET timezone = 'UTC';

CREATE FUNCTION rounded(double precision) RETURNS numeric LANGUAGE sql IMMUTABLE AS
  'SELECT $1::numeric(20, 3)';

-- Half of the blocks, thinned to 600 rows.
CREATE TABLE dice AS SELECT i % 6 + 1 AS side FROM generate_series(1, 60000) AS i;
SET kde_aqp.sample_blocks = 133;
CREATE VIEW last_fit AS SELECT * FROM kde_densities_full ORDER BY fitted_at DESC LIMIT 1;
SELECT FROM kde_fit('dice', 'side', seed => 1, sample_rows => 600) \g /dev/null
SELECT rows, rows_read, sample_rows, cells, model FROM last_fit;
RESET kde_aqp.sample_blocks;
-- Wilson's interval from its own formula, for p of 600 rows drawn of 30,058: m = 600 / (1 - 600/30058). Every
-- block has as many of each side, so blocks add next to nothing: what differences of 133 blocks tell of a
-- variance, to sqrt(3 / 133) of it, is 0.075 of a width.
WITH v AS (SELECT c.*, c.estimate / 60116 AS p, 600 / (1 - 600 / 30058.0)::float8 AS m, 1.959963984540054::float8 AS z
    FROM approx_count_ci('dice.side', 3, 3) AS c),
  w AS (SELECT *, (m * p + z * z / 2) / (m + z * z) AS centre,
    z * sqrt(m * p * (1 - p) + z * z / 4) / (m + z * z) AS half FROM v)
SELECT rounded(estimate) AS estimate, abs(lower_bound - 60116 * (centre - half)) < 0.075 * 60116 * half AS lower,
  abs(upper_bound - 60116 * (centre + half)) < 0.075 * 60116 * half AS upper FROM w;
-- Confidence and changed rows widen; all rows are certain but for changes.
SELECT changed_rows, confidence, c.lower_bound < c.estimate AS below, c.upper_bound > c.estimate AS above,
  rounded(c.upper_bound - c.lower_bound) AS width
FROM (VALUES (0, 0.5), (0, 0.95), (0, 0.99), (100, 0.99)) AS v(changed_rows, confidence),
  approx_count_ci('dice.side', 1, 2, confidence => v.confidence, changed_rows => v.changed_rows) AS c;
SELECT * FROM approx_count_ci('dice.side');
SELECT * FROM approx_count_ci('dice.side', changed_rows => 10);
SELECT * FROM approx_count_ci('dice.side', 4, 3, changed_rows => 10);
SELECT rounded(s.estimate) AS sum, s.lower_bound < s.estimate AS below, rounded(s.upper_bound + s.lower_bound - 2 * s.estimate) AS skew,
  rounded(a.estimate) AS avg, a.lower_bound BETWEEN 2 AND 3 AS avg_below, a.upper_bound BETWEEN 3 AND 4 AS avg_above
FROM approx_sum_ci('dice.side', 2, 4) AS s, approx_avg_ci('dice.side', 2, 4) AS a;
SELECT * FROM approx_quantile_ci('dice.side', 0.5);
SELECT * FROM approx_quantile_ci('dice.side', 0.5, changed_rows => 60000);
-- NULL where there is nothing to answer; of a range in which no row was seen there may be some.
SELECT approx_count_ci('dice.side', NULL::int4range), approx_sum_ci('dice.side', 10, 20), approx_avg_ci('dice.side', 10, 20),
  approx_quantile_ci('dice.side', NULL), approx_quantile_ci(NULL::kde, 0.5);
SELECT * FROM approx_sum_ci('dice.side', 10, 20);
-- Values that are not finite.
CREATE TABLE odd AS SELECT x FROM unnest('{1,2,3,NaN,Infinity}'::float8[]) AS x;
SELECT rows FROM kde_fit('odd', 'x', seed => 1);
SELECT approx_sum_ci('odd.x', 1, 'Infinity'::float8), approx_avg_ci('odd.x', '1', 'Infinity'), approx_sum_ci('odd.x', 1, 3);
SELECT approx_sum_ci('odd.x'), approx_avg_ci('odd.x');
SELECT approx_quantile_ci('odd.x', 0.7), approx_quantile_ci('odd.x', 1);
-- The exact answer is SQL's own, theirs included.
SELECT o AS otherwise, approx_sum('odd.x', max_relative_error => 0.1, otherwise => o) AS sum,
  approx_avg('odd.x', 1, 'Infinity'::float8, max_relative_error => 0.1, otherwise => o) AS avg FROM unnest('{error,"null",exact}'::text[]) AS o;

-- Arguments that make no sense.
SELECT v.call, t.* FROM (VALUES
  ($$approx_count_ci('dice.side', 1, 2, confidence => 0)$$),
  ($$approx_count_ci('dice.side', 1, 2, confidence => 1)$$),
  ($$approx_count_ci('dice.side', 1, 2, confidence => 'NaN')$$),
  ($$approx_count_ci('dice.side', 1, 2, confidence => 95)$$),
  ($$approx_count_ci('dice.side', 1, 2, confidence => NULL)$$),
  ($$approx_sum_ci('dice.side', 1, 2, changed_rows => -1)$$),
  ($$approx_avg_ci('dice.side', 1, 2, changed_rows => 'Infinity')$$),
  ($$approx_quantile_ci('dice.side', 0.5, changed_rows => 'NaN')$$),
  ($$approx_quantile_ci('dice.side', 1.5)$$),
  ($$approx_count('dice.side', 1, 2, max_relative_error => -0.1)$$),
  ($$approx_count('dice.side', 1, 2, max_relative_error => 'NaN')$$),
  ($$approx_count('dice.side', 1, 2, max_relative_error => 0.1, otherwise => 'guess')$$),
  ($$approx_count('dice.side', 1, 2, max_relative_error => 0.1, otherwise => NULL)$$),
  ($$approx_count('dice.side', 1, 2, otherwise => 'null')$$), ($$approx_count('dice.side', 1, 2, otherwise => 'error')$$),
  ($$approx_sum('dice.side', 1, 2, otherwise => 'exact')$$), ($$approx_avg('dice.side', otherwise => 'guess')$$),
  ($$approx_count('dice.side', NULL::int4range, otherwise => 'guess')$$),
  ($$approx_sum('odd.x', max_relative_error => -1)$$), ($$approx_avg('odd.x', max_relative_error => 0, otherwise => 'guess')$$),
  ($$approx_count(kde_density('dice.side'), 1, 2, max_relative_error => 1, otherwise => 'exact')$$)) AS v(call),
  try('SELECT ' || v.call) AS t;

-- A required accuracy: met, and not.
CREATE TABLE wide AS SELECT i AS k, i::bigint AS big, (i % 1000)::smallint AS small, i / 100.0::float8 AS x, (i / 100.0)::numeric(10, 2) AS n,
  (i / 7.0)::real AS r, date '2026-01-01' + i % 3000 AS d, '2026-01-01'::timestamp + i * interval '7 min' AS t,
  '2026-01-01'::timestamptz + i * interval '7 min' AS z, (i % 40) * interval '1 mon' + i * interval '1 h' AS v
FROM generate_series(1, 20000) AS i;
INSERT INTO wide (k) SELECT i FROM generate_series(1, 100) AS i;
ALTER TABLE wide RENAME x TO "x ""y";
CREATE FUNCTION fit(name) RETURNS float8 LANGUAGE sql AS
  $$SELECT rows FROM kde_fit('wide', $1, seed => 1, sample_rows => 500)$$;
SELECT count(fit(c)) AS fitted FROM unnest('{k,big,small,"x \"y",n,r,d,t,z,v}'::name[]) AS c;
SELECT approx_count('wide.n', 0, 150, max_relative_error => 0.2) = approx_count('wide.n', 0, 150) AS met;
SELECT t.* FROM try($$SELECT approx_count('wide.n', 0, 150, max_relative_error => 0.001)$$) AS t WHERE t NOT LIKE '  detail:%';
SELECT t ~ '^  detail: Its expected relative error is 0\.\d+, that required 0.001\.$' AS detail
FROM try($$SELECT approx_sum('wide.n', 0, 150, max_relative_error => 0.001)$$) AS t WHERE t LIKE '  detail:%';
SELECT approx_count('wide.n', 0, 150, max_relative_error => 0.001, otherwise => 'null') AS count,
  approx_sum('wide.n', 0, 150, max_relative_error => 0.0001, otherwise => 'null') AS sum,
  approx_avg(kde_density('wide.n'), 0, 150, max_relative_error => 0.0001, otherwise => 'null') AS avg,
  approx_count('wide.n', 300, 400, max_relative_error => 0) AS beyond_every_row,
  approx_count('wide.n', 5, 4, max_relative_error => 0) AS empty,
  approx_sum('wide.n', 5, 4, max_relative_error => 0) AS empty_sum,
  approx_count('wide.n', NULL::numrange, max_relative_error => 0) AS null_range;

-- The exact answer is SQL's, whatever the types of column and bounds.
CREATE FUNCTION exact(col text, low text, high text) RETURNS TABLE (count float8, sum float8, avg float8) LANGUAGE plpgsql AS $$
BEGIN
  -- Dates have no sum.
  RETURN QUERY EXECUTE format('SELECT approx_count(%1$L, %2$s, %3$s, max_relative_error => 0, otherwise => ''exact''),
    ' || CASE WHEN col IN ('d', 't', 'z') THEN 'NULL::float8' ELSE 'approx_sum(%1$L, %2$s, %3$s, max_relative_error => 0, otherwise => ''exact'')' END || ',
    approx_avg(%1$L, %2$s, %3$s, max_relative_error => 0, otherwise => ''exact'')', 'wide.' || quote_ident(col), low, high);
END $$;
CREATE FUNCTION by_sql(number text, condition text) RETURNS TABLE (count float8, sum float8, avg float8) LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY EXECUTE format('SELECT count(%1$s)::float8, sum(%1$s)::float8, avg(%1$s)::float8 FROM wide WHERE %2$s', number, condition);
END $$;
SELECT v.*, e.count, (e.count, e.sum, e.avg) IS NOT DISTINCT FROM
  (s.count, CASE WHEN v.col NOT IN ('d', 't', 'z') THEN s.sum END, s.avg) AS same
FROM (VALUES
  ('k', '10.5', '99.5', 'k', 'k >= 10.5 AND k <= 99.5'),
  ('k', '10', '5000::bigint', 'k', 'k BETWEEN 10 AND 5000'),
  ('k', '10.5::float8', 'NULL', 'k', 'k >= 10.5'),
  ('k', '''10.5''', '''1e3''', 'k', 'k >= 10.5 AND k <= 1000'),
  ('k', '-1e30', '1e30', 'k', 'k IS NOT NULL'),
  ('k', '''NaN''::float8', 'NULL', 'k', 'k >= ''NaN''::float8'),
  ('k', 'int4range(10, 20)', 'NULL', 'k', 'k >= 10 AND k < 20'),
  ('k', 'numrange(9.5, 20, ''(]'')', 'NULL', 'k', 'k > 9.5 AND k <= 20'),
  ('k', 'numrange(10, 10, ''()'')', 'NULL', 'k', 'false'),
  ('k', 'int4range(NULL, 20)', 'NULL', 'k', 'k < 20'),
  ('k', '20', '10', 'k', 'false'),
  ('big', '10', '12345.6', 'big', 'big BETWEEN 10 AND 12345.6'),
  ('small', '500', '100000', 'small', 'small >= 500'),
  ('x "y', '10', '20.005', '"x ""y"', '"x ""y" BETWEEN 10 AND 20.005'),
  ('x "y', '''10''', '20::numeric', '"x ""y"', '"x ""y" BETWEEN 10 AND 20'),
  ('n', '10.01', '20.005::float8', 'n', 'n >= 10.01 AND n <= 20.005::float8'),
  ('n', '''10.01''', '''NaN''', 'n', 'n >= 10.01'),
  ('r', '0.1', '1000.7', 'r::float8', 'r >= 0.1 AND r <= 1000.7'),
  ('d', '''2026-02-01''', '''2026-03-01''', 'extract(epoch FROM d)', 'd BETWEEN ''2026-02-01'' AND ''2026-03-01'''),
  ('d', 'date ''2026-02-01''', '''2026-03-01 12:00''::timestamp', 'extract(epoch FROM d)', 'd BETWEEN ''2026-02-01'' AND ''2026-03-01 12:00''::timestamp'),
  ('d', 'daterange(''2026-02-01'', ''2026-03-01'')', 'NULL', 'extract(epoch FROM d)', 'd >= ''2026-02-01'' AND d < ''2026-03-01'''),
  ('d', '''-infinity''', '''infinity''', 'extract(epoch FROM d)', 'd IS NOT NULL'),
  ('t', '''2026-02-01''', '''2026-03-01''::timestamptz', 'extract(epoch FROM t)', 't BETWEEN ''2026-02-01'' AND ''2026-03-01''::timestamptz'),
  ('z', 'date ''2026-02-01''', '''2026-03-01''', 'extract(epoch FROM z)', 'z BETWEEN date ''2026-02-01'' AND ''2026-03-01'''),
  ('z', 'tsrange(''2026-02-01'', ''2026-03-01'')', 'NULL', 'extract(epoch FROM z)', 'z >= ''2026-02-01'' AND z < ''2026-03-01'''),
  -- 30 days a month, as intervals compare.
  ('v', '''1 mon''', '''40 days''', 'extract(epoch FROM v) - trunc(extract(year FROM v)) * 453600', 'v BETWEEN ''1 mon'' AND ''40 days'''),
  ('v', '''1 year''', '''3 years''', 'extract(epoch FROM v) - trunc(extract(year FROM v)) * 453600', 'v BETWEEN ''1 year'' AND ''3 years''')
) AS v(col, low, high, number, condition), exact(col, low, high) AS e, by_sql(number, condition) AS s;
SET timezone = 'Asia/Tokyo';
SELECT approx_count('wide.z', '2026-02-01', '2026-02-02', max_relative_error => 0, otherwise => 'exact')
  = (SELECT count(*) FROM wide WHERE z BETWEEN '2026-02-01' AND '2026-02-02') AS in_tokyo;
SET timezone = 'UTC';
-- Intervals of months agree with what is approximated: the whole is exact either way.
SELECT rounded(approx_avg('wide.v') - approx_avg('wide.v', '-1 s', '100 years', max_relative_error => 0, otherwise => 'exact')) AS months;
-- Nothing of the caller's is in reach of the query: operators, functions, tables of the same name.
CREATE SCHEMA evil;
CREATE FUNCTION evil.wrong(integer, integer) RETURNS boolean LANGUAGE sql AS 'SELECT false';
CREATE OPERATOR evil.>= (leftarg = integer, rightarg = integer, function = evil.wrong);
CREATE AGGREGATE evil.count("any") (sfunc = int8inc_any, stype = int8, initcond = '1000000');
CREATE TABLE evil.wide (k integer);
SET search_path = evil, intervals, pg_catalog, public;
SELECT approx_count('intervals.wide.k', 10, 19, max_relative_error => 0, otherwise => 'exact');
SET search_path = intervals, public;
-- It sees what the statement sees, descendants and domains included.
CREATE DOMAIN amount AS numeric(8, 2);
CREATE TABLE parts (a amount, side int) PARTITION BY LIST (side);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES IN (2);
INSERT INTO parts SELECT i / 3.0, i % 2 + 1 FROM generate_series(1, 3000) AS i;
SELECT rows FROM kde_fit('parts', 'a', seed => 1, sample_rows => 100);
BEGIN;
INSERT INTO parts VALUES (500, 2);
SELECT approx_count('parts.a', 100::amount, 500.5, max_relative_error => 0, otherwise => 'exact') = count(*) AS own_rows
FROM parts WHERE a BETWEEN 100 AND 500.5;
ROLLBACK;
-- As a function of rows, in a condition, and with bounds of each row.
SELECT * FROM approx_count('wide.k', 10, 20, max_relative_error => 0, otherwise => 'exact') AS n;
SELECT count(*) FROM generate_series(1, 20) AS k WHERE k <= approx_count('wide.k', 10, 20, max_relative_error => 0, otherwise => 'exact');
SELECT k, approx_count('wide.k', 1, k, max_relative_error => 0, otherwise => 'exact') FROM generate_series(5000, 20000, 5000) AS k;

-- Every row read: nothing is uncertain but what has changed.
SELECT rows FROM kde_fit('dice', 'side');
SELECT *, (approx_count_ci('dice.side', 1, 2, changed_rows => 100)).upper_bound FROM approx_count_ci('dice.side', 1, 2);
-- Histograms: bins add up to the count of their span, whatever the column.
SELECT c.name, h.bins, abs(h.total - approx_count('wide.' || c.name)) < 1e-6 AS whole, abs(h.fractions - 1) < 1e-9 AS fractions,
  h.contiguous
FROM unnest('{k,small,n,r,d,t,z,v}'::name[]) AS c(name), LATERAL (
  SELECT count(*) AS bins, sum(count) AS total, sum(fraction) AS fractions,
    bool_and(lower_bound = previous OR previous IS NULL) AS contiguous
  FROM (SELECT *, lag(upper_bound) OVER (ORDER BY bin) AS previous FROM approx_histogram('wide.' || c.name, 37)) AS b) AS h;
SELECT abs(sum(h.count) - approx_count('wide.n', 20, 100)) < 1e-6 AS part FROM approx_histogram('wide.n', 13, lower => 20, upper => 100) AS h;
SELECT * FROM approx_histogram('dice.side', 5);
SELECT * FROM approx_histogram_at('dice.side', ARRAY['-Infinity', 2, 2.5, 'Infinity']::float8[]);
SELECT bin, lower_text, upper_text FROM approx_histogram_at('wide.d', ARRAY[date '2026-01-01', '2026-02-01', '2026-03-01']);
SELECT bin, lower_text, upper_text FROM approx_histogram('wide.z', 2, lower => '2026-02-01', upper => '2026-02-02');
SELECT * FROM approx_histogram('dice.side', 5, lower => 3, upper => 3);
SELECT count(*) FROM approx_histogram('wide.n', 10000);
SELECT v.call, t.* FROM (VALUES
  ($$approx_histogram('dice.side', 0)$$), ($$approx_histogram('dice.side', 10001)$$), ($$approx_histogram('dice.side', NULL::integer)$$),
  ($$approx_histogram('dice.side', 5, lower => 5, upper => 2)$$), ($$approx_histogram('dice.side', 5, lower => 'NaN')$$),
  ($$approx_histogram('dice.side', 5, lower => int4range(1, 3))$$),
  ($$approx_histogram_at('dice.side', ARRAY[1])$$), ($$approx_histogram_at('dice.side', '{}'::int[])$$), ($$approx_histogram_at('dice.side', NULL::int[])$$),
  ($$approx_histogram_at('dice.side', ARRAY[[1, 2], [3, 4]])$$), ($$approx_histogram_at('dice.side', ARRAY[1, NULL, 3])$$),
  ($$approx_histogram_at('dice.side', ARRAY[1, 3, 3])$$), ($$approx_histogram_at('dice.side', ARRAY[3, 1])$$),
  ($$approx_histogram_at('dice.side', ARRAY[1, 'NaN']::float8[])$$), ($$approx_histogram_at('dice.side', array(SELECT generate_series(0, 10001)))$$),
  ($$approx_histogram_at('dice.side', ARRAY[date '2026-01-01', '2026-02-01'])$$)) AS v(call),
  try('SELECT count(*) FROM ' || v.call) AS t;

-- The design effect. 226 rows a block: where those of a block are alike they say hardly more than one; in
-- random order each says its own; in the order of the column, which the strata cover, they say more.
CREATE TABLE alike AS SELECT hashint4(i / 226)::float8 + i % 226 AS v FROM generate_series(1, 100000) AS i;
CREATE TABLE ordered AS SELECT v FROM (SELECT hashint4(i)::float8 AS v FROM generate_series(1, 100000) AS i) AS s ORDER BY v;
CREATE TABLE shuffled AS SELECT hashint4(i)::float8 AS v FROM generate_series(1, 100000) AS i;
SET kde_aqp.sample_blocks = 50;
SELECT rows_read BETWEEN 11000 AND 11400 AS by_block FROM kde_fit('ordered', 'v', seed => 1);
SELECT rows_read BETWEEN 11000 AND 11400 AS by_block FROM kde_fit('shuffled', 'v', seed => 1);
SELECT rows_read BETWEEN 11000 AND 11400 AS by_block FROM kde_fit('alike', 'v', seed => 1);
SELECT relation, design_effect > 100 AS alike, design_effect BETWEEN 0.5 AND 2 AS mixed FROM kde_densities_full
WHERE relation IN ('alike'::regclass, 'ordered'::regclass, 'shuffled'::regclass) ORDER BY relation::text;
SELECT (a.upper_bound - a.lower_bound) > 5 * (s.upper_bound - s.lower_bound) AS wider,
  (o.upper_bound - o.lower_bound) < (a.upper_bound - a.lower_bound) / 2 AS narrower
FROM approx_count_ci('alike.v', 0, 1e9) AS a, approx_count_ci('ordered.v', 0, 1e9) AS o, approx_count_ci('shuffled.v', 0, 1e9) AS s;
-- Where no row of the sample lies, there may be some all the same.
SELECT approx_count('shuffled.v', 2147483646, 1e12) AS none_seen, c.lower_bound, c.upper_bound > 0 AS above,
  approx_count('shuffled.v', 1e11, 1e12, max_relative_error => 10, otherwise => 'null') AS "null",
  approx_sum('shuffled.v', 1e11, 1e12, max_relative_error => 10, otherwise => 'exact') AS sum
FROM approx_count_ci('shuffled.v', 1e11, 1e12) AS c;
SELECT try($$SELECT approx_avg('shuffled.v', 1e11, 1e12, max_relative_error => 10)$$);
RESET kde_aqp.sample_blocks;
SELECT count(kde_fit(r, 'v', seed => 1)) FROM unnest('{ordered,shuffled}'::regclass[]) AS r;
SELECT relation, design_effect FROM kde_densities_full WHERE relation IN ('ordered'::regclass, 'shuffled'::regclass) ORDER BY relation::text;

SET client_min_messages = warning;
DROP SCHEMA intervals CASCADE;
DROP SCHEMA evil CASCADE;
