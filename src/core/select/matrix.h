// Small dense matrices of the selectors, by Eigen (headers only, MPL2; Debian: libeigen3-dev). The
// core includes Eigen through this file alone: without the macro its products start OpenMP threads
// of their own.
#pragma once

#define EIGEN_DONT_PARALLELIZE
#define EIGEN_MPL2_ONLY

#include <eigen3/Eigen/Core>

#include "core/room.h"

namespace kde {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXd;

}  // namespace kde
