// Writing the layout of joint_format.h: points in blocks of near neighbours.
//
// The points are halved again and again along the column in which they are spread widest, as in a
// k-d tree (J. H. Friedman, J. L. Bentley & R. A. Finkel, ACM TOMS 3(3), 1977), at whole blocks, so
// that all but the last are full. A point's rank breaks ties: the order depends on nothing but the
// points. A category's values lie farther apart than numbers, the frequent ones farthest, so that a
// block has few of them.
#include "core/density/compact_order.h"
#include "core/density/joint_format.h"
#include "core/guarded.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <numeric>

namespace kde {

namespace {

// Values that are not finite lie that far beyond those that are, and apart: near enough not to be
// what every split is about.
constexpr float kBeyond = 12;

bool is_finite_coordinate(float t) { return std::fabs(t) <= kFarthest; }
bool is_special(float t) {
  return std::find(std::begin(kSpecial), std::end(kSpecial), t) != std::end(kSpecial);
}

// Column k of the coordinates, those that are not finite brought near.
void place_column(const JointParts& parts, std::size_t k, std::vector<double>* place) {
  const std::vector<float>& coordinate = parts.coordinate;
  const std::size_t columns = parts.column.size();
  const bool category = parts.column[k].is_category();
  float least = 0;
  float greatest = 0;
  for (std::size_t i = k; i < coordinate.size(); i += columns) {
    if (!is_finite_coordinate(coordinate[i])) continue;
    least = std::min(least, coordinate[i]);
    greatest = std::max(greatest, coordinate[i]);
  }
  for (std::size_t i = k; i < coordinate.size(); i += columns) {
    const float t = coordinate[i];
    (*place)[i] = category                  ? kBeyond * std::log2(1 + double{t})
                  : is_finite_coordinate(t) ? t
                  : t < 0                   ? least - kBeyond
                  : t <= kPositiveInfinity  ? greatest + kBeyond
                                            : greatest + (t <= kNotANumber ? 2 : 3) * kBeyond;
  }
}

// Which point comes where: by blocks, and within each by rank.
std::vector<std::size_t> order_of(const JointParts& parts) {
  const std::size_t columns = parts.column.size();
  if (parts.draft) {
    std::vector<std::size_t> order(parts.coordinate.size() / columns);
    std::iota(order.begin(), order.end(), std::size_t{0});
    return order;
  }
  std::vector<double> place(parts.coordinate.size());
  for (std::size_t k = 0; k < columns; ++k) place_column(parts, k, &place);
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
      parts.contrast.size() != (parts.header.contrasts > 0 ? n : 0) ||
      parts.weight.size() != (weights ? n : 0) || parts.value.size() != (values ? n * columns : 0))
    return parts_differ();
  for (float t : parts.coordinate) {
    if (!is_finite_coordinate(t) && !is_special(t))
      return Status::error(Code::invalid_format, "a coordinate is out of range");
  }
  if (n > kMaxJointBytes / sizeof(float))
    return Status::error(Code::too_large, "a joint density of %zu points is too large", n);
  return Status::success();
}

// A block's numbers of four bytes as stored.
struct BlockNumbers {
  float coordinate[kMaxColumns][kJointBlock];
  float weight[kJointBlock];
  std::int32_t value[kMaxColumns][kJointBlock];
  std::uint32_t contrast[kJointBlock];
};

// Points order[begin ...); the last block's filling.
void gather_block(const JointParts& parts, std::span<const std::size_t> order, std::size_t begin,
                  BlockNumbers* block) {
  const std::size_t columns = parts.column.size();
  for (std::size_t i = 0; i < kJointBlock; ++i) {
    const bool filling = begin + i >= order.size();
    const std::size_t point = filling ? 0 : order[begin + i];
    for (std::size_t k = 0; k < columns; ++k) {
      const std::size_t from = point * columns + k;
      const float t = filling ? kNowhere : parts.coordinate[from];
      block->coordinate[k][i] = t;
      block->value[k][i] = parts.value.empty() || !is_finite_coordinate(t) ? 0 : parts.value[from];
    }
    block->weight[i] = filling || parts.weight.empty() ? 0 : parts.weight[point];
    block->contrast[i] = filling || parts.contrast.empty() ? 0 : parts.contrast[point];
  }
}

class WordWriter {
 public:
  explicit WordWriter(std::uint32_t* out) : out_(out) {}

