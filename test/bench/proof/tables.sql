-- `make bench-proof`: tables of one row a block, so that they are quick to make. "large" has so many as asked
-- for, all are vacuumed and fitted.
\set ON_ERROR_STOP 1
CREATE EXTENSION kde_aqp;
SET search_path = public, kde_aqp;
ALTER DATABASE postgres SET search_path = public, kde_aqp;

CREATE PROCEDURE fill(name text, first integer, rows integer) LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('ALTER TABLE %I ALTER pad SET STORAGE PLAIN', name);
  EXECUTE format('INSERT INTO %I SELECT i, repeat(''x'', 7000) FROM generate_series(%s, %s - 1) AS i', name, first,
                 first + rows);
END $$;

CREATE TABLE small (v integer NOT NULL, pad text);
CREATE TABLE large (v integer NOT NULL, pad text);
CREATE TABLE parts (v integer NOT NULL, pad text) PARTITION BY RANGE (v);
CALL fill('small', 0, 16);
CALL fill('large', 0, :blocks);
SELECT format('CREATE TABLE parts_%s PARTITION OF parts FOR VALUES FROM (%s) TO (%s); CALL fill(''parts_%s'', %2$s, 64);',
              i, 64 * i, 64 * i + 64, i)
FROM generate_series(0, 63) AS i \gexec
-- Twice: a block that is being written meanwhile is passed over.
CHECKPOINT;
VACUUM ANALYZE;
VACUUM;
SELECT FROM kde_fit('small', 'v', sample_rows => -1);
SELECT FROM kde_fit('large', 'v', sample_rows => -1);
SELECT FROM kde_fit('parts', 'v', sample_rows => -1);

-- Microseconds of a question, each in a transaction of its own, so that what changed is judged for each: the least of
-- some batches, as what disturbs a batch only adds to it.
CREATE PROCEDURE ask(name text, batches integer, INOUT usecs double precision) LANGUAGE plpgsql AS $$
DECLARE
  each CONSTANT integer := 50;
  begun timestamptz;
BEGIN
  usecs := 'infinity';
  FOR batch IN 1..batches LOOP
    begun := clock_timestamp();
    FOR i IN 1..each LOOP
      PERFORM approx_count_ci(name || '.v', 1, 5);
      COMMIT;
    END LOOP;
    usecs := least(usecs, 1e6 * extract(epoch FROM clock_timestamp() - begun) / each);
  END LOOP;
END $$;
