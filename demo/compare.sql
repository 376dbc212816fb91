-- Asks the same question exactly and approximately, and times both. The answers are kept in
-- demo.answers, the fits in demo.fits.
CREATE TABLE demo.answers (
  position integer GENERATED ALWAYS AS IDENTITY,
  query text NOT NULL,
  kind text NOT NULL,     -- count, number or time: how to show it
  exact double precision, -- seconds since 1970 for a time
  approx double precision,
  exact_us double precision NOT NULL,
  approx_us double precision NOT NULL
);

CREATE PROCEDURE demo.fit(tab text, col text) LANGUAGE plpgsql AS $$
DECLARE
  density text;
BEGIN
  SELECT f.name INTO density FROM kde_fit(quote_ident(tab)::regclass, col::name) AS f;
  IF to_regclass('demo.fits') IS NULL THEN
    EXECUTE 'CREATE TABLE demo.fits AS SELECT * FROM kde_densities_full WHERE name = $1' USING density;
  ELSE
    EXECUTE 'INSERT INTO demo.fits SELECT * FROM kde_densities_full WHERE name = $1' USING density;
  END IF;
END $$;

-- The value of an expression and the median time of a call, in microseconds. The expression is put
-- into a function of its own, so that it is planned once, as in a prepared statement; a clock of
-- microseconds is read around 20 calls at a time.
CREATE PROCEDURE demo.time_calls(expression text, type_name text, INOUT value text,
                                 INOUT us double precision) LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format($f$
    CREATE OR REPLACE FUNCTION pg_temp.calls(OUT value text, OUT us double precision)
    LANGUAGE plpgsql AS $body$
    DECLARE
      v %s := %s;
      started timestamptz;
      times double precision[];
    BEGIN
      FOR i IN 1..51 LOOP
        started := clock_timestamp();
        FOR j IN 1..20 LOOP
          v := %2$s;
        END LOOP;
        times[i] := extract(epoch FROM clock_timestamp() - started) * 1e6 / 20;
      END LOOP;
      value := v::text;
      SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY t) INTO us FROM unnest(times) AS t;
    END $body$ $f$, type_name, expression);
  EXECUTE 'SELECT * FROM pg_temp.calls()' INTO value, us;
END $$;

-- query: what to show; exact: a whole SELECT; approx: an expression.
CREATE PROCEDURE demo.ask(query text, kind text, exact text, approx text) LANGUAGE plpgsql AS $$
DECLARE
  value_type text := CASE kind WHEN 'time' THEN 'timestamptz' ELSE 'double precision' END;
  started timestamptz;
  us double precision;
  exact_us double precision := 'infinity';
  approx_us double precision;
  exact_value text;
  approx_value text;
BEGIN
  FOR i IN 1..2 LOOP
    started := clock_timestamp();
    EXECUTE exact INTO exact_value;
    us := extract(epoch FROM clock_timestamp() - started) * 1e6;
    exact_us := least(exact_us, us);
    EXIT WHEN us > 2e6;  -- a second run would try the patience of whoever looks on
  END LOOP;
  CALL demo.time_calls(approx, value_type, approx_value, approx_us);
  INSERT INTO demo.answers (query, kind, exact, approx, exact_us, approx_us) VALUES
    (query, kind,
     CASE kind WHEN 'time' THEN extract(epoch FROM exact_value::timestamptz) ELSE exact_value::float8 END,
     CASE kind WHEN 'time' THEN extract(epoch FROM approx_value::timestamptz) ELSE approx_value::float8 END,
     exact_us, approx_us);
END $$;

-- COUNT of col over [low, high], NULL being unbounded; with sums also SUM and AVG, of numbers only.
CREATE PROCEDURE demo.ask_range(tab text, col text, low text, high text, numbers boolean,
                                sums boolean DEFAULT NULL)
LANGUAGE plpgsql AS $$
DECLARE
  name text := quote_ident(tab) || '.' || quote_ident(col);
  range text := CASE WHEN low = high THEN '= ' || low
                     WHEN high IS NULL THEN '>= ' || low
                     WHEN low IS NULL THEN '<= ' || high
                     -- Of one year as 2025-03-01..04-01.
                     ELSE low || '..' ||
                       CASE WHEN numbers THEN high ELSE regexp_replace(high, '^' || left(low, 5), '') END END;
  condition text := concat_ws(' AND ', quote_ident(col) || ' >= ' || quote_literal(low),
                              quote_ident(col) || ' <= ' || quote_literal(high));
  -- Bounds as a user writes them: 10, '2025-03-01', NULL.
  from_bound text := CASE WHEN numbers THEN coalesce(low, 'NULL') ELSE quote_nullable(low) END;
  to_bound text := CASE WHEN numbers THEN coalesce(high, 'NULL') ELSE quote_nullable(high) END;
  aggregates text[] := CASE WHEN coalesce(sums, numbers) THEN ARRAY['count', 'sum', 'avg']
                            ELSE ARRAY['count'] END;
  aggregate text;
