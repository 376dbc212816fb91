-- How every overload of every function resolves: with integers, numerics, doubles, untyped
-- literals, nulls, ranges, domains, arrays, named arguments and untyped parameters.
--
-- The column is a die thrown 600 times, each side 100 times: its density is six atoms, so that
-- every answer is exact and a call that went to a wrong overload shows.
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS overloads CASCADE;
CREATE SCHEMA overloads;
SET search_path = overloads, public;
RESET client_min_messages;
SET datestyle = 'ISO, YMD';

CREATE TABLE dice AS SELECT i % 6 + 1 AS side FROM generate_series(1, 600) AS i;
CREATE TABLE dates AS SELECT date '2026-01-01' + i % 6 AS day FROM generate_series(1, 600) AS i;
SELECT rows, cells FROM kde_fit('dice', 'side');
SELECT rows, cells FROM kde_fit('dates', 'day');

-- The surface: what there is, its volatility, strictness and parallel label, and a comment on each.
SELECT p.oid::regprocedure AS function, p.provolatile AS v, p.proisstrict AS s, p.proparallel AS p,
       obj_description(p.oid, 'pg_proc') IS NOT NULL AS commented
FROM pg_proc AS p
JOIN pg_depend AS d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
WHERE e.extname = 'kde_aqp'
ORDER BY p.oid::regprocedure::text COLLATE "C";

-- Bounds of every type, by the density's three forms. 2 to 4 are 300 throws.
CREATE DOMAIN side AS integer CHECK (value BETWEEN 1 AND 6);
CREATE DOMAIN sides AS int4range;
CREATE VIEW forms AS
SELECT 'text' AS form,
  approx_count('dice.side', 2, 4) AS integers,
  approx_count('dice.side', 1.5, 4.5) AS numerics,
  approx_count('dice.side', 2, 4.5) AS mixed,
  approx_count('dice.side', 1.5::float8, 4::float8) AS doubles,
  approx_count('dice.side', 2::smallint, 4::bigint) AS sizes,
  approx_count('dice.side', '2', '4') AS untyped,
  approx_count('dice.side', '2'::text, '4'::text) AS texts,
  approx_count('dice.side', 2::side, 4::side) AS domains,
  approx_count('dice.side', '2', 4) AS half_typed
UNION ALL SELECT 'regclass, name',
  approx_count('dice', 'side', 2, 4),
  approx_count('dice', 'side', 1.5, 4.5),
  approx_count('dice', 'side', 2, 4.5),
  approx_count('dice', 'side', 1.5::float8, 4::float8),
  approx_count('dice', 'side', 2::smallint, 4::bigint),
  approx_count('dice', 'side', '2', '4'),
  approx_count('dice', 'side', '2'::text, '4'::text),
  approx_count('dice', 'side', 2::side, 4::side),
  approx_count('dice', 'side', '2', 4)
UNION ALL SELECT 'kde',
  approx_count(kde_density('dice.side'), 2, 4),
  approx_count(kde_density('dice.side'), 1.5, 4.5),
  approx_count(kde_density('dice.side'), 2, 4.5),
  approx_count(kde_density('dice.side'), 1.5::float8, 4::float8),
  approx_count(kde_density('dice.side'), 2::smallint, 4::bigint),
  approx_count(kde_density('dice.side'), '2', '4'),
  approx_count(kde_density('dice.side'), '2'::text, '4'::text),
  approx_count(kde_density('dice.side'), 2::side, 4::side),
  approx_count(kde_density('dice.side'), '2', 4);
SELECT * FROM forms;

-- A NULL bound is none, whatever its type; the text and kde forms may leave bounds out.
SELECT
  approx_count('dice.side', 3, NULL) AS lower,
  approx_count('dice.side', NULL, 3) AS upper,
  approx_count('dice.side', NULL, NULL) AS untyped_nulls,
  approx_count('dice.side', NULL::integer, NULL) AS typed_null,
  approx_count('dice.side', NULL::text, NULL::text) AS text_nulls,
  approx_count('dice.side', 3) AS lower_alone,
  approx_count('dice.side') AS whole;
