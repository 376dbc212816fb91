-- One round in one database: prints "commands,what,kind,milliseconds of one command" for every command.
SELECT set_config('bench.kind', :'kind', false), set_config('bench.commands', :'commands', false) \g /dev/null
CREATE TEMP TABLE timing (what text, ms double precision);
CREATE PROCEDURE pg_temp.timed(what text, command text, keep boolean) LANGUAGE plpgsql AS $$
DECLARE
  start timestamptz := clock_timestamp();
BEGIN
  EXECUTE command;
  IF keep THEN INSERT INTO timing VALUES (what, 1000 * extract(epoch FROM clock_timestamp() - start)); END IF;
END $$;
-- The first few warm the session's caches.
DO $$
DECLARE
  n integer := current_setting('bench.commands')::integer;
BEGIN
  FOR i IN 1 .. n + 10 LOOP
    CALL pg_temp.timed('CREATE TABLE', format('CREATE TABLE mine_too_%s (a integer, b text)', i), i > 10);
    COMMIT;
    CALL pg_temp.timed('ALTER TABLE', format('ALTER TABLE mine_too_%s ADD COLUMN c integer', i), i > 10);
    COMMIT;
    CALL pg_temp.timed('RENAME COLUMN', format('ALTER TABLE mine_too_%s RENAME COLUMN a TO d', i), i > 10);
    COMMIT;
    CALL pg_temp.timed('DROP TABLE', format('DROP TABLE mine_too_%s', i), i > 10);
    COMMIT;
  END LOOP;
END $$;
\pset format unaligned
SELECT 'commands', what, current_setting('bench.kind'), ms FROM timing \g (format=csv)
