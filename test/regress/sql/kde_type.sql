-- The type kde: text and binary forms, what both refuse, its size, its life in a table.
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS kde_type CASCADE;
CREATE SCHEMA kde_type;
SET search_path = kde_type, public;
RESET client_min_messages;

-- Three atoms, and two cells that share the interval [-1, 1], by hand.
CREATE TABLE literals (name text, density text);
INSERT INTO literals VALUES
('atoms', 'kde/2 kernel=gaussian type=integer method=plugin flags=7 rows=60 nulls=5 nans=0 negative_infinities=0 positive_infinities=0 sample_rows=60 bandwidth=0.25 lattice_step=1 lattice_offset=0 lattice_scale=0 min=0 max=2 mean=1 variance=0.5 cell_rows=0 row_unit=0 error=0 rows_variance=0 end_variance=0 mean_error=0 known_below=-inf known_above=inf two_ends=[1,0.5,0.25,1,1,1,1,2] above=[1,1,1,1,1,1,1,1] below=[0,0,0,0,0,0,0,0] atoms=[0:20,1:40,2:60] blocks=[]'),
('cells', 'kde/2 kernel=gaussian type=double_precision method=silverman flags=5 rows=100 nulls=0 nans=0 negative_infinities=0 positive_infinities=0 sample_rows=100 bandwidth=0.125 lattice_step=0 lattice_offset=0 lattice_scale=0 min=-1 max=1 mean=0 variance=0.25 cell_rows=100 row_unit=1 error=0 rows_variance=0 end_variance=0 mean_error=0 known_below=-inf known_above=inf two_ends=[1,0.5,0.25,1,1,1,1,2] above=[1,1,1,1,1,1,1,1] below=[0,0,0,0,0,0,0,0] atoms=[] blocks=[-4607182418800017408:0:52:10:0:6:ranges(1023:50,1023:50)]');

-- ----------------------------------------------------------------------------------------- text
SELECT name, density::kde::text = density AS same FROM literals;
SELECT approx_count(density::kde, 1, 2) AS count, approx_sum(density::kde) AS sum, kde_cdf(density::kde, 0) AS cdf,
  approx_quantile(density::kde, 0.5) AS median FROM literals WHERE name = 'atoms';
SELECT approx_count(density::kde, -1, 0.5) AS count, approx_quantile(density::kde, 0.5) AS median,
  round(kde_pdf(density::kde, 0)::numeric, 6) AS middle, approx_avg(density::kde) AS avg FROM literals WHERE name = 'cells';
-- A mean of 0 of a sample has no relative error; a sum whose interval overflows has an infinite one.
SELECT approx_avg(density::kde, -0.5, 0.5, max_relative_error => 1) FROM literals WHERE name = 'cells';
SELECT approx_sum(replace(replace(density, 'max=1 ', 'max=1.7e308 '), ':52:10:0:6:ranges(1023:50,1023:50)', ':52:11:0:6:ranges(1023:50,2046:50)')::kde, 0, 1.7e308, max_relative_error => 1)
FROM literals WHERE name = 'cells';
SELECT * FROM kde_info((SELECT density::kde FROM literals WHERE name = 'atoms'));
-- Any white space between fields.
SELECT name, (E'\n ' || replace(density, ' ', E' \t\r\n') || E'\n')::kde::text = density AS same FROM literals;

