-- Plain SQL by densities of every row: what the session gets with kde_aqp.approximate on is what it
-- gets with it off, and by whom.
\set ECHO queries \\ \pset tuples_only on \\ \pset format unaligned
SET search_path = public;
CREATE SCHEMA plain_sql;
SET search_path = plain_sql, public;
SET kde_aqp.approximate_notice = off;

CREATE TABLE sales (
  sold_on date NOT NULL, at timestamptz, qty integer, amount numeric(12,2), weight double precision,
  region text, kind smallint);
INSERT INTO sales
SELECT date '2026-01-01' + (i * 7919 % 365)::integer,
  timestamptz '2026-01-01 00:00+00' + i % 900 * interval '3 hours',
  CASE WHEN i % 11 > 0 THEN (i * 7919 % 1000)::integer END,
  CASE WHEN i % 7 > 0 THEN (i * 104729 % 100000 - 30000) / 100.0 END,
  (i % 64) / 8.0, CASE WHEN i % 13 > 0 THEN ('{EU,US,Asia,"a, b"}'::text[])[1 + i % 4] END, i % 3
FROM generate_series(1, 20000::bigint) AS i;
ANALYZE sales;
CREATE VIEW recent AS SELECT sold_on AS day, amount * 1 AS same, amount, region, qty FROM sales WHERE sold_on >= '2026-03-01';

SELECT (kde_fit('sales', 'qty', sample_rows => -1, measures => ARRAY['amount', 'weight'])).rows > 0 AS qty;
SELECT (kde_fit('sales', 'sold_on', sample_rows => -1, measures => ARRAY['amount', 'qty'], group_by => 'region')).rows > 0 AS groups;
SELECT (kde_fit('sales', 'at', sample_rows => -1, measures => ARRAY['amount'], group_by => 'region, kind')).rows > 0 AS two;
SELECT (kde_fit('sales', 'weight', sample_rows => -1, filter => 'kind = 1')).rows > 0 AS filtered;
SELECT (kde_fit('sales', ARRAY['qty * 2'], sample_rows => -1)).rows > 0 AS expression;
-- Nothing answers without its owner's consent.
SET kde_aqp.approximate = top;
SELECT count(*) FROM sales WHERE qty < 100;
SELECT outcome, statements FROM kde_plain_sql;
SELECT kde_set_plain_sql(name, true, filter => filter) IS NOT NULL AS allowed FROM kde_densities_full WHERE relation = 'sales'::regclass;
SELECT name, filter, plain_sql FROM kde_densities_full WHERE relation = 'sales'::regclass ORDER BY name, filter;
-- A fit keeps it.
SELECT (kde_fit('sales', 'qty', sample_rows => -1, measures => ARRAY['amount', 'weight'])).rows > 0 AS again;
SELECT count(*) AS allowed FROM kde_densities_full WHERE plain_sql AND relation = 'sales'::regclass;

-- What this session changed it has told the others.
SELECT pg_stat_force_next_flush();

