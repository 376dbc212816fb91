// See fit_joint.h; the two ways of fitting are in fit_joint_automatic.cpp and fit_joint_by_name.cpp.
#include "core/joint/fit_joint.h"

#include "core/density/joint_format.h"
#include "core/first_true.h"
#include "core/fit/fit_cells.h"
#include "core/integrate/integrate.h"
#include "core/joint/axis.h"
#include "core/joint/box_variance.h"
#include "core/joint/fitting.h"
#include "core/joint/sample_reuse.h"
#include "core/sampling/block_variance.h"
#include "core/share_items.h"
#include "core/guarded.h"

#include <algorithm>
#include <cmath>

namespace kde {

namespace {

// Share of the budget that marginals take, at most.
constexpr std::size_t kMarginalShare = 8;

std::size_t marginal_budget(std::size_t budget, std::size_t columns) {
  return std::clamp(budget / (kMarginalShare * columns), kLeastHistogramBytes, kMaxBytes) &
         ~std::size_t{7};
}

// Of a column without any value among the rows read. fit_cells() takes rows for all of them; these may
// be of a sample.
Status finish_nothing(const FitOptions& options, double nulls, const Control& control,
                      DensityBytes* density) {
  OwnedGridCells nothing(chain_of(options.value_type), 0);
  nothing->add_null(nulls);
  FitOptions counted;
  counted.value_type = options.value_type;
  counted.added_up = true;
  FitReport report;
  if (Status s = fit_cells(&*nothing, counted, options.budget, control, density, &report); !s.ok())
    return s;
  auto* header = reinterpret_cast<Header*>(density->data());
  if (!options.every_row_read)
    header->flags &= static_cast<std::uint8_t>(~(kEveryRowRead | kExactEnds));
  return Status::success();
}

Status make_column(const FitInput& input, std::size_t k, const Control& control,
                   DensityBytes* density) {
  FitOptions options;
  static_cast<ReadShare&>(options) = input.options;
  options.word_type = input.options.word_type[k];
  options.word_flags = input.options.word_flags[k];
  options.seed = input.options.seed;
  options.budget = marginal_budget(input.options.budget, input.columns());
  options.value_type = input.options.value_type[k];
  options.as_counted = input.sample.is_category(k);
  options.lattice_step = options.as_counted ? 1 : input.options.lattice_step[k];
  const Sample& sample = input.sample.column[k];
  FitReport report;
  Status s = sample.not_null() > 0
                 ? fit_column(sample, options, control, density, &report)
                 : finish_nothing(options, sample.specials.nulls * options.rows_per_row_read,
                                  control, density);
  // Of a category: its ranks' density with the words behind it.
  if (s.ok() && options.as_counted) s = input.sample.words[k]->append(options, density);
  return s;
}

Status make_marginal(const FitInput& input, std::size_t k, const Control& control,
                     DensityBytes* density) noexcept {
  return guarded([&] { return make_column(input, k, control, density); });
}

}  // namespace

Status make_marginals(const FitInput& input, Marginals* out) {
  const std::size_t d = input.columns();
  out->density.resize(d);
  std::vector<Status> status(d);
  const auto make = [&](std::int64_t i, const Control& own) {
    const auto k = static_cast<std::size_t>(i);
    status[k] = make_marginal(input, k, own, &out->density[k]);
  };
  if (Status s = share_items(input.control, std::ssize(status), make); !s.ok()) return s;
  for (std::size_t k = 0; k < d; ++k) {
    if (!status[k].ok()) return status[k];
    out->bytes += out->density[k].size();
    out->header.push_back(&out->density[k].header());
  }
  return Status::success();
}

double finite_level(const Header* marginal, double x) {
  const Header& h = *marginal;
  const double below = cdf(DensityView(marginal), x) - h.negative_infinities / h.rows;
  return std::clamp(below / (h.finite_rows() / h.rows), 0.0, 1.0);
}

double finite_quantile(const Header* marginal, double q) {
  const Header& h = *marginal;
  const double place = h.negative_infinities / h.rows + q * (h.finite_rows() / h.rows);
  return std::clamp(quantile(DensityView(marginal), place), h.min, h.max);
}

double column_median(const Header* marginal) {
  const Header& h = *marginal;
  if (!(h.finite_rows() > 0)) return 0;
  if (!std::isfinite(h.max - h.min)) return h.min / 2 + h.max / 2;
  return finite_quantile(marginal, 0.5);
}

double column_spread(const Header* marginal) {
  const Header& h = *marginal;
  if (!(h.finite_rows() > 0 && h.max > h.min)) return 1;
  const double half = h.max / 2 - h.min / 2;
  if (!std::isfinite(h.max - h.min)) return half;
  for (const double tail : {0.25, 0.1, 0.01}) {
    const double low = finite_quantile(marginal, tail);
    const double high = finite_quantile(marginal, 1 - tail);
    if (high > low) return high - low;
  }
  return half > 0 ? half : h.max - h.min;
}

namespace {

std::size_t size_of(std::size_t points, std::uint8_t flags, std::size_t columns,
                    const JointSizes& sizes) {
  JointHeader header{};
  header.columns = static_cast<std::uint8_t>(columns);
  header.flags = flags;
  header.points = static_cast<std::uint32_t>(points);
  return joint_size(header, sizes);
}

JointSizes sizes_of(std::size_t columns, std::size_t marginal_bytes, std::size_t value_bytes) {
  return {columns * kMaxHeavy, marginal_bytes, value_bytes};
}

// The most points, up to `most`, of a density with those flags.
std::size_t points_within(std::size_t budget, std::size_t columns, std::uint8_t flags,
                          const JointSizes& sizes, std::size_t most) {
  const auto exceeds = [&](std::size_t n) { return size_of(n, flags, columns, sizes) > budget; };
  return first_true<std::size_t>(1, most + 1, exceeds) - 1;
}

}  // namespace

std::int64_t rows_of_budget(int columns, std::size_t budget, int categories) {
  const auto d = static_cast<std::size_t>(columns);
  const auto numbers = static_cast<std::size_t>(columns - categories);
  // Of numbers of two bytes: the most rows. Few categories have as many words as they may.
  const JointSizes sizes = sizes_of(numbers, numbers * marginal_budget(budget, d), 2 * numbers);
  const std::size_t points = points_within(budget, d, kWeights | kValues, sizes, kMaxJointBytes);
  return static_cast<std::int64_t>(std::max<std::size_t>(points, 2));
}

Status thin_to_budget(const FitInput& input, const Marginals& marginals, std::uint8_t flags,
                      std::size_t value_bytes, std::vector<std::uint32_t>* rows) {
  const std::size_t d = input.columns();
  const std::size_t points =
      points_within(input.options.budget, d, flags, sizes_of(d, marginals.bytes, value_bytes),
                    std::min<std::size_t>(rows->size(), kMaxJointBytes));
  if (points < 2)
    return Status::error(Code::too_large, "%zu bytes hold no sample of %zu columns",
                         input.options.budget, d);
  Random random(input.options.seed ^ 0xbb67ae8584caa73bu);
  for (std::size_t i = 0; i < points; ++i)
    std::swap((*rows)[i], (*rows)[i + random.below(rows->size() - i)]);
  rows->resize(points);
  std::sort(rows->begin(), rows->end());
  return Status::success();
}

JointHeader describe_rows(const FitInput& input, double rows, double own_rows) {
  JointHeader header{};
  header.method = input.options.method;
  header.flags = input.options.every_row_read ? kJointEveryRowRead : 0;
  header.rows = rows;
  header.own_rows = own_rows;
  header.sample_rows = static_cast<double>(input.sample.rows);
  for (int i = 0; i < kErrorScales; ++i) header.count_error[i] = header.mean_error[i] = 1;
  return header;
}

Status describe_sampling(const FitInput& input, JointHeader* header, std::vector<float>* effect) {
  const double read = static_cast<double>(input.sample.rows_read);
  header->sampling_variance = read > 0 ? std::max(1 - header->points / read, 0.0) : 0;
  const double unread = input.options.unread();
  header->reading_variance = read > 0 ? unread * header->points / read : 0;
  header->rows_variance = number_variance(variance_of_rows(input.sample.block_rows),
                                          static_cast<double>(input.sample.block_rows.size()),
                                          input.options.share_of_blocks);
  effect->assign(joint_effects(input.columns()), 1);
  if (!(unread > 0 && read > 0)) return Status::success();
  BoxVariance boxes;
  if (!estimate_box_variance(input.sample, input.options.seed, input.control, &boxes))
    return cancelled();
  float* next = effect->data();
  for (const auto* effects : {&boxes.count, &boxes.mean}) {
    for (const BoxEffects& scales : *effects) next = std::copy(scales.begin(), scales.end(), next);
  }
  return Status::success();
}

void describe_errors(const PredictionError& error, JointHeader* header) {
  const double own = header->rows > 0 ? header->own_rows * header->points / header->rows : 0;
  for (int i = 0; i < kErrorScales; ++i) {
    header->count_error[i] = static_cast<float>((1 - own) * error.count[i] + own);
    header->mean_error[i] = static_cast<float>((1 - own) * error.mean[i] + own);
  }
}

namespace {

Status run(const FitInput& input, DensityBytes* density, JointFitReport* report, int* column) {
  const JointSample& sample = input.sample;
  if (sample.columns < 2 || sample.columns > kMaxColumns)
    return Status::error(Code::invalid_argument, "a joint density has 2 to %d columns",
                         kMaxColumns);
  int categories = 0;
  for (std::size_t k = 0; k < input.columns(); ++k) {
    const bool is_one = sample.is_category(k);
    if (is_one != (input.options.value_type[k] == ValueType::category))
      return Status::error(Code::internal, "a column is a category without words");
    categories += is_one ? 1 : 0;
  }
  if (categories == sample.columns)
    return Status::error(Code::invalid_argument, "categories need a column of numbers beside them");
  if (categories > 0 && input.options.method != JointMethod::automatic)
    return Status::error(Code::invalid_argument, "method %s takes no categories",
                         joint_method_name(input.options.method));
  if (sample.rows < 2)
    return Status::error(Code::degenerate, "a joint density needs at least 2 rows, there %s",
                         sample.rows == 1 ? "is 1" : "are none");
  report->method = input.options.method;
  report->sample_rows = sample.rows;
  Marginals marginals;
  if (Status s = make_marginals(input, &marginals); !s.ok()) return s;
  return input.options.method == JointMethod::automatic
             ? fit_automatically(input, marginals, density, report)
             : fit_by_name(input, marginals, density, report, column);
}

}  // namespace

Status fit_joint(const JointSample& sample, const JointFitOptions& options, const Control& control,
                 DensityBytes* density, JointFitReport* report, int* column) noexcept {
  return guarded([&] {
    *report = {};
    *column = -1;
    return run({sample, options, control}, density, report, column);
  });
}

}  // namespace kde
