// The one walk through the stored form of a density, from its first byte on: by it sizes are told
// and every number passes from and to the network's order (wire.cpp).
#pragma once

#include "core/density/checks.h"
#include "core/density/group_format.h"
#include "core/density/histogram_view.h"
#include "core/density/joint_format.h"
#include "core/density/measure_format.h"
#include "core/density/word_format.h"

#include <cstddef>
#include <cstdint>

namespace kde {

// For a walk that tells sizes alone.
struct LeaveAsIs {
  template <typename T>
  bool operator()(std::size_t /*at*/, std::size_t /*n*/) const {
    return true;
  }
};

// Each function passes over a part, where what is read lies already in the machine's order; null
// or false: its lengths do not fit, or go beyond the end. Every part is a multiple of 8 bytes long.
// Turn: makes n numbers or structs T at an offset readable; false ends the walk.
template <typename Turn = LeaveAsIs>
class Walk {
 public:
  // bytes: `size` of them in the machine's order, once they are passed; 8-byte aligned.
  Walk(const void* bytes, std::size_t size, Turn turn = {})
      : bytes_(static_cast<const char*>(bytes)), size_(size), turn_(turn) {}

  std::size_t at() const { return at_; }

  // A density of one column without what follows.
  const Header* cells() {
    const std::size_t begin = at_;
    const auto* h = pass<Header>();
    if (h == nullptr || pass<double>(2 * std::size_t{h->atoms}) == nullptr ||
        pass<HistogramBlock>(h->blocks) == nullptr)
      return nullptr;
    const std::size_t size = histogram_cells_size(h, size_ - begin);
    const bool fits = size != 0 && pass<std::uint64_t>((begin + size - at_) / 8) != nullptr;
    return fits && (h->effects == 0 || effects()) ? h : nullptr;
  }

  // The effects of ranges.
  bool effects() {
    const std::size_t begin = at_;
    const auto* e = pass<RangeEffectsHeader>();
    if (e == nullptr || e->cells < 2 || e->cells > kMostEffectCells ||
        e->bytes != effects_bytes(e->cells, e->flags))
      return false;
    const std::size_t ends = effect_ends(*e);
    return pass<double>(ends) != nullptr && pass<float>(ends) != nullptr &&
           pass<char>(begin + e->bytes - at_) != nullptr;
  }

  // With its words.
  const Header* column() {
    const Header* h = cells();
    if (h == nullptr || h->words == 0) return h;
    const std::size_t begin = at_;
    const auto* w = pass<WordsHeader>();
    if (w == nullptr || w->words > kMostWords || w->bytes > kMostWordsBytes ||
        w->bytes != words_bytes(w->words, w->text_bytes, w->flags))
      return nullptr;
    const std::size_t numbers = w->words * std::size_t{(w->flags & kPlaced) != 0 ? 2U : 1U};
    const bool fits = pass<std::uint32_t>(w->words) != nullptr &&
                      pass<std::uint16_t>(numbers) != nullptr &&
                      pass<char>(begin + w->bytes - at_) != nullptr;
    return fits ? h : nullptr;
  }

  // And measures.
  const Header* measured() {
    const Header* h = column();
    for (int k = 0; h != nullptr && k < h->measures; ++k) {
      const std::size_t begin = at_;
      const auto* m = pass<MeasureHeader>();
      if (m == nullptr) return nullptr;
      for (int p = 0; p < kMeasureParts; ++p)
        if (m->has(static_cast<MeasurePart>(p)) && cells() == nullptr) return nullptr;
      if ((m->parts & kMeasureEffects) != 0 && !effects()) return nullptr;
      if (m->bytes != at_ - begin) return nullptr;
    }
    return h;
  }

  // And groups.
  const Header* whole() {
    const Header* h = measured();
    if (h == nullptr || h->grouped == 0) return h;
    const std::size_t begin = at_;
    const auto* groups = pass<GroupsHeader>();
    if (groups == nullptr) return nullptr;
    for (std::uint32_t i = 0; i < groups->groups; ++i) {
      const std::size_t at = at_;
      const auto* group = pass<GroupHeader>();
      if (group == nullptr ||
          (group->key_bytes != kNoKey && group->key_bytes > kMostStoredKeyBytes) ||
          pass<char>(key_size(*group)) == nullptr || measured() == nullptr ||
          group->bytes != at_ - at)
        return nullptr;
    }
    return groups->bytes == at_ - begin ? h : nullptr;
  }

  // A density of several columns, up to the end of its bytes.
  bool joint() {
    const auto* h = pass<JointHeader>();
    if (h == nullptr || h->columns > kMaxColumns) return false;
    const auto* c = pass<JointColumn>(h->columns);
    if (c == nullptr || joint_size(h, size_) != size_) return false;
    JointSizes sizes;
    for (int k = 0; k < h->columns; ++k) sizes.add(c[k]);
    const JointLayout layout = joint_layout(*h, sizes);
    if (pass<double>((layout.marginal - layout.correlation) / sizeof(double)) == nullptr)
      return false;
    for (int k = 0; k < h->columns; ++k) {
      const std::size_t end = at_ + c[k].marginal_bytes;
      if (column() == nullptr || at_ != end) return false;
    }
    return pass<std::uint32_t>((size_ - at_) / sizeof(std::uint32_t)) != nullptr;
  }

 private:
  // The next n.
  template <typename T>
  const T* pass(std::size_t n = 1) {
    if (n > (size_ - at_) / sizeof(T) || !turn_.template operator()<T>(at_, n)) return nullptr;
    const auto* passed = reinterpret_cast<const T*>(bytes_ + at_);
    at_ += n * sizeof(T);
    return passed;
  }

  const char* bytes_;
  std::size_t size_;
  std::size_t at_ = 0;
  Turn turn_;
};

}  // namespace kde
