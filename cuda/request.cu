// Turns of a request on one card or on all (sample.h). The results of a unit depend on the unit
// alone, and are added in the order of the units, so it does not matter which card computed it.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <new>
#include <system_error>
#include <thread>

#include "cuda/sample.h"

namespace kde::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kWorthSharing = 3;                                  // ms, predicted for one card
constexpr std::int64_t kMaxScratch = (std::int64_t{256} << 20) / 8;  // numbers of one turn

class Run {
 public:
  Run(const Cards& cards, const Request& request, std::vector<double>* results)
      : cards_(cards), request_(request), results_(*results) {}

  Status all(const Control& control) {
    const double total_ms = static_cast<double>(request_.units) * request_.pairs_per_unit * 1000 /
                            cards_.front()->pair_rate(request_.precision);
    if (cards_.size() == 1 || total_ms < kWorthSharing) return on_card(next_card(), 1, control);
    return shared(control);
  }

 private:
  // In turn: near enough to fair.
  std::size_t next_card() const {
    static std::atomic<std::size_t> next{0};
    return cards_.size() == 1 ? 0 : next++ % cards_.size();
  }

  Status shared(const Control& control) {
    // The other threads ask only whether this one was told to stop.
    const Control follow{
        1, [](void* flag) { return static_cast<std::atomic<bool>*>(flag)->load(); }, &stop_};
    std::vector<Status> status(cards_.size());
    std::vector<std::thread> threads;
    std::atomic<std::size_t> running{0};
    for (std::size_t card = 1; card < cards_.size(); ++card) {
      try {
        ++running;
        threads.emplace_back([&, card] {
          status[card] = on_card(card, cards_.size(), follow);
          if (!status[card].ok()) stop_ = true;
          --running;
        });
      } catch (const std::system_error&) {
        --running;  // fewer cards do it all
        break;
      }
    }
    status[0] = on_card(0, cards_.size(), control);
    if (!status[0].ok()) stop_ = true;
    while (running > 0) {
      if (!stop_ && control.stop_requested()) stop_ = true;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    for (std::thread& thread : threads) thread.join();
    // What went wrong rather than what was stopped for it.
    Status worst = status[0];
    for (const Status& s : status) {
      if (!s.ok() && (worst.ok() || worst.code == Code::cancelled)) worst = s;
    }
    if (stop_ && worst.ok()) worst = Status::error(Code::cancelled, "cancelled");
    return worst;
  }

  // Units from the common counter until there are none.
  Status on_card(std::size_t number, std::size_t sharers, const Control& control) {
    Card& card = *cards_[number];
    bool begins = true;
    double rate = card.pair_rate(request_.precision);
    Status status = card.use();
    while (status.ok()) {
      if (stop_) return Status::error(Code::cancelled, "cancelled");
      if (next_ >= request_.units) break;
      status = card.begin_turn(control);
      if (!status.ok()) return status;
      const Clock::time_point start = Clock::now();
      std::int64_t first = 0, last = 0;
      take(rate, sharers, &first, &last);
      if (first < last) status = turn(card, number, begins, first, last, control);
      const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
      card.end_turn(ms);
      if (status.ok() && first < last && !begins)
        rate = static_cast<double>(last - first) * request_.pairs_per_unit * 1000 / ms;
      begins = false;
    }
    if (status.ok()) card.count_job();
    return card.report(status);
  }

  void take(double rate, std::size_t sharers, std::int64_t* first, std::int64_t* last) {
    std::int64_t start = next_.load();
    std::int64_t count = 0;
    do {
      const std::int64_t left = request_.units - start;
      if (left <= 0) return;
      const double fits = kTurnMs / 1000 * rate / request_.pairs_per_unit;
      count = static_cast<std::int64_t>(std::clamp(fits, 1.0, 1e9));
      count = std::min(
          {count, left, std::max<std::int64_t>(kMaxScratch / request_.scratch_per_unit, 1)});
      // Towards the end in smaller parts, so that the cards end together.
      if (sharers > 1)
        count = std::max<std::int64_t>(
            std::min(count, left / (2 * static_cast<std::int64_t>(sharers))), 1);
    } while (!next_.compare_exchange_weak(start, start + count));
    *first = start;
    *last = start + count;
  }

  Status turn(Card& card, std::size_t number, bool begins, std::int64_t first, std::int64_t last,
              const Control& control) {
    const auto units = static_cast<std::size_t>(last - first);
    const std::size_t results = units * static_cast<std::size_t>(request_.results_per_unit);
    if (Status s = card.partial().reserve(
            units * static_cast<std::size_t>(request_.scratch_per_unit), card.stream());
        !s.ok())
      return s;
    if (Status s = card.results().reserve(results + 1); !s.ok()) return s;
    double* out = card.results().data();
    auto* norm = reinterpret_cast<float*>(out + results);
    *norm = 0;
    if (Status s = request_.enqueue(number, begins, first, last, out, norm); !s.ok()) return s;
    if (Status s = card.wait(control); !s.ok()) return s;
    if (!(*norm < kGreatestNorm)) return too_wide();
    std::memcpy(results_.data() + first * request_.results_per_unit, card.results().data(),
                results * sizeof(double));
    return Status::success();
  }

  const Cards& cards_;
  const Request& request_;
  std::vector<double>& results_;
  std::atomic<std::int64_t> next_{0};
  std::atomic<bool> stop_{false};
};

}  // namespace

Status run_request(const Cards& cards, const Request& request, const Control& control,
                   std::vector<double>* results) {
  try {
    results->assign(static_cast<std::size_t>(request.units * request.results_per_unit), 0);
    return Run(cards, request, results).all(control);
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "no memory for the results");
  }
}

}  // namespace kde::cuda
