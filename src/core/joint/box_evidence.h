// Evidence of boxes of a joint density: as that of a column (core/answer/column_evidence.h), with two
// sources of error: its points are a sample of the rows that were read, and these of the table.
// Formulas in box_evidence.cpp.
#pragma once

#include "core/answer/word_evidence.h"
#include "core/joint/joint_moments.h"

#include <span>

namespace kde {

// sides, m: those of joint_moments(), and what it found; m's target is asked about.
Evidence evidence_of(Wanted wanted, const JointView& density, std::span<const BoxSide> sides,
                     const JointMoments& m, const IntervalOptions& options);
inline Interval interval_of(Wanted wanted, const JointView& density, std::span<const BoxSide> sides,
                            const JointMoments& m, const IntervalOptions& options) {
  return interval_of(wanted, evidence_of(wanted, density, sides, m, options));
}

}  // namespace kde
