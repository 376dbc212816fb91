-- Categories: columns that are compared for equality, asked by equality and IN, beside SQL.
\set ECHO none \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS words CASCADE;
CREATE SCHEMA words;
SET search_path = words, public;
SET kde_aqp.stale = 'ignore';  -- when a rewritten table's rows are counted is not for here

CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy', 'never');
CREATE DOMAIN code AS text CHECK (length(VALUE) > 0);
CREATE COLLATION ignoring_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE kinds (
  t text, v varchar(20), c char(6), b boolean, m mood, u uuid, i inet, d code, n name, by bytea,
  a text[], j jsonb, ci text COLLATE ignoring_case, amount numeric(10, 2));
INSERT INTO kinds
SELECT 'word ' || k % 7, 'v' || k % 5, 'c' || k % 3, k % 3 = 0, ('{sad,ok,happy}'::mood[])[1 + k % 3],
       ('00000000-0000-0000-0000-00000000000' || k % 4)::uuid, ('10.0.0.' || k % 6)::inet,
       'd' || k % 2, 'n' || k % 4, ('\x0' || k % 8)::bytea, ARRAY['a', 'b' || k % 2],
       jsonb_build_object('k', k % 3), CASE k % 3 WHEN 0 THEN 'Eu' WHEN 1 THEN 'EU' ELSE 'us' END,
       k % 100
FROM generate_series(1, 3000) AS k;
INSERT INTO kinds (t, amount) VALUES (NULL, 1), (NULL, 2), ('', 3), ('it''s "x"', 4),
  (E'two\nlines', 5), ('größer 漢字', 6), (repeat('long ', 60), 7), (repeat('x', 2000), 8);

-- Each column by each of its values: every answer is SQL's.
CREATE FUNCTION compare(col text) RETURNS TABLE (fitted text, wrong bigint, asked bigint)
LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('SELECT model FROM kde_fit(''kinds'', %L)', col) INTO fitted;
  EXECUTE format(
    'SELECT count(*) FILTER (WHERE approx_count(%L, x) IS DISTINCT FROM n
                                OR approx_count(%1$L, x, x) IS DISTINCT FROM n), count(*)
     FROM (SELECT %I AS x, count(*)::float8 AS n FROM kinds WHERE %2$I IS NOT NULL GROUP BY 1) AS g',
    'kinds.' || col, col) INTO wrong, asked;
  RETURN NEXT;
END $$;
\set ECHO queries
SELECT col, c.* FROM unnest('{t,v,c,b,m,u,i,d,n,by,a,j,ci}'::text[]) AS col, compare(col) AS c;

-- As text, typed and untyped; what is not there; IN, with NULLs, twice the same, nothing.
SELECT approx_count('kinds.t', 'word 3'), approx_count('kinds.t', 'word 3'::varchar),
       approx_count('kinds.t', 'no such'), approx_count('kinds.t', '');
SELECT approx_count('kinds.t', 'it''s "x"'), approx_count('kinds.t', E'two\nlines'),
       approx_count('kinds.t', 'größer 漢字'), approx_count('kinds.t', repeat('long ', 60)),
       approx_count('kinds.t', repeat('x', 2000));
SELECT * FROM approx_count_ci('kinds.t', repeat('x', 2000));
SELECT * FROM approx_count_ci('kinds.t', 'no such');
SELECT approx_count('kinds.t', ARRAY['word 1', NULL, 'word 2', 'word 1', 'no such']),
       (SELECT count(*) FROM kinds WHERE t IN ('word 1', NULL, 'word 2', 'word 1', 'no such'));
SELECT approx_count('kinds.t', '{}'::text[]), approx_count('kinds.t', ARRAY[NULL]::text[]);
SELECT approx_count('kinds.t'), (SELECT count(t) FROM kinds);
SELECT approx_count('kinds.b', true), approx_count('kinds.b', 'yes'),
       approx_count('kinds.b', ARRAY[true, false]);
SELECT approx_count('kinds.m', 'ok'), approx_count('kinds.m', 'ok'::mood),
       approx_count('kinds.m', '{sad,ok}'::mood[]), approx_count('kinds.m', 'never');
