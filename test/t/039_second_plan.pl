# Plain SQL over tables that another planner hook plans, which throws the server's plan away, as that of a
# distributed table does (test/planner/elsewhere.c: a table NAME has the rows of far.NAME). What a density
# answers is then in a plan beside the other one's: it answers what it answers of a plain table, and where it
# does not, the other planner's plan runs as if nothing were there.
use strict;
use warnings;

use JSON::PP;
use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $library = $ENV{KDE_AQP_ELSEWHERE} or die 'KDE_AQP_ELSEWHERE is not set';
my $node = PostgreSQL::Test::Cluster->new('second_plan');
$node->init;
$node->append_conf('postgresql.conf', <<"CONF");
shared_preload_libraries = '$library, pg_stat_statements, kde_aqp'
kde_aqp.max_workers = 0
autovacuum = off
CONF
$node->start;

sub sql { return $node->safe_psql('postgres', $_[0]) }

# Standard output and error of statements, with plain SQL.
sub both {
  my (undef, $out, $err) = $node->psql('postgres', "SET kde_aqp.approximate = top; $_[0]");
  return ($out, $err);
}
my $by_density = qr/NOTICE:  answered by the densit/;

# The table's own file has other rows. Densities of every row answer without an error.
sql(q{
  CREATE EXTENSION kde_aqp;
  CREATE EXTENSION pg_stat_statements;
  CREATE SCHEMA far;
  CREATE TABLE sales (id integer, day date, region text, amount integer, price numeric(10,2));
  CREATE TABLE far.sales (LIKE sales);
  CREATE TABLE near (region text, name text);
  INSERT INTO sales SELECT i, '1999-01-01', 'nowhere', 7, 0.5 FROM generate_series(1, 10) AS i;
  INSERT INTO far.sales SELECT i, date '2026-01-01' + i % 90, ('{EU,US,Asia}'::text[])[1 + i % 3], i * 7919 % 500, i % 400 / 4.0
    FROM generate_series(1, 20000) AS i;
  INSERT INTO near VALUES ('EU', 'Europe'), ('US', 'United States');
  CREATE VIEW seen AS SELECT * FROM sales WHERE day >= '2026-01-10';
  CREATE FUNCTION five() RETURNS integer STABLE LANGUAGE plpgsql AS $$ BEGIN RETURN 5; END $$;
  CREATE FUNCTION planned() RETURNS integer IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(*) FROM sales WHERE id > 19500); END $$;
  SELECT kde_fit('sales', 'amount', sample_rows => -1, measures => '{price}'),
    kde_fit('sales', 'day', sample_rows => -1, measures => '{amount,price}', group_by => 'region'),
    kde_fit('sales', 'day', sample_rows => -1, measures => '{price}'), kde_fit('sales', 'id', sample_rows => -1);
  SELECT kde_set_plain_sql(name, true, as_of => '1 day') FROM kde_densities_full WHERE column_names <> '{id}';
});
is(sql('SELECT count(*) FROM sales'), 20000, 'the table is far');

# --- what is answered, and what is not -----------------------------------------------------------------

