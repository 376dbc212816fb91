-- Columns of every type: fits, bounds typed and untyped, answers in the column's own type, limits.
\set ECHO none \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS column_types CASCADE;
CREATE SCHEMA column_types;
SET search_path = column_types, public;
RESET client_min_messages;
SET datestyle = 'ISO, YMD';
SET intervalstyle = 'postgres';
SET timezone = 'UTC';

-- 100 rows each of ten values, ten days, hours or units apart: atoms, so that answers are exact.
CREATE DOMAIN price AS numeric(10, 2) CHECK (value >= 0);
CREATE DOMAIN shipped AS date;
CREATE DOMAIN twice AS price;
CREATE TABLE t AS
SELECT k::smallint AS int2, k AS int4, k * 10000000000 AS int8, (k / 4.0)::real AS float4,
  k / 4.0::float8 AS float8, (k / 4.0)::numeric AS num, (k / 4.0)::price AS price, (k / 4.0)::twice AS twice,
  date '2026-03-25' + k AS date, (date '2026-03-25' + k)::shipped AS shipped,
  timestamp '2026-03-28 21:00:00.000001' + k * interval '1 hour' AS ts,
  timestamptz '2026-03-28 21:00:00+00' + k * interval '1 hour' AS tstz,
  k * interval '1 day 00:00:00.5' AS iv, time '08:00:00.000001' + k * interval '1 hour' AS clock
FROM generate_series(0, 9) AS k, generate_series(1, 100);
CREATE TABLE columns AS
SELECT attname AS name, attnum FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0;
\set ECHO queries
SELECT count(kde_fit('t', name)) AS fitted FROM columns;
SELECT column_names, rows, cells, lower, upper, lattice_step FROM kde_densities_full WHERE relation = 't'::regclass
ORDER BY column_names::text COLLATE "C";
SELECT name, value_type, mean FROM columns, kde_info(kde_density('t', name)) ORDER BY attnum;

-- ------------------------------------------------------------------------------------- numbers
SELECT approx_count('t.int2', 2, 4) AS int2, approx_count('t.int4', 2::bigint, 4.5) AS int4,
  approx_count('t.int8', '20000000000', '4e10') AS int8, approx_count('t.float4', 0.5::real, '1') AS float4,
  approx_count('t.float8', 0.5, 1) AS float8, approx_count('t.num', '0.5', '1') AS num,
  approx_count('t.price', 0.5, 1) AS price, approx_count('t.twice', 0.5::price, 1::twice) AS twice;
SELECT approx_avg_as('t.int2', NULL::smallint) AS int2, approx_avg_as('t.int4', NULL::integer, 2, 4) AS int4,
  approx_avg_as('t.int8', NULL::bigint) AS int8, approx_avg_as('t.float4', NULL::real) AS float4,
  approx_avg_as('t.float8', NULL::float8) AS float8, approx_avg_as('t.num', NULL::numeric) AS num,
  approx_avg_as('t.price', NULL::numeric) AS price, approx_avg_as('t.price', NULL::price) AS domain;
-- A domain's answers obey its modifier, as above, and its constraints.
CREATE DOMAIN never_four AS smallint CHECK (value <> 4);
\set VERBOSITY terse
SELECT approx_quantile_as('t.int2', 0.4, NULL::never_four) AS three, approx_quantile_as('t.int2', 0.5, NULL::never_four) AS four;
\set VERBOSITY default
SELECT pg_typeof(approx_avg_as('t.int2', NULL::smallint)), pg_typeof(approx_quantile_as('t.num', 0.5, NULL::numeric)),
  pg_typeof(approx_quantile_as('t.int8', 0.5, NULL::bigint)), pg_typeof(approx_avg_as('t.price', NULL::price));
SELECT approx_quantile_as('t.int2', 0.5, NULL::smallint) AS int2, approx_quantile_as('t.int8', 1, NULL::bigint) AS int8,
  approx_quantile_as('t.float4', 0.3, NULL::real) AS float4, approx_quantile_as('t.num', 0.3, NULL::numeric) AS num;
