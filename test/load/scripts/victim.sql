-- A fit of seconds, to be cancelled or terminated.
SET kde_aqp.simd = 'reference';
SELECT kde_fit('big', 'x', method => 'plugin', exact => true, filter => 'z > 1');
