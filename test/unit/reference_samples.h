// The samples in several dimensions of the published reference values.
#pragma once

#include <cmath>
#include <vector>

#include "reference_data.h"
#include "samples.h"

namespace kde::reference_samples {

inline std::vector<double> faithful() {
  return samples::rows({reference_data::eruptions, reference_data::waiting});
}

inline std::vector<double> iris() {
  return samples::rows({reference_data::iris_sepal_length, reference_data::iris_sepal_width,
                        reference_data::iris_petal_length, reference_data::iris_petal_width});
}

// Latitude and longitude.
inline std::vector<double> quakes() {
  return samples::rows({reference_data::quakes_lat, reference_data::quakes_long});
}

// 512 points of a lattice in the unit square, stretched to logistic margins: LSCV_h has one minimum
// at the distance of neighbours and one at the width of the whole.
inline std::vector<double> stretched_lattice() {
  std::vector<double> x;
  for (int i = 1; i <= 512; ++i) {
    const double u = std::fmod(i * std::sqrt(2.0), 1);
    const double v = std::fmod(i * std::sqrt(3.0), 1);
    const double first = std::log(u / (1 - u));
    x.push_back(first);
    x.push_back(std::log(v / (1 - v)) + first / 2);
  }
  return x;
}

}  // namespace kde::reference_samples
