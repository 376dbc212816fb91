// The text form of a joint density (joint_format.h), after the conventions of density/text.h:
//
//   kde/2 kind=joint method=auto flags=13 points=10000 rows=53940 ... mean_error=[...] columns=2
//   column=1 type=numeric flags=1 center=0 bandwidth=0.2 value_center=0 value_unit=1 heavy=[...]
//   marginal=(kde/2 ...) column=2 ... correlation=[...] effects=AAAB...
//   coordinates=AAAB... weights=AAAB... values=AAAB...
//
// Effects, coordinates, weights and values are their sections as stored, filling with them, each
// number of four bytes, the most significant first, in base64 (RFC 4648, section 4). Weights and
// values are empty where there are none. Boxes are made anew.
#pragma once

#include "core/control.h"
#include "core/density/joint_format.h"
#include "core/status.h"

#include <string>
#include <string_view>

namespace kde {

// Errors: out_of_memory.
Status to_text(const JointView& density, std::string* out) noexcept;

// Whether the text is of a joint density, as far as its first fields say.
bool is_joint_text(std::string_view text);

// Strict, as from_text() of density/text.h, which calls it. Errors: invalid_format naming the
// field; cancelled. May throw std::bad_alloc.
Status joint_from_text(std::string_view text, DensityBytes* density, const Control& control = {});

}  // namespace kde
