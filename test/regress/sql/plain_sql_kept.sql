-- With kde_aqp.approximate = 'all' functions are answered by densities, too, but for what a statement may keep:
-- INSERT and its like, COPY FROM, ALTER TABLE, indexes, CREATE TABLE AS, with their defaults, checks, triggers and
-- generated columns, and for what policies ask.
\set ECHO queries \\ \pset tuples_only on \\ \pset format unaligned
SET search_path = public;
CREATE SCHEMA plain_sql_kept;
SET search_path = plain_sql_kept, public;
SET kde_aqp.approximate_notice = off;
SET kde_aqp.approximate_error = 1;
CREATE TABLE t AS SELECT (i * 7919 % 9973 + (i % 1000) / 1000.0)::double precision AS x FROM generate_series(1, 10000::bigint) AS i;
ALTER TABLE t ALTER x SET NOT NULL;
ANALYZE t;
SELECT (kde_fit('t', 'x', sample_rows => 100, seed => 3)).rows AS rows;
SELECT kde_set_plain_sql('t.x', true);
SELECT pg_stat_force_next_flush();
CREATE FUNCTION n() RETURNS bigint STABLE LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM plain_sql_kept.t WHERE x < 1000); END';
CREATE FUNCTION n_of(integer) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM plain_sql_kept.t WHERE x < 1000); END';
CREATE FUNCTION set_n() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN SELECT count(*) INTO NEW.n FROM plain_sql_kept.t WHERE x < 1000; RETURN NEW; END $$;
CREATE TABLE log (what text, n bigint);
CREATE FUNCTION log_n() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE n bigint; BEGIN SELECT count(*) INTO n FROM plain_sql_kept.t WHERE x < 1000; INSERT INTO plain_sql_kept.log VALUES (TG_NAME, n); RETURN NULL; END $$;
SET kde_aqp.approximate = 'off';
SELECT n() AS exact \gset
SET kde_aqp.approximate = 'all';
SELECT n() <> :exact AS otherwise_answered, n_of(x::integer) <> :exact AS immutable FROM t LIMIT 1;
-- A constant of a plan may be another's.
SELECT n_of(3) = :exact AS folded;

CREATE TABLE kept (i integer, n bigint DEFAULT n(), CHECK (n_of(i) > 0));
COPY kept (i) FROM PROGRAM 'printf "1\n2\n"';
INSERT INTO kept (i) VALUES (3);
INSERT INTO kept (i, n) SELECT 4, n();
INSERT INTO kept (i, n) SELECT 5, count(*) FROM t WHERE x < 1000;
UPDATE kept SET n = n() WHERE i = 4;
MERGE INTO kept USING (VALUES (6)) AS v (i) ON kept.i = v.i WHEN NOT MATCHED THEN INSERT (i, n) VALUES (6, n());
WITH made AS (INSERT INTO kept (i) VALUES (7) RETURNING n) SELECT n = :exact AS returned, n() = :exact AS beside FROM made;
ALTER TABLE kept ADD COLUMN added bigint DEFAULT n();
ALTER TABLE kept ALTER COLUMN added TYPE double precision USING n();
ALTER TABLE kept ADD COLUMN generated bigint GENERATED ALWAYS AS (n_of(i)) STORED;
ALTER TABLE kept ADD CHECK (n_of(i) IN (:exact));
CREATE INDEX kept_n ON kept (n_of(i));
SET enable_seqscan = off;
SELECT count(*) AS indexed FROM kept WHERE n_of(i) = :exact;
RESET enable_seqscan;
CREATE TABLE parted (i integer, n bigint DEFAULT n()) PARTITION BY LIST (i);
CREATE TABLE parted_1 PARTITION OF parted DEFAULT;
CREATE TRIGGER before BEFORE INSERT ON parted_1 FOR EACH ROW EXECUTE FUNCTION set_n();
COPY parted (i) FROM PROGRAM 'echo 1';
CREATE TABLE triggered (i integer, n bigint);
CREATE TRIGGER a_before BEFORE INSERT ON triggered FOR EACH ROW EXECUTE FUNCTION set_n();
CREATE TRIGGER b_after AFTER INSERT ON triggered FOR EACH ROW EXECUTE FUNCTION log_n();
CREATE TRIGGER c_statement AFTER INSERT ON triggered FOR EACH STATEMENT EXECUTE FUNCTION log_n();
CREATE CONSTRAINT TRIGGER d_deferred AFTER INSERT ON triggered DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION log_n();
COPY triggered (i) FROM PROGRAM 'echo 1';
INSERT INTO triggered VALUES (2);
BEGIN;
INSERT INTO triggered VALUES (3);
SET CONSTRAINTS ALL IMMEDIATE;
INSERT INTO triggered VALUES (4);
COMMIT;
CREATE TABLE made AS SELECT n() AS n, (SELECT count(*) FROM t WHERE x < 1000) AS m;
SELECT n AS n, n AS m INTO made_into FROM n() AS n;
INSERT INTO made_into VALUES (n_of(3), n_of(4));
PREPARE p AS SELECT n() AS n, n() AS m;
CREATE TABLE made_by AS EXECUTE p;
CREATE MATERIALIZED VIEW seen AS SELECT n() AS n;
REFRESH MATERIALIZED VIEW seen;
DO $$ BEGIN EXECUTE 'CREATE TABLE plain_sql_kept.made_in AS SELECT plain_sql_kept.n() AS n'; INSERT INTO plain_sql_kept.kept (i) VALUES (8); END $$;
SELECT what, every, rows FROM (
  SELECT 'kept' AS what, every(n = :exact AND coalesce(added, :exact) = :exact AND generated = :exact), count(*) AS rows FROM kept
  UNION ALL SELECT 'parted', every(n = :exact), count(*) FROM parted
  UNION ALL SELECT 'triggered', every(n = :exact), count(*) FROM triggered
  UNION ALL SELECT what, every(n = :exact), count(*) FROM log GROUP BY what
  UNION ALL SELECT 'made', every(n = :exact AND m = :exact), count(*) FROM (TABLE made UNION ALL TABLE made_into UNION ALL TABLE made_by) AS u
  UNION ALL SELECT 'made in', every(n = :exact), count(*) FROM made_in
  UNION ALL SELECT 'seen', every(n = :exact), count(*) FROM seen) AS k ORDER BY what;

