-- What fits a screen: kde_fit's rows and kde_densities, beside kde_densities_full.
\pset tuples_only
\pset format unaligned
CREATE SCHEMA short_forms;
SET search_path = short_forms, public;

-- At most ten columns, and of the same names where they mean the same.
SELECT pronargs AS arguments,
  (SELECT array_agg(n ORDER BY i) FROM unnest(proargnames, proargmodes) WITH ORDINALITY AS a(n, mode, i) WHERE mode = 'o') AS columns
FROM pg_proc WHERE proname = 'kde_fit' ORDER BY pronargs;
SELECT array_agg(attname ORDER BY attnum) AS columns FROM pg_attribute WHERE attrelid = 'kde_densities'::regclass AND attnum > 0;

CREATE TABLE t (k integer, word text, x float8) WITH (autovacuum_enabled = off);
INSERT INTO t SELECT i % 9, 'word ' || i % 5, CASE WHEN i % 10 > 0 THEN sqrt(i) END FROM generate_series(1, 50000) AS i;
SELECT name, model, rows, rows_read, expected_error, size, took ~ '^[0-9.]+ m?s$' AS took, seed FROM kde_fit('t', 'k', seed => 1);
SELECT name, model, rows, rows_read, expected_error, size FROM kde_fit('t', 'word', filter => 'k > 3', seed => 2);
SELECT name, model, rows_read, expected_error FROM kde_fit('t', ARRAY['k', 'x'], sample_rows => 5000, seed => 3);
-- Estimated, so to whole rows; the error is the first that the full view tells.
SET kde_aqp.sample_blocks = 30;
SELECT rows = round(rows) AND rows <> rows_read AS whole, expected_error AS error FROM kde_fit('t', 'x', seed => 4) \gset
SELECT :'whole' AS whole, expected_error LIKE '95 % of answers are within: count of 1 % of the rows ' || :'error' || ', %' AS the_first
FROM kde_densities_full WHERE name = 't.x';
-- Of a density that is of none of the kinds that it is known of: not known.
SELECT name, expected_error FROM kde_densities_full WHERE name = 't (k, x)';
RESET kde_aqp.sample_blocks;

-- The same of both views. A third of the rows was read of x, of which a tenth is NULL; a tenth of those of k and x
-- was kept.
SELECT name, filter, model, read ~ '^[0-9.]+ %$' AS sampled, CASE WHEN read = 'all' THEN rows END AS rows, changed, state, plain_sql FROM kde_densities WHERE name ~ '^t[. ]' ORDER BY name, filter NULLS FIRST;
SELECT s.name, s.size = pg_size_pretty(f.bytes::bigint) AS size, s.changed_size = pg_size_pretty(f.changed_size) AS changed_size, s.age = date_trunc('second', f.age) AS age,
  s.read = 'all' OR abs(replace(s.read, ' %', '')::float8 - 100.0 * least(f.rows_read, f.requested_sample_rows) / (f.rows + coalesce(f.nulls, 0))) <= 0.5 AS read
FROM kde_densities AS s JOIN kde_densities_full AS f ON s.name = f.name AND s.filter IS NOT DISTINCT FROM f.filter WHERE f.relation = 't'::regclass ORDER BY s.name, s.filter NULLS FIRST;
-- What became of them.
INSERT INTO t SELECT 1, 'word 1', 1 FROM generate_series(1, 20000);
SELECT pg_stat_force_next_flush();
SELECT name, changed, pg_size_bytes(changed_size) > 0 AS to_read, state FROM kde_densities WHERE name = 't.k';
-- A single value is exact where every row was read.
CREATE TABLE single AS SELECT 7 AS v FROM generate_series(1, 1000);
SELECT model, expected_error FROM kde_fit('single', 'v');
SELECT kde_aqp.expected_error(kde_density('single.v'));
DROP TABLE single;

DROP SCHEMA short_forms CASCADE;
