// Gaussian sums in one dimension from the sums of the kernel and of its second derivative:
// gaussian_sums.h has the identities. With D = x_i - x_j and K^(2)(z) = (z^2 - 1) phi(z),
//
//   sqrt(2 pi) sum K(D/s) = sum exp(-D^2/(2 s^2)),
//   sqrt(2 pi) sum [K^(2) + K](D/s) = sum (D/s)^2 exp(-D^2/(2 s^2)),
//
// e belongs to s = sqrt(2) h, where S = D^2 = 2 h^2 (D/s)^2, and e^2 to s = h.
#include <cmath>
#include <numbers>
#include <utility>

#include "core/sums/gaussian_parts.h"
#include "core/guarded.h"

namespace kde {
namespace {

const double kSqrt2Pi = std::sqrt(2 * std::numbers::pi);

class LineSums : public GaussianPairSums {
 public:
  explicit LineSums(PairSums& sums) : sums_(sums) {}
  explicit LineSums(std::unique_ptr<PairSums> sums) : owned_(std::move(sums)), sums_(*owned_) {}

  Status sweep(std::span<const double> h, std::span<GaussianSums> out) override {
    if (Status s = check_sweep(h, out.size()); !s.ok()) return s;
    for (std::size_t k = 0; k < h.size(); ++k) {
      GaussianSums sums;
      if (Status s = kernel(std::numbers::sqrt2 * h[k], &sums.once); !s.ok()) return s;
      if (Status s = kernel(h[k], &sums.twice); !s.ok()) return s;
      out[k] = sums;
    }
    return Status::success();
  }

  Status sweep_slopes(std::span<const double> h, std::span<GaussianSlopes> out) override {
    if (Status s = check_sweep(h, out.size()); !s.ok()) return s;
    for (std::size_t k = 0; k < h.size(); ++k) {
      GaussianSlopes slopes;
      if (Status s = slopes_over_h2(h[k], &slopes); !s.ok()) return s;
      slopes.once_s *= h[k] * h[k];
      slopes.twice_s *= h[k] * h[k];
      out[k] = slopes;
    }
    return Status::success();
  }

  Status full(std::span<const double> a, GaussianSums* out) override {
    double h = 0;
    if (Status s = bandwidth(a, &h); !s.ok()) return s;
    return sweep({&h, 1}, {out, 1});
  }

  Status full_scatter(std::span<const double> a, double once, double twice, GaussianSums* out,
                      std::span<double> scatter) override {
    double h = 0;
    if (Status s = bandwidth(a, &h); !s.ok()) return s;
    if (Status s = check_scatter(1, once, twice, scatter.size()); !s.ok()) return s;
    GaussianSlopes slopes;
    if (Status s = slopes_over_h2(h, &slopes); !s.ok()) return s;
    *out = slopes.sums;
    scatter[0] = once * slopes.once_s + twice * slopes.twice_s;
    return Status::success();
  }

 private:
  static Status bandwidth(std::span<const double> a, double* h) {
    if (Status s = check_full(1, a); !s.ok()) return s;
    *h = 1 / std::fabs(a[0]);
    if (!(*h > 0) || !std::isfinite(*h)) {
      return Status::error(Code::invalid_argument, "the matrix must have an inverse");
    }
    return Status::success();
  }

  // *sum = sum exp(-D^2/(2 s^2)).
  Status kernel(double s, double* sum) {
    double order0 = 0;
    if (Status status = sums_.derivative(0, s, &order0); !status.ok()) return status;
    *sum = kSqrt2Pi * order0;
    return Status::success();
  }

  // The kernel's sum, and *square = sum (D/s)^2 exp(-D^2/(2 s^2)).
  Status kernel_and_square(double s, double* sum, double* square) {
    if (Status status = kernel(s, sum); !status.ok()) return status;
    double order2 = 0;
    if (Status status = sums_.derivative(2, s, &order2); !status.ok()) return status;
    *square = kSqrt2Pi * order2 + *sum;
    return Status::success();
  }

  // once_s and twice_s are those of S/h^2.
  Status slopes_over_h2(double h, GaussianSlopes* out) {
    const double wide = std::numbers::sqrt2 * h;
    if (Status s = kernel_and_square(wide, &out->sums.once, &out->once_s); !s.ok()) return s;
    out->once_s *= 2;
    return kernel_and_square(h, &out->sums.twice, &out->twice_s);
  }

  std::unique_ptr<PairSums> owned_;  // null where the caller keeps them
  PairSums& sums_;
};

}  // namespace

std::unique_ptr<GaussianPairSums> make_owning_line_sums(std::unique_ptr<PairSums> sums) {
  return std::make_unique<LineSums>(std::move(sums));
}

Status make_line_gaussian_sums(PairSums& sums, std::unique_ptr<GaussianPairSums>* out) {
  return guarded([&] {
    *out = std::make_unique<LineSums>(sums);
    return Status::success();
  });
}

}  // namespace kde
