-- Staleness, drift, refresh, and what answers do when a density is stale. Statistics of this session's
-- own changes count at once; test/t has those of others, crashes and restarts.
\pset tuples_only
\pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS refresh CASCADE;
CREATE SCHEMA refresh;
SET search_path = refresh, public;
RESET client_min_messages;

CREATE VIEW state AS
SELECT d.relation, d.column_names, d.filter, d.changed_rows, d.stale, d.stale_reason
FROM kde_densities_full AS d JOIN pg_class AS c ON c.oid = d.relation
WHERE c.relnamespace = 'refresh'::regnamespace
ORDER BY d.relation::text COLLATE "C", cardinality(d.column_names), d.filter NULLS FIRST;

CREATE TABLE t WITH (autovacuum_enabled = false) AS
  SELECT i AS id, i % 100 AS v, i % 7 AS k FROM generate_series(1, 1000) AS i;
SELECT rows, seed FROM kde_fit('t', 'v', seed => 7);
SELECT rows FROM kde_fit('t', ARRAY['v', 'k'], seed => 8);
SELECT rows FROM kde_fit('t', 'v', filter => 'k > 3', method => 'silverman', exact => true, sample_rows => 5000);
SELECT * FROM state;
SELECT action, reason, changed_rows FROM kde_refresh('t');

-- ----------------------------------------------------------------------------------- rows changed
-- More than 50 rows and a tenth of the table's: 150 are not, 151 are.
SELECT approx_count('t.v') AS fresh;
INSERT INTO t SELECT i, 200, 5 FROM generate_series(1, 100) AS i;
UPDATE t SET v = 0 WHERE id <= 30 AND v < 200;
DELETE FROM t WHERE id BETWEEN 31 AND 50 AND v < 200;
SELECT changed_rows, stale FROM state;
DELETE FROM t WHERE id = 51 AND v < 200;
SELECT * FROM state;
SET kde_aqp.refresh_threshold = 51;
SELECT stale FROM state;
SET kde_aqp.refresh_scale_factor = 0.05;
SELECT stale FROM state;
RESET kde_aqp.refresh_threshold;
RESET kde_aqp.refresh_scale_factor;

-- What was asked for is asked for again: method, sample, seed where one was given. VACUUM comes first, here and
-- below: when reads take away rows that were deleted depends on transactions in other databases, and changes blocks.
VACUUM t;
CREATE TABLE before AS SELECT * FROM kde_densities_full WHERE relation = 't'::regclass;
SELECT relation, column_names, filter, action, reason, changed_rows, total_ms > 0 AS took FROM kde_refresh('t')
ORDER BY cardinality(column_names), filter NULLS FIRST;
SELECT * FROM state;
SELECT d.column_names, d.filter, d.method, d.requested_exact, d.requested_sample_rows, d.rows,
  d.requested_seed, d.seed = b.seed AS same_seed, d.fitted_at > b.fitted_at AS later
FROM kde_densities_full AS d JOIN before AS b USING (relation, column_names)
WHERE d.filter IS NOT DISTINCT FROM b.filter ORDER BY cardinality(d.column_names), d.filter NULLS FIRST;
SELECT approx_count('t.v', 200, 200) AS new_rows;
-- The same as a fit would have stored.
CREATE TABLE refreshed AS SELECT kde_density('t.v')::text AS d;
SELECT rows FROM kde_fit('t', 'v', seed => 7);
SELECT kde_density('t.v')::text = d AS same FROM refreshed;
-- Inside the caller's transaction.
BEGIN;
SELECT count(*) FROM kde_refresh('t', force => true) WHERE action = 'refitted';
ROLLBACK;
SELECT kde_density('t.v')::text = d AS same FROM refreshed;
-- With a filter, rows of the table are those that the scan met, whatever the statistics say.
CREATE TABLE met WITH (autovacuum_enabled = false) AS SELECT i AS v FROM generate_series(1, 20000) AS i;
SELECT pg_stat_force_next_flush();
SELECT pg_stat_reset_single_table_counters('met'::regclass);
CREATE VIEW rows_met AS SELECT table_rows FROM kde_aqp.upkeep WHERE density_id = (SELECT id FROM kde_aqp.fitted WHERE relation = 'met'::regclass);
SELECT rows FROM kde_fit('met', 'v', filter => 'v % 10 = 0', seed => 1);
SELECT * FROM rows_met;
SET kde_aqp.sample_blocks = 10;
SELECT FROM kde_fit('met', 'v', filter => 'v % 10 = 0', seed => 1) \g /dev/null
SELECT table_rows BETWEEN 18000 AND 22000 AS estimated FROM rows_met;
RESET kde_aqp.sample_blocks;
DROP TABLE met CASCADE;

