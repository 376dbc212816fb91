-- What tools that draw charts send: Grafana's macros, Metabase's and Superset's PostgreSQL, Tableau and the like.
-- Who answers, and that the rows are those of the exact plan.
\set ECHO queries \\ \pset tuples_only on \\ \pset format unaligned
SET search_path = public;
CREATE SCHEMA plain_sql_tools;
SET search_path = plain_sql_tools, public;
SET kde_aqp.approximate_notice = off;
SET TimeZone = 'UTC';
-- A small table stands for a large one, where many parts cost less than rows.
SET cpu_tuple_cost = 10;

CREATE TABLE sales (
  id integer, sold_at timestamp NOT NULL, at timestamptz NOT NULL, day date NOT NULL, epoch bigint NOT NULL,
  qty integer NOT NULL, amount numeric(12,2), price double precision NOT NULL, region text);
INSERT INTO sales
SELECT i, timestamp '2026-01-01' + i * 7919 % 500 * interval '17 hours 30 minutes',
  timestamptz '2026-01-01 00:00+00' + i * 7919 % 500 * interval '17 hours 30 minutes', date '2026-01-01' + i * 7919 % 365,
  extract(epoch FROM timestamptz '2026-01-01 00:00+00')::bigint + i * 7919 % 500 * 63000, i * 31 % 97 - 20,
  CASE WHEN i % 7 > 0 THEN (i * 104729 % 1000 - 300) / 4.0 END, (i * 17 % 200 - 30) / 8.0,
  CASE WHEN i % 13 > 0 THEN ('{EU,US,Asia}'::text[])[1 + i % 3] END
FROM generate_series(1, 20000) AS i;
ANALYZE sales;
SELECT count((kde_fit('sales', c, sample_rows => -1, measures => array_remove('{amount,qty}'::text[], c), group_by => 'region')).rows) AS densities
FROM unnest('{sold_at,at,day,epoch,qty,price}'::text[]) AS c;
SELECT (kde_fit('sales', 'amount', sample_rows => -1, measures => '{qty}')).rows > 0 AS amount;
SELECT count(kde_set_plain_sql(name, true)) AS allowed FROM kde_densities_full WHERE relation = 'sales'::regclass;
SELECT pg_stat_force_next_flush();

