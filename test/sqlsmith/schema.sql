-- What SQLsmith finds when it looks around: tables with densities of every kind, values of type kde in
-- a table, and functions of concrete types, as SQLsmith knows no polymorphic ones and calls no function
-- that returns a set. A number stands for a name, as no text that it draws would be one. Tables and
-- densities are owned by the role that it is, so that it may fit and drop as well as ask.
\set ON_ERROR_STOP on
SET client_min_messages = warning;

CREATE EXTENSION kde_aqp;
CREATE ROLE smith LOGIN;
CREATE SCHEMA smith AUTHORIZATION smith;
SET ROLE smith;
SET search_path = smith, public;

CREATE TABLE numbers (id integer PRIMARY KEY, x double precision, y real, amount numeric, tally bigint);
INSERT INTO numbers
SELECT i, CASE i % 97 WHEN 0 THEN NULL WHEN 1 THEN 'NaN' WHEN 2 THEN 'infinity' ELSE sqrt(i % 700) * 10 END,
       (i * 7919 % 1000) / 10.0, round((i * 31 % 2000) / 7.0, 2), i % 40
FROM generate_series(1, 2000) i;

CREATE TABLE times (at timestamptz, day date, took interval, name text);
INSERT INTO times
SELECT '2026-01-01 UTC'::timestamptz + i * i * interval '1 second', '2026-01-01'::date + i % 300,
       i % 77 * interval '1 minute', 'name ' || i % 5
FROM generate_series(1, 1000) i;

CREATE TABLE parts (region integer, price double precision) PARTITION BY LIST (region);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES IN (2);
INSERT INTO parts SELECT 1 + i % 2, ln(i) FROM generate_series(1, 1000) i;

ANALYZE numbers, times, parts;

SELECT kde_fit('numbers', c, seed => 1) FROM unnest('{x,y,amount,tally}'::name[]) c \g /dev/null
SELECT kde_fit('times', c, seed => 1) FROM unnest('{at,day,took}'::name[]) c \g /dev/null
SELECT kde_fit('parts', 'price', method => 'lscv', seed => 1) \g /dev/null
SELECT kde_fit('numbers', 'x', filter => 'tally < 20', seed => 1) \g /dev/null
SELECT kde_fit('numbers', '{x,y,tally}'::text[], seed => 1) \g /dev/null
SELECT kde_fit('numbers', '{x,y}'::text[], method => 'lscv_matrix', seed => 1, filter => 'tally < 30') \g /dev/null
SELECT kde_fit('times', '{at,day}'::text[], seed => 1) \g /dev/null

-- Of this no function below fits or drops a density, and nobody changes rows: plain SQL is answered by them.
CREATE TABLE sold (day date NOT NULL, amount numeric(8,2), pieces integer, region text, kind integer);
INSERT INTO sold
SELECT '2026-01-01'::date + i * 7919 % 300, nullif(i * 31 % 997, 5) / 100.0, nullif(i % 40, 7), ('{EU,US,Asia,NULL}'::text[])[1 + i % 4], i % 3
FROM generate_series(1, 6000) i;
ANALYZE sold;
SELECT kde_fit('sold', c, sample_rows => -1, measures => '{amount}') FROM unnest('{day,pieces,region}'::name[]) c \g /dev/null
SELECT kde_fit('sold', 'day', sample_rows => -1, measures => '{amount,pieces}', group_by => g) FROM unnest('{kind,"region, kind"}'::text[]) g \g /dev/null
SELECT kde_set_plain_sql(name, true) FROM kde_densities_full WHERE relation = 'sold'::regclass AND name NOT LIKE '%.region' \g /dev/null

