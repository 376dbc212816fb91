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
# Of one table: no extension, no densities. Densities left out. The catalog without a table it speaks of.
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
create_database('lacking');
$node->command_ok([ 'pg_dump', '-Fc', '-T', 'u', '-f', "$directory/lacking", 'source' ], 'without a table');
# As docs/faq.md says: rows are restored by the table's name.
$node->command_fails_like([ 'pg_restore', '-d', 'lacking', "$directory/lacking" ], qr/relation "public.u" does not exist/,
  'whose density then cannot be restored');
is($node->safe_psql('lacking', q{SELECT count(*) FROM t; SELECT count(*) FROM kde_densities_full; SELECT seed FROM kde_fit('t', 'v', seed => 5)}),
  "3000\n0\n5", 'nor can, COPY being one command, the others; all can be fitted');

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
