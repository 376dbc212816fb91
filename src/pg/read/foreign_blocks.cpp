// Which foreign tables are read by block, and that: each block by one query, planned once, with its
// ends as parameters.
#include "pg/read/foreign_blocks.h"

#include "pg/progress/progress.h"
#include "pg/read/row_reader.h"

extern "C" {
#include "access/sysattr.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "nodes/bitmapset.h"
#include "nodes/plannodes.h"
#include "optimizer/optimizer.h"
#include "storage/itemptr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
}

#include <cstring>

namespace kde_pg {

namespace {

// By the library of the wrapper's handler, as a wrapper may have any name.
bool is_postgres_fdw(Relation rel) {
  const ForeignServer* server = GetForeignServer(GetForeignServerIdByRelId(RelationGetRelid(rel)));
  const Oid handler = GetForeignDataWrapper(server->fdwid)->fdwhandler;
  HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(handler));
  if (!HeapTupleIsValid(tuple)) return false;
  bool is_null;
  const Datum library = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_probin, &is_null);
  bool is = false;
  if (!is_null) {
    const char* path = TextDatumGetCString(library);
    const char* slash = strrchr(path, '/');
    is = strcmp(slash != nullptr ? slash + 1 : path, "postgres_fdw") == 0;
  }
  ReleaseSysCache(tuple);
  return is;
}

// In an SPI connection. Planned once, whatever the numbers.
SPIPlanPtr prepare_range(const char* query, bool has_condition) {
  Oid types[2] = {TIDOID, TIDOID};
  const char* text =
      psprintf("%s %s ctid OPERATOR(pg_catalog.>=) $1 AND ctid OPERATOR(pg_catalog.<) $2", query,
               has_condition ? "AND" : "WHERE");
  SPIPlanPtr plan =
      SPI_prepare_cursor(text, 2, types, CURSOR_OPT_GENERIC_PLAN | CURSOR_OPT_NO_SCROLL);
  if (plan == nullptr) elog(ERROR, "SPI_prepare failed");
  return plan;
}

// Whether nothing of what is asked of ctid is left to this server.
bool ships_range(SPIPlanPtr plan) {
  CachedPlan* cached = SPI_plan_get_cached_plan(plan);
  if (cached == nullptr) return false;
  bool ships = false;
  if (list_length(cached->stmt_list) == 1) {
    const Plan* top = linitial_node(PlannedStmt, cached->stmt_list)->planTree;
    if (IsA(top, ForeignScan)) {
      Bitmapset* used = nullptr;
      pull_varattnos(reinterpret_cast<Node*>(top->qual),
                     reinterpret_cast<const Scan*>(top)->scanrelid, &used);
      ships =
          !bms_is_member(SelfItemPointerAttributeNumber - FirstLowInvalidHeapAttributeNumber, used);
    }
  }
  ReleaseCachedPlan(cached, nullptr);
  return ships;
}

// In an SPI connection: one more than the last block with a row, but at least `blocks`.
BlockNumber end_of_blocks(Relation rel, BlockNumber blocks) {
  const char* text = psprintf(
      "SELECT pg_catalog.max(ctid) FROM ONLY %s WHERE ctid OPERATOR(pg_catalog.>=) "
      "'(%u,0)'::pg_catalog.tid",
      quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)),
                                 RelationGetRelationName(rel)),
      blocks);
  if (SPI_execute(text, true, 0) != SPI_OK_SELECT) elog(ERROR, "SPI_execute failed");
  bool is_null;
  const Datum last = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null);
  return is_null
             ? blocks
             : ItemPointerGetBlockNumber(reinterpret_cast<ItemPointer>(DatumGetPointer(last))) + 1;
}

Datum block_begin(uint64 block) {
  auto* tid = static_cast<ItemPointer>(palloc(sizeof(ItemPointerData)));
  ItemPointerSet(tid, static_cast<BlockNumber>(block), 0);
  return PointerGetDatum(tid);
}

}  // namespace

BlockNumber foreign_blocks(Relation rel, const char* query, bool has_condition) {
  if (!is_postgres_fdw(rel) || rel->rd_rel->relowner != GetUserId()) return 0;
  const FdwRoutine* wrapper = GetFdwRoutineForRelation(rel, false);
  AcquireSampleRowsFunc sampler;
  BlockNumber blocks = 0;
  if (wrapper->AnalyzeForeignTable == nullptr ||
      !wrapper->AnalyzeForeignTable(rel, &sampler, &blocks) || blocks == 0)
    return 0;
  if (SPI_connect() != SPI_OK_CONNECT) elog(ERROR, "SPI_connect failed");
  blocks = ships_range(prepare_range(query, has_condition)) ? end_of_blocks(rel, blocks) : 0;
  SPI_finish();
  return blocks;
}

void read_foreign_blocks(const char* query, bool has_condition, const uint64* chosen, uint64 count,
                         uint64 first, int64 blocks_before, RowReaders* readers) {
  if (SPI_connect() != SPI_OK_CONNECT) elog(ERROR, "SPI_connect failed");
  SPIPlanPtr plan = prepare_range(query, has_condition);
  for (uint64 i = 0; i < count; ++i) {
    readers->begin_block();
    Datum ends[2] = {block_begin(chosen[i] - first), block_begin(chosen[i] - first + 1)};
    Portal portal = SPI_cursor_open(nullptr, plan, ends, nullptr, true);
    readers->take_all(portal, 1, nullptr, nullptr);
    SPI_cursor_close(portal);
    for (const Datum end : ends) pfree(DatumGetPointer(end));
    progress_done(blocks_before + static_cast<int64>(i) + 1);
  }
  SPI_finish();
}

}  // namespace kde_pg