-- Bounds beyond an integer column's type are fair; so are fractions and infinities.
SELECT approx_count('t.int2', '-1e30', '1e30') AS wide, approx_count('t.int2', 1.5, 2.5) AS between,
  approx_count('t.int4', '-infinity', 'infinity') AS infinite, approx_count('t.int4', '-Infinity'::float8, 'NaN') AS nan,
  approx_count('t.num', 'NaN', NULL) AS numeric_nan;

-- ------------------------------------------------------------------------------ dates and times
SELECT approx_count('t.date', '2026-03-26', '2026-03-28') AS untyped,
  approx_count('t.date', date '2026-03-26', date '2026-03-28') AS dates,
  approx_count('t.date', timestamp '2026-03-26 00:00:01', timestamp '2026-03-28') AS timestamps,
  approx_count('t.date', timestamptz '2026-03-26 00:00:00+00', NULL) AS timestamptz,
  approx_count('t.date', daterange('2026-03-26', '2026-03-28')) AS daterange,
  approx_count('t.date', '-infinity', '2026-03-26') AS infinite,
  approx_count('t.shipped', '2026-03-26'::shipped, '2026-03-28') AS domain;
SELECT approx_avg_as('t.date', NULL::date, NULL, '2026-03-27') AS avg, approx_quantile_as('t.date', 0.5, NULL::date) AS median,
  approx_quantile_as('t.shipped', 1, NULL::shipped) AS domain, approx_avg('t.date', '2026-03-26', '2026-03-26') AS seconds,
  extract(epoch FROM date '2026-03-26') AS epoch;
SELECT approx_count('t.ts', '2026-03-28 22:00:00.000001', '2026-03-29 00:00:00.000001') AS untyped,
  approx_count('t.ts', '2026-03-28 22:00:00.000002', '2026-03-29') AS microseconds,
  approx_count('t.ts', date '2026-03-29', NULL) AS date,
  approx_count('t.ts', tsrange('2026-03-28 22:00:00.000001', '2026-03-29 00:00:00.000001', '()')) AS tsrange,
  approx_avg_as('t.ts', NULL::timestamp, NULL, '2026-03-28 23:00:00.000001') AS avg,
  approx_quantile_as('t.ts', 0.1, NULL::timestamp) AS lowest;
SELECT approx_count('t.iv', '1 day', '3 days 2 seconds') AS untyped,
  approx_count('t.iv', interval '1 day', interval '74 hours') AS intervals,
  approx_avg_as('t.iv', NULL::interval, NULL, '2 days 1 second') AS avg,
  approx_quantile_as('t.iv', 1, NULL::interval) AS highest, approx_sum('t.iv', '1 day', '1 day 1 second') AS seconds;

-- A time is seconds since midnight; 24:00 is one.
SELECT approx_count('t.clock', '09:00:00.000001', '10:00:00.000001') AS untyped,
  approx_count('t.clock', time '09:00:00.000002', time '11:00:00.000001') AS microseconds,
  approx_count('t.clock', '09:00') AS column, approx_count(kde_density('t.clock'), NULL, '24:00') AS value,
  approx_avg('t.clock', '09:00', '09:30') AS seconds, approx_avg_as('t.clock', NULL::time, NULL, '10:00:00.000001') AS avg,
  approx_quantile_as('t.clock', 0.5, NULL::time) AS median, approx_sum('t.clock') AS sum;
SELECT approx_avg('t.clock', '09:00', NULL, max_relative_error => 0, otherwise => 'exact') = extract(epoch FROM avg(clock - time '00:00')) AS exact
FROM t WHERE clock >= '09:00';
SELECT lower_text, upper_text, count FROM approx_histogram('t.clock', 3, lower => '08:00', upper => '17:00:00.000002');
SELECT x_text FROM kde_points(kde_density('t.clock'), 2);
SELECT d::text::kde = d AS text, (kde_info(d)).value_type, (kde_info(d)).lower, (kde_info(d)).upper FROM (SELECT kde_agg(clock) AS d FROM t) AS s;
SELECT approx_quantile_as(kde_agg(x), 1, NULL::time) AS midnight FROM unnest('{00:00,24:00}'::time[]) AS x;
SELECT rows FROM kde_fit('t', ARRAY['clock', 'int4'], sample_rows => 1000);
SELECT approx_count('t (clock, int4)', lower => ARRAY['09:30', '2'], upper => ARRAY['12:30', NULL]) AS box,
  (SELECT count(*) FROM t WHERE clock BETWEEN '09:30' AND '12:30' AND int4 >= 2) AS exact;
