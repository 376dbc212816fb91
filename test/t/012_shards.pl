# Shards: partitions that are foreign tables on three other servers. Each aggregates its own rows, what
# travels is one density a shard, and rolled up they answer as a density of all rows does. A fit of them
# reads some of their blocks where they lie, as of tables here. And what becomes of either where a server
# hangs, is down or lacks the extension.
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
# Every form, whatever its arguments: few values, of which the same rows in the same order make the same density.
ask($session, 'PREPARE by_method(text) AS SELECT shard, kde_agg(price, $1, shard) AS d FROM t GROUP BY shard');
my @forms = (
  [ q{price, 'plugin'}, q{price, 'plugin'::kde_aqp.method} ],
  [ q{price, 'plugin'::text}, q{price, 'plugin'::kde_aqp.method} ],
  [ q{price, 'auto', shard}, q{price, 'auto'::kde_aqp.method, shard} ],
  [ q{price, 'silverman', 1, 2000}, q{price, 'silverman'::kde_aqp.method, 1::double precision, 2000} ],
  [ 'price, v', 'price, v' ],
  [ 'at, price', 'at, price' ],
);
for (@forms) {
  my ($form, $remote) = @$_;
  my $groups = "SELECT shard, kde_agg($form) AS d FROM %s GROUP BY shard";
  $plan = ask($session, 'EXPLAIN (VERBOSE, COSTS off) ' . sprintf $groups, 't');
  is(scalar(() = $plan =~ /Remote SQL: SELECT shard, public\.kde_agg\(\Q$remote\E\) FROM public\.t GROUP BY/g), $shards,
    "kde_agg($form) is computed there") or diag($plan);
  is(ask($session, sprintf("SELECT count(*) FROM ($groups) AS s JOIN ($groups) AS h USING (shard) WHERE s.d = h.d", 't', 'here')),
    $shards, "kde_agg($form): the same densities");
}
ask($session, 'SET plan_cache_mode = force_generic_plan');
$plan = ask($session, q{EXPLAIN (VERBOSE, COSTS off) EXECUTE by_method('scott')});
is(scalar(() = $plan =~ /Remote SQL: SELECT shard, public\.kde_agg\(price, \$1::text, shard\) FROM/g), $shards, 'with a parameter')
  or diag($plan);
# And rollup, of densities that lie there.
for my $shard (1 .. $shards) {
  $nodes[$shard - 1]->safe_psql('postgres', 'CREATE TABLE kept AS SELECT shard, kde_agg(price) AS d FROM t GROUP BY shard, v < 1');
  ask($session, qq{CREATE FOREIGN TABLE kept$shard (shard integer, d kde) SERVER s$shard OPTIONS (table_name 'kept')});
}
like(ask($session, 'EXPLAIN (VERBOSE, COSTS off) SELECT rollup(d), rollup(d, 4096) FROM kept2'),
  qr/Remote SQL: SELECT public\.rollup\(d\), public\.rollup\(d, 4096\) FROM public\.kept$/m, 'rollup is computed there');
is(ask($session, 'SELECT approx_count(rollup(d), 10, 60) FROM kept2'),
  ask($session, 'SELECT count(*) FROM here WHERE shard = 2 AND price BETWEEN 10 AND 60'), 'and right');
# All servers at a time.
ask($session, "ALTER SERVER s$_ OPTIONS (ADD async_capable 'true')") for 1 .. $shards;
is(scalar(() = ask($session, 'EXPLAIN SELECT ' . sprintf($rolled, 'price')) =~ /Async Foreign Scan/g), $shards, 'side by side');
is(ask($session, 'SELECT approx_count(' . sprintf($rolled, 'price') . ', 10, 60)'),
  ask($session, 'SELECT count(*) FROM here WHERE price BETWEEN 10 AND 60'), 'with the same answer');

# ------------------------------------------------------------------------------------------ fits
# Tables with the same rows in the same blocks there and here, some of them empty: the same seed draws the
# same blocks of both, so that what is fitted is the same to the last byte.
my $fitted_rows = 200_000;  # of a shard, in some 1,200 blocks
my $columns = 'shard integer, v double precision, k integer, word text';
sub fill {
  my ($table, $shard) = @_;
  return qq{INSERT INTO $table SELECT $shard, exp(hashint4(i * $shards + $shard) / 1e9) * $shard,
      CASE WHEN i % 50 > 0 THEN hashint4(i) % 100 END, 'w' || abs(hashint4(i)) % 7 * $shard FROM generate_series(1, $fitted_rows) AS i;
    DELETE FROM $table WHERE ctid >= '(300,0)' AND ctid < '(500,0)' AND shard = 2;};
}
ask($session, "CREATE TABLE f ($columns) PARTITION BY LIST (shard); CREATE TABLE f_here ($columns) PARTITION BY LIST (shard)");
for my $shard (1 .. $shards) {
  $nodes[$shard - 1]->safe_psql('postgres', "CREATE TABLE f ($columns); " . fill('f', $shard));
  ask($session, qq{CREATE FOREIGN TABLE f$shard PARTITION OF f FOR VALUES IN ($shard) SERVER s$shard OPTIONS (table_name 'f');
    CREATE TABLE f_here$shard PARTITION OF f_here FOR VALUES IN ($shard)});
  ask($session, fill("f_here$shard", $shard));
}
my ($there, $here) = (600, 60);  # kde_aqp.sample_blocks: a tenth where they travel
my $stored = ask($session, 'SELECT count(*) FROM f_here');

