-- Categories beside numbers in densities of several columns: boxes on numbers and values of
-- categories, beside SQL.
\set ECHO none \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS joint_words CASCADE;
CREATE SCHEMA joint_words;
SET search_path = joint_words, public;

CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy', 'never');
CREATE DOMAIN code AS text CHECK (length(VALUE) > 0);
CREATE COLLATION ignoring_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE kinds (
  t text, v varchar(20), c char(6), b boolean, m mood, u uuid, i inet, d code, n name, by bytea,
  a text[], j jsonb, ci text COLLATE ignoring_case, amount numeric(10, 2), day date);
INSERT INTO kinds
SELECT 'word ' || k % 7, 'v' || k % 5, 'c' || k % 3, k % 3 = 0, ('{sad,ok,happy}'::mood[])[1 + k % 3],
       ('00000000-0000-0000-0000-00000000000' || k % 4)::uuid, ('10.0.0.' || k % 6)::inet,
       'd' || k % 2, 'n' || k % 4, ('\x0' || k % 8)::bytea, ARRAY['a', 'b' || k % 2],
       jsonb_build_object('k', k % 3), CASE k % 3 WHEN 0 THEN 'Eu' WHEN 1 THEN 'EU' ELSE 'us' END,
       k % 100, date '2026-01-01' + k % 50
FROM generate_series(1, 3000) AS k;
INSERT INTO kinds (t, amount, day) VALUES (NULL, 1, NULL), (NULL, 2, '2026-02-01'), ('', 3, '2026-02-01'),
  ('it''s "x", (a)', 4, '2026-02-01'), (E'two\nlines', 5, '2026-02-01'), ('größer 漢字', 6, '2026-02-01'),
  (repeat('long ', 60), 7, '2026-02-01'), (repeat('x', 2000), 8, '2026-02-01');

-- Every row is stored: each answer is SQL's, of each column by each of its values in a box.
CREATE FUNCTION compare(col text) RETURNS TABLE (model text, wrong bigint, asked bigint)
LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('SELECT model FROM kde_fit(''kinds'', ARRAY[''amount'', %L, ''day''], seed => 1)', col) INTO model;
  EXECUTE format(
    'SELECT count(*) FILTER (WHERE approx_count(%L, ARRAY[''10'', x, ''2026-01-05''], ARRAY[''60'', x, NULL]) <> n
                                OR approx_count(%1$L, ARRAY[''10'', x, ''2026-01-05''], ARRAY[''60'', NULL, NULL]) <> n
                                OR abs(approx_sum(%1$L, ARRAY[''10'', x, ''2026-01-05''], ARRAY[''60'', x, NULL],
                                                  measure => ''amount'') - s) > 1e-3), count(*)
     FROM (SELECT min(%I::text) AS x, count(*)::float8 AS n, sum(amount) AS s FROM kinds
           WHERE amount BETWEEN 10 AND 60 AND day >= ''2026-01-05'' GROUP BY %2$I) AS g',
    format('kinds (amount, %I, day)', col), col) INTO wrong, asked;
  RETURN NEXT;
END $$;
\set ECHO queries
SELECT col, c.* FROM unnest('{t,v,c,b,m,u,i,d,n,by,a,j}'::text[]) AS col, compare(col) AS c;
SELECT * FROM kde_fit('kinds', ARRAY['ci', 'amount'], seed => 1) \gset fit_
SELECT approx_count('kinds (amount, ci)', '{10, eu}', '{60, EU}'),
       (SELECT count(*) FROM kinds WHERE amount BETWEEN 10 AND 60 AND ci = 'eu');

-- Any value but NULL, none that there is, long ones, quotes, and NULL.
SELECT approx_count('kinds (t, amount)', '{NULL, 1}', '{NULL, 8}'),
       (SELECT count(*) FROM kinds WHERE amount BETWEEN 1 AND 8 AND t IS NOT NULL);
SELECT * FROM approx_count_ci('kinds (t, amount)', '{word 1, 1}', '{word 1, 8}');
SELECT * FROM approx_count_ci('kinds (t, amount)', '{no such, 1}', '{NULL, 8}');
SELECT approx_count('kinds (t, amount)', ARRAY['it''s "x", (a)', '1'], ARRAY[NULL, '8']) AS quotes,
       approx_count('kinds (t, amount)', ARRAY[E'two\nlines', '1'], ARRAY[NULL, '8']) AS lines,
       approx_count('kinds (t, amount)', ARRAY['', '1'], ARRAY[NULL, '8']) AS empty,
       approx_count('kinds (t, amount)', ARRAY[repeat('long ', 60), '1'], ARRAY[NULL, '8']) AS long;
-- One that is too long to be kept may be there.
SELECT * FROM approx_count_ci('kinds (t, amount)', ARRAY[repeat('x', 2000), '1'], ARRAY[NULL, '8']);
SELECT approx_count('kinds (t, amount)', ARRAY[repeat('x', 2000), '1'], ARRAY[NULL, '8'],
                    max_relative_error => 0, otherwise => 'exact') AS exact;

