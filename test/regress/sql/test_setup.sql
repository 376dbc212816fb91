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
