// The members of partition and inheritance trees by pg_inherits, and Citus's tables by its own
// catalog.
#include "pg/proof/members.h"

extern "C" {
#include "access/genam.h"
#include "catalog/dependency.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_namespace.h"
#include "commands/extension.h"
#include "storage/lockdefs.h"
}

namespace kde_pg {

List* members_of(Oid relation) {
  List* members = list_make1_oid(relation);
  for (int i = 0; i < list_length(members); ++i) {
    const Oid member = list_nth_oid(members, i);
    HeapTuple row = SearchSysCache1(RELOID, ObjectIdGetDatum(member));
    if (!HeapTupleIsValid(row)) continue;
    const Form_pg_class form = reinterpret_cast<Form_pg_class>(GETSTRUCT(row));
    const bool has_children = form->relhassubclass;
    // A partition has one parent: none comes twice, of perhaps thousands.
    const bool is_tree = form->relkind == RELKIND_PARTITIONED_TABLE;
    ReleaseSysCache(row);
    if (!has_children) continue;
    List* children = find_inheritance_children(member, NoLock);
    members = is_tree ? list_concat(members, children) : list_concat_unique_oid(members, children);
  }
  list_sort(members, list_oid_cmp);
  return members;
}

bool is_of_shards(Oid relation) {
  // One of its options, looked for in less than a microsecond: answers ask this in every command.
  if (GetConfigOption("citus.shard_count", true, false) == nullptr) return false;
  const Oid extension = get_extension_oid("citus", true);
  if (!OidIsValid(extension)) return false;
  const Oid tables = get_relname_relid("pg_dist_partition", PG_CATALOG_NAMESPACE);
  if (!OidIsValid(tables) || getExtensionOfObject(RelationRelationId, tables) != extension)
    return false;
  const AttrNumber column = get_attnum(tables, "logicalrelid");
  Relation rel = try_table_open(tables, AccessShareLock);
  if (rel == nullptr) return false;
  ScanKeyData key;
  ScanKeyInit(&key, column, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relation));
  SysScanDesc scan = systable_beginscan(rel, InvalidOid, false, nullptr, 1, &key);
  const bool found = HeapTupleIsValid(systable_getnext(scan));
  systable_endscan(scan);
  table_close(rel, AccessShareLock);
  return found;
}

}  // namespace kde_pg
