#!/usr/bin/perl
# The questions of docs/cookbook.md, asked as the page has them. Called with a private server to talk to:
#
#   cookbook.pl check     of the small tables (docs/check/cookbook.sql), where every row is read: each answer is
#                         that of the exact plan; who answers is who the page says; what cannot be asked cannot, and
#                         what to ask instead is answered alike; the figures are of these questions.
#                         `make docs-check`
#   cookbook.pl measure ROWS RUNS
#                         prints those figures as the page's table. `make bench-cookbook`
#
# A question is a heading `### N. name`, a block of plain SQL, and a paragraph that begins with "Answered by
# `density`" or "Exact plan: `reason`". A second block is functions that give the same columns. `GROUP BY 1, 2`
# says how many columns are keys; columns `least` and `most` are ends of an interval. What stands before the
# first question fits.
use strict;
use warnings;
use utf8;
use open qw(:std :encoding(UTF-8));
use File::Temp qw(tempfile);
use List::Util qw(max);

# Relative: sums and moments are in double precision.
my $TOLERANCE = 1e-9;
my $PAGE = 'docs/cookbook.md';
my ($task, $rows, $runs) = @ARGV;
die "usage: cookbook.pl check | measure ROWS RUNS\n" unless defined $task && ($task eq 'check' || $task eq 'measure' && $runs);

my ($passed, $failed) = (0, 0);
# The prototype makes a match that fails a false value, where it would be an empty list.
sub check($$) {
  my ($good, $what) = @_;
  if ($good) { $passed++; } else { $failed++; print "FAILED: $PAGE: $what\n"; }
  return $good;
}

sub content {
  my ($file) = @_;
  open my $in, '<', $file or die "$file: $!\n";
  local $/;
  return scalar <$in> // '';
}

# ------------------------------------------------------------------------------------------ the page

my $page = content($PAGE);
my ($before, @parts) = split /^### /m, $page;
my $fits = join '', $before =~ /^```sql\n(.*?)^```/gms;
my @questions;
for (@parts) {
  my $text = s/^## .*//msr;
  my ($name) = $text =~ /^(\d+\. .*)/;
  my ($plain, $function) = map { s/;\s*\z//r } $text =~ /^```sql\n(.*?)^```/gms;
  my ($how, $of) = $text =~ /^(Answered by|Exact plan:) `([^`]+)`/m;
  my ($keys) = $plain =~ /GROUP BY (1(?:, \d)*)/;
  check(defined $how, "$name: who answers is not said") or next;
  push @questions, { name => $name, plain => $plain, function => $function, of => $of,
    exact => $how eq 'Exact plan:', keys => scalar(my @list = split /,/, $keys // '') };
}
# What cannot be asked, and what to ask instead, if a statement.
my @instead = map { { cannot => $_->[0], can => $_->[1], keys => $_->[0] =~ /GROUP BY/ ? 1 : 0 } }
  map { [ /^\| `(SELECT [^`]+)` \| (?:`(SELECT [^`]+)`)?/ ] } grep { /^\| `SELECT/ } split /\n/, $page;

# -------------------------------------------------------------------------------------------- asking

sub psql {
  my ($database, $script, @options) = @_;
  my ($in, $name) = tempfile(UNLINK => 1);
  binmode $in, ':encoding(UTF-8)';
  print $in $script;
  close $in;
  open my $out, '-|', 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $database, @options, '-f', $name or die "psql: $!\n";
  local $/;
  my $text = <$out> // '';
  close $out or die "cookbook: psql failed\n";
  return $text;
}

# What each script of SQL gives, all in one session after $first: of the last statement the rows as lists of
# values, the columns' names, and milliseconds.
sub answers {
  my ($first, @scripts) = @_;
  my $text = psql('cookbook', "\\o /dev/null\n$first\n\\o\n\\pset format csv\n\\pset null NULL\n\\timing on\n"
    . "SET client_min_messages = warning;\nSET kde_aqp.approximate_notice = off;\n" . join '', map { "\\echo \@\@\n$_\n;\n" } @scripts);
  my (undef, @answers) = split /^\@\@\n/m, $text, -1;
  for (@answers) {
    my ($ms) = /.*^Time: ([\d.]+) ms/ms;
    my ($names, @rows) = map { [ split /,/, $_, -1 ] } grep { !/^Time: / } split /\n/, $_;
    $_ = { names => $names, rows => \@rows, ms => $ms };
  }
  return @answers;
}

# What is asked of a question, in this order: exactly, of densities, of functions; who answers, and why not a density.
sub scripts_of {
  my ($q) = @_;
  return ("SET kde_aqp.approximate = off;\n$q->{plain}", "SET kde_aqp.approximate = top;\n$q->{plain}", $q->{function} // 'SELECT',
    explain($q->{plain}), "SELECT DISTINCT reason FROM kde_explain_query(\$query\$$q->{plain}\$query\$)");
}

sub explain { return "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) $_[0]" }

# The largest relative error of an answer, or undef where it has other rows, columns or NULLs, or where the
# exact one is not within the ends of an interval.
sub error_of {
  my ($q, $exact, $got) = @_;
  return undef unless @{ $exact->{names} } == @{ $got->{names} } && @{ $exact->{rows} } == @{ $got->{rows} };
  my $last = $q->{keys} - 1;
  my %row = map { join(',', @$_[ 0 .. $last ]) => $_ } @{ $exact->{rows} };
  my $largest = 0;
  for my $row (@{ $got->{rows} }) {
    my $true = $row{ join(',', @$row[ 0 .. $last ]) } or return undef;
    for my $i ($last + 1 .. $#$row) {
      my ($x, $y, $name) = ($true->[$i], $row->[$i], $exact->{names}[$i]);
      next if $x eq $y;
      return undef if $x eq 'NULL' || $y eq 'NULL';
      if ($name eq 'least') { return undef if $y > $x; }
      elsif ($name eq 'most') { return undef if $y < $x; }
      else { $largest = max($largest, abs($y - $x) / max(abs($x), 1e-300)); }
    }
  }
  return $largest;
}

