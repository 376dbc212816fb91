// The bandwidth matrix of points in several columns by any method: what kde_bandwidth_matrix() and
// fits of several columns have in common.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/control.h"
#include "core/select/lscv.h"
#include "core/status.h"
#include "core/sums/engine.h"

namespace kde {

enum class MatrixMethod {
  lscv_matrix,          // least-squares cross-validation over full matrices
  lscv_diagonal,        // over diagonal ones
  lscv,                 // over h^2 Sigma
  lscv_matrix_simplex,  // lscv_matrix by the papers' search, Nelder and Mead's
  lscv_grid,            // lscv by the papers' search, 150 equidistant h
  plugin_product,       // diagonal, each column's own plug-in bandwidth
  normal_reference,     // H_NS = (4/((d+2) n))^(2/(d+4)) Sigma: Wand & Jones (1995), section 4.4
  scott,                // n^(-2/(d+4)) Sigma: Scott, Multivariate Density Estimation (1992), (6.42)
};

// The methods' names are those above.
bool parse_matrix_method(std::string_view name, MatrixMethod* method);
const char* matrix_method_list();  // "lscv_matrix, lscv_diagonal, ... and scott", for messages

struct MatrixRequest {
  MatrixMethod method = MatrixMethod::lscv_matrix;
  LscvDivisor divisor = LscvDivisor::n_squared;
  Engine engine;
};

struct BandwidthMatrix {
  std::vector<double> factor;    // L of H = L L', d x d lower triangular, row-major, in units of x
  std::vector<double> matrix;    // H, d x d
  bool in_range = true;          // no element of H overflows, none of its diagonal underflows
  const char* status = nullptr;  // lscv_end_name; null where nothing is searched
  char notice[240] = {};         // what a user should know of that end; or empty
};

// points: n x d, row-major. Errors: invalid_argument (fewer than two points, more than 16 columns,
// NaN or infinities); degenerate (a constant or collinear column, or no minimum); cancelled;
// out_of_memory; what the sums report.
Status select_bandwidth_matrix(const MatrixRequest& request, std::span<const double> points, int d,
                               const Control& control, BandwidthMatrix* out) noexcept;

}  // namespace kde
