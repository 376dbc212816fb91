-- From 0.2.0 to 0.3.0. What it leaves is what kde_aqp--0.3.0.sql makes.

\echo Use "ALTER EXTENSION kde_aqp UPDATE" to load this file. \quit

-- ---------------------------------------------------------------------------------------------
-- The catalog: kde_aqp.density becomes kde_aqp.fitted and a door of the old name
-- ---------------------------------------------------------------------------------------------

DROP EVENT TRIGGER kde_aqp_on_drop;
DROP EVENT TRIGGER kde_aqp_on_alter;
DROP FUNCTION kde_aqp.on_drop();
DROP FUNCTION kde_aqp.on_alter();
DROP TRIGGER on_upkeep ON kde_aqp.upkeep;
DROP FUNCTION kde_aqp.on_upkeep();
DROP TRIGGER on_row ON kde_aqp.density;
DROP FUNCTION kde_aqp.on_row();

-- As what is made below will be, the old one is of no dump.
ALTER EXTENSION kde_aqp DROP TABLE kde_aqp.density;
ALTER TABLE kde_aqp.density RENAME TO density_of_before;

-- The catalog is kde_aqp.fitted below. This is its door, for dumps and restores alone, always empty: a
-- row that is inserted goes to the catalog, and a dump reads the catalog by the condition below.
-- Unlogged, so that no publication takes it. Its columns, the catalog's, are known to src/pg/catalog.cpp.
CREATE UNLOGGED TABLE kde_aqp.density (
    relation regclass NOT NULL,
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
    -- Since 0.2.0, at the end, where an upgrade puts them.
    id bigint NOT NULL,
    -- NULL: another one each time.
    requested_seed bigint,
    -- Of kde_set_refresh(); NULL: as the options of the server say.
    refresh_enabled boolean NOT NULL DEFAULT true,
    refresh_scale_factor double precision,
    refresh_threshold bigint,
    refresh_max_age interval,
    append_by text
) USING heap;
COMMENT ON TABLE kde_aqp.density IS 'by which fitted densities are dumped and restored';

