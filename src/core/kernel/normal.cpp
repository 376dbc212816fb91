// The quantiles by Boost's inverses of the error functions: erf_inv, erfc_inv (J. Maddock; rational
// approximations to the last bits of a double).
#include "core/kernel/normal.h"

#include <boost/math/special_functions/erf.hpp>

#include <limits>

namespace kde {

namespace {

using namespace boost::math::policies;
using Quiet =
    policy<domain_error<ignore_error>, pole_error<ignore_error>, overflow_error<ignore_error>,
           evaluation_error<ignore_error>, promote_double<false>>;

}  // namespace

double normal_quantile(double p) {
  return -std::numbers::sqrt2 * boost::math::erfc_inv(2 * p, Quiet());
}

double normal_central_quantile(double confidence) {
  // A session mostly asks by one.
  thread_local struct { double confidence = std::numeric_limits<double>::quiet_NaN(), z = 0; } last;
  if (confidence != last.confidence)
    last = {confidence, std::numbers::sqrt2 * boost::math::erf_inv(confidence, Quiet())};
  return last.z;
}

}  // namespace kde
