-- How each density was made, from what kde_fit reported.
SELECT relation || '.' || array_to_string(column_names, ', ') AS "column",
       lpad(demo.show_significant(bandwidth), 9) AS bandwidth,
       lpad(trim(to_char(rows_read, '999,999,999,999')), 10) AS " rows read",
       lpad(trim(to_char(sample_rows, '999,999,999,999')), 11) AS "sample rows",
       lpad(pg_size_pretty(bytes::bigint), 9) AS "   stored",
       lpad(demo.show_us(scan_ms * 1e3), 8) AS "    scan",
       lpad(demo.show_us(select_ms * 1e3), 9) AS selection,
       lpad(demo.show_us(estimate_ms * 1e3), 8) AS estimate,
       lpad(demo.show_us(total_ms * 1e3), 8) AS "   total"
FROM demo.fits;
\echo What was chosen, and its error beside the sample''s:
\pset tuples_only on
\pset format unaligned
SELECT format('%s.%s: %s', relation, array_to_string(column_names, ', '), model) FROM demo.fits;
\echo
