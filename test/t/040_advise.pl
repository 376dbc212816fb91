# kde_advise() of a made-up dashboard workload of 50 statements over three tables, from pg_stat_statements: every
# call it proposes is run, and so is the workload again. What densities then answer is at least 80 % of the time,
# and no fewer statements than were promised. And what must not bring it down, or leave a trace.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('advise');
$node->init;
$node->append_conf('postgresql.conf', <<'CONF');
shared_preload_libraries = 'pg_stat_statements, kde_aqp'
pg_stat_statements.track = all
kde_aqp.approximate_notice = off
jit = off
max_parallel_workers_per_gather = 0
TimeZone = 'UTC'
CONF
$node->start;
sub sql { return $node->safe_psql('postgres', $_[0]) }

my (undef, undef, $missing) = $node->psql('postgres', 'CREATE EXTENSION kde_aqp; SELECT * FROM kde_advise()');
like($missing, qr/pg_stat_statements is not installed.*HINT:.*CREATE EXTENSION pg_stat_statements/s, 'without pg_stat_statements there is a hint');

sql(q{
  CREATE SCHEMA tools;
  CREATE EXTENSION pg_stat_statements SCHEMA tools;
  SELECT setseed(0.5);
  CREATE TABLE orders AS
  SELECT i AS id, date '2023-01-01' + (1090 * sqrt(random()))::integer AS sold_on, (ARRAY['north','south','east','west','web'])[1 + (5 * random()^2)::integer % 5] AS region,
    (ARRAY['shop','phone','online'])[1 + i % 3] AS channel, (40 * random()^2)::integer AS store, CASE WHEN random() < 0.06 THEN 'returned' WHEN random() < 0.1 THEN 'open' ELSE 'paid' END AS status,
    (5 + 300 * random()^3)::numeric(10,2) AS amount, 1 + (9 * random()^2)::integer AS quantity, (20000 * random())::integer AS customer
  FROM generate_series(1, 200000) AS i;
  ALTER TABLE orders ADD PRIMARY KEY (id);
  ALTER TABLE orders ALTER sold_on SET NOT NULL, ALTER region SET NOT NULL, ALTER store SET NOT NULL, ALTER status SET NOT NULL, ALTER channel SET NOT NULL;
  CREATE TABLE events AS
  SELECT i AS id, timestamptz '2025-01-01' + i * interval '3 minutes' + random() * interval '3 minutes' AS at, (ARRAY['view','click','buy','error'])[1 + (4 * random()^2)::integer % 4] AS kind,
    CASE WHEN i % 5 > 0 THEN (ARRAY['phone','tablet','desktop'])[1 + i % 3] END AS device, 20 * exp(random() + random()) AS ms
  FROM generate_series(1, 150000) AS i;
  ALTER TABLE events ADD PRIMARY KEY (id);
  ALTER TABLE events ALTER at SET NOT NULL;
  CREATE TABLE customers AS
  SELECT i AS id, date '2019-01-01' + (2500 * random())::integer AS since, 'C' || (30 * random())::integer AS country, (ARRAY['new','loyal','lost'])[1 + i % 3] AS segment, (1000 * random())::numeric(10,2) AS credit
  FROM generate_series(0, 20000) AS i;
  ALTER TABLE customers ADD PRIMARY KEY (id);
  ALTER TABLE customers ALTER since SET NOT NULL;
  CREATE VIEW orders_2025 AS SELECT * FROM orders WHERE sold_on >= '2025-01-01';
  VACUUM ANALYZE orders, events, customers});

