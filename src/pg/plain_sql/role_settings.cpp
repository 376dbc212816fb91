// See role_settings.h. Of several settings of a session the server takes that of the role in the
// database, then of the role, of the database, and of all roles.
#include "pg/plain_sql/role_settings.h"

#include "pg/base/options.h"

extern "C" {
#include "access/genam.h"
#include "access/table.h"
#include "catalog/pg_db_role_setting.h"
#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
}

namespace kde_pg {

namespace {

constexpr char kLibrary[] = "kde_aqp";

// What follows "name=", or `before`.
const char* value_of(const char* entry, const char* name, const char* before) {
  const size_t length = strlen(name);
  return strncmp(entry, name, length) == 0 && entry[length] == '=' ? pstrdup(entry + length + 1)
                                                                   : before;
}

RoleSetting* read_setting(HeapTuple tuple, TupleDesc desc) {
  const auto* form = reinterpret_cast<Form_pg_db_role_setting>(GETSTRUCT(tuple));
  bool is_null;
  const Datum config = heap_getattr(tuple, Anum_pg_db_role_setting_setconfig, desc, &is_null);
  if (is_null || (OidIsValid(form->setdatabase) && form->setdatabase != MyDatabaseId))
    return nullptr;
  auto* out = static_cast<RoleSetting*>(palloc0(sizeof(RoleSetting)));
  out->database = form->setdatabase;
  out->role = form->setrole;
  Datum* entries;
  int n;
  deconstruct_array(DatumGetArrayTypeP(config), TEXTOID, -1, false, TYPALIGN_INT, &entries, nullptr,
                    &n);
  for (int i = 0; i < n; ++i) {
    const char* entry = TextDatumGetCString(entries[i]);
    out->approximate = value_of(entry, "kde_aqp.approximate", out->approximate);
    out->libraries = value_of(entry, "session_preload_libraries", out->libraries);
  }
  return out->approximate != nullptr || out->libraries != nullptr ? out : nullptr;
}

bool names_library(const char* list) {
  return list != nullptr && strstr(list, kLibrary) != nullptr;
}

// Of the server, and of whatever is set for this session.
bool is_loaded_by(const char* option) {
  return names_library(GetConfigOption(option, true, false));
}

}  // namespace

List* role_settings() {
  List* out = NIL;
  Relation table = table_open(DbRoleSettingRelationId, AccessShareLock);
  SysScanDesc scan = systable_beginscan(table, InvalidOid, false, nullptr, 0, nullptr);
  for (HeapTuple tuple; HeapTupleIsValid(tuple = systable_getnext(scan));) {
    RoleSetting* setting = read_setting(tuple, RelationGetDescr(table));
    if (setting != nullptr) out = lappend(out, setting);
  }
  systable_endscan(scan);
  table_close(table, AccessShareLock);
  return out;
}

bool asks_for_plain_sql(const RoleSetting& setting) {
  return setting.approximate != nullptr && pg_strcasecmp(setting.approximate, "off") != 0;
}

bool loads_library(const List* settings, const RoleSetting& of) {
  if (is_loaded_by("shared_preload_libraries")) return true;
  const RoleSetting* nearest = nullptr;
  const auto nearness = [](const RoleSetting& s) {
    return (OidIsValid(s.role) ? 2 : 0) + (OidIsValid(s.database) ? 1 : 0);
  };
  for (const RoleSetting* s : of_list<const RoleSetting>(settings)) {
    const bool applies = s->libraries != nullptr && (!OidIsValid(s->role) || s->role == of.role);
    if (applies && (nearest == nullptr || nearness(*s) > nearness(*nearest))) nearest = s;
  }
  return nearest != nullptr ? names_library(nearest->libraries)
                            : is_loaded_by("session_preload_libraries");
}

const char* sessions_of(const RoleSetting& setting) {
  const bool one = OidIsValid(setting.database);
  if (!OidIsValid(setting.role)) return one ? "this database" : "all roles";
  const char* role = GetUserNameFromId(setting.role, true);
  return psprintf("role %s%s", role != nullptr ? quote_identifier(role) : "?",
                  one ? " in this database" : "");
}

const char* command_of(const RoleSetting& setting) {
  const char* database =
      OidIsValid(setting.database) ? quote_identifier(get_database_name(MyDatabaseId)) : nullptr;
  if (!OidIsValid(setting.role))
    return database != nullptr ? psprintf("ALTER DATABASE %s", database) : "ALTER ROLE ALL";
  const char* role = GetUserNameFromId(setting.role, true);
  return psprintf("ALTER ROLE %s%s%s", role != nullptr ? quote_identifier(role) : "?",
                  database != nullptr ? " IN DATABASE " : "", database != nullptr ? database : "");
}

void tell_who_asks() {
  static bool told = false;
  if (told || chosen_approximate() != Approximate::off) return;
  told = true;
  constexpr int kMost = 5;
  StringInfoData who;
  initStringInfo(&who);
  int n = 0;
  List* settings = role_settings();
  for (const RoleSetting* s : of_list<const RoleSetting>(settings)) {
    if (!asks_for_plain_sql(*s) || n++ >= kMost) continue;
    appendStringInfo(&who, "%s%s", n > 1 ? ", " : "", sessions_of(*s));
  }
  if (n > kMost) appendStringInfo(&who, " and %d more", n - kMost);
  ereport(NOTICE,
          (errmsg("densities answer plain SQL where kde_aqp.approximate is set, and it is off in "
                  "this session"),
           n > 0 ? errdetail("It is set for %s.", who.data)
                 : errdetail("Neither a role nor the database has it set."),
           errhint("SELECT kde_approximate() sets it for a session; for a role ALTER ROLE does, "
                   "with session_preload_libraries = 'kde_aqp'.")));
}

}  // namespace kde_pg
