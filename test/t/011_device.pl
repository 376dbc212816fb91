# The device service: how it is started, what a fit makes of its failures, and that no process stays
# behind. The program is a fake that serves the same protocol over the processor and misbehaves on
# demand; KDE_AQP_FAKE_CUDAD is its path.
use strict;
use warnings;

use KdeTest;
use Cwd qw(realpath);
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $fake = $ENV{KDE_AQP_FAKE_CUDAD} or die 'KDE_AQP_FAKE_CUDAD must name the fake program';

my $node = PostgreSQL::Test::Cluster->new('device');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', "autovacuum = off\nrestart_after_crash = on");
$node->start;
my $directory = $node->basedir;

my ($program, $mode_file) = make_program($directory, "'$fake'");
sub program_pid { return pid_in($directory) }

my $state = q{SELECT device || ': ' || status FROM kde_devices() WHERE device <> 'cpu'};

sub wait_for_state {
  my ($wanted, $what) = @_;
  ok($node->poll_query_until('postgres', qq{SELECT EXISTS (
      SELECT FROM kde_devices() WHERE device <> 'cpu' AND device || ': ' || status ~ '$wanted')}),
    "$what: $wanted");
  return;
}

# Starts the program anew in another mode; a changed limit does, without a pause.
my $jobs = 64;
my $ready = '^cuda:0: ready';

