-- One scan reads for all densities of a table that read the same rows, and each is what its own scan would
-- have made of it. Of unlogged tables, as nothing proves what in them did not change.
\pset tuples_only
\pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS common_scan CASCADE;
CREATE SCHEMA common_scan;
SET search_path = common_scan, public;

CREATE UNLOGGED TABLE t WITH (autovacuum_enabled = false) AS
SELECT i AS id, i * 7919 % 1009 AS a, ln(1 + i % 997) AS b, round((i % 500) / 7.0, 4) AS c, nullif(i % 91, 7) / 10.0::float8 AS m,
  timestamp '2024-01-01' + i * interval '37 minutes' AS at, date '2024-01-01' + i % 300 AS day,
  (ARRAY['red', 'green', 'blue'])[1 + i % 3] AS word, i % 5 AS g, i % 2 = 0 AS even
FROM generate_series(1, 20000) AS i;
CREATE INDEX ON t (g);
VACUUM ANALYZE t;

-- What scans of every row a command takes, and the rows that all scans return to it.
CREATE VIEW scanned AS SELECT sum(seq_scan) AS scans, sum(seq_tup_read) AS rows
FROM pg_stat_xact_user_tables WHERE schemaname = 'common_scan' AND relname ~ '^(t|part.*)$';
CREATE FUNCTION scans_of(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  before scanned;
BEGIN
  SELECT * INTO before FROM scanned;
  EXECUTE command;
  RETURN (SELECT format('%s scans, %s rows', s.scans - before.scans, s.rows - before.rows) FROM scanned AS s);
END $$;
CREATE FUNCTION refresh(relation regclass) RETURNS text LANGUAGE sql AS $$
  SELECT scans_of(format('SELECT count(*) FROM kde_refresh(%L, force => true)', relation))
$$;

-- The densities of a test: what follows the table's name in kde_fit().
CREATE TABLE fits (test text, arguments text);
INSERT INTO fits SELECT 'sample', arguments FROM unnest('{
  "''a'', seed => 7",
  "''b'', seed => 7, measures => ''{m}''",
  "''c'', seed => 7, measures => ''{m,a}''",
  "''at'', seed => 7, group_by => ''word'', measures => ''{m}''",
  "''day'', seed => 7, group_by => ''g''",
  "''word'', seed => 7",
  "''a'', seed => 7, filter => ''even''",
  "''m'', seed => 7, filter => ''g = 1'', measures => ''{c}''",
  "ARRAY[''a + 1''], seed => 7",
  "ARRAY[''at::date''], seed => 7, filter => ''extract(hour FROM at::timestamptz) > 7''",
  "ARRAY[''a'', ''b'', ''word''], seed => 7",
  "''g'', seed => 7, method => ''silverman''",
  "''m'', seed => 7, sample_rows => 3000",
  "''id'', seed => 7, max_relative_error => 0.5"}'::text[]) AS arguments;
INSERT INTO fits SELECT 'cells', arguments FROM unnest('{
  "''a'', sample_rows => -1",
  "''b'', sample_rows => -1, measures => ''{m}''",
  "''c'', sample_rows => -1, measures => ''{m,a,b}''",
  "''at'', sample_rows => -1, filter => ''even'', measures => ''{c}''",
  "ARRAY[''a * 2''], sample_rows => -1, filter => ''g > 2''"}'::text[]) AS arguments;
INSERT INTO fits SELECT 'rows', arguments FROM fits WHERE test = 'cells';
INSERT INTO fits VALUES ('rows', '''day'', sample_rows => -1, group_by => ''word'', measures => ''{b}'''),
  ('rows', '''word'', sample_rows => -1, measures => ''{m,c}''');

CREATE VIEW densities AS
SELECT column_names, coalesce(filter, '') AS filter, groups, md5(density::text) AS bytes FROM kde_aqp.fitted
WHERE relation = 't'::regclass;
CREATE TABLE alone (LIKE densities);
-- Fits each by itself, then all in common; of both the scans and their rows, and the densities that differ.
CREATE FUNCTION compare(of text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM kde_drop(name, filter => d.filter) FROM kde_densities AS d WHERE d.name ~ '^t[. ]';
  RETURN QUERY SELECT format('%s alone: %s', count(*),
    scans_of(string_agg(format('SELECT kde_fit(''t'', %s)', arguments), ';'))) FROM fits WHERE test = of;
  DELETE FROM alone;
  INSERT INTO alone SELECT * FROM densities;
  RETURN QUERY SELECT format('%s in common: %s', count(*), refresh('t')) FROM densities;
  RETURN QUERY SELECT format('%s where %s is another', column_names, filter)
    FROM densities AS d NATURAL FULL JOIN alone AS a WHERE d IS NULL OR a IS NULL;
END $$;

-- ------------------------------------------------------------------------------------ the same rows
-- A table that is no larger than a sample; then a sample of its blocks, of which the last asks for more.
SELECT compare('sample');
SET kde_aqp.sample_blocks = 40;
SELECT compare('sample');
-- Buffers that threads empty, and one alone.
SET kde_aqp.threads = 4;
SELECT compare('sample');
RESET kde_aqp.threads;
-- Other seeds are other blocks.
SELECT FROM kde_fit('t', 'b', seed => 8, measures => '{m}') \g /dev/null
SELECT refresh('t');
RESET kde_aqp.sample_blocks;
-- One query of several aggregates; beside what is read by rows, all are.
SELECT compare('cells');
SELECT compare('rows');
-- Without a seed one is drawn for all.
SELECT kde_drop(name, filter => d.filter) FROM kde_densities AS d WHERE d.name ~ '^t[. ]' \g /dev/null
SELECT kde_fit('t', ARRAY[c]) FROM unnest('{a,b,c,m,g}'::text[]) AS c \g /dev/null
SET kde_aqp.sample_blocks = 40;
SELECT refresh('t') ~ '^0 scans, [1-9][0-9]{3} rows' AS read_once;
SELECT count(DISTINCT seed) FROM kde_densities_full WHERE relation = 't'::regclass;
RESET kde_aqp.sample_blocks;

-- ------------------------------------------------------------------------------- whole tables, trees
SELECT scans_of($$SELECT count(*) FROM kde_fit('t')$$);
CREATE TABLE parts (v integer, w integer, x text) PARTITION BY RANGE (v);
CREATE UNLOGGED TABLE part1 PARTITION OF parts FOR VALUES FROM (0) TO (500);
CREATE UNLOGGED TABLE part2 (x text, gone integer, w integer, v integer);
ALTER TABLE part2 DROP COLUMN gone;
ALTER TABLE parts ATTACH PARTITION part2 FOR VALUES FROM (500) TO (1000);
INSERT INTO parts SELECT i % 1000, i % 77, i % 9 FROM generate_series(1, 5000) AS i;
SELECT kde_fit('parts', c) FROM unnest('{v,w,x}'::name[]) AS c \g /dev/null
SELECT kde_fit('parts', 'w', filter => 'v > 400') \g /dev/null
SELECT refresh('parts');

-- ---------------------------------------------------------------------------- one fails, others do not
CREATE UNLOGGED TABLE part3 AS SELECT i AS a, i % 10 AS b, i::float8 AS m FROM generate_series(1, 1000) AS i;
CREATE FUNCTION try_refresh() RETURNS TABLE (column_names text[], filter text, action text, reason text) LANGUAGE plpgsql AS $$
DECLARE
  before scanned;
BEGIN
  SELECT * INTO before FROM scanned;
  RETURN QUERY SELECT r.column_names, r.filter, r.action, CASE WHEN r.action = 'failed' THEN r.reason END
    FROM kde_refresh('part3', force => true) AS r;
  RETURN QUERY SELECT NULL::text[], NULL, format('%s scans', s.scans - before.scans), NULL FROM scanned AS s;
END $$;
SELECT kde_fit('part3', 'a') \g /dev/null
SELECT kde_fit('part3', 'b', measures => '{m}') \g /dev/null
SELECT kde_fit('part3', 'm', group_by => 'b') \g /dev/null
SELECT kde_fit('part3', ARRAY['100 / (a + 1)']) \g /dev/null
SELECT kde_fit('part3', 'b', filter => '100 / (a + 2) > 0') \g /dev/null
INSERT INTO part3 SELECT i, i % 10, i FROM generate_series(1, 1000) AS i;
UPDATE part3 SET m = 'infinity' WHERE a = 7;
-- A sink's error is its own: the others go on in the same scan.
SELECT * FROM try_refresh();
-- It is left alone from then on.
SELECT action, count(*) FROM try_refresh() GROUP BY action ORDER BY action;
-- Whose error of the reading it is halves tell.
UPDATE part3 SET m = a;
SELECT action, count(*) FROM try_refresh() GROUP BY action ORDER BY action;
INSERT INTO part3 VALUES (-1, 1, 1);
SELECT * FROM try_refresh();
SELECT d.column_names, d.refresh_failures, d.refresh_error FROM kde_densities_full AS d
WHERE relation = 'part3'::regclass AND refresh_failures > 0;
-- By cells, too.
DELETE FROM part3 WHERE a < 0;
SELECT kde_drop(name, filter => d.filter) FROM kde_densities AS d WHERE d.name ~ '^part3[. ]' \g /dev/null
SELECT kde_fit('part3', c, sample_rows => -1) FROM unnest('{a,m}'::name[]) AS c \g /dev/null
SELECT kde_fit('part3', 'b', sample_rows => -1, measures => '{m}') \g /dev/null
UPDATE part3 SET m = 'infinity' WHERE a = 7;
SELECT * FROM try_refresh();
DROP SCHEMA common_scan CASCADE;