-- ------------------------------------------------------------------------------- what answers do
CREATE TABLE s AS SELECT i AS v FROM generate_series(1, 100) AS i;
SELECT rows FROM kde_fit('s', 'v', seed => 1);
INSERT INTO s SELECT 7 FROM generate_series(1, 100);
SELECT approx_count('s.v') AS warned_once;
SELECT approx_count('s.v') AS silent, approx_count('s.v', 1, 10) AS by_column;
SET kde_aqp.stale = error;
SELECT try($$SELECT approx_count('s.v')$$);
SELECT try($$SELECT kde_density('s.v') IS NULL$$);
SELECT try($$SELECT approx_count('s (v)', 1, 10)$$);
SET kde_aqp.stale = ignore;
SELECT approx_count('s.v') AS ignored;
SET kde_aqp.stale = error;
SELECT action FROM kde_refresh('s');
SELECT approx_count('s.v') AS fresh_again;
SET kde_aqp.stale = perhaps;
RESET kde_aqp.stale;
-- A value is what it is.
CREATE TABLE kept AS SELECT kde_density('s.v') AS d;
DELETE FROM s;
SELECT approx_count(d) FROM kept;
DROP TABLE s;

-- ------------------------------------------------------------------------- settings of a density
SELECT kde_set_refresh('t.v', scale_factor => 0, threshold => 0, max_age => '1 month');
SELECT kde_set_refresh('t (k, v)', enabled => false);
SELECT kde_set_refresh('t (v)', filter => 'k > 3', max_age => '10 years');
SELECT column_names, filter, refresh_enabled, refresh_scale_factor, refresh_threshold, refresh_max_age
FROM kde_densities_full WHERE relation = 't'::regclass ORDER BY cardinality(column_names), filter NULLS FIRST;
INSERT INTO t SELECT 1, 1, 1;
SELECT * FROM state;
-- They outlast fits.
VACUUM t;
SELECT column_names, filter, action FROM kde_refresh('t') ORDER BY filter NULLS FIRST;
SELECT kde_set_refresh('t.v', scale_factor => -1, threshold => -1, max_age => '-1 s', enabled => NULL);
SELECT kde_set_refresh('t.v', filter => 'k > 3', max_age => '-1 s');
SELECT column_names, filter, refresh_enabled, refresh_scale_factor, refresh_threshold, refresh_max_age
FROM kde_densities_full WHERE relation = 't'::regclass ORDER BY cardinality(column_names), filter NULLS FIRST;
-- Age.
SELECT kde_set_refresh('t.v', max_age => '1 us');
SELECT stale, stale_reason LIKE 'fitted % s ago, more than 0 s' AS reason FROM state WHERE column_names = '{v}' AND filter IS NULL;
SELECT regexp_replace(state, '\d+', '#') AS state FROM kde_densities WHERE name = 't.v' AND filter IS NULL;
SELECT kde_set_refresh('t.v', max_age => '0');
SELECT stale FROM state WHERE column_names = '{v}' AND filter IS NULL;
SELECT kde_set_refresh('t (v, k)', enabled => true);
-- Refused.
SELECT try($$SELECT kde_set_refresh('t.id', enabled => true)$$);
SELECT try($$SELECT kde_set_refresh('t.v', scale_factor => 'NaN')$$);
SELECT try($$SELECT kde_set_refresh('t.v', max_age => '1000 years')$$);
SELECT try($$SELECT kde_set_refresh(NULL)$$);
SELECT try($$SELECT kde_set_refresh('t', 'v')$$);

