// The two readings of append_scan.h: by TID ranges, and by a query on the key.
//
// Which appended blocks are read where the fit read a share f of the blocks: those offered since
// the fit, in the order in which they came, are cut into strata, number j being of stratum floor(j
// f + u), u uniform by the seed, and of each stratum one is read, uniformly. On average over u each
// is read with probability f exactly (as many strata as f times the blocks, one read of each), of
// any n of them f n to within 1, and however often a few blocks are appended none counts more than
// another: rounding up for each append would count them too much, a fixed step would fall in with
// loads of a fixed size.
#include "pg/read/append_scan.h"

#include "pg/read/block_range.h"
#include "pg/base/pinned.h"
#include "pg/read/row_reader.h"

#include "core/random.h"

#include <cmath>

extern "C" {
#include "access/table.h"
#include "access/tableam.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

namespace kde_pg {

namespace {

// Streams apart from the sampler's and the scan's, which have the same seed.
constexpr uint64 kChoiceSalt = UINT64CONST(0xbf58476d1ce4e5b9);
constexpr uint64 kThinSalt = UINT64CONST(0x94d049bb133111eb);

constexpr long kRowsPerFetch = 10000;

class Choice {
 public:
  Choice(const AppendState& state, uint64 seed)
      : seed_(seed ^ kChoiceSalt),
        share_(static_cast<double>(state.blocks_read) / static_cast<double>(state.blocks_total)),
        start_(kde::Random(seed_).uniform()) {}

  bool takes(int64 j) {
    const int64 stratum = stratum_of(j);
    if (stratum != stratum_) choose(stratum);
    return j == chosen_;
  }

 private:
  int64 stratum_of(int64 j) const {
    return static_cast<int64>(std::floor(static_cast<double>(j) * share_ + start_));
  }
  // Of stratum 0 there may be numbers below 0, which nobody has.
  int64 first_of(int64 stratum) const {
    auto j = static_cast<int64>(std::ceil((static_cast<double>(stratum) - start_) / share_));
    while (stratum_of(j) >= stratum) --j;
    while (stratum_of(j) < stratum) ++j;
    return j;
  }
  void choose(int64 stratum) {
    stratum_ = stratum;
    const int64 first = first_of(stratum);
    const auto count = static_cast<uint64>(first_of(stratum + 1) - first);
    kde::Random random(seed_ + static_cast<uint64>(stratum) + 1);
    chosen_ = first + static_cast<int64>(random.below(count));
  }

  uint64 seed_;
  double share_, start_;
  int64 stratum_ = -1, chosen_ = -1;
};

// The rows of blocks begin .. end - 1 that lie beyond `old` (may be null) and not beyond `now`.
int64 read_range(TableScanDesc scan, TupleTableSlot* slot, BlockNumber begin, BlockNumber end,
                 const LeafMark* old, const LeafMark& now, RowReader* reader) {
  set_block_range(scan, begin, end);
  int64 rows = 0;
  while (table_scan_getnextslot_tidrange(scan, ForwardScanDirection, slot)) {
    if (is_beyond(now, &slot->tts_tid) || (old != nullptr && !is_beyond(*old, &slot->tts_tid)))
      continue;
    ++rows;
    reader->take(slot);
  }
  CHECK_FOR_INTERRUPTS();
  return rows;
}

// A leaf's rows; how many were read is returned.
int64 read_leaf(Relation rel, const LeafMark* old, const LeafMark& now, Choice* choice,
                RowReader* reader, AppendState* state) {
  const BlockNumber begin =
      old == nullptr ? 0 : old->blocks - static_cast<BlockNumber>(old->window);
  const BlockNumber begin_new = old == nullptr ? 0 : old->blocks;
  if (begin >= now.blocks) return 0;
  TupleTableSlot* slot = table_slot_create(rel, nullptr);
  TableScanDesc scan = begin_block_scan(rel, GetActiveSnapshot());
  int64 rows = 0;
  if (state->every_row()) {
    rows = read_range(scan, slot, begin, now.blocks, old, now, reader);
  } else {
    for (BlockNumber block = begin; block < now.blocks; ++block) {
      if (block < begin_new && count_line_pointers(rel, block) <= old->offset[block - begin])
        continue;
      if (!choice->takes(state->offered++)) continue;
      reader->begin_block();
      const int64 of_block = read_range(scan, slot, block, block + 1, old, now, reader);
      state->block_rows = Max(state->block_rows, of_block);
      rows += of_block;
    }
  }
  table_endscan(scan);
  ExecDropSingleTupleTableSlot(slot);
  return rows;
}

// ------------------------------------------------------------------------------------- by key

const char* column_of(Relation relation, AttrNumber attnum) {
  return quote_identifier(NameStr(TupleDescAttr(RelationGetDescr(relation), attnum - 1)->attname));
}

const char* name_of(Relation relation) {
  return quote_qualified_identifier(get_namespace_name(RelationGetNamespace(relation)),
                                    RelationGetRelationName(relation));
}

// "key > 'text'::type", or that there is one.
const char* greater_than(Relation relation, AttrNumber attnum, const char* greatest) {
  const char* column = column_of(relation, attnum);
  if (greatest == nullptr) return psprintf("%s IS NOT NULL", column);
  const Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(relation), attnum - 1);
  const Oid type = getBaseType(attribute->atttypid);
  return psprintf("%s OPERATOR(pg_catalog.>) %s::%s", column, quote_literal_cstr(greatest),
                  format_type_be_qualified(type));
}

// The row of a query without parameters, in the caller's memory: text of its first column (null:
// NULL) and the number in its second. False if there is none.
bool query_row(const char* query, const char** first, int64* second) {
  MemoryContext caller = CurrentMemoryContext;
  if (SPI_connect() != SPI_OK_CONNECT) elog(ERROR, "SPI_connect failed");
  // Read-only: under the active snapshot.
  if (SPI_execute(query, true, 1) != SPI_OK_SELECT) elog(ERROR, "SPI_execute failed: %s", query);
  const bool found = SPI_processed > 0;
  if (found) {
    const char* text = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
    if (first != nullptr) *first = text == nullptr ? nullptr : MemoryContextStrdup(caller, text);
    if (second != nullptr) {
      bool is_null;
      const Datum value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2, &is_null);
      *second = is_null ? 0 : DatumGetInt64(value);
    }
  }
  SPI_finish();
  MemoryContextSwitchTo(caller);
  return found;
}

bool has_null_keys(Relation relation, AttrNumber key) {
  if (TupleDescAttr(RelationGetDescr(relation), key - 1)->attnotnull) return false;
  return query_row(psprintf("SELECT 1 FROM %s WHERE %s IS NULL LIMIT 1", name_of(relation),
                            column_of(relation, key)),
                   nullptr, nullptr);
}

// Of the rows with a key greater than that: the greatest, and how many they are.
void ask_greatest(Relation relation, AttrNumber key, const char* than, const char** greatest,
                  int64* rows) {
  PinnedSettings pinned;
  pinned.begin();
  (void)query_row(
      psprintf("SELECT pg_catalog.max(%s)::pg_catalog.text, pg_catalog.count(*) FROM "
               "%s WHERE %s",
               column_of(relation, key), name_of(relation), greater_than(relation, key, than)),
      greatest, rows);
  pinned.end();
}

const char* rows_query(Relation relation, const DensityKey& key, const AppendState& state) {
  StringInfoData query;
  initStringInfo(&query);
  appendStringInfoString(&query, "SELECT ");
  for (int k = 0; k < key.columns; ++k) {
    const KeyColumn& column = key.column[k];
    appendStringInfo(&query, "%s%s", k > 0 ? ", " : "",
                     column.attnum != 0 ? column_of(relation, column.attnum) : column.text);
  }
  appendStringInfo(&query, " FROM %s WHERE %s", name_of(relation),
                   greater_than(relation, state.key, state.greatest));
  if (key.has_filter()) appendStringInfo(&query, " AND %s", key.filter);
  appendStringInfo(&query, " ORDER BY %s", column_of(relation, state.key));
  return query.data;
}

}  // namespace

