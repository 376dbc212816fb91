# CREATE EXTENSION under a database's defaults, and that DROP leaves what was there before CREATE.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('extension');
$node->init;
$node->append_conf('postgresql.conf', 'kde_aqp.stale = ignore');
$node->start;

# By the database's owner, in a schema of its own.
$node->safe_psql('postgres', 'CREATE ROLE kde_owner LOGIN');
my @owner = (extra_params => [ '-U', 'kde_owner' ]);
sub create_database {
  my ($name) = @_;
  $node->safe_psql('postgres', "CREATE DATABASE $name OWNER kde_owner");
  $node->safe_psql($name, 'CREATE SCHEMA aqp', @owner);
  return;
}

# Defaults of the database change neither where rows are nor what everybody's commands call.
create_database('defaults');
$node->safe_psql('defaults', q{
  CREATE ACCESS METHOD another TYPE TABLE HANDLER heap_tableam_handler;
  ALTER DATABASE defaults SET default_table_access_method = another;
  ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;});
$node->safe_psql('defaults', 'CREATE EXTENSION kde_aqp SCHEMA aqp', @owner);
is($node->safe_psql('defaults', q{
     SELECT c.relname, a.amname FROM pg_class AS c JOIN pg_depend AS d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid
       AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' JOIN pg_am AS a ON a.oid = c.relam
     WHERE c.relkind IN ('r', 'm') ORDER BY 1}), "density|heap\nfitted|heap\nfitted_stretches|heap\nupkeep|heap", 'heaps');
my (undef, $answers, $err) = $node->psql('defaults', q{
  CREATE TABLE aqp.mine (v integer); ALTER TABLE aqp.mine RENAME v TO w; DROP TABLE aqp.mine;
  SELECT count(*) FROM kde_aqp.dumped_densities(); SELECT count(*) FROM kde_aqp.readable_densities();
  SELECT count(*) FROM aqp.kde_progress;}, @owner);
is($err, '', "functions are not everybody's, and DDL passes without a warning");
is($answers, "0\n0\n0", 'dumps and views work');

# ------------------------------------------------------------------------------------------ DROP
create_database('dropped');
$node->safe_psql('dropped', 'CREATE TABLE t AS SELECT sqrt(i) AS v FROM generate_series(1, 1000) AS i; ANALYZE', @owner);
my $none = catalog_rows($node, 'dropped');
$node->safe_psql('dropped', q{
  CREATE EXTENSION kde_aqp SCHEMA aqp;
  SELECT aqp.kde_fit('t', 'v', seed => 1);
  DROP EXTENSION kde_aqp;}, @owner);
is(catalog_rows($node, 'dropped'), $none, 'DROP EXTENSION leaves nothing');
# In one transaction, and rolled back.
$node->safe_psql('dropped', q{BEGIN; CREATE EXTENSION kde_aqp SCHEMA aqp; SELECT aqp.kde_fit('t', 'v'); ROLLBACK;}, @owner);
is(catalog_rows($node, 'dropped'), $none, 'nor does CREATE EXTENSION rolled back');
# What users made of it stands in the way; CASCADE takes that along, but no table.
$node->safe_psql('dropped', q{
  CREATE EXTENSION kde_aqp SCHEMA aqp;
  SELECT aqp.kde_fit('t', 'v', seed => 1);
  CREATE TABLE kept AS SELECT 1 AS i, aqp.kde_density('t', 'v') AS d;
  CREATE VIEW asks AS SELECT aqp.approx_count('t.v', 1, 2);
  CREATE FUNCTION ask() RETURNS double precision LANGUAGE sql RETURN aqp.approx_count('t.v', 1, 2);}, @owner);
(undef, undef, $err) = $node->psql('dropped', 'DROP EXTENSION kde_aqp', @owner);
like($err, qr/cannot drop extension kde_aqp because other objects depend on it\n.*column d of table kept depends on type aqp\.kde/s,
  'RESTRICT: what users made stands in the way');
like($err, qr/view asks depends on function aqp\.approx_count/, 'a view too');
is($node->safe_psql('dropped', q{SELECT aqp.approx_count('t.v'), aqp.approx_count(d) FROM kept}, @owner), '1000|1000',
  'and all of it goes on');
for my $object ('TABLE kde_aqp.density', 'MATERIALIZED VIEW kde_aqp.fitted', 'TABLE kde_aqp.upkeep', 'SCHEMA kde_aqp', 'TYPE aqp.kde', 'FUNCTION kde_aqp.on_row()',
  'TRIGGER on_row ON kde_aqp.density', 'EVENT TRIGGER kde_aqp_on_drop', 'SEQUENCE kde_aqp.density_id') {
  (undef, undef, $err) = $node->psql('dropped', "DROP $object CASCADE");
  like($err, qr/because extension kde_aqp requires it|because other objects/, "DROP $object") if $object !~ /^TRIGGER/;
}
$node->safe_psql('dropped', q{SET client_min_messages = warning; DROP EXTENSION kde_aqp CASCADE}, @owner);
is($node->safe_psql('dropped', q{
     SELECT * FROM kept; SELECT to_regclass('asks') IS NULL, to_regproc('ask') IS NULL; SELECT count(*) FROM t}),
  "1\nt|t\n1000", 'CASCADE takes columns, views and functions, and leaves tables');
$node->safe_psql('dropped', 'DROP TABLE kept', @owner);
is(catalog_rows($node, 'dropped'), $none, 'nothing is left after it');
# A session that has answered, with the density at hand, finds neither it nor the extension.
my $session = open_session($node, 'dropped', 'CREATE EXTENSION kde_aqp SCHEMA aqp');
ask($session, q{SELECT aqp.kde_fit('t', 'v', seed => 1); SELECT aqp.approx_count('t.v')});
$node->safe_psql('dropped', 'DROP EXTENSION kde_aqp');
(undef, $err) = ask($session, q{SELECT aqp.approx_count('t.v')});
like($err, qr/function aqp\.approx_count\(unknown\) does not exist/, 'a session that had a density at hand');
$node->safe_psql('dropped', q{CREATE EXTENSION kde_aqp SCHEMA aqp; INSERT INTO t SELECT 1 FROM generate_series(1, 10); SELECT aqp.kde_fit('t', 'v', seed => 2)});
is(ask($session, q{SELECT aqp.approx_count('t.v')}), '1010', 'sees the extension that came after it');
$session->quit;

$node->stop;
done_testing();