-- Values, which it may not change: they are to last.
CREATE TABLE kept (id integer, d kde, bounds double precision[], points double precision[]);
INSERT INTO kept
SELECT 1, kde_density('numbers.x'), '{10,20,50}'::float8[], '{{1,2},{2,3},{4,4},{5,9},{6,1},{7,7},{9,2},{8,1}}'::float8[]
UNION ALL SELECT 2, kde_density('times.day'), '{}', '{1,2,3,4,5,6}'
UNION ALL SELECT 3, kde_density('numbers', '{x,y,tally}'::text[]), '{5,NULL}', '{{1,1},{2,2}}'
UNION ALL SELECT 4, (SELECT kde_agg(amount) FROM numbers), '{NaN,1}', '{NaN,1,2}'
UNION ALL SELECT 5, (SELECT kde_agg(took) FROM times), '{-infinity,infinity}', '{}'
UNION ALL SELECT 6, NULL, NULL, NULL
UNION ALL SELECT 7, kde_density('sold.region'), '{1}', '{1}';
RESET ROLE;
ALTER TABLE kept OWNER TO CURRENT_USER;
ALTER TABLE sold OWNER TO CURRENT_USER;
GRANT SELECT ON kept, sold TO smith;
SET ROLE smith;

-- Names, good and bad, by any number: the places of one number fit each other. The second number, where
-- there is one, chooses another place a fourth of the time.
CREATE FUNCTION place(integer) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 1 + abs(coalesce($1, 0) % 8)';
CREATE FUNCTION place(integer, integer) RETURNS integer LANGUAGE sql IMMUTABLE AS
    'SELECT place(CASE WHEN $2 % 4 = 0 THEN $2 / 4 ELSE $1 END)';
CREATE FUNCTION name_at(integer) RETURNS text LANGUAGE sql IMMUTABLE AS
    $$SELECT ('{numbers.x,numbers.y,smith.numbers.amount,times.day,times.at,parts.price,numbers.tally,"no such name"}'::text[])[place($1)]$$;
CREATE FUNCTION table_at(integer) RETURNS regclass LANGUAGE sql STABLE AS
    $$SELECT ('{numbers,numbers,numbers,times,times,parts,numbers,kept}'::text[])[place($1)]::regclass$$;
CREATE FUNCTION column_at(integer, integer) RETURNS name LANGUAGE sql IMMUTABLE AS
    $$SELECT ('{x,y,amount,day,at,price,tally,points}'::name[])[place($1, $2)]$$;
CREATE FUNCTION target_at(integer, integer) RETURNS text LANGUAGE sql IMMUTABLE AS
    $$SELECT ('{x,y,x,at,day,price,tally,nothing}'::text[])[place($1, $2)]$$;
CREATE FUNCTION columns_at(integer, integer) RETURNS text[] LANGUAGE sql IMMUTABLE AS
    $$SELECT string_to_array(('{x y,y x,x tally,at day,at day,price region,x y tally,nothing}'::text[])[place($1, $2)], ' ')$$;
CREATE FUNCTION filter_at(integer, integer) RETURNS text LANGUAGE sql IMMUTABLE AS
    $$SELECT ('{NULL,tally < 30,NULL,NULL,name IS NOT NULL,region = 1,tally < 20,no condition}'::text[])[place($1, $2)]$$;
CREATE FUNCTION method_at(integer) RETURNS text LANGUAGE sql IMMUTABLE AS
    $$SELECT ('{auto,plugin,lscv,silverman,sheather_jones,smoothed_cv,scott,nonsense}'::text[])[place($1)]$$;
CREATE FUNCTION kept_at(integer) RETURNS kde LANGUAGE sql STABLE AS 'SELECT d FROM kept WHERE id = place($1)';

CREATE FUNCTION column_named(integer, integer) RETURNS text LANGUAGE sql STABLE AS
    $$SELECT table_at($1)::text || '.' || column_at($1, $2)$$;
CREATE FUNCTION columns_named(integer, integer) RETURNS text LANGUAGE sql STABLE AS
    $$SELECT table_at($1)::text || ' (' || array_to_string(columns_at($1, $2), ', ') || ')'$$;

