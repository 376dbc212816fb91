// The differences between PostgreSQL 15 and 19 that the glue meets, and nothing else.
#pragma once

#if PG_VERSION_NUM < 150000
#error "kde_aqp needs PostgreSQL 15 or newer"
#endif

extern "C" {
#if PG_VERSION_NUM >= 160000
#include "nodes/miscnodes.h"
#include "varatt.h"
#endif
}

// 16: input functions may report bad input softly (pg_input_is_valid). Before, every error is hard.
#if PG_VERSION_NUM < 160000
#define ereturn(escontext, dummy_value, ...) \
  do {                                       \
    (void)(escontext);                       \
    ereport(ERROR, __VA_ARGS__);             \
    return dummy_value;                      \
  } while (0)
#endif

// 17: intervals may be infinite.
#if PG_VERSION_NUM >= 170000
#define KDE_INTERVAL_HAS_INFINITY 1
#else
#define KDE_INTERVAL_HAS_INFINITY 0
#define INTERVAL_IS_NOBEGIN(i) ((void)(i), false)
#define INTERVAL_IS_NOEND(i) ((void)(i), false)
#define INTERVAL_NOBEGIN(i) ((void)(i))
#define INTERVAL_NOEND(i) ((void)(i))
#endif

// 16: an option that there is may be asked for by its name. Macros: most files do not need guc_tables.h.
#if PG_VERSION_NUM >= 160000
#define option_named(n) find_option(n, false, true, 0)
#else
#define option_named(n)                                                           \
  *std::find_if(get_guc_variables(), get_guc_variables() + GetNumConfigOptions(), \
                [](const config_generic* of) { return strcmp(of->name, n) == 0; })
#endif

// 16: a relation's file goes by another name. A macro: most files do not need rel.h.
#if PG_VERSION_NUM >= 160000
#define file_of(relation) ((relation)->rd_locator.relNumber)
#else
#define file_of(relation) ((relation)->rd_node.relNode)
#endif

// 16: the same of whether this transaction made it.
#if PG_VERSION_NUM >= 160000
#define file_is_new(relation)                                          \
  ((relation)->rd_createSubid != InvalidSubTransactionId ||            \
   (relation)->rd_newRelfilelocatorSubid != InvalidSubTransactionId || \
   (relation)->rd_firstRelfilelocatorSubid != InvalidSubTransactionId)
#else
#define file_is_new(relation)                                       \
  ((relation)->rd_createSubid != InvalidSubTransactionId ||         \
   (relation)->rd_newRelfilenodeSubid != InvalidSubTransactionId || \
   (relation)->rd_firstRelfilenodeSubid != InvalidSubTransactionId)
#endif

// 16: what a query is grouped by lies in the planner's own list. A macro: most files do not need
// pathnodes.h.
#if PG_VERSION_NUM >= 160000
#define processed_groups(root) ((root)->processed_groupClause)
#else
#define processed_groups(root) ((root)->parse->groupClause)
#endif

// 18: what a query is grouped by bears the mark that grouping sets may make it NULL. A macro: as above.
#if PG_VERSION_NUM >= 180000
#define as_before_grouping(root, node)                                                   \
  ((root)->group_rtindex > 0 && (root)->parse->groupingSets != NIL                       \
       ? remove_nulling_relids(node, bms_make_singleton((root)->group_rtindex), nullptr) \
       : (node))
#else
#define as_before_grouping(root, node) (node)
#endif

// 17: rows that an old snapshot sees are never removed. A macro: most files do not need snapmgr.h.
#if PG_VERSION_NUM >= 170000
#define snapshots_may_age() false
#else
#define snapshots_may_age() (old_snapshot_threshold >= 0)
#endif

// 17: whether this backend holds a lock may be asked of stronger ones, too. A macro: as above.
#if PG_VERSION_NUM >= 170000
#define holds_lock(tag, mode) LockHeldByMe(tag, mode, false)
#else
#define holds_lock(tag, mode) LockHeldByMe(tag, mode)
#endif

// 17: a backend's local transaction goes by another name. A macro: most files do not need proc.h.
#if PG_VERSION_NUM >= 170000
#define this_transaction() (MyProc->vxid.lxid)
#else
#define this_transaction() (MyProc->lxid)
#endif

// 18: generated columns that are computed when read (pg_attribute.attgenerated).
#if PG_VERSION_NUM < 180000
#define ATTRIBUTE_GENERATED_VIRTUAL 'v'
#endif

// 18: a constraint that is NOT VALID does not hold for the rows there were. A macro, as above.
#if PG_VERSION_NUM >= 180000
#define is_not_null(desc, i) (TupleDescCompactAttr(desc, i)->attnullability == ATTNULLABLE_VALID)
#else
#define is_not_null(desc, i) (TupleDescAttr(desc, i)->attnotnull)
#endif

