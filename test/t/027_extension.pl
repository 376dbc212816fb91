# CREATE, ALTER and DROP EXTENSION: a chain of upgrades makes what the newest script makes, object by
# object; rows of an older version live on; and what DROP leaves is what was there before CREATE.
use strict;
use warnings;

use KdeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('extension');
$node->init;
$node->append_conf('postgresql.conf', 'kde_aqp.stale = ignore');
$node->start;

# Every object of the extension with all that makes it what it is.
my $objects = q{
  SET search_path = pg_catalog;
  WITH member AS (SELECT classid, objid FROM pg_depend
    WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
      AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'kde_aqp'))
  SELECT pg_describe_object(classid, objid, 0), obj_description(objid, classid::regclass::name) FROM member
  UNION ALL
  SELECT 'function', concat_ws('|', pg_get_functiondef(p.oid), p.proacl, p.procost, p.prorows, p.proparallel, p.proisstrict)
  FROM member JOIN pg_proc AS p ON p.oid = objid AND classid = 'pg_proc'::regclass WHERE p.prokind <> 'a'
  UNION ALL
  SELECT 'aggregate', concat_ws('|', p.oid::regprocedure, pg_get_function_arguments(p.oid), a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggserialfn,
    a.aggdeserialfn, a.aggtransspace, a.aggfinalmodify, a.agginitval, p.proparallel, p.proacl)
  FROM member JOIN pg_proc AS p ON p.oid = objid AND classid = 'pg_proc'::regclass JOIN pg_aggregate AS a ON a.aggfnoid = p.oid
  UNION ALL
  SELECT 'column', concat_ws('|', a.attrelid::regclass, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
    pg_get_expr(d.adbin, d.adrelid), a.attstorage, a.attacl, col_description(a.attrelid, a.attnum), a.attisdropped)
  FROM member JOIN pg_attribute AS a ON a.attrelid = objid AND classid = 'pg_class'::regclass
  LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum WHERE a.attnum > 0
  UNION ALL
  SELECT 'relation', concat_ws('|', c.oid::regclass, c.relkind, c.relpersistence, c.relreplident, c.reloptions, c.relacl, c.relrowsecurity,
    CASE c.relkind WHEN 'v' THEN pg_get_viewdef(c.oid) END)
  FROM member JOIN pg_class AS c ON c.oid = objid AND classid = 'pg_class'::regclass
  UNION ALL
  SELECT 'constraint', concat_ws('|', c.conrelid::regclass, CASE WHEN c.contype <> 'n' THEN c.conname END, pg_get_constraintdef(c.oid)) -- NOT NULL has a name since 18, by the table's first one
  FROM member JOIN pg_constraint AS c ON c.conrelid = objid AND classid = 'pg_class'::regclass
  UNION ALL
  SELECT 'index', pg_get_indexdef(i.indexrelid) FROM member JOIN pg_index AS i ON i.indrelid = objid AND classid = 'pg_class'::regclass
  UNION ALL
  SELECT 'sequence', concat_ws('|', s.seqrelid::regclass, format_type(s.seqtypid, NULL), s.seqstart, s.seqincrement, s.seqmax, s.seqmin, s.seqcache, s.seqcycle)
  FROM member JOIN pg_sequence AS s ON s.seqrelid = objid AND classid = 'pg_class'::regclass
  UNION ALL
  SELECT 'trigger', concat_ws('|', pg_get_triggerdef(t.oid), t.tgenabled, obj_description(t.oid, 'pg_trigger'))
  FROM member JOIN pg_trigger AS t ON t.tgrelid = objid AND classid = 'pg_class'::regclass
  UNION ALL
  SELECT 'event trigger', concat_ws('|', e.evtname, e.evtevent, e.evtfoid::regproc, e.evtenabled, e.evttags)
  FROM member JOIN pg_event_trigger AS e ON e.oid = objid AND classid = 'pg_event_trigger'::regclass
  UNION ALL
  SELECT 'type', concat_ws('|', t.oid::regtype, t.typlen, t.typbyval, t.typalign, t.typstorage, t.typinput, t.typoutput, t.typreceive, t.typsend, t.typacl,
    (SELECT string_agg(enumlabel, ',' ORDER BY enumsortorder) FROM pg_enum WHERE enumtypid = t.oid))
  FROM member JOIN pg_type AS t ON t.oid = objid AND classid = 'pg_type'::regclass
  UNION ALL
  SELECT 'cast', concat_ws('|', c.castsource::regtype, c.casttarget::regtype, c.castfunc::regprocedure, c.castcontext)
  FROM member JOIN pg_cast AS c ON c.oid = objid AND classid = 'pg_cast'::regclass
  UNION ALL
  SELECT 'operator', concat_ws('|', o.oid::regoperator, o.oprcode::regprocedure, o.oprcom::regoperator, o.oprnegate::regoperator, o.oprrest, o.oprjoin,
    o.oprcanhash, o.oprcanmerge)
  FROM member JOIN pg_operator AS o ON o.oid = objid AND classid = 'pg_operator'::regclass
  UNION ALL
  SELECT 'operator class', concat_ws('|', c.opcname, c.opcmethod, c.opcintype::regtype, c.opcdefault, ao.amopopr::regoperator, ao.amopstrategy,
    ap.amproc::regprocedure, ap.amprocnum)
  FROM member JOIN pg_opclass AS c ON c.oid = objid AND classid = 'pg_opclass'::regclass
  LEFT JOIN pg_amop AS ao ON ao.amopfamily = c.opcfamily LEFT JOIN pg_amproc AS ap ON ap.amprocfamily = c.opcfamily
  UNION ALL
  SELECT 'schema', concat_ws('|', n.nspname, n.nspacl)
  FROM member JOIN pg_namespace AS n ON n.oid = objid AND classid = 'pg_namespace'::regclass
  UNION ALL
  SELECT 'initial privileges', concat_ws('|', pg_describe_object(i.classoid, i.objoid, i.objsubid), i.privtype, i.initprivs)
  FROM member JOIN pg_init_privs AS i ON i.classoid = classid AND i.objoid = objid
  UNION ALL
  SELECT 'dumped', concat_ws('|', t.oid::regclass, t.condition)
  FROM pg_extension AS e, unnest(e.extconfig, e.extcondition) AS t(oid, condition) WHERE e.extname = 'kde_aqp'
  ORDER BY 1, 2;};

