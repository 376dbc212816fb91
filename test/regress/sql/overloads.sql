-- How every function is called: with integers, numerics, doubles, untyped
-- literals, nulls, ranges, domains, arrays, named arguments and untyped parameters.
--
-- The column is a die thrown 600 times, each side 100 times: its density is six atoms, so that
-- every answer is exact and a call that was taken otherwise shows.
\set ECHO queries \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS overloads CASCADE;
CREATE SCHEMA overloads;
SET search_path = overloads, public;
RESET client_min_messages;
SET datestyle = 'ISO, YMD';

CREATE TABLE dice AS SELECT i % 6 + 1 AS side FROM generate_series(1, 600) AS i;
CREATE TABLE dates AS SELECT date '2026-01-01' + i % 6 AS day FROM generate_series(1, 600) AS i;
CREATE VIEW last_fit AS SELECT * FROM kde_densities_full ORDER BY fitted_at DESC LIMIT 1;
SELECT FROM kde_fit('dice', 'side') \g /dev/null
SELECT rows, cells FROM last_fit;
SELECT FROM kde_fit('dates', 'day') \g /dev/null
SELECT rows, cells FROM last_fit;

-- The surface: what there is, its volatility, strictness and parallel label, and a comment on each. What kde_agg
-- has for each type of values is one: of a number.
SELECT DISTINCT f.function COLLATE "C" AS function, p.provolatile AS v, p.proisstrict AS s, p.proparallel AS p,
       obj_description(p.oid, 'pg_proc') IS NOT NULL AS commented
FROM pg_proc AS p
JOIN pg_depend AS d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid,
regexp_replace(p.oid::regprocedure::text, '^(kde_agg\(|kde_aqp.agg_(?:measure_)?row\(kde_aqp.agg_state,)(?!anyelement)[^,)]*', '\1number') AS f(function)
WHERE e.extname = 'kde_aqp'
ORDER BY 1;
SELECT count(DISTINCT proargtypes[0]) AS types, count(*) AS forms FROM pg_proc WHERE proname = 'kde_agg';

-- Bounds of every type, of a density by name and by value. 2 to 4 are 300 throws.
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

-- A NULL bound is none, whatever its type; bounds may be left out.
SELECT
  approx_count('dice.side', 3, NULL) AS lower,
  approx_count('dice.side', NULL, 3) AS upper,
  approx_count('dice.side', NULL, NULL) AS untyped_nulls,
  approx_count('dice.side', NULL::integer, NULL) AS typed_null,
  approx_count('dice.side', NULL::text, NULL::text) AS text_nulls,
  approx_count('dice.side', 3) AS lower_alone,
  approx_count('dice.side') AS whole;
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
  approx_count(density => kde_density('dice.side'), upper => 4, lower => 2) AS kde;

-- A range stands for both bounds and keeps its own; canonical or not, empty, unbounded, in a
-- domain, of any kind of number.
SELECT r AS range,
  approx_count('dice.side', r) AS text,
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
  approx_count('dates.day', date '2026-01-02', date '2026-01-04') AS dates,
  approx_count('dates.day', daterange('2026-01-02', '2026-01-04')) AS daterange,
  approx_count('dates.day', tsrange('2026-01-02', '2026-01-04 12:00')) AS tsrange,
  approx_count('dates.day', tsrange('2026-01-02 00:00:01', NULL)) AS from_a_second_past;

-- The other functions of a range.
SELECT
  approx_sum('dice.side', 2, 4) AS text,
  approx_sum('dice.side', '2', '4') AS untyped,
  approx_sum('dice.side', int4range(2, 5)) AS range,
  approx_sum('dice.side') AS whole,
  approx_sum(kde_density('dice.side'), 2, 4) AS kde,
  approx_sum(kde_density('dice.side'), '2', '4') AS kde_untyped,
  approx_sum(NULL::kde) AS null_kde;
SELECT
  approx_avg('dice.side', 2, 4) AS text,
  approx_avg('dice.side', '2', '4') AS untyped,
  approx_avg('dice.side', int4range(2, 5)) AS range,
  approx_avg('dice.side') AS whole,
  approx_avg(kde_density('dice.side'), 2, 4) AS kde,
  approx_avg(kde_density('dice.side'), '2', '4') AS kde_untyped,
  approx_avg(NULL::kde) AS null_kde;
