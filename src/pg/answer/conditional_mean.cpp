// kde_conditional: the mean of one column at values of another, with intervals.
#include "pg/values/result_set.h"
#include "pg/answer/call.h"
#include "pg/answer/ranges.h"
#include "pg/answer/value_bounds.h"
#include "pg/answer/asked_words.h"
#include "pg/type/word_type.h"

#include "core/kde.h"

#include <cmath>

namespace kde_pg {

namespace {

enum Argument { kDensity, kAt, kByNameOnly, kMeasure, kFilter, kConfidence, kChangedRows };
constexpr int kResults = 5;

// Of two columns: the one that `at` is of, and the measure.
void check_pair(const Call& call) {
  const Question& q = call.question;
  const bool joint = call.density.joint != nullptr;
  if (joint && q.named == 1 && q.measure == 1) return;
  if (joint && q.is_value() && q.named == 2 && q.measure >= 0) return;
  ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                  errmsg("a conditional mean is of a measure at values of another column"),
                  errhint("Name that column as the density, and pass measure => 'column'.")));
}

// At one value of a category, whose rows are those in a box.
kde::Interval mean_at_word(const Call& call, int on, Oid type, Datum value,
                           const kde::IntervalOptions& options, char** text) {
  const Question& q = call.question;
  const AskedWords asked = read_word(q, call.density, on, type, value);
  WordType printed;
  printed.begin(asked.values.type, asked.values.collation);
  *text = printed.text(asked.values.values[0]);
  const kde::JointView density(call.density.joint);
  const kde::BoxSide side = {call.density.place[on], {}, &asked.set};
  const int measure = call.density.place[q.measure];
  const kde::JointMoments m = kde::joint_moments(density, {&side, 1}, measure);
  return kde::interval_of(kde::Wanted::mean, density, {&side, 1}, m, options);
}

}  // namespace

}  // namespace kde_pg

// kde_conditional(density, at, by_name_only, measure, filter, confidence, changed_rows). A row for
// each element of `at`, which of a category is no number but a text; no row where it or the density
// is NULL. The estimate is NULL where the density has no rows near. Errors: 22023 unless there are
// two different columns; those of read_density().
KDE_EXPORT(kde_conditional_by_name);
Datum kde_conditional_by_name(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  const ResultRows rows = begin_rows(fcinfo, kResults);
  if (PG_ARGISNULL(kDensity)) PG_RETURN_NULL();
  check_by_name_only(fcinfo, kByNameOnly);
  Call call;
  call.accuracy.interval = {read_confidence(fcinfo, kConfidence),
                            read_changed_rows(fcinfo, kChangedRows)};
  (void)read_density(fcinfo, kMeasure, kFilter, Needs::joint, &call);
  check_pair(call);
  if (PG_ARGISNULL(kAt)) PG_RETURN_NULL();
  const Question& q = call.question;
  const int on = q.is_value() ? 1 - q.measure : 0;
  const kde::ValueType type = q.type[on];
  const Elements at = read_elements(fcinfo, kAt, "at");
  double* points = static_cast<double*>(palloc(sizeof(double) * (at.count + 1)));
  const bool by_word = type == kde::ValueType::category;
  refuse_category(q.type[q.measure], "mean");
  for (int i = 0; i < at.count; ++i)
    points[i] = at.nulls[i] || by_word ? 0 : bound_to_double(type, at.type, at.values[i]);

  const kde::IntervalOptions options = with_value_bounds(q, q.measure, interval_options(call));
  const int* place = call.density.place;
  const kde::JointView density(call.density.joint);
  for (int i = 0; i < at.count; ++i) {
    CHECK_FOR_INTERRUPTS();
    const bool none = at.nulls[i] || std::isnan(points[i]);
    kde::Interval interval;
    char* shown = nullptr;
    if (by_word && !none)
      interval = mean_at_word(call, on, at.type, at.values[i], options, &shown);
    else if (!none)
      interval = kde::conditional_mean(density, place[q.measure], place[on], points[i], options);
    const bool empty = none || std::isnan(interval.estimate);
    if (shown == nullptr && !at.nulls[i]) shown = place_to_text(type, points[i]);
    const Datum point = Float8GetDatum(points[i]);  // NaN, too
    rows.put(Field(!at.nulls[i] && !by_word, point), shown, Field(!empty, interval.estimate),
             Field(!empty, interval.lower), Field(!empty, interval.upper));
  }
  PG_RETURN_NULL();
}
