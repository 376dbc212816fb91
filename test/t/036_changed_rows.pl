# Rows changed since the fit, in intervals, by whole blocks, and where a range reaches beyond what was fitted: those of other
# sessions, of many partitions, under an old snapshot, in a parallel worker, and where they are not known.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('changed');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nmax_parallel_workers_per_gather = 2");
$node->start;
$node->safe_psql('postgres', q{
  CREATE EXTENSION kde_aqp;
  CREATE TABLE t AS SELECT date '2026-01-01' + i / 2000 AS day FROM generate_series(0, 39999) AS i;
  SELECT kde_fit('t', 'day');
  CREATE TABLE p (k integer, v integer) PARTITION BY LIST (k);
  SELECT format('CREATE TABLE p%s PARTITION OF p FOR VALUES IN (%s)', i, i) FROM generate_series(1, 200) AS i \gexec
  INSERT INTO p SELECT 1 + i % 200, i % 100 FROM generate_series(1, 20000) AS i;
  SELECT kde_fit('p', 'v');
});
my $above = q{SELECT upper_bound - estimate FROM approx_count_ci('t.day', '2026-01-05', '2026-01-06')};
my $beyond = q{SELECT estimate, upper_bound FROM approx_count_ci('t.day', '2026-01-21', NULL)};
my ($reader, $old) = (open_session($node), open_session($node));
is(ask($reader, $above), '0', 'every row was read, and none changed');
ask($old, 'BEGIN ISOLATION LEVEL REPEATABLE READ');
is(ask($old, $above), '0', 'also to a transaction that goes on');

# Of blocks that are not proven as many rows as they may hold: 291 of the shortest in each.
my $blocks = q{SELECT pg_relation_size('t') / 8192};
my $before = ask($reader, $blocks);
sub between {
  my ($got, $least, $most, $name) = @_;
  return ok($got >= $least && $got <= $most, $name) || diag("got $got, not in [$least, $most]");
}

# 3,000 rows of a new day: a twentieth and more of all, three quarters of a day as wide.
$node->safe_psql('postgres', q{INSERT INTO t SELECT '2026-01-21' FROM generate_series(1, 3000)});
is(ask($reader, q{SELECT stale FROM kde_densities_full WHERE relation = 't'::regclass}), 'f', 'the density is not stale');
# The block that was the last one has changed as well.
my $most = 291 * (1 - $before + ask($reader, $blocks));
my $changed = ask($reader, $above);
between($changed, 3000, $most, 'rows of other sessions are in intervals');
my ($out, $err) = ask($reader, $beyond);
is($out, "0|$changed", 'a range beyond what was fitted may hold them all');
like($err, qr/WARNING:  the density of t\.day is stale\s+DETAIL:  rows changed: 3000; the range reaches beyond the values fitted/,
  'and is told from an empty one');
is((ask($reader, $beyond))[1], '', 'once a session and fit');

# Each worker counts for itself.
ask($reader, $_) for 'SET debug_parallel_query = on', 'SET force_parallel_mode = on';
is(ask($reader, $above), $changed, 'in a parallel worker as well');
ask($reader, $_) for 'RESET debug_parallel_query', 'RESET force_parallel_mode';

# The fit of before still answers who had its snapshot.
$node->safe_psql('postgres', q{SELECT kde_fit('t', 'day')});
is(ask($reader, $above), '0', 'a new fit has them');
is(ask($reader, $beyond), '3000|3000', 'also beyond');
is(ask($old, q{SELECT estimate FROM approx_count_ci('t.day')}), '40000', 'an old snapshot has the old fit');
ask($old, 'COMMIT');
is(ask($old, $above), '0', 'until it is over');
ask($old, 'BEGIN ISOLATION LEVEL REPEATABLE READ');
ask($old, 'SELECT 1');
$node->safe_psql('postgres', q{INSERT INTO t SELECT '2026-01-22' FROM generate_series(1, 70); SELECT kde_fit('t', 'day')});
is(ask($old, q{SELECT upper_bound >= 43000 AND lower_bound <= 43000, count FROM approx_count_ci('t.day'), (SELECT count(*) FROM t) AS s}),
  't|43000', 'its own fit holds what it sees');
