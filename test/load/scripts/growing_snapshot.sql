-- The same under one snapshot, which others' changes leave behind.
\set number random(1, 5)
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT hashtext(load.ask_growing(:number)) AS before \gset
\sleep 50 ms
SELECT load.must('plain SQL of a tree that changes', hashtext(load.ask_growing(:number)), :before);
COMMIT;
