-- Plain SQL on tables that grow and change: what densities do not know as it is now is read. After
-- each step every statement says what the exact plan does, and so many are answered.
\set ECHO queries \\ \pset tuples_only on \\ \pset format unaligned
SET search_path = public;
CREATE SCHEMA growing;
SET search_path = growing, public;
SET timezone = 'Europe/Berlin';
SET kde_aqp.approximate_notice = off;
-- Whatever the exact plan would cost.
SET seq_page_cost = 0; SET cpu_tuple_cost = 0; SET cpu_operator_cost = 0;

CREATE FUNCTION rides(first bigint, last bigint) RETURNS TABLE (id bigint, at timestamptz, day date, region text, status text,
  qty integer, amount numeric(12,2), cost numeric, weight double precision, noted timestamp) LANGUAGE sql AS $$
  SELECT i, '2026-01-01 00:00+00'::timestamptz + i * interval '7 minutes 0.25 seconds', ('2026-01-01'::date + (i / 205)::integer),
    CASE WHEN i % 97 > 0 THEN ('{north,east,"south west",west}'::text[])[1 + i * 7919 % 4] END, ('{paid,open,void}'::text[])[1 + i % 3],
    (i * 104729 % 50)::integer, CASE WHEN i % 31 > 0 THEN (i * 7919 % 100000) / 100.0 END, (i * 31 % 1000) / 1000.0, (i % 64) / 8.0,
    CASE WHEN i % 5 > 0 THEN '2026-01-01'::timestamp + i * interval '1 hour' END
  FROM generate_series(first, last) AS i $$;
CREATE TABLE ride (id bigint, at timestamptz NOT NULL, day date NOT NULL, region text, status text NOT NULL, qty integer,
  amount numeric(12,2), cost numeric, weight double precision, noted timestamp);
CREATE TABLE tree (LIKE ride) PARTITION BY RANGE (at);
CREATE TABLE early PARTITION OF tree FOR VALUES FROM ('2026-01-01') TO ('2026-03-01');
-- Its columns are in another order.
CREATE TABLE late (note text, region text, noted timestamp, weight double precision, cost numeric, amount numeric(12,2), gone integer, qty integer,
  status text NOT NULL, day date NOT NULL, at timestamptz NOT NULL, id bigint);
ALTER TABLE late DROP COLUMN gone, DROP COLUMN note;
ALTER TABLE tree ATTACH PARTITION late FOR VALUES FROM ('2026-03-01') TO (MAXVALUE);
INSERT INTO ride SELECT * FROM rides(1, 20000);
INSERT INTO tree SELECT * FROM rides(1, 20000);
VACUUM (ANALYZE) ride, tree;