SELECT approx_count('kinds.u', '00000000-0000-0000-0000-00000000000A'),
       approx_count('kinds.u', '{00000000-0000-0000-0000-000000000001}'),
       approx_count('kinds.u', '{00000000-0000-0000-0000-000000000001}'::uuid[]);
SELECT approx_count('kinds.i', '10.0.0.1/32'), approx_count('kinds.i', '10.0.0.1'::cidr);
-- As the column compares: blanks of character(n), a collation that ignores case, numbers in jsonb.
SELECT approx_count('kinds.c', 'c1'), approx_count('kinds.c', 'c1   '::bpchar),
       approx_count('kinds.c', 'too long for it');
SELECT approx_count('kinds.ci', 'eu'), approx_count('kinds.ci', 'EU'),
       approx_count('kinds.ci', ARRAY['eU', 'Eu']), (SELECT count(*) FROM kinds WHERE ci = 'eu');
SELECT approx_count('kinds.j', '{"k": 1.0}'), approx_count('kinds.j', '{"k": 7}');
SELECT approx_count('kinds.a', ARRAY['a', 'b1']), approx_count('kinds.a', '{a,b1}');
SET bytea_output = escape;
SELECT approx_count('kinds.by', '\x03'::bytea), approx_count('kinds.by', '\003');
RESET bytea_output;

-- The most frequent: all that are kept, of equal counts by their text, no label without rows, none behind
-- one that is too long to be kept.
SELECT * FROM approx_top('kinds.t', 3);
SELECT count(*) AS listed, count(*) FILTER (WHERE h.count = s.count AND h.lower_bound = s.count AND h.upper_bound = s.count) AS right
FROM approx_top('kinds.t', 100) AS h FULL JOIN (SELECT t AS value, count(*) FROM kinds WHERE t IS NOT NULL GROUP BY t) AS s USING (value);
SELECT rank, value, count FROM approx_top('kinds.m');
SELECT rank, value, count FROM approx_top('kinds.by', 2);
SELECT rank, value, count FROM approx_top(kde_density('kinds.b'), changed_rows => 10);
SELECT col, (kde_info('kinds.' || col)).distinct_values FROM unnest('{t,m,ci,j}'::text[]) AS col;
SELECT count(DISTINCT t) AS t, count(DISTINCT m) AS m, count(DISTINCT ci) AS ci, count(DISTINCT j) AS j FROM kinds;

-- Intervals, accuracy, exact answers, rows that changed.
SELECT * FROM approx_count_ci('kinds.t', 'word 3', changed_rows => 10);
SELECT approx_count('kinds.t', 'word 3', changed_rows => 10, max_relative_error => 0.001,
                    otherwise => 'exact');
SELECT approx_count('kinds.ci', 'eu', changed_rows => 10, max_relative_error => 0,
                    otherwise => 'exact');
SELECT approx_count('kinds.m', '{sad,ok}'::mood[], changed_rows => 10, max_relative_error => 0,
                    otherwise => 'exact');
SELECT approx_count('kinds.c', 'c1', changed_rows => 10, max_relative_error => 0,
                    otherwise => 'exact');
SELECT approx_count('kinds.a', ARRAY['a', 'b1'], changed_rows => 10, max_relative_error => 0,
                    otherwise => 'exact');
SELECT approx_count('kinds.t', 'word 3', changed_rows => 10, max_relative_error => 0,
                    otherwise => 'null');

-- A filter, an expression, measures.
SELECT model FROM kde_fit('kinds', 't', filter => 'amount > 50');
SELECT approx_count('kinds.t', 'word 3', filter => 'amount > 50'),
       (SELECT count(*) FROM kinds WHERE t = 'word 3' AND amount > 50);
SELECT model FROM kde_fit('kinds', ARRAY['upper(t)']);
SELECT approx_count('kinds(upper(t))', 'WORD 3');
SELECT model FROM kde_fit('kinds', 't', measures => ARRAY['amount']);
SELECT approx_sum('kinds.t', 'word 3', measure => 'amount'),
       approx_avg('kinds.t', 'word 3', measure => 'amount'),
       approx_variance('kinds.t', 'word 3', measure => 'amount'),
       approx_count('kinds.t', 'word 3', measure => 'amount');
