# Nobody's code runs with another's rights: objects planted where names are looked up, and what a table's
# owner puts into expressions, domains and operators of a density that a superuser fits.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('planted');
$node->init;
$node->append_conf('postgresql.conf', 'log_min_messages = warning');
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE mallory LOGIN; CREATE ROLE alice LOGIN; CREATE ROLE installer LOGIN');
my $super = $node->safe_psql('postgres', 'SELECT current_user');

# ------------------------------------------------------------------------- what mallory plants

# Each planted function tells the server's log, whatever becomes of an error.
my @operators = qw(= <> < <= > >= + - * / || ~~);
my @types = ('text', 'name', 'oid', 'regclass', 'smallint', 'integer', 'bigint', 'numeric', 'double precision', 'boolean',
  'timestamptz', 'interval', '"char"', 'text[]', 'bigint[]');
my @pairs = ((map { [ $_, $_ ] } @types), [ 'oid', 'regclass' ], [ 'regclass', 'oid' ], [ 'name', 'text' ], [ 'text', 'name' ],
  [ 'numeric', 'integer' ], [ 'oid', 'integer' ], [ 'bigint', 'integer' ], [ 'double precision', 'integer' ],
  [ 'timestamptz', 'interval' ], [ '"char"', 'text' ], [ 'anyelement', 'anyelement' ], [ 'anyarray', 'anyarray' ]);
my @functions = ('now()', 'pg_backend_pid()', 'clock_timestamp()', 'pg_event_trigger_dropped_objects()',
  'pg_event_trigger_ddl_commands()', 'count(numeric)', 'count(anyelement)', 'sum(numeric)', 'avg(numeric)', 'isfinite(timestamptz)',
  '"extract"(text, timestamptz)', 'format(text)', 'format(text, text)', 'current_setting(text)', 'current_setting(text, boolean)',
  'quote_ident(text)', 'quote_literal(text)', 'pg_has_role(oid, text)', 'has_table_privilege(oid, text)',
  'nextval(regclass)', 'nextval(text)', 'pg_extension_config_dump(regclass, text)', 'pg_extension_config_dump(text, text)',
  'has_densities()', 'follow_drop()', 'follow_alter()', 'readable_densities()', 'dumped_densities()', 'unnest(anyarray)', 'to_regclass(text)', 'kde_info(anyelement)',
  'kde_to_json(anyelement)', 'on_row()', 'pg_advisory_lock(bigint)', 'pg_total_relation_size(regclass)', 'random()');
my $plants = join ";\n",
  q{CREATE FUNCTION planted() RETURNS boolean LANGUAGE plpgsql AS
      $f$ BEGIN RAISE WARNING 'planted code ran as %', current_user; RETURN true; END $f$},
  (map { "CREATE FUNCTION $_ RETURNS boolean LANGUAGE sql AS 'SELECT public.planted()'" } @functions),
  (map {
      my ($left, $right) = @$_;
      my $n = 'op_' . "${left}_$right" =~ s/\W/_/gr;
      ("CREATE FUNCTION $n($left, $right) RETURNS boolean LANGUAGE sql AS 'SELECT public.planted()'",
        map { "CREATE OPERATOR $_ (FUNCTION = $n, LEFTARG = $left, RIGHTARG = $right)" } @operators)
    } @pairs);