# A dashboard asks the first again and again; an analyst the others, once.
my @dashboard = (
  q{SELECT count(*) FROM orders},
  q{SELECT count(*) FROM orders WHERE sold_on BETWEEN '2025-01-01' AND '2025-03-31'},
  q{SELECT sum(amount), avg(amount) FROM orders WHERE sold_on >= '2025-06-01'},
  q{SELECT sum(amount) FROM orders WHERE sold_on >= date '2025-01-01' AND sold_on < date '2026-01-01'},
  q{SELECT count(*), sum(quantity) FROM orders WHERE sold_on > date '2025-12-26' - 90},
  q{SELECT region, sum(amount) FROM orders WHERE sold_on >= '2025-01-01' GROUP BY region ORDER BY region},
  q{SELECT region, count(*) AS n FROM orders WHERE sold_on BETWEEN '2024-01-01' AND '2024-12-31' GROUP BY 1 ORDER BY n DESC LIMIT 3},
  q{SELECT date_trunc('month', sold_on) AS month, sum(amount) FROM orders GROUP BY date_trunc('month', sold_on) ORDER BY month},
  q{SELECT date_trunc('week', sold_on)::date, count(*) FROM orders WHERE sold_on >= '2025-01-01' GROUP BY 1},
  q{SELECT sold_on, sum(amount), count(*) FROM orders WHERE sold_on >= '2025-10-01' GROUP BY sold_on ORDER BY sold_on},
  q{SELECT date_trunc('month', sold_on), region, sum(amount) FROM orders WHERE sold_on >= '2025-01-01' GROUP BY 1, 2 ORDER BY 1, 2},
  q{SELECT extract(year FROM sold_on) AS year, sum(amount) FROM orders GROUP BY 1 ORDER BY 1},
  q{SELECT region, avg(amount), avg(quantity) FROM orders WHERE sold_on >= '2025-01-01' GROUP BY region HAVING count(*) > 10},
  q{SELECT sum(amount) FROM orders WHERE sold_on >= '2025-01-01' AND region = 'north'},
  q{SELECT count(*) FROM orders WHERE sold_on >= '2025-01-01' AND region IN ('north', 'south')},
  q{SELECT sum(amount) FROM orders WHERE sold_on BETWEEN '2024-06-01' AND '2025-06-01' AND status = 'paid'},
  q{SELECT count(*) FROM orders WHERE sold_on >= '2024-06-01' AND status <> 'returned'},
  q{SELECT status, count(*), sum(amount) FROM orders WHERE sold_on >= '2025-03-01' GROUP BY status},
  q{SELECT store, sum(amount) FROM orders WHERE sold_on >= '2025-01-01' GROUP BY store ORDER BY 2 DESC LIMIT 10},
  q{SELECT sum(amount), count(*) FROM orders WHERE sold_on >= '2025-01-01' AND store = 7},
  q{SELECT count(*) FROM orders WHERE sold_on >= '2025-01-01' AND store BETWEEN 10 AND 20},
  q{SELECT channel, sum(amount) FROM orders WHERE sold_on >= '2025-01-01' GROUP BY channel},
  q{SELECT channel, sum(amount) / count(*) AS mean FROM orders WHERE sold_on >= '2024-01-01' GROUP BY channel ORDER BY mean},
  q{SELECT sum(amount * quantity) FROM orders WHERE sold_on >= '2025-01-01'},
  q{SELECT stddev(amount) FROM orders WHERE sold_on >= '2025-01-01'},
  q{SELECT min(sold_on), max(sold_on), count(*) FROM orders WHERE sold_on >= '2024-01-01'},
  q{SELECT count(*) FROM orders WHERE sold_on = '2025-11-28'},
  q{SELECT count(*) FROM orders WHERE sold_on IN ('2025-12-01', '2025-12-08', '2025-12-15')},
  q{SELECT region, sum(amount) FROM orders_2025 GROUP BY region},
  q{WITH daily AS (SELECT sold_on, sum(amount) AS total FROM orders WHERE sold_on >= '2025-01-01' GROUP BY sold_on) SELECT avg(total), max(total) FROM daily},
  q{SELECT region, sum(amount), sum(sum(amount)) OVER () FROM orders WHERE sold_on >= '2025-07-01' GROUP BY region},
  q{SELECT 'before', sum(amount) FROM orders WHERE sold_on < '2025-01-01' UNION ALL SELECT 'since', sum(amount) FROM orders WHERE sold_on >= '2025-01-01'},
  q{SELECT count(1) FROM orders WHERE sold_on BETWEEN '2025-02-01' AND '2025-02-28'},
  q{SELECT kind, count(*) FROM events GROUP BY kind},
  q{SELECT kind, avg(ms) FROM events GROUP BY kind ORDER BY 2 DESC},
  q{SELECT count(*) FROM events WHERE kind = 'error'},
  q{SELECT device, count(*) FROM events WHERE device IS NOT NULL GROUP BY device},
  q{SELECT count(*) FROM events WHERE at >= '2025-03-01' AND at < '2025-06-01'},
  q{SELECT segment, count(*), sum(credit) FROM customers GROUP BY segment},
  q{SELECT date_trunc('year', since), count(*) FROM customers GROUP BY 1 ORDER BY 1},
  q{SELECT country, count(*) FROM customers GROUP BY country ORDER BY 2 DESC LIMIT 5},
  q{SELECT count(*) FROM customers WHERE since >= '2024-01-01'});
