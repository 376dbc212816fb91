-- Plain SQL within the transaction that changed the table: what it changed is read, as what others did. After
-- each step every statement says what the exact plan does, and so many are answered.
\set ECHO queries \\ \pset tuples_only on \\ \pset format unaligned
SET search_path = public;
CREATE SCHEMA own;
SET search_path = own, public;
SET kde_aqp.approximate_notice = off;
CREATE FUNCTION fares(first integer, last integer) RETURNS TABLE (x integer, region text, fare numeric(10,2)) LANGUAGE sql AS
  'SELECT i, (''{north,east,west}''::text[])[1 + i % 3], (i * 7919 % 10000) / 100.0 FROM generate_series(first, last) AS i';
CREATE TABLE ride (x integer NOT NULL, region text, fare numeric(10,2));
CREATE TABLE tree (LIKE ride) PARTITION BY RANGE (x);
CREATE TABLE early PARTITION OF tree FOR VALUES FROM (MINVALUE) TO (6000);
CREATE TABLE late PARTITION OF tree FOR VALUES FROM (6000) TO (MAXVALUE);
INSERT INTO ride SELECT * FROM fares(1, 12000);
INSERT INTO tree SELECT * FROM fares(1, 12000);
VACUUM ride, tree;
SELECT kde_fit(t, 'x', sample_rows => -1, measures => '{fare}', group_by => 'region') FROM unnest('{ride,tree}'::text[]) AS t \g /dev/null
SELECT kde_fit(t, 'x', sample_rows => -1, measures => '{fare}') FROM unnest('{ride,tree}'::text[]) AS t \g /dev/null
SELECT kde_set_plain_sql(name, true) FROM kde_densities_full WHERE relation IN ('ride'::regclass, 'tree'::regclass) \g /dev/null

CREATE TABLE statement AS SELECT format(query, t) AS query FROM unnest('{ride,tree}'::text[]) AS t, (VALUES
  ('SELECT count(*), sum(fare), min(x), max(x) FROM %s'), ('SELECT region, count(*), avg(fare) FROM %s WHERE x > 5000 GROUP BY region'),
  ('SELECT x / 1000, sum(fare) FROM %s GROUP BY 1'), ('SELECT count(*), sum(fare) FROM %s WHERE x BETWEEN 11000 AND 13000')) AS q (query);
SELECT say('fitted');
BEGIN;
INSERT INTO ride SELECT * FROM fares(12001, 12100);
INSERT INTO tree SELECT * FROM fares(12001, 12100);
SELECT say('inserted');
SAVEPOINT a;
UPDATE ride SET fare = fare + 1, region = 'new' WHERE x > 11990;
UPDATE tree SET fare = fare + 1, region = 'new' WHERE x > 11990;
SELECT say('updated');
SAVEPOINT b;
DELETE FROM ride WHERE x > 11900;
DELETE FROM tree WHERE x > 11900;
SELECT say('deleted');
ROLLBACK TO b;
SELECT say('back to the updates');
ROLLBACK TO a;
SELECT say('back to the rows inserted');
-- Of the same table, whose rows the statement is to read as they were.
SET LOCAL kde_aqp.approximate = 'all';
INSERT INTO ride SELECT 20000 + count(*), 'all', sum(fare) FROM ride;
INSERT INTO tree SELECT 20000 + count(*), 'all', sum(fare) FROM tree;
SELECT say('inserted what was counted');
SELECT x, fare = (SELECT sum(fare) FROM ride WHERE region <> 'all') AS is_exact FROM ride WHERE region = 'all';
SELECT count(*) FROM kde_refresh('ride', force => true);
SELECT say('refreshed by the same transaction');
DELETE FROM ride WHERE x % 2 = 0 AND x > 11000;
SELECT say('and changed again');
TRUNCATE late;
SELECT say('a leaf emptied');
ROLLBACK;
SELECT say('rolled back');

-- Functions that change rows within a statement: what it counts is as of its beginning, and what it asks
-- later as of then.
CREATE FUNCTION add(rows integer) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO ride SELECT * FROM fares((SELECT max(x) + 1 FROM ride), (SELECT max(x) + rows FROM ride));
  RETURN (SELECT count(*) FROM ride);
END $$;
CREATE FUNCTION counted() RETURNS bigint STABLE LANGUAGE sql AS 'SELECT count(*) FROM ride';
SET kde_aqp.approximate = 'all';
BEGIN;
SELECT add(1), add(10) AS more, (SELECT count(*) FROM ride) AS before, counted() AS stable, add(100) AS most;
SELECT count(*) FROM ride;
SELECT add(5) AS added, s.* FROM (SELECT region, count(*), max(x) FROM ride GROUP BY region) AS s ORDER BY region;
SELECT region, count(*), max(x) FROM ride GROUP BY region ORDER BY region;
-- A cursor goes on as of its beginning.
DECLARE before NO SCROLL CURSOR FOR SELECT x / 10000, count(*), sum(fare), max(x) FROM ride GROUP BY 1 ORDER BY 1;
SELECT add(50);
DELETE FROM ride WHERE x % 3 = 0;
SAVEPOINT s;
UPDATE ride SET fare = 0 WHERE x > 12000;
FETCH ALL FROM before;
ROLLBACK TO s;
SELECT say('after cursors');
ROLLBACK;
-- The rows of a loop are those of its beginning, those of a command within it of now.
DO $$
DECLARE
  r record;
  n bigint;
  was bigint;
BEGIN
  FOR r IN SELECT region, count(*) AS rows FROM ride GROUP BY region ORDER BY region LOOP
    DELETE FROM ride WHERE x = (SELECT max(x) FROM ride);
    SELECT count(*) INTO n FROM ride;
    BEGIN
      INSERT INTO ride SELECT * FROM fares(13000, 13009);
      SELECT count(*) INTO was FROM ride;
      RAISE division_by_zero;
    EXCEPTION WHEN division_by_zero THEN NULL;
    END;
    RAISE NOTICE '% %: %, % in what was undone, % after', r.region, r.rows, n, was, (SELECT count(*) FROM ride);
  END LOOP;
END $$;
SELECT say('after a loop');
-- A statement of a trigger, and of a function that a change calls, keeps what it reads.
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.fare := (SELECT count(*) FROM ride);
  RETURN NEW;
END $$;
CREATE TRIGGER note BEFORE INSERT ON ride FOR EACH ROW EXECUTE FUNCTION note();
INSERT INTO ride SELECT * FROM fares(14000, 14002);
SELECT x, fare FROM ride WHERE x >= 14000 ORDER BY x;
SELECT say('after a trigger');
SET client_min_messages = warning;
DROP SCHEMA own CASCADE;
