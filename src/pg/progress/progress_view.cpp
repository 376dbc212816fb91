// kde_aqp.progress(): the rows behind the view kde_progress, one for each backend that works on a
// density, seen by its user and the members of pg_read_all_stats, as rows of pg_stat_activity are.
#include "pg/values/result_set.h"
#include "pg/progress/progress.h"

extern "C" {
#include "catalog/pg_authid.h"
#include "commands/dbcommands.h"
#include "utils/acl.h"
}

namespace kde_pg {

namespace {

constexpr int kColumns = 11;

// Names are known of this database alone; an array has none.
ArrayType* column_names(const ProgressReport& report) {
  Datum names[kde::kMaxColumns];
  for (int k = 0; k < report.columns; ++k) {
    const AttrNumber attnum = report.attnum[k];
    const char* name = attnum == 0 ? "expression" : get_attname(report.relation, attnum, true);
    names[k] = CStringGetTextDatum(name != nullptr ? name : "?");
  }
  return construct_array(names, report.columns, TEXTOID, -1, false, TYPALIGN_INT);
}

void put_row(const ProgressReport& report, const ResultRows& rows) {
  const bool here = report.database == MyDatabaseId && OidIsValid(report.relation);
  const bool counted = report.unit != Unit::none;
  const char* name = get_database_name(report.database);
  const Datum database =
      name != nullptr ? DirectFunctionCall1(namein, CStringGetDatum(name)) : Datum{0};
  rows.put(report.pid, Field(name != nullptr, database), Field(here, report.relation),
           Field(here, here ? PointerGetDatum(column_names(report)) : 0),
           operation_name(report.operation), phase_name(report.phase), unit_name(report.unit),
           Field(counted, Int64GetDatum(report.done)),
           Field(counted && report.total != 0, Int64GetDatum(report.total)),
           TimestampTzGetDatum(report.started_at),
           !report.sums       ? nullptr
           : report.on_device ? "cuda"
                              : "cpu");
}

}  // namespace

}  // namespace kde_pg

KDE_EXPORT(kde_progress);
Datum kde_progress(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  const ResultRows rows = begin_rows(fcinfo, kColumns);
  const bool sees_all = has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);
  for (int i = 0; i < kProgressSlots; ++i) {
    ProgressReport report;
    if (!read_progress(i, &report)) continue;
    if (sees_all || has_privs_of_role(GetUserId(), report.user)) put_row(report, rows);
  }
  PG_RETURN_NULL();
}
