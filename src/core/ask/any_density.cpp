// See any_density.h.
#include "core/ask/any_density.h"

#include "core/density/measure_format.h"
#include "core/density/names.h"

namespace kde {

ValueType AnyDensity::type(int k) const {
  if (joint != nullptr) return JointView(joint).column(k).value_type;
  return k == 0 ? one_column->value_type : MeasureView(one_column, k - 1).header().value_type;
}

bool AnyDensity::may_have_special_values() const {
  if (joint != nullptr) return true;
  const Header& h = *one_column;
  return h.nans + h.negative_infinities + h.positive_infinities > 0;
}

double AnyDensity::points() const {
  return joint != nullptr ? joint->points : one_column->sample_rows;
}

bool AnyDensity::is_automatic() const {
  return joint != nullptr && joint->method == JointMethod::automatic;
}

const char* AnyDensity::method() const {
  return joint != nullptr ? joint_method_name(joint->method) : asked_method_name(*one_column);
}

}  // namespace kde
