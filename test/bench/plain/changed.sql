-- What times.sql finds after changes of the panels' table, each of them from a refreshed one; and what the refresh read.
-- Variables: rows, runs.
CREATE TABLE state (id serial, step text, change text);
INSERT INTO state (step, change) VALUES ('at rest', 'SELECT'), ('one row more', 'INSERT INTO rides SELECT * FROM later(1)'),
  ('0.5 % more', 'INSERT INTO rides SELECT * FROM later(' || :rows || ' / 200)'), ('5 % more', 'INSERT INTO rides SELECT * FROM later(' || :rows || ' / 20)'),
  ('one row less', 'DELETE FROM rides WHERE id = ' || :rows || ' / 2 + 1'),
  ('500 updates of a column not read', 'UPDATE rides SET id = -id WHERE id IN (SELECT 1 + i * (' || :rows || ' / 500) FROM generate_series(0, 499) AS i)'),
  ('500 more, in what the updates left', 'INSERT INTO rides SELECT * FROM later(500)');
-- Rows in the order of time, from the newest on.
CREATE FUNCTION later(n integer) RETURNS SETOF rides LANGUAGE sql AS $$
  SELECT id + (SELECT max(r.id) FROM rides AS r), at + (SELECT max(r.at) - timestamptz '2025-01-01 00:00+00' FROM rides AS r), fare, region, status, channel, driver_id, paid
  FROM rides WHERE id BETWEEN 1 AND n $$;
CREATE TABLE summary (step text, answered bigint, same bigint, off_by double precision, quick bigint, middle double precision, refresh_ms double precision, blocks_read bigint);
CREATE PROCEDURE change(s state, runs integer) LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE s.change;
  COMMIT;
  PERFORM time_all('rides', runs);
  INSERT INTO summary SELECT s.step, count(*) FILTER (WHERE why IS NULL), count(*) FILTER (WHERE why IS NULL AND t.off_by = 0),
    max(t.off_by) FILTER (WHERE why IS NULL),
    count(*) FILTER (WHERE why IS NULL AND density_ms <= 10), percentile_cont(0.5) WITHIN GROUP (ORDER BY density_ms) FILTER (WHERE why IS NULL) FROM timed AS t;
  COMMIT;
END $$;
SELECT format('CALL change(%L, %s)', s, :runs), 'VACUUM rides',
  format('WITH r AS (SELECT sum(total_ms) AS ms, sum(blocks_read) AS blocks FROM kde_refresh(''rides'', force => true)) UPDATE summary SET refresh_ms = ms, blocks_read = blocks FROM r WHERE step = %L', s.step)
FROM state AS s ORDER BY id \gexec
\o
\pset footer off
SELECT step, answered, same AS "of these the same", round((100 * off_by)::numeric, 3) AS "off by at most, %", quick AS "in at most 10 ms", round(middle::numeric, 2) AS "middle, ms", round(refresh_ms) AS "then the refresh, ms", blocks_read AS "blocks read" FROM summary;