sub check {
  my ($query, $density, $what) = @_;
  my ($got, $err) = both($query);
  is($got, sql($query), "$query: the same");
  is($err =~ $by_density ? 'density' : "plan$err", $density ? 'density' : 'plan', "$query: who answers");
}
# As of its fit there was none: what is there now came since.
check('SELECT count(*) FROM sales WHERE amount < 0', 0);
check($_, 1) for
  'SELECT count(*), sum(amount) FROM sales WHERE amount BETWEEN 10 AND 60',
  'SELECT sum(amount) * 2 + count(*) AS x FROM sales WHERE amount >= 100',
  'SELECT avg(price), sum(price) FROM sales WHERE amount < 250',
  'SELECT max(amount), min(amount) FROM sales WHERE amount IS NOT NULL',
  'SELECT count(*) FROM sales WHERE amount IN (1, 5, 9)',
  'SELECT count(*) FROM sales WHERE amount > five()',
  'SELECT count(*) FROM sales WHERE amount > (SELECT five() + 1)',
  'SELECT count(*) FROM sales WHERE amount > (SELECT count(*) / 100 FROM sales WHERE amount > 20)',
  'SELECT count(*) FROM sales WHERE amount > planned() - 300',
  'SELECT region, count(*), sum(price) FROM sales WHERE day >= \'2026-02-01\' GROUP BY region ORDER BY region',
  'SELECT region FROM sales WHERE day >= \'2026-02-01\' GROUP BY region ORDER BY sum(amount) DESC, 1',
  'SELECT region, count(*) FROM sales WHERE day < \'2026-03-01\' GROUP BY region HAVING sum(amount) > 1000 ORDER BY 2 DESC, 1 LIMIT 2',
  'SELECT date_trunc(\'month\', day), count(*) FROM sales WHERE day IS NOT NULL GROUP BY 1 ORDER BY 1',
  'SELECT date_trunc(\'week\', day) AS week, region, sum(price) FROM sales WHERE day >= \'2026-02-02\' AND region <> \'US\' GROUP BY 1, 2 ORDER BY 1, 2',
  'SELECT floor(amount / 50.0) * 50 AS at, count(*) FROM sales WHERE amount IS NOT NULL GROUP BY 1 ORDER BY 1',
  'SELECT count(*), sum(amount) FROM seen WHERE region = \'EU\'',
  'SELECT sum(n) FROM (SELECT count(*) AS n FROM sales WHERE amount > 30) AS s',
  'SELECT (SELECT count(*) FROM sales WHERE amount > 30), (SELECT sum(price) FROM sales WHERE amount > 60)',
  'SELECT count(*) FROM sales WHERE amount > 30 UNION ALL SELECT count(*) FROM sales WHERE amount > 400 ORDER BY 1',
  'WITH r AS MATERIALIZED (SELECT region, count(*) AS n FROM sales WHERE day IS NOT NULL GROUP BY region) SELECT a.region, b.n FROM r AS a, r AS b WHERE a.n >= b.n ORDER BY 1, 2',
  'SELECT x, n FROM generate_series(1, 3) AS x, (SELECT count(*) AS n FROM sales WHERE amount > 30) AS s ORDER BY x',
  'SELECT row_number() OVER (ORDER BY count(*) DESC, region), region FROM sales WHERE day IS NOT NULL GROUP BY region ORDER BY 1',
  'SELECT count(*), approx_lower(sum(amount)), approx_upper(sum(amount)) FROM sales WHERE amount > 30';
check($_, 0) for
  'SELECT count(*) FROM sales WHERE id > 5000',  # no consent
  'SELECT count(DISTINCT amount) FROM sales WHERE amount > 5',
  'SELECT count(*) FROM sales WHERE amount > 5 AND price > 10',
  'SELECT amount FROM sales ORDER BY amount DESC, id LIMIT 3',
  'SELECT count(*) FROM sales JOIN near USING (region)',
  # A density answers a part; the rest are rows.
  'SELECT name, n FROM near JOIN (SELECT region, count(*) AS n FROM sales WHERE day IS NOT NULL GROUP BY region) AS s USING (region) ORDER BY name',
  'SELECT count(*) FROM sales WHERE amount > (SELECT min(id) FROM sales)',
  # Decided for each row.
  'SELECT x, (SELECT count(*) FROM sales WHERE amount > x) FROM generate_series(1, 3) AS x ORDER BY x',
  'SELECT x, (SELECT count(*) FROM sales WHERE amount > (SELECT x + 1)) FROM generate_series(1, 3) AS x ORDER BY x',
  'SELECT x, (SELECT count(*) FROM sales WHERE amount > (SELECT 100 * x + 1) LIMIT 1) FROM generate_series(1, 3) AS x ORDER BY x',
  'SELECT x, n FROM generate_series(1, 3) AS x, LATERAL (SELECT count(*) AS n FROM sales WHERE amount > x OFFSET 0) AS s ORDER BY x',
  # Computed twice, it would not be the same.
  'SELECT count(*), random() >= 0 FROM sales WHERE amount > 30';
{
  # Partitions, that the server's planner is not shown.
  sql(q{CREATE TABLE parted (day date, n integer) PARTITION BY RANGE (day); CREATE TABLE parted_1 PARTITION OF parted DEFAULT;
    CREATE TABLE far.parted (day date, n integer); INSERT INTO far.parted SELECT day, amount FROM far.sales;
    SELECT kde_fit('parted', 'n', sample_rows => -1); SELECT kde_set_plain_sql('parted.n', true, as_of => '1 day')});
  check('SELECT count(*), sum(n) FROM parted WHERE n > 30', 1);
  check('SELECT count(*) FROM ONLY parted WHERE n > 30', 0);
  is(sql(q{SELECT count, density FROM approx_where('parted', 'n > 30')}), sql('SELECT count(*) FROM parted WHERE n > 30') . '|parted.n', 'approx_where is answered');
  # Not by the server's planner at all.
  my ($out, $err) = both('SET elsewhere.fast = on; SELECT count(*), sum(amount) FROM sales WHERE amount BETWEEN 10 AND 60');
  is($out, sql('SELECT count(*), sum(amount) FROM sales WHERE amount BETWEEN 10 AND 60'), 'a planner of its own: the same');
  like($err, $by_density, 'and answered');
}
sql(q{ALTER TABLE sales ENABLE ROW LEVEL SECURITY; CREATE POLICY below ON sales USING (amount < 400); CREATE ROLE reader; CREATE ROLE stranger;
  GRANT SELECT ON sales TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA far TO reader, stranger; GRANT USAGE ON SCHEMA far TO reader, stranger});
