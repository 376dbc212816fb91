-- Numbers that are said to be seconds or milliseconds since 1970: cells of a fit of every row end at whole hours
-- as those of a timestamp do, so what is asked of these is that of the exact plan, with no error.
\set ECHO none \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS unix_times CASCADE;
CREATE SCHEMA unix_times;
SET search_path = unix_times, public;
RESET client_min_messages;
-- Random numbers, the same everywhere.
CREATE FUNCTION u(i bigint, k integer DEFAULT 0) RETURNS float8 LANGUAGE sql IMMUTABLE AS
  'SELECT (hashint8extended(i, k) & 4294967295)::float8 / 4294967296';
-- Three years from 2023 on, one in fifty at a whole hour; amounts to the cent, of which one in ten is NULL.
CREATE TABLE events AS
SELECT ms, ms / 1000.0::float8 AS s, (ms / 1000)::integer AS whole, i % 3 AS part,
  CASE WHEN u(i, 1) > 0.1 THEN round((20 - 30 * ln(1 - u(i, 2)))::numeric, 2)::numeric(12, 2) END AS amount,
  'region ' || floor(8 * u(i, 3) ^ 2) AS region
FROM generate_series(1, 80000) AS i, LATERAL (SELECT 1672531200000 +
  CASE WHEN i % 50 = 0 THEN 3600000 * floor(26304 * u(i)) ELSE floor(94694400e3 * u(i)) END::bigint AS ms) AS t;
CREATE TABLE halves (ms bigint, amount numeric(12, 2), half integer) PARTITION BY LIST (half);
CREATE TABLE half0 PARTITION OF halves FOR VALUES IN (0);
CREATE TABLE half1 PARTITION OF halves FOR VALUES IN (1);
INSERT INTO halves SELECT ms, amount, (ms > 1720000000000)::integer FROM events;
VACUUM ANALYZE events, halves;
SET kde_aqp.approximate_error = 0;
SET kde_aqp.approximate_notice = off;
\set ECHO queries

SELECT name, model FROM kde_fit('events', 'ms', sample_rows => -1, measures => '{amount}', steps => 'unix milliseconds');
SELECT name, model FROM kde_fit('events', 'ms', sample_rows => -1, measures => '{amount}', group_by => 'region', steps => 'unix milliseconds');
SELECT name, model FROM kde_fit('events', 's', sample_rows => -1, steps => 'unix seconds');
SELECT name, model FROM kde_fit('events', ARRAY['whole'], sample_rows => -1, measures => '{amount}', steps => 'unix seconds');
SELECT name, model FROM kde_fit('halves', 'ms', sample_rows => -1, measures => '{amount}', steps => 'unix milliseconds');
SELECT name, steps FROM kde_densities_full WHERE relation IN ('events'::regclass, 'halves'::regclass) ORDER BY name COLLATE "C";
SELECT count(kde_set_plain_sql(name, true)) FROM kde_densities_full WHERE relation IN ('events'::regclass, 'halves'::regclass);
SELECT pg_stat_force_next_flush();

-- Who answers, and whether as the exact plan does, of many ranges of hours, in the column's unit; some begin before all rows.
CREATE FUNCTION verdicts(what text, x text, hour bigint, times integer) RETURNS TABLE (n bigint, verdict text) LANGUAGE sql AS $$
  SELECT count(*), v FROM generate_series(1, times) AS i,
    LATERAL (SELECT (464500 + floor(26500 * u(i, 10)))::bigint * hour AS a, (464500 + floor(26500 * u(i, 11)))::bigint * hour AS b) AS e,
    LATERAL regexp_replace(answered_by(format(what,
      format(('{%3$s >= %1$s AND %3$s < %2$s,%3$s BETWEEN %1$s AND %2$s,%3$s > %1$s AND %3$s <= %2$s,%3$s >= %1$s,%3$s < %2$s,%3$s = %1$s}'::text[])[1 + i % 6],
      least(a, b), greatest(a, b), x))), ' \(\d+ rows\)', '') AS v GROUP BY v ORDER BY v $$;
SELECT * FROM verdicts('SELECT count(*), count(amount), sum(amount), round(avg(amount), 6) AS avg FROM events WHERE %s', 'ms', 3600000, 60);
SELECT * FROM verdicts('SELECT region, count(*), sum(amount), round(avg(amount), 6) AS avg FROM events WHERE %s GROUP BY 1', 'ms', 3600000, 18);
SELECT * FROM verdicts('SELECT ms / 86400000 AS day, count(*), sum(amount) FROM events WHERE %s GROUP BY 1', 'ms', 86400000, 1);
SELECT * FROM verdicts('SELECT count(*) FROM events WHERE %s', 's', 3600, 60);
SELECT * FROM verdicts('SELECT count(*), sum(amount) FROM events WHERE %s', 'whole', 3600, 60);
SELECT * FROM verdicts('SELECT count(*), count(amount), sum(amount) FROM halves WHERE %s', 'ms', 3600000, 60);

-- Ends within an hour: the interval has the truth, and is no wider than the rows of the hours cut.
SELECT count(*) FILTER (WHERE t.n NOT BETWEEN c.lower_bound - 1e-6 AND c.upper_bound + 1e-6) AS wrong,
  count(*) FILTER (WHERE c.upper_bound - c.lower_bound > cut + 1e-6) AS wide
