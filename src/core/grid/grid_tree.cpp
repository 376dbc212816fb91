// See grid_tree.h.
#include "core/grid/grid_tree.h"

#include "core/density/histogram_view.h"
#include "core/first_true.h"

#include <algorithm>

namespace kde {

namespace {

// A cell of the tails has at most one row in so many of those beyond it. In the tails is what has
// fewer than one row of the column in so many beyond it.
constexpr double kTailRows = 16, kCore = 2000;

// A cell's width, beside the step of its level: that of a month of 31 days, and some.
constexpr double kWidest = 1.02;

// The first level from `least` on from which on is(level), mostly one of the first; `levels`: none.
template <typename Is>
int first_soon(int least, int levels, const Is& is) {
  int level = least;
  for (int tries = 0; level < levels && !is(level); ++tries) {
    least = level + 1;
    level += tries < 4 ? 1 : 1 << (tries - 3);
  }
  return first_true(least, std::min(level, levels), is);
}

}  // namespace

GridTree::GridTree(const RoundEnds& ends, std::span<const GridEntry> cells) : ends_(ends) {
  list_entries(cells);
  list_nodes();
}

int GridTree::first_level_within(double x) const {
  // The calendar's years are counted from year 0, so that 1970 is no end of its centuries.
  if (x == 0 && !ends_.is_calendar()) return ends_.levels();
  int level = first_true(0, ends_.levels(),
                         [&](int of) { return std::fabs(x) < kMostIndex * ends_.step(of); });
  // An end of one level is one of all finer ones; mostly it is of few.
  while (level < ends_.levels() && ends_.is_end(level, x)) ++level;
  return level;
}

void GridTree::list_entries(std::span<const GridEntry> cells) {
  entries_.reserve(cells.size());
  double below = 0;
  for (const GridEntry& cell : cells) {
    Entry e;
    e.x = cell.x;
    e.rows = cell.rows;
    e.below = below;
    e.inside = cell.level >= 0;
    e.own = e.inside ? cell.level : first_level_within(e.x);
    e.together = ends_.levels();
    below += cell.rows;
    if (!entries_.empty()) {
      const Entry& before = entries_.back();
      const int levels = ends_.levels();
      const double apart = e.x - before.x;
      const int least = first_soon(std::max(before.own, e.own), levels,
                                   [&](int level) { return kWidest * ends_.step(level) >= apart; });
      e.together = first_soon(least, levels, [&](int level) {
        return ends_.cell(level, before.x) == ends_.cell(level, e.x);
      });
    }
    entries_.push_back(e);
  }
}

// From the right: at an entry begin those cells whose level is below that at which it is together with
// the one before.
void GridTree::list_nodes() {
  struct Open {
    int level;
    std::size_t end;
  };
  std::vector<Open> open;  // the lowest last
  const auto add = [this](std::size_t begin, std::size_t end, int level) {
    nodes_.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), 0, 0,
                      static_cast<std::int16_t>(level), 0});
  };
  const int top = ends_.levels();
  nodes_.reserve(2 * entries_.size());
  for (std::size_t i = entries_.size(); i-- > 0;) {
    add(i, i + 1, entries_[i].own);
    const int with_before = i > 0 ? entries_[i].together : top + 1;
    std::size_t end = i + 1;
    for (; !open.empty() && open.back().level < with_before; open.pop_back()) {
      end = open.back().end;
      add(i, end, open.back().level);
    }
    if (i > 0 && (open.empty() || open.back().level > with_before))
      open.push_back({with_before, end});
  }
  std::reverse(nodes_.begin(), nodes_.end());
  std::vector<std::uint32_t> within;
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
    Node& node = nodes_[n];
    for (; !within.empty() && nodes_[within.back()].end <= node.begin; within.pop_back())
      nodes_[within.back()].next = n;
    node.widest = static_cast<std::int16_t>(top - 1);
    if (!within.empty()) {
      node.widest = static_cast<std::int16_t>(nodes_[within.back()].level - 1);
      ++nodes_[within.back()].parts;
    }
    within.push_back(n);
  }
  for (const std::uint32_t n : within) nodes_[n].next = static_cast<std::uint32_t>(nodes_.size());
}

bool GridTree::is_divided(const GridCut& cut, const Node& node) const {
  const double own = rows_of(node.begin, node.end);
  const double beyond =
      std::min(entries_[node.begin].below, rows() - through(std::size_t{node.end} - 1));
  if (cut.tails && !ends_.is_of_times() && beyond * kCore < rows())
    return own > std::min(cut.limit, beyond / kTailRows);
  return node.level > cut.floor || own > cut.limit;
}

GridTree::Limits::Limits(const GridTree& tree, int floor) : unit_(tree.rows() * 0x1p-40) {
  for (const Node& node : tree.nodes()) {
    if (node.parts == 0 || !node.is_in_a_cell() || node.level > floor) continue;
    const double rows = std::max(tree.rows_of(node.begin, node.end) / unit_, 1.0);
    const auto step = static_cast<std::size_t>(8 * std::log2(rows));
    if (step >= more_.size()) more_.resize(step + 1);
    more_[step] += node.parts - 1;
  }
}

int GridTree::Limits::least(double cells, double wanted) const {
  int steps = none();
  for (; steps > 0; --steps) {
    cells += more_[static_cast<std::size_t>(steps) - 1];
    if (cells > wanted) break;
  }
  return steps;
}

}  // namespace kde
