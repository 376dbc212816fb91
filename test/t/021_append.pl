# Incremental upkeep: rows appended since the last fit are added to its sample. Where every row is read
# the density is, byte for byte, that of a fit of all rows with the same seed; what cannot be appended
# is fitted anew, and the refresh says why.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', <<'CONF');
autovacuum = off
kde_aqp.refresh_threshold = 0
kde_aqp.refresh_scale_factor = 0
CONF
$node->start;
$node->safe_psql('postgres', q{
  CREATE EXTENSION kde_aqp;
  -- A fit as it was asked for, with the rows it has, as one word.
  CREATE FUNCTION density_of(of regclass) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(md5(density::text) || ' of ' || rows_read, ', ' ORDER BY column_names, filter)
    FROM kde_aqp.fitted WHERE relation = of $$;
});
sub sql { return $node->safe_psql('postgres', $_[0]) }

# What kde_refresh says: action, and reason behind what changed.
sub refresh {
  my ($relation, $before) = @_;
  my $out = sql(($before // '') . "SELECT action, reason FROM kde_refresh('$relation')");
  $out =~ s/\|[^;\n]*; /|/g;
  return $out;
}

# ---------------------------------------------------------------- as a fit of all the rows

# The same rows go to t, where they are appended, and to twin, which is fitted anew each time.
sql(q{
  CREATE TABLE t (id serial, v double precision, n numeric(10,2), at timestamptz, w integer);
  CREATE TABLE twin (LIKE t);
});
my $rows = 0;
sub grow {
  my ($n) = @_;
  # Some are null, some are none; the later, the larger.
  sql(qq{
    INSERT INTO t (v, n, at, w)
    SELECT CASE WHEN i % 17 = 0 THEN NULL WHEN i % 701 = 0 THEN 'NaN' ELSE ln(i + 1) * sin(i) + i / 1e4 END,
           i * 7919 % 997 / 100.0, '2026-01-01'::timestamptz + i * interval '37 s', i % 7
    FROM generate_series($rows, $rows + $n - 1) AS i;
    INSERT INTO twin SELECT * FROM t WHERE id > $rows ORDER BY id});
  $rows += $n;
}
my @fits = (
  [ q{'v'}, q{seed => 1} ],
  [ q{'v'}, q{seed => 2, sample_rows => 500, filter => 'w > 2'} ],
  [ q{'v'}, q{seed => 3, sample_rows => -1, method => 'lscv', filter => 'w > 1'} ],
  [ q{'v'}, q{seed => 4, method => 'sheather_jones', sample_rows => 800, filter => 'w > 0'} ],
  [ q{'n'}, q{seed => 5, sample_rows => 700} ],
  [ q{'at'}, q{seed => 6, method => 'plugin'} ],
  [ q{ARRAY['v * w']}, q{seed => 7, sample_rows => 900} ],
);
sub fit_all {
  my ($relation) = @_;
  return join '', map { "SELECT seed FROM kde_fit('$relation', $_->[0], $_->[1]);" } @fits;
}
for my $by ('block', 'key:id') {
  sql('TRUNCATE t, twin RESTART IDENTITY');
  $rows = 0;
  grow(3000);
  # The setting is of a density that is fitted; the next fit keeps the state.
  sql(fit_all('t'));
  sql("SELECT kde_set_refresh(relation, column_names, filter, append_by => '$by')
       FROM kde_densities WHERE relation = 't'::regclass");
  is(sql(q{SELECT count(*) FROM kde_refresh('t', force => true) WHERE action = 'refitted'}), @fits,
    "$by: fitted with a state");
  for my $step (1, 900, 5000) {
    grow($step);
    $node->restart if $step == 900;
    like(refresh('t'), qr/\A(appended\|rows appended: \d+, exact\n?){@{[scalar @fits]}}\z/, "$by: $step rows are appended");
    sql(fit_all('twin'));
    is(sql(q{SELECT density_of('t')}), sql(q{SELECT density_of('twin')}), "$by: as a fit of all $rows rows");
  }
}
is(sql(q{SELECT count(*) FILTER (WHERE append_by = 'key:id'), bool_and(age < interval '1 hour') FROM kde_densities
         WHERE relation = 't'::regclass}), @fits . '|t', 'appending keeps the settings');

# ---------------------------------------------------------------- what is fitted anew, and why

sql(q{
  CREATE TABLE f (k integer, v double precision, s text);
  INSERT INTO f SELECT i, sqrt(i), 'x' FROM generate_series(1, 5000) AS i;
  SELECT 1 FROM kde_fit('f', 'v', seed => 1);
  SELECT kde_set_refresh('f', 'v', append_by => 'block');
});
my $next = 5001;
my $more = sub {
  my ($n) = @_;
  $next += $n;
  return 'INSERT INTO f SELECT i, sqrt(i), \'x\' FROM generate_series(' . ($next - $n) . ', ' . ($next - 1) . ') AS i;';
};
sub is_refitted {
  my ($sql, $why, $what) = @_;
  sql($sql);
  is(refresh('f'), "refitted|not appended: $why", $what);
  # The fit leaves a state that is good again.
  sql($more->(10));
  is(refresh('f'), 'appended|rows appended: 10, exact', "$what: the next rows are appended");
}
is_refitted($more->(10), 'no state was kept by the last fit', 'the first refresh');
is_refitted($more->(10) . 'UPDATE f SET v = -1 WHERE k = 7', 'rows were updated or deleted: 1', 'an update');
is_refitted($more->(10) . 'DELETE FROM f WHERE k <= 3', 'rows were updated or deleted: 3', 'a delete');
is_refitted('TRUNCATE f;' . $more->(3000), '"f" was truncated or rewritten', 'TRUNCATE');
is_refitted('VACUUM FULL f;' . $more->(10), '"f" was truncated or rewritten', 'VACUUM FULL');
is_refitted(q{SELECT pg_stat_reset_single_table_counters('f'::regclass);} . $more->(10), 'statistics were reset',
  'statistics reset');
is_refitted('UPDATE kde_aqp.upkeep SET sampler = substr(sampler, 1, length(sampler) - 1);' . $more->(10),
  'its state cannot be read', 'a state cut short');
is_refitted(q{UPDATE kde_aqp.upkeep SET sampler = set_byte(sampler, 0, 0);} . $more->(10),
  'its state cannot be read', 'a state of something else');
is_refitted(q{UPDATE kde_aqp.upkeep SET sampler = set_byte(sampler, length(sampler) - 5, 255);
              UPDATE kde_aqp.upkeep SET sampler = set_byte(sampler, length(sampler) - 6, 255);} . $more->(10),
  'its state cannot be read', 'a damaged sample');
is_refitted(q{SELECT kde_set_refresh('f', 'v', append_by => 'key:k');} . $more->(10),
  'its settings have changed', 'another way to append');
is_refitted(q{INSERT INTO f VALUES (1, 1, 'x'), (2, 1, 'x'), (3, 1, 'x');} . $more->(10),
  'rows were inserted elsewhere than rows are appended: 3', 'smaller keys');
sql($more->(10));
is(refresh('f', 'SET kde_aqp.bandwidth_rows = 1000;'), 'refitted|not appended: its settings have changed',
  'another bandwidth_rows');
sql($more->(10));
is(refresh('f'), 'refitted|not appended: its settings have changed', 'and back');
my $out = sql($more->(10) . q{BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT action, reason FROM kde_refresh('f'); COMMIT});
like($out, qr/^refitted\|.*the transaction reads as of its beginning$/, 'REPEATABLE READ');
sql($more->(10));
is(refresh('f'), 'refitted|not appended: no state was kept by the last fit', 'which keeps no state');

# Of several columns.
sql(q{SELECT 1 FROM kde_fit('f', ARRAY['k', 'v'], seed => 1);
      SELECT kde_set_refresh('f', ARRAY['k', 'v'], append_by => 'block'); } . $more->(10));
like(refresh('f'), qr/^refitted\|not appended: a density of several columns is fitted anew$/m, 'several columns');
sql(q{SELECT kde_drop('f', ARRAY['k', 'v'])});

# Not at all any more: the state goes with the next fit.
sql(q{SELECT kde_set_refresh('f', 'v', append_by => '');} . $more->(10));
like(refresh('f'), qr/^refitted\|[^;]*$/, 'append_by withdrawn');
is(sql(q{SELECT sampler IS NULL FROM kde_aqp.upkeep AS u JOIN kde_aqp.fitted AS d ON d.id = u.density_id
         WHERE d.relation = 'f'::regclass}), 't', 'without a state left');

# What cannot be kept is told at the fit.
my ($code, $stdout, $stderr) = $node->psql('postgres', q{
  SELECT kde_set_refresh('f', 'v', append_by => 'key:nothing')});
like($stderr, qr/ERROR:  column "nothing" of relation "f" does not exist/, 'a key that is none');
($code, $stdout, $stderr) = $node->psql('postgres', q{
  ALTER TABLE f ADD nothing integer;
  SELECT kde_set_refresh('f', 'v', append_by => 'key:nothing');
  ALTER TABLE f DROP nothing;
  SELECT 1 FROM kde_fit('f', 'v')});
like($stderr, qr/NOTICE:  rows appended later will not be added.*\n.*it has no column "nothing"/, 'a key that is none any more');
($code, $stdout, $stderr) = $node->psql('postgres', q{
  SELECT kde_set_refresh('f', 'v', append_by => 'key:s');
  SELECT 1 FROM kde_fit('f', 'v')});
like($stderr, qr/DETAIL:  column "s" is of type text, which is no key/, 'a key without order of numbers');

# ---------------------------------------------------------------- partitions

sql(q{
  CREATE TABLE p (k integer, v double precision) PARTITION BY RANGE (k);
  CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10000);
  CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10000) TO (20000);
  INSERT INTO p SELECT i, sqrt(i) FROM generate_series(1, 15000) AS i;
  CREATE TABLE p3 (k integer, v double precision);
  INSERT INTO p3 SELECT i, sqrt(i) FROM generate_series(20000, 20999) AS i;
  UPDATE p3 SET v = v + 1;
  SELECT 1 FROM kde_fit('p', 'v', seed => 1);
  SELECT kde_set_refresh('p', 'v', append_by => 'block');
  SELECT 1 FROM kde_fit('p', 'v', seed => 1);
  ALTER TABLE p ATTACH PARTITION p3 FOR VALUES FROM (20000) TO (30000);
});
is(refresh('p'), 'appended|rows appended: 1000, exact', 'a partition attached');
sql(q{INSERT INTO p SELECT i, sqrt(i) FROM generate_series(21000, 21999) AS i});
is(refresh('p'), 'appended|rows appended: 1000, exact', 'and filled');
my $density = sql(q{SELECT density_of('p')});
sql(q{SELECT 1 FROM kde_fit('p', 'v', seed => 1)});
is(sql(q{SELECT density_of('p')}), $density, 'as a fit of all partitions');
sql(q{INSERT INTO p SELECT i, sqrt(i) FROM generate_series(9000, 9099) AS i});
is(refresh('p'), 'appended|rows appended: 100, exact', 'rows of an earlier partition');
sql(q{ALTER TABLE p DETACH PARTITION p1});
is(refresh('p'), 'refitted|not appended: partition "p1" was detached or dropped', 'a partition detached');

# ---------------------------------------------------------------- sessions side by side

# A wide row takes a block of its own: whoever inserts narrow ones stays in an earlier block.
sql(q{
  CREATE TABLE c (v double precision, pad text);
  ALTER TABLE c ALTER pad SET STORAGE PLAIN;
  INSERT INTO c SELECT i, NULL FROM generate_series(1, 1000) AS i;
  SELECT 1 FROM kde_fit('c', 'v', seed => 1);
  SELECT kde_set_refresh('c', 'v', append_by => 'block');
});
my $narrow = open_session($node);
my $wide = open_session($node);
my $inserted = 1000;
sub insert {
  my ($session, $n) = @_;
  ask($session, $session == $wide
    ? "INSERT INTO c SELECT i, repeat('x', 8100) FROM generate_series(1, $n) AS i"
    : "INSERT INTO c SELECT i, NULL FROM generate_series(1, $n) AS i");
  $inserted += $n;
}
# What sessions did reaches the statistics some time after it is committed, if they do not lie still.
sub counted {
  ok(wait_until(sub {
      for ($narrow, $wide) { ask($_, 'SELECT pg_stat_force_next_flush()') }
      return sql(q{SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = 'c'}) == $inserted;
    }), "$inserted rows are counted");
}
sub last_block { return sql(q{SELECT max((ctid::text::point)[0])::int FROM c WHERE pad IS NULL}) }
insert($narrow, 1);
insert($wide, 3);
counted();
sql(q{SELECT 1 FROM kde_fit('c', 'v', seed => 1)});
my $block = last_block();
insert($narrow, 5);
counted();
is(last_block(), $block, 'rows went into an earlier block');
is(refresh('c'), 'appended|rows appended: 5, exact', 'and are found there');
is(refresh('c'), 'fresh|', 'once');
insert($wide, 140);
counted();
is(refresh('c'), 'appended|rows appended: 140, exact', 'rows at the end');
insert($narrow, 5);
counted();
is(last_block(), $block, 'rows went into a block too far back');
is(refresh('c'), 'refitted|not appended: rows were inserted elsewhere than rows are appended: 5', 'and are missed');

# Rows that were not yet committed when the table was read.
ask($wide, 'BEGIN');
insert($wide, 4);
sql(q{SELECT 1 FROM kde_fit('c', 'v', seed => 1)});
ask($wide, 'COMMIT');
counted();
is(refresh('c'), 'appended|rows appended: 4, exact', 'rows committed after the fit are found at the end');
ask($narrow, 'BEGIN');
insert($narrow, 4);
sql(q{SELECT 1 FROM kde_fit('c', 'v', seed => 1)});
ask($narrow, 'COMMIT');
counted();
is(refresh('c'), 'refitted|not appended: rows were inserted elsewhere than rows are appended: 4', 'elsewhere they are missed');
# Rows that came back to nothing are no rows, but the statistics count them.
ask($wide, 'BEGIN');
insert($wide, 4);
ask($wide, 'ROLLBACK');
counted();
is(refresh('c'), 'refitted|not appended: rows were inserted elsewhere than rows are appended: 4', 'rows rolled back');
$_->quit for $narrow, $wide;

# ---------------------------------------------------------------- what changes while a fit looks

# A constraint that planning evaluates holds the fit between its snapshot and its rows: who comes
# meanwhile is not of the snapshot, whatever their key, and is appended once.
sql(q{
  CREATE FUNCTION hold() RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN
    IF current_setting('test.hold', true) = 'on' THEN
      PERFORM pg_advisory_lock_shared(1); PERFORM pg_advisory_unlock_shared(1);
    END IF;
    RETURN true;
  END $$;
  CREATE TABLE h (k integer, v double precision);
  CREATE TABLE h1 (CHECK (hold())) INHERITS (h);
  INSERT INTO h1 SELECT i, i FROM generate_series(1, 1000) AS i;
  SELECT 1 FROM kde_fit('h', 'v', seed => 1);
  SELECT kde_set_refresh('h', 'v', append_by => 'key:k');
});
my ($fitter, $holder) = (open_session($node), open_session($node));
my $pid = backend_pid($fitter);
ask($holder, 'SELECT pg_advisory_lock(1)');
ask($fitter, q{SET test.hold = 'on'});
send_sql($fitter, q{SELECT rows FROM kde_fit('h', 'v', seed => 1)});
ok(wait_until(sub { sql("SELECT count(*) FROM pg_locks WHERE pid = $pid AND locktype = 'advisory' AND NOT granted") == 1 }),
  'a fit is held');
sql(q{INSERT INTO h1 SELECT i, i FROM generate_series(1001, 1100) AS i});
ask($holder, 'SELECT pg_advisory_unlock(1)');
is(end_sql($fitter), '1000', 'it reads what it saw when it looked for the greatest key');
is(refresh('h'), 'appended|rows appended: 100, exact', 'the others are appended');
is(sql(q{SELECT approx_count('h.v')}), '1100', 'once each');
$_->quit for $fitter, $holder;

# What a transaction truncates that it has made itself keeps its file, and its line pointers begin anew.
sql(q{
  CREATE TABLE i (k integer, v double precision);
  INSERT INTO i SELECT i, i FROM generate_series(1, 100) AS i;
  SELECT 1 FROM kde_fit('i', 'v', seed => 1);
});
for my $by ('block', 'key:k') {
  my $told = ($node->psql('postgres', qq{
    SELECT kde_set_refresh('i', 'v', append_by => '$by');
    BEGIN; TRUNCATE i; INSERT INTO i SELECT i, i FROM generate_series(1, 100) AS i;
    SELECT 1 FROM kde_fit('i', 'v', seed => 1);
    TRUNCATE i; INSERT INTO i SELECT 1000 + i, 1000 + i FROM generate_series(1, 150) AS i; COMMIT}))[2];
  like($told, qr/"i" was created, truncated or rewritten in this transaction/, "$by: a new file keeps no state");
  is(refresh('i'), 'refitted|not appended: no state was kept by the last fit', "$by: so its successor is read");
  is(sql(q{SELECT approx_count('i.v', 1, 500)}), '0', "$by: and the rows of before are gone");
}

# A partition whose rows the statistics have forgotten.
sql(q{
  CREATE TABLE q (k integer, v double precision) PARTITION BY RANGE (k);
  CREATE TABLE q2 PARTITION OF q FOR VALUES FROM (10000) TO (20000);
  INSERT INTO q SELECT i, i FROM generate_series(10000, 10999) AS i;
  SELECT 1 FROM kde_fit('q', 'v', seed => 1);
  SELECT kde_set_refresh('q', 'v', append_by => 'key:k');
  SELECT 1 FROM kde_fit('q', 'v', seed => 1);
  CREATE TABLE q1 (k integer, v double precision);
  INSERT INTO q1 SELECT i, i FROM generate_series(1, 500) AS i;
});
sql(q{SELECT pg_stat_reset_single_table_counters('q1'::regclass)});
sql(q{ANALYZE q1; ALTER TABLE q ATTACH PARTITION q1 FOR VALUES FROM (0) TO (10000)});
is(refresh('q'), 'refitted|not appended: rows were inserted elsewhere than rows are appended: 500',
  'a partition of smaller keys without statistics of what was inserted');

# ---------------------------------------------------------------- where blocks are sampled

sql(q{
  CREATE TABLE b (k serial, v double precision);
  INSERT INTO b (v) SELECT sin(i) FROM generate_series(1, 185 * 200) AS i;
});
is(sql(q{SELECT pg_relation_size('b') / 8192}), '200', '200 blocks of 185 rows');
my $twentieth = 'SET kde_aqp.sample_blocks = 20;';
for my $by ('block', 'key:k') {
  my @off;
  for my $seed (1, 2) {
    sql(qq{TRUNCATE b RESTART IDENTITY; INSERT INTO b (v) SELECT sin(i) FROM generate_series(1, 185 * 200) AS i;
      $twentieth SELECT 1 FROM kde_fit('b', 'v', seed => $seed);
      SELECT kde_set_refresh('b', 'v', append_by => '$by');
      SELECT 1 FROM kde_fit('b', 'v', seed => $seed)});
    # Two blocks at a time, of which a tenth is to be read.
    my $appended = 0;
    for (1 .. 15) {
      sql(q{INSERT INTO b (v) SELECT 5 + sin(i) FROM generate_series(1, 185 * 2) AS i});
      ++$appended if refresh('b', $twentieth) =~ /^appended\|rows appended: \d+, not exact: the table was sampled/;
    }
    is($appended, 15, "$by, seed $seed: fifteen times two blocks");
    push @off, sql(q{SELECT rows - 185 * 230 FROM kde_densities WHERE relation = 'b'::regclass});
    # A tenth of 30 blocks, to within the one that the choice may be off.
    push @off, sql(q{SELECT approx_count('b.v', 3, NULL) - 185 * 30});
  }
  my $largest = (sort { $a <=> $b } map { abs } @off)[-1];
  # By block: the rows of the block by which three may be four or two, standing for ten. By key: of
  # 5,550 rows a tenth, five standard deviations of their number, times ten.
  my $allowed = $by eq 'block' ? 1850 : 10 * 5 * sqrt(5550 * 0.1 * 0.9);
  cmp_ok($largest, '<=', $allowed * 1.05, "$by: appended rows count as much as the others (off by $largest)");
}
sql(q{INSERT INTO b (v) SELECT 5 + sin(i) FROM generate_series(1, 185 * 200) AS i});
is(refresh('b', $twentieth), 'refitted|not appended: the sample is of twice as many blocks as a fit reads',
  'a sample that has grown to twice a fit\'s');
sql(q{INSERT INTO b (v) SELECT 1});
is(refresh('b', 'SET kde_aqp.sample_blocks = 100;'),
  'refitted|not appended: the sample is of half as many blocks as a fit reads', 'more blocks allowed');

is(sql(q{SELECT has_table_privilege('public', 'kde_aqp.upkeep', 'SELECT')}), 'f', 'samples are closed to the public');

$node->stop;
done_testing();
