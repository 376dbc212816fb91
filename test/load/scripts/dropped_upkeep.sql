-- Settings of densities, values stored, and maintenance of the extension's own tables.
SET client_min_messages = error;
SELECT kde_set_refresh('facts.v', enabled => true);
SELECT kde_set_plain_sql('facts.v', true);
SELECT kde_store('others', 'v', (SELECT kde_agg(v) FROM others));
ANALYZE facts;
VACUUM kde_aqp.fitted;
SELECT kde_drop('others.v', if_exists => true);
