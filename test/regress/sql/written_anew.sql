-- Values that ALTER TABLE writes anew are told from rows that are moved (VACUUM FULL, CLUSTER), whatever was counted:
-- an index that comes with them leaves the statistics as they were. Each cell is a table of its own.
\pset tuples_only
\pset format unaligned
SET client_min_messages = error;
CREATE TYPE mood AS ENUM ('low', 'high');
CREATE TABLE cells AS
SELECT form || CASE WHEN indexed THEN '_i' ELSE '' END || CASE kind WHEN 'PARTITIONED' THEN '_p' WHEN 'UNLOGGED' THEN '_u' ELSE '' END AS name,
       form, type, fit, altered, indexed, kind
FROM (VALUES
  ('smallint', 'smallint', '''v''', 'v * 2'),
  ('integer', 'integer', '''v''', 'v * 2'),
  ('bigint', 'bigint', '''v''', 'v * 2'),
  ('numeric', 'numeric(12, 2)', '''v''', 'v * 2'),
  ('real', 'real', '''v''', 'v * 2'),
  ('double', 'double precision', '''v''', 'v * 2'),
  ('date', 'date', '''v''', 'v + 7'),
  ('timestamp', 'timestamp', '''v''', 'v + interval ''7 days'''),
  ('timestamptz', 'timestamptz', '''v''', 'v + interval ''7 days'''),
  ('time', 'time', '''v''', 'v + interval ''1 hour'''),
  ('interval', 'interval', '''v''', 'v * 2'),
  ('text', 'text', '''v''', 'v || ''x'''),
  ('boolean', 'boolean', '''v''', 'NOT v'),
  ('enum', 'mood', '''v''', 'CASE v WHEN ''low'' THEN ''high''::mood ELSE ''low'' END'),
  ('other_type', 'integer', '''v''', 'BIGINT v * 1000'),
  ('measure', 'integer', '''x'', measures => ARRAY[''v'']', 'v * 2'),
  ('key', 'text', '''x'', group_by => ''v''', 'v || ''x'''),
  ('filter', 'integer', '''x'', filter => ''v > 2''', 'v * 2'),
  ('expression', 'integer', 'ARRAY[''v + x'']', 'v * 2'),
  ('joint', 'integer', 'ARRAY[''x'', ''v'']', 'v * 2')
) AS f (form, type, fit, altered), (VALUES (false), (true)) AS i (indexed), unnest('{PERMANENT,PARTITIONED,UNLOGGED}'::text[]) AS kind
WHERE kind = 'PERMANENT' OR form IN ('integer', 'measure', 'key', 'filter', 'expression', 'joint');
SELECT count(*) AS cells FROM cells;

CREATE FUNCTION value_of(i integer, type text) RETURNS text IMMUTABLE LANGUAGE sql RETURN CASE
  WHEN type = 'date' OR type LIKE 'timestamp%' THEN '2026-01-' || lpad((i % 28 + 1)::text, 2, '0')
  WHEN type = 'time' THEN '00:' || lpad((i % 28 + 1)::text, 2, '0')
  WHEN type = 'interval' THEN i % 28 || ' days'
  WHEN type = 'boolean' THEN (i % 2)::text
  WHEN type = 'mood' THEN CASE WHEN i % 3 = 0 THEN 'low' ELSE 'high' END
  ELSE (i % 28)::text END;
\set ECHO none
SELECT format(CASE kind
  WHEN 'PARTITIONED' THEN 'CREATE TABLE cell_%1$s (id integer NOT NULL, x integer, v %2$s) PARTITION BY RANGE (id);
                           CREATE TABLE cell_%1$s_0 PARTITION OF cell_%1$s FOR VALUES FROM (0) TO (300);
                           CREATE TABLE cell_%1$s_1 (v %2$s, x integer, id integer NOT NULL);
                           ALTER TABLE cell_%1$s ATTACH PARTITION cell_%1$s_1 FOR VALUES FROM (300) TO (1000)'
  WHEN 'UNLOGGED' THEN 'CREATE UNLOGGED TABLE cell_%1$s (id integer NOT NULL, x integer, v %2$s)'
  ELSE 'CREATE TABLE cell_%1$s (id integer NOT NULL, x integer, v %2$s)' END, name, type) FROM cells \gexec
