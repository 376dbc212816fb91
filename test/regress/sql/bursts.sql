-- Values that lie together in a few blocks of a column that is otherwise mixed: an incident's status, a
-- day's price. Of twenty samples 95 % intervals hold the truth in fifteen at least (binomial: fewer would be
-- one in three thousand), and in 90 % of all.
\set ECHO queries \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS bursts CASCADE;
CREATE SCHEMA bursts;
SET search_path = bursts, public;
-- sql/refresh.sql has what a stale density does.
SET kde_aqp.stale = ignore;
SET kde_aqp.sample_blocks = 150;

CREATE TABLE calls AS SELECT b.is_in, CASE WHEN b.is_in THEN 500 + i % 7 ELSE h % 1001 END AS ms,
    CASE WHEN b.is_in THEN 40 ELSE 10 END + h % 5 AS cost
  FROM generate_series(1, 200000) AS i, abs(hashint4(i)::bigint) AS h,
    LATERAL (SELECT i BETWEEN 80000 AND 81999) AS b(is_in);
CREATE TABLE held (seed int, low int, high int, count bool, sum bool, avg bool);
DO $$
BEGIN
  FOR seed IN 1..20 LOOP
    PERFORM kde_fit('calls', 'ms', measures => '{cost}', seed => seed);
    INSERT INTO held SELECT seed, low, high, t.n BETWEEN (c).lower_bound AND (c).upper_bound,
      t.total BETWEEN (s).lower_bound AND (s).upper_bound, t.mean BETWEEN (a).lower_bound AND (a).upper_bound
    FROM (VALUES (500, 506), (503, 503), (490, 510), (505, 900), (100, 200)) AS r(low, high),
      approx_count_ci('calls.ms', low, high, changed_rows => 0) AS c,
      approx_sum_ci('calls.ms', low, high, measure => 'cost', changed_rows => 0) AS s,
      approx_avg_ci('calls.ms', low, high, measure => 'cost', changed_rows => 0) AS a,
      LATERAL (SELECT count(*) AS n, sum(cost) AS total, avg(cost) AS mean FROM calls WHERE ms BETWEEN low AND high) AS t;
  END LOOP;
END $$;
SELECT count(*) FILTER (WHERE h.count) >= 90 AS counts, count(*) FILTER (WHERE h.sum) >= 90 AS sums,
  count(*) FILTER (WHERE h.avg) >= 90 AS means, count(*) AS asked FROM held AS h;
SELECT low, high, count(*) FILTER (WHERE h.count) >= 15 AS counts, count(*) FILTER (WHERE h.sum) >= 15 AS sums,
  count(*) FILTER (WHERE h.avg) >= 15 AS means FROM held AS h GROUP BY low, high ORDER BY low, high;
-- The interval knows of the burst, and of the rest that there is none.
SELECT (b.upper_bound - b.lower_bound) / sqrt(b.estimate) > 2 * (m.upper_bound - m.lower_bound) / sqrt(m.estimate) AS wider
FROM approx_count_ci('calls.ms', 500, 506, changed_rows => 0) AS b, approx_count_ci('calls.ms', 700, 706, changed_rows => 0) AS m;
-- Parts of one seed by filter are drawn by themselves: where their rows lie together, as here each
-- value's do, their roll-up knows its error.
CREATE TABLE runs AS SELECT abs(hashint4(i / 100)::bigint) % 1000 AS v, i % 4 AS part FROM generate_series(1, 100000) AS i;
CREATE TABLE held_by_parts (seed int, low int, held bool);
DO $$
BEGIN
  FOR seed IN 1..20 LOOP
    FOR k IN 0..3 LOOP PERFORM kde_fit('runs', 'v', filter => format('part = %s', k), seed => seed); END LOOP;
    INSERT INTO held_by_parts SELECT seed, low, n BETWEEN (c).lower_bound AND (c).upper_bound
    FROM (SELECT rollup(kde_density('runs', '{v}', filter => format('part = %s', k))) AS r FROM generate_series(0, 3) AS k) AS d,
      generate_series(0, 800, 200) AS low, approx_count_ci(r, low, low + 199) AS c,
      LATERAL (SELECT count(*) AS n FROM runs WHERE v BETWEEN low AND low + 199) AS t;
  END LOOP;
END $$;
SELECT count(*) FILTER (WHERE h.held) >= 90 AS counts, count(*) AS asked FROM held_by_parts AS h;
-- What a dump has is what there was.
SELECT density::text::kde::text = density::text AS is_same FROM (SELECT kde_density('calls.ms') AS density) AS d;

DROP SCHEMA bursts CASCADE;
