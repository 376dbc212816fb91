// Who computes the sums of a command, and how the device service is reached.
//
// Without a service running, nothing is known of a card. Then one is started, and waited for, where
// the processor would be busy for longer than the start takes, and never waited for longer than the
// processor would be busy: at worst a command takes twice its time, once. Where a card was to be
// had a moment ago, or is asked for, and the processor would take long, that is said first.
#include "pg/device/device.h"

#include "pg/base/interrupts.h"
#include "pg/base/options.h"
#include "pg/base/owned.h"
#include "pg/base/wait_events.h"
#include "pg/progress/progress.h"
#include "pg/device/device_state.h"
#include "pg/device/device_worker.h"

#include "core/device/client.h"
#include "core/kde.h"

extern "C" {
#include "storage/latch.h"
#include "utils/wait_event.h"
}

#include <cstring>
#include <limits>
#include <optional>

namespace kde_pg {

namespace {

constexpr double kPatienceMs = 10000;
// Between looks at a service that is starting.
constexpr long kLookMs = 20;
// For so long a session remembers a wait in vain, and how fast the service said to be.
constexpr int kMemoryMs = 60000;
// Before giving up a place among the server's workers.
constexpr int kPlaceMs = 500;

// Pairs a second of the service this session last spoke to, by precision, and when; 0: never.
double known_rate[2] = {0, 0};
TimestampTz known_since = 0;
// When the last wait in vain for the service to start ended, and that for one that failed or had no
// room; 0: never, or it was well since.
TimestampTz vain_since = 0;
TimestampTz given_up_since = 0;
// The statement whose user has been told, and the highest level of that (is_news).
TimestampTz told_statement = 0;
int told_level = 0;

// Owned by a memory context.
struct Service {
  kde::ServiceGreeting greeting;
  std::optional<kde::ServiceDevice> device;