my $newest = $node->safe_psql('postgres', q{SELECT default_version FROM pg_available_extensions WHERE name = 'kde_aqp'});
# Versions that have an install script of their own, and from which a chain of scripts leads to the newest.
my @older = split /\n/, $node->safe_psql('postgres', qq{
  SELECT v.version FROM pg_available_extension_versions AS v
  JOIN pg_extension_update_paths('kde_aqp') AS p ON p.source = v.version AND p.target = '$newest' AND p.path IS NOT NULL
  WHERE v.name = 'kde_aqp' ORDER BY 1});
is($older[0], '0.2.0', 'there is a way from the first version');
is($node->safe_psql('postgres', qq{
     SELECT v.version FROM pg_available_extension_versions AS v WHERE v.name = 'kde_aqp' AND v.version <> '$newest'
       AND NOT EXISTS (SELECT FROM pg_extension_update_paths('kde_aqp') AS p
                       WHERE p.source = v.version AND p.target = '$newest' AND p.path IS NOT NULL)}), '',
  'and from every other');

# By the database's owner, in a schema of its own.
$node->safe_psql('postgres', 'CREATE ROLE kde_owner LOGIN');
my @owner = (extra_params => [ '-U', 'kde_owner' ]);
sub create_database {
  my ($name) = @_;
  $node->safe_psql('postgres', "CREATE DATABASE $name OWNER kde_owner");
  $node->safe_psql($name, 'CREATE SCHEMA aqp', @owner);
  return;
}
create_database('newest');
$node->safe_psql('newest', 'CREATE EXTENSION kde_aqp SCHEMA aqp', @owner);
my $expected = $node->safe_psql('newest', $objects);
cmp_ok(scalar(() = $expected =~ /^function\|/mg), '>', 70, 'the newest has its functions');
for my $version (@older) {
  (my $database = "from_$version") =~ tr/./_/;
  create_database($database);
  $node->safe_psql($database, "CREATE EXTENSION kde_aqp SCHEMA aqp VERSION '$version'", @owner);
  isnt($node->safe_psql($database, $objects), $expected, "$version is another");
  $node->safe_psql($database, 'ALTER EXTENSION kde_aqp UPDATE', @owner);
  is($node->safe_psql($database, $objects), $expected, "from $version: the upgrade makes what the newest script makes");
  is($node->safe_psql($database, q{SELECT extversion FROM pg_extension WHERE extname = 'kde_aqp'}), $newest,
    "from $version: it is the newest");
}

