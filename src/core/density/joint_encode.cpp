// Writing the layout of joint_format.h: points in blocks of near neighbours.
//
// The points are halved again and again along the column in which they are spread widest, as in a
// k-d tree (J. H. Friedman, J. L. Bentley & R. A. Finkel, ACM TOMS 3(3), 1977), at whole blocks, so
// that all but the last are full. A point's rank breaks ties: the order depends on nothing but the
// points.
#include "core/density/compact_order.h"
#include "core/density/joint_format.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

namespace kde {

namespace {

// Values that are not finite lie that far beyond those that are, and apart: near enough not to be
// what every split is about.
constexpr float kBeyond = 12;

bool is_finite_coordinate(float t) { return std::fabs(t) <= kFarthest; }

// Column k of the coordinates, those that are not finite brought near.
void place_column(const std::vector<float>& coordinate, std::size_t columns, std::size_t k,
                  std::vector<double>* place) {
  float least = 0;
  float greatest = 0;
  for (std::size_t i = k; i < coordinate.size(); i += columns) {
    if (!is_finite_coordinate(coordinate[i])) continue;
    least = std::min(least, coordinate[i]);
    greatest = std::max(greatest, coordinate[i]);
  }
  for (std::size_t i = k; i < coordinate.size(); i += columns) {
    const float t = coordinate[i];
    (*place)[i] = is_finite_coordinate(t)  ? t
                  : t < 0                  ? least - kBeyond
                  : t <= kPositiveInfinity ? greatest + kBeyond
                                           : greatest + (t <= kNotANumber ? 2 : 3) * kBeyond;
  }
}

// Which point comes where: by blocks, and within each by rank.
std::vector<std::size_t> order_of(const std::vector<float>& coordinate, std::size_t columns) {
  std::vector<double> place(coordinate.size());
  for (std::size_t k = 0; k < columns; ++k) place_column(coordinate, columns, k, &place);
  std::vector<std::size_t> order;
  static_cast<void>(compact_order(place, columns, kJointBlock, Control{}, &order));
  for (std::size_t i = 0; i < order.size(); i += kJointBlock)
    std::sort(order.begin() + std::ptrdiff_t(i),
              order.begin() + std::ptrdiff_t(std::min(i + kJointBlock, order.size())));
  return order;
}

Status parts_differ() { return Status::error(Code::internal, "joint parts of unequal length"); }

Status check_parts(const JointParts& parts) {
  const std::size_t columns = parts.column.size();
  if (columns < 2 || columns > kMaxColumns)
    return Status::error(Code::internal, "a joint density of %zu columns", columns);
  const std::size_t n = parts.coordinate.size() / columns;
  const bool correlated = (parts.header.flags & kCorrelated) != 0;
  const bool weights = (parts.header.flags & kWeights) != 0;
  const bool values = (parts.header.flags & kValues) != 0;
  if (parts.coordinate.size() != n * columns || parts.heavy.size() != columns ||
      parts.marginal.size() != columns ||
      (!parts.effect.empty() && parts.effect.size() != joint_effects(columns)) ||
      parts.correlation.size() != (correlated ? columns * (columns - 1) / 2 : 0) ||
      parts.weight.size() != (weights ? n : 0) || parts.value.size() != (values ? n * columns : 0))
    return parts_differ();
  for (float t : parts.coordinate) {
    if (std::isnan(t)) return Status::error(Code::invalid_format, "a coordinate is NaN");
  }
  if (n > kMaxJointBytes / sizeof(float))
    return Status::error(Code::too_large, "a joint density of %zu points is too large", n);
  return Status::success();
}

// Points in that order; the last block's filling stays as it is.
void write_points(const JointParts& parts, const std::vector<std::size_t>& order, float* coordinate,
                  float* weight, std::int32_t* value) {
  const std::size_t columns = parts.column.size();
  for (std::size_t p = 0; p < order.size(); ++p) {
    const std::size_t block = p / kJointBlock;
    const std::size_t i = p % kJointBlock;
    for (std::size_t k = 0; k < columns; ++k) {
      const std::size_t at = (block * columns + k) * kJointBlock + i;
      const std::size_t from = order[p] * columns + k;
      coordinate[at] = parts.coordinate[from];
      if (!parts.value.empty() && is_finite_coordinate(coordinate[at]))
        value[at] = parts.value[from];
    }
    if (!parts.weight.empty()) weight[p] = parts.weight[order[p]];
  }
}

Status encode(const JointParts& parts, DensityBytes* density) {
  if (Status s = check_parts(parts); !s.ok()) return s;
  const std::size_t columns = parts.column.size();
  JointHeader header = parts.header;
  header.varlena = 0;
  header.version = kFormatVersion;
  header.kind = Kind::joint;
  header.columns = static_cast<std::uint8_t>(columns);
  std::fill(std::begin(header.reserved), std::end(header.reserved), std::uint8_t{0});
  header.points = static_cast<std::uint32_t>(parts.coordinate.size() / columns);

  std::size_t heavy = 0;
  std::size_t marginals = 0;
  for (std::size_t k = 0; k < columns; ++k) {
    heavy += parts.heavy[k].size();
    marginals += parts.marginal[k].whole_words();
  }
  const JointLayout at = joint_layout(header, heavy, marginals);
  if (at.size > kMaxJointBytes)
    return Status::error(Code::too_large, "the joint density would take %zu bytes", at.size);
  *density = DensityBytes(at.size);
  char* bytes = density->data();
  std::memcpy(bytes, &header, sizeof header);
  char* next = bytes + at.column;
  const auto put = [&next](const void* from, std::size_t n) {
    if (n > 0) std::memcpy(next, from, n);
    next += n;
  };
  for (std::size_t k = 0; k < columns; ++k) {
    JointColumn column = parts.column[k];
    column.reserved = 0;
    column.reserved2 = 0;
    column.heavy = static_cast<std::uint32_t>(parts.heavy[k].size());
    column.marginal_bytes = static_cast<std::uint32_t>(parts.marginal[k].whole_words());
    put(&column, sizeof column);
  }
  put(parts.correlation.data(), parts.correlation.size() * sizeof(double));
  for (const std::vector<double>& h : parts.heavy) put(h.data(), h.size() * sizeof(double));
  for (const DensityBytes& marginal : parts.marginal) {
    char* const begin = next;
    put(marginal.data(), marginal.whole_words());
    if (marginal.size() > 0)
      std::memset(begin + offsetof(Header, varlena), 0, sizeof(std::uint32_t));
  }

  put(parts.effect.data(), parts.effect.size() * sizeof(float));

  auto* coordinate = reinterpret_cast<float*>(bytes + at.coordinate);
  std::fill_n(coordinate, (at.weight - at.coordinate) / sizeof(float), kNowhere);
  write_points(parts, order_of(parts.coordinate, columns), coordinate,
               reinterpret_cast<float*>(bytes + at.weight),
               reinterpret_cast<std::int32_t*>(bytes + at.value));
  write_boxes(header, coordinate, reinterpret_cast<float*>(bytes + at.box));
  return validate_joint(bytes, at.size);
}

}  // namespace

Status encode_joint(const JointParts& parts, DensityBytes* density) noexcept {
  try {
    return encode(parts, density);
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "out of memory while encoding a joint density");
  }
}

}  // namespace kde
