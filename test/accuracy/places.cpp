// The samples, questions and figures of places.h.
#include "places.h"

#include "core/random.h"

#include "joint_boxes.h"
#include "joint_estimators.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace kde::accuracy {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int kTarget = 2;
constexpr std::array<Quantity, 2> kAskedOfPlaces = {kCount, kMean};
constexpr double kWorstBox = 1.12, kSmooth = 0.9, kLeastHeld = 0.9, kBelowTextbook = 0.04;
constexpr double kChance = 3;  // standard errors

double mean_of(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v;
  return x.empty() ? kNan : sum / static_cast<double>(x.size());
}

// Blocks of the table's order, one of each stretch, all of whose rows are drawn.
JointDraw draw_blocks(const JointTable& table, std::uint64_t seed) {
  const int blocks = static_cast<int>(table.rows.rows) / kBlockRows / kStretch;
  JointDraw draw;
  draw.column = {0, 1, kTarget};
  draw.read = static_cast<std::size_t>(blocks) * kBlockRows;
  JointSampler::Options options;
  options.columns = 3;
  options.sample_rows = static_cast<std::int64_t>(draw.read);
  options.seed = seed;
  JointSampler sampler(options);
  Random random(seed);
  draw.rows.columns = 3;
  for (int b = 0; b < blocks; ++b) {
    const std::size_t block = static_cast<std::size_t>(b) * kStretch + random.below(kStretch);
    bool ok = sampler.begin_block().ok();
    for (std::size_t i = block * kBlockRows; i < (block + 1) * kBlockRows; ++i) {
      ok = ok && sampler.add(table.rows.row(i), 0).ok();
      draw.rows.value.insert(draw.rows.value.end(), table.rows.row(i), table.rows.row(i) + 3);
      draw.rows.null.push_back(0);
      ++draw.rows.rows;
    }
    if (!ok) throw std::runtime_error("a sampler failed");
  }
  if (!sampler.finish(&draw.sample).ok()) throw std::runtime_error("a sampler failed");
  return draw;
}

bool is_in(const double* row, const Box& box) {
  for (std::size_t k = 0; k < box.column.size(); ++k) {
    const double x = row[box.column[k]];
    if (!(x >= box.range[k].lower && x <= box.range[k].upper)) return false;
  }
  return true;
}

// Of what blocks have of `part` over what they have of `whole`, times `scale`.
Interval ratio_interval(const std::vector<double>& part, const std::vector<double>& whole,
                        double scale) {
  const double n = static_cast<double>(part.size());
  const double ratio = mean_of(part) / mean_of(whole);
  double squares = 0;
  for (std::size_t b = 0; b < part.size(); ++b) squares += std::pow(part[b] - ratio * whole[b], 2);
  const double variance = squares / (n - 1) / n * (1 - 1.0 / kStretch);
  const double half =
      (kNormal95 + student_excess(kNormal95, n - 1)) * std::sqrt(variance) / mean_of(whole) * scale;
  return {ratio * scale, ratio * scale - half, ratio * scale + half};
}

std::optional<Interval> textbook_of_blocks(Quantity quantity, const JointTable& table,
                                           const RowSet& rows, const Box& box) {
  const std::size_t blocks = rows.rows / kBlockRows;
  std::vector<double> count(blocks), sum(blocks), all(blocks, kBlockRows);
  for (std::size_t i = 0; i < rows.rows; ++i) {
    if (!is_in(rows.row(i), box)) continue;
    ++count[i / kBlockRows];
    sum[i / kBlockRows] += rows.row(i)[kTarget];
  }
  if (!(mean_of(count) > 0)) return std::nullopt;
  return quantity == kCount ? ratio_interval(count, all, static_cast<double>(table.rows.rows))
                            : ratio_interval(sum, count, 1);
}

bool holds(const std::optional<Interval>& interval, double truth) {
  return interval && interval->lower <= truth && truth <= interval->upper;
}

