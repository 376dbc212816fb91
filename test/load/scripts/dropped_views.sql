-- The views, one a statement.
SET client_min_messages = error;
SELECT count(*) FROM kde_densities;
SELECT count(*) FROM kde_densities_full;
SELECT count(*) FROM kde_self_checks;
SELECT count(*) FROM kde_plain_sql;
SELECT count(*) FROM kde_progress;
SELECT count(*) FROM kde_check();
