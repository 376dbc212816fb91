-- The tables of docs/cookbook.md: a shop's orders of 18 months, 20,000 of them, or as many as the psql variable
-- `rows` says (`make bench-cookbook`). Run it in a database of your own to try the page's examples there.
-- Deterministic. What makes it a table as people have them:
--   ordered_at   in the order of id, as rows arrive; busy and slack times of the year, the week and the day;
--                ordered_on is its day
--   country      twelve, some of them rare; region is the country's, as the table countries has it
--   lat, lon     around the country's place on the map
--   amount       log-normal, in cents; three of ten end in .99
--   discount     NULL but in every fifth row
--   paid         of nearly all; of fewer by phone
\if :{?rows}
\else
\set rows 20000
\endif

CREATE TABLE countries (
    country text PRIMARY KEY,
    name text NOT NULL,
    region text NOT NULL,
    lat double precision NOT NULL,
    lon double precision NOT NULL
);
INSERT INTO countries VALUES
    ('US', 'United States', 'Americas', 39, -95),
    ('DE', 'Germany', 'Europe', 51, 10),
    ('GB', 'United Kingdom', 'Europe', 52.5, -1.5),
    ('FR', 'France', 'Europe', 46.5, 2.5),
    ('JP', 'Japan', 'Asia', 36, 138),
    ('IN', 'India', 'Asia', 22, 79),
    ('BR', 'Brazil', 'Americas', -15, -48),
    ('ES', 'Spain', 'Europe', 40, -4),
    ('CA', 'Canada', 'Americas', 50, -100),
    ('AU', 'Australia', 'Oceania', -32, 147),
    ('KR', 'Korea', 'Asia', 37, 127.5),
    ('NZ', 'New Zealand', 'Oceania', -41, 174);

CREATE TABLE orders (
    id bigint NOT NULL,
    ordered_on date NOT NULL,
    ordered_at timestamptz NOT NULL,
    region text NOT NULL,
    country text NOT NULL,
    channel text NOT NULL,
    customer_id integer NOT NULL,
    quantity integer NOT NULL,
    amount numeric(10,2) NOT NULL,
    discount numeric(10,2),
    paid boolean NOT NULL,
    lat double precision NOT NULL,
    lon double precision NOT NULL
);
SELECT setseed(0.27) \g /dev/null
-- OFFSET 0: a random number that is used twice is drawn once.
INSERT INTO orders
SELECT o.id, (o.at AT TIME ZONE 'UTC')::date, o.at,
       c.region, c.country, o.channel, 1 + floor(:rows / 4 * o.who ^ 2)::integer,
       1 + floor(-1.8 * ln(1 - o.many))::integer, o.amount,
       CASE WHEN o.cut < 0.2 THEN round(o.amount * (o.cut + 0.05)::numeric, 2) END,
       o.pays < CASE o.channel WHEN 'phone' THEN 0.81 ELSE 0.97 END,
       round((c.lat + 8 * (o.north - 0.5))::numeric, 4), round((c.lon + 14 * (o.east - 0.5))::numeric, 4)
FROM (SELECT id, who, many, cut, pays, north, east,
             -- how many orders the countries have
             (ARRAY['US', 'DE', 'GB', 'FR', 'JP', 'IN', 'BR', 'ES', 'CA', 'AU', 'KR', 'NZ'])[width_bucket(country,
               '{0, 0.26, 0.45, 0.6, 0.71, 0.79, 0.86, 0.91, 0.95, 0.97, 0.985, 0.995}'::double precision[])] AS country,
             (ARRAY['web', 'web', 'web', 'app', 'app', 'shop', 'shop', 'phone'])[1 + floor(8 * channel)::integer] AS channel,
             -- 2025-01-01 in UTC, whole days, and a time of day; t - a sin(...) crowds them near 0.79 of a day
             to_timestamp(1735689600 + floor(86400 * (0.09 + hour - 0.09 * sin(6.283185307179586 * (hour - 0.79)) +
               floor(day + 8 * sin(day * 6.283185307179586 / 365) + 0.3 * sin(day * 6.283185307179586 / 7))))) AS at,
             CASE WHEN heap < 0.3 THEN floor(price) + 0.99 ELSE price END AS amount
      FROM (SELECT id, 545.7::double precision * (id - 1) / :rows AS day, random() AS hour, random() AS country,
                   random() AS channel, random() AS who, random() AS many, random() AS cut, random() AS pays,
                   random() AS north, random() AS east, random() AS heap,
                   -- Box and Muller's normal deviate
                   exp(3.2 + 0.9 * sqrt(-2 * ln(1 - random())) * cos(6.283185307179586 * random()))::numeric(10,2) AS price
            FROM generate_series(1, :rows) AS id OFFSET 0) AS drawn OFFSET 0) AS o
JOIN countries AS c USING (country);
VACUUM ANALYZE orders, countries;
