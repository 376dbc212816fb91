-- The same content fitted anew: dropped first, replaced, and both rolled back, whole or to a savepoint. The order
-- of the densities is that of the first fits: two transactions that fit several must agree on one.
BEGIN;
SELECT state FROM load.state WHERE name = 'alternating' FOR UPDATE;
SELECT kde_drop('alternating.v'), kde_drop('alternating.d'), kde_drop('alternating (v, w)');
SELECT load.fit_alternating();
COMMIT;
BEGIN;
SELECT state FROM load.state WHERE name = 'alternating' FOR UPDATE;
DELETE FROM alternating WHERE w > 3;
SELECT load.fit_alternating();
ROLLBACK;
BEGIN;
SELECT state FROM load.state WHERE name = 'alternating' FOR UPDATE;
SAVEPOINT half;
DELETE FROM alternating WHERE w > 3;
SELECT load.fit_alternating();
ROLLBACK TO half;
SELECT load.fit_alternating();
COMMIT;
