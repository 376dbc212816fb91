# Densities, answers and options over restarts, with the library preloaded and without.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('restart');
$node->init;
$node->start;
$node->safe_psql('postgres', q{
  CREATE EXTENSION kde_aqp;
  CREATE TABLE t AS SELECT (ln(i) * 100)::numeric(10,2) AS v, now()::timestamp + i * interval '1 s' AS at
    FROM generate_series(1, 20000) AS i;
  SELECT kde_fit('t', 'v', seed => 1), kde_fit('t', 'at', seed => 1);
});

my $answers = q{
  SELECT kde_density('t.v')::text, kde_density('t.at')::text;
  SELECT approx_count('t.v', 500, 800), approx_sum('t.v', 500, 800), approx_avg('t.v'),
         approx_quantile('t.v', ARRAY[0.01, 0.5, 0.99]), kde_pdf('t.v', 700), kde_cdf('t.v', 700);
  SELECT * FROM kde_densities_but_age;
};
$node->safe_psql('postgres', q{
  CREATE VIEW kde_densities_but_age AS SELECT relation, column_names, method, bandwidth, rows,
    rows_read, sample_rows, cells, bytes, engine, threads, total_ms, seed, fitted_at
  FROM kde_densities_full ORDER BY column_names});
my $before = $node->safe_psql('postgres', $answers);
like($before, qr/\S/, 'there are answers');

$node->restart;
is($node->safe_psql('postgres', $answers), $before, 'same answers after a restart');

$node->append_conf('postgresql.conf', "shared_preload_libraries = 'kde_aqp'\n"
    . "kde_aqp.bandwidth_rows = 1234\nkde_aqp.cache_size = '1MB'");
$node->restart;
is($node->safe_psql('postgres', $answers), $before, 'same answers with the library preloaded');
is($node->safe_psql('postgres', q{SHOW kde_aqp.bandwidth_rows}), '1234',
  'an option of the configuration file holds without a call');
is($node->safe_psql('postgres', q{SHOW kde_aqp.cache_size}), '1MB', 'with its unit');
is($node->safe_psql('postgres',
    q{SELECT FROM kde_fit('t', 'v', seed => 1, exact => true); SELECT bandwidth_rows FROM kde_densities_full WHERE name = 't.v'}),
  '1234', 'and is used by a fit');
# Threads live in the postmaster's children alone.
open my $pid_file, q{<}, $node->data_dir . q{/postmaster.pid} or die $!;
chomp(my $postmaster = <$pid_file>);
is(scalar(my @threads = glob "/proc/$postmaster/task/*"), 1, 'the postmaster has one thread');

# Options set before the library is loaded, which the first call does.
$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "''");
$node->restart;
is($node->safe_psql('postgres', q{
     SET kde_aqp.bandwidth_rows = 777;
     SELECT FROM kde_fit('t', 'v', seed => 1, exact => true); SELECT bandwidth_rows FROM kde_densities_full WHERE name = 't.v';
     SHOW kde_aqp.bandwidth_rows;}),
  "777\n777", 'an option set before the library is loaded');
my ($code, $out, $err) = $node->psql('postgres', q{
  SET kde_aqp.simd = 'abacus';
  SELECT count(*) FROM kde_devices();
  SHOW kde_aqp.simd;});
like($err, qr/WARNING:.*kde_aqp.simd.*abacus/s, 'a bad value set before is warned of at loading');
is($out, "1\nauto", 'and the default taken');
is($node->safe_psql('postgres', q{
     SELECT count(*) FROM kde_devices();
     SELECT string_agg(name, ' ' ORDER BY name) FROM pg_settings WHERE name LIKE 'kde\_aqp.%';}),
  "1\n" . join(' ', map { "kde_aqp.$_" } qw(approximate
      approximate_confidence approximate_error approximate_notice approximate_scan_size bandwidth_rows cache_size changed_rows cuda_program density_bytes device dump_densities
      gpu_max_jobs gpu_memory_limit joint_bytes log_answers log_min_duration max_workers naptime precision refresh_drift
      refresh_max_age refresh_scale_factor refresh_threshold refresh_timeout sample_blocks simd stale threads)),
  'the options show');

$node->stop;
done_testing();
