# A failure at every step of a fit, a drop, a refresh and what event triggers do: the postmaster killed there, an
# error there, and what others see while it waits there. Before the commit all is as it was, after it
# all is new, never half; and everything can be fitted again.
#
# The library is one with fault points (src/pg/base/fault.h, `make faults`). What points a command passes it
# tells itself, so that a point added to the code is tested here without a word: in the first command that
# passes it, and with KDE_AQP_LONG (`make test-long`) in every one and as often as it is passed.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use lib $ENV{TESTDIR} ? "$ENV{TESTDIR}/t" : 't';
use KdeTest;

plan skip_all => 'KDE_AQP_FAULTS names no installation with fault points; scripts/test.sh tap makes one'
  unless $ENV{KDE_AQP_FAULTS};

my $node = PostgreSQL::Test::Cluster->new('faults', install_path => $ENV{KDE_AQP_FAULTS});
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nmax_prepared_transactions = 2\nkde_aqp.stale = ignore");
$node->start;

# Densities large enough to be kept out of line.
$node->safe_psql('postgres', q{
  CREATE EXTENSION kde_aqp;
  CREATE EXTENSION amcheck;
  CREATE TABLE rows (v double precision, w integer, x double precision);
  INSERT INTO rows SELECT sqrt(i) + 50 * sin(i * i), i % 37, ln(i) * sin(i) FROM generate_series(1, 2000) AS i;
  CREATE TABLE other AS SELECT v FROM rows;
  SELECT kde_fit('other', 'v', method => 'silverman', seed => 1), kde_set_refresh('other.v', enabled => false);
  CREATE TABLE restored AS SELECT v, w FROM rows;
  SELECT kde_fit('restored', 'v', seed => 1), kde_fit('restored', ARRAY['v + w'], filter => 'w > 3', seed => 1);
  CREATE TABLE dumped AS SELECT * FROM kde_aqp.fitted WHERE relation = 'restored'::regclass;
  CREATE PROCEDURE prepare() LANGUAGE plpgsql AS $$
  BEGIN
    DROP TABLE IF EXISTS t;
    CREATE TABLE t AS SELECT * FROM rows;
    PERFORM kde_fit('t', 'v', method => 'silverman', seed => 1), kde_fit('t', 'w', method => 'silverman', seed => 1),
      kde_fit('t', ARRAY['v', 'w'], method => 'scott', sample_rows => 300, seed => 1),
      kde_fit('t', ARRAY['v * 2'], method => 'silverman', filter => 'w <> 7', seed => 1);
    INSERT INTO t SELECT v + 1, w + 1, x + 1 FROM rows;
    PERFORM kde_drop(name, filter => filter) FROM kde_densities_full WHERE relation = 'restored'::regclass;
    DELETE FROM kde_aqp.upkeep AS u WHERE NOT EXISTS (SELECT FROM kde_aqp.fitted AS d WHERE d.id = u.density_id);
  END $$;
});

# Whatever the catalog holds, read wholly and as answers read it, and how many of its values are out of
# line. Not the times, nor what a fit numbers anew.
my $state = q{
  SELECT relation, column_names, attribute_numbers, filter, seed, refresh_threshold, md5(density::text),
    kde_density(relation, column_names, nullif(filter, ''))::text = density::text
  FROM kde_aqp.fitted ORDER BY relation::text, column_names, filter;
  SELECT relation, column_names, filter, rows FROM kde_densities_full ORDER BY relation::text, column_names, filter;
  DO $$
  DECLARE n bigint;
  BEGIN
    EXECUTE format('SELECT count(DISTINCT chunk_id) FROM %s',
      (SELECT reltoastrelid::regclass FROM pg_class WHERE oid = 'kde_aqp.fitted'::regclass)) INTO n;
    PERFORM set_config('kde_test.out_of_line', n::text, false);
  END $$;
  SHOW kde_test.out_of_line;
  SELECT count(*) AS columns FROM pg_attribute WHERE attrelid = to_regclass('t') AND NOT attisdropped;
  SELECT count(*) AS orphans FROM kde_aqp.upkeep AS u WHERE NOT EXISTS (SELECT FROM kde_aqp.fitted AS d WHERE d.id = u.density_id);};

