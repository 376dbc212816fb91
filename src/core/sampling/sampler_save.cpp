// Sampler::save and load, with those of its parts: the options, the totals, the counts of distinct
// values, the reservoir, the compactor. The reservoir's random numbers are kept as how many were
// drawn: those of the same seed, as many skipped, go on alike.
//
// The bytes are read back years later and from a table, so load() takes nothing on trust: what the
// parts say of each other must agree, and what it costs to read is bounded by their length.
#include "core/sampling/sampler.h"

#include "core/sampling/saved_bytes.h"

#include <algorithm>
#include <cmath>
#include <new>

namespace kde {

namespace {

constexpr std::uint32_t kMagic = 0x6b647361;  // also tells the byte order
constexpr std::uint32_t kVersion = 1;

constexpr std::int64_t kMostRows = std::int64_t{1} << 60;

bool is_value(double x, double min, double max) {
  return x >= min && x <= max && !(x == 0 && std::signbit(x));
}

bool are_values(const std::vector<double>& values, double min, double max) {
  return std::all_of(values.begin(), values.end(), [&](double x) { return is_value(x, min, max); });
}

// Replacements in a reservoir of n values, of any stream: on average n log(N/n), below 43 n for N =
// 2^62, so that never are there as many as this. Each draws 3 numbers, or one in 2^30 times more.
std::uint64_t most_draws(std::uint64_t n) { return 3 * (64 * n + 1000); }

}  // namespace

void DistinctCounts::save(ByteWriter* out) const {
  out->put(static_cast<std::uint32_t>(overflowed_));
  const auto list = sorted();
  out->put(static_cast<std::uint32_t>(list.size()));
  for (const auto& [value, count] : list) {
    out->put(value);
    out->put(count);
  }
}

const char* DistinctCounts::load(ByteReader* in, std::int64_t count, double min, double max) {
  const auto overflowed = in->take<std::uint32_t>();
  const auto size = in->take<std::uint32_t>();
  counts_.clear();
  last_count_ = nullptr;
  overflowed_ = overflowed != 0;
  if (overflowed_) {
    const bool possible = overflowed == 1 && size == 0 && count > static_cast<std::int64_t>(limit_);
    return possible ? nullptr : "distinct values do not fit the totals";
  }
  if (size > limit_ || (size == 0) != (count == 0)) return "distinct values do not fit the totals";
  std::int64_t left = count;
  double previous = 0;
  for (std::uint32_t i = 0; i < size; ++i) {
    const auto value = in->take<double>();
    const auto rows = in->take<std::int64_t>();
    if (!is_value(value, min, max) || (i == 0 ? value != min : !(value > previous)) || rows < 1 ||
        rows > left)
      return "distinct values do not fit the totals";
    counts_[value] = rows;
    left -= rows;
    previous = value;
  }
  if (left != 0 || previous != max) return "distinct values do not fit the totals";
  return nullptr;
}

void Compactor::save(ByteWriter* out) const {
  out->put(static_cast<std::uint32_t>(levels_.size()));
  for (const Level& level : levels_) {
    out->put(static_cast<std::uint32_t>(level.upper_first));
    out->put(static_cast<std::uint64_t>(level.values.size()));
    out->put_all(level.values);
  }
}

const char* Compactor::load(ByteReader* in, std::int64_t count, double min, double max) {
  const auto size = in->take<std::uint32_t>();
  levels_.clear();
  std::uint64_t left = static_cast<std::uint64_t>(count);
  if (size > 60 || (size == 0) != (count == 0)) return "levels do not fit the totals";
  for (std::uint32_t k = 0; k < size; ++k) {
    Level& level = levels_.emplace_back();
    const auto upper_first = in->take<std::uint32_t>();
    const auto values = in->take<std::uint64_t>();
    if (upper_first > 1 || values >= capacity_ || !in->take_all(values, &level.values))
      return "a level does not fit";
    level.upper_first = upper_first != 0;
    if (!are_values(level.values, min, max) ||
        (k > 0 && !std::is_sorted(level.values.begin(), level.values.end())))
      return "a level's values are out of order";
    if (values > (left >> k)) return "levels do not fit the totals";
    left -= values << k;
  }
  if (left != 0 || (size > 0 && levels_.back().values.empty()))
    return "levels do not fit the totals";
  return nullptr;
}

void Sampler::Reservoir::save(ByteWriter* out, bool by_block) const {
  out->put(static_cast<std::uint64_t>(values_.size()));
  out->put(random_.drawn());
  out->put(skip_);
  out->put(w_);
  out->put_all(values_);
  if (by_block) out->put_all(blocks_);
}

const char* Sampler::Reservoir::load(ByteReader* in, std::int64_t count, double min, double max,
                                     std::uint32_t block) {
  const auto size = in->take<std::uint64_t>();
  const auto draws = in->take<std::uint64_t>();
  const auto skip = in->take<std::uint64_t>();
  const auto w = in->take<double>();
  if (size != std::min(static_cast<std::uint64_t>(count), std::uint64_t{size_}) ||
      !in->take_all(size, &values_))
    return "the sample does not fit the totals";
  if (block == 0) {
    blocks_.assign(values_.size(), 0);
  } else if (!in->take_all(size, &blocks_)) {
    return "the sample does not fit the totals";
  }
  if (!are_values(values_, min, max)) return "the sample's values are outside [min, max]";
  if (!std::all_of(blocks_.begin(), blocks_.end(), [=](std::uint32_t b) { return b <= block; }))
    return "a row's block is none";
  const bool full = size == size_;
  if (full ? !(w > 0 && w <= 1) || skip > std::uint64_t{1} << 62 || draws < 3 ||
                 draws > most_draws(size)
           : w != 1 || skip != 0 || draws != 0)
    return "the draws do not fit the sample";
  w_ = w;
  skip_ = skip;
  random_.skip(draws);
  return nullptr;
}

Status Sampler::save(std::vector<std::uint8_t>* out) const noexcept {
  try {
    out->clear();
    ByteWriter to(out);
    to.put(kMagic);
    to.put(kVersion);
    to.put(options_.sample_rows);
    to.put(options_.bandwidth_rows);
    to.put(options_.seed);
    to.put(static_cast<std::uint64_t>(options_.compactor_capacity));
    for (std::int64_t n : {totals_.nulls, totals_.nans, totals_.negative_infinities,
                           totals_.positive_infinities, totals_.finite})
      to.put(n);
    for (double x : {totals_.min, totals_.max, shift_}) to.put(x);
    to.put_long(sum_);
    to.put_long(sum_squares_);
    to.put(block_);
    distinct_.save(&to);
    reservoir_.save(&to, block_ > 0);
    compactor_.save(&to);
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "out of memory while sampling");
  }
  return Status::success();
}

