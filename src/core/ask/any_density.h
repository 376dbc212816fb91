// A density of either form, of one column (core/density/format.h) or of several (joint_format.h),
// and what both have: who asks about it need not know which it is.
#pragma once

#include "core/density/histogram_view.h"
#include "core/density/joint_format.h"

namespace kde {

// What it points to outlives it; of the two pointers one is null.
struct AnyDensity {
  const Header* one_column = nullptr;  // fit for DensityView
  const JointHeader* joint = nullptr;  // fit for JointView
  BlockSums sums = {};                 // of one column, where they are known

  int columns() const { return joint != nullptr ? joint->columns : 1; }
  int measures() const { return joint != nullptr ? 0 : one_column->measures; }
  bool has_groups() const { return one_column != nullptr && one_column->grouped != 0; }
  // Whether it is of a category by itself.
  bool is_of_words() const { return one_column != nullptr && one_column->words != 0; }
  // Of column k, or where k is columns() or more, of a measure.
  ValueType type(int k) const;
  // Column k's own distribution.
  const Header* column(int k) const {
    return joint != nullptr ? JointView(joint).marginal(k) : one_column;
  }
  // Whether some row's value of column k was not finite; of several columns it is not known.
  bool may_have_special_values() const;

  double points() const;      // of a density of one column, rows of its sample
  bool is_automatic() const;  // of several columns by method auto
  const char* method() const;

  DensityView view() const { return DensityView(one_column, sums); }
};

}  // namespace kde