SELECT sum(amount), avg(amount), variance(amount), count(amount) FROM kinds WHERE t = 'word 3';
SELECT approx_sum('kinds.t', ARRAY['word 3', 'word 4', 'no such'], measure => 'amount') AS sum,
       approx_avg('kinds.t', ARRAY['word 3', 'word 4'], measure => 'amount') AS avg,
       approx_variance('kinds.t', ARRAY['word 3', 'word 4'], measure => 'amount') AS variance;
SELECT sum(amount), avg(amount), variance(amount) FROM kinds WHERE t IN ('word 3', 'word 4');
SELECT * FROM approx_sum_ci('kinds.t', ARRAY['word 3', 'word 4'], measure => 'amount');
SELECT approx_sum('kinds.t', measure => 'amount'), approx_sum('kinds.t', 'no such', measure => 'amount');

-- What cannot be asked.
\set VERBOSITY default
SELECT approx_count('kinds.t', 'a', 'b');
SELECT approx_count('kinds.t', NULL, 'b');
SELECT approx_count('kinds.t', ARRAY['a'], ARRAY['b']);
SELECT approx_count('kinds.t', 3);
SELECT approx_count('kinds.m', 'angry');
SELECT approx_sum('kinds.t', 'a');
SELECT approx_quantile('kinds.t', 0.5);
SELECT * FROM approx_histogram('kinds.t', 4);
SELECT * FROM kde_points('kinds.t');
SELECT kde_agg(t) FROM kinds;
SELECT rollup(kde_density('kinds.t'));
SELECT * FROM kde_fit('kinds', 't', group_by => 'b');
SELECT * FROM kde_fit('kinds', 't', method => 'plugin');
SELECT * FROM kde_fit('kinds', 't', sample_rows => 100);
SELECT * FROM kde_fit('kinds', 'amount', measures => ARRAY['t']);
CREATE TABLE no_hash (x json, p point, z timetz, w money);
SELECT * FROM kde_fit('no_hash', 'x');
SELECT * FROM kde_fit('no_hash', 'p');
SELECT * FROM kde_fit('no_hash', 'z');
SELECT approx_count('no_hash.p', '(1,1)');
\set VERBOSITY terse

-- The value: text and back, binary and back, what it says of itself.
SELECT kde_density('kinds.t')::text::kde = kde_density('kinds.t') AS same,
       kde_density('kinds.m')::text::kde = kde_density('kinds.m') AS of_enum;
CREATE TABLE received (d kde);
SELECT receive(kde_aqp.kde_send(kde_density('kinds.t')));
SELECT kde_aqp.kde_send(d) = kde_aqp.kde_send(kde_density('kinds.t')) AS binary,
       approx_sum(d, 'word 3', measure => '2') FROM received;
-- A byte at a time: damaged, cut short.
SELECT receive(kde_aqp.kde_send(kde_density('kinds.m')));
SELECT count(*) FILTER (WHERE r LIKE 'accepted%') < count(*) AS refused, count(*) FILTER (WHERE r LIKE '%internal%') AS internal
FROM (SELECT receive(overlay(b PLACING '\xfe' FROM at)) AS r
      FROM (SELECT kde_aqp.kde_send(kde_density('kinds.m')) AS b) AS w, generate_series(8, length(b), 23) AS at) AS s;
SELECT count(*) AS accepted FROM (SELECT receive(substr(b, 1, at)) AS r
      FROM (SELECT kde_aqp.kde_send(kde_density('kinds.m')) AS b) AS w, generate_series(0, length(b) - 1, 7) AS at) AS s
WHERE r LIKE 'accepted%';
SELECT value_type, rows, lower, mean, lattice_step, bytes > 0 AS some FROM kde_info('kinds.m');
SELECT kde_density('kinds.m')::jsonb -> 'words';
SELECT approx_count(kde_density('kinds.t'), 'word 3'), approx_count(kde_density('kinds.b'), true),
       approx_count(kde_density('kinds.u'), '00000000-0000-0000-0000-000000000001');