-- Functions of concrete types, of every form.
CREATE FUNCTION count_of(integer, float8, float8) RETURNS float8 LANGUAGE sql STABLE AS 'SELECT approx_count(name_at($1), $2, $3)';
CREATE FUNCTION count_of(integer, integer, numeric, numeric) RETURNS float8 LANGUAGE sql STABLE AS 'SELECT approx_count(column_named($1, $2), $3, $4)';
CREATE FUNCTION count_kept(integer, float8, float8) RETURNS float8 LANGUAGE sql STABLE AS 'SELECT approx_count(kept_at($1), $2, $3)';
CREATE FUNCTION count_of(integer, int4range) RETURNS float8 LANGUAGE sql STABLE AS 'SELECT approx_count(kept_at($1), $2)';
CREATE FUNCTION count_of(integer, timestamptz, timestamptz) RETURNS float8 LANGUAGE sql STABLE AS 'SELECT approx_count(name_at($1), $2, $3)';
CREATE FUNCTION count_of(integer, date, date) RETURNS float8 LANGUAGE sql STABLE AS 'SELECT approx_count(kept_at($1), $2, $3)';
CREATE FUNCTION count_of(integer, interval, interval) RETURNS float8 LANGUAGE sql STABLE AS 'SELECT approx_count(name_at($1), $2, $3)';
CREATE FUNCTION count_or_exact(integer, float8, float8, float8) RETURNS float8 LANGUAGE sql STABLE AS $$SELECT approx_count(name_at($1), $2, $3, max_relative_error => $4, otherwise => 'exact')$$;
CREATE FUNCTION sum_of(integer, float8, float8) RETURNS float8 LANGUAGE sql STABLE AS 'SELECT approx_sum(name_at($1), $2, $3)';
CREATE FUNCTION sum_of(integer, bigint, bigint) RETURNS float8 LANGUAGE sql STABLE AS 'SELECT approx_sum(kept_at($1), $2, $3)';
CREATE FUNCTION avg_of(integer, float8, float8) RETURNS float8 LANGUAGE sql STABLE AS 'SELECT approx_avg(name_at($1), $2, $3)';
CREATE FUNCTION avg_of(integer, integer, integer, integer) RETURNS float8 LANGUAGE sql STABLE AS 'SELECT approx_avg(column_named($1, $2), $3, $4)';
CREATE FUNCTION avg_of(integer, timestamptz, timestamptz) RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT approx_avg_as(kept_at($1), now(), $2, $3)';
CREATE FUNCTION spread_kept(integer, float8, float8) RETURNS float8 LANGUAGE sql STABLE AS 'SELECT approx_stddev(kept_at($1), $2, $3)';
CREATE FUNCTION spread_of(integer, float8, float8) RETURNS float8 LANGUAGE sql STABLE AS 'SELECT approx_variance(name_at($1), $2, $3)';
CREATE FUNCTION date_quantile(integer, float8) RETURNS date LANGUAGE sql STABLE AS 'SELECT approx_quantile_as(kept_at($1), $2, current_date)';
CREATE FUNCTION pdf_of(integer, float8) RETURNS float8 LANGUAGE sql STABLE AS 'SELECT kde_pdf(kept_at($1), $2)';
CREATE FUNCTION cdf_of(integer, numeric) RETURNS float8 LANGUAGE sql STABLE AS 'SELECT kde_cdf(name_at($1), $2)';
CREATE FUNCTION interval_of(integer, float8, float8, float8, float8) RETURNS float8 LANGUAGE sql STABLE AS
    'SELECT upper_bound - lower_bound FROM approx_count_ci(kept_at($1), $2, $3, confidence => $4, changed_rows => $5)';
CREATE FUNCTION interval_of(integer, float8, float8, float8) RETURNS float8 LANGUAGE sql STABLE AS
    'SELECT upper_bound - lower_bound FROM approx_avg_ci(name_at($1), $2, $3, confidence => $4)';
CREATE FUNCTION sum_interval_of(integer, float8, float8) RETURNS float8 LANGUAGE sql STABLE AS
    'SELECT upper_bound - lower_bound FROM approx_sum_ci(kept_at($1), $2, $3)';
CREATE FUNCTION quantile_interval_of(integer, float8) RETURNS float8 LANGUAGE sql STABLE AS
    'SELECT upper_bound - lower_bound FROM approx_quantile_ci(kept_at($1), $2)';
CREATE FUNCTION bins_of(integer, integer) RETURNS float8[] LANGUAGE sql STABLE AS
    'SELECT array_agg(count) FROM approx_histogram(kept_at($1), least($2, 500))';
