# What 005_dump.pl leaves: the directory format by several processes, restores over what is there
# (--clean), in one transaction, of parts, without the densities; and a filter whose function lies in a
# schema that the table's owner may not use when its row comes.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('formats');
$node->init;
$node->start;
my $directory = $node->basedir;

# Each database has numbers of its own.
my $made = 0;
sub create_database {
  my ($name) = @_;
  $node->safe_psql('postgres', "CREATE DATABASE $name");
  $node->safe_psql($name, join ';', map { "CREATE TABLE x$_ (); DROP TABLE x$_" } 1 .. ++$made * 7);
  return;
}

create_database('source');
$node->safe_psql('source', q{
  CREATE EXTENSION kde_aqp;
  CREATE TABLE t (junk text, v double precision, w integer);
  ALTER TABLE t DROP junk;
  INSERT INTO t SELECT sqrt(i), i % 17 FROM generate_series(1, 3000) AS i;
  CREATE TABLE u AS SELECT v AS x, w AS y FROM t;
  SELECT kde_fit('t', 'v', seed => 1), kde_fit('t', ARRAY['w', 'v'], method => 'scott', seed => 2),
    kde_fit('t', 'v', filter => 'w > 3', seed => 3), kde_fit('u', 'x', seed => 4);});

my $densities = q{
  SELECT relation, column_names, filter, seed, rows, fitted_at FROM kde_densities_full ORDER BY seed;
  SELECT seed, md5(density::text) FROM kde_aqp.fitted ORDER BY seed;};
my $answers = q{SELECT approx_count('t.v', 10, 30), approx_count('t (v, w)', ARRAY[10, 2], ARRAY[40, 9])};
my $all = "$densities $answers";
my $source = $node->safe_psql('source', $all);

sub is_restored { return is($node->safe_psql($_[0], $all), $source, $_[1]) }

# ---------------------------------------------------------------------------- formats and processes
$node->command_ok([ 'pg_dump', '-Fd', '-j2', '-f', "$directory/dir", 'source' ], 'directory format by two processes');
create_database('dir');
$node->command_ok([ 'pg_restore', '-j2', '-e', '-d', 'dir', "$directory/dir" ], 'restored by two');
is_restored('dir', 'directory format');
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$directory/custom", 'source' ], 'custom format');
create_database('single');
$node->command_ok([ 'pg_restore', '-1', '-d', 'single', "$directory/custom" ], 'restored in one transaction');
is_restored('single', 'one transaction');
$node->command_ok([ 'pg_dump', '--inserts', '-f', "$directory/inserts", 'source' ], 'INSERT commands');
create_database('inserts');
$node->safe_psql('inserts', slurp_file("$directory/inserts"));
is_restored('inserts', 'INSERT commands');
$node->command_ok([ 'pg_dump', '--column-inserts', '--rows-per-insert=2', '--on-conflict-do-nothing', '-f',
    "$directory/columns", 'source' ], 'INSERT commands with columns');
create_database('columns');
$node->safe_psql('columns', slurp_file("$directory/columns"));
is_restored('columns', 'INSERT commands with columns');
$node->command_ok([ 'pg_dump', '--serializable-deferrable', '-Fc', '-f', "$directory/deferrable", 'source' ],
  'a serializable dump');

# ---------------------------------------------------------------------------- over what is there
# The restored tables and densities take the place of those there, and none of theirs stays.
$node->safe_psql('dir', q{
  SELECT kde_fit('t', 'v', seed => 91), kde_fit('u', ARRAY['x', 'y'], method => 'scott', seed => 92);
  ALTER TABLE u RENAME x TO z;});
$node->command_ok([ 'pg_restore', '--clean', '-e', '-d', 'dir', "$directory/dir" ], 'restore --clean over a database');
is_restored('dir', '--clean');
$node->command_ok([ 'pg_restore', '--clean', '--if-exists', '-1', '-d', 'single', "$directory/custom" ],
  '--clean --if-exists in one transaction');
is_restored('single', '--clean --if-exists');
create_database('fresh');
$node->command_ok([ 'pg_restore', '--clean', '--if-exists', '-e', '-d', 'fresh', "$directory/custom" ],
  '--clean --if-exists into an empty database');
