// A stored density's cells, added to others' (grid_cells.h). Stored lists hold ends alone: a cell is the
// finest one of the grid that holds what lies between two. Those of measures are the column's, less
// those without any sum; but where a sample's rows are estimated some may have sums alone. Values that
// are no ends may lie beside them, as atoms; with exact ends those are kept.
#include "core/grid/grid_cells.h"

#include "core/density/checks.h"
#include "core/density/histogram_view.h"
#include "core/first_true.h"

#include <algorithm>
#include <cmath>
#include <new>

namespace kde {

namespace {

struct ListCell {
  std::int64_t begin, end;  // keys; of a value equal
  double weight;
};

// Whether, of cells that end alike, they are one.
bool is_same(const ListCell& a, const ListCell& b) {
  return a.end == b.end && (a.begin == a.end) == (b.begin == b.end);
}

// By their ends; a cell before the value there.
bool is_before(const ListCell& a, const ListCell& b) {
  return a.end != b.end ? a.end < b.end : a.begin < a.end && b.begin == b.end;
}

// Those of atoms have the keys of doubles.
std::vector<ListCell> read_list(const DensityView& view, bool atoms) {
  std::vector<ListCell> out;
  if (atoms) {
    double before = 0;
    for (int i = 0; i < view.atoms(); ++i) {
      const std::int64_t key = key_of(view.atom_value(i));
      out.push_back({key, key, view.atom_cumulative_rows(i) - before});
      before = view.atom_cumulative_rows(i);
    }
    return out;
  }
  for (int b = 0; b < view.blocks(); ++b) {
    CellReader reader = view.cells(b);
    StoredCell cell;
    while (reader.next(&cell)) {
      if (cell.units == 0) continue;
      const std::int64_t end = cell.point ? cell.key : cell.key + 1;
      out.push_back({cell.point ? end : cell.begin, end,
                     static_cast<double>(cell.units) * view.header().row_unit});
    }
  }
  return out;
}

// With the cells that a measure's part has alone.
void add_cells(const std::vector<ListCell>& from, std::vector<ListCell>* to) {
  const auto own = static_cast<std::ptrdiff_t>(to->size());
  for (const ListCell& c : from) to->push_back({c.begin, c.end, 0});
  std::inplace_merge(to->begin(), to->begin() + own, to->end(), is_before);
  to->erase(std::unique(to->begin(), to->end(), is_same), to->end());
}

// Whole numbers of 10^-digits; kNoValueDigits: unknown.
int digits_of(const Header& h) {
  if (!(h.lattice_step > 0)) return kNoValueDigits;
  double scale = 1;
  for (int digits = 0; digits <= kMostValueDigits; ++digits, scale *= 10) {
    if (h.lattice_scale == scale) return digits;
    if (h.lattice_scale == 0 && digits == 0 && h.lattice_step == std::floor(h.lattice_step) &&
        h.lattice_offset == std::floor(h.lattice_offset))
      return 0;
  }
  return kNoValueDigits;
}

// Ends as they are stored, for the cells of the grid that they are of.
class CellFinder {
 public:
  CellFinder(const RoundEnds& ends, const Header& header, bool is_of_atoms)
      : ends_(ends), header_(header), is_of_atoms_(is_of_atoms) {}

  double value(std::int64_t key) const {
    if (is_of_atoms_) return value_of_key(key);
    if (header_.grid_level > 0) return ends_.end(header_.grid_level - 1, key >> 1);
    if (header_.lattice_step > 0) return header_.lattice_point(static_cast<double>(key));
    return value_of_key(key);
  }

  // The finest cell with that range in it; the outermost are stored no wider than the column. False
  // if there is none.
  bool find(const ListCell& cell, GridEntry* out) {
    out->rows = cell.weight;
    out->x = value(cell.begin);
    out->level = -1;
    if (cell.begin == cell.end) return std::isfinite(out->x);
    const double low = out->x;
    const double high = value(cell.end);
    const double inside = low / 2 + high / 2;
    if (!(inside > low && inside < high)) return false;
    const auto holds = [&](int level) {
      if (!(std::fabs(inside) < kMostIndex * ends_.step(level))) return false;
      const std::int64_t k = ends_.cell(level, inside);
      return ends_.end(level, k) <= low && ends_.end(level, k + 1) >= high;
    };
    // Mostly as wide as the one before.
    if (!holds(level_) || (level_ > 0 && holds(level_ - 1)))
      level_ = first_true(0, ends_.levels(), holds);
    if (level_ == ends_.levels()) {
      level_ = 0;
      return false;
    }
    out->level = level_;
    out->x = ends_.begin(level_, ends_.cell(level_, inside));
    return true;
  }

