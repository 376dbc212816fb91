-- What the server evaluates on groups and on parts of the range: statements put together from what dashboards send,
-- each beside the exact plan, of a table at rest and of one that grows, in three time zones.
SET TimeZone = 'UTC';
CREATE TABLE trip AS SELECT timestamptz '2026-01-01 00:00+00' + i * interval '511.3 seconds' + (hashint4(i) % 300000) * interval '0.731 milliseconds' AS at,
  ((i * 7919::bigint) % 9000)::numeric / 100 AS fare, (i * 31 % 50)::int AS qty, sin(i) * 40 AS dist, (ARRAY['north','south','east','west'])[1 + i * 17 % 4] AS region,
  CASE WHEN i % 11 > 0 THEN (ARRAY['paid','open','void'])[1 + i * 13 % 3] END AS status FROM generate_series(1, 20000) AS i;
ALTER TABLE trip ALTER fare TYPE numeric(10,2), ALTER at SET NOT NULL, ALTER qty SET NOT NULL, ALTER fare SET NOT NULL, ALTER dist SET NOT NULL;
CREATE TABLE statement(query text);
-- By a generator of its own, as random() is not the same everywhere.
CREATE SEQUENCE drawn;
CREATE FUNCTION one_of(VARIADIC of text[]) RETURNS text LANGUAGE sql AS
  'SELECT of[1 + (hashint8(nextval(''drawn'')) & 2147483647) % cardinality(of)]';
CREATE FUNCTION ends() RETURNS text LANGUAGE sql AS
  $$SELECT quote_literal(timestamp '2026-01-01' + (hashint8(nextval('drawn')) & 2047) % 2600 * interval '1 hour')$$;
CREATE FUNCTION of_column() RETURNS text LANGUAGE sql AS $$SELECT CASE current_setting('test.column')
WHEN 'qty' THEN one_of('qty', 'qty / 7', 'qty % 10', '-qty', 'CASE WHEN qty < 10 THEN 1 WHEN qty > 40 THEN 3 ELSE 2 END', 'width_bucket(qty, 0, 50, 5)', 'qty IN (3, 5, 8)', 'qty::text')
WHEN 'fare' THEN one_of('floor(fare / 10)', 'CASE WHEN fare < 10.005 THEN ''low'' WHEN fare < 50 THEN ''middle'' ELSE ''high'' END', 'fare > 20', 'round(fare)', 'fare <> 12.5', 'floor(fare)::int % 7')
WHEN 'dist' THEN one_of('CASE WHEN dist < 0 THEN ''west'' ELSE ''east'' END', 'dist > 20', 'dist BETWEEN -1 AND 1', 'CASE WHEN dist <= -20 THEN 1 WHEN dist <= 20 THEN 2 ELSE 3 END')
ELSE one_of('date_trunc(''day'', at)', 'extract(hour FROM at)', 'extract(isodow FROM at)', 'date_part(''dow'', at)', 'to_char(at, ''YYYY-MM'')', 'to_char(at, ''Dy HH24'')',
  'at::date', 'at::date - date ''2026-01-01''', 'date_trunc(''month'', at)', 'to_char(at, ''FMMonth "of" YYYY'')', 'extract(month FROM at)', '(at AT TIME ZONE ''Europe/Berlin'')::date',
  'extract(hour FROM at AT TIME ZONE ''Asia/Tokyo'')', 'CASE WHEN at < ' || ends() || ' THEN ''old'' WHEN at >= ' || ends() || ' THEN ''new'' ELSE ''between'' END',
  'extract(isodow FROM at) IN (6, 7)', 'at >= ' || ends(), 'extract(doy FROM at)::int / 10', 'to_char(at::date, ''IYYY-IW'')', 'date_trunc(''quarter'', at)', 'extract(hour FROM at)::int / 6') END$$;
CREATE FUNCTION of_key() RETURNS text LANGUAGE sql AS $$SELECT one_of('region', 'status', 'upper(region)', 'coalesce(status, ''none'')', 'left(region, 1)',
  'CASE region WHEN ''north'' THEN ''N'' WHEN ''south'' THEN ''S'' ELSE ''other'' END', 'region || coalesce(status, ''-'')', 'status IS NULL', 'length(region)')$$;
CREATE FUNCTION of_both() RETURNS text LANGUAGE sql AS
  $$SELECT one_of(of_column(), of_key(), 'CASE WHEN region = ''north'' THEN (' || of_column() || ')::text ELSE region END')$$;
