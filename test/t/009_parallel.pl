# Answers in parallel workers equal those of the leader.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('parallel');
$node->init;
# Workers do all the work where they can, so that the answers are theirs.
$node->append_conf('postgresql.conf', q{
parallel_setup_cost = 0
parallel_tuple_cost = 0
min_parallel_table_scan_size = 0
parallel_leader_participation = off
max_worker_processes = 16
});
$node->start;
$node->safe_psql('postgres', q{
  CREATE EXTENSION kde_aqp;
  CREATE TABLE t AS SELECT exp(hashint4(i) / 1e9) AS v,
    '2026-01-01'::timestamptz + i * interval '1 min' AS at FROM generate_series(1, 20000) AS i;
  CREATE TABLE bounds AS SELECT i / 500.0 AS low, i / 250.0 AS high,
    '2026-01-01'::timestamptz + i * interval '3 min' AS since FROM generate_series(1, 5000) AS i;
  ANALYZE bounds;
  SELECT kde_fit('t', 'v', seed => 1), kde_fit('t', 'at', seed => 1);
  CREATE TABLE kept AS SELECT kde_density('t.v') AS d;
});

my %forms = (
  'by text' => q{approx_count('t.v', low, high)},
  'by regclass' => q{approx_sum('t.v', low, high)},
  'average' => q{approx_avg('t.v', low, high)},
  'variance' => q{approx_variance('t.v', low, high)},
  'range' => q{approx_count('t.v', numrange(low, high, '(]'))},
  'text bounds' => q{approx_count('t.v', low::text, NULL)},
  'timestamps' => q{approx_count('t.at', since, NULL)},
  'quantile' => q{approx_quantile_as('t.at', (low / 10)::float8, NULL::timestamptz)},
  'interval' => q{approx_count_ci('t.v', low, high)},
  'accurate enough' => q{approx_avg('t.v', low, high + 1, max_relative_error => 10, otherwise => 'null')},
  # The query for the exact answer runs in the worker.
  'exact' => q{CASE WHEN low < 0.1 THEN approx_sum('t.v', low, high, max_relative_error => 0, otherwise => 'exact') END},
  'value' => q{approx_count((SELECT d FROM kept), low, high)},
  'density' => q{kde_pdf('t.v', low)},
  'distribution' => q{kde_cdf('t.v', high)},
);
my $session = open_session($node);
for my $what (sort keys %forms) {
  my $sql = "SELECT low, ($forms{$what})::text AS answer FROM bounds WHERE ($forms{$what}) IS NOT NULL";
  ask($session, 'SET max_parallel_workers_per_gather = 0');
  my $serial = ask($session, "SELECT count(*) || ' ' || md5(string_agg(answer, ' ' ORDER BY low)) FROM ($sql) AS s");
  ask($session, 'SET max_parallel_workers_per_gather = 2');
  my $parallel = "SELECT count(*) || ' ' || md5(string_agg(answer, ' ' ORDER BY low)) FROM ($sql OFFSET 0) AS s";
  is(ask($session, $parallel), $serial, "$what: the same in parallel workers");
  like(ask($session, "EXPLAIN (ANALYZE, COSTS off, TIMING off) $parallel"),
    qr/Workers Launched: [1-9].*Parallel Seq Scan on bounds.*Filter: /s, "$what: which did the work");
}

# Workers see what their leader's transaction has done, and only that.
my $sum = q{SELECT count(*) FILTER (WHERE answer = '1000'), count(DISTINCT answer) FROM
  (SELECT approx_count('t.v', NULL, low + 1e9)::text AS answer FROM bounds
   WHERE approx_count('t.v', NULL, low + 1e9) > 0 OFFSET 0) AS s};
is(ask($session, $sum), '0|1', 'before a refit');
ask($session, 'BEGIN');
ask($session, 'DELETE FROM t WHERE ctid NOT IN (SELECT ctid FROM t LIMIT 1000)');
is(ask($session, q{SELECT rows FROM kde_fit('t', 'v', seed => 1)}), '1000', 'a refit');
like(ask($session, "EXPLAIN (ANALYZE, COSTS off, TIMING off) $sum"), qr/Workers Launched: [1-9]/,
  'workers in the same transaction');
