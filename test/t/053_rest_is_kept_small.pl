# What plain SQL reads beside a density is kept small by the worker, which rests all the same.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('primary');
$node->init;
# Nothing becomes stale, and any number of changed rows is accurate enough. 128 blocks are read at most.
$node->append_conf('postgresql.conf', <<'CONF');
shared_preload_libraries = 'kde_aqp'
kde_aqp.naptime = 1s
kde_aqp.refresh_scale_factor = 100
kde_aqp.approximate_error = 1
kde_aqp.approximate_scan_size = 1MB
log_min_messages = debug2
autovacuum = off
CONF
$node->start;

sub sql { return $node->safe_psql('postgres', $_[0]) }

# Rounds of the launcher and visits that began, from now on: all of what a worker does in one is done when
# the next begins.
sub wait_for_visits {
  my $offset = -s $node->logfile;
  wait_until(sub {
    my @visits = slurp_file($node->logfile, $offset) =~ /starting background worker process "kde_aqp refresh worker/g;
    return @visits > 2;
  }) or die 'no worker comes';
  return;
}

my $rest = q{SELECT changed_size / 8192 FROM kde_densities_full WHERE name = 't.v'};
# Two rows a block.
sub add_blocks { return sql("INSERT INTO t SELECT i, repeat('x', 3500) FROM generate_series(1, 2 * $_[0]) AS i") }

sql(q{CREATE EXTENSION kde_aqp;
  CREATE TABLE t (v integer NOT NULL, w text);
  ALTER TABLE t ALTER w SET STORAGE PLAIN});
add_blocks(200);
sql('VACUUM t');
sql(q{SELECT kde_fit('t', 'v', sample_rows => -1), kde_set_plain_sql('t.v', true)});

my $mark = -s $node->logfile;
add_blocks(20);
wait_for_visits();
is(sql($rest), 20, 'a little is left to be read');
sql('VACUUM t');
ok($node->poll_query_until('postgres', $rest, 0), 'until a VACUUM came');
add_blocks(70);
ok($node->poll_query_until('postgres', $rest, 0), 'half of what may be read is not');
like(slurp_file($node->logfile, $mark), qr/refitted the density of t\.v in \d+ ms: plain SQL reads 20 changed blocks/, 'which the log tells');


# Who writes all the time: as if the last fit had taken a quarter of an hour.
sql(q{ALTER SYSTEM SET kde_aqp.refresh_scale_factor = 0.1;
  CREATE TEMP TABLE saved AS SELECT * FROM kde_aqp.fitted WHERE relation = 't'::regclass;
  UPDATE saved SET select_ms = 1e6;
  SELECT kde_drop('t.v');
  INSERT INTO kde_aqp.density SELECT * FROM saved});
$node->reload;
ok($node->poll_query_until('postgres', 'SELECT counters IS NOT NULL FROM kde_aqp.upkeep'), 'changes are counted');
add_blocks(100);
ok($node->poll_query_until('postgres', q{SELECT stale FROM kde_densities_full WHERE name = 't.v'}), 'it is stale');
$mark = -s $node->logfile;
wait_for_visits();
unlike(slurp_file($node->logfile, $mark), qr/refitted/, 'the worker rests');
is(sql(q{SELECT action FROM kde_refresh('t')}), 'refitted', 'who asks does not wait');
add_blocks(100);
ok($node->poll_query_until('postgres', 'SELECT rows = (SELECT count(*) FROM t) FROM kde_densities_full'), 'and what took a moment rests for some');
$node->stop;
done_testing();