# A superuser's update leaves the rights with the extension's owner.
for my $version (@older) {
  (my $database = "superuser_$version") =~ tr/./_/;
  create_database($database);
  $node->safe_psql($database, "CREATE EXTENSION kde_aqp SCHEMA aqp VERSION '$version'", @owner);
  $node->safe_psql($database, 'ALTER EXTENSION kde_aqp UPDATE');
  is($node->safe_psql($database, $objects), $expected, "from $version: whoever runs the upgrade");
}

# Defaults of the database change neither where rows are nor what everybody's commands call.
for my $version ($newest, @older) {
  (my $database = "defaults_$version") =~ tr/./_/;
  create_database($database);
  $node->safe_psql($database, qq{
    CREATE ACCESS METHOD another TYPE TABLE HANDLER heap_tableam_handler;
    ALTER DATABASE $database SET default_table_access_method = another;
    ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;});
  $node->safe_psql($database, "CREATE EXTENSION kde_aqp SCHEMA aqp VERSION '$version'", @owner);
  $node->safe_psql($database, 'ALTER EXTENSION kde_aqp UPDATE', @owner);
  is($node->safe_psql($database, q{
       SELECT c.relname, a.amname FROM pg_class AS c JOIN pg_depend AS d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid
         AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' JOIN pg_am AS a ON a.oid = c.relam
       WHERE c.relkind IN ('r', 'm') ORDER BY 1}), "density|heap\nfitted|heap\npart|heap\nself_check|heap\nupkeep|heap", "$version, then the newest: heaps");
  my (undef, $answers, $errors) = $node->psql($database, q{
    CREATE TABLE aqp.mine (v integer); ALTER TABLE aqp.mine RENAME v TO w; DROP TABLE aqp.mine;
    SELECT count(*) FROM kde_aqp.dumped_densities(); SELECT count(*) FROM kde_aqp.readable_densities();
    SELECT count(*) FROM aqp.kde_progress;}, @owner);
  is($errors, '', "$version, then the newest: functions are not everybody's, and DDL passes without a warning");
  is($answers, "0\n0\n0", "$version, then the newest: dumps and views work");
}

# Rows of the first version, as its catalog had them.
create_database('rows');
$node->safe_psql('rows', 'CREATE TABLE t AS SELECT sqrt(i) AS v, i % 7 AS w FROM generate_series(1, 3000) AS i', @owner);
my $answers = q{
  SET search_path = public, aqp;
  SELECT relation, column_names, filter, method, rows, seed, fitted_at FROM kde_densities_full ORDER BY seed;
  SELECT approx_count('t.v', 10, 40), approx_count('t (v, w)', ARRAY[10, 2], ARRAY[40, 5]),
    md5(kde_density('t', ARRAY['v'], 'w > 3')::text);};
my $columns = $node->safe_psql('rows', q{
  CREATE EXTENSION kde_aqp SCHEMA aqp VERSION '0.2.0';
  SELECT string_agg(attname, ', ' ORDER BY attnum) FROM pg_attribute
  WHERE attrelid = 'kde_aqp.density'::regclass AND attnum > 0;
  DROP EXTENSION kde_aqp}, @owner);
