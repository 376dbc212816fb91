// See scan_values.h. A cursor would run without workers, so the query's rows come to a receiver.
#include "pg/read/scan_values.h"

#include "pg/aggregate/value_sums_aggregate.h"
#include "pg/progress/progress.h"
#include "pg/read/categories.h"

extern "C" {
#include "executor/spi.h"
#include "miscadmin.h"
#include "tcop/dest.h"
#include "utils/memutils.h"
}

namespace kde_pg {

namespace {

struct Receiver {
  DestReceiver dest;  // first
  const Served* served;
  Categories* categories;
  MemoryContext each;
};

bool receive(TupleTableSlot* slot, DestReceiver* dest) {
  const auto* r = reinterpret_cast<Receiver*>(dest);
  RowSink* sink = r->served->reading->sink;
  CHECK_FOR_INTERRUPTS();
  MemoryContext caller = MemoryContextSwitchTo(r->each);
  slot_getallattrs(slot);
  const Datum* values = slot->tts_values;
  const uint32 number = slot->tts_isnull[0] ? 0 : r->categories->number(values[0]);
  const int64 rows = DatumGetInt64(values[1]);
  std::span<const kde::ValueSums> measures;
  if (number > 0 && r->served->key.columns > 1)
    measures = read_value_sums(DatumGetByteaP(values[2]), r->served->key.columns - 1);
  progress_add(rows);
  const kde::Status status = sink->add_value(number, static_cast<double>(rows), measures);
  if (unlikely(!status.ok())) sink->raise(status, r->served->doing);
  MemoryContextSwitchTo(caller);
  MemoryContextReset(r->each);
  return true;
}

void start(DestReceiver*, int, TupleDesc) {}
void stop(DestReceiver*) {}

}  // namespace

void read_values_of(Scan* s) {
  Receiver receiver = {};
  receiver.dest = {receive, start, stop, stop, DestNone};
  receiver.served = &s->served[0];
  receiver.categories = s->served[0].reading->sink->categories(0);
  receiver.each =
      AllocSetContextCreate(CurrentMemoryContext, "kde_aqp value", ALLOCSET_DEFAULT_SIZES);
  SPIExecuteOptions options = {};
  options.read_only = true;
  options.dest = &receiver.dest;
  const char* query = query_of(*s, s->root, s->root == s->relation || s->beneath, QueryFor::values);
  if (SPI_connect() != SPI_OK_CONNECT) elog(ERROR, "SPI_connect failed");
  if (SPI_execute_extended(query, &options) < 0) elog(ERROR, "SPI_execute failed");
  SPI_finish();
}

}  // namespace kde_pg
