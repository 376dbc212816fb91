-- NaN and infinities as bounds and as values, of every type that has them: whatever is answered is what the exact
-- plan answers, by comparisons, lists and buckets, and by functions. Only what differs is printed, and how many
-- questions there were.
\set ECHO none \\ \pset tuples_only on \\ \pset format unaligned
SET search_path = public;
CREATE SCHEMA not_finite;
SET search_path = not_finite, public;
SET kde_aqp.approximate_notice = off;
CREATE TABLE has_none (f8 double precision NOT NULL, f4 real NOT NULL, n numeric(8,2) NOT NULL, w integer NOT NULL, d date NOT NULL, ts timestamp NOT NULL, tz timestamptz NOT NULL, g text NOT NULL);
INSERT INTO has_none SELECT v, v, v, v, '2026-01-01'::date + v, '2026-01-01'::date + v, '2026-01-01'::date + v, CASE i % 2 WHEN 0 THEN 'a' ELSE 'b' END FROM (SELECT i, (ARRAY[1, 3, 9, 12])[1 + i % 4] AS v FROM generate_series(1, 3000::bigint) AS i) AS s;
CREATE TABLE has_some (LIKE has_none);
INSERT INTO has_some TABLE has_none;
INSERT INTO has_some
SELECT v::double precision, v::real, replace(replace(v, '-Infinity', '0'), 'Infinity', '0')::numeric, 5, i, i, i, 'a'
FROM (VALUES ('NaN', 'infinity'), ('Infinity', 'infinity'), ('-Infinity', '-infinity'), ('7', '2026-01-06')) AS s (v, t), LATERAL (SELECT t::timestamp AS i) AS u, generate_series(1, 5);
CREATE TABLE few (d date);
ANALYZE has_none, has_some;
\set ECHO queries
SELECT count((kde_fit(t::regclass, c, sample_rows => -1, group_by => g)).rows) AS fitted
FROM unnest('{has_none,has_some}'::text[]) AS t, unnest('{f8,f4,n,w,d,ts,tz}'::text[]) AS c, unnest(ARRAY[NULL, 'g']) AS g;
SELECT count(kde_set_plain_sql(name, true)) AS allowed FROM kde_densities_full WHERE relation IN ('has_none'::regclass, 'has_some'::regclass);
SELECT pg_stat_force_next_flush();

CREATE TABLE bounds (c text, value text);
INSERT INTO bounds SELECT c, format('%L::%s', v, type)
FROM (VALUES ('f8', 'double precision'), ('f4', 'real'), ('n', 'numeric')) AS t (c, type), unnest('{NaN,Infinity,-Infinity,3,5}'::text[]) AS v;
INSERT INTO bounds SELECT 'f4', format('%L::double precision', v) FROM unnest('{NaN,-Infinity,3}'::text[]) AS v;
INSERT INTO bounds SELECT 'w', format('%L::%s', v, type) FROM unnest('{NaN,Infinity,-Infinity,3,5}'::text[]) AS v, unnest('{numeric,double precision}'::text[]) AS type;
INSERT INTO bounds SELECT c, format('%L::%s', v, type)
FROM unnest('{d,ts,tz}'::text[]) AS c, unnest('{date,timestamptz}'::text[]) AS type, unnest('{infinity,-infinity,2026-01-04}'::text[]) AS v;
CREATE TABLE conditions AS
SELECT c, format('%s %s %s', c, o, value) AS condition FROM bounds, unnest('{<,<=,=,>=,>}'::text[]) AS o
UNION ALL SELECT a.c, format('%s BETWEEN %s AND %s', a.c, a.value, b.value) FROM bounds AS a JOIN bounds AS b USING (c)
UNION ALL SELECT a.c, format('%1$s > %2$s AND %1$s < %3$s', a.c, a.value, b.value) FROM bounds AS a JOIN bounds AS b USING (c)
UNION ALL SELECT a.c, format('%s IN (%s, %s)', a.c, a.value, b.value) FROM bounds AS a JOIN bounds AS b USING (c) WHERE a.value <= b.value
UNION ALL SELECT c, format('%s >= (SELECT %s)', c, value) FROM bounds;
CREATE TABLE questions AS
SELECT t AS of, replace(replace(replace(q, '#t', t), '#c', c), '?', condition) || CASE WHEN q LIKE '%GROUP' THEN ' BY 1' ELSE '' END AS query FROM (SELECT c, condition,
  unnest(ARRAY['SELECT count(*) FROM #t WHERE ?', 'SELECT min(#c), max(#c) FROM #t WHERE ?', 'SELECT #c, count(*) FROM #t WHERE ? GROUP', 'SELECT g, count(*) FROM #t WHERE ? GROUP']
    || CASE WHEN c IN ('f8', 'f4', 'n') THEN ARRAY['SELECT floor(#c / 2), count(*) FROM #t WHERE ? GROUP', 'SELECT round(#c), count(*), count(#c) FROM #t WHERE ? GROUP', 'SELECT width_bucket(#c, 0, 20, 5), count(*) FROM #t WHERE ? GROUP', 'SELECT sum(#c), avg(#c) FROM #t WHERE ?']
      WHEN c = 'w' THEN ARRAY['SELECT #c / 5, count(*) FROM #t WHERE ? GROUP', 'SELECT sum(#c) FROM #t WHERE ?']
      ELSE ARRAY['SELECT date_trunc(''month'', #c), count(*) FROM #t WHERE ? GROUP', 'SELECT extract(year FROM #c), count(*) FROM #t WHERE ? GROUP', 'SELECT count(*) FROM #t WHERE ? AND date_trunc(''month'', #c) <= ''infinity'''] END) AS q FROM conditions) AS s,
  unnest('{has_none,has_some}'::text[]) AS t;
