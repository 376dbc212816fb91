-- Columns that have no rows' values, by name, to everything that takes a column: system columns and dropped
-- ones. No row that is read has them, so none of them may reach a reader.
\pset tuples_only
\pset format unaligned
CREATE SCHEMA column_names;
SET search_path = column_names, public;
SET kde_aqp.stale = ignore;

CREATE TABLE t (v integer, gone integer, w integer, s text);
INSERT INTO t SELECT i, i, i % 7, 's' || i % 3 FROM generate_series(1, 100) AS i;
ALTER TABLE t DROP gone;
SELECT rows FROM kde_fit('t', 'v', measures => ARRAY['w'], seed => 1);

CREATE TABLE calls (call text);
INSERT INTO calls VALUES
  ($$kde_sample('t', %L)$$), ($$kde_sample('pg_catalog.pg_class', %L)$$),
  ($$kde_fit('t', %L::name)$$), ($$kde_fit('t', ARRAY[%L])$$), ($$kde_fit('t', ARRAY['v', %L])$$),
  ($$kde_fit('t', 'v', measures => ARRAY[%L])$$), ($$kde_fit('t', 'v', group_by => quote_ident(%L))$$),
  ($$kde_fit('t', 'v', filter => quote_ident(%L) || ' IS NOT NULL')$$),
  ($$kde_fit('t', ARRAY[quote_ident(%L) || '::text'])$$),
  ($$kde_store('t', %L, kde_sample('t', 'v'))$$), ($$kde_store('t', 'v', kde_sample('t', 'v'), measures => ARRAY[%L])$$),
  ($$kde_aqp.shard_density('t', ARRAY[%L], NULL, NULL, 'auto', true, 10, 10000, 1)$$),
  ($$kde_aqp.shard_density('t', ARRAY['v'], ARRAY[%L], NULL, 'auto', true, 10, 10000, 1)$$),
  ($$kde_density('t', %L::name)$$), ($$kde_density('t', ARRAY[%L])$$), ($$kde_density('t.' || quote_ident(%L))$$),
  ($$kde_drop('t.' || quote_ident(%L))$$), ($$kde_drop('t.' || quote_ident(%L), if_exists => true)$$),
  ($$kde_drift('t.' || quote_ident(%L))$$), ($$kde_self_check('t.' || quote_ident(%L))$$),
  ($$kde_set_refresh('t.' || quote_ident(%L), enabled => true)$$), ($$kde_set_plain_sql('t.' || quote_ident(%L), false)$$),
  ($$approx_count(('t.' || quote_ident(%L))::anykde)$$), ($$approx_sum(('t.' || quote_ident(%L))::anykde)$$),
  ($$approx_avg('t.v', measure => %L)$$), ($$approx_count_ci('t.v', filter => quote_ident(%L) || ' IS NOT NULL')$$),
  ($$approx_count(('t (v, ' || quote_ident(%L) || ')')::anykde, ARRAY[1, 1], ARRAY[2, 2])$$),
  ($$approx_groups(('t.v by (' || quote_ident(%L) || ')')::anykde)$$), ($$approx_groups('t.v', measure => %L)$$),
  ($$approx_quantile(('t.' || quote_ident(%L))::anykde, 0.5)$$), ($$approx_top(('t.' || quote_ident(%L))::anykde)$$),
  ($$approx_histogram(('t.' || quote_ident(%L))::anykde)$$),
  ($$approx_histogram_at(('t.' || quote_ident(%L))::anykde, ARRAY[1, 2])$$),
  ($$kde_pdf(('t.' || quote_ident(%L))::anykde, 1)$$), ($$kde_points(('t.' || quote_ident(%L))::anykde)$$),
  ($$kde_conditional('t.v', ARRAY[1], measure => %L)$$), ($$kde_explain(('t.' || quote_ident(%L))::anykde)$$),
  ($$kde_info(('t.' || quote_ident(%L))::anykde)$$),
  ($$kde_plot('t.' || quote_ident(%L))$$), ($$kde_svg('t.' || quote_ident(%L))$$);
-- A dropped column is no column, and so are none: as an expression, an error of the parser's.
SELECT call, c.name, t.*
FROM calls, unnest(ARRAY['ctid', '........pg.dropped.2........']) WITH ORDINALITY AS c(name, i),
  LATERAL (SELECT string_agg(line, E'\n' ORDER BY n) AS answer
           FROM try('SELECT ' || format(call, c.name)) WITH ORDINALITY AS l(line, n)) AS t
ORDER BY c.i, call COLLATE "C";
-- Every one of them.
SELECT attname, try(format('SELECT kde_sample(''t'', %L)', attname))
FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum < 0 ORDER BY attnum DESC;

-- What needs quotes is written with them by the hint.
ALTER TABLE t ADD "my col" integer DEFAULT 3, ADD "point.ed" integer DEFAULT 4;
CREATE TABLE "my table" AS SELECT * FROM t;
SELECT name, try(format('SELECT approx_count(%L)', name))
FROM unnest(ARRAY['t.my col', 't."my col"', 'my table.v', 'my table.my col', 'my table (v, w)', 'column_names.my table.v',
  '"my table".my col', 't.', 't.my "col', 't (my col)', 'my table']) AS name;

-- Plain SQL and what asks it take any column; densities have no part in these.
SELECT density, count FROM approx_where('t', 'ctid < ''(0,6)''', otherwise => 'exact');
SELECT try($$SELECT approx_where('t', 'v < 5', measure => 'ctid')$$);
SELECT density, answers, reason FROM kde_explain_query('SELECT count(*) FROM t WHERE ctid < ''(0,6)''');
SELECT density, answers, reason FROM kde_explain_query('SELECT tableoid, count(v) FROM t GROUP BY tableoid');
SELECT density, answers, reason FROM kde_explain_query('SELECT count(*) FROM t WHERE t IS NOT NULL');
SELECT count(*) FROM kde_advise(ARRAY['SELECT sum(v) FROM t WHERE ctid < ''(0,6)'' AND v < 9',
  'SELECT tableoid, count(v) FROM t GROUP BY tableoid', 'SELECT count(t) FROM t WHERE t IS NOT NULL']);

DROP SCHEMA column_names CASCADE;
