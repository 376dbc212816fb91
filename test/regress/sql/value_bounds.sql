-- What rows changed may hold: anything that the column's type, a constraint or the range allows. And
-- they are k, whatever the number of groups.
\set ECHO queries \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS value_bounds CASCADE;
CREATE SCHEMA value_bounds;
SET search_path = value_bounds, public;
RESET client_min_messages;

CREATE DOMAIN share AS double precision CHECK (VALUE >= 0) CHECK (VALUE <= 1);
CREATE TABLE t (
  x integer NOT NULL, y integer NOT NULL, region text NOT NULL,
  free numeric NOT NULL, real_free float8 NOT NULL, small smallint NOT NULL, typed numeric(6, 2) NOT NULL,
  positive numeric NOT NULL CHECK (positive > 0), ranged numeric NOT NULL CHECK (ranged BETWEEN -5 AND 1000),
  reversed int NOT NULL CHECK (2000 > reversed AND -10 <= reversed), listed int NOT NULL CHECK (listed IN (0, 50, 100)),
  either int NOT NULL CHECK (either < 200 AND either > 0 OR either = 500), domained share NOT NULL,
  beside int NOT NULL CHECK (beside >= 0 OR region = 'none'), later int NOT NULL);
INSERT INTO t SELECT i % 300, i % 300, 'r' || i % 3, i % 100, i % 100, i % 100, i % 100, 1 + i % 100, i % 100, i % 100, i % 3 * 50,
  1 + i % 100, i % 2, i % 100, i % 100 FROM generate_series(1, 3000) AS i;
ALTER TABLE t ADD CONSTRAINT not_valid CHECK (later >= 0) NOT VALID;
SELECT model FROM kde_fit('t', 'x', measures => '{free,small,typed,positive,ranged,reversed,domained,later}');
SELECT model FROM kde_fit('t', 'y', measures => '{real_free,listed,either,beside}');
CREATE VIEW sums AS
SELECT m AS measure, s.lower_bound - s.estimate AS down, s.upper_bound - s.estimate AS up,
  a.lower_bound < a.estimate AND a.upper_bound > a.estimate AS mean, isfinite AS bounded
FROM unnest('{free,real_free,small,typed,positive,ranged,reversed,listed,either,domained,beside,later}'::text[]) WITH ORDINALITY AS m(m, i),
  LATERAL (SELECT CASE WHEN m IN ('real_free', 'listed', 'either', 'beside') THEN 't.y' ELSE 't.x' END AS n) AS named,
  approx_sum_ci(n, 0, 100, measure => m, changed_rows => 2) AS s,
  approx_avg_ci(n, 0, 100, measure => m, changed_rows => 2) AS a,
  LATERAL (SELECT a.upper_bound < 'Infinity' AND a.lower_bound > '-Infinity' AS isfinite) AS f ORDER BY i;
SELECT * FROM sums;
-- A constraint counts once it is validated, until it goes; at once.
ALTER TABLE t VALIDATE CONSTRAINT not_valid;
ALTER TABLE t DROP CONSTRAINT t_ranged_check;
ALTER DOMAIN share DROP CONSTRAINT share_check;
SELECT * FROM sums WHERE measure IN ('ranged', 'domained', 'later');
-- Of the column itself: its range, where it has two ends.
SELECT lower_bound - estimate AS down, upper_bound - estimate AS up FROM approx_sum_ci('t.x', 10, 20, changed_rows => 3);
SELECT lower_bound - estimate AS down, upper_bound - estimate AS up FROM approx_sum_ci('t.x', 10, NULL, changed_rows => 3);
SELECT upper_bound < 'Infinity' AS variance FROM approx_variance_ci('t.x', 10, 20, changed_rows => 3);
SELECT upper_bound AS variance FROM approx_variance_ci('t.x', measure => 'free', changed_rows => 3);
-- Quantiles, as far as there were rows; beyond these the type's bounds.
SELECT q, lower_bound, upper_bound FROM unnest('{0,0.001,0.5,0.9995,1}'::float8[]) AS q, approx_quantile_ci('t.x', q, changed_rows => 3);
-- Each leaf's constraints: no two have the same.
CREATE TABLE p (k int NOT NULL, v numeric NOT NULL) PARTITION BY LIST (k);
CREATE TABLE p1 PARTITION OF p (CHECK (v >= 0 AND v <= 100)) FOR VALUES IN (1);
CREATE TABLE p2 PARTITION OF p (CHECK (v >= 0 AND v <= 200)) FOR VALUES IN (2);
INSERT INTO p SELECT 1 + i % 2, i % 100 FROM generate_series(1, 1000) AS i;
SELECT model FROM kde_fit('p', 'k', measures => '{v}');
SELECT lower_bound - estimate AS down, upper_bound - estimate AS up FROM approx_sum_ci('p.k', measure => 'v', changed_rows => 2);
ALTER TABLE p2 DROP CONSTRAINT p2_v_check;
SELECT lower_bound - estimate AS down, upper_bound - estimate AS up FROM approx_sum_ci('p.k', measure => 'v', changed_rows => 2);

