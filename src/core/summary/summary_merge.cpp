// How rows and other summaries' cells are merged into a summary's, and its cells joined.
//
// Cells that come fall into those that are there:
//   into a range (a, b]   they add to its rows; where that makes it heavier than it may be, it is
//                         divided at their ends, what it held before by width (summary.h: split)
//   between two cells     (before a point, or beyond the last cell) they are cells of their own
//   at a point            they add to its rows
// At a boundary that stays, the bound for the count's error is the sum of both sides' bounds.
#include "core/summary/incoming.h"
#include "core/summary/summary.h"

#include "core/density/histogram_view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace kde {

namespace {

constexpr double kDepth = 1.4;    // of a join, to begin with
constexpr double kDeeper = 1.15;  // where cells do not fit
constexpr double kTailRows = 32;  // relative resolution of the tails
// Neighbours are joined whose densities differ by no more than that: the first of these that makes
// the cells fit.
constexpr double kAnyContrast = std::numeric_limits<double>::infinity();
constexpr double kContrasts[] = {64, 4096, kAnyContrast};
// Depths tried before tails are joined as well, with half the resolution each time and then with
// none: weights may be of all sizes, down to what rounding takes.
constexpr int kTailTries = 8, kTailHalvings = 20;
// Of a range behind a void the share that marks where it begins.
constexpr double kBeginShare = 1024;
constexpr std::size_t kStride = 8;  // cells looked at together

// Two numbers that are compared at a time, on any processor of 64 bits.
using Pair = double __attribute__((vector_size(16)));

// min(t, r / kTailRows), r rows to the nearer end.
class JoinLimit {
 public:
  JoinLimit(double depth, double rows, std::size_t cells, double tail_rows = kTailRows)
      : most_(depth * rows / static_cast<double>(cells)), rows_(rows), tail_rows_(tail_rows) {}
  // Of a cell of that many rows, above `below` others.
  double at(double below, double rows) const {
    if (!(tail_rows_ > 0)) return most_;
    const double outside = std::min(below, rows_ - below - rows);
    return std::min(most_, std::max(outside, 0.0) / tail_rows_);
  }
  double most() const { return most_; }

 private:
  double most_, rows_, tail_rows_;
};

// Cells written over arrays from the left, while those not yet read stand at their right end.
class Output {
 public:
  Output(CellArrays* cells, std::size_t first, double below, const JoinLimit& limit)
      : cells_(cells), next_(first), below_(below), limit_(limit) {}

  // Cells from here on are not written over.
  void set_unread(std::size_t unread) { unread_ = unread; }

  void put(double value, double rows, bool point, float slack) {
    if (!(rows > 0)) return;
    below_ += rows;
    if (next_ == unread_ && next_ > 0) {
      // No room: joined to the cell before. Its rows say what that costs.
      cells_->value[next_ - 1] = value;
      cells_->rows[next_ - 1] = std::fabs(cells_->rows[next_ - 1]) + rows;
      cells_->slack[next_ - 1] = slack;
      return;
    }
    cells_->value[next_] = value;
    cells_->rows[next_] = point ? -rows : rows;
    cells_->slack[next_] = slack;
    ++next_;
  }

  std::size_t next() const { return next_; }
  double limit_of(double rows) const { return limit_.at(below_, rows); }

 private:
  CellArrays* cells_;
  std::size_t next_, unread_ = 0;
  double below_;
  const JoinLimit& limit_;
};

// A range [low, high] of `rows` rows with the bounds at its ends.
struct Divided {
  double low, high, rows;
  double low_slack, high_slack;
  bool whole;

