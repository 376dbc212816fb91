# A table that is loaded every night and vacuumed keeps its answers all day: plain SQL is answered by its
# densities, exactly, through a reset of the statistics, a crash, pg_upgrade and one look of the worker, on a
# standby, and after its promotion. The next night is no other.
#
# By day: one row, updates of another column and rows appended cost what they changed, and no more; who
# consented to an age has every panel as before.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $conf = <<'CONF';
shared_preload_libraries = 'kde_aqp'
kde_aqp.naptime = 1s
autovacuum = off
CONF
my $node = PostgreSQL::Test::Cluster->new('primary');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', $conf);
$node->start;

my $row = q{'2026-01-01'::date + i % 360, (ARRAY['EU', 'US', 'Asia'])[1 + i % 3], (i % 10007 * 7919 % 10007) / 100.0, 'open'};
my $nights = 0;

sub night {
  my ($rows) = @_;
  my $from = 100_000 * $nights++;
  my $to = $from + $rows;
  $node->safe_psql('postgres', "INSERT INTO sales SELECT $row FROM generate_series($from + 1, $to) AS g(i)");
  $node->safe_psql('postgres', 'VACUUM sales');
  return;
}

my %panels = (
  month => q{SELECT count(*) FROM sales WHERE sold_on >= '2026-03-01' AND sold_on < '2026-04-01'},
  sum => q{SELECT sum(amount) FROM sales WHERE sold_on >= '2026-03-01' AND sold_on < '2026-06-01'},
  avg => q{SELECT round(avg(amount), 6) FROM sales WHERE sold_on >= '2026-07-01' AND sold_on < '2026-08-01'},
  region => q{SELECT count(*) FROM sales WHERE region = 'EU'},
  region_month => q{SELECT count(*), sum(amount) FROM sales WHERE region = 'US' AND sold_on < '2026-02-01'},
  regions => q{SELECT region, count(*), sum(amount) FROM sales GROUP BY region ORDER BY region},
  months => q{SELECT date_trunc('month', sold_on) AS m, count(*), sum(amount) FROM sales GROUP BY m ORDER BY m},
);

# What each panel shows without densities.
sub exact {
  my ($on) = @_;
  return { map { $_ => $on->safe_psql('postgres', "SET kde_aqp.approximate = off; $panels{$_}") } keys %panels };
}

# As numbers: a sum of densities has no trailing zeros.
sub is_same {
  my ($got, $exact) = @_;
  my @got = split /[|\n]/, $got;
  my @exact = split /[|\n]/, $exact;
  return 0 if @got != @exact;
  for my $i (0 .. $#got) {
    next if $got[$i] eq $exact[$i];
    return 0 if "$got[$i]$exact[$i]" =~ /[^-0-9.]/ || abs($got[$i] - $exact[$i]) > 1e-9 * abs($exact[$i]);
  }
  return 1;
}

# Every panel is answered by a density, which says so as `said`, and is equal to `exact`.
sub all_answered {
  my ($on, $what, $said, $exact) = @_;
  my @wrong;
  for my $panel (sort keys %panels) {
    my $session = open_session($on);
    ask($session, 'SET kde_aqp.approximate = top');
    my ($out, $err) = ask($session, $panels{$panel});
    push @wrong, "$panel: $out, not $exact->{$panel}" unless is_same($out, $exact->{$panel});
    push @wrong, "$panel: $err" unless $err =~ /answered by the densit.*\s+DETAIL:  Its answers are $said/;
    $session->quit;
  }
  return is(join("\n", @wrong), '', "$what: every panel is answered by a density, rightly");
}

sub all_exact { my ($on, $what) = @_; return all_answered($on, $what, qr/exact\./, exact($on)) }

my $proven = q{SELECT bool_and(proof = 'nothing changed') FROM kde_densities_full};
sub becomes_proven { my ($on, $what) = @_; return ok($on->poll_query_until('postgres', $proven), $what) }

$node->safe_psql('postgres', q{
  CREATE EXTENSION kde_aqp;
  CREATE TABLE sales (sold_on date NOT NULL, region text NOT NULL, amount numeric(10,2) NOT NULL, status text);
});
night(40_000);
$node->safe_psql('postgres', q{
  SELECT FROM kde_fit('sales', 'sold_on', measures => ARRAY['amount'], sample_rows => -1);
  SELECT FROM kde_fit('sales', 'sold_on', measures => ARRAY['amount'], group_by => 'region', sample_rows => -1);
  SELECT kde_set_plain_sql('sales.sold_on', true), kde_set_plain_sql('sales.sold_on by (region)', true);
});
all_exact($node, 'after the first night');

