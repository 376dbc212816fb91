-- Plain SQL in whatever else plans and sessions do: parameters of generic plans and of other queries' rows,
-- expressions over aggregates, subplans in HAVING, VERBOSE, JIT, parallel plans, cursors, savepoints, roles,
-- DDL between plan and execution. The NOTICE says that a density has answered.
\set ECHO queries \\ \pset tuples_only on \\ \pset format unaligned
SET search_path = public;
CREATE SCHEMA plain_sql_plans;
SET search_path = plain_sql_plans, public;
-- Inserted: CREATE TABLE AS extends the file by several blocks at a time since 16.
CREATE TABLE sales (sold_on date, qty integer, amount numeric(12,2), region text);
INSERT INTO sales
SELECT date '2026-01-01' + (i * 7919 % 365)::integer AS sold_on, (i * 7919 % 1000)::integer AS qty, ((i * 104729 % 100000) / 100.0)::numeric(12,2) AS amount,
  ('{EU,US,Asia,NULL}'::text[])[1 + i % 4] AS region
FROM generate_series(1, 8000::bigint) AS i;
ANALYZE sales;
SELECT (kde_fit('sales', 'qty', sample_rows => -1, measures => ARRAY['amount'])).rows + (kde_fit('sales', 'sold_on', sample_rows => -1, measures => ARRAY['qty'], group_by => 'region')).rows AS rows;
SELECT count(kde_set_plain_sql(name, true)) FROM kde_densities_full WHERE relation = 'sales'::regclass;
SELECT pg_stat_force_next_flush();
SELECT count(*) AS exact, sum(qty), count(*) FILTER (WHERE qty < 200) AS less, count(*) FILTER (WHERE qty < 300) AS more FROM sales WHERE qty < 500;
-- The root of a plan, and the kinds of nodes in all of it.
CREATE FUNCTION plan(query text, OUT root json, OUT nodes text) LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE 'EXPLAIN (COSTS OFF, VERBOSE, FORMAT JSON) ' || query INTO root;
  root := root #> '{0,Plan}';
  SELECT string_agg(DISTINCT m[1], ', ' ORDER BY m[1]) INTO nodes FROM regexp_matches(root::text, '"Node Type": "([^"]*)"', 'g') AS m;
END $$;
SET kde_aqp.approximate = 'all';

