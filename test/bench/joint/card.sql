-- A fit of 16 columns with a card, from the table to the catalog, in a session and by a service that have
-- done it before. Variables: fit_rows, runs, processors. After sixteen.sql.
\set ON_ERROR_STOP on
SET maintenance_work_mem = '1GB';
SET kde_aqp.device = cuda;
SELECT array_agg('c' || k) AS names FROM generate_series(1, 16) AS k \gset

CREATE TABLE bench.card_fit (
  word text, run integer, total_ms double precision, scan_ms double precision, select_ms double precision,
  estimate_ms double precision, card_ms double precision, card_sums bigint, stored_rows bigint, engine text);

-- What the cards have done since they started.
CREATE FUNCTION bench.card_work(OUT busy_ms double precision, OUT jobs bigint) LANGUAGE sql AS $$
  SELECT coalesce(sum(d.busy_ms), 0), coalesce(sum(d.jobs), 0)::bigint FROM kde_devices() AS d WHERE d.device <> 'cpu'
$$;

-- The whole statement, its commit with it. Run 0 is not kept: it finds the service and makes it ready.
CREATE PROCEDURE bench.fit_with_card(names text[], rows bigint, runs integer) LANGUAGE plpgsql AS $$
DECLARE
  start timestamptz;
  ms double precision;
  before record;
BEGIN
  FOR run IN 0 .. runs LOOP
    FOR i IN 1 .. 2 LOOP
      PERFORM set_config('kde_aqp.precision', (ARRAY['double', 'single'])[i], false);
      before := bench.card_work();
      COMMIT;
      start := clock_timestamp();
      PERFORM kde_fit('bench.sixteen', names, method => 'lscv_matrix', sample_rows => rows, seed => 1);
      COMMIT;
      ms := 1000 * extract(epoch FROM clock_timestamp() - start);
      INSERT INTO bench.card_fit
        SELECT current_setting('kde_aqp.precision'), run, ms, d.scan_ms, d.select_ms, d.estimate_ms,
          now_done.busy_ms - before.busy_ms, now_done.jobs - before.jobs, d.stored_rows, d.engine
        FROM kde_densities_full AS d CROSS JOIN bench.card_work() AS now_done
        WHERE d.relation = 'bench.sixteen'::regclass AND run > 0;
      COMMIT;
    END LOOP;
  END LOOP;
END $$;
CALL bench.fit_with_card(:'names', :fit_rows, :runs);

\pset tuples_only off
\echo
SELECT format('kde_fit of 16 columns by lscv_matrix, %s rows, all in the sample, %s processors, medians of %s',
  :fit_rows, :processors, :runs) AS title \gset
\echo :title
CREATE FUNCTION bench.middle(double precision[]) RETURNS numeric LANGUAGE sql AS $$
  SELECT round(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)::numeric, 1) FROM unnest($1) AS ms
$$;
SELECT word, engine, stored_rows, bench.middle(array_agg(total_ms)) AS total_ms, round(min(total_ms)::numeric, 1) AS least,
  round(max(total_ms)::numeric, 1) AS most, bench.middle(array_agg(scan_ms)) AS scan_ms,
  bench.middle(array_agg(select_ms)) AS select_ms, bench.middle(array_agg(estimate_ms)) AS estimate_ms,
  bench.middle(array_agg(total_ms - scan_ms - select_ms - estimate_ms)) AS rest_ms,
  bench.middle(array_agg(card_ms)) AS card_ms, bench.middle(array_agg(card_sums)) AS card_sums
FROM bench.card_fit GROUP BY word, engine, stored_rows ORDER BY word;

INSERT INTO bench.bound (section, what, figure, bound, at_least, digits, note)
  SELECT 'card', 'lscv_matrix, table to catalog, in ' || word || ', by ' || min(engine),
    bench.middle(array_agg(total_ms)), 1000, false, 0, 'milliseconds'
  FROM bench.card_fit GROUP BY word ORDER BY word;
