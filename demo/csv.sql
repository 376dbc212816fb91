-- What a CSV file is like, from its first bytes (RFC 4180, and what is met beside it), and the type of a column
-- that COPY has read as text.
SET client_min_messages = warning;
CREATE SCHEMA IF NOT EXISTS demo;

CREATE TABLE demo.head (bytes bytea NOT NULL);

CREATE TABLE demo.csv (
  tab name NOT NULL,
  col name,           -- the column to look at
  kind text,          -- of demo.kinds: how its values are read
  delimiter text NOT NULL,
  encoding text NOT NULL,
  header boolean NOT NULL,
  columns name[] NOT NULL,
  notes text[] NOT NULL  -- what to tell
);

-- The kinds of values, the narrowest first: which text is of the kind, and how it becomes a value of the type.
CREATE TABLE demo.kinds (position integer, kind text, pattern text, expression text, type_name text);
INSERT INTO demo.kinds VALUES
  (1, 'dates YYYYMMDD', '^(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$', '%s', 'date'),
  (2, 'whole numbers', '^[-+]?\d{1,18}$', '%s', 'bigint'),
  (3, 'numbers', '^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$', '%s', 'numeric'),
  -- In a file of semicolons the comma is a decimal one first (demo.look_at).
  (5, 'numbers with a thousands separator', '^[-+]?[$€£]? ?[-+]?(\d+|[1-9]\d{0,2}([, ''\u00a0\u202f]\d{3})+)(\.\d*)? ?[%€£$]?$',
   'regexp_replace(%s, ''[^-+0-9.]'', '''', ''g'')', 'numeric'),
  (6, 'numbers with a decimal comma', '^[-+]?[$€£]? ?[-+]?(\d+|[1-9]\d{0,2}([. ''\u00a0\u202f]\d{3})+)(,\d*)? ?[%€£$]?$',
   'replace(regexp_replace(%s, ''[^-+0-9,]'', '''', ''g''), '','', ''.'')', 'numeric'),
  (7, 'dates', '^(\d{1,4}[-/. ](\d{1,2}|[[:alpha:]]{3,9})[-/. ,]+\d{1,4}|[[:alpha:]]{3,9}\.? \d{1,2},? \d{4})$', '%s', 'date'),
  (8, 'timestamps', '^(\d{1,4}[-/. ](\d{1,2}|[[:alpha:]]{3,9})[-/. ,]+\d{1,4}|[[:alpha:]]{3,9}\.? \d{1,2},? \d{4})([T ,]+\d{1,2}:\d\d.*)?$',
   '%s', 'timestamptz');

-- NULL for what stands for no value.
CREATE FUNCTION demo.value(field text) RETURNS text IMMUTABLE LANGUAGE sql AS $$
  SELECT CASE WHEN lower(btrim(field, E' \t\r\n')) NOT IN
    ('', 'na', 'n/a', '#n/a', 'null', 'none', 'nan', 'nil', '-', '--', '?', '.') THEN btrim(field, E' \t\r\n') END $$;

CREATE FUNCTION demo.kind_of(fields text[]) RETURNS text LANGUAGE sql AS $$
  SELECT CASE WHEN array_remove(fields, NULL) = '{}' THEN 'empty' ELSE coalesce(
    (SELECT kind FROM demo.kinds WHERE NOT EXISTS (SELECT FROM unnest(fields) AS field WHERE field !~ pattern)
     ORDER BY position LIMIT 1), 'text') END $$;

-- The fields of a text, numbered. A quoted one may hold delimiters, line ends and doubled quotes.
CREATE FUNCTION demo.fields(head text, delimiter text) RETURNS TABLE (record bigint, field bigint, value text)
LANGUAGE sql AS $$
  WITH parts AS (
    SELECT ord, m[1] AS raw, m[2] AS stop,
           1 + count(*) FILTER (WHERE m[2] = E'\n') OVER (ORDER BY ord) - (m[2] = E'\n')::integer AS record
    FROM regexp_matches(head, format('("(?:[^"]|"")*"|[^"%1$s\n][^%1$s\n]*|)([%1$s\n]|$)', delimiter), 'g')
         WITH ORDINALITY AS r(m, ord)
  )
  SELECT record, row_number() OVER (PARTITION BY record ORDER BY ord),
         CASE WHEN raw LIKE '"%' THEN replace(substr(raw, 2, length(raw) - 2), '""', '"') ELSE raw END
  FROM parts WHERE stop <> '' $$;

-- Of names as a header has them: none empty, none twice, none too long.
CREATE FUNCTION demo.column_names(header text[]) RETURNS name[] LANGUAGE sql AS $$
  SELECT array_agg(CASE WHEN n = '' OR row_number > 1 THEN 'column_' || i ELSE n END::name ORDER BY i)
  FROM (SELECT i, n, row_number() OVER (PARTITION BY n ORDER BY i)
        FROM (SELECT i, regexp_replace(btrim(h, E' \t\n'), '\s+', ' ', 'g')::name AS n
              FROM unnest(header) WITH ORDINALITY AS u(h, i)) AS named) AS counted $$;