SELECT answered_by(q) AS by, q AS query FROM (VALUES
  ('SELECT count(*) FROM sales WHERE qty < 100'),
  ('SELECT count(*), count(qty), sum(qty), avg(qty) FROM sales WHERE qty BETWEEN 10 AND 200'),
  ('SELECT sum(amount), avg(amount), count(amount), count(*) * 2 AS twice FROM sales WHERE qty > 10.5 AND qty <= 700'),
  ('SELECT sum(weight), avg(weight) + 1 AS more FROM sales WHERE 990 > qty'),
  ('SELECT count(*) FROM sales WHERE qty = 7'),
  ('SELECT count(*), sum(qty), avg(amount) FROM sales WHERE qty > 5000'),
  ('SELECT count(*), sum(qty) FROM sales WHERE qty BETWEEN 200 AND 100'),
  ('SELECT count(*) FROM sales WHERE qty IS NOT NULL'),
  ('SELECT count(qty), sum(qty), avg(qty) FROM sales'),
  ('SELECT count(*) FROM sales WHERE qty < 100 AND qty < 50 AND qty > 3 AND qty >= 3'),
  ('SELECT count(*), sum(amount) FROM sales WHERE sold_on >= ''2026-02-01'' AND sold_on < ''2026-03-01'''),
  ('SELECT count(*), sum(amount) FROM sales WHERE sold_on >= timestamp ''2026-02-01 12:00'''),
  ('SELECT count(*) FROM sales'),
  ('SELECT sum(amount) FROM sales'),
  ('SELECT count(1) AS n FROM sales WHERE sold_on > date ''2026-01-01'' + 30'),
  ('SELECT count(*) FROM recent WHERE qty < 100'),
  ('SELECT count(*), sum(amount) FROM recent WHERE day < ''2026-05-01'''),
  ('SELECT region, count(*), sum(amount) FROM recent GROUP BY region'),
  ('SELECT region, count(*), sum(amount), avg(amount), avg(qty) FROM sales WHERE sold_on BETWEEN ''2026-02-01'' AND ''2026-03-31'' GROUP BY region'),
  ('SELECT region, avg(amount) FROM sales WHERE sold_on = ''2026-02-03'' GROUP BY 1'),
  ('SELECT upper(region) AS u, sum(amount) + count(*) AS x FROM sales WHERE sold_on > ''2026-06-01'' GROUP BY region HAVING count(*) > 100 AND max(1) = 1'),
  ('SELECT upper(region) AS u, sum(amount) + count(*) AS x FROM sales WHERE sold_on > ''2026-06-01'' GROUP BY region HAVING count(*) > 800'),
  ('SELECT region, count(*) FROM sales WHERE sold_on > ''2026-12-29'' AND region IN (''EU'', ''US'') GROUP BY region'),
  ('SELECT region, count(*) FROM sales WHERE region IS NULL AND sold_on > ''2026-01-29'' GROUP BY region'),
  ('SELECT region FROM sales WHERE sold_on < ''2026-01-29'' GROUP BY region'),
  ('SELECT DISTINCT count(*) > 10 AS many FROM sales WHERE sold_on < ''2026-01-29'' GROUP BY region'),
  ('SELECT count(*), sum(amount), avg(amount), avg(qty) FROM sales WHERE sold_on >= ''2026-06-01'' AND region = ''EU'''),
  ('SELECT count(*), sum(amount), avg(amount) FROM sales WHERE sold_on >= ''2026-06-01'' AND region <> ''EU'''),
  ('SELECT count(*), sum(amount) FROM sales WHERE sold_on >= ''2026-06-01'' AND region LIKE ''a%'''),
  ('SELECT count(*), sum(amount) FROM sales WHERE sold_on >= ''2026-06-01'' AND region = ''none'''),
  ('SELECT count(*) FROM sales WHERE sold_on >= ''2026-06-01'' AND (region = ''EU'' OR region IS NULL)'),
  ('SELECT kind, region, count(*), sum(amount) FROM sales WHERE at < ''2026-03-01'' GROUP BY region, kind'),
  ('SELECT region, kind, count(*) FROM sales WHERE at < ''2026-03-01'' AND kind > 0 GROUP BY kind, region ORDER BY 3 DESC, 1, 2 LIMIT 3'),
  ('SELECT count(*), avg(amount) FROM sales WHERE at < ''2026-03-01'' AND kind = 2'),
  ('SELECT count(*), avg(weight) FROM sales WHERE kind = 1 AND weight < 4'),
  ('SELECT count(*) FROM sales WHERE weight < 4'),
  ('SELECT count(*) FROM sales WHERE 2 * qty > 100'),
  ('SELECT count(*), sum(qty * 2) FROM sales WHERE qty * 2 > 100'),
  ('SELECT * FROM (SELECT count(*) AS n FROM sales WHERE qty < 100) AS a, (SELECT count(*) AS m FROM sales WHERE sold_on < ''2026-02-01'') AS b'),
  ('SELECT kind, (SELECT count(*) FROM sales AS s WHERE s.qty < t.kind) AS n FROM sales AS t WHERE qty = 1'),
  ('SELECT k, n FROM generate_series(10, 30, 10) AS k, LATERAL (SELECT count(*) AS n FROM sales WHERE qty < k) AS s'),
  ('WITH s AS MATERIALIZED (SELECT count(*) AS n FROM sales WHERE qty < 100) SELECT a.n + b.n AS n FROM s AS a, s AS b'),
  ('SELECT count(*) FROM sales WHERE qty < 100 UNION ALL SELECT count(*) FROM sales WHERE qty < 200'),
  ('SELECT region, sum(count(*)) OVER () AS total FROM sales WHERE sold_on < ''2026-02-01'' GROUP BY region'),
  ('SELECT date_trunc(''month'', sold_on) AS month, count(*), sum(amount), avg(qty) FROM sales GROUP BY 1 ORDER BY 1'),
  ('SELECT date_trunc(''week'', sold_on)::date AS week, sum(amount) FROM sales WHERE sold_on BETWEEN ''2026-03-04'' AND ''2026-05-01'' GROUP BY 1'),
  ('SELECT date_trunc(''month'', sold_on) AS month, region, count(*), avg(amount) FROM sales WHERE sold_on >= ''2026-03-04'' GROUP BY 1, 2'),
  ('SELECT sold_on, count(*) FROM sales WHERE sold_on < ''2026-01-04'' GROUP BY sold_on'),
  ('SELECT region, sold_on, count(*) FROM sales WHERE sold_on < ''2026-01-09'' GROUP BY region, sold_on'),
  ('SELECT sold_on, count(*) FROM sales WHERE sold_on > ''2026-12-09'' AND region IN (''EU'', ''US'') GROUP BY sold_on'),
  ('SELECT date_bin(''1 day'', at, ''2026-01-01'') AS bin, count(*) FROM sales WHERE at >= ''2026-01-03 12:00+00'' GROUP BY 1'),
  ('SELECT floor(extract(epoch FROM at) / 86400) * 86400 AS time, count(*), avg(amount) FROM sales WHERE at BETWEEN ''2026-02-01'' AND ''2026-03-01'' GROUP BY 1 ORDER BY 1'),
  ('SELECT qty / 100 AS hundred, count(*), sum(amount) FROM sales WHERE qty >= 150 GROUP BY qty / 100'),
  ('SELECT qty / 100 AS hundred, count(*) FROM sales GROUP BY 1'),
  ('SELECT qty, count(*) AS n FROM sales WHERE qty BETWEEN 10 AND 20 GROUP BY qty HAVING count(*) > 18'),
  ('SELECT floor(qty / 10.0) * 10 AS ten, count(*) FROM sales WHERE qty < 100 GROUP BY 1'),
  ('SELECT qty % 10 AS digit, count(*) FROM sales WHERE qty < 100 GROUP BY 1'),
  ('SELECT -qty AS less, count(*) FROM sales WHERE qty < 10 GROUP BY 1'),
  ('SELECT qty * -2 AS less, count(*) FROM sales WHERE qty < 10 GROUP BY 1'),
  ('SELECT at::date AS day, count(*) FROM sales WHERE at < ''2026-04-01'' GROUP BY 1'),
  ('SELECT count(*) FROM sales WHERE qty < NULL'),
  ('SELECT count(*) FROM sales WHERE qty < (SELECT 100)')
) AS v (q);

-- None of these is a question to a density, and none is answered by one.
SELECT answered_by(q) AS by, q AS query FROM (VALUES
  ('SELECT count(DISTINCT qty) FROM sales WHERE qty < 100'),
  ('SELECT count(*) FILTER (WHERE kind = 1) FROM sales WHERE qty < 100'),
  ('SELECT array_agg(qty ORDER BY qty) FROM sales WHERE qty < 3'),
  ('SELECT min(qty), max(amount) FROM sales WHERE qty < 100'),
  ('SELECT count(*) FROM sales WHERE qty < 100 AND kind = 1'),
  ('SELECT count(*) FROM sales WHERE qty < 100 OR kind = 1'),
  ('SELECT count(*) FROM sales WHERE qty < kind'),
  ('SELECT count(*) FROM sales WHERE kind IS NULL'),
  ('SELECT count(*), sum(amount) FROM sales WHERE NOT qty < 100 AND qty <> 5'),
  ('SELECT sum(kind) FROM sales WHERE qty < 100'),
  ('SELECT count(*) FROM sales TABLESAMPLE system (100) WHERE qty < 100'),
  ('SELECT count(*) FROM sales, generate_series(1, 2) WHERE qty < 100'),
  ('SELECT region, count(*) FROM sales WHERE qty < 100 GROUP BY ROLLUP (region)'),
  ('SELECT region, count(*) FROM sales WHERE qty < 100 GROUP BY region'),
  ('SELECT count(*) FROM sales WHERE qty < 100 AND random() < 2'),
  ('SELECT region, kind, count(*) FROM sales WHERE sold_on < ''2026-02-01'' GROUP BY region, kind'),
  ('SELECT qty, region, count(*) FROM sales WHERE at < ''2026-02-01'' GROUP BY qty, region'),
  ('SELECT count(*) FROM sales WHERE weight < 4 AND kind = 2')
) AS v (q);

