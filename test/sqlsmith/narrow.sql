-- Narrows what SQLsmith sees of PostgreSQL itself, so that its queries are of the extension: of
-- functions and operators those of types that densities have to do with. It looks functions up in
-- pg_proc by the search path, where a view comes first, and operators in pg_catalog.pg_operator,
-- where those of other types are taken out. For a database that is thrown away, as its superuser.
\set ON_ERROR_STOP on
SET client_min_messages = warning;

CREATE SCHEMA narrow;
CREATE TABLE narrow.types AS
SELECT unnest('{boolean,smallint,integer,bigint,real,double precision,numeric,date,timestamp,timestamptz,interval,
                text,name,regclass,oid,double precision[],text[],name[],int4range,bytea,json,jsonb,void}'::regtype[]) AS type
UNION ALL SELECT 'kde'::regtype;

-- The extension's, and every 25th of PostgreSQL's own: of these none that reads files, waits, or changes a
-- session.
CREATE VIEW narrow.pg_proc AS
SELECT oid, pronamespace, proname, prokind, proretset, prorettype, proargtypes
FROM pg_catalog.pg_proc
WHERE prorettype IN (SELECT type FROM narrow.types)
  AND NOT EXISTS (SELECT FROM unnest(proargtypes) a WHERE a NOT IN (SELECT type FROM narrow.types))
  AND (pronamespace IN ('smith'::regnamespace, 'public'::regnamespace) OR
       pronamespace = 'pg_catalog'::regnamespace AND provariadic = 0 AND oid::integer % 25 = 0 AND
       proname !~ '^pg_|^lo_|^has_|^binary_|^ts_|^to_ts|xml|txid|currtid|_recv$|_send$|sleep|nextval|setval|lastval');
GRANT USAGE ON SCHEMA narrow TO smith;
GRANT SELECT ON narrow.pg_proc TO smith;
ALTER ROLE smith SET search_path = narrow, pg_catalog, smith, public;

SET allow_system_table_mods = on;
DELETE FROM pg_catalog.pg_operator
WHERE EXISTS (
    SELECT FROM pg_catalog.pg_type t
    WHERE t.oid IN (oprleft, oprright)
      AND (t.typcategory IN ('G', 'I', 'R', 'V') OR t.typtype IN ('r', 'm') OR
           t.typname IN ('anyrange', 'anymultirange', 'anyenum', 'tsvector', 'tsquery', 'pg_lsn', 'tid', 'money', 'uuid', 'record')));
