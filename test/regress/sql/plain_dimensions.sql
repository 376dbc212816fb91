-- Joins with small tables, whose columns are known of each group: statements put together from what dashboards
-- send, each beside the exact plan, of a star at rest and of one that grows.
SET TimeZone = 'UTC';
-- A small table stands for a large one, where many parts cost less than rows.
SET cpu_tuple_cost = 10;
CREATE SCHEMA dimensions;
SET search_path = dimensions, public;
CREATE TABLE area(id int PRIMARY KEY, name text NOT NULL, zone text);
INSERT INTO area SELECT i, 'area ' || i, CASE WHEN i % 3 > 0 THEN 'zone ' || i % 2 END FROM generate_series(1, 6) AS i;
CREATE TABLE store(id bigint PRIMARY KEY, city text, country text, size int, area_id int, code text);
INSERT INTO store SELECT i, 'city ' || i % 9, (ARRAY['FR','DE','IT'])[1 + i % 3], i % 7, CASE WHEN i % 5 > 0 THEN 1 + i % 8 END, 'c' || i % 20 FROM generate_series(1, 30) AS i;
CREATE TABLE product(id int, name text, kind text, price numeric(8,2));
INSERT INTO product SELECT CASE WHEN i <> 9 THEN i END, 'product ' || i, (ARRAY['food','toys'])[1 + i % 2], i * 1.5 FROM generate_series(1, 12) AS i;
-- Of days, of which one in seven is missing; of numbers; of both days and stores.
CREATE TABLE calendar(day date PRIMARY KEY, month text, holiday boolean, area_id int);
INSERT INTO calendar SELECT date '2025-12-20' + i, to_char(date '2025-12-20' + i, 'YYYY-MM'), CASE WHEN i % 5 > 0 THEN i % 13 = 0 END, i / 20 FROM generate_series(1, 160) AS i WHERE i % 7 > 0;
CREATE TABLE quantity(id int PRIMARY KEY, name text);
INSERT INTO quantity SELECT i, CASE WHEN i > 9 THEN 'some ' || i / 10 END FROM generate_series(0, 44) AS i;
CREATE TABLE offer(day date, store_id int, price int NOT NULL, PRIMARY KEY (day, store_id));
INSERT INTO offer SELECT date '2025-12-31' + i / 6, 5 * (i % 6), i % 11 FROM generate_series(1, 600) AS i;
CREATE TABLE ride AS SELECT timestamptz '2026-01-01 00:00+00' + i * interval '511.3 seconds' + (hashint4(i) % 300000) * interval '0.731 milliseconds' AS at, ((i * 7919::bigint) % 9000)::numeric / 100 AS fare, (i * 31 % 50)::int AS qty,
  CASE WHEN i % 50 <> 7 THEN i * 17 % 37 END AS store_id, (i * 13 % 14)::smallint AS product_id, 'c' || i % 5 AS code FROM generate_series(1, 20000) AS i;
ALTER TABLE ride ALTER fare TYPE numeric(10,2), ALTER at SET NOT NULL, ALTER qty SET NOT NULL, ALTER fare SET NOT NULL;
VACUUM ANALYZE ride, store, product, area, calendar, quantity, offer;
SELECT count((kde_fit('ride', c, sample_rows => -1, group_by => g, measures => array_remove('{fare,qty}', c))).rows) AS fitted
FROM unnest('{at,qty}'::text[]) AS c, unnest('{NULL,store_id,"store_id, product_id",code}'::text[]) AS g WHERE c = 'at' OR g = 'store_id';
SELECT count(kde_set_plain_sql(name, true)) AS allowed FROM kde_densities WHERE name LIKE 'ride.%';
SET kde_aqp.approximate_notice = off;
-- By a generator of its own, as random() is not the same everywhere.
CREATE SEQUENCE drawn;
CREATE FUNCTION one_of(VARIADIC of text[]) RETURNS text LANGUAGE sql AS
  'SELECT of[1 + (hashint8(nextval(''drawn'')) & 2147483647) % cardinality(of)]';
