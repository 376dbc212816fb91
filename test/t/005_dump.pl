# Dump and restore by the database's owner, who is no superuser: densities, answers and what stands
# on them, into a database where table and column have other numbers.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('dump');
$node->init;
$node->start;
my $directory = $node->basedir;
my @owner = ('-U', 'kde_owner');
my @as_owner = (extra_params => \@owner);

# A database with numbers of its own: the more is made and dropped first, the later the next OIDs.
sub create_database {
  my ($name, $tables_before) = @_;
  $node->safe_psql('postgres', "CREATE DATABASE $name OWNER kde_owner");
  # Before version 15 the owner has the right to public through PUBLIC, since then as its owner.
  $node->safe_psql($name, join ';', map { "CREATE TABLE x$_ (); DROP TABLE x$_" } 1 .. $tables_before)
    if $tables_before;
  return;
}

$node->safe_psql('postgres', 'CREATE ROLE kde_owner LOGIN; CREATE ROLE kde_other LOGIN');
create_database('source', 0);
$node->safe_psql('source', q{
  CREATE EXTENSION kde_aqp;
  CREATE TABLE sales (junk integer, amount numeric(10,2), more_junk text, quantity integer,
                      at timestamptz);
  INSERT INTO sales SELECT i, ln(i) * 100, 'x', i % 12, '2026-01-01'::timestamptz + i * interval '1 h'
    FROM generate_series(1, 20000) AS i;
  ALTER TABLE sales DROP junk, DROP more_junk;
  CREATE SCHEMA "Schema One";
  CREATE TABLE "Schema One"."Ta.ble" ("Col ""umn" double precision);
  INSERT INTO "Schema One"."Ta.ble" SELECT sqrt(i) FROM generate_series(1, 5000) AS i;
  CREATE TABLE renamed (old real);
  INSERT INTO renamed SELECT i FROM generate_series(1, 3000) AS i;
  SELECT kde_fit('sales', 'amount', seed => 1, sample_rows => 5000),
         kde_fit('sales', 'quantity', seed => 2, steps => 'unix seconds'), kde_fit('sales', 'at', seed => 3),
         kde_fit('"Schema One"."Ta.ble"', 'Col "umn', seed => 4, method => 'silverman'),
         kde_fit('renamed', 'old', seed => 5);
  CREATE FUNCTION "Schema One".doubled(numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS 'SELECT 2 * $1';
  SELECT kde_fit('sales', 'amount', filter => 'quantity > 3 AND at < ''2027-01-01''::date', seed => 11),
         kde_fit('sales', ARRAY['amount * quantity', 'amount'], method => 'scott', filter => 'quantity <> 7', seed => 12),
         kde_fit('sales', ARRAY['"Schema One".doubled(amount)'], seed => 13),
         kde_fit('sales', 'at', filter => 'quantity > 2', measures => ARRAY['amount * 2'], group_by => 'quantity, amount > 500', seed => 14);
  ALTER TABLE renamed RENAME old TO new;
  CREATE MATERIALIZED VIEW by_name AS
    SELECT approx_count(kde_density('sales'::regclass, 'amount'), 100, 900) AS n,
           kde_density('sales'::regclass, 'quantity') AS d;
  CREATE VIEW answers AS SELECT approx_avg(kde_density('sales'::regclass, 'amount'), i, i + 100)
    FROM generate_series(0, 900, 100) AS i;
  CREATE FUNCTION amounts(low double precision, high double precision) RETURNS double precision
    LANGUAGE sql STABLE RETURN approx_count(kde_density('sales'::regclass, 'amount'), low, high);
  CREATE VIEW intervals AS SELECT c.*, approx_sum('public.sales.amount', 100, 500, max_relative_error => 0.001, otherwise => 'exact') AS sum
    FROM approx_count_ci(kde_density('sales'::regclass, 'amount'), 100, 500, confidence => 0.9) AS c;
  CREATE TABLE kept AS SELECT kde_density('sales.at') AS d;
  GRANT SELECT (amount) ON sales TO kde_other;
}, @as_owner);

my $densities = q{
  SELECT relation, column_names, filter, bandwidth_matrix, stored_rows, method, bandwidth, rows, nulls, rows_read,
    bandwidth_status, model, requested_exact, every_row_read, sample_rows, design_effect, bandwidth_rows, lower, upper, cells, steps, engine, threads,
    scan_ms, select_ms, estimate_ms, requested_sample_rows, seed, fitted_at
  FROM kde_densities_full ORDER BY relation::text, column_names, seed;};
my $values = q{
  SELECT kde_density('sales.amount')::text, kde_density('sales.quantity')::text,
    kde_density('sales.at')::text, kde_density('"Schema One"."Ta.ble"."Col ""umn"')::text,
    kde_density('sales', ARRAY['amount'], 'quantity > 3 AND at < ''2027-01-01''::date')::text,
    kde_density('sales', ARRAY['amount', 'amount * quantity'], 'quantity <> 7')::text,
    kde_density('sales', ARRAY['"Schema One".doubled(amount)'])::text;
  SELECT * FROM approx_groups('sales.at by (quantity, amount > 500)', filter => 'quantity > 2', measure => 'amount * 2');};
my $renamed = q{SELECT kde_density('renamed.new')::text, approx_count('renamed.new', 10, 20);};
my $answers = q{
  SELECT approx_count('sales.amount', 10, 200), approx_sum('sales.amount', 10, 200),
    approx_quantile_as('sales.at', 0.5, NULL::timestamptz), kde_pdf('sales.quantity', 3),
    approx_variance('"Schema One"."Ta.ble"."Col ""umn"', 1, 50);
  SELECT n, d::text FROM by_name;
  SELECT * FROM answers;
  SELECT * FROM intervals;
  SELECT amounts(100, 200);
  SELECT d::text, approx_count(d) FROM kept;};
my $all = "$densities $values $answers";

sub psql_as_owner { return $node->safe_psql($_[0], $_[1], @as_owner) }

sub check_restored {
  my ($database, $what) = @_;
  is(psql_as_owner($database, $all), psql_as_owner('source', $all), "$what: all is as it was");
  is(psql_as_owner($database, $renamed), psql_as_owner('source', $renamed),
    "$what: also of a column renamed after its fit");
  isnt($node->safe_psql($database, q{SELECT 'sales'::regclass::oid || ' ' || attnum FROM pg_attribute
         WHERE attrelid = 'sales'::regclass AND attname = 'amount'}),
    $node->safe_psql('source', q{SELECT 'sales'::regclass::oid || ' ' || attnum FROM pg_attribute
         WHERE attrelid = 'sales'::regclass AND attname = 'amount'}),
    "$what: with other numbers");
  is($node->safe_psql($database, q{SELECT seed FROM kde_densities_full ORDER BY seed},
      extra_params => [ '-U', 'kde_other' ]),
    "1\n13", "$what: privileges hold, of what filters and expressions use too");
}

is($node->safe_psql('source', q{SELECT rolsuper FROM pg_roles WHERE rolname = current_user}, @as_owner),
  'f', 'the owner is no superuser');

# Plain text
$node->command_ok([ 'pg_dump', @owner, '-f', "$directory/plain.sql", 'source' ], 'pg_dump');
create_database('plain', 20);
$node->command_ok([ 'psql', @owner, '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$directory/plain.sql",
    '-d', 'plain' ], 'restore of a plain dump');
check_restored('plain', 'plain');
is($node->safe_psql('source', 'SELECT count(*) > 0 FROM kde_aqp.fitted_stretches')
    . $node->safe_psql('plain', 'SELECT count(*) FROM kde_aqp.fitted_stretches FULL JOIN kde_aqp.fitted ON id = density_id
        WHERE hash_seed IS NOT NULL OR density_id IS NOT NULL'),
  't0', 'what is kept of stretches of blocks is in no dump');

# Custom format, restored by two processes
$node->command_ok([ 'pg_dump', @owner, '-Fc', '-f', "$directory/custom.dump", 'source' ],
  'pg_dump, custom format');
create_database('parallel', 50);
$node->command_ok([ 'pg_restore', @owner, '-j2', '-e', '-d', 'parallel', "$directory/custom.dump" ],
  'pg_restore by two processes');
check_restored('parallel', 'parallel');

# Schema and data apart
$node->command_ok([ 'pg_dump', @owner, '--schema-only', '-Fc', '-f', "$directory/schema.dump",
    'source' ], 'pg_dump --schema-only');
$node->command_ok([ 'pg_dump', @owner, '--data-only', '-Fc', '-f', "$directory/data.dump", 'source' ],
  'pg_dump --data-only');
create_database('apart', 30);
$node->command_ok([ 'pg_restore', @owner, '-e', '-d', 'apart', "$directory/schema.dump" ],
  'restore of the schema');
is(psql_as_owner('apart', 'SELECT count(*) FROM kde_densities_full'), '0', 'which has no densities');
$node->command_ok([ 'pg_restore', @owner, '-e', '-d', 'apart', "$directory/data.dump" ],
  'restore of the data');
# A dump of data alone does not refresh.
psql_as_owner('apart', 'REFRESH MATERIALIZED VIEW by_name');
check_restored('apart', 'apart');

# A dump of the restored is the same again.
my ($again) = run_command([ 'pg_dump', @owner, '--data-only', '-h', $node->host, '-p', $node->port,
    '-t', 'sales', '-t', 'kept', '-d', 'plain' ]);
like($again, qr/COPY public\.kept/, 'a restored database can be dumped');
$node->command_ok([ 'pg_dump', @owner, '-Fc', '-f', "$directory/second.dump", 'plain' ],
  'pg_dump of the restored database');
create_database('second', 5);
$node->command_ok([ 'pg_restore', @owner, '-e', '-d', 'second', "$directory/second.dump" ],
  'and its restore');
check_restored('second', 'second');

# A restored density follows RENAME like one fitted here, before its next fit and after, also where two
# columns swap their names.
my $by_new_names = q{
  SELECT column_names, seed FROM kde_densities_full WHERE relation = 'orders'::regclass ORDER BY seed;
  SELECT filter, reference_names FROM kde_aqp.dumped_densities() WHERE filter <> '' ORDER BY seed;
  SELECT approx_count('orders.price', 10, 200), approx_sum('orders.amount', 3, 8);};
my $rename = q{
  ALTER TABLE sales RENAME amount TO price;
  ALTER TABLE sales RENAME quantity TO amount;
  ALTER TABLE sales RENAME TO orders;};
psql_as_owner($_, $rename) for 'source', 'second';
my $in_source = psql_as_owner('source', $by_new_names);
like($in_source, qr/^\{price\}\|1\n\{amount\}\|2\n/, 'densities follow RENAME');
like($in_source, qr/\(price \* \(amount\)::numeric\).*\(amount > 3\).*\(amount <> 7\)\|\{price,amount\}/s, 'in expressions and filters');
is(psql_as_owner('second', $by_new_names), $in_source, 'restored ones do');
is(psql_as_owner('plain', qq{
     SELECT seed FROM kde_fit('sales', 'amount', seed => 1, sample_rows => 5000);
     $rename $by_new_names}),
  "1\n$in_source", 'after a refit they do');
is(psql_as_owner('plain', q{
     SELECT count(*) FROM kde_aqp.dumped_densities() WHERE relation = 'orders'::regclass;
     SELECT kde_drop('orders.price');
     ALTER TABLE orders DROP amount;
     DROP TABLE "Schema One"."Ta.ble";
     SELECT seed FROM kde_aqp.dumped_densities() ORDER BY 1;}),
  "8\nt\n3\n5\n13", 'restored densities go by kde_drop, with their column and with their table');

# ------------------------------------------------------------------------------- without densities

# kde_aqp.dump_densities leaves them out, by whatever way it is set and whatever it is called. The rest
# is as in a dump with them. Each dump is told by the number of densities it has.
my @dump = ('-h', $node->host, '-p', $node->port);

sub dumped_densities {
  my ($options, @arguments) = @_;
  local $ENV{PGOPTIONS} = $options if defined $options;
  my ($dump, $errors) = run_command([ 'pg_dump', @dump, @owner, @arguments, 'second' ]);
  die "pg_dump: $errors" if $errors ne '';
  my ($rows) = $dump =~ /^COPY kde_aqp\.density [^\n]*\n(.*?)^\\\./ms;
  my $inserts = () = $dump =~ /^INSERT INTO kde_aqp\.density /mg;
  like($dump, qr/(COPY|INSERT INTO) public\.kept /, 'values of type kde in tables are always dumped') if $dump =~ /CREATE TABLE/;
  return $inserts + (defined $rows ? $rows =~ tr/\n// : 0);
}
my $stored = psql_as_owner('second', 'SELECT count(*) FROM kde_aqp.dumped_densities()');
is($stored, 10, 'densities to dump');
is(dumped_densities(undef), $stored, 'pg_dump takes them along');
is(dumped_densities("-c kde_aqp.dump_densities=$_"), $stored, "and where it is $_") for 'on', 'true', 'yes', '1', 'ON', 'tru';
is(dumped_densities("-c kde_aqp.dump_densities=$_"), 0, "none where it is $_") for 'off', 'false', 'no', '0', 'OFF', 'of', 'f', 'n';
is(dumped_densities('-c kde_aqp.dump_densities=off', '--inserts'), 0, 'nor by --inserts');
is(dumped_densities(undef, '--inserts'), $stored, 'which does take them');
is(dumped_densities('-c kde_aqp.dump_densities=off', '--data-only'), 0, 'nor by --data-only');
is(dumped_densities(undef, '--exclude-table-data=kde_aqp.density'), 0, '--exclude-table-data leaves them out too');
# pg_dump asks the server for errors alone.
is(dumped_densities('-c kde_aqp.dump_densities=perhaps'), $stored, 'what is neither counts as on');
like(slurp_file($node->logfile), qr/WARNING: .*parameter "kde_aqp.dump_densities" requires a Boolean value/,
  "and the server's log warns of it");
# With the library loaded in every session, which knows the option.
is(dumped_densities('-c local_preload_libraries= -c session_preload_libraries=kde_aqp -c kde_aqp.dump_densities=off', '-U',
    $node->safe_psql('postgres', 'SELECT current_user')), 0, 'none where the library is loaded first');

# For a database, by its owner in a session that has used the extension (the option is known from then on).
psql_as_owner('second', q{SELECT 1 FROM kde_devices(); ALTER DATABASE second SET kde_aqp.dump_densities = off});
is(dumped_densities(undef), 0, 'none of a database where it is off');
is(dumped_densities('-c kde_aqp.dump_densities=on'), $stored, 'but if the one who dumps wants them');
my ($cluster) = run_command([ 'pg_dumpall', @dump, '--exclude-database=template*' ]);
my ($part) = $cluster =~ /^\\connect second\n(.*?)(?:^\\connect|\z)/ms;
unlike($part, qr/^COPY kde_aqp\.density [^\n]*\n[^\\]/m, 'pg_dumpall leaves them out of it');
($part) = $cluster =~ /^\\connect plain\n(.*?)(?:^\\connect|\z)/ms;
like($part, qr/^COPY kde_aqp\.density [^\n]*\n[^\\]/m, 'and takes those of others');
psql_as_owner('second', q{SELECT 1 FROM kde_devices(); ALTER DATABASE second RESET kde_aqp.dump_densities});
is(dumped_densities(undef), $stored, 'all again');
# What was left out is missing, not broken.
{
  local $ENV{PGOPTIONS} = '-c kde_aqp.dump_densities=off';
  $node->command_ok([ 'pg_dump', @owner, '-Fc', '-f', "$directory/without.dump", 'second' ], 'pg_dump without densities');
}
create_database('without', 0);
my ($restored_without, $errors_without) = run_command([ 'pg_restore', @dump, @owner, '--no-data-for-failed-tables',
    '--exit-on-error', '--section=pre-data', '--section=data', '-d', 'without', "$directory/without.dump" ]);
is($errors_without, '', 'and its restore');
is(psql_as_owner('without', q{
     SELECT count(*) FROM kde_densities_full; SELECT count(*) FROM orders; SELECT count(*) FROM kept;
     SELECT seed FROM kde_fit('orders', 'price', seed => 5);}), "0\n20000\n1\n5", 'has the tables, which can be fitted');

# A restore leaves what was there.
my $restored = psql_as_owner('parallel', $values);
my ($code, $out, $err) = $node->psql('parallel', q{
  BEGIN; INSERT INTO kde_aqp.density SELECT * FROM kde_aqp.dumped_densities();}, @as_owner);
like($err, qr/WARNING:  skipping a density of [^\n]*: there is one already/, 'a density is not restored over another');
is(psql_as_owner('parallel', $values), $restored, 'and the old ones stay');

# ---------------------------------------------------------------- an owner who did not install it

# Of the tables that he owns he dumps the densities, and restores them where somebody else installed it.
create_database($_, 7) for 'installed', 'installed_too';
$node->safe_psql('installed', q{
  CREATE EXTENSION kde_aqp;
  CREATE TABLE closed AS SELECT i AS x FROM generate_series(1, 100) AS i;
  SELECT kde_fit('closed', 'x', seed => 9);});
psql_as_owner('installed', q{
  CREATE TABLE his AS SELECT i AS x, i % 7 AS y FROM generate_series(1, 1000) AS i;
  SELECT kde_fit('his', 'x', seed => 1), kde_fit('his', ARRAY['x', 'y'], method => 'scott', filter => 'y > 2', seed => 2)});
$node->command_fails_like([ 'pg_dump', @owner, '-f', "$directory/closed.sql", 'installed' ], qr/permission denied for table closed/,
  'a table that he may not read is what a dump is refused');
$node->command_ok([ 'pg_dump', @owner, '-Fc', '-T', 'closed', '-f', "$directory/installed.dump", 'installed' ],
  'and not the catalog of an extension that is not his');
$node->safe_psql('installed_too', 'CREATE EXTENSION kde_aqp');
$node->command_ok([ 'pg_restore', @owner, '--no-comments', '-e', '-d', 'installed_too', "$directory/installed.dump" ], 'which he may also restore');
my $his = q{SELECT relation, column_names, filter, seed, rows, fitted_at FROM kde_densities_full ORDER BY seed; SELECT approx_count('his.x', 10, 20)};
is(psql_as_owner('installed_too', $his), psql_as_owner('installed', $his), 'all of his is as it was');
is($node->safe_psql('installed_too', 'SELECT count(*) FROM kde_aqp.fitted'), '2', 'and nothing else came');

# What changed before the dump nobody knows here: what plain SQL may be answered by is due, once.
$node->safe_psql('installed_too', 'VACUUM his');
psql_as_owner('installed_too', q{SELECT kde_set_plain_sql('his.x', true)});
$node->poll_query_until('installed_too',  # a density rests for as long as its fit's cost asks
  q{SELECT state = 'what changed since the fit is not known' FROM kde_densities WHERE name = 'his.x'})
  or die 'it is not due';
is(psql_as_owner('installed_too', q{
     CALL kde_refresh_all();
     SELECT state FROM kde_densities WHERE name = 'his.x';
     SELECT proof FROM kde_densities_full WHERE name = 'his.x';}),
  "fresh\nnothing changed", 'a density that came by a dump is proven by a refresh');

# The owner may drop the extension, and all of it goes.
is(psql_as_owner('parallel', q{
     DROP EXTENSION kde_aqp CASCADE;
     SELECT count(*) FROM pg_namespace WHERE nspname = 'kde_aqp';
     SELECT count(*) FROM pg_event_trigger;
     SELECT count(*) FROM pg_proc WHERE proname ~ '^(kde|approx)_';
     SELECT count(*) FROM sales;
     CREATE EXTENSION kde_aqp;
     SELECT count(*) FROM kde_densities;
     SELECT seed FROM kde_fit('sales', 'amount', seed => 6);}),
  "0\n0\n0\n20000\n0\n6", 'DROP EXTENSION by the owner, and CREATE again');

$node->stop;
done_testing();
