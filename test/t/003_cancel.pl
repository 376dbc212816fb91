# Requests to stop a fit, in each phase of it: how long they take, and that they leave nothing.
#
# With KDE_AQP_LONG (`make test-long`) at more moments of each. The figures are printed. What is asserted
# is only that no request waits for the phase to end, which would take minutes.
use strict;
use warnings;

use KdeTest;
use List::Util qw(max);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $patience_ms = 5000;
my $long = $ENV{KDE_AQP_LONG};

my $node = PostgreSQL::Test::Cluster->new('cancel');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nshared_buffers = 32MB");
$node->start;
# `small` is read in milliseconds and selected for in minutes; `large` is read in a second.
$node->safe_psql('postgres', q{
  CREATE EXTENSION kde_aqp;
  CREATE TABLE small AS SELECT ln(i) * 100 AS v FROM generate_series(1, 100000) AS i;
  CREATE TABLE million AS SELECT ln(i) * 100 AS v, (i % 6007) * 0.25 AS price FROM generate_series(1, 1000000) AS i;
  CREATE UNLOGGED TABLE large AS SELECT ln(i) * 100 AS v FROM generate_series(1, 3000000) AS i;
  SELECT kde_fit('small', 'v', seed => 1, method => 'silverman');
  SELECT kde_fit('large', 'v', seed => 1, method => 'silverman');
});
install_watchers($node);
my $catalog = fingerprint($node);
my $answer = q{SELECT approx_count('small.v', 500, 800)};
my $answered = $node->safe_psql('postgres', $answer);

my @phases = (
  ['scan of every row, streamed', 'scan', q{SELECT kde_fit('large', 'v', sample_rows => -1, seed => 2)},
    'auto'],
  ['scan of a sample', 'scan', q{SELECT kde_fit('large', 'v', sample_rows => 1000000, seed => 2)},
    'auto'],
  ['selection, reference', 'select', q{SELECT kde_fit('small', 'v', seed => 2, exact => true)}, 'reference'],
  ['selection, vectors', 'select',
    q{SELECT kde_fit('million', 'v', sample_rows => 1000000, seed => 2, exact => true)}, 'auto'],
);

# Threads of the backend other than its first: bound in number, deaf to signals, and at rest.
sub check_threads {
  my ($pid, $what) = @_;
  my $limit = $node->safe_psql('postgres',
    q{SET max_parallel_maintenance_workers = 8; SELECT threads FROM kde_devices() WHERE device = 'cpu'});
  my %tasks = tasks_of($pid);
  cmp_ok(scalar(keys %tasks), '<=', $limit, "$what: at most $limit threads");
  delete $tasks{$pid};
  # SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGTERM, SIGCHLD, SIGURG; bit n - 1 is signal n.
  my $mask = 0;
  $mask |= 1 << ($_ - 1) for 1, 2, 3, 10, 12, 14, 15, 17, 23;
  my @hearing = grep { (hex($tasks{$_}{SigBlk}) & $mask) != $mask } keys %tasks;
  is(scalar(@hearing), 0, "$what: " . keys(%tasks) . " threads block the signals");
  ok(wait_until(sub {
      my %now = tasks_of($pid);
      delete $now{$pid};
      return !grep { $_->{State} !~ /^S/ } values %now;
    }), "$what: and are at rest");
}

sub check_nothing_left {
  my ($what) = @_;
  is(fingerprint($node), $catalog, "$what: the catalog is unchanged");
  is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_ls_tmpdir()}), '0',
    "$what: no temporary files");
  is($node->safe_psql('postgres', q{
       SELECT count(*) FROM pg_locks WHERE classid = 'kde_aqp.fitted'::regclass}), '0',
    "$what: no locks");
}

# By how much the last statement of a session ran over its timeout, by the server's own record.
sub ms_over {
  my ($pid, $timeout) = @_;
  return $node->safe_psql('postgres', qq{
    SELECT round(extract(epoch FROM state_change - query_start) * 1000 - $timeout, 1)
    FROM pg_stat_activity WHERE pid = $pid});
}

# The least of three measurements where the first is beyond patience: a machine stands still for seconds now
# and then, and a statement that does not look for requests is late each time. Nothing where there is none.
sub least_ms {
  my ($measure) = @_;
  my $least;
  for (1 .. 3) {
    my $ms = $measure->() // return $least;
    $least = $ms if !defined $least || $ms < $least;
    last if $least < $patience_ms;
  }
  return $least;
}

