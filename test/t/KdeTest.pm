# What the TAP tests share: sessions that stay open, SQL functions that wait for a fit to be in a phase
# of its work, and one that tells how far a density is from its rows.
package KdeTest;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

our @EXPORT = qw(open_session ask send_sql end_sql backend_pid wait_until tasks_of is_alive parent_of
  replace_file make_program pid_in fingerprint catalog_rows install_watchers slow_fit install_miss);

# A session's counters reach the others at its end at the latest, and psql does not wait for its end:
# who asks next may see a table as it was. So each call of psql hands them over while it waits.
{
  no warnings 'redefine';
  my $psql = \&PostgreSQL::Test::Cluster::psql;
  *PostgreSQL::Test::Cluster::psql = sub {
    my ($node, $database, $sql, @how) = @_;
    return $psql->($node, $database, "$sql\n;\nSELECT pg_stat_force_next_flush() \\g /dev/null\n", @how);
  };
}

# New servers are copies of one, as they are by themselves from PostgreSQL 16 on.
{
  no warnings 'redefine';
  my $run = \&PostgreSQL::Test::Utils::system_or_bail;
  *PostgreSQL::Test::Utils::system_or_bail = sub {
    my ($program, @arguments) = @_;
    my $template = $ENV{INITDB_TEMPLATE};
    return $run->(@_)
      unless defined $template && $program eq 'initdb' && "@arguments[0, 2 .. $#arguments]" eq '-D -A trust -N';
    return $run->('cp', '-RPp', $template, $arguments[1]);
  };
}

# A psql session that survives errors. Close it with $session->quit.
sub open_session {
  my ($node, $database, @settings) = @_;
  my $session = $node->background_psql($database // 'postgres', on_error_stop => 0);
  ask($session, $_) for @settings;
  return $session;
}

# Runs SQL and returns what came back; in list context also the errors and notices.
sub ask {
  my ($session, $sql) = @_;
  send_sql($session, $sql);
  return end_sql($session);
}

# Sends SQL without waiting for its end; end_sql() waits. The time that is allowed begins with each.
my $questions = 0;

sub send_sql {
  my ($session, $sql) = @_;
  my $mark = 'kde_aqp test: answer ' . ++$questions;
  $session->{timeout}->start;
  $session->{kde_mark} = $mark;
  $session->{stdin} .= "$sql\n;\n\\echo '$mark'\n\\warn '$mark'\n";
  $session->{run}->pump_nb while length $session->{stdin};
  return;
}

sub end_sql {
  my ($session) = @_;
  my $mark = qr/^\Q$session->{kde_mark}\E\r?\n/m;
  while ($session->{stdout} !~ $mark || $session->{stderr} !~ $mark) {
    die "psql timed out" if $session->{timeout}->is_expired;
    $session->{run}->pump;
  }
  my ($out, $err) = ($session->{stdout}, $session->{stderr});
  $session->{stdout} = $session->{stderr} = '';
  s/$mark// for $out, $err;
  s/\s+\z// for $out, $err;
  note "unexpected: $err" if $err ne '' && !wantarray;
  return wantarray ? ($out, $err) : $out;
}

sub backend_pid { return ask($_[0], 'SELECT pg_backend_pid()') }

# Polls until the code returns true; false when the time is up.
sub wait_until {
  my ($condition) = @_;
  my $deadline = time + $PostgreSQL::Test::Utils::timeout_default;
  while (time < $deadline) {
    return 1 if $condition->();
    usleep(5_000);
  }
  return 0;
}

# The threads of a process: thread id => the fields of its /proc status.
sub tasks_of {
  my ($pid) = @_;
  my %tasks;
  for my $directory (glob "/proc/$pid/task/*") {
    open my $file, '<', "$directory/status" or next;
    my ($tid) = $directory =~ /(\d+)$/;
    while (<$file>) { $tasks{$tid}{$1} = $2 if /^(\w+):\s*(.*?)\s*$/ }
  }
  return %tasks;
}

# A process that has ended counts as gone though nobody may have asked for its status.
sub is_alive {
  my ($pid) = @_;
  open my $stat, '<', "/proc/$pid/stat" or return 0;
  my $line = <$stat> // '';
  return $line =~ /\) [^ZX] /;
}

