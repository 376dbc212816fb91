-- Fits of 16 columns, end to end. Variables: fit_rows, processors. After sixteen.sql.
\set ON_ERROR_STOP on
SET maintenance_work_mem = '1GB';
SELECT array_agg('c' || k) AS names FROM generate_series(1, 16) AS k \gset

CREATE PROCEDURE bench.fit_by(method text, names text[], rows bigint) LANGUAGE plpgsql AS $$
DECLARE
  start timestamptz := clock_timestamp();
  ms double precision;
BEGIN
  PERFORM kde_fit('bench.sixteen', names, method => fit_by.method, sample_rows => rows, seed => 1);
  ms := 1000 * extract(epoch FROM clock_timestamp() - start);
  INSERT INTO bench.fitted_sixteen
    SELECT fit_by.method, ms, d.sample_rows, d.bandwidth_rows, d.stored_rows, d.bytes, d.bandwidth_status, d.engine,
      d.threads, d.scan_ms, d.select_ms, d.estimate_ms
    FROM kde_densities_full AS d WHERE d.relation = 'bench.sixteen'::regclass;
END $$;
CREATE TABLE bench.fitted_sixteen (
  method text, total_ms double precision, sample_rows bigint, bandwidth_rows bigint, stored_rows bigint, bytes integer,
  bandwidth_status text, engine text, threads integer, scan_ms double precision, select_ms double precision,
  estimate_ms double precision);
CALL bench.fit_by('auto', :'names', :fit_rows);
CALL bench.fit_by('lscv_matrix', :'names', :fit_rows);

\pset tuples_only off
\echo
SELECT format('kde_fit of 16 columns, %s rows, all in the sample, %s processors', :fit_rows, :processors) AS title \gset
\echo :title
SELECT method, sample_rows, bandwidth_rows, stored_rows, bytes, bandwidth_status AS status, engine, threads,
  round(scan_ms::numeric) AS scan_ms, round(select_ms::numeric) AS select_ms,
  round(estimate_ms::numeric) AS estimate_ms, round(total_ms::numeric) AS total_ms
FROM bench.fitted_sixteen;
