// The extension's options (GUCs).
#pragma once

#include "pg/base/pg.h"

#include "core/kde.h"

namespace kde_pg {

// The largest kde_aqp.max_workers.
inline constexpr int kMostRefreshWorkers = 64;

// kde_aqp.bandwidth_rows: values the O(n^2) sums use at most.
extern int option_bandwidth_rows;
// kde_aqp.sample_blocks: blocks a sampling fit reads at most.
extern int option_sample_blocks;
// kde_aqp.cache_size: kilobytes of densities a backend keeps.
extern int option_cache_size;
// kde_aqp.density_bytes: kilobytes a density of one column that knows every row takes at most.
extern int option_density_bytes;
// In bytes, where the session, its role or its client set it, whom no worker follows; else 0.
int32 session_density_bytes();
// kde_aqp.joint_bytes: kilobytes a density of several columns takes at most.
extern int option_joint_bytes;
// kde_aqp.log_min_duration: milliseconds from which a fit is logged; -1: none.
extern int option_log_min_duration;

// kde_aqp.refresh_scale_factor, _threshold, _max_age (seconds; 0: any), _drift: when a density is
// stale (staleness.h).
extern double option_refresh_scale_factor;
extern int option_refresh_threshold;
extern int option_refresh_max_age;
extern double option_refresh_drift;

// kde_aqp.dump_densities: whether pg_dump takes the densities along.
extern bool option_dump_densities;

// kde_aqp.stale: what an answer by a stale density does.
enum class StaleAnswer { ignore, warn, error };
StaleAnswer chosen_stale_answer();

// kde_aqp.changed_rows: whether intervals take in the rows changed since the fit.
extern bool option_changed_rows;

// kde_aqp.approximate: which statements of plain SQL densities may answer.
enum class Approximate { off, top, all };
Approximate chosen_approximate();
// kde_aqp.approximate_error, _confidence: how sure of its answers such a statement must be: half an
// interval's width over its estimate. _notice: whether it says so.
extern double option_approximate_error;
extern double option_approximate_confidence;
extern bool option_approximate_notice;
extern int option_approximate_scan_blocks;
// kde_aqp.log_answers: each is logged.
extern bool option_log_answers;

// kde_aqp.device: what exact sums over pairs may be computed by.
enum class DeviceMode { automatic, cpu, cuda };
DeviceMode chosen_device_mode();

// kde_aqp.gpu_memory_limit: megabytes the device service takes of each card; 0: four fifths of it.
extern int option_gpu_memory_limit;
// kde_aqp.gpu_max_jobs: sums that may wait or run there.
extern int option_gpu_max_jobs;

// kde_aqp.naptime: seconds between the refresh launcher's rounds.
extern int option_naptime;
// kde_aqp.refresh_timeout: milliseconds a background refresh of one density may take; 0: any.
extern int option_refresh_timeout;
// kde_aqp.max_workers: refresh workers that may run at once; 0: none.
extern int option_max_workers;

// The path of the device service's program, from kde_aqp.cuda_program. path: MAXPGPATH bytes.
void device_program_path(char* path);

// Registers the options. Called once, from _PG_init.
void define_options();

// The engine that kde_aqp.simd asks for.
kde::Engine chosen_engine();
// Its name as users see it: "simd avx3_dl", "reference". Static storage.
const char* chosen_engine_name();
// The instruction sets kde_aqp.simd may name on this processor, best first.
int instruction_set_count();
const char* instruction_set_name(int i);
// Threads that kde_aqp.threads allows: at least 1, at most the cores.
int chosen_threads();

}  // namespace kde_pg
