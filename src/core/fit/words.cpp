// See words.h.
#include "core/fit/words.h"

#include "core/random.h"
#include "core/guarded.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

namespace kde {

namespace {

// A value of no more blocks is a rare one.
constexpr std::uint32_t kFewBlocks = 4;
// Counts of values in blocks that are held: 32 MB.
constexpr std::size_t kMostInBlocks = std::size_t{4} << 20;
// The iteration's quotient comes from below: after so many steps it is hardly a tenth off.
constexpr int kIterations = 16;
constexpr double kIterationMargin = 1.1;

// The eigenvalue behind one that was seen, of so many values for each block whose own effects are
// `noise`: that is seen as l + g l/(l - 1), in units of noise, which below l = 1 + sqrt(g) cannot
// be told from noise alone. Squares of first differences have the noise of two thirds as many
// blocks: their form's eigenvalues 1 - cos t, of the mean 1, have squares of the mean 3/2.
double without_noise(double seen, double noise, double values_for_each_block) {
  const double g = 1.5 * values_for_each_block;
  if (!(noise > 0) || !(g > 0)) return seen;
  const double there = seen / noise;
  const double least = 1 + std::sqrt(g);
  double out = least;
  if (there > least * least) {
    const double twice = there + 1 - g;
    out = std::max(least, (twice + std::sqrt(std::max(twice * twice - 4 * there, 0.0))) / 2);
  }
  return std::min(out * noise, seen);
}

}  // namespace

Words::Words(const Options& options)
    : options_(options), reservoir_(static_cast<std::uint64_t>(kDrawnRows), options.seed) {
  if (options.measures > 0)
    sums_ = std::make_unique<OwnedGridCells>(Chain::decimal, options.measures, kAnyWords);
}

Status Words::begin_block() noexcept {
  return guarded([&] {
    // Rows before the first block are one, as those of a sampler.
    if (block_ > 0) end_block();
    by_block_ = true;
    open_block();
    return Status::success();
  });
}

void Words::open_block() {
  ++block_;
  block_rows_.push_back(0);
  for (int k = 0; k < options_.measures; ++k) measured_[k].push_back(0);
}

void Words::end_block() {
  const double m = block_rows_.back();
  const double m_before = block_rows_.size() > 1 ? block_rows_[block_rows_.size() - 2] : 0;
  squares_ += m * m;
  next_ += m * m_before;
  for (const std::uint32_t i : here_) {
    Value& v = values_[i];
    const double c = v.in_block;
    v.squares += c * c;
    v.own += c * m;
    v.next += c * v.before;
    v.cross += c * m_before;
  }
  hold_in_block();
  for (const std::uint32_t i : before_) {
    Value& v = values_[i];
    v.cross += m * (v.block == block_ ? v.before : v.in_block);
  }
  before_.swap(here_);
  here_.clear();
}

void Words::hold_in_block() {
  if (in_block_full_) return;
  if (in_block_.size() + here_.size() > kMostInBlocks) {
    in_block_full_ = true;
    std::vector<InBlock>().swap(in_block_);
    most_effect_ = std::numeric_limits<double>::infinity();
    return;
  }
  for (const std::uint32_t i : here_) in_block_.push_back({i, values_[i].in_block});
  in_block_end_.push_back(in_block_.size());
}

void Words::draw(std::uint32_t number, std::span<const double> y) {
  const std::optional<std::uint64_t> at = reservoir_.place();
  if (!at) return;
  drawn_.resize(static_cast<std::size_t>(reservoir_.held()));
  drawn_block_.resize(drawn_.size());
  drawn_y_.resize(drawn_.size() * y.size());
  drawn_[*at] = number;
  drawn_block_[*at] = block_ - 1;
  std::copy(y.begin(), y.end(), drawn_y_.begin() + static_cast<std::ptrdiff_t>(*at * y.size()));
}

Words::Value& Words::value_of(std::uint32_t number) {
  if (number > values_.size()) values_.emplace_back();
  return values_[number - 1];
}

Status Words::add(std::uint32_t number, std::span<const double> y) noexcept {
  return guarded([&] {
    Value& v = value_of(number);
    ++v.rows;
    ++rows_;
    if (!every_row_) note(number, y);
    return sums_ == nullptr ? Status::success() : (*sums_)->add(number, y);
  });
}

Status Words::add(std::uint32_t number, double rows, std::span<const ValueSums> measures) noexcept {
  return guarded([&] {
    value_of(number).rows += static_cast<std::uint64_t>(rows);
    rows_ += rows;
    if (sums_ == nullptr) return Status::success();
    return (*sums_)->add_value(number, rows, measures);
  });
}

void Words::take(std::span<const GridEntry> values, std::unique_ptr<OwnedGridCells> cells) {
  for (const GridEntry& e : values) {
    values_.emplace_back().rows = static_cast<std::uint64_t>(e.rows);
    rows_ += e.rows;
  }
  if (sums_ != nullptr) sums_ = std::move(cells);
}

// Where a row of a sample lies.
void Words::note(std::uint32_t number, std::span<const double> y) {
  if (block_ == 0) open_block();
  const std::uint32_t i = number - 1;
  Value& v = values_[i];
  if (v.block != block_) {
    v.before = v.block > 0 && v.block == block_ - 1 ? v.in_block : 0;
    v.block = block_;
    v.in_block = 0;
    ++v.blocks;
    here_.push_back(i);
  }
  ++v.in_block;
  if (block_rows_.back() < std::numeric_limits<std::uint32_t>::max()) ++block_rows_.back();
  draw(number, y);
  for (std::size_t k = 0; k < y.size(); ++k)
    if (!std::isnan(y[k])) ++measured_[k].back();
}

Status Words::rank() noexcept {
  return guarded([&] {
    if (block_ > 0) end_block();
    order_.resize(values_.size());
    std::iota(order_.begin(), order_.end(), 1U);
    std::stable_sort(order_.begin(), order_.end(), [this](std::uint32_t a, std::uint32_t b) {
      return values_[a - 1].rows > values_[b - 1].rows;
    });
    rank_.assign(values_.size(), -1);
    return Status::success();
  });
}

bool Words::has_room(std::size_t words, std::size_t text_bytes) const {
  const std::uint32_t flags = kSpread | (options_.placed ? std::uint32_t{kPlaced} : 0);
  return words <= kMostWords && words_bytes(words, text_bytes, flags) <= options_.most_bytes;
}

Status Words::keep(std::uint32_t number, std::string_view text, std::uint16_t place,
                   bool* full) noexcept {
  return guarded([&] {
    const std::uint64_t rows = number > 0 ? values_[number - 1].rows : 0;
    if (number == 0 || rows != tied_rows_) keep_tied();
    tied_rows_ = rows;
    *full = full_;
    // Of two values that are printed alike the first has it.
    if (full_ || text.size() > kMostWordBytes || (has_left_ && text >= least_left_) ||
        texts_.contains(text) || tied_.contains(text))
      return Status::success();
    tied_.emplace(text, Tied{number, place});
    tied_bytes_ += text.size();
    while (!has_room(kept_.size() + tied_.size(), text_bytes_ + tied_bytes_)) {
      auto last = tied_.extract(std::prev(tied_.end()));
      tied_bytes_ -= last.key().size();
      least_left_ = std::move(last.key());
      has_left_ = true;
    }
    return Status::success();
  });
}

void Words::keep_tied() {
  for (const auto& [text, tied] : tied_) {
    kept_.push_back({tied.number, text, tied.place});
    texts_.insert(kept_.back().text);
    if (tied.number > 0) rank_[tied.number - 1] = static_cast<double>(kept_.size() - 1);
  }
  text_bytes_ += tied_bytes_;
  tied_.clear();
  tied_bytes_ = 0;
  full_ = has_left_;
}

Status Words::end_keeping() noexcept {
  return guarded([&] {
    keep_tied();
    return Status::success();
  });
}

// Ranks with their rows, and what measures have in them.
Status Words::gather(GridCells* cells) const {
  const auto count = static_cast<std::size_t>(options_.measures);
  // Of value number i + 1 those from i count on, in units about the origin.
  GridList values;
  if (sums_ != nullptr) {
    if (Status s = (*sums_)->list(&values); !s.ok()) return s;
    for (int k = 0; k < options_.measures; ++k) cells->begin_measure(k, (*sums_)->measure(k));
  }
  std::vector<WeightedValue> ranks;
  std::vector<MeasureSums> sums;
  const auto put = [&](std::size_t rank, double rows, const MeasureSums* own) {
    ranks.push_back({static_cast<double>(rank), rows});
    sums.insert(sums.end(), own, own + count);
  };
  for (std::size_t r = 0; r < kept_.size(); ++r) {
    const std::uint32_t number = kept_[r].number;
    if (number > 0)
      put(r, static_cast<double>(values_[number - 1].rows),
          values.sums.data() + (number - 1) * count);
  }
  double others = 0;
  std::vector<MeasureSums> of_others(count);
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (rank_[i] >= 0) continue;
    others += static_cast<double>(values_[i].rows);
    for (std::size_t k = 0; k < count; ++k) of_others[k].add(values.sums[i * count + k]);
  }
  if (others > 0) put(kept_.size(), others, of_others.data());
  return cells->add_values(ranks, sums);
}

