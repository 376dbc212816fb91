-- Cancels or terminates one of the victims that is at work.
SELECT CASE WHEN random() < 0.7 THEN pg_cancel_backend(pid) ELSE pg_terminate_backend(pid) END
FROM pg_stat_activity WHERE application_name = 'victim' AND state = 'active' ORDER BY random() LIMIT 1;
\sleep 100 ms
