// The search of local_minima.h, from wide to narrow bandwidths.
#include "core/select/local_minima.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/select/root.h"
#include "core/guarded.h"

namespace kde {
namespace {

constexpr double kStepsPerOctave = 4;
constexpr double kPrecision = 1e-10;  // of log h

class Search {
 public:
  // batch: whether one call of `sweep` for many bandwidths costs less than a call for each.
  Search(const CriterionSweep& sweep, bool batch) : sweep_(sweep), batch_(batch) {}

  Status run(double low, double high, LocalMinima* out) {
    const double octaves = std::log2(high / low);
    // Whole octaves take as many steps whatever the rounding of their ends.
    const int steps = std::max(1, static_cast<int>(std::ceil(octaves * kStepsPerOctave - 1e-9)));
    std::vector<double> h;
    for (int k = 0; k <= steps; ++k)
      h.push_back(k == steps ? low : high * std::exp2(-octaves * k / steps));
    std::vector<Criterion> grid;
    if (Status s = evaluate_grid(h, &grid); !s.ok()) return s;

    LocalMinima found;
    found.highest = grid.front();
    found.lowest = grid.back();
    for (std::size_t k = 1; k < grid.size(); ++k) {
      if (!(grid[k].slope < 0 && grid[k - 1].slope >= 0)) continue;
      Criterion minimum;
      if (Status s = refine(grid[k], grid[k - 1], &minimum); !s.ok()) return s;
      found.interior.push_back(minimum);
    }
    std::reverse(found.interior.begin(), found.interior.end());
    *out = std::move(found);
    return Status::success();
  }

 private:
  // For h, descending, up to the first that is too_large.
  Status evaluate_grid(const std::vector<double>& h, std::vector<Criterion>* grid) {
    if (batch_) {
      grid->resize(h.size());
      const Status all = evaluate(h, *grid);
      if (all.code != Code::too_large) return all;
      grid->clear();
    }
    for (const double one : h) {
      Criterion here;
      const Status status = evaluate({&one, 1}, {&here, 1});
      if (status.code == Code::too_large && !grid->empty()) break;
      if (!status.ok()) return status;
      grid->push_back(here);
    }
    return Status::success();
  }

  Status evaluate(std::span<const double> h, std::span<Criterion> at) {
    if (Status s = sweep_(h, at); !s.ok()) return s;
    for (std::size_t k = 0; k < h.size(); ++k) {
      at[k].h = h[k];
      if (!std::isfinite(at[k].value) || !std::isfinite(at[k].slope)) {
        return Status::error(Code::degenerate, "the criterion is not finite at bandwidth %g", h[k]);
      }
    }
    return Status::success();
  }

  Status refine(const Criterion& below, const Criterion& above, Criterion* minimum) {
    const auto slope = [&](double log_h, double* value) {
      Criterion at;
      const double h = std::exp(log_h);
      Status s = evaluate({&h, 1}, {&at, 1});
      *value = at.slope;
      return s;
    };
    double log_h = 0;
    if (Status s = bracketed_root(slope, std::log(below.h), below.slope, std::log(above.h),
                                  above.slope, kPrecision, &log_h);
        !s.ok())
      return s;
    const double h = std::exp(log_h);
    return evaluate({&h, 1}, {minimum, 1});
  }

  const CriterionSweep& sweep_;
  bool batch_;
};

Status search(const CriterionSweep& sweep, bool batch, double low, double high, LocalMinima* out) {
  if (!(low > 0) || !(low < high) || !std::isfinite(high)) {
    return Status::error(Code::invalid_argument, "the bandwidths searched must be positive");
  }
  return guarded([&] { return Search(sweep, batch).run(low, high, out); });
}

}  // namespace

Status find_local_minima(const CriterionAt& criterion, double low, double high, LocalMinima* out) {
  const auto one = [&criterion](std::span<const double> h, std::span<Criterion> at) {
    return criterion(h[0], &at[0]);
  };
  return search(one, false, low, high, out);
}

Status find_local_minima(const CriterionSweep& sweep, double low, double high, LocalMinima* out) {
  return search(sweep, true, low, high, out);
}

}  // namespace kde
