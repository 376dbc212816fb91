# Fits, refits and drops with the catalog in a publication FOR ALL TABLES: rows are deleted, which
# needs a replica identity, and the changes must decode.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('publisher');
$node->init(allows_streaming => 'logical');
$node->start;
$node->safe_psql('postgres', q{
  CREATE EXTENSION kde_aqp;
  CREATE TABLE t (v double precision, w integer);
  INSERT INTO t SELECT ln(i) * 100, i % 10 FROM generate_series(1, 2000) AS i;
  CREATE PUBLICATION everything FOR ALL TABLES;
  SELECT pg_create_logical_replication_slot('changes', 'pgoutput');
});
is($node->safe_psql('postgres', q{
     SELECT count(*) FROM pg_publication_tables WHERE schemaname = 'kde_aqp'}), '2',
  'the catalog is published');

my @steps = (
  [ 'fit', q{SELECT seed FROM kde_fit('t', 'v', seed => 1)}, '1' ],
  [ 'fit of a second column', q{SELECT seed FROM kde_fit('t', 'w', seed => 1)}, '1' ],
  [ 'refit', q{SELECT seed FROM kde_fit('t', 'v', seed => 2)}, '2' ],
  [ 'refit after a rename', q{ALTER TABLE t RENAME v TO x;
                              SELECT seed FROM kde_fit('t', 'x', seed => 3)}, '3' ],
  [ 'drop', q{SELECT kde_drop('t', 'x')}, 't' ],
  [ 'drop of a column', q{ALTER TABLE t DROP w; SELECT count(*) FROM kde_aqp.density}, '0' ],
  [ 'fit for a table to be dropped', q{SELECT seed FROM kde_fit('t', 'x', seed => 4)}, '4' ],
  [ 'drop of the table', q{DROP TABLE t; SELECT count(*) FROM kde_aqp.density}, '0' ],
);
for (@steps) {
  my ($what, $sql, $expected) = @$_;
  my ($code, $out, $err) = $node->psql('postgres', $sql);
  is("$out$err", $expected, "$what in a publication FOR ALL TABLES");
}
# pgoutput writes a byte of kind first: I(nsert), D(elete).
is($node->safe_psql('postgres', q{
     SELECT string_agg(kind || ' ' || n, ', ' ORDER BY kind) FROM (
       SELECT chr(get_byte(data, 0)) AS kind, count(*) AS n
       FROM pg_logical_slot_get_binary_changes('changes', NULL, NULL,
         'proto_version', '1', 'publication_names', 'everything')
       GROUP BY 1) AS s
     WHERE kind IN ('I', 'U', 'D')}),
  # Inserts: two fits, two refits (one of which first renames the stored row), one last fit; each
  # goes again by a delete. Beside each of the three densities a row of upkeep, which refits update.
  'D 9, I 9, U 2', 'every change decodes');

$node->stop;
done_testing();
