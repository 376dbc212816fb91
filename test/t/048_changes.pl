# What is said of a table whose rows changed, for each way that the server's counters lose changes, each form of
# density and each who asks: nothing is exact, within an error or fresh that is not.
#
# Each cell is a table of its own with one density, so that nothing but that density can answer. A way changes the
# rows of each. Then everybody is asked, and must answer what exact SQL does, or an interval that holds it, or say
# as of when he answers, or refuse.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $rows = 4000;
my $columns = q{x integer, y numeric(10,2), region text};
my $values = qq{SELECT i % 50, (i % 1000) / 10.0, (ARRAY['EU', 'US', 'Asia'])[1 + i % 3] FROM generate_series(1, $rows) AS i};

# Of each form: the density's name and fit of a table T, and a question in plain SQL, by a function, by a condition.
my %forms = (
  column => { of => 'T.x', fit => q{'T', 'x', sample_rows => -1},
    plain => 'SELECT count(*) FROM T WHERE x BETWEEN 10 AND 19', call => q{approx_count_ci('T.x', 10, 19 MORE)} },
  measure => { of => 'T.x', fit => q{'T', 'x', measures => ARRAY['y'], sample_rows => -1},
    plain => 'SELECT sum(y) FROM T WHERE x BETWEEN 10 AND 19', call => q{approx_sum_ci('T.x', 10, 19, measure => 'y' MORE)} },
  groups => { of => 'T.x by (region)', fit => q{'T', 'x', group_by => 'region', sample_rows => -1},
    plain => q{SELECT count(*) FROM T WHERE region = 'EU' AND x BETWEEN 10 AND 19},
    call => q{(SELECT count AS estimate, count_lower AS lower_bound, count_upper AS upper_bound FROM approx_groups('T.x by (region)', 10, 19 MORE) WHERE group_key = 'EU') AS g},
    where => q{region = 'EU' AND x BETWEEN 10 AND 19} },
  every_group => { of => 'T.x by (region)', fit => q{'T', 'x', group_by => 'region', sample_rows => -1},
    plain => q{SELECT region, count(*) FROM T GROUP BY region ORDER BY region} },
  words => { of => 'T.region', fit => q{'T', 'region', sample_rows => -1},
    plain => q{SELECT count(*) FROM T WHERE region = 'EU'}, call => q{approx_count_ci('T.region', 'EU' MORE)}, where => q{region = 'EU'} },
  joint => { of => 'T (x, y)', fit => q{'T', ARRAY['x', 'y']},
    plain => 'SELECT count(*) FROM T WHERE x BETWEEN 10 AND 19 AND y <= 50',
    call => q{approx_count_ci('T (x, y)', ARRAY[10, NULL], ARRAY[19, 50] MORE)}, where => 'x BETWEEN 10 AND 19 AND y <= 50' },
  expression => { of => 'T (x * 2)', fit => q{'T', ARRAY['x * 2'], sample_rows => -1},
    plain => 'SELECT count(*) FROM T WHERE x * 2 BETWEEN 20 AND 39', call => q{approx_count_ci('T (x * 2)', ARRAY[20], ARRAY[39] MORE)},
    where => 'x * 2 BETWEEN 20 AND 39' },
  filter => { of => 'T.x', filter => 'y > 5', fit => q{'T', 'x', filter => 'y > 5', sample_rows => -1},
    plain => 'SELECT count(*) FROM T WHERE y > 5 AND x BETWEEN 10 AND 19', call => q{approx_count_ci('T.x', 10, 19, filter => 'y > 5' MORE)},
    where => 'y > 5 AND x BETWEEN 10 AND 19' },
  tree => { of => 'T.x', parts => 1, fit => q{'T', 'x', sample_rows => -1},
    plain => 'SELECT count(*) FROM T WHERE x BETWEEN 10 AND 19', call => q{approx_count_ci('T.x', 10, 19 MORE)} },
);
my @forms = sort keys %forms;
my @without_parts = grep { !$forms{$_}{parts} } @forms;

