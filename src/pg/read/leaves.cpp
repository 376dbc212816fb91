// See leaves.h.
#include "pg/read/leaves.h"

#include "pg/read/row_reader.h"

extern "C" {
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
}

namespace kde_pg {

bool has_rows(Relation rel) {
  switch (rel->rd_rel->relkind) {
    case RELKIND_PARTITIONED_TABLE:
      return false;
    case RELKIND_RELATION:
    case RELKIND_FOREIGN_TABLE:
      return true;
    case RELKIND_MATVIEW:
      if (!RelationIsPopulated(rel))
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("materialized view \"%s\" has not been populated",
                               RelationGetRelationName(rel)),
                        errhint("Use the REFRESH MATERIALIZED VIEW command.")));
      return true;
    default:
      ereport(ERROR,
              (errcode(ERRCODE_WRONG_OBJECT_TYPE),
               errmsg("cannot read the rows of relation \"%s\"", RelationGetRelationName(rel)),
               errdetail("Only tables, partitioned tables, materialized views and foreign tables "
                         "can be read.")));
  }
  pg_unreachable();
}

List* leaf_relations(Relation relation, const DensityKey& key) {
  if (RowReader::needs_query(relation, key, relation))
    ereport(ERROR,
            (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
             errmsg("the parts of \"%s\" cannot be read apart", RelationGetRelationName(relation)),
             errdetail("A virtual generated column is computed by the whole table."),
             errhint("Leave incremental out.")));
  List* members = find_all_inheritors(RelationGetRelid(relation), AccessShareLock, nullptr);
  List* out = NIL;
  ListCell* cell;
  foreach (cell, members) {
    Relation rel = table_open(lfirst_oid(cell), NoLock);
    const bool wanted = !RELATION_IS_OTHER_TEMP(rel) && has_rows(rel);
    if (!wanted || !rel->rd_rel->relhassubclass ||
        find_inheritance_children(RelationGetRelid(rel), NoLock) == NIL) {
      if (wanted) out = lappend_oid(out, RelationGetRelid(rel));
    } else if (rel->rd_rel->relkind == RELKIND_FOREIGN_TABLE ||
               RelationGetNumberOfBlocks(rel) > 0) {
      ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                      errmsg("the parts of \"%s\" cannot be read apart",
                             RelationGetRelationName(relation)),
                      errdetail("\"%s\" has rows of its own beside those of its children.",
                                RelationGetRelationName(rel)),
                      errhint("Leave incremental out.")));
    }
    table_close(rel, NoLock);
  }
  list_free(members);
  return out;
}

}  // namespace kde_pg