SELECT
  approx_count('dice', 'side', 3, NULL) AS lower,
  approx_count('dice', 'side', NULL, 3) AS upper,
  approx_count('dice', 'side', NULL, NULL) AS untyped_nulls,
  approx_count('dice', 'side', NULL::integer, NULL) AS typed_null;
SELECT
  approx_count(kde_density('dice', 'side'), 3, NULL) AS lower,
  approx_count(kde_density('dice', 'side'), NULL, 3) AS upper,
  approx_count(kde_density('dice', 'side'), NULL, NULL) AS untyped_nulls,
  approx_count(kde_density('dice', 'side'), 3) AS lower_alone,
  approx_count(kde_density('dice', 'side')) AS whole,
  approx_count(NULL::kde, 2, 4) AS null_density;

-- Named arguments.
SELECT
  approx_count(density => 'dice.side', lower => 2, upper => 4) AS text,
  approx_count('dice.side', upper => 4) AS upper,
  approx_count('dice.side', lower => '2') AS lower,
  approx_count(relation => 'dice', column_name => 'side', lower => 2, upper => 4) AS columns,
  approx_count(density => kde_density('dice.side'), upper => 4, lower => 2) AS kde;

-- A range stands for both bounds and keeps its own; canonical or not, empty, unbounded, in a
-- domain, of any kind of number.
SELECT r AS range,
  approx_count('dice.side', r) AS text,
  approx_count('dice', 'side', r, NULL) AS columns,
  approx_count(kde_density('dice.side'), r) AS kde
FROM unnest('{"[2,4]","[2,4)","(2,4]","(2,4)","(2,3)","(,4]","[2,)","(,)",empty,NULL}'::numrange[]) AS r;
SELECT
  approx_count('dice.side', int4range(2, 4)) AS int4range,
  approx_count('dice.side', int8range(2, 4, '(]')) AS int8range,
  approx_count('dice.side', numrange(1.5, 4.5)) AS numrange,
  approx_count('dice.side', int4range(2, 4)::sides) AS domain,
  approx_count('dice.side', '[2,4)'::int4range) AS literal,
  approx_count('dice.side', lower => int4range(2, 4)) AS named;
SELECT
  approx_count('dates.day', '2026-01-02', '2026-01-04') AS untyped,
  approx_count('dates.day', date '2026-01-02', '2026-01-04') AS half_typed,
  approx_count('dates', 'day', date '2026-01-02', date '2026-01-04') AS dates,
  approx_count('dates.day', daterange('2026-01-02', '2026-01-04')) AS daterange,
  approx_count('dates.day', tsrange('2026-01-02', '2026-01-04 12:00')) AS tsrange,
  approx_count('dates.day', tsrange('2026-01-02 00:00:01', NULL)) AS from_a_second_past;

-- The other functions of a range: form by form.
SELECT
  approx_sum('dice.side', 2, 4) AS text,
  approx_sum('dice.side', '2', '4') AS untyped,
  approx_sum('dice.side', int4range(2, 5)) AS range,
  approx_sum('dice.side') AS whole,
  approx_sum('dice', 'side', 2, 4) AS columns,
  approx_sum('dice', 'side', '2', NULL) AS columns_untyped,
  approx_sum(kde_density('dice.side'), 2, 4) AS kde,
  approx_sum(kde_density('dice.side'), '2', '4') AS kde_untyped,
  approx_sum(NULL::kde) AS null_kde;
SELECT
  approx_avg('dice.side', 2, 4) AS text,
  approx_avg('dice.side', '2', '4') AS untyped,
  approx_avg('dice.side', int4range(2, 5)) AS range,
  approx_avg('dice.side') AS whole,
  approx_avg('dice', 'side', 2, 4) AS columns,
  approx_avg('dice', 'side', '2', NULL) AS columns_untyped,
  approx_avg(kde_density('dice.side'), 2, 4) AS kde,
  approx_avg(kde_density('dice.side'), '2', '4') AS kde_untyped,
  approx_avg(NULL::kde) AS null_kde;
