// The layout of joint_format.h: sizes, read access, names.
#include "core/density/joint_format.h"

#include "core/density/histogram_view.h"
#include "core/density/name_list.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

namespace kde {

namespace {

constexpr const char* kMethodNames[] = {
    "auto", "lscv", "lscv_matrix", "lscv_diagonal", "plugin_product", "normal_reference", "scott"};
static_assert(std::size(kMethodNames) == kJointMethods);

constexpr std::size_t kWord = sizeof(std::uint32_t);
constexpr int kHalfBlock = kJointBlock / 2;

// Words of a block.
constexpr std::size_t kWeightWords = 1 + kHalfBlock;
constexpr int kContrastWords = kJointBlock / 4;
constexpr std::size_t coordinate_words_of(std::uint8_t flags) {
  return (flags & kValues) != 0 ? 2 + kHalfBlock : kJointBlock;
}
constexpr std::size_t value_words_of(std::size_t value_bytes) {
  return value_bytes * kJointBlock / kWord;
}

// The 16 bits of point i.
std::uint32_t half_at(const std::uint32_t* words, int i) {
  return words[i % kHalfBlock] >> (i / kHalfBlock * 16) & 0xffff;
}

float decoded(float base, float step, std::uint32_t code) {
  if (code >= kFirstSpecial) return kSpecial[code - kFirstSpecial];
  return base + step * static_cast<float>(code);
}

}  // namespace

float raw_number(const JointColumn& c, double x) {
  const auto f =
      static_cast<float>(std::clamp((x - c.value_center) / c.value_unit, -kMostRaw, kMostRaw));
  if (c.value_bytes != 3) return f;
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(f) + 0x80) & ~0xffU);
}

std::int32_t packed_origin(const JointColumn& c, const Header& marginal) {
  if ((c.flags & kLatticeValues) == 0 || c.value_bytes == 4) return 0;
  const double k = (c.value_center - marginal.lattice_offset) / marginal.lattice_step;
  // Else no lattice of a column that was packed; sums do not overflow.
  return std::fabs(k) <= 0x1p30 ? static_cast<std::int32_t>(std::nearbyint(k)) : 0;
}

JointLayout joint_layout(const JointHeader& header, const JointSizes& sizes) {
  const std::size_t columns = header.columns;
  const std::size_t blocks = header.blocks();
  const std::size_t pairs = (header.flags & kCorrelated) != 0 ? columns * (columns - 1) / 2 : 0;
  JointLayout at;
  at.column = sizeof(JointHeader);
  at.correlation = at.column + columns * sizeof(JointColumn);
  at.heavy = at.correlation + pairs * sizeof(double);
  at.marginal = at.heavy + sizes.heavy * sizeof(double);
  at.effect = at.marginal + sizes.marginal_bytes;
  at.box = at.effect + joint_effects(columns) * sizeof(float);
  at.coordinate = at.box + blocks * columns * 2 * sizeof(float);
  at.weight = at.coordinate + blocks * columns * coordinate_words_of(header.flags) * kWord;
  at.value = at.weight + ((header.flags & kWeights) != 0 ? blocks * kWeightWords * kWord : 0);
  at.balance = at.value + blocks * value_words_of(sizes.value_bytes) * kWord;
  const bool contrasts = (header.flags & kContrasts) != 0;
  at.contrast = at.balance + (contrasts ? kMostContrasts * sizeof(float) : 0);
  at.size = at.contrast + (contrasts ? blocks * kContrastWords * kWord : 0);
  return at;
}

std::size_t joint_size(const JointHeader& header, const JointSizes& sizes) {
  return joint_layout(header, sizes).size;
}

namespace {

// What a layout relies on.
bool valid_value_bytes(const JointHeader& h, const JointColumn& c) {
  if ((h.flags & kValues) == 0 || c.is_category()) return c.value_bytes == 0;
  const int least = (c.flags & kLatticeValues) != 0 ? 2 : 3;
  return c.value_bytes >= least && c.value_bytes <= 4;
}

}  // namespace

