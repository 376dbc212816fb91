// max_relative_error and otherwise, the arguments of approx_count, approx_sum and approx_avg that
// ask for an accuracy: what is answered where the density does not have it.
//
// The relative error is half the width of the answer's 95 % interval (core/integrate/interval.h)
// over the answer's magnitude.
#pragma once

#include "pg/answer/answer.h"
#include "pg/answer/exact.h"

namespace kde_pg {

enum class Otherwise { error, null, exact };

struct RequiredAccuracy {
  bool asked;  // else nothing is required
  double most;
  Otherwise otherwise;
};

// From the arguments after those that name the density (`next`): lower, upper, by_name_only,
// max_relative_error, otherwise. To be read before anything else decides the answer, so that a call
// that makes no sense fails on any data.
// Errors: 22023 for values that make no sense, and for an `otherwise` without max_relative_error;
// 22004 for a NULL `otherwise`; 0A000 for 'exact' of a value of type kde.
RequiredAccuracy required_accuracy(FunctionCallInfo fcinfo, const Target& target, int next);

// `plain`, the answer without a requirement, where it is as accurate as required; else what
// `otherwise` says: an error, NULL, or the exact answer. Only where required.asked.
// Errors: 55000 where it is not accurate enough: like a density that is stale, it is not what the
// call needs until it is fitted again; those of exact_answer.
Result accurate_answer(FunctionCallInfo fcinfo, const Target& target, int next, Aggregate aggregate,
                       const RequiredAccuracy& required, const Result& plain);

}  // namespace kde_pg
