// What answer functions share.
#pragma once

#include "pg/answer/exact.h"
#include "pg/answer/moments.h"

#include "core/kde.h"

namespace kde_pg {

// `interval`'s half over its estimate, for what max_relative_error asks; not known (infinite, with
// the reason why) where the answer is 0, or NULL for want of rows, without being certain, nor of a
// table whose rows have gone elsewhere since the fit, about which an interval knows nothing.
struct ExpectedError {
  double relative;
  const char* unknown;  // null where it is known
};
ExpectedError expected_error(const AnsweringFit& fit, const kde::Interval& interval);

// What is answered where that is more than required: true for the exact answer, false for NULL.
// Error 55000 if the call asks for an error: like a density that is stale, it is not what the call
// needs until it is fitted again.
bool exact_instead(const Call& call, const ExpectedError& expected);

// The density's type must be the one of argument `as_type`. Error 42804.
void check_own_type(FunctionCallInfo fcinfo, kde::ValueType type, int as_type);
// x in the type asked for. A domain's values obey its modifier and its constraints.
Datum in_own_type(FunctionCallInfo fcinfo, kde::ValueType type, int as_type, double x);

// Estimate, lower and upper end as the call's record.
Datum interval_record(FunctionCallInfo fcinfo, const kde::Interval& interval);
// The record of an answer that is certain.
inline Datum certain_record(FunctionCallInfo fcinfo, double x) {
  return interval_record(fcinfo, {x, x, x});
}

// A result that may be NULL, as a C function returns it.
inline Datum give(FunctionCallInfo fcinfo, NullableDatum result) {
  fcinfo->isnull = result.isnull;
  return result.value;
}
inline NullableDatum null_result() { return {0, true}; }
inline NullableDatum number_result(double x) { return {Float8GetDatum(x), false}; }

}  // namespace kde_pg