-- The variance of 100 twos and 100 threes is 50 / 199.
CREATE FUNCTION rounded(float8) RETURNS numeric LANGUAGE sql IMMUTABLE AS 'SELECT $1::numeric(20, 6)';
SELECT
  rounded(approx_variance('dice.side', 2, 3)) AS text,
  rounded(approx_variance('dice.side', '2', '3')) AS untyped,
  rounded(approx_variance('dice.side', int4range(2, 4))) AS range,
  rounded(approx_variance('dice', 'side', 2, 3)) AS columns,
  rounded(approx_variance('dice', 'side', '2', '3')) AS columns_untyped,
  rounded(approx_variance(kde_density('dice.side'), 2, 3)) AS kde,
  rounded(approx_variance(kde_density('dice.side'), '2', '3')) AS kde_untyped,
  rounded(approx_variance(NULL::kde)) AS null_kde;
SELECT
  rounded(approx_stddev('dice.side', 2, 3)) AS text,
  rounded(approx_stddev('dice.side', '2', '3')) AS untyped,
  rounded(approx_stddev('dice.side', int4range(2, 4))) AS range,
  rounded(approx_stddev('dice', 'side', 2, 3)) AS columns,
  rounded(approx_stddev('dice', 'side', '2', '3')) AS columns_untyped,
  rounded(approx_stddev(kde_density('dice.side'), 2, 3)) AS kde,
  rounded(approx_stddev(kde_density('dice.side'), '2', '3')) AS kde_untyped,
  rounded(approx_stddev(NULL::kde)) AS null_kde;
SELECT
  approx_avg_as('dates.day', NULL::date, '2026-01-02', '2026-01-04') AS text,
  approx_avg_as('dates.day', NULL::date) AS whole,
  approx_avg_as('dates.day', NULL::date, daterange('2026-01-02', '2026-01-05')) AS range,
  approx_avg_as('dates.day', as_type => NULL::date, upper => '2026-01-03') AS named,
  approx_avg_as('dates', 'day', NULL::date, '2026-01-02', '2026-01-04') AS columns,
  approx_avg_as(kde_density('dates.day'), NULL::date, '2026-01-02', '2026-01-04') AS kde,
  approx_avg_as(NULL::kde, NULL::date) AS null_kde;

-- Quantiles: of numbers of any type, untyped, arrays of any shape.
SELECT
  approx_quantile('dice.side', 0.5) AS numeric,
  approx_quantile('dice.side', 0.5::float8) AS double,
  approx_quantile('dice.side', 1) AS integer,
  approx_quantile('dice.side', '0.5') AS untyped,
  approx_quantile('dice.side', NULL) AS null,
  approx_quantile('dice.side', ARRAY[0.1, 0.5, 0.9]) AS numerics,
  approx_quantile('dice.side', '{0.1,NULL,0.9}'::float8[]) AS doubles,
  approx_quantile('dice.side', ARRAY[[0, 1], [0.2, 0.3]]) AS matrix,
  approx_quantile('dice.side', '[3:4]={0.1,0.9}'::float8[]) AS bounds,
  approx_quantile('dice.side', '{}'::float8[]) AS none;
SELECT
  approx_quantile('dice', 'side', 0.5) AS numeric,
  approx_quantile('dice', 'side', 1) AS integer,
  approx_quantile('dice', 'side', '0.5') AS untyped,
  approx_quantile('dice', 'side', NULL) AS null,
  approx_quantile('dice', 'side', ARRAY[0.1, NULL, 0.9]) AS numerics,
  approx_quantile('dice', 'side', '{0.1,0.9}'::float8[]) AS doubles;
SELECT
  approx_quantile(kde_density('dice.side'), 0.5) AS numeric,
  approx_quantile(kde_density('dice.side'), 1) AS integer,
  approx_quantile(kde_density('dice.side'), '0.5') AS untyped,
  approx_quantile(kde_density('dice.side'), NULL) AS null,
  approx_quantile(kde_density('dice.side'), ARRAY[0.1, NULL, 0.9]) AS numerics,
  approx_quantile(NULL::kde, 0.5) AS null_kde;
SELECT
  approx_quantile_as('dates.day', 0.5, NULL::date) AS text,
  approx_quantile_as('dates.day', '0.5', NULL::date) AS untyped,
  approx_quantile_as('dates.day', NULL, NULL::date) AS null,
  approx_quantile_as('dates', 'day', 0.5, NULL::date) AS columns,
  approx_quantile_as(kde_density('dates.day'), 0.5, NULL::date) AS kde,
  approx_quantile_as('dice.side', 0.5, NULL::integer) AS integer;