-- What is hardly the density's: more digits than doubles have, bounds beside a value, whole rows, other
-- collations and types, what depends on the time zone, children without the constraint, renamed labels.
CREATE TYPE mood AS ENUM ('low', 'high');
CREATE TABLE odd AS SELECT i % 100 AS x, (i % 64 / 8.0)::double precision AS f, (9007199254740992 + i % 7) AS big, (i % 10 / 10.0)::numeric(8,2) AS n,
  (i % 10 + 0.1)::real AS r, timestamptz '2026-03-01 00:00+00' + i * interval '1 hour' AS at, ('{low,high}'::mood[])[1 + i % 2] AS m, i % 2 = 0 AS k
FROM generate_series(1, 3200) AS i;
ALTER TABLE odd ALTER x SET NOT NULL;
ANALYZE odd;
SELECT count((kde_fit('odd', c, sample_rows => -1, measures => '{r}')).rows) AS fitted FROM unnest('{x,f,big,n}'::text[]) AS c;
SELECT (kde_fit('odd', 'x', sample_rows => -1, group_by => 'm')).rows + (kde_fit('odd', 'x', sample_rows => -1, group_by => 'at::date')).rows AS rows;
SELECT (kde_fit('odd', 'x', sample_rows => -1, filter => 'at::date = ''2026-03-05''')).rows + (kde_fit('odd', ARRAY['f * 2'], sample_rows => -1)).rows AS rows;
SELECT count(kde_set_plain_sql(name, true, filter => filter)) > 0 AS allowed FROM kde_densities_full WHERE relation = 'odd'::regclass;
SELECT pg_stat_force_next_flush();
SELECT answered_by(q) AS by, q AS query FROM (VALUES
  ('SELECT count(odd) FROM odd'),
  ('SELECT count(*) FROM odd WHERE odd = (SELECT o FROM odd AS o LIMIT 1) AND f * 2 < 3'),
  ('SELECT count(*) FROM odd WHERE f * 2 < 3'),
  ('SELECT count(*) FROM odd WHERE f < 0.5000000000000001'),
  ('SELECT count(*) FROM odd WHERE f < 0.5'),
  ('SELECT ceil(f) AS c, count(*) FROM odd WHERE f IS NOT NULL GROUP BY 1'),
  ('SELECT count(*), sum(big) FROM odd WHERE big < 9007199254740993'),
  ('SELECT count(*) FROM odd WHERE n < 0.10000000000000000000001'),
  ('SELECT count(*) FROM odd WHERE n < 0.1'),
  ('SELECT count(*) FROM odd WHERE x < 1.00000000000000000000001'),
  ('SELECT count(*) FROM odd WHERE x::oid < 5::oid'),
  ('SELECT sum(r) FROM odd WHERE x < 50'),
  ('SELECT count(r) FROM odd WHERE x < 50'),
  ('SELECT at::date AS day, count(*) FROM odd WHERE x < 50 GROUP BY 1'),
  ('SELECT count(*) FROM odd WHERE x < 50 AND at::date = ''2026-03-05'''),
  ('SELECT m, count(*) FROM odd WHERE x < 50 GROUP BY m'),
  ('SELECT count(*) FROM odd WHERE x > 5000 AND m::text::integer > 0')
) AS v (q);
-- Expressions and filters are as they were written, the planner's are folded.
CREATE TABLE folded AS SELECT i % 100 AS x, CASE WHEN i % 9 > 0 THEN (i % 500)::numeric END AS amount, (i % 64 / 8.0)::double precision AS f, timestamp '2026-03-01' + i % 90 * interval '1 day' AS at,
  CASE WHEN i % 5 > 0 THEN (i % 3)::bigint END AS big, ('{a,b,c}'::varchar[])[1 + i % 3] AS v FROM generate_series(1, 3000) AS i;
ALTER TABLE folded ALTER x SET NOT NULL;
CREATE FUNCTION plus_one(numeric) RETURNS numeric IMMUTABLE LANGUAGE sql AS 'SELECT $1 + 1';
ANALYZE folded;
SELECT count((kde_fit('folded', 'x', sample_rows => -1, filter => f)).rows) AS fitted
FROM unnest(ARRAY['amount > 200', 'f >= 2', 'at >= ''2026-04-01''::date', 'amount IN (7, 8)', 'big IN (1, 2) AND v LIKE ''b%''', 'NOT amount < 100 - 1', 'plus_one(amount) > 400']) AS f;
SELECT count((kde_fit('folded', 'x', sample_rows => -1, group_by => g, measures => '{amount * 2,plus_one(amount)}')).rows) AS fitted
FROM unnest(ARRAY['amount > 100', 'round(amount / 100)', 'CASE WHEN amount < 50 THEN ''small'' ELSE ''large'' END']) AS g;
SELECT count((kde_fit('folded', ARRAY[e], sample_rows => -1)).rows) AS fitted FROM unnest('{amount / 10,f * 2}'::text[]) AS e;
SELECT count(kde_set_plain_sql(name, true, filter => filter)) AS allowed FROM kde_densities_full WHERE relation = 'folded'::regclass;
SELECT pg_stat_force_next_flush();
SELECT answered_by(q) AS by, q AS query FROM (VALUES
  ('SELECT count(*) FROM folded WHERE x < 50 AND amount > 200'),
  ('SELECT count(*) FROM folded WHERE x < 50 AND 200 < amount'),
  ('SELECT count(*) FROM folded WHERE x < 50 AND amount > 200.0'),
  ('SELECT count(*) FROM folded WHERE x < 50 AND amount > 201'),
  ('SELECT count(*) FROM folded WHERE x < 50 AND f >= 2'),
  ('SELECT count(*) FROM folded WHERE x < 50 AND at >= ''2026-04-01''::date'),
  ('SELECT count(*) FROM folded WHERE x < 50 AND amount IN (7, 8)'),
  ('SELECT count(*) FROM folded WHERE x < 50 AND amount IN (7, 9)'),
  ('SELECT count(*) FROM folded WHERE x < 50 AND big IN (1, 2) AND v LIKE ''b%'''),
  ('SELECT count(*) FROM folded WHERE x < 50 AND NOT amount < 99'),
  ('SELECT count(*) FROM folded WHERE x < 50 AND plus_one(amount) > 400'),
  ('SELECT amount > 100 AS many, count(*), sum(amount * 2) FROM folded GROUP BY 1'),
  ('SELECT amount > 101 AS many, count(*) FROM folded GROUP BY 1'),
  ('SELECT round(amount / 100) AS h, count(*), sum(amount * 2) FROM folded WHERE x < 70 GROUP BY 1'),
  ('SELECT CASE WHEN amount < 50 THEN ''small'' ELSE ''large'' END AS size, count(*) FROM folded GROUP BY 1'),
  ('SELECT count(*) FROM folded WHERE x < 50 AND round(amount / 100) = 2'),
  ('SELECT count(*), sum(amount / 10)::double precision AS s FROM folded WHERE amount / 10 > 3'),
  ('SELECT count(*) FROM folded WHERE f * 2 > 3')
) AS v (q);
SELECT count, density, exact FROM approx_where('folded', 'x < 50 AND amount > 200');
-- What folding finds wrong is no error of the query.
ALTER TABLE folded ALTER f TYPE text;
SELECT answered_by('SELECT count(*) FROM folded WHERE x < 50 AND f >= ''2''');
DROP TABLE folded;
DROP FUNCTION plus_one;

