-- The small tables of the examples in README.md and docs/*.md. `make docs-check` runs this file in the
-- database of every page; run it in a database of your own to try the examples there.

CREATE TABLE sales (
    id bigint PRIMARY KEY,
    region text NOT NULL,
    sold_on date NOT NULL,
    quantity integer NOT NULL,
    amount numeric(10,2) NOT NULL
);
INSERT INTO sales
SELECT i,
       (ARRAY['EU', 'US', 'north', 'west'])[1 + i % 4],
       date '2026-01-01' + i * 7 % 181,
       1 + i * 5 % 12,
       round((3 + 20 * -ln(((i::bigint * 7919) % 19997 + 0.5) / 19997))::numeric, 2)
FROM generate_series(1, 20000) AS i;

CREATE TABLE orders (
    id bigint PRIMARY KEY,
    created_at timestamptz NOT NULL,
    price money NOT NULL,
    at timetz NOT NULL
);
INSERT INTO orders
SELECT i,
       timestamptz '2026-01-01 00:00+00' + i * 7919 % 10000 * interval '27 minutes',
       (5 + i * 31 % 400 / 4.0)::numeric::money,
       (time '08:00' + i * 17 % 600 * interval '1 minute')::timetz
FROM generate_series(1, 10000) AS i;

CREATE TABLE points (x double precision, y double precision, z double precision);
INSERT INTO points
SELECT i / 100.0 + sin(i), i * 37 % 211 / 50.0 + cos(i), sin(i * 0.7) + i % 7
FROM generate_series(1, 400) AS i;

ANALYZE sales, orders, points;