sub of_table {
  my ($text, $table, $more) = @_;
  $more //= '';
  return $text =~ s/\bT\b/$table/gr =~ s/ MORE/$more/gr;
}

sub table_of { my ($way, $form) = @_; return "${way}_$form"; }

sub create_table {
  my ($table, $form, $kind) = @_;
  return "CREATE FOREIGN TABLE $table ($columns) SERVER here OPTIONS (table_name '${table}_there');" if $kind eq 'FOREIGN';
  return "CREATE $kind TABLE $table ($columns);" unless $forms{$form}{parts};
  my $root = $kind eq 'UNLOGGED' ? '' : $kind;  # whose partitions may be, from 18 on
  return join '', "CREATE $root TABLE $table ($columns) PARTITION BY RANGE (x);",
    map { "CREATE $kind TABLE ${table}_p$_ PARTITION OF $table FOR VALUES FROM (" . 25 * $_ . ') TO (' . (25 * $_ + 25) . ');' } 0 .. 3;
}

sub fit {
  my ($table, $form) = @_;
  my $f = $forms{$form};
  my $filter = $f->{filter} ? ", filter => '$f->{filter}'" : '';
  return of_table("SELECT FROM kde_fit($f->{fit}); SELECT kde_set_plain_sql('$f->{of}', true$filter);", $table);
}

# The tables of a way with their densities, vacuumed so that proofs hold.
sub prepare {
  my ($node, $way, $kind, @only) = @_;
  for my $form (@only ? @only : @forms) {
    my $table = table_of($way, $form);
    $node->safe_psql('postgres', create_table("${table}_there", 'column', '')) if $kind eq 'FOREIGN';
    $node->safe_psql('postgres', create_table($table, $form, $kind) . "INSERT INTO $table $values;");
    $node->safe_psql('postgres', "VACUUM ANALYZE $table") if $kind ne 'FOREIGN';
    $node->safe_psql('postgres', fit($table, $form));
  }
  return;
}

sub on_each {
  my ($node, $way, $what, @only) = @_;
  $node->safe_psql('postgres', join ';', map { $what->(table_of($way, $_)) } @only ? @only : @forms);
  return;
}

# A quarter more rows, all in the range that is asked about.
sub more { my ($table) = @_; return "INSERT INTO $table SELECT 15, 1000000, 'EU' FROM generate_series(1, 1000)"; }

# ------------------------------------------------------------------------------------------ who asks

my ($cells, %wrong) = (0);

# Rows of keys and numbers, which may be off by a share.
sub is_close {
  my ($got, $exact, $share) = @_;
  my @got = split /[|\n]/, $got;
  my @exact = split /[|\n]/, $exact;
  return 0 if @got != @exact;
  for my $i (0 .. $#got) {
    next if $got[$i] eq $exact[$i];
    return 0 if "$got[$i]$exact[$i]" =~ /[^0-9.]/ || abs($got[$i] - $exact[$i]) > $share * abs($exact[$i]) + 1e-6;
  }
  return 1;
}

sub holds {
  my ($lower, $exact, $upper) = @_;
  return ($lower eq '-Infinity' || $lower <= $exact) && ($upper eq 'Infinity' || $exact <= $upper);
}

sub cell {
  my ($way, $form, $who, $good, $said) = @_;
  ++$cells;
  push @{ $wrong{$way} }, "$form, $who: $said" unless $good;
  return;
}

