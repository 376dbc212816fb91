# Shards: partitions that are foreign tables on three other servers. Each aggregates its own rows, what
# travels is one density a shard, and rolled up they answer as a density of all rows does.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $shards = 3;
my $rows = 30_000;  # of a shard: more values than a summary has cells

my $coordinator = PostgreSQL::Test::Cluster->new('coordinator');
$coordinator->init;
$coordinator->start;
$coordinator->safe_psql('postgres', q{
  CREATE EXTENSION kde_aqp;
  CREATE EXTENSION postgres_fdw;
  CREATE TABLE t (shard integer NOT NULL, v double precision, price numeric(10,2), at timestamptz)
    PARTITION BY LIST (shard);
});
install_miss($coordinator);

my @nodes;
for my $shard (1 .. $shards) {
  my $node = PostgreSQL::Test::Cluster->new("shard$shard");
  $node->init;
  $node->start;
  # Each shard has its own range of values, and NULLs.
  $node->safe_psql('postgres', qq{
    CREATE EXTENSION kde_aqp;
    CREATE TABLE t (shard integer NOT NULL, v double precision, price numeric(10,2), at timestamptz);
    INSERT INTO t SELECT $shard, exp(hashint4(i * $shards + $shard) / 1e9) * $shard,
        CASE WHEN i % 100 > 0 THEN (i % (200 * $shard)) / 4.0 END,
        '2026-01-01 00:00+00'::timestamptz + ($shard + i % 97) * interval '1 h'
      FROM generate_series(1, $rows) AS i;
    ANALYZE t;
  });
  my ($host, $port) = ($node->host, $node->port);
  $coordinator->safe_psql('postgres', qq{
    CREATE SERVER s$shard FOREIGN DATA WRAPPER postgres_fdw
      OPTIONS (host '$host', port '$port', dbname 'postgres', extensions 'kde_aqp', use_remote_estimate 'true');
    CREATE USER MAPPING FOR CURRENT_USER SERVER s$shard;
    CREATE FOREIGN TABLE t$shard PARTITION OF t FOR VALUES IN ($shard) SERVER s$shard OPTIONS (table_name 't');
  });
  push @nodes, $node;
}
$coordinator->safe_psql('postgres', q{
  CREATE TABLE here (LIKE t);
  INSERT INTO here SELECT * FROM t;
});

my $session = open_session($coordinator, 'postgres', 'SET enable_partitionwise_aggregate = on',
  'SET client_min_messages = warning');
my $rolled = q{(SELECT rollup(d) FROM (SELECT shard, kde_agg(%s) AS d FROM t GROUP BY shard) AS s)};

# Which server does what.
my $plan = ask($session, 'EXPLAIN (VERBOSE, COSTS off) SELECT ' . sprintf($rolled, 'v'));
my @remote = $plan =~ /Remote SQL: (.*)/g;
is(scalar @remote, $shards, 'one query a shard');
is(scalar(grep { /^SELECT shard, public\.kde_agg\(v\) FROM public\.t GROUP BY/ } @remote), $shards,
  'which aggregates there') or diag($plan);

my @columns = ([ v => 'approximately' ], [ price => 'exactly' ], [ at => 'exactly' ]);
for (@columns) {
  my ($column, $how) = @$_;
  ask($session, 'DROP TABLE IF EXISTS both_ways; CREATE TABLE both_ways AS SELECT '
    . sprintf($rolled, $column) . " AS shards, (SELECT kde_agg($column) FROM here) AS here");
  my $all = $shards * $rows;
  is(ask($session, q{SELECT s.rows + s.nulls = } . $all . q{
       AND (s.value_type, s.rows, s.nulls, s.lower, s.upper) = (h.value_type, h.rows, h.nulls, h.lower, h.upper)
       AND abs(s.mean - h.mean) <= 1e-12 * abs(h.mean) AND abs(s.stddev - h.stddev) <= 1e-9 * h.stddev
     FROM both_ways, kde_info(shards) AS s, kde_info(here) AS h}), 't', "$column: the same totals");
  for my $where ('shards', 'here') {
    is(ask($session, "SELECT miss($where, 'here', '$column') <= allowed($where) FROM both_ways"), 't',
      "$column, $where: within the stated error")
      or diag(ask($session, "SELECT miss($where, 'here', '$column'), allowed($where) FROM both_ways"));
    # 16,384 bytes hold some 2,000 cells of at most 8 bytes. Their depth is 1/2,000 of the rows, which
    # the stated error may be several times and is not a hundred.
    is(ask($session, "SELECT representation_error = 0, representation_error < 0.05
         FROM both_ways, kde_info($where)"), $how eq 'exactly' ? 't|t' : 'f|t', "$column, $where: $how");
  }
}

# By a WHERE that goes to the shards, and by one group a shard.
is(ask($session, q{SELECT string_agg(approx_count(d)::text, ' ' ORDER BY shard) FROM
     (SELECT shard, kde_agg(at) AS d FROM t WHERE v < 1 GROUP BY shard) AS s}),
  ask($session, q{SELECT string_agg(n::text, ' ' ORDER BY shard) FROM
     (SELECT shard, count(*) AS n FROM here WHERE v < 1 GROUP BY shard) AS s}), 'under a condition');
# Arguments beside the column travel as well.
is(ask($session, q{SELECT bool_and(i.bytes <= 2000 AND i.method = 'silverman') FROM
     (SELECT shard, kde_agg(v, 'silverman', 1, 2000) AS d FROM t GROUP BY shard) AS s, kde_info(d) AS i}), 't',
  'with a method and a size');

# A density kept for each shard, asked without it.
ask($session, 'CREATE MATERIALIZED VIEW kept AS SELECT shard, kde_agg(price) AS d FROM t GROUP BY shard');
my $exact = ask($session, q{SELECT count(*) FROM here WHERE price BETWEEN 10 AND 60});
$nodes[1]->stop;
is(ask($session, 'SELECT approx_count(rollup(d), 10, 60) FROM kept'), $exact, 'with a shard that is down');
my (undef, $err) = ask($session, 'SELECT ' . sprintf($rolled, 'v'));
like($err, qr/could not connect to server "s2"/, 'which a query of all rows needs');
$session->quit;

$_->stop for $nodes[0], $nodes[2], $coordinator;
done_testing();