-- Intervals, form by form: what follows the bounds goes by name, so that four arguments by position
-- are never a name and three others.
SELECT
  approx_count_ci('dice.side', 2, 4) AS text,
  approx_count_ci('dice.side', '2', '4') AS untyped,
  approx_count_ci('dice.side', int4range(2, 5)) AS range,
  approx_count_ci('dice.side') AS whole,
  approx_count_ci('dice.side', upper => 4, changed_rows => 10, confidence => 0.9) AS named,
  approx_count_ci('dice', 'side', 2, 4) AS columns,
  approx_count_ci('dice', 'side', '2', '4') AS columns_untyped,
  approx_count_ci('dice', 'side', NULL, NULL) AS columns_whole,
  approx_count_ci('dice', 'side', 2, 4, changed_rows => 1) AS columns_named,
  approx_count_ci(kde_density('dice.side'), 2, 4) AS kde,
  approx_count_ci(kde_density('dice.side'), '2', '4', confidence => '0.5') AS kde_untyped,
  approx_count_ci(NULL::kde) AS null_kde;
SELECT
  approx_sum_ci('dice.side', 2, 4) AS text,
  approx_sum_ci('dice.side', '2', '4', changed_rows => 1) AS untyped,
  approx_sum_ci('dice', 'side', 2, 4) AS columns,
  approx_sum_ci('dice', 'side', '2', '4') AS columns_untyped,
  approx_sum_ci(kde_density('dice.side'), 2, 4) AS kde,
  approx_avg_ci('dice.side', 2, 4) AS text,
  approx_avg_ci('dice.side', '2', '4', changed_rows => 30) AS untyped,
  approx_avg_ci('dice', 'side', 2, 4) AS columns,
  approx_avg_ci('dice', 'side', '2', '4') AS columns_untyped,
  approx_avg_ci(kde_density('dice.side'), 2, 4) AS kde;
SELECT
  approx_quantile_ci('dice.side', 0.5) AS text,
  approx_quantile_ci('dice.side', '0.5', changed_rows => 300) AS untyped,
  approx_quantile_ci('dice', 'side', 0.5) AS columns,
  approx_quantile_ci('dice', 'side', '0.5', confidence => 0.9) AS columns_untyped,
  approx_quantile_ci(kde_density('dice.side'), 1) AS kde,
  approx_quantile_ci('dice.side', NULL) AS null;
-- A required accuracy.
SELECT
  approx_count('dice.side', 2, 4, max_relative_error => 0.1) AS text,
  approx_count('dice.side', '2', '4', max_relative_error => '0.1', otherwise => 'null') AS untyped,
  approx_count('dice.side', max_relative_error => 0.1) AS whole,
  approx_count('dice.side', int4range(2, 4), max_relative_error => 0) AS range,
  approx_count('dice', 'side', 2, 4, max_relative_error => 0.1) AS columns,
  approx_count('dice', 'side', '2', '4', max_relative_error => '0.1', otherwise => 'exact') AS columns_untyped,
  approx_count(kde_density('dice.side'), 2, 4, max_relative_error => 1) AS kde,
  approx_sum('dice', 'side', '2', '4', max_relative_error => 0.1) AS sum,
  approx_avg('dice.side', upper => 3, max_relative_error => 0.1) AS avg;
