// What all kinds of density share.
#include "core/density/format.h"

#include "core/density/checks.h"
#include "core/density/group_format.h"
#include "core/density/histogram_view.h"
#include "core/density/joint_format.h"
#include "core/density/measure_format.h"
#include "core/guarded.h"

#include <algorithm>
#include <cmath>

namespace kde {

bool lattice_resolved(const Header& h) {
  // Numbers near x lie at most 2^-52 |x| apart.
  const double reach =
      std::max({std::fabs(h.min), std::fabs(h.max), std::fabs(h.min - h.lattice_offset),
                std::fabs(h.max - h.lattice_offset)});
  return reach / h.lattice_step < 0x1p51;
}

namespace {

Status validate_whole(const void* bytes, std::size_t size, const Control& control) {
  // The fields up to the kind have their place in every kind.
  if (size < offsetof(Header, flags)) return invalid("too short");
  const auto* h = static_cast<const Header*>(bytes);
  if (h->kind == Kind::joint) return validate_joint(bytes, size, control);
  if (size < sizeof(Header) || h->grouped == 0) return validate_measured(bytes, size);
  const std::size_t front = measured_size(bytes, std::min(size, kMostMeasuredBytes));
  if (Status s = validate_measured(bytes, front != 0 ? front : size); !s.ok()) return s;
  return validate_groups(bytes, size, control);
}

}  // namespace

Status validate(const void* bytes, std::size_t size, const Control& control) noexcept {
  return guarded([&] { return validate_whole(bytes, size, control); });
}

}  // namespace kde