-- The variance of 100 twos and 100 threes is 50 / 199.
CREATE FUNCTION rounded(float8) RETURNS numeric LANGUAGE sql IMMUTABLE AS 'SELECT $1::numeric(20, 6)';
SELECT
  rounded(approx_variance('dice.side', 2, 3)) AS text,
  rounded(approx_variance('dice.side', '2', '3')) AS untyped,
  rounded(approx_variance('dice.side', int4range(2, 4))) AS range,
  rounded(approx_variance(kde_density('dice.side'), 2, 3)) AS kde,
  rounded(approx_variance(kde_density('dice.side'), '2', '3')) AS kde_untyped,
  rounded(approx_variance(NULL::kde)) AS null_kde;
SELECT
  rounded(approx_stddev('dice.side', 2, 3)) AS text,
  rounded(approx_stddev('dice.side', '2', '3')) AS untyped,
  rounded(approx_stddev('dice.side', int4range(2, 4))) AS range,
  rounded(approx_stddev(kde_density('dice.side'), 2, 3)) AS kde,
  rounded(approx_stddev(kde_density('dice.side'), '2', '3')) AS kde_untyped,
  rounded(approx_stddev(NULL::kde)) AS null_kde;
SELECT
  approx_avg_as('dates.day', NULL::date, '2026-01-02', '2026-01-04') AS text,
  approx_avg_as('dates.day', NULL::date) AS whole,
  approx_avg_as('dates.day', NULL::date, daterange('2026-01-02', '2026-01-05')) AS range,
  approx_avg_as('dates.day', as_type => NULL::date, upper => '2026-01-03') AS named,
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
  approx_quantile_as(kde_density('dates.day'), 0.5, NULL::date) AS kde,
  approx_quantile_as('dice.side', 0.5, NULL::integer) AS integer;

-- Intervals: what follows the bounds goes by name.
SELECT
  approx_count_ci('dice.side', 2, 4) AS text,
  approx_count_ci('dice.side', '2', '4') AS untyped,
  approx_count_ci('dice.side', int4range(2, 5)) AS range,
  approx_count_ci('dice.side') AS whole,
  approx_count_ci('dice.side', upper => 4, changed_rows => 10, confidence => 0.9) AS named,
  approx_count_ci(kde_density('dice.side'), 2, 4) AS kde,
  approx_count_ci(kde_density('dice.side'), '2', '4', confidence => '0.5') AS kde_untyped,
  approx_count_ci(NULL::kde) AS null_kde;
SELECT
  approx_sum_ci('dice.side', 2, 4) AS text,
  approx_sum_ci('dice.side', '2', '4', changed_rows => 1) AS untyped,
  approx_sum_ci(kde_density('dice.side'), 2, 4) AS kde,
  approx_avg_ci('dice.side', 2, 4) AS text,
  approx_avg_ci('dice.side', '2', '4', changed_rows => 30) AS untyped,
  approx_avg_ci(kde_density('dice.side'), 2, 4) AS kde;
SELECT
  approx_quantile_ci('dice.side', 0.5) AS text,
  approx_quantile_ci('dice.side', '0.5', changed_rows => 300) AS untyped,
  approx_quantile_ci(kde_density('dice.side'), 1) AS kde,
  approx_quantile_ci('dice.side', NULL) AS null;
-- A required accuracy.
SELECT
  approx_count('dice.side', 2, 4, max_relative_error => 0.1) AS text,
  approx_count('dice.side', '2', '4', max_relative_error => '0.1', otherwise => 'null') AS untyped,
  approx_count('dice.side', max_relative_error => 0.1) AS whole,
  approx_count('dice.side', int4range(2, 4), max_relative_error => 0) AS range,
  approx_count(kde_density('dice.side'), 2, 4, max_relative_error => 1) AS kde,
  approx_sum('dice.side', '2', '4', max_relative_error => 0.1) AS sum,
  approx_avg('dice.side', upper => 3, max_relative_error => 0.1) AS avg;
