// fit_column(): totals, what is known row by row, the cells or the bandwidth, how sure it is.
#include "core/fit/fit.h"

#include "core/grid/lattice.h"
#include "core/estimate/unevenness.h"
#include "core/fit/described.h"
#include "core/fit/estimate_list.h"
#include "core/fit/range_codes.h"
#include "core/grid/grid_encode.h"
#include "core/random.h"
#include "core/select/line_bandwidth.h"
#include "core/stopwatch.h"
#include "core/guarded.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <memory>
#include <optional>
#include <vector>

namespace kde {

namespace {

// A spread in u whose square, and the squares of its parts, are still numbers.
constexpr double kNothingBeside = 0x1p-400;
// Of a sample whose rows were not thinned, one row in so many at each end is stored as it is.
constexpr double kRowsAnOutermost = 1000;
// What is stored is off by so many times the root of the rows read, of which those of a range vary by
// theirs, and by no less of a row; at first by some times that, as long as there is room.
constexpr double kOfDeviation = 1.0 / 2048, kLeastOff = 1.0 / 64, kFirstOff = 16;

// One byte in so many tells of ranges' own variances, at most.
constexpr std::size_t kOfEffects = 8;

class Fit {
 public:
  Fit(const Sample& sample, const FitOptions& options, const Control& control, FitReport* report)
      : sample_(sample), options_(options), control_(control), report_(*report) {}

  Status run(DensityBytes* density) {
    if (!(sample_.not_null() > 0)) return Status::error(Code::invalid_argument, "no values");
    report_ = {};
    report_.method = automatic() ? Method::plugin : options_.method;
    report_.sample_rows = static_cast<std::int64_t>(sample_.sample_rows());
    write_totals();
    if (Status s = describe_chain((*sample_.cells)->ends(), &header_); !s.ok()) return s;
    if (Status s = (*sample_.cells)->list(&list_); !s.ok()) return s;
    if (sample_.totals.count() > 0) {
      find_rows();
      describe_variance();
      if (Status s = header_.min == header_.max ? one_value()
                     : options_.as_counted      ? as_counted()
                     : automatic()              ? by_evidence()
                                                : by_name();
          !s.ok())
        return s;
    }
    widen_points();
    header_.method = report_.method;
    return encode(density);
  }

 private:
  bool automatic() const { return options_.method == Method::automatic; }

  void write_totals() {
    const double scale = options_.rows_per_row_read;
    Header& h = header_;
    h.flags =
        static_cast<std::uint8_t>((options_.added_up ? 0 : kFitted) | (automatic() ? kBounded : 0) |
                                  (options_.every_row_read ? kEveryRowRead : 0));
    if (automatic() && options_.as_counted && every_row_is_in()) h.flags |= kExactEnds;
    h.value_type = options_.value_type;
    h.sample_rows = sample_.sample_rows();
    describe_totals(sample_.totals, sample_.specials, sample_.not_null() * scale, scale, &h);
  }

  // The rows that are smoothed, and what they stand for. Not the outermost: where rows were thinned
  // those are known one by one; and of a heavy tail each is a value far from all others, which
  // nothing is known to lie around.
  void find_rows() {
    const double scale = options_.rows_per_row_read;
    std::size_t outermost = 0;
    if (automatic() && !options_.as_counted) {
      constexpr auto kMost = double{kOutermost - 1};
      if (sample_.thinned)
        outermost = kOutermost - 1;
      else if (!options_.every_row_read)
        outermost =
            static_cast<std::size_t>(std::min(sample_.sample_rows() / kRowsAnOutermost, kMost));
    }
    rows_ = divide_rows(sample_, list_, outermost);
    const auto beyond = static_cast<double>(rows_.below.size() + rows_.above.size());
    rows_.stand_for = std::max(header_.finite_rows() - beyond * scale, 0.0);
    if (!(beyond > 0) || !sample_.thinned) return;
    header_.sample_rows = rows_.seen;
    if (scale == 1) {
      header_.known_below = rows_.low;
      header_.known_above = rows_.high;
    }
  }

  // What of the variance is due to blocks, and what to thinning, which kept so many of the rows.
  void describe_blocks(const BlockVariance& blocks, double kept, Header* h) const {
    const double unread = options_.unread();
    for (int shape = 0; shape < kShapes; ++shape) {
      for (int i = 0; i < kErrorScales; ++i)
        h->count_variance[shape][i] =
            static_cast<float>(unread * kept * blocks.effect[shape][i] + (1 - kept));
    }
    h->rows_variance = number_variance(blocks.rows, blocks.read, options_.share_of_blocks);
    h->end_variance = unread * blocks.end;
  }