const char* Sampler::load_totals(ByteReader* in) {
  Totals& t = totals_;
  for (std::int64_t* n :
       {&t.nulls, &t.nans, &t.negative_infinities, &t.positive_infinities, &t.finite}) {
    *n = in->take<std::int64_t>();
    if (*n < 0 || *n > kMostRows) return "a count is out of range";
  }
  for (double* x : {&t.min, &t.max, &shift_}) *x = in->take<double>();
  sum_ = in->take_long();
  sum_squares_ = in->take_long();
  block_ = in->take<std::uint32_t>();
  any_finite_ = t.finite > 0;
  if (!any_finite_) {
    const bool zero = t.min == 0 && t.max == 0 && shift_ == 0 && sum_ == 0 && sum_squares_ == 0;
    return zero ? nullptr : "totals of no values are not 0";
  }
  if (!std::isfinite(t.min) || !std::isfinite(t.max) || !is_value(t.min, t.min, t.max) ||
      !is_value(t.max, t.min, t.max) || !is_value(shift_, t.min, t.max))
    return "totals do not fit together";
  // No value is farther from the shift than the farther bound; sums round.
  const long double far =
      std::max(static_cast<long double>(t.max) - shift_, static_cast<long double>(shift_) - t.min);
  const long double most = static_cast<long double>(t.finite) * far * 1.001L;
  if (!(std::fabs(sum_) <= most && sum_squares_ >= 0 && sum_squares_ <= most * far * 1.001L))
    return "totals do not fit together";
  return nullptr;
}

Status Sampler::load(std::span<const std::uint8_t> bytes) noexcept {
  const auto invalid = [](const char* what) {
    return Status::error(Code::invalid_format, "%s", what);
  };
  try {
    ByteReader in(bytes);
    if (in.take<std::uint32_t>() != kMagic) return invalid("no sampler's state of this byte order");
    if (in.take<std::uint32_t>() != kVersion) return invalid("another version's");
    Options options;
    options.sample_rows = in.take<std::int64_t>();
    options.bandwidth_rows = in.take<std::int64_t>();
    options.seed = in.take<std::uint64_t>();
    const auto capacity = in.take<std::uint64_t>();
    if ((options.sample_rows != -1 && options.sample_rows < 1) || options.sample_rows > kMostRows ||
        options.bandwidth_rows < 2 || options.bandwidth_rows > kMostRows || capacity < 2 ||
        capacity % 2 != 0 || capacity > static_cast<std::uint64_t>(kMostRows))
      return invalid("an option is out of range");
    options.compactor_capacity = static_cast<std::size_t>(capacity);

    Sampler read(options);
    if (const char* wrong = read.load_totals(&in)) return invalid(wrong);
    const Totals& t = read.totals_;
    if (const char* wrong = read.distinct_.load(&in, t.finite, t.min, t.max)) return invalid(wrong);
    if (const char* wrong = read.reservoir_.load(&in, t.finite, t.min, t.max, read.block_))
      return invalid(wrong);
    const std::int64_t compacted = options.sample_rows < 0 ? t.finite : 0;
    if (const char* wrong = read.compactor_.load(&in, compacted, t.min, t.max))
      return invalid(wrong);
    if (!in.at_end()) return invalid("its length does not fit its contents");
    *this = std::move(read);
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "out of memory while sampling");
  }
  return Status::success();
}

}  // namespace kde
