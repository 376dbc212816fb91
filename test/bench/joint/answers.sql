-- Answers from joint densities of 2 and 5 columns: microseconds a call in a session that has asked
-- before. Variables: points, runs. After timing.sql.
\set ON_ERROR_STOP on
CREATE EXTENSION IF NOT EXISTS kde_aqp;
SET max_parallel_workers_per_gather = 0;

-- Normal columns that share a factor (correlations of 1/2), the second and fourth of them
-- exponentiated (Box & Muller's normal deviates; OFFSET 0: drawn once).
SELECT setseed(0.25) \g /dev/null
CREATE TABLE bench.row AS
  SELECT id, (z[1] + z[2]) / sqrt(2) AS a, exp((z[1] + z[3]) / sqrt(2)) AS b,
    (z[1] + z[4]) / sqrt(2) AS c, exp((z[1] + z[5]) / sqrt(2)) AS d, (z[1] + z[6]) / sqrt(2) AS e
  FROM (
    SELECT id, array_agg(sqrt(-2 * ln(1 - u)) * cos(2 * pi() * v)) AS z
    FROM (SELECT id, random() AS u, random() AS v
          FROM generate_series(1, 10 * :points) AS id, generate_series(1, 6) OFFSET 0) AS drawn
    GROUP BY id) AS normal;

-- Boxes: the centre a random row, sides in the proportions e^U(-1/2, 1/2), and of a size at which
-- 0.5 to 20 % of 2,000 rows are within, log-uniform. The first `sides` columns are bounded.
CREATE TABLE bench.box (sides integer, lower double precision[], upper double precision[]);
CREATE FUNCTION bench.make_boxes(sides integer, boxes integer) RETURNS void LANGUAGE sql AS $$
  INSERT INTO bench.box
  SELECT sides, array_agg(centre.x[k] - size * centre.side[k] ORDER BY k),
    array_agg(centre.x[k] + size * centre.side[k] ORDER BY k)
  FROM (
    SELECT id, (ARRAY[a, b, c, d, e])[1:sides] AS x, 0.005 * 40 ^ random() AS fraction,
      ARRAY[exp(random() - 0.5), exp(random() - 0.5), exp(random() - 0.5), exp(random() - 0.5),
        exp(random() - 0.5)] AS side
    FROM bench.row WHERE id > 2000 ORDER BY id LIMIT boxes) AS centre
  CROSS JOIN LATERAL (
    SELECT percentile_disc(centre.fraction) WITHIN GROUP (ORDER BY farthest) AS size
    FROM (
      SELECT (SELECT max(abs(p.x[k] - centre.x[k]) / centre.side[k])
              FROM generate_series(1, sides) AS k) AS farthest
      FROM (SELECT (ARRAY[a, b, c, d, e])[1:sides] AS x FROM bench.row WHERE id <= 2000) AS p)
      AS distance) AS sized
  CROSS JOIN generate_series(1, sides) AS k
  GROUP BY centre.id
$$;
SELECT bench.make_boxes(2, 300), bench.make_boxes(5, 300) \g /dev/null

-- A table a density. The budget holds all points, so that the answers are of as many as are named.
SET kde_aqp.joint_bytes = '4MB';
CREATE TABLE bench.fitted (relation text, columns text[], method text);
INSERT INTO bench.fitted
  SELECT format('bench.%s_of_%s', method, d), (ARRAY['a', 'b', 'c', 'd', 'e'])[1:d], method
  FROM unnest(ARRAY['auto', 'lscv_matrix']) AS method, unnest(ARRAY[2, 5]) AS d;
SELECT format('CREATE TABLE %s AS SELECT a, b, c, d, e FROM bench.row ORDER BY id', relation) FROM bench.fitted
\gexec
SELECT format('DO $do$ BEGIN PERFORM kde_fit(%L, %L::text[], method => %L, sample_rows => %s, seed => 1); END $do$',
  relation, columns, method, :points) FROM bench.fitted
\gexec

CREATE FUNCTION bench.name_of(relation text, columns text[]) RETURNS text LANGUAGE sql
  RETURN format('%s (%s)', relation, array_to_string(columns, ', '));

-- The density of 5 columns is also asked about 2.
INSERT INTO bench.query (section, what, query)
  SELECT 'answers', format('%s, %s columns, %s bounded: %s', f.method, cardinality(f.columns), sides, answer),
    format('SELECT sum(%s) FROM bench.box AS b WHERE sides = %s',
      CASE answer
        WHEN 'approx_count' THEN format('approx_count(%L, b.lower, b.upper)',
          bench.name_of(f.relation, f.columns[1:sides]))
        ELSE format('approx_avg(%L, b.lower, b.upper, measure => %L)',
          bench.name_of(f.relation, f.columns[1:sides]), f.columns[cardinality(f.columns)])
      END, sides)
  FROM bench.fitted AS f CROSS JOIN unnest(ARRAY['approx_count', 'approx_avg']) AS answer
  CROSS JOIN unnest(ARRAY[2, 5]) AS sides
  WHERE sides <= cardinality(f.columns)
  ORDER BY cardinality(f.columns), f.method, sides, answer DESC;
INSERT INTO bench.query (section, what, query)
  VALUES ('answers', 'bare reading of the boxes', 'SELECT sum(b.lower[1]) FROM bench.box AS b WHERE sides = 5');
CALL bench.interleave('answers', 1);
DELETE FROM bench.timing USING bench.query AS q WHERE q.id = query_id AND q.section = 'answers';
CALL bench.interleave('answers', :runs);

\pset tuples_only off
\echo
\echo 'Joint densities'
SELECT relation, column_names, method, rows, sample_rows, stored_rows, bytes FROM kde_densities_full ORDER BY relation;
\echo
SELECT format('Answers: one session that has asked before, serial, interleaved, medians of %s', :runs) AS title \gset
\echo :title
CREATE VIEW bench.call AS
  SELECT m.id, m.what, 1000 * m.ms / 300 AS microseconds, 1000 * m.least / 300 AS least
  FROM bench.median AS m WHERE m.section = 'answers';
SELECT what, round(microseconds::numeric, 1) AS "microseconds a call", round(least::numeric, 1) AS least
FROM bench.call ORDER BY id;

INSERT INTO bench.bound (section, what, figure, bound, at_least, digits, note)
  SELECT 'answers', what, microseconds, CASE WHEN what LIKE '%, 2 columns%' THEN 200 ELSE 1000 END, false, 1,
    'microseconds'
  FROM bench.call WHERE what LIKE '%bounded%' ORDER BY id;