  void describe_variance() {
    const double read = rows_.stand_for / options_.rows_per_row_read;
    const double kept = read > 0 ? std::min(rows_.seen / read, 1.0) : 1;
    describe_blocks(sample_.blocks, kept, &header_);
    const double finite = sample_.totals.count();
    const double mean_unit =
        finite > 0 ? options_.unread() * sample_.blocks.mean_effect / finite : 0;
    header_.mean_error =
        mean_unit > 0 ? finite_error(std::sqrt(mean_unit) * std::sqrt(header_.variance)) : 0;
    const RangeVariance& ranges = sample_.ranges;
    if (ranges.cells() == 0) return;
    const VarianceShares shares = {options_.unread() * kept, 1 - kept};
    counts_ = count_effects(ranges, shares, header_);
    if (ranges.own.tell) counts_.own = own_effects(ranges, shares, counts_, header_);
  }

  // Effects of ranges are beside those of the header before points were widened.
  StoredEffects range_effects(std::span<const MeasureFit> fits) {
    StoredEffects out;
    const auto n = static_cast<std::size_t>(sample_.measures());
    out.measured.resize(n);
    out.means.resize(n);
    if (counts_.cells() == 0) return out;
    const double kept = kept_of_measures();
    const VarianceShares shares = {options_.unread() * kept, 1 - kept};
    for (std::size_t k = 0; k < n; ++k) {
      const RangeVariance& of_rows = sample_.measured_ranges[k];
      if (!of_rows.tell || !fits[k].counts) continue;
      Header h = header_;
      h.rows = h.sample_rows;
      fits[k].counts->describe(&h);
      CountEffects of = count_effects(of_rows, shares, h);
      std::vector<MeanEffects> none;
      leave_ends_out(&of, &none);
      out.measured[k] = store_effects(of);
    }
    const RangeVariance& ranges = sample_.ranges;
    std::vector<MeanEffects> means(n);
    bool tell = ranges.tell || ranges.own.tell;
    for (std::size_t k = 0; k < n; ++k) {
      if (!ranges.mean[k].tell) continue;
      means[k] =
          mean_effects(ranges.mean[k], ranges, shares, fits[k].mean_variance, counts_, header_);
      tell = true;
    }
    if (!tell) return out;
    leave_ends_out(&counts_, &means);
    out.list = store_effects(counts_);
    for (std::size_t k = 0; k < n; ++k)
      if (!means[k].ratio.empty()) out.means[k] = store_effects(means[k], counts_.cells());
    return out;
  }

  // Rows of the table for a finite one of the sample.
  double rows_for_each(double otherwise) const {
    const double rows = sample_.sample_rows();
    return rows > 0 ? header_.finite_rows() / rows : otherwise;
  }

  // Not of the totals alone.
  bool every_row_is_in() const { return options_.every_row_read && !sample_.thinned; }

  // Of so many rows of the summary: those where a measure is not NULL.
  CountSampling counts_of(double rows, double kept, const BlockVariance& blocks) const {
    Header h{};
    h.sample_rows = rows;
    h.rows = rows * rows_for_each(1);
    describe_blocks(blocks, kept, &h);
    // Of those kept so many are not NULL by chance.
    const double share = rows / std::max(rows, sample_.sample_rows());
    h.rows_variance += (1 - kept) * (1 - share) / rows;
    CountSampling counts;
    counts.add(h);
    return counts;
  }

  double kept_of_measures() const {
    const double finite = sample_.totals.count();
    return finite > 0 ? std::min(sample_.sample_rows() / finite, 1.0) : 1;
  }

  // The cells' sums are those of the rows read as they are.
  std::vector<MeasureFit> measure_fits() const {
    std::vector<MeasureFit> fits(static_cast<std::size_t>(sample_.measures()));
    const double kept = kept_of_measures();
    for (std::size_t k = 0; k < fits.size(); ++k) {
      const SummaryTotals& totals = (*sample_.cells)->measure(static_cast<int>(k)).totals;
      const MeanVariance& blocks = sample_.means[k];
      const auto variance = [&](double effect) {
        return options_.unread() * kept * effect + (1 - kept);
      };
      for (int i = 0; i < kErrorScales; ++i)
        fits[k].mean_variance[i] = static_cast<float>(variance(blocks.effect[i]));
      if (sample_.by_block() && totals.count() > 0)
        fits[k].counts = counts_of(totals.count(), kept, sample_.measured[k]);
      if (totals.count() > 0)
        fits[k].mean_error = finite_error(std::sqrt(variance(blocks.whole) / totals.count()) *
                                          std::sqrt(totals.variance()));
    }
    return fits;
  }

