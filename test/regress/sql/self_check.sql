-- kde_self_check(): that it finds what is wrong, and accuses nobody else; what is asked of which density,
-- and by whom.
\pset tuples_only
\pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS self_check CASCADE;
DROP ROLE IF EXISTS regress_kde_self_owner, regress_kde_self_reader;
CREATE SCHEMA self_check;
SET search_path = self_check, public;
RESET client_min_messages;

CREATE TABLE t WITH (autovacuum_enabled = false) AS
  SELECT i AS id, (i * 7919) % 1000 AS k, ((i * 104729) % 100000) / 100.0::float8 AS x, ((i * 31) % 5003)::numeric(10, 2) AS price,
    1000 - i::float8 AS y, (ARRAY['EU', 'US', 'AS', NULL])[1 + i % 4] AS region, timestamp '2026-01-01' + i * interval '1 minute' AS at
  FROM generate_series(1, 20000) AS i;

-- ------------------------------------------------------------------------- questions of every shape
SELECT rows FROM kde_fit('t', 'k', measures => ARRAY['price']);
SELECT question, exact, held, ms > 0 AS ms FROM kde_self_check('t.k', questions => 12, seed => 1);
-- The same seed asks the same.
SELECT question, held FROM kde_self_check('t.k', questions => 2, seed => 1);
-- What is shown can be asked by hand.
CREATE FUNCTION by_hand(density text, filter text DEFAULT NULL) RETURNS TABLE (asked bigint, same boolean, held bigint) LANGUAGE plpgsql AS $$
DECLARE
  c record;
  exact float8;
BEGIN
  asked := 0; same := true; held := 0;
  FOR c IN SELECT * FROM kde_self_check(density, filter => filter, questions => 20, seed => 7) LOOP
    EXECUTE c.question INTO exact;
    asked := asked + 1;
    same := same AND c.exact IS NOT DISTINCT FROM exact;
    held := held + c.held::int;
    IF c.held <> (exact IS NULL OR exact BETWEEN c.lower_bound - 1e-9 * abs(exact) AND c.upper_bound + 1e-9 * abs(exact)) THEN
      RAISE EXCEPTION 'held? %', c;
    END IF;
  END LOOP;
  RETURN NEXT;
END $$;
SELECT rows FROM kde_fit('t', 'x', seed => 1);
SELECT rows FROM kde_fit('t', 'price', sample_rows => 5000, seed => 1);
SELECT rows FROM kde_fit('t', 'at', seed => 1);
SELECT rows FROM kde_fit('t', 'region', measures => ARRAY['x'], seed => 1);
SELECT rows FROM kde_fit('t', 'k', filter => 'region = ''EU''', seed => 1);
SELECT rows FROM kde_fit('t', ARRAY['x * 2 + 1'], seed => 1);
SELECT rows FROM kde_fit('t', ARRAY['x', 'k'], seed => 1);
SELECT rows FROM kde_fit('t', 'k', group_by => 'region', seed => 1);
SELECT rows FROM kde_fit('t', 'x', group_by => 'region, k > 500', measures => ARRAY['price'], seed => 1);
SELECT * FROM by_hand('t.x');
SELECT * FROM by_hand('t.price');
SELECT * FROM by_hand('t.at');
SELECT * FROM by_hand('t.region');
SELECT * FROM by_hand('t.k', 'region = ''EU''');
SELECT * FROM by_hand('t (x * 2 + 1)');
SELECT * FROM by_hand('t (x, k)');
SELECT * FROM by_hand('t.k by (region)');
SELECT * FROM by_hand('t.x by (region, k > 500)');

-- ------------------------------------------------------------------------------ what is spoiled is found
-- The density of another column.
SELECT rows FROM kde_fit('t', 'y', seed => 1);
SELECT kde_store('t', 'x', kde_density('t.y'));
SELECT count(*) FILTER (WHERE NOT held) > 5 AS found FROM kde_self_check('t.x', seed => 2);
-- An update behind the statistics' back: a third of the rows go elsewhere. The proof knows, and intervals take them in.
BEGIN;
SET LOCAL track_counts = off;
UPDATE t SET price = price / 2 WHERE id % 3 = 0;
COMMIT;
SELECT changed_rows FROM kde_aqp.readable_densities() WHERE relation = 't'::regclass AND name LIKE '%t.price';
SELECT bool_and(held) AS held FROM kde_self_check('t.price', seed => 2);
-- Rows deleted so.
BEGIN;
SET LOCAL track_counts = off;
DELETE FROM t WHERE id % 10 = 0;
COMMIT;
SELECT bool_and(held) AS held FROM kde_self_check('t.at', seed => 2);
-- What the statistics know of, intervals take in.
UPDATE t SET y = y + 500 WHERE id % 5 = 0;
SELECT bool_and(held) AS held FROM kde_self_check('t.y', seed => 3);

