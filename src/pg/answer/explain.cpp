// kde_explain: the densities of a table, which of them answers a question about columns, and why.
#include "pg/values/result_set.h"
#include "pg/catalog/catalog.h"
#include "pg/answer/call.h"
#include "pg/answer/moments.h"
#include "pg/answer/ranges.h"
#include "pg/answer/asked_words.h"
#include "pg/catalog/privileges.h"
#include "pg/type/anykde.h"

#include <cmath>

namespace kde_pg {

namespace {

enum Argument { kDensity, kLower, kUpper, kByNameOnly, kMeasure, kFilter };
constexpr int kResults = 10;

const char* plural(int n) { return n == 1 ? "" : "s"; }

// Why a density does not answer.
bool answers(const Candidate& c) { return c.covers() && !c.outdated; }

const char* obstacle(const Question& q, const Candidate& c) {
  if (c.covers()) return "was fitted before its definition changed, or under other settings";
  if (!c.same_filter)
    return c.key->has_filter() ? psprintf("is of the rows where %s", c.key->filter)
                               : "is of all rows";
  return psprintf("lacks %s", q.asked.column[c.lacking].text);
}

const char* merit(const Question& q, const Candidate& c, bool only) {
  const int beyond = c.beyond(q);
  const char* columns =
      beyond < 0    ? "of the bounded column, with the measure beside it"
      : beyond == 0 ? "of exactly the columns asked about"
                    : psprintf("of %d column%s beyond those asked about", beyond, plural(beyond));
  return only ? psprintf("the only one that covers the question; %s", columns) : columns;
}

// By what densities of as many columns are told apart. (A look-up of another may evict a density.)
struct Merits {
  bool automatic;
  double points;
};

// Why an earlier density was preferred to this one, which covers the question too.
const char* defect(const Question& q, const Candidate& best, const Merits& chosen,
                   const Candidate& c, const Merits& merits) {
  const int more = c.beyond(q) - best.beyond(q);
  if (more > 0) return psprintf("has %d more column%s", more, plural(more));
  if (chosen.automatic != merits.automatic) return "is not of method auto";
  if (chosen.points != merits.points) return "has fewer points";
  return "was fitted earlier";
}

// Whoever may not read a column learns nothing of densities that use it, but of those that answer
// questions about others.
bool may_be_shown(const Candidate& c) {
  if (c.covers()) return true;
  for (int i = 0; i < c.key->all(); ++i) {
    const AttrNumber attnum = c.key->column[i].attnum;
    if (attnum != 0 && !is_readable(TableColumn{c.key->relation, attnum})) return false;
  }
  for (int i = 0; i < c.key->references; ++i) {
    if (!is_readable(TableColumn{c.key->relation, c.key->reference[i]})) return false;
  }
  return true;
}

class Explanation {
 public:
  Explanation(const ResultRows& rows, Aggregate aggregate, const Question& question,
              const kde::Range* ranges, FunctionCallInfo fcinfo)
      : rows_(rows), aggregate_(aggregate), q_(question), ranges_(ranges), fcinfo_(fcinfo) {}

  void put(List* candidates) {
    int covering = 0;
    for (const Candidate* c : of_list<const Candidate>(candidates)) covering += answers(*c) ? 1 : 0;
    const Candidate* best = nullptr;
    Merits chosen = {};
    for (const Candidate* c : of_list<const Candidate>(candidates)) {
      if (!may_be_shown(*c)) continue;
      if (!answers(*c)) {
        put_row(*c, nullptr, false, obstacle(q_, *c));
        continue;
      }
      const AnsweringDensity target = open_candidate(q_, *c);
      const Merits merits = {target.is_automatic(), target.points()};
      if (best == nullptr) {
        put_row(*c, &target, true, merit(q_, *c, covering == 1));
        best = c;
        chosen = merits;
      } else {
        put_row(*c, &target, false, defect(q_, *best, chosen, *c, merits));
      }
    }
  }

