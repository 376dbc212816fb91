// See sample_reuse.h.
#include "core/joint/sample_reuse.h"

#include "core/joint/fitting.h"
#include "core/answer/word_evidence.h"
#include "core/joint/joint_moments.h"
#include "core/share_items.h"
#include "core/guarded.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

namespace kde {

namespace {

constexpr double kLeastShare = 0.004, kMostShare = 0.25;
constexpr int kBisections = 12;
constexpr int kTries = 20;
// Of the rows of a category's value a box holds at most that share, as boxes on numbers leave some
// out, and at least that, if it has so many rows.
constexpr double kMostOfValue = 0.9, kLeastOfValue = 0.2;
constexpr double kRowsOfValue = 20;

// Sums of one scale's boxes, half by half.
struct Scale {
  double square[kHalves] = {}, expected[kHalves] = {};            // of counts
  double mean_square[kHalves] = {}, mean_expected[kHalves] = {};  // of means
  int boxes = 0, means = 0;

  void add(int half, const HalfError::Scale& other) {
    square[half] += other.square;
    expected[half] += other.expected;
    mean_square[half] += other.mean_square;
    mean_expected[half] += other.mean_expected;
    boxes += other.boxes;
    means += other.means;
  }
};

// The ratio of two sums over halves, and a standard error of it in addition: of several candidates
// the one chosen is likely to have had luck, and an interval must not rely on it.
double cautious_ratio(const double (&square)[kHalves], const double (&expected)[kHalves]) {
  double squares = 0;
  double all = 0;
  for (int i = 0; i < kHalves; ++i) {
    squares += square[i];
    all += expected[i];
  }
  if (!(all > 0)) return 1;
  const double ratio = squares / all;
  // Halves of one split are dependent: splits are compared.
  double deviations = 0;
  for (int i = 0; i < kHalves; i += 2) {
    const double part = square[i] + square[i + 1] - ratio * (expected[i] + expected[i + 1]);
    deviations += part * part;
  }
  const double n = kSplits;
  return ratio + std::sqrt(deviations * n / (n - 1)) / all;
}

// Some 2,000 rows decide the size of a box.
std::vector<std::uint32_t> some_of(std::span<const std::uint32_t> rows) {
  const std::size_t step = std::max<std::size_t>(1, rows.size() / 2000);
  std::vector<std::uint32_t> some;
  for (std::size_t i = 0; i < rows.size(); i += step) some.push_back(rows[i]);
  return some;
}

int scale_of(double share) {
  const double s = std::round(-std::log2(share) / 2 - 1);
  return static_cast<int>(std::clamp(s, 0.0, kErrorScales - 1.0));
}

// What was measured, and for scales at which nothing was the nearest that was.
void fill(const double (&ratio)[kErrorScales], const bool (&known)[kErrorScales],
          double (&out)[kErrorScales]) {
  for (int i = 0; i < kErrorScales; ++i) {
    int nearest = -1;
    for (int j = 0; j < kErrorScales; ++j) {
      if (known[j] && (nearest < 0 || std::abs(j - i) < std::abs(nearest - i))) nearest = j;
    }
    out[i] = nearest < 0 ? 1 : std::clamp(ratio[nearest], kLeastErrorRatio, kMostErrorRatio);
  }
}

}  // namespace

double SampleReuse::value(std::uint32_t row, int column) const {
  return sample_.value[std::size_t{row} * static_cast<std::size_t>(sample_.columns) +
                       static_cast<std::size_t>(column)];
}

bool SampleReuse::has(std::uint32_t row, int column) const {
  return (sample_.null[row] >> column & 1) == 0 && std::isfinite(value(row, column));
}

std::size_t SampleReuse::sides_of(const Box& box, RankSide* sides) const {
  const auto columns = static_cast<std::size_t>(box.columns);
  for (std::size_t k = 0; k < columns; ++k)
    sides[k] = ranked_.side(box.column[k], box.lower[k], box.upper[k]);
  return columns;
}

// The share of the rows that have a category's value; 0 of one that is not kept.
double SampleReuse::share_of_value(int column, double rank) const {
  const Header* marginal = marginals_[static_cast<std::size_t>(column)];
  const WordsView words(marginal);
  if (!(rank < words.words())) return 0;
  const std::uint32_t asked[] = {static_cast<std::uint32_t>(rank)};
  return words_count(DensityView(marginal), words, {asked, 0}) / (marginal->rows + marginal->nulls);
}

void SampleReuse::list_values() {
  rows_of_value_.assign(static_cast<std::size_t>(sample_.columns), {});
  for (int k = 0; k < sample_.columns; ++k) {
    if (!is_category(k)) continue;
    auto& lists = rows_of_value_[static_cast<std::size_t>(k)];
    for (const std::uint32_t row : rows_) {
      if (!has(row, k)) continue;
      const auto rank = static_cast<std::size_t>(value(row, k));
      if (rank >= lists.size()) lists.resize(rank + 1);
      lists[rank].push_back(row);
    }
  }
}

// Those that have the values of a box's categories; its centre is one.
std::vector<std::uint32_t> SampleReuse::rows_of_values(const Box& box) const {
  const std::vector<std::uint32_t>* fewest = nullptr;
  for (int k = 0; k < box.columns; ++k) {
    if (!is_category(box.column[k])) continue;
    const auto& rows = rows_of_value_[static_cast<std::size_t>(box.column[k])]
                                     [static_cast<std::size_t>(box.lower[k])];
    if (fewest == nullptr || rows.size() < fewest->size()) fewest = &rows;
  }
  std::vector<std::uint32_t> rows;
  for (const std::uint32_t row : *fewest) {
    bool all = true;
    for (int k = 0; k < box.columns && all; ++k)
      all = !is_category(box.column[k]) ||
            (has(row, box.column[k]) && value(row, box.column[k]) == box.lower[k]);
    if (all) rows.push_back(row);
  }
  return rows;
}

// A box about a row, its sides of equal rank up to a factor, its size such that it holds a fraction
// drawn log-uniformly; then moved and resized a little, so that its ends owe nothing to the row.
bool SampleReuse::draw_box(const RankTable& some, Random* random, Box* box) const {
  const int most = std::min<int>(3, static_cast<int>(usable_.size()));
  box->columns = most < 3 ? most : 2 + static_cast<int>(random->below(2));
  std::vector<int> columns = usable_;
  for (int k = 0; k < box->columns; ++k) {
    const auto i = static_cast<std::size_t>(k);
    std::swap(columns[i], columns[i + random->below(columns.size() - i)]);
    box->column[k] = columns[i];
  }
  box->target = columns.size() > static_cast<std::size_t>(box->columns)
                    ? columns[static_cast<std::size_t>(box->columns)]
                    : -1;
  if (box->target >= 0 && is_category(box->target)) box->target = -1;
  const std::uint32_t centre = rows_[random->below(rows_.size())];
  double level[3], width[3];
  double least_share = kLeastShare;
  double most_share = kMostShare;
  bool has_number = false;
  bool has_value = false;
  for (int k = 0; k < box->columns; ++k) {
    if (!has(centre, box->column[k])) return false;
    if (is_category(box->column[k])) {
      box->lower[k] = box->upper[k] = value(centre, box->column[k]);
      const double share = share_of_value(box->column[k], box->lower[k]);
      if (!(share * static_cast<double>(rows_.size()) >= kRowsOfValue)) return false;
      least_share = std::min(least_share, kLeastOfValue * share);
      most_share = std::min(most_share, kMostOfValue * share);
      has_value = true;
      continue;
    }
    has_number = true;
    const Header* marginal = marginals_[static_cast<std::size_t>(box->column[k])];
    level[k] =
        finite_level(marginal, value(centre, box->column[k])) + 0.1 * (random->uniform() - 0.5);
    width[k] = std::exp(random->uniform() - 0.5);
  }
  if (!has_number) return false;
  const double wanted =
      std::exp(std::log(least_share) + random->uniform() * std::log(most_share / least_share));
  box->wanted = wanted;
  // The rows with the values of the categories, which are all that the box may hold.
  std::optional<RankTable> own;
  double of_all = 1;
  if (has_value) {
    const std::vector<std::uint32_t> rows = rows_of_values(*box);
    of_all = static_cast<double>(rows.size()) / static_cast<double>(rows_.size());
    own.emplace(ranked_.table_of(some_of(rows)));
  }
  const RankTable& among = has_value ? *own : some;
  const auto resize = [&](double size) {
    for (int k = 0; k < box->columns; ++k) {
      if (is_category(box->column[k])) continue;
      const Header* marginal = marginals_[static_cast<std::size_t>(box->column[k])];
      box->lower[k] = finite_quantile(marginal, std::clamp(level[k] - size * width[k], 0.0, 1.0));
      box->upper[k] = finite_quantile(marginal, std::clamp(level[k] + size * width[k], 0.0, 1.0));
    }
  };
  double low = 0, high = 1;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = (low + high) / 2;
    resize(middle);
    RankSide sides[3];
    const std::size_t in = among.count({sides, sides_of(*box, sides)});
    const auto all = static_cast<double>(among.rows());
    (static_cast<double>(in) * of_all < wanted * all ? low : high) = middle;
  }
  // Of several categories too few rows may have all the values.
  if (has_value && high == 1) return false;
  resize(high * std::exp(0.3 * (random->uniform() - 0.5)));
  return true;
}

