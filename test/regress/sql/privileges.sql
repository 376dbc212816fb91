-- Who may fit, ask and see: owners, readers of the column, of another column, nobody, and those
-- whom row-level security applies to.
\pset tuples_only
\pset format unaligned
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS privileges, regress_kde_hidden CASCADE;
DROP ROLE IF EXISTS regress_kde_owner, regress_kde_member, regress_kde_reader, regress_kde_column,
  regress_kde_other, regress_kde_nobody, regress_kde_policy;
CREATE SCHEMA privileges;
GRANT USAGE, CREATE ON SCHEMA privileges TO PUBLIC;
SET search_path = privileges, public;
RESET client_min_messages;

CREATE ROLE regress_kde_owner;
CREATE ROLE regress_kde_reader;
CREATE ROLE regress_kde_column;
CREATE ROLE regress_kde_other;
CREATE ROLE regress_kde_nobody;
CREATE ROLE regress_kde_policy;
CREATE ROLE regress_kde_member IN ROLE regress_kde_owner;

-- Owners need no more than the table: they fit, ask and drop.
SET ROLE regress_kde_owner;
CREATE TABLE pay AS SELECT i % 4 AS amount, i % 3 AS dept FROM generate_series(1, 120) AS i;
SELECT rows FROM kde_fit('pay', 'amount');
SELECT rows FROM kde_fit('pay', 'dept');
SELECT approx_count('pay.amount', 1, 2);
GRANT SELECT ON pay TO regress_kde_reader;
GRANT SELECT (amount) ON pay TO regress_kde_column;
GRANT SELECT (dept) ON pay TO regress_kde_other;
RESET ROLE;

-- Each of the others: asks by every form, sees the view, tries to fit and drop. A kde value already
-- had carries no privilege: it is data like any other.
CREATE TABLE values AS SELECT kde_density('pay.amount') AS d;
GRANT SELECT ON values TO PUBLIC;
CREATE FUNCTION attempt(action text, query text) RETURNS TABLE (who text, what text, result text) LANGUAGE sql AS
  'SELECT current_user::text, action, r FROM try(query) AS r';
CREATE VIEW attempts WITH (security_barrier) AS SELECT * FROM (VALUES
  (1, 'by text', $$SELECT approx_count('pay.amount', 1, 2)$$),
  (2, 'by columns', $$SELECT approx_count('pay.amount', 1, 2)$$),
  (3, 'density', $$SELECT kde_density('pay.amount') IS NOT NULL$$),
  (4, 'by value', $$SELECT approx_count(d, 1, 2) FROM values$$),
  (5, 'view', $$SELECT string_agg(column_names::text, ' ' ORDER BY column_names::text) FROM kde_densities_full WHERE relation = 'pay'::regclass$$),
  (6, 'dump', $$SELECT string_agg(column_names::text, ' ' ORDER BY column_names::text) FROM kde_aqp.dumped_densities() WHERE relation = 'pay'::regclass$$),
  (7, 'catalog', $$SELECT count(*) FROM kde_aqp.fitted$$),
  (8, 'write', $$DELETE FROM kde_aqp.density$$),
  (9, 'fit', $$SELECT kde_fit('pay', 'amount')$$),
  (10, 'drop', $$SELECT kde_drop('pay.amount')$$),
  (12, 'interval', $$SELECT approx_count_ci('pay.amount', 1, 2)$$),
  (13, 'required', $$SELECT approx_count('pay.amount', 1, 2, max_relative_error => 0, otherwise => 'exact')$$),
  (14, 'histogram', $$SELECT sum(count) FROM approx_histogram('pay.amount', 2)$$),
  (11, 'no density', $$SELECT approx_count('pay.nothing')$$)) AS v(n, action, query);
GRANT SELECT ON attempts TO PUBLIC;
SET ROLE regress_kde_reader;
SELECT a.* FROM attempts, attempt(action, query) AS a ORDER BY n;
SET ROLE regress_kde_column;
SELECT a.* FROM attempts, attempt(action, query) AS a ORDER BY n;
SET ROLE regress_kde_other;
SELECT a.* FROM attempts, attempt(action, query) AS a ORDER BY n;
SELECT approx_count('pay.dept', 1, 1);
SET ROLE regress_kde_nobody;
SELECT a.* FROM attempts, attempt(action, query) AS a ORDER BY n;
-- A member of the owner's role may do what the owner may.
SET ROLE regress_kde_member;
SELECT a.* FROM attempts, attempt(action, query) AS a WHERE n NOT IN (9, 10) ORDER BY n;
SELECT rows FROM kde_fit('pay', 'amount');
RESET ROLE;

