# The proof that nothing changed since a fit, beside the contents of the tables: random steps by several
# sessions, crashes, standbys, promotions and copies of the database. Whenever the verdict is "nothing changed"
# the rows are those of the fit; when it is "at most k rows", so many have come or gone at most, of all rows and
# of half of them.
#
# KDE_AQP_PROOF_STEPS    how many; 1,000 unless set
# KDE_AQP_PROOF_SEED     of the random choices; 1 unless set
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $steps = $ENV{KDE_AQP_PROOF_STEPS} // 1000;
srand($ENV{KDE_AQP_PROOF_SEED} // 1);
use constant ERA => 250;     # steps between copies of the database and promotions
use constant AT_ONCE => 10;  # steps in a round trip

my $rows = PostgreSQL::Test::Utils::tempdir() . '/rows';
my $database = 'fuzz0';
my $primary = PostgreSQL::Test::Cluster->new('proof');
$primary->init(allows_streaming => 1, extra => $primary->pg_version >= 18 && rand() < 0.5 ? ['--no-data-checksums'] : []);
$primary->append_conf('postgresql.conf', <<'CONF');
autovacuum = off
max_prepared_transactions = 8
lock_timeout = 20ms
deadlock_timeout = 10ms
CONF
$primary->start;
$primary->safe_psql('postgres', "CREATE DATABASE $database");
$primary->safe_psql($database, <<"SQL");
CREATE EXTENSION kde_aqp;
CREATE TABLE a (id integer, v integer NOT NULL, pad text) WITH (fillfactor = 70);
CREATE INDEX ON a (v);
CREATE TABLE b (v integer, id integer, pad text);
CREATE TABLE p (id integer, v integer NOT NULL, pad text) PARTITION BY HASH (id);
CREATE TABLE p0 PARTITION OF p FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE p1 PARTITION OF p FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE noted (relation text PRIMARY KEY, fitted_at timestamptz, hash text, rows bigint, half bigint);
CREATE TYPE contents AS (hash text, rows bigint, half bigint);
CREATE FUNCTION contents(relation text) RETURNS contents LANGUAGE plpgsql STABLE AS \$\$
DECLARE
  out contents;
BEGIN
  EXECUTE format('SELECT md5(string_agg(id || \$1 || v || \$1 || length(pad), \$1 ORDER BY id, v, length(pad))),'
    ' count(*), count(*) FILTER (WHERE v %% 2 = 0) FROM %I', relation) USING ' ' INTO out;
  RETURN out;
END \$\$;
-- What a density says of now; NULL: there is none.
CREATE VIEW verdicts AS SELECT d.relation::text, d.fitted_at, d.proof FROM kde_densities_full AS d;
CREATE FUNCTION note_fit(of text) RETURNS void LANGUAGE sql AS \$\$
  INSERT INTO noted SELECT d.relation, d.fitted_at, (contents(of)).* FROM verdicts AS d WHERE d.relation = of
  ON CONFLICT (relation) DO UPDATE SET fitted_at = excluded.fitted_at, hash = excluded.hash, rows = excluded.rows,
    half = excluded.half WHERE noted.fitted_at <> excluded.fitted_at \$\$;
CREATE FUNCTION verdict(step integer) RETURNS SETOF text LANGUAGE plpgsql AS \$\$
DECLARE
  d record;
  now_has contents;
  most bigint;
BEGIN
  FOR d IN SELECT * FROM noted JOIN verdicts USING (relation, fitted_at) LOOP
    BEGIN
      now_has := contents(d.relation);
    EXCEPTION WHEN lock_not_available THEN
      CONTINUE;
    END;
    most := substring(d.proof FROM 'at most (\\d+) rows');
    RETURN NEXT format('verdict %s %s %s %s %s', step, d.relation,
      CASE WHEN d.proof = 'nothing changed' THEN 'nothing' WHEN most IS NOT NULL THEN 'most' ELSE 'unknown' END,
      CASE WHEN now_has.hash IS NOT DISTINCT FROM d.hash THEN 'same' ELSE 'other' END,
      CASE WHEN d.proof = 'nothing changed' AND now_has.hash IS DISTINCT FROM d.hash
             OR abs(now_has.rows - d.rows) > most OR abs(now_has.half - d.half) > most
           THEN 'WRONG ' || d.proof ELSE 'right' END);
  END LOOP;
END \$\$;
INSERT INTO a SELECT i, i % 97, repeat('x', 100 + i % 50) FROM generate_series(1, 600) AS i;
INSERT INTO b SELECT i % 89, i, repeat('y', 200) FROM generate_series(1, 600) AS i;
INSERT INTO p SELECT i, i % 83, repeat('z', 150) FROM generate_series(1, 800) AS i;
COPY a TO '$rows';
SQL

my ($standby, $main, @others, %open);
my $backups = 0;

sub open_all {
  $main = open_session($primary, $database);
  @others = map { open_session($primary, $database) } 0 .. 1;
  %open = ();
  return;
}

sub close_all {
  $_->quit for $main, @others;
  return;
}

sub make_standby {
  my $name = 'base' . ++$backups;
  $primary->backup($name);
  $standby = PostgreSQL::Test::Cluster->new("standby$backups");
  $standby->init_from_backup($primary, $name, has_streaming => 1);
  $standby->start;
  return;
}

my (%seen, @wrong);

sub count_verdicts {
  my ($where, $out) = @_;
  while ($out =~ /^verdict (\d+) (\w+) (\w+) (\w+) (.*)$/mg) {
    ++$seen{"$where: $3 of $4 contents"};
    push @wrong, "$where, step $1, table $2: $5" if $5 ne 'right';
  }
  return;
}

sub any { return $_[int(rand(@_))] }
sub table { return any('a', 'b', 'p') }
sub some_id { return 1 + int(rand(900)) }

sub change {
  my ($t) = @_;
  my ($id, $v) = (some_id(), int(rand(100)));
  my $to = $id + int(rand(6));
  return any(
    "INSERT INTO $t (id, v, pad) SELECT i, $v, repeat('n', 120) FROM generate_series($id, $to) AS i;",
    "INSERT INTO $t (id, v, pad) VALUES ($id, $v, 'one');",
    "UPDATE $t SET v = $v WHERE id = $id;",
    "UPDATE $t SET pad = pad || 'w' WHERE id BETWEEN $id AND $to;",
    "UPDATE $t SET v = v WHERE id = $id;",
    "DELETE FROM $t WHERE id BETWEEN $id AND $to;",
    "SELECT FROM $t WHERE id = $id FOR UPDATE;");
}

sub fit { return "SELECT FROM kde_fit('$_[0]', 'v', sample_rows => -1); SELECT note_fit('$_[0]') \\g /dev/null\n" }

my $prepared = 0;
my @in_doubt;

# A step of the session that has no transaction open.
sub step {
  my $t = table();
  my $what = rand(100);
  return change($t) if $what < 20;
  return 'BEGIN; ' . change($t) . change(table()) . ' ROLLBACK;' if $what < 26;
  return 'BEGIN; ' . change($t) . ' SAVEPOINT s; ' . change($t) . ' ROLLBACK TO s; ' . any('', change($t)) . ' COMMIT;' if $what < 32;
  if ($what < 36) {
    push @in_doubt, 'x' . ++$prepared;
    return 'BEGIN; ' . change($t) . " PREPARE TRANSACTION '$in_doubt[-1]';";
  }
  return any('COMMIT', 'ROLLBACK') . " PREPARED '" . shift(@in_doubt) . "';" if $what < 41 && @in_doubt;
  return any("VACUUM $t;", "VACUUM $t;", "VACUUM (FREEZE) $t;", "VACUUM (INDEX_CLEANUP off) $t;", 'VACUUM a, b, p;') if $what < 62;
  return fit($t) if $what < 78;
  return 'BEGIN; ' . change($t) . fit($t) . any('', change($t)) . any('COMMIT;', 'COMMIT;', 'ROLLBACK;') if $what < 81;
  return 'BEGIN; SAVEPOINT s; ' . fit($t) . any('ROLLBACK TO s; ', '') . change($t) . ' COMMIT;' if $what < 83;
  return "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM $t LIMIT 1; " . any('', change($t)) . fit($t) . ' COMMIT;' if $what < 86;
  return "BEGIN; SELECT FROM kde_refresh('$t'); SELECT note_fit('$t') \\g /dev/null\nCOMMIT;" if $what < 91;
  return 'SELECT pg_stat_reset();' if $what < 92;
  return "DELETE FROM $t WHERE id > 500; VACUUM $t;" if $what < 93;
  return 'BEGIN; TRUNCATE a; ' . any('', fit('a')) . "COPY a FROM '$rows' (FREEZE); " . any('', fit('a')) . any('', 'TRUNCATE a; ', change('a')) . any('COMMIT;', 'ROLLBACK;') if $what < 95;
  return "BEGIN; TRUNCATE $t; INSERT INTO $t (id, v, pad) SELECT i, i % 71, repeat('t', 90) FROM generate_series(1, 400) AS i; "
    . any('', fit($t)) . any('COMMIT;', 'ROLLBACK;') if $what < 97;
  return 'VACUUM FULL ' . any('a', 'b', 'p0') . ';' if $what < 98;
  return 'BEGIN; ALTER TABLE p DETACH PARTITION p1; ' . change('p') . 'ALTER TABLE p ATTACH PARTITION p1 FOR VALUES WITH (MODULUS 2, REMAINDER 1); COMMIT;' if $what < 99;
  return 'CHECKPOINT;';
}

# A step of another session, beside those: its transaction goes on for some time.
sub other_step {
  my ($k) = @_;
  my $session = $others[$k];
  my ($out) = ('');
  if (!defined $open{$k}) {
    $open{$k} = any('READ COMMITTED', 'REPEATABLE READ');
    ask($session, "BEGIN ISOLATION LEVEL $open{$k}");
    # REPEATABLE READ: only looks and fits, as own changes are none of the proof's.
    my $sql = $open{$k} eq 'REPEATABLE READ' ? 'SELECT 1' : change(table());
    ($out) = ask($session, $sql);
  } elsif ($open{$k} eq 'REPEATABLE READ' && rand() < 0.6) {
    ($out) = ask($session, 'SELECT verdict(0)');
    count_verdicts('old snapshot', $out);
  } elsif ($open{$k} eq 'REPEATABLE READ' && rand() < 0.5) {
    ($out) = ask($session, fit(table()) . ' COMMIT');
    delete $open{$k};
  } else {
    ($out) = ask($session, any('COMMIT', 'COMMIT', 'ROLLBACK'));
    delete $open{$k};
  }
  return;
}

sub look_at_standby {
  $primary->wait_for_catchup($standby);
  count_verdicts('standby', $standby->safe_psql($database, 'SELECT verdict(0)'));
  return;
}

make_standby();
open_all();
for (my $done = 0; $done < $steps;) {
  my $sql = '';
  for (1 .. AT_ONCE) {
    ++$done;
    $sql .= step() . "\nROLLBACK;\nSELECT verdict($done);\n";
  }
  my ($out) = ask($main, $sql);
  count_verdicts('newest', $out);
  for my $k (0 .. 1) { (undef) = other_step($k) if rand() < 0.5 }
  look_at_standby() if rand() < 0.1;
  if (rand() < AT_ONCE / ERA) {
    ask($main, 'SELECT 1');
    close_all();
    $primary->stop('immediate');
    $primary->start;
    open_all();
  }
  next if $done % ERA != 0;

  # A copy of the database, by either strategy, in which the steps go on.
  close_all();
  $primary->safe_psql($database, "ROLLBACK PREPARED '$_'") for split /\n/, $primary->safe_psql('postgres', 'SELECT gid FROM pg_prepared_xacts');
  @in_doubt = ();
  look_at_standby();
  my $copy = 'fuzz' . $done;
  $primary->safe_psql('postgres', "CREATE DATABASE $copy TEMPLATE $database STRATEGY " . any('wal_log', 'file_copy'));
  $database = $copy;
  # Every other time the standby takes over.
  if ($done / ERA % 2 == 0) {
    look_at_standby();
    $primary->stop('immediate');
    $standby->promote;
    $primary = $standby;
    make_standby();
  }
  open_all();
}
look_at_standby();
is(join("\n", @wrong), '', "no verdict is wrong in $steps steps");
diag("$_: $seen{$_}") for sort keys %seen;
ok($seen{"$_: nothing of same contents"}, "$_: proven where nothing had changed") for 'newest', 'standby';
ok(!$seen{"$_: nothing of other contents"}, "$_: and nowhere else") for 'newest', 'standby', 'old snapshot';
ok($seen{'newest: most of other contents'}, 'rows that may have changed were counted');
close_all();

done_testing();
