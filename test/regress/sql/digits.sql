-- Values that double precision cannot tell apart, and spreads that are small beside it: plain SQL has
-- the exact answer, functions the right one or an interval that holds it.
\set ECHO queries \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS digits CASCADE;
CREATE SCHEMA digits;
SET search_path = digits, public;
RESET client_min_messages;
SET TIME ZONE 'UTC';
SET kde_aqp.approximate_notice = off;
SET kde_aqp.approximate_error = 0;

-- The last microsecond of 9999, and others beside what double precision has.
CREATE TABLE late (t timestamp, z timestamptz, i interval, b bigint, n numeric, k integer);
INSERT INTO late SELECT timestamp '2024-01-01' + g * interval '1.000001 s', timestamptz '2024-01-01' + g * interval '1.000001 s',
  g * interval '1.000001 s', g, g * 0.001, g % 10 FROM generate_series(1, 20000) AS g;
INSERT INTO late SELECT '9999-12-31 23:59:59.999999', '9999-12-31 23:59:59.999999', interval '8000 years' - interval '1 microsecond',
  9007199254740993, 1234567890.10000000001, g % 10 FROM generate_series(1, 100) AS g;
VACUUM ANALYZE late;
SELECT (kde_fit('late', c, sample_rows => -1)).rows FROM unnest('{t,z,i,b,n}'::name[]) AS c;
SELECT (kde_fit('late', 'k', sample_rows => -1, measures => ARRAY['i', 'n', 'b'])).rows;
SELECT (kde_fit('late', ARRAY['t', 'k'], seed => 1)).rows;
SELECT count(kde_set_plain_sql(name, true)) FROM kde_densities_full WHERE relation = 'late'::regclass;
SELECT pg_stat_force_next_flush();

-- Rounder bounds have them on the right side.
SELECT approx_count('late.t', NULL, timestamp '10000-01-01') AS below, approx_count('late.t', timestamp '10000-01-01', NULL) AS above,
  approx_count('late.z', NULL, timestamptz '10000-01-01') AS zone_below, approx_count('late.z', timestamptz '10000-01-01', NULL) AS zone_above,
  approx_count('late.i', NULL, interval '8000 years') AS interval_below, approx_count('late.i', interval '8000 years', NULL) AS interval_above,
  approx_count('late.n', NULL, 1234567890.1) AS number_below, approx_count('late.n', 1234567890.1, NULL) AS number_above;
SELECT approx_quantile('late.t', 1) < extract(epoch FROM timestamp '10000-01-01') AS greatest;
-- At a bound that stands for several values the interval takes in what is there.
SELECT 'timestamp' AS type, lower_bound <= 20000 AND upper_bound >= 20100 AS holds
FROM approx_count_ci('late.t', NULL, timestamp '9999-12-31 23:59:59.999998')
UNION ALL SELECT 'timestamptz', lower_bound <= 20000 AND upper_bound >= 20100
FROM approx_count_ci('late.z', NULL, timestamptz '9999-12-31 23:59:59.999998')
UNION ALL SELECT 'interval', lower_bound <= 20000 AND upper_bound >= 20100
FROM approx_count_ci('late.i', NULL, interval '8000 years' - interval '2 microseconds')
UNION ALL SELECT 'bigint', lower_bound <= 20000 AND upper_bound >= 20100 FROM approx_count_ci('late.b', NULL, 9007199254740992)
UNION ALL SELECT 'numeric', lower_bound <= 20000 AND upper_bound >= 20100 FROM approx_count_ci('late.n', NULL, 1234567890.100000000001);

