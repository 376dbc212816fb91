// See margins.h.
#include "core/joint/margins.h"

#include "core/density/histogram_view.h"
#include "core/joint/axis.h"

#include <algorithm>
#include <cmath>

namespace kde {

namespace {

// Classes of levels at most, and rows a class has at least.
constexpr std::size_t kMostClasses = 40, kLeastClassRows = 5;
// Classes of a category, whose rows are not spread evenly.
constexpr std::size_t kMostValueClasses = 256;

// A point's rows are all in the class of its middle; others lie evenly between their levels.
void spread_cell(const HistogramCell& cell, double from, double to, Margin* m,
                 std::size_t classes) {
  const auto n = static_cast<double>(classes);
  if (cell.point || !(to > from)) {
    const auto c = static_cast<std::size_t>(std::max((from + to) / 2 * n, 0.0));
    m->target[std::min(c, classes - 1)] += cell.rows;
    return;
  }
  for (auto c = static_cast<std::size_t>(from * n); c < classes; ++c) {
    const double low = std::max(from, static_cast<double>(c) / n);
    const double high = c + 1 == classes ? to : std::min(to, static_cast<double>(c + 1) / n);
    if (high <= low) break;
    m->target[c] += cell.rows * (high - low) / (to - from);
  }
}

// Classes of levels with fewer than kLeastClassRows rows go to the next one.
void join_rare(std::span<const std::uint32_t> rows, std::size_t classes, Margin* m) {
  std::vector<std::size_t> held(classes + 4);
  for (const std::uint32_t row : rows) ++held[m->row_class[row]];
  std::vector<std::uint16_t> moved(classes + 4);
  for (std::size_t c = 0; c < moved.size(); ++c) moved[c] = static_cast<std::uint16_t>(c);
  std::size_t open = classes;  // a class that is still too small
  std::size_t last = classes;  // the last that is not
  for (std::size_t c = 0; c < classes; ++c) {
    if (open < classes) {
      for (std::size_t j = open; j < c; ++j) moved[j] = static_cast<std::uint16_t>(c);
      held[c] += held[c - 1];
      m->target[c] += m->target[c - 1];
      m->target[c - 1] = 0;
      if (held[c] >= kLeastClassRows) {
        open = classes;
        last = c;
      }
    } else if (held[c] < kLeastClassRows) {
      open = c;
    } else {
      last = c;
    }
  }
  if (open < classes && last < classes) {
    for (std::size_t j = open; j < classes; ++j) moved[j] = static_cast<std::uint16_t>(last);
    m->target[last] += m->target[classes - 1];
    m->target[classes - 1] = 0;
  }
  for (const std::uint32_t row : rows) m->row_class[row] = moved[m->row_class[row]];
}

bool is_null(const JointSample& sample, std::uint32_t row, int column) {
  return (sample.null[row] >> column & 1) != 0;
}

double value_of(const JointSample& sample, std::uint32_t row, int column) {
  return sample.value[std::size_t{row} * static_cast<std::size_t>(sample.columns) +
                      static_cast<std::size_t>(column)];
}

// What each class should have: of levels in equal shares, as far as points leave them so.
void set_targets(const Header* marginal, std::size_t classes, Margin* m) {
  const Header& h = *marginal;
  m->target.assign(classes + 4, 0);
  m->target[classes] = h.nulls;
  m->target[classes + 1] = h.nans;
  m->target[classes + 2] = h.negative_infinities;
  m->target[classes + 3] = h.positive_infinities;
  const double finite = h.finite_rows();
  if (!(finite > 0)) return;
  std::vector<HistogramCell> cells;
  decode_histogram(DensityView(marginal), &cells);
  double below = 0;
  for (const HistogramCell& cell : cells) {
    spread_cell(cell, below / finite, (below + cell.rows) / finite, m, classes);
    below += cell.rows;
  }
}

}  // namespace

Status classify_column(const JointSample& sample, std::span<const std::uint32_t> rows, int column,
                       const Header* marginal, const Control& control, ColumnClasses* out) {
  const auto n = static_cast<std::size_t>(sample.rows);
  Axis axis;
  axis.normal_scores = true;
  axis.marginal = marginal;
  std::vector<double> level(n);
  out->score.assign(n, 0);
  std::size_t finite = 0, polled = 0;
  for (const std::uint32_t row : rows) {
    if (++polled % 1024 == 0 && control.stop_requested()) return cancelled();
    const double x = value_of(sample, row, column);
    if (is_null(sample, row, column) || !std::isfinite(x)) continue;
    level[row] = axis.level(x);
    out->score[row] = normal_score(level[row]);
    ++finite;
  }
  const std::size_t classes = std::clamp<std::size_t>(
      finite / (10 * static_cast<std::size_t>(sample.columns)), 1, kMostClasses);
  Margin& m = out->margin;
  set_targets(marginal, classes, &m);
  m.row_class.assign(n, 0);
  for (const std::uint32_t row : rows) {
    const double x = value_of(sample, row, column);
    std::size_t c =
        std::min(static_cast<std::size_t>(level[row] * static_cast<double>(classes)), classes - 1);
    if (is_null(sample, row, column)) {
      c = classes;
    } else if (!std::isfinite(x)) {
      c = classes + (std::isnan(x) ? 1 : x < 0 ? 2 : 3);
    }
    m.row_class[row] = static_cast<std::uint16_t>(c);
  }
  join_rare(rows, classes, &m);
  return Status::success();
}

Status classify_category(const JointSample& sample, std::span<const std::uint32_t> rows, int column,
                         const Header* marginal, const Control& control, ColumnClasses* out) {
  const std::size_t ranks = WordsView(marginal).words();
  // Of the first ranks those that enough rows have; then of all others, and of NULL.
  std::vector<std::size_t> held(std::min(ranks, kMostValueClasses));
  const auto rank_of = [&](std::uint32_t row) {
    return static_cast<std::size_t>(value_of(sample, row, column));
  };
  std::size_t polled = 0;
  for (const std::uint32_t row : rows) {
    if (++polled % 1024 == 0 && control.stop_requested()) return cancelled();
    if (!is_null(sample, row, column) && rank_of(row) < held.size()) ++held[rank_of(row)];
  }
  Margin& m = out->margin;
  m.target.clear();
  std::vector<std::uint16_t> class_of(held.size());
  double others = marginal->rows;
  for (std::size_t r = 0; r < held.size(); ++r) {
    if (held[r] < kLeastClassRows) continue;
    Range at;
    at.lower = at.upper = static_cast<double>(r);
    at.lower_unbounded = at.upper_unbounded = false;
    class_of[r] = static_cast<std::uint16_t>(m.target.size() + 1);
    m.target.push_back(count(DensityView(marginal), at));
    others -= m.target.back();
  }
  const std::size_t classes = m.target.size();
  m.target.push_back(std::max(others, 0.0));
  m.target.push_back(marginal->nulls);
  m.row_class.assign(static_cast<std::size_t>(sample.rows), 0);
  for (const std::uint32_t row : rows) {
    std::size_t c = classes;
    if (is_null(sample, row, column))
      c = classes + 1;
    else if (rank_of(row) < held.size() && class_of[rank_of(row)] > 0)
      c = class_of[rank_of(row)] - std::size_t{1};
    m.row_class[row] = static_cast<std::uint16_t>(c);
  }
  return Status::success();
}

}  // namespace kde
