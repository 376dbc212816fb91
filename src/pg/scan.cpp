// The reading of a column declared in scan.h.
//
// Blocks are read by TID range scans, the one interface of table access methods (14 to 18) that
// names blocks: one scan per leaf, moved from run to run of consecutive chosen blocks. A rescan
// keeps the scan's flags, so a large table goes through a ring of buffers, not through all of
// them, and the blocks of the next runs are prefetched here, because the scan itself looks no
// further than its range.
#include "pg/pg.h"

extern "C" {
#include "storage/predicate.h"
#include "access/attnum.h"
#include "access/relscan.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_am.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/spccache.h"
}

#include "pg/block_sample.h"
#include "pg/scan.h"

namespace kde_pg {

namespace {

// Rows between looks at interrupts and resets of the conversions' memory.
constexpr int kRowsPerBreath = 1000;
constexpr long kRowsPerFetch = 10000;

// The blocks' choice and the sampler get the same seed; their streams must differ.
constexpr uint64 kSeedSalt = UINT64CONST(0x9e3779b97f4a7c15);

// A relation with rows of its own.
struct Leaf {
  Oid relation;
  AttrNumber attnum;
  bool by_block;       // chosen blocks can be read alone
  BlockNumber blocks;  // 0 unless by_block
};

struct Leaves {
  Leaf* items;
  int count;
  uint64 blocks;
};

// Where rows go.
struct Reader {
  kde::ValueType value_type;
  kde::Sampler* sampler;
  const char* doing;         // for error messages
  MemoryContext row_memory;  // what conversions leave behind
  int rows_since_breath;
};

void take_breath(Reader* reader) {
  CHECK_FOR_INTERRUPTS();
  MemoryContextReset(reader->row_memory);
  reader->rows_since_breath = 0;
}

void take(Reader* reader, Datum value, bool is_null) {
  if (is_null) {
    reader->sampler->add_null();
  } else {
    MemoryContext previous = MemoryContextSwitchTo(reader->row_memory);
    const double x = value_to_double(reader->value_type, value);
    MemoryContextSwitchTo(previous);
    const kde::Status status = reader->sampler->add(x);
    if (unlikely(!status.ok())) check_status(status, reader->doing);
  }
  if (++reader->rows_since_breath >= kRowsPerBreath) take_breath(reader);
}

// --------------------------------------------------------------------------------- leaves

bool is_virtual(Relation rel, AttrNumber attnum) {
  return TupleDescAttr(RelationGetDescr(rel), attnum - 1)->attgenerated ==
         ATTRIBUTE_GENERATED_VIRTUAL;
}

// False for relations without rows of their own. Errors: 42809, 55000 for what cannot be read.
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

Leaves collect_leaves(Oid relation, const char* column) {
  // The relation itself comes first, its descendants in an order that does not change.
  List* members = find_all_inheritors(relation, AccessShareLock, nullptr);
  Leaves leaves = {};
  leaves.items = static_cast<Leaf*>(palloc(list_length(members) * sizeof(Leaf)));
  ListCell* cell;
  foreach (cell, members) {
    Relation rel = table_open(lfirst_oid(cell), NoLock);
    const bool foreign_session = RELATION_IS_OTHER_TEMP(rel);
    if (foreign_session && RelationGetRelid(rel) == relation)
      ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                      errmsg("cannot access temporary tables of other sessions")));
    if (!foreign_session && has_rows(rel)) {
      Leaf leaf = {};
      leaf.relation = RelationGetRelid(rel);
      leaf.attnum = get_attnum(leaf.relation, column);
      if (leaf.attnum == InvalidAttrNumber)
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
                        errmsg("column \"%s\" of relation \"%s\" does not exist", column,
                               RelationGetRelationName(rel))));
      leaf.by_block = rel->rd_rel->relkind != RELKIND_FOREIGN_TABLE && rel->rd_tableam != nullptr &&
                      rel->rd_tableam->scan_set_tidrange != nullptr &&
                      !is_virtual(rel, leaf.attnum);
      if (leaf.by_block) leaf.blocks = RelationGetNumberOfBlocks(rel);
      leaves.blocks += leaf.blocks;
      leaves.items[leaves.count++] = leaf;
    }
    table_close(rel, NoLock);
  }
  list_free(members);
  return leaves;
}

