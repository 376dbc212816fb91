// The grid, and what each part adds to it.
#include "core/summary/merge_many.h"

#include "core/summary/strata.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <new>
#include <utility>

namespace kde {

namespace {

// A grid has at most this share of a summary's cells, and its own, kDepth times the rows that
// would make them all alike.
constexpr std::size_t kShareOfCells = 4;
constexpr double kDepth = 1.5, kJoinedDepth = kDepth * kShareOfCells;
// A grid's cell has at most the r-th part of the rows between it and the nearer end.
constexpr double kTailRows = 32;
constexpr double kFirstEnds = 2048;  // of the grid, about; then it is divided
constexpr double kMostPieces = 4096;
constexpr double kByRatio = 1.5;  // of a cell's ends, from which on it is divided by ratio

// Added to a number of rows, and taken away, it leaves a whole number as it was.
constexpr double kWhole = 0x1p52;

// Thrown where the control says to stop, and caught by add_up_densities().
struct Stopped {};

struct Knot {
  double x, rows;
  bool point;  // they are at x; else below it, down to the part's knot before
};

class Adder {
 public:
  Adder(std::span<const Header* const> densities, std::size_t most_cells, std::size_t most_points,
        const Control& control, SumOfDensities* out)
      : densities_(densities),
        most_cells_(most_cells),
        most_points_(most_points),
        control_(control),
        out_(*out) {}

  void run() {
    out_ = {};
    describe();
    find_lattice();
    const bool exact = take_points() || take_steps();
    if (exact)
      clear_rows();
    else
      take_ends_of_blocks();
    all_on_lattice_ = lattice_ != nullptr;
    for (const double x : grid_) all_on_lattice_ = all_on_lattice_ && is_point(x);
    own_steps_.assign(grid_.size(), 0);
    other_steps_ = own_steps_;
    out_.part_rows.reserve(densities_.size());
    out_.exact = exact;
    if (exact) {
      for (const Header* h : densities_) add_to_grid(*h);
      for (std::size_t i = 0; i < grid_.size(); ++i) mass_.push_back(between_[i] + at_[i]);
    }
    Strata strata(densities_, grid_, mass_);
    for (std::size_t k = 0; k < densities_.size(); ++k) {
      if (!exact)
        add_to_grid(*densities_[k]);
      else
        decode(*densities_[k]);
      strata.add(k, part_);
    }
    write_cells(exact);
    strata.describe(&out_.sampling, &out_.measured);
  }

 private:
  void describe() {
    double squares = 0;
    for (const Header* h : densities_) {
      finite_ += h->finite_rows();
      const double error = error_rows(DensityView(h));
      if ((h->flags & kEveryRowRead) != 0)
        out_.error += error;
      else
        squares += error * error;
    }
    out_.error += std::sqrt(squares);
  }

  // Of each part, whenever it is looked at: a part takes microseconds, all of them seconds.
  void poll() const {
    if (control_.stop_requested()) throw Stopped();
  }

  void decode(const Header& h) {
    poll();
    part_.clear();
    if (h.finite_rows() > 0) decode_histogram(DensityView(&h), &part_);
  }

  // ---- the grid

  // Some ends, then between them as many as it takes by what all blocks, taken for cells, have.
  void take_ends_of_blocks() {
    std::vector<Knot> knots;
    for (const Header* h : densities_) {
      poll();
      if (h->finite_rows() > 0) add_knots(DensityView(h), &knots);
    }
    std::sort(knots.begin(), knots.end(), [](const Knot& a, const Knot& b) { return a.x < b.x; });
    thin(knots);
    clear_rows();
    for (const Header* h : densities_) {
      poll();
      if (!(h->finite_rows() > 0)) continue;
      take_blocks(DensityView(h));
      add_part();
      take_atoms(DensityView(h));
      add_part();
    }
    divide();
  }

  void clear_rows() {
    between_.assign(grid_.size(), 0);
    at_ = off_ = between_;
  }

