# Refreshes by pg_cron, as the documentation says: kde_refresh_all() commits, so it must be the whole
# of a job's command; both ways in which pg_cron runs one.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($sharedir) = run_command(['pg_config', '--sharedir']);
plan skip_all => "pg_cron is not installed in $sharedir" if !-e "$sharedir/extension/pg_cron.control";

my $node = PostgreSQL::Test::Cluster->new('cron');
$node->init;
$node->append_conf('postgresql.conf', <<CONF);
shared_preload_libraries = 'pg_cron'
cron.database_name = 'postgres'
cron.host = '@{[$node->host]}'
autovacuum = off
CONF
$node->start;
$node->safe_psql('postgres', q{
  CREATE EXTENSION kde_aqp;
  CREATE EXTENSION pg_cron;
  CREATE TABLE t AS SELECT i::float8 AS v FROM generate_series(1, 1000) AS i;
  CREATE TABLE u AS SELECT i::float8 AS v FROM generate_series(1, 1000) AS i;
  SELECT kde_fit('t', 'v'), kde_fit('u', 'v')});
$node->safe_psql('postgres', q{INSERT INTO t SELECT v FROM t; INSERT INTO u SELECT v FROM u});
my $rows = q{SELECT string_agg(rows::text, ' ' ORDER BY relation::text) FROM kde_densities_full};
my $jobs = q{SELECT bool_and(status = 'succeeded') AND count(*) >= 1 FROM cron.job_run_details};
my $messages = q{SELECT string_agg(status || ': ' || return_message, E'\n') FROM cron.job_run_details};

sub job_refreshes {
  my ($what, $wanted) = @_;
  ok($node->poll_query_until('postgres', $rows, $wanted), "$what: the densities are refreshed");
  ok($node->poll_query_until('postgres', $jobs), "$what: the job says so")
    or diag($node->safe_psql('postgres', $messages));
  return;
}

is($node->safe_psql('postgres', $rows), '1000 1000', 'two stale densities');
$node->safe_psql('postgres',
  q{SELECT cron.schedule('kde_aqp refresh', '* * * * *', 'CALL kde_refresh_all()')});
job_refreshes('a session', '2000 2000');

# @reboot: when pg_cron starts.
$node->safe_psql('postgres', q{
  SELECT cron.unschedule('kde_aqp refresh');
  SELECT cron.schedule('kde_aqp refresh', '@reboot', 'CALL kde_refresh_all()');
  DELETE FROM cron.job_run_details});
$node->safe_psql('postgres', q{INSERT INTO t SELECT v FROM t; INSERT INTO u SELECT v FROM u});
$node->append_conf('postgresql.conf', 'cron.use_background_workers = on');
$node->restart;
job_refreshes('a background worker', '4000 4000');

$node->stop;
done_testing();
