// See value_sets.h.
#include "pg/plain_sql/value_sets.h"

#include "pg/base/tree_walk.h"

extern "C" {
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"
}

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace kde_pg {

namespace {

// Doubles in order as whole numbers.
std::int64_t place_of(double x) {
  const auto bits = std::bit_cast<std::int64_t>(x);
  return bits < 0 ? bits ^ INT64_MAX : bits;
}
double double_at(std::int64_t place) {
  return std::bit_cast<double>(place < 0 ? place ^ INT64_MAX : place);
}

// The first place after `before` of which it holds, up to `last`, of which it does.
template <typename Holds>
std::int64_t first_that(std::int64_t before, std::int64_t last, Holds holds) {
  while (static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(before) > 1) {
    const auto half = (static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(before)) / 2;
    const std::int64_t middle = before + static_cast<std::int64_t>(half);
    (holds(middle) ? last : before) = middle;
  }
  return last;
}

}  // namespace

void OrderedValues::add(const kde::AnyDensity& density, const kde::Range& range,
                        const kde::Interval& rows, bool out) {
  auto* piece = static_cast<Piece*>(palloc(sizeof(Piece)));
  *piece = {density, range, rows, out};
  // Those are of who asked.
  piece->density.sums.cuts = nullptr;
  pieces_ = lappend(pieces_, piece);
}

void OrderedValues::add(const OrderedValues& other, bool out) {
  for (const Piece* piece : of_list<const Piece>(other.pieces_))
    add(piece->density, piece->range, piece->rows, piece->out != out);
  for (int i = 0; i < other.read_count_; ++i) add_read(other.read_[i]);
}

void OrderedValues::add_read(double value) {
  if (read_count_ == room_) {
    constexpr int kFirst = 64;
    room_ = Max(2 * room_, kFirst);
    const Size bytes = sizeof(double) * static_cast<Size>(room_);
    read_ =
        static_cast<double*>(read_ == nullptr ? MemoryContextAllocHuge(CurrentMemoryContext, bytes)
                                              : repalloc_huge(read_, bytes));
  }
  read_[read_count_++] = value;
  sorted_ = false;
}

void OrderedValues::sort() {
  if (!sorted_) std::sort(read_, read_ + read_count_);
  sorted_ = true;
}

kde::Interval OrderedValues::count_to(double x, const kde::IntervalOptions& options) {
  CHECK_FOR_INTERRUPTS();
  constexpr double kPassedAsOne = 16;  // pieces that are not asked cost less
  asked_ += list_length(pieces_) / kPassedAsOne;
  const auto read = static_cast<double>(std::upper_bound(read_, read_ + read_count_, x) - read_);
  kde::Interval out = {read, read, read};
  for (const Piece* piece : of_list<const Piece>(pieces_)) {
    kde::Range range = piece->range;
    if (!range.upper_unbounded && range.upper <= x) {
      kde::add_up(&out, piece->rows, piece->out);
      continue;
    }
    range.upper = x;
    range.upper_unbounded = false;
    range.upper_inclusive = true;
    // A bound hardly beside a value is taken for it: here it is before or after it.
    const kde::Header& h = *piece->density.one_column;
    double place;
    if (h.lattice_step > 0 && h.is_at_lattice_point(x, &place)) {
      range.upper = h.lattice_point(place);
      range.upper_inclusive = range.upper <= x;
    }
    const bool has_none =
        !range.lower_unbounded &&
        (range.lower > range.upper ||
         (range.lower == range.upper && !(range.lower_inclusive && range.upper_inclusive)));
    if (has_none) continue;
    ++asked_;
    kde::OwnBox box;
    box.add(0, range, nullptr);
    const kde::Evidence there =
        kde::ask(kde::Wanted::count, piece->density, box.box(), kde::kRowsThemselves, options);
    kde::add_up(&out, kde::Interval(there.count), piece->out);
  }
  return out;
}

bool OrderedValues::find(double k, const ValueSteps& steps, const kde::IntervalOptions& options,
                         kde::Interval* value) {
  sort();
  double least = read_count_ > 0 ? read_[0] : HUGE_VAL;
  double most = read_count_ > 0 ? read_[read_count_ - 1] : -HUGE_VAL;
  for (const Piece* piece : of_list<const Piece>(pieces_)) {
    if (piece->out) continue;
    const kde::Header& h = *piece->density.one_column;
    const kde::Range& r = piece->range;
    least = std::min(least, r.lower_unbounded ? h.min : std::max(h.min, r.lower));
    most = std::max(most, r.upper_unbounded ? h.max : std::min(h.max, r.upper));
  }
  if (!std::isfinite(least) || !std::isfinite(most)) return false;
  const bool by_steps = steps.are_steps();
  const auto at = [&](std::int64_t place) { return by_steps ? steps.at(place) : double_at(place); };
  const auto nearest = [&](double x) { return by_steps ? steps.nearest(x) : place_of(x); };
  const std::int64_t before = nearest(least) - 1, last = nearest(most);
  if (count_to(at(last), options).lower < k) return false;
  const std::int64_t highest =
      first_that(before, last, [&](std::int64_t p) { return count_to(at(p), options).lower >= k; });
  std::int64_t lowest = highest, estimate = highest;
  if (highest - 1 > before && count_to(at(highest - 1), options).upper >= k) {
    lowest = first_that(before, highest - 1,
                        [&](std::int64_t p) { return count_to(at(p), options).upper >= k; });
    estimate = first_that(lowest - 1, highest,
                          [&](std::int64_t p) { return count_to(at(p), options).estimate >= k; });
  }
  *value = {at(estimate), at(lowest), at(highest)};
  return true;
}

const kde::AnyDensity* OrderedValues::whole() const {
  if (list_length(pieces_) != 1 || read_count_ > 0) return nullptr;
  const auto* piece = static_cast<const Piece*>(linitial(pieces_));
  const kde::Header& h = *piece->density.one_column;
  const kde::Range& r = piece->range;
  const bool is_whole = !piece->out && (r.lower_unbounded || r.lower < h.min) &&
                        (r.upper_unbounded || r.upper > h.max);
  return is_whole ? &piece->density : nullptr;
}

DistinctValues::DistinctValues(Oid type, Oid collation) : entries_() {
  TypeCacheEntry* of =
      lookup_type_cache(type, TYPECACHE_HASH_PROC | TYPECACHE_HASH_PROC_FINFO |
                                  TYPECACHE_EQ_OPR_FINFO | TYPECACHE_CMP_PROC_FINFO);
  key_ = {0, OidIsValid(of->hash_proc) ? &of->hash_proc_finfo : nullptr, &of->eq_opr_finfo,
          collation};
  order_ = &of->cmp_proc_finfo;
  by_value_ = of->typbyval;
  length_ = of->typlen;
}

void DistinctValues::add(Datum value, const kde::Interval& rows, bool out) {
  const bool none = false;
  const uint32 hash = hash_of(&key_, 1, &value, &none);
  const auto same = [&](const Entry& entry) {
    return is_same(&key_, 1, &entry.value, &none, &value, &none);
  };
  Entry* entry = entries_.find(hash, same);
  if (entry == nullptr) {
    entry = static_cast<Entry*>(palloc(sizeof(Entry)));
    *entry = {hash, datumCopy(value, by_value_, length_), {0, 0, 0}};
    entries_.add(entry);
  }
  kde::add_up(&entry->rows, rows, out);
}

void DistinctValues::add(const DistinctValues& other, bool out) {
  for (const Entry* entry : of_list<const Entry>(other.entries()))
    add(entry->value, entry->rows, out);
}

bool DistinctValues::count(double* n) const {
  *n = 0;
  for (const Entry* entry : of_list<const Entry>(entries())) {
    if (entry->rows.upper < 0.5) continue;
    if (entry->rows.lower < 0.5) return false;
    ++*n;
  }
  return true;
}

bool DistinctValues::most_frequent(const Entry** most) const {
  *most = nullptr;
  for (const Entry* entry : of_list<const Entry>(entries())) {
    if (entry->rows.upper < 0.5) continue;
    if (entry->rows.lower != entry->rows.upper) return false;
    const double more =
        *most == nullptr ? 1 : std::rint(entry->rows.estimate) - std::rint((*most)->rows.estimate);
    const bool is =
        more > 0 || (more == 0 && DatumGetInt32(FunctionCall2Coll(
                                      order_, key_.collation, entry->value, (*most)->value)) < 0);
    if (is) *most = entry;
  }
  return true;
}

}  // namespace kde_pg