-- Nothing leaks through cached answers or prepared statements when the role or a grant changes.
PREPARE ask AS SELECT approx_count('pay.amount', 1, 2);
EXECUTE ask;
SET ROLE regress_kde_nobody;
\set VERBOSITY terse
EXECUTE ask;
SET ROLE regress_kde_reader;
EXECUTE ask;
RESET ROLE;
REVOKE SELECT ON pay FROM regress_kde_reader;
SET ROLE regress_kde_reader;
EXECUTE ask;
SELECT count(*) FROM kde_densities_full WHERE relation = 'pay'::regclass;
RESET ROLE;
DEALLOCATE ask;
GRANT SELECT ON pay TO regress_kde_reader;

-- Without the right to the schema no name in it can be looked up; the density of the table's number may be
-- read, whose value answers, but not exactly.
CREATE SCHEMA regress_kde_hidden AUTHORIZATION regress_kde_owner;
SET ROLE regress_kde_owner;
CREATE TABLE regress_kde_hidden.wide AS SELECT i::float8 AS x FROM generate_series(1, 1000) AS i;
GRANT SELECT ON regress_kde_hidden.wide TO regress_kde_reader;
SELECT rows FROM kde_fit('regress_kde_hidden.wide', 'x', sample_rows => 100);
CREATE FUNCTION wide() RETURNS oid LANGUAGE sql STABLE SECURITY DEFINER AS
  $$SELECT 'regress_kde_hidden.wide'::regclass::oid$$;
SELECT approx_count('regress_kde_hidden.wide.x', 100, 499, max_relative_error => 0, otherwise => 'exact');
SET ROLE regress_kde_reader;
SELECT approx_count(kde_density(wide(), 'x'), 100, 499) BETWEEN 250 AND 550 AS approximate;
SELECT try($$SELECT approx_count('regress_kde_hidden.wide.x', 100, 499)$$);
SELECT try($$SELECT approx_count(kde_density(wide(), 'x'), 100, 499, max_relative_error => 0, otherwise => 'exact')$$);
RESET ROLE;

-- A density of one's own: of the rows that one may read, stored nowhere.
SET ROLE regress_kde_owner;
CREATE TABLE mine (x integer, who text, secret integer);
INSERT INTO mine SELECT i % 100, CASE i % 4 WHEN 0 THEN 'regress_kde_reader' ELSE 'other' END, i FROM generate_series(1, 4000) AS i;
GRANT SELECT (x, who) ON mine TO regress_kde_reader;
SET ROLE regress_kde_reader;
SELECT approx_count(kde_sample('mine', 'x'), 10, 19) AS without_policies;
SELECT try($$SELECT kde_sample('mine', 'secret')$$);
SELECT try($$SELECT (kde_info(kde_sample('mine', 'who'))).value_type$$);
SET ROLE regress_kde_owner;
ALTER TABLE mine ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON mine USING (who = current_user);
SET ROLE regress_kde_reader;
SELECT (kde_info(d)).rows, approx_count(d, 10, 19) AS count, (SELECT count(*) FROM mine WHERE x BETWEEN 10 AND 19) AS exact
FROM kde_sample('mine', 'x', 1) AS d;
BEGIN READ ONLY;
SELECT approx_count(kde_sample('mine', 'x'), 10, 19) AS read_only;
COMMIT;
SET row_security = off;
SELECT try($$SELECT kde_sample('mine', 'x')$$);
RESET row_security;
RESET ROLE;
SELECT approx_count(kde_sample('mine', 'x'), 10, 19) AS superuser, count(*) AS stored FROM kde_densities_full WHERE relation = 'mine'::regclass;

-- A SECURITY DEFINER function asks with its owner's rights; a view's functions with the asker's.
SET ROLE regress_kde_owner;
CREATE FUNCTION definer() RETURNS float8 LANGUAGE sql SECURITY DEFINER AS
  $$SELECT approx_count('privileges.pay.amount', 1, 2)$$;