-- Its words are f and t, of which two are the same, or more are told of than there are.
SELECT replace(kde_density('kinds.b')::text, '66740000', '74740000')::kde;
SELECT overlay(kde_density('kinds.b')::text PLACING '07' FROM 5 FOR 2)::kde;
SELECT replace(kde_density('kinds.b')::text, '0000006000000002', '0000006000000003')::kde;
-- Without them.
SELECT approx_count(substr(set_byte(b, 11, 0), 1, length(b) - 96)::text::kde, true)
FROM (SELECT kde_aqp.kde_send(kde_density('kinds.b')) AS b) AS w;

-- Labels that are added change nothing; renamed ones would.
SELECT model FROM kde_fit('kinds', 'm');
ALTER TYPE mood ADD VALUE 'fine' BEFORE 'sad';
SELECT approx_count('kinds.m', 'sad'), approx_count('kinds.m', 'fine');
ALTER TYPE mood RENAME VALUE 'never' TO 'seldom';
\set VERBOSITY default
SELECT approx_count('kinds.m', 'sad');
SELECT * FROM approx_top('kinds.m');
\set VERBOSITY terse
SELECT model FROM kde_fit('kinds', 'm');
SELECT column_names, chosen, estimate, lower_bound, upper_bound FROM kde_explain('kinds.m', ARRAY['sad', 'ok']::mood[]) WHERE chosen;
SELECT approx_count(kde_sample('kinds', 'm', 1), 'sad');
-- Two that change places.
ALTER TYPE mood RENAME VALUE 'sad' TO 'x';
ALTER TYPE mood RENAME VALUE 'seldom' TO 'sad';
ALTER TYPE mood RENAME VALUE 'x' TO 'seldom';
SELECT approx_count('kinds.m', 'sad');
SELECT distance, p_value FROM kde_drift('kinds.m');
SELECT action FROM kde_refresh('kinds') WHERE column_names = '{m}';
SELECT model FROM kde_fit('kinds', 'm');
SELECT approx_count('kinds.m', 'seldom'), approx_count('kinds.m', 'sad');
ALTER TYPE mood RENAME TO feeling;
SELECT approx_count('kinds.m', 'seldom');
-- A column of another type, or another collation.
ALTER TABLE kinds ALTER COLUMN b TYPE text;
SELECT approx_count('kinds.b', 'true');
ALTER TABLE kinds ALTER COLUMN ci TYPE text COLLATE "C";
SELECT approx_count('kinds.ci', 'EU');
ALTER TABLE kinds ALTER COLUMN v TYPE text;
SELECT approx_count('kinds.v', 'v1');
ALTER TABLE kinds RENAME COLUMN v TO vv;
SELECT approx_count('kinds.vv', 'v1');

-- Drift: of the values, whatever their ranks.
SELECT distance = 0 AS none FROM kde_drift('kinds.t', seed => 1);
UPDATE kinds SET t = 'word 1' WHERE t IN ('word 2', 'word 3');
SELECT distance > 0.2 AS some, p_value < 0.001 AS sure FROM kde_drift('kinds.t', seed => 1);
SELECT count(*) FROM kde_refresh('kinds', force => true);
SELECT approx_count('kinds.t', 'word 1'), (SELECT count(*) FROM kinds WHERE t = 'word 1');

-- No rows, NULLs alone, one value, few rows.
CREATE TABLE few (t text);
SELECT * FROM kde_fit('few', 't');
INSERT INTO few VALUES (NULL);
SELECT * FROM kde_fit('few', 't');
INSERT INTO few VALUES ('only'), ('only');
SELECT model, rows FROM kde_fit('few', 't');
SELECT approx_count('few.t', 'only'), approx_count('few.t', 'other'), approx_count('few.t');

-- More values than are kept, every row read: within the bounds said.
CREATE TABLE many AS
SELECT 'value ' || floor(exp(ln(50000) * (k * 0.6180339887 % 1)))::int AS w, k % 10 AS y
FROM generate_series(1, 100000) AS k;
SELECT model FROM kde_fit('many', 'w', sample_rows => -1);
SELECT count(*) AS outside FROM (SELECT w, count(*) AS n FROM many GROUP BY w) AS g,
  approx_count_ci('many.w', w) AS c WHERE n < lower_bound OR n > upper_bound;
