#!/usr/bin/perl
# The documentation against the extension: README.md and docs/*.md. Called by scripts/docs_check.sh,
# with a private server to talk to.
#
#   - Every block of SQL runs, those of one page in their order, in one session and a database of the
#     page's own, with the tables of docs/check/setup.sql, or of docs/check/PAGE.sql where it is there. A block
#     after the comment `<!-- not run: reason -->` is left out, and listed. The check creates the extension unless
#     the page does. A ```text block after the comment `<!-- output -->` is what psql prints of the block before.
#   - Then every block of Python runs, those of one page as one program, and every block of R.
#   - The tables of functions and options in docs/reference.md are those of the server, both ways.
#     Its shorthand for arguments that many functions share is written out first.
#   - No line of text is longer than 110 characters; tables and code may be.
#   - Links between files, and their anchors, lead somewhere; every page stands in docs/README.md.
#   - Pages, their words and the words of a sentence are bounded, and some turns of phrase are refused: also in
#     CONTRIBUTING.md and CHANGELOG.md.
#
#   docs_check.pl text    checks the text alone, without a server
#
# Needs Perl's own modules, psql, and what the pages for Python and R use (scripts/deps.sh docs).
use strict;
use warnings;
use utf8;
use open qw(:std :encoding(UTF-8));
use File::Basename qw(basename dirname);
use File::Temp qw(tempdir tempfile);

my $LONGEST_LINE = 110;
# Words of a page are what `wc -w` counts.
my %MOST = (pages => 16, words => 20_000, sentence => 20,
  file => { 'README.md' => 1300, 'CHANGELOG.md' => 300, 'CONTRIBUTING.md' => 1500 });
# Within a sentence, and at its beginning unless it asks.
my $PHRASES = qr/\b(?:the same|as it is|to say of|in vain|by itself|by themselves|(?:for|to|of) who)\b/i;
my $BEGINNINGS = qr/^(?:Of|What|Who|Whoever|Whatever|Nor|Not)\b/;

my @pages = ('README.md', sort glob 'docs/*.md');
# Links are looked at in these, too.
my @others = grep { -f } 'CONTRIBUTING.md', 'CHANGELOG.md';

my ($passed, $failed) = (0, 0);
# The prototype makes a match that fails a false value, where it would be an empty list.
sub check($$) {
  my ($good, $what) = @_;
  if ($good) { $passed++; return 1; }
  $failed++;
  print "FAILED: $what\n";
  return 0;
}

sub content {
  my ($file) = @_;
  open my $in, '<', $file or die "$file: $!\n";
  local $/;
  return scalar <$in> // '';
}

