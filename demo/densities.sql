-- How each density was made, from what kde_fit reported.
SELECT relation || '.' || array_to_string(column_names, ', ') AS "column",
       method,
       lpad(demo.show_significant(bandwidth), 12) AS "   bandwidth",
       lpad(trim(to_char(rows, '999,999,999,999')), 12) AS "        rows",
       lpad(trim(to_char(rows_read, '999,999,999,999')), 12) AS "   rows read",
       lpad(trim(to_char(sample_rows, '999,999,999,999')), 11) AS "sample rows",
       lpad(pg_size_pretty(bytes::bigint), 10) AS "    stored",
       engine,
       threads,
       lpad(demo.show_us(scan_ms * 1e3), 9) AS "     scan",
       lpad(demo.show_us(select_ms * 1e3), 9) AS "selection",
       lpad(demo.show_us(estimate_ms * 1e3), 9) AS " estimate",
       lpad(demo.show_us(total_ms * 1e3), 9) AS "    total"
FROM demo.fits;
SELECT relation || '.' || array_to_string(column_names, ', ') AS "column",
       model AS "what was chosen, and its error beside the sample's"
FROM demo.fits;