-- What is never NULL is counted as rows are; sums of ones of no row are NULL.
CREATE TABLE counted AS SELECT i AS id, i % 50 AS x, i % 3 AS g, CASE WHEN i % 7 > 0 THEN i % 10 END AS y FROM generate_series(1, 1000) AS i;
ALTER TABLE counted ALTER x SET NOT NULL, ALTER id SET NOT NULL;
ANALYZE counted;
SELECT count((kde_fit('counted', 'x', sample_rows => -1, group_by => g, measures => '{y}')).rows) AS fitted FROM unnest('{g}'::text[]) AS g;
SELECT count(kde_set_plain_sql(name, true, filter => filter)) AS allowed FROM kde_densities_full WHERE relation = 'counted'::regclass;
SELECT pg_stat_force_next_flush();
SELECT answered_by(q) AS by, q AS query FROM (VALUES
  ('SELECT count(1), count(''x''), sum(1), count(id) FROM counted WHERE x < 5'),
  ('SELECT count(1), count(''x''), sum(1), sum(1::smallint), count(id), sum(y) FROM counted WHERE x > 500'),
  ('SELECT g, sum(1), count(id), count(x) FROM counted WHERE x < 5 GROUP BY g'),
  ('SELECT sum(1) * 2 AS twice FROM counted'),
  ('SELECT approx_lower(sum(1)), approx_upper(count(id)) FROM counted'),
  ('SELECT count(NULL) FROM counted WHERE x < 5'),
  ('SELECT sum(NULL::integer) FROM counted WHERE x < 5'),
  ('SELECT sum(2) FROM counted WHERE x < 5'),
  ('SELECT sum(1::bigint) FROM counted WHERE x < 5'),
  ('SELECT count(DISTINCT id) FROM counted WHERE x < 5')
) AS v (q);
-- Without the constraint there may be NULLs, as there may in children.
ALTER TABLE counted ALTER id DROP NOT NULL;
SELECT answered_by('SELECT count(id) FROM counted WHERE x < 5');
DROP TABLE counted;

-- Rows where a measure, or the column itself, is NULL or not.
CREATE TABLE holes AS SELECT i AS id, i % 50 AS x, 'g' || i % 4 AS g, CASE WHEN i % 7 > 0 AND i % 4 <> 3 THEN i % 10 END AS y, CASE WHEN i % 4 <> 2 THEN i % 5 END AS z, i % 10 AS sure, CASE WHEN i % 9 > 0 AND i % 4 <> 1 THEN i % 10 END AS w FROM generate_series(1, 2000) AS i;
ALTER TABLE holes ALTER x SET NOT NULL, ALTER id SET NOT NULL, ALTER sure SET NOT NULL;
ANALYZE holes;
SELECT (kde_fit('holes', 'x', sample_rows => -1, group_by => 'g', measures => '{y,z,sure,y + z}')).rows > 0 AS fitted;
SELECT (kde_fit('holes', 'w', sample_rows => -1, group_by => 'g', measures => '{sure}')).rows > 0 AS fitted;
SELECT (kde_fit('holes', 'x', sample_rows => -1, filter => 'sure IS NOT NULL')).rows > 0 AS fitted;
SELECT count(kde_set_plain_sql(name, true, filter => filter)) AS allowed FROM kde_densities_full WHERE relation = 'holes'::regclass;
SELECT pg_stat_force_next_flush();
SELECT answered_by(q) AS by, q AS query FROM (VALUES
  ('SELECT count(*) FROM holes WHERE y IS NULL'),
  ('SELECT count(*), sum(1), count(y), sum(y), avg(y), max(y), count(id) FROM holes WHERE y IS NULL'),
  ('SELECT count(*), count(y), sum(y), avg(y) FROM holes WHERE x < 20 AND y IS NOT NULL'),
  ('SELECT count(*), count(y), sum(y), avg(y) FROM holes WHERE x < 20 AND y IS NULL'),
  ('SELECT count(*), sum(1) FROM holes WHERE x > 70 AND y IS NULL'),
  ('SELECT count(*) FROM holes WHERE x IN (1, 3, 7) AND y IS NULL'),
  ('SELECT g, count(*) FROM holes WHERE y IS NULL GROUP BY g'),
  ('SELECT g, count(*), sum(y) FROM holes WHERE x < 20 AND y IS NOT NULL GROUP BY g'),
  ('SELECT g, count(*), sum(1) FROM holes WHERE x < 20 AND z IS NULL GROUP BY g'),
  ('SELECT count(*) FROM holes WHERE x < 20 AND y IS NULL AND g IN (''g1'', ''g2'')'),
  ('SELECT x / 10 AS ten, count(*) FROM holes WHERE z IS NULL GROUP BY 1'),
  ('SELECT x / 10 AS ten, g, count(*) FROM holes WHERE y IS NULL GROUP BY 1, 2'),
  ('SELECT count(*), sum(y + z) FROM holes WHERE y + z IS NOT NULL'),
  ('SELECT count(*) FROM holes WHERE y IS NULL AND y IS NULL AND x < 9'),
  ('SELECT count(*) FROM holes WHERE x < 9 AND sure IS NOT NULL AND id IS NOT NULL'),
  ('SELECT g, count(*) FROM holes WHERE x < 9 AND sure IS NOT NULL GROUP BY g'),
  ('SELECT count(*), sum(1), count(w), sum(w), max(w) FROM holes WHERE w IS NULL'),
  ('SELECT g, count(*), sum(w) FROM holes WHERE w IS NULL GROUP BY g'),
  ('SELECT count(*) FROM holes WHERE w IS NULL AND g > ''g1'''),
  ('SELECT count(*) FROM holes WHERE w IS NULL AND w < 5'),
  ('SELECT w, count(*) FROM holes WHERE w IS NULL GROUP BY w'),
  ('SELECT sum(sure) FROM holes WHERE w IS NULL'),
  ('SELECT count(*) FROM holes WHERE y IS NULL AND y < 5'),
  ('SELECT count(*) FROM holes WHERE y IS NULL AND y IS NOT NULL AND x < 9'),
  ('SELECT count(*) FROM holes WHERE y IS NULL AND z IS NULL AND x < 9'),
  ('SELECT sum(x) FROM holes WHERE y IS NULL'),
  ('SELECT sum(z) FROM holes WHERE y IS NOT NULL AND x < 9'),
  ('SELECT count(*) FROM holes WHERE (y IS NULL) = (z IS NULL) AND x < 9')
) AS v (q);
EXPLAIN (COSTS OFF) SELECT count(*) FROM holes WHERE x < 20 AND z IS NULL;
SELECT c, w.count, count_lower, count_upper, exact, density FROM unnest(ARRAY['w IS NULL', 'x < 20 AND y IS NULL', 'y IS NOT NULL']) AS c, approx_where('holes', c) AS w;
-- A sample may have met no NULL.
CREATE TABLE few_holes AS SELECT i % 50 AS x, CASE WHEN i % 20000 > 0 THEN i % 10 END AS y, CASE WHEN i % 20000 > 0 THEN i % 10 END AS w FROM generate_series(1, 100000) AS i;
ALTER TABLE few_holes ALTER x SET NOT NULL;
ANALYZE few_holes;
SELECT pg_stat_force_next_flush();
SELECT (kde_fit('few_holes', c, sample_rows => 500, seed => 1, measures => m)).rows > 0 AS fitted, kde_set_plain_sql('few_holes.' || c, true) FROM (VALUES ('x', '{y}'::text[]), ('w', NULL)) AS v (c, m);
SET kde_aqp.approximate_error = 0.3;
SELECT answered_by(q) AS by, q AS query FROM (VALUES
  ('SELECT count(*) FROM few_holes WHERE y IS NULL'),
  ('SELECT count(*) FROM few_holes WHERE y IS NOT NULL'),
  ('SELECT count(*) FROM few_holes WHERE w IS NULL'),
  ('SELECT count(*) > 50000 AS many FROM few_holes WHERE w IS NOT NULL')
) AS v (q);
RESET kde_aqp.approximate_error;
DROP TABLE few_holes;
DROP TABLE holes;

