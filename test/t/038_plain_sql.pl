# Plain SQL, on and off. Random queries of a table whose densities are exact: value for value the same, by
# 2,000 of them over types, operators, bounds, NULLs, empty and reversed ranges, groups, buckets, expressions,
# HAVING and LIMIT. Of sampled densities, with 1 % required: at most 1 in 20 of the answers is off by more; and
# intervals of 95 % hold.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('plain_sql');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nkde_aqp.approximate_notice = off\nkde_aqp.sample_blocks = 300\njit = off\nTimeZone = 'Europe/Berlin'\n");
$node->start;
sub sql { return $node->safe_psql('postgres', $_[0]) }

sql(q{
  CREATE EXTENSION kde_aqp;
  CREATE TYPE mood AS ENUM ('low', 'mid', 'high');
  CREATE TABLE g AS
  SELECT (i * 7919 % 100)::smallint AS s, CASE WHEN i % 9 > 0 THEN (i * 7919 % 1000)::integer - 500 END AS i,
    (i * 104729 % 500) * 1000003::bigint AS b, CASE WHEN i % 8 > 0 THEN ((i * 104729 % 900) / 100.0 - 3)::numeric(10,2) END AS n,
    (i * 31 % 640) / 8.0::double precision AS f, date '2026-01-01' + (i * 7919 % 300)::integer AS d,
    timestamp '2026-03-01' + (i * 7919 % 700) * interval '1 hour' AS ts,
    CASE WHEN i % 10 > 0 THEN timestamptz '2026-03-20 00:00+00' + (i * 7919 % 500) * interval '30 minutes' END AS tz,
    time '00:00' + (i * 31 % 96) * interval '15 minutes' AS tm,
    CASE WHEN i % 13 > 0 THEN ('{EU,US,Asia,"a, b",""}'::text[])[1 + i % 5] END AS r, i % 3 = 0 AS k,
    (enum_range(NULL::mood))[1 + i % 3] AS e
  FROM generate_series(1, 6000::bigint) AS i;
  ANALYZE g;
  SELECT kde_fit('g', c, sample_rows => -1, measures => array_remove('{i,n,f,s}'::text[], c)) FROM unnest('{s,i,b,n,f,d,ts,tz,tm}'::text[]) AS c;
  SELECT kde_fit('g', 'd', sample_rows => -1, measures => '{i,n,f}', group_by => 'r'), kde_fit('g', 'ts', sample_rows => -1, measures => '{n}', group_by => 'r, k'),
    kde_fit('g', 'i', sample_rows => -1, measures => '{n,f}', group_by => 'e'), kde_fit('g', 'r', sample_rows => -1, measures => '{n,i}'),
    kde_fit('g', 'e', sample_rows => -1, measures => '{n,f}'), kde_fit('g', 'k', sample_rows => -1, measures => '{i}'), kde_fit('g', 'd', sample_rows => -1, measures => '{n}', filter => 'k'),
    kde_fit('g', ARRAY['i + s'], sample_rows => -1);
  SELECT kde_set_plain_sql(name, true, filter => filter) FROM kde_densities;
  CREATE FUNCTION rows_of(query text) RETURNS text LANGUAGE plpgsql AS $$
  DECLARE out text;
  BEGIN
    EXECUTE 'SELECT string_agg(x, chr(10) ORDER BY x COLLATE "C") FROM (SELECT row_to_json(q)::text AS x FROM (' || query || ') AS q) AS rows' INTO out;
    RETURN out;
  END $$;
  CREATE FUNCTION outcome(wanted text) RETURNS bigint LANGUAGE sql AS $$ SELECT coalesce(sum(statements), 0)::bigint FROM kde_plain_sql WHERE wanted IS NULL OR outcome = wanted $$;
  -- The query, who answered, and where the answers are not the same both of them.
  CREATE FUNCTION compare(query text, OUT whose text, OUT exact text, OUT got text) LANGUAGE plpgsql AS $$
  DECLARE before bigint;
  BEGIN
    SET LOCAL kde_aqp.approximate = off;
    exact := rows_of(query);
    before := outcome('answered by a density');
    SET LOCAL kde_aqp.approximate = 'all';
    got := rows_of(query);
    whose := CASE WHEN outcome('answered by a density') > before THEN 'density' ELSE 'plan' END;
  END $$;
});

srand(11);
sub one { return $_[int rand @_] }
sub chance { return rand() < $_[0] }

