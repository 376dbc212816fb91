// Reading, writing and checking the layout of format.h.
#include "core/density/format.h"

#include "core/density/format_header.h"
#include "core/density/histogram_view.h"
#include "core/joint/format.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>

namespace kde {

namespace {

std::size_t block_count(std::size_t knots) {
  return knots < 2 ? 0 : (knots - 1 + kBlockCells - 1) / kBlockCells;
}

// Fits make cells of 2^-40 and wider. Narrower than this, slopes would overflow.
constexpr double kNarrowestCell = 0x1p-100;

// But for the rounding of a product.
bool is_whole(double x) { return std::fabs(x - std::nearbyint(x)) <= 0x1p-50 * std::fabs(x); }

bool nonnegative(double x) { return std::isfinite(x) && x >= 0; }

// The number of the lattice point at x; false if there is none within half a step or 32 bits.
bool pack_point(const Header& h, double x, std::uint32_t* point) {
  const double k = std::nearbyint((x - h.lattice_offset) / h.lattice_step);
  if (!(k >= 0 && k <= std::numeric_limits<std::uint32_t>::max())) return false;
  *point = static_cast<std::uint32_t>(k);
  return std::fabs(h.lattice_point(k) - x) <= h.lattice_step / 2;
}

Status invalid(const char* what) { return Status::error(Code::invalid_format, "%s", what); }

}  // namespace

Status validate_header(const Header& h) {
  if (h.version != kFormatVersion)
    return Status::error(Code::invalid_format, "unknown format version %d", int{h.version});
  if (h.kind != Kind::one_column && h.kind != Kind::histogram)
    return invalid("unknown kind of density");
  if (static_cast<int>(h.kernel) >= kKernels) return invalid("unknown kernel");
  if ((h.flags & ~(kBounded | kEveryRowRead | kCorrected | kLatticeAtoms)) != 0)
    return invalid("unknown flags");
  if (static_cast<int>(h.value_type) >= kValueTypes) return invalid("unknown value type");
  if (h.method == Method::automatic || static_cast<int>(h.method) >= kMethods)
    return invalid("unknown method");
  if (h.reserved != 0) return invalid("reserved field is not 0");
  if (h.exponent < -1100 || h.exponent > 1100) return invalid("exponent out of range");
  for (double x :
       {h.rows, h.nulls, h.nans, h.negative_infinities, h.positive_infinities, h.sample_rows,
        h.bandwidth, h.lattice_step, h.smooth_rows, h.slope_unit, h.sampling_variance}) {
    if (!nonnegative(x)) return invalid("a count, step or bandwidth is negative or not finite");
  }
  for (double x : {h.origin, h.lattice_offset, h.min, h.max, h.mean}) {
    if (!std::isfinite(x)) return invalid("a position is not finite");
  }
  if (!(h.min <= h.mean && h.mean <= h.max)) return invalid("mean is outside [min, max]");
  if (h.lattice_step > 0 && !lattice_resolved(h)) return invalid("lattice step is too small");
  if (h.lattice_atoms() && !(h.lattice_step > 0)) return invalid("lattice atoms without a lattice");
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
  for (int i = 0; i < kErrorScales; ++i) {
    if (!nonnegative(h.count_error[i]) || !nonnegative(h.mean_error[i]))
      return invalid("an error ratio is negative or not finite");
  }
  if (h.finite_rows() < -1e-9 * h.rows) return invalid("special values exceed the rows");
  return Status::success();
}

namespace {

Status validate_atoms(const DensityView& d) {
  const Header& h = d.header();
  // The shares of packed atoms are of these; too few, and their rows would not tell them apart.
  if (h.lattice_atoms() && d.atoms() > 0 && !(h.finite_rows() - h.smooth_rows >= 1e-200))
    return invalid("lattice atoms without rows");
  double previous = 0;
  for (int i = 0; i < d.atoms(); ++i) {
    const double v = d.atom_value(i);
    const double rows = d.atom_cumulative_rows(i);
    if (!std::isfinite(v) || v < h.min || v > h.max)
      return invalid("an atom is outside [min, max]");
    if (!(std::fabs(d.to_u(v)) <= 1)) return invalid("an atom is outside [-1, 1] in u");
    if (i > 0 && v <= d.atom_value(i - 1)) return invalid("atoms are not in ascending order");
    // Else the point's number would be another once it is packed again.
    if (h.lattice_atoms() &&
        !(std::fabs(v - (h.lattice_offset + d.atom_point_raw(i) * h.lattice_step)) <=
          h.lattice_step / 4))
      return invalid("lattice scale does not fit the lattice");
    // Packed, the rows of a rare lattice point may round to none.
    if (!std::isfinite(rows) || (h.lattice_atoms() ? rows < previous : rows <= previous))
      return invalid("an atom has no rows");
    previous = rows;
  }
  return Status::success();
}

Status validate_knots(const DensityView& d) {
  const Header& h = d.header();
  if (d.knots() == 0) {
    if (h.smooth_rows > 0) return invalid("smooth rows without knots");
    return Status::success();
  }
  if (h.slope_unit <= 0) return invalid("slope unit is 0");
  const int last = d.knots() - 1;
  if (d.knot_mass_raw(0) != 0 || d.knot_mass_raw(last) != kMassOne)
    return invalid("masses do not run from 0 to all");
  for (int i = 0; i <= last; ++i) {
    const double u = d.knot_u(i);
    if (!(std::fabs(u) <= 1)) return invalid("a knot is outside [-1, 1]");
    // A density has one form.
    if (u == 0 && std::signbit(u)) return invalid("a knot is at minus zero");
    if (i == 0) continue;
    const double width = u - d.knot_u(i - 1);
    if (!(width > 0)) return invalid("knots are not in ascending order");
    if (width < kNarrowestCell) return invalid("knots are too close together");
    if (d.knot_mass_raw(i) < d.knot_mass_raw(i - 1)) return invalid("masses decrease");
    const double limit = 3 * (d.knot_mass(i) - d.knot_mass(i - 1)) / width * (1 + 1e-9);
    if (!(d.knot_slope(i - 1) <= limit && d.knot_slope(i) <= limit))
      return invalid("a slope would make the distribution function decrease");
  }
  for (int b = 0; b < d.blocks(); ++b) {
    if (!std::isfinite(d.block_moment(b, 1)) || !std::isfinite(d.block_moment(b, 2)))
      return invalid("a block moment is not finite");
  }
  if (!std::isfinite(d.to_x(d.knot_u(0))) || !std::isfinite(d.to_x(d.knot_u(last))))
    return invalid("a knot is out of double precision's range");
  return Status::success();
}

}  // namespace

bool lattice_resolved(const Header& h) {
  const double reach =
      std::max(std::fabs(h.min - h.lattice_offset), std::fabs(h.max - h.lattice_offset));
  return reach / h.lattice_step < 0x1p52;
}

bool lattice_cells_in_range(const Header& h) {
  return std::isfinite(h.min - h.lattice_step / 2) && std::isfinite(h.max + h.lattice_step / 2);
}

std::uint16_t pack_slope(double x) {
  if (!(x > 0)) return 0;
  if (x >= kMaxPackedSlope) return 0xffff;
  if (x < 2048) return static_cast<std::uint16_t>(x);
  int e;
  const double m = std::frexp(x, &e);                     // x = m 2^e, m in [0.5, 1)
  const auto mantissa = static_cast<unsigned>(m * 4096);  // in [2048, 4096)
  return static_cast<std::uint16_t>((static_cast<unsigned>(e - 11) << 11) | (mantissa - 2048));
}

std::size_t density_size(std::size_t atoms, std::size_t knots, bool lattice_atoms) {
  return sizeof(Header) + atoms * 2 * (lattice_atoms ? sizeof(std::uint32_t) : sizeof(double)) +
         knots * (2 * sizeof(std::uint32_t) + 2 * sizeof(std::uint16_t)) +
         block_count(knots) * 2 * sizeof(float);
}

std::size_t max_knots(std::size_t atoms, bool lattice_atoms) {
  std::size_t knots = 0;
  while (density_size(atoms, knots + 1, lattice_atoms) <= kMaxBytes) ++knots;
  return knots < 2 ? 0 : knots;
}

DensityView::DensityView(const void* bytes) {
  const char* p = static_cast<const char*>(bytes);
  header_ = reinterpret_cast<const Header*>(p);
  const std::size_t atoms = header_->atoms;
  knots_ = header_->kind == Kind::histogram ? 0 : static_cast<int>(header_->knots);
  p += sizeof(Header);
  if (header_->lattice_atoms()) {
    atom_point_ = reinterpret_cast<const std::uint32_t*>(p);
    p += atoms * sizeof(std::uint32_t);
    atom_mass_ = reinterpret_cast<const std::uint32_t*>(p);
    p += atoms * sizeof(std::uint32_t);
  } else {
    atom_value_ = reinterpret_cast<const double*>(p);
    p += atoms * sizeof(double);
    atom_rows_ = reinterpret_cast<const double*>(p);
    p += atoms * sizeof(double);
  }
  // What follows is no knots in a histogram.
  if (knots_ == 0) return;
  const auto knots = static_cast<std::size_t>(knots_);
  knot_mass_ = reinterpret_cast<const std::uint32_t*>(p);
  p += knots * sizeof(std::uint32_t);
  knot_high_ = reinterpret_cast<const std::uint32_t*>(p);
  p += knots * sizeof(std::uint32_t);
  block_moment_ = reinterpret_cast<const float*>(p);
  p += block_count(knots) * 2 * sizeof(float);
  knot_low_ = reinterpret_cast<const std::uint16_t*>(p);
  p += knots * sizeof(std::uint16_t);
  knot_slope_ = reinterpret_cast<const std::uint16_t*>(p);
}

double DensityView::to_u(double x) const {
  return std::ldexp(x - header_->origin, -header_->exponent);
}

double DensityView::to_x(double u) const {
  return header_->origin + std::ldexp(u, header_->exponent);
}

Status encode(const DensityParts& parts, std::vector<std::uint64_t>* words, std::size_t* size) {
  const std::size_t atoms = parts.atom_value.size();
  const std::size_t knots = parts.knot_u.size();
  if (parts.atom_rows.size() != atoms || parts.knot_mass.size() != knots ||
      parts.knot_slope.size() != knots || parts.block_moment.size() != 2 * block_count(knots))
    return Status::error(Code::internal, "density parts of unequal length");
  const bool lattice_atoms = parts.header.lattice_atoms();
  *size = density_size(atoms, knots, lattice_atoms);
  if (*size > kMaxBytes) return invalid("density exceeds 16 KB");
  try {
    words->assign((*size + 7) / 8, 0);
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "out of memory");
  }
  char* p = reinterpret_cast<char*>(words->data());
  Header header = parts.header;
  header.varlena = 0;
  header.version = kFormatVersion;
  header.kind = Kind::one_column;
  header.reserved = 0;
  header.atoms = static_cast<std::uint32_t>(atoms);
  header.knots = static_cast<std::uint32_t>(knots);
  const auto put = [&p](const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(p, from, bytes);
    p += bytes;
  };
  put(&header, sizeof header);
  if (lattice_atoms) {
    std::uint32_t packed = 0;
    for (double value : parts.atom_value) {
      if (!pack_point(header, value, &packed)) return invalid("an atom is not on the lattice");
      put(&packed, sizeof packed);
    }
    // Checked here: shares are whole numbers in range, whatever the rows were. The slack is
    // validate()'s; the total is a difference, so no share of it.
    const double total = header.finite_rows() - header.smooth_rows;
    const double slack = 1e-9 * header.rows;
    double previous = 0;
    for (double rows : parts.atom_rows) {
      if (!(rows >= previous)) return invalid("an atom has no rows");
      if (!(rows <= total + slack)) return invalid("rows do not add up");
      previous = rows;
      packed = static_cast<std::uint32_t>(
          std::llround((total > 0 ? std::min(rows / total, 1.0) : 0.0) * kMassOne));
      put(&packed, sizeof packed);
    }
    if (atoms > 0 && !(previous >= total - slack)) return invalid("rows do not add up");
  } else {
    put(parts.atom_value.data(), atoms * sizeof(double));
    put(parts.atom_rows.data(), atoms * sizeof(double));
  }
  put(parts.knot_mass.data(), knots * sizeof(std::uint32_t));
  for (double u : parts.knot_u) {
    const auto high = static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(u) >> 32);
    put(&high, sizeof high);
  }
  put(parts.block_moment.data(), parts.block_moment.size() * sizeof(float));
  for (double u : parts.knot_u) {
    const auto low = static_cast<std::uint16_t>(std::bit_cast<std::uint64_t>(u) >> 16);
    put(&low, sizeof low);
  }
  put(parts.knot_slope.data(), knots * sizeof(std::uint16_t));
  return validate(words->data(), *size);
}