  // Where points of a lattice share a cell a question of one of them is off by how their counts
  // differ, and a range with two ends by about as much, which is the less of its count the more it
  // holds.
  void widen_points() {
    if (!(header_.lattice_step > 0) || sample_.drawn.empty() || !(rows_.seen > 0)) return;
    struct Row {
      double value;
      std::size_t number;
    };
    std::vector<Row> rows;
    for (const double x : sample_.drawn) rows.push_back({x, rows.size()});
    std::sort(rows.begin(), rows.end(),
              [](const Row& a, const Row& b) { return a.value < b.value; });
    std::vector<double> drawn;
    std::vector<std::uint32_t> block;
    for (const Row& r : rows) {
      drawn.push_back(r.value);
      if (sample_.by_block()) block.push_back(sample_.drawn_block[r.number]);
    }
    const Unevenness points = find_unevenness(cells_, header_.lattice_step, drawn, block);
    // In rows of the sample, of which a count's variance is v times the count.
    const double mean = points.mean * rows_.seen / static_cast<double>(drawn.size());
    const double share = points.mean / static_cast<double>(drawn.size());
    for (int i = 0; i < kErrorScales; ++i)
      header_.count_variance[static_cast<int>(Shape::two_ends)][i] +=
          static_cast<float>(points.excess * mean * std::min(1.0, std::ldexp(share, 2 * (i + 1))));
  }

  Status one_value() {
    if (automatic() && options_.lattice_step > 0) {
      place_on_type_lattice(options_.lattice_step, &header_);
      if (!lattice_resolved(header_) || !is_lattice_point(header_, header_.min))
        header_.lattice_step = header_.lattice_scale = 0;
    }
    cells_ = {{header_.min, header_.finite_rows(), true}};
    if (automatic()) std::snprintf(report_.model, sizeof report_.model, "a single value");
    return Status::success();
  }

  void place_on_found_lattice() {
    const Lattice found = find_lattice(rows_.values, control_);
    if (!found) return;
    header_.lattice_step = found.step();
    header_.lattice_offset = found.value(0);
    header_.lattice_scale = found.scale;
  }

  // Of the rows of a sample the cells, with a lattice that all values lie on.
  void take_counted() {
    const auto is_on = [this](double x) { return is_lattice_point(header_, x); };
    if (header_.lattice_step > 0 &&
        !(lattice_resolved(header_) && is_on(header_.min) && is_on(header_.max) &&
          std::all_of(rows_.values.begin(), rows_.values.end(),
                      [&](const WeightedValue& v) { return is_on(v.value); })))
      header_.lattice_step = header_.lattice_offset = header_.lattice_scale = 0;
    take_cells(sample_, list_, header_, &rows_);
    header_.error = largest_cell(rows_.cells) / rows_.seen;
    const double scale = rows_.stand_for / rows_.seen;
    for (const HistogramCell& c : rows_.cells) cells_.push_back({c.value, c.rows * scale, c.point});
  }

  // The type's own lattice need not be looked for.
  Status as_counted() {
    if (options_.lattice_step > 0)
      place_on_type_lattice(options_.lattice_step, &header_);
    else if (options_.seeks_lattice)
      place_on_found_lattice();
    take_counted();
    return Status::success();
  }

  Status by_evidence() {
    std::vector<HistogramCell> middle;
    if (Status s = fit_automatically(sample_, list_, options_, control_, &rows_, &header_, &middle,
                                     &report_);
        !s.ok())
      return s;
    const double scale = options_.rows_per_row_read;
    const auto add = [this](double value, double rows, bool point) {
      const bool there = !cells_.empty() && cells_.back().value >= value;
      if (there && point && cells_.back().point)
        cells_.back().rows += rows;
      else if (!there || point || rows > 0)
        cells_.push_back({value, rows, point});
    };
    for (const HistogramCell& c : rows_.below) add(c.value, c.rows * scale, true);
    for (const HistogramCell& c : middle) add(c.value, c.rows, c.point);
    for (const HistogramCell& c : rows_.above) add(c.value, c.rows * scale, true);
    return Status::success();
  }

