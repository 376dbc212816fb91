-- Plain SQL, of which every answer is that of the state that the statement sees, whoever answers.
\set below random(1, 50)
\set days random(1, 60)
\set often random(1, 50)
SELECT load.must('count of plain SQL', (SELECT count(*) FROM plain WHERE v < :below), 42 * (1 + s.state) * (1 + n.state) * :below),
  load.must('sum of plain SQL', (SELECT sum(v) FROM plain WHERE v < :below), 21 * (1 + s.state) * (1 + n.state) * :below * (:below - 1))
FROM load.state AS s, load.state AS n WHERE s.name = 'plain' AND n.name = 'names of plain';
SELECT bool_and(load.must('groups of plain SQL', g.n, 10 * :days * (1 + s.state) * 2 ^ (g.place - 1))), load.must('how many groups', count(*), 3)
FROM (SELECT row_number() OVER (ORDER BY kind) AS place, count(*) AS n FROM plain WHERE day < date '2026-01-01' + :days::integer GROUP BY kind) AS g, load.state AS s
WHERE s.name = 'plain';
\if :often = 1
SET kde_aqp.approximate = off;
SET kde_aqp.approximate = top;
\endif