Status validate(const void* bytes, std::size_t size) {
  // The fields up to the kind have their place in every kind.
  if (size < offsetof(Header, kernel)) return invalid("too short");
  if (static_cast<const Header*>(bytes)->kind == Kind::joint) return validate_joint(bytes, size);
  if (size < sizeof(Header)) return invalid("too short");
  if (size > kMaxBytes) return invalid("longer than 16 KB");
  const Header& h = *static_cast<const Header*>(bytes);
  if (h.version == kFormatVersion && h.kind == Kind::histogram)
    return validate_histogram(bytes, size);
  if (Status s = validate_header(h); !s.ok()) return s;
  if (h.knots == 1 || h.knots > kMaxBytes || h.atoms > kMaxBytes)
    return invalid("wrong number of knots or atoms");
  if (size != density_size(h.atoms, h.knots, h.lattice_atoms()))
    return invalid("length does not fit its contents");
  const DensityView d(bytes);
  if (Status s = validate_atoms(d); !s.ok()) return s;
  if (Status s = validate_knots(d); !s.ok()) return s;
  const double atom_rows = d.atoms() > 0 ? d.atom_cumulative_rows(d.atoms() - 1) : 0;
  if (!(std::fabs(atom_rows + h.smooth_rows - h.finite_rows()) <= 1e-9 * h.rows))
    return invalid("rows do not add up");
  return Status::success();
}

}  // namespace kde
