-- From 0.1.0 to 0.2.0: upkeep. What it leaves is what kde_aqp--0.2.0.sql makes.

\echo Use "ALTER EXTENSION kde_aqp UPDATE" to load this file. \quit

-- What ties a density to its row of kde_aqp.upkeep. Given out here, never taken from a dump.
CREATE SEQUENCE kde_aqp.density_id;
COMMENT ON SEQUENCE kde_aqp.density_id IS 'numbers of densities';
REVOKE ALL ON SEQUENCE kde_aqp.density_id FROM PUBLIC;

ALTER TABLE kde_aqp.density
    ADD COLUMN id bigint NOT NULL DEFAULT pg_catalog.nextval('kde_aqp.density_id'),
    ADD COLUMN requested_seed bigint,
    ADD COLUMN refresh_enabled boolean NOT NULL DEFAULT true,
    ADD COLUMN refresh_scale_factor double precision,
    ADD COLUMN refresh_threshold bigint,
    ADD COLUMN refresh_max_age interval,
    ADD COLUMN append_by text;
ALTER TABLE kde_aqp.density ALTER COLUMN id DROP DEFAULT;

-- Sessions see by themselves that a density changed.
DROP TRIGGER on_change ON kde_aqp.density;
DROP FUNCTION kde_aqp.on_change();

-- What this server alone knows of a density, so no part of a dump. The layout is known to
-- src/pg/upkeep.cpp.
CREATE TABLE kde_aqp.upkeep (
    density_id bigint PRIMARY KEY,
    -- The cumulative statistics at the fit, a row a leaf: relation, file, inserts, updates, deletes,
    -- live rows, rows at the last count. NULL: they were not known.
    counters bigint[],
    -- What kde_drift() last found.
    drift double precision,
    drift_p_value double precision,
    drift_at timestamp with time zone,
    -- Refreshes that failed since the last fit.
    failures integer NOT NULL,
    last_error text,
    failed_at timestamp with time zone,
    -- The state of the sampler, of densities that appended rows are added to.
    sampler bytea,
    table_rows double precision
);
COMMENT ON TABLE kde_aqp.upkeep IS 'what refreshes know of each density';
REVOKE ALL ON kde_aqp.upkeep FROM PUBLIC;

-- A subscription brings no other server's rows here, whose numbers are of that server's densities.
CREATE FUNCTION kde_aqp.on_upkeep() RETURNS trigger
AS 'MODULE_PATHNAME', 'kde_on_upkeep' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION kde_aqp.on_upkeep() IS 'skips a row that comes by replication';
REVOKE ALL ON FUNCTION kde_aqp.on_upkeep() FROM PUBLIC;

CREATE TRIGGER on_upkeep
    BEFORE INSERT OR UPDATE OR DELETE ON kde_aqp.upkeep
    FOR EACH ROW EXECUTE FUNCTION kde_aqp.on_upkeep();
ALTER TABLE kde_aqp.upkeep ENABLE REPLICA TRIGGER on_upkeep;

