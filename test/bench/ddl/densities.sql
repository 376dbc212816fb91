-- 100 densities, of tables that nobody alters.
DO $$
BEGIN
  FOR i IN 1 .. 50 LOOP
    EXECUTE format('CREATE TABLE mine_%s AS SELECT sqrt(i) AS a, i %% 7 AS b FROM generate_series(1, 200) AS i', i);
    PERFORM kde_fit(format('mine_%s', i)::regclass, 'a', method => 'silverman', seed => 1),
      kde_fit(format('mine_%s', i)::regclass, 'b', method => 'silverman', seed => 1);
  END LOOP;
END $$;