-- Conditions that are what groups are by.
CREATE TABLE flags AS SELECT i % 50 AS x, CASE WHEN i % 7 > 0 THEN i % 10 END AS y, CASE WHEN i % 3 > 0 THEN i % 2 = 0 END AS paid, ('{a,b,c}'::text[])[1 + i % 3] AS t, (i % 400)::numeric(8,2) AS amount FROM generate_series(1, 2000) AS i;
ALTER TABLE flags ALTER x SET NOT NULL;
ANALYZE flags;
SELECT count((kde_fit('flags', 'x', sample_rows => -1, group_by => g, measures => '{y}')).rows) AS fitted FROM unnest(ARRAY['y > 5', 'paid', 'amount <= 100', 't IN (''a'', ''b'')']) AS g;
SELECT count(kde_set_plain_sql(name, true, filter => filter)) AS allowed FROM kde_densities_full WHERE relation = 'flags'::regclass;
SELECT pg_stat_force_next_flush();
SELECT answered_by(q) AS by, q AS query FROM (VALUES
  ('SELECT count(*), sum(y) FROM flags WHERE y > 5'),
  ('SELECT count(*), sum(y) FROM flags WHERE NOT y > 5'),
  ('SELECT count(*) FROM flags WHERE y <= 5 AND x < 20'),
  ('SELECT count(*) FROM flags WHERE (y > 5) IS NOT TRUE AND x < 20'),
  ('SELECT count(*) FROM flags WHERE (y > 5) IS NULL AND x < 20'),
  ('SELECT count(*) FROM flags WHERE (y > 5) IS UNKNOWN OR y > 5'),
  ('SELECT count(*) FROM flags WHERE y > 6'),
  ('SELECT count(*) FROM flags WHERE y >= 5'),
  ('SELECT count(*) FROM flags WHERE paid AND x >= 20'),
  ('SELECT count(*) FROM flags WHERE NOT paid'),
  ('SELECT count(*) FROM flags WHERE paid IS TRUE'),
  ('SELECT count(*) FROM flags WHERE paid IS NOT TRUE'),
  ('SELECT count(*) FROM flags WHERE paid IS FALSE AND x IN (1, 4)'),
  ('SELECT count(*) FROM flags WHERE paid = false OR paid IS NULL'),
  ('SELECT x / 10 AS ten, count(*) FROM flags WHERE NOT paid GROUP BY 1'),
  ('SELECT y > 5 AS many, count(*) FROM flags WHERE y > 5 GROUP BY 1'),
  ('SELECT y > 5 AS many, count(*) FROM flags WHERE NOT y > 5 GROUP BY 1'),
  ('SELECT count(*) FROM flags WHERE amount <= 100 AND x < 20'),
  ('SELECT count(*) FROM flags WHERE amount > 100 AND x < 20'),
  ('SELECT count(*) FROM flags WHERE t IN (''a'', ''b'') AND x < 20'),
  ('SELECT count(*) FROM flags WHERE t NOT IN (''a'', ''b'') AND x < 20')
) AS v (q);
DROP TABLE flags;

