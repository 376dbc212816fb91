// What all kinds of density share.
#include "core/density/format.h"

#include "core/density/checks.h"
#include "core/density/group_format.h"
#include "core/density/histogram_view.h"
#include "core/density/joint_format.h"
#include "core/density/measure_format.h"

#include <algorithm>
#include <cmath>
#include <new>

namespace kde {

bool lattice_resolved(const Header& h) {
  // Numbers near x lie at most 2^-52 |x| apart.
  const double reach =
      std::max({std::fabs(h.min), std::fabs(h.max), std::fabs(h.min - h.lattice_offset),
                std::fabs(h.max - h.lattice_offset)});
  return reach / h.lattice_step < 0x1p51;
}

namespace {

Status validate_whole(const void* bytes, std::size_t size) {
  // The fields up to the kind have their place in every kind.
  if (size < offsetof(Header, kernel)) return invalid("too short");
  const auto* h = static_cast<const Header*>(bytes);
  if (h->kind == Kind::joint) return validate_joint(bytes, size);
  if (size < sizeof(Header) || (h->measures == 0 && h->grouped == 0 && h->words == 0))
    return validate_one_column(bytes, size, true);
  const std::size_t front = measured_size(bytes, std::min(size, kMostMeasuredBytes));
  if (front == 0) return invalid("length does not fit its contents");
  if (h->grouped == 0) return validate_measured(bytes, size);
  if (Status s = validate_measured(bytes, front); !s.ok()) return s;
  return validate_groups(bytes, size);
}

}  // namespace

Status validate(const void* bytes, std::size_t size) noexcept {
  try {
    return validate_whole(bytes, size);
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "out of memory");
  }
}

}  // namespace kde
