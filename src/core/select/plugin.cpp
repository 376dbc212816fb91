// PLUGIN: the formula of plugin.h, stage by stage. The symbols are those of its sources: Wand &
// Jones, Kernel Smoothing (1995), section 3.6; Andrzejewski, Gramacki & Gramacki, AMCS 23(4), 2013,
// eqs. (6)-(12).
#include "core/select/plugin.h"

#include "core/sums/pair_sums.h"

#include <cmath>
#include <numbers>

namespace kde {
namespace {

const double kSqrtPi = std::sqrt(std::numbers::pi);
const double kSqrt2Pi = std::sqrt(2 * std::numbers::pi);

Status lost_functional(const char* name, double value) {
  return Status::error(Code::degenerate,
                       "the plug-in functional %s is %g, of the wrong sign or size", name, value);
}

bool positive_and_finite(double v) { return v > 0 && std::isfinite(v); }

}  // namespace

Status select_plugin(PairSums& sums, double sigma, std::int64_t m, std::int64_t n,
                     PluginTrace* trace) {
  if (m < 2 || n < m) {
    return Status::error(Code::invalid_argument,
                         "a plug-in bandwidth needs at least two values of a sample no smaller");
  }
  if (!std::isfinite(sigma) || sigma < 0) {
    return Status::error(Code::invalid_argument, "the standard deviation must be finite");
  }
  if (sigma == 0) return Status::error(Code::degenerate, "all values are equal");

  const double size = static_cast<double>(m);
  PluginTrace t;

  t.psi8 = 105 / (32 * kSqrtPi * std::pow(sigma, 9));
  if (!positive_and_finite(t.psi8)) return lost_functional("psi8", t.psi8);
  t.g1 = std::pow(30 / (kSqrt2Pi * t.psi8 * size), 1.0 / 9);
  if (!positive_and_finite(t.g1)) return lost_functional("psi8", t.psi8);

  double sum6 = 0;
  if (Status s = sums.derivative(6, t.g1, &sum6); !s.ok()) return s;
  t.psi6 = (2 * sum6 - 15 * size / kSqrt2Pi) / (size * size * std::pow(t.g1, 7));
  if (!positive_and_finite(-t.psi6)) return lost_functional("psi6", t.psi6);
  t.g2 = std::pow(-6 / (kSqrt2Pi * t.psi6 * size), 1.0 / 7);
  if (!positive_and_finite(t.g2)) return lost_functional("psi6", t.psi6);

  double sum4 = 0;
  if (Status s = sums.derivative(4, t.g2, &sum4); !s.ok()) return s;
  t.psi4 = (2 * sum4 + 3 * size / kSqrt2Pi) / (size * size * std::pow(t.g2, 5));
  if (!positive_and_finite(t.psi4)) return lost_functional("psi4", t.psi4);
  t.h = std::pow(1 / (2 * kSqrtPi * t.psi4 * static_cast<double>(n)), 1.0 / 5);
  if (!positive_and_finite(t.h)) return lost_functional("psi4", t.psi4);

  *trace = t;
  return Status::success();
}

PluginTrace scaled(const PluginTrace& trace, int exponent) {
  PluginTrace t = trace;
  t.psi8 = std::ldexp(t.psi8, -9 * exponent);
  t.g1 = std::ldexp(t.g1, exponent);
  t.psi6 = std::ldexp(t.psi6, -7 * exponent);
  t.g2 = std::ldexp(t.g2, exponent);
  t.psi4 = std::ldexp(t.psi4, -5 * exponent);
  t.h = std::ldexp(t.h, exponent);
  return t;
}

}  // namespace kde