FROM generate_series(1, 40) AS i, LATERAL (SELECT 1672531200000 + floor(94e9 * u(i, 12))::bigint AS a) AS e,
  LATERAL (SELECT count(*) FILTER (WHERE ms >= a) AS n, count(*) FILTER (WHERE ms / 3600000 = a / 3600000) AS cut FROM events) AS t, approx_count_ci('events.ms', a, NULL) AS c;

-- Added up they are exact at the same ends, but only with those of the same steps.
CREATE TABLE parts (part integer, steps text, d kde);
DO $$
BEGIN
  FOR k IN 0..2 LOOP
    EXECUTE format('CREATE TABLE part%1$s AS SELECT ms, amount FROM events WHERE part = %1$s', k);
    PERFORM kde_fit('part' || k, 'ms', sample_rows => -1, measures => '{amount}', steps => CASE WHEN k < 2 THEN 'unix milliseconds' END);
    INSERT INTO parts SELECT k, i.steps, d FROM kde_density(format('part%s.ms', k)) AS d, kde_info(d) AS i;
  END LOOP;
END $$;
SELECT count(*) FILTER (WHERE n <> approx_count(d, low, high) OR total <> round(approx_sum(d, low, high, measure => '2')::numeric, 2)) AS wrong, count(*)
FROM (SELECT rollup(d) AS d FROM parts WHERE part < 2) AS r, generate_series(1, 40) AS i,
  LATERAL (SELECT (464600 + floor(13000 * u(i, 13)))::bigint * 3600000 AS low, (477600 + floor(13000 * u(i, 14)))::bigint * 3600000 AS high) AS e,
  LATERAL (SELECT count(*) AS n, sum(amount) AS total FROM events WHERE part < 2 AND ms BETWEEN low AND high) AS t;
SELECT try('SELECT rollup(d) FROM parts');
SELECT steps, approx_count(rollup(d)) FROM parts GROUP BY steps ORDER BY steps COLLATE "C";

-- A refresh, of all or of a part, a fit of the whole table and a restore keep the steps.
INSERT INTO halves SELECT 1690000000000 + i, 1, 0 FROM generate_series(1, 3000) AS i;
SELECT kde_set_refresh('halves.ms', threshold => 0, scale_factor => 0);
SELECT pg_stat_force_next_flush();
VACUUM halves;
SELECT column_names, action FROM kde_refresh('halves');
SELECT * FROM verdicts('SELECT count(*), count(amount), sum(amount) FROM halves WHERE %s', 'ms', 3600000, 20);
SELECT column_names, action FROM kde_refresh('events', force => true) ORDER BY column_names::text COLLATE "C";
SELECT column_name FROM kde_fit('events') WHERE fitted ORDER BY column_name COLLATE "C";
CREATE TABLE saved AS SELECT * FROM kde_aqp.dumped_densities() WHERE relation = 'part1'::regclass;
SELECT kde_drop('part1.ms');
INSERT INTO kde_aqp.density SELECT * FROM saved;
SELECT column_names, action FROM kde_refresh('part1', force => true);
SELECT name, steps, model FROM kde_densities_full WHERE relation::text ~ 'events|halves|part' ORDER BY name COLLATE "C";
SELECT d::text::kde::text = d::text AS same, d::json->>'steps' AS steps FROM parts ORDER BY part;
-- It is the type's own where the column is no number any more.
ALTER TABLE part1 ALTER ms TYPE timestamptz USING to_timestamp(ms / 1000.0);
SELECT column_names, action FROM kde_refresh('part1', force => true);
SELECT name, steps FROM kde_densities_full WHERE relation = 'part1'::regclass ORDER BY name COLLATE "C";

-- Samples, and methods by name.
SELECT kde_fit('events', 'ms', sample_rows => 5000, seed => 1, steps => 'unix milliseconds'), kde_fit('events', 's', 'silverman', seed => 1, steps => 'unix seconds') \g /dev/null
SELECT name, steps, abs(approx_count(name, 1704067200 * unit, NULL) / 80000 - 0.667) < 0.02 AS near
FROM (VALUES ('events.ms', 1000::bigint), ('events.s', 1)) AS n (name, unit), kde_info(name);

-- Wherever the values lie, as long as they are times; where they are none nothing is fitted.
CREATE TABLE odd AS SELECT CASE i % 4 WHEN 0 THEN 9223372036854771712 - 4096000 * i WHEN 1 THEN -9223372036854771712 + 4096000 * i WHEN 2 THEN -i ELSE 1e15::bigint * i END AS x,
  1e19 * (1 + i % 100) AS far FROM generate_series(1, 400) AS i;
SELECT kde_fit('odd', 'x', steps => 'unix seconds') \g /dev/null
SELECT count(*) FILTER (WHERE n <> approx_count('odd.x', NULL, a)) AS wrong FROM (SELECT x AS a, count(*) OVER (ORDER BY x) AS n FROM odd) AS t;
SELECT try(format('SELECT kde_fit(%s)', call)) FROM unnest(ARRAY[
  $$'odd', 'far', steps => 'unix seconds'$$, $$'odd', 'x', steps => 'unix'$$, $$'odd', 'x', steps => ''$$,
  $$'events', 'region', steps => 'decimal'$$, $$'events', ARRAY['ms', 's'], steps => 'unix seconds'$$,
  $$'events', ARRAY['to_timestamp(s)'], steps => 'unix seconds'$$]) AS call;
SELECT try($$SELECT kde_aqp.cells(2, x) FROM odd$$);
SELECT kde_fit('odd', 'x', steps => 'decimal') \g /dev/null
SELECT steps FROM kde_info('odd.x');
SET client_min_messages = warning;
DROP SCHEMA unix_times CASCADE;
