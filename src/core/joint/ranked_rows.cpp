// See ranked_rows.h.
#include "core/joint/ranked_rows.h"

#include "core/density/compact_order.h"

#include <algorithm>
#include <cmath>

namespace kde {

namespace {

// Places by which neighbours are told: ranks over the distinct values, what has none beyond; of a
// category as where densities order their points, the frequent values farthest apart.
constexpr double kBeyond = 0.2, kApart = 0.35;

bool is_null(const JointSample& sample, std::uint32_t row, std::size_t k) {
  return (sample.null[row] >> k & 1) != 0;
}

double value_of(const JointSample& sample, std::uint32_t row, std::size_t k) {
  return sample.value[row * static_cast<std::size_t>(sample.columns) + k];
}

bool has(const JointSample& sample, std::uint32_t row, std::size_t k) {
  return !is_null(sample, row, k) && std::isfinite(value_of(sample, row, k));
}

// Numbers the values of a column.
void rank_column(const JointSample& sample, std::span<const std::uint32_t> rows, std::size_t k,
                 std::vector<double>* distinct, std::vector<std::uint32_t>* rank) {
  struct At {
    double value;
    std::uint32_t row;
  };
  std::vector<At> at;
  at.reserve(rows.size());
  for (const std::uint32_t row : rows)
    if (has(sample, row, k)) at.push_back({value_of(sample, row, k), row});
  std::sort(at.begin(), at.end(), [](const At& a, const At& b) { return a.value < b.value; });
  rank->assign(static_cast<std::size_t>(sample.rows), RankTable::kNone);
  for (const At& a : at) {
    if (distinct->empty() || a.value > distinct->back()) distinct->push_back(a.value);
    (*rank)[a.row] = static_cast<std::uint32_t>(distinct->size() - 1);
  }
}

}  // namespace

RankTable::RankTable(int columns, std::size_t rows)
    : rows_(rows),
      stride_((rows + kRankBlock - 1) / kRankBlock * kRankBlock),
      rank_(static_cast<std::size_t>(columns) * stride_, kNone) {}

namespace {

// 1 for rows of a block that a side leaves out, beside those that are 1 already. Ranks from `first`
// on wrap around to 0, those below to what is beyond any width.
inline void leave_out(const std::uint32_t* rank, const RankSide& side, std::uint32_t* out) {
  const std::uint32_t first = side.first;
  const std::uint32_t width = side.last - side.first;
  for (std::size_t i = 0; i < kRankBlock; ++i)
    out[i] |= static_cast<std::uint32_t>(rank[i] - first > width);
}

}  // namespace

std::size_t RankTable::count(std::span<const RankSide> sides) const {
  std::size_t in = 0;
  for (const RankSide& side : sides)
    if (side.first > side.last) return 0;
  for (std::size_t b = 0; b < blocks(); ++b) {
    std::uint32_t out[kRankBlock] = {};
    for (const RankSide& side : sides) leave_out(column(side.column) + b * kRankBlock, side, out);
    std::uint32_t sum = 0;
    for (const std::uint32_t o : out) sum += o;
    in += kRankBlock - sum;
  }
  return sides.empty() ? rows_ : in;
}

std::uint64_t RankTable::inside(std::size_t b, std::span<const RankSide> sides) const {
  const std::size_t held = std::min(kRankBlock, rows_ - b * kRankBlock);
  std::uint32_t out[kRankBlock] = {};
  for (const RankSide& side : sides) {
    if (side.first > side.last) return 0;
    leave_out(column(side.column) + b * kRankBlock, side, out);
  }
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < held; ++i) bits |= std::uint64_t{1 - out[i]} << i;
  return bits;
}

RankedRows::RankedRows(const JointSample& sample, std::span<const std::uint32_t> rows)
    : value_(static_cast<std::size_t>(sample.columns)),
      rank_(value_.size()),
      table_(sample.columns, rows.size()),
      block_(value_.size()) {
  const std::size_t d = value_.size();
  std::vector<std::uint32_t> ascending(rows.begin(), rows.end());
  std::sort(ascending.begin(), ascending.end());
  std::vector<double> place(ascending.size() * d);
  for (std::size_t k = 0; k < d; ++k) {
    rank_column(sample, ascending, k, &value_[k], &rank_[k]);
    const bool category = sample.is_category(k);
    const double distinct = static_cast<double>(std::max<std::size_t>(value_[k].size(), 1));
    for (std::size_t i = 0; i < ascending.size(); ++i) {
      const std::uint32_t r = rank_[k][ascending[i]];
      const double x = value_of(sample, ascending[i], k);
      place[i * d + k] = is_null(sample, ascending[i], k) ? 1 + 2 * kBeyond
                         : r == RankTable::kNone          ? (x < 0 ? -kBeyond : 1 + kBeyond)
                         : category                       ? kApart * std::log2(1 + x)
                                                          : r / distinct;
    }
  }
  std::vector<std::size_t> near;
  static_cast<void>(compact_order(place, d, kRankBlock, Control{}, &near));
  order_.reserve(near.size());
  for (const std::size_t i : near) order_.push_back(ascending[i]);
  table_ = table_of(order_);
  for (std::size_t k = 0; k < d; ++k) {
    const std::uint32_t* rank = table_.column(static_cast<int>(k));
    for (std::size_t b = 0; b < blocks(); ++b, rank += kRankBlock) {
      const auto ends = std::minmax_element(rank, rank + kRankBlock);
      block_[k].push_back({*ends.first, *ends.second});
    }
  }
}

RankSide RankedRows::side(int column, double lower, double upper) const {
  const std::vector<double>& v = value_[static_cast<std::size_t>(column)];
  const auto first = std::lower_bound(v.begin(), v.end(), lower) - v.begin();
  const auto end = std::upper_bound(v.begin(), v.end(), upper) - v.begin();
  if (first >= end) return {column, 1, 0};
  return {column, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(end - 1)};
}

void RankedRows::visit(std::span<const RankSide> sides,
                       FunctionRef<void(std::size_t b, std::uint64_t bits)> visit) const {
  for (std::size_t b = 0; b < blocks(); ++b) {
    bool none = false;
    for (const RankSide& side : sides) {
      const Stretch& s = block_[static_cast<std::size_t>(side.column)][b];
      none = none || s.least > side.last || s.greatest < side.first;
    }
    if (none) continue;
    const std::uint64_t bits = table_.inside(b, sides);
    if (bits != 0) visit(b, bits);
  }
}

RankTable RankedRows::table_of(std::span<const std::uint32_t> rows) const {
  RankTable table(static_cast<int>(rank_.size()), rows.size());
  for (std::size_t k = 0; k < rank_.size(); ++k) {
    std::uint32_t* to = table.column(static_cast<int>(k));
    for (const std::uint32_t row : rows) *to++ = rank_[k][row];
  }
  return table;
}

}  // namespace kde
