// The histogram that fits into a budget: histogram.h.
//
// Tried in turn, until one fits:
//   exact        all points as they are, where they repeat or are few or on a lattice; as atoms
//                where rows are no whole numbers
//   all cells    their values rounded to a share of what is between them
//   simplified   the tolerance (histogram_simplify.h) is the least that fits, found by the secant
//                rule on the logarithms of tolerance and size, kept within a bracket
// Off a lattice, points of more rows than the tolerance are atoms: their values are exact.
#include "core/density/histogram.h"
#include "core/density/histogram_pack.h"
#include "core/density/histogram_simplify.h"
#include "core/density/histogram_steps.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <new>

namespace kde {

namespace {

// Distinct values off a lattice that are worth their doubles, however few rows each has.
constexpr std::size_t kFewValues = 512;
// Among all cells, a point of that many times the points' mean rows is an atom.
constexpr double kHeavy = 4;
// Atoms that are taken out leave room for more: as often that is tried.
constexpr int kRounds = 3;
// Shares of a cell's width by which its ends may move; of the root of the rows read to a cell,
// which is what a sample's count of it is off by.
constexpr double kFine = 1.0 / 32, kCoarse = 1.0 / 8, kShareOfRoot = 1.0 / 16;
// Rows read to a cell up to which the coarse share is worth it.
constexpr double kCoarseRows = 64;
// What the coarse share leaves of the size, at best.
constexpr double kCoarseSaves = 0.75;
// Tolerance in the tails, as a share of the rows to the nearer end; where not even that fits, the
// next one.
constexpr double kTailShares[] = {1.0 / 16, 1.0 / 4, 1, 1e9};
// A size is close enough to the budget, and a bracket of tolerances narrow enough; the most trials
// to find one, and to pack with it or a little more.
constexpr double kFull = 0.985, kNarrow = 1.02;
constexpr int kTrials = 8, kAttempts = 50;
constexpr double kFaster = 1.25;
// What a simplified cell takes, in bytes; only where to begin.
constexpr double kUsualCell = 2.5;

bool is_whole(double x) { return x == std::floor(x); }

class Encoder {
 public:
  Encoder(const Header& header, std::size_t budget)
      : header_(header), budget_(budget), packing_(header) {}

  Status encode(std::span<const HistogramCell> cells, double slack, DensityBytes* density) {
    if (Status s = steps_of_cells(header_, cells, &all_); !s.ok()) return s;
    if (!(std::fabs(all_.rows() - header_.finite_rows()) <= 1e-9 * header_.rows))
      return Status::error(Code::invalid_argument, "rows of the cells do not add up");
    look(cells);
    if (!try_exact() && !try_atoms() && !try_all_cells() && !search())
      return Status::error(Code::internal, "no histogram fits into %zu bytes", budget_);
    write(slack, density);
    return Status::success();
  }

 private:
  void look(std::span<const HistogramCell> cells) {
    least_rows_ = std::numeric_limits<double>::infinity();
    for (const HistogramCell& cell : cells) {
      whole_ = whole_ && is_whole(cell.rows);
      if (cell.rows > 0) {
        least_rows_ = std::min(least_rows_, cell.rows);
        if (cell.point) {
          points_ += 1;
          point_rows_ += cell.rows;
        } else {
          ranges_ = true;
        }
      }
    }
    // A field of rows has 53 bits.
    whole_ = whole_ && all_.rows() < 0x1p53;
    for (const HistogramCell& cell : cells) tied_ += cell.point && cell.rows > least_rows_ ? 1 : 0;
  }

  std::size_t bytes() const {
    return sizeof(Header) + atom_value_.size() * 2 * sizeof(double) + planned_;
  }

  // Points of more rows become atoms; the rest are the steps.
  void take_atoms(double rows) {
    atom_limit_ = rows;
    atom_value_.clear();
    atom_rows_.clear();
    rest_.lattice = all_.lattice;
    rest_.list.clear();
    rest_.list.reserve(all_.list.size());
    double taken = 0, before = 0, through = 0;
    for (const Step& s : all_.list) {
      Step r = s;
      r.below = through + (s.below - before);
      r.through = r.below;
      const double jump = s.through - s.below;
      if (jump > rows) {
        taken += jump;
        atom_value_.push_back(s.x);
        atom_rows_.push_back(taken);
      } else {
        r.through += jump;
      }
      rest_.list.push_back(r);
      before = s.through;
      through = r.through;
    }
  }

