// The estimators of joint_estimators.h.
#include "joint_estimators.h"

#include "core/joint/box_evidence.h"
#include "core/random.h"

#include "estimators.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

namespace kde::accuracy {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

void require(const Status& status, const std::string& what) {
  if (!status.ok()) throw std::runtime_error(what + ": " + status.message);
}

// All numbers below `rows`, or `read` of them in random order (Fisher and Yates' shuffle, ended
// early).
std::vector<std::size_t> rows_to_read(std::size_t rows, std::size_t read, std::uint64_t seed) {
  std::vector<std::size_t> numbers(rows);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  if (read == rows) return numbers;
  Random random(seed);
  for (std::size_t i = 0; i < read; ++i) std::swap(numbers[i], numbers[i + random.below(rows - i)]);
  numbers.resize(read);
  return numbers;
}

std::vector<BoxSide> sides_of(const Box& box) {
  std::vector<BoxSide> sides;
  for (std::size_t i = 0; i < box.column.size(); ++i)
    sides.push_back({box.column[i], box.range[i]});
  return sides;
}

}  // namespace

JointDraw draw_joint(const JointTable& table, const std::vector<int>& columns,
                     std::size_t sample_rows, std::size_t read, std::uint64_t seed) {
  JointDraw draw;
  draw.column = columns;
  draw.read = read;
  JointSampler::Options options;
  options.columns = static_cast<int>(columns.size());
  options.sample_rows = static_cast<std::int64_t>(sample_rows);
  options.seed = seed;
  for (std::size_t k = 0; k < columns.size(); ++k)
    options.chain[k] = chain_of(value_type_of(table.type[columns[k]]));
  JointSampler sampler(options);
  const RowSet scanned =
      part_of(table.rows, columns, rows_to_read(table.rows.rows, read, seed + 1));
  for (std::size_t i = 0; i < scanned.rows; ++i)
    require(sampler.add(scanned.row(i), scanned.null[i]), table.name);
  require(sampler.finish(&draw.sample), table.name);
  draw.rows.columns = options.columns;
  draw.rows.rows = static_cast<std::size_t>(draw.sample.rows);
  draw.rows.value = draw.sample.value;
  draw.rows.null = draw.sample.null;
  return draw;
}

std::optional<JointFitted> fit_joint(const JointDraw& draw, const JointTable& table,
                                     JointMethod method) {
  const double rows = static_cast<double>(table.rows.rows);
  JointFitOptions options;
  options.method = method;
  for (std::size_t k = 0; k < draw.column.size(); ++k) {
    options.value_type[k] = value_type_of(table.type[draw.column[k]]);
    options.lattice_step[k] = lattice_step_of(table.type[draw.column[k]]);
  }
  options.rows_per_row_read = rows / static_cast<double>(draw.read);
  options.every_row_read = draw.read == table.rows.rows;
  options.share_of_blocks = static_cast<double>(draw.read) / rows;
  options.seed = 1;
  JointFitted fitted;
  int column = -1;
  const Status status =
      kde::fit_joint(draw.sample, options, Control(), &fitted.bytes, &fitted.report, &column);
  if (status.code == Code::degenerate && method != JointMethod::automatic) return std::nullopt;
  std::string what = table.name + ", " + joint_method_name(method) + " of";
  for (const int k : draw.column) what += " " + table.column_name[k];
  require(status, what);
  return fitted;
}

Box box_within(const Box& box, const std::vector<int>& columns) {
  Box within = box;
  for (int& column : within.column)
    column = static_cast<int>(std::find(columns.begin(), columns.end(), column) - columns.begin());
  return within;
}

Answers joint_answers(const JointView& density, const Box& box, int target) {
  const JointMoments m = joint_moments(density, sides_of(box), target);
  if (target < 0 || m.finite <= 0) return {{m.count, 0, kNan}};
  return {{m.count, m.mean * m.finite, m.mean}};
}

std::optional<Interval> joint_interval(Quantity quantity, const JointView& density, const Box& box,
                                       int target) {
  const std::vector<BoxSide> sides = sides_of(box);
  const JointMoments m = joint_moments(density, sides, target);
  const Wanted wanted = quantity == kCount ? Wanted::count
                        : quantity == kSum ? Wanted::sum
                                           : Wanted::mean;
  const Interval interval = interval_of(wanted, density, sides, m, {});
  if (std::isnan(interval.estimate)) return std::nullopt;
  return interval;
}

Answers raw_answers(const BoxTotals& totals, const Slice& slice, std::size_t sample_rows,
                    std::size_t rows) {
  const double scale = static_cast<double>(rows) / static_cast<double>(sample_rows);
  return {{scale * static_cast<double>(totals.rows), scale * slice.sum, slice.mean}};
}

}  // namespace kde::accuracy