-- A generic plan after five executions: its parameters are no constants; of one type and of another.
PREPARE below (numeric, integer) AS SELECT count(*) AS n, sum(qty) * 2 + 1 AS more FROM sales WHERE qty < $1 AND qty < $2 + 1;
EXECUTE below (1, 1000);
EXECUTE below (2, 1000);
EXECUTE below (3, 1000);
EXECUTE below (4, 1000);
EXECUTE below (5, 1000);
EXECUTE below (200, 1000);
EXECUTE below (1000, 299);
SELECT generic_plans > 0 AS generic FROM pg_prepared_statements WHERE name = 'below';
EXECUTE below (NULL, 299);
-- Views are as they were written, and VERBOSE prints what it does of other nodes.
CREATE VIEW by_region AS SELECT region, count(*) AS n, avg(qty) FROM sales WHERE sold_on < '2026-07-01' GROUP BY region;
SELECT set_config('kde_aqp.approximate', 'off', false), pg_get_viewdef('by_region') AS off \gset
SET kde_aqp.approximate = 'all';
-- The definition is the server's version's own, so it is not echoed.
\set ECHO none
SELECT pg_get_viewdef('by_region') = :'off' AS same, :'off' ~ 'count' AS there;
\set ECHO queries
SELECT root -> 'Custom Plan Provider' AS node, root -> 'Output' AS output, root #> '{Densities,0,Density}' AS density, root -> 'Range' AS range, replace((root -> 'Groups')::text, 'sales.', '') AS groups, root -> 'Filter' AS filter, nodes
FROM plan('SELECT upper(region), count(*) * 2 FROM sales WHERE sold_on < ''2026-07-01'' AND region > ''B'' GROUP BY region HAVING sum(qty) > 100');
SELECT root -> 'Output' AS output, nodes FROM plan('SELECT region, n * 2 FROM by_region WHERE n > 100');
-- Of other queries' rows: lateral, initplans and correlated ones, one below the other, executed again for each.
SELECT k, n, (SELECT count(*) FROM sales WHERE qty < n AND qty > k) AS m FROM generate_series(100, 300, 100) AS k, LATERAL (SELECT count(*) AS n FROM sales WHERE qty < k) AS s;
SELECT count(*) FROM sales WHERE qty < (SELECT count(*) / 40 FROM sales WHERE qty < (SELECT count(*) FROM sales WHERE qty = 3));
-- Subplans in HAVING, and above.
SELECT region, count(*) FROM sales WHERE sold_on < '2026-07-01' GROUP BY region HAVING count(*) > (SELECT count(*) / 9 FROM sales WHERE qty < 1000) ORDER BY count(*) + (SELECT 1) DESC, 1;
SELECT region, count(*) FROM sales AS s WHERE sold_on < '2026-07-01' GROUP BY region HAVING EXISTS (SELECT FROM sales AS t WHERE t.qty < 2 AND t.region IS NOT DISTINCT FROM s.region) ORDER BY 1;
-- The null-extended side of a join, a hash join's inner side that is never asked, recursion.
SELECT k, n FROM (VALUES ('EU'), ('none')) AS v (k) LEFT JOIN by_region ON region = k ORDER BY 1;
SELECT count(*) AS none FROM (SELECT WHERE false) AS v JOIN by_region ON true;
WITH RECURSIVE r AS (SELECT 1 AS k, 0::bigint AS n UNION ALL SELECT k + 1, s.n FROM r, LATERAL (SELECT count(*) AS n FROM sales WHERE qty < k) AS s WHERE k < 4) SELECT * FROM r;

-- JIT of all that there is.
SELECT set_config('jit', 'on', false), set_config('jit_above_cost', '0', false), set_config('jit_inline_above_cost', '0', false), set_config('jit_optimize_above_cost', '0', false);
SELECT region, count(*) * 2 AS twice, avg(qty) FROM sales WHERE sold_on < date '2026-06-01' + (SELECT 30) AND region <> lower('NONE') GROUP BY region HAVING count(*) > 10 ORDER BY 1;
SET kde_aqp.approximate = off;
SELECT region, count(*) * 2 AS twice, avg(qty) FROM sales WHERE sold_on < date '2026-06-01' + (SELECT 30) AND region <> lower('NONE') GROUP BY region HAVING count(*) > 10 ORDER BY 1;
SET kde_aqp.approximate = 'all';
RESET jit;
RESET jit_above_cost;
RESET jit_inline_above_cost;
RESET jit_optimize_above_cost;

-- The leader of parallel plans, whose exact part is one; the option of that sends all to a worker was renamed.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT set_config(name, 'on', false) AS forced FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SELECT nodes FROM plan('SELECT count(*), sum(amount) FROM sales WHERE qty < 300');
SELECT count(*), sum(amount) FROM sales WHERE qty < 300;
-- A function that runs in a worker, of which the leader's changes are not known, has the exact plan.
CREATE FUNCTION inner_count() RETURNS bigint LANGUAGE plpgsql STABLE PARALLEL SAFE AS 'BEGIN RETURN (SELECT count(*) FROM sales WHERE qty < 300); END';
SELECT nodes FROM plan('SELECT inner_count()');
SELECT inner_count();
BEGIN;
DELETE FROM sales WHERE qty < 200;
SELECT inner_count();
ROLLBACK;
SELECT (SELECT count(*) FROM sales WHERE qty < 300) AS n, count(DISTINCT region) FROM sales;
INSERT INTO sales VALUES ('2026-01-01', 5, 1, 'EU');
SELECT count(*), sum(qty) FROM sales WHERE qty < 300;
DELETE FROM sales WHERE qty = 5 AND amount = 1;
SELECT (kde_fit('sales', 'qty', sample_rows => -1, measures => ARRAY['amount'])).rows;
SELECT pg_stat_force_next_flush();
SELECT set_config(name, 'off', false) AS forced FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;

