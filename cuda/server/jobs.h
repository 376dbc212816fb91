// What all connections share: how many jobs there are, the memory of the samples, and when each
// thread inside the Device was last heard of.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "core/room.h"

namespace kde::service {

// So many things of a kind, most.
class Quota {
 public:
  explicit Quota(std::uint64_t most) : most_(most) {}

  // What was taken, given back with its owner.
  class Share {
   public:
    Share() = default;
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share() { give_back(); }

    void give_back();

   private:
    friend class Quota;
    Quota* quota_ = nullptr;
    std::uint64_t amount_ = 0;
  };

  // False if it would be more than the most. *out has nothing.
  bool take(std::uint64_t amount, Share* out);
  std::uint64_t most() const { return most_; }

 private:
  std::mutex mutex_;
  const std::uint64_t most_;
  std::uint64_t used_ = 0;
};

// The threads that are in a function of the Device.
class Visits {
 public:
  // While it lives, the calling thread is inside; heard() says that it is alive.
  class Visit {
   public:
    // what: a static string, for the log.
    Visit(Visits& visits, const char* what);
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;
    ~Visit();

    void heard();

   private:
    friend class Visits;
    Visits& visits_;
    const char* what_;
    std::atomic<double> heard_ms_;
    Visit* previous_ = nullptr;
    Visit* next_ = nullptr;
  };

  struct Silence {
    const char* what = nullptr;  // null: nobody is inside
    double ms = 0;
  };
  // Of the thread that has been silent the longest.
  Silence longest_silence();

  // Takes all for heard of now: after this process itself stood still.
  void forgive();

 private:
  std::mutex mutex_;
  Visit* first_ = nullptr;
};

}  // namespace kde::service