is_restored('fresh', '--clean --if-exists into an empty database');

# Data alone, over the same tables: densities that are there stay.
$node->command_ok([ 'pg_dump', '--data-only', '-Fc', '-f', "$directory/data", 'source' ], 'data only');
$node->safe_psql('fresh', q{TRUNCATE t, u; SELECT kde_drop('t.v'), kde_drop('u.x')});
my $kept = q{SELECT string_agg(id::text, ' ' ORDER BY id) FROM kde_aqp.fitted};
my $ids = $node->safe_psql('fresh', $kept);
for my $how ('--no-owner', '--disable-triggers') {
  $node->safe_psql('fresh', 'TRUNCATE t, u');
  $node->command_ok([ 'pg_restore', '-e', '-1', $how, '-d', 'fresh', "$directory/data" ], "data over densities, $how");
  is($node->safe_psql('fresh', qq{
       SELECT count(*) > 0 FROM t; SELECT count(*) FROM kde_aqp.density;
       SELECT tgenabled FROM pg_trigger WHERE tgname = 'on_row';
       SELECT count(*) FROM kde_aqp.fitted WHERE id = ANY (string_to_array('$ids', ' ')::bigint[])}),
    "t\n0\nA\n" . scalar(split / /, $ids), "the densities that were there stay, and the door is closed, $how");
}
$node->safe_psql('fresh', 'TRUNCATE t, u');
$node->safe_psql('fresh', q{SELECT count(kde_drop(name, filter => filter)) FROM kde_densities});
$node->command_ok([ 'pg_restore', '-1', '-d', 'fresh', "$directory/data" ], 'data only');
is_restored('fresh', 'data only');
# With triggers disabled, rows wait in the door until they are enabled again.
$node->safe_psql('fresh', q{TRUNCATE t, u; SELECT count(kde_drop(name, filter => filter)) FROM kde_densities});
$node->command_ok([ 'pg_restore', '-1', '--disable-triggers', '-d', 'fresh', "$directory/data" ],
  'data only, triggers disabled');
is_restored('fresh', 'triggers disabled');
is($node->safe_psql('fresh', 'SELECT count(*) FROM kde_aqp.density'), '0', 'and the door is empty');

# ---------------------------------------------------------------------------- parts
# Of one table: no extension, no densities. Densities left out.
create_database('part');
$node->command_ok([ 'pg_dump', '-t', 't', '-f', "$directory/part", 'source' ], 'one table');
$node->safe_psql('part', slurp_file("$directory/part"));
is($node->safe_psql('part', q{SELECT count(*), (SELECT count(*) FROM pg_extension WHERE extname = 'kde_aqp') FROM t}),
  '3000|0', 'restores where the extension is not');
create_database('without');
$node->command_ok([ 'pg_dump', '-Fc', '--exclude-table-data=kde_aqp.density', '-f', "$directory/without", 'source' ],
  'without the densities');
$node->command_ok([ 'pg_restore', '-e', '-d', 'without', "$directory/without" ], 'restored');
is($node->safe_psql('without', q{
     SELECT count(*) FROM kde_densities_full; SELECT count(*) FROM t; SELECT seed FROM kde_fit('t', 'v', seed => 5)}),
  "0\n3000\n5", 'has the tables, and fits');
