// See tally.h. A hash table by the types' own equality, as GROUP BY has it.
#include "pg/plain_sql/tally.h"

#include <algorithm>

extern "C" {
#include "common/hashfn.h"
#include "utils/datum.h"
}

namespace kde_pg {

namespace {

// So many at most are within what its magnitude stands for (query_datum.cpp).
constexpr double kSummands = 1024;

}  // namespace

void PlainTally::begin() {
  const PlainPlan& plan = state_.plan;
  const auto room = static_cast<Size>(state_.keys() + 1);
  column_ = static_cast<int*>(palloc(sizeof(int) * room));
  type_ = static_cast<TypeCacheEntry**>(palloc(sizeof(TypeCacheEntry*) * room));
  collation_ = static_cast<Oid*>(palloc(sizeof(Oid) * room));
  columns_ = 0;
  same_ = plan.other_column();
  for (int i = 0; i < state_.keys(); ++i) {
    const bool is_by =
        i < plan.groups ? (plan.by_groups >> i & 1) != 0 : i >= state_.keys() - plan.others;
    if (!is_by) continue;
    const Form_pg_attribute of = TupleDescAttr(state_.desc(), i);
    type_[columns_] = lookup_type_cache(
        of->atttypid, TYPECACHE_HASH_PROC | TYPECACHE_HASH_PROC_FINFO | TYPECACHE_EQ_OPR_FINFO);
    collation_[columns_] = of->attcollation;
    column_[columns_++] = i;
  }
}

uint32 PlainTally::hash_of(const PlainRow& key) const {
  uint32 hash = 0;
  for (int c = 0; c < columns_; ++c) {
    const int i = column_[c];
    // Those of a type without hashes, as bit is, are compared one by one.
    const uint32 own = key.nulls[i] || !OidIsValid(type_[c]->hash_proc)
                           ? 0
                           : DatumGetUInt32(FunctionCall1Coll(&type_[c]->hash_proc_finfo,
                                                              collation_[c], key.values[i]));
    hash = hash_combine(hash, own);
  }
  return murmurhash32(hash);
}

bool PlainTally::is_same(const PlainRow& a, const PlainRow& b) const {
  for (int c = 0; c < columns_; ++c) {
    const int i = column_[c];
    if (a.nulls[i] != b.nulls[i]) return false;
    if (!a.nulls[i] && !DatumGetBool(FunctionCall2Coll(&type_[c]->eq_opr_finfo, collation_[c],
                                                       a.values[i], b.values[i])))
      return false;
  }
  return true;
}

void PlainTally::grow() {
  const uint32 slots = Max(2 * slots_, 64u);
  auto** to = static_cast<Entry**>(palloc0(sizeof(Entry*) * slots));
  for (Entry* entry : of_list<Entry>(entries_)) {
    uint32 at = entry->hash & (slots - 1);
    while (to[at] != nullptr) at = (at + 1) & (slots - 1);
    to[at] = entry;
  }
  slot_ = to;
  slots_ = slots;
}

PlainTally::Entry* PlainTally::entry_of(const PlainRow& key) {
  if (columns_ < 0) begin();
  if (2 * static_cast<uint32>(list_length(entries_)) >= slots_) grow();
  const uint32 hash = hash_of(key);
  uint32 at = hash & (slots_ - 1);
  for (; slot_[at] != nullptr; at = (at + 1) & (slots_ - 1))
    if (slot_[at]->hash == hash && is_same(*slot_[at]->row, key)) return slot_[at];
  auto* entry = static_cast<Entry*>(palloc(sizeof(Entry)));
  kde::Range none;
  none.empty = true;
  *entry = {state_.new_row(), hash, {0, 0, 0}, none, nullptr};
  for (int c = 0; c < columns_; ++c) {
    const int i = column_[c];
    entry->row->nulls[i] = key.nulls[i];
    if (!key.nulls[i])
      entry->row->values[i] = datumCopy(key.values[i], type_[c]->typbyval, type_[c]->typlen);
  }
  if (same_ >= 0) {
    entry->row->values[state_.plan.column()] = entry->row->values[same_];
    entry->row->nulls[state_.plan.column()] = entry->row->nulls[same_];
  }
  const int n = state_.plan.aggregates;
  entry->answers = static_cast<PlainTotal*>(palloc(sizeof(PlainTotal) * static_cast<Size>(n + 1)));
  std::fill_n(entry->answers, n, PlainTotal());
  slot_[at] = entry;
  entries_ = lappend(entries_, entry);
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

void PlainTally::add(const PlainRow& key, const kde::Interval& there, const PlainTotal* answers,
                     bool out) {
  Entry* entry = entry_of(key);
  kde::add_up(&entry->there, there, out);
  for (int k = 0; k < state_.plan.aggregates; ++k) {
    PlainTotal& to = entry->answers[k];
    to.total.add(answers[k].total, out);
    to.together = true;
    to.magnitude += std::fabs(answers[k].total.sum.estimate) * Max(1, answers[k].parts / kSummands);
    kde::add_up(&to.zeros, answers[k].zeros, out);
    add_extreme(state_.plan.aggregate[k], answers[k], out, &to);
  }
}

void PlainTally::add(const RestRow& row) {
  PlainRow* key = state_.new_row();
  if (columns_ < 0) begin();
  for (int c = 0; c < columns_; ++c) {
    key->values[column_[c]] = row.values[c];
    key->nulls[column_[c]] = row.nulls[c];
  }
  Entry* entry = entry_of(*key);
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
    if (state_.plan.aggregate[k].answer < PlainAnswer::min || from.values == 0) continue;
    if (to.values_read > 0) elog(ERROR, "a group was read twice");
    to.values_read = from.values;
    const int at = state_.plan.first + state_.keys() + k;
    const Form_pg_attribute of = TupleDescAttr(state_.desc(), at);
    to.extreme_read = datumCopy(from.extreme, of->attbyval, of->attlen);
  }
}

}  // namespace kde_pg
