// A Summary that owns its memory, of malloc, released with it: that of a scan.
#pragma once

#include "core/summary/summary.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace kde {

class OwnedSummary {
 public:
  explicit OwnedSummary(Resolution resolution = Resolution::fine)
      : chunks_(std::make_unique<std::vector<void*>>()), summary_(memory(), resolution) {}
  OwnedSummary(const OwnedSummary&) = delete;
  OwnedSummary& operator=(const OwnedSummary&) = delete;
  ~OwnedSummary() {
    for (void* chunk : *chunks_) std::free(chunk);
  }

  void swap(OwnedSummary& other) {
    std::swap(chunks_, other.chunks_);
    std::swap(summary_, other.summary_);
  }

  // Where the summary's arrays live, for what goes with it.
  Memory memory() { return {&allocate, &release, chunks_.get()}; }

  Summary& operator*() { return summary_; }
  const Summary& operator*() const { return summary_; }
  Summary* operator->() { return &summary_; }
  const Summary* operator->() const { return &summary_; }

 private:
  static void* allocate(void* context, std::size_t bytes) {
    auto* chunks = static_cast<std::vector<void*>*>(context);
    void* chunk = std::malloc(bytes);
    if (chunk == nullptr) return nullptr;
    try {
      chunks->push_back(chunk);
    } catch (const std::bad_alloc&) {
      std::free(chunk);
      return nullptr;
    }
    return chunk;
  }

  // There are some six at a time.
  static void release(void* context, void* chunk) {
    auto* chunks = static_cast<std::vector<void*>*>(context);
    chunks->erase(std::find(chunks->begin(), chunks->end(), chunk));
    std::free(chunk);
  }

  // Apart, so that it stays where it is when summaries are swapped.
  std::unique_ptr<std::vector<void*>> chunks_;
  Summary summary_;
};

}  // namespace kde
