-- Bins with round ends: which steps are taken, that edges are written as the column's type writes them,
-- and that counts are those of SQL's own grouping by the same step. Every value is known, so that all is
-- exact.
\set ECHO queries \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS round_bins CASCADE;
CREATE SCHEMA round_bins;
SET search_path = round_bins, public;
RESET client_min_messages;
SET datestyle = 'ISO, YMD';
SET timezone = 'UTC';
SET intervalstyle = 'postgres';

CREATE FUNCTION edges(d kde, bins integer = 20) RETURNS text LANGUAGE sql AS $$
  SELECT count(*) || ': ' || string_agg(lower_text, ' | ' ORDER BY bin) FILTER (WHERE bin <= 4)
    || ' ... ' || (array_agg(upper_text ORDER BY bin DESC))[1] FROM approx_histogram(d, bins, equal => 'round') $$;

-- Numbers: 1, 2 and 5 times a power of ten, as many bins as come nearest. An integer's bin is no narrower
-- than 1, a price's than a cent.
CREATE TABLE t AS SELECT i AS n, i % 6 + 1 AS side, (i * 0.07 - 20)::numeric(10,2) AS price, i * 1.5e-9::float8 AS small,
  i * 7.7e300::float8 AS large, ('0.1'::float8 * i)::real AS real FROM generate_series(1, 1000) AS i;
SELECT bins, edges(n, bins) AS n, edges(side, bins) AS side, edges(price, bins) AS price FROM generate_series(1, 21, 4) AS bins,
  (SELECT kde_agg(n) AS n, kde_agg(side) AS side, kde_agg(price) AS price FROM t) AS d;
SELECT edges(kde_agg(small), 7) AS small, edges(kde_agg(large), 7) AS large, edges(kde_agg(real), 7) AS real,
  edges(kde_agg(price), 10000) AS cents FROM t;
-- Edges are the doubles that their texts are.
SELECT bool_and(lower_bound = lower_text::float8 AND upper_bound = upper_text::float8) AS exact
FROM (SELECT kde_agg(price) AS d FROM t) AS s, approx_histogram(d, 100, equal => 'round');
-- As SQL groups.
SELECT count(*) AS bins, count(*) FILTER (WHERE h.count IS DISTINCT FROM s.count) AS wrong
FROM (SELECT d.lower_bound, d.count FROM (SELECT kde_agg(price) AS d FROM t) AS s, approx_histogram(d, 15, equal => 'round') AS d) AS h
FULL JOIN (SELECT floor(price / 5) * 5 AS lower_bound, count(*) FROM t GROUP BY 1) AS s ON s.lower_bound = h.lower_bound;
-- The greatest value begins a bin of its own where it is round; an end that is given is rounded outwards,
-- and the last bin ends there.
SELECT edges(kde_agg(n - 1), 10) AS below_1000, edges(kde_agg(n), 10) AS to_1000 FROM t;
SELECT bin, lower_text, upper_text, count FROM (SELECT kde_agg(n) AS d FROM t) AS s,
  approx_histogram(d, 5, lower => 1, upper => 100, equal => 'round');
-- Bins may end beyond the greatest integer, and are written without an exponent nonetheless.
SELECT n, bin, lower_text, upper_text, lower_text::float8 = lower_bound AND upper_text::float8 = upper_bound AS exact
FROM (VALUES (1, (SELECT kde_agg(9223372036854775807 - n) FROM t)), (2, (SELECT kde_agg(-9223372036854775808 + n * 1000000000000000) FROM t)),
  (3, (SELECT kde_agg(9007199254740993 + n * 1000003) FROM t)), (4, (SELECT kde_agg((n * 32)::smallint) FROM t))) AS v (n, d),
  approx_histogram(d, 3, equal => 'round');
-- One value, none, and numbers that doubles cannot divide.
SELECT (SELECT count(*) FROM approx_histogram((SELECT kde_agg(7.5)), 5, equal => 'round')) AS one,
  (SELECT count(*) FROM approx_histogram((SELECT kde_agg(NULL::float8)), 5, equal => 'round')) AS none;
SELECT bins, (SELECT count(*) || ' to ' || max(upper_bound) FROM approx_histogram(
  (SELECT kde_agg(x) FROM (VALUES (-1.7976931348623157e308::float8), (1.7976931348623157e308)) AS v (x)), bins, equal => 'round')) AS all_doubles,
  (SELECT count(*) FROM approx_histogram(
  (SELECT kde_agg(x) FROM (VALUES (1e300::float8), (1.0000000000000002e300)) AS v (x)), bins, equal => 'round')) AS neighbours
FROM unnest('{1,20,10000}'::integer[]) AS bins;
SELECT count(*) AS bins, sum(count) AS rows, bool_and(upper_bound > lower_bound) AS ascend FROM approx_histogram(
  (SELECT kde_agg(x) FROM (VALUES (0::float8), (5e-324)) AS v (x)), 20, equal => 'round');

