-- The shortest statement that can be wrong: two answers and the state, by name alone.
SELECT load.must('count', approx_count('alternating.v', 1, 104), c.answer), load.must('sum', approx_sum('alternating.v', 1, 104), t.answer)
FROM load.state AS s, load.expected AS c, load.expected AS t
WHERE s.name = 'alternating' AND c.name = s.name AND c.state = s.state AND c.question = 'count'
  AND t.name = s.name AND t.state = s.state AND t.question = 'sum';
