-- Rows of kde_aqp.fitted_stretches come and go with their densities, and a refresh by what changed writes
-- those of what changed alone.
\set ECHO queries \\ \pset tuples_only on \\ \pset format unaligned
SET search_path = public;
CREATE SCHEMA stretches;
SET search_path = stretches, public;
SELECT set_config('stretches.first', nextval('kde_aqp.density_id')::text, false) \g /dev/null
CREATE VIEW fitted AS SELECT * FROM kde_aqp.fitted WHERE id > current_setting('stretches.first')::bigint;
CREATE VIEW kept AS SELECT s.*, s.xmin::text AS writer FROM kde_aqp.fitted_stretches AS s WHERE density_id > current_setting('stretches.first')::bigint;
CREATE TABLE tree (k integer, x integer, y integer, region text, pad text) PARTITION BY RANGE (k);
CREATE TABLE leaf_1 PARTITION OF tree FOR VALUES FROM (0) TO (1000);
CREATE TABLE leaf_2 PARTITION OF tree FOR VALUES FROM (1000) TO (2000);
CREATE TABLE leaf_3 PARTITION OF tree FOR VALUES FROM (2000) TO (9000);
INSERT INTO tree SELECT i, i * 7919 % 500, i, 'r' || i % 3, repeat('x', 500) FROM generate_series(0, 2999) AS i;
CREATE TABLE other AS SELECT k, x FROM tree;
VACUUM tree, other;

-- Of each density: rows, blocks in them of all that there are, and rows that were written since the last look.
CREATE TABLE seen AS SELECT density_id, leaf, first_block, writer FROM kept;
CREATE FUNCTION look() RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN
  RETURN QUERY SELECT format('%s by (%s): %s stretches of %s leaves, %s of %s blocks, %s written', f.column_names, f.groups, count(s.leaf), count(DISTINCT s.leaf),
    sum(s.end_block - s.first_block), (SELECT coalesce(sum(pg_relation_size(relid)), pg_relation_size(f.relation)) / 8192 FROM pg_partition_tree(f.relation))::integer,
    count(*) FILTER (WHERE s.leaf IS NOT NULL AND NOT EXISTS (SELECT FROM seen AS b WHERE (b.density_id, b.leaf, b.first_block, b.writer) = (s.density_id, s.leaf, s.first_block, s.writer))))
  FROM fitted AS f LEFT JOIN kept AS s ON s.density_id = f.id GROUP BY f.id, f.relation, f.column_names, f.groups ORDER BY f.id;
  RETURN QUERY SELECT format('ORPHANS: %s', count(*)) FROM kept WHERE density_id NOT IN (SELECT id FROM fitted WHERE hash_seed IS NOT NULL) HAVING count(*) > 0;
  DELETE FROM seen;
  INSERT INTO seen SELECT density_id, leaf, first_block, writer FROM kept;
END $$;
CREATE FUNCTION refresh() RETURNS SETOF text LANGUAGE sql AS $$ SELECT format('%s: %s blocks', column_names, blocks_read) FROM kde_refresh('tree', force => true) ORDER BY column_names, blocks_read $$;

SELECT FROM kde_fit('tree', 'x', sample_rows => -1, measures => '{y}', group_by => 'region');
SELECT FROM kde_fit('other', 'x', sample_rows => -1);
SELECT look();
-- A refresh of what changed leaves the others as they are.
INSERT INTO tree SELECT i, i * 7919 % 500, i, 'r' || i % 3, repeat('x', 500) FROM generate_series(3000, 3020) AS i;
SELECT refresh();
SELECT look();
UPDATE tree SET y = y + 1 WHERE k = 1500;
SELECT refresh();
SELECT look();
-- Settings leave all.
SELECT kde_set_plain_sql(name, true) FROM kde_densities WHERE name LIKE 'tree%';
SELECT kde_set_refresh('other.x', threshold => 5);
ALTER TABLE tree RENAME COLUMN region TO place;
SELECT look();
-- A refresh that is rolled back, as a whole and to a savepoint.
BEGIN;
INSERT INTO tree SELECT 4000, 1, 1, 'r1', repeat('x', 500);
SELECT refresh();
ROLLBACK;
SELECT look();
BEGIN;
SAVEPOINT s;
SELECT kde_drop('other.x');
ROLLBACK TO s;
COMMIT;
SELECT look();
-- REFRESH and VACUUM FULL write all anew, and change nothing.
CREATE FUNCTION held() RETURNS text LANGUAGE sql AS $$
  SELECT md5(string_agg(concat(leaf, first_block, end_block, density, hashes), '' ORDER BY density_id, leaf, first_block)) FROM kept $$;
