-- Plain SQL by densities of every row: what the session gets with kde_aqp.approximate on is what it
-- gets with it off, and by whom.
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
SELECT count(*) AS allowed FROM kde_densities_full WHERE plain_sql;

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
  ('SELECT count(*) FROM sales WHERE qty IS NULL'),
  ('SELECT count(*), sum(amount) FROM sales WHERE NOT qty < 100 AND qty <> 5'),
  ('SELECT sum(kind) FROM sales WHERE qty < 100'),
  ('SELECT count(*) FROM sales TABLESAMPLE system (100) WHERE qty < 100'),
  ('SELECT count(*) FROM sales, generate_series(1, 2) WHERE qty < 100'),
  ('SELECT region, count(*) FROM sales WHERE qty < 100 GROUP BY ROLLUP (region)'),
  ('SELECT region, count(*) FROM sales WHERE qty < 100 GROUP BY region'),
  ('SELECT count(*) FROM sales WHERE qty < 100 AND random() < 2'),
  ('SELECT region, kind, count(*) FROM sales WHERE sold_on < ''2026-02-01'' GROUP BY region, kind'),
  ('SELECT kind, count(*) FROM sales WHERE at < ''2026-02-01'' GROUP BY kind'),
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
SELECT answered_by('SELECT count(*) FROM odd');
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
