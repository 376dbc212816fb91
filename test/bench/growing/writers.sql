-- A million rows are copied into tables with a density and without, by turns, :runs times each.
CREATE TABLE copying (what text, seconds double precision);
-- Of this session.
CREATE FUNCTION processor_seconds() RETURNS double precision LANGUAGE sql AS $$
  SELECT (split_part(stat, ' ', 14)::double precision + split_part(stat, ' ', 15)::double precision) / 100
  FROM pg_read_file(format('/proc/%s/stat', pg_backend_pid())) AS stat $$;
CREATE PROCEDURE copy_into(name text, file text) LANGUAGE plpgsql AS $$
DECLARE
  before double precision := processor_seconds();
BEGIN
  EXECUTE format('COPY %I FROM %L', name, file);
  COMMIT;
  INSERT INTO copying SELECT name, processor_seconds() - before;
END $$;
SELECT format('CALL copy_into(%L, %L)', name, :'copied') FROM generate_series(1, :runs), unnest(ARRAY['bare', 'fitted']) AS name \gexec
SELECT format('COPY of a million rows, medians of %s by turns, seconds of the processor: with a density %s, without %s, ratio %s', :runs,
  round(fitted, 2), round(bare, 2), round(fitted / bare, 2))
FROM (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) FILTER (WHERE what = 'fitted')::numeric AS fitted,
  percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) FILTER (WHERE what = 'bare')::numeric AS bare FROM copying) AS c;
