-- Bits of the visibility map that are set again, blocks that are frozen, and a file that is written anew.
VACUUM growing;
\sleep 300 ms
VACUUM (FREEZE) growing;
\sleep 300 ms
SELECT * FROM kde_refresh('growing', force => true);
\sleep 300 ms
VACUUM growing;
\sleep 300 ms
VACUUM FULL growing_early;
SELECT * FROM kde_refresh('growing', force => true);
-- A leaf comes and goes, with other rows in the same file and in another.
ALTER TABLE growing ATTACH PARTITION growing_before FOR VALUES FROM (MINVALUE) TO ('2025-01-01');
\sleep 300 ms
SELECT * FROM kde_refresh('growing', force => true);
TRUNCATE growing_before;
INSERT INTO growing_before SELECT id, at - interval '2 years', kind, n, amount, other FROM load.grown(1, 300);
\sleep 300 ms
ALTER TABLE growing DETACH PARTITION growing_before;
\sleep 300 ms
SELECT * FROM kde_refresh('growing', force => true);
