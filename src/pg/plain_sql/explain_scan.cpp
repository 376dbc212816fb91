// What EXPLAIN says of the plan's node: as text a line for each density and each answer, else an object
// for each. Names are told to who may read what they are of.
#include "pg/plain_sql/scan_state.h"

#include "pg/base/options.h"
#include "pg/catalog/density_key.h"
#include "pg/catalog/privileges.h"
#include "pg/catalog/stale_answers.h"

extern "C" {
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#endif
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/ruleutils.h"
}

#include <cmath>

namespace kde_pg {

namespace {

// Who asks through a view may not know what lies beneath it.
const char* name_of(const ScanPart& part, char* name(const DensityKey&)) {
  const DensityKey& key = part.plan->key;
  return is_readable(key) ? name(key) : "columns that the current user may not read";
}

}  // namespace

const ScanPart* unanswered_part(const ScanState* s) {
  for (const ScanPart* part : of_list<const ScanPart>(s->parts))
    if (part->asked && part->answers.outcome != PlainOutcome::answered) return part;
  return nullptr;
}

const char* density_names(const ScanState* s) {
  StringInfoData out;
  initStringInfo(&out);
  for (const ScanPart* part : of_list<const ScanPart>(s->parts)) {
    if (out.len > 0) appendStringInfoString(&out, "; ");
    appendStringInfoString(&out, name_of(*part, density_name));
  }
  return out.data;
}

const char* promise_of(const PlainAnswers& a) {
  const char* within = a.error > 0 ? psprintf("within %s %%", percent_up(a.error)) : "exact";
  if (a.blocks_read > 0)
    return psprintf("%s, with %.0f block%s read for what changed since its fit", within,
                    a.blocks_read, a.blocks_read == 1 ? "" : "s");
  const char* since = time_of(a.as_of);
  if (a.as_of_then && std::isinf(a.changed_rows))
    return psprintf("%s as of %s; what changed since is not known", within, since);
  if (a.as_of_then)
    return psprintf("%s as of %s; at most %.0f rows changed since", within, since, a.changed_rows);
  if (a.changed_rows > 0)
    return psprintf("%s, with at most %.0f rows changed since %s", within, a.changed_rows, since);
  return within;
}

namespace {

const char* sign_of(int strategy) {
  static const char* const kSigns[] = {"IS NOT NULL", "<", "<=", "=", ">=", ">"};
  return kSigns[strategy];
}

// Why the exact plan ran; of several densities the one is named that did not answer.
const char* reason_of(const ScanState* s) {
  const char* detail = s->answers.detail;
  const char* why = detail != nullptr ? detail : describe(s->answers.outcome);
  const ScanPart* part = list_length(s->parts) > 1 ? unanswered_part(s) : nullptr;
  return part != nullptr ? psprintf("%s: %s", name_of(*part, display_name), why) : why;
}

// Whether rows are counted that changed, as they are not read.
bool counts_changes(const PlainAnswers& a) {
  return !(a.blocks_read > 0) && (a.as_of_then || a.changed_rows > 0);
}

// What one density answered, as text: how far off, how fresh, and of what.
const char* answer_text(const ScanState* s, const ScanPart& part) {
  const PlainAnswers& a = part.answers;
  const bool several = list_length(s->parts) > 1;
  const bool proven = !(a.blocks_read > 0) && !counts_changes(a);
  return psprintf("by the density%s%s, %s%s; %.0f cell%s", several ? " of " : "",
                  several ? name_of(part, display_name) : "", promise_of(a),
                  proven ? ", proven" : "", a.cells, a.cells == 1 ? "" : "s");
}

void explain_answer(const PlainAnswers& a, ExplainState* es) {
  // Rounded up, as it is a bound.
  ExplainPropertyFloat("Within", "%", std::ceil(100 * a.error * 1e4) / 1e4, 4, es);
  const bool counts = counts_changes(a);
  ExplainPropertyText("Freshness", a.as_of_then ? "as of" : counts ? "rows changed" : "proven", es);
  if (counts) ExplainPropertyText("As Of", time_of(a.as_of), es);
  if (counts && !std::isinf(a.changed_rows))
    ExplainPropertyFloat("Rows Changed", nullptr, a.changed_rows, 0, es);
  ExplainPropertyFloat("Cells", nullptr, a.cells, 0, es);
  ExplainPropertyFloat("Blocks Read", nullptr, a.blocks_read, 0, es);
}

// Densities of the table that were not asked, the nearest first, with the reason of each.
void explain_others(const ScanState* s, ExplainState* es) {
  constexpr int kMostShown = 8;
  const List* others = read_others(castNode(CustomScan, s->css.ss.ps.plan), GetUserId());
  ListCell* cell;
  foreach (cell, others) {
    const int more = list_length(others) - foreach_current_index(cell);
    const bool is_rest = foreach_current_index(cell) == kMostShown;
    const auto* other = static_cast<const List*>(lfirst(cell));
    const char* name = is_rest ? psprintf("%d more", more) : strVal(linitial(other));
    const char* why = is_rest ? "kde_explain_query() lists them" : strVal(lsecond(other));
    ExplainOpenGroup("Density", nullptr, true, es);
    if (es->format == EXPLAIN_FORMAT_TEXT) name = psprintf("%s (%s)", name, why);
    ExplainPropertyText("Density", name, es);
    if (es->format != EXPLAIN_FORMAT_TEXT) ExplainPropertyText("Reason", why, es);
    ExplainCloseGroup("Density", nullptr, true, es);
    if (is_rest) break;
  }
}

// As text a line for each density, and for what it answered; else an object for each.
void explain_densities(const ScanState* s, bool ran, ExplainState* es) {
  const bool is_text = es->format == EXPLAIN_FORMAT_TEXT;
  ExplainOpenGroup("Densities", "Densities", false, es);
  for (const ScanPart* part : of_list<const ScanPart>(s->parts)) {
    ExplainOpenGroup("Density", nullptr, true, es);
    ExplainPropertyText("Density", name_of(*part, display_name), es);
    if (!is_text && ran && is_answered(s)) explain_answer(part->answers, es);
    ExplainCloseGroup("Density", nullptr, true, es);
  }
  if (ran && !is_answered(s)) explain_others(s, es);
  ExplainCloseGroup("Densities", "Densities", false, es);
}

void explain_who_answered(const ScanState* s, ExplainState* es) {
  const bool is_text = es->format == EXPLAIN_FORMAT_TEXT;
  if (is_answered(s) && is_text) {
    for (const ScanPart* part : of_list<const ScanPart>(s->parts))
      ExplainPropertyText("Answered", answer_text(s, *part), es);
  } else if (is_text) {
    ExplainPropertyText("Answered", psprintf("by the exact plan: %s", reason_of(s)), es);
  } else if (is_answered(s)) {
    ExplainPropertyText("Answered", "by densities", es);
  } else {
    ExplainPropertyText("Answered", "by the exact plan", es);
    ExplainPropertyText("Reason", reason_of(s), es);
  }
}

}  // namespace

void explain_scan(CustomScanState* css, List* ancestors, ExplainState* es) {
  ScanState* s = state_of(css);
  const bool ran = s->decided && es->analyze;
  List* context = set_deparse_context_plan(es->deparse_cxt, css->ss.ps.plan, ancestors);
  explain_densities(s, ran, es);
  // Of several densities the conditions are the same.
  const PlainPlan& plan = plan_in(list_head(s->parts));
  StringInfoData range;
  initStringInfo(&range);
  for (int i = 0, v = 0; i < plan.bounds; ++i) {
    const PlainBound& b = plan.bound[i];
    const KeyColumn& column = plan.key.column[b.column];
    appendStringInfo(&range, "%s%s %s", i > 0 ? " AND " : "",
                     column.attnum != 0 ? quote_identifier(column.text) : column.text,
                     sign_of(b.strategy));
    if (b.strategy == 0) continue;
    const char* value =
        deparse_expression(static_cast<Node*>(list_nth(plan.values, v++)), context, false, false);
    appendStringInfo(&range, b.any ? " ANY (%s)" : " %s", value);
  }
  if (plan.null_of >= 0) {
    const KeyColumn& column = plan.key.column[plan.null_of];
    appendStringInfo(&range, "%s%s IS %s", range.len > 0 ? " AND " : "",
                     column.attnum != 0 ? quote_identifier(column.text) : column.text,
                     plan.is_null ? "NULL" : "NOT NULL");
  }
  if (range.len > 0) ExplainPropertyText("Range", range.data, es);
  List* dimensions = NIL;
  for (int i = 0; i < plan.dimensions; ++i)
    dimensions = lappend(dimensions, const_cast<char*>(plan.dimension[i].name));
  if (dimensions != NIL) ExplainPropertyList("Dimensions", dimensions, es);
  List* of_groups = NIL;
  List* of_column = NIL;
  for (Expr* one : of_list<Expr>(plan.conditions)) {
    List** to = plan.is_of_parts(one) ? &of_column : &of_groups;
    *to = lappend(*to, one);
  }
  const auto show = [&](const char* label, List* conditions) {
    if (conditions == NIL) return;
    auto* all = reinterpret_cast<Node*>(make_ands_explicit(conditions));
    ExplainPropertyText(label, deparse_expression(all, context, range_table_size(es) > 1, false),
                        es);
  };
  show("Groups", of_groups);
  show("Parts", of_column);
  ExplainPropertyText("Required",
                      psprintf("%g %% at %g %%", 100 * option_approximate_error,
                               100 * option_approximate_confidence),
                      es);
  if (ran) explain_who_answered(s, es);
}

}  // namespace kde_pg
