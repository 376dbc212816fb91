# Densities of kde_agg as values elsewhere: logical replication as text and as binary, COPY BINARY,
# dump and restore with the views that make and ask them.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $publisher = PostgreSQL::Test::Cluster->new('publisher');
$publisher->init(allows_streaming => 'logical');
$publisher->start;
my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init;
$subscriber->start;
my $directory = $publisher->basedir;

# One density that is exact, one that is not (and is stored out of line), one of times, one of no rows.
my $tables = q{
  CREATE TABLE by_text (id integer PRIMARY KEY, label text, d kde);
  CREATE TABLE by_binary (LIKE by_text INCLUDING ALL);};
$publisher->safe_psql('postgres', qq{
  CREATE EXTENSION kde_aqp;
  CREATE TABLE sales (region integer, v double precision, quantity integer, at timestamptz);
  INSERT INTO sales SELECT i % 4, exp(hashint4(i) / 1e9), nullif(i % 50, 7),
      '2026-01-01 00:00+00'::timestamptz + i * interval '1 min'
    FROM generate_series(1, 60000) AS i;
  $tables
  INSERT INTO by_text
    SELECT 1, 'quantity', kde_agg(quantity) FROM sales
    UNION ALL SELECT 2, 'v', kde_agg(v) FROM sales
    UNION ALL SELECT 3, 'at', kde_agg(at) FROM sales
    UNION ALL SELECT 4, 'only NULL', kde_agg(NULL::numeric) FROM sales
    UNION ALL SELECT 5, 'plugin', kde_agg(v, 'plugin', quantity + 0.5, 4096) FROM sales;
  INSERT INTO by_binary SELECT * FROM by_text;
  CREATE PUBLICATION as_text FOR TABLE by_text;
  CREATE PUBLICATION as_binary FOR TABLE by_binary;
});
$subscriber->safe_psql('postgres', "CREATE EXTENSION kde_aqp; $tables");

# Everything of a table: the values, and answers from them.
sub contents {
  my ($node, $table, $database) = @_;
  return $node->safe_psql($database // 'postgres', qq{
    SELECT id, label, md5(d::text), md5(kde_aqp.kde_send(d)), approx_count(d), approx_count(d, 1::float8, 20::float8),
      approx_avg(d, 1::float8, 20::float8), approx_quantile(d, 0.25)
    FROM $table WHERE id <> 3 ORDER BY id;
    SELECT id, label, md5(d::text), approx_count(d, '2026-01-02 00:00+00'::timestamptz, NULL) FROM $table WHERE id = 3;});
}
is($publisher->safe_psql('postgres', q{
     SELECT approx_count(d, 10, 20) = (SELECT count(*) FROM sales WHERE quantity BETWEEN 10 AND 20)
     FROM by_text WHERE id = 1}), 't', 'the publisher answers');
is($publisher->safe_psql('postgres', q{SELECT pg_column_size(d) > 2048 FROM by_text WHERE id = 2}), 't',
  'one value is stored out of line');

# ---------------------------------------------------------------------------------------------
# Logical replication
# ---------------------------------------------------------------------------------------------
my $connection = $publisher->connstr . ' dbname=postgres';
$subscriber->safe_psql('postgres',
  "CREATE SUBSCRIPTION as_text CONNECTION '$connection' PUBLICATION as_text WITH (binary = false)");
$subscriber->safe_psql('postgres',
  "CREATE SUBSCRIPTION as_binary CONNECTION '$connection' PUBLICATION as_binary WITH (binary = true)");
ok($subscriber->poll_query_until('postgres',
    q{SELECT count(*) = 2 FROM pg_subscription_rel WHERE srsubstate = 'r'}), 'the tables are copied');

my @replicated = ([ 'as_text', 'by_text' ], [ 'as_binary', 'by_binary' ]);
for (@replicated) {
  my ($subscription, $table) = @$_;
  $publisher->wait_for_catchup($subscription);
  is(contents($subscriber, $table), contents($publisher, $table), "$subscription: copied");
  # New rows; a new density; a change that leaves the density where it is; a row that goes.
  $publisher->safe_psql('postgres', qq{
    INSERT INTO $table SELECT 10 + region, 'region', kde_agg(v) FROM sales GROUP BY region;
    UPDATE $table SET d = (SELECT rollup(d) FROM $table WHERE label = 'region') WHERE id = 1;
    UPDATE $table SET label = 'renamed' WHERE id = 2;
    DELETE FROM $table WHERE id = 4;});
  $publisher->wait_for_catchup($subscription);
  is(contents($subscriber, $table), contents($publisher, $table), "$subscription: changes");
  is($subscriber->safe_psql('postgres', "SELECT count(*) FROM $table"), '8', "$subscription: rows");
}
is($subscriber->safe_psql('postgres', q{SELECT approx_count(rollup(d)) FROM by_binary WHERE label = 'region'}),
  '60000', 'the subscriber rolls up what came');