CREATE TABLE sent (tool text, what text, query text, number serial);
COPY sent (tool, what, query) FROM stdin WITH (DELIMITER ';');
Grafana;time series, timestamptz;SELECT floor(extract(epoch from at)/86400)*86400 AS "time", sum(amount) AS value FROM sales WHERE at BETWEEN '2026-02-01T00:00:00Z' AND '2026-03-01T12:34:56.789Z' GROUP BY 1 ORDER BY 1
Grafana;time series, timestamp;SELECT floor(extract(epoch from sold_at)/300)*300 AS "time", avg(amount) AS "avg", count(*) AS n FROM sales WHERE sold_at BETWEEN '2026-02-01T00:00:00Z' AND '2026-02-20T12:34:56.789Z' GROUP BY 1 ORDER BY 1
Grafana;time series by region;SELECT floor(extract(epoch from at)/604800)*604800 AS "time", region AS metric, sum(amount) AS value FROM sales WHERE at BETWEEN '2026-02-01T00:00:00Z' AND '2026-05-01T00:00:00Z' GROUP BY 1, 2 ORDER BY 1, 2
Grafana;time series, epoch column;SELECT floor((epoch)/3600)*3600 AS "time", sum(amount) AS value FROM sales WHERE epoch >= 1769904000 AND epoch <= 1772323200 GROUP BY 1 ORDER BY 1
Grafana;time series, half seconds;SELECT floor(extract(epoch from at)/0.5)*0.5 AS "time", count(*) AS value FROM sales WHERE at BETWEEN '2026-02-01T00:00:00Z' AND '2026-03-01T00:00:00Z' GROUP BY 1 ORDER BY 1
Grafana;time series, no bucket;SELECT at AS "time", sum(amount) AS value FROM sales WHERE at BETWEEN '2026-02-01T00:00:00Z' AND '2026-03-01T00:00:00Z' GROUP BY at ORDER BY at
Grafana;time series, epoch of each;SELECT extract(epoch from at) AS "time", sum(amount) AS value FROM sales WHERE at BETWEEN '2026-02-01T00:00:00Z' AND '2026-03-01T00:00:00Z' GROUP BY 1 ORDER BY 1
Grafana;time series, as time;SELECT to_timestamp(floor(extract(epoch from at)/86400)*86400) AS "time", sum(amount) FROM sales WHERE at >= '2026-02-01T00:00:00Z' AND at < '2026-03-01T00:00:00Z' GROUP BY 1 ORDER BY 1
Grafana;time series, epoch column as time;SELECT to_timestamp(floor((epoch)/86400)*86400) AS "time", avg(amount) FROM sales WHERE epoch >= 1769904000 AND epoch <= 1772323200 GROUP BY 1 ORDER BY 1
Grafana;time series, date_trunc with a zone;SELECT date_trunc('day', at, 'Europe/Berlin') AS "time", sum(amount) FROM sales WHERE at BETWEEN '2026-02-01T00:00:00Z' AND '2026-12-01T00:00:00Z' GROUP BY 1 ORDER BY 1
Grafana;bar chart;SELECT region AS metric, sum(amount) AS value FROM sales WHERE at BETWEEN '2026-02-01T00:00:00Z' AND '2026-03-01T00:00:00Z' GROUP BY region ORDER BY value DESC LIMIT 10
Grafana;builder, bar chart;SELECT SUM(amount) AS "sum", region FROM sales GROUP BY region ORDER BY SUM(amount) DESC LIMIT 50
Grafana;big number;SELECT sum(amount) AS value FROM sales WHERE at BETWEEN '2026-02-01T00:00:00Z' AND '2026-03-01T00:00:00Z'
Grafana;builder, big number;SELECT COUNT(*), AVG(amount) FROM sales WHERE (day >= '2026-02-01' AND region = 'EU') LIMIT 50
Grafana;gauge over a window;SELECT count(*) FROM sales WHERE at > to_timestamp(1769904000) AND at <= to_timestamp(1772323200.5)
Metabase;time series, months;SELECT DATE_TRUNC('month', "plain_sql_tools"."sales"."sold_at") AS "sold_at", SUM("plain_sql_tools"."sales"."amount") AS "sum" FROM "plain_sql_tools"."sales" GROUP BY DATE_TRUNC('month', "plain_sql_tools"."sales"."sold_at") ORDER BY DATE_TRUNC('month', "plain_sql_tools"."sales"."sold_at") ASC
Metabase;time series, months of a timestamptz;SELECT DATE_TRUNC('month', "sales"."at") AS "at", COUNT(*) AS "count" FROM "sales" WHERE ("sales"."at" >= timestamp with time zone '2026-02-01 00:00:00.000Z') AND ("sales"."at" < timestamp with time zone '2026-08-01 00:00:00.000Z') GROUP BY DATE_TRUNC('month', "sales"."at") ORDER BY DATE_TRUNC('month', "sales"."at") ASC
Metabase;time series, months of a date;SELECT CAST(DATE_TRUNC('month', "sales"."day") AS date) AS "day", AVG("sales"."amount") AS "avg" FROM "sales" GROUP BY CAST(DATE_TRUNC('month', "sales"."day") AS date) ORDER BY CAST(DATE_TRUNC('month', "sales"."day") AS date) ASC
Metabase;time series, days;SELECT CAST("sales"."sold_at" AS date) AS "sold_at", SUM("sales"."qty") AS "sum" FROM "sales" WHERE "sales"."sold_at" >= timestamp '2026-02-01 00:00:00.000' AND "sales"."sold_at" < timestamp '2026-04-01 00:00:00.000' GROUP BY CAST("sales"."sold_at" AS date) ORDER BY 1 ASC
Metabase;time series, weeks from Sunday;SELECT (DATE_TRUNC('week', ("sales"."sold_at" + INTERVAL '1 day')) + INTERVAL '-1 day') AS "sold_at", COUNT(*) AS "count" FROM "sales" GROUP BY (DATE_TRUNC('week', ("sales"."sold_at" + INTERVAL '1 day')) + INTERVAL '-1 day') ORDER BY 1 ASC
Metabase;the same of a timestamptz;SELECT (CAST(DATE_TRUNC('week', ("sales"."at" + INTERVAL '1 day')) AS timestamp) + INTERVAL '-1 day') AS "at", SUM("sales"."amount") AS "sum" FROM "sales" GROUP BY (CAST(DATE_TRUNC('week', ("sales"."at" + INTERVAL '1 day')) AS timestamp) + INTERVAL '-1 day') ORDER BY 1 ASC
Metabase;the same, newer;SELECT (DATE_TRUNC('week', ("sales"."at" + INTERVAL '1 day')) + INTERVAL '-1 day') AS "at", SUM("sales"."amount") AS "sum" FROM "sales" GROUP BY (DATE_TRUNC('week', ("sales"."at" + INTERVAL '1 day')) + INTERVAL '-1 day') ORDER BY 1 ASC
Metabase;the same of a date;SELECT CAST((CAST(DATE_TRUNC('week', CAST(("sales"."day" + INTERVAL '1 day') AS date)) AS date) + INTERVAL '-1 day') AS date) AS "day", SUM("sales"."amount") AS "sum" FROM "sales" GROUP BY CAST((CAST(DATE_TRUNC('week', CAST(("sales"."day" + INTERVAL '1 day') AS date)) AS date) + INTERVAL '-1 day') AS date) ORDER BY 1 ASC
Metabase;time series, quarters by region;SELECT DATE_TRUNC('quarter', "sales"."sold_at") AS "sold_at", "sales"."region" AS "region", SUM("sales"."amount") AS "sum" FROM "sales" GROUP BY DATE_TRUNC('quarter', "sales"."sold_at"), "sales"."region" ORDER BY 1 ASC, 2 ASC
Metabase;time series, a time zone;SELECT DATE_TRUNC('month', timezone('Europe/Berlin', "sales"."at")) AS "at", COUNT(*) AS "count" FROM "sales" GROUP BY 1 ORDER BY 1 ASC
Metabase;time series, a zone and back;SELECT (DATE_TRUNC('day', ("sales"."at" AT TIME ZONE 'America/New_York')) AT TIME ZONE 'America/New_York') AS "at", COUNT(*) AS "count" FROM "sales" GROUP BY 1 ORDER BY 1 ASC
Metabase;time series, of a timestamp in a zone;SELECT DATE_TRUNC('week', timezone('Europe/Berlin', timezone('UTC', "sales"."sold_at"))) AS "s", COUNT(*) AS "count" FROM "sales" GROUP BY 1 ORDER BY 1 ASC
Metabase;time series, epoch column;SELECT DATE_TRUNC('month', to_timestamp("sales"."epoch")) AS "epoch", SUM("sales"."amount") AS "sum" FROM "sales" GROUP BY 1 ORDER BY 1 ASC
Metabase;time series, years;SELECT CAST(extract(year FROM "sales"."sold_at") AS integer) AS "y", SUM("sales"."amount") AS "sum" FROM "sales" GROUP BY 1 ORDER BY 1 ASC
Metabase;bar chart;SELECT "sales"."region" AS "region", SUM("sales"."amount") AS "sum" FROM "sales" GROUP BY "sales"."region" ORDER BY "sum" DESC, "sales"."region" ASC
Metabase;bar chart, last days;SELECT "sales"."region" AS "region", COUNT(*) AS "count" FROM "sales" WHERE "sales"."at" >= CAST((TIMESTAMP '2026-06-01' + INTERVAL '-30 day') AS date) AND "sales"."at" < CAST(TIMESTAMP '2026-06-01' AS date) GROUP BY "sales"."region" ORDER BY "count" DESC, "sales"."region" ASC
Metabase;bar chart, this month;SELECT "sales"."region" AS "region", COUNT(*) AS "count" FROM "sales" WHERE "sales"."sold_at" >= DATE_TRUNC('month', timestamptz '2026-06-10 12:00Z') AND "sales"."sold_at" < DATE_TRUNC('month', (timestamptz '2026-06-10 12:00Z' + INTERVAL '1 month')) GROUP BY "sales"."region"
Metabase;bar chart, two regions;SELECT "sales"."region" AS "region", AVG("sales"."amount") AS "avg" FROM "sales" WHERE ("sales"."region" = 'EU' OR "sales"."region" = 'US') AND "sales"."day" BETWEEN date '2026-02-01' AND date '2026-02-28' GROUP BY "sales"."region" ORDER BY "sales"."region" ASC
Metabase;bar chart, bins of an integer;SELECT ((FLOOR((("sales"."qty" - -20.0) / 12.5)) * 12.5) + -20.0) AS "qty", COUNT(*) AS "count" FROM "sales" GROUP BY 1 ORDER BY 1 ASC
Metabase;bar chart, bins of a numeric;SELECT (FLOOR(("sales"."amount" / 25.0)) * 25.0) AS "amount", COUNT(*) AS "count" FROM "sales" WHERE "sales"."amount" IS NOT NULL GROUP BY 1 ORDER BY 1 ASC
Metabase;bar chart, bins of a double;SELECT ((FLOOR((("sales"."price" - -5.0) / 2.5)) * 2.5) + -5.0) AS "price", COUNT(*) AS "count" FROM "sales" GROUP BY 1 ORDER BY 1 ASC
Metabase;big number;SELECT SUM("sales"."amount") AS "sum" FROM "sales"
Metabase;big number, filtered;SELECT COUNT(*) AS "count" FROM "sales" WHERE ("sales"."at" >= timestamp with time zone '2026-02-01 00:00:00.000Z') AND ("sales"."at" < timestamp with time zone '2026-03-01 00:00:00.000Z')
Metabase;big number, days of a filter;SELECT COUNT(*) AS "count" FROM "sales" WHERE CAST("sales"."sold_at" AS date) BETWEEN date '2026-02-01' AND date '2026-02-28'
Metabase;big number, a month of a filter;SELECT SUM("sales"."amount") AS "sum" FROM "sales" WHERE DATE_TRUNC('month', "sales"."sold_at") = DATE_TRUNC('month', timestamp '2026-03-05')
Metabase;nested question;SELECT AVG("source"."sum") AS "avg" FROM (SELECT DATE_TRUNC('day', "sales"."sold_at") AS "sold_at", SUM("sales"."amount") AS "sum" FROM "sales" GROUP BY DATE_TRUNC('day', "sales"."sold_at")) AS "source"
Metabase;hours of the day;SELECT CAST(extract(hour FROM "sales"."sold_at") AS integer) AS "h", COUNT(*) AS "count" FROM "sales" GROUP BY 1
Metabase;days of the week;SELECT CAST(extract(dow FROM "sales"."sold_at") AS integer) AS "d", COUNT(*) AS "count" FROM "sales" GROUP BY 1
Metabase;distinct values;SELECT COUNT(DISTINCT "sales"."region") AS "count" FROM "sales"
Superset;time series;SELECT DATE_TRUNC('month', sold_at) AS sold_at, SUM(amount) AS "SUM(amount)" FROM plain_sql_tools.sales WHERE sold_at >= TO_TIMESTAMP('2026-02-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND sold_at < TO_TIMESTAMP('2026-08-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') GROUP BY DATE_TRUNC('month', sold_at) ORDER BY "SUM(amount)" DESC LIMIT 10000
Superset;time series, timestamptz;SELECT DATE_TRUNC('week', at) AS __timestamp, COUNT(*) AS count FROM sales WHERE at >= TO_TIMESTAMP('2026-02-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND at < TO_TIMESTAMP('2026-08-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') GROUP BY DATE_TRUNC('week', at) ORDER BY count DESC LIMIT 50000
Superset;time series of a virtual data set;SELECT DATE_TRUNC('day', sold_at) AS sold_at, COUNT(*) AS "COUNT(*)" FROM (SELECT * FROM sales) AS virtual_table WHERE sold_at >= TO_TIMESTAMP('2026-02-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND sold_at < TO_TIMESTAMP('2026-04-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') GROUP BY DATE_TRUNC('day', sold_at) ORDER BY "COUNT(*)" DESC LIMIT 1000
Superset;time series of a date;SELECT DATE_TRUNC('quarter', day) AS day, AVG(amount) AS "AVG(amount)" FROM sales WHERE day >= TO_DATE('2026-02-01', 'YYYY-MM-DD') AND day < TO_DATE('2026-12-01', 'YYYY-MM-DD') GROUP BY DATE_TRUNC('quarter', day) LIMIT 50000
Superset;time series of an epoch column;SELECT DATE_TRUNC('month', (timestamp 'epoch' + epoch * interval '1 second')) AS epoch, COUNT(*) AS "COUNT(*)" FROM sales GROUP BY DATE_TRUNC('month', (timestamp 'epoch' + epoch * interval '1 second')) LIMIT 50000
Superset;time series by region;SELECT DATE_TRUNC('month', sold_at) AS sold_at, region AS region, SUM(amount) AS "SUM(amount)" FROM sales WHERE sold_at >= '2026-02-01 00:00:00.000000' AND sold_at < '2026-08-01 00:00:00.000000' AND region IN ('EU', 'US') GROUP BY DATE_TRUNC('month', sold_at), region ORDER BY "SUM(amount)" DESC LIMIT 10000
Superset;time series by the largest regions;SELECT DATE_TRUNC('month', sold_at) AS sold_at, region AS region, SUM(amount) AS "SUM(amount)" FROM sales JOIN (SELECT region AS region__, SUM(amount) AS mme_inner__ FROM sales WHERE sold_at >= '2026-02-01 00:00:00.000000' AND sold_at < '2026-08-01 00:00:00.000000' GROUP BY region ORDER BY mme_inner__ DESC LIMIT 1) AS series_limit ON region = region__ WHERE sold_at >= '2026-02-01 00:00:00.000000' AND sold_at < '2026-08-01 00:00:00.000000' GROUP BY DATE_TRUNC('month', sold_at), region ORDER BY "SUM(amount)" DESC LIMIT 10000
Superset;weeks from Sunday;SELECT DATE_TRUNC('week', sold_at + INTERVAL '1 day') - INTERVAL '1 day' AS w, COUNT(*) FROM sales GROUP BY 1 LIMIT 1000
Superset;five minutes;SELECT DATE_TRUNC('hour', sold_at) + INTERVAL '5 minutes' * FLOOR(EXTRACT(MINUTE FROM sold_at) / 5) AS sold_at, COUNT(*) AS count FROM sales WHERE sold_at >= '2026-02-01' AND sold_at < '2026-02-20' GROUP BY DATE_TRUNC('hour', sold_at) + INTERVAL '5 minutes' * FLOOR(EXTRACT(MINUTE FROM sold_at) / 5) ORDER BY count DESC LIMIT 1000
Superset;thirty minutes, timestamptz;SELECT DATE_TRUNC('hour', at) + INTERVAL '30 minutes' * FLOOR(EXTRACT(MINUTE FROM at) / 30) AS at, SUM(amount) AS s FROM sales WHERE at >= '2026-02-01' AND at < '2026-11-20' GROUP BY DATE_TRUNC('hour', at) + INTERVAL '30 minutes' * FLOOR(EXTRACT(MINUTE FROM at) / 30) LIMIT 1000
Superset;thirty seconds;SELECT DATE_TRUNC('minute', at) + INTERVAL '30 seconds' * FLOOR(EXTRACT(SECOND FROM at) / 30) AS at, SUM(amount) AS s FROM sales WHERE at >= '2026-02-01' AND at < '2026-02-05' GROUP BY DATE_TRUNC('minute', at) + INTERVAL '30 seconds' * FLOOR(EXTRACT(SECOND FROM at) / 30) LIMIT 1000
Superset;bar chart;SELECT region AS region, SUM(amount) AS "SUM(amount)" FROM sales WHERE sold_at >= TO_TIMESTAMP('2026-02-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND sold_at < TO_TIMESTAMP('2026-08-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') GROUP BY region ORDER BY "SUM(amount)" DESC LIMIT 1000
Superset;bar chart, having;SELECT region AS region, COUNT(*) AS count FROM sales WHERE day >= TO_DATE('2026-02-01', 'YYYY-MM-DD') GROUP BY region HAVING ((COUNT(*) > 3000)) ORDER BY count DESC LIMIT 1000
Superset;big number;SELECT SUM(amount) AS "SUM(amount)" FROM sales WHERE sold_at >= TO_TIMESTAMP('2026-02-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND sold_at < TO_TIMESTAMP('2026-08-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') LIMIT 50000
Superset;big number, all;SELECT COUNT(*) AS count FROM (SELECT sold_at, amount FROM sales WHERE sold_at >= '2026-02-01') AS virtual_table LIMIT 1
Superset;rows of a table;SELECT COUNT(*) AS rowcount FROM (SELECT DATE_TRUNC('month', sold_at) AS sold_at, COUNT(*) AS count FROM sales GROUP BY DATE_TRUNC('month', sold_at) LIMIT 10000) AS rowcount_qry
Tableau;time series, months;SELECT CAST(DATE_TRUNC('MONTH', CAST("sales"."sold_at" AS TIMESTAMP)) AS DATE) AS "tmn:sold_at:ok", SUM("sales"."amount") AS "sum:amount:ok" FROM "plain_sql_tools"."sales" "sales" GROUP BY 1
Tableau;time series, months of a date;SELECT DATE_TRUNC('MONTH', CAST("sales"."day" AS TIMESTAMP)) AS "tmn:day:ok", SUM("sales"."amount") AS "sum:amount:ok" FROM "sales" GROUP BY 1
Tableau;time series, years;SELECT CAST(EXTRACT(YEAR FROM "sales"."day") AS BIGINT) AS "yr:day:ok", SUM("sales"."amount") AS "sum:amount:ok" FROM "sales" GROUP BY 1
Tableau;bar chart;SELECT "sales"."region" AS "region", SUM("sales"."amount") AS "sum:amount:ok" FROM "sales" GROUP BY 1
Tableau;big number;SELECT SUM("sales"."amount") AS "sum:amount:ok", COUNT(1) AS "cnt" FROM "sales" HAVING (COUNT(1) > 0)
Looker;time series, months;SELECT (TO_CHAR(DATE_TRUNC('month', sales.sold_at), 'YYYY-MM')) AS "sales.sold_month", COALESCE(SUM(sales.amount), 0) AS "sales.total" FROM sales AS sales WHERE ((( sales.sold_at ) >= ((SELECT TIMESTAMP '2026-02-01')) AND ( sales.sold_at ) < ((SELECT (TIMESTAMP '2026-02-01' + (6 || ' month')::INTERVAL))))) GROUP BY (DATE_TRUNC('month', sales.sold_at)) ORDER BY 1 DESC FETCH NEXT 500 ROWS ONLY
Looker;time series, days;SELECT (DATE(sales.at AT TIME ZONE 'America/Los_Angeles')) AS "sales.day", COUNT(*) AS "sales.count" FROM sales GROUP BY 1 ORDER BY 1 DESC FETCH NEXT 5000 ROWS ONLY
Looker;big number;SELECT COALESCE(SUM(sales.amount), 0) AS "sales.total", COUNT(*) AS "sales.count" FROM sales AS sales LIMIT 500
Power BI;time series;select "_"."day", "_"."a0" from (select "rows"."day" as "day", sum("rows"."amount") as "a0" from (select "_"."day", "_"."amount" from "plain_sql_tools"."sales" "_" where "_"."day" >= date '2026-02-01' and "_"."day" < date '2026-03-01') "rows" group by "day") "_" where not "_"."a0" is null limit 1000001
Power BI;bar chart;select "_"."region", "_"."a0" from (select "rows"."region" as "region", sum("rows"."amount") as "a0" from "plain_sql_tools"."sales" "rows" group by "region") "_" where not "_"."a0" is null limit 1000001
dbt;time series;SELECT subq_2.metric_time__month, SUM(subq_2.amount) AS total FROM (SELECT DATE_TRUNC('month', sales_src.day) AS metric_time__month, amount FROM sales sales_src) subq_2 GROUP BY subq_2.metric_time__month
\.

SELECT tool, what, answered_by(query) AS by FROM sent ORDER BY number;

-- In a zone whose clocks are put back, and in one without midnights in spring; what a density answers is counted, the
-- rest is shown.
CREATE FUNCTION in_zone(zone text) RETURNS TABLE (outcome text, statements bigint, which text) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('TimeZone', zone, true);
  RETURN QUERY SELECT regexp_replace(answered, ' \(\d+ rows\)$', ''), count(*),
      CASE WHEN min(answered) NOT LIKE 'answered by%' THEN string_agg(tool || ' ' || what, '; ' ORDER BY number) END
    FROM (SELECT *, answered_by(query) AS answered FROM sent) AS s GROUP BY 1 ORDER BY 1;
END $$;
SELECT * FROM in_zone('Europe/Berlin');
SELECT * FROM in_zone('America/Havana');

-- Buckets of clocks that are put back, or forward: of hours, in local time, and in days that follow.
CREATE TABLE clocks AS
SELECT timestamptz '2026-10-24 12:00+00' + i % 150 * interval '20 minutes' AS at, timestamp '2026-03-28 12:00' + i % 150 * interval '20 minutes' AS local
FROM generate_series(1, 3000) AS i;
ALTER TABLE clocks ALTER at SET NOT NULL, ALTER local SET NOT NULL;
ANALYZE clocks;
SELECT count((kde_fit('clocks', c, sample_rows => -1)).rows) AS densities FROM unnest('{at,local}'::text[]) AS c;
SELECT count(kde_set_plain_sql(name, true)) AS allowed FROM kde_densities_full WHERE relation = 'clocks'::regclass;
SELECT pg_stat_force_next_flush();
SET TimeZone = 'Europe/Berlin';
CREATE TABLE buckets (bucket text, number serial);
COPY buckets (bucket) FROM stdin;
date_trunc('hour', at)
date_trunc('hour', at::timestamp)
date_trunc('day', at::timestamp)
at::date
date_trunc('hour', at AT TIME ZONE 'Europe/Paris')
date_trunc('hour', at AT TIME ZONE 'Asia/Tokyo')
date_trunc('day', at, 'Europe/Paris')
date_trunc('hour', at + interval '1 day')
date_trunc('hour', at + interval '24 hours')
date_trunc('day', at + interval '1 day') - interval '1 day'
date_trunc('hour', at) + interval '1 day'
date_trunc('hour', at - interval '1 day 30 minutes')
floor(extract(epoch FROM at) / 3600) * 3600
floor(extract(epoch FROM at::timestamp) / 3600) * 3600
date_trunc('hour', at) + interval '15 minutes' * floor(extract(minute FROM at) / 15)
date_trunc('hour', at) + interval '20 minutes' * floor(extract(minute FROM at) / 15)
date_trunc('day', at) + interval '15 minutes' * floor(extract(minute FROM at) / 15)
date_trunc('hour', at AT TIME ZONE 'Europe/Paris') + interval '15 minutes' * floor(extract(minute FROM at AT TIME ZONE 'Europe/Paris') / 15)
date_trunc('hour', at AT TIME ZONE 'CET')
extract(hour FROM at)
at + interval '1 month'
to_char(at, 'YYYY-MM-DD')
date_trunc('hour', local::timestamptz)
date_trunc('day', local::timestamptz)
date_trunc('hour', local)
date_trunc('hour', local AT TIME ZONE 'Europe/Paris')
date_trunc('hour', local AT TIME ZONE 'Asia/Tokyo')
date_trunc('minute', local AT TIME ZONE 'Europe/Paris')
date_trunc('minute', local::timestamptz + interval '1 day')
date_trunc('minute', local::timestamptz - interval '1 day')
local::date
date_trunc('hour', local - interval '1 day')
\.
SELECT bucket, answered_by(format('SELECT %s AS bucket, count(*) FROM clocks GROUP BY 1', bucket)) AS by,
  answered_by(format('SELECT %s AS bucket, count(*) FROM clocks WHERE %s GROUP BY 1', bucket,
    CASE WHEN bucket ~ 'local' THEN 'local < ''2026-03-29 02:00''' ELSE 'at < ''2026-10-25 01:00Z''' END)) AS before,
  answered_by(format('SELECT %s AS bucket, count(*) FROM clocks WHERE %s GROUP BY 1', bucket,
    CASE WHEN bucket ~ 'local' THEN 'local >= ''2026-03-29 03:00''' ELSE 'at >= ''2026-10-25 01:00Z''' END)) AS after
FROM buckets ORDER BY number;
-- Times of day compared with instants: of the hour that there is not, and of the one that there is twice.
SELECT instant, answered_by(format('SELECT count(*) FROM clocks WHERE local >= timestamptz %L', instant)) AS "from",
  answered_by(format('SELECT count(*) FROM clocks WHERE local < timestamptz %L AND local > ''2026-03-28''', instant)) AS before,
  answered_by(format('SELECT count(*) FROM clocks WHERE date_trunc(''minute'', local) >= timestamptz %L', instant)) AS minute,
  answered_by(format('SELECT count(*) FROM clocks WHERE date_trunc(''day'', local) = date_trunc(''day'', timestamptz %L)', instant)) AS day
FROM unnest('{2026-03-28 23:00Z,2026-03-29 00:40Z,2026-03-29 01:00Z,2026-03-29 01:30Z,2026-03-29 02:20Z,2026-10-25 00:30Z,infinity}'::text[]) AS instant;
SET TimeZone = 'UTC';

-- Ranges without rows, of infinite ends, back to front; numbers; parts of an answer in an order.
-- Of numbers that double precision does not tell apart, too.
CREATE TABLE far AS SELECT 90071992547409930 + i % 50 AS id, (10 + i % 50 / 100.0)::numeric(30, 18) AS small FROM generate_series(1, 1000) AS i;
ALTER TABLE far ALTER id SET NOT NULL, ALTER small SET NOT NULL;
ANALYZE far;
SELECT count((kde_fit('far', c, sample_rows => -1)).rows) AS densities FROM unnest('{id,small}'::text[]) AS c;
SELECT count(kde_set_plain_sql(name, true)) AS allowed FROM kde_densities_full WHERE relation = 'far'::regclass;
SELECT pg_stat_force_next_flush();
-- And of a function that raises an error where no row is asked about.
CREATE TABLE guarded AS SELECT i % 10 * 10 AS x FROM generate_series(1, 1000) AS i;
ALTER TABLE guarded ALTER x SET NOT NULL;
ANALYZE guarded;
SELECT (kde_fit('guarded', 'x', sample_rows => -1)).rows AS guarded;
SELECT kde_set_plain_sql('guarded.x', true);
SELECT pg_stat_force_next_flush();
CREATE TABLE asked (query text, number serial);
COPY asked (query) FROM stdin;
SELECT date_trunc('month', at) AS m, sum(amount) FROM sales WHERE at BETWEEN '2031-01-01' AND '2031-02-01' GROUP BY 1
SELECT date_trunc('month', at) AS m, sum(amount) FROM sales WHERE at BETWEEN '2026-03-01' AND '2026-02-01' GROUP BY 1
SELECT date_trunc('month', at) AS m, sum(amount) FROM sales WHERE at >= '-infinity' AND at < 'infinity' GROUP BY 1
SELECT sum(amount) FROM sales WHERE at BETWEEN 'infinity' AND '-infinity'
SELECT count(*) FROM sales WHERE sold_at > '-infinity' AND sold_at <= 'infinity'::timestamptz
SELECT floor(extract(epoch FROM at) / 86400) * 86400 AS d, count(*) FROM sales WHERE at > '2026-02-01 17:30Z' AND at < '2026-02-02 11:00Z' GROUP BY 1
SELECT date_trunc('month', sold_at) AS m, sum(amount) FROM sales GROUP BY 1 ORDER BY 2 DESC LIMIT 1
SELECT count(*) FROM (SELECT date_trunc('month', sold_at) AS m, sum(amount) FROM sales GROUP BY 1 LIMIT 3) AS s
SELECT region, count(*) FROM sales WHERE region = (SELECT region FROM sales WHERE at >= '2026-03-01' GROUP BY region ORDER BY sum(amount) DESC LIMIT 1) AND at >= '2026-03-01' GROUP BY region
SELECT sum(amount) FROM sales WHERE day IN ('2026-02-01', '2026-02-02')
SELECT sum(amount) FROM sales WHERE day IN ('2026-02-01')
SELECT qty, count(*) FROM sales WHERE qty IN (1, 2) GROUP BY qty
SELECT amount, count(*) FROM sales WHERE amount >= 100 AND amount < 102.5 GROUP BY amount
SELECT round(amount) AS r, count(*), sum(qty) FROM sales WHERE amount < 0 GROUP BY 1
SELECT trunc(amount, 1) AS r, count(*) FROM sales WHERE amount BETWEEN -3 AND 3 GROUP BY 1
SELECT amount / 3 AS r, count(*) FROM sales WHERE amount BETWEEN -3 AND 3 GROUP BY 1
SELECT width_bucket(amount, 0, 100, 5) AS r, count(*) FROM sales WHERE amount > 0 GROUP BY 1
SELECT width_bucket(amount, 100, 0, 5) AS r, count(*) FROM sales WHERE amount > 0 GROUP BY 1
SELECT width_bucket(qty::double precision, 3, 50.5, 7) AS r, count(*), sum(qty) FROM sales GROUP BY 1
SELECT 10 * floor(qty / 10.0) AS c, count(*) FROM sales GROUP BY 1
SELECT extract(month FROM at) AS c, count(*) FROM sales GROUP BY 1
SELECT id / 10 AS ten, count(*) FROM far GROUP BY 1
SELECT id, count(*) FROM far GROUP BY 1
SELECT floor(small * 10) AS tenth, count(*) FROM far GROUP BY 1
SELECT x * 100000000 AS b, count(*) FROM guarded WHERE x < 25 GROUP BY 1
SELECT x * 100000000 AS b, count(*) FROM guarded WHERE x < 21 GROUP BY 1
SELECT count(*) FROM guarded WHERE x < 25 AND x * 100000000 > 5
SELECT extract(isoyear FROM at) AS c, count(*) FROM sales GROUP BY 1
\.
SELECT query, answered_by(query) AS by FROM asked ORDER BY number;

-- Conditions on functions of the range column.
TRUNCATE asked;
COPY asked (query) FROM stdin;
SELECT count(*), sum(amount) FROM sales WHERE CAST(sold_at AS date) BETWEEN date '2026-02-01' AND date '2026-02-28'
SELECT count(*), sum(amount) FROM sales WHERE CAST(at AS date) BETWEEN date '2026-02-01' AND date '2026-02-28'
SELECT region, count(*) FROM sales WHERE sold_at::date = '2026-03-05' GROUP BY region
SELECT count(*) FROM sales WHERE sold_at::date > '2026-11-05' AND sold_at < '2026-12-01'
SELECT count(*) FROM sales WHERE '2026-03-05' >= sold_at::date
SELECT count(*) FROM sales WHERE DATE_TRUNC('month', sold_at) = '2026-03-01'
SELECT count(*) FROM sales WHERE DATE_TRUNC('month', sold_at) = '2026-03-02'
SELECT count(*) FROM sales WHERE DATE_TRUNC('month', at) <= DATE_TRUNC('month', timestamptz '2026-03-05')
SELECT count(*) FROM sales WHERE DATE_TRUNC('week', sold_at) >= '2026-03-02' AND DATE_TRUNC('week', sold_at) < '2026-03-23'
SELECT extract(year FROM sold_at) AS y, count(*) FROM sales WHERE extract(year FROM sold_at) = 2026 GROUP BY 1
SELECT count(*) FROM sales WHERE extract(year FROM sold_at) = 2031
SELECT count(*) FROM sales WHERE extract(year FROM sold_at) < 2031
SELECT count(*), sum(amount) FROM sales WHERE extract(year FROM sold_at) > 2031
SELECT date_trunc('day', sold_at) AS d, sum(amount) FROM sales WHERE date_trunc('month', sold_at) = '2026-03-01' AND region = 'EU' GROUP BY 1
SELECT count(*) FROM sales WHERE sold_at::date = NULL
SELECT count(*) FROM sales WHERE sold_at::date < 'infinity' AND sold_at::date > '-infinity'
SELECT count(*) FROM sales WHERE sold_at::date > '2026-03-05' AND sold_at > 'infinity'
SELECT count(*) FROM sales WHERE sold_at::date <> '2026-03-05'
SELECT count(*) FROM sales WHERE sold_at::date IN ('2026-03-05', '2026-03-06')
SELECT count(*) FROM sales WHERE sold_at::date >= timestamptz '2026-03-05 12:00Z'
SELECT count(*) FROM sales WHERE at AT TIME ZONE 'Europe/Berlin' >= '2026-03-29 02:30' AND at AT TIME ZONE 'Europe/Berlin' < '2026-10-25 02:30'
SELECT count(*) FROM sales WHERE at AT TIME ZONE 'Asia/Tokyo' >= '2026-03-29 02:30'
SELECT count(*) FROM sales WHERE to_timestamp(epoch) >= '2026-03-29 02:30Z' AND to_timestamp(epoch) <= '2026-04-29 02:30Z'
SELECT count(*) FROM sales WHERE floor(qty / 10.0) = 3
SELECT count(*) FROM sales WHERE floor(qty / 10.0) = (SELECT 3)
SELECT count(*), avg(qty) FROM sales WHERE round(amount) BETWEEN 10 AND 19
SELECT count(*) FROM sales WHERE qty * 2 + 1 > 30
SELECT count(*) FROM sales WHERE qty / 0 > 30 AND qty > 1000
SELECT count(*) FROM sales WHERE extract(hour FROM sold_at) < 12
SELECT count(*) FROM sales WHERE day + 1 <= '2026-03-05'
\.
SELECT query, answered_by(query) AS by FROM asked ORDER BY number;
SET TimeZone = 'Europe/Berlin';
SELECT query, answered_by(query) AS by FROM asked ORDER BY number;
SET TimeZone = 'UTC';

-- Parameters, as the extended protocol sends them.
PREPARE series (timestamptz, timestamptz, text) AS
SELECT date_trunc('month', sold_at) AS month, count(*) FROM sales WHERE sold_at >= $1 AND sold_at < $2 AND region = $3 GROUP BY 1 ORDER BY 1;
PREPARE zone (text, timestamptz) AS SELECT date_trunc('month', at AT TIME ZONE $1) AS month, count(*) FROM sales WHERE at < $2 GROUP BY 1 ORDER BY 1;
EXECUTE series('2026-02-01', '2026-04-01', 'EU');
EXECUTE zone('Europe/Berlin', '2026-03-01');
SET kde_aqp.approximate = top;
SET kde_aqp.approximate_notice = on;
SET plan_cache_mode = force_generic_plan;
EXECUTE series('2026-02-01', '2026-04-01', 'EU');
EXECUTE zone('Europe/Berlin', '2026-03-01');
SET plan_cache_mode = force_custom_plan;
EXECUTE series('2026-02-01', '2026-04-01', 'EU');
EXECUTE zone('Europe/Berlin', '2026-03-01');
RESET plan_cache_mode;
RESET kde_aqp.approximate;
SET client_min_messages = warning;
DROP SCHEMA plain_sql_tools CASCADE;
