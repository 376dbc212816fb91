# Tables whose rows are elsewhere, as those of distributed, compressed and columnar tables are: behind
# a custom scan that the planner puts in the table's place (test/planner/elsewhere.c). A table NAME of
# a schema, with a table elsewhere.NAME, has the rows of that; its own file keeps others, or none.
#
# What is read must be what SELECT sees; what nobody counts must be said; and a density fitted before
# the rows went must not go on answering in silence.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $library = $ENV{KDE_AQP_ELSEWHERE} or die 'KDE_AQP_ELSEWHERE is not set';
my $node = PostgreSQL::Test::Cluster->new('elsewhere');
$node->init;
$node->append_conf('postgresql.conf', <<"CONF");
shared_preload_libraries = '$library, kde_aqp'
kde_aqp.max_workers = 0
kde_aqp.naptime = 1s
kde_aqp.sample_blocks = 20
autovacuum = off
CONF
$node->start;

sub sql { return $node->safe_psql('postgres', $_[0]) }

# Standard output and error.
sub both {
  my (undef, $out, $err) = $node->psql('postgres', $_[0]);
  return ($out, $err);
}

# Rows of the densities of a table, of the table, and what is said of them.
sub rows { return sql("SELECT string_agg(rows::text, ' ' ORDER BY column_names, filter) FROM kde_densities_full
  WHERE relation = '$_[0]'::regclass") }
sub count { return sql("SELECT count(*) FROM $_[0]") }
sub said { return sql("SELECT DISTINCT stale, stale_reason, changed_rows FROM kde_densities_full
  WHERE relation = '$_[0]'::regclass") }

my $unknown = 'f|changes unknown: queries see other rows than the table\'s own|';
my $gone = 't|its rows are elsewhere: queries no longer read the table that was fitted|';

sql(q{
  CREATE EXTENSION kde_aqp;
  CREATE SCHEMA elsewhere;
  CREATE TABLE moved (v integer, w integer);
  INSERT INTO moved SELECT i, i % 3 FROM generate_series(1, 2000) AS i;
  CREATE TABLE elsewhere.moved (LIKE moved);
  INSERT INTO elsewhere.moved SELECT 100000 + i, i % 7 FROM generate_series(1, 30000) AS i;
  CREATE TABLE plain (v integer, w integer);
  INSERT INTO plain SELECT i, i % 3 FROM generate_series(1, 50000) AS i;
  CREATE INDEX ON plain (v);
  VACUUM ANALYZE plain;
});
is(count('moved'), 30000, 'the planner goes elsewhere');

# --- fits read what queries see ---------------------------------------------------------------------

my ($out, $err) = both(q{SELECT rows, rows_read FROM kde_fit('moved', 'v', seed => 1)});
is($out, '30000|30000', 'one column, a sample');
like($err, qr/NOTICE:  changes of "moved" are not counted: queries do not read the table itself/,
  'a fit says that changes are not counted');
like($err, qr/HINT:  Set max_age with kde_set_refresh/, 'and what to do');
sql(q{
  SELECT kde_fit('moved', 'w', sample_rows => -1);
  SELECT kde_fit('moved', ARRAY['v', 'w'], sample_rows => 500, seed => 1);
  SELECT kde_fit('moved', ARRAY['v * 2'], seed => 1);
  SELECT kde_fit('moved', 'v', filter => 'w = 3', seed => 1);
});
is(rows('moved'), join(' ', 30000, sql('SELECT count(*) FROM moved WHERE w = 3'), (30000) x 3),
  'with a filter, several columns, expressions and every row');
is(said('moved'), $unknown, 'how many rows changed is unknown, and why is said');
is(sql(q{SELECT approx_count('moved.w', 3, 3) = (SELECT count(*) FROM moved WHERE w = 3)}), 't',
  'an answer is of the rows that queries see');
is(sql(q{SELECT approx_count('moved.v', 100011, 100090, max_relative_error => 0, otherwise => 'exact')}),
  80, 'so is the exact one');
is(sql(q{SELECT min(sample_rows) || ' ' || bool_and(p_value > 0.001) FROM kde_drift('moved.v', seed => 1)}),
  '5000 true', 'and a sample for drift');

# --- plain tables are read by block as ever -----------------------------------------------------------

for my $setting ('', 'SET enable_seqscan = off;',
  'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;') {
  is(sql("$setting SELECT rows_read < 10000 FROM kde_fit('plain', 'v', seed => 1)"), 't',
    "blocks of a plain table are sampled ($setting)");
}
is(said('plain'), 'f||0', 'and its changes are counted');

# --- trees, of which a part is elsewhere ----------------------------------------------------------------

sql(q{
  CREATE TABLE tree (v integer, w integer) PARTITION BY RANGE (v);
  CREATE TABLE tree_1 PARTITION OF tree FOR VALUES FROM (0) TO (10000);
  CREATE TABLE tree_2 (w integer, gone text, v integer);
  ALTER TABLE tree_2 DROP COLUMN gone;
  ALTER TABLE tree ATTACH PARTITION tree_2 FOR VALUES FROM (10000) TO (20000);
  CREATE TABLE tree_3 PARTITION OF tree FOR VALUES FROM (20000) TO (30000) PARTITION BY RANGE (v);
  CREATE TABLE tree_4 PARTITION OF tree_3 FOR VALUES FROM (20000) TO (30000);
  INSERT INTO tree SELECT i, i % 5 FROM generate_series(0, 29999) AS i;
  CREATE TABLE parent (v integer);
  CREATE TABLE child () INHERITS (parent);
  INSERT INTO parent SELECT generate_series(1, 1000);
  INSERT INTO child SELECT generate_series(1, 3000);
  SELECT kde_fit('tree', 'v', seed => 1), kde_fit('tree', ARRAY['v', 'w'], seed => 1), kde_fit('parent', 'v');
});
is(said('tree'), 'f||0', 'a plain tree');

# A root that is left out is nothing missing while it is empty.
sql(q{
  CREATE TABLE left_out (v integer);
  CREATE TABLE kept () INHERITS (left_out);
  INSERT INTO kept SELECT generate_series(1, 20000);
});
is(sql(q{SELECT rows_read < 10000 FROM kde_fit('left_out', 'v', seed => 1)}), 't', 'a tree whose empty root is left out is sampled by block');
is(said('left_out'), 'f||0', 'and its changes are counted');
sql(q{INSERT INTO left_out SELECT generate_series(1, 100)});
is(said('left_out'), $gone, 'with rows in the root it is stale');
is(sql(q{SELECT rows FROM kde_fit('left_out', 'v', seed => 1)}), count('left_out'), 'and read as queries do');
is(count('left_out'), 20000, 'which do not see them');

my $session = open_session($node, 'postgres', 'SET kde_aqp.stale = warn');
my $question = q{SELECT approx_count('tree.w', 3, 3) IS NOT NULL, approx_count('tree.v') IS NOT NULL};
sql(q{SELECT kde_fit('tree', 'w', seed => 1)});
is((ask($session, $question))[1], '', 'of which answers say nothing');

# As a chunk is compressed: its rows go, and its file is empty.
sql(q{
  CREATE TABLE elsewhere.tree_2 (w integer, gone text, v integer);
  INSERT INTO elsewhere.tree_2 (w, v) SELECT w, v FROM tree_2;
  TRUNCATE tree_2;
  CREATE TABLE elsewhere.child (v integer);
  INSERT INTO elsewhere.child SELECT generate_series(1, 5000);
});
is(count('tree'), 30000, 'a partition went elsewhere');
is(said('tree'), $gone, 'the densities fitted before are stale');
is(said('parent'), $gone, 'so are those of a tree by inheritance');
# Its look at staleness is at most a second old.
my $warning = '';
ok(wait_until(sub { $warning .= (ask($session, $question))[1]; $warning =~ /density of tree\.w/ && $warning =~ /density of tree\.v/ }),
  'their answers warn');
like($warning, qr/its rows are elsewhere/, 'and say why');
like((both(q{SET kde_aqp.stale = error; SELECT approx_count('parent.v')}))[1],
  qr/ERROR:  the density of parent.v is stale/, 'or are refused');
is((both(q{SELECT approx_count('parent.v', max_relative_error => 0.5, otherwise => 'exact')}))[0], 6000,
  'who asks for accuracy has the exact answer');
like((both(q{SELECT approx_count('parent.v', max_relative_error => 0.5)}))[1],
  qr/ERROR:  the answer is not as accurate as required.*the rows are elsewhere since the fit/s, 'or an error');

# --- looks wait for nobody, and hold nothing ------------------------------------------------------------

my ($holder, $reader) = (open_session($node), open_session($node, 'postgres', q{SET lock_timeout = '1ms'}));
for my $table (qw(tree tree_4 elsewhere.tree_2)) {
  ask($holder, "BEGIN; LOCK TABLE $table IN ACCESS EXCLUSIVE MODE");
  my $asker = open_session($node, 'postgres', q{SET lock_timeout = '1ms'});
  is((ask($asker, q{SELECT approx_count('tree.v') IS NOT NULL}))[0], 't', "answers go on while $table is locked");
  is((ask($asker, q{SELECT count(*) > 0 FROM kde_densities_full}))[0], 't', 'and so does kde_densities_full');
  $asker->quit;
  ask($holder, 'ROLLBACK');
}
ask($reader, 'BEGIN');
ask($reader, q{SELECT approx_count('tree.v') IS NOT NULL});
is(ask($reader, q{SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'relation'
  AND relation IN ('tree'::regclass, 'tree_1'::regclass, 'tree_4'::regclass)}), 0, 'answers hold no lock on the table');
ask($reader, 'COMMIT');

# In parallel workers, where no lock may outlast the look either.
my $parallel = q{SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
  SET parallel_leader_participation = off; SET kde_aqp.stale = warn;};
my $by_workers = q{SELECT count(approx_count('tree.v', v, v)) FROM plain};
like(sql("$parallel EXPLAIN $by_workers"), qr/Gather/, 'a parallel plan');
($out, $err) = both("$parallel $by_workers");
is($out, 50000, 'answers in parallel workers');
like($err, qr/WARNING:  the density of tree.v is stale/, 'warn as well');
like((both(qq{$parallel SELECT sum(approx_count('tree.v', v, v, max_relative_error => 0, otherwise => 'exact')) FROM plain}))[1],
  qr/ERROR:  cannot query table "tree" in a parallel worker/, 'and ask no stranger from there');

# --- refreshes ------------------------------------------------------------------------------------------

is(sql(q{SELECT string_agg(DISTINCT action || ' ' || reason, ';') FROM kde_refresh('parent')}),
  'refitted its rows are elsewhere: queries no longer read the table that was fitted', 'kde_refresh refits');
is(rows('parent'), 6000, 'from the rows that queries see');
is(said('parent'), $unknown, 'and is content');
is(sql(q{SELECT count(*) FROM kde_refresh('parent') WHERE action = 'unknown'}), 1, 'also the second time');

# The worker.
sql('ALTER SYSTEM SET kde_aqp.max_workers = 1');
$node->reload;
$node->poll_query_until('postgres',
  q{SELECT NOT bool_or(stale) FROM kde_densities_full WHERE relation = 'tree'::regclass}) or die 'not refreshed';
sql('ALTER SYSTEM SET kde_aqp.max_workers = 0');
$node->reload;
is(rows('tree'), '30000 30000 30000', 'the worker puts right densities in their place');
is(said('tree'), $unknown, 'of which changes are unknown');

# Changes are seen by drift, or by age, or when asked.
sql('INSERT INTO elsewhere.moved SELECT i, 0 FROM generate_series(1, 30000) AS i');
is(said('moved'), $unknown, 'inserts are not counted');
like((both('CALL kde_refresh_all(check_drift => true)'))[1],
  qr/refitted the density of moved.v in \d+ ms: drift/, 'drift sees them');
is(sql(q{SELECT rows FROM kde_densities_full WHERE relation = 'moved'::regclass AND column_names = '{v}' AND filter IS NULL}), 60000,
  'and the refit reads them');
sql(q{DELETE FROM elsewhere.moved WHERE v <= 100000});
sql(q{SELECT kde_refresh('moved', force => true)});
is(rows('moved'), join(' ', 30000, sql('SELECT count(*) FROM moved WHERE w = 3'), (30000) x 3), 'so does a forced refresh');
sql(q{SELECT kde_set_refresh('parent.v', max_age => '1 millisecond')});
like(said('parent'), qr/^t\|fitted \d+ s ago/, 'age makes them stale');

# What came by a restore may have been fitted to the table itself.
sql('UPDATE kde_aqp.upkeep SET counters = NULL');
is(said('moved'), $gone, 'where it is not known how a density was fitted, it is stale');

# Rows that came back are known from the next fit on.
sql(q{DROP TABLE elsewhere.moved; CALL kde_refresh_all()});
is(sql(q{SELECT bool_and(changed_rows IS NULL OR rows <= 2000) FROM kde_densities_full WHERE relation = 'moved'::regclass}), 't',
  'where the rows are those of the table again, no fit to the others passes for fresh');
sql(q{SELECT kde_refresh('moved', force => true)});
# Rows of w = 3 there are none.
is(sql(q{SELECT DISTINCT stale, stale_reason, changed_rows FROM kde_densities_full WHERE relation = 'moved'::regclass AND filter IS NULL}),
  'f||0', 'and the next fit is proven');

# --- beneath ----------------------------------------------------------------------------------------------

# As a chunk is compressed: rows are in a table beneath, ten in each of its. What changes is counted, not proven.
sql(q{
  CREATE SCHEMA beneath;
  CREATE TABLE chunks (v integer, w integer);
  CREATE TABLE chunk_1 () INHERITS (chunks);
  CREATE TABLE chunk_2 () INHERITS (chunks);
  INSERT INTO chunk_1 SELECT i, i % 3 FROM generate_series(1, 10000) AS i;
  INSERT INTO chunk_2 SELECT i, i % 3 FROM generate_series(10001, 40000) AS i;
  CREATE TABLE beneath.later (LIKE chunks);
  INSERT INTO beneath.later SELECT v, w FROM chunk_1 WHERE v % 10 = 1;
});
sql(q{
  ANALYZE beneath.later, chunk_1, chunk_2;
  SELECT kde_fit('chunks', 'v', sample_rows => -1), kde_fit('chunks', 'w', sample_rows => -1);
});
is(said('chunks'), 'f||0', 'a plain tree');
sub reasons { return sql("SELECT string_agg(DISTINCT action || ' ' || reason, ';') FROM kde_refresh('chunks')") }
sub changed { return sql(q{SELECT string_agg(DISTINCT stale || ' ' || changed_rows, ';') FROM kde_densities_full
  WHERE relation = 'chunks'::regclass}) }

# Its rows go from its file, and come into the table beneath.
sql(q{TRUNCATE chunk_1; ALTER TABLE beneath.later RENAME TO chunk_1});
is(count('chunks'), 40000, 'a chunk has its rows in a table beneath');
is(changed(), 'true 20000', 'those of before and of now count as changed');
is(reasons(), 'refitted rows changed: 20000, of 40000', 'a refresh reads them');
is(rows('chunks'), '40000 40000', 'where queries do');
is(said('chunks'), $unknown, 'and nothing is proven of them');
is((both(q{SELECT kde_fit('chunks', 'v', sample_rows => -1)}))[1], '', 'of which a fit says nothing');
sql('SELECT kde_refresh(\'chunks\', force => true)');
is(sql(q{SELECT count(*) FROM kde_refresh('chunks') WHERE action = 'unknown'}), 2, 'a refresh has nothing to do, and does not call them fresh');

sql(q{INSERT INTO beneath.chunk_1 SELECT i, 7 FROM generate_series(1, 100) AS i});
is(changed(), 'false 1000', 'rows beneath count tenfold');
is(sql(q{SELECT upper_bound >= 1000 FROM approx_count_ci('chunks.w', 7, 7)}), 't', 'and are in intervals');
sql(q{INSERT INTO beneath.chunk_1 SELECT i, 7 FROM generate_series(1, 900) AS i});
is(reasons(), 'refitted rows changed: 10000, of 40000', 'many make densities stale');
is(rows('chunks'), '50000 50000', 'with the new rows');
sql(q{INSERT INTO chunk_2 SELECT i, 7 FROM generate_series(1, 10000) AS i});
is(reasons(), 'refitted rows changed: 10000, of 50000', 'rows of another chunk');
sql(q{DROP TABLE chunk_1; DROP TABLE beneath.chunk_1});
is(changed(), 'true 20000', 'a table that goes counts with the rows beneath it');
sql(q{SELECT kde_refresh('chunks')});
is(rows('chunks'), '40000 40000', 'and is forgotten');

# --- policies -------------------------------------------------------------------------------------------

sql(q{
  CREATE ROLE owner;
  CREATE TABLE policed (v integer);
  INSERT INTO policed SELECT generate_series(1, 1000);
  ALTER TABLE policed OWNER TO owner, ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
});
is(sql(q{SELECT rows FROM kde_fit('policed', 'v')}), 1000, 'a superuser fits a table whose policies apply to its owner');
sql(q{CREATE TABLE elsewhere.policed (v integer); GRANT ALL ON SCHEMA elsewhere TO owner});
like((both(q{SELECT kde_fit('policed', 'v')}))[1], qr/query would be affected by row-level security policy/,
  'but not by a query that they would be applied to');

# --- table access methods ---------------------------------------------------------------------------------

sql(qq{
  CREATE FUNCTION silent_method(internal) RETURNS table_am_handler AS '$library', 'silent_method' LANGUAGE C;
  CREATE FUNCTION counting_method(internal) RETURNS table_am_handler AS '$library', 'counting_method' LANGUAGE C;
  CREATE ACCESS METHOD silent TYPE TABLE HANDLER silent_method;
  CREATE ACCESS METHOD counting TYPE TABLE HANDLER counting_method;
  CREATE TABLE uncounted (v integer) USING silent;
  CREATE TABLE counted (v integer) USING counting;
  INSERT INTO uncounted SELECT generate_series(1, 20000);
  INSERT INTO counted SELECT generate_series(1, 20000);
});
($out, $err) = both(q{SELECT rows FROM kde_fit('uncounted', 'v')});
is($out, 20000, 'a table access method without TID range scans');
like($err, qr/changes of "uncounted" are not counted: table access method "silent" has counted no row/, 'that counts nothing');
($out, $err) = both(q{SELECT rows FROM kde_fit('counted', 'v')});
is("$out$err", 20000, 'and one that counts');
sql(q{INSERT INTO uncounted SELECT generate_series(1, 20000); INSERT INTO counted SELECT generate_series(1, 20000)});
is(said('uncounted'), 'f|changes unknown: it is no permanent heap table|', 'the first says that it does not know');
is(said('counted'), 't|rows changed: 20000, of 20000|20000', 'the other does');

$_->quit for $session, $holder, $reader;
$node->stop;
done_testing();
