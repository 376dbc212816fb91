-- Rows come, change, move to the other leaf, and go; some of it is taken back.
\set id random(1, 16000)
\set rows random(1, 40)
\set back random(0, 2)
\set keep random(0, 4)
BEGIN;
INSERT INTO growing SELECT g.* FROM (SELECT nextval('load.growing_id') AS i FROM generate_series(1, :rows)) AS v, load.grown(i, i) AS g;
UPDATE growing SET amount = amount + 1, kind = CASE WHEN id % 2 = 0 THEN 'new' END WHERE id BETWEEN :id AND :id + :rows;
SAVEPOINT here;
UPDATE growing SET at = at + interval '20 days', n = n + 1 WHERE id BETWEEN :id - 5 AND :id + 5;
DELETE FROM growing WHERE id BETWEEN :id + 50 AND :id + 50 + :rows;
\if :back
ROLLBACK TO here;
\endif
UPDATE growing SET other = other + 1 WHERE id BETWEEN :id + 200 AND :id + 205;
\if :keep
COMMIT;
\else
ROLLBACK;
\endif
\sleep 20 ms
