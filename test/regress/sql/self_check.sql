-- Self-checks: that they find what is wrong, and accuse nobody else; what is asked of which density; that
-- they are kept, and whose they are. test/t has the background worker's.
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
CREATE VIEW checks AS SELECT name, filter, checks, held, unfinished, coverage FROM kde_self_checks
  WHERE relation::text LIKE '%self_check%' OR relation IN (SELECT oid FROM pg_class WHERE relnamespace = 'self_check'::regnamespace)
  ORDER BY name COLLATE "C", filter;

-- ------------------------------------------------------------------------- questions of every shape
SELECT rows FROM kde_fit('t', 'k', measures => ARRAY['price']);
SELECT question, exact, held, ms > 0 AS ms FROM kde_self_check('t.k', questions => 12, seed => 1);
-- The same seed asks the same, and each question counts once.
SELECT question, held FROM kde_self_check('t.k', questions => 2, seed => 1);
SELECT * FROM checks;
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
SELECT count(*) AS densities, bool_and(coverage >= 0.8) AS all_hold FROM checks;

-- ------------------------------------------------------------------------------ what is spoiled is found
-- Within ten questions, each kind. How many of kde_check's problems are of them.
CREATE FUNCTION accused(density text) RETURNS text LANGUAGE sql AS $$
  SELECT split_part(line, ':', 1) FROM kde_check(), regexp_split_to_table(problems, E'\n') AS line
  WHERE line LIKE '%is not as good as it says%' AND line LIKE '%"' || density || '"%' $$;
SELECT accused('t.k') AS honest;
-- The density of another column.
SELECT rows FROM kde_fit('t', 'y', seed => 1);
SELECT kde_store('t', 'x', kde_density('t.y'));
SELECT count(*) FILTER (WHERE NOT held) > 5 AS found FROM kde_self_check('t.x', seed => 2);
SELECT accused('t.x');
SELECT kde_set_plain_sql('t.x', true);
SELECT accused('t.x') AS with_plain_sql;
SELECT split_part(actions, E'\n', 1) AS action FROM kde_check() \gset
\echo :action
\o /dev/null
:action
\o
SELECT accused('t.x') AS mended;
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
SELECT accused('t.at');
SELECT action FROM kde_refresh('t', force => true) WHERE column_names = '{at}';
SELECT accused('t.at') AS mended;
-- What the statistics know of, intervals take in.
UPDATE t SET y = y + 500 WHERE id % 5 = 0;
SELECT bool_and(held) AS held FROM kde_self_check('t.y', seed => 3);

-- ---------------------------------------------------------------------- how many fits are taken for bad
-- P(X <= held), X binomial: 18 of 20 are none, 10 of 20 are; see src/pg/check/density_findings.cpp. The
-- misses of one sample are no independent ones, so what is missed narrowly is but a notice.
CREATE FUNCTION made_up(density text, checks int, missed int, by_how_much float8) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  made_id bigint;
BEGIN
  SELECT d.id INTO made_id FROM kde_aqp.readable_densities() AS d WHERE d.name = made_up.density AND d.filter = '';
  DELETE FROM kde_aqp.self_check AS c WHERE c.density_id = made_id;
  INSERT INTO kde_aqp.self_check SELECT made_id, i, now(), 'question ' || i, 100, 90, 110,
    CASE WHEN i <= missed THEN 110 + by_how_much ELSE 100 END, i > missed, 1 FROM generate_series(1, checks) AS i;
  RETURN accused(density);
END $$;
SELECT name AS y FROM kde_aqp.readable_densities() WHERE relation = 't'::regclass AND column_names = '{y}' AND filter = '' \gset
SELECT missed, made_up(:'y', 20, missed, 30) AS by_far, made_up(:'y', 20, missed, 5) AS narrowly FROM generate_series(0, 10) AS missed;
SELECT missed, made_up(:'y', 100, missed, 30) AS by_far FROM generate_series(8, 18, 2) AS missed;
SELECT kde_set_plain_sql(:'y', true);
SELECT made_up(:'y', 20, 10, 30);
SELECT checks, held, coverage, mean_error > 0 AS mean, worst_error > 0 AS worst FROM kde_self_checks WHERE name = :'y';

-- ------------------------------------------------------------------------------------------- what is kept
-- The last hundred questions.
SELECT count(*) > 0 FROM kde_self_check('t.k', questions => 300, seed => 5);
SELECT checks FROM checks WHERE name LIKE '%t.k' AND filter IS NULL;
-- Gone with the density.
SELECT kde_drop('t.k');
DROP TABLE t;
SELECT count(*) FROM kde_aqp.self_check WHERE density_id NOT IN (SELECT id FROM kde_aqp.fitted);
SELECT count(*) FROM checks;

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
SELECT name, checks FROM kde_self_checks;
SELECT count(*) FROM kde_aqp.self_check;
RESET ROLE;

-- --------------------------------------------------------------------------------------------- refusals
SELECT kde_self_check('owned.v', questions => 0);
SELECT kde_self_check('owned.v', questions => NULL);
SELECT kde_self_check('owned.v', 5);
SELECT kde_self_check(NULL);
SELECT kde_self_check('owned.nothing');
SELECT kde_self_check('owned (v, w)');
BEGIN READ ONLY;
SELECT kde_self_check('owned.v');
ROLLBACK;
-- An error of an exact query is that question's: the others are asked and kept.
CREATE TABLE broken AS SELECT i AS v FROM generate_series(1, 1000) AS i;
SELECT rows FROM kde_fit('broken', 'v', filter => '1000 / v > 0');
INSERT INTO broken VALUES (0);
SELECT count(*) FROM kde_self_check('broken.v', filter => '1000 / v > 0');
SELECT checks, held, unfinished FROM checks WHERE name LIKE '%broken.v';

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
SELECT checks > 0 AS checked, unfinished > 0 AS unfinished FROM kde_self_checks WHERE relation = 'huge'::regclass;

-- Policies that keep rows from the owner are told to a superuser, too.
CREATE TABLE forced AS SELECT i % 10 AS v FROM generate_series(1, 1000) AS i;
SELECT rows FROM kde_fit('forced', 'v');
ALTER TABLE forced OWNER TO regress_kde_self_owner;
ALTER TABLE forced ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
SELECT count(*) FROM kde_self_check('forced.v', questions => 2);

SET client_min_messages = warning;
DROP SCHEMA self_check CASCADE;
DROP ROLE regress_kde_self_owner, regress_kde_self_reader;
