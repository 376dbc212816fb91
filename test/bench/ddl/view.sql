-- kde_densities_full beside one density and beside five of the same partition tree.
SELECT set_config('bench.partitions', :'partitions', false) \g /dev/null
CREATE TABLE parted (k integer, a double precision, b double precision, c double precision, d double precision,
  e double precision) PARTITION BY LIST (k);
DO $$
BEGIN
  FOR i IN 1 .. current_setting('bench.partitions')::integer LOOP
    EXECUTE format('CREATE TABLE part_%s PARTITION OF parted FOR VALUES IN (%s)', i, i);
    IF i % 200 = 0 THEN COMMIT; END IF;
  END LOOP;
END $$;
INSERT INTO parted SELECT 1 + i % 20, i, i, i, i, i FROM generate_series(1, 1000) AS i;
CREATE TEMP TABLE timing (what text, ms double precision);
CREATE PROCEDURE pg_temp.show(what text) LANGUAGE plpgsql AS $$
DECLARE
  start timestamptz;
BEGIN
  FOR i IN 0 .. 9 LOOP
    start := clock_timestamp();
    PERFORM count(*) FROM kde_densities;
    IF i > 0 THEN INSERT INTO timing VALUES (what, 1000 * extract(epoch FROM clock_timestamp() - start)); END IF;
  END LOOP;
END $$;
SET max_parallel_workers_per_gather = 0;
SELECT kde_fit('parted', 'a', method => 'silverman', seed => 1) \g /dev/null
CALL pg_temp.show('one density');
SELECT kde_fit('parted', column_name, method => 'silverman', seed => 1) FROM unnest('{b,c,d,e}'::name[]) AS column_name \g /dev/null
CALL pg_temp.show('five densities');
SELECT 'densities', what, 'with', ms FROM timing \g (format=csv)