sub set_mode {
  my ($mode, $wanted) = @_;
  # After a restart of the server nobody has needed it yet.
  fit('cuda') unless is_alive(program_pid());
  my $old = program_pid();
  replace_file($mode_file, $mode);
  ++$jobs;
  $node->safe_psql('postgres', "LOAD 'kde_aqp'; ALTER SYSTEM SET kde_aqp.gpu_max_jobs = $jobs");
  $node->reload;
  # One that was on its way meanwhile has the old limit, and ends.
  ok(wait_until(sub { program_pid() != $old && slurp_file("$directory/asked") =~ /--max-jobs $jobs\b/ }),
    "mode '$mode': the program starts anew");
  ok(wait_until(sub { !is_alive($old) }), "mode '$mode': alone");
  wait_for_state($wanted // $ready, "mode '$mode'");
  return;
}

my $fit = q{SELECT FROM kde_fit('t', 'v', method => 'plugin', exact => true, seed => 1);
  SELECT engine, bandwidth FROM kde_densities_full WHERE name = 't.v'};

# Fits in a session of its own: engine, bandwidth, messages.
sub fit {
  my ($device, $function) = @_;
  $function //= $fit;
  my ($code, $out, $err) = $node->psql('postgres', "SET kde_aqp.device = $device; $function");
  my ($engine, $bandwidth) = split /\|/, $out;
  return ($engine // '', $bandwidth // 'NaN', $err);
}

$node->safe_psql('postgres', q{
  CREATE EXTENSION kde_aqp;
  CREATE ROLE mortal LOGIN;
  CREATE TABLE t AS SELECT ln(i) * 100 + sin(i) AS v FROM generate_series(1, 3000) AS i;
  CREATE TABLE long AS SELECT ln(i % 700 + 1) * 100 AS v FROM generate_series(1, 100000) AS i;
  CREATE TABLE points AS SELECT array_agg(ARRAY[sin(i * 1.7) * ln(i), cos(i * 2.3)]) AS p
    FROM generate_series(1, 1000) AS i;
});
my ($by_cpu, $expected) = fit('cpu');
like($by_cpu, qr/^(simd|reference)/, 'by the processor');

# The sums of two engines are not of the same bits; those of the wrong pairs would be far off.
sub check_fit {
  my ($what, $engine_wanted, $messages_wanted, $engine, $bandwidth, $err) = @_;
  like($engine, $engine_wanted, "$what: engine");
  cmp_ok(abs($bandwidth / $expected - 1), '<', 1e-9, "$what: bandwidth");
  if (defined $messages_wanted) { like($err, $messages_wanted, "$what: messages") }
  else { is($err, '', "$what: no message") }
  return;
}

my $cuda = qr/^cuda$/;
my $processor = qr/^\Q$by_cpu\E$/;
my $mixed = qr/^cuda, \Q$by_cpu\E$/;
my $absent = qr/NOTICE:  the device service is not available; the sums were computed by the processor/;
my $failed = qr/WARNING:  the device service failed; the (?:remaining )?sums were computed by the processor/;

# --- no program ------------------------------------------------------------------------------------
my $library = $node->config_data('--pkglibdir') . '/kde_aqp.so';
my ($libraries) = run_command([ 'ldd', $library ]);
like($libraries, qr/libgomp/, 'the library has its libraries');
unlike($libraries, qr/cuda|nvidia/i, 'and none of CUDA');

$node->append_conf('postgresql.conf', "kde_aqp.cuda_program = '$directory/none'");
$node->reload;
check_fit('no program, auto', $processor, undef, fit('auto'));
check_fit('no program, cuda', $processor, qr/$absent\nDETAIL:  Its program is not installed\./, fit('cuda'));
is($node->safe_psql('postgres', $state), '', 'no program, auto: no card is listed');
is($node->safe_psql('postgres', "SET kde_aqp.device = cuda; $state"), 'cuda: program not found',
  'no program, cuda: nor another');

# --- who may choose the program -----------------------------------------------------------------------
my @mortal = (extra_params => [ '-U', 'mortal' ]);
for my $loaded ('', 'SELECT count(*) FROM kde_devices();') {
  my (undef, $out, $err) = $node->psql('postgres', qq{
    $loaded
    SET kde_aqp.cuda_program = '/bin/false';
    SELECT count(*) FROM kde_devices();
    SHOW kde_aqp.cuda_program;}, on_error_stop => 0, @mortal);
  like($err, qr/parameter "kde_aqp.cuda_program" cannot be changed now/,
    'a role may not choose the program' . ($loaded ? '' : ', nor before the library is loaded'));
  like($err, qr/must be superuser|permission denied|privileges/, 'nor see it');
}
for my $loaded ('', 'SELECT count(*) FROM kde_devices();') {
  my (undef, $out) = $node->psql('postgres', qq{
    $loaded
    SET kde_aqp.cuda_program = '/bin/false';
    SELECT count(*) FROM kde_devices();
    SHOW kde_aqp.cuda_program;}, on_error_stop => 0);
  like($out, qr{/none$}, 'nor a superuser in a session');
}

# --- started by the first in need --------------------------------------------------------------------
$node->append_conf('postgresql.conf', "kde_aqp.cuda_program = '$program'");
$node->reload;
ok($node->poll_query_until('postgres', q{SELECT true FROM kde_devices() WHERE status = 'not running'}),
  'a program, not running');
is(program_pid(), 0, 'listing devices starts nothing');
check_fit('first in need', $cuda, undef, fit('cuda'));
my $first = program_pid();
ok(is_alive($first), 'its program runs');
is($node->safe_psql('postgres', q{
     SELECT device, status, in_use, capability ~ '^\d+\.\d+$', jobs > 0, last_error IS NULL
     FROM kde_devices() WHERE device <> 'cpu'}),
  'cuda:0|ready|t|t|t|t', 'and is listed');
is($node->safe_psql('postgres', q{SELECT engine FROM kde_densities_full}), 'cuda', 'and stored');
check_fit('in single precision', qr/^cuda single$/, undef, do {
    my ($engine, $bandwidth, $err) = fit('cuda', "SET kde_aqp.precision = single; $fit");
    cmp_ok(abs($bandwidth / $expected - 1), '<', 1e-5, 'in single precision: near');
    ($engine, $expected, $err)});
check_fit('by default, few values', $processor, undef, fit('auto'));
check_fit('not asked for', $processor, undef, fit('cpu'));
is($node->safe_psql('postgres', "SET kde_aqp.device = cpu; $state"), '', 'and not listed then');
for my $call (
  q{kde_bandwidth((SELECT array_agg(v) FROM t), exact => true)},
  q{kde_bandwidth((SELECT array_agg(v) FROM t), 'lscv', exact => true)},
  q{(kde_bandwidth_matrix(p))[2][2] FROM points},
  q{(kde_bandwidth_matrix(p, 'lscv'))[1][1] FROM points},
  q{(kde_evaluate(p, p))[1] FROM points})
{
  my $sums = q{SELECT jobs FROM kde_devices() WHERE device = 'cuda:0'};
  my $before = $node->safe_psql('postgres', $sums);
  my $by_card = (fit('cuda', "SELECT 0, $call"))[1];
  my $by_processor = (fit('cpu', "SELECT 0, $call"))[1];
  cmp_ok(abs($by_card / $by_processor - 1), '<', 1e-7, "$call: as by the processor");
  my $after = $node->safe_psql('postgres', $sums);
  cmp_ok($after, '>', $before, "$call: by the card, in " . ($after - $before) . ' sums');
}
is(program_pid(), $first, 'all by the same program');

# --- several at once -------------------------------------------------------------------------------------
{
  my @sessions = map { open_session($node, 'postgres', 'SET kde_aqp.device = cuda') } 1 .. 8;
  send_sql($_, q{SELECT kde_bandwidth((SELECT array_agg(v) FROM t), exact => true)}) for @sessions;
  my ($right, $messages) = (0, '');
  for my $session (@sessions) {
    my ($bandwidth, $err) = end_sql($session);
    ++$right if abs($bandwidth / $expected - 1) < 1e-9;
    $messages .= $err;
    $session->quit;
  }
  is($right, 8, 'eight at once: all have the bandwidth');
  is($messages, '', 'and none a complaint');
}

# A worker that is ended takes its program along, and eight that need one at once make one.
{
  my $worker = parent_of($first);
  is(kill('TERM', $worker), 1, 'the worker is ended');
  ok(wait_until(sub { !is_alive($worker) && !is_alive($first) }), 'and its program with it');
  my @sessions = map { open_session($node, 'postgres', 'SET kde_aqp.device = cuda') } 1 .. 8;
  send_sql($_, q{SELECT kde_bandwidth((SELECT array_agg(v) FROM t), exact => true)}) for @sessions;
  my $messages = '';
  for my $session (@sessions) {
    my (undef, $err) = end_sql($session);
    $messages .= $err;
    $session->quit;
  }
  is($messages, '', 'eight in need at once are served');
  my $programs = grep { (readlink("$_/exe") // '') eq $fake && (readlink("$_/cwd") // '') eq realpath($node->data_dir) }
    glob '/proc/[0-9]*';
  is($programs, 1, 'by one program');
}

# --- what may go wrong --------------------------------------------------------------------------------------
# Jobs are counted from the loading of a sample; a plug-in bandwidth then takes two sums.
my @modes = (
  [ 'version', $processor, $absent, '^cuda: ' ],
  [ 'start', $processor, qr/$absent\nDETAIL:  No usable device, next try/, '^cuda: no usable device, next try' ],
  [ 'oom', $processor, $absent ],
  [ 'busy', $processor, $absent ],
  [ 'crash-at=1', $processor, $failed ],
  [ 'crash-at=2', $processor, $failed ],
  [ 'crash-at=3', $mixed, $failed ],
  [ 'garbage-at=3', $mixed, $failed ],
  [ 'wrong-size-at=3', $mixed, $failed ],
  [ 'nan-at=3', $mixed, $failed ],
  [ 'device-error-at=3', $mixed, $failed ],
  [ 'freeze-at=3', $mixed, $failed ],
  [ 'deaf-at=3 --fail=hang-limit=300', $mixed, $failed ]);
for (@modes) {
  my ($mode, $engine, $messages, $wanted) = @$_;
  set_mode("--fail=$mode", $wanted);
  check_fit($mode, $engine, $messages, fit('cuda'));
}

# Without a device it is tried again and again, and said once.
{
  my $before = -s $node->logfile;
  my $said = sub { return scalar(() = slurp_file($node->logfile, $before) =~ /$_[0]/g) };
  my $reason = 'no device, as it was asked to say';
  set_mode('--fail=start', '^cuda: no usable device, next try within \d+ s');
  # The program before may end by itself and be started in this mode, and then once more for the limit.
  my $reasons = $said->($reason);
  cmp_ok($reasons, '>=', 1, 'no device: and why, by the program');
  wait_for_state('^cuda: no usable device, next try within (?:[48]|\d\d+) s', 'two more tries');
  is($said->('LOG:  device service found no usable device'), 1, 'no device: said once');
  is($said->($reason), $reasons, 'no device: nor why again');
}
my $log = slurp_file($node->logfile);
like($log, qr/LOG:  device service failed: $_\n.*DETAIL:  Its program is started again in 1 s\./,
  "logged: $_")
  for 'crashed \(signal 9\)', 'a device hung or was lost';

# In one statement the worse is told after the better, and neither twice: while its socket is away the
# service is not available, and then it fails.
{
  set_mode('--fail=crash-at=1');
  my $bandwidth = q{PERFORM kde_bandwidth((SELECT array_agg(v) FROM t), exact => true)};
  my (undef, undef, $err) = $node->psql('postgres', qq{SET kde_aqp.device = cuda; DO \$\$ BEGIN
    COPY (SELECT) TO PROGRAM 'cat >/dev/null; mv pg_stat_tmp/kde_aqp_device.sock pg_stat_tmp/away';
    $bandwidth; $bandwidth;
    COPY (SELECT) TO PROGRAM 'cat >/dev/null; mv pg_stat_tmp/away pg_stat_tmp/kde_aqp_device.sock';
    $bandwidth; END \$\$});
  is(join(' ', $err =~ /(NOTICE|WARNING):  the device service/g), 'NOTICE WARNING', 'one statement: NOTICE, then WARNING');
  like($err, $failed, 'one statement: the WARNING');
}

set_mode('');
check_fit('well again', $cuda, undef, fit('cuda'));
set_mode('');

# --- by prediction --------------------------------------------------------------------------------------------
# As slow as it is, the fake is not worth the way; one that boasts is, but not for the least of jobs.
{
  my $one_thread = 'SET kde_aqp.threads = 1';
  my $large = q{SELECT kde_bandwidth((SELECT array_agg(v) FROM t), 'smoothed_cv', exact => true)};
  my $small = q{SET kde_aqp.precision = single; SELECT kde_bandwidth((SELECT array_agg(v) FROM t WHERE v > 780), exact => true)};
  my $jobs_done = sub {
    $node->safe_psql('postgres', "$one_thread; $_[0]");
    return $node->safe_psql('postgres', q{SELECT jobs FROM kde_devices() WHERE device = 'cuda:0'});
  };
  is($jobs_done->($large), '0', 'auto: not by a card slower than the processor');
  set_mode('--fail=boast');
  is($jobs_done->($small), '0', 'auto: few sums are not worth the way to any card');
  is($jobs_done->("SET kde_aqp.device = cpu; $large"), '0', 'cpu: by the processor, whatever a card says');
  cmp_ok($jobs_done->($large), '>', 100, 'auto: by a card that is faster');
  my ($code, $out, $err) = $node->psql('postgres', "$one_thread; SET client_min_messages = debug1; $large");
  unlike($err, qr/device service/, 'auto: and nothing to tell');

  # Where none runs, it is started where it saves more than its start costs.
  set_mode('');
  my $program = program_pid();
  my $worker = parent_of($program);
  kill 'TERM', $worker;
  ok(wait_until(sub { !is_alive($program) && !is_alive($worker) }), 'auto: no service');
  replace_file($mode_file, '--fail=boast');
  ($code, $out, $err) = $node->psql('postgres', "$one_thread; SET client_min_messages = debug1; $fit");
  like($err, qr/DEBUG:  the device service is not available.*\nDETAIL:  It is not running\./,
    'auto: is not started for little');
  is(program_pid(), $program, 'auto: indeed');
  is($node->safe_psql('postgres', qq{
       $one_thread;
       SELECT FROM kde_fit('long', 'v', method => 'smoothed_cv', exact => true, seed => 1);
       SELECT engine FROM kde_densities_full WHERE name = 'long.v'}),
    'cuda', 'auto: but for much');
  isnt(program_pid(), $program, 'auto: started');
  set_mode('');
}

# Seen by a session that uses its backend before and after.
{
  my $session = open_session($node, 'postgres', 'SET kde_aqp.device = cuda');
  like(ask($session, $fit), qr/^cuda\|/, 'one session: by the card');
  my $old = program_pid();
  is(kill('KILL', $old), 1, 'one session: the program is killed');
  ok(wait_until(sub { !is_alive($old) }), 'one session: and gone');
  wait_for_state($ready, 'one session: the program is started again');
  like(ask($session, $fit), qr/^cuda\|/, 'one session: by the card again');
  $session->quit;
}

# --- signals from outside in the middle of a job ------------------------------------------------------
# The program takes very long over a job, that of $fit if no other is named; other sessions go on.
sub in_the_middle {
  my ($what, $do, $after, $sql) = @_;
  set_mode('--fail=slow=600000 --fail=boast');
  my $program = program_pid();
  my %threads;
  ok(wait_until(sub { %threads = tasks_of($program); keys %threads <= 3 }), "$what: at rest");
  my $session = open_session($node, 'postgres', 'SET kde_aqp.device = cuda');
  my $backend = backend_pid($session);
  send_sql($session, $sql // $fit);
  ok($node->poll_query_until('postgres', q{
       SELECT jobs > 0 FROM kde_devices() WHERE device = 'cuda:0'}),
    "$what: a job runs");
  is($node->safe_psql('postgres', q{SELECT count(*) FROM t}), '3000', "$what: others go on");
  replace_file($mode_file, '');
  $do->($program, $session, $backend);
  $after->($program, $session, $backend) if $after;
  return;
}

sub ends_with_warning {
  my ($what, $engine) = @_;
  return sub {
    my ($program, $session) = @_;
    my ($out, $err) = end_sql($session);
    check_fit($what, $engine, $failed, split(/\|/, $out), $err);
    ok(wait_until(sub { !is_alive($program) }), "$what: the program is gone");
    $session->quit;
    wait_for_state($ready, "$what: the next");
    check_fit("$what: then", $cuda, undef, fit('cuda'));
  };
}
in_the_middle('SIGKILL', sub { kill 'KILL', $_[0] }, ends_with_warning('SIGKILL', $processor));
in_the_middle('SIGSTOP', sub {
    kill 'STOP', $_[0];
    like($node->safe_psql('postgres', $state), qr/^cuda: /, 'SIGSTOP: listed as one service, no card');
  }, ends_with_warning('SIGSTOP', $processor));
my $ended_worker;
in_the_middle('worker ended', sub { $ended_worker = parent_of($_[0]); kill 'TERM', $ended_worker }, sub {
    my ($program, $session) = @_;
    my ($out, $err) = end_sql($session);
    check_fit('worker ended', $processor, $failed, split(/\|/, $out), $err);
    ok(wait_until(sub { !is_alive($program) && !is_alive($ended_worker) }), 'worker ended: the program is gone');
    $session->quit;
    check_fit('worker ended: then', $cuda, undef, fit('cuda'));
  });
in_the_middle('cancel', sub {
    my ($program, $session, $backend) = @_;
    $node->safe_psql('postgres', "SELECT pg_cancel_backend($backend)");
    my ($out, $err) = end_sql($session);
    like($err, qr/canceling statement due to user request/, 'cancel: at once');
    # A connection has a thread, and at rest there is none.
    ok(wait_until(sub { my %threads = tasks_of($program); keys %threads <= 3 }),
      'cancel: the job ends');
    ask($session, 'SET statement_timeout = 300');
    ($out, $err) = ask($session, $fit);
    like($err, qr/canceling statement due to statement timeout/, 'timeout: ends a job');
    is(ask($session, 'SELECT 1'), '1', 'timeout: the session goes on');
    $session->quit;
    ok(is_alive($program), 'cancel: the program goes on');
  });

like(slurp_file($node->logfile), qr/LOG:  device service failed: did not answer/, 'logged: did not answer');

# --- where the processor would take long ----------------------------------------------------------------
# It is expected to take ten seconds, though ties make it a moment: the program is waited for.
$node->safe_psql('postgres', q{
  CREATE TABLE long_points AS SELECT array_agg(ARRAY[sin(i * 1.7) * ln(i), cos(i * 2.3)]) AS p
    FROM generate_series(1, 20000) AS i;
});
my $long_settings = 'SET kde_aqp.threads = 1; SET kde_aqp.bandwidth_rows = 100000;';
my $long = qq{$long_settings SELECT FROM kde_fit('long', 'v', method => 'plugin', exact => true, seed => 1, sample_rows => 100000);
  SELECT engine, bandwidth FROM kde_densities_full WHERE name = 'long.v'};
my $expected_long = (fit('cpu', $long))[1];
my $came_back = qr/NOTICE:  the device service failed and came back; the sums were computed by the device/;

sub check_long {
  my ($what, $engine_wanted, $tolerance, $messages_wanted, $out, $err) = @_;
  my ($engine, $bandwidth) = split /\|/, $out;
  is($engine, $engine_wanted, "$what: engine");
  cmp_ok(abs($bandwidth / $expected_long - 1), '<', $tolerance, "$what: bandwidth");
  like($err, $messages_wanted, "$what: messages");
  return;
}

for my $signal ('KILL', 'STOP') {
  my $what = "long, SIG$signal";
  in_the_middle($what, sub { kill $signal, $_[0] }, sub {
      my ($program, $session) = @_;
      check_long($what, 'cuda', 1e-9, $came_back, end_sql($session));
      isnt(program_pid(), $program, "$what: by the next program");
      $session->quit;
    }, $long);
}
{
  set_mode('--fail=slow=600000 --fail=boast');
  my $program = program_pid();
  my @sessions = map { open_session($node, 'postgres', 'SET kde_aqp.device = cuda', $long_settings) } 1 .. 8;
  send_sql($_, q{SELECT 'cuda', kde_bandwidth((SELECT array_agg(v) FROM long), exact => true)}) for @sessions;
  ok($node->poll_query_until('postgres', q{
       SELECT jobs >= 8 FROM kde_devices() WHERE device = 'cuda:0'}), 'long, eight at once: run');
  replace_file($mode_file, '');
  kill 'KILL', $program;
  for (@sessions) {
    check_long('long, eight at once', 'cuda', 1e-9, $came_back, end_sql($_));
    $_->quit;
  }
}

my $bandwidth = q{SELECT kde_bandwidth(array_agg(v), exact => true) FROM (SELECT v FROM long LIMIT 65000) AS few};

# It has no room for a while, which is waited for as well: three loads are refused, then come a load and
# two sums. A wait in vain, of some four seconds, is not repeated: the next is refused once. After what a
# card has done it is.
{
  set_mode('--fail=boast --fail=oom-until=3');
  my $session = open_session($node, 'postgres', 'SET kde_aqp.device = cuda');
  my $jobs_so_far = q{SELECT jobs FROM kde_devices() WHERE device = 'cuda:0'};
  check_long('long, no room for a while', 'cuda', 1e-9,
    qr/NOTICE:  the device service was not available for a while; the sums were computed by the device\nDETAIL: /, ask($session, $long));
  is(ask($session, $jobs_so_far), 6, 'long, no room for a while: jobs');
  set_mode('--fail=boast --fail=oom');
  my $no_room = qr/NOTICE:  the device service is not available; near-exact sums .*\nDETAIL:  No memory on the device\./;
  like((ask($session, $bandwidth))[1], $no_room, 'long, no room: told');
  my $before = ask($session, $jobs_so_far);
  cmp_ok($before, '>', 1, 'long, no room: asked again');
  like((ask($session, $bandwidth))[1], $no_room, 'long, still no room: told');
  is(ask($session, $jobs_so_far), $before + 1, 'long, still no room: asked once');
  set_mode('--fail=boast');
  is((ask($session, $bandwidth))[1], '', 'long, room: nothing to tell');
  set_mode('--fail=boast --fail=oom-until=2');
  like((ask($session, $bandwidth))[1], qr/NOTICE:  the device service was not available for a while/,
    'long, no room for a while again: waited for');
  $session->quit;
}

# What it can never take, as 65,000 values of 32 bytes in one megabyte, is not waited for. What it can take
# later is, by that session too.
{
  $node->safe_psql('postgres', q{LOAD 'kde_aqp'; ALTER SYSTEM SET kde_aqp.gpu_memory_limit = '1MB'});
  set_mode('--fail=boast');
  my $session = open_session($node, 'postgres', 'SET kde_aqp.device = cuda', $long_settings);
  like((ask($session, $bandwidth))[1],
    qr/NOTICE:  the device service is not available; near-exact sums .*\nDETAIL:  The memory limit leaves no room for a sample of \d+ MB\. .*\nHINT:  For exact sums run it again with kde_aqp\.device = cpu\./,
    'long, too large: told');
  is(ask($session, q{SELECT jobs FROM kde_devices() WHERE device = 'cuda:0'}), 0, 'long, too large: no job');
  $node->safe_psql('postgres', q{LOAD 'kde_aqp'; ALTER SYSTEM RESET kde_aqp.gpu_memory_limit});
  set_mode('--fail=boast --fail=oom-until=2');
  like((ask($session, $bandwidth))[1], qr/NOTICE:  the device service was not available for a while/,
    'long, no more too large: waited for');
  $session->quit;
}

# In one statement it is told once, though of each call the first sum fails and the sample is handed over
# again. Jobs: a sample, the sum that fails, the sample, two sums.
{
  set_mode('--fail=boast --fail=device-error-at=2 --fail=nan-at=7');
  my ($code, $out, $err) = $node->psql('postgres', qq{SET kde_aqp.device = cuda; $long_settings
    SELECT kde_bandwidth((SELECT array_agg(v) FROM long), exact => true) FROM generate_series(1, 2)});
  my @bandwidths = split /\n/, $out;
  is(@bandwidths, 2, 'long, twice in a statement: answers');
  is(scalar(() = $err =~ /$came_back/g), 1, 'long, twice in a statement: told once');
  is($node->safe_psql('postgres', q{SELECT jobs FROM kde_devices() WHERE device = 'cuda:0'}), '10', 'long, twice in a statement: it failed twice');
}

# It does not come back: near-exact sums, where there are any, and else a word before the processor.
sub for_good {
  replace_file($mode_file, '--fail=start');
  kill 'KILL', $_[0];
  wait_for_state('^cuda: no usable device', 'for good');
  return;
}

sub cancel_long {
  my ($what, $session, $backend) = @_;
  $node->safe_psql('postgres', "SELECT pg_cancel_backend($backend)");
  my ($out, $err) = end_sql($session);
  like($err, qr/canceling statement due to user request/, "$what: cancelled");
  $session->quit;
  return $err;
}
in_the_middle('long, for good', \&for_good, sub {
    my ($program, $session) = @_;
    check_long('long, for good', 'spectral', 1e-6,
      qr/NOTICE:  the device service failed; near-exact sums take the place of the exact ones\nDETAIL: .* exact sums would take about 10 seconds\.\nHINT:  Run it again/,
      end_sql($session));
    is($node->safe_psql('postgres', q{SELECT engine, requested_exact, select_ms > 5000 FROM kde_densities_full WHERE relation = 'long'::regclass}),
      'spectral|t|t', 'long, for good: and stored, with the time it waited in vain');
    $session->quit;
  }, $long);
in_the_middle('long, cancelled while it waits', \&for_good,
  sub { cancel_long('long, cancelled while it waits', @_[1, 2]) }, $long);
in_the_middle('long, of two columns', \&for_good, sub {
    my ($program, $session, $backend) = @_;
    my $notice = qr/NOTICE:  the device service failed; the processor will take about \d+ seconds\n.*\nHINT:  Cancel the statement to stop it, for instance by pg_cancel_backend\(\d+\)/;
    ok(wait_until(sub { $session->{run}->pump_nb; $session->{stderr} =~ $notice }),
      'long, of two columns: told before the processor begins');
    cancel_long('long, of two columns', $session, $backend);
  }, "$long_settings SELECT kde_bandwidth_matrix(p) FROM long_points");

# --- base backups ----------------------------------------------------------------------------------------
set_mode('');
{
  my ($out, $err) = run_command([ 'pg_basebackup', '-D', "$directory/backup", '-h', $node->host,
      '-p', $node->port, '--checkpoint=fast', '--no-sync' ]);
  is($err, '', 'a base backup has nothing to say about the socket');
  ok(-S $node->data_dir . '/pg_stat_tmp/kde_aqp_device.sock', 'which is there');
  ok(!-e "$directory/backup/pg_stat_tmp/kde_aqp_device.sock", 'and not in the backup');
}

# --- shutdown ------------------------------------------------------------------------------------------
sub gone {
  my ($program, $what) = @_;
  ok(wait_until(sub { !is_alive($program) }), "$what: leaves no program behind");
  return;
}

in_the_middle('fast shutdown', sub {
    my ($program, $session) = @_;
    $node->stop('fast');
    $session->{run}->finish;
    gone($program, 'fast shutdown');
    ok(!-e $node->data_dir . '/pg_stat_tmp/kde_aqp_device.sock', 'fast shutdown: nor its socket');
    $node->start;
  });

in_the_middle('a crash', sub {
    my ($program, $session, $backend) = @_;
    kill 'KILL', $backend;
    $session->{run}->finish;
    gone($program, 'a crash');
    ok($node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()'), 'a crash: recovers');
    check_fit('a crash: then', $cuda, undef, fit('cuda'));
  });

in_the_middle('immediate shutdown', sub {
    my ($program, $session) = @_;
    $node->stop('immediate');
    $session->{run}->finish;
    gone($program, 'immediate shutdown');
    $node->start;
  });

# Where no worker may be added, and nobody waits for one.
$node->append_conf('postgresql.conf', 'max_worker_processes = 0');
$node->restart;
check_fit('no place', $processor, qr/$absent\nDETAIL:  No background worker may be added/, fit('cuda'));
{
  my $bandwidth = q{SELECT kde_bandwidth((SELECT array_agg(v) FROM t), exact => true);};
  my (undef, undef, $err) = $node->psql('postgres', 'SET kde_aqp.device = cuda;' . $bandwidth x 10);
  is(scalar(my @tries = $err =~ /No background worker may be added/g), 1, 'no place: of ten calls one tries');
  is(scalar(my @notices = $err =~ /$absent/g), 10, 'no place: and all tell');
}
# Nor does a server without a postmaster start one.
$node->stop;
{
  my ($out, $err) = ('', '');
  IPC::Run::run([ 'postgres', '--single', '-D', $node->data_dir, '-c', 'log_min_messages=notice', 'postgres' ],
    '<', \q{SET kde_aqp.device = cuda; SELECT kde_bandwidth((SELECT array_agg(v) FROM t), exact => true)},
    '>', \$out, '2>', \$err);
  like($out, qr/kde_bandwidth = "/, 'single-user mode: by the processor');
  like($err, qr/This server starts no background worker\./, 'single-user mode: and told why');
}
$node->start;
$node->append_conf('postgresql.conf', 'max_worker_processes = 8');

# --- the server as process 1 ---------------------------------------------------------------------------
# As in a container, orphans become the postmaster's children: one that dies by a signal is to it a
# crashed session, and the server restarts. A subreaper (Linux's PR_SET_CHILD_SUBREAPER, kept over
# exec) is as good as process 1.
my $reaper = 0;
END {
  my $status = $?;
  kill 'QUIT', $reaper if $reaper;
  $? = $status;
}

sub start_reaper {
  my $machine = (POSIX::uname())[4];
  my $prctl = { x86_64 => 157, aarch64 => 167, riscv64 => 167, ppc64le => 171, s390x => 172 }->{$machine}
    or die "the number of prctl on $machine";
  $reaper = fork // die $!;
  if ($reaper == 0) {
    open STDOUT, '>>', $node->logfile or POSIX::_exit(1);
    open STDERR, '>&', \*STDOUT or POSIX::_exit(1);
    syscall($prctl, 36, 1, 0, 0, 0) == 0 or POSIX::_exit(1);
    exec($node->config_data('--bindir') . '/postgres', '-D', $node->data_dir) or POSIX::_exit(1);
  }
  # pg_isready, as psql may end before it has read what poll_query_until writes.
  my @ask = ('pg_isready', '-q', '-h', $node->host, '-p', $node->port);
  ok(wait_until(sub { system(@ask) == 0 }), 'subreaper: the server runs');
  return;
}

# Fast shutdown of it, which must find nothing to complain about.
sub stop_reaper {
  my ($what, $log_start) = @_;
  kill 'INT', $reaper;
  my $status = -1;
  ok(wait_until(sub { waitpid($reaper, POSIX::WNOHANG()) == $reaper and $status = $?, 1 }),
    "subreaper, $what: the server ends");
  $reaper = 0;
  is($status, 0, "subreaper, $what: with status 0");
  unlike(slurp_file($node->logfile, $log_start), qr/terminating any other|reinitializing|was terminated by signal/,
    "subreaper, $what: it saw no crash");
  my ($control) = run_command([ 'pg_controldata', $node->data_dir ]);
  like($control, qr/^Database cluster state: +shut down$/m, "subreaper, $what: shut down");
  return;
}

{
  replace_file($mode_file, '');
  my $log_start = -s $node->logfile;
  $node->stop;
  start_reaper();
  my $session = open_session($node, 'postgres');
  my $end_worker = sub { kill 'TERM', parent_of($_[0]) };
  my $configure = sub { $node->safe_psql('postgres', "LOAD 'kde_aqp'; ALTER SYSTEM $_[0]"); $node->reload };
  for (
    [ 'worker ended', $end_worker ],
    [ 'device = cpu', sub { $configure->('SET kde_aqp.device = cpu') } ],
    [ 'frozen, worker ended', sub { kill 'STOP', $_[0]; $end_worker->(@_) } ],
    [ 'frozen', sub { kill 'STOP', $_[0] } ])
  {
    my ($what, $do) = @$_;
    check_fit("subreaper, $what: before", $cuda, undef, fit('cuda'));
    my $program = program_pid();
    $do->($program);
    ok(wait_until(sub { !is_alive($program) && !-d "/proc/$program" }),
      "subreaper, $what: the program is gone and its status read");
    $configure->('RESET kde_aqp.device');
    wait_for_state("$ready|not running", "subreaper, $what");
  }
  is(ask($session, 'SELECT 1'), '1', 'subreaper: a session outlives all of it');
  $session->quit;
  check_fit('subreaper, fast shutdown: before', $cuda, undef, fit('cuda'));
  my $program = program_pid();
  stop_reaper('fast shutdown', $log_start);
  gone($program, 'subreaper, fast shutdown');

  $log_start = -s $node->logfile;
  start_reaper();
  check_fit('subreaper, fast shutdown while frozen: before', $cuda, undef, fit('cuda'));
  $program = program_pid();
  kill 'STOP', $program;
  stop_reaper('fast shutdown while frozen', $log_start);
  gone($program, 'subreaper, fast shutdown while frozen');
  $node->start;
}

# --- preloaded ---------------------------------------------------------------------------------------------
# Without the program the server has no process for it.
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'kde_aqp'\n"
    . "kde_aqp.cuda_program = '$directory/none'");
$node->restart;
is($node->safe_psql('postgres', "SET kde_aqp.device = cuda; $state"), 'cuda: program not found',
  'preloaded, no program');
check_fit('preloaded, no program', $processor, $absent, fit('cuda'));

unlink "$directory/pid";
$node->append_conf('postgresql.conf', "kde_aqp.cuda_program = '$program'");
$node->reload;
is($node->safe_psql('postgres', 'SHOW kde_aqp.cuda_program'), "$directory/none",
  'preloaded: another program only at the next start');
$node->restart;
wait_for_state($ready, 'preloaded: served before anybody asks');
check_fit('preloaded', $cuda, undef, fit('cuda'));
my $told = q{SELECT coalesce(problems, '') FROM kde_check()};
unlike($node->safe_psql('postgres', $told), qr/device/, 'preloaded: kde_check() finds nothing');
set_mode('--fail=start', '^cuda: no usable device');
ok($node->poll_query_until('postgres', "SELECT told.problems ~ '^notice: the device service does not serve: no usable device' FROM ($told) AS told(problems)"),
  'preloaded: kde_check() tells');
$node->safe_psql('postgres', q{ALTER SYSTEM SET kde_aqp.device = 'cpu'});
$node->reload;
ok($node->poll_query_until('postgres', q{SELECT coalesce(problems, '') !~ 'device' FROM kde_check()}), 'preloaded: what it says mends it');
$node->safe_psql('postgres', 'ALTER SYSTEM RESET kde_aqp.device');
$node->reload;
set_mode('');
{
  my $program = program_pid();
  my $worker = parent_of($program);
  open my $file, '<', $node->data_dir . '/postmaster.pid' or die $!;
  chomp(my $postmaster = <$file>);
  is(scalar(my @threads = glob "/proc/$postmaster/task/*"), 1, 'preloaded: the postmaster has one thread');
  unlike(slurp_file("/proc/$_/maps"), qr/libcuda|nvidia/, 'preloaded: no process loads a driver')
    for $postmaster, $worker;
  is(scalar(my @worker_threads = glob "/proc/$worker/task/*"), 1, 'preloaded: nor has the worker more');

  # In a session with device = cpu nothing changes for others; in the configuration the service ends.
  $node->append_conf('postgresql.conf', 'kde_aqp.device = cpu');
  $node->reload;
  gone($program, 'device = cpu in the configuration');
  gone($worker, 'device = cpu in the configuration: the worker');
  check_fit('preloaded, cpu: asked for', $cuda, undef, fit('cuda'));

  # Without its postmaster. A session whose sums would take the processor hours does not stay either.
  $program = program_pid();
  $worker = parent_of($program);
  my $session = open_session($node, 'postgres', 'SET kde_aqp.device = cpu');
  my $backend = backend_pid($session);
  send_sql($session, q{SELECT kde_bandwidth_matrix(array_agg(ARRAY[sin(i * 1.7) * ln(i), cos(i * 2.3)]))
    FROM generate_series(1, 1000000) AS i});
  ok($node->poll_query_until('postgres', "SELECT device IS NOT NULL FROM kde_progress WHERE pid = $backend"),
    'the postmaster killed: in the middle of sums by the processor');
  $node->kill9;
  gone($program, 'the postmaster killed');
  ok(wait_until(sub { !is_alive($worker) && !is_alive($postmaster) }), 'the postmaster killed: nor the worker');
  ok(wait_until(sub { !is_alive($backend) }), 'the postmaster killed: nor the session');
}

done_testing();
