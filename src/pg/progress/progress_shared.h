// What the backends of the server show of their work on densities: a report of each that works on
// one, in slots in shared memory.
//
// There are as many slots as a small struct has room for that needs no preloading: it is taken from
// what a server leaves over of its shared memory, at its first use. Where that is used up, or all
// slots are, work goes on and is not shown.
#pragma once

#include "pg/base/pg.h"

#include "core/kde.h"

extern "C" {
#include "access/attnum.h"
#include "datatype/timestamp.h"
}

namespace kde_pg {

enum class Operation { fit, refresh, drift, bandwidth, evaluate };
enum class Phase { waiting_for_lock, scanning, selecting, estimating, storing };
enum class Unit { none, blocks, rows, pairs, steps };

// A report, as it was at one moment.
struct ProgressReport {
  int pid;  // 0: none
  Oid database;
  Oid user;
  Oid relation;
  int columns;
  AttrNumber attnum[kde::kMaxColumns];  // 0: an expression
  Operation operation;
  Phase phase;
  Unit unit;
  int64 done, total;  // total 0: not known
  bool sums;          // sums over pairs are computed, and
  bool on_device;     // a card does it
  TimestampTz started_at;
};

// Bytes of shared memory, to be asked for while shared_preload_libraries are loaded.
Size progress_memory();

// Finds the memory, once a process; to be called before show_progress() where errors may be raised
// (and are caught).
void attach_progress();

// Shows this process's report in place of an earlier one. Raises nothing, waits for nothing.
void show_progress(const ProgressReport& report);
void hide_progress();

// What parallel workers did of what `leader` shows, beside what he did himself: they add to it, and
// he begins anew.
void add_for_leader(int leader, int64 done);
void forget_workers();

// The n-th slot, from 0. False: nothing is shown in it.
inline constexpr int kProgressSlots = 64;
bool read_progress(int n, ProgressReport* report);

}  // namespace kde_pg
