-- What bounds, lists and conditions are compared with may be a subquery's value, a function's or a domain's: it
-- is computed as a part of the statement, never where its errors are caught. Each question once with plain values
-- and once with subqueries.
\set ECHO queries \\ \pset tuples_only on \\ \pset format unaligned
SET search_path = public;
CREATE SCHEMA plain_init_plans;
SET search_path = plain_init_plans, public;
SET kde_aqp.approximate_notice = off;
CREATE TABLE t AS
SELECT timestamp '2024-01-01' + (i * 7919 % 700) * interval '1 day' AS at, date '2024-01-01' + (i * 7919 % 700)::integer AS d, (i % 50)::integer AS v, ('{a,b,c}'::text[])[1 + i % 3] AS g, (i % 7)::integer AS k
FROM generate_series(1, 20000::bigint) AS i;
ALTER TABLE t ALTER at SET NOT NULL, ALTER d SET NOT NULL, ALTER v SET NOT NULL, ALTER g SET NOT NULL, ALTER k SET NOT NULL;
CREATE TABLE small AS SELECT * FROM (VALUES (1, 'a', timestamp '2025-01-01'), (2, 'b', '2025-02-01')) AS s (n, word, at);
ANALYZE t;
SELECT count((kde_fit('t', c, sample_rows => -1, measures => '{v}', group_by => g)).rows) AS fitted
FROM (VALUES ('at', NULL), ('d', NULL), ('k', NULL), ('g', NULL), ('at', 'g')) AS f (c, g);
SELECT count(kde_set_plain_sql(name, true)) AS allowed FROM kde_densities_full WHERE relation = 't'::regclass;
CREATE FUNCTION latest() RETURNS timestamp STABLE LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT max(s.at) FROM plain_init_plans.small AS s); END';
CREATE FUNCTION latest_sql() RETURNS timestamp STABLE LANGUAGE sql AS 'SELECT s.at FROM plain_init_plans.small AS s ORDER BY 1 DESC LIMIT 1';
CREATE DOMAIN recent AS timestamp CHECK (VALUE >= '2000-01-01' AND plain_init_plans.latest() > '2000-01-01');
CREATE VIEW last_month AS SELECT * FROM t WHERE date_trunc('month', at) = (SELECT max(date_trunc('month', at)) FROM t);
SELECT pg_stat_force_next_flush();