CREATE TABLE statement (query text);
INSERT INTO statement
SELECT format(query, t) FROM unnest('{ride,tree}'::text[]) AS t, (VALUES
  ('SELECT count(*) FROM %s'), ('SELECT count(*), count(amount), sum(amount), avg(amount) FROM %s WHERE at >= ''2026-04-01'''),
  ('SELECT region, count(*), sum(amount) FROM %s WHERE at < ''2026-02-10'' GROUP BY region'),
  ('SELECT date_trunc(''day'', at), count(*), sum(amount), sum(qty), avg(qty) FROM %s WHERE at >= ''2026-03-20'' GROUP BY 1'),
  ('SELECT region, date_trunc(''month'', at), count(*), sum(amount), round(sum(cost), 6), round(sum(weight)::numeric, 6) FROM %s GROUP BY 1, 2'),
  ('SELECT date_trunc(''hour'', at) AS h, round(sum(cost), 6) FROM %s WHERE at >= ''2026-04-06'' GROUP BY h'),
  ('SELECT count(*), sum(amount) FROM %s WHERE at >= ''2026-01-05'' AND at < ''2026-04-08'' AND region = ''north'''),
  ('SELECT count(*), sum(amount) FROM %s WHERE at >= ''2026-02-01'' AND region IN (''east'', ''new'')'),
  ('SELECT count(*) FROM %s WHERE region IS NULL AND at > ''2026-02-01'''),
  ('SELECT region FROM %s GROUP BY region HAVING count(*) > 4000'),
  ('SELECT day, count(*) FROM %s WHERE day BETWEEN ''2026-03-25'' AND ''2026-04-30'' GROUP BY day'),
  ('SELECT count(*), sum(amount) / count(*) FROM %s WHERE status = ''paid'' AND at >= ''2026-03-01'''),
  ('SELECT qty, count(*), sum(amount) FROM %s GROUP BY qty'), ('SELECT count(*), sum(amount) FROM %s WHERE qty < 20'),
  ('SELECT count(*) FROM %s WHERE qty IN (3, 4, 77)'), ('SELECT sum(qty), avg(qty) FROM %s WHERE qty >= 45'),
  ('SELECT status, count(*), sum(amount) FROM %s GROUP BY status'), ('SELECT count(*) FROM %s WHERE status = ''void'''),
  ('SELECT status, count(*) FROM %s WHERE status > ''p'' GROUP BY status HAVING sum(amount) > 5'),
  ('SELECT count(*), sum(qty) FROM %s WHERE noted >= ''2026-03-01'' AND noted < ''2026-04-02'''),
  ('SELECT min(at), max(at), count(*) FROM %s'), ('SELECT max(at) FROM %s WHERE at < ''2026-03-01'''), ('SELECT min(noted), max(noted) FROM %s'),
  ('SELECT region, min(at), max(at) FROM %s WHERE at >= ''2026-02-01'' GROUP BY region'), ('SELECT min(qty), max(qty), sum(qty) FROM %s WHERE qty > 3'),
  ('SELECT date_trunc(''month'', at), min(at), max(at) FROM %s GROUP BY 1'), ('SELECT max(day), max(day) - min(day) FROM %s WHERE day < ''2026-04-06''')) AS q (query);

CREATE FUNCTION fit() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  t text;
BEGIN
  FOREACH t IN ARRAY '{ride,tree}'::text[] LOOP
    PERFORM kde_fit(t, 'at', sample_rows => -1, measures => '{amount,qty,cost,weight}', group_by => 'region');
    PERFORM kde_fit(t, 'at', sample_rows => -1, measures => '{amount}', filter => 'status = ''paid''');
    PERFORM kde_fit(t, 'day', sample_rows => -1), kde_fit(t, 'qty', sample_rows => -1, measures => '{amount}'),
      kde_fit(t, 'status', sample_rows => -1, measures => '{amount}'), kde_fit(t, 'noted', sample_rows => -1, measures => '{qty}');
  END LOOP;
  PERFORM kde_set_plain_sql(name, true, filter => filter) FROM kde_densities_full WHERE relation IN ('ride'::regclass, 'tree'::regclass);
END $$;

-- How many densities, and of how many no more was read than half of the table, and twice what changed.
CREATE FUNCTION refresh(changed integer) RETURNS text LANGUAGE sql AS $$
  SELECT format('%s refreshed, %s by what changed', count(*), count(*) FILTER (WHERE 2 * r.blocks_read < t.blocks AND r.blocks_read <= 2 * changed))
  FROM (SELECT root, (SELECT sum(pg_relation_size(relid)) FROM (SELECT root AS relid UNION SELECT relid FROM pg_partition_tree(root)) AS m) / 8192 AS blocks FROM unnest('{ride,tree}'::regclass[]) AS root) AS t,
    kde_refresh(root, force => true) AS r $$;

