-- Empty blocks at the end of a file are none of those that a sample is drawn from. Every version leaves them where VACUUM does not cut
-- them off; from 16 on COPY and CREATE TABLE AS do.
\set ECHO none \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
CREATE TABLE tail (v int, pad text);
INSERT INTO tail SELECT i, repeat('x', 100) FROM generate_series(1, 20000) AS i;
-- 200 blocks stay, all full: with so many rows in each block, every choice of blocks counts the same rows.
DELETE FROM tail WHERE (ctid::text::point)[0] >= 200;
VACUUM (TRUNCATE off) tail;
\set ECHO queries
SELECT pg_relation_size('tail') / current_setting('block_size')::int > 300 AS empty_blocks, (SELECT max((ctid::text::point)[0]) FROM tail) AS last,
    (SELECT count(DISTINCT c) FROM (SELECT count(*) AS c FROM tail GROUP BY (ctid::text::point)[0]) AS blocks) AS sizes;
SET kde_aqp.sample_blocks = 20;
SELECT count(*) AS fits, count(*) FILTER (WHERE f.rows = (SELECT count(*) FROM tail)) AS right
  FROM generate_series(1, 30) AS seed, kde_fit('tail', 'v', 'scott', sample_rows => 1000, seed => seed) AS f;
-- Nor of several columns and of partitions.
SELECT count(*) FILTER (WHERE f.rows = (SELECT count(*) FROM tail)) AS right
  FROM generate_series(1, 10) AS seed, kde_fit('tail', ARRAY['v', 'v % 7'], 'scott', sample_rows => 1000, seed => seed) AS f;
CREATE TABLE tree (v int, pad text) PARTITION BY RANGE (v);
ALTER TABLE tree ATTACH PARTITION tail FOR VALUES FROM (0) TO (100000);
CREATE TABLE no_rows PARTITION OF tree FOR VALUES FROM (100000) TO (200000);
INSERT INTO no_rows SELECT i, repeat('x', 100) FROM generate_series(100000, 102000) AS i;
DELETE FROM no_rows;
SELECT count(*) FILTER (WHERE f.rows = (SELECT count(*) FROM tree)) AS right
  FROM generate_series(1, 10) AS seed, kde_fit('tree', 'v', 'scott', sample_rows => 1000, seed => seed) AS f;
-- Fewer blocks with rows than are to be read: every row is.
SET kde_aqp.sample_blocks = 250;
SELECT rows = (SELECT count(*) FROM tree) AS right FROM kde_fit('tree', 'v', seed => 1);
SELECT every_row_read FROM kde_densities_full WHERE relation = 'tree'::regclass;
-- No row at all.
SET kde_aqp.sample_blocks = 20;
DELETE FROM tail;
SELECT kde_fit('tree', 'v');
DROP TABLE tree;