  // False without memory.
  bool connect() noexcept {
    try {
      device.emplace(kServiceSocket, greeting);
      return true;
    } catch (...) {
      return false;
    }
  }
};

bool lately(TimestampTz when) {
  return when != 0 && !TimestampDifferenceExceeds(when, GetCurrentTimestamp(), kMemoryMs);
}

// A function may be called for every row; of several messages the gravest must be seen. Whether one
// is still to be told; without a client's statement, whose time is 0, each is.
bool is_news(int level) {
  const TimestampTz statement = GetCurrentStatementStartTimestamp();
  if (statement != 0 && statement == told_statement && level <= told_level) return false;
  told_statement = statement;
  told_level = level;
  return true;
}

kde::Status greet(Service* service) {
  kde::Status status =
      kde::greet_service(kServiceSocket, {}, begin_core_work(1), &service->greeting);
  if (status.code == kde::Code::cancelled) check_status(status, "reach the device service");
  if (!status.ok()) return status;
  vain_since = 0;
  known_since = GetCurrentTimestamp();
  for (int i = 0; i < 2; ++i) known_rate[i] = service->greeting.pair_rate[i];
  return status;
}

kde::Status absent(const char* why) {
  return kde::Status::error(kde::Code::unavailable, "%s", why);
}

// Absent, and not tried again for a while by this session.
kde::Status in_vain(const char* why) {
  vain_since = GetCurrentTimestamp();
  return absent(why);
}

void nap() {
  static uint32 event = 0;
  (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, kLookMs,
                  named_wait("KdeDeviceStart", &event));
  ResetLatch(MyLatch);
  CHECK_FOR_INTERRUPTS();
}

// Greets the service, starting it and waiting for up to patience_ms if need be.
kde::Status reach_service(double patience_ms, Service* service) {
  // Background workers are the postmaster's to start, and pg_upgrade wants none.
  if (!IsUnderPostmaster || IsBinaryUpgrade)
    return absent("this server starts no background worker");
  kde::Status status = greet(service);
  if (status.code != kde::Code::unavailable) return status;
  ServiceState state = read_service_state();
  if (!state.running && !device_program_exists()) return absent("its program is not installed");
  const TimestampTz start = GetCurrentTimestamp();
  if (patience_ms <= 0 || lately(vain_since))
    return absent(state.text[0] != '\0' ? state.text : "it is not running");

  BackgroundWorkerHandle* worker = nullptr;
  for (;;) {
    if (!state.running) {
      pid_t pid;
      if (worker == nullptr) {
        worker = start_device_worker();
        // Others in need at the same moment may have taken the last places; one of theirs will do.
        if (worker == nullptr && TimestampDifferenceExceeds(start, GetCurrentTimestamp(), kPlaceMs))
          return in_vain("no background worker may be added (max_worker_processes)");
      } else if (GetBackgroundWorkerPid(worker, &pid) == BGWH_STOPPED &&
                 !read_service_state().running) {
        // Not as the second of two, since no other runs.
        return in_vain("its background worker ended");
      }
    } else if (!state.promising) {
      return absent(state.text);
    }
    if (TimestampDifferenceExceeds(start, GetCurrentTimestamp(), static_cast<int>(patience_ms)))
      return in_vain("it did not start in time");
    nap();
    const bool was_ready = std::strcmp(state.text, kStateReady) == 0;
    status = greet(service);
    if (status.code != kde::Code::unavailable) return status;
    // Serving, and still not for us: of another version, or full.
    if (was_ready) return status;
    state = read_service_state();
  }
}

// Passes over the pairs, about: the jobs that kde_devices() counted on 2,000 normal values and, of
// matrices, on as many normal points in two and in four columns, where a search takes 16 for each
// number it looks for and the simplex 20 for the square of their number.
int line_sums(kde::Method method) {
  switch (method) {
    case kde::Method::sheather_jones:
      return 13;
    case kde::Method::smoothed_cv:
    case kde::Method::lscv:
      return 160;
    default:
      return 2;
  }
}

int matrix_sums(kde::MatrixMethod method, int d) {
  const int full = d * (d + 1) / 2;
  switch (method) {
    case kde::MatrixMethod::lscv:
    case kde::MatrixMethod::lscv_grid:
      // Few passes for many bandwidths each, of which each takes its own exponentials.
      return 150;
    case kde::MatrixMethod::lscv_matrix:
      return 16 * full;
    case kde::MatrixMethod::lscv_diagonal:
      return 16 * d;
    case kde::MatrixMethod::lscv_matrix_simplex:
      return 20 * full * full;
    default:
      return 0;
  }
}

}  // namespace

kde::SumsWork line_work(kde::Method method, bool exact, std::int64_t n) {
  kde::SumsWork work;
  work.n = n;
  const bool needed = exact && n > kde::kFewValues && kde::needs_pair_sums(method);
  work.sums = needed ? line_sums(method) : 0;
  return work;
}

kde::SumsWork matrix_work(kde::MatrixMethod method, std::int64_t n, int d) {
  kde::SumsWork work;
  work.n = n;
  work.d = d;
  work.sums = n > kde::kFewValues ? matrix_sums(method, d) : 0;
  return work;
}

kde::SumsWork estimate_work(std::int64_t n, int d, std::int64_t m) {
  kde::SumsWork work;
  work.n = n;
  work.d = d;
  work.queries = m;
  const double few = static_cast<double>(kde::kFewValues) * kde::kFewValues / 2;
  work.sums = n > 1 && static_cast<double>(n) * static_cast<double>(m) > few ? 1 : 0;
  return work;
}

// choose_device() without telling anybody.
void find_device(kde::SumsWork work, kde::Engine* engine, DeviceChoice* choice) {
  *choice = {};
  // Another engine than the usual one was asked for by name.
  if (engine->kind != kde::Engine::Kind::simd) return;
  const DeviceMode mode = chosen_device_mode();
  if (mode == DeviceMode::cpu || work.sums <= 0) return;
  choice->asked = mode == DeviceMode::cuda;
  work.precision = engine->precision;
  const double here = kde::predicted_processor_ms(work, chosen_threads());
  const auto there = [&work](double rate) { return kde::predicted_device_ms(work, rate); };
  const double& rate = known_rate[static_cast<int>(work.precision)];
  // Before it has said so, that of a card as fast as can be.
  const double hoped = lately(known_since) ? rate : std::numeric_limits<double>::infinity();
  if (!choice->asked && there(hoped) >= here) return;

  double patience = kPatienceMs;
  if (!choice->asked) patience = here > kde::kServiceStartMs ? Min(here, kPatienceMs) : 0;
  if (lately(given_up_since)) patience = 0;
  Service* service = Owned<Service>::create(CurrentMemoryContext);
  const kde::Status status = reach_service(patience, service);
  if (!status.ok()) {
    choice->use.trouble = status;
    return;
  }
  if (!choice->asked && there(rate) >= here) return;
  if (!service->connect()) {
    choice->use.trouble = absent("out of memory");
    return;
  }
  engine->kind = kde::Engine::Kind::device;
  engine->device = &*service->device;
  engine->use = &choice->use;
  engine->plan.sums = work.sums;
  if (lately(given_up_since)) engine->plan.patience_ms = 0;
}

// "35 seconds", "24 minutes", "3 hours". Palloc'ed.
const char* in_words(double ms) {
  const double seconds = ms / 1000;
  if (seconds < 100) return psprintf("%.0f seconds", Max(seconds, 1.0));
  if (seconds < 6000) return psprintf("%.0f minutes", seconds / 60);
  return psprintf("%.0f hours", seconds / 3600);
}

// Before the processor begins what a device was to do in a moment.
void announce_processor(const kde::SumsWork& work, const kde::Status& trouble) {
  const bool failed = trouble.code == kde::Code::failed;
  ereport(
      NOTICE,
      (failed ? errmsg("the device service failed; the processor will take about %s",
                       in_words(kde::predicted_processor_ms(work, chosen_threads())))
              : errmsg("the device service is not available; the processor will take about %s",
                       in_words(kde::predicted_processor_ms(work, chosen_threads()))),
       errdetail_internal("%c%s.", pg_toupper(static_cast<unsigned char>(trouble.message[0])),
                          trouble.message + 1),
       trouble.code == kde::Code::too_large
           ? errhint("Cancel the statement to stop it, for instance by pg_cancel_backend(%d).",
                     MyProcPid)
           : errhint("Cancel the statement to stop it, for instance by pg_cancel_backend(%d), and "
                     "run it again when kde_devices() lists a device that is ready.",
                     MyProcPid)));
}

// The work that near-exact sums can do as well: derivative sums over one column.
bool has_near_exact_sums(const kde::SumsWork& work) { return work.d == 1 && work.queries == 0; }

void show_progress(const kde::SumsWork& work, bool on_device) {
  const double n = static_cast<double>(work.n);
  const double pairs = work.queries > 0 ? n * static_cast<double>(work.queries) : n * (n - 1) / 2;
  progress_sums(on_device, static_cast<int64>(Min(work.sums * pairs, 0x1p62)));
}

void choose_device(kde::SumsWork work, kde::Engine* engine, DeviceChoice* choice) {
  find_device(work, engine, choice);
  if (work.sums <= 0) return;
  const bool on_device = engine->kind == kde::Engine::Kind::device;
  work.precision = engine->precision;
  const double here = kde::predicted_processor_ms(work, chosen_threads());
  if (!choice->use.trouble.ok() && (choice->asked || lately(known_since)) &&
      here > kde::kServiceReturnMs)
    announce_processor(work, choice->use.trouble);
  show_progress(work, on_device);
  ereport(DEBUG1,
          (errmsg_internal("sums over pairs of %lld values in %d dimensions: by the %s, where the "
                           "processor would take about %.0f ms",
                           static_cast<long long>(work.n), work.d,
                           on_device ? "device" : "processor", here)));
}

bool begin_anew(const kde::Status& status, const kde::SumsWork& work, kde::Engine* engine,
                DeviceChoice* choice) {
  const bool given_up = engine->kind == kde::Engine::Kind::device &&
                        (status.code == kde::Code::unavailable || status.code == kde::Code::failed);
  const bool too_narrow = choice->near_exact && status.code == kde::Code::too_large;
  if (!given_up && !too_narrow) return false;
  kde::SumsWork same = work;
  same.precision = engine->precision;
  // A refusal without a wait is no reason not to wait for another's sample.
  if (given_up && engine->plan.patience_ms > 0 && choice->use.waited_ms > 0)
    given_up_since = GetCurrentTimestamp();
  choice->use.device_sums = choice->use.processor_sums = 0;
  engine->device = nullptr;
  choice->near_exact = given_up && has_near_exact_sums(work);
  engine->kind = choice->near_exact ? kde::Engine::Kind::spectral : chosen_engine().kind;
  show_progress(work, false);
  if (!choice->near_exact) {
    announce_processor(same, choice->use.trouble);
    return true;
  }
  const kde::Status& trouble = choice->use.trouble;
  ereport(
      NOTICE,
      (trouble.code == kde::Code::failed
           ? errmsg("the device service failed; near-exact sums take the place of the exact ones")
           : errmsg("the device service is not available; near-exact sums take the place of the "
                    "exact ones"),
       errdetail("%c%s. By the processor exact sums would take about %s.",
                 pg_toupper(static_cast<unsigned char>(trouble.message[0])), trouble.message + 1,
                 in_words(kde::predicted_processor_ms(same, chosen_threads()))),
       trouble.code == kde::Code::too_large
           ? errhint("For exact sums run it again with kde_aqp.device = cpu.")
           : errhint("Run it again when kde_devices() lists a device that is ready, or with "
                     "kde_aqp.device = cpu.")));
  return true;
}

void report_device(const DeviceChoice& choice) {
  const kde::Status& trouble = choice.use.trouble;
  const bool by_device = choice.use.device_sums > 0 && choice.use.processor_sums == 0;
  if (by_device) given_up_since = 0;
  // Of near-exact sums has been told.
  if (trouble.ok() || choice.near_exact) return;
  const bool failed = trouble.code == kde::Code::failed;
  if (by_device) {
    // Less grave than what came to the processor.
    if (!is_news(NOTICE - 1)) return;
    // Waited for: it was started again, or full of the samples of others.
    ereport(NOTICE,
            (failed ? errmsg("the device service failed and came back; the sums were computed by "
                             "the device")
                    : errmsg("the device service was not available for a while; the sums were "
                             "computed by the device"),
             errdetail_internal("%c%s.", pg_toupper(static_cast<unsigned char>(trouble.message[0])),
                                trouble.message + 1)));
    return;
  }
  const int level = failed ? WARNING : choice.asked ? NOTICE : DEBUG1;
  if (level != DEBUG1 && !is_news(level)) return;
  const char* which = choice.use.device_sums > 0 ? "the remaining sums" : "the sums";
  ereport(level,
          (failed ? errcode(ERRCODE_WARNING) : errcode(ERRCODE_SUCCESSFUL_COMPLETION),
           failed ? errmsg("the device service failed; %s were computed by the processor", which)
                  : errmsg("the device service is not available; %s were computed by the processor",
                           which),
           errdetail_internal("%c%s.", pg_toupper(static_cast<unsigned char>(trouble.message[0])),
                              trouble.message + 1),
           errhint("kde_devices() tells its state, the server log may tell more.")));
}

const char* used_engine_name(const DeviceChoice& choice) {
  if (choice.near_exact) return "spectral";
  if (choice.use.device_sums == 0) return chosen_engine_name();
  const char* cuda = chosen_engine().precision == kde::Precision::single ? "cuda single" : "cuda";
  if (choice.use.processor_sums == 0) return cuda;
  return psprintf("%s, %s", cuda, chosen_engine_name());
}

}  // namespace kde_pg
