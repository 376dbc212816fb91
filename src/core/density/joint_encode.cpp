// Writing the layout of joint_format.h: points in blocks of near neighbours.
//
// The points are halved again and again along the column in which they are spread widest, as in a
// k-d tree (J. H. Friedman, J. L. Bentley & R. A. Finkel, ACM TOMS 3(3), 1977), at whole blocks, so
// that all but the last are full. A point's rank breaks ties: the order depends on nothing but the
// points.
#include "core/density/joint_format.h"
#include "core/density/joint_layout.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <numeric>

namespace kde {

namespace {

// Values that are not finite lie that far beyond those that are, and apart: near enough not to be
// what every split is about.
constexpr float kBeyond = 12;

bool is_finite_coordinate(float t) { return std::fabs(t) <= kFarthest; }

class Order {
 public:
  Order(const std::vector<float>& coordinate, std::size_t columns)
      : columns_(columns), place_(coordinate), index_(coordinate.size() / columns) {
    std::iota(index_.begin(), index_.end(), std::uint32_t{0});
    for (std::size_t k = 0; k < columns; ++k) bring_near(k);
  }

  const std::vector<std::uint32_t>& make() {
    split(0, index_.size());
    return index_;
  }

 private:
  float place(std::uint32_t i, std::size_t k) const { return place_[i * columns_ + k]; }

  void bring_near(std::size_t k) {
    float least = 0;
    float greatest = 0;
    for (std::size_t i = k; i < place_.size(); i += columns_) {
      if (!is_finite_coordinate(place_[i])) continue;
      least = std::min(least, place_[i]);
      greatest = std::max(greatest, place_[i]);
    }
    for (std::size_t i = k; i < place_.size(); i += columns_) {
      float& t = place_[i];
      if (is_finite_coordinate(t)) continue;
      if (t < 0)
        t = least - kBeyond;
      else if (t <= kPositiveInfinity)
        t = greatest + kBeyond;
      else
        t = greatest + (t <= kNotANumber ? 2 : 3) * kBeyond;
    }
  }

  std::size_t widest(std::size_t begin, std::size_t end) const {
    std::size_t best = 0;
    float best_spread = -1;
    for (std::size_t k = 0; k < columns_; ++k) {
      float least = std::numeric_limits<float>::infinity();
      float greatest = -least;
      for (std::size_t i = begin; i < end; ++i) {
        least = std::min(least, place(index_[i], k));
        greatest = std::max(greatest, place(index_[i], k));
      }
      if (greatest - least > best_spread) {
        best_spread = greatest - least;
        best = k;
      }
    }
    return best;
  }

  void split(std::size_t begin, std::size_t end) {
    const auto at = [this](std::size_t i) {
      return index_.begin() + static_cast<std::ptrdiff_t>(i);
    };
    if (end - begin <= kJointBlock) {
      std::sort(at(begin), at(end));
      return;
    }
    const std::size_t blocks = (end - begin + kJointBlock - 1) / kJointBlock;
    const std::size_t middle = begin + blocks / 2 * kJointBlock;
    const std::size_t k = widest(begin, end);
    std::nth_element(at(begin), at(middle), at(end), [this, k](std::uint32_t i, std::uint32_t j) {
      const float a = place(i, k);
      const float b = place(j, k);
      return a != b ? a < b : i < j;
    });
    split(begin, middle);
    split(middle, end);
  }

  std::size_t columns_;
  std::vector<float> place_;
  std::vector<std::uint32_t> index_;
};

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
void write_points(const JointParts& parts, const std::vector<std::uint32_t>& order,
                  float* coordinate, float* weight, std::int32_t* value) {
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
  write_points(parts, Order(parts.coordinate, columns).make(), coordinate,
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
