-- Densities of several columns: what kde_fit records, what names them, what becomes of them under
-- RENAME, DROP and other DDL, who may see them, and what bad input gets. What they answer is tested
-- elsewhere.
\set ECHO none \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS joint_fit CASCADE;
DROP ROLE IF EXISTS regress_kde_joint, regress_kde_part, regress_kde_whole;
CREATE SCHEMA joint_fit;
GRANT USAGE, CREATE ON SCHEMA joint_fit TO PUBLIC;
SET search_path = joint_fit, public;
RESET client_min_messages;
-- sql/refresh.sql has what a stale density does.
SET kde_aqp.stale = ignore;
SET datestyle = 'ISO, YMD';

-- What is stored for this schema's tables.
CREATE VIEW stored AS
SELECT d.relation, d.column_names, d.filter, d.attribute_numbers, d.reference_names, d.reference_numbers, d.seed
FROM kde_aqp.fitted AS d JOIN pg_class AS c ON c.oid = d.relation
WHERE c.relnamespace = 'joint_fit'::regnamespace
ORDER BY d.relation::text COLLATE "C", d.column_names::text COLLATE "C", d.filter COLLATE "C";

-- Columns of several types; price follows from size, some are null.
CREATE TABLE t (gone text, size integer, price numeric(10,2), at date, note text, weight float8);
ALTER TABLE t DROP COLUMN gone;
INSERT INTO t SELECT i % 100, nullif((i % 100) * 3.5 + (i * 7919 % 1000) / 100.0, 20), date '2026-01-01' + i % 365,
  'note ' || i, sqrt(i) FROM generate_series(1, 5000) AS i;

CREATE VIEW last_fit AS SELECT * FROM kde_densities_full ORDER BY fitted_at DESC LIMIT 1;
-- ---------------------------------------------------------------------------------- what is recorded
SELECT FROM kde_fit('t', ARRAY['size', 'price'], method => 'scott', seed => 7) \g /dev/null
\set ECHO queries
SELECT relation, column_names, filter, method, array_ndims(bandwidth_matrix) AS dims, array_length(bandwidth_matrix, 1) AS d,
  rows, rows_read, sample_rows, stored_rows <= sample_rows AS thinned, bytes > 1000 AS bytes,
  abs(round(total_ms - scan_ms - select_ms - estimate_ms)) AS rest, seed FROM last_fit;
SELECT requested_method, requested_exact, requested_sample_rows, rows_read, seed, array_length(bandwidth_matrix, 1) AS d,
  stored_rows > 1000 AS stored
FROM kde_aqp.fitted WHERE relation = 't'::regclass;
-- The sample is as large as was asked for.
SELECT FROM kde_fit('t', ARRAY['size', 'price', 'weight'], method => 'scott', sample_rows => 1000, seed => 1) \g /dev/null
SELECT sample_rows, rows FROM last_fit;
-- By blocks, rows are extrapolated: a table of some 60 blocks, of which 20 are read.
SET kde_aqp.sample_blocks = 20;
SELECT rows_read < 3000 AS few, abs(rows / 5000 - 1) < 0.1 AS rows_close FROM kde_fit('t', ARRAY['size', 'weight'], method => 'scott', seed => 1);
RESET kde_aqp.sample_blocks;
SELECT column_names, attribute_numbers, seed FROM stored;

-- ------------------------------------------------------------------------------------------ identity
-- The set of columns names a density, not their order: a second fit replaces the first. Names may be
-- written as in a query; what is exactly a column's name is that column.
SELECT name FROM kde_fit('t', ARRAY['price', 'size'], method => 'scott', seed => 8);
SELECT name FROM kde_fit('t', ARRAY['t.price', 'Size'], method => 'scott', seed => 9);
SELECT column_names, seed FROM stored WHERE column_names @> ARRAY['price', 'size'];
ALTER TABLE t ADD COLUMN "size + 1" integer DEFAULT 3;
UPDATE t SET "size + 1" = size * size;
SELECT name, rows FROM kde_fit('t', ARRAY['size + 1', 'size  + 1'], method => 'scott', seed => 10);
SELECT column_names, attribute_numbers, reference_names, reference_numbers FROM stored WHERE 0 = ANY (attribute_numbers);
SELECT kde_drop('t (size + 1, "size + 1 ")');
ALTER TABLE t DROP COLUMN "size + 1";
SELECT count(*) FROM stored;
-- An array of one is the density of a column.
SELECT name, model, rows FROM kde_fit('t', ARRAY['weight'], method => 'plugin', seed => 1);
SELECT kde_density('t', ARRAY['weight'])::text = kde_density('t.weight')::text AS same;
SELECT kde_drop('t.weight');
-- Overloads: a literal without a type is a name.
SELECT try($$SELECT name FROM kde_fit('t', '{size,price}')$$);
PREPARE fit(regclass, text[]) AS SELECT name FROM kde_fit($1, $2, method => 'scott');
EXECUTE fit('t', '{size,price}');
DEALLOCATE fit;

