-- Of the queries of a table panel(id, tool, query): who answers each, and whether as the exact plan does.
-- The rows in their order, where the query has one.
CREATE FUNCTION rows_in_order(query text, way text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  result text[];
BEGIN
  PERFORM set_config('kde_aqp.approximate', way, true);
  EXECUTE format('SELECT array_agg(r::text%s) FROM (%s) AS r', CASE WHEN query !~* 'ORDER BY [^()]*$' THEN ' ORDER BY r::text' END, query) INTO result;
  RETURN result;
END $$;
-- Null where nothing but blocks that changed is read of the relation; else why the exact plan answers, as it says
-- when it runs.
CREATE FUNCTION why_exact(query text, relation text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  line text;
  why text;
  reads boolean := false;
  answers boolean := false;
BEGIN
  PERFORM set_config('kde_aqp.approximate', 'all', true);
  FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
    answers := answers OR line LIKE '%KdeAqp%';
    why := coalesce(why, substring(line FROM 'Answered: by the exact plan: (.*)'));
    reads := reads OR (line ~ ('Scan.* on ' || relation) AND line !~ 'never executed|Tid');
  END LOOP;
  IF answers AND NOT reads THEN RETURN NULL; END IF;
  -- Of the query, else of the density that is nearest.
  RETURN coalesce(why, (SELECT e.reason FROM kde_explain_query(query) WITH ORDINALITY AS e WHERE NOT e.answers ORDER BY e.density IS NOT NULL, e.ordinality LIMIT 1), 'no density');
END $$;
CREATE FUNCTION ask(step text, relation text, tells boolean = false) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  p record;
  answered integer := 0;
  same integer := 0;
  got text[];
  exact text[];
  why text;
  n integer := 0;
BEGIN
  FOR p IN SELECT * FROM panel ORDER BY id LOOP
    exact := rows_in_order(p.query, 'off');
    got := rows_in_order(p.query, 'all');
    why := why_exact(p.query, relation);
    n := n + 1;
    answered := answered + (why IS NULL)::integer;
    IF got IS NOT DISTINCT FROM exact THEN same := same + (why IS NULL)::integer;
    ELSE RETURN NEXT format('not as the exact plan has it, panel %s: %s for %s: %s', p.id, (SELECT min(x) FROM unnest(got) AS x WHERE x <> ALL (exact)), (SELECT min(x) FROM unnest(exact) AS x WHERE x <> ALL (got)), p.query);
    END IF;
    IF why IS NOT NULL AND tells THEN
      RETURN NEXT format('exact, panel %s of %s: %s', p.id, p.tool, why);
    END IF;
  END LOOP;
  RETURN NEXT format('%s: %s of %s answered, %s of these as the exact plan has it', step, answered, n, same);
END $$;