CREATE TABLE demo.cells (record bigint, field bigint, value text);

CREATE PROCEDURE demo.look_at(file text, wanted text) LANGUAGE plpgsql AS $$
DECLARE
  head text;
  delimiter text;
  encoding text;
  first text[];       -- the first record
  kinds text[];       -- of the columns, by the other records
  header boolean;
  names name[];
  chosen integer;
  list text;
  notes text[] := '{}';
BEGIN
  FOREACH encoding IN ARRAY ARRAY['UTF8', 'WIN1252', 'LATIN1'] LOOP
    BEGIN
      SELECT convert_from(bytes, encoding) INTO head FROM demo.head;
      EXIT;
    EXCEPTION WHEN OTHERS THEN NULL;
    END;
  END LOOP;
  IF head IS NULL THEN
    RAISE EXCEPTION '% is no text: it holds bytes of zero', file;
  END IF;
  head := rtrim(regexp_replace(head, '\r\n?', E'\n', 'g'), E'\n') || E'\n';

  -- The first by which lines have equally many fields, more than one; the comma last, as it is also a decimal
  -- one. Else that of most fields in the first line: COPY will tell which line is not like it.
  SELECT d INTO delimiter
  FROM (SELECT d, position, max(n) FILTER (WHERE record = 1) AS width, avg((n = first_n)::integer) AS agreeing
        FROM unnest(ARRAY[E'\t', ';', '|', ',', E'\x1f']) WITH ORDINALITY AS c(d, position),
             LATERAL (SELECT record, count(*) AS n, first_value(count(*)) OVER (ORDER BY record) AS first_n
                      FROM demo.fields(head, d) GROUP BY record) AS lines
        GROUP BY d, position) AS tried
  ORDER BY width > 1 AND agreeing >= 0.9 DESC, CASE WHEN width > 1 AND agreeing >= 0.9 THEN position END,
           width DESC, agreeing DESC, position
  LIMIT 1;
  UPDATE demo.kinds SET position = 4 WHERE kind = 'numbers with a decimal comma' AND delimiter = ';';
  INSERT INTO demo.cells SELECT * FROM demo.fields(head, delimiter);
  IF NOT EXISTS (SELECT FROM demo.cells WHERE record > 1) THEN
    RAISE EXCEPTION '% has at most a header line, and no rows', file;
  END IF;

  -- No header: where columns hold numbers or dates, the first line holds them too.
  SELECT array_agg(value ORDER BY field) INTO first FROM demo.cells WHERE record = 1;
  SELECT array_agg(kind ORDER BY field) INTO kinds
  FROM (SELECT field, demo.kind_of(array_agg(demo.value(value))) AS kind
        FROM demo.cells WHERE record > 1 AND field <= cardinality(first) GROUP BY field) AS guessed;
  SELECT coalesce(bool_or(demo.value(f) !~ pattern OR f = ''), true) INTO header
  FROM unnest(first, kinds) AS u(f, k) JOIN demo.kinds ON kind = k;
  SELECT demo.column_names(CASE WHEN header THEN first ELSE array_fill(''::text, ARRAY[cardinality(first)]) END)
    INTO names;
  IF encoding <> 'UTF8' THEN
    notes := notes || 'It is not in UTF-8: read as Windows-1252 (Latin 1).'::text;
  END IF;
  IF NOT header THEN
    notes := notes || format('No header: its first line holds values. Its columns are %s to %s.', names[1],
                             names[cardinality(names)]);
  END IF;

  -- A column by its name as it is; or nearly; or the first of numbers or dates that is no number of the row.
  SELECT string_agg(format('%s: %s', k, named), '; ' ORDER BY first_i) INTO list
  FROM (SELECT k, min(i) AS first_i, string_agg(c, ', ' ORDER BY i) FILTER (WHERE nth <= 20) ||
                  CASE WHEN count(*) > 20 THEN format(' and %s more', count(*) - 20) ELSE '' END AS named
        FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY i) AS nth
              FROM unnest(names, kinds) WITH ORDINALITY AS u(c, k, i)) AS numbered
        GROUP BY k) AS grouped;
  IF wanted = '' THEN
    SELECT i INTO chosen
    FROM unnest(kinds) WITH ORDINALITY AS u(k, i),
         LATERAL (SELECT count(DISTINCT value) AS different, count(*) AS n,
                         bool_and(demo.value(value) ~ '^\d+$') AND min(length(value)) > 0 AS counting
                  FROM demo.cells WHERE field = i AND record > 1) AS c
    WHERE k NOT IN ('text', 'empty')
    ORDER BY counting AND different = n AND n > 1, different <= 20, i LIMIT 1;
    IF chosen IS NULL THEN
      RAISE EXCEPTION '% has no column of numbers or dates, but %. The demo shows numbers and dates only; the extension takes categories too (docs/fitting.md)',
        file, list;
    END IF;
    notes := notes || format('No COLUMN was named: taking %s. There are %s.', names[chosen], list);
  ELSE
    SELECT i INTO chosen FROM unnest(names, first) WITH ORDINALITY AS u(c, f, i)
    WHERE wanted = c OR header AND wanted = f OR lower(btrim(wanted)) = lower(c)
    ORDER BY wanted = c DESC, i LIMIT 1;
    IF chosen IS NULL THEN
      RAISE EXCEPTION '% has no column "%"; it has: %', file, wanted, list;
    END IF;
  END IF;
  INSERT INTO demo.csv SELECT coalesce(nullif(regexp_replace(file, '(\.(csv|tsv|txt|dat|gz))*$', '', 'i'), ''), 'csv'),
    names[chosen], kinds[chosen], delimiter, encoding, header, names, notes;
  EXECUTE (SELECT format('CREATE TABLE %I (%s)', tab, string_agg(format('%I text', c), ', ' ORDER BY i))
           FROM demo.csv, unnest(names) WITH ORDINALITY AS u(c, i) GROUP BY tab);
  DROP TABLE demo.head, demo.cells;