my ($out, $err) = both('SET ROLE reader; SELECT count(*) FROM sales WHERE amount > 30');
unlike($err, qr/NOTICE|ERROR/, 'where policies apply no density answers');
sql('ALTER TABLE sales DISABLE ROW LEVEL SECURITY');
like((both('SET ROLE reader; SELECT count(*) FROM sales WHERE amount > 30'))[1], $by_density, 'one who may read the table has the answer');
like((both('SET ROLE stranger; SELECT count(*) FROM sales WHERE amount > 30'))[1], qr/ERROR:  permission denied for table sales/, 'another the error');
sql('REVOKE SELECT ON sales FROM reader; GRANT SELECT (amount) ON sales TO reader');
like((both('SET ROLE reader; SELECT count(*) FROM sales WHERE amount > 30'))[1], $by_density, 'columns are enough');
like((both('SET ROLE reader; SELECT sum(price) FROM sales WHERE amount > 30'))[1], qr/ERROR:  permission denied for table sales/, 'those that are read');

# --- decided when it runs -----------------------------------------------------------------------------

my $wide = q{SELECT kde_fit('sales', 'amount', sample_rows => 300, seed => 1)};
my $count = 'SELECT count(*) FROM sales WHERE amount > 30';
my $exact = sql($count);
like((both("BEGIN; $count; COMMIT"))[1], qr/^$/, 'in a transaction, whose own changes are not known, the other plan runs');
is((both("SET application_name = 'citus_internal gpid=10000000001'; $count"))[1], '', 'as for another node of a cluster');
sql('CREATE TABLE plain AS SELECT amount FROM far.sales');
sql(q{SELECT kde_fit('plain', 'amount', sample_rows => -1); SELECT kde_set_plain_sql('plain.amount', true, as_of => '1 day')});
is((both(q{SET application_name = 'citus_internal gpid=10000000001'; SELECT count(*) FROM plain WHERE amount > 30}))[1], '', 'also of a plain table');
is((both(q{SET kde_aqp.approximate = 'all'; DO $$ BEGIN ASSERT (SELECT count(*) FROM sales WHERE amount > 30) = 18760; END $$}))[1] =~ /ERROR/ ? 'wrong' : '', '',
  'within functions');