# Rows of `f` that the shards have read since this was last asked, once their sessions have ended.
my $read_before = 0;
sub rows_read_there {
  ask($session, 'SELECT postgres_fdw_disconnect_all()');
  my $sum = 0;
  for my $node (@nodes) {
    $node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'postgres_fdw'})
      or die 'a session on a shard goes on';
    $sum += $node->safe_psql('postgres', q{SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname = 'f'});
  }
  (my $since, $read_before) = ($sum - $read_before, $sum);
  return $since;
}
rows_read_there();
ask($session, "SET kde_aqp.sample_blocks = $there");
my $rows_read = ask($session, q{SELECT rows_read FROM kde_fit('f', 'v', seed => 1)});
cmp_ok($rows_read, '<=', 0.02 * $stored, 'a fit reads at most 2 % of the rows');
is(rows_read_there(), $rows_read, 'and the servers no others');
like(ask($session, q{SELECT expected_error FROM kde_fit('f', 'v', seed => 1)}), qr/^[0-9.]+ %$/, 'it says what to expect');

# What changes there nothing tells, one's own rows included: nobody says that it is fresh.
is(ask($session, q{BEGIN; INSERT INTO f SELECT * FROM f1 LIMIT 3;
     SELECT DISTINCT action, reason, changed_rows FROM kde_refresh('f'); SELECT DISTINCT state FROM kde_densities WHERE name = 'f.v'; ROLLBACK}),
  "unknown|changes unknown: rows of foreign tables are another server's|\nchanges unknown", 'a refresh does not guess');

my @fits = (
  [ 'a column', q{'%s', 'v'} ],
  [ 'another seed', q{'%s', 'v'}, 2 ],
  [ 'a filter', q{'%s', 'v', filter => 'k < 50'} ],
  [ 'a filter that is computed here', q{'%s', 'v', filter => 'k % 3 = 1 OR reverse(word) < ''3'''} ],
  [ 'several columns', q{'%s', ARRAY['v', 'k', 'word']} ],
  [ 'a measure', q{'%s', 'v', measures => ARRAY['k']} ],
  [ 'groups', q{'%s', 'v', group_by => 'word'} ],
  [ 'words', q{'%s', 'word'} ],
  [ 'an expression', q{'%s', ARRAY['v + k']} ],
  [ 'a sample of rows', q{'%s', 'v', sample_rows => 2000} ],
);
for (@fits) {
  my ($what, $arguments, $seed) = (@$_, 1);
  my %made;
  for ([ f => $there ], [ f_here => $here ]) {
    my ($table, $blocks) = @$_;
    my $of = qq{relation = '$table'::regclass};
    ask($session, "SELECT count(kde_drop(name, filter => filter)) FROM kde_densities_full WHERE $of");
    ask($session, "SET kde_aqp.sample_blocks = $blocks");
    ask($session, 'SELECT kde_fit(' . sprintf($arguments =~ s/%(?!s)/%%/gr, $table) . ", seed => $seed)");
    $made{$table} = ask($session, "SELECT density, rows_read, design_effect FROM kde_aqp.fitted WHERE $of ORDER BY column_names, groups");
  }
  ok($made{f} ne '' && $made{f} eq $made{f_here}, "$what: as of tables here") or diag(join "\n", map { substr $_, 0, 1000 } values %made);
}
# Some leaves here and some there.
ask($session, 'ALTER TABLE f DETACH PARTITION f1; CREATE TABLE f1_here PARTITION OF f FOR VALUES IN (1)');
ask($session, fill('f1_here', 1));
ask($session, "SET kde_aqp.sample_blocks = $there");
$rows_read = ask($session, q{SELECT rows_read FROM kde_fit('f', 'v', seed => 3)});
cmp_ok($rows_read, '<=', 0.02 * $stored, 'leaves here and there');
my $beside = q{SELECT count(*) FROM generate_series(1, 20) AS x, approx_count_ci('f.v', NULL, x::float8 / 2, confidence => 0.9999) AS a
  WHERE (SELECT count(*) FROM f_here WHERE v <= x::float8 / 2) NOT BETWEEN a.lower_bound AND a.upper_bound};
is(ask($session, $beside), '0', 'counts are within their intervals');

