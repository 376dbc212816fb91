-- In another database: the extension comes and goes.
CREATE EXTENSION kde_aqp;
CREATE TABLE t AS SELECT i AS v FROM generate_series(1, 1000) AS i;
SELECT kde_fit('t', 'v');
DROP EXTENSION kde_aqp;
DROP TABLE t;
