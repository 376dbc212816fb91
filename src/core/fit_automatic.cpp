// The steps of fit_automatic.h: observations, lattice, atoms, cells, bandwidth, estimate, storage.
#include "core/fit_automatic.h"

#include "core/estimate/adaptive.h"
#include "core/estimate/cell_nodes.h"
#include "core/estimate/cells.h"
#include "core/estimate/clumps.h"
#include "core/estimate/lattice.h"
#include "core/estimate/smooth.h"
#include "core/select/line_bandwidth.h"
#include "core/stopwatch.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <span>
#include <vector>

namespace kde {

namespace {

// Values seen this often on average are the column's alphabet, if no lattice explains them.
constexpr double kAlphabetRepeats = 10;
// A lattice is a model of the column only where this share of its points was seen; more where the
// values seen were seen often, and those not seen hardly exist.
constexpr double kLeastOccupied = 0.1;
constexpr double kLeastOccupiedOfAlphabet = 0.15;
// Powers of ten up to here are exact.
constexpr double kMostExactScale = 1e15;
// Atoms stored at most: of a density of lattice points only, and beside knots.
constexpr std::size_t kMostPoints = 1900;
constexpr std::size_t kMostValues = 900;
constexpr std::size_t kPointsBesideKnots = 1000;
constexpr std::size_t kValuesBesideKnots = 480;
// A lattice point is stored apart from the knots if it stands out by this much, relative to the
// points beside it.
constexpr double kStandsOut = 2;

double total_weight(std::span<const WeightedValue> values) {
  double sum = 0;
  for (const WeightedValue& v : values) sum += v.weight;
  return sum;
}

class AutomaticFit {
 public:
  AutomaticFit(const Sample& sample, const FitOptions& options, const Control& control,
               DensityParts* parts, FitReport* report)
      : sample_(sample),
        options_(options),
        control_(control),
        parts_(*parts),
        header_(parts->header),
        report_(*report) {}

  Status run() {
    observe();
    if (control_.stop_requested()) return cancelled();
    scale();
    lattice_ = find_lattice(distinct_, control_);
    if (control_.stop_requested()) return cancelled();
    place_on_lattice();
    if (is_alphabet()) {
      add_alphabet();
      return Status::success();
    }
    if (control_.stop_requested()) return cancelled();
    cut();
    if (control_.stop_requested()) return cancelled();
    if (Status s = select(); !s.ok()) return s;
    control_.begin(Stage::estimating);
    const Stopwatch watch;
    AdaptiveInput input;
    input.cells = &cells_;
    input.plugin_bandwidth = h_;
    input.sampled_share = sampled_share_;
    AdaptiveEstimate estimate;
    if (Status s = estimate_adaptively(input, control_, &estimate); !s.ok()) return s;
    take(estimate);
    const Status status = store(estimate.share);
    report_.estimate_ms = watch.ms();
    return status;
  }

 private:
  // Each value once, with its observations.
  void observe() {
    if (sample_.distinct_known) {
      // Counted over every row read, which may be more than the sample.
      for (const auto& [value, count] : sample_.distinct)
        distinct_.push_back({value, static_cast<double>(count)});
      unit_ = 1;
    } else {
      header_.error = sample_.rank_error;
      for (const WeightedValue& v : sample_.values) {
        unit_ = std::max(unit_, v.weight);
        if (!distinct_.empty() && distinct_.back().value == v.value) {
          distinct_.back().weight += v.weight;
        } else {
          distinct_.push_back(v);
        }
      }
    }
    seen_ = total_weight(distinct_);
    sampled_share_ = header_.finite_rows() > 0 ? std::min(seen_ / header_.finite_rows(), 1.0) : 1;
  }

  // The cells' unit is that of the stored positions: x = origin + u 2^exponent, |u| <= 1.
  void scale() {
    double below = 0;
    header_.origin = 0;
    if (std::isfinite(header_.max - header_.min)) {
      for (const WeightedValue& v : distinct_) {
        below += v.weight;
        header_.origin = v.value;
        if (2 * below >= seen_) break;
      }
    }
    // Half a step beyond the ends must fit as well: 1.25 times their distance, which may overflow.
    std::frexp(0.625 * std::max(header_.max - header_.origin, header_.origin - header_.min),
               &header_.exponent);
    ++header_.exponent;
  }

  double to_u(double x) const { return std::ldexp(x - header_.origin, -header_.exponent); }

  bool on_lattice(const Lattice& lattice, double x) const {
    return lattice.value(lattice.nearest(x)) == x;
  }

