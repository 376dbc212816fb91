// kde_devices(): what would compute a fit in this session, and how the graphics cards are.
//
// It starts nothing and waits no longer than a second for a service that does not answer.
#include "pg/base/interrupts.h"
#include "pg/base/options.h"
#include "pg/base/owned.h"
#include "pg/device/device_state.h"
#include "pg/device/device_worker.h"
#include "pg/values/result_set.h"

#include "core/device/client.h"

#include <cstring>

namespace kde_pg {

namespace {

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

const Field kNone(false, 0);

void put_processor(const ResultRows& rows) {
  const int count = instruction_set_count();
  Datum* names = static_cast<Datum*>(palloc(sizeof(Datum) * static_cast<Size>(count)));
  for (int i = 0; i < count; ++i) names[i] = CStringGetTextDatum(instruction_set_name(i));
  rows.put("cpu", "ready", true, chosen_engine_name(),
           PointerGetDatum(construct_array(names, count, TEXTOID, -1, false, TYPALIGN_INT)),
           chosen_threads(), kNone, kNone, kNone, kNone, kNone, kNone, kNone);
}

void put_card(const ResultRows& rows, const kde::DeviceInfo& card, int number) {
  rows.put(psprintf("cuda:%d", number), "ready", true, kNone, kNone, kNone, card.name,
           psprintf("%d.%d", card.major, card.minor), static_cast<int64>(card.memory),
           static_cast<int64>(card.memory_used), Int64GetDatum(card.jobs), card.busy_ms,
           card.last_error[0] != '\0' ? card.last_error : nullptr);
}

}  // namespace

}  // namespace kde_pg

KDE_EXPORT(kde_devices);
Datum kde_devices(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  const ResultRows rows = begin_rows(fcinfo, 13);
  Listing* listing = Owned<Listing>::create(CurrentMemoryContext);
  list_cards(listing);
  put_processor(rows);
  for (std::size_t i = 0; i < listing->cards.size(); ++i)
    put_card(rows, listing->cards[i], static_cast<int>(i));
  if (listing->status != nullptr)
    rows.put("cuda", listing->status, false, kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone,
             kNone, kNone);
  PG_RETURN_NULL();
}