-- A shop's day, by quarters of an hour: the lattice is found in the values.
CREATE TABLE visits AS SELECT time '00:00' + floor((9 + 10 * sqrt(i / 5000.0)) * 4) * interval '15 minutes' AS at FROM generate_series(0, 4999) AS i;
SELECT rows FROM kde_fit('visits', 'at', seed => 1, sample_rows => 2000);
SELECT lower, upper, lattice_step FROM kde_densities_full WHERE relation = 'visits'::regclass;
SELECT approx_count('visits.at', 'noon', NULL);
SELECT approx_count('visits.at', interval '9 hours', NULL);
SELECT approx_count('visits.at', timestamp '2026-01-01 09:00', NULL);
SELECT approx_avg_as('visits.at', NULL::interval);
-- A timetz is no point on one axis, and the unit of money depends on a setting: what to convert them to.
CREATE TABLE others AS SELECT i::numeric::money AS price, timetz '12:00+00' + i * interval '1 minute' AS "Closes at" FROM generate_series(1, 10) AS i;
SELECT kde_fit('others', 'price');
SELECT kde_fit('others', 'Closes at');
SELECT rows, name FROM kde_fit('others', ARRAY['price::numeric']);
SELECT rows, name FROM kde_fit('others', ARRAY['"Closes at"::time']);
SELECT kde_fit('others', ARRAY['price + price']);
SELECT kde_agg(price) FROM others;
SELECT approx_sum(kde_agg(price::numeric)) FROM others;

-- timestamptz: an instant is the same in every session; what is read without a zone is local. On
-- 2026-03-29 Berlin's clocks went from 02:00 to 03:00 at 01:00 UTC.
CREATE FUNCTION zoned() RETURNS TABLE (zone text, instants float8, untyped float8, dated float8, local float8, ranged float8,
  avg timestamptz, low text) LANGUAGE sql STABLE AS $$
SELECT current_setting('TimeZone'),
  approx_count('t.tstz', '2026-03-29 00:00+00', '2026-03-29 02:00+00'),
  approx_count('t.tstz', '2026-03-29 00:00', '2026-03-29 03:00'),
  approx_count('t.tstz', date '2026-03-29', date '2026-03-29'),
  approx_count('t.tstz', timestamp '2026-03-29 00:00', timestamp '2026-03-29 03:00'),
  approx_count('t.tstz', tstzrange('2026-03-29 00:00', '2026-03-29 03:00', '[]')),
  approx_avg_as('t.tstz', NULL::timestamptz, '2026-03-29 00:00+00', '2026-03-29 02:00+00'),
  (SELECT lower FROM kde_densities_full WHERE relation = 't'::regclass AND column_names = '{tstz}')
$$;
SELECT * FROM zoned();
SET timezone = 'Europe/Berlin';
SELECT * FROM zoned();
SET timezone = 'Pacific/Auckland';
SELECT * FROM zoned();
SET timezone = 'UTC';
-- The same by plain SQL, as a check of the check.
SET timezone = 'Europe/Berlin';
SELECT count(*) FILTER (WHERE tstz BETWEEN '2026-03-29 00:00' AND '2026-03-29 03:00') AS untyped,
  count(*) FILTER (WHERE tstz BETWEEN date '2026-03-29' AND date '2026-03-29') AS dated FROM t;
SET timezone = 'UTC';

-- An untyped bound is read under the session's DateStyle.
SET datestyle = 'ISO, DMY';
SELECT approx_count('t.date', '26/03/2026', '28/03/2026') AS dmy;
SET datestyle = 'ISO, YMD';

