// The steps of `auto`: lattice, single values, cells, bandwidth, estimate.
#include "core/fit/described.h"

#include "core/estimate/adaptive.h"
#include "core/estimate/cells.h"
#include "core/estimate/clumps.h"
#include "core/grid/lattice.h"
#include "core/select/line_bandwidth.h"
#include "core/stopwatch.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace kde {

namespace {

// Values seen this often on average are the column's alphabet, if no lattice explains them.
constexpr double kAlphabetRepeats = 10;
constexpr std::size_t kMostLetters = 900;
// A lattice is a model of the column only where this share of its points was seen; more where the
// values seen were seen often, and those not seen hardly exist.
constexpr double kLeastOccupied = 0.1;
constexpr double kLeastOccupiedOfAlphabet = 0.15;
// Powers of ten up to here are exact.
constexpr double kMostExactScale = 1e15;

class AutomaticFit {
 public:
  AutomaticFit(const Sample& sample, const GridList& list, const FitOptions& options,
               const Control& control, SampledRows* rows, Header* header, FitReport* report)
      : sample_(sample),
        list_(list),
        rows_(*rows),
        options_(options),
        control_(control),
        header_(*header),
        report_(*report),
        distinct_(rows->values) {}

  Status run(std::vector<HistogramCell>* cells) {
    report_.method = Method::plugin;
    for (const WeightedValue& v : distinct_) occurrences_ += v.weight;
    sampled_share_ = rows_.stand_for > 0 ? std::min(rows_.seen / rows_.stand_for, 1.0) : 1;
    scale();
    lattice_ = find_lattice(distinct_, control_);
    if (control_.stop_requested()) return cancelled();
    place_on_lattice();
    take_cells(sample_, list_, header_, &rows_);
    lattice_is_model_ = is_lattice_model();
    cut();
    if (control_.stop_requested()) return cancelled();
    if (Status s = select(); !s.ok()) return s;
    header_.method = report_.method;
    header_.bandwidth = report_.bandwidth = unit_.bandwidth(h_);
    control_.begin(Stage::estimating);
    const Stopwatch watch;
    const Status status = estimate(cells);
    report_.estimate_ms = watch.ms();
    return status;
  }

 private:
  // |u| <= 1: half a step beyond the ends must fit as well: 1.25 times their distance, which may
  // overflow.
  void scale() {
    double below = 0;
    if (std::isfinite(rows_.high - rows_.low)) {
      for (const WeightedValue& v : distinct_) {
        below += v.weight;
        unit_.origin = v.value;
        if (2 * below >= occurrences_) break;
      }
    }
    const double farther = std::max(rows_.high - unit_.origin, unit_.origin - rows_.low);
    std::frexp(0.625 * farther, &unit_.exponent);
    ++unit_.exponent;
  }

  double to_u(double x) const { return unit_.to_u(x); }

  bool on_lattice(const Lattice& lattice, double x) const {
    return lattice.value(lattice.nearest(x)) == x;
  }

  // Whether on() is true of every value that will be stored.
  template <typename On>
  bool all_stored(const On& on) const {
    for (const WeightedValue& v : distinct_) {
      if (!on(v.value)) return false;
    }
    for (const std::vector<HistogramCell>* beyond : {&rows_.below, &rows_.above}) {
      for (const HistogramCell& c : *beyond) {
        if (!on(c.value)) return false;
      }
    }
    return on(header_.min) && on(header_.max) && on(rows_.low) && on(rows_.high);
  }

