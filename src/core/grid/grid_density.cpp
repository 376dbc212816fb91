// A stored density's cells, added to others' (grid_cells.h). Stored lists hold ends alone: a cell is the
// finest one of the grid that holds what lies between two. Those of measures are the column's, less
// those without any sum; but where a sample's rows are estimated some may have sums alone. Values that
// are no ends may lie beside them, as atoms; with exact ends those are kept.
#include "core/grid/grid_cells.h"

#include "core/density/checks.h"
#include "core/density/histogram_view.h"
#include "core/grid/stored_cells.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <numeric>

namespace kde {

namespace {

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
  out.reserve(static_cast<std::size_t>(view.blocks()) * kHistogramCells);
  for (int b = 0; b < view.blocks(); ++b) {
    CellReader reader = view.cells(b);
    StoredCell cell;
    while (reader.next(&cell)) {
      if (cell.units == 0) continue;
      out.push_back(list_cell(cell, view.header().row_unit));
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

// In units.
double origin_of(const MeasureHeader& m) {
  const double origin = m.origin / m.unit;
  return m.decimals < kNoDecimals ? std::nearbyint(origin) : origin;
}

// What the values of a column, or of its k-th measure, are whole multiples of 1 over; 0: not known, or
// their sum is none of all.
double scale_of(const Header& h, int k) {
  if (!h.has_exact_ends()) return 0;
  if (k < 0) return digits_of(h) == kNoValueDigits ? 0 : std::max(h.lattice_scale, 1.0);
  const int decimals = MeasureView(&h, k).header().decimals;
  return decimals < kNoDecimals ? power_of(decimals) : 0;
}

// Of finite values.
struct Ends {
  double min = std::numeric_limits<double>::infinity(), max = -min;

  void add(const Ends& other) {
    min = std::min(min, other.min);
    max = std::max(max, other.max);
  }
};

// Of a density's column, or its k-th measure.
Ends ends_of(const Header& h, int k) {
  Ends out;
  if (k < 0 && h.finite_rows() > h.rounding_of_rows()) out = {h.min, h.max};
  if (k >= 0)
    if (const MeasureHeader& m = MeasureView(&h, k).header(); m.rows > 0) out = {m.min, m.max};
  return out;
}

// What is left of a whole's; false: it is not known.
bool find_ends(const Header& whole, int k, const GridCells::Without& without, Ends* left) {
  *left = ends_of(whole, k);
  Ends gone, others;
  for (const Header* h : without.parts) gone.add(ends_of(*h, k));
  for (const Header* h : without.others) others.add(ends_of(*h, k));
  const bool has_min = gone.min > left->min || others.min <= left->min;
  const bool has_max = gone.max < left->max || others.max >= left->max;
  if (!has_min) left->min = others.min;
  if (!has_max) left->max = others.max;
  return without.all || (has_min && has_max);
}

}  // namespace

Status GridCells::agree_with(const Header& density, int k) {
  const MeasureView view(&density, k);
  const MeasureHeader& m = view.header();
  if (m.decimals < kNoDecimals && std::fabs(m.unit * power_of(m.decimals) - 1) > 0x1p-50)
    return invalid("a measure's unit is not that of its decimals");
  if (!(m.rows > 0)) return Status::success();
  agree(k, m.decimals, origin_of(m));
  if (!std::isfinite(origin_of(m)) || !std::isfinite(measure_[k].origin))
    return invalid("a measure's origin is out of range");
  return Status::success();
}

// One density's rows, in the units and about the origins that all of those agreed to.
class GridCells::DensityReader {
 public:
  // sign: -1 where they are taken out. Counts what is in no cell.
  DensityReader(GridCells* to, const Header& density, int sign, const Without& without)
      : to_(*to), h_(density), sign_(sign), without_(without) {
    note_rows();
    for (int k = 0; k < to_.measures_; ++k) {
      reader_.emplace_back(&h_, k);
      note_measure(k);
    }
  }

  Status read(bool atoms, CellList* out) {
    std::vector<ListCell> list = read_list(DensityView(&h_), atoms);
    for (SumsReader& r : reader_) {
      r.read(atoms);
      for (int p = 0; p < kMeasureParts && !h_.has_exact_ends(); ++p) add_cells(r.list(p), &list);
    }
    CellFinder finder(to_.ends_, h_, atoms);
    const bool values =
        std::all_of(list.begin(), list.end(), [](const ListCell& c) { return c.begin == c.end; });
    if (!values) to_.digits_ = std::max(to_.digits_, digits_of(h_));
    if (!values) to_.note_lattice(h_.lattice_step, h_.lattice_offset);
    double off_lattice = 0;
    for (const ListCell& cell : list) {
      GridEntry entry;
      if (!finder.find(cell, &entry)) return invalid("a cell is none of the grid's");
      if (entry.level < 0 && (entry.x < h_.min || entry.x > h_.max))
        return invalid("a value is outside [min, max]");
      if (finder.value(cell.end) < h_.min || finder.value(cell.begin) > h_.max)
        return invalid("a cell is outside [min, max]");
      if (values) to_.note_digits({&entry.x, 1});
      // Between neighbouring points all may be at either.
      if (entry.level >= 0)
        off_lattice = std::max(
            off_lattice, entry.rows * std::min(1.0, h_.lattice_step / to_.ends_.step(entry.level)));
      if (without_.number != nullptr) {
        entry.x = entry.level < 0 ? (*without_.number)(h_, entry.x) : -1;
        if (entry.x < 0) return invalid("a value has no number");
      }
      out->entries.push_back(entry);
      for (int k = 0; k < to_.measures_; ++k)
        out->sums.push_back(in_units(k, reader_[static_cast<std::size_t>(k)].next(cell)));
    }
    to_.off_lattice_ += off_lattice;
    for (const SumsReader& r : reader_)
      if (!r.at_end()) return invalid("a measure has sums in other cells than the column");
    if (without_.number != nullptr && !atoms) sort(out);
    return Status::success();
  }

 private:
  void sort(CellList* list) const {
    const CellList before = *list;
    const auto measures = static_cast<std::size_t>(to_.measures_);
    std::vector<std::size_t> order(before.entries.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return before.entries[a].x < before.entries[b].x;
    });
    for (std::size_t i = 0; i < order.size(); ++i) {
      list->entries[i] = before.entries[order[i]];
      for (std::size_t k = 0; k < measures; ++k)
        list->sums[i * measures + k] = before.sums[order[i] * measures + k];
    }
  }
  // Squares that were rounded may be fewer than those of the mean, elsewhere less than nothing.
  MeasureSums in_units(int k, const MeasureSums& s) {
    const MeasureSums own = {s.rows, s.sum * by_[k], s.squares * by_[k] * by_[k]};
    const double less = shift_[k] * (2 * own.sum - shift_[k] * own.rows) - own.squares;
    if (less > 0) to_.measure_[k].squares_error += less;
    return own.moved(shift_[k]);
  }

  void note_rows() {
    to_.specials_.nulls += sign_ * h_.nulls;
    to_.specials_.nans += sign_ * h_.nans;
    to_.specials_.negative_infinities += sign_ * h_.negative_infinities;
    to_.specials_.positive_infinities += sign_ * h_.positive_infinities;
    to_.error_rows_ += h_.error * h_.rows;
    to_.is_uneven_ = to_.is_uneven_ || h_.has_exact_ends();
    if (sign_ > 0) to_.sampling_.add(h_);
    if (!(h_.finite_rows() > h_.rounding_of_rows())) return;
    const double scale = scale_of(h_, -1);
    if (sign_ < 0)
      to_.totals_.take_out(h_.finite_rows(), h_.min, h_.max, h_.mean, h_.variance, scale);
    else
      to_.totals_.merge(h_.finite_rows(), h_.sample_rows, h_.min, h_.max, h_.mean, h_.variance,
                        scale);
  }

  void note_measure(int k) {
    const MeasureView view(&h_, k);
    const MeasureHeader& m = view.header();
    Measure& to = to_.measure_[k];
    to.has_nulls = to.has_nulls || m.nulls != 0;
    if (m.rows > 0 && sign_ < 0) {
      to.totals.take_out(m.rows, m.min, m.max, m.mean, m.variance, scale_of(h_, k));
    } else if (m.rows > 0) {
      to.sampling.add(mean_sampling(h_, view));
      const double sampled =
          m.has(MeasurePart::rows) ? view.part(MeasurePart::rows).header().sample_rows : m.rows;
      to.totals.merge(m.rows, std::max(sampled, 1.0), m.min, m.max, m.mean, m.variance,
                      scale_of(h_, k));
    }
    const double units = to.units_of_one() * m.unit;
    by_[k] = to.decimals < kNoDecimals ? std::nearbyint(units) : units;
    shift_[k] = to.origin - origin_of(m) * by_[k];
    note_errors(view, k, &to);
    const double rows[kSpecialX] = {h_.nans, h_.negative_infinities, h_.positive_infinities};
    for (int x = 0; x < kSpecialX; ++x) {
      const MeasureSums s = in_units(k, reader_.back().special(static_cast<SpecialX>(x), rows[x]));
      to.special[x].add({sign_ * s.rows, sign_ * s.sum, sign_ * s.squares});
    }
  }

  // How far sums below any x may be off.
  void note_errors(const MeasureView& view, int k, Measure* to) const {
    const MeasureHeader& m = view.header();
    if (to->decimals == kNoDecimals)
      to->sum_error += kRoundingOfMove * m.rows * std::fabs(shift_[k]);
    const auto error = [&](MeasurePart p) {
      if (!m.has(p)) return 0.0;
      const Header& h = view.part(p).header();
      return h.error * h.rows * m.scale;
    };
    to->sum_error += by_[k] * (error(MeasurePart::above) + error(MeasurePart::below)) +
                     m.slack * to->units_of_one();
    to->squares_error += by_[k] * by_[k] * error(MeasurePart::squares);
  }

  GridCells& to_;
  const Header& h_;
  int sign_;
  const Without& without_;
  std::vector<SumsReader> reader_;
  double by_[kMaxMeasures] = {}, shift_[kMaxMeasures] = {};
};

namespace {

bool is_simple(const Header* h) { return h->has_exact_ends() && h->atoms == 0; }

}  // namespace

// Leaves of a density's cells what is not in the parts.
Status GridCells::take_out(const Header& density, const Without& without, CellList* list) {
  if (!is_simple(&density) || !std::all_of(without.parts.begin(), without.parts.end(), is_simple))
    return Status::error(Code::too_large, "values beside cells");
  SummaryTotals before[1 + kMaxMeasures];
  for (int k = -1; k < measures_; ++k) before[k + 1] = totals_of(k);
  for (const Header* part : without.parts) {
    if (without.control != nullptr && without.control->stop_requested()) return cancelled();
    CellList cells;
    if (Status s = DensityReader(this, *part, -1, without).read(false, &cells); !s.ok()) return s;
    if (!kde::take_out(ends_, measures_, cells, list))
      return invalid("a part is none of the whole");
  }
  return narrow(density, without, before);
}

// Totals of what is left, once parts were taken out. before: of all.
Status GridCells::narrow(const Header& density, const Without& without,
                         const SummaryTotals (&before)[1 + kMaxMeasures]) {
  for (int k = without.number != nullptr ? 0 : -1; k < measures_; ++k) {
    Ends left;
    if (!find_ends(density, k, without, &left))
      return Status::error(Code::too_large, "a least or greatest value that is gone");
    totals_of(k).narrow(left.min, left.max);
    if (!totals_of(k).keeps_digits_of(before[k + 1], scale_of(density, k)))
      return Status::error(Code::too_large, "most of a sum is gone");
  }
  return Status::success();
}

Status GridCells::agree_with(const Header& density, std::span<const Header* const> others) {
  for (int k = 0; k < measures_; ++k) {
    if (Status s = agree_with(density, k); !s.ok()) return s;
    for (const Header* other : others)
      if (Status s = agree_with(*other, k); !s.ok()) return s;
  }
  return Status::success();
}

Status GridCells::replace(const Header& density, const Without& without,
                          std::span<const Header* const> came, Replaced* out) {
  const auto all_simple = [](std::span<const Header* const> of) {
    return std::all_of(of.begin(), of.end(), is_simple);
  };
  if (!is_simple(&density) || !all_simple(without.parts) || !all_simple(came))
    return Status::error(Code::too_large, "values beside cells");
  if (Status s = agree_with(density, without.parts); !s.ok()) return s;
  if (Status s = agree_with(density, came); !s.ok()) return s;
  for (int k = 0; k < measures_; ++k) {
    const MeasureHeader& m = MeasureView(&density, k).header();
    if (measure_[k].decimals != m.decimals || measure_[k].origin != origin_of(m))
      return Status::error(Code::too_large, "a measure in other units");
  }
  (void)DensityReader(this, density, 1, without);
  SummaryTotals before[1 + kMaxMeasures];
  for (int k = -1; k < measures_; ++k) before[k + 1] = totals_of(k);
  for (int k = 0; k < measures_; ++k) {
    out->sum_error[k] = -measure_[k].sum_error;
    out->squares_error[k] = -measure_[k].squares_error;
  }
  out->error_rows = -error_rows_;
  for (const Header* part : without.parts) {
    if (without.control != nullptr && without.control->stop_requested()) return cancelled();
    if (Status s = DensityReader(this, *part, -1, without).read(false, &out->gone); !s.ok())
      return s;
  }
  if (Status s = narrow(density, without, before); !s.ok()) return s;
  for (const Header* part : came)
    if (Status s = DensityReader(this, *part, 1, without).read(false, &out->came); !s.ok())
      return s;
  out->error_rows += error_rows_;
  for (int k = 0; k < measures_; ++k) {
    out->sum_error[k] += measure_[k].sum_error;
    out->squares_error[k] += measure_[k].squares_error;
  }
  return Status::success();
}

Status GridCells::list_of(const Header& density, std::vector<GridEntry>* out) {
  CellFinder finder(ends_, density, false);
  const std::vector<ListCell> list = read_list(DensityView(&density), false);
  out->reserve(list.size());
  for (const ListCell& cell : list) {
    GridEntry entry;
    if (!finder.find(cell, &entry)) return invalid("a cell is none of the grid's");
    out->push_back(entry);
  }
  return Status::success();
}

Status GridCells::add(const Header& density, const Without& without) {
  if (Status s = settle(); !s.ok()) return s;
  try {
    if (Status s = agree_with(density, without.parts); !s.ok()) return s;
    DensityReader reader(this, density, 1, without);
    CellList list;
    if (Status s = reader.read(false, &list); !s.ok()) return s;
    if (!without.parts.empty())
      if (Status s = take_out(density, without, &list); !s.ok()) return s;
    const auto cells = list.entries.size();
    if (Status s = reader.read(true, &list); !s.ok()) return s;
    if (Status s = reserve(list.entries); !s.ok()) return s;
    for (std::size_t i = 0; i < list.entries.size(); ++i) {
      if (i >= cells && density.has_exact_ends())
        if (Status s = keep_also({&list.entries[i].x, 1}); !s.ok()) return s;
      double slot[2 + 3 * kMaxMeasures];
      for (int k = 0; k < measures_; ++k)
        put_sums(slot, k,
                 list.sums[i * static_cast<std::size_t>(measures_) + static_cast<std::size_t>(k)]);
      if (Status s = add_cell(list.entries[i], slot); !s.ok()) return s;
      // Not to be filled by one alone.
      if (size() > 2 * most_)
        if (Status s = fit_into_most(); !s.ok()) return s;
    }
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
  return fit_into_most();
}

int coarsest_time_level(const Header& list) {
  const RoundEnds ends(list.chain);
  if (!ends.is_of_times()) return -1;
  CellFinder finder(ends, list, false);
  int level = -1;
  for (const ListCell& cell : read_list(DensityView(&list), false)) {
    GridEntry entry;
    if (level < kDayLevel && cell.begin != cell.end && finder.find(cell, &entry))
      level = std::max(level, std::min(entry.level, kDayLevel));
  }
  return level;
}

}  // namespace kde
