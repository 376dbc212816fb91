// Threads take the next piece as they get done with one. OpenMP's barrier at the end would leave
// nobody to poll while the calling thread waits there for a long piece of another's, so that it
// waits before.
#include "core/share_items.h"

#include <omp.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace kde {

namespace {

using Clock = std::chrono::steady_clock;

// Others are done soon, or else take milliseconds.
constexpr std::chrono::microseconds kSoon{200}, kNap{500};

struct Shared {
  const Control& control;
  std::int64_t items;
  FunctionRef<void(std::int64_t, const Control&)> work;
  std::atomic<std::int64_t> next{0}, done{0};
  std::atomic<bool> stop{false};
};

// What the calling thread finds holds for all, and is asked no more.
bool poll(void* arg) {
  auto* shared = static_cast<Shared*>(arg);
  if (!shared->stop && shared->control.stop_requested()) shared->stop = true;
  return shared->stop;
}

bool is_stopped(void* arg) { return static_cast<Shared*>(arg)->stop; }

void tell(const Shared& shared) {
  shared.control.tell({WorkUnit::steps, shared.items}, shared.done);
}

void take_items(Shared* shared, bool calling) {
  Control own;
  own.should_stop = calling ? poll : is_stopped;
  own.stop_arg = shared;
  while (!own.stop_requested()) {
    const std::int64_t item = shared->next.fetch_add(1);
    if (item >= shared->items) return;
    shared->work(item, own);
    shared->done.fetch_add(1);
    if (calling) tell(*shared);
  }
}

void wait_for_others(Shared* shared) {
  const Clock::time_point soon = Clock::now() + kSoon;
  while (shared->done < shared->items && !poll(shared)) {
    if (Clock::now() < soon) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kNap);
      tell(*shared);
    }
  }
}

}  // namespace

Status share_items(const Control& control, std::int64_t items,
                   FunctionRef<void(std::int64_t item, const Control& own)> work) noexcept {
  Shared shared{control, items, work};
  // Always the same team, however few the items, as in ordered_sum.
  if (control.threads <= 1) {
    take_items(&shared, true);
  } else {
#pragma omp parallel num_threads(control.threads)
    {
      const bool calling = omp_get_thread_num() == 0;
      take_items(&shared, calling);
      if (calling) wait_for_others(&shared);
    }
  }
  if (shared.stop) return cancelled();
  control.tell({WorkUnit::steps, items}, items);
  return Status::success();
}

}  // namespace kde