  double below(double x) const { return share_below(x, low, high, rows, whole); }
  double slack(double share) const {
    return std::max(low_slack + share, high_slack + (rows - share));
  }
};

// Divides a range that would become too heavy at ends of what comes.
void split(const Divided& range, bool inclusive, Incoming* incoming, Output* out) {
  struct Cut {
    double value, old_rows, new_rows;
    float slack;
  };
  double old_done = 0;  // rows of the range that were put
  double fresh = 0;     // rows that came since the last cut
  bool has_cut = false;
  Cut cut{};
  const auto put_cut = [&] {
    out->put(cut.value, (cut.old_rows - old_done) + cut.new_rows, false, cut.slack);
    old_done = cut.old_rows;
    fresh -= cut.new_rows;
    has_cut = false;
  };
  Incoming::Piece piece{};
  while (incoming->take(range.high, inclusive, &piece)) {
    const double old_rows = range.below(piece.value);
    const auto slack = slack_above(range.slack(old_rows) + piece.slack);
    double mass = (old_rows - old_done) + fresh + piece.rows;
    double limit = out->limit_of(mass);
    // What follows a cut at its very value goes with it.
    if (mass > limit && has_cut && piece.value > cut.value) {
      put_cut();
      mass = (old_rows - old_done) + fresh + piece.rows;
      limit = out->limit_of(mass);
    }
    if (piece.point && piece.rows > limit / 2) {
      out->put(piece.value, (old_rows - old_done) + fresh, false, slack);
      out->put(piece.value, piece.rows, true, slack);
      old_done = old_rows;
      fresh = 0;
      has_cut = false;  // its rows went with this one's
      continue;
    }
    fresh += piece.rows;
    if (piece.value < range.high) {
      cut = {piece.value, old_rows, fresh, slack};
      has_cut = true;
    }
  }
  const double rest = (range.rows - old_done) + fresh;
  if (has_cut && rest > out->limit_of(rest)) put_cut();
  out->put(range.high, (range.rows - old_done) + fresh, false,
           slack_above(range.high_slack + incoming->slack()));
}

[[gnu::always_inline]] inline Pair pair_at(const double* value) {
  Pair pair;
  std::memcpy(&pair, value, sizeof pair);
  return pair;
}

// How many of the kStride values are below x, which is there twice.
[[gnu::always_inline]] inline std::size_t count_below(const double* value, Pair x) {
  static_assert(kStride == 8);
  // A comparison that holds gives -1.
  const auto below = (pair_at(value) < x) + (pair_at(value + 2) < x) + (pair_at(value + 4) < x) +
                     (pair_at(value + 6) < x);
  return static_cast<std::size_t>(-(below[0] + below[1]));
}

// The first cell from `at` on that does not end below x. Cells and rows that come are about as
// many: the next few are looked at without a branch for each, which no processor would predict.
[[gnu::always_inline]] inline std::size_t first_not_below(const CellArrays& cells, std::size_t at,
                                                          double x) {
  while (at + kStride <= cells.size) {
    const std::size_t below = count_below(cells.value + at, Pair{x, x});
    at += below;
    if (below < kStride) return at;
  }
  while (at < cells.size && cells.value[at] < x) ++at;
  return at;
}

// Where each of `size` ascending values falls. Each search waits for the one before it: some that
// go on side by side do not wait for each other.
void find_places(const CellArrays& cells, const double* value, std::size_t size,
                 std::uint32_t* place) {
  constexpr std::size_t kSearches = 4;
  const std::size_t share = size / kSearches;
  std::array<std::size_t, kSearches> at{};
  for (std::size_t s = 0; s < kSearches && share > 0; ++s)
    at[s] = static_cast<std::size_t>(
        std::lower_bound(cells.value, cells.value + cells.size, value[s * share]) - cells.value);
  for (std::size_t i = 0; i < share; ++i) {
    for (std::size_t s = 0; s < kSearches; ++s) {
      at[s] = first_not_below(cells, at[s], value[s * share + i]);
      place[s * share + i] = static_cast<std::uint32_t>(at[s]);
    }
  }
  std::size_t last = at.back();
  for (std::size_t i = share * kSearches; i < size; ++i) {
    last = first_not_below(cells, last, value[i]);
    place[i] = static_cast<std::uint32_t>(last);
  }
}

// Of cells; the order of the sum is for the processor to choose.
double rows_of(const double* rows, std::size_t size) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < size; ++i) sum += std::fabs(rows[i]);
  return sum;
}

// Cells begin .. end - 1 are so far from the ends of the column that the limit there is its most,
// wherever `fresh` more rows come.
struct Middle {
  std::size_t begin, end;
};

Middle find_middle(const CellArrays& cells, const JoinLimit& limit, double fresh) {
  // A little more than it takes, for what sums of weights round.
  const double enough = 1.01 * kTailRows * limit.most();
  double outside = 0;
  std::size_t begin = 0;
  while (begin < cells.size && outside < enough) outside += std::fabs(cells.rows[begin++]);
  // Those that come may all lie below; the cell's own rows do not count.
  outside = -fresh - 2 * limit.most();
  std::size_t end = cells.size;
  while (end > begin && outside < enough) outside += std::fabs(cells.rows[--end]);
  return {begin, end};
}

}  // namespace

