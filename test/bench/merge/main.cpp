// Many densities merged into one, as of a table in shards or partitions, in one process without a
// server:
//
//   make bench-merge [PARTS='32 200 1000' SEEDS=n COLUMNS=names]
//
// Each part's rows are generated once, in blocks. For every seed each part samples its own blocks
// (Sampler, fit_column), all are merged and finished, and questions are asked whose answers are
// known. Printed are, beside a fit of all the rows that the parts read as if of one table,
//
//   part, all KB   a part's bytes, and all of them; result: of the merged density
//   merge          of decoded parts and finish, in ms; /part in us
//   stated         the error that the stored forms may have (Header::error), percent of the rows
//   error          root mean square of the counts' errors, percent of the rows: merged over direct
//   coverage       percent of the 95 % intervals that hold the truth, by shape of question, and one
//                  standard error of it, from how seeds differ
//   wide           the intervals' mean half width over 1.96 root mean square errors: 1 is right
//   width          their mean width over the direct fit's
#include "core/kde.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <string>
#include <vector>

#include "core/kernel/normal.h"

namespace kde::bench {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr std::size_t kRowsOfABlock = 30, kBlocks = 640, kRead = 128;
constexpr double kNull = -kInf;  // in place of a row's NULL

void check(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.message);
  std::exit(1);
}

double normal(Random* random) { return normal_quantile(random->uniform()); }

// Where rows lie.
struct Layout {
  const char* name;
  bool clustered;  // half of the variance is between blocks
  bool in_order;   // each part's rows are in their order
  bool ranges;     // each part has a range of values of its own
  bool uneven;     // some parts are empty, tiny, read whole, or read less closely
};
constexpr Layout kLayouts[] = {
    {"alike", false, false, false, false},          {"clustered", true, false, false, false},
    {"in order", false, true, false, false},        {"ranges", false, false, true, false},
    {"ranges clustered", true, false, true, false}, {"uneven", true, false, false, true},
    {"uneven ranges", true, false, true, true},
};

struct Part {
  std::vector<double> x, y;
  std::size_t blocks = kBlocks, read = kRead;
};

struct Column {
  std::string name;
  ValueType type = ValueType::float8;
  double step = 0;
  bool measure = false;

  double value(double z, Random* random) const {
    if (name == "heavy") return std::exp(2 * z);
    if (name == "integers") return std::round(10 * z);
    if (name == "dates") return 86400 * std::round(365 * z);
    if (name == "atoms") return z < -0.2 ? 0 : std::exp(z);
    if (name == "nulls") return random->uniform() < 0.2 ? kNull : z;
    if (name == "constant") return 7;
    return z;
  }
};

std::vector<Column> all_columns() {
  return {{"normal"},
          {"heavy"},
          {"integers", ValueType::int4, 1},
          {"dates", ValueType::date, 86400},
          {"atoms"},
          {"nulls"},
          {"constant"},
          {"measure", ValueType::float8, 0, true}};
}

std::vector<Part> generate(const Column& column, const Layout& layout, std::size_t parts) {
  Random random(41);
  std::vector<Part> out(parts);
  for (std::size_t k = 0; k < parts; ++k) {
    Part& part = out[k];
    if (layout.uneven) {
      const std::size_t kind = k % 20;
      if (kind == 3) part.blocks = part.read = 0;
      if (kind == 7 || kind == 11) part.blocks = part.read = 1 + random.below(4);
      if (kind == 13) part.read = part.blocks;
      if (kind == 17) part.read = kRead / 4;
      if (kind == 19) part.blocks = 4 * kBlocks;
    }
    const bool clustered = layout.clustered && (!layout.uneven || k % 2 == 1);
    std::vector<double> z(part.blocks * kRowsOfABlock);
    double centre = 0;
    for (std::size_t i = 0; i < z.size(); ++i) {
      if (i % kRowsOfABlock == 0) centre = normal(&random);
      z[i] = normal(&random);
      if (clustered) z[i] = (z[i] + centre) / std::sqrt(2.0);
    }
    if (layout.in_order) std::sort(z.begin(), z.end());
    part.x.reserve(z.size());
    for (double v : z) {
      if (layout.ranges)
        v = normal_quantile(std::clamp(
            (static_cast<double>(k) + normal_cdf(v)) / static_cast<double>(parts), 1e-9, 1 - 1e-9));
      part.x.push_back(column.value(v, &random));
      if (column.measure) part.y.push_back(std::exp(v / 2 + normal(&random) / 2));
    }
  }
  return out;
}

enum Shape { kNarrow, kWide, kOneSided, kQuantile, kMean, kSum, kOfMeasure, kShapesAsked };
constexpr const char* kShapeNames[] = {"0.3-3%", "10-30%", "one end", "quantile",
                                       "mean",   "sum",    "measure"};

