// The sums of a sample, each as a request of units (sample.h): its cut, what a card needs before
// its first unit, and what the host makes of the results.
#include "cuda/sample.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <new>
#include <numbers>

#include "core/sums/gaussian_derivatives.h"
#include "cuda/full.h"
#include "cuda/rows.h"
#include "cuda/sort.h"
#include "cuda/sweep.h"

namespace kde::cuda {
namespace {

constexpr std::size_t kSortHere = 1024;  // fewer values are sorted before a kernel has begun
// Bandwidths such that kAway is beyond reach, and that squared distances of one do not underflow.
constexpr double kLeastScale = 1e-27;
constexpr double kGreatestScale = 1e30;

template <typename T>
constexpr Precision precision_of() {
  return sizeof(T) == 4 ? Precision::single : Precision::full;
}

Whitening scaled(std::span<const double> a, double scale) {
  Whitening out{};
  for (std::size_t k = 0; k < a.size(); ++k) out.a[k] = a[k] * scale;
  return out;
}

// Sums over the units, in their order.
void add_units(const std::vector<double>& units, std::span<double> out) {
  std::fill(out.begin(), out.end(), 0.0);
  for (std::size_t k = 0; k < units.size(); ++k) out[k % out.size()] += units[k];
}

}  // namespace

CudaSample::CudaSample(const Cards& cards, std::size_t home, std::int64_t n, int d)
    : cards_(cards),
      home_(home),
      n_(n),
      d_(d),
      units_((*std::min_element(cards.begin(), cards.end(),
                                [](const auto& a, const auto& b) {
                                  return a->matrix_units() < b->matrix_units();
                                }))
                 ->matrix_units()),
      places_(cards.size()) {
  for (auto& place : places_) place = std::make_unique<Place>();
}

CudaSample::~CudaSample() {
  for (std::size_t card = 0; card < places_.size(); ++card) {
    (void)cards_[card]->use();
    places_[card].reset();
  }
}

Status CudaSample::make(const Cards& cards, std::span<const double> points, int d,
                        const Control& control, std::unique_ptr<DeviceSample>* out) {
  try {
    const auto n = static_cast<std::int64_t>(points.size()) / d;
    // Each in turn, which is near enough to fair.
    static std::atomic<std::size_t> next{0};
    const std::size_t home = next++ % cards.size();
    std::unique_ptr<CudaSample> sample(new CudaSample(cards, home, n, d));
    std::vector<double> few;
    if (d == 1 && points.size() < kSortHere && !std::is_sorted(points.begin(), points.end())) {
      few.assign(points.begin(), points.end());
      std::sort(few.begin(), few.end());
      points = few;
    }

    Card& card = *cards[home];
    if (Status s = card.use(); !s.ok()) return s;
    if (Status s = card.begin_turn(control); !s.ok()) return s;
    Status status;
    {
      Turn turn(card);
      status = sample->take(points, control);
      if (status.ok()) turn.leave();
    }
    if (!status.ok()) return card.report(status);
    *out = std::move(sample);
    return Status::success();
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "no memory for a sample of %zu numbers",
                         points.size());
  }
}

// The points to their home, whose turn it is.
Status CudaSample::take(std::span<const double> points, const Control& control) {
  Card& card = *cards_[home_];
  Place& place = *places_[home_];
  if (Status s = reserve(home_); !s.ok()) return s;
  if (Status s = card.upload(place.points.data(), points.data(), points.size_bytes()); !s.ok())
    return s;
  if (control.stop_requested()) return Status::error(Code::cancelled, "cancelled");
  place.has_points = true;
  if (d_ == 1) {
    // While they are on their way.
    if (!strip_edges(points, &edges_)) {
      if (Status s = sort(control); !s.ok()) return s;
    }
    if (Status s = launch_merge(place.points.data(), n_, card.stream()); !s.ok()) return s;
  }
  // Other cards copy them from this one in streams of their own.
  return cards_.size() > 1 ? card.wait(control, 0) : Status::success();
}

