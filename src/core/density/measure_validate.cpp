// Views and rules of measure_format.h.
#include "core/density/measure_format.h"

#include "core/density/fields.h"
#include "core/density/layout.h"
#include <algorithm>

namespace kde {

MeasureView::MeasureView(const Header* density, int k, LastCuts* cuts) : cuts_(cuts) {
  const std::size_t column =
      density->words == 0 ? DensityView(density).bytes() : column_size(density, kMostColumnBytes);
  open(reinterpret_cast<const char*>(density) + column);
  for (; k > 0; --k) open(end());
}

void MeasureView::open(const char* at) {
  header_ = reinterpret_cast<const MeasureHeader*>(at);
  at += sizeof(MeasureHeader);
  for (int p = 0; p < kMeasureParts; ++p) {
    part_[p] = nullptr;
    if (!header_->has(static_cast<MeasurePart>(p))) continue;
    part_[p] = reinterpret_cast<const Header*>(at);
    at += DensityView(at).bytes();
  }
  const bool has_effects = (header_->parts & kMeasureEffects) != 0;
  effects_ = has_effects ? reinterpret_cast<const RangeEffectsHeader*>(at) : nullptr;
}

std::size_t measured_size(const void* bytes, std::size_t available) {
  Walk<> walk(bytes, available);
  return walk.measured() != nullptr ? walk.at() : 0;
}

Status validate_measured(const void* bytes, std::size_t size) {
  if (size < sizeof(Header)) return invalid("too short");
  const auto* density = static_cast<const Header*>(bytes);
  const std::size_t most = density->words == 0 && density->measures == 0 ? size : kMostListBytes;
  const std::size_t cells = histogram_size(bytes, std::min(size, most));
  if (cells > size) return invalid("length does not fit its contents");
  if (Status s = validate_one_column(bytes, cells != 0 ? cells : std::min(size, most), true);
      !s.ok())
    return s;
  if (measured_size(bytes, size) != size) return invalid("length does not fit its contents");
  if (density->words > 0)
    if (Status s = validate_words(density); !s.ok()) return s;
  for (int k = 0; k < density->measures; ++k) {
    const MeasureView measure(density, k);
    const MeasureHeader& m = measure.header();
    if (Status s = check_fields(m, " of a measure"); !s.ok()) return s;
    if (!(m.min <= m.mean && m.mean <= m.max))
      return invalid("a measure's mean is outside [min, max]");
    if (measure.effects() != nullptr)
      if (Status s = validate_mean_effects(DensityView(density).effects(), measure.effects());
          !s.ok())
        return s;
    for (int p = 0; p < kMeasureParts; ++p) {
      if (!m.has(static_cast<MeasurePart>(p))) continue;
      const DensityView part = measure.part(static_cast<MeasurePart>(p));
      if (Status s = validate_one_column(&part.header(), part.bytes()); !s.ok()) return s;
      if (part.header().varlena != 0) return invalid("unused bytes are not 0");
    }
  }
  return Status::success();
}

}  // namespace kde