  // A lattice that every value lies on: that of the values or, where they have none, their type's.
  void place_on_lattice() {
    all_on_lattice_ = lattice_ && all_stored([this](double x) { return on_lattice(lattice_, x); });
    if (all_on_lattice_) {
      header_.lattice_step = lattice_.step();
      header_.lattice_offset = lattice_.value(lattice_.nearest(header_.min));
      header_.lattice_scale = lattice_.scale;
    } else if (options_.lattice_step > 0) {
      place_on_type_lattice(options_.lattice_step, &header_);
    }
    if (header_.lattice_step > 0 &&
        (!lattice_resolved(header_) || !std::isfinite(rows_.low - header_.lattice_step / 2) ||
         !std::isfinite(rows_.high + header_.lattice_step / 2) ||
         (!all_on_lattice_ &&
          !all_stored([this](double x) { return is_lattice_point(header_, x); })))) {
      header_.lattice_step = header_.lattice_offset = header_.lattice_scale = 0;
      all_on_lattice_ = false;
    }
    if (!all_on_lattice_) return;
    first_point_ = lattice_.nearest(rows_.low);
    last_point_ = lattice_.nearest(rows_.high);
  }

  bool often_repeated() const {
    return static_cast<double>(distinct_.size()) * kAlphabetRepeats <= occurrences_;
  }

  bool is_lattice_model() const {
    if (!all_on_lattice_) return false;
    const double points = static_cast<double>(last_point_ - first_point_) + 1;
    const double least = often_repeated() ? kLeastOccupiedOfAlphabet : kLeastOccupied;
    return points <= static_cast<double>(kMaxCells) &&
           static_cast<double>(distinct_.size()) >= least * points;
  }

  bool is_joined() const { return rows_.is_joined; }

  bool is_alphabet() const {
    return !lattice_is_model_ && !is_joined() && distinct_.size() <= kMostLetters &&
           often_repeated();
  }

  // Single values with a share of the rows of their own, by number.
  std::vector<std::size_t> find_atoms(std::span<const HistogramCell> cells) const {
    std::vector<std::size_t> out;
    if (is_joined()) {
      const double limit = kHeavy * rows_.seen / static_cast<double>(cells.size());
      for (std::size_t i = 0; i < cells.size(); ++i) {
        if (!cells[i].point || !(cells[i].rows > limit)) continue;
        const double median =
            median_beside(i, cells.size(), [&cells](std::size_t j) { return cells[j].rows; });
        if (cells[i].rows > kHeavy * median) out.push_back(i);
      }
      return out;
    }
    std::vector<WeightedValue> scaled;
    for (const HistogramCell& c : cells) scaled.push_back({c.value, c.rows});
    const double step = lattice_ ? std::ldexp(lattice_.step(), -unit_.exponent) : 0;
    return find_clumps(scaled, step, kMaxCells / 6, control_);
  }

  void cut() {
    Line line;
    std::vector<HistogramCell> scaled;
    scaled.reserve(rows_.cells.size());
    for (const HistogramCell& c : rows_.cells) {
      // Beside a distant one, values may be so near each other that they are one in u.
      const double u = to_u(c.value);
      if (!scaled.empty() && scaled.back().value == u) {
        scaled.back().rows += c.rows;
        if (c.point) scaled.back().point = true;
      } else {
        scaled.push_back({u, c.rows, c.point});
      }
    }
    line.rows = scaled;
    const double step = std::ldexp(header_.lattice_step, -unit_.exponent);
    line.low = to_u(rows_.low) - step / 2;
    line.high = to_u(rows_.high) + step / 2;
    if (lattice_is_model_) {
      cells_ = lattice_cells(line, to_u(rows_.low), step, first_point_, last_point_);
      smooth_ = scaled;
      return;
    }
    const std::vector<std::size_t> atoms = find_atoms(scaled);
    cells_ = value_cells(line, atoms);
    auto atom = atoms.begin();
    for (std::size_t i = 0; i < scaled.size(); ++i) {
      if (atom != atoms.end() && *atom == i) {
        ++atom;
        atom_value_.push_back(original_value(scaled[i].value));
        scaled[i].rows = 0;
      }
    }
    smooth_ = std::move(scaled);
  }

  // The column's value at u.
  double original_value(double u) const {
    const auto at = std::lower_bound(
        rows_.cells.begin(), rows_.cells.end(), u,
        [this](const HistogramCell& c, double wanted) { return to_u(c.value) < wanted; });
    return at->value;
  }

  // Not of those that are stored as they are.
  bool is_smoothed(double x) const { return x >= rows_.low && x <= rows_.high; }

