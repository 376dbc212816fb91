-- Maintenance of the catalog itself: row versions go, move and are frozen under the answers.
VACUUM kde_aqp.density;
VACUUM (FREEZE, ANALYZE) kde_aqp.density;
REINDEX TABLE kde_aqp.density;
VACUUM FULL kde_aqp.density;
