// libFuzzer target: valid densities of every form with fields of theirs changed, as no input would
// hit upon by chance, and then all that is done with a density (use.h). The first byte chooses the
// density; then each step takes a byte for what is done, two for where, and its numbers: a number
// in a field of the header, or anywhere, or all numbers of rows times one. What validate() refuses
// is of no further interest.
#include "core/kde.h"

#include "input.h"
#include "joint_fixture.h"
#include "use.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace {

using kde::DensityBytes;
using kde::Header;
using kde::fuzz::check;
using kde::fuzz::Input;

enum class Shape { whole, ties, normal, wide, tiny };

double value_of(Shape shape, int i, kde::Random* random) {
  switch (shape) {
    case Shape::whole:
      return std::floor(40 * random->uniform());
    case Shape::ties:
      return i % 3 == 0 ? random->uniform() : 0.25;
    case Shape::normal:
      return std::log(random->uniform()) * (i % 2 == 0 ? 1 : -1);
    case Shape::wide:
      return (i % 2 == 0 ? 1e305 : -1e305) * random->uniform();
    default:
      return 1e-310 * random->uniform();
  }
}

DensityBytes made(Shape shape, int rows, int measures, kde::Method method) {
  kde::OwnedSummary summary;
  kde::Measures sums(summary.memory(), measures);
  kde::Random random(3);
  for (int i = 0; i < rows; ++i) {
    const double x = value_of(shape, i, &random);
    // Squares of wide ones overflow, which is refused.
    double y[2] = {std::floor(100 * random.uniform()) / 4, shape == Shape::wide ? 1e150 : x};
    if (i % 7 == 0) y[1] = std::numeric_limits<double>::quiet_NaN();
    check(sums.add(x, {y, static_cast<std::size_t>(measures)}, &*summary));
  }
  check(sums.settle(&*summary));
  kde::FitOptions options;
  options.method = method;
  options.budget = measures > 0 ? kde::kLeastMeasuredBytes + 2000 : 1500;
  DensityBytes out;
  check(finish(*summary, options, kde::Control{}, &out, &sums));
  return out;
}

// Of three groups: two with keys, and a rest of several.
DensityBytes grouped(int measures) {
  const DensityBytes part = made(Shape::whole, 50, measures, kde::Method::automatic);
  const DensityBytes all = made(Shape::whole, 150, measures, kde::Method::automatic);
  std::vector<char> bytes(all.data(), all.data() + all.size());
  const auto align = [&bytes] { bytes.resize((bytes.size() + 7) / 8 * 8, 0); };
  const auto put = [&bytes](const void* from, std::size_t size) {
    const auto* at = static_cast<const char*>(from);
    bytes.insert(bytes.end(), at, at + size);
  };
  align();
  const std::size_t begin = bytes.size();
  kde::GroupsHeader groups{0, 3, 5, 2, 1};
  put(&groups, sizeof groups);
  for (int g = 0; g < 3; ++g) {
    const std::size_t size = (part.size() + 7) / 8 * 8;
    const std::size_t key = g < 2 ? 8 : 0;
    const kde::GroupHeader group = {
        static_cast<std::uint32_t>(sizeof(kde::GroupHeader) + key + size), g < 2 ? 1 : kde::kNoKey};
    put(&group, sizeof group);
    const char text[8] = {static_cast<char>('a' + g)};
    put(text, key);
    put(part.data(), part.size());
    align();
  }
  groups.bytes = bytes.size() - begin;
  std::memcpy(bytes.data() + begin, &groups, sizeof groups);
  DensityBytes out(bytes.size());
  std::memcpy(out.data(), bytes.data(), bytes.size());
  out.header().grouped = 1;
  return out;
}

