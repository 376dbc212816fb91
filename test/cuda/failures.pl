# `make cuda-tap`: a card that fails, with a real one. Its program is killed, stopped and ended in the
# middle of what eight sessions asked of it, and the server with it: right answers, the messages of
# docs/gpu.md, no session lost, nothing left behind. What each case took is printed at the end, beside what
# the sessions were told; no time is asserted.
#
#   KDE_AQP_CUDAD      the program, with arguments (fake_cudad --fail=boast --fail=slow=2000)
#   KDE_AQP_ROWS       values in a column (1,048,576)
#   KDE_AQP_POINTS     points of a bandwidth matrix (32,768)
#   KDE_AQP_DIMENSIONS its columns (16)
#   KDE_AQP_QUERIES    points at which as many are evaluated, in two columns (1,048,576)
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $command = $ENV{KDE_AQP_CUDAD} or die 'KDE_AQP_CUDAD must name the program';
my $rows = $ENV{KDE_AQP_ROWS} // 1_048_576;
my $points = $ENV{KDE_AQP_POINTS} // 32_768;
my $dimensions = $ENV{KDE_AQP_DIMENSIONS} // 16;
my $queries = $ENV{KDE_AQP_QUERIES} // 1_048_576;
# Distinct values of a column: by the processor, which adds up ties at once, its exact sums are a matter
# of seconds then. A card does not, and is predicted not to.
my $distinct = int($rows / 50);

my $node = PostgreSQL::Test::Cluster->new('card');
$node->init;
my $directory = $node->basedir;
my ($program, $arguments) = make_program($directory, $command);
sub program_pid { return pid_in($directory) }
$node->append_conf('postgresql.conf', <<"CONF");
kde_aqp.cuda_program = '$program'
kde_aqp.bandwidth_rows = $rows
kde_aqp.sample_blocks = 1000000
maintenance_work_mem = '1GB'
shared_buffers = '512MB'
max_wal_size = '8GB'
jit = off
restart_after_crash = on
CONF
$node->start;

