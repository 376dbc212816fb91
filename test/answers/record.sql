-- What the library answers, a line each at full precision: made tables in every form that can hold
-- them, boxes chosen by their rows, each target, confidence and number of changed rows. Two
-- libraries' lines are compared with `diff`: estimates and ends must stay but where a rule changed.
--
--   scripts/private_cluster.sh psql -XqAt -f test/answers/record.sql [-v shapes=whole,heavy] >lines
--
-- Columns: table|form|box|target|measure|confidence|changed rows|estimate|lower|upper
\set ON_ERROR_STOP on
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS kde_aqp;
CREATE SCHEMA answers_recorded;
SET search_path = answers_recorded, public;
SET extra_float_digits = 3;
SET jit = off;
SET datestyle = 'ISO, YMD';
SET timezone = 'UTC';
SET kde_aqp.stale = 'ignore';

-- A number in [0, 1) of a key, on every machine the same.
CREATE FUNCTION u(i int, stream int) RETURNS float8 LANGUAGE sql IMMUTABLE AS
  $$ SELECT ((hashint8extended(i, stream) & 1152921504606846975) / 1152921504606846976::float8) $$;

-- x: the range column, y: what is added up, c: a category. Each is given by SQL of i, u and v.
CREATE TABLE shapes (name text PRIMARY KEY, type text, x text, y text, rows int DEFAULT 20000);
INSERT INTO shapes (name, type, x, y) VALUES
  ('whole', 'int', 'floor(1000 * u)', 'floor(100 * v)'),
  ('few', 'smallint', 'i % 7', 'v'),
  ('normal', 'float8', 'sqrt(-2 * ln(1 - u)) * cos(2 * pi() * v)', 'u'),
  ('lognormal', 'numeric(12,2)', 'round(exp(3 * sqrt(-2 * ln(1 - u)) * cos(2 * pi() * v))::numeric, 2)', 'round((100 * v)::numeric, 2)'),
  ('heavy', 'float8', 'u', '1 / (1 - v)'),
  ('ties', 'float8', 'CASE WHEN u < 0.4 THEN 0.25 ELSE v END', '100 - 200 * u'),
  ('quarters', 'numeric', 'floor(4000 * u * u)::numeric / 4', 'floor(v * 1000)::numeric / 100'),
  ('negative', 'int', '-floor(exp(10 * u))', '-v'),
  ('clusters', 'float8', 'CASE WHEN u < 0.5 THEN v ELSE 1000 + v END', 'u + v'),
  ('constant', 'int', '5', 'v'),
  ('growing', 'timestamptz', 'timestamptz ''2024-01-01'' + make_interval(secs => 3000 * i + 2000 * u)', 'round((50 * v)::numeric, 2)'),
  ('days', 'date', 'date ''2023-01-01'' + (1000 * u)::int', 'floor(10 * v)'),
  ('large', 'bigint', '1000000000000000 + floor(100 * u)', 'floor(1e9 * v)'),
  ('nulls', 'float8', 'CASE WHEN i % 5 > 0 THEN u END', 'CASE WHEN v < 0.7 THEN u * v END'),
  ('special', 'float8', 'CASE i % 50 WHEN 0 THEN ''NaN'' WHEN 1 THEN ''infinity'' WHEN 2 THEN ''-infinity'' ELSE u END', 'v'),
  ('vast', 'float8', '1e300 * (u - 0.5)', 'v'),
  ('tiny', 'float4', '1e-30 * u', '1e-30 * v'),
  ('hours', 'interval', 'make_interval(mins => (600 * u * v)::int)', 'v'),
  ('together', 'float8', 'i / 2000 + u', 'i / 2000 + v'),
  ('handful', 'float8', 'u', 'v');
UPDATE shapes SET rows = 30 WHERE name = 'handful';
\if :{?shapes}
DELETE FROM shapes WHERE name <> ALL (string_to_array(:'shapes', ','));
\endif

CREATE FUNCTION make(s shapes) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('CREATE TABLE %I (x %s, y %s, c text)', s.name, s.type,
                 CASE WHEN s.y LIKE 'round(%' THEN 'numeric(12,2)' ELSE 'float8' END);
  EXECUTE format(
    'INSERT INTO %I SELECT %s, %s, chr(97 + floor(12 * u(i, 3) * u(i, 4))::int)
     FROM (SELECT i, u(i, 1) AS u, u(i, 2) AS v FROM generate_series(1, %s) AS i) AS r ORDER BY i',
    s.name, s.x, s.y, s.rows);
END $$;
SELECT make(s) FROM shapes AS s \g /dev/null