SELECT sum(abs(approx_count('many.w', w) - n)) FILTER (WHERE n > 3) AS off
FROM (SELECT w, count(*) AS n FROM many GROUP BY w) AS g;
SELECT estimate > 0 AS some, lower_bound, upper_bound FROM approx_count_ci('many.w', 'no such');
-- Of those that are kept the ones that have more rows than any that is not.
WITH s AS (SELECT w, count(*), row_number() OVER (ORDER BY count(*) DESC) AS rank FROM many GROUP BY w)
SELECT count(*) > 1000 AS many, count(*) FILTER (WHERE h.count <> own.count OR h.count <> s.count) AS wrong
FROM approx_top('many.w', 10000) AS h JOIN s USING (rank) LEFT JOIN s AS own ON own.w = h.value;
SELECT distinct_values, (SELECT count(DISTINCT w) FROM many) FROM kde_info('many.w');
-- A sample.
SET kde_aqp.sample_blocks = 100;
SELECT rows_read < 100000 AS sampled FROM kde_fit('many', 'w', measures => ARRAY['y'], seed => 1);
SELECT count(*) FILTER (WHERE n BETWEEN lower_bound AND upper_bound) > 0.9 * count(*) AS held
FROM (SELECT w, count(*) AS n FROM many GROUP BY w ORDER BY n DESC LIMIT 200) AS g,
  approx_count_ci('many.w', w) AS c;
SELECT count(*) FILTER (WHERE s BETWEEN lower_bound AND upper_bound) > 0.9 * count(*) AS held
FROM (SELECT w, sum(y) AS s FROM many GROUP BY w ORDER BY count(*) DESC LIMIT 100) AS g,
  approx_sum_ci('many.w', w, measure => 'y') AS c;
SELECT lower_bound, estimate >= 0 AS some, upper_bound > 0 AS may_be
FROM approx_count_ci('many.w', 'no such');
SELECT count(*) > 10 AS some, count(*) FILTER (WHERE n BETWEEN lower_bound AND upper_bound) > 0.9 * count(*) AS held
FROM approx_top('many.w', 100) AS c, LATERAL (SELECT count(*) AS n FROM many WHERE w = value) AS s;
SELECT distinct_values FROM kde_info('many.w');
RESET kde_aqp.sample_blocks;

-- Of a whole table: those worth it.
CREATE TABLE sales (id text PRIMARY KEY, region text, note text, amount int);
INSERT INTO sales SELECT 'id' || k, 'r' || k % 5, 'note ' || md5(k::text), k FROM
  generate_series(1, 20000) AS k;
SELECT column_name, fitted, reason, model FROM kde_fit('sales', seed => 1) ORDER BY 1;
SELECT approx_count('sales.region', 'r1');

