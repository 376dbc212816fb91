-- Tables of others, some hundred a transaction.
SELECT set_config('bench.tables', :'tables', false);
DO $$
BEGIN
  FOR i IN 1 .. current_setting('bench.tables')::integer LOOP
    EXECUTE format('CREATE TABLE other_%s (a integer, b double precision)', i);
    IF i % 200 = 0 THEN COMMIT; END IF;
  END LOOP;
END $$;
VACUUM ANALYZE pg_class, pg_attribute, pg_depend, pg_type;