-- Intervals compare as PostgreSQL compares them: a month is 30 days, a day 24 hours.
CREATE TABLE spans AS SELECT i FROM unnest('{30 days,1 month,720 hours,-1 day,31 days}'::interval[]) AS i, generate_series(1, 20);
CREATE VIEW last_fit AS SELECT * FROM kde_densities_full ORDER BY fitted_at DESC LIMIT 1;
SELECT FROM kde_fit('spans', 'i') \g /dev/null
SELECT cells, rows FROM last_fit;
SELECT b, approx_count('spans.i', b, b) AS approximate, (SELECT count(*) FROM spans WHERE i = b) AS exact
FROM unnest('{1 month,30 days,-24 hours,744 hours,1 mon 1 day,29 days}'::interval[]) AS b;

-- ------------------------------------------------------------------------------------- extremes
-- Infinite dates and timestamps are infinities: counted apart, ordered at the ends.
CREATE TABLE endless AS
SELECT CASE k WHEN 0 THEN date '-infinity' WHEN 3 THEN 'infinity' ELSE date '2026-01-01' + k END AS d,
  CASE k WHEN 0 THEN timestamp '-infinity' WHEN 3 THEN 'infinity' ELSE timestamp '2026-01-01' + k * interval '1 day' END AS ts
FROM generate_series(0, 3) AS k, generate_series(1, 10);
SELECT rows FROM kde_fit('endless', 'd');
SELECT rows FROM kde_fit('endless', 'ts');
SELECT approx_count('endless.d') AS all, approx_count('endless.d', '2026-01-01', 'infinity') AS to_infinity,
  approx_count('endless.d', '-infinity', '-infinity') AS minus_infinity,
  approx_avg_as('endless.d', NULL::date, '2026-01-01', '2026-12-31') AS finite,
  approx_avg_as('endless.d', NULL::date, '2026-01-01', 'infinity') AS infinite,
  approx_quantile_as('endless.d', 0, NULL::date) AS lowest, approx_quantile_as('endless.ts', 1, NULL::timestamp) AS highest;
-- The largest and smallest values of each type make the round trip; a date beyond every timestamp is a
-- fair bound of a timestamp column.
CREATE TABLE ends (int2 smallint, int4 integer, int8 bigint, float4 real, float8 float8, num numeric, d date, ts timestamp, iv interval);
INSERT INTO ends VALUES
  (-32768, -2147483648, -9223372036854775808, -3.4028235e38, -1.7976931348623157e308, -1e30, '4713-01-01 BC', '4713-01-01 BC', '-2000 years'),
  (32767, 2147483647, 9223372036854775807, 3.4028235e38, 1.7976931348623157e308, 1e30, '5874897-12-31', '294276-12-31 23:59:59', '2000 years');
SELECT count(kde_fit('ends', attname)) AS fitted FROM pg_attribute WHERE attrelid = 'ends'::regclass AND attnum > 0;
SELECT column_names, rows, cells, lower, upper FROM kde_densities_full WHERE relation = 'ends'::regclass ORDER BY column_names::text COLLATE "C";
SELECT approx_quantile_as('ends.int2', 1, NULL::smallint) AS int2, approx_quantile_as('ends.int4', 0, NULL::integer) AS int4,
  approx_quantile_as('ends.int8', 0, NULL::bigint) AS int8_low, approx_quantile_as('ends.int8', 1, NULL::bigint) AS int8_high,
  approx_quantile_as('ends.d', 1, NULL::date) AS date, approx_quantile_as('ends.ts', 0, NULL::timestamp) AS timestamp,
  approx_count('ends.ts', date '5000000-01-01', NULL) AS beyond, approx_count('ends.ts', NULL, date '5000000-01-01') AS up_to;
-- Numerics beyond a double are infinities, NaN and the infinities of numeric are what they are.
CREATE TABLE numerics AS SELECT x FROM unnest('{NaN,Infinity,-Infinity,1e400,-1e400,1e-400,0.1,123456789012345678901234567890.123456789}'::numeric[]) AS x;
SELECT rows, rows_read FROM kde_fit('numerics', 'x');
SELECT nans, lower, upper FROM kde_info(kde_density('numerics.x'));
SELECT approx_count('numerics.x', 'NaN', NULL) AS nans, approx_count('numerics.x', 'Infinity', 'Infinity') AS infinities,
  approx_count('numerics.x', '-Infinity', '-Infinity') AS minus_infinities;