 private:
  const RoundEnds& ends_;
  const Header& header_;
  bool is_of_atoms_;
  int level_ = 0;
};

// One measure's sums, cell by cell of the column.
class SumsReader {
 public:
  SumsReader(const Header* density, int k) : view_(density, k) {}

  void read(bool atoms) {
    for (int p = 0; p < kMeasureParts; ++p) {
      at_[p] = 0;
      if (has(p)) list_[p] = read_list(view_.part(static_cast<MeasurePart>(p)), atoms);
    }
  }

  const MeasureHeader& header() const { return view_.header(); }
  bool has(int p) const { return header().has(static_cast<MeasurePart>(p)); }
  const Header& part(int p) const { return view_.part(static_cast<MeasurePart>(p)).header(); }

  const std::vector<ListCell>& list(int p) const { return list_[p]; }
  MeasureSums next(const ListCell& cell) {
    double weight[kMeasureParts] = {};
    for (int p = 0; p < kMeasureParts; ++p) {
      const std::size_t at = at_[p];
      if (at == list_[p].size() || !is_same(list_[p][at], cell)) continue;
      weight[p] = list_[p][at].weight;
      ++at_[p];
    }
    return sums_of(weight, cell.weight);
  }
  bool at_end() const {
    for (int p = 0; p < kMeasureParts; ++p)
      if (at_[p] < list_[p].size()) return false;
    return true;
  }
  MeasureSums special(SpecialX x, double rows) const {
    double weight[kMeasureParts] = {};
    for (int p = 0; p < kMeasureParts; ++p) {
      if (!has(p)) continue;
      const Header& h = part(p);
      weight[p] = x == SpecialX::nan                 ? h.nans
                  : x == SpecialX::negative_infinity ? h.negative_infinities
                                                     : h.positive_infinities;
    }
    return sums_of(weight, rows);
  }

 private:
  // In units.
  MeasureSums sums_of(const double (&weight)[kMeasureParts], double rows) const {
    return MeasureSums{has(0) ? weight[0] : rows, weight[1] - weight[2], weight[3]}.times(
        header().scale);
  }