-- Some of what the groups are by: they are added up.
CREATE TABLE several AS SELECT i % 50 AS x, CASE WHEN i % 7 > 0 THEN i % 10 END AS y, CASE WHEN i % 11 > 0 THEN 'g' || i % 3 END AS g, (ARRAY[1.0, 1.00, 2, 3])[1 + i % 4] AS n, i % 5 AS k, i % 2 = 0 AS even FROM generate_series(1, 3000) AS i;
ALTER TABLE several ALTER x SET NOT NULL;
ANALYZE several;
SELECT (kde_fit('several', 'x', sample_rows => -1, group_by => 'g, n, k, even', measures => '{y}')).rows > 0 AS fitted;
SELECT count(kde_set_plain_sql(name, true, filter => filter)) AS allowed FROM kde_densities_full WHERE relation = 'several'::regclass;
SELECT pg_stat_force_next_flush();
SELECT answered_by(q) AS by, q AS query FROM (VALUES
  ('SELECT g, count(*), sum(y), avg(y), count(y), min(x), max(x) FROM several GROUP BY g'),
  ('SELECT g, count(*), sum(y), avg(y) FROM several WHERE x < 7 GROUP BY g'),
  ('SELECT k, g, count(*), avg(y) FROM several WHERE x IN (1, 3, 7, 9) GROUP BY g, k'),
  ('SELECT n::float8, count(*), sum(x) FROM several WHERE x >= 7 GROUP BY n'),
  ('SELECT g, n::float8, count(*) FROM several WHERE x >= 7 GROUP BY n, g'),
  ('SELECT g, count(*) FROM several WHERE k = 3 AND even GROUP BY g'),
  ('SELECT g, count(*) FROM several WHERE g IS NULL GROUP BY g'),
  ('SELECT g, count(*), sum(y) FROM several WHERE k > 70 GROUP BY g'),
  ('SELECT count(*), sum(y), sum(1) FROM several WHERE k > 70'),
  ('SELECT count(*), sum(y), avg(y) FROM several WHERE k = 3 AND x < 30'),
  ('SELECT even, x / 10 AS ten, count(*), avg(y) FROM several WHERE g = ''g1'' GROUP BY 1, 2'),
  ('SELECT x / 10 AS ten, count(*), avg(y) FROM several WHERE g = ''g1'' GROUP BY 1'),
  ('SELECT even, count(*) FROM several WHERE x > 500 GROUP BY 1'),
  ('SELECT g, count(*) FROM several WHERE y IS NULL GROUP BY g'),
  ('SELECT g, count(*) AS n FROM several GROUP BY g HAVING count(*) > 900 ORDER BY 1'),
  ('SELECT DISTINCT k, even FROM several WHERE x < 3'),
  ('SELECT g, stddev(y) FROM several GROUP BY g')
) AS v (q);
-- By the one with the fewest groups.
SELECT (kde_fit('several', 'x', sample_rows => -1, group_by => 'g', measures => '{y}')).rows > 0 AS fitted, kde_set_plain_sql('several.x by (g)', true);
EXPLAIN (COSTS OFF) SELECT g, count(*) FROM several WHERE x > 5 GROUP BY g;
EXPLAIN (COSTS OFF) SELECT even, count(*) FROM several WHERE x > 5 AND k = 1 GROUP BY even;
DROP TABLE several;

-- As many rows as the density has groups: the planner takes an expression's values for more.
CREATE TABLE hours AS SELECT i % 50 AS x, timestamp '2026-01-01' + i * interval '61 minutes' AS at, ('{a,b,c}'::text[])[1 + i % 3] AS t FROM generate_series(1, 20000) AS i;
ALTER TABLE hours ALTER x SET NOT NULL, ALTER t SET NOT NULL;
ANALYZE hours;
SELECT (kde_fit('hours', 'x', sample_rows => -1, group_by => 'extract(hour FROM at)')).rows > 0 AS fitted;
SELECT count(kde_set_plain_sql(name, true, filter => filter)) AS allowed FROM kde_densities_full WHERE relation = 'hours'::regclass;
CREATE FUNCTION rows_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  plan json;
BEGIN
  SET LOCAL kde_aqp.approximate = 'all';
  EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
  RETURN format('%s of %s', plan -> 0 -> 'Plan' -> 'Plan Rows', plan #>> '{0,Plan,Plans,0,Plan Rows}');
END $$;
SELECT rows_of('SELECT extract(hour FROM at) AS hour, count(*) FROM hours GROUP BY 1');
SELECT rows_of('SELECT count(*) FROM hours');
DROP TABLE hours;
DROP FUNCTION rows_of(text);

-- A column with an outlier: clocks change more often than one would look.
CREATE TABLE outlier AS SELECT timestamptz '2026-01-01' + i * interval '1 hour' AS at FROM generate_series(1, 100) AS i UNION ALL SELECT '290000-01-01';
SELECT (kde_fit('outlier', 'at', sample_rows => -1)).rows;
SELECT kde_set_plain_sql('outlier.at', true);
SELECT pg_stat_force_next_flush();
SET TIME ZONE 'Europe/Berlin';
SELECT answered_by('SELECT at::date AS day, count(*) FROM outlier WHERE at > ''2026-01-02'' GROUP BY 1');
SELECT answered_by('SELECT at::date AS day, count(*) FROM outlier WHERE at BETWEEN ''2026-01-02'' AND ''2026-01-04'' GROUP BY 1');
RESET TIME ZONE;
DROP TABLE outlier;
-- A condition on groups by a value of another query's row.
SELECT answered_by('SELECT w, n FROM (VALUES (''low''::mood), (''high'')) AS v (w), LATERAL (SELECT count(*) AS n FROM odd WHERE x < 50 AND m = w) AS s');
EXPLAIN (COSTS OFF) SELECT w, n FROM (VALUES ('low'::mood), ('high')) AS v (w), LATERAL (SELECT count(*) AS n FROM odd WHERE x < 50 AND m = w) AS s;
ALTER TYPE mood RENAME VALUE 'low' TO 'lower';
SELECT answered_by('SELECT m, count(*) FROM odd WHERE x < 50 GROUP BY m');
CREATE TABLE child () INHERITS (odd);
-- Since version 18 children have the constraint, too.
DO $$
BEGIN
  ALTER TABLE child ALTER x DROP NOT NULL;
  INSERT INTO child (x) VALUES (NULL);
EXCEPTION WHEN invalid_table_definition THEN
END $$;
INSERT INTO child (x) VALUES (5);
SELECT pg_stat_force_next_flush();
-- Rows changed, whatever they have.
SELECT n BETWEEN low AND high AS within
FROM (SELECT approx_lower(count(*)) AS low, approx_upper(count(*)) AS high FROM odd) AS a, (SELECT count(*) AS n FROM odd, generate_series(1, 1)) AS exact;
DROP TABLE odd CASCADE;

-- Where clocks are put back an hour comes twice, and days may: no bucket is a range there.
SET TIME ZONE 'Europe/Berlin';
CREATE TABLE clocks AS SELECT timestamptz '2026-10-20 00:00+00' + i * interval '15 minutes' AS at FROM generate_series(1, 1000) AS i;
SELECT (kde_fit('clocks', 'at', sample_rows => -1)).rows;
SELECT kde_set_plain_sql('clocks.at', true);
SELECT pg_stat_force_next_flush();
SELECT answered_by(q) AS by, q AS query FROM (VALUES
  ('SELECT date_trunc(''minute'', at::timestamp) AS minute, count(*) FROM clocks WHERE at > ''2026-10-24'' GROUP BY 1'),
  ('SELECT date_trunc(''minute'', at::timestamp) AS minute, count(*) FROM clocks WHERE at < ''2026-10-24'' GROUP BY 1'),
  ('SELECT date_trunc(''hour'', at) AS hour, count(*) FROM clocks WHERE at > ''2026-10-24'' AND at < ''2026-10-26'' GROUP BY 1'),
  ('SELECT at::date AS day, count(*) FROM clocks WHERE at > ''2026-10-21'' GROUP BY 1')
) AS v (q);
RESET TIME ZONE;

-- What a density cannot promise the exact plan answers, and says why.
CREATE TABLE sampled AS SELECT (i * 7919 % 100003)::integer AS x, i % 5 AS g FROM generate_series(1, 200000::bigint) AS i;
ANALYZE sampled;
SELECT pg_stat_force_next_flush();
SET kde_aqp.sample_blocks = 100;
SELECT (kde_fit('sampled', 'x', seed => 1)).rows > 0 AS fitted, kde_set_plain_sql('sampled.x', true);
SET kde_aqp.approximate_error = 0.1;
SELECT abs(count(*) - 99900) < 5000 AS near FROM sampled WHERE x < 50000;
SET kde_aqp.approximate_error = 0.0001;
SELECT count(*) FROM sampled WHERE x < 50000;
CREATE FUNCTION plan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query LOOP
    EXIT WHEN line LIKE '%->%';
    RETURN NEXT regexp_replace(regexp_replace(line, '\d+\.\d+ %', 'N %'), '(rows=\d+)\.\d+', '\1');
  END LOOP;
END $$;
SET kde_aqp.approximate = 'all';
SELECT * FROM plan_of('SELECT count(*) FROM sampled WHERE x < 50000 AND x > 5');
RESET kde_aqp.approximate_error;
SET kde_aqp.approximate = top;
PREPARE by_parameter (integer) AS SELECT count(*) FROM sales WHERE qty < $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE by_parameter (100);
EXECUTE by_parameter (NULL);
EXPLAIN (COSTS OFF) EXECUTE by_parameter (7);
-- Turned off, a plan that is kept is exact; forbidden, it is made anew.
SET kde_aqp.approximate = off;
EXECUTE by_parameter (100);
SET kde_aqp.approximate = top;
SELECT kde_set_plain_sql('sales.qty', false);
EXPLAIN (COSTS OFF) EXECUTE by_parameter (7);
SELECT kde_set_plain_sql('sales.qty', true);
RESET plan_cache_mode;

-- Within functions only where all are asked for; never in what is kept.
CREATE FUNCTION inner_count() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(*) FROM sales WHERE qty < 100); END $$;
CREATE FUNCTION outcomes(query text) RETURNS TABLE (outcome text, statements bigint) LANGUAGE plpgsql AS $$
BEGIN
  CREATE TEMP TABLE before ON COMMIT DROP AS SELECT k.outcome, k.statements FROM kde_plain_sql AS k WHERE k.statements > 0;
  EXECUTE query;
  RETURN QUERY SELECT k.outcome, k.statements - coalesce(b.statements, 0) FROM kde_plain_sql AS k LEFT JOIN before AS b USING (outcome)
    WHERE k.statements > coalesce(b.statements, 0) ORDER BY 1;
  DROP TABLE before;