# ---------------------------------------------------------------------------------------------
# COPY BINARY
# ---------------------------------------------------------------------------------------------
$publisher->safe_psql('postgres', "COPY by_text TO '$directory/densities' WITH (FORMAT binary)");
$subscriber->safe_psql('postgres', qq{
  CREATE TABLE copied (LIKE by_text);
  COPY copied FROM '$directory/densities' WITH (FORMAT binary)});
is(contents($subscriber, 'copied'), contents($publisher, 'by_text'), 'COPY BINARY out and in');

# A damaged file is an error, and nothing else: the last byte of a density's signature and what follows.
my $bytes = slurp_file("$directory/densities", 0);
my $refused = 0;
for my $k (1 .. 20) {
  my $damaged = $bytes;
  # Over the whole file, behind its header of 19 bytes.
  my $at = 19 + int((length($bytes) - 20) * $k / 21);
  substr($damaged, $at, 1) = chr(ord(substr($damaged, $at, 1)) ^ 0x80);
  open my $file, '>:raw', "$directory/damaged" or die $!;
  print $file $damaged;
  close $file;
  my ($code) = $subscriber->psql('postgres',
    "BEGIN; COPY copied FROM '$directory/damaged' WITH (FORMAT binary);
     SELECT approx_count(d, 1::float8, 2::float8), approx_quantile(d, 0.5) FROM copied WHERE id <> 3; ROLLBACK");
  $refused++ if $code != 0;
}
is($subscriber->safe_psql('postgres', 'SELECT 1'), '1', 'the server lives on');
note "$refused of 20 damaged files refused";
is(contents($subscriber, 'copied'), contents($publisher, 'by_text'), 'and what was copied before is as it was');

# ---------------------------------------------------------------------------------------------
# Dump and restore
# ---------------------------------------------------------------------------------------------
$publisher->safe_psql('postgres', q{
  CREATE VIEW by_region AS SELECT region, kde_agg(v) AS v, kde_agg(quantity, 'auto', 1.5, 1024) AS quantity
    FROM sales GROUP BY region;
  CREATE MATERIALIZED VIEW kept AS SELECT * FROM by_region;
  CREATE VIEW answers AS
    SELECT approx_avg(rollup(v ORDER BY region), 1, 2) AS mean,
      approx_count(rollup(quantity, 2048 ORDER BY region), 10, 20) AS n,
      rollup(quantity ORDER BY region) FILTER (WHERE region > 1) AS d
    FROM kept;
  CREATE TABLE parent (d kde DEFAULT NULL, CHECK (approx_count(d) > 0));
  INSERT INTO parent SELECT kde_agg(at) FROM sales;
});
my $all = q{
  SELECT region, md5(v::text), md5(quantity::text) FROM kept ORDER BY region;
  SELECT region, approx_count(quantity, 10, 20), approx_count(v) FROM by_region ORDER BY region;
  SELECT mean, n, md5(d::text) FROM answers;
  SELECT md5(d::text) FROM parent;
  SELECT pg_get_viewdef('by_region'::regclass) || pg_get_viewdef('answers'::regclass);};
# By one process, so that rows come in one order: the view's densities are then the same.
my $serial = 'SET max_parallel_workers_per_gather = 0;';
for my $format ('plain', 'custom') {
  $publisher->command_ok([ 'pg_dump', '-F', $format, '-T', 'by_text', '-T', 'by_binary', '--no-publications',
      '-f', "$directory/$format.dump", 'postgres' ], "pg_dump, $format");
  $publisher->safe_psql('postgres', "CREATE DATABASE restored_$format");
  $publisher->command_ok($format eq 'plain'
    ? [ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$directory/plain.dump", '-d', 'restored_plain' ]
    : [ 'pg_restore', '-e', '-d', 'restored_custom', "$directory/custom.dump" ], 'restore');
  is($publisher->safe_psql("restored_$format", "$serial $all"), $publisher->safe_psql('postgres', "$serial $all"),
    "$format: all is as it was");
}

$subscriber->stop;
$publisher->stop;
done_testing();