CREATE FUNCTION bins_of(integer, integer, float8, float8) RETURNS float8[] LANGUAGE sql STABLE AS
    'SELECT array_agg(count) FROM approx_histogram(name_at($1), least($2, 500), lower => $3, upper => $4)';
CREATE FUNCTION bins_at(integer, float8[]) RETURNS float8[] LANGUAGE sql STABLE AS
    'SELECT array_agg(fraction) FROM approx_histogram_at(kept_at($1), $2)';
CREATE FUNCTION round_bins_of(integer, integer, float8, float8) RETURNS float8[] LANGUAGE sql STABLE AS
    'SELECT array_agg(count) FROM approx_histogram(kept_at($1), least($2, 500), lower => $3, upper => $4, equal => ''round'')';
CREATE FUNCTION top_of(integer, integer, float8) RETURNS float8[] LANGUAGE sql STABLE AS
    'SELECT array_agg(upper_bound - lower_bound) FROM approx_top(kept_at($1), least($2, 500), confidence => $3)';
CREATE FUNCTION points_of(integer, integer, float8, float8) RETURNS float8[] LANGUAGE sql STABLE AS
    'SELECT array_agg(cdf) FROM kde_points(kept_at($1), least($2, 500), $3, $4)';
CREATE FUNCTION plot_of(integer, integer, integer, float8, float8) RETURNS text LANGUAGE sql STABLE AS
    $$SELECT string_agg(line, ' ') FROM kde_plot(kept_at($1), 30 + abs($2 % 100), 6 + abs($3 % 40), lower => $4, upper => $5,
      kind => (ARRAY['histogram', 'density', 'cumulative'])[1 + abs($2 % 3)]) AS line$$;
CREATE FUNCTION plots_of(integer, integer) RETURNS bigint LANGUAGE sql STABLE AS
    'SELECT count(*) FROM kde_plot(ARRAY[kept_at($1), kept_at($2)])';
CREATE FUNCTION svg_of(integer, integer, float8, float8) RETURNS text LANGUAGE sql STABLE AS
    'SELECT kde_svg(ARRAY[kept_at($1), kept_at($2)], lower => $3, upper => $4, title => $1::text)';
CREATE FUNCTION svg_named(integer, integer) RETURNS text LANGUAGE sql STABLE AS 'SELECT kde_svg(name_at($1), 160 + abs($2 % 900))';
CREATE FUNCTION box_count(integer, integer, float8, float8, integer) RETURNS float8 LANGUAGE sql STABLE AS
    'SELECT approx_count(columns_named($1, $2), ARRAY[$3, $3], ARRAY[$4, $4], filter => filter_at($1, $5))';
CREATE FUNCTION box_sum(integer, integer, integer, float8, float8) RETURNS float8 LANGUAGE sql STABLE AS
    'SELECT approx_sum(columns_named($1, $3), ARRAY[$4, $4], ARRAY[$5, $5], measure => target_at($1, $2))';
CREATE FUNCTION box_avg(integer, integer, integer, float8, float8, integer) RETURNS float8 LANGUAGE sql STABLE AS
    'SELECT approx_avg(columns_named($1, $3), ARRAY[$4, $4], ARRAY[$5, $5], measure => target_at($1, $2), filter => filter_at($1, $6))';
CREATE FUNCTION box_spread(integer, integer, integer, float8, float8) RETURNS float8 LANGUAGE sql STABLE AS
    'SELECT upper_bound FROM approx_variance_ci(columns_named($1, $3), ARRAY[$4, $4], ARRAY[$5, $5], measure => target_at($1, $2))';
CREATE FUNCTION box_interval(integer, integer, float8, float8, float8) RETURNS float8 LANGUAGE sql STABLE AS
    'SELECT upper_bound FROM approx_count_ci(columns_named($1, $2), ARRAY[$3, $3], ARRAY[$4, $4], confidence => $5)';
CREATE FUNCTION reasons(integer, integer, float8, float8, integer, integer) RETURNS text[] LANGUAGE sql STABLE AS
    'SELECT array_agg(reason) FROM kde_explain(columns_named($1, $2), ARRAY[$3, $3], ARRAY[$4, $4], measure => target_at($1, $5), filter => filter_at($1, $6))';