ask($old, 'COMMIT');
is(ask($old, q{SELECT estimate FROM approx_count_ci('t.day')}), '43070', 'and the new one after it');
$old->quit;

# Of 200 partitions, the blocks of those that changed.
my $tree = q{SELECT upper_bound - estimate FROM approx_count_ci('p.v', 10, 19)};
is(ask($reader, $tree), '0', 'a partition tree');
ask($reader, 'INSERT INTO p SELECT 7, i FROM generate_series(1, 50) AS i');
between(scalar(ask($reader, $tree)), 50, 2 * 291, 'has the rows of all leaves');
ask($reader, q{CREATE UNLOGGED TABLE p201 PARTITION OF p FOR VALUES IN (201)});
ask($reader, 'INSERT INTO p SELECT 201, i FROM generate_series(1, 25) AS i');
# What a tree with an unlogged member proves is nothing: rows are those counted, which is said. Counting so many takes
# longer than an answer: then not in every command. But who changes rows and waits sees them.
my $told = '';
ok(wait_until(sub { my ($got, $said) = ask($reader, $tree); $told .= $said; $got == 75 }), 'those of new ones, too, as counted');
like($told, qr/NOTICE:  the density of p\.v answers as of .*\s+DETAIL:  What changed since is not known: it is no permanent heap table/,
  'and that is said');
is(() = $told =~ /NOTICE/g, 1, 'once');


# Beyond a thousand densities what is known of all is forgotten, and found anew.
$node->safe_psql('postgres', q{
  SELECT format('CREATE TABLE many%s AS SELECT 1 AS v', i) FROM generate_series(1, 1100) AS i \gexec
  SELECT count(kde_fit(format('many%s', i)::regclass, 'v')) FROM generate_series(1, 1100) AS i;});
my $contexts = q{SELECT sum(total_bytes) FROM pg_backend_memory_contexts WHERE name = 'kde_aqp staleness' OR parent = 'kde_aqp staleness'};
my $all = q{SELECT sum((approx_count_ci(format('many%s.v', i))).upper_bound) FROM generate_series(1, 1100) AS i};
is(ask($reader, $all), '1100', 'many densities');
# Whatever a thousand of them take, twenty thousand take no more.
ask($reader, $all) for 1 .. 9;
my $held = ask($reader, $contexts);
ask($reader, $all) for 1 .. 10;
cmp_ok(ask($reader, $contexts), '<=', 1.1 * $held, 'and memory for no more than a thousand');
is(ask($reader, $tree), '75', 'of one that was forgotten');
$reader->quit;

# After a crash the proof knows, what was only counted is lost, and nothing is added for that.
$node->safe_psql('postgres', q{CREATE TABLE still AS SELECT 1 AS v FROM generate_series(1, 100); SELECT kde_fit('still', 'v');
  INSERT INTO t SELECT '2026-01-05' FROM generate_series(1, 40)});
$node->stop('immediate');
$node->start;
$reader = open_session($node);
is(ask($reader, $tree), '0', 'unknown changes are in no interval');
is(ask($reader, q{SELECT upper_bound - estimate FROM approx_count_ci('p.v', 10, 19, changed_rows => 75)}), '75',
  'but those that the call says of');
is(ask($reader, q{SELECT changed_rows IS NULL FROM kde_densities_full WHERE relation = 'p'::regclass}), 't', 'and they are listed as such');
between(scalar(ask($reader, $above)), 40, 2 * 291, 'what the proof knows is');
is(ask($reader, q{SELECT lower_bound, upper_bound FROM approx_count_ci('still.v')}), '100|100', 'also that nothing changed');
$reader->quit;

$node->stop;
done_testing();