-- None of it by position.
\set VERBOSITY terse
SELECT approx_count('dice.side', 2, 4, 0.1);
SELECT approx_count_ci('dice.side', 2, 4, '0.9');
SELECT approx_quantile_ci('dice.side', 0.5, 0.9);
\set VERBOSITY default
-- Histograms.
SELECT 'text' AS form, h.* FROM approx_histogram('dice.side', 2) AS h
UNION ALL SELECT 'named', h.* FROM approx_histogram('dice.side', bins => 2, upper => 4) AS h
UNION ALL SELECT 'untyped', h.* FROM approx_histogram('dice.side', '2', lower => '3', upper => '5') AS h
UNION ALL SELECT 'kde', h.* FROM approx_histogram(kde_density('dice.side'), 2, lower => 0) AS h
UNION ALL SELECT 'bounds', h.* FROM approx_histogram_at('dice.side', ARRAY[1, 2.5, 6]) AS h
UNION ALL SELECT 'bounds, untyped', h.* FROM approx_histogram_at('dice.side', bounds => '{1,2.5,6}') AS h
UNION ALL SELECT 'bounds, kde', h.* FROM approx_histogram_at(kde_density('dice.side'), '{1,5}'::text[]) AS h;
-- Of as many rows each: a die's sides cannot be divided. Within bounds, of what has one value, and none.
CREATE TABLE ramp AS SELECT sqrt(i) AS x FROM generate_series(0, 100000) AS i;
SELECT rows FROM kde_fit('ramp', 'x');
SELECT bin, round(lower_bound::numeric, 1) AS lower, round(count / 1000) AS thousands FROM approx_histogram('ramp.x', 4, equal => 'rows');
SELECT bin, lower_bound, upper_bound, count FROM approx_histogram('dice.side', 4, equal => 'rows');
SELECT bin, lower_bound, upper_bound, count FROM approx_histogram('dice.side', 3, lower => 2, upper => 5, equal => 'rows');
SELECT count(*) AS bins FROM approx_histogram('dice.side', 100, equal => 'rows');
SELECT count(*) AS bins FROM approx_histogram((SELECT kde_agg(7::float8)), 5, equal => 'rows');
SELECT count(*) AS bins FROM approx_histogram((SELECT kde_agg(NULL::float8)), 5, equal => 'rows');
SELECT count(*) FROM approx_histogram('dice.side', 4, equal => 'height');
SELECT (SELECT count(*) FROM approx_histogram('dice.side')) AS default_bins,
  (SELECT count(*) FROM approx_histogram(kde_density('dice', 'side'))) AS kde_bins,
  (SELECT count(*) FROM approx_histogram(NULL::kde)) AS null_kde;
-- Untyped literals by position.
SELECT (SELECT count(*) FROM approx_histogram('dice.side', '5')) AS text,
  (SELECT count(*) FROM approx_histogram(kde_density('dice.side'), '5')) AS kde,
  (SELECT count(*) FROM approx_histogram_at('dice.side', '{1,2,6}')) AS text_at,
  (SELECT count(*) FROM approx_histogram_at(kde_density('dice.side'), '{1,2,6}')) AS kde_at,
  (SELECT count(*) FROM approx_histogram_at(NULL::kde, '{1,2,6}')) AS null_kde_at;
-- The most frequent values.
SELECT (SELECT sum(count) FROM approx_top('dice.side')) AS text, (SELECT count(*) FROM approx_top('dice.side', '2')) AS untyped,
  (SELECT count(*) FROM approx_top(n => 4, density => 'dice.side', filter => NULL)) AS named,
  (SELECT count(*) FROM approx_top(kde_density('dice.side'), 3, changed_rows => '5', confidence => '0.9')) AS kde,
  (SELECT count(*) FROM approx_top(NULL::kde)) AS null_kde;
\set VERBOSITY terse
SELECT count(*) FROM approx_histogram('dice.side', NULL);
SELECT count(*) FROM approx_histogram_at('dice.side', NULL);
\set VERBOSITY default

