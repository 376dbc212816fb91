-- What latency.sh fits beside the answers.
CREATE TABLE large AS SELECT exp(3 * sin(i)) AS x FROM generate_series(1, 1200000) AS i;
VACUUM ANALYZE large;
SELECT rows FROM kde_fit('large', 'x') \g /dev/null
