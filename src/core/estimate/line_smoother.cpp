// See line_smoother.h.
#include "core/estimate/line_smoother.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace kde {

double Transformation::operator()(double x) const {
  switch (kind) {
    case Kind::log_right:
      return std::log(x - origin);
    case Kind::log_left:
      return -std::log(origin - x);
    case Kind::arsinh:
      return std::asinh((x - origin) / scale);
    case Kind::none:
      break;
  }
  return x;
}

double Transformation::slope(double x) const {
  switch (kind) {
    case Kind::log_right:
      return 1 / (x - origin);
    case Kind::log_left:
      return 1 / (origin - x);
    case Kind::arsinh:
      return 1 / std::hypot(x - origin, scale);
    case Kind::none:
      break;
  }
  return 1;
}

const char* transformation_name(Transformation::Kind kind) {
  switch (kind) {
    case Transformation::Kind::log_right:
    case Transformation::Kind::log_left:
      return "log";
    case Transformation::Kind::arsinh:
      return "arsinh";
    case Transformation::Kind::none:
      break;
  }
  return "none";
}

LineSmoother::LineSmoother(const Cells& cells, const Transformation& transformation,
                           std::size_t nodes)
    : cells_(&cells), nodes_(nodes), forward_(nodes, false), backward_(2 * nodes, true) {
  turn_.reserve(nodes);
  for (std::size_t k = 0; k < nodes; ++k) {
    const double angle =
        std::numbers::pi * static_cast<double>(k) / (2.0 * static_cast<double>(nodes));
    turn_.emplace_back(std::cos(angle), std::sin(angle));
  }
  low_ = transformation(cells.edge.front());
  width_ = transformation(cells.edge.back()) - low_;
  const double scale = static_cast<double>(nodes) / width_;
  const auto node_of = [&](double x) {
    return std::clamp((transformation(x) - low_) * scale, 0.0, static_cast<double>(nodes));
  };
  centre_node_.reserve(cells.centre.size());
  edge_node_.reserve(cells.edge.size());
  for (double x : cells.centre) centre_node_.push_back(node_of(x));
  for (double x : cells.edge) edge_node_.push_back(node_of(x));
}

std::vector<double> LineSmoother::transform(std::span<const double> counts) const {
  // Node j stands for the grid's cell [j, j + 1], its middle at j + 1/2.
  std::vector<double> grid(2 * nodes_, 0.0);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (!(counts[i] > 0)) continue;
    const double at = std::clamp(centre_node_[i] - 0.5, 0.0, static_cast<double>(nodes_ - 1));
    const auto j = std::min(static_cast<std::size_t>(at), nodes_ - 2);
    const double right = at - static_cast<double>(j);
    grid[j] += counts[i] * (1 - right);
    grid[j + 1] += counts[i] * right;
  }
  for (std::size_t cell : cells_->points) {
    // An atom is no part of the smooth estimate.
    const double at = std::clamp(centre_node_[cell] - 0.5, 0.0, static_cast<double>(nodes_ - 1));
    const auto j = std::min(static_cast<std::size_t>(at), nodes_ - 2);
    const double right = at - static_cast<double>(j);
    grid[j] -= counts[cell] * (1 - right);
    grid[j + 1] -= counts[cell] * right;
  }
  for (std::size_t j = 0; j < nodes_; ++j) grid[2 * nodes_ - 1 - j] = grid[j];
  std::vector<std::complex<double>> frequencies(nodes_);
  forward_.transform_real(grid.data(), frequencies.data());
  std::vector<double> out(nodes_);
  // kissfft keeps the highest frequency, which is 0 here, beside the lowest. The reflected grid is
  // even about -1/2: turned there, its transform is real.
  frequencies[0] = frequencies[0].real();
  for (std::size_t k = 0; k < nodes_; ++k)
    out[k] = frequencies[k].real() * turn_[k].real() + frequencies[k].imag() * turn_[k].imag();
  return out;
}

std::vector<double> LineSmoother::cell_masses(std::span<const double> transformed, double h) const {
  const double unit = std::numbers::pi * h / width_;
  std::vector<std::complex<double>> spectrum(2 * nodes_);
  for (std::size_t k = 0; k < nodes_; ++k) {
    const double z = unit * static_cast<double>(k);
    if (0.5 * z * z > 700) break;
    spectrum[k] = transformed[k] * std::exp(-0.5 * z * z) * turn_[k];
    if (k > 0) spectrum[2 * nodes_ - k] = std::conj(spectrum[k]);
  }
  std::vector<std::complex<double>> grid(2 * nodes_);
  backward_.transform(spectrum.data(), grid.data());
  std::vector<double> below(nodes_ + 1, 0);
  const double scale = 1 / (2.0 * static_cast<double>(nodes_));
  for (std::size_t j = 0; j < nodes_; ++j)
    below[j + 1] = below[j] + std::max(grid[j].real() * scale, 0.0);
  std::vector<double> out(cells_->size());
  const auto mass_below = [&](double node) {
    const auto j = std::min(static_cast<std::size_t>(node), nodes_ - 1);
    return below[j] + (below[j + 1] - below[j]) * (node - static_cast<double>(j));
  };
  double low = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double high = mass_below(edge_node_[i + 1]);
    out[i] = std::max(high - low, 0.0);
    low = high;
  }
  return out;
}

}  // namespace kde