for (@phases) {
  my ($what, $phase, $fit, $engine) = @$_;
  # A session's second fit finds the threads of its first, which hide when selecting begins: so each
  # request gets a session of its own.
  my $fitting = sub {
    my ($before) = @_;
    my $session = open_session($node, 'postgres', slow_fit($engine));
    my $pid = backend_pid($session);
    ask($session, $_) for @{ $before // [] };
    send_sql($session, $fit);
    return ($session, $pid);
  };

  my @ms;
  for my $try (1 .. ($long ? 3 : 1)) {
    my $session;
    my $pid;
    push @ms, least_ms(sub {
      $session->quit if $session;
      ($session, $pid) = $fitting->();
      my $ms = $node->safe_psql('postgres', qq{SELECT stop_fit($pid, '$phase', 'cancel')});
      like((end_sql($session))[1], qr/canceling statement due to user request/, "$what: cancelled");
      return $ms;
    });
    if ($try == 1) {
      is(ask($session, $answer), $answered, "$what: the session answers");
      check_threads($pid, $what) if $phase eq 'select';
      check_nothing_left($what);
    }
    $session->quit;
  }
  diag "$what: ended @ms ms after pg_cancel_backend";
  cmp_ok(max(@ms), '<', $patience_ms, "$what: did not wait for the phase to end");

  # Inside a transaction, whose savepoint catches the error.
  my ($session, $pid) = $fitting->([ 'BEGIN', 'SAVEPOINT s' ]);
  $node->safe_psql('postgres', qq{SELECT stop_fit($pid, '$phase', 'cancel')});
  like((end_sql($session))[1], qr/canceling statement/, "$what: cancelled in a transaction");
  ask($session, 'ROLLBACK TO s');
  is(ask($session, $answer), $answered, "$what: the transaction goes on after its savepoint");
  ask($session, 'COMMIT');
  check_nothing_left("$what, in a subtransaction");

  my $timeout = $phase eq 'scan' ? 50 : 500;
  ask($session, "SET statement_timeout = $timeout");
  my $over = least_ms(sub {
    like((ask($session, $fit))[1], qr/canceling statement due to statement timeout/, "$what: timed out");
    return ms_over($pid, $timeout);
  });
  diag "$what: ended $over ms after statement_timeout";
  cmp_ok($over, '<', $patience_ms, "$what: statement_timeout did not wait either");
  ask($session, 'RESET statement_timeout');
  is(ask($session, $answer), $answered, "$what: the session answers after a timeout");
  check_nothing_left("$what, timed out");
  $session->quit;

  my $ended = least_ms(sub {
    ($session, $pid) = $fitting->();
    my $ms = $node->safe_psql('postgres', qq{SELECT stop_fit($pid, '$phase', 'terminate')});
    ok(wait_until(sub { !-d "/proc/$pid" }), "$what: the process is gone, threads and all");
    $session->{run}->finish;
    return $ms;
  });
  diag "$what: ended $ended ms after pg_terminate_backend";
  cmp_ok($ended, '<', $patience_ms, "$what: termination");
  check_nothing_left("$what, terminated");
}

# Timeouts spread over the whole of one fit, so that also its short phases are hit: sorting, looking
# for a lattice, estimating, storing. Half of the blocks, as what is read whole needs no estimate.
for (
  [ 'of half a million values', 'v', 500000, 2000 ],
  [ 'of half a million lattice points', 'price', 500000, 2000 ],
  [ 'of every row', 'v', -1, 2000 ])
{
  my ($what, $column, $rows, $blocks) = @$_;
  my $fit = qq{SELECT FROM kde_fit('million', '$column', sample_rows => $rows, seed => 3)};
  my $session = open_session($node, 'postgres', "SET maintenance_work_mem = '1GB'",
    "SET kde_aqp.sample_blocks = $blocks");
  my $pid = backend_pid($session);
  ask($session, 'BEGIN');
  ask($session, $fit);
  my $whole = ask($session, qq{SELECT total_ms FROM kde_densities_full WHERE name = 'million.$column'});
  cmp_ok($whole, '>', 0, "a whole fit $what");
  ask($session, 'ROLLBACK');
  my ($worst, $worst_at, $hits) = (0, 0, 0);
  my $steps = $long ? 15 : 5;
  # The first step is small, as the whole fit may have been slowed by something else.
  for my $step (0.2, 1 .. $steps) {
    my $timeout = int($whole * $step / $steps) || 1;
    my $over = least_ms(sub {
      ask($session, 'BEGIN');
      ask($session, "SET LOCAL statement_timeout = $timeout");
      my (undef, $err) = ask($session, $fit);
      my $ms = $err =~ /statement timeout/ ? ms_over($pid, $timeout) : undef;
      ask($session, 'ROLLBACK');
      return $ms;
    }) // next;
    ++$hits;
    ($worst, $worst_at) = ($over, $timeout) if $over > $worst;
  }
  diag "a fit $what, $whole ms, timed out at $hits of $steps points: worst $worst ms late, at $worst_at ms";
  cmp_ok($hits, '>', 0, "$what: some of the timeouts hit");
  cmp_ok($worst, '<', $patience_ms, "$what: none waited long");
  check_nothing_left("$what: timeouts all over a fit");
  $session->quit;
}

# Bandwidths of arrays, exact and in several columns: each would take a minute or more.
{
  $node->safe_psql('postgres', q{
    CREATE TABLE arrays AS SELECT
      (SELECT array_agg(v + i % 7) FROM (SELECT v, row_number() OVER () AS i FROM million) AS m) AS v,
      (SELECT array_agg(ARRAY[sin(i), cos(i * 1.7), sin(i * 2.3), ln(i), sin(i * 3.1), cos(i * 4.3),
                              sin(i * 5.9), cos(i * 0.1)])
       FROM generate_series(1, 200000) AS i) AS points});
  my $session = open_session($node);
  my $pid = backend_pid($session);
  for my $call (
    q{kde_bandwidth(v, exact => true)},
    q{kde_bandwidth(v, 'lscv', exact => true)},
    q{kde_bandwidth(v, 'sheather_jones', exact => true)},
    q{kde_bandwidth(v, 'smoothed_cv', exact => true)},
    (map { "kde_bandwidth_matrix(points, '$_')" }
      qw(lscv lscv_grid lscv_matrix lscv_diagonal lscv_matrix_simplex)),
    q{kde_evaluate(points, points)},
    q{set_config('kde_aqp.simd', 'reference', true) || kde_bandwidth_matrix(points)::text})
  {
    my ($worst, $hits) = (0, 0);
    for my $timeout ($long ? (200, 700, 1500) : 400) {
      ask($session, "SET statement_timeout = $timeout");
      my $over = least_ms(sub {
        my (undef, $err) = ask($session, "SELECT $call FROM arrays");
        return $err =~ /statement timeout/ ? ms_over($pid, $timeout) : undef;
      }) // next;
      ++$hits;
      $worst = $over if $over > $worst;
    }
    ask($session, 'RESET statement_timeout');
    diag "$call: at most $worst ms late";
    cmp_ok($hits, '>', 0, "$call: timed out");
    cmp_ok($worst, '<', $patience_ms, "$call: did not wait");
    is(ask($session, $answer), $answered, "$call: the session answers");
  }
  $session->quit;
}

# Every function that may take long, over a million rows: timeouts spread over its first seconds. What
# pg_sleep() takes to end says how much of it is the machine's.
{
  $node->safe_psql('postgres', q{
    CREATE UNLOGGED TABLE wide AS SELECT i % 100 AS g,
      sin(i) AS c1, cos(i * 1.7) AS c2, sin(i * 2.3) AS c3, ln(i) AS c4, sin(i * 3.1) AS c5, cos(i * 4.3) AS c6,
      sin(i * 5.9) AS c7, cos(i * 0.1) AS c8, sin(i * 6.1) AS c9, cos(i * 7.3) AS c10, sin(i * 8.7) AS c11,
      cos(i * 9.1) AS c12, sin(i * 0.3) AS c13, cos(i * 0.7) AS c14, sin(i * 0.9) AS c15, cos(i * 1.1) AS c16
      FROM generate_series(1, 1000000) AS i;
    SET maintenance_work_mem = '1GB';
    SET kde_aqp.sample_blocks = 1000000;
    SET kde_aqp.joint_bytes = '16MB';
    SELECT kde_fit('wide', ARRAY['c1', 'c2', 'c3'], sample_rows => 1000000, seed => 1);
    SELECT kde_fit('wide', c) FROM unnest('{c4,c5,c6,c7,c8}'::name[]) AS c;
    SELECT kde_fit('wide', 'c9', measures => '{c10}', group_by => 'g');
    CREATE TABLE texts AS SELECT kde_density('wide', ARRAY['c1', 'c2', 'c3'])::text AS d;
    CREATE TABLE parts AS SELECT g, kde_agg(c4) AS d FROM wide GROUP BY g;
    CREATE TABLE small_parts AS SELECT d FROM generate_series(1, 30000) AS g,
      LATERAL (SELECT kde_agg(i * sqrt(2) + g * 0.37) AS d FROM generate_series(1, 3) AS i) AS p;
  });
  $catalog = fingerprint($node);
  my $one = sub { "SELECT 1 FROM kde_fit('million', 'v', sample_rows => 1000000, seed => 3, $_[0])" };
  my $two = sub { "SELECT 1 FROM kde_fit('wide', ARRAY['c1', 'c2'], sample_rows => 1000000, seed => 3, method => '$_[0]')" };
  my $all = join ', ', map { "'c$_'" } 1 .. 16;
  my $sixteen = sub { "SELECT 1 FROM kde_fit('wide', ARRAY[$all], sample_rows => 1000000, seed => 3, method => '$_[0]')" };
  my $session = open_session($node, 'postgres', "SET maintenance_work_mem = '1GB'",
    'SET kde_aqp.sample_blocks = 1000000', 'SET kde_aqp.bandwidth_rows = 1000000');
  my $pid = backend_pid($session);
  for (
    [ 'pg_sleep()', 'SELECT pg_sleep(60)' ],
    (map { [ "kde_fit, $_", $one->("method => '$_'") ] }
      qw(auto plugin lscv sheather_jones smoothed_cv silverman normal_reference scott)),
    (map { [ "kde_fit, $_, exact", $one->("method => '$_', exact => true") ] }
      qw(auto plugin lscv sheather_jones smoothed_cv)),
    [ 'kde_fit, filter', $one->("filter => 'price > 3'") ],
    [ 'kde_fit, expression', q{SELECT 1 FROM kde_fit('million', ARRAY['v * 2 + price'], sample_rows => 1000000, seed => 3)} ],
    (map { [ "kde_fit, 2 columns, $_", $two->($_) ] }
      qw(auto lscv lscv_matrix lscv_diagonal plugin_product normal_reference scott)),
    (map { [ "kde_fit, 16 columns, $_", $sixteen->($_) ] } qw(auto lscv_matrix plugin_product scott)),
    [ 'kde_refresh', q{SELECT 1 FROM kde_refresh('wide', force => true)} ],
    [ 'kde_agg', 'SELECT kde_agg(c4) FROM wide' ],
    [ 'kde_agg, 100 groups', 'SELECT count(d) FROM (SELECT kde_agg(c4) AS d FROM wide GROUP BY g) AS s' ],
    [ 'rollup', 'SELECT rollup(d) FROM parts CROSS JOIN generate_series(1, 1000)' ],
    [ 'rollup of small ones', 'SELECT rollup(d) FROM small_parts CROSS JOIN generate_series(1, 20)' ],
    [ 'kde_drift', q{SELECT * FROM kde_drift('wide (c1, c2, c3)', sample_rows => 500000)} ],
    [ 'kde_conditional', q{SELECT count(*) FROM kde_conditional('wide.c2', (SELECT array_agg(i / 1000.0) FROM generate_series(1, 1000) AS i), measure => 'c1')} ],
    [ 'boxes', q{SELECT sum(approx_count('wide (c1, c2)', lower => ARRAY[0, i / 1000.0], upper => ARRAY[1, 1.0]))
        FROM generate_series(1, 1000) AS i} ],
    [ 'kde_points', q{SELECT count(*) FROM generate_series(1, 1000), kde_points(kde_density('small.v'), 10000)} ],
    [ 'approx_histogram', q{SELECT count(*) FROM generate_series(1, 1000), approx_histogram('small.v'::text, bins => 10000)} ],
    [ 'text input', 'SELECT count(d::kde) FROM texts CROSS JOIN generate_series(1, 20)' ])
  {
    my ($what, $sql) = @$_;
    my ($worst, $worst_at, $hits, $failed) = (0, 0, 0, '');
    # The first is one that a fast machine does not outrun.
    for my $timeout (5, $long ? (80, 300, 800, 1500) : (80, 300)) {
      my $over = least_ms(sub {
        my @messages = map { (ask($session, $_))[1] } 'BEGIN', "SET LOCAL statement_timeout = $timeout", $sql;
        my $timed_out = $messages[2] =~ /statement timeout/;
        $failed = "at $timeout ms: @messages" if !$timed_out && $messages[2] =~ /ERROR/;
        my $ms = $timed_out ? ms_over($pid, $timeout) : undef;
        # A timeout of a statement that is just done may end the next, after PostgreSQL's own aggregates too.
        1 while (ask($session, 'ROLLBACK'))[1] =~ /statement timeout/;
        return $ms;
      }) // next;
      ++$hits;
      ($worst, $worst_at) = ($over, $timeout) if $over > $worst;
    }
    is($failed, '', "$what: no other error");
    diag "$what: at most $worst ms late, at $worst_at ms of $hits timeouts";
    cmp_ok($hits, '>', 0, "$what: timed out");
    cmp_ok($worst, '<', $patience_ms, "$what: did not wait");
  }
  check_nothing_left('timeouts of every function');

  # A wait for another's lock.
  my $holder = open_session($node);
  ask($holder, 'BEGIN');
  ask($holder, q{SELECT kde_drop('small.v')});
  ask($session, 'SET statement_timeout = 200');
  my (undef, $err) = ask($session, q{SELECT kde_drop('small.v')});
  like($err, qr/statement timeout/, 'kde_drop: a wait for the lock ends');
  diag 'kde_drop under lock: ' . ms_over($pid, 200) . ' ms late';
  ask($holder, 'ROLLBACK');
  $_->quit for $session, $holder;
}

$node->stop;
done_testing();