-- Density and distribution at a point.
SELECT kde_cdf('dice.side', 2) AS integer, kde_cdf('dice.side', 2.5) AS numeric,
  kde_cdf('dice.side', 2::float8) AS double, kde_cdf('dice.side', '2') AS untyped,
  kde_cdf('dice.side', NULL) AS null, kde_cdf('dates.day', '2026-01-02') AS date,
  kde_cdf(kde_density('dice.side'), 2) AS kde, kde_cdf(kde_density('dice.side'), '2') AS kde_untyped,
  kde_cdf(NULL::kde, 2) AS null_kde;
SELECT count(*), count(DISTINCT x), min(x) * 6 AS sixth FROM unnest(ARRAY[
  kde_pdf('dice.side', 2), kde_pdf('dice.side', 2.0), kde_pdf('dice.side', 2::float8),
  kde_pdf('dice.side', '2'),
  kde_pdf(kde_density('dice.side'), 2), kde_pdf(kde_density('dice', 'side'), '2')]) AS x;
SELECT kde_pdf('dice.side', NULL) AS null, kde_pdf('dice.side', 2) > kde_pdf('dice.side', 7) AS beyond;

-- Several columns: arrays of any type, untyped, NULL, of ranges, of domains, named; a value has no names. All
-- rows are in the sample, so that answers are exact.
CREATE TABLE throws2 AS SELECT i % 6 + 1 AS side, i % 4 AS other FROM generate_series(1, 600) AS i;
SELECT rows FROM kde_fit('throws2', ARRAY['side', 'other'], seed => 1);
SELECT
  approx_count('throws2 (side, other)', ARRAY[2, 1], ARRAY[4, 2]) AS integers,
  approx_count('throws2 (side, other)', ARRAY[1.5, 1], ARRAY[4.5, 2]) AS numerics,
  approx_count('throws2 (side, other)', ARRAY[2, 1], ARRAY[4.5, 2]) AS mixed,
  approx_count('throws2 (side, other)', '{2,1}', '{4,2}') AS untyped,
  approx_count('throws2 (side, other)', '{2,1}', ARRAY[4, 2]) AS half_typed,
  approx_count('throws2 (side, other)', '{2,1}'::text, '{4,2}'::text) AS text,
  approx_count('throws2 (side, other)', ARRAY['2', '1'], ARRAY['4', '2']) AS texts,
  approx_count('throws2 (side, other)', ARRAY[2::side, 1], ARRAY[4, 2]::side[]) AS domains,
  approx_count('throws2 (side, other)', ARRAY[int4range(2, 5), int4range(1, 3)]) AS ranges,
  approx_count('throws2 (other, side)', ARRAY[1, 2], ARRAY[2, 4]) AS otherwise_named,
  approx_count(density => 'throws2 (side, other)', upper => ARRAY[4, 2], lower => ARRAY[2, 1], filter => NULL) AS named,
  approx_count(kde_density('throws2 (side, other)'), ARRAY[2, 1], ARRAY[4, 2]) AS value,
  approx_count(kde_density('throws2', ARRAY['other', 'side']), '{2,1}', '{4,2}') AS value_untyped;
SELECT
  approx_count('throws2 (side, other)') AS whole,
  approx_count('throws2 (side, other)', NULL::integer[], NULL) AS typed_null,
  approx_count('throws2 (side, other)', ARRAY[2, NULL], NULL) AS lower,
  approx_count('throws2 (side, other)', NULL, ARRAY[4, NULL]) AS upper,
  approx_count('throws2 (side, other)', '{NULL,NULL}', ARRAY[4, NULL]) AS untyped_nulls,
  approx_count('throws2 (side, other)', ARRAY[int4range(2, 5), NULL]) AS null_range;
-- One column of a density of several, alone or by a list of one, with bounds as of one or in arrays.
SELECT
  approx_count('throws2.side', 2, 4) AS column,
  approx_count('throws2 (side)', 2, 4) AS list,
  approx_count('throws2.side', ARRAY[2], ARRAY[4]) AS arrays,
  approx_count('throws2.side', int4range(2, 5)) AS range,
  approx_count('throws2.side', '2', '4') AS untyped;
