-- Densities of expressions and of the rows that a filter accepts: what is allowed in them, what they
-- are called, how they are read, by whom, and what becomes of them.
\set ECHO none \\ \pset tuples_only on \\ \pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS filter, regress_kde_evil CASCADE;
DROP ROLE IF EXISTS regress_kde_owner, regress_kde_some, regress_kde_all;
CREATE SCHEMA filter;
GRANT USAGE, CREATE ON SCHEMA filter TO PUBLIC;
SET search_path = filter, public;
RESET client_min_messages;
-- sql/refresh.sql has what a stale density does.
SET kde_aqp.stale = ignore;
SET datestyle = 'ISO, YMD';

CREATE VIEW stored AS
SELECT d.relation, d.column_names, d.attribute_numbers, d.filter, d.reference_names, d.reference_numbers
FROM kde_aqp.fitted AS d JOIN pg_class AS c ON c.oid = d.relation
WHERE c.relnamespace = 'filter'::regnamespace
ORDER BY d.relation::text COLLATE "C", d.column_names::text COLLATE "C", d.filter COLLATE "C";

CREATE TABLE sales (gone text, amount integer, region text, quantity integer, sold timestamptz, note jsonb);
ALTER TABLE sales DROP COLUMN gone;
INSERT INTO sales SELECT i % 100, (ARRAY['EU', 'US', NULL])[1 + i % 3], i % 7, timestamptz '2026-01-01 00:00+00' + i * interval '1 h',
  jsonb_build_object('weight', i % 10)
FROM generate_series(1, 3000) AS i;

\set ECHO queries
-- ------------------------------------------------------------------------------- what is then counted
-- Every row is read and values are few, so that the densities are exact.
SELECT rows, rows_read FROM kde_fit('sales', 'amount', filter => 'region = ''EU''');
SELECT rows, rows_read FROM kde_fit('sales', 'amount');
SELECT approx_count(kde_density('sales', ARRAY['amount'], 'region = ''EU'''), 10, 19) AS filtered,
  (SELECT count(*) FROM sales WHERE region = 'EU' AND amount BETWEEN 10 AND 19) AS exact,
  approx_count('sales.amount', 10, 19) AS all;
CREATE VIEW last_fit AS SELECT * FROM kde_densities_full ORDER BY fitted_at DESC LIMIT 1;
SELECT FROM kde_fit('sales', ARRAY['quantity * 10 + 1'], sample_rows => 5000) \g /dev/null
SELECT column_names, filter, rows FROM last_fit;
SELECT approx_sum(kde_density('sales', ARRAY['quantity * 10 + 1'])) AS sum, (SELECT sum(quantity * 10 + 1) FROM sales) AS exact;
SELECT name, rows FROM kde_fit('sales', ARRAY['(note ->> ''weight'')::integer']);
SELECT approx_sum(kde_density('sales', ARRAY['(note->>''weight'')::int'])) AS sum, (SELECT sum((note ->> 'weight')::integer) FROM sales) AS exact;
-- Expressions see only rows that the filter accepts; a filter that is null does not accept.
SELECT FROM kde_fit('sales', ARRAY['100 / quantity'], filter => 'quantity <> 0') \g /dev/null
SELECT column_names, filter, rows FROM last_fit;
SELECT try($$SELECT kde_fit('sales', ARRAY['100 / quantity'])$$);
SELECT rows FROM kde_fit('sales', 'quantity', filter => 'region <> ''EU''');
SELECT rows FROM kde_fit('sales', ARRAY['amount', 'quantity'], method => 'scott', filter => 'region <> ''EU''');
SELECT try($$SELECT kde_fit('sales', 'quantity', filter => 'amount > 1000')$$);
SELECT try($$SELECT kde_fit('sales', ARRAY['quantity', 'amount'], filter => 'false')$$);
-- A large value to compute takes no more memory than a row at a time.
SELECT rows FROM kde_fit('sales', ARRAY['length(repeat(region, 100000 + amount))']);