-- None of it by position.
\set VERBOSITY terse
SELECT approx_count('dice.side', 2, 4, 0.1);
SELECT approx_count('dice', 'side', 2, 4, 0.1);
SELECT approx_count('dice', 'side', '2', '4', '0.1');
SELECT approx_count_ci('dice', 'side', 2, 4, 0.9);
SELECT approx_quantile_ci('dice.side', 0.5, 0.9);
\set VERBOSITY default
-- Histograms.
SELECT 'text' AS form, h.* FROM approx_histogram('dice.side', 2) AS h
UNION ALL SELECT 'named', h.* FROM approx_histogram('dice.side', bins => 2, upper => 4) AS h
UNION ALL SELECT 'columns', h.* FROM approx_histogram('dice', 'side', 2) AS h
UNION ALL SELECT 'columns, named', h.* FROM approx_histogram('dice', 'side', '2', lower => '3', upper => '5') AS h
UNION ALL SELECT 'kde', h.* FROM approx_histogram(kde_density('dice.side'), 2, lower => 0) AS h
UNION ALL SELECT 'bounds', h.* FROM approx_histogram_at('dice.side', ARRAY[1, 2.5, 6]) AS h
UNION ALL SELECT 'bounds, untyped', h.* FROM approx_histogram_at('dice.side', bounds => '{1,2.5,6}') AS h
UNION ALL SELECT 'bounds, columns', h.* FROM approx_histogram_at('dice', 'side', '{3,6}'::int[]) AS h
UNION ALL SELECT 'bounds, kde', h.* FROM approx_histogram_at(kde_density('dice.side'), '{1,5}'::text[]) AS h;
SELECT (SELECT count(*) FROM approx_histogram('dice.side')) AS default_bins,
  (SELECT count(*) FROM approx_histogram(kde_density('dice', 'side'))) AS kde_bins,
  (SELECT count(*) FROM approx_histogram(NULL::kde)) AS null_kde;
-- Untyped literals by position. Two of them are the text form's: (regclass, name) needs its bins.
SELECT (SELECT count(*) FROM approx_histogram('dice.side', '5')) AS text,
  (SELECT count(*) FROM approx_histogram('dice', 'side', '5')) AS columns,
  (SELECT count(*) FROM approx_histogram(kde_density('dice.side'), '5')) AS kde,
  (SELECT count(*) FROM approx_histogram_at('dice.side', '{1,2,6}')) AS text_at,
  (SELECT count(*) FROM approx_histogram_at('dice', 'side', '{1,2,6}')) AS columns_at,
  (SELECT count(*) FROM approx_histogram_at(kde_density('dice.side'), '{1,2,6}')) AS kde_at,
  (SELECT count(*) FROM approx_histogram_at(NULL::kde, '{1,2,6}')) AS null_kde_at;
\set VERBOSITY terse
SELECT count(*) FROM approx_histogram('dice.side', NULL);
SELECT count(*) FROM approx_histogram('dice', 'side', NULL);
SELECT count(*) FROM approx_histogram('dice', 'side');
SELECT count(*) FROM approx_histogram_at('dice.side', NULL);
SELECT count(*) FROM approx_histogram_at('dice', 'side', NULL);
SELECT count(*) FROM approx_histogram_at('dice', 'side');
\set VERBOSITY default

-- Density and distribution at a point.
SELECT kde_cdf('dice.side', 2) AS integer, kde_cdf('dice.side', 2.5) AS numeric,
  kde_cdf('dice.side', 2::float8) AS double, kde_cdf('dice.side', '2') AS untyped,
  kde_cdf('dice.side', NULL) AS null, kde_cdf('dates.day', '2026-01-02') AS date,
  kde_cdf('dice', 'side', 2) AS columns, kde_cdf('dice', 'side', '2') AS columns_untyped,
  kde_cdf(kde_density('dice.side'), 2) AS kde, kde_cdf(kde_density('dice.side'), '2') AS kde_untyped,
  kde_cdf(NULL::kde, 2) AS null_kde;
SELECT count(*), count(DISTINCT x), min(x) * 6 AS sixth FROM unnest(ARRAY[
  kde_pdf('dice.side', 2), kde_pdf('dice.side', 2.0), kde_pdf('dice.side', 2::float8),
  kde_pdf('dice.side', '2'), kde_pdf('dice', 'side', 2), kde_pdf('dice', 'side', '2'),
  kde_pdf(kde_density('dice.side'), 2), kde_pdf(kde_density('dice', 'side'), '2')]) AS x;
SELECT kde_pdf('dice.side', NULL) AS null, kde_pdf('dice.side', 2) > kde_pdf('dice.side', 7) AS beyond;