END $$;
SELECT * FROM outcomes('SELECT inner_count()');
SET kde_aqp.approximate = 'all';
SELECT * FROM outcomes('SELECT inner_count()');
SELECT * FROM outcomes('CREATE TABLE kept AS SELECT count(*) FROM sales WHERE qty < 100');
SELECT * FROM outcomes('CREATE TABLE kept_too (n bigint)');
SELECT * FROM outcomes('INSERT INTO kept_too SELECT count(*) FROM sales WHERE qty < 100');
SELECT * FROM outcomes('CREATE MATERIALIZED VIEW kept_view AS SELECT count(*) FROM sales WHERE qty < 100');
SELECT * FROM outcomes('REFRESH MATERIALIZED VIEW kept_view');
SELECT * FROM outcomes('EXPLAIN ANALYZE CREATE TABLE kept_explained AS SELECT count(*) FROM sales WHERE qty < 100');
SELECT * FROM outcomes('INSERT INTO kept_too SELECT inner_count()');
SET kde_aqp.approximate = top;
CREATE FUNCTION counting() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM count(*) FROM sales WHERE qty < 100; RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER deferred AFTER INSERT ON kept_too DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION counting();
CREATE TEMP TABLE so_far AS SELECT outcome, statements FROM kde_plain_sql WHERE statements > 0;
INSERT INTO kept_too VALUES (1);
SELECT outcome, statements FROM kde_plain_sql EXCEPT SELECT * FROM so_far;
PREPARE of_function (bigint) AS SELECT $1;
EXECUTE of_function (inner_count());
SELECT outcome, statements FROM kde_plain_sql EXCEPT SELECT * FROM so_far;
SET kde_aqp.approximate = 'all';
PREPARE to_keep AS SELECT count(*) FROM sales WHERE qty < 100;
SELECT * FROM outcomes('CREATE TABLE kept_again AS EXECUTE to_keep');

-- Rows of one's own are seen at once.
BEGIN;
INSERT INTO sales (sold_on, qty) VALUES ('2026-01-01', 7);
SELECT count(*) FROM sales WHERE qty = 7;
SELECT answered_by('SELECT count(*), sum(qty) FROM sales WHERE qty = 7');
SELECT answered_by('SELECT count(*), stddev(qty) FROM sales WHERE qty < 7');
ROLLBACK;
-- A cursor, backwards, and again.
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT region, count(*) FROM sales WHERE sold_on > '2026-03-01' GROUP BY 1 ORDER BY 1;
FETCH 2 FROM c;
FETCH BACKWARD 1 FROM c;
MOVE ABSOLUTE 0 IN c;
FETCH ALL FROM c;
COMMIT;
-- The exact plan's errors and privileges are the statement's.
CREATE ROLE regress_kde_plain;
GRANT USAGE ON SCHEMA plain_sql TO regress_kde_plain;
GRANT SELECT (qty) ON sales TO regress_kde_plain;
SET ROLE regress_kde_plain;
SELECT count(*) FROM sales WHERE qty < 100;
SELECT sum(amount) FROM sales WHERE qty < 100;
SELECT kde_set_plain_sql('sales.qty', false);
RESET ROLE;
ALTER TABLE sales ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON sales USING (qty < 50);
SET ROLE regress_kde_plain;
SELECT count(*) FROM sales WHERE qty < 100;
RESET ROLE;
ALTER TABLE sales DISABLE ROW LEVEL SECURITY;