# What can be read by block, and what is read whole.
$nodes[0]->safe_psql('postgres', q{
  CREATE TABLE parent AS SELECT i::float8 AS v FROM generate_series(1, 5000) AS i;
  CREATE TABLE child () INHERITS (parent);
  INSERT INTO child SELECT i FROM generate_series(1, 200000) AS i;
  CREATE VIEW seen AS SELECT * FROM parent;
  CREATE TABLE parted (v float8) PARTITION BY LIST (v);
  CREATE TABLE part PARTITION OF parted DEFAULT;
  INSERT INTO parted SELECT * FROM parent;});
my $file = $coordinator->basedir . '/rows.csv';
ask($session, qq{CREATE FOREIGN TABLE $_ (v float8) SERVER s1}) for 'parent', 'seen', 'parted';
ask($session, qq{COPY (SELECT v FROM parent) TO '$file'; CREATE EXTENSION file_fdw; CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
  CREATE FOREIGN TABLE file (v float8) SERVER files OPTIONS (filename '$file')});
for ([ parent => 'a tree there', 0 ], [ seen => 'a view there', 1 ], [ parted => 'partitions there', 1 ], [ file => 'another wrapper', 1 ]) {
  my ($table, $what, $whole) = @$_;
  my ($read, $estimated) = split /\|/, ask($session, "SELECT rows_read, rows FROM kde_fit('$table', 'v', seed => 1)");
  cmp_ok($read, $whole ? '==' : '<', $whole ? 205_000 : 20_000, "$what: rows read");
  # 22 of 885 blocks hold up to twice as many rows as others; of 60 stretches at most 2 draw one of them more or less.
  cmp_ok(abs($estimated - 205_000), '<=', $whole ? 0 : 2 / 60 * 205_000, "$what: rows");
}

# ------------------------------------------------------------------------------ servers in trouble
my $before = fingerprint($coordinator);
my $answer = ask($session, q{SELECT approx_count('f.v', 1, 2)});
sub nothing_is_lost {
  my ($what) = @_;
  is(fingerprint($coordinator), $before, "$what: what was fitted stays");
  is(ask($session, q{SELECT approx_count('f.v', 1, 2)}), $answer, "$what: and answers");
}
# One that hangs, as its table is locked.
my $locker = open_session($nodes[2]);
ask($locker, 'BEGIN; LOCK TABLE f');
my $waits = q{SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'postgres_fdw' AND wait_event_type = 'Lock'};
for ([ 'a timeout', undef, qr/canceling statement due to statement timeout/ ],
  [ 'a cancel', sub { $coordinator->safe_psql('postgres', "SELECT pg_cancel_backend($_[0])") }, qr/canceling statement due to user request/ ],
  [ 'a connection lost', sub { $nodes[2]->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'postgres_fdw'}) },
    qr/terminating connection due to administrator command/ ]) {
  my ($what, $stop, $error) = @$_;
  my $pid = backend_pid($session);
  ask($session, q{SET statement_timeout = '1s'}) if !defined $stop;
  send_sql($session, q{SELECT kde_fit('f', 'v')});
  ok($nodes[2]->poll_query_until('postgres', $waits), "$what: it hangs") && $stop->($pid) if defined $stop;
  my (undef, $err) = end_sql($session);
  like($err, $error, $what);
  ask($session, 'RESET statement_timeout');
  nothing_is_lost($what);
}
ask($locker, 'COMMIT');
$locker->quit;

# One without the extension. A fit asks nothing of it, an aggregate says what is missing.
$nodes[2]->safe_psql('postgres', 'DROP EXTENSION kde_aqp CASCADE');
is(ask($session, q{SELECT count(*) FROM kde_fit('f', 'v', seed => 3)}), '1', 'no extension: a fit');
is(ask($session, q{SELECT approx_count('f.v', 1, 2)}), $answer, 'no extension: the same fit');
my (undef, $err) = ask($session, 'SELECT ' . sprintf($rolled, 'price'));
like($err, qr/function public\.kde_agg\(numeric\) does not exist.*CONTEXT:  remote SQL command: /s, 'no extension: kde_agg');
$nodes[2]->safe_psql('postgres', 'CREATE EXTENSION kde_aqp');
$before = fingerprint($coordinator);

# A density kept for each shard, asked without it.
ask($session, 'CREATE MATERIALIZED VIEW kept AS SELECT shard, kde_agg(price) AS d FROM t GROUP BY shard');
my $exact = ask($session, q{SELECT count(*) FROM here WHERE price BETWEEN 10 AND 60});
$nodes[1]->stop;
is(ask($session, 'SELECT approx_count(rollup(d), 10, 60) FROM kept'), $exact, 'with a shard that is down');
(undef, $err) = ask($session, 'SELECT ' . sprintf($rolled, 'v'));
like($err, qr/could not connect to server "s2"/, 'which a query of all rows needs');
(undef, $err) = ask($session, q{SELECT kde_fit('f', 'v')});
like($err, qr/could not connect to server "s2".*CONTEXT:  fitting a density to column "v" of "public.f" \(scanning\)/s, 'and a fit');
nothing_is_lost('a shard that is down');
$session->quit;

$_->stop for $nodes[0], $nodes[2], $coordinator;
done_testing();