Status Words::finish(Sample* out, const Control& control) noexcept {
  return guarded([&] {
    out->specials.nulls = nulls_;
    out->cells = std::make_unique<OwnedGridCells>(Chain::decimal, options_.measures);
    GridCells& cells = **out->cells;
    cells.add_null(nulls_);
    if (rows_ == 0) return Status::success();
    if (Status s = gather(&cells); !s.ok()) return s;
    out->totals = cells.totals();
    out->least = {out->totals.min()};
    out->greatest = {out->totals.max()};
    std::vector<std::uint32_t> order(drawn_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
      return drawn_block_[a] < drawn_block_[b];
    });
    for (const std::uint32_t i : order) {
      out->drawn.push_back(rank_of(static_cast<std::uint32_t>(drawn_[i])));
      if (by_block_) out->drawn_block.push_back(drawn_block_[i]);
    }
    const auto count = static_cast<std::size_t>(options_.measures);
    out->means.assign(count, MeanVariance());
    out->measured.assign(count, BlockVariance());
    if (!by_block_) return Status::success();
    if (Status s = find_most_effect(control); !s.ok()) return s;
    const BlockRows blocks = {out->drawn, out->drawn_block, block_rows_, rows_};
    if (!estimate_block_variance(blocks, control, &out->blocks)) return cancelled();
    std::vector<double> y(drawn_.size());
    for (std::size_t k = 0; k < count; ++k) {
      for (std::size_t i = 0; i < order.size(); ++i) y[i] = drawn_y_[order[i] * count + k];
      if (!estimate_mean_variance(blocks, y, control, &out->means[k]) ||
          !estimate_measured_variance(blocks, y, measured_[k], 0, control, &out->measured[k],
                                      nullptr))
        return cancelled();
    }
    return Status::success();
  });
}