  bool wants_exact_sums() const {
    return options_.exact || options_.engine.kind == Engine::Kind::reference;
  }

  // What the bandwidth is selected from: the cells' rows in their middles without the atoms or, for
  // exact sums, some of the rows drawn.
  void values_for_bandwidth(std::vector<double>* values, std::vector<double>* weights) const {
    if (!wants_exact_sums() && is_joined() && all_drawn(sample_)) {
      for (const WeightedValue& v : distinct_) {
        if (std::binary_search(atom_value_.begin(), atom_value_.end(), v.value)) continue;
        values->push_back(to_u(v.value));
        weights->push_back(v.weight);
      }
      return;
    }
    if (!wants_exact_sums()) {
      for (std::size_t i = 0; i < smooth_.size(); ++i) {
        const HistogramCell& c = smooth_[i];
        if (!(c.rows > 0)) continue;
        const double low = c.point || i == 0 ? c.value : smooth_[i - 1].value;
        values->push_back(low + (c.value - low) / 2);
        weights->push_back(c.rows);
      }
      return;
    }
    const std::vector<double> drawn = draw_rows(sample_, options_);
    for (double x : drawn) {
      if (is_smoothed(x) && !std::binary_search(atom_value_.begin(), atom_value_.end(), x))
        values->push_back(to_u(x));
    }
  }

  // h_, the plug-in's.
  Status select() {
    control_.begin(Stage::selecting);
    const Stopwatch watch;
    std::vector<double> values, weights;
    values_for_bandwidth(&values, &weights);
    double observations = 0;
    for (const HistogramCell& c : smooth_) observations += c.rows;
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
    report_.plugin = scaled(found.plugin, unit_.exponent);
    report_.select_ms = watch.ms();
    return Status::success();
  }

  Status estimate(std::vector<HistogramCell>* cells) {
    if (sampled_share_ >= 1) {
      say("every row");
      take_counts(cells);
      return Status::success();
    }
    if (is_alphabet()) {
      std::snprintf(report_.model, sizeof report_.model, "%zu values, each with its own count",
                    distinct_.size());
      take_counts(cells);
      return Status::success();
    }
    AdaptiveInput input;
    input.cells = &cells_;
    input.plugin_bandwidth = h_;
    input.sampled_share = sampled_share_;
    std::vector<double> drawn;
    std::vector<std::uint32_t> drawn_block;
    Effects effect;
    if (sample_.by_block() && options_.share_of_blocks < 1) {
      for (std::size_t i = 0; i < sample_.drawn.size(); ++i) {
        const double x = sample_.drawn[i];
        if (!is_smoothed(x)) continue;
        drawn.push_back(to_u(x));
        drawn_block.push_back(sample_.drawn_block[i]);
      }
      input.drawn = drawn;
      input.drawn_block = drawn_block;
      for (int i = 0; i < kErrorScales; ++i)
        effect[i] = static_cast<float>(sample_.blocks.effect[static_cast<int>(Shape::two_ends)][i]);
      input.effect = &effect;
    }
    AdaptiveEstimate estimate;
    if (Status s = estimate_adaptively(input, control_, &estimate); !s.ok()) return s;
    say(estimate.model.c_str());
    if (estimate.is_sample) {
      take_counts(cells);
      return Status::success();
    }
    header_.bandwidth = report_.bandwidth = unit_.bandwidth(estimate.bandwidth);
    take_shares(estimate.share, cells);
    return Status::success();
  }

  void say(const char* model) {
    char kind[64] = "";
    if (lattice_is_model_) {
      std::snprintf(kind, sizeof kind, "steps of %.10g; ", lattice_.step());
    } else if (!atom_value_.empty()) {
      std::snprintf(kind, sizeof kind, "%zu value%s apart; ", atom_value_.size(),
                    atom_value_.size() == 1 ? "" : "s");
    }
    std::snprintf(report_.model, sizeof report_.model, "%s%s", kind, model);
  }