SELECT fit();
SELECT say('fitted');
INSERT INTO ride SELECT * FROM rides(20001, 20001);
INSERT INTO tree SELECT * FROM rides(20001, 20001);
SELECT say('a row');
INSERT INTO ride SELECT * FROM rides(20002, 20100);
INSERT INTO tree SELECT * FROM rides(20002, 20100);
INSERT INTO ride (id, at, day, region, status, qty, amount, cost) VALUES (-1, '2026-02-03 04:05', '2026-02-03', 'new', 'paid', 77, NULL, 1.23456),
  (-2, '2026-05-03 04:05:00.000001', '2026-05-03', NULL, 'lost', NULL, 5, NULL);
INSERT INTO tree SELECT * FROM ride WHERE id < 0;
SELECT say('late and new ones');
UPDATE ride SET status = 'open' WHERE id > 19900;
UPDATE tree SET status = 'open' WHERE id > 19900;
SELECT say('updates of another column');
UPDATE ride SET region = 'moved', amount = amount + 1000 WHERE id BETWEEN 19000 AND 19100;
UPDATE tree SET region = 'moved', amount = amount + 1000 WHERE id BETWEEN 19000 AND 19100;
SELECT say('updates');
DELETE FROM ride WHERE id % 2 = 0 AND id > 19500;
DELETE FROM tree WHERE id % 2 = 0 AND id > 19500;
SELECT say('deletes');
VACUUM ride, tree;
SELECT say('VACUUM');
INSERT INTO ride SELECT * FROM rides(20101, 21000);
INSERT INTO tree SELECT * FROM rides(20101, 21000);
VACUUM ride, tree;
SELECT say('five in a hundred');
-- Functions that are asked for accuracy read it, too.
SET kde_aqp.stale = ignore;
CREATE VIEW asked AS SELECT t, n.* FROM unnest('{ride,tree}'::text[]) AS t, LATERAL (VALUES
  ('count', approx_count(t || '.at', '2026-03-01'::timestamptz, NULL, max_relative_error => 0)),
  ('sum', approx_sum(t || '.at', '2026-03-01'::timestamptz, '2026-04-08'::timestamptz, measure => 'amount', max_relative_error => 0)),
  ('mean', approx_avg(t || '.qty', 3, 30, max_relative_error => 1e-12)), ('word', approx_count(t || '.status', 'open', max_relative_error => 0)),
  ('filter', approx_count(t || '.at', '2026-02-01'::timestamptz, NULL, filter => 'status = ''paid''', max_relative_error => 0)),
  ('lower', (approx_sum_ci(t || '.qty', 3, 30, max_relative_error => 0)).lower_bound),
  ('where', (approx_where(t::regclass, 'qty < 20 AND qty > 3', measure => 'amount', max_relative_error => 0)).sum),
  ('none', approx_sum(t || '.qty', 1000, 2000, max_relative_error => 0, otherwise => 'exact'))) AS n (what, answer);
SELECT t, what, answer IS NOT DISTINCT FROM exact AS is_exact FROM asked JOIN (VALUES
  ('count', (SELECT count(*) FROM ride WHERE at >= '2026-03-01')), ('sum', (SELECT sum(amount) FROM ride WHERE at BETWEEN '2026-03-01' AND '2026-04-08')),
  ('mean', (SELECT avg(qty)::float8 FROM ride WHERE qty BETWEEN 3 AND 30)), ('word', (SELECT count(*) FROM ride WHERE status = 'open')),
  ('filter', (SELECT count(*) FROM ride WHERE at >= '2026-02-01' AND status = 'paid')), ('lower', (SELECT sum(qty) FROM ride WHERE qty BETWEEN 3 AND 30)),
  ('where', (SELECT sum(amount) FROM ride WHERE qty < 20 AND qty > 3)), ('none', NULL)) AS e (what, exact) USING (what) ORDER BY t, what;
SET kde_aqp.approximate_scan_size = 0;
SELECT approx_count('ride.at', '2026-03-01'::timestamptz, NULL, max_relative_error => 0, otherwise => 'null'),
  approx_count('ride.at', '2026-03-01'::timestamptz, NULL, max_relative_error => 0, otherwise => 'exact') = (SELECT count(*) FROM ride WHERE at >= '2026-03-01');