-- ------------------------------------------------------------------------------------------- identity
-- The same expression, however it is written, is the same density; another filter is another.
SELECT count(*) FROM stored;
SELECT FROM kde_fit('sales', ARRAY['QUANTITY*10   + 1 -- comment'], filter => '') \g /dev/null
SELECT column_names, filter FROM last_fit;
SELECT name FROM kde_fit('sales', ARRAY['((sales.quantity) * 10) + 1']);
SELECT rows FROM kde_fit('sales', 'amount', filter => '(region) = ''EU''::text');
SELECT count(*) FROM stored;
SELECT column_names, attribute_numbers, filter, reference_names, reference_numbers FROM stored;
-- So is the same filter: its conditions in any order, once or twice, the column on either side.
SELECT rows FROM kde_fit('sales', 'amount', filter => 'amount > 10 AND region = ''EU'' AND (quantity < 3 OR sold IS NULL)');
SELECT f AS filter, (kde_info(kde_density('sales', ARRAY['amount'], f))).rows
FROM unnest(ARRAY['region = ''EU'' AND (sold IS NULL OR quantity < 3) AND amount > 10',
  '(amount > 10 AND region = ''EU'') AND (quantity < 3 OR (sold IS NULL OR quantity < 3))',
  '''EU'' = region AND (3 > quantity OR sold IS NULL) AND (10 < amount AND (amount > 10))']) AS f;
SELECT rows FROM unnest(ARRAY['NOT (amount = 1 AND quantity = 2)', 'NOT (2 = quantity AND 1 = amount)']) AS f,
  kde_fit('sales', 'amount', filter => f);
SELECT rows FROM unnest(ARRAY['amount > quantity', 'quantity < amount', 'quantity < amount AND amount > quantity']) AS f,
  kde_fit('sales', 'quantity', filter => f);
SELECT column_names, filter FROM stored WHERE filter <> '';
-- Conditions that may fail stay behind those that guard them, here and in a stored filter that is taken in again.
SELECT name, rows FROM unnest(ARRAY['quantity <> 0 AND 10 / quantity > 2', 'quantity = 0 OR 10 / quantity > 2',
  '(quantity <> 0 AND (amount > 1 AND 10 / quantity > 2)) OR amount = 1', 'NOT (quantity = 0 OR 10 / quantity > 2)']) AS f,
  kde_fit('sales', ARRAY['amount', 'length(region)'], sample_rows => 1000, filter => f);
SELECT filter, rows FROM kde_densities WHERE name LIKE '%length(region)%' ORDER BY filter;
SELECT f AS filter, (kde_info(kde_density('sales', ARRAY['amount', 'length(region)'], f))).rows
FROM unnest(ARRAY['quantity <> 0 AND 10 / quantity > 2', '0 = quantity OR 2 < 10 / quantity']) AS f;
SELECT try($$SELECT kde_fit('sales', ARRAY['amount', 'length(region)'], sample_rows => 1000, filter => '10 / quantity > 2 AND quantity <> 0')$$);
BEGIN;
CREATE TEMP TABLE guarded ON COMMIT DROP AS SELECT * FROM kde_aqp.fitted WHERE relation = 'sales'::regclass AND filter ~ '10 /';
SELECT count(kde_drop(format('sales (%s)', array_to_string(column_names, ', ')), filter => filter)) FROM guarded;
INSERT INTO kde_aqp.density SELECT * FROM guarded;
SELECT count(kde_drop(format('sales (%s)', array_to_string(column_names, ', ')), filter => g.filter)) FROM guarded AS g JOIN kde_aqp.fitted AS f USING (relation, column_names, filter);
COMMIT;
-- Those that cannot fail are in any order, with constants that are computed among them.
SELECT count(k) AS fits FROM unnest(ARRAY['region IN (''EU'', ''US'') AND amount > 1.5::float8 AND sold IS DISTINCT FROM ''2026-01-02 00:00+00'' AND quantity <> 2 + 1',
  'quantity <> 2 + 1 AND sold IS DISTINCT FROM ''2026-01-02 00:00+00'' AND amount > 1.5::float8 AND region IN (''EU'', ''US'') AND amount > 1.5::float8']) AS f,
  kde_fit('sales', ARRAY['amount', 'length(region)'], sample_rows => 1000, filter => f) AS k;
SELECT filter FROM stored WHERE filter ~ 'sold IS DISTINCT';
SELECT count(kde_drop(format('sales (%s)', array_to_string(column_names, ', ')), filter => filter)) FROM stored WHERE filter ~ 'sold IS DISTINCT';
-- What another word, side or operator makes of it is another filter; the hint has those that exist.
SELECT f AS filter, try(format('SELECT kde_density(''sales'', ARRAY[''quantity''], %L)', f)) AS answer
FROM unnest(ARRAY['amount < quantity', 'amount >= quantity', 'amount > quantity OR amount > quantity AND amount > 1']) AS f;
SELECT try($$SELECT approx_count('sales (quantity)', lower => ARRAY[1], upper => ARRAY[2], filter => 'region = ''US''')$$);
SELECT try($$SELECT approx_count('sales.quantity')$$);
SELECT try($$SELECT approx_count('sales (quantity, sold)', lower => ARRAY['1', NULL], upper => ARRAY['2', NULL])$$);
SELECT try($$SELECT kde_drop('sales.amount', filter => 'amount = 3')$$);
SELECT try($$SELECT approx_count('sales.sold')$$);
-- An operator without a commutator, and one whose commutator was only announced, stay where they are.
CREATE FUNCTION near(integer, integer) RETURNS boolean LANGUAGE sql IMMUTABLE RETURN abs($1 - $2) < 5;
CREATE OPERATOR ~~~ (FUNCTION = near, LEFTARG = integer, RIGHTARG = integer);
CREATE OPERATOR ~~> (FUNCTION = near, LEFTARG = integer, RIGHTARG = integer, COMMUTATOR = <~~);
SELECT name, rows FROM unnest(ARRAY['50 ~~~ amount', '50 ~~> amount']) AS f,
  kde_fit('sales', ARRAY['amount', 'quantity'], filter => f, sample_rows => 1000);