SELECT
  approx_sum('throws2.other', 1, 2, measure => 'side') AS sum,
  approx_sum('throws2 (other)', '{1}'::int[], '{2}', measure => 'side') AS sum_arrays,
  approx_sum(kde_density('throws2 (side, other)'), '{NULL,1}', '{NULL,2}', measure => '1') AS sum_value,
  approx_avg('throws2.other', '1', '2', measure => 'side') AS avg,
  approx_avg('throws2 (side, other)', '{NULL,1}', '{NULL,2}', measure => 'side') AS avg_box,
  rounded(approx_variance('throws2.other', 1, 2, measure => 'side')) AS variance,
  rounded(approx_stddev('throws2.other', int4range(1, 3), measure => 'side')) AS stddev,
  approx_count('throws2.other', 1, 2, measure => 'side') AS not_null,
  approx_avg_as('throws2.other', NULL::integer, 1, 2, measure => 'side') AS own_type;
SELECT
  approx_count_ci('throws2.side', 2, 4) AS count,
  approx_count_ci('throws2.side', '2', '4', confidence => '0.9', changed_rows => 1) AS count_untyped,
  approx_sum_ci('throws2.other', 1, 2, measure => 'side') AS sum,
  approx_avg_ci('throws2.other', '1', '2', measure => 'side', filter => NULL) AS avg,
  rounded((approx_variance_ci('throws2.other', 1, 2, measure => 'side')).estimate) AS variance,
  rounded((approx_stddev_ci('throws2.other', 1, 2, measure => 'side')).estimate) AS stddev;
-- A required accuracy, and the exact answer, of each.
SELECT what, got FROM (VALUES
  ('count', approx_count('throws2 (side, other)', '{2,1}', '{4,2}', max_relative_error => 0)),
  ('sum', approx_sum('throws2.other', 1, 2, measure => 'side', max_relative_error => 0, otherwise => 'exact')),
  ('avg', approx_avg('throws2.other', 1, 2, measure => 'side', max_relative_error => 0, otherwise => 'null')),
  ('variance', rounded(approx_variance('dice.side', 2, 3, max_relative_error => 0, otherwise => 'exact'))),
  ('quantile', approx_quantile('dates.day', 0.5, max_relative_error => 0, otherwise => 'exact'))) AS v (what, got);
SELECT (SELECT count(*) FROM kde_explain('throws2.side', 2, 4)) AS explain,
  (SELECT count(*) FROM kde_explain('throws2.side', '2', '4', measure => 'other', filter => NULL)) AS explain_untyped,
  (SELECT count(*) FROM kde_explain('throws2 (side, other)')) AS explain_several,
  (SELECT count(*) FROM kde_conditional('throws2.other', ARRAY[1, 2], measure => 'side')) AS conditional,
  (SELECT count(*) FROM kde_conditional('throws2.other', '{1,2,3}', measure => 'side', confidence => '0.9', changed_rows => '1')) AS conditional_untyped,
  (SELECT count(*) FROM kde_conditional(kde_density('throws2 (side, other)'), ARRAY[1], measure => '2')) AS conditional_value,
  (SELECT count(*) FROM kde_conditional('throws2.other', NULL, measure => 'side')) AS conditional_null;
-- What is not so, and what is said of it.
\set VERBOSITY default
SELECT approx_count('throws2', 'side', 2, 4);
SELECT approx_count('throws2 (side, other)', '{2,1}', '{4,2}', 'side > 1');
SELECT approx_count('throws2 (side, other)', 2, 4);
SELECT approx_count('throws2.side', ARRAY[2, 3], ARRAY[4, 5]);
SELECT approx_sum('throws2 (side, other)', '{2,1}', '{4,2}');
SELECT approx_sum(kde_density('throws2 (side, other)'), '{2,1}', '{4,2}', measure => 'side');
SELECT approx_sum(kde_density('throws2 (side, other)'), '{2,1}', '{4,2}', measure => '3');
SELECT approx_count(kde_density('throws2 (side, other)'), '{2,1}', '{4,2}', filter => 'side > 1');
SELECT approx_quantile('throws2 (side, other)', 0.5);
SELECT kde_conditional('throws2.other', ARRAY[1]);
SELECT chosen, estimate FROM kde_explain(kde_density('throws2 (side, other)'), '{2,1}', '{4,2}');
SELECT kde_drop('throws2', 'side');

