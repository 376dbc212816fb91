// Internal to src/core/joint: the classes of a column's values to which weights are calibrated.
//
// Finite values are classed by their level (axis.h) into classes of equal shares of the column's
// rows; NULL, NaN and the infinities have classes of their own. The shares are those of the
// column's own distribution, which every row that was read is in. Of a category the values that
// enough rows of the sample have are a class each, and all others one.
#pragma once

#include "core/control.h"
#include "core/joint/calibrate.h"
#include "core/joint/joint_sampler.h"
#include "core/status.h"

#include <cstdint>
#include <span>
#include <vector>

namespace kde {

struct ColumnClasses {
  // Normal scores (axis.h) of the sample's rows by number; of those not asked for 0. Of finite
  // values alone; of a category none.
  std::vector<double> score;
  Margin margin;  // targets add up to the rows that were read
};

// rows: numbers of the sample's rows. column: one of numbers. Errors: cancelled. Throws
// std::bad_alloc.
Status classify_column(const JointSample& sample, std::span<const std::uint32_t> rows, int column,
                       const Header* marginal, const Control& control, ColumnClasses* out);
// Classes of a category, as those of numbers.
Status classify_category(const JointSample& sample, std::span<const std::uint32_t> rows, int column,
                         const Header* marginal, const Control& control, ColumnClasses* out);

}  // namespace kde
