-- The t-digest of a column and what it answers, for scripts that have the tables `measured` and
-- `range` (comparators.sql). has_tdigest is set to whether the server has the extension.
SELECT count(*) > 0 AS has_tdigest FROM pg_available_extensions WHERE name = 'tdigest' \gset
\if :has_tdigest
CREATE EXTENSION IF NOT EXISTS tdigest;

-- The column as numbers; dates and timestamps as seconds since 1970.
CREATE FUNCTION as_number(c measured) RETURNS text LANGUAGE sql AS $$
  SELECT CASE WHEN c.type IN ('date', 'timestamp', 'timestamptz')
    THEN format('extract(epoch FROM %I)::double precision', c.column_name)
    ELSE format('%I::double precision', c.column_name) END
$$;

-- Of the compressions 10 .. 10000 that it allows, the largest that fits.
CREATE FUNCTION digest_within(c measured) RETURNS tdigest LANGUAGE plpgsql AS $$
DECLARE
  fits integer := 10;
  too_large integer := 10001;
  middle integer;
  digest tdigest;
  best tdigest;
  make text := format('SELECT tdigest(%s, $1) FROM %s WHERE %I IS NOT NULL', as_number(c),
    c.relation, c.column_name);
BEGIN
  EXECUTE make INTO best USING fits;
  WHILE too_large - fits > 1 LOOP
    -- In a ratio: the size is about proportional to the compression.
    middle := greatest(fits + 1, least(too_large - 1, sqrt(fits::float8 * too_large)::integer));
    EXECUTE make INTO digest USING middle;
    IF pg_column_size(digest) <= c.bytes THEN
      fits := middle;
      best := digest;
    ELSE
      too_large := middle;
    END IF;
  END LOOP;
  RETURN best;
END $$;

-- Its own sum counts all of a centroid that is wider than the range; count times mean is closer to
-- the truth.
CREATE FUNCTION digest_answers(digest tdigest, asked integer)
RETURNS TABLE (range_id integer, count double precision, sum double precision, mean double precision)
LANGUAGE sql AS $$
  SELECT a.range_id, a.count, coalesce(a.count * a.mean, 0), a.mean
  FROM (SELECT r.range_id, tdigest_count(digest) * (s.share[2] - s.share[1]) AS count,
          CASE WHEN s.share[1] < s.share[2] THEN tdigest_digest_avg(digest, s.share[1], s.share[2])
               END AS mean
        FROM range AS r CROSS JOIN LATERAL (
          SELECT tdigest_percentile_of(one.digest, ARRAY[r.low_x, r.high_x]) AS share
          FROM (SELECT digest) AS one) AS s
        WHERE r.column_id = asked) AS a
$$;
\endif
