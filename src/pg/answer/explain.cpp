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
  Explanation(Tuplestorestate* rows, TupleDesc desc, Aggregate aggregate, const Question& question,
              const kde::Range* ranges, FunctionCallInfo fcinfo)
      : rows_(rows),
        desc_(desc),
        aggregate_(aggregate),
        q_(question),
        ranges_(ranges),
        fcinfo_(fcinfo) {}

  void put(List* candidates) {
    int covering = 0;
    ListCell* cell;
    foreach (cell, candidates) covering += answers(*candidate(cell)) ? 1 : 0;
    const Candidate* best = nullptr;
    Merits chosen = {};
    foreach (cell, candidates) {
      const Candidate* c = candidate(cell);
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
  static const Candidate* candidate(ListCell* cell) {
    return static_cast<const Candidate*>(lfirst(cell));
  }

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
    Datum values[kResults] = {};
    bool nulls[kResults] = {};
    int at = 0;
    const auto put = [&](Datum value, bool is_null = false) {
      nulls[at] = is_null;
      values[at++] = value;
    };
    put(Int32GetDatum(++rank_));
    put(PointerGetDatum(column_names_of(*c.key)));
    put(CStringGetTextDatum(c.key->filter), !c.key->has_filter());
    put(CStringGetTextDatum(target != nullptr ? target->method() : ""), target == nullptr);
    put(Int64GetDatum(target != nullptr ? static_cast<int64>(target->points()) : 0),
        target == nullptr);
    put(BoolGetDatum(is_chosen));
    put(CStringGetTextDatum(reason));
    const double none = std::nan("");
    const kde::Interval interval =
        target != nullptr ? answer(*target) : kde::Interval{none, none, none};
    for (double x : {interval.estimate, interval.lower, interval.upper})
      put(Float8GetDatum(x), std::isnan(x));
    tuplestore_putvalues(rows_, desc_, values, nulls);
  }

  Tuplestorestate* rows_;
  TupleDesc desc_;
  Aggregate aggregate_;
  const Question& q_;
  const kde::Range* ranges_;
  FunctionCallInfo fcinfo_;
  int rank_ = 0;
};

// A value has no table: it answers by itself, or not at all.
void explain_value(FunctionCallInfo fcinfo, Tuplestorestate* rows, TupleDesc desc) {
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
  Datum values[kResults] = {Int32GetDatum(1),
                            0,
                            0,
                            CStringGetTextDatum(call.density.method()),
                            Int64GetDatum(static_cast<int64>(call.density.points())),
                            BoolGetDatum(true),
                            CStringGetTextDatum("is the value itself"),
                            Float8GetDatum(interval.estimate),
                            Float8GetDatum(interval.lower),
                            Float8GetDatum(interval.upper)};
  bool nulls[kResults] = {false, true, true};
  nulls[7] = std::isnan(interval.estimate);
  nulls[8] = std::isnan(interval.lower);
  nulls[9] = std::isnan(interval.upper);
  tuplestore_putvalues(rows, desc, values, nulls);
}

}  // namespace

}  // namespace kde_pg

// kde_explain(density, lower, upper, by_name_only, measure, filter). Errors: those of the answers,
// but for that no density covers the question.
KDE_EXPORT(kde_explain_by_name);
Datum kde_explain_by_name(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  TupleDesc desc;
  Tuplestorestate* rows = begin_rows(fcinfo, kResults, &desc);
  if (PG_ARGISNULL(kDensity)) PG_RETURN_NULL();
  check_by_name_only(fcinfo, kByNameOnly);
  text* name = name_in(PG_GETARG_DATUM(kDensity));
  if (name == nullptr) {
    explain_value(fcinfo, rows, desc);
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
  Explanation(rows, desc, aggregate, question, ranges, fcinfo).put(list_candidates(question));
  PG_RETURN_NULL();
}