  // All values, where parts have no other steps and these are few.
  bool take_points() {
    std::vector<double> all, both;
    for (const Header* h : densities_) {
      const DensityView view(h);
      for (int b = 0; b < view.blocks(); ++b)
        if (view.block(b).kinds != CellKinds::points) return false;
      decode(*h);
      std::vector<double> values;
      for (const HistogramCell& c : part_) values.push_back(c.value);
      both.clear();
      std::set_union(all.begin(), all.end(), values.begin(), values.end(),
                     std::back_inserter(both));
      all.swap(both);
      if (all.size() > most_points_) return false;
    }
    grid_.swap(all);
    return true;
  }

  bool take_steps() {
    std::size_t steps = 0;
    for (const Header* h : densities_) {
      const DensityView view(h);
      steps += static_cast<std::size_t>(view.steps()) + static_cast<std::size_t>(view.blocks());
      if (steps > most_points_) return false;
    }
    for (const Header* h : densities_) {
      decode(*h);
      for (const HistogramCell& c : part_) grid_.push_back(c.value);
    }
    std::sort(grid_.begin(), grid_.end());
    grid_.erase(std::unique(grid_.begin(), grid_.end()), grid_.end());
    return true;
  }

  void add_knots(const DensityView& view, std::vector<Knot>* knots) const {
    const Header& h = view.header();
    for (int b = 0; b < view.blocks(); ++b) {
      if (b == 0) knots->push_back({view.value(view.block(0).first_key), 0, false});
      const double end = b + 1 < view.blocks() ? view.value(view.block(b + 1).first_key) : h.max;
      knots->push_back({end, view.rows_below(b + 1) - view.rows_below(b), false});
    }
    // Of many atoms some, by their rows; where they stand for others differs from part to part.
    const double all = view.atoms() > 0 ? view.atom_cumulative_rows(view.atoms() - 1) : 0;
    const double most =
        4 * static_cast<double>(most_cells_) / static_cast<double>(densities_.size());
    const double each = view.atoms() > most ? all / most : 0;
    const double golden = 0.6180339887498949 * static_cast<double>(knots->size());
    double next = each * (golden - std::floor(golden));
    double before = 0;
    for (int i = 0; i < view.atoms(); ++i) {
      const double through = view.atom_cumulative_rows(i);
      if (through < next && i > 0 && i + 1 < view.atoms()) continue;
      knots->push_back({view.atom_value(i), through - before, true});
      before = through;
      while (each > 0 && next <= through) next += each;
    }
  }

  static bool has_ranges(const DensityView& view) {
    for (int b = 0; b < view.blocks(); ++b)
      if (view.block(b).kinds != CellKinds::points) return true;
    return false;
  }

  // The finest of parts with ranges, or else of those with some values: ends between knots are
  // points of it. A part whose ranges lie on none leaves none.
  void find_lattice() {
    bool ranges = false;
    for (const Header* h : densities_) {
      if (!(h->finite_rows() > 0)) continue;
      const bool here = has_ranges(DensityView(h));
      if (here && !(h->lattice_step > 0)) {
        lattice_ = nullptr;
        return;
      }
      if (!(h->lattice_step > 0 && h->min < h->max) || (ranges && !here)) continue;
      if (lattice_ == nullptr || here != ranges || h->lattice_step < lattice_->lattice_step)
        lattice_ = h;
      ranges = here;
    }
  }

  bool is_point(double x) const {
    return lattice_->lattice_point(
               std::nearbyint((x - lattice_->lattice_offset) / lattice_->lattice_step)) == x;
  }

  double on_lattice(double x) const {
    if (lattice_ == nullptr) return x;
    return lattice_->lattice_point(
        std::floor((x - lattice_->lattice_offset) / lattice_->lattice_step));
  }

  // At most so many rows for a cell of that many, above `below` others.
  double limit(double below, double rows) const {
    const double outside = std::min(below, finite_ - below - rows);
    return std::min(kDepth * finite_ / static_cast<double>(most_cells_),
                    std::max(outside, 0.0) / kTailRows);
  }

