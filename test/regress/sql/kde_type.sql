-- The type kde: text and binary forms, what both refuse, its size, its life in a table.
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS kde_type CASCADE;
CREATE SCHEMA kde_type;
SET search_path = kde_type, public;
RESET client_min_messages;

-- Three atoms, and two cells that share the interval [-1, 1], byte by byte: of both the header and its variances, then
-- atoms, a block and its cells.
CREATE TABLE literals (name text, density text);
INSERT INTO literals VALUES
('atoms', '\x020600000202070101000000000000000000000300000000404e0000000000004014000000000000000000000000000000000000000000000000000000000000404e0000000000003fd00000000000003ff000000000000000000000000000000000000000000000000000000000000040000000000000003ff00000000000003fe0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000fff00000000000007ff00000000000003f8000003f0000003e8000003f8000003f8000003f8000003f800000400000003f8000003f8000003f8000003f8000003f8000003f8000003f8000003f800000000000000000000000000000000000000000000000000000000000000000000000000000000000003ff0000000000000400000000000000040340000000000004044000000000000404e000000000000'),
('cells', '\x020600000202050402000000000003d900000000000000014059000000000000000000000000000000000000000000000000000000000000000000000000000040590000000000003fc0000000000000000000000000000000000000000000000000000000000000bff00000000000003ff000000000000000000000000000003fd000000000000040590000000000003ff00000000000000000000000000000000000000000000000000000000000000000000000000000fff00000000000007ff00000000000003f8000003f0000003e8000003f8000003f8000003f8000003f800000400000003f8000003f8000003f8000003f8000003f8000003f8000003f8000003f8000000000000000000000000000000000000000000000000000000000000000000000fffffffffffffffe0000000000000000000001000106000000000000000032e5');
-- What lies at a byte of them, counted from 0, replaced.
CREATE FUNCTION damaged(density text, at integer, bytes bytea) RETURNS bytea LANGUAGE sql AS $$ SELECT overlay(density::bytea PLACING bytes FROM at + 1) $$;

-- ----------------------------------------------------------------------------------------- text
SELECT name, density::kde::text = density AS same, ('\x' || upper(substr(density, 3)))::kde::text = density AS of_upper_case FROM literals;
SELECT approx_count(density::kde, 1, 2) AS count, approx_sum(density::kde) AS sum, kde_cdf(density::kde, 0) AS cdf,
  approx_quantile(density::kde, 0.5) AS median FROM literals WHERE name = 'atoms';
SELECT approx_count(density::kde, -1, 0.5) AS count, approx_quantile(density::kde, 0.5) AS median,
  round(kde_pdf(density::kde, 0)::numeric, 6) AS middle, approx_avg(density::kde) AS avg FROM literals WHERE name = 'cells';
