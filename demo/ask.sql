-- Asks the same questions exactly and approximately, and times both as whole statements: parsed, planned and run
-- in a session that did it before, which has the density in its cache. What is found stays in demo.answers.
CREATE SCHEMA IF NOT EXISTS demo;

CREATE TABLE demo.answers (
  position integer GENERATED ALWAYS AS IDENTITY,
  question text NOT NULL,
  statement text NOT NULL,  -- that answers approximately
  kind text NOT NULL,       -- count, number or time (seconds since 1970): how to show it
  exact double precision,
  approx double precision,
  low double precision,     -- the interval's ends, at 95 %
  high double precision,
  exact_us double precision NOT NULL,
  approx_us double precision NOT NULL
);

-- What a session does, for those who look on.
CREATE FUNCTION demo.say(what text) RETURNS void LANGUAGE sql AS $$
  SELECT set_config('application_name', 'demo: ' || what, false) $$;

-- Runs a statement as often as fits 0.4 s, at most 51 times: its row, and the median time in microseconds.
CREATE FUNCTION demo.timed(statement text, OUT answer jsonb, OUT us double precision) LANGUAGE plpgsql AS $$
DECLARE
  r record;
  started timestamptz;
  times double precision[];
  ends timestamptz := clock_timestamp() + interval '0.4 s';
BEGIN
  LOOP
    started := clock_timestamp();
    EXECUTE statement INTO r;
    times := times || extract(epoch FROM clock_timestamp() - started)::double precision * 1e6;
    EXIT WHEN cardinality(times) = 51 OR clock_timestamp() > ends;
  END LOOP;
  answer := to_jsonb(r);
  SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY t) INTO us FROM unnest(times) AS t;
END $$;

-- exact: gives a column estimate; approx: the call of a function that ends in _ci.
CREATE PROCEDURE demo.ask(question text, kind text, exact text, approx text) LANGUAGE plpgsql AS $$
DECLARE
  e record;
  a record;
BEGIN
  PERFORM demo.say(question);
  SELECT * INTO e FROM demo.timed(exact);
  SELECT * INTO a FROM demo.timed('SELECT * FROM ' || approx);
  INSERT INTO demo.answers (question, statement, kind, exact, approx, low, high, exact_us, approx_us)
  SELECT question, approx, kind, (e.answer ->> 'estimate')::float8, (a.answer ->> 'estimate')::float8,
         (a.answer ->> 'lower_bound')::float8, (a.answer ->> 'upper_bound')::float8, e.us, a.us;
END $$;

CREATE FUNCTION demo.is_number(tab text, col text) RETURNS boolean LANGUAGE sql AS $$
  SELECT atttypid IN ('bigint'::regtype, 'integer'::regtype, 'numeric'::regtype) FROM pg_attribute
  WHERE attrelid = quote_ident(tab)::regclass AND attname = col $$;

-- COUNT of col over [low, high], NULL being unbounded; of numbers, where asked, also SUM and AVG.
CREATE PROCEDURE demo.ask_range(tab text, col text, low text, high text, sums boolean DEFAULT true)
LANGUAGE plpgsql AS $$
DECLARE
  range text := CASE WHEN low = high THEN '= ' || low
                     WHEN high IS NULL THEN '>= ' || low
                     -- Of one year as 2025-03-01..03-31.
                     ELSE low || '..' || regexp_replace(high, '^' || coalesce(substring(low, '^\d{4}-'), '$.'), '') END;
  aggregate text;
BEGIN
  FOREACH aggregate IN ARRAY CASE WHEN sums AND demo.is_number(tab, col) THEN ARRAY['count', 'sum', 'avg']
                                  ELSE ARRAY['count'] END LOOP
    CALL demo.ask(
      format('%s %s.%s %s', upper(aggregate), tab, col, range), CASE aggregate WHEN 'count' THEN 'count' ELSE 'number' END,
      format('SELECT %s(%I) AS estimate FROM %I WHERE ', aggregate, col, tab) ||
        concat_ws(' AND ', quote_ident(col) || ' >= ' || quote_literal(low), quote_ident(col) || ' <= ' || quote_literal(high)),
      format('approx_%s_ci(%L, %L, %s)', aggregate, format('%I.%I', tab, col), low, quote_nullable(high)));
  END LOOP;
END $$;

CREATE PROCEDURE demo.ask_quantile(tab text, col text, fraction numeric) LANGUAGE plpgsql AS $$
DECLARE
  number boolean := demo.is_number(tab, col);
BEGIN
  CALL demo.ask(
    format('%s %s.%s', CASE fraction WHEN 0.5 THEN 'MEDIAN' ELSE trim_scale(100 * fraction) || ' % QUANTILE' END, tab, col),
    CASE WHEN number THEN 'number' ELSE 'time' END,
    format(CASE WHEN number THEN 'SELECT percentile_disc(%s) WITHIN GROUP (ORDER BY %I) AS estimate FROM %I'
                ELSE 'SELECT extract(epoch FROM percentile_disc(%s) WITHIN GROUP (ORDER BY %I)) AS estimate FROM %I' END,
           fraction, col, tab),
    format('approx_quantile_ci(%L, %s)', format('%I.%I', tab, col), fraction));
END $$;