void read_beyond(Relation relation, const DensityKey& key, kde::ValueType value_type,
                 const HighWater& now, uint64 seed, const char* doing, RowSink* sink,
                 AppendState* state) {
  MemoryContext memory =
      AllocSetContextCreate(CurrentMemoryContext, "kde_aqp append", ALLOCSET_DEFAULT_SIZES);
  MemoryContext previous = MemoryContextSwitchTo(memory);
  RowReader reader;
  reader.begin(key, &value_type, doing, sink);
  Choice choice(*state, seed);
  int64 found = 0;
  for (int i = 0; i < now.leaves; ++i) {
    const LeafMark& mark = now.leaf[i];
    const LeafMark* old = find_mark(state->marks, mark.relation);
    Relation rel = table_open(mark.relation, NoLock);
    reader.begin_leaf(relation, rel);
    const int64 rows = read_leaf(rel, old, mark, &choice, &reader, state);
    if (old != nullptr) found += rows;
    table_close(rel, NoLock);
    reader.take_breath();
  }
  reader.end();
  MemoryContextSwitchTo(previous);
  MemoryContextDelete(memory);
  const double each =
      static_cast<double>(state->blocks_total) / static_cast<double>(state->blocks_read);
  state->found += static_cast<int64>(static_cast<double>(found) * each);
}

