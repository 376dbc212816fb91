// Floating-point addition is not associative: a sum that threads add up as they finish changes in
// its last bits from run to run. Here each item has a slot of its own, and the slots are added in
// order once a batch of items is done. The batches bound the memory whatever the number of items
// and of sums.
#include "core/sums/ordered_sum.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <vector>

namespace kde {
namespace {

constexpr std::int64_t kMostItems = 65536;
constexpr std::int64_t kLeastItems = 1024;    // enough for every thread to have some
constexpr std::int64_t kMostSlots = 1 << 20;  // 8 MB

// What the calling thread has not done by then it shares. Where there is more to run than there are
// processors, threads that begin and end together wait for each other's turn, milliseconds each.
constexpr std::chrono::milliseconds kAlone{1};

// The first `items` slots, of totals.size() numbers each, to the totals.
void add(const std::vector<double>& slots, std::int64_t items, std::span<double> totals) {
  const std::int64_t width = static_cast<std::int64_t>(totals.size());
  for (std::int64_t slot = 0; slot < items; ++slot) {
    for (std::int64_t k = 0; k < width; ++k) totals[k] += slots[slot * width + k];
  }
}

}  // namespace

Status ordered_sum(const Control& control, std::int64_t items,
                   FunctionRef<void(std::int64_t, double*)> work, std::span<double> totals,
                   WorkAmount amount) {
  const std::int64_t width = static_cast<std::int64_t>(totals.size());
  const std::int64_t fitting = kMostSlots / std::max<std::int64_t>(width, 1);
  const std::int64_t batch = std::min(items, std::clamp(fitting, kLeastItems, kMostItems));
  std::vector<double> slots;
  try {
    slots.resize(static_cast<std::size_t>(batch * width));
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }

  std::fill(totals.begin(), totals.end(), 0.0);
  const double weight =
      static_cast<double>(amount.total) / static_cast<double>(std::max<std::int64_t>(items, 1));
  const auto tell = [&](std::int64_t begun) {
    if (control.on_progress != nullptr)
      control.tell(amount, static_cast<std::int64_t>(weight * static_cast<double>(begun)));
  };
  std::atomic<bool> stop{false};
  // Always the same team, however few the items: OpenMP ends the threads that a smaller team leaves
  // over and makes new ones for the next larger, at a moment the caller does not control.
  const int threads = std::max(control.threads, 1);
  const auto alone_until = std::chrono::steady_clock::now() + kAlone;

  for (std::int64_t begin = 0; begin < items && !stop; begin += batch) {
    // Busy threads may leave the calling one no item of a short batch, and so no poll within it.
    if (control.stop_requested()) {
      stop = true;
      break;
    }
    const std::int64_t end = std::min(items, begin + batch);
    std::fill(slots.begin(), slots.end(), 0.0);
    std::int64_t shared = begin;
    for (; shared < end && !stop; ++shared) {
      if (threads > 1 && std::chrono::steady_clock::now() >= alone_until) break;
      if (control.stop_requested()) {
        stop = true;
      } else {
        tell(shared);
        work(shared, slots.data() + (shared - begin) * width);
      }
    }
    // A parallel region of nothing would still have to be waited for.
    if (shared == end || stop) {
      add(slots, end - begin, totals);
      continue;
    }
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (std::int64_t item = shared; item < end; ++item) {
      // A loop shared by OpenMP cannot be left early: what remains of it is skipped.
      if (stop.load(std::memory_order_relaxed)) continue;
      if (omp_get_thread_num() == 0 && control.stop_requested()) {
        stop.store(true, std::memory_order_relaxed);
        continue;
      }
      if (omp_get_thread_num() == 0) tell(item);
      work(item, slots.data() + (item - begin) * width);
    }
    add(slots, end - begin, totals);
  }
  if (stop) return cancelled();
  control.tell(amount, amount.total);
  return Status::success();
}

}  // namespace kde