CREATE FUNCTION conditional(integer, integer, integer, float8) RETURNS float8[] LANGUAGE sql STABLE AS
    'SELECT array_agg(estimate) FROM kde_conditional(column_named($1, $3), ARRAY[$4, $4], measure => target_at($1, $2))';
CREATE FUNCTION fit_of(integer, integer, integer, bigint) RETURNS float8 LANGUAGE sql VOLATILE AS
    'SELECT rows FROM kde_fit(table_at($1), column_at($1, $2), method_at($3), greatest(least($4, 2000), -1))';
CREATE FUNCTION fit_of(integer, integer, integer) RETURNS text LANGUAGE sql VOLATILE AS
    'SELECT size FROM kde_fit(table_at($1), columns_at($1, $2), filter => filter_at($1, $3), sample_rows => 200)';
CREATE FUNCTION drop_of(integer, integer) RETURNS boolean LANGUAGE sql VOLATILE AS 'SELECT kde_drop(column_named($1, $2), if_exists => true)';
CREATE FUNCTION bandwidth_of(float8[], integer) RETURNS float8 LANGUAGE sql STABLE AS 'SELECT kde_bandwidth($1, method_at($2))';
CREATE FUNCTION matrix_of(float8[]) RETURNS float8[] LANGUAGE sql STABLE AS 'SELECT kde_bandwidth_matrix($1)';
CREATE FUNCTION estimate_of(float8[], float8[], float8[]) RETURNS float8[] LANGUAGE sql STABLE AS 'SELECT kde_evaluate($1, $2, $3)';
CREATE FUNCTION summary_of(float8[]) RETURNS kde LANGUAGE sql STABLE AS 'SELECT kde_agg(x) FROM unnest($1) x';
CREATE FUNCTION summary_of(float8[], integer, float8, integer) RETURNS kde LANGUAGE sql STABLE AS 'SELECT kde_agg(x, method_at($2), $3, $4) FROM unnest($1) x';
CREATE FUNCTION together(integer, integer, integer) RETURNS kde LANGUAGE sql STABLE AS
    'SELECT rollup(d, $3) FROM (VALUES (kept_at($1)), (kept_at($2))) AS v (d)';
CREATE FUNCTION through_text(integer) RETURNS kde LANGUAGE sql STABLE AS 'SELECT kept_at($1)::text::kde';
CREATE FUNCTION from_text(text) RETURNS kde LANGUAGE sql STABLE AS 'SELECT $1::kde';
CREATE FUNCTION rows_named(text) RETURNS float8 LANGUAGE sql STABLE AS 'SELECT rows FROM kde_info($1)';
CREATE FUNCTION rows_named(integer, integer) RETURNS float8 LANGUAGE sql STABLE AS
    $$SELECT rows FROM kde_info(columns_named($1, $2))$$;
CREATE FUNCTION curve_named(integer, integer) RETURNS float8[] LANGUAGE sql STABLE AS
    'SELECT array_agg(cdf) FROM kde_points(name_at($1), least($2, 500))';
CREATE FUNCTION methods_of(integer) RETURNS text LANGUAGE sql STABLE AS 'SELECT method FROM kde_info(kept_at($1))';