// 18: index scans take counters for EXPLAIN, and 19: flags. A macro: most files do not need genam.h.
#if PG_VERSION_NUM >= 190000
#define begin_index_scan(table, index, snapshot, keys) \
  index_beginscan(table, index, snapshot, nullptr, keys, 0, 0)
#elif PG_VERSION_NUM >= 180000
#define begin_index_scan(table, index, snapshot, keys) \
  index_beginscan(table, index, snapshot, nullptr, keys, 0)
#else
#define begin_index_scan(table, index, snapshot, keys) \
  index_beginscan(table, index, snapshot, keys, 0)
#endif

// 16: what is checked of a query's tables lies beside them. A macro: most files do not need
// executor.h.
#if PG_VERSION_NUM >= 160000
#define check_range_table(query) \
  (void)ExecCheckPermissions((query)->rtable, (query)->rteperminfos, true)
#else
#define check_range_table(query) (void)ExecCheckRTPerms((query)->rtable, true)
#endif

// 18: a plan is run without saying that it is once. A macro: most files do not need executor.h.
#if PG_VERSION_NUM >= 180000
#define run_once(query) ExecutorRun(query, ForwardScanDirection, 0)
#else
#define run_once(query) ExecutorRun(query, ForwardScanDirection, 0, true)
#endif

// 18: who explains counts the tables of a query, but those that stand for groups.
#if PG_VERSION_NUM >= 180000
#define range_table_size(es) ((es)->rtable_size)
#else
#define range_table_size(es) list_length((es)->rtable)
#endif

// 19: the system's caches are told apart by their enumeration. A macro: most files do not need
// syscache.h.
#if PG_VERSION_NUM >= 190000
#define CacheNumber SysCacheIdentifier
#else
#define CacheNumber int
#endif

// 19: deleting takes options.
#if PG_VERSION_NUM >= 190000
#define delete_at(relation, tid, wait, failure)                                    \
  table_tuple_delete(relation, tid, GetCurrentCommandId(true), 0, InvalidSnapshot, \
                     InvalidSnapshot, wait, failure)
#else
#define delete_at(relation, tid, wait, failure)                                                  \
  table_tuple_delete(relation, tid, GetCurrentCommandId(true), InvalidSnapshot, InvalidSnapshot, \
                     wait, failure, false)
#endif

// 19: conversions that may overflow say so as a soft error. Before, in an int.
#if PG_VERSION_NUM >= 190000
#define KDE_OVERFLOW(name) ErrorSaveContext name = {T_ErrorSaveContext, false, false, nullptr}
#define has_overflowed(name) ((name).error_occurred)
#define with_zone_of_date(value, name) \
  date2timestamptz_safe(value, reinterpret_cast<Node*>(&(name)))
#define with_zone_of_timestamp(value, name) \
  timestamp2timestamptz_safe(value, reinterpret_cast<Node*>(&(name)))
#else
#define KDE_OVERFLOW(name) int name = 0
#define has_overflowed(name) ((name) != 0)
#define with_zone_of_date(value, name) date2timestamptz_opt_overflow(value, &(name))
#define with_zone_of_timestamp(value, name) timestamp2timestamptz_opt_overflow(value, &(name))
#endif

// 19: the planner may be told what is explained. A macro: most files do not need planner.h. With
// the hooks of all: those within the server's planner may rely on those around it.
#if PG_VERSION_NUM >= 190000
#define plan_in_passing(query, text) planner(query, text, 0, nullptr, nullptr)
#define plan_query(query, text) pg_plan_query(query, text, 0, nullptr, nullptr)
#else
#define plan_in_passing(query, text) planner(query, text, 0, nullptr)
#define plan_query(query, text) pg_plan_query(query, text, 0, nullptr)
#endif

// 19: what others know of a table the planner asks elsewhere. Macros: the hooks are in plancat.h and,
// since, in pathnode.h.
#if PG_VERSION_NUM >= 190000
#define relation_hook build_simple_rel_hook
#define relation_hook_type build_simple_rel_hook_type
#else
#define relation_hook get_relation_info_hook
#define relation_hook_type get_relation_info_hook_type
#endif

// 17 and 19: EXPLAIN has more options that need ANALYZE. A macro: most files do not need explain.h.
#if PG_VERSION_NUM >= 190000
#define unset_newer_analyze_options(es) ((es)->serialize = EXPLAIN_SERIALIZE_NONE, (es)->io = false)
#elif PG_VERSION_NUM >= 170000
#define unset_newer_analyze_options(es) ((es)->serialize = EXPLAIN_SERIALIZE_NONE)
#else
#define unset_newer_analyze_options(es) ((void)(es))
#endif
