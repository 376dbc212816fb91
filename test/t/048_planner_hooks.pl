# Beneath others' planner hooks, whose path hooks rely on their planner's having been entered, as those of Citus
# and TimescaleDB do (test/planner/entered.c ends the session where it was not): whatever plans goes through all
# planners. Loaded before the extension and after it, alone and beside a planner that throws plans away.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $entered = $ENV{KDE_AQP_ENTERED} or die 'KDE_AQP_ENTERED is not set';
my $elsewhere = $ENV{KDE_AQP_ELSEWHERE} or die 'KDE_AQP_ELSEWHERE is not set';
my $node = PostgreSQL::Test::Cluster->new('planner_hooks');
$node->init;
$node->append_conf('postgresql.conf', <<"CONF");
kde_aqp.max_workers = 0
autovacuum = off
CONF

# What plans: each in a session of its own.
my @asked = (
  q{SELECT kde_fit('sales', 'amount', sample_rows => -1, measures => '{price}')},
  q{SELECT kde_fit('sales', 'day', sample_rows => -1, measures => '{price}', group_by => 'region')},
  q{SELECT kde_fit('sales', 'amount', filter => 'price > 3 AND round(price) < 90')},
  q{SELECT kde_fit('sales', ARRAY['amount + 1'])},
  q{SELECT kde_fit('sales', ARRAY['amount', 'price'])},
  q{SELECT kde_fit('tree', 'v', sample_rows => -1)},
  q{SELECT kde_fit('far_sales', 'amount', sample_rows => -1, measures => '{price}')},
  q{SELECT count(*) FROM kde_fit('sales')},
  q{SELECT count(kde_set_plain_sql(name, true, filter => filter)) FROM kde_densities_full},
  q{SELECT approx_count('sales.amount', 3, 20)},
  q{SELECT approx_where('sales', 'amount > 30', otherwise => 'exact')},
  q{SELECT approx_where('far_sales', 'amount > 30', otherwise => 'exact')},
  q{SELECT approx_where('sales', 'price > 30 AND id > 5', otherwise => 'exact')},
  q{SELECT count(*) FROM kde_explain_query('SELECT count(*) FROM sales WHERE amount > 30')},
  q{SELECT count(*) FROM kde_explain_query('SELECT region, count(*) FROM far_sales JOIN sales USING (region) GROUP BY 1')},
  q{SELECT count(*) FROM kde_check()},
  q{SELECT count(*) FROM kde_densities_full},
  q{SELECT kde_drift('sales.amount')},
  q{INSERT INTO sales SELECT * FROM sales; CALL kde_refresh_all()},
  q{SELECT kde_self_check('sales.amount')},
  map({ my $mode = $_; map { "SET kde_aqp.approximate = '$mode'; $_" } (
    q{SELECT count(*) FROM sales WHERE amount > 30},
    q{SELECT s.region, count(*) FROM sales AS s JOIN tree ON tree.v = s.id GROUP BY 1},
    q{SELECT count(*) FROM far_sales WHERE amount > 30},
    q{SELECT sum(price) FROM far_sales AS a JOIN (SELECT count(*) AS n FROM far_sales WHERE amount > 30) AS s ON a.id = s.n},
    q{SELECT count(*) FROM far_sales WHERE amount > planned()},
    q{DO $$ BEGIN PERFORM count(*) FROM far_sales WHERE amount > 30; PERFORM count(*) FROM tree; END $$},
    q{SELECT count(*) FROM kde_advise(ARRAY['select sum(price) from sales where amount > 5', 'select sum(price) from far_sales where amount > $1',
      'select s.region, sum(price) from sales as s join tree on tree.v = s.id group by 1',
      'select day, count(*) from far_sales where id > planned() group by day', 'select count(*) from sales, far_sales'])}) } qw(off top all)),
  q{SELECT pg_stat_statements_reset()},
  q{SELECT region, count(*) FROM sales WHERE day > '2026-01-03' GROUP BY region},
  q{SELECT count(*) FROM kde_advise()},
);

my %advice;
for my $libraries ("$entered, pg_stat_statements, kde_aqp", "pg_stat_statements, kde_aqp, $entered", "$elsewhere, $entered, pg_stat_statements, kde_aqp", "$elsewhere, pg_stat_statements, kde_aqp, $entered") {
  my $name = $libraries =~ s|[^ ]*/||gr;
  $node->append_conf('postgresql.conf', "shared_preload_libraries = '$libraries'");
  $node->start;
  my (undef, undef, $made) = $node->psql('postgres', q{
    DROP EXTENSION IF EXISTS kde_aqp CASCADE;
    DROP SCHEMA IF EXISTS public, far CASCADE;
    CREATE SCHEMA public;
    CREATE SCHEMA far;
    SET client_min_messages = warning;
    CREATE EXTENSION kde_aqp;
    CREATE EXTENSION IF NOT EXISTS pg_stat_statements;
    CREATE TABLE sales AS SELECT i AS id, date '2026-01-01' + i % 90 AS day, ('{EU,US,Asia}'::text[])[1 + i % 3] AS region, i * 7919 % 500 AS amount, (i % 400 / 4.0)::numeric(10,2) AS price
      FROM generate_series(1, 5000) AS i;
    CREATE INDEX ON sales (amount);
    CREATE INDEX ON sales (abs(id - 7));
    CREATE TABLE far_sales (LIKE sales);
    INSERT INTO far_sales SELECT * FROM sales;
    CREATE TABLE far.far_sales AS TABLE sales;
    CREATE TABLE tree (v integer NOT NULL) PARTITION BY RANGE (v);
    CREATE TABLE tree_1 PARTITION OF tree FOR VALUES FROM (0) TO (1000);
    CREATE TABLE tree_2 PARTITION OF tree FOR VALUES FROM (1000) TO (9000);
    INSERT INTO tree SELECT generate_series(1, 5000);
    CREATE FUNCTION planned() RETURNS integer IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(*) / 500 FROM sales WHERE id > 2500); END $$;
    VACUUM ANALYZE});
  unlike($made, qr/ERROR|FATAL/, "$name: tables are made");
  for my $asked (@asked) {
    my ($rc, $out, $err) = $node->psql('postgres', $asked);
    unlike($err, qr/FATAL|ERROR|server closed/, "$name: $asked");
  }
  $advice{$name} = $node->safe_psql('postgres', q{SELECT string_agg(coalesce(call, note), E'\n' ORDER BY rank, note) FROM kde_advise(ARRAY['select region, sum(price) from sales where id > 5 group by region',
    'select sum(price) from sales', 'select count(*) from tree where v > 7'])});
  $node->stop;
}
is(scalar(keys(%{{map { $_ => 1 } values %advice}})), 1, 'advice is the same') or diag(explain(\%advice));
like((values %advice)[0], qr/kde_fit/, 'and there is some');

done_testing();
