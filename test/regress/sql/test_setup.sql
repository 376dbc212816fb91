-- What the other tests use. Runs before them, in each database.

-- The result of a query, or what it raised: one line each for state and message, detail, hint. That no
-- function has these arguments (42883) the server says, in other words from version to version.
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
  IF detail <> '' THEN RETURN NEXT '  detail: ' || detail; END IF;
  IF hint <> '' AND SQLSTATE <> '42883' THEN RETURN NEXT '  hint: ' || hint; END IF;
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
