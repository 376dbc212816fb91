-- Plain SQL on a tree that changes, checked by the exact plan in the same statement.
\set number random(1, 5)
SELECT load.ask_growing(:number);