  // The sample as it is, and the bandwidth of all of it.
  Status by_name() {
    control_.begin(Stage::selecting);
    const Stopwatch watch;
    take_counted();
    const WeightedLine line = scale_values();
    Status status = needs_pair_sums(report_.method) && line.values.size() < 2
                        ? Status::error(Code::degenerate, "too few of the sampled values differ")
                        : select(line.values, line.weights);
    if (status.code == Code::degenerate) {
      note("the bandwidth was chosen by Silverman's rule: %s", status.message);
      report_.method = Method::silverman;
      status = select(line.values, line.weights);
      report_.status = "fallback";
    }
    report_.select_ms = watch.ms();
    if (!status.ok()) return status;
    report_.plugin = scaled(report_.plugin, unit_.exponent);
    header_.bandwidth = report_.bandwidth = unit_.bandwidth(h_);
    return status;
  }

  // Values, or the cells' middles where not all rows that cells hold were drawn.
  WeightedLine scale_values() {
    std::vector<WeightedValue> all;
    if (!rows_.is_joined || all_drawn(sample_)) {
      all = rows_.values;
    } else {
      for (std::size_t i = 0; i < rows_.cells.size(); ++i) {
        const HistogramCell& c = rows_.cells[i];
        const double low = c.point || i == 0 ? c.value : rows_.cells[i - 1].value;
        if (c.rows > 0) all.push_back({low + (c.value - low) / 2, c.rows});
      }
    }
    // Where even the distances overflow, the values themselves are as good.
    const double origin = std::isfinite(header_.max - header_.min) ? all[all.size() / 2].value : 0;
    unit_.origin = origin;
    std::frexp(std::max(header_.max - origin, origin - header_.min), &unit_.exponent);
    WeightedLine line;
    for (const WeightedValue& v : all) line.add(unit_.to_u(v.value), v.weight);
    return line;
  }

  // h_, in u, and what the report has of it.
  Status select(std::span<const double> values, std::span<const double> weights) {
    const auto n = static_cast<std::int64_t>(sample_.sample_rows());
    LineRequest request;
    request.method = report_.method;
    request.engine = options_.engine;
    // Not even in the sample: only the totals know that something else exists.
    if (values.size() < 2) {
      h_ = (unit_.to_u(header_.max) - unit_.to_u(header_.min)) *
           std::pow(static_cast<double>(std::max<std::int64_t>(n, 1)), -0.2);
      note("the bandwidth was chosen by the column's range: no two of the sampled values differ");
      return Status::success();
    }
    // The totals know of an outlier that the sample lacks, beside which its values are so near each
    // other that their squares are nothing.
    if (values.back() - values.front() < kNothingBeside) {
      h_ = values.back() - values.front();
      return Status::success();
    }
    LineBandwidth found;
    Status status;
    const bool exact =
        options_.exact || options_.engine.kind == Engine::Kind::reference || n <= kFewValues;
    if (exact && needs_pair_sums(request.method)) {
      const std::vector<double> drawn = drawn_values();
      status = select_line_bandwidth(request, {drawn, {}, n}, control_, &found);
    } else {
      request.engine.kind = Engine::Kind::spectral;
      status = select_line_bandwidth(request, {values, weights, n}, control_, &found);
      if (status.code == Code::too_large) {
        request.engine = options_.engine;
        const std::vector<double> drawn = drawn_values();
        status = select_line_bandwidth(request, {drawn, {}, n}, control_, &found);
      }
    }
    if (!status.ok()) return status;
    h_ = found.h;
    report_.bandwidth_rows = found.rows_used;
    report_.plugin = found.plugin;
    report_.status = found.status;
    report_.engine = found.engine;
    if (found.notice[0] != '\0') note("%s", found.notice);
    return status;
  }

  // Some of the rows drawn, in u.
  std::vector<double> drawn_values() const {
    std::vector<double> drawn = draw_rows(sample_, options_);
    for (double& x : drawn) x = unit_.to_u(x);
    return drawn;
  }

  __attribute__((format(printf, 2, 3))) void note(const char* format, ...) {
    va_list args;
    va_start(args, format);
    std::vsnprintf(report_.notice, sizeof report_.notice, format, args);
    va_end(args);
  }

