// finish(): find the lattice, select the bandwidth, encode.
#include "core/fit/fit.h"

#include "core/density/histogram.h"
#include "core/estimate/atoms.h"
#include "core/estimate/lattice.h"
#include "core/fit/described.h"
#include "core/select/line_bandwidth.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <numeric>

namespace kde {

namespace {

// Up to here the plug-in's sums take fewer instructions pair by pair (make_tied_sums).
constexpr std::size_t kFewWeighted = 100;

class Finishing {
 public:
  Finishing(const Summary& summary, const FitOptions& options, const Control& control,
            const Measures* measures)
      : summary_(summary), options_(options), control_(control), measures_(measures) {
    cells_.reserve(summary.cells());
    for (std::size_t i = 0; i < summary.cells(); ++i) cells_.push_back(summary.cell(i));
  }

  Status run(DensityBytes* density) {
    describe_rows();
    if (!(std::max(header_.rows, header_.nulls) <= kMostRows))
      return Status::error(Code::invalid_argument, "rows of all values weigh more than %g together",
                           kMostRows);
    find_lattice_of_cells();
    if (control_.stop_requested()) return Status::error(Code::cancelled, "cancelled");
    if (Status s = select(); !s.ok()) return s;
    const double rows = header_.rows;
    const double slack = rows > 0 ? error_rows_ / rows : 0;
    const std::vector<MeasureFit> fits = measure_fits();
    MeasureOptions of;
    of.fits = fits;
    of.sampled = summary_.sampling().any != 0;
    return encode(header_, cells_, slack, options_, summary_, measures_, of, density);
  }

 private:
  bool automatic() const { return options_.method == Method::automatic; }

  void describe_rows() {
    const Summary::Specials& s = summary_.specials();
    const SummaryTotals& t = summary_.totals();
    Header& h = header_;
    h.kernel = Kernel::gaussian;
    h.flags = static_cast<std::uint8_t>((summary_.sampling().any ? 0 : kEveryRowRead) |
                                        (automatic() ? kBounded : 0));
    h.value_type = options_.value_type;
    h.method = automatic() ? Method::plugin : options_.method;
    // What validate() takes: a sum of densities may be of more.
    h.sample_rows = std::min(t.count(), 0x1p62);
    describe_totals(t, s, t.rows() + s.nans + s.negative_infinities + s.positive_infinities, 1, &h);
    if (h.rows > 0 && h.rows <= kMostRows) summary_.sampling().describe(&h);
  }

  std::vector<MeasureFit> measure_fits() const {
    if (measures_ == nullptr) return {};
    std::vector<MeasureFit> fits(static_cast<std::size_t>(measures_->count()));
    for (std::size_t k = 0; k < fits.size(); ++k) {
      const auto at = static_cast<int>(k);
      const SummaryTotals& totals = measures_->totals(at);
      const MeasureSampling& sampling = measures_->sampling(at);
      fits[k].value_type = options_.measure_types[k];
      if (!(totals.rows() > 0)) continue;
      fits[k].mean_error = finite_error(sampling.sum_error / totals.rows());
      if (summary_.sampling().any != 0) fits[k].counts = sampling.counts;
      for (int i = 0; i < kErrorScales; ++i)
        fits[k].mean_variance[i] =
            finite_float(sampling.weight[i] * totals.count() / totals.rows());
    }
    return fits;
  }

  // The lattice that merged densities share. Else the boundaries of the cells are values that
  // occurred: a lattice that has them all is the column's, as far as anyone can tell. Of ranges
  // that were merged it is not, but may be the type's: they are even on others.
  void find_lattice_of_cells() {
    error_rows_ = summary_.error_rows();
    if (cells_.empty()) return;
    Header found = header_;
    const bool ranges =
        summary_.known_within() &&
        std::any_of(cells_.begin(), cells_.end(), [](const HistogramCell& c) { return !c.point; });
    const MergedLattice& merged = summary_.lattice();
    if (merged.step > 0 && (ranges || options_.lattice_step > 0)) {
      found.lattice_step = merged.step;
      found.lattice_offset = merged.offset;
      found.lattice_scale = merged.scale;
      if (take_lattice(found)) {
        error_rows_ = std::min(summary_.error_of_cells(), merged.within);
        return;
      }
      found = header_;
    }
    if (options_.lattice_step > 0) {
      found.lattice_step = options_.lattice_step;
    } else if (!ranges) {
      const Lattice lattice = find_lattice(ends_of(cells_), control_);
      if (!lattice) return;
      found.lattice_step = lattice.step();
      found.lattice_offset = lattice.value(0);
      found.lattice_scale = lattice.scale;
    }
    if (!(found.lattice_step > 0) || !take_lattice(found) || !ranges) return;
    error_rows_ = std::min(summary_.error_of_cells(), error_rows_ + rows_of_a_point());
  }

  // If every boundary lies on it.
  bool take_lattice(const Header& found) {
    if (!lattice_resolved(found)) return false;
    for (const HistogramCell& cell : cells_) {
      const double k = std::nearbyint((cell.value - found.lattice_offset) / found.lattice_step);
      if (found.lattice_point(k) != cell.value) return false;
    }
    header_ = found;
    return true;
  }