-- What plain SQL says is what there is.
CREATE FUNCTION differs(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  exact text;
  answer text;
BEGIN
  SET LOCAL kde_aqp.approximate = off;
  EXECUTE query INTO exact;
  SET LOCAL kde_aqp.approximate = 'all';
  EXECUTE query INTO answer;
  RETURN answer IS DISTINCT FROM exact;
END $$;
SELECT q, differs(q) FROM unnest(ARRAY[
  'SELECT count(*) FROM late WHERE t < ''10000-01-01''', 'SELECT count(*) FROM late WHERE t >= ''10000-01-01''',
  'SELECT count(*) FROM late WHERE t <= ''9999-12-31 23:59:59.999998''', 'SELECT max(t) FROM late', 'SELECT count(*) FROM late WHERE z < ''10000-01-01''',
  'SELECT max(z) FROM late', 'SELECT count(*) FROM late WHERE i < ''8000 years''', 'SELECT max(i) FROM late', 'SELECT sum(i) FROM late WHERE k = 3',
  'SELECT count(*) FROM late WHERE b <= 9007199254740992', 'SELECT max(b) FROM late', 'SELECT sum(b) FROM late WHERE k = 3',
  'SELECT count(*) FROM late WHERE n <= 1234567890.1', 'SELECT max(n) FROM late', 'SELECT sum(n) FROM late WHERE k = 3',
  'SELECT count(*) FROM late WHERE t < ''10000-01-01'' AND k < 5', 'SELECT t FROM late GROUP BY t ORDER BY t DESC LIMIT 1']) AS q;

-- Variances far from 0.
CREATE TABLE far AS SELECT 1000000000000000 + g % 3 AS b, -1000000000000000 - g % 3 AS m, 1e15::float8 + g % 3 AS f,
  (1e15 + g % 3)::numeric AS n, g % 10 AS k FROM generate_series(1, 3000) AS g;
VACUUM ANALYZE far;
SELECT (kde_fit('far', c, sample_rows => -1)).rows FROM unnest('{b,m,f,n}'::name[]) AS c;
SELECT (kde_fit('far', 'k', sample_rows => -1, measures => ARRAY['b', 'm', 'f', 'n'])).rows;
SELECT count(kde_set_plain_sql(name, true)) FROM kde_densities_full WHERE relation = 'far'::regclass;
SELECT pg_stat_force_next_flush();
SELECT what, lower_bound <= truth + 1e-6 AND upper_bound >= truth - 1e-6 AS holds FROM (
  SELECT 'bigint' AS what, c.*, (SELECT variance(b) FROM far) AS truth FROM approx_variance_ci('far.b') AS c
  UNION ALL SELECT 'negative', c.*, (SELECT variance(m) FROM far) FROM approx_variance_ci('far.m') AS c
  UNION ALL SELECT 'double', c.*, (SELECT variance(b) FROM far) FROM approx_variance_ci('far.f') AS c
  UNION ALL SELECT 'numeric', c.*, (SELECT variance(n) FROM far) FROM approx_variance_ci('far.n') AS c
  UNION ALL SELECT 'range', c.*, (SELECT variance(b) FROM far WHERE b <= 1000000000000001) FROM approx_variance_ci('far.b', NULL, 1000000000000001) AS c
  UNION ALL SELECT 'measure', c.*, (SELECT variance(b) FROM far) FROM approx_variance_ci('far.k', measure => 'b') AS c
  UNION ALL SELECT 'measure in a range', c.*, (SELECT variance(b) FROM far WHERE k < 5) FROM approx_variance_ci('far.k', NULL, 4, measure => 'b') AS c
  UNION ALL SELECT 'doubles in a range', c.*, (SELECT variance(b) FROM far WHERE k < 5) FROM approx_variance_ci('far.k', NULL, 4, measure => 'f') AS c
  UNION ALL SELECT 'aggregate', c.*, (SELECT variance(b) FROM far) FROM (SELECT kde_agg(b) AS d FROM far) AS s, approx_variance_ci(d) AS c
  UNION ALL SELECT 'roll-up', c.*, (SELECT variance(b) FROM far)
  FROM (SELECT rollup(d) AS d FROM (SELECT kde_agg(b) AS d FROM far GROUP BY k) AS s) AS s, approx_variance_ci(d) AS c) AS v;
-- A measure that depends on the column, whose mean is no double.
CREATE TABLE tied AS SELECT k, b + k / 3 AS u FROM far;
SELECT (kde_fit('tied', 'k', sample_rows => -1, measures => ARRAY['u'])).rows, (kde_fit('tied', ARRAY['k', 'u'])).rows AS joint;
SELECT what, (lower_bound - truth)::numeric(7, 6) AS below, (upper_bound - truth)::numeric(7, 6) AS above FROM (
  SELECT 'measure' AS what, * FROM approx_variance_ci('tied.k', 1, 6, measure => 'u')
  UNION ALL SELECT 'joint', * FROM approx_variance_ci('tied (k, u)', ARRAY[1, NULL], ARRAY[6, NULL], measure => 'u')) AS v,
  (SELECT variance(u) AS truth FROM tied WHERE k BETWEEN 1 AND 6) AS t;
-- Sums of a few small numbers beside large ones, and of large ones that cancel each other: right, or no more sure
-- than they are.
CREATE TABLE mixed AS SELECT g % 10 AS d, CASE WHEN g % 10 < 2 THEN 4000000000000000 ELSE g % 7 END AS b,
  (CASE WHEN g % 2 = 0 THEN 1e9 ELSE -1e9 END + g % 7 / 1e8)::numeric(20, 8) AS n, (1e9 + g % 7 / 1e8)::numeric(20, 8) AS near,
  CASE WHEN g % 10 < 2 THEN 1e15 ELSE (g % 7) / 7.0 END::float8 AS f FROM generate_series(1, 20000) AS g;
SELECT (kde_fit('mixed', 'd', sample_rows => -1, measures => ARRAY['b', 'n', 'near', 'f'])).rows, (kde_fit('mixed', 'n')).rows;
CREATE FUNCTION misses(lower_ int, upper_ int) RETURNS TABLE (missed text) LANGUAGE plpgsql AS $$
DECLARE
  c text; a text; truth float8; i record;
BEGIN
  FOREACH c IN ARRAY '{b,n,near,f}'::text[] LOOP FOREACH a IN ARRAY '{sum,avg,variance}'::text[] LOOP
    EXECUTE format('SELECT %s(%I) FROM mixed WHERE d BETWEEN %s AND %s', a, c, coalesce(lower_, 0), coalesce(upper_, 9)) INTO truth;
    EXECUTE format('SELECT * FROM approx_%s_ci(''mixed.d'', %L::int, %L::int, measure => %L)', a, lower_, upper_, c) INTO i;
    IF NOT truth BETWEEN i.lower_bound - 1e-12 * abs(truth) AND i.upper_bound + 1e-12 * abs(truth) THEN missed := format('%s(%s): %s, %s', a, c, truth, i); RETURN NEXT; END IF;
  END LOOP; END LOOP;
END $$;
SELECT m.* FROM (VALUES (NULL, NULL), (7, NULL), (9, 9), (NULL, 0), (3, 6)) AS r(l, u), misses(l, u) AS m;
SELECT s.lower_bound <= t.sum AND s.upper_bound >= t.sum AS holds FROM approx_sum_ci('mixed.n') AS s, (SELECT sum(n)::float8 FROM mixed) AS t;
-- Those of a fit are right.
SELECT approx_variance('far.b')::numeric(8, 6) AS b, approx_variance('far.m')::numeric(8, 6) AS m, approx_variance('far.f')::numeric(8, 6) AS f;
SELECT q, differs(q) FROM unnest(ARRAY[
  'SELECT round(variance(b), 6) FROM far', 'SELECT round(stddev(b), 6) FROM far', 'SELECT round(var_pop(m), 6) FROM far', 'SELECT sum(b) FROM far',
  'SELECT avg(b) FROM far', 'SELECT round(variance(b), 6) FROM far WHERE k < 5', 'SELECT round(variance(n), 6) FROM far',
  'SELECT round(variance(b), 6) FROM far WHERE b > 1000000000000000']) AS q;

-- What is shown of an answer lies within its interval, and so does the truth; every row was read.
CREATE TABLE shown AS SELECT x, 19::numeric(5, 2) AS c, 7 AS i, (1e7 * x)::bigint AS b, round((100 * x)::numeric, 2) AS n,
  1000 + k % 2 AS near, timestamp '2026-01-01' + (k * 7919 % 901) * interval '6 hours' AS at, CASE WHEN k % 8 = 0 THEN 'g2' ELSE 'g1' END AS g,
  9223372036854775807 - k % 20 AS last, k % 5 AS five, CASE WHEN k % 2 = 0 THEN 1 ELSE -1 END * sqrt((k / 2)::float8) * 1e4 + (k = 1)::int AS float
FROM (SELECT k, (100 * (k * 0.6180339887498949 - floor(k * 0.6180339887498949)))::float8 AS x FROM generate_series(1, 20000) AS k) AS r;
VACUUM ANALYZE shown;
-- So few that not all is exact.
SET kde_aqp.density_bytes = 16;
SELECT count(kde_fit('shown', c, sample_rows => -1)) FROM unnest('{b,n,last}'::name[]) AS c;
SELECT count(kde_fit('shown', 'x', sample_rows => -1, measures => ARRAY['c', 'i', 'near', 'last']));
SELECT count(kde_fit('shown', 'at', sample_rows => -1, measures => ARRAY['i'], group_by => 'g'));
SELECT count(kde_fit('shown', ARRAY['at', 'five', 'float'], seed => 1));
SELECT count(kde_set_plain_sql(name, true)) FROM kde_densities_full WHERE relation = 'shown'::regclass;
SELECT pg_stat_force_next_flush();
CREATE FUNCTION outside(aggregate text, condition text) RETURNS TABLE (shown bigint, truth bigint, answers bigint) LANGUAGE plpgsql AS $$
DECLARE
  query text;
  a record;
  exact record;
BEGIN
  shown := 0; truth := 0; answers := 0;
  FOR r IN 1 .. 60 LOOP
    query := format('SELECT %s AS x, approx_lower(%1$s) AS low, approx_upper(%1$s) AS high FROM digits.shown WHERE ', aggregate) ||
      replace(condition, ':r', r::text);
    SET LOCAL kde_aqp.approximate = off;
    EXECUTE query INTO exact;
    SET LOCAL kde_aqp.approximate = 'all';
    SET LOCAL kde_aqp.approximate_error = 1;
    EXECUTE query INTO a;
    shown := shown + (NOT a.x BETWEEN a.low AND a.high)::int;
    -- To the digits that doubles have.
    truth := truth + (NOT exact.x BETWEEN a.low - 1e-12 * abs(a.low) AND a.high + 1e-12 * abs(a.high))::int;
    answers := answers + (a.low <> a.high OR a.x <> exact.x)::int;
  END LOOP;
  RETURN NEXT;
END $$;
SELECT a, o.shown, o.truth, o.answers > 0 AS any FROM (VALUES
  ('avg(c)', 'x BETWEEN :r AND :r + 0.3'), ('avg(i)', 'x BETWEEN :r AND :r + 0.01 * :r'), ('avg(near)', 'x BETWEEN :r AND :r + 0.03 * :r'),
  ('sum(near)', 'x BETWEEN :r AND :r + 0.03 * :r'), ('count(i)', 'x BETWEEN :r AND :r + 0.03'), ('avg(last)', 'x BETWEEN :r AND :r + 0.2'),
  ('avg(b)', 'b BETWEEN 10000000 * :r AND 10000000 * :r + 2000000'), ('avg(n)', 'n BETWEEN 100 * :r AND 100 * :r + 13'), ('sum(n)', 'n BETWEEN 100 * :r AND 100 * :r + 13'),
  ('avg(i)', 'at BETWEEN timestamp ''2026-01-01'' + :r * interval ''1 day'' AND timestamp ''2026-01-02'' + :r * interval ''25 hours'''),
  ('sum(i)', 'at = timestamp ''2026-01-01'' + :r * interval ''6 hours'' AND g IN (''g1'', ''g2'')'),
  ('sum(float)', 'five >= 0 AND at >= timestamp ''2026-01-01'' + :r * interval ''1 hour'''),
  ('avg(float)', 'five >= 0 AND at >= timestamp ''2026-01-01'' + :r * interval ''1 hour'''),
  ('stddev(last)', 'last > :r'), ('variance(last)', 'x BETWEEN :r AND :r + 3')) AS q(a, c), outside(a, c) AS o;
-- Values of a group that a cell may hold are in a sum; of values that are one double nothing is known.
SELECT lower_bound <= 2048 AND upper_bound > 5 AS unsure FROM approx_stddev_ci('shown.last');

-- Bounds beside a value, and values that are one double, of several columns and of one.
CREATE TABLE beside AS SELECT i % 10 AS qty, timestamptz '2026-01-01' + (i % 30) * interval '1 day' AS at, (i % 30 / 10.0)::real AS r,
  (i % 30 / 10.0)::float8 AS f, 1000000000000000000 + i % 100 AS id, 9007199254740993 + 2 * (i % 100) AS odd, (123456789012345 + (i % 50) * 0.00001)::numeric(20, 5) AS n,
  timestamptz '2026-01-01' + (i * 7919.123457 % 2592000) * interval '1 second' AS any_time
FROM generate_series(1, 3000) AS i;
VACUUM ANALYZE beside;
SELECT count(kde_fit('beside', ARRAY['qty', c], seed => 1)) FROM unnest('{at,r,f,id,odd,n,any_time}'::text[]) AS c;
SELECT count(kde_fit('beside', c, sample_rows => -1, measures => ARRAY['qty'])) FROM unnest('{at,f}'::name[]) AS c;
SELECT count(kde_set_plain_sql(name, true)) FROM kde_densities_full WHERE relation = 'beside'::regclass;
SELECT pg_stat_force_next_flush();
SELECT q, differs(q) FROM unnest(ARRAY[
  'SELECT count(*), sum(qty) FROM beside WHERE qty < 8 AND at BETWEEN ''2026-01-03'' AND ''2026-01-04 23:59:59.999999''',
  'SELECT count(*) FROM beside WHERE qty < 8 AND at > ''2026-01-04 23:59:59.999999''', 'SELECT count(*) FROM beside WHERE qty < 8 AND r = 0.7',
  'SELECT count(*) FROM beside WHERE qty < 8 AND f >= 0.1::float8 * 3', 'SELECT count(*) FROM beside WHERE qty < 3.0000000000000004::float8 AND f < 2',
  'SELECT round(variance(id), 6), round(stddev(id), 6) FROM beside WHERE qty < 8', 'SELECT round(variance(n), 15) FROM beside WHERE qty < 8',
  'SELECT round(variance(odd), 6) FROM beside', 'SELECT round(stddev(n), 12) FROM beside',
  'SELECT count(*) FROM beside WHERE qty < 8 AND id <= 1000000000000000020', 'SELECT count(*) FROM beside WHERE at <= ''2026-01-04 23:59:59.999999''']) AS q;
SELECT what, lower_bound <= truth AND upper_bound >= truth AS holds FROM (
  SELECT 'at' AS what, c.*, 200 AS truth FROM approx_count_ci('beside.at', timestamptz '2026-01-03', '2026-01-04 23:59:59.999999') AS c
  UNION ALL SELECT 'f', c.*, (SELECT count(*) FROM beside WHERE f >= 0.1::float8 * 3) FROM approx_count_ci('beside.f', 0.1::float8 * 3, NULL) AS c
  UNION ALL SELECT 'sum', c.*, (SELECT sum(qty) FROM beside WHERE f >= 0.1::float8 * 3) FROM approx_sum_ci('beside.f', 0.1::float8 * 3, NULL, measure => 'qty') AS c
  UNION ALL SELECT 'joint id', c.*, (SELECT count(*) FROM beside WHERE id BETWEEN 1000000000000000010 AND 1000000000000000020 AND qty < 8)
  FROM approx_count_ci('beside (qty, id)', '{0,1000000000000000010}'::bigint[], '{7,1000000000000000020}'::bigint[]) AS c
  UNION ALL SELECT 'joint, all', c.*, (SELECT variance(odd) FROM beside)
  FROM approx_variance_ci('beside (qty, odd)', ARRAY[NULL, NULL]::bigint[], NULL::bigint[], measure => 'odd') AS c
  UNION ALL SELECT 'joint variance', c.*, (SELECT variance(n) FROM beside WHERE qty < 8)
  FROM approx_variance_ci('beside (qty, n)', ARRAY[0, NULL], ARRAY[7, NULL], measure => 'n') AS c) AS v;
SELECT count(*) AS missed FROM (SELECT any_time FROM beside ORDER BY 1 OFFSET 500 LIMIT 100) AS b,
  approx_count_ci('beside (qty, any_time)', ARRAY['0', NULL], ARRAY['7', (b.any_time - interval '1 us')::text]) AS c,
  LATERAL (SELECT count(*) FROM beside AS t WHERE t.qty < 8 AND t.any_time <= b.any_time - interval '1 us') AS e
WHERE NOT e.count BETWEEN c.lower_bound AND c.upper_bound;
-- Numbers of 16 digits that are the doubles of shorter ones are not counted as those.
CREATE TABLE told AS
SELECT x, near FROM (SELECT (i * 37 + 11) / 100.0 AS x FROM generate_series(1, 25000) AS i) AS s,
  LATERAL (SELECT x + 10::numeric ^ (floor(log(x))::integer - 15) AS near) AS n
WHERE near::float8 = x::float8;
CREATE TABLE close AS
SELECT x FROM told, generate_series(1, 3) UNION ALL SELECT near FROM told, generate_series(1, 2);
SELECT kde_fit('close', 'x', sample_rows => -1) \g /dev/null
SELECT count(*) > 1000 AS many, count(*) FILTER (WHERE NOT 3 BETWEEN lower_bound AND upper_bound) AS missed
FROM told, approx_count_ci('close.x', x, x);
-- A bound next to the greatest of many far times, and next to one that a quarter of the rows have.
CREATE TABLE far_times AS
SELECT timestamp '9999-12-30' + i * interval '1.000001 s' AS many,
       CASE WHEN i % 4 = 0 THEN timestamp '9999-12-31 23:59:59.999999' ELSE timestamp '2024-01-01' + i * interval '7.000001 s' END AS ends
FROM generate_series(1, 140000) AS i;
INSERT INTO far_times SELECT many, ends FROM far_times WHERE ends < '9999-01-01' OFFSET 70000;
SELECT kde_fit('far_times', c, sample_rows => -1) FROM unnest(ARRAY['many', 'ends']) AS c \g /dev/null
SELECT c, beside, estimate - all_rows AS off, NOT truth BETWEEN lower_bound AND upper_bound AS missed
FROM (SELECT 'many' AS c, max(many) AS x, count(*) AS all_rows FROM far_times UNION ALL SELECT 'ends', max(ends), count(*) FROM far_times) AS g,
  unnest(ARRAY[-1, 0, 1]) AS beside, LATERAL (SELECT x + beside * interval '1 us' AS bound) AS b,
  approx_count_ci('far_times.' || c, timestamp '2000-01-01', bound) AS i,
  LATERAL (SELECT count(*) AS truth FROM far_times WHERE CASE c WHEN 'many' THEN many ELSE ends END <= bound) AS t
ORDER BY c, beside;
-- Values that have many rows are counted by themselves, wherever they lie.
CREATE TABLE heavy AS
SELECT CASE WHEN i % 4 = 0 THEN pi() ELSE 1000 * sin(i) END AS number, 100 * i % 3511 AS y,
       CASE WHEN i % 5 = 0 THEN 19.99 ELSE i * 0.07 END AS cents,
       CASE WHEN i % 4 = 0 THEN timestamp '2024-01-09 12:34:56.123457' ELSE timestamp '2024-01-01' + i * interval '7.000001 s' END AS at
FROM generate_series(1, 200000) AS i;
SELECT kde_fit('heavy', c, sample_rows => -1, measures => ARRAY['y']) FROM unnest(ARRAY['number', 'cents', 'at']) AS c \g /dev/null
SELECT c, i.lower_bound::bigint - truth AS below, i.upper_bound::bigint - truth AS above,
       s.lower_bound <= sum + 1 AND s.upper_bound >= sum - 1 AND s.upper_bound - s.lower_bound < 0.03 * sum AS sum
FROM (VALUES ('number', pi()::text), ('cents', '19.99'), ('at', '2024-01-09 12:34:56.123457')) AS v (c, x),
  LATERAL (SELECT count(*) AS truth, sum(y) FROM heavy WHERE CASE c WHEN 'number' THEN number = x::float8 WHEN 'cents' THEN cents = x::numeric ELSE at = x::timestamp END) AS t,
  approx_count_ci('heavy.' || c, x, x) AS i, approx_sum_ci('heavy.' || c, x, x, measure => 'y') AS s;
SET client_min_messages = warning;
DROP SCHEMA digits CASCADE;