RESET kde_aqp.approximate_scan_size;
RESET kde_aqp.stale;
BEGIN;
INSERT INTO ride SELECT * FROM rides(21001, 21010);
SELECT say('own changes');
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT say('rolled back');
COMMIT;
-- What is read is other blocks in the midst of a statement, which asks again for each row of another.
SET kde_aqp.approximate = 'all';
SET enable_material = off;
BEGIN;
DECLARE twice NO SCROLL CURSOR FOR
SELECT i, s.* FROM (VALUES (1), (2)) AS v (i) LEFT JOIN (SELECT status, count(*), sum(amount) FROM ride GROUP BY status) AS s ON true;
DO $$ BEGIN PERFORM set_config('growing.before', by_density()::text, false); END $$;
FETCH 4 FROM twice;
SAVEPOINT s;
UPDATE ride SET qty = 1 WHERE id < 2000;
ROLLBACK TO s;
FETCH 4 FROM twice;
SELECT by_density() - current_setting('growing.before')::numeric;
COMMIT;
RESET enable_material;
RESET kde_aqp.approximate;
DELETE FROM ride WHERE id = 1;
DELETE FROM tree WHERE id = 1;
SELECT say('the first row deleted');
SET kde_aqp.approximate_scan_size = 0;
SELECT say('nothing read');
RESET kde_aqp.approximate_scan_size;
SELECT refresh(300);
SELECT say('refreshed');
VACUUM ride, tree;
SELECT refresh(0);
INSERT INTO ride SELECT * FROM rides(22001, 22200);
INSERT INTO tree SELECT * FROM rides(22001, 22200);
SELECT refresh(60);
SELECT say('refreshed what came');
UPDATE ride SET region = 'east', qty = qty + 1, status = 'sent' WHERE id BETWEEN 22100 AND 22110;
UPDATE tree SET region = 'east', qty = qty + 1, status = 'sent' WHERE id BETWEEN 22100 AND 22110;
SELECT refresh(60);
SELECT say('refreshed what changed');
-- The greatest and the least values, and a group, are gone.
DELETE FROM ride WHERE at > '2026-04-18' OR qty = 49 OR region = 'moved';
DELETE FROM tree WHERE at > '2026-04-18' OR qty = 49 OR region = 'moved';
VACUUM ride, tree;
SELECT refresh(0);
SELECT say('refreshed what went');
DO $$ BEGIN
  FOR i IN 1 .. 12 LOOP
    INSERT INTO ride SELECT * FROM rides(22200 + i * 40, 22239 + i * 40);
    INSERT INTO tree SELECT * FROM rides(22200 + i * 40, 22239 + i * 40);
    COMMIT;
    PERFORM refresh(0);
    COMMIT;
  END LOOP;
