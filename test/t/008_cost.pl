# What answers cost: the first in a backend, many in one statement, and the memory of a million. Times
# are printed, not asserted.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('cost');
$node->init;
$node->start;
$node->safe_psql('postgres', q{
  CREATE EXTENSION kde_aqp;
  CREATE TABLE t AS SELECT exp(hashint4(i) / 1e9)::numeric(10,2) AS v,
    '2026-01-01'::timestamp + i * interval '1 min' AS at FROM generate_series(1, 50000) AS i;
  SELECT kde_fit('t', 'v', seed => 1), kde_fit('t', 'at', seed => 1);
});

# Milliseconds by the server's clock, of a statement in a session.
sub milliseconds {
  my ($session, $sql) = @_;
  ask($session, $sql);
  return $node->safe_psql('postgres', q{
    SELECT round(extract(epoch FROM state_change - query_start) * 1000, 2)
    FROM pg_stat_activity WHERE pid = } . $session->{kde_pid});
}

my @first;
for (1 .. 5) {
  my $session = open_session($node);
  $session->{kde_pid} = backend_pid($session);
  push @first, milliseconds($session, q{SELECT approx_count('t.v', 0.5, 1.5)});
  $session->quit;
}
diag "first answer in a new backend: @first ms";
is(scalar(@first), 5, 'first answers');

my $session = open_session($node);
my $pid = $session->{kde_pid} = backend_pid($session);
my $bounds = q{FROM (SELECT generate_series(1, 100000) / 1e5::float8 AS x OFFSET 0) AS s};
for (
  [ 'approx_count', qq{SELECT sum(approx_count('t.v', x, x + 1)) $bounds} ],
  [ 'approx_sum', qq{SELECT sum(approx_sum('t.v', x, x + 1)) $bounds} ],
  [ 'approx_avg', qq{SELECT sum(approx_avg('t.v', x, x + 1)) $bounds} ],
  [ 'approx_count_ci', qq{SELECT sum((approx_count_ci('t.v', x, x + 1)).upper_bound) $bounds} ],
  [ 'approx_count of a required accuracy', qq{SELECT sum(approx_count('t.v', x, x + 1, max_relative_error => 10)) $bounds} ],
  [ 'approx_quantile', qq{SELECT sum(approx_quantile('t.v', x)) $bounds} ],
  [ 'kde_pdf', qq{SELECT sum(kde_pdf('t.v', x)) $bounds} ],
  [ 'approx_count by regclass', qq{SELECT sum(approx_count('t.v', x, x + 1)) $bounds} ],
  [ 'approx_count of a value', qq{SELECT sum(approx_count(d, x, x + 1)) FROM
      (SELECT kde_density('t.v') AS d OFFSET 0) AS d, LATERAL (SELECT x $bounds) AS b} ],
) {
  my ($what, $sql) = @$_;
  my $ms = milliseconds($session, $sql);
  diag "100000 calls of $what: $ms ms";
  my ($sum, $err) = ask($session, $sql);
  ok($err eq '' && $sum > 0, "100,000 calls of $what");
}

# Memory of the process of its own, in kB: now, and at its highest.
sub process_memory {
  my ($field) = @_;
  my %tasks = tasks_of($pid);
  return (split ' ', $tasks{$pid}{$field})[0];
}

# A set-returning function in the select list streams: no tuple store grows with it. What one call
# leaves behind is freed at the statement's end at the latest, so the high-water mark is looked at.
sub answers {
  my ($n) = @_;
  return qq{
    SELECT sum(approx_count('t.v', x, x + 1)), sum(approx_avg('t.v', x::text, (x + 1)::text)),
      sum(approx_quantile('t.v', x - trunc(x))), sum(approx_count('t.v', numrange(x::numeric, NULL))),
      max(approx_quantile_as('t.at', x - trunc(x), NULL::timestamp)), sum(kde_cdf('t.v', x)),
      sum(approx_sum('t.v', x, x + 1, max_relative_error => 100, otherwise => 'null')), sum((approx_avg_ci('t.v', x, x + 1)).lower_bound)
    FROM (SELECT generate_series(1, $n) * 7e-5::float8 AS x) AS s};
}
ask($session, answers(20_000));
my $contexts = q{SELECT sum(total_bytes) FROM pg_backend_memory_contexts};
my ($high, $now, $allocated) = (process_memory('VmHWM'), process_memory('RssAnon'), ask($session, $contexts));
my ($out, $err) = ask($session, answers(200_000));
is($err, '', 'a million answers and more in one statement');
my ($grew_high, $grew_now) = (process_memory('VmHWM') - $high, process_memory('RssAnon') - $now);
my $grew_allocated = ask($session, $contexts) - $allocated;
diag "over 1,600,000 answers: peak grew by $grew_high kB, process by $grew_now kB, contexts by $grew_allocated bytes";
# 8 bytes lost by one of the eight calls in a row would be 1.6 MB over its 200,000.
cmp_ok($grew_high, '<', 1500, 'the peak of memory does not grow');
cmp_ok($grew_now, '<', 1500, 'nor what is held');
cmp_ok($grew_allocated, '<', 65536, 'nor what the contexts hold');

# Fits in one session leave nothing behind either: each holds its sample, 0.8 MB of doubles, and more.
ask($session, q{SELECT kde_fit('t', 'v', seed => 2)}) for 1 .. 3;
($now, $allocated) = (process_memory('RssAnon'), ask($session, $contexts));
ask($session, q{SELECT kde_fit('t', 'v', seed => 2)}) for 1 .. 10;
$grew_now = process_memory('RssAnon') - $now;
$grew_allocated = ask($session, $contexts) - $allocated;
diag "over 10 fits: process by $grew_now kB, contexts by $grew_allocated bytes";
# Ten samples leaked would be 4 MB of doubles (50,000 rows) and as much of copies.
cmp_ok($grew_now, '<', 3000, 'fits leave no memory behind');
cmp_ok($grew_allocated, '<', 65536, 'nor in contexts');

# And fits that fail.
my $failing = q{SELECT kde_fit('t', 'v', method => 'plugin', seed => 2)};
ask($session, 'SET statement_timeout = 20');
ask($session, 'SET kde_aqp.bandwidth_rows = 50000');
ask($session, q{SET kde_aqp.simd = 'reference'});
ask($session, $failing) for 1 .. 3;
($now, $allocated) = (process_memory('RssAnon'), undef);
my $failed = 0;
for (1 .. 10) { $failed += (ask($session, $failing))[1] =~ /statement timeout/ }
is($failed, 10, 'ten fits timed out');
$grew_now = process_memory('RssAnon') - $now;
diag "over 10 fits timed out: process by $grew_now kB";
cmp_ok($grew_now, '<', 3000, 'fits that are stopped leave no memory behind');
$session->quit;

$node->stop;
done_testing();