Status CudaSample::reserve(std::size_t card) {
  Place& place = *places_[card];
  const auto numbers = static_cast<std::size_t>(n_) * static_cast<std::size_t>(d_);
  const std::size_t points = d_ == 1 ? static_cast<std::size_t>(with_merged(n_)) : numbers;
  // In one dimension as much is needed to sort them.
  if (Status s = cards_[card]->check_memory(points * sizeof(double) + white_bytes(n_)); !s.ok())
    return s;
  if (d_ > 1) {
    if (Status s = reserve_few(card); !s.ok()) return s;
  }
  return place.points.reserve(points, cards_[card]->stream());
}

std::size_t CudaSample::white_bytes(std::int64_t n) const {
  const auto numbers = static_cast<std::size_t>(padded(n) * (kernel_coordinates(d_) + 1));
  return numbers * sizeof(double) + (may_use_units() ? gram_bytes(n, gram_coordinates(d_)) : 0);
}

Status CudaSample::reserve_few(std::size_t card) {
  DeviceBuffer<double>& memory = places_[card]->few.memory;
  if (memory.size() > 0) return Status::success();
  if (Status s = memory.reserve(Few::kSize, cards_[card]->stream()); !s.ok()) return s;
  KDE_CUDA(cudaMemsetAsync(memory.data(), 0, Few::kSize * sizeof(double), cards_[card]->stream()));
  return Status::success();
}

Status CudaSample::sort(const Control& control) {
  Card& card = *cards_[home_];
  DeviceBuffer<double>& points = places_[home_]->points;
  DeviceBuffer<unsigned char> room;
  DeviceBuffer<double> sorted;
  if (Status s = sorted.reserve(static_cast<std::size_t>(n_), card.stream()); !s.ok()) return s;
  if (Status s = launch_sort(points.data(), sorted.data(), n_, &room, card.stream()); !s.ok())
    return s;
  KDE_CUDA(cudaMemcpyAsync(points.data(), sorted.data(),
                           static_cast<std::size_t>(n_) * sizeof(double), cudaMemcpyDeviceToDevice,
                           card.stream()));
  edges_.resize(static_cast<std::size_t>((n_ + kStrip - 1) / kStrip));
  const std::size_t bytes = edges_.size() * sizeof(StripEdges);
  if (Status s = card.results().reserve(bytes / sizeof(double)); !s.ok()) return s;
  auto* edges = reinterpret_cast<StripEdges*>(card.results().data());
  if (Status s = launch_strip_edges(points.data(), n_, edges, card.stream()); !s.ok()) return s;
  if (Status s = card.wait(control, 0); !s.ok()) return s;
  std::memcpy(edges_.data(), edges, bytes);
  return Status::success();
}

Status CudaSample::bring(std::size_t number) {
  Place& place = *places_[number];
  if (place.has_points) return Status::success();
  Card& card = *cards_[number];
  if (Status s = reserve(number); !s.ok()) return s;
  KDE_CUDA(cudaMemcpyPeerAsync(place.points.data(), card.ordinal(), places_[home_]->points.data(),
                               cards_[home_]->ordinal(), place.points.size() * sizeof(double),
                               card.stream()));
  place.has_points = true;
  return Status::success();
}

Status CudaSample::derivative(int r, double g, Precision precision, const Control& control,
                              double* sum) {
  if (d_ != 1)
    return Status::error(Code::invalid_argument, "derivatives are of samples in one dimension");
  if (!is_derivative_order(r))
    return Status::error(Code::invalid_argument, "there is no derivative of order %d", r);
  if (!(g > 0) || !std::isfinite(g))
    return Status::error(Code::invalid_argument, "the bandwidth must be positive and finite");
  if (!((edges_.back().last - edges_.front().first) / g < widest_range(precision)))
    return too_wide();
  try {
    const DerivativePlan plan = plan_derivative(edges_, n_, r, g, precision);
    Request request;
    request.units = plan.units();
    request.results_per_unit = 1;
    request.scratch_per_unit = kUnitJobs;
    request.pairs_per_unit = plan.pairs / static_cast<double>(request.units);
    request.precision = precision;
    request.enqueue = [&](std::size_t number, bool begins, std::int64_t first, std::int64_t last,
                          double* out, float*) {
      Card& card = *cards_[number];
      Place& place = *places_[number];
      if (begins) {
        if (Status s = bring(number); !s.ok()) return s;
        if (Status s = place.table.reserve(plan.table.size(), card.stream()); !s.ok()) return s;
        if (Status s = card.upload(place.table.data(), plan.table.data(),
                                   plan.table.size() * sizeof(std::int64_t));
            !s.ok())
          return s;
      }
      const std::int64_t* last_strip = place.table.data() + plan.tiles + 1;
      const DerivativeTables tables{place.table.data(), last_strip,  last_strip + plan.strips,
                                    plan.tiles,         plan.strips, plan.columns};
      const std::int64_t job0 = first * kUnitJobs;
      const std::int64_t job1 = std::min(last * kUnitJobs, plan.jobs);
      if (Status s = launch_derivative(place.points.data(), n_, r, g, precision, tables, job0, job1,
                                       card.partial().data(), card.stream());
          !s.ok())
        return s;
      return launch_unit_sums(card.partial().data(), job1 - job0, 1, out, card.stream());
    };
    std::vector<double> units;
    if (Status s = run_request(cards_, home_, request, control, &units); !s.ok()) return s;
    double total = 0;
    for (const double u : units) total += u;
    total -= static_cast<double>(n_) * hermite_at_zero(r) / 2;
    *sum = total / std::sqrt(2 * std::numbers::pi);
    return Status::success();
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "no memory for the cut of a sum");
  }
}