  void copy(const float (&numbers)[kJointBlock]) {
    std::memcpy(out_, numbers, sizeof numbers);
    out_ += kJointBlock;
  }
  void number(float x) { *out_++ = std::bit_cast<std::uint32_t>(x); }
  // n to a word, of which each has the lowest 32/n bits.
  template <int n>
  void pack(const std::uint32_t (&code)[kJointBlock]) {
    constexpr int kWords = kJointBlock / n;
    for (int i = 0; i < kWords; ++i) {
      std::uint32_t word = 0;
      for (int part = 0; part < n; ++part) word |= code[i + part * kWords] << (32 / n * part);
      *out_++ = word;
    }
  }

 private:
  std::uint32_t* out_;
};

// base + step code reaches from the least to the greatest finite coordinate, and not beyond. Ranks
// stay what they are.
void pack_coordinates(const JointColumn& column, const float (&t)[kJointBlock], WordWriter* out) {
  float base = std::numeric_limits<float>::infinity();
  float greatest = -base;
  for (const float x : t) {
    if (!is_finite_coordinate(x)) continue;
    base = std::min(base, x);
    greatest = std::max(greatest, x);
  }
  if (base > greatest) base = greatest = 0;
  constexpr auto kMost = static_cast<float>(kFirstSpecial - 1);
  float step = column.is_category() ? 1 : (greatest - base) / kMost;
  while (!column.is_category() && base + step * kMost > greatest) step = std::nextafter(step, 0.0F);
  std::uint32_t code[kJointBlock];
  for (int i = 0; i < kJointBlock; ++i) {
    if (is_finite_coordinate(t[i])) {
      const double steps = step > 0 ? (double{t[i]} - base) / step : 0;
      code[i] = static_cast<std::uint32_t>(std::lround(std::min(steps, double{kMost})));
    } else {
      const auto* const special = std::find(std::begin(kSpecial), std::end(kSpecial), t[i]);
      code[i] = kFirstSpecial + static_cast<std::uint32_t>(special - std::begin(kSpecial));
    }
  }
  out->number(base);
  out->number(step);
  out->pack<2>(code);
}

// What rounding leaves of one weight the next one has: so they add up.
void pack_weights(const float (&weight)[kJointBlock], WordWriter* out) {
  constexpr float kMost = 0xffff;
  const float unit = *std::max_element(weight, weight + kJointBlock) / kMost;
  std::uint32_t code[kJointBlock];
  float rest = 0;
  for (int i = 0; i < kJointBlock; ++i) {
    code[i] = 0;
    if (!(weight[i] > 0 && unit > 0)) continue;
    const float units = weight[i] / unit + rest;
    code[i] = static_cast<std::uint32_t>(std::lround(std::clamp(units, 0.0F, kMost)));
    rest = units - static_cast<float>(code[i]);
  }
  out->number(unit);
  out->pack<2>(code);
}

void pack_values(const JointColumn& column, const Header& marginal,
                 const std::int32_t (&value)[kJointBlock], const float (&t)[kJointBlock],
                 WordWriter* out) {
  const std::int64_t origin = packed_origin(column, marginal);
  const std::int64_t most = most_packed(column.value_bytes);
  const bool lattice = (column.flags & kLatticeValues) != 0;
  const unsigned unused = 32 - 8 * column.value_bytes;
  std::uint32_t upper[kJointBlock];
  std::uint32_t lower[kJointBlock];
  for (int i = 0; i < kJointBlock; ++i) {
    auto bits = static_cast<std::uint32_t>(value[i]);
    if (lattice) {
      const std::int64_t k = is_finite_coordinate(t[i]) ? value[i] - origin : 0;
      bits = static_cast<std::uint32_t>(std::clamp(k, -most, most)) << unused;
    } else if (unused > 0) {
      bits += 0x80;  // rounded, as by raw_number()
    }
    upper[i] = bits >> 16;
    lower[i] = (bits & 0xffff) >> unused;
  }
  out->pack<2>(upper);
  if (column.value_bytes == 3) out->pack<4>(lower);
  if (column.value_bytes == 4) out->pack<2>(lower);
}

void write_block(const BlockNumbers& numbers, std::size_t b, const JointView& d) {
  const auto writer = [](const std::uint32_t* words) {
    return WordWriter(const_cast<std::uint32_t*>(words));
  };
  for (int k = 0; k < d.columns(); ++k) {
    WordWriter coordinates = writer(d.coordinate_words(b, k));
    if (!d.has_values()) {
      coordinates.copy(numbers.coordinate[k]);
      continue;
    }
    pack_coordinates(d.column(k), numbers.coordinate[k], &coordinates);
    if (d.column(k).is_category()) continue;
    WordWriter values = writer(d.value_words(b, k));
    pack_values(d.column(k), *d.marginal(k), numbers.value[k], numbers.coordinate[k], &values);
  }
  if (d.contrasts() > 0) writer(d.contrast_words(b)).pack<4>(numbers.contrast);
  if (!d.has_weights()) return;
  WordWriter weights = writer(d.weight_words(b));
  pack_weights(numbers.weight, &weights);
}

// Of the weights as they are stored.
void write_balance(const JointView& d) {
  if (d.contrasts() == 0) return;
  double balance[kMostContrasts] = {};
  for (std::size_t b = 0; b < d.blocks(); ++b) {
    std::uint8_t code[kJointBlock];
    float weight[kJointBlock];
    d.contrasts(b, code);
    d.weights(b, weight);
    const std::size_t points =
        std::min<std::size_t>(kJointBlock, d.header().points - b * kJointBlock);
    for (std::size_t i = 0; i < points; ++i) {
      const double rows = d.header().own_rows + double{weight[i]};
      balance[code[i] / 2] += code[i] % 2 == 0 ? rows : -rows;
    }
  }
  std::copy(std::begin(balance), std::end(balance), const_cast<float*>(d.balance().data()));
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
  if (header.contrasts > 0) header.flags |= kContrasts;

  std::vector<JointColumn> column = parts.column;
  JointSizes sizes;
  for (std::size_t k = 0; k < columns; ++k) {
    column[k].reserved = 0;
    column[k].reserved2 = 0;
    column[k].heavy = static_cast<std::uint32_t>(parts.heavy[k].size());
    column[k].marginal_bytes = static_cast<std::uint32_t>(parts.marginal[k].whole_words());
    sizes.add(column[k]);
  }
  const JointLayout at = joint_layout(header, sizes);
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
  put(column.data(), columns * sizeof(JointColumn));
  put(parts.correlation.data(), parts.correlation.size() * sizeof(double));
  for (const std::vector<double>& h : parts.heavy) put(h.data(), h.size() * sizeof(double));
  for (const DensityBytes& marginal : parts.marginal) {
    char* const begin = next;
    put(marginal.data(), marginal.whole_words());
    if (marginal.size() > 0)
      std::memset(begin + offsetof(Header, varlena), 0, sizeof(std::uint32_t));
  }

  put(parts.effect.data(), parts.effect.size() * sizeof(float));

  // What is read of a layout is complete but for the points.
  const JointView d(bytes);
  const std::vector<std::size_t> order = order_of(parts);
  BlockNumbers numbers;
  for (std::size_t b = 0; b < d.blocks(); ++b) {
    gather_block(parts, order, b * kJointBlock, &numbers);
    write_block(numbers, b, d);
  }
  write_boxes(bytes);
  write_balance(d);
  return parts.draft ? Status::success() : validate_joint(bytes, at.size);
}

}  // namespace

Status encode_joint(const JointParts& parts, DensityBytes* density) noexcept {
  return guarded([&] { return encode(parts, density); });
}

}  // namespace kde