-- By itself, with an array, and numbers beside it.
SELECT approx_count('kinds.t', 'word 1', measure => 'amount'), (SELECT count(*) FROM kinds WHERE t = 'word 1');
SELECT round(approx_avg('kinds.t', ARRAY['word 1', 'word 2', 'no such'], measure => 'amount')::numeric, 4) AS avg,
       (SELECT round(avg(amount), 4) FROM kinds WHERE t IN ('word 1', 'word 2'));
SELECT count FROM approx_top('kinds.m', 2);
SELECT approx_count('kinds.amount', 1, 8, measure => 't'),
       (SELECT count(*) FROM kinds WHERE amount BETWEEN 1 AND 8 AND t IS NOT NULL);
SELECT at, at_text, round(estimate::numeric, 4) AS estimate
  FROM kde_conditional('kinds.m', ARRAY['ok', 'happy', 'never', NULL], measure => 'amount');
SELECT m, round(avg(amount), 4) FROM kinds WHERE m >= 'ok' GROUP BY m ORDER BY m;
SELECT column_names, chosen, estimate FROM kde_explain('kinds (amount, t)', '{1, word 1}', '{8, NULL}') WHERE chosen;
-- Of other filters and expressions.
SELECT rows FROM kde_fit('kinds', ARRAY['left(t, 6)', 'amount'], filter => 'b', seed => 1);
SELECT approx_count('kinds (left(t, 6), amount)', '{word 1, 1}', '{NULL, 8}', filter => 'b'),
       (SELECT count(*) FROM kinds WHERE left(t, 6) = 'word 1' AND amount BETWEEN 1 AND 8 AND b);

-- What is refused.
\set VERBOSITY default
SELECT approx_count('kinds (t, amount)', '{a, 1}', '{b, 8}');
SELECT approx_count('kinds (t, amount)', '{NULL, 1}', '{b, 8}');
SELECT approx_count('kinds (m, amount)', '{no label, 1}', '{NULL, 8}');
SELECT approx_count('kinds (t, amount)', ARRAY[1, 2], ARRAY[3, 4]);
SELECT approx_sum('kinds (t, amount)', '{a, 1}', '{a, 8}', measure => 't');
SELECT approx_avg('kinds.amount', 1, 8, measure => 't');
SELECT * FROM kde_explain('kinds.amount', 1, 8, measure => 't');
SELECT * FROM kde_conditional('kinds.amount', ARRAY[1], measure => 't');
SELECT approx_quantile('kinds.t', 0.5);
SELECT * FROM kde_fit('kinds', ARRAY['t', 'm']);
SELECT * FROM kde_fit('kinds', ARRAY['t', 'amount'], method => 'lscv');
SELECT * FROM kde_fit('kinds', ARRAY['t', 'amount'], measures => ARRAY['day']);
SELECT * FROM kde_fit('kinds', ARRAY['t', 'amount'], group_by => 'b');
\set VERBOSITY terse

-- By plain SQL, of every row that is stored: as exact.
SELECT kde_set_plain_sql('kinds (amount, m, day)', true) IS NOT NULL AS allowed;
SET kde_aqp.approximate = top;
SET kde_aqp.approximate_notice = off;
SELECT count(*) FROM kinds WHERE m = 'ok' AND amount BETWEEN 10 AND 60 AND day IS NOT NULL;
SELECT count(*) FROM kinds WHERE m IN ('ok', 'sad') AND amount BETWEEN 10 AND 60 AND day IS NOT NULL;
SELECT count(m) FROM kinds WHERE amount BETWEEN 10 AND 60 AND day >= '2026-01-05';
RESET kde_aqp.approximate;
SELECT count(m) FROM kinds WHERE amount BETWEEN 10 AND 60 AND day >= '2026-01-05';

-- As a value: text, binary, JSON; its own equality is not in it.
CREATE TABLE held AS SELECT column_names AS name, d AS value
  FROM kde_densities_full, LATERAL kde_density('kinds', column_names) AS d
  WHERE relation = 'kinds'::regclass AND filter IS NULL AND cardinality(column_names) > 1;
SELECT count(*), bool_and(value::text::kde = value) AS by_text FROM held;
SELECT approx_count(value, '{1, word 1, NULL}', '{8, word 1, NULL}') FROM held WHERE name = '{amount,day,t}' OR name = '{amount,t,day}';
SELECT approx_count(value, '{eu, 10}', '{NULL, 60}') FROM held WHERE 'ci' = ANY (name);
SELECT value::json FROM held LIMIT 1;

