-- What sessions of their own noted (bench.measure_memory).
\pset tuples_only off
\echo
\echo 'Groups: memory, each query in a new session; "above avg": of the most the process ever had'
SELECT m.groups, m.work_mem, m.plan AS "asked for", m.what, m.strategy, m.batches, round(m.memory_kb / 1024.0, 1) AS "plan MB",
  round(m.disk_kb / 1024.0, 1) AS "disk MB", round(m.peak_kb / 1024.0, 1) AS "VmHWM MB",
  round((m.peak_kb - a.peak_kb) / 1024.0, 1) AS "above avg MB", round(m.ms::numeric) AS ms
FROM bench.memory AS m
LEFT JOIN bench.memory AS a ON a.what = 'avg(x)' AND (a.groups, a.work_mem, a.plan) = (m.groups, m.work_mem, m.plan)
ORDER BY m.id;