-- --------------------------------------------------------------------------------- new files
-- TRUNCATE counts what it took; VACUUM FULL, CLUSTER and ANALYZE do not make anything stale.
CREATE TABLE f WITH (autovacuum_enabled = false) AS SELECT i AS v FROM generate_series(1, 1000) AS i;
CREATE INDEX f_v ON f (v);
SELECT rows FROM kde_fit('f', 'v', seed => 1);
VACUUM FULL f;
CLUSTER f USING f_v;
ANALYZE f;
SELECT changed_rows, stale FROM state WHERE relation = 'f'::regclass;
TRUNCATE f;
SELECT changed_rows, stale FROM state WHERE relation = 'f'::regclass;
SELECT action, reason FROM kde_refresh('f');
SELECT refresh_failures, refresh_error, refresh_failed_at IS NULL AS never FROM kde_densities_full WHERE relation = 'f'::regclass;
SELECT changed, state FROM kde_densities WHERE name = 'f.v';
INSERT INTO f SELECT 5 FROM generate_series(1, 10);
SELECT action, reason FROM kde_refresh('f');
SELECT refresh_failures, refresh_error, refresh_failed_at IS NULL AS never FROM kde_densities_full WHERE relation = 'f'::regclass;
SELECT approx_count('f.v', 5, 5) AS ten;
ALTER TABLE f ALTER v TYPE integer USING v + 1;
ALTER TABLE f ALTER v TYPE bigint USING v + 1;
SELECT changed_rows >= 10 AS all_of_them, stale FROM state WHERE relation = 'f'::regclass;
DROP TABLE f;
CREATE MATERIALIZED VIEW m AS SELECT v FROM t WHERE v < 50;
SELECT rows FROM kde_fit('m', 'v', seed => 1);
REFRESH MATERIALIZED VIEW m;
SELECT changed_rows > 400 AS all_of_them, stale FROM state WHERE relation = 'm'::regclass;
DROP MATERIALIZED VIEW m;

-- --------------------------------------------------------------------------------- partitions
CREATE TABLE p (k integer, v integer) PARTITION BY LIST (k);
CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1) WITH (autovacuum_enabled = false);
CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2) WITH (autovacuum_enabled = false);
INSERT INTO p SELECT 1 + i % 2, i % 10 FROM generate_series(1, 1000) AS i;
SELECT rows FROM kde_fit('p', 'v', seed => 1);
INSERT INTO p2 SELECT 2, 3 FROM generate_series(1, 60);
SELECT changed_rows FROM state WHERE relation = 'p'::regclass;
ALTER TABLE p DETACH PARTITION p1;
SELECT changed_rows, stale FROM state WHERE relation = 'p'::regclass;
ALTER TABLE p ATTACH PARTITION p1 FOR VALUES IN (1);
SELECT changed_rows, stale FROM state WHERE relation = 'p'::regclass;
CREATE TABLE p3 (k integer, v integer) WITH (autovacuum_enabled = false);
INSERT INTO p3 SELECT 3, 3 FROM generate_series(1, 200);
ALTER TABLE p ATTACH PARTITION p3 FOR VALUES IN (3);
SELECT changed_rows, stale FROM state WHERE relation = 'p'::regclass;
DROP TABLE p1;
SELECT action, changed_rows FROM kde_refresh('p');
SELECT rows FROM kde_densities_full WHERE relation = 'p'::regclass;
DROP TABLE p;
-- Rows that lie elsewhere are not counted.
SET track_counts = off;
SELECT rows FROM kde_fit('t', 'k', seed => 1);
RESET track_counts;
SELECT changed_rows, stale FROM state WHERE column_names = '{k}';
-- From the first look on they are.
SELECT column_names, action FROM kde_refresh('t') WHERE column_names = '{k}';
SELECT changed_rows, stale FROM state WHERE column_names = '{k}';
SELECT kde_drop('t.k');

