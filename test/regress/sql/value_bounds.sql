-- What rows changed may hold: anything that the column's type, a constraint or the range allows. And
-- they are k, whatever the number of groups.
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
