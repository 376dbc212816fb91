-- A density for each of many groups beside avg() and a t-digest: in memory (hashed, work_mem 4GB).
\set ON_ERROR_STOP on
SET client_min_messages = warning;
SET work_mem = '4GB';
SET enable_sort = off;
INSERT INTO bench.query (section, what, query)
  SELECT t.section, a.what, format('SELECT count(d) FROM (SELECT g, %s AS d FROM %s GROUP BY g) AS s', a.what, t.name)
  FROM (VALUES ('groups', 'bench.grouped'), ('small groups', 'bench.scattered')) AS t (section, name)
  CROSS JOIN (VALUES ('avg(x)'), ('kde_agg(x)')
\if :has_tdigest
    , ('tdigest(x, 100)')
\endif
  ) AS a (what);
CALL bench.interleave('groups', :group_runs);
CALL bench.interleave('small groups', :group_runs);

\pset tuples_only off
\echo
SELECT format('Groups: hashed in memory (work_mem 4GB), serial, interleaved, medians of %s', :group_runs) AS title \gset
\echo :title
SELECT to_char(s.groups, 'FM999,999,999') || ' groups of ' || s.rows / s.groups || ' rows' AS groups, m.what,
  round(m.ms::numeric, 1) AS "median ms", round((1000 * m.ms / s.groups)::numeric, 2) AS "us a group",
  round(bench.ratio(m.section, m.what, 'avg(x)')::numeric, 3) AS "over avg(x)"
FROM bench.median AS m JOIN (
  SELECT 'groups' AS section, count(DISTINCT g) AS groups, count(*) AS rows FROM bench.grouped
  UNION ALL SELECT 'small groups', count(DISTINCT g), count(*) FROM bench.scattered) AS s USING (section)
ORDER BY m.section, m.id;

INSERT INTO bench.bound (section, what, figure, bound, at_least, digits)
  VALUES ('groups', 'kde_agg(x) / avg(x), 1,000 rows a group', bench.ratio('groups', 'kde_agg(x)', 'avg(x)'), 3, false, 3);

-- Memory, for sessions of their own (run.sh): the plan's, and the most the process ever had, which
-- counts the shared pages it touched too.
CREATE TABLE bench.memory (id serial, groups text, work_mem text, plan text, what text, strategy text, batches integer,
  memory_kb integer, disk_kb integer, peak_kb integer, ms double precision);
CREATE FUNCTION bench.measure_memory(name text, relation text, what text, plan text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  explained jsonb;
  node jsonb;
BEGIN
  PERFORM set_config('enable_sort', (plan <> 'hashed')::text, false);
  EXECUTE format('EXPLAIN (ANALYZE, TIMING off, FORMAT JSON)
    SELECT count(d) FROM (SELECT g, %s AS d FROM %s GROUP BY g) AS s', what, relation) INTO explained;
  node := jsonb_path_query_first(explained, '$.** ? (exists(@."Group Key"))');
  INSERT INTO bench.memory (groups, work_mem, plan, what, strategy, batches, memory_kb, disk_kb, peak_kb, ms)
  VALUES (name, current_setting('work_mem'), plan, what, node ->> 'Strategy', (node ->> 'HashAgg Batches')::integer,
    (node ->> 'Peak Memory Usage')::integer, (node ->> 'Disk Usage')::integer,
    substring(pg_read_file('/proc/self/status') FROM 'VmHWM:\s+(\d+) kB')::integer,
    (explained -> 0 ->> 'Execution Time')::double precision);
END $$;