-- Values that the type calls the same: words are read once. Two spellings of one are one.
CREATE TABLE docs AS SELECT to_jsonb('w' || k) AS j, ('w' || k)::text COLLATE ignoring_case AS ci
FROM generate_series(1, 4000) AS k;
SELECT model FROM kde_fit('docs', 'j');
SET statement_timeout = '20s';
SELECT approx_count('docs.j', (SELECT array_agg(to_jsonb('zz' || k)) FROM generate_series(1, 2000) AS k));
SELECT approx_count('docs.j', (SELECT array_agg(to_jsonb('w' || k)) FROM generate_series(3001, 5000) AS k));
RESET statement_timeout;
INSERT INTO docs (ci) SELECT 'value ' || k % 20000 FROM generate_series(1, 100000) AS k;
SELECT model FROM kde_fit('docs', 'ci', sample_rows => -1);
SELECT approx_count('docs.ci', ARRAY['value 19999', 'VALUE 19999']) = approx_count('docs.ci', 'value 19999') AS once;
-- A value of type kde has no collation: it finds what is the same as text, and says so.
\set VERBOSITY default
SELECT approx_count(kde_density('docs.ci'), 'value 1'), approx_count(kde_density('docs.j'), '"w1" ');
SELECT approx_count(kde_density('docs.ci'), 'VALUE 1');
\set VERBOSITY terse
-- Another collation by which other values are the same; a type with an equality of its own.
CREATE COLLATION ignoring_accents (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
ALTER TABLE docs ALTER ci TYPE text COLLATE ignoring_accents;
SELECT approx_count('docs.ci', 'w1');
CREATE TYPE pair AS (x numeric, y text);
CREATE TABLE pairs AS SELECT ROW(k % 3, 'y')::pair AS p FROM generate_series(1, 300) AS k;
SELECT model FROM kde_fit('pairs', 'p');
SELECT approx_count('pairs.p', ROW(1.0, 'y')::pair);
SELECT approx_count(kde_density('pairs.p'), '(1.0,y)');

-- character(n) beside text is text without its blanks, as in SQL; of a NULL array the answer is NULL.
CREATE TABLE codes AS SELECT 'EU'::text AS t, 'EU'::varchar(9) AS v FROM generate_series(1, 100);
SELECT count(*) FROM kde_fit('codes');
SELECT approx_count('codes.t', 'EU'::char(5)), approx_count('codes.v', 'EU'::char(5)),
       approx_count('codes.t', ARRAY['EU'::char(5)]),
       approx_count('codes.t', 'EU'::char(5), changed_rows => 1, max_relative_error => 0, otherwise => 'exact'),
       (SELECT count(*) FROM codes WHERE t = 'EU'::char(5));
SELECT approx_count('codes.t', NULL::text[]), approx_count('codes.t', NULL::text);
SELECT * FROM approx_count_ci('codes.t', NULL::text[]);
SELECT estimate, lower_bound FROM kde_explain('codes.t', NULL::text[]);

-- More labels than are kept, in any order; there and back.
DO $$ BEGIN
  EXECUTE (SELECT format('CREATE TYPE large AS ENUM (%s)', string_agg(quote_literal('label number ' || k), ',' ORDER BY k))
           FROM generate_series(1, 6000) AS k);
END $$;
CREATE TABLE larges AS SELECT ('label number ' || 6001 - k % 6000)::large AS x FROM generate_series(0, 17999) AS k
WHERE k % 6000 > 0;
SELECT model FROM kde_fit('larges', 'x');
SELECT kde_density('larges.x')::text::kde = kde_density('larges.x') AS same;
SELECT approx_count('larges.x', 'label number 6000');

-- A label that is renamed, and another that takes its name: what was fitted says nothing any more.
CREATE TYPE state AS ENUM ('new', 'old');
CREATE TYPE tagged AS (n int, s state);
CREATE DOMAIN some_state AS state;
CREATE TABLE states AS SELECT s AS x, ARRAY[s] AS a, ROW(1, s)::tagged AS r, s::some_state AS d, s::text AS t
FROM (SELECT CASE WHEN k % 10 < 7 THEN 'new' ELSE 'old' END::state AS s FROM generate_series(1, 100) AS k) AS g;
SELECT column_name, fitted FROM kde_fit('states') ORDER BY 1;
SELECT count(*) FROM kde_fit('states', ARRAY['coalesce(x, ''old'')']);
SELECT count(*) FROM kde_fit('states', ARRAY['x::text']);
SELECT count(*) FROM kde_fit('states', 't', filter => 'x IS NOT NULL');
ALTER TYPE state ADD VALUE 'added';
SELECT approx_count('states.x', 'new'), approx_count('states.a', ARRAY['new']::state[]);
ALTER EVENT TRIGGER kde_aqp_on_alter DISABLE;
ALTER TYPE state RENAME VALUE 'new' TO 'fresh';
SELECT approx_count('states.a', ARRAY['fresh']::state[]);
SELECT distance, p_value FROM kde_drift('states.a');
ALTER TYPE state RENAME VALUE 'fresh' TO 'new';
SELECT approx_count('states.a', ARRAY['new']::state[]);
ALTER EVENT TRIGGER kde_aqp_on_alter ENABLE ALWAYS;
ALTER TYPE state RENAME VALUE 'new' TO 'fresh';
ALTER TYPE state ADD VALUE 'new' BEFORE 'fresh';
\set VERBOSITY default
SELECT approx_count('states.x', 'new');
\set VERBOSITY terse
SELECT approx_count('states.a', ARRAY['new']::state[]);
SELECT approx_count('states.r', ROW(1, 'new')::tagged);
SELECT approx_count('states.d', 'new');
SELECT approx_count('states(coalesce(x, ''old''))', 'old');
SELECT approx_count('states((x)::text)', 'new');
SELECT approx_count('states.t', 'new', filter => 'x IS NOT NULL');
SELECT approx_count('states.t', 'new');
SELECT distance, p_value FROM kde_drift('states.r');
SELECT count(*) FROM kde_refresh('states', force => true);
SELECT approx_count('states.x', 'new'), approx_count('states.x', 'fresh'), approx_count('states.a', ARRAY['fresh']::state[]);

-- Drift: not of what did not change, whatever is sampled; of values that are others now, or fewer.
CREATE TABLE drifting AS
SELECT 'v' || floor(exp(ln(2000) * random()))::int AS skewed, 'v' || floor(2000 * random())::int AS flat,
       'v' || floor(30000 * random())::int AS many, 'v' || k / 20000 AS ordered, 'only' AS one,
       'v' || (hashint4(k / 50) & 7) AS clumped, random() AS amount
FROM (SELECT setseed(0.5)) AS s, generate_series(1, 200000) AS k;
CREATE TABLE cols AS SELECT unnest('{skewed,flat,many,ordered,one,clumped}'::text[]) AS c;
SELECT count(kde_fit('drifting', c, seed => 1)) FROM cols;
SELECT c, count(*) FILTER (WHERE d.distance > 0.05 AND d.p_value < 0.001) AS found, count(*) FILTER (WHERE d.p_value < 0.05) < 12 AS few
FROM cols, generate_series(1, 60) AS s, kde_drift('drifting.' || c, seed => s) AS d GROUP BY c ORDER BY c;
CREATE PROCEDURE replace_all() LANGUAGE sql AS $$
  UPDATE drifting SET skewed = 'x' || skewed, flat = 'x' || flat, many = 'x' || many, ordered = 'x' || ordered,
    one = 'other', clumped = 'x' || clumped $$;
BEGIN;
CALL replace_all();
SELECT c, count(*) FILTER (WHERE d.distance > 0.05 AND d.p_value < 0.001) AS found, min(d.distance) > 0.5 AS far
FROM cols, generate_series(1, 5) AS s, kde_drift('drifting.' || c, seed => s) AS d GROUP BY c ORDER BY c;
ROLLBACK;
-- Of a sample too, where it has a value more than a few times.
SET kde_aqp.sample_blocks = 300;
SELECT count(kde_fit('drifting', c, seed => 1)) FROM cols;
RESET kde_aqp.sample_blocks;
SELECT c, count(*) FILTER (WHERE d.distance > 0.05 AND d.p_value < 0.001) AS found, count(*) FILTER (WHERE d.p_value < 0.05) < 12 AS few
FROM cols, generate_series(1, 60) AS s, kde_drift('drifting.' || c, seed => s) AS d GROUP BY c ORDER BY c;
CALL replace_all();
SELECT c, count(*) FILTER (WHERE d.distance > 0.05 AND d.p_value < 0.001) AS found, min(d.distance) > 0.5 AS far
FROM cols, generate_series(1, 5) AS s, kde_drift('drifting.' || c, seed => s) AS d GROUP BY c ORDER BY c;

-- What a table's columns hold in memory is limited together, and bytes are counted as values come.
CREATE TABLE large_docs AS
SELECT k AS id, repeat(md5(k::text), 16000) AS a, repeat(md5('b' || k), 16000) AS b, 'r' || k % 3 AS c
FROM generate_series(1, 700) AS k;
SELECT column_name, fitted, reason FROM kde_fit('large_docs') ORDER BY 1;
SELECT model FROM kde_fit('large_docs', 'a');
SELECT model FROM kde_fit('large_docs', 'a', sample_rows => -1);

DROP SCHEMA words CASCADE;
