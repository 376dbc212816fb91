-- What the other tests use. Runs before them, in each database.

-- The result of a query, or what it raised: one line each for state and message, detail, hint. That no
-- function has these arguments (42883), or several (42725), the server says, in other words from version to
-- version.
CREATE FUNCTION try(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  answer text;
  message text;
  detail text;
  hint text;
BEGIN
  EXECUTE query INTO answer;
  RETURN NEXT coalesce(answer, 'NULL');
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
  RETURN NEXT SQLSTATE || ' ' || message;
  IF SQLSTATE IN ('42883', '42725') THEN RETURN; END IF;
  IF detail <> '' THEN RETURN NEXT '  detail: ' || detail; END IF;
  IF hint <> '' THEN RETURN NEXT '  hint: ' || hint; END IF;
END $$;
-- What the type's binary input makes of a density: COPY's binary format from the shell's printf, in octal. Into
-- the table received(d kde) of the test's own.
CREATE FUNCTION receive(bytes bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  file bytea := '\x5047434f50590aff0d0a000000000000000000'::bytea || int2send(1::smallint)
    || int4send(length(bytes)) || bytes || '\xffff'::bytea;
  octal text;
  message text;
  detail text;
BEGIN
  SELECT string_agg('\0' || lpad((b >> 6)::text || (b >> 3 & 7)::text || (b & 7)::text, 3, '0'), '' ORDER BY i)
    INTO octal FROM (SELECT i, get_byte(file, i) AS b FROM generate_series(0, length(file) - 1) AS i) AS v;
  DELETE FROM received;
  EXECUTE format('COPY received FROM PROGRAM %L (FORMAT binary)', 'printf %b ''' || octal || '''');
  RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
  RETURN SQLSTATE || ' ' || message || CASE WHEN detail <> '' THEN ': ' || detail ELSE '' END;
END $$;
-- Who answers a query of plain SQL, and whether the rows are those of the exact plan, whose order is not looked
-- at: what the view kde_plain_sql counts the query as, all of its parts.
CREATE FUNCTION answered_by(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  rows_of text := format('SELECT array_agg(r ORDER BY r COLLATE "C") FROM (SELECT row_to_json(q)::text AS r FROM (%s) AS q) AS s', query);
  exact text[];
  got text[];
  before jsonb;
  outcomes text;
BEGIN
  SET LOCAL kde_aqp.approximate = off;
  EXECUTE rows_of INTO exact;
  SET LOCAL kde_aqp.approximate = 'all';
  SELECT coalesce(jsonb_object_agg(outcome, statements), '{}') INTO before FROM kde_plain_sql;
  EXECUTE rows_of INTO got;
  SELECT string_agg(outcome, ', ' ORDER BY outcome COLLATE "C") INTO outcomes FROM kde_plain_sql
    WHERE statements > coalesce((before ->> outcome)::bigint, 0);
  IF got IS DISTINCT FROM exact THEN
    outcomes := format('DIFFERENT: %s for %s, %s', got[1], exact[1], outcomes);
  END IF;
  RETURN format('%s (%s rows)', coalesce(outcomes, 'no density'), coalesce(cardinality(exact), 0));
END $$;
-- Of the queries of a table statement(query text) of the test's own: what the rows of each are by a density and by
-- the exact plan, where they differ, and how many a density answered.
CREATE FUNCTION by_density() RETURNS numeric LANGUAGE sql AS
  'SELECT coalesce(sum(statements), 0) FROM kde_plain_sql WHERE outcome = ''answered by a density''';
CREATE FUNCTION rows_of(query text, way text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  result text[];
BEGIN
  PERFORM set_config('kde_aqp.approximate', way, true);
  EXECUTE format('SELECT array_agg(r::text ORDER BY r::text) FROM (%s) AS r', query) INTO result;
  RETURN result;
END $$;
CREATE FUNCTION say(step text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  query text;
  exact text[];
  got text[];
  before numeric;
  n integer := 0;
  answered integer := 0;
BEGIN
  FOR query IN SELECT s.query FROM statement AS s LOOP
    exact := rows_of(query, 'off');
    before := by_density();
    got := rows_of(query, 'all');
    answered := answered + (by_density() - before)::integer;
    n := n + 1;
    IF got IS DISTINCT FROM exact THEN RETURN NEXT format('WRONG %s: %s, not %s', query, got, exact); END IF;
  END LOOP;
  RETURN NEXT format('%s: %s of %s answered', step, answered, n);
END $$;
