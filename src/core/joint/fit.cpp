// See fit.h; the two ways of fitting are in fit_automatic.cpp and fit_by_name.cpp.
#include "core/joint/fit.h"

#include "core/aggregate/finish.h"
#include "core/integrate/integrate.h"
#include "core/joint/axis.h"
#include "core/joint/fitting.h"

#include <algorithm>
#include <cmath>
#include <new>

namespace kde {

namespace {

// Share of the budget that marginals take, at most.
constexpr std::size_t kMarginalShare = 8;

}  // namespace

Status make_marginals(const FitInput& input, Marginals* out) {
  const std::size_t d = input.columns();
  FinishOptions options;
  options.budget =
      std::clamp(input.options.budget / (kMarginalShare * d), kLeastHistogramBytes, kMaxBytes) &
      ~std::size_t{7};
  out->words.resize(d);
  for (std::size_t k = 0; k < d; ++k) {
    options.value_type = input.options.value_type[k];
    options.lattice_step = input.options.lattice_step[k];
    std::size_t size;
    if (Status s = finish(input.sampler.summary(static_cast<int>(k)), options, input.control,
                          &out->words[k], &size);
        !s.ok())
      return s;
    out->bytes += size;
    out->header.push_back(reinterpret_cast<const Header*>(out->words[k].data()));
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

Status thin_to_budget(const FitInput& input, const Marginals& marginals, std::uint8_t flags,
                      std::vector<std::uint32_t>* rows) {
  const std::size_t d = input.columns();
  JointHeader header{};
  header.columns = static_cast<std::uint8_t>(d);
  header.flags = flags;
  const auto fits = [&](std::size_t points) {
    header.points = static_cast<std::uint32_t>(points);
    return joint_size(header, d * kMaxHeavy, marginals.bytes) <= input.options.budget;
  };
  std::size_t points = std::min<std::size_t>(rows->size(), kMaxJointBytes);
  if (!fits(points)) {
    std::size_t low = 0;
    while (points - low > 1) {
      const std::size_t middle = low + (points - low) / 2;
      (fits(middle) ? low : points) = middle;
    }
    points = low;
  }
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

void describe_sampling(const FitInput& input, double points, JointHeader* header) {
  const double read = static_cast<double>(input.sample.rows_read);
  header->sampling_variance = read > 0 ? std::max(1 - points / read, 0.0) : 0;
  // The points may be fewer than the rows of the sample.
  header->reading_variance =
      input.options.reading_variance * points / static_cast<double>(input.sample.rows);
}

void describe_errors(const PredictionError& error, JointHeader* header) {
  const double own = header->rows > 0 ? header->own_rows * header->points / header->rows : 0;
  for (int i = 0; i < kErrorScales; ++i) {
    header->count_error[i] = static_cast<float>((1 - own) * error.count[i] + own);
    header->mean_error[i] = static_cast<float>((1 - own) * error.mean[i] + own);
  }
}

namespace {

Status run(const FitInput& input, std::vector<std::uint64_t>* words, std::size_t* size,
           JointFitReport* report, int* column) {
  const JointSample& sample = input.sample;
  if (sample.columns < 2 || sample.columns > kMaxColumns)
    return Status::error(Code::invalid_argument, "a joint density has 2 to %d columns",
                         kMaxColumns);
  if (sample.rows < 2)
    return Status::error(Code::degenerate, "a joint density needs at least 2 rows, there %s",
                         sample.rows == 1 ? "is 1" : "are none");
  report->method = input.options.method;
  report->sample_rows = sample.rows;
  Marginals marginals;
  if (Status s = make_marginals(input, &marginals); !s.ok()) return s;
  return input.options.method == JointMethod::automatic
             ? fit_automatically(input, marginals, words, size, report)
             : fit_by_name(input, marginals, words, size, report, column);
}

}  // namespace

Status fit_joint(const JointSample& sample, const JointSampler& sampler,
                 const JointFitOptions& options, const Control& control,
                 std::vector<std::uint64_t>* words, std::size_t* size, JointFitReport* report,
                 int* column) noexcept {
  try {
    *report = {};
    *column = -1;
    return run({sample, sampler, options, control}, words, size, report, column);
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "no memory for a sample of %lld rows",
                         static_cast<long long>(sample.rows));
  } catch (...) {
    return Status::error(Code::internal, "unexpected exception while fitting a joint density");
  }
}

}  // namespace kde
