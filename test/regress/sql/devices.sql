-- What would compute a fit. The same with a graphics card and without: what there is of one is
-- tested over a fake in test/t.

SELECT status, in_use, threads > 0 AS threads, array_length(instruction_sets, 1) > 0 AS sets,
  name IS NULL AND capability IS NULL AND memory IS NULL AND memory_used IS NULL
    AND jobs IS NULL AND busy_ms IS NULL AND last_error IS NULL AS no_card
FROM kde_devices() WHERE device = 'cpu';

-- Where the processor alone is to compute, nothing else is listed.
SET kde_aqp.device = 'cpu';
SELECT device FROM kde_devices();
SET kde_aqp.device = 'opencl';

-- The same bandwidth, whether there is a card or not.
SET client_min_messages = 'error';
CREATE TABLE by_device (device text, line float8, line_single float8, matrix float8[]);
CREATE TABLE sample AS
SELECT array_agg(ln(i) * 10 + sin(i)) AS x,
  array_agg(ARRAY[ln(i) * 10 + sin(i), cos(i * 1.7)]) AS points
FROM generate_series(1, 800) AS i;
CREATE FUNCTION measure(wanted text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('kde_aqp.device', wanted, false);
  INSERT INTO by_device SELECT wanted, kde_bandwidth(x, exact => true), NULL,
    kde_bandwidth_matrix(points, 'lscv') FROM sample;
  PERFORM set_config('kde_aqp.precision', 'single', false);
  UPDATE by_device SET line_single = (SELECT kde_bandwidth(x, exact => true) FROM sample)
    WHERE device = wanted;
  PERFORM set_config('kde_aqp.precision', 'double', false);
END $$;
SELECT measure('cpu'), measure('auto'), measure('cuda');
RESET client_min_messages;
SELECT b.device, abs(b.line / c.line - 1) < 1e-9 AS line,
  abs(b.line_single / c.line - 1) < 1e-5 AS line_single,
  abs(b.matrix[1][1] / c.matrix[1][1] - 1) < 1e-7 AS matrix
FROM by_device AS b JOIN by_device AS c ON c.device = 'cpu' ORDER BY b.device;
RESET kde_aqp.device;
RESET kde_aqp.precision;

-- How much of a card the server takes is the configuration's.
SET kde_aqp.gpu_memory_limit = '1GB';
SET kde_aqp.gpu_max_jobs = 1;
SHOW kde_aqp.gpu_max_jobs;

DROP FUNCTION measure(text);
DROP TABLE by_device, sample;
