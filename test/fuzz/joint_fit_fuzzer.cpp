// libFuzzer target: the scan and the fit of several columns. The first bytes are the options, the
// rest the values of the rows one after another (column_steps.h). What is fitted must be valid,
// answer sanely (test/unit/joint_answers.h) and come back over the wire; what is refused must have
// a reason that lies in the rows. Values beyond 1e300 may be more than the stored form can hold.
#include "core/joint/fit_joint.h"

#include "column_steps.h"
#include "finding.h"
#include "input.h"
#include "joint_answers.h"
#include "round_trip.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace {

using kde::Code;
using kde::fuzz::fail;
using kde::fuzz::Input;

constexpr int kMostColumns = 3;

// Rows from a stream of values: every `columns` of them are one.
class Rows {
 public:
  Rows(kde::JointSampler* sampler, int columns, const double* step, unsigned categories)
      : sampler_(*sampler), columns_(columns), step_(step), categories_(categories) {}

  void value(double x) { put(kde::fuzz::on_step(x, step_[at_]), false); }
  void null() { put(0, true); }
  void block() {
    if (!sampler_.begin_block().ok()) fail("out of memory");
  }

 private:
  void put(double x, bool is_null) {
    value_[at_] = !is_null && (categories_ >> at_ & 1) != 0 ? number(x) : x;
    if (is_null) null_ = static_cast<std::uint16_t>(null_ | 1u << at_);
    if (++at_ < columns_) return;
    if (!sampler_.add(value_, null_).ok()) fail("out of memory");
    at_ = 0;
    null_ = 0;
  }

  // Of the bits of a category's value, as it comes.
  double number(double x) {
    auto& numbers = numbers_[at_];
    const auto next = static_cast<std::uint32_t>(numbers.size() + 1);
    return numbers.try_emplace(std::bit_cast<std::uint64_t>(x), next).first->second;
  }

  kde::JointSampler& sampler_;
  int columns_;
  std::map<std::uint64_t, std::uint32_t> numbers_[kMostColumns];
  const double* step_;  // of each column
  unsigned categories_;
  int at_ = 0;
  double value_[kMostColumns] = {};
  std::uint16_t null_ = 0;
};

void check(const kde::DensityBytes& bytes) {
  if (!kde::validate(bytes.data(), bytes.size()).ok()) fail("a fit is no valid density");
  const kde::JointView density(bytes.data());
  if (const char* insane = kde::joints::insane_answer(density, 8)) fail(insane);
  if (const char* wrong = kde::round_trip(bytes)) fail(wrong);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 8) return 0;
  Input in(data, size);
  const int columns = 1 + in.choice(kMostColumns);
  kde::JointFitOptions options;
  // Half of the inputs are of automatic.
  const int method = in.choice(16);
  options.method = method < 8 ? kde::JointMethod::automatic
                              : static_cast<kde::JointMethod>(method % kde::kJointMethods);
  for (kde::ValueType& t : options.value_type) t = kde::ValueType::float8;
  for (double& step : options.lattice_step) step = in.choice(4) == 0 ? 1 : 0;
  options.every_row_read = in.choice(2) == 0;
  if (!options.every_row_read) {
    options.rows_per_row_read = 1 + in.take<std::uint8_t>() / 7.0;
    options.share_of_blocks = 1 / options.rows_per_row_read;
  }
  options.budget = in.choice(4) == 0 ? 8192 : 512 * 1024;
  options.bandwidth_rows = 64;

  // A quarter of the inputs have categories.
  const auto categories = static_cast<unsigned>(
      in.choice(4) == 0 && options.method == kde::JointMethod::automatic ? in.choice(7) : 0);
  for (int k = 0; k < columns; ++k)
    if ((categories >> k & 1) != 0) options.value_type[k] = kde::ValueType::category;
  kde::JointSampler sampler(
      {.columns = columns,
       .sample_rows = in.choice(2) == 0 ? 1000 : 20,
       .seed = 3,
       .categories = static_cast<std::uint16_t>(categories & ((1u << columns) - 1)),
       .words_bytes = in.choice(2) == 0 ? kde::kWordsBytes : 200});
  Rows rows(&sampler, columns, options.lattice_step, categories);
  bool far = false;
  kde::fuzz::take_column(
      &in, 400,
      [&](double x) {
        far = far || (std::isfinite(x) && std::fabs(x) > 1e300);
        rows.value(x);
      },
      [&] { rows.null(); }, [&] { rows.block(); });
  for (int k = 0; k < columns; ++k) {
    kde::Words* words = sampler.words(k);
    if (words == nullptr) continue;
    if (!words->rank().ok()) fail("out of memory");
    for (std::size_t i = 0; i < words->distinct(); ++i) {
      bool full;
      if (!words->keep(words->number(i), std::to_string(words->number(i)), 0, &full).ok())
        fail("out of memory");
    }
    if (!words->end_keeping().ok()) fail("out of memory");
  }
  kde::JointSample sample;
  if (!sampler.finish(&sample).ok()) fail("out of memory");
  kde::DensityBytes bytes;
  kde::JointFitReport report;
  int column = -1;
  const kde::Status status = kde::fit_joint(sample, options, {}, &bytes, &report, &column);
  if (status.ok()) {
    check(bytes);
  } else if (status.code != Code::invalid_argument && status.code != Code::degenerate &&
             status.code != Code::too_large && !(far && status.code == Code::invalid_format)) {
    fail(status.message);
  }
  return 0;
}
