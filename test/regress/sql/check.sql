-- kde_check(): each problem made, seen, and mended by the command that it names. As the owner of some tables,
-- who sees those alone. test/t/047_check.pl has the launcher's and the worker's.
\pset tuples_only
\pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS check_all CASCADE;
DROP ROLE IF EXISTS regress_kde_check_owner, regress_kde_check_reader;
CREATE SCHEMA check_all;
CREATE ROLE regress_kde_check_owner IN ROLE pg_read_all_stats;
CREATE ROLE regress_kde_check_reader;
GRANT USAGE, CREATE ON SCHEMA check_all TO regress_kde_check_owner;
GRANT USAGE ON SCHEMA check_all TO regress_kde_check_reader;
SET search_path = check_all, public;
-- Without the server's own, where it was not told to preload the library.
CREATE FUNCTION problems() RETURNS TABLE (problem text, action text) LANGUAGE sql AS $$
  SELECT p.problem, p.action FROM kde_check() AS c,
    LATERAL unnest(regexp_split_to_array(problems, E'\n'), regexp_split_to_array(actions, E'\n')) WITH ORDINALITY AS p(problem, action, i)
  WHERE p.problem !~ 'no background worker refreshes densities' ORDER BY i $$;
-- What is to be done first.
CREATE VIEW to_do AS SELECT action FROM problems() LIMIT 1;
GRANT SELECT ON to_do TO PUBLIC;
RESET client_min_messages;
SET ROLE regress_kde_check_owner;

-- Nothing is there.
SELECT ok, summary ~ '^0 densities' AS summary FROM kde_check();
SELECT * FROM problems();
CREATE TABLE t WITH (autovacuum_enabled = false) AS SELECT i AS v, i % 10 AS w FROM generate_series(1, 1000) AS i;
SELECT rows FROM kde_fit('t', 'v', filter => '1000 / v >= 0');
SELECT rows FROM kde_fit('t', 'w');
SELECT ok, summary ~ '^2 densities' AS summary FROM kde_check();
SELECT * FROM problems();

-- ------------------------------------------------------------------------------------------------ stale
INSERT INTO t SELECT i, 5 FROM generate_series(1001, 1500) AS i;
SELECT * FROM problems();
SELECT ok, severity FROM kde_check();
\o /dev/null
SELECT action FROM to_do \gset
SET client_min_messages = error;
:action
RESET client_min_messages;
\o
SELECT * FROM problems();
-- One alone; and one that is not to be refreshed, or was stored.
INSERT INTO t SELECT i, 5 FROM generate_series(1501, 2000) AS i;
SELECT action FROM kde_refresh('t') WHERE column_names = '{v}';
SELECT kde_set_refresh('t.w', enabled => false);
INSERT INTO t SELECT i, 5 FROM generate_series(2001, 2100) AS i;
SELECT kde_set_refresh('t.w', threshold => 10, scale_factor => 0);
SELECT kde_set_plain_sql('t.w', true);
SELECT * FROM problems();
-- Its owner's consent to an age: as of the fit, until that is over.
SELECT kde_set_plain_sql('t.w', true, as_of => '1 day');
SELECT * FROM problems();
SELECT kde_set_plain_sql('t.w', true, as_of => '0');
SELECT * FROM problems();
SELECT kde_set_plain_sql('t.w', true);
SELECT ok FROM kde_check();
SELECT name, state FROM kde_densities WHERE name = 't.w';
\o /dev/null
SELECT action FROM to_do \gset
:action
\o
SELECT * FROM problems();
SELECT kde_store('t', 'w', (SELECT kde_agg(w) FROM t));
INSERT INTO t SELECT i, 5 FROM generate_series(2101, 2200) AS i;
SELECT * FROM problems();
\o /dev/null
SELECT action FROM to_do \gset
:action
\o
SELECT * FROM problems();

-- ----------------------------------------------------------------------------------------------- failed
INSERT INTO t VALUES (0, 0);
SET client_min_messages = error;
SELECT action FROM kde_refresh('t', force => true);
SELECT action FROM kde_refresh('t', force => true);
RESET client_min_messages;
SELECT * FROM problems();
-- Set aside it is no alarm.
SELECT kde_set_refresh('t.v', filter => '1000 / v >= 0', enabled => false);
SELECT * FROM problems();
SELECT name, state FROM kde_densities WHERE name = 't.v';
SELECT kde_set_refresh('t.v', filter => '1000 / v >= 0', enabled => true);
SELECT name, state FROM kde_densities WHERE name = 't.v';
-- Who may read nothing is not told that all is well.
RESET ROLE;
SET ROLE regress_kde_check_reader;
SELECT ok, summary, problems FROM kde_check();
-- Whoever reads the table does not hear the error.
RESET ROLE;
SET ROLE regress_kde_check_owner;
GRANT SELECT ON t TO regress_kde_check_reader;
RESET ROLE;
SET ROLE regress_kde_check_reader;
SELECT * FROM problems();
-- Nor which libraries are preloaded, which SHOW does not tell, either.
SELECT actions ~ 'shared_preload_libraries = \.\.\., kde_aqp;' AS untold FROM kde_check();
RESET ROLE;
SET ROLE regress_kde_check_owner;
REVOKE SELECT ON t FROM regress_kde_check_reader;
DELETE FROM t WHERE v = 0;
\o /dev/null
SELECT action FROM to_do \gset
:action
\o
SELECT * FROM problems();