-- No statistics: nothing is planned by them, and EXPLAIN of the view would tell from them what it does
-- not show.
ALTER TABLE kde_aqp.density
    ALTER relation SET STATISTICS 0,
    ALTER column_names SET STATISTICS 0,
    ALTER attribute_numbers SET STATISTICS 0,
    ALTER filter SET STATISTICS 0,
    ALTER reference_names SET STATISTICS 0,
    ALTER reference_numbers SET STATISTICS 0,
    ALTER density SET STATISTICS 0,
    ALTER requested_method SET STATISTICS 0,
    ALTER requested_exact SET STATISTICS 0,
    ALTER requested_sample_rows SET STATISTICS 0,
    ALTER seed SET STATISTICS 0,
    ALTER rows_read SET STATISTICS 0,
    ALTER design_effect SET STATISTICS 0,
    ALTER bandwidth_rows SET STATISTICS 0,
    ALTER bandwidth_status SET STATISTICS 0,
    ALTER model SET STATISTICS 0,
    ALTER engine SET STATISTICS 0,
    ALTER threads SET STATISTICS 0,
    ALTER scan_ms SET STATISTICS 0,
    ALTER select_ms SET STATISTICS 0,
    ALTER estimate_ms SET STATISTICS 0,
    ALTER bandwidth_matrix SET STATISTICS 0,
    ALTER stored_rows SET STATISTICS 0,
    ALTER fitted_at SET STATISTICS 0,
    ALTER id SET STATISTICS 0,
    ALTER requested_seed SET STATISTICS 0,
    ALTER refresh_enabled SET STATISTICS 0,
    ALTER refresh_scale_factor SET STATISTICS 0,
    ALTER refresh_threshold SET STATISTICS 0,
    ALTER refresh_max_age SET STATISTICS 0,
    ALTER append_by SET STATISTICS 0;
ALTER TABLE kde_aqp.upkeep
    ALTER density_id SET STATISTICS 0,
    ALTER counters SET STATISTICS 0,
    ALTER drift SET STATISTICS 0,
    ALTER drift_p_value SET STATISTICS 0,
    ALTER drift_at SET STATISTICS 0,
    ALTER failures SET STATISTICS 0,
    ALTER last_error SET STATISTICS 0,
    ALTER failed_at SET STATISTICS 0,
    ALTER sampler SET STATISTICS 0,
    ALTER table_rows SET STATISTICS 0;
DELETE FROM pg_catalog.pg_statistic
    WHERE starelid OPERATOR(pg_catalog.=) 'kde_aqp.density'::pg_catalog.regclass;