# A page's lines as [number, kind, text]: kind is code (with its fences), table, comment or text.
sub lines_of {
  my ($file) = @_;
  my ($code, @lines) = (0);
  my $number = 0;
  for my $text (split /\n/, content($file)) {
    $number++;
    my $fence = $text =~ /^\s*```/;
    my $kind = $code || $fence ? 'code'
      : $text =~ /^\s*\|/ ? 'table'
      : $text =~ /^\s*<!--.*-->\s*$/ ? 'comment' : 'text';
    push @lines, [ $number, $kind, $text ];
    $code = !$code if $fence;
  }
  return @lines;
}

# ------------------------------------------------------------------------------- lengths and links

# GitHub's name of a heading.
sub anchor_of {
  my ($heading) = @_;
  $heading =~ s/\[([^]]*)\]\([^)]*\)/$1/g;
  $heading = lc $heading;
  $heading =~ s/[^\w\- ]//g;
  return $heading =~ s/ /-/gr;
}

my %anchors;
sub anchors_of {
  my ($file) = @_;
  return $anchors{$file} //= do {
    my (%found, %seen);
    for (lines_of($file)) {
      my (undef, $kind, $text) = @$_;
      next unless $kind eq 'text' && $text =~ /^#+\s+(.*?)\s*$/;
      my $name = anchor_of($1);
      my $again = $seen{$name}++;
      $found{$again ? "$name-$again" : $name} = 1;
    }
    \%found;
  };
}

# A path with its `..` worked out, as a browser does.
sub resolved {
  my ($from, $to) = @_;
  my @parts;
  for (split m{/}, (dirname($from) eq '.' ? '' : dirname($from) . '/') . $to) {
    next if $_ eq '.' || $_ eq '';
    if ($_ eq '..') { return undef unless @parts; pop @parts; } else { push @parts, $_; }
  }
  return join '/', @parts;
}

sub check_links {
  my ($file) = @_;
  for (lines_of($file)) {
    my ($number, $kind, $text) = @$_;
    next if $kind eq 'code';
    $text =~ s/`[^`]*`//g;
    while ($text =~ /\]\(([^)\s]+)\)/g) {
      my $link = $1;
      next if $link =~ /^(?:https?|mailto):/;
      my ($path, $anchor) = $link =~ /^([^#]*)(?:#(.*))?$/;
      my $target = $path eq '' ? $file : resolved($file, $path);
      next unless check(defined $target && -e $target, "$file:$number: the link $link leads to no file");
      check(anchors_of($target)->{$anchor}, "$file:$number: the link $link leads to no heading")
        if defined $anchor;
    }
  }
}

# CONTRIBUTING.md: a file it names is there, under whatever folder; its map has every folder of the sources.
sub check_map {
  my ($file) = @_;
  my $files = join "\n", '', split(/\n/, `git ls-files 2>/dev/null` || `find . -type f | sed 's|^\\./||'`), '';
  my $text = content($file);
  while ($text =~ m{(?<![\w/.<>*=-])((?:[a-z_]+/)*[a-z_0-9]+\.(?:h|cpp|sh|pl|pm|sql|mk))\b}g) {
    my $name = $1;
    check($files =~ m{(?:^|/)\Q$name\E$}m, "$file: there is no $name");
  }
  my ($map) = $text =~ /```\n(src.*?)```/s;
  for my $folder (grep { -d } glob 'src/core/* src/pg/* cuda/* test/* *') {
    my $name = basename($folder);
    next if $name eq 'build' || $name =~ /results|tmp_check|output_iso|log$/;
    check($map =~ m{(?:^|[ /])\Q$name\E/}m, "$file: the map lacks $folder/");
  }
}

sub check_lengths {
  my ($file) = @_;
  for (lines_of($file)) {
    my ($number, $kind, $text) = @$_;
    next if $kind eq 'code' || $kind eq 'table';
    check(length $text <= $LONGEST_LINE,
      "$file:$number: a line of " . length($text) . " characters; $LONGEST_LINE at most");
  }
}

sub check_index {
  my $index = content('docs/README.md');
  for my $page (grep { $_ ne 'README.md' && $_ ne 'docs/README.md' } @pages) {
    my $name = basename($page);
    check($index =~ /\]\(\Q$name\E\)/, "docs/README.md: $name is missing");
  }
}

# --------------------------------------------------------------------------------------- plain words

# Sentences of paragraphs, items of lists and cells of tables as [first line, text], without code and links.
sub sentences_of {
  my ($file) = @_;
  my (@paragraphs, $open);
  for (lines_of($file)) {
    my ($number, $kind, $text) = @$_;
    if ($kind eq 'table') {
      $open = 0;
      # Cells are terse: a semicolon ends a sentence there.
      push @paragraphs, map { [ $number, $_ ] } map { split /;\s/ } split /(?<!\\)\|/, $text =~ s/`[^`]*`/code/gr;
      next;
    }
    if ($kind ne 'text' || $text =~ /^\s*$/ || $text =~ /^#/ || $text =~ /^!\[/) { $open = 0; next; }
    $open = 0 if $text =~ s/^\s*(?:[-*]|\d+\.)\s+//;
    push @paragraphs, [ $number, '' ] unless $open;
    $paragraphs[-1][1] .= "$text ";
    $open = 1;
  }
  my @sentences;
  for (@paragraphs) {
    my ($number, $text) = @$_;
    $text =~ s/`[^`]*`/code/g;
    $text =~ s/!?\[([^]]*)\]\([^)]*\)/$1/g;
    $text =~ s/[*_]{2}//g;
    push @sentences, map { [ $number, $_ ] } grep { /\w/ } map { s/^\s+|\s+$//gr } split /(?<=[.!?])["')*]*\s+/, $text;
  }
  return @sentences;
}