# A value of a column, as SQL, often near those that there are; of another type at times.
my %value = (
  s => sub { one(int(rand 110) - 5, int(rand 100) . '.5', int(rand 100) . '::bigint') },
  i => sub { one(int(rand 1100) - 550, '(' . (int(rand 1000) - 500) . '.25)', (int(rand 1000) - 500) . '::smallint') },
  b => sub { (int(rand 520) - 10) . ' * 1000003' . one('', '::bigint', '.0') },
  n => sub { one(sprintf('%.2f', rand(10) - 4), int(rand 10) - 4, sprintf('%.3f', rand(10) - 4)) },
  f => sub { one(int(rand 650) / 8, int rand 80) },
  d => sub { my $day = int(rand 320) - 10; one("date '2026-01-01' + ($day)", sprintf("timestamp '2026-%02d-15 06:00'", 1 + int rand 12), sprintf("'2026-%02d-%02d'", 1 + int rand 12, 1 + int rand 28)) },
  ts => sub { one(sprintf("'2026-03-%02d %02d:00'", 1 + int rand 30, int rand 24), sprintf("date '2026-03-%02d'", 1 + int rand 30)) },
  tz => sub { one(sprintf("'2026-03-%02d %02d:30+00'", 18 + int rand 14, int rand 24), sprintf("date '2026-03-%02d'", 18 + int rand 13)) },
  tm => sub { sprintf("'%02d:%02d'", int rand 24, one(0, 7, 15, 30)) },
  'i + s' => sub { int(rand 1200) - 550 },
  r => sub { one("'EU'", "'US'", "'none'", "'a, b'", "''", q{'EU'::varchar}) }, e => sub { one("'low'", "'high'") }, k => sub { one('true', 'false') });
my %is_word = map { $_ => 1 } qw(r e k);
my %measures = (map { my $c = $_; ($c => [ grep { $_ ne $c } qw(i n f s) ]) } qw(s i b n f d ts tz tm));
my @densities = ((map { { column => $_, measures => $measures{$_} } } qw(s i b n f d ts tz tm)),
  { column => 'd', measures => [qw(i n f)], groups => ['r'] }, { column => 'ts', measures => ['n'], groups => [qw(r k)] },
  { column => 'i', measures => [qw(n f)], groups => ['e'] }, { column => 'd', measures => ['n'], filter => 'k' },
  { column => 'i + s', measures => [] }, { column => 'r', measures => [qw(n i)], groups => ['r'] },
  { column => 'e', measures => [qw(n f)], groups => ['e'] }, { column => 'k', measures => ['i'], groups => ['k'] });
my %group_conditions = (r => [ q{r = 'EU'}, q{r IN ('EU', 'US')}, q{r IS NOT NULL}, q{r > 'B'}, q{r LIKE '%a%'}, q{r IS NULL}, q{lower(r) <> 'eu'} ],
  k => [ 'k', 'NOT k', 'k IS TRUE' ], e => [ q{e = 'low'}, q{e > 'low'}, q{e <> 'mid'} ]);
my %buckets = (
  s => [ 's', 's / 10', 'floor(s / 7.0)' ], i => [ 'i', 'i / 100', 'floor(i / 10.0) * 10', 'i % 7', '-i', '2 * i + 1' ], b => [ 'b / 1000000', q{date_trunc('month', to_timestamp(b))} ],
  n => [ 'n', 'floor(n)', 'trunc(n, 1)', 'round(n * 3)' ], f => [ 'floor(f)', 'floor(f / 10) * 10' ],
  d => [ 'd', q{date_trunc('month', d)}, q{date_trunc('week', d)::date}, q{extract(epoch FROM d)} ],
  ts => [ q{date_trunc('day', ts)}, 'ts::date', q{date_bin('3 hours', ts, '2026-01-01')},
    q{date_trunc('week', ts + interval '1 day') - interval '1 day'}, q{date_trunc('day', ts AT TIME ZONE 'America/New_York')}, q{date_trunc('hour', ts::timestamptz)} ],
  tz => [ q{date_trunc('hour', tz)}, 'tz::date', q{floor(extract(epoch FROM tz) / 7200) * 7200}, 'tz::timestamp',
    q{date_trunc('hour', tz) + interval '30 minutes' * floor(extract(minute FROM tz) / 30)}, q{date_trunc('day', tz + interval '1 day') - interval '1 day'},
    q{date_trunc('hour', tz AT TIME ZONE 'Europe/Paris')}, q{to_timestamp(floor(extract(epoch FROM tz) / 3600) * 3600)} ], tm => ['tm'], 'i + s' => [], r => [], e => [], k => []);