  // Ends with about as many rows between each, and values that have as many of their own as a cell
  // may have.
  void thin(std::span<const Knot> knots) {
    const double most = finite_ / kFirstEnds;
    const double heavy = kDepth * finite_ / static_cast<double>(most_cells_);
    double waits = 0;  // rows of the knots since the last end
    double here = 0;   // at this value
    for (std::size_t i = 0; i < knots.size(); ++i) {
      waits += knots[i].rows;
      here += knots[i].point ? knots[i].rows : 0;
      const bool last = i + 1 == knots.size();
      if (!last && knots[i + 1].x == knots[i].x) continue;
      if (grid_.empty() || last || here > heavy || waits + knots[i + 1].rows > most) {
        grid_.push_back(knots[i].x);
        waits = 0;
      }
      here = 0;
    }
  }

  // Of every cell of the grid as many as its rows ask for: evenly or, between ends of one sign,
  // evenly by their ratio.
  void divide() {
    std::vector<double> first;
    first.swap(grid_);
    double below = 0;
    for (std::size_t i = 0; i < first.size(); ++i) {
      const double rows = between_[i];
      const double most = limit(below, rows);
      double pieces = 1;
      if (i > 0 && rows > most)
        pieces = std::min(std::ceil(rows / std::max(most, 1e-300)), kMostPieces);
      const double low = i > 0 ? first[i - 1] : first[0];
      const double high = first[i];
      const bool one_sign = low > 0 || high < 0;
      for (int k = 1; k < pieces; ++k) {
        const double t = k / pieces;
        double x = low + t * (high - low);
        if (one_sign && (high / low > kByRatio || low / high > kByRatio)) {
          const std::int64_t key = key_of(low);
          x = value_of_key(key +
                           static_cast<std::int64_t>(t * static_cast<double>(key_of(high) - key)));
        }
        x = on_lattice(x);
        if (x > low && x < high && x > grid_.back()) push_end(x, rows / pieces);
      }
      push_end(high, rows / pieces + at_[i]);
      below += rows + at_[i];
    }
    clear_rows();
  }

  void push_end(double x, double rows) {
    grid_.push_back(x);
    mass_.push_back(rows);
  }

  // As cells of a part: its blocks, and its atoms.
  void take_blocks(const DensityView& view) {
    part_.clear();
    for (int b = 0; b < view.blocks(); ++b) {
      const double begin = view.value(view.block(b).first_key);
      const double end =
          b + 1 < view.blocks() ? view.value(view.block(b + 1).first_key) : view.header().max;
      if (part_.empty() || begin > part_.back().value) part_.push_back({begin, 0, false});
      const double rows = view.rows_below(b + 1) - view.rows_below(b);
      part_.push_back({std::max(begin, end), rows, !(end > begin)});
    }
  }
  void take_atoms(const DensityView& view) {
    part_.clear();
    double before = 0;
    for (int i = 0; i < view.atoms(); ++i) {
      part_.push_back({view.atom_value(i), view.atom_cumulative_rows(i) - before, true});
      before = view.atom_cumulative_rows(i);
    }
  }

  // ---- a part's rows

  // Of the range (grid_[at - 1], grid_[at]) the part's rows so far, and its steps in it.
  struct Inside {
    double x, below, through;
  };

  void flush(std::size_t at) {
    between_[at] += rows_here_;
    if (insides_ > 0) {
      const double low = at > 0 ? grid_[at - 1] : grid_[0];
      const double width = grid_[at] / 2 - low / 2;
      double worst = 0;
      for (std::size_t i = 0; i < insides_; ++i) {
        const Inside& step = inside_[i];
        const double line = width > 0 ? rows_here_ * ((step.x / 2 - low / 2) / width) : 0;
        worst = std::max({worst, std::fabs(step.below - line), std::fabs(step.through - line)});
      }
      off_[at] += worst;
      insides_ = 0;
    }
    rows_here_ = 0;
  }

