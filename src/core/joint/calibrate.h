// Weights under which a sample's rows have known totals, column by column: raking, the iterative
// proportional fitting of W. E. Deming & F. F. Stephan (Ann. Math. Statist. 11, 1940), as an
// estimator that calibration makes more accurate: J.-C. Deville & C.-E. Sarndal, JASA 87 (1992).
#pragma once

#include "core/control.h"
#include "core/status.h"

#include <cstdint>
#include <span>
#include <vector>

namespace kde {

// A column's classes: which one each row is in, and the rows that each class should have.
struct Margin {
  std::vector<std::uint16_t> row_class;  // of each row, < target.size()
  std::vector<double> target;            // >= 0; classes without a row are of no account
};

// No weight is more than that many times the mean's, nor less than its reciprocal.
inline constexpr double kLargestWeight = 5;

// weight: one per row, >= 0, their sum `total` >= 0. Margins that cannot be met at once are met as
// nearly as the last sweep leaves them. Errors: cancelled. Throws std::bad_alloc.
Status calibrate(std::span<const Margin> margins, std::size_t rows, double total,
                 const Control& control, std::vector<double>* weight);

}  // namespace kde
