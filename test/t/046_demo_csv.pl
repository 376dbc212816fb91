# Awkward CSV files: the demo reads them (demo/csv.sh), or says in a clear word what to do.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Encode qw(encode);
use IO::Compress::Gzip qw(gzip);
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('demo_csv');
$node->init;
$node->start;

my $folder = PostgreSQL::Test::Utils::tempdir();
$ENV{PGHOST} = $node->host;
$ENV{PGPORT} = $node->port;
$ENV{TMPDIR} = $folder;

sub write_file {
  my ($name, $bytes) = @_;
  open my $file, '>:raw', "$folder/$name" or die "$folder/$name: $!";
  print $file $bytes;
  close $file or die $!;
  return "$folder/$name";
}

# Reads a file into a database of its own: what was printed, and the exit status.
my $databases = 0;

sub read_csv {
  my ($path, $column) = @_;
  $ENV{PGDATABASE} = 'csv_' . ++$databases;
  $node->safe_psql('postgres', "CREATE DATABASE $ENV{PGDATABASE}");
  my ($out, $err) = run_command([ 'bash', "$ENV{KDE_AQP_DEMO}/csv.sh", $path, $column // '' ]);
  return "$out\n$err";
}

# A file that works: column, type, rows, values, least and greatest value, in one line.
sub reads {
  my ($name, $bytes, $column, $expected) = @_;
  my $said = read_csv(write_file($name, $bytes), $column);
  my (undef, $found) = $node->psql($ENV{PGDATABASE}, q{
    SELECT format('SELECT %L, pg_typeof(min(%1$I)), count(*), count(%1$I), min(%1$I), max(%1$I) FROM %2$I', col, tab)
    FROM demo.csv \gexec});
  is($found, $expected, $name) or diag $said;
  return $said;
}

sub refuses {
  my ($name, $bytes, $column, $word) = @_;
  like(read_csv(defined $bytes ? write_file($name, $bytes) : "$folder/$name", $column), $word, $name);
  return;
}

# Rows of a number of the row and a price; the first and last prices are the least and greatest.
my @rows = map { [ $_, sprintf '%.2f', $_ + 0.25 ] } 1 .. 60;
sub lines { my ($make) = @_; return join '', map { $make->(@$_) } @rows }
my $plain = "id,price\n" . lines(sub { "$_[0],$_[1]\n" });
my $prices = 'price|numeric|60|60|1.25|60.25';

# Delimiters, quotes, line ends.
reads('plain.csv', $plain, 'price', $prices);
# What changed in an unlogged table is not known, so that no density would answer the demo's plain SQL.
is($node->safe_psql($ENV{PGDATABASE}, 'SELECT relpersistence FROM demo.csv JOIN pg_class ON relname = tab'),
  'p', 'the table is permanent');
reads('semicolons.csv', "id;price;note\n" . lines(sub { "$_[0];" . ($_[1] =~ tr/./,/r) . ";x, y\n" }), 'price', $prices);
reads('tabs.tsv', $plain =~ tr/,/\t/r, 'price', $prices);
reads('pipes.csv', $plain =~ tr/,/|/r, 'price', $prices);
reads('quoted.csv', "id,note,price\n" . lines(sub { qq{$_[0],"a, ""b""\nc",$_[1]\n} }), 'price', $prices);
reads('crlf.csv', $plain =~ s/\n/\r\n/gr, 'price', $prices);
reads('quoted newline in header.csv', qq{id,"price\nin EUR",x\n} . lines(sub { "$_[0],$_[1],t\n" }), 'price in EUR',
  'price in EUR|numeric|60|60|1.25|60.25');
reads('one_column.csv', "price\n" . lines(sub { "$_[1]\n" }), '', $prices);
reads('wide.csv', join(',', map { "c$_" } 1 .. 200) . "\n" . lines(sub { join(',', ($_[1]) x 200) . "\n" }), 'c200',
  'c200|numeric|60|60|1.25|60.25');

# Encodings.
reads('bom.csv', "\xef\xbb\xbf" . qq{"price",id\n} . lines(sub { "$_[1],$_[0]\n" }), 'price', $prices);
reads('bom_no_header.csv', "\xef\xbb\xbf" . lines(sub { "$_[1],a\n" }), '', 'column_1|numeric|60|60|1.25|60.25');
reads('latin1.csv', encode('latin1', "id,gr\x{f6}\x{df}e\n") . lines(sub { "$_[0],$_[1]\n" }), '',
  "gr\xc3\xb6\xc3\x9fe|numeric|60|60|1.25|60.25");
# Its head, 256 kB, is ASCII.
like(reads('late_latin1.csv', "id,name,price\n" . lines(sub { "$_[0]," . 'x' x 5000 . ",$_[1]\n" }) . "9,M\xfcller,9\n", 'price',
  'price|numeric|61|61|1.25|60.25'), qr/not UTF-8 after all/, 'says so');
reads('utf16.csv', encode('UTF-16', $plain), 'price', $prices);

# Headers and names.
like(reads('no_header.csv', lines(sub { "$_[0],$_[1],abc\n" }), '', 'column_2|numeric|60|60|1.25|60.25'), qr/No header/, 'says so');
reads('duplicates.csv', "price,price,,\n" . lines(sub { "x,$_[1],$_[0],y\n" }), '', 'column_2|numeric|60|60|1.25|60.25');
reads("O'Brien & co.csv", qq{id,"Unit ""Price"""\n} . lines(sub { "$_[0],$_[1]\n" }), 'unit "price"',
  'Unit "Price"|numeric|60|60|1.25|60.25');

# Values.
reads('empty_cells.csv', "id,price,note\n" . lines(sub { "$_[0]," . ($_[0] % 3 == 0 ? '' : $_[0] % 3 == 1 ? 'NA' : $_[1]) . ",\n" }),
  'price', 'price|numeric|60|20|2.25|59.25');
reads('thousands.csv', "id,price\n" . lines(sub { qq{$_[0],"\$$_[0],000.50"\n} }), 'price', 'price|numeric|60|60|1000.50|60000.50');
reads('decimal_comma.csv', "id;price\n" . lines(sub { "$_[0];$_[0].000,50\n" }), 'price', 'price|numeric|60|60|1000.50|60000.50');
my %dates = (iso => '2024-%2$02d-%1$02d', american => '%2$d/%1$d/2024', british => '%1$02d/%2$02d/2024',
  points => '%1$d.%2$d.2024', digits => '2024%2$02d%1$02d');
for my $how (sort keys %dates) {
  reads("dates_$how.csv", "d,x\n" . lines(sub { sprintf("$dates{$how},t\n", $_[0] % 28 + 1, $_[0] % 12 + 1) }), 'd',
    'd|date|60|60|2024-01-05|2024-12-24');
}
reads('dates_words.csv', "d,x\n" . lines(sub { sprintf qq{"Mar %d, 2024",t\n}, $_[0] % 28 + 1 }), 'd', 'd|date|60|60|2024-03-01|2024-03-28');
reads('times.csv', "d,x\n" . lines(sub { sprintf "2024-03-%02dT10:00:00Z,t\n", $_[0] % 28 + 1 }), 'd',
  'd|timestamp with time zone|60|60|2024-03-01 10:00:00+00|2024-03-28 10:00:00+00');

# The column to look at: the first that is no mere number of the row.
like(reads('no_column.csv', $plain, '', $prices), qr/taking price/, 'the column taken is told');
refuses('plain.csv', undef, 'cost', qr/no column "cost"; it has: whole numbers: id; numbers: price/);
refuses('words.csv', "a,b\nx,y\nz,w\n", '', qr/no column of numbers or dates, but text: a, b/);
refuses('word.csv', "id,price\n" . lines(sub { "$_[0]," . ($_[0] == 30 ? 'three' : $_[1]) . "\n" }), 'price',
  qr/one of its values is "three"/);
refuses('category.csv', "id,cut\n" . lines(sub { "$_[0]," . ($_[0] % 2 ? 'Ideal' : 'Fair') . "\n" }), 'cut',
  qr/numbers and dates only.*takes categories too/);
refuses('all_empty.csv', "id,price\n" . lines(sub { "$_[0],\n" }), 'price', qr/"price" holds no values/);

# What cannot be read.
gzip(\$plain, \my $small) or die;
reads('small.csv.gz', $small, 'price', $prices);
reads('packed_without_a_name.csv', $small, 'price', $prices);
refuses('truncated.csv.gz', substr($small, 0, length($small) - 20), 'price', qr/cut off or damaged/);
refuses('cut_at_a_line.csv.gz', substr($small, 0, length($small) - 8), 'price', qr/cut off or damaged/);
refuses('missing.csv', undef, '', qr/there is no file/);
refuses('empty.csv', '', '', qr/is empty/);
refuses('blank.csv', "\n\n", '', qr/no rows/);
refuses('header_only.csv', "id,price\n", '', qr/no rows/);
refuses('ragged.csv', $plain . "61,61.25,1\n", 'price', qr/extra data after last expected column\nragged, line 62/);
refuses('open_quote.csv', $plain . qq{61,"61.25\n}, 'price', qr/unterminated CSV quoted field/);
refuses('zeros.csv', "id,price\n1,\0\n", 'price', qr/bytes of zero/);
refuses('book.xlsx', "PK\x03\x04....", '', qr/spreadsheet/);

$node->stop;
done_testing();