-- Cursors: of one transaction, that outlive it, of a plan that is kept; turned off in between, another cursor's
-- rows stay its own.
BEGIN;
DECLARE scrolling SCROLL CURSOR FOR SELECT qty, count(*) FROM sales WHERE qty BETWEEN 10 AND 13 GROUP BY qty ORDER BY qty;
FETCH LAST FROM scrolling;
FETCH PRIOR FROM scrolling;
FETCH ABSOLUTE -4 FROM scrolling;
FETCH BACKWARD ALL FROM scrolling;
DECLARE held CURSOR WITH HOLD FOR SELECT count(*) AS held FROM sales WHERE qty < 200;
DECLARE turned_off CURSOR FOR SELECT count(*) AS exact FROM sales WHERE qty < 200;
SET LOCAL kde_aqp.approximate = off;
FETCH ALL FROM turned_off;
SET LOCAL kde_aqp.approximate = 'all';
DECLARE refitted CURSOR FOR SELECT count(*) AS refitted FROM sales WHERE qty < 200;
SELECT kde_drop('sales.qty');
FETCH ALL FROM refitted;
SELECT (kde_fit('sales', 'qty', sample_rows => -1, measures => ARRAY['amount'])).rows;
SELECT kde_set_plain_sql('sales.qty', true);
COMMIT;
FETCH ALL FROM held;
CLOSE held;

-- Savepoints: rows, consents and fits that come and go with them.
BEGIN;
SAVEPOINT one;
SELECT kde_set_plain_sql('sales.qty', false);
SELECT count(*) AS exact FROM sales WHERE qty < 200;
ROLLBACK TO one;
SELECT count(*) FROM sales WHERE qty < 200;
SAVEPOINT two;
SELECT kde_drop('sales.qty');
SELECT count(*) AS exact FROM sales WHERE qty < 200;
ROLLBACK TO two;
SAVEPOINT three;
DECLARE c CURSOR FOR SELECT 1 / (count(*) - 1600) FROM sales WHERE qty < 200;
FETCH c;
ROLLBACK TO three;
SELECT count(*) FROM sales WHERE qty < 200;
SAVEPOINT four;
DELETE FROM sales WHERE qty < 100;
SELECT count(*) AS changed FROM sales WHERE qty < 200;
ROLLBACK TO four;
SELECT count(*) AS as_before FROM sales WHERE qty < 200;
ROLLBACK;
SELECT pg_stat_force_next_flush();
-- What counted rows that are not there any more is no better than a sample: fitted again.
SELECT (kde_fit('sales', 'qty', sample_rows => -1, measures => ARRAY['amount'])).rows + (kde_fit('sales', 'sold_on', sample_rows => -1, measures => ARRAY['qty'], group_by => 'region')).rows AS rows;

-- Roles between PREPARE and EXECUTE: privileges are those of who executes. Policies make the plan anew.
CREATE ROLE regress_kde_plans;
GRANT USAGE ON SCHEMA plain_sql_plans TO regress_kde_plans;
PREPARE of_role AS SELECT count(*) FROM sales WHERE qty < 200;
EXECUTE of_role;
SET ROLE regress_kde_plans;
EXECUTE of_role;
RESET ROLE;
GRANT SELECT ON sales TO regress_kde_plans;
SET ROLE regress_kde_plans;
EXECUTE of_role;
RESET ROLE;
ALTER TABLE sales ENABLE ROW LEVEL SECURITY;
SET ROLE regress_kde_plans;
EXECUTE of_role;
RESET ROLE;
CREATE POLICY few ON sales USING (qty < 50);
EXECUTE of_role;
SET ROLE regress_kde_plans;
EXECUTE of_role;
RESET ROLE;
-- A function with its owner's privileges, and a view's: what the owner may read, and no policy of the owner's own.
CREATE FUNCTION as_owner() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = plain_sql_plans, public AS 'BEGIN RETURN (SELECT count(*) FROM sales WHERE qty < 200); END';
CREATE VIEW barrier WITH (security_barrier) AS SELECT qty, region FROM sales;
CREATE VIEW invoked WITH (security_invoker) AS SELECT qty, region FROM sales;
GRANT SELECT ON barrier, invoked, by_region TO regress_kde_plans;
REVOKE SELECT ON sales FROM regress_kde_plans;
SET ROLE regress_kde_plans;
SELECT as_owner();
SELECT count(*) AS of_view FROM barrier WHERE qty < 200;
SELECT count(*) FROM invoked WHERE qty < 200;
SELECT n FROM by_region WHERE region = 'EU';
RESET ROLE;
DROP POLICY few ON sales;
ALTER TABLE sales DISABLE ROW LEVEL SECURITY;

