-- One answer.
\set low random(1, 5)
SELECT approx_count('steady.v', :low, 10);
