# The densities that a session keeps: what other sessions commit, roll back and drop must show, and
# what a snapshot must not see must not.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('cache');
$node->init;
# It would keep rows from VACUUM.
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;
$node->safe_psql('postgres', q{
  CREATE EXTENSION kde_aqp;
  CREATE TABLE t (v double precision);
  INSERT INTO t SELECT i FROM generate_series(1, 1000) AS i;
});

# The number of rows tells one fit from another: the table grows before each, and where every row
# was read, the whole range counts all.
my $rows = 1000;
my $refit = q{SELECT rows FROM kde_fit('t', 'v', seed => 1)};
my $count = q{SELECT approx_count('t.v')};
my ($reader, $writer) = (open_session($node), open_session($node));

sub grow {
  $rows += 10;
  ask($writer, q{INSERT INTO t SELECT i FROM generate_series(1, 10) AS i});
  return $rows;
}

is(ask($writer, $refit), $rows, 'a fit');
is(ask($reader, $count), $rows, 'is seen');

# READ COMMITTED
my $old = $rows;
grow();
ask($writer, $refit);
is(ask($reader, $count), $rows, "a refit is seen by another session's next statement");
ask($reader, 'BEGIN');
is(ask($reader, $count), $rows, 'in a transaction');
$old = $rows;
grow();
ask($writer, 'BEGIN');
is(ask($writer, $refit), $rows, 'a refit not committed yet');
is(ask($writer, $count), $rows, 'is seen by its own transaction');
is(ask($reader, $count), $old, 'and not by another');
ask($writer, 'COMMIT');
is(ask($reader, $count), $rows, 'but within its open transaction once it is committed');
ask($reader, 'COMMIT');

# Rolled back
$old = $rows;
ask($writer, 'BEGIN');
grow();
is(ask($writer, $refit), $rows, 'a refit');
is(ask($writer, $count), $rows, 'seen by its own');
ask($writer, 'ROLLBACK');
is(ask($writer, $count), $old, 'leaves the old density when rolled back, for its session');
is(ask($reader, $count), $old, 'and for another');
$rows = $old;

# Subtransactions
ask($writer, 'BEGIN');
ask($writer, 'SAVEPOINT a');
grow();
ask($writer, $refit);
my $at_a = $rows;
ask($writer, 'SAVEPOINT b');
grow();
ask($writer, $refit);
is(ask($writer, $count), $rows, 'a refit in a second savepoint');
ask($writer, 'ROLLBACK TO b');
is(ask($writer, $count), $at_a, 'rolled back, that of the first');
ask($writer, 'RELEASE a');
is(ask($writer, $count), $at_a, 'released, still');
ask($writer, 'ROLLBACK');
is(ask($writer, $count), $old, 'and all rolled back, the old one');
$rows = $old;
# Another transaction that ends meanwhile leaves the snapshots before and after a rollback alike.
ask($writer, $_) for 'BEGIN', 'SAVEPOINT a';
grow();
ask($writer, $refit);
ask($reader, 'CREATE TABLE beside ()');
is(ask($writer, $count), $rows, 'a refit in a savepoint');
ask($writer, 'ROLLBACK TO a');
is(ask($writer, $count), $old, 'rolled back, although the snapshot looks the same');
ask($writer, 'ROLLBACK');
$rows = $old;

# A drop rolled back, and one of the own transaction
ask($writer, 'BEGIN');
ask($writer, q{SELECT kde_drop('t.v')});
like((ask($writer, $count))[1], qr/no density is fitted/, 'a drop is seen by its own transaction');
is(ask($reader, $count), $old, 'and not by another');
ask($writer, 'ROLLBACK');
is(ask($writer, $count), $old, 'rolled back, the density is there');

# REPEATABLE READ
for my $level ('REPEATABLE READ', 'SERIALIZABLE') {
  ask($reader, "BEGIN ISOLATION LEVEL $level");
  is(ask($reader, $count), $rows, "$level");
  $old = $rows;
  grow();
  ask($writer, $refit);
  is(ask($reader, $count), $old, "$level keeps its snapshot's density");
  is(ask($reader, $count), $old, "$level does so again, from the cache");
  ask($writer, q{SELECT kde_drop('t.v')});
  is(ask($reader, $count), $old, "$level does so after a drop");
  ask($writer, $refit);
  ask($reader, 'COMMIT');
  is(ask($reader, $count), $rows, "and after $level the new one is seen");
}
# The snapshot is older than the first look at the density, which is not in the cache.
my $late = open_session($node);
ask($late, 'BEGIN ISOLATION LEVEL REPEATABLE READ');
ask($late, 'SELECT 1');
$old = $rows;
grow();
ask($writer, $refit);
is(ask($late, $count), $old, 'a first answer under an old snapshot');
ask($late, 'COMMIT');
is(ask($late, $count), $rows, 'does not stay in the cache');
$late->quit;

