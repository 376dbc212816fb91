// Internal to src/core/joint: how much counts and means over boxes vary between samples of blocks.
//
// As of one column (sampling/block_variance.h): the residuals of the blocks in their order, of
// boxes that hold 4^-1, 4^-2, ... of the rows, each about a row and the smallest of its shape that
// holds as many. A count of c_b of the m_b rows of block b has e_b = c_b - p m_b; a mean, being a
// ratio, e_b = sum (y - mean of the box) over the block's rows in the box (W. G. Cochran, Sampling
// Techniques, 1977, section 6.3), whose variance without blocks is that of y in the box times the
// rows. Both depend on which columns follow the blocks, so that counts are told by the two columns
// that bound the box, and means by their target and whether it is one of them. A box about a row on
// a category holds rows of its value alone.
#pragma once

#include "core/control.h"
#include "core/density/format.h"
#include "core/joint/joint_sampler.h"

#include <array>
#include <cstdint>
#include <vector>

namespace kde {

// By scale, as BlockVariance::effect.
using BoxEffects = std::array<float, kErrorScales>;

struct BoxVariance {
  std::vector<BoxEffects> count;  // of two columns: (0, 1), (0, 2), (1, 2), (0, 3) ...
  std::vector<BoxEffects> mean;   // of a column without bounds and with them, two and two
};

// 1 where there are fewer than three blocks, or too few rows. False if control asked to stop.
// Throws std::bad_alloc.
bool estimate_box_variance(const JointSample& sample, std::uint64_t seed, const Control& control,
                           BoxVariance* out);

}  // namespace kde
