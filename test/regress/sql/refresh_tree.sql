-- Refreshes of partition and inheritance trees in which more changed than rows that are counted.
\set ECHO none \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS refresh_tree CASCADE;
CREATE SCHEMA refresh_tree;
SET search_path = refresh_tree, public;
RESET client_min_messages;
\set ECHO queries

-- A partition in which no row was counted may have others all the same. Refreshed by age, and as many rows as were.
CREATE TABLE stock (shelf integer, day date, n numeric, m numeric) PARTITION BY LIST (shelf);
CREATE TABLE stock_1 PARTITION OF stock FOR VALUES IN (1);
CREATE TABLE stock_2 PARTITION OF stock FOR VALUES IN (2);
INSERT INTO stock SELECT 1 + i % 2, '2020-01-01', i % 900, i % 900 FROM generate_series(1, 2000) AS i;
-- Before the fit: with checksums, the default from 18 on, VACUUM stamps the blocks whose bits it sets.
VACUUM stock;
SELECT pg_stat_force_next_flush();
SELECT model, rows FROM kde_fit('stock', 'n', sample_rows => -1);
SELECT kde_set_refresh('stock.n', max_age => '1 microsecond', threshold => 1000000);
CREATE FUNCTION again(OUT action text, OUT n bigint, OUT exact bigint) LANGUAGE plpgsql AS $$ BEGIN
  PERFORM pg_stat_force_next_flush();
  SELECT r.action INTO action FROM kde_refresh('stock') AS r WHERE filter IS NULL;
  n := approx_count('stock.n', 1000, 5000);
  exact := (SELECT count(*) FROM stock WHERE stock.n BETWEEN 1000 AND 5000);
END $$;
SET kde_aqp.stale = 'ignore';
SELECT * FROM again();
-- Written to a new file, with other values.
ALTER TABLE stock ALTER COLUMN n TYPE numeric USING n + 1000;
ANALYZE stock;
VACUUM stock;
SELECT * FROM again();
-- Away and back with other columns of the same names.
ALTER TABLE stock DETACH PARTITION stock_1;
ALTER TABLE stock_1 RENAME COLUMN n TO old;
ALTER TABLE stock_1 RENAME COLUMN m TO n;
ALTER TABLE stock_1 RENAME COLUMN old TO m;
ALTER TABLE stock ATTACH PARTITION stock_1 FOR VALUES IN (1);
VACUUM stock;
SELECT * FROM again();
ALTER TABLE stock DETACH PARTITION stock_1;
ALTER TABLE stock_1 DROP COLUMN n;
ALTER TABLE stock_1 ADD COLUMN n numeric DEFAULT 1500;
ALTER TABLE stock ATTACH PARTITION stock_1 FOR VALUES IN (1);
VACUUM stock;
SELECT * FROM again();
VACUUM stock;
SELECT * FROM again();
-- Counters that began anew do not tell what they had counted before.
UPDATE stock_2 SET n = n - 1000;
SELECT pg_stat_force_next_flush();
SELECT pg_stat_reset_single_table_counters('stock_2'::regclass);
VACUUM stock;
SELECT * FROM again();
VACUUM stock;
SELECT * FROM again();
-- A snapshot may be older than what is proven: all is read again.
UPDATE stock_2 SET n = n + 2000;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT * FROM again();
COMMIT;
VACUUM stock;
SELECT * FROM again();
VACUUM stock;
SELECT * FROM again();
-- A table that its own transaction empties in place.
DROP TABLE stock_2;
BEGIN;
CREATE TABLE stock_2 PARTITION OF stock FOR VALUES IN (2);
INSERT INTO stock SELECT 2, '2020-01-01', 1, 1 FROM generate_series(1, 100);
SELECT * FROM again();
TRUNCATE stock_2;
INSERT INTO stock SELECT 2, '2020-01-01', 2000, 1 FROM generate_series(1, 100);
COMMIT;
VACUUM stock;
SELECT * FROM again();
VACUUM stock;
SELECT * FROM again();
RESET kde_aqp.stale;

-- A parent with rows of its own beside its children's; and none of them.
CREATE TABLE parent (v integer);
CREATE TABLE child () INHERITS (parent);
INSERT INTO child SELECT generate_series(1, 10);
SELECT rows FROM kde_fit('parent', 'v', sample_rows => -1);
INSERT INTO parent VALUES (1);
SELECT action, changed_rows FROM kde_refresh('parent', force => true);
SELECT approx_count('parent.v', 1, 1);
CREATE TABLE grandchild () INHERITS (child);
INSERT INTO grandchild VALUES (1), (11);
SELECT action FROM kde_refresh('parent', force => true);
SELECT approx_count('parent.v', 1, 1), approx_count('parent.v', 11, NULL);
TRUNCATE grandchild, child, parent;
SELECT action, reason FROM kde_refresh('parent', force => true);
SELECT rows FROM kde_densities_full WHERE relation = 'parent'::regclass;

SET client_min_messages = warning;
DROP SCHEMA refresh_tree CASCADE;
