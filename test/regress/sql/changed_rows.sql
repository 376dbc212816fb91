-- Rows changed since the fit: in every interval by name, and told of where a range reaches beyond
-- what was fitted. This session's own changes count at once; test/t has those of others.
\set ECHO queries \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS changed_rows CASCADE;
CREATE SCHEMA changed_rows;
SET search_path = changed_rows, public;
RESET client_min_messages;

-- ------------------------------------------------------------------------------------- intervals
-- Every row is read: without changes the intervals are points.
CREATE TABLE t WITH (autovacuum_enabled = false) AS SELECT i % 100 AS v, i % 10 AS k FROM generate_series(0, 9999) AS i;
-- With checksums hint bits stamp blocks, where a checkpoint came between: there are none left to set.
VACUUM t;
SELECT rows FROM kde_fit('t', 'v');
SELECT rows FROM kde_fit('t', ARRAY['v', 'k']);
CREATE VIEW intervals AS
SELECT 'count' AS answer, (approx_count_ci('t.v', 10, 19)).*
UNION ALL SELECT 'by column', (approx_count_ci('t.v', 10, 19)).*
UNION ALL SELECT 'by several', (approx_count_ci('t (v)', 10, 19)).*
UNION ALL SELECT 'sum', (approx_sum_ci('t.v', 10, 19)).*
UNION ALL SELECT 'mean', (approx_avg_ci('t.v', 10, 19)).*
UNION ALL SELECT 'median', (approx_quantile_ci('t.v', 0.5)).*
UNION ALL SELECT 'all', (approx_count_ci('t.v')).*;
SELECT * FROM intervals;
CREATE TABLE before AS SELECT c.* FROM approx_count_ci('t (v, k)', ARRAY[10, 2], ARRAY[19, 4]) AS c;
-- What this session does counts at once, though it has just asked: inserted, deleted, updated.
INSERT INTO t SELECT 15, 3 FROM generate_series(1, 30);
SELECT * FROM intervals;
DELETE FROM t WHERE v = 12 AND k = 2 AND ctid IN (SELECT ctid FROM t WHERE v = 12 LIMIT 10);
UPDATE t SET v = 50 WHERE v = 15 AND ctid IN (SELECT ctid FROM t WHERE v = 15 LIMIT 5);
SELECT * FROM approx_count_ci('t.v', 10, 19);
SELECT c.estimate = b.estimate AS same, round(b.lower_bound - c.lower_bound) AS lower, round(c.upper_bound - b.upper_bound) AS upper
FROM before AS b, approx_count_ci('t (v, k)', ARRAY[10, 2], ARRAY[19, 4]) AS c;
SELECT round(lower_bound) AS lower, round(upper_bound) AS upper
FROM kde_explain('t (v)', 10, 19) WHERE chosen;
-- The exact answers are inside.
SELECT count(*) BETWEEN lower_bound AND upper_bound AS inside FROM t, approx_count_ci('t.v', 10, 19)
WHERE v BETWEEN 10 AND 19 GROUP BY lower_bound, upper_bound;
-- The argument says of more than are counted, not of fewer.
SELECT c.upper_bound - c.estimate AS above FROM unnest(ARRAY[0, 45, 46, 1000]) AS rows, approx_count_ci('t.v', 10, 19, changed_rows => rows) AS c;
-- A required accuracy takes them in, or they are read.
SELECT approx_count('t.v', 10, 19, max_relative_error => 0) = (SELECT count(*) FROM t WHERE v BETWEEN 10 AND 19) AS is_exact;
SET kde_aqp.approximate_scan_size = 0;
SELECT approx_count('t.v', 10, 19, max_relative_error => 0.046) AS enough;
SELECT approx_count('t.v', 10, 19, max_relative_error => 0.04);
SELECT approx_count('t.v', 10, 19, max_relative_error => 0.04, otherwise => 'null') AS none,
  approx_count('t.v', 10, 19, max_relative_error => 0.04, otherwise => 'exact') AS exact;
RESET kde_aqp.approximate_scan_size;
-- Within a transaction each command sees what those before it did, in a function's loop as well.
BEGIN;
SELECT upper_bound - estimate AS above FROM approx_count_ci('t.v', 10, 19);
INSERT INTO t VALUES (11, 1);
SELECT upper_bound - estimate AS above FROM approx_count_ci('t.v', 10, 19);
DO $$
BEGIN
  FOR i IN 1..3 LOOP
    INSERT INTO changed_rows.t VALUES (11, 1);
    RAISE NOTICE '%', (SELECT upper_bound - estimate FROM approx_count_ci('changed_rows.t.v', 10, 19));
  END LOOP;
