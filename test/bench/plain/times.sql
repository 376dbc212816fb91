-- The statements of a table panel(id, tool, query), read by asked.sql, too, by the exact plan and by densities by turns.
CREATE FUNCTION rows_of(query text, way text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  result jsonb;
BEGIN
  PERFORM set_config('kde_aqp.approximate', way, true);
  EXECUTE format('SELECT jsonb_agg(to_jsonb(r) ORDER BY r::text) FROM (%s) AS r', query) INTO result;
  RETURN result;
END $$;
-- The largest of the numbers' differences, as a share; other values must be the same. NULL: they, or the rows, are not.
CREATE FUNCTION off_by(query text) RETURNS double precision LANGUAGE sql AS $$
  SELECT CASE WHEN bool_and(e.row IS NOT NULL AND g.row IS NOT NULL AND (x.value = (g.row -> x.key) OR jsonb_typeof(x.value) = 'number' AND jsonb_typeof(g.row -> x.key) = 'number'))
      THEN max(CASE WHEN x.value = (g.row -> x.key) THEN 0 ELSE abs((g.row ->> x.key)::double precision / nullif((x.value #>> '{}')::double precision, 0) - 1) END) END
  FROM jsonb_array_elements(rows_of(query, 'off')) WITH ORDINALITY AS e(row, i) FULL JOIN jsonb_array_elements(rows_of(query, 'all')) WITH ORDINALITY AS g(row, i) USING (i)
  LEFT JOIN LATERAL jsonb_each(e.row) AS x ON true $$;
CREATE FUNCTION time_of(query text, way text) RETURNS double precision LANGUAGE plpgsql AS $$
DECLARE
  began timestamptz;
BEGIN
  PERFORM set_config('kde_aqp.approximate', way, true);
  began := clock_timestamp();
  EXECUTE query;
  RETURN 1000 * extract(epoch FROM clock_timestamp() - began);
END $$;
CREATE TABLE timed (id integer, tool text, exact_ms double precision, density_ms double precision, off_by double precision, why text);
-- Densities do not answer what a statement keeps, as INSERT and CREATE TABLE AS do.
CREATE FUNCTION time_all(relation text, runs integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  p record;
  exact double precision[];
  fast double precision[];
  off_by double precision;
  why text;
BEGIN
  TRUNCATE timed;
  FOR p IN SELECT * FROM panel ORDER BY panel.id LOOP
    exact := '{}';
    fast := '{}';
    FOR i IN 1 .. runs LOOP
      exact := exact || time_of(p.query, 'off');
      fast := fast || time_of(p.query, 'all');
    END LOOP;
    off_by := off_by(p.query);
    why := why_exact(p.query, relation);
    INSERT INTO timed SELECT p.id, p.tool, percentile_cont(0.5) WITHIN GROUP (ORDER BY x), percentile_cont(0.5) WITHIN GROUP (ORDER BY y), off_by, why FROM unnest(exact, fast) AS u(x, y);
  END LOOP;
END $$;