-- -------------------------------------------------------------------------------------- drift
SELECT column_name, distance < 1e-6 AS none, p_value, sample_rows FROM kde_drift('t.v', seed => 1);
SELECT drift < 1e-6 AS none, drift_p_value, drift_at IS NOT NULL AS noted, stale FROM kde_densities_full
WHERE relation = 't'::regclass AND column_names = '{v}' AND filter IS NULL;
-- Statistics do not see what a session with triggers and counters off did.
SET track_counts = off;
UPDATE t SET v = v + 30;
RESET track_counts;
VACUUM t;
SELECT column_name, round(distance::numeric, 2) AS distance, p_value < 1e-9 AS sure FROM kde_drift('t (k, v)', seed => 1);
SELECT round(drift::numeric, 2) AS drift, stale, stale_reason LIKE 'drift 0.%, p %' AS reason FROM kde_densities_full
WHERE relation = 't'::regclass AND column_names = '{v,k}';
SELECT column_names, action FROM kde_refresh('t') ORDER BY cardinality(column_names), filter NULLS FIRST;
SELECT drift, drift_p_value, drift_at, stale FROM kde_densities_full WHERE relation = 't'::regclass AND column_names = '{v,k}';
SELECT column_name, round(distance::numeric, 2) AS distance FROM kde_drift('t.v', filter => 'k > 3', seed => 1);
SELECT try($$SELECT kde_drift('t.id')$$);
SELECT try($$SELECT kde_drift('t.v', sample_rows => 1)$$);
SELECT try($$SELECT kde_drift(NULL)$$);
SELECT try($$SELECT kde_drift('t.v', sample_rows => 1000000000000)$$);
-- Of several columns the greatest distance that is not by chance is noted, not that of more rows.
CREATE TABLE two (often double precision, seldom double precision);
INSERT INTO two SELECT i, CASE WHEN i % 100 = 0 THEN i END FROM generate_series(1, 20000) AS i;
SELECT rows FROM kde_fit('two', ARRAY['often', 'seldom'], seed => 1);
UPDATE two SET often = often + 800, seldom = seldom + 5000;
SELECT column_name, round(distance::numeric, 2) AS distance, p_value < 1e-8 AS sure
FROM kde_drift('two (often, seldom)', sample_rows => 20000, seed => 1);
SELECT round(drift::numeric, 2) AS drift FROM kde_densities_full WHERE relation = 'two'::regclass;
DROP TABLE two;
-- Blocks that have no row of the filter's say nothing of the others.
CREATE TABLE rare (v integer);
INSERT INTO rare SELECT i FROM generate_series(1, 20000) AS i;
SELECT rows FROM kde_fit('rare', 'v', filter => 'v > 19990', seed => 1);
SET kde_aqp.sample_blocks = 10;
SELECT * FROM kde_drift('rare.v', filter => 'v > 19990', seed => 1);
RESET kde_aqp.sample_blocks;
DELETE FROM rare WHERE v > 19990;
SELECT try($$SELECT kde_drift('rare.v', filter => 'v > 19990')$$);
DROP TABLE rare;
CREATE TABLE empty (v integer);
SELECT try($$SELECT kde_drift('empty.v')$$);

