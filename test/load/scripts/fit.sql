-- Fits of a larger table, all kinds.
SELECT kde_fit('big', 'x', sample_rows => 50000);
SELECT kde_fit('big', 'y', method => 'lscv', sample_rows => 20000);
SELECT kde_fit('big', ARRAY['x', 'y'], sample_rows => 2000);
SELECT kde_fit('big', 'z', sample_rows => 2000, filter => 'x > 1');