Status CudaSample::find_centre(std::size_t number) {
  Card& card = *cards_[number];
  Place& place = *places_[number];
  if (place.has_centre) return Status::success();
  if (Status s = reserve_few(number); !s.ok()) return s;
  if (Status s = launch_centre(place.points.data(), n_, d_, place.few.centre(), card.stream());
      !s.ok())
    return s;
  place.has_centre = true;
  return Status::success();
}

template <typename T>
Status CudaSample::whiten(std::size_t number, const double* points, std::int64_t n, int coordinates,
                          const Whitening& a, DeviceBuffer<unsigned char>* y, float* norm) {
  Card& card = *cards_[number];
  Place& place = *places_[number];
  const auto numbers = static_cast<std::size_t>(padded(n) * (coordinates + 1));
  if (Status s = y->reserve(numbers * sizeof(T), card.stream()); !s.ok()) return s;
  if (Status s = find_centre(number); !s.ok()) return s;
  float* greatest_norm = place.few.greatest_norm();
  KDE_CUDA(cudaMemsetAsync(greatest_norm, 0, sizeof(float), card.stream()));
  if (Status s = launch_whiten<T>(points, n, d_, coordinates, a, place.few.centre(),
                                  reinterpret_cast<T*>(y->data()),
                                  half_norms<T>(*y, n, coordinates), greatest_norm, card.stream());
      !s.ok())
    return s;
  KDE_CUDA(
      cudaMemcpyAsync(norm, greatest_norm, sizeof(float), cudaMemcpyDeviceToHost, card.stream()));
  return Status::success();
}

template <typename T>
Status CudaSample::sweep_part(std::span<const double> h, bool slopes, const Control& control,
                              std::span<double> out) {
  std::vector<double> scales;
  for (const double v : h) {
    const double scale = std::numbers::log2e / 4 / v / v;
    if (!(scale > kLeastScale) || !(scale < kGreatestScale)) return too_wide();
    scales.push_back(scale);
  }
  const int results = static_cast<int>(h.size()) * (slopes ? 4 : 2);
  const TileJobs cut = cut_sweep(n_);
  Request request;
  request.units = cut.units();
  request.results_per_unit = results;
  request.scratch_per_unit = static_cast<std::int64_t>(kUnitJobs) * results;
  request.precision = precision_of<T>();
  request.pairs_per_unit = static_cast<double>(n_) * static_cast<double>(n_) / 2 *
                           (static_cast<double>(h.size()) + d_ / 4.0) /
                           static_cast<double>(request.units);
  request.enqueue = [&](std::size_t number, bool begins, std::int64_t first, std::int64_t last,
                        double* result, float* norm) {
    Card& card = *cards_[number];
    Place& place = *places_[number];
    if (begins) {
      if (Status s = bring(number); !s.ok()) return s;
      const auto numbers = static_cast<std::size_t>(padded(n_) * d_);
      if (Status s = place.y.reserve(numbers * sizeof(T), card.stream()); !s.ok()) return s;
      if (Status s = reserve_few(number); !s.ok()) return s;
      if (Status s = launch_sweep_points<T>(place.points.data(), n_, d_,
                                            reinterpret_cast<T*>(place.y.data()),
                                            place.few.extent(), card.stream());
          !s.ok())
        return s;
    }
    const std::int64_t job0 = first * kUnitJobs;
    const std::int64_t job1 = std::min(last * kUnitJobs, cut.jobs());
    if (Status s = launch_sweep<T>(reinterpret_cast<const T*>(place.y.data()), n_, d_,
                                   scales.data(), static_cast<int>(scales.size()), slopes, job0,
                                   job1, card.partial().data(), card.stream());
        !s.ok())
      return s;
    return launch_unit_sums(card.partial().data(), job1 - job0, results, result, card.stream(),
                            place.few.extent(), begins ? norm : nullptr);
  };
  std::vector<double> units;
  if (Status s = run_request(cards_, home_, request, control, &units); !s.ok()) return s;
  add_units(units, out);
  return Status::success();
}

