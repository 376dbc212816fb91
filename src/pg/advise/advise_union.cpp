// See advise_union.h.
#include "pg/advise/advise_union.h"

#include "pg/advise/advise_cost.h"

extern "C" {
#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_statistic_ext_data.h"
#include "statistics/statistics.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"
}

#include <algorithm>
#include <limits>

namespace kde_pg {

namespace {

// Densities that could be fitted, by groups, of one column and of the same rows.
bool are_alike(const AdvisedDensity& a, const AdvisedDensity& b) {
  const DensityKey& x = a.key;
  const DensityKey& y = b.key;
  return a.kin == b.kin && !a.fitted && !b.fitted && x.relation == y.relation && x.columns == 1 &&
         y.columns == 1 && x.groups > 0 && y.groups > 0 && same_column(x.column[0], y.column[0]) &&
         strcmp(x.filter, y.filter) == 0;
}

bool is_by(const DensityKey& key, const KeyColumn& column) {
  for (int i = 0; i < key.groups; ++i)
    if (same_column(key.column[1 + i], column)) return true;
  return false;
}

double distinct_of(Oid statistics, bool of_tree, const Bitmapset* columns) {
  double out = std::numeric_limits<double>::infinity();
  HeapTuple tuple =
      SearchSysCache2(STATEXTDATASTXOID, ObjectIdGetDatum(statistics), BoolGetDatum(of_tree));
  if (!HeapTupleIsValid(tuple)) return out;
  bool is_null;
  (void)SysCacheGetAttr(STATEXTDATASTXOID, tuple, Anum_pg_statistic_ext_data_stxdndistinct,
                        &is_null);
  ReleaseSysCache(tuple);
  if (is_null) return out;
  const MVNDistinct* all = statext_ndistinct_load(statistics, of_tree);
  for (uint32 i = 0; i < all->nitems; ++i) {
    const MVNDistinctItem& item = all->items[i];
    Bitmapset* of = nullptr;
    // Expressions have numbers below 0, and no key has those.
    for (int k = 0; k < item.nattributes; ++k) of = bms_add_member(of, Max(item.attributes[k], 0));
    if (bms_equal(of, columns)) out = item.ndistinct;
  }
  return out;
}

// Of all rows, as extended statistics of these columns know; infinite: there are none.
double known_groups(const DensityKey& key) {
  double out = std::numeric_limits<double>::infinity();
  Bitmapset* columns = nullptr;
  for (int i = 0; i < key.groups; ++i) {
    if (key.column[1 + i].attnum <= 0) return out;
    columns = bms_add_member(columns, key.column[1 + i].attnum);
  }
  Relation relation = try_relation_open(key.relation, AccessShareLock);
  if (relation == nullptr) return out;
  const bool of_tree = relation->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
  List* statistics = RelationGetStatExtList(relation);
  for (const Oid oid : oids(statistics)) out = std::min(out, distinct_of(oid, of_tree, columns));
  relation_close(relation, NoLock);
  return out;
}

}  // namespace

bool is_within(const AdvisedDensity& a, const AdvisedDensity& b) {
  if (!are_alike(a, b) || a.key.groups >= b.key.groups) return false;
  for (int i = 0; i < a.key.groups; ++i)
    if (!is_by(b.key, a.key.column[1 + i])) return false;
  return true;
}

AdvisedDensity* union_of(Advice* advice, const AdvisedDensity& a, const AdvisedDensity& b) {
  if (!are_alike(a, b)) return nullptr;
  AdvisedDensity bare = a;
  DensityKey& key = bare.key;
  for (int i = 0; i < b.key.groups; ++i) {
    if (is_by(key, b.key.column[1 + i])) continue;
    if (key.groups == kde::kMaxGroupBy) return nullptr;
    bare.groups *= b.by_distinct[i];
    bare.by_distinct[key.groups] = b.by_distinct[i];
    key.column[1 + key.groups++] = b.key.column[1 + i];
  }
  bare.groups = std::min({bare.groups, bare.rows, known_groups(key)});
  if (key.groups == a.key.groups || !fits_whole(bare, 0)) return nullptr;
  AdvisedDensity* out = advised_density(advice, key, false);
  if (out->rows > 0) return out;
  out->rows = bare.rows;
  out->pages = bare.pages;
  out->guessed = bare.guessed;
  out->own_is_fitted = a.own_is_fitted;
  out->readable = a.readable && b.readable;
  out->distinct = bare.distinct;
  out->hours = bare.hours;
  out->groups = bare.groups;
  std::copy_n(bare.by_distinct, key.groups, out->by_distinct);
  return out;
}

}  // namespace kde_pg