// What a target has over rows, about a value near its mean.
struct TargetSums {
  double rows = 0, sum = 0, square = 0;

  void add(double y) {
    rows += 1;
    sum += y;
    square += y * y;
  }
};

void SampleReuse::describe(int half, Box* box) const {
  const std::vector<std::uint64_t>& first = first_half_[half / 2];
  const std::uint64_t kept_second = half % 2 == 0 ? 0 : ~std::uint64_t{0};
  std::size_t in = 0, left_in = 0;
  TargetSums all, left;
  double shift = 0;
  RankSide sides[3];
  const std::size_t columns = sides_of(*box, sides);
  ranked_.visit({sides, columns}, [&](std::size_t b, std::uint64_t bits) {
    const std::uint64_t left_out = bits & ~(first[b] ^ kept_second);
    in += static_cast<std::size_t>(std::popcount(bits));
    left_in += static_cast<std::size_t>(std::popcount(left_out));
    if (box->target < 0) return;
    for (std::uint64_t rest = bits; rest != 0; rest &= rest - 1) {
      const int i = std::countr_zero(rest);
      const std::uint32_t row = ranked_.order()[b * kRankBlock + static_cast<std::size_t>(i)];
      if (!has(row, box->target)) continue;
      if (all.rows == 0) shift = value(row, box->target);
      const double y = value(row, box->target) - shift;
      all.add(y);
      if ((left_out >> i & 1) != 0) left.add(y);
    }
  });
  box->share = static_cast<double>(in) / static_cast<double>(rows_.size());
  box->variance =
      all.rows > 2 ? std::max(all.square - all.sum * all.sum / all.rows, 0.0) / (all.rows - 1) : 0;
  box->left_out = static_cast<double>(left_in) / static_cast<double>(half_[half ^ 1].size());
  box->left_out_rows = left.rows;
  box->left_out_mean = left.rows > 0 ? shift + left.sum / left.rows : 0;
}

