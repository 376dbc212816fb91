-- Tables that are dropped, made, renamed: no answer at times, a wrong one never.
SELECT load.must('count of the renamed', coalesce(answered, answer), answer)
FROM load.expected, load.answer_if_there($$SELECT approx_count('renaming.v', -50, 50)$$) AS answered
WHERE name = 'renaming';
SELECT load.must('count of the dropped, by text', coalesce(answered, answer), answer)
FROM load.expected, load.answer_if_there($$SELECT approx_count('doomed.v', -50, 50)$$) AS answered
WHERE name = 'doomed';
SELECT load.must('count of the dropped, by column', coalesce(answered, answer), answer)
FROM load.expected, load.answer_if_there($$SELECT approx_count('doomed.v', -50, 50)$$) AS answered
WHERE name = 'doomed';