-- A mean of 0 of a sample has no relative error; a sum whose interval overflows has an infinite one.
SELECT approx_avg(density::kde, -0.5, 0.5, max_relative_error => 1) FROM literals WHERE name = 'cells';
SELECT approx_sum(damaged(damaged(damaged(density, 14, '\x0000')::text, 112, float8send(1.7e308))::text, 296, '\xc0100000000000000000000000000000000001003f0600003ff0000000000000fdc85a260ee76ed9000000000000032f')::text::kde, 0, 1.7e308, max_relative_error => 1)
FROM literals WHERE name = 'cells';
SELECT * FROM kde_info((SELECT density::kde FROM literals WHERE name = 'atoms'));

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
SELECT input, read(input) FROM unnest(ARRAY['', ' ', 'x', '0206', '\', '\x', '\x0', '\x02', '\xg', ' \x02', '\x02 06', '\X02', '\x02060000020200', '{}', 'NaN']) AS input;
SELECT read(density || ' ') AS space_behind, read(density || '0') AS half_a_byte, read(density || '00') AS a_byte_more FROM literals;

-- --------------------------------------------------------------------------------------- binary
-- A bytea through the type's binary input.
CREATE TABLE received (d kde);
SELECT name, kde_aqp.kde_send(density::kde)::text = density AS as_text, receive(density::bytea) FROM literals;
SELECT d::text = density AS same FROM received, literals WHERE name = 'cells';
-- One field replaced at a time: byte offset and new bytes. Both forms are read alike.
CREATE TABLE damages AS
SELECT name, at, bytes, read(damaged(density, at, bytes)::text) FROM literals JOIN (VALUES
  ('atoms', 0, '\x00'::bytea), ('atoms', 0, '\x03'), ('atoms', 1, '\x2a'), ('atoms', 1, '\xff'), ('atoms', 2, '\x01'), ('atoms', 3, '\x01'),
  ('atoms', 4, '\x00'), ('atoms', 4, '\x01'), ('atoms', 4, '\x03'), ('atoms', 4, '\xff'), ('atoms', 5, '\x00'),
  ('atoms', 6, '\x80'), ('atoms', 7, '\x0c'), ('atoms', 8, '\x00'), ('atoms', 8, '\x08'), ('atoms', 9, '\x01'), ('atoms', 13, '\x01'),
  ('atoms', 15, '\x01'), ('atoms', 16, '\x00000002'), ('atoms', 16, '\x00000004'), ('atoms', 16, '\xffffffff'), ('atoms', 16, '\x10000003'),
  ('atoms', 20, '\x00000001'), ('atoms', 20, '\x00000002'), ('atoms', 20, '\xffffffff'), ('atoms', 24, '\x7ff8000000000000'),
  ('atoms', 24, '\xc04e000000000000'), ('atoms', 32, '\x7ff0000000000000'), ('atoms', 88, '\x7ff0000000000000'), ('atoms', 128, '\xbff0000000000000'),
  ('atoms', 168, '\xbff0000000000000'), ('atoms', 176, '\xbff0000000000000'), ('atoms', 184, '\x7ff8000000000000'), ('atoms', 200, '\x7fc00000'),
  ('atoms', 292, '\xbf800000'), ('atoms', 296, '\x7ff8000000000000'), ('atoms', 320, '\xbff0000000000000'), ('cells', 20, '\x00000000'),
  ('cells', 20, '\x00000002'), ('cells', 136, '\x0000000000000000'), ('cells', 144, '\x0000000000000000'), ('cells', 296, '\x8000000000000000'),
  ('cells', 304, '\x7ff8000000000000'), ('cells', 312, '\xffff'), ('cells', 314, '\x40'), ('cells', 315, '\x3f'), ('cells', 316, '\x40'),
  ('cells', 317, '\x36'), ('cells', 318, '\x03'), ('cells', 319, '\x30'), ('cells', 320, '\xffffffffffffffff'), ('atoms', 24, float8send(-60)),
  ('atoms', 24, float8send(61)), ('atoms', 32, float8send('1e61')), ('atoms', 40, float8send(61)), ('atoms', 72, float8send(-1)),
  ('atoms', 64, float8send(0.5)), ('atoms', 64, float8send(0)), ('atoms', 160, float8send('1e31')), ('atoms', 160, float8send(-1)),
  ('atoms', 160, float8send('inf')), ('atoms', 168, float8send('nan')), ('atoms', 80, float8send('1e-300')), ('atoms', 104, float8send(1.5)),
  ('atoms', 112, float8send(1)), ('atoms', 120, float8send(3)), ('atoms', 136, float8send(1)), ('atoms', 152, float8send(2)),
  ('atoms', 192, float8send('-inf')), ('atoms', 96, float8send('nan')), ('atoms', 96, float8send(0.5)),
  ('atoms', 328, float8send(20)), ('atoms', 304, float8send(0)), ('atoms', 328, float8send('inf')), ('atoms', 312, float8send(3)),
  ('atoms', 24, float8send('1e10') || float8send(0) || float8send('1e10')), ('atoms', 184, float8send(2) || float8send(1)),
  ('atoms', 232, float4send(-1)), ('atoms', 232, float4send('nan')), ('cells', 64, float8send(0)), ('cells', 304, float8send(1))) AS v(name, at, bytes) USING (name);
SELECT * FROM damages ORDER BY name, at, bytes;
SELECT count(*) AS differ FROM damages JOIN literals USING (name), receive(damaged(density, at, bytes)) AS r(received)
WHERE regexp_replace(read, '^.*: ', '') <> regexp_replace(received, '^.*: ', '') OR received NOT LIKE '22P03 %' AND received <> 'accepted';
-- More than there can be of what is counted.
SELECT read(density || repeat('00', 20000)) AS zeros, read('\x' || repeat(substr(density, 3), 100)) AS more FROM literals;
-- Cut short anywhere.
SELECT name, count(*) AS bytes, bool_and(read(substr(density::bytea, 1, n)::text) LIKE '22P02 %') AS all_refused
FROM literals, generate_series(0, length(density::bytea) - 1) AS n GROUP BY name ORDER BY name;
SELECT bool_and(receive(substr(density::bytea, 1, n)) LIKE '22P03 %') AS all_refused
FROM literals, generate_series(0, length(density::bytea) - 1, 11) AS n;

-- ----------------------------------------------------------------------------- fitted densities
-- Round trips of what fits of so few rows make that a command line has room for it, and stored to a
-- row of the sample.
CREATE TABLE data AS
SELECT x, tan(pi() * (x - 0.5)) AS cauchy, exp(-2 * ln(x)) * sin(1e5 * x) AS wild, (1e4 * x)::integer AS whole, (i % 400)::numeric AS repeated,
  CASE i % 7 WHEN 0 THEN 'NaN' WHEN 1 THEN 'infinity' WHEN 2 THEN NULL ELSE x END::float8 AS special
FROM (SELECT i, ((i * 2654435769) % 4294967296)::float8 / 4294967296 AS x FROM generate_series(1::bigint, 20000) AS i) AS v;
CREATE TABLE fitted AS
SELECT attname AS name, NULL::kde AS d, NULL::kde AS again FROM pg_attribute WHERE attrelid = 'data'::regclass AND attnum > 0;
SELECT name, rows FROM fitted, kde_fit('data', name, sample_rows => 1500, seed => 1) AS f(density) ORDER BY name COLLATE "C";
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
SELECT density::kde = density::kde AS itself, density::kde = damaged(density, 120, float8send('-0'))::text::kde AS minus_zero
FROM literals WHERE name = 'cells';
-- What a row is found by under REPLICA IDENTITY FULL.
SELECT amname, opcdefault FROM pg_opclass JOIN pg_am ON pg_am.oid = opcmethod WHERE opcintype = 'kde'::regtype ORDER BY amname;

-- ------------------------------------------------------------------------------- a name is no value
-- An untyped literal is a value to functions that take no name.
SELECT kde_aqp.kde_to_json('sales.amount');
SELECT kde_aqp.kde_to_json('"My Schema"."T".col');
SELECT kde_aqp.kde_to_json('O''Brien.x');
SELECT kde_aqp.kde_to_json('sales');
SELECT kde_aqp.kde_to_json('\x0206');

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
SELECT kde_info('\x0206');
SELECT kde_info('\x0206'::text);
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