DROP TABLE t;

-- ---------------------------------------------------------------------------------------------- by whom
CREATE ROLE regress_kde_self_owner;
CREATE ROLE regress_kde_self_reader;
GRANT USAGE ON SCHEMA self_check TO regress_kde_self_owner, regress_kde_self_reader;
CREATE TABLE owned AS SELECT i AS v, i AS w FROM generate_series(1, 1000) AS i;
ALTER TABLE owned OWNER TO regress_kde_self_owner;
GRANT SELECT (v) ON owned TO regress_kde_self_reader;
SET ROLE regress_kde_self_owner;
SELECT rows FROM kde_fit('owned', 'v');
SELECT rows FROM kde_fit('owned', 'w');
SELECT count(*) FROM kde_self_check('owned.v', questions => 3, seed => 1);
SET ROLE regress_kde_self_reader;
SELECT count(*) FROM kde_self_check('owned.v', questions => 3, seed => 1);
RESET ROLE;

-- --------------------------------------------------------------------------------------------- refusals
SELECT kde_self_check('owned.v', questions => 0);
SELECT kde_self_check('owned.v', questions => NULL);
SELECT kde_self_check('owned.v', 5);
SELECT kde_self_check(NULL);
SELECT kde_self_check('owned.nothing');
SELECT kde_self_check('owned (v, w)');
-- It writes nothing.
BEGIN READ ONLY;
SELECT bool_and(held) AS held FROM kde_self_check('owned.v', seed => 1);
ROLLBACK;
-- An error of an exact query is that question's: the others are asked.
CREATE TABLE broken AS SELECT i AS v FROM generate_series(1, 1000) AS i;
SELECT rows FROM kde_fit('broken', 'v', filter => '1000 / v > 0');
INSERT INTO broken VALUES (0);
SELECT count(*) FROM kde_self_check('broken.v', filter => '1000 / v > 0');

-- ------------------------------------------------------------------------- no density answers what is exact
CREATE TABLE plain WITH (autovacuum_enabled = false) AS SELECT i AS v FROM generate_series(1, 10000) AS i;
SELECT rows FROM kde_fit('plain', 'v');
SELECT kde_set_plain_sql('plain.v', true);
BEGIN;
SET LOCAL track_counts = off;
DELETE FROM plain WHERE v % 2 = 0;
COMMIT;
-- In a session that has changed no rows.
\c -
LOAD 'kde_aqp';
SET search_path = self_check, public;
SET kde_aqp.approximate = 'all';
SET kde_aqp.approximate_notice = off;
SELECT count(*) AS plain FROM plain WHERE v <= 1000;
SELECT exact, held FROM kde_self_check('plain.v', questions => 1, seed => 1);
SELECT approx_stddev('plain.v', 10.5, 20.5, max_relative_error => 0, otherwise => 'exact') AS stddev;
SHOW kde_aqp.approximate;

-- What the table's rows have no sum of is told; the other questions are asked.
CREATE TABLE huge AS SELECT i * 1e305::float8 AS v FROM generate_series(1, 1000) AS i;
SELECT rows FROM kde_fit('huge', 'v');
SELECT question, estimate IS NULL AS no_estimate, exact IS NULL AS no_exact, held FROM kde_self_check('huge.v', questions => 12, seed => 1);

-- Policies that keep rows from the owner are told to a superuser, too.
CREATE TABLE forced AS SELECT i % 10 AS v FROM generate_series(1, 1000) AS i;
SELECT rows FROM kde_fit('forced', 'v');
ALTER TABLE forced OWNER TO regress_kde_self_owner;
ALTER TABLE forced ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
SELECT count(*) FROM kde_self_check('forced.v', questions => 2);

SET client_min_messages = warning;
DROP SCHEMA self_check CASCADE;
DROP ROLE regress_kde_self_owner, regress_kde_self_reader;
