// See fit_cells.h.
#include "core/fit/fit_cells.h"

#include "core/fit/described.h"
#include "core/grid/owned_cells.h"
#include "core/select/line_bandwidth.h"
#include "core/stopwatch.h"
#include "core/guarded.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>

namespace kde {

namespace {

// For a bandwidth, neighbouring cells are put together beyond so many.
constexpr std::size_t kMostMiddles = 16384;

// The type's lattice, or decimal fractions of as many digits as were met.
void find_lattice(const GridCells& cells, const FitOptions& options, Header* h) {
  if (options.lattice_step > 0) {
    place_on_type_lattice(options.lattice_step, h);
  } else if (cells.digits() <= kMostValueDigits) {
    h->lattice_scale = std::pow(10.0, cells.digits());
    h->lattice_step = 1 / h->lattice_scale;
    h->lattice_offset = 0;
  }
  if (h->lattice_step > 0 && lattice_resolved(*h) && is_lattice_point(*h, h->min) &&
      is_lattice_point(*h, h->max))
    return;
  h->lattice_step = h->lattice_offset = h->lattice_scale = 0;
}

// Cells' middles and their rows. By auto, of a value that has more than kHeavy times the rows of its
// neighbours' median that is left to it: it is no part of what is smooth.
WeightedLine smooth_rows(const RoundEnds& ends, std::span<const GridEntry> cells, bool automatic,
                         UnitScale* unit) {
  std::vector<WeightedValue> all;
  const std::size_t each = cells.size() / kMostMiddles + 1;
  for (std::size_t i = 0; i < cells.size(); i += each) {
    const std::size_t last = std::min(i + each, cells.size()) - 1;
    double rows = 0;
    for (std::size_t j = i; j <= last; ++j) rows += cells[j].rows;
    const GridEntry& e = cells[last];
    // The outermost may end beyond double precision.
    constexpr double kMost = std::numeric_limits<double>::max();
    const double low = cells[i].x;
    const double high =
        std::min(e.level < 0 ? e.x : ends.end(e.level, ends.cell(e.level, e.x) + 1), kMost);
    const double width = high - low;
    all.push_back({std::isfinite(width) ? low + width / 2 : low / 2 + high / 2, rows});
  }
  const double first = all.front().value;
  const double last = all.back().value;
  unit->origin = std::isfinite(last - first) ? all[all.size() / 2].value : 0;
  std::frexp(std::max(last - unit->origin, unit->origin - first), &unit->exponent);
  WeightedLine line;
  double least = all.front().weight;
  for (const WeightedValue& v : all) least = std::min(least, v.weight);
  for (std::size_t i = 0; i < all.size(); ++i) {
    double rows = all[i].weight;
    // No median is less.
    if (automatic && all.size() > 2 && rows > kHeavy * least) {
      const double median =
          median_beside(i, all.size(), [&all](std::size_t j) { return all[j].weight; });
      if (rows > kHeavy * median) rows = median;
    }
    line.add(unit->to_u(all[i].value), rows);
  }
  return line;
}

Status select(const RoundEnds& ends, std::span<const GridEntry> cells, Method asked,
              const Control& control, Header* h, FitReport* report) {
  const Stopwatch watch;
  UnitScale unit;
  const bool automatic = asked == Method::automatic;
  const WeightedLine line = smooth_rows(ends, cells, automatic, &unit);
  if (line.values.size() < 2) return Status::success();
  double rows = 0;
  for (const double w : line.weights) rows += w;
  LineRequest request;
  request.engine.kind = Engine::Kind::spectral;
  LineBandwidth found;
  Status status;
  for (const Method method : {automatic ? Method::plugin : asked, Method::silverman}) {
    request.method = report->method = method;
    status = select_line_bandwidth(
        request, {line.values, line.weights, std::llround(std::min(rows, 0x1p62))}, control,
        &found);
    if (status.ok() || status.code == Code::cancelled || status.code == Code::out_of_memory) break;
    report->status = "fallback";
  }
  report->select_ms = watch.ms();
  // Counts need none: whatever the values are, there is a density of them.
  if (!status.ok())
    return status.code == Code::cancelled || status.code == Code::out_of_memory ? status
                                                                                : Status::success();
  h->bandwidth = report->bandwidth = unit.bandwidth(found.h);
  return Status::success();
}

// How sure means are, of densities that were added up.
std::vector<MeasureFit> measure_fits(const GridCells& cells) {
  std::vector<MeasureFit> fits(static_cast<std::size_t>(cells.measures()));
  for (std::size_t k = 0; k < fits.size(); ++k) {
    const GridCells::Measure& m = cells.measure(static_cast<int>(k));
    if (!(m.totals.rows() > 0)) continue;
    fits[k].mean_error = finite_error(m.sampling.sum_error / m.totals.rows());
    fits[k].counts = m.sampling.counts;
    for (int i = 0; i < kErrorScales; ++i)
      fits[k].mean_variance[i] =
          finite_float(m.sampling.weight[i] * m.totals.count() / m.totals.rows());
  }
  return fits;
}

void describe_values(std::size_t values, FitReport* report) {
  if (values == 1)
    std::snprintf(report->model, sizeof report->model, "a single value");
  else
    std::snprintf(report->model, sizeof report->model, "%zu values, each with its own count",
                  values);
}

void describe_model(const RoundEnds& round_ends, const GridList& list, const GridCut& cut,
                    bool all_values, FitReport* report) {
  if (all_values) return describe_values(list.entries.size(), report);
  char ends[80];
  describe_ends(round_ends, list, cut, ends, sizeof ends);
  std::snprintf(report->model, sizeof report->model, "every row; %s", ends);
}

Status fit(GridCells* cells, const FitOptions& options, const GridBytes& bytes,
           const Control& control, DensityBytes* density, FitReport* report) {
  *report = {};
  Header header{};
  if (Status s = describe_cells(cells, options, &header); !s.ok()) return s;
  if (!(header.rows > 0) && !options.added_up)
    return Status::error(Code::invalid_argument, "no values");
  GridList list;
  if (Status s = cells->list(&list, &header); !s.ok()) return s;
  report->sample_rows = static_cast<std::int64_t>(header.sample_rows);
  if (!list.entries.empty())
    if (Status s = select(cells->ends(), list.entries, options.method, control, &header, report);
        !s.ok())
      return s;
  // By name it is that which was asked for, so that densities that were asked for alike can be added.
  header.method = options.method == Method::automatic ? report->method : options.method;
  control.begin(Stage::estimating);
  const Stopwatch watch;
  GridEncoder encoder(*cells, list, header, options.measure_types, control);
  const std::vector<MeasureFit> fits = measure_fits(*cells);
  const SampledMeasures sampled = {fits};
  if (cells->sampling().any != 0) encoder.begin_sampled(&sampled);
  if (Status s = encoder.prepare(); !s.ok()) return s;
  const GridCut cut = encoder.best(bytes);
  if (Status s = encoder.write(cut, density); !s.ok()) return s;
  describe_model(cells->ends(), list, cut, encoder.has_all_values(), report);
  report->estimate_ms = watch.ms();
  return Status::success();
}

}  // namespace

Status select_again(const FitOptions& options, const Control& control, DensityBytes* density,
                    FitReport* report) {
  Header& header = density->header();
  OwnedGridCells cells(header.chain, 0);
  std::vector<GridEntry> list;
  if (Status s = cells->list_of(header, &list); !s.ok()) return s;
  report->sample_rows = static_cast<std::int64_t>(header.sample_rows);
  report->method = header.method;
  header.bandwidth = 0;
  if (Status s = select(cells->ends(), list, options.method, control, &header, report); !s.ok())
    return s;
  header.method = report->method;
  if (std::all_of(list.begin(), list.end(), [](const GridEntry& e) { return e.level < 0; }))
    describe_values(list.size(), report);
  return Status::success();
}

void describe_ends(const RoundEnds& ends, const GridList& list, const GridCut& cut, char* out,
                   std::size_t size) {
  const int level = std::max(cut.floor, list.coarsest);
  const char* name = level == kHourLevel       ? "hour"
                     : level == kDayLevel      ? "day"
                     : level == kMonthLevel    ? "month"
                     : level == kYearLevel     ? "year"
                     : level == kYearLevel + 1 ? "decade"
                     : level == kYearLevel + 2 ? "century"
                     : level == kYearLevel + 3 ? "millennium"
                                               : nullptr;
  if (ends.is_of_times() && name != nullptr && (ends.is_calendar() || level <= kDayLevel))
    std::snprintf(out, size, "exact at each %s", name);
  else
    std::snprintf(out, size, "exact at steps of %.10g", ends.step(level));
}

Status describe_cells(GridCells* cells, const FitOptions& options, Header* header) {
  if (Status s = cells->settle(); !s.ok()) return s;
  const SpecialRows& s = cells->specials();
  const SummaryTotals& t = cells->totals();
  const double rows = t.rows() + s.nans + s.negative_infinities + s.positive_infinities;
  if (!(std::max(rows, s.nulls) <= kMostRows))
    return Status::error(Code::invalid_argument, "rows of all values weigh more than %g together",
                         kMostRows);
  Header& h = *header;
  h.flags = options.method == Method::automatic ? kBounded : 0;
  if (cells->sampling().unread == 0) h.flags |= kEveryRowRead;
  if (cells->sampling().any == 0 && options.method == Method::automatic) h.flags |= kExactEnds;
  if (!options.added_up) h.flags |= kFitted;
  h.method = Method::plugin;
  h.value_type = options.value_type;
  h.sample_rows = std::min(t.count(), 0x1p62);
  describe_totals(t, s, rows, 1, &h);
  if (Status chain = describe_chain(cells->ends(), &h); !chain.ok()) return chain;
  if (t.count() > 0 && std::fabs(h.finite_rows() - t.rows()) > 1e-9 * t.rows())
    return Status::error(
        Code::invalid_argument,
        "NaN and the infinities weigh so much that other rows are lost beside them");
  if (h.rows > 0) cells->sampling().describe(&h);
  if (t.count() > 0) find_lattice(*cells, options, &h);
  return Status::success();
}

Status fit_cells(GridCells* cells, const FitOptions& options, const GridBytes& bytes,
                 const Control& control, DensityBytes* density, FitReport* report) noexcept {
  return guarded([&] { return fit(cells, options, bytes, control, density, report); });
}

}  // namespace kde
