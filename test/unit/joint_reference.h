// joint_moments by the formulas as they stand: in double, scalar, point by point, every point and
// every side. Product kernels, and correlated ones with up to two bounded columns.
#pragma once

#include "core/joint/joint_moments.h"

#include <span>

namespace kde {

JointMoments joint_moments_reference(const JointView& density, std::span<const BoxSide> sides,
                                     int target);

}  // namespace kde