sub parent_of {
  my ($pid) = @_;
  return (slurp_file("/proc/$pid/stat") =~ /\) \S (\d+)/)[0];
}

sub replace_file {
  my ($file, $text) = @_;
  unlink $file;
  append_to_file($file, $text);
  return;
}

# The device service's program as the server runs it: says who it is, then becomes the command with the
# arguments that a file holds. Returns the script and that file; pid_in() tells who it is.
sub make_program {
  my ($directory, $command) = @_;
  my ($program, $arguments, $pid, $asked) = map { "$directory/$_" } qw(program mode pid asked);
  append_to_file($program, <<"SH");
#!/bin/sh
echo "\$@" > '$asked'
echo \$\$ > '$pid.new' && mv '$pid.new' '$pid'
exec $command \$(cat '$arguments') "\$@"
SH
  chmod 0755, $program or die $!;
  replace_file($arguments, '');
  return ($program, $arguments);
}

# 0: none was started yet.
sub pid_in {
  my ($directory) = @_;
  return 0 unless -s "$directory/pid";
  my $pid = slurp_file("$directory/pid");
  chomp $pid;
  return $pid;
}

# Everything the catalog holds, as one word.
sub fingerprint {
  my ($node, $database) = @_;
  return $node->safe_psql($database // 'postgres',
    q{SELECT count(*) || ' ' || md5(coalesce(string_agg(d::text, E'\n' ORDER BY d::text), ''))
      FROM kde_aqp.fitted AS d});
}

# All rows of a database's system catalogs, by their numbers, a line each.
sub catalog_rows {
  my ($node, $database) = @_;
  return $node->safe_psql($database, q{SELECT string_agg(line, E'\n' ORDER BY line) FROM (} . join(' UNION ALL ', map {
      "SELECT '$_ ' || oid AS line FROM $_" } qw(pg_class pg_proc pg_type pg_trigger pg_event_trigger pg_namespace pg_cast
      pg_constraint pg_attrdef pg_rewrite pg_enum pg_extension pg_operator pg_am pg_policy pg_default_acl pg_statistic_ext
      pg_opclass pg_opfamily pg_amop pg_amproc pg_publication pg_largeobject_metadata)) . q{
    UNION ALL SELECT concat_ws(' ', 'pg_depend', classid, objid, objsubid, refclassid, refobjid, refobjsubid, deptype) FROM pg_depend
    UNION ALL SELECT concat_ws(' ', 'pg_shdepend', classid, objid, objsubid, refobjid, deptype) FROM pg_shdepend
      WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
    UNION ALL SELECT concat_ws(' ', 'pg_description', classoid, objoid, objsubid) FROM pg_description
    UNION ALL SELECT concat_ws(' ', 'pg_init_privs', classoid, objoid, objsubid) FROM pg_init_privs
    UNION ALL SELECT concat_ws(' ', 'pg_attribute', attrelid, attnum) FROM pg_attribute
    UNION ALL SELECT concat_ws(' ', 'pg_index', indexrelid) FROM pg_index
    UNION ALL SELECT concat_ws(' ', 'pg_sequence', seqrelid) FROM pg_sequence
    UNION ALL SELECT concat_ws(' ', 'pg_statistic', starelid, staattnum, stainherit) FROM pg_statistic WHERE starelid >= 16384
    UNION ALL SELECT concat_ws(' ', 'pg_db_role_setting', setdatabase, setrole, setconfig) FROM pg_db_role_setting
    UNION ALL SELECT concat_ws(' ', 'pg_aggregate', aggfnoid::oid) FROM pg_aggregate) AS s});
}