CREATE FUNCTION read(input text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  message text;
  detail text;
BEGIN
  PERFORM input::kde;
  RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
  RETURN SQLSTATE || ' ' || message || ': ' || detail;
END $$;
SELECT input, read(input) FROM unnest(ARRAY['', ' ', 'x', 'kde', 'kde/', 'kde/3 kernel=gaussian', 'kde/2', 'kde/2 kernel=',
  'kde/2 kernel=gaussian type=integer method=plugin', '{}', 'NaN']) AS input;
-- One part replaced at a time.
SELECT name, old, new, read(replace(density, old, new)) FROM literals JOIN (VALUES
  ('atoms', 'kde/2', 'kde/0'), ('atoms', 'gaussian', 'triangle'), ('atoms', 'integer', 'text'),
  ('atoms', 'plugin', 'auto'), ('atoms', 'plugin', 'magic'), ('atoms', 'flags=7', 'flags=8'), ('atoms', 'flags=7', 'flags=256'),
  ('atoms', 'flags=7', 'flags=-1'), ('atoms', 'bandwidth=0.25', 'bandwidth=0.25.5'),
  ('atoms', 'rows=60 nulls', 'rows=-60 nulls'), ('atoms', 'rows=60 nulls', 'rows=61 nulls'), ('atoms', 'rows=60 nulls', 'rows=nan nulls'),
  ('atoms', 'rows=60 nulls', 'rows=1e999 nulls'), ('atoms', 'rows=60 nulls', 'rows=0x3c nulls'), ('atoms', 'rows=60 nulls', 'rows= 60 nulls'),
  ('atoms', 'nulls=5', 'nulls=inf'), ('atoms', 'nulls=5', ''), ('atoms', 'nulls=5', 'nulls=5 nulls=5'), ('atoms', 'nulls=5', 'Nulls=5'),
  ('atoms', 'nans=0', 'nans=61'), ('atoms', 'bandwidth=0.25', 'bandwidth=-1'), ('atoms', 'sample_rows=60', 'sample_rows=0.5'),
  ('atoms', 'sample_rows=60', 'sample_rows=0'), ('atoms', 'nulls=5', 'nulls=1e61'), ('atoms', 'rows_variance=0', 'rows_variance=1e31'),
  ('cells', 'rows=100 nulls=0 nans=0', 'rows=1e10 nulls=0 nans=1e10'), ('cells', 'sample_rows=100', 'sample_rows=0'),
  ('atoms', 'lattice_step=1', 'lattice_step=1e-300'), ('atoms', 'min=0', 'min=1.5'), ('atoms', 'max=2', 'max=1'), ('atoms', 'mean=1 ', 'mean=3 '),
  ('atoms', 'variance=0.5', 'variance=-0.5'), ('atoms', 'cell_rows=0', 'cell_rows=1'), ('atoms', ' error=0', ' error=2'),
  ('atoms', 'rows_variance=0', 'rows_variance=-1'), ('atoms', 'rows_variance=0', 'rows_variance=inf'), ('atoms', 'end_variance=0', 'end_variance=nan'),
  ('atoms', 'known_below=-inf', 'known_below=nan'), ('atoms', 'known_above=inf', 'known_above=-inf'),
  ('atoms', 'known_below=-inf known_above=inf', 'known_below=2 known_above=1'),
  ('atoms', 'above=[1', 'above=[-1'), ('atoms', 'above=[1', 'above=[nan'), ('atoms', 'above=[1,', 'above=['), ('atoms', 'above=[1', 'above=[1,1'),
  ('atoms', '[0:20,1:40,2:60]', '[]'), ('atoms', '[0:20,1:40,2:60]', '[0:20,1:40,2:60'), ('atoms', '[0:20,1:40,2:60]', '[0:20,1:40,2:60,]'),
  ('atoms', '1:40,', '1:20,'), ('atoms', '1:40,', '0:40,'), ('atoms', '1:40,', '1:40:1,'), ('atoms', '1:40,', '1:inf,'),
  ('atoms', '0:20,1:40', '1:20,0:40'), ('atoms', '2:60]', '3:60]'), ('atoms', 'blocks=[]', 'blocks=[] x'), ('atoms', 'blocks=[]', 'blocks=[]]'),
  ('atoms', 'blocks=[]', ''), ('atoms', 'blocks=[]', 'blocks=[0:0:0]'), ('atoms', 'lattice_scale=0', 'lattice_scale=nan'),
  ('atoms', 'lattice_scale=0', 'lattice_scale=0.5'), ('atoms', 'lattice_scale=0', ''),
  ('cells', '1023:50,1023:50', '1023:50,1023:49'), ('cells', '1023:50,1023:50', '1023:50'), ('cells', '1023:50,1023:50', '1024:50,1023:50'),
  ('cells', '1023:50,1023:50', '2046:100'), ('cells', '1023:50,1023:50', '1023:50,0:50'), ('cells', '1023:50,1023:50', '1023:50,1023@50'),
  ('cells', '1023:50,1023:50', '1023:50,1023:64'), ('cells', ':52:10', ':63:10'), ('cells', ':52:10', ':52:64'), ('cells', ':0:6:', ':50:6:'),
  ('cells', 'ranges', 'heaps'), ('cells', '-4607182418800017408', '-9223372036854775808'), ('cells', '408:0:52', '408:1:52'),
  ('cells', 'row_unit=1', 'row_unit=0'), ('cells', 'cell_rows=100', 'cell_rows=99'), ('cells', 'atoms=[]', 'atoms=[-1e9:5]')) AS v(name, old, new)
  USING (name) ORDER BY name, old COLLATE "C", new COLLATE "C";
-- Too much of everything.
SELECT name, old, read(replace(density, old, new)) FROM literals JOIN (VALUES
  ('atoms', '[0:20', '[0:' || repeat('1', 5000)),
  ('cells', ')]', (SELECT ')' || string_agg(',4607182418800017408:100:0:1:0:1:points(0@0)', '') || ']' FROM generate_series(1, 700))),
  ('cells', '1023:50)', repeat('0@0,', 70) || '1023:50)'),
  ('atoms', '0:20,', (SELECT string_agg(i / 1e4 || ':' || i / 1e4, ',') || ',' FROM generate_series(1, 1100) AS i))) AS v(name, old, new) USING (name)
ORDER BY name, old COLLATE "C";
-- Nothing is too short: every prefix is refused (but for white space, there is none at the end).
SELECT name, count(*) = length(density) AS all_refused FROM literals, generate_series(0, length(density) - 1) AS n
WHERE read(left(density, n)) LIKE '22P02 %' GROUP BY name, density ORDER BY name;

-- --------------------------------------------------------------------------------------- binary
-- A bytea through the type's binary input.
CREATE TABLE received (d kde);
SELECT name, kde_aqp.kde_send(density::kde) FROM literals;
CREATE TABLE wire AS SELECT name, kde_aqp.kde_send(density::kde) AS b FROM literals;
SELECT receive(b) FROM wire WHERE name = 'atoms';
SELECT d::text = density AS same FROM received, literals WHERE name = 'atoms';
SELECT receive(b) FROM wire WHERE name = 'cells';
SELECT d::text = density AS same FROM received, literals WHERE name = 'cells';
-- One field replaced at a time: byte offset and new bytes.
SELECT name, at, bytes, receive(overlay(b PLACING bytes::bytea FROM at + 1)) FROM wire JOIN (VALUES
  ('atoms', 0, '\x00'), ('atoms', 0, '\x01'), ('atoms', 0, '\x03'), ('atoms', 0, '\xff'), ('atoms', 1, '\x00'), ('atoms', 2, '\x05'), ('atoms', 2, '\x06'), ('atoms', 3, '\x80'),
  ('atoms', 4, '\x0c'), ('atoms', 5, '\x00'), ('atoms', 5, '\x08'), ('atoms', 6, '\x01'), ('atoms', 11, '\x01'), ('atoms', 12, '\x00000002'),
  ('atoms', 12, '\x00000004'), ('atoms', 12, '\xffffffff'), ('atoms', 12, '\x10000003'), ('atoms', 16, '\x00000001'), ('atoms', 16, '\x00000002'),
  ('atoms', 16, '\xffffffff'), ('atoms', 20, '\x7ff8000000000000'), ('atoms', 20, '\xc04e000000000000'), ('atoms', 28, '\x7ff0000000000000'),
  ('atoms', 84, '\x7ff0000000000000'), ('atoms', 124, '\xbff0000000000000'), ('atoms', 164, '\xbff0000000000000'), ('atoms', 172, '\xbff0000000000000'), ('atoms', 180, '\x7ff8000000000000'),
  ('atoms', 196, '\x7fc00000'), ('atoms', 288, '\xbf800000'), ('atoms', 292, '\x7ff8000000000000'), ('atoms', 316, '\xbff0000000000000'),
  ('cells', 16, '\x00000000'), ('cells', 16, '\x00000002'), ('cells', 132, '\x0000000000000000'), ('cells', 140, '\x0000000000000000'),
  ('cells', 292, '\x8000000000000000'), ('cells', 300, '\x7ff8000000000000'), ('cells', 308, '\xffff'), ('cells', 310, '\x40'), ('cells', 311, '\x3f'),
  ('cells', 312, '\x40'), ('cells', 313, '\x36'), ('cells', 314, '\x03'), ('cells', 315, '\x30'), ('cells', 316, '\xffffffffffffffff')) AS v(name, at, bytes)
  USING (name) ORDER BY name, at, bytes COLLATE "C";
-- Cut short anywhere, or with a byte too much.
SELECT name, count(*) AS bytes, bool_and(receive(substr(b, 1, n)) LIKE '22P03 %') AS all_refused
FROM wire, generate_series(0, length(b) - 1) AS n WHERE n % 8 IN (0, 3) GROUP BY name ORDER BY name;
SELECT name, receive(b || '\x00') FROM wire ORDER BY name;

-- ----------------------------------------------------------------------------- fitted densities
-- Round trips of what fits make, at most 16 KB of it (a heavy tail needs many cells), and stored to a
-- row of the sample, to what a summary joins and to what 16 KB leave.
CREATE TABLE data AS
SELECT x, tan(pi() * (x - 0.5)) AS cauchy, exp(-2 * ln(x)) * sin(1e5 * x) AS wild, (1e4 * x)::integer AS whole, (i % 400)::numeric AS repeated,
  CASE i % 7 WHEN 0 THEN 'NaN' WHEN 1 THEN 'infinity' WHEN 2 THEN NULL ELSE x END::float8 AS special
FROM (SELECT i, ((i * 2654435769) % 4294967296)::float8 / 4294967296 AS x FROM generate_series(1::bigint, 20000) AS i) AS v;
CREATE TABLE fitted AS
SELECT attname AS name, NULL::kde AS d, NULL::kde AS again FROM pg_attribute WHERE attrelid = 'data'::regclass AND attnum > 0;
SELECT name, rows FROM fitted, kde_fit('data', name, sample_rows => 5000, seed => 1) AS f(density) ORDER BY name COLLATE "C";
UPDATE fitted SET d = kde_density('data', name);
SELECT name, pg_column_size(d) <= 16384 AS small, bytes <= 16384 AS also, representation_error <= 1.0 / sample_rows + 2.8 / 65536 + 1e-4 AS good,
  d::text::kde::text = d::text AS text, kde_aqp.kde_send(d::text::kde) = kde_aqp.kde_send(d) AS bytes_of_text, receive(kde_aqp.kde_send(d)) AS binary
FROM fitted, kde_info(d) ORDER BY name COLLATE "C";
CREATE FUNCTION through_binary(d kde) RETURNS kde LANGUAGE plpgsql AS $$
BEGIN
  IF receive(kde_aqp.kde_send(d)) <> 'accepted' THEN RETURN NULL; END IF;
  RETURN (SELECT r.d FROM received AS r);
END $$;
UPDATE fitted SET again = through_binary(d);
SELECT name, again::text = d::text AS same,
  approx_sum(again, 0.1, 1.7) IS NOT DISTINCT FROM approx_sum(d, 0.1, 1.7) AS sum, kde_pdf(again, 0.3) = kde_pdf(d, 0.3) AS pdf
FROM fitted ORDER BY name COLLATE "C";
-- Every kernel, in both forms; without its flag of being bounded the density beside an atom is a third of the
-- kernel's.
SELECT kernel, (kde_info(d)).kernel AS shown, d::text = t AS text, through_binary(d)::text = t AS binary, round(kde_pdf(d, 1.0625)::numeric, 6) AS pdf
FROM unnest(ARRAY['gaussian', 'epanechnikov', 'biweight', 'triangular', 'uniform', 'cosine']) WITH ORDINALITY AS k(kernel, number),
  LATERAL (SELECT replace(replace(density, 'gaussian', kernel), 'flags=7', 'flags=6') FROM literals WHERE name = 'atoms') AS l(t), LATERAL (SELECT t::kde) AS v(d) ORDER BY number;

-- ----------------------------------------------------------------------------------- in a table
-- NULL, arrays, composite and subquery values, toast, and aggregates over answers.
CREATE TABLE shelf (id serial, d kde, ds kde[]);
INSERT INTO shelf (d, ds) SELECT d, ARRAY[d, NULL, d] FROM fitted ORDER BY name COLLATE "C";
INSERT INTO shelf (d) VALUES (NULL);
ALTER TABLE shelf ALTER COLUMN d SET STORAGE plain;
INSERT INTO shelf (d) SELECT density::kde FROM literals WHERE name = 'atoms';
ALTER TABLE shelf ALTER COLUMN d SET STORAGE external;
INSERT INTO shelf (d) SELECT d FROM fitted WHERE name = 'cauchy';
SELECT count(*), count(d), count(approx_count(d, 0, 1)) AS answered, count(approx_avg(ds[2])) AS of_nulls,
  sum(approx_count(d, NULL, NULL)) AS rows, bool_and(ds IS NULL OR ds[1]::text = ds[3]::text) AS arrays FROM shelf;
SELECT max(approx_count(d)) - min(approx_count(d)) AS spread FROM (SELECT d FROM shelf OFFSET 0) AS s;
SELECT (kde_info(d)).method, count(*) FROM shelf GROUP BY 1 ORDER BY 1;
SELECT (SELECT d FROM shelf WHERE id = 1)::text = (SELECT d FROM fitted WHERE name = 'cauchy')::text AS toasted;
SELECT count(*) FROM shelf WHERE d::text IN (SELECT d::text FROM fitted WHERE name = 'cauchy');
CREATE MATERIALIZED VIEW kept AS SELECT id, d FROM shelf WHERE d IS NOT NULL;
SELECT sum(approx_count(d)) = (SELECT sum(approx_count(d)) FROM shelf) AS same FROM kept;
SELECT typlen, typbyval, typalign, typstorage FROM pg_type WHERE typname = 'kde';

-- ------------------------------------------------------------------------ equal, sorted and hashed
-- Equal is what was stored alike, wherever it lies: six densities, each compressed, apart and as text gives it.
CREATE TABLE bag (n serial, d kde);
INSERT INTO bag (d) SELECT d FROM fitted;
ALTER TABLE bag ALTER COLUMN d SET STORAGE external;
INSERT INTO bag (d) SELECT d FROM fitted;
INSERT INTO bag (d) SELECT d::text::kde FROM fitted;
INSERT INTO bag (d) VALUES (NULL), (NULL);
SELECT count(*), count(d), count(DISTINCT d) FROM bag;
SET enable_hashagg = off;
EXPLAIN (COSTS OFF) SELECT DISTINCT d FROM bag;
SELECT count(*) FROM (SELECT DISTINCT d FROM bag) AS s;
SELECT count(*), min(n), max(n) FROM (SELECT d, count(*) AS n FROM bag WHERE d IS NOT NULL GROUP BY d) AS s;
SELECT count(*) FROM (SELECT d FROM bag UNION SELECT again FROM fitted) AS s;
RESET enable_hashagg;
SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT DISTINCT d FROM bag;
SELECT count(*) FROM (SELECT DISTINCT d FROM bag) AS s;
SELECT count(*), min(n), max(n) FROM (SELECT d, count(*) AS n FROM bag WHERE d IS NOT NULL GROUP BY d) AS s;
SELECT count(*) FROM (SELECT d FROM bag UNION SELECT again FROM fitted) AS s;
RESET enable_sort;
SELECT count(*) FROM (SELECT d FROM bag EXCEPT SELECT d FROM fitted WHERE name < 'd') AS s;
SELECT count(*) FROM (SELECT d FROM bag INTERSECT SELECT d FROM fitted WHERE name < 'd') AS s;
SELECT count(*) FROM bag WHERE d IN (SELECT d FROM fitted WHERE name < 'd');
SELECT count(*) FILTER (WHERE d IS DISTINCT FROM NULL) AS known, count(*) FILTER (WHERE d = NULL) AS equal_to_null FROM bag;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT count(*) AS merged FROM bag JOIN fitted USING (d);
RESET enable_hashjoin;
SET enable_mergejoin = off;
SELECT count(*) AS hashed FROM bag JOIN fitted USING (d);
RESET enable_nestloop;
RESET enable_mergejoin;
-- A hash index holds values of any size, and hash partitions take them.
CREATE INDEX ON bag USING hash (d);
SET enable_seqscan = off;
SELECT count(*) FROM bag WHERE d = (SELECT d FROM fitted WHERE name = 'cauchy');
RESET enable_seqscan;
CREATE TABLE parted (d kde) PARTITION BY HASH (d);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parted SELECT d FROM bag;
SELECT sum(n) AS rows, sum(distincts) AS distincts FROM
  (SELECT count(*) AS n, count(DISTINCT d) AS distincts FROM parted GROUP BY tableoid) AS s;
-- The operators agree with each other, the order is total, and equal values hash alike.
SELECT count(*) AS pairs, count(*) FILTER (WHERE a.d = b.d) AS equal,
  bool_and((a.d <> b.d) = NOT (a.d = b.d)) AS ne, bool_and((a.d < b.d) = (b.d > a.d)) AS lt, bool_and((a.d <= b.d) = (b.d >= a.d)) AS le,
  bool_and((a.d <= b.d) = NOT (a.d > b.d)) AS total, bool_and(sign(kde_aqp.kde_cmp(a.d, b.d)) = (a.d > b.d)::integer - (a.d < b.d)::integer) AS cmp,
  bool_and((a.d = b.d) = (kde_aqp.kde_cmp(a.d, b.d) = 0)) AS cmp_equal,
  bool_and((a.d = b.d) = (a.d::text = b.d::text)) AS as_text,
  bool_and((a.d = b.d) = (kde_aqp.kde_hash(a.d) = kde_aqp.kde_hash(b.d))) AS hash,
  bool_and((a.d = b.d) = (kde_aqp.kde_hash_extended(a.d, 7) = kde_aqp.kde_hash_extended(b.d, 7))) AS hash_extended
FROM bag AS a, bag AS b;
SELECT count(*) FROM bag AS a, bag AS b, bag AS c WHERE a.d <= b.d AND b.d <= c.d AND NOT a.d <= c.d;
SELECT bool_and(kde_aqp.kde_hash_extended(d, 0) & 4294967295 = kde_aqp.kde_hash(d)::bigint & 4294967295) AS seed_0,
  bool_and(kde_aqp.kde_hash_extended(d, 1) <> kde_aqp.kde_hash_extended(d, 0)) AS seeded FROM fitted;
-- Stored otherwise is another value, though it answers alike.
SELECT density::kde = density::kde AS itself, density::kde = replace(density, 'mean=0 ', 'mean=-0 ')::kde AS minus_zero
FROM literals WHERE name = 'smooth';
-- What a row is found by under REPLICA IDENTITY FULL.
SELECT amname, opcdefault FROM pg_opclass JOIN pg_am ON pg_am.oid = opcmethod WHERE opcintype = 'kde'::regtype ORDER BY amname;

-- ------------------------------------------------------------------------------- a name is no value
-- An untyped literal is a value to functions that take no name.
SELECT kde_aqp.kde_to_json('sales.amount');
SELECT kde_aqp.kde_to_json('"My Schema"."T".col');
SELECT kde_aqp.kde_to_json('O''Brien.x');
SELECT kde_aqp.kde_to_json('sales');
SELECT kde_aqp.kde_to_json('kde/2 a.b');

-- ------------------------------------------------------------------------- anykde: a name or a value
CREATE TABLE sales AS SELECT i * 0.37 AS amount, i % 7 AS quantity, i % 13 AS "My Col", 'EU' AS region
FROM generate_series(1, 500) AS i;
SELECT rows FROM kde_fit('sales', 'amount');
SELECT rows FROM kde_fit('sales', ARRAY['amount', 'quantity']);
SELECT rows FROM kde_fit('sales', ARRAY['My Col', 'quantity * 2']);
-- By name: a column, or columns and expressions in any order, quoted and spaced as SQL is.
SELECT (kde_info('sales.amount')).kind, (kde_info('kde_type.sales.AMOUNT')).kind, (kde_info('sales (amount)')).kind;
SELECT (kde_info('sales (amount, quantity)')).kind, (kde_info('"sales" ( QUANTITY,"amount" ) ')).kind,
  (kde_info('sales (quantity*2, "My Col")')).kind;
SELECT count(*) FROM kde_points('sales.amount', 5);
CREATE TABLE "t(1), (2)" AS SELECT i AS "c(3), ""4""", -i AS "Words" FROM generate_series(1, 50) AS i;
SELECT rows FROM kde_fit('"t(1), (2)"', 'c(3), "4"');
SELECT rows FROM kde_fit('"t(1), (2)"', ARRAY['c(3), "4"', 'Words']);
SELECT (kde_info('"t(1), (2)"."c(3), ""4"""')).kind, (kde_info('"t(1), (2)"("Words", "c(3), ""4""")')).kind;
SELECT kde_info('"t(1), (2)"(words)');
-- By value, and a value by its text; untyped, as text and as varchar.
SELECT kde_info('sales.amount'::text) = kde_info('sales.amount') AS text,
  kde_info('sales.amount'::varchar) = kde_info('sales.amount') AS varchar,
  kde_info(kde_density('sales.amount')) = kde_info('sales.amount') AS value,
  kde_info(kde_density('sales.amount')::text) = kde_info('sales.amount') AS text_of_value,
  kde_info(kde_density('sales (quantity, amount)')) = kde_info('sales (amount, quantity)') AS joint;
PREPARE untyped AS SELECT rows FROM kde_info($1);
EXECUTE untyped('sales.amount');
-- Kept, written and read again.
CREATE TABLE named (d anykde);
INSERT INTO named VALUES ('sales.amount'), (kde_density('sales.amount')), (kde_density('sales (amount, quantity)'));
SELECT (kde_info(d)).kind, (kde_info(d::text::anykde)).kind = (kde_info(d)).kind AS by_text FROM named;
COPY named TO PROGRAM 'cat > kde_type_test' (FORMAT binary);
CREATE TABLE named_again (LIKE named);
COPY named_again FROM PROGRAM 'cat kde_type_test; rm kde_type_test' (FORMAT binary);
SELECT count(*) AS kept, count(*) FILTER (WHERE d::text IN (SELECT d::text FROM named)) AS binary FROM named_again;
-- What is neither.
SELECT kde_info('sales');
SELECT kde_info('');
SELECT kde_info('sales()');
SELECT kde_info('sales (amount,)');
SELECT kde_info('sales (amount');
SELECT kde_info('sales (amount) x');
SELECT kde_info('sales (quantity)');
SELECT kde_info('sales (nothing)');
SELECT kde_info('nothing (amount)');
SELECT kde_info('kde/2 a.b');
SELECT kde_info('kde/2 a.b'::text);
SELECT kde_points('sales (amount, quantity)');
-- Bytes of a density that nobody looked at do not come in as a name.
SELECT kde_info(E'\x02\x02');
SELECT kde_info(E'\x02\x02'::text);
SELECT kde_info(E'\x02\x02'::varchar);
-- What is not fitted because it cannot be is not proposed.
SELECT approx_count('sales.region', 'EU', 'EU');
SELECT kde_info('sales (region || ''x'')');

SET client_min_messages = warning;
DROP SCHEMA kde_type CASCADE;
