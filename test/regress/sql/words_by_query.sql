-- Categories of which every row is read: by GROUP BY with workers, without, and by the rows of a scan in common
-- with other densities. The bytes are the same, and answers those of plain SQL.
\pset tuples_only
\pset format unaligned
-- Either the leader or a worker meets what is wrong.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS words_by_query CASCADE;
CREATE SCHEMA words_by_query;
SET search_path = words_by_query, public;

CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy', 'never');
CREATE COLLATION ignoring_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE t (
  id integer, few text, many text, c char(9), b boolean, m mood, i inet, ci text COLLATE ignoring_case, j jsonb, n name,
  amount numeric(10, 2), whole bigint, y double precision) PARTITION BY RANGE (id);
CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (9000);
CREATE TABLE t2 (j jsonb, gone text, many text, few text, c char(9), b boolean, m mood, i inet, ci text COLLATE ignoring_case,
  n name, y double precision, amount numeric(10, 2), whole bigint, id integer);
ALTER TABLE t2 DROP COLUMN gone;
ALTER TABLE t ATTACH PARTITION t2 FOR VALUES FROM (9000) TO (30000);
INSERT INTO t SELECT k, nullif('word ' || k % 17, 'word 7'), md5((k % 7001)::text), 'c' || k % 5, nullif(k % 3, 2) = 0,
  ('{sad,ok,happy}'::mood[])[1 + k % 3], ('10.0.' || k % 6 || '.1')::inet, CASE k % 4 WHEN 0 THEN 'Eu' WHEN 1 THEN 'EU' ELSE 'us' END,
  ('{"k": ' || k % 3 || repeat('.0', k % 2) || '}')::jsonb, 'n' || k % 4, nullif(k % 1013, 5) / 8.0, k * 7919 % 100003, nullif(k % 64, 9) / 4.0
FROM generate_series(1, 20000) AS k;
ALTER TABLE t1 SET (parallel_workers = 2);
ALTER TABLE t2 SET (parallel_workers = 2);
CREATE INDEX t1_id ON t1 (id);
CREATE INDEX t2_id ON t2 (id);
ANALYZE t;

SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
CREATE FUNCTION has_workers(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  plan json;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
  RETURN plan::text LIKE '%"Partial"%' AND plan::text LIKE '%"Workers Planned"%';
END $$;
SELECT has_workers('SELECT few, count(*), kde_aqp.value_sums(amount, whole) FROM t GROUP BY 1');

-- The bytes of each way, and how many ways differ.
CREATE TABLE fitted (way text, name text, bytes text);
CREATE FUNCTION note(way text) RETURNS void LANGUAGE sql AS $$
  INSERT INTO fitted SELECT way, column_names[1], md5(density::text) FROM kde_aqp.fitted WHERE relation = 't'::regclass
$$;
CREATE FUNCTION compare(measures text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  fit text := format('SELECT kde_fit(''t'', c, measures => %L, sample_rows => -1, filter => f) FROM unnest(''{few,many,c,b,m,i,n,ci,j}''::text[]) AS c,
    unnest(ARRAY[NULL, ''id %% 3 > 0'']) AS f', measures);
BEGIN
  DELETE FROM fitted;
  EXECUTE fit;
  PERFORM note('workers');
  SET max_parallel_workers_per_gather = 0;
  EXECUTE fit;
  PERFORM note('alone');
  -- Of files that are new all rows are read.
  CLUSTER t1 USING t1_id;
  CLUSTER t2 USING t2_id;
  PERFORM kde_refresh('t', force => true);
  PERFORM note('rows');
  RESET max_parallel_workers_per_gather;
  RETURN QUERY SELECT format('%s: %s fits in %s ways, %s different', name, count(*), count(DISTINCT way), count(DISTINCT bytes))
    FROM fitted GROUP BY name ORDER BY name;
END $$;
SELECT compare('{}');
SELECT compare('{amount,whole,y}');

-- Of each value plain SQL's.
CREATE FUNCTION wrong(col text) RETURNS TABLE (asked bigint, counts bigint, sums bigint) LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY EXECUTE format(
    'SELECT count(*), count(*) FILTER (WHERE approx_count(%1$L, x) IS DISTINCT FROM n),
       count(*) FILTER (WHERE round(approx_sum(%1$L, x, measure => ''amount'')::numeric, 2) IS DISTINCT FROM s
         OR round(approx_sum(%1$L, x, measure => ''whole'')::numeric, 2) IS DISTINCT FROM w)
     FROM (SELECT %2$I AS x, count(*)::float8 AS n, sum(amount) AS s, sum(whole) AS w FROM t WHERE %2$I IS NOT NULL GROUP BY 1) AS g',
    't.' || col, col);
END $$;
SELECT col, w.* FROM unnest('{few,c,b,m,i,n,ci,j}'::text[]) AS col, wrong(col) AS w;
SELECT (kde_info('t.few')).nulls, (SELECT count(*) FROM t WHERE few IS NULL);
SELECT rank, value, count FROM approx_top('t.m');

-- Of values of equal counts those are kept that come first by their bytes.
SELECT count(*) BETWEEN 1000 AND 5000 AS some, array_agg(value ORDER BY rank) = (
  SELECT (array_agg(many ORDER BY n DESC, many COLLATE "C"))[1:count(a)] FROM (SELECT many, count(*) AS n FROM t GROUP BY 1) AS g) AS first
FROM approx_top('t.many', 10000) AS a;

-- A measure that is not finite, of a value and of NULL; a sum that cannot be told from doubles is near.
CREATE TABLE u AS SELECT 'w' || k % 3 AS word, k::float8 / 3 AS y FROM generate_series(1, 5000) AS k;
INSERT INTO u VALUES (NULL, 'NaN'), (NULL, NULL), ('w3', NULL);
SELECT model FROM kde_fit('u', 'word', measures => '{y}', sample_rows => -1);
SELECT word, abs(approx_sum('u.word', word, measure => 'y') / sum(y) - 1) < 1e-14 AS near FROM u WHERE word < 'w3' GROUP BY 1 ORDER BY 1;
SELECT approx_count('u.word', 'w3'), approx_sum('u.word', 'w3', measure => 'y');
INSERT INTO u VALUES ('w1', 'infinity');
SELECT kde_fit('u', 'word', measures => '{y}', sample_rows => -1);
-- No rows, nothing but NULL, an expression that is the same for all.
SELECT kde_fit('u', 'word', filter => 'y > 1e9 AND y < 1e10', sample_rows => -1);
SELECT kde_fit('u', 'word', filter => 'word IS NULL', sample_rows => -1);
SELECT model FROM kde_fit('u', ARRAY['left(word, 1)'], sample_rows => -1);

-- Whose rows are hidden, or may not be read.
CREATE ROLE regress_kde_words;
GRANT USAGE ON SCHEMA words_by_query TO regress_kde_words;
ALTER TABLE u OWNER TO regress_kde_words;
ALTER TABLE u ENABLE ROW LEVEL SECURITY;
ALTER TABLE u FORCE ROW LEVEL SECURITY;
CREATE POLICY p ON u USING (word <> 'w1');
SELECT kde_fit('u', 'word', sample_rows => -1);
SELECT count(*) FROM approx_top('u.word');
ALTER TABLE u DISABLE ROW LEVEL SECURITY;
REVOKE SELECT ON u FROM regress_kde_words;
SELECT kde_fit('u', 'word', sample_rows => -1);

-- States are the aggregate's own.
SELECT kde_aqp.value_sums_row(NULL, 1);
SELECT kde_aqp.value_sums(few) FROM t;
SELECT try('SELECT kde_aqp.value_sums() FROM t');
CREATE AGGREGATE damaged(integer) (SFUNC = kde_aqp.value_sums_row, STYPE = bytea, INITCOND = '\x00');
SELECT damaged(id) FROM t;
CREATE AGGREGATE combined(bytea) (SFUNC = kde_aqp.value_sums_combine, STYPE = bytea);
SELECT count(*) AS groups, md5(combined(b)::text) IS NOT NULL AS combined FROM (SELECT few, kde_aqp.value_sums(id) AS b FROM t GROUP BY 1) AS s;
SELECT combined(overlay(b PLACING '\xffffffff' FROM at)) IS NULL AS none FROM (SELECT few, kde_aqp.value_sums(id) AS b FROM t GROUP BY 1) AS s,
  generate_series(1, 9, 8) AS at;

DROP SCHEMA words_by_query CASCADE;
DROP ROLE regress_kde_words;
