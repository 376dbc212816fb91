-- Honest company: the same three counts by what else PostgreSQL has for them, each with what it takes to build, its
-- size, its error and the time of a statement. One at a time: an index is dropped before the next way is measured.
-- demo.questions holds what is asked, demo.company what came out. Needs ask.sql.
CREATE TABLE demo.questions (n integer, tab text, col text, low text, high text, label text, exact double precision);
CREATE TABLE demo.company (
  position integer GENERATED ALWAYS AS IDENTITY, way text, build_us double precision, bytes bigint, n integer,
  answer double precision, us double precision);

-- A template's {tab}, {col}, {low}, {high} as identifiers and literals, {regclass} and {literal} as texts of their names, {name} as the
-- density's, {x} as the column's number, {bucket} as the
-- start of the bucket of a summary that a bound or the column lies in: a day, or a round width.
CREATE FUNCTION demo.fill(template text, q demo.questions) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  number boolean := demo.is_number(q.tab, q.col);
  span double precision;
  width numeric;
  filled text := template;
BEGIN
  IF template LIKE '%{bucket%' AND number THEN
    EXECUTE format('SELECT max(%I) - min(%1$I) FROM %I', q.col, q.tab) INTO span;
    width := 10::numeric ^ greatest(-2, floor(log(greatest(span, 1)) - 2.7)::integer);
  END IF;
  filled := regexp_replace(filled, '\{bucket (\w+)\}', CASE WHEN number THEN format('floor({\1} / %s) * %1$s', width)
                                                            ELSE 'date_trunc(''day'', {\1}::timestamptz)' END, 'g');
  filled := regexp_replace(filled, '\{x (\w+)\}', CASE WHEN number THEN '{\1}::double precision'
                                                       ELSE 'extract(epoch FROM {\1}::timestamptz)::double precision' END, 'g');
  filled := replace(filled, '{tab}', quote_ident(q.tab));
  filled := replace(filled, '{col}', quote_ident(q.col));
  filled := replace(filled, '{name}', quote_literal(format('%I.%I', q.tab, q.col)));
  filled := replace(filled, '{regclass}', quote_literal(quote_ident(q.tab)));
  filled := replace(filled, '{literal}', quote_literal(q.col));
  filled := replace(filled, '{object}', 'demo_' || left(md5(q.col), 8));
  filled := replace(filled, '{low}', CASE WHEN number THEN q.low ELSE quote_literal(q.low) END);
  RETURN replace(filled, '{high}', CASE WHEN number THEN q.high ELSE quote_literal(q.high) END);
END $$;

-- The planner's estimate of the rows of a statement.
CREATE FUNCTION demo.planned(statement text) RETURNS double precision LANGUAGE plpgsql AS $$
DECLARE
  plan json;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT JSON) ' || statement INTO plan;
  RETURN (plan -> 0 -> 'Plan' ->> 'Plan Rows')::double precision;
END $$;