# A cursor keeps the snapshot it was opened with while others in its transaction move on.
ask($reader, 'BEGIN');
ask($reader, q{DECLARE c CURSOR FOR SELECT approx_count('t.v', NULL::double precision, 1e6 + i)
               FROM generate_series(1, 9) AS i});
is(ask($reader, 'FETCH c'), $rows, 'a cursor');
$old = $rows;
grow();
ask($writer, $refit);
is(ask($reader, $count), $rows, 'a statement after it sees a refit');
is(ask($reader, 'FETCH c'), $old, 'the cursor does not');
is(ask($reader, $count), $rows, 'and the statement again does');
# The own transaction's refit comes after the cursor's command.
grow();
is(ask($reader, $refit), $rows, 'a refit by the session itself');
is(ask($reader, 'FETCH c'), $old, 'is not seen by its cursor');
is(ask($reader, $count), $rows, 'but by its next statement');
is(ask($reader, 'FETCH c'), $old, 'to and fro');
ask($reader, 'ROLLBACK');
is(ask($reader, $count), $rows - 10, 'rolled back with its transaction');
is(ask($writer, $refit), $rows, 'and free for another to fit');

# One statement that refits on its way: a volatile function's statements see it, the statement itself
# sees its own snapshot.
ask($writer, q{CREATE FUNCTION refit() RETURNS double precision LANGUAGE plpgsql AS $$
  BEGIN PERFORM kde_fit('t', 'v', seed => 1); RETURN approx_count('t.v'); END $$});
$old = $rows;
grow();
is(ask($writer, q{SELECT approx_count('t.v', NULL, i) || ' ' || refit() || ' ' ||
                  approx_count('t.v', NULL, i) FROM generate_series(2000000, 2000000) AS i}),
  "$old $rows $old", 'a statement that refits keeps its snapshot, the function in it moves on');
is(ask($writer, $count), $rows, 'and then all do');

# The extension dropped and created again
my $stored = q{SELECT count(*) FROM kde_aqp.fitted};
is(ask($reader, $count), $rows, 'a cached density');
ask($writer, 'DROP EXTENSION kde_aqp CASCADE');
like((ask($reader, $count))[1], qr/approx_count\(unknown\) does not exist/, 'no extension, no function');
ask($writer, 'CREATE EXTENSION kde_aqp');
is(ask($reader, $stored), '0', 'a new extension is empty');
like((ask($reader, $count))[1], qr/no density is fitted/, 'nothing comes from the cache');
ask($writer, $refit);
is(ask($reader, $count), $rows, 'and a new fit is seen');

# Rows of a restore.
ask($writer, q{CREATE TABLE saved AS SELECT * FROM kde_aqp.fitted});
ask($writer, q{SELECT count(kde_drop(name, filter => filter)) FROM kde_densities});
like((ask($reader, $count))[1], qr/no density is fitted/, 'a density dropped is gone for others');
ask($writer, q{INSERT INTO kde_aqp.density SELECT * FROM saved});
is(ask($reader, $count), $rows, 'and one restored is there');

# The catalog's rows move: versions of one transaction come to stand in each other's place, and the file
# becomes shorter than a place that is remembered.
ask($writer, 'VACUUM FULL kde_aqp.fitted');
ask($writer, q{CREATE TABLE moved AS SELECT i AS a, i * 10 AS b, i * 100 AS c FROM generate_series(1, 100) AS i});
ask($writer, q{SELECT kde_fit('moved', 'a', seed => 1), kde_fit('moved', 'b', seed => 1), kde_fit('moved', 'c', seed => 1)});
my $moved = q{SELECT approx_sum('moved.b') || ' ' || approx_sum('moved.c')};
my $b_stands = q{SELECT ctid FROM kde_aqp.fitted WHERE column_names = '{b}'};
is(ask($reader, $moved), '50500 505000', 'densities of one transaction');
my $before = ask($writer, $b_stands);
ask($writer, $_) for q{SELECT kde_drop('moved.a')}, 'VACUUM FULL kde_aqp.fitted';
is(ask($writer, q{SELECT ctid FROM kde_aqp.fitted WHERE column_names = '{c}'}), $before,
  "after VACUUM FULL one has the other's place");