  MeasureView view_;
  std::vector<ListCell> list_[kMeasureParts];
  std::size_t at_[kMeasureParts] = {};
};

}  // namespace

// *by, *shift: what a density's sums of a measure are brought to the units and the origin here by.
Status GridCells::agree_with(const Header& density, int k, double* by, double* shift) {
  const MeasureView view(&density, k);
  const MeasureHeader& m = view.header();
  Measure& to = measure_[k];
  to.has_nulls = to.has_nulls || m.nulls != 0;
  if (m.rows > 0) to.sampling.add(mean_sampling(density, view));
  const bool whole = m.decimals < kNoDecimals;
  const double origin = whole ? std::nearbyint(m.origin / m.unit) : m.origin / m.unit;
  if (m.rows > 0) {
    agree(k, m.decimals, origin);
    if (!std::isfinite(origin) || !std::isfinite(to.origin))
      return invalid("a measure's origin is out of range");
    const double sampled =
        m.has(MeasurePart::rows) ? view.part(MeasurePart::rows).header().sample_rows : m.rows;
    to.totals.merge(m.rows, std::max(sampled, 1.0), m.min, m.max, m.mean, m.variance);
  }
  const double units = to.units_of_one() * m.unit;
  *by = to.decimals < kNoDecimals ? std::nearbyint(units) : units;
  *shift = to.origin - origin * *by;
  if (whole && std::fabs(m.unit * power_of(m.decimals) - 1) > 0x1p-50)
    return invalid("a measure's unit is not that of its decimals");
  if (to.decimals == kNoDecimals) to.sum_error += kRoundingOfMove * m.rows * std::fabs(*shift);
  // How far sums below any x may be off.
  const auto error = [&](MeasurePart p) {
    if (!m.has(p)) return 0.0;
    const Header& h = view.part(p).header();
    return h.error * h.rows * m.scale;
  };
  to.sum_error +=
      *by * (error(MeasurePart::above) + error(MeasurePart::below)) + m.slack * to.units_of_one();
  to.squares_error += *by * *by * error(MeasurePart::squares);
  return Status::success();
}

Status GridCells::add(const Header& density) {
  if (Status s = settle(); !s.ok()) return s;
  const Header& h = density;
  specials_.nulls += h.nulls;
  specials_.nans += h.nans;
  specials_.negative_infinities += h.negative_infinities;
  specials_.positive_infinities += h.positive_infinities;
  if (h.finite_rows() > h.rounding_of_rows())
    totals_.merge(h.finite_rows(), h.sample_rows, h.min, h.max, h.mean, h.variance);
  error_rows_ += h.error * h.rows;
  is_uneven_ = is_uneven_ || h.has_exact_ends();
  sampling_.add(h);
  try {
    std::vector<SumsReader> reader;
    double by[kMaxMeasures], shift[kMaxMeasures];
    for (int k = 0; k < measures_; ++k) {
      reader.emplace_back(&h, k);
      if (Status s = agree_with(h, k, &by[k], &shift[k]); !s.ok()) return s;
    }
    const auto in_units_here = [&](int k, const MeasureSums& s) {
      return MeasureSums{s.rows, s.sum * by[k], s.squares * by[k] * by[k]}.moved(shift[k]);
    };
    for (const bool atoms : {false, true}) {
      std::vector<ListCell> list = read_list(DensityView(&h), atoms);
      for (SumsReader& r : reader) {
        r.read(atoms);
        for (int p = 0; p < kMeasureParts && !h.has_exact_ends(); ++p) add_cells(r.list(p), &list);
      }
      CellFinder finder(ends_, h, atoms);
      const bool values =
          std::all_of(list.begin(), list.end(), [](const ListCell& c) { return c.begin == c.end; });
      if (!values) digits_ = std::max(digits_, digits_of(h));
      if (!values) note_lattice(h.lattice_step, h.lattice_offset);
      double off_lattice = 0;
      for (const ListCell& cell : list) {
        GridEntry entry;
        if (!finder.find(cell, &entry)) return invalid("a cell is none of the grid's");
        if (entry.level < 0 && (entry.x < h.min || entry.x > h.max))
          return invalid("a value is outside [min, max]");
        if (finder.value(cell.end) < h.min || finder.value(cell.begin) > h.max)
          return invalid("a cell is outside [min, max]");
        if (values) note_digits({&entry.x, 1});
        // Between neighbouring points all may be at either.
        if (entry.level >= 0)
          off_lattice = std::max(
              off_lattice, entry.rows * std::min(1.0, h.lattice_step / ends_.step(entry.level)));
        double slot[2 + 3 * kMaxMeasures];
        for (int k = 0; k < measures_; ++k) {
          SumsReader& r = reader[static_cast<std::size_t>(k)];
          put_sums(slot, k, in_units_here(k, r.next(cell)));
        }
        if (atoms && h.has_exact_ends())
          if (Status s = keep_also({&entry.x, 1}); !s.ok()) return s;
        if (Status s = add_cell(entry, slot); !s.ok()) return s;
        // Not to be filled by one alone.
        if (size() > 2 * most_)
          if (Status s = fit_into_most(); !s.ok()) return s;
      }
      off_lattice_ += off_lattice;
      for (const SumsReader& r : reader)
        if (!r.at_end()) return invalid("a measure has sums in other cells than the column");
    }
    const double rows[kSpecialX] = {h.nans, h.negative_infinities, h.positive_infinities};
    for (int k = 0; k < measures_; ++k) {
      const SumsReader& r = reader[static_cast<std::size_t>(k)];
      for (int x = 0; x < kSpecialX; ++x)
        measure_[k].special[x].add(in_units_here(k, r.special(static_cast<SpecialX>(x), rows[x])));
    }
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
  return fit_into_most();
}

}  // namespace kde