-- --------------------------------------------------------------------------------------- of another time
CREATE TYPE mood AS ENUM ('good', 'bad');
CREATE TABLE moods AS SELECT i AS v, (ARRAY['good', 'bad'])[1 + i % 2]::mood AS mood FROM generate_series(1, 1000) AS i;
SELECT rows FROM kde_fit('moods', 'v', group_by => 'mood');
ALTER TYPE mood RENAME VALUE 'bad' TO 'sad';
SELECT * FROM problems();
\o /dev/null
SELECT action FROM to_do \gset
:action
\o
SELECT * FROM problems();

-- ---------------------------------------------------------------------------------------- changes unknown
-- As after a crash: the proof knows what the counters lost.
RESET ROLE;
DELETE FROM kde_aqp.upkeep WHERE density_id IN (SELECT id FROM kde_aqp.fitted WHERE relation = 'moods'::regclass);
SET ROLE regress_kde_check_owner;
SELECT * FROM problems();
-- Of what the server does not count.
SET client_min_messages = warning;
RESET ROLE;
DO $$
BEGIN
  CREATE EXTENSION file_fdw SCHEMA check_all;
  CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
  CREATE FOREIGN TABLE numbers (x integer) SERVER files OPTIONS (program 'seq 1 5000');
END $$;
RESET client_min_messages;
GRANT USAGE ON FOREIGN SERVER files TO regress_kde_check_owner;
GRANT pg_execute_server_program TO regress_kde_check_owner;
ALTER FOREIGN TABLE numbers OWNER TO regress_kde_check_owner;
SET ROLE regress_kde_check_owner;
SELECT rows FROM kde_fit('numbers', 'x');
SELECT * FROM problems();
\o /dev/null
SELECT action FROM to_do \gset
:action
\o
SELECT * FROM problems();
SELECT kde_self_check('numbers.x');
RESET ROLE;
SET client_min_messages = warning;
DROP EXTENSION file_fdw CASCADE;
RESET client_min_messages;
SET track_counts = off;
SELECT * FROM problems() WHERE problem ~ 'track_counts';
RESET track_counts;

-- ------------------------------------------------------------------------------------- keeping in step
ALTER EVENT TRIGGER kde_aqp_on_drop DISABLE;
ALTER EVENT TRIGGER kde_aqp_on_alter ENABLE REPLICA;
SET ROLE regress_kde_check_owner;
CREATE TABLE short AS SELECT i AS x, i AS y FROM generate_series(1, 100) AS i;
SELECT rows FROM kde_fit('short', 'x');
DROP TABLE short;
ALTER TABLE t RENAME w TO ww;
SELECT * FROM problems();
RESET ROLE;
SELECT action FROM to_do \gset
:action
SELECT action FROM to_do \gset
:action
SET ROLE regress_kde_check_owner;
SELECT * FROM problems();
SELECT action FROM to_do \gset
:action
SELECT * FROM problems();
SET client_min_messages = error;
SELECT action FROM to_do \gset
:action
RESET client_min_messages;
SELECT * FROM problems();
SELECT name FROM kde_aqp.readable_densities() WHERE relation = 't'::regclass ORDER BY 1;
-- One that is gone altogether.
RESET ROLE;
ALTER EXTENSION kde_aqp DROP EVENT TRIGGER kde_aqp_on_drop;
DROP EVENT TRIGGER kde_aqp_on_drop;
SELECT * FROM problems();
SELECT action FROM to_do \gset
:action
COMMENT ON EVENT TRIGGER kde_aqp_on_drop IS 'drops the densities of dropped tables and columns';
SELECT * FROM problems();

-- ------------------------------------------------------------------------------------------------ version
-- An upgrade that was not finished: nothing else is looked at. (The command has nothing to do here, and
-- says so.)
UPDATE pg_extension SET extversion = '0.2.9' WHERE extname = 'kde_aqp';
SELECT regexp_replace(problem, 'library of .*', 'library of') AS problem, action FROM problems();
SELECT ok, severity, summary FROM kde_check();
UPDATE pg_extension AS e SET extversion = a.default_version FROM pg_available_extensions AS a WHERE a.name = e.extname AND e.extname = 'kde_aqp';
SELECT * FROM problems();