-- Policies: what a role sees does not depend on an estimate.
CREATE TABLE guarded AS SELECT n FROM generate_series(:exact - 2, :exact + 1) AS n;
CREATE ROLE regress_plain_sql_kept;
GRANT USAGE ON SCHEMA plain_sql_kept TO regress_plain_sql_kept;
GRANT SELECT ON t, guarded TO regress_plain_sql_kept;
ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
SELECT pg_stat_force_next_flush();
CREATE POLICY called ON guarded USING (n = n());
SET ROLE regress_plain_sql_kept;
SELECT count(*) AS seen FROM guarded;
RESET ROLE;
DROP POLICY called ON guarded;
CREATE POLICY asked ON guarded USING (n = (SELECT count(*) FROM t WHERE x < 1000));
SET ROLE regress_plain_sql_kept;
SELECT count(*) AS seen FROM guarded;
SELECT count(*) AS seen FROM (SELECT * FROM guarded WHERE n > 0) AS g;
SET kde_aqp.approximate = 'top';
SELECT count(*) AS seen FROM guarded;
SET kde_aqp.approximate = 'all';
RESET ROLE;
DROP POLICY asked ON guarded;
CREATE POLICY correlated ON guarded USING (EXISTS (SELECT FROM t WHERE x < 1000 HAVING count(*) = n));
SET ROLE regress_plain_sql_kept;
SELECT count(*) AS seen FROM guarded;
RESET ROLE;
DROP OWNED BY regress_plain_sql_kept;
DROP ROLE regress_plain_sql_kept;

-- Rows that are handed on are answered.
COPY (SELECT n() <> :exact) TO stdout;
EXECUTE p \gset
SELECT :n <> :exact AS executed;
DO $$ BEGIN ASSERT plain_sql_kept.n() <> (SELECT n FROM plain_sql_kept.seen); END $$;

-- A serializable transaction reads what it goes by, also by a plan that was made before it.
SET plan_cache_mode = force_generic_plan;
PREPARE c AS SELECT count(*) = :exact AS exact FROM t WHERE x < 1000;
EXECUTE c;
BEGIN ISOLATION LEVEL SERIALIZABLE;
EXECUTE c;
SELECT n() = :exact AS called, (SELECT count(*) FROM t WHERE x < 1000) = :exact AS asked, approx_count('t.x', NULL, 1000) <> :exact AS functions_answer;
SELECT outcome FROM kde_plain_sql WHERE outcome LIKE '%serializable%';
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
EXECUTE c;
COMMIT;