my @analyst = (
  q{SELECT c.segment, sum(o.amount) FROM orders AS o JOIN customers AS c ON c.id = o.customer GROUP BY c.segment},
  q{SELECT count(DISTINCT customer) FROM orders WHERE sold_on >= '2025-01-01'},
  q{SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FROM events},
  q{SELECT customer, sum(amount) FROM orders GROUP BY customer ORDER BY 2 DESC LIMIT 10},
  q{SELECT * FROM orders WHERE id = 4711},
  q{SELECT * FROM orders ORDER BY id DESC LIMIT 10},
  q{SELECT region, sum(amount) FILTER (WHERE status = 'paid') FROM orders GROUP BY region},
  q{SELECT DISTINCT country FROM customers});
is(@dashboard + @analyst, 50, 'fifty statements');
my @workload = (@dashboard, @analyst);

sql('SELECT tools.pg_stat_statements_reset()');
sql(join ";\n", @dashboard) for 1 .. 5;
sql(join ";\n", @analyst);
my $entries = q{SELECT count(*) FROM tools.pg_stat_statements WHERE query ~ '(orders|events|customers)'};
is(sql($entries), 50, 'pg_stat_statements has them all');
sql('CREATE TABLE advice AS SELECT * FROM kde_advise()');
note sql('SELECT * FROM advice');
is(sql($entries), 50, 'and what is planned for it is counted nowhere');
is(sql(q{SELECT count(*) > 0, bool_and(s.query = t.text), bool_and(cardinality(statements) = LEAST(answers, 20)) FROM advice, unnest(statements, queryids) AS t(text, id)
  LEFT JOIN tools.pg_stat_statements AS s ON s.queryid = t.id AND s.dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND s.userid = current_user::regrole}), 't|t|t', 'each row names its statements');
my ($promised, $share) = split /\|/, sql('SELECT sum(answers), max(cumulated) FROM advice WHERE rank IS NOT NULL');
is(sql(q{SELECT string_agg(note, '; ' ORDER BY note) FROM advice WHERE rank IS NULL AND note !~ 'reads no table|little else'}),
  join('; ', 'it has DISTINCT, and neither counts nor adds up', 'it neither counts nor adds up', 'there are more groups than a density has'), 'why others are not answered');

