-- Every form of fit, and what removes them.
SET client_min_messages = error;
SELECT kde_fit('facts', 'v', seed => 1);
SELECT kde_fit('facts', 'd', measures => ARRAY['v'], group_by => 'g');
SELECT kde_fit('facts', ARRAY['v', 'g']);
SELECT kde_fit('facts', ARRAY['v * g'], filter => 'g > 2');
SELECT kde_fit('facts', 'word');
SELECT kde_fit('facts');
BEGIN;
SELECT kde_fit('others', 'v');
SELECT kde_fit('facts', 'd');
COMMIT;
SELECT kde_drop('facts.d', if_exists => true);