double Words::effect(const Value& v) const {
  const double m = static_cast<double>(block_rows_.size());
  if (!by_block_ || m < 3) return 1;
  const double p = static_cast<double>(v.rows) / rows_;
  if (!(p < 1)) return 1;
  const double squares = v.squares - 2 * p * v.own + p * p * squares_;
  const double next = v.next - p * v.cross + p * p * next_;
  return std::max((squares - next) * m / (m - 1), 0.0) / (rows_ * p * (1 - p));
}

// Of the values that are kept, and of all others as if they were one.
Status Words::find_most_effect(const Control& control) {
  std::vector<InBlock> in_block;
  in_block.swap(in_block_);
  if (in_block.empty()) return Status::success();
  const std::size_t blocks = block_rows_.size();
  if (blocks < 3) {
    most_effect_ = std::numeric_limits<double>::infinity();
    return Status::success();
  }
  const std::size_t ranks = kept_.size() + 1;
  const auto rank = [&](std::size_t value) {
    return rank_[value] < 0 ? ranks - 1 : static_cast<std::size_t>(rank_[value]);
  };
  std::vector<double> rows(ranks), x(ranks), scaled(ranks), y(blocks), change(blocks);
  for (std::size_t i = 0; i < values_.size(); ++i)
    rows[rank(i)] += static_cast<double>(values_[i].rows);
  for (InBlock& in : in_block) in.value = static_cast<std::uint32_t>(rank(in.value));
  // Signs that follow no order of values.
  Random random(options_.seed);
  for (double& at : x) at = random.below(2) == 0 ? 1 : -1;
  double length = std::sqrt(static_cast<double>(ranks));
  for (int step = 0; step < kIterations; ++step) {
    if (control.stop_requested()) return cancelled();
    double mean = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
      scaled[r] = rows[r] > 0 ? x[r] / length / std::sqrt(rows[r]) : 0;
      mean += scaled[r] * rows[r] / rows_;
    }
    std::size_t at = 0;
    for (std::size_t b = 0; b < blocks; ++b) {
      y[b] = -mean * block_rows_[b];
      for (; at < in_block_end_[b]; ++at) y[b] += in_block[at].rows * scaled[in_block[at].value];
    }
    for (std::size_t b = 0; b < blocks; ++b)
      change[b] = y[b] - (b > 0 ? y[b - 1] / 2 : 0) - (b + 1 < blocks ? y[b + 1] / 2 : 0);
    std::fill(x.begin(), x.end(), 0);
    double all = 0;
    at = 0;
    for (std::size_t b = 0; b < blocks; ++b) {
      all += change[b] * block_rows_[b];
      for (; at < in_block_end_[b]; ++at) x[in_block[at].value] += in_block[at].rows * change[b];
    }
    length = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
      x[r] = rows[r] > 0 ? (x[r] - all * rows[r] / rows_) / std::sqrt(rows[r]) : 0;
      length += x[r] * x[r];
    }
    length = std::sqrt(length);
    if (!(length > 0)) break;
  }
  const auto m = static_cast<double>(blocks);
  const double seen = length * m / (m - 1);
  double effects = 0, values = 0;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (rank_[i] < 0) continue;
    effects += effect(values_[i]);
    ++values;
  }
  const double noise = values > 0 ? std::min(effects / values, 1.0) : 1;
  most_effect_ = kIterationMargin * without_noise(seen, noise, values / m);
  return Status::success();
}

