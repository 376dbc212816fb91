// Queries by which an index is looked up; all names in them are qualified, or found in pg_catalog.
#include "pg/fit/look_up.h"

#include "pg/base/pinned.h"
#include "pg/catalog/catalog.h"

extern "C" {
#include "access/genam.h"
#include "access/transam.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "executor/spi.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/typcache.h"
}

namespace kde_pg {

namespace {

bool is_btree(Oid index) {
  HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(index));
  if (!HeapTupleIsValid(tuple)) return false;
  const bool btree = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple))->relam == BTREE_AM_OID;
  ReleaseSysCache(tuple);
  return btree;
}

bool begins_index(Relation relation, AttrNumber attnum) {
  bool found = false;
  List* indexes = RelationGetIndexList(relation);
  ListCell* cell;
  foreach (cell, indexes) {
    HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(lfirst_oid(cell)));
    if (!HeapTupleIsValid(tuple)) continue;
    const auto* index = reinterpret_cast<Form_pg_index>(GETSTRUCT(tuple));
    found |= index->indisvalid && index->indkey.values[0] == attnum &&
             is_btree(index->indexrelid) && heap_attisnull(tuple, Anum_pg_index_indpred, nullptr);
    ReleaseSysCache(tuple);
  }
  list_free(indexes);
  return found;
}

const char* table_of(Relation relation) {
  return quote_qualified_identifier(get_namespace_name(RelationGetNamespace(relation)),
                                    RelationGetRelationName(relation));
}

}  // namespace

bool can_look_up(Relation relation, const KeyColumn& column) {
  if (column.attnum == 0) return false;
  const char kind = relation->rd_rel->relkind;
  if (kind != RELKIND_PARTITIONED_TABLE &&
      ((kind != RELKIND_RELATION && kind != RELKIND_MATVIEW) || relation->rd_rel->relhassubclass))
    return false;
  const Oid type = get_atttype(RelationGetRelid(relation), column.attnum);
  const TypeCacheEntry* entry = lookup_type_cache(type, TYPECACHE_EQ_OPR | TYPECACHE_LT_OPR);
  const auto own = [](Oid oper) { return OidIsValid(oper) && oper < FirstNormalObjectId; };
  return own(entry->eq_opr) && own(entry->lt_opr) && begins_index(relation, column.attnum);
}

bool number_values(Relation relation, const KeyColumn& column, Size most, Categories* values) {
  const char* table = table_of(relation);
  const char* name = quote_identifier(column.text);
  const char* query = psprintf(
      "WITH RECURSIVE v (x) AS ((SELECT t.%s FROM %s AS t WHERE t.%s IS NOT NULL ORDER BY t.%s "
      "LIMIT 1) UNION ALL SELECT (SELECT t.%s FROM %s AS t WHERE t.%s > v.x ORDER BY t.%s LIMIT 1) "
      "FROM v WHERE v.x IS NOT NULL) SELECT x FROM v WHERE x IS NOT NULL LIMIT %zu",
      name, table, name, name, name, table, name, name, most + 1);
  AsOwner owner;
  owner.begin(relation);
  if (SPI_connect() != SPI_OK_CONNECT) elog(ERROR, "SPI_connect failed");
  if (SPI_execute(query, true, 0) != SPI_OK_SELECT) elog(ERROR, "SPI_execute failed");
  const bool all = SPI_processed <= most;
  for (uint64 i = 0; all && i < SPI_processed; ++i) {
    bool is_null;
    (void)values->number(SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &is_null));
  }
  SPI_finish();
  owner.end();
  return all;
}

const char* with_values(const DensityKey& key, const KeyColumn& column, const Categories& values,
                        const uint32* numbers, Size n) {
  int32 typmod = -1;
  const Oid type = getBaseTypeAndTypmod(get_atttype(key.relation, column.attnum), &typmod);
  int16 length;
  bool by_value;
  char align;
  get_typlenbyvalalign(type, &length, &by_value, &align);
  auto* elements = static_cast<Datum*>(palloc_extended(sizeof(Datum) * n, MCXT_ALLOC_HUGE));
  for (Size i = 0; i < n; ++i) elements[i] = values.value(numbers[i]);
  ArrayType* array = construct_array(elements, static_cast<int>(n), type, length, by_value, align);
  PinnedSettings settings;
  settings.begin();
  const char* text = OidOutputFunctionCall(F_ARRAY_OUT, PointerGetDatum(array));
  settings.end();
  const char* one_of =
      psprintf("%s = ANY (%s::%s)", quote_identifier(column.text), quote_literal_cstr(text),
               format_type_extended(get_array_type(type), -1, FORMAT_TYPE_FORCE_QUALIFY));
  return key.has_filter() ? psprintf("(%s) AND %s", key.filter, one_of) : one_of;
}

}  // namespace kde_pg
