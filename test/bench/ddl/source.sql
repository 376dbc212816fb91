-- What is dumped: tables with keys and constraints, as a restore makes them by CREATE and ALTER TABLE.
SELECT set_config('bench.tables', :'restored', false);
DO $$
BEGIN
  FOR i IN 1 .. current_setting('bench.tables')::integer LOOP
    EXECUTE format('CREATE TABLE restored_%s (id integer PRIMARY KEY, a double precision, b text NOT NULL DEFAULT %L)', i, 'x');
    IF i % 200 = 0 THEN COMMIT; END IF;
  END LOOP;
END $$;
