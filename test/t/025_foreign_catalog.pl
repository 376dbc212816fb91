# Relations of the catalog's names where the extension is not installed: whoever may create a schema can make
# them, and the background worker, a superuser that no function of the extension calls, must not believe them.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('foreign');
$node->init;
$node->append_conf('postgresql.conf', <<'CONF');
shared_preload_libraries = 'kde_aqp'
kde_aqp.naptime = 1s
kde_aqp.max_workers = 0
log_min_messages = debug1
autovacuum = off
CONF
$node->start;

sub sql { return $node->safe_psql($_[1] // 'postgres', $_[0]) }
sub logged { my ($pattern) = @_; return scalar(() = slurp_file($node->logfile) =~ /$pattern/g) }

sql('CREATE ROLE mallory');
sql("CREATE DATABASE $_ OWNER mallory") for qw(tables views);

# Tables of the catalog's layout, and in them a density of a superuser's table with a filter of hers.
sql('CREATE EXTENSION kde_aqp', 'tables');
sql(q{
  CREATE SCHEMA hers AUTHORIZATION mallory;
  CREATE TABLE hers.fitted AS SELECT * FROM kde_aqp.fitted;
  CREATE TABLE hers.upkeep AS SELECT * FROM kde_aqp.upkeep;
  ALTER TABLE hers.fitted ALTER density TYPE bytea USING ''::bytea;
  ALTER TABLE hers.fitted OWNER TO mallory;
  ALTER TABLE hers.upkeep OWNER TO mallory;
  DROP EXTENSION kde_aqp;
  SET ROLE mallory;
  ALTER TABLE hers.fitted ADD PRIMARY KEY (relation, column_names, filter);
  ALTER TABLE hers.upkeep ADD PRIMARY KEY (density_id);
  CREATE FUNCTION hers.planted() RETURNS boolean LANGUAGE plpgsql STABLE AS
    $$ BEGIN RAISE LOG 'planted code ran as %', current_user; RETURN true; END $$;
  INSERT INTO hers.fitted (relation, column_names, attribute_numbers, filter, reference_names, reference_numbers, density,
    requested_method, requested_exact, requested_sample_rows, seed, rows_read, design_effect, bandwidth_rows, threads,
    scan_ms, select_ms, estimate_ms, fitted_at, id, refresh_enabled, refresh_max_age)
  VALUES ('information_schema.sql_sizing', '{sizing_id,supported_value}', '{1,3}', 'kde_aqp.planted()', '{}', '{}', '',
    'auto', false, 1000, 1, 1, 1, 1, 1, 1, 1, 1, '2020-01-01', 1, true, '1 second');
  ALTER SCHEMA hers RENAME TO kde_aqp}, 'tables');
# What has no storage.
sql('SET ROLE mallory; CREATE SCHEMA kde_aqp; CREATE VIEW kde_aqp.fitted AS SELECT 1 AS relation', 'views');

my %oid = map { $_ => sql("SELECT oid FROM pg_database WHERE datname = '$_'") } qw(tables views);
sql('ALTER SYSTEM SET kde_aqp.max_workers = 1');
$node->reload;
for my $database (qw(tables views)) {
  my $oid = $oid{$database};
  # A worker's end frees its place for the next, so that of the second visit the first is over.
  ok(wait_until(sub { logged(qr/starting background worker process "kde_aqp refresh worker for database $oid"/) >= 2
        || logged(qr/planted code ran as \w|terminated by signal/) }), "$database is visited");
}
is(logged(qr/planted code ran as \w/), 0, 'and no code of hers runs');
is(logged(qr/terminated by signal/), 0, 'nor does anything crash') or BAIL_OUT('the server crashed');
is(sql('SELECT fitted_at::date FROM kde_aqp.fitted', 'tables'), '2020-01-01', 'nor is her table written');

$node->stop;
done_testing();