SELECT answered_by(q) AS by, q AS query FROM (VALUES
  -- Comparisons of buckets.
  ('SELECT count(*) FROM t WHERE date_trunc(''month'', at) = (SELECT max(date_trunc(''month'', at)) FROM t)'),
  ('SELECT count(*), sum(v) FROM t WHERE date_trunc(''month'', d) = (SELECT max(date_trunc(''month'', d)) FROM t)'),
  ('SELECT count(*) FROM t WHERE date_trunc(''month'', at) >= (SELECT date_trunc(''month'', max(at)) FROM small)'),
  ('SELECT count(*) FROM t WHERE date_trunc(''month'', at) < (SELECT at FROM small WHERE n = 2) AND date_trunc(''year'', at) >= (SELECT min(date_trunc(''year'', at)) FROM small)'),
  ('SELECT count(*) FROM t WHERE date_trunc(''month'', at) = (SELECT at FROM small WHERE n = 7)'),
  ('SELECT count(*) FROM t WHERE (SELECT max(at) FROM small) <= date_trunc(''month'', at)'),
  ('SELECT count(*) FROM t WHERE at::date > (SELECT max(at)::date FROM small)'),
  ('SELECT count(*) FROM t WHERE extract(year FROM at) = (SELECT extract(year FROM max(at)) FROM t)'),
  ('SELECT count(*) FROM t WHERE date_trunc(''month'', at) = latest()'),
  ('SELECT count(*) FROM t WHERE date_trunc(''month'', at) = latest_sql()'),
  ('SELECT count(*) FROM t WHERE date_trunc(''month'', at) = (SELECT latest())'),
  ('SELECT count(*) FROM t WHERE date_trunc(''month'', at) = latest()::recent'),
  ('SELECT count(*) FROM t WHERE date_trunc(''month'', at) = (SELECT max(at)::recent FROM small)'),
  ('SELECT date_trunc(''month'', at), count(*) FROM t WHERE date_trunc(''month'', at) >= (SELECT max(at) FROM small) GROUP BY 1'),
  ('SELECT date_trunc(''month'', at), g, count(*) FROM t WHERE date_trunc(''month'', at) >= (SELECT max(at) FROM small) GROUP BY 1, 2'),
  -- Bounds, lists, words, groups.
  ('SELECT count(*), avg(v) FROM t WHERE at >= (SELECT max(at) FROM small)'),
  ('SELECT count(*) FROM t WHERE at >= latest() AND d < (SELECT max(d) FROM t)'),
  ('SELECT count(*) FROM t WHERE at > (SELECT max(at)::recent FROM small)'),
  ('SELECT count(*), sum(v) FROM t WHERE k = ANY (ARRAY(SELECT n FROM small))'),
  ('SELECT count(*) FROM t WHERE k IN ((SELECT min(n) FROM small), (SELECT max(n) FROM small))'),
  ('SELECT count(*) FROM t WHERE g = ANY (ARRAY(SELECT word FROM small))'),
  ('SELECT g, count(*) FROM t WHERE g = (SELECT min(word) FROM small) GROUP BY g'),
  ('SELECT g, count(*) FROM t WHERE at >= (SELECT max(at) FROM small) AND g = ANY (ARRAY(SELECT word FROM small)) GROUP BY g'),
  ('SELECT date_trunc(''month'', at), count(*) FROM t WHERE at >= latest_sql() AND g <> (SELECT max(word) FROM small) GROUP BY 1'),
  ('SELECT g, count(*) FROM t WHERE at >= ''2024-02-01'' AND upper(g) = (SELECT upper(max(word)) FROM small) GROUP BY g'),
  -- Above the grouping, and in places that are answered or not.
  ('SELECT count(*) AS n FROM t WHERE date_trunc(''month'', at) = (SELECT max(at) FROM small) HAVING count(*) > (SELECT max(n) FROM small)'),
  ('SELECT count(*) + (SELECT max(n) FROM small) FROM t WHERE date_trunc(''month'', at) = (SELECT max(at) FROM small)'),
  ('SELECT count(*) FILTER (WHERE at < (SELECT max(at) FROM small)) FROM t'),
  ('SELECT count(*) FROM t WHERE date_trunc(''month'', at) = (SELECT max(at) FROM small) AND EXISTS (SELECT FROM small)'),
  ('SELECT count(*) FROM t WHERE date_trunc(''month'', at) = (SELECT date_trunc(''month'', max(t.at)) FROM t WHERE d < (SELECT max(d) FROM t))'),
  ('SELECT n, (SELECT count(*) FROM t WHERE date_trunc(''month'', t.at) = s.at) FROM small AS s'),
  ('SELECT n, (SELECT count(*) FROM t WHERE date_trunc(''month'', t.at) >= greatest(s.at, (SELECT min(at) FROM small))) FROM small AS s'),
  ('SELECT n, c FROM small AS s, LATERAL (SELECT count(*) AS c FROM t WHERE date_trunc(''month'', t.at) <= s.at) AS l'),
  ('WITH month AS (SELECT max(date_trunc(''month'', at)) AS m FROM t) SELECT count(*) FROM t WHERE date_trunc(''month'', at) = (SELECT m FROM month)'),
  ('WITH month AS MATERIALIZED (SELECT max(date_trunc(''month'', at)) AS m FROM t) SELECT count(*), (SELECT m FROM month) FROM t WHERE date_trunc(''month'', at) = (SELECT m FROM month)'),
  ('SELECT count(*), sum(v) FROM last_month'),
  ('SELECT count(*) FROM t WHERE date_trunc(''month'', at) = (SELECT m FROM (SELECT max(date_trunc(''month'', at)) AS m FROM last_month) AS s)'),
  ('SELECT count(*) FROM t WHERE date_trunc(''month'', at) = (SELECT max(at) FROM small) UNION ALL SELECT count(*) FROM last_month')
) AS v (q);

-- Values that raise an error are the statement's.
SET kde_aqp.approximate = 'all';
SELECT try('SELECT count(*) FROM t WHERE date_trunc(''month'', at) = (SELECT at FROM small)');
SELECT try('SELECT count(*) FROM t WHERE date_trunc(''month'', at) = (SELECT ''1999-01-01''::timestamp::recent)');
SELECT try('SELECT count(*) FROM t WHERE at < (SELECT max(at) + n / (n - n) * interval ''1 s'' FROM small GROUP BY n)');

-- By cursors, prepared statements and procedural code.
SET kde_aqp.approximate_notice = on;
BEGIN;
DECLARE c CURSOR FOR SELECT count(*) FROM t WHERE date_trunc('month', at) = (SELECT max(date_trunc('month', at)) FROM t);
SAVEPOINT a;
FETCH ALL FROM c;
ROLLBACK TO a;
DECLARE h CURSOR WITH HOLD FOR SELECT count(*), sum(v) FROM t WHERE date_trunc('month', at) = (SELECT max(at) FROM small);
COMMIT;
FETCH ALL FROM h;
CLOSE h;
PREPARE p(integer) AS SELECT count(*) FROM t WHERE date_trunc('month', at) = (SELECT max(at) FROM small WHERE n <= $1);
SET plan_cache_mode = force_generic_plan;
EXECUTE p(1);
EXECUTE p(2);
SET kde_aqp.approximate_notice = off;
DO $$
DECLARE
  least timestamp := '2025-01-01';
  n bigint;
BEGIN
  FOR i IN 1..7 LOOP
    BEGIN
      SELECT count(*) INTO n FROM t WHERE date_trunc('month', at) >= (SELECT max(s.at) FROM small AS s WHERE s.at >= least) AND date_trunc('month', at) >= least;
      ASSERT n = (SELECT count(*) FILTER (WHERE at >= '2025-02-01') FROM t), n;
    EXCEPTION WHEN division_by_zero THEN NULL;
    END;
  END LOOP;
END $$;
