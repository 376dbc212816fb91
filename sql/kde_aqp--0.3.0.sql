-- Install script of kde_aqp 0.3.0.
--
-- Functions and the type go to the schema the extension is created in; the catalog lives in the
-- schema kde_aqp. Every function has its volatility, strictness and parallel label; what answers
-- by name is STABLE (it reads the catalog), what answers from a value with bounds is STABLE too,
-- because a bound may be text read under DateStyle or a date compared under TimeZone.

\echo Use "CREATE EXTENSION kde_aqp" to load this file. \quit

-- ---------------------------------------------------------------------------------------------
-- The type
-- ---------------------------------------------------------------------------------------------

-- The catalog, and functions that are not called by name.
CREATE SCHEMA kde_aqp;
COMMENT ON SCHEMA kde_aqp IS 'catalog of the extension kde_aqp';

CREATE TYPE kde;

CREATE FUNCTION kde_aqp.kde_in(cstring) RETURNS kde
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION kde_aqp.kde_out(kde) RETURNS cstring
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION kde_aqp.kde_recv(internal) RETURNS kde
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION kde_aqp.kde_send(kde) RETURNS bytea
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE TYPE kde (
    INPUT = kde_aqp.kde_in,
    OUTPUT = kde_aqp.kde_out,
    RECEIVE = kde_aqp.kde_recv,
    SEND = kde_aqp.kde_send,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT = double,
    STORAGE = extended
);

COMMENT ON TYPE kde IS 'density of a column, fitted or aggregated, with exact totals';
COMMENT ON FUNCTION kde_aqp.kde_in(cstring) IS 'I/O';
COMMENT ON FUNCTION kde_aqp.kde_out(kde) IS 'I/O';
COMMENT ON FUNCTION kde_aqp.kde_recv(internal) IS 'I/O';
COMMENT ON FUNCTION kde_aqp.kde_send(kde) IS 'I/O';

-- Equality is that of the stored bytes; the order means nothing, and is there for DISTINCT, GROUP BY and
-- merges to sort by (src/pg/type/type_order.cpp).
CREATE FUNCTION kde_aqp.kde_eq(kde, kde) RETURNS boolean
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION kde_aqp.kde_ne(kde, kde) RETURNS boolean
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION kde_aqp.kde_lt(kde, kde) RETURNS boolean
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION kde_aqp.kde_le(kde, kde) RETURNS boolean
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION kde_aqp.kde_gt(kde, kde) RETURNS boolean
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION kde_aqp.kde_ge(kde, kde) RETURNS boolean
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION kde_aqp.kde_cmp(kde, kde) RETURNS integer
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION kde_aqp.kde_hash(kde) RETURNS integer
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION kde_aqp.kde_hash_extended(kde, bigint) RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kde_aqp.kde_eq(kde, kde) IS 'implementation of = operator';
COMMENT ON FUNCTION kde_aqp.kde_ne(kde, kde) IS 'implementation of <> operator';
COMMENT ON FUNCTION kde_aqp.kde_lt(kde, kde) IS 'implementation of < operator';
COMMENT ON FUNCTION kde_aqp.kde_le(kde, kde) IS 'implementation of <= operator';
COMMENT ON FUNCTION kde_aqp.kde_gt(kde, kde) IS 'implementation of > operator';
COMMENT ON FUNCTION kde_aqp.kde_ge(kde, kde) IS 'implementation of >= operator';
COMMENT ON FUNCTION kde_aqp.kde_cmp(kde, kde) IS 'less-equal-greater';
COMMENT ON FUNCTION kde_aqp.kde_hash(kde) IS 'hash';
COMMENT ON FUNCTION kde_aqp.kde_hash_extended(kde, bigint) IS 'hash';