END $$;
SELECT say('refreshed as it grows');
-- Leaves come and go.
CREATE TABLE older (LIKE ride);
INSERT INTO older SELECT id, at - interval '60 days', day - 60, region, status, qty, amount, cost, weight, noted FROM rides(1, 900);
ALTER TABLE tree ATTACH PARTITION older FOR VALUES FROM (MINVALUE) TO ('2026-01-01');
SELECT say('a leaf came');
SELECT refresh(60);
SELECT say('refreshed');
ALTER TABLE tree DETACH PARTITION older;
SELECT say('it went');
SELECT refresh(0);
SELECT say('refreshed');
ALTER TABLE tree ATTACH PARTITION older FOR VALUES FROM (MINVALUE) TO ('2026-01-01');
SELECT refresh(60);
TRUNCATE older;
INSERT INTO older SELECT id, at - interval '90 days', day - 90, region, status, qty, amount, cost, weight, noted FROM rides(5, 10);
SELECT say('others are in it');
SELECT refresh(1);
VACUUM FULL older;
SELECT say('it was written anew');
DROP TABLE older;
SELECT say('it was dropped');
SELECT refresh(0);
SELECT say('refreshed');
-- Of nothing that a density knows: the rows of the blocks are the same, whichever they lie in.
UPDATE ride SET id = id + 100000 WHERE id % 50 = 7;
UPDATE tree SET id = id + 100000 WHERE id % 50 = 7;
SELECT say('another column everywhere');
UPDATE ride SET amount = amount + 1 WHERE id = 100007;
UPDATE tree SET amount = amount + 1 WHERE id = 100007;
SELECT say('and one of them more');
-- FREEZE writes every block.
VACUUM (FREEZE) ride, tree;
SELECT say('frozen');
DELETE FROM ride WHERE id > 100;
DELETE FROM tree WHERE id > 100;
VACUUM ride, tree;
INSERT INTO ride SELECT * FROM rides(30001, 30100);
INSERT INTO tree SELECT * FROM rides(30001, 30100);
SELECT say('nearly all gone');
TRUNCATE late;
SELECT say('a leaf emptied');
-- A condition raises an error of a group that is gone, or of one that came.
CREATE TABLE coded AS SELECT CASE WHEN i > 990 THEN 'none' ELSE (i % 9)::text END AS code, i AS x FROM generate_series(1, 1000) AS i;
SELECT name FROM kde_fit('coded', 'x', sample_rows => -1, group_by => 'code');
SELECT kde_set_plain_sql('coded.x by (code)', true) \g /dev/null
TRUNCATE statement;
INSERT INTO statement VALUES ('SELECT count(*) FROM coded WHERE code::integer > 3'), ('SELECT code, count(*) FROM coded WHERE code::integer > 3 GROUP BY code'),
  ('SELECT count(*) FROM coded WHERE length(code) < 4 AND x < 500');
UPDATE coded SET code = '4' WHERE code = 'none';
SELECT say('a code is gone');
INSERT INTO coded VALUES ('new', 1);
SET kde_aqp.approximate = 'all';
SELECT count(*) FROM coded WHERE code::integer > 3;
RESET kde_aqp.approximate;
-- NULLs alone in some blocks; a large value that comes and goes; sums of many digits, refreshed often.
CREATE TABLE sparse AS SELECT CASE WHEN i > 9000 THEN i % 1000 END AS x, 20000000 + i * 79::bigint AS m, (i % 1000)::float8 AS f, CASE WHEN i > 9000 THEN 'w' || i % 5 END AS w
FROM generate_series(1, 20000) AS i;
VACUUM ANALYZE sparse;
SELECT name FROM kde_fit('sparse', 'x', sample_rows => -1, measures => '{m,f}');
SELECT name FROM kde_fit('sparse', 'w', sample_rows => -1, measures => '{m}');
SELECT name FROM kde_fit('sparse', 'x', sample_rows => -1, measures => '{f}', group_by => 'm % 3');
SELECT kde_set_plain_sql(name, true) FROM kde_densities WHERE name LIKE 'sparse%' \g /dev/null
TRUNCATE statement;
INSERT INTO statement VALUES ('SELECT count(*), count(x) FROM sparse'), ('SELECT sum(m) FROM sparse'), ('SELECT count(*) FROM sparse WHERE x IS NULL'), ('SELECT count(*), sum(m) FROM sparse WHERE x IS NULL'), ('SELECT sum(m), count(m) FROM sparse WHERE x < 500'),
  ('SELECT x, count(*), sum(m) FROM sparse WHERE x < 20 GROUP BY x'), ('SELECT w, count(*), sum(m) FROM sparse GROUP BY w'), ('SELECT m % 3, count(*), count(f) FROM sparse WHERE x < 700 GROUP BY 1'), ('SELECT m % 3, count(*) FROM sparse GROUP BY 1'), ('SELECT count(*) FROM sparse WHERE w IS NULL'),
  ('SELECT abs(var_samp(f) / 83375 - 1) < 0.02, sum(x), min(m), max(m) FROM sparse WHERE x IS NOT NULL');