-- One rule: a measure and a density of several columns that know the same are moved by the same.
SELECT model FROM kde_fit('t', ARRAY['x', 'small'], sample_rows => -1);
SELECT c.upper_bound - c.estimate AS count, s.upper_bound - s.estimate AS sum FROM approx_count_ci('t (x)', 0, 100, changed_rows => 2) AS c,
  approx_sum_ci('t (x, small)', ARRAY[0, NULL], ARRAY[300, NULL], measure => 'small', changed_rows => 2) AS s;

-- -------------------------------------------------------------------------------- NaN and infinities
-- What the type has beside its finite values, only a constraint keeps out: NaN by an upper bound alone.
CREATE TABLE n (
  id int NOT NULL, d int NOT NULL, m numeric(6, 2) NOT NULL, below numeric(6, 2) NOT NULL CHECK (below <= 9999),
  above numeric(6, 2) NOT NULL CHECK (above >= 0), within numeric(6, 2) NOT NULL CHECK (within BETWEEN 0 AND 9999),
  nan_too numeric(6, 2) NOT NULL CHECK (nan_too < 100 OR nan_too = 'NaN'), real real NOT NULL,
  real_below real NOT NULL CHECK (real_below < 100), real_finite real NOT NULL CHECK (real_finite > '-Infinity' AND real_finite < 'Infinity'),
  day date NOT NULL, day_after date NOT NULL CHECK (day_after >= '2020-01-01'),
  day_finite date NOT NULL CHECK (day_finite < 'infinity' AND day_finite > '-infinity'), at timestamptz NOT NULL, long time NOT NULL);
INSERT INTO n SELECT i, i % 10, v, v, v, v, i % 50, v, i % 50, v, '2024-01-01', '2024-01-01', '2024-01-01', '2024-01-01', '12:00'
FROM (SELECT i, 9000 + (i % 100) / 100.0 AS v FROM generate_series(1, 20000) AS i) AS of;
VACUUM n;
SELECT model FROM kde_fit('n', 'd', sample_rows => -1, measures => '{m,below,above,within,nan_too,real,real_below}');
SELECT model FROM kde_fit('n', 'id', sample_rows => -1, measures => '{real_finite}');
SELECT m AS measure, a.lower_bound = '-Infinity' AS no_low, a.upper_bound = 'Infinity' AS no_high, v.upper_bound = 'Infinity' AS no_variance
FROM unnest('{m,below,above,within,nan_too,real,real_below,real_finite}'::text[]) WITH ORDINALITY AS m(m, i),
  LATERAL (SELECT CASE WHEN i <= 7 THEN 'n.d' ELSE 'n.id' END AS n) AS named,
  approx_avg_ci(n, measure => m, changed_rows => 2) AS a, approx_variance_ci(n, measure => m, changed_rows => 2) AS v ORDER BY i;
SELECT model FROM kde_fit('n', 'm', sample_rows => -1);
SELECT model FROM kde_fit('n', 'day', sample_rows => -1);
SELECT model FROM kde_fit('n', 'real', sample_rows => -1);
SELECT kde_fit('n', c, sample_rows => -1) IS NULL AS none FROM unnest('{day_after,day_finite,at,long}'::text[]) AS c;
SELECT d, q, lower_bound > '-Infinity' AS low, upper_bound < 'Infinity' AS high
FROM unnest('{m,day,real,day_after,day_finite,at,long}'::text[]) AS d, unnest('{0,0.5,1}'::float8[]) AS q, approx_quantile_ci('n.' || d, q, changed_rows => 1);
-- A range with two ends keeps them out; one that they alone are in has them.
SELECT lower_bound > '-Infinity' AS low, upper_bound < 'Infinity' AS high FROM approx_sum_ci('n.m', 9000, 9001, changed_rows => 1);
SELECT lower_bound > '-Infinity' AS low, upper_bound < 'Infinity' AS high FROM approx_sum_ci('n.m', 9000, NULL, changed_rows => 1);
SELECT lower_bound > '-Infinity' AS low, upper_bound < 'Infinity' AS high FROM approx_sum_ci('n.real', NULL, 9001, changed_rows => 1);
SELECT * FROM approx_sum_ci('n.real', 'Infinity', NULL, changed_rows => 1);
SELECT * FROM approx_avg_ci('n.real', NULL, '-Infinity', changed_rows => 1);
SELECT * FROM approx_variance_ci('n.real', 'Infinity', NULL, changed_rows => 1);
-- Plain SQL.
SELECT kde_set_plain_sql('n.d', true), kde_set_plain_sql('n.m', true), kde_set_plain_sql('n.real', true), kde_set_plain_sql('n.id', true);
INSERT INTO n VALUES (0, 3, 'NaN', 0, 'NaN', 0, 'NaN', 'Infinity', 0, 0, 'infinity', 'infinity', '2024-01-01', '-infinity', '0:00');
SET kde_aqp.approximate = top;
SELECT sum(m) AS m, avg(m) AS mean, sum(above) AS above, sum(nan_too) AS nan_too, sum(real) AS real FROM n WHERE d BETWEEN 1 AND 5;
SELECT sum(m), avg(m) FROM n WHERE m >= 9000;
SELECT sum(real) FROM n WHERE real >= 9000;
SELECT sum(real) FROM n WHERE real >= 'Infinity';
RESET kde_aqp.approximate;