  void take_no_atoms() { take_atoms(std::numeric_limits<double>::infinity()); }

  double unit() const {
    if (whole_) return 1;
    // As many as give every row its share, and far from where doubles lose their precision.
    const double rows = rest_.rows();
    if (!(rows > 0)) return 1;
    return rows / std::ldexp(1.0, std::clamp(std::ilogb(rows) + 1020, 0, 50));
  }

  bool try_exact() {
    const bool lattice = all_.lattice;
    if (!whole_ || (ranges_ && !lattice)) return false;
    if (!lattice && points_ > kFewValues && !repeated()) return false;
    take_no_atoms();
    Rounding rounding;
    rounding.exact = true;
    return plan_and_pack(rest_, rounding);
  }

  bool try_atoms() {
    if (ranges_ || points_ > kFewValues) return false;
    if (sizeof(Header) + points_ * 2 * sizeof(double) > budget_) return false;
    take_atoms(0);
    if (all_.lattice) {
      for (double& value : atom_value_) value = header_.lattice_point(value);
    }
    planned_ = packing_.plan(Steps{}, 1, Rounding{});
    packing_.pack();
    return true;
  }

  bool try_all_cells() {
    const double rows = header_.sample_rows / static_cast<double>(all_.list.size());
    const double finest = kShareOfRoot / std::sqrt(rows);
    if (finest < kFine && try_all_cells(finest)) return true;
    if (try_all_cells(kFine)) return true;
    // Two bits less for each value: an end is then off by a share of the cell's rows, where one of
    // fewer cells is off by about their root, which of many rows is less.
    return rows <= kCoarseRows &&
           kCoarseSaves * static_cast<double>(bytes()) <= static_cast<double>(budget_) &&
           try_all_cells(kCoarse);
  }

  bool try_all_cells(double width) {
    // A cell of less than a byte is none whose value is kept.
    if (all_.list.size() + sizeof(Header) > budget_) return false;
    take_no_atoms();
    if (!all_.lattice && points_ > 0)
      take_atoms(kHeavy * point_rows_ / static_cast<double>(points_));
    if (!plan_and_pack_cells(width)) return false;
    // What is left is for the values that repeat.
    for (int round = 0; round < kRounds && !all_.lattice && tied_ > atom_value_.size(); ++round) {
      const std::size_t more = (budget_ - bytes()) / (2 * sizeof(double));
      if (more == 0) break;
      const double before = atom_limit_;
      take_atoms(std::max(rows_of_point(atom_value_.size() + more), least_rows_));
      if (plan_and_pack_cells(width)) continue;
      take_atoms(before);
      return plan_and_pack_cells(width);
    }
    return true;
  }

  bool plan_and_pack_cells(double width) {
    Rounding rounding;
    rounding.width = width;
    rounding.tolerance.total = rest_.rows();
    return plan_and_pack(rest_, rounding);
  }

  bool repeated() const { return tied_ >= points_ / 2; }

  // Of the point that has the most rows but for that many others; 0 if there are no more.
  double rows_of_point(std::size_t others) const {
    std::vector<double> rows;
    rows.reserve(all_.list.size());
    for (const Step& s : all_.list) rows.push_back(s.through - s.below);
    if (others >= rows.size()) return 0;
    const auto nth = rows.begin() + static_cast<std::ptrdiff_t>(others);
    std::nth_element(rows.begin(), nth, rows.end(), std::greater<>());
    return *nth;
  }

  bool plan_and_pack(const Steps& steps, const Rounding& rounding) {
    planned_ = packing_.plan(steps, unit(), rounding);
    if (bytes() > budget_) return false;
    planned_ = packing_.pack();
    return bytes() <= budget_;
  }

  Rounding rounding_of(double tolerance, double share) const {
    Rounding rounding;
    rounding.tolerance = {tolerance, share, rest_.rows()};
    rounding.width = kFine;
    return rounding;
  }

  // Returns the size.
  std::size_t try_tolerance(double tolerance, double share) {
    if (all_.lattice)
      take_no_atoms();
    else
      take_atoms(tolerance);
    const Rounding rounding = rounding_of(tolerance, share);
    simplify(rest_, rounding.tolerance, &simpler_);
    planned_ = packing_.plan(simpler_, unit(), rounding);
    return bytes();
  }

