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

# A value brings the texts in it to a database of another encoding, and back: as text and as binary, whatever
# the client's encoding.
my $words = join ', ', map { "'$_'" } "\x{e9}t\x{e9}", "\x{fc}", 'z', "\x{a0}";
utf8::encode($words);
$node->safe_psql('postgres', qq{
  CREATE DATABASE latin1 ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0;
  CREATE TABLE t AS SELECT i, (ARRAY[$words])[1 + i % 4] AS w FROM generate_series(1, 1000) AS i;
  SELECT kde_fit('t', 'w'), kde_fit('t', ARRAY['i', 'w']), kde_fit('t', 'i', group_by => 'w');
  CREATE TABLE sent AS SELECT row_number() OVER (ORDER BY name) AS n, group_by IS NOT NULL AS grouped, kde_density(name) AS d FROM kde_densities_full;});
is($node->safe_psql('postgres', 'SELECT count(*), count(*) FILTER (WHERE grouped) FROM sent'), '4|1', 'words, several columns and groups');
my $file = $node->basedir . '/sent';
my %copied = (postgres => 'sent', latin1 => 'received');
my $summary = q{SELECT n, octet_length(d::text) > 1000, approx_count(d) FROM %s ORDER BY n};
sub pass_on {
  my ($from, $to, $format, $client) = @_;
  $node->safe_psql($from, "SET client_encoding = '$client'; COPY $copied{$from} TO '$file' (FORMAT $format)");
  $node->safe_psql($to, "SET client_encoding = '$client'; TRUNCATE $copied{$to}; COPY $copied{$to} FROM '$file' (FORMAT $format)");
}
$node->safe_psql('latin1', 'CREATE EXTENSION kde_aqp; CREATE TABLE received (n bigint, grouped boolean, d kde)');
$node->safe_psql('postgres', 'CREATE TABLE original AS SELECT * FROM sent');
for my $format ('text', 'binary') {
  for my $client ('UTF8', 'LATIN1') {
    pass_on('postgres', 'latin1', $format, $client);
    is($node->safe_psql('latin1', sprintf $summary, 'received'), $node->safe_psql('postgres', sprintf $summary, 'sent'), "$format: come as they were");
    is($node->safe_psql('latin1', q{SELECT string_agg(encode(convert_to(value, 'LATIN1'), 'hex'), ' ' ORDER BY value COLLATE "C")
         FROM (SELECT d FROM received WHERE (kde_info(d)).value_type = 'category' OFFSET 0) AS r, approx_top(d, 10)}), '7a a0 e974e9 fc', 'the words are its own');
    is($node->safe_psql('latin1', q{SELECT string_agg(encode(convert_to(group_key, 'LATIN1'), 'hex'), ' ' ORDER BY group_key COLLATE "C")
         FROM (SELECT d FROM received WHERE grouped OFFSET 0) AS r, approx_groups(d)}), '7a a0 e974e9 fc', 'and the keys');
    pass_on('latin1', 'postgres', $format, $client);
    is($node->safe_psql('postgres', 'SELECT count(*) FROM sent JOIN original USING (n, d)'), '4', 'and go back');
  }
}
# As long as a fit takes there, and twice as long here.
$node->safe_psql('latin1', q{CREATE TABLE long AS SELECT repeat(chr(233), 1000) || i % 4 AS w, i FROM generate_series(1, 1000) AS i;
  SELECT kde_fit('long', 'w'), kde_fit('long', 'i', group_by => 'w');
  TRUNCATE received; INSERT INTO received SELECT 1, group_by IS NOT NULL, kde_density(name) FROM kde_densities_full});
pass_on('latin1', 'postgres', 'text', 'UTF8');
is($node->safe_psql('postgres', q{SELECT octet_length(t.value), t.count FROM (SELECT d FROM sent WHERE (kde_info(d)).value_type = 'category' OFFSET 0) AS r, approx_top(d, 1) AS t
  UNION ALL SELECT octet_length(group_key), count FROM (SELECT d FROM sent WHERE grouped OFFSET 0) AS r, approx_groups(d) LIMIT 2}), "2001|250\n2001|250", 'long words and keys come, too');
# What the other has no character for, and what is no character.
my $value = $node->safe_psql('postgres', q{CREATE TABLE euro AS SELECT U&'\20AC' AS w FROM generate_series(1, 9);
  SELECT kde_fit('euro', 'w') IS NULL; SELECT kde_density('euro.w')});
$value =~ s/.*\n//s;
my ($code, $out, $err) = $node->psql('latin1', "SELECT '$value'::kde");
like($err, qr/ERROR:  character with byte sequence 0xe2 0x82 0xac in encoding "UTF8" has no equivalent in encoding "LATIN1"/, 'no such character');
(my $damaged = $value) =~ s/e282ac/e28241/;
isnt($damaged, $value, 'a word is damaged');
($code, $out, $err) = $node->psql('postgres', "SELECT '$damaged'::kde");
like($err, qr/ERROR:  invalid byte sequence for encoding "UTF8"/, 'no character at all');

$node->stop;
done_testing();