-- 40 boxes, most between two values of the column, some open, some of one value or beyond all.
CREATE TABLE boxes (name text, box int, low text, high text);
CREATE FUNCTION choose(s shapes) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format(
    'WITH v AS (SELECT x::text AS x, row_number() OVER (ORDER BY x) - 1 AS at, count(*) OVER () AS n FROM %1$I WHERE x IS NOT NULL),
     b AS (SELECT b, floor(u(b, 5) * (SELECT max(n) FROM v)) AS one, floor(u(b, 6) * (SELECT max(n) FROM v)) AS other
           FROM generate_series(1, 40) AS b)
     INSERT INTO boxes SELECT %1$L, b, CASE WHEN b %% 10 <> 1 THEN l.x END,
       CASE WHEN b %% 10 = 3 THEN l.x WHEN b %% 10 <> 2 THEN h.x END
     FROM b JOIN v AS l ON l.at = least(one, other) JOIN v AS h ON h.at = greatest(one, other)', s.name);
END $$;
SELECT choose(s) FROM shapes AS s \g /dev/null

CREATE TABLE asked (confidence float8, changed float8);
INSERT INTO asked SELECT c, k FROM unnest('{0.5,0.95,0.999}'::float8[]) AS c, unnest('{0,7,1e6}'::float8[]) AS k;

-- One density over all boxes. side: SQL of the box's lower and upper arguments.
CREATE FUNCTION record(s shapes, form text, density text, lower_sql text, upper_sql text, measure text)
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  target text;
BEGIN
  FOREACH target IN ARRAY ARRAY['count', 'sum', 'avg', 'variance'] LOOP
    CONTINUE WHEN target = 'sum' AND measure IS NULL AND s.type IN ('timestamptz', 'date');
    CONTINUE WHEN measure IS NULL AND target <> 'count' AND (s.name = 'special' OR form LIKE '% words');
    RETURN QUERY EXECUTE format(
      'SELECT concat_ws(''|'', %1$L, %2$L, box, %3$L, %8$L, confidence, changed, a.estimate, a.lower_bound, a.upper_bound)
       FROM (SELECT box, %4$s AS low, %5$s AS high FROM boxes WHERE name = %1$L OFFSET 0) AS b, asked,
         approx_%3$s_ci(%6$s, low, high, measure => %7$L, confidence => confidence, changed_rows => changed) AS a
       ORDER BY box, confidence, changed',
      s.name, form, target, lower_sql, upper_sql, density, measure, coalesce(measure, '-'));
  END LOOP;
END $$;

CREATE FUNCTION record_quantiles(s shapes, form text, density text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY EXECUTE format(
    'SELECT concat_ws(''|'', %L, %L, q, ''quantile'', ''-'', confidence, changed, a.estimate, a.lower_bound, a.upper_bound)
     FROM unnest(''{0,0.001,0.1,0.5,0.77,0.99,1}''::float8[]) AS q, asked,
       approx_quantile_ci(%s, q, confidence => confidence, changed_rows => changed) AS a
     ORDER BY q, confidence, changed', s.name, form, density);
END $$;

CREATE FUNCTION record_groups(s shapes, form text, density text, lower_sql text, upper_sql text)
RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY EXECUTE format(
    'SELECT concat_ws(''|'', %1$L, %2$L, box, ''groups'', confidence, changed, a)
     FROM (SELECT box, %3$s AS low, %4$s AS high FROM boxes WHERE name = %1$L OFFSET 0) AS b, asked,
       approx_groups(%5$s, low, high, measure => ''y'', confidence => confidence, changed_rows => changed) AS a
     ORDER BY box, confidence, changed, a.group_key, a.groups', s.name, form, lower_sql, upper_sql, density);
END $$;

CREATE FUNCTION record(s shapes) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  low text := format('low::%s', s.type);
  high text := format('high::%s', s.type);
  name text := format('answers_recorded.%I', s.name);
  how text;
  form text;
  sample bigint;
  is_finite boolean := s.name <> 'special';
BEGIN
  FOR form, sample IN VALUES ('whole', -1), ('sampled', 2000), ('blocks', NULL) LOOP
    PERFORM set_config('kde_aqp.sample_blocks', CASE form WHEN 'blocks' THEN '40' ELSE '10000' END, true);
    PERFORM kde_fit(name, 'x', sample_rows => sample, seed => 1);
    RETURN QUERY SELECT record(s, form, quote_literal(name || '.x'), low, high, NULL);
    IF is_finite THEN
      RETURN QUERY SELECT record_quantiles(s, form, quote_literal(name || '.x'));
    END IF;
    FOREACH how IN ARRAY ARRAY['lscv', 'silverman'] LOOP
      CONTINUE WHEN s.name IN ('constant', 'special', 'vast', 'tiny', 'handful');
      PERFORM kde_fit(name, 'x', method => how, sample_rows => sample, seed => 1);
      RETURN QUERY SELECT record(s, form || ' ' || how, quote_literal(name || '.x'), low, high, NULL);
    END LOOP;
    PERFORM kde_fit(name, 'x', measures => '{y}', sample_rows => sample, seed => 1);
    RETURN QUERY SELECT record(s, form || ' measured', quote_literal(name || '.x'), low, high, 'y');
    IF form <> 'sampled' THEN
      PERFORM kde_fit(name, 'x', measures => '{y}', group_by => 'c', sample_rows => sample, seed => 1);
      RETURN QUERY SELECT record_groups(s, form || ' groups', quote_literal(name || '.x by c'), low, high);
      PERFORM kde_fit(name, 'c', measures => '{y}', sample_rows => sample, seed => 1);
      RETURN QUERY SELECT record(s, form || ' words', quote_literal(name || '.c'),
        'ARRAY[chr(97 + box % 14), chr(97 + box % 5)]', 'NULL::text[]', m) FROM unnest('{NULL,y}'::text[]) AS m;
    END IF;
    CONTINUE WHEN s.name IN ('special', 'constant', 'vast');
    PERFORM kde_fit(name, '{x,y}'::text[], sample_rows => NULLIF(sample, -1), seed => 1);
    RETURN QUERY SELECT record(s, form || ' joint', quote_literal(name || ' (x, y)'),
      'ARRAY[low, NULL]', 'ARRAY[high, NULL]', m) FROM unnest('{x,y}'::text[]) AS m
      WHERE m <> 'x' OR s.type NOT IN ('timestamptz', 'date');
    PERFORM kde_fit(name, '{x,y,c}'::text[], sample_rows => NULLIF(sample, -1), seed => 1);
    RETURN QUERY SELECT record(s, form || ' joint words', quote_literal(name || ' (x, y, c)'),
      'ARRAY[low, NULL, chr(97 + box % 14)]', 'ARRAY[high, NULL, NULL]', 'y');
  END LOOP;
END $$;
SELECT record(s) FROM shapes AS s ORDER BY name;
