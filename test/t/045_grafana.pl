# The Grafana dashboard, without a Grafana: its JSON is what Grafana's documentation asks of a dashboard, and
# every query of it, with the macros and variables expanded as that says, runs as the role of docs/cookbook.md in
# a read-only session, and returns the columns that its panel draws. The table's panel is answered by a density.
use strict;
use warnings;

use CPAN::Meta::YAML;
use JSON::PP;
use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $file = 'grafana/dashboards/kde_aqp.json';
my $dashboard = JSON::PP->new->decode(slurp_file($file));
my @panels = @{ $dashboard->{panels} };
my @drawn = grep { $_->{type} ne 'row' } @panels;
my %variable = map { $_->{name} => $_ } @{ $dashboard->{templating}{list} };

# ------------------------------------------------------------------------------------------ structure
like($dashboard->{$_}, qr/\S/, "the dashboard has its $_") for qw(uid title schemaVersion refresh);
cmp_ok($dashboard->{schemaVersion}, '>=', 36, 'of Grafana 9 or later');
is($dashboard->{id}, undef, 'and no number of a Grafana of ours');
my (%taken, %ids, @wrong);
for my $panel (@panels) {
  my ($name, $at) = ("$panel->{id} ($panel->{title})", $panel->{gridPos});
  push @wrong, "$name: id" if $panel->{id} !~ /^\d+$/ || $ids{ $panel->{id} }++;
  push @wrong, "$name: type" if $panel->{type} !~ /^(?:row|stat|table|timeseries|barchart)$/;
  push @wrong, "$name: beyond the 24 columns" if $at->{x} < 0 || $at->{w} < 1 || $at->{x} + $at->{w} > 24 || $at->{h} < 1;
  for my $x ($at->{x} .. $at->{x} + $at->{w} - 1) {
    for my $y ($at->{y} .. $at->{y} + $at->{h} - 1) { push @wrong, "$name: over $taken{$x, $y}" if $taken{ $x, $y }; $taken{ $x, $y } = $name }
  }
  next if $panel->{type} eq 'row';
  for my $target (@{ $panel->{targets} }) {
    push @wrong, "$name: data source" if grep { $_->{datasource}{uid} ne '${datasource}' || $_->{datasource}{type} ne 'postgres' } $panel, $target;
    push @wrong, "$name: format" if $target->{format} ne ($panel->{type} eq 'timeseries' ? 'time_series' : 'table');
    push @wrong, "$name: no raw query" unless $target->{rawQuery} && $target->{refId} && $target->{rawSql};
  }
  my @units = grep { defined } $panel->{fieldConfig}{defaults}{unit},
    map { map { $_->{id} eq 'unit' ? $_->{value} : () } @{ $_->{properties} } } @{ $panel->{fieldConfig}{overrides} };
  push @wrong, map { "$name: unit $_" } grep { !/^(?:short|bytes|s|ms|percent|percentunit|dateTimeFromNow)$/ } @units;
}
is(join("\n", @wrong), '', 'its panels are whole, and none lies over another');
is($variable{datasource}{query}, 'postgres', 'the data source is chosen');
is(join("\n", grep { !-s } map { glob "grafana/provisioning/$_/*.yaml" } qw(dashboards datasources)), '', 'files for provisioning');
my ($source, $provider) = map { CPAN::Meta::YAML->read("grafana/provisioning/$_/kde_aqp.yaml")->[0] } qw(datasources dashboards);
is($source->{datasources}[0]{type}, 'postgres', 'of the data source');
is($provider->{providers}[0]{type}, 'file', 'and of the dashboard');

# ------------------------------------------------------------------------------------------ a server
my $node = PostgreSQL::Test::Cluster->new('grafana');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'kde_aqp'\nkde_aqp.max_workers = 0\nautovacuum = off\n");
$node->start;
my ($role) = slurp_file('docs/cookbook.md') =~ /```sql\n(CREATE ROLE grafana\b.*?)```/s;
ok(defined $role, 'the page says what the role may');
$node->safe_psql('postgres', q{
  CREATE EXTENSION kde_aqp;
  CREATE SCHEMA "odd schema";
  CREATE TABLE "odd schema"."it's sold" AS
  SELECT timestamptz '2026-03-01 00:00+00' + i * interval '20 minutes' AS "At", i % 50 AS amount FROM generate_series(0, 4999) AS i;
  ANALYZE;
  SELECT kde_fit('"odd schema"."it''s sold"', 'At', sample_rows => -1), kde_fit('"odd schema"."it''s sold"', 'amount'),
    kde_fit('"odd schema"."it''s sold"', 'amount', filter => 'amount > 3'), kde_fit('"odd schema"."it''s sold"', ARRAY['amount', 'At']);
  SELECT kde_set_plain_sql(name, true) FROM kde_densities WHERE name ~ 'At"$';
  -- One fails, and one is stale.
  CREATE TABLE fails AS SELECT i AS v FROM generate_series(1, 100) AS i;
  SELECT kde_fit('fails', ARRAY['1 / v']);
  UPDATE fails SET v = 0;
  SELECT kde_refresh('fails', force => true);} . $role);
my @grafana = (extra_params => [ '-U', 'grafana' ]);
# The last month of what is there.
my ($from, $month_end) = ('2026-04-01T00:00:00Z', '2026-05-01T00:00:00Z');
my $to = $month_end;

