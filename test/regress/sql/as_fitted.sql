-- What a density was fitted to may mean something else later: the type of a column, its collation,
-- labels, functions, settings. No answer is then given of the other meaning, by nobody, until it
-- is fitted again. A row for each change, a column for each who asks.
\pset tuples_only
\pset format unaligned
SET client_min_messages = error;
SET kde_aqp.stale = 'ignore';
DROP SCHEMA IF EXISTS as_fitted CASCADE;
CREATE SCHEMA as_fitted;
SET search_path = as_fitted, public;
SET timezone = 'Europe/Berlin';
CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);

-- The table, with a density of each form; plain SQL may be answered by all.
CREATE PROCEDURE build() LANGUAGE plpgsql AS $$
BEGIN
    DROP TABLE IF EXISTS t;
    DROP TYPE IF EXISTS mood;
    DROP FUNCTION IF EXISTS f(integer);
    CREATE TYPE mood AS ENUM ('low', 'mid', 'high');
    CREATE FUNCTION f(integer) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT $1 * 2';
    EXECUTE $q$CREATE TABLE t AS
        SELECT i AS id, i % 100 AS a, (i % 7)::numeric(10, 2) AS n,
               (CASE WHEN i % 5 = 0 THEN 'low' WHEN i % 3 = 0 THEN 'high' ELSE 'mid' END)::mood AS m,
               ((ARRAY['x', 'X', 'y', 'z'])[1 + i % 4])::varchar(10) AS w,
               '2026-03-01 00:00+00'::timestamptz + i * interval '20 min' AS at
        FROM generate_series(1, 3000) AS i$q$;
    PERFORM kde_fit('t', 'a', sample_rows => -1);
    PERFORM kde_fit('t', 'id', sample_rows => -1, measures => ARRAY['n']);
    PERFORM kde_fit('t', 'm', sample_rows => -1);
    PERFORM kde_fit('t', 'a', sample_rows => -1, group_by => 'm');
    PERFORM kde_fit('t', 'a', sample_rows => -1, group_by => 'w');
    PERFORM kde_fit('t', ARRAY['f(a)'], sample_rows => -1);
    PERFORM kde_fit('t', 'a', sample_rows => -1, filter => 'm = ''low''');
    PERFORM kde_fit('t', 'id', sample_rows => -1, filter => 'w = ''x''');
    PERFORM kde_fit('t', ARRAY['at::date'], sample_rows => -1);
    PERFORM kde_fit('t', ARRAY['a', 'n'], sample_rows => 500);
    PERFORM kde_set_plain_sql(name, true, filter => filter) FROM kde_densities_full WHERE relation = 't'::regclass;
END $$;

CREATE TABLE forms (form text, name text, ask text, exact text);
INSERT INTO forms VALUES
  ('column', 't.a', $$approx_count('t.a')$$, 'SELECT count(*) FROM t'),
  ('measure', 't.id', $$approx_sum('t.id', measure => 'n')$$, 'SELECT sum(n) FROM t'),
  ('words', 't.m', $$approx_count('t.m', 'low')$$, $$SELECT count(*) FROM t WHERE m = 'low'$$),
  ('groups of labels', 't.a by (m)', $$(SELECT sum(count) FROM approx_groups('t.a by (m)') WHERE group_key = 'low')$$,
   $$SELECT count(*) FROM t WHERE m = 'low'$$),
  ('groups of texts', 't.a by (w)', $$(SELECT sum(count) FROM approx_groups('t.a by (w)') WHERE lower(rtrim(group_key)) = 'x')$$,
   $$SELECT count(*) FROM t WHERE lower(rtrim(w::text)) = 'x'$$),
  ('expression', 't (as_fitted.f(a))', $$approx_count('t (f(a))', 0, 50)$$, 'SELECT count(*) FROM t WHERE f(a) BETWEEN 0 AND 50'),
  ('filter of labels', 't.a', $$approx_count('t.a', filter => 'm = ''low''')$$, $$SELECT count(*) FROM t WHERE m = 'low'$$),
  ('filter of texts', 't.id', $$approx_count('t.id', filter => 'w = ''x''')$$, $$SELECT count(*) FROM t WHERE w = 'x'$$),
  ('of a setting', 't ((at)::date)', $$approx_count('t (at::date)', '2026-03-05', '2026-03-08')$$,
   $$SELECT count(*) FROM t WHERE at::date BETWEEN '2026-03-05' AND '2026-03-08'$$),
  ('joint', 't (a, n)', $$approx_count('t (a, n)')$$, 'SELECT count(*) FROM t');

