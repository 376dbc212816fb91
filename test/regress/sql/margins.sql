-- What asks of one column by itself, of a column that only a density of several has: its margin, with the
-- interval that a density of that column alone would have.
\set ECHO queries \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS margins CASCADE;
CREATE SCHEMA margins;
SET search_path = margins, public;
RESET client_min_messages;
SET datestyle = 'ISO, YMD';

-- Every row read: exact.
CREATE TABLE t AS SELECT i % 6 + 1 AS side, CASE WHEN i % 10 > 0 THEN i % 4 END AS other, date '2026-01-01' + i % 90 AS day
FROM generate_series(1, 600) AS i;
SELECT rows FROM kde_fit('t', ARRAY['side', 'other', 'day'], seed => 1);
SELECT approx_quantile('t.side', 0.5) AS median, approx_quantile('t.other', '{0,0.5,1}'::float8[]) AS quantiles, approx_quantile_as('t.day', 0.5, NULL::date) AS day,
  approx_quantile_ci('t.side', 0.5) AS ci, approx_quantile_ci('t.side', 0.5, changed_rows => 150) AS changed, kde_cdf('t.side', 3) AS cdf, kde_pdf('t.side', 3) > 0 AS pdf;
SELECT bin, count, fraction, lower_text FROM approx_histogram('t.side', 3);
SELECT bin, count, fraction FROM approx_histogram_at('t.other', ARRAY[0, 2, 3]);
SELECT lower_text, count FROM approx_histogram('t.day', 3, equal => 'round');
SELECT * FROM approx_top('t.other', 2);
SELECT approx_quantile('t.side', 0.5, max_relative_error => 0), approx_quantile('t.other', 0.5, max_relative_error => 0, otherwise => 'exact');
PREPARE margin AS SELECT approx_quantile($1, $2);
EXECUTE margin('t.side', '0.5');
-- A filter, an expression; a density of its own comes first. No value says which of its columns is meant.
SELECT rows FROM kde_fit('t', ARRAY['side', 'other + 1'], filter => 'day < ''2026-02-01''', seed => 1);
SELECT approx_quantile('t (other + 1)', 1, filter => 'day < ''2026-02-01''') AS greatest;
SELECT rows FROM kde_fit('t', 'side', filter => 'day < ''2026-01-02''');
SELECT (SELECT sum(count) FROM approx_histogram('t.side', 2, filter => 'day < ''2026-01-02''')) AS own,
  (SELECT sum(count) FROM approx_histogram('t.side', 2, filter => 'day < ''2026-02-01''')) AS margin;
SELECT approx_quantile(kde_density('t', ARRAY['side', 'other', 'day']), 0.5);
SELECT approx_quantile('t.side', 0.5, filter => 'day > ''2026-02-01''');
SELECT kde_cdf('t (side + 1)', 2);
SELECT approx_quantile('t (side, other)', 0.5);
SELECT x, round(cdf::numeric, 3) AS cdf, density > 0 AS positive FROM kde_points('t.side', 3);

-- Of a sample: as a density of the column alone, of the same blocks.
SET kde_aqp.sample_blocks = 40;
CREATE TABLE s AS SELECT i % 1000 + sqrt(hashint4(i) & 1048575) AS x, (hashint4(-i) & 255) * (hashint4(i) & 15) AS y FROM generate_series(1, 50000) AS i;
SELECT rows_read < 20000 AS sampled FROM kde_fit('s', ARRAY['x', 'y'], seed => 3);
CREATE TABLE asked AS SELECT c, q, (approx_quantile_ci('s.' || c, q)).* FROM unnest('{x,y}'::text[]) AS c, generate_series(0.02, 0.98, 0.06) AS q;
SELECT count((kde_fit('s', c, seed => 3)).rows) AS fitted FROM unnest('{x,y}'::name[]) AS c;
SELECT c, count(*), count(*) FILTER (WHERE asked.lower_bound <= own.estimate AND own.estimate <= asked.upper_bound) AS within,
  round((sum(own.upper_bound - own.lower_bound) / sum(asked.upper_bound - asked.lower_bound))::numeric, 2) AS width
FROM asked, LATERAL approx_quantile_ci('s.' || c, q) AS own GROUP BY c ORDER BY c;
-- By a method by name, too, whose margins are those of auto.
SELECT rows FROM kde_fit('t', ARRAY['day - ''2026-01-01''', 'side'], 'scott', seed => 1);
SELECT approx_quantile('t (day - ''2026-01-01'')', 1) AS greatest, approx_quantile_ci('t (day - ''2026-01-01'')', 0.5);

-- Rows that came since are in the interval.
INSERT INTO t SELECT 6, 1, '2026-04-01' FROM generate_series(1, 300);
SET kde_aqp.stale = 'ignore';
SELECT pg_stat_force_next_flush();
SELECT lower_bound <= 4 AND 6 <= upper_bound AS wide FROM approx_quantile_ci('t.side', 0.5);

-- kde_explain of a value: it is the one that answers.
SELECT * FROM kde_explain((SELECT kde_agg(side) FROM t), 2, 4);
SELECT rank, method, chosen, estimate FROM kde_explain(kde_density('t', ARRAY['side', 'other', 'day']), '{2,NULL,NULL}', '{4,NULL,NULL}');
SELECT column_names, chosen, round(estimate::numeric, 2) AS estimate FROM kde_explain(kde_density('t', ARRAY['side', 'other', 'day']), '{2,NULL,NULL}', '{4,NULL,NULL}', measure => '2');
SELECT estimate IS NULL AS none FROM kde_explain((SELECT kde_agg(side) FROM t), 20, measure => '1');
SELECT count(*) FROM kde_explain(NULL::kde);
SELECT count(*) FROM kde_explain((SELECT kde_agg(side) FROM t), 2, 4, filter => 'side > 1');

SET client_min_messages = warning;
DROP SCHEMA margins CASCADE;