# That are compared, too.
my %functions = (
  s => ['s / 10'], i => [ 'floor(i / 10.0) * 10', 'i * 2 - 1', '1 + i' ], b => ['b / 3'], n => [ 'round(n)', 'trunc(n, 1)' ],
  d => [ q{date_trunc('month', d)}, 'd + 3', q{d - interval '1 day'} ], ts => [ 'ts::date', q{date_trunc('week', ts + interval '1 day') - interval '1 day'}, 'ts::timestamptz' ],
  tz => [ 'tz::date', q{tz AT TIME ZONE 'America/New_York'}, q{date_trunc('day', tz) + interval '1 day'} ]);
my %is_number = map { $_ => 1 } qw(s i b n f), 'i + s';

sub condition {
  my ($column) = @_;
  my $value = $value{$column};
  my $of = $column =~ / / ? "($column)" : $column;
  $of = '(' . one(@{ $functions{$column} }) . ')' if $functions{$column} && chance(0.15);
  return "$of IN (" . join(', ', map { $value->() } 1 .. 1 + int rand 4) . one('', '', ', NULL') . ')' if chance($is_word{$column} ? 0.5 : 0.1);
  my $op = $is_word{$column} ? '=' : one(qw(< <= = >= >));
  return "$of BETWEEN " . $value->() . ' AND ' . $value->() if chance(0.35) && !$is_word{$column};
  return "$of IS NOT NULL" if chance(0.05);
  return "$of $op NULL" if chance(0.02);
  return "NOT $of $op " . $value->() if chance(0.05);
  return $value->() . " $op $of" if chance(0.15);
  return "$of $op (SELECT " . $value->() . ')' if chance(0.05) && $is_number{$column};
  return "$of $op " . $value->();
}

