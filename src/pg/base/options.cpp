// The options' definitions and what they resolve to.
#include "pg/base/options.h"

#include "pg/base/fault.h"

extern "C" {
#include "optimizer/cost.h"
#include "postmaster/bgworker.h"
#include "utils/builtins.h"
#include "utils/guc_tables.h"
#include "utils/plancache.h"
}

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>
#include <sched.h>
#include <unistd.h>

namespace kde_pg {

int option_bandwidth_rows = 32768;
int option_sample_blocks = 10000;
int option_cache_size = 32768;
int option_density_bytes = 256;
int option_joint_bytes = 512;
int option_log_min_duration = 10000;
int option_gpu_memory_limit = 0;
int option_gpu_max_jobs = 64;
int option_naptime = 60;
int option_refresh_timeout = 3600000;
int option_max_workers = 1;
double option_refresh_scale_factor = 0.1;
int option_refresh_threshold = 50;
int option_refresh_max_age = 0;
double option_refresh_drift = 0.05;
bool option_dump_densities = true;
bool option_changed_rows = true;
double option_approximate_error = 0.01;
double option_approximate_confidence = 0.95;
bool option_approximate_notice = true;
int option_approximate_scan_blocks = 4096;
bool option_log_answers = false;

namespace {

int option_approximate = static_cast<int>(Approximate::off);
const config_enum_entry kApproximate[] = {{"off", static_cast<int>(Approximate::off), false},
                                          {"top", static_cast<int>(Approximate::top), false},
                                          {"all", static_cast<int>(Approximate::all), false},
                                          {nullptr, 0, false}};

int option_stale = static_cast<int>(StaleAnswer::warn);
const config_enum_entry kStaleAnswers[] = {{"ignore", static_cast<int>(StaleAnswer::ignore), false},
                                           {"warn", static_cast<int>(StaleAnswer::warn), false},
                                           {"error", static_cast<int>(StaleAnswer::error), false},
                                           {nullptr, 0, false}};

int option_device = static_cast<int>(DeviceMode::automatic);
char* option_cuda_program = nullptr;

const config_enum_entry kDeviceModes[] = {{"auto", static_cast<int>(DeviceMode::automatic), false},
                                          {"cpu", static_cast<int>(DeviceMode::cpu), false},
                                          {"cuda", static_cast<int>(DeviceMode::cuda), false},
                                          {nullptr, 0, false}};

int option_threads = 0;
char* option_simd = nullptr;
int option_precision = static_cast<int>(kde::Precision::full);

const config_enum_entry kPrecisions[] = {
    {"double", static_cast<int>(kde::Precision::full), false},
    {"single", static_cast<int>(kde::Precision::single), false},
    {nullptr, 0, false}};

constexpr int kMaxTargets = 16;

struct TargetList {
  int count;
  struct {
    std::int64_t target;
    char name[24];
    char engine[2][40];  // in double and in single precision
  } items[kMaxTargets];
};

// The processor's targets as plain data: no C++ object is alive when PostgreSQL may raise an error.
const TargetList& targets() noexcept {
  static TargetList list = [] {
    TargetList out{};
    try {
      for (const kde::SimdTarget& t : kde::simd_targets()) {
        if (out.count == kMaxTargets) break;
        auto& item = out.items[out.count++];
        item.target = t.target;
        std::snprintf(item.name, sizeof item.name, "%s", t.name.c_str());
        std::snprintf(item.engine[0], sizeof item.engine[0], "simd %s", t.name.c_str());
        std::snprintf(item.engine[1], sizeof item.engine[1], "simd %s single", t.name.c_str());
      }
    } catch (...) {
      out.count = 0;
    }
    return out;
  }();
  return list;
}

int find_target(const char* name) {
  for (int i = 0; i < targets().count; ++i) {
    if (std::strcmp(targets().items[i].name, name) == 0) return i;
  }
  return -1;
}

bool check_simd(char** value, void**, GucSource) {
  if (std::strcmp(*value, "auto") == 0 || std::strcmp(*value, "reference") == 0 ||
      find_target(*value) >= 0)
    return true;
  char known[kMaxTargets * 28] = "";
  for (int i = 0; i < targets().count; ++i) {
    strlcat(known, ", ", sizeof known);
    strlcat(known, targets().items[i].name, sizeof known);
  }
  GUC_check_errdetail("This processor has: auto, reference%s.", known);
  return false;
}

int available_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return Max(CPU_COUNT(&set), 1);
  return Max(static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)), 1);
}