-- ------------------------------------------------------------------------------------------ lifecycle
ALTER TABLE t RENAME COLUMN size TO width;
SELECT column_names, attribute_numbers FROM stored;
-- Two columns that swap their names.
ALTER TABLE t RENAME COLUMN width TO x;
ALTER TABLE t RENAME COLUMN price TO width;
ALTER TABLE t RENAME COLUMN x TO price;
SELECT column_names, attribute_numbers FROM stored;
ALTER TABLE t RENAME COLUMN price TO size;
ALTER TABLE t RENAME COLUMN width TO price;
BEGIN;
ALTER TABLE t DROP COLUMN note;
SELECT count(*) AS all_there FROM stored;
ALTER TABLE t DROP COLUMN weight;
SELECT column_names FROM stored;
ROLLBACK;
BEGIN;
SELECT kde_drop('t (weight, price, size)');
SELECT count(*) FROM stored;
SELECT try($$SELECT kde_drop('t (weight, price, size)')$$);
SELECT kde_drop('t (weight, price, size)', if_exists => true);
ROLLBACK;
SELECT count(*) FROM stored;
-- What a backend has at hand is what its transaction sees, in whatever order columns are named.
CREATE TABLE seen AS SELECT kde_density('t', ARRAY['size', 'price'])::text AS d;
BEGIN;
SELECT rows FROM kde_fit('t', ARRAY['size', 'price'], method => 'scott', sample_rows => 500, seed => 2);
SELECT kde_density('t', ARRAY['price', 'size'])::text = d AS same FROM seen;
SAVEPOINT s;
SELECT kde_drop('t (price, size)');
SELECT try($$SELECT kde_density('t', ARRAY['size', 'price'])$$);
ROLLBACK TO s;
SELECT kde_density('t', ARRAY['size', 'price'])::text = d AS same FROM seen;
ROLLBACK;
SELECT kde_density('t', ARRAY['price', 'size'])::text = d AS same FROM seen;
-- A row that comes by SQL gets this table's numbers.
CREATE TABLE saved AS SELECT d.* FROM kde_aqp.fitted AS d WHERE d.relation = 't'::regclass;
SELECT count(kde_drop(name, filter => filter)) AS dropped FROM kde_densities_full WHERE relation = 't'::regclass;
UPDATE saved SET attribute_numbers = array_fill(1::smallint, ARRAY[cardinality(attribute_numbers)]);
INSERT INTO kde_aqp.density SELECT * FROM saved;
SELECT column_names, attribute_numbers FROM stored;
-- One that speaks of a column that is not there, or is no key at all, is not taken in.
UPDATE saved SET column_names[1] = 'gone';
INSERT INTO kde_aqp.density SELECT * FROM saved ORDER BY column_names LIMIT 1;
UPDATE saved SET column_names = '{}', attribute_numbers = '{}';
INSERT INTO kde_aqp.density SELECT * FROM saved LIMIT 1;
UPDATE saved SET column_names = '{{size,price}}', attribute_numbers = '{2,3}';
INSERT INTO kde_aqp.density SELECT * FROM saved LIMIT 1;
-- Partitions whose columns have other numbers: the same rows, the same density.
CREATE TABLE parts (size integer, price numeric(10,2), weight float8) PARTITION BY RANGE (size);
CREATE TABLE parts_low PARTITION OF parts FOR VALUES FROM (0) TO (50);
CREATE TABLE parts_high (weight float8, gone text, price numeric(10,2), size integer);
ALTER TABLE parts_high DROP COLUMN gone;
ALTER TABLE parts ATTACH PARTITION parts_high FOR VALUES FROM (50) TO (100);
INSERT INTO parts SELECT size, price, weight FROM t ORDER BY size;
CREATE TABLE whole AS SELECT * FROM parts;
SELECT rows, rows_read FROM kde_fit('parts', ARRAY['size', 'price', 'weight * 2'], method => 'scott', seed => 1);
SELECT rows, rows_read FROM kde_fit('whole', ARRAY['size', 'price', 'weight * 2'], method => 'scott', seed => 1);
SELECT count(DISTINCT bandwidth_matrix) AS same FROM kde_aqp.fitted WHERE relation IN ('parts'::regclass, 'whole'::regclass);
SELECT kde_density('parts', ARRAY['size', 'price', 'weight * 2'])::text
  = kde_density('whole', ARRAY['weight * 2', 'price', 'size'])::text AS same;
-- Tables go with their densities.
DROP TABLE parts, whole;
SELECT relation, column_names FROM stored WHERE relation <> 't'::regclass;
SELECT count(*) FROM kde_aqp.fitted WHERE NOT EXISTS (SELECT FROM pg_class WHERE oid = relation);

