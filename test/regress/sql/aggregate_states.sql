-- The state of kde_agg and rollup as a value: aggregates in parts, by hand what Citus does (a partial state a
-- piece of the table, moved as text or binary, combined and finished), and states that nobody's aggregate wrote.
\set ECHO none \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS aggregate_states CASCADE;
CREATE SCHEMA aggregate_states;
SET search_path = aggregate_states, public;
RESET client_min_messages;
SET timezone = 'UTC';

CREATE TABLE t AS SELECT i, i % 7 AS piece, i % 3 AS g, (i % 50)::smallint AS int2, i % 60 AS int4, (i % 70)::bigint AS int8, (i % 30 / 4.0)::real AS float4,
  CASE WHEN i % 11 > 0 THEN i % 40 / 8.0::float8 END AS float8, i % 90 / 10.0 AS "numeric", date '2026-01-01' + i % 20 AS "date",
  time '00:00' + i % 30 * interval '1 minute' AS "time", timestamp '2026-01-01' + i % 40 * interval '1 hour' AS "timestamp",
  timestamptz '2026-01-01' + i % 40 * interval '1 minute' AS "timestamptz", i % 40 * interval '1 second' AS "interval",
  (i % 25)::float8 AS y
FROM generate_series(1, 2000) AS i;
CREATE TABLE fits (piece integer, d kde);
CREATE TABLE parts AS SELECT piece, g, kde_agg(int4, y) AS d FROM t GROUP BY piece, g;

-- For each form of an aggregate those of its parts and of the parts.
CREATE AGGREGATE finished(kde_aqp.agg_state) (
  SFUNC = kde_aqp.agg_combine, STYPE = kde_aqp.agg_state, FINALFUNC = kde_aqp.agg_final);