std::size_t joint_size(const void* bytes, std::size_t available) {
  if (available < sizeof(JointHeader)) return 0;
  const auto& h = *static_cast<const JointHeader*>(bytes);
  if (h.version != kFormatVersion || h.kind != Kind::joint || h.columns < 2 ||
      h.columns > kMaxColumns || h.points < 2)
    return 0;
  if (available < sizeof(JointHeader) + h.columns * sizeof(JointColumn)) return 0;
  const auto* column = reinterpret_cast<const JointColumn*>(&h + 1);
  JointSizes sizes;
  for (int k = 0; k < h.columns; ++k) {
    const std::size_t bytes_k = column[k].marginal_bytes;
    const std::size_t most = column[k].is_category() ? kMostColumnBytes : kMostListBytes;
    if (column[k].heavy > kMaxHeavy || bytes_k < sizeof(Header) || bytes_k > most ||
        bytes_k % sizeof(double) != 0 || !valid_value_bytes(h, column[k]))
      return 0;
    sizes.add(column[k]);
  }
  const std::size_t size = joint_size(h, sizes);
  return size <= kMaxJointBytes ? size : 0;
}

bool joint_fits(const void* bytes, std::size_t size) {
  if (size == 0 || joint_size(bytes, size) != size) return false;
  const JointView d(bytes);
  if (static_cast<int>(d.header().method) >= kJointMethods) return false;
  for (int k = 0; k < d.columns(); ++k) {
    const Header& h = *d.marginal(k);
    if (d.column(k).value_type != h.value_type) return false;
    // The words of a category end with a whole word, as a histogram does.
    const std::size_t own = d.column(k).marginal_bytes;
    if (h.version != kFormatVersion || h.kind != Kind::one_column ||
        static_cast<int>(h.value_type) >= kValueTypes ||
        (h.words != 0) != d.column(k).is_category() || column_size(&h, own) != own)
      return false;
  }
  return true;
}

JointView::JointView(const void* bytes)
    : header_(static_cast<const JointHeader*>(bytes)),
      column_(reinterpret_cast<const JointColumn*>(header_ + 1)) {
  const char* p = static_cast<const char*>(bytes);
  JointSizes sizes;
  for (int k = 0; k < columns(); ++k) sizes.add(column_[k]);
  const JointLayout at = joint_layout(*header_, sizes);
  correlation_ = reinterpret_cast<const double*>(p + at.correlation);
  const auto* next_heavy = reinterpret_cast<const double*>(p + at.heavy);
  const char* next_marginal = p + at.marginal;
  for (int k = 0; k < columns(); ++k) {
    heavy_[k] = next_heavy;
    next_heavy += column_[k].heavy;
    marginal_[k] = reinterpret_cast<const Header*>(next_marginal);
    next_marginal += column_[k].marginal_bytes;
    value_offset_[k] = value_stride_;
    value_stride_ += value_words_of(column_[k].value_bytes);
    value_origin_[k] = packed_origin(column_[k], *marginal_[k]);
  }
  effect_ = reinterpret_cast<const Scales*>(p + at.effect);
  box_ = reinterpret_cast<const float*>(p + at.box);
  const auto words = [p](std::size_t offset) {
    return reinterpret_cast<const std::uint32_t*>(p + offset);
  };
  coordinate_stride_ = coordinate_words_of(header_->flags);
  coordinate_ = words(at.coordinate);
  if ((header_->flags & kWeights) != 0) weight_ = words(at.weight);
  if ((header_->flags & kValues) != 0) value_ = words(at.value);
  if ((header_->flags & kContrasts) != 0) {
    balance_ = reinterpret_cast<const float*>(p + at.balance);
    contrast_ = words(at.contrast);
  }
}

// Loops without a branch, which compilers make vector code of.
void JointView::coordinates(std::size_t b, int k, float* out) const {
  const std::uint32_t* words = coordinate_words(b, k);
  if (!has_values()) {
    std::memcpy(out, words, kJointBlock * sizeof *out);
    return;
  }
  const auto base = std::bit_cast<float>(words[0]);
  const auto step = std::bit_cast<float>(words[1]);
  words += 2;
  std::uint32_t most = 0;
  for (int i = 0; i < kHalfBlock; ++i) {
    const std::uint32_t low = words[i] & 0xffff;
    const std::uint32_t high = words[i] >> 16;
    out[i] = base + step * static_cast<float>(static_cast<std::int32_t>(low));
    out[i + kHalfBlock] = base + step * static_cast<float>(static_cast<std::int32_t>(high));
    most = std::max({most, low, high});
  }
  if (most < kFirstSpecial) return;
  for (int i = 0; i < kJointBlock; ++i) out[i] = decoded(base, step, half_at(words, i));
}

