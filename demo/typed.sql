-- Gives the column :column of the table :table, loaded as text, the first type that fits all its
-- values: bigint, numeric, date, timestamptz. Empty fields become NULL.
\set SHOW_CONTEXT never
SELECT set_config('demo.tab', :'table', false), set_config('demo.col', :'column', false) \gset ignored_

DO $$
DECLARE
  tab text := quote_ident(current_setting('demo.tab'));
  col text := quote_ident(current_setting('demo.col'));
  given text := format('nullif(nullif(trim(%s), ''''), ''NA'')', col);
  type_name text;
  pattern text;
  value text;
BEGIN
  FOR type_name, pattern IN VALUES
    ('bigint', '^[-+]?\d{1,18}$'),
    ('numeric', '^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$'),
    ('date', '^\d{4}-\d{2}-\d{2}$'),
    ('timestamptz', '^\d{4}-\d{2}-\d{2}[T ]')
  LOOP
    EXECUTE format('SELECT %s FROM %s WHERE %1$s !~ $1 LIMIT 1', given, tab) INTO value USING pattern;
    CONTINUE WHEN value IS NOT NULL;
    EXECUTE format('ALTER TABLE %s ALTER COLUMN %s TYPE %s USING %s::%3$s', tab, col, type_name, given);
    RETURN;
  END LOOP;
  EXECUTE format('SELECT %s FROM %s WHERE %1$s !~ $1 LIMIT 1', given, tab)
    INTO value USING '^[-+]?[\d.]+([eE][-+]?\d+)?$';
  RAISE EXCEPTION 'column % holds neither numbers only nor dates or timestamps only', col
    USING DETAIL = format('One of its values is "%s".', value);
END $$;