bool read_greatest(Relation relation, AttrNumber key, const char** greatest) {
  int64 rows;
  *greatest = nullptr;
  if (has_null_keys(relation, key)) return false;
  ask_greatest(relation, key, nullptr, greatest, &rows);
  return true;
}

bool read_greater(Relation relation, const DensityKey& key, kde::ValueType value_type, uint64 seed,
                  const char* doing, RowSink* sink, AppendState* state) {
  if (has_null_keys(relation, state->key)) return false;
  const char* greatest = nullptr;
  int64 rows = 0;
  ask_greatest(relation, state->key, state->greatest, &greatest, &rows);
  if (rows == 0) return true;

  MemoryContext memory =
      AllocSetContextCreate(CurrentMemoryContext, "kde_aqp append", ALLOCSET_DEFAULT_SIZES);
  MemoryContext previous = MemoryContextSwitchTo(memory);
  RowReader reader;
  reader.begin(key, &value_type, doing, sink);
  const double share =
      static_cast<double>(state->blocks_read) / static_cast<double>(state->blocks_total);
  kde::Random random(seed ^ kThinSalt ^ static_cast<uint64>(state->found));
  const char* query = rows_query(relation, key, *state);
  if (SPI_connect() != SPI_OK_CONNECT) elog(ERROR, "SPI_connect failed");
  Portal portal = SPI_cursor_open_with_args(nullptr, query, 0, nullptr, nullptr, nullptr, true,
                                            CURSOR_OPT_NO_SCROLL);
  for (;;) {
    SPI_cursor_fetch(portal, true, kRowsPerFetch);
    const uint64 fetched = SPI_processed;
    SPITupleTable* table = SPI_tuptable;
    for (uint64 i = 0; i < fetched; ++i) {
      if (!state->every_row()) {
        if (random.uniform() >= share) continue;
        reader.begin_block();  // rows drawn one by one
      }
      reader.take(table->vals[i], table->tupdesc);
    }
    SPI_freetuptable(table);
    reader.take_breath();
    if (fetched == 0) break;
  }
  SPI_cursor_close(portal);
  SPI_finish();
  reader.end();
  MemoryContextSwitchTo(previous);
  MemoryContextDelete(memory);
  state->found += rows;
  state->greatest = greatest;
  return true;
}

}  // namespace kde_pg
