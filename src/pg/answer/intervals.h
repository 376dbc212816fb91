// What the functions that answer with an interval share.
#pragma once

#include "pg/answer/answer.h"

#include "core/kde.h"

namespace kde_pg {

// Errors: 22004, 22023.
double read_confidence(FunctionCallInfo fcinfo, int argument);
// Arguments `first` (confidence) and `first + 1` (changed_rows). Errors: 22004, 22023.
kde::IntervalOptions read_interval_options(FunctionCallInfo fcinfo, int first);

// Widens an interval by the rows that are known to have changed since the fit
// (kde_aqp.changed_rows): where the call says of more, by those.
void take_in_changes(const AnsweringFit& fit, kde::IntervalOptions* options);

// Estimate, lower and upper end as the call's record.
Result interval_record(FunctionCallInfo fcinfo, const kde::Interval& interval);

// The same of an answer that is infinite, or null, for certain.
Result interval_record_of(FunctionCallInfo fcinfo, const Result& special);

}  // namespace kde_pg