// Rows that fall into cells that are there, and do not make them too heavy, are counted at once.
// value: distinct, ascending; rows: as of points. place: scratch.
// Returns how many are left, moved to the front.
std::size_t Summary::count_into_cells(double* value, double* rows, std::size_t size,
                                      std::uint32_t* place) {
  CellArrays& c = cells_;
  const JoinLimit limit(std::max(depth_, kDepth), cell_rows_, cell_limit());
  const Middle middle = find_middle(c, limit, rows_of(rows, size));
  double counted = 0;
  double below = 0;  // rows of the cells before `summed`
  std::size_t summed = 0;
  std::size_t left = 0;
  find_places(c, value, size, place);
  for (std::size_t i = 0; i < size; ++i) {
    const double x = value[i];
    const double fresh = -rows[i];
    const std::size_t at = place[i];
    std::size_t here = at;
    // Of a range and a point with the same value the point.
    if (here + 1 < c.size && c.value[here + 1] == x) ++here;
    bool counts = here < c.size;
    if (counts && c.rows[here] < 0) {
      counts = c.value[here] == x;
      if (counts) c.rows[here] -= fresh;
    } else if (counts) {
      const double sum = c.rows[here] + fresh;
      double most = limit.most();
      if (at < middle.begin || at >= middle.end) {
        below += rows_of(c.rows + summed, at - summed);
        summed = at;
        most = limit.at(below, sum);
      }
      counts = sum <= 2 * most;
      if (counts) c.rows[here] = sum;
    }
    if (counts) {
      counted += fresh;
    } else {
      value[left] = x;
      rows[left++] = -fresh;
    }
  }
  cell_rows_ += counted;
  if (counted > 0) forget_within();
  return left;
}

Status Summary::merge(const Summary& other) {
  // So that what waits here and there can wait together.
  Status status = settle();
  if (status.ok() && other.weighted_ && !weighted_) status = begin_weights();
  if (!status.ok()) return status;
  specials_.nulls += other.specials_.nulls;
  specials_.nans += other.specials_.nans;
  specials_.negative_infinities += other.specials_.negative_infinities;
  specials_.positive_infinities += other.specials_.positive_infinities;
  sampling_.add(other.sampling_);
  totals_.merge(other.totals_);
  fractional_ = fractional_ || other.fractional_;
  // What the other joined may weigh more than this one would have joined.
  if (other.depth_ > 0)
    depth_ = std::max({depth_, kDepth,
                       other.depth_ * static_cast<double>(cell_limit()) /
                           static_cast<double>(other.cell_limit())});
  const CellArrays& c = other.cells_;
  const bool alone = cells_.size == 0 && c.size <= cell_limit();
  Incoming incoming(c.value, c.rows, c.slack, c.size, !fractional_);
  status = merge_cells(&incoming);
  if (alone && status.ok()) {
    within_ = other.within_;
    lattice_ = other.lattice_;
  }
  for (std::size_t i = 0; status.ok() && i < other.pending_; ++i) {
    status = add(other.pending_value_[i], other.weighted_ ? other.pending_weight_[i] : 1);
    if (i + 1 == other.counted_) counted_ = other.counted_;  // in the totals that were merged
  }
  return status;
}

void Summary::add_specials(const Header& header) {
  const auto total = [](double special) { return std::max(special, 0.0); };
  specials_.nulls += total(header.nulls);
  specials_.nans += total(header.nans);
  specials_.negative_infinities += total(header.negative_infinities);
  specials_.positive_infinities += total(header.positive_infinities);
}

Status Summary::merge(const Header& header, std::span<const HistogramCell> cells) {
  add_specials(header);
  sampling_.add(header);
  double rows, moved;
  if (Status s = merge_known(cells, kde::error_rows(DensityView(&header)), &rows, &moved); !s.ok())
    return s;
  if (rows > 0)
    totals_.merge(rows, header.sample_rows, header.min, header.max, header.mean, header.variance);
  return Status::success();
}