const std::vector<DensityBytes>& originals() {
  static const std::vector<DensityBytes> all = [] {
    std::vector<DensityBytes> out;
    for (const int measures : {0, 2}) {
      for (const Shape shape : {Shape::whole, Shape::ties, Shape::normal, Shape::wide, Shape::tiny})
        for (const int rows : {1, 30, 3000})
          out.push_back(made(shape, rows, measures, kde::Method::automatic));
      out.push_back(grouped(measures));
    }
    out.push_back(made(Shape::normal, 3000, 0, kde::Method::silverman));
    out.push_back(made(Shape::whole, 3000, 0, kde::Method::silverman));
    out.push_back(kde::joints::category());
    for (const auto axes : {kde::joints::Axes::normal_scores, kde::joints::Axes::linear,
                            kde::joints::Axes::correlated}) {
      out.emplace_back();
      check(kde::encode_joint(kde::joints::parts(3, 70, axes), &out.back()));
    }
    out.emplace_back();
    check(kde::encode_joint(kde::joints::mixed_parts(4, 70), &out.back()));
    for (const DensityBytes& d : out) check(kde::validate(d.data(), d.size()));
    return out;
  }();
  return all;
}

double number(Input* in) {
  constexpr double kMost = std::numeric_limits<double>::max();
  constexpr double kSpecial[] = {0,
                                 -0.0,
                                 1,
                                 -1,
                                 2,
                                 0.5,
                                 5e-324,
                                 1e-320,
                                 1e-308,
                                 1e-300,
                                 1e-20,
                                 1e-9,
                                 1e9,
                                 0x1p53,
                                 0x1p62,
                                 1e19,
                                 1e30,
                                 1e60,
                                 1e61,
                                 1e150,
                                 1e300,
                                 kMost,
                                 -kMost,
                                 1e305,
                                 std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN()};
  constexpr int kSpecials = static_cast<int>(std::size(kSpecial));
  const int choice = in->choice(kSpecials + 6);
  if (choice < kSpecials) return kSpecial[choice];
  if (choice < kSpecials + 3) return in->take<std::int16_t>();
  return in->take<double>();
}

// Of a density of one column, alone: rows of whatever there is of it.
// original: where its numbers lie.
void scale_rows(const Header& original, DensityBytes* d, double by) {
  Header& h = d->header();
  for (double* rows : {&h.rows, &h.nulls, &h.nans, &h.negative_infinities, &h.positive_infinities,
                       &h.cell_rows, &h.row_unit})
    *rows *= by;
  auto* atoms = reinterpret_cast<double*>(&h + 1);
  for (std::uint32_t i = original.atoms; i < 2 * original.atoms; ++i) atoms[i] *= by;
  auto* block = reinterpret_cast<kde::HistogramBlock*>(atoms + 2 * std::size_t{original.atoms});
  for (std::uint32_t b = 0; b < original.blocks; ++b) block[b].rows_below *= by;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in(data, size);
  const auto& all = originals();
  const std::size_t choice = in.take<std::uint8_t>() % all.size();
  DensityBytes d = all[choice];
  const std::size_t rows_at = offsetof(Header, rows);
  for (int step = 0; step < 8 && !in.spent(); ++step) {
    const int kind = in.choice(5);
    const std::size_t where = in.take<std::uint16_t>();
    const std::size_t fields = (sizeof(Header) - rows_at) / 8;
    const std::size_t at = (kind == 0 ? rows_at + where % fields * 8 : where % (d.size() / 8) * 8);
    double x;
    std::memcpy(&x, d.data() + at, sizeof x);
    switch (kind) {
      case 0:
      case 1:
        x = number(&in);
        break;
      case 2:
        x *= number(&in);
        break;
      case 3:
        if (all[choice].header().kind == kde::Kind::one_column) {
          scale_rows(all[choice].header(), &d, number(&in));
          continue;
        }
        break;
      default: {
        const std::size_t n = static_cast<std::size_t>(in.choice(8)) + 1;
        const std::uint64_t bits = in.take<std::uint64_t>();
        if (at + n <= d.size()) std::memcpy(d.data() + at, &bits, n);
        continue;
      }
    }
    if (at + sizeof x <= d.size()) std::memcpy(d.data() + at, &x, sizeof x);
  }
  d.header().varlena = 0;
  if (!kde::validate(d.data(), d.size()).ok()) return 0;
  kde::fuzz::use(d, &all[choice].header());
  return 0;
}