struct Question {
  Shape shape = kNarrow;
  Range range;
  double q = 0;
  int quantity = 0;  // of a measure: 0 mean, 1 sum
  double truth = 0, scale = 1;
};

std::vector<Question> questions_of(const std::vector<Part>& parts, const Column& column) {
  struct Row {
    double x, y;
  };
  std::vector<Row> rows;
  for (const Part& p : parts)
    for (std::size_t i = 0; i < p.x.size(); ++i)
      if (p.x[i] != kNull) rows.push_back({p.x[i], p.y.empty() ? 0 : p.y[i]});
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.x < b.x; });
  const auto n = static_cast<double>(rows.size());
  std::vector<double> sum(rows.size() + 1), sum_y(rows.size() + 1);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    sum[i + 1] = sum[i] + rows[i].x;
    sum_y[i + 1] = sum_y[i] + rows[i].y;
  }
  const auto at = [&](double share) {
    return rows[static_cast<std::size_t>(std::clamp(share * n, 0.0, n - 1))].x;
  };
  std::vector<Question> out;
  const auto add = [&](Shape shape, double low, double high) {
    Question q;
    q.shape = shape;
    q.range.lower_unbounded = low == -kInf;
    q.range.upper_unbounded = high == kInf;
    q.range.lower = low;
    q.range.upper = high;
    const auto first =
        static_cast<std::size_t>(std::lower_bound(rows.begin(), rows.end(), low,
                                                  [](const Row& r, double x) { return r.x < x; }) -
                                 rows.begin());
    const auto last =
        static_cast<std::size_t>(std::upper_bound(rows.begin(), rows.end(), high,
                                                  [](double x, const Row& r) { return x < r.x; }) -
                                 rows.begin());
    const auto count = static_cast<double>(last - first);
    if (count == 0) return;
    const double total = sum[last] - sum[first];
    const double total_y = sum_y[last] - sum_y[first];
    q.truth = count;
    q.scale = n;
    if (shape == kMean) q.truth = q.scale = total / count;
    if (shape == kSum) q.truth = q.scale = total;
    if (shape == kOfMeasure) {
      q.truth = q.scale = total_y / count;
      out.push_back(q);
      q.quantity = 1;
      q.truth = q.scale = total_y;
    }
    out.push_back(q);
  };
  const auto two_ends = [&](Shape shape, double share) {
    for (const double place : {0.04, 0.27, 0.5, 0.73, 0.96})
      add(shape, at((1 - share) * place), at((1 - share) * place + share));
  };
  for (const double share : {0.003, 0.01, 0.03}) two_ends(kNarrow, share);
  for (const double share : {0.1, 0.3}) two_ends(kWide, share);
  for (const double share : {0.003, 0.03, 0.1, 0.3}) {
    add(kOneSided, -kInf, at(share));
    add(kOneSided, at(1 - share), kInf);
  }
  for (const double q : {0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99}) {
    Question asked;
    asked.shape = kQuantile;
    asked.q = q;
    asked.truth = rows[static_cast<std::size_t>(std::ceil(q * n)) - 1].x;
    out.push_back(asked);
  }
  for (const Shape shape : {kMean, kSum, kOfMeasure}) {
    if ((shape == kOfMeasure) != column.measure) continue;
    add(shape, -kInf, kInf);
    two_ends(shape, 0.03);
    two_ends(shape, 0.3);
  }
  return out;
}

Interval ask(const DensityBytes& density, const Question& q) {
  const DensityView view(density.data());
  const IntervalOptions options;
  switch (q.shape) {
    case kQuantile:
      return quantile_interval(view, q.q, options);
    case kMean:
      return interval_of(Wanted::mean, view, q.range, options);
    case kSum:
      return interval_of(Wanted::sum, view, q.range, options);
    case kOfMeasure: {
      const MeasureView measure(&view.header(), 0);
      return q.quantity == 0 ? interval_of(Wanted::mean, view, measure, q.range, options)
                             : interval_of(Wanted::sum, view, measure, q.range, options);
    }
    default:
      return interval_of(Wanted::count, view, q.range, options);
  }
}

// Of one way, over the seeds.
struct Tally {
  std::vector<double> held[kShapesAsked];  // share of each seed
  std::vector<double> square, width;       // of each question
  double stated = 0, bytes = 0;
  int seeds = 0;

