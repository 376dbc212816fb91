// From sums of measures to their stored form, and back.
#pragma once

#include "core/density/measure_format.h"
#include "core/summary/measures.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace kde {

// What a fit knows of its measures beside their sums, one for each.
struct MeasureFit {
  ValueType value_type = ValueType::float8;
  double mean_error = 0;
  float mean_variance[kErrorScales] = {};
  // How sure counts of the rows where it is not NULL are; none: as those of the column, NULLs
  // falling by chance.
  std::optional<SummarySampling> counts;
};

struct MeasureOptions {
  std::span<const MeasureFit> fits;
  // Rows of the table for a row of the summary, and for one of those whose x is in no cell.
  double scale = 1, special_scale = 1;
  bool sampled = false;
  std::size_t budget = kMaxBytes;  // of each measure; at least kLeastMeasureBytes
};
// Appends the measures to the density of their column. rows, measures: settled. Errors:
// out_of_memory, invalid_argument, out_of_range of a measure whose sum, or that of its squares, is.
Status append_measures(const Summary& rows, const Measures& measures, const MeasureOptions& options,
                       DensityBytes* density) noexcept;

// A density with measures as cells, for Measures::merge. Throws std::bad_alloc.
struct DecodedMeasures {
  std::vector<HistogramCell> cells;
  std::vector<MeasureSums> sums, special;
  std::vector<SummaryTotals> totals;
  std::vector<double> origin, slack;
  std::vector<int> decimals;
  std::vector<MeasureSampling> sampling;

  Measures::Stored stored(const Header& header) const {
    return {&header, cells, sums, special, totals, origin, decimals, slack, sampling};
  }
};
void decode_measures(const Header* density, DecodedMeasures* out);

// What a density says of the rows where a measure is not NULL, and how sure it is of sums of them.
// density: with that measure, of which there are some rows.
Header counted_rows(const Header& density, const MeasureView& measure);
MeasureSampling measure_sampling(const Header& density, const MeasureView& measure);

}  // namespace kde
