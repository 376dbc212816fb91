-- Refreshes of everything, each density in a transaction of its own: of what is stale, and of all.
SET client_min_messages = warning;
CALL kde_refresh_all();
CALL kde_refresh_all(force => true);