SELECT filter FROM stored WHERE filter ~ '~~' ORDER BY filter;
SELECT count(kde_drop(format('sales (%s)', array_to_string(column_names, ', ')), filter => filter)) FROM stored WHERE filter ~ '~~|quantity' AND column_names <> '{"(100 / quantity)"}';
DROP OPERATOR ~~~ (integer, integer);
DROP OPERATOR ~~> (integer, integer);
DROP OPERATOR <~~ (integer, integer);
-- What literals are called does not depend on settings, nor what they mean.
SET timezone = 'Asia/Tokyo';
SET datestyle = 'German';
SET intervalstyle = 'sql_standard';
SELECT rows FROM kde_fit('sales', 'amount', filter => 'sold >= ''20.01.2026 09:00'' AND sold < ''20.01.2026 09:00''::timestamptz + ''10 0:00:00''::interval');
SELECT (kde_info(kde_density('sales', ARRAY['amount'], 'sold >= ''20.01.2026 09:00'' AND sold < ''20.01.2026 09:00''::timestamptz + ''10 0:00:00''::interval'))).rows;
SET timezone = 'UTC';
SET datestyle = 'ISO, MDY';
SET intervalstyle = 'postgres';
SELECT (kde_info(kde_density('sales', ARRAY['amount'], 'sold >= ''2026-01-20'' AND sold < ''2026-01-20''::timestamptz + ''10 days''::interval'))).rows;
SELECT filter FROM stored WHERE filter LIKE '%sold%';
SELECT kde_drop('sales.amount', filter => 'sold >= ''2026-01-20'' AND sold < ''2026-01-20''::timestamptz + ''10 days''::interval');
SELECT kde_drop('sales.amount', filter => 'region = ''EU''');
SELECT try($$SELECT kde_drop('sales.amount', filter => 'region = ''EU''')$$);
SELECT kde_drop('sales.amount', if_exists => true, filter => 'region = ''EU''');
SELECT approx_count('sales.amount') AS unfiltered_stays;

-- ------------------------------------------------------------------------------------- what is refused
CREATE FUNCTION volatile(integer) RETURNS integer LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
CREATE FUNCTION by_default(integer, double precision DEFAULT random()) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1; END';
CREATE FUNCTION stable(integer) RETURNS integer LANGUAGE plpgsql STABLE AS 'BEGIN RETURN $1; END';
SELECT e AS expression, try(format('SELECT rows FROM kde_fit(''sales'', ARRAY[%L])', e)) AS answer
FROM unnest(ARRAY['(SELECT 1)', 'amount + (SELECT max(amount) FROM sales)', 'EXISTS (SELECT FROM nothing)', 'sum(amount)',
  'count(*) OVER ()', 'GROUPING(amount)', 'generate_series(1, amount)', 'volatile(amount)', 'amount + random()', 'stable(amount)',
  'ctid', 'tableoid::bigint', 'xmin::text::bigint', 'hashtext(sales::text)', '1 + 1', 'amount, quantity', 'amount FROM sales', '*', 'sales.*',
  'amount) FROM sales WHERE (true', 'amount); DROP TABLE sales; SELECT (1', '$1', 'amount AS x', '', ' ', 'amount +', 'nothing + 1', 'other.amount',
  'region', 'amount > 1', 'NULL', '''1''', 'amount + ''x''', 'CURRENT OF c', 'DEFAULT']) AS e;
