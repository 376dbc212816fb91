-- A fit by auto that reads every row: what plain SQL, GROUP BY and approx_*() are told over ranges with round
-- ends is that of the exact plan, with no error; of times whole hours, in every time zone of whole hours, of
-- numbers whole steps. Between the ends an interval holds the truth, and is no wider than the cells that the
-- range cuts.
\set ECHO none \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS round_cells CASCADE;
CREATE SCHEMA round_cells;
SET search_path = round_cells, public;
RESET client_min_messages;
-- Random numbers, the same everywhere.
CREATE FUNCTION u(i bigint, k integer DEFAULT 0) RETURNS float8 LANGUAGE sql IMMUTABLE AS
  'SELECT (hashint8extended(i, k) & 4294967295)::float8 / 4294967296';
-- To the microsecond, over a year, some at whole hours; amounts to the cent, of which one in ten is NULL;
-- prices that are lognormal; measurements of no known number of digits. There are more of each than are stored.
CREATE TABLE orders AS
SELECT timestamptz '2023-01-01 00:00:00+00' + CASE WHEN i % 50 = 0 THEN floor(8760 * u(i)) * interval '1 hour'
    ELSE floor(31536000e6 * u(i)) * interval '1 microsecond' END AS at,
  CASE WHEN u(i, 1) < 0.1 THEN NULL ELSE round((20 - 30 * ln(1 - u(i, 2)))::numeric, 2)::numeric(12, 2) END AS amount,
  'region ' || floor(8 * u(i, 3) ^ 2) AS region,
  round(exp(4 + 2.5 * (u(i, 4) + u(i, 5) + u(i, 6) + u(i, 7) - 2))::numeric, 2)::numeric(12, 2) AS price,
  u(i, 4) + u(i, 5) + u(i, 6) - 1.5 AS measured
FROM generate_series(1, 60000) AS i;
VACUUM ANALYZE orders;
SET kde_aqp.approximate_error = 0;
SET kde_aqp.approximate_notice = off;
\set ECHO queries

SELECT name, model, rows FROM kde_fit('orders', 'at', sample_rows => -1, measures => '{amount}');
SELECT name, model, rows FROM kde_fit('orders', 'at', sample_rows => -1, measures => '{amount}', group_by => 'region');
SET kde_aqp.density_bytes = 64;
SELECT name, model, rows FROM kde_fit('orders', 'price', sample_rows => -1, measures => '{amount}');
RESET kde_aqp.density_bytes;
SELECT name, model, rows FROM kde_fit('orders', 'measured', sample_rows => -1, measures => '{amount}');
SELECT count(kde_set_plain_sql(name, true)) FROM kde_densities_full WHERE relation = 'orders'::regclass;
SELECT pg_stat_force_next_flush();

-- Who answers, and whether as the exact plan does; of many queries.
CREATE FUNCTION verdict(query text) RETURNS text LANGUAGE sql AS $$ SELECT regexp_replace(answered_by(query), ' \(\d+ rows\)', '') $$;

-- Times: ranges of hours, open and closed, and all that follows or precedes one.
CREATE FUNCTION hour_of(i bigint, k integer) RETURNS timestamp LANGUAGE sql IMMUTABLE AS
  $$ SELECT timestamp '2022-12-30' + floor(8880 * u(i, k)) * interval '1 hour' $$;
CREATE FUNCTION in_range(i bigint) RETURNS text LANGUAGE sql AS $$
  SELECT format(('{at >= %1$L AND at < %2$L,at BETWEEN %1$L AND %2$L,at > %1$L AND at <= %2$L,at >= %1$L,at < %2$L}'::text[])[1 + i % 5],
    least(hour_of(i, 8), hour_of(i, 9)), greatest(hour_of(i, 8), hour_of(i, 9))) $$;
