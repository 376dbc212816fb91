// To be deleted with the arrival of fit.cpp, whose fit_joint() takes this one's place when both are
// linked (this one is weak): the plain kernel sum on linear axes by the normal reference rule, of
// the rows that are finite in every column, so that the glue can be tried.
#include "core/aggregate/finish.h"
#include "core/joint/fit.h"

#include <cmath>

namespace kde {

__attribute__((weak)) Status fit_joint(const JointSample& sample, const JointSampler& sampler,
                                       const JointFitOptions& options, const Control& control,
                                       std::vector<std::uint64_t>* words, std::size_t* size,
                                       JointFitReport* report, int* column) noexcept try {
  const int d = sample.columns;
  *column = -1;
  std::vector<double> x;
  for (std::int64_t i = 0; i < sample.rows; ++i) {
    bool finite = sample.null[i] == 0;
    for (int k = 0; k < d; ++k) finite = finite && std::isfinite(sample.value[i * d + k]);
    if (finite) x.insert(x.end(), &sample.value[i * d], &sample.value[i * d] + d);
  }
  auto n = static_cast<std::int64_t>(x.size()) / d;
  if (n < least_joint_rows(d))
    return Status::error(Code::degenerate, "%lld rows without null are too few for %d columns",
                         static_cast<long long>(n), d);
  const auto most = static_cast<std::int64_t>(options.budget / (sizeof(float) * d) / 2);
  n = std::min(n, most);
  JointParts parts;
  parts.header.method = options.method;
  parts.header.flags = options.every_row_read ? kJointEveryRowRead : 0;
  parts.header.rows = static_cast<double>(sample.rows_read) * options.rows_per_row_read;
  parts.header.sample_rows = static_cast<double>(sample.rows);
  parts.header.sampling_variance = options.sampling_variance;
  parts.header.reading_variance = options.reading_variance;
  parts.coordinate.resize(n * d);
  parts.heavy.resize(d);
  parts.marginal.resize(d);
  report->bandwidth.assign(d * d, 0);
  for (int k = 0; k < d; ++k) {
    double mean = 0, square = 0;
    for (std::int64_t i = 0; i < n; ++i) mean += x[i * d + k] / n;
    for (std::int64_t i = 0; i < n; ++i) square += std::pow(x[i * d + k] - mean, 2) / n;
    if (square == 0) {
      *column = k;
      return Status::error(Code::degenerate, "all values are equal");
    }
    JointColumn c{};
    c.value_type = options.value_type[k];
    c.center = mean;
    c.bandwidth = std::sqrt(square) * std::pow(n, -1.0 / (d + 4));
    c.value_unit = 1;
    for (std::int64_t i = 0; i < n; ++i)
      parts.coordinate[i * d + k] = static_cast<float>((x[i * d + k] - mean) / c.bandwidth);
    report->bandwidth[k * d + k] = c.bandwidth * c.bandwidth;
    FinishOptions finishing;
    finishing.value_type = options.value_type[k];
    finishing.lattice_step = options.lattice_step[k];
    finishing.budget = 4096;
    std::size_t bytes;
    if (Status s = finish(sampler.summary(k), finishing, control, &parts.marginal[k], &bytes);
        !s.ok())
      return s;
    parts.column.push_back(c);
  }
  report->method = options.method;
  report->sample_rows = sample.rows;
  report->points = n;
  return encode_joint(parts, words, size);
} catch (const std::bad_alloc&) {
  return Status::error(Code::out_of_memory, "out of memory");
}

}  // namespace kde