-- An error is the exact plan's, too.
CREATE FUNCTION judged(query text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RETURN answered_by(query);
EXCEPTION WHEN OTHERS THEN
  BEGIN
    SET LOCAL kde_aqp.approximate = off;
    EXECUTE format('SELECT count(q::text) FROM (%s) AS q', query);
    RETURN 'DIFFERENT: ' || SQLERRM;
  EXCEPTION WHEN OTHERS THEN RETURN 'an error';
  END;
END $$;
WITH got AS MATERIALIZED (SELECT query, judged(query) AS by FROM (SELECT query, row_number() OVER (ORDER BY query COLLATE "C") AS i FROM questions) AS q WHERE i % 4 = 0)
(SELECT by, query FROM got WHERE by LIKE 'DIFFERENT%' ORDER BY query COLLATE "C" LIMIT 20)
UNION ALL SELECT format('%s different', count(*) FILTER (WHERE by LIKE 'DIFFERENT%')), CASE WHEN count(*) > 2000 AND count(*) FILTER (WHERE by LIKE 'answered%') > 1000 THEN 'of enough' ELSE format('%s answered of %s', count(*) FILTER (WHERE by LIKE 'answered%'), count(*)) END FROM got;

-- Functions: from one bound to the other, both included.
CREATE FUNCTION counted(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  out text;
BEGIN
  EXECUTE query INTO out;
  RETURN coalesce(out, 'NULL');
EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE;
END $$;
CREATE TABLE asked AS
SELECT a.c, t, counted(format('SELECT approx_count(%L, %s, %s)', t || '.' || a.c, a.value, b.value)) AS got, counted(format('SELECT count(*) FROM %s WHERE %s BETWEEN %s AND %s', t, a.c, a.value, b.value)) AS exact, a.value AS low, b.value AS high
FROM bounds AS a JOIN bounds AS b USING (c), unnest('{has_none,has_some}'::text[]) AS t;
SELECT * FROM asked WHERE got <> exact ORDER BY c, t, low, high LIMIT 20;
SELECT count(*) > 400 AS many FROM asked;

-- Beside a part of mostly infinite rows a sample is no surer of those up to its greatest value.
CREATE TABLE lasting AS
SELECT timestamptz '2021-01-01' + i * 7919 % 26280 * interval '1 hour' AS until FROM generate_series(1, 3000) AS i;
CREATE TABLE endless AS
SELECT CASE WHEN i <= 10 THEN timestamptz '2023-01-01' ELSE 'infinity' END AS until FROM generate_series(1, 3000) AS i;
SELECT kde_fit('lasting', 'until', sample_rows => 500, seed => 1),
       kde_fit('endless', 'until', sample_rows => 500, seed => 1) \g /dev/null
WITH alone AS (
  SELECT ci.* FROM approx_count_ci(kde_density('lasting.until'), '2022-01-01', '2024-01-01') AS ci
), beside AS (
  SELECT ci.*
  FROM (SELECT rollup(d) FROM unnest(ARRAY[kde_density('lasting.until'), kde_density('endless.until')]) AS d) AS r (d),
    approx_count_ci(r.d, '2022-01-01', '2024-01-01') AS ci
)
SELECT abs(beside.estimate - alone.estimate) < 100 AS alike,
       beside.upper_bound - beside.lower_bound >= alone.upper_bound - alone.lower_bound AS no_surer
FROM alone, beside;
