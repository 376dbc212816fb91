-- What their owner fits: days by all slicers, hours by each of three, days by driver, also of completed rides, fares
-- by region.
SET kde_aqp.density_bytes = '512kB';
SELECT count(kde_fit('rides', c, group_by => g, measures => m, filter => f, sample_rows => -1)) AS fitted FROM (VALUES ('at', 'region, status, channel, paid', '{fare}'::text[], NULL),
  ('at', 'region', '{fare}', NULL), ('at', 'status', '{fare}', NULL), ('at', 'channel', '{fare}', NULL), ('at', 'driver_id', '{fare}', NULL), ('at', 'driver_id', '{fare}', 'status = ''completed'''),
  ('fare', 'region', NULL, NULL)) AS d(c, g, m, f);
SELECT count(kde_set_plain_sql(name, true, filter => filter)) AS allowed FROM kde_densities_full WHERE relation = 'rides'::regclass;