-- ----------------------------------------------------------------------------------------- privileges
CREATE ROLE regress_kde_joint;
CREATE ROLE regress_kde_part;
CREATE ROLE regress_kde_whole;
ALTER TABLE t OWNER TO regress_kde_joint;
SELECT rows FROM kde_fit('t', ARRAY['size + 1', 'weight'], method => 'scott', seed => 1);
GRANT SELECT (price, weight) ON t TO regress_kde_part;
GRANT SELECT ON t TO regress_kde_whole;
CREATE FUNCTION readable() RETURNS SETOF text LANGUAGE sql AS $$
  SELECT column_names::text FROM kde_densities_full WHERE relation = 'joint_fit.t'::regclass ORDER BY column_names::text COLLATE "C" $$;
SET ROLE regress_kde_whole;
SELECT readable();
SELECT try($$SELECT kde_density('t', ARRAY['price', 'size']) IS NOT NULL$$);
SELECT try($$SELECT kde_fit('t', ARRAY['size', 'price'])$$);
SELECT try($$SELECT kde_drop('t (size, price)')$$);
SET ROLE regress_kde_part;
SELECT readable();
SELECT try($$SELECT kde_density('t', ARRAY['price', 'size']) IS NOT NULL$$);
SELECT try($$SELECT kde_density('t', ARRAY['weight', 'size + 1']) IS NOT NULL$$);
SELECT try($$SELECT kde_density('t', ARRAY['weight', 'price'])$$);
RESET ROLE;

-- ------------------------------------------------------------------------------------------ bad input
SELECT try($$SELECT kde_fit('t', ARRAY['size', 'price', 'size'])$$);
SELECT try($$SELECT kde_fit('t', ARRAY['size', '(size)'])$$);
SELECT try($$SELECT kde_fit('t', ARRAY['size+1', ' size + 1'])$$);
SELECT try($$SELECT kde_fit('t', ARRAY[]::text[])$$);
SELECT try($$SELECT kde_fit('t', NULL::text[])$$);
SELECT try($$SELECT kde_fit('t', ARRAY['size', NULL])$$);
SELECT try($$SELECT kde_fit('t', ARRAY[['size', 'price']])$$);
SELECT try($$SELECT kde_fit('t', (SELECT array_agg('size + ' || i) FROM generate_series(1, 17) AS i))$$);
SELECT try($$SELECT kde_fit('t', ARRAY['size', 'nothing'])$$);
SELECT try($$SELECT kde_fit('t', ARRAY['size', 'note'], method => 'lscv')$$);
SELECT try($$SELECT kde_fit('t', ARRAY['note', 'left(note, 1)'])$$);
SELECT try($$SELECT kde_fit('t', ARRAY['size', 'ctid'])$$);
SELECT try($$SELECT kde_fit('t', ARRAY['size', ''])$$);
SELECT try($$SELECT kde_fit('t', ARRAY['size', 'price'], method => 'plugin')$$);
SELECT try($$SELECT kde_fit('t', ARRAY['size', 'price'], sample_rows => -1)$$);
SELECT try($$SELECT kde_fit('t', ARRAY['size', 'price'], sample_rows => 1)$$);
SELECT try($$SELECT kde_fit('t', ARRAY['size', 'price'], sample_rows => 1000000000000)$$);
SELECT try($$SELECT kde_fit(0, ARRAY['size', 'price'])$$);
SELECT try($$SELECT kde_drop('t (size, nothing)')$$);
SELECT try($$SELECT kde_density('t', ARRAY['at', 'size'])$$);
SELECT try($$SELECT kde_density('t', ARRAY['at', 'size'], 'size > 1')$$);
-- A column in the way is named, and so is what is too little.
\set VERBOSITY sqlstate
SELECT kde_fit('t', ARRAY['weight', 'size - size'], method => 'scott');
SELECT try($$SELECT kde_fit('t', ARRAY['price', 'weight', 'price * 2'], method => 'scott')$$);
CREATE TABLE few AS SELECT i AS a, i % 3 AS b FROM generate_series(1, 5) AS i;
SELECT kde_fit('few', ARRAY['a', 'b'], method => 'lscv_matrix');
TRUNCATE few;
SELECT kde_fit('few', ARRAY['a', 'b']);
\set VERBOSITY default
-- Options.
SHOW kde_aqp.joint_bytes;
SET kde_aqp.joint_bytes = '64kB';
SELECT FROM kde_fit('t', ARRAY['size', 'price', 'weight', 'size * weight', 'price * weight'], method => 'scott', seed => 1) \g /dev/null
SELECT bytes <= 65536 AS bytes, stored_rows < sample_rows AS thinned FROM last_fit;
RESET kde_aqp.joint_bytes;

SET client_min_messages = warning;
DROP SCHEMA joint_fit CASCADE;
DROP ROLE regress_kde_joint, regress_kde_part, regress_kde_whole;