Status CudaSample::sweep(std::span<const double> h, bool slopes, Precision precision,
                         const Control& control, std::span<double> out) {
  const std::size_t each = slopes ? 4 : 2;
  if (h.empty() || h.size() > kMaxSweep || out.size() != h.size() * each ||
      !std::all_of(h.begin(), h.end(), [](double v) { return v > 0 && std::isfinite(v); }))
    return Status::error(Code::invalid_argument, "the bandwidths must be positive and finite");
  try {
    for (std::size_t k = 0; k < h.size(); k += kSweepBandwidths) {
      const std::size_t count = std::min<std::size_t>(kSweepBandwidths, h.size() - k);
      const auto part = h.subspan(k, count);
      const auto to = out.subspan(k * each, count * each);
      const Status status = precision == Precision::single
                                ? sweep_part<float>(part, slopes, control, to)
                                : sweep_part<double>(part, slopes, control, to);
      if (!status.ok()) return status;
    }
    return Status::success();
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "no memory for a sweep");
  }
}

Status CudaSample::find_gram_radius(const Whitening& a, Precision precision,
                                    std::span<const double> queries, const Control& control,
                                    double* radius) {
  *radius = 0;
  if (precision != Precision::single || !may_use_units()) return Status::success();
  double square = 0;
  if (square_radius_ < 0 || !queries.empty()) {
    Card& card = *cards_[home_];
    if (Status s = card.use(); !s.ok()) return s;
    if (Status s = card.begin_turn(control); !s.ok()) return s;
    Status status;
    {
      Turn turn(card);
      status = take_square_radius(queries, control, &square);
    }
    if (!status.ok()) return card.report(status);
  }
  const double found = gram_radius(a, d_, std::max(square_radius_, square));
  const double most = queries.empty() ? kGreatestGramRadius : kGreatestDensityRadius;
  if (found <= most) *radius = std::max(found, kLeastGramRadius);
  return Status::success();
}

Status CudaSample::take_square_radius(std::span<const double> queries, const Control& control,
                                      double* of_queries) {
  Card& card = *cards_[home_];
  Place& place = *places_[home_];
  if (Status s = find_centre(home_); !s.ok()) return s;
  if (Status s = card.results().reserve(2); !s.ok()) return s;
  double* squares = place.few.square_radii();
  if (square_radius_ < 0) {
    if (Status s = launch_square_radius(place.points.data(), n_, d_, place.few.centre(), squares,
                                        card.stream());
        !s.ok())
      return s;
  }
  if (!queries.empty()) {
    if (Status s = take_queries(home_, queries); !s.ok()) return s;
    const auto m = static_cast<std::int64_t>(queries.size()) / d_;
    if (Status s = launch_square_radius(place.queries.data(), m, d_, place.few.centre(),
                                        squares + 1, card.stream());
        !s.ok())
      return s;
  }
  KDE_CUDA(cudaMemcpyAsync(card.results().data(), squares, 2 * sizeof *squares,
                           cudaMemcpyDeviceToHost, card.stream()));
  if (Status s = card.wait(control, 0); !s.ok()) return s;
  if (square_radius_ < 0) square_radius_ = card.results().data()[0];
  if (!queries.empty()) *of_queries = card.results().data()[1];
  return Status::success();
}

