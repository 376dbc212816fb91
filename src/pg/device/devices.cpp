// kde_devices(): what would compute a fit in this session, and how the graphics cards are.
//
// It starts nothing and waits no longer than a second for a service that does not answer.
#include "pg/base/interrupts.h"
#include "pg/base/options.h"
#include "pg/base/owned.h"
#include "pg/device/device_state.h"
#include "pg/device/device_worker.h"

#include "core/device/client.h"

extern "C" {
#include "funcapi.h"
}

#include <cstring>

namespace kde_pg {

namespace {

// The columns of the result, in order.
enum Column {
  kDevice,
  kStatus,
  kInUse,
  kInstructionSet,
  kInstructionSets,
  kThreads,
  kName,
  kCapability,
  kMemory,
  kMemoryUsed,
  kJobs,
  kBusyMs,
  kLastError,
  kColumns
};

struct DeviceRow {
  Datum values[kColumns] = {};
  bool nulls[kColumns];

  DeviceRow() {
    for (bool& null : nulls) null = true;
  }
  void put(Column column, Datum value) {
    values[column] = value;
    nulls[column] = false;
  }
  void put(Column column, const char* text) { put(column, CStringGetTextDatum(text)); }
};

// What one call lists; owned by its memory context.
struct Listing {
  std::vector<kde::DeviceInfo> cards;
  const char* status = nullptr;  // of the service, where it listed no card; null: no row for it
};

void list_cards(Listing* listing) {
  if (chosen_device_mode() == DeviceMode::cpu) return;
  kde::ServiceTimes times;
  times.silence_ms = 1000;
  const kde::Status status =
      kde::list_service_devices(kServiceSocket, times, begin_core_work(1), &listing->cards);
  if (status.code == kde::Code::cancelled) check_status(status, "list devices");
  if (!listing->cards.empty()) return;
  const ServiceState state = read_service_state();
  if (state.running) {
    // It says that it is well, and is not.
    const bool contradicts = std::strcmp(state.text, kStateReady) == 0 && !status.ok();
    listing->status = pstrdup(contradicts ? status.message : state.text);
  } else if (device_program_exists()) {
    listing->status = "not running";
  } else if (chosen_device_mode() == DeviceMode::cuda) {
    listing->status = "program not found";
  }
}

void fill_processor(DeviceRow* row) {
  const int count = instruction_set_count();
  Datum* names = static_cast<Datum*>(palloc(sizeof(Datum) * static_cast<Size>(count)));
  for (int i = 0; i < count; ++i) names[i] = CStringGetTextDatum(instruction_set_name(i));
  row->put(kDevice, "cpu");
  row->put(kStatus, "ready");
  row->put(kInUse, BoolGetDatum(true));
  row->put(kInstructionSet, chosen_engine_name());
  row->put(kInstructionSets,
           PointerGetDatum(construct_array(names, count, TEXTOID, -1, false, TYPALIGN_INT)));
  row->put(kThreads, Int32GetDatum(chosen_threads()));
}

void fill_card(const kde::DeviceInfo& card, int number, DeviceRow* row) {
  row->put(kDevice, psprintf("cuda:%d", number));
  row->put(kStatus, "ready");
  row->put(kInUse, BoolGetDatum(true));
  row->put(kName, card.name);
  row->put(kCapability, psprintf("%d.%d", card.major, card.minor));
  row->put(kMemory, Int64GetDatum(static_cast<int64>(card.memory)));
  row->put(kMemoryUsed, Int64GetDatum(static_cast<int64>(card.memory_used)));
  row->put(kJobs, Int64GetDatum(card.jobs));
  row->put(kBusyMs, Float8GetDatum(card.busy_ms));
  if (card.last_error[0] != '\0') row->put(kLastError, card.last_error);
}

}  // namespace

}  // namespace kde_pg

KDE_EXPORT(kde_devices);
Datum kde_devices(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  FuncCallContext* call;
  if (SRF_IS_FIRSTCALL()) {
    call = SRF_FIRSTCALL_INIT();
    TupleDesc desc;
    if (get_call_result_type(fcinfo, nullptr, &desc) != TYPEFUNC_COMPOSITE ||
        desc->natts != kColumns)
      elog(ERROR, "return type must be a row type of %d columns", kColumns);
    MemoryContext old = MemoryContextSwitchTo(call->multi_call_memory_ctx);
    call->tuple_desc = BlessTupleDesc(desc);
    Listing* listing = Owned<Listing>::create(call->multi_call_memory_ctx);
    list_cards(listing);
    call->user_fctx = listing;
    MemoryContextSwitchTo(old);
  }
  call = SRF_PERCALL_SETUP();
  const Listing* listing = static_cast<Listing*>(call->user_fctx);
  const std::size_t cards = listing->cards.size();
  DeviceRow row;
  if (call->call_cntr == 0) {
    fill_processor(&row);
  } else if (call->call_cntr <= cards) {
    const std::size_t i = call->call_cntr - 1;
    fill_card(listing->cards[i], static_cast<int>(i), &row);
  } else if (call->call_cntr == 1 && listing->status != nullptr) {
    row.put(kDevice, "cuda");
    row.put(kStatus, listing->status);
    row.put(kInUse, BoolGetDatum(false));
  } else {
    SRF_RETURN_DONE(call);
  }
  HeapTuple tuple = heap_form_tuple(call->tuple_desc, row.values, row.nulls);
  SRF_RETURN_NEXT(call, HeapTupleGetDatum(tuple));
}
