-- One snapshot over several statements: the state that the first has seen is the state of all.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT state AS seen FROM load.state WHERE name = 'alternating' \gset
SELECT load.must('count', approx_count('alternating.v', 1, 104), answer) FROM load.expected
WHERE name = 'alternating' AND state = :seen AND question = 'count';
SELECT load.must('sum', approx_sum('alternating.v', 1, 104), answer) FROM load.expected
WHERE name = 'alternating' AND state = :seen AND question = 'sum';
SELECT load.must('box', approx_count('alternating (v, w)', lower => ARRAY[1, 3], upper => ARRAY[104, 30]), answer)
FROM load.expected WHERE name = 'alternating' AND state = :seen AND question = 'box';
SELECT load.must('count again', approx_count('alternating.v', 1, 104), answer) FROM load.expected
WHERE name = 'alternating' AND state = :seen AND question = 'count';
COMMIT;
