-- One fact and four dimensions, and the thirteen questions of the Star Schema Benchmark (O'Neil, O'Neil, Chen, 2009),
-- asked of these columns. Variables: rows.
CREATE TABLE dates AS SELECT d::date AS day, extract(year FROM d)::int AS year, to_char(d, 'YYYYMM')::int AS month, to_char(d, 'MonYYYY') AS month_name, extract(week FROM d)::int AS week
FROM generate_series(timestamp '2022-01-01', '2025-12-31', '1 day') AS d;
CREATE TABLE stores AS SELECT i AS id, 'store ' || i AS name, (ARRAY['Lyon', 'Porto', 'Osaka', 'Kyoto', 'Lima', 'Dakar'])[i] AS city, (ARRAY['FR', 'PT', 'JP', 'JP', 'PE', 'SN'])[i] AS nation,
  (ARRAY['europe', 'europe', 'asia', 'asia', 'america', 'africa'])[i] AS region FROM generate_series(1, 6) AS i;
CREATE TABLE customers AS SELECT i AS id, (ARRAY['Lyon', 'Porto', 'Osaka', 'Kyoto', 'Lima', 'Dakar'])[1 + i % 6] || i % 5 AS city, (ARRAY['FR', 'PT', 'JP', 'CN', 'PE', 'SN'])[1 + i % 6] AS nation,
  (ARRAY['europe', 'europe', 'asia', 'asia', 'america', 'africa'])[1 + i % 6] AS region FROM generate_series(1, 60) AS i;
CREATE TABLE products AS SELECT i AS id, 'maker ' || 1 + i % 5 AS maker, 'category ' || 1 + i % 25 AS category, 'brand ' || 1 + i % 500 AS brand FROM generate_series(1, 3000) AS i;
ALTER TABLE dates ADD PRIMARY KEY (day);
ALTER TABLE stores ADD PRIMARY KEY (id);
ALTER TABLE customers ADD PRIMARY KEY (id);
ALTER TABLE products ADD PRIMARY KEY (id);
CREATE TABLE orders AS SELECT date '2022-01-01' + (i * 1461 / (:rows + 1))::int AS day, 1 + floor(6 * drawn(i, 1))::int AS store_id, 1 + floor(60 * drawn(i, 2) ^ 1.2)::int AS customer_id,
  1 + floor(3000 * drawn(i, 3) ^ 1.2)::int AS product_id, 1 + floor(50 * drawn(i, 4))::int AS quantity, floor(11 * drawn(i, 5))::int AS discount, 100 + floor(9900 * drawn(i, 6))::int AS price, 80 + floor(4000 * drawn(i, 7))::int AS cost
FROM generate_series(1, :rows::bigint) AS i;
SELECT format('ALTER TABLE orders %s', string_agg(format('ALTER %I SET NOT NULL', attname), ', ')) FROM pg_attribute WHERE attrelid = 'orders'::regclass AND attnum > 0 \gexec
VACUUM ANALYZE dates, stores, customers, products, orders;
-- Discounts by day for the first three, days by what the others are joined by.
SET kde_aqp.density_bytes = '512kB';
SELECT count(kde_fit('orders', c, group_by => g, measures => m, filter => f, sample_rows => -1)) FROM (VALUES ('discount', 'day', '{price * discount}'::text[], 'quantity < 25'),
  ('discount', 'day', '{price * discount}', 'quantity BETWEEN 26 AND 35'), ('day', 'store_id, customer_id', '{price}', NULL), ('day', 'store_id, product_id', '{price}', NULL)) AS d(c, g, m, f) \g /dev/null
