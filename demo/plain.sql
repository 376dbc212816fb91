-- Plain SQL: the same statement exactly and by the density of orders.amount, each with its plan.
SELECT kde_set_plain_sql('orders.amount', true) \g /dev/null
SET client_min_messages = notice;
\set ECHO queries
SET kde_aqp.approximate = off;
SELECT count(*), sum(amount), avg(amount) FROM orders WHERE amount BETWEEN 10 AND 20;
EXPLAIN (ANALYZE, COSTS OFF)
SELECT count(*), sum(amount), avg(amount) FROM orders WHERE amount BETWEEN 10 AND 20;
SET kde_aqp.approximate = top;
SELECT count(*), sum(amount), avg(amount) FROM orders WHERE amount BETWEEN 10 AND 20;
EXPLAIN (ANALYZE, COSTS OFF)
SELECT count(*), sum(amount), avg(amount) FROM orders WHERE amount BETWEEN 10 AND 20;
