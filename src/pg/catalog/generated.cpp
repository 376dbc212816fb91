// By which expressions virtual generated columns are computed: read from pg_attrdef, through its
// index, and compared by a hash.
#include "pg/catalog/generated.h"

#include "pg/base/text_list.h"

extern "C" {
#include "access/genam.h"
#include "catalog/pg_attrdef.h"
#include "catalog/pg_attribute.h"
}

#include <algorithm>
#include <tuple>

namespace kde_pg {

namespace {

auto place_of(const GeneratedColumn& c) { return std::make_tuple(c.relation, c.attnum); }

#if PG_VERSION_NUM >= 180000

bool is_virtual(Oid relation, AttrNumber attnum) {
  HeapTuple tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relation), Int16GetDatum(attnum));
  if (!HeapTupleIsValid(tuple)) return false;
  const Form_pg_attribute form = reinterpret_cast<Form_pg_attribute>(GETSTRUCT(tuple));
  const bool found = !form->attisdropped && form->attgenerated == ATTRIBUTE_GENERATED_VIRTUAL;
  ReleaseSysCache(tuple);
  return found;
}

bool has_virtual(Oid relation) {
  HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
  if (!HeapTupleIsValid(tuple)) return false;
  const AttrNumber columns = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple))->relnatts;
  ReleaseSysCache(tuple);
  for (AttrNumber k = 1; k <= columns; ++k) {
    if (is_virtual(relation, k)) return true;
  }
  return false;
}

// Adds those of one relation.
void read_one(Relation defaults, Oid relation, int* room, GeneratedColumns* out) {
  ScanKeyData key;
  ScanKeyInit(&key, Anum_pg_attrdef_adrelid, BTEqualStrategyNumber, F_OIDEQ,
              ObjectIdGetDatum(relation));
  SysScanDesc scan = systable_beginscan(defaults, AttrDefaultIndexId, true, nullptr, 1, &key);
  HeapTuple tuple;
  while (HeapTupleIsValid(tuple = systable_getnext(scan))) {
    const AttrNumber attnum = reinterpret_cast<Form_pg_attrdef>(GETSTRUCT(tuple))->adnum;
    bool is_null;
    const Datum stored =
        heap_getattr(tuple, Anum_pg_attrdef_adbin, RelationGetDescr(defaults), &is_null);
    if (is_null || !is_virtual(relation, attnum)) continue;
    if (out->count == *room) {
      *room = Max(16, 2 * *room);
      const Size bytes = sizeof(GeneratedColumn) * static_cast<Size>(*room);
      out->column = static_cast<GeneratedColumn*>(
          out->column == nullptr ? palloc(bytes) : repalloc(out->column, bytes));
    }
    const char* expression = TextDatumGetCString(stored);
    out->column[out->count++] = {relation, attnum, static_cast<int64>(hash_text(expression))};
  }
  systable_endscan(scan);
}

#endif

}  // namespace

GeneratedColumns read_generated(Oid relation, const List* members) {
  GeneratedColumns out;
#if PG_VERSION_NUM >= 180000
  if (!has_virtual(relation)) return out;
  int room = 0;
  Relation defaults = table_open(AttrDefaultRelationId, AccessShareLock);
  for (const Oid oid : oids(members)) read_one(defaults, oid, &room, &out);
  table_close(defaults, AccessShareLock);
  std::sort(out.column, out.column + out.count,
            [](const auto& a, const auto& b) { return place_of(a) < place_of(b); });
#endif
  return out;
}

const char* expression_changed(const GeneratedColumns& then, const GeneratedColumns& now) {
  for (int i = 0, j = 0; i < then.count && j < now.count;) {
    const GeneratedColumn& a = then.column[i];
    const GeneratedColumn& b = now.column[j];
    if (place_of(a) == place_of(b) && a.expression != b.expression) {
      const char* name = get_attname(b.relation, b.attnum, true);
      if (name != nullptr) return name;
    }
    if (!(place_of(b) < place_of(a))) ++i;
    if (!(place_of(a) < place_of(b))) ++j;
  }
  return nullptr;
}

}  // namespace kde_pg