  // The most that a range has for a point of the lattice.
  double rows_of_a_point() const {
    double most = 0;
    for (std::size_t i = 1; i < cells_.size(); ++i) {
      if (cells_[i].point) continue;
      const double points =
          (cells_[i].value / 2 - cells_[i - 1].value / 2) / header_.lattice_step * 2;
      most = std::max(most, cells_[i].rows / std::max(std::nearbyint(points), 1.0));
    }
    return most;
  }

  // Each cell's rows in its middle.
  std::vector<WeightedValue> middles() const {
    std::vector<WeightedValue> out;
    out.reserve(cells_.size());
    double low = cells_.front().value;
    for (const HistogramCell& cell : cells_) {
      out.push_back({cell.point ? cell.value : std::midpoint(low, cell.value), cell.rows});
      low = cell.value;
    }
    return out;
  }

  // The same without the heaps, values that have rows of their own. Where all values are known they
  // are told as in a sample; else a heap is a point that no cell may be joined to and that has more
  // than kHeavy times the rows of its neighbours' median, which on a lattice are left to it.
  std::vector<WeightedValue> without_heaps() const {
    const bool lattice = header_.lattice_step > 0;
    std::vector<WeightedValue> all = middles();
    const double limit = summary_.join_limit();
    if (limit == 0) {
      const double row = summary_.totals().rows() / summary_.totals().count();
      AtomSplit split = split_atoms(all, lattice, row);
      const bool varied =
          split.rest.size() > 1 && split.rest.front().value < split.rest.back().value;
      return varied ? std::move(split.rest) : std::move(all);
    }
    std::vector<WeightedValue> out;
    out.reserve(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      WeightedValue v = all[i];
      if (cells_[i].point && v.weight > limit) {
        const double median =
            median_beside(i, all.size(), [&all](std::size_t j) { return all[j].weight; });
        if (v.weight > kHeavy * median) v.weight = lattice ? median : 0;
      }
      if (v.weight > 0) out.push_back(v);
    }
    return out;
  }

  // What the bandwidth is selected from, in units of about 1. A method by name is told of all rows.
  void weigh_values(WeightedLine* line) {
    const std::vector<WeightedValue> rest = automatic() ? without_heaps() : middles();
    if (rest.empty()) return;
    const double first = rest.front().value;
    const double last = rest.back().value;
    unit_.origin = std::isfinite(last - first) ? rest[rest.size() / 2].value : 0;
    std::frexp(std::max(last - unit_.origin, unit_.origin - first), &unit_.exponent);
    for (const WeightedValue& v : rest) line->add(unit_.to_u(v.value), v.weight);
  }

  Status select() {
    WeightedLine weighed;
    std::vector<double>&values = weighed.values, &weights = weighed.weights;
    if (cells_.size() > 1) weigh_values(&weighed);
    if (values.size() < 2) return Status::success();
    double rows = 0;
    for (double w : weights) rows += w;
    // Rows that weigh less or more than one are as many as they are.
    const double n = rows / summary_.totals().rows() * summary_.totals().count();
    // Where one value outweighs all others that says little of these: each value occurred.
    const double kept = std::max(n, static_cast<double>(values.size()));
    for (double& w : weights) w *= kept / rows;
    LineValues line{values, weights, std::llround(std::min(kept, 0x1p62))};

    LineRequest request;
    request.method = header_.method;
    // The plug-in's two sums; searches ask for many, which share a spectrum.
    const bool few = request.method == Method::plugin && values.size() <= kFewWeighted;
    request.engine.kind = few ? Engine::Kind::simd : Engine::Kind::spectral;
    LineBandwidth found;
    Status status = select_line_bandwidth(request, line, control_, &found);
    const auto stopped = [&status] {
      return status.code == Code::cancelled || status.code == Code::out_of_memory;
    };
    if (!status.ok() && !stopped()) {
      request.method = Method::silverman;
      status = select_line_bandwidth(request, line, control_, &found);
    }
    // Counts need no bandwidth: whatever the values are, there is a density of them.
    if (!status.ok()) return stopped() ? status : Status::success();
    header_.bandwidth = unit_.bandwidth(found.h);
    return status;
  }

  const Summary& summary_;
  const FitOptions& options_;
  const Control& control_;
  const Measures* measures_;
  Header header_{};
  std::vector<HistogramCell> cells_;
  double error_rows_ = 0;  // bound for a count's error at any x
  UnitScale unit_;
};

}  // namespace

Status finish(const Summary& summary, const FitOptions& options, const Control& control,
              DensityBytes* density, const Measures* measures) noexcept {
  if (options.budget < kLeastHistogramBytes || options.budget > kMaxBytes)
    return Status::error(Code::invalid_argument, "a density takes %zu to %zu bytes, not %zu",
                         kLeastHistogramBytes, kMaxBytes, options.budget);
  try {
    return Finishing(summary, options, control, measures).run(density);
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "out of memory");
  } catch (...) {
    return Status::error(Code::internal, "unexpected exception while finishing a density");
  }
}

}  // namespace kde