night(2000);
becomes_proven($node, 'the worker looks after another night');
all_exact($node, 'after another night');

$node->safe_psql('postgres', 'SELECT pg_stat_reset()');
all_exact($node, 'after a reset of the statistics');

$node->stop('immediate');
$node->start;
all_exact($node, 'after a crash');

$node->safe_psql('postgres', 'VACUUM (FREEZE) sales');
becomes_proven($node, 'the worker looks after a freeze');
all_exact($node, 'after a freeze');

$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby);
all_exact($standby, 'on a standby');
night(2000);
becomes_proven($node, 'the worker looks after a night with a standby');
$node->wait_for_catchup($standby);
all_exact($node, 'then');
all_exact($standby, 'and on the standby');
$standby->promote;
all_exact($standby, 'after its promotion');
$standby->stop;

# ------------------------------------------------------------------------------------ pg_upgrade
my $new = PostgreSQL::Test::Cluster->new('new');
$new->init;
$new->append_conf('postgresql.conf', $conf);
chomp(my $bindir = `pg_config --bindir`);
my $fitted = $node->safe_psql('postgres', 'SELECT array_agg(fitted_at ORDER BY fitted_at) FROM kde_densities_full');
$node->stop;
# It leaves files where it is started.
chdir $PostgreSQL::Test::Utils::tmp_check or die $!;
command_ok(['pg_upgrade', '-d', $node->data_dir, '-D', $new->data_dir, '-b', $bindir, '-B', $bindir, '-s', $new->host,
    '-p', $node->port, '-P', $new->port], 'pg_upgrade');
$new->start;
becomes_proven($new, 'the worker looks after pg_upgrade');
is($new->safe_psql('postgres', 'SELECT array_agg(fitted_at ORDER BY fitted_at) FROM kde_densities_full'), $fitted,
  'and proves the densities anew without a fit');
all_exact($new, 'after pg_upgrade and one look of the worker');
$node = $new;
night(2000);
becomes_proven($node, 'the worker looks after a night behind it');
all_exact($node, 'after that night');

$node->stop;

# -------------------------------------------------------------------------------------------- a day
# Nobody refreshes. Rows came in the order of time; those that are updated lie all over the table, each in a block of
# its own. How many rows a block may have, its columns of a fixed length say.
my $day = PostgreSQL::Test::Cluster->new('day');
$day->init;
$day->append_conf('postgresql.conf', "autovacuum = off\nsession_preload_libraries = kde_aqp");
$day->start;
$day->safe_psql('postgres', q{
  CREATE EXTENSION kde_aqp;
  CREATE TABLE sales (id serial, sold_on date NOT NULL, region text NOT NULL, amount numeric(10,2) NOT NULL, status text, note text,
    a uuid NOT NULL DEFAULT repeat('0', 32)::uuid, b uuid NOT NULL DEFAULT repeat('0', 32)::uuid, c uuid NOT NULL DEFAULT repeat('0', 32)::uuid,
    d uuid NOT NULL DEFAULT repeat('0', 32)::uuid);
  INSERT INTO sales (sold_on, region, amount, status, note) SELECT '2026-01-01'::date + i / 500, (ARRAY['EU', 'US', 'Asia'])[1 + i % 3],
    (i % 10007 * 7919 % 10007) / 100.0, 'open', repeat('-', 150) FROM generate_series(0, 179999) AS i;
  VACUUM sales;
  SELECT FROM kde_fit('sales', 'sold_on', measures => ARRAY['amount'], sample_rows => -1);
  SELECT FROM kde_fit('sales', 'sold_on', measures => ARRAY['amount'], group_by => 'region', sample_rows => -1);
  SELECT kde_set_plain_sql('sales.sold_on', true), kde_set_plain_sql('sales.sold_on by (region)', true);
});
my $at_fit = exact($day);
all_exact($day, 'in the morning');
my %changes = (
  'one row' => q{INSERT INTO sales (sold_on, region, amount) VALUES ('2026-12-26', 'EU', 50000000)},
  '500 updates of another column' => q{UPDATE sales SET status = 'paid' WHERE id % 360 = 7 AND id <= 180000},
  '0.5 % appended' => q{INSERT INTO sales (sold_on, region, amount) SELECT '2026-12-27', 'US', 7 FROM generate_series(1, 900)},
);
is($day->safe_psql('postgres', q{SELECT count(*), count(DISTINCT (ctid::text::point)[0]) FROM sales WHERE id % 360 = 7}), '500|500',
  'the rows to be updated lie in as many blocks');
