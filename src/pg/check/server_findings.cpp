// What is wrong with the server, or with the extension as a whole.
#include "pg/check/findings.h"

#include "pg/base/options.h"
#include "pg/catalog/catalog.h"
#include "pg/catalog/privileges.h"
#include "pg/device/device_state.h"
#include "pg/plain_sql/outcome.h"
#include "pg/plain_sql/role_settings.h"
#include "pg/refresh/refresh_shared.h"

extern "C" {
#include "access/genam.h"
#include "access/xlog.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_event_trigger.h"
#include "catalog/pg_extension.h"
#include "commands/event_trigger.h"
#include "commands/trigger.h"
#include "commands/extension.h"
#include "pgstat.h"
#include "utils/acl.h"
}

#include <unistd.h>

namespace kde_pg {

namespace {

// A worker comes to a database every kde_aqp.naptime; after so many it is missed.
constexpr int kMissedVisits = 10;
// Densities are said to answer nothing after so many refusals, if they are so many for an answer.
constexpr long long kManyRefused = 20, kRefusedEach = 10;

// Of the extension in this database, as CREATE or ALTER EXTENSION left it; null: none.
const char* installed_version() {
  Relation table = table_open(ExtensionRelationId, AccessShareLock);
  ScanKeyData key;
  ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber, F_NAMEEQ,
              CStringGetDatum("kde_aqp"));
  SysScanDesc scan = systable_beginscan(table, ExtensionNameIndexId, true, nullptr, 1, &key);
  HeapTuple tuple = systable_getnext(scan);
  const char* version = nullptr;
  if (HeapTupleIsValid(tuple)) {
    bool is_null;
    const Datum value =
        heap_getattr(tuple, Anum_pg_extension_extversion, RelationGetDescr(table), &is_null);
    if (!is_null) version = TextDatumGetCString(value);
  }
  systable_endscan(scan);
  table_close(table, AccessShareLock);
  return version;
}

struct Trigger {
  const char* name;
  const char* command;  // that makes it
};

constexpr Trigger kTriggers[] = {
    {"kde_aqp_on_drop", "CREATE EVENT TRIGGER kde_aqp_on_drop ON sql_drop"},
    {"kde_aqp_on_alter",
     "CREATE EVENT TRIGGER kde_aqp_on_alter ON ddl_command_end WHEN TAG IN ('ALTER TABLE', "
     "'ALTER MATERIALIZED VIEW', 'ALTER FOREIGN TABLE', 'ALTER TYPE')"}};

void find_in_triggers(Findings* findings) {
  for (const Trigger& trigger : kTriggers) {
    HeapTuple tuple = SearchSysCache1(EVENTTRIGGERNAME, CStringGetDatum(trigger.name));
    const char* enable = psprintf("ALTER EVENT TRIGGER %s ENABLE ALWAYS;", trigger.name);
    if (!HeapTupleIsValid(tuple)) {
      findings->add(
          Severity::warning,
          psprintf("event trigger %s is missing: densities do not follow DDL", trigger.name),
          psprintf("%s EXECUTE FUNCTION kde_aqp.on_ddl(); %s ALTER EXTENSION kde_aqp ADD EVENT "
                   "TRIGGER %s;",
                   trigger.command, enable, trigger.name));
      continue;
    }
    const char enabled = reinterpret_cast<Form_pg_event_trigger>(GETSTRUCT(tuple))->evtenabled;
    ReleaseSysCache(tuple);
    if (enabled != TRIGGER_DISABLED && enabled != TRIGGER_FIRES_ON_REPLICA) continue;
    findings->add(
        Severity::warning,
        psprintf("event trigger %s is disabled: densities do not follow DDL", trigger.name),
        enable);
  }
}

// To who may know of everybody's.
void find_unusable(Findings* findings) {
  const UnusableDensities unusable = catalog_unusable(GetActiveSnapshot());
  if (unusable.gone > 0 && has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS))
    findings->add(Severity::notice,
                  psprintf("%d %s", unusable.gone,
                           unusable.gone == 1 ? "density is of a table that is gone"
                                              : "densities are of tables that are gone"),
                  "CALL kde_refresh_all();");
  for (const Oid relation : oids(unusable.renamed)) {
    const char* table = get_rel_name(relation);
    if (table == nullptr || !is_owner(relation)) continue;
    const char* name =
        quote_qualified_identifier(get_namespace_name(get_rel_namespace(relation)), table);
    HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
    if (!HeapTupleIsValid(tuple)) continue;
    const Oid owner = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple))->relowner;
    ReleaseSysCache(tuple);
    // To the owner that it has: a command that changes nothing, and that densities follow.
    findings->add(
        Severity::warning,
        psprintf("densities of %s could not follow its columns' new names, and are not used", name),
        psprintf("ALTER TABLE %s OWNER TO %s;", name,
                 quote_identifier(GetUserNameFromId(owner, false))));
  }
}