  void add(const DensityBytes& density, const std::vector<Question>& questions) {
    square.resize(questions.size());
    width.resize(questions.size());
    ++seeds;
    stated += density.header().error;
    bytes += static_cast<double>(density.size());
    int asked[kShapesAsked] = {};
    int hits[kShapesAsked] = {};
    for (std::size_t i = 0; i < questions.size(); ++i) {
      const Question& q = questions[i];
      const Interval answer = ask(density, q);
      const double digit = 1e-9 * std::fabs(q.truth);
      ++asked[q.shape];
      hits[q.shape] += answer.lower - digit <= q.truth && q.truth <= answer.upper + digit;
      const double off = answer.estimate - q.truth;
      square[i] += off * off;
      width[i] += answer.upper - answer.lower;
    }
    for (int s = 0; s < kShapesAsked; ++s)
      if (asked[s] > 0) held[s].push_back(static_cast<double>(hits[s]) / asked[s]);
  }

  // Coverage and its standard error.
  double coverage(int shape, double* error) const {
    const auto n = static_cast<double>(held[shape].size());
    double mean = 0, square_sum = 0;
    for (const double h : held[shape]) mean += h / n;
    for (const double h : held[shape]) square_sum += (h - mean) * (h - mean);
    *error = n > 1 ? std::sqrt(square_sum / (n - 1) / n) : 0;
    return mean;
  }
  double count_error(const std::vector<Question>& questions) const {
    double sum = 0;
    int n = 0;
    for (std::size_t i = 0; i < questions.size(); ++i) {
      if (questions[i].shape > kOneSided) continue;
      sum += square[i] / seeds / (questions[i].scale * questions[i].scale);
      ++n;
    }
    return n > 0 ? std::sqrt(sum / n) : 0;
  }
};

// Geometric means over a shape's questions.
double mean_ratio(const std::vector<Question>& questions, int shape, const Tally& a,
                  const Tally* b) {
  double sum = 0;
  int n = 0;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    if (questions[i].shape != shape) continue;
    const double over =
        b != nullptr ? b->width[i] : 2 * 1.96 * a.seeds * std::sqrt(a.square[i] / a.seeds);
    if (!(over > 0) || !(a.width[i] > 0)) continue;
    sum += std::log(a.width[i] / over);
    ++n;
  }
  return n > 0 ? std::exp(sum / n) : std::nan("");
}

void print(const char* way, const std::vector<Question>& questions, const Tally& t,
           const Tally* direct) {
  std::printf("  %-8s stated %.4f%% error %.4f%%", way, 100 * t.stated / t.seeds,
              100 * t.count_error(questions));
  if (direct != nullptr && direct->count_error(questions) > 0)
    std::printf(" (x%.2f)", t.count_error(questions) / direct->count_error(questions));
  std::printf(", result %.1f KB\n", t.bytes / t.seeds / 1024);
  for (int s = 0; s < kShapesAsked; ++s) {
    if (t.held[s].empty()) continue;
    double error;
    const double coverage = t.coverage(s, &error);
    std::printf("    %-9s coverage %5.1f +- %.1f%s  wide %5.2f", kShapeNames[s], 100 * coverage,
                100 * error, coverage + 3 * error + 1e-9 < 0.95 ? " SHORT" : "      ",
                mean_ratio(questions, s, t, nullptr));
    if (direct != nullptr) std::printf("  width %5.2f", mean_ratio(questions, s, t, direct));
    std::printf("\n");
  }
}

FitOptions options_of(const Column& column, std::size_t blocks, std::size_t read) {
  FitOptions options;
  options.value_type = column.type;
  options.lattice_step = column.step;
  options.rows_per_row_read = static_cast<double>(blocks) / static_cast<double>(read);
  options.share_of_blocks = 1 / options.rows_per_row_read;
  options.every_row_read = read == blocks;
  options.measure_types[0] = ValueType::float8;
  return options;
}

void add_block(const Part& part, std::size_t block, Sampler* sampler) {
  check(sampler->begin_block());
  for (std::size_t i = block * kRowsOfABlock; i < (block + 1) * kRowsOfABlock; ++i) {
    if (part.x[i] == kNull) {
      sampler->add_null();
    } else if (part.y.empty()) {
      check(sampler->add(part.x[i]));
    } else {
      check(sampler->add(part.x[i], std::span(&part.y[i], 1)));
    }
  }
}

// Of this thread's processor.
double now_ms() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
}

struct Times {
  double merge = 0, finish = 0, fit = 0, part_bytes = 0;
  int merges = 0, fits = 0;
};

