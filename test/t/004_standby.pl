# A streaming standby: answers, refits seen through WAL, refusals, promotion.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->start;
$primary->safe_psql('postgres', q{
  CREATE EXTENSION kde_aqp;
  CREATE TABLE t AS SELECT ln(i) * 100 AS v FROM generate_series(1, 20000) AS i;
  SELECT kde_fit('t', 'v', seed => 1);
});
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
$primary->wait_for_catchup($standby);

my $answer = q{SELECT md5(kde_density('t.v')::text) || ' ' || approx_count('t.v', 500, 800)};
my $before = $primary->safe_psql('postgres', $answer);
my $reader = open_session($standby);
is(ask($reader, $answer), $before, 'the standby answers as the primary does');
is($standby->safe_psql('postgres', 'SELECT count(*), max(seed) FROM kde_densities_full'), '1|1',
  'and lists the density');

is($standby->safe_psql('postgres', 'SELECT proof, changed_rows, stale, drift IS NULL, refresh_failures FROM kde_densities_full'),
  'nothing changed|0|f|t|0', 'that nothing changed it knows, of other upkeep nothing');
is($standby->safe_psql('postgres', 'SELECT ok, summary FROM kde_check()'), 't|1 density of a standby: all is well', 'which is no alarm');
is($standby->safe_psql('postgres', q{SELECT bool_and(held) FROM kde_self_check('t.v', seed => 1)}), 't', 'and can be compared with its table there');

# The density is in the reader's cache now: a refit must reach it through WAL.
my $old_snapshot = open_session($standby);
ask($old_snapshot, 'BEGIN ISOLATION LEVEL REPEATABLE READ');
is(ask($old_snapshot, $answer), $before, 'a snapshot of the standby before the refit');
$primary->safe_psql('postgres', q{
  INSERT INTO t SELECT 600 FROM generate_series(1, 20000);
  SELECT kde_fit('t', 'v', seed => 2);});
$primary->wait_for_catchup($standby);
my $after = $primary->safe_psql('postgres', $answer);
isnt($after, $before, 'the refit changed the density');
is(ask($reader, $answer), $after, 'a session with the old density in its cache sees the refit');
is(ask($old_snapshot, $answer), $before, 'a snapshot taken before keeps the old density');
ask($old_snapshot, 'COMMIT');
is(ask($old_snapshot, $answer), $after, 'and sees the new one when it is over');
$old_snapshot->quit;

# Rolled back on the primary: replay of the abort must not show it.
$primary->safe_psql('postgres', q{BEGIN; SELECT kde_fit('t', 'v', seed => 3); ROLLBACK;});
$primary->wait_for_catchup($standby);
is(ask($reader, $answer), $after, 'a refit rolled back on the primary is not seen');

for my $call (q{SELECT kde_fit('t', 'v')}, q{SELECT kde_fit('t', ARRAY['v'])}, q{SELECT kde_drop('t.v')},
  q{SELECT kde_drop('t (v)')}, q{SELECT kde_refresh('t', force => true)}, q{SELECT kde_set_refresh('t.v', enabled => false)},
  q{SELECT kde_drift('t.v')}, q{CALL kde_refresh_all()}) {
  my ($function) = $call =~ /(kde_\w+)/;
  my ($out, $err) = ask($reader, "\\set VERBOSITY verbose\n$call");
  like($err, qr/ERROR:  25006: cannot execute $function\(\) during recovery/,
    "$function refuses on a standby");
  ask($reader, '\set VERBOSITY default');
}
is(ask($reader, $answer), $after, 'the session answers after the refusals');

# Rows that came on the primary, which the standby does not count.
my $proof = q{SELECT proof FROM kde_densities_full};
is(ask($reader, $proof), 'nothing changed', 'nothing changed since the refit');
$primary->safe_psql('postgres', 'INSERT INTO t SELECT 600 FROM generate_series(1, 100)');
$primary->wait_for_catchup($standby);
like(ask($reader, $proof), qr/^at most \d+ rows changed$/, 'rows that come are known there');
cmp_ok((ask($reader, $proof) =~ /(\d+)/)[0], '>=', 100, 'as so many at most');
is(ask($reader, 'SELECT changed_rows IS NULL FROM kde_densities_full'), 't', 'and not counted');

# Dropped on the primary.
$primary->safe_psql('postgres', q{SELECT kde_drop('t.v')});
$primary->wait_for_catchup($standby);
my (undef, $err) = ask($reader, $answer);
like($err, qr/no density is fitted for t\.v/, 'a drop on the primary reaches the cache');
$primary->safe_psql('postgres', q{SELECT kde_fit('t', 'v', seed => 2)});
$primary->wait_for_catchup($standby);
$after = $primary->safe_psql('postgres', $answer);
is(ask($reader, $answer), $after, 'and so does a fit again');

# Plain SQL there reads what changed, as of the snapshot that the standby has.
$primary->safe_psql('postgres', q{
  CREATE TABLE growing AS SELECT i, i % 3 AS k FROM generate_series(1, 20000) AS i;
  VACUUM growing;
  SELECT kde_fit('growing', 'i', sample_rows => -1, group_by => 'k');
  SELECT kde_set_plain_sql(name, true) FROM kde_densities WHERE name LIKE 'growing%';
  INSERT INTO growing SELECT i, 7 FROM generate_series(20001, 20100) AS i;
  DELETE FROM growing WHERE i = 5;
});
for my $vacuumed (0, 1) {
  $primary->safe_psql('postgres', 'VACUUM growing') if $vacuumed;
  $primary->wait_for_catchup($standby);
  my $asker = open_session($standby);
  ask($asker, q{LOAD 'kde_aqp'; SET kde_aqp.approximate = top});
  my ($out, $err) = ask($asker, 'SELECT k, count(*) FROM growing WHERE i > 2 GROUP BY k ORDER BY k');
  is($out, "0|6666\n1|6666\n2|6665\n7|100", 'the standby answers of a table that grew');
  like($err, qr/answered by the density of growing.i by \(k\)\s+DETAIL:  Its answers are exact, with \d+ blocks read/, 'by the density and what it read');
  $asker->quit;
}
$primary->safe_psql('postgres', 'DROP TABLE growing');
$primary->wait_for_catchup($standby);

$primary->stop;
$standby->promote;
is(ask($reader, $answer), $after, 'a session that lived through the promotion answers');
is(ask($reader, q{SELECT proof, changed_rows FROM kde_densities_full}), 'nothing changed|0', 'that nothing changed is known after the promotion');
is(ask($reader, q{SELECT action FROM kde_refresh('t')}), 'fresh', 'and to a refresh');
ask($reader, 'INSERT INTO t SELECT 600 FROM generate_series(1, 10)');
like(ask($reader, $proof), qr/^at most \d+ rows changed$/, 'rows that come then are seen');
is(ask($reader, q{SELECT seed FROM kde_fit('t', 'v', seed => 4, sample_rows => 1000)}), '4', 'and fits');
isnt(ask($reader, $answer), $after, 'a new density');
is(ask($reader, q{SELECT action FROM kde_refresh('t', force => true)}), 'refitted', 'and refreshes');
is(ask($reader, $answer), $standby->safe_psql('postgres', $answer), 'that others see');
is(ask($reader, q{SELECT kde_drop('t.v')}), 't', 'kde_drop works after promotion');
$reader->quit;

$standby->stop;
done_testing();
