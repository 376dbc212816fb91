# What the extension costs the DDL of those who do not use it: no catalog read whole, no wait for a catalog
# that somebody has locked, no failure where the library's file is missing. What is left behind then answers
# nobody, and goes.
use strict;
use warnings;

use File::Copy qw(move);
use File::Path qw(make_path);
use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# An installation of its own, whose library can be taken away: a copy of the one under test.
my %path;
for my $name (qw(bindir sharedir pkglibdir)) { chomp($path{$name} = `pg_config --$name`) }
my $prefix = $path{bindir};
$prefix =~ s{/[^/]*\z}{} while index($path{sharedir}, "$prefix/") != 0;
my $copy = PostgreSQL::Test::Utils::tempdir() . '/installation';
make_path($copy);
system_or_bail('cp', '-RP', "$prefix/.", $copy);
(my $install_path = "$path{bindir}/..") =~ s/\A\Q$prefix\E/$copy/;
(my $library = "$path{pkglibdir}/kde_aqp.so") =~ s/\A\Q$prefix\E/$copy/;

my $node = PostgreSQL::Test::Cluster->new('costs', install_path => $install_path);
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nkde_aqp.stale = ignore");
$node->start;
sub sql { return $node->safe_psql('postgres', @_) }

sql(q{
  CREATE EXTENSION kde_aqp;
  CREATE TABLE many (a integer);
  CREATE TYPE pair AS (a integer, b integer);
  DO $$ BEGIN FOR i IN 1..500 LOOP EXECUTE format('CREATE TABLE x%s OF pair', i); EXECUTE format('CREATE TABLE y%s (a integer)', i); END LOOP; END $$;
});

# ------------------------------------------------------------------------ rows of catalogs that are read
# By sequential scans, in a transaction of its own: by its counters, before and after.
my $session = open_session($node);
my $read = q{SELECT pg_stat_get_xact_tuples_returned('pg_class'::regclass) + pg_stat_get_xact_tuples_returned('pg_depend'::regclass)
  + pg_stat_get_xact_tuples_returned('pg_attribute'::regclass) + pg_stat_get_xact_tuples_returned('pg_inherits'::regclass)};

sub reads_little {
  my ($what, $command) = @_;
  ask($session, $command =~ s/\$n/warm/gr);
  ask($session, 'BEGIN');
  my $before = ask($session, $read);
  my (undef, $err) = ask($session, $command =~ s/\$n/cold/gr);
  is($err, '', $what);
  cmp_ok(ask($session, $read) - $before, '<', 100, "$what reads no catalog whole");
  ask($session, 'ROLLBACK');
  return;
}
sub all_read_little {
  my ($where) = @_;
  reads_little("$where: ALTER TABLE", 'ALTER TABLE many ADD COLUMN $n integer');
  reads_little("$where: RENAME COLUMN", 'ALTER TABLE many RENAME COLUMN a TO b; ALTER TABLE many RENAME COLUMN b TO a');
  reads_little("$where: CREATE TABLE", 'CREATE TABLE t_$n (i integer)');
  reads_little("$where: DROP TABLE", 'CREATE TABLE d_$n (i integer); DROP TABLE d_$n');
  reads_little("$where: ALTER TYPE", 'CREATE TYPE k_$n AS (a integer); CREATE TABLE o_$n OF k_$n; ALTER TYPE k_$n RENAME ATTRIBUTE a TO b CASCADE; DROP TABLE o_$n; DROP TYPE k_$n');
  return;
}
all_read_little('no density');
sql(q{CREATE TABLE t AS SELECT i AS a, i % 7 AS b FROM generate_series(1, 1000) AS i;
  CREATE TABLE gone AS SELECT a FROM t; CREATE TABLE other AS SELECT a FROM t;
  SELECT kde_fit('t', 'a', seed => 1), kde_fit('t', 'b', seed => 2), kde_fit('gone', 'a', seed => 3), kde_fit('other', 'a', seed => 4)});
