// Makes the engine that a caller asks for, after checking what every engine takes for granted.
#include <atomic>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "core/summary/sort.h"
#include "core/sums/device_sums.h"
#include "core/sums/engine_parts.h"
#include "core/sums/finite.h"
#include "core/sums/pair_sums.h"
#include "core/sums/spectral.h"
#include "core/guarded.h"

namespace kde {
namespace {

// Whether at most half of the values are distinct: then the pairs of distinct values are at most
// a quarter of all, and in double cost less than all of them in single precision.
bool mostly_ties(const std::vector<double>& sorted) {
  std::size_t distinct = 1;
  for (std::size_t i = 1; i < sorted.size(); ++i) distinct += sorted[i] != sorted[i - 1];
  return 2 * distinct <= sorted.size();
}

}  // namespace

Status make_pair_sums(const Engine& engine, std::span<const double> x, const Control& control,
                      std::unique_ptr<PairSums>* out) {
  if (x.size() < 2) {
    return Status::error(Code::invalid_argument, "sums over pairs need at least two values");
  }
  if (!all_finite(x)) {
    return Status::error(Code::invalid_argument, "values must be finite");
  }
  if (engine.kind == Engine::Kind::spectral) return make_spectral_sums(x, {}, control, out);
  return guarded([&] {
    if (engine.kind == Engine::Kind::reference) {
      *out = make_reference_sums(x, control);
      return Status::success();
    }
    const std::int64_t target = engine.target == 0 ? best_simd_target() : engine.target;
    if (!is_simd_target(target)) {
      return Status::error(Code::invalid_argument,
                           "this processor or build has no such vector instruction set");
    }
    if (engine.kind == Engine::Kind::device) return make_device_sums(engine, x, control, out);
    std::vector<double> sorted(x.begin(), x.end());
    if (!sort_values(&sorted, control)) return cancelled();
    *out = mostly_ties(sorted)
               ? make_tied_sums(sorted, target, control)
               : make_tiled_sums(std::move(sorted), target, engine.precision, control);
    return Status::success();
  });
}

namespace {

// How many of `wanted` threads the system gives, all alive at one time.
int available_threads(int wanted) {
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  try {
    threads.reserve(static_cast<std::size_t>(wanted));
    while (static_cast<int>(threads.size()) < wanted)
      threads.emplace_back([&done] { done.wait(false); });
  } catch (const std::exception&) {
    // Refused: what there is has to do.
  }
  done = true;
  done.notify_all();
  for (std::thread& thread : threads) thread.join();
  return static_cast<int>(threads.size());
}

int start_team(int threads) {
  if (threads > 1) threads = 1 + available_threads(threads - 1);
  if (threads <= 1) return 1;
  // The counter keeps the compiler from removing a region that does nothing.
  std::atomic<int> started{0};
#pragma omp parallel num_threads(threads)
  started.fetch_add(1, std::memory_order_relaxed);
  return threads;
}

}  // namespace

int start_threads(int threads) {
  // OpenMP keeps a team for the next region of its size.
  static int asked = 1;
  static int started = 1;
  if (threads == asked) return started;
  asked = threads;
  started = start_team(threads);
  return started;
}

}  // namespace kde