  static Status cancelled() { return Status::error(Code::cancelled, "cancelled"); }

  // What lies on lattice_; in the header if every value does.
  void place_on_lattice() {
    const auto all_on = [this](const Lattice& l) {
      for (const WeightedValue& v : distinct_) {
        if (!on_lattice(l, v.value)) return false;
      }
      return on_lattice(l, header_.min) && on_lattice(l, header_.max);
    };
    all_on_lattice_ = lattice_ && all_on(lattice_);
    if (all_on_lattice_) {
      set_lattice(lattice_);
    } else if (options_.lattice_step > 0) {
      // The type's own: whole numbers, or decimals of the type's scale.
      header_.lattice_step = options_.lattice_step;
      header_.lattice_offset = 0;
      const double scale = std::nearbyint(std::max(1 / options_.lattice_step, 1.0));
      header_.lattice_scale = scale <= kMostExactScale ? scale : 0;
    }
    if (header_.lattice_step > 0 &&
        (!lattice_resolved(header_) || !lattice_cells_in_range(header_))) {
      header_.lattice_step = header_.lattice_offset = header_.lattice_scale = 0;
      all_on_lattice_ = false;
    }
    if (!lattice_) return;
    bool any = false;
    for (const WeightedValue& v : distinct_) {
      if (!on_lattice(lattice_, v.value)) {
        ++strays_;
        continue;
      }
      last_point_ = lattice_.nearest(v.value);
      if (!any) first_point_ = last_point_;
      any = true;
    }
    if (all_on_lattice_) {
      first_point_ = lattice_.nearest(header_.min);
      last_point_ = lattice_.nearest(header_.max);
    }
  }

  void set_lattice(const Lattice& lattice) {
    header_.lattice_step = lattice.step();
    header_.lattice_offset = lattice.value(lattice.nearest(header_.min));
    header_.lattice_scale = lattice.scale;
  }

  double points() const { return static_cast<double>(last_point_ - first_point_) + 1; }

  bool lattice_is_model() const {
    if (!lattice_ || points() > static_cast<double>(kMaxCells)) return false;
    // Where a value or an end of the column is off the lattice, points are stored in full.
    if (!all_on_lattice_ &&
        points() + static_cast<double>(strays_) > static_cast<double>(kMostValues))
      return false;
    const double least = often_repeated() ? kLeastOccupiedOfAlphabet : kLeastOccupied;
    return static_cast<double>(distinct_.size() - strays_) >= least * points();
  }

  bool often_repeated() const {
    return static_cast<double>(distinct_.size()) * kAlphabetRepeats <= seen_;
  }

  bool is_alphabet() const {
    if (distinct_.size() > kMostValues) return false;
    if (sampled_share_ >= 1 && sample_.distinct_known) return true;
    return !lattice_is_model() && static_cast<double>(distinct_.size()) * kAlphabetRepeats <= seen_;
  }

  double rows_per_observation() const { return header_.finite_rows() / seen_; }

  void add_alphabet() {
    double rows = 0;
    for (const WeightedValue& v : distinct_) {
      rows += v.weight * rows_per_observation();
      parts_.atom_value.push_back(v.value);
      parts_.atom_rows.push_back(rows);
    }
    header_.smooth_rows = 0;
    report_.method = Method::plugin;
    std::snprintf(report_.model, sizeof report_.model, "%zu values, each with its own count",
                  distinct_.size());
    more_observations();
  }

  // Counts over every row read are more than the sample's.
  void more_observations() {
    const double n = header_.sample_rows;
    if (!(seen_ > n) || !(n > 0)) return;
    const double independent = std::max(1 - n / header_.finite_rows(), 0.0);
    const double clustered = std::max(header_.sampling_variance - independent, 0.0);
    // Of the same blocks there are more rows each, which adds nothing to what the blocks differ.
    header_.sampling_variance = (1 - sampled_share_) * n / seen_ + clustered;
  }

  // Incomplete if control asks to stop.
  void cut() {
    Line line;
    std::vector<WeightedValue> scaled;
    scaled.reserve(distinct_.size());
    for (const WeightedValue& v : distinct_) {
      // Beside a distant one, values may be so near each other that they are one in u.
      const double u = to_u(v.value);
      if (scaled.empty() || scaled.back().value != u) scaled.push_back({u, 0});
      scaled.back().weight += v.weight / unit_;
    }
    line.distinct = scaled;
    if (control_.stop_requested()) return;
    const double step = std::ldexp(header_.lattice_step, -header_.exponent);
    line.low = to_u(header_.min) - step / 2;
    line.high = to_u(header_.max) + step / 2;
    if (lattice_is_model()) {
      cut_lattice();
      return;
    }
    const double known = lattice_ ? std::ldexp(lattice_.step(), -header_.exponent) : 0;
    const AtomSplit split = split_clumps(scaled, known, kMaxCells / 6, control_);
    if (control_.stop_requested()) return;
    cells_ = value_cells(line, split.atoms);
    smooth_values_ = split.rest;
    for (const WeightedValue& v : split.atoms) atom_of_point_.push_back(original_value(v.value));
  }

