// kde_check(): the findings as one row.
#include "pg/values/result_set.h"
#include "pg/check/findings.h"

extern "C" {
#include "access/xlog.h"
}

namespace kde_pg {

const char* severity_name(Severity severity) {
  static const char* const kNames[] = {"ok", "notice", "warning", "error"};
  return kNames[static_cast<int>(severity)];
}

void Findings::add(Severity severity, const char* problem, const char* action) {
  auto* finding = static_cast<Finding*>(palloc(sizeof(Finding)));
  *finding = {severity, problem, action};
  all_ = lappend(all_, finding);
}

List* Findings::sorted() const {
  List* out = NIL;
  for (int severity = static_cast<int>(Severity::error); severity > 0; --severity) {
    for (Finding* finding : of_list<Finding>(all_)) {
      if (static_cast<int>(finding->severity) == severity) out = lappend(out, finding);
    }
  }
  return out;
}

Severity Findings::worst() const {
  List* all = sorted();
  return all == NIL ? Severity::ok : static_cast<const Finding*>(linitial(all))->severity;
}

namespace {

// A line is one: names and errors may have more.
void append_line(StringInfo to, const char* prefix, const char* text) {
  if (to->len > 0) appendStringInfoChar(to, '\n');
  appendStringInfoString(to, prefix);
  for (; *text != '\0'; ++text)
    appendStringInfoChar(to, *text == '\n' || *text == '\r' ? ' ' : *text);
}

const char* summary_of(List* findings, int densities) {
  int counts[4] = {};
  for (const Finding* item : of_list<const Finding>(findings))
    ++counts[static_cast<int>(item->severity)];
  StringInfoData out;
  initStringInfo(&out);
  appendStringInfo(&out, "%d %s", densities, densities == 1 ? "density" : "densities");
  if (RecoveryInProgress()) appendStringInfoString(&out, " of a standby");
  const char* between = ": ";
  for (int severity = 3; severity > 0; --severity) {
    if (counts[severity] == 0) continue;
    appendStringInfo(&out, "%s%d %s%s", between, counts[severity],
                     severity_name(static_cast<Severity>(severity)),
                     counts[severity] == 1 ? "" : "s");
    between = ", ";
  }
  if (findings == NIL)
    appendStringInfoString(&out, densities > 0 ? ": all is well" : " that you may read");
  return out.data;
}

}  // namespace

}  // namespace kde_pg

KDE_EXPORT(kde_check);
Datum kde_check(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  Findings findings;
  int densities = 0;
  if (find_in_server(&findings)) {
    TimestampTz oldest_fit;
    densities = find_in_densities(GetActiveSnapshot(), &findings, &oldest_fit);
    find_in_launcher(oldest_fit, &findings);
  }
  List* sorted = findings.sorted();
  StringInfoData problems, actions;
  initStringInfo(&problems);
  initStringInfo(&actions);
  for (const Finding* f : of_list<const Finding>(sorted)) {
    append_line(&problems, psprintf("%s: ", severity_name(f->severity)), f->problem);
    // A command is none without its line breaks, which a name may have.
    append_line(&actions, strpbrk(f->action, "\r\n") == nullptr ? "" : "-- ", f->action);
  }
  const Severity worst = findings.worst();
  const bool any = sorted != NIL;
  return record_of(fcinfo, worst < Severity::warning, severity_name(worst),
                   summary_of(sorted, densities), Field(any, problems.data),
                   Field(any, actions.data));
}