-- What is typed for a fit: a column behind its table, lists as texts and as arrays, all of one meaning.
CREATE SCHEMA typed;
CREATE TABLE typed.fares AS SELECT i % 6 AS fare, i % 4 AS qty, i % 3 AS "By day", 'k' || i % 2 AS k FROM generate_series(1, 600) AS i;
CREATE TABLE fares AS SELECT * FROM typed.fares;
CREATE FUNCTION typed_fit(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE told text; hinted text;
BEGIN
  EXECUTE 'SELECT FROM ' || call;
  RETURN (SELECT name || coalesce(' with ' || measures::text, '') FROM last_fit);
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS told = MESSAGE_TEXT, hinted = PG_EXCEPTION_HINT;
  RETURN told || ' / ' || hinted;
END $$;
SET client_min_messages = warning;
SELECT replace(call, current_database(), 'here') AS call, typed_fit(call) FROM unnest(ARRAY[
  $$kde_fit('fares.fare')$$, $$kde_fit('typed.fares.fare', seed => 1)$$, format('kde_fit(%L)', current_database() || '.typed.fares.qty'),
  $$kde_fit('fares."By day"')$$, $$kde_fit('fares.By day')$$, $$kde_fit('fares.fair')$$, $$kde_fit('typed.fare')$$,
  $$kde_fit('nowhere.fares.fare')$$, $$kde_fit('a.b.c.d.e')$$, $$kde_fit('fares.')$$, $$kde_fit('"fares')$$, $$kde_fit('0')$$,
  $$kde_fit('my fares', 'fare')$$, $$kde_fit('fares.fare', 'fare')$$,
  $$kde_fit('fares'::regclass, 'fare')$$, $$kde_fit('fares'::regclass::oid, 'fare')$$, $$kde_fit('fares'::text, 'fare')$$,
  $$kde_fit('fares'::varchar, 'fare')$$, $$kde_fit('fares'::name, 'fare')$$,
  $$kde_fit('fares', 'fare', measures => 'qty')$$, $$kde_fit('fares', 'fare', measures => 'QTY, "By day"')$$,
  $$kde_fit('fares', 'fare', measures => ARRAY['qty', 'By day'])$$, $$kde_fit('fares', 'fare', measures => ARRAY['qty']::name[])$$,
  $$kde_fit('fares', 'fare', measures => '{qty,By day}')$$, $$kde_fit('fares', ARRAY['fare'], measures => 'qty * 2')$$,
  $$kde_fit('fares', 'fare', measures => '{qty')$$, $$kde_fit('fares', 'fare', measures => 'qty,')$$,
  $$kde_fit('fares', 'fare', measures => 'quantity')$$, $$kde_fit('fares', 'fare', measures => ARRAY['qty', NULL])$$,
  $$kde_fit('fares', 'fare', group_by => 'k, upper(k)')$$, $$kde_fit('fares', 'fare', group_by => ARRAY['k', 'upper(k)'])$$,
  $$kde_fit('fares', 'fare', group_by => ARRAY['k', 'By day']::varchar[])$$, $$kde_fit('fares', 'fare', group_by => '{k}')$$,
  $$kde_fit('fares', 'fare', group_by => ARRAY['kk'])$$, $$kde_store('fares', 'fare', kde_sample('fares', 'fare'), measures => 'qty')$$]) AS call;
-- A table of that name comes before a column.
CREATE TABLE typed.qty AS SELECT i AS n FROM generate_series(1, 9) AS i;
CREATE TABLE typed AS TABLE fares;
-- A column within the first argument, with any option; of a table they are of none of its columns.
SELECT column_name, model, rows FROM kde_fit('fares.fare', sample_rows => -1, measures => 'qty, "By day"', group_by => 'k', name => 'of words');
SELECT column_name, rows FROM kde_fit('typed.fares."By day"', filter => 'qty > 1', method => 'lscv', seed => 1);
SELECT column_name, rows FROM kde_fit('fares.qty', exact => true, sample_rows => 9);
SELECT name, measures, group_by, filter FROM kde_densities_full WHERE relation = 'fares'::regclass AND (filter <> '' OR group_by IS NOT NULL) ORDER BY name;
SELECT approx_count(kde_sample('fares."By day"')) = approx_count(kde_sample('fares', 'By day')) AS same, (SELECT sum(count) FROM approx_groups('of words')) = approx_count('fares.fare') AS by_name;
SELECT kde_drop('of words'), kde_drop('typed.fares."By day"', filter => 'qty > 1');
SELECT call, typed_fit(call) FROM unnest(ARRAY[$$kde_fit('fares', sample_rows => -1)$$, $$kde_fit('fares'::regclass, group_by => 'k', method => 'lscv')$$, $$kde_fit('fares', exact => true)$$, $$kde_fit('fares.fare', exact => NULL)$$,
  $$kde_fit('fares', max_relative_error => 0.1)$$, $$kde_fit('fares', filter => 'qty > 1')$$, $$kde_fit('fares', name => 'all')$$, $$kde_fit('fares', steps => 'decimal')$$, $$kde_fit('fares', measures => 'qty')$$, $$kde_fit('fares.fare', measures => 'qty', seed => 2)$$, $$kde_sample('fares')$$, $$kde_sample('fares.nothing')$$, $$kde_sample('nowhere')$$]) AS call;
SELECT column_name FROM kde_fit('typed.qty');
SELECT column_name FROM kde_fit('typed.fare');
-- Of a table as a whole, what is worth it, as of a column that is a key what is asked for.
CREATE TABLE keyed (id integer PRIMARY KEY, v integer);
INSERT INTO keyed SELECT i, i % 9 FROM generate_series(1, 99) AS i;
SELECT column_name, fitted FROM kde_fit('keyed');
SELECT column_name, fitted, rows FROM kde_fit('keyed.id');
PREPARE typed AS SELECT rows FROM kde_fit($1, $2, measures => $3, group_by => $4);
EXECUTE typed('fares', 'fare', 'qty', '{k}');
EXECUTE typed('fares', 'fare', '{qty}', 'k');
SELECT parameter_types FROM pg_prepared_statements;
DEALLOCATE ALL;
RESET client_min_messages;

-- Parameters of unknown type, as drivers send them.
PREPARE bounds AS SELECT approx_count('dice.side', $1, $2);
PREPARE all_of_it AS SELECT approx_count($1, $2, $3);
PREPARE bounds_kde AS SELECT approx_count(kde_density('dice.side'), $1, $2);
PREPARE lower_alone AS SELECT approx_sum('dice.side', $1);
PREPARE half AS SELECT approx_avg('dice.side', $1, 4);
PREPARE fraction AS SELECT approx_quantile('dice.side', $1);
PREPARE fraction_kde AS SELECT approx_quantile(kde_density('dice.side'), $1);
PREPARE point AS SELECT kde_cdf($1, $2), kde_pdf($1, $2) > 0;
PREPARE own_type AS SELECT approx_avg_as('dates.day', NULL::date, $1, $2);
PREPARE with_interval AS SELECT approx_count_ci($1, $2, $3, confidence => $4);
PREPARE required AS SELECT approx_count($1, $2, $3, max_relative_error => $4, otherwise => $5);
PREPARE bins AS SELECT count(*) FROM approx_histogram($1, $2, lower => $3);
PREPARE bins_at AS SELECT count(*) FROM approx_histogram_at($1, $2);
PREPARE measured AS SELECT approx_sum($1, $2, $3, measure => $4, filter => $5);
PREPARE measured_interval AS SELECT approx_avg_ci($1, $2, $3, measure => $4, confidence => $5, filter => $6, changed_rows => $7);
PREPARE elements AS SELECT approx_count($1, ARRAY[$2, $3], ARRAY[$4, $5]);
PREPARE curve AS SELECT count(*) FROM kde_conditional($1, $2, measure => $3);
PREPARE explained AS SELECT count(*) FROM kde_explain($1, $2, $3, measure => $4);
PREPARE name AS SELECT (kde_info($1)).cells;
EXECUTE bounds('2', '4');
EXECUTE bounds(2, NULL);
EXECUTE all_of_it('dice.side', '2', '4');
EXECUTE bounds_kde('2', '4');
EXECUTE lower_alone('5');
EXECUTE half('2');
EXECUTE fraction('0.5');
EXECUTE fraction_kde('0.5');
EXECUTE point('dice.side', '2');
EXECUTE own_type('2026-01-02', NULL);
EXECUTE with_interval('dice.side', '2', '4', '0.9');
EXECUTE required('dice.side', '2', '4', '0.1', 'exact');
EXECUTE bins('dice.side', '7', '2');
EXECUTE bins_at('dice.side', '{1,2,6}');
EXECUTE all_of_it('throws2 (side, other)', '{2,1}', '{4,2}');
EXECUTE measured('throws2.other', '1', '2', 'side', NULL);
EXECUTE measured_interval('throws2.other', '1', '2', 'side', '0.9', NULL, '0');
EXECUTE elements('throws2 (side, other)', '2', '1', NULL, '2');
EXECUTE curve('throws2.other', '{1,2}', 'side');
EXECUTE explained('throws2.side', '2', '4', NULL);
EXECUTE name('dice.side');
SELECT name, parameter_types FROM pg_prepared_statements ORDER BY name COLLATE "C";
DEALLOCATE ALL;

-- In queries: bounds that change from row to row, inside functions and views.
SELECT s, approx_count('dice.side', s, s) AS here, approx_count('dice.side', NULL, s) AS up_to
FROM generate_series(0, 7, 3) AS s;
CREATE FUNCTION throws(low integer, high integer) RETURNS float8
LANGUAGE sql STABLE AS 'SELECT approx_count(''dice.side'', low, high)';
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
  (SELECT count(*) FROM approx_histogram(d)) AS bins, (SELECT count(*) FROM approx_histogram(d, '3')) AS untyped_bins
FROM (SELECT kde_agg(side) AS d FROM dice) AS s;
SELECT (SELECT count(*) > 9 FROM kde_plot('dice.side')) AS plot, (SELECT count(*) > 9 FROM kde_plot('dice.side'::varchar, 40, lower => '2', upper => 4.5)) AS bounds,
  (SELECT count(*) > 9 FROM kde_plot(d, 40, 12, kind => 'density', confidence => '0.9')) AS kde, (SELECT count(*) > 9 FROM kde_plot(density => 'dice.side', filter => NULL)) AS named,
  (SELECT count(*) > 9 FROM kde_plot(ARRAY[d, d], '{one,two}', 40)) AS array, (SELECT count(*) > 9 FROM kde_plot(ARRAY[d], lower => 2)) AS array_bounds,
  (SELECT count(*) > 9 FROM kde_plot(d::text)) AS literal, (SELECT count(*) FROM kde_plot(NULL)) AS null, (SELECT count(*) FROM kde_plot(NULL::kde[])) AS null_array
FROM (SELECT kde_agg(side) AS d FROM dice) AS s;
SELECT kde_svg('dice.side') LIKE '<svg %' AS svg, kde_svg('dice.side', 400, 300, kind => 'histogram', lower => 2, title => 'Dice') LIKE '%>Dice<%' AS named,
  kde_svg(d, filter => NULL) LIKE '<svg %' AS kde, kde_svg(ARRAY[d, d], '{one,two}', title => 'Dice') LIKE '%>two: 600 rows<%' AS array,
  kde_svg(NULL) AS null, kde_svg(NULL::kde) AS null_kde, kde_svg(NULL::kde[]) AS null_array
FROM (SELECT kde_agg(side) AS d FROM dice) AS s;
PREPARE plot AS SELECT count(*) FROM kde_plot($1);
PREPARE plot_named AS SELECT count(*) FROM kde_plot($1, width => $2, lower => $3, kind => $4);
PREPARE svg AS SELECT kde_svg($1, title => $2) LIKE '<svg %';
EXECUTE plot('dice.side');
EXECUTE plot_named('dice.side', '50', '2', 'cumulative');
EXECUTE svg('dice.side', 'Dice');
SELECT name, parameter_types FROM pg_prepared_statements ORDER BY name COLLATE "C";
DEALLOCATE ALL;
PREPARE aggregate AS SELECT approx_count(kde_agg(side, $1, $2, $3)) FROM dice;
EXECUTE aggregate('auto', '2', '1024');
SELECT parameter_types FROM pg_prepared_statements;
DEALLOCATE ALL;

SET client_min_messages = warning;
DROP SCHEMA overloads, typed CASCADE;