// ------------------------------------------------------------------------- ways to read a leaf

// Every row, or each with probability `keep` where it is below 1.
void read_whole(Relation rel, AttrNumber attnum, Snapshot snapshot, double keep,
                kde::Random* random, Reader* reader) {
  TupleTableSlot* slot = table_slot_create(rel, nullptr);
  TableScanDesc scan = table_beginscan_strat(rel, snapshot, 0, nullptr, true, false);
  while (table_scan_getnextslot(scan, ForwardScanDirection, slot)) {
    if (keep < 1) {
      if (random->uniform() >= keep) {
        if (++reader->rows_since_breath >= kRowsPerBreath) take_breath(reader);
        continue;
      }
      reader->sampler->begin_block();  // rows drawn one by one
    }
    bool is_null;
    const Datum value = slot_getattr(slot, attnum, &is_null);
    take(reader, value, is_null);
  }
  table_endscan(scan);
  ExecDropSingleTupleTableSlot(slot);
}

// The same where rows do not lie in a table of this server, or the column is computed when read.
void read_by_query(Relation rel, AttrNumber attnum, double keep, kde::Random* random,
                   Reader* reader) {
  const char* column = NameStr(TupleDescAttr(RelationGetDescr(rel), attnum - 1)->attname);
  const char* name = quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)),
                                                RelationGetRelationName(rel));
  const char* query = psprintf("SELECT %s FROM ONLY %s", quote_identifier(column), name);
  if (SPI_connect() != SPI_OK_CONNECT) elog(ERROR, "SPI_connect failed");
  // Read-only: under the active snapshot, like the other ways.
  Portal portal = SPI_cursor_open_with_args(nullptr, query, 0, nullptr, nullptr, nullptr, true,
                                            CURSOR_OPT_NO_SCROLL);
  for (;;) {
    SPI_cursor_fetch(portal, true, kRowsPerFetch);
    const uint64 fetched = SPI_processed;
    SPITupleTable* rows = SPI_tuptable;
    for (uint64 i = 0; i < fetched; ++i) {
      if (keep < 1) {
        if (random->uniform() >= keep) continue;
        reader->sampler->begin_block();
      }
      bool is_null;
      const Datum value = SPI_getbinval(rows->vals[i], rows->tupdesc, 1, &is_null);
      take(reader, value, is_null);
    }
    SPI_freetuptable(rows);
    take_breath(reader);
    if (fetched == 0) break;
  }
  SPI_cursor_close(portal);
  SPI_finish();
}

// The blocks chosen[0 .. count-1] - first, in ascending order.
void read_blocks(Relation rel, AttrNumber attnum, Snapshot snapshot, const uint64* chosen,
                 uint64 count, uint64 first, Reader* reader) {
  // Only of heap tables is it known that a TID's block is a block of the main fork.
  const bool can_prefetch = rel->rd_rel->relam == HEAP_TABLE_AM_OID;
  const uint64 distance =
      can_prefetch ? get_tablespace_maintenance_io_concurrency(rel->rd_rel->reltablespace) : 0;
  uint64 prefetched = 0;

  // A scan by ranges takes no predicate lock on the relation by itself, as a sequential one does.
  PredicateLockRelation(rel, snapshot);
  TupleTableSlot* slot = table_slot_create(rel, nullptr);
  TableScanDesc scan =
      rel->rd_tableam->scan_begin(rel, snapshot, 0, nullptr, nullptr,
                                  SO_TYPE_TIDRANGESCAN | SO_ALLOW_PAGEMODE | SO_ALLOW_STRAT);
  for (uint64 begin = 0; begin < count;) {
    uint64 end = begin + 1;
    while (end < count && chosen[end] == chosen[end - 1] + 1) ++end;

    // The run's own blocks are read in order, which the system sees; ahead are the next ones.
    if (prefetched < end) prefetched = end;
    for (; prefetched < count && prefetched < end + distance; ++prefetched)
      PrefetchBuffer(rel, MAIN_FORKNUM, static_cast<BlockNumber>(chosen[prefetched] - first));

    ItemPointerData low;
    ItemPointerData high;
    ItemPointerSet(&low, static_cast<BlockNumber>(chosen[begin] - first), FirstOffsetNumber);
    ItemPointerSet(&high, static_cast<BlockNumber>(chosen[end - 1] - first), MaxOffsetNumber);
    table_rescan_tidrange(scan, &low, &high);
    BlockNumber block = InvalidBlockNumber;
    while (table_scan_getnextslot_tidrange(scan, ForwardScanDirection, slot)) {
      if (ItemPointerGetBlockNumber(&slot->tts_tid) != block) {
        block = ItemPointerGetBlockNumber(&slot->tts_tid);
        reader->sampler->begin_block();
      }
      bool is_null;
      const Datum value = slot_getattr(slot, attnum, &is_null);
      take(reader, value, is_null);
    }
    CHECK_FOR_INTERRUPTS();
    begin = end;
  }
  table_endscan(scan);
  ExecDropSingleTupleTableSlot(slot);
}

}  // namespace

