-- A table in the order of time, of :rows rows, a second apart.
CREATE EXTENSION kde_aqp;
CREATE TABLE ride (at timestamptz NOT NULL, region text, amount numeric(12,2));
CREATE FUNCTION rides(first bigint, last bigint) RETURNS SETOF ride LANGUAGE sql AS $$
  SELECT timestamptz '2023-01-01 00:00+00' + i * interval '1 second', ('{north,east,south,west}'::text[])[1 + i * 7919 % 4],
    (i * 104729 % 100000) / 100.0
  FROM generate_series(first, last) AS i $$;
CREATE SEQUENCE batch INCREMENT 100;
SELECT setval('batch', :rows + 1, false);
CREATE INDEX ON ride USING brin (at);
-- Statements of dashboards: a quarter by region, the last hours, the last days, all of it.
CREATE FUNCTION question(which integer) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT format((ARRAY['SELECT region, count(*), sum(amount) FROM ride WHERE at >= %1$L AND at < %2$L GROUP BY region',
    'SELECT count(*), sum(amount), avg(amount) FROM ride WHERE at >= %3$L',
    'SELECT date_trunc(''hour'', at), count(*), sum(amount) FROM ride WHERE at >= %4$L GROUP BY 1',
    'SELECT date_trunc(''month'', at), region, count(*), sum(amount) FROM ride GROUP BY 1, 2'])[which],
    date_trunc('quarter', newest), date_trunc('quarter', newest) + interval '3 months', date_trunc('hour', newest) - interval '1 hour',
    date_trunc('day', newest) - interval '3 days')
  FROM (SELECT timestamptz '2023-01-01 00:00+00' + last_value * interval '1 second' AS newest FROM batch) AS b $$;
CREATE FUNCTION answer(query text, way text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  result text;
BEGIN
  PERFORM set_config('kde_aqp.approximate', way, true);
  EXECUTE format('SELECT array_agg(r::text ORDER BY r::text)::text FROM (%s) AS r', query) INTO result;
  RETURN result;
END $$;
CREATE TABLE compared (which integer, is_same boolean, by_density boolean);
CREATE FUNCTION compare(which integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  query text := question(which);
  before numeric := (SELECT coalesce(sum(statements), 0) FROM kde_plain_sql WHERE outcome = 'answered by a density');
  got text := answer(query, 'all');
  by_density boolean := (SELECT sum(statements) FROM kde_plain_sql WHERE outcome = 'answered by a density') > before;
BEGIN
  INSERT INTO compared VALUES (which, got IS NOT DISTINCT FROM answer(query, 'off'), by_density);
END $$;
CREATE TABLE refreshed (at timestamptz, blocks_read bigint, total_ms double precision, elapsed interval);
CREATE PROCEDURE refresh() LANGUAGE plpgsql AS $$
DECLARE
  began timestamptz := clock_timestamp();
BEGIN
  INSERT INTO refreshed SELECT began, r.blocks_read, r.total_ms, clock_timestamp() - began FROM kde_refresh('ride', force => true) AS r WHERE action = 'refitted';
  COMMIT;
END $$;
