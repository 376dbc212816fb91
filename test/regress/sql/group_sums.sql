-- Densities with groups of a tree whose partitions change, and their sums by rollup(), beside SQL at whole hours.
\set ECHO none \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS group_sums CASCADE;
CREATE SCHEMA group_sums;
SET search_path = group_sums, public;
RESET client_min_messages;

CREATE TYPE size AS ENUM ('small', 'large');
CREATE TABLE visits (at timestamp, region text, size size, paid numeric(10,2), price integer) PARTITION BY RANGE (at);
CREATE TABLE visits_1 PARTITION OF visits FOR VALUES FROM ('2026-01-01') TO ('2026-01-03');
CREATE TABLE visits_2 (price integer, size size, paid numeric(10,2), region text, at timestamp);
ALTER TABLE visits ATTACH PARTITION visits_2 FOR VALUES FROM ('2026-01-03') TO ('2026-01-06');
CREATE TABLE visits_3 PARTITION OF visits FOR VALUES FROM ('2026-01-06') TO ('2026-01-09');
-- Of rows without a time alone.
CREATE TABLE visits_0 PARTITION OF visits DEFAULT;
INSERT INTO visits SELECT '2026-01-01'::timestamp + i * interval '46.113 s', CASE WHEN i % 10 < 6 THEN 'EU' WHEN i % 10 < 9 THEN 'US "and" {more}' END,
  CASE WHEN i % 3 > 0 THEN 'small' ELSE 'large' END::size, (i * 7919 % 10007) / 100.0 - 20, CASE WHEN i % 7 > 0 THEN i % 13 END FROM generate_series(1, 14900) AS i;
INSERT INTO visits SELECT '2026-01-07 12:00'::timestamp, 'late', NULL, 5, 5 FROM generate_series(1, 10);
INSERT INTO visits VALUES (NULL, 'EU', 'small', 1, 1), (NULL, 'nowhere', 'small', 1, 1);
\set ECHO queries
VACUUM ANALYZE visits;
SELECT pg_stat_force_next_flush();

CREATE VIEW ranges AS SELECT '2025-12-31'::timestamp + i * i * interval '3 hours' AS lower, '2026-01-01'::timestamp + i * i % 83 * interval '5 hours' AS upper FROM generate_series(0, 20) AS i
  UNION ALL VALUES (NULL::timestamp, NULL::timestamp), (NULL, '2026-01-04'), ('2026-01-07', NULL);
-- What a density says beside SQL: by group, and of all rows. Whoever is in the rest is asked with it.
CREATE FUNCTION differs(d kde, keys text) RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE n bigint; BEGIN
  EXECUTE format($sql$
    WITH answer AS MATERIALIZED (SELECT r.*, a.* FROM ranges AS r, approx_groups($1, lower, upper, measure => '2') AS a),
    named AS MATERIALIZED (SELECT DISTINCT coalesce(group_key, '-') AS named FROM approx_groups($1) WHERE groups = 1),
    counted AS MATERIALIZED (SELECT lower, upper, coalesce((%s)::text, '-') AS key, price FROM visits, ranges
      WHERE (at >= lower OR lower IS NULL AND at IS NOT NULL) AND (at <= upper OR upper IS NULL AND at IS NOT NULL)),
    truth AS (SELECT lower, upper, named, count(price) AS m, sum(price) AS sum FROM counted LEFT JOIN named ON key = named GROUP BY 1, 2, 3)
    SELECT (SELECT count(*) FROM truth AS t FULL JOIN answer AS a
        ON coalesce(t.lower, '-infinity') = coalesce(a.lower, '-infinity') AND coalesce(t.upper, 'infinity') = coalesce(a.upper, 'infinity')
          AND coalesce(t.named, 'the rest') = CASE WHEN a.groups > 1 THEN 'the rest' ELSE coalesce(a.group_key, '-') END
        WHERE t.m IS DISTINCT FROM a.count OR round(t.sum) IS DISTINCT FROM round(a.sum))
      + (SELECT count(*) FROM ranges AS r, LATERAL (SELECT count(price) AS m FROM counted AS c WHERE c.lower IS NOT DISTINCT FROM r.lower AND c.upper IS NOT DISTINCT FROM r.upper) AS e
        WHERE m IS DISTINCT FROM approx_count($1, lower, upper, measure => '2'))$sql$, keys) INTO n USING d;
  RETURN n;
END $$;
CREATE FUNCTION differs() RETURNS bigint LANGUAGE sql AS $$ SELECT differs(kde_density('visits.at by region'), 'region') $$;
CREATE VIEW made AS SELECT model, rows, nulls, every_row_read, stale, expected_error FROM kde_densities_full WHERE group_by = '{region}';

SELECT model, rows FROM kde_fit('visits', 'at', measures => ARRAY['price', 'paid'], group_by => 'region', sample_rows => -1);
SELECT made.*, differs() FROM made;
SELECT group_key, count, sum FROM approx_groups('visits.at by region', '2026-01-02', '2026-01-07 12:00', measure => 'paid');
SELECT region, count(paid), sum(paid) FROM visits WHERE at BETWEEN '2026-01-02' AND '2026-01-07 12:00' GROUP BY 1 ORDER BY count(*) DESC;
SELECT kde_set_refresh('visits.at by region', threshold => 0, scale_factor => 0);

-- Refreshes.
CREATE FUNCTION again(OUT action text, OUT model text, OUT differs bigint) LANGUAGE plpgsql AS $$ BEGIN
  SELECT r.action INTO action FROM kde_refresh('visits') AS r;
  SELECT m.model, differs() INTO model, differs FROM made AS m;
