-- DDL of tables that densities are of, of others, and of one that DROP EXTENSION takes a column of.
SET client_min_messages = error;
CREATE TABLE passing AS SELECT i AS v FROM generate_series(1, 100) AS i;
SELECT kde_fit('passing', 'v');
ALTER TABLE passing RENAME v TO w;
ALTER TABLE passing ADD x integer;
ALTER TABLE passing DROP w;
DROP TABLE passing;
CREATE TABLE kept AS SELECT 1 AS i, kde_density('facts.v') AS d;
SELECT approx_count(d) FROM kept;
ALTER TABLE kept RENAME i TO j;
DROP TABLE kept;
CREATE TABLE passing (v integer);
DROP TABLE passing;