Status CudaSample::pack(std::size_t number, const Whitening& a, double radius) {
  Card& card = *cards_[number];
  Place& place = *places_[number];
  const int coordinates = gram_coordinates(d_);
  if (Status s = bring(number); !s.ok()) return s;
  if (Status s = find_centre(number); !s.ok()) return s;
  if (Status s = place.packed.reserve(gram_bytes(n_, coordinates), card.stream()); !s.ok())
    return s;
  return launch_gram_points(place.points.data(), n_, d_, a, place.few.centre(), radius, coordinates,
                            place.packed.data(), card.stream());
}

Status CudaSample::gram_pairs(const Whitening& a, double radius, std::int64_t jobs, double pairs,
                              const GramLaunch& launch, const Control& control,
                              std::span<double> total) {
  const auto results = static_cast<std::int64_t>(total.size());
  Request request;
  request.units = (jobs + kUnitJobs - 1) / kUnitJobs;
  request.results_per_unit = results;
  request.scratch_per_unit = kUnitJobs * results;
  request.pairs_per_unit = pairs / static_cast<double>(request.units);
  request.enqueue = [&](std::size_t number, bool begins, std::int64_t first, std::int64_t last,
                        double* result, float*) {
    Card& card = *cards_[number];
    if (begins) {
      if (Status s = pack(number, a, radius); !s.ok()) return s;
    }
    const std::int64_t job0 = first * kUnitJobs;
    const std::int64_t job1 = std::min(last * kUnitJobs, jobs);
    if (Status s = launch(places_[number]->packed.data(), job0, job1, card.partial().data(),
                          card.stream());
        !s.ok())
      return s;
    return launch_unit_sums(card.partial().data(), job1 - job0, static_cast<int>(results), result,
                            card.stream());
  };
  std::vector<double> units;
  if (Status s = run_request(cards_, home_, request, control, &units); !s.ok()) return s;
  add_units(units, total);
  return Status::success();
}

Status CudaSample::gram_full(const Whitening& a, double radius, const Control& control,
                             std::span<double> out) {
  const auto launch = [&](const void* packed, std::int64_t first, std::int64_t last,
                          double* partial, cudaStream_t stream) {
    return launch_gram_full(packed, n_, gram_coordinates(d_), units_, first, last, partial, stream);
  };
  const double pairs = static_cast<double>(n_) * static_cast<double>(n_) / 2 * 1.5;
  if (Status s = gram_pairs(a, radius, cut_gram(n_).jobs(), pairs, launch, control, out); !s.ok())
    return s;
  for (double& sum : out) sum -= static_cast<double>(n_) / 2;
  return Status::success();
}

template <typename T>
Status CudaSample::full_sums(std::span<const double> a, const Control& control,
                             std::span<double> out) {
  const Whitening whitening = scaled(a, std::sqrt(std::numbers::log2e / 2));
  const int c = kernel_coordinates(d_);
  const FullCut cut = cut_full(n_, full_rows<T>());
  Request request;
  request.units = cut.units();
  request.results_per_unit = 2;
  request.scratch_per_unit = 2 * kUnitJobs;
  request.precision = precision_of<T>();
  request.pairs_per_unit = static_cast<double>(n_) * static_cast<double>(n_) / 2 * (1 + d_ / 8.0) /
                           static_cast<double>(request.units);
  request.enqueue = [&](std::size_t number, bool begins, std::int64_t first, std::int64_t last,
                        double* result, float* norm) {
    Card& card = *cards_[number];
    Place& place = *places_[number];
    if (begins) {
      if (Status s = bring(number); !s.ok()) return s;
      if (Status s = whiten<T>(number, place.points.data(), n_, c, whitening, &place.y, norm);
          !s.ok())
        return s;
    }
    const std::int64_t job0 = first * kUnitJobs;
    const std::int64_t job1 = std::min(last * kUnitJobs, cut.jobs());
    if (Status s = launch_full<T>(reinterpret_cast<const T*>(place.y.data()),
                                  half_norms<T>(place.y, n_, c), place.few.greatest_norm(), n_, c,
                                  job0, job1, card.partial().data(), card.stream());
        !s.ok())
      return s;
    return launch_unit_sums(card.partial().data(), job1 - job0, 2, result, card.stream());
  };
  std::vector<double> units;
  if (Status s = run_request(cards_, home_, request, control, &units); !s.ok()) return s;
  add_units(units, out);
  return Status::success();
}

