# kde_agg in plans of several parts: partitions aggregated apart, parallel workers, both; and
# materialized views that are refreshed while they are read.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('plans');
$node->init;
$node->append_conf('postgresql.conf', q{
parallel_setup_cost = 0
parallel_tuple_cost = 0
min_parallel_table_scan_size = 0
max_worker_processes = 16
});
$node->start;
$node->safe_psql('postgres', q{
  CREATE EXTENSION kde_aqp;
  CREATE TABLE sales (region integer NOT NULL, v double precision, quantity integer)
    PARTITION BY LIST (region);
  CREATE TABLE sales_1 PARTITION OF sales FOR VALUES IN (1);
  CREATE TABLE sales_2 PARTITION OF sales FOR VALUES IN (2);
  CREATE TABLE sales_3 PARTITION OF sales FOR VALUES IN (3);
  CREATE TABLE sales_4 PARTITION OF sales FOR VALUES IN (4, 5);
  INSERT INTO sales SELECT 1 + i % 5, exp(hashint4(i) / 1e9) * (1 + i % 5), nullif(hashint4(i) % 500, 7)
    FROM generate_series(1, 100000) AS i;
  ANALYZE sales;
});
install_miss($node);

# ---------------------------------------------------------------------------------------------
# Partitions and workers
# ---------------------------------------------------------------------------------------------
my $session = open_session($node, 'postgres', 'SET max_parallel_workers_per_gather = 0',
  'SET client_min_messages = warning');
ask($session, q{CREATE TABLE serial AS
  SELECT kde_agg(v) AS v, kde_agg(quantity) AS quantity FROM sales});

my @plans = (
  [ 'parallel workers', 'off', 4, qr/Finalize Aggregate.*Gather.*Workers Launched: [1-9].*Partial Aggregate/s ],
  [ 'partitions apart', 'on', 0, qr/Finalize Aggregate.*Append(.*Partial Aggregate){4}/s ],
  [ 'both', 'on', 4, qr/Finalize Aggregate.*Workers Launched: [1-9].*Append(.*Partial Aggregate){4}/s ],
);
for (@plans) {
  my ($what, $partitionwise, $workers, $shape) = @$_;
  ask($session, "SET enable_partitionwise_aggregate = $partitionwise");
  ask($session, "SET max_parallel_workers_per_gather = $workers");
  my $sql = 'SELECT kde_agg(v) AS v, kde_agg(quantity) AS quantity FROM sales';
  like(ask($session, "EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) $sql"), $shape, "$what: the plan");
  ask($session, "DROP TABLE IF EXISTS made; CREATE TABLE made AS $sql");
  is(ask($session, q{SELECT miss(v, 'sales', 'v') <= allowed(v) FROM made}), 't', "$what: within the stated error")
    or diag(ask($session, q{SELECT miss(v, 'sales', 'v'), allowed(v) FROM made}));
  is(ask($session, q{SELECT representation_error > 0 AND representation_error < 0.05 FROM made, kde_info(v)}), 't',
    "$what: which is not 0, nor large");
  # Two densities of one column may differ by both their errors.
  is(ask($session, q{SELECT max(abs(approx_count(made.v, NULL, x::float8 / 10) - approx_count(serial.v, NULL, x::float8 / 10)))
         <= max(allowed(made.v) + allowed(serial.v)) FROM made, serial, generate_series(1, 400) AS x}), 't',
    "$what: as in one piece");
  is(ask($session, q{SELECT made.quantity::text = serial.quantity::text FROM made, serial}), 't',
    "$what: the same density where all is exact");
  is(ask($session, q{SELECT miss(quantity, 'sales', 'quantity') < 1e-6 FROM made}), 't', "$what: exact");
}
# A group a partition: nothing is to be merged.
ask($session, 'SET enable_partitionwise_aggregate = on');
ask($session, 'SET max_parallel_workers_per_gather = 0');
is(ask($session, q{SELECT count(*), bool_and(approx_count(d, 10, 20) = n) FROM
     (SELECT region, kde_agg(quantity) AS d, count(*) FILTER (WHERE quantity BETWEEN 10 AND 20) AS n
      FROM sales GROUP BY region) AS s}), '5|t', 'groups that are partitions');

# ---------------------------------------------------------------------------------------------
# Materialized views
# ---------------------------------------------------------------------------------------------
ask($session, q{
  CREATE MATERIALIZED VIEW by_region AS
    SELECT region, kde_agg(quantity) AS quantity, kde_agg(v) AS v FROM sales GROUP BY region;
  CREATE UNIQUE INDEX ON by_region (region);});
my $exact = q{SELECT count(*) FROM sales WHERE quantity BETWEEN 100 AND 200};
my $kept = q{SELECT approx_count(rollup(quantity), 100, 200) FROM by_region};
my $before = ask($session, $exact);
is(ask($session, $kept), $before, 'a view of densities answers');
my $versions = q{SELECT string_agg(region || ' ' || xmin, ', ' ORDER BY region) FROM by_region WHERE region <> 2};
my $old_versions = ask($session, $versions);

my $reader = open_session($node);
ask($reader, 'BEGIN ISOLATION LEVEL REPEATABLE READ');
is(ask($reader, $kept), $before, 'a reader');
ask($session, q{INSERT INTO sales SELECT 2, 1e6 + i, 150 FROM generate_series(1, 1000) AS i});
is(ask($session, $kept), $before, 'stale until it is refreshed');
# The reader holds its lock: this returns only because readers do not stop it.
is((ask($session, q{SET lock_timeout = '60s'; REFRESH MATERIALIZED VIEW CONCURRENTLY by_region}))[1], '',
  'REFRESH MATERIALIZED VIEW CONCURRENTLY');
my $after = ask($session, $exact);
is($after, $before + 1000, 'more rows');
is(ask($session, $kept), $after, 'are counted');
is(ask($reader, $kept), $before, 'but not under an earlier snapshot');
ask($reader, 'COMMIT');
is(ask($reader, $kept), $after, 'and are when it is over');
# The same rows make the same density, byte for byte: what did not change is not written.
is(ask($session, $versions), $old_versions, 'groups without new rows keep their old rows');
is(ask($session, q{SELECT miss(rollup(v), 'sales', 'v') <= allowed(rollup(v)) FROM by_region}), 't',
  'rolled up: within the stated error');
is((ask($session, 'REFRESH MATERIALIZED VIEW CONCURRENTLY by_region'))[1], '', 'refreshed without a change');
is(ask($session, $versions), $old_versions, 'nothing is written');
ask($session, q{DELETE FROM sales WHERE region = 5; REFRESH MATERIALIZED VIEW CONCURRENTLY by_region});
is(ask($session, q{SELECT count(*) FROM by_region}), '4', 'a group that is gone');
is(ask($session, $kept), ask($session, $exact), 'and its rows');
$_->quit for $session, $reader;

$node->stop;
done_testing();