# changed: whether more than a tenth of the rows are others than at the fit.
sub ask_all {
  my ($node, $way, $form, %how) = @_;
  my ($table, $f) = (table_of($way, $form), $forms{$form});
  my $session = open_session($node, $how{database} // 'postgres');
  my $tells = qr/answers as of|is stale/;
  my $plain = of_table($f->{plain}, $table);
  my $exact = ask($session, $plain);

  ask($session, 'SET kde_aqp.approximate = top');
  my ($out, $err) = ask($session, $plain);
  my $by_density = $err =~ /answered by the densit/;
  cell($way, $form, 'plain SQL', $by_density ? is_close($out, $exact, 0.01) && $err !~ /as of/ : $out eq $exact, "$out for $exact, $err");

  if ($f->{call}) {
    ($out, $err) = ask($session, 'SELECT lower_bound, upper_bound FROM ' . of_table($f->{call}, $table));
    cell($way, $form, 'function', $err =~ /ERROR/ || $err =~ $tells || $out !~ /\|./ || holds((split /\|/, $out)[0], $exact, (split /\|/, $out)[1]),
      "$out for $exact, $err");
    ($out, $err) = ask($session, 'SELECT estimate FROM ' . of_table($f->{call}, $table, ', max_relative_error => 0.01'));
    cell($way, $form, 'function with an error', $err =~ /ERROR/ || is_close($out, $exact, 0.01), "$out for $exact, $err");
  }
  if ($f->{where}) {
    my $where = $f->{where} =~ s/'/''/gr;
    # As of when answers are is told once a session.
    my $other = open_session($node, $how{database} // 'postgres');
    ($out, $err) = ask($other, "SELECT count_lower, count_upper, exact FROM approx_where('$table', '$where')");
    $other->quit;
    my ($lower, $upper, $is_exact) = split /\|/, $out;
    my $told = $err =~ $tells && ($is_exact // '') ne 't';
    cell($way, $form, 'approx_where', $err =~ /ERROR/ || $told || holds($lower, $exact, $upper), "$out for $exact, $err");
  }
  my $state = ask($session, "SELECT string_agg(DISTINCT state, ', ') FROM kde_densities WHERE name LIKE '$table%'");
  cell($way, $form, 'kde_densities', !$how{changed} || $state !~ /^fresh/, $state);
  $session->quit;
  return;
}

sub nothing_wrong {
  my ($way) = @_;
  return is(join("\n", @{ delete $wrong{$way} // [] }), '', "$way: nothing wrong is promised");
}

sub check {
  my ($node, $way, @how) = @_;
  my ($only, %how) = (\@forms, @how);
  $only = delete $how{only} // $only;
  ask_all($node, $way, $_, changed => 1, %how) for @$only;
  return nothing_wrong($way);
}

# --------------------------------------------------------------------------------------------- ways

my $node = PostgreSQL::Test::Cluster->new('primary');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', "autovacuum = off\nmax_prepared_transactions = 5\nsession_preload_libraries = kde_aqp");
$node->start;
$node->safe_psql('postgres', q{
  CREATE EXTENSION kde_aqp;
  CREATE EXTENSION postgres_fdw;
  DO $$ BEGIN EXECUTE format('CREATE SERVER here FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host %L, port %L, dbname %L)',
    split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'), 'postgres'); END $$;
  CREATE USER MAPPING FOR CURRENT_USER SERVER here;
  CREATE PROCEDURE in_steps(name text) LANGUAGE plpgsql AS $$
    BEGIN
      FOR i IN 1 .. 10 LOOP
        EXECUTE format('INSERT INTO %I SELECT 15, 1000000, ''EU'' FROM generate_series(1, 100)', name);
        COMMIT;
      END LOOP;
      PERFORM pg_advisory_lock(1);
      PERFORM pg_advisory_unlock(1);
    END $$;
});

# Nothing changed: everybody answers, and exactly. Else all that follows proves nothing.
prepare($node, 'same', '');
# A joint density is of a sample.
for my $form (@forms) {
  my $session = open_session($node);
  ask($session, 'SET kde_aqp.approximate = top');
  ask($session, 'SET kde_aqp.approximate_error = 1') if $form eq 'joint';
  my $table = table_of('same', $form);
  my ($out, $err) = ask($session, of_table($forms{$form}{plain}, $table));
  like($err, qr/answered by the density of .*\s+DETAIL:  Its answers are (exact|within [^,]*)(, at a confidence of 95 %)?\./, "unchanged, $form: a density answers");
  is(ask($session, "SELECT string_agg(DISTINCT state, ', ') FROM kde_densities WHERE name LIKE '$table%'"), 'fresh', 'and is fresh');
  $session->quit;
}
check($node, 'same', changed => 0);

prepare($node, 'counted', '');
on_each($node, 'counted', \&more);
check($node, 'counted');

prepare($node, 'untracked', '');
on_each($node, 'untracked', sub { 'SET track_counts = off; ' . more($_[0]) });
check($node, 'untracked');

prepare($node, 'reset', '');
on_each($node, 'reset', \&more);
$node->safe_psql('postgres', 'SELECT pg_stat_reset()');
check($node, 'reset');

prepare($node, 'reset_one', '');
on_each($node, 'reset_one', sub { more($_[0]) . "; SELECT pg_stat_reset_single_table_counters(oid) FROM pg_class WHERE relname LIKE '$_[0]%'" });
check($node, 'reset_one');

# Counters that have not been sent: of a procedure that goes on, and of a chained transaction.
prepare($node, $_, '') for 'procedure', 'chained';
my ($holder, $writer) = (open_session($node), open_session($node));
for my $form (@forms) {
  my $table = table_of('procedure', $form);
  ask($holder, 'SELECT pg_advisory_lock(1)');
  send_sql($writer, "CALL in_steps('$table')");
  ok(wait_until(sub { $node->safe_psql('postgres', "SELECT count(*) FROM $table") == $rows + 1000 }), "$form: a procedure has committed");
  ask_all($node, 'procedure', $form, changed => 1);
  ask($holder, 'SELECT pg_advisory_unlock(1)');
  end_sql($writer);

  ask($writer, 'BEGIN');
  ask($writer, more(table_of('chained', $form)));
  ask($writer, 'COMMIT AND CHAIN');
  ask_all($node, 'chained', $form, changed => 1);
  ask($writer, 'COMMIT');
}
nothing_wrong($_) for 'procedure', 'chained';

# Rows that were in progress at the fit, or prepared; VACUUM then sets their bits.
prepare($node, $_, '') for 'progress', 'prepared';
for my $form (@forms) {
  my $table = table_of('progress', $form);
  ask($writer, 'BEGIN');
  ask($writer, more($table));
  $node->safe_psql('postgres', fit($table, $form));
  ask($writer, 'COMMIT');
  ask_all($node, 'progress', $form, changed => 1);
  $node->safe_psql('postgres', "VACUUM $table");
  ask_all($node, 'progress', $form, changed => 1);

  $table = table_of('prepared', $form);
  ask($writer, 'BEGIN');
  ask($writer, more($table));
  ask($writer, "PREPARE TRANSACTION 'p'");
  $node->safe_psql('postgres', fit($table, $form));
  ask($writer, "COMMIT PREPARED 'p'");
  $node->safe_psql('postgres', "VACUUM $table");
  ask_all($node, 'prepared', $form, changed => 1);
}
nothing_wrong($_) for 'progress', 'prepared';

# A fit under an old snapshot.
prepare($node, 'repeatable', '');
for my $form (@forms) {
  my $table = table_of('repeatable', $form);
  ask($writer, 'BEGIN ISOLATION LEVEL REPEATABLE READ');
  ask($writer, "SELECT count(*) FROM $table");
  $node->safe_psql('postgres', more($table));
  ask($writer, "SELECT kde_drop('" . of_table($forms{$form}{of}, $table) . "')") unless $forms{$form}{filter};
  ask($writer, fit($table, $form));
  ask($writer, 'COMMIT');
  ask_all($node, 'repeatable', $form, changed => 1);
  $node->safe_psql('postgres', "VACUUM $table");
  ask_all($node, 'repeatable', $form, changed => 1);
}
nothing_wrong('repeatable');

prepare($node, 'rewritten', '');
on_each($node, 'rewritten', sub { "ALTER TABLE $_[0] ALTER y TYPE numeric(12,2) USING y * 1000, ALTER region TYPE text USING reverse(region); ANALYZE $_[0]" });
check($node, 'rewritten');

prepare($node, 'truncated', '');
on_each($node, 'truncated', sub { "TRUNCATE $_[0]; " . more($_[0]) });
$node->safe_psql('postgres', 'SELECT pg_stat_reset()');
check($node, 'truncated');

# Statistics lost before the fit; then partitions go and come.
my @partitioned = ('tree');
my %partitions = (
  detached => sub { "ALTER TABLE $_[0] DETACH PARTITION $_[0]_p0" },
  dropped => sub { "DROP TABLE $_[0]_p0" },
  attached => sub { "CREATE TABLE $_[0]_p4 (LIKE $_[0]); INSERT INTO $_[0]_p4 SELECT 110, 1, 'EU' FROM generate_series(1, 1000);"
    . "ALTER TABLE $_[0] ATTACH PARTITION $_[0]_p4 FOR VALUES FROM (100) TO (125)" });
for my $way (sort keys %partitions) {
  prepare($node, $way, '', @partitioned);
  $node->safe_psql('postgres', 'SELECT pg_stat_reset();' . fit(table_of($way, 'tree'), 'tree'));
  on_each($node, $way, $partitions{$way}, @partitioned);
  check($node, $way, only => \@partitioned);
}

# All in one transaction, in a file that it made.
for my $form (@forms) {
  my $table = table_of('one_transaction', $form);
  $node->safe_psql('postgres', join ';', 'BEGIN', create_table($table, $form, ''), "INSERT INTO $table $values", fit($table, $form), "TRUNCATE $table",
    more($table), 'COMMIT');
}
check($node, 'one_transaction');
$node->safe_psql('postgres', 'VACUUM ' . table_of('one_transaction', $_)) for @forms;
check($node, 'one_transaction');

# A value that was made of an older state.
my @stored = ('column');
prepare($node, 'stored', '', @stored);
$node->safe_psql('postgres', q{
  CREATE TABLE value AS SELECT kde_density('stored_column.x') AS d;
  INSERT INTO stored_column SELECT 15, 1, 'EU' FROM generate_series(1, 1000);
  SELECT kde_drop('stored_column.x');
  SELECT kde_store('stored_column', 'x', (SELECT d FROM value));
  SELECT kde_set_plain_sql('stored_column.x', true);
});
check($node, 'stored', only => \@stored);

prepare($node, 'unlogged', 'UNLOGGED');
prepare($node, 'foreign', 'FOREIGN', @without_parts);
on_each($node, 'foreign', \&more, @without_parts);
check($node, 'foreign', only => \@without_parts);

prepare($node, $_, '') for 'copied', 'crashed';
$_->quit for $holder, $writer;
$node->safe_psql('template1', 'CREATE DATABASE copy TEMPLATE postgres');
$node->safe_psql('copy', more(table_of('copied', $_))) for @forms;
check($node, 'copied', database => 'copy');

on_each($node, 'crashed', \&more);
$node->stop('immediate');
$node->start;
check($node, 'crashed');
check($node, 'unlogged');

# A standby, and what it is after its promotion.
prepare($node, 'replayed', '');
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
on_each($node, 'replayed', \&more);
$node->wait_for_catchup($standby);
check($standby, 'replayed');
check($standby, 'same', changed => 0);
$node->stop;
$standby->promote;
check($standby, 'replayed');
on_each($standby, 'same', \&more);
check($standby, 'same');
$standby->stop;

diag("$cells cells");
cmp_ok($cells, '>=', 800, 'so many cells');
done_testing();