SELECT count(kde_set_plain_sql(name, true, filter => filter)) FROM kde_densities_full WHERE relation = 'orders'::regclass \g /dev/null
CREATE TABLE panel (id integer GENERATED ALWAYS AS IDENTITY, tool text, query text);
INSERT INTO panel (tool, query) VALUES
('Q1.1', $$SELECT sum(o.price * o.discount) AS revenue FROM orders o, dates d WHERE o.day = d.day AND d.year = 2023 AND o.discount BETWEEN 1 AND 3 AND o.quantity < 25$$),
('Q1.2', $$SELECT sum(o.price * o.discount) AS revenue FROM orders o, dates d WHERE o.day = d.day AND d.month = 202401 AND o.discount BETWEEN 4 AND 6 AND o.quantity BETWEEN 26 AND 35$$),
('Q1.3', $$SELECT sum(o.price * o.discount) AS revenue FROM orders o, dates d WHERE o.day = d.day AND d.week = 6 AND d.year = 2024 AND o.discount BETWEEN 5 AND 7 AND o.quantity BETWEEN 26 AND 35$$),
('Q2.1', $$SELECT sum(o.price), extract(year FROM o.day) AS year, p.brand FROM orders o, products p, stores s WHERE o.product_id = p.id AND o.store_id = s.id AND p.category = 'category 12' AND s.region = 'america' GROUP BY 2, 3 ORDER BY 2, 3$$),
('Q2.2', $$SELECT sum(o.price), extract(year FROM o.day) AS year, p.brand FROM orders o, products p, stores s WHERE o.product_id = p.id AND o.store_id = s.id AND p.brand BETWEEN 'brand 221' AND 'brand 228' AND s.region = 'asia' GROUP BY 2, 3 ORDER BY 2, 3$$),
('Q2.3', $$SELECT sum(o.price), extract(year FROM o.day) AS year, p.brand FROM orders o, products p, stores s WHERE o.product_id = p.id AND o.store_id = s.id AND p.brand = 'brand 221' AND s.region = 'europe' GROUP BY 2, 3 ORDER BY 2, 3$$),
('Q3.1', $$SELECT c.nation, s.nation AS sold_in, extract(year FROM o.day) AS year, sum(o.price) AS revenue FROM customers c, orders o, stores s WHERE o.customer_id = c.id AND o.store_id = s.id AND c.region = 'asia' AND s.region = 'asia' AND o.day BETWEEN '2022-01-01' AND '2024-12-31' GROUP BY 1, 2, 3 ORDER BY 3, revenue DESC$$),
('Q3.2', $$SELECT c.city, s.city AS sold_in, extract(year FROM o.day) AS year, sum(o.price) AS revenue FROM customers c, orders o, stores s WHERE o.customer_id = c.id AND o.store_id = s.id AND c.nation = 'JP' AND s.nation = 'JP' AND o.day BETWEEN '2022-01-01' AND '2024-12-31' GROUP BY 1, 2, 3 ORDER BY 3, revenue DESC$$),
('Q3.3', $$SELECT c.city, s.city AS sold_in, extract(year FROM o.day) AS year, sum(o.price) AS revenue FROM customers c, orders o, stores s WHERE o.customer_id = c.id AND o.store_id = s.id AND c.city IN ('Osaka1', 'Osaka3') AND s.city IN ('Osaka', 'Kyoto') AND o.day BETWEEN '2022-01-01' AND '2024-12-31' GROUP BY 1, 2, 3 ORDER BY 3, revenue DESC$$),
('Q3.4', $$SELECT c.city, s.city AS sold_in, d.year, sum(o.price) AS revenue FROM customers c, orders o, stores s, dates d WHERE o.customer_id = c.id AND o.store_id = s.id AND o.day = d.day AND c.city IN ('Osaka1', 'Osaka3') AND s.city IN ('Osaka', 'Kyoto') AND d.month_name = 'Dec2024' GROUP BY 1, 2, 3 ORDER BY 3, revenue DESC$$),
('Q4.1', $$SELECT extract(year FROM o.day) AS year, c.nation, sum(o.price - o.cost) AS profit FROM customers c, stores s, products p, orders o WHERE o.customer_id = c.id AND o.store_id = s.id AND o.product_id = p.id AND c.region = 'america' AND s.region = 'america' AND p.maker IN ('maker 1', 'maker 2') GROUP BY 1, 2 ORDER BY 1, 2$$),
('Q4.2', $$SELECT extract(year FROM o.day) AS year, s.nation, p.category, sum(o.price - o.cost) AS profit FROM customers c, stores s, products p, orders o WHERE o.customer_id = c.id AND o.store_id = s.id AND o.product_id = p.id AND c.region = 'america' AND s.region = 'america' AND o.day >= '2024-01-01' AND p.maker IN ('maker 1', 'maker 2') GROUP BY 1, 2, 3 ORDER BY 1, 2, 3$$),
('Q4.3', $$SELECT extract(year FROM o.day) AS year, s.city, p.brand, sum(o.price - o.cost) AS profit FROM stores s, products p, orders o WHERE o.store_id = s.id AND o.product_id = p.id AND s.nation = 'JP' AND o.day >= '2024-01-01' AND p.category = 'category 14' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3$$);
