# A whole cluster moved: pg_dumpall into one where everything has other numbers, and pg_upgrade (of the
# same version, which it allows), checked and done. Densities, answers, privileges and what stands on
# them are as they were, and live on.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @databases = ('sales', 'events');
my $old = PostgreSQL::Test::Cluster->new('old');
$old->init;
$old->start;
$old->safe_psql('postgres', q{
  CREATE ROLE kde_owner LOGIN; CREATE ROLE kde_reader LOGIN;
  CREATE DATABASE sales OWNER kde_owner; CREATE DATABASE events OWNER kde_owner;
  ALTER DATABASE events SET kde_aqp.sample_blocks = 5000;});
# By a superuser for another, in a schema of its own.
$old->safe_psql('events', q{CREATE SCHEMA aqp; CREATE EXTENSION kde_aqp SCHEMA aqp; GRANT USAGE ON SCHEMA aqp TO PUBLIC;});
my @owner = (extra_params => [ '-U', 'kde_owner' ]);
$old->safe_psql('sales', 'CREATE EXTENSION kde_aqp', @owner);
for my $database (@databases) {
  $old->safe_psql($database, qq{
    SET search_path = public, aqp;
    CREATE TABLE t (junk integer, v numeric(10,2), more_junk text, w integer, at timestamptz);
    INSERT INTO t SELECT i, ln(i) * 100, 'x', i % 12, '2026-01-01'::timestamptz + i * interval '1 h'
      FROM generate_series(1, 5000) AS i;
    ALTER TABLE t DROP junk, DROP more_junk;
    CREATE TABLE parts (k integer, v double precision) PARTITION BY RANGE (k);
    CREATE TABLE low PARTITION OF parts FOR VALUES FROM (0) TO (50);
    CREATE TABLE high (junk text, v double precision, k integer);
    ALTER TABLE high DROP junk;
    ALTER TABLE parts ATTACH PARTITION high FOR VALUES FROM (50) TO (100);
    INSERT INTO parts SELECT i % 100, sqrt(i) FROM generate_series(1, 4000) AS i;
    CREATE MATERIALIZED VIEW m AS SELECT w, count(*) AS n FROM t GROUP BY w;
    CREATE SCHEMA "Schema One";
    CREATE FUNCTION "Schema One".doubled(numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS 'SELECT 2 * \$1';
    SELECT kde_fit('t', 'v', seed => 1), kde_fit('t', 'w', seed => 2), kde_fit('t', 'at', seed => 3),
      kde_fit('parts', 'v', seed => 4), kde_fit('high', 'v', seed => 5), kde_fit('m', 'n', seed => 6),
      kde_fit('t', ARRAY['v', 'w'], seed => 7), kde_fit('high', ARRAY['k', 'v'], method => 'scott', seed => 8),
      kde_fit('t', ARRAY['"Schema One".doubled(v)'], filter => 'w > 3 AND at < ''2026-06-01''::date', seed => 9);
    CREATE MATERIALIZED VIEW answers AS
      SELECT approx_count(kde_density('t'::regclass, 'v'), 100, 700) AS n, kde_density('parts'::regclass, 'v') AS d;
    CREATE TABLE kept AS SELECT w, kde_agg(v) AS d FROM t GROUP BY w;
    CREATE VIEW asks AS SELECT approx_avg(kde_density('high'::regclass, 'v'), 10, 50);
    GRANT SELECT (v) ON t TO kde_reader;
  }, @owner);
}

my $all = q{
  SELECT relation, column_names, filter, bandwidth_matrix, stored_rows, method, bandwidth, rows, nulls, rows_read,
    bandwidth_status, model, requested_exact, every_row_read, sample_rows, design_effect, bandwidth_rows,
    lower, upper, cells, engine, threads, scan_ms, select_ms, estimate_ms, requested_sample_rows, seed, fitted_at
  FROM kde_densities_full ORDER BY seed;
  SELECT seed, md5(density::text), kde_density(relation, column_names, nullif(filter, ''))::text = density::text,
    attribute_numbers, reference_names
  FROM kde_aqp.fitted ORDER BY seed;
  SELECT approx_count('t.v', 10, 500), approx_quantile_as('t.at', 0.5, NULL::timestamptz),
    approx_sum('t (v, w)', ARRAY[100, 2], ARRAY[600, 8], measure => 'v'), approx_avg('high (k, v)', ARRAY[60, 1], ARRAY[90, 50], measure => 'v');
  SELECT n, d::text FROM answers;
  SELECT * FROM asks;
  SELECT w, approx_quantile(d, ARRAY[0.1, 0.5]), d::text FROM kept ORDER BY w;
  SET ROLE kde_reader;
  SELECT column_names, seed FROM kde_densities_full ORDER BY seed;
  SHOW kde_aqp.sample_blocks;};
# Attribute numbers of dropped columns are lost in a dump, and kept by pg_upgrade.
(my $all_but_numbers = $all) =~ s/\battribute_numbers,//;

# Everything answers in one search path.
sub ask_cluster {
  my ($node, $database, $sql) = @_;
  return $node->safe_psql($database, "SET search_path = public, aqp; $sql");
}

sub check_moved {
  my ($node, $expected, $questions, $what) = @_;
  for my $database (@databases) {
    is(ask_cluster($node, $database, $questions), $expected->{$database}, "$what, $database: all is as it was");
    my $lives = ask_cluster($node, $database, q{
      SELECT seed FROM kde_fit('t', 'v', seed => 11);
      SELECT seed FROM kde_fit('t', ARRAY['w', 'v'], seed => 12);
      ALTER TABLE t RENAME v TO price;
      ALTER TABLE parts DETACH PARTITION high;
      SET client_min_messages = warning;
      DROP TABLE parts CASCADE;
      SELECT column_names, filter, seed FROM kde_densities_full ORDER BY seed;
      SELECT count(*) FROM kde_aqp.fitted;});
    is($lives, join("\n", 11, 12, '{w}||2', '{at}||3', '{v}||5', '{n}||6', '{k,v}||8',
        '{"\"Schema One\".doubled(price)"}|((at < \'2026-06-01\'::date) AND (w > 3))|9', '{price}||11', '{w,price}||12', 8),
      "$what, $database: refits, renames and drops");
  }
  return;
}

my %before = map { $_ => ask_cluster($old, $_, $all) } @databases;
my %before_but_numbers = map { $_ => ask_cluster($old, $_, $all_but_numbers) } @databases;
like($before{events}, qr/\n5000$/, 'a setting of a database');

# ------------------------------------------------------------------------------------ pg_dumpall
my $file = $old->basedir . '/all.sql';
$old->command_ok([ 'pg_dumpall', '-f', $file ], 'pg_dumpall');
my $other = PostgreSQL::Test::Cluster->new('other');
$other->init;
$other->start;
# Numbers given out before, so that those to come are others.
$other->safe_psql('postgres', join ';', map { "CREATE TABLE x$_ (); DROP TABLE x$_" } 1 .. 40);
my ($code, $out, $err) = $other->psql('postgres', '', on_error_stop => 0, extra_params => [ '-f', $file ]);
my $superuser = $other->safe_psql('postgres', 'SELECT current_user');
is(join("\n", grep { !/role "\Q$superuser\E" already exists/ } grep { /ERROR|WARNING|NOTICE/ } split /\n/, $err), '',
  'restores without errors');
isnt($other->safe_psql('sales', q{SELECT 't'::regclass::oid}), $old->safe_psql('sales', q{SELECT 't'::regclass::oid}),
  'under other numbers');
check_moved($other, \%before_but_numbers, $all_but_numbers, 'pg_dumpall');
$other->stop;

# ------------------------------------------------------------------------------------ pg_upgrade
my $new = PostgreSQL::Test::Cluster->new('new');
$new->init;
chomp(my $bindir = `pg_config --bindir`);
my $numbers = $old->safe_psql('sales', q{SELECT 't'::regclass::oid, 'kde_aqp.fitted'::regclass::oid});
$old->stop;
my @upgrade = ('pg_upgrade', '-d', $old->data_dir, '-D', $new->data_dir, '-b', $bindir, '-B', $bindir,
  '-s', $new->host, '-p', $old->port, '-P', $new->port);
# It leaves files where it is started.
chdir $PostgreSQL::Test::Utils::tmp_check or die $!;
command_ok([ @upgrade, '--check' ], 'pg_upgrade --check');
command_ok(\@upgrade, 'pg_upgrade');
$new->start;
is($new->safe_psql('sales', q{SELECT 't'::regclass::oid, 'kde_aqp.fitted'::regclass::oid}), $numbers,
  'under the same numbers');
check_moved($new, \%before, $all, 'pg_upgrade');
# What it made of the extension is the extension: its parts belong to it, its triggers fire, it can be
# dropped without a trace.
is(ask_cluster($new, 'sales', q{
     SELECT evtenabled FROM pg_event_trigger ORDER BY evtname;
     SELECT tgenabled FROM pg_trigger WHERE tgrelid = 'kde_aqp.density'::regclass ORDER BY tgname;
     SELECT count(*) > 0 FROM pg_init_privs WHERE objoid = 'kde_aqp.density'::regclass;
     SELECT 'kde_aqp.density'::regclass = ANY (extconfig) FROM pg_extension WHERE extname = 'kde_aqp';
     SELECT last_value >= (SELECT max(id) FROM kde_aqp.fitted) FROM kde_aqp.density_id;
     SET client_min_messages = warning;
     DROP EXTENSION kde_aqp CASCADE;
     SELECT count(*) FROM pg_proc WHERE proname ~ '^(kde|approx)_';
     CREATE EXTENSION kde_aqp;
     SELECT seed FROM kde_fit('t', 'w', seed => 21);}),
  "A\nA\nA\nt\nt\nt\n0\n21", 'pg_upgrade: the extension is whole');
$new->stop;

done_testing();
