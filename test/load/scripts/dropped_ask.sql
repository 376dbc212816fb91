-- Functions that ask, each of its own transaction and several in one.
SET client_min_messages = error;
SELECT approx_count('facts.v', 1, 500);
SELECT approx_sum('facts.v', 1, 500), approx_quantile('facts.v', 0.5);
SELECT count(*) FROM approx_groups('facts.d by (g)');
SELECT approx_count(kde_density('facts.v'));
SELECT sum(approx_count('facts.v', 1, 500 + g)) FROM others;
BEGIN;
SELECT count(*) FROM facts;
SELECT approx_count('facts.v', 1, 500);
SELECT count(*) FROM others;
SELECT approx_count('facts.v', 1, 400);
COMMIT;
SELECT count(*) FROM kde_explain('facts (v)', 1, 2);
SELECT count(*) FROM approx_histogram('facts.v', 5);
SELECT kde_plot('facts.v');