  bool search() {
    for (const double share : kTailShares) {
      const double tolerance = least_tolerance(share);
      if (tolerance > 0 && pack_simplified(tolerance, share)) return true;
    }
    return false;
  }

  // The least tolerance that fits, as far as planned; 0 if none does.
  double least_tolerance(double share) {
    const double rows = all_.rows();
    const double room = static_cast<double>(budget_ - sizeof(Header));
    const double target = std::log(room * (1 + kFull) / 2);
    // Cells of m rows that follow a smooth curve by chance are off by about sqrt(m).
    double tolerance = std::clamp(std::sqrt((whole_ ? 1 : least_rows_) * rows * kUsualCell / room),
                                  std::max(1e-15 * rows, 0x1p-1074), rows);
    double low = 0, high = 0, low_size = 0, high_size = 0;  // logarithms of sizes
    double factor = 2;
    for (int trial = 0; trial < kTrials || high == 0; ++trial) {
      const std::size_t size = try_tolerance(tolerance, share);
      const double log_size =
          std::log(static_cast<double>(std::max(size, sizeof(Header) + 1) - sizeof(Header)));
      if (size <= budget_) {
        high = tolerance;
        high_size = log_size;
        if (static_cast<double>(size) >= kFull * static_cast<double>(budget_)) break;
      } else {
        if (tolerance >= rows) return 0;
        low = tolerance;
        low_size = log_size;
      }
      if (high == 0) {
        tolerance = std::min(rows, low * factor);
        factor *= 2;
      } else if (low == 0) {
        tolerance = high / factor;
        factor *= 2;
      } else {
        if (high < kNarrow * low) break;
        // Where the size leaps the secant is of no use.
        const double share_of_way =
            trial % 3 == 2 ? 0.5
                           : std::clamp((low_size - target) / (low_size - high_size), 0.1, 0.9);
        tolerance = low * std::pow(high / low, share_of_way);
      }
    }
    return high;
  }

  // What is planned may be some bytes short of what rounding makes of it.
  bool pack_simplified(double tolerance, double share) {
    double more = kNarrow - 1;
    for (int i = 0; i < kAttempts; ++i) {
      if (i > 0) {
        // By more and more: where the size leaps a little is not enough.
        tolerance = std::min(tolerance * (1 + more), all_.rows());
        more *= kFaster;
      }
      if (try_tolerance(tolerance, share) > budget_) continue;
      const Rounding rounding = rounding_of(tolerance, share);
      level(rest_, rounding.tolerance, &simpler_);
      if (plan_and_pack(simpler_, rounding)) return true;
    }
    return false;
  }

  void write(double slack, DensityBytes* density) {
    Header h = header_;
    h.varlena = 0;
    const bool has_cells = !packing_.blocks().empty();
    h.cell_rows = has_cells ? rest_.rows() : 0;
    h.row_unit = has_cells ? packing_.unit() : 0;
    const double rows = all_.rows();
    const double distance = has_cells ? largest_distance(rest_, packing_.packed()) : 0;
    h.error = std::min(1.0, slack + (rows > 0 ? distance / rows : 0));

    *density = lay_out(h, atom_value_, atom_rows_, packing_.blocks(), packing_.words());
  }

  const Header& header_;
  const std::size_t budget_;
  Steps all_, rest_, simpler_;  // rest_: all but the atoms
  std::vector<double> atom_value_, atom_rows_;
  double atom_limit_ = 0;  // points of more rows are atoms
  HistogramPacking packing_;
  std::size_t planned_ = 0;  // bytes of blocks and words

  bool whole_ = true;  // all rows are whole numbers
  bool ranges_ = false;
  double least_rows_ = 0;
  std::size_t points_ = 0, tied_ = 0;  // tied_: points that have more than the least rows
  double point_rows_ = 0;
};

}  // namespace

Status encode_histogram(const Header& header, std::span<const HistogramCell> cells, double slack,
                        std::size_t budget, DensityBytes* density) noexcept {
  if (budget < kLeastHistogramBytes || budget > kMaxBytes)
    return Status::error(Code::invalid_argument, "a histogram's budget is out of range");
  if (!(slack >= 0)) return Status::error(Code::invalid_argument, "a slack is negative or NaN");
  try {
    return Encoder(header, budget).encode(cells, slack, density);
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "out of memory while encoding a histogram");
  }
}

}  // namespace kde