CREATE OPERATOR = (
    FUNCTION = kde_aqp.kde_eq, LEFTARG = kde, RIGHTARG = kde, COMMUTATOR = =, NEGATOR = <>,
    RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
CREATE OPERATOR <> (
    FUNCTION = kde_aqp.kde_ne, LEFTARG = kde, RIGHTARG = kde, COMMUTATOR = <>, NEGATOR = =,
    RESTRICT = neqsel, JOIN = neqjoinsel);
CREATE OPERATOR < (
    FUNCTION = kde_aqp.kde_lt, LEFTARG = kde, RIGHTARG = kde, COMMUTATOR = >, NEGATOR = >=,
    RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
CREATE OPERATOR <= (
    FUNCTION = kde_aqp.kde_le, LEFTARG = kde, RIGHTARG = kde, COMMUTATOR = >=, NEGATOR = >,
    RESTRICT = scalarlesel, JOIN = scalarlejoinsel);
CREATE OPERATOR > (
    FUNCTION = kde_aqp.kde_gt, LEFTARG = kde, RIGHTARG = kde, COMMUTATOR = <, NEGATOR = <=,
    RESTRICT = scalargtsel, JOIN = scalargtjoinsel);
CREATE OPERATOR >= (
    FUNCTION = kde_aqp.kde_ge, LEFTARG = kde, RIGHTARG = kde, COMMUTATOR = <=, NEGATOR = <,
    RESTRICT = scalargesel, JOIN = scalargejoinsel);
COMMENT ON OPERATOR = (kde, kde) IS 'stored alike, byte by byte';
COMMENT ON OPERATOR <> (kde, kde) IS 'not stored alike';
COMMENT ON OPERATOR < (kde, kde) IS 'before, by stored bytes: an order to sort by, without a meaning';
COMMENT ON OPERATOR <= (kde, kde) IS 'before or equal, by stored bytes';
COMMENT ON OPERATOR > (kde, kde) IS 'after, by stored bytes';
COMMENT ON OPERATOR >= (kde, kde) IS 'after or equal, by stored bytes';

CREATE OPERATOR CLASS kde_ops DEFAULT FOR TYPE kde USING btree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
    FUNCTION 1 kde_aqp.kde_cmp(kde, kde);
CREATE OPERATOR CLASS kde_ops DEFAULT FOR TYPE kde USING hash AS
    OPERATOR 1 =,
    FUNCTION 1 kde_aqp.kde_hash(kde), FUNCTION 2 kde_aqp.kde_hash_extended(kde, bigint);

-- ---------------------------------------------------------------------------------------------
-- The catalog
-- ---------------------------------------------------------------------------------------------

-- A density as functions take it: by name, 'table.column' or 'table (column, ...)', or as a value.
CREATE TYPE anykde;
CREATE FUNCTION kde_aqp.anykde_in(cstring) RETURNS anykde
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION kde_aqp.anykde_out(anykde) RETURNS cstring
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION kde_aqp.anykde_recv(internal) RETURNS anykde
AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION kde_aqp.anykde_send(anykde) RETURNS bytea
AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE TYPE anykde (
    INPUT = kde_aqp.anykde_in,
    OUTPUT = kde_aqp.anykde_out,
    RECEIVE = kde_aqp.anykde_recv,
    SEND = kde_aqp.anykde_send,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT = double,
    STORAGE = extended
);
COMMENT ON TYPE anykde IS 'density by its name, or as a value of type kde';
CREATE FUNCTION kde_aqp.anykde_of_text(text) RETURNS anykde
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kde_aqp.anykde_in(cstring) IS 'I/O';
COMMENT ON FUNCTION kde_aqp.anykde_out(anykde) IS 'I/O';
COMMENT ON FUNCTION kde_aqp.anykde_recv(internal) IS 'I/O';
COMMENT ON FUNCTION kde_aqp.anykde_send(anykde) IS 'I/O';
COMMENT ON FUNCTION kde_aqp.anykde_of_text(text) IS 'the density of that name';
CREATE CAST (kde AS anykde) WITHOUT FUNCTION AS IMPLICIT;
COMMENT ON CAST (kde AS anykde) IS 'the value itself';
CREATE CAST (text AS anykde) WITH FUNCTION kde_aqp.anykde_of_text(text) AS IMPLICIT;
COMMENT ON CAST (text AS anykde) IS 'the density of that name';
CREATE CAST (varchar AS anykde) WITH FUNCTION kde_aqp.anykde_of_text(text) AS IMPLICIT;
COMMENT ON CAST (varchar AS anykde) IS 'the density of that name';
-- A table is no density: who passes one is told the right form, where there would be no function at all.
CREATE FUNCTION kde_aqp.anykde_of_regclass(regclass) RETURNS anykde
AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kde_aqp.anykde_of_regclass(regclass) IS 'the error that says how a density is named';
CREATE CAST (regclass AS anykde) WITH FUNCTION kde_aqp.anykde_of_regclass(regclass) AS IMPLICIT;
COMMENT ON CAST (regclass AS anykde) IS 'the error that says how a density is named';

CREATE FUNCTION kde_info(
    density anykde,
    OUT value_type text, OUT kind text, OUT method text, OUT bandwidth double precision,
    OUT rows double precision, OUT nulls double precision, OUT nans double precision,
    OUT sample_rows bigint, OUT every_row_read boolean,
    OUT lower text, OUT upper text, OUT distinct_values bigint,
    OUT mean double precision, OUT stddev double precision,
    OUT lattice_step double precision, OUT steps text, OUT cells integer,
    OUT representation_error double precision, OUT bytes integer)
AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kde_info(anykde) IS 'what a density holds, as a record';

-- What ties a density to its rows of kde_aqp.upkeep and kde_aqp.fitted_stretches. Given out here, never taken from a dump.
CREATE SEQUENCE kde_aqp.density_id;
COMMENT ON SEQUENCE kde_aqp.density_id IS 'numbers of densities';
REVOKE ALL ON SEQUENCE kde_aqp.density_id FROM PUBLIC;

-- The catalog is kde_aqp.fitted below. This is its door, for dumps and restores alone, always empty: a
-- row that is inserted goes to the catalog, and a dump reads the catalog by the condition below.
-- Unlogged, so that no publication takes it. Its columns, the catalog's, are known to src/pg/catalog/catalog_entry.h.
CREATE UNLOGGED TABLE kde_aqp.density (
    -- The name with its schema. Text, as a row whose table is missing must not fail the others' COPY.
    relation text NOT NULL,
    -- Names of columns, and expressions as PostgreSQL prints them.
    column_names text[] NOT NULL,
    -- Follow from the names, as the two after the filter do: set by the trigger below where a row comes
    -- by a restore, checked against the names on every read. 0: an expression.
    attribute_numbers smallint[] NOT NULL,
    -- '': all rows.
    filter text NOT NULL,
    -- The columns that the expressions and the filter use.
    reference_names text[] NOT NULL,
    reference_numbers smallint[] NOT NULL,
    density kde NOT NULL,
    requested_method text NOT NULL,
    requested_exact boolean NOT NULL,
    requested_sample_rows bigint NOT NULL,
    seed bigint NOT NULL,
    rows_read bigint NOT NULL,
    design_effect double precision NOT NULL,
    bandwidth_rows bigint NOT NULL,
    bandwidth_status text,
    model text,
    engine text,
    threads integer NOT NULL,
    scan_ms double precision NOT NULL,
    select_ms double precision NOT NULL,
    estimate_ms double precision NOT NULL,
    -- Of several columns.
    bandwidth_matrix double precision[],
    stored_rows bigint,
    fitted_at timestamp with time zone NOT NULL,
    id bigint NOT NULL,
    -- NULL: another one each time.
    requested_seed bigint,
    -- Of kde_set_refresh(); NULL: as the options of the server say.
    refresh_enabled boolean NOT NULL DEFAULT true,
    refresh_scale_factor double precision,
    refresh_threshold bigint,
    refresh_max_age interval,
    -- Of one column, a share of the count; NULL: none was asked for.
    requested_error double precision,
    -- So many of the columns, the last ones, are measures of the first.
    measures smallint NOT NULL DEFAULT 0,
    -- And so many behind them are what its groups are by.
    groups smallint NOT NULL DEFAULT 0,
    -- A name that it was given; NULL: none.
    alias text,
    -- Whether plain SQL may be answered by it: kde_set_plain_sql().
    plain_sql boolean NOT NULL DEFAULT false,
    -- Of kde_store(): a refresh takes what it gives; NULL: the rows of the table.
    refresh_query text,
    -- How old plain SQL's answers by it may be where rows may have changed; NULL: as fresh as the table.
    plain_sql_age interval,
    -- What it was fitted to meant then: src/pg/catalog/as_fitted.h. NULL: not known.
    as_fitted text[],
    -- When its rows were read, at the latest; NULL: nobody knows.
    as_of timestamp with time zone,
    -- kde_aqp.density_bytes, in bytes, as the session that fitted it, or its role, had set it; NULL: as the
    -- server or the database has it.
    requested_bytes integer,
    -- Of a column of numbers, by which steps its cells end (kde_fit's steps); NULL: none were asked for.
    requested_steps text,
    -- What proves that they are those of now (src/pg/proof/proof.h); none comes by a restore.
    proof bytea,
    -- By which blocks of kde_aqp.fitted_stretches are hashed; NULL: it has none. None comes by a restore.
    hash_seed bigint
) USING heap;
COMMENT ON TABLE kde_aqp.density IS 'by which fitted densities are dumped and restored';

-- What the materialized view is made of: what is in it, so that REFRESH changes nothing.
CREATE FUNCTION kde_aqp.stored() RETURNS SETOF kde_aqp.density
AS 'MODULE_PATHNAME', 'kde_stored' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION kde_aqp.stored() IS 'the rows of kde_aqp.fitted, for its REFRESH';
REVOKE ALL ON FUNCTION kde_aqp.stored() FROM PUBLIC;

-- All that has the same columns:
-- - fitted, the catalog. A materialized view is what no publication takes and no SQL writes to, while
--   standbys, backups and pg_upgrade have it; src/pg/catalog alone writes it, as a heap, whatever tables
--   are by default. Its first column is the table itself.
-- - what a dump of the door reads: the densities of columns its user may read.
-- - what the views below show, but for what the density itself tells. In one function, so that EXPLAIN
--   counts nothing that its caller may not read.
DO $$
DECLARE
    names text;
    typed text;
BEGIN
    SELECT pg_catalog.string_agg(attname::text, ', ' ORDER BY attnum),
           pg_catalog.string_agg(pg_catalog.format('%s %s', attname, pg_catalog.format_type(atttypid, atttypmod)), ', ' ORDER BY attnum)
    INTO names, typed
    FROM pg_catalog.pg_attribute
    WHERE attrelid OPERATOR(pg_catalog.=) 'kde_aqp.density'::pg_catalog.regclass AND attnum OPERATOR(pg_catalog.>) 1::smallint;
    EXECUTE pg_catalog.format('CREATE MATERIALIZED VIEW kde_aqp.fitted USING heap AS
        SELECT relation::pg_catalog.oid::pg_catalog.regclass AS relation, %s FROM kde_aqp.stored()', names);
    EXECUTE pg_catalog.format('CREATE FUNCTION kde_aqp.dumped_densities() RETURNS TABLE (relation regclass, %s)
        AS ''MODULE_PATHNAME'', ''kde_dumped_densities'' LANGUAGE C STABLE PARALLEL RESTRICTED', typed);
    PERFORM pg_catalog.pg_extension_config_dump('kde_aqp.density', pg_catalog.format(
        'UNION ALL SELECT relation::pg_catalog.text, %s FROM kde_aqp.dumped_densities()', names));
    EXECUTE pg_catalog.format('CREATE FUNCTION kde_aqp.readable_densities() RETURNS TABLE (relation regclass, %s,
            changed_rows bigint, stale boolean, stale_reason text, drift double precision,
            drift_p_value double precision, drift_at timestamp with time zone, refresh_failures integer,
            refresh_failed_at timestamp with time zone, refresh_error text, name text, short_model text,
            judgement text, changed_size bigint, state text)
        AS ''MODULE_PATHNAME'', ''kde_readable_densities'' LANGUAGE C STABLE PARALLEL RESTRICTED ROWS 100', typed);
END
$$;
COMMENT ON MATERIALIZED VIEW kde_aqp.fitted IS
    'fitted densities, one row for each set of columns and filter';
REVOKE ALL ON kde_aqp.fitted FROM PUBLIC;
-- Its bits are packed already: what compression leaves of them is as much.
ALTER MATERIALIZED VIEW kde_aqp.fitted ALTER COLUMN density SET STORAGE EXTERNAL;
CREATE UNIQUE INDEX fitted_key ON kde_aqp.fitted (relation, column_names, filter, measures, groups);
CREATE UNIQUE INDEX fitted_alias ON kde_aqp.fitted (alias);

-- Densities of stretches of the blocks that fitted ones are of, which are read anew where they changed
-- (src/pg/catalog/stretches.h). A materialized view as the catalog is; no dump has them, as they are of
-- this server's files. Every one of a density is listed where rows came, and few are looked at: bytes lie
-- elsewhere, as they are. Autovacuum does by its defaults with what refreshes leave: each deletes some
-- rows of perhaps thousands, and a new fit all of a density's, whose places the next one takes.
CREATE FUNCTION kde_aqp.stored_stretches() RETURNS TABLE (
    density_id bigint,
    leaf oid,
    first_block bigint,
    -- The first one behind it.
    end_block bigint,
    -- NULL: no row in it has a value.
    density bytea,
    -- Of each block eight bytes, by fitted's hash_seed.
    hashes bytea)
AS 'MODULE_PATHNAME', 'kde_stored_stretches' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION kde_aqp.stored_stretches() IS 'the rows of kde_aqp.fitted_stretches, for its REFRESH';
REVOKE ALL ON FUNCTION kde_aqp.stored_stretches() FROM PUBLIC;
CREATE MATERIALIZED VIEW kde_aqp.fitted_stretches USING heap AS SELECT * FROM kde_aqp.stored_stretches();
COMMENT ON MATERIALIZED VIEW kde_aqp.fitted_stretches IS
    'densities of stretches of blocks, of those of kde_aqp.fitted that have some';
REVOKE ALL ON kde_aqp.fitted_stretches FROM PUBLIC;
ALTER MATERIALIZED VIEW kde_aqp.fitted_stretches SET (toast_tuple_target = 128);
ALTER MATERIALIZED VIEW kde_aqp.fitted_stretches ALTER COLUMN density SET STORAGE EXTERNAL;
ALTER MATERIALIZED VIEW kde_aqp.fitted_stretches ALTER COLUMN hashes SET STORAGE EXTERNAL;
CREATE UNIQUE INDEX fitted_stretches_key ON kde_aqp.fitted_stretches (density_id, leaf, first_block);

-- What this server alone knows of a density, so no part of a dump or a publication. After a crash, in
-- a restored backup and on a promoted standby it is empty: there the cumulative statistics begin anew,
-- too. The layout is known to src/pg/catalog/upkeep.cpp.
CREATE UNLOGGED TABLE kde_aqp.upkeep (
    density_id bigint PRIMARY KEY,
    -- The cumulative statistics at the fit, a row a leaf: relation, file, inserts, updates, deletes,
    -- live rows, rows at the last count. '{0}': rows were elsewhere. NULL: they were not known.
    counters bigint[],
    -- What kde_drift() last found.
    drift double precision,
    drift_p_value double precision,
    drift_at timestamp with time zone,
    -- Refreshes that failed since the last fit; negative: so many in the background met no rows.
    failures integer NOT NULL,
    last_error text,
    failed_at timestamp with time zone,
    table_rows double precision
) USING heap;
COMMENT ON TABLE kde_aqp.upkeep IS 'what refreshes know of each density';
REVOKE ALL ON kde_aqp.upkeep FROM PUBLIC;

-- Whoever dumps a database has to lock the door, and read it, and reads of the densities what he may
-- read of their columns.
GRANT USAGE ON SCHEMA kde_aqp TO @extowner@;
GRANT USAGE ON SCHEMA kde_aqp TO PUBLIC;
GRANT SELECT ON kde_aqp.density TO PUBLIC;
-- Who restores one: its owner, or the one who installs. Each row only for a table of his own.
GRANT INSERT ON kde_aqp.density TO pg_database_owner, @extowner@;
COMMENT ON FUNCTION kde_aqp.dumped_densities() IS
    'the densities of columns the current user may read, for a dump of kde_aqp.density';
GRANT EXECUTE ON FUNCTION kde_aqp.dumped_densities() TO PUBLIC;
CREATE FUNCTION kde_aqp.on_row() RETURNS trigger
AS 'MODULE_PATHNAME', 'kde_on_row' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION kde_aqp.on_row() IS
    'puts a restored density into the catalog, with this database''s attribute numbers and texts; skips it if it means nothing here';
REVOKE ALL ON FUNCTION kde_aqp.on_row() FROM PUBLIC;

CREATE TRIGGER on_row
    BEFORE INSERT ON kde_aqp.density
    FOR EACH ROW EXECUTE FUNCTION kde_aqp.on_row();
ALTER TABLE kde_aqp.density ENABLE ALWAYS TRIGGER on_row;

-- Event triggers keep the catalog in step with tables and columns that are dropped or renamed. They
-- are PL/pgSQL so that they can pass where the library's file is missing; where there is no density
-- they look no further. The functions they call do nothing outside of them.
CREATE FUNCTION kde_aqp.has_densities() RETURNS boolean
AS 'MODULE_PATHNAME', 'kde_has_densities' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION kde_aqp.has_densities() IS 'whether event triggers have anything to look after';
CREATE FUNCTION kde_aqp.follow_drop() RETURNS void
AS 'MODULE_PATHNAME', 'kde_on_drop' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION kde_aqp.follow_drop() IS
    'of the event trigger kde_aqp_on_drop: drops the densities of dropped tables and columns';
CREATE FUNCTION kde_aqp.follow_alter() RETURNS void
AS 'MODULE_PATHNAME', 'kde_on_alter' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION kde_aqp.follow_alter() IS
    'of the event trigger kde_aqp_on_alter: lets densities follow renamed columns';
-- Everybody's DDL calls them, whatever privileges functions have by default here.
GRANT EXECUTE ON FUNCTION kde_aqp.has_densities(), kde_aqp.follow_drop(), kde_aqp.follow_alter() TO PUBLIC;

CREATE FUNCTION kde_aqp.on_ddl() RETURNS event_trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE AS $$
DECLARE
    drops CONSTANT boolean := TG_EVENT OPERATOR(pg_catalog.=) 'sql_drop';
BEGIN
    BEGIN
        IF NOT kde_aqp.has_densities() THEN
            RETURN;
        END IF;
    EXCEPTION WHEN OTHERS THEN
        IF pg_catalog.to_regprocedure('kde_aqp.has_densities()') IS NULL THEN
            RETURN; -- dropped meanwhile
        END IF;
        RAISE WARNING 'densities do not follow this command: %', SQLERRM
            USING HINT = pg_catalog.format('Install the files of extension "kde_aqp", or run '
                'ALTER EVENT TRIGGER kde_aqp_on_%s DISABLE.', CASE WHEN drops THEN 'drop' ELSE 'alter' END);
        RETURN;
    END;
    BEGIN
        IF drops THEN
            PERFORM kde_aqp.follow_drop();
        ELSE
            PERFORM kde_aqp.follow_alter();
        END IF;
    EXCEPTION WHEN undefined_function OR invalid_schema_name OR object_not_in_prerequisite_state OR internal_error THEN
        -- Where the extension was dropped meanwhile, there is nothing left to follow.
        IF pg_catalog.to_regprocedure('kde_aqp.follow_alter()') IS NOT NULL THEN
            RAISE;
        END IF;
    END;
END
$$;
COMMENT ON FUNCTION kde_aqp.on_ddl() IS
    'lets densities follow dropped tables and columns, and renamed columns';
REVOKE ALL ON FUNCTION kde_aqp.on_ddl() FROM PUBLIC;

CREATE EVENT TRIGGER kde_aqp_on_drop ON sql_drop EXECUTE FUNCTION kde_aqp.on_ddl();
ALTER EVENT TRIGGER kde_aqp_on_drop ENABLE ALWAYS;
COMMENT ON EVENT TRIGGER kde_aqp_on_drop IS 'drops the densities of dropped tables and columns';

CREATE EVENT TRIGGER kde_aqp_on_alter ON ddl_command_end
    WHEN TAG IN ('ALTER TABLE', 'ALTER MATERIALIZED VIEW', 'ALTER FOREIGN TABLE', 'ALTER TYPE')
    EXECUTE FUNCTION kde_aqp.on_ddl();
ALTER EVENT TRIGGER kde_aqp_on_alter ENABLE ALWAYS;
COMMENT ON EVENT TRIGGER kde_aqp_on_alter IS 'lets densities follow renamed columns';

CREATE FUNCTION kde_aqp.expected_error(density kde) RETURNS text
AS 'MODULE_PATHNAME', 'kde_expected_error' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kde_aqp.expected_error(kde) IS 'what answers may be off by, in words';
GRANT EXECUTE ON FUNCTION kde_aqp.expected_error(kde) TO PUBLIC;

COMMENT ON FUNCTION kde_aqp.readable_densities() IS
    'the densities of columns the current user may read, with what is known of their upkeep';
GRANT EXECUTE ON FUNCTION kde_aqp.readable_densities() TO PUBLIC;

CREATE VIEW kde_densities_full AS
SELECT d.name,
       d.relation,
       d.column_names[:pg_catalog.cardinality(d.column_names) OPERATOR(pg_catalog.-) d.measures OPERATOR(pg_catalog.-) d.groups] AS column_names,
       CASE WHEN d.measures OPERATOR(pg_catalog.>) 0
            THEN d.column_names[pg_catalog.cardinality(d.column_names) OPERATOR(pg_catalog.-) d.measures OPERATOR(pg_catalog.-) d.groups OPERATOR(pg_catalog.+) 1:pg_catalog.cardinality(d.column_names) OPERATOR(pg_catalog.-) d.groups]
       END AS measures,
       CASE WHEN d.groups OPERATOR(pg_catalog.>) 0
            THEN d.column_names[pg_catalog.cardinality(d.column_names) OPERATOR(pg_catalog.-) d.groups OPERATOR(pg_catalog.+) 1:]
       END AS group_by,
       d.alias,
       CASE WHEN d.filter OPERATOR(pg_catalog.<>) '' THEN d.filter END AS filter,
       d.requested_method AS method,
       i.bandwidth,
       d.bandwidth_matrix,
       d.bandwidth_status,
       d.model,
       i.rows,
       i.nulls,
       d.rows_read,
       i.every_row_read,
       i.sample_rows,
       d.stored_rows,
       d.design_effect,
       d.bandwidth_rows,
       i.lower,
       i.upper,
       i.cells,
       i.lattice_step,
       i.steps,
       i.representation_error,
       i.bytes,
       kde_aqp.expected_error(d.density) AS expected_error,
       d.engine,
       d.threads,
       d.scan_ms,
       d.select_ms,
       d.estimate_ms,
       d.scan_ms + d.select_ms + d.estimate_ms AS total_ms,
       d.requested_exact,
       CASE WHEN d.requested_sample_rows OPERATOR(pg_catalog.<>) 0 THEN d.requested_sample_rows END AS requested_sample_rows,
       d.requested_error,
       d.requested_bytes,
       d.seed,
       d.fitted_at,
       d.as_of,
       d.judgement AS proof,
       d.changed_size,
       CASE WHEN pg_catalog.isfinite(d.fitted_at)
            THEN pg_catalog.now() OPERATOR(pg_catalog.-) d.fitted_at END AS age,
       d.requested_seed,
       d.changed_rows,
       d.stale,
       d.stale_reason,
       d.drift,
       d.drift_p_value,
       d.drift_at,
       d.refresh_enabled,
       d.refresh_scale_factor,
       d.refresh_threshold,
       d.refresh_max_age,
       d.refresh_failures,
       d.refresh_failed_at,
       d.refresh_error,
       d.plain_sql,
       d.plain_sql_age,
       d.refresh_query
FROM kde_aqp.readable_densities() AS d
CROSS JOIN LATERAL @extschema@.kde_info(d.density::@extschema@.anykde) AS i;
COMMENT ON VIEW kde_densities_full IS 'the fitted densities of columns the current user may read, with all that is known of them';
GRANT SELECT ON kde_densities_full TO PUBLIC;

CREATE VIEW kde_densities AS
SELECT d.name,
       CASE WHEN d.filter OPERATOR(pg_catalog.<>) '' THEN d.filter END AS filter,
       COALESCE(d.short_model, i.method) AS model,
       pg_catalog.round(i.rows) AS rows,
       CASE WHEN (i.every_row_read AND d.requested_sample_rows OPERATOR(pg_catalog.<=) 0) OR s.share OPERATOR(pg_catalog.>=) 1::numeric THEN 'all'
            WHEN s.share IS NOT NULL THEN pg_catalog.format('%s %%', pg_catalog.round(100::numeric OPERATOR(pg_catalog.*) s.share,
                CASE WHEN s.share OPERATOR(pg_catalog.>=) 0.1 THEN 0 WHEN s.share OPERATOR(pg_catalog.>=) 0.01 THEN 1 ELSE 2 END))
       END AS read,
       pg_catalog.pg_size_pretty(i.bytes::bigint) AS size,
       CASE WHEN pg_catalog.isfinite(d.fitted_at)
            THEN pg_catalog.date_trunc('second', pg_catalog.now() OPERATOR(pg_catalog.-) d.fitted_at) END AS age,
       d.changed_rows AS changed,
       pg_catalog.pg_size_pretty(d.changed_size) AS changed_size,
       d.state,
       d.plain_sql
FROM kde_aqp.readable_densities() AS d
CROSS JOIN LATERAL @extschema@.kde_info(d.density::@extschema@.anykde) AS i
CROSS JOIN LATERAL (SELECT i.rows OPERATOR(pg_catalog.+) COALESCE(i.nulls, 0::double precision) AS rows) AS t
CROSS JOIN LATERAL (SELECT CASE WHEN t.rows OPERATOR(pg_catalog.>) 0::double precision
    THEN LEAST(d.rows_read, CASE WHEN d.requested_sample_rows OPERATOR(pg_catalog.>) 0 THEN d.requested_sample_rows END)::numeric
        OPERATOR(pg_catalog./) t.rows::numeric END AS share) AS s;
COMMENT ON VIEW kde_densities IS 'the fitted densities of columns the current user may read, in short';
GRANT SELECT ON kde_densities TO PUBLIC;

-- ---------------------------------------------------------------------------------------------
-- Fitting
-- ---------------------------------------------------------------------------------------------

-- Names as they are typed: a table, or a list of columns and expressions, 'a, b', which may be an array, too.
-- Their text is what is read; whatever else is taken for a name becomes one by itself.
CREATE TYPE kde_aqp.names;
CREATE FUNCTION kde_aqp.names_in(cstring) RETURNS kde_aqp.names
AS 'textin' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION kde_aqp.names_out(kde_aqp.names) RETURNS cstring
AS 'textout' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION kde_aqp.names_recv(internal) RETURNS kde_aqp.names
AS 'textrecv' LANGUAGE internal STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION kde_aqp.names_send(kde_aqp.names) RETURNS bytea
AS 'textsend' LANGUAGE internal STABLE STRICT PARALLEL SAFE;
CREATE TYPE kde_aqp.names (
    INPUT = kde_aqp.names_in,
    OUTPUT = kde_aqp.names_out,
    RECEIVE = kde_aqp.names_recv,
    SEND = kde_aqp.names_send,
    LIKE = text
);
COMMENT ON TYPE kde_aqp.names IS 'a table, or columns and expressions: ''a, b'' or ARRAY[''a'', ''b'']';
COMMENT ON FUNCTION kde_aqp.names_in(cstring) IS 'I/O';
COMMENT ON FUNCTION kde_aqp.names_out(kde_aqp.names) IS 'I/O';
COMMENT ON FUNCTION kde_aqp.names_recv(internal) IS 'I/O';
COMMENT ON FUNCTION kde_aqp.names_send(kde_aqp.names) IS 'I/O';
CREATE CAST (text AS kde_aqp.names) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (varchar AS kde_aqp.names) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (name AS kde_aqp.names) WITH INOUT AS IMPLICIT;
CREATE CAST (regclass AS kde_aqp.names) WITH INOUT AS IMPLICIT;
CREATE CAST (oid AS kde_aqp.names) WITH INOUT AS IMPLICIT;
CREATE CAST (integer AS kde_aqp.names) WITH INOUT AS IMPLICIT;
CREATE CAST (text[] AS kde_aqp.names) WITH INOUT AS IMPLICIT;
CREATE CAST (varchar[] AS kde_aqp.names) WITH INOUT AS IMPLICIT;
CREATE CAST (name[] AS kde_aqp.names) WITH INOUT AS IMPLICIT;
COMMENT ON CAST (text AS kde_aqp.names) IS 'as they are typed';
COMMENT ON CAST (varchar AS kde_aqp.names) IS 'as they are typed';
COMMENT ON CAST (name AS kde_aqp.names) IS 'as it is typed';
COMMENT ON CAST (regclass AS kde_aqp.names) IS 'the table''s';
COMMENT ON CAST (oid AS kde_aqp.names) IS 'the table''s number';
COMMENT ON CAST (integer AS kde_aqp.names) IS 'the table''s number';
COMMENT ON CAST (text[] AS kde_aqp.names) IS 'each as it is';
COMMENT ON CAST (varchar[] AS kde_aqp.names) IS 'each as it is';
COMMENT ON CAST (name[] AS kde_aqp.names) IS 'each as it is';

CREATE FUNCTION kde_fit(
    relation kde_aqp.names, column_name name, method text DEFAULT 'auto',
    sample_rows bigint DEFAULT NULL, seed bigint DEFAULT NULL, exact boolean DEFAULT false,
    filter text DEFAULT NULL,
    max_relative_error double precision DEFAULT NULL, measures kde_aqp.names DEFAULT NULL,
    group_by kde_aqp.names DEFAULT NULL, name text DEFAULT NULL, steps text DEFAULT NULL,
    OUT name text, OUT model text, OUT rows double precision, OUT rows_read bigint,
    OUT expected_error text, OUT size text, OUT took text, OUT seed bigint)
RETURNS record
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION kde_fit(kde_aqp.names, name, text, bigint, bigint, boolean, text, double precision, kde_aqp.names, kde_aqp.names, text, text) IS
    'fits and stores the density of a column; sample_rows => -1 reads every row of the table';

CREATE FUNCTION kde_fit(
    relation kde_aqp.names, column_names text[], method text DEFAULT 'auto',
    sample_rows bigint DEFAULT NULL, seed bigint DEFAULT NULL, filter text DEFAULT NULL,
    max_relative_error double precision DEFAULT NULL, measures kde_aqp.names DEFAULT NULL,
    group_by kde_aqp.names DEFAULT NULL, name text DEFAULT NULL, steps text DEFAULT NULL,
    OUT name text, OUT model text, OUT rows double precision, OUT rows_read bigint,
    OUT expected_error text, OUT size text, OUT took text, OUT seed bigint)
RETURNS record
AS 'MODULE_PATHNAME', 'kde_fit_columns' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION kde_fit(kde_aqp.names, text[], text, bigint, bigint, text, double precision, kde_aqp.names, kde_aqp.names, text, text) IS
    'fits and stores the joint density of columns or expressions, of the rows that a filter accepts';

-- Of a table: what is worth it, by one scan. Of 'table.column' that, with what the first form takes.
CREATE FUNCTION kde_fit(
    relation kde_aqp.names, seed bigint DEFAULT NULL, method text DEFAULT 'auto',
    sample_rows bigint DEFAULT NULL, exact boolean DEFAULT false, filter text DEFAULT NULL,
    max_relative_error double precision DEFAULT NULL, measures kde_aqp.names DEFAULT NULL,
    group_by kde_aqp.names DEFAULT NULL, name text DEFAULT NULL, steps text DEFAULT NULL,
    OUT column_name text, OUT fitted boolean, OUT reason text, OUT model text,
    OUT rows double precision, OUT expected_error text, OUT size text, OUT took text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'kde_fit_table' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 20;
COMMENT ON FUNCTION kde_fit(kde_aqp.names, bigint, text, bigint, boolean, text, double precision, kde_aqp.names, kde_aqp.names, text, text) IS
    'fits and stores a density of each column of a table that is worth one, by one scan, or that of ''table.column''; says why others are not';

-- Of rows that the caller may read, by his own rights and under the policies that apply.
CREATE FUNCTION kde_sample(relation kde_aqp.names, column_name name DEFAULT NULL, seed bigint DEFAULT NULL) RETURNS kde
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION kde_sample(kde_aqp.names, name, bigint) IS
    'the density of a column as a value of one''s own, which is stored nowhere';

-- What the nodes of a distributed table are asked of each shard, as the user who asks: by his rights to
-- the shard's columns.
CREATE FUNCTION kde_aqp.shard_counters(shard regclass) RETURNS bigint[]
AS 'MODULE_PATHNAME', 'kde_shard_counters' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION kde_aqp.shard_counters(regclass) IS
    'what the cumulative statistics tell of a shard, for its coordinator';
CREATE FUNCTION kde_aqp.shard_density(
    shard regclass, column_name text[], measures text[], filter text, method text, every_row boolean,
    sample_blocks bigint, bytes integer, seed bigint, steps text DEFAULT NULL) RETURNS kde
AS 'MODULE_PATHNAME', 'kde_shard_density' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION kde_aqp.shard_density(regclass, text[], text[], text, text, boolean, bigint, integer, bigint, text) IS
    'the density of a shard, for its coordinator; NULL: the shard is empty';
GRANT EXECUTE ON FUNCTION kde_aqp.shard_counters(regclass),
    kde_aqp.shard_density(regclass, text[], text[], text, text, boolean, bigint, integer, bigint, text) TO PUBLIC;

CREATE FUNCTION kde_store(
    relation regclass, column_name name, density kde DEFAULT NULL, query text DEFAULT NULL,
    filter text DEFAULT NULL, measures kde_aqp.names DEFAULT NULL, name text DEFAULT NULL)
RETURNS text
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION kde_store(regclass, name, kde, text, text, kde_aqp.names, text) IS
    'makes a density, or what a query gives, the one of a column; a refresh asks the query again';

CREATE FUNCTION kde_drop(
    density text, by_name_only "any" DEFAULT NULL, filter text DEFAULT NULL,
    if_exists boolean DEFAULT false)
RETURNS boolean
AS 'MODULE_PATHNAME', 'kde_drop_by_name' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION kde_drop(text, "any", text, boolean) IS 'drops a stored density';

-- ---------------------------------------------------------------------------------------------
-- Upkeep
-- ---------------------------------------------------------------------------------------------

CREATE FUNCTION kde_refresh(relation kde_aqp.names, force boolean DEFAULT false)
RETURNS TABLE (
    relation regclass, column_names text[], filter text, action text, reason text,
    changed_rows bigint, blocks_read bigint, total_ms double precision)
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 5;
COMMENT ON FUNCTION kde_refresh(kde_aqp.names, boolean) IS
    'fits the stale densities of a table, or that of a name, again, in the caller''s transaction; force: all of them';

CREATE PROCEDURE kde_refresh_all(force boolean DEFAULT false, check_drift boolean DEFAULT false)
AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON PROCEDURE kde_refresh_all(boolean, boolean) IS
    'fits all stale densities of tables that the caller may maintain again, cheapest first, each table''s in a transaction of their own';

CREATE FUNCTION kde_drift(
    density text, by_name_only "any" DEFAULT NULL, filter text DEFAULT NULL,
    sample_rows bigint DEFAULT 5000, seed bigint DEFAULT NULL)
RETURNS TABLE (
    column_name text, distance double precision, p_value double precision, sample_rows bigint)
AS 'MODULE_PATHNAME', 'kde_drift_by_name' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 5;
COMMENT ON FUNCTION kde_drift(text, "any", text, bigint, bigint) IS
    'tests a small fresh sample against a stored density, each column by itself (Kolmogorov-Smirnov), and notes the result';

-- NULL leaves as it is; a negative number goes back to what the server's options say.
CREATE FUNCTION kde_set_refresh(
    density text, by_name_only "any" DEFAULT NULL, filter text DEFAULT NULL,
    enabled boolean DEFAULT NULL, scale_factor double precision DEFAULT NULL,
    threshold bigint DEFAULT NULL, max_age interval DEFAULT NULL)
RETURNS void
AS 'MODULE_PATHNAME', 'kde_set_refresh_by_name' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION kde_set_refresh(text, "any", text, boolean, double precision, bigint, interval) IS
    'when a density is stale, and whether it is refreshed';

-- Answers beside the exact ones, drawn by a seed.
CREATE FUNCTION kde_self_check(
    density text, by_name_only "any" DEFAULT NULL, filter text DEFAULT NULL,
    questions integer DEFAULT 10, seed bigint DEFAULT NULL)
RETURNS TABLE (
    question text, estimate double precision, lower_bound double precision, upper_bound double precision,
    exact double precision, error double precision, held boolean, ms double precision)
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10;
COMMENT ON FUNCTION kde_self_check(text, "any", text, integer, bigint) IS
    'asks a density questions of its own, and the table the same';

CREATE FUNCTION kde_check(
    OUT ok boolean, OUT severity text, OUT summary text, OUT problems text, OUT actions text)
RETURNS record
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION kde_check() IS
    'whether all is well with the extension and the densities that the current user may read, and what to do';

CREATE FUNCTION kde_set_plain_sql(
    density text, allowed boolean, by_name_only "any" DEFAULT NULL, filter text DEFAULT NULL,
    as_of interval DEFAULT NULL)
RETURNS void
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION kde_set_plain_sql(text, boolean, "any", text, interval) IS
    'whether plain SQL may be answered by a density, in sessions that ask for it (kde_aqp.approximate), and how old its answers may be';

CREATE FUNCTION kde_approximate(statements text DEFAULT 'top') RETURNS text
AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION kde_approximate(text) IS
    'sets kde_aqp.approximate for the session, and loads the library that plain SQL needs: off, top or all';

CREATE FUNCTION kde_aqp.plain_sql_outcomes()
RETURNS TABLE (outcome text, statements bigint, all_sessions bigint)
AS 'MODULE_PATHNAME', 'kde_plain_sql_outcomes' LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 10;
COMMENT ON FUNCTION kde_aqp.plain_sql_outcomes() IS 'what kde_plain_sql shows';
GRANT EXECUTE ON FUNCTION kde_aqp.plain_sql_outcomes() TO PUBLIC;
CREATE VIEW kde_plain_sql AS SELECT outcome, statements, all_sessions FROM kde_aqp.plain_sql_outcomes();
COMMENT ON VIEW kde_plain_sql IS
    'how statements of plain SQL were answered, in this session and in all: by a density, or why by the exact plan';
GRANT SELECT ON kde_plain_sql TO PUBLIC;

-- UNSAFE: they plan queries, which in parallel mode know of no density.
CREATE FUNCTION kde_explain_query(query text)
RETURNS TABLE (relation regclass, density text, filter text, answers boolean, reason text)
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10;
COMMENT ON FUNCTION kde_explain_query(text) IS
    'which densities may answer a query of plain SQL, and why the others do not; it is not run';
-- UNSAFE: it plans statements, each in a subtransaction.
CREATE FUNCTION kde_advise(
    statements text[] DEFAULT NULL, weights double precision[] DEFAULT NULL,
    least_share double precision DEFAULT 0.01,
    OUT rank integer, OUT relation regclass, OUT answers bigint, OUT time_share double precision,
    OUT cumulated double precision, OUT ms_per_call double precision, OUT bytes bigint,
    OUT fit_ms double precision, OUT note text, OUT call text, OUT freshness text,
    OUT statements text[], OUT queryids bigint[])
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10;
COMMENT ON FUNCTION kde_advise(text[], double precision[], double precision) IS
    'which densities would answer how much of the time of statements, of pg_stat_statements or given, and why none answers the others';
CREATE FUNCTION approx_where(
    relation regclass, predicate text, by_name_only "any" DEFAULT NULL,
    measure text DEFAULT NULL,
    max_relative_error double precision DEFAULT NULL, otherwise text DEFAULT 'error',
    confidence double precision DEFAULT 0.95, changed_rows double precision DEFAULT 0,
    OUT count double precision, OUT count_lower double precision, OUT count_upper double precision,
    OUT sum double precision, OUT sum_lower double precision, OUT sum_upper double precision,
    OUT avg double precision, OUT avg_lower double precision, OUT avg_upper double precision,
    OUT exact boolean, OUT density text)
AS 'MODULE_PATHNAME', 'kde_approx_where' LANGUAGE C STABLE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION approx_where(regclass, text, "any", text, double precision, text, double precision, double precision) IS
    'approximate count, and sum and mean of a measure, of the rows that a condition leaves, by any density that fits';
CREATE FUNCTION approx_lower(aggregate anyelement) RETURNS anyelement
AS 'MODULE_PATHNAME', 'kde_approx_lower' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION approx_lower(anyelement) IS
    'the lower end of an aggregate''s interval in plain SQL that a density answers; else the aggregate itself';
CREATE FUNCTION approx_upper(aggregate anyelement) RETURNS anyelement
AS 'MODULE_PATHNAME', 'kde_approx_upper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION approx_upper(anyelement) IS
    'the upper end of an aggregate''s interval in plain SQL that a density answers; else the aggregate itself';

-- STABLE: which instruction set computes the sums is an option. RESTRICTED: they start threads.
CREATE FUNCTION kde_bandwidth(
    sample double precision[], method text DEFAULT 'plugin', exact boolean DEFAULT false,
    leave_one_out boolean DEFAULT false)
RETURNS double precision
AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000;
COMMENT ON FUNCTION kde_bandwidth(double precision[], text, boolean, boolean) IS
    'bandwidth of an array of values, in their units';

CREATE FUNCTION kde_bandwidth_matrix(
    points double precision[], method text DEFAULT 'lscv_matrix', cholesky boolean DEFAULT false,
    leave_one_out boolean DEFAULT false)
RETURNS double precision[]
AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000;
COMMENT ON FUNCTION kde_bandwidth_matrix(double precision[], text, boolean, boolean) IS
    'bandwidth matrix H of an array of points, a row each, or its lower Cholesky factor';

CREATE FUNCTION kde_evaluate(
    points double precision[], at double precision[], bandwidth double precision[] DEFAULT NULL)
RETURNS double precision[]
AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000;
COMMENT ON FUNCTION kde_evaluate(double precision[], double precision[], double precision[]) IS
    'kernel density estimate of an array of points, a row each, at the points of another';

CREATE FUNCTION kde_devices(
    OUT device text, OUT status text, OUT in_use boolean, OUT instruction_set text,
    OUT instruction_sets text[], OUT threads integer, OUT name text, OUT capability text,
    OUT memory bigint, OUT memory_used bigint, OUT jobs bigint, OUT busy_ms double precision,
    OUT last_error text)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 2;
COMMENT ON FUNCTION kde_devices() IS
    'what would compute a fit: the processor''s instruction sets and threads, graphics cards';

-- ---------------------------------------------------------------------------------------------
-- Watching
-- ---------------------------------------------------------------------------------------------

CREATE FUNCTION kde_aqp.progress(
    OUT pid integer, OUT datname name, OUT relation regclass, OUT column_names text[],
    OUT operation text, OUT phase text, OUT unit text, OUT done bigint, OUT total bigint,
    OUT started_at timestamptz, OUT device text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'kde_progress' LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 10;
COMMENT ON FUNCTION kde_aqp.progress() IS 'the rows of kde_progress';
GRANT EXECUTE ON FUNCTION kde_aqp.progress() TO PUBLIC;

CREATE VIEW kde_progress AS
SELECT p.pid,
       p.datname,
       p.relation,
       p.column_names,
       p.operation,
       p.phase,
       p.unit,
       p.done,
       p.total,
       -- Rounded down, so that it is 100 only at the end.
       pg_catalog.trunc(p.done OPERATOR(pg_catalog.*) 100.0 OPERATOR(pg_catalog./) p.total, 1)
           AS percent,
       p.started_at,
       pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) p.started_at AS elapsed,
       p.device
FROM kde_aqp.progress() AS p;
COMMENT ON VIEW kde_progress IS
    'fits that are running, of the current user''s sessions or, for members of pg_read_all_stats, all';
GRANT SELECT ON kde_progress TO PUBLIC;

-- ---------------------------------------------------------------------------------------------
-- Aggregating: densities of every row, in one pass and in bounded memory. An aggregate's arguments
-- have no defaults, hence the forms.
--
-- A state takes from under 1 kB to 256 kB, or to 2 MB where one is in memory at a time. Hash aggregation
-- bounds its number of groups by SSPACE, as those that it has admitted go on growing: that of a group of
-- a few thousand rows.
-- ---------------------------------------------------------------------------------------------

-- A method's name: a text without a collation. With one, postgres_fdw would not send an aggregate that takes
-- it to another server. Literals are taken for it as for text, and what is a text becomes one by itself.
CREATE TYPE kde_aqp.method;
CREATE FUNCTION kde_aqp.method_in(cstring) RETURNS kde_aqp.method
AS 'textin' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION kde_aqp.method_out(kde_aqp.method) RETURNS cstring
AS 'textout' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION kde_aqp.method_recv(internal) RETURNS kde_aqp.method
AS 'textrecv' LANGUAGE internal STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION kde_aqp.method_send(kde_aqp.method) RETURNS bytea
AS 'textsend' LANGUAGE internal STABLE STRICT PARALLEL SAFE;
CREATE TYPE kde_aqp.method (
    INPUT = kde_aqp.method_in,
    OUTPUT = kde_aqp.method_out,
    RECEIVE = kde_aqp.method_recv,
    SEND = kde_aqp.method_send,
    LIKE = text,
    CATEGORY = 'S'
);
COMMENT ON TYPE kde_aqp.method IS 'name of a method of kde_fit, for aggregates';
COMMENT ON FUNCTION kde_aqp.method_in(cstring) IS 'I/O';
COMMENT ON FUNCTION kde_aqp.method_out(kde_aqp.method) IS 'I/O';
COMMENT ON FUNCTION kde_aqp.method_recv(internal) IS 'I/O';
COMMENT ON FUNCTION kde_aqp.method_send(kde_aqp.method) IS 'I/O';
CREATE CAST (text AS kde_aqp.method) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (varchar AS kde_aqp.method) WITHOUT FUNCTION AS IMPLICIT;

-- The state of these aggregates, a type of its own and not internal: who aggregates in parts, as Citus, moves
-- and combines it. Its bytes are no format to be kept.
CREATE TYPE kde_aqp.agg_state;
CREATE FUNCTION kde_aqp.agg_state_in(cstring) RETURNS kde_aqp.agg_state
AS 'MODULE_PATHNAME', 'kde_agg_state_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION kde_aqp.agg_state_out(kde_aqp.agg_state) RETURNS cstring
AS 'byteaout' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION kde_aqp.agg_state_recv(internal) RETURNS kde_aqp.agg_state
AS 'MODULE_PATHNAME', 'kde_agg_state_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION kde_aqp.agg_state_send(kde_aqp.agg_state) RETURNS bytea
AS 'byteasend' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE kde_aqp.agg_state (
    INPUT = kde_aqp.agg_state_in,
    OUTPUT = kde_aqp.agg_state_out,
    RECEIVE = kde_aqp.agg_state_recv,
    SEND = kde_aqp.agg_state_send,
    LIKE = bytea
);
COMMENT ON TYPE kde_aqp.agg_state IS 'state of kde_agg and rollup, for those who aggregate in parts';
COMMENT ON FUNCTION kde_aqp.agg_state_in(cstring) IS 'I/O';
COMMENT ON FUNCTION kde_aqp.agg_state_out(kde_aqp.agg_state) IS 'I/O';
COMMENT ON FUNCTION kde_aqp.agg_state_recv(internal) IS 'I/O';
COMMENT ON FUNCTION kde_aqp.agg_state_send(kde_aqp.agg_state) IS 'I/O';

CREATE FUNCTION kde_aqp.cells_row(state kde_aqp.agg_state, chain integer, VARIADIC "any") RETURNS kde_aqp.agg_state
AS 'MODULE_PATHNAME', 'kde_cells_row' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kde_aqp.cells_row(kde_aqp.agg_state, integer, "any") IS
    'aggregate transition function';
CREATE FUNCTION kde_aqp.value_sums_row(state bytea, VARIADIC "any") RETURNS bytea
AS 'MODULE_PATHNAME', 'kde_value_sums_row' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kde_aqp.value_sums_row(bytea, "any") IS
    'aggregate transition function';
CREATE FUNCTION kde_aqp.value_sums_combine(state bytea, other bytea) RETURNS bytea
AS 'MODULE_PATHNAME', 'kde_value_sums_combine' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kde_aqp.value_sums_combine(bytea, bytea) IS 'aggregate combine function';
CREATE FUNCTION kde_aqp.rollup_row(state kde_aqp.agg_state, density kde) RETURNS kde_aqp.agg_state
AS 'MODULE_PATHNAME', 'kde_rollup_row' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kde_aqp.rollup_row(kde_aqp.agg_state, kde) IS 'aggregate transition function';
CREATE FUNCTION kde_aqp.rollup_row(state kde_aqp.agg_state, density kde, bytes integer) RETURNS kde_aqp.agg_state
AS 'MODULE_PATHNAME', 'kde_rollup_row' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kde_aqp.rollup_row(kde_aqp.agg_state, kde, integer) IS 'aggregate transition function';
CREATE FUNCTION kde_aqp.agg_combine(state kde_aqp.agg_state, other kde_aqp.agg_state) RETURNS kde_aqp.agg_state
AS 'MODULE_PATHNAME', 'kde_agg_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kde_aqp.agg_combine(kde_aqp.agg_state, kde_aqp.agg_state) IS 'aggregate combine function';
CREATE FUNCTION kde_aqp.agg_final(state kde_aqp.agg_state) RETURNS kde
AS 'MODULE_PATHNAME', 'kde_agg_final' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kde_aqp.agg_final(kde_aqp.agg_state) IS 'aggregate final function';

-- kde_agg, of each type by itself: Citus lets no aggregate of anyelement be run in parts.
DO $$
DECLARE
    type text;
    form record;
BEGIN
    FOREACH type IN ARRAY ARRAY['smallint', 'integer', 'bigint', 'real', 'double precision', 'numeric', 'date',
                                'time', 'timestamp', 'timestamptz', 'interval']
    LOOP
        FOR form IN
            VALUES ('', 'row', 16384, 'density of every value, by auto'),
                (', method kde_aqp.method', 'row', 16384, 'density of every value, by a method of kde_fit'),
                (', method kde_aqp.method, weight double precision', 'row', 16384,
                 'density of every value, each counted as often as its weight says'),
                (', method kde_aqp.method, weight double precision, bytes integer', 'row', 16384,
                 'density of every value with weights, in at most so many bytes'),
                -- A column that is added up over ranges of the value. (Its bytes are told by rollup: a third
                -- argument would be taken for a weight.)
                (', measure double precision', 'measure_row', 32768,
                 'density of every value, and the sums of a measure over its ranges')
        LOOP
            EXECUTE pg_catalog.format(
                'CREATE FUNCTION kde_aqp.agg_%2$s(state kde_aqp.agg_state, value %1$s%3$s) RETURNS kde_aqp.agg_state
                    AS ''MODULE_PATHNAME'', ''kde_agg_%2$s'' LANGUAGE C IMMUTABLE PARALLEL SAFE;
                COMMENT ON FUNCTION kde_aqp.agg_%2$s(state kde_aqp.agg_state, value %1$s%3$s) IS
                    ''aggregate transition function'';
                CREATE AGGREGATE kde_agg(value %1$s%3$s) (
                    SFUNC = kde_aqp.agg_%2$s, STYPE = kde_aqp.agg_state, SSPACE = %4$s,
                    FINALFUNC = kde_aqp.agg_final, FINALFUNC_MODIFY = READ_ONLY,
                    COMBINEFUNC = kde_aqp.agg_combine, PARALLEL = SAFE);
                COMMENT ON AGGREGATE kde_agg(value %1$s%3$s) IS %5$L',
                type, form.column2, form.column1, form.column3, form.column4);
        END LOOP;
    END LOOP;
END
$$;
-- Of other types, to say what they are to be converted to.
CREATE FUNCTION kde_aqp.agg_no_row(state kde_aqp.agg_state, value anyelement) RETURNS kde_aqp.agg_state
AS 'MODULE_PATHNAME', 'kde_agg_no_row' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION kde_aqp.agg_no_row(kde_aqp.agg_state, anyelement) IS 'aggregate transition function';
CREATE AGGREGATE kde_agg(value anyelement) (
    SFUNC = kde_aqp.agg_no_row, STYPE = kde_aqp.agg_state,
    FINALFUNC = kde_aqp.agg_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kde_agg(anyelement) IS 'error that names the types there are densities of';
-- What a fit of every row reads: the state, for the fit to go on with.
CREATE AGGREGATE kde_aqp.cells(chain integer, VARIADIC "any") (
    SFUNC = kde_aqp.cells_row, STYPE = kde_aqp.agg_state, SSPACE = 16384,
    COMBINEFUNC = kde_aqp.agg_combine, PARALLEL = SAFE);
COMMENT ON AGGREGATE kde_aqp.cells(chain integer, VARIADIC "any") IS
    'a column and its measures, every row, counted into cells with round ends, for fits';
CREATE AGGREGATE kde_aqp.value_sums(VARIADIC "any") (
    SFUNC = kde_aqp.value_sums_row, STYPE = bytea, SSPACE = 240,
    COMBINEFUNC = kde_aqp.value_sums_combine, PARALLEL = SAFE);
COMMENT ON AGGREGATE kde_aqp.value_sums(VARIADIC "any") IS
    'what the rows of one value have in sum of measures, for fits';
CREATE AGGREGATE rollup(density kde) (
    SFUNC = kde_aqp.rollup_row, STYPE = kde_aqp.agg_state, SSPACE = 16384,
    FINALFUNC = kde_aqp.agg_final, FINALFUNC_MODIFY = READ_ONLY,
    COMBINEFUNC = kde_aqp.agg_combine, PARALLEL = SAFE);
COMMENT ON AGGREGATE rollup(kde) IS
    'density of all the rows that densities stand for';
CREATE AGGREGATE rollup(density kde, bytes integer) (
    SFUNC = kde_aqp.rollup_row, STYPE = kde_aqp.agg_state, SSPACE = 16384,
    FINALFUNC = kde_aqp.agg_final, FINALFUNC_MODIFY = READ_ONLY,
    COMBINEFUNC = kde_aqp.agg_combine, PARALLEL = SAFE);
COMMENT ON AGGREGATE rollup(kde, integer) IS
    'density of all the rows that densities stand for, in at most so many bytes';

-- ---------------------------------------------------------------------------------------------
-- Asking. A density is named in one argument: its name as text, 'table.column' or
-- 'table (column, ...)', or a value of type kde. Bounds follow, inclusive; a range may stand for
-- both, and of several columns they are arrays. Options are given by name alone, after by_name_only.
-- Rows, not values: one in which a column of the density, or the measure, is NULL is in no range.
-- ---------------------------------------------------------------------------------------------

CREATE FUNCTION kde_density(density text) RETURNS kde
AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kde_density(text) IS 'the stored density as a value';
-- What dumps write schema-qualified.
CREATE FUNCTION kde_density(relation regclass, column_name name) RETURNS kde
AS 'MODULE_PATHNAME', 'kde_density_column' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kde_density(regclass, name) IS 'the stored density as a value';
CREATE FUNCTION kde_density(relation regclass, column_names text[], filter text DEFAULT NULL)
RETURNS kde
AS 'MODULE_PATHNAME', 'kde_density_columns' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION kde_density(regclass, text[], text) IS
    'the stored density of columns, expressions or filtered rows as a value';

CREATE FUNCTION approx_count(
    density anykde, lower anycompatible DEFAULT NULL, upper anycompatible DEFAULT NULL,
    by_name_only "any" DEFAULT NULL,
    measure text DEFAULT NULL, filter text DEFAULT NULL,
    max_relative_error double precision DEFAULT NULL, otherwise text DEFAULT 'error',
    confidence double precision DEFAULT 0.95, changed_rows double precision DEFAULT 0)
RETURNS double precision
AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION approx_count(anykde, anycompatible, anycompatible, "any", text, text, double precision, text, double precision, double precision) IS
    'approximate count of the rows in a range or box';
CREATE FUNCTION approx_sum(
    density anykde, lower anycompatible DEFAULT NULL, upper anycompatible DEFAULT NULL,
    by_name_only "any" DEFAULT NULL,
    measure text DEFAULT NULL, filter text DEFAULT NULL,
    max_relative_error double precision DEFAULT NULL, otherwise text DEFAULT 'error',
    confidence double precision DEFAULT 0.95, changed_rows double precision DEFAULT 0)
RETURNS double precision
AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION approx_sum(anykde, anycompatible, anycompatible, "any", text, text, double precision, text, double precision, double precision) IS
    'approximate sum over the rows in a range or box';
CREATE FUNCTION approx_avg(
    density anykde, lower anycompatible DEFAULT NULL, upper anycompatible DEFAULT NULL,
    by_name_only "any" DEFAULT NULL,
    measure text DEFAULT NULL, filter text DEFAULT NULL,
    max_relative_error double precision DEFAULT NULL, otherwise text DEFAULT 'error',
    confidence double precision DEFAULT 0.95, changed_rows double precision DEFAULT 0)
RETURNS double precision
AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION approx_avg(anykde, anycompatible, anycompatible, "any", text, text, double precision, text, double precision, double precision) IS
    'approximate mean over the rows in a range or box; dates as seconds since 1970';
CREATE FUNCTION approx_variance(
    density anykde, lower anycompatible DEFAULT NULL, upper anycompatible DEFAULT NULL,
    by_name_only "any" DEFAULT NULL,
    measure text DEFAULT NULL, filter text DEFAULT NULL,
    max_relative_error double precision DEFAULT NULL, otherwise text DEFAULT 'error',
    confidence double precision DEFAULT 0.95, changed_rows double precision DEFAULT 0)
RETURNS double precision
AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION approx_variance(anykde, anycompatible, anycompatible, "any", text, text, double precision, text, double precision, double precision) IS
    'approximate sample variance over the rows in a range or box';
CREATE FUNCTION approx_stddev(
    density anykde, lower anycompatible DEFAULT NULL, upper anycompatible DEFAULT NULL,
    by_name_only "any" DEFAULT NULL,
    measure text DEFAULT NULL, filter text DEFAULT NULL,
    max_relative_error double precision DEFAULT NULL, otherwise text DEFAULT 'error',
    confidence double precision DEFAULT 0.95, changed_rows double precision DEFAULT 0)
RETURNS double precision
AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION approx_stddev(anykde, anycompatible, anycompatible, "any", text, text, double precision, text, double precision, double precision) IS
    'approximate sample standard deviation over the rows in a range or box';
CREATE FUNCTION approx_avg_as(
    density anykde, as_type anyelement, lower anycompatible DEFAULT NULL, upper anycompatible DEFAULT NULL,
    by_name_only "any" DEFAULT NULL,
    measure text DEFAULT NULL, filter text DEFAULT NULL,
    max_relative_error double precision DEFAULT NULL, otherwise text DEFAULT 'error',
    confidence double precision DEFAULT 0.95, changed_rows double precision DEFAULT 0)
RETURNS anyelement
AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION approx_avg_as(anykde, anyelement, anycompatible, anycompatible, "any", text, text, double precision, text, double precision, double precision) IS
    'approximate mean in the column''s own type, given as a null of it: NULL::date';

-- An answer and its confidence interval; changed_rows (inserted, updated and deleted since the fit)
-- widen it by what they may have done at worst.
CREATE FUNCTION approx_count_ci(
    density anykde, lower anycompatible DEFAULT NULL, upper anycompatible DEFAULT NULL,
    by_name_only "any" DEFAULT NULL,
    measure text DEFAULT NULL, filter text DEFAULT NULL,
    max_relative_error double precision DEFAULT NULL, otherwise text DEFAULT 'error',
    confidence double precision DEFAULT 0.95, changed_rows double precision DEFAULT 0,
    OUT estimate double precision, OUT lower_bound double precision,
    OUT upper_bound double precision)
RETURNS record
AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION approx_count_ci(anykde, anycompatible, anycompatible, "any", text, text, double precision, text, double precision, double precision) IS
    'approximate count of the rows in a range or box, with a confidence interval';
CREATE FUNCTION approx_sum_ci(
    density anykde, lower anycompatible DEFAULT NULL, upper anycompatible DEFAULT NULL,
    by_name_only "any" DEFAULT NULL,
    measure text DEFAULT NULL, filter text DEFAULT NULL,
    max_relative_error double precision DEFAULT NULL, otherwise text DEFAULT 'error',
    confidence double precision DEFAULT 0.95, changed_rows double precision DEFAULT 0,
    OUT estimate double precision, OUT lower_bound double precision,
    OUT upper_bound double precision)
RETURNS record
AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION approx_sum_ci(anykde, anycompatible, anycompatible, "any", text, text, double precision, text, double precision, double precision) IS
    'approximate sum over the rows in a range or box, with a confidence interval';
CREATE FUNCTION approx_avg_ci(
    density anykde, lower anycompatible DEFAULT NULL, upper anycompatible DEFAULT NULL,
    by_name_only "any" DEFAULT NULL,
    measure text DEFAULT NULL, filter text DEFAULT NULL,
    max_relative_error double precision DEFAULT NULL, otherwise text DEFAULT 'error',
    confidence double precision DEFAULT 0.95, changed_rows double precision DEFAULT 0,
    OUT estimate double precision, OUT lower_bound double precision,
    OUT upper_bound double precision)
RETURNS record
AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION approx_avg_ci(anykde, anycompatible, anycompatible, "any", text, text, double precision, text, double precision, double precision) IS
    'approximate mean over the rows in a range or box; dates as seconds since 1970, with a confidence interval';
CREATE FUNCTION approx_variance_ci(
    density anykde, lower anycompatible DEFAULT NULL, upper anycompatible DEFAULT NULL,
    by_name_only "any" DEFAULT NULL,
    measure text DEFAULT NULL, filter text DEFAULT NULL,
    max_relative_error double precision DEFAULT NULL, otherwise text DEFAULT 'error',
    confidence double precision DEFAULT 0.95, changed_rows double precision DEFAULT 0,
    OUT estimate double precision, OUT lower_bound double precision,
    OUT upper_bound double precision)
RETURNS record
AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION approx_variance_ci(anykde, anycompatible, anycompatible, "any", text, text, double precision, text, double precision, double precision) IS
    'approximate sample variance over the rows in a range or box, with a confidence interval';
CREATE FUNCTION approx_stddev_ci(
    density anykde, lower anycompatible DEFAULT NULL, upper anycompatible DEFAULT NULL,
    by_name_only "any" DEFAULT NULL,
    measure text DEFAULT NULL, filter text DEFAULT NULL,
    max_relative_error double precision DEFAULT NULL, otherwise text DEFAULT 'error',
    confidence double precision DEFAULT 0.95, changed_rows double precision DEFAULT 0,
    OUT estimate double precision, OUT lower_bound double precision,
    OUT upper_bound double precision)
RETURNS record
AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION approx_stddev_ci(anykde, anycompatible, anycompatible, "any", text, text, double precision, text, double precision, double precision) IS
    'approximate sample standard deviation over the rows in a range or box, with a confidence interval';

CREATE FUNCTION approx_quantile(
    density anykde, fraction double precision,
    by_name_only "any" DEFAULT NULL,
    filter text DEFAULT NULL,
    max_relative_error double precision DEFAULT NULL, otherwise text DEFAULT 'error',
    confidence double precision DEFAULT 0.95, changed_rows double precision DEFAULT 0)
RETURNS double precision
AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION approx_quantile(anykde, double precision, "any", text, double precision, text, double precision, double precision) IS
    'approximate quantile; dates as seconds since 1970';
CREATE FUNCTION approx_quantile(
    density anykde, fractions double precision[],
    by_name_only "any" DEFAULT NULL,
    filter text DEFAULT NULL,
    max_relative_error double precision DEFAULT NULL, otherwise text DEFAULT 'error',
    confidence double precision DEFAULT 0.95, changed_rows double precision DEFAULT 0)
RETURNS double precision[]
AS 'MODULE_PATHNAME', 'approx_quantiles' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION approx_quantile(anykde, double precision[], "any", text, double precision, text, double precision, double precision) IS
    'approximate quantiles; dates as seconds since 1970';
-- Takes untyped literals and parameters, which two overloads alone would leave ambiguous.
CREATE FUNCTION approx_quantile(
    density anykde, fraction text,
    by_name_only "any" DEFAULT NULL,
    filter text DEFAULT NULL,
    max_relative_error double precision DEFAULT NULL, otherwise text DEFAULT 'error',
    confidence double precision DEFAULT 0.95, changed_rows double precision DEFAULT 0)
RETURNS double precision
AS 'MODULE_PATHNAME', 'approx_quantile_of_text' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION approx_quantile(anykde, text, "any", text, double precision, text, double precision, double precision) IS
    'approximate quantile, the fraction as an untyped literal or parameter';
CREATE FUNCTION approx_quantile_as(
    density anykde, fraction double precision, as_type anyelement,
    by_name_only "any" DEFAULT NULL,
    filter text DEFAULT NULL,
    max_relative_error double precision DEFAULT NULL, otherwise text DEFAULT 'error',
    confidence double precision DEFAULT 0.95, changed_rows double precision DEFAULT 0)
RETURNS anyelement
AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION approx_quantile_as(anykde, double precision, anyelement, "any", text, double precision, text, double precision, double precision) IS
    'approximate quantile in the column''s own type, given as a null of it: NULL::date';
CREATE FUNCTION approx_quantile_ci(
    density anykde, fraction double precision,
    by_name_only "any" DEFAULT NULL,
    filter text DEFAULT NULL,
    max_relative_error double precision DEFAULT NULL, otherwise text DEFAULT 'error',
    confidence double precision DEFAULT 0.95, changed_rows double precision DEFAULT 0,
    OUT estimate double precision, OUT lower_bound double precision,
    OUT upper_bound double precision)
RETURNS record
AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION approx_quantile_ci(anykde, double precision, "any", text, double precision, text, double precision, double precision) IS
    'approximate quantile, with a confidence interval; dates as seconds since 1970';

-- Bins are [lower, upper), the last is closed; dates are seconds since 1970, and text as their own type.
CREATE FUNCTION approx_groups(
    density anykde, lower anycompatible DEFAULT NULL, upper anycompatible DEFAULT NULL,
    by_name_only "any" DEFAULT NULL,
    measure text DEFAULT NULL, filter text DEFAULT NULL,
    max_relative_error double precision DEFAULT NULL, otherwise text DEFAULT 'error',
    confidence double precision DEFAULT 0.95, changed_rows double precision DEFAULT 0,
    OUT group_key text, OUT groups integer,
    OUT count double precision, OUT count_lower double precision, OUT count_upper double precision,
    OUT sum double precision, OUT sum_lower double precision, OUT sum_upper double precision,
    OUT avg double precision, OUT avg_lower double precision, OUT avg_upper double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE ROWS 100;
COMMENT ON FUNCTION approx_groups(anykde, anycompatible, anycompatible, "any", text, text, double precision, text, double precision, double precision) IS
    'approximate count, sum and mean of each group over a range, with confidence intervals';
CREATE FUNCTION approx_histogram(
    density anykde, bins integer DEFAULT 20,
    by_name_only "any" DEFAULT NULL,
    lower anycompatible DEFAULT NULL, upper anycompatible DEFAULT NULL, filter text DEFAULT NULL,
    equal text DEFAULT 'width',
    OUT bin integer, OUT lower_bound double precision, OUT upper_bound double precision,
    OUT count double precision, OUT fraction double precision,
    OUT lower_text text, OUT upper_text text)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
COMMENT ON FUNCTION approx_histogram(anykde, integer, "any", anycompatible, anycompatible, text, text) IS
    'approximate histogram: bins of equal width, of equal rows or with round ends, by default between the least and the greatest value';
CREATE FUNCTION approx_histogram_at(
    density anykde, bounds anycompatiblearray,
    by_name_only "any" DEFAULT NULL, filter text DEFAULT NULL,
    OUT bin integer, OUT lower_bound double precision, OUT upper_bound double precision,
    OUT count double precision, OUT fraction double precision,
    OUT lower_text text, OUT upper_text text)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
COMMENT ON FUNCTION approx_histogram_at(anykde, anycompatiblearray, "any", text) IS
    'approximate histogram: the bins between given bounds';

-- Of the values that are known one by one.
CREATE FUNCTION approx_top(
    density anykde, n integer DEFAULT 10,
    by_name_only "any" DEFAULT NULL,
    filter text DEFAULT NULL, confidence double precision DEFAULT 0.95, changed_rows double precision DEFAULT 0,
    OUT rank integer, OUT value text, OUT count double precision,
    OUT lower_bound double precision, OUT upper_bound double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE ROWS 10;
COMMENT ON FUNCTION approx_top(anykde, integer, "any", text, double precision, double precision) IS
    'the most frequent values, with confidence intervals of their counts';

CREATE FUNCTION kde_pdf(
    density anykde, x anycompatible, by_name_only "any" DEFAULT NULL, filter text DEFAULT NULL)
RETURNS double precision
AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION kde_pdf(anykde, anycompatible, "any", text) IS
    'density at a point, per unit of the column (dates: per second)';
CREATE FUNCTION kde_cdf(
    density anykde, x anycompatible, by_name_only "any" DEFAULT NULL, filter text DEFAULT NULL)
RETURNS double precision
AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION kde_cdf(anykde, anycompatible, "any", text) IS
    'fraction of the non-null rows up to and including a value';

CREATE FUNCTION kde_conditional(
    density anykde, at anycompatiblearray, by_name_only "any" DEFAULT NULL,
    measure text DEFAULT NULL, filter text DEFAULT NULL,
    confidence double precision DEFAULT 0.95, changed_rows double precision DEFAULT 0,
    OUT at double precision, OUT at_text text, OUT estimate double precision,
    OUT lower_bound double precision, OUT upper_bound double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'kde_conditional_by_name' LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
COMMENT ON FUNCTION kde_conditional(anykde, anycompatiblearray, "any", text, text, double precision, double precision) IS
    'approximate mean of a measure at values of a column, with confidence intervals';
CREATE FUNCTION kde_explain(
    density anykde, lower anycompatible DEFAULT NULL, upper anycompatible DEFAULT NULL,
    by_name_only "any" DEFAULT NULL,
    measure text DEFAULT NULL, filter text DEFAULT NULL,
    OUT rank integer, OUT column_names text[], OUT filter text, OUT method text, OUT points bigint,
    OUT chosen boolean, OUT reason text, OUT estimate double precision,
    OUT lower_bound double precision, OUT upper_bound double precision)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'kde_explain_by_name' LANGUAGE C STABLE PARALLEL SAFE ROWS 5;
COMMENT ON FUNCTION kde_explain(anykde, anycompatible, anycompatible, "any", text, text) IS
    'the densities of a table, best first: which one answers, why, and the count, or the mean of the measure, by each';

-- ---------------------------------------------------------------------------------------------
-- Plots and programs: curves and JSON
-- ---------------------------------------------------------------------------------------------

CREATE FUNCTION kde_points(
    density anykde, points integer DEFAULT 200,
    lower double precision DEFAULT NULL, upper double precision DEFAULT NULL)
RETURNS TABLE (x double precision, density double precision, cdf double precision, x_text text)
AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE ROWS 200;
COMMENT ON FUNCTION kde_points(anykde, integer, double precision, double precision) IS
    'density and distribution function at equally spaced points, by default from the least to the greatest value';

CREATE FUNCTION kde_aqp.kde_to_json(density kde) RETURNS json
AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kde_aqp.kde_to_json(kde) IS 'totals, curve and quantiles of a density as JSON';
CREATE FUNCTION kde_aqp.kde_to_jsonb(density kde) RETURNS jsonb
AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kde_aqp.kde_to_jsonb(kde) IS 'totals, curve and quantiles of a density as JSON';
CREATE CAST (kde AS json) WITH FUNCTION kde_aqp.kde_to_json(kde);
COMMENT ON CAST (kde AS json) IS 'totals, curve and quantiles of a density';
CREATE CAST (kde AS jsonb) WITH FUNCTION kde_aqp.kde_to_jsonb(kde);
COMMENT ON CAST (kde AS jsonb) IS 'totals, curve and quantiles of a density';

-- ---------------------------------------------------------------------------------------------
-- Pictures
-- ---------------------------------------------------------------------------------------------

-- Each three times: of a name or a value; of a name, so that an untyped literal is one beside arrays;
-- of an array of values.
CREATE FUNCTION kde_plot(
    density anykde, width integer DEFAULT 78, height integer DEFAULT 16,
    by_name_only "any" DEFAULT NULL,
    lower anycompatible DEFAULT NULL, upper anycompatible DEFAULT NULL,
    kind text DEFAULT 'histogram', filter text DEFAULT NULL, confidence double precision DEFAULT 0.95)
RETURNS SETOF text
AS 'MODULE_PATHNAME', 'kde_plot' LANGUAGE C STABLE PARALLEL RESTRICTED ROWS 20;
COMMENT ON FUNCTION kde_plot(anykde, integer, integer, "any", anycompatible, anycompatible, text, text, double precision) IS
    'a picture of a density in characters, a line a row: a histogram, a density or a distribution function; of groups one under the other';
CREATE FUNCTION kde_plot(
    density text, width integer DEFAULT 78, height integer DEFAULT 16,
    by_name_only "any" DEFAULT NULL,
    lower anycompatible DEFAULT NULL, upper anycompatible DEFAULT NULL,
    kind text DEFAULT 'histogram', filter text DEFAULT NULL, confidence double precision DEFAULT 0.95)
RETURNS SETOF text
AS 'MODULE_PATHNAME', 'kde_plot_name' LANGUAGE C STABLE PARALLEL RESTRICTED ROWS 20;
COMMENT ON FUNCTION kde_plot(text, integer, integer, "any", anycompatible, anycompatible, text, text, double precision) IS
    'a picture of a density in characters, a line a row: a histogram, a density or a distribution function; of groups one under the other';
CREATE FUNCTION kde_plot(
    densities kde[], labels text[] DEFAULT NULL, width integer DEFAULT 78, height integer DEFAULT 16,
    by_name_only "any" DEFAULT NULL,
    lower anycompatible DEFAULT NULL, upper anycompatible DEFAULT NULL,
    kind text DEFAULT 'histogram', confidence double precision DEFAULT 0.95)
RETURNS SETOF text
AS 'MODULE_PATHNAME', 'kde_plot_array' LANGUAGE C STABLE PARALLEL RESTRICTED ROWS 20;
COMMENT ON FUNCTION kde_plot(kde[], text[], integer, integer, "any", anycompatible, anycompatible, text, double precision) IS
    'pictures of several densities, one under the other, over one axis';
CREATE FUNCTION kde_svg(
    density anykde, width integer DEFAULT 640, height integer DEFAULT 320,
    by_name_only "any" DEFAULT NULL,
    lower anycompatible DEFAULT NULL, upper anycompatible DEFAULT NULL,
    kind text DEFAULT 'density', filter text DEFAULT NULL, confidence double precision DEFAULT 0.95,
    title text DEFAULT NULL)
RETURNS text
AS 'MODULE_PATHNAME', 'kde_svg' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION kde_svg(anykde, integer, integer, "any", anycompatible, anycompatible, text, text, double precision, text) IS
    'a picture of a density as SVG; groups are drawn over one axis';
CREATE FUNCTION kde_svg(
    density text, width integer DEFAULT 640, height integer DEFAULT 320,
    by_name_only "any" DEFAULT NULL,
    lower anycompatible DEFAULT NULL, upper anycompatible DEFAULT NULL,
    kind text DEFAULT 'density', filter text DEFAULT NULL, confidence double precision DEFAULT 0.95,
    title text DEFAULT NULL)
RETURNS text
AS 'MODULE_PATHNAME', 'kde_svg_name' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION kde_svg(text, integer, integer, "any", anycompatible, anycompatible, text, text, double precision, text) IS
    'a picture of a density as SVG; groups are drawn over one axis';
CREATE FUNCTION kde_svg(
    densities kde[], labels text[] DEFAULT NULL, width integer DEFAULT 640, height integer DEFAULT 320,
    by_name_only "any" DEFAULT NULL,
    lower anycompatible DEFAULT NULL, upper anycompatible DEFAULT NULL,
    kind text DEFAULT 'density', confidence double precision DEFAULT 0.95,
    title text DEFAULT NULL)
RETURNS text
AS 'MODULE_PATHNAME', 'kde_svg_array' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION kde_svg(kde[], text[], integer, integer, "any", anycompatible, anycompatible, text, double precision, text) IS
    'a picture of several densities over one axis, as SVG';