# Values of the type cannot outlive it, but their text can.
my $saved = qq{SELECT $columns FROM kde_aqp.dumped_densities()};
$node->safe_psql('rows', q{
  SET search_path = public, aqp;
  CREATE EXTENSION kde_aqp SCHEMA aqp;
  SELECT kde_fit('t', 'v', seed => 1), kde_fit('t', ARRAY['w', 'v'], method => 'scott', seed => 2),
    kde_fit('t', 'v', filter => 'w > 3', seed => 3);}, @owner);
my $before = $node->safe_psql('rows', $answers, @owner);
my $file = $node->basedir . '/rows';
my ($code, undef, $err) = $node->psql('rows', "\\copy ($saved) TO '$file'", @owner);
is($err, '', 'rows of the first version');
(undef, undef, $err) = $node->psql('rows', qq{
  DROP EXTENSION kde_aqp;
  CREATE EXTENSION kde_aqp SCHEMA aqp VERSION '0.2.0';}, @owner);
is($err, '', 'the first version again');
# As a server of that version would have them: the trigger of this library writes the newest catalog.
$node->safe_psql('rows', qq{
  ALTER TABLE kde_aqp.density DISABLE TRIGGER USER;
  \\copy kde_aqp.density FROM '$file'
  UPDATE kde_aqp.density SET append_by = 'block';
  \\copy kde_aqp.density TO '$file'
  SELECT setval('kde_aqp.density_id', max(id)) FROM kde_aqp.density;
});
for my $call ("approx_count('t.v')", "kde_density('t', 'v')", "kde_fit('t', 'v')", "kde_drop('t', 'v')",
  "kde_drift('t', 'v')", "kde_set_refresh('t', 'v')", "kde_explain('t', ARRAY['v'], NULL::int[], NULL)",
  "kde_conditional('t', 'v', 'w', ARRAY[1])", "approx_count('t', ARRAY['v'], NULL::int[], NULL)") {
  (undef, undef, $err) = $node->psql('rows', "SET search_path = public, aqp; SELECT $call", @owner);
  like($err, qr/catalog of extension "kde_aqp" is of another version than its library.*ALTER EXTENSION kde_aqp UPDATE/s,
    "before the upgrade, $call says what to do");
}
# But nobody's DDL waits for it.
is($node->safe_psql('rows', q{
     CREATE TABLE gone AS SELECT * FROM t;
     INSERT INTO kde_aqp.density SELECT (jsonb_populate_record(d, '{"relation": "gone"}')).* FROM kde_aqp.density AS d WHERE seed = 1;
     ALTER TABLE t RENAME v TO x;
     SELECT column_names, filter FROM kde_aqp.density WHERE relation = 't'::regclass ORDER BY seed;
     ALTER TABLE t RENAME x TO v;
     DROP TABLE gone;
     ALTER TABLE kde_aqp.density ENABLE ALWAYS TRIGGER on_row;
     INSERT INTO kde_aqp.upkeep (density_id, failures, sampler) SELECT id, 3, '\\x00' FROM kde_aqp.density WHERE seed = 1;
     SELECT count(*) FROM kde_aqp.density}),
  "{x}|\n{w,x}|\n{x}|(w > 3)\n3", 'before the upgrade, densities follow their tables');
$node->safe_psql('rows', 'ALTER EXTENSION kde_aqp UPDATE', @owner);
is($node->safe_psql('rows', $answers, @owner), $before, 'densities of the first version answer after the upgrade');
is($node->safe_psql('rows', q{
     SET search_path = public, aqp;
     SET client_min_messages = warning;
     SELECT count(DISTINCT id) FROM kde_aqp.fitted;
     SELECT refresh_failures FROM kde_densities_full WHERE seed = 1;
     SELECT action FROM kde_refresh('t', force => true);
     SELECT count(*) FROM kde_densities;
     SELECT kde_drop('t.v');
     SELECT count(*) FROM kde_aqp.upkeep;}), "3\n3\nrefitted\nrefitted\nrefitted\n3\nt\n2", 'are refreshed and dropped');

