// The draws and questions of shapes.h.
#include "shapes.h"

#include "core/random.h"
#include "core/sampling/block_choice.h"

#include "estimators.h"
#include "stream.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <limits>
#include <mutex>

namespace kde::accuracy {

namespace {

constexpr double kRounding = 1e-9;
constexpr double kRepeated = 5;  // rows of a value on average, for equality to be asked

struct ShapeQuestion {
  Question question;
  int asked, c;
};

struct Asking {
  const Table* table;
  const Column* column;
  std::vector<double> sorted;
  std::vector<ShapeQuestion> questions;
};

// -1 beyond the last.
int class_of_share(double share) {
  for (std::size_t c = 1; c < kShares.size(); ++c)
    if (share < kShares[c]) return static_cast<int>(c) - 1;
  return -1;
}

void ask(int asked, const Range& range, Asking* asking) {
  Question q;
  q.range = range;
  q.truth = slice_of(asking->sorted, range);
  q.fraction = static_cast<double>(q.truth.rows) / static_cast<double>(asking->sorted.size());
  const int c = class_of_share(q.fraction);
  if (c >= 0) asking->questions.push_back({q, asked, c});
}

void make_questions(const ShapesPlan& plan, Asking* asking) {
  const std::vector<double>& v = asking->sorted;
  Random random(stream(plan.seed, asking->table->name + "." + asking->column->name, 0, 0));
  for (int c = 0; c < classes_of(kTwoEnds); ++c) {
    for (const int asked : {kTwoEnds, kAbove, kBelow}) {
      for (int i = 0; i < plan.questions; ++i) {
        const double share = kShares[c] * std::pow(kShares[c + 1] / kShares[c], random.uniform());
        const auto rows = std::max<std::size_t>(
            std::llround(std::floor(share * static_cast<double>(v.size()))), 1);
        std::size_t first = random.below(v.size() - rows + 1);
        if (asked == kAbove) first = v.size() - rows;
        if (asked == kBelow) first = 0;
        Range range = closed_range(v[first], v[first + rows - 1]);
        range.lower_unbounded = asked == kBelow;
        range.upper_unbounded = asked == kAbove;
        ask(asked, range, asking);
      }
    }
  }
  std::vector<double> distinct = v;
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  if (kRepeated * static_cast<double>(distinct.size()) > static_cast<double>(v.size())) return;
  for (int i = 0; i < plan.questions * classes_of(kEqual); ++i) {
    const double x = v[random.below(v.size())];
    ask(kEqual, closed_range(x, x), asking);
  }
}

// A sample, its rows in order, and the rows of the table for each of them.
struct Drawn {
  Fitted fitted;
  std::vector<double> rows;
  double scale = 1;
};

void read_blocks(const Asking& asking, const std::vector<std::uint64_t>& chosen, Sampler* sampler) {
  const std::vector<double>& values = asking.column->values;
  const std::vector<std::size_t>& nulls = asking.column->null_rows;
  for (const std::uint64_t block : chosen) {
    require(sampler->begin_block());
    const std::size_t first = block * kRowsOfABlock;
    const std::size_t end = std::min(first + kRowsOfABlock, asking.table->rows);
    auto null = std::lower_bound(nulls.begin(), nulls.end(), first);
    std::size_t value = first - static_cast<std::size_t>(null - nulls.begin());
    for (std::size_t row = first; row < end; ++row) {
      if (null != nulls.end() && *null == row) {
        sampler->add_null();
        ++null;
      } else {
        require(sampler->add(values[value++]));
      }
    }
  }
}

Drawn draw(const Asking& asking, int way, std::uint64_t seed) {
  Drawn drawn;
  Sampler::Options sampling;
  sampling.sample_rows = static_cast<std::int64_t>(kDrawRows[way]);
  sampling.seed = seed;
  sampling.chain = chain_of(value_type_of(asking.column->type));
  sampling.range_cells = kMostEffectCells;
  Sampler sampler(sampling);
  FitOptions options;
  if (way == kByBlock) {
    Random random(seed);
    const std::size_t total = (asking.table->rows + kRowsOfABlock - 1) / kRowsOfABlock;
    const std::size_t wanted = std::min(kMostBlocks, total / 2);
    std::vector<std::uint64_t> chosen(wanted);
    choose_blocks(total, chosen, &random);
    read_blocks(asking, chosen, &sampler);
    drawn.scale = static_cast<double>(total) / static_cast<double>(wanted);
    options.rows_per_row_read = drawn.scale;
    options.share_of_blocks = 1 / drawn.scale;
  } else {
    for (const double x : asking.column->values) require(sampler.add(x));
    options.every_row_read = true;
    drawn.scale = static_cast<double>(asking.sorted.size()) / static_cast<double>(kDrawRows[way]);
  }
  Sample sample;
  require(sampler.finish(&sample));
  drawn.fitted = fit(sample, options, asking.column->type, 1);
  drawn.rows = std::move(sample.drawn);
  std::sort(drawn.rows.begin(), drawn.rows.end());
  return drawn;
}

void add_error(double ours, double of_rows, int quantity, ShapeFigures* figures) {
  if (std::isnan(ours) || std::isnan(of_rows)) return;
  figures->error[quantity] += ours;
  figures->error_of_rows[quantity] += of_rows;
}

void answer(const Drawn& drawn, int way, std::size_t rows, const Question& question,
            ShapeFigures* figures) {
  const Slice slice = slice_of(drawn.rows, question.range);
  const DensityView view = drawn.fitted.view();
  const Answers ours = density_answers(view, question.range);
  const Answers counted = {
      {drawn.scale * static_cast<double>(slice.rows), drawn.scale * slice.sum, slice.mean}};
  for (const Quantity quantity : {kCount, kSum, kMean}) {
    if (quantity == kMean && question.truth.deviation == 0) continue;
    add_error(error_of(quantity, ours, question), error_of(quantity, counted, question), quantity,
              figures);
    const auto interval = density_interval(quantity, view, question.range);
    figures->held[quantity].add(interval && covers(*interval, quantity, question));
    if (way == kByBlock || !interval) continue;
    const auto textbook = textbook_interval(quantity, slice, drawn.rows.size(), rows);
    const double width = textbook ? textbook->upper - textbook->lower : 0;
    if (width > 0)
      figures->width[quantity].push_back(
          static_cast<float>((interval->upper - interval->lower) / width));
  }
}

// The least value with the fraction of the rows up to it.
double value_at(const std::vector<double>& sorted, double fraction) {
  const double rank = std::ceil(fraction * static_cast<double>(sorted.size()) - kRounding);
  return sorted[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

void answer_quantile(const Drawn& drawn, const std::vector<double>& sorted, double fraction,
                     ShapeFigures* figures) {
  const double truth = value_at(sorted, fraction);
  const Interval interval = quantile_interval(drawn.fitted.view(), fraction, {});
  const double digits = kRounding * std::fabs(truth);
  figures->held[kCount].add(interval.lower - digits <= truth && truth <= interval.upper + digits);
  add_error(std::fabs(interval.estimate - truth), std::fabs(value_at(drawn.rows, fraction) - truth),
            kCount, figures);
}

void measure_way(const ShapesPlan& plan, const Asking& asking, int way, ShapesColumn* column) {
  for (int s = 0; s < plan.samples; ++s) {
    const Drawn drawn =
        draw(asking, way, stream(plan.seed, column->name, static_cast<std::size_t>(way) + 1, s));
    column->rows[way] = drawn.rows.size();
    for (const ShapeQuestion& q : asking.questions)
      answer(drawn, way, asking.sorted.size(), q.question, &column->figures[way][q.asked][q.c]);
    for (int c = 0; c < classes_of(kQuantile); ++c)
      answer_quantile(drawn, asking.sorted, kFractions[c], &column->figures[way][kQuantile][c]);
  }
}

std::vector<Asking> columns_to_ask(const std::vector<Table>& tables, const ShapesPlan& plan) {
  std::vector<Asking> out;
  for (const Table& table : tables) {
    for (const Column& column : table.columns) {
      Asking asking{&table, &column, column.values, {}};
      std::sort(asking.sorted.begin(), asking.sorted.end());
      if (asking.sorted.empty() || asking.sorted.front() == asking.sorted.back()) continue;
      make_questions(plan, &asking);
      out.push_back(std::move(asking));
    }
  }
  return out;
}

}  // namespace

int classes_of(int asked) {
  return static_cast<int>(asked == kQuantile ? kFractions.size() : kShares.size() - 1);
}

std::string class_name(int asked, int c) {
  char text[32];
  if (asked == kQuantile) {
    std::snprintf(text, sizeof text, "%g", kFractions[c]);
  } else {
    std::snprintf(text, sizeof text, "%g-%g", kShares[c], kShares[c + 1]);
  }
  return text;
}

double least_share(int asked, int c) {
  if (asked != kQuantile) return kShares[c];
  return std::min(kFractions[c], 1 - kFractions[c]);
}

double ShapeFigures::ratio(int quantity) const {
  if (error_of_rows[quantity] == 0) return std::numeric_limits<double>::quiet_NaN();
  return error[quantity] / error_of_rows[quantity];
}

void ShapeFigures::add(const ShapeFigures& other) {
  for (int q = 0; q < kQuantities; ++q) {
    held[q].add(other.held[q]);
    error[q] += other.error[q];
    error_of_rows[q] += other.error_of_rows[q];
    width[q].insert(width[q].end(), other.width[q].begin(), other.width[q].end());
  }
}

std::vector<ShapesColumn> measure_shapes(const std::vector<Table>& tables, const ShapesPlan& plan) {
  const std::vector<Asking> asking = columns_to_ask(tables, plan);
  std::vector<ShapesColumn> columns(asking.size());
  for (std::size_t i = 0; i < asking.size(); ++i)
    columns[i].name = asking[i].table->name + "." + asking[i].column->name;
  std::exception_ptr failure;
  std::mutex mutex;
  const int tasks = kDraws * static_cast<int>(asking.size());
#pragma omp parallel for schedule(dynamic)
  for (int i = 0; i < tasks; ++i) {
    const Asking& of = asking[i / kDraws];
    const int way = i % kDraws;
    if (way != kByBlock && of.sorted.size() < 2 * kDrawRows[way]) continue;
    try {
      measure_way(plan, of, way, &columns[i / kDraws]);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  return columns;
}

}  // namespace kde::accuracy