SELECT e AS filter, try(format('SELECT rows FROM kde_fit(''sales'', ''amount'', filter => %L)', e)) AS answer
FROM unnest(ARRAY['amount', 'amount IN (SELECT 1)', 'sum(amount) > 1', 'random() > 0.5', 'tableoid > 0', 'sales IS NOT NULL', 'amount >',
  'amount > 1, true', 'nothing > 1', 'stable(amount) > 97', 'true']) AS e;
SELECT try(format('SELECT kde_fit(''sales'', ''amount'', filter => %L)', (SELECT string_agg('amount <> ' || i, ' AND ') FROM generate_series(1, 200) AS i)));
-- Volatile is also what planning brings in: an argument's default.
SELECT try($$SELECT kde_fit('sales', ARRAY['by_default(amount)'])$$);
SELECT try($$SELECT rows FROM kde_fit('sales', ARRAY['by_default(amount, 1)'])$$);
-- An error points into the expression.
SELECT kde_fit('sales', ARRAY['amount', '2 * amuont']);
SELECT try($$SELECT kde_fit('sales', 'amount', filter => 'amount ~ 2')$$);

-- ------------------------------------------------------------------------------------------ lifecycle
SELECT kde_drop('sales (amount)', filter => 'true');
SELECT rows FROM kde_fit('sales', 'quantity', filter => 'amount > 50 AND region = ''EU''');
ALTER TABLE sales RENAME COLUMN amount TO price;
ALTER TABLE sales RENAME COLUMN region TO "Re ""gion";
SELECT column_names, attribute_numbers, filter, reference_names, reference_numbers FROM stored;
-- Two columns that swap their names.
ALTER TABLE sales RENAME COLUMN price TO x;
ALTER TABLE sales RENAME COLUMN quantity TO price;
ALTER TABLE sales RENAME COLUMN x TO quantity;
SELECT column_names, filter, reference_numbers FROM stored WHERE column_names::text LIKE '%price%';
SELECT (kde_info(kde_density('sales', ARRAY['price'], 'quantity > 50 AND "Re ""gion" = ''EU'''))).rows;
ALTER TABLE sales RENAME COLUMN quantity TO amount;
ALTER TABLE sales RENAME COLUMN price TO quantity;
ALTER TABLE sales RENAME COLUMN "Re ""gion" TO region;
-- Functions, schemas and tables under other names.
CREATE SCHEMA regress_kde_evil;
CREATE FUNCTION regress_kde_evil.twice(integer) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 2 * $1';
SELECT name FROM kde_fit('sales', ARRAY['regress_kde_evil.twice(amount)']);
ALTER TABLE sales RENAME TO orders;
ALTER TABLE orders RENAME COLUMN amount TO total;
SELECT column_names FROM stored WHERE column_names::text LIKE '%twice%';
ALTER TABLE orders RENAME COLUMN total TO amount;
ALTER TABLE orders RENAME TO sales;
-- A function that is gone: no rename can be followed, and the density is dropped, as it can be by its text.
SELECT count(*) FROM kde_fit('sales', ARRAY['regress_kde_evil.twice(quantity)']);
DROP FUNCTION regress_kde_evil.twice(integer);
SELECT kde_drop('sales (regress_kde_evil.twice(quantity))');
ALTER TABLE sales RENAME COLUMN amount TO total;
ALTER TABLE sales RENAME COLUMN total TO amount;
SELECT count(*) FROM stored WHERE column_names::text LIKE '%twice%';
-- A column that an expression or a filter uses takes the density with it.
BEGIN;
SELECT count(*) FROM stored;
ALTER TABLE sales DROP COLUMN note;
SELECT column_names, filter FROM stored;
ALTER TABLE sales DROP COLUMN region;
SELECT column_names, filter FROM stored;
ROLLBACK;
-- Rows that come by SQL get this table's numbers, names and texts; what means nothing here is left out.
CREATE TABLE saved AS SELECT d.* FROM kde_aqp.fitted AS d WHERE d.relation = 'sales'::regclass AND (filter <> '' OR 0 = ANY (attribute_numbers));
SELECT count(kde_drop(name, filter => filter)) AS dropped FROM kde_densities_full WHERE relation = 'sales'::regclass;
UPDATE saved SET reference_names = '{}', reference_numbers = '{}';
INSERT INTO kde_aqp.density SELECT * FROM saved;
SELECT column_names, attribute_numbers, filter, reference_names, reference_numbers FROM stored;
SELECT count(kde_drop(name, filter => filter)) AS dropped FROM kde_densities_full WHERE relation = 'sales'::regclass;
INSERT INTO kde_aqp.density SELECT (jsonb_populate_record(s, '{"filter": "nothing > 1"}')).* FROM saved AS s ORDER BY filter COLLATE "C" DESC, column_names::text COLLATE "C" LIMIT 1;
INSERT INTO kde_aqp.density SELECT (jsonb_populate_record(s, '{"filter": "amount >"}')).* FROM saved AS s ORDER BY filter COLLATE "C" DESC, column_names::text COLLATE "C" LIMIT 1;
INSERT INTO kde_aqp.density SELECT (jsonb_populate_record(s, '{"filter": "1 / (amount - amount) = 1"}')).* FROM saved AS s ORDER BY filter COLLATE "C" DESC, column_names::text COLLATE "C" LIMIT 1;
SELECT count(*) FROM stored;