void find_in_device(Findings* findings) {
  if (chosen_device_mode() == DeviceMode::cpu || !read_launcher_state().preloaded) return;
  char path[MAXPGPATH];
  device_program_path(path);
  if (access(path, X_OK) != 0) return;
  const ServiceState state = read_service_state();
  if (state.running && state.promising) return;
  findings->add(
      Severity::notice,
      psprintf("the device service does not serve: %s", state.running ? state.text : "not running"),
      "ALTER SYSTEM SET kde_aqp.device = 'cpu'; SELECT pg_reload_conf(); -- or see the server's "
      "log, and kde_devices()");
}

// Plain SQL that densities are allowed to answer, and hardly ever do.
void find_in_plain_sql(Findings* findings) {
  const PlainCounts n = count_plain_answers();
  if (n.refused < kManyRefused || n.answered * kRefusedEach > n.refused) return;
  findings->add(Severity::notice,
                psprintf("densities answered %lld of %lld statements of plain SQL that asked them, "
                         "most of the others not as: %s",
                         n.answered, n.answered + n.refused, describe(n.mostly)),
                n.mostly == PlainOutcome::stale
                    ? "CALL kde_refresh_all();"
                    : "SELECT * FROM kde_plain_sql; -- EXPLAIN of such a statement says why");
}

// Options of an extension that is not loaded do nothing, in silence.
void find_in_settings(Findings* findings) {
  List* settings = role_settings();
  for (const RoleSetting* s : of_list<const RoleSetting>(settings)) {
    if (!asks_for_plain_sql(*s) || loads_library(settings, *s)) continue;
    findings->add(Severity::notice,
                  psprintf("kde_aqp.approximate is set for %s, whose sessions do not load the "
                           "library: plain SQL is not answered by densities",
                           sessions_of(*s)),
                  psprintf("%s SET session_preload_libraries = 'kde_aqp';", command_of(*s)));
  }
}

}  // namespace

bool find_in_server(Findings* findings) {
  const char* version = installed_version();
  if (version == nullptr || strcmp(version, KDE_AQP_VERSION) != 0) {
    findings->add(Severity::error,
                  psprintf("the extension is of version %s, its library of %s",
                           version == nullptr ? "none" : version, KDE_AQP_VERSION),
                  "ALTER EXTENSION kde_aqp UPDATE;");
    return false;
  }
  find_in_triggers(findings);
  find_in_plain_sql(findings);
  find_in_settings(findings);
  if (RecoveryInProgress()) return true;
  if (!pgstat_track_counts)
    findings->add(Severity::warning, "track_counts is off: no density becomes stale by changes",
                  "ALTER SYSTEM SET track_counts = on; SELECT pg_reload_conf();");
  find_unusable(findings);
  find_in_device(findings);
  return true;
}

bool has_background_refreshes() {
  return option_max_workers > 0 && read_launcher_state().since != 0;
}

void find_in_launcher(TimestampTz oldest_fit, Findings* findings) {
  if (TIMESTAMP_IS_NOEND(oldest_fit) || RecoveryInProgress()) return;
  const LauncherState state = read_launcher_state();
  if (!state.preloaded) {
    // Which those are is no more told than SHOW tells it.
    const bool told = has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_SETTINGS);
    const char* others = told ? GetConfigOption("shared_preload_libraries", true, false) : "...";
    const bool some = others != nullptr && *others != '\0';
    findings->add(
        Severity::notice,
        "no background worker refreshes densities, as shared_preload_libraries does not name "
        "kde_aqp",
        psprintf("ALTER SYSTEM SET shared_preload_libraries = %s%skde_aqp; -- then restart the "
                 "server; or call kde_refresh_all() by pg_cron",
                 some ? others : "", some ? ", " : ""));
  } else if (option_max_workers == 0) {
    findings->add(Severity::notice,
                  "no background worker refreshes densities, as kde_aqp.max_workers is 0",
                  "ALTER SYSTEM SET kde_aqp.max_workers = 1; SELECT pg_reload_conf();");
  } else if (state.since == 0) {
    findings->add(Severity::warning, "the refresh launcher does not run",
                  "-- the postmaster starts it anew within seconds: see the server's log if not");
  } else if (!state.visiting) {
    // A database without densities is visited ever more rarely.
    const TimestampTz at = Max(Max(state.visited_at, state.since), oldest_fit);
    const double ago = static_cast<double>(GetCurrentTimestamp() - at) / USECS_PER_SEC;
    if (ago <= kMissedVisits * static_cast<double>(option_naptime)) return;
    findings->add(
        Severity::warning,
        psprintf("no background worker has come to this database for %.0f s", ago),
        psprintf("ALTER SYSTEM SET max_worker_processes = %d; -- then restart the server; see its "
                 "log",
                 max_worker_processes + 8));
  }
}

}  // namespace kde_pg
