// Views and rules of measure_format.h.
#include "core/density/measure_format.h"

#include "core/density/checks.h"
#include "core/density/fields.h"
#include <algorithm>

namespace kde {

MeasureView::MeasureView(const Header* density, int k) {
  const std::size_t column =
      density->words == 0 ? DensityView(density).bytes() : column_size(density, kMostColumnBytes);
  open(reinterpret_cast<const char*>(density) + aligned(column));
  for (; k > 0; --k) open(end());
}

void MeasureView::open(const char* at) {
  header_ = reinterpret_cast<const MeasureHeader*>(at);
  at += sizeof(MeasureHeader);
  for (int p = 0; p < kMeasureParts; ++p) {
    part_[p] = nullptr;
    if (!header_->has(static_cast<MeasurePart>(p))) continue;
    part_[p] = reinterpret_cast<const Header*>(at);
    at += aligned(DensityView(at).bytes());
  }
}

std::size_t measured_size(const void* bytes, std::size_t available) {
  if (available < sizeof(Header)) return 0;
  const std::size_t column = column_size(bytes, available);
  const int measures = column > 0 ? static_cast<const Header*>(bytes)->measures : 0;
  if (measures == 0) return column;
  std::size_t at = aligned(column);
  for (int k = 0; k < measures; ++k) {
    if (at + sizeof(MeasureHeader) > available) return 0;
    const char* begin = static_cast<const char*>(bytes) + at;
    const auto* m = reinterpret_cast<const MeasureHeader*>(begin);
    if (m->bytes > available - at) return 0;
    std::size_t size = sizeof(MeasureHeader);
    for (int p = 0; p < kMeasureParts; ++p) {
      if (!m->has(static_cast<MeasurePart>(p))) continue;
      const std::size_t left = m->bytes > size ? m->bytes - size : 0;
      const std::size_t part =
          left >= sizeof(Header) ? histogram_size(begin + size, std::min(left, kMaxBytes)) : 0;
      if (part == 0) return 0;
      size += aligned(part);
    }
    if (size != m->bytes) return 0;
    at += size;
  }
  return at;
}

Status validate_measured(const void* bytes, std::size_t size) {
  if (size < sizeof(Header)) return invalid("too short");
  const auto& h = *static_cast<const Header*>(bytes);
  if (h.measures == 0 && h.words == 0) return validate_one_column(bytes, size, true);
  if (column_size(bytes, size) == 0) return invalid("length does not fit its contents");
  const std::size_t cells = histogram_size(bytes, std::min(size, kMaxBytes));
  if (Status s = validate_one_column(bytes, cells, true); !s.ok()) return s;
  if (h.words > 0)
    if (Status s = validate_words(bytes, column_size(bytes, size)); !s.ok()) return s;
  if (h.measures > 0) return validate_measures(bytes, size);
  if (column_size(bytes, size) != size) return invalid("length does not fit its contents");
  return Status::success();
}

Status validate_measures(const void* bytes, std::size_t size) {
  const auto* density = static_cast<const Header*>(bytes);
  if (measured_size(bytes, size) != size) return invalid("length does not fit its contents");
  if (density->measures > kMaxMeasures) return invalid("too many measures");
  const char* at = static_cast<const char*>(bytes) + column_size(bytes, size);
  const char* first = static_cast<const char*>(bytes) + aligned(column_size(bytes, size));
  for (; at < first; ++at)
    if (*at != 0) return invalid("unused bytes are not 0");
  for (int k = 0; k < density->measures; ++k) {
    const auto& m = *reinterpret_cast<const MeasureHeader*>(at);
    if (Status s = check_fields(m, " of a measure"); !s.ok()) return s;
    if (!(m.min <= m.mean && m.mean <= m.max))
      return invalid("a measure's mean is outside [min, max]");
    at += sizeof(MeasureHeader);
    for (int p = 0; p < kMeasureParts; ++p) {
      if (!m.has(static_cast<MeasurePart>(p))) continue;
      const std::size_t part = histogram_size(at, kMaxBytes);
      if (Status s = validate_one_column(at, part); !s.ok()) return s;
      if (reinterpret_cast<const Header*>(at)->varlena != 0)
        return invalid("unused bytes are not 0");
      for (const char* rest = at + part; rest < at + aligned(part); ++rest)
        if (*rest != 0) return invalid("unused bytes are not 0");
      at += aligned(part);
    }
  }
  return Status::success();
}

}  // namespace kde
