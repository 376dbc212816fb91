-- Tables dropped, made, renamed, truncated and reloaded, in a transaction and step by step.
BEGIN;
DROP TABLE IF EXISTS doomed;
CREATE TABLE doomed AS SELECT (i % 100)::numeric(6, 2) AS v FROM generate_series(1, 1000) AS i;
SELECT kde_fit('doomed', 'v', seed => 7);
COMMIT;
DROP TABLE doomed;
CREATE TABLE doomed AS SELECT (i % 100)::numeric(6, 2) AS v FROM generate_series(1, 1000) AS i;
SELECT kde_fit('doomed', 'v', seed => 7);
ALTER TABLE renaming RENAME COLUMN v TO u;
ALTER TABLE renaming RENAME COLUMN u TO v;
BEGIN;
ALTER TABLE renaming RENAME COLUMN v TO u;
ALTER TABLE renaming RENAME COLUMN u TO v;
COMMIT;
BEGIN;
TRUNCATE reloaded;
SELECT load.fill_reloaded();
COMMIT;
-- A change of its name and back may have been told by halves, by a WARNING.
SELECT kde_drop(name) FROM kde_densities_full WHERE relation = 'renaming'::regclass;
SELECT kde_fit('renaming', 'v', seed => 7);