-- Conditions that name what has no end: <>, NOT, NOT IN, isfinite().
CREATE DOMAIN no_nan AS numeric(6, 2) CHECK (VALUE <> 'NaN');
CREATE TABLE u (
  d int NOT NULL, unequal numeric(6, 2) NOT NULL CHECK (unequal <> 'NaN'), negated numeric(6, 2) NOT NULL CHECK (NOT 'NaN' = negated),
  listed numeric(6, 2) NOT NULL CHECK (listed NOT IN ('NaN', 5)), of_domain no_nan NOT NULL,
  either numeric(6, 2) NOT NULL CHECK (either <> 'NaN' OR d > 5), either_way numeric(6, 2) NOT NULL CHECK (either_way <> 'NaN' OR either_way < 3),
  real_nan real NOT NULL CHECK (real_nan <> 'NaN'), real_listed real NOT NULL CHECK (real_listed <> ALL ('{NaN,Infinity,-Infinity}'::real[])),
  real_each real NOT NULL CHECK (real_each <> 'NaN' AND real_each < 'Infinity' AND real_each <> '-Infinity'),
  day date NOT NULL CHECK (isfinite(day)), at timestamp NOT NULL CHECK (at <> 'infinity'), atz timestamptz NOT NULL CHECK (isfinite(atz) AND d > 0));
INSERT INTO u SELECT 1 + i % 10, v, v, v, v, v, v, v, v, v, '2024-01-01', '2024-01-01', '2024-01-01'
FROM (SELECT i, 9000 + (i % 100) / 100.0 AS v FROM generate_series(1, 20000) AS i) AS of;
VACUUM u;
SELECT model FROM kde_fit('u', 'd', sample_rows => -1, measures => '{unequal,negated,listed,of_domain,either,either_way,real_nan}');
SELECT model FROM kde_fit('u', ARRAY['d + 0'], sample_rows => -1, measures => '{real_listed,real_each}');
SELECT m AS measure, a.lower_bound > '-Infinity' AS low, a.upper_bound < 'Infinity' AS high
FROM unnest('{unequal,negated,listed,of_domain,either,either_way,real_nan,real_listed,real_each}'::text[]) WITH ORDINALITY AS m(m, i),
  approx_avg_ci(CASE WHEN i <= 7 THEN 'u.d' ELSE 'u (d + 0)' END, measure => m, changed_rows => 2) AS a ORDER BY i;
SELECT kde_fit('u', c, sample_rows => -1) IS NULL AS none FROM unnest('{day,at,atz}'::text[]) AS c;
SELECT d, q, lower_bound > '-Infinity' AS low, upper_bound < 'Infinity' AS high
FROM unnest('{day,at,atz}'::text[]) AS d, unnest('{0,1}'::float8[]) AS q, approx_quantile_ci('u.' || d, q, changed_rows => 1);

-- ---------------------------------------------------------------------------------------- groups
SELECT model FROM kde_fit('t', 'x', measures => '{free,small,typed}', group_by => 'region');
CREATE FUNCTION answer(condition text, measure text DEFAULT 'small') RETURNS TABLE (count text, sum text, avg text, exact boolean)
LANGUAGE sql AS $$
  SELECT format('%s [%s, %s]', w.count, count_lower, count_upper), format('%s [%s, %s]', sum, sum_lower, sum_upper),
    format('%s [%s, %s]', round(w.avg::numeric, 2), round(avg_lower), round(avg_upper)), w.exact
  FROM approx_where('t', condition, measure => measure, changed_rows => 2) AS w $$;
SELECT * FROM answer($$region = 'r1'$$);
SELECT * FROM answer($$region <> 'r1'$$);
SELECT * FROM answer($$region LIKE 'r%' AND x < 100$$, 'typed');
SELECT * FROM answer($$region IN ('r1', 'new')$$, 'free');
SELECT * FROM answer($$region = 'new'$$);
SELECT * FROM answer($$region = 'new' AND x IN (1, 2)$$);
SELECT * FROM answer($$region = 'new' AND x > 5 AND x < 3$$);
-- Of a category the same.
SELECT model FROM kde_fit('t', 'region', measures => '{small}');
SELECT * FROM answer($$region LIKE '%1'$$);
SELECT * FROM answer($$region LIKE 'new%'$$);
SET client_min_messages = warning;
DROP SCHEMA value_bounds CASCADE;