// The rows' halves by the order in which they were shuffled.
void SampleReuse::divide(int split) {
  std::vector<bool> is_first(static_cast<std::size_t>(sample_.rows));
  for (std::size_t i = 0; i < rows_.size() / 2; ++i) is_first[rows_[i]] = true;
  first_half_[split].assign(ranked_.blocks(), 0);
  for (std::size_t i = 0; i < ranked_.order().size(); ++i) {
    const std::uint32_t row = ranked_.order()[i];
    half_[2 * split + (is_first[row] ? 0 : 1)].push_back(row);
    first_half_[split][i / kRankBlock] |= std::uint64_t{is_first[row]} << i % kRankBlock;
  }
}

SampleReuse::SampleReuse(const JointSample& sample, std::vector<std::uint32_t> rows,
                         std::span<const Header* const> marginals, std::uint64_t seed,
                         const Control& control)
    : sample_(sample),
      rows_(std::move(rows)),
      ranked_(sample, rows_),
      marginals_(marginals.begin(), marginals.end()) {
  Random random(seed ^ 0x6a09e667f3bcc909u);
  for (int k = 0; k < sample.columns; ++k) {
    const Header& h = *marginals_[static_cast<std::size_t>(k)];
    if (h.finite_rows() > 0 && h.max > h.min) usable_.push_back(k);
  }
  if (usable_.empty()) return;
  RankTable some(0, 0);
  for (int half = 0; half < kHalves; ++half) {
    if (half % 2 == 0) {
      for (std::size_t k = rows_.size(); k > 1; --k)
        std::swap(rows_[k - 1], rows_[random.below(k)]);
      divide(half / 2);
      list_values();
      some = ranked_.table_of(some_of(rows_));
    }
    for (int b = 0; b < kBoxesPerHalf; ++b) {
      stopped_ = control.stop_requested();
      if (stopped_) return;
      Box box;
      int tries = 0;
      while (tries < kTries && !draw_box(some, &random, &box)) ++tries;
      if (tries < kTries) boxes_[half].push_back(box);
    }
  }
  stopped_ = !share_items(control, kHalves, [this](std::int64_t half, const Control& own) {
                for (Box& box : boxes_[half]) {
                  if (own.stop_requested()) return;
                  describe(static_cast<int>(half), &box);
                }
                // A box that nearly all rows are in, or none, tells nothing.
                std::erase_if(boxes_[half], [this](const Box& box) {
                  return !(box.share * static_cast<double>(rows_.size()) >= 1 && box.share <= 0.5);
                });
              }).ok();
}

bool SampleReuse::has_boxes() const {
  const auto has_some = [](const std::vector<Box>& boxes) { return !boxes.empty(); };
  return stopped_ || std::any_of(std::begin(boxes_), std::end(boxes_), has_some);
}

Status SampleReuse::measure_half(MakeDensity make, int half, const Control& control,
                                 HalfError* out) const noexcept {
  return guarded([&] { return ask(make, half, control, out); });
}