 private:
  kde::Interval answer(const AnsweringDensity& target) const {
    kde::IntervalOptions options;
    options.changed_rows = rows_changed_since(target.fit);
    if (!names_category(q_)) return interval_of(aggregate_, q_, target, ranges_, options);
    // Each density has ranks of its own.
    AnsweringDensity asked = target;
    kde::Range ranges[kde::kMaxColumns];
    AskedWords* words;
    const double none = std::nan("");
    if (!read_asked(fcinfo_, kLower, q_, &asked, ranges, &words)) return {none, none, none};
    return interval_of(aggregate_, q_, asked, ranges, options);
  }

  void put_row(const Candidate& c, const AnsweringDensity* target, bool is_chosen,
               const char* reason) {
    CHECK_FOR_INTERRUPTS();
    const bool opened = target != nullptr;
    const double none = std::nan("");
    const kde::Interval interval = opened ? answer(*target) : kde::Interval{none, none, none};
    rows_.put(++rank_, PointerGetDatum(column_names_of(*c.key)),
              c.key->has_filter() ? c.key->filter : nullptr, opened ? target->method() : nullptr,
              Field(opened, static_cast<int64>(opened ? target->points() : 0)), is_chosen, reason,
              interval.estimate, interval.lower, interval.upper);
  }

  const ResultRows& rows_;
  Aggregate aggregate_;
  const Question& q_;
  const kde::Range* ranges_;
  FunctionCallInfo fcinfo_;
  int rank_ = 0;
};

// A value has no table: it answers by itself, or not at all.
void explain_value(FunctionCallInfo fcinfo, const ResultRows& rows) {
  Call call;
  (void)read_density(fcinfo, kMeasure, kFilter, Needs::values, &call);
  kde::Range ranges[kde::kMaxColumns];
  AskedWords* words;
  if (!read_asked(fcinfo, kLower, call.question, &call.density, ranges, &words)) return;
  const Aggregate aggregate = PG_ARGISNULL(kMeasure) ? Aggregate::count : Aggregate::avg;
  if (aggregate == Aggregate::avg)
    refuse_category(call.question.type[call.question.measure], "mean");
  const kde::Interval interval =
      interval_of(aggregate, call.question, call.density, ranges, interval_options(call));
  const Field none(false, 0);
  rows.put(1, none, none, call.density.method(), static_cast<int64>(call.density.points()), true,
           "is the value itself", interval.estimate, interval.lower, interval.upper);
}

}  // namespace

}  // namespace kde_pg

// kde_explain(density, lower, upper, by_name_only, measure, filter). Errors: those of the answers,
// but for that no density covers the question.
KDE_EXPORT(kde_explain_by_name);
Datum kde_explain_by_name(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  const ResultRows rows = begin_rows(fcinfo, kResults);
  if (PG_ARGISNULL(kDensity)) PG_RETURN_NULL();
  check_by_name_only(fcinfo, kByNameOnly);
  text* name = name_in(PG_GETARG_DATUM(kDensity));
  if (name == nullptr) {
    explain_value(fcinfo, rows);
    PG_RETURN_NULL();
  }
  const bool of_measure = !PG_ARGISNULL(kMeasure);
  const Question question = question_by_name(
      name, of_measure ? PG_GETARG_TEXT_PP(kMeasure) : nullptr,
      PG_ARGISNULL(kFilter) ? nullptr : PG_GETARG_TEXT_PP(kFilter), Measured::values);
  kde::Range ranges[kde::kMaxColumns];
  if (!names_category(question) && !read_ranges(fcinfo, kLower, question, ranges)) PG_RETURN_NULL();
  const Aggregate aggregate = of_measure ? Aggregate::avg : Aggregate::count;
  if (of_measure) refuse_category(question.type[question.measure], "mean");
  Explanation(rows, aggregate, question, ranges, fcinfo).put(list_candidates(question));
  PG_RETURN_NULL();
}
