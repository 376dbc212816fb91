-- What leak.sh measures with: a backend's memory, answers inside a function, fits that are dropped.
-- What a session remembers of stale densities grows to a thousand entries, is emptied and grows again: apart.
\set ON_ERROR_STOP on
SET client_min_messages = warning;
CREATE FUNCTION load.memory() RETURNS text LANGUAGE sql AS $$
  SELECT format('%s|%s|%s', (SELECT sum(total_bytes) FROM pg_backend_memory_contexts WHERE name <> 'kde_aqp staleness'),
    (SELECT coalesce(sum(total_bytes), 0) FROM pg_backend_memory_contexts WHERE name = 'kde_aqp staleness'),
    1024 * substring(pg_read_file('/proc/' || pg_backend_pid() || '/status') FROM 'RssAnon:\s*(\d+)')::bigint)
$$;
-- Each kind in turn; the names are looked up anew by every statement.
CREATE FUNCTION load.ask(n integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1 .. n / 10 LOOP
    PERFORM approx_count('steady.v', 1, i % 10);
    PERFORM approx_sum('steady.v', 1, i % 10);
    PERFORM approx_avg('steady.v', 1, i % 10);
    PERFORM approx_quantile('steady.v', (i % 10) / 10.0);
    PERFORM approx_count(density, 1, 5) FROM load.kept;
    PERFORM lower_bound FROM approx_count_ci('steady.v', 1, i % 10);
    PERFORM approx_count('steady (v, w)', lower => ARRAY[0, 1], upper => ARRAY[i % 10, 30]);
    PERFORM approx_sum('steady (w)', measure => 'v', lower => ARRAY[1], upper => ARRAY[i % 10]);
    PERFORM approx_count('reloaded.v', numrange(0, i % 10));
    PERFORM sum(count) FROM approx_histogram('steady.v', 10);
  END LOOP;
END $$;

-- Fits of small tables, asked and dropped, while the cache is too small for what is asked beside.
CREATE TABLE small AS SELECT sin(i) AS v, i % 5 AS w, cos(i) AS u FROM generate_series(1, 100) AS i;
SELECT format('CREATE TABLE many AS SELECT %s FROM generate_series(1, 2000) AS i',
  string_agg(format('exp(hashint4(i) / (3e8 + 1e6 * %s)) AS c%s', c, c), ', ')) FROM generate_series(1, 40) AS c \gexec
\o /dev/null
SELECT kde_fit('many', 'c' || c, seed => 1) FROM generate_series(1, 40) AS c;
\o
CREATE PROCEDURE load.fit_and_drop(n integer) LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1 .. n LOOP
    IF i % 10 = 0 THEN
      PERFORM kde_fit('small', ARRAY['v', 'u'], seed => i);
      PERFORM approx_count('small (u)', lower => ARRAY[0], upper => ARRAY[1]);
      PERFORM kde_drop('small (v, u)');
    ELSE
      PERFORM kde_fit('small', CASE WHEN i % 2 = 0 THEN 'v' ELSE 'w' END, seed => i);
      PERFORM approx_count('small.' || CASE WHEN i % 2 = 0 THEN 'v' ELSE 'w' END, 0, 1);
      PERFORM kde_drop('small.' || CASE WHEN i % 2 = 0 THEN 'v' ELSE 'w' END);
    END IF;
    PERFORM approx_count('many.c' || 1 + i % 40, 1, 2), approx_avg('many.c' || 1 + i * 7 % 40, 1, 2);
    COMMIT;
  END LOOP;
END $$;
