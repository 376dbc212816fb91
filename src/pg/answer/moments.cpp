// One interface to the core's answers for one column and for several.
#include "pg/answer/moments.h"

#include "pg/answer/value_bounds.h"

#include <algorithm>
#include <cmath>

namespace kde_pg {

namespace {

// The question as the density has it.
struct AskedBox : kde::OwnBox {
  int target;
};

AskedBox box_of(const Question& q, const AnsweringDensity& density, const kde::Range* ranges) {
  AskedBox out;
  out.target = q.measure < 0 ? kde::kRowsThemselves : density.place[q.measure];
  for (int i = 0; i < q.sides; ++i) out.add(density.place[i], ranges[i], density.words[i]);
  return out;
}

void check_measure(const Question& q) {
  if (q.measure < 0)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("a density of several columns needs a measure"),
                    errdetail("Which of its columns or measures is added up cannot be told."),
                    errhint("Pass measure => 'column', one of the density's or another.")));
}

}  // namespace

double count_of(const Question& q, const AnsweringDensity& density, const kde::Range* ranges) {
  const AskedBox asked = box_of(q, density, ranges);
  return density.scale * kde::count_in(density, asked.box(), asked.target);
}

kde::RangeMoments moments_of(const Question& q, const AnsweringDensity& density,
                             const kde::Range* ranges) {
  check_measure(q);
  const AskedBox asked = box_of(q, density, ranges);
  return kde::moments_in(density, asked.box(), asked.target);
}

kde::Evidence evidence_of(kde::Wanted wanted, const Question& q, const AnsweringDensity& density,
                          const kde::Range* ranges, const kde::IntervalOptions& given) {
  const bool counts = wanted == kde::Wanted::count;
  if (!counts) check_measure(q);
  const AskedBox asked = box_of(q, density, ranges);
  return kde::ask(wanted, density, asked.box(), asked.target,
                  counts ? given : with_value_bounds(q, q.measure, given));
}

kde::Interval interval_of(Aggregate aggregate, const kde::Evidence& evidence) {
  kde::Interval out = kde::interval_of(wanted_by(aggregate), evidence);
  if (aggregate == Aggregate::stddev)
    for (double* x : {&out.estimate, &out.lower, &out.upper}) *x = std::sqrt(std::max(*x, 0.0));
  return out;
}

kde::Interval interval_of(Aggregate aggregate, const Question& q, const AnsweringDensity& density,
                          const kde::Range* ranges, const kde::IntervalOptions& options) {
  return interval_of(aggregate, evidence_of(wanted_by(aggregate), q, density, ranges, options));
}

}  // namespace kde_pg
