// kde_conditional: the mean of one column at values of another, with intervals.
#include "pg/base/result_set.h"
#include "pg/answer/box_arguments.h"
#include "pg/answer/intervals.h"

#include "core/kde.h"

extern "C" {
#include "miscadmin.h"
}

#include <cmath>

namespace kde_pg {

namespace {

enum Argument { kRelation, kTarget, kOn, kAt, kByNameOnly, kConfidence, kFilter };
constexpr int kResults = 5;

}  // namespace

}  // namespace kde_pg

// kde_conditional(relation, target, on, at, by_name_only, confidence, filter). A row for each
// element of `at`; no row where it or what is asked about is NULL. The estimate is NULL where the
// density has no rows near.
KDE_FUNCTION(kde_conditional) {
  using namespace kde_pg;
  TupleDesc desc;
  Tuplestorestate* rows = begin_rows(fcinfo, kResults, &desc);
  if (is_null_density(fcinfo, kOn + 1)) PG_RETURN_NULL();
  const Question question = read_pair(fcinfo, kRelation, kTarget, kOn, kFilter);
  const kde::IntervalOptions options = {read_confidence(fcinfo, kConfidence), 0};
  if (PG_ARGISNULL(kAt)) PG_RETURN_NULL();
  const Elements at = read_elements(fcinfo, kAt, "at");
  const kde::ValueType type = question.type[0];
  double* points = static_cast<double*>(palloc(sizeof(double) * (at.count + 1)));
  for (int i = 0; i < at.count; ++i)
    points[i] = at.nulls[i] ? 0 : bound_to_double(type, at.type, at.values[i]);

  const JointTarget target = find_joint_target(question);
  const kde::JointView density(target.joint);
  for (int i = 0; i < at.count; ++i) {
    CHECK_FOR_INTERRUPTS();
    const bool none = at.nulls[i] || std::isnan(points[i]);
    kde::Interval interval;
    if (!none)
      interval = kde::conditional_mean(density, target.place[question.target], target.place[0],
                                       points[i], options);
    const bool empty = none || std::isnan(interval.estimate);
    Datum values[kResults] = {Float8GetDatum(points[i]), 0, Float8GetDatum(interval.estimate),
                              Float8GetDatum(interval.lower), Float8GetDatum(interval.upper)};
    bool nulls[kResults] = {at.nulls[i], at.nulls[i], empty, empty, empty};
    if (!at.nulls[i]) values[1] = CStringGetTextDatum(place_to_text(type, points[i]));
    tuplestore_putvalues(rows, desc, values, nulls);
  }
  PG_RETURN_NULL();
}
