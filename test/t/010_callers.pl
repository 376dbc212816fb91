# Answers from where drivers and functions ask: PL/pgSQL, prepared statements whose plans become
# invalid, the extended protocol with parameters of no type.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('callers');
$node->init;
$node->start;
$node->safe_psql('postgres', q{
  CREATE EXTENSION kde_aqp;
  CREATE TABLE t (v numeric(10,2), at timestamptz);
  INSERT INTO t SELECT i, '2026-01-01 00:00+00'::timestamptz + i * interval '1 h' FROM generate_series(1, 1000) AS i;
  SELECT kde_fit('t', 'v', seed => 1), kde_fit('t', 'at', seed => 1);
});

# PL/pgSQL keeps plans over calls.
my $session = open_session($node);
ask($session, q{
  CREATE FUNCTION typed(low numeric, high numeric) RETURNS double precision LANGUAGE plpgsql AS
    $$ BEGIN RETURN approx_count('t.v', low, high); END $$;
  CREATE FUNCTION untyped(low text, high text) RETURNS double precision LANGUAGE plpgsql AS
    $$ BEGIN RETURN approx_count('t.at', low, high); END $$;
  CREATE FUNCTION dynamic(column_name text, low anyelement) RETURNS double precision
    LANGUAGE plpgsql AS
    $$ DECLARE n double precision;
       BEGIN EXECUTE 'SELECT approx_count($1, $2)' INTO n USING column_name, low; RETURN n; END $$;
  CREATE FUNCTION looped(n integer) RETURNS text LANGUAGE plpgsql AS
    $$ DECLARE answers text[];
       BEGIN
         FOR i IN 1 .. n LOOP
           answers[i] := approx_count('t.v', 1, i)::text;
         END LOOP;
         RETURN array_to_string(answers, ' ');
       END $$;});
my $expected = ask($session, q{SELECT approx_count('t.v', 100, 200)});
is(ask($session, 'SELECT typed(100, 200)'), $expected, 'PL/pgSQL, typed bounds') for 1 .. 7;
is(ask($session, q{SELECT untyped('2026-01-03', '2026-01-05')}),
  ask($session, q{SELECT approx_count('t.at', '2026-01-03'::timestamptz, '2026-01-05'::timestamptz)}),
  'PL/pgSQL, bounds as text');
is(ask($session, q{SELECT dynamic('t.v', 100.0)}), ask($session, q{SELECT approx_count('t.v', 100)}),
  'PL/pgSQL, EXECUTE');
is(ask($session, 'SELECT looped(1000)'),
  ask($session, q{SELECT string_agg(approx_count('t.v', 1, i)::text, ' ' ORDER BY i)
                  FROM generate_series(1, 1000) AS i}),
  'PL/pgSQL, in a loop');

# An error inside is caught, and the session goes on.
is(ask($session, q{
     CREATE FUNCTION guarded(name text) RETURNS text LANGUAGE plpgsql AS
     $$ BEGIN RETURN approx_count(name)::text;
        EXCEPTION WHEN undefined_object THEN RETURN 'none'; WHEN undefined_column THEN RETURN 'no column'; END $$;
     ALTER TABLE t ADD w integer;
     SELECT guarded('t.w') || ' ' || guarded('t.x') || ' ' || guarded('t.v');}),
  'none no column 1000', 'errors are caught');
# A fit in a function that catches its failure.
is(ask($session, q{
     CREATE FUNCTION refit(method text) RETURNS text LANGUAGE plpgsql AS
     $$ BEGIN PERFORM kde_fit('t', 'v', method => method, seed => 2); RAISE 'no';
        EXCEPTION WHEN OTHERS THEN RETURN SQLERRM || ' ' || approx_count('t.v', 100, 200); END $$;
     SELECT refit('silverman');}),
  "no $expected", 'a fit in a block that fails is undone');