-- Numerics of any length convert as SQL's cast does: the whole column's sum is that of the casts.
CREATE TABLE digits AS
SELECT (sign(k - 50.5) * k * 1.0000010000200003 * power(10::numeric, k % 37 - 18))::numeric AS x FROM generate_series(1, 100) AS k;
SELECT rows FROM kde_fit('digits', 'x');
SELECT abs(approx_sum('digits.x') / sum(x::float8) - 1) < 1e-12 AS sum,
  (SELECT lower::numeric::float8 FROM kde_densities_full WHERE relation = 'digits'::regclass) = min(x)::float8 AS min,
  (SELECT upper::numeric::float8 FROM kde_densities_full WHERE relation = 'digits'::regclass) = max(x)::float8 AS max
FROM digits;

-- Dates lie on a lattice of days, so a time of day between them changes nothing: three years, each day
-- stored with its rows, and thirty, too many days for that.
CREATE TABLE days AS SELECT date '2020-01-01' + (1000 * sqrt(i / 3000.0))::integer AS d,
  date '1990-01-01' + (11000 * sqrt(i / 3000.0))::integer AS decades FROM generate_series(1, 3000) AS i;
SELECT FROM kde_fit('days', 'd') \g /dev/null
SELECT rows, cells = (SELECT count(DISTINCT d) FROM days) AS each_day FROM last_fit;
SELECT FROM kde_fit('days', 'decades', seed => 1, sample_rows => 1500) \g /dev/null
SELECT rows, cells FROM last_fit;
-- To the last of the 32 bits that a day's rows are stored in.
SELECT count(*) AS days, bool_and(abs(approx_count('days.d', d, d) - n) <= 3000 * 2 ^ -32) AS exact
FROM (SELECT d, count(*) AS n FROM days GROUP BY d) AS v;
SELECT name, approx_count('days.' || name, d, d + 30) = approx_count('days.' || name, daterange(d, d + 31)) AS half_open,
  approx_count('days.' || name, d, d + 30)
    = approx_count('days.' || name, d - 1 + time '00:00:01', d + 30 + time '23:59:59') AS times_between,
  approx_count('days.' || name, d + time '00:00:01', d + time '23:59:59') AS within_a_day,
  extract(epoch FROM approx_quantile_as('days.' || name, 0.37, NULL::date)) = approx_quantile('days.' || name, 0.37) AS quantile_is_a_day
FROM (VALUES ('d'::name, date '2021-01-01'), ('decades', '2015-01-01')) AS v(name, d);

-- Seconds that come out go in, by the density and exactly; other numbers do not, nor NaN.
CREATE TABLE seconds AS SELECT date '2026-01-01' + i % 30 AS day, timestamp '2026-01-01' + i * interval '1 hour' AS at,
  timestamptz '2026-01-01 UTC' + i * interval '1 hour' AS instant, i * interval '1 minute' AS took, time '00:00' + i % 24 * interval '1 hour' AS clock
FROM generate_series(0, 719) AS i;
SELECT count(kde_fit('seconds', c)) FROM unnest('{day,at,instant,took,clock}'::name[]) AS c;
SELECT c, approx_count('seconds.' || c, lower => m) AS above, approx_count('seconds.' || c, lower => m, max_relative_error => 0, otherwise => 'exact') AS exact,
  approx_count('seconds.' || c, lower => approx_quantile('seconds.' || c, 0), upper => approx_quantile('seconds.' || c, 1)) AS whole,
  approx_count('seconds.' || c, lower => 'infinity'::float8) AS none
FROM unnest('{day,at,instant,took,clock}'::text[]) AS c, LATERAL approx_quantile('seconds.' || c, 0.75) AS m;
SELECT approx_avg('seconds.day', m, max_relative_error => 0, otherwise => 'exact') - m > 0 AS later FROM approx_avg('seconds.day') AS m;
SELECT approx_count('seconds.day', 2026, 2027);
SELECT approx_count('seconds.at', 'NaN'::float8);

SET client_min_messages = warning;
DROP SCHEMA column_types CASCADE;
