-- Fits of 100,000 and of 1,000,000 values.
SELECT kde_fit('large', 'x', sample_rows => 100000);
SELECT kde_fit('large', 'x', sample_rows => 1000000);
