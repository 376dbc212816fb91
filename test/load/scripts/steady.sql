-- Densities that nobody refits, by text, by column, as a value, of several columns.
SELECT load.must('count by text', approx_count('steady.v', -50, 50), answer),
       load.must('count by column', approx_count('steady.v', -50, 50), answer),
       load.must('count of a value', (SELECT approx_count(density, -50, 50) FROM load.kept), answer),
       load.must('count after reloading', approx_count('reloaded.v', -50, 50),
                 (SELECT answer FROM load.expected WHERE name = 'reloaded' AND question = 'count'))
FROM load.expected WHERE name = 'steady' AND question = 'count';
SELECT load.must('box', approx_count('steady (w, v)', lower => ARRAY[3, 0], upper => ARRAY[30, 5]), answer)
FROM load.expected WHERE name = 'steady' AND question = 'box';
