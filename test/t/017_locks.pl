# Who waits for whom: a fit that is not committed blocks no answer, no look at the densities and no
# dump; answers hold nothing and ask for no more than AccessShareLock; maintenance of the catalog waits
# for fits instead of meeting their rows; DROP EXTENSION makes no deadlock.
#
# Whoever must not wait runs with a lock_timeout of a millisecond, which starts only where a lock has to
# be waited for.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('locks');
$node->init;
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;
$node->safe_psql('postgres', q{
  CREATE EXTENSION kde_aqp;
  CREATE TABLE t (v double precision, w integer);
  INSERT INTO t SELECT i, i % 7 FROM generate_series(1, 1000) AS i;
  SELECT kde_fit('t', 'v', seed => 1), kde_fit('t', ARRAY['v', 'w'], seed => 1), kde_fit('t', ARRAY['v * w'], seed => 1);
  CREATE TABLE kept AS SELECT kde_density('t.v') AS d;
});

# Every way to ask. All but the last know the table by its name and columns alone; an expression is
# read as the parser does, with the table's lock.
my @answers = (
  q{SELECT approx_count('t.v', 1, 500)},
  q{SELECT approx_sum('t.v', 1, 500)},
  q{SELECT approx_avg(d, 1, 500) FROM kept},
  q{SELECT approx_quantile('t.v', 0.5)},
  q{SELECT estimate FROM approx_count_ci('t.v', 1, 500)},
  q{SELECT sum(count) FROM approx_histogram('t.v', 5)},
  q{SELECT kde_pdf('t.v', 3)},
  q{SELECT approx_count('t (v, w)', lower => ARRAY[1, 1], upper => ARRAY[500, 3])},
  q{SELECT approx_sum('t (v)', measure => 'w', lower => ARRAY[1], upper => ARRAY[500])},
  q{SELECT count(*) FROM kde_explain('t (v)', 1, 2)},
  q{SELECT count(*) FROM kde_densities_full},
);
my $of_expression = q{SELECT approx_count('t (v * w)', lower => ARRAY[1], upper => ARRAY[500])};

my ($reader, $writer, $third) = (open_session($node), open_session($node), open_session($node));
my %expected = map { $_ => scalar ask($reader, $_) } @answers, $of_expression;
ask($_, q{SET lock_timeout = '1ms'}) for $reader, $third;

# $notice: what is said beside the answers, once a session and density, if anything.
sub all_go_on {
  my ($while, $notice, @questions) = @_;
  for my $session ($reader, open_session($node, 'postgres', q{SET lock_timeout = '1ms'})) {
    my $which = $session == $reader ? 'cached' : 'new';
    my (@wrong, %told);
    for (@questions) {
      my ($got, $said) = ask($session, $_);
      ++$told{$1} while defined $notice && $said =~ s/$notice//;
      push @wrong, $_ if $said ne '' || $got ne $expected{$_};
    }
    is("@wrong", '', "$while: all answers of a $which session go on");
    is(join(', ', map { "$_ $told{$_}" } sort keys %told), 't (v, w) 1, t.v 1', 'and say once of each density as of when') if defined $notice;
    $session->quit unless $session == $reader;
  }
  return;
}

# The relations that a session has locked, with modes; toast tables and indexes left out.
sub locks_of {
  my ($pid) = @_;
  return $node->safe_psql('postgres', qq{
    SELECT string_agg(DISTINCT CASE WHEN granted THEN '' ELSE 'waits for ' END || relation::regclass || ' ' || mode, ', ')
    FROM pg_locks JOIN pg_class AS c ON c.oid = relation WHERE pid = $pid AND relkind IN ('r', 'm')});
}

# ------------------------------------------------------------------------------------ fits
my $fit = q{SELECT kde_fit('t', 'v', seed => 2), kde_fit('t', ARRAY['v', 'w'], seed => 2), kde_fit('t', ARRAY['v * w'], seed => 2)};
my %writing = (
  'a fit' => $fit,
  'a refresh' => q{SELECT count(*) FILTER (WHERE action = 'refitted') FROM kde_refresh('t', force => true)});
