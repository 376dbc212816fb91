// Each piece once, on as many threads as there may be, and an end to all when the caller says so.
#include "core/share_items.h"

#include <omp.h>

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace {

using kde::Control;
using kde::share_items;

Control control_of(int threads) {
  Control control;
  control.threads = threads;
  return control;
}

TEST(ShareItemsTest, EachPieceOnce) {
  for (const int threads : {1, 2, 5}) {
    std::vector<std::atomic<int>> times(100);
    std::atomic<int> other_controls{0};
    const auto work = [&](std::int64_t item, const Control& own) {
      ++times[static_cast<std::size_t>(item)];
      if (own.threads != 1 || own.on_progress != nullptr) ++other_controls;
    };
    EXPECT_TRUE(share_items(control_of(threads), std::ssize(times), work).ok());
    for (const auto& t : times) EXPECT_EQ(t, 1) << threads;
    EXPECT_EQ(other_controls, 0);
    EXPECT_TRUE(share_items(control_of(threads), 0, work).ok());
  }
}

// Pieces that wait for each other are done only if each has a thread.
TEST(ShareItemsTest, SideBySide) {
  constexpr int kThreads = 3;
  std::atomic<int> begun{0};
  const auto work = [&begun](std::int64_t, const Control&) {
    ++begun;
    while (begun < kThreads) std::this_thread::yield();
  };
  EXPECT_TRUE(share_items(control_of(kThreads), kThreads, work).ok());
}

// Of the caller's control nothing is called by any other thread; what it says ends the pieces of
// all, also while the calling thread has none.
TEST(ShareItemsTest, StopsAll) {
  struct Caller {
    int polls = 0, polls_of_others = 0;
  };
  for (const int threads : {1, 2, 4}) {
    for (const std::int64_t items : {1, 2, 50}) {
      Caller caller;
      Control control = control_of(threads);
      control.stop_arg = &caller;
      control.should_stop = [](void* arg) {
        auto* c = static_cast<Caller*>(arg);
        if (omp_get_thread_num() != 0) ++c->polls_of_others;
        return ++c->polls > 20;
      };
      std::atomic<int> begun{0}, never_stopped{0};
      const auto work = [&](std::int64_t, const Control& own) {
        ++begun;
        for (int i = 0; i < 10'000'000; ++i) {
          if (own.stop_requested()) return;
          std::this_thread::yield();
        }
        ++never_stopped;
      };
      EXPECT_EQ(share_items(control, items, work).code, kde::Code::cancelled);
      EXPECT_EQ(never_stopped, 0);
      EXPECT_LE(begun, threads);
      EXPECT_EQ(caller.polls_of_others, 0);
    }
  }
}

TEST(ShareItemsTest, TellsWhatIsDone) {
  struct Told {
    kde::WorkAmount piece;
    std::int64_t done = -1;
    bool falls = false;
  };
  for (const int threads : {1, 3}) {
    Told told;
    Control control = control_of(threads);
    control.progress_arg = &told;
    control.on_progress = [](void* arg, kde::WorkAmount piece, std::int64_t done) {
      auto* t = static_cast<Told*>(arg);
      t->piece = piece;
      t->falls = t->falls || done < t->done;
      t->done = done;
    };
    EXPECT_TRUE(share_items(control, 7, [](std::int64_t, const Control&) {}).ok());
    EXPECT_EQ(told.piece.total, 7);
    EXPECT_EQ(told.done, 7);
    EXPECT_FALSE(told.falls);
  }
}

}  // namespace