is(ask($session, $sum), '5000|1', "see their leader's refit");
ask($session, 'ROLLBACK');
is(ask($session, $sum), '0|1', 'and not once it is rolled back');

# What may not run in a worker does not: a fit in a parallel plan forced on everything.
my $force = $node->pg_version >= 16 ? 'debug_parallel_query' : 'force_parallel_mode';
ask($session, "SET $force = on");
is((ask($session, q{SELECT rows FROM kde_fit('t', 'v', seed => 1)}))[0], '20000', 'a fit stays with the leader');
is(ask($session, q{SELECT approx_count('t.v')}), '20000', 'answers under a forced parallel mode');
is(ask($session, q{SELECT count(*) FROM kde_densities_full}), '2', 'and the list of densities');
is(ask($session, q{SELECT count(*) FROM kde_devices() WHERE device = 'cpu'}), '1', 'and of devices');
ask($session, "SET $force = off");
$session->quit;

# An error of a worker's has the same hint.
for my $forced ('off', 'on') {
  my (undef, undef, $error) = $node->psql('postgres', qq{SET $force = $forced; SELECT kde_density('t', ARRAY['v'], 'v > 3');});
  like($error, qr/no density is fitted for [^\n]*\n.*HINT:  Densities are fitted for t\.v\. Fit one: /s,
    "no density is fitted, parallel mode forced: $forced");
}

# The exact answer cannot be had in a worker from rows in the leader's memory.
my $exact = q{SELECT approx_sum('t.v', 1, 2, max_relative_error => 0, otherwise => 'exact') > 0};
my ($code, $out, $err) = $node->psql('postgres', qq{
  CREATE TEMPORARY TABLE added () INHERITS (t);
  $exact;
  SET $force = on;
  $exact});
is($out, 't', 'the leader reads temporary descendants');
like($err, qr/cannot query temporary table "added" in a parallel worker/, 'and a worker does not');

# A fit of every row reads by parallel workers; what they have done is shown as their leader's, and what
# they made of the rows is within its bound. `wait_here`: a file of the server's, for which the last row
# waits.
$node->safe_psql('postgres', q{
  CREATE TABLE many AS SELECT i, exp(hashint4(i) / 1e9) AS v FROM generate_series(1, 100000) AS i;
  CREATE FUNCTION held(i integer, v double precision) RETURNS double precision
  LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$ BEGIN
    WHILE i = 100000 AND (pg_stat_file('wait_here', true)).size IS NOT NULL LOOP PERFORM pg_sleep(0.01); END LOOP;
    RETURN v; END $$;
});
my $wait_here = $node->data_dir . '/wait_here';
append_to_file($wait_here, '');
my $reader = open_session($node);
my $pid = backend_pid($reader);
send_sql($reader, q{SELECT rows, rows_read FROM kde_fit('many', ARRAY['held(i, v)'], sample_rows => -1, seed => 1)});
# Two workers tell of every 4096 rows.
my $progress = "SELECT unit, done > 100000 - 2 * 4096 AND done <= 100000 FROM kde_progress WHERE pid = $pid";
ok(wait_until(sub { $node->safe_psql('postgres', $progress) eq 'rows|t' }), "the workers' rows are shown as the leader's");
is($node->safe_psql('postgres', "SELECT count(*) > 0 FROM pg_stat_activity WHERE leader_pid = $pid"), 't', 'and there are workers');
unlink $wait_here;
is(scalar end_sql($reader), '100000|100000', 'every row is in the density');
$reader->quit;
is($node->safe_psql('postgres', q{
     SELECT count(*) FROM generate_series(0.2, 6, 0.1) AS x, kde_density('many', ARRAY['held(i, v)']) AS d, kde_info(d)
     WHERE abs(approx_count(d, NULL, x) - (SELECT count(*) FROM many WHERE v <= x)) > representation_error * 100000}),
  '0', 'counts are within its bound');

# In a worker without any look by the leader, with the density read from a fresh cache.
is($node->safe_psql('postgres', q{
     SET max_parallel_workers_per_gather = 2;
     SELECT count(DISTINCT n) FROM (SELECT approx_count('t.v', NULL, low + 1e9) AS n FROM bounds
       WHERE approx_count('t.v', NULL, low + 1e9) > 0 OFFSET 0) AS s}), '1', 'in a new backend');

$node->stop;
done_testing();