my $session = open_session($node, 'postgres', 'SET kde_aqp.approximate = top');
sub who { my ($out, $err) = ask($session, $_[0]); return ($err =~ $by_density ? 'density ' : $err) . $out }
ask($session, 'PREPARE p(integer, text) AS SELECT count(*), sum(amount) FROM sales WHERE amount BETWEEN $1 AND 3 * $1');
for my $i (10, 20, 30, 40, 50, 0) {
  ask($session, 'SET plan_cache_mode = force_generic_plan') if $i == 30;
  is(who("EXECUTE p($i, 'x')"), 'density ' . sql("SELECT count(*), sum(amount) FROM sales WHERE amount BETWEEN $i AND 3 * $i"), "executed with $i");
}
is(ask($session, q{SELECT generic_plans > 0 FROM pg_prepared_statements WHERE name = 'p'}), 't', 'by a generic plan');
like(ask($session, q{EXPLAIN EXECUTE p(10, 'x')}), qr/amount >= \$1/, 'with its parameters');
my $p10 = sql('SELECT count(*), sum(amount) FROM sales WHERE amount BETWEEN 10 AND 30');
ask($session, 'SET kde_aqp.approximate = off');
is(who(q{EXECUTE p(10, 'x')}), $p10, 'turned off, the other plan');
ask($session, 'SET kde_aqp.approximate = top');
is(who(q{EXECUTE p(10, 'x')}), "density $p10", 'and on again');
ask($session, 'SET kde_aqp.approximate_error = 1e-12');
is(who(q{EXECUTE p(10, 'x')}), "density $p10", 'exact densities answer whatever is required');
sql(q{SELECT kde_set_plain_sql('sales.amount', false)});
is(who(q{EXECUTE p(10, 'x')}), $p10, 'forbidden');
unlike(ask($session, q{EXPLAIN EXECUTE p(10, 'x')}), qr/KdeAqp/, 'it is planned anew');
sql(q{SELECT kde_set_plain_sql('sales.amount', true, as_of => '1 day')});
is(who(q{EXECUTE p(10, 'x')}), "density $p10", 'allowed again');
ask($session, 'SET elsewhere.fast = on; PREPARE f AS SELECT count(*) FROM sales WHERE amount > 30');
is(who('EXECUTE f'), "density $exact", 'where the other plan knows nothing of the table');
sql(q{SELECT kde_set_plain_sql('sales.amount', false)});
is(who('EXECUTE f'), $exact, 'it is planned anew as well');
sql(q{SELECT kde_set_plain_sql('sales.amount', true, as_of => '1 day')});
ask($session, 'RESET elsewhere.fast');
is(who('DECLARE c CURSOR WITH HOLD FOR SELECT region, count(*) FROM sales WHERE day IS NOT NULL GROUP BY region ORDER BY region; FETCH 2 FROM c'),
  'density ' . sql('SELECT region, count(*) FROM sales GROUP BY region ORDER BY region LIMIT 2'), 'a cursor');
is(ask($session, 'FETCH ALL FROM c; CLOSE c'), sql('SELECT region, count(*) FROM sales GROUP BY region ORDER BY region OFFSET 2'), 'that is held');
is(ask($session, q{DECLARE s SCROLL CURSOR WITH HOLD FOR SELECT region, count(*) FROM sales WHERE day IS NOT NULL GROUP BY region ORDER BY region;
  MOVE ALL IN s; FETCH PRIOR FROM s; CLOSE s}), sql('SELECT region, count(*) FROM sales GROUP BY region ORDER BY region OFFSET 2'), 'one that scrolls');
is(who('CREATE TABLE kept AS SELECT count(*) FROM sales WHERE amount > 30; TABLE kept'), $exact, 'what is kept is exact');
ask($session, 'DROP TABLE kept');

# Statistics have the statement once.
sql('SELECT pg_stat_statements_reset()');
is(who("$count -- once"), "density $exact", 'answered');
ask($session, 'SET kde_aqp.approximate_error = 0.01');
is(sql(q{SELECT calls FROM pg_stat_statements WHERE query LIKE 'SELECT count(*) FROM sales WHERE amount%'}), 1, 'and counted once');

# --- EXPLAIN ------------------------------------------------------------------------------------------