# Settings under which the selection of a bandwidth takes minutes: the sums over all pairs of
# `rows` values, naively or with the vector engine. Continuous values, as ties would shorten it.
sub slow_fit {
  my ($engine) = @_;
  my $rows = $engine eq 'reference' ? 100_000 : 1_000_000;
  return ("SET maintenance_work_mem = '1GB'", "SET kde_aqp.simd = '$engine'",
    "SET kde_aqp.bandwidth_rows = $rows", "SET max_parallel_maintenance_workers = 8");
}

# Functions that run in a session beside the one that fits, so that a request is sent within a
# millisecond of the phase and the answer is timed by the server's clock.
#
# A fit takes a lock on its column right before it reads the table, and starts its threads between
# reading and selecting. With one core there are no threads to see.
sub install_watchers {
  my ($node) = @_;
  $node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION wait_for_fit(fitter integer, phase text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  deadline timestamptz := clock_timestamp() + interval '120 s';
  threads boolean := (SELECT d.threads > 1 FROM kde_devices() AS d WHERE d.device = 'cpu');
BEGIN
  LOOP
    IF EXISTS (SELECT FROM pg_locks WHERE pid = fitter AND granted AND locktype = 'object'
               AND classid = 'kde_aqp.fitted'::regclass)
       AND (phase = 'scan' OR NOT threads
            OR (SELECT count(*) FROM pg_ls_dir('/proc/' || fitter || '/task')) > 1)
    THEN
      RETURN;
    END IF;
    IF clock_timestamp() > deadline THEN RAISE 'no fit in phase "%"', phase; END IF;
    PERFORM pg_sleep(0.001);
  END LOOP;
END $$;

-- Milliseconds from the request to the end of the statement (or of the backend).
CREATE FUNCTION stop_fit(fitter integer, phase text, how text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
  deadline timestamptz := clock_timestamp() + interval '120 s';
  asked timestamptz;
  reached boolean;
BEGIN
  PERFORM wait_for_fit(fitter, phase);
  asked := clock_timestamp();
  IF how = 'cancel' THEN
    PERFORM pg_cancel_backend(fitter);
  ELSE
    PERFORM pg_terminate_backend(fitter);
  END IF;
  LOOP
    PERFORM pg_stat_clear_snapshot();
    SELECT CASE how WHEN 'cancel' THEN bool_and(state <> 'active') ELSE count(*) = 0 END
      INTO reached FROM pg_stat_activity WHERE pid = fitter;
    EXIT WHEN reached;
    IF clock_timestamp() > deadline THEN RAISE 'the fit did not stop'; END IF;
    PERFORM pg_sleep(0.001);
  END LOOP;
  RETURN round(extract(epoch FROM clock_timestamp() - asked) * 1000, 1);
END $$;
SQL
  return;
}

# A function miss(density, relation, column): the largest |approx_count - count| of the rows up to a
# value, over some 2,000 of the column's values, in rows; and allowed(density), what the density says
# of itself: its error in rows and the rounding of a count.
sub install_miss {
  my ($node, $database) = @_;
  $node->safe_psql($database // 'postgres', <<'SQL');
CREATE FUNCTION miss(d kde, relation regclass, column_name name) RETURNS double precision
LANGUAGE plpgsql AS $$
DECLARE
  largest double precision;
BEGIN
  EXECUTE format('SELECT max(abs(approx_count($1, NULL, x) - n)) FROM (
      SELECT %1$I AS x, count(*) OVER (ORDER BY %1$I) AS n, row_number() OVER (ORDER BY %1$I) AS i
      FROM %2$s WHERE %1$I IS NOT NULL) AS s
    WHERE i %% (SELECT greatest(count(%1$I) / 2000, 1) FROM %2$s) = 0', column_name, relation)
    INTO largest USING d;
  RETURN largest;
END $$;
CREATE FUNCTION allowed(d kde) RETURNS double precision LANGUAGE sql AS $$
  SELECT i.representation_error * i.rows + 1e-9 * i.rows FROM kde_info(d) AS i
$$;
SQL
  return;
}

1;