-- --------------------------------------------------------------------------------- all of them
-- What it tells has times in it, which differ from run to run.
SELECT try($$CALL kde_refresh_all()$$);
BEGIN;
CALL kde_refresh_all();
ROLLBACK;
SET client_min_messages = warning;
DO $$ BEGIN CALL kde_refresh_all(); END $$;
SELECT * FROM state;
CREATE FUNCTION calls() RETURNS void LANGUAGE plpgsql AS $$ BEGIN CALL kde_refresh_all(); END $$;
SELECT try($$SELECT calls()$$);
CALL kde_refresh_all(force => true);
CALL kde_refresh_all(check_drift => true);
SELECT count(*), bool_and(drift IS NOT NULL) AS measured FROM kde_densities_full WHERE relation = 't'::regclass;
RESET client_min_messages;
SELECT try($$SELECT * FROM kde_refresh(NULL)$$);
SELECT try($$SELECT * FROM kde_refresh('t', NULL)$$);
SELECT try($$SELECT * FROM kde_refresh('state')$$);
SELECT * FROM kde_refresh('empty');
-- An error in one leaves the others.
CREATE FUNCTION doubled(integer) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 2 * $1';
SELECT rows FROM kde_fit('t', ARRAY['doubled(v)'], seed => 1);
CREATE OR REPLACE FUNCTION doubled(integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN RAISE 'not today'; END $$;
SELECT column_names, filter, action, reason FROM kde_refresh('t', force => true)
ORDER BY cardinality(column_names), column_names, filter NULLS FIRST;
SELECT column_names, refresh_failures, refresh_error FROM kde_densities_full WHERE relation = 't'::regclass AND refresh_failures > 0;
SELECT kde_drop('t (refresh.doubled(v))');
-- Rows of kde_aqp.upkeep go with their densities.
INSERT INTO kde_aqp.upkeep (density_id, failures) VALUES (-1, 0);
SET client_min_messages = warning;
CALL kde_refresh_all();
SELECT count(*) FROM kde_aqp.upkeep AS u WHERE NOT EXISTS (SELECT FROM kde_aqp.fitted AS d WHERE d.id = u.density_id);
DROP TABLE t;
SELECT count(*) FROM kde_aqp.upkeep AS u WHERE NOT EXISTS (SELECT FROM kde_aqp.fitted AS d WHERE d.id = u.density_id);

-- What a refresh reads of the catalog: a look for what there is, and one under the density's lock; what
-- it writes goes to where that was read. Counted as scans of either table, by the statistics.
CREATE TABLE scanned AS SELECT i % 100 AS v, i AS w FROM generate_series(1, 2000) AS i;
CREATE FUNCTION catalog_scans() RETURNS bigint[] LANGUAGE sql VOLATILE AS $$
    SELECT array_agg(seq_scan + idx_scan ORDER BY relname) FROM pg_stat_all_tables
    WHERE schemaname = 'kde_aqp' AND relname IN ('fitted', 'upkeep')
$$;
CREATE FUNCTION scans_since(bigint[]) RETURNS TABLE (fitted bigint, upkeep bigint) LANGUAGE sql AS $$
    SELECT now[1] - $1[1], now[2] - $1[2] FROM catalog_scans() AS now
$$;
CREATE VIEW last_fit AS SELECT * FROM kde_densities_full ORDER BY fitted_at DESC LIMIT 1;
SELECT FROM kde_fit('scanned', 'v', method => 'plugin', seed => 1) \g /dev/null
SELECT bandwidth > 0 FROM last_fit;
SELECT pg_stat_force_next_flush();
SELECT catalog_scans() AS before \gset
SELECT action FROM kde_refresh('scanned');
SELECT pg_stat_force_next_flush();
SELECT fitted BETWEEN 1 AND 2 AS fitted, upkeep BETWEEN 1 AND 2 AS upkeep FROM scans_since(:'before');
SELECT catalog_scans() AS before \gset
SELECT action FROM kde_refresh('scanned', force => true);
SELECT pg_stat_force_next_flush();
SELECT fitted BETWEEN 1 AND 2 AS fitted, upkeep BETWEEN 1 AND 2 AS upkeep FROM scans_since(:'before');
-- Of several columns, under a snapshot that is older.
SELECT kde_drop('scanned.v');
SELECT rows FROM kde_fit('scanned', ARRAY['v', 'w'], sample_rows => 300, seed => 1);
SELECT pg_stat_force_next_flush();
SELECT catalog_scans() AS before \gset
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT action FROM kde_refresh('scanned', force => true);
COMMIT;
SELECT pg_stat_force_next_flush();
SELECT fitted BETWEEN 1 AND 2 AS fitted, upkeep BETWEEN 1 AND 2 AS upkeep FROM scans_since(:'before');

DROP SCHEMA refresh CASCADE;
