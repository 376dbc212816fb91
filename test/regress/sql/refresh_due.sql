-- What an explicit refresh does of what the worker would leave for later, or cannot know.
\pset tuples_only
\pset format unaligned
SET client_min_messages = warning;
CREATE TABLE due (v integer NOT NULL);
INSERT INTO due SELECT i % 1000 FROM generate_series(1, 20000) AS i;
VACUUM due;
-- A fit that took half a second: the worker rests for fifty, who asks does not wait.
CREATE FUNCTION slow(v integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF v = 999 THEN PERFORM pg_sleep(0.03); END IF;
  RETURN v;
END $$;
SELECT name FROM kde_fit('due', ARRAY['slow(v)'], sample_rows => -1);
SELECT kde_set_plain_sql('due (slow(v))', true);
UPDATE due SET v = v WHERE ctid IN (SELECT min(ctid) FROM due WHERE ctid < '(10,0)' GROUP BY (ctid::text::point)[0]);
SELECT action, regexp_replace(reason, '[0-9]+ changed', 'k changed') AS reason FROM kde_refresh('due');
VACUUM due;
SELECT name FROM kde_fit('due', ARRAY['slow(v)'], sample_rows => -1);
UPDATE due SET v = v WHERE ctid IN (SELECT min(ctid) FROM due WHERE ctid < '(10,0)' GROUP BY (ctid::text::point)[0]);
SELECT fitted_at AS before FROM kde_densities_full WHERE relation = 'due'::regclass \gset
CALL kde_refresh_all();
SELECT fitted_at > :'before' AS refitted FROM kde_densities_full WHERE relation = 'due'::regclass;
SELECT kde_drop('due (slow(v))');

-- Where nothing was counted, and a block may have changed, a sample is drawn.
VACUUM due;
SELECT name FROM kde_fit('due', 'v', seed => 1);
DELETE FROM kde_aqp.upkeep WHERE density_id = (SELECT id FROM kde_aqp.fitted WHERE relation = 'due'::regclass);
UPDATE due SET v = v WHERE ctid IN (SELECT min(ctid) FROM due WHERE ctid < '(10,0)' GROUP BY (ctid::text::point)[0]);
SELECT substring(proof, '^at most') AS proof, stale, drift_at IS NOT NULL AS tested FROM kde_densities_full WHERE relation = 'due'::regclass;
CALL kde_refresh_all();
SELECT stale, drift_at IS NOT NULL AS tested FROM kde_densities_full WHERE relation = 'due'::regclass;
DROP TABLE due;
