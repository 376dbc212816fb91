#!/usr/bin/perl
# PGXN's META.json: what the specification (pgxn.org/spec) asks of it, and that the version it names is
# the version everywhere. And that what the install script makes is found in src/pg by its SQL name: a
# function in the file that defines its symbol, anything else in any. Needs nothing but Perl's own modules.
use strict;
use warnings;
use JSON::PP;

my @wrong;
sub check { my ($good, $what) = @_; push @wrong, $what unless $good; }
sub content { my ($file) = @_; local (@ARGV, $/) = $file; return scalar <> // ''; }
sub is_text { my ($value) = @_; return defined $value && !ref $value && length $value; }
sub is_text_or_list { my ($value) = @_; return is_text($value) || (ref $value eq 'ARRAY' && @$value && !grep { !is_text($_) } @$value); }

my $semantic = qr/^(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-?[A-Za-z][0-9A-Za-z-]*)?$/;
my $term = qr{^[^\s/\\\x00-\x1f\x7f]{2,}$};
my $meta = decode_json(content('META.json'));
check(is_text($meta->{$_}), "\"$_\" is missing") for qw(name abstract version);
check(($meta->{name} // '') =~ $term, '"name" is no term: two characters at least, no space, slash or control character');
check(($meta->{version} // '') =~ $semantic, '"version" is no semantic version');
check(is_text_or_list($meta->{maintainer}), '"maintainer" is neither a name nor a list of names');
check(($meta->{license} // '') eq 'postgresql', '"license" is not what PGXN calls the licence of LICENSE');
check(($meta->{release_status} // 'stable') =~ /^(?:stable|testing|unstable)$/, '"release_status" is not stable, testing or unstable');
check(ref $meta->{tags} eq 'ARRAY' && !grep { !is_text($_) || length > 255 || m{[/\\\x00-\x1f\x7f]} } @{ $meta->{tags} }, 'a tag is not as it should be')
  if exists $meta->{tags};

my $spec = $meta->{'meta-spec'} // {};
check(($spec->{version} // '') =~ /^1\.0\.\d+$/, '"meta-spec" names no version 1.0.n');

my $provides = $meta->{provides} // {};
check(%$provides, '"provides" names no extension');
for my $name (sort keys %$provides) {
  my $extension = $provides->{$name};
  check(($extension->{version} // '') =~ $semantic, "the version of $name is no semantic version");
  for my $key (qw(file docfile)) {
    next if $key eq 'docfile' && !defined $extension->{$key};
    check(is_text($extension->{$key}) && -f $extension->{$key}, "the $key of $name is not there");
  }
}
for my $phase (sort keys %{ $meta->{prereqs} // {} }) {
  check($phase =~ /^(?:configure|build|test|runtime|develop)$/, "\"prereqs\" knows no phase \"$phase\"");
  for my $kind (sort keys %{ $meta->{prereqs}{$phase} }) {
    check($kind =~ /^(?:requires|recommends|suggests|conflicts)$/, "\"prereqs\" knows no \"$kind\"");
    my $wants = $meta->{prereqs}{$phase}{$kind};
    check($wants->{$_} eq '0' || $wants->{$_} =~ $semantic, "the version of $_ is no semantic version") for sort keys %$wants;
  }
}
check(!(grep { !/^(?:name|version|abstract|maintainer|license|provides|meta-spec|description|generated_by|tags|no_index|prereqs|release_status|resources|x_\w+)$/i }
      keys %$meta), 'a key is none of the specification, and does not begin with x_');

my ($control) = content('kde_aqp.control') =~ /^default_version\s*=\s*'([^']+)'/m;
my ($package) = content('debian/changelog') =~ /^kde-aqp \(([^)]+?)-[^-)]+\)/;
my ($headline) = content('CHANGELOG.md') =~ /^## \[([^\]]+)\]/m;
for ([ 'META.json' => $meta->{version} ], [ 'its extension' => $provides->{kde_aqp}{version} ],
  [ 'debian/changelog' => $package ], [ 'CHANGELOG.md' => $headline ]) {
  my ($where, $version) = @$_;
  check(($version // 'none') eq $control, "the version of $where is " . ($version // 'none') . ", that of kde_aqp.control $control");
}

$_ = "META.json: $_" for @wrong;

my %source = map { chomp; $_ => content($_) } `find src/pg -name '*.cpp'`;
my $script = content("sql/kde_aqp--$control.sql");
$script =~ s/^\s*--.*//mg;
while ($script =~ /^CREATE (FUNCTION|PROCEDURE) (?:kde_aqp\.)?(\w+)\(.*?\bLANGUAGE (\w+)/msg) {
  my ($name, $text) = ($2, $&);
  next if $3 ne 'C';
  my $symbol = $text =~ /'MODULE_PATHNAME', '(\w+)'/ ? $1 : $name;
  my @files = grep { $source{$_} =~ /^KDE_EXPORT\($symbol\);/m } keys %source;
  check(@files && !(grep { index($source{$_}, $name) < 0 } @files), "SQL function $name (symbol $symbol) is not named in: @files");
}
while ($script =~ /^CREATE (?:(?:UNLOGGED|MATERIALIZED|EVENT|UNIQUE) )*(?:TABLE|VIEW|TRIGGER|INDEX|TYPE|SEQUENCE|AGGREGATE|OPERATOR CLASS|SCHEMA) (?:kde_aqp\.)?(\w+)/mg) {
  my $name = $1;
  check(scalar(grep { /\b$name\b/ } values %source), "$name of the install script is not named in src/pg");
}

print "$_\n" for @wrong;
exit(@wrong ? 1 : 0);
