// libFuzzer target: valid densities of every form with fields of theirs changed, as no input would
// hit upon by chance, and then all that is done with a density (use.h). The first byte chooses the
// density; then each step takes a byte for what is done, two for where, and its numbers: a number
// in a field of the header, or anywhere, or all numbers of rows times one. What validate() refuses
// is of no further interest.
#include "core/kde.h"

#include "every_form.h"
#include "input.h"
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
using kde::fuzz::Input;

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
  const std::vector<DensityBytes>& all = kde::every_form();
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