SELECT set_config('stretches.before', held(), false) \g /dev/null
REFRESH MATERIALIZED VIEW kde_aqp.fitted_stretches;
VACUUM FULL kde_aqp.fitted_stretches;
REFRESH MATERIALIZED VIEW CONCURRENTLY kde_aqp.fitted_stretches;
SELECT held() = current_setting('stretches.before');
CREATE TABLE statement (query text);
INSERT INTO statement VALUES ('SELECT count(*), sum(y) FROM tree WHERE x < 77'), ('SELECT place, count(*), sum(y) FROM tree GROUP BY place'), ('SELECT max(x) FROM tree');
DELETE FROM tree WHERE k BETWEEN 1200 AND 1210;
SELECT say('answered by them');
SELECT refresh();
-- The greatest value went: the others tell.
DELETE FROM tree WHERE x = 499 AND k < 1000;
SELECT say('before');
SELECT refresh();
SELECT say('after');
SELECT look() \g /dev/null
-- Leaves that go take theirs along.
TRUNCATE leaf_1;
SELECT refresh();
SELECT look();
ALTER TABLE tree DETACH PARTITION leaf_2;
SELECT refresh();
SELECT look();
SELECT say('leaves went');
-- Another fit replaces all, and one of a sample keeps none.
SELECT FROM kde_fit('tree', 'x', sample_rows => -1, measures => '{y}', group_by => 'place');
SELECT look();
SELECT FROM kde_fit('tree', 'x', sample_rows => 500, measures => '{y}');
SELECT look();
SELECT FROM kde_fit('other', 'x', sample_rows => -1);
SELECT look();
SELECT kde_drop('tree.x by (place)'), kde_drop('tree.x');
SELECT look();
SELECT FROM kde_fit('tree', 'x', sample_rows => -1, measures => '{y}');
ALTER TABLE tree DROP COLUMN y;
SELECT look();
DROP TABLE other;
SELECT look();
SELECT count(*) FROM kept;
-- The column's own density, stored beside one by groups, is of its own columns: blocks are what they were where rows are of
-- other groups now, or moved.
CREATE TABLE moved AS SELECT i AS k, i * 7919 % 500 AS x, 'r' || i % 3 AS region, repeat('x', 500) AS pad FROM generate_series(1, 3000) AS i;
VACUUM moved;
SELECT FROM kde_fit('moved', 'x', sample_rows => -1, group_by => 'region');
SELECT kde_set_plain_sql('moved.x', true);
UPDATE moved SET region = 'r9' WHERE k % 100 = 7;
CREATE FUNCTION answered(query text) RETURNS text LANGUAGE plpgsql AS $$ DECLARE line text; BEGIN
  PERFORM kde_approximate('all');
  FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
    IF line ~ 'Answered' THEN RETURN trim(line); END IF;
  END LOOP;