CREATE TABLE statement(query text);
-- Joins with the aliases that they have: s is a store, p a product, a an area, t a store again, k a day, q a quantity, o
-- an offer.
CREATE FUNCTION joins() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  how text := one_of('', 'LEFT ', 'LEFT ');
  below text := one_of(how, 'LEFT ');
  own text := one_of('', '', '', ' AND s.size > 2', ' AND s.country = ''FR''', ' AND s.id > 3', ' AND s.city LIKE ''%3''');
  s text := how || 'JOIN store s ON ' || one_of('r.store_id = s.id', 's.id = r.store_id') || own;
BEGIN
  RETURN one_of('s|ride r ' || s, 's|ride r ' || s,
    's|ride r, store s WHERE r.store_id = s.id' || own,
    's|store s JOIN ride r ON r.store_id = s.id' || own,
    's,p|ride r ' || s || ' ' || how || 'JOIN product p ON r.product_id = p.id' || one_of('', ' AND p.kind = ''toys''', ' AND p.price < 9'),
    's,p|ride r, product p, store s WHERE r.store_id = s.id AND p.id = r.product_id',
    's,a|ride r ' || s || ' ' || below || 'JOIN area a ON s.area_id = a.id',
    's,a|ride r, store s, area a WHERE a.id = s.area_id AND r.store_id = s.id' || own,
    's,a|ride r JOIN (store s ' || below || 'JOIN area a ON s.area_id = a.id) ON r.store_id = s.id',
    's,t|ride r ' || s || ' ' || how || 'JOIN store t ON r.store_id = t.id',
    'k|ride r ' || how || 'JOIN calendar k ON k.day = r.at::date' || one_of('', '', ' AND k.holiday', ' AND k.month > ''2026-01'''),
    's,k|ride r ' || s || ' ' || how || 'JOIN calendar k ON (r.at AT TIME ZONE ''Europe/Berlin'')::date = k.day',
    's,k,a|calendar k JOIN ride r ON k.day = r.at::date LEFT JOIN area a ON a.id = k.area_id ' || s,
    'q|ride r ' || how || 'JOIN quantity q ON r.qty = q.id',
    'o|ride r ' || how || 'JOIN offer o ON o.store_id = r.store_id AND o.day = r.at::date',
    'k,o|ride r JOIN calendar k ON k.day = r.at::date ' || how || 'JOIN offer o ON o.day = k.day + 1 AND r.store_id = o.store_id',
    's,t|ride r ' || s || ' ' || how || 'JOIN store t ON r.store_id + 1 = t.id',
    's,p,a|ride r ' || s || ' LEFT JOIN product p ON r.product_id = p.id LEFT JOIN area a ON a.id = coalesce(s.area_id, p.id)');
