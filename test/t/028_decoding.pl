# Logical decoding goes on through fits, refreshes and drops, crashes among them; and a subscriber with
# densities of its own is neither stopped nor misled by the publisher's.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('publisher');
$node->init(allows_streaming => 'logical');
$node->append_conf('postgresql.conf', "autovacuum = off\nkde_aqp.stale = ignore");
$node->start;
$node->safe_psql('postgres', q{
  CREATE EXTENSION kde_aqp;
  CREATE TABLE t (v double precision, w integer PRIMARY KEY);
  INSERT INTO t SELECT ln(i) * 100, i FROM generate_series(1, 2000) AS i;});

# ---------------------------------------------------------------------------------- test_decoding
my ($code, undef, $err) = $node->psql('postgres', q{SELECT pg_create_logical_replication_slot('changes', 'test_decoding')});
SKIP: {
  skip "the output plugin test_decoding is not installed: $err", 4 if $code != 0;
  $node->safe_psql('postgres', $_) for (
    q{INSERT INTO t VALUES (1, 10001)},
    q{SELECT kde_fit('t', 'v', seed => 1)},
    q{BEGIN; INSERT INTO t VALUES (2, 10002); SELECT kde_fit('t', 'v', seed => 2); SAVEPOINT s;
      SELECT kde_fit('t', ARRAY['v', 'w'], seed => 2); ROLLBACK TO s; SELECT kde_fit('t', 'w', seed => 2); COMMIT},
    q{BEGIN; SELECT kde_fit('t', 'w', seed => 3); INSERT INTO t VALUES (3, 10003); ROLLBACK},
    q{SELECT count(*) FROM kde_refresh('t', force => true)},
    q{SET client_min_messages = warning; CALL kde_refresh_all(force => true)},
    q{ALTER TABLE t RENAME v TO x},
    q{SELECT kde_drop('t', 'w')},
    q{ALTER TABLE t RENAME x TO v},
    q{INSERT INTO t VALUES (4, 10004)});
  # Decoded in part, the rest after a crash.
  my $first = $node->safe_psql('postgres', q{SELECT count(*) > 0 FROM pg_logical_slot_get_changes('changes', NULL, 5)});
  is($first, 't', 'changes decode');
  $node->stop('immediate');
  $node->start;
  my $rest = $node->safe_psql('postgres', q{SELECT data FROM pg_logical_slot_get_changes('changes', NULL, NULL)});
  # What a crash found not noted yet comes again.
  like(join(' ', $rest =~ /table public\.t: INSERT:.*w\[integer\]:(\d+)/g), qr/^(10001 )?10002 10004$/, 'rows of tables in their order, none of what was rolled back');
  my $inserted = () = $rest =~ /table kde_aqp\.density: INSERT:/g;
  my $deleted = () = $rest =~ /table kde_aqp\.density: DELETE:/g;
  # Inserted: two fits of v and one of w, two refreshes of both, two renames of v; deleted: what each
  # replaced, and w at the end. The first fit may have been among the first.
  cmp_ok($inserted - $deleted, '<=', 1, "densities: $inserted inserted, $deleted deleted");
  is($node->safe_psql('postgres', q{SELECT count(*) FROM kde_aqp.density; SELECT pg_drop_replication_slot('changes')}), "1\n",
    'one density is left');
}

# ---------------------------------------------------------------------------------- a subscriber
# All tables are published: densities come with them. The subscriber's columns have other numbers, and it
# has fitted and refreshed for itself, so that the numbers of densities are taken.
$node->safe_psql('postgres', q{
  SELECT kde_drop('t', 'v');
  CREATE PUBLICATION everything FOR ALL TABLES;});
my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init(allows_streaming => 'logical');
$subscriber->append_conf('postgresql.conf', 'kde_aqp.stale = ignore');
$subscriber->start;
my $last = $node->safe_psql('postgres', 'SELECT last_value FROM kde_aqp.density_id');
$subscriber->safe_psql('postgres', qq{
  CREATE EXTENSION kde_aqp;
  -- The numbers of its densities will be those that the publisher gives out next.
  SELECT setval('kde_aqp.density_id', $last);
  CREATE TABLE t (junk integer, w integer PRIMARY KEY, v double precision);
  ALTER TABLE t DROP junk;
  CREATE TABLE own AS SELECT sqrt(i) AS a, i % 10 AS b FROM generate_series(1, 500) AS i;
  SELECT kde_fit('own', 'a', seed => 71), kde_fit('own', 'b', seed => 72), kde_fit('own', ARRAY['a', 'b'], method => 'scott', seed => 73);
  SELECT count(*) FROM kde_refresh('own', force => true);});
my $own = q{SELECT column_names, seed, rows, md5(density::text), failures
  FROM kde_aqp.density AS d JOIN kde_aqp.upkeep AS u ON u.density_id = d.id JOIN LATERAL kde_info(density) ON true
  WHERE relation = 'own'::regclass ORDER BY seed};
my $own_before = $subscriber->safe_psql('postgres', $own);
is(scalar(split /\n/, $own_before), 3, 'the subscriber has densities of its own');
my $publisher = $node->connstr . ' dbname=postgres';
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION all_of_it CONNECTION '$publisher' PUBLICATION everything");
$subscriber->wait_for_subscription_sync($node, 'all_of_it');
my @steps = (
  [ 'fit', q{SELECT kde_fit('t', 'v', seed => 1)} ],
  [ 'fit of several columns', q{SELECT kde_fit('t', ARRAY['v', 'w'], method => 'scott', filter => 'w > 100', seed => 2)} ],
  [ 'refit', q{INSERT INTO t VALUES (5, 20001); SELECT kde_fit('t', 'v', seed => 3)} ],
  [ 'settings', q{SELECT kde_set_refresh('t', 'v', threshold => 7)} ],
  [ 'refresh', q{INSERT INTO t VALUES (6, 20002); SELECT count(*) FROM kde_refresh('t', force => true)} ],
  [ 'drift', q{SELECT count(*) FROM kde_drift('t', 'v')} ],
  [ 'refresh of all', q{SET client_min_messages = warning; CALL kde_refresh_all(force => true)} ],
  [ 'drop', q{SELECT kde_drop('t', ARRAY['v', 'w'], filter => 'w > 100')} ],
);
my $densities = q{SELECT column_names, filter, seed, refresh_threshold, md5(kde_density(relation, column_names, filter)::text)
  FROM kde_densities WHERE relation = 't'::regclass ORDER BY seed};
for (@steps) {
  my ($what, $sql) = @$_;
  $node->safe_psql('postgres', $sql);
  $node->wait_for_catchup('all_of_it');
  is($subscriber->safe_psql('postgres', $densities), $node->safe_psql('postgres', $densities), "$what: the subscriber has it");
  is($subscriber->safe_psql('postgres', $own), $own_before, "$what: and its own are as they were");
}
is($subscriber->safe_psql('postgres', q{SELECT approx_count('t.v', 300, 600)}), $node->safe_psql('postgres', q{SELECT approx_count('t.v', 300, 600)}),
  'the subscriber answers as the publisher does');
unlike(slurp_file($subscriber->logfile), qr/ERROR/, 'and its worker met no error');
# It can refresh what came, too.
$subscriber->safe_psql('postgres', q{SELECT count(*) FROM kde_refresh('t', force => true)});
is($subscriber->safe_psql('postgres', q{SELECT count(DISTINCT id), count(*) FROM kde_aqp.density}), '4|4', 'densities are numbered by the subscriber');

$subscriber->safe_psql('postgres', 'DROP SUBSCRIPTION all_of_it');
$subscriber->stop;
$node->stop;
done_testing();