CREATE FUNCTION condition_of_column() RETURNS text LANGUAGE sql AS $$SELECT CASE current_setting('test.column')
WHEN 'qty' THEN one_of('qty < 30', 'qty >= 7', 'qty BETWEEN 5 AND 25', 'qty <> 7', 'qty NOT IN (1, 2, 3)', 'qty NOT BETWEEN 10 AND 20', 'qty % 2 = 0', 'qty IN (1, 5, 9)', 'qty <@ int4range(4, 20)')
WHEN 'fare' THEN one_of('fare < 30', 'fare >= 7.25', 'fare BETWEEN 5 AND 25', 'fare <> 7', 'fare NOT BETWEEN 10 AND 20', 'floor(fare) = 12', 'fare <@ numrange(3, 33)')
WHEN 'dist' THEN one_of('dist < 30', 'dist >= 7.25', 'dist BETWEEN -5 AND 25', 'dist <> 7', 'dist NOT BETWEEN 10 AND 20')
ELSE one_of('at >= ' || ends(), 'at < ' || ends(), 'at BETWEEN ' || ends() || ' AND ' || ends(), 'extract(hour FROM at) BETWEEN 8 AND 17',
  'at <@ tstzrange(' || ends() || ', NULL)', 'extract(isodow FROM at) ' || one_of('IN (6, 7)', '< 6', '<> 3'), 'at::date ' || one_of('<>', '=', '>') || ' date ''2026-02-11''',
  'at NOT BETWEEN ' || ends() || ' AND ' || ends()) END$$;
