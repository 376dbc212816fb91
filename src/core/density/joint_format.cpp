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

}  // namespace

float raw_number(const JointColumn& c, double x) {
  return static_cast<float>(std::clamp((x - c.value_center) / c.value_unit, -kMostRaw, kMostRaw));
}

JointLayout joint_layout(const JointHeader& header, std::size_t heavy, std::size_t marginal_bytes) {
  const std::size_t columns = header.columns;
  const std::size_t numbers = header.blocks() * kJointBlock;
  const std::size_t pairs = (header.flags & kCorrelated) != 0 ? columns * (columns - 1) / 2 : 0;
  JointLayout at;
  at.column = sizeof(JointHeader);
  at.correlation = at.column + columns * sizeof(JointColumn);
  at.heavy = at.correlation + pairs * sizeof(double);
  at.marginal = at.heavy + heavy * sizeof(double);
  at.effect = at.marginal + marginal_bytes;
  at.box = at.effect + joint_effects(columns) * sizeof(float);
  at.coordinate = at.box + header.blocks() * columns * 2 * sizeof(float);
  at.weight = at.coordinate + numbers * columns * sizeof(float);
  at.value = at.weight + ((header.flags & kWeights) != 0 ? numbers * sizeof(float) : 0);
  at.size =
      at.value + ((header.flags & kValues) != 0 ? numbers * columns * sizeof(std::int32_t) : 0);
  return at;
}

std::size_t joint_size(const JointHeader& header, std::size_t heavy, std::size_t marginal_bytes) {
  return joint_layout(header, heavy, marginal_bytes).size;
}

std::size_t joint_size(const void* bytes, std::size_t available) {
  if (available < sizeof(JointHeader)) return 0;
  const auto& h = *static_cast<const JointHeader*>(bytes);
  if (h.version != kFormatVersion || h.kind != Kind::joint || h.columns < 2 ||
      h.columns > kMaxColumns || h.points < 2)
    return 0;
  if (available < sizeof(JointHeader) + h.columns * sizeof(JointColumn)) return 0;
  const auto* column = reinterpret_cast<const JointColumn*>(&h + 1);
  std::size_t heavy = 0;
  std::size_t marginals = 0;
  for (int k = 0; k < h.columns; ++k) {
    const std::size_t bytes_k = column[k].marginal_bytes;
    if (column[k].heavy > kMaxHeavy || bytes_k < sizeof(Header) || bytes_k > kMaxBytes ||
        bytes_k % sizeof(double) != 0)
      return 0;
    heavy += column[k].heavy;
    marginals += bytes_k;
  }
  const std::size_t size = joint_size(h, heavy, marginals);
  return size <= kMaxJointBytes ? size : 0;
}

bool joint_fits(const void* bytes, std::size_t size) {
  if (size == 0 || joint_size(bytes, size) != size) return false;
  const JointView d(bytes);
  if (static_cast<int>(d.header().method) >= kJointMethods) return false;
  for (int k = 0; k < d.columns(); ++k) {
    const Header& h = *d.marginal(k);
    if (d.column(k).value_type != h.value_type) return false;
    if (h.version != kFormatVersion || h.kind != Kind::one_column || h.kernel != Kernel::gaussian ||
        static_cast<int>(h.value_type) >= kValueTypes ||
        histogram_size(&h, d.column(k).marginal_bytes) != d.column(k).marginal_bytes)
      return false;
  }
  return true;
}

JointView::JointView(const void* bytes)
    : header_(static_cast<const JointHeader*>(bytes)),
      column_(reinterpret_cast<const JointColumn*>(header_ + 1)) {
  const char* p = static_cast<const char*>(bytes);
  std::size_t heavy = 0;
  std::size_t marginals = 0;
  for (int k = 0; k < columns(); ++k) {
    heavy += column_[k].heavy;
    marginals += column_[k].marginal_bytes;
  }
  const JointLayout at = joint_layout(*header_, heavy, marginals);
  correlation_ = reinterpret_cast<const double*>(p + at.correlation);
  const auto* next_heavy = reinterpret_cast<const double*>(p + at.heavy);
  const char* next_marginal = p + at.marginal;
  for (int k = 0; k < columns(); ++k) {
    heavy_[k] = next_heavy;
    next_heavy += column_[k].heavy;
    marginal_[k] = reinterpret_cast<const Header*>(next_marginal);
    next_marginal += column_[k].marginal_bytes;
  }
  effect_ = reinterpret_cast<const Scales*>(p + at.effect);
  box_ = reinterpret_cast<const float*>(p + at.box);
  coordinate_ = reinterpret_cast<const float*>(p + at.coordinate);
  if ((header_->flags & kWeights) != 0) weight_ = reinterpret_cast<const float*>(p + at.weight);
  if ((header_->flags & kValues) != 0) value_ = reinterpret_cast<const std::int32_t*>(p + at.value);
}

double JointView::value(std::size_t b, int k, int i) const {
  const JointColumn& c = column_[k];
  if (value_ == nullptr) return c.center + c.bandwidth * coordinates(b, k)[i];
  const std::int32_t raw = raw_values(b, k)[i];
  if ((c.flags & kLatticeValues) != 0) return marginal_[k]->lattice_point(raw);
  return c.value_center + c.value_unit * std::bit_cast<float>(raw);
}

void write_boxes(const JointHeader& header, const float* coordinate, float* box) {
  const std::size_t rows = header.blocks() * header.columns;
  for (std::size_t r = 0; r < rows; ++r, coordinate += kJointBlock) {
    const auto [least, greatest] = std::minmax_element(coordinate, coordinate + kJointBlock);
    *box++ = *least;
    *box++ = *greatest;
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