# ---------------------------------------------------------------------------- what is missing there
# Of rows whose table, column, function, type or collation the restore lacks each is told of, and none takes
# the others along.
create_database('whole');
$node->safe_psql('whole', q{
  CREATE EXTENSION kde_aqp;
  CREATE SCHEMA helper;
  CREATE FUNCTION helper.is_odd(integer) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT $1 % 2 = 1';
  CREATE TYPE helper.mood AS ENUM ('low', 'high');
  CREATE FUNCTION mood_of(integer) RETURNS text LANGUAGE sql IMMUTABLE AS $$SELECT CASE WHEN $1 > 8 THEN 'high' ELSE 'low' END$$;
  CREATE COLLATION helper.mine (provider = libc, locale = 'C');
  CREATE SCHEMA app;
  CREATE TABLE app.t AS SELECT sqrt(i) AS v, i % 17 AS w, 'n' || i % 5 AS name FROM generate_series(1, 1000) AS i;
  CREATE TABLE app.u AS SELECT * FROM app.t;
  CREATE TABLE app."Ta.ble (1)" AS SELECT * FROM app.t;
  CREATE TABLE helper.h AS SELECT * FROM app.t;
  SELECT kde_fit('app.u', 'v', seed => 1), kde_fit('helper.h', 'w', seed => 2),
    kde_fit('app.t', 'v', filter => 'helper.is_odd(w)', seed => 3),
    kde_fit('app.t', 'w', filter => $$mood_of(w)::helper.mood = 'high'$$, seed => 4),
    kde_fit('app.t', 'v', filter => $$name COLLATE helper.mine < 'n3'$$, seed => 5),
    kde_fit('app.u', 'w', measures => ARRAY['v'], group_by => 'name', seed => 6),
    kde_fit('app.t', ARRAY['helper.is_odd(w)::integer', 'v'], method => 'scott', seed => 7),
    kde_fit('app.t', 'w', measures => ARRAY['v'], group_by => 'name', seed => 8),
    kde_fit('app.t', 'name', seed => 9), kde_fit('app."Ta.ble (1)"', 'v', seed => 10),
    kde_fit('app.t', ARRAY['v', 'w'], method => 'scott', seed => 11), kde_fit('app.t', 'v', seed => 12);});
my $seeds = q{SELECT string_agg(DISTINCT lpad(seed::text, 2, '0'), ' ') FROM kde_densities_full};
my $table_gone = qr/WARNING:  skipping a density of app\.u \(v\): the table does not exist/;
my @helper_gone = ($table_gone, qr/skipping a density of helper\.h \(w\): the table does not exist/,
  qr/skipping a density of app\.t \(v\) where helper\.is_odd\(w\): schema "helper" does not exist/,
  qr/skipping a density of app\.t \(w\) where [^\n]*helper\.mood\): schema "helper" does not exist/,
  qr/skipping a density of app\.t \(v\) where [^\n]*COLLATE helper\.mine[^\n]*: schema "helper" does not exist/);

# Restores what a command made, by another, and looks which densities came and what was said.
sub restores {
  my ($what, $database, $command, $wanted, @said) = @_;
  # pg_restore drops warnings but with -v, and the server's log has them.
  my $offset = -s $node->logfile;
  my ($out, $err) = run_command($command);
  unlike($err, qr/ERROR/, "$what: no error");
  $err .= slurp_file($node->logfile, $offset);
  like($err, $_, "$what: is told of") for @said;
  is($node->safe_psql($database, $seeds), $wanted, "$what: the others came");
  return;
}