my $explain = 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)';
is((both("EXPLAIN (COSTS OFF) $count"))[0], <<'PLAN' =~ s/\n$//r, 'both plans are shown');
Custom Scan (KdeAqpChoice)
  ->  Custom Scan (KdeAqp)
        Density: sales.amount
        Range: amount > 30
        Required: 1 % at 95 %
  ->  Aggregate
        ->  Seq Scan on sales
              Filter: (amount > 30)
PLAN
like((both("$explain $count"))[0], qr/Scan \(KdeAqp\) \(actual rows=1(\.00)? loops=1\).*Answered: by the density, (exact|within [0-9.]+ %) as of [^\n]*\n  ->  Aggregate\n/s, 'the one that ran');
sql($wide);
($out, $err) = both("SET kde_aqp.approximate_error = 1e-6; $explain $count");
like($out, qr/KdeAqp\) \(never executed\).*Answered: by the exact plan: count\(\*\) only within.*->  Aggregate \(actual rows=1.*->  Seq Scan on sales \(actual rows=$exact/s,
  'where a density is not accurate enough, the other');
is((both("SET kde_aqp.approximate_error = 1e-6; $count"))[0], $exact, 'which answers');
for my $options ('FORMAT JSON', 'FORMAT JSON, ANALYZE', 'FORMAT JSON, ANALYZE, VERBOSE, SETTINGS, BUFFERS') {
  ($out, $err) = both("EXPLAIN ($options) $count");
  my $plan = decode_json($out)->[0]{Plan};
  is($plan->{'Density Plan'}{Plan}{'Custom Plan Provider'}, 'KdeAqp', "($options) of the density");
  is($plan->{'Exact Plan'}{Plan}{'Node Type'}, 'Aggregate', 'and the other');
}
like((both("EXPLAIN (VERBOSE) $count"))[0], qr/KdeAqpChoice.*\n  Output: answer\.count\n/, 'columns have names');

# Of one who logs plans as statements end, which begins plans once more.
for my $analyze ('off', 'on') {
  ($out, $err) = both("LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET auto_explain.log_analyze = $analyze; SET client_min_messages = log;
    SELECT count(*) FROM sales WHERE id > 5000; SELECT count(*), sum(price) FROM sales WHERE price > 10; SELECT region, count(*) FROM sales WHERE day IS NOT NULL GROUP BY region ORDER BY region LIMIT 1");
  is($out, sql('SELECT count(*) FROM sales WHERE id > 5000; SELECT count(*), sum(price) FROM sales WHERE price > 10; SELECT region, count(*) FROM sales GROUP BY region ORDER BY region LIMIT 1'), "logged, analyze $analyze");
  like($err, qr/KdeAqpChoice.*KdeAqp\).*Seq Scan on sales/s, 'both plans');
}

# --- functions ------------------------------------------------------------------------------------------

is(sql(q{SELECT count_lower <= 3 AND density FROM approx_where('sales', 'amount < 0')} =~ s/AND density/, density/r), 't|sales.amount', 'approx_where is answered');
is(sql(q{SELECT abs(count - 18760) < 2000, exact, density FROM approx_where('sales', 'amount > 30')}), 't|f|sales.amount', 'with its interval');
is(sql(qq{SELECT count = $exact, exact, density FROM approx_where('sales', 'amount > 30', max_relative_error => 1e-6, otherwise => 'exact')}), 't|t|', 'or exactly, where it must be');
is(sql(q{SELECT count, exact, density FROM approx_where('sales', 'price > 30', otherwise => 'exact')}), sql('SELECT count(*) FROM sales WHERE price > 30') . '|t|', 'or where no density fits');
is(sql(q{SELECT approx_where('sales', 'amount > 30', max_relative_error => 1e-6, otherwise => 'null') IS NULL}), 't', 'or not at all');
like(($node->psql('postgres', q{SELECT approx_where('sales', 'amount > 30', max_relative_error => 1e-6)}))[2],
  qr/ERROR:  the density of sales.amount does not answer the question.*only within/s, 'with the reason');
is(sql(q{SELECT density, answers, reason FROM kde_explain_query('SELECT count(*) FROM sales WHERE day > now() AND amount > 30') WHERE answers}), '', 'what does not answer is told');
is(sql(q{SELECT density, answers, reason FROM kde_explain_query('SELECT count(*) FROM sales WHERE amount > 30') WHERE answers}), 'sales.amount|t|answers', 'and what does');
is(sql(q{SELECT count(*) FROM kde_explain_query('SELECT count(*) FROM sales WHERE amount > 30')}), 4, 'each density once');
my $joined = 'SELECT name FROM near JOIN (SELECT region, count(*) AS n FROM sales WHERE day IS NOT NULL GROUP BY region) AS s USING (region)';
is(sql(qq{SELECT count(*) FILTER (WHERE answers) || ' ' || max(reason) FILTER (WHERE reason LIKE 'would%') FROM kde_explain_query('$joined')}),
  '0 would answer, but another extension plans the query', 'also of what the other planner has to do itself');
$session->quit;

# Who plans outside of the extension cannot be seen: exact, and said.
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'kde_aqp, $library'");
$node->restart;
($out, $err) = both($count);
is("$out$err", $exact, 'outside of it: the other plan');
is(sql(q{SELECT min(reason) FILTER (WHERE reason LIKE 'would%') FROM kde_explain_query('SELECT count(*) FROM sales WHERE amount > 30') HAVING NOT bool_or(answers)}), 'would answer, but another extension plans the query', 'which is said');
is(sql(qq{SELECT count = $exact, density FROM approx_where('sales', 'amount > 30', otherwise => 'exact')}), 't|', 'approx_where counts');
like(($node->psql('postgres', q{SELECT approx_where('sales', 'amount > 30')}))[2],
  qr/ERROR:  no density answers the question about "sales"\nDETAIL:  The density of sales.amount would answer, but another extension plans the query/, 'or says why not');

$node->stop;
done_testing();