Status SampleReuse::ask(MakeDensity make, int half, const Control& control, HalfError* out) const {
  const std::span<const std::uint32_t> kept = rows_of_half(half);
  const double kept_rows = static_cast<double>(kept.size());
  const double left_rows = static_cast<double>(rows_of_half(half ^ 1).size());
  *out = {};
  DensityBytes bytes;
  if (stopped_ || control.stop_requested()) return cancelled();
  if (Status s = make(half, kept, &bytes); !s.ok()) return s;
  const JointView density(bytes.data());
  for (const Box& box : boxes_[half]) {
    if (control.stop_requested()) return cancelled();
    BoxSide sides[3];
    std::uint32_t rank[3];
    WordSet words[3];
    for (int k = 0; k < box.columns; ++k) {
      sides[k].column = box.column[k];
      sides[k].range = {};
      sides[k].words = nullptr;
      if (is_category(box.column[k])) {
        rank[k] = static_cast<std::uint32_t>(box.lower[k]);
        words[k] = {{&rank[k], 1}, 0};
        sides[k].words = &words[k];
        continue;
      }
      sides[k].range.lower = box.lower[k];
      sides[k].range.upper = box.upper[k];
      sides[k].range.lower_unbounded = sides[k].range.upper_unbounded = false;
    }
    const JointMoments m = joint_moments(
        density, std::span<const BoxSide>(sides, static_cast<std::size_t>(box.columns)),
        box.target);
    const double difference = m.count / density.header().rows - box.left_out;
    // Divided by what the box was made for, which owes nothing to the rows: what is estimated
    // from a few of them may be in a numerator, not below.
    const double unit = box.wanted * (1 - box.wanted);
    const double pq = box.share * (1 - box.share);
    out->loss += difference * difference / unit;
    ++out->boxes;
    HalfError::Scale& scale = out->scale[scale_of(box.wanted)];
    scale.square += (difference * difference - pq / left_rows) / unit;
    scale.expected += pq / unit / kept_rows;
    ++scale.boxes;
    if (box.target < 0 || box.left_out_rows < 2 || !(m.finite > 0)) continue;
    // Of values whose squares overflow nothing is measured: the raw sample's error is assumed.
    const double whole = marginals_[static_cast<std::size_t>(box.target)]->variance;
    if (!(whole > 0) || !std::isfinite(whole)) continue;
    const double off = m.mean - box.left_out_mean;
    scale.mean_square += (off * off - box.variance / box.left_out_rows) / whole;
    scale.mean_expected += box.variance / whole / (kept_rows * box.wanted);
    ++scale.means;
  }
  return Status::success();
}

PredictionError SampleReuse::sum_up(std::span<const HalfError> halves) {
  PredictionError out{};
  double loss = 0;
  int boxes = 0;
  for (const HalfError& half : halves) {
    loss += half.loss;
    boxes += half.boxes;
  }
  out.loss = boxes > 0 ? loss / boxes : 0;
  if (halves.size() < kHalves) return out;
  // What a scale's boxes say, with those of the scales beside it, whose ratios are much the same.
  constexpr int kLeastBoxes = 100;
  double count[kErrorScales], mean[kErrorScales];
  bool count_known[kErrorScales], mean_known[kErrorScales];
  for (int i = 0; i < kErrorScales; ++i) {
    Scale s;
    bool has_boxes = false;
    bool has_means = false;
    for (int half = 0; half < kHalves; ++half) {
      const HalfError& of = halves[static_cast<std::size_t>(half)];
      for (int j = std::max(i - 1, 0); j <= std::min(i + 1, kErrorScales - 1); ++j)
        s.add(half, of.scale[j]);
      has_boxes = has_boxes || of.scale[i].boxes > 0;
      has_means = has_means || of.scale[i].means > 0;
    }
    count_known[i] = has_boxes && s.boxes >= kLeastBoxes;
    mean_known[i] = has_means && s.means >= kLeastBoxes;
    count[i] = count_known[i] ? cautious_ratio(s.square, s.expected) : 0;
    mean[i] = mean_known[i] ? cautious_ratio(s.mean_square, s.mean_expected) : 0;
  }
  fill(count, count_known, out.count);
  fill(mean, mean_known, out.mean);
  return out;
}

Status SampleReuse::measure(MakeDensity make, const Control& control, PredictionError* out) const {
  HalfError halves[kHalves];
  Status status[kHalves];
  if (Status s = share_items(control, kHalves,
                             [&](std::int64_t half, const Control& own) {
                               status[half] =
                                   measure_half(make, static_cast<int>(half), own, &halves[half]);
                             });
      !s.ok())
    return s;
  for (const Status& s : status)
    if (!s.ok()) return s;
  *out = sum_up(halves);
  return Status::success();
}

}  // namespace kde