-- kde_aqp.dump_densities is read as text, for a dump need not load the library that defines it.
SELECT pg_catalog.pg_extension_config_dump('kde_aqp.density',
    'WHERE EXISTS (SELECT FROM pg_catalog.pg_class AS c'
    ' WHERE c.oid OPERATOR(pg_catalog.=) relation)'
    ' AND CASE WHEN pg_catalog.current_setting(''kde_aqp.dump_densities'', true)'
    ' OPERATOR(pg_catalog.<>) '''''
    ' THEN pg_catalog.current_setting(''kde_aqp.dump_densities'', true)::pg_catalog.bool'
    ' ELSE true END');

-- The rule that makes a density stale, for the view below. counters: as in kde_aqp.upkeep.
CREATE FUNCTION kde_aqp.staleness(
    relation regclass, fitted_at timestamp with time zone, table_rows double precision, counters bigint[],
    scale_factor double precision, threshold bigint, max_age interval, drift double precision,
    drift_p_value double precision,
    OUT changed_rows bigint, OUT stale boolean, OUT reason text)
RETURNS record
AS 'MODULE_PATHNAME', 'kde_staleness' LANGUAGE C STABLE PARALLEL RESTRICTED;
COMMENT ON FUNCTION kde_aqp.staleness(regclass, timestamp with time zone, double precision, bigint[],
    double precision, bigint, interval, double precision, double precision) IS
    'rows changed since a fit, and whether the density is stale';

CREATE OR REPLACE VIEW kde_densities WITH (security_barrier) AS
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
       s.changed_rows,
       s.stale,
       s.reason AS stale_reason,
       u.drift,
       u.drift_p_value,
       u.drift_at,
       d.refresh_enabled,
       d.refresh_scale_factor,
       d.refresh_threshold,
       d.refresh_max_age,
       d.append_by,
       coalesce(u.failures, 0) AS refresh_failures,
       u.failed_at AS refresh_failed_at,
       -- May quote a value.
       CASE WHEN pg_catalog.pg_has_role(r.relowner, 'USAGE') THEN u.last_error END AS refresh_error
FROM kde_aqp.density AS d
JOIN pg_catalog.pg_class AS r ON r.oid OPERATOR(pg_catalog.=) d.relation
LEFT JOIN kde_aqp.upkeep AS u ON u.density_id OPERATOR(pg_catalog.=) d.id
CROSS JOIN LATERAL (
    SELECT kde_aqp.is_readable(d.relation, d.column_names, d.attribute_numbers,
        d.reference_names, d.reference_numbers) AS readable
    OFFSET 0) AS c
-- Only of what the caller may read: nobody's density can hinder another's view.
CROSS JOIN LATERAL @extschema@.kde_info(CASE WHEN c.readable THEN d.density END) AS i
CROSS JOIN LATERAL kde_aqp.staleness(d.relation, d.fitted_at, u.table_rows, u.counters,
    d.refresh_scale_factor, d.refresh_threshold, d.refresh_max_age, u.drift, u.drift_p_value) AS s
WHERE c.readable;

-- ---------------------------------------------------------------------------------------------
-- Upkeep
-- ---------------------------------------------------------------------------------------------

CREATE FUNCTION kde_refresh(relation regclass, force boolean DEFAULT false)
RETURNS TABLE (
    relation regclass, column_names text[], filter text, action text, reason text,
    changed_rows bigint, total_ms double precision)
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 5;
COMMENT ON FUNCTION kde_refresh(regclass, boolean) IS
    'fits the stale densities of a table again, in the caller''s transaction; force: all of them';

CREATE PROCEDURE kde_refresh_all(force boolean DEFAULT false, check_drift boolean DEFAULT false)
AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON PROCEDURE kde_refresh_all(boolean, boolean) IS
    'fits all stale densities of tables that the caller may maintain again, cheapest first, each in a transaction of its own';

CREATE FUNCTION kde_drift(
    relation regclass, column_name name, filter text DEFAULT NULL, sample_rows bigint DEFAULT 5000,
    seed bigint DEFAULT NULL)
RETURNS TABLE (
    column_name text, distance double precision, p_value double precision, sample_rows bigint)
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 1;
COMMENT ON FUNCTION kde_drift(regclass, name, text, bigint, bigint) IS
    'tests a small fresh sample against the stored density of a column (Kolmogorov-Smirnov), and notes the result';
CREATE FUNCTION kde_drift(
    relation regclass, column_names text[], filter text DEFAULT NULL,
    sample_rows bigint DEFAULT 5000, seed bigint DEFAULT NULL)
RETURNS TABLE (
    column_name text, distance double precision, p_value double precision, sample_rows bigint)
AS 'MODULE_PATHNAME', 'kde_drift_columns' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 5;
COMMENT ON FUNCTION kde_drift(regclass, text[], text, bigint, bigint) IS
    'tests a small fresh sample against the stored density of several columns, each by itself, and notes the result';

-- NULL leaves as it is; a negative number, or '' for append_by, goes back to what the server's options say.
CREATE FUNCTION kde_set_refresh(
    relation regclass, column_name name, filter text DEFAULT NULL,
    enabled boolean DEFAULT NULL, scale_factor double precision DEFAULT NULL,
    threshold bigint DEFAULT NULL, max_age interval DEFAULT NULL, append_by text DEFAULT NULL)
RETURNS void
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION kde_set_refresh(
    regclass, name, text, boolean, double precision, bigint, interval, text) IS
    'when a density is stale, and how it is refreshed';
CREATE FUNCTION kde_set_refresh(
    relation regclass, column_names text[], filter text DEFAULT NULL,
    enabled boolean DEFAULT NULL, scale_factor double precision DEFAULT NULL,
    threshold bigint DEFAULT NULL, max_age interval DEFAULT NULL, append_by text DEFAULT NULL)
RETURNS void
AS 'MODULE_PATHNAME', 'kde_set_refresh_columns' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION kde_set_refresh(
    regclass, text[], text, boolean, double precision, bigint, interval, text) IS
    'when a density is stale, and how it is refreshed';

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
