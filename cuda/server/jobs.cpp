// Quotas are counters under a mutex. Visits are chained through themselves, so that entering the
// Device allocates nothing and cannot fail.
#include "cuda/server/jobs.h"

#include <utility>

#include "cuda/server/clock.h"

namespace kde::service {

void Quota::Share::give_back() {
  if (quota_ == nullptr) return;
  Quota* const quota = std::exchange(quota_, nullptr);
  const std::lock_guard lock(quota->mutex_);
  quota->used_ -= amount_;
}

bool Quota::take(std::uint64_t amount, Share* out) {
  const std::lock_guard lock(mutex_);
  if (amount > most_ || used_ > most_ - amount) return false;
  used_ += amount;
  out->quota_ = this;
  out->amount_ = amount;
  return true;
}

Visits::Visit::Visit(Visits& visits, const char* what)
    : visits_(visits), what_(what), heard_ms_(now_ms()) {
  const std::lock_guard lock(visits_.mutex_);
  next_ = visits_.first_;
  if (next_ != nullptr) next_->previous_ = this;
  visits_.first_ = this;
}

Visits::Visit::~Visit() {
  const std::lock_guard lock(visits_.mutex_);
  if (next_ != nullptr) next_->previous_ = previous_;
  (previous_ != nullptr ? previous_->next_ : visits_.first_) = next_;
}

void Visits::Visit::heard() { heard_ms_.store(now_ms(), std::memory_order_relaxed); }

Visits::Silence Visits::longest_silence() {
  const std::lock_guard lock(mutex_);
  const double now = now_ms();
  Silence longest;
  for (const Visit* visit = first_; visit != nullptr; visit = visit->next_) {
    const double ms = now - visit->heard_ms_.load(std::memory_order_relaxed);
    if (longest.what == nullptr || ms > longest.ms) longest = {visit->what_, ms};
  }
  return longest;
}

void Visits::forgive() {
  const std::lock_guard lock(mutex_);
  for (Visit* visit = first_; visit != nullptr; visit = visit->next_) visit->heard();
}

}  // namespace kde::service