-- ---------------------------------------------------------------------- partitions, generated columns
CREATE TABLE parts (k integer, amount integer, region text) PARTITION BY LIST (k);
CREATE TABLE parts_one PARTITION OF parts FOR VALUES IN (1);
CREATE TABLE parts_two (region text, gone integer, amount integer, k integer);
ALTER TABLE parts_two DROP COLUMN gone;
ALTER TABLE parts ATTACH PARTITION parts_two FOR VALUES IN (2);
INSERT INTO parts SELECT 1 + i % 2, i % 50, CASE WHEN i % 5 = 0 THEN 'EU' ELSE 'US' END FROM generate_series(1, 2000) AS i;
SELECT rows FROM kde_fit('parts', ARRAY['amount + 1'], filter => 'region = ''EU''');
SELECT approx_sum(kde_density('parts', ARRAY['amount + 1'], 'region = ''EU''')) AS sum,
  (SELECT sum(amount + 1) FROM parts WHERE region = 'EU') AS exact;
CREATE TABLE parent (a integer, b integer);
CREATE TABLE child (c text) INHERITS (parent);
INSERT INTO parent SELECT i % 10, i % 3 FROM generate_series(1, 100) AS i;
INSERT INTO child SELECT i % 10, i % 3, 'x' FROM generate_series(1, 200) AS i;
SELECT rows FROM kde_fit('parent', ARRAY['a * b'], filter => 'b > 0');
SELECT approx_sum(kde_density('parent', ARRAY['a * b'], 'b > 0')) AS sum, (SELECT sum(a * b) FROM parent WHERE b > 0) AS exact;
ALTER TABLE parent RENAME COLUMN b TO d;
SELECT column_names, filter FROM stored WHERE relation = 'parent'::regclass;
CREATE TABLE generated (a integer, twice integer GENERATED ALWAYS AS (2 * a) STORED);
INSERT INTO generated SELECT i % 10 FROM generate_series(1, 100) AS i;
SELECT rows FROM kde_fit('generated', ARRAY['twice + a'], filter => 'twice > 4');
SELECT approx_sum(kde_density('generated', ARRAY['twice + a'], 'twice > 4')) AS sum, (SELECT sum(twice + a) FROM generated WHERE twice > 4) AS exact;

