// See planned_leaves.h. The planner's own lists of partitions stay what they were while it plans.
#include "pg/plain_sql/planned_leaves.h"

#include "pg/proof/members.h"

extern "C" {
#include "access/table.h"
#include "optimizer/pathnode.h"
#include "parser/parsetree.h"
#include "partitioning/partdesc.h"
#include "utils/lsyscache.h"
}

namespace kde_pg {

namespace {

Oid table_of(PlannerInfo* root, Index number) { return planner_rt_fetch(number, root)->relid; }

// Of a partition that was pruned, which the planner did not look into: as it is now. The exact plan
// reads none of its rows.
uint64 leaves_beneath(Oid partition) {
  uint64 sum = 0;
  List* members = members_of(partition);
  for (const Oid oid : oids(members))
    if (get_rel_relkind(oid) != RELKIND_PARTITIONED_TABLE) sum += hash_of_leaf(oid);
  list_free(members);
  return sum;
}

uint64 leaves_of_partitioned(PlannerInfo* root, const RelOptInfo* rel) {
  check_stack_depth();
  Relation table = table_open(table_of(root, rel->relid), NoLock);
  const PartitionDesc desc = PartitionDirectoryLookup(root->glob->partition_directory, table);
  uint64 sum = 0;
  for (int i = 0; i < desc->nparts; ++i) {
    if (desc->is_leaf[i])
      sum += hash_of_leaf(desc->oids[i]);
    else if (i < rel->nparts && rel->part_rels[i] != nullptr)
      sum += leaves_of_partitioned(root, rel->part_rels[i]);
    else
      sum += leaves_beneath(desc->oids[i]);
  }
  table_close(table, NoLock);
  return sum;
}

}  // namespace

uint64 planned_leaves(PlannerInfo* root, Index number) {
  const RelOptInfo* rel = find_base_rel(root, static_cast<int>(number));
  const RangeTblEntry* rte = planner_rt_fetch(rel->relid, root);
  if (!rte->inh) return hash_of_leaf(rte->relid);
  if (rte->relkind == RELKIND_PARTITIONED_TABLE) return leaves_of_partitioned(root, rel);
  uint64 sum = 0;
  for (const AppendRelInfo* child : of_list<const AppendRelInfo>(root->append_rel_list))
    if (child->parent_relid == rel->relid) sum += hash_of_leaf(table_of(root, child->child_relid));
  return sum;
}

}  // namespace kde_pg