# The time that each takes, as the dashboard asks.
my $ms = sub { my ($time) = sql("EXPLAIN (ANALYZE, TIMING OFF) $_[0]") =~ /Execution Time: ([\d.]+) ms/; return $time };
my @ms = map { my $q = $_; (sort { $a <=> $b } map { $ms->($q) } 1 .. 3)[1] } @workload;
$ms[$_] *= 5 for 0 .. $#dashboard;
my $list = 'ARRAY[' . join(', ', map { s/'/''/gr =~ s/^(.*)$/'$1'/sr } @workload) . ']';
is(sql("SELECT sum(answers) FROM kde_advise($list)"), 50, 'of a list each is told of, too');
cmp_ok(sql("SELECT sum(answers) FROM kde_advise($list) WHERE rank IS NOT NULL"), '>=', $promised, 'and as many are answered, whose constants are known');

# The calls are run as they are.
sql($_) for split /\n/, sql(q{SELECT call FROM advice WHERE call IS NOT NULL ORDER BY rank});
my ($answered, $all, $count) = (0, 0, 0);
for my $i (0 .. $#workload) {
  my $plan = sql("SET kde_aqp.approximate = top; EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $workload[$i]");
  my $is_answered = $plan =~ /Answered: by the density/ && $plan !~ /Answered: by the exact plan/;
  $all += $ms[$i];
  $answered += $ms[$i] if $is_answered;
  $count++ if $is_answered;
  my ($why) = $plan =~ /(Answered: by the exact .*)/;
  note sprintf '%6.1f ms  %s  %s', $ms[$i], $workload[$i], $why // '' if !$is_answered;
}
note sprintf 'answered: %d of %d statements, %.1f %% of the time; promised: %d statements, %.1f %%', $count, scalar @workload, 100 * $answered / $all, $promised, 100 * $share;
cmp_ok($answered / $all, '>=', 0.8, 'densities answer at least 80 % of the time');
cmp_ok($count, '>=', $promised, 'and no fewer statements than promised');
like(sql("SELECT note FROM kde_advise($list) WHERE answers >= $promised"), qr/^a density answers it already$/, 'which is known then');
is(sql("SELECT count(*) FROM kde_advise($list) AS a, advice AS b WHERE a.call = b.call"), 0, 'and no call is proposed again');
sql(q{SELECT kde_set_plain_sql(name, false) FROM kde_densities});
is(sql("SELECT bool_and(call !~ 'kde_fit' AND fit_ms IS NULL) FROM kde_advise($list) WHERE note ~ 'not allowed'"), 't', 'densities that there are need the consent alone');
sql(q{SELECT kde_set_plain_sql(name, true) FROM kde_densities});

# The answers are the exact ones within what is required.
for my $q (@dashboard[2, 5, 19, 38]) {
  # Which density answers depends on how long statements took, and with it the order of groups.
  my ($exact, $approximate) = map { [ join("\n", sort split /\n/, sql("SET kde_aqp.approximate = $_; $q")) =~ /-?\d+(?:\.\d+)?/g ] } 'off', 'top';
  my @off = grep { abs($exact->[$_] - $approximate->[$_]) > 0.01 * abs $exact->[$_] } 0 .. $#$exact;
  is("@off", '', "right: $q");
}

# Names, schemas and kinds of tables.
sql(q{
  CREATE SCHEMA "Odd Schema";
  CREATE TABLE "Odd Schema"."Sales 'x'" ("Sold On" date NOT NULL, "the ""Region""" text NOT NULL, "Amount" numeric(8,2), flag boolean);
  INSERT INTO "Odd Schema"."Sales 'x'" SELECT date '2025-01-01' + i % 300, 'r' || i % 4, i % 100, i % 7 = 0 FROM generate_series(1, 20000) AS i;
  CREATE TABLE parted (at timestamp NOT NULL, x integer NOT NULL, v integer) PARTITION BY RANGE (at);
  CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM ('2025-01-01') TO ('2025-07-01');
  CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM ('2025-07-01') TO ('2026-01-01');
  INSERT INTO parted SELECT timestamp '2025-01-01' + (i % 8760) * interval '1 hour', i % 50, i FROM generate_series(1, 20000) AS i;
  CREATE VIEW v1 AS SELECT "Sold On" AS day, "Amount" AS amount, flag FROM "Odd Schema"."Sales 'x'";
  CREATE VIEW v2 AS SELECT day, amount FROM v1 WHERE flag;
  CREATE VIEW barred WITH (security_barrier) AS SELECT * FROM v1 WHERE flag;
  CREATE FUNCTION fails(integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RAISE 'never'; END $$;
  ANALYZE});
sub advice { my ($query, $set) = @_; return sql(($set // '') . "SELECT coalesce(call, note) FROM kde_advise(ARRAY[\$q\$$query\$q\$])") }
sub works {
  my ($query, $what, $set) = @_;
  my $call = advice($query, $set);
  like($call, qr/^SELECT kde_set_plain_sql/, "$what: a call") or return;
  sql(($set // '') . $call);
  my $plan = sql(($set // '') . "SET kde_aqp.approximate = top; EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $query");
  like($plan, qr/Answered: by the density/, "$what: it answers");
  return;
}
works(q{SELECT "the ""Region""", sum("Amount") FROM "Odd Schema"."Sales 'x'" WHERE "Sold On" > '2025-03-01' GROUP BY 1}, 'quoted names');
works(q{SELECT avg("Amount") FROM "Sales 'x'" WHERE "Sold On" > '2025-03-01' AND flag}, 'a search path', q{SET search_path = "Odd Schema", public;});
works(q{SELECT sum(amount + 1) FROM v2 WHERE day >= '2025-05-01'}, 'a view of a view');
works(q{SELECT x, count(*), max(n) FROM (SELECT x, count(*) AS n FROM parted GROUP BY x) AS s GROUP BY x}, 'a partitioned table');
works(q{SELECT count(*) FROM parted WHERE at >= '2025-03-01'}, 'partitions that are left out');
works(q{PREPARE p (integer) AS SELECT count(*) FROM customers WHERE id >= 100; EXECUTE p(100)} =~ s/.*AS (SELECT .*?);.*/$1/r, 'what was prepared');
is(advice('SELECT count(*) FROM barred WHERE amount > 3'), 'it reads rows beside what it counts and adds up', 'a security barrier');
is(advice('SELECT sum(amount * fails(1)) FROM v1'), 'it cannot be read: never', 'an error of planning is none');
is(advice($_->[0]), $_->[1], $_->[0])
  for (['DELETE FROM orders', 'it is no query'], ['VACUUM orders', 'it is no query'], ['SELECT count(*) INTO x FROM orders', 'it is no query'],
  ['WITH d AS (DELETE FROM orders RETURNING *) SELECT count(*) FROM d', 'it is no query'], ['SELECT count(*) FROM orders FOR UPDATE', 'it locks rows'],
  ['SELECT', 'it reads no table'], ['SELECT count(* FROM', 'it cannot be read: syntax error at or near "FROM"'], ['', 'it is not one statement'], ['SELECT 1; SELECT 2', 'it is not one statement'],
  ["SELECT 'unclosed", q{it cannot be read: unterminated quoted string at or near "'unclosed"}], ['SELECT count(*) FROM pg_class', q{it is of a table of the server's own}],
  ['SELECT count(*) FROM orders WHERE false', 'no row meets its conditions'], ['SELECT sum($1::int) FROM orders', 'an aggregate is of no column']);
is(sql(q{SELECT count(*) FROM orders}), 200000, 'nothing of it is run');
is(sql(q{SELECT count(*) FROM kde_advise(ARRAY['SELECT 1', NULL, 'SELECT 2']); SELECT count(*) FROM kde_advise('{}')}), "1\n0", 'no statement is none');
for ([q{kde_advise(ARRAY['SELECT 1'], '{1,2}')}, 'differ in number'], [q{kde_advise(ARRAY['SELECT 1'], '{-1}')}, 'not be|not negative'], [q{kde_advise(ARRAY['SELECT 1'], '{NaN}')}, 'finite'],
  [q{kde_advise(weights => '{1}')}, 'need statements'], [q{kde_advise(least_share => 2)}, 'between 0 and 1'], [q{kde_advise(least_share => NULL)}, 'least_share']) {
  my (undef, undef, $error) = $node->psql('postgres', "SELECT * FROM $_->[0]");
  like($error, qr/$_->[1]/, "$_->[0] is an error");
}
is(sql(q{BEGIN READ ONLY; SELECT count(*) FROM kde_advise(ARRAY['SELECT count(*) FROM orders', 'SELECT count(*) FROM parted']) \g /dev/null
  SELECT count(*) FROM pg_locks WHERE relation IN ('orders'::regclass, 'parted'::regclass, 'parted_1'::regclass); COMMIT}), 0, 'no lock stays');

# What others' statements compute while they are planned is computed by their rights, and what the caller may not
# read is not told of.
sql(q{
  CREATE ROLE mallory; CREATE ROLE watcher; CREATE ROLE half;
  CREATE TABLE guarded AS SELECT * FROM v1;
  ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
  GRANT SELECT ON guarded TO half;
  GRANT pg_read_all_stats TO watcher;
  GRANT SELECT (sold_on) ON orders TO half;
  GRANT USAGE, CREATE ON SCHEMA public TO mallory;
  CREATE SEQUENCE as_mallory; CREATE SEQUENCE as_others;
  GRANT ALL ON as_mallory, as_others TO mallory;
  SELECT tools.pg_stat_statements_reset();
  SET ROLE mallory;
  CREATE TABLE bait AS SELECT i AS x FROM generate_series(1, 1000) AS i;
  CREATE FUNCTION spy() RETURNS integer IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval(CASE WHEN current_user = 'mallory' THEN 'as_mallory' ELSE 'as_others' END); RETURN 1; END $$;
  SELECT count(*) FROM bait WHERE x > spy()});
my $seen = sql('SELECT last_value FROM as_mallory');
sql('SELECT count(*) FROM kde_advise()');
cmp_ok(sql('SELECT last_value FROM as_mallory'), '>', $seen, 'a function is called while a statement is planned');
is(sql('SELECT is_called FROM as_others'), 'f', 'by the role whose statement it is');
is(sql(q{GRANT USAGE ON SCHEMA tools TO PUBLIC; SET ROLE watcher; SELECT bool_or(note = $$it is another role's$$) AND count(rank) = 0 FROM kde_advise()}), 't', 'or not at all');
is(sql(q{SET ROLE half; SELECT coalesce(call, note) FROM kde_advise(ARRAY['SELECT sum(amount) FROM orders WHERE sold_on > $1'])}), 'it is of a table that the current user may not read', 'who may not read a column');
is(sql(q{SET ROLE half; SELECT note FROM kde_advise(ARRAY['SELECT count(*) FROM guarded WHERE day > $1'])}), 'policies, or a security-barrier view, apply', 'whom policies keep from rows');
is(sql(q{SET ROLE half; SELECT note FROM kde_advise(ARRAY['SELECT count(*) FROM orders WHERE sold_on > $1'])}), 'a density answers it already', 'is told of others');

# Many statements.
my $many = q{(SELECT array_agg(format('SELECT region, sum(amount * %s), count(*) FROM orders WHERE sold_on > %L AND store > %s GROUP BY region', i % 20, date '2025-01-01' + i % 300, i % 40)) FROM generate_series(1, 10000) AS i)};
is(sql("SELECT sum(answers) FROM kde_advise($many)"), 10000, 'ten thousand statements');
my (undef, undef, $cancelled) = $node->psql('postgres', "SET statement_timeout = '100ms'; SELECT sum(answers) FROM kde_advise($many)");
like($cancelled, qr/canceling statement due to statement timeout/, 'can be cancelled');

# Texts that are analysed take no other's place in pg_stat_statements.
$node->append_conf('postgresql.conf', 'pg_stat_statements.max = 100');
$node->restart;
my $dealloc = q{SELECT dealloc FROM tools.pg_stat_statements_info};
my $taken = sql($dealloc);
sql(q{SELECT count(*) FROM kde_advise((SELECT array_agg('SELECT count(*) FROM orders WHERE store = 1' || repeat(' AND store > 2', i)) FROM generate_series(1, 300) AS i))});
cmp_ok(sql($dealloc) - $taken, '<', 5, 'but for the two statements of this test');

$node->stop;
done_testing();
