// The serialised form of a summary: Serialized, then the cells' values, rows and slacks.
#include "core/summary/summary.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace kde {

namespace {

constexpr std::uint32_t kMagic = 0x6b646573;  // also tells the byte order
constexpr std::uint32_t kVersion = 6;
constexpr std::size_t kBytesPerCell = 2 * sizeof(double) + sizeof(float);

Status invalid(const char* what) { return Status::error(Code::invalid_format, "%s", what); }

bool is_count(double x) { return std::isfinite(x) && x >= 0; }

// As that of a density is (histogram_validate.cpp).
bool valid_lattice(const MergedLattice& l) {
  const auto whole = [](double x) {
    return std::fabs(x - std::nearbyint(x)) <= 0x1p-50 * std::fabs(x);
  };
  if (!is_count(l.step) || !std::isfinite(l.offset)) return false;
  return l.scale == 0 ||
         (l.scale >= 1 && l.scale <= 1e15 && whole(l.step * l.scale) && whole(l.offset * l.scale) &&
          (l.step == 0 || l.step * l.scale >= 1 - 1e-9));
}

}  // namespace

struct Summary::Serialized {
  std::uint32_t magic, version;
  std::uint32_t cells;
  std::uint8_t fractional;
  Resolution resolution;
  std::uint16_t reserved;
  double depth, cell_rows, within;
  MergedLattice lattice;
  Specials specials;
  SummarySampling sampling;
  SummaryTotals totals;
};

std::size_t Summary::serialized_size() const {
  return sizeof(Serialized) + cells_.size * kBytesPerCell;
}

void Summary::serialize(void* out) const {
  static_assert(std::is_trivially_copyable_v<Serialized>);
  Serialized head;
  std::memset(static_cast<void*>(&head), 0, sizeof head);  // no byte of padding is left to chance
  head.magic = kMagic;
  head.version = kVersion;
  head.cells = static_cast<std::uint32_t>(cells_.size);
  head.fractional = fractional_;
  head.resolution = resolution_;
  head.depth = depth_;
  head.cell_rows = cell_rows_;
  head.within = within_;
  head.lattice = lattice_;
  head.specials = specials_;
  head.sampling = sampling_;
  head.totals = totals_;
  char* p = static_cast<char*>(out);
  const auto put = [&p](const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(p, from, bytes);
    p += bytes;
  };
  put(&head, sizeof head);
  put(cells_.value, cells_.size * sizeof(double));
  put(cells_.rows, cells_.size * sizeof(double));
  put(cells_.slack, cells_.size * sizeof(float));
}

bool SummarySampling::valid() const {
  bool sure = is_count(rows_variance) && is_count(end_variance) && is_count(sum_error) && any <= 1;
  for (const auto& scales : weight) {
    for (const float w : scales) sure = sure && is_count(w);
  }
  return sure;
}

Status Summary::deserialize(const void* bytes, std::size_t size) {
  Serialized head;
  if (size < sizeof head) return invalid("too short");
  const char* p = static_cast<const char*>(bytes);
  std::memcpy(&head, p, sizeof head);
  p += sizeof head;
  if (head.magic != kMagic) return invalid("not a summary of this byte order");
  if (head.version != kVersion) return invalid("another version's");
  if (head.resolution > Resolution::fine) return invalid("unknown resolution");
  Summary read(memory_, head.resolution);
  if (head.cells > read.cell_limit() || size != sizeof head + head.cells * kBytesPerCell)
    return invalid("length does not fit its contents");
  if (head.fractional > 1 || head.reserved != 0) return invalid("a flag is neither 0 nor 1");
  for (double x : {head.depth, head.cell_rows, head.within, head.specials.nulls, head.specials.nans,
                   head.specials.negative_infinities, head.specials.positive_infinities,
                   head.lattice.within}) {
    if (!is_count(x)) return invalid("a count is negative or not finite");
  }
  if (!valid_lattice(head.lattice)) return invalid("a lattice is out of range");
  if (!head.sampling.valid()) return invalid("a variance is negative or not finite");
  if (!head.totals.valid() || (head.cells > 0) != (head.totals.count() > 0))
    return invalid("totals do not fit together");

  if (head.cells > 0) {
    const Status status = read.allocate_cells(head.cells);
    if (!status.ok()) return status;
    CellArrays& c = read.cells_;
    c.size = head.cells;
    std::memcpy(c.value, p, c.size * sizeof(double));
    std::memcpy(c.rows, p + c.size * sizeof(double), c.size * sizeof(double));
    std::memcpy(c.slack, p + 2 * c.size * sizeof(double), c.size * sizeof(float));
  }
  const CellArrays& c = read.cells_;
  double rows = 0;
  bool ascending = true;
  bool counted = true;
  for (std::size_t i = 0; i < c.size; ++i) {
    const bool point = c.rows[i] < 0;
    ascending = ascending && std::isfinite(c.value[i]) &&
                (i == 0 || (point ? c.value[i] >= c.value[i - 1] : c.value[i] > c.value[i - 1]));
    counted = counted && std::isfinite(c.rows[i]) && c.rows[i] != 0 && is_count(c.slack[i]);
    rows += std::fabs(c.rows[i]);
  }
  Status status;
  if (!ascending) {
    status = invalid("values are not in ascending order");
  } else if (!counted || !(std::fabs(rows - head.cell_rows) <= 1e-9 * rows) ||
             !(std::fabs(rows - head.totals.rows()) <= 1e-9 * rows)) {
    status = invalid("rows do not add up");
  } else if (c.size > 0 &&
             (c.value[c.size - 1] > head.totals.max() || c.value[0] < head.totals.min())) {
    status = invalid("values are outside [min, max]");
  }
  if (!status.ok()) {
    read.release_all();
    return status;
  }
  read.specials_ = head.specials;
  read.sampling_ = head.sampling;
  read.sampling_.padding = 0;
  read.totals_ = head.totals;
  read.depth_ = head.depth;
  read.cell_rows_ = head.cell_rows;
  read.within_ = head.within;
  read.lattice_ = head.lattice;
  read.fractional_ = head.fractional != 0;
  *this = read;
  return status;
}

}  // namespace kde