my @server = ('-h', $node->host, '-p', $node->port);
my $n = 0;
for ([ '-T', [ '-T', 'app.u' ], '02 03 04 05 07 08 09 10 11 12', $table_gone, qr/app\.u \(w, v, name\): the table does not exist/ ],
  [ '-T and -N', [ '-T', 'app.u', '-N', 'helper' ], '08 09 10 11 12', @helper_gone ],
  [ '-N', [ '-N', 'helper' ], '01 06 08 09 10 11 12', @helper_gone[1 .. 4] ]) {
  my ($what, $options, $wanted, @said) = @$_;
  for (['plain'], [ 'inserts', '--inserts' ], [ 'custom', '-Fc' ], [ 'directory', '-Fd' ], [ 'tar', '-Ft' ]) {
    my ($format, @format) = @$_;
    my ($file, $database) = ("$directory/missing" . ++$n, "missing$n");
    $node->command_ok([ 'pg_dump', @format, @$options, '-f', $file, 'whole' ], "$what, $format");
    create_database($database);
    my @restore = ('pg_restore', @server, '-d', $database);
    for ($format =~ /plain|inserts/ ? [ 'psql', @server, '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $database, '-f', $file ]
      : $format eq 'custom' ? ([ @restore, '--section=pre-data', $file ], [ @restore, '--section=data', '-1', $file ],
        [ @restore, '--section=post-data', $file ])
      : [ @restore, $format eq 'directory' ? '-j2' : '-e', $file ]) {
      if ($format eq 'custom' && $_->[-2] ne '-1') {
        $node->command_ok($_, "$what, $format: another section");
        next;
      }
      restores("$what, $format", $database, $_, $wanted, @said);
    }
  }
}

# Schema and data apart, where a table, a column and a schema have other names meanwhile.
$node->command_ok([ 'pg_dump', '--schema-only', '-f', "$directory/whole.sql", 'whole' ], 'the schema');
$node->command_ok([ 'pg_dump', '--data-only', '-Fc', '-f', "$directory/whole", 'whole' ], 'the data');
create_database('names');
$node->safe_psql('names', slurp_file("$directory/whole.sql"));
$node->safe_psql('names', q{ALTER TABLE app.u RENAME TO y; ALTER TABLE app.t RENAME name TO label; ALTER SCHEMA helper RENAME TO other});
# Their rows fail to come: the tables' COPY names what there is not.
my (undef, $err) = run_command([ 'pg_restore', '-v', @server, '-d', 'names', "$directory/whole" ]);
like($err, $_, 'names: is told of')
  for @helper_gone[0, 1, 2], qr/skipping a density of app\.t \(name\): column "name" does not exist/,
  qr/skipping a density of app\.t \(w, v, name\): column "name" does not exist/;
is($node->safe_psql('names', $seeds), '08 10 11 12', 'names: the others came');
# A plain dump under another schema's name.
$node->command_ok([ 'pg_dump', '-n', 'app', '-n', 'kde_aqp', '-n', 'public', '-n', 'helper', '-e', 'kde_aqp', '-f', "$directory/app.sql", 'whole' ], 'of schemas');
my $renamed = slurp_file("$directory/app.sql") =~ s/\bapp\b/moved/gr;
create_database('moved');
$node->safe_psql('moved', 'DROP SCHEMA public');
$node->safe_psql('moved', $renamed);
is($node->safe_psql('moved', q{SELECT string_agg(DISTINCT lpad(seed::text, 2, '0'), ' '), count(*) FILTER (WHERE relation::text ~ '^moved\.')
     FROM public.kde_densities_full}), '01 02 03 04 05 06 07 08 09 10 11 12|13', 'under another name of the schema');
# Single tables of a dump of all: the others' densities are of no interest.
create_database('single_table');
$node->safe_psql('single_table', 'CREATE SCHEMA app; CREATE EXTENSION kde_aqp');
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$directory/all", 'whole' ], 'all');
$node->command_ok([ 'pg_restore', '-e', '-n', 'app', '-t', 't', '-d', 'single_table', "$directory/all" ], 'pg_restore -t');
$node->command_ok([ 'pg_restore', '--data-only', '-t', 'density', '-n', 'kde_aqp', '-d', 'single_table', "$directory/all" ], 'and the densities');
is($node->safe_psql('single_table', $seeds), '08 09 11 12', 'of one table');

# A row alone by SQL: the name as regclass takes it, no key at all, a name that is none.
is($node->safe_psql('single_table', q{
     SET search_path = app, public;
     CREATE TABLE kept (LIKE kde_aqp.density);
     INSERT INTO kept SELECT * FROM kde_aqp.dumped_densities() WHERE seed = 12;
     SELECT kde_drop('t.v');
     UPDATE kept SET relation = 't'::regclass::oid;
     INSERT INTO kde_aqp.density SELECT * FROM kept;
     SELECT count(*) FROM kde_aqp.fitted WHERE relation = 't'::regclass;
     SELECT kde_drop('t.v');
     UPDATE kept SET relation = 't';
     INSERT INTO kde_aqp.density SELECT * FROM kept;
     REFRESH MATERIALIZED VIEW kde_aqp.fitted;
     SELECT count(*) FROM kde_aqp.fitted WHERE relation = 't'::regclass}), "t\n5\nt\n5", 'the table by name or number');
for my $bad ('', '.', 'a.b.c.d', '"', '99999999999', '0', 'app.', 'x' x 100, 'pg_toast.t', '4294967295') {
  my ($code, undef, $said) = $node->psql('single_table', q{
    SET search_path = app, public; INSERT INTO kde_aqp.density SELECT (jsonb_populate_record(k, jsonb_build_object('relation', '} . $bad . q{'))).* FROM kept AS k});
  is($code, 0, "'$bad' is no error");
  like($said, qr/WARNING:  skipping a density of \Q$bad\E \(v\): /, 'but passed over');
}

# ------------------------------------------------------------- a schema that the owner may not use
# A restore grants privileges last, and a row's texts are read as the table's owner. They are kept as
# they came, and serve once the owner may.
$node->safe_psql('postgres', 'CREATE ROLE kde_owner LOGIN; CREATE ROLE kde_apart LOGIN');
create_database('private');
$node->safe_psql('private', q{
  CREATE EXTENSION kde_aqp;
  CREATE SCHEMA apart AUTHORIZATION kde_apart;
  CREATE FUNCTION apart.is_good(integer) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT $1 % 3 = 0';
  CREATE FUNCTION apart.half(double precision) RETURNS double precision LANGUAGE sql IMMUTABLE AS 'SELECT $1 / 2';
  GRANT USAGE ON SCHEMA apart TO kde_owner;
  CREATE TABLE t (junk text, v double precision, w integer);
  ALTER TABLE t DROP junk;
  INSERT INTO t SELECT sqrt(i), i % 17 FROM generate_series(1, 3000) AS i;
  ALTER TABLE t OWNER TO kde_owner;
  SELECT kde_fit('t', 'v', filter => 'apart.is_good(w)', seed => 1),
    kde_fit('t', ARRAY['apart.half(v)', 'w'], method => 'scott', seed => 2), kde_fit('t', 'w', seed => 3);});
my $private = q{
  SELECT column_names, filter, seed, rows FROM kde_densities_full ORDER BY seed;
  SELECT seed, reference_names, md5(density::text) FROM kde_aqp.fitted ORDER BY seed;
  SELECT approx_count('t (v)', 10, 30, filter => 'apart.is_good(w)'),
    approx_count('t (apart.half(v), w)', ARRAY[5, 2], ARRAY[20, 9]);};
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$directory/private", 'private' ], 'a function in a schema apart');
my @without_grant = ('pg_restore', '-e', '--no-privileges', '-d', 'private2', "$directory/private");
for my $restore ([ 'private1', 'with its privileges', 'pg_restore', '-e', '-d', 'private1', "$directory/private" ],
  [ 'private2', 'without them', @without_grant ]) {
  my ($database, $what, @command) = @$restore;
  create_database($database);
  $node->command_ok(\@command, "restored $what");
  my $granted = $node->safe_psql($database, q{SELECT has_schema_privilege('kde_owner', 'apart', 'USAGE')});
  is($granted, $database eq 'private1' ? 't' : 'f', "$what: the owner's right");
  is($node->safe_psql($database, 'SELECT seed FROM kde_densities_full ORDER BY seed'), "1\n2\n3", "$what: all densities came");
  if ($granted eq 'f') {
    my (undef, undef, $err) = $node->psql($database, q{SELECT kde_fit('t', 'v', filter => 'apart.is_good(w)', seed => 4)},
      extra_params => [ '-U', 'kde_owner' ]);
    like($err, qr/permission denied for schema apart/, "$what: a refit says what is missing");
  }
  $node->safe_psql($database, 'GRANT USAGE ON SCHEMA apart TO kde_owner');
  is($node->safe_psql($database, $private), $node->safe_psql('private', $private), "$what: as they were");
  is($node->safe_psql($database, q{
       SELECT seed FROM kde_fit('t', 'v', filter => 'apart.is_good(w)', seed => 5);
       SELECT count(*) FROM kde_aqp.fitted;
       ALTER TABLE t RENAME w TO x;
       SELECT filter FROM kde_densities_full WHERE seed = 5;
       ALTER TABLE t DROP v;
       SELECT column_names, seed FROM kde_densities_full;}),
    "5\n3\napart.is_good(x)\n{x}|3", "$what: refit, rename and drop");
}

$node->stop;
done_testing();