SELECT say('sparse');
DELETE FROM sparse WHERE m < 20000000 + 79 * 300;
SELECT say('rows of NULL went');
INSERT INTO sparse SELECT NULL, 7, 1, NULL FROM generate_series(1, 3000);
VACUUM sparse;
SELECT say('others came');
SELECT column_names FROM kde_refresh('sparse', force => true) WHERE blocks_read < 70;
SELECT say('refreshed');
INSERT INTO sparse VALUES (1001, 5, 1e12, 'w');
SELECT FROM kde_refresh('sparse', force => true);
DELETE FROM sparse WHERE x = 1001;
SELECT FROM kde_refresh('sparse', force => true);
SELECT say('a large value came and went');
DO $$ BEGIN
  FOR k IN 1 .. 40 LOOP
    INSERT INTO sparse VALUES (k, 10000000 + k * 104729, k, 'w1');
    COMMIT;
    PERFORM kde_refresh('sparse', force => true);
    COMMIT;
  END LOOP;
END $$;
SELECT say('refreshed often');
-- A refresh of several of which one cannot be.
CREATE TABLE odd AS SELECT i AS x, i % 3 AS y, 0.5::double precision AS w FROM generate_series(1, 1000) AS i;
SELECT name FROM kde_fit('odd', 'x', sample_rows => -1);
SELECT name FROM kde_fit('odd', 'y', sample_rows => -1, measures => '{w}');
SELECT kde_set_plain_sql('odd.x', true) \g /dev/null
TRUNCATE statement;
INSERT INTO statement VALUES ('SELECT count(*), sum(x) FROM odd'), ('SELECT x / 100, count(*) FROM odd WHERE x > 200 GROUP BY 1');
INSERT INTO odd VALUES (1001, 1, 'NaN');
SELECT column_names, action FROM kde_refresh('odd', force => true);
SELECT say('one was not refreshed');
DELETE FROM odd WHERE x > 900;
SELECT say('and rows went');
-- The least went, and those of all stretches are no more to be read than others.
CREATE TABLE long AS SELECT i AS x, repeat('x', 1000) AS w FROM generate_series(1, 4200) AS i;
VACUUM long;
SELECT name FROM kde_fit('long', 'x', sample_rows => -1);
SELECT kde_set_plain_sql('long.x', true) \g /dev/null
TRUNCATE statement;
INSERT INTO statement VALUES ('SELECT min(x), count(*) FROM long WHERE x < 700'), ('SELECT x / 1000, min(x) FROM long WHERE x < 700 GROUP BY 1');
DELETE FROM long WHERE x IN (1, 1000, 1500, 2000, 2500, 3000);
SELECT say('the least of a stretch');
SET kde_aqp.approximate_scan_size = '800kB';
SELECT say('too much to be read');
RESET kde_aqp.approximate_scan_size;
-- What is read may be beyond the density's digits, or no number.
CREATE TABLE priced AS SELECT round(i / 100.0, 2) AS price, i % 7 / 2::double precision AS y FROM generate_series(1, 5000) AS i;
SELECT name FROM kde_fit('priced', 'price', sample_rows => -1);
SELECT name FROM kde_fit('priced', 'y', sample_rows => -1);
SELECT kde_set_plain_sql(name, true) FROM kde_densities_full WHERE relation = 'priced'::regclass \g /dev/null
TRUNCATE statement;
INSERT INTO statement VALUES ('SELECT min(price), max(price) FROM priced'), ('SELECT min(y), max(y) FROM priced'),
  ('SELECT max(y) FROM priced WHERE y < 2.7'), ('SELECT max(price) FROM priced WHERE price < 20.5');
