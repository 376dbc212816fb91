-- The table of orders of the demo. Deterministic: each piece has its own seed. What makes its columns as
-- people have them:
--   amount      log-normal in cents; 30 % of prices end in .99, 12 % are multiples of 5
--   quantity    1, 2, 3 ... with geometrically falling frequency
--   created_at  a year in the order of id, as rows arrive, with a daily rhythm: most at about 19 h
CREATE TABLE orders (
  id bigint NOT NULL,
  amount numeric(12,2) NOT NULL,
  quantity integer NOT NULL,
  created_at timestamptz NOT NULL
) WITH (autovacuum_enabled = false);

CREATE PROCEDURE demo.add_orders(total bigint) LANGUAGE plpgsql AS $$
BEGIN
  FOR piece IN 0..49 LOOP
    PERFORM demo.say(format('%s %%', 2 * piece)), setseed(piece / 50.0);
    INSERT INTO orders
    SELECT id,
           -- In cents as an integer first: a double precision number takes four times as long to a numeric.
           CASE WHEN heap < 0.30 THEN 100 * trunc(price) + 99
                WHEN heap < 0.42 THEN 500 * ceil(price / 5)
                ELSE 100 * price END::integer * 0.01,
           1 + floor(-1.8 * ln(1 - q))::integer,
           -- 2025-01-01 00:00 UTC plus whole days plus a time of day; t - a sin(...) crowds times
           -- near 0.79 of the day.
           to_timestamp(1735689600 + 86400 *
             (floor(365.0::float8 * (id - 1) / total) + t - 0.09 * sin(6.283185307179586 * (t - 0.79))))
    FROM (SELECT id, q, t, heap,
                 exp(3.2 + 0.9 * sqrt(-2 * ln(1 - u)) * cos(6.283185307179586 * v)) AS price
          -- Box and Muller's normal deviate. OFFSET 0: a random number used twice is drawn once.
          FROM (SELECT generate_series(total * piece / 50 + 1, total * (piece + 1) / 50) AS id, random() AS u,
                       random() AS v, random() AS q, random() AS t, random() AS heap
                OFFSET 0) AS drawn
          OFFSET 0) AS priced;
  END LOOP;
END $$;
