-- Who watches: fits that run, what is stale.
SELECT count(*) FROM kde_progress;
SELECT count(*), count(reason) FROM (SELECT stale_reason AS reason FROM kde_densities_full) AS d;