END $$;
ROLLBACK;
-- Who knows better: rows that were rolled back count, too.
SELECT upper_bound - estimate AS above FROM approx_count_ci('t.v', 10, 19);
SET kde_aqp.changed_rows = off;
SELECT upper_bound - estimate AS above FROM approx_count_ci('t.v', 10, 19);
SELECT upper_bound - estimate AS above FROM approx_count_ci('t.v', 10, 19, changed_rows => 7);
SELECT approx_count('t.v', 10, 19, max_relative_error => 0) AS enough;
RESET kde_aqp.changed_rows;
-- Also where answers are not to say that a density is stale.
SET kde_aqp.stale = ignore;
SELECT upper_bound - estimate AS above FROM approx_count_ci('t.v', 10, 19);
RESET kde_aqp.stale;
-- A value knows no table.
SELECT upper_bound - estimate AS above FROM approx_count_ci(kde_density('t.v'), 10, 19);
-- Nothing has changed since the next fit.
SELECT action FROM kde_refresh('t', force => true);
SELECT upper_bound - estimate AS above FROM approx_count_ci('t.v', 10, 19);
-- Not counted, not known.
SET track_counts = off;
SELECT rows FROM kde_fit('t', 'v');
RESET track_counts;
INSERT INTO t SELECT 15, 3 FROM generate_series(1, 30);
SELECT upper_bound - estimate >= 30 AS above FROM approx_count_ci('t.v', 10, 19);
-- Of a partition tree, all leaves, those that come and those that go.
CREATE TABLE p (k integer, v integer) PARTITION BY LIST (k);
CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1);
CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2);
INSERT INTO p SELECT 1 + i % 2, i FROM generate_series(1, 1000) AS i;
SELECT rows FROM kde_fit('p', 'v');
INSERT INTO p SELECT 1 + i % 2, i FROM generate_series(1, 20) AS i;
SELECT upper_bound - estimate AS above FROM approx_count_ci('p.v', 10, 19);
CREATE TABLE p3 AS SELECT 3 AS k, i AS v FROM generate_series(1, 4) AS i;
ALTER TABLE p ATTACH PARTITION p3 FOR VALUES IN (3);
-- What changed is not known, which a NOTICE says, with a time.
SET client_min_messages = warning;
SELECT upper_bound - estimate AS above FROM approx_count_ci('p.v', 10, 19);
RESET client_min_messages;

-- ------------------------------------------------------------------- beyond what was fitted
-- 20 days of 1,000 rows; of 1,500 rows on the day after, a twentieth and more, nothing is stale as a whole.
CREATE TABLE days WITH (autovacuum_enabled = false) AS
  SELECT date '2026-01-01' + i / 1000 AS day, i % 7 AS k FROM generate_series(0, 19999) AS i WHERE i / 1000 <> 9;
SELECT rows FROM kde_fit('days', 'day');
SELECT rows FROM kde_fit('days', ARRAY['day', 'k']);
INSERT INTO days SELECT '2026-01-21', 1 FROM generate_series(1, 1500);
SELECT stale, changed_rows FROM kde_densities_full WHERE relation = 'days'::regclass AND column_names = '{day}';
-- A day without rows within, and ranges of which the new rows are no tenth: nothing is said.
SELECT approx_count('days.day', '2026-01-10', '2026-01-10') AS empty, approx_count('days.day', '2026-01-01', '2026-01-20') AS within,
  approx_count('days.day') AS whole, approx_count('days.day', '2026-01-02', NULL) > 17000 AS most, approx_count('days.day', NULL, '2026-02-01') AS up_to;
-- The days after: 0, which the interval says is no empty day, and a warning once a session and fit. In how many
-- blocks the rows lie differs by version.
SELECT estimate, lower_bound, upper_bound BETWEEN 1500 AND 1700 AS rows_that_came
  FROM approx_count_ci('days.day', '2026-01-21', '2026-01-21');
SELECT approx_count('days.day', '2026-01-15', NULL) AS silent;
SET kde_aqp.stale = error;
SELECT approx_count('days.day', '2026-01-21', '2026-01-21');
SELECT approx_avg('days.day', '2026-01-21', NULL);
SELECT approx_avg_as('days.day', NULL::date, '2026-01-18', '2026-01-24');
SELECT approx_variance('days.day', '2026-01-18', NULL);
SELECT count(*) FROM approx_histogram('days.day', 5, lower => '2026-01-18', upper => '2026-01-24');
SELECT approx_count('days (day, k)', ARRAY['2026-01-21', '1'], ARRAY[NULL, '1']);
-- Before the first as well; a longer range of which they are no tenth, one within, and bounds that hold no place.
SELECT approx_count('days.day', '2025-12-30', '2025-12-31');
SELECT approx_count('days.day', '2026-01-02', '2026-01-21') > 17000 AS most, approx_count('days.day', '2026-01-15', '2026-01-20') AS within,
  approx_count('days.day', '2026-01-22', '2026-01-21') AS empty, approx_count('days.day', 'infinity', 'infinity') AS at_infinity,
  (SELECT count(*) FROM approx_histogram('days.day', 5)) AS bins;
-- The density's own settings decide.
SELECT kde_set_refresh('days.day', threshold => 2000);
SELECT rows FROM kde_fit('days', 'day');
INSERT INTO days SELECT '2026-01-22', 1 FROM generate_series(1, 1500);
SELECT approx_count('days.day', '2026-01-22', '2026-01-22') AS not_too_many;
INSERT INTO days SELECT '2026-01-22', 1 FROM generate_series(1, 1500);
SELECT approx_count('days.day', '2026-01-22', '2026-01-22') AS too_many;
SET kde_aqp.stale = ignore;
SELECT approx_count('days.day', '2026-01-22', '2026-01-22') AS ignored;
RESET kde_aqp.stale;
-- A value is what it is.
SELECT approx_count(kde_density('days.day'), '2026-01-22', '2026-01-22') AS value;
DROP SCHEMA changed_rows CASCADE;