  // The sample's own, as they are.
  void take_counts(std::vector<HistogramCell>* cells) {
    header_.error = largest_cell(rows_.cells) / rows_.seen;
    *cells = rows_.cells;
    if (rows_.seen == rows_.stand_for) return;
    for (HistogramCell& c : *cells) c.rows *= rows_.stand_for / rows_.seen;
  }

  void take_shares(std::span<const double> share, std::vector<HistogramCell>* cells) const {
    cells->clear();
    if (lattice_is_model_) {
      for (std::size_t i = 0; i < share.size(); ++i) {
        if (share[i] > 0)
          cells->push_back({lattice_.value(first_point_ + static_cast<std::int64_t>(i)),
                            share[i] * rows_.stand_for, true});
      }
      return;
    }
    // Rows of cells that have no width in x, or no lattice point, go to the next one.
    double rest = 0;
    const auto end_at = [cells, &rest](double value, double rows) {
      rest += rows;
      if (!(value > cells->back().value)) return;
      cells->push_back({value, rest, false});
      rest = 0;
    };
    cells->push_back({on_step(rows_.low, -1), 0, false});
    std::size_t point = 0;
    for (std::size_t i = 0; i < share.size(); ++i) {
      const double rows = share[i] * rows_.stand_for;
      if (point < cells_.points.size() && cells_.points[point] == i) {
        if (rows + rest > 0) cells->push_back({atom_value_[point], rows + rest, true});
        rest = 0;
        ++point;
        continue;
      }
      const bool before_point = point < cells_.points.size() && cells_.points[point] == i + 1;
      const double end = i + 1 == share.size() ? rows_.high : unit_.to_x(cells_.edge[i + 1]);
      end_at(before_point ? before(atom_value_[point]) : on_step(std::min(end, rows_.high), 0),
             rows);
    }
    if (rest > 0) {
      HistogramCell& last = cells->back();
      last.point = last.point || last.rows == 0;
      last.rows += rest;
    }
  }

  // With a lattice the point at x or below it, or so many steps off.
  double on_step(double x, int steps) const {
    const Header& h = header_;
    if (h.lattice_step == 0) return x;
    const double k = (x - h.lattice_offset) / h.lattice_step;
    const double nearest = std::nearbyint(k);
    const double whole = std::fabs(k - nearest) < 1e-9 ? nearest : std::floor(k);
    return h.lattice_point(whole + steps);
  }

  // Where what lies below an atom ends.
  double before(double atom) const { return header_.lattice_step > 0 ? on_step(atom, -1) : atom; }

  const Sample& sample_;
  const GridList& list_;
  SampledRows& rows_;
  const FitOptions& options_;
  const Control& control_;
  Header& header_;
  FitReport& report_;
  const std::vector<WeightedValue>& distinct_;  // values that occur
  double occurrences_ = 0;                      // their rows
  UnitScale unit_;
  double sampled_share_ = 0;
  Lattice lattice_;
  bool all_on_lattice_ = false, lattice_is_model_ = false;
  std::int64_t first_point_ = 0, last_point_ = 0;
  Cells cells_;
  std::vector<HistogramCell> smooth_;  // in u, without the atoms' rows
  std::vector<double> atom_value_;     // the column's value of each of cells_.points
  double h_ = 0;
};

}  // namespace

void place_on_type_lattice(double step, Header* header) {
  header->lattice_step = step;
  header->lattice_offset = 0;
  const double scale = std::nearbyint(std::max(1 / step, 1.0));
  header->lattice_scale = scale <= kMostExactScale ? scale : 0;
}

bool is_lattice_point(const Header& h, double x) {
  return h.lattice_point(std::nearbyint((x - h.lattice_offset) / h.lattice_step)) == x;
}

Status fit_automatically(const Sample& sample, const GridList& list, const FitOptions& options,
                         const Control& control, SampledRows* rows, Header* header,
                         std::vector<HistogramCell>* cells, FitReport* report) {
  return AutomaticFit(sample, list, options, control, rows, header, report).run(cells);
}

}  // namespace kde