# A dump of that version restores into this one: its rows, under its columns.
$node->safe_psql('rows', q{SET search_path = public, aqp; SELECT kde_drop(name, filter => filter) FROM kde_densities_full}, @owner);
(undef, undef, $err) = $node->psql('rows', "\\copy kde_aqp.density ($columns) FROM '$file'", @owner);
is($err, '', 'rows of a dump of the first version are taken in');
is($node->safe_psql('rows', $answers, @owner), $before, 'and answer');

# Filters of 0.2.0 stand as they were written: the upgrade gives them the form that they are asked in, and of
# two that were one all along one stays.
create_database('filters');
$node->safe_psql('filters', q{
  CREATE TABLE t AS SELECT i AS v, i % 7 AS w FROM generate_series(1, 3000) AS i;
  SET search_path = public, aqp;
  CREATE EXTENSION kde_aqp SCHEMA aqp;
  SELECT kde_fit('t', 'v', filter => 'w > 3 AND v < 20'), kde_fit('t', 'v', filter => 'w = 1'),
    kde_fit('t', ARRAY['v', 'w'], filter => 'v > w', sample_rows => 3000);}, @owner);
$node->safe_psql('filters', $_, @owner) for "\\copy ($saved) TO '$file'",
  q{DROP EXTENSION kde_aqp; CREATE EXTENSION kde_aqp SCHEMA aqp VERSION '0.2.0'};
# What the library of that version wrote.
$node->safe_psql('filters', qq{
  ALTER TABLE kde_aqp.density DISABLE TRIGGER on_row;
  \\copy kde_aqp.density FROM '$file'
  UPDATE kde_aqp.density SET filter = '((w > 3) AND (v < 20))' WHERE filter LIKE '%20%';
  INSERT INTO kde_aqp.density SELECT (jsonb_populate_record(d, '{"filter": "((v < 20) AND (w > 3) AND (w > 3))", "id": 1000}')).* FROM kde_aqp.density AS d
    WHERE filter LIKE '%20%';
  UPDATE kde_aqp.density SET filter = '(w < v)' WHERE filter = '(v > w)';
  ALTER TABLE kde_aqp.density ENABLE ALWAYS TRIGGER on_row;});
my $stored = q{SELECT column_names, filter FROM %s ORDER BY filter COLLATE "C"};
is($node->safe_psql('filters', sprintf $stored, 'kde_aqp.density'),
  "{v}|((v < 20) AND (w > 3) AND (w > 3))\n{v}|((w > 3) AND (v < 20))\n{v,w}|(w < v)\n{v}|(w = 1)", 'filters as they were written');
(undef, undef, $err) = $node->psql('filters', 'ALTER EXTENSION kde_aqp UPDATE', @owner);
like($err, qr/WARNING:  skipping a density of [^\n]*: there is one already/, 'the upgrade says which density goes');
is($node->safe_psql('filters', sprintf $stored, 'kde_aqp.fitted'), "{v}|((v < 20) AND (w > 3))\n{v,w}|(v > w)\n{v}|(w = 1)", 'filters in one form');
is($node->safe_psql('filters', q{
     SET search_path = public, aqp;
     SELECT (kde_info(kde_density('t', ARRAY['v'], 'w > 3 AND 20 > v'))).rows;
     SELECT round(approx_count('t (v)', lower => ARRAY[NULL::integer], upper => ARRAY[NULL::integer], filter => 'w < v'));
     SELECT count(*) FROM kde_refresh('t', force => true) WHERE action = 'refitted'}, @owner), "8\n2994\n3", 'are found and refreshed');

# ------------------------------------------------------------------------------------------ DROP
create_database('dropped');
$node->safe_psql('dropped', 'CREATE TABLE t AS SELECT sqrt(i) AS v FROM generate_series(1, 1000) AS i; ANALYZE', @owner);
my $none = catalog_rows($node, 'dropped');
$node->safe_psql('dropped', q{
  CREATE EXTENSION kde_aqp SCHEMA aqp;
  SELECT aqp.kde_fit('t', 'v', seed => 1);
  DROP EXTENSION kde_aqp;}, @owner);