sub check_words {
  my ($file) = @_;
  my $count = my @all = split ' ', content($file);
  my $most = $MOST{file}{$file};
  check($count <= $most, "$file: $count words; $most at most") if $most;
  for (sentences_of($file)) {
    my ($number, $sentence) = @$_;
    my @words = grep { /\w/ } split ' ', $sentence;
    my $start = join ' ', grep { defined } @words[0 .. 5];
    check(@words <= $MOST{sentence}, "$file:$number: a sentence of " . @words . " words; $MOST{sentence} at most: $start ...");
    check($1 eq '', "$file:$number: \"$1\" in: $start ...") if $sentence =~ /($PHRASES)/;
    check($1 eq '', "$file:$number: a sentence begins with \"$1\": $start ...") if $sentence =~ /($BEGINNINGS)/ && $sentence !~ /\?$/;
  }
  return $count;
}

sub check_counts {
  my $words = 0;
  $words += check_words($_) for @pages;
  check_words($_) for @others;
  check(@pages <= $MOST{pages}, scalar(@pages) . " pages; $MOST{pages} at most");
  check($words <= $MOST{words}, "$words words in README.md and docs; $MOST{words} at most");
  return $words;
}

# ------------------------------------------------------------------------------------- the examples

# What psql wrote, both streams, and its exit status. The script goes by standard input.
sub psql {
  my ($database, $script, @options) = @_;
  my ($in, $in_name) = tempfile(UNLINK => 1);
  binmode $in, ':encoding(UTF-8)';
  print $in $script;
  close $in;
  my ($out, $out_name) = tempfile(UNLINK => 1);
  my ($err, $err_name) = tempfile(UNLINK => 1);
  my @command = ('psql', '-X', '-q', @options, '-d', $database);
  my $pid = fork // die "fork: $!\n";
  if (!$pid) {
    open STDIN, '<', $in_name or die "$in_name: $!\n";
    open STDOUT, '>', $out_name or die "$out_name: $!\n";
    open STDERR, '>', $err_name or die "$err_name: $!\n";
    exec @command or die "psql: $!\n";
  }
  waitpid $pid, 0;
  return (content($out_name), content($err_name), $?);
}

sub psql_or_die {
  my ($database, $script, @options) = @_;
  my ($out, $err, $status) = psql($database, $script, '-v', 'ON_ERROR_STOP=1', '-A', '-t', @options);
  die "docs-check: $err" if $status;
  return $out;
}