Status CudaSample::full(std::span<const double> a, Precision precision, const Control& control,
                        std::span<double> out) {
  const std::size_t size = static_cast<std::size_t>(d_) * static_cast<std::size_t>(d_);
  if (a.size() != size || out.size() != 2)
    return Status::error(Code::invalid_argument, "the matrix must be %d by %d", d_, d_);
  try {
    const Whitening whitening = scaled(a, std::sqrt(std::numbers::log2e / 2));
    double radius = 0;
    if (Status s = find_gram_radius(whitening, precision, {}, control, &radius); !s.ok()) return s;
    if (radius > 0) return gram_full(whitening, radius, control, out);
    return precision == Precision::single ? full_sums<float>(a, control, out)
                                          : full_sums<double>(a, control, out);
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "no memory for a sum");
  }
}

namespace {

// From sum e and sum e^2 over all ordered pairs, each point with itself among them, and c x c sums
// in units of `per`.
void take_scatter(const std::vector<double>& total, std::int64_t n, int d, int c, double per,
                  std::span<double> out) {
  out[0] = (total[0] - static_cast<double>(n)) / 2;
  out[1] = (total[1] - static_cast<double>(n)) / 2;
  for (int i = 0; i < d; ++i) {
    for (int j = 0; j < d; ++j) {
      const double both = (total[static_cast<std::size_t>(2 + i * c + j)] +
                           total[static_cast<std::size_t>(2 + j * c + i)]) /
                          2;
      out[static_cast<std::size_t>(2 + i * d + j)] = both * per;
    }
  }
}

// From the sums over the triangle and the upper triangle of the c x c, in units of `per`.
void take_products(const std::vector<double>& total, int d, int c, double per,
                   std::span<double> out) {
  out[0] = total[0];
  out[1] = total[1];
  std::size_t next = 2;
  for (int i = 0; i < c; ++i) {
    for (int j = i; j < c; ++j, ++next) {
      if (j >= d) continue;
      out[static_cast<std::size_t>(2 + i * d + j)] = total[next] * per;
      out[static_cast<std::size_t>(2 + j * d + i)] = total[next] * per;
    }
  }
}

}  // namespace

Status CudaSample::gram_scatter(const Whitening& a, double radius, double once, double twice,
                                const Control& control, std::span<double> out) {
  // Weights of about 1, which no word length overflows.
  const double weight = std::max(std::fabs(once), std::fabs(twice));
  const double per = weight > 0 ? 1 / weight : 0;
  const int c = gram_coordinates(d_);
  const auto launch = [&](const void* packed, std::int64_t first, std::int64_t last,
                          double* partial, cudaStream_t stream) {
    return launch_gram_scatter(packed, n_, c, units_, once * per, twice * per, first, last, partial,
                               stream);
  };
  const double pairs = static_cast<double>(n_) * static_cast<double>(n_) * (1 + c / 16.0);
  std::vector<double> total(static_cast<std::size_t>(scatter_results(c)));
  if (Status s = gram_pairs(a, radius, cut_gram_scatter(n_).jobs(), pairs, launch, control, total);
      !s.ok())
    return s;
  take_scatter(total, n_, d_, c, weight * 2 / std::numbers::log2e, out);
  return Status::success();
}

