# Between the installation of the files of a new version and ALTER EXTENSION UPDATE the library meets the older
# catalog: answers and fits are refused then, but the database's DDL goes on, and the catalog follows it.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('older');
$node->init;
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;

sub sql { return $node->safe_psql('postgres', $_[0]) }

# Rows as the older version left them: made by this one, taken over.
sql(q{
  CREATE EXTENSION kde_aqp;
  CREATE TABLE kept (a integer, b integer);
  CREATE TABLE dropped (a integer);
  INSERT INTO kept SELECT i, i FROM generate_series(1, 100) AS i;
  INSERT INTO dropped SELECT a FROM kept;
  SELECT kde_fit('kept', 'a', seed => 1), kde_fit('kept', 'b', seed => 1), kde_fit('dropped', 'a', seed => 1);
  CREATE TABLE rows AS SELECT * FROM kde_aqp.dumped_densities();
  ALTER TABLE rows ALTER density TYPE text;
  DROP EXTENSION kde_aqp;
  CREATE EXTENSION kde_aqp VERSION '0.2.0';
  ALTER TABLE kde_aqp.density DISABLE TRIGGER on_row;
  DO $$
  BEGIN
    EXECUTE (SELECT format('INSERT INTO kde_aqp.density SELECT %s FROM rows',
        string_agg(CASE attname WHEN 'density' THEN 'density::kde' ELSE quote_ident(attname) END, ', ' ORDER BY attnum))
      FROM pg_attribute WHERE attrelid = 'kde_aqp.density'::regclass AND attnum > 0);
  END $$;
  ALTER TABLE kde_aqp.density ENABLE ALWAYS TRIGGER on_row});
my ($rc, $out, $error) = $node->psql('postgres', q{SELECT approx_count('kept.a', 1, 50)});
like($error, qr/of another version than its library/, 'answers are refused');
my $changes = q{
  CREATE TABLE plain (x integer);
  ALTER TABLE plain ADD y integer;
  CREATE TEMP TABLE scratch (x integer);
  DROP TABLE scratch;
  DROP TABLE plain;
  CREATE TYPE pair AS (a integer);
  ALTER TYPE pair ADD ATTRIBUTE b integer;
  ALTER TABLE kept RENAME a TO c;
  ALTER TABLE kept DROP b;
  DROP TABLE dropped};
is(($node->psql('postgres', $changes, on_error_stop => 1))[0], 0, 'the DDL of others goes on')
  or diag(($node->psql('postgres', $changes))[2]);
sql('ALTER EXTENSION kde_aqp UPDATE');
is(sql('SELECT relation, column_names FROM kde_aqp.fitted'), 'kept|{c}', 'and the catalog has followed it');
is(sql(q{SELECT round(approx_count('kept.c', 1, 50))}), '50', 'updated, it answers');

$node->stop;
done_testing();