-- DDL between plan and execution: what the plan was of is gone, has another name, type, or meaning.
PREPARE of_ddl (integer) AS SELECT count(*), sum(amount) FROM sales WHERE qty < $1;
EXECUTE of_ddl (200);
ALTER TABLE sales RENAME qty TO pieces;
ALTER TABLE sales ADD qty integer DEFAULT 1;
EXECUTE of_ddl (200);
ALTER TABLE sales DROP qty;
ALTER TABLE sales RENAME pieces TO qty;
EXECUTE of_ddl (200);
DROP VIEW by_region, barrier, invoked;
ALTER TABLE sales ALTER qty TYPE bigint;
EXECUTE of_ddl (200);
SELECT pg_stat_force_next_flush();
SELECT (kde_fit('sales', 'qty', sample_rows => -1, measures => ARRAY['amount'])).rows;
EXECUTE of_ddl (200);
ALTER TABLE sales ALTER amount TYPE double precision USING amount + 1;
SELECT pg_stat_force_next_flush();
EXECUTE of_ddl (200);
ALTER TABLE sales DROP amount;
EXECUTE of_ddl (200);
TRUNCATE sales;
SELECT count(*) AS none FROM sales WHERE qty < 200;
ALTER TABLE sales RENAME TO sold;
CREATE TABLE sales (qty bigint, amount numeric);
EXECUTE of_ddl (200);

-- Labels that swap their names: groups and filters of the fit have the old ones.
CREATE TYPE state AS ENUM ('open', 'closed', 'gone');
CREATE TABLE cases AS SELECT i % 60 AS x, (enum_range(NULL::state))[CASE WHEN i % 7 < 1 THEN 1 WHEN i % 7 < 3 THEN 2 ELSE 3 END] AS s FROM generate_series(1, 4200) AS i;
ANALYZE cases;
SELECT (kde_fit('cases', 'x', sample_rows => -1, group_by => 's')).rows + (kde_fit('cases', 'x', sample_rows => -1, filter => 's = ''open''')).rows AS rows;
SELECT kde_set_plain_sql('cases.x by (s)', true), kde_set_plain_sql('cases.x', true, filter => 's = ''open''');
SELECT pg_stat_force_next_flush();
PREPARE of_labels AS SELECT s, count(*) FROM cases WHERE x < 10 GROUP BY s ORDER BY s;
EXECUTE of_labels;
SELECT count(*) FROM cases WHERE x < 10 AND s = 'open';
BEGIN;
ALTER TYPE state RENAME VALUE 'open' TO 'other';
ALTER TYPE state RENAME VALUE 'closed' TO 'open';
ALTER TYPE state RENAME VALUE 'other' TO 'closed';
EXECUTE of_labels;
ROLLBACK;
EXECUTE of_labels;
ALTER TYPE state RENAME VALUE 'open' TO 'other';
ALTER TYPE state RENAME VALUE 'closed' TO 'open';
ALTER TYPE state RENAME VALUE 'other' TO 'closed';
EXECUTE of_labels;
SELECT count(*) FROM cases WHERE x < 10 AND s = 'open';
SELECT name, filter, plain_sql FROM kde_densities_full WHERE relation = 'cases'::regclass ORDER BY name;
SELECT (kde_fit('cases', 'x', sample_rows => -1, group_by => 's')).rows, kde_set_plain_sql('cases.x by (s)', true);
EXECUTE of_labels;

