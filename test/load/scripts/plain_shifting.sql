-- What plain SQL is of goes, comes back, has another name, another type.
BEGIN;
DROP TABLE IF EXISTS shifting;
CREATE TABLE shifting AS SELECT i % 100 AS v FROM generate_series(1, 1000) AS i;
SELECT kde_fit('shifting', 'v', sample_rows => -1), kde_set_plain_sql('shifting.v', true);
COMMIT;
\sleep 10 ms
ALTER TABLE shifting RENAME v TO u;
ALTER TABLE shifting RENAME u TO v;
BEGIN;
ALTER TABLE shifting ADD u bigint;
UPDATE shifting SET u = v;
ALTER TABLE shifting DROP v;
ALTER TABLE shifting RENAME u TO v;
SELECT kde_fit('shifting', 'v', sample_rows => -1), kde_set_plain_sql('shifting.v', true);
COMMIT;
\sleep 10 ms
DROP TABLE shifting;