-- At first what is to be moved.
CREATE FUNCTION kde_aqp.stored() RETURNS SETOF kde_aqp.density
LANGUAGE sql VOLATILE PARALLEL UNSAFE
AS 'SELECT * FROM kde_aqp.density_of_before WHERE filter OPERATOR(pg_catalog.=) ''''';
COMMENT ON FUNCTION kde_aqp.stored() IS 'the rows of kde_aqp.fitted, for its REFRESH';
REVOKE ALL ON FUNCTION kde_aqp.stored() FROM PUBLIC;

-- The catalog. A materialized view is what no publication takes and no SQL writes to, while standbys,
-- backups and pg_upgrade have it; src/pg/catalog.cpp alone writes it, as a heap, whatever tables are
-- by default.
CREATE MATERIALIZED VIEW kde_aqp.fitted USING heap AS
SELECT
    relation, column_names, attribute_numbers, filter, reference_names, reference_numbers, density,
    requested_method, requested_exact, requested_sample_rows, seed, rows_read, design_effect,
    bandwidth_rows, bandwidth_status, model, engine, threads, scan_ms, select_ms, estimate_ms,
    bandwidth_matrix, stored_rows, fitted_at, id, requested_seed, refresh_enabled,
    refresh_scale_factor, refresh_threshold, refresh_max_age, append_by
FROM kde_aqp.stored();
COMMENT ON MATERIALIZED VIEW kde_aqp.fitted IS
    'fitted densities, one row for each set of columns and filter';
REVOKE ALL ON kde_aqp.fitted FROM PUBLIC;
CREATE UNIQUE INDEX fitted_key ON kde_aqp.fitted (relation, column_names, filter);

CREATE OR REPLACE FUNCTION kde_aqp.stored() RETURNS SETOF kde_aqp.density
AS 'MODULE_PATHNAME', 'kde_stored' LANGUAGE C VOLATILE PARALLEL UNSAFE;

ALTER TABLE kde_aqp.upkeep
    ALTER density_id SET STATISTICS -1,
    ALTER counters SET STATISTICS -1,
    ALTER drift SET STATISTICS -1,
    ALTER drift_p_value SET STATISTICS -1,
    ALTER drift_at SET STATISTICS -1,
    ALTER failures SET STATISTICS -1,
    ALTER last_error SET STATISTICS -1,
    ALTER failed_at SET STATISTICS -1,
    ALTER sampler SET STATISTICS -1,
    ALTER table_rows SET STATISTICS -1;
ALTER TABLE kde_aqp.upkeep SET ACCESS METHOD heap;
ALTER TABLE kde_aqp.upkeep SET UNLOGGED;

-- Whoever dumps a database has to lock the door, and read it, and reads of the densities what he may
-- read of their columns.
GRANT USAGE ON SCHEMA kde_aqp TO PUBLIC;
GRANT SELECT ON kde_aqp.density TO PUBLIC;
-- Who restores one: its owner, or the one who installed. Each row only for a table of his own. (Of an
-- update @extowner@ would be who runs it.)
DO $$
DECLARE
    owner pg_catalog.name;
BEGIN
    SELECT pg_catalog.pg_get_userbyid(e.extowner) INTO STRICT owner FROM pg_catalog.pg_extension AS e
    WHERE e.extname OPERATOR(pg_catalog.=) 'kde_aqp';
    EXECUTE pg_catalog.format('GRANT INSERT ON kde_aqp.density TO pg_database_owner, %I', owner);
END
$$;
CREATE FUNCTION kde_aqp.dumped_densities() RETURNS SETOF kde_aqp.density
AS 'MODULE_PATHNAME', 'kde_dumped_densities' LANGUAGE C STABLE PARALLEL RESTRICTED;
COMMENT ON FUNCTION kde_aqp.dumped_densities() IS
    'the densities of columns the current user may read, for a dump of kde_aqp.density';
GRANT EXECUTE ON FUNCTION kde_aqp.dumped_densities() TO PUBLIC;
SELECT pg_catalog.pg_extension_config_dump('kde_aqp.density',
    'UNION ALL SELECT'
    ' relation, column_names, attribute_numbers, filter, reference_names, reference_numbers,'
    ' density, requested_method, requested_exact, requested_sample_rows, seed, rows_read,'
    ' design_effect, bandwidth_rows, bandwidth_status, model, engine, threads, scan_ms,'
    ' select_ms, estimate_ms, bandwidth_matrix, stored_rows, fitted_at, id, requested_seed,'
    ' refresh_enabled, refresh_scale_factor, refresh_threshold, refresh_max_age, append_by'
    ' FROM kde_aqp.dumped_densities()');

CREATE FUNCTION kde_aqp.on_row() RETURNS trigger
AS 'MODULE_PATHNAME', 'kde_on_row' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION kde_aqp.on_row() IS
    'puts a restored density into the catalog, with this database''s attribute numbers and texts; skips it if its table is gone';
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

CREATE FUNCTION kde_aqp.on_drop() RETURNS event_trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE AS $$
BEGIN
    BEGIN
        IF NOT kde_aqp.has_densities() THEN
            RETURN;
        END IF;
    EXCEPTION WHEN OTHERS THEN
        RAISE WARNING 'densities do not follow this command: %', SQLERRM
            USING HINT = 'Install the files of extension "kde_aqp", or run '
                'ALTER EVENT TRIGGER kde_aqp_on_drop DISABLE.';
        RETURN;
    END;
    PERFORM kde_aqp.follow_drop();
END
$$;
COMMENT ON FUNCTION kde_aqp.on_drop() IS 'drops the densities of dropped tables and columns';
REVOKE ALL ON FUNCTION kde_aqp.on_drop() FROM PUBLIC;

CREATE EVENT TRIGGER kde_aqp_on_drop ON sql_drop EXECUTE FUNCTION kde_aqp.on_drop();
ALTER EVENT TRIGGER kde_aqp_on_drop ENABLE ALWAYS;
COMMENT ON EVENT TRIGGER kde_aqp_on_drop IS 'drops the densities of dropped tables and columns';

CREATE FUNCTION kde_aqp.on_alter() RETURNS event_trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE AS $$
BEGIN
    BEGIN
        IF NOT kde_aqp.has_densities() THEN
            RETURN;
        END IF;
    EXCEPTION WHEN OTHERS THEN
        RAISE WARNING 'densities do not follow this command: %', SQLERRM
            USING HINT = 'Install the files of extension "kde_aqp", or run '
                'ALTER EVENT TRIGGER kde_aqp_on_alter DISABLE.';
        RETURN;
    END;
    PERFORM kde_aqp.follow_alter();
END
$$;
COMMENT ON FUNCTION kde_aqp.on_alter() IS 'lets densities follow renamed columns';
REVOKE ALL ON FUNCTION kde_aqp.on_alter() FROM PUBLIC;

CREATE EVENT TRIGGER kde_aqp_on_alter ON ddl_command_end
    WHEN TAG IN ('ALTER TABLE', 'ALTER MATERIALIZED VIEW', 'ALTER FOREIGN TABLE', 'ALTER TYPE')
    EXECUTE FUNCTION kde_aqp.on_alter();
ALTER EVENT TRIGGER kde_aqp_on_alter ENABLE ALWAYS;
COMMENT ON EVENT TRIGGER kde_aqp_on_alter IS 'lets densities follow renamed columns';

-- What the view below shows, but for what the density itself tells. In one function, so that EXPLAIN
-- counts nothing that its caller may not read.
CREATE FUNCTION kde_aqp.readable_densities() RETURNS TABLE (
    relation regclass, column_names text[], attribute_numbers smallint[], filter text,
    reference_names text[], reference_numbers smallint[], density kde, requested_method text,
    requested_exact boolean, requested_sample_rows bigint, seed bigint, rows_read bigint,
    design_effect double precision, bandwidth_rows bigint, bandwidth_status text, model text,
    engine text, threads integer, scan_ms double precision, select_ms double precision,
    estimate_ms double precision, bandwidth_matrix double precision[], stored_rows bigint,
    fitted_at timestamp with time zone, id bigint, requested_seed bigint, refresh_enabled boolean,
    refresh_scale_factor double precision, refresh_threshold bigint, refresh_max_age interval,
    append_by text, changed_rows bigint, stale boolean, stale_reason text, drift double precision,
    drift_p_value double precision, drift_at timestamp with time zone, refresh_failures integer,
    refresh_failed_at timestamp with time zone, refresh_error text)
AS 'MODULE_PATHNAME', 'kde_readable_densities' LANGUAGE C STABLE PARALLEL RESTRICTED ROWS 100;
COMMENT ON FUNCTION kde_aqp.readable_densities() IS
    'the densities of columns the current user may read, with what is known of their upkeep';
GRANT EXECUTE ON FUNCTION kde_aqp.readable_densities(), kde_aqp.progress() TO PUBLIC;

CREATE OR REPLACE VIEW kde_densities AS
SELECT d.relation,
       d.column_names,
       CASE WHEN d.filter OPERATOR(pg_catalog.<>) '' THEN d.filter END AS filter,
       d.requested_method,
       i.method,
       i.kernel,
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
       i.atoms,
       i.knots,
       i.lattice_step,
       i.representation_error,
       i.bytes,
       d.engine,
       d.threads,
       d.scan_ms,
       d.select_ms,
       d.estimate_ms,
       d.scan_ms + d.select_ms + d.estimate_ms AS total_ms,
       d.requested_exact,
       d.requested_sample_rows,
       d.seed,
       d.fitted_at,
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
       d.append_by,
       d.refresh_failures,
       d.refresh_failed_at,
       d.refresh_error
FROM kde_aqp.readable_densities() AS d
CROSS JOIN LATERAL @extschema@.kde_info(d.density) AS i;

DROP FUNCTION kde_aqp.is_readable(regclass, text[], smallint[], text[], smallint[]);
DROP FUNCTION kde_aqp.staleness(regclass, timestamp with time zone, double precision, bigint[],
    double precision, bigint, interval, double precision, double precision);
-- Filters have one form now, which the trigger gives them. Of two densities that are of one filter now the
-- newer stays.
INSERT INTO kde_aqp.density SELECT * FROM kde_aqp.density_of_before
WHERE filter OPERATOR(pg_catalog.<>) '' ORDER BY fitted_at DESC;
DROP TABLE kde_aqp.density_of_before;

-- ---------------------------------------------------------------------------------------------
-- The type kde is compared and hashed
-- ---------------------------------------------------------------------------------------------

-- Equality is that of the stored bytes; the order means nothing, and is there for DISTINCT, GROUP BY and
-- merges to sort by (src/pg/type_order.cpp).
CREATE FUNCTION kde_eq(kde, kde) RETURNS boolean
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION kde_ne(kde, kde) RETURNS boolean
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION kde_lt(kde, kde) RETURNS boolean
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION kde_le(kde, kde) RETURNS boolean
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION kde_gt(kde, kde) RETURNS boolean
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION kde_ge(kde, kde) RETURNS boolean
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION kde_cmp(kde, kde) RETURNS integer
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION kde_hash(kde) RETURNS integer
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION kde_hash_extended(kde, bigint) RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION kde_eq(kde, kde) IS 'implementation of = operator';
COMMENT ON FUNCTION kde_ne(kde, kde) IS 'implementation of <> operator';
COMMENT ON FUNCTION kde_lt(kde, kde) IS 'implementation of < operator';
COMMENT ON FUNCTION kde_le(kde, kde) IS 'implementation of <= operator';
COMMENT ON FUNCTION kde_gt(kde, kde) IS 'implementation of > operator';
COMMENT ON FUNCTION kde_ge(kde, kde) IS 'implementation of >= operator';
COMMENT ON FUNCTION kde_cmp(kde, kde) IS 'less-equal-greater';
COMMENT ON FUNCTION kde_hash(kde) IS 'hash';
COMMENT ON FUNCTION kde_hash_extended(kde, bigint) IS 'hash';

CREATE OPERATOR = (
    FUNCTION = kde_eq, LEFTARG = kde, RIGHTARG = kde, COMMUTATOR = =, NEGATOR = <>,
    RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
CREATE OPERATOR <> (
    FUNCTION = kde_ne, LEFTARG = kde, RIGHTARG = kde, COMMUTATOR = <>, NEGATOR = =,
    RESTRICT = neqsel, JOIN = neqjoinsel);
CREATE OPERATOR < (
    FUNCTION = kde_lt, LEFTARG = kde, RIGHTARG = kde, COMMUTATOR = >, NEGATOR = >=,
    RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
CREATE OPERATOR <= (
    FUNCTION = kde_le, LEFTARG = kde, RIGHTARG = kde, COMMUTATOR = >=, NEGATOR = >,
    RESTRICT = scalarlesel, JOIN = scalarlejoinsel);
CREATE OPERATOR > (
    FUNCTION = kde_gt, LEFTARG = kde, RIGHTARG = kde, COMMUTATOR = <, NEGATOR = <=,
    RESTRICT = scalargtsel, JOIN = scalargtjoinsel);
CREATE OPERATOR >= (
    FUNCTION = kde_ge, LEFTARG = kde, RIGHTARG = kde, COMMUTATOR = <=, NEGATOR = <,
    RESTRICT = scalargesel, JOIN = scalargejoinsel);
COMMENT ON OPERATOR = (kde, kde) IS 'stored alike, byte by byte';
COMMENT ON OPERATOR <> (kde, kde) IS 'not stored alike';
COMMENT ON OPERATOR < (kde, kde) IS 'before, by stored bytes: an order to sort by, without a meaning';
COMMENT ON OPERATOR <= (kde, kde) IS 'before or equal, by stored bytes';
COMMENT ON OPERATOR > (kde, kde) IS 'after, by stored bytes';
COMMENT ON OPERATOR >= (kde, kde) IS 'after or equal, by stored bytes';

CREATE OPERATOR CLASS kde_ops DEFAULT FOR TYPE kde USING btree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
    FUNCTION 1 kde_cmp(kde, kde);
CREATE OPERATOR CLASS kde_ops DEFAULT FOR TYPE kde USING hash AS
    OPERATOR 1 =,
    FUNCTION 1 kde_hash(kde), FUNCTION 2 kde_hash_extended(kde, bigint);
