# kde_progress: what a running fit shows, to whom, and that nothing is left of it however it ends.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('progress');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nshared_buffers = 32MB");
$node->start;
$node->safe_psql('postgres', q{
  CREATE EXTENSION kde_aqp;
  CREATE TABLE small AS SELECT ln(i) * 100 AS v, i AS w FROM generate_series(1, 100000) AS i;
  CREATE TABLE few AS SELECT i::double precision AS v FROM generate_series(1, 3) AS i;
  SELECT kde_fit('small', 'v', seed => 1);
  -- Waits while another session holds the lock, in the row's expression: a scan that does not end.
  CREATE FUNCTION held(x double precision) RETURNS double precision LANGUAGE plpgsql IMMUTABLE AS
  $$ BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN x; END $$;
  CREATE ROLE stranger LOGIN;
  CREATE ROLE monitor LOGIN IN ROLE pg_read_all_stats;
});

# The view's rows of one backend, as another session sees them, without what is a clock's.
my $shown = sub {
  my ($pid, @options) = @_;
  return $node->safe_psql('postgres', qq{
    SELECT datname, relation, column_names, operation, phase, coalesce(unit, '-'), coalesce(device, '-')
    FROM kde_progress WHERE pid = $pid}, @options);
};
my $number = sub { $node->safe_psql('postgres', "SELECT $_[1] FROM kde_progress WHERE pid = $_[0]") };