SELECT format('CREATE INDEX ON cell_%s (v, x)', name) FROM cells WHERE indexed \gexec
SELECT format('INSERT INTO cell_%s SELECT i, i %% 50, value_of(i, %L)::%3$s FROM generate_series(0, 599) AS i', name, type, type) FROM cells \gexec
\set ECHO all
SELECT FROM pg_stat_force_next_flush();
VACUUM (ANALYZE);
\c -
SET client_min_messages = error;
\o /dev/null
\set ECHO none
SELECT format('SELECT FROM kde_fit(''cell_%s'', %s)', name, fit) FROM cells \gexec
-- That of the column beside its groups is another's.
SELECT format('SELECT kde_drop(''cell_%s.x'')', name) FROM cells WHERE form = 'key' \gexec
SELECT format('VACUUM FULL cell_%s', name) FROM cells \gexec
\set ECHO all
\o
-- What moves the rows alone makes nothing stale.
SELECT FROM pg_stat_force_next_flush();
\c -
SET client_min_messages = error;
SELECT relation, proof FROM kde_densities_full WHERE relation::text LIKE 'cell%' AND stale;
SELECT count(*) FROM kde_densities_full WHERE relation::text LIKE 'cell%' AND NOT stale;
\o /dev/null
SELECT kde_refresh(relation, force => true) FROM kde_densities_full WHERE relation::text LIKE 'cell%';
-- Nor does what changes no value, in the same file.
\set ECHO none
SELECT format('ALTER TABLE cell_%1$s ALTER v SET STATISTICS 50, ALTER v SET NOT NULL, ALTER v DROP DEFAULT, ADD w integer', name) FROM cells \gexec
SELECT format('ALTER TABLE cell_%1$s DROP w, DROP id', name) FROM cells WHERE kind <> 'PARTITIONED' \gexec
\set ECHO all
\o
SELECT FROM pg_stat_force_next_flush();
\c -
SET client_min_messages = error;
SELECT count(*), proof FROM kde_densities_full WHERE relation::text LIKE 'cell%' AND NOT stale GROUP BY 2 ORDER BY 1;
\o /dev/null
SELECT kde_refresh(relation, force => true) FROM kde_densities_full WHERE relation::text LIKE 'cell%';
\o
-- What writes values anew does, counted or not.
SELECT FROM pg_stat_force_next_flush();
\c -
SET client_min_messages = error;
\set ECHO none
SELECT format('ALTER TABLE cell_%1$s ALTER v TYPE %2$s USING %3$s', name,
              CASE WHEN altered LIKE 'BIGINT %' THEN 'bigint' ELSE type END, replace(altered, 'BIGINT ', '')) FROM cells \gexec
\set ECHO all
ANALYZE;
SELECT FROM pg_stat_force_next_flush();
\c -
SET client_min_messages = error;
SELECT relation, proof FROM kde_densities_full WHERE relation::text LIKE 'cell%' AND NOT stale;
SELECT count(*) FROM kde_densities_full WHERE relation::text LIKE 'cell%' AND stale;
-- It is told, and no question in plain SQL is answered by it; a refresh mends it.
SELECT ok, problems LIKE '%64 densities are stale, the worst:%' AS told FROM kde_check();
SELECT kde_set_plain_sql('cell_integer_i.v', true);
SET kde_aqp.approximate = 'top';
SET client_min_messages = warning;
SELECT count(*) AS exact FROM cell_integer_i WHERE v BETWEEN 0 AND 19;
SELECT approx_count('cell_integer_i.v', 0, 19) AS of_the_fit;
SELECT action, reason FROM kde_refresh('cell_integer_i');
SELECT count(*) AS exact FROM cell_integer_i WHERE v BETWEEN 0 AND 19;
SELECT approx_count('cell_integer_i.v', 0, 19);
SELECT stale, proof FROM kde_densities_full WHERE relation = 'cell_integer_i'::regclass;
SET client_min_messages = error;
RESET kde_aqp.approximate;
\set ECHO none
SELECT format('DROP TABLE cell_%s', name) FROM cells \gexec
\set ECHO all
DROP TABLE cells;
DROP FUNCTION value_of;
DROP TYPE mood;
