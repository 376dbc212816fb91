-- Densities with groups beside SQL, and what they refuse. Exact, as every row is read and dates are few.
\set ECHO none \\ \pset tuples_only on \\ \pset format unaligned
CREATE TYPE size AS ENUM ('small', 'large');
CREATE TABLE grouped (day date, region text, store int, size size, amount numeric(8,2), price float8);
INSERT INTO grouped
SELECT date '2024-01-01' + i % 90,
       CASE WHEN i % 10 < 6 THEN 'EU' WHEN i % 10 < 9 THEN 'US "and" {more}' END,
       i % 7,
       CASE WHEN i % 3 = 0 THEN 'large' ELSE 'small' END::size,
       CASE WHEN i % 11 > 0 THEN (i % 1000) / 100.0 - 3 END,
       sqrt(i)
FROM generate_series(1, 20000) AS i;
-- A group whose day is always NULL has no density; another has one row.
INSERT INTO grouped VALUES (NULL, 'nowhere', 1, NULL, 1, 1), ('2024-02-01', 'one', NULL, NULL, 5, 1), (NULL, 'EU', 1, 'small', 1, 1);
ANALYZE grouped;

CREATE TEMP VIEW last_fit AS SELECT * FROM kde_densities_full WHERE group_by IS NOT NULL ORDER BY fitted_at DESC LIMIT 1;
SELECT FROM kde_fit('grouped', 'day', measures => ARRAY['amount'], group_by => 'region', sample_rows => -1) \g /dev/null
\set ECHO queries
SELECT column_names, measures, group_by, model, rows, expected_error FROM last_fit;
-- The column's own density is beside it.
SELECT name, measures, group_by, rows FROM kde_densities_full ORDER BY name;
SELECT approx_sum('grouped.day', '2024-01-10', '2024-02-10', measure => 'amount');

-- As SQL has it: of all rows, of a range, of an empty one.
CREATE FUNCTION differences(d anykde, lower date, upper date) RETURNS TABLE (key text, what text, approximate float8, exact float8)
LANGUAGE sql AS $$
  WITH truth AS (
    SELECT region AS key, count(amount)::float8 AS count, sum(amount)::float8 AS sum, avg(amount)::float8 AS avg
    FROM grouped WHERE day IS NOT NULL AND (day >= lower OR lower IS NULL) AND (day <= upper OR upper IS NULL) GROUP BY 1),
  answer AS (SELECT * FROM approx_groups(d, lower, upper, measure => 'amount'))
  SELECT coalesce(t.key, a.group_key), w.what, w.a, w.t
  FROM truth AS t FULL JOIN answer AS a ON coalesce(t.key, '-') = coalesce(a.group_key, '-')
  CROSS JOIN LATERAL (VALUES ('count', a.count, t.count), ('sum', a.sum, t.sum), ('avg', a.avg, t.avg)) AS w(what, a, t)
  WHERE abs(w.a - w.t) > 1e-9 * abs(w.t) OR w.a IS DISTINCT FROM w.t AND (w.a IS NULL OR w.t IS NULL)
$$;
SELECT * FROM differences('grouped.day', NULL, NULL);
SELECT * FROM differences('grouped.day', '2024-01-10', '2024-02-10');
SELECT * FROM differences('grouped.day by region', '2024-03-01', NULL);
SELECT * FROM approx_groups('grouped.day', date '2025-01-01', NULL, measure => 'amount');
SELECT group_key, groups, count, count_lower, count_upper, round(sum::numeric, 2) AS sum, round(avg::numeric, 6) AS avg
FROM approx_groups('grouped.day', '2024-01-10', '2024-02-10', measure => 'amount');
-- Of the column itself; dates have no sum.
SELECT group_key, count, sum, to_timestamp(avg) AT TIME ZONE 'UTC' AS avg FROM approx_groups('grouped.day');

-- Whatever the white space around "by".
SELECT every.name, count(*), sum(count) FROM unnest(ARRAY['grouped.day  by (region)', E'grouped.day\tby\tregion', E'grouped.day\n  BY\n  (region)',
  E'grouped (day)\r\nby(region)', 'grouped.day by(region)']) AS every(name), approx_groups(name) GROUP BY 1 ORDER BY every.name COLLATE "C";