sub query {
  my $density = one(@densities);
  my $column = $density->{column};
  my @of = (@{ $density->{measures} }, $is_number{$column} ? ($column) : ());
  my @select = map { my $a = @of && chance(0.7) ? one('count', 'sum', 'sum', 'avg') . '(' . one(@of) . ')' : 'count(*)';
    one($a, $a, "$a + 1", "coalesce($a, 0)", "round($a * 2) > 10") } 1 .. 1 + int rand 3;
  push @select, one('min', 'max') . "($column)" if chance(0.2) && !$is_word{$column};
  my @where = map { condition($column) } 1 .. int(rand 2.6);
  push @where, $density->{filter} if $density->{filter};
  my @group;
  if ($density->{groups}) {
    @group = @{ $density->{groups} } if chance(0.7);
    push @where, one(@{ $group_conditions{ one(@{ $density->{groups} }) } }) if !@group || chance(0.3);
  }
  push @group, one(@{ $buckets{$column} }) if @{ $buckets{$column} } && chance(0.25);
  my @columns = (@group, @select);
  my $query = 'SELECT ' . join(', ', map { "$columns[$_] AS c$_" } 0 .. $#columns) . ' FROM g';
  $query .= ' WHERE ' . join(' AND ', map { /^NOT|BETWEEN/ ? "($_)" : $_ } @where) if @where;
  $query .= ' GROUP BY ' . join(', ', @group) if @group;
  $query .= ' HAVING count(*) > ' . int(rand 30) if @group && chance(0.2);
  $query .= ' ORDER BY ' . join(', ', 1 .. @columns) . ' LIMIT ' . (1 + int rand 5) if @group && chance(0.2);
  return $query;
}

sub quote { my $x = shift; $x =~ s/'/''/g; return "'$x'" }

my @queries = map { query() } 1 .. 2000;
my $session = open_session($node, 'postgres');
my %by;
my @different;
while (my @some = splice @queries, 0, 100) {
  my ($out, $err) = ask($session, "COPY (SELECT whose, exact IS DISTINCT FROM got, query, exact, got FROM unnest(ARRAY[" . join(', ', map { quote($_) } @some)
    . "]) AS query, LATERAL compare(query)) TO STDOUT");
  is($err, '', 'queries that run') or last;
  for (split /\n/, $out) {
    my ($by, $differs, @rest) = split /\t/;
    ++$by{$by};
    push @different, "@rest" if $differs eq 't';
  }
}
is(scalar @different, 0, '2,000 queries answer on as they do off') or diag(join "\n", @different[0 .. ($#different < 9 ? $#different : 9)]);
diag "2,000 queries: by densities $by{density}, by the plan $by{plan}";
cmp_ok($by{density}, '>', 1000, 'most of them by densities');

# ------------------------------------------------------------------------------- a session of its own
# Nothing has loaded the library there.
my $question = q{EXPLAIN (COSTS OFF) SELECT count(*) FROM g WHERE i < 100};
unlike(sql("SET kde_aqp.approximate = top; $question"), qr/KdeAqp/, 'SET alone is of an option that nobody knows');
like(sql("SELECT kde_approximate(); $question"), qr/^top\nCustom Scan \(KdeAqp\)/, 'kde_approximate() loads the library');
like(($node->psql('postgres', q{SELECT kde_approximate('now')}))[2],
  qr/invalid value for parameter "kde_aqp.approximate": "now"/, 'by one of the words that it has');

# ------------------------------------------------------------------------------- sampled densities
sql(q{
  SELECT setseed(0.3);
  CREATE TABLE w AS SELECT random() * 1000 AS mixed, exp(2 + random() * 3) AS tail, (i / 700) % 97 + random() AS runs, (10 + 5 * random())::numeric(8,2) AS y
  FROM generate_series(1, 80000) AS i;
  ANALYZE w;
  SELECT kde_fit('w', c, seed => 3, measures => '{y}') FROM unnest('{mixed,tail,runs}'::text[]) AS c;
  SELECT kde_set_plain_sql(name, true) FROM kde_densities_full WHERE relation = 'w'::regclass;
  CREATE FUNCTION error(query text, OUT answered boolean, OUT error double precision) LANGUAGE plpgsql AS $$
  DECLARE
    before bigint; exact double precision; got double precision;
  BEGIN
    SET LOCAL kde_aqp.approximate = off;
    EXECUTE query INTO exact;
    before := outcome('answered by a density');
    SET LOCAL kde_aqp.approximate = 'all';
    EXECUTE query INTO got;
    answered := outcome('answered by a density') > before;
    error := abs(got - exact) / nullif(abs(exact), 0);
  END $$;
});
my %greatest = (mixed => 1000, tail => 150, runs => 98);
# The aggregate, and the rest of a query that it stands in.
sub question {
  my $c = one(sort keys %greatest);
  my ($low, $high) = sort { $a <=> $b } map { sprintf '%.3f', rand $greatest{$c} } 1, 2;
  return (one('count(*)', "sum($c)", "avg($c)", 'sum(y)', 'avg(y)'), "FROM w WHERE " . one("$c BETWEEN $low AND $high", "$c < $high", "$c >= $low"));
}
@queries = map { 'SELECT ' . join(' ', question()) } 1 .. 1000;
my ($answered, $off) = split /\|/, $node->safe_psql('postgres', 'SELECT count(*) FILTER (WHERE answered), count(*) FILTER (WHERE answered AND error > 0.01) FROM unnest(ARRAY['
  . join(', ', map { quote($_) } @queries) . ']) AS query, LATERAL error(query)');
diag "$answered of 1,000 answered within 1 %, $off of them off by more";
cmp_ok($answered, '>', 100, 'some are answered');
cmp_ok($off, '<=', $answered / 20, 'and 1 in 20 at most is off by more');

# Of 25 samples, 40 queries each, whatever their accuracy. Queries of one sample are off together: were they so
# entirely, as many as 1,000 draws would be 25, of which 95 % less three standard errors are 82 %; some ten of
# each are not, and of 250 draws it is 91 %.
sql(q{
  SET jit = off;
  CREATE FUNCTION held(aggregate text, rest text, OUT answered boolean, OUT held boolean, OUT error double precision) LANGUAGE plpgsql AS $$
  DECLARE
    before bigint; exact numeric; lower numeric; got numeric; upper numeric;
  BEGIN
    SET LOCAL kde_aqp.approximate = off;
    EXECUTE format('SELECT %s %s', aggregate, rest) INTO exact;
    before := outcome('answered by a density');
    SET LOCAL kde_aqp.approximate = 'all';
    SET LOCAL kde_aqp.approximate_error = 1;
    EXECUTE format('SELECT approx_lower(%1$s), %1$s, approx_upper(%1$s) %2$s', aggregate, rest) INTO lower, got, upper;
    answered := outcome('answered by a density') > before;
    held := exact BETWEEN lower AND upper;
    error := (upper - lower) / 2 / nullif(abs(got), 0);
  END $$});
my @told;
for my $seed (1 .. 25) {
  my $questions = join ', ', map { my ($aggregate, $rest) = question(); '(' . quote($aggregate) . ', ' . quote($rest) . ')' } 1 .. 40;
  sql("SELECT kde_fit('w', c, seed => $seed, measures => '{y}') FROM unnest('{mixed,tail,runs}'::text[]) AS c");
  push @told, map { [ split /\|/ ] } split /\n/, sql("SELECT h.held, h.error FROM (VALUES $questions) AS q (a, r), LATERAL held(a, r) AS h WHERE answered");
}
my $holding = 100 * (grep { $_->[0] eq 't' } @told) / (@told || 1);
diag sprintf '%d of 1,000 answered within 100 %%; %.1f %% of the intervals hold', scalar @told, $holding;
diag 'answered by the accuracy required: ' . join ', ', map { my $e = $_; 100 * $e . ' %: ' . grep { $_->[1] <= $e } @told } 0.001, 0.003, 0.01, 0.03, 0.1;
cmp_ok(scalar @told, '>', 800, 'most are answered');
cmp_ok($holding, '>=', 91, 'intervals of 95 % hold');

# ----------------------------------------------------------------------- a database without the extension
sql('CREATE DATABASE bare');
is($node->safe_psql('bare', q{CREATE TABLE t AS SELECT i AS x FROM generate_series(1, 100) AS i;
  LOAD 'kde_aqp'; SET kde_aqp.approximate = top; SELECT count(*), sum(x) FROM t WHERE x < 11; SELECT count(*) FROM t WHERE x < 11}),
  "10|55\n10", 'is as it is');
$session->quit;

# -------------------------------------------------------------- beside what looks at queries and plans
# Loaded before and after the extension, whose hooks call the next ones. Where contrib is not installed there are none.
my ($libraries) = run_command([ 'pg_config', '--pkglibdir' ]);
SKIP: {
skip "auto_explain and pg_stat_statements are not in $libraries", 8 if grep { !-e "$libraries/$_.so" } qw(auto_explain pg_stat_statements);
for my $order ('auto_explain,pg_stat_statements,kde_aqp', 'kde_aqp,pg_stat_statements,auto_explain') {
  $node->append_conf('postgresql.conf', "shared_preload_libraries = '$order'\nauto_explain.log_min_duration = 0\nauto_explain.log_analyze = on\n"
    . "auto_explain.log_verbose = on\nauto_explain.log_nested_statements = on\nauto_explain.log_triggers = on\npg_stat_statements.track = all\n");
  $node->restart;
  sql('CREATE EXTENSION IF NOT EXISTS pg_stat_statements; SELECT pg_stat_statements_reset()');
  my $from = -s $node->logfile;
  my $answers = sql(q{SET kde_aqp.approximate = 'all'; SELECT count(*) FROM g WHERE i < 100; SELECT (compare('SELECT r, count(*), sum(n) FROM g WHERE d < ''2026-05-01'' GROUP BY r')).whose;
    PREPARE p (integer) AS SELECT count(*) FROM g WHERE i < $1; SET plan_cache_mode = force_generic_plan; EXECUTE p (100); SELECT outcome('answered by a density')});
  like($answers, qr/^(\d+)\ndensity\n\1\n3$/, "densities answer beside $order");
  is((split /\n/, $answers)[0], sql('SELECT count(*) FROM g WHERE i < 100'), 'as the plan does');
  my $log = substr(slurp_file($node->logfile), $from);
  my @plans = $log =~ /(Custom Scan \(KdeAqp\)[^\n]*\n(?:\t[^\n]*\n)+)/g;
  is(scalar(grep { /Answered: by the density/ && /never executed/ } @plans), 3, 'auto_explain shows the node, and that the plan below did not run');
  is(sql(q{SELECT sum(calls) || ' ' || sum(rows) FROM pg_stat_statements WHERE query LIKE 'SELECT count(*) FROM g WHERE i <%' OR query LIKE 'PREPARE p%'}), '3 3',
    'pg_stat_statements counts calls and rows');
}
}
$node->stop;
done_testing();