CREATE TABLE zones (zone, i) AS SELECT * FROM unnest('{UTC,Pacific/Pago_Pago,Pacific/Honolulu,America/Los_Angeles,America/New_York,
  America/Sao_Paulo,Europe/London,Europe/Berlin,Africa/Nairobi,Asia/Shanghai,Australia/Sydney,Pacific/Auckland}'::text[]) WITH ORDINALITY AS z (zone, i);
-- By zone: ranges; buckets of which the ends are round in the zone; and both by region.
CREATE FUNCTION of_zones(what text, times integer) RETURNS TABLE (n bigint, verdict text) LANGUAGE plpgsql AS $$
DECLARE z record; verdicts text[];
BEGIN
  FOR z IN SELECT * FROM zones LOOP
    PERFORM set_config('timezone', z.zone, true);
    verdicts := verdicts || ARRAY(SELECT round_cells.verdict(format(what, in_range(100 * z.i + j))) FROM generate_series(1, times) AS j);
  END LOOP;
  RETURN QUERY SELECT count(*), v FROM unnest(verdicts) AS v GROUP BY v ORDER BY v;
END $$;
SELECT * FROM of_zones('SELECT count(*), count(amount), sum(amount), round(avg(amount), 6) AS avg FROM orders WHERE %s', 8);
SELECT * FROM of_zones('SELECT region, count(*), sum(amount), round(avg(amount), 6) AS avg FROM orders WHERE %s GROUP BY 1', 1);
SELECT * FROM of_zones('SELECT date_trunc(''hour'', at) AS hour, count(*), sum(amount), round(avg(amount), 6) AS avg FROM orders
  WHERE %1$s AND at >= ''2023-03-01'' AND at < ''2023-06-01'' GROUP BY 1', 1);
SELECT * FROM of_zones('SELECT date_trunc(''day'', at) AS day, count(*), sum(amount), round(avg(amount), 6) AS avg FROM orders WHERE %s GROUP BY 1', 1);
SELECT * FROM of_zones('SELECT date_trunc(''month'', at) AS month, count(*), sum(amount), round(avg(amount), 6) AS avg FROM orders WHERE %s GROUP BY 1', 1);
SELECT * FROM of_zones('SELECT date_trunc(''month'', at) AS month, region, count(*), sum(amount) FROM orders WHERE %s GROUP BY 1, 2', 1);

-- Numbers: of cents whole units below the quantile of 99.9 %; of measurements thousandths.
CREATE FUNCTION of_numbers(what text, x text, low float8, high float8, digits integer, times integer) RETURNS TABLE (n bigint, verdict text) LANGUAGE sql AS $$
  SELECT count(*), v FROM generate_series(1, times) AS i,
    LATERAL (SELECT round((low + (high - low) * u(i, 10))::numeric, digits) AS a, round((low + (high - low) * u(i, 11))::numeric, digits) AS b) AS e,
    LATERAL verdict(format(what, format(('{%3$s >= %1$s AND %3$s < %2$s,%3$s BETWEEN %1$s AND %2$s,%3$s > %1$s AND %3$s <= %2$s,%3$s >= %1$s,%3$s < %2$s,%3$s = %1$s}'::text[])[1 + i % 6],
      least(a, b), greatest(a, b), x))) AS v GROUP BY v ORDER BY v $$;
SELECT percentile_disc(0.999) WITHIN GROUP (ORDER BY price) AS q999 FROM orders \gset
SELECT * FROM of_numbers('SELECT count(*), count(amount), sum(amount), round(avg(amount), 6) AS avg FROM orders WHERE %s', 'price', 0, :q999, 0, 60);
SELECT * FROM of_numbers('SELECT count(*), count(amount), sum(amount), round(avg(amount), 6) AS avg FROM orders WHERE %s', 'measured', -1.6, 1.6, 3, 60);

-- Ends within an hour: of counts and sums, whether an interval has the truth, and is no wider than the rows of
-- the hours cut, of sums four times as many of the greatest; and whether it has a width at all.
CREATE FUNCTION within_hours(times integer) RETURNS TABLE (wrong bigint, wide bigint, exact bigint) LANGUAGE sql AS $$
  SELECT count(*) FILTER (WHERE t.n NOT BETWEEN c.lower_bound - 1e-6 AND c.upper_bound + 1e-6 OR t.amounts NOT BETWEEN m.lower_bound - 1e-6 AND m.upper_bound + 1e-6
      OR t.total NOT BETWEEN s.lower_bound - 1e-6 AND s.upper_bound + 1e-6),
    count(*) FILTER (WHERE c.upper_bound - c.lower_bound > t.cut + 1e-6 OR m.upper_bound - m.lower_bound > t.cut_amounts + 1e-6
      OR s.upper_bound - s.lower_bound > 4 * t.cut_amounts * t.greatest + 1e-6),
    count(*) FILTER (WHERE c.upper_bound - c.lower_bound < 1e-6)
  FROM generate_series(1, times) AS i,
    LATERAL (SELECT timestamptz '2023-01-01 00:00+00' + u(i, 12) * interval '365 days' AS x,
      timestamptz '2023-01-01 00:00+00' + u(i, 13) * interval '365 days' AS y) AS v,
    LATERAL (SELECT least(x, y) AS a, greatest(x, y) AS b, date_trunc('hour', x) AS x_hour, date_trunc('hour', y) AS y_hour OFFSET 0) AS e,
    LATERAL (SELECT count(*) FILTER (WHERE within) AS n, count(amount) FILTER (WHERE within) AS amounts, sum(amount) FILTER (WHERE within) AS total,
      count(*) FILTER (WHERE cut) AS cut, count(amount) FILTER (WHERE cut) AS cut_amounts, max(amount) FILTER (WHERE cut) AS greatest
      FROM (SELECT amount, at BETWEEN a AND b AS within, at > x_hour AND at < x_hour + interval '1 hour' OR at > y_hour AND at < y_hour + interval '1 hour' AS cut
        FROM orders) AS o) AS t,
    approx_count_ci('orders.at', a, b) AS c, approx_count_ci('orders.at', a, b, measure => 'amount') AS m, approx_sum_ci('orders.at', a, b, measure => 'amount') AS s $$;
SELECT wrong, wide, exact < 10 AS have_width FROM within_hours(60);

-- Groups of more values than a list holds: counts at the far end, too.
CREATE TABLE many AS SELECT 1000 * u(i, 14) + 1e-7 * u(i, 15) AS x, 'all' AS part FROM generate_series(1, 125000) AS i;
CREATE TABLE ones AS SELECT measured AS x, 1 AS y FROM orders;
VACUUM ANALYZE many, ones;
SELECT name, rows FROM kde_fit('many', 'x', sample_rows => -1, group_by => 'part');
SET kde_aqp.density_bytes = 512;
SELECT name, rows FROM kde_fit('ones', 'x', sample_rows => -1, measures => '{y}');
RESET kde_aqp.density_bytes;
SELECT count(kde_set_plain_sql(name, true)) FROM kde_densities_full WHERE relation = 'many'::regclass;
SELECT pg_stat_force_next_flush();
SELECT verdict('SELECT part, count(*) FROM many WHERE x < ' || at || ' GROUP BY 1') FROM unnest('{300,990,1000}'::float8[]) AS at;

-- Of few rows, whose number is not known, a variance: its interval has that of each number there may be.
CREATE TABLE coins AS SELECT 1000 * u(i, 17) AS x, i % 2 AS y FROM generate_series(1, 20000) AS i;
VACUUM ANALYZE coins;
SET kde_aqp.density_bytes = 16;
SELECT name, rows FROM kde_fit('coins', 'x', sample_rows => -1, measures => '{y}');
RESET kde_aqp.density_bytes;
-- It keeps the size that its session had set; another has the server's.
SELECT kde_fit('coins', 'y', sample_rows => -1) \g /dev/null
SELECT action FROM kde_refresh('coins', force => true);
SELECT name, requested_bytes, bytes <= 16384 AS small FROM kde_densities_full WHERE relation = 'coins'::regclass ORDER BY name;
SELECT count(*) FILTER (WHERE t.variance NOT BETWEEN v.lower_bound - 1e-9 AND v.upper_bound + 1e-9) AS wrong FROM generate_series(1, 200) AS i,
  LATERAL (SELECT 900 * u(i, 18) AS a, 900 * u(i, 18) + u(i, 19) AS b OFFSET 0) AS e,
  LATERAL (SELECT var_samp(y) AS variance FROM coins WHERE x BETWEEN a AND b) AS t, approx_variance_ci('coins.x', a, b, measure => 'y') AS v;

-- Text reads back as what it is of, of long lists and short ones.
SELECT name, kde_density(name)::text::kde::text = kde_density(name)::text AS same FROM kde_densities_full
WHERE relation IN ('orders'::regclass, 'many'::regclass, 'ones'::regclass) ORDER BY name COLLATE "C";

-- Plain SQL that asks day after day, of a zone whose days end within cells, answers as each day by itself.
SET timezone = 'Asia/Kolkata';
CREATE TABLE zoned AS
SELECT timestamptz '2024-01-01' + i::bigint * 7919 % 400009 * interval '79.234567 s' AS at, 'r' || i % 3 AS region,
  (i % 977) / 100.0 AS amount FROM generate_series(1, 100000) AS i;
VACUUM ANALYZE zoned;
SET kde_aqp.density_bytes = '32kB';
SELECT kde_fit('zoned', 'at', sample_rows => -1, group_by => 'region', measures => '{amount}') \g /dev/null
RESET kde_aqp.density_bytes;
SELECT kde_set_plain_sql('zoned.at by (region)', true) \g /dev/null
CREATE FUNCTION by_day() RETURNS TABLE (day timestamptz, region text, n bigint, total numeric) LANGUAGE plpgsql
SET kde_aqp.approximate = 'all' SET kde_aqp.approximate_error = 1 AS $$
BEGIN
  RETURN QUERY SELECT date_trunc('day', at), z.region, count(*), sum(amount) FROM zoned AS z
  WHERE at >= '2024-03-01' AND at < '2024-06-01' GROUP BY 1, 2;
END $$;
SELECT count(*) AS days, count(*) FILTER (WHERE g.count_lower < g.count_upper) > 250 AS cut,
  count(*) FILTER (WHERE abs(n - g.count) > 0.5 + 1e-6 OR abs(total - g.sum) > 0.01) AS other
FROM by_day() AS d,
  approx_groups('zoned.at by (region)', day, day + interval '1 day' - interval '1 us', measure => 'amount') AS g
WHERE g.group_key = d.region;

-- A density keeps the size that its role has set, too: no worker has it.
SELECT current_user AS owner, current_setting('search_path') AS path \gset
CREATE ROLE small_cells LOGIN;
ALTER ROLE small_cells SET kde_aqp.density_bytes = '32kB';
CREATE TABLE small_coins AS SELECT x FROM coins;
ALTER TABLE small_coins OWNER TO small_cells;
SELECT current_schema() AS here \gset
GRANT USAGE ON SCHEMA :here TO small_cells;
\c - small_cells
SET search_path = :path;
SELECT kde_fit('small_coins', 'x', sample_rows => -1) \g /dev/null
SELECT requested_bytes FROM kde_densities_full WHERE relation = 'small_coins'::regclass;
\c - :owner
SET search_path = :path;
DROP TABLE small_coins;
REVOKE USAGE ON SCHEMA :here FROM small_cells;
DROP ROLE small_cells;
SET client_min_messages = warning;
DROP SCHEMA round_cells CASCADE;