END $$;

CREATE FUNCTION demo.copy_command() RETURNS text LANGUAGE sql AS $$
  SELECT format('COPY %I FROM STDIN (FORMAT csv, HEADER %s, DELIMITER %L, ENCODING %L)', tab, header::text, delimiter, encoding)
  FROM demo.csv $$;

-- Gives the chosen column the first type that fits all its values.
CREATE PROCEDURE demo.give_type() LANGUAGE plpgsql AS $$
DECLARE
  c demo.csv;
  k demo.kinds;
  given text;
  bad text;
  orders text[] := ARRAY['ISO, MDY', 'ISO, DMY'];
  style text;
  n bigint;
BEGIN
  SELECT * INTO STRICT c FROM demo.csv;
  given := format('demo.value(%I)', c.col);
  EXECUTE format('SELECT count(%s) FROM %I', given, c.tab) INTO n;
  IF n = 0 THEN
    RAISE EXCEPTION 'column "%" holds no values', c.col;
  END IF;
  FOR k IN SELECT * FROM demo.kinds ORDER BY position LOOP
    EXECUTE format('SELECT %s FROM %I WHERE %1$s !~ %3$L LIMIT 1', given, c.tab, k.pattern) INTO bad;
    CONTINUE WHEN bad IS NOT NULL;
    -- With points the day comes first, with strokes the month, where both can be.
    EXECUTE format('SELECT %s FROM %I WHERE %1$s ~ ''^\d\d?[^\d]'' LIMIT 1', given, c.tab) INTO bad;
    IF bad ~ '^\d+\.' THEN
      orders := ARRAY[orders[2], orders[1]];
    END IF;
    FOREACH style IN ARRAY orders LOOP
      BEGIN
        PERFORM set_config('datestyle', style, true);
        EXECUTE format('ALTER TABLE %I ALTER COLUMN %I TYPE %s USING (%s)::%3$s', c.tab, c.col, k.type_name,
                       format(k.expression, given));
        EXECUTE format('SELECT count(*) FROM %I', c.tab) INTO n;
        UPDATE demo.csv SET kind = k.kind, notes = ARRAY[format('%s: %s rows. Values of %s are %s%s.', tab,
          btrim(to_char(n, '999,999,999,999')), col, k.kind,
          CASE WHEN bad IS NULL OR k.kind NOT IN ('dates', 'timestamps') THEN ''
               WHEN style = 'ISO, MDY' THEN ', the month before the day' ELSE ', the day before the month' END)];
        RETURN;
      EXCEPTION WHEN data_exception THEN NULL;
      END;
    END LOOP;
  END LOOP;
  EXECUTE format('SELECT %s FROM %I WHERE %1$s !~ (SELECT pattern FROM demo.kinds WHERE kind = %3$L) LIMIT 1', given, c.tab,
    CASE WHEN c.kind IN ('text', 'empty') THEN 'numbers' ELSE c.kind END) INTO bad;
  RAISE EXCEPTION 'column "%" holds neither numbers nor dates alone: one of its values is "%". %',
    c.col, left(bad, 60), CASE WHEN c.kind = 'text' THEN 'The demo shows numbers and dates only: name another by COLUMN=. '
      'The extension takes categories too (docs/fitting.md)' ELSE 'Name another by COLUMN=, or take such rows out' END;
END $$;