-- Several columns: arrays of any type, untyped, NULL, of domains, named; a column's name is never taken
-- for an array, nor the other way round. All rows are in the sample, so that answers are exact.
CREATE TABLE throws2 AS SELECT i % 6 + 1 AS side, i % 4 AS other FROM generate_series(1, 600) AS i;
SELECT rows FROM kde_fit('throws2', ARRAY['side', 'other'], seed => 1);
SELECT
  approx_count('throws2', ARRAY['side', 'other'], ARRAY[2, 1], ARRAY[4, 2]) AS integers,
  approx_count('throws2', ARRAY['side', 'other'], ARRAY[1.5, 1], ARRAY[4.5, 2]) AS numerics,
  approx_count('throws2', ARRAY['side', 'other'], ARRAY[2, 1], ARRAY[4.5, 2]) AS mixed,
  approx_count('throws2', ARRAY['side', 'other'], '{2,1}', '{4,2}') AS untyped,
  approx_count('throws2', ARRAY['side', 'other'], '{2,1}', ARRAY[4, 2]) AS half_typed,
  approx_count('throws2', ARRAY['side', 'other'], ARRAY['2', '1'], ARRAY['4', '2']) AS texts,
  approx_count('throws2', ARRAY['side', 'other'], ARRAY[2::side, 1], ARRAY[4, 2]::side[]) AS domains,
  approx_count('throws2', '{side,other}'::text[], ARRAY[2, 1], ARRAY[4, 2]) AS cast_columns,
  approx_count('throws2', ARRAY['side', 'other']::name[]::text[], ARRAY[2, 1], ARRAY[4, 2]) AS names,
  approx_count(relation => 'throws2', columns => ARRAY['side', 'other'], upper => ARRAY[4, 2], lower => ARRAY[2, 1], filter => NULL) AS named;
SELECT
  approx_count('throws2', ARRAY['side', 'other'], NULL, NULL) AS nulls,
  approx_count('throws2', ARRAY['side', 'other'], NULL::integer[], NULL) AS typed_null,
  approx_count('throws2', ARRAY['side', 'other'], ARRAY[2, NULL], NULL) AS lower,
  approx_count('throws2', ARRAY['side', 'other'], NULL, ARRAY[4, NULL]) AS upper,
  approx_count('throws2', ARRAY['side', 'other'], '{NULL,NULL}', ARRAY[4, NULL]) AS untyped_nulls;
SELECT
  approx_sum('throws2', 'side', ARRAY['other'], ARRAY[1], ARRAY[2]) AS sum,
  approx_sum('throws2', 'side', '{other}', '{1}', '{2}') AS sum_untyped,
  approx_avg('throws2', 'side', ARRAY['other'], ARRAY[1], ARRAY[2]) AS avg,
  approx_avg('throws2', 'side', '{other}', '{1}', '{2}') AS avg_untyped,
  rounded(approx_variance('throws2', 'side', ARRAY['other'], ARRAY[1], ARRAY[2])) AS variance,
  rounded(approx_variance('throws2', 'side', '{other}', '{1}', '{2}')) AS variance_untyped,
  rounded(approx_stddev('throws2', 'side', ARRAY['other'], ARRAY[1], ARRAY[2])) AS stddev,
  rounded(approx_stddev('throws2', 'side', '{other}', '{1}', '{2}')) AS stddev_untyped;
SELECT
  approx_count_ci('throws2', ARRAY['side'], ARRAY[2], ARRAY[4]) AS count,
  approx_count_ci('throws2', ARRAY['side'], '{2}', '{4}', confidence => '0.9', changed_rows => 1) AS count_untyped,
  approx_sum_ci('throws2', 'side', ARRAY['other'], ARRAY[1], ARRAY[2]) AS sum,
  approx_sum_ci('throws2', 'side', '{other}', '{1}', '{2}') AS sum_untyped,
  approx_avg_ci('throws2', 'side', ARRAY['other'], ARRAY[1], ARRAY[2]) AS avg,
  approx_avg_ci('throws2', 'side', '{other}', '{1}', '{2}', filter => NULL) AS avg_untyped,
  rounded((approx_variance_ci('throws2', 'side', ARRAY['other'], ARRAY[1], ARRAY[2])).estimate) AS variance,
  rounded((approx_variance_ci('throws2', 'side', '{other}', '{1}', '{2}')).estimate) AS variance_untyped;