END $$;
SELECT answered('SELECT count(*) FROM moved WHERE x < 77');
DROP TABLE moved;
-- Many groups in each stretch: fewer of them, which take no more than an eighth of the table. A column's own that has more is kept.
CREATE TABLE many AS SELECT i * 7919 % 500 AS x, 'group ' || i % 300 AS region, repeat('x', 1000) AS pad FROM generate_series(1, 36000) AS i;
VACUUM many;
SELECT FROM kde_fit('many', 'x', sample_rows => -1);
SELECT FROM kde_fit('many', 'x', sample_rows => -1, group_by => 'region');
CREATE FUNCTION of_many() RETURNS SETOF text LANGUAGE sql AS $$
  SELECT format('by %s: more than 40 stretches: %s, of all blocks: %s, they are small: %s', f.groups, count(*) > 40, sum(end_block - first_block) = pg_relation_size('many') / 8192,
    sum(octet_length(s.density)) < pg_relation_size('many') / 8)
  FROM fitted AS f JOIN kept AS s ON s.density_id = f.id WHERE f.relation = 'many'::regclass GROUP BY f.groups ORDER BY f.groups $$;
SELECT of_many();
-- A refresh leaves them as long.
DELETE FROM many WHERE ctid = '(1,1)';
SELECT blocks_read < pg_relation_size('many') / 8192 / 2 AS less_than_half FROM kde_refresh('many', force => true);
SELECT of_many();
DROP TABLE many;
-- Words, by their texts: each stretch ranks its own. Where some share a rank, or equal values are printed unlike, all are read.
DELETE FROM statement;
CREATE TABLE talk AS SELECT i AS k, 'word ' || i * i % 37 AS word, (i % 100 / 10.0)::numeric(8,1) AS y, repeat('x', 500) AS pad FROM generate_series(1, 3000) AS i;
VACUUM talk;
SELECT FROM kde_fit('talk', 'word', sample_rows => -1, measures => '{y}');
SELECT kde_set_plain_sql('talk.word', true);
INSERT INTO statement VALUES ('SELECT word, count(*), sum(y) FROM talk WHERE word IS NOT NULL GROUP BY word'), ('SELECT count(*), sum(y) FROM talk WHERE word = ''new''');
CREATE FUNCTION refresh_words() RETURNS SETOF text LANGUAGE sql AS $$ SELECT format('%s: %s of %s blocks', action, blocks_read, pg_relation_size('talk') / 8192) FROM kde_refresh('talk', force => true) $$;
INSERT INTO talk SELECT 3000 + i, CASE WHEN i > 20 THEN 'new' WHEN i > 10 THEN 'word 1' END, i % 10, repeat('x', 500) FROM generate_series(1, 60) AS i;
SELECT refresh_words();
SELECT say('refreshed');
DELETE FROM talk WHERE word = 'new';
UPDATE talk SET word = 'word 0', y = 5 WHERE k = 1500;
SELECT refresh_words();
SELECT say('refreshed');
-- What froze all blocks changed none of their rows.
VACUUM (FREEZE) talk;
SELECT refresh_words();
SELECT say('frozen');
-- Longer than words are kept.
INSERT INTO talk VALUES (4000, repeat('long', 300), 1, '');
SELECT refresh_words();
SELECT say('refreshed');
INSERT INTO talk VALUES (4001, 'short', 1, '');
SELECT refresh_words();
SELECT say('refreshed');
SELECT kde_drop('talk.word');
DELETE FROM statement;
CREATE TABLE document AS SELECT ('{"a": ' || i % 7 || '.0}')::jsonb AS word, repeat('x', 500) AS pad FROM generate_series(1, 3000) AS i;
VACUUM document;
SELECT FROM kde_fit('document', 'word', sample_rows => -1);
INSERT INTO document VALUES ('{"a": 1}');
SELECT action, blocks_read = pg_relation_size('document') / 8192 AS all_blocks FROM kde_refresh('document', force => true);
DROP TABLE document;
-- What is nobody's, as a catalog that was locked beside a DROP TABLE leaves it, goes with the next round.
SELECT FROM kde_fit('tree', 'x', sample_rows => -1);
ALTER EVENT TRIGGER kde_aqp_on_drop DISABLE;
DROP TABLE tree;
ALTER EVENT TRIGGER kde_aqp_on_drop ENABLE ALWAYS;
SELECT count(*) > 0 FROM kept;
SET client_min_messages = warning;
CALL kde_refresh_all();
RESET client_min_messages;
SELECT count(*) FROM kept;
DROP SCHEMA stretches CASCADE;