my %asked = (
  month => q{approx_count_ci('sales.sold_on', '2026-03-01'::date, '2026-03-31'::date)},
  region => q{(SELECT count_lower AS lower_bound, count_upper AS upper_bound FROM approx_groups('sales.sold_on by (region)', NULL::date, NULL) WHERE group_key = 'EU') AS g},
);
my ($within, $beyond) = (0, 0);
my $too_many = 'not as accurate as required';
for my $change ('one row', '500 updates of another column', '0.5 % appended') {
  # Each by itself: a refresh takes the one before.
  $day->safe_psql('postgres', q{VACUUM sales; SELECT count(*) FROM kde_refresh('sales', force => true)});
  $day->safe_psql('postgres', $changes{$change});
  my $proofs = $day->safe_psql('postgres', 'SELECT DISTINCT proof FROM kde_densities_full');
  like($proofs, qr/^at most \d+ rows changed$/, "$change: at most so many rows changed") or next;
  my ($k) = $proofs =~ /(\d+)/;
  note("$change: at most $k rows changed");
  for my $panel (sort keys %asked) {
    my $exact = $day->safe_psql('postgres', "SET kde_aqp.approximate = off; $panels{$panel}");
    my ($lower, $upper) = split /\|/, $day->safe_psql('postgres', "SELECT lower_bound, upper_bound FROM $asked{$panel}");
    ok($lower <= $exact && $exact <= $upper && $upper - $lower <= 2 * $k + 1, "$change, $panel: a function is right within $k rows")
      or diag("$lower .. $upper for $exact");
    # Plain SQL reads what changed; where it may not it is within the default error, 1 %, where k is, else by
    # the exact plan.
    my $session = open_session($day);
    ask($session, 'SET kde_aqp.approximate = top');
    my ($out, $err) = ask($session, $panels{$panel});
    is($out, $exact, "$change, $panel: plain SQL is exact");
    like($err, qr/answered by the densit.*\s+DETAIL:  Its answers are exact[,.]/, 'and is told so');
    ask($session, 'SET kde_aqp.approximate_scan_size = 0');
    ($out, $err) = ask($session, $panels{$panel});
    if ($k <= 0.0099 * $exact) {
      ++$within;
      like($err, qr/answered by the densit.*\s+DETAIL:  Its answers are within /, 'or within them');
      cmp_ok(abs($out - $exact), '<=', $k, 'and is told so, too');
    } else {
      ++$beyond;
      is("$out$err", $exact, "$change, $panel: $k rows are too many for 1 %, so the exact plan runs");
      like(ask($session, q{SELECT string_agg(outcome, ',') FROM kde_plain_sql WHERE statements > 0}), qr/$too_many/, 'which is told');
      # Who asks for no more is answered.
      ask($session, 'SET kde_aqp.approximate_error = ' . 1.01 * $k / $exact);
      ($out, $err) = ask($session, $panels{$panel});
      like($err, qr/answered by the densit.*\s+DETAIL:  Its answers are within /, 'and answered where the error may be so large')
        if $k < 0.99 * $exact;
    }
    $session->quit;
  }
}
ok($within >= 2 && $beyond >= 2, "both ways: $within and $beyond times");
$day->safe_psql('postgres', q{VACUUM sales; SELECT count(*) FROM kde_refresh('sales', force => true)});
$at_fit = exact($day);
$day->safe_psql('postgres', 'ALTER DATABASE postgres SET kde_aqp.approximate_scan_size = 0');
$day->safe_psql('postgres', $changes{$_}) for 'one row', '500 updates of another column', '0.5 % appended';
$day->safe_psql('postgres', q{
  SELECT kde_set_plain_sql('sales.sold_on', true, as_of => '1 day'), kde_set_plain_sql('sales.sold_on by (region)', true, as_of => '1 day')});
all_answered($day, 'by consent', qr/.*as of \d/, $at_fit);
$day->stop;
done_testing();
