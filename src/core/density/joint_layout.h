// Where the parts of a joint density lie (joint_format.h).
#pragma once

#include "core/density/joint_format.h"

#include <cstddef>

namespace kde {

// Offsets in bytes from the header. Parts that are absent have the next one's offset.
struct JointLayout {
  std::size_t column, correlation, heavy, marginal, effect, box, coordinate, weight, value, size;
};

// Numbers of effect[].
inline std::size_t joint_effects(std::size_t columns) {
  return (columns * (columns - 1) / 2 + 2 * columns) * std::size_t{kErrorScales};
}

// heavy: values of all columns; marginal_bytes: of all columns. Points and columns are at most so
// many that nothing overflows: 2^32 points of kMaxColumns.
JointLayout joint_layout(const JointHeader& header, std::size_t heavy, std::size_t marginal_bytes);

// Fills in box[] from coordinate[].
void write_boxes(const JointHeader& header, const float* coordinate, float* box);

}  // namespace kde