-- Dates and timestamps: by the calendar.
CREATE TABLE days AS SELECT date '2023-11-20' + i AS day FROM generate_series(0, 999) AS i;
SELECT bins, edges(d, bins) FROM (SELECT kde_agg(day) AS d FROM days) AS s, unnest('{1,3,5,10,30,100,400,1000}'::integer[]) AS bins;
SELECT edges(kde_agg(day + 36500 * i), 10) AS centuries, edges(kde_agg(date '0044-03-15 BC' + 900 * i), 5) AS antiquity,
  edges(kde_agg(date '4713-01-01 BC' + 1000000 * i), 5) AS all_time
FROM days, generate_series(0, 20) AS i WHERE day < '2023-12-01';
-- As date_trunc() groups.
CREATE FUNCTION differences(d kde, bins integer, unit text, of regclass) RETURNS text LANGUAGE plpgsql AS $$
DECLARE found text; BEGIN
  EXECUTE format('SELECT count(*) || '' bins, '' || count(*) FILTER (WHERE h.count IS DISTINCT FROM s.count) || '' wrong''
    FROM (SELECT lower_text, count FROM approx_histogram($1, $2, equal => ''round'') WHERE count > 0) AS h
    FULL JOIN (SELECT date_trunc(%L, x) AS lower, count(*) FROM %s AS t (x) GROUP BY 1) AS s ON s.lower = h.lower_text::timestamptz', unit, of)
  INTO found USING d, bins;
  RETURN found;
END $$;
SELECT unit, differences((SELECT kde_agg(day) FROM days), bins, unit, 'days')
FROM (VALUES ('day', 1000), ('week', 143), ('month', 33), ('quarter', 11), ('year', 4)) AS v (unit, bins);
CREATE TABLE moments AS SELECT timestamptz '2026-03-27 22:13:07.25+00' + i * interval '4 minutes 7.3 seconds' AS at FROM generate_series(0, 1999) AS i;
SELECT bins, edges(d, bins) FROM (SELECT kde_agg(at) AS d FROM moments) AS s, unnest('{2,6,24,140,550,1700}'::integer[]) AS bins;
-- A second and parts of it.
SELECT edges(kde_agg(at), 10) AS seconds, edges(kde_agg(at), 100) AS tenths FROM
  (SELECT timestamp '2026-01-01 23:59:57' + i * interval '1.7 milliseconds' AS at FROM generate_series(0, 5000) AS i) AS s;
SELECT unit, differences((SELECT kde_agg(at) FROM moments), bins, unit, 'moments') FROM (VALUES ('hour', 138), ('day', 6)) AS v (unit, bins);
-- By the session's clock, which is set forward on 29 March and back on 25 October; an hour of half a zone.
SET timezone = 'Europe/Berlin';
SELECT bin, lower_text, upper_text, count FROM approx_histogram((SELECT kde_agg(at) FROM moments), 6, equal => 'round');
SELECT unit, differences((SELECT kde_agg(at) FROM moments), bins, unit, 'moments') FROM (VALUES ('hour', 138), ('day', 6)) AS v (unit, bins);
SELECT edges(kde_agg(at + interval '210 days 2 hours'), 23) AS six_hours, edges(kde_agg(at + interval '210 days 2 hours'), 70) AS two_hours FROM moments;
CREATE TABLE autumn AS SELECT at + interval '210 days 2 hours' AS at FROM moments;
SELECT unit, differences((SELECT kde_agg(at) FROM autumn), bins, unit, 'autumn') FROM (VALUES ('day', 6)) AS v (unit, bins);
SET timezone = 'Asia/Kolkata';
SELECT edges(kde_agg(at), 6) AS days, edges(kde_agg(at), 138) AS hours FROM moments;
SET timezone = 'UTC';

-- Times of day and intervals.
SELECT edges(kde_agg(at::time), 12) AS times, edges(kde_agg(at::time), 96) AS quarters FROM moments;
SELECT edges(kde_agg(t), 24) AS to_midnight FROM (VALUES (time '00:30'), (time '24:00')) AS v (t);
SELECT edges(kde_agg(i * interval '1 hour'), 10) AS days, edges(kde_agg(i * interval '-7 minutes'), 10) AS hours,
  edges(kde_agg(i * interval '17 days'), 10) AS thousands FROM generate_series(1, 500) AS i;

-- Of a density by name.
SELECT rows FROM kde_fit('days', 'day');
SELECT count(*) AS bins, sum(count) AS rows FROM approx_histogram('days.day', 12, equal => 'round');

SET client_min_messages = warning;
DROP SCHEMA round_bins CASCADE;
