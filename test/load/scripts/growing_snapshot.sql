-- The same under one snapshot, which others' changes leave behind. A leaf that comes or goes does so for every snapshot.
\set number random(1, 5)
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT load.ask_growing(:number);
\sleep 50 ms
SELECT load.ask_growing(:number);
COMMIT;
