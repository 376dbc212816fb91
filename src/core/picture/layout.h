// Internal to src/core/picture: what both drawings lay out alike.
#pragma once

#include "core/picture/picture.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kde::picture {

// Heights beyond this multiple of the greatest value are cut off: an interval that is many times
// as high would leave nothing of the values.
inline constexpr double kMostAbove = 1.5;

// The greatest height that a curve shows.
inline double highest(const Curve& curve) {
  double value = 0;
  double upper = 0;
  for (std::size_t i = 0; i < curve.value.size(); ++i) {
    value = std::max(value, curve.value[i]);
    upper = std::max(upper, curve.upper[i]);
  }
  return value > 0 ? std::min(upper, kMostAbove * value) : upper;
}

// The highest of bars, whose intervals are shown whole.
inline double highest(const Bars& bars) {
  double most = 0;
  for (const Bar& bar : bars.bars) most = std::max({most, bar.value, bar.upper});
  return most;
}

// Where x lies among edges, in steps from the first: 0 to their number.
inline double step_of(std::span<const double> edges, double x) {
  const auto at = std::upper_bound(edges.begin(), edges.end(), x) - edges.begin();
  if (at <= 0) return 0;
  const auto i = static_cast<std::size_t>(at) - 1;
  if (i + 1 >= edges.size()) return static_cast<double>(edges.size() - 1);
  return static_cast<double>(i) + (x - edges[i]) / (edges[i + 1] - edges[i]);
}

// Notes one after the other, divided by semicolons, as many to a line as have room, a semicolon at
// its end with them; a longer one has a line of its own.
inline std::vector<std::string> lines_of(std::span<const Label> notes, std::span<const Label> more,
                                         int width) {
  std::vector<std::string> lines;
  int used = 0;
  for (std::size_t i = 0; i < notes.size() + more.size(); ++i) {
    const Label& note = i < notes.size() ? notes[i] : more[i - notes.size()];
    if (note.text.empty()) continue;
    if (lines.empty() || used + 2 + note.width + 1 > width) {
      if (!lines.empty()) lines.back() += ";";
      lines.emplace_back();
      used = 0;
    } else {
      lines.back() += "; ";
      used += 2;
    }
    lines.back() += note.text;
    used += note.width;
  }
  return lines;
}

}  // namespace kde::picture