void define_device_options() {
  DefineCustomEnumVariable("kde_aqp.device", "What exact sums over pairs may be computed by.",
                           "\"auto\" uses a graphics card where that is predicted to be faster, "
                           "\"cuda\" wherever it can, "
                           "\"cpu\" never.",
                           &option_device, static_cast<int>(DeviceMode::automatic), kDeviceModes,
                           PGC_USERSET, 0, nullptr, nullptr, nullptr);
  // The server runs this program: it is the configuration's alone, never a session's. Only while
  // the library is preloaded can an option be fixed until the server's restart.
  DefineCustomStringVariable(
      "kde_aqp.cuda_program", "Program of the device service.",
      "An empty string means kde_aqp_cudad in the server's library directory.",
      &option_cuda_program, "",
      process_shared_preload_libraries_in_progress ? PGC_POSTMASTER : PGC_SIGHUP,
      GUC_SUPERUSER_ONLY, nullptr, nullptr, nullptr);
  DefineCustomIntVariable("kde_aqp.gpu_memory_limit",
                          "Memory of each graphics card the device service uses at most.",
                          "0 means four fifths of it.", &option_gpu_memory_limit, 0, 0, INT_MAX,
                          PGC_SIGHUP, GUC_UNIT_MB, nullptr, nullptr, nullptr);
  DefineCustomIntVariable("kde_aqp.gpu_max_jobs",
                          "Sums that may wait or run in the device service at once.",
                          "Those beyond are computed by the processor.", &option_gpu_max_jobs, 64,
                          1, 4096, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
}

void define_worker_options() {
  DefineCustomIntVariable("kde_aqp.naptime",
                          "Time between background refreshes of the densities of a database.",
                          nullptr, &option_naptime, 60, 1, INT_MAX / 1000, PGC_SIGHUP, GUC_UNIT_S,
                          nullptr, nullptr, nullptr);
  DefineCustomIntVariable(
      "kde_aqp.max_workers", "Background workers that may refresh densities at once.",
      "They run where shared_preload_libraries names kde_aqp; 0 means none.", &option_max_workers,
      1, 0, kMostRefreshWorkers, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
  DefineCustomIntVariable("kde_aqp.refresh_timeout",
                          "Time that a background refresh of one density may take at most.",
                          "0 means any.", &option_refresh_timeout, 3600000, 0, INT_MAX, PGC_SIGHUP,
                          GUC_UNIT_MS, nullptr, nullptr, nullptr);
}

void define_upkeep_options() {
  DefineCustomRealVariable("kde_aqp.refresh_scale_factor",
                           "Rows changed since the fit that make a density stale, as a fraction of "
                           "the table's.",
                           nullptr, &option_refresh_scale_factor, 0.1, 0, 1e10, PGC_USERSET, 0,
                           nullptr, nullptr, nullptr);
  DefineCustomIntVariable("kde_aqp.refresh_threshold",
                          "Rows changed since the fit that make a density stale, in addition to "
                          "the fraction.",
                          nullptr, &option_refresh_threshold, 50, 0, INT_MAX, PGC_USERSET, 0,
                          nullptr, nullptr, nullptr);
  DefineCustomIntVariable("kde_aqp.refresh_max_age", "Age at which a density is stale.",
                          "0 means at no age.", &option_refresh_max_age, 0, 0, INT_MAX, PGC_USERSET,
                          GUC_UNIT_S, nullptr, nullptr, nullptr);
  DefineCustomRealVariable(
      "kde_aqp.refresh_drift",
      "Distance between a fresh sample and a density above which it is stale.",
      "Of Kolmogorov and Smirnov, measured by kde_drift(); 1 means at no distance.",
      &option_refresh_drift, 0.05, 0, 1, PGC_USERSET, 0, nullptr, nullptr, nullptr);
  DefineCustomEnumVariable("kde_aqp.stale", "What an answer by a stale density does.",
                           "\"warn\" warns once a session and fit.", &option_stale,
                           static_cast<int>(StaleAnswer::warn), kStaleAnswers, PGC_USERSET, 0,
                           nullptr, nullptr, nullptr);
  DefineCustomBoolVariable("kde_aqp.changed_rows",
                           "Whether intervals take in the rows changed since the fit.",
                           "As far as the server counts them.", &option_changed_rows, true,
                           PGC_USERSET, 0, nullptr, nullptr, nullptr);
  DefineCustomBoolVariable("kde_aqp.dump_densities", "Whether pg_dump takes the densities along.",
                           "To be set for the database, or in PGOPTIONS of pg_dump.",
                           &option_dump_densities, true, PGC_USERSET, 0, nullptr, nullptr, nullptr);
}

// Plans that are kept were made under another setting.
void plan_anew(int value, void*) {
  if (value != option_approximate) ResetPlanCache();
}

// Those that choose plans are told by EXPLAIN (SETTINGS).
void define_approximate_options() {
  DefineCustomEnumVariable(
      "kde_aqp.approximate", "Which statements of plain SQL may be answered by densities.",
      "\"top\" is those that the client sent, \"all\" also those within functions. Densities whose "
      "owners allow it (kde_set_plain_sql()), where they are accurate enough, answer.",
      &option_approximate, static_cast<int>(Approximate::off), kApproximate, PGC_USERSET,
      GUC_EXPLAIN, nullptr, plan_anew, nullptr);
  DefineCustomRealVariable(
      "kde_aqp.approximate_error", "Relative error that answers to plain SQL may have.",
      "Half the width of the interval over the estimate. Where it is more the exact plan runs.",
      &option_approximate_error, 0.01, 0, 1, PGC_USERSET, GUC_EXPLAIN, nullptr, nullptr, nullptr);
  DefineCustomRealVariable("kde_aqp.approximate_confidence",
                           "Confidence of the intervals of answers to plain SQL.", nullptr,
                           &option_approximate_confidence, 0.95, 0.5, 0.999999, PGC_USERSET,
                           GUC_EXPLAIN, nullptr, nullptr, nullptr);
  DefineCustomIntVariable(
      "kde_aqp.approximate_scan_size",
      "Most that plain SQL reads beside a density, of blocks that changed since its fit.",
      "Where it is more the answer takes in the rows that may have changed, or the exact plan "
      "runs.",
      &option_approximate_scan_blocks, 4096, 0, INT_MAX, PGC_USERSET, GUC_UNIT_BLOCKS | GUC_EXPLAIN,
      nullptr, nullptr, nullptr);
  DefineCustomBoolVariable("kde_aqp.approximate_notice",
                           "Whether a statement of plain SQL that densities answer says so.",
                           "One NOTICE for each.", &option_approximate_notice, true, PGC_USERSET, 0,
                           nullptr, nullptr, nullptr);
  DefineCustomBoolVariable("kde_aqp.log_answers",
                           "Whether a statement of plain SQL that densities answer is logged.",
                           "With the density, and within how much the answer is.",
                           &option_log_answers, false, PGC_SUSET, 0, nullptr, nullptr, nullptr);
}

}  // namespace

void define_options() {
  define_approximate_options();
  DefineCustomIntVariable("kde_aqp.bandwidth_rows",
                          "Values of a sample that exact sums over pairs use at most.",
                          "The sums take time in proportion to its square.", &option_bandwidth_rows,
                          32768, 2, 4194304, PGC_USERSET, 0, nullptr, nullptr, nullptr);
  DefineCustomIntVariable(
      "kde_aqp.sample_blocks", "Blocks of a table a sampling fit reads at most.",
      "A tenth of them where a foreign table is read by block.", &option_sample_blocks, 10000, 1,
      INT_MAX, PGC_USERSET, 0, nullptr, nullptr, nullptr);
  DefineCustomIntVariable("kde_aqp.cache_size", "Memory for densities a backend keeps at hand.",
                          nullptr, &option_cache_size, 32768, 64, MAX_KILOBYTES, PGC_SUSET,
                          GUC_UNIT_KB, nullptr, nullptr, nullptr);
  DefineCustomIntVariable("kde_aqp.density_bytes",
                          "Size of a density of one column that knows every row, at most.",
                          "One with groups takes up to eight times as much.", &option_density_bytes,
                          256, 16, 512, PGC_USERSET, GUC_UNIT_KB, nullptr, nullptr, nullptr);
  DefineCustomIntVariable("kde_aqp.joint_bytes", "Size of a density of several columns at most.",
                          "It keeps as many rows of its sample as fit.", &option_joint_bytes, 512,
                          64, 65536, PGC_USERSET, GUC_UNIT_KB, nullptr, nullptr, nullptr);
  DefineCustomIntVariable("kde_aqp.log_min_duration",
                          "Duration from which a fit leaves a line in the server's log.",
                          "0 logs every fit, -1 none.", &option_log_min_duration, 10000, -1,
                          INT_MAX, PGC_SUSET, GUC_UNIT_MS, nullptr, nullptr, nullptr);
  DefineCustomIntVariable(
      "kde_aqp.threads", "Threads a fit uses at most.",
      "0 means as many as a parallel maintenance command would get; never more than the cores.",
      &option_threads, 0, 0, 1024, PGC_SUSET, 0, nullptr, nullptr, nullptr);
  DefineCustomStringVariable("kde_aqp.simd", "Vector instruction set for a fit's sums.",
                             "\"auto\" for the best the processor has, \"reference\" for plain "
                             "double precision, or a name "
                             "that kde_devices() lists.",
                             &option_simd, "auto", PGC_USERSET, 0, check_simd, nullptr, nullptr);
  DefineCustomEnumVariable("kde_aqp.precision",
                           "Floating-point precision of exact sums over pairs.",
                           "\"single\" is several times as fast and good to some 1e-7; sums are "
                           "always accumulated in double precision.",
                           &option_precision, static_cast<int>(kde::Precision::full), kPrecisions,
                           PGC_USERSET, 0, nullptr, nullptr, nullptr);
  define_upkeep_options();
  define_device_options();
  define_worker_options();
  KDE_DEFINE_FAULTS();
  MarkGUCPrefixReserved("kde_aqp");
}

kde::Engine chosen_engine() {
  kde::Engine engine;
  engine.precision = static_cast<kde::Precision>(option_precision);
  if (std::strcmp(option_simd, "reference") == 0) {
    engine.kind = kde::Engine::Kind::reference;
    engine.precision = kde::Precision::full;
  } else if (const int i = find_target(option_simd); i >= 0) {
    engine.target = targets().items[i].target;
  }
  return engine;
}

const char* chosen_engine_name() {
  if (std::strcmp(option_simd, "reference") == 0) return "reference";
  const int i = find_target(option_simd);
  const bool single = option_precision == static_cast<int>(kde::Precision::single);
  return targets().items[i >= 0 ? i : 0].engine[single ? 1 : 0];
}

Approximate chosen_approximate() { return static_cast<Approximate>(option_approximate); }

StaleAnswer chosen_stale_answer() { return static_cast<StaleAnswer>(option_stale); }

DeviceMode chosen_device_mode() { return static_cast<DeviceMode>(option_device); }

void device_program_path(char* path) {
  if (option_cuda_program[0] != '\0') {
    strlcpy(path, option_cuda_program, MAXPGPATH);
  } else {
    snprintf(path, MAXPGPATH, "%s/kde_aqp_cudad", pkglib_path);
  }
}

int instruction_set_count() { return targets().count; }

const char* instruction_set_name(int i) { return targets().items[i].name; }

int32 session_density_bytes() {
  const config_generic* option = option_named("kde_aqp.density_bytes");
  return option->source > PGC_S_DATABASE ? option_density_bytes * 1024 : 0;
}

int chosen_threads() {
  const int wanted = option_threads > 0 ? option_threads : max_parallel_maintenance_workers + 1;
  return Min(wanted, available_cores());
}

// kde_approximate(statements): sets kde_aqp.approximate, in a session that may not have loaded the
// library yet, where SET would be of an option that nobody knows. Errors: as SET has them.
KDE_EXPORT(kde_approximate);
Datum kde_approximate(PG_FUNCTION_ARGS) {
  SetConfigOption("kde_aqp.approximate", text_to_cstring(PG_GETARG_TEXT_PP(0)), PGC_USERSET,
                  PGC_S_SESSION);
  PG_RETURN_TEXT_P(cstring_to_text(GetConfigOption("kde_aqp.approximate", false, false)));
}

}  // namespace kde_pg
