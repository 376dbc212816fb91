// See tally.h.
#include "pg/plain_sql/tally.h"

#include "pg/plain_sql/query_datum.h"

#include <algorithm>

extern "C" {
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/datum.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"
}

namespace kde_pg {

namespace {

// So many at most are within what its magnitude stands for (query_datum.cpp).
constexpr double kSummands = 1024;

}  // namespace

void PlainTally::begin() {
  const PlainPlan& plan = state_.plan;
  const auto sets = static_cast<Size>(plan.sets + 1);
  key_ = static_cast<HashedValue**>(palloc(sizeof(HashedValue*) * sets));
  columns_ = static_cast<int*>(palloc0(sizeof(int) * sets));
  same_ = plan.other_column();
  for (int s = 0; s <= plan.sets; ++s) {
    key_[s] =
        static_cast<HashedValue*>(palloc(sizeof(HashedValue) * static_cast<Size>(plan.keys() + 1)));
    for (int i = 0; i < plan.keys(); ++i) {
      const bool is_by =
          i < plan.groups ? (plan.by_groups >> i & 1) != 0 : i >= plan.keys() - plan.others;
      if (!is_by || (s < plan.sets && !bms_is_member(i, plan.set[s]))) continue;
      const Form_pg_attribute of = TupleDescAttr(state_.desc(), i);
      TypeCacheEntry* type = lookup_type_cache(
          of->atttypid, TYPECACHE_HASH_PROC | TYPECACHE_HASH_PROC_FINFO | TYPECACHE_EQ_OPR_FINFO);
      FmgrInfo* hash = OidIsValid(type->hash_proc) ? &type->hash_proc_finfo : nullptr;
      key_[s][columns_[s]++] = {i, hash, &type->eq_opr_finfo, of->attcollation};
    }
  }
}

PlainTally::Entry* PlainTally::entry_of(const PlainRow& key, int set) {
  if (key_ == nullptr) begin();
  const HashedValue* by = key_[set];
  const int columns = columns_[set];
  const uint32 hash =
      hash_combine(hash_of(by, columns, key.values, key.nulls), static_cast<uint32>(set));
  const auto same = [&](const Entry& entry) {
    return entry.set == set &&
           is_same(by, columns, entry.row->values, entry.row->nulls, key.values, key.nulls);
  };
  if (Entry* there = entries_.find(hash, same)) return there;
  auto* entry = static_cast<Entry*>(palloc(sizeof(Entry)));
  kde::Range none;
  none.empty = true;
  *entry = {state_.new_row(), hash, set, {0, 0, 0}, none, nullptr};
  for (int c = 0; c < columns; ++c) {
    const int i = by[c].place;
    const Form_pg_attribute of = TupleDescAttr(state_.desc(), i);
    entry->row->nulls[i] = key.nulls[i];
    if (!key.nulls[i]) entry->row->values[i] = datumCopy(key.values[i], of->attbyval, of->attlen);
  }
  if (same_ >= 0) {
    entry->row->values[state_.plan.column()] = entry->row->values[same_];
    entry->row->nulls[state_.plan.column()] = entry->row->nulls[same_];
  }
  const int n = state_.plan.aggregates;
  entry->answers = static_cast<PlainTotal*>(palloc(sizeof(PlainTotal) * static_cast<Size>(n + 1)));
  std::fill_n(entry->answers, n, PlainTotal());
  entries_.add(entry);
  return entry;
}

// Of a density's values; it is not known where that of one source is not.
void PlainTally::add_extreme(const PlainAggregate& a, const PlainTotal& from, bool out,
                             PlainTotal* to) const {
  if (from.total.count.upper < 0.5) return;
  bool* any = out ? &to->any_out : &to->any;
  double* extreme = out ? &to->extreme_out : &to->extreme;
  const bool is_further =
      a.answer == PlainAnswer::max ? from.extreme > *extreme : from.extreme < *extreme;
  if (!*any || is_further || std::isnan(from.extreme)) *extreme = from.extreme;
  *any = true;
}

void PlainTally::add(const Entry& of, const kde::Interval& there, const PlainTotal* answers,
                     bool out) {
  Entry* entry = entry_of(*of.row, of.set);
  kde::add_up(&entry->there, there, out);
  for (int k = 0; k < state_.plan.aggregates; ++k) {
    PlainTotal& to = entry->answers[k];
    to.total.add(answers[k].total, out);
    to.together = true;
    to.magnitude += std::fabs(answers[k].total.sum.estimate) * Max(1, answers[k].parts / kSummands);
    kde::add_up(&to.zeros, answers[k].zeros, out);
    add_extreme(state_.plan.aggregate[k], answers[k], out, &to);
    if (answers[k].ordered != nullptr) to.its_ordered()->add(*answers[k].ordered, out);
    if (answers[k].differing != nullptr)
      to.its_differing(state_.plan.aggregate[k])->add(*answers[k].differing, out);
  }
}

// Values that were read one by one.
void PlainTally::add_list(const PlainAggregate& a, const RestTotal& from, PlainTotal* to) const {
  if (from.list == nullptr) return;
  const Oid type = ARR_ELEMTYPE(from.list);
  int16 length;
  bool by_value;
  char align;
  get_typlenbyvalalign(type, &length, &by_value, &align);
  // Of a percentile perhaps cast to double precision.
  kde::ValueType as_read = a.type;
  if (!a.is_of_differing() && !value_type_of(type, &as_read))
    elog(ERROR, "type %u is not one of values", type);
  Datum* values;
  int n;
  deconstruct_array(from.list, type, length, by_value, align, &values, nullptr, &n);
  for (int i = 0; i < n; ++i) {
    CHECK_FOR_INTERRUPTS();
    if (a.is_of_differing()) {
      to->its_differing(a)->add(values[i], {1, 1, 1}, false);
      continue;
    }
    to->its_ordered()->add_read(value_to_double(as_read, values[i]));
    if (as_read == kde::ValueType::numeric)
      to->decimals =
          Max(to->decimals, DatumGetInt32(DirectFunctionCall1(numeric_min_scale, values[i])));
  }
}

void PlainTally::add(const RestRow& row) {
  PlainRow* key = state_.new_row();
  const int sets = state_.plan.sets;
  if (key_ == nullptr) begin();
  for (int c = 0; c < columns_[sets]; ++c) {
    key->values[key_[sets][c].place] = row.values[c];
    key->nulls[key_[sets][c].place] = row.nulls[c];
  }
  for (int set = 0; set < Max(sets, 1); ++set) add(row, entry_of(*key, set));
}

void PlainTally::add(const RestRow& row, Entry* entry) {
  kde::add_up(&entry->there, {row.rows, row.rows, row.rows});
  for (int k = 0; k < state_.plan.aggregates; ++k) {
    const RestTotal& from = row.total[k];
    PlainTotal& to = entry->answers[k];
    kde::Total more;
    more.count = {from.values, from.values, from.values};
    more.sum = {from.sum, from.sum, from.sum};
    to.total.add(more, false);
    to.together = true;
    to.magnitude += std::fabs(from.sum);
    kde::add_up(&to.zeros, {from.zeros, from.zeros, from.zeros});
    to.decimals = Max(to.decimals, from.decimals);
    add_list(state_.plan.aggregate[k], from, &to);
    if (!state_.plan.aggregate[k].is_extreme() || from.values == 0) continue;
    const int at = state_.plan.first + state_.keys() + k;
    const Form_pg_attribute of = TupleDescAttr(state_.desc(), at);
    const bool is_further = to.values_read == 0 || reaches(state_.plan.aggregate[k], of->atttypid,
                                                           from.extreme, to.extreme_read);
    to.values_read += from.values;
    if (!is_further) continue;
    to.extreme_read = datumCopy(from.extreme, of->attbyval, of->attlen);
  }
}

}  // namespace kde_pg