# ------------------------------------------------------------------------------------------ expansion
# As Grafana's documentation says of its PostgreSQL data source: variables first, then macros.
my %value;
sub quoted { return "'" . ($_[0] =~ s/'/''/gr) . "'" }

sub with_variables {
  my ($sql) = @_;
  $sql =~ s/\$__interval_ms\b/3600000/g;
  $sql =~ s/\$__interval\b/1h/g;
  my $of = sub { my ($name, $format) = @_; die "no variable $name in: $sql" if !defined $value{$name};
    return $format eq 'sqlstring' ? quoted($value{$name}) : $format eq 'raw' ? $value{$name} : die "format $format" };
  $sql =~ s/\$\{(\w+):(\w+)\}/$of->($1, $2)/ge;
  return $sql;
}

sub seconds { my ($n, $unit) = $_[0] =~ /^['"]?(\d+)([smhd])['"]?$/ or die "interval $_[0]"; return $n * { s => 1, m => 60, h => 3600, d => 86400 }->{$unit} }

sub with_macros {
  my ($sql) = @_;
  my %macro = (
    timeFilter => sub { "$_[0] BETWEEN '$from' AND '$to'" },
    timeFrom => sub { "'$from'" }, timeTo => sub { "'$to'" },
    timeGroup => sub { my $s = seconds($_[1]); "floor(extract(epoch from $_[0])/$s)*$s" });
  $macro{timeGroupAlias} = sub { $macro{timeGroup}->(@_) . ' AS "time"' };
  $sql =~ s/\$__(\w+)\(([^)]*)\)/my $m = $macro{$1} or die "macro $1"; $m->(map { s{^\s+|\s+$}{}gr } split m{,}, $2)/ge;
  die "left in: $sql" if $sql =~ /\$/;
  return $sql;
}

sub rows { return $node->safe_psql('postgres', "SET default_transaction_read_only = on; SET DateStyle = ISO; $_[0]", @grafana, extra_params => [ '-U', 'grafana', '-F', "\t" ]) }
sub columns { return map { [ split /\|/ ] } split /\n/, $node->safe_psql('postgres', "$_[0] \\gdesc", @grafana) }

# ------------------------------------------------------------------------------------------ variables
for my $name (map { $_->{name} } grep { $_->{type} eq 'query' } @{ $dashboard->{templating}{list} }) {
  my @found = split /\n/, rows(with_variables($variable{$name}{query}));
  cmp_ok(scalar @found, '>=', 1, "variable $name: $found[0]");
  $value{$name} = $found[0];
}
is($value{table}, q{"odd schema"."it's sold"}, 'names are quoted');
is($value{time_column}, '"At"', 'of columns too');

# ------------------------------------------------------------------------------------------ queries
# A statement for the counts to be of.
is(rows(qq{SELECT count(*) FROM $value{table} WHERE "At" >= '$from'}), '2768', 'rows of the month and after it');
my $number = qr/^(?:bigint|integer|smallint|numeric|double precision|real)$/;
for my $panel (@drawn) {
  my $name = "$panel->{title}";
  my $written = $panel->{targets}[0]{rawSql};
  # What was fitted just now is later than what the table holds.
  $to = $written =~ /kde_densities_full/ ? '2999-01-01T00:00:00Z' : $month_end;
  my $sql = with_macros(with_variables($written));
  my @columns = columns($sql);
  my @rows = split /\n/, rows($sql);
  my %type = map { @$_ } @columns;
  my @numbers = grep { $type{$_} =~ $number } grep { $_ ne 'time' } keys %type;
  if ($panel->{type} eq 'timeseries') {
    like($type{time} // 'none', qr/^timestamp|$number/, "$name: a time");
    is(join(' ', grep { $type{$_} !~ $number && !/^(?:time|metric)$/ } keys %type), '', "$name: numbers, and metric");
    cmp_ok(scalar @numbers, '>=', 1, "$name: a value");
    my @times = map { (split /\t/)[0] } @rows;
    is(join(' ', @times), join(' ', $times[0] =~ /^[\d.]+$/ ? sort { $a <=> $b } @times : sort @times), "$name: in the order of time");
  } elsif ($panel->{type} eq 'stat') {
    is(scalar @columns, 1, "$name: one column");
    is(scalar @numbers, 1, "$name: a number");
    is(scalar @rows, 1, "$name: one row");
  } elsif ($panel->{type} eq 'barchart') {
    is($type{ $panel->{options}{xField} }, 'text', "$name: its bars have names");
    is(scalar @numbers, 1, "$name: and a number");
  }
  for my $override (map { $_->{matcher} } @{ $panel->{fieldConfig}{overrides} }) {
    ok((grep { $override->{id} eq 'byName' ? $_ eq $override->{options} : /^(?:$override->{options})$/ } keys %type),
      "$name: there is a column $override->{options}");
  }
  # Nothing runs here.
  cmp_ok(scalar @rows, '>=', 1, "$name: rows") unless $written =~ /FROM kde_progress/;
}

$to = $month_end;
my ($panel) = grep { $_->{targets}[0]{rawSql} =~ /timeGroupAlias/ } @drawn;
my $answer = rows(with_macros(with_variables($panel->{targets}[0]{rawSql})) . q{; SELECT statements FROM kde_plain_sql WHERE outcome = 'answered by a density'});
my @lines = split /\n/, $answer;
is(pop @lines, '1', 'the panel of the table is answered by a density');
is(scalar @lines, 721, 'of every hour');
is((split /\t/, $lines[0])[1], '3', 'with its rows');

$node->stop;
done_testing();
