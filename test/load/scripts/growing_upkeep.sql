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
