-- Rides as a shop's dashboards have them, with two small tables beside them. Variables: rows. By drawn.sql.
CREATE TABLE drivers (id integer PRIMARY KEY, name text NOT NULL, team text NOT NULL, since date NOT NULL);
INSERT INTO drivers SELECT i, 'driver ' || i, (ARRAY['blue', 'green', 'red', 'grey'])[1 + i % 4], date '2019-01-01' + i * 3 FROM generate_series(1, 300) AS i;
CREATE TABLE regions (code text PRIMARY KEY, country text NOT NULL, manager text);
INSERT INTO regions VALUES ('north', 'DE', 'Ada'), ('south', 'DE', 'Bo'), ('east', 'PL', 'Cy'), ('west', 'NL', NULL), ('centre', 'DE', 'Ada'), ('islands', 'DK', 'Di');
CREATE TABLE rides AS SELECT i AS id, timestamptz '2025-01-01 00:00+00' + i * (47088000.0 / :rows) * interval '1 second' + drawn(i, 0) * interval '90 seconds' AS at,
  (3 + 97 * drawn(i, 1) ^ 3)::numeric(8,2) AS fare, (ARRAY['north', 'south', 'east', 'west', 'centre', 'islands'])[1 + floor(6 * drawn(i, 2) ^ 1.5)::int] AS region,
  (ARRAY['completed', 'completed', 'completed', 'completed', 'completed', 'completed', 'cancelled', 'refunded', 'no_show', NULL])[1 + floor(10 * drawn(i, 3))::int] AS status,
  (ARRAY['app', 'web', 'phone', 'partner'])[1 + floor(4 * drawn(i, 4) ^ 2)::int] AS channel, 1 + floor(300 * drawn(i, 5) ^ 1.3)::int AS driver_id, drawn(i, 6) < 0.9 AS paid
FROM generate_series(1, :rows::bigint) AS i;
ALTER TABLE rides ADD PRIMARY KEY (id), ALTER at SET NOT NULL, ALTER fare SET NOT NULL, ALTER region SET NOT NULL, ALTER channel SET NOT NULL, ALTER driver_id SET NOT NULL, ALTER paid SET NOT NULL;
CREATE INDEX ON rides (at);
VACUUM ANALYZE drivers, regions, rides;