-- One way: what builds it for a column (once per column), what its size is, what asks, what takes it away.
CREATE PROCEDURE demo.go(way text, build text, size text, ask text, undo text DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE
  q demo.questions;
  started timestamptz;
  built double precision := 0;
  part bigint;
  total bigint := 0;
  r record;
BEGIN
  PERFORM demo.say(way);
  FOR q IN SELECT DISTINCT ON (col) * FROM demo.questions ORDER BY col, n LOOP
    IF build IS NOT NULL THEN
      started := clock_timestamp();
      EXECUTE demo.fill(build, q);
      built := built + extract(epoch FROM clock_timestamp() - started) * 1e6;
    END IF;
    IF size IS NOT NULL THEN
      EXECUTE demo.fill('SELECT ' || size, q) INTO part;
      total := total + part;
    END IF;
  END LOOP;
  FOR q IN SELECT * FROM demo.questions ORDER BY n LOOP
    SELECT * INTO r FROM demo.timed(demo.fill(ask, q));
    INSERT INTO demo.company (way, build_us, bytes, n, answer, us)
    VALUES (go.way, built, total, q.n, (r.answer ->> 'estimate')::double precision, r.us);
  END LOOP;
  FOR q IN SELECT DISTINCT ON (col) * FROM demo.questions ORDER BY col, n LOOP
    IF undo IS NOT NULL THEN EXECUTE demo.fill(undo, q); END IF;
  END LOOP;
END $$;

CREATE PROCEDURE demo.meet() LANGUAGE plpgsql AS $$
DECLARE
  exactly text := 'SELECT count(*) AS estimate FROM {tab} WHERE {col} BETWEEN {low} AND {high}';
BEGIN
  CALL demo.go('exact SQL, no index', NULL, NULL, exactly);
  UPDATE demo.questions AS q SET exact = c.answer FROM demo.company AS c WHERE c.n = q.n;
  CALL demo.go('exact SQL, B-tree index', 'CREATE INDEX {object} ON {tab} ({col})', 'pg_table_size(''{object}'')', exactly,
               'DROP INDEX {object}');
  CALL demo.go('exact SQL, BRIN index', 'CREATE INDEX {object} ON {tab} USING brin ({col})', 'pg_table_size(''{object}'')',
               exactly, 'DROP INDEX {object}');
  CALL demo.go('summary materialized view',
    'CREATE MATERIALIZED VIEW demo.{object} AS SELECT {bucket col} AS bucket, count(*) AS rows FROM {tab} GROUP BY 1',
    'pg_table_size(''demo.{object}'')',
    'SELECT sum(rows) AS estimate FROM demo.{object} WHERE bucket >= {bucket low} AND bucket <= {high}',
    'DROP MATERIALIZED VIEW demo.{object}');
  CALL demo.go('planner''s estimate', 'ANALYZE {tab} ({col})',
    '(SELECT pg_column_size(s) FROM pg_statistic AS s JOIN pg_attribute ON attrelid = starelid AND attnum = staattnum '
    'WHERE attrelid = {regclass}::regclass AND attname = {literal})',
    'SELECT demo.planned($q$SELECT FROM {tab} WHERE {col} BETWEEN {low} AND {high}$q$) AS estimate');
  CALL demo.go('TABLESAMPLE SYSTEM (1)', NULL, NULL,
    'SELECT 100 * count(*) AS estimate FROM {tab} TABLESAMPLE SYSTEM (1) REPEATABLE (1) WHERE {col} BETWEEN {low} AND {high}');
  IF EXISTS (SELECT FROM pg_available_extensions WHERE name = 'tdigest') THEN
    CREATE EXTENSION IF NOT EXISTS tdigest;
    CALL demo.go('t-digest (1000)', 'CREATE TABLE demo.{object} AS SELECT tdigest({x col}, 1000) AS d FROM {tab}',
      '(SELECT pg_column_size(d) FROM demo.{object})',
      'SELECT tdigest_count(d) * (share[2] - share[1]) AS estimate FROM demo.{object}, LATERAL '
      '(SELECT tdigest_percentile_of(one.d, ARRAY[{x low}, {x high}]) AS share FROM (SELECT d) AS one) AS s',
      'DROP TABLE demo.{object}');
  ELSE
    INSERT INTO demo.company (way, n) SELECT 't-digest: not installed', n FROM demo.questions;
  END IF;
  CALL demo.go('kde_aqp', 'SELECT kde_fit({regclass}, {literal}, seed => 1)',
    '(SELECT bytes FROM demo.densities WHERE name = {name})',
    'SELECT estimate FROM approx_count_ci({name}, {low}, {high})');
END $$;

-- What each takes to keep, and when it is the better choice.
CREATE TABLE demo.advice (way text, upkeep text, better text);
INSERT INTO demo.advice VALUES
  ('exact SQL, no index', 'none', 'The figure is due to the cent, or seconds do not matter.'),
  ('B-tree index', 'every write; VACUUM for index-only scans',
   'Few rows of the range: exact at once. It is slow again where the range holds a good part of the table, and large.'),
  ('BRIN index', 'little; new blocks by VACUUM',
   'The column follows the order of the table, as times of arrival do: exact and nearly free. Elsewhere it does not help.'),
  ('summary view', 'REFRESH reads the whole table',
   'The questions are known before: exact, and fast, as long as a range ends where a bucket does.'),
  ('planner''s estimate', 'ANALYZE, which autovacuum runs',
   'An order of magnitude will do, as for a progress bar. COUNT alone, and no interval.'),
  ('TABLESAMPLE', 'none: it reads a part of the table for each question',
   'Any statement, joins and expressions too, in a part of the time; columns that nobody fitted. Not for what lies in few blocks.'),
  ('t-digest', 'aggregated anew, or added up by piece',
   'Percentiles of a stream, mostly at the tails, that are added up over time. Not for ranges about a value that many rows share. No interval.'),
  ('kde_aqp', 'by itself, or kde_refresh: reads a sample',
   'Any range of fitted columns, mean, sum and quantile, in well under a millisecond, and an interval says how far to trust it.');
