# Texts that are cut, read by clients of other encodings: a name is cut between characters, so that a
# warning does not become an error.
use strict;
use warnings;
use utf8;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('encoding');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION kde_aqp');

# Characters of two bytes and of three, at every place where the cut may fall.
my %client = (LATIN1 => "\x{e9}", SJIS => "\x{3042}");
for my $encoding (sort keys %client) {
  for my $before (0 .. 2) {
    my ($name, @columns) = map { my $c = 'x' x $before . $client{$encoding} x 19 . $_; utf8::encode($c); $c } 0 .. 4;
    my $list = join ', ', map { qq{i::float8 AS "$_"} } @columns;
    $node->safe_psql('postgres', qq{
      CREATE TABLE "$name" AS SELECT $list FROM generate_series(1, 1000) AS i;
      SELECT kde_fit('"$name"', '{@{[ join ',', @columns ]}}'::text[], seed => 1);
      INSERT INTO "$name" SELECT * FROM "$name"});
    my $answer = q{SELECT approx_count(name, ARRAY[1.0, 1, 1, 1], ARRAY[10.0, 10, 10, 10]) >= 0
      FROM kde_densities_full};
    ok($node->poll_query_until('postgres', 'SELECT bool_and(stale) FROM kde_densities_full'), "$encoding, $before: a stale density");
    my ($code, $out, $err) = $node->psql('postgres', "SET client_encoding = '$encoding'; $answer; SET kde_aqp.stale = error; $answer");
    is($out, 't', 'a warning leaves the answer');
    like($err, qr/WARNING:  the density of .* is stale/, 'and comes');
    like($err, qr/ERROR:  the density of .* is stale/, 'or is the error asked for');
    $node->safe_psql('postgres', qq{DROP TABLE "$name"});
  }
}

$node->stop;
done_testing();