CREATE VIEW asking AS SELECT approx_count('pay.amount', 1, 2);
GRANT SELECT ON asking TO PUBLIC;
SET ROLE regress_kde_nobody;
SELECT definer();
SELECT * FROM asking;
RESET ROLE;

-- A superuser may fit anybody's table; the scan runs as the table's owner.
SELECT rows FROM kde_fit('pay', 'amount');

-- Row-level security: refused to those it applies to, as nothing else is right for them; owners, and
-- those who bypass it, are not concerned unless it is forced.
SET ROLE regress_kde_owner;
ALTER TABLE pay ENABLE ROW LEVEL SECURITY;
CREATE POLICY low ON pay FOR SELECT TO regress_kde_policy USING (amount < 2);
GRANT SELECT ON pay TO regress_kde_policy;
SELECT rows FROM kde_fit('pay', 'amount');
SELECT approx_count('pay.amount', 1, 2);
SET ROLE regress_kde_policy;
SELECT count(*) FROM pay;
SELECT try($$SELECT approx_count('pay.amount', 1, 2)$$);
SELECT try($$SELECT kde_density('pay', 'amount')$$);
SELECT count(*) FROM kde_densities_full WHERE relation = 'pay'::regclass;
SET ROLE regress_kde_owner;
ALTER TABLE pay FORCE ROW LEVEL SECURITY;
SELECT try($$SELECT approx_count('pay.amount', 1, 2)$$);
SELECT try($$SELECT kde_fit('pay', 'amount')$$);
SELECT try($$SELECT kde_drop('pay.amount')$$);
SELECT count(*) FROM kde_densities_full WHERE relation = 'pay'::regclass;
RESET ROLE;
ALTER ROLE regress_kde_policy BYPASSRLS;
SET ROLE regress_kde_policy;
SELECT approx_count('pay.amount', 1, 2);
SET ROLE regress_kde_owner;
ALTER TABLE pay DISABLE ROW LEVEL SECURITY;
SELECT approx_count('pay.amount', 1, 2);

-- A fit inside a SECURITY DEFINER function of the owner works for others, and leaves the caller's
-- role and settings as they were.
CREATE FUNCTION refit() RETURNS float8 LANGUAGE sql SECURITY DEFINER AS
  $$SELECT rows FROM public.kde_fit('privileges.pay', 'amount')$$;
SET ROLE regress_kde_nobody;
SELECT refit();
RESET ROLE;
SELECT current_user = session_user AS role_restored, current_setting('search_path') AS path_restored;

-- The rights of PUBLIC on what the extension made.
SELECT has_table_privilege('public', 'kde_densities', 'SELECT') AS view,
  has_table_privilege('public', 'kde_densities_full', 'SELECT') AS full_view,
  has_table_privilege('public', 'kde_densities_full', 'INSERT, UPDATE, DELETE, TRUNCATE') AS write_view,
  has_table_privilege('public', 'kde_aqp.fitted', 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE') AS catalog,
  has_table_privilege('public', 'kde_aqp.upkeep', 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE') AS upkeep,
  has_table_privilege('public', 'kde_aqp.density', 'SELECT') AS dump,
  has_table_privilege('public', 'kde_aqp.density', 'INSERT, UPDATE, DELETE, TRUNCATE') AS restore,
  has_schema_privilege('public', 'kde_aqp', 'CREATE') AS schema,
  has_function_privilege('public', 'kde_aqp.on_ddl()', 'EXECUTE') AS on_ddl;

-- Who may not read a table does not fit every row of it, with workers or without.
CREATE TABLE unread AS SELECT i FROM generate_series(1, 100) AS i;
ALTER TABLE unread OWNER TO regress_kde_owner;
REVOKE SELECT ON unread FROM regress_kde_owner;
SET ROLE regress_kde_owner;
SELECT kde_fit('unread', 'i', sample_rows => -1);
SET max_parallel_workers_per_gather = 0;
SELECT kde_fit('unread', 'i', sample_rows => -1);
RESET ROLE;
RESET max_parallel_workers_per_gather;

SET client_min_messages = warning;
DROP SCHEMA privileges, regress_kde_hidden CASCADE;
DROP ROLE regress_kde_owner, regress_kde_member, regress_kde_reader, regress_kde_column,
  regress_kde_other, regress_kde_nobody, regress_kde_policy;