-- Where several answers are too far off, the worst of all groups and aggregates is named, wherever it stands.
CREATE TABLE rough AS SELECT (i * 7919 % 100003)::integer AS x, CASE WHEN i % 997 = 0 THEN 1000 ELSE 1 END AS y FROM generate_series(1, 100000::bigint) AS i;
ANALYZE rough;
SELECT (kde_fit('rough', 'x', sample_rows => 2000, seed => 1, measures => 'y')).rows > 0 AS fitted, kde_set_plain_sql('rough.x', true);
SELECT pg_stat_force_next_flush();
SET kde_aqp.approximate_error = 0.0001;
CREATE FUNCTION off(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
    IF line LIKE '%exact plan:%' THEN RETURN substring(line FROM 'exact plan: (.*)'); END IF;
  END LOOP;
  RETURN 'not told';
END $$;
CREATE FUNCTION worst(offs text[]) RETURNS text LANGUAGE sql AS $$
  SELECT off FROM unnest(offs) AS off ORDER BY substring(off FROM 'within (.*) %')::numeric DESC LIMIT 1 $$;
WITH one AS MATERIALIZED (
  SELECT array_agg(off(format('SELECT %s FROM rough WHERE x < 30000', name))) AS offs
  FROM unnest('{count(*),sum(y),avg(y),sum(x)}'::text[]) AS name)
SELECT (SELECT count(DISTINCT substring(off FROM 'within (.*) %')) FROM unnest(offs) AS off) > 2 AS differ,
  off(format('SELECT %s FROM rough WHERE x < 30000', names)) = worst(offs) AS the_worst
FROM one, unnest(ARRAY['count(*), sum(y), avg(y), sum(x)', 'sum(y), count(*), sum(x), avg(y)', 'sum(x), avg(y), count(*), sum(y)']) AS names;
SELECT count(DISTINCT substring(off FROM 'within (.*) %')) > 1 AS differ,
  off('SELECT x / 10000, sum(y) FROM rough WHERE x < 30000 GROUP BY 1') = worst(array_agg(off)) AS of_groups
FROM generate_series(0, 2) AS g, off(format('SELECT sum(y) FROM rough WHERE x >= %s AND x < %s', g * 10000, (g + 1) * 10000)) AS off;
RESET kde_aqp.approximate_error;

-- The exact plan of a statement that a density answers takes no memory for the groups that it would have.
CREATE TABLE moments AS SELECT '2026-01-01 00:00+00'::timestamptz + i * interval '1 minute' AS at FROM generate_series(1, 200000) AS i;
VACUUM (ANALYZE) moments;
SELECT name FROM kde_fit('moments', 'at', sample_rows => -1);
SELECT kde_set_plain_sql('moments.at', true) \g /dev/null
SET work_mem = '64MB';
SET max_parallel_workers_per_gather = 0;
CREATE VIEW months AS SELECT date_trunc('month', at) AS month, count(*) AS n FROM moments GROUP BY 1;
SELECT nodes FROM plan('SELECT * FROM months');
SELECT count(*), sum(n) FROM months;
BEGIN;
CREATE TABLE memory AS SELECT sum(total_bytes) AS before FROM pg_backend_memory_contexts;
DECLARE shown CURSOR FOR SELECT * FROM months;
MOVE 1 FROM shown;
SELECT sum(total_bytes) - (SELECT before FROM memory) < 2000000 AS is_little FROM pg_backend_memory_contexts;
COMMIT;
RESET work_mem;
RESET max_parallel_workers_per_gather;

RESET kde_aqp.approximate;
DROP SCHEMA plain_sql_plans CASCADE;
DROP ROLE regress_kde_plans;