# ------------------------------------------------------------------------------- selection, by pairs
my $session = open_session($node, 'postgres', slow_fit('reference'));
my $pid = backend_pid($session);
is($shown->($pid), '', 'an idle session shows nothing');
send_sql($session, q{SELECT kde_fit('small', 'v', seed => 2, exact => true)});
ok(wait_until(sub { $shown->($pid) =~ /selecting/ }), 'the selection of a bandwidth is shown');
like($shown->($pid), qr/^postgres\|small\|\{v\}\|fit\|selecting bandwidth\|(-|pairs)\|/, 'and of what');
ok(wait_until(sub { ($number->($pid, 'done') || 0) > 0 }), 'pairs are counted');
my $before = $number->($pid, 'done');
ok(wait_until(sub { $number->($pid, 'done') > $before }), 'and become more');
is($number->($pid, 'unit = $$pairs$$ AND done < total AND percent < 100 AND percent >= 0
     AND elapsed > $$0$$ AND started_at < clock_timestamp()'), 't', 'of a total');

# Who sees it.
is($shown->($pid, extra_params => [ '-U', 'stranger' ]), '', 'no other role sees a row');
like($shown->($pid, extra_params => [ '-U', 'monitor' ]), qr/selecting/, 'pg_read_all_stats does');
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other', 'CREATE EXTENSION kde_aqp');
is($node->safe_psql('other', qq{
     SELECT datname, relation IS NULL, column_names IS NULL, phase FROM kde_progress WHERE pid = $pid}),
  'postgres|t|t|selecting bandwidth', 'from another database, without names');
# PostgreSQL's own views know nothing of it.
is($node->safe_psql('postgres', join ' UNION ALL ', map { "SELECT pid FROM pg_stat_progress_$_" }
     qw(vacuum analyze cluster create_index basebackup copy)), '', 'no command of PostgreSQL is shown');

# What waits for its lock.
my $second = open_session($node);
my $second_pid = backend_pid($second);
send_sql($second, q{SELECT kde_fit('small', 'v', seed => 3)});
ok(wait_until(sub { $shown->($second_pid) =~ /\|waiting for lock\|-\|-$/ }), 'a wait is shown');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($second_pid)");
like((end_sql($second))[1], qr/fitting a density to column "v" of "public.small" \(waiting for lock\)/,
  'the context says what was cancelled');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
like((end_sql($session))[1], qr/canceling.*\n.*fitting a density to column "v" of "public.small" \(selecting bandwidth\)/,
  'and in which phase');
is($shown->($pid) . $shown->($second_pid), '', 'nothing is left of cancelled fits');

# ------------------------------------------------------------------------------- scans
my $holder = open_session($node);
my $hold = sub { ask($holder, 'BEGIN; SELECT pg_advisory_xact_lock(1)') };
my $release = sub { ask($holder, 'ROLLBACK') };
$hold->();
send_sql($second, q{SELECT 1 FROM kde_fit('few', ARRAY['held(v)', 'v'], 'scott')});
ok(wait_until(sub { $shown->($second_pid) eq 'postgres|few|{expression,v}|fit|scanning|blocks|-' }),
  'a scan counts blocks, an expression has no name');
is($number->($second_pid, 'total'), '1', 'of the table');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($second_pid)");
like((end_sql($second))[1], qr/columns "public.held\(v\)", "v" of "public.few" \(scanning\)/, 'its context');
is($shown->($second_pid), '', 'nothing is left of it');
$release->();

# An error that the scan catches takes nothing from view; one that ends a savepoint does.
$node->safe_psql('postgres', q{
  CREATE FUNCTION catching(x double precision) RETURNS double precision LANGUAGE plpgsql IMMUTABLE AS
  $$ BEGIN
       BEGIN PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN NULL; END;
       PERFORM pg_advisory_xact_lock_shared(1);
       RETURN x;
     END $$});
$hold->();
send_sql($second, q{SELECT 1 FROM kde_fit('few', ARRAY['catching(v)'])});
ok(wait_until(sub { $node->safe_psql('postgres', qq{
     SELECT count(*) FROM pg_locks WHERE pid = $second_pid AND locktype = 'advisory' AND NOT granted}) }),
  'the scan has caught an error');
like($shown->($second_pid), qr/scanning/, 'and is still shown');
$release->();
is(end_sql($second), '1', 'and ends');
is($shown->($second_pid), '', 'and leaves nothing');
ask($second, 'BEGIN; SAVEPOINT s');
like((ask($second, q{SELECT kde_fit('few', ARRAY['1 / (v - v)'])}))[1], qr/division by zero/, 'an error of the scan');
is($shown->($second_pid), '', 'a failed fit is not shown');
ask($second, 'ROLLBACK TO s');
is($shown->($second_pid), '', 'nor after its savepoint');
ask($second, 'ROLLBACK');

# A command of PostgreSQL's that reports is shown beside.
$hold->();
send_sql($second, q{COPY (SELECT 1 FROM kde_fit('few', ARRAY['held(v)'])) TO STDOUT});
ok(wait_until(sub { $shown->($second_pid) =~ /scanning/ }), 'a fit inside of COPY is shown');
is($node->safe_psql('postgres', "SELECT pid FROM pg_stat_progress_copy"), $second_pid, 'and so is COPY');
$release->();
is(end_sql($second), '1', 'and ends');

# A session that ends.
$hold->();
my $ending = open_session($node);
my $ending_pid = backend_pid($ending);
send_sql($ending, q{SELECT 1 FROM kde_fit('few', ARRAY['held(v)'])});
ok(wait_until(sub { $shown->($ending_pid) =~ /scanning/ }), 'a fit whose session is to end');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($ending_pid, 60000)");
is($shown->($ending_pid), '', 'nothing is left of it');
$ending->{run}->finish;

# More than there are places for. The first is in its scan, the others wait for it.
my @many = map { open_session($node) } 1 .. 66;
send_sql($_, q{SELECT 1 FROM kde_fit('few', ARRAY['held(v)'])}) for @many;
ok(wait_until(sub { $node->safe_psql('postgres', q{SELECT count(*) FROM kde_progress WHERE relation = 'few'::regclass}) == 64 }),
  'as many are shown as there are places');
ok(wait_until(sub { $node->safe_psql('postgres', q{SELECT count(*) FROM pg_locks WHERE NOT granted}) == 66 }), 'all of them wait');
is($node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT pid) FROM kde_progress'), '64|64', 'and no more are shown');
$release->();
is(join('', map { end_sql($_) } @many), '1' x 66, 'all of them end');
is($node->safe_psql('postgres', 'SELECT count(*) FROM kde_progress'), 0, 'and all places are free');
$_->quit for @many;

# ------------------------------------------------------------------------------- arrays
ask($second, $_) for slow_fit('reference');
for my $work ([ q{SELECT kde_bandwidth((SELECT array_agg(v + random()) FROM small), exact => true)}, 'bandwidth', 'selecting bandwidth' ],
  [ q{SELECT kde_bandwidth_matrix((SELECT array_agg(ARRAY[v + random(), w + random()]) FROM small))}, 'bandwidth', 'selecting bandwidth' ],
  [ q{SET kde_aqp.simd = auto; SELECT cardinality(kde_evaluate(a, a, ARRAY[1e6])) FROM (SELECT array_agg(random()) AS a FROM generate_series(1, 400000)) AS s},
    'evaluate', 'estimating' ]) {
  my ($query, $operation, $phase) = @$work;
  send_sql($second, $query);
  ok(wait_until(sub { ($number->($second_pid, 'done') || 0) > 0 }), "$operation of an array: what is done is counted");
  like($shown->($second_pid), qr/^postgres\|\|\|$operation\|$phase\|pairs\|cpu$/, 'of no table');
  $node->safe_psql('postgres', "SELECT pg_cancel_backend($second_pid)");
  like((end_sql($second))[1], qr/canceling/, 'it can be cancelled');
  is($shown->($second_pid), '', 'and leaves nothing');
}
ask($second, 'RESET kde_aqp.simd; RESET kde_aqp.bandwidth_rows');

# ------------------------------------------------------------------------------- the log
my $log = -s $node->logfile;
ask($second, 'SET kde_aqp.log_min_duration = 0');
ask($second, q{SELECT 1 FROM kde_fit('few', 'v', seed => 1) AS a, kde_fit('small', ARRAY['v', 'w'], seed => 1) AS b});
ask($second, 'SET kde_aqp.log_min_duration = -1');
ask($second, q{SELECT 1 FROM kde_fit('few', 'v', seed => 1)});
my @lines = slurp_file($node->logfile, $log) =~ /LOG:  (fitted a density .*)/g;
is(scalar(@lines), 2, 'two fits are logged');
like($lines[0], qr/^fitted a density to column "v" of "public.few": 3 rows read, sample of 3; scan \d+ ms/,
  'with what they did');
like($lines[1], qr/^fitted a density to columns "v", "w" of "public.small": 100000 rows read, sample of 46080;/,
  'of several columns too');

# ------------------------------------------------------------------------------- without activities
ask($second, 'SET track_activities = off');
$hold->();
send_sql($second, q{SELECT 1 FROM kde_fit('few', ARRAY['held(v)'])});
ok(wait_until(sub { $node->safe_psql('postgres', qq{
     SELECT count(*) FROM pg_locks WHERE pid = $second_pid AND locktype = 'advisory' AND NOT granted}) }),
  'a fit without track_activities');
is($shown->($second_pid), '', 'is not shown');
$release->();
is(end_sql($second), '1', 'and ends');

$_->quit for $session, $second, $holder;
$node->stop;
done_testing();
