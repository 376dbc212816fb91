# However a driver sends arguments, functions take them: drivers.py calls each of them in every way.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('drivers');
$node->init;
$node->start;
$node->safe_psql('postgres', q{
  CREATE EXTENSION kde_aqp;
  CREATE TABLE dice AS SELECT i % 6 + 1 AS side FROM generate_series(1, 600) AS i;
  CREATE TABLE dates AS SELECT date '2026-01-01' + i % 6 AS day FROM generate_series(1, 600) AS i;
  CREATE TABLE throws AS SELECT i % 6 + 1 AS side, i % 4 AS other FROM generate_series(1, 600) AS i;
  ANALYZE dice, dates, throws;
  SELECT kde_fit('dice', 'side'), kde_fit('dates', 'day'), kde_fit('throws', ARRAY['side', 'other'], seed => 1);
  SELECT kde_set_plain_sql('dice.side', true)});

my $script = __FILE__ =~ s{[^/]*$}{drivers.py}r;
my ($out, $err) = run_command([ '/usr/bin/python3', $script, $node->connstr('postgres') ]);
is($err, '', 'no complaints');
my @lines = split /\n/, $out;
cmp_ok(scalar @lines, '>', 200, 'calls were made');
for my $line (@lines) {
  my ($good, $what) = $line =~ /^(ok|not ok) (.*)$/;
  is($good, 'ok', $what // $line);
}

$node->stop;
done_testing();
