-- Plain SQL of a table that is dropped, made, renamed, within a function: no answer at times, a wrong one never.
SET kde_aqp.approximate = 'all';
SELECT load.must('count of the shifting', coalesce(answered, 500), 500)
FROM load.answer_if_there('SELECT count(*) FROM shifting WHERE v < 50') AS answered;
SELECT load.must('sum of the shifting', coalesce(answered, 12250), 12250)
FROM load.answer_if_there('SELECT sum(v) FROM shifting WHERE v < 50') AS answered;
