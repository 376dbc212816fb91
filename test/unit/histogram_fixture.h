// Histograms for the tests, written by the plainest of encoders: blocks of as many cells as are
// wanted, all fields as wide as the format has them. And a column's own rows to compare with.
#pragma once

#include "core/density/histogram_view.h"
#include "core/integrate/integrate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "fitted.h"

namespace kde::histograms {

struct Bytes : DensityBytes {
  HistogramBlock& block(int b) {
    return reinterpret_cast<HistogramBlock*>(data() + sizeof(Header) +
                                             header().atoms * 2 * sizeof(double))[b];
  }
  std::uint64_t* cell_words() {
    return reinterpret_cast<std::uint64_t*>(&block(static_cast<int>(header().blocks)));
  }
  DensityView view() const { return DensityView(data()); }
  Status validate() const { return kde::validate(data(), size()); }
};

// A bounded one of doubles.
inline Header plain_header() {
  Header h{};
  h.flags = kBounded | kEveryRowRead;
  h.value_type = ValueType::float8;
  h.method = Method::plugin;
  h.known_below = -fitted::kInf;
  h.known_above = fitted::kInf;
  return h;
}

struct Parts {
  Header header = plain_header();  // rows, totals and sizes are set by encode()
  std::vector<HistogramCell> cells, atoms;
  int cells_a_block = kHistogramCells;
  unsigned key_bits = 63, rows_bits = 53;
  bool by_kind = false;  // ranges and points in blocks of their own
  bool keep_header = false;
};

inline std::int64_t key_at(const Header& h, double x) {
  return h.lattice_step > 0
             ? static_cast<std::int64_t>(std::nearbyint((x - h.lattice_offset) / h.lattice_step))
             : key_of(x);
}

// cells: whole rows; the first a point or of no rows.
inline Bytes encode(const Parts& parts) {
  Header h = parts.header;
  h.version = kFormatVersion;
  h.kind = Kind::one_column;
  h.row_unit = 1;
  std::vector<HistogramBlock> blocks;
  std::vector<bool> bits;
  const auto put = [&bits](std::uint64_t field, unsigned n) {
    for (unsigned i = 0; i < n; ++i) bits.push_back((field >> i & 1) != 0);
  };
  std::int64_t last = parts.cells.empty() ? 0 : key_at(h, parts.cells[0].value);
  double rows = 0;
  for (std::size_t i = 0; i < parts.cells.size();) {
    if (!parts.cells[i].point && parts.cells[i].rows == 0) {  // nothing: the next begins at its end
      last = key_at(h, parts.cells[i].value);
      ++i;
      continue;
    }
    HistogramBlock block{};
    while (bits.size() % kWordBits != 0) bits.push_back(false);
    block.first_key = last;
    block.rows_below = rows;
    block.word = static_cast<std::uint16_t>(bits.size() / kWordBits);
    block.key_bits = static_cast<std::uint8_t>(parts.key_bits);
    block.rows_bits = static_cast<std::uint8_t>(parts.rows_bits);
    block.kinds = !parts.by_kind         ? CellKinds::mixed
                  : parts.cells[i].point ? CellKinds::points
                                         : CellKinds::ranges;
    int n = 0;
    for (; n < parts.cells_a_block && i < parts.cells.size(); ++n, ++i) {
      const HistogramCell& cell = parts.cells[i];
      if (!cell.point && cell.rows == 0) break;
      if (parts.by_kind && cell.point != (block.kinds == CellKinds::points)) break;
      const std::int64_t key = key_at(h, cell.value);
      if (!parts.by_kind) put(cell.point, 1);
      put(static_cast<std::uint64_t>(key) - static_cast<std::uint64_t>(last), parts.key_bits);
      put(static_cast<std::uint64_t>(cell.rows), parts.rows_bits);
      last = key;
      rows += cell.rows;
    }
    block.last_cell = static_cast<std::uint8_t>(n - 1);
    blocks.push_back(block);
  }
  std::vector<std::uint64_t> words((bits.size() + 63) / 64);
  for (std::size_t i = 0; i < bits.size(); ++i) {
    if (bits[i]) words[i / 64] |= std::uint64_t{1} << i % 64;
  }
  h.atoms = static_cast<std::uint32_t>(parts.atoms.size());
  h.blocks = static_cast<std::uint32_t>(blocks.size());
  h.cell_rows = rows;
  std::vector<char> bytes;
  const auto append = [&bytes](const void* from, std::size_t n) {
    if (n == 0) return;
    const char* p = static_cast<const char*>(from);
    bytes.insert(bytes.end(), p, p + n);
  };
  std::vector<double> atom_value;
  std::vector<double> atom_rows;
  double atoms = 0;
  for (const HistogramCell& atom : parts.atoms) {
    atom_value.push_back(atom.value);
    atom_rows.push_back(atoms += atom.rows);
  }
  if (!parts.keep_header)
    h.rows = rows + atoms + h.nans + h.negative_infinities + h.positive_infinities;
  if (h.sample_rows == 0 && rows + atoms > 0) h.sample_rows = std::max(rows + atoms, 1.0);
  append(&h, sizeof h);
  append(atom_value.data(), atom_value.size() * sizeof(double));
  append(atom_rows.data(), atom_rows.size() * sizeof(double));
  append(blocks.data(), blocks.size() * sizeof(HistogramBlock));
  append(words.data(), words.size() * sizeof(std::uint64_t));
  Bytes out;
  static_cast<DensityBytes&>(out) = DensityBytes(bytes.size());
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

// The rows of cells and atoms one by one: the truth that answers are held against. Those of a range
// stand evenly in it, `fine` of them: at the lattice points between its ends, or in the middles of
// equal parts.
struct Row {
  double value, rows;
};
inline std::vector<Row> rows_of(const Parts& parts, int fine) {
  std::vector<Row> out;
  const Header& h = parts.header;
  double before = parts.cells.empty() ? 0 : parts.cells[0].value;
  for (const HistogramCell& cell : parts.cells) {
    if (cell.point) {
      out.push_back({cell.value, cell.rows});
    } else if (cell.rows > 0 && h.lattice_step > 0) {
      const std::int64_t from = key_at(h, before);
      const std::int64_t to = key_at(h, cell.value);
      for (std::int64_t k = from + 1; k < to; ++k)
        out.push_back({h.lattice_point(static_cast<double>(k)),
                       cell.rows / static_cast<double>(to - from - 1)});
    } else if (cell.rows > 0) {
      for (int i = 0; i < fine; ++i)
        out.push_back({before + (cell.value - before) * (i + 0.5) / fine, cell.rows / fine});
    }
    before = cell.value;
  }
  for (const HistogramCell& atom : parts.atoms) out.push_back({atom.value, atom.rows});
  std::sort(out.begin(), out.end(), [](const Row& a, const Row& b) { return a.value < b.value; });
  return out;
}

// Sets the header's totals from the rows.
inline void set_totals(Parts* parts) {
  const std::vector<Row> rows = rows_of(*parts, 64);
  if (rows.empty()) return;
  Header& h = parts->header;
  double n = 0;
  double sum = 0;
  for (const Row& r : rows) {
    n += r.rows;
    sum += r.rows * r.value;
  }
  h.min = rows.front().value;
  h.max = rows.back().value;
  // Off a lattice rows come as near the ends of ranges as may be.
  for (const std::vector<HistogramCell>* list : {&parts->cells, &parts->atoms}) {
    for (const HistogramCell& cell : *list) {
      if (h.lattice_step > 0) continue;
      h.min = std::min(h.min, cell.value);
      h.max = std::max(h.max, cell.point ? cell.value : std::nextafter(cell.value, -fitted::kInf));
    }
  }
  h.mean = std::clamp(sum / n, h.min, h.max);
  double squares = 0;
  for (const Row& r : rows) squares += r.rows * (r.value - h.mean) * (r.value - h.mean);
  h.variance = squares / n;
  h.sample_rows = n;
}

// Ranges, points and two heavy values between -40 and 60, uneven, `n` cells.
inline Parts mixture(int n, bool lattice, std::uint64_t seed = 3) {
  Random random(seed);
  Parts p;
  p.header = plain_header();
  if (lattice) {
    p.header.lattice_step = 0.25;
    p.header.lattice_offset = -40;
    p.header.lattice_scale = 4;
  }
  double x = -40;
  p.cells.push_back({x, 3, true});
  for (int i = 1; i < n; ++i) {
    const bool gap = random.below(8) == 0;
    const double step = lattice ? 0.25 * static_cast<double>(2 + random.below(12))
                                : 1e-3 + random.uniform() * 200 / n;
    if (!lattice && x < 0 && x + step > 0) p.cells.push_back({0, 2, false});
    x += step;
    if (gap) {
      p.cells.push_back({x, 0, false});
    } else {
      p.cells.push_back({x, static_cast<double>(1 + random.below(50)), random.below(4) == 0});
    }
  }
  // One at a boundary, one within a range.
  p.atoms.push_back({p.cells[static_cast<std::size_t>(n / 3)].value, 70, true});
  for (std::size_t i = std::max<std::size_t>(1, static_cast<std::size_t>(n / 2));
       i < p.cells.size(); ++i) {
    const double before = p.cells[i - 1].value;
    if (p.cells[i].point || p.cells[i].rows == 0 || p.cells[i].value - before < 0.5) continue;
    p.atoms.push_back({lattice ? before + 0.25 : before / 3 + p.cells[i].value / 1.5, 400, true});
    break;
  }
  p.header.nulls = 2;
  p.header.nans = 5;
  p.header.negative_infinities = 3;
  p.header.positive_infinities = 4;
  set_totals(&p);
  return p;
}

}  // namespace kde::histograms