all_read_little('some densities');
# It sees them all the same: 500 tables are of this type.
sql(q{INSERT INTO x500 SELECT i, i FROM generate_series(1, 100) AS i; SELECT kde_fit('x500', 'a', seed => 5)});
sql('ALTER TYPE pair RENAME ATTRIBUTE a TO c CASCADE');
is(sql(q{SELECT column_names FROM kde_densities_full WHERE relation = 'x500'::regclass; SELECT kde_drop('x500.c')}), "{c}\nt",
  'a typed table follows its type');
$session->quit;

# What the event triggers call does nothing outside of them.
for my $function ('follow_drop', 'follow_alter') {
  like(($node->psql('postgres', "SELECT kde_aqp.$function()"))[2], qr/can only be called in an? (sql_drop )?event trigger function/, "$function by hand");
}

# -------------------------------------------------------------------------------- a catalog that is locked
my $locker = open_session($node);
my $densities = q{SELECT relation, column_names, seed FROM kde_densities_full ORDER BY seed};
my $answers = sub {
  my @out;
  for my $call (q{approx_count('t.a', 1, 10)}, q{approx_count('t.c', 1, 10)}, q{approx_count('t.b', 1, 2)}) {
    my (undef, $out, $err) = $node->psql('postgres', "SELECT round($call)");
    push @out, $err eq '' ? $out : $err =~ /no density is fitted|does not exist/ ? 'none' : $err;
  }
  return "@out";
};
for my $lock ('REFRESH MATERIALIZED VIEW kde_aqp.fitted', 'LOCK TABLE kde_aqp.upkeep IN ACCESS EXCLUSIVE MODE',
  'CREATE INDEX ON kde_aqp.fitted (seed)', 'CLUSTER kde_aqp.fitted USING fitted_key') {
  ask($locker, 'BEGIN');
  ask($locker, $lock);
  # A lock timeout of the session's own cuts it short.
  my ($code, undef, $err) = $node->psql('postgres', q{
    SET lock_timeout = '300ms';
    ALTER TABLE other ADD COLUMN more integer;
    ALTER TABLE t RENAME COLUMN a TO c;
    DROP TABLE gone;}, on_error_stop => 1);
  is($code, 0, "$lock: ALTER and DROP pass");
  if ($lock =~ /upkeep/) {
    # Where there is nothing to write, nobody waits.
    is(() = $err =~ /WARNING:  densities do not follow this command/g, 1, 'DROP says that densities do not follow');
  } else {
    like($err, qr/WARNING:  densities do not follow this command: the catalog of extension "kde_aqp" is locked.*HINT/s, 'and say what is left');
  }
  ask($locker, 'ROLLBACK');
  if ($lock !~ /upkeep/) {
    is($answers->(), 'none none 286', 'what could not follow its column answers nobody, under neither name');
    is(sql($densities), "t|{b}|2\nother|{a}|4", 'nor is it shown');
    is(sql('SELECT count(*) FROM kde_aqp.fitted'), 4, 'though it is there');
    sql('ALTER TABLE t ADD COLUMN z integer; ALTER TABLE t DROP COLUMN z');
  }
  is($answers->(), 'none 10 286', 'the next ALTER TABLE lets it follow');
  is(sql(q{SELECT seed FROM kde_fit('other', 'a', seed => 4); SELECT count(*) FROM kde_aqp.fitted}), "4\n3", 'the next fit removes that of the dropped table');
  is(sql(q{SELECT count(*) FROM kde_aqp.upkeep WHERE density_id NOT IN (SELECT id FROM kde_aqp.fitted)}), '0', 'and what upkeep knew of it');
  sql(q{ALTER TABLE t RENAME COLUMN c TO a; ALTER TABLE other DROP COLUMN more;
    CREATE TABLE gone AS SELECT a FROM t; SELECT kde_fit('gone', 'a', seed => 3)});
}
# Without one it is the extension's own, of two seconds: that this ends is the test.
ask($locker, 'BEGIN');
ask($locker, 'REFRESH MATERIALIZED VIEW kde_aqp.fitted');
like(($node->psql('postgres', 'DROP TABLE gone'))[2], qr/do not follow this command/, 'DROP TABLE waits no longer than that');
# A fit under the new name before the density of the old one could follow.
sql(q{SET lock_timeout = '300ms'; ALTER TABLE t RENAME COLUMN a TO c});
ask($locker, 'ROLLBACK');
is(sql(q{SELECT seed FROM kde_fit('t', 'c', seed => 6); ALTER TABLE t ADD COLUMN z integer; SELECT column_names, seed FROM kde_densities_full WHERE relation = 't'::regclass ORDER BY seed;
  SELECT count(*) FROM kde_aqp.fitted}), "6\n{b}|2\n{c}|6\n3", 'the one fitted since is kept');