CREATE FUNCTION in_parts(form oid, arguments text, source text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  form record;
  same text;
BEGIN
  SELECT a.*, pg_get_function_identity_arguments(a.aggfnoid) AS arguments INTO form FROM pg_aggregate AS a WHERE a.aggfnoid = in_parts.form;
  EXECUTE format('CREATE AGGREGATE partial(%s) (SFUNC = %s, STYPE = kde_aqp.agg_state)', form.arguments, form.aggtransfn);
  EXECUTE format($q$
    WITH p AS MATERIALIZED (SELECT piece, aggregate_states.partial(%1$s) AS s FROM %2$s GROUP BY piece),
      moved AS MATERIALIZED (SELECT s::text::kde_aqp.agg_state AS s FROM p)
    SELECT concat_ws(' ', (SELECT finished(s)::text FROM p) = (SELECT %3$s(%1$s)::text FROM %2$s),
      (SELECT finished(s)::text FROM moved) = (SELECT %3$s(%1$s)::text FROM %2$s)) $q$, arguments, source, form.aggfnoid::regproc) INTO same;
  EXECUTE format('DROP AGGREGATE partial(%s)', form.arguments);
  RETURN same;
END $$;
\set ECHO queries
-- Each type, and each form.
SELECT t, string_agg(DISTINCT in_parts(p.oid, format('%I', a.attname) ||
    CASE p.pronargs WHEN 1 THEN '' WHEN 3 THEN ', ''plugin'', i' WHEN 4 THEN ', ''auto'', 1, 2000'
      ELSE CASE WHEN p.proargtypes[1] = 'float8'::regtype THEN ', y' ELSE ', ''plugin''' END END, 't'), ',') AS same, count(*)
FROM pg_proc AS p, LATERAL format_type(p.proargtypes[0], NULL) AS t, pg_attribute AS a
WHERE p.proname = 'kde_agg' AND t <> 'anyelement' AND a.attrelid = 't'::regclass AND a.attnum > 3 AND a.attname <> 'y' AND a.atttypid = p.proargtypes[0]
GROUP BY t ORDER BY t COLLATE "C";
-- Roll-ups: of parts with a measure, and of fits with groups and of samples.
SELECT in_parts('rollup(kde)'::regprocedure, 'd', 'parts'), in_parts('rollup(kde,integer)'::regprocedure, 'd, 4096', 'parts');
DO $$
BEGIN
  FOR k IN 0..6 LOOP
    EXECUTE format('CREATE TABLE piece%1$s AS SELECT * FROM t WHERE piece = %1$s', k);
    PERFORM kde_fit('piece' || k, 'int4', sample_rows => -1, group_by => 'g');
    INSERT INTO fits SELECT k, kde_density(format('piece%s', k)::regclass, 'int4');
  END LOOP;
END $$;
SELECT in_parts('rollup(kde)'::regprocedure, 'd', 'fits');
-- Densities by a kernel wait in the state, to be added up at once.
CREATE AGGREGATE partial(kde) (SFUNC = kde_aqp.rollup_row, STYPE = kde_aqp.agg_state);
SELECT approx_count(finished(s)) FROM (
  SELECT partial(d) AS s FROM (SELECT piece, g, kde_agg(float8, 'plugin') AS d FROM t GROUP BY piece, g) AS d GROUP BY piece) AS p;

-- A state of a few rows is smaller than these, and one of many than as many numbers.
CREATE AGGREGATE partial(float8) (SFUNC = kde_aqp.agg_row, STYPE = kde_aqp.agg_state, COMBINEFUNC = kde_aqp.agg_combine, PARALLEL = SAFE);
CREATE AGGREGATE partial(float8, float8) (SFUNC = kde_aqp.agg_measure_row, STYPE = kde_aqp.agg_state);
SELECT pg_column_size(partial(sqrt(i))) < 200 AS three, pg_column_size(partial(i, i)) < 200 AS measured FROM generate_series(1, 3) AS i;
SELECT pg_column_size(partial(sqrt(i))) < 16 * count(*) AS many FROM generate_series(1, 1000) AS i;

-- Nothing is lost where a state is NULL, begins as bytes, is finished twice, or is somebody else's: that is left alone.
CREATE TABLE part AS SELECT piece, partial(float8) AS part FROM t GROUP BY piece UNION ALL SELECT 7, NULL;
SELECT approx_count(finished(part)), approx_count(kde_aqp.agg_final(max(part::text)::kde_aqp.agg_state)) > 0 AS single,
  finished(part) FILTER (WHERE part IS NULL) IS NULL AS none FROM part;
SELECT count(DISTINCT n), max(n) FROM (
  SELECT approx_count(finished(part) OVER (ORDER BY piece ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)) AS n FROM part) AS s;
SELECT piece, approx_count(finished(part) OVER (ORDER BY piece ROWS 1 PRECEDING)) AS two FROM part ORDER BY piece;
SELECT approx_count(kde_agg(float8) OVER w) AS rows, count(float8) OVER w AS exact FROM t WHERE i < 9 WINDOW w AS (ORDER BY i ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING);
SELECT approx_count(kde_agg(DISTINCT float8)) = count(DISTINCT float8) AS different, approx_count(kde_agg(float8 ORDER BY i DESC)) AS sorted,
  approx_count(kde_agg(float8) FILTER (WHERE i < 100)) AS some FROM t;
DO $$
DECLARE
  first text := (SELECT part::text FROM part WHERE piece = 0);
BEGIN
  EXECUTE format('CREATE AGGREGATE go_on(float8) (SFUNC = kde_aqp.agg_row, STYPE = kde_aqp.agg_state, FINALFUNC = kde_aqp.agg_final, INITCOND = %L)', first);
  EXECUTE format('CREATE AGGREGATE go_on(integer) (SFUNC = kde_aqp.agg_row, STYPE = kde_aqp.agg_state, FINALFUNC = kde_aqp.agg_final, INITCOND = %L)', first);
  EXECUTE format('CREATE AGGREGATE go_on(float8, float8) (SFUNC = kde_aqp.agg_measure_row, STYPE = kde_aqp.agg_state, FINALFUNC = kde_aqp.agg_final, INITCOND = %L)', first);
  EXECUTE format('CREATE AGGREGATE go_on(integer, VARIADIC "any") (SFUNC = kde_aqp.cells_row, STYPE = kde_aqp.agg_state, FINALFUNC = kde_aqp.agg_final, INITCOND = %L)', first);
END $$;
SELECT go_on(float8)::text = (SELECT kde_agg(float8)::text FROM t) AS goes_on FROM t WHERE piece <> 0;
SELECT q, try(format('SELECT approx_count(go_on(%s)) FROM t', q)) FROM unnest(ARRAY['int4', 'float8, y', '0, float8, y, y']) AS q;

-- What changes a state takes that of the aggregate that calls alone.
SELECT q, try('SELECT ' || q) FROM unnest(ARRAY['kde_aqp.agg_row(NULL, 1)', 'kde_aqp.agg_row(part, 1.5::float8) FROM part',
  'kde_aqp.agg_combine(NULL, NULL)', 'kde_aqp.agg_combine(part, part) FROM part', 'kde_aqp.rollup_row(part, NULL) FROM part']) AS q;

-- Hashed, with more groups than memory has room for; by workers. Each group's rows are those of SQL.
SET work_mem = '64kB';
SET enable_sort = off;
SELECT count(*), bool_and(approx_count(d, 1, 3) = exact) AS exact
FROM (SELECT i % 2000 AS k, kde_agg(v) AS d, count(*) FILTER (WHERE v BETWEEN 1 AND 3) AS exact
      FROM (SELECT i, sqrt(i % 40) AS v FROM generate_series(1, 20000) AS i) AS s GROUP BY k) AS a;
RESET work_mem;
RESET enable_sort;

-- Bytes that no aggregate wrote are an error of their own, whatever was done to them, or a state; never more than that.
SELECT q, try('SELECT ' || q) FROM unnest(ARRAY['''''::kde_aqp.agg_state', '''\x00''::kde_aqp.agg_state', '''x''::kde_aqp.agg_state',
  '''\x0541444b''::kde_aqp.agg_state', '''\x0541444b000000''::kde_aqp.agg_state', '''\x0541444b01''::kde_aqp.agg_state', '(''\x0541444b'' || repeat(''00ff'', 5000))::kde_aqp.agg_state']) AS q;
CREATE FUNCTION tampered(good bytea) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  bad text;
BEGIN
  FOR at IN 0 .. length(good) - 1 LOOP
    FOREACH bad IN ARRAY ARRAY[substring(good, 1, at)::text, set_byte(good, at, get_byte(good, at) # 1)::text,
      set_byte(good, at, get_byte(good, at) # 128)::text, set_byte(good, at, 255)::text, set_byte(good, at, 0)::text]
    LOOP
      CONTINUE WHEN bad = good::text;
      RETURN NEXT (SELECT substring(answer, 1, 5) FROM try(format('SELECT approx_quantile(finished(s), 0.3) IS NULL '
        'FROM (VALUES (%1$L::kde_aqp.agg_state), (%1$L)) AS v(s)', bad)) AS answer LIMIT 1);
    END LOOP;
  END LOOP;
END $$;
SELECT result, count(*) > 50 AS many FROM (
  SELECT tampered(kde_aqp.agg_state_send(partial(sqrt(i)))) FROM generate_series(1, 5) AS i
  UNION ALL SELECT tampered(kde_aqp.agg_state_send(partial(i, i))) FROM generate_series(1, 4) AS i) AS s(result) GROUP BY 1 ORDER BY 1;

-- Over a window an inverse transition of anybody's might take a state and free it.
CREATE FUNCTION taken(s kde_aqp.agg_state, x float8) RETURNS kde_aqp.agg_state LANGUAGE plpgsql AS $$ BEGIN RETURN s; END $$;
CREATE AGGREGATE moving(float8) (sfunc = kde_aqp.agg_row, stype = kde_aqp.agg_state, finalfunc = kde_aqp.agg_final,
  msfunc = kde_aqp.agg_row, minvfunc = taken, mstype = kde_aqp.agg_state, mfinalfunc = kde_aqp.agg_final);
SELECT try($$SELECT moving(i::float8) OVER (ORDER BY i ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM generate_series(1, 20) AS i$$);
-- Columns as wide as double precision, in parts and whole; and rows that their weights lose.
SELECT approx_count(kde_agg(x), 0, NULL) AS half FROM (SELECT i * (1.7976931348623157e308 / 17000) AS x FROM generate_series(-17000, 17000) AS i) AS v GROUP BY x IS NULL;
SELECT try($$SELECT kde_agg(x, 'auto', w) FROM (VALUES (1e300::float8, 1::float8), (1, 1), ('nan', 1e18)) AS v(x, w)$$);
SELECT round(approx_count(kde_agg(x, 'auto', w))::numeric, 6) AS of_no_number FROM (VALUES ('nan'::float8, 0.7::float8), ('inf', 0.1), ('-inf', 0.2)) AS v(x, w);

-- The binary form, as COPY brings it.
CREATE TABLE received (s kde_aqp.agg_state);
SELECT receive(kde_aqp.agg_state_send(part)) AS binary FROM part WHERE piece = 0;
SELECT r.s::text = part::text AS same, approx_count(kde_aqp.agg_final(r.s)) FROM received AS r, part WHERE piece = 0;
SELECT receive(substring(kde_aqp.agg_state_send(part), 1, 99)) AS cut FROM part WHERE piece = 0;

SET client_min_messages = warning;
DROP SCHEMA aggregate_states CASCADE;
