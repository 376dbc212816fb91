-- Maintenance of the catalog itself: row versions go, move and are frozen under the answers.
VACUUM kde_aqp.fitted;
VACUUM kde_aqp.fitted_stretches;
VACUUM (FREEZE, ANALYZE) kde_aqp.fitted;
VACUUM (FREEZE, ANALYZE) kde_aqp.fitted_stretches;
REINDEX TABLE kde_aqp.fitted;
REINDEX TABLE kde_aqp.fitted_stretches;
VACUUM FULL kde_aqp.fitted;
VACUUM FULL kde_aqp.fitted_stretches;