INSERT INTO priced VALUES (77777777777777777777.123, 'Infinity'), (-0.001, -0.25);
SELECT say('far beyond');
INSERT INTO priced VALUES ('NaN', 'NaN'), (NULL, NULL);
SELECT say('no numbers');
DELETE FROM priced WHERE price > 40;
SELECT say('the greatest went');
DELETE FROM priced WHERE price <= 20;
SELECT say('the least went');
DELETE FROM priced;
SELECT say('all went');
-- By an index the server's planner has subqueries in the place of min and max.
CREATE TABLE logged AS SELECT i AS x, NULLIF(i % 7, 0) AS y FROM generate_series(1, 5000) AS i;
ALTER TABLE logged ALTER x SET NOT NULL;
CREATE INDEX ON logged (x);
CREATE INDEX ON logged (y);
VACUUM (ANALYZE) logged;
SELECT name FROM kde_fit('logged', 'x', sample_rows => -1);
SELECT name FROM kde_fit('logged', 'y', sample_rows => -1);
SELECT kde_set_plain_sql(name, true) FROM kde_densities_full WHERE relation = 'logged'::regclass \g /dev/null
TRUNCATE statement;
INSERT INTO statement VALUES ('SELECT min(x), max(x) FROM logged'), ('SELECT max(x) - 1 FROM logged WHERE x < 9000 ORDER BY max(x)'),
  ('SELECT min(y) FROM logged WHERE y > 2'), ('SELECT max(x), count(*) FROM logged');
INSERT INTO logged VALUES (7000, 9), (-3, NULL);
SELECT say('ends of an index');

-- An index leads to few rows, where changes all over the table would have most of it read.
RESET seq_page_cost; RESET cpu_tuple_cost; RESET cpu_operator_cost;
CREATE TABLE scattered AS SELECT i AS x, i % 4 AS region, repeat('.', 100) AS filler FROM generate_series(1, 20000) AS i;
ALTER TABLE scattered ALTER x SET NOT NULL;
CREATE INDEX ON scattered (x);
SELECT name FROM kde_fit('scattered', 'x', sample_rows => -1, group_by => 'region');
SELECT kde_set_plain_sql('scattered.x by (region)', true) \g /dev/null
UPDATE scattered SET region = 3 - region WHERE x % 100 = 0;
VACUUM (ANALYZE) scattered;
TRUNCATE statement;
INSERT INTO statement VALUES ('SELECT region, count(*) FROM scattered WHERE x BETWEEN 1000 AND 1100 GROUP BY region ORDER BY region');
SELECT say('few rows by an index');
-- A function has no exact plan to take instead.
SET kde_aqp.stale = ignore;
SELECT (approx_where('scattered'::regclass, 'x BETWEEN 1000 AND 1100', max_relative_error => 0)).count;
RESET kde_aqp.stale;
TRUNCATE statement;
INSERT INTO statement VALUES ('SELECT region, count(*) FROM scattered GROUP BY region ORDER BY region');
SELECT say('all rows');

-- An error of a group that is gone is none, also where the exact plan would have workers.
CREATE TABLE zero AS SELECT i AS x, i % 5 AS k FROM generate_series(1, 20000) AS i;
ALTER TABLE zero ALTER x SET NOT NULL, ALTER k SET NOT NULL;
VACUUM (ANALYZE) zero;
SELECT name FROM kde_fit('zero', 'x', sample_rows => -1, group_by => 'k');
SELECT kde_set_plain_sql('zero.x by (k)', true) \g /dev/null
DELETE FROM zero WHERE k = 0;
SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
TRUNCATE statement;
INSERT INTO statement VALUES ('SELECT 10 / k AS q, count(*) FROM zero GROUP BY 1 ORDER BY 1'),
  ('SELECT count(*) FROM zero WHERE 10 / k > 2'), ('SELECT k, count(*) FROM zero GROUP BY k ORDER BY k');
SELECT say('a group is gone');
CREATE FUNCTION has_workers(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
    IF line LIKE '%Workers Planned%' THEN RETURN true; END IF;
  END LOOP;
  RETURN false;
END $$;
SELECT bool_and(has_workers(query)) FROM statement;
DROP SCHEMA growing CASCADE;