  void cut_lattice() {
    for (const WeightedValue& v : distinct_) {
      if (on_lattice(lattice_, v.value)) {
        smooth_values_.push_back({to_u(v.value), v.weight / unit_});
      } else {
        strays_apart_.push_back(v);
      }
    }
    const double step = std::ldexp(lattice_.step(), -header_.exponent);
    const double first = to_u(lattice_.value(first_point_));
    Line line;
    line.distinct = smooth_values_;
    line.low = first - step / 2;
    line.high = to_u(lattice_.value(last_point_)) + step / 2;
    cells_ = lattice_cells(line, first, step, first_point_, last_point_);
  }

  // The column's value at u.
  double original_value(double u) const {
    const auto at = std::lower_bound(
        distinct_.begin(), distinct_.end(), u,
        [this](const WeightedValue& v, double wanted) { return to_u(v.value) < wanted; });
    return at->value;
  }

  bool wants_exact_sums() const {
    return options_.exact || options_.engine.kind == Engine::Kind::reference;
  }

  // The part of the sample for sums over pairs, without the atoms.
  void add_bandwidth_values(std::vector<double>* values) const {
    auto rest = smooth_values_.begin();
    for (double x : sample_.bandwidth_values) {
      const double u = to_u(x);
      while (rest != smooth_values_.end() && rest->value < u) ++rest;
      if (rest != smooth_values_.end() && rest->value == u) values->push_back(u);
    }
  }

  Status select() {
    control_.begin(Stage::selecting);
    const Stopwatch watch;
    std::vector<double> values, weights;
    if (wants_exact_sums()) {
      add_bandwidth_values(&values);
    } else {
      for (const WeightedValue& v : smooth_values_) {
        values.push_back(v.value);
        weights.push_back(v.weight);
      }
    }
    const double observations = total_weight(smooth_values_);
    report_.method = Method::plugin;
    Status status;
    LineBandwidth found;
    const auto has_none = [&status] {
      return status.code == Code::degenerate || status.code == Code::too_large ||
             status.code == Code::invalid_argument;
    };
    if (values.size() >= 2) {
      LineRequest request;
      request.method = Method::plugin;
      request.engine = options_.engine;
      if (!wants_exact_sums()) request.engine.kind = Engine::Kind::spectral;
      const auto n = std::max<std::int64_t>(std::llround(observations),
                                            static_cast<std::int64_t>(values.size()));
      status = select_line_bandwidth(request, {values, weights, n}, control_, &found);
      if (has_none()) {
        request.method = Method::silverman;
        report_.method = Method::silverman;
        report_.status = "fallback";
        status = select_line_bandwidth(request, {values, weights, n}, control_, &found);
      }
      if (!status.ok() && !has_none()) return status;
    }
    const double width = cells_.edge.back() - cells_.edge.front();
    h_ = status.ok() && found.h > 0 ? found.h : width / 10;
    h_ = std::clamp(h_, 0x1p-30 * width, width);
    report_.bandwidth_rows = found.rows_used;
    report_.engine = found.engine;
    report_.plugin = scaled(found.plugin, header_.exponent);
    header_.method = report_.method;
    report_.select_ms = watch.ms();
    return Status::success();
  }

  void take(const AdaptiveEstimate& estimate) {
    header_.flags |= kCorrected;
    header_.bandwidth = std::min(std::ldexp(estimate.bandwidth, header_.exponent), 1e308);
    report_.bandwidth = header_.bandwidth;
    more_observations();
    // The estimate's errors are relative to those of independent rows; what the blocks differ no
    // smoothing takes away.
    const double independent = (1 - sampled_share_) * (header_.sample_rows / seen_);
    const double all = header_.sampling_variance;
    const double clustered = std::max(all - independent, 0.0);
    for (int i = 0; i < kErrorScales; ++i) {
      const auto ratio = [&](float r) {
        return all > 0 ? static_cast<float>((independent * r + clustered) / all) : 1.0F;
      };
      header_.count_error[i] = ratio(estimate.count_error[i]);
      header_.mean_error[i] = ratio(estimate.mean_error[i]);
    }
    std::snprintf(report_.model, sizeof report_.model, "%s%s", kind_of_cells(),
                  estimate.model.c_str());
  }