SELECT * FROM approx_groups('grouped.day bye region');

-- By several columns, by expressions; keys in their own type.
SELECT FROM kde_fit('grouped', 'day', group_by => 'size, store % 2', sample_rows => -1) \g /dev/null
SELECT model, group_by FROM last_fit;
SELECT (group_key::text[])[1] AS size, (group_key::text[])[2] AS odd, count FROM approx_groups('grouped.day by (size, store % 2)', NULL, '2024-01-31')
ORDER BY 1, 2;
SELECT size, store % 2 AS odd, count(*) FROM grouped WHERE day <= '2024-01-31' GROUP BY 1, 2 ORDER BY 1, 2;
SELECT FROM kde_fit('grouped', 'amount', group_by => 'date_trunc(''month'', day::timestamp)', sample_rows => -1) \g /dev/null
SELECT group_by FROM last_fit;
SELECT group_key::date, count, round(sum::numeric, 2) FROM approx_groups('grouped.amount', 0, 1)
EXCEPT SELECT date_trunc('month', day::timestamp)::date, count(*), sum(amount) FROM grouped WHERE amount BETWEEN 0 AND 1 GROUP BY 1;
SELECT group_key, count FROM approx_groups('grouped.amount', 0, 1, confidence => 0.9);

-- Of an expression, as of a column; with a filter and a name.
SELECT FROM kde_fit('grouped', ARRAY['amount * 2'], filter => 'store > 1', sample_rows => -1, group_by => 'region', name => 'twice') \g /dev/null
SELECT column_names, filter, model, rows, group_by FROM last_fit;
SELECT group_key, count, round(sum::numeric, 2) FROM approx_groups('twice', 0, 1)
EXCEPT SELECT region, count(*), sum(amount * 2) FROM grouped WHERE store > 1 AND amount * 2 BETWEEN 0 AND 1 GROUP BY 1;
SELECT count(*) FROM approx_groups('grouped (amount * 2) by (region)', filter => 'store > 1');
SELECT FROM kde_fit('grouped', ARRAY['price'], group_by => 'size') \g /dev/null
SELECT group_by FROM last_fit;
SELECT kde_drop('twice'), kde_drop('grouped.price by (size)'), kde_drop('grouped.price'), kde_drop('grouped (amount * 2)', filter => 'store > 1');
SELECT kde_fit('grouped', ARRAY['price', 'amount'], group_by => 'size');
SELECT kde_fit('grouped', ARRAY['price'], group_by => 'reigon');

-- Which one is meant.
SELECT name FROM kde_densities_full WHERE group_by IS NOT NULL ORDER BY name;
SELECT * FROM approx_groups('grouped.day');
SELECT * FROM approx_groups('grouped.price');
SELECT * FROM approx_groups('grouped.price by store');
SELECT * FROM approx_groups('grouped.day by (store % 2, size)', measure => 'amount');
SELECT approx_count('grouped.day by region');
SELECT approx_count(kde_density('grouped.day by region')), count(day) FROM grouped;
SELECT * FROM approx_groups(kde_density('grouped.day'));
SELECT (SELECT count(*) FROM approx_groups(kde_density('grouped.day by region'), measure => '2')),
       (SELECT count(*) FROM approx_groups('grouped.day by region', measure => 'amount'));

-- Exact where the answer is not accurate enough: a sample of some blocks.
SET kde_aqp.sample_blocks = 40;
SELECT FROM kde_fit('grouped', 'price', group_by => 'region', seed => 1) \g /dev/null
SELECT group_by FROM last_fit;
SELECT every_row_read FROM kde_densities_full WHERE name = 'grouped.price by (region)';
RESET kde_aqp.sample_blocks;
SELECT group_key, count, round(sum::numeric, 4)
FROM approx_groups('grouped.price by region', 50, 100, max_relative_error => 1e-6, otherwise => 'exact')
EXCEPT SELECT region, count(*), round(sum(price)::numeric, 4) FROM grouped WHERE price BETWEEN 50 AND 100 GROUP BY region;
SELECT group_key, count FROM approx_groups('grouped.price by region', 50, 100, max_relative_error => 1e-6, otherwise => 'null')
WHERE groups > 0;
SELECT * FROM approx_groups('grouped.price by region', 50, 100, max_relative_error => 1e-6);
-- Rows of groups that were not met may be there.
SELECT group_key, groups, count, count_upper > 0 AS some FROM approx_groups('grouped.price by region', 50, 100) WHERE groups = 0;

