// Densities of every form: columns of all kinds of values, with measures and without, in groups,
// categories, several columns.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "core/kde.h"
#include "joint_fixture.h"

namespace kde {

namespace forms {

using joints::must;

enum class Shape { whole, ties, normal, wide, tiny };

inline double value_of(Shape shape, int i, Random* random) {
  switch (shape) {
    case Shape::whole:
      return std::floor(40 * random->uniform());
    case Shape::ties:
      return i % 3 == 0 ? random->uniform() : 0.25;
    case Shape::normal:
      return std::log(random->uniform()) * (i % 2 == 0 ? 1 : -1);
    case Shape::wide:
      return (i % 2 == 0 ? 1e305 : -1e305) * random->uniform();
    default:
      return 1e-310 * random->uniform();
  }
}

inline DensityBytes made(Shape shape, int rows, int measures, Method method) {
  OwnedGridCells cells(Chain::decimal, measures);
  Random random(3);
  for (int i = 0; i < rows; ++i) {
    const double x = value_of(shape, i, &random);
    // Squares of wide ones overflow, which is refused.
    double y[2] = {std::floor(100 * random.uniform()) / 4, shape == Shape::wide ? 1e150 : x};
    if (i % 7 == 0) y[1] = std::numeric_limits<double>::quiet_NaN();
    must(cells->add(x, {y, static_cast<std::size_t>(measures)}));
  }
  FitOptions options;
  options.method = method;
  options.added_up = true;
  DensityBytes out;
  FitReport report;
  const std::size_t bytes = measures > 0 ? kLeastMeasuredBytes + 2000 : 1500;
  must(fit_cells(&*cells, options, bytes, Control{}, &out, &report));
  return out;
}

// Three groups: two with keys, and a rest of several.
inline DensityBytes grouped(int measures) {
  const DensityBytes part = made(Shape::whole, 50, measures, Method::automatic);
  const DensityBytes all = made(Shape::whole, 150, measures, Method::automatic);
  std::vector<char> bytes(all.data(), all.data() + all.size());
  const auto align = [&bytes] { bytes.resize((bytes.size() + 7) / 8 * 8, 0); };
  const auto put = [&bytes](const void* from, std::size_t size) {
    const auto* at = static_cast<const char*>(from);
    bytes.insert(bytes.end(), at, at + size);
  };
  align();
  const std::size_t begin = bytes.size();
  GroupsHeader groups{0, 3, 5, 2, 1};
  put(&groups, sizeof groups);
  for (int g = 0; g < 3; ++g) {
    const std::size_t size = (part.size() + 7) / 8 * 8;
    const std::size_t key = g < 2 ? 8 : 0;
    const GroupHeader group = {static_cast<std::uint32_t>(sizeof(GroupHeader) + key + size),
                               g < 2 ? 1 : kNoKey};
    put(&group, sizeof group);
    const char text[8] = {static_cast<char>('a' + g)};
    put(text, key);
    put(part.data(), part.size());
    align();
  }
  groups.bytes = bytes.size() - begin;
  std::memcpy(bytes.data() + begin, &groups, sizeof groups);
  DensityBytes out(bytes.size());
  std::memcpy(out.data(), bytes.data(), bytes.size());
  out.header().grouped = 1;
  return out;
}

}  // namespace forms

// Valid densities.
inline const std::vector<DensityBytes>& every_form() {
  static const std::vector<DensityBytes> all = [] {
    std::vector<DensityBytes> out;
    for (const int measures : {0, 2}) {
      for (const forms::Shape shape :
           {forms::Shape::whole, forms::Shape::ties, forms::Shape::normal, forms::Shape::wide,
            forms::Shape::tiny})
        for (const int rows : {1, 30, 3000})
          out.push_back(forms::made(shape, rows, measures, Method::automatic));
      out.push_back(forms::grouped(measures));
    }
    out.push_back(forms::made(forms::Shape::normal, 3000, 0, Method::silverman));
    out.push_back(forms::made(forms::Shape::whole, 3000, 0, Method::silverman));
    out.push_back(joints::category());
    for (const auto axes :
         {joints::Axes::normal_scores, joints::Axes::linear, joints::Axes::correlated}) {
      out.emplace_back();
      joints::must(encode_joint(joints::parts(3, 70, axes), &out.back()));
    }
    out.emplace_back();
    joints::must(encode_joint(joints::mixed_parts(4, 70), &out.back()));
    for (const DensityBytes& d : out) joints::must(validate(d.data(), d.size()));
    return out;
  }();
  return all;
}

}  // namespace kde