void scan_column(Oid relation, AttrNumber attnum, kde::ValueType value_type,
                 const ScanOptions& options, kde::Sampler* sampler, ScanResult* result) {
  MemoryContext memory =
      AllocSetContextCreate(CurrentMemoryContext, "kde_aqp scan", ALLOCSET_DEFAULT_SIZES);
  MemoryContext previous = MemoryContextSwitchTo(memory);

  const bool push = !ActiveSnapshotSet();
  if (push) PushActiveSnapshot(GetTransactionSnapshot());
  Snapshot snapshot = GetActiveSnapshot();

  char* column = get_attname(relation, attnum, false);
  const Leaves leaves = collect_leaves(relation, column);

  Reader reader = {};
  reader.value_type = value_type;
  reader.sampler = sampler;
  reader.doing = psprintf("read column \"%s\"", column);
  reader.row_memory = AllocSetContextCreate(memory, "kde_aqp scanned rows", ALLOCSET_DEFAULT_SIZES);

  kde::Random random(options.seed ^ kSeedSalt);
  const bool every_row =
      options.every_row || leaves.blocks <= static_cast<uint64>(options.sample_blocks);
  const uint64 wanted = every_row ? leaves.blocks : options.sample_blocks;
  const uint64* chosen = every_row ? nullptr : choose_blocks(leaves.blocks, wanted, &random);
  const double keep =
      every_row ? 1 : static_cast<double>(wanted) / static_cast<double>(leaves.blocks);

  uint64 first = 0;        // number of the leaf's first block, all leaves laid end to end
  uint64 next_chosen = 0;  // first of chosen[] in the leaf or after it
  for (int i = 0; i < leaves.count; ++i) {
    const Leaf& leaf = leaves.items[i];
    Relation rel = table_open(leaf.relation, NoLock);
    if (rel->rd_rel->relkind == RELKIND_FOREIGN_TABLE || is_virtual(rel, leaf.attnum)) {
      read_by_query(rel, leaf.attnum, keep, &random, &reader);
    } else if (every_row || !leaf.by_block) {
      read_whole(rel, leaf.attnum, snapshot, keep, &random, &reader);
    } else {
      uint64 end = next_chosen;
      while (end < wanted && chosen[end] < first + leaf.blocks) ++end;
      if (end > next_chosen)
        read_blocks(rel, leaf.attnum, snapshot, chosen + next_chosen, end - next_chosen, first,
                    &reader);
      next_chosen = end;
    }
    first += leaf.blocks;
    table_close(rel, NoLock);
    take_breath(&reader);
  }

  if (push) PopActiveSnapshot();
  MemoryContextSwitchTo(previous);
  MemoryContextDelete(memory);

  result->blocks_total = leaves.blocks;
  result->blocks_read = wanted;
  result->every_row_read = every_row;
  result->rows_per_row_read =
      every_row ? 1 : static_cast<double>(leaves.blocks) / static_cast<double>(wanted);
}

}  // namespace kde_pg
