# Rows that a session has changed and fitted before its statistics are sent, which takes up to a minute
# while it is busy: to other sessions they are no sign of age.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('unsent');
$node->init;
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;
$node->safe_psql('postgres', q{
  CREATE EXTENSION kde_aqp;
  CREATE TABLE t (v double precision);
  INSERT INTO t SELECT i FROM generate_series(1, 1000) AS i;
});

# Statistics are sent between transactions, when the server waits for the next message: so the message
# that fits leaves another transaction open.
my ($writer, $reader) = (open_session($node), open_session($node));
# A fit that its own transaction's changes precede proves nothing of their blocks: none are counted, which is
# not to say that none changed.
my $state = q{SELECT stale || ' ' || coalesce(changed_rows::text, substring(proof FROM '^at most')) FROM kde_densities_full};
ask($writer, q{BEGIN\; INSERT INTO t SELECT i FROM generate_series(1, 500) AS i\; UPDATE t SET v = v + 1 WHERE v < 100\;
  SELECT kde_fit('t', 'v')\; COMMIT\; BEGIN});
is(ask($reader, q{SELECT pg_stat_get_tuples_updated('t'::regclass)}), '0', 'the statistics are on their way');
is(ask($reader, $state), 'false at most', 'and nothing is stale meanwhile');
is(ask($reader, q{SELECT approx_count('t.v')}), '1500', 'an answer says nothing');
is((ask($reader, q{SELECT approx_count('t.v')}))[1], '', 'of age');
ask($writer, 'COMMIT');
$writer->quit;
ok(wait_until(sub { ask($reader, q{SELECT pg_stat_get_tuples_updated('t'::regclass)}) > 0 }), 'they arrive');
is(ask($reader, $state), 'false at most', 'and still nothing is');

# What comes later counts, and so do counters that begin anew.
$node->safe_psql('postgres', 'INSERT INTO t SELECT i FROM generate_series(1, 300) AS i');
is(ask($reader, $state), 'true 300', 'rows inserted later are counted');
$node->safe_psql('postgres', q{SELECT pg_stat_reset_single_table_counters('t'::regclass)});
$node->safe_psql('postgres', 'INSERT INTO t SELECT i FROM generate_series(1, 70) AS i');
is(ask($reader, $state), 'false 70', 'and after a reset those since');
$reader->quit;
$node->stop;
done_testing();
