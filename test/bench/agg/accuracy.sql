-- Errors of kde_agg beside those of a t-digest of the same bytes, on every column of column_of and
-- every range of `range`. Before this go the tables and these two (accuracy_script.cpp),
--   measured(column_id, relation, column_name, type, bytes, rows)    column_of for every size
-- and test/accuracy/digest.sql. What an error is: test/accuracy/errors.h.
\set ON_ERROR_STOP on

CREATE FUNCTION aggregate_of(c measured) RETURNS kde LANGUAGE plpgsql AS $$
DECLARE
  d kde;
BEGIN
  EXECUTE format('SELECT kde_agg(%I, ''auto'', 1, $1) FROM %s', c.column_name, c.relation)
    INTO d USING c.bytes;
  RETURN d;
END $$;

CREATE FUNCTION aggregate_answers(d kde, c measured)
RETURNS TABLE (range_id integer, count double precision, sum double precision, mean double precision)
LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY EXECUTE format(
    'SELECT r.range_id, approx_count($1, r.low::%1$s, r.high::%1$s),
       approx_sum($1, r.low::%1$s, r.high::%1$s), approx_avg($1, r.low::%1$s, r.high::%1$s)
     FROM range AS r WHERE r.column_id = $2', c.type) USING d, c.column_id;
END $$;

CREATE TABLE answer AS
  SELECT 'kde_agg' AS who, m.column_id, m.bytes, pg_column_size(one.d) AS taken, a.*
  FROM measured AS m CROSS JOIN LATERAL (SELECT aggregate_of(m) AS d OFFSET 0) AS one
  CROSS JOIN LATERAL aggregate_answers(one.d, m) AS a;
\if :has_tdigest
INSERT INTO answer
  SELECT 't-digest', m.column_id, m.bytes, pg_column_size(one.d), a.*
  FROM measured AS m CROSS JOIN LATERAL (SELECT digest_within(m) AS d OFFSET 0) AS one
  CROSS JOIN LATERAL digest_answers(one.d, m.column_id) AS a;
\endif

CREATE TABLE error AS
  SELECT a.who, a.column_id, a.bytes, a.taken, q.quantity, q.error
  FROM answer AS a JOIN range AS r USING (column_id, range_id)
  CROSS JOIN LATERAL (VALUES
    ('COUNT', abs(a.count - r.rows) / nullif(r.rows, 0)),
    ('SUM', abs(a.sum - r.sum) / nullif(r.absolute_sum, 0)),
    ('AVG', abs(coalesce(a.mean, (r.low_x + r.high_x) / 2) - r.mean) / nullif(r.deviation, 0)))
    AS q (quantity, error)
  WHERE q.error IS NOT NULL AND q.error <> 'NaN';

-- Exact: nothing but the rounding of the last digits of an answer.
CREATE TABLE compared AS
  SELECT c.relation::text || '.' || c.column_name AS name, c.distinct_values, e.*,
    ours_largest < 1e-9 AS exact, ours / nullif(theirs, 0) AS ratio
  FROM (SELECT column_id, bytes, quantity,
          max(taken) FILTER (WHERE who = 'kde_agg') AS our_bytes,
          max(taken) FILTER (WHERE who = 't-digest') AS their_bytes,
          avg(error) FILTER (WHERE who = 'kde_agg') AS ours,
          max(error) FILTER (WHERE who = 'kde_agg') AS ours_largest,
          avg(error) FILTER (WHERE who = 't-digest') AS theirs
        FROM error GROUP BY column_id, bytes, quantity) AS e
  JOIN column_of AS c USING (column_id);

CREATE FUNCTION percent(x double precision) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN x IS NULL THEN '-' WHEN x < 1e-9 THEN 'exact'
    ELSE to_char(100 * x, 'FM9999990.0000') END
$$;
CREATE FUNCTION ratio_text(exact boolean, ours double precision, theirs double precision)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN exact THEN 'exact' WHEN theirs IS NULL THEN '-'
    WHEN theirs = 0 THEN 'inf' ELSE to_char(ours / theirs, 'FM9990.000') END
$$;

\pset format aligned
\pset tuples_only off
\pset border 1
\pset footer off
\echo
\echo 'Mean errors in percent over at most 400 ranges of 0.3 to 10 % of the rows, every row read; ratio: kde_agg over t-digest'
SELECT bytes AS allowed, name AS "column", distinct_values AS "distinct", max(our_bytes) AS "bytes",
  max(their_bytes) AS "t-digest's",
  max(percent(ours)) FILTER (WHERE quantity = 'COUNT') AS "COUNT",
  max(percent(theirs)) FILTER (WHERE quantity = 'COUNT') AS "t-digest",
  max(ratio_text(exact, ours, theirs)) FILTER (WHERE quantity = 'COUNT') AS "ratio",
  max(percent(ours)) FILTER (WHERE quantity = 'SUM') AS "SUM",
  max(percent(theirs)) FILTER (WHERE quantity = 'SUM') AS "t-digest ",
  max(ratio_text(exact, ours, theirs)) FILTER (WHERE quantity = 'SUM') AS "ratio ",
  max(percent(ours)) FILTER (WHERE quantity = 'AVG') AS "AVG",
  max(percent(theirs)) FILTER (WHERE quantity = 'AVG') AS "t-digest  ",
  max(ratio_text(exact, ours, theirs)) FILTER (WHERE quantity = 'AVG') AS "ratio  "
FROM compared GROUP BY compared.bytes, column_id, name, distinct_values ORDER BY allowed, column_id;

SELECT bytes, count(*) AS "columns exact in every COUNT", string_agg(name, ', ' ORDER BY column_id) AS names
FROM compared WHERE quantity = 'COUNT' AND exact GROUP BY bytes ORDER BY bytes;

-- ratio 0 of an exact answer would make a geometric mean say little: those are left out, and others
-- count as at least 1e-3, as in errors.h.
INSERT INTO bench.bound (section, what, figure, bound, at_least, digits, note)
  SELECT 'accuracy', format('%s, %s bytes: geometric mean of kde_agg / t-digest', quantity, bytes),
    exp(avg(ln(greatest(ratio, 1e-3)))), 0.5, false, 3, format('%s columns not exact', count(*))
  FROM compared WHERE NOT exact AND theirs > 0 GROUP BY quantity, bytes ORDER BY bytes, quantity;
INSERT INTO bench.bound (section, what, figure, bound, at_least, digits, note)
  SELECT DISTINCT ON (quantity, bytes) 'accuracy',
    format('%s, %s bytes: worst column of kde_agg / t-digest', quantity, bytes),
    CASE WHEN exact THEN 0 ELSE coalesce(ratio, 'Infinity') END, 1, false, 3, name
  FROM compared WHERE theirs IS NOT NULL
  ORDER BY quantity, bytes, CASE WHEN exact THEN 0 ELSE coalesce(ratio, 'Infinity') END DESC;
INSERT INTO bench.bound (section, what, figure, bound, at_least, digits, note)
  SELECT DISTINCT ON (quantity) 'accuracy',
    format('%s, 16384 bytes: largest mean error of a column, percent', quantity),
    100 * ours, 0.5, false, 4, name
  FROM compared WHERE bytes = 16384 ORDER BY quantity, ours DESC;
INSERT INTO bench.bound (section, what, figure, bound, at_least, digits, note)
  SELECT 'accuracy', format('%s bytes: columns of at most 500 distinct values that are not exact', bytes),
    count(DISTINCT column_id) FILTER (WHERE NOT exact), 0, false, 0,
    format('of %s%s', count(DISTINCT column_id),
      coalesce(': ' || string_agg(DISTINCT name, ', ') FILTER (WHERE NOT exact), ''))
  FROM compared WHERE distinct_values <= 500 GROUP BY bytes ORDER BY bytes;
