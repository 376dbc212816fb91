-- The database that `dropped_*.sql` run in: tables that are fitted, some of whose columns are of the extension's type.
SET client_min_messages = warning;
CREATE TABLE facts AS SELECT i::double precision AS v, i % 7 AS g, date '2026-01-01' + i % 300 AS d, 'w' || i % 5 AS word FROM generate_series(1, 3000) AS i;
CREATE TABLE others AS SELECT * FROM facts;
VACUUM ANALYZE facts, others;
CREATE EXTENSION kde_aqp;
SELECT kde_fit('facts', 'v', sample_rows => -1);
SELECT kde_set_plain_sql('facts.v', true);
