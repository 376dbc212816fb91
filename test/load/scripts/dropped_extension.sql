-- The extension goes, with what depends on it, and comes back, in two transactions and in one.
SET client_min_messages = error;
DROP EXTENSION kde_aqp CASCADE;
\echo dropped
CREATE EXTENSION kde_aqp;
SELECT kde_fit('facts', 'v', sample_rows => -1);
SELECT kde_set_plain_sql('facts.v', true);
SELECT pg_sleep(0.05);
BEGIN;
DROP EXTENSION IF EXISTS kde_aqp CASCADE;
CREATE EXTENSION kde_aqp;
COMMIT;
SELECT kde_fit('facts', 'v', sample_rows => -1);
SELECT kde_set_plain_sql('facts.v', true);
SELECT pg_sleep(0.05);
BEGIN;
DROP EXTENSION IF EXISTS kde_aqp CASCADE;
ROLLBACK;
