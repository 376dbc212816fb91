-- Every figure beside what is asked for.
\pset tuples_only off
\echo
\echo 'Summary'
SELECT section, what, coalesce(to_char(figure, 'FM999999990' || CASE WHEN digits > 0 THEN '.' || repeat('0', digits) ELSE '' END), '-') AS figure,
  CASE WHEN at_least THEN '>= ' ELSE '<= ' END || bound AS bound,
  CASE WHEN figure IS NULL THEN '-' WHEN figure = bound OR (figure > bound) = at_least THEN 'ok' ELSE 'SHORT' END AS verdict,
  note
FROM bench.bound ORDER BY id;