CREATE FUNCTION condition(depth int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RETURN CASE CASE WHEN depth > 0 THEN one_of('of', 'of', 'and', 'or', 'not') ELSE 'of' END
    WHEN 'of' THEN one_of(condition_of_column(), condition_of_column(), 'region = ' || quote_literal(one_of('north', 'south', 'none')), 'status IN (''paid'', ''open'')',
      'status IS ' || one_of('', 'NOT ') || 'NULL', 'region LIKE ' || one_of('''%th''', '''%st'''))
    WHEN 'and' THEN '(' || condition(depth - 1) || ' AND ' || condition(depth - 1) || ')'
    WHEN 'or' THEN '(' || condition(depth - 1) || ' OR ' || condition(depth - 1) || ')'
    ELSE 'NOT (' || condition(depth - 1) || ')' END;
END $$;
CREATE FUNCTION aggregate() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  c text := condition(1);
  x text := one_of('fare', 'qty', CASE WHEN current_setting('test.column') = 'dist' THEN 'fare' END, NULL);
BEGIN
  x := coalesce(x, 'fare');
  RETURN one_of('count(*)', 'sum(' || x || ')', 'avg(' || x || ')', 'sum(' || x || ') / nullif(count(*), 0)', 'count(' || x || ')', 'sum(1)',
    'count(*) FILTER (WHERE ' || c || ')', 'sum(' || x || ') FILTER (WHERE ' || c || ')', 'avg(' || x || ') FILTER (WHERE ' || c || ')',
    'sum(CASE WHEN ' || c || ' THEN ' || x || ' END)', 'sum(CASE WHEN ' || c || ' THEN ' || x || ' ELSE 0 END)', 'sum(CASE WHEN ' || c || ' THEN 1 ELSE 0 END)',
    'count(CASE WHEN ' || c || ' THEN 1 END)', 'sum((' || c || ')::int)', 'count(*) FILTER (WHERE ' || c || ') * 100.0 / nullif(count(*), 0)',
    'sum(CASE status WHEN ''paid'' THEN ' || x || ' ELSE 0 END)', 'coalesce(sum(CASE WHEN ' || c || ' THEN ' || x || ' END), -1)',
    'count(DISTINCT ' || of_key() || ')', 'count(DISTINCT ' || of_both() || ') FILTER (WHERE ' || c || ')', 'mode() WITHIN GROUP (ORDER BY ' || of_key() || ')',
    'percentile_disc(' || one_of('0.5', '0.05', '0.99', '''{0.1,0.9}''::float8[]') || ') WITHIN GROUP (ORDER BY ' || current_setting('test.column') || ')' || one_of('', ' FILTER (WHERE ' || c || ')'),
    'percentile_cont(' || one_of('0.5', '0.95', '''{0,0.25,NULL,1}''::float8[]') || ') WITHIN GROUP (ORDER BY ' || CASE WHEN current_setting('test.column') = 'at' THEN 'qty' ELSE current_setting('test.column') END || ')' || one_of('', ' FILTER (WHERE ' || c || ')'),
    one_of('min', 'max') || '(' || x || ')', 'min(' || current_setting('test.column') || ')', 'max(' || current_setting('test.column') || ') FILTER (WHERE ' || c || ')');
END $$;
CREATE FUNCTION made() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  keys text[] := '{}';
  what text[] := '{}';
  out text;
  form text := one_of('+', '+', '+', 'ROLLUP (+)', 'CUBE (+)', 'GROUPING SETS ((+), (), (1), (1))');
BEGIN
  FOR i IN 1 .. one_of('0', '1', '1', '2', '2', '3')::int LOOP keys := keys || of_both(); END LOOP;
  FOR i IN 1 .. one_of('1', '2', '3')::int LOOP what := what || aggregate(); END LOOP;
  IF form <> '+' AND keys <> '{}' THEN what := what || ('grouping(' || array_to_string(keys, ', ') || ')'); END IF;
  SELECT string_agg(x || ' AS c' || i, ', ') INTO out FROM unnest(keys || what) WITH ORDINALITY AS u(x, i);
  out := 'SELECT ' || out || ' FROM trip' || CASE one_of('', '1', '2', '2') WHEN '' THEN '' WHEN '1' THEN ' WHERE ' || condition(0) ELSE ' WHERE ' || condition(2) || ' AND ' || condition(1) END;
  IF keys = '{}' THEN RETURN out; END IF;
  SELECT out || ' GROUP BY ' || replace(form, '+', string_agg(i::text, ', ')) INTO out FROM generate_series(1, cardinality(keys)) AS i;
  RETURN out || one_of('', '', ' HAVING count(*) > 5', ' HAVING count(*) FILTER (WHERE status = ''paid'') > 2');
END $$;
VACUUM ANALYZE trip;
SELECT count((kde_fit('trip', c, sample_rows => -1, group_by => g, measures => array_remove('{fare,qty}', c))).rows) AS fitted
FROM unnest('{at,qty,fare,dist}'::text[]) AS c, unnest('{NULL,"region, status"}'::text[]) AS g;
SELECT count(kde_set_plain_sql(name, true)) AS allowed FROM kde_densities_full WHERE relation = 'trip'::regclass;
SET kde_aqp.approximate_notice = off;
SET kde_aqp.approximate_error = 0;
\getenv statements KDE_AQP_STATEMENTS
\if :{?statements}
\else
\set statements 40
\endif
INSERT INTO statement SELECT made() FROM unnest('{at,qty,fare,dist}'::text[]) AS c, LATERAL (SELECT set_config('test.column', c, false)) AS s, generate_series(1, :statements) AS i;
-- How many are answered is shown but for the last digit: planners differ in what they prove to be of no row.
SELECT regexp_replace(say('at rest'), '[0-9] of', 'x of') AS said;
SET TimeZone = 'America/New_York';
SELECT regexp_replace(say('New York'), '[0-9] of', 'x of') AS said;
INSERT INTO trip SELECT timestamptz '2026-04-29 08:00+00' + i * interval '700 seconds', i % 77, i % 50, 200 + i / 3.0, 'north', CASE WHEN i % 2 > 0 THEN 'paid' ELSE 'new' END FROM generate_series(1, 300) AS i;
UPDATE trip SET status = 'void' WHERE qty = 3 AND at < '2026-01-03';
SELECT regexp_replace(say('grown'), '[0-9] of', 'x of') AS said;
SET TimeZone = 'Asia/Kolkata';
SELECT regexp_replace(say('grown, in Kolkata'), '[0-9] of', 'x of') AS said;
-- Within a cell a percentile has an interval.
RESET kde_aqp.approximate_error;
SELECT count(*) AS held FROM (SELECT CASE WHEN dist < 0 THEN 'west' ELSE 'east' END AS side, percentile_cont(0.3) WITHIN GROUP (ORDER BY dist) AS x FROM trip GROUP BY 1) AS exact
  JOIN (SELECT CASE WHEN dist < 0 THEN 'west' ELSE 'east' END AS side, approx_lower(percentile_cont(0.3) WITHIN GROUP (ORDER BY dist)) AS lower,
    approx_upper(percentile_cont(0.3) WITHIN GROUP (ORDER BY dist)) AS upper FROM trip GROUP BY 1) AS within USING (side) WHERE x BETWEEN lower AND upper;
-- A generic plan has the zone and the values of each of its runs.
SET plan_cache_mode = force_generic_plan;
SET kde_aqp.approximate = 'all';
CREATE FUNCTION runs(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  out text;
BEGIN
  EXECUTE statement INTO out;
  RETURN out;
END $$;
PREPARE hours AS SELECT array_agg((h, n) ORDER BY h) FROM (SELECT extract(hour FROM at) AS h, count(*) AS n FROM trip WHERE at::date < '2026-02-01' GROUP BY 1) AS q;
PREPARE values_of AS SELECT (count(*) FILTER (WHERE at < $1 OR region = $2), sum(CASE WHEN region = ANY($3) THEN fare END), percentile_disc($5::float8) WITHIN GROUP (ORDER BY at)) FROM trip WHERE region <> $4;
CREATE TABLE ran(approximate text, zone text, n int, result text);
DO $$
DECLARE
  zone text;
  way text;
BEGIN
  FOREACH way IN ARRAY '{off,all}'::text[] LOOP
    PERFORM set_config('kde_aqp.approximate', way, false);
    FOREACH zone IN ARRAY '{UTC,Asia/Tokyo,America/New_York,UTC}'::text[] LOOP
      PERFORM set_config('TimeZone', zone, false);
      INSERT INTO ran VALUES (way, zone, 1, runs('EXECUTE hours')),
        (way, zone, 2, runs($q$EXECUTE values_of('2026-02-01', 'north', '{south,west}', 'east', 0.3)$q$)),
        (way, zone, 3, runs($q$EXECUTE values_of('infinity', NULL, '{}', '', 1)$q$)),
        (way, zone, 4, runs($q$EXECUTE values_of(NULL, 'north', NULL, 'x', NULL)$q$));
    END LOOP;
  END LOOP;
END $$;
SELECT count(DISTINCT (zone, n, result)) AS results, count(DISTINCT (zone, n)) AS runs FROM ran;
RESET plan_cache_mode;
RESET kde_aqp.approximate;
-- Errors are those of rows alone: not of NULL in a column that has none, nor of groups that another condition leaves out first.
RESET TimeZone;
CREATE TABLE small AS SELECT i % 20 - 10 AS x, i % 4 AS k, CASE WHEN i % 4 > 0 THEN i END AS y FROM generate_series(1, 400) AS i;
ALTER TABLE small ALTER x SET NOT NULL;
VACUUM ANALYZE small;
SELECT count((kde_fit('small', c, sample_rows => -1, group_by => 'k')).rows) AS fitted FROM unnest('{x,y}'::text[]) AS c;
SELECT count(kde_set_plain_sql(name, true)) AS allowed FROM kde_densities WHERE name LIKE 'small%';
SELECT answered_by('SELECT count(*) FROM small WHERE 10 / (CASE WHEN x >= -10 THEN 1 ELSE 0 END) > 0');
SELECT answered_by('SELECT count(*) FROM small WHERE (x + 10) % 4 <> 3 AND 10 / (k - 3) > -100');
SELECT answered_by('SELECT count(*) FROM small WHERE (x + 10) % 4 <> 3 AND 10 / (k - 3) > (SELECT -100)');
-- A sum has 0 for rows that have no value.
SELECT answered_by('SELECT sum(CASE WHEN y > 5 THEN y ELSE 0 END) FROM small WHERE k = 0');
-- A range of another order than its elements'.
CREATE FUNCTION compared(int, int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT btint4cmp(abs($1), abs($2))';
CREATE OPERATOR CLASS by_size FOR TYPE int USING btree AS FUNCTION 1 compared(int, int);
CREATE TYPE sizes AS RANGE (subtype = int, subtype_opclass = by_size);
SELECT answered_by('SELECT count(*) FILTER (WHERE x <@ sizes(3, 6)) FROM small');
-- A time that rows have, and the next microsecond, which the density takes for it.
CREATE TABLE quarter AS SELECT timestamp '2026-01-01' + i * interval '900 seconds' AS at FROM generate_series(1, 400) AS i;
ALTER TABLE quarter ALTER at SET NOT NULL;
VACUUM ANALYZE quarter;
SELECT (kde_fit('quarter', 'at', sample_rows => -1)).rows;
SELECT kde_set_plain_sql('quarter.at', true);
SELECT answered_by('SELECT count(*) FILTER (WHERE at = ''2026-01-02''), count(*) FILTER (WHERE at > ''2026-01-02''), min(at) FILTER (WHERE at > ''2026-01-02'') FROM quarter');
SELECT answered_by('SELECT percentile_disc(ARRAY[0, 0.4975, 0.5, 1]) WITHIN GROUP (ORDER BY at), count(DISTINCT at::date), mode() WITHIN GROUP (ORDER BY at::date) FROM quarter');
INSERT INTO quarter SELECT timestamp '2026-01-02' + i * interval '1 microsecond' FROM generate_series(-3, 3) AS i;
SELECT answered_by('SELECT percentile_disc(ARRAY[0, 0.226, 0.23, 0.232, 0.235, 0.238, 0.24, 0.245, 0.5, 1]) WITHIN GROUP (ORDER BY at) FROM quarter');
-- Parts of dates change where their units end, also before our era.
CREATE TABLE dated AS SELECT CASE WHEN i % 2 > 0 THEN date '1190-12-20' ELSE date '0007-12-20 BC' END + i * 3 AS day, i % 3 AS k FROM generate_series(1, 2000) AS i;
ALTER TABLE dated ALTER day SET NOT NULL;
VACUUM ANALYZE dated;
SELECT (kde_fit('dated', 'day', sample_rows => -1, group_by => 'k')).rows;
SELECT count(kde_set_plain_sql(name, true)) AS allowed FROM kde_densities WHERE name LIKE 'dated%';
-- 2,000 rows are read sooner than so many parts are asked about, but where rows cost more.
SET cpu_tuple_cost = 100;
DELETE FROM statement;
INSERT INTO statement SELECT format(form, f) FROM unnest('{day,dow,isodow,doy,week,isoyear,month,quarter,year,decade,century,millennium}'::text[]) AS f,
  unnest(ARRAY['SELECT extract(%s FROM day) AS part, k, count(*) FROM dated GROUP BY 1, 2', 'SELECT count(*) FROM dated WHERE extract(%s FROM day) <> 3 AND day > ''0003-06-01 BC''']) AS form;
SELECT say('parts of dates');
RESET cpu_tuple_cost;
-- A percentile's row beside a cut, and every other.
CREATE TABLE few AS SELECT i AS x, i / 2 AS half, i::numeric(6,2) / 4 AS quarter FROM generate_series(1, 24) AS i;
ALTER TABLE few ALTER x SET NOT NULL, ALTER half SET NOT NULL;
VACUUM ANALYZE few;
SELECT count((kde_fit('few', c, sample_rows => -1)).rows) AS fitted, count(kde_set_plain_sql('few.' || c, true)) AS allowed FROM unnest('{x,half,quarter}'::text[]) AS c;
DELETE FROM statement;
INSERT INTO statement SELECT format('SELECT percentile_%s(ARRAY(SELECT i / 48.0 FROM generate_series(0, 48) AS i)::float8[]) WITHIN GROUP (ORDER BY %s)%s FROM few%s', f, x, replace(a, 'x', x), replace(w, 'x', x))
FROM unnest('{cont,disc}'::text[]) AS f, unnest('{x,half}'::text[]) AS x, unnest(ARRAY['', ', count(*) FILTER (WHERE x > 3)', ', count(DISTINCT x)']) AS a, unnest(ARRAY['', ' WHERE x <> 3', ' WHERE x % 2 = 1', ' WHERE x > 5 OR x = 2']) AS w;
SELECT say('beside cuts');
DELETE FROM few WHERE x = 7;
INSERT INTO few VALUES (3, 3, 1), (25, 0, 0.25);
SELECT say('beside cuts, grown');
ALTER TABLE few ALTER x TYPE bigint USING x * 3;
SELECT say('of another type');
SELECT count(*) AS refreshed FROM kde_refresh('few');
SELECT say('of another type, refreshed');
-- A subquery's column that the planner keeps as one.
SELECT answered_by('SELECT c, count(*) FROM (SELECT x % 2 AS c FROM small) AS z GROUP BY ROLLUP (c)');
-- Errors are the exact plan's; what is of another order, or of the groups, is its own, too.
SELECT answered_by('SELECT percentile_cont(1.5) WITHIN GROUP (ORDER BY x) FROM small');
SELECT answered_by('SELECT percentile_disc(1.5) WITHIN GROUP (ORDER BY x) FROM small WHERE x > 1000');
SELECT answered_by('SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x DESC) FROM small');
SELECT answered_by('SELECT k, percentile_cont(k / 4.0) WITHIN GROUP (ORDER BY x) FROM small GROUP BY k');
-- Of a sample, too, comparisons are the same beyond the values that it met; of buckets there may be more.
SET kde_aqp.approximate_error = 0.5;
SET kde_aqp.sample_blocks = 30;
CREATE TABLE thick AS SELECT (i * 7919 % 20011)::int AS x, repeat('x', 400) AS filler FROM generate_series(1, 20000) AS i;
ALTER TABLE thick ALTER x SET NOT NULL;
VACUUM ANALYZE thick;
SELECT rows_read < 20000 AS sampled FROM kde_fit('thick', 'x', seed => 1);
SELECT kde_set_plain_sql('thick.x', true);
SET kde_aqp.approximate = off;
SELECT count(*) AS outside, count(*) FILTER (WHERE x NOT IN (1, 19000)) AS others FROM thick WHERE x < 4000 OR x > 12000 \gset
SET kde_aqp.approximate = 'all';
SELECT :outside BETWEEN approx_lower(count(*)) AND approx_upper(count(*)) AS held, approx_lower(count(*)) < approx_upper(count(*)) AS by_the_sample,
  :others BETWEEN approx_lower(count(*) FILTER (WHERE x NOT IN (1, 19000))) AND approx_upper(count(*) FILTER (WHERE x NOT IN (1, 19000))) AS held FROM thick WHERE x < 4000 OR x > 12000;
RESET kde_aqp.approximate;
SET TimeZone = 'UTC';
-- A day's end as tools send it, within a cell: whether a group has a row there is not known, but by an index that
-- tells of none up to midnight, as of now.
RESET kde_aqp.approximate_error;
SET kde_aqp.density_bytes = '16kB';
CREATE TABLE till AS SELECT timestamptz '2026-01-01 00:00+00' + i * interval '127.7 seconds' + (hashint4(i) % 300000) * interval '0.731 milliseconds' AS at, i % 150 AS shop, (i % 50)::numeric(10,2) AS amount FROM generate_series(1, 60000) AS i;
ALTER TABLE till ALTER at SET NOT NULL;
CREATE INDEX ON till(at) WHERE shop > 0;
CREATE FUNCTION turned(timestamptz, timestamptz) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT timestamptz_cmp($2, $1)';
CREATE OPERATOR CLASS turned FOR TYPE timestamptz USING btree AS OPERATOR 1 >, OPERATOR 2 >=, OPERATOR 3 =, OPERATOR 4 <=, OPERATOR 5 <, FUNCTION 1 turned(timestamptz, timestamptz);
CREATE INDEX turned ON till(at turned);
VACUUM ANALYZE till;
SELECT (kde_fit('till', 'at', sample_rows => -1, measures => 'amount', group_by => 'shop')).rows;
SELECT kde_set_plain_sql('till.at by (shop)', true);
CREATE FUNCTION of_days(most text) RETURNS text LANGUAGE sql AS $$
SELECT answered_by(format('SELECT shop, at::date AS day, count(*), sum(amount) FROM till WHERE at BETWEEN ''2026-01-03'' AND %L GROUP BY 1, 2', most)) $$;
SELECT of_days('2026-01-21 23:59:59.999'), of_days('2026-01-21 23:59:59.999999'), of_days('2026-01-21 23:59:59.2');
DROP INDEX turned;
CREATE INDEX ON till(at);
SELECT of_days(e) FROM unnest('{2026-01-21 23:59:59.999,2026-01-21 23:59:59,2026-01-21 23:59:58.5,1999-12-31 23:59:59}'::text[]) AS e;
-- That is told without running it, too, of each query of a statement; but not of what it depends on rows for.
CREATE FUNCTION explained(query text) RETURNS SETOF text LANGUAGE sql AS $$SELECT concat_ws(', ', density, answers, reason) FROM kde_explain_query(query)$$;
SELECT explained(format('SELECT shop, count(*) FROM till WHERE at < %L GROUP BY 1', e)) FROM unnest('{2026-01-21,2026-01-21 23:30}'::text[]) AS e;
SELECT explained($$SELECT (SELECT count(*) FROM till WHERE at < '2026-01-21 23:30' AND shop = 3), sum(amount) FROM till WHERE at < '2026-01-21' AND shop = 3$$);
SELECT explained($$SELECT shop, count(*) FROM till WHERE at < '2026-01-21 23:30' AND shop < (SELECT 3) GROUP BY 1$$);
SELECT explained($$SELECT shop, count(*) FROM till WHERE at < $1 GROUP BY 1$$);
-- A dollar within a constant is no parameter, nor does the answer depend on a least value that the exact plan has from an index.
SELECT explained($$SELECT shop, count(*) FROM till WHERE at < '2026-01-21 23:30' AND shop::text ~ '^3$' GROUP BY 1$$);
SELECT explained($$SELECT min(at) FROM till WHERE at > '2026-01-21 23:30' AND shop = 3$$);
SELECT explained($$SELECT min(at) FROM till WHERE at > '2026-01-21 23:30' AND shop < (SELECT 3)$$);
INSERT INTO till VALUES ('2026-01-21 23:59:59.9995', 200, 7), ('2026-01-20 12:00', 7, 7);
SELECT of_days(e) FROM unnest('{2026-01-21 23:59:59.999,2026-01-21 23:59:59.9995,2026-01-20 23:59:59.999}'::text[]) AS e;
DELETE FROM till WHERE shop = 200;
SELECT of_days('2026-01-21 23:59:59.999');
-- Of a table that inherits from it, too.
CREATE TABLE more_till() INHERITS (till);
INSERT INTO more_till VALUES ('2026-01-20 12:00', 7, 7);
SELECT of_days('2026-01-21 23:59:59.999');
CREATE INDEX ON more_till(at);
SELECT of_days('2026-01-21 23:59:59.999');
RESET kde_aqp.density_bytes;
-- Of times by the minute such an end is taken for midnight, and is before it.
CREATE TABLE minutely AS SELECT timestamptz '2026-01-01 00:00+00' + i % 20000 * interval '1 minute' AS at FROM generate_series(1, 40000) AS i;
ALTER TABLE minutely ALTER at SET NOT NULL;
VACUUM ANALYZE minutely;
SELECT (kde_fit('minutely', 'at', sample_rows => -1)).rows;
SELECT kde_set_plain_sql('minutely.at', true);
SELECT c, answered_by('SELECT at::date AS day, count(*) FROM minutely WHERE at ' || c || ' GROUP BY 1') FROM unnest(ARRAY[$$<= '2026-01-05 23:59:59.99'$$,
  $$< '2026-01-05 23:59:59.999999'$$, $$> '2026-01-05 23:59:59.99'$$, $$>= '2026-01-05 23:59:59.99'$$, $$<= '2026-01-05 00:00:00.01'$$, $$> '2026-01-05 00:00:00.01'$$,
  $$= '2026-01-05 00:00:00.01'$$]) AS c;
INSERT INTO minutely VALUES ('2026-01-05 23:59:59.995'), ('2026-01-06');
SELECT answered_by($$SELECT at::date AS day, count(*) FROM minutely WHERE at <= '2026-01-05 23:59:59.99' GROUP BY 1$$),
  answered_by($$SELECT at::date AS day, count(*) FROM minutely WHERE at > '2026-01-05 23:59:59.99' GROUP BY 1$$);
-- Groups by char(n) are compared without the blanks at their end, and have them.
CREATE TABLE padded AS SELECT i % 1000 AS x, ('{paid,open,ab,"ä",""}'::text[])[1 + i % 5]::char(5) AS status, ('{a,"a ",b}'::text[])[1 + i % 3]::bpchar AS loose FROM generate_series(1, 20000) AS i;
ALTER TABLE padded ALTER x SET NOT NULL;
VACUUM ANALYZE padded;
SELECT count((kde_fit('padded', 'x', sample_rows => -1, group_by => g)).rows) AS fitted FROM unnest('{status,loose}'::text[]) AS g;
SELECT count(kde_set_plain_sql(name, true)) AS allowed FROM kde_densities WHERE name LIKE 'padded%';
SELECT answered_by('SELECT ' || q) AS by, q FROM unnest(ARRAY[$$count(*) FROM padded WHERE status = 'paid' AND x < 100$$, $$count(*) FROM padded WHERE status <> 'paid  '$$,
  $$count(*) FROM padded WHERE status IN ('paid', 'ab   ', '')$$, $$count(*) FROM padded WHERE status LIKE 'pai_'$$, $$count(*) FROM padded WHERE status LIKE 'pai__'$$,
  $$count(*) FROM padded WHERE status = 'ä '::text$$, $$count(*) FROM padded WHERE status::text = 'ä'$$, $$status || '|' AS s, octet_length(status) AS o, min(x) FROM padded WHERE status > 'b' GROUP BY 1, 2$$,
  $$count(DISTINCT status) FROM padded$$, $$loose, count(*) FROM padded WHERE x < 5 GROUP BY 1$$, $$count(*) FROM padded WHERE loose = 'a'$$]) AS q;
-- A cast that is not written makes another value of a group: its text alone does not tell.
CREATE TABLE cut_off AS SELECT x, status AS whole FROM padded;
ALTER TABLE cut_off ALTER x SET NOT NULL;
VACUUM ANALYZE cut_off;
SELECT (kde_fit('cut_off', 'x', sample_rows => -1, group_by => 'whole::char(3), x % 3')).rows;
SELECT kde_set_plain_sql('cut_off.x by ((whole)::character(3), x % 3)', true);
SELECT answered_by('SELECT ' || q) AS by, q FROM unnest(ARRAY[$$whole::char(3) || '|' AS s, count(*) FROM cut_off GROUP BY 1$$, $$count(*) FROM cut_off WHERE whole::char(3) = 'ab '::text$$,
  $$x % 3 * 1.5 AS n, count(*) FROM cut_off GROUP BY 1$$, $$whole::char(3) AS s, count(*) FROM cut_off GROUP BY 1$$]) AS q;

-- Totals by a density with groups, where no other is allowed: rows without a time, a group or a value among them.
CREATE TABLE total (i int, at timestamptz, g text, y numeric(8,2));
INSERT INTO total SELECT i, CASE WHEN i % 7 > 0 THEN timestamptz '2026-01-01 00:00+00' + i * interval '97 seconds' + hashint4(i) % 10000000 * interval '1 microsecond' END, CASE WHEN i % 5 > 0 THEN 'g' || i % 4 END, CASE WHEN i % 3 > 0 THEN i % 50 END
FROM generate_series(1, 60000) AS i;
VACUUM ANALYZE total;
SET kde_aqp.density_bytes = '16kB';
SELECT (kde_fit('total', 'at', sample_rows => -1, measures => 'y', group_by => 'g')).rows;
SELECT kde_set_plain_sql('total.at by (g)', true);
DELETE FROM statement;
INSERT INTO statement SELECT format('SELECT %s FROM total WHERE %s', what, rows) FROM unnest(ARRAY['count(*)', 'count(y), sum(y), avg(y)', 'min(at), max(at), count(at)', 'count(*) FILTER (WHERE g = ''g1''), sum(y)', 'count(*), sum(y) FILTER (WHERE at < ''2026-02-01'')']) AS what,
  unnest(ARRAY['true', 'at IS NOT NULL', 'at >= ''2026-01-10''', 'at < ''2026-01-20 03:00'' AND at >= ''2026-01-03''', 'at >= ''2026-01-10'' GROUP BY date_trunc(''day'', at) ORDER BY date_trunc(''day'', at)', 'at > ''2030-01-01''']) AS rows;
SELECT say('totals');
SET kde_aqp.approximate_error = 0;
SET TimeZone = 'Asia/Kolkata';
SELECT say('totals in another zone');
SET TimeZone = 'UTC';
INSERT INTO total VALUES (0, '2026-01-15 12:00+00', 'new', 3), (-1, '2026-01-15 12:00+00', NULL, NULL), (-2, NULL, 'g1', 7);
DELETE FROM total WHERE i = 59999;
SELECT say('totals of a table that grew');
-- Attempts that end early: buckets within cells, and parts that cost more than the rows.
SELECT explained($$SELECT date_trunc('minute', at), g, count(*) FROM total WHERE at >= '2026-01-10' AND at < '2026-01-11' GROUP BY 1, 2$$);
SELECT explained($$SELECT date_trunc('minute', at), g, count(*) FROM total WHERE at >= '2026-01-10' AND at < '2026-02-11' GROUP BY 1, 2$$);
RESET kde_aqp.density_bytes;
RESET kde_aqp.approximate_error;
DROP TABLE total;