-- Plain SQL: SQLsmith groups nothing by itself, but puts conditions on what views and functions have.
CREATE VIEW sold_totals AS SELECT count(*) AS n, sum(amount) AS total, avg(amount) AS mean FROM sold WHERE pieces > 3;
CREATE VIEW sold_by_kind AS SELECT kind, count(*) AS n, sum(amount) AS total, avg(pieces) AS mean FROM sold GROUP BY kind;
CREATE VIEW sold_by_groups AS SELECT region, kind, count(amount) AS n, sum(amount) AS total FROM sold WHERE day < '2026-06-01' GROUP BY region, kind;
CREATE VIEW sold_by_month AS SELECT date_trunc('month', day) AS month, kind, count(*) AS n, sum(pieces) AS total FROM sold GROUP BY 1, 2;
CREATE VIEW sold_by_day AS SELECT day, count(*) AS n, avg(amount) AS mean FROM sold GROUP BY day HAVING count(*) > 3;
CREATE VIEW sold_by_pieces AS SELECT pieces / 10 AS tens, count(*) AS n, sum(amount) AS total FROM sold WHERE pieces IS NOT NULL GROUP BY 1;
CREATE VIEW sold_at_once AS SELECT t.*, (SELECT count(*) FROM sold AS s WHERE s.pieces < t.kind) AS fewer FROM sold_by_kind AS t;
CREATE VIEW sold_listed AS SELECT count(*) AS n, sum(amount) AS total, avg(pieces) AS mean FROM sold WHERE pieces IN (1, 5, 9, 30, -2);
CREATE VIEW sold_on_days AS SELECT kind, count(*) AS n, avg(amount) AS mean FROM sold WHERE day IN ('2026-02-01', '2026-03-01', '2027-01-01') GROUP BY kind;
CREATE VIEW sold_ends AS
    SELECT approx_lower(count(*)) AS least, approx_upper(sum(amount)) AS most, min(pieces) AS first, max(pieces) AS last, stddev(amount) AS spread
    FROM sold WHERE pieces BETWEEN 2 AND 30;
CREATE VIEW sold_by_year AS SELECT extract(year FROM day) AS year, count(*) AS n, min(day) AS first FROM sold WHERE day >= '2026-02-01' GROUP BY 1;
CREATE VIEW sold_in_march AS SELECT count(*) AS n, sum(amount) AS total FROM sold WHERE date_trunc('month', day) = '2026-03-01';
CREATE FUNCTION sold_where(integer, bigint) RETURNS float8 LANGUAGE sql STABLE AS
    $$SELECT sum_upper FROM approx_where('sold', format('pieces BETWEEN %s AND %s', $1, $2), measure => 'amount')$$;
CREATE FUNCTION sold_between(date, date) RETURNS bigint LANGUAGE sql STABLE AS 'SELECT count(*) FROM sold WHERE day BETWEEN $1 AND $2';
CREATE FUNCTION sold_between(integer, bigint) RETURNS numeric LANGUAGE sql STABLE AS 'SELECT sum(amount) FROM sold WHERE pieces >= $1 AND pieces < $2';
CREATE FUNCTION sold_over(numeric) RETURNS numeric LANGUAGE plpgsql STABLE AS 'BEGIN RETURN (SELECT avg(amount) FROM sold WHERE pieces > $1); END';
CREATE FUNCTION sold_in(text, date) RETURNS bigint LANGUAGE plpgsql STABLE AS
    'BEGIN RETURN (SELECT sum(pieces) FROM sold WHERE day >= $2 AND region = $1 AND kind > 0); END';
CREATE FUNCTION sold_steps(integer, integer) RETURNS float8[] LANGUAGE sql STABLE AS
    'SELECT array_agg(n) FROM (SELECT pieces / $1 AS step, count(*)::float8 AS n FROM sold WHERE pieces < $2 GROUP BY 1 ORDER BY 1) AS s';
CREATE FUNCTION region_at(integer) RETURNS text LANGUAGE sql IMMUTABLE AS $$SELECT ('{EU,US,eu,"",NULL,Asia}'::text[])[place($1)]$$;
CREATE FUNCTION words_count(integer, integer) RETURNS float8 LANGUAGE sql STABLE AS
    $$SELECT approx_count('sold.region', ARRAY[region_at($1), region_at($2)])$$;
CREATE FUNCTION words_avg(text, float8) RETURNS float8 LANGUAGE sql STABLE AS
    $$SELECT upper_bound FROM approx_avg_ci('sold.region', $1, measure => 'amount', confidence => $2)$$;
CREATE FUNCTION words_count(integer, text) RETURNS float8 LANGUAGE sql STABLE AS 'SELECT approx_count(kept_at($1), $2)';
CREATE FUNCTION words_top(integer, integer) RETURNS text[] LANGUAGE sql STABLE AS
    'SELECT array_agg(value) FROM approx_top(kept_at($1), $2)';
