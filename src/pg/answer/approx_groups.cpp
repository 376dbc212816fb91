// approx_groups: count, sum and mean of each group of a density, as rows.
//
// A row's `groups` is 1; of the last ones it is how many share a density, or 0: rows of groups that
// the sample did not meet or that came since, of which there may be some.
#include "pg/answer/answer.h"
#include "pg/answer/beyond_fit.h"
#include "pg/answer/call.h"
#include "pg/answer/ranges.h"
#include "pg/values/result_set.h"

#include "core/kde.h"

#include <cmath>

namespace kde_pg {

namespace {

constexpr int kColumns = 11;

class Output {
 public:
  void begin(FunctionCallInfo fcinfo) {
    rows_ = begin_rows(fcinfo, kColumns);
    each_ = AllocSetContextCreate(CurrentMemoryContext, "kde_aqp group", ALLOCSET_SMALL_SIZES);
  }
  MemoryContext each() { return each_; }

  void put(const std::string_view* key, int groups, const kde::Interval& count,
           const kde::Interval& sum, const kde::Interval& mean) {
    const Datum word =
        key == nullptr
            ? 0
            : PointerGetDatum(cstring_to_text_with_len(key->data(), static_cast<int>(key->size())));
    rows_.put(Field(key != nullptr, word), groups, count.estimate, count.lower, count.upper,
              sum.estimate, sum.lower, sum.upper, mean.estimate, mean.lower, mean.upper);
  }

 private:
  ResultRows rows_;
  MemoryContext each_;
};

constexpr kde::Interval kNone = {NAN, NAN, NAN};

// Whether a count is of no row for certain: SQL has no row of such a group.
bool is_empty(const kde::Interval& count) { return count.upper < 0.5; }

// Of a group; where it has no row for certain the count alone.
struct Answers {
  kde::Interval of[3];
  bool empty;
};

Answers answers_of(const Call& call, const kde::GroupView& group, const kde::Range* range,
                   const kde::IntervalOptions& options) {
  AnsweringDensity density = call.density;
  density.one_column = group.density();
  density.sums = {};
  const Question& q = call.question;
  Answers out = {{interval_of(Aggregate::count, q, density, range, options), kNone, kNone}, false};
  // By its rows, whether they have a value of the measure or not.
  out.empty = is_empty(kde::interval_of(kde::Wanted::count, density.view(), range[0], options));
  // Of what is not finite there is no interval.
  if (out.empty || has_special_values(moments_of(q, density, range))) return out;
  const kde::Evidence added = evidence_of(kde::Wanted::sum, q, density, range, options);
  // Of dates there is a mean, and no sum.
  if (is_added_up(q.type[q.measure])) out.of[1] = interval_of(Aggregate::sum, added);
  out.of[2] = interval_of(Aggregate::avg, added);
  return out;
}

// Whether an answer is less accurate than is required.
bool is_too_wide(const Call& call, const kde::Interval& interval, ExpectedError* error) {
  if (!call.accuracy.required || std::isnan(interval.estimate)) return false;
  *error = expected_error(call.density.fit, interval);
  return error->relative > call.accuracy.most_error;
}

// Rows at most of groups that are not listed: that a sample did not meet, or that came since.
double most_of_others(const kde::GroupsHeader& header, const kde::IntervalOptions& options) {
  return kde::most_unseen(header, options.confidence) + options.changed_rows;
}

bool needs_exact(const Call& call, const kde::Range* range, const kde::IntervalOptions& options) {
  if (call.accuracy.otherwise != Otherwise::exact) return false;
  kde::GroupsView groups(call.density.one_column);
  kde::GroupView group;
  while (groups.next(&group)) {
    CHECK_FOR_INTERRUPTS();
    const Answers answers = answers_of(call, group, range, options);
    // A group is asked about, not several.
    if (group.is_rest && !answers.empty) return true;
    for (const kde::Interval& i : answers.of) {
      ExpectedError error;
      if (!answers.empty && is_too_wide(call, i, &error)) return true;
    }
  }
  return most_of_others(groups.header(), options) > 0;
}

void put_group(const Call& call, const kde::GroupView& group, const kde::GroupsHeader& header,
               const kde::Range* range, const kde::IntervalOptions& options, Output* out) {
  Answers answers = answers_of(call, group, range, options);
  if (answers.empty) return;
  for (kde::Interval& i : answers.of) {
    ExpectedError error;
    if (is_too_wide(call, i, &error) && !exact_instead(call, error)) i = kNone;
  }
  const std::string_view key = group.key();
  out->put(group.has_key() ? &key : nullptr, group.is_rest ? static_cast<int>(header.rest) : 1,
           answers.of[0], answers.of[1], answers.of[2]);
}

void put_exact(const ExactGroup& group, void* state) {
  const auto certain = [](double x) { return kde::Interval{x, x, x}; };
  const std::string_view key(group.key != nullptr ? group.key : "");
  static_cast<Output*>(state)->put(group.key != nullptr ? &key : nullptr, 1, certain(group.count),
                                   certain(group.sum), certain(group.mean));
}

void put_others(const kde::GroupsHeader& header, const kde::IntervalOptions& options, Output* out) {
  const double most = most_of_others(header, options);
  if (most >= 0.5) out->put(nullptr, 0, {0, 0, most}, kNone, kNone);
}

}  // namespace

}  // namespace kde_pg

// approx_groups(density, lower, upper, by_name_only, ...)
KDE_EXPORT(approx_groups);
Datum approx_groups(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  constexpr int kLower = 1, kByNameOnly = 3;
  Output out;
  out.begin(fcinfo);
  Call call;
  kde::Range range[kde::kMaxColumns];
  if (!read_call(fcinfo, kByNameOnly, Needs::groups, &call) ||
      !read_ranges(fcinfo, kLower, call.question, range))
    PG_RETURN_NULL();
  check_beyond_fit(call.question, call.density, range);
  const kde::IntervalOptions options = interval_options(call);
  if (needs_exact(call, range, options)) {
    SqlRange bounds[kde::kMaxColumns];
    if (read_sql_ranges(fcinfo, kLower, call.question, bounds))
      exact_groups(call.question, bounds, put_exact, &out);
    PG_RETURN_NULL();
  }
  kde::GroupsView groups(call.density.one_column);
  const kde::GroupsHeader header = groups.header();
  kde::GroupView group;
  MemoryContext caller = MemoryContextSwitchTo(out.each());
  while (groups.next(&group)) {
    CHECK_FOR_INTERRUPTS();
    put_group(call, group, header, range, options, &out);
    MemoryContextReset(out.each());
  }
  MemoryContextSwitchTo(caller);
  put_others(header, options, &out);
  PG_RETURN_NULL();
}