-- The text and the binary form.
SELECT kde_density(name)::text::kde = kde_density(name) AS same FROM kde_densities_full WHERE group_by IS NOT NULL ORDER BY name;
SELECT kde_aqp.kde_send(kde_density('grouped.day by region')) <> kde_aqp.kde_send(kde_density('grouped.day')) AS differ;

-- Renamed and dropped with their columns, and refreshed.
ALTER TABLE grouped RENAME region TO area;
SELECT name, group_by FROM kde_densities_full WHERE group_by IS NOT NULL ORDER BY name;
SELECT column_names, action FROM kde_refresh('grouped', force => true);
SELECT count(*) FROM approx_groups('grouped.day by area');
ALTER TABLE grouped DROP COLUMN store;
SELECT name FROM kde_densities_full WHERE group_by IS NOT NULL ORDER BY name;
SELECT kde_drop('grouped.day by area');
SELECT kde_drop('grouped.day by area');
SELECT kde_drop('grouped.day by area', if_exists => true);
SELECT approx_count('grouped.day');
-- A fit for groups takes no measure from the column's own density, nor one asked for otherwise.
SELECT name FROM kde_fit('grouped', 'day', measures => ARRAY['amount', 'price'], sample_rows => -1);
SELECT FROM kde_fit('grouped', 'day', group_by => 'size', measures => ARRAY['price'], sample_rows => -1) \g /dev/null
SELECT measures FROM last_fit;
SELECT name, measures FROM kde_densities_full WHERE column_names = '{day}' ORDER BY name;

