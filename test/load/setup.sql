-- The database that `make load` runs in: tables whose densities are asked, refitted, renamed, dropped
-- and reloaded while 64 clients ask, and the functions by which every answer is checked.
--
-- Every table of whose answers more than one is right has a row in load.state, changed by the very
-- transaction that changes the table and fits it again; load.expected holds the answers of each
-- state, taken before the load begins (same rows in the same order, same seed: the same density).
-- An answer must be that of the state its own snapshot sees.
\set ON_ERROR_STOP on
SET client_min_messages = warning;
CREATE EXTENSION kde_aqp;
CREATE SCHEMA load;

-- Who asks: may read every table, those made during the load included, and own none.
CREATE ROLE asker LOGIN;
GRANT USAGE ON SCHEMA load TO asker;
ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO asker;

CREATE TABLE load.state (name text PRIMARY KEY, state integer NOT NULL) WITH (fillfactor = 50);
CREATE TABLE load.expected (
  name text, state integer, question text, answer double precision NOT NULL,
  PRIMARY KEY (name, state, question));

-- Fails the client, and so the run (run.sh looks for KD001 in the server's log, too).
CREATE FUNCTION load.must(question text, answer double precision, wanted double precision) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF answer IS DISTINCT FROM wanted THEN
    RAISE 'wrong answer: % is %, not %', question, answer, wanted USING ERRCODE = 'KD001';
  END IF;
  RETURN true;
END $$;

-- The answer of a query, or null where what it asks about is being dropped, created or renamed. Any
-- other error is the run's.
CREATE FUNCTION load.answer_if_there(query text) RETURNS double precision LANGUAGE plpgsql AS $$
DECLARE
  answer double precision;
BEGIN
  EXECUTE query INTO answer;
  RETURN answer;
EXCEPTION WHEN undefined_table OR undefined_column OR undefined_object THEN
  RETURN NULL;
END $$;

-- Two contents, of which nothing is alike: every question tells them apart.
CREATE TABLE alternating (v double precision, w integer, d date);
CREATE FUNCTION load.fill_alternating(state integer) RETURNS void LANGUAGE sql AS $$
  INSERT INTO alternating
  SELECT 100 * state + exp(2 * sin(i)) + i % 7, (i * (3 + state)) % 40, date '2026-01-01' + (i % (300 + 50 * state))::integer
  FROM generate_series(1, 1500 + 500 * state) AS i;
$$;
CREATE FUNCTION load.fit_alternating() RETURNS void LANGUAGE sql AS $$
  SELECT kde_fit('alternating', 'v', seed => 7), kde_fit('alternating', 'd', seed => 7),
         kde_fit('alternating', ARRAY['v', 'w'], seed => 7);
$$;

-- What is asked of `alternating` in one statement. Every form of the functions, and every density.
CREATE VIEW load.answers AS
SELECT question, answer FROM (VALUES
    ('count', approx_count('alternating.v', 1, 104)),
    ('sum', approx_sum('alternating.v', 1, 104)),
    ('avg', approx_avg(kde_density('alternating.v'), 1, 104)),
    ('quantile', approx_quantile('alternating.v', 0.9)),
    ('count of dates', approx_count('alternating.d', '2026-02-01', '2026-03-31')),
    ('interval', (SELECT lower_bound + 2 * upper_bound FROM approx_count_ci('alternating.v', 1, 104))),
    ('histogram', (SELECT sum(bin * count) FROM approx_histogram('alternating.v', 12))),
    ('box', approx_count('alternating (v, w)', lower => ARRAY[1, 3], upper => ARRAY[104, 30])),
    ('sum in a box', approx_sum('alternating (v)', measure => 'w', lower => ARRAY[1], upper => ARRAY[104])),
    ('rows of the view', (SELECT sum(rows) FROM kde_densities_full WHERE relation = 'alternating'::regclass))
  ) AS a (question, answer);

-- Leaves both answers of a table's states behind.
CREATE PROCEDURE load.expect_alternating() LANGUAGE plpgsql AS $$
BEGIN
  FOR s IN REVERSE 1 .. 0 LOOP
    TRUNCATE alternating;
    PERFORM load.fill_alternating(s);
    PERFORM load.fit_alternating();
    INSERT INTO load.expected SELECT 'alternating', s, question, answer FROM load.answers;
  END LOOP;
  INSERT INTO load.state VALUES ('alternating', 0);
END $$;
CALL load.expect_alternating();
SELECT count(*) AS alike FROM load.expected AS a JOIN load.expected AS b USING (name, question)
WHERE a.state = 0 AND b.state = 1 AND a.answer = b.answer \gset
\if :alike
\warn 'questions that do not tell the states apart:' :alike
SELECT 1 / 0;
\endif

-- The other content, its densities fitted anew or refreshed, and its state.
CREATE PROCEDURE load.alternate(by_refresh boolean) LANGUAGE plpgsql AS $$
DECLARE
  new_state integer;
BEGIN
  UPDATE load.state SET state = 1 - state WHERE name = 'alternating' RETURNING state INTO new_state;
  TRUNCATE alternating;
  PERFORM load.fill_alternating(new_state);
  IF by_refresh THEN
    PERFORM kde_refresh('alternating', force => true);
  ELSE
    PERFORM load.fit_alternating();
  END IF;
END $$;

-- One state alone, whatever is done to the tables: renamed to and fro, truncated and reloaded, dropped
-- and made again.
CREATE TABLE renaming AS SELECT sin(i) * i AS v FROM generate_series(1, 2000) AS i;
CREATE TABLE reloaded (v double precision);
CREATE FUNCTION load.fill_reloaded() RETURNS void LANGUAGE sql AS $$
  INSERT INTO reloaded SELECT cos(i) * i FROM generate_series(1, 2000) AS i;
$$;
SELECT load.fill_reloaded();
CREATE TABLE doomed AS SELECT (i % 100)::numeric(6, 2) AS v FROM generate_series(1, 1000) AS i;
CREATE TABLE steady AS SELECT exp(3 * sin(i)) AS v, i % 50 AS w FROM generate_series(1, 20000) AS i;
SELECT kde_fit('renaming', 'v', seed => 7), kde_fit('reloaded', 'v', seed => 7), kde_fit('doomed', 'v', seed => 7),
       kde_fit('steady', 'v', seed => 7), kde_fit('steady', ARRAY['v', 'w'], seed => 7) \g /dev/null
INSERT INTO load.expected
SELECT t, 0, 'count', approx_count(t || '.v', -50, 50) FROM unnest(ARRAY['renaming', 'reloaded', 'doomed', 'steady']) AS t
UNION ALL SELECT 'steady', 0, 'sum', approx_sum('steady.v', -50, 50)
UNION ALL SELECT 'steady', 0, 'box', approx_count('steady (w, v)', lower => ARRAY[3, 0], upper => ARRAY[30, 5]);
-- The value of a density, kept.
CREATE TABLE load.kept AS SELECT kde_density('steady.v') AS density;

-- Plain SQL. Two contents, of twice as many rows; of each the exact answers in closed form, as there are as many
-- rows of each v (of 100), w (of 50), day (of 60) and remainder by 7, from which labels are: 1 : 2 : 4 of 7. Its
-- rows are deleted, not truncated, and no DDL rewrites it: a snapshot sees the rows of its own state.
CREATE TYPE label AS ENUM ('low', 'mid', 'high');
CREATE TABLE plain (v integer, w integer, day date NOT NULL, kind label);
CREATE FUNCTION load.fill_plain(state integer) RETURNS void LANGUAGE sql AS $$
  INSERT INTO plain SELECT i % 100, i % 50, date '2026-01-01' + i % 60,
    (enum_range(NULL::label))[CASE WHEN i % 7 < 1 THEN 1 WHEN i % 7 < 3 THEN 2 ELSE 3 END]
  FROM generate_series(1, 4200 * (1 + state)) AS i;
$$;
-- In the order of the first fits, whatever the columns' names are by now.
CREATE FUNCTION load.fit_plain() RETURNS void LANGUAGE sql AS $$
  SELECT kde_fit('plain', attname, sample_rows => -1) FROM (
    SELECT attname FROM pg_attribute WHERE attrelid = 'plain'::regclass AND attnum IN (1, 2) ORDER BY attnum) AS a;
  SELECT kde_fit('plain', 'day', sample_rows => -1, group_by => 'kind');
$$;
-- Where a change of names could not wait for the catalog (a WARNING says so), densities keep the old names, and
-- the new ones have none until the next fit.
CREATE FUNCTION load.drop_plain() RETURNS void LANGUAGE sql AS $$
  SELECT kde_drop('plain.' || attname, if_exists => true) FROM (
    SELECT attname FROM pg_attribute WHERE attrelid = 'plain'::regclass AND attnum IN (1, 2) ORDER BY attnum) AS a;
  SELECT kde_drop('plain.day by (kind)'), kde_drop('plain.day', if_exists => true);
$$;
CREATE FUNCTION load.withdraw_consent() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  -- No fit comes between.
  PERFORM state FROM load.state WHERE name = 'plain' FOR UPDATE;
  PERFORM kde_set_plain_sql('plain.v', false);
EXCEPTION WHEN undefined_object THEN
  PERFORM FROM kde_aqp.fitted AS f JOIN pg_attribute AS a ON attrelid = relation AND attnum = attribute_numbers[1]
  WHERE relation = 'plain'::regclass AND attname <> column_names[1];
  IF NOT FOUND THEN RAISE; END IF;
END $$;
-- The other content; v and w change their names, too.
CREATE PROCEDURE load.alternate_plain() LANGUAGE plpgsql AS $$
DECLARE
  new_state integer;
BEGIN
  UPDATE load.state SET state = 1 - state WHERE name = 'plain' RETURNING state INTO new_state;
  DELETE FROM plain;
  PERFORM load.fill_plain(new_state);
  PERFORM load.fit_plain();
END $$;
CREATE PROCEDURE load.swap_names() LANGUAGE plpgsql AS $$
BEGIN
  ALTER TABLE plain RENAME v TO other;
  ALTER TABLE plain RENAME w TO v;
  ALTER TABLE plain RENAME other TO w;
  UPDATE load.state SET state = 1 - state WHERE name = 'names of plain';
END $$;
SELECT load.fill_plain(0), load.fit_plain() \g /dev/null
-- Not that of the days alone, which a fit leaves as it is where another session fits it.
SELECT kde_set_plain_sql(name, true) FROM kde_densities_full WHERE relation = 'plain'::regclass AND name <> 'plain.day' \g /dev/null
INSERT INTO load.state VALUES ('plain', 0), ('names of plain', 0);
-- Who asks it.
CREATE ROLE plain_asker LOGIN IN ROLE asker;
ALTER ROLE plain_asker SET kde_aqp.approximate = top;
ALTER ROLE plain_asker SET kde_aqp.approximate_notice = off;
-- Asked while it is dropped and made, its column renamed, the type of it changed.
CREATE TABLE shifting AS SELECT i % 100 AS v FROM generate_series(1, 1000) AS i;
SELECT kde_fit('shifting', 'v', sample_rows => -1), kde_set_plain_sql('shifting.v', true) \g /dev/null

-- Plain SQL on a tree whose rows others insert, update, delete and take back, that is vacuumed, frozen, written anew
-- and refreshed meanwhile: in one statement, so by one snapshot, the answer of a density and that of the exact plan,
-- which a condition on ctid keeps for itself.
CREATE TABLE growing (id bigint, at timestamptz NOT NULL, kind text, n integer, amount numeric(12, 2), other integer)
PARTITION BY RANGE (at);
CREATE TABLE growing_early PARTITION OF growing FOR VALUES FROM ('2025-01-01') TO ('2026-02-01');
CREATE TABLE growing_before (LIKE growing);
CREATE TABLE growing_late (amount numeric(12, 2), gone integer, other integer, kind text, id bigint, n integer, at timestamptz NOT NULL);
ALTER TABLE growing_late DROP COLUMN gone;
ALTER TABLE growing ATTACH PARTITION growing_late FOR VALUES FROM ('2026-02-01') TO (MAXVALUE);
CREATE INDEX ON growing (id);
CREATE FUNCTION load.grown(first bigint, last bigint) RETURNS SETOF growing LANGUAGE sql AS $$
  SELECT i, timestamptz '2026-01-01' + i * interval '7 minutes', (ARRAY['a', 'b', NULL])[1 + i % 3], (i * 104729 % 50)::integer,
    CASE WHEN i % 31 > 0 THEN (i * 7919 % 1000) / 100.0 END, 0
  FROM generate_series(first, last) AS i;
$$;
INSERT INTO growing SELECT * FROM load.grown(1, 12000);
INSERT INTO growing_before SELECT id, at - interval '2 years', kind, n, amount, other FROM load.grown(1, 500);
CREATE SEQUENCE load.growing_id START 12001;
SELECT kde_fit('growing', 'at', sample_rows => -1, measures => '{amount,n}', group_by => 'kind'),
       kde_fit('growing', 'n', sample_rows => -1, measures => '{amount}'), kde_fit('growing', 'kind', sample_rows => -1) \g /dev/null
SELECT kde_set_plain_sql(name, true) FROM kde_densities_full WHERE relation = 'growing'::regclass \g /dev/null
-- How often a density answered.
CREATE SEQUENCE load.growing_answers;
CREATE FUNCTION load.ask_growing(number integer) RETURNS text LANGUAGE plpgsql
SET kde_aqp.approximate = 'all' SET kde_aqp.approximate_error = 0 SET kde_aqp.approximate_notice = off AS $$
DECLARE
  query CONSTANT text := (ARRAY[
    'SELECT kind, count(*), sum(amount), avg(n) FROM growing WHERE at >= ''2026-01-20'' AND %s GROUP BY kind',
    'SELECT date_trunc(''day'', at), count(*), sum(amount) FROM growing WHERE at >= ''2026-01-20'' AND %s GROUP BY 1',
    'SELECT count(*), sum(amount) FROM growing WHERE kind = ''new'' AND at < ''2026-03-01'' AND %s',
    'SELECT n, count(*), sum(amount) FROM growing WHERE %s GROUP BY n',
    'SELECT kind, count(*) FROM growing WHERE %s GROUP BY kind HAVING count(*) > 10'])[number];
  rows_of CONSTANT text := '(SELECT coalesce(string_agg(r::text, '' '' ORDER BY r::text), '''') FROM (%s) AS r)';
  answers CONSTANT text := 'SELECT sum(statements) FROM kde_plain_sql WHERE outcome LIKE ''answered%''';
  before numeric;
  after numeric;
  got text;
  exact text;
BEGIN
  EXECUTE answers INTO before;
  EXECUTE format('SELECT ' || rows_of || ', ' || rows_of, format(query, 'true'), format(query, 'ctid IS NOT NULL'))
    INTO got, exact;
  IF got IS DISTINCT FROM exact THEN
    RAISE 'wrong answer: % is %, not %', query, got, exact USING ERRCODE = 'KD001';
  END IF;
  EXECUTE answers INTO after;
  IF after IS DISTINCT FROM before THEN PERFORM nextval('load.growing_answers'); END IF;
  RETURN exact;
END $$;

-- Rows that take a while to fit.
CREATE TABLE big AS
SELECT exp(3 * sin(i)) AS x, cos(i) * sqrt(i) AS y, i % 1000 AS z FROM generate_series(1, 300000) AS i;
VACUUM ANALYZE;