  void add_to_grid(const Header& h) {
    decode(h);
    double sum = 0;
    for (const HistogramCell& c : part_) {
      sum += c.rows;
      whole_ = whole_ && (c.rows + kWhole) - kWhole == c.rows;
    }
    out_.part_rows.push_back(sum);
    add_part();
    add_steps(h);
  }

  // Of each cell of the grid the rows of one point of the part's lattice, at most.
  void add_steps(const Header& h) {
    if (part_.empty()) return;
    for (const HistogramCell& c : part_) all_on_lattice_ = all_on_lattice_ && is_point(c.value);
    if (!(h.lattice_step > 0)) return;
    const bool own = lattice_ != nullptr && h.lattice_step == lattice_->lattice_step &&
                     is_point(h.lattice_offset);
    std::vector<double>& steps = own ? own_steps_ : other_steps_;
    const std::size_t last = grid_.size() - 1;
    std::size_t at = 0;
    double worst = 0;
    double begin = part_.front().value;
    for (const HistogramCell& c : part_) {
      if (!c.point && c.value > begin && c.rows > 0) {
        const double points = (c.value / 2 - begin / 2) / h.lattice_step * 2;
        const double each = c.rows / std::max(std::nearbyint(points), 1.0);
        for (; at < last && grid_[at] <= begin; worst = 0) steps[at++] += worst;
        worst = std::max(worst, each);
        for (; at < last && grid_[at] < c.value; worst = each) steps[at++] += worst;
      }
      begin = c.value;
    }
    steps[at] += worst;
  }

  // The cells in part_.
  void add_part() {
    if (part_.empty()) return;
    if (inside_.size() < part_.size()) inside_.resize(part_.size());
    const double* grid = grid_.data();
    const std::size_t last = grid_.size() - 1;
    double begin = part_.front().value;
    std::size_t at = static_cast<std::size_t>(std::lower_bound(grid, grid + last, begin) - grid);
    const auto go_to = [&](double x) {
      while (at < last && grid[at] < x) flush(at++);
    };
    for (const HistogramCell& c : part_) {
      const double end = c.value;
      const double per_half = c.rows / (end / 2 - begin / 2);
      const bool divided = !c.point && end > begin && std::isfinite(per_half);
      if (divided && grid[at] < end && at < last) {
        double from = begin;
        if (grid[at] > from) {
          rows_here_ += per_half * (grid[at] / 2 - from / 2);
          from = grid[at];
        }
        flush(at++);
        for (; at < last && grid[at] < end; ++at) {
          between_[at] += per_half * (grid[at] / 2 - from / 2);
          from = grid[at];
        }
        rows_here_ += per_half * (end / 2 - from / 2);
      } else if (divided) {
        rows_here_ += c.rows;
      } else {
        go_to(end);
        if (grid[at] == end) {
          at_[at] += c.rows;
        } else {
          inside_[insides_++] = {end, rows_here_, rows_here_ + c.rows};
          rows_here_ += c.rows;
        }
      }
      if (divided && grid[at] != end) inside_[insides_++] = {end, rows_here_, rows_here_};
      begin = end;
    }
    flush(at);
  }

