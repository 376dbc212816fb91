# What is left after DROP EXTENSION of a database that has lived with it: fits of every kind, plain SQL,
# refreshes by hand and by the worker, failures, drift, settings. By the steps of docs/operations.md: its query
# finds the settings, and after it all rows of the catalogs, all files of the data directory and the
# configuration are as before.
use strict;
use warnings;

use File::Find ();
use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('removal');
$node->init;
my $program = $ENV{KDE_AQP_FAKE_CUDAD} or die 'KDE_AQP_FAKE_CUDAD must name the fake program';
$node->append_conf('postgresql.conf', "autovacuum = off\n");
$node->start;
sub sql { return $node->safe_psql($_[1] // 'lived', $_[0]) }

# Files of the data directory by name, but for those of PostgreSQL's own catalogs, which grow forks, and of its
# log and transactions.
my $data = $node->data_dir;
sub files {
  my %found;
  File::Find::find({ no_chdir => 1, wanted => sub {
      my $name = $File::Find::name =~ s{^\Q$data\E/?}{}r;
      return if $name =~ m{^(?:pg_wal|pg_xact|pg_subtrans|pg_multixact|pg_commit_ts|pg_logical)/};
      return if $name =~ m{^(?:base/\d+|global)/(?:(\d+)\S*|pg_internal\.init)$} && ($1 // 0) < 16384;
      return if $name =~ m{^pg_(?:stat|stat_tmp)/(?:db_\d+|global|pgstat)\.stat$};
      $found{$name} = 1;
    } }, $data);
  return join "\n", sort keys %found;
}
sub configuration { return slurp_file("$data/postgresql.auto.conf") }
sub lines_but { my ($text, $others) = @_; my %other = map { $_ => 1 } split /\n/, $others; return join "\n", grep { !$other{$_} } split /\n/, $text }

# ------------------------------------------------------------------------------------------ before
sql('CREATE ROLE owner LOGIN; CREATE ROLE reader LOGIN; CREATE DATABASE lived OWNER owner', 'postgres');
sql(q{
  ALTER ROLE reader SET work_mem = '8MB';
  SET ROLE owner;
  CREATE SCHEMA mine;
  CREATE TABLE mine.t AS SELECT i AS id, sqrt(i) AS v, i % 7 AS w, (ARRAY['a', 'b'])[1 + i % 2] AS word FROM generate_series(1, 3000) AS i;
  ALTER TABLE mine.t ADD PRIMARY KEY (id);
  CREATE TABLE mine.parted (v integer, day integer) PARTITION BY LIST (day);
  CREATE TABLE mine.parted_1 PARTITION OF mine.parted FOR VALUES IN (1);
  CREATE TABLE mine.parted_2 PARTITION OF mine.parted FOR VALUES IN (2);
  INSERT INTO mine.parted SELECT i, 1 + i % 2 FROM generate_series(1, 3000) AS i;
  CREATE MATERIALIZED VIEW mine.kept AS SELECT v FROM mine.t;
  GRANT USAGE ON SCHEMA mine TO reader;
  GRANT SELECT ON mine.t TO reader;
  RESET ROLE;
  VACUUM (ANALYZE) mine.t, mine.parted, mine.kept;
  CHECKPOINT;});
my ($rows, $files, $configuration) = (catalog_rows($node, 'lived'), files(), configuration());

# ------------------------------------------------------------------------------------------ a life
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'kde_aqp'\nkde_aqp.cuda_program = '$program'\n");
$node->restart;
sql(q{
  SET ROLE owner;
  CREATE SCHEMA aqp;
  GRANT USAGE ON SCHEMA aqp TO reader;
  CREATE EXTENSION kde_aqp SCHEMA aqp;
  SET search_path = mine, aqp;
  SELECT kde_fit('t');
  SELECT kde_fit('t', 'v', sample_rows => -1, measures => '{w}', group_by => 'word');
  SELECT kde_fit('t', 'v', filter => 'w > 3', name => 'few');
  SELECT kde_fit('t', ARRAY['v', 'w'], method => 'scott');
  SELECT kde_fit('t', ARRAY['v + w']);
  SELECT kde_fit('parted', 'v');
  SELECT kde_fit('kept', 'v');
  SELECT kde_store('t', 'w', query => 'SELECT aqp.kde_agg(w) FROM mine.t');
  SELECT kde_fit('t', ARRAY['1 / (w + 1)']);
  SELECT kde_set_plain_sql('t.v', true);
  SELECT kde_set_refresh('t.v', max_age => '1 day');
  SELECT kde_drift('t.v');
  SELECT kde_drop('kept.v');});
sql(q{
  ALTER DATABASE lived SET kde_aqp.approximate = top;
  ALTER ROLE reader SET kde_aqp.approximate_error = 0.05;
  ALTER ROLE reader IN DATABASE lived SET session_preload_libraries = 'kde_aqp';
  ALTER SYSTEM SET kde_aqp.naptime = '1s';
  SELECT pg_reload_conf();});
is($node->safe_psql('lived', q{SELECT count(*) FROM mine.t WHERE v > 0; SELECT statements FROM aqp.kde_plain_sql WHERE outcome = 'answered by a density'},
     extra_params => [ '-U', 'reader' ]), "3000\n1", 'a density answers the reader');
sql(q{SET ROLE owner; SET search_path = mine, aqp; SET kde_aqp.device = cuda; SELECT kde_fit('t', 'v', method => 'plugin', exact => true)});
ok(-e "$data/pg_stat_tmp/kde_aqp_device.lock", 'the device service has its files');
# The worker refreshes one density and fails at another.
my $fitted = q{SELECT max(rows) FROM aqp.kde_densities_full WHERE relation = 'mine.t'::regclass AND filter IS NULL};
sql(q{INSERT INTO mine.t SELECT i, sqrt(i), -1, 'c' FROM generate_series(3001, 6000) AS i});
ok($node->poll_query_until('lived', $fitted, '6000'), 'the worker refreshes');
ok($node->poll_query_until('lived', q{SELECT count(*) FROM kde_aqp.upkeep WHERE failures > 0}, '1'), 'and fails');
$node->psql('lived', 'CALL aqp.kde_refresh_all(force => true)');

# ------------------------------------------------------------------------------------------ the removal
# The query of docs/operations.md.
my ($settings) = slurp_file('docs/operations.md') =~ /```sql\n(SELECT [^`]*?FROM pg_db_role_setting.*?;)/s;
ok(defined $settings, 'the page has a query for the settings') or die;
is(sql($settings), join("\n", 'lived|reader|session_preload_libraries=kde_aqp', 'lived||kde_aqp.approximate=top',
    '|reader|kde_aqp.approximate_error=0.05'), 'which finds them');
sql(q{SET ROLE owner; DROP EXTENSION kde_aqp; DROP SCHEMA aqp;});
sql(q{DELETE FROM mine.t WHERE id > 3000; CHECKPOINT;});
is(lines_but(catalog_rows($node, 'lived'), $rows),
  join("\n", map { "pg_db_role_setting $_" } sort map { /^(\d+ \d+) (.*)/ ? "$1 $2" : $_ } split /\n/, sql(q{
    SELECT concat_ws(' ', setdatabase, setrole, setconfig) FROM pg_db_role_setting WHERE setconfig::text ~ 'kde_aqp'})),
  'DROP EXTENSION leaves no row but the settings');
is(lines_but($rows, catalog_rows($node, 'lived')) =~ s/^pg_db_role_setting .*\n?//r, '', 'and takes none');
my ($code, undef, $errors) = $node->psql('lived', 'SELECT 1', extra_params => [ '-U', 'reader' ]);
is($errors, '', 'sessions under the settings that are left begin in silence');
sql(q{
  ALTER DATABASE lived RESET kde_aqp.approximate;
  ALTER ROLE reader RESET kde_aqp.approximate_error;
  ALTER ROLE reader IN DATABASE lived RESET session_preload_libraries;
  ALTER SYSTEM RESET kde_aqp.naptime;});
is(sql($settings), '', 'no setting is left');
is(catalog_rows($node, 'lived'), $rows, 'all rows of the catalogs are as before');
is(configuration(), $configuration, 'and so is what ALTER SYSTEM wrote');
$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "''");
$node->adjust_conf('postgresql.conf', 'kde_aqp.cuda_program', undef);
my $log = -s $node->logfile;
$node->restart;
sql('SELECT 1');
is(lines_but(files(), $files), 'pg_stat_tmp/kde_aqp_device.lock', 'no file is left but the lock that the page names');
is(lines_but($files, files()), '', 'and none is gone');
unlike(slurp_file($node->logfile, $log) =~ s/^.*?database system is shut down//sr, qr/["`]kde_aqp|kde_aqp refresh|could not access file/, 'the log of the server speaks of it no more');

$node->stop;
done_testing();
