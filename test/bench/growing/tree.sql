-- A tree of :partitions partitions, a day each, of which one row changes before each of :runs refreshes.
CREATE TABLE trip (LIKE ride) PARTITION BY RANGE (at);
CREATE FUNCTION day(i integer) RETURNS timestamptz LANGUAGE sql AS $$ SELECT timestamptz '2023-01-01 00:00+00' + i * interval '1 day' $$;
SELECT format('CREATE TABLE %I PARTITION OF trip FOR VALUES FROM (%L) TO (%L)', 'trip_' || i, day(i), day(i + 1))
FROM generate_series(0, :partitions - 1) AS i \gexec
INSERT INTO trip SELECT day(0) + i * interval '1 day' / 2000, 'region ' || i % 8, (i * 104729 % 100000) / 100.0
FROM generate_series(0, 2000 * :partitions::bigint - 1) AS i;
VACUUM (ANALYZE) trip;
CREATE TABLE took (what text, ms double precision);
CREATE PROCEDURE clock(what text, statement text) LANGUAGE plpgsql AS $$
DECLARE
  began timestamptz := clock_timestamp();
BEGIN
  EXECUTE statement;
  INSERT INTO took SELECT what, 1000 * extract(epoch FROM clock_timestamp() - began);
  COMMIT;
END $$;
CALL clock('fit', $$SELECT kde_fit('trip', 'at', sample_rows => -1, measures => '{amount}', group_by => 'region')$$);
SELECT kde_drop('trip.at');
SELECT format('UPDATE trip_%1$s SET amount = amount + 1 WHERE ctid = ''(5,5)''', leaf),
  format('CALL clock(''scan'', ''SELECT sum(amount) FROM trip_%1$s'')', leaf),
  'CALL clock(''refresh'', ''SELECT kde_refresh(''''trip'''', force => true)'')'
FROM (SELECT :partitions * i / (:runs + 1) AS leaf FROM generate_series(1, :runs) AS i) AS l \gexec
SELECT format('%s partitions, one row changed, medians of %s in ms: refresh %s, a scan of that partition %s, a fit %s, refresh/fit %s',
  :partitions, :runs, round(refresh), round(scan, 1), round(fit), round(refresh / fit, 3))
FROM (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE what = 'refresh')::numeric AS refresh,
  percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE what = 'scan')::numeric AS scan,
  max(ms) FILTER (WHERE what = 'fit')::numeric AS fit FROM took) AS t;