-- "right", an SQLSTATE, or WRONG.
CREATE FUNCTION outcome(question text, exact text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    truth numeric;
    answer numeric;
BEGIN
    SET LOCAL kde_aqp.approximate = 'off';
    EXECUTE exact INTO truth;
    SET LOCAL kde_aqp.approximate = 'all';
    EXECUTE question INTO answer;
    RETURN CASE WHEN abs(coalesce(answer, 0) - truth) < 1e-6 * (1 + truth) THEN 'right' ELSE 'WRONG' END;
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE;
END $$;

CREATE TABLE changes (n serial, change text, statements text);
INSERT INTO changes (change, statements) VALUES
  ('nothing', ''),
  ('labels swapped', $$ALTER TYPE mood RENAME VALUE 'low' TO 'other'; ALTER TYPE mood RENAME VALUE 'high' TO 'low';
                       ALTER TYPE mood RENAME VALUE 'other' TO 'high'$$),
  ('a label renamed', $$ALTER TYPE mood RENAME VALUE 'mid' TO 'middling'$$),
  ('a label renamed, its name another''s', $$ALTER TYPE mood RENAME VALUE 'mid' TO 'middle'; ALTER TYPE mood ADD VALUE 'mid' BEFORE 'middle'$$),
  ('a type renamed', 'ALTER TYPE mood RENAME TO feeling; ALTER TYPE feeling RENAME TO mood'),
  ('a label added before', $$ALTER TYPE mood ADD VALUE 'lowest' BEFORE 'low'$$),
  ('function redefined', 'CREATE OR REPLACE FUNCTION f(integer) RETURNS integer LANGUAGE sql IMMUTABLE AS ''SELECT $1 * 3'''),
  ('function made anew', 'DROP FUNCTION f(integer); CREATE FUNCTION f(integer) RETURNS integer LANGUAGE sql IMMUTABLE AS ''SELECT $1 + 1'''),
  ('function STABLE', 'ALTER FUNCTION f(integer) STABLE'),
  ('other collation', 'ALTER TABLE t ALTER w TYPE varchar(10) COLLATE nocase'),
  ('text for varchar', 'ALTER TABLE t ALTER w TYPE text'),
  ('longer varchar', 'ALTER TABLE t ALTER w TYPE varchar(20)'),
  ('char for varchar', 'ALTER TABLE t ALTER w TYPE char(10)'),
  ('fewer decimals', 'ALTER TABLE t ALTER n TYPE numeric(10, 0) USING round(n / 10)'),
  ('an integer for a decimal', 'ALTER TABLE t ALTER n TYPE integer USING n + 1'),
  ('a text for a label', 'ALTER TABLE t ALTER m TYPE text USING ''a '' || m::text'),
  ('without a zone', $$SET timezone = 'UTC'; ALTER TABLE t ALTER at TYPE timestamp$$),
  ('another zone', $$SET timezone = 'America/New_York'$$);

CREATE TABLE outcomes (n int, change text, form text, f text, plain text, stale boolean, refreshed text, plain_refreshed text);
CREATE PROCEDURE try_all() LANGUAGE plpgsql AS $$
DECLARE
    c record;
BEGIN
    FOR c IN SELECT * FROM changes ORDER BY n LOOP
        SET timezone = 'Europe/Berlin';
        CALL build();
        COMMIT;
        EXECUTE c.statements;
        COMMIT;
        INSERT INTO outcomes SELECT c.n, c.change, form, outcome('SELECT ' || ask, exact), outcome(exact, exact),
            (SELECT bool_or(d.stale AND d.stale_reason !~ '^rows changed') FROM kde_densities_full AS d WHERE d.name = forms.name
               AND coalesce(d.filter, '') ~ CASE WHEN form LIKE 'filter%' THEN '.' ELSE '^$' END)
            FROM forms;
        COMMIT;
        -- As a worker does, whose zone is another.
        SET timezone = 'Asia/Tokyo';
        PERFORM kde_refresh('t', force => true);
        COMMIT;
        IF c.change = 'another zone' THEN
            SET timezone = 'America/New_York';
        ELSE
            SET timezone = 'Europe/Berlin';
        END IF;
        UPDATE outcomes AS o SET refreshed = outcome('SELECT ' || f.ask, f.exact), plain_refreshed = outcome(f.exact, f.exact)
            FROM forms AS f WHERE f.form = o.form AND o.n = c.n;
        COMMIT;
    END LOOP;
END $$;
CALL try_all();
SET timezone = 'Europe/Berlin';

SELECT count(*) AS cells, count(*) FILTER (WHERE 'WRONG' IN (f, plain, refreshed, plain_refreshed)) AS wrong FROM outcomes;
-- All that a change did not leave as it was.
SELECT change, form, f AS function, plain, stale, refreshed, plain_refreshed FROM outcomes
WHERE (f, plain, stale, refreshed, plain_refreshed) IS DISTINCT FROM ('right', 'right', false, 'right', 'right')
ORDER BY n, form COLLATE "C";

-- What is told.
CALL build();
ALTER TYPE mood RENAME VALUE 'mid' TO 'middling';
CREATE OR REPLACE FUNCTION f(integer) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT $1 * 3';
SELECT approx_count('t.m', 'low');
SELECT approx_count('t (f(a))', 0, 50);
SELECT count(*) FROM approx_groups('t.a by (m)');
SELECT count(*) FROM kde_plot('t.m');
SELECT kde_density('t.m') IS NULL;
SELECT name, filter, stale_reason FROM kde_densities_full WHERE stale ORDER BY 1, 2;
SET timezone = 'UTC';
SELECT approx_count('t (at::date)', '2026-03-05', '2026-03-08');
SELECT approx_where('t', 'at::date < ''2026-03-08''');
SET timezone = 'Europe/Berlin';
SELECT approx_count('t (at::date)', '2026-03-05', '2026-03-08') = (SELECT count(*) FROM t WHERE at::date BETWEEN '2026-03-05' AND '2026-03-08') AS same;

-- What depends on the time or the session has no density.
CREATE FUNCTION g(integer) RETURNS integer LANGUAGE plpgsql STABLE AS 'BEGIN RETURN $1; END';
CREATE FUNCTION h(integer, timestamptz DEFAULT now()) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT $1';
CREATE FUNCTION refused(expression text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM kde_fit('t', 'a', filter => expression);
    RETURN 'fitted';
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SELECT e AS filter, refused(e) FROM (VALUES
  ('at > now() - interval ''1 day'''), ('at > current_timestamp'), ('at::date > current_date'), ('at::time > localtime'),
  ('at > ''now'''), ('at > ''today''::timestamptz'), ('at::date < date ''tomorrow'''), ('at > ''now''::text::timestamptz'),
  ('at > statement_timestamp()'), ('at > transaction_timestamp()'), ('at > clock_timestamp()'), ('age(at) > ''1 day'''),
  ('w = current_user'), ('w = session_user'), ('w = current_setting(''timezone'')'), ('w = current_database()'),
  ('g(a) > 1'), ('h(a) > 1'), ('w <> ''now'''), ('at > ''2026-03-02'''), ('to_char(at, ''HH24'') = ''07'''), ('extract(hour FROM at) = 7'),
  ('concat(w, ''-'', a) <> ''x-1'''), ('date_trunc(''day'', at AT TIME ZONE ''UTC'') > ''2026-03-02'''), ('n::float8::text = ''1''')
) AS v (e);
SELECT name, filter, as_fitted[array_length(column_names, 1) + array_length(reference_names, 1) + 1:] AS depends_on
FROM kde_aqp.readable_densities() WHERE relation = 't'::regclass AND filter ~ 'to_char|extract|concat|trunc|text' ORDER BY filter;

-- A refresh keeps the settings, a fit takes the session's.
SET timezone = 'Asia/Tokyo';
SELECT action FROM kde_refresh('t', force => true) WHERE column_names = '{(at)::date}';
SELECT approx_count('t (at::date)', '2026-03-05', '2026-03-08');
SELECT kde_fit('t', ARRAY['at::date'], sample_rows => -1) IS NOT NULL AS fitted;
SELECT approx_count('t (at::date)', '2026-03-05', '2026-03-08') = (SELECT count(*) FROM t WHERE at::date BETWEEN '2026-03-05' AND '2026-03-08') AS same;
-- A self-check compares under them, whatever the session has.
SET timezone = 'UTC';
SELECT bool_and(held) AS held, count(*) > 0 AS any FROM kde_self_check('t (at::date)', seed => 1);

-- A function that one in SQL calls, or its operator, is redefined. Bodies that are text say nothing of what they call.
CREATE FUNCTION inner_g(integer) RETURNS integer LANGUAGE sql IMMUTABLE RETURN $1 * 2;
CREATE FUNCTION inner_sum(integer, integer) RETURNS integer LANGUAGE sql IMMUTABLE RETURN $1 + $2;
CREATE OPERATOR ## (FUNCTION = inner_sum, LEFTARG = integer, RIGHTARG = integer);
CREATE FUNCTION middle_f(integer) RETURNS integer LANGUAGE sql IMMUTABLE RETURN inner_g($1) + 1;
CREATE FUNCTION outer_f(integer) RETURNS integer LANGUAGE sql IMMUTABLE BEGIN ATOMIC SELECT middle_f($1) ## 1; END;
CREATE TABLE nested AS SELECT i AS a FROM generate_series(1, 1000) AS i;
SELECT kde_fit('nested', ARRAY['outer_f(a)'], sample_rows => -1) IS NOT NULL AS fitted;
SELECT approx_count('nested (outer_f(a))', 0, 102), stale_reason FROM kde_densities_full WHERE relation = 'nested'::regclass;
CREATE OR REPLACE FUNCTION inner_g(integer) RETURNS integer LANGUAGE sql IMMUTABLE RETURN $1 * 3;
SELECT approx_count('nested (outer_f(a))', 0, 102);
SELECT stale_reason FROM kde_densities_full WHERE relation = 'nested'::regclass;
SELECT action FROM kde_refresh('nested');
SELECT approx_count('nested (outer_f(a))', 0, 102);
CREATE OR REPLACE FUNCTION inner_sum(integer, integer) RETURNS integer LANGUAGE sql IMMUTABLE RETURN $1 - $2;
SELECT approx_count('nested (outer_f(a))', 0, 102);

CREATE FUNCTION is_good(integer) RETURNS boolean LANGUAGE sql IMMUTABLE RETURN $1 > 0;
CREATE DOMAIN good AS integer CHECK (is_good(VALUE));
CREATE DOMAIN better AS good;
SELECT kde_fit('nested', ARRAY['(a)::better'], sample_rows => -1) IS NOT NULL AS fitted;
SELECT approx_count('nested ((a)::better)', 0, 10);
CREATE OR REPLACE FUNCTION is_good(integer) RETURNS boolean LANGUAGE sql IMMUTABLE RETURN $1 > 5;
SELECT approx_count('nested ((a)::better)', 0, 10);
CREATE OR REPLACE FUNCTION is_good(integer) RETURNS boolean LANGUAGE sql IMMUTABLE RETURN $1 > 0;
SELECT approx_count('nested ((a)::better)', 0, 10);
ALTER DOMAIN good ADD CHECK (VALUE < 5000);
SELECT approx_count('nested ((a)::better)', 0, 10);
SELECT stale_reason FROM kde_densities_full WHERE relation = 'nested'::regclass AND stale ORDER BY 1;

DROP SCHEMA as_fitted CASCADE;
