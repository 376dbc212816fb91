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
sql(join ";\n", @dashboard) for 1 .. 3;
sql(join ";\n", @analyst);
my %time = map { split /\|/ } split /\n/, sql(q{SELECT 'total', sum(total_exec_time) FROM tools.pg_stat_statements WHERE query ~ '(orders|events|customers)'});
my $before = sql('SELECT count(*) FROM tools.pg_stat_statements');
my $advice = sql('SELECT * FROM kde_advise()');
note $advice;
is(sql(q{SELECT count(*) FROM tools.pg_stat_statements WHERE query ~ 'orders|events|customers'}) + 0, @workload + 0, 'the planned statements are counted nowhere');

# The same of the texts themselves, each with the time that it takes, as the dashboard asks.
my $ms = sub { my ($plan) = $node->safe_psql('postgres', "EXPLAIN (ANALYZE, TIMING OFF) $_[0]") =~ /Execution Time: ([\d.]+) ms/; return $plan };
my @ms = map { my $q = $_; (sort { $a <=> $b } map { $ms->($q) } 1 .. 3)[1] } @workload;
$ms[$_] *= 3 for 0 .. $#dashboard;
my $quoted = join ', ', map { s/'/''/gr =~ s/^(.*)$/'$1'/sr } @workload;
my $given = "kde_advise(ARRAY[$quoted], ARRAY[" . join(', ', @ms) . "])";
my ($promised, $share) = split /\|/, sql("SELECT sum(answers), sum(time_share) FROM $given WHERE rank IS NOT NULL");
note sql("SELECT * FROM $given");
is(sql("SELECT sum(answers) FROM $given"), 50, 'every statement has its row');

# The calls are run as they are, those that pg_stat_statements led to.
my $calls = sql(q{SELECT call FROM kde_advise() WHERE call IS NOT NULL ORDER BY rank});
sql($_) for split /\n/, $calls;
is(sql('SELECT count(*) FROM kde_advise() WHERE call IS NOT NULL'), 0, 'then nothing more is proposed');
like(sql('SELECT note FROM kde_advise() WHERE rank IS NULL'), qr/a density answers it already/, 'as densities answer already');

my ($answered, $all, $count) = (0, 0, 0);
for my $i (0 .. $#workload) {
  my $plan = sql("SET kde_aqp.approximate = top; EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $workload[$i]");
  my $is_answered = $plan =~ /Answered: by the density/ && $plan !~ /Answered: by the exact plan/;
  $all += $ms[$i];
  $answered += $ms[$i] if $is_answered;
  $count++ if $is_answered;
  my ($why) = $plan =~ /(Answered: by the exact .*)/;
  note sprintf('%6.1f ms  %s', $ms[$i], $workload[$i]), defined $why ? "\n$why" : '' if !$is_answered;
}
note sprintf 'answered: %d of %d statements, %.1f %% of the time; promised: %d statements, %.1f %%', $count, scalar @workload, 100 * $answered / $all, $promised, 100 * $share;
cmp_ok($answered / $all, '>=', 0.8, 'densities answer at least 80 % of the time');
cmp_ok($count, '>=', $promised, 'and no fewer statements than promised');

# The answers are the exact ones within what is required.
for my $q (@dashboard[2, 5, 19, 38]) {
  my ($exact, $approximate) = map { [ sql("SET kde_aqp.approximate = $_; $q") =~ /-?\d+(?:\.\d+)?/g ] } 'off', 'top';
  my @off = grep { abs($exact->[$_] - $approximate->[$_]) > 0.01 * abs $exact->[$_] } 0 .. $#$exact;
  is("@off", '', "right: $q");
}

$node->stop;
done_testing();