-- ----------------------------------------------------------------------------------------- privileges
-- Who reads a density reads what its filter and expressions use.
CREATE ROLE regress_kde_owner;
CREATE ROLE regress_kde_some;
CREATE ROLE regress_kde_all;
ALTER TABLE sales OWNER TO regress_kde_owner;
GRANT SELECT (amount, quantity) ON sales TO regress_kde_some;
GRANT SELECT ON sales TO regress_kde_all;
SELECT rows FROM kde_fit('sales', 'amount', filter => 'region = ''EU''');
SELECT rows FROM kde_fit('sales', 'amount', filter => 'quantity = 1');
SELECT rows FROM kde_fit('sales', ARRAY['amount + length(region)']);
SET ROLE regress_kde_some;
SELECT column_names, filter FROM kde_densities_full WHERE relation = 'sales'::regclass;
SELECT try($$SELECT kde_density('sales', ARRAY['amount'], 'region = ''EU''')$$);
SELECT try($$SELECT kde_density('sales', ARRAY['amount + length(region)'])$$);
SELECT try($$SELECT approx_count(kde_density('sales', ARRAY['amount'], 'quantity = 1'))$$);
-- Nor does a hint tell of the others.
SELECT try($$SELECT kde_density('sales', ARRAY['amount'], 'quantity = 2')$$);
SET ROLE regress_kde_all;
SELECT try($$SELECT kde_density('sales', ARRAY['amount'], 'quantity = 2')$$);
SELECT column_names, filter FROM kde_densities_full WHERE relation = 'sales'::regclass ORDER BY filter COLLATE "C";
RESET ROLE;
-- Functions in an expression run as the table's owner, restricted, with a search path of the system's,
-- whoever fits it.
SET ROLE regress_kde_owner;
CREATE FUNCTION whoami(integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF $1 = 1 THEN RAISE NOTICE 'as %, with %', current_user, current_setting('search_path'); END IF;
  RETURN $1;
END $$;
CREATE TABLE one AS SELECT i FROM generate_series(1, 3) AS i;
CREATE FUNCTION climb(integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  PERFORM set_config('role', 'regress_kde_all', false);
  RETURN $1;
END $$;
RESET ROLE;
SELECT rows FROM kde_fit('one', ARRAY['whoami(i)']);
-- Also where constants are folded, before a row is read.
SELECT try($$SELECT kde_fit('one', ARRAY['i + climb(7)'])$$);
-- A function without EXECUTE for the owner is not run, whoever fits.
CREATE FUNCTION hidden(integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1; END';
REVOKE ALL ON FUNCTION hidden(integer) FROM PUBLIC;
SELECT try($$SELECT kde_fit('one', ARRAY['hidden(i)'])$$);
-- An operator in the caller's path is used where the caller's query would use it, and is then named; a
-- name is looked up in the search path of who asks.
CREATE FUNCTION regress_kde_evil.plus(integer, integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN 1000; END';
CREATE OPERATOR regress_kde_evil.+ (FUNCTION = regress_kde_evil.plus, LEFTARG = integer, RIGHTARG = integer);
GRANT USAGE ON SCHEMA regress_kde_evil TO PUBLIC;
SELECT name FROM kde_fit('one', ARRAY['i + 1']);
SET search_path = regress_kde_evil, filter, pg_catalog, public;
SELECT name FROM kde_fit('one', ARRAY['i + 1']);
SELECT try($$SELECT approx_avg(kde_density('one', ARRAY['i + 1']))$$);
ALTER TABLE one RENAME COLUMN i TO j;
SET search_path = filter, public;
SELECT try($$SELECT approx_avg(kde_density('one', ARRAY['j + 1']))$$);
SELECT column_names, reference_names FROM stored WHERE relation = 'one'::regclass;

-- To read a literal of an array of a domain runs the domain's constraint: as the table's owner, also
-- where somebody else renames a column or restores a row.
SET ROLE regress_kde_owner;
CREATE FUNCTION caught(integer) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RAISE NOTICE 'as %, with %', current_user, current_setting('search_path');
  RETURN true;
END $$;
CREATE DOMAIN caught AS integer CHECK (filter.caught(VALUE));
CREATE TABLE bait AS SELECT i FROM generate_series(1, 3) AS i;
SET client_min_messages = warning;
SELECT FROM kde_fit('bait', ARRAY['i'], filter => 'i = ANY (''{1,2}''::caught[])') \g /dev/null
SELECT name, filter FROM kde_densities WHERE name = 'bait (i)' OR name = 'bait.i';
RESET client_min_messages;
RESET ROLE;
ALTER TABLE bait RENAME COLUMN i TO j;
BEGIN;
CREATE TEMP TABLE copy ON COMMIT DROP AS SELECT * FROM kde_aqp.fitted WHERE relation = 'bait'::regclass;
SELECT count(kde_drop(name, filter => filter)) AS dropped FROM kde_densities_full WHERE relation = 'bait'::regclass;
INSERT INTO kde_aqp.density SELECT * FROM copy;
COMMIT;
SELECT column_names, filter FROM kde_densities_full WHERE relation = 'bait'::regclass;

SET client_min_messages = warning;
DROP SCHEMA filter, regress_kde_evil CASCADE;
DROP ROLE regress_kde_owner, regress_kde_some, regress_kde_all;
