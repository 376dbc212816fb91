// See advise_cost.h. With d the column's different values (of a group: at most its rows):
//
//   bytes   320 + min(8000, 2 d) of the column, 1000 + min(8000, 17 d) of each measure, each group;
//           of times also 1.5 a cell, and 4 + log2(1 + its rows) a measure; a category 250 and 20 a value,
//           and 25 more a measure
//   fit     0.1 us a row, 0.1 more with measures and for each of them, 0.25 with groups
//   error   0 where every value has a cell of its own (up to 4,000 of them), or all rows are asked
//           for; of times 0 between whole hours, or where these are too many, days, else of a range
//           one cell's part of it; else 0.00035 of a count, 0.00075 of a sum over the share of the
//           rows in the range, 0.004 of a group's, as the cells at the range's ends are cut
//
// Of several columns: so many points as kde_aqp.joint_bytes holds, 4.2 + 4.6 bytes a column, whose
// counts are off as binomial ones are.
#include "pg/advise/advise_cost.h"

#include "core/kde.h"
#include "pg/base/options.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kde_pg {

namespace {

constexpr double kHeaderBytes = 320;
constexpr double kColumnBytes = 8000;
// Of a measure, whatever its values.
constexpr double kMeasureBytes = 1000;
constexpr double kMostOwnCells = 4000;
constexpr double kGroupsBytes = 4194304;
constexpr double kWordBytes = 65536;
constexpr double kBytesOfWord = 20;
constexpr double kTimeBytes = 7.5;  // of a row that has a cell of its own, and of each measure

double point_bytes(int columns) { return 4.2 + 4.6 * columns; }

double joint_points(const AdvisedDensity& density) {
  constexpr double kKilobyte = 1024;
  return std::min(density.rows, option_joint_bytes * kKilobyte / point_bytes(density.key.columns));
}

double bytes_of_one(double distinct, int measures) {
  return kHeaderBytes + std::min(kColumnBytes, 2 * distinct) +
         measures * (kMeasureBytes + std::min(kColumnBytes, 17 * distinct));
}

double times_bytes(const AdvisedDensity& density) {
  constexpr double kKilobyte = 1024, kOfGroups = 8;
  return option_density_bytes * kKilobyte * (density.key.groups > 0 ? kOfGroups : 1);
}

bool is_of_times(const AdvisedDensity& density) {
  return density.hours > 0 && density.distinct > kMostOwnCells;
}

double cells_of(const AdvisedDensity& density, int ends) {
  constexpr double kHoursOfDay = 24;
  return ends == kHourEnds ? density.hours : std::ceil(density.hours / kHoursOfDay);
}

// A cell has its count, and of each measure sums that are the longer the more rows they are of.
double cells_bytes(const AdvisedDensity& density, int ends, int measures) {
  constexpr double kCountBytes = 1.5, kSumsBytes = 4;
  const double cells = std::min(density.groups * cells_of(density, ends), density.rows);
  const double cell = kCountBytes + measures * (kSumsBytes + std::log2(1 + density.rows / cells));
  return density.groups * (kHeaderBytes + measures * kMeasureBytes) + cells * cell;
}

double groups_bytes(const AdvisedDensity& density, int measures) {
  const double distinct = std::min(density.distinct, density.rows / density.groups);
  return density.groups * bytes_of_one(distinct, measures);
}

}  // namespace

double advised_bytes(const AdvisedDensity& density, int measures) {
  if (density.of_words)
    return std::min(kWordBytes, 250 + kBytesOfWord * density.distinct) +
           measures * 25 * density.distinct;
  if (density.key.columns > 1) return joint_points(density) * point_bytes(density.key.columns);
  if (is_of_times(density))
    return std::min(times_bytes(density), density.rows * kTimeBytes * (1 + measures));
  if (density.key.groups == 0) return bytes_of_one(density.distinct, measures);
  return std::min(kGroupsBytes, groups_bytes(density, measures)) +
         bytes_of_one(density.distinct, measures);
}

bool fits_whole(const AdvisedDensity& density, int measures) {
  if (density.of_words) return kBytesOfWord * density.distinct <= kWordBytes;
  if (density.key.groups == 0) return true;
  if (is_of_times(density)) return advised_ends(density, measures) != kNoEnds;
  return groups_bytes(density, measures) <= kGroupsBytes;
}

int advised_ends(const AdvisedDensity& density, int measures) {
  if (!is_of_times(density)) return kNoEnds;
  // The largest group may have nearly all the rows.
  const auto most =
      static_cast<double>(kde::cells_of_each(static_cast<std::size_t>(density.groups)));
  for (const int ends : {kHourEnds, kDayEnds})
    if (cells_of(density, ends) <= most &&
        cells_bytes(density, ends, measures) <= times_bytes(density))
      return ends;
  return kNoEnds;
}

double advised_fit_ms(const AdvisedDensity& density, int measures) {
  // Of the search for a bandwidth.
  constexpr double kJointMs = 2000;
  constexpr double kRowMs = 1e-4;
  if (density.key.columns > 1)
    return kJointMs * std::min(1.0, joint_points(density) / 40000) + kRowMs * density.rows;
  double row = kRowMs;
  if (measures > 0) row += kRowMs * (1 + measures);
  if (density.key.groups > 0) row += 2.5 * kRowMs;
  return row * density.rows;
}

double advised_error(const AdvisedDensity& density, int measures, const AdvisedRange& range) {
  if (density.key.columns > 1) {
    const double points = joint_points(density);
    if (points >= density.rows) return 0;
    constexpr double kNormal = 1.96;
    return kNormal * std::sqrt((1 - range.share) / (range.share * points));
  }
  if (density.of_words || density.distinct <= kMostOwnCells) return 0;
  if (range.share >= 1 && !range.buckets) return 0;
  const int ends = advised_ends(density, measures);
  // Who asks for buckets asks from the end of one to that of another.
  const bool are_hidden = range.ends.hidden && !range.buckets;
  const bool are_cut = are_hidden || (range.ends.bounds & ends) == 0;
  if (range.extremes || (range.buckets && (are_cut || (range.ends.buckets & ends) == 0)))
    return std::numeric_limits<double>::infinity();
  if (ends != kNoEnds) return are_cut ? 1 / (cells_of(density, ends) * range.share) : 0;
  const double cut = density.key.groups > 0 ? 0.004 : range.sums ? 0.00075 : 0.00035;
  return cut / range.share;
}

}  // namespace kde_pg