-- ------------------------------------------------------------------------------------------ names, and time
-- Lines are lines, whatever names are.
CREATE TABLE "odd
name" AS SELECT i AS "a ""b""" FROM generate_series(1, 100) AS i;
SELECT rows FROM kde_fit('"odd
name"', 'a "b"');
INSERT INTO "odd
name" SELECT * FROM generate_series(1, 100);
SELECT * FROM problems();
DROP TABLE "odd
name";

-- ------------------------------------------------------------------------------------------ never vacuumed
-- Inserted: CREATE TABLE AS extends the file by several blocks at a time since 16.
CREATE TABLE wide (v integer, w text) WITH (autovacuum_enabled = false);
INSERT INTO wide SELECT i, repeat('x', 2000) FROM generate_series(1, 600) AS i;
SELECT rows FROM kde_fit('wide', 'v', sample_rows => -1);
SELECT * FROM problems();
SELECT kde_set_plain_sql('wide.v', true);
INSERT INTO wide VALUES (601);
SELECT * FROM problems() WHERE problem ~ 'wide';
SELECT kde_fit('wide', ARRAY['length(w)'], sample_rows => -1) \g /dev/null
SELECT problem FROM problems() WHERE problem ~ 'VACUUM';
SELECT kde_drop('wide (length(w))');
SELECT name, changed_size / current_setting('block_size')::integer AS blocks FROM kde_densities_full WHERE name = 'wide.v';
VACUUM wide;
SELECT action FROM kde_refresh('wide', force => true);
-- Blocks that came since are read.
INSERT INTO wide SELECT i, repeat('x', 2000) FROM generate_series(602, 1200) AS i;
SELECT problem FROM problems() WHERE problem ~ 'wide' AND problem ~ 'VACUUM|proven';
SELECT name, changed_size / current_setting('block_size')::integer AS blocks FROM kde_densities_full WHERE name = 'wide.v';
DROP TABLE wide;

SET client_min_messages = warning;
DROP SCHEMA check_all CASCADE;
DROP OWNED BY regress_kde_check_owner;
DROP ROLE regress_kde_check_owner, regress_kde_check_reader;

-- -------------------------------------------------------------------------------- plain SQL
-- Densities that are asked and answer nothing are told of, with the reason.
CREATE TABLE refusing AS SELECT sqrt(i) AS v FROM generate_series(1, 1000) AS i;
SELECT rows FROM kde_fit('refusing', 'v', sample_rows => 100, seed => 1);
SELECT kde_set_plain_sql('refusing.v', true);
-- Whose session has changed rows is answered exactly.
\c -
SELECT approx_count('refusing.v', 1, 1e9) > 0 AS loads_the_library;
SET kde_aqp.approximate = 'all';
SET kde_aqp.approximate_error = 1e-9;
SELECT format($$SELECT FROM (SELECT count(*) FROM refusing WHERE v < %s) AS s WHERE count < 0$$, i + 0.5) FROM generate_series(1, 30) AS i \gexec
RESET kde_aqp.approximate;
RESET kde_aqp.approximate_error;
SELECT count(*) AS told FROM kde_check() WHERE problems ~ 'densities answered [0-9]+ of [0-9]+ statements of plain SQL that asked them, most of the others not as: not as accurate as required';
DROP TABLE refusing;

-- Who asks for plain SQL in sessions that do not load what knows the option: it does nothing there, in silence.
-- Of this database alone, as other tests run in others. kde_set_plain_sql() tells, once in a session, who asks.
\c -
CREATE ROLE regress_kde_check_asker;
CREATE TABLE asked AS SELECT i AS v FROM generate_series(1, 100) AS i;
SELECT rows FROM kde_fit('asked.v');
CREATE FUNCTION asking(OUT problem text, OUT action text) RETURNS SETOF record LANGUAGE sql AS $$
  SELECT p.problem, p.action FROM kde_check() AS c,
    LATERAL unnest(regexp_split_to_array(problems, E'\n'), regexp_split_to_array(actions, E'\n')) AS p(problem, action)
  WHERE p.problem ~ 'kde_aqp.approximate is set' $$;
CREATE FUNCTION set(who text, what text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN EXECUTE format('ALTER ' || who || ' ' || what, current_database()); END $$;
SELECT set('ROLE regress_kde_check_asker IN DATABASE %I', 'SET kde_aqp.approximate = top');
SELECT kde_set_plain_sql('asked.v', true);
SELECT kde_set_plain_sql('asked.v', true);
SELECT problem, replace(action, quote_ident(current_database()), 'here') FROM asking();
SELECT action FROM asking() \gset
:action
SELECT count(*) FROM asking();
SELECT set('ROLE regress_kde_check_asker IN DATABASE %I', 'RESET session_preload_libraries');
SELECT count(*) FROM asking();
SELECT set('DATABASE %I', 'SET session_preload_libraries = kde_aqp');
SELECT count(*) FROM asking();
SELECT set('ROLE regress_kde_check_asker IN DATABASE %I', 'SET session_preload_libraries = auto_explain');
SELECT count(*) FROM asking();
SELECT set('ROLE regress_kde_check_asker IN DATABASE %I', 'RESET ALL');
SELECT set('DATABASE %I', 'SET kde_aqp.approximate = off');
SELECT set('DATABASE %I', 'RESET session_preload_libraries');
SELECT count(*) FROM asking();
SELECT set('DATABASE %I', 'SET kde_aqp.approximate = ''all''');
SELECT problem, replace(action, quote_ident(current_database()), 'here') FROM asking();
\c -
SELECT kde_set_plain_sql('asked.v', true);
SELECT set('DATABASE %I', 'RESET ALL');
DROP TABLE asked;
DROP FUNCTION asking, set;
DROP ROLE regress_kde_check_asker;