// Cells of a histogram whose counts are within `slack` rows. rows: of all of them; moved: to where
// a range begins, at most.
Status Summary::merge_known(std::span<const HistogramCell> cells, double slack, double* rows_of_all,
                            double* most_moved) {
  const std::size_t size = cells.size();
  *rows_of_all = *most_moved = 0;
  if (size == 0) return Status::success();

  // A cell without rows may become one that begins a range.
  auto* chunk = static_cast<char*>(
      memory_.allocate(memory_.context, size * (2 * sizeof(double) + sizeof(float))));
  if (chunk == nullptr) return Status::error(Code::out_of_memory, "out of memory");
  auto* value = reinterpret_cast<double*>(chunk);
  double* rows = value + size;
  auto* slacks = reinterpret_cast<float*>(rows + size);
  std::size_t kept = 0;
  double previous = -std::numeric_limits<double>::infinity();
  bool partition = true;
  bool empty_before = false;
  double sum = 0;
  double moved = 0;
  for (const HistogramCell& cell : cells) {
    partition = partition && std::isfinite(cell.value) && std::isfinite(cell.rows) &&
                cell.rows >= 0 && (cell.point ? cell.value >= previous : cell.value > previous);
    if (!partition) break;
    sum += cell.rows;
    if (cell.rows != std::nearbyint(cell.rows)) fractional_ = true;
    if (cell.rows > 0) {
      double rest = cell.rows;
      // Cells here have rows: where a range begins behind a void a few of its own say so.
      if (!cell.point && empty_before && rest >= 2) {
        const double begin = std::nearbyint(rest / kBeginShare) + 1;
        value[kept] = previous;
        rows[kept] = -begin;
        slacks[kept++] = 0;
        rest -= begin;
        moved = std::max(moved, begin);
      }
      value[kept] = cell.value;
      // A range without a beginning has no width.
      rows[kept] = cell.point || kept == 0 ? -rest : rest;
      ++kept;
    }
    empty_before = !(cell.rows > 0);
    previous = cell.value;
  }
  for (std::size_t i = 0; i < kept; ++i) slacks[i] = slack_above(slack + moved);
  Status status;
  if (!partition) {
    status = Status::error(Code::invalid_argument, "cells of a histogram are out of order");
  } else if (kept > 0) {
    slacks[kept - 1] = 0;  // all rows are below the last value's end
    if (slack > 0) depth_ = std::max(depth_, kDepth);
    Incoming incoming(value, rows, slacks, kept, !fractional_);
    status = merge_cells(&incoming);
    *rows_of_all = sum;
    *most_moved = moved;
  }
  memory_.release(memory_.context, chunk);
  return status;
}

// Of cells in order. Errors: out_of_memory, before anything has changed in exact summaries.
Status Summary::merge_cells(Incoming* incoming) {
  if (incoming->left() > 0) forget_within();
  while (incoming->left() > 0) {
    std::size_t room = cells_.capacity - cells_.size;
    if (room < incoming->left() && cells_.capacity < most_cells()) {
      const Status status = allocate_cells(std::min(cells_.size + incoming->left(), most_cells()));
      if (!status.ok()) return status;
      room = cells_.capacity - cells_.size;
    }
    incoming->begin_stretch(std::min(room, incoming->left()));
    merge_stretch(incoming);
    if (cells_.size > cell_limit()) compact();
  }
  return Status::success();
}

void Summary::merge_stretch(Incoming* incoming) {
  CellArrays& c = cells_;
  const double low = incoming->low();
  // What lies below stays where it is.
  const auto first = static_cast<std::size_t>(
      (incoming->low_inclusive() ? std::lower_bound(c.value, c.value + c.size, low)
                                 : std::upper_bound(c.value, c.value + c.size, low)) -
      c.value);
  double below = 0;
  for (std::size_t i = 0; i < first; ++i) below += std::fabs(c.rows[i]);
  cell_rows_ += incoming->stretch_rows();
  const JoinLimit limit(std::max(depth_, kDepth), cell_rows_, cell_limit());
  const std::size_t moved = c.size - first;
  std::size_t read = c.capacity - moved;
  std::memmove(c.value + read, c.value + first, moved * sizeof(double));
  std::memmove(c.rows + read, c.rows + first, moved * sizeof(double));
  std::memmove(c.slack + read, c.slack + first, moved * sizeof(float));

  Output out(&c, first, below, limit);
  double value_before = first > 0 ? c.value[first - 1] : 0;
  float slack_before = first > 0 ? c.slack[first - 1] : 0;
  Incoming::Piece piece{};
  for (; read < c.capacity && !incoming->at_end(); ++read) {
    const double value = c.value[read];
    const double rows = c.rows[read];
    const float slack = c.slack[read];
    out.set_unread(read);
    if (rows < 0) {
      while (incoming->take(value, false, &piece))
        out.put(piece.value, piece.rows, piece.point,
                slack_above(double{slack_before} + piece.slack));
      out.set_unread(read + 1);
      double sum = -rows;
      while (incoming->take(value, true, &piece)) sum += piece.rows;
      out.put(value, sum, true, slack_above(double{slack} + incoming->slack()));
    } else {
      // A point of the same value takes what comes at it.
      const bool inclusive = !(read + 1 < c.capacity && c.value[read + 1] == value);
      out.set_unread(read + 1);
      const double most = 2 * limit.most();
      const double fresh = incoming->rows_until(value, inclusive, most);
      if (rows + fresh <= 2 * out.limit_of(rows + fresh) || !(fresh > 0)) {
        while (incoming->take(value, inclusive, &piece)) {
        }
        out.put(value, rows + fresh, false, slack_above(double{slack} + incoming->slack()));
      } else {
        split({value_before, value, rows, slack_before, slack, !fractional_}, inclusive, incoming,
              &out);
      }
    }
    value_before = value;
    slack_before = slack;
  }
  // What is left of the one, or of the other.
  const std::size_t rest = c.capacity - read;
  const std::size_t next = out.next();
  std::memmove(c.value + next, c.value + read, rest * sizeof(double));
  std::memmove(c.rows + next, c.rows + read, rest * sizeof(double));
  std::memmove(c.slack + next, c.slack + read, rest * sizeof(float));
  c.size = next + rest;
  if (incoming->at_end()) return;
  out.set_unread(c.capacity);
  while (incoming->take(std::numeric_limits<double>::infinity(), true, &piece))
    out.put(piece.value, piece.rows, piece.point, slack_above(double{slack_before} + piece.slack));
  c.size = out.next();
}

