// The blocks of a histogram as text (text.h).
#pragma once

#include "core/density/histogram_view.h"
#include "core/density/text_fields.h"
#include "core/room.h"
#include "core/status.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kde {

// A density as it was read: the cells as bits.
struct HistogramText {
  Header header{};
  std::vector<double> atom_value, atom_rows;
  std::vector<HistogramBlock> blocks;
  std::vector<std::uint64_t> bits;
};

// These may throw std::bad_alloc.
void write_blocks(const DensityView& d, Writer& w);
void read_blocks(Reader& in, HistogramText* out);

// Its bytes, validated. Errors: invalid_format.
Status store_histogram(const HistogramText& text, DensityBytes* density);

}  // namespace kde
