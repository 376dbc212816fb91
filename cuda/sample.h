// A sample on the cards, and how its sums are shared among them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/control.h"
#include "core/sums/sums_device.h"
#include "core/status.h"
#include "cuda/card.h"
#include "cuda/derivative.h"
#include "cuda/gram.h"
#include "cuda/runtime.cuh"
#include "cuda/sweep.h"
#include "cuda/whiten.h"

namespace kde::cuda {

using Cards = std::vector<std::unique_ptr<Card>>;

// Far below that of kAway.
inline constexpr float kGreatestNorm = 1e24F;

// The sample cannot be taken to the word length of the terms: another engine's work.
inline Status too_wide() {
  return Status::error(Code::too_large,
                       "the sample is too wide or too narrow for this bandwidth on a card");
}

// A sum cut into units, each with so many results (jobs.h).
struct Request {
  std::int64_t units = 0;
  std::int64_t results_per_unit = 0;
  std::int64_t scratch_per_unit = 0;  // numbers of Card::partial
  double pairs_per_unit = 0;          // as many pairs of the derivative kernel take as long
  Precision precision = Precision::single;
  // Enqueues units [first, last) on the card, whose turn it is; results to `out`, which the card
  // can write to. `begins`: it is this request's first turn on this card; then *norm may be given
  // the greatest half squared norm of the points as they are used, kGreatestNorm at most.
  std::function<Status(std::size_t card, bool begins, std::int64_t first, std::int64_t last,
                       double* out, float* norm)>
      enqueue;
};

// The results of all units, in their order. On the card `home`, or where there is enough to share
// on all.
Status run_request(const Cards& cards, std::size_t home, const Request& request,
                   const Control& control, std::vector<double>* results);

class CudaSample : public DeviceSample {
 public:
  // points: as Device::load, checked.
  static Status make(const Cards& cards, std::span<const double> points, int d,
                     const Control& control, std::unique_ptr<DeviceSample>* out);
  ~CudaSample() override;

  Status derivative(int r, double g, Precision precision, const Control& control,
                    double* sum) override;
  Status sweep(std::span<const double> h, bool slopes, Precision precision, const Control& control,
               std::span<double> out) override;
  Status full(std::span<const double> a, Precision precision, const Control& control,
              std::span<double> out) override;
  Status scatter(std::span<const double> a, double once, double twice, Precision precision,
                 const Control& control, std::span<double> out) override;
  Status density(std::span<const double> a, std::span<const double> queries, Precision precision,
                 const Control& control, std::span<double> out) override;

 private:
  // Some numbers in one piece of memory, for each piece taken costs a microsecond or two.
  struct Few {
    DeviceBuffer<double> memory;
    double* centre() const { return memory.data(); }
    double* square_radii() const { return centre() + kMaxDimensions; }  // of points, of queries
    float* greatest_norm() const { return reinterpret_cast<float*>(square_radii() + 2); }
    float* extent() const { return greatest_norm() + 1; }  // of launch_sweep_points; 0 at first
    static constexpr std::size_t kSize = kMaxDimensions + 3;
  };

  // What one card holds of it.
  struct Place {
    DeviceBuffer<double> points;
    DeviceBuffer<double> queries;
    // Whitened, in the precision asked for (bytes), and after them their half norms.
    DeviceBuffer<unsigned char> y, white_queries;
    DeviceBuffer<unsigned char> packed, packed_queries;  // of gram.h
    Few few;
    DeviceBuffer<std::int64_t> table;  // of a DerivativePlan
    bool has_points = false;
    bool has_centre = false;
  };

  CudaSample(const Cards& cards, std::size_t home, std::int64_t n, int d);
  Status take(std::span<const double> points, const Control& control);
  Status reserve(std::size_t card);  // room for the points
  Status reserve_few(std::size_t card);
  Status sort(const Control& control);
  Status bring(std::size_t card);  // the points, from their home

  // Whether sums may be those of gram.h.
  bool may_use_units() const {
    return units_ != MatrixUnits::none && d_ >= kLeastGramDimensions && n_ >= kLeastGramPoints;
  }
  // What n points take beside themselves, at most: whitened in double, with their norms, and
  // packed.
  std::size_t white_bytes(std::int64_t n) const;
  Status find_centre(std::size_t card);
  Status take_queries(std::size_t card, std::span<const double> queries);

  template <typename T>
  Status whiten(std::size_t card, const double* points, std::int64_t n, int coordinates,
                const Whitening& a, DeviceBuffer<unsigned char>* y, float* norm);
  template <typename T>
  Status sweep_part(std::span<const double> h, bool slopes, const Control& control,
                    std::span<double> out);
  // Of gram.h: *radius that of the points and queries in whitened coordinates, 0 where matrix units
  // are of no use or some beyond their reach. Afterwards the queries are at home.
  Status find_gram_radius(const Whitening& a, Precision precision, std::span<const double> queries,
                          const Control& control, double* radius);
  Status take_square_radius(std::span<const double> queries, const Control& control,
                            double* of_queries);
  // The points to the card and packed, before a request's first unit there.
  Status pack(std::size_t card, const Whitening& a, double radius);
  // (packed points, first job, last, partial, stream)
  using GramLaunch =
      std::function<Status(const void*, std::int64_t, std::int64_t, double*, cudaStream_t)>;
  // total: the sums over the jobs of as many results each.
  Status gram_pairs(const Whitening& a, double radius, std::int64_t jobs, double pairs,
                    const GramLaunch& launch, const Control& control, std::span<double> total);
  Status gram_full(const Whitening& a, double radius, const Control& control,
                   std::span<double> out);
  Status gram_scatter(const Whitening& a, double radius, double once, double twice,
                      const Control& control, std::span<double> out);
  Status gram_density(const Whitening& a, double radius, std::span<const double> queries,
                      const Control& control, std::span<double> out);

  template <typename T>
  Status full_sums(std::span<const double> a, const Control& control, std::span<double> out);
  template <typename T>
  Status scatter_sums(std::span<const double> a, double once, double twice, const Control& control,
                      std::span<double> out);
  template <typename T>
  Status density_sums(std::span<const double> a, std::span<const double> queries,
                      const Control& control, std::span<double> out);

  // Where launch_whiten puts the half norms of n points.
  template <typename T>
  static T* half_norms(const DeviceBuffer<unsigned char>& y, std::int64_t n, int coordinates) {
    return reinterpret_cast<T*>(y.data()) + padded(n) * coordinates;
  }

  const Cards& cards_;
  const std::size_t home_;  // the card that was given the points
  const std::int64_t n_;
  const int d_;
  const MatrixUnits units_;        // that all of the cards have
  std::vector<StripEdges> edges_;  // in one dimension
  double square_radius_ = -1;      // greatest |x_i - centre|^2, once it was needed
  std::vector<std::unique_ptr<Place>> places_;
};

}  // namespace kde::cuda
