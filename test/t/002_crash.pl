# A backend killed in the middle of a fit, and a server stopped at once after one.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('crash');
$node->init;
$node->append_conf('postgresql.conf', 'restart_after_crash = on
autovacuum = off');
$node->start;
$node->safe_psql('postgres', q{
  CREATE EXTENSION kde_aqp;
  CREATE TABLE t AS SELECT ln(i) * 100 AS v, (i % 100) AS w FROM generate_series(1, 100000) AS i;
  SELECT kde_fit('t', 'v', seed => 1, method => 'silverman'), kde_fit('t', 'w', seed => 1);
});
install_watchers($node);
my $answer = q{SELECT approx_count('t.v', 500, 800), md5(kde_density('t.v')::text)};
my $before = $node->safe_psql('postgres', $answer);
my $catalog = fingerprint($node);

for my $phase ('scan', 'select') {
  my $session = open_session($node, 'postgres', slow_fit('reference'));
  my $pid = backend_pid($session);
  send_sql($session, q{SELECT kde_fit('t', 'v', seed => 2, exact => true)});
  $node->safe_psql('postgres', qq{SELECT wait_for_fit($pid, '$phase')});
  is(kill('KILL', $pid), 1, "$phase: killed the backend");
  ok(wait_until(sub { !kill(0, $pid) }), "$phase: it is gone");
  $session->{run}->finish;
  ok($node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()'),
    "$phase: the server recovers");
  is(fingerprint($node), $catalog, "$phase: the catalog is unchanged");
  is($node->safe_psql('postgres', $answer), $before, "$phase: and so are the answers");
}
is($node->safe_psql('postgres', q{SELECT name FROM kde_fit('t', 'v', seed => 3)}), 't.v',
  'a fit works after the crashes');

my $fitted = $node->safe_psql('postgres', q{
  SELECT seed FROM kde_fit('t', 'v', seed => 4);
  SELECT md5(kde_density('t.v')::text);});
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', q{
     SELECT seed FROM kde_densities_full WHERE column_names = '{v}';
     SELECT md5(kde_density('t.v')::text);}),
  $fitted, 'a committed fit survives an immediate shutdown');

# What changed since is known all the same, though the server's statistics begin anew: that nothing did, or
# how many rows at most. A refresh counts from there on.
my $changed = q{SELECT changed_rows IS NULL, stale FROM kde_densities_full WHERE column_names = '{v}'};
my $proof = q{SELECT proof FROM kde_densities_full WHERE column_names = '{v}'};
is($node->safe_psql('postgres', $proof), 'nothing changed', 'that nothing changed is known after it');
is($node->safe_psql('postgres', $changed), 'f|f', 'and no row is counted');
$node->safe_psql('postgres', q{
  SELECT kde_fit('t', 'v', seed => 4);
  INSERT INTO t SELECT 1, 1 FROM generate_series(1, 50000);});
$node->poll_query_until('postgres', q{SELECT changed_rows = 50000 FROM kde_densities_full WHERE column_names = '{v}'}) or die 'no statistics';
is($node->safe_psql('postgres', $changed), 'f|t', 'rows that changed');
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', $changed), 't|t', 'are not counted after a crash, and stale all the same');
like($node->safe_psql('postgres', $proof), qr/^at most (\d+) rows changed$/, 'by how many at most changed');
cmp_ok(($node->safe_psql('postgres', $proof) =~ /(\d+)/)[0], '>=', 50000, 'which are not too few');
is($node->safe_psql('postgres', q{SELECT count(*) FROM kde_aqp.fitted; SELECT count(*) FROM kde_aqp.upkeep}), "2\n0", 'while all densities are there');
is($node->safe_psql('postgres', q{SELECT DISTINCT action, changed_rows FROM kde_refresh('t')}), 'refitted|', 'a refresh reads them');
$node->safe_psql('postgres', 'INSERT INTO t SELECT 1, 1 FROM generate_series(1, 60000)');
ok($node->poll_query_until('postgres', q{SELECT changed_rows = 60000 AND stale FROM kde_densities_full WHERE column_names = '{v}'}), 'and counts from then on');
is($node->safe_psql('postgres', q{SELECT seed FROM kde_fit('t', 'v', seed => 4)}), '4', 'a fit');

# One that has not committed does not.
my $session = open_session($node);
ask($session, 'BEGIN');
is(ask($session, q{SELECT seed FROM kde_fit('t', 'v', seed => 5)}), '5', 'a fit not committed');
$node->stop('immediate');
$session->{run}->finish;
$node->start;
is($node->safe_psql('postgres', q{SELECT seed FROM kde_densities_full WHERE column_names = '{v}'}),
  '4', 'leaves nothing after an immediate shutdown');

# What changed before a crash is not counted after it. Most of the rows are stale all the same, whether VACUUM
# came before the fit, behind the change, or not at all; a worker refreshes them.
my %most = (deleted => 'DELETE FROM most WHERE v > 1000', updated => 'UPDATE most SET v = v + 20000 WHERE v > 1000');
for my $how (sort keys %most) {
  for my $vacuums (0 .. 2) {
    $node->safe_psql('postgres', $_) for 'DROP TABLE IF EXISTS most', 'CREATE TABLE most AS SELECT i AS v FROM generate_series(1, 10000) AS i',
      $vacuums > 0 ? 'VACUUM most' : (), q{SELECT FROM kde_fit('most', 'v')}, $most{$how}, $vacuums > 1 ? 'VACUUM most' : ();
    $node->stop('immediate');
    $node->start;
    is($node->safe_psql('postgres', q{SELECT stale FROM kde_densities_full WHERE relation = 'most'::regclass}), 't',
      "most rows $how before a crash, $vacuums times vacuumed: stale");
    next if $vacuums != 1;
    my $fitted_at = $node->safe_psql('postgres', q{SELECT fitted_at FROM kde_densities_full WHERE relation = 'most'::regclass});
    $node->append_conf('postgresql.conf', "shared_preload_libraries = 'kde_aqp'\nkde_aqp.naptime = 1s");
    $node->restart;
    ok($node->poll_query_until('postgres', qq{SELECT fitted_at > '$fitted_at' AND NOT stale FROM kde_densities_full
      WHERE relation = 'most'::regclass}), 'and a worker refreshes it');
    $node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
    $node->restart;
  }
}

$node->stop;
done_testing();
