-- Consent that comes and goes, fits and refreshes of what is there, drops that are taken back or not. All are
-- dropped together, so that the order of refreshes stays that of the fits.
SELECT load.withdraw_consent();
BEGIN;
SELECT state FROM load.state WHERE name = 'plain' FOR UPDATE;
SELECT load.fit_plain();
SELECT kde_set_plain_sql('plain.v', true), kde_set_plain_sql('plain.w', true), kde_set_plain_sql('plain.day by (kind)', true);
COMMIT;
\sleep 20 ms
SELECT * FROM kde_refresh('plain', force => true);
BEGIN;
SELECT state FROM load.state WHERE name = 'plain' FOR UPDATE;
SELECT load.drop_plain();
SAVEPOINT dropped;
DELETE FROM plain WHERE v > 10;
SELECT load.fit_plain();
ROLLBACK TO dropped;
SELECT load.fit_plain();
SELECT kde_set_plain_sql('plain.v', true), kde_set_plain_sql('plain.w', true), kde_set_plain_sql('plain.day by (kind)', true);
COMMIT;
\sleep 20 ms
