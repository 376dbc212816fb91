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

// The blocks as they were read, and their cells' bits.
struct HistogramText {
  std::vector<HistogramBlock> blocks;
  std::vector<std::uint64_t> bits;
};

// These may throw std::bad_alloc.
void write_blocks(const HistogramView& d, Writer& w);
void read_blocks(Reader& in, HistogramText* out);

// The histogram of a header, its atoms and its blocks, validated.
// Errors: invalid_format.
Status store_histogram(const DensityParts& parts, const HistogramText& text,
                       std::vector<std::uint64_t>* words, std::size_t* size);

}  // namespace kde
