-- Plain SQL, one snapshot over several statements: the state that the first has seen is the state of all.
\set days random(1, 60)
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT state AS seen FROM load.state WHERE name = 'plain' \gset
SELECT load.must('a state of plain SQL', (SELECT count(*) FROM plain WHERE day < date '2026-01-01' + :days::integer AND kind > 'low'), 60 * :days * (1 + :seen));
SELECT load.must('days of plain SQL', max(n), 60 * (1 + :seen)) FROM (SELECT day, count(*) AS n FROM plain WHERE day < date '2026-01-01' + :days::integer AND kind > 'low' GROUP BY day) AS g;
COMMIT;