my $columns = join ', ', map { "100 * ln(j + $_) + $_ * sin(j) AS v$_" } 1 .. 8;
# Of a matrix: normal points in columns that share a factor (Box & Muller's deviates; OFFSET 0: drawn once).
my $names = join ', ', map { "x$_" } 1 .. $dimensions;
my $coordinates = join ', ', map { "z[1] + z[$_ + 1] AS x$_" } 1 .. $dimensions;
$node->safe_psql('postgres', qq{
  CREATE EXTENSION kde_aqp;
  CREATE TABLE t AS SELECT $columns FROM (SELECT i % $distinct AS j FROM generate_series(1, $rows) AS i) AS s;
  VACUUM ANALYZE t;
  SELECT setseed(0.5);
  CREATE TABLE m1 AS SELECT $coordinates FROM (
    SELECT i, array_agg(sqrt(-2 * ln(1 - u)) * cos(2 * pi() * v)) AS z
    FROM (SELECT i, random() AS u, random() AS v FROM generate_series(1, $points) AS i, generate_series(0, $dimensions) OFFSET 0)
      AS drawn GROUP BY i) AS normal;
  CREATE TABLE m2 AS SELECT x1 * x1 AS x1, @{[ $names =~ s/^x1, //r ]} FROM m1;
  CREATE TABLE points AS SELECT array_agg(ARRAY[$names]) AS p FROM m1;
  CREATE TABLE queries AS SELECT array_agg(ARRAY[sin(i * 1.7) * ln(i), cos(i * 2.3)]) AS p
    FROM generate_series(1, $queries) AS i;});

# --- what is asked -----------------------------------------------------------------------------------
# Each with the engine that did it, one number or several, and when it ended.
my $now = q{extract(epoch FROM clock_timestamp())};

sub fit_of {
  my ($column) = @_;
  return qq{SELECT FROM kde_fit('t', '$column', method => 'plugin', exact => true, seed => 1, sample_rows => $rows);
    SELECT engine, bandwidth, $now FROM kde_densities_full WHERE name = 't.$column'};
}

sub joint_fit_of {
  my ($table) = @_;
  return qq{SELECT FROM kde_fit('$table', '{$names}'::text[], method => 'lscv_matrix', seed => 1, sample_rows => $points);
    SELECT engine, bandwidth_matrix, $now FROM kde_densities_full WHERE relation = '$table'::regclass};
}
my $matrix = qq{SELECT '', kde_bandwidth_matrix(p), $now FROM points};
my $densities = qq{SELECT '', (SELECT ARRAY[sum(x), max(x)] FROM unnest(kde_evaluate(p, p,
    ARRAY[[0.01, 0], [0, 0.01]])) AS x), $now FROM queries};
my @lines = map { fit_of("v$_") } 1 .. 8;
my @mixed = ($matrix, joint_fit_of('m1'), joint_fit_of('m2'), $densities, $densities, map { fit_of("v$_") } 1 .. 3);

# --- eight sessions ------------------------------------------------------------------------------------
my $watcher = open_session($node);
my @times;

sub computing { return scalar ask($watcher, q{SELECT count(*) FROM kde_progress WHERE device = 'cuda'}) }

sub jobs {
  return scalar ask($watcher, q{SELECT coalesce(sum(jobs), 0) FROM kde_devices() WHERE device <> 'cpu'});
}

sub ready { return scalar ask($watcher, q{SELECT count(*) FROM kde_devices() WHERE device = 'cuda:0' AND status = 'ready'}) }

# Whose working directory the server's is: its processes, and its program.
sub processes {
  return grep { (readlink("/proc/$_/cwd") // '') eq $node->data_dir && is_alive($_) } map { m{(\d+)$} } glob '/proc/[0-9]*';
}

# The descriptors of a backend that are not files of the server.
sub loose_descriptors {
  my ($backend) = @_;
  return scalar grep { (readlink($_) // '') =~ /^socket|memfd/ } glob "/proc/$backend/fd/*";
}

sub files_beside {
  return join ' ', sort grep { /kde_aqp/ } map { glob $node->data_dir . "/$_/*" } 'pg_stat_tmp', 'base/pgsql_tmp';
}

sub begin {
  my ($asked) = @_;
  my @sessions = map { open_session($node, 'postgres', 'SET kde_aqp.device = cuda') } @$asked;
  for (@sessions) {
    $_->{kde_backend} = backend_pid($_);
    $_->{kde_sockets} = loose_descriptors($_->{kde_backend});
  }
  send_sql($sessions[$_], $asked->[$_]) for 0 .. $#sessions;
  return @sessions;
}

# The sums of all sessions have begun, and one is done; a session that was quick may have ended.
sub wait_for_the_middle {
  my ($what, $before, @sessions) = @_;
  my $ended = sub { grep { $_->{run}->pump_nb; $_->{stdout} =~ /^\Q$_->{kde_mark}\E/m } @sessions };
  ok(wait_until(sub { my $n = $ended->(); $n < @sessions && computing() + $n >= @sessions && jobs() > $before }),
    "$what: in the middle");
  return;
}

# Ends the sessions: [engine, numbers, messages, seconds since the signal] of each.
sub end {
  my ($what, $since, @sessions) = @_;
  my @results;
  my $left = 0;
  for (@sessions) {
    my ($out, $err) = end_sql($_);
    $err =~ s/^psql:<stdin>:\d+: //mg;
    # What the search has to say of itself.
    $err =~ s/^NOTICE:  the (search for the |)bandwidth .*\n?//mg;
    $err =~ s/\s+\z//;
    my ($engine, $numbers, $end) = split /\|/, $out;
    push @results, [ $engine // '', $numbers // 'NaN', $err, ($end // $since) - $since ];
    $left += loose_descriptors($_->{kde_backend}) - $_->{kde_sockets};
    is(backend_pid($_), $_->{kde_backend}, "$what: the session goes on");
    $_->quit;
  }
  is($left, 0, "$what: no session keeps a socket or a file of memory");
  return @results;
}

# The largest difference between numbers, relative to the largest of them.
sub difference {
  my ($a, $b) = map { [ split /[^-+.\deE]+/, s/^[{]+|[}]+$//gr ] } @_;
  return 'NaN' unless @$a == @$b;
  my ($largest, $difference) = (0, 0);
  for (0 .. $#$a) {
    return 'NaN' unless "$a->[$_] $b->[$_]" =~ /^-?\d\S* -?\d\S*$/;
    $largest = abs $b->[$_] if abs $b->[$_] > $largest;
    $difference = abs($a->[$_] - $b->[$_]) if abs($a->[$_] - $b->[$_]) > $difference;
  }
  return $largest > 0 ? $difference / $largest : 'NaN';
}

# Not available: it was gone before the sample had been handed over.
my $came_back = qr/NOTICE:  the device service (?:failed and came back|was not available for a while); the sums were computed by the device/;
my $near_exact = qr/NOTICE:  the device service (?:failed|is not available); near-exact sums take the place of the exact ones\nDETAIL:/;
my $by_processor = qr/NOTICE:  the device service (?:failed|is not available); the processor will take about \d+ \w+\n/;

# What the sessions took, and to whom it fell.
sub keep_time {
  my ($what, $told, @results) = @_;
  my %count;
  ++$count{ $_->[2] =~ $came_back ? 'the card, back' : $_->[2] =~ $near_exact ? 'near-exact sums'
      : $_->[2] eq '' ? 'undisturbed' : 'the processor' } for @results;
  my ($longest) = sort { $b <=> $a } map { $_->[3] } @results;
  push @times, sprintf('%-34s %6.1f s  %-60s %s', $what, $longest, join(', ', map { "$count{$_} $_" } sort keys %count), $told);
  return;
}

sub nothing_left {
  my ($what) = @_;
  ok(wait_until(\&ready), "$what: the service is ready again");
  my $worker = parent_of(program_pid());
  # One that has ended by now has no parent.
  my @programs = grep { (eval { parent_of($_) } // 0) == $worker } processes();
  is("@programs", program_pid(), "$what: one program");
  my @files = map { $node->data_dir . "/pg_stat_tmp/kde_aqp_device.$_" } qw(lock sock state);
  is(files_beside(), "@files", "$what: no file beside those of the service");
  start_anew();
  return;
}

# A changed limit does so, and a failure after it is the first one again, with a pause of a second.
my $limit = 64;

sub start_anew {
  my $old = program_pid();
  ++$limit;
  $node->safe_psql('postgres', "LOAD 'kde_aqp'; ALTER SYSTEM SET kde_aqp.gpu_max_jobs = $limit");
  $node->reload;
  ok(wait_until(sub { program_pid() != $old }) && wait_until(\&ready), 'started anew');
  return;
}

# --- undisturbed ------------------------------------------------------------------------------------------
my $start_of_log = -s $node->logfile;
my (@expected, @expected_mixed);
{
  my @sessions = map { open_session($node, 'postgres', 'SET kde_aqp.device = cpu') } @lines;
  send_sql($sessions[$_], $lines[$_]) for 0 .. $#lines;
  for (@sessions) {
    my ($out, $err) = end_sql($_);
    my ($engine, $bandwidth) = split /\|/, $out;
    like($engine, qr/^(simd|reference)/, 'expected: by the processor');
    is($err, '', 'expected: no message');
    push @expected, $bandwidth;
    $_->quit;
  }
}
for (1, 2) {
  my $since = time;
  my @results = end("undisturbed $_", $since, begin(\@lines));
  is($results[$_][0], 'cuda', 'undisturbed: by the card') for 0 .. 7;
  is($results[$_][2], '', 'undisturbed: no message') for 0 .. 7;
  cmp_ok(difference($results[$_][1], $expected[$_]), '<', 1e-9, 'undisturbed: as by the processor') for 0 .. 7;
  keep_time($_ == 1 ? 'undisturbed, with its start' : 'undisturbed', '', @results);
}
{
  my $since = time;
  my @results = end('several columns', $since, begin(\@mixed));
  is($results[$_][0], 'cuda', 'several columns: by the card') for 1, 2, 5 .. 7;
  is($results[$_][2], '', 'several columns: no message') for 0 .. 7;
  @expected_mixed = map { $_->[1] } @results;
  keep_time('several columns, undisturbed', '', @results);
}

# --- a failure in the middle ---------------------------------------------------------------------------------
# Those that were done may be without a message, but not most. A card's sums have the same bits every time.
sub check_back {
  my ($what, $expected, $tolerance, @results) = @_;
  for (0 .. $#results) {
    my ($engine, $numbers, $messages) = @{ $results[$_] };
    is($engine, 'cuda', "$what, $_: by the card") if $engine ne '';
    cmp_ok(difference($numbers, $expected->[$_]), '<=', $tolerance, "$what, $_: numbers");
    like($messages, qr/^($came_back\nDETAIL:  .*)?$/, "$what, $_: messages");
  }
  cmp_ok(scalar(grep { $_->[2] ne '' } @results), '>=', 4, "$what: in the middle of most");
  return;
}

sub disturb {
  my ($what, $asked, $signal) = @_;
  my $before = jobs();
  my @sessions = begin($asked);
  wait_for_the_middle($what, $before, @sessions);
  my $old = program_pid();
  my $since = time;
  is(kill($signal, $old), 1, "$what: SIG$signal");
  return ($since, $old, @sessions);
}

my $ten = 'told: 10 s of waiting at most';
for my $signal ('KILL', 'TERM', 'STOP') {
  for ([ "SIG$signal", \@lines, \@expected, 1e-9 ], [ "several columns, SIG$signal", \@mixed, \@expected_mixed, 0 ]) {
    my ($what, $asked, $expected, $tolerance) = @$_;
    my ($since, $old, @sessions) = disturb($what, $asked, $signal);
    my @results = end($what, $since, @sessions);
    check_back($what, $expected, $tolerance, @results);
    keep_time($what, $ten, @results);
    ok(wait_until(sub { !is_alive($old) }), "$what: the program is gone");
    nothing_left($what);
  }
}

# The next program too, as soon as it is there, and eight sessions wait: for the one after it.
{
  my $what = 'SIGKILL, and again while they wait';
  my ($since, $old, @sessions) = disturb($what, \@lines, 'KILL');
  ok(wait_until(sub { program_pid() != $old }), "$what: the next");
  is(kill('KILL', program_pid()), 1, "$what: killed");
  my @results = end($what, $since, @sessions);
  check_back($what, \@expected, 1e-9, @results);
  keep_time($what, $ten, @results);
  nothing_left($what);
}

# In the middle again: a sample is not handed over a third time.
{
  my $what = 'SIGKILL twice';
  my ($since, $old, @sessions) = disturb($what, \@lines, 'KILL');
  ok(wait_until(sub { program_pid() != $old }) && wait_until(\&ready), "$what: back");
  # Beyond eight samples handed over, where a program counts those.
  wait_for_the_middle("$what, again", jobs() + 8, @sessions);
  is(kill('KILL', program_pid()), 1, "$what: killed again");
  my @results = end($what, $since, @sessions);
  for (0 .. 7) {
    my ($engine, $bandwidth, $messages) = @{ $results[$_] };
    my $undone = $messages =~ $near_exact;
    is($engine, $undone ? 'spectral' : 'cuda', "$what, $_: engine");
    cmp_ok(difference($bandwidth, $expected[$_]), '<', $undone ? 1e-6 : 1e-9, "$what, $_: bandwidth");
    like($messages, qr/^($came_back\nDETAIL:  .*|$near_exact.*\nHINT:  .*)?$/, "$what, $_: messages");
  }
  cmp_ok(scalar(grep { $_->[2] =~ $near_exact } @results), '>=', 4, "$what: near-exact sums of most");
  keep_time($what, $ten, @results);
  nothing_left($what);
}

# For good. Where there are near-exact sums they take over; else the user is told, and stops it.
{
  my $what = 'for good';
  replace_file($arguments, '--no-such-argument');
  my ($since, $old, @sessions) = disturb($what, \@mixed, 'KILL');
  my @told;
  for my $session (@sessions[0 .. 4]) {
    ok(wait_until(sub { $session->{run}->pump_nb; $session->{stderr} =~ $by_processor }), "$what: told before the processor begins");
    push @told, $session->{stderr} =~ /will take about (\d+ \w+)/;
    $node->safe_psql('postgres', "SELECT pg_cancel_backend($session->{kde_backend})");
  }
  my @results = end($what, $since, @sessions);
  for (0 .. 4) {
    like($results[$_][2], qr/canceling statement due to user request/, "$what, $_: cancelled");
  }
  for (5 .. 7) {
    is($results[$_][0], 'spectral', "$what, $_: near-exact sums");
    like($results[$_][2], qr/^$near_exact/, "$what, $_: told");
    cmp_ok(difference($results[$_][1], $expected[$_ - 5]), '<', 1e-6, "$what, $_: bandwidth");
  }
  keep_time($what, "told: $told[0], $told[1], $told[2], $told[3], $told[4]; cancelled", @results);
  # What another is told is printed beside what it took: short enough to wait for.
  $since = time;
  my ($code, $out, $err) = $node->psql('postgres', qq{SET kde_aqp.device = cuda;
    SELECT kde_evaluate(p, p, ARRAY[[0.01, 0], [0, 0.01]]) IS NULL
      FROM (SELECT array_agg(ARRAY[sin(i * 1.7) * ln(i), cos(i * 2.3)]) AS p
            FROM generate_series(1, sqrt(8e9 * (SELECT max(threads) FROM kde_devices()))::bigint) AS i) AS s});
  push @times, sprintf('%-34s %6.1f s  %-60s %s', 'for good, by the processor', time - $since, '',
    $err =~ /will take about (\d+ \w+)/ ? "told: $1" : "told nothing: $err");
  like($err, qr/the processor will take about/, "$what: another is told");
  replace_file($arguments, '');
  start_anew();
  nothing_left($what);
}
my $log = slurp_file($node->logfile, $start_of_log);
unlike($log, qr/server process .* was terminated|PANIC|terminating any other/, 'the server saw no crash');
like($log, qr/device service failed: $_/, "logged: $_") for 'crashed \(signal 9\)', 'ended \(exit status 0\)', 'did not answer';

# --- the server stops ----------------------------------------------------------------------------------------
for my $how ('fast', 'immediate', 'SIGKILL') {
  my $what = "the server stops, $how";
  my $before = jobs();
  my @sessions = begin(\@mixed);
  wait_for_the_middle($what, $before, @sessions);
  my @running = processes();
  my $old = program_pid();
  ok((grep { $_ == $old } @running), "$what: the program runs");
  my $since = time;
  $how eq 'SIGKILL' ? $node->kill9 : $node->stop($how);
  ok(wait_until(sub { !is_alive($old) }), "$what: the program ends");
  my $program_s = time - $since;
  ok(wait_until(sub { !processes() }), "$what: no process is left") or diag join ' ', processes();
  push @times, sprintf('%-34s %6.1f s  %-60s', $what, time - $since, sprintf('the program gone after %.1f s', $program_s));
  eval { $_->{run}->kill_kill } for @sessions, $watcher;
  unlike(files_beside(), qr/sock/, "$what: nor its socket") unless $how eq 'immediate';
  last if $how eq 'SIGKILL';
  $node->start;
  $watcher = open_session($node);
  my ($out, $err) = ask(open_session($node, 'postgres', 'SET kde_aqp.device = cuda'), $lines[0]);
  my ($engine, $bandwidth) = split /\|/, $out;
  is("$engine $err", 'cuda ', "$what: then by the card");
  cmp_ok(difference($bandwidth, $expected[0]), '<', 1e-9, "$what: then as before");
}
diag join "\n", 'longest time of eight sessions since the signal', @times;
done_testing();