sub state { return $node->safe_psql('postgres', $state) }
sub prepare { return $node->safe_psql('postgres', 'CALL prepare();' . (defined wantarray ? $state : '')) }

# Of a command that commits more than once: how many densities are the new ones; -1 if any is neither the
# old nor the new.
sub densities_done {
  my ($state, $old, $new) = @_;
  my %old = map { $_ => 1 } split /\n/, $old;
  my %new = map { $_ => 1 } split /\n/, $new;
  my @lines = grep { /\|/ } split /\n/, $state;
  return -1 if @lines != (grep { /\|/ } split /\n/, $old) || grep { !$old{$_} && !$new{$_} } @lines;
  return scalar grep { !$old{$_} && /\|[0-9a-f]{32}\|/ } @lines;
}

# Heap, TOAST and indexes of the catalog agree, before VACUUM and after it.
my $check = q{
  SELECT r.relation, v.* FROM (SELECT unnest(ARRAY[oid, reltoastrelid])::regclass AS relation FROM pg_class
      WHERE oid IN ('kde_aqp.fitted'::regclass, 'kde_aqp.upkeep'::regclass)) AS r,
    verify_heapam(r.relation, check_toast => true) AS v;
  SELECT bt_index_check(i.indexrelid, true) FROM pg_index AS i WHERE i.indrelid IN (
    SELECT unnest(ARRAY[oid, reltoastrelid]) FROM pg_class
    WHERE oid IN ('kde_aqp.fitted'::regclass, 'kde_aqp.upkeep'::regclass));};