-- A sample, of values that numbers depend on, some of them rare.
CREATE TABLE sales AS
SELECT date '2026-01-01' + k / 500 AS sold_on, 'region ' || floor(exp(ln(300) * (k * 0.6180339887 % 1)))::int AS region,
       (10 * (floor(exp(ln(300) * (k * 0.6180339887 % 1)))::int % 5) + k * 7919::bigint % 100 / 10.0)::numeric(10, 2) AS amount
FROM generate_series(0, 99999) AS k;
SET kde_aqp.sample_blocks = 200;
CREATE VIEW last_fit AS SELECT * FROM kde_densities_full ORDER BY fitted_at DESC LIMIT 1;
SELECT FROM kde_fit('sales', ARRAY['sold_on', 'amount', 'region'], sample_rows => 20000, seed => 1) \g /dev/null
SELECT rows_read < 100000 AS sampled, sample_rows < 100000 AS thinned FROM last_fit;
RESET kde_aqp.sample_blocks;
WITH asked AS (
  SELECT region, count(*) AS n, avg(amount) AS mean FROM sales
  WHERE sold_on BETWEEN '2026-02-01' AND '2026-05-01' AND amount BETWEEN 10 AND 37.5 GROUP BY region)
SELECT count(*) > 100 AS many, count(*) FILTER (WHERE n BETWEEN c.lower_bound AND c.upper_bound) > 0.9 * count(*) AS held,
       count(*) FILTER (WHERE mean BETWEEN a.lower_bound AND a.upper_bound OR a.estimate IS NULL) > 0.9 * count(*) AS means
FROM asked, approx_count_ci('sales (sold_on, amount, region)', ARRAY['2026-02-01', '10', region],
                            ARRAY['2026-05-01', '37.5', region]) AS c,
  approx_avg_ci('sales (sold_on, amount, region)', ARRAY['2026-02-01', '10', region],
                ARRAY['2026-05-01', '37.5', region], measure => 'amount') AS a;
SELECT estimate, lower_bound, upper_bound BETWEEN 1 AND 20000 AS may_be
  FROM approx_count_ci('sales (sold_on, amount, region)', '{2026-02-01, 10, no such}', '{2026-05-01, 37.5, NULL}');

-- Drift, refreshes, and labels that are renamed.
SELECT column_name, distance < 0.05 AS none FROM kde_drift('sales (sold_on, amount, region)', seed => 1);
UPDATE sales SET region = 'region 1' WHERE region IN ('region 2', 'region 3');
SELECT column_name, distance > 0.05 AS some FROM kde_drift('sales (sold_on, amount, region)', seed => 1);
SELECT action FROM kde_refresh('sales', force => true);
SELECT approx_count('sales (amount, region)', '{NULL, region 2}', '{NULL, NULL}') AS gone;
SELECT count(*) FROM kde_fit('kinds', ARRAY['amount', 'm', 't'], seed => 1);
ALTER TYPE mood RENAME VALUE 'sad' TO 'seldom';
SELECT approx_count('kinds (amount, m)', '{1, ok}', '{8, NULL}');
SELECT approx_count('kinds (amount, day)', '{1, 2026-01-01}', '{8, NULL}') > 0 AS numbers;
SELECT max(distance) FROM kde_drift('kinds (amount, m, day)', seed => 1);
SELECT count(*) FROM kde_refresh('kinds', force => true);
SELECT approx_count('kinds (amount, m)', '{1, seldom}', '{8, NULL}'),
       (SELECT count(*) FROM kinds WHERE amount BETWEEN 1 AND 8 AND m = 'seldom');
-- A column of another type, or another collation.
SET client_min_messages = error;
ALTER TABLE kinds ALTER COLUMN b TYPE text;
SELECT approx_count('kinds (amount, b)', '{1, true}', '{8, NULL}');
ALTER TABLE kinds ALTER COLUMN ci TYPE text COLLATE "C";
SELECT approx_count('kinds (amount, ci)', '{1, EU}', '{8, NULL}');
ALTER TABLE kinds ALTER COLUMN d TYPE int USING 1;
SELECT approx_count('kinds (amount, d)', '{1, 1}', '{8, 1}');

RESET client_min_messages;
-- No rows but NULLs; one value.
CREATE TABLE few (t text, x int);
INSERT INTO few SELECT NULL, k FROM generate_series(1, 50) AS k;
SELECT model FROM kde_fit('few', ARRAY['t', 'x'], seed => 1);
SELECT approx_count('few (t, x)', '{a, 1}', '{a, 9}'), approx_count('few (t, x)', '{NULL, 1}', '{NULL, 9}'),
       approx_count('few.x', 1, 9);
UPDATE few SET t = 'a';
SELECT model FROM kde_fit('few', ARRAY['t', 'x'], seed => 1);
SELECT approx_count('few (t, x)', '{a, 1}', '{a, 9}'), approx_count('few (t, x)', '{b, 1}', '{b, 9}');

DROP SCHEMA joint_words CASCADE;
