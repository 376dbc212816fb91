// max_relative_error and otherwise, the arguments of approx_count, approx_sum and approx_avg that
// ask for an accuracy: what is answered where the density does not have it.
//
// The relative error is half the width of the answer's 95 % interval (core/integrate/interval.h)
// over the answer's magnitude.
#pragma once

#include "pg/answer.h"
#include "pg/exact.h"

namespace kde_pg {

// The arguments after those that name the density (`next`): lower, upper, by_name_only,
// max_relative_error, otherwise.
inline bool requires_accuracy(FunctionCallInfo fcinfo, int next) { return !PG_ARGISNULL(next + 3); }

// `plain`, the answer without a requirement, where it is as accurate as required; else what
// `otherwise` says: an error, NULL, or the exact answer.
// Errors: 22023 for arguments that make no sense; 0A000 for 'exact' of a value of type kde; 55000
// where it is not accurate enough: like a density that is stale, it is not what the call needs
// until it is fitted again.
Result accurate_answer(FunctionCallInfo fcinfo, const Target& target, int next, Aggregate aggregate,
                       const Result& plain);

}  // namespace kde_pg
