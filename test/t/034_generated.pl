# Virtual generated columns (PostgreSQL 18), whose values no file holds: where ALTER TABLE ... SET
# EXPRESSION changes one, its densities are stale, and a refresh fits them anew. Of a column that is
# stored the table is written anew, which the counters see.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
plan skip_all => 'there are virtual generated columns since PostgreSQL 18, this is ' . $node->pg_version
  if $node->pg_version < 18;

$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nkde_aqp.stale = 'error'\n");
$node->start;
sub sql { return $node->safe_psql('postgres', $_[0]) }

# Of the densities of a relation in order: name, stale, reason.
sub staleness {
  my ($relation) = @_;
  return sql(qq{SELECT array_to_string(column_names, ','), stale, stale_reason FROM kde_densities_full
    WHERE relation = '$relation'::regclass ORDER BY column_names, filter});
}
sub changed { return "the generation expression of column \"$_[0]\" changed" }

sql(q{
  CREATE EXTENSION kde_aqp;
  CREATE TABLE t (id serial, x integer, twice integer GENERATED ALWAYS AS (2 * x) VIRTUAL,
    other integer GENERATED ALWAYS AS (x + 1) VIRTUAL, stored integer GENERATED ALWAYS AS (3 * x) STORED);
  INSERT INTO t (x) SELECT i % 100 FROM generate_series(1, 10000) AS i;
  SELECT kde_fit('t', 'twice');
  SELECT kde_fit('t', ARRAY['twice + id', 'x']);
  SELECT kde_fit('t', 'x', filter => 'twice > 10');
});
unlike(staleness('t'), qr{\|t\|}, 'fitted');
is(sql(q{SELECT approx_count('t.twice', 100, 150) = count(*) FROM t WHERE twice BETWEEN 100 AND 150}), 't', 'right');

# What changes no value of a column changes nothing.
sql(q{
  ALTER TABLE t ADD more integer GENERATED ALWAYS AS (x - 1) VIRTUAL;
  ALTER TABLE t RENAME x TO y;
  ALTER TABLE t ALTER id SET DEFAULT 1;
  ALTER TABLE t DROP COLUMN other;
});
unlike(staleness('t'), qr/\|t\|/, 'nor is a density stale after columns came, went or were renamed');

sql('ALTER TABLE t ALTER twice SET EXPRESSION AS (2 * y + 1000)');
my $stale = staleness('t');
is(() = $stale =~ /\|t\|\Q${\changed('twice')}\E$/mg, 3, 'a virtual column computed otherwise: its densities are stale')
  or diag $stale;
my ($rc, $out, $err) = $node->psql('postgres', q{SELECT approx_count('t.twice', 100, 150)});
like($err, qr/\Q${\changed('twice')}\E/, 'and an answer that must not be stale is refused');
sql(q{SELECT * FROM kde_refresh('t')});
unlike(staleness('t'), qr/\|t\|/, 'not after a refresh');
is(sql(q{SELECT approx_count('t.twice', 1100, 1150) = count(*) FROM t WHERE twice BETWEEN 1100 AND 1150}), 't',
  'which has the new values');

# A stored one: the table's file is another.
sql(q{SELECT kde_fit('t', 'stored')});
sql('ALTER TABLE t ALTER stored SET EXPRESSION AS (4 * y)');
like(staleness('t'), qr/^stored\|t\|rows changed/m, 'a stored column computed otherwise: rows changed');

# Partitions.
sql(q{
  CREATE TABLE tree (x integer, twice integer GENERATED ALWAYS AS (2 * x) VIRTUAL) PARTITION BY RANGE (x);
  CREATE TABLE low PARTITION OF tree FOR VALUES FROM (0) TO (50);
  CREATE TABLE high PARTITION OF tree FOR VALUES FROM (50) TO (100);
  INSERT INTO tree SELECT i % 100 FROM generate_series(1, 1000) AS i;
  SELECT kde_fit('tree', 'twice');
});
is(staleness('tree'), 'twice|f|', 'of partitions');
sql('ALTER TABLE tree ALTER twice SET EXPRESSION AS (5 * x)');
is(staleness('tree'), 'twice|t|' . changed('twice'), 'and stale as one');

# A partition may compute a column otherwise than its parent, of which a query of the parent sees nothing.
sql(q{
  CREATE TABLE mixed (x integer, twice integer GENERATED ALWAYS AS (2 * x) VIRTUAL) PARTITION BY RANGE (x);
  CREATE TABLE mixed_low PARTITION OF mixed FOR VALUES FROM (0) TO (50);
  CREATE TABLE mixed_high (x integer, twice integer GENERATED ALWAYS AS (20 * x) VIRTUAL);
  ALTER TABLE mixed ATTACH PARTITION mixed_high FOR VALUES FROM (50) TO (100);
  INSERT INTO mixed SELECT i % 100 FROM generate_series(1, 1000) AS i;
  SELECT kde_fit('mixed', 'twice'), kde_fit('mixed', ARRAY['twice + 0']);
});
is(sql(q{SELECT approx_sum('mixed.twice') = sum(twice) FROM mixed}), 't', 'a column that a partition computes otherwise: as the parent does');
is(sql(q{SELECT approx_sum('mixed (twice + 0)') = sum(twice) FROM mixed}), 't', 'in an expression, too');

done_testing();
