# A table with a column of type kde and REPLICA IDENTITY FULL: updates and deletes find their row by the
# type's default equality, on a subscriber that has more than one.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $publisher = PostgreSQL::Test::Cluster->new('publisher');
$publisher->init(allows_streaming => 'logical');
$publisher->start;
my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init(allows_streaming => 'logical');
$subscriber->start;
$_->safe_psql('postgres', q{
  CREATE EXTENSION kde_aqp;
  CREATE TABLE kept (at date, d kde);
  ALTER TABLE kept REPLICA IDENTITY FULL}) for $publisher, $subscriber;
# Two values of one date, which differ in the density alone; one that is toasted.
$publisher->safe_psql('postgres', q{
  INSERT INTO kept SELECT '2026-01-01', kde_agg(i % (5 * k)) FROM generate_series(1, 100) AS i, generate_series(1, 2) AS k GROUP BY k;
  INSERT INTO kept SELECT '2026-01-02', kde_agg(sqrt(i)) FROM generate_series(1, 20000) AS i;
  INSERT INTO kept VALUES ('2026-01-03', NULL);
  CREATE PUBLICATION all_kept FOR TABLE kept});
my $connection = $publisher->connstr . ' dbname=postgres';
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION kept CONNECTION '$connection' PUBLICATION all_kept");
$subscriber->wait_for_subscription_sync($publisher, 'kept');
is($subscriber->safe_psql('postgres', 'SELECT count(*) FROM kept'), '4', 'the rows are there');

$publisher->safe_psql('postgres', q{
  UPDATE kept SET at = '2026-02-01' WHERE approx_quantile(d, 1) = 9;
  UPDATE kept SET at = '2026-02-02' WHERE at = '2026-01-02';
  UPDATE kept SET at = '2026-02-03' WHERE d IS NULL;
  DELETE FROM kept WHERE approx_quantile(d, 1) = 4});
$publisher->wait_for_catchup('kept');
my $rows = q{SELECT at, approx_count(d), approx_quantile(d, 1) FROM kept ORDER BY at};
is($publisher->safe_psql('postgres', $rows), "2026-02-01|100|9\n2026-02-02|20000|141.4213562373095\n2026-02-03||", 'updated and deleted');
is($subscriber->safe_psql('postgres', $rows), $publisher->safe_psql('postgres', $rows), 'there too');

$subscriber->stop;
$publisher->stop;
done_testing();