void merge(const std::vector<DensityBytes>& parts, const Column& column, bool one_by_one,
           DensityBytes* out, Times* times) {
  OwnedGridCells cells(chain_of(column.type), column.measure ? 1 : 0);
  std::vector<const Header*> headers;
  for (const DensityBytes& p : parts) headers.push_back(&p.header());
  const double start = now_ms();
  if (one_by_one) {
    for (const Header* h : headers) check(cells->add(*h));
  } else {
    check(add_densities(headers, {}, &*cells));
  }
  const double merged = now_ms();
  FitOptions options;
  options.value_type = column.type;
  options.lattice_step = column.step;
  options.measure_types[0] = ValueType::float8;
  options.added_up = true;
  FitReport report;
  check(fit_cells(&*cells, options, kGridBytes, {}, out, &report));
  times->merge += merged - start;
  times->finish += now_ms() - merged;
  ++times->merges;
}

void run(const Column& column, const Layout& layout, std::size_t count, int seeds) {
  const std::vector<Part> parts = generate(column, layout, count);
  const std::vector<Question> questions = questions_of(parts, column);
  Tally before, automatic, counted, direct;
  Times times, before_times;
  std::size_t all_blocks = 0, all_read = 0;
  for (const Part& p : parts) {
    all_blocks += p.blocks;
    all_read += p.read;
  }
  for (int seed = 0; seed < seeds; ++seed) {
    Sampler::Options sampling;
    sampling.seed = static_cast<std::uint64_t>(seed);
    sampling.measures = column.measure ? 1 : 0;
    sampling.chain = chain_of(column.type);
    Sampler whole(sampling);
    std::vector<DensityBytes> by_auto, by_count;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const Part& part = parts[k];
      if (part.read == 0) continue;
      Random random(static_cast<std::uint64_t>(seed) * 1000003 + k + 1);
      std::vector<std::uint64_t> chosen(part.read);
      choose_blocks(part.blocks, chosen, &random);
      Sampler sampler(sampling);
      for (const std::uint64_t b : chosen) {
        add_block(part, b, &sampler);
        if (!layout.uneven) add_block(part, b, &whole);
      }
      Sample sample;
      check(sampler.finish(&sample));
      if (!(sample.not_null() > 0)) continue;
      FitOptions options = options_of(column, part.blocks, part.read);
      FitReport report;
      const double start = now_ms();
      by_auto.emplace_back();
      check(fit_column(sample, options, Control{}, &by_auto.back(), &report));
      times.fit += now_ms() - start;
      ++times.fits;
      options.as_counted = true;
      by_count.emplace_back();
      check(fit_column(sample, options, Control{}, &by_count.back(), &report));
      times.part_bytes += static_cast<double>(by_count.back().size());
    }
    DensityBytes merged;
    merge(by_auto, column, true, &merged, &before_times);
    before.add(merged, questions);
    merge(by_auto, column, false, &merged, &times);
    automatic.add(merged, questions);
    merge(by_count, column, false, &merged, &times);
    counted.add(merged, questions);
    if (layout.uneven) continue;
    Sample sample;
    check(whole.finish(&sample));
    FitReport report;
    check(
        fit_column(sample, options_of(column, all_blocks, all_read), Control{}, &merged, &report));
    direct.add(merged, questions);
  }
  const double part_bytes = times.part_bytes / times.fits;
  std::printf(
      "%s, %s, %zu parts, %d seeds: merge %.1f ms, %.0f us/part (one by one %.0f), finish %.1f ms; "
      "fit %.1f "
      "ms/part; part %.1f KB, all %.0f KB\n",
      column.name.c_str(), layout.name, count, seeds, times.merge / times.merges,
      1000 * times.merge / times.merges / static_cast<double>(count),
      1000 * before_times.merge / before_times.merges / static_cast<double>(count),
      times.finish / times.merges, times.fit / times.fits, part_bytes / 1024,
      part_bytes * static_cast<double>(times.fits) / seeds / 1024);
  const Tally* beside = layout.uneven ? nullptr : &direct;
  print("singly", questions, before, beside);
  print("auto", questions, automatic, beside);
  print("counted", questions, counted, beside);
  if (beside != nullptr) print("direct", questions, direct, nullptr);
  std::fflush(stdout);
}

bool named(const std::string& list, const std::string& name) {
  return list == "all" || ("," + list + ",").find("," + name + ",") != std::string::npos;
}

}  // namespace
}  // namespace kde::bench

// Arguments: parts, seeds, columns and layouts, lists with commas between; "all".
int main(int argc, char** argv) {
  using namespace kde::bench;
  if (argc != 5) return 2;
  const std::size_t parts = std::strtoul(argv[1], nullptr, 10);
  const int seeds = std::atoi(argv[2]);
  for (const Column& column : all_columns()) {
    if (!named(argv[3], column.name)) continue;
    for (const Layout& layout : kLayouts)
      if (named(argv[4], layout.name)) run(column, layout, parts, seeds);
  }
  return 0;
}
