# A backend killed in the middle of a fit, and a server stopped at once after one.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('crash');
$node->init;
$node->append_conf('postgresql.conf', 'restart_after_crash = on');
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
  send_sql($session, q{SELECT kde_fit('t', 'v', seed => 2)});
  $node->safe_psql('postgres', qq{SELECT wait_for_fit($pid, '$phase')});
  is(kill('KILL', $pid), 1, "$phase: killed the backend");
  ok(wait_until(sub { !kill(0, $pid) }), "$phase: it is gone");
  $session->{run}->finish;
  ok($node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()'),
    "$phase: the server recovers");
  is(fingerprint($node), $catalog, "$phase: the catalog is unchanged");
  is($node->safe_psql('postgres', $answer), $before, "$phase: and so are the answers");
}
is($node->safe_psql('postgres', q{SELECT method FROM kde_fit('t', 'v', seed => 3)}), 'plugin',
  'a fit works after the crashes');

my $fitted = $node->safe_psql('postgres', q{
  SELECT seed FROM kde_fit('t', 'v', seed => 4);
  SELECT md5(kde_density('t.v')::text);});
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', q{
     SELECT seed FROM kde_densities WHERE column_names = '{v}';
     SELECT md5(kde_density('t.v')::text);}),
  $fitted, 'a committed fit survives an immediate shutdown');

# One that has not committed does not.
my $session = open_session($node);
ask($session, 'BEGIN');
is(ask($session, q{SELECT seed FROM kde_fit('t', 'v', seed => 5)}), '5', 'a fit not committed');
$node->stop('immediate');
$session->{run}->finish;
$node->start;
is($node->safe_psql('postgres', q{SELECT seed FROM kde_densities WHERE column_names = '{v}'}),
  '4', 'leaves nothing after an immediate shutdown');

$node->stop;
done_testing();
