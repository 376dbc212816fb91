// The rules of joint_format.h, checked on bytes of unknown origin.
#include "core/density/checks.h"
#include "core/density/fields.h"
#include "core/density/histogram_view.h"
#include "core/density/joint_format.h"
#include "core/density/measure_format.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace kde {

namespace {

using kde::invalid;
Status invalid(const char* what, int column) {
  return Status::error(Code::invalid_format, "%.180s (column %d)", what, column + 1);
}

bool nonnegative(double x) { return std::isfinite(x) && x >= 0; }

// Weights and own rows add up to the rows, to a share of them: what single precision leaves.
constexpr double kRowsSlack = 1e-5;

Status validate_header(const JointHeader& h) {
  if (h.version != kFormatVersion)
    return Status::error(Code::invalid_format, "unknown format version %d", int{h.version});
  if (h.kind != Kind::joint) return invalid("not a joint density");
  if (Status s = check_fields(h); !s.ok()) return s;
  if (h.sample_rows < h.points) return invalid("number of sample rows is out of range");
  if (!(h.own_rows * h.points <= h.rows * (1 + 1e-9)))
    return invalid("own rows of the points exceed the rows");
  const bool contrasts = (h.flags & kContrasts) != 0;
  if (contrasts != (h.contrasts > 0))
    return invalid("contrasts without blocks, or these without them");
  if (contrasts && (h.flags & (kValues | kWeights)) != (kValues | kWeights))
    return invalid("contrasts without values or weights");
  return Status::success();
}

Status validate_column(const JointView& d, int k) {
  const JointColumn& c = d.column(k);
  const bool values = (d.header().flags & kValues) != 0;
  if (Status s = check_fields(c); !s.ok()) return invalid(s.message, k);
  if ((c.flags & kLatticeValues) != 0 && !values)
    return invalid("lattice values without values", k);
  if (c.is_category()) {
    if (c.flags != 0 || c.heavy != 0 || !values || d.correlated() || c.center != 0 ||
        c.bandwidth != 1 || c.value_center != 0 || c.value_unit != 1)
      return invalid("a category has an axis of numbers", k);
  } else if ((c.flags & kNormalScores) != 0) {
    if (!values) return invalid("normal scores without values", k);
    if (d.correlated()) return invalid("normal scores with correlated kernels", k);
    if (c.center != 0) return invalid("center of normal scores is not 0", k);
    if (!(c.bandwidth >= kLeastScoreBandwidth && c.bandwidth <= 1))
      return invalid("bandwidth of normal scores is out of range", k);
  } else if (c.heavy != 0) {
    return invalid("heavy values on a linear axis", k);
  }
  const std::span<const double> heavy = d.heavy(k);
  for (std::size_t i = 0; i < heavy.size(); ++i) {
    if (!std::isfinite(heavy[i]) || (i > 0 && heavy[i] <= heavy[i - 1]))
      return invalid("heavy values are not finite and ascending", k);
  }
  const Header& m = *d.marginal(k);
  if ((m.words != 0) != c.is_category() || m.measures != 0 || m.grouped != 0)
    return invalid("a marginal has words, measures or groups where none can be", k);
  if (!(m.rows <= kMostRows && m.nulls <= kMostRows))
    return invalid("a number of rows is out of range", k);
  if (Status s = c.is_category() ? validate_measured(&m, c.marginal_bytes)
                                 : validate_one_column(&m, c.marginal_bytes);
      !s.ok()) {
    return Status::error(Code::invalid_format, "%.180s (marginal of column %d)", s.message, k + 1);
  }
  if (m.varlena != 0) return invalid("length word of a marginal is not 0", k);
  if (m.value_type != c.value_type) return invalid("marginal of another type", k);
  if ((c.flags & kLatticeValues) != 0 && !(m.lattice_step > 0))
    return invalid("lattice values without a lattice", k);
  if (c.is_category() && d.words(k).words() >= kFirstSpecial) return invalid("too many words", k);
  return Status::success();
}

// P less kLeastEigenvalue of the unit matrix has a Cholesky factor: so has every part of P.
Status validate_correlation(const JointView& d) {
  if (!d.correlated()) return Status::success();
  double factor[kMaxColumns][kMaxColumns];
  for (int j = 0; j < d.columns(); ++j) {
    for (int k = 0; k <= j; ++k) {
      const double r = d.correlation(j, k);
      if (!(std::fabs(r) <= 1)) return invalid("a correlation is outside [-1, 1]");
      double rest = j == k ? 1 - kLeastEigenvalue : r;
      for (int i = 0; i < k; ++i) rest -= factor[j][i] * factor[k][i];
      if (j == k && !(rest > 0)) return invalid("correlations are not positive definite");
      factor[j][k] = j == k ? std::sqrt(rest) : rest / factor[k][k];
    }
  }
  return Status::success();
}

bool is_special(float t) {
  return std::find(std::begin(kSpecial), std::end(kSpecial), t) != std::end(kSpecial);
}

// Ranks of words, or of the values that are not kept, if there are some.
Status validate_ranks(const JointView& d, int k, const float (&t)[kJointBlock]) {
  const WordsView words = d.words(k);
  const auto most = static_cast<float>(words.others() > 0 ? words.words() : words.words() - 1.0);
  for (const float rank : t) {
    if (rank != kNowhere && !(rank >= 0 && rank <= most && rank == std::floor(rank)))
      return invalid("a value is none of the category's", k);
  }
  return Status::success();
}

Status validate_balance(const JointView& d) {
  for (const float balance : d.balance()) {
    if (!(std::fabs(balance) <= d.header().rows * (1 + kRowsSlack)))
      return invalid("a contrast has more than all rows");
  }
  return Status::success();
}

Status validate_points_of(const JointView& d, std::size_t b, int k, int points) {
  float t[kJointBlock];
  d.coordinates(b, k, t);
  std::int32_t raw[kJointBlock] = {};
  if (d.column(k).is_category()) {
    if (Status s = validate_ranks(d, k, t); !s.ok()) return s;
  } else if (d.has_values()) {
    d.raw_values(b, k, raw);
  }
  const std::int32_t none = packed_origin(d.column(k), *d.marginal(k));
  for (int i = 0; i < kJointBlock; ++i) {
    const bool finite = std::fabs(t[i]) <= kFarthest;
    if (!finite && !is_special(t[i])) return invalid("a coordinate is out of range", k);
    if (i >= points && t[i] != kNowhere) return invalid("filling lies somewhere", k);
    if (d.has_values() && !finite && raw[i] != none)
      return invalid("a value that is not finite is not 0", k);
    if (finite && !std::isfinite(d.value_of(k, t[i], raw[i])))
      return invalid("a value is not finite", k);
  }
  const auto [least, greatest] = std::minmax_element(t, t + kJointBlock);
  if (d.least(b, k) != *least || d.greatest(b, k) != *greatest)
    return invalid("a block's box does not fit its points", k);
  return Status::success();
}

Status validate_effects(const JointView& d) {
  for (int j = 0; j < d.columns(); ++j) {
    for (int i = 0; i < kErrorScales; ++i) {
      bool valid =
          nonnegative(d.mean_effect(j, false)[i]) && nonnegative(d.mean_effect(j, true)[i]);
      for (int k = 0; k < j; ++k) valid = valid && nonnegative(d.count_effect(j, k)[i]);
      if (!valid) return invalid("a design effect is negative or not finite", j);
    }
  }
  return Status::success();
}

Status validate_contrasts(const JointView& d, std::size_t b, int points) {
  std::uint8_t code[kJointBlock];
  d.contrasts(b, code);
  for (int i = 0; i < kJointBlock; ++i) {
    if (i < points ? code[i] >= 2 * d.contrasts() : code[i] != 0)
      return invalid("a point is in no contrast that there is");
  }
  return Status::success();
}

Status validate_points(const JointView& d, const Control& control) {
  const JointHeader& h = d.header();
  double weights = 0;
  for (std::size_t b = 0; b < d.blocks(); ++b) {
    if (b % 128 == 127 && control.stop_requested()) return cancelled();
    const int points =
        static_cast<int>(std::min<std::size_t>(kJointBlock, h.points - b * kJointBlock));
    for (int k = 0; k < d.columns(); ++k) {
      if (Status s = validate_points_of(d, b, k, points); !s.ok()) return s;
    }
    if (d.contrasts() > 0) {
      if (Status s = validate_contrasts(d, b, points); !s.ok()) return s;
    }
    if (!d.has_weights()) continue;
    float weight[kJointBlock];
    d.weights(b, weight);
    for (int i = 0; i < kJointBlock; ++i) {
      const float w = weight[i];
      if (!nonnegative(w) || (i >= points && w != 0))
        return invalid("a weight is negative or not finite");
      weights += w;
    }
  }
  if (d.has_weights() &&
      !(std::fabs(weights + h.own_rows * h.points - h.rows) <= kRowsSlack * h.rows))
    return invalid("rows do not add up");
  return Status::success();
}

}  // namespace

Status validate_joint(const void* bytes, std::size_t size, const Control& control) noexcept {
  if (size < sizeof(JointHeader)) return invalid("too short");
  if (size > kMaxJointBytes) return invalid("longer than 64 MB");
  if (Status s = validate_header(*static_cast<const JointHeader*>(bytes)); !s.ok()) return s;
  if (joint_size(bytes, size) != size) return invalid("length does not fit its contents");
  const JointView d(bytes);
  for (int k = 0; k < d.columns(); ++k) {
    if (Status s = validate_column(d, k); !s.ok()) return s;
  }
  if (Status s = validate_correlation(d); !s.ok()) return s;
  if (Status s = validate_effects(d); !s.ok()) return s;
  if (Status s = validate_balance(d); !s.ok()) return s;
  return validate_points(d, control);
}

}  // namespace kde
