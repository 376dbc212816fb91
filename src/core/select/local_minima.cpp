// The search of local_minima.h, from wide to narrow bandwidths.
#include "core/select/local_minima.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include "core/select/root.h"

namespace kde {
namespace {

constexpr double kStepsPerOctave = 4;
constexpr double kPrecision = 1e-10;  // of log h

class Search {
 public:
  explicit Search(const CriterionAt& criterion) : criterion_(criterion) {}

  Status run(double low, double high, LocalMinima* out) {
    const double octaves = std::log2(high / low);
    const int steps = std::max(1, static_cast<int>(std::ceil(octaves * kStepsPerOctave)));
    LocalMinima found;
    Criterion above;
    for (int k = 0; k <= steps; ++k) {
      Criterion here;
      const double h = k == steps ? low : high * std::exp2(-octaves * k / steps);
      const Status status = evaluate(h, &here);
      if (status.code == Code::too_large && k > 0) break;
      if (!status.ok()) return status;
      if (k == 0) found.highest = here;
      if (k > 0 && here.slope < 0 && above.slope >= 0) {
        Criterion minimum;
        if (Status s = refine(here, above, &minimum); !s.ok()) return s;
        found.interior.push_back(minimum);
      }
      above = here;
    }
    found.lowest = above;
    std::reverse(found.interior.begin(), found.interior.end());
    *out = std::move(found);
    return Status::success();
  }

 private:
  Status evaluate(double h, Criterion* at) {
    if (Status s = criterion_(h, at); !s.ok()) return s;
    at->h = h;
    if (std::isfinite(at->value) && std::isfinite(at->slope)) return Status::success();
    return Status::error(Code::degenerate, "the criterion is not finite at bandwidth %g", h);
  }

  Status refine(const Criterion& below, const Criterion& above, Criterion* minimum) {
    const auto slope = [&](double log_h, double* value) {
      Criterion at;
      Status s = evaluate(std::exp(log_h), &at);
      *value = at.slope;
      return s;
    };
    double log_h = 0;
    if (Status s = bracketed_root(slope, std::log(below.h), below.slope, std::log(above.h),
                                  above.slope, kPrecision, &log_h);
        !s.ok())
      return s;
    return evaluate(std::exp(log_h), minimum);
  }

  const CriterionAt& criterion_;
};

}  // namespace

Status find_local_minima(const CriterionAt& criterion, double low, double high, LocalMinima* out) {
  if (!(low > 0) || !(low < high) || !std::isfinite(high)) {
    return Status::error(Code::invalid_argument, "the bandwidths searched must be positive");
  }
  try {
    return Search(criterion).run(low, high, out);
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "out of memory while searching a bandwidth");
  }
}

}  // namespace kde