-- A column that may be NULL, and is not: a density of every row knows it as of its fit.
CREATE TABLE loaded (day date, region text, amount numeric(12,2), qty integer);
INSERT INTO loaded SELECT date '2026-01-01' + (i * 7919 % 365)::integer, ('{EU,US,Asia}'::text[])[1 + i % 3],
  (i * 104729 % 100000 - 30000) / 100.0, (i * 7919 % 1000)::integer FROM generate_series(1, 20000::bigint) AS i;
ANALYZE loaded;
SELECT (kde_fit('loaded', 'day', sample_rows => -1, measures => ARRAY['amount'])).rows > 0 AS day;
SELECT (kde_fit('loaded', 'day', sample_rows => -1, measures => ARRAY['amount'], group_by => 'region')).rows > 0 AS groups;
RESET kde_aqp.sample_blocks;
SELECT (kde_fit('loaded', ARRAY['day', 'region', 'qty'])).rows > 0 AS joint;
SELECT kde_set_plain_sql(name, true) IS NOT NULL AS allowed FROM kde_densities_full WHERE relation = 'loaded'::regclass;
SELECT pg_stat_force_next_flush();
CREATE TEMP TABLE of_loaded (place, query) AS VALUES
  (1, 'SELECT count(*), sum(amount), avg(amount), min(day), count(day) FROM loaded'),
  (2, 'SELECT sum(amount) FROM loaded'),
  (3, 'SELECT date_trunc(''month'', day) AS month, count(*), sum(amount) FROM loaded GROUP BY 1'),
  (4, 'SELECT region, count(*), sum(amount) FROM loaded GROUP BY 1'),
  (5, 'SELECT region, date_trunc(''month'', day) AS month, count(*) FROM loaded GROUP BY 1, 2'),
  (6, 'SELECT count(*), sum(amount) FROM loaded WHERE region <> ''EU'''),
  (7, 'SELECT region FROM loaded GROUP BY 1'),
  (8, 'SELECT sum(qty) FROM loaded'),
  (9, 'SELECT count(*) FROM loaded WHERE qty > 500');
SELECT answered_by(query) AS by, query FROM of_loaded ORDER BY place;
SELECT density, answers, reason FROM kde_explain_query('SELECT sum(qty) FROM loaded');
SELECT count, exact, density FROM approx_where('loaded', 'true');
-- The log names a statement that a density answered; also to a client that wants it.
SET kde_aqp.log_answers = on;
SET client_min_messages = log;
SELECT count(*) FROM loaded;
SELECT min(qty) FROM loaded;
SET client_min_messages = notice;
RESET kde_aqp.log_answers;
-- A row without a day since: within the intervals of counts and sums, and perhaps a bucket or group of its own.
INSERT INTO loaded (region, amount) VALUES ('Mars', 5);
SELECT pg_stat_force_next_flush();
SELECT answered_by(query) AS by, query FROM of_loaded WHERE place BETWEEN 3 AND 7 ORDER BY place;
SELECT approx_lower(sum(amount)) <= 4000905 AND approx_upper(sum(amount)) >= 4000905 AND avg(amount) IS NOT NULL AS summed FROM loaded;
SELECT count(*) AS n, approx_lower(count(*)) <= 20001 AND approx_upper(count(*)) >= 20001 AS counted FROM loaded;
SELECT count, count_lower <= 20001 AND count_upper >= 20001 AS counted, exact FROM approx_where('loaded', 'true');
-- Fitted again, they know of it: by the column no group is that, though it has no density of its own.
SELECT (kde_fit('loaded', 'day', sample_rows => -1, measures => ARRAY['amount'])).rows AS day;
SELECT (kde_fit('loaded', 'day', sample_rows => -1, measures => ARRAY['amount'], group_by => 'region')).rows AS groups;
RESET kde_aqp.sample_blocks;
SELECT (kde_fit('loaded', ARRAY['day', 'region', 'qty'])).rows > 0 AS joint;
SELECT answered_by(query) AS by, query FROM of_loaded ORDER BY place;
SELECT density, answers, reason FROM kde_explain_query('SELECT count(*) FROM loaded');
SELECT density, answers, reason FROM kde_explain_query('SELECT region, sum(amount) FROM loaded GROUP BY 1') LIMIT 1;
SELECT answered_by('SELECT count(*), sum(amount) FROM loaded WHERE day IS NOT NULL');
-- Planned before: it is looked at again when it runs.
DELETE FROM loaded WHERE day IS NULL;
SELECT (kde_fit('loaded', 'day', sample_rows => -1, measures => ARRAY['amount'])).rows AS day;
SELECT pg_stat_force_next_flush();
SET plan_cache_mode = force_generic_plan;
PREPARE all_loaded AS SELECT count(*), sum(amount) FROM loaded;
EXPLAIN (COSTS OFF) EXECUTE all_loaded;
INSERT INTO loaded (region, amount) VALUES ('Mars', 5);
SELECT (kde_fit('loaded', 'day', sample_rows => -1, measures => ARRAY['amount'])).rows AS day;
SELECT pg_stat_force_next_flush();
EXECUTE all_loaded;
RESET plan_cache_mode;
-- A sample may have met none.
DELETE FROM loaded WHERE day IS NULL;
SELECT (kde_fit('loaded', 'day', sample_rows => 1000)).rows > 0 AS sampled;
SELECT density, answers, reason FROM kde_explain_query('SELECT count(*) FROM loaded');


-- Bad input.
SET kde_aqp.approximate = 'sometimes';
SET kde_aqp.approximate_error = -1;
SET kde_aqp.approximate_confidence = 1;
SELECT kde_set_plain_sql('sales.kind', true);
SELECT kde_set_plain_sql(NULL, true);
SELECT kde_set_plain_sql('sales.qty', NULL);
SELECT kde_set_plain_sql('sales.qty', true, 'kind = 1');

RESET kde_aqp.approximate;
DROP SCHEMA plain_sql CASCADE;
DROP ROLE regress_kde_plain;
