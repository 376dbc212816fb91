-- DDL on what plain SQL is of, that rewrites no rows: labels, columns, constraints, indexes, names.
ALTER TYPE label RENAME VALUE 'mid' TO 'middle';
ALTER TYPE label RENAME VALUE 'middle' TO 'mid';
ALTER TABLE plain ALTER v SET NOT NULL, ADD extra integer DEFAULT 3;
ALTER TABLE plain ALTER v DROP NOT NULL, DROP extra;
CREATE INDEX plain_day ON plain (day);
DROP INDEX plain_day;
BEGIN;
ALTER TABLE plain RENAME TO elsewhere;
ALTER TABLE elsewhere RENAME TO plain;
COMMIT;
ANALYZE plain;
\sleep 20 ms
