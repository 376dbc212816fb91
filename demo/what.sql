-- What the demo fits and asks: with :csv on of a CSV file's table the one column, else of the orders. Needs ask.sql
-- and company.sql.
CREATE TABLE demo.targets (position integer GENERATED ALWAYS AS IDENTITY, tab text, col text, rows bigint);
\if :csv
INSERT INTO demo.targets (tab, col) SELECT tab, col FROM demo.csv;
-- The middle half, the middle tenth and the upper tenth.
INSERT INTO demo.questions
SELECT DISTINCT ON (low, high) n, tab, col, low, high,
       format(CASE WHEN low = high THEN '%s.%s = %s' ELSE '%s.%s %s..%s' END, tab, col, low, high)
FROM demo.targets, demo.quantiles(tab, col) AS q, LATERAL (VALUES (1, q[1], q[2]), (2, q[3], q[4]), (3, q[5], q[6])) AS v(n, low, high)
ORDER BY low, high, n;
\else
INSERT INTO demo.targets (tab, col) VALUES ('orders', 'amount'), ('orders', 'quantity'), ('orders', 'created_at');
INSERT INTO demo.questions VALUES
  (1, 'orders', 'amount', '10', '19.99', 'orders.amount 10..19.99'),
  (2, 'orders', 'amount', '25.00', '25.50', 'orders.amount 25.00..25.50'),
  (3, 'orders', 'created_at', '2025-07-14', '2025-07-15 23:59:59.999999', 'orders.created_at on 2025-07-14 and 15');
\endif

CREATE PROCEDURE demo.fit() LANGUAGE plpgsql AS $$
DECLARE
  t record;
BEGIN
  FOR t IN SELECT * FROM demo.targets ORDER BY position LOOP
    EXECUTE format('UPDATE demo.targets SET rows = (SELECT count(*) FROM %I) WHERE position = %s', t.tab, t.position);
    PERFORM demo.say(format('%s.%s', t.tab, t.col)), kde_fit(quote_ident(t.tab)::regclass, t.col::name, seed => 1);
  END LOOP;
END $$;

CREATE PROCEDURE demo.ask_all() LANGUAGE plpgsql AS $$
DECLARE
  t record;
BEGIN
  IF EXISTS (SELECT FROM demo.targets WHERE tab = 'orders' AND col = 'quantity') THEN
    CALL demo.ask_orders();
  ELSE
    FOR t IN SELECT * FROM demo.targets LOOP
      CALL demo.ask_column(t.tab, t.col);
    END LOOP;
  END IF;
END $$;

-- The densities with all that is known of them.
CREATE VIEW demo.densities AS
SELECT t.position, d.* FROM demo.targets AS t JOIN kde_densities_full AS d
ON d.relation = quote_ident(t.tab)::regclass AND d.column_names = ARRAY[t.col];

-- The statement that plain SQL is shown by.
CREATE VIEW demo.plain AS
SELECT format(CASE WHEN demo.is_number(tab, col) THEN 'SELECT %s FROM %I WHERE %I BETWEEN %s AND %s'
                   ELSE 'SELECT %s FROM %I WHERE %I BETWEEN %L AND %L' END,
              CASE WHEN demo.is_number(tab, col) THEN format('count(*), sum(%1$I), avg(%1$I)', col) ELSE 'count(*)' END,
              tab, col, low, high) AS statement
FROM demo.questions WHERE n = 1;

-- A picture of a density, where the extension has pictures.
CREATE FUNCTION demo.picture(density text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  svg text := '';
BEGIN
  IF EXISTS (SELECT FROM pg_proc WHERE proname = 'kde_svg') THEN
    EXECUTE 'SELECT kde_svg($1::text, title => $1)' INTO svg USING density;
  END IF;
  RETURN svg;
END $$;
