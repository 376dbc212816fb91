-- What bench-plain asks: sales that densities answer for, and receipts that have none.
-- Variables: rows.
SELECT setseed(0.5) \g /dev/null
CREATE TABLE sales AS
SELECT floor(1000 * random())::int AS day, floor(51 * power(random(), 1.5))::int AS store, round((100 * random())::numeric, 2)::float8 AS price
FROM generate_series(1, :rows);
CREATE TABLE receipts AS SELECT i AS id, 100 * random() AS price FROM generate_series(1, 1000) AS i;
ALTER TABLE receipts ADD PRIMARY KEY (id);
VACUUM ANALYZE;
SELECT kde_fit('sales', 'day', measures => ARRAY['price'], group_by => 'store', sample_rows => -1) \g /dev/null
SELECT kde_set_plain_sql('sales.day', true), kde_set_plain_sql('sales.day by store', true) \g /dev/null

-- That they do answer: a session that has not changed the rows.
\connect
SET kde_aqp.approximate = top;
SELECT count(*), sum(price), avg(price) FROM sales WHERE day BETWEEN 10 AND 100 \g /dev/null
SELECT store, count(*), sum(price), avg(price) FROM sales WHERE day BETWEEN 10 AND 100 GROUP BY store \g /dev/null
SELECT statements = 2 AS answered FROM kde_plain_sql WHERE outcome = 'answered by a density' \gset
\if :{?answered}
\else
\set answered false
\endif
\if :answered
\else
\o
TABLE kde_plain_sql;
SELECT 1 / 0 AS "densities do not answer";
\endif