CREATE PROCEDURE demo.ask_orders() LANGUAGE plpgsql AS $$
BEGIN
  CALL demo.ask_range('orders', 'amount', '10', '19.99');
  CALL demo.ask_range('orders', 'amount', '19.99', '19.99', false);
  CALL demo.ask_range('orders', 'amount', '25.00', '25.50');
  CALL demo.ask_range('orders', 'amount', '200', NULL);
  CALL demo.ask_quantile('orders', 'amount', 0.5);
  CALL demo.ask_quantile('orders', 'amount', 0.99);
  CALL demo.ask_range('orders', 'quantity', '1', '1', false);
  CALL demo.ask_range('orders', 'quantity', '2', '5');
  CALL demo.ask_range('orders', 'created_at', '2025-03-01', '2025-04-01');
  CALL demo.ask_range('orders', 'created_at', '2025-07-14', '2025-07-16');
  CALL demo.ask_quantile('orders', 'created_at', 0.5);
END $$;

-- Quantiles of a column, as text: the ends of what is asked of a CSV's column, from first to second, third to fourth
-- and fifth to sixth. Where the middle half is one value, the other ranges are of the other values, if there are.
CREATE FUNCTION demo.quantiles(tab text, col text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  q text[];
  others text[];
BEGIN
  EXECUTE format('SELECT percentile_disc(ARRAY[0.25, 0.75, 0.45, 0.55, 0.9, 1]) '
                 'WITHIN GROUP (ORDER BY %I)::text[] FROM %I', col, tab) INTO q;
  IF q[1] = q[2] THEN
    EXECUTE format('SELECT percentile_disc(ARRAY[0.25, 0.75, 0.9, 1]) WITHIN GROUP (ORDER BY %I)::text[] FROM %I '
                   'WHERE %1$I <> %3$L', col, tab, q[1]) INTO others;
    q := q[1:2] || coalesce(others, q[3:6]);
  END IF;
  RETURN q;
END $$;

-- Any column of numbers, dates or timestamps: the middle half, the middle tenth and the upper tenth.
CREATE PROCEDURE demo.ask_column(tab text, col text) LANGUAGE plpgsql AS $$
DECLARE
  q text[] := demo.quantiles(tab, col);
BEGIN
  CALL demo.ask_range(tab, col, q[1], q[2]);
  IF q[1:2] <> q[3:4] THEN
    CALL demo.ask_range(tab, col, q[3], q[4]);
  END IF;
  CALL demo.ask_range(tab, col, q[5], NULL);
  CALL demo.ask_quantile(tab, col, 0.5);
  CALL demo.ask_quantile(tab, col, 0.9);
END $$;

-- Numbers as people read them: thousands separated, six significant digits of a large one, four of a small one.
CREATE FUNCTION demo.show_number(x double precision) RETURNS text LANGUAGE sql AS $$
  SELECT CASE
    WHEN x IS NULL THEN 'none'
    WHEN abs(x) = 'infinity' THEN x::text
    WHEN abs(x) >= 1e10 THEN trim(to_char(x, '9.9999EEEE'))
    WHEN abs(x) >= 1e5 OR abs(x) >= 1000 AND x = round(x) THEN trim(to_char(x, 'FM999,999,999,999'))
    WHEN abs(x) >= 1e4 THEN trim(to_char(x, 'FM999,999.0'))
    WHEN abs(x) >= 1000 THEN trim(to_char(x, 'FM99,999.00'))
    WHEN abs(x) >= 1 OR x = 0 THEN trim(to_char(x, '990.00'))
    WHEN abs(x) >= 0.001 THEN trim(to_char(x, '0.00000'))
    ELSE trim(to_char(x, '9.999EEEE')) END $$;

CREATE FUNCTION demo.show(x double precision, kind text) RETURNS text LANGUAGE sql AS $$
  SELECT CASE WHEN x IS NULL OR abs(x) = 'infinity' THEN demo.show_number(x)
              WHEN kind = 'count' THEN to_char(round(x), 'FM999,999,999,999,999')
              WHEN kind = 'time' THEN to_char(to_timestamp(x), 'YYYY-MM-DD')
              ELSE demo.show_number(x) END $$;

CREATE FUNCTION demo.show_us(us double precision) RETURNS text LANGUAGE sql AS $$
  SELECT CASE
    WHEN us < 1000 THEN to_char(us, 'FM990') || ' us'
    WHEN us < 1e6 THEN to_char(us / 1e3, 'FM990.0') || ' ms'
    ELSE to_char(us / 1e6, 'FM999,990.00') || ' s' END $$;

-- How far a is from b: of numbers in percent of b; a percentage of a date means nothing, so of times in hours.
CREATE FUNCTION demo.show_error(a double precision, b double precision, kind text) RETURNS text LANGUAGE sql AS $$
  SELECT CASE WHEN a IS NULL OR b IS NULL OR abs(a) = 'infinity' OR abs(b) = 'infinity' THEN ''
              WHEN kind = 'time' THEN to_char(abs(a - b) / 3600, 'FM999,990.0') || ' h'
              WHEN a = b THEN '0.00 %' WHEN b = 0 THEN ''
              WHEN abs(a / b - 1) >= 9.995 THEN to_char(abs(a / b), 'FM999,999,990') || ' x'
              ELSE to_char(100 * abs(a / b - 1), 'FM990.00') || ' %' END $$;