for my $what (sort keys %writing) {
  ask($writer, 'BEGIN');
  ask($writer, q{INSERT INTO t SELECT 5000, 1 FROM generate_series(1, 10)});
  my $result = ask($writer, $writing{$what});
  is($result, '3', 'a refresh of three densities') if $what eq 'a refresh';
  my $held = locks_of(backend_pid($writer));
  like($held, qr/kde_aqp\.fitted RowExclusiveLock/, "$what holds a writer's lock on the catalog to its end");
  unlike($held, qr/(?:Share|Exclusive)(?<!AccessShare)(?<!RowExclusive)Lock/, 'and nothing heavier on any table');
  all_go_on("$what not committed", undef, @answers, $of_expression);
  # pg_dump's limit is a statement_timeout: of all it takes to lock its tables, not of the wait alone.
  $node->command_ok(['pg_dump', '--lock-wait-timeout=20000', '-f', $node->basedir . '/dump.sql', 'postgres'],
    'and so does pg_dump');
  for my $maintenance ('VACUUM FULL kde_aqp.fitted', 'REINDEX TABLE kde_aqp.fitted', 'REFRESH MATERIALIZED VIEW kde_aqp.fitted', 'DROP EXTENSION kde_aqp') {
    like((ask($third, $maintenance))[1], qr/canceling statement due to lock timeout/, "$maintenance waits for it");
  }
  is((ask($third, 'VACUUM kde_aqp.fitted'))[1], '', 'VACUUM does not');
  ask($writer, 'ROLLBACK');
}

# ------------------------------------------------------------------------------------ answers
my $reader_pid = backend_pid($reader);
ask($reader, 'BEGIN');
ask($reader, $_) for grep { !/kde_densities_full|kept/ } @answers;
is($node->safe_psql('postgres', qq{SELECT string_agg(locktype || ' ' || mode, ', ') FROM pg_locks WHERE pid = $reader_pid}),
  'virtualxid ExclusiveLock', 'between its statements a transaction of answers holds no lock at all');
ask($reader, 'COMMIT');

# ExclusiveLock goes together with AccessShareLock alone.
ask($writer, 'BEGIN');
ask($writer, 'LOCK TABLE t IN EXCLUSIVE MODE');
ask($writer, 'REFRESH MATERIALIZED VIEW CONCURRENTLY kde_aqp.fitted');
all_go_on('table and catalog locked in EXCLUSIVE MODE', undef, @answers, $of_expression);
ask($writer, 'ROLLBACK');
ask($writer, 'BEGIN');
ask($writer, 'LOCK TABLE t IN ACCESS EXCLUSIVE MODE');
# What is being done to it nobody sees yet.
all_go_on('the table locked in ACCESS EXCLUSIVE MODE',
  qr/^[^\n]*NOTICE:  the density of (t\.v|t \(v, w\)) answers as of [^\n]+\nDETAIL:  What changed since is not known: its definition is being changed\.\n?/m, @answers);
like((ask($reader, $of_expression))[1], qr/lock timeout/, 'and one of an expression waits');
ask($writer, 'ROLLBACK');

# What an answer waits for, where it has to.
ask($writer, 'BEGIN');
ask($writer, 'REFRESH MATERIALIZED VIEW kde_aqp.fitted');
ask($reader, q{SET lock_timeout = 0});
send_sql($reader, $answers[0]);
ok(wait_until(sub { locks_of($reader_pid) =~ /waits/ }), 'the catalog in ACCESS EXCLUSIVE MODE: an answer waits');
is(locks_of($reader_pid), 'waits for kde_aqp.fitted AccessShareLock', 'for this and nothing else');
ask($writer, 'ROLLBACK');
is(end_sql($reader), $expected{$answers[0]}, 'and goes on');

# A fit reads the table as a query does: it waits for DDL, and DDL for it.
ask($writer, 'BEGIN');
ask($writer, 'LOCK TABLE t IN EXCLUSIVE MODE');
is((ask($third, q{SELECT kde_fit('t', 'w', seed => 1) IS NOT NULL}))[1], '', 'a fit goes on beside writers of the table');
ask($writer, 'ROLLBACK');