# The blocks of a language as [first line, reason not to run it, text, what psql prints if the page says].
sub blocks_of {
  my ($file, $language) = @_;
  my ($reason, $output, $inside, @blocks);
  for (lines_of($file)) {
    my ($number, $kind, $text) = @$_;
    if ($inside) {
      if ($text =~ /^\s*```/) { $inside = $output = 0; }
      elsif ($inside eq $language) { $blocks[-1][2] .= "$text\n"; }
      elsif ($output) { $blocks[-1][3] .= "$text\n"; }
    } elsif ($text =~ /^\s*```(\w*)/) {
      $inside = $1 || 'text';
      $output &&= check(@blocks && !defined $blocks[-1][1] && $inside eq 'text', "$file:$number: output of no block that runs");
      push @blocks, [ $number, $reason, '' ] if $inside eq $language;
      $blocks[-1][3] = '' if $output;
      $reason = undef;
    } elsif ($kind eq 'comment' && $text =~ /<!--\s*not run:\s*(.*?)\s*-->/) {
      $reason = $1;
    } elsif ($kind eq 'comment' && $text =~ /<!--\s*output\s*-->/) {
      $output = $language eq 'sql';
    } elsif ($text =~ /\S/) {
      $output = $reason = undef;
    }
  }
  return @blocks;
}

my @left_out;
sub blocks_to_run {
  my ($file, $language) = @_;
  my @blocks = blocks_of($file, $language);
  push @left_out, map { "$file:$_->[0]: $_->[1]" } grep { defined $_->[1] } @blocks;
  return grep { !defined $_->[1] } @blocks;
}

# Of each language: who runs a file, and what tells that a block begins.
my %programs = (
  python => [ [qw(/usr/bin/python3)], sub { qq{import sys; print("\@\@block $_[0]", file=sys.stderr, flush=True)} } ],
  r => [ [qw(Rscript --vanilla)], sub { qq{message("\@\@block $_[0]")} } ]);

# The blocks as one program, in an empty folder, where their files stay.
sub check_program {
  my ($file, $language, $database, @blocks) = @_;
  my ($command, $begin) = @{ $programs{$language} };
  my $folder = tempdir(CLEANUP => 1);
  open my $out, '>', "$folder/page" or die $!;
  print {$out} map { $begin->($_->[0]) . "\n$_->[2]" } @blocks;
  close $out or die $!;
  local @ENV{qw(PGDATABASE HOME TMPDIR)} = ($database, $folder, $folder);
  my $status = system "cd '$folder' && @$command page >out 2>err";
  my $err = content("$folder/err");
  my %reached = map { ($_ => 1) } $err =~ /^\@\@block (\d+)$/mg;
  my $last = (sort { $b <=> $a } keys %reached)[0] // 0;
  for (map { $_->[0] } @blocks) {
    my $failed = $status != 0 && ($_ == $last || !$last);
    check($reached{$_} && !$failed, "$file:$_: the example " . ($failed ? "fails\n$err" : 'was not reached'));
  }
}

sub check_examples {
  my ($file) = @_;
  my @blocks = blocks_to_run($file, 'sql');
  my %others = map { my @b = blocks_to_run($file, $_); @b ? ($_ => \@b) : () } keys %programs;
  return if !@blocks && !%others;

  my $database = 'docs_' . basename($file, '.md') =~ s/\W/_/gr . ($file =~ m{/} ? '' : '_top');
  my $tables = 'docs/check/' . basename($file, '.md') . '.sql';
  psql_or_die('postgres', qq{CREATE DATABASE "$database" TEMPLATE } . (-e $tables ? 'template1' : 'docs_tables'));
  psql_or_die($database, content($tables)) if -e $tables;
  psql_or_die($database, 'CREATE EXTENSION kde_aqp')
    unless grep { $_->[2] =~ /CREATE EXTENSION (?:IF NOT EXISTS )?kde_aqp/i } @blocks;
  # Who reads takes longer from one block to the next than the second after which a session's changes are counted.
  my $script = join '', map { "SELECT pg_stat_force_next_flush() \\g /dev/null\n\\echo \@\@block $_->[0]\n\\warn \@\@block $_->[0]\n$_->[2];\n" } @blocks;
  my ($out, $err) = psql($database, "$script\\echo \@\@end\n\\warn \@\@end\n");
  # Blanks at a line's end are psql's, and empty lines at the end.
  my ($plain) = map { s/[ \t]+$//mgr =~ s/\n+\z/\n/r } $out;
  for my $block (grep { defined $_->[3] } @blocks) {
    my ($printed) = $plain =~ /^\@\@block $block->[0]\n(.*?)\n*^\@\@/ms;
    $printed //= '';
    check("$printed\n" eq $block->[3], "$file:$block->[0]: the example prints\n$printed");
  }

  my ($at, %errors, $ended);
  for (split /\n/, $err) {
    if (/^\@\@block (\d+)$/) { $at = $1; $errors{$at} = ''; }
    elsif (/^\@\@end$/) { $ended = 1; }
    elsif (/(?:ERROR|FATAL|PANIC):\s|connection to server was lost|invalid command|syntax error/) { $errors{ $at // 0 } .= "\n    $_"; }
  }
  for (@blocks) {
    my $wrong = exists $errors{ $_->[0] } ? $errors{ $_->[0] } : "\n    it was not reached";
    check($wrong eq '', "$file:$_->[0]: the example fails$wrong");
  }
  check($ended, "$file: the session did not come to the end");
  check_program($file, $_, $database, @{ $others{$_} }) for sort keys %others;
  psql_or_die('postgres', qq{DROP DATABASE "$database" WITH (FORCE)});
}

# ------------------------------------------------------------------------------------- the reference

# Rows of the tables below a heading, as lists of cells. A bar in code is written \|.
sub rows_under {
  my ($file, $heading) = @_;
  my ($inside, @rows) = (0);
  for (lines_of($file)) {
    my ($number, $kind, $text) = @$_;
    if ($kind eq 'text' && $text =~ /^(#+)\s+(.*?)\s*$/) {
      $inside = $2 eq $heading ? length $1 : length $1 <= $inside ? 0 : $inside;
    } elsif ($inside && $kind eq 'table') {
      my @cells = map { s/^\s+|\s+$//gr =~ s/\\\|/|/gr } split /(?<!\\)\|/, $text =~ s/^\s*\||\|\s*$//gr;
      push @rows, [ $number, @cells ] unless $text =~ /^[\s|:-]+$/;
    }
  }
  return @rows;
}

# Splits at commas outside of brackets and quotes.
sub arguments_of {
  my ($text) = @_;
  my ($depth, $quoted, @parts) = (0, 0, '');
  for my $c (split //, $text) {
    if ($c eq "'") { $quoted = !$quoted; }
    elsif (!$quoted && $c =~ /[(\[]/) { $depth++; }
    elsif (!$quoted && $c =~ /[)\]]/) { $depth--; }
    if ($c eq ',' && !$quoted && !$depth) { push @parts, ''; } else { $parts[-1] .= $c; }
  }
  return grep { length } map { s/^\s+|\s+$//gr } @parts;
}

# What the page's shorthand stands for, by its name.
my %shorthand;
sub written_out {
  my ($text) = @_;
  while ($text =~ s/(?<!= )\b([A-Z]{4,})\b(?= *(?:,|$))/$shorthand{$1} \/\/ die "docs\/reference.md: no shorthand $1\n"/e) {}
  return $text;
}

# As the server prints it: `name type DEFAULT value`, of literals without their casts.
sub server_argument {
  my ($text) = @_;
  $text =~ s/^(?:IN|VARIADIC) //;
  $text =~ s/ DEFAULT (.*)$/' = ' . $1 =~ s{::[\w." ]+(?:\[\])?$}{}r/e;
  $text =~ s/'(-?[\d.]+)'$/$1/;
  return $text;
}

# A documented signature as server_functions() has it.
sub documented_signature {
  my ($text) = @_;
  my ($name, $arguments) = $text =~ /^(?:CALL )?(\w+)\((.*)\)$/s or return '';
  return "$name(" . join(', ', arguments_of(written_out($arguments))) . ')';
}

# `*`: what follows goes by name. kde_agg's forms of each type of values are one of `number`.
sub server_functions {
  my $rows = psql_or_die('docs_reference_check', q{
    SELECT DISTINCT p.proname, p.prokind, CASE WHEN p.proname = 'kde_agg' THEN
        regexp_replace(pg_get_function_arguments(p.oid), '^value (?!anyelement)[^,]*', 'value number')
        ELSE pg_get_function_arguments(p.oid) END, coalesce(pg_get_function_result(p.oid), ''),
      p.proretset, array_to_string(ARRAY(SELECT n FROM unnest(p.proargnames, p.proargmodes) AS a(n, m) WHERE m IN ('o', 't')), ' ')
    FROM pg_depend AS e JOIN pg_proc AS p ON e.classid = 'pg_proc'::regclass AND e.objid = p.oid
    WHERE e.deptype = 'e' AND e.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'kde_aqp')
      AND p.pronamespace <> 'kde_aqp'::regnamespace
      AND NOT EXISTS (SELECT FROM pg_type AS t WHERE p.oid IN (t.typinput, t.typoutput, t.typreceive, t.typsend))
      AND NOT EXISTS (SELECT FROM pg_operator AS o WHERE o.oprcode = p.oid)
      AND NOT EXISTS (SELECT FROM pg_amproc AS a WHERE a.amproc = p.oid)}, '-F', "\t");
  my @functions;
  for (split /\n/, $rows) {
    my ($name, $kind, $arguments, $result, $set, $columns) = split /\t/, $_, -1;
    my @list = map { /^by_name_only / ? '*' : server_argument($_) } grep { !/^(?:OUT|TABLE) / } arguments_of($arguments);
    my $of_rows = $columns ne '' ? ($set eq 't' ? 'rows' : 'row') : $kind eq 'p' ? '' : $result;
    push @functions, { signature => "$name(" . join(', ', @list) . ')', result => $of_rows,
      columns => [ split ' ', $columns ] };
  }
  return @functions;
}

sub check_functions {
  my $file = 'docs/reference.md';
  my %server = map { $_->{signature} => $_ } server_functions();
  my $page = content($file);
  %shorthand = map { s/`//gr } map { @$_[1, 2] } grep { $_->[1] =~ /^`[A-Z]+`$/ } rows_under($file, 'Shorthand');
  my %documented;
  for (rows_under($file, 'Functions')) {
    my ($number, $cell, $returns) = @$_;
    next unless $cell =~ /`[^`]*\(/;
    my @signatures = $cell =~ /`([^`]+)`/g;
    for my $text (@signatures) {
      my $signature = documented_signature($text);
      check($signature, "$file:$number: \"$text\" is no signature") or next;
      $documented{$signature} = 1;
      my $function = $server{$signature};
      check($function, "$file:$number: the server has no function $signature") or next;
      check($function->{result} eq ($returns =~ s/`//gr =~ s/^(rows?)\b.*/$1/sr),
        "$file:$number: $signature returns $function->{result}");
      for my $column (@{ $function->{columns} }) {
        check($page =~ /`\Q$column\E`/, "$file: the column `$column` of $signature is missing");
      }
    }
  }
  check($documented{$_}, "$file: the function $_ is missing") for sort keys %server;
}

# As SHOW prints a default.
sub shown {
  my ($value, $unit) = @_;
  ($value, $unit) = (8 * $value, 'kB') if $unit eq '8kB';
  return $value if $unit eq '' || $value !~ /^-?\d+$/ || $value <= 0;
  my @larger = $unit =~ /B$/ ? ([ kB => 1024 ], [ MB => 1024 ], [ GB => 1024 ])
    : ([ ms => 1000 ], [ s => 60 ], [ min => 60 ], [ h => 24 ], [ d => 1 ]);
  shift @larger while $larger[0][0] ne $unit;
  while (@larger > 1 && $value % $larger[0][1] == 0) { $value /= $larger[0][1]; shift @larger; }
  return $value . $larger[0][0];
}

my %WHO = (user => 'anybody', superuser => 'superuser', sighup => 'reload', postmaster => 'restart');

sub check_options {
  my $file = 'docs/reference.md';
  # The library must be loaded for its options to be there.
  my $rows = psql_or_die('docs_reference_check', q{SELECT count(*) FROM kde_devices() \g /dev/null
    SELECT name, coalesce(boot_val, ''), coalesce(unit, ''), context FROM pg_settings
    WHERE name LIKE 'kde_aqp.%'}, '-F', "\t");
  my %server = map { my ($name, $value, $unit, $context) = split /\t/, $_, -1;
    $name => [ shown($value, $unit), $WHO{$context} // $context ] } split /\n/, $rows;
  my %documented;
  for (rows_under($file, 'Options')) {
    my ($number, $name, $default, $who) = @$_;
    next unless $name =~ s/^`(kde_aqp\.\w+)`$/$1/;
    $documented{$name} = 1;
    check($server{$name}, "$file:$number: the server has no option $name") or next;
    my ($value, $context) = @{ $server{$name} };
    $default =~ s/`//g;
    check($default eq ($value eq '' ? 'empty' : $value), "$file:$number: the default of $name is $value, not $default");
    check($who eq $context, "$file:$number: who may set $name: $context, not $who");
  }
  check($documented{$_}, "$file: the option $_ is missing") for sort keys %server;
}

sub check_views {
  my $file = 'docs/reference.md';
  my $page = content($file);
  for (split /\n/, psql_or_die('docs_reference_check', q{SELECT attrelid::regclass, attname FROM pg_attribute
      WHERE attrelid IN ('kde_densities'::regclass, 'kde_densities_full'::regclass, 'kde_progress'::regclass) AND attnum > 0}, '-F', ' ')) {
    my ($view, $column) = split / /;
    check($page =~ /`\Q$column\E`/, "$file: the column `$column` of $view is missing");
  }
}

# ---------------------------------------------------------------------------------------------------

check_lengths($_) for @pages;
check_links($_) for @pages, @others;
check_map('CONTRIBUTING.md');
check_index();
my $words = check_counts();
if ("@ARGV" eq 'text') {
  print scalar @pages, " pages, $words words\n$passed passed, $failed failed\n";
  exit($failed ? 1 : 0);
}

psql_or_die('postgres', 'CREATE DATABASE docs_reference_check');
psql_or_die('docs_reference_check', 'CREATE EXTENSION kde_aqp');
check_functions();
check_options();
check_views();

psql_or_die('postgres', 'CREATE DATABASE docs_tables');
psql_or_die('docs_tables', content('docs/check/setup.sql'));
check_examples($_) for @pages;

print scalar @pages, " pages, $words words\n";
if (@left_out) {
  print scalar @left_out, " examples not run:\n", map { "  $_\n" } @left_out;
}
print "$passed passed, $failed failed\n";
exit($failed ? 1 : 0);