# A column that went.
ask($locker, 'BEGIN');
ask($locker, 'REFRESH MATERIALIZED VIEW kde_aqp.fitted');
sql(q{SET lock_timeout = '300ms'; ALTER TABLE t DROP COLUMN b; ALTER TABLE t ADD COLUMN b integer});
ask($locker, 'ROLLBACK');
is((sql(q{SELECT seed FROM kde_densities_full WHERE relation = 't'::regclass})), '6', 'a density of a dropped column is not one of a new column of its name');
is(sql(q{ALTER TABLE t ADD COLUMN y integer; SELECT seed FROM kde_aqp.fitted WHERE relation = 't'::regclass}), '6', 'and goes at the next ALTER TABLE');
# By the refreshes.
sql('CREATE TABLE gone AS SELECT c FROM t; SELECT kde_fit($$gone$$, $$c$$, seed => 3)');
ask($locker, 'BEGIN');
ask($locker, 'REFRESH MATERIALIZED VIEW kde_aqp.fitted');
sql(q{SET lock_timeout = '300ms'; DROP TABLE gone});
ask($locker, 'ROLLBACK');
is(sql(q{SET client_min_messages = warning; CALL kde_refresh_all(); SELECT seed FROM kde_aqp.fitted ORDER BY seed}), "4\n6", 'kde_refresh_all() removes what is left of a dropped table, too');
$locker->quit;

# ------------------------------------------------------------------------------------ a missing library
sql('CREATE TABLE gone AS SELECT c FROM t; SELECT kde_fit($$gone$$, $$c$$, seed => 3)');
my $away = $node->basedir . '/kde_aqp.so';
move($library, $away) or die "$library: $!";
my ($code, undef, $err) = $node->psql('postgres', q{
  ALTER TABLE t RENAME COLUMN c TO d;
  CREATE TABLE passes (i integer);
  ALTER TABLE passes ADD COLUMN j integer;
  DROP TABLE passes;
  DROP TABLE gone;}, on_error_stop => 1);
is($code, 0, 'the library is missing: ALTER and DROP TABLE pass') or diag($err);
is(() = $err =~ /WARNING:  densities do not follow this command: could not access file/g, 4, 'with a warning each');
like($err, qr/HINT:  Install the files of extension "kde_aqp", or run ALTER EVENT TRIGGER kde_aqp_on_drop DISABLE\./, 'that says what to do');
# A file that is no library of this server.
append_to_file($library, 'no library');
($code, undef, $err) = $node->psql('postgres', 'CREATE TABLE passes (i integer); DROP TABLE passes');
is($code, 0, 'a file that is no library: they pass') or diag($err);
unlink $library;
move($away, $library) or die "$library: $!";
is(sql(q{ALTER TABLE t DROP COLUMN y; SELECT column_names, seed FROM kde_densities_full ORDER BY seed}), "{a}|4\n{d}|6", 'when it is back, densities follow');
is(sql(q{SELECT seed FROM kde_fit('other', 'a', seed => 4); SELECT count(*) FROM kde_aqp.fitted}), "4\n2", 'and that of the dropped table goes');

$node->stop;
done_testing();
