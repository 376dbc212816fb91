// How a caller bounds, stops and watches long work in the core.
#pragma once

#include "core/room.h"

#include <cstdint>

namespace kde {

// What long work counts: pairs of values (one for every bandwidth that the sums over it are of), or
// steps of whatever else it repeats (columns, candidates, points of a search).
enum class WorkUnit { pairs, steps };

// The parts of a fit that follow the scan.
enum class Stage { selecting, estimating };

// The size of a piece of work, by which it tells how far it is. Of size 0: it does not tell.
struct WorkAmount {
  WorkUnit unit = WorkUnit::steps;
  std::int64_t total = 0;
};

// All pairs of n values, for so many bandwidths.
inline WorkAmount pairs_of(std::int64_t n, std::int64_t bandwidths = 1) {
  return {WorkUnit::pairs, n * (n - 1) / 2 * bandwidths};
}

// How long one wait for something else lasts at most, before it is asked whether to stop.
inline constexpr int kSliceMs = 10;

struct Control {
  // OpenMP threads used at most; results do not depend on it.
  int threads = 1;
  // Polled every few milliseconds by the calling thread alone; true ends the work with
  // Code::cancelled. Null: never stop.
  bool (*should_stop)(void* arg) = nullptr;
  void* stop_arg = nullptr;
  // Told by the calling thread alone, as often as it polls: `done` of the piece's total, from 0 to
  // all of it. A search is many pieces, one after another, of which nobody knows how many will be.
  // Must be quick, and must not throw. Null: nobody watches.
  void (*on_progress)(void* arg, WorkAmount piece, std::int64_t done) = nullptr;
  // Told when a stage begins.
  void (*on_stage)(void* arg, Stage stage) = nullptr;
  void* progress_arg = nullptr;

  bool stop_requested() const { return should_stop != nullptr && should_stop(stop_arg); }
  void tell(WorkAmount piece, std::int64_t done) const {
    if (on_progress != nullptr && piece.total > 0) on_progress(progress_arg, piece, done);
  }
  void begin(Stage stage) const {
    if (on_stage != nullptr) on_stage(progress_arg, stage);
  }
};

}  // namespace kde