sub integrity { return $node->safe_psql('postgres', "$check VACUUM kde_aqp.fitted, kde_aqp.upkeep; $check") =~ s/\s+//gr }

# Waits until nothing of a server that was killed is left, and starts it again. A process in a machine
# whose process 1 reaps none stays as a zombie, which PostgreSQL takes for a server still running.
sub start_again {
  my ($postmaster) = @_;
  my $data = $node->data_dir;
  my $gone = wait_until(sub {
      return !grep { (readlink($_) // '') eq $data } glob '/proc/[0-9]*/cwd';
    });
  unlink "$data/postmaster.pid", $node->host . '/.s.PGSQL.' . $node->port . '.lock'
    if kill(0, $postmaster);
  $node->{_pid} = undef;
  $node->start;
  return $gone;
}

sub postmaster_pid {
  open my $file, '<', $node->data_dir . '/postmaster.pid' or die $!;
  chomp(my $pid = <$file>);
  return $pid;
}

# The points that a command passes, in order: [name, the how manieth passing of it, commits by then], of
# each the first two; of polls in long work one, as their number depends on the threads.
sub points_of {
  my ($sql) = @_;
  my ($code, undef, $err) = $node->psql('postgres', "SET kde_aqp.fault = '* notice'; $sql");
  is($code, 0, 'the command without a fault');
  my (%passes, @points);
  for my $point ($err =~ /fault point (\S+)/g) {
    my $pass = ++$passes{$point};
    push @points, [ $point, $pass, $passes{'transaction.committed'} // 0 ] if $pass <= ($point eq 'core.polled' ? 1 : 2);
  }
  return @points;
}

my @fit = qw(fit.locked core.polled fit.scanned fit.estimated);
# What a scan in common will read is known before a density is locked.
my @refit = qw(core.polled fit.locked fit.scanned fit.estimated);
my @store = qw(store.found store.deleted upkeep.changed store.inserted store.done);
my @end = qw(transaction.committing transaction.committed);
my @cases = (
  [ 'refit of a column', q{SELECT kde_fit('t', 'v', method => 'plugin', exact => true, seed => 2)}, @fit, @store, @end ],
  [ 'first fit of a column', q{SELECT kde_fit('t', 'x', method => 'plugin', exact => true, seed => 2)}, @fit, @store, @end ],
  [ 'refit of several columns', q{SELECT kde_fit('t', ARRAY['v', 'w'], sample_rows => 300, seed => 2)}, @fit, @store, @end ],
  [ 'first fit of several columns',
    q{SELECT kde_fit('t', ARRAY['x', 'v'], method => 'lscv_diagonal', sample_rows => 300, filter => 'w > 3', seed => 2)}, @fit, @store, @end ],
  [ 'two refits in one transaction',
    q{BEGIN; SELECT kde_fit('t', 'v', method => 'silverman', seed => 2); SAVEPOINT s; SELECT kde_fit('t', 'v', method => 'scott', seed => 3); COMMIT},
    @fit, @store, @end ],
  [ 'drop', q{SELECT kde_drop('t.v')}, qw(remove.found remove.deleted upkeep.removed remove.done), @end ],
  [ 'drop of several columns', q{SELECT kde_drop('t (v, w)')}, qw(remove.found remove.deleted upkeep.removed remove.done), @end ],
  [ 'DROP TABLE', q{DROP TABLE t}, qw(upkeep.removed drop.deleted drop.done), @end ],
  [ 'DROP COLUMN', q{ALTER TABLE t DROP w}, qw(upkeep.removed drop.deleted drop.done), @end ],
  [ 'RENAME COLUMN', q{ALTER TABLE t RENAME v TO z}, qw(rename.deleted rename.inserted rename.done), @end ],
  [ 'settings', q{SELECT kde_set_refresh('t.v', threshold => 7)}, qw(set.deleted set.done), @end ],
  [ 'refresh in one transaction', q{SELECT action FROM kde_refresh('t', force => true)},
    qw(refresh.locked refresh.stale), @refit, @store, 'refresh.refitted', @end ],
  [ 'refresh, each in a transaction', q{CALL kde_refresh_all(force => true)},
    qw(refresh.locked refresh.stale), @refit, @store, 'refresh.refitted', @end ],
  [ 'restore', q{INSERT INTO kde_aqp.density SELECT * FROM dumped}, qw(row.completed restore.done), @end ],
);

# What each passes, and what comes of it.
my (%points, %old, %new);
for my $case (@cases) {
  my ($what, $sql, @expected) = @$case;
  $old{$what} = prepare();
  $points{$what} = [ points_of($sql) ];
  my %seen;
  is(join(' ', grep { !$seen{$_}++ } map { $_->[0] } @{ $points{$what} }), "@expected", "$what: points passed");
  $new{$what} = state();
  isnt($new{$what}, $old{$what}, "$what: the old state and the new differ");
}
like($old{drop}, qr/^\d+$/m, 'values are out of line');
cmp_ok(($old{drop} =~ /^(\d+)$/m)[0], '>', 2, 'and several of them');

# Those of a command that are tested.
my %tested;
for my $case (@cases) {
  my ($what) = @$case;
  my @new = grep { $ENV{KDE_AQP_LONG} || !$tested{ $_->[0] } } @{ $points{$what} };
  $tested{ $_->[0] } = 1 for @new;
  my %once;
  $points{$what} = [ grep { $ENV{KDE_AQP_LONG} || !$once{ $_->[0] }++ } @new ];
}

# ------------------------------------------------------------------------------------- an error
# In a session that goes on: no lock, no memory, no thread at work is left of it, and the same command
# then does what it did without.
my $session;
for my $case (@cases) {
  my ($what, $sql) = @$case;
  $session->quit if $session;
  $session = open_session($node);
  my $pid = backend_pid($session);
  my $left = qq{SELECT locktype, classid, objid, relation::regclass, mode FROM pg_locks
    WHERE pid = $pid AND locktype <> 'virtualxid'};
  for my $point (@{ $points{$what} }) {
    my ($name, $pass) = @$point;
    next if $name eq 'transaction.committed';    # It cannot be undone: a PANIC, which is a crash.
    my $at = "$what: error at $name, pass $pass";
    prepare();
    ask($session, "SET kde_aqp.fault = '$name error $pass'");
    my ($result, $err) = ask($session, $sql);
    ask($session, 'ROLLBACK') if ask($session, 'SELECT 1') eq '';
    like("$result$err", qr/fault at point "\Q$name\E"/, $at);
    if ($what =~ /^refresh/) {
      # It is one density's failure, which the others do not share.
      cmp_ok(densities_done(state(), $old{$what}, $new{$what}), '>=', 0, "$at: each is old or new");
    } else {
      is(state(), $old{$what}, "$at: all is as it was");
    }
    is($node->safe_psql('postgres', $left), '', "$at: no lock is left");
    is(ask($session, q{SELECT count(*) FROM pg_backend_memory_contexts WHERE name LIKE 'kde_fit%'}), '0',
      "$at: nor memory");
    ok(wait_until(sub {
        my %tasks = tasks_of($pid);
        delete $tasks{$pid};
        return !grep { $_->{State} !~ /^S/ } values %tasks;
      }), "$at: nor a thread at work");
    ask($session, q{SET kde_aqp.fault = ''});
    (undef, $err) = ask($session, $sql);
    unlike($err, qr/ERROR|WARNING/, "$at: again without it");
    is(state(), $new{$what}, "$at: has the effect");
  }
}
# A refresh notes what failed, in the transaction that goes on.
prepare();
ask($session, $_) for q{SET kde_aqp.fault = 'fit.scanned error 1'}, q{SET client_min_messages = error};
ask($session, 'CALL kde_refresh_all(force => true)');
is($node->safe_psql('postgres', q{
     SELECT count(*), sum(refresh_failures), max(refresh_error) FROM kde_densities_full WHERE refresh_failures > 0;
     SELECT count(*) FROM kde_densities_full WHERE relation = 't'::regclass AND rows > 3000;}),
  qq{1|1|fault at point "fit.scanned"\n3}, 'a failed refresh is noted, and the others go on');
ask($session, $_) for q{SET kde_aqp.fault = ''}, q{CALL kde_refresh_all(force => true)}, q{RESET client_min_messages};
is($node->safe_psql('postgres', 'SELECT sum(refresh_failures), max(refresh_error) FROM kde_densities_full'), '0|',
  'until it succeeds');
# A failure while a failure is noted.
prepare();
my $noting = q{SET client_min_messages = error; SET kde_aqp.fault = 'refresh.failed %s'; SET statement_timeout = 0;
  CREATE TEMP TABLE broken AS SELECT * FROM kde_aqp.fitted WHERE relation = 't'::regclass AND column_names = '{w}';
  UPDATE broken SET requested_method = 'unknown'; SELECT kde_drop('t.w'); INSERT INTO kde_aqp.density SELECT * FROM broken; CALL kde_refresh_all(force => true)};
my (undef, undef, $noted) = $node->psql('postgres', sprintf $noting, 'error');
like($noted, qr/fault at point "refresh.failed"/, 'a failure while a failure is noted');
is($node->safe_psql('postgres', q{SELECT count(*) FROM kde_aqp.upkeep WHERE failures > 0}), '0', 'leaves no note');
# Within a transaction that survives it, and whose other work commits.
prepare();
ask($session, q{SET kde_aqp.fault = 'store.deleted error 2'});
ask($session, $_) for 'BEGIN', q{SELECT kde_fit('t', 'w', seed => 5)}, 'SAVEPOINT s';
my (undef, $failed) = ask($session, q{SELECT kde_fit('t', 'v', seed => 5)});
like($failed, qr/fault at point/, 'error in a subtransaction');
ask($session, $_) for 'ROLLBACK TO s', q{SELECT kde_drop('t (v, w)')}, 'COMMIT';
is($node->safe_psql('postgres', q{SELECT column_names, filter, seed FROM kde_densities_full WHERE relation = 't'::regclass ORDER BY seed, rows}),
  "{\"(v * (2)::double precision)\"}|(w <> 7)|1\n{v}||1\n{w}||5", 'undoes that subtransaction alone');
$session->quit;

# ------------------------------------------------------------------------------- requests to end
# An error met by any poll of long work ends the command, whatever the work makes of its end.
prepare();
$session = open_session($node, 'postgres', 'SET kde_aqp.threads = 1');
for my $sql (q{SELECT kde_fit('t', 'v', seed => 2)}, q{SELECT kde_fit('t', ARRAY['v', 'w'], sample_rows => 300, seed => 2)},
  q{SELECT kde_drift('t.v', seed => 2)}) {
  ask($session, "SET kde_aqp.fault = 'core.polled notice'");
  my $polls = () = (ask($session, $sql))[1] =~ /fault point core.polled/g;
  my @passes = grep { $_ > 0 } map { int($polls * $_ / 20) } 1 .. 20;
  my $raised = grep {
    ask($session, "SET kde_aqp.fault = 'core.polled error $_'");
    (ask($session, $sql))[1] =~ /fault at point "core.polled"/
  } @passes;
  is($raised, scalar @passes, "an error met by any of $polls polls is raised: $sql");
  ask($session, q{SET kde_aqp.fault = ''});
}
$session->quit;

# A SIGTERM that comes after a poll has looked and before it serves: the process may not end there, under
# its threads. It does by the next poll.
$node->safe_psql('postgres', q{CREATE TABLE large AS SELECT ln(i) * sin(i) AS v FROM generate_series(1, 100000) AS i});
for my $pass (1, 101) {
  my $victim = open_session($node, 'postgres', slow_fit('simd'));
  ask($victim, "SET kde_aqp.fault = 'core.polled terminate $pass'");
  $victim->{stdin} .= "SELECT kde_fit('large', 'v', method => 'plugin', exact => true);\n";
  eval { $victim->{run}->finish };
  like($victim->{stderr}, qr/fault point core.polled is reached.*terminating connection due to administrator command/s,
    "SIGTERM within a poll, the ${pass}th");
}
$node->safe_psql('postgres', 'DROP TABLE large');

# -------------------------------------------------------------------------------------- a crash
prepare();
for my $case (@cases) {
  my ($what, $sql) = @$case;
  for my $point (@{ $points{$what} }) {
    my ($name, $pass, $commits) = @$point;
    my $at = "$what: killed at $name, pass $pass";
    my $postmaster = postmaster_pid();
    my ($code) = $node->psql('postgres', "SET kde_aqp.fault = '$name crash $pass'; $sql");
    if (!isnt($code, 0, $at)) {
      prepare();
      next;
    }
    ok(start_again($postmaster), "$at: started again");
    my $committed = $name eq 'transaction.committed';
    my $all = state();
    if ($what =~ /each in a transaction/) {
      is(densities_done($all, $old{$what}, $new{$what}), $commits, "$at: $commits are new, all others old");
    } else {
      is($all, $committed ? $new{$what} : $old{$what}, "$at: all is " . ($committed ? 'new' : 'old'));
    }
    is(integrity(), '', "$at: and sound");
    if (!$committed) {
      $node->safe_psql('postgres', $sql);
      is(state(), $new{$what}, "$at: again without it");
    }
    is(prepare(), $old{$what}, "$at: everything can be fitted again");
  }
}

for my $point ('refresh.failed', 'refresh.noted', 'transaction.committing') {
  my $postmaster = postmaster_pid();
  $node->psql('postgres', sprintf($noting, 'crash') =~ s/refresh\.failed/$point/r);
  ok(start_again($postmaster), "killed at $point");
  is($node->safe_psql('postgres', q{SELECT count(*) FROM kde_aqp.upkeep WHERE failures > 0}), '0', "$point: leaves no note");
  is(integrity(), '', "$point: all is sound");
  prepare();
}

# A prepared transaction is neither, until it is committed.
my $prepared = q{BEGIN; SELECT kde_fit('t', 'v', method => 'scott', seed => 2); PREPARE TRANSACTION 'fit'};
my $old = prepare();
my $postmaster = postmaster_pid();
$node->psql('postgres', "SET kde_aqp.fault = 'transaction.preparing crash'; $prepared");
start_again($postmaster);
is(state(), $old, 'killed before a fit is prepared: all is old');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts'), '0', 'and nothing is prepared');
$node->safe_psql('postgres', $prepared);
$postmaster = postmaster_pid();
$node->psql('postgres', q{SET kde_aqp.fault = 'store.inserted crash'; SELECT kde_fit('t', 'w', seed => 2)});
start_again($postmaster);
is(state(), $old, 'killed while a fit is prepared: all is old');
$session = open_session($node);
send_sql($session, q{SELECT seed FROM kde_fit('t', 'v', method => 'silverman', seed => 3)});
ok($node->poll_query_until('postgres', q{SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND locktype = 'object')}),
  'another fit of its column waits');
$node->safe_psql('postgres', q{COMMIT PREPARED 'fit'});
is(end_sql($session), '3', 'until it is committed');
$session->quit;

# -------------------------------------------------------------------------------------- waiting
# A fit held between the old row and the new one, and what others meet.
$old = prepare();
my ($holder, $fitter, $beside) = map { open_session($node) } 1 .. 3;
my $fitter_pid = backend_pid($fitter);
my $held = qq{SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $fitter_pid AND NOT granted AND locktype = 'advisory')};
my $refit = q{SELECT seed FROM kde_fit('t', 'v', method => 'scott', seed => 2)};

sub hold {
  my ($point, $sql) = @_;
  ask($holder, 'SELECT pg_advisory_lock(1)');
  ask($fitter, "SET kde_aqp.fault = '$point wait'");
  send_sql($fitter, $sql);
  ok($node->poll_query_until('postgres', $held), "held at $point");
  return;
}
sub go_on {
  ask($holder, 'SELECT pg_advisory_unlock(1)');
  return end_sql($fitter);
}

for my $point ('fit.scanned', 'store.deleted', 'store.done', 'transaction.committing') {
  hold($point, $refit);
  is(state(), $old, "$point: others see the old densities");
  is(integrity(), '', "$point: VACUUM does not take them");
  is(ask($beside, q{SELECT seed FROM kde_fit('t', 'w', seed => 1)}), '1', "$point: fits of other columns do not wait");
  send_sql($beside, $refit);
  my $beside_waits = q{SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND locktype = 'object')};
  ok($node->poll_query_until('postgres', $beside_waits), "$point: one of the same column waits");
  $node->safe_psql('postgres', "SELECT pg_cancel_backend($fitter_pid)");
  my (undef, $err) = end_sql($fitter);
  like($err, qr/canceling statement due to user request/, "$point: cancelled");
  is(end_sql($beside), '2', "$point: the other then fits");
  ask($holder, 'SELECT pg_advisory_unlock(1)');
  is(prepare(), $old, "$point: back");

  hold($point, $refit);
  is(go_on(), '2', "$point: a fit that goes on");
  is($node->safe_psql('postgres', q{SELECT seed FROM kde_densities_full WHERE relation = 't'::regclass AND column_names = '{v}'}),
    '2', "$point: commits");
  is(prepare(), $old, "$point: back again");

  hold($point, $refit);
  $node->safe_psql('postgres', "SELECT pg_terminate_backend($fitter_pid)");
  ok($node->poll_query_until('postgres', "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $fitter_pid)"),
    "$point: terminated");
  is(state(), $old, "$point: leaves the old densities");
  $fitter->{run}->finish;
  $fitter = open_session($node);
  $fitter_pid = backend_pid($fitter);
  $held =~ s/pid = \d+/pid = $fitter_pid/;
  ask($holder, 'SELECT pg_advisory_unlock(1)');
}
# DROP TABLE waits for a fit that is held, and takes its density along.
hold('store.deleted', $refit);
send_sql($beside, 'DROP TABLE t');
ok($node->poll_query_until('postgres', q{
     SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock')}), 'DROP TABLE waits');
is(go_on(), '2', 'the fit goes on');
end_sql($beside);
is($node->safe_psql('postgres', q{SELECT count(*) FROM kde_aqp.fitted WHERE relation <> 'other'::regclass}), '0',
  'and its density went with the table');

# A table that grows by some blocks after a refresh has noted what proves its rows, and before it finds what changed.
$node->safe_psql('postgres', q{
  CREATE TABLE grown AS SELECT i % 100 AS v FROM generate_series(1, 50000) AS i;
  VACUUM grown;
  SELECT kde_fit('grown', 'v', sample_rows => -1), kde_set_plain_sql('grown.v', true);
  INSERT INTO grown SELECT i % 100 FROM generate_series(1, 1000) AS i});
hold('refresh.noted', q{SELECT count(*) FROM kde_refresh('grown', force => true)});
$node->safe_psql('postgres', 'INSERT INTO grown SELECT i % 100 FROM generate_series(1, 2000) AS i');
is(go_on(), '1', 'refresh.noted: refreshed');
is($node->safe_psql('postgres', q{
     SELECT FROM kde_approximate('all');
     SET kde_aqp.approximate_error = 0;
     SELECT count(*) FROM grown WHERE v < 10}), '5300', 'rows are counted that came while it was held');
$_->quit for $holder, $fitter, $beside;

# What PostgreSQL says of resources that were not released, and of what must not be.
my $log = slurp_file($node->logfile);
unlike($log, qr/PANIC|TRAP|leak|terminated by signal (?!9)/, 'the log tells of no leak and no defect');

$node->stop;
done_testing();