SELECT (SELECT count(*) FROM kde_explain('throws2', ARRAY['side'], ARRAY[2], ARRAY[4])) AS explain,
  (SELECT count(*) FROM kde_explain('throws2', '{side}', '{2}', '{4}', 'other', NULL)) AS explain_untyped,
  (SELECT count(*) FROM kde_explain('throws2', '{side}', NULL, NULL, filter => NULL, target => 'other')) AS explain_named,
  (SELECT count(*) FROM kde_conditional('throws2', 'side', 'other', ARRAY[1, 2])) AS conditional,
  (SELECT count(*) FROM kde_conditional('throws2', 'side', 'other', '{1,2,3}', confidence => '0.9')) AS conditional_untyped,
  (SELECT count(*) FROM kde_conditional('throws2', 'side', 'other', NULL)) AS conditional_null;
-- Nothing after the bounds by position; an array of columns needs its type where a name could stand.
\set VERBOSITY terse
SELECT approx_count('throws2', '{side,other}', '{2,1}', '{4,2}');
SELECT approx_count('throws2', ARRAY['side', 'other'], ARRAY[2, 1], ARRAY[4, 2], 'side > 1');
SELECT approx_sum('throws2', 'side', ARRAY['other'], ARRAY[1], ARRAY[2], 'side > 1');
SELECT approx_count('throws2', ARRAY['side', 'other'], 2, 4);
SELECT approx_count('throws2', 'side', ARRAY[2], ARRAY[4]);
\set VERBOSITY default

-- Parameters of unknown type, as drivers send them.
PREPARE bounds_text AS SELECT approx_count('dice.side', $1, $2);
PREPARE all_text AS SELECT approx_count($1, $2, $3);
PREPARE bounds_columns AS SELECT approx_count('dice', 'side', $1, $2);
PREPARE all_columns AS SELECT approx_count($1, $2, $3, $4);
PREPARE bounds_kde AS SELECT approx_count(kde_density('dice.side'), $1, $2);
PREPARE lower_alone AS SELECT approx_sum('dice.side', $1);
PREPARE half AS SELECT approx_avg('dice.side', $1, 4);
PREPARE fraction_text AS SELECT approx_quantile('dice.side', $1);
PREPARE fraction_columns AS SELECT approx_quantile('dice', 'side', $1);
PREPARE fraction_kde AS SELECT approx_quantile(kde_density('dice.side'), $1);
PREPARE point AS SELECT kde_cdf('dice.side', $1), kde_cdf('dice', 'side', $1);
PREPARE own_type AS SELECT approx_avg_as('dates.day', NULL::date, $1, $2);
PREPARE interval_text AS SELECT approx_count_ci('dice.side', $1, $2, confidence => $3);
PREPARE interval_columns AS SELECT approx_count_ci($1, $2, $3, $4);
PREPARE required AS SELECT approx_count('dice.side', $1, $2, max_relative_error => $3, otherwise => $4);
PREPARE required_columns AS SELECT approx_count($1, $2, $3, $4, max_relative_error => $5);
PREPARE bins AS SELECT count(*) FROM approx_histogram('dice', 'side', $1::integer, lower => $2);
PREPARE bins_text AS SELECT count(*) FROM approx_histogram('dice.side', $1);
PREPARE bins_columns AS SELECT count(*) FROM approx_histogram('dice', 'side', $1);
PREPARE bins_at AS SELECT count(*) FROM approx_histogram_at('dice.side', $1);
PREPARE bins_at_columns AS SELECT count(*) FROM approx_histogram_at($1, $2, $3);
PREPARE several_bounds AS SELECT approx_count('throws2', ARRAY['side', 'other'], $1, $2);
PREPARE several_elements AS SELECT approx_count('throws2', ARRAY['side', 'other'], ARRAY[$1, $2], ARRAY[$3, $4]);
PREPARE several_target AS SELECT approx_sum($1, $2, $3, $4, $5);
PREPARE several_columns AS SELECT approx_count($1, $2::text[], $3, $4);
PREPARE several_interval AS SELECT approx_avg_ci($1, $2, $3, $4, $5, confidence => $6, filter => $7);
PREPARE several_curve AS SELECT count(*) FROM kde_conditional($1, $2, $3, $4);
PREPARE name AS SELECT (kde_info(kde_density($1))).cells;
EXECUTE bounds_text('2', '4');
EXECUTE bounds_text(2, NULL);
EXECUTE all_text('dice.side', '2', '4');
EXECUTE bounds_columns('2', '4');
EXECUTE all_columns('dice', 'side', '2', '4');
EXECUTE bounds_kde('2', '4');
EXECUTE lower_alone('5');
EXECUTE half('2');
EXECUTE fraction_text('0.5');
EXECUTE fraction_columns('0.5');
EXECUTE fraction_kde('0.5');
EXECUTE point('2');
EXECUTE own_type('2026-01-02', NULL);
EXECUTE interval_text('2', '4', '0.9');
EXECUTE interval_columns('dice', 'side', '2', '4');
EXECUTE required('2', '4', '0.1', 'exact');
EXECUTE required_columns('dice', 'side', '2', '4', '0.1');
EXECUTE bins('7', '2');
EXECUTE bins_text('7');
EXECUTE bins_columns('7');
EXECUTE bins_at('{1,2,6}');
EXECUTE bins_at_columns('dice', 'side', '{1,2,6}');
EXECUTE several_bounds('{2,1}', '{4,2}');
EXECUTE several_elements('2', '1', NULL, '2');
EXECUTE several_target('throws2', 'side', '{other}', '{1}', '{2}');
EXECUTE several_columns('throws2', '{side,other}', '{2,1}', '{4,2}');
EXECUTE several_interval('throws2', 'side', '{other}', '{1}', '{2}', '0.9', NULL);
EXECUTE several_curve('throws2', 'side', 'other', '{1,2}');
EXECUTE name('dice.side');
SELECT name, parameter_types FROM pg_prepared_statements ORDER BY name COLLATE "C";
DEALLOCATE ALL;