is(ask($reader, $moved), '50500 505000', 'and both are found');
$before = ask($writer, $b_stands);
ask($writer, $_) for q{SELECT kde_drop('moved.b')}, 'VACUUM kde_aqp.fitted', q{SELECT kde_fit('moved', 'a', seed => 1)};
is(ask($writer, q{SELECT ctid FROM kde_aqp.fitted WHERE column_names = '{a}'}), $before, 'a later one has the place of one dropped');
like((ask($reader, $moved))[1], qr/no density is fitted for moved\.b/, 'which is not answered from it');
ask($writer, $_) for q{SELECT kde_drop('moved.a')}, q{SELECT kde_fit('moved', 'b', seed => 1)};
ask($writer, q{SELECT kde_drop('moved.b')});
ask($writer, q{SELECT kde_fit('moved', 'b', seed => i), kde_drop('moved.b') FROM generate_series(1, 60) AS i});
ask($writer, q{SELECT kde_fit('moved', 'b', seed => 1)});
is(ask($reader, $moved), '50500 505000', 'the last row');
my $blocks = q{SELECT pg_relation_size('kde_aqp.fitted') / current_setting('block_size')::integer};
my $long = ask($writer, $blocks);
ask($writer, $_) for q{SELECT kde_drop('moved.b')}, q{VACUUM (TRUNCATE) kde_aqp.fitted};
cmp_ok(ask($writer, $blocks), '<', $long, 'cut off by VACUUM');
like((ask($reader, $moved))[1], qr/no density is fitted for moved\.b/, 'is gone');
ask($writer, 'DROP TABLE moved');

# The table's own changes
ask($writer, 'ALTER TABLE t RENAME v TO x');
is(ask($reader, q{SELECT approx_count('t.x')}), $rows, 'a renamed column keeps its density');
like((ask($reader, $count))[1], qr/column "v" of relation "t" does not exist/, 'under its new name alone');
ask($writer, 'ALTER TABLE t ADD v double precision');
like((ask($reader, $count))[1], qr/no density is fitted for t\.v/, 'a new column of the old name has none');
ask($writer, 'DROP TABLE t');
ask($writer, 'CREATE TABLE t (v double precision)');
like((ask($reader, $count))[1], qr/no density is fitted for t\.v/, 'nor has a new table');
$_->quit for $reader, $writer;

# More densities than the cache holds, of columns of wide spread, no two the same.
my $columns = 60;
$node->safe_psql('postgres', join("\n",
    'CREATE TABLE many AS SELECT ' . join(', ', map { "exp(hashint4(i) / (3e8 + 1e6 * $_)) AS c$_" } 1 .. $columns)
      . ' FROM generate_series(1, 3000) AS i;',
    map { "SELECT kde_fit('many', 'c$_', seed => 1);" } 1 .. $columns));
my $sizes = $node->safe_psql('postgres', q{SELECT sum(bytes) FROM kde_densities_full WHERE relation = 'many'::regclass});
cmp_ok($sizes, '>', 65536 + 16384, "$columns densities of $sizes bytes do not fit in 64 kB");
my $walk = join ' UNION ALL ',
  map { my $c = 1 + ($_ * 17) % $columns; "SELECT approx_count('many.c$c', 0, $_ * 2) || ' ' || approx_avg('many.c$c')" }
  1 .. 3 * $columns;
my $wide = $node->safe_psql('postgres', "SET kde_aqp.cache_size = '64MB'; $walk");
is($node->safe_psql('postgres', "SET kde_aqp.cache_size = '64kB'; $walk; $walk"), "$wide\n$wide",
  'a small cache answers the same');
my $small = open_session($node, 'postgres', "SET kde_aqp.cache_size = '64kB'");
ask($small, $walk) for 1 .. 3;
# The allocator rounds a chunk up to a power of 2, so to less than its double; the table of entries is
# in a context of the same name.
my $held = ask($small, q{SELECT sum(used_bytes) FROM pg_backend_memory_contexts
                         WHERE name = 'kde_aqp densities'});
note "$held bytes held under a cache_size of 64 kB";
cmp_ok($held, '<', 2 * 65536 + 32768, 'and holds little memory');
$small->quit;

$node->stop;
done_testing();