-- What has no groups.
SELECT kde_fit('grouped', 'day', group_by => 'random()');
SELECT kde_fit('grouped', 'day', group_by => 'area || random()');
SELECT kde_fit('grouped', 'day', group_by => 'aera');
SELECT kde_fit('grouped', 'day', group_by => 'area,');
SELECT kde_fit('grouped', 'day', group_by => '');
SELECT kde_fit('grouped', 'day', group_by => 'area, area');
SELECT kde_fit('grouped', 'day', group_by => 'area, size, day, amount, price');
SELECT kde_fit('grouped', 'day', group_by => 'point(price, price)');
SELECT kde_fit('grouped', 'day', group_by => 'repeat(area, 1000)');
-- Too long: as soon as it is met, so that only those before it are told; in the array of several, afterwards.
CREATE TABLE many_keys AS SELECT i AS x, i AS k, CASE WHEN i = 20 THEN repeat('k', 1025) WHEN i > 20 THEN i || 'x' ELSE repeat('k', 1024) END AS text FROM generate_series(1, 25000) AS i;
SELECT kde_fit('many_keys', 'x', group_by => 'text', sample_rows => -1);
SELECT kde_fit('many_keys', 'x', group_by => 'text, 100 / (21 - k)', sample_rows => -1);
SELECT model FROM kde_fit('many_keys', 'x', filter => 'k < 20', group_by => 'text', sample_rows => -1);
SELECT kde_fit('many_keys', 'x', filter => 'k < 20', group_by => 'text, k', sample_rows => -1);
-- Too many.
SET maintenance_work_mem = '64MB';
SELECT kde_fit('many_keys', 'x', group_by => 'k', sample_rows => -1);
\set VERBOSITY sqlstate
SELECT kde_fit('many_keys', 'x', group_by => 'k', sample_rows => -1);
\set VERBOSITY default
RESET maintenance_work_mem;
DROP TABLE many_keys;
SELECT kde_fit('grouped', 'day', group_by => 'area', method => 'plugin');
SELECT kde_fit('grouped', 'day', group_by => 'area', sample_rows => 100);
SELECT kde_fit('grouped', 'day', group_by => 'area', max_relative_error => 0.1);
DROP TABLE grouped;
SELECT count(*) FROM kde_densities;
-- A row of a NULL is no NULL; exact answers have its key, too.
CREATE TYPE pair AS (a int, b text);
CREATE TABLE paired AS SELECT i % 50 AS x, ROW(i % 3, NULL)::pair AS g FROM generate_series(1, 3000) AS i;
ANALYZE paired;
SELECT count(*) FROM kde_fit('paired', 'x', group_by => 'g', sample_rows => -1);
INSERT INTO paired VALUES (5, ROW(1, NULL));
SELECT group_key, count FROM approx_groups('paired.x', max_relative_error => 0, otherwise => 'exact', changed_rows => 1) ORDER BY 1;
-- Who may read x alone hears of no groups, nor of their constants.
SELECT count(*) FROM kde_fit('paired', 'x', group_by => '(g).a = 4711', sample_rows => -1);
CREATE ROLE kde_groups_reader;
GRANT SELECT (x) ON paired TO kde_groups_reader;
SET ROLE kde_groups_reader;
SELECT * FROM approx_groups('paired.x');
RESET ROLE;
REVOKE ALL ON paired FROM kde_groups_reader;
REVOKE SELECT (x) ON paired FROM kde_groups_reader;
DROP ROLE kde_groups_reader;
DROP TABLE paired;
DROP TYPE pair;
-- A group that came after a fit of every row is told, and an exact answer has it.
CREATE TABLE later AS SELECT i % 100 AS x, date '2026-01-01' + i % 9 AS day, 'g' || i % 3 AS g, CASE WHEN i % 3 > 0 THEN i END AS m
FROM generate_series(1, 3000) AS i;
ANALYZE later;
SELECT count(*) FROM kde_fit('later', 'x', group_by => 'g', measures => ARRAY['m'], sample_rows => -1);
-- One whose measure is NULL alone is a group as well.
SELECT group_key, count, sum, avg FROM approx_groups('later.x', 0, 50, measure => 'm');
INSERT INTO later SELECT 5, '2026-01-05', 'new', 1 FROM generate_series(1, 60);
SET kde_aqp.stale = 'ignore';
SELECT pg_stat_force_next_flush();
SELECT group_key, count, sum, round(avg::numeric, 6) AS avg FROM approx_groups('later.x', 0, 50, measure => 'm', max_relative_error => 0, otherwise => 'exact');
SELECT group_key, groups, count, count_upper FROM approx_groups('later.x', 0, 50) WHERE groups = 0;
SELECT group_key, count FROM approx_groups('later.x', 0, 50, max_relative_error => 0.1, otherwise => 'exact');
-- Dates have no sum, exactly neither.
SELECT count(*) FROM kde_fit('later', 'day', group_by => 'g', sample_rows => -1);
SELECT group_key, sum FROM approx_groups('later.day', max_relative_error => 0, otherwise => 'exact', changed_rows => 1);
-- A refresh of groups leaves the column's own density alone; a fit leaves one of a seed of its own.
SELECT kde_drop('later.day');
SELECT count(*) FROM kde_refresh('later', force => true);
SELECT name FROM kde_densities_full WHERE column_names = '{day}';
SELECT count(*) FROM kde_fit('later', 'day', seed => 42);
SELECT count(*) FROM kde_fit('later', 'day', group_by => 'g');
SELECT name, requested_seed FROM kde_densities_full WHERE column_names = '{day}' ORDER BY name;
RESET kde_aqp.stale;
DROP TABLE later;
-- After a sample of blocks, groups of few rows are read whole where an index finds them.
CREATE TABLE rare (x int, region text, kept bool, pad text);
ALTER TABLE rare ALTER pad SET STORAGE PLAIN;
INSERT INTO rare SELECT i % 50, CASE WHEN i % 5000 = 199 THEN NULL WHEN i % 200 = 0 THEN 'r' || i / 200 % 20 ELSE 'common' || i % 3 END,
  i % 2 = 0, repeat('p', 250) FROM generate_series(1, 20000) AS i;
INSERT INTO rare SELECT 7, 'late' || i, i = 1, repeat('p', 250) FROM generate_series(1, 2) AS i;
INSERT INTO rare VALUES (NULL, 'only NULL', true, '');
ANALYZE rare;
SET kde_aqp.sample_blocks = 100;
-- Groups that are not exact, or are not there.
CREATE FUNCTION not_exact(d anykde, passes bool) RETURNS TABLE (key text, exact bigint) LANGUAGE sql AS $$
  SELECT t.region, t.count
  FROM (SELECT region, count(x) FROM rare WHERE kept OR NOT passes GROUP BY region HAVING count(x) > 0) AS t
  LEFT JOIN (SELECT * FROM approx_groups(d) WHERE groups = 1) AS a ON a.group_key IS NOT DISTINCT FROM t.region
  WHERE (a.count_lower = t.count AND a.count = t.count AND a.count_upper = t.count) IS NOT TRUE
