-- Densities by a name of their own: given by a fit, found by every function, kept by refreshes, one density's.
\pset tuples_only
\pset format unaligned
CREATE TABLE named AS SELECT i % 10 AS v, i % 3 AS w, i % 2 = 0 AS odd FROM generate_series(1, 3000) AS i;
ANALYZE named;
SELECT name FROM kde_fit('named', 'v', filter => 'w = 1', name => 'ones');
SELECT name FROM kde_fit('named', ARRAY['v', 'w'], seed => 1, name => 'Both of "them"');
SELECT name FROM kde_fit('named', 'v', group_by => 'odd', sample_rows => -1, name => 'by_parity');
SELECT name, filter, group_by, alias FROM kde_densities_full ORDER BY name, filter;
SELECT approx_count('ones', 2, 4), approx_avg('ones', 2, 4), approx_quantile('ones', 0.5), approx_count('ONES', 2, 4);
SELECT approx_count('"Both of ""them"""', ARRAY[2, 0], ARRAY[4, 1]);
-- A name is stored as it is, and asked as any identifier: the hint says how.
SELECT count(*) FROM kde_fit('named', 'v', filter => 'w = 2', name => 'Twos');
SELECT approx_count('Twos');
SELECT approx_count('"Twos"', 2, 4);
SELECT kde_drop('"Twos"');
SELECT approx_avg('"Both of ""them"""', ARRAY[2, 0], ARRAY[4, 1], measure => 'v') BETWEEN 2 AND 4 AS fits;
SELECT group_key, count FROM approx_groups('by_parity', 2, 4);
SELECT approx_count('ones', 2, 4, max_relative_error => 0, otherwise => 'exact');
SELECT (kde_info('ones')).rows, approx_count(kde_density('ones'));
-- Where groups are none of the answer's, the hint is to all rows that pass the filter.
SELECT count(*) FROM kde_fit('named', 'v', filter => 'w = 1', group_by => 'odd', name => 'ones_by_parity');
SELECT approx_count('ones_by_parity');
SELECT kde_drop('ones_by_parity');
-- A refit without a name keeps it, as a refresh does; with another it changes.
SELECT count(*) FROM kde_fit('named', 'v', filter => 'w = 1');
SELECT count(*) FROM kde_refresh('named', force => true);
SELECT alias FROM kde_densities_full ORDER BY alias;
SELECT count(*) FROM kde_fit('named', 'v', filter => 'w = 1', name => 'first');
SELECT approx_count('ones');
SELECT approx_count('first');
ALTER TABLE named RENAME w TO u;
SELECT approx_count('first');
SELECT kde_set_refresh('first', max_age => '1 day');
SELECT column_name FROM kde_drift('first', sample_rows => 100);
-- What is none, or another's.
SELECT approx_count('named');
SELECT approx_count('nobody');
SELECT approx_count('');
SELECT approx_count('first', filter => 'u = 2');
SELECT kde_fit('named', 'u', name => 'first');
SELECT kde_fit('named', 'u', name => '');
SELECT kde_fit('named', 'u', name => repeat('x', 64));
-- What is no identifier is asked as it was given: by all that take a density's name, and by kde_refresh() alone.
SELECT name FROM kde_fit('named', 'v', filter => 'u = 0', name => 'My name, 2026');
SELECT approx_count('My name, 2026', 2, 4), (kde_info('My name, 2026')).rows, approx_count('"My name, 2026"', 2, 4);
SELECT kde_set_plain_sql('My name, 2026', true), kde_set_refresh('My name, 2026', max_age => '1 day');
SELECT plain_sql FROM kde_densities_full WHERE alias = 'My name, 2026';
SELECT action, filter FROM kde_refresh('My name, 2026', force => true);
SELECT action, filter FROM kde_refresh('named.v', force => true);
SELECT count(*) > 0 AS checked, bool_and(held) AS held FROM kde_self_check('My name, 2026', seed => 1);
SELECT kde_drop('My name, 2026');
SELECT approx_count('My name, 2026');
SELECT kde_drop('My name, 2026', if_exists => true);
SELECT kde_refresh('My name, 2026');
SELECT kde_refresh('named.odd');
-- A role that may not read the column hears nothing of its values.
CREATE ROLE kde_named_reader;
SET ROLE kde_named_reader;
SELECT approx_count('first');
RESET ROLE;
DROP ROLE kde_named_reader;
SELECT kde_drop('first'), kde_drop('by_parity');
SELECT kde_drop('first', if_exists => true);
SELECT alias FROM kde_densities_full WHERE alias IS NOT NULL;
-- A restore whose name is taken says so.
CREATE TABLE kept AS SELECT * FROM kde_aqp.fitted WHERE alias = 'Both of "them"';
SELECT kde_drop('"Both of ""them"""');
SELECT count(*) FROM kde_fit('named', 'v', name => 'Both of "them"');
INSERT INTO kde_aqp.density SELECT * FROM kept;
SELECT name, alias FROM kde_densities_full ORDER BY name;
DROP TABLE named, kept;
