-- What EXPLAIN tells of densities: a line each of how far off, how fresh and of how many cells its answers are, or the
-- reason why the exact plan ran.
\set ECHO queries \\ \pset tuples_only on \\ \pset format unaligned
SET TimeZone = 'UTC';
SET kde_aqp.approximate_notice = off;
SELECT kde_approximate('all');
CREATE TABLE trip AS SELECT i AS id, timestamptz '2026-01-01' + i * interval '10 minutes' AS at, CASE i % 3 WHEN 0 THEN 'a' WHEN 1 THEN 'b' ELSE 'c' END AS k, i % 50 AS fare, (i * 7919) % 10007 AS tip
FROM generate_series(0, 19999) AS i;
ALTER TABLE trip ALTER at SET NOT NULL, ALTER id SET NOT NULL, ALTER tip SET NOT NULL;
VACUUM (ANALYZE) trip;
SELECT (kde_fit('trip', 'at', sample_rows => -1, group_by => 'k', measures => 'fare')).rows, (kde_fit('trip', 'id', sample_rows => -1)).rows, (kde_fit('trip', ARRAY['id', 'tip'], seed => 1)).rows;
SELECT kde_set_plain_sql(name, true) FROM kde_densities_full WHERE relation = 'trip'::regclass;
SELECT pg_stat_force_next_flush();
-- What the node says, without figures that hang on a sample, and times.
CREATE FUNCTION told(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
    IF line ~ 'Density: |Answered: ' THEN RETURN NEXT regexp_replace(regexp_replace(regexp_replace(ltrim(line), 'within [0-9.]+ %', 'within N %'), '\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^;]*', 'then'), 'at most \d+ rows', 'at most N rows'); END IF;
  END LOOP;
END $$;
CREATE FUNCTION told_as_json(query text) RETURNS SETOF jsonb LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
  EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT json) ' || query INTO plan;
  RETURN QUERY WITH RECURSIVE n AS (SELECT plan::jsonb #> '{0,Plan}' AS p UNION ALL SELECT c FROM n, jsonb_array_elements(p -> 'Plans') AS c)
  SELECT jsonb_strip_nulls(jsonb_build_object('Densities', (SELECT jsonb_agg(CASE WHEN d ? 'As Of' THEN d || '{"As Of": "then", "Rows Changed": "N", "Within": "N"}' ELSE d END) FROM jsonb_array_elements(p -> 'Densities') AS d), 'Answered', p -> 'Answered', 'Reason', p -> 'Reason')) FROM n WHERE p ? 'Densities';
END $$;
SELECT told('SELECT k, count(*), sum(fare) FROM trip WHERE at < ''2026-02-01'' GROUP BY k');
SELECT told('SELECT date_trunc(''month'', at), count(*) FROM trip WHERE k <> ''c'' GROUP BY 1');
SELECT told_as_json('SELECT date_trunc(''month'', at), count(*) FROM trip WHERE k <> ''c'' GROUP BY 1');
-- One that was not asked has no answers.
CREATE FUNCTION as_yaml(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE plan text;
BEGIN
  EXECUTE 'EXPLAIN (COSTS OFF, FORMAT yaml) ' || query INTO plan;
  RETURN QUERY SELECT l FROM string_to_table(plan, E'\n') AS l WHERE l !~ 'Disabled';
END $$;
SELECT as_yaml('SELECT count(*) FROM trip WHERE id < 77');
-- Two subqueries are two nodes.
SELECT told('SELECT (SELECT count(*) FROM trip WHERE at < ''2026-02-01''), (SELECT count(*) FROM trip WHERE id < 77)');
-- Several densities of one node, of which one is of a sample.
CREATE TABLE several AS SELECT i AS x, i % 1000 AS y, (i * 7919) % 10007 AS z FROM generate_series(1, 100000) AS i;
ALTER TABLE several ALTER x SET NOT NULL, ALTER y SET NOT NULL, ALTER z SET NOT NULL;
VACUUM (ANALYZE) several;
SELECT (kde_fit('several', 'x', sample_rows => -1, measures => 'y')).rows, (kde_fit('several', ARRAY['x', 'z'], seed => 1)).rows;
SELECT kde_set_plain_sql(name, true) FROM kde_densities_full WHERE relation = 'several'::regclass;
SET kde_aqp.approximate_error = 0.2;
EXPLAIN (COSTS OFF) SELECT sum(y), sum(z) FROM several WHERE x < 10000;
SELECT told('SELECT sum(y), sum(z) FROM several WHERE x < 10000');
SELECT d ->> 'Density' AS density, (d ->> 'Within')::float8 > 0 AS sampled, d ->> 'Freshness' AS fresh FROM told_as_json('SELECT sum(y), sum(z) FROM several WHERE x < 10000') AS t, jsonb_array_elements(t -> 'Densities') AS d;
SET kde_aqp.approximate_error = 0.0001;
SELECT told('SELECT sum(y), sum(z) FROM several WHERE x < 10000');
SELECT t #> '{Densities,1}' AS density, t -> 'Answered' AS answered, regexp_replace(t ->> 'Reason', '[0-9.]+ %', 'N %') AS reason FROM told_as_json('SELECT sum(y), sum(z) FROM several WHERE x < 10000') AS t;
-- Where the exact plan runs, of each density of the table that was not asked why, of eight at most.
SELECT count((kde_fit('several', 'z', seed => 1, filter => 'y < ' || i)).rows) AS fitted FROM generate_series(101, 110) AS i;
SELECT count(kde_set_plain_sql(name, true, filter => filter)) AS allowed FROM kde_densities_full WHERE relation = 'several'::regclass;
SELECT told('SELECT sum(y), sum(z) FROM several WHERE x < 10000');
SELECT jsonb_array_length(t -> 'Densities') AS densities, t #> '{Densities,2}' AS nearest, t #> '{Densities,10}' AS others FROM told_as_json('SELECT sum(y), sum(z) FROM several WHERE x < 10000') AS t;
-- A kept plan tells no other role of densities that it may not read.
CREATE ROLE regress_kde_reader;
GRANT SELECT (x, z) ON several TO regress_kde_reader;
SET plan_cache_mode = force_generic_plan;
PREPARE kept AS SELECT sum(z) FROM several WHERE x < 10000;
SELECT count(*) > 1 AS others FROM told('EXECUTE kept') AS line WHERE line LIKE 'Density: %';
SET ROLE regress_kde_reader;
SELECT told('EXECUTE kept');
RESET ROLE;
DEALLOCATE kept;
RESET plan_cache_mode;
-- Of a view's densities kde_explain_query has the same reason.
CREATE VIEW of_several AS SELECT x, z FROM several;
REVOKE SELECT (x, z) ON several FROM regress_kde_reader;
GRANT SELECT ON of_several TO regress_kde_reader;
SET ROLE regress_kde_reader;
SELECT density, answers, regexp_replace(reason, '[0-9.]+ %', 'N %') AS reason FROM kde_explain_query('SELECT sum(z) FROM of_several WHERE x < 10000');
RESET ROLE;
DROP VIEW of_several;
DROP OWNED BY regress_kde_reader;
DROP ROLE regress_kde_reader;
RESET kde_aqp.approximate_error;
-- What it is asked about does not run: no row is written by it, nor does a density answer where rows are changed or locked.
CREATE TABLE written (n int);
SELECT density, answers, reason FROM kde_explain_query('WITH w AS (INSERT INTO written VALUES (1)) SELECT count(*) FROM several WHERE x < 77') WHERE reason NOT LIKE 'is %';
SELECT density, answers, reason FROM kde_explain_query('SELECT n FROM (SELECT count(*) AS n FROM several WHERE x < 77) AS s JOIN written USING (n) FOR UPDATE OF written') WHERE reason NOT LIKE 'is %';
SELECT count(*) AS written FROM written;
DROP TABLE written;
-- What the transaction changed before in foreign tables is not known: the statement's would be one of its own here.
CREATE EXTENSION file_fdw;
CREATE SERVER of_files FOREIGN DATA WRAPPER file_fdw;
CREATE FOREIGN TABLE empty (n int) SERVER of_files OPTIONS (filename '/dev/null');
SET kde_aqp.approximate_notice = on;
SELECT n FROM (SELECT count(*) AS n FROM several) AS s LEFT JOIN empty USING (n);
SET kde_aqp.approximate_notice = off;
SELECT density, answers, reason FROM kde_explain_query('SELECT n FROM (SELECT count(*) AS n FROM several) AS s LEFT JOIN empty USING (n)') WHERE reason NOT LIKE 'is %';
BEGIN;
SELECT density, answers, reason FROM kde_explain_query('SELECT n FROM (SELECT count(*) AS n FROM several) AS s LEFT JOIN empty USING (n)') WHERE reason NOT LIKE 'is %';
COMMIT;
-- Nothing of other nodes begins, as that of a program would.
CREATE FOREIGN TABLE run (n int) SERVER of_files OPTIONS (program 'touch was_run; echo 1');
SELECT density, answers, reason FROM kde_explain_query('SELECT n FROM (SELECT count(*) AS n FROM several WHERE x < 77) AS s LEFT JOIN run USING (n)') WHERE reason NOT LIKE 'is %';
SELECT pg_stat_file('was_run', true) IS NULL AS none_ran;
SET client_min_messages = warning;
DROP EXTENSION file_fdw CASCADE;
RESET client_min_messages;
EXPLAIN (SETTINGS, COSTS OFF) SELECT count(*) FROM several WHERE x < 77;
-- A table that grows: blocks are read, or rows are counted, or it is as of then.
INSERT INTO trip VALUES (20000, '2026-01-31 12:00+00', 'a', 10, 1);
SELECT told('SELECT count(*) FROM trip WHERE at < ''2026-02-01''');
SELECT told_as_json('SELECT count(*) FROM trip WHERE at < ''2026-02-01''');
SET kde_aqp.approximate_scan_size = 0;
SET kde_aqp.approximate_error = 0.2;
SELECT told('SELECT count(*) FROM trip WHERE at < ''2026-02-01''');
SELECT told_as_json('SELECT count(*) FROM trip WHERE at < ''2026-02-01''');
UPDATE trip SET fare = fare + 1 WHERE id % 2 = 0;
SELECT told('SELECT count(*) FROM trip WHERE id < 77');
SELECT kde_set_plain_sql('trip.at', true, as_of => '1 day');
-- A session knows a consent for a while.
\c -
SET TimeZone = 'UTC';
SELECT kde_approximate('all');
SET kde_aqp.approximate_notice = off;
SET kde_aqp.approximate_scan_size = 0;
SELECT told('SELECT count(*) FROM trip WHERE at < ''2026-02-01''');
SELECT told_as_json('SELECT count(*) FROM trip WHERE at < ''2026-02-01''');
DROP TABLE trip, several;
DROP FUNCTION told, told_as_json;
