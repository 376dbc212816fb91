// Which sessions ask for plain SQL by kde_aqp.approximate, as ALTER ROLE and ALTER DATABASE have set
// it, and whether they load the library that knows the option.
#pragma once

#include "pg/base/pg.h"

namespace kde_pg {

// A row of pg_db_role_setting for this database: of all databases, or all roles, where that is
// InvalidOid.
struct RoleSetting {
  Oid database, role;
  const char* approximate;  // null: not set
  const char* libraries;    // session_preload_libraries; null: not set
};

// All of them that set either, RoleSetting*, palloc'ed.
List* role_settings();
// Whether it lets densities answer.
bool asks_for_plain_sql(const RoleSetting& setting);
// Whether the sessions that it is of load the library before their first statement.
bool loads_library(const List* settings, const RoleSetting& setting);

// "role x", "this database", "role x in this database" or "all roles".
const char* sessions_of(const RoleSetting& setting);
// "ALTER ROLE x", "ALTER DATABASE d" ..., to be followed by SET.
const char* command_of(const RoleSetting& setting);

// To who allows plain SQL in a session that does not ask for it: who does, and what to set. Once in
// a session.
void tell_who_asks();

}  // namespace kde_pg
