# A refresh query of kde_store that rolls up for ever: kde_aqp.refresh_timeout ends it, the worker goes on with other
# densities, and a fast stop of the server does not wait for it.
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
kde_aqp.refresh_timeout = 500ms
autovacuum = off
CONF
$node->start;

# `times` says how often the query adds all pieces up.
$node->safe_psql('postgres', q{
  CREATE EXTENSION kde_aqp;
  CREATE TABLE piece AS SELECT g, kde_agg((i * g * 7919 % 10007)::float8) AS d
    FROM generate_series(1, 40) AS g, generate_series(1, 500) AS i GROUP BY g;
  CREATE TABLE times AS SELECT 1::bigint AS n;
  CREATE TABLE rolled AS SELECT i::float8 AS v FROM generate_series(1, 100) AS i;
  CREATE TABLE other AS SELECT i::float8 AS v FROM generate_series(1, 100) AS i;
  SELECT kde_store('rolled', 'v', query => 'SELECT public.rollup(d) FROM public.piece, generate_series(1, (SELECT n FROM public.times))');
  SELECT FROM kde_fit('other', 'v', seed => 1);
  ANALYZE;
});
my $state = q{SELECT %s FROM kde_densities_full WHERE relation = '%s'::regclass};
sub becomes {
  my ($table, $what, $wanted, $name) = @_;
  my $query = sprintf $state, $what, $table;
  ok($node->poll_query_until('postgres', $query, $wanted), $name) or diag($node->safe_psql('postgres', $query));
  return;
}
# More than a tenth of what the pieces are of.
sub grow { $node->safe_psql('postgres', "INSERT INTO $_ SELECT i FROM generate_series(1, 30000) AS i") for @_; return }

$node->safe_psql('postgres', 'UPDATE times SET n = 1000000000');
my $mark = -s $node->logfile;
grow('rolled');
ok(wait_until(sub { slurp_file($node->logfile, $mark) =~ /canceling statement due to statement timeout/ }), 'the timeout ends the query');
becomes('rolled', q{refresh_failures > 0 AND refresh_error ~ 'timeout'}, 't', 'which is noted');
my $fitted = $node->safe_psql('postgres', sprintf $state, 'fitted_at', 'other');
grow('other');
becomes('other', "fitted_at > '$fitted' AND NOT stale", 't', 'the worker goes on with others');

# In the midst of the query, without a timeout.
$node->safe_psql('postgres', q{ALTER SYSTEM RESET kde_aqp.refresh_timeout; SELECT pg_reload_conf();
  UPDATE kde_aqp.upkeep SET failures = 0, failed_at = NULL});
grow('rolled');
ok($node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_locks JOIN pg_stat_activity USING (pid)
  WHERE backend_type = 'kde_aqp refresh worker' AND relation = 'piece'::regclass}), 'the worker rolls up');
command_ok([ 'pg_ctl', '-D', $node->data_dir, '-m', 'fast', '-t', 30, '-w', 'stop' ], 'a fast stop does not wait for it');
$node->_update_pid(0);
unlike(slurp_file($node->logfile, $mark), qr/terminated by signal|PANIC/, 'nothing crashed');
done_testing();