END $$;
CREATE FUNCTION of_join(aliases text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  a text := one_of(VARIADIC string_to_array(aliases, ','));
BEGIN
  RETURN CASE a WHEN 'p' THEN one_of('p.kind', 'p.name', 'p.id', 'coalesce(p.kind, ''none'')')
    WHEN 'k' THEN one_of('k.month', 'k.holiday', 'extract(isodow FROM k.day)', 'k.day - date ''2026-01-01''', 'k.area_id', 'coalesce(k.month, r.code)')
    WHEN 'q' THEN one_of('q.name', 'q.id % 3', 'q.id IS NULL', 'coalesce(q.name, r.store_id::text)')
    WHEN 'o' THEN one_of('o.price', 'o.price > 5', 'o.day IS NULL', 'o.price + r.store_id')
    WHEN 'a' THEN one_of('a.name', 'a.zone', 'a.id % 3', 'a.zone IS NULL')
    ELSE replace(one_of('s.city', 's.country', 's.size', 's.id', 'upper(s.city)', 'coalesce(s.country, ''none'')', 's.size + r.store_id', 's.country IS NULL', 's.area_id'), 's.', a || '.') END;
END $$;
CREATE FUNCTION condition(aliases text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  a text := one_of(VARIADIC string_to_array(aliases, ','));
BEGIN
  RETURN one_of('r.at >= ''2026-02-01''', 'r.at < ''2026-03-11 05:00''', 'r.store_id > 3', 'extract(hour FROM r.at) < 12',
    CASE a WHEN 'p' THEN one_of('p.kind = ''food''', 'p.id IS NULL', 'p.price + 1 > 5', 'p.kind IS DISTINCT FROM ''food''')
      WHEN 'k' THEN one_of('k.month = ''2026-02''', 'k.holiday', 'k.day <> date ''2026-01-31''', 'k.day IS NULL', 'k.area_id < 3', 'k.area_id = r.product_id')
      WHEN 'q' THEN one_of('q.name IS NULL', 'q.id < 30', 'q.name LIKE ''%3''', 'q.id > r.store_id')
      WHEN 'o' THEN one_of('o.price > 3', 'o.price IS NULL', 'o.price < r.store_id')
      WHEN 'a' THEN one_of('a.zone = ''zone 1''', 'a.id IS NULL', 'a.name <> ''area 2''', 'a.zone IS NULL')
      ELSE replace(one_of('s.country = ''FR''', 's.country IN (''DE'', ''IT'')', 's.id IS NULL', 's.size IS DISTINCT FROM 3', 's.size < r.store_id', 's.id = 5', '5 = s.id', 'r.store_id = 8',
        '(s.country <> ''FR'' OR r.at < ''2026-02-20'')', '(s.size = 1 OR s.size IS NULL)', 's.city IS NOT NULL'), 's.', a || '.') END);
END $$;
CREATE FUNCTION aggregate(aliases text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  c text := condition(aliases);
BEGIN
  RETURN one_of('count(*)', 'sum(r.fare)', 'avg(r.qty)', 'min(r.at)', 'count(*) FILTER (WHERE ' || c || ')', 'sum(r.fare) FILTER (WHERE ' || c || ')',
    'sum(CASE WHEN ' || c || ' THEN r.qty ELSE 0 END)', 'count(' || of_join(aliases) || ')', 'count(CASE WHEN ' || c || ' THEN 1 END)');
END $$;
CREATE FUNCTION made() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  joined text[] := string_to_array(joins(), '|');
  keys text[] := '{}';
  what text[] := '{}';
  out text;
BEGIN
  FOR i IN 1 .. one_of('0', '1', '1', '2', '3')::int LOOP keys := keys || one_of(of_join(joined[1]), of_join(joined[1]), 'date_trunc(''month'', r.at)', 'r.store_id'); END LOOP;
  FOR i IN 1 .. one_of('1', '2', '3')::int LOOP what := what || aggregate(joined[1]); END LOOP;
  SELECT string_agg(x || ' AS c' || i, ', ') INTO out FROM unnest(keys || what) WITH ORDINALITY AS u(x, i);
  out := 'SELECT ' || out || ' FROM ' || joined[2];
  FOR i IN 1 .. one_of('0', '1', '1', '2')::int LOOP out := out || CASE WHEN out LIKE '% WHERE r%' OR out LIKE '% WHERE a%' OR i > 1 THEN ' AND ' ELSE ' WHERE ' END || condition(joined[1]); END LOOP;
  IF keys = '{}' THEN RETURN out; END IF;
  SELECT out || ' GROUP BY ' || string_agg(i::text, ', ') INTO out FROM generate_series(1, cardinality(keys)) AS i;
  RETURN out || one_of('', '', ' HAVING count(*) > 50', ' HAVING count(*) FILTER (WHERE ' || condition(joined[1]) || ') > 20');
END $$;
\getenv statements KDE_AQP_STATEMENTS
\if :{?statements}
\else
\set statements 160
\endif
INSERT INTO statement SELECT made() FROM generate_series(1, :statements) AS i;
-- One version's planner simplifies more than another's.
SELECT regexp_replace(say('at rest'), '1\d\d of', 'over 99 of') AS say;
INSERT INTO ride SELECT timestamptz '2026-04-29 08:00+00' + i * interval '700 seconds', i % 77, i % 50, CASE WHEN i % 9 > 0 THEN 1 + i % 45 END, i % 20, 'c' || i % 6 FROM generate_series(1, 300) AS i;
UPDATE ride SET store_id = 17 WHERE qty = 3 AND at < '2026-01-03';
DELETE FROM ride WHERE store_id = 4 AND at < '2026-01-02';
SELECT regexp_replace(say('grown'), '1\d\d of', 'over 99 of') AS say;
-- A dimension that this transaction changes is read as it is.
BEGIN;
INSERT INTO store VALUES (35, 'city 1', 'ES', 1, 2, 'c35'), (36, NULL, NULL, NULL, NULL, NULL);
UPDATE store SET country = 'PT', area_id = 1 WHERE id % 4 = 0;
DELETE FROM area WHERE id = 2;
UPDATE calendar SET month = 'none', holiday = NULL WHERE day BETWEEN '2026-02-10' AND '2026-02-20';
DELETE FROM offer WHERE price = 4;
SELECT regexp_replace(say('dimensions change'), '1\d\d of', 'over 99 of') AS say;
ROLLBACK;

CREATE FUNCTION shows(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
  SET LOCAL kde_aqp.approximate = 'all';
  RETURN QUERY EXECUTE 'EXPLAIN (COSTS OFF) ' || query;
END $$;
SELECT shows('SELECT s.city, date_trunc(''month'', r.at), count(*) FILTER (WHERE s.country = ''FR'') FROM ride r JOIN store s ON r.store_id = s.id
  LEFT JOIN area a ON a.id = s.area_id WHERE s.size > 3 AND r.at >= ''2026-02-01'' AND (a.zone IS NULL OR r.at < ''2026-03-01'') AND a.id IS DISTINCT FROM 3 GROUP BY 1, 2');
-- What else of a dimension is asked for: whether it has a row, its other columns by its key.
SELECT answered_by(query), query FROM unnest(ARRAY[
  'SELECT count(*), sum(fare) FROM ride WHERE store_id IN (SELECT id FROM store WHERE country = ''FR'')',
  'SELECT count(*), sum(fare) FROM ride WHERE code IN (SELECT code FROM store)',
  'SELECT count(*) FROM ride r WHERE EXISTS (SELECT FROM store s WHERE s.id = r.store_id AND s.size > 2)',
  'SELECT r.store_id, count(*) FROM ride r WHERE NOT EXISTS (SELECT FROM store s WHERE s.id = r.store_id AND s.size > 2) GROUP BY 1',
  'SELECT count(*) FROM ride r LEFT JOIN store s ON r.store_id = s.id WHERE s.id IS NULL',
  'SELECT s.id, s.city, s.country, count(*), count(s.size) FROM ride r LEFT JOIN store s ON r.store_id = s.id GROUP BY s.id, s.city',
  'SELECT s.city, count(*) FROM ride r JOIN (SELECT id, city FROM store WHERE size < 5) AS s ON s.id = r.store_id GROUP BY s.city',
  'SELECT count(*) FROM ride r LEFT JOIN (SELECT id FROM store WHERE size < 5) AS s ON s.id = r.store_id WHERE s.id IS NOT NULL OR r.store_id < 9',
  'SELECT s.city, count(*) FROM ride r JOIN store s ON 100 / r.store_id = s.id WHERE r.store_id > 0 GROUP BY 1',
  'SELECT count(*) FROM ride r LEFT JOIN store s ON r.store_id = s.id LEFT JOIN product p ON p.id = r.product_id AND p.kind = ''toys''',
  'SELECT s.country, count(*) FROM ride r JOIN store s ON r.store_id = s.id WHERE s.id = 5 AND s.city = ''city 5'' GROUP BY 1',
  'WITH big AS (SELECT * FROM store WHERE size > 3) SELECT big.city, sum(r.fare) FROM ride r JOIN big ON big.id = r.store_id GROUP BY 1',
  'SELECT city, n FROM store s, LATERAL (SELECT count(*) AS n FROM ride r JOIN product p ON p.id = r.product_id WHERE r.store_id = s.id AND p.price > s.size) AS l']) AS query;
-- By IS NOT DISTINCT FROM NULL joins NULL: of one row, of two, of a column whose density has none.
CREATE TABLE numbered AS SELECT nullif(i, 3) AS id, 'n' || i % 3 AS name FROM generate_series(0, 12) AS i;
CREATE TABLE sparse AS SELECT nullif(i % 20, 7) AS x, i % 3 AS k FROM generate_series(1, 2000) AS i;
VACUUM ANALYZE numbered, sparse;
SELECT (kde_fit('sparse', 'x', sample_rows => -1)).rows;
SELECT kde_set_plain_sql('sparse.x', true);
CREATE TABLE by_null(query text);
INSERT INTO by_null SELECT unnest(ARRAY[
  'SELECT p.kind, count(*), sum(fare) FROM ride r JOIN product p ON p.id IS NOT DISTINCT FROM nullif(r.product_id, 3) GROUP BY 1',
  'SELECT n.name, count(*), count(n.id) FROM ride r LEFT JOIN numbered n ON r.store_id IS NOT DISTINCT FROM n.id WHERE r.at >= ''2026-02-01'' GROUP BY 1',
  'SELECT count(*) FROM ride r WHERE EXISTS (SELECT FROM numbered n WHERE NOT n.id IS DISTINCT FROM r.store_id)',
  'SELECT count(*) FROM ride r WHERE NOT EXISTS (SELECT FROM numbered n WHERE n.id IS NOT DISTINCT FROM r.store_id)',
  'SELECT k.month, count(*) FROM ride r JOIN calendar k ON k.day IS NOT DISTINCT FROM r.at::date GROUP BY 1',
  'SELECT count(*) FROM ride r JOIN numbered n ON n.id IS DISTINCT FROM r.store_id',
  'SELECT n.name, count(*) FROM sparse s JOIN numbered n ON n.id = s.x GROUP BY 1',
  'SELECT n.name, count(*) FROM sparse s JOIN numbered n ON n.id IS NOT DISTINCT FROM s.x GROUP BY 1']);
SELECT answered_by(query), query FROM by_null;
INSERT INTO numbered VALUES (NULL, 'n3');
SELECT answered_by(query), query FROM by_null WHERE query LIKE '%numbered%store%';
-- A dimension takes no more memory than a hash of the server's own.
CREATE TABLE wide AS SELECT i AS id, repeat('-', 1000 + i % 3) AS note FROM generate_series(1, 250) AS i;
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT answered_by('SELECT length(note), count(*) FROM ride r JOIN wide w ON w.id = r.store_id GROUP BY 1') AS within_64_kb;
RESET work_mem;
RESET hash_mem_multiplier;
SELECT answered_by('SELECT length(note), count(*) FROM ride r JOIN wide w ON w.id = r.store_id GROUP BY 1') AS by_default;
-- What is left to the exact plan: several rows of a key, other joins, rows that are not a table's.
SELECT answered_by(query), query FROM unnest(ARRAY[
  'SELECT s.city, count(*) FROM ride r JOIN store s ON r.code = s.code GROUP BY 1',
  'SELECT count(*) FROM ride r JOIN store s ON r.store_id < s.id',
  'SELECT count(*) FROM ride r JOIN store s ON r.qty = s.id JOIN store t ON t.id = r.store_id',
  'SELECT count(*) FROM ride r FULL JOIN store s ON r.store_id = s.id',
  'SELECT s.city, count(r.at) FROM ride r RIGHT JOIN store s ON r.store_id = s.id GROUP BY 1',
  'SELECT count(s.id) FROM ride r LEFT JOIN store s ON r.store_id = s.id AND r.at < ''2026-02-01''',
  'SELECT sum(s.size) FROM ride r JOIN store s ON r.store_id = s.id',
  'SELECT sum(r.fare * s.size) FROM ride r JOIN store s ON r.store_id = s.id',
  'SELECT count(*) FROM ride r JOIN store s ON r.store_id = s.id AND random() >= 0',
  'SELECT count(*) FROM ride r JOIN store s TABLESAMPLE bernoulli (100) ON r.store_id = s.id',
  'SELECT count(*) FROM ride r JOIN (SELECT id FROM store WHERE size < (SELECT avg(size) FROM store) ORDER BY id LIMIT 5) AS s ON r.store_id = s.id',
  'SELECT count(*) FROM ride r WHERE store_id IN (SELECT id FROM store ORDER BY random() LIMIT 30)',
  'WITH s AS MATERIALIZED (SELECT id FROM store ORDER BY id LIMIT 5) SELECT count(*) FROM ride r JOIN s ON r.store_id = s.id',
  'SELECT count(*) FROM ride r JOIN (SELECT id FROM store UNION ALL SELECT 3) AS s ON r.store_id = s.id',
  'SELECT count(*) FROM ride r JOIN (SELECT id FROM store ORDER BY id LIMIT 5 FOR SHARE) AS s ON r.store_id = s.id',
  'SELECT count(*) FROM ride r JOIN (SELECT max(id) AS id FROM store) AS s ON r.store_id = s.id',
  'SELECT count(*) FROM ride r JOIN (SELECT id FROM store JOIN (SELECT max(id) AS last FROM store) AS z ON id > last - 3 LIMIT 5) AS s ON r.store_id = s.id',
  'SELECT count(*) FROM ride r CROSS JOIN LATERAL (SELECT s.city FROM store s WHERE s.id = r.store_id LIMIT 1) AS s WHERE s.city = ''city 1''',
  'SELECT count(*) FROM ride r JOIN (VALUES (1), (2)) AS s(id) ON r.store_id = s.id',
  'SELECT count(*) FROM ride a JOIN ride b ON a.store_id = b.store_id WHERE b.at < ''2026-01-02''']) AS query;
-- An error of a row that joins with none is not the exact plan's, where it looks rows up by an index.
CREATE TABLE priced(id int PRIMARY KEY, price text);
INSERT INTO priced SELECT id, id::text FROM store UNION ALL VALUES (-1, 'none');
VACUUM ANALYZE priced;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT answered_by(query), query FROM unnest(ARRAY[
  'SELECT count(*), sum(r.fare) FROM ride r JOIN priced p ON p.id = r.store_id WHERE p.price::int > 3',
  'SELECT count(*), sum(r.fare) FROM ride r JOIN priced p ON p.id = r.store_id AND p.price LIKE ''1%'' WHERE p.id > 2',
  'SELECT p.price, count(*) FROM ride r, priced p WHERE p.id = r.store_id AND 10 / (p.price::int + 1) > 1 GROUP BY 1',
  'SELECT count(*), min(r.at) FROM ride r WHERE EXISTS (SELECT FROM priced p WHERE p.id = r.store_id AND p.price::int > 3)',
  'SELECT count(*) FROM ride r WHERE r.store_id IN (SELECT p.id FROM priced p WHERE p.price LIKE ''%2'')']) AS query;
RESET enable_hashjoin;
RESET enable_mergejoin;
-- Nor of a row that another condition leaves out, also where rows came since.
CREATE TABLE part(id int PRIMARY KEY, z int, v text);
INSERT INTO part SELECT i, CASE WHEN i = 3 THEN 0 ELSE 1 END, CASE WHEN i = 3 THEN 'q' ELSE 'a' END FROM generate_series(1, 5) AS i;
CREATE TABLE of_part AS SELECT i % 50 AS x, i % 4 + 1 AS k FROM generate_series(1, 4000) AS i;
ALTER TABLE of_part ALTER x SET NOT NULL, ALTER k SET NOT NULL;
VACUUM ANALYZE part, of_part;
SELECT (kde_fit('of_part', 'x', sample_rows => -1, group_by => 'k')).rows, kde_set_plain_sql('of_part.x by (k)', true);
INSERT INTO of_part VALUES (20, 3);
SELECT answered_by('SELECT count(*) FROM of_part f JOIN part d ON f.k = d.id AND d.v LIKE ''a%'' WHERE 10 / d.z > 1 OR f.x < 10') AS two_that_raise,
  answered_by('SELECT count(*) FROM of_part f JOIN part d ON f.k = d.id AND d.v = ''a'' WHERE 10 / d.z > 1 OR f.x < 10') AS one,
  answered_by('SELECT count(*) FROM of_part f JOIN part d ON f.k = d.id WHERE (10 / d.z > 1 OR f.x < 10) AND d.z > 0') AS one_first;
-- Columns of subqueries that the planner keeps as such under grouping sets.
SELECT answered_by(query), query FROM unnest(ARRAY[
  'SELECT d.u, count(*) FROM of_part f JOIN (SELECT id, upper(v) AS u FROM part) d ON f.k = d.id WHERE d.u LIKE ''A%'' GROUP BY ROLLUP (d.u)',
  'SELECT f.k, count(*) FROM of_part f JOIN (SELECT id, upper(v) AS u FROM part) d ON f.k = d.id WHERE d.u LIKE ''A%'' GROUP BY ROLLUP (f.k)',
  'SELECT f.k, count(*) FROM of_part f JOIN (SELECT id, v FROM part) d ON f.k = d.id WHERE d.v LIKE ''a%'' GROUP BY ROLLUP (f.k)']) AS query;
-- Values that are known when the statement runs, and run again.
SET kde_aqp.approximate = top;
SET plan_cache_mode = force_generic_plan;
PREPARE of_country(text, int) AS SELECT s.city, count(*) FROM ride r LEFT JOIN store s ON s.id = r.store_id AND s.country = $1 WHERE s.size IS DISTINCT FROM $2 GROUP BY 1 ORDER BY 1;
EXECUTE of_country('FR', 3);
EXECUTE of_country('IT', NULL);
SET kde_aqp.approximate = off;
EXECUTE of_country('FR', 3);
EXECUTE of_country('IT', NULL);
SELECT statements > 0 AS answered FROM kde_plain_sql WHERE outcome = 'answered by a density';
RESET plan_cache_mode;
-- Each of several runs has its own rows of a dimension.
SELECT answered_by('SELECT c.country, (SELECT sum(r.fare) FROM ride r JOIN store s ON r.store_id = s.id WHERE s.country = c.country) FROM (VALUES (''FR''), (''DE''), (''XX''), (''FR'')) AS c(country)');
SELECT answered_by('SELECT n, (SELECT count(*) FROM ride r JOIN store s ON r.store_id = s.id WHERE r.store_id < n AND s.size > 1) FROM generate_series(1, 9, 4) AS n');
-- Types and collations of their own.
CREATE COLLATION whatever_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE coded(code text COLLATE whatever_case PRIMARY KEY, name varchar(20));
INSERT INTO coded VALUES ('C1', 'one'), ('c2', 'two'), ('C9', NULL);
ANALYZE coded;
SELECT answered_by('SELECT d.name, count(*) FROM ride r LEFT JOIN coded d ON r.code COLLATE whatever_case = d.code GROUP BY 1');
SELECT answered_by('SELECT d.name, count(*) FROM ride r LEFT JOIN coded d ON r.code COLLATE "C" = d.code GROUP BY 1');
-- A density of the key itself, by its values.
SELECT (kde_fit('ride', 'code', sample_rows => -1)).rows, kde_set_plain_sql('ride.code', true);
SELECT answered_by('SELECT d.name, count(*) FROM ride r LEFT JOIN coded d ON r.code COLLATE whatever_case = d.code GROUP BY 1');
SELECT answered_by('SELECT count(*), count(d.name) FROM ride r JOIN coded d ON r.code COLLATE whatever_case = d.code');
-- Subqueries with rows of their own, at rest, grown, and as the transaction itself has changed both.
CREATE TABLE of_rows(query text);
INSERT INTO of_rows VALUES
  ('SELECT s.city, count(*), sum(r.fare) FROM ride r JOIN (SELECT id, city FROM store ORDER BY size, id LIMIT 5) AS s ON r.store_id = s.id GROUP BY 1'),
  ('SELECT count(*), sum(qty) FROM ride WHERE store_id IN (SELECT store_id FROM ride GROUP BY store_id ORDER BY count(*) DESC, store_id LIMIT 5)'),
  ('SELECT date_trunc(''month'', at), store_id, count(*) FROM ride JOIN (SELECT store_id AS store_id__, sum(fare) AS by FROM ride GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3) AS series_limit ON store_id = store_id__ GROUP BY 1, 2'),
  ('WITH t AS (SELECT store_id FROM ride WHERE at < ''2026-02-01'' GROUP BY 1 ORDER BY count(*), 1 LIMIT 3) SELECT store_id, count(*) FROM ride JOIN t USING (store_id) GROUP BY 1'),
  ('SELECT count(*) FROM ride r WHERE NOT EXISTS (SELECT FROM (SELECT id FROM store ORDER BY size, id LIMIT 4) AS s WHERE s.id = r.store_id)'),
  ('SELECT s.name, count(*) FROM ride r LEFT JOIN (SELECT area_id, max(city) AS name FROM store GROUP BY 1 HAVING max(size) < 9) AS s ON s.area_id = r.store_id GROUP BY 1'),
  ('SELECT s.city, count(*) FROM ride r JOIN (SELECT DISTINCT id, city, size FROM store) AS s ON s.id = r.store_id WHERE s.size < 4 AND s.city <> ''city 1'' GROUP BY 1'),
  ('SELECT s.at, count(*) FROM ride r JOIN (SELECT id, rank() OVER (ORDER BY size, id) AS at FROM store) AS s ON s.id = r.store_id WHERE s.at <= 4 GROUP BY 1'),
  ('SELECT count(*) FROM ride r WHERE store_id IN (SELECT id FROM store WHERE size < 2 UNION ALL SELECT id FROM store WHERE size < 4)'),
  ('SELECT a.name, count(*) FROM ride r JOIN (SELECT id, area_id FROM store ORDER BY id LIMIT 20) AS s ON r.store_id = s.id LEFT JOIN (SELECT id, min(name) AS name FROM area GROUP BY 1) AS a ON a.id = s.area_id GROUP BY 1'),
  ('SELECT c, (SELECT count(*) FROM ride r JOIN (SELECT id FROM store WHERE size < c ORDER BY id LIMIT 5) AS s ON s.id = r.store_id) FROM generate_series(1, 5, 2) AS c');
SELECT answered_by(query), query FROM of_rows;
BEGIN;
INSERT INTO ride SELECT '2026-02-03 04:05+00', 1, 2, 5, 3, 'c1' FROM generate_series(1, 900);
UPDATE store SET size = size + 1 WHERE id < 9;
SELECT answered_by(query) COLLATE "C" AS answered_by, count(*) FROM of_rows GROUP BY 1 ORDER BY 1;
COMMIT;
SELECT answered_by(query) COLLATE "C" AS answered_by, count(*) FROM of_rows GROUP BY 1 ORDER BY 1;
DROP TABLE of_rows;
-- Policies.
CREATE ROLE dimensions_clerk;
GRANT USAGE ON SCHEMA dimensions TO dimensions_clerk;
GRANT SELECT ON ride, store TO dimensions_clerk;
ALTER TABLE store ENABLE ROW LEVEL SECURITY;
CREATE POLICY french ON store TO dimensions_clerk USING (country = 'FR');
SET ROLE dimensions_clerk;
SELECT answered_by('SELECT count(*) FROM ride r JOIN store s ON r.store_id = s.id');
RESET ROLE;
DROP POLICY french ON store;
ALTER TABLE store DISABLE ROW LEVEL SECURITY;
SET client_min_messages = warning;
DROP OWNED BY dimensions_clerk;
DROP ROLE dimensions_clerk;
DROP SCHEMA dimensions CASCADE;