void measure_box(const MadePoints& made, const JointDraw& draw, const JointView& density,
                 const BoxQuestion& question, PlaceFigures* figures) {
  const Box& box = question.box;
  const BoxTotals sample = totals_of(draw.rows, box);
  const Slice& slice = sample.slice[kTarget];
  const Answers ours = joint_answers(density, box, kTarget);
  const Answers counted = raw_answers(sample, slice, draw.rows.rows, made.table.rows.rows);
  for (const Quantity q : kAskedOfPlaces) {
    if (q == kMean && slice.rows < 2) continue;
    const double truth =
        q == kCount ? static_cast<double>(question.truth.rows) : question.truth.slice[kTarget].mean;
    figures->error[q].push_back(std::fabs(ours.value[q] - truth));
    figures->error_of_rows[q].push_back(std::fabs(counted.value[q] - truth));
    figures->held[q].add(holds(joint_interval(q, density, box, q == kCount ? -1 : kTarget), truth));
    const std::optional<Interval> textbook =
        made.by_block ? textbook_of_blocks(q, made.table, draw.rows, box)
                      : textbook_interval(q, slice, draw.rows.rows, made.table.rows.rows);
    if (textbook) figures->textbook[q].add(holds(textbook, truth));
  }
}

struct Pooled {
  Tally held, textbook;
  double error = kNan, worst = kNan, beyond = 0;
};

Pooled pool(const std::vector<PlaceFigures>& boxes, int quantity) {
  Pooled out;
  std::vector<double> ratios;
  for (const PlaceFigures& box : boxes) {
    out.held.add(box.held[quantity]);
    out.textbook.add(box.textbook[quantity]);
    if (std::isnan(box.ratio(quantity))) continue;
    ratios.push_back(box.ratio(quantity));
    out.worst = std::fmax(out.worst, ratios.back());
    out.beyond = std::max(out.beyond, box.beyond(quantity, kWorstBox));
  }
  out.error = geometric_mean(ratios);
  return out;
}

}  // namespace

double PlaceFigures::ratio(int quantity) const {
  return mean_of(error[quantity]) / mean_of(error_of_rows[quantity]);
}

double PlaceFigures::beyond(int quantity, double times) const {
  std::vector<double> more;
  for (std::size_t i = 0; i < error[quantity].size(); ++i)
    more.push_back(error[quantity][i] - times * error_of_rows[quantity][i]);
  const double n = static_cast<double>(more.size());
  const double mean = mean_of(more);
  double squares = 0;
  for (const double x : more) squares += (x - mean) * (x - mean);
  return n > 1 && squares > 0 ? mean / std::sqrt(squares / (n - 1) / n) : 0;
}

std::vector<PlaceFigures> measure_places(const MadePoints& made, const PlacesPlan& plan) {
  BoxRule rule;
  rule.lowest = plan.lowest;
  rule.highest = plan.highest;
  rule.boxes = plan.boxes;
  const std::vector<BoxQuestion> questions = make_boxes(made.table.rows, {0, 1}, rule, plan.seed);
  std::vector<PlaceFigures> figures(questions.size());
  for (int s = 0; s < plan.samples; ++s) {
    const std::uint64_t seed = plan.seed + static_cast<std::uint64_t>(s);
    const JointDraw draw = made.by_block ? draw_blocks(made.table, seed)
                                         : draw_joint(made.table, {0, 1, kTarget}, kPlaceSample,
                                                      made.table.rows.rows, seed);
    const std::optional<JointFitted> fitted = fit_joint(draw, made.table, JointMethod::automatic);
    if (!fitted) throw std::runtime_error("no density of " + made.table.name);
    for (std::size_t i = 0; i < questions.size(); ++i)
      measure_box(made, draw, fitted->view(), questions[i], &figures[i]);
  }
  return figures;
}

void run_places(std::FILE* out) {
  std::fprintf(out,
               "\nBoxes on made points: error over that of counting the sample, geometric mean and "
               "worst box; 95 %% intervals that hold, and the textbook's, in percent\n");
  for (const MadePoints& made : made_points()) {
    const std::vector<PlaceFigures> boxes = measure_places(made, {});
    for (const Quantity q : kAskedOfPlaces) {
      const Pooled p = pool(boxes, q);
      const double held = p.held.share(), textbook = p.textbook.share();
      const bool ok = p.beyond <= kChance && (!made.smooth || p.error <= kSmooth) &&
                      held >= kLeastHeld && held >= textbook - kBelowTextbook;
      std::fprintf(out, "  %-9s %-6s %5.2f %5.2f   %5.1f %5.1f  %s\n", made.table.name.c_str(),
                   kQuantityNames[q], p.error, p.worst, 100 * held, 100 * textbook,
                   ok ? "ok" : "SHORT");
      std::fflush(out);
    }
  }
}

}  // namespace kde::accuracy