template <typename T>
Status CudaSample::scatter_sums(std::span<const double> a, double once, double twice,
                                const Control& control, std::span<double> out) {
  const double scale = std::sqrt(std::numbers::log2e) / 2;
  const Whitening whitening = scaled(a, scale);
  // Weights of about 1, which no word length overflows.
  const double weight = std::max(std::fabs(once), std::fabs(twice));
  const double per = weight > 0 ? 1 / weight : 0;
  const int c = kernel_coordinates(d_);
  const bool triangle = c <= kMostProducts;
  const int results = triangle ? products_results(c) : scatter_results(c);
  const std::int64_t jobs = triangle ? cut_products<T>(n_).jobs() : cut_rows(n_, n_).jobs();
  const double instructions = triangle ? (3 * c + c * (c + 1) / 2) / 2.0 : 3 * c;
  Request request;
  request.units = (jobs + kUnitJobs - 1) / kUnitJobs;
  request.results_per_unit = results;
  request.scratch_per_unit = static_cast<std::int64_t>(kUnitJobs) * results;
  request.precision = precision_of<T>();
  request.pairs_per_unit = static_cast<double>(n_) * static_cast<double>(n_) *
                           ((triangle ? 0.5 : 1) + instructions / 8) /
                           static_cast<double>(request.units);
  request.enqueue = [&](std::size_t number, bool begins, std::int64_t first, std::int64_t last,
                        double* result, float* norm) {
    Card& card = *cards_[number];
    Place& place = *places_[number];
    if (begins) {
      if (Status s = bring(number); !s.ok()) return s;
      if (Status s = whiten<T>(number, place.points.data(), n_, c, whitening, &place.y, norm);
          !s.ok())
        return s;
    }
    const std::int64_t job0 = first * kUnitJobs;
    const std::int64_t job1 = std::min(last * kUnitJobs, jobs);
    const T* y = reinterpret_cast<const T*>(place.y.data());
    double* partial = card.partial().data();
    const Status launched =
        triangle ? launch_products<T>(y, half_norms<T>(place.y, n_, c), n_, c, once * per,
                                      twice * per, job0, job1, partial, card.stream())
                 : launch_scatter<T>(y, n_, c, once * per, twice * per, job0, job1, partial,
                                     card.stream());
    if (!launched.ok()) return launched;
    return launch_unit_sums(partial, job1 - job0, results, result, card.stream());
  };
  std::vector<double> units, total(static_cast<std::size_t>(results));
  if (Status s = run_request(cards_, home_, request, control, &units); !s.ok()) return s;
  add_units(units, total);
  if (triangle) {
    take_products(total, d_, c, weight / (scale * scale), out);
  } else {
    take_scatter(total, n_, d_, c, weight / (scale * scale), out);
  }
  return Status::success();
}

Status CudaSample::scatter(std::span<const double> a, double once, double twice,
                           Precision precision, const Control& control, std::span<double> out) {
  const std::size_t size = static_cast<std::size_t>(d_) * static_cast<std::size_t>(d_);
  if (a.size() != size || out.size() != 2 + size || !std::isfinite(once) || !std::isfinite(twice))
    return Status::error(Code::invalid_argument, "the matrix must be %d by %d", d_, d_);
  try {
    const Whitening whitening = scaled(a, std::sqrt(std::numbers::log2e / 2));
    double radius = 0;
    if (kernel_coordinates(d_) > kMostProducts) {
      if (Status s = find_gram_radius(whitening, precision, {}, control, &radius); !s.ok())
        return s;
    }
    if (radius > 0) return gram_scatter(whitening, radius, once, twice, control, out);
    return precision == Precision::single ? scatter_sums<float>(a, once, twice, control, out)
                                          : scatter_sums<double>(a, once, twice, control, out);
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "no memory for a gradient");
  }
}

Status CudaSample::gram_density(const Whitening& a, double radius, std::span<const double> queries,
                                const Control& control, std::span<double> out) {
  const auto m = static_cast<std::int64_t>(out.size());
  const int c = gram_coordinates(d_);
  const std::int64_t across = jobs_across(m, n_);
  Request request;
  request.units = (m + kRowThreads - 1) / kRowThreads;
  request.results_per_unit = kRowThreads;
  request.scratch_per_unit = across * kRowThreads;
  request.pairs_per_unit = static_cast<double>(n_) * kRowThreads * 1.2;
  request.enqueue = [&](std::size_t number, bool begins, std::int64_t first, std::int64_t last,
                        double* result, float*) {
    Card& card = *cards_[number];
    Place& place = *places_[number];
    if (begins) {
      if (Status s = pack(number, a, radius); !s.ok()) return s;
      // At home they are since their radius was asked for.
      if (number != home_) {
        if (Status s = take_queries(number, queries); !s.ok()) return s;
      }
      if (Status s = place.packed_queries.reserve(gram_bytes(m, c), card.stream()); !s.ok())
        return s;
      if (Status s = launch_gram_points(place.queries.data(), m, d_, a, place.few.centre(), radius,
                                        c, place.packed_queries.data(), card.stream());
          !s.ok())
        return s;
    }
    const std::int64_t job0 = first * across, job1 = last * across;
    if (Status s = launch_gram_density(place.packed_queries.data(), m, place.packed.data(), n_, c,
                                       units_, job0, job1, card.partial().data(), card.stream());
        !s.ok())
      return s;
    return launch_density_sums(card.partial().data(), last - first, across, result, card.stream());
  };
  std::vector<double> units;
  if (Status s = run_request(cards_, home_, request, control, &units); !s.ok()) return s;
  std::copy_n(units.begin(), out.size(), out.begin());
  return Status::success();
}