# Types and relations, which are also looked up in pg_temp.
sub planted_names {
  my ($schema) = @_;
  return join ";\n",
    (map { "CREATE VIEW $schema.$_ AS SELECT 1::pg_catalog.oid AS oid, 1::pg_catalog.oid AS relation,
      'x'::pg_catalog.name AS nspname WHERE public.planted()" }
      qw(density fitted upkeep pg_class pg_depend pg_extension pg_statistic pg_namespace pg_proc kde_densities kde_densities_full)),
    (map { "CREATE DOMAIN $schema.$_ AS integer CHECK (public.planted())" }
      qw(text bool oid regclass name float8 by_name_only));
}

# mallory's objects may stand before PostgreSQL's own: the worst path a database can have.
my $path = 'public, pg_catalog';

sub plant {
  my ($database) = @_;
  $node->safe_psql('postgres', "CREATE DATABASE $database OWNER installer");
  $node->safe_psql($database, "GRANT CREATE ON SCHEMA public TO mallory; CREATE SCHEMA alice AUTHORIZATION alice;
    CREATE SCHEMA ext AUTHORIZATION installer");
  $node->safe_psql($database, "SET search_path = public; SET client_min_messages = error; $plants; " . planted_names('public') . '; DROP VIEW public.kde_densities, public.kde_densities_full',
    extra_params => [ '-U', 'mallory' ]);
  $node->safe_psql($database, qq{ALTER DATABASE $database SET search_path = $path});
  return;
}

# Whether mallory's code has run since the last question, and as whom.
my $seen = 0;

sub ran {
  my $log = slurp_file($node->logfile, $seen);
  $seen = -s $node->logfile;
  my %users = map { ($_ => 1) } $log =~ /planted code ran as (\w+)/g;
  return join ' ', sort keys %users;
}

# Anything of the extension's that refers to something of mallory's.
my $bound = q{
  SET search_path = pg_catalog;
  WITH mallorys AS (
    SELECT classid, objid FROM pg_shdepend WHERE refobjid = 'mallory'::regrole AND deptype = 'o'
      AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())),
  ours AS (
    SELECT classid, objid FROM pg_depend WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
    UNION ALL
    SELECT 'pg_rewrite'::regclass, r.oid FROM pg_depend AS d JOIN pg_rewrite AS r ON r.ev_class = d.objid
      WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e')
  SELECT string_agg(pg_describe_object(d.classid, d.objid, 0) || ' to ' || pg_describe_object(d.refclassid, d.refobjid, 0), ', ')
  FROM pg_depend AS d JOIN ours AS o ON (o.classid, o.objid) = (d.classid, d.objid)
    JOIN mallorys AS m ON (m.classid, m.objid) = (d.refclassid, d.refobjid)};

sub check_quiet {
  my ($what) = @_;
  is(ran(), '', "$what: nothing planted ran");
  return;
}

# ------------------------------------------------------------------------------ installing

plant('plants');
# The plants do bear: otherwise the test would show nothing.
$node->psql('plants', $_) for 'SELECT 1 + 1', 'SELECT oid FROM pg_class', 'SELECT 1::bool';
is(ran(), $super, 'a careless query runs what is planted');
my %schema = (plants => 'ext', installed => 'ext', public_schema => 'public');
plant($_) for grep { $_ ne 'plants' } sort keys %schema;
for my $database (sort keys %schema) {
  my $user = $database eq 'installed' ? 'installer' : $super;
  # With mallory's temporary objects in the session, as in one of a pool.
  my ($code, $out, $err) = $node->psql($database, join(";\n",
    ($user eq $super ? ('SET ROLE mallory', planted_names('pg_temp'), 'RESET ROLE') : ()),
    "CREATE EXTENSION kde_aqp SCHEMA $schema{$database}"), extra_params => [ '-U', $user ], on_error_stop => 1);
  is($code, 0, "$database: installed") or diag $err;
  check_quiet($database);
  is($node->safe_psql($database, $bound), '', "$database: nothing refers to what is planted");
}
# What would be in the way is not taken over.
for my $taken ('CREATE VIEW public.kde_densities AS SELECT 1',
  'CREATE TYPE public.kde AS ENUM ()', 'CREATE SCHEMA kde_aqp') {
  $node->safe_psql('postgres', 'DROP DATABASE IF EXISTS taken');
  $node->safe_psql('postgres', 'CREATE DATABASE taken');
  $node->safe_psql('taken', "GRANT CREATE ON SCHEMA public TO mallory; GRANT CREATE ON DATABASE taken TO mallory;
    SET ROLE mallory; $taken");
  my ($code, $out, $err) = $node->psql('taken', 'CREATE EXTENSION kde_aqp');
  like($err, qr/already exists/, "$taken: CREATE EXTENSION fails");
}

# --------------------------------------------------------------------------- using, with bad names about

$node->safe_psql('plants', q{
  SET search_path = pg_catalog; SET ROLE alice;
  CREATE TABLE alice.t (x numeric, y numeric, z date);
  INSERT INTO alice.t SELECT i, i * 7 % 100, '2026-01-01'::date + i FROM generate_series(1, 500) AS i;
  CREATE TABLE alice.p (x numeric) PARTITION BY RANGE (x);
  CREATE TABLE alice.p1 PARTITION OF alice.p FOR VALUES FROM (0) TO (1000);
  INSERT INTO alice.p SELECT x FROM alice.t;
  CREATE MATERIALIZED VIEW alice.m AS SELECT x FROM alice.t;
  CREATE TYPE alice.row AS (x numeric);
  CREATE TABLE alice.typed OF alice.row;});

my $session = open_session($node, 'plants');
ask($session, 'SET ROLE mallory');
ask($session, planted_names('pg_temp'));
ask($session, 'RESET ROLE');
is(ask($session, 'SHOW search_path'), $path, 'a superuser whose database has a bad path');
ran();

# Every call is qualified, as the caller has to; what happens inside is ours.
sub check_call {
  my ($what, $sql, $expected) = @_;
  my ($out, $err) = ask($session, $sql);
  is($err =~ s/^(psql:\S+ )?NOTICE: .*\n?(HINT: .*\n?)?//mgr, '', $what);
  like($out, $expected, "$what: $expected") if defined $expected;
  check_quiet($what);
  return;
}
# Of so few values that no answer is exact by itself.
check_call('fit', q{SELECT ext.kde_fit('alice.t', 'x', seed => 1, sample_rows => 50), ext.kde_fit('alice.t', 'z', seed => 1)});
check_call('fit every row', q{SELECT ext.kde_fit('alice.t', 'y', seed => 1, sample_rows => -1)});
check_call('fit of a partitioned table', q{SELECT ext.kde_fit('alice.p', 'x', seed => 1)});
check_call('fit of a materialized view', q{SELECT ext.kde_fit('alice.m', 'x', seed => 1)});
check_call('fit of several columns', q{SELECT ext.kde_fit('alice.t', ARRAY['x', 'y'], seed => 1)});
check_call('fit with a filter',
  q{SELECT ext.kde_fit('alice.t', ARRAY['x OPERATOR(pg_catalog.+) y'], filter => 'y OPERATOR(pg_catalog.>) 3::pg_catalog.numeric', seed => 1)});
check_call('a filter is stored so that nothing else can be meant',
  q{SELECT d.filter FROM ext.kde_densities AS d WHERE d.filter IS NOT NULL}, qr/^\(y > \(3\)::numeric\)$/);
check_call('ask', q{SELECT ext.approx_count('alice.t.x', 1, 200), ext.approx_count('alice.t.x', 1, 200),
  ext.approx_avg_as('alice.t.z', NULL::pg_catalog.date, '2026-02-01', '2026-03-01')}, qr/^[0-9]/);
check_call('ask exactly', q{SELECT ext.approx_count('alice.t.x', 1, 200, max_relative_error => 0, otherwise => 'exact'),
  ext.approx_avg_as('alice.t.z', NULL::pg_catalog.date, '2026-02-01', '2026-03-01', max_relative_error => 0, otherwise => 'exact'),
  ext.approx_avg('alice.p.x', 1, max_relative_error => 0, otherwise => 'exact')}, qr/^200\|/);
check_call('ask about several columns',
  q{SELECT ext.approx_count('alice.t (x, y)', ARRAY[1, 1], ARRAY[200, 90]), ext.kde_explain('alice.t (x)', 1, 2)});
check_call('values', q{SELECT ext.approx_count(d, 1, 200), ext.kde_info(d), d::json, ext.approx_histogram(d, 3)
  FROM ext.kde_density('alice.t.x') AS d});
check_call('aggregate', q{SELECT ext.rollup(a) FROM (SELECT ext.kde_agg(x) AS a FROM alice.t) AS s});
check_call('view', q{SELECT * FROM ext.kde_densities});
check_call('view in full', q{SELECT * FROM ext.kde_densities_full});
check_call('devices', q{SELECT ext.kde_devices()});
check_call('RENAME', q{ALTER TABLE alice.t RENAME y TO "Y y"});
check_call('and back', q{ALTER TABLE alice.t RENAME "Y y" TO y});
check_call('rows by SQL', q{CREATE TEMP TABLE kept AS SELECT * FROM kde_aqp.fitted; DO $$ BEGIN PERFORM ext.kde_drop(name, filter => filter) FROM ext.kde_densities; END $$;
  INSERT INTO kde_aqp.density SELECT * FROM kept; SELECT count(*) FROM kde_aqp.fitted}, qr/^7$/);
check_call('drop', q{SELECT ext.kde_drop('alice.t.z'), ext.kde_drop('alice.t (x, y)')});
check_call('DROP COLUMN', q{ALTER TABLE alice.t DROP COLUMN y; SELECT count(*) FROM kde_aqp.fitted}, qr/^3$/);
check_call('DROP TABLE', q{DROP TABLE alice.p; SELECT count(*) FROM kde_aqp.fitted}, qr/^2$/);
check_call('ALTER TYPE', q{ALTER TYPE alice.row ADD ATTRIBUTE n pg_catalog.numeric CASCADE});

# ------------------------------------------------------------------- what a table's owner may do in a fit

# alice's code is meant to run, as alice and without a way out.
ask($session, q{SET search_path = pg_catalog, pg_temp});
ask($session, q{
  CREATE TABLE public.secret (word text);
  SET ROLE alice;
  CREATE TABLE alice.said (word text);
  CREATE TABLE alice.later (n integer);
  CREATE FUNCTION alice.after() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE WARNING 'planted code ran as %', current_user; RETURN NULL; END $$;
  CREATE CONSTRAINT TRIGGER late AFTER INSERT ON alice.later DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION alice.after();
  CREATE FUNCTION alice.attempt(what text) RETURNS text LANGUAGE plpgsql AS
    $$ BEGIN EXECUTE what; RETURN what || ': done'; EXCEPTION WHEN OTHERS THEN RETURN what || ': ' || SQLSTATE; END $$;
  CREATE FUNCTION alice.escape() RETURNS void LANGUAGE plpgsql AS
    $f$ BEGIN
      IF EXISTS (SELECT FROM alice.said) THEN RETURN; END IF;
      INSERT INTO alice.said SELECT 'as ' || current_user || ' of ' || current_setting('search_path') || ' ' || current_setting('row_security');
      INSERT INTO alice.said SELECT alice.attempt(w) FROM unnest(ARRAY[
        'RESET ROLE', 'SET ROLE SUPER', 'SET SESSION AUTHORIZATION SUPER', 'ALTER ROLE alice SUPERUSER',
        'SELECT * FROM public.secret', 'CREATE TEMP TABLE evil (x integer)', 'PREPARE kde_evil AS SELECT 1', 'DECLARE kde_evil CURSOR WITH HOLD FOR SELECT 1',
        'LISTEN kde_evil', 'SET search_path = alice', 'SET SESSION row_security = on', 'SET work_mem = 7777']) AS w;
    END $f$;
  CREATE FUNCTION alice.pass(numeric) RETURNS numeric LANGUAGE plpgsql IMMUTABLE AS
    $$ BEGIN PERFORM alice.escape(); RETURN $1; END $$;
  CREATE FUNCTION alice.holds(numeric) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS
    $$ BEGIN PERFORM alice.escape(); RETURN true; END $$;
  CREATE FUNCTION alice.plus(numeric, numeric) RETURNS numeric LANGUAGE plpgsql IMMUTABLE AS
    $$ BEGIN PERFORM alice.escape(); RETURN $1 + $2; END $$;
  CREATE OPERATOR alice.@@@ (FUNCTION = alice.plus, LEFTARG = numeric, RIGHTARG = numeric);
  CREATE DOMAIN alice.checked AS numeric CHECK (alice.holds(VALUE));
  CREATE TYPE alice.other AS (v numeric);
  CREATE FUNCTION alice.to_other(numeric) RETURNS alice.other LANGUAGE plpgsql IMMUTABLE AS
    $$ BEGIN PERFORM alice.escape(); RETURN ROW($1)::alice.other; END $$;
  CREATE CAST (numeric AS alice.other) WITH FUNCTION alice.to_other(numeric);
  CREATE FUNCTION alice.defer(numeric) RETURNS numeric LANGUAGE plpgsql IMMUTABLE AS
    $$ BEGIN PERFORM alice.defers(); RETURN $1; END $$;
  CREATE FUNCTION alice.defers() RETURNS void LANGUAGE sql AS 'INSERT INTO alice.later VALUES (1)';
  CREATE VIEW alice.heard AS SELECT string_agg(word, ', ' ORDER BY word COLLATE "C") AS said FROM alice.said;
  RESET ROLE} =~ s/SUPER'/$super'/gr);
my $tried = 'ALTER ROLE alice SUPERUSER: 42501, CREATE TEMP TABLE evil (x integer): 42501,'
  . ' DECLARE kde_evil CURSOR WITH HOLD FOR SELECT 1: 42501, LISTEN kde_evil: 42501, PREPARE kde_evil AS SELECT 1: 42501,'
  . ' RESET ROLE: 42501, SELECT * FROM public.secret: 42501, SET ROLE postgres: 42501, SET SESSION AUTHORIZATION postgres: 42501,'
  . ' SET SESSION row_security = on: done, SET search_path = alice: done, SET work_mem = 7777: done, as alice of pg_catalog, pg_temp off';
$tried =~ s/postgres/$super/g;
my $state = q{SELECT current_user, session_user, current_setting('search_path'), current_setting('row_security'), current_setting('work_mem'),
  (SELECT count(*) FROM pg_prepared_statements), (SELECT count(*) FROM pg_listening_channels()), (SELECT count(*) FROM pg_cursors)};
my @calls = (
  [ 'an expression', q{SELECT ext.kde_fit('alice.t', ARRAY['alice.pass(x)'], seed => 1)} ],
  [ 'a constant expression', q{SELECT ext.kde_fit('alice.t', ARRAY['x + alice.pass(1)'], seed => 1)} ],
  [ 'a filter', q{SELECT ext.kde_fit('alice.t', 'x', filter => 'alice.holds(x)', seed => 1)} ],
  [ 'an operator', q{SELECT ext.kde_fit('alice.t', ARRAY['x OPERATOR(alice.@@@) x'], seed => 1)} ],
  [ 'a domain', q{SELECT ext.kde_fit('alice.t', ARRAY['(x + 1)::alice.checked'], seed => 1)} ],
  [ 'a cast', q{SELECT ext.kde_fit('alice.t', ARRAY['(x::alice.other).v'], seed => 1)} ],
  [ 'several columns', q{SELECT ext.kde_fit('alice.t', ARRAY['x', 'alice.pass(x + 2)'], seed => 1)} ],
  [ 'the drift of an expression', q{SELECT ext.kde_drift('alice.t (alice.pass(x))', seed => 1)} ],
  [ 'refresh', q{SELECT ext.kde_refresh('alice.t', true)} ],
  [ 'refresh of all', q{CALL ext.kde_refresh_all(true)} ]);
for my $call (@calls) {
  my ($what, $sql) = @$call;
  ask($session, 'TRUNCATE alice.said');
  my $before = ask($session, $state);
  my ($out, $err) = ask($session, $sql);
  is($err =~ s/^(psql:\S+ )?NOTICE: .*\n?//mgr, '', "$what: fitted");
  is(ask($session, 'SELECT said FROM alice.heard'), $tried, "$what: ran as alice, and could not get out");
  is(ask($session, $state), $before, "$what: the session is as it was");
  is(ran(), '', "$what: nothing ran later as another");
}
like((ask($session, q{SELECT ext.kde_fit('alice.t', ARRAY['alice.defer(x)'], seed => 1)}))[1],
  qr/cannot fire deferred trigger within security-restricted operation/, 'a deferred trigger cannot wait for the superuser');
is(ran(), '', 'and did not run');

# A function that says it was cancelled ends the refresh of its own table alone.
ask($session, q{
  SET ROLE alice;
  CREATE OR REPLACE FUNCTION alice.pass(numeric) RETURNS numeric LANGUAGE plpgsql IMMUTABLE AS
    $$ BEGIN RAISE SQLSTATE '57014' USING MESSAGE = 'canceling statement due to user request'; END $$;
  RESET ROLE;
  CREATE TABLE public.late AS SELECT x FROM alice.t;
  SELECT ext.kde_fit('public.late', 'x', seed => 1);
  CREATE TEMP TABLE late AS SELECT * FROM kde_aqp.fitted WHERE relation = 'public.late'::regclass;
  UPDATE late SET select_ms = 1e6;
  SELECT ext.kde_drop('public.late.x');
  INSERT INTO kde_aqp.density SELECT * FROM late;});
my $number = q{SELECT xmin FROM kde_aqp.fitted WHERE relation = 'public.late'::regclass};
my $before = ask($session, $number);
my (undef, $said) = ask($session, 'CALL ext.kde_refresh_all(true)');
like($said, qr/canceling statement due to user request/, 'a function that says it was cancelled');
isnt(ask($session, $number), $before, 'does not keep other tables from being refreshed');
# One that is cancelled, whatever it makes of it, ends the whole command.
ask($session, q{
  SET ROLE alice;
  CREATE OR REPLACE FUNCTION alice.pass(numeric) RETURNS numeric LANGUAGE plpgsql IMMUTABLE AS $$
    BEGIN
      PERFORM pg_catalog.pg_sleep(600);
      RETURN $1;
    EXCEPTION WHEN query_canceled THEN RAISE SQLSTATE '57014' USING MESSAGE = 'in its own words';
    END $$;
  RESET ROLE;
  DELETE FROM late;
  INSERT INTO late SELECT * FROM kde_aqp.fitted WHERE relation = 'public.late'::regclass;
  UPDATE late SET select_ms = 1e6;
  SELECT ext.kde_drop('public.late.x');
  INSERT INTO kde_aqp.density SELECT * FROM late;});
my $pid = backend_pid($session);
$before = ask($session, $number);
send_sql($session, 'CALL ext.kde_refresh_all(true)');
$node->poll_query_until('plants', "SELECT wait_event OPERATOR(pg_catalog.=) 'PgSleep' FROM pg_catalog.pg_stat_activity WHERE pid OPERATOR(pg_catalog.=) $pid")
  or die 'no refresh';
$node->safe_psql('plants', "SELECT pg_catalog.pg_cancel_backend($pid)");
like((end_sql($session))[1], qr/ERROR:  in its own words/, 'a function that was cancelled');
is(ask($session, $number), $before, 'ends the refresh of all');
$session->quit;

# ------------------------------------------------------------------------------------ the worker

# It works as a superuser wherever something is stale, and looks into every database.
sub create_trap {
  my ($database, $sql) = @_;
  $node->safe_psql('postgres', "CREATE DATABASE $database; GRANT CREATE ON DATABASE $database TO mallory");
  $node->safe_psql($database, qq{GRANT CREATE ON SCHEMA public TO mallory; SET ROLE mallory; $plants; CREATE SCHEMA kde_aqp; $sql});
  $node->safe_psql('postgres', "ALTER DATABASE $database SET search_path = $path");
  return;
}
# What looks like the catalog where the extension is not installed.
my @traps = (
  [ trap_view => q{CREATE VIEW kde_aqp.fitted AS SELECT public.planted() AS relation; CREATE VIEW kde_aqp.upkeep AS SELECT public.planted() AS density_id} ],
  [ trap_table => do {
      my $columns = sub {
        $node->safe_psql('plants', "SET search_path = pg_catalog; SELECT string_agg(format('%I bigint', attname), ', ' ORDER BY attnum)
          FROM pg_attribute WHERE attrelid = 'kde_aqp.$_[0]'::regclass AND attnum > 0") };
      join '; ', map { my $c = $columns->($_);
        "CREATE TABLE kde_aqp.$_ ($c, PRIMARY KEY (" . ($c =~ /^(\w+)/)[0] . '))', "INSERT INTO kde_aqp.$_ VALUES (1" . ', 1' x ($c =~ tr/,//) . ')' }
        'fitted', 'upkeep' } ]);
create_trap(@$_) for @traps;
$node->safe_psql('plants', q{SET search_path = pg_catalog;
  SET ROLE alice;
  CREATE OR REPLACE FUNCTION alice.pass(numeric) RETURNS numeric LANGUAGE plpgsql IMMUTABLE AS
    $$ BEGIN PERFORM alice.escape(); RETURN $1; END $$;
  UPDATE alice.t SET x = x;
  TRUNCATE alice.said;
  RESET ROLE;
  SELECT ext.kde_set_refresh('alice.t (alice.pass(x))', max_age => '1 second')});
my $visits = q{SELECT string_agg(datname || ' ' || xact_commit, ',' ORDER BY datname) FROM pg_stat_database WHERE datname ~ 'trap'};
my $visited = $node->safe_psql('postgres', $visits);
my %commits = map { split / / } split /,/, $visited;
ran();
my $log = -s $node->logfile;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'kde_aqp'\nkde_aqp.naptime = 1s");
$node->restart;
$node->poll_query_until('plants', q{SELECT pg_catalog.count(*) OPERATOR(pg_catalog.>) 0 FROM alice.said}) or die 'no refresh';
is($node->safe_psql('plants', q{SET search_path = pg_catalog; SELECT said FROM alice.heard}), $tried,
  'a refresh in the background ran as alice, and could not get out');
for my $trap (map { $_->[0] } @traps) {
  ok($node->poll_query_until('postgres', "SELECT xact_commit > $commits{$trap} FROM pg_stat_database WHERE datname = '$trap'"),
    "$trap: the worker looked into it");
}
is(ran(), '', 'nothing planted ran');
unlike(slurp_file($node->logfile, $log), qr/terminated by signal|PANIC|ERROR: /, 'nor was the worker led astray');

$node->stop;
done_testing();
