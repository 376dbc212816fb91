# Who may do what: every function, relation and type of the extension, by every kind of role, directly,
# through functions and views, and after a right was taken away. What is expected are the tables of
# 016_roles.md; an object of the extension that no query here uses fails the test.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# ------------------------------------------------------------------------- the tables expected

# A table of 016_roles.md whose first heading is `name`: its headings, and its rows by their
# first two cells, or the first.
sub documented {
  my ($name, $keys) = @_;
  my $file = __FILE__ =~ s/pl$/md/r;
  open my $in, '<', $file or die "$file: $!";
  my (@headings, %rows);
  while (<$in>) {
    my @cells = /^\|/ ? map { s/^\s+|\s+$//gr } split /\|/, s/^\||\|\s*$//gr : ();
    if (!@headings) {
      @headings = @cells if @cells && $cells[0] eq $name;
    } elsif (!@cells) {
      last;
    } elsif ($cells[1] !~ /^:?-+:?$/) {
      $rows{join ' ', @cells[0 .. $keys - 1]} = [ @cells[$keys .. $#cells] ];
    }
  }
  die "no table '$name' in $file" if !%rows;
  return ([ @headings[$keys .. $#headings] ], \%rows);
}

my ($roles, $matrix) = documented('to', 2);
my ($same_roles, $relations) = documented('relation', 1);
is_deeply($same_roles, $roles, 'both tables are of the same roles');

# ------------------------------------------------------------------------------ roles and tables

my $node = PostgreSQL::Test::Cluster->new('roles');
$node->init;
$node->start;
my $maintain = $node->pg_version >= 17;

# Names of roles are the headings without their blanks.
my @names = map { 'kde_' . s/\W+/_/gr } @$roles;
$node->safe_psql('postgres', join "\n", (map { "CREATE ROLE $_;" } @names),
  'ALTER ROLE kde_superuser SUPERUSER; ALTER ROLE kde_past_policies BYPASSRLS;
   ALTER ROLE kde_installer LOGIN; CREATE ROLE kde_heir;
   GRANT kde_owner TO kde_member; GRANT pg_read_all_data TO kde_all_data;
   GRANT pg_read_all_stats TO kde_all_stats;
   CREATE DATABASE roles OWNER kde_installer');
# Installed by a database's owner who is no superuser.
$node->safe_psql('roles', 'CREATE EXTENSION kde_aqp', extra_params => [ '-U', 'kde_installer' ]);

# Values that no message to those without rights may tell.
my $secret = '86[0-9]{3}|97[0-9]{3}';
my @tables = ('plain', 'parted', 'partition', 'policed', 'forced');
my $rights = join "\n", map { "
  GRANT SELECT ON s.$_ TO kde_reader, kde_past_policies;
  GRANT SELECT (x) ON s.$_ TO kde_reader_of_x;
  GRANT SELECT (y) ON s.$_ TO kde_reader_of_y;
  GRANT SELECT (x) ON s.$_ TO kde_maintainer;
  " . ($maintain ? "GRANT MAINTAIN ON s.$_ TO kde_maintainer;" : '') }
  grep { $_ ne 'partition' } @tables;
$node->safe_psql('roles', qq{
  CREATE SCHEMA s AUTHORIZATION kde_owner;
  GRANT USAGE ON SCHEMA s TO PUBLIC;
  SET ROLE kde_owner;
  CREATE TABLE s.plain (x numeric, y numeric);
  CREATE TABLE s.parted (x numeric, y numeric) PARTITION BY RANGE (x);
  CREATE TABLE s.partition PARTITION OF s.parted FOR VALUES FROM (0) TO (1000000);
  CREATE TABLE s.policed (x numeric, y numeric);
  CREATE TABLE s.forced (x numeric, y numeric);
  INSERT INTO s.plain SELECT 86000 + i * 0.5, 97000 + i * i % 999 FROM generate_series(1, 400) AS i;
  INSERT INTO s.parted SELECT * FROM s.plain;
  INSERT INTO s.policed SELECT * FROM s.plain;
  INSERT INTO s.forced SELECT * FROM s.plain;
  SELECT kde_fit('s.' || t, 'x', seed => 1), kde_fit('s.' || t, 'y', seed => 1)
    FROM unnest('{plain,parted,partition,policed,forced}'::text[]) AS t;
  SELECT kde_fit('s.plain', ARRAY['x', 'y'], seed => 1), kde_fit('s.plain', 'x', filter => 'y > 3', seed => 1),
    kde_fit('s.plain', ARRAY['x + y'], seed => 1), kde_fit('s.plain', 'x', group_by => 'y', seed => 1);
  CREATE TABLE s.values AS SELECT kde_density('s.plain.x') AS d, (SELECT kde_agg(x) FROM s.plain) AS a;
  GRANT SELECT ON s.values TO PUBLIC;
  CREATE POLICY part ON s.policed USING (x > 86050);
  CREATE POLICY part ON s.forced USING (x > 86050);
  ALTER TABLE s.policed ENABLE ROW LEVEL SECURITY;
  ALTER TABLE s.forced ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
  $rights});

# ----------------------------------------------------------------------------------- the queries

# Every function by each of its forms. {t} is the table, {n} the density's name, {list} its columns, {x} the
# same as an array, {one} an array of as many ones, {f} an argument `filter`, {filter} its value.
my @aggregates = map { ($_, "${_}_ci") } 'count', 'sum', 'avg', 'variance', 'stddev';
my @by_column = map { my $d = $_;
  map { s/\{d\}/$d/gr } (
    (map { ("approx_$_({d}, 1, 2)", "approx_$_({d}, 1, 2, max_relative_error => 1e9, otherwise => 'null')") } @aggregates),
    'approx_avg_as({d}, NULL::numeric, 1, 2)', 'approx_histogram({d}, 5)',
    'approx_histogram_at({d}, ARRAY[1, 2, 3])', 'approx_top({d}, 3)', 'kde_plot({d}, 60)', 'kde_svg({d})', 'approx_quantile({d}, 0.5)',
    'approx_quantile({d}, ARRAY[0.5, 0.9])', "approx_quantile({d}, '0.5'::text)",
    'approx_quantile_as({d}, 0.5, NULL::numeric)', 'approx_quantile_ci({d}, 0.5)', 'kde_pdf({d}, 1)',
    'kde_cdf({d}, 1)') } "'{t}.x'", "kde_density('{t}'::regclass, 'x')", 'd';
my @by_value = map { "SELECT $_ FROM s.values" } grep { /\(d\b/ } @by_column;
@by_column = map { "SELECT $_" } grep { !/\(d\b/ } @by_column,
  "kde_density('{t}.x')", "kde_density('{t}'::regclass, 'x')", "kde_info('{t}.x')", "kde_points('{t}.x', 3)",
  "approx_quantile('{t}.x', 0.5, max_relative_error => 0, otherwise => 'exact')",
  map { "approx_$_('{t}.x', 1, 2, max_relative_error => 0, otherwise => 'exact')" } @aggregates;
my @by_columns = map { "SELECT $_" } "kde_density('{t}'::regclass, {x}, {filter})",
  "kde_explain('{n}', {one}, {one}{f})",
  map { ("approx_$_('{n}', {one}, {one}, measure => ({x})[1]{f})",
    "approx_$_('{n}', {one}, {one}, measure => ({x})[1]{f}, max_relative_error => 0, otherwise => 'exact')") } @aggregates;
my %what = (
  '(x, y) of plain' => [ 'plain', 'x,y', '{x,y}' ],
  'x of plain, filtered by y' => [ 'plain', 'x', '{x}', 'y > 3' ],
  'x + y of plain' => [ 'plain', 'x + y', '{"(x + y)"}' ],
  map { ("x of $_" => [ $_, 'x', '{x}' ]) } @tables);

sub fill {
  my ($query, $what) = @_;
  my ($table, $columns, $names, $filter) = @{ $what{$what} };
  my @columns = split /,/, $columns;
  my %value = (t => "s.$table", n => "s.$table ($columns)", names => $names, x => 'ARRAY[' . join(', ', map { "'$_'" } @columns) . ']::text[]',
    list => $columns, one => 'ARRAY[' . join(', ', (1) x @columns) . ']', f => defined $filter ? ", filter => '$filter'" : '',
    filter => defined $filter ? "'$filter'" : 'NULL');
  return $query =~ s/\{(\w+)\}/$value{$1}/gr;
}

# action => [ what it is done to, query ]...
my %queries;
for my $what (keys %what) {
  my $filtered = defined $what{$what}[3];
  my $one = $what{$what}[1] eq 'x' && !$filtered;
  my @ask = ($one ? @by_column : (), @by_columns);
  push @ask, q{SELECT kde_density('{t}({list})')}, q{SELECT kde_info('{t}({list})')} if !$filtered;
  push @ask, q{SELECT kde_aqp.shard_density('{t}'::regclass, {x}, NULL, NULL, 'auto', false, 10, 4096, 2)} if $one;
  push @ask, q{SELECT kde_conditional('{t}.y', ARRAY[1], measure => 'x')} if $what =~ /x, y/;
  push @{ $queries{"ask $what"} }, map { fill($_, $what) } @ask;
  push @{ $queries{"see $what"} }, fill(q{SELECT 1 / count(*) FROM kde_densities_full
    WHERE relation = '{t}'::regclass AND column_names::text = '{names}' AND (filter IS NULL) = ({filter} IS NULL)}, $what);
  push @{ $queries{"fit $what"} }, map { fill($_, $what) }
    ($filtered || $one ? q{SELECT kde_fit('{t}'::regclass, 'x', seed => 2{f})} : ()),
    ($one ? q{SELECT count(*) FROM kde_fit('{t}'::regclass, seed => 2)} : ()),
    q{SELECT kde_fit('{t}'::regclass, {x}, seed => 2{f})};
  push @{ $queries{"sample $what"} }, fill(q{SELECT kde_sample('{t}'::regclass, 'x', 2)}, $what) if $one;
  push @{ $queries{"drop $what"} }, map { fill($_, $what) }
    ($one ? q{SELECT kde_store('{t}'::regclass, 'x', kde_density('{t}'::regclass, 'x'))} : ()),
    ($filtered || $one ? q{SELECT kde_drop('{t}.x'{f})} : ()), q{SELECT kde_drop('{n}'{f})};
  push @{ $queries{"drift $what"} }, map { fill($_, $what) }
    ($filtered || $one ? q{SELECT kde_drift('{t}.x'{f})} : ()), q{SELECT kde_drift('{n}'{f})};
  push @{ $queries{"set $what"} }, map { fill($_, $what) }
    ($filtered || $one ? q{SELECT kde_set_refresh('{t}.x', enabled => false{f})} : ()),
    q{SELECT kde_set_refresh('{n}', enabled => false{f})}, q{SELECT kde_set_plain_sql('{n}', false{f})},
    # As the owner, from whom policies keep rows there: an error for all.
    ($what =~ /forced/ ? () : q{SELECT count(*) FROM kde_self_check('{n}'{f}, questions => 2)});
}
push @{ $queries{'ask (x, y) of plain'} }, "SELECT approx_groups('s.plain.x by y', 1, 2)", "SELECT count(*) FROM approx_groups('s.plain.x')",
  "SELECT approx_groups('s.plain.x', 1, 2, max_relative_error => 0, otherwise => 'exact')",
  "SELECT approx_where('s.plain', 'x BETWEEN 1 AND 2 AND y = 3')", "SELECT approx_where('s.plain', 'x > y AND y = 3', otherwise => 'exact')",
  "SELECT kde_density('s.plain.x by y')", "SELECT count(*) FROM kde_plot('s.plain.x by y')",
  "SELECT kde_svg('s.plain.x by y')", "SELECT kde_info('s.plain.x by (y)')";
push @{ $queries{'fit (x, y) of plain'} }, "SELECT kde_fit('s.plain', 'x', group_by => 'y', seed => 2)";
push @{ $queries{"refresh $_"} }, "SELECT kde_refresh('s.$_', true)" for @tables;
$queries{'use values'} = [ @by_value, "SELECT kde_aqp.shard_counters('s.values')", 'SELECT kde_info(d) FROM s.values', 'SELECT kde_points(d) FROM s.values',
  'SELECT kde_plot(ARRAY[d, a]), kde_svg(ARRAY[d, a]) FROM s.values',
  'SELECT kde_aqp.kde_to_json(d), kde_aqp.kde_to_jsonb(d) FROM s.values',
  'SELECT d::json, d::jsonb, kde_aqp.expected_error(d) FROM s.values', 'SELECT kde_aqp.kde_in(kde_aqp.kde_out(d)), kde_aqp.kde_send(d) FROM s.values',
  q{SELECT kde_aqp.anykde_in(kde_aqp.anykde_out(d)), kde_aqp.anykde_send(d), kde_aqp.anykde_of_text('t.x') FROM s.values},
  'SELECT rollup(a), rollup(a, 4096) FROM s.values',
  'SELECT d = d, d <> d, d < d, d <= d, d > d, d >= d FROM s.values',
  'SELECT kde_aqp.kde_eq(d, d), kde_aqp.kde_ne(d, d), kde_aqp.kde_lt(d, d), kde_aqp.kde_le(d, d), kde_aqp.kde_gt(d, d), kde_aqp.kde_ge(d, d), kde_aqp.kde_cmp(d, d) FROM s.values',
  'SELECT kde_aqp.kde_hash(d), kde_aqp.kde_hash_extended(d, 1) FROM s.values',
  q{SELECT kde_aqp.method_in(kde_aqp.method_out('auto')), kde_aqp.method_send('auto'), 'auto'::text::kde_aqp.method,
    'auto'::varchar::kde_aqp.method},
  q{SELECT kde_aqp.names_in(kde_aqp.names_out('a, b')), kde_aqp.names_send('a, b'), 'a, b'::text::kde_aqp.names, 'a'::name::kde_aqp.names, '{a,b}'::text[]::kde_aqp.names},
  q{SELECT kde_agg(i), kde_agg(i, i * 0.5), kde_aqp.cells(0, i, i), kde_aqp.value_sums(i), kde_agg(i, 'auto'), kde_agg(i, 'auto', 1.0), kde_agg(i, 'auto', 1.0, 4096)
    FROM generate_series(1, 10) AS i} ];
$queries{'use arrays'} = [ 'SELECT kde_bandwidth(ARRAY[1, 2, 3, 5, 9])',
  'SELECT kde_bandwidth_matrix(ARRAY[[1, 2], [3, 1], [5, 9], [2, 2], [4, 7]])',
  'SELECT kde_evaluate(ARRAY[[1, 2], [3, 1], [5, 9], [2, 2], [4, 7]], ARRAY[[1, 2]])' ];
$queries{'use devices'} = ['SELECT kde_devices()', 'SELECT kde_aqp.progress()', 'SELECT count(*) FROM kde_aqp.dumped_densities()',
  'SELECT count(*) FROM kde_aqp.readable_densities()', 'SELECT kde_aqp.has_densities()', 'SELECT count(*) FROM kde_aqp.plain_sql_outcomes()',
  q{SELECT count(*) FROM kde_explain_query('SELECT 1')}, q{SELECT count(*) FROM kde_advise(ARRAY['SELECT 1'])}, 'SELECT approx_lower(1), approx_upper(1)', q{SELECT kde_approximate('off')},
  'SELECT kde_check()'];
$queries{'use internals'} = [ map { "SELECT count(*) FROM kde_aqp.$_()" } 'stored', 'stored_stretches' ];
is_deeply([ sort keys %queries ], [ sort keys %$matrix ], 'the table has a row for each of the queries');

# ------------------------------------------------------------------- ways, and what comes of them

$node->safe_psql('roles', <<'SQL');
CREATE TABLE s.query (id serial, action text, direct text);
CREATE TABLE s.result (way text, action text, query text, role text, got text);

-- What a query does for a role: 'yes', or the error. Nothing of it stays.
CREATE FUNCTION s.attempt(role text, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  detail text;
  hint text;
BEGIN
  PERFORM set_config('role', role, true);
  EXECUTE query;
  RAISE SQLSTATE 'KDEOK';
EXCEPTION
  WHEN SQLSTATE 'KDEOK' THEN RETURN 'yes';
  WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    RETURN concat_ws(' ', SQLSTATE, SQLERRM, detail, hint);
END $$;

-- A query as functions and views of the owner's. What it returns may have a type that a view cannot.
CREATE FUNCTION s.wrap(id integer, query text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  wrapped text := 'SELECT count(ROW(q.*)) FROM (' || query || ' OFFSET 0) AS q';
BEGIN
  EXECUTE format('CREATE FUNCTION s.invoker%s() RETURNS bigint LANGUAGE sql AS %L', id, wrapped);
  EXECUTE format('CREATE FUNCTION s.definer%s() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS %L', id, wrapped);
  EXECUTE format('ALTER FUNCTION s.definer%s() OWNER TO kde_owner', id);
  EXECUTE format('CREATE VIEW s.view%s AS %s', id, wrapped);
  EXECUTE format('ALTER VIEW s.view%s OWNER TO kde_owner', id);
  EXECUTE format('GRANT SELECT ON s.view%s TO PUBLIC', id);
  EXECUTE format('CREATE VIEW s.asker%s WITH (security_invoker) AS %s', id, wrapped);
  EXECUTE format('ALTER VIEW s.asker%s OWNER TO kde_owner', id);
  EXECUTE format('GRANT SELECT ON s.asker%s TO PUBLIC', id);
END $$;
SQL
for my $action (sort keys %queries) {
  $node->safe_psql('roles', join ";\n",
    map { "INSERT INTO s.query (action, direct) VALUES (\$q\$$action\$q\$, \$q\$$_\$q\$)" } @{ $queries{$action} });
}
$node->safe_psql('roles', 'SELECT s.wrap(id, direct) FROM s.query');

# Every object of the extension is used by a query, or cannot be called, but for what aggregates call, and of kde_agg's
# forms of each type those of others than integers.
is($node->safe_psql('roles', q{
     WITH used AS (
       SELECT DISTINCT d.refclassid, d.refobjid FROM s.query AS q
         JOIN pg_rewrite AS r ON r.ev_class = ('s.view' || q.id)::regclass
         JOIN pg_depend AS d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid),
     objects AS (
       SELECT d.classid, d.objid, p.oid AS function, c.oid AS relation,
         p.prorettype IN ('trigger'::regtype, 'event_trigger'::regtype) AS fired,
         p.prorettype = 'internal'::regtype OR 'internal'::regtype = ANY (p.proargtypes)
          OR 'kde_aqp.agg_state'::regtype = ANY (p.proargtypes || p.prorettype) OR p.proname = 'kde_agg' AND p.proargtypes[0] <> 'integer'::regtype AS internal
       FROM pg_depend AS d
         LEFT JOIN pg_proc AS p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
         LEFT JOIN pg_class AS c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
       WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
         AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'kde_aqp'))
     SELECT string_agg(pg_describe_object(classid, objid, 0), ', ') FROM objects AS o
     WHERE NOT EXISTS (SELECT FROM used AS u WHERE (u.refclassid, u.refobjid) = (o.classid, o.objid))
       AND relation IS NULL AND NOT coalesce(internal, false)
       -- An aggregate's own, which refuse whoever else calls them.
       AND NOT EXISTS (SELECT FROM pg_aggregate WHERE classid = 'pg_proc'::regclass AND objid IN (aggtransfn, aggcombinefn))
       AND classid NOT IN ('pg_opclass'::regclass, 'pg_opfamily'::regclass)
       -- Types of rows and arrays, members since 17.
       AND NOT EXISTS (SELECT FROM pg_type AS t WHERE classid = 'pg_type'::regclass AND t.oid = objid AND (t.typrelid <> 0 OR t.typcategory = 'A'))
       AND NOT coalesce(fired AND NOT has_function_privilege('public', function, 'EXECUTE'), false)
       AND pg_describe_object(classid, objid, 0) NOT IN ('schema kde_aqp', 'type kde', 'type kde_aqp.by_name_only', 'type kde_aqp.agg_state',
         'function kde_refresh_all(boolean,boolean)', 'procedure kde_refresh_all(boolean,boolean)', 'cast from kde to json', 'cast from kde to jsonb', 'cast from kde to anykde', 'cast from text to anykde',
         'cast from regclass to anykde', 'function kde_aqp.anykde_of_regclass(regclass)',
         'cast from character varying to anykde', 'cast from text to kde_aqp.method', 'cast from character varying to kde_aqp.method',
         'cast from character to kde_aqp.method', 'cast from name to kde_aqp.method', 'function kde_aqp.follow_drop()', 'function kde_aqp.follow_alter()', 'event trigger kde_aqp_on_drop',
         'event trigger kde_aqp_on_alter')
       AND pg_describe_object(classid, objid, 0) !~ '^cast from .* to kde_aqp[.]names$'}),
  '', 'every function of the extension is tried');
is($node->safe_psql('roles', q{
     SELECT string_agg(format('%s %s', proname, coalesce(prosecdef::text, '')), ', ') FROM pg_proc AS p
       JOIN pg_depend AS d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
     WHERE d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'kde_aqp')
       AND (prosecdef OR proconfig IS NOT NULL OR proleakproof)}),
  '', 'no function is SECURITY DEFINER, has settings of its own or is called leakproof');

my %way = (
  'direct' => 'direct',
  'function' => q{'SELECT s.invoker' || id || '()'},
  'definer' => q{'SELECT s.definer' || id || '()'},
  'view' => q{'SELECT * FROM s.view' || id},
  'security_invoker view' => q{'SELECT * FROM s.asker' || id});

sub expected {
  my ($way, $action, $column) = @_;
  my @row = @{ $matrix->{$action} };
  # A definer's function does what its owner, here the table's, may do.
  ($column) = grep { $roles->[$_] eq 'owner' } 0 .. $#$roles if $way eq 'definer';
  my $cell = $row[$column];
  $cell = $maintain ? 'yes' : '-' if $cell eq '17+';
  return $cell;
}

for my $way (sort keys %way) {
  my $start = time;
  $node->safe_psql('roles', qq{
    INSERT INTO s.result SELECT '$way', action, direct, role, s.attempt(role, $way{$way})
    FROM s.query, unnest('{@{[join ',', @names]}}'::text[]) AS role});
  # Schemas' rights are not asked for again where a function or view was made.
  $node->safe_psql('roles', q{DELETE FROM s.result WHERE action = 'use internals' AND way ~ 'view'});
  my %cells;
  for (split /\n/, $node->safe_psql('roles', qq{
      SELECT action, role, string_agg(DISTINCT CASE
          WHEN got = 'yes' THEN 'yes' WHEN got ~ (CASE WHEN action ~ '^see' THEN '^22012'
            -- Who may read the column, and not what a density's groups are by, does not hear that there is one.
            WHEN query ~ 'approx_groups[(]''s.plain.x''' THEN '^42501|^42704 no density with groups is fitted for plain.x '
            ELSE '^42501' END)
          THEN '-' ELSE got END, ' and ')
        FROM s.result WHERE way = '$way' GROUP BY 1, 2})) {
    my ($action, $role, $cell) = split /\|/, $_, 3;
    $cells{$action}{$role} = $cell;
  }
  for my $action (sort keys %cells) {
    my @got = map { "$roles->[$_]: $cells{$action}{$names[$_]}" } 0 .. $#names;
    my @expected = map { "$roles->[$_]: " . expected($way, $action, $_) } 0 .. $#names;
    is(join("\n", @got), join("\n", @expected), "$way: $action")
      or diag $node->safe_psql('roles', qq{
        SELECT role || ': ' || query || ': ' || got FROM s.result
        WHERE (way, action) = ('$way', \$q\$$action\$q\$) AND got <> 'yes' LIMIT 40});
  }
  note sprintf '%s: %d s', $way, time - $start;
}
# ---------------------------------------------------------------- rights taken from prepared statements

# As `role`, prepares and runs what it may do to a table; takes the right away; runs it again.
sub check_revoked {
  my ($role, $actions, $take, $give) = @_;
  my $session = open_session($node, 'roles', 'SET plan_cache_mode = force_generic_plan');
  ask($session, qq{CREATE TEMP TABLE p AS SELECT * FROM s.query WHERE action ~ '$actions'});
  ask($session, qq{SET ROLE $role});
  my @queries = split /\n/, $node->safe_psql('roles',
    qq{SELECT id || ' ' || replace(direct, E'\\n', ' ') FROM s.query WHERE action ~ '$actions' ORDER BY id});
  for (@queries) {
    my ($id, $query) = split / /, $_, 2;
    ask($session, "PREPARE p$id AS $query");
  }
  ask($session, 'RESET ROLE');
  my $outcomes = sub {
    return ask($session, qq{
      SELECT string_agg(DISTINCT left(s.attempt('$role', 'EXECUTE p' || id), 5), ' ') FROM p});
  };
  is($outcomes->(), 'yes', "$role: prepared statements of '$actions' run");
  $node->safe_psql('roles', $take);
  is($outcomes->(), '42501', "after $take: none does");
  $node->safe_psql('roles', $give);
  is($outcomes->(), 'yes', "after $give: all again");
  $session->quit;
  return;
}
check_revoked('kde_reader', '^ask .* of (plain|parted)', 'REVOKE SELECT ON s.plain, s.parted FROM kde_reader',
  'GRANT SELECT ON s.plain, s.parted TO kde_reader');
check_revoked('kde_reader_of_x', '^ask x of plain$', 'REVOKE SELECT (x) ON s.plain FROM kde_reader_of_x',
  'GRANT SELECT (x) ON s.plain TO kde_reader_of_x');
check_revoked('kde_past_policies', '^ask x of (policed|forced)', 'ALTER ROLE kde_past_policies NOBYPASSRLS',
  'ALTER ROLE kde_past_policies BYPASSRLS');
check_revoked('kde_member', '^(ask|fit|drop) .* of plain', 'REVOKE kde_owner FROM kde_member',
  'GRANT kde_owner TO kde_member');
check_revoked('kde_owner', '^(fit|drop) .* of plain', 'ALTER TABLE s.plain OWNER TO kde_heir',
  'ALTER TABLE s.plain OWNER TO kde_owner');

# ----------------------------------------------------------------------------------- the procedure

# It commits, so that no attempt can be undone: of which tables each role refreshes densities, which a
# new number tells. Of what it passes over in silence it must not say a word either.
my $ids = sub {
  return { map { split /\|/, $_, 2 } split /\n/, $node->safe_psql('roles', q{
    SELECT relation::regclass || ' ' || column_names::text || filter, xmin::text FROM kde_aqp.fitted}) };
};
for my $i (0 .. $#names) {
  my $before = $ids->();
  my ($code, $out, $err) = $node->psql('roles', "SET ROLE $names[$i]; SET client_min_messages = notice; CALL kde_refresh_all(true)");
  is($code, 0, "$roles->[$i] calls kde_refresh_all()");
  my $after = $ids->();
  for my $table (@tables) {
    my @here = grep { /^s\.$table / } sort keys %$before;
    my $new = grep { $before->{$_} ne $after->{$_} } @here;
    my $cell = expected('direct', "refresh $table", $i);
    is($new, $cell eq 'yes' ? @here : 0, "which refreshes s.$table: $cell");
    unlike($err, qr/\b$table[. ]/, 'and says nothing of it') if $cell ne 'yes' && $table ne 'forced';
  }
}

# ------------------------------------------------------------------------------------- relations

# r, a, w, d, D as in an access privilege list; U: usage. A relation without a row in the table fails.
my $privileges = $node->safe_psql('roles', qq{
  WITH members AS (
    SELECT objid, classid FROM pg_depend
    WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
      AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'kde_aqp')),
  relations AS (
    SELECT c.oid, c.oid::regclass::text AS name, c.relkind FROM members AS m JOIN pg_class AS c ON c.oid = m.objid
      AND m.classid = 'pg_class'::regclass
    UNION ALL
    SELECT t.oid, 'TOAST table of ' || c.oid::regclass, t.relkind FROM members AS m
      JOIN pg_class AS c ON c.oid = m.objid AND m.classid = 'pg_class'::regclass
      JOIN pg_class AS t ON t.oid = c.reltoastrelid)
  SELECT r.name || '|' || u || '|' ||
    CASE WHEN r.relkind = 'S' THEN (SELECT string_agg(CASE WHEN has_sequence_privilege(u, r.oid, p) THEN l ELSE '' END, '' ORDER BY n)
       FROM (VALUES (1, 'SELECT', 'r'), (2, 'UPDATE', 'w'), (3, 'USAGE', 'U')) AS v(n, p, l))
    ELSE (SELECT string_agg(CASE WHEN has_table_privilege(u, r.oid, p) THEN l ELSE '' END, '' ORDER BY n)
       FROM (VALUES (1, 'SELECT', 'r'), (2, 'INSERT', 'a'), (3, 'UPDATE', 'w'), (4, 'DELETE', 'd'),
         (5, 'TRUNCATE', 'D')) AS v(n, p, l)) END
  FROM relations AS r, unnest('{@{[join ',', @names]}}'::name[]) AS u
  UNION ALL
  SELECT 'schema ' || n || '|' || u || '|' || CASE WHEN has_schema_privilege(u, n, 'USAGE') THEN 'U' ELSE '' END
    || CASE WHEN has_schema_privilege(u, n, 'CREATE') THEN 'C' ELSE '' END
  FROM unnest('{kde_aqp}'::text[]) AS n, unnest('{@{[join ',', @names]}}'::name[]) AS u});
my %rights;
for (split /\n/, $privileges) {
  my ($relation, $role, $got) = split /\|/, $_, 3;
  push @{ $rights{$relation} }, $got eq '' ? '-' : $got;
}
my %expected_rights = map { s/`//gr => $relations->{$_} } keys %$relations;
is_deeply([ sort keys %rights ], [ sort keys %expected_rights ], 'the table has a row for every relation');
is(join(', ', @{ $rights{$_} }), join(', ', @{ $expected_rights{$_} }), "rights on $_") for sort keys %expected_rights;

# ------------------------------------------------------------------------------- what else could tell

is($node->safe_psql('roles', q{
     ANALYZE kde_aqp.fitted; ANALYZE kde_aqp.upkeep;
     SELECT count(*) > 0 FROM pg_statistic AS s JOIN pg_class AS c ON c.oid = s.starelid
       WHERE c.relnamespace = 'kde_aqp'::regnamespace}), 't', 'there are statistics of the catalog');
# The planner's estimates of who may see no density do not depend on what the catalog holds.
my $estimate = sub {
  my ($role, $condition) = @_;
  return $node->safe_psql('roles', "ANALYZE kde_aqp.fitted; SET ROLE $role;
    EXPLAIN (COSTS ON) SELECT * FROM kde_densities_full WHERE $condition") =~ s/^(.*)\n.*/$1/sr;
};
is($estimate->('kde_nobody', 'seed = 1') =~ s/seed = 1//r, $estimate->('kde_nobody', 'seed = 77') =~ s/seed = 77//r,
  'EXPLAIN estimates the same for values that are in the catalog and that are not');
is($node->safe_psql('roles', q{SET ROLE kde_nobody; SELECT count(*) FROM pg_stats WHERE schemaname = 'kde_aqp'}), '0',
  'pg_stats shows nothing of the catalog');
is($node->safe_psql('roles', q{SET ROLE kde_all_stats; SELECT count(*) FROM pg_stats WHERE schemaname = 'kde_aqp'}), '0',
  'nor to a member of pg_read_all_stats');
# What EXPLAIN ANALYZE counts does not depend on it, either: no row but those that he may read.
my $explained = sub {
  return $node->safe_psql('roles', "SET ROLE $_[0]; EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT * FROM kde_densities_full WHERE seed > 0")
};
unlike($explained->('kde_nobody'), qr/rows=(?!0)|Removed|kde_aqp\.fitted/, 'EXPLAIN ANALYZE shows nobody how many densities there are');
like($explained->('kde_reader_of_y'), qr/rows=1\b/, 'and those that he may read to one who may');
# A function that would see every row sees those of the view.
is($node->safe_psql('roles', q{
     CREATE FUNCTION s.peep(text[]) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS
       $$ BEGIN RAISE WARNING 'peeped %', $1; RETURN true; END $$;
     SET client_min_messages = error; SET ROLE kde_nobody;
     SELECT count(*) FROM kde_densities_full WHERE s.peep(column_names)}), '0', 'a cheap function in a query');
my ($code, $out, $err) = $node->psql('roles', q{SET ROLE kde_reader_of_y; SELECT column_names FROM kde_densities_full WHERE s.peep(column_names)});
unlike($err, qr/peeped.*x/, 'sees no row that the view would not show');
like($err, qr/peeped \{y\}/, 'but those it shows');

# ------------------------------------------------------- rows that the extension's owner brings

# He may insert, as a restore has to; but only of tables that are his, as a refresh computes
# expressions with the rights of their tables' owners.
my $bring = q{INSERT INTO kde_aqp.density SELECT * FROM brought};
($code, $out, $err) = $node->psql('roles', qq{
  CREATE TEMP TABLE brought AS SELECT * FROM kde_aqp.fitted WHERE relation = 's.plain'::regclass AND column_names = '{y}';
  UPDATE brought SET filter = 'x > 5';
  GRANT SELECT ON brought TO kde_installer;
  SET ROLE kde_installer; $bring; RESET ROLE;
  SELECT count(*) FROM kde_aqp.fitted WHERE relation = 's.plain'::regclass;
  $bring;
  SELECT count(*) FROM kde_aqp.fitted WHERE relation = 's.plain'::regclass;
  SELECT count(kde_drop(name, filter => filter)) FROM kde_densities_full WHERE filter = '(x > (5)::numeric)'});
is($out, "6\n7\n1", 'the owner of the extension brings no density of a table that is not his, a superuser does');
like($err, qr/skipping a density of s\.plain \(y\) where x > 5: the current user does not own the table/, 'and is told');

is($node->safe_psql('roles', qq{SELECT string_agg(DISTINCT got, E'\\n') FROM s.result WHERE got ~ '$secret'}),
  '', 'no message tells a value');
like($node->safe_psql('roles', 'SELECT count(*) FROM s.result'), qr/^[0-9]{4,}$/, 'there were thousands of attempts');

$node->stop;
done_testing();
