-- One statement: every answer belongs to the state that the statement's snapshot sees.
SELECT bool_and(load.must(a.question, a.answer, e.answer))
FROM load.answers AS a
JOIN load.expected AS e ON e.name = 'alternating' AND e.question = a.question
JOIN load.state AS s ON s.name = 'alternating' AND s.state = e.state;