# Prepared statements: plans made before, generic ones among them.
for my $mode ('force_custom_plan', 'force_generic_plan') {
  ask($session, "SET plan_cache_mode = $mode");
  ask($session, q{PREPARE untyped AS SELECT approx_count('t.v', $1, $2)});
  ask($session, q{PREPARE typed(integer, numeric) AS SELECT approx_count('t.v', $1, $2)});
  ask($session, q{PREPARE named(text, float8, float8) AS SELECT approx_count($1, $2, $3)});
  ask($session, q{PREPARE by_relation(regclass, name) AS SELECT approx_count(kde_density($1, $2), 100, 200)});
  ask($session, q{PREPARE quantile AS SELECT approx_quantile('t.v', $1)});
  my $check = sub {
    my ($what) = @_;
    my $now = ask($session, q{SELECT approx_count('t.v', 100, 200)});
    is(ask($session, q{EXECUTE untyped('100', '200')}), $now, "$mode, $what: untyped parameters");
    is(ask($session, q{EXECUTE untyped(100, 200)}), $now, "$mode, $what: from numbers");
    is(ask($session, q{EXECUTE typed(100, 200)}), $now, "$mode, $what: typed parameters");
    is(ask($session, q{EXECUTE named('t.v', 100, 200)}), $now, "$mode, $what: the name a parameter");
    is(ask($session, q{EXECUTE by_relation('t', 'v')}), $now, "$mode, $what: by regclass");
    is(ask($session, q{EXECUTE quantile('0.5')}), ask($session, q{SELECT approx_quantile('t.v', 0.5)}),
      "$mode, $what: a quantile");
    return $now;
  };
  my $first = $check->('as prepared');
  ask($session, 'ALTER TABLE t ADD junk integer');
  is($check->('after a column was added'), $first, 'the same');
  ask($session, q{INSERT INTO t SELECT 150 FROM generate_series(1, 500)});
  ask($session, q{SELECT kde_fit('t', 'v', seed => 1)});
  isnt($check->('after a refit'), $first, 'other');
  ask($session, 'ALTER TABLE t DROP junk');
  ask($session, 'ALTER TABLE t RENAME v TO x');
  like((ask($session, q{EXECUTE untyped('1', '2')}))[1], qr/column "v" of relation "t" does not exist/,
    "$mode: a name that is gone");
  ask($session, 'ALTER TABLE t RENAME x TO v');
  $check->('after renames');
  # Another table under the name: `t.v` is looked up at each call.
  ask($session, 'ALTER TABLE t RENAME TO old');
  ask($session, 'CREATE TABLE t AS SELECT i::float8 AS v FROM generate_series(1, 300) AS i');
  like((ask($session, q{EXECUTE untyped('1', '2')}))[1], qr/no density is fitted for t\.v/,
    "$mode: another table without a density");
  ask($session, q{SELECT kde_fit('t', 'v', seed => 1)});
  $check->('another table');
  ask($session, 'DROP TABLE t');
  ask($session, 'ALTER TABLE old RENAME TO t');
  $check->('the old table again');
  ask($session, 'DISCARD PLANS');
  $check->('after DISCARD PLANS');
  ask($session, 'DELETE FROM t WHERE at IS NULL');
  ask($session, q{SELECT kde_fit('t', 'v', seed => 1)});
  ask($session, 'DEALLOCATE ALL');
}
# search_path decides at each call, not when the plan was made.
ask($session, 'RESET plan_cache_mode');
ask($session, q{CREATE SCHEMA other; CREATE TABLE other.t AS SELECT i AS v FROM generate_series(1, 77) AS i});
ask($session, q{SELECT kde_fit('other.t', 'v', seed => 1)});
ask($session, q{PREPARE everything AS SELECT approx_count('t.v')});
is(ask($session, 'EXECUTE everything'), '1000', 'a name by one search_path');
ask($session, 'SET search_path = other, public');
is(ask($session, 'EXECUTE everything'), '77', 'and by another');
$session->quit;

# The extended protocol: pgbench sends its variables as parameters of no type. A division by zero tells
# of a difference.
for my $protocol ('simple', 'extended', 'prepared') {
  $node->pgbench("--no-vacuum --client=2 --transactions=50 --protocol=$protocol --random-seed=1", 0,
    [qr{processed: 100/100}], [qr{^(?!.*error)}is], "pgbench --protocol=$protocol",
    { "check_$protocol" => q{
\set low random(1, 500)
\set high random(500, 1000)
SELECT 1 / (approx_count('t.v', :low, :high) = approx_count('t.v', :low::float8, :high::float8))::integer;
SELECT 1 / (approx_count('t.v', :low, :high) = approx_count('t.v', :low::integer, :high::bigint))::integer;
SELECT 1 / (approx_quantile('t.v', :low / 1001.0) = approx_quantile('t.v', (:low / 1001.0)::float8))::integer;
SELECT 1 / (kde_cdf('t.v', :low) < kde_cdf('t.v', :high::integer + 1))::integer;
SELECT 1 / (approx_count('t.v', numrange(:low, :high)) > 0 OR :low = :high)::integer;
} });
}

$node->stop;
done_testing();