double Summary::join_limit() const {
  return depth_ > 0 ? JoinLimit(depth_, cell_rows_, cell_limit()).most() : 0;
}

void Summary::compact() {
  if (depth_ == 0) depth_ = kDepth;
  const double before = depth_;
  for (const double contrast : kContrasts) {
    depth_ = before;
    for (int tries = 0; tries < kTailTries; ++tries, depth_ *= kDeeper)
      if (try_compact(depth_, kTailRows, contrast)) return;
  }
  // It is the tails that do not fit.
  const double depth = depth_;
  depth_ = before;
  for (int halvings = 1; halvings <= kTailHalvings; ++halvings)
    if (try_compact(depth, std::ldexp(kTailRows, -halvings), kContrasts[1])) return;
  // Any two cells but the first may be joined in the end.
  for (double more = depth; !try_compact(more, 0, kAnyContrast); more *= 2) {
  }
}

namespace {

// Rows side by side lie at distances that differ, by chance, 64 times where they are two (one pair
// in 30), and hardly ever where they are more: of three rows one in 10,000.
constexpr double kDenseRows = 3;
// Cells looked at for that: of weights far below 1 no number of cells may come to so many rows.
constexpr std::size_t kDenseCells = 3;

struct Stretch {
  double width, rows;
  // Fewer rows to the width, by more than `contrast`.
  bool is_void_beside(const Stretch& dense, double contrast) const {
    return width * dense.rows > contrast * dense.width * rows;
  }
};

}  // namespace

// Joins what may be joined; whether few enough cells are left for many more to come.
bool Summary::try_compact(double depth, double tail_rows, double contrast) {
  CellArrays& c = cells_;
  const JoinLimit limit(depth, cell_rows_, cell_limit(), tail_rows);
  std::size_t last = 0;  // the cell that may grow
  double below = 0;      // rows below it
  for (std::size_t i = 1; i < c.size; ++i) {
    const double mine = std::fabs(c.rows[last]);
    const double next = std::fabs(c.rows[i]);
    const double sum = mine + next;
    // The first cell stays a point: a range begins where the cell before it ends.
    bool join = last > 0 && sum <= limit.at(below, sum);
    if (join && contrast < kAnyContrast) {
      const Stretch before = {c.value[last] / 2 - c.value[last - 1] / 2, mine};
      const Stretch after = {c.value[i] / 2 - c.value[last] / 2, next};
      // What lies beyond may be needed to tell how dense it is.
      Stretch dense_before = before, dense_after = after;
      for (std::size_t j = last - 1;
           j > 0 && last - j < kDenseCells && dense_before.rows < kDenseRows; --j)
        dense_before = {c.value[last] / 2 - c.value[j - 1] / 2,
                        dense_before.rows + std::fabs(c.rows[j])};
      for (std::size_t j = i + 1;
           j < std::min(c.size, i + kDenseCells) && dense_after.rows < kDenseRows; ++j)
        dense_after = {c.value[j] / 2 - c.value[last] / 2, dense_after.rows + std::fabs(c.rows[j])};
      join = !after.is_void_beside(dense_before, contrast) &&
             !before.is_void_beside(dense_after, contrast);
    }
    if (join) {
      c.rows[last] = sum;
    } else {
      below += mine;
      c.rows[++last] = c.rows[i];
    }
    c.value[last] = c.value[i];
    c.slack[last] = c.slack[i];
  }
  c.size = last + 1;
  return c.size <= cell_limit() / 8 * 7;
}

}  // namespace kde