  const char* kind_of_cells() {
    if (cells_.lattice) {
      std::snprintf(kind_, sizeof kind_, "steps of %.10g; ", lattice_.step());
    } else if (!cells_.points.empty()) {
      std::snprintf(kind_, sizeof kind_, "%zu value%s apart; ", cells_.points.size(),
                    cells_.points.size() == 1 ? "" : "s");
    }
    return kind_;
  }

  // ------------------------------------------------------------------------------- storage

  struct Candidate {
    std::size_t cell;
    double excess;
  };

  Status store(std::vector<double>& share) {
    if (cells_.lattice) {
      if (!strays_apart_.empty()) {
        store_lattice_and_strays(share);
        return Status::success();
      }
      if (cells_.size() <= kMostPoints) {
        store_lattice(share);
        return Status::success();
      }
      take_heaps(share);
    } else {
      take_points(share);
    }
    return store_smooth(share);
  }

  double stray_share() const { return total_weight(strays_apart_) / seen_; }

  // Every lattice point, and between them the strays.
  void store_lattice_and_strays(std::span<const double> share) {
    const double rest = 1 - stray_share();
    double below = 0;
    auto stray = strays_apart_.begin();
    const auto add_strays = [&](double end) {
      for (; stray != strays_apart_.end() && stray->value < end; ++stray) {
        below += stray->weight / seen_;
        add_atom(stray->value, below);
      }
    };
    for (std::size_t i = 0; i < share.size(); ++i) {
      const double value = lattice_.value(first_point_ + static_cast<std::int64_t>(i));
      add_strays(value);
      if (!(share[i] > 0)) continue;
      below += share[i] * rest;
      add_atom(value, below);
    }
    add_strays(std::numeric_limits<double>::infinity());
    header_.smooth_rows = 0;
  }

  void begin_lattice_atoms() {
    header_.flags |= kLatticeAtoms;
    header_.error += 0x1p-32;  // of their cumulative rows
  }

  void store_lattice(std::span<const double> share) {
    // Counts of every row are exact in full.
    const bool in_full = sampled_share_ >= 1 && share.size() <= kMostValues;
    if (all_on_lattice_ && !in_full) begin_lattice_atoms();
    double below = 0;
    for (std::size_t i = 0; i < share.size(); ++i) {
      below += share[i];
      if (!(share[i] > 0)) continue;
      add_atom(lattice_.value(first_point_ + static_cast<std::int64_t>(i)), below);
    }
    header_.smooth_rows = 0;
  }

  void add_atom(double value, double share_below) {
    parts_.atom_value.push_back(value);
    parts_.atom_rows.push_back(share_below * header_.finite_rows());
  }

  // Of a long lattice, the points that stand out, as atoms; the rest of their share stays.
  void take_heaps(std::vector<double>& share) {
    std::vector<Candidate> heaps;
    const std::size_t last = share.size() - 1;
    for (std::size_t i = 0; i <= last; ++i) {
      const double beside = i == 0      ? share[1]
                            : i == last ? share[last - 1]
                                        : (share[i - 1] + share[i + 1]) / 2;
      if (share[i] > (1 + kStandsOut) * beside && share[i] > 1e-5)
        heaps.push_back({i, share[i] - beside});
    }
    keep_largest(&heaps, kPointsBesideKnots);
    if (heaps.empty()) return;
    begin_lattice_atoms();
    double below = 0;
    for (const Candidate& c : heaps) {
      below += c.excess;
      share[c.cell] -= c.excess;
      add_atom(lattice_.value(first_point_ + static_cast<std::int64_t>(c.cell)), below);
    }
    atom_share_ = below;
  }

  // The points among value cells; those beyond the space join the cell beside them.
  void take_points(std::vector<double>& share) {
    const bool packed = all_on_lattice_ && header_.lattice_step > 0 && points() < 0x1p31;
    std::vector<Candidate> points;
    double smooth = 0;
    std::size_t point = 0;
    for (std::size_t i = 0; i < share.size(); ++i) {
      if (point < cells_.points.size() && cells_.points[point] == i) {
        points.push_back({point, share[i]});
        ++point;
      } else {
        smooth += share[i];
      }
    }
    const bool alone = !(smooth > 0);
    const std::size_t most = packed ? (alone ? kMostPoints : kPointsBesideKnots)
                                    : (alone ? kMostValues : kValuesBesideKnots);
    keep_largest(&points, most);
    if (packed && !points.empty()) begin_lattice_atoms();
    double below = 0;
    for (const Candidate& c : points) {
      const std::size_t cell = cells_.points[c.cell];
      if (!(c.excess > 0)) continue;
      below += c.excess;
      add_atom(atom_of_point_[c.cell], below);
      share[cell] = 0;
    }
    atom_share_ = below;
    for (std::size_t cell : cells_.points) {
      if (!(share[cell] > 0)) continue;
      dropped_ = std::max(dropped_, share[cell]);
      share[cell + 1 < share.size() ? cell + 1 : cell - 1] += share[cell];
      share[cell] = 0;
    }
  }

