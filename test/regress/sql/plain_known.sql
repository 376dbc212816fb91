-- What a session keeps of a table's densities from one statement to the next follows what becomes of them: fits,
-- drops, consent, their rollback, renames, and many beside each other.
\set ECHO queries \\ \pset tuples_only on \\ \pset format unaligned
CREATE SCHEMA plain_known;
SET search_path = plain_known, public;
SET kde_aqp.approximate_notice = off;
CREATE TYPE state AS ENUM ('paid', 'open');
CREATE TABLE t AS SELECT i % 100 AS x, (i % 77)::numeric AS fare, (ARRAY['paid','open'])[1 + i % 2]::state AS status, (ARRAY['a','b','c'])[1 + i % 3] AS k FROM generate_series(1, 3000) AS i;
ALTER TABLE t ALTER x SET NOT NULL, ALTER fare SET NOT NULL, ALTER k SET NOT NULL;
VACUUM ANALYZE t;
CREATE FUNCTION fit(columns text[], filter text = NULL) RETURNS text LANGUAGE sql AS $$
  SELECT kde_fit('t', columns, filter => filter, sample_rows => -1)::text;
  SELECT kde_set_plain_sql(name, true, filter => d.filter) FROM kde_densities_full AS d WHERE relation = 't'::regclass AND NOT plain_sql;
  SELECT 'fitted' $$;
CREATE FUNCTION asked() RETURNS TABLE (range text, filtered text, expression text) LANGUAGE sql AS $$
  SELECT answered_by('SELECT count(*) FROM t WHERE x < 50'), answered_by('SELECT count(*) FROM t WHERE x < 50 AND status = ''paid'''),
    answered_by('SELECT count(*) FROM t WHERE fare * 2 > 40') $$;
SELECT asked();
-- Fitted and dropped, for good or not.
SELECT fit('{x}');
SELECT asked();
BEGIN;
SELECT fit('{x}', 'status = ''paid''');
SAVEPOINT a;
SELECT fit('{fare * 2}');
SELECT asked();
ROLLBACK TO a;
SELECT asked();
ROLLBACK;
SELECT asked();
BEGIN;
SELECT kde_drop('t.x');
SELECT asked();
ROLLBACK;
SELECT asked();
SELECT fit('{x}', 'status = ''paid'''), fit('{fare * 2}');
SELECT asked();
-- Consent.
BEGIN;
SELECT kde_set_plain_sql('t.x', false);
SELECT asked();
ROLLBACK;
SELECT asked();
-- Names that its filter and its columns have.
ALTER TYPE state RENAME VALUE 'paid' TO 'settled';
SELECT answered_by('SELECT count(*) FROM t WHERE x < 50 AND status = ''settled''');
ALTER TYPE state RENAME VALUE 'settled' TO 'paid';
ALTER TYPE state RENAME TO condition;
SELECT asked();
ALTER TYPE condition RENAME TO state;
ALTER TABLE t RENAME x TO y;
SELECT answered_by('SELECT count(*) FROM t WHERE y < 50 AND status = ''paid''');
ALTER TABLE t RENAME y TO x;
ALTER TABLE t ALTER fare TYPE float8;
SELECT asked();
ALTER TABLE t ALTER fare TYPE numeric;
VACUUM t;
SELECT fit('{x}'), fit('{fare * 2}'), fit('{x}', 'status = ''paid''');
-- A function of the filter by another.
CREATE FUNCTION is_good(state) RETURNS boolean IMMUTABLE LANGUAGE sql AS $$SELECT $1 = 'paid'$$;
SELECT fit('{x}', 'is_good(status)');
SELECT answered_by('SELECT count(*) FROM t WHERE x < 50 AND is_good(status)');
CREATE OR REPLACE FUNCTION is_good(state) RETURNS boolean IMMUTABLE LANGUAGE sql AS $$SELECT $1 <> 'paid'$$;
SELECT answered_by('SELECT count(*) FROM t WHERE x < 50 AND is_good(status)');
-- The catalog by itself is written anew.
VACUUM FULL kde_aqp.fitted;
SELECT asked();
-- Of many densities, those that have the query's columns.
CREATE TABLE wide AS SELECT i % 100 AS a, i % 7 AS b, i % 11 AS c, (i % 13)::numeric / 2 AS d, (ARRAY['x','y'])[1 + i % 2] AS k FROM generate_series(1, 2000) AS i;
SELECT format('ALTER TABLE wide %s', string_agg('ALTER ' || column_name || ' SET NOT NULL', ', ')) FROM information_schema.columns WHERE table_name = 'wide' AND table_schema = 'plain_known' \gexec
VACUUM ANALYZE wide;
SELECT count((kde_fit('wide', ARRAY[x], sample_rows => -1, filter => f, group_by => g)).rows)
FROM unnest('{a,b,c,d,a + b,d * 2}'::text[]) AS x, unnest('{NULL,k = ''x'',c > 3 AND d > 1,d * 2 > 3}'::text[]) AS f, unnest('{NULL,k,upper(k)}'::text[]) AS g;
SELECT count(kde_set_plain_sql(name, true, filter => filter)) FROM kde_densities_full WHERE relation = 'wide'::regclass;
SELECT answered_by(query), query FROM unnest(ARRAY[
  'SELECT count(*) FROM wide WHERE a < 50', 'SELECT count(*) FROM wide WHERE a + b < 50 AND k = ''x''', 'SELECT count(*), round(avg(d * 2), 3) FROM wide WHERE d * 2 BETWEEN 2 AND 7',
  'SELECT upper(k), count(*) FROM wide WHERE a < 50 AND d > 1 AND c > 3 GROUP BY 1', 'SELECT count(*) FROM wide WHERE b < 3 AND d * 2 > 3', 'SELECT k, count(*) FROM wide WHERE c < 3 AND c IS NOT NULL AND a IS NOT NULL GROUP BY k',
  'SELECT count(b), count(k), sum(a) FROM wide WHERE a > 3', 'SELECT count(*), avg(a), avg(b), max(c) FROM wide', 'SELECT count(*) FROM wide WHERE a < 50 AND b < 3', 'SELECT sum(c) FROM wide WHERE a < 50',
  'SELECT count(*) FROM wide AS w WHERE w IS NOT NULL AND a < 50']) AS query;
DROP TABLE t, wide;
