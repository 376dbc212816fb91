// Answers to questions about several columns, by a density of one or of several.
#pragma once

#include "pg/answer/box_arguments.h"

#include "core/kde.h"

namespace kde_pg {

// The rows in the box.
double count_of(const Question& question, const JointTarget& target, const kde::Range* ranges);
kde::Interval count_interval_of(const Question& question, const JointTarget& target,
                                const kde::Range* ranges, const kde::IntervalOptions& options);

// Of the target over them. Interval: NaN where there are none.
kde::RangeMoments moments_of(const Question& question, const JointTarget& target,
                             const kde::Range* ranges);
enum class Moment { sum, mean, variance };
// Not of a variance by a density of one column.
kde::Interval moment_interval_of(Moment moment, const Question& question, const JointTarget& target,
                                 const kde::Range* ranges, const kde::IntervalOptions& options);

}  // namespace kde_pg