  // In the order of the cells.
  static void keep_largest(std::vector<Candidate>* list, std::size_t most) {
    if (list->size() > most) {
      std::nth_element(list->begin(), list->begin() + static_cast<std::ptrdiff_t>(most),
                       list->end(), [](const Candidate& a, const Candidate& b) {
                         return a.excess > b.excess || (a.excess == b.excess && a.cell < b.cell);
                       });
      list->resize(most);
    }
    std::sort(list->begin(), list->end(),
              [](const Candidate& a, const Candidate& b) { return a.cell < b.cell; });
  }

  // The rows seen are known, yet within a cell they are stored as spread evenly: the most by which
  // that is off, as a share of them. Ranges on lattice cells end between their points.
  double error_within_cells() const {
    if (cells_.lattice) return 0;
    double worst = 0;
    double inside = 0;
    std::size_t cell = 0;
    auto point = cells_.points.begin();
    for (const WeightedValue& v : smooth_values_) {
      while (inside >= cells_.count[cell] || (point != cells_.points.end() && *point == cell)) {
        if (point != cells_.points.end() && *point == cell) ++point;
        inside = 0;
        if (++cell == cells_.size()) return 1;
      }
      const double from = cells_.edge[cell];
      const double width = cells_.edge[cell + 1] - from;
      const double even = width > 0 ? cells_.count[cell] * (v.value - from) / width : 0;
      worst = std::max({worst, std::fabs(even - inside), std::fabs(inside + v.weight - even)});
      inside += v.weight;
    }
    return worst * unit_ / seen_;
  }

  Status store_smooth(std::span<const double> share) {
    double smooth = 0;
    for (double s : share) smooth += s;
    if (!(smooth > 1e-12)) {
      header_.smooth_rows = 0;
      return Status::success();
    }
    const CellNodes nodes(cells_, share);
    SmoothPart part;
    const std::size_t limit = max_knots(parts_.atom_value.size(), header_.lattice_atoms());
    if (Status s = fit_smooth(nodes, limit, control_, &part); !s.ok()) return s;
    parts_.knot_u = std::move(part.knot_u);
    parts_.knot_mass = std::move(part.knot_mass);
    parts_.knot_slope = std::move(part.knot_slope);
    parts_.block_moment = std::move(part.block_moment);
    header_.slope_unit = part.slope_unit;
    header_.error = std::min(header_.error + (part.error + nodes.merged()) * (1 - atom_share_) +
                                 dropped_ + sampled_share_ * error_within_cells(),
                             1.0);
    const double atoms = parts_.atom_rows.empty() ? 0 : parts_.atom_rows.back();
    header_.smooth_rows = std::max(header_.finite_rows() - atoms, 0.0);
    return Status::success();
  }

  const Sample& sample_;
  const FitOptions& options_;
  const Control& control_;
  DensityParts& parts_;
  Header& header_;
  FitReport& report_;
  std::vector<WeightedValue> distinct_;       // in x
  std::vector<WeightedValue> smooth_values_;  // in u, without atoms
  std::vector<double> atom_of_point_;         // the column's value of each of cells_.points
  double unit_ = 1;                           // weight of one observation
  double seen_ = 0;                           // rows observed
  double sampled_share_ = 0;
  Lattice lattice_;
  bool all_on_lattice_ = false;
  std::int64_t first_point_ = 0, last_point_ = 0;
  std::size_t strays_ = 0;                   // distinct values off lattice_
  std::vector<WeightedValue> strays_apart_;  // those that are stored as they are
  Cells cells_;
  double h_ = 0;
  double atom_share_ = 0;
  double dropped_ = 0;  // the largest share of an atom that had no room and is spread
  char kind_[64] = {};
};

}  // namespace

Status fit_automatically(const Sample& sample, const FitOptions& options, const Control& control,
                         DensityParts* parts, FitReport* report) {
  return AutomaticFit(sample, options, control, parts, report).run();
}

}  // namespace kde
