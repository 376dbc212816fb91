// Turns of a request on one card or on all (sample.h). The results of a unit depend on the unit
// alone, and are added in the order of the units, so it does not matter which card computed it.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <new>
#include <thread>

#include "cuda/sample.h"

namespace kde::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kWorthSharing = 3;                                  // ms, predicted for one card
constexpr std::int64_t kMaxScratch = (std::int64_t{256} << 20) / 8;  // numbers of one turn

class Run {
 public:
  Run(const Cards& cards, std::size_t home, const Request& request, std::vector<double>* results)
      : cards_(cards), home_(home), request_(request), results_(*results) {}

  Status all(const Control& control) {
    if (cards_.size() > 1 && expected_ms(request_.units, rate(home_)) > kWorthSharing) {
      const Status status = shared(control);
      if (status.code != Code::unavailable && status.code != Code::too_large) return status;
      // One of them has no memory, say: the one that has the points may do.
      next_ = 0;
      stop_ = false;
    }
    return on_card(home_, 1, control);
  }

 private:
  double rate(std::size_t card) const { return cards_[card]->pair_rate(request_.precision); }

  double expected_ms(std::int64_t units, double rate) const {
    return static_cast<double>(units) * request_.pairs_per_unit * 1000 / rate;
  }

  Status shared(const Control& control) {
    // The other threads ask only whether this one was told to stop.
    const Control follow{
        1, [](void* flag) { return static_cast<std::atomic<bool>*>(flag)->load(); }, &stop_};
    std::vector<Status> status(cards_.size());
    std::vector<std::thread> threads;
    threads.reserve(cards_.size());
    std::atomic<std::size_t> running{0};
    for (std::size_t card = 0; card < cards_.size(); ++card) {
      if (card == home_) continue;
      try {
        ++running;
        threads.emplace_back([&, card] {
          status[card] = on_card(card, cards_.size(), follow);
          if (!status[card].ok()) stop_ = true;
          --running;
        });
      } catch (const std::exception&) {
        --running;  // no thread or no memory for one: fewer cards do it all
        break;
      }
    }
    status[home_] = on_card(home_, cards_.size(), control);
    if (!status[home_].ok()) stop_ = true;
    while (running > 0) {
      if (!stop_ && control.stop_requested()) stop_ = true;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    for (std::thread& thread : threads) thread.join();
    // What went wrong rather than what was stopped for it.
    Status worst = status[home_];
    for (const Status& s : status) {
      if (!s.ok() && (worst.ok() || worst.code == Code::cancelled)) worst = s;
    }
    if (stop_ && worst.ok()) worst = Status::error(Code::cancelled, "cancelled");
    return worst;
  }

  // Units from the common counter until there are none.
  Status on_card(std::size_t number, std::size_t sharers, const Control& control) {
    try {
      const Status status = turns(number, sharers, control);
      if (status.ok()) cards_[number]->count_job();
      return cards_[number]->report(status);
    } catch (const std::bad_alloc&) {
      return Status::error(Code::out_of_memory, "no memory for a turn");
    }
  }

  Status turns(std::size_t number, std::size_t sharers, const Control& control) {
    Card& card = *cards_[number];
    double speed = rate(number);
    if (Status s = card.use(); !s.ok()) return s;
    for (bool begins = true; next_ < request_.units; begins = false) {
      if (stop_) return Status::error(Code::cancelled, "cancelled");
      if (Status s = card.begin_turn(control); !s.ok()) return s;
      Turn turn(card);
      std::int64_t first = 0, last = 0;
      take(speed, sharers, &first, &last);
      if (first < last) {
        if (Status s =
                compute(number, begins, first, last, expected_ms(last - first, speed), control);
            !s.ok())
          return s;
        if (!begins)
          speed = static_cast<double>(last - first) * request_.pairs_per_unit * 1000 / turn.ms();
      }
      turn.leave();
    }
    return Status::success();
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

  // During a turn of the card.
  Status compute(std::size_t number, bool begins, std::int64_t first, std::int64_t last,
                 double predicted_ms, const Control& control) {
    Card& card = *cards_[number];
    const auto units = static_cast<std::size_t>(last - first);
    const std::size_t count = units * static_cast<std::size_t>(request_.results_per_unit);
    if (Status s = card.partial().reserve(
            units * static_cast<std::size_t>(request_.scratch_per_unit), card.stream());
        !s.ok())
      return s;
    if (Status s = card.results().reserve(count + 1); !s.ok()) return s;
    double* out = card.results().data();
    auto* norm = reinterpret_cast<float*>(out + count);
    *norm = 0;
    if (Status s = request_.enqueue(number, begins, first, last, out, norm); !s.ok()) return s;
    if (Status s = card.wait(control, predicted_ms); !s.ok()) return s;
    if (!(*norm < kGreatestNorm)) return too_wide();
    if (!std::all_of(out, out + count, [](double v) { return std::isfinite(v); }))
      return too_wide();
    std::copy_n(out, count, results_.begin() + first * request_.results_per_unit);
    return Status::success();
  }

  const Cards& cards_;
  const std::size_t home_;
  const Request& request_;
  std::vector<double>& results_;
  std::atomic<std::int64_t> next_{0};
  std::atomic<bool> stop_{false};
};

}  // namespace

Status run_request(const Cards& cards, std::size_t home, const Request& request,
                   const Control& control, std::vector<double>* results) {
  try {
    results->assign(static_cast<std::size_t>(request.units * request.results_per_unit), 0);
    return Run(cards, home, request, results).all(control);
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "no memory for the results");
  }
}

}  // namespace kde::cuda