void JointView::weights(std::size_t b, float* out) const {
  const std::uint32_t* words = weight_words(b);
  const auto unit = std::bit_cast<float>(*words++);
  for (int i = 0; i < kHalfBlock; ++i) {
    out[i] = unit * static_cast<float>(static_cast<std::int32_t>(words[i] & 0xffff));
    out[i + kHalfBlock] = unit * static_cast<float>(static_cast<std::int32_t>(words[i] >> 16));
  }
}

void JointView::raw_values(std::size_t b, int k, std::int32_t* out) const {
  if (column_[k].value_bytes == 0) {
    std::fill_n(out, kJointBlock, 0);
    return;
  }
  const std::uint32_t* words = value_words(b, k);
  std::uint32_t bits[kJointBlock];
  for (int i = 0; i < kHalfBlock; ++i) {
    bits[i] = words[i] << 16;
    bits[i + kHalfBlock] = words[i] & 0xffff0000;
  }
  words += kHalfBlock;
  const unsigned bytes = column_[k].value_bytes;
  if (bytes == 3) {
    constexpr int kQuarter = kJointBlock / 4;
    for (int i = 0; i < kQuarter; ++i) {
      const std::uint32_t low = words[i];
      bits[i] |= low << 8 & 0xff00;
      bits[i + kQuarter] |= low & 0xff00;
      bits[i + 2 * kQuarter] |= low >> 8 & 0xff00;
      bits[i + 3 * kQuarter] |= low >> 16 & 0xff00;
    }
  } else if (bytes == 4) {
    for (int i = 0; i < kHalfBlock; ++i) {
      bits[i] |= words[i] & 0xffff;
      bits[i + kHalfBlock] |= words[i] >> 16;
    }
  }
  if ((column_[k].flags & kLatticeValues) == 0) {
    std::memcpy(out, bits, sizeof bits);
    return;
  }
  const std::int32_t origin = value_origin_[k];
  const unsigned shift = 32 - 8 * bytes;
  for (int i = 0; i < kJointBlock; ++i)
    out[i] = (static_cast<std::int32_t>(bits[i]) >> shift) + origin;
}

void JointView::contrasts(std::size_t b, std::uint8_t* out) const {
  const std::uint32_t* words = contrast_words(b);
  for (int part = 0; part < 4; ++part) {
    for (int i = 0; i < kContrastWords; ++i)
      out[part * kContrastWords + i] = static_cast<std::uint8_t>(words[i] >> (8 * part));
  }
}

float JointView::coordinate(std::size_t b, int k, int i) const {
  const std::uint32_t* words = coordinate_words(b, k);
  if (!has_values()) return std::bit_cast<float>(words[i]);
  return decoded(std::bit_cast<float>(words[0]), std::bit_cast<float>(words[1]),
                 half_at(words + 2, i));
}

float JointView::weight(std::size_t b, int i) const {
  const std::uint32_t* words = weight_words(b);
  return std::bit_cast<float>(*words) * static_cast<float>(half_at(words + 1, i));
}

std::int32_t JointView::raw_value(std::size_t b, int k, int i) const {
  std::int32_t all[kJointBlock];
  raw_values(b, k, all);
  return all[i];
}

double JointView::value_of(int k, float coordinate, std::int32_t raw) const {
  const JointColumn& c = column_[k];
  if (value_ == nullptr) return c.center + c.bandwidth * coordinate;
  if ((c.flags & kLatticeValues) != 0) return marginal_[k]->lattice_point(raw);
  return c.value_center + c.value_unit * std::bit_cast<float>(raw);
}

void write_boxes(void* bytes) {
  const JointView d(bytes);
  float coordinate[kJointBlock];
  for (std::size_t b = 0; b < d.blocks(); ++b) {
    for (int k = 0; k < d.columns(); ++k) {
      d.coordinates(b, k, coordinate);
      const auto [least, greatest] = std::minmax_element(coordinate, coordinate + kJointBlock);
      const std::ptrdiff_t at = d.box(b, k) - static_cast<const float*>(bytes);
      float* box = static_cast<float*>(bytes) + at;
      box[0] = *least;
      box[1] = *greatest;
    }
  }
}

const char* joint_method_name(JointMethod method) { return kMethodNames[static_cast<int>(method)]; }

const char* joint_method_list() {
  static constexpr NameList kList = name_list(kMethodNames);
  return kList.text;
}

bool parse_joint_method(const char* name, JointMethod* method) {
  return find_name(kMethodNames, name, method);
}

}  // namespace kde
