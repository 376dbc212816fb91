# The refresh launcher and its workers: what they refresh and as whom, how many run, how they fail,
# give way and come back.
#
# A function in a density's expression is a gate: while the sequence it reads is at 1, a fit stays in
# its scan. So a worker can be kept at its work for as long as a test needs, by conditions alone.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $node = PostgreSQL::Test::Cluster->new('primary');
$node->init(allows_streaming => 1);
# At debug1 the postmaster tells when it starts a worker, at debug2 the launcher of its rounds.
$node->append_conf('postgresql.conf', <<'CONF');
shared_preload_libraries = 'kde_aqp'
kde_aqp.naptime = 1s
log_min_messages = debug2
log_line_prefix = '%m [%p] %b '
restart_after_crash = on
autovacuum = off
CONF
$node->start;

# --- what the tests share -----------------------------------------------------------------------------

sub sql { return $node->safe_psql($_[1] // 'postgres', $_[0]) }

sub becomes {
  my ($query, $wanted, $what, $database) = @_;
  ok($node->poll_query_until($database // 'postgres', $query, $wanted), $what)
    or diag(sql($query, $database));
  return;
}

# How often the log has had a line since an offset.
sub count_log {
  my ($pattern, $offset, $of) = @_;
  my @found = slurp_file(($of // $node)->logfile, $offset // 0) =~ /$pattern/g;
  return scalar @found;
}

sub logged {
  my ($pattern, $offset, $what, $times) = @_;
  return ok(wait_until(sub { count_log($pattern, $offset) >= ($times // 1) }), $what);
}

sub log_size { return -s $node->logfile }

# Full rounds of the launcher from now on: the first that is counted may have begun before.
sub wait_for_rounds {
  my ($rounds) = @_;
  my $offset = log_size();
  wait_until(sub { count_log(qr/refresh launcher: \d+ databases/, $offset) > $rounds })
    or die 'the launcher makes no rounds';
  return;
}

sub oid_of { return sql("SELECT oid FROM pg_database WHERE datname = '$_[0]'") }

# The visits of each database since an offset, by one look at the log.
sub visits {
  my ($offset) = @_;
  my %visits;
  ++$visits{$_}
    for slurp_file($node->logfile, $offset // 0) =~ /starting background worker process "kde_aqp refresh worker for database (\d+)"/g;
  return %visits;
}
sub visits_of {
  my ($oid, $offset) = @_;
  my %visits = visits($offset);
  return $visits{$oid} // 0;
}

my $workers = q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'kde_aqp refresh worker'};
my $at_gate = q{SELECT count(*) FROM pg_stat_activity
  WHERE backend_type = 'kde_aqp refresh worker' AND wait_event = 'PgSleep'};
my $launchers = q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'kde_aqp refresh launcher'};

sub set_option {
  my ($option, $value) = @_;
  sql("ALTER SYSTEM SET $option = $value");
  $node->reload;
  return;
}

# A table of 100 rows with a density.
sub make_table {
  my ($table, $database) = @_;
  sql("CREATE TABLE $table AS SELECT i::float8 AS v FROM generate_series(1, 100) AS i;
       SELECT kde_fit('$table', 'v', seed => 1)", $database);
  return;
}

# The same behind a gate, open for now.
sub make_gated {
  my ($table, $database) = @_;
  sql(qq{
    CREATE SEQUENCE ${table}_gate START 2 MINVALUE 1;
    CREATE FUNCTION ${table}_pass(v float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS \$\$
    BEGIN
      WHILE (SELECT last_value FROM public.${table}_gate) = 1 LOOP PERFORM pg_sleep(0.01); END LOOP;
      RETURN v;
    END \$\$;
    CREATE TABLE $table AS SELECT i::float8 AS v FROM generate_series(1, 100) AS i;
    SELECT kde_fit('$table', 'v', filter => '${table}_pass(v) > 0', seed => 1)}, $database);
  return;
}

sub set_gate {
  my ($table, $open, $database) = @_;
  sql("SELECT setval('${table}_gate', " . ($open ? 2 : 1) . ')', $database);
  return;
}

# As many rows again, and more than the threshold.
sub grow {
  my ($table, $database) = @_;
  sql("INSERT INTO $table SELECT v FROM $table", $database);
  return;
}

sub begins_to_count {
  my ($table, $what) = @_;
  becomes(qq{SELECT count(*) FROM kde_aqp.upkeep AS u JOIN kde_aqp.fitted AS d ON d.id = u.density_id
    WHERE d.relation = '$table'::regclass AND u.counters IS NOT NULL}, 1, $what);
  return;
}

my $rows_of = sub { "SELECT max(rows) FROM kde_densities_full WHERE relation = '$_[0]'::regclass" };

sub is_refreshed {
  my ($table, $what, $database) = @_;
  my $rows = sql("SELECT count(*) FROM $table", $database);
  becomes($rows_of->($table), $rows, $what, $database);
  return;
}

# --- it refreshes -------------------------------------------------------------------------------------

sql('CREATE EXTENSION kde_aqp');
make_table('t');
make_table('other');
is(sql('SHOW kde_aqp.naptime') . sql('SHOW kde_aqp.max_workers'), '1s1', 'options');
becomes($launchers, 1, 'the launcher runs');
is(sql(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'kde_aqp refresh launcher'
         AND datid IS NULL}), 1, 'without a database');

my $mark = log_size();
my $other = sql(q{SELECT xmin FROM kde_aqp.fitted WHERE relation = 'other'::regclass});
grow('t');
is_refreshed('t', 'a changed table is refreshed');
my $fitted = sql(q{SELECT xmin FROM kde_aqp.fitted WHERE relation = 't'::regclass});
my $visits = visits_of(oid_of('postgres'), $mark);
ok(wait_until(sub { visits_of(oid_of('postgres'), $mark) >= $visits + 3 }), 'the database is visited on');
is(sql(q{SELECT xmin FROM kde_aqp.fitted WHERE relation = 't'::regclass}), $fitted,
  'but not fitted again');
is(sql(q{SELECT xmin FROM kde_aqp.fitted WHERE relation = 'other'::regclass}), $other,
  'nor is a table that has not changed');
is(count_log(qr/kde_aqp refresh worker LOG: /, $mark), 1, 'one line of log for one refit')
  or diag(join "\n", grep { /refresh worker LOG/ } split /\n/, slurp_file($node->logfile, $mark));

# --- densities of one table together ------------------------------------------------------------------

make_gated('pair');
sql(q{SELECT kde_fit('pair', 'v', seed => 1)});
my $rows_of_pair = q{SELECT string_agg(rows::text, ' ' ORDER BY filter) FROM kde_densities_full WHERE relation = 'pair'::regclass};
$mark = log_size();
grow('pair');
becomes($rows_of_pair, '200 200', 'two densities of a table are refreshed');
is(count_log(qr/reading \d+ of \d+ blocks in 1 relations for 2 densities/, $mark), 1, 'by one scan');
set_option('kde_aqp.refresh_timeout', "'500ms'");
set_gate('pair', 0);
grow('pair');
becomes($rows_of_pair, '200 400', 'where one does not end, the other is refreshed by itself');
becomes(q{SELECT last_error FROM kde_aqp.upkeep AS u JOIN kde_aqp.fitted AS d ON d.id = u.density_id
  WHERE d.relation = 'pair'::regclass AND failures > 0}, 'canceling statement due to statement timeout', 'which alone has failed');
set_gate('pair', 1);
sql('ALTER SYSTEM RESET kde_aqp.refresh_timeout');
$node->reload;
becomes($rows_of_pair, '400 400', 'and is refreshed later');
sql('DROP TABLE pair');

# --- as the owner -------------------------------------------------------------------------------------

sql(q{
  CREATE ROLE alice;
  CREATE SCHEMA s AUTHORIZATION alice;
  GRANT CREATE, USAGE ON SCHEMA public TO alice;
  SET ROLE alice;
  CREATE FUNCTION s.who(v float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS $$
  DECLARE
    became text := 'another role';
  BEGIN
    IF v = 1 AND current_setting('application_name') = 'kde_aqp refresh worker' THEN
      BEGIN
        PERFORM set_config('role', session_user, false);
      EXCEPTION WHEN OTHERS THEN became := SQLERRM;
      END;
      RAISE LOG 'who: % of %, %, %', current_user, session_user, became,
        current_setting('search_path');
    END IF;
    RETURN v;
  END $$;
  CREATE TABLE s.mine AS SELECT i::float8 AS v FROM generate_series(1, 100) AS i;
  SELECT kde_fit('s.mine', 'v', filter => 's.who(v) > 0', seed => 1);});
$mark = log_size();
grow('s.mine');
is_refreshed('s.mine', 'a table of another role is refreshed');
my $superuser = sql('SELECT current_user');
logged(qr/who: alice of $superuser, cannot set parameter "role" within security-restricted operation, pg_catalog, pg_temp\n/,
  $mark, 'as its owner, who cannot become another');

# --- errors and back-off ------------------------------------------------------------------------------

my $upkeep = q{SELECT %s FROM kde_aqp.upkeep AS u JOIN kde_aqp.fitted AS d ON d.id = u.density_id
  WHERE d.relation = 's.mine'::regclass};
$mark = log_size();
sql(q{ALTER FUNCTION s.who(float8) OWNER TO CURRENT_USER; REVOKE EXECUTE ON FUNCTION s.who(float8) FROM PUBLIC, alice});
grow('s.mine');
grow('t');
becomes(sprintf($upkeep, 'failures >= 1'), 't', 'a function the owner may not call: a failure');
like(sql(sprintf $upkeep, 'last_error'), qr/permission denied for function who/, 'is noted');
is_refreshed('t', 'another table is refreshed all the same');
becomes(sprintf($upkeep, 'failures >= 2'), 't', 'it is tried again');
becomes(sprintf($upkeep, 'failures >= 3'), 't', 'and again');
logged(qr/kde_aqp refresh worker WARNING: .*mine/, $mark, 'the log says so', 3);
my @failed_at = map { my ($h, $m, $s) = split /:/; 3600 * $h + 60 * $m + $s }
  slurp_file($node->logfile, $mark) =~ /^\S+ (\d+:\d+:[\d.]+) .*kde_aqp refresh worker WARNING: .*mine/mg;
# Midnight may be between.
my @pauses = map { $failed_at[$_] - $failed_at[$_ - 1] + ($failed_at[$_] < $failed_at[$_ - 1] ? 86400 : 0) } 1, 2;
# What is logged is not the very moment.
ok($pauses[0] >= 1.9 && $pauses[1] >= 3.9, 'after twice as long each time') or diag("@pauses");
sql('DROP FUNCTION s.who(float8)');
becomes(sprintf($upkeep, 'failures >= 4'), 't', 'the function is gone: a failure');
like(sql(sprintf $upkeep, 'last_error'), qr/does not exist/, 'is noted');
sql(q{SET ROLE alice; CREATE FUNCTION s.who(v float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT v'});
sql(q{SELECT * FROM kde_refresh('s.mine')});
is(sql(sprintf $upkeep, 'failures'), 0, 'what a session refreshes is no failure any more');
grow('s.mine');
is_refreshed('s.mine', 'and the worker does it again');

# What failed is tried again though it is not stale any more, and is no failure then.
sql(q{ALTER FUNCTION s.who(float8) OWNER TO CURRENT_USER; REVOKE EXECUTE ON FUNCTION s.who(float8) FROM PUBLIC, alice});
grow('s.mine');
becomes(sprintf($upkeep, 'failures >= 1'), 't', 'a failure again');
sql(q{SELECT kde_set_refresh('s.mine.v', filter => 's.who(v) > 0', scale_factor => 1000);
      GRANT EXECUTE ON FUNCTION s.who(float8) TO alice});
becomes(sprintf($upkeep, 'failures = 0 AND last_error IS NULL AND failed_at IS NULL'), 't', 'heals where nothing is stale');

# A table without rows is no failure, and what comes later is fitted.
make_table('emptied');
my $emptied = q{SELECT %s FROM kde_aqp.upkeep AS u JOIN kde_aqp.fitted AS d ON d.id = u.density_id WHERE d.relation = 'emptied'::regclass};
sql('TRUNCATE emptied; ANALYZE emptied');
becomes(sprintf($emptied, 'failures < -1'), 't', 'a table without rows is looked at again and again');
is(sql(q{SELECT refresh_failures, refresh_error IS NULL, refresh_failed_at IS NULL FROM kde_densities_full WHERE relation = 'emptied'::regclass}),
  '0|t|t', 'which is no failure');
sql('INSERT INTO emptied SELECT i FROM generate_series(1, 500) AS i');
is_refreshed('emptied', 'until it has rows');
is(sql(sprintf $emptied, 'failures'), 0, 'and is as any other');

# A dump whose densities come first, as kde_aqp sorts before public, while the worker runs.
sql("CREATE DATABASE $_") for qw(dumped restored);
sql(q{CREATE EXTENSION kde_aqp; CREATE FUNCTION is_small(integer) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT $1 < 5'}, 'dumped');
for my $k (1 .. 4) {
  sql(qq{CREATE TABLE t$k AS SELECT i AS v, i % 7 AS w FROM generate_series(1, 2000) AS i;
    SELECT kde_fit('t$k', 'v'), kde_fit('t$k', 'v', filter => 'is_small(w)'), kde_fit('t$k', ARRAY['v', 'w']),
      kde_fit('t$k', 'v', measures => ARRAY['w'], group_by => 'w')}, 'dumped');
}
my $dump = $node->basedir . '/dump';
$node->command_ok([ 'pg_dump', '-Fc', '-f', $dump, 'dumped' ], 'a dump');
$node->command_ok([ 'pg_restore', '--section=pre-data', '-d', 'restored', $dump ], 'its tables');
$node->command_ok([ 'pg_restore', '--data-only', '-n', 'kde_aqp', '-d', 'restored', $dump ], 'its densities');
my $count = sql('SELECT count(*) FROM kde_aqp.fitted', 'restored');
cmp_ok($count, '>=', 16, 'have come');
becomes('SELECT count(*) > 0 FROM kde_aqp.upkeep', 't', 'the worker looks at them', 'restored');
$mark = log_size();
ok(wait_until(sub { visits_of(oid_of('restored'), $mark) >= 2 }), 'and again');
is(sql('SELECT count(*) FROM kde_densities_full WHERE refresh_failures > 0', 'restored'), 0, 'empty tables are no failures');
$node->command_ok([ 'pg_restore', '--data-only', '-n', 'public', '-d', 'restored', $dump ], 'rows');
becomes(q{SELECT count(*) FROM kde_densities WHERE state !~ 'failed|stale'}, $count, 'all are good in the end', 'restored');
is(sql('SELECT ok FROM kde_check()', 'restored'), 't', 'and all is well');
sql("DROP DATABASE $_ WITH (FORCE)") for qw(dumped restored);

# --- more databases -----------------------------------------------------------------------------------

sql("CREATE DATABASE $_") for 'second', 'nothing', 'closed ALLOW_CONNECTIONS false';
my ($second_oid, $nothing, $closed) = map { oid_of($_) } qw(second nothing closed);
$mark = log_size();
sql('CREATE EXTENSION kde_aqp', 'second');
make_table('t', 'second');
grow('t', 'second');
is_refreshed('t', 'a table of another database is refreshed', 'second');
ok(wait_until(sub { visits_of($nothing) >= 1 }), 'a database without the extension is looked at');
ok(wait_until(sub { visits_of($second_oid, $mark) >= 8 }), 'one with densities again and again');
my %visits = visits($mark);
cmp_ok($visits{$nothing} // 0, '<', $visits{$second_oid} - 2, 'one without them rarely');
is(visits_of($closed, $mark), 0, 'one that nobody may connect to not at all');
sql('CREATE EXTENSION kde_aqp', 'nothing');
make_table('t', 'nothing');
$mark = log_size();
ok(wait_until(sub { %visits = visits($mark); ($visits{$nothing} // 0) >= 3 }), 'until something is fitted in it');
cmp_ok($visits{$second_oid}, '<=', $visits{$nothing} + 2, 'then as often as another');
grow('t', 'nothing');
is_refreshed('t', 'and it is refreshed', 'nothing');

# --- how many at once ---------------------------------------------------------------------------------

make_gated('g', $_) for qw(postgres second nothing);
is_refreshed('g', "a gated table in $_", $_) for qw(postgres second nothing);
set_gate('g', 0, $_) for qw(postgres second nothing);
grow('g', $_) for qw(postgres second nothing);
becomes($at_gate, 1, 'max_workers = 1: one worker is kept at its work');
wait_for_rounds(2);
is(sql($workers), 1, 'the other databases wait');
set_option('kde_aqp.max_workers', 3);
becomes($at_gate, 3, 'max_workers = 3: all three are worked in');
is(sql(q{SELECT count(DISTINCT datname) FROM pg_stat_activity
         WHERE backend_type = 'kde_aqp refresh worker'}), 3, 'by one worker each');
is(sql(q{SELECT string_agg(DISTINCT application_name, ',') FROM pg_stat_activity
         WHERE backend_type = 'kde_aqp refresh worker'}), 'kde_aqp refresh worker', 'with a name');
is(sql(q{SELECT string_agg(query, ',' ORDER BY query) FROM pg_stat_activity
         WHERE backend_type = 'kde_aqp refresh worker'}),
  join(',', map { "refreshing a density of $_.public.g" } qw(nothing postgres second)), 'and its work');
set_option('kde_aqp.max_workers', 2);
becomes($workers, 2, 'max_workers = 2: one is ended');
set_option('kde_aqp.max_workers', 0);
becomes($workers, 0, 'max_workers = 0: all are ended');
is(sql($launchers), 1, 'but the launcher is not');
set_gate('g', 1, $_) for qw(postgres second nothing);
$mark = log_size();
grow('t');
# It does not make rounds either; a reload is what it wakes at.
set_option('kde_aqp.naptime', 2);
logged(qr/refresh launcher: naptime 2 s, at most 0 workers/, $mark,
  'the launcher has read the new naptime');
set_option('kde_aqp.naptime', 1);
is(count_log(qr/starting background worker process "kde_aqp/, $mark), 0, 'max_workers = 0: no worker');
set_option('kde_aqp.max_workers', 1);
is_refreshed('t', 'max_workers = 1: they are back');
is_refreshed('g', "also in $_", $_) for qw(postgres second nothing);

# A worker ends after kde_aqp.naptime of work. The cheapest density is first, so another that has cost
# more seconds is the next.
make_gated('h');
set_gate('h', 0);
grow('h');
becomes($at_gate, 1, 'a costly refresh');
wait_for_rounds(3);
set_gate('h', 1);
is_refreshed('h', 'is done');
set_gate('g', 0);
grow($_) for qw(g h);
becomes($at_gate, 1, 'another, less costly, is at work');
wait_for_rounds(1);
$mark = log_size();
set_gate('g', 1);
is_refreshed($_, "both are done: $_") for qw(g h);
my %worker = map { /\[(\d+)\] kde_aqp refresh worker LOG:  refitted the density of ([gh])\./ ? ($2, $1) : () }
  split /\n/, slurp_file($node->logfile, $mark);
isnt($worker{h}, $worker{g}, 'by one worker after the other') or diag(explain \%worker);

# --- giving way ---------------------------------------------------------------------------------------

sub keep_at_gate {
  my ($database, $what) = @_;
  set_gate('g', 0, $database);
  grow('g', $database);
  becomes(qq{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'kde_aqp refresh worker'
    AND wait_event = 'PgSleep' AND datname = '$database'}, 1, "$what: a worker is kept at its work");
  return;
}

sub timed {
  my ($what, $sql) = @_;
  my $from = time;
  # Whoever waits in vain fails.
  my ($code, undef, $err) = $node->psql('postgres', "SET statement_timeout = '60s';\n$sql");
  is($code, 0, $what) or diag($err);
  note sprintf '%s: %.0f ms', $what, 1000 * (time - $from);
  return;
}

$mark = log_size();
keep_at_gate('postgres', 'ALTER TABLE');
timed('ALTER TABLE does not wait for the refresh', 'ALTER TABLE g ADD COLUMN w integer');
logged(qr/gave way to a session that waited for its locks/, $mark, 'which gives way');
# Noted after the locks are free.
becomes(q{SELECT count(*) FROM kde_aqp.upkeep AS u JOIN kde_aqp.fitted AS d ON d.id = u.density_id
          WHERE d.relation = 'g'::regclass AND last_error ~ 'gave way' AND failures = 1}, 1,
  'and waits a while before it tries again');
set_gate('g', 1);
is_refreshed('g', 'it is done later');

# --- and a limit to its time --------------------------------------------------------------------------

set_option('kde_aqp.refresh_timeout', "'500ms'");
$mark = log_size();
set_gate('g', 0);
grow('g');
logged(qr/canceling statement due to statement timeout/, $mark, 'what takes too long is ended');
becomes(q{SELECT count(*) FROM kde_aqp.upkeep AS u JOIN kde_aqp.fitted AS d ON d.id = u.density_id
  WHERE d.relation = 'g'::regclass AND last_error ~ 'timeout'}, 1, 'and noted');
sql('ALTER SYSTEM RESET kde_aqp.refresh_timeout');
$node->reload;
set_gate('g', 1);
is_refreshed('g', 'with time enough it is done');

# --- work that does not end ---------------------------------------------------------------------------

# A density that is refreshed after all others.
make_table('dear');
sql(q{
  CREATE TEMP TABLE dear_row AS SELECT * FROM kde_aqp.fitted WHERE relation = 'dear'::regclass;
  UPDATE dear_row SET select_ms = 1e6, fitted_at = '2000-01-01';
  SELECT kde_drop('dear.v');
  INSERT INTO kde_aqp.density SELECT * FROM dear_row});
begins_to_count('dear', 'changes of dear are counted');

# Both are due, so that the worker has gone by the time that the statistics tell of the last.
sub make_stale {
  my ($table) = @_;
  my $before = sql('SELECT clock_timestamp()');
  grow($table);
  # A worker that is free may have refreshed it by now.
  becomes("SELECT bool_or(stale OR as_of > '$before') FROM kde_densities_full WHERE relation = '$table'::regclass", 't',
    "$table is stale, or was");
  return;
}

sub is_blamed {
  my ($table, $error, $what) = @_;
  becomes(qq{SELECT count(*) FROM kde_aqp.upkeep AS u JOIN kde_aqp.fitted AS d ON d.id = u.density_id
    WHERE d.relation = '$table'::regclass AND failures >= 1 AND last_error ~ '$error'}, 1, $what);
  return;
}

# Makes the function behind a gate one that traps its cancel.
sql(q{CREATE TABLE trap AS SELECT i::float8 AS v FROM generate_series(1, 100) AS i;
  CREATE SEQUENCE trap_gate START 2 MINVALUE 1;
  CREATE FUNCTION trap_pass(v float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS $$
  BEGIN
    LOOP
      BEGIN
        WHILE (SELECT last_value FROM public.trap_gate) = 1 LOOP PERFORM pg_sleep(0.01); END LOOP;
        RETURN v;
      EXCEPTION WHEN query_canceled THEN NULL;
      END;
    END LOOP;
  END $$;
  SELECT kde_fit('trap', 'v', filter => 'trap_pass(v) > 0', seed => 1)});
set_gate('trap', 0);
grow('trap');
becomes($at_gate, 1, 'a worker is at work that traps its cancel');
make_stale('dear');
my $stuck = sql(q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'kde_aqp refresh worker'});
is(sql("SELECT operation, phase, column_names FROM kde_progress WHERE pid = $stuck"), 'refresh|scanning|{v}',
  'kde_progress shows it');
$mark = log_size();
timed('who waits for its locks waits for a few seconds', 'ALTER TABLE trap ADD COLUMN w integer');
logged(qr/ending the refresh worker .*: it does not give way/, $mark, 'then the worker is ended');
is_blamed('trap', 'did not give way', 'which is noted');
is_refreshed('dear', 'and keeps no other density waiting');

becomes($at_gate, 1, 'it is tried again, with time enough');
make_stale('dear');
sql('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = $$kde_aqp refresh worker$$');
is_refreshed('dear', 'after pg_terminate_backend others come first');
is_blamed('trap', '^its worker was terminated', 'and that is noted');

set_option('kde_aqp.refresh_timeout', "'500ms'");
$mark = log_size();
make_stale('dear');
sql(q{UPDATE kde_aqp.upkeep SET failures = 0 WHERE density_id IN
  (SELECT id FROM kde_aqp.fitted WHERE relation = 'trap'::regclass)});
logged(qr/ending the refresh worker .*: it does not end at "kde_aqp.refresh_timeout"/, $mark,
  'a worker that goes on after its timeout is ended');
is_blamed('trap', 'went on after kde_aqp.refresh_timeout', 'which is noted');
is_refreshed('dear', 'and keeps no other density waiting');
sql('ALTER SYSTEM RESET kde_aqp.refresh_timeout');
$node->reload;
set_gate('trap', 1);
grow('trap');
is_refreshed('trap', 'when it ends by itself it is refreshed');
is(sql(q{SELECT refresh_failures FROM kde_densities_full WHERE relation = 'trap'::regclass}), 0, 'and nothing is noted');

SKIP: {
  skip 'PostgreSQL before 17 has no transaction_timeout', 5 if $node->pg_version < 17;
  set_option('transaction_timeout', "'500ms'");
  $mark = log_size();
  set_gate('g', 0);
  grow('g');
  becomes($at_gate, 1, 'a refresh that takes longer than transaction_timeout');
  wait_for_rounds(2);
  set_gate('g', 1);
  is_refreshed('g', 'is done');
  is(count_log(qr/due to transaction timeout/, $mark), 0, 'it holds for sessions alone');
  sql('ALTER SYSTEM RESET transaction_timeout');
  $node->reload;
  # One that a function sets is its own.
  sql(q{CREATE OR REPLACE FUNCTION trap_pass(v float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS $$
    BEGIN
      IF current_setting('application_name') = 'kde_aqp refresh worker' THEN
        PERFORM set_config('transaction_timeout', '1ms', false), pg_sleep(60);
      END IF;
      RETURN v;
    END $$});
  grow($_) for qw(trap dear);
  is_refreshed('dear', 'a function that has its process end keeps no other density waiting');
  is_blamed('trap', '^its worker was terminated', 'and that is noted');
}
sql('DROP TABLE trap, dear');

keep_at_gate('postgres', 'kde_drop');
timed('kde_drop does not wait for the refresh', q{SELECT kde_drop('g.v', filter => 'g_pass(v) > 0')});
set_gate('g', 1);
sql(q{SELECT kde_fit('g', 'v', filter => 'g_pass(v) > 0', seed => 1)});

keep_at_gate('nothing', 'DROP EXTENSION');
is(($node->psql('nothing', q{SET statement_timeout = '60s'; DROP EXTENSION kde_aqp CASCADE}))[0], 0,
  'DROP EXTENSION goes first');
sql('CREATE EXTENSION kde_aqp', 'nothing');
set_gate('g', 1, 'nothing');
sql(q{SELECT kde_fit('g', 'v', filter => 'g_pass(v) > 0', seed => 1)}, 'nothing');
grow('g', 'nothing');
is_refreshed('g', 'and the extension can be had again', 'nothing');

keep_at_gate('nothing', 'DROP DATABASE');
timed('DROP DATABASE does not wait', 'DROP DATABASE nothing');
keep_at_gate('second', 'CREATE DATABASE ... TEMPLATE');
timed('nor does CREATE DATABASE ... TEMPLATE', 'CREATE DATABASE third TEMPLATE second');
# What changed in a copy is not known, so that it is refreshed; with the gate of its own.
set_gate('g', 1, 'third');
becomes(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'kde_aqp refresh worker'
  AND wait_event = 'PgSleep' AND datname = 'second'}, 1, 'after which the template is worked in again');
timed('DROP DATABASE WITH (FORCE)', 'DROP DATABASE second WITH (FORCE)');

# --- a database in which nothing works ----------------------------------------------------------------

# As between the files of another version and ALTER EXTENSION UPDATE.
sql(q{
  ALTER INDEX kde_aqp.fitted_key RENAME TO key_of_another}, 'third');
my $copy = oid_of('third');
$mark = log_size();
logged(qr/kde_aqp refresh worker ERROR:  the catalog of extension "kde_aqp" is of another version/, $mark,
  'a worker that fails');
ok(wait_until(sub { visits_of(oid_of('postgres'), $mark) >= 8 }), 'other databases are visited on');
%visits = visits($mark);
cmp_ok($visits{$copy} // 0, '<', $visits{oid_of('postgres')} - 2, 'that one rarely');
sql('DROP DATABASE third');

# A table that somebody has locked.
grow('t');
my $locker = open_session($node, 'postgres', 'BEGIN', 'LOCK TABLE t IN ACCESS EXCLUSIVE MODE');
grow('other');
is_refreshed('other', 'a locked table keeps no other waiting');
ask($locker, 'COMMIT');
$locker->quit;
is_refreshed('t', 'and is refreshed when it is free');

# --- ends ---------------------------------------------------------------------------------------------

my $pid = q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'kde_aqp refresh worker'};
keep_at_gate('postgres', 'SIGTERM');
my $killed = sql($pid);
timed('SIGTERM ends a worker', qq{
  SELECT pg_terminate_backend($killed);
  DO \$\$ BEGIN
    WHILE EXISTS (SELECT FROM pg_stat_activity WHERE pid = $killed) LOOP
      PERFORM pg_sleep(0.001), pg_stat_clear_snapshot();
    END LOOP;
  END \$\$});
set_gate('g', 1);
is_refreshed('g', 'another comes');

keep_at_gate('postgres', 'cancel');
$mark = log_size();
sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE backend_type = 'kde_aqp refresh worker'");
set_gate('g', 1);
logged(qr/canceling statement due to user request/, $mark, 'a refresh that is cancelled says so');
is_refreshed('g', 'and is done later');

my $launcher = sql(q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'kde_aqp refresh launcher'});
keep_at_gate('postgres', 'launcher ended');
sql("SELECT pg_terminate_backend($launcher)");
becomes(qq{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'kde_aqp refresh launcher'
  AND pid <> $launcher}, 1, 'a launcher that is ended comes back');
wait_for_rounds(2);
is(sql($workers), 1, 'and counts the worker that ran on');
set_gate('g', 1);
is_refreshed('g', 'which finishes');

# A killed process takes all sessions with it, whatever it was: PostgreSQL cannot know what it left.
keep_at_gate('postgres', 'SIGKILL');
$mark = log_size();
kill 'KILL', sql($pid);
logged(qr/all server processes terminated; reinitializing/, $mark, 'SIGKILL makes the server begin anew');
ok(wait_until(sub { ($node->psql('postgres', 'SELECT 1'))[0] == 0 }), 'it does');
is_blamed('g', 'the server crashed', 'the density it was at is known after the crash');
set_gate('g', 1);
# What had changed by then is unknown; a worker looks, and counts from there on.
begins_to_count('g', 'a worker begins to count anew');
grow('g');
is_refreshed('g', 'and densities are refreshed again');
my %at;
for (split /\n/, slurp_file($node->logfile, $mark)) {
  my ($minutes, $seconds) = /^\S+ \d+:(\d+):(\S+)/ or next;
  my $time = 60 * $minutes + $seconds;
  $at{launcher} = $time if /starting background worker process "kde_aqp refresh launcher/;
  $at{visit} //= $time if /starting background worker process "kde_aqp refresh worker/;
}
cmp_ok(($at{visit} - $at{launcher}) % 3600, '>=', 1, 'but not at once');
# The statistics began anew, and could not tell so many rows from those of before.
sql(q{SELECT * FROM kde_refresh('t', force => true)});

# --- no room for a worker -----------------------------------------------------------------------------

# The launcher and that of logical replication are all there are.
$node->append_conf('postgresql.conf', 'max_worker_processes = 2');
$mark = log_size();
$node->restart;
logged(qr/no background worker is free to refresh densities/, $mark, 'no room for a worker: a line of log');
wait_for_rounds(2);
is(count_log(qr/no background worker is free/, $mark), 1, 'one');

# As many as the runbook counts, or fewer than kde_aqp.max_workers: the databases are visited in turn, all in
# one round, and what lacks is said once.
sql("CREATE DATABASE turn$_") for 1 .. 3;
for (1, 3) {
  $node->append_conf('postgresql.conf', "max_worker_processes = 3\nkde_aqp.naptime = 10s");
  sql("ALTER SYSTEM SET kde_aqp.max_workers = $_; ALTER SYSTEM RESET kde_aqp.naptime");
  $mark = log_size();
  $node->restart;
  my @oids = map { oid_of($_) } qw(postgres turn1 turn2 turn3);
  ok(wait_until(sub { my %seen = visits($mark); !grep { !$seen{$_} } @oids }), "max_workers = $_, one process: all databases are visited");
  cmp_ok(count_log(qr/refresh launcher: \d+ databases/, $mark), '<=', 1, 'in one round');
  wait_for_rounds(1);
  is(count_log(qr/no background worker is free/, $mark), $_ == 1 ? 0 : 1, $_ == 1 ? 'nothing lacks' : 'what lacks is said once');
}
sql("DROP DATABASE turn$_ WITH (FORCE)") for 1 .. 3;
sql('ALTER SYSTEM SET kde_aqp.max_workers = 1');
$node->append_conf('postgresql.conf', 'kde_aqp.naptime = 1s');
$node->append_conf('postgresql.conf', 'max_worker_processes = 8');
$node->restart;

# --- a standby ----------------------------------------------------------------------------------------

$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
grow('t');
is_refreshed('t', 'the primary refreshes');
$node->wait_for_catchup($standby);
is($standby->safe_psql('postgres', $rows_of->('t')), sql($rows_of->('t')), 'the standby has it from there');
is($standby->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE backend_type ~ 'kde_aqp'}),
  0, 'and runs nothing of its own');
is(count_log(qr/starting background worker process "kde_aqp/, 0, $standby), 0, 'nor has it tried to');
$node->stop;
$standby->promote;
ok($standby->poll_query_until('postgres', $launchers, 1), 'promoted, it has a launcher');
$standby->safe_psql('postgres', q{INSERT INTO t SELECT v FROM t});
ok($standby->poll_query_until('postgres',
    q{SELECT max(rows) = (SELECT count(*) FROM t) FROM kde_densities_full WHERE relation = 't'::regclass}),
  'and refreshes');
$standby->stop;

# --- upgrades -----------------------------------------------------------------------------------------

# As pg_upgrade starts it.
$mark = log_size();
system_or_bail('pg_ctl', '-D', $node->data_dir, '-l', $node->logfile, '-o', '-b', '-w', '-s', 'start');
is(sql(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type ~ 'kde_aqp'}), 0,
  "pg_upgrade's server has no launcher");
system_or_bail('pg_ctl', '-D', $node->data_dir, '-w', '-s', '-m', 'fast', 'stop');
is(count_log(qr/kde_aqp refresh launcher"/, $mark), 0, 'and never had');

done_testing();