is(catalog_rows($node, 'dropped'), $none, 'DROP EXTENSION leaves nothing');
# In one transaction, and rolled back.
$node->safe_psql('dropped', q{BEGIN; CREATE EXTENSION kde_aqp SCHEMA aqp; SELECT aqp.kde_fit('t', 'v'); ROLLBACK;}, @owner);
is(catalog_rows($node, 'dropped'), $none, 'nor does CREATE EXTENSION rolled back');
# What users made of it stands in the way; CASCADE takes that along, but no table.
$node->safe_psql('dropped', q{
  CREATE EXTENSION kde_aqp SCHEMA aqp;
  SELECT aqp.kde_fit('t', 'v', seed => 1);
  CREATE TABLE kept AS SELECT 1 AS i, aqp.kde_density('t', 'v') AS d;
  CREATE VIEW asks AS SELECT aqp.approx_count('t.v', 1, 2);
  CREATE FUNCTION ask() RETURNS double precision LANGUAGE sql RETURN aqp.approx_count('t.v', 1, 2);}, @owner);
(undef, undef, $err) = $node->psql('dropped', 'DROP EXTENSION kde_aqp', @owner);
like($err, qr/cannot drop extension kde_aqp because other objects depend on it\n.*column d of table kept depends on type aqp\.kde/s,
  'RESTRICT: what users made stands in the way');
like($err, qr/view asks depends on function aqp\.approx_count/, 'a view too');
is($node->safe_psql('dropped', q{SELECT aqp.approx_count('t.v'), aqp.approx_count(d) FROM kept}, @owner), '1000|1000',
  'and all of it goes on');
for my $object ('TABLE kde_aqp.density', 'MATERIALIZED VIEW kde_aqp.fitted', 'TABLE kde_aqp.upkeep', 'SCHEMA kde_aqp', 'TYPE aqp.kde', 'FUNCTION kde_aqp.on_row()',
  'TRIGGER on_row ON kde_aqp.density', 'EVENT TRIGGER kde_aqp_on_drop', 'SEQUENCE kde_aqp.density_id') {
  (undef, undef, $err) = $node->psql('dropped', "DROP $object CASCADE");
  like($err, qr/because extension kde_aqp requires it|because other objects/, "DROP $object") if $object !~ /^TRIGGER/;
}
$node->safe_psql('dropped', q{SET client_min_messages = warning; DROP EXTENSION kde_aqp CASCADE}, @owner);
is($node->safe_psql('dropped', q{
     SELECT * FROM kept; SELECT to_regclass('asks') IS NULL, to_regproc('ask') IS NULL; SELECT count(*) FROM t}),
  "1\nt|t\n1000", 'CASCADE takes columns, views and functions, and leaves tables');
$node->safe_psql('dropped', 'DROP TABLE kept', @owner);
is(catalog_rows($node, 'dropped'), $none, 'nothing is left after it');
# A session that has answered, with the density at hand, finds neither it nor the extension.
my $session = open_session($node, 'dropped', 'CREATE EXTENSION kde_aqp SCHEMA aqp');
ask($session, q{SELECT aqp.kde_fit('t', 'v', seed => 1); SELECT aqp.approx_count('t.v')});
$node->safe_psql('dropped', 'DROP EXTENSION kde_aqp');
(undef, $err) = ask($session, q{SELECT aqp.approx_count('t.v')});
like($err, qr/function aqp\.approx_count\(unknown\) does not exist/, 'a session that had a density at hand');
$node->safe_psql('dropped', q{CREATE EXTENSION kde_aqp SCHEMA aqp; INSERT INTO t SELECT 1 FROM generate_series(1, 10); SELECT aqp.kde_fit('t', 'v', seed => 2)});
is(ask($session, q{SELECT aqp.approx_count('t.v')}), '1010', 'sees the extension that came after it');
$session->quit;

$node->stop;
done_testing();
