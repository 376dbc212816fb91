# What a server has fitted is its own affair: a publication of all its tables brings a subscriber the rows
# of tables and nothing of the catalog, and neither a subscriber without the extension nor one that has
# fitted the same columns ever meets an error, whether it subscribed before CREATE EXTENSION on the publisher
# or after.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $publisher = PostgreSQL::Test::Cluster->new('publisher');
$publisher->init(allows_streaming => 'logical');
$publisher->append_conf('postgresql.conf', "autovacuum = off\nkde_aqp.stale = ignore");
$publisher->start;
my $tables = q{CREATE TABLE t (v double precision, w integer PRIMARY KEY); CREATE TABLE u (x integer PRIMARY KEY)};
$publisher->safe_psql('postgres', "$tables; CREATE PUBLICATION everything FOR ALL TABLES;
  INSERT INTO t SELECT ln(i) * 100, i FROM generate_series(1, 2000) AS i");

my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init(allows_streaming => 'logical');
$subscriber->append_conf('postgresql.conf', "autovacuum = off\nkde_aqp.stale = ignore\nmax_logical_replication_workers = 16
max_worker_processes = 32\nwal_retrieve_retry_interval = 100ms");
$subscriber->start;

my @subscriptions;

# A database of the subscriber, with the extension and densities of its own or without, in which the columns
# have other numbers.
sub subscribe {
  my ($name, $fits) = @_;
  $subscriber->safe_psql('postgres', "CREATE DATABASE $name");
  $subscriber->safe_psql($name, q{
    CREATE TABLE t (junk integer, w integer PRIMARY KEY, v double precision);
    ALTER TABLE t DROP junk;
    INSERT INTO t SELECT -i, sqrt(i) FROM generate_series(1, 500) AS i;
    CREATE TABLE u (x integer PRIMARY KEY);});
  fit_at($name) if $fits;
  my $connection = $publisher->connstr . ' dbname=postgres';
  $subscriber->safe_psql($name, "CREATE SUBSCRIPTION $name CONNECTION '$connection' PUBLICATION everything");
  $subscriber->wait_for_subscription_sync($publisher, $name, $name);
  push @subscriptions, $name;
  return;
}

sub fit_at {
  my ($name) = @_;
  $subscriber->safe_psql($name, q{
    CREATE EXTENSION IF NOT EXISTS kde_aqp;
    CREATE TABLE own AS SELECT sqrt(i) AS a, i AS b FROM generate_series(1, 500) AS i;
    SELECT kde_fit('own', 'a', seed => 71), kde_fit('t', 'v', seed => 72), kde_fit('t', 'w', seed => 73),
      kde_fit('t', ARRAY['v', 'w'], method => 'scott', filter => 'w < 100', seed => 74);
    SELECT count(*) FROM kde_refresh('own', force => true);});
  return;
}
my $own = q{SELECT relation, column_names, seed, fitted_at, md5(kde_density(relation, column_names, filter)::text)
  FROM kde_densities_full ORDER BY 1, 2};

subscribe('bare_before', 0);
subscribe('fitted_before', 1);
my %own = (fitted_before => $subscriber->safe_psql('fitted_before', $own));

# A row arrives everywhere after each step, which the old catalog, once in the stream, kept from ever
# happening.
my $row = 10_000;

sub arrives {
  my ($what) = @_;
  ++$row;
  $publisher->safe_psql('postgres', "INSERT INTO t VALUES ($row, $row)");
  for my $name (@subscriptions) {
    my $came = $subscriber->poll_query_until($name, "SELECT count(*) = 1 FROM t WHERE w = $row");
    ok($came, "$what: rows arrive at $name");
    BAIL_OUT('replication has stopped') if !$came;
  }
  return;
}
arrives('before CREATE EXTENSION');

sub step {
  my ($what, $sql) = @_;
  $publisher->safe_psql('postgres', $sql);
  return arrives($what);
}
my @steps = (
  [ 'fit', q{SELECT kde_fit('t', 'v', seed => 1), kde_fit('t', 'w', seed => 1)} ],
  [ 'fit of several columns', q{SELECT kde_fit('t', ARRAY['v', 'w'], method => 'scott', filter => 'w > 100', seed => 2)} ],
  [ 'refit', q{SELECT kde_fit('t', 'v', seed => 3)} ],
  [ 'settings', q{SELECT kde_set_refresh('t.v', threshold => 7)} ],
  [ 'refresh', q{SELECT count(*) FROM kde_refresh('t', force => true)} ],
  [ 'drift', q{SELECT count(*) FROM kde_drift('t.v')} ],
  [ 'refresh of all', q{SET client_min_messages = warning; CALL kde_refresh_all(force => true)} ],
  [ 'REFRESH MATERIALIZED VIEW', q{REFRESH MATERIALIZED VIEW kde_aqp.fitted; REFRESH MATERIALIZED VIEW CONCURRENTLY kde_aqp.fitted} ],
  [ 'restore', q{CREATE TEMP TABLE saved AS SELECT * FROM kde_aqp.fitted WHERE column_names = '{v}'; SELECT kde_drop('t.v');
     INSERT INTO kde_aqp.density SELECT * FROM saved} ],
  [ 'rename, and back', q{ALTER TABLE t RENAME v TO x; ALTER TABLE t RENAME x TO v} ],
  [ 'TRUNCATE', q{TRUNCATE u; INSERT INTO u VALUES (1); SELECT kde_fit('u', 'x', seed => 4); TRUNCATE u} ],
  [ 'drop', q{SELECT kde_drop('t (v, w)', filter => 'w > 100')} ],
  [ 'DROP TABLE', q{CREATE UNLOGGED TABLE short AS SELECT 1 AS x; SELECT kde_fit('short', 'x', seed => 5); DROP TABLE short} ],
);
step('CREATE EXTENSION', 'CREATE EXTENSION kde_aqp');
step(@$_) for @steps;

is($publisher->safe_psql('postgres', q{SELECT string_agg(tablename, ' ' ORDER BY tablename) FROM pg_publication_tables}), 't u',
  'nothing of the catalog is published');
for my $relation ('density', 'fitted', 'upkeep') {
  my (undef, undef, $err) = $publisher->psql('postgres', "CREATE PUBLICATION one FOR TABLE kde_aqp.$relation");
  like($err, qr/cannot add relation "$relation" to publication/, "nor can kde_aqp.$relation be");
}
$publisher->safe_psql('postgres', 'CREATE PUBLICATION of_the_schema FOR TABLES IN SCHEMA kde_aqp');
is($publisher->safe_psql('postgres', q{SELECT count(*) FROM pg_publication_tables WHERE pubname = 'of_the_schema'}), '0',
  'nor by its schema');

# Tables that are new to a subscription are copied: of the catalog there is none.
for my $name (@subscriptions) {
  $subscriber->safe_psql($name, "ALTER SUBSCRIPTION $name REFRESH PUBLICATION");
  $subscriber->wait_for_subscription_sync($publisher, $name, $name);
}
arrives('REFRESH PUBLICATION');
subscribe('bare_after', 0);
subscribe('fitted_after', 1);
$own{fitted_after} = $subscriber->safe_psql('fitted_after', $own);
arrives('CREATE SUBSCRIPTION');
step("again: $_->[0]", $_->[1]) for @steps;

# And back: the subscriber may install it when all that has happened.
fit_at('bare_before');
arrives('CREATE EXTENSION at the subscriber');
for my $name ('fitted_before', 'fitted_after') {
  is($subscriber->safe_psql($name, $own), $own{$name}, "$name: its own densities are as they were");
  is($subscriber->safe_psql($name, q{SELECT changed_rows > 0 FROM kde_densities_full WHERE relation = 't'::regclass AND column_names = '{w}'}),
    't', "$name: and what arrived counts as changed");
}
unlike(slurp_file($subscriber->logfile), qr/ERROR|terminated by signal|PANIC/, 'the subscriber met no error');
unlike(slurp_file($publisher->logfile) =~ s/ERROR:  cannot add relation.*//gr, qr/ERROR|terminated by signal|PANIC/, 'nor did the publisher');

$subscriber->safe_psql($_, "DROP SUBSCRIPTION $_") for @subscriptions;
$subscriber->stop;
$publisher->stop;
done_testing();