# Who answered: the densities' names, and whether all of it was by them.
sub answered {
  my ($explained) = @_;
  my $plan = join "\n", map { join ',', @$_ } @{ $explained->{rows} };
  my %names = map { $_ => 1 } $plan =~ /Density: (.*?)"?$/mg;
  return (join(' and ', sort keys %names), $plan =~ /Answered: by the density/ && $plan !~ /Answered: by the exact plan/);
}

psql('postgres', 'CREATE DATABASE cookbook');
psql('cookbook', 'CREATE EXTENSION kde_aqp');
psql('cookbook', content('docs/check/cookbook.sql'), $rows ? ('-v', "rows=$rows") : ());

# --------------------------------------------------------------------------------------------- tasks

if ($task eq 'check') {
  my @answers = answers($fits, map { scripts_of($_) } @questions);
  for my $q (@questions) {
    my ($exact, $got, $function, $plan, $reasons) = splice @answers, 0, 5;
    my ($of, $by_density) = answered($plan);
    if ($q->{exact}) {
      my $why = join '; ', map { join ',', @$_ } @{ $reasons->{rows} };
      check(!$by_density && $why =~ /\Q$q->{of}\E/, "$q->{name}: the exact plan runs as $why, says the server");
    } else {
      check($by_density && $of eq $q->{of}, "$q->{name}: who answers is " . ($by_density ? $of : 'the exact plan'));
    }
    my %answer = (plain => $got, $q->{function} ? (function => $function) : ());
    for my $kind (sort keys %answer) {
      my $error = error_of($q, $exact, $answer{$kind});
      check(defined $error && $error <= $TOLERANCE, "$q->{name}: by $kind the answer is off by " . ($error // 'rows or columns'));
    }
    check($page =~ /^\| \Q$q->{name}\E \|/m, "$q->{name}: the table has no figures");
  }
  my @of = answers("DROP MATERIALIZED VIEW amounts_by_region;\n$fits", map { my ($cannot, $can) = ($_->{cannot}, $_->{can} // 'SELECT');
    ("SET kde_aqp.approximate = off;\n$cannot", "SET kde_aqp.approximate = top;\n$can", explain($cannot), explain($can)) } @instead);
  for my $q (@instead) {
    my ($exact, $got, $cannot, $can) = splice @of, 0, 4;
    check(!(answered($cannot))[1], "a density answers: $q->{cannot}");
    next unless defined $q->{can};
    my $error = error_of($q, $exact, $got);
    check((answered($can))[1], "no density answers: $q->{can}");
    check(defined $error && $error <= $TOLERANCE, "other answers: $q->{can}");
  }
  check(@questions == 27, scalar(@questions) . ' questions are there');
  psql('postgres', 'DROP DATABASE cookbook');
  print "$PAGE: $passed passed, $failed failed\n";
  exit($failed ? 1 : 0);
}

sub median { my @sorted = sort { $a <=> $b } @_; return $sorted[ $#sorted / 2 ] }
sub percent {
  my ($error) = map { defined $_ ? 100 * $_ : undef } @_;
  return !defined $error ? 'other rows' : $error < 1e-7 ? '0' : $error < 0.001 ? '< 0.001 %' : sprintf('%.2g %%', $error);
}
sub ms { my ($ms) = @_; return $ms < 10 ? sprintf('%.1f', $ms) : sprintf('%.0f', $ms) }

# Errors and medians of each question: of every row, then of samples of blocks.
my (@figures, @sampled);
for my $figures (\@figures, \@sampled) {
  my @answers = answers($fits, (map { (scripts_of($_))[ 0 .. 2 ] } @questions) x $runs, map { explain($_->{plain}) } @questions);
  for my $i (0 .. $#questions) {
    my $q = $questions[$i];
    my @of = map { [ @answers[ map { $_ + 3 * $i } $_ * 3 * @questions .. $_ * 3 * @questions + 2 ] ] } 0 .. $runs - 1;
    my ($exact, @got) = @{ $of[-1] };
    my @time = map { my $which = $_; median(map { $_->[$which]{ms} } @of) } 0 .. 2;
    my $by_density = (answered($answers[ 3 * @questions * $runs + $i ]))[1];
    push @$figures, { exact => $time[0], $by_density ? (plain => [ $time[1], error_of($q, $exact, $got[0]) ]) : (),
      $q->{function} ? (function => [ $time[2], error_of($q, $exact, $got[1]) ]) : () };
  }
  psql('cookbook', 'SET client_min_messages = warning; DROP EXTENSION kde_aqp CASCADE; CREATE EXTENSION kde_aqp');
  $fits =~ s/sample_rows => -1/sample_rows => NULL/g;
}
print "| question | exact plan, ms | density, ms | error | of a sample |\n|---|---:|---:|---:|---:|\n";
for my $i (0 .. $#questions) {
  my ($all, $sample) = ($figures[$i], $sampled[$i]);
  for my $kind ('plain', 'function') {
    next if $kind eq 'function' && !$questions[$i]{function};
    my $name = $kind eq 'plain' ? $questions[$i]{name} : 'by function';
    my $of_sample = $sample->{$kind} ? percent($sample->{$kind}[1]) : 'exact plan';
    printf "| %s | %s | %s | %s | %s |\n", $name, ms($all->{exact}), !$all->{$kind} ? ('exact plan', '', $of_sample)
      : (ms($all->{$kind}[0]), percent($all->{$kind}[1]), $of_sample);
  }
}