-- In queries: bounds that change from row to row, both forms inside functions and views.
SELECT s, approx_count('dice.side', s, s) AS here, approx_count('dice', 'side', NULL, s) AS up_to
FROM generate_series(0, 7, 3) AS s;
CREATE FUNCTION throws(low integer, high integer) RETURNS float8
LANGUAGE sql STABLE AS 'SELECT approx_count(''dice'', ''side'', low, high)';
CREATE FUNCTION throws_plpgsql(low numeric, high numeric) RETURNS float8
LANGUAGE plpgsql STABLE AS 'BEGIN RETURN approx_count(''dice.side'', low, high); END';
SELECT throws(2, 4), throws(NULL, 4), throws_plpgsql(2, 4), throws_plpgsql(2, NULL);

-- Aggregates, and what is made of their values: untyped literals and parameters.
SELECT approx_count(kde_agg(side)) AS value, approx_count(kde_agg(side, 'auto')) AS method,
  approx_count(kde_agg(side, 'plugin', 2)) AS weight, approx_count(kde_agg(side, 'auto', '0.5')) AS untyped_weight,
  approx_count(kde_agg(side, 'auto', 1.5, 512)) AS bytes, approx_count(kde_agg(side, 'auto', '1', '512')) AS untyped_bytes,
  approx_count(kde_agg(side::numeric)) AS numeric, approx_count(kde_agg(side::side)) AS domain FROM dice;
SELECT approx_count(rollup(d)) AS rollup, approx_count(rollup(d, 512)) AS bytes, approx_count(rollup(d, '512')) AS untyped_bytes
FROM (SELECT kde_agg(side) AS d FROM dice GROUP BY side) AS s;
SELECT (SELECT count(*) FROM kde_points(d)) AS points, (SELECT count(*) FROM kde_points(d, '5')) AS untyped,
  (SELECT count(*) FROM kde_points(d, 5, 0, '7.5')) AS bounds, (SELECT max(x) FROM kde_points(d, lower => 0, upper => 7)) AS named,
  (SELECT count(*) FROM kde_histogram(d)) AS bins, (SELECT count(*) FROM kde_histogram(d, '3')) AS untyped_bins
FROM (SELECT kde_agg(side) AS d FROM dice) AS s;
PREPARE aggregate AS SELECT approx_count(kde_agg(side, $1, $2, $3)) FROM dice;
EXECUTE aggregate('auto', '2', '1024');
SELECT parameter_types FROM pg_prepared_statements;
DEALLOCATE ALL;

SET client_min_messages = warning;
DROP SCHEMA overloads CASCADE;