  void write_cells(bool exact) {
    double below = 0, through = 0, worst = 0, worst_as_line = 0;
    // What whole rows are rounded to, if some were divided.
    const bool rounds = whole_ && !exact;
    const auto rows_to = [&](double rows) {
      through += rows;
      const double to = rounds ? std::nearbyint(through) : through;
      const double put = rounds ? to - below : rows;
      below = to;
      return put;
    };
    const auto note = [&](std::size_t i, double more) {
      const double other = other_steps_[i] + (all_on_lattice_ ? 0 : own_steps_[i]);
      out_.steps = std::max(out_.steps, other);
      worst = std::max(worst, off_[i] + other + more);
      worst_as_line = std::max(worst_as_line, off_[i] + other_steps_[i] + own_steps_[i] + more);
    };
    for (std::size_t i = 0; i < grid_.size(); ++i) {
      double between = i > 0 ? between_[i] : 0;
      double at = at_[i] + (between_[i] - between);
      note(i, 0);
      if (!exact && between > 0 && at > 0 && at <= limit(through, between + at) / 2) {
        note(i, at);
        between += at;
        at = 0;
      }
      // Without rows as well: it says where the next one begins.
      if (between > 0 || !(at > 0)) out_.cells.push_back({grid_[i], rows_to(between), false});
      if (at > 0) out_.cells.push_back({grid_[i], rows_to(at), true});
    }
    if (rounds) out_.error += 1;
    out_.within = out_.error + worst_as_line;
    if (all_on_lattice_)
      out_.lattice = {lattice_->lattice_step, lattice_->lattice_offset, lattice_->lattice_scale,
                      out_.error + worst};
    out_.error += out_.steps;
  }

  std::span<const Header* const> densities_;
  const std::size_t most_cells_, most_points_;
  const Control& control_;
  SumOfDensities& out_;
  double finite_ = 0;
  bool whole_ = true;
  const Header* lattice_ = nullptr;  // whose lattice it is; null: there is none
  bool all_on_lattice_ = false;      // every end and value lies on it
  std::vector<HistogramCell> part_;
  std::vector<double> grid_, mass_;  // mass_: about what each cell of the grid has
  // Of all parts: rows below each end of the grid down to the one before, at it, and how far a
  // count there may be from the straight line.
  std::vector<double> between_, at_, off_;
  // Of parts on the lattice, and on others: rows of one point in each cell, added up.
  std::vector<double> own_steps_, other_steps_;
  std::vector<Inside> inside_;  // the first insides_ of them
  std::size_t insides_ = 0;
  double rows_here_ = 0;
};

}  // namespace

Status add_up_densities(std::span<const Header* const> densities, std::size_t most_cells,
                        std::size_t most_points, SumOfDensities* out, const Control& control) {
  try {
    Adder(densities, most_cells, most_points, control, out).run();
  } catch (const Stopped&) {
    return Status::error(Code::cancelled, "cancelled");
  }
  return Status::success();
}

Status Summary::merge_many(std::span<const Header* const> densities,
                           std::vector<MeasureSampling>* measured, const Control& control,
                           double* steps) {
  if (Status s = settle(); !s.ok()) return s;
  SumOfDensities sum;
  try {
    if (Status s = add_up_densities(densities, cell_limit() / kShareOfCells, cell_limit() / 8 * 7,
                                    &sum, control);
        !s.ok())
      return s;
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "out of memory while merging densities");
  }
  const bool alone = cells_.size == 0;
  if (!sum.exact) depth_ = std::max(depth_, kJoinedDepth);
  double rows, moved;
  if (Status s = merge_known(sum.cells, sum.error, &rows, &moved); !s.ok()) return s;
  for (std::size_t k = 0; k < densities.size(); ++k) {
    const Header& h = *densities[k];
    add_specials(h);
    // What it stands for, where its cells have as many but for rounding.
    constexpr double kRounding = 1e-9;
    double part_rows = sum.part_rows[k];
    if (std::fabs(part_rows - h.finite_rows()) <= kRounding * part_rows)
      part_rows = h.finite_rows();
    if (part_rows > 0) totals_.merge(part_rows, h.sample_rows, h.min, h.max, h.mean, h.variance);
  }
  sampling_.add(sum.sampling);
  if (measured != nullptr) *measured = std::move(sum.measured);
  if (steps != nullptr) *steps = sum.steps;
  // The grid is smaller than what would have been joined.
  if (alone) {
    within_ = sum.within + moved;
    lattice_ = sum.lattice;
    lattice_.within += moved;
  }
  return Status::success();
}

}  // namespace kde
