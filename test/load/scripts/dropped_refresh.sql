-- Refreshes, of one table and of all, and self-checks.
SET client_min_messages = error;
INSERT INTO facts SELECT 1, 1, '2026-01-01', 'w1';
SELECT count(*) FROM kde_refresh('facts', force => true);
CALL kde_refresh_all(force => true);
SELECT count(*) FROM kde_self_check('facts.v');
SELECT count(*) FROM kde_check();
