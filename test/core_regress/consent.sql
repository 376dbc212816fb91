-- Densities of every row of the tables that came since the last time, with their owner's consent: of each
-- column with others as measures, and of the first with each other as groups. What cannot be fitted is left out.
SET client_min_messages = error;
DO $$
DECLARE
  t regclass;
  columns name[];
  ranges name[];
  numbers name[];
  c name;
BEGIN
  FOR t, columns, ranges, numbers IN
    SELECT r.oid::regclass, array_agg(attname ORDER BY attnum),
      array_agg(attname ORDER BY attnum) FILTER (WHERE typcategory IN ('N', 'D', 'T') AND atttypid <> 'oid'::regtype),
      coalesce(array_agg(attname ORDER BY attnum) FILTER (WHERE typcategory = 'N' AND atttypid <> ALL ('{oid,money,regproc,regclass}'::regtype[])), '{}')
    FROM pg_class AS r JOIN pg_attribute AS a ON attrelid = r.oid JOIN pg_type AS y ON y.oid = atttypid
    WHERE relkind IN ('r', 'p', 'm') AND relpersistence <> 't' AND attnum > 0 AND NOT attisdropped AND
      relnamespace <> ALL ('{pg_catalog,information_schema,kde_aqp}'::regnamespace[]) AND
      r.oid NOT IN (SELECT relation FROM public.kde_densities_full)
    GROUP BY r.oid ORDER BY r.oid
  LOOP
    FOREACH c IN ARRAY coalesce(ranges, '{}') LOOP
      BEGIN
        PERFORM public.kde_fit(t, c, sample_rows => -1, measures => (array_remove(numbers, c))[1:8]::text[]);
      EXCEPTION WHEN OTHERS THEN
      END;
    END LOOP;
    FOREACH c IN ARRAY columns LOOP
      BEGIN
        PERFORM public.kde_fit(t, ranges[1], sample_rows => -1, measures => (array_remove(numbers, ranges[1]))[1:4]::text[],
          group_by => quote_ident(c));
      EXCEPTION WHEN OTHERS THEN
      END;
    END LOOP;
  END LOOP;
  FOR t, c IN SELECT relation, name FROM public.kde_densities_full WHERE NOT plain_sql LOOP
    BEGIN
      PERFORM public.kde_set_plain_sql(c, true);
    EXCEPTION WHEN OTHERS THEN
    END;
  END LOOP;
END $$;