Status CudaSample::take_queries(std::size_t number, std::span<const double> queries) {
  Card& card = *cards_[number];
  DeviceBuffer<double>& there = places_[number]->queries;
  const auto m = static_cast<std::int64_t>(queries.size()) / d_;
  // What is there already has been counted.
  if (queries.size() > there.size()) {
    if (Status s = card.check_memory(queries.size_bytes() + white_bytes(m)); !s.ok()) return s;
  }
  if (Status s = there.reserve(queries.size(), card.stream()); !s.ok()) return s;
  return card.upload(there.data(), queries.data(), queries.size_bytes());
}

template <typename T>
Status CudaSample::density_sums(std::span<const double> a, std::span<const double> queries,
                                const Control& control, std::span<double> out) {
  const Whitening whitening = scaled(a, std::sqrt(std::numbers::log2e / 2));
  const auto m = static_cast<std::int64_t>(out.size());
  const int c = kernel_coordinates(d_);
  const std::int64_t across = jobs_across(m, n_);
  Request request;
  request.units = (m + kRowThreads - 1) / kRowThreads;
  request.results_per_unit = kRowThreads;
  request.scratch_per_unit = across * kRowThreads;
  request.precision = precision_of<T>();
  request.pairs_per_unit = static_cast<double>(n_) * kRowThreads * (1 + c / 4.0);
  request.enqueue = [&](std::size_t number, bool begins, std::int64_t first, std::int64_t last,
                        double* result, float* norm) {
    Card& card = *cards_[number];
    Place& place = *places_[number];
    if (begins) {
      if (Status s = bring(number); !s.ok()) return s;
      if (Status s = take_queries(number, queries); !s.ok()) return s;
      // The points last: of them *norm is what is left.
      if (Status s =
              whiten<T>(number, place.queries.data(), m, c, whitening, &place.white_queries, norm);
          !s.ok())
        return s;
      if (Status s = whiten<T>(number, place.points.data(), n_, c, whitening, &place.y, norm);
          !s.ok())
        return s;
    }
    const std::int64_t job0 = first * across, job1 = last * across;
    if (Status s = launch_density<T>(reinterpret_cast<const T*>(place.white_queries.data()), m,
                                     reinterpret_cast<const T*>(place.y.data()), n_, c, job0, job1,
                                     card.partial().data(), card.stream());
        !s.ok())
      return s;
    return launch_density_sums(card.partial().data(), last - first, across, result, card.stream());
  };
  std::vector<double> units;
  if (Status s = run_request(cards_, home_, request, control, &units); !s.ok()) return s;
  std::copy_n(units.begin(), out.size(), out.begin());
  return Status::success();
}

Status CudaSample::density(std::span<const double> a, std::span<const double> queries,
                           Precision precision, const Control& control, std::span<double> out) {
  const auto d = static_cast<std::size_t>(d_);
  if (a.size() != d * d || out.empty() || out.size() > static_cast<std::size_t>(kMaxQueries) ||
      queries.size() != out.size() * d)
    return Status::error(Code::invalid_argument, "the queries must be points of %d coordinates",
                         d_);
  try {
    const Whitening whitening = scaled(a, std::sqrt(std::numbers::log2e));
    double radius = 0;
    if (Status s = find_gram_radius(whitening, precision, queries, control, &radius); !s.ok())
      return s;
    if (radius > 0) return gram_density(whitening, radius, queries, control, out);
    return precision == Precision::single ? density_sums<float>(a, queries, control, out)
                                          : density_sums<double>(a, queries, control, out);
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "no memory for densities");
  }
}

}  // namespace kde::cuda
