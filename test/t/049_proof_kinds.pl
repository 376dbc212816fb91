# What proves that nothing changed, and what does not: each way to change rows, or what they mean, behind the
# statistics' back; each kind of table; the forms of densities; parts; restores, and the look that proves anew.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('proof_kinds');
# VACUUM leaves blocks' own LSNs alone where there are no checksums.
$node->init(extra => $node->pg_version >= 18 ? ['--no-data-checksums'] : []);
$node->append_conf('postgresql.conf', "autovacuum = off\nmax_prepared_transactions = 4");
$node->start;
$node->safe_psql('postgres', q{
  CREATE EXTENSION kde_aqp;
  CREATE FUNCTION proof(of text) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(DISTINCT proof, '; ') FROM kde_densities_full WHERE relation = of::regclass $$;
});

sub sql { return $node->safe_psql('postgres', join(";\n", @_)) }

sub proof_is {
  my ($expected, $name, $table) = @_;
  my $proof = sql("SELECT proof('" . ($table // 't') . "')");
  return ref $expected ? like($proof, $expected, $name) : is($proof, $expected, $name);
}

# A table of 1,000 rows, vacuumed and fitted.
sub make {
  my @how = @_;
  sql('DROP TABLE IF EXISTS t CASCADE', 'CREATE TABLE t (id integer, v integer, word text)',
    q{INSERT INTO t SELECT i, i % 100, 'w' || i % 5 FROM generate_series(1, 1000) AS i}, 'VACUUM t', @how,
    q{SELECT FROM kde_fit('t', 'v', sample_rows => -1)});
  return;
}

# ---- Every form notes it.
make();
sql(q{SELECT FROM kde_fit('t', 'v', measures => ARRAY['id'], sample_rows => -1)}, q{SELECT FROM kde_fit('t', 'word')},
  q{SELECT FROM kde_fit('t', ARRAY['id', 'v'])}, q{SELECT FROM kde_fit('t', 'id', group_by => 'word', sample_rows => -1)},
  q{SELECT FROM kde_fit('t', ARRAY['v * 2'])}, q{SELECT FROM kde_fit('t', 'v', filter => 'id > 10')},
  q{SELECT FROM kde_fit('t', 'v', filter => 'id > 20', method => 'scott')}, q{SELECT FROM kde_fit('t', 'id', sample_rows => 100)});
proof_is('nothing changed', 'column, measures, words, joint, groups, expression, filters, method, sample');
is(sql(q{SELECT count(*) > 7, bool_and(as_of BETWEEN fitted_at - interval '1 min' AND fitted_at) FROM kde_densities_full}), 't|t',
  'and as of when they are');
sql('INSERT INTO t VALUES (1, 1)');
proof_is(qr/^at most \d+ rows changed$/, 'a row makes all of them unproven');

# ---- Statistics that are lost, late or off.
make();
sql('SET track_counts = off', 'INSERT INTO t VALUES (1, 1)');
proof_is(qr/^at most [1-9]\d* rows changed$/, 'without track_counts');
make();
sql('SELECT pg_stat_reset()');
proof_is('nothing changed', 'a reset changes nothing');
sql('UPDATE t SET v = 0 WHERE id = 1', 'SELECT pg_stat_reset()');
proof_is(qr/^at most/, 'nor hides anything');
make();
$node->stop('immediate');
$node->start;
proof_is('nothing changed', 'nor does a crash');
sql('DELETE FROM t WHERE id = 7');
$node->stop('immediate');
$node->start;
proof_is(qr/^at most/, 'which hides nothing');

# ---- VACUUM stamps the map; it proves nothing of what changed before it.
make();
sql('VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) t');
proof_is(qr/^at most/, 'blocks that were frozen are changed ones');
sql(q{SELECT FROM kde_fit('t', 'v', sample_rows => -1)}, 'VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) t');
proof_is('nothing changed', 'until the next fit');
sql('UPDATE t SET v = v + 1 WHERE id = 1', 'VACUUM t', 'VACUUM t');
proof_is(qr/^at most/, 'a change does not hide behind VACUUM');
make();
sql('DELETE FROM t WHERE id > 100', 'VACUUM t');
proof_is(qr/^at most/, 'nor behind blocks that were cut off');

# ---- A transaction that ran beside the fit.
for my $end ('COMMIT', 'ROLLBACK', 'PREPARE') {
  make();
  my $other = open_session($node);
  ask($other, 'BEGIN');
  ask($other, q{INSERT INTO t SELECT 1, 7 FROM generate_series(1, 500)});
  sql(q{SELECT FROM kde_fit('t', 'v', sample_rows => -1)});
  ask($other, $end eq 'PREPARE' ? q{PREPARE TRANSACTION 'p'} : $end);
  sql(q{COMMIT PREPARED 'p'}) if $end eq 'PREPARE';
  sql('VACUUM t');
  proof_is(qr/^at most/, "what ran beside the fit is not proven: $end");
  $other->quit;
}
# An old snapshot.
make();
my $old = open_session($node);
ask($old, 'BEGIN ISOLATION LEVEL REPEATABLE READ');
ask($old, 'SELECT FROM t LIMIT 1');
sql('INSERT INTO t VALUES (1, 1)');
ask($old, q{SELECT FROM kde_fit('t', 'v', sample_rows => -1)});
ask($old, 'COMMIT');
proof_is(qr/^at most/, 'a fit under an old snapshot has not what came since');
sql('VACUUM t');
proof_is(qr/^at most/, 'also after VACUUM');
$old->quit;

# ---- Files and definitions.
for ([ 'TRUNCATE t' => 'the table was written anew since' ], [ 'VACUUM FULL t' => 'the table was written anew since' ],
  [ 'ALTER TABLE t ALTER COLUMN v TYPE bigint USING v * 1000' => 'the table was written anew since' ]) {
  make();
  sql($_->[0]);
  proof_is("unknown: $_->[1]", $_->[0]);
}
make();
sql('CREATE TABLE child () INHERITS (t)');
proof_is('nothing changed', 'a child without rows');
sql('INSERT INTO child SELECT i FROM generate_series(1, 5000) AS i');
proof_is('unknown: tables were attached, detached, made or dropped since', 'one that is most of the tree');
make();
sql(q{SELECT kde_drop('t.v')}, q{SELECT FROM kde_fit('t', 'word')}, 'ALTER TABLE t ALTER COLUMN word TYPE varchar');
proof_is('unknown: columns were changed since', 'a type');
# Also of columns that it does not read.
for ('ALTER TABLE t DROP COLUMN id, DROP COLUMN word', 'ALTER TABLE t ALTER COLUMN word TYPE varchar',
  'ALTER TABLE t ALTER v SET STATISTICS 10, ALTER v SET DEFAULT 1, ALTER v SET NOT NULL', 'ALTER TABLE t ADD COLUMN w integer DEFAULT 5', 'ALTER TABLE t RENAME COLUMN id TO number', 'ANALYZE t', 'CREATE INDEX ON t (v)',
  'SELECT FROM t WHERE id < 10 FOR UPDATE') {
  make();
  sql($_);
  proof_is($_ =~ /FOR UPDATE/ ? qr/^nothing changed|^at most/ : 'nothing changed', $_);
}
sql('DROP TABLE t', 'CREATE TABLE t (id integer, v integer)', 'INSERT INTO t SELECT i, i % 9 FROM generate_series(1, 500) AS i',
  'BEGIN', 'TRUNCATE t', 'INSERT INTO t SELECT i, i % 9 FROM generate_series(1, 500) AS i', q{SELECT FROM kde_fit('t', 'v', sample_rows => -1)},
  'TRUNCATE t', 'INSERT INTO t SELECT i, i % 7 FROM generate_series(1, 300) AS i', 'COMMIT');
proof_is('unknown: the transaction of the fit had made or emptied the table', 'emptied in place after the fit');
for my $kind ('UNLOGGED TABLE', 'MATERIALIZED VIEW') {
  sql('DROP TABLE t', "CREATE $kind t AS SELECT i AS v FROM generate_series(1, 500) AS i", q{SELECT FROM kde_fit('t', 'v', sample_rows => -1)});
  proof_is($kind =~ /^U/ ? 'unknown: it is no permanent heap table' : 'nothing changed', $kind);
}
sql('REFRESH MATERIALIZED VIEW t');
proof_is('unknown: the table was written anew since', 'REFRESH');
sql('DROP MATERIALIZED VIEW t');
make();
sql(q{SELECT kde_store('t', 'v', (SELECT kde_agg(v) FROM t))});
proof_is('unknown: it was stored as a value', 'a value');
is(sql('SELECT as_of IS NULL FROM kde_densities_full'), 't', 'nobody knows of when');
sql(q{SELECT kde_store('t', 'v', query => 'SELECT public.kde_agg(v) FROM public.t')});
proof_is('unknown: it was stored by a query', 'a query');

# ---- Partitions.
sql('DROP TABLE t', 'CREATE TABLE t (id integer, v integer, w integer) PARTITION BY RANGE (id)',
  map({ "CREATE TABLE t$_ PARTITION OF t FOR VALUES FROM (${_}000) TO (${_}999)" } 1 .. 4),
  'INSERT INTO t SELECT 1000 * (1 + i % 4) + i / 4, i % 10, i % 3 FROM generate_series(1, 2000) AS i', 'VACUUM t',
  q{SELECT FROM kde_fit('t', 'v', sample_rows => -1)});
proof_is('nothing changed', 'a tree');
sql('ALTER TABLE t RENAME COLUMN w TO x');
proof_is('nothing changed', 'whose columns are renamed');
sql('BEGIN', 'ALTER TABLE t DETACH PARTITION t2', 'ALTER TABLE t2 RENAME COLUMN v TO y', 'ALTER TABLE t2 RENAME COLUMN x TO v',
  'ALTER TABLE t2 RENAME COLUMN y TO x', 'ALTER TABLE t ATTACH PARTITION t2 FOR VALUES FROM (2000) TO (2999)', 'COMMIT');
proof_is('unknown: columns were changed since', 'a partition that came back with others of the same names');
# So many blocks the table has.
my $blocks = sql(q{SELECT sum(pg_relation_size(relid)) / 8192 FROM pg_partition_tree('t')});
sub refreshed { return sql(q{SELECT action || ' by ' || CASE WHEN 2 * blocks_read < } . $blocks . q{ THEN 'what changed' ELSE 'all' END FROM kde_refresh('t', force => true)}) }
is(refreshed(), 'refitted by all', 'a refresh then reads all');
is(sql(q{SELECT approx_sum('t.v') = (SELECT sum(v) FROM t)}), 't', 'and is right');
sql('INSERT INTO t VALUES (1001, 1)');
is(refreshed(), 'refitted by what changed', 'of a row what changed');
is(sql(q{SELECT approx_sum('t.v') = (SELECT sum(v) FROM t)}), 't', 'and is right');
sql('VACUUM t', 'SELECT pg_stat_reset()', 'INSERT INTO t VALUES (4001, 5)');
is(refreshed(), 'refitted by what changed', 'statistics that were reset cost nothing');
sql('ALTER TABLE t DETACH PARTITION t4');
proof_is(qr/^at most [5-9]\d\d rows changed$/, 'DETACH');

# ---- A look that proves anew.
my $as_of;
sql('CREATE TABLE big (v integer NOT NULL)', 'INSERT INTO big SELECT i % 1000 FROM generate_series(1, 1200000) AS i',
  q{SELECT FROM kde_fit('big', 'v', sample_rows => -1)});
cmp_ok(sql(q{SELECT pg_relation_size('big') / 8192}), '>', 4096, 'more blocks than an answer looks at');
proof_is(qr/^at most/, 'are not proven before a VACUUM', 'big');
sql('VACUUM big');
proof_is('nothing changed', 'but where their bits are of one page of the map', 'big');
$as_of = sql(q{SELECT as_of FROM kde_densities_full WHERE relation = 'big'::regclass});
is(sql(q{SELECT action FROM kde_refresh('big')}), 'fresh', 'a refresh that fits nothing anew');
proof_is('nothing changed', 'proves them', 'big');
is(sql(qq{SELECT as_of > '$as_of' FROM kde_densities_full WHERE relation = 'big'::regclass}), 't', 'as of a later time');
# A changed row stamps the page by itself, too: from 17.12 and 18.6 on.
sql('INSERT INTO big VALUES (1)');
proof_is(qr/^at most \d{1,3} rows changed$/, 'but not a change, of a block', 'big');
sql('VACUUM big', q{SELECT FROM kde_refresh('big')});
proof_is(qr/^at most \d{1,3} rows changed$/, 'also after VACUUM and a look', 'big');

# ---- What a session remembers of blocks' headers holds until the map's page is stamped again.
sql('CREATE TABLE seen (v integer NOT NULL) WITH (fillfactor = 50)', 'INSERT INTO seen SELECT i % 1000 FROM generate_series(1, 20000) AS i',
  'VACUUM seen', q{SELECT FROM kde_fit('seen', 'v', sample_rows => -1)});
my $looks = open_session($node);
my @changed = map {
  sql("UPDATE seen SET v = 3 WHERE ctid = '($_,1)'", 'VACUUM seen');
  ask($looks, q{SELECT proof('seen')}) =~ /^at most (\d+) rows changed$/ ? $1 : 0
} 3, 5, 7, 9;
cmp_ok($changed[0], '>', 100, 'a changed block is not proven');
is("@changed", join(' ', map { $_ * $changed[0] } 1 .. 4), 'nor one that was proven and changed after that');
# A look reads the blocks of one page of the map, the next one those of the next, though nothing happened since.
sql('CREATE TABLE wide (v integer NOT NULL, pad text) PARTITION BY LIST (v)',
  'ALTER TABLE wide ALTER COLUMN pad SET STORAGE PLAIN', map({ "CREATE TABLE wide$_ PARTITION OF wide FOR VALUES IN ($_)" } 0 .. 1),
  q{INSERT INTO wide SELECT i % 2, repeat('x', 5000) FROM generate_series(1, 8400) AS i}, q{SELECT FROM kde_fit('wide', 'v', sample_rows => -1)}, 'VACUUM wide');
like(ask($looks, q{SELECT proof('wide')}), qr/^at most \d+ rows changed$/, 'of two pages of the map a look proves one');
ok(wait_until(sub { ask($looks, q{SELECT proof('wide')}) =~ /^nothing changed/ }), 'and a later one the other');
$looks->quit;

# ---- A restore.
make();
$as_of = sql(q{SELECT as_of FROM kde_densities_full WHERE relation = 't'::regclass});
$node->safe_psql('postgres', 'CREATE DATABASE restored');
my $dump = $node->data_dir . '/../dump.sql';
$node->command_ok([ 'pg_dump', '-d', $node->connstr('postgres'), '-f', $dump ], 'a dump');
$node->command_ok([ 'psql', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('restored'), '-f', $dump ], 'restored');
is($node->safe_psql('restored', q{SELECT proof, as_of FROM kde_densities_full WHERE relation = 't'::regclass}),
  "unknown: it was not noted at the fit|$as_of", 'has no proof, and as of when it is');

# ---- A copy of the database.
for my $strategy ('wal_log', 'file_copy') {
  make();
  $node->safe_psql('template1', "CREATE DATABASE copy_$strategy TEMPLATE postgres STRATEGY $strategy");
  like($node->safe_psql("copy_$strategy", q{SELECT proof('t')}), qr/^nothing changed|^at most/, "a copy, by $strategy");
  $node->safe_psql("copy_$strategy", 'INSERT INTO t VALUES (1, 1)');
  like($node->safe_psql("copy_$strategy", q{SELECT proof('t')}), qr/^at most [1-9]/, 'what changes there is not proven');
}
$node->stop;

# ---- With checksums VACUUM stamps the blocks whose bits it sets: one look of the worker's kind fits them anew.
$node = PostgreSQL::Test::Cluster->new('checksums');
$node->init(extra => ['--data-checksums']);
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;
sql('CREATE EXTENSION kde_aqp', 'CREATE TABLE t (v integer)', 'INSERT INTO t SELECT i % 100 FROM generate_series(1, 1000) AS i',
  q{SELECT FROM kde_fit('t', 'v', sample_rows => -1)}, 'VACUUM t');
sub proof_of_t { return sql(q{SELECT proof FROM kde_densities_full WHERE relation = 't'::regclass}) }
like(proof_of_t(), qr/^at most/, 'checksums: blocks that VACUUM stamped are not proven');
$node->poll_query_until('postgres', q{SELECT action = 'refitted' FROM kde_refresh('t')}) or die 'no refresh is due';
is(proof_of_t(), 'nothing changed', 'until a look fits them anew');
for my $night (1 .. 3) {
  sql('INSERT INTO t SELECT 7 FROM generate_series(1, 500)', 'VACUUM t');
  is(sql(q{SELECT action FROM kde_refresh('t')}), 'refitted', "night $night");
  sql('VACUUM t');
  $node->stop('immediate');
  $node->start;
  is(proof_of_t(), 'nothing changed', 'proven all day');
}

# Of rows that nobody has read the fit leaves hints before its proof begins.
sql('CREATE TABLE loaded AS SELECT i AS v FROM generate_series(1, 1000) AS i', 'CHECKPOINT');
sql(q{SELECT FROM kde_fit('loaded', 'v', sample_rows => -1)});
is(sql(q{SELECT changed_size FROM kde_densities_full WHERE relation = 'loaded'::regclass}), 0, 'loaded before a checkpoint');
$node->stop;

done_testing();
