// libFuzzer target: a column's scan and fit. The first bytes are the options, the rest the values
// (column_steps.h), which keep to the type's step if it has one. `auto` fits whatever has a value;
// a method by name also, unless its kernel sum reaches beyond double precision. What is fitted must
// be valid, have all the rows, answer sanely (test/unit/answers.h), enclose its answers by its
// intervals and come back over the wire.
#include "core/fit/fit.h"
#include "core/integrate/integrate.h"
#include "core/answer/column_evidence.h"

#include "answers.h"
#include "column_steps.h"
#include "finding.h"
#include "input.h"
#include "round_trip.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using kde::fuzz::fail;
using kde::fuzz::Input;

kde::FitOptions take_options(Input* in) {
  // Of whole numbers, dates, and numerics of any scale.
  constexpr double kSteps[] = {0, 0, 1, 0.01, 86400, 1e-308, 1e300};
  kde::FitOptions o;
  // Half of the inputs are of auto, whose fit has the most ways to go.
  o.method =
      static_cast<kde::Method>(std::max(in->choice(2 * kde::kMethods - 1) - kde::kMethods + 1, 0));
  o.lattice_step = kSteps[in->choice(std::size(kSteps))];
  const int flags = in->choice(16);
  o.every_row_read = (flags & 1) != 0;
  o.exact = (flags & 2) != 0;
  if ((flags & 4) != 0) o.engine.kind = kde::Engine::Kind::reference;
  if (!o.every_row_read) o.rows_per_row_read = 1 + in->take<std::uint8_t>() / 7.0;
  if ((flags & 8) != 0) o.share_of_blocks = (1 + in->take<std::uint8_t>()) / 256.0;
  o.bandwidth_rows = in->choice(2) == 0 ? 2 : 128;
  return o;
}

kde::Sampler::Options take_sampling(Input* in) {
  constexpr kde::Chain kChains[] = {kde::Chain::decimal, kde::Chain::calendar,
                                    kde::Chain::milliseconds};
  constexpr std::int64_t kRows[] = {100000, 0, 1, 2, 20, 150, 0, 0};
  kde::Sampler::Options o;
  o.sample_rows = kRows[in->choice(std::size(kRows))];
  o.seed = in->take<std::uint8_t>();
  o.chain = kChains[o.seed % std::size(kChains)];
  return o;
}

bool encloses(const kde::Interval& i) {
  return std::isnan(i.estimate) || (i.lower <= i.estimate && i.estimate <= i.upper);
}

void check_intervals(const kde::DensityView& d) {
  const kde::Header& h = d.header();
  kde::Random random(3);
  for (int i = 0; i < 6; ++i) {
    kde::Range r;
    r.lower = kde::quantile(d, random.uniform());
    r.upper = kde::quantile(d, random.uniform());
    if (r.lower > r.upper) std::swap(r.lower, r.upper);
    r.lower_unbounded = random.below(4) == 0;
    r.upper_unbounded = random.below(4) == 0;
    kde::IntervalOptions o;
    if (i % 2 == 1) o.changed_rows = static_cast<double>(random.below(1000));
    if (!encloses(kde::interval_of(kde::Wanted::count, d, r, o)))
      fail("a count is outside its interval");
    if (!encloses(kde::interval_of(kde::Wanted::sum, d, r, o)))
      fail("a sum is outside its interval");
    if (!encloses(kde::interval_of(kde::Wanted::mean, d, r, o)))
      fail("a mean is outside its interval");
    if (h.nans + h.negative_infinities + h.positive_infinities == 0 &&
        !encloses(kde::quantile_interval(d, random.uniform(), o)))
      fail("a quantile is outside its interval");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 8) return 0;
  Input in(data, size);
  const kde::FitOptions options = take_options(&in);
  const kde::Sampler::Options sampling = take_sampling(&in);
  kde::Sampler sampler(sampling);
  bool fed = true;
  kde::fuzz::take_column(
      &in, 700,
      [&](double x) { fed = fed && sampler.add(kde::fuzz::on_step(x, options.lattice_step)).ok(); },
      [&] { sampler.add_null(); }, [&] { fed = fed && sampler.begin_block().ok(); });
  kde::Sample sample;
  if (!fed || !sampler.finish(&sample).ok()) fail("out of memory");

  kde::DensityBytes bytes;
  kde::FitReport report;
  const kde::Status status = kde::fit_column(sample, options, {}, &bytes, &report);
  const kde::SummaryTotals& t = sample.totals;
  if (!status.ok()) {
    const bool none = sample.not_null() == 0;
    const bool far = std::max(std::fabs(t.min()), std::fabs(t.max())) > 1e300;
    const bool automatic = options.method == kde::Method::automatic;
    const double farthest = kde::RoundEnds(sampling.chain).farthest();
    if (status.code == kde::Code::out_of_range && std::max(-t.min(), t.max()) >= farthest) return 0;
    if (none ? status.code != kde::Code::invalid_argument
             : automatic || !far || status.code != kde::Code::invalid_format)
      fail(status.message);
    return 0;
  }
  if (const kde::Status valid = kde::validate(bytes.data(), bytes.size()); !valid.ok())
    fail(valid.message);
  const kde::DensityView density(bytes.data());
  if (const char* insane = kde::fitted::insane_answer(density, 12)) fail(insane);
  const double rows = sample.not_null() * options.rows_per_row_read;
  if (std::fabs(kde::count(density, kde::Range{}) - rows) > 1e-9 * rows) fail("rows were lost");
  check_intervals(density);
  if (const char* wrong = kde::round_trip(bytes)) fail(wrong);
  return 0;
}
