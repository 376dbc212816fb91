# Where rows are is for the planner to say, which computes what is constant in the expressions of a table's
# indexes: a function of the table's owner may raise an error there, or not come back. That is between the
# owner and those who ask for the table; lists of densities, refreshes of others' and the worker go on. Where
# no hook of the planner is set it is not asked, so one is.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $library = $ENV{KDE_AQP_ELSEWHERE} or die 'KDE_AQP_ELSEWHERE is not set';
my $node = PostgreSQL::Test::Cluster->new('planning');
$node->init;
$node->append_conf('postgresql.conf', <<"CONF");
shared_preload_libraries = '$library, kde_aqp'
kde_aqp.max_workers = 0
kde_aqp.naptime = 1s
kde_aqp.refresh_timeout = 500ms
kde_aqp.refresh_threshold = 1
autovacuum = off
CONF
$node->start;
sub sql { return $node->safe_psql('postgres', $_[0]) }

sql(q{
  CREATE EXTENSION kde_aqp;
  CREATE ROLE maker;
  CREATE SCHEMA made AUTHORIZATION maker;
  SET ROLE maker;
  CREATE FUNCTION made.f(integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
  CREATE TABLE made.t AS SELECT i AS x FROM generate_series(1, 1000) AS i;
  CREATE INDEX ON made.t ((x + made.f(1)));
  RESET ROLE;
  CREATE TABLE plain AS SELECT i AS x FROM generate_series(1, 1000) AS i;
  CREATE INDEX ON plain (abs(x)) WHERE x > 0;
  SELECT kde_fit('made.t', 'x'), kde_fit('plain', 'x');});
my $listed = q{SELECT relation, changed_rows, stale_reason FROM kde_densities_full ORDER BY relation::text};
is(sql($listed), "made.t|0|\nplain|0|", 'a list calls no function of an owner, as the proof needs none');
sql('INSERT INTO made.t SELECT x FROM made.t');
like(sql($listed), qr/^made\.t\|\|.+\nplain\|0\|$/, 'nor where rows changed, whose number it does not know');

# One that raises an error.
sql(q{CREATE OR REPLACE FUNCTION made.f(integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RAISE 'not today'; END $$});
like(sql($listed), qr/^made\.t\|\|.+\nplain\|0\|$/, 'where it raises an error, too');
is(sql(q{SELECT approx_count('made.t.x')}), 1000, 'an answer about the table goes on');
sql('INSERT INTO plain SELECT x FROM plain');
my (undef, undef, $err) = $node->psql('postgres', 'CALL kde_refresh_all()');
unlike($err, qr/ERROR/, 'a refresh of all goes on');
is(sql(q{SELECT rows FROM kde_densities_full WHERE relation = 'plain'::regclass}), 2000, 'and reaches the others');

# One that does not come back, and traps its cancel, cannot keep the worker.
# Rows of its table change meanwhile.
sql(q{
  CREATE OR REPLACE FUNCTION made.f(integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
  INSERT INTO made.t SELECT x FROM made.t;
  CREATE OR REPLACE FUNCTION made.f(integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS $$
  BEGIN
    LOOP BEGIN PERFORM pg_sleep(600); EXCEPTION WHEN query_canceled THEN NULL; END; END LOOP;
  END $$;
  INSERT INTO plain SELECT x FROM plain});
sql('ALTER SYSTEM SET kde_aqp.max_workers = 1');
$node->reload;
my $rows = q{SELECT rows FROM kde_densities_full WHERE relation = 'plain'::regclass};
ok($node->poll_query_until('postgres', $rows, 4000), 'nor where it does not come back: the worker reaches the others');
ok($node->poll_query_until('postgres', q{SELECT refresh_failures > 0 FROM kde_densities_full WHERE relation = 'made.t'::regclass}),
  'and what holds it is noted');
sql('INSERT INTO plain SELECT x FROM plain');
ok($node->poll_query_until('postgres', $rows, 8000), 'once more');
sql('ALTER SYSTEM SET kde_aqp.max_workers = 0');
sql('DROP INDEX made.t_expr_idx');

# An owner who may not use his table's schema.
sql(q{
  CREATE SCHEMA closed;
  CREATE TABLE closed.t AS SELECT i AS x FROM generate_series(1, 1000) AS i;
  ALTER TABLE closed.t OWNER TO maker;});
is(sql(q{SELECT rows FROM kde_fit('closed.t', 'x')}), 1000, 'a table whose owner may not use its schema is fitted');
is(sql(q{SELECT approx_count('closed.t.x')}), 1000, 'and answers');
is(sql(q{SELECT changed_rows, stale_reason FROM kde_densities_full WHERE relation = 'closed.t'::regclass}), '0|', 'and is listed');

$node->stop;
done_testing();
