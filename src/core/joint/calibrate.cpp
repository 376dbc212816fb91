// See calibrate.h.
#include "core/joint/calibrate.h"

#include <algorithm>
#include <cmath>

namespace kde {

namespace {

constexpr int kMostSweeps = 50;
constexpr double kMet = 1e-4;  // of the total

// Targets of classes that have rows, scaled to add up to `total`; what the others should have is
// everybody's.
std::vector<double> reachable_targets(const Margin& margin, double total) {
  std::vector<double> rows(margin.target.size());
  for (const std::uint16_t c : margin.row_class) rows[c] += 1;
  double sum = 0;
  for (std::size_t c = 0; c < rows.size(); ++c) sum += rows[c] > 0 ? margin.target[c] : 0;
  std::vector<double> target(rows.size());
  for (std::size_t c = 0; c < rows.size(); ++c) {
    if (rows[c] > 0) target[c] = sum > 0 ? margin.target[c] * (total / sum) : 0;
  }
  return target;
}

// One column's classes brought to their targets; returns the largest distance from them before.
double sweep(const Margin& margin, const std::vector<double>& target, double least, double most,
             std::vector<double>* sums, std::vector<double>* weight) {
  sums->assign(target.size(), 0);
  for (std::size_t i = 0; i < weight->size(); ++i) (*sums)[margin.row_class[i]] += (*weight)[i];
  double distance = 0;
  for (std::size_t c = 0; c < target.size(); ++c) {
    distance = std::max(distance, std::abs((*sums)[c] - target[c]));
    (*sums)[c] = (*sums)[c] > 0 ? target[c] / (*sums)[c] : 1;
  }
  for (std::size_t i = 0; i < weight->size(); ++i) {
    double& w = (*weight)[i];
    w = std::clamp(w * (*sums)[margin.row_class[i]], least, most);
  }
  return distance;
}

}  // namespace

Status calibrate(std::span<const Margin> margins, std::size_t rows, double total,
                 const Control& control, std::vector<double>* weight) {
  const double mean = rows > 0 ? total / static_cast<double>(rows) : 0;
  weight->assign(rows, mean);
  if (!(total > 0)) return Status::success();
  std::vector<std::vector<double>> target;
  for (const Margin& m : margins) target.push_back(reachable_targets(m, total));
  std::vector<double> sums;
  for (int i = 0; i < kMostSweeps; ++i) {
    if (control.stop_requested()) return cancelled();
    double distance = 0;
    for (std::size_t k = 0; k < margins.size(); ++k)
      distance = std::max(distance, sweep(margins[k], target[k], mean / kLargestWeight,
                                          mean * kLargestWeight, &sums, weight));
    if (distance <= kMet * total) break;
  }
  double sum = 0;
  for (const double w : *weight) sum += w;
  for (double& w : *weight) w *= total / sum;
  return Status::success();
}

}  // namespace kde
