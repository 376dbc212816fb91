# What kde_check() says of the launcher and its workers, each with a command that mends it.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('primary');
$node->init;
$node->append_conf('postgresql.conf', <<'CONF');
shared_preload_libraries = 'kde_aqp'
kde_aqp.naptime = 1s
log_min_messages = debug2
log_line_prefix = '%m [%p] %b '
restart_after_crash = on
autovacuum = off
max_logical_replication_workers = 0
CONF
$node->start;

sub sql { return $node->safe_psql('postgres', $_[0]) }

sub becomes {
  my ($query, $wanted, $what) = @_;
  ok($node->poll_query_until('postgres', $query, $wanted), $what) or diag(sql($query));
  return;
}

sub count_log {
  my ($pattern, $offset) = @_;
  my @found = slurp_file($node->logfile, $offset // 0) =~ /$pattern/g;
  return scalar @found;
}

# Visits of the launcher's from now on.
sub wait_for_visits {
  my ($visits) = @_;
  my $offset = -s $node->logfile;
  wait_until(sub { count_log(qr/starting background worker process "kde_aqp refresh worker/, $offset) > $visits })
    or die 'no worker is started';
  return;
}

sub set_option {
  my ($option, $value) = @_;
  sql("ALTER SYSTEM SET $option = $value");
  $node->reload;
  return;
}

# kde_check()'s problems and actions, without the densities that this test leaves unrefreshed.
sub problem { return sql(q{SELECT problem FROM problems WHERE problem ~ '} . $_[0] . q{'}) }

# Does what kde_check() says of a problem.
sub mend {
  my ($pattern, $what) = @_;
  my $action = sql("SELECT action FROM problems WHERE problem ~ '$pattern'");
  like($action, qr/\S/, "$what: kde_check() knows a command");
  note $action;
  for (grep { /\S/ } split /;/, $action =~ s/--.*//r) { sql($_) }
  return;
}

sql(q{
  CREATE EXTENSION kde_aqp;
  CREATE VIEW problems AS SELECT p.problem, p.action FROM kde_check(), LATERAL
    unnest(regexp_split_to_array(problems, E'\n'), regexp_split_to_array(actions, E'\n')) AS p(problem, action);
  CREATE TABLE t AS SELECT i % 10 AS v FROM generate_series(1, 1000) AS i;
  SELECT kde_fit('t', 'v');});
wait_for_visits(1);
is(sql('SELECT ok FROM kde_check()'), 't', 'all is well');

set_option('kde_aqp.max_workers', 0);
becomes(q{SELECT count(*) FROM problems WHERE problem ~ '^notice: no background worker refreshes'}, 1, 'no workers are allowed: told');
mend('no background worker', 'no workers');
becomes(q{SELECT count(*) FROM problems WHERE problem ~ 'no background worker'}, 0, 'it is mended');
sql(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'kde_aqp refresh launcher'});
becomes(q{SELECT count(*) FROM problems WHERE problem ~ '^warning: the refresh launcher does not run'}, 1, 'the launcher does not run: told');
becomes(q{SELECT count(*) FROM problems WHERE problem ~ 'launcher'}, 0, 'until it is back');
my $static = sql(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type ~ '^kde_aqp' AND backend_type <> 'kde_aqp refresh worker'});
sql("ALTER SYSTEM SET max_worker_processes = $static");
$node->restart;
becomes(q{SELECT count(*) FROM problems WHERE problem ~ '^warning: no background worker has come to this database for'}, 1, 'no process for a worker: told');
sql('CREATE DATABASE later');
$node->safe_psql('later', q{CREATE EXTENSION kde_aqp; CREATE TABLE t AS SELECT i % 7 AS v FROM generate_series(1, 1000) AS i; SELECT kde_fit('t', 'v')});
is($node->safe_psql('later', 'SELECT problems FROM kde_check()'), '', 'a database with a new density is not yet waited for');
sql('DROP DATABASE later');
mend('has come to this database', 'no process');
$node->restart;
wait_for_visits(1);
is(problem('has come'), '', 'it is mended');
$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', q{'auto_explain'});
$node->restart;
like(problem('shared_preload_libraries'), qr/^notice: /, 'without the library preloaded: told');
mend('shared_preload_libraries', 'not preloaded');
$node->restart;
is(sql('SHOW shared_preload_libraries'), 'auto_explain, kde_aqp', 'what else is preloaded stays');
is(problem('shared_preload_libraries'), '', 'it is mended');

$node->stop;
done_testing();