  // The estimate's cells, or without one the sample's.
  Status encode(DensityBytes* density) {
    const GridCells& counted = **sample_.cells;
    const double scale = rows_for_each(options_.rows_per_row_read);
    // Lists of values alone may be of any lattice.
    const bool values = std::all_of(cells_.begin(), cells_.end(),
                                    [](const HistogramCell& c) { return c.point || c.rows == 0; });
    if (!values && header_.lattice_step > 0 && level_on(counted.ends(), header_) < 0) {
      header_.lattice_step = header_.lattice_offset = header_.lattice_scale = 0;
      if (options_.lattice_step > 0) place_on_type_lattice(options_.lattice_step, &header_);
      if (!lattice_resolved(header_) || level_on(counted.ends(), header_) < 0)
        header_.lattice_step = header_.lattice_offset = header_.lattice_scale = 0;
    }
    // Each rank is a value of its own.
    std::size_t bytes = options_.value_type == ValueType::category ? kMostMeasuredBytes
                        : options_.budget > 0                      ? options_.budget
                                              : bytes_of_sample(counted.measures());
    const std::vector<MeasureFit> fits = measure_fits();
    StoredEffects effects = range_effects(fits);
    // A small density's cells come first.
    if (effects.bytes() > bytes / kOfEffects) effects = {};
    bytes -= effects.bytes();
    const SampledMeasures sampled = {fits, scale, options_.rows_per_row_read};
    const double within_cells = header_.error * rows_.stand_for;
    header_.error = 0;
    const double wanted = scale * std::max(kLeastOff, kOfDeviation * std::sqrt(rows_.seen));
    const auto prepare = [&](double off, Encoding* e) {
      if (!cells_.empty()) e->list = list_estimate(cells_, header_, counted, list_, off);
      e->list.error_rows += within_cells;
      e->encoder.emplace(counted, e->list, header_, options_.measure_types, control_);
      if (!every_row_is_in()) e->encoder->begin_sampled(&sampled);
      return e->encoder->prepare();
    };
    auto best = std::make_unique<Encoding>();
    double off = kFirstOff * wanted;
    if (Status s = prepare(off, &*best); !s.ok()) return s;
    // Finer cells as long as they are worth it and there is room.
    while (off > wanted && best->list.error_rows - within_cells > wanted) {
      auto finer = std::make_unique<Encoding>();
      off /= 2;
      if (Status s = prepare(off, &*finer); !s.ok()) return s;
      if (finer->encoder->bytes_of({0, 0}, bytes) > bytes) break;
      best = std::move(finer);
    }
    if (Status s = best->encoder->write(best->encoder->best(bytes), density); !s.ok()) return s;
    if (!effects.empty()) insert_effects(effects, density);
    return Status::success();
  }

  struct Encoding {
    GridList list;
    std::optional<GridEncoder> encoder;
  };

  const Sample& sample_;
  const FitOptions& options_;
  const Control& control_;
  FitReport& report_;
  Header header_{};
  GridList list_;
  SampledRows rows_;
  UnitScale unit_;
  double h_ = 0;
  std::vector<HistogramCell> cells_;
  CountEffects counts_;
};

}  // namespace

std::int64_t rows_of_exact_sums(const Sample& sample, const FitOptions& options) {
  return std::min(static_cast<std::int64_t>(sample.drawn.size()), options.bandwidth_rows);
}

double largest_cell(std::span<const HistogramCell> cells) {
  double most = 0;
  for (const HistogramCell& c : cells)
    if (!c.point) most = std::max(most, c.rows);
  return most;
}

std::vector<double> draw_rows(const Sample& sample, const FitOptions& options) {
  constexpr std::uint64_t kStream = 0x9e3779b97f4a7c15u;  // apart from the scan's
  std::vector<double> drawn = sample.drawn;
  const auto rows = static_cast<std::size_t>(rows_of_exact_sums(sample, options));
  if (rows < drawn.size()) {
    Random random(options.seed ^ kStream);
    for (std::size_t i = 0; i < rows; ++i)
      std::swap(drawn[i], drawn[i + random.below(drawn.size() - i)]);
    drawn.resize(rows);
  }
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

Status fit_column(const Sample& sample, const FitOptions& options, const Control& control,
                  DensityBytes* density, FitReport* report) noexcept {
  return guarded([&] { return Fit(sample, options, control, report).run(density); });
}

}  // namespace kde