# ------------------------------------------------------------------------------------ refreshes
# A refresh of all waits neither for a table nor for one of its partitions.
ask($writer, q{CREATE TABLE p (k integer, v double precision) PARTITION BY LIST (k)});
ask($writer, "CREATE TABLE p$_ PARTITION OF p FOR VALUES IN ($_)") for 1, 2;
ask($writer, q{INSERT INTO p SELECT 1 + i % 2, i FROM generate_series(1, 100) AS i});
ask($writer, q{SELECT kde_fit('p', 'v', seed => 1)});
for my $locked (qw(p p2)) {
  ask($writer, 'BEGIN');
  ask($writer, "LOCK TABLE ONLY $locked IN ACCESS EXCLUSIVE MODE");
  my ($out, $said) = ask($third, 'CALL kde_refresh_all(force => true)');
  like($said, qr/skipping the density of table "p": .* locked$/m, "$locked is locked: skipped");
  like($said, qr/\d+ densities refreshed, 0 fresh, 1 skipped, 0 failed/, 'and nothing else');
  ask($writer, 'ROLLBACK');
}

# Nor for who removes rows of upkeep that are of no density; nor is that an error.
ask($writer, q{INSERT INTO kde_aqp.upkeep (density_id, failures) VALUES (-1, 0)});
my $orphans = q{SELECT count(*) FROM kde_aqp.upkeep WHERE density_id NOT IN (SELECT id FROM kde_aqp.fitted)};
is($node->safe_psql('postgres', $orphans), 1, 'a row was left');
ask($writer, 'BEGIN');
ask($writer, q{DELETE FROM kde_aqp.upkeep WHERE density_id NOT IN (SELECT id FROM kde_aqp.fitted)});
like((ask($third, 'CALL kde_refresh_all()'))[1], qr/\A[^\n]*NOTICE: [^\n]*\d+ densities refreshed[^\n]*\n?\z/,
  'while another session removes it, a refresh of all goes on');
ask($writer, 'ROLLBACK');
$node->safe_psql('postgres', 'CALL kde_refresh_all()');
is($node->safe_psql('postgres', $orphans), 0, 'it removes it by itself');

# ------------------------------------------------------------------------------------ DROP EXTENSION
# It locks the extension, then its tables and views, then what depends on them. Who holds one of these and asks for
# another ends by an error, not in a deadlock that may end either; plain SQL goes on by the exact plan.
ask($reader, 'SET lock_timeout = 0');
my $writer_pid = backend_pid($writer);
sub beside_drop {
  my ($held, $then, $wanted, $what) = @_;
  ask($reader, 'BEGIN');
  ask($reader, $held);
  ask($writer, 'BEGIN; SET LOCAL client_min_messages = warning');
  send_sql($writer, 'DROP EXTENSION kde_aqp CASCADE');
  ok(wait_until(sub { $node->safe_psql('postgres', "SELECT count(*) FROM pg_locks WHERE pid = $writer_pid AND NOT granted") }),
    "$what: DROP EXTENSION waits");
  like((ask($reader, $then))[1], $wanted, $what);
  my ($out, $err) = ask($third, q{SET kde_aqp.approximate = top; SELECT count(*) FROM t WHERE v <= 500});
  is("$out$err", '500', 'plain SQL of others goes on');
  ask($reader, 'ROLLBACK');
  is((end_sql($writer))[1], '', 'and DROP EXTENSION comes through');
  ask($writer, 'ROLLBACK');
  return;
}
$node->safe_psql('postgres', q{SELECT kde_set_plain_sql('t.v', true); VACUUM t});
my $dropped = qr/ERROR:  extension "kde_aqp" is being dropped or altered by another session\nDETAIL:  That session waits for a lock/;
beside_drop('SELECT count(*) FROM kde_densities', $answers[0], $dropped, 'an answer of who has asked a view');
beside_drop('SELECT count(*) FROM kde_progress', q{SELECT kde_drop('t.v')}, $dropped, 'a writer who has asked a view');
beside_drop('SELECT count(*) FROM kept', 'SELECT count(*) FROM kde_check()', $dropped, 'kde_check() of who has read a column of the type kde');
beside_drop('SELECT count(*) FROM kept', 'DROP TABLE kept', qr/WARNING:  densities do not follow this command/, 'a drop of a table with such a column');

$_->quit for $reader, $writer, $third;
$node->stop;
done_testing();