BEGIN
  FOREACH aggregate IN ARRAY aggregates LOOP
    CALL demo.ask(
      format('%s(%s) %s', upper(aggregate), col, range),
      CASE aggregate WHEN 'count' THEN 'count' ELSE 'number' END,
      format('SELECT %s(%I) FROM %I WHERE %s', aggregate, col, tab, condition),
      format('approx_%s(%L, %s, %s)', aggregate, name, from_bound, to_bound));
  END LOOP;
END $$;

CREATE PROCEDURE demo.ask_quantile(tab text, col text, fraction numeric, label text, type_name text)
LANGUAGE plpgsql AS $$
DECLARE
  name text := quote_ident(tab) || '.' || quote_ident(col);
  is_time boolean := type_name NOT IN ('bigint', 'integer', 'numeric');
BEGIN
  CALL demo.ask(
    format('%s of %s', label, col),
    CASE WHEN is_time THEN 'time' ELSE 'number' END,
    -- percentile_cont knows numbers and intervals only
    format('SELECT %s(%s) WITHIN GROUP (ORDER BY %I) FROM %I',
           CASE WHEN is_time THEN 'percentile_disc' ELSE 'percentile_cont' END, fraction, col, tab),
    CASE WHEN is_time THEN format('approx_quantile_as(%L, %s, NULL::%s)', name, fraction, type_name)
         ELSE format('approx_quantile(%L, %s)', name, fraction) END);
END $$;

CREATE PROCEDURE demo.ask_orders() LANGUAGE plpgsql AS $$
BEGIN
  CALL demo.ask_range('orders', 'amount', '10', '20', true);
  CALL demo.ask_range('orders', 'amount', '19.99', '19.99', true, false);
  CALL demo.ask_range('orders', 'amount', '25.00', '25.50', true);
  CALL demo.ask_range('orders', 'amount', '200', NULL, true);
  CALL demo.ask_quantile('orders', 'amount', 0.5, 'Median', 'numeric');
  CALL demo.ask_quantile('orders', 'amount', 0.99, '99 % quantile', 'numeric');
  CALL demo.ask_range('orders', 'quantity', '1', '1', true, false);
  CALL demo.ask_range('orders', 'quantity', '2', '5', true);
  CALL demo.ask_quantile('orders', 'quantity', 0.5, 'Median', 'integer');
  CALL demo.ask_range('orders', 'created_at', '2025-03-01', '2025-04-01', false);
  CALL demo.ask_range('orders', 'created_at', '2025-07-14', '2025-07-16', false);
  CALL demo.ask_quantile('orders', 'created_at', 0.5, 'Median', 'timestamptz');
END $$;

-- Any column of numbers, dates or timestamps: the middle half, the middle tenth and the upper tenth.
CREATE PROCEDURE demo.ask_column(tab text, col text) LANGUAGE plpgsql AS $$
DECLARE
  type_name text := (SELECT atttypid::regtype FROM pg_attribute
                     WHERE attrelid = quote_ident(tab)::regclass AND attname = col);
  numbers boolean := type_name IN ('bigint', 'numeric');
  q text[];
BEGIN
  EXECUTE format('SELECT percentile_disc(ARRAY[0.25, 0.45, 0.55, 0.75, 0.9]) '
                 'WITHIN GROUP (ORDER BY %I)::text[] FROM %I', col, tab) INTO q;
  IF q IS NULL THEN
    RAISE EXCEPTION 'column % holds no values', col;
  END IF;
  CALL demo.ask_range(tab, col, q[1], q[4], numbers);
  CALL demo.ask_range(tab, col, q[2], q[3], numbers);
  CALL demo.ask_range(tab, col, q[5], NULL, numbers);
  CALL demo.ask_quantile(tab, col, 0.5, 'Median', type_name);
  CALL demo.ask_quantile(tab, col, 0.9, '90 % quantile', type_name);
END $$;

-- Numbers as people read them: thousands separated, 4 significant digits of a small one.
CREATE FUNCTION demo.show_number(x double precision) RETURNS text LANGUAGE sql AS $$
  SELECT CASE
    WHEN x IS NULL THEN 'none'
    WHEN abs(x) >= 1000 THEN trim(to_char(x, 'FM999,999,999,999,999,999'))
    WHEN abs(x) >= 1 THEN trim(to_char(x, '990.00'))
    ELSE trim(to_char(x, '990.0000')) END $$;

CREATE FUNCTION demo.show_us(us double precision) RETURNS text LANGUAGE sql AS $$
  SELECT CASE
    WHEN us < 1000 THEN to_char(us, 'FM990.0') || ' us'
    WHEN us < 1e6 THEN to_char(us / 1e3, 'FM990.0') || ' ms'
    ELSE to_char(us / 1e6, 'FM999,990.00') || ' s' END $$;

-- x to three significant digits, whatever its scale.
CREATE FUNCTION demo.show_significant(x double precision) RETURNS text LANGUAGE sql AS $$
  SELECT CASE WHEN x IS NULL OR x = 0 THEN coalesce(x::text, '')
              ELSE round(x::numeric, greatest(0, 2 - floor(log(abs(x)))::integer))::text END $$;
