# The background worker's self-checks: of what was asked and of what nobody asked, as whom, within which
# budget, and what ends them. And what kde_check() says of the launcher and its workers.
#
# A function in a density's filter is a gate (018_worker.pl): while the sequence that it reads is at 1, an
# exact query does not end.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('primary');
$node->init;
$node->append_conf('postgresql.conf', <<'CONF');
shared_preload_libraries = 'kde_aqp'
kde_aqp.naptime = 1s
log_min_messages = debug2
log_line_prefix = '%m [%p] %b '
restart_after_crash = on
autovacuum = off
max_logical_replication_workers = 0
CONF
$node->start;

sub sql { return $node->safe_psql('postgres', $_[0]) }

sub becomes {
  my ($query, $wanted, $what) = @_;
  ok($node->poll_query_until('postgres', $query, $wanted), $what) or diag(sql($query));
  return;
}

sub count_log {
  my ($pattern, $offset) = @_;
  my @found = slurp_file($node->logfile, $offset // 0) =~ /$pattern/g;
  return scalar @found;
}

# Visits of the launcher's from now on.
sub wait_for_visits {
  my ($visits) = @_;
  my $offset = -s $node->logfile;
  wait_until(sub { count_log(qr/starting background worker process "kde_aqp refresh worker/, $offset) > $visits })
    or die 'no worker is started';
  return;
}

sub set_option {
  my ($option, $value) = @_;
  sql("ALTER SYSTEM SET $option = $value");
  $node->reload;
  return;
}

# kde_check()'s problems and actions, without the densities that this test leaves unrefreshed.
sub problem { return sql(q{SELECT problem FROM problems WHERE problem ~ '} . $_[0] . q{'}) }

# Does what kde_check() says of a problem.
sub mend {
  my ($pattern, $what) = @_;
  my $action = sql("SELECT action FROM problems WHERE problem ~ '$pattern'");
  like($action, qr/\S/, "$what: kde_check() knows a command");
  note $action;
  for (grep { /\S/ } split /;/, $action =~ s/--.*//r) { sql($_) }
  return;
}

sql(q{
  CREATE EXTENSION kde_aqp;
  CREATE ROLE alice;
  GRANT CREATE, USAGE ON SCHEMA public TO alice;
  CREATE VIEW problems AS SELECT p.problem, p.action FROM kde_check(), LATERAL
    unnest(regexp_split_to_array(problems, E'\n'), regexp_split_to_array(actions, E'\n')) AS p(problem, action);
  CREATE VIEW asked AS SELECT f.relation::text AS of, f.column_names, f.fitted_at, c.* FROM kde_aqp.self_check AS c JOIN kde_aqp.fitted AS f ON f.id = c.density_id;
  SET ROLE alice;
  CREATE TABLE t AS SELECT (i * 7919) % 1000 AS v, i % 10 AS w, i::float8 AS x, 'w' || i % 7 AS word FROM generate_series(1, 5000) AS i;
  SELECT kde_fit('t', 'v', measures => '{x}', seed => 1), kde_fit('t', 'x', seed => 1), kde_fit('t', 'word', seed => 1), kde_fit('t', '{v,w}'::text[], seed => 1);});
sub ask_all {
  sql(q{
    SELECT approx_count('t.v', 3, 17);
    SELECT pg_sleep(1.1);
    SELECT sum FROM (SELECT approx_sum('t.v', 100, 200, measure => 'x') AS sum FROM generate_series(1, 1000)) AS s LIMIT 1;
    SELECT pg_sleep(1.1);
    SELECT approx_count('t.word', 'w3');
    SELECT pg_sleep(1.1);
    SELECT approx_count('t (v, w)', '{10,2}', '{500,5}');
    SELECT pg_sleep(1.1);
    SET kde_aqp.approximate = 'top';
    SELECT count(*) FROM t WHERE x >= 1000.5 AND x < 2000.5;});
  return;
}

# ------------------------------------------------------------------------------------------- no budget
sql(q{SELECT kde_set_plain_sql('t.x', true)});
is(sql('SHOW kde_aqp.self_check_budget'), '0', 'the option');
ask_all();
wait_for_visits(2);
is(sql('SELECT count(*) FROM asked'), 0, 'without a budget nothing is checked');
is(sql('SELECT sum(checks) FROM kde_self_checks'), 0, 'as the view says');

# ---------------------------------------------------------------------------------- what is asked is found
set_option('kde_aqp.self_check_budget', q{'10s'});
becomes(q{SELECT count(DISTINCT density_id) FROM asked WHERE held}, 4, 'densities that nobody asks are asked');
ask_all();
my $of = sub { "SELECT held FROM asked WHERE question = 'SELECT $_[0]'" };
becomes($of->('count(*) FROM public.t AS t WHERE v >= 3 AND v <= 17'), 't', 'a range');
becomes($of->('sum(x) FROM public.t AS t WHERE v >= 100 AND v <= 200'), 't', 'a measure');
becomes($of->(q{count(*) FROM public.t AS t WHERE word = ''w3''}), 't', 'a word');
becomes($of->('count(*) FROM public.t AS t WHERE v >= 10 AND v <= 500 AND w >= 2 AND w <= 5'), 't', 'a box');
becomes($of->('count(*) FROM public.t AS t WHERE x >= 1000.5 AND x < 2000.5'), 't', 'plain SQL');
is(sql(q{SELECT count(*) FROM kde_self_checks WHERE checks > 0 AND coverage > 0.8}), 4, 'and the view has them');
becomes(q{SELECT min(number) >= 20 FROM (SELECT max(number) AS number FROM asked WHERE of = 't' GROUP BY density_id) AS m}, 't',
  'a new fit is checked on');
is(sql('SELECT ok FROM kde_check()'), 't', 'all is well');

# As the owner, restricted; and under his own rights alone.
my $mark = -s $node->logfile;
sql(q{
  SET ROLE alice;
  CREATE FUNCTION who(v integer) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
  BEGIN
    IF v = 1 AND current_setting('application_name') = 'kde_aqp refresh worker' THEN
      RAISE LOG 'who: %, %', current_user, current_setting('search_path');
    END IF;
    RETURN true;
  END $$;
  SELECT kde_fit('t', 'w', filter => 'public.who(w)', seed => 1);});
ok(wait_until(sub { count_log(qr/who: alice, pg_catalog(, pg_temp)?\n/, $mark) > 0 }), 'the exact query runs as the owner');
is(count_log(qr/who: (?!alice|%)/, $mark), 0, 'and as nobody else');

# ------------------------------------------------------------------------------------- what is spoiled
sql(q{SELECT kde_store('t', 'v', (SELECT kde_agg(w) FROM t))});
becomes(q{SELECT count(*) FROM problems WHERE problem ~ '^warning: density "t.v" is not as good as it says'}, 1, 'a spoiled density is found');
is(sql('SELECT ok FROM kde_check()'), 'f', 'which is not well');
cmp_ok(sql(q{SELECT count(*) FROM asked WHERE of = 't' AND column_names = '{v}' AND checked_at > fitted_at}), '<=', 10,
  'within ten checks');
mend('not as good', 'spoiled');
is(problem('not as good'), '', 'it is mended');

# --------------------------------------------------------------------------------- a budget that is too small
sql(q{
  CREATE SEQUENCE gate START 2 MINVALUE 1;
  GRANT SELECT ON gate TO alice;
  SET ROLE alice;
  CREATE FUNCTION pass(v integer) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
  BEGIN
    WHILE (SELECT last_value FROM public.gate) = 1 LOOP PERFORM pg_sleep(0.01); END LOOP;
    RETURN true;
  END $$;
  CREATE TABLE gated AS SELECT i AS v FROM generate_series(1, 100) AS i;
  SELECT kde_fit('gated', 'v', filter => 'public.pass(v)', seed => 1);
  RESET ROLE;
  DROP TABLE t;
  SELECT setval('gate', 1);});
set_option('kde_aqp.self_check_budget', q{'50ms'});
$mark = -s $node->logfile;
becomes(q{SELECT unfinished >= 3 FROM kde_self_checks WHERE name = 'gated.v'}, 't', 'what does not finish is noted');
like(problem('too large to be checked'), qr/notice: density "gated.v".* is too large to be checked in 50 ms/, 'and kde_check() tells');
is(sql('SELECT ok FROM kde_check()'), 't', 'though not as an alarm');
is(count_log(qr/refresh worker (?:ERROR|WARNING|LOG|FATAL): /, $mark), 0, 'nothing of it is in the log');
is(sql(q{SELECT question FROM asked WHERE held IS NULL LIMIT 1}) =~ /^SELECT .* FROM public.gated AS t WHERE /, 1, 'with its question');
mend('too large', 'too small');
is(sql('SHOW kde_aqp.self_check_budget'), '200ms', 'a larger budget');
sql(q{SELECT setval('gate', 2)});
becomes(q{SELECT count(*) FROM problems WHERE problem ~ 'too large'}, 0, 'it is mended');

# ---------------------------------------------------------------------------------- what ends a check
my $at_gate = q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'kde_aqp refresh worker' AND wait_event = 'PgSleep'};
sql(q{SELECT kde_refresh('gated', true)});
set_option('kde_aqp.self_check_budget', q{'1h'});
sql(q{SELECT setval('gate', 1)});
becomes($at_gate, 1, 'a worker is at a check');
my $noted = sql('SELECT max(number) FROM kde_aqp.self_check');
like(sql(q{SELECT query FROM pg_stat_activity WHERE backend_type = 'kde_aqp refresh worker'}), qr/^checking a density/, 'as pg_stat_activity says');
my $worker = q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'kde_aqp refresh worker'};
my $pid = sql($worker);
sql("SELECT pg_cancel_backend($pid)");
becomes("$at_gate AND pid <> $pid", 1, 'a cancel ends it; the next visit checks on');
is(sql('SELECT max(number) FROM kde_aqp.self_check'), $noted, 'it is no check');
# It waits, and gets its lock.
$mark = -s $node->logfile;
sql(q{ALTER TABLE gated ADD extra integer});
pass('who waits for its lock gets it');
is(count_log(qr/refresh worker (?:ERROR|WARNING|FATAL): /, $mark), 0, 'and nothing of it is in the log');

# ------------------------------------------------------------------------------------------ a crash
sql(q{SELECT setval('gate', 2)});
becomes(q{SELECT checks > 0 FROM kde_self_checks WHERE name = 'gated.v'}, 't', 'there are checks');
set_option('kde_aqp.self_check_budget', 0);
wait_for_visits(1);
my $mark_of_crash = -s $node->logfile;
kill 'KILL', sql(q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'});
ok(wait_until(sub { count_log(qr/all server processes terminated; reinitializing/, $mark_of_crash) }), 'the server crashes');
ok($node->poll_query_until('postgres', 'SELECT true'), 'and is back');
is(sql('SELECT count(*) FROM kde_aqp.self_check'), 0, 'without checks');
is(sql(q{SELECT count(*) FROM kde_aqp.fitted}), 1, 'and with all densities');
is(sql(q{SELECT ok FROM kde_check()}), 't', 'which is no alarm');

# ------------------------------------------------------------------------------- the launcher and its workers
set_option('kde_aqp.max_workers', 0);
becomes(q{SELECT count(*) FROM problems WHERE problem ~ '^notice: no background worker refreshes'}, 1, 'no workers are allowed: told');
mend('no background worker', 'no workers');
becomes(q{SELECT count(*) FROM problems WHERE problem ~ 'no background worker'}, 0, 'it is mended');
sql(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'kde_aqp refresh launcher'});
becomes(q{SELECT count(*) FROM problems WHERE problem ~ '^warning: the refresh launcher does not run'}, 1, 'the launcher does not run: told');
becomes(q{SELECT count(*) FROM problems WHERE problem ~ 'launcher'}, 0, 'until it is back');
my $static = sql(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type ~ '^kde_aqp' AND backend_type <> 'kde_aqp refresh worker'});
sql("ALTER SYSTEM SET max_worker_processes = $static");
$node->restart;
becomes(q{SELECT count(*) FROM problems WHERE problem ~ '^warning: no background worker has come to this database for'}, 1, 'no process for a worker: told');
sql('CREATE DATABASE later');
$node->safe_psql('later', q{CREATE EXTENSION kde_aqp; CREATE TABLE t AS SELECT i % 7 AS v FROM generate_series(1, 1000) AS i; SELECT kde_fit('t', 'v')});
is($node->safe_psql('later', 'SELECT problems FROM kde_check()'), '', 'a database with a new density is not yet waited for');
sql('DROP DATABASE later');
mend('has come to this database', 'no process');
$node->restart;
wait_for_visits(1);
is(problem('has come'), '', 'it is mended');
$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', q{'auto_explain'});
$node->restart;
like(problem('shared_preload_libraries'), qr/^notice: /, 'without the library preloaded: told');
mend('shared_preload_libraries', 'not preloaded');
$node->restart;
is(sql('SHOW shared_preload_libraries'), 'auto_explain, kde_aqp', 'what else is preloaded stays');
is(problem('shared_preload_libraries'), '', 'it is mended');

$node->stop;
done_testing();
