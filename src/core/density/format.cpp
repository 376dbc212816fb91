// Checking the layout of format.h.
#include "core/density/format.h"

#include "core/density/format_header.h"
#include "core/density/histogram_view.h"
#include "core/density/joint_format.h"

#include <algorithm>
#include <cmath>

namespace kde {

namespace {

// But for the rounding of a product.
bool is_whole(double x) { return std::fabs(x - std::nearbyint(x)) <= 0x1p-50 * std::fabs(x); }

bool nonnegative(double x) { return std::isfinite(x) && x >= 0; }

Status invalid(const char* what) { return Status::error(Code::invalid_format, "%s", what); }

}  // namespace

Status validate_header(const Header& h) {
  if (h.version != kFormatVersion)
    return Status::error(Code::invalid_format, "unknown format version %d", int{h.version});
  if (h.kind != Kind::one_column) return invalid("unknown kind of density");
  if (static_cast<int>(h.kernel) >= kKernels) return invalid("unknown kernel");
  if ((h.flags & ~(kBounded | kEveryRowRead | kFitted)) != 0) return invalid("unknown flags");
  if (static_cast<int>(h.value_type) >= kValueTypes) return invalid("unknown value type");
  if (h.method == Method::automatic || static_cast<int>(h.method) >= kMethods)
    return invalid("unknown method");
  for (const std::uint8_t byte : h.reserved) {
    if (byte != 0) return invalid("reserved field is not 0");
  }
  for (double x :
       {h.rows, h.nulls, h.nans, h.negative_infinities, h.positive_infinities, h.sample_rows,
        h.bandwidth, h.lattice_step, h.cell_rows, h.row_unit, h.rows_variance, h.end_variance}) {
    if (!nonnegative(x)) return invalid("a count, step or bandwidth is negative or not finite");
  }
  for (double x : {h.lattice_offset, h.min, h.max, h.mean}) {
    if (!std::isfinite(x)) return invalid("a position is not finite");
  }
  if (!(h.min <= h.mean && h.mean <= h.max)) return invalid("mean is outside [min, max]");
  if (h.lattice_step > 0 && !lattice_resolved(h)) return invalid("lattice step is too small");
  if (h.lattice_scale != 0) {
    if (!(h.lattice_scale >= 1 && h.lattice_scale <= 1e15))
      return invalid("lattice scale is out of range");
    if (!is_whole(h.lattice_step * h.lattice_scale) ||
        !is_whole(h.lattice_offset * h.lattice_scale))
      return invalid("lattice scale does not fit the lattice");
  }
  // A coarser one would make two points one.
  if (h.lattice_scale > 0 && !(h.lattice_step * h.lattice_scale >= 1 - 1e-9))
    return invalid("lattice scale is too small for the step");
  if (!(h.variance >= 0)) return invalid("variance is negative or NaN");
  if (!(h.error >= 0 && h.error <= 1)) return invalid("error is outside [0, 1]");
  for (const auto& scales : h.count_variance) {
    for (const float ratio : scales) {
      if (!nonnegative(ratio)) return invalid("a variance is negative or not finite");
    }
  }
  if (std::isnan(h.known_below) || std::isnan(h.known_above) || !(h.known_below < h.known_above))
    return invalid("limits of the known rows are out of order");
  if (h.finite_rows() < -1e-9 * h.rows) return invalid("special values exceed the rows");
  return Status::success();
}

bool lattice_resolved(const Header& h) {
  // Numbers near x lie at most 2^-52 |x| apart.
  const double reach =
      std::max({std::fabs(h.min), std::fabs(h.max), std::fabs(h.min - h.lattice_offset),
                std::fabs(h.max - h.lattice_offset)});
  return reach / h.lattice_step < 0x1p51;
}

Status validate(const void* bytes, std::size_t size) {
  // The fields up to the kind have their place in every kind.
  if (size < offsetof(Header, kernel)) return invalid("too short");
  return static_cast<const Header*>(bytes)->kind == Kind::joint ? validate_joint(bytes, size)
                                                                : validate_one_column(bytes, size);
}

}  // namespace kde
