-- What a server tells about the ranges of a `make accuracy`; test/accuracy/comparators.h says what
-- comes out. Before this go the tables, and
--   measured(column_id, relation, column_name, type, bytes, rows)  the columns
--   range(column_id, range_id, low, high, low_x, high_x, ...)      bounds as text and as numbers
-- and digest.sql.
\set ON_ERROR_STOP on

-- ---------------------------------------------------------------------------------------------
-- This extension: every row read
-- ---------------------------------------------------------------------------------------------
CREATE EXTENSION kde_aqp;
SET maintenance_work_mem = '1GB';
SET client_min_messages = warning;

CREATE FUNCTION sql_counts(c measured) RETURNS TABLE (range_id integer, value double precision)
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM kde_fit(c.relation, c.column_name, sample_rows => -1, seed => 1);
  RETURN QUERY EXECUTE format(
    'SELECT r.range_id, approx_count(%L, r.low::%s, r.high::%s)
     FROM range AS r WHERE r.column_id = %s', format('%s.%I', c.relation, c.column_name), c.type,
    c.type, c.column_id);
END $$;

COPY (SELECT 'sql_count', c.column_id, NULL, NULL, a.range_id, a.value
      FROM measured AS c CROSS JOIN LATERAL sql_counts(c) AS a) TO STDOUT (FORMAT csv);

-- ---------------------------------------------------------------------------------------------
-- The planner
-- ---------------------------------------------------------------------------------------------
CREATE FUNCTION planned_rows(c measured) RETURNS TABLE (range_id integer, value double precision)
LANGUAGE plpgsql AS $$
DECLARE
  r range;
  plan json;
BEGIN
  FOR r IN SELECT * FROM range AS a WHERE a.column_id = c.column_id LOOP
    EXECUTE format('EXPLAIN (FORMAT JSON) SELECT FROM %s WHERE %I BETWEEN %L::%s AND %L::%s',
      c.relation, c.column_name, r.low, c.type, r.high, c.type) INTO plan;
    range_id := r.range_id;
    value := plan -> 0 -> 'Plan' ->> 'Plan Rows';
    RETURN NEXT;
  END LOOP;
END $$;

CREATE TABLE planned (target integer, run integer, column_id integer, range_id integer,
  value double precision);
CREATE PROCEDURE plan_all(target integer, least_rows bigint, runs integer)
LANGUAGE plpgsql AS $$
DECLARE
  relation regclass;
BEGIN
  PERFORM set_config('default_statistics_target', target::text, false);
  FOR run IN 1 .. runs LOOP
    FOR relation IN SELECT DISTINCT c.relation FROM measured AS c LOOP
      EXECUTE format('ANALYZE %s', relation);
    END LOOP;
    INSERT INTO planned SELECT target, run, c.column_id, p.range_id, p.value
      FROM measured AS c CROSS JOIN LATERAL planned_rows(c) AS p WHERE c.rows >= least_rows;
  END LOOP;
END $$;

CALL plan_all(:target_1000, 2000, :runs);
CALL plan_all(:target_10000, 20000, :runs);
COPY (SELECT 'planner', column_id, target, run, range_id, value FROM planned)
  TO STDOUT (FORMAT csv);

-- ---------------------------------------------------------------------------------------------
-- t-digest: every row read, as many bytes as the density has, or the least it can have
-- ---------------------------------------------------------------------------------------------
\if :has_tdigest
CREATE TABLE digested AS
  SELECT c.column_id, d.digest, pg_column_size(d.digest) AS bytes
  FROM measured AS c CROSS JOIN LATERAL (SELECT digest_within(c) AS digest OFFSET 0) AS d;
COPY (SELECT 'digest_bytes', column_id, NULL, NULL, NULL, bytes FROM digested)
  TO STDOUT (FORMAT csv);

CREATE TABLE digest_answer AS
  SELECT d.column_id, a.* FROM digested AS d
  CROSS JOIN LATERAL digest_answers(d.digest, d.column_id) AS a;
COPY (SELECT 'digest_count', column_id, NULL, NULL, range_id, count FROM digest_answer)
  TO STDOUT (FORMAT csv);
COPY (SELECT 'digest_sum', column_id, NULL, NULL, range_id, sum FROM digest_answer)
  TO STDOUT (FORMAT csv);
COPY (SELECT 'digest_mean', column_id, NULL, NULL, range_id, mean FROM digest_answer)
  TO STDOUT (FORMAT csv);
\endif