END $$;
INSERT INTO visits SELECT '2026-01-04 06:30', 'new', 'large', 2, 3 FROM generate_series(1, 20);
SELECT pg_stat_force_next_flush();
VACUUM visits;
SELECT * FROM again();
DELETE FROM visits WHERE region = 'late';
UPDATE visits SET region = 'EU' WHERE region IS NULL AND at > '2026-01-08';
SELECT pg_stat_force_next_flush();
VACUUM visits;
SELECT * FROM again();
ALTER TABLE visits DETACH PARTITION visits_1;
SELECT * FROM again();
CREATE TABLE visits_4 PARTITION OF visits FOR VALUES FROM ('2026-01-09') TO ('2026-01-12');
INSERT INTO visits SELECT '2026-01-09'::timestamp + i * interval '7 min', 'US "and" {more}', 'small', i, i FROM generate_series(1, 500) AS i;
ALTER TABLE visits ATTACH PARTITION visits_1 FOR VALUES FROM ('2026-01-01') TO ('2026-01-03');
SELECT pg_stat_force_next_flush();
VACUUM visits;
SELECT * FROM again();
TRUNCATE visits_4;
SELECT pg_stat_force_next_flush();
VACUUM visits;
SELECT * FROM again();
SELECT nulls FROM made;
-- By two columns, of which a label is renamed: all is read again.
SELECT model FROM kde_fit('visits', 'at', measures => ARRAY['price'], group_by => 'region, size', sample_rows => -1);
SELECT differs(kde_density('visits.at by region, size'), 'ARRAY[region, size::text]');
ALTER TYPE size RENAME VALUE 'small' TO 'tiny';
VACUUM visits;
SELECT action FROM kde_refresh('visits') WHERE action <> 'fresh';
SELECT model FROM kde_densities_full WHERE group_by = '{region,size}';
SELECT differs(kde_density('visits.at by region, size'), 'ARRAY[region, size::text]');
SELECT kde_drop('visits.at by region, size');
-- With a filter; and one of a table without partitions.
SELECT model, rows FROM kde_fit('visits', 'at', filter => 'paid > 10', group_by => 'region', sample_rows => -1);
SELECT count(*) FROM visits WHERE paid > 10 AND at IS NOT NULL;
SELECT model, rows FROM kde_fit('visits_2', 'at', group_by => 'region', sample_rows => -1);

-- Values are added up, too: by one process, by several, and over a window.
CREATE TABLE value (day date, d kde);
INSERT INTO value SELECT d, NULL FROM generate_series('2026-01-01'::timestamp, '2026-01-08', '1 day') AS d;
CREATE FUNCTION density_of(day date) RETURNS kde LANGUAGE plpgsql AS $$ DECLARE d kde; BEGIN
  PERFORM kde_fit('visits', 'at', measures => ARRAY['price'], group_by => 'region', sample_rows => -1, filter => format('at >= %L AND at < %L', day, day + 1), name => 'one_day');
  d := kde_density('one_day');
  PERFORM kde_drop('one_day');
  RETURN d;
END $$;
UPDATE value SET d = density_of(day);
DELETE FROM visits WHERE at >= '2026-01-09';
SELECT differs(rollup(d), 'region') FROM value;
SELECT differs(rollup(two), 'region') FROM (SELECT rollup(d) AS two FROM value GROUP BY extract(day FROM day)::integer % 3) AS s;
SELECT count(*) FROM (SELECT day, rollup(d) OVER (ORDER BY day) AS r FROM value) AS s
WHERE (SELECT sum(count) FROM approx_groups(r)) <> (SELECT count(*) FROM visits WHERE at < s.day + 1);
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
ALTER TABLE value SET (parallel_workers = 2);
EXPLAIN (COSTS OFF) SELECT rollup(d) FROM value;
SELECT differs(rollup(d), 'region') FROM value;
RESET parallel_setup_cost;
-- Of few bytes the smallest share one; in sums of those whoever has no list of his own in one with a rest is in it.
SELECT differs(rollup(d, 4096), 'region') AS differ, pg_column_size(rollup(d, 4096)) < 9 * 4096 AS small FROM value;
INSERT INTO visits SELECT '2026-01-05'::timestamp + i * interval '13 s', 'shop ' || i % 300, 'large', 1, i % 400 FROM generate_series(1, 6000) AS i;
UPDATE value SET d = (SELECT rollup(one, 4096) FROM (VALUES (density_of(day))) AS v(one)) WHERE day = '2026-01-05';
SELECT (SELECT max(groups) > 100 FROM approx_groups(d)) AS rest, (SELECT count(*) < 300 FROM approx_groups(d)) AS few FROM value WHERE day = '2026-01-05';
SELECT differs(rollup(d), 'region') FROM value;
SELECT group_key IS NULL AS rest, sum(count) AS rows, max(groups) >= (SELECT max(groups) FROM value, approx_groups(d) AS a) AS groups
FROM (SELECT rollup(d) AS d FROM value) AS s, approx_groups(d) WHERE groups > 1 GROUP BY 1;

-- What cannot be.
SELECT rows FROM kde_fit('visits', 'at', sample_rows => -1);
SELECT try($$SELECT rollup(d) FROM (SELECT d FROM value UNION ALL SELECT kde_density('visits.at')) AS s$$);
SET kde_aqp.sample_blocks = 20;
SELECT kde_drop('visits.at by region');
SELECT model LIKE '% groups' FROM kde_fit('visits', 'at', group_by => 'region');
SELECT try($$SELECT rollup(kde_density('visits.at by region'))$$);
RESET kde_aqp.sample_blocks;

SET client_min_messages = warning;
DROP SCHEMA group_sums CASCADE;