void Words::describe_unseen(const ReadShare& read, WordsHeader* h) const {
  if (read.every_row_read) return;
  double rows = 0, squares = 0, few = 0, together = 0;
  for (const Value& v : values_) {
    const auto own = static_cast<double>(v.rows);
    if (by_block_ ? v.blocks == 1 : v.rows == 1) {
      rows += own;
      squares += own * own;
    }
    if (v.blocks > kFewBlocks || !by_block_) continue;
    few += own;
    together += v.squares;
  }
  const double scale = read.rows_per_row_read;
  const double not_read = scale > 1 ? scale - 1 : 0;
  // One more of a block's rows that there might have been; where all were NULL, of all of them.
  const double of_blocks = rows_ > 0 ? rows_ : std::max(nulls_, 1.0);
  const double one = by_block_ ? of_blocks / static_cast<double>(block_rows_.size()) : 1;
  h->unseen = rows * not_read;
  h->unseen_error = std::sqrt(squares + one * one) * not_read;
  h->unseen_one = (together + one * one) / (few + one) * scale;
}

Status Words::append(const FitOptions& options, DensityBytes* density) const noexcept {
  return guarded([&] {
    WordsHeader h{};
    h.type = options.word_type;
    h.flags = options.word_flags | (options.every_row_read ? 0 : std::uint32_t{kSpread});
    h.distinct = static_cast<double>(values_.size());
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (rank_[i] >= 0) continue;
      ++h.others;
      const double own = static_cast<double>(values_[i].rows) * options.rows_per_row_read;
      h.others_most = std::max(h.others_most, own);
    }
    describe_unseen(options, &h);
    const double unread = options.unread();
    h.most_spread = options.every_row_read || unread == 0 ? 0 : unread * most_effect_;
    std::vector<WordEntry> entries;
    for (const KeptWord& word : kept_) {
      std::uint8_t spread = 0;
      if (!options.every_row_read && word.number > 0)
        spread = spread_code(unread * effect(values_[word.number - 1]));
      entries.push_back({word.text, word.place, spread});
    }
    return insert_words(h, entries.data(), entries.size(), density->data(), density->size(),
                        density);
  });
}

}  // namespace kde