$$;
CREATE FUNCTION fit() RETURNS text LANGUAGE sql AS $$ SELECT model FROM kde_fit('rare', 'x', group_by => 'region', seed => 3) $$;
-- Without an index, with one over some rows, under another collation, of another column or of an expression.
SELECT fit() !~ 'whole' AS as_sampled;
SELECT count(*) > 20 AS sampled FROM not_exact('rare.x', false);
CREATE INDEX ON rare (region) WHERE region <> 'common';
CREATE INDEX ON rare (region COLLATE "C");
CREATE INDEX ON rare (x, region);
CREATE INDEX ON rare ((region || ''));
CREATE INDEX ON rare USING hash (region);
SELECT fit() !~ 'whole' AS as_sampled;
-- Of every row. One that the sample has no row of, too: none is left that might be there.
CREATE INDEX rare_region ON rare (region DESC NULLS FIRST, x);
SELECT fit();
SELECT key FROM not_exact('rare.x', false) ORDER BY key;
SELECT group_key, count, count_lower, count_upper, sum, avg FROM approx_groups('rare.x', 0, 30)
WHERE group_key IN ('r1', 'late1', 'late2') OR group_key IS NULL ORDER BY group_key;
SELECT count(*) FROM approx_groups('rare.x') WHERE groups = 0 OR group_key = 'only NULL';
-- The others are as without it, and so is the column's own density.
CREATE TABLE again AS SELECT kde_density('rare.x')::text AS own, array_agg(a::text ORDER BY group_key) AS others
FROM approx_groups('rare.x', 0, 30) AS a WHERE group_key LIKE 'common%';
DROP INDEX rare_region;
SELECT fit() !~ 'whole' AS as_sampled;
SELECT own = kde_density('rare.x')::text AS same_own, others = (SELECT array_agg(a::text ORDER BY group_key)
FROM approx_groups('rare.x', 0, 30) AS a WHERE group_key LIKE 'common%') AS same_others FROM again;
CREATE INDEX ON rare (region DESC NULLS FIRST, x);
-- The rows whose filter is true. A key that is too long fails no fit of whose sample it is not.
INSERT INTO rare VALUES (1, repeat('too long ', 200), false, '');
SELECT model FROM kde_fit('rare', 'x', group_by => 'region', filter => 'kept', name => 'kept_x', seed => 3);
SELECT key FROM not_exact('kept_x', true) ORDER BY key;
SELECT group_key FROM approx_groups('kept_x') WHERE group_key LIKE 'late%';
SELECT fit();
SELECT count(*) FROM approx_groups('rare.x') WHERE group_key LIKE 'too long%';
DELETE FROM rare WHERE region LIKE 'too long%';
-- What its snapshot sees: not what was deleted or came later.
BEGIN ISOLATION LEVEL REPEATABLE READ;
DELETE FROM rare WHERE region = 'late1';
INSERT INTO rare VALUES (7, 'late3', true, '');
SELECT fit();
SELECT group_key, count FROM approx_groups('rare.x') WHERE group_key LIKE 'late%' ORDER BY 1;
ROLLBACK;
-- Of another type; by several columns or an expression not at all, nor where every row was read.
ALTER TABLE rare ALTER region TYPE varchar(1000);
SELECT fit();
SELECT key FROM not_exact('rare.x', false) ORDER BY key;
SELECT model ~ 'whole' AS whole FROM kde_fit('rare', 'x', group_by => 'region, kept', seed => 3);
SELECT kde_drop('rare.x by (region, kept)');
SELECT model ~ 'whole' AS whole FROM kde_fit('rare', 'x', group_by => 'region || ''''', seed => 3);
SELECT kde_drop('rare.x by (region || '''')');
SELECT model ~ 'whole' AS whole FROM kde_fit('rare', 'x', group_by => 'region', sample_rows => -1);
-- Not where the sample is one of other rows than a table's own.
CREATE TABLE parts (LIKE rare INCLUDING STORAGE) PARTITION BY LIST (kept);
CREATE TABLE part PARTITION OF parts DEFAULT;
CREATE INDEX ON parts (region);
INSERT INTO parts SELECT * FROM rare;
ANALYZE parts;
SELECT model ~ 'whole' AS whole FROM kde_fit('parts', 'x', group_by => 'region', seed => 3);
SELECT model ~ 'whole' AS whole FROM kde_fit('part', 'x', group_by => 'region', seed => 3);
DROP TABLE parts;
-- Equal as the collation says.
CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
ALTER TABLE rare ALTER region TYPE text COLLATE any_case;
INSERT INTO rare VALUES (7, 'LATE1', true, '');
SELECT fit();
SELECT lower(group_key), count FROM approx_groups('rare.x') WHERE group_key COLLATE any_case = 'late1' COLLATE any_case;
-- More groups than may be visited.
SET kde_aqp.sample_blocks = 10;
SELECT fit() !~ 'whole' AS as_sampled;
RESET kde_aqp.sample_blocks;
DROP TABLE rare, again;
DROP FUNCTION not_exact, fit;
DROP COLLATION any_case;
-- What to expect is of the groups, which have fewer rows than the column.
CREATE TABLE halves AS SELECT i * 7919 % 10007 / 7.0::float8 AS x, i % 2 AS half FROM generate_series(1, 40000) AS i;
CREATE FUNCTION expected(d text) RETURNS float8 LANGUAGE sql AS
$$ SELECT substring(expected_error FROM 'count of 1 % of the rows ([0-9.]+) %')::float8 FROM kde_densities_full WHERE name = d $$;
SELECT rows FROM kde_fit('halves', 'x', group_by => 'half', seed => 1);
SELECT regexp_replace(expected_error, '[0-9.]+ (%,|standard)', '# \1', 'g') AS in_full FROM kde_densities_full WHERE name = 'halves.x by (half)';
SET kde_aqp.sample_blocks = 20;
SELECT regexp_replace(expected_error, '[0-9.]+', '#') AS sampled FROM kde_fit('halves', 'x', group_by => 'half', seed => 1);
SELECT expected('halves.x by (half)') > 1.2 * expected('halves.x') AS worse_than_the_column;
SELECT regexp_replace(expected_error, '[0-9.]+ (%,|standard)', '# \1', 'g') AS in_full FROM kde_densities_full WHERE name = 'halves.x by (half)';
RESET kde_aqp.sample_blocks;
-- Groups of one value each.
SELECT expected_error FROM kde_fit('halves', 'x', group_by => 'x', filter => 'x < 20');
DROP TABLE halves;
DROP FUNCTION expected;
-- After a label was renamed the keys are no names of groups any more.
CREATE TYPE mood AS ENUM ('low', 'high');
CREATE TABLE moods AS SELECT i AS x, (enum_range(NULL::mood))[1 + i % 2] AS m FROM generate_series(1, 100) AS i;
SELECT (kde_fit('moods', 'x', group_by => 'm')).rows;
SELECT (kde_fit('moods', 'x', group_by => 'm IS NULL, ARRAY[m]')).rows;
ALTER TYPE mood RENAME VALUE 'low' TO 'mid';
ALTER TYPE mood RENAME VALUE 'high' TO 'low';
SELECT * FROM approx_groups('moods.x by m');
SELECT name, stale_reason FROM kde_densities_full WHERE relation = 'moods'::regclass ORDER BY name;
SELECT action, count(*) FROM kde_refresh('moods') GROUP BY action ORDER BY action;
SELECT group_key, count FROM approx_groups('moods.x by m') ORDER BY group_key;
DROP TABLE moods;
DROP TYPE mood;
-- The column's own density beside that of its groups uses what it uses, and no column of theirs.
CREATE TABLE beside AS SELECT i % 50 AS x, i % 7 AS y, i % 3 AS z FROM generate_series(1, 3000) AS i;
SELECT FROM kde_fit('beside', 'x', group_by => 'z * 2', measures => ARRAY['y * 2']);
SELECT name, state FROM kde_densities WHERE name LIKE 'beside%' ORDER BY name COLLATE "C";
SELECT approx_count('beside.x', 10, 19);
