-- Plain SQL that densities may answer: the exact plan where the extension is gone.
SET client_min_messages = error;
SET kde_aqp.approximate = top;
SELECT count(*) FROM facts WHERE v < 500;
SELECT sum(v) FROM facts WHERE v BETWEEN 20 AND 300;
SELECT g, count(*) FROM facts WHERE d < '2026-03-01' GROUP BY g;
PREPARE p AS SELECT count(*) FROM facts WHERE v < $1;
EXECUTE p (10);
EXECUTE p (20);
EXPLAIN SELECT count(*) FROM facts WHERE v < 500;
