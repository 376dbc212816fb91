// What the stored structs are made of: of each one description, its members in their order, with the
// range of those that have one by themselves. The form on the wire (wire.h) and the checks of
// ranges (check_fields()) are made of it; rules that several members share are in the validators.
//
//   fields(h, visit)   visit(name, h.member, range) for every member of h
#pragma once

#include "core/density/format.h"
#include "core/density/group_format.h"
#include "core/density/histogram.h"
#include "core/density/joint_format.h"
#include "core/density/measure_format.h"
#include "core/density/range_effects.h"
#include "core/density/word_format.h"
#include "core/status.h"

#include <concepts>
#include <limits>
#include <type_traits>

namespace kde {

// Ends included; NaN is in none.
struct FieldRange {
  double least, most;
};
inline constexpr double kGreatest = std::numeric_limits<double>::max();
inline constexpr double kBeyond = std::numeric_limits<double>::infinity();
inline constexpr FieldRange kZero = {0, 0};
inline constexpr FieldRange kFinite = {-kGreatest, kGreatest};
inline constexpr FieldRange kCount = {0, kGreatest};
inline constexpr FieldRange kPositive = {std::numeric_limits<double>::denorm_min(), kGreatest};
inline constexpr FieldRange kMaybeInfinite = {-kBeyond, kBeyond};
inline constexpr FieldRange kVarianceOfRows = {0, kMostVariance};
// Numbers of an enumeration.
constexpr FieldRange one_of(int n) { return {0, n - 1.0}; }
// Flags up to the greatest, all of whose bits are known.
constexpr FieldRange flags_to(int greatest) { return {0, 2.0 * greatest - 1}; }

template <typename T, typename Struct>
concept Stored = std::same_as<std::remove_const_t<T>, Struct>;

template <Stored<Header> T, typename Visit>
constexpr void fields(T& h, Visit&& visit) {
  visit("length word", h.varlena);
  visit("version", h.version);
  visit("kind", h.kind);
  visit("flags", h.flags, flags_to(kExactEnds));
  visit("value type", h.value_type, one_of(kValueTypes));
  visit("method", h.method, FieldRange{1, kMethods - 1.0});
  visit("measures", h.measures, FieldRange{0, kMaxMeasures});
  visit("grouped", h.grouped, FieldRange{0, 1});
  visit("words", h.words, FieldRange{0, 1});
  visit("chain", h.chain, one_of(kChains));
  visit("effects", h.effects, FieldRange{0, 1});
  visit("grid level", h.grid_level);
  visit("atoms", h.atoms);
  visit("blocks", h.blocks);
  visit("rows", h.rows, kCount);
  visit("nulls", h.nulls, kCount);
  visit("nans", h.nans, kCount);
  visit("negative infinities", h.negative_infinities, kCount);
  visit("positive infinities", h.positive_infinities, kCount);
  visit("sample rows", h.sample_rows, kCount);
  visit("bandwidth", h.bandwidth, kCount);
  visit("lattice step", h.lattice_step, kCount);
  visit("lattice offset", h.lattice_offset, kFinite);
  visit("lattice scale", h.lattice_scale, FieldRange{0, 1e15});
  visit("min", h.min, kFinite);
  visit("max", h.max, kFinite);
  visit("mean", h.mean, kFinite);
  visit("variance", h.variance, FieldRange{0, kBeyond});
  visit("cell rows", h.cell_rows, kCount);
  visit("row unit", h.row_unit, kCount);
  visit("error", h.error, FieldRange{0, 1});
  visit("rows variance", h.rows_variance, kVarianceOfRows);
  visit("end variance", h.end_variance, kVarianceOfRows);
  visit("mean error", h.mean_error, kCount);
  visit("known below", h.known_below, kMaybeInfinite);
  visit("known above", h.known_above, kMaybeInfinite);
  visit("count variance", h.count_variance, kCount);
}

// Ranges: histogram_size(), before anything is read by them.
template <Stored<HistogramBlock> T, typename Visit>
constexpr void fields(T& b, Visit&& visit) {
  visit("first key", b.first_key);
  visit("rows below", b.rows_below);
  visit("word", b.word);
  visit("last cell", b.last_cell);
  visit("key shift", b.key_shift);
  visit("key bits", b.key_bits);
  visit("rows bits", b.rows_bits);
  visit("kinds", b.kinds);
  visit("rows shift", b.rows_shift);
}

template <Stored<MeasureHeader> T, typename Visit>
constexpr void fields(T& m, Visit&& visit) {
  visit("bytes", m.bytes);
  visit("value type", m.value_type, one_of(kValueTypes));
  visit("parts", m.parts, flags_to(kMeasureEffects));
  visit("decimals", m.decimals, FieldRange{0, kNoDecimals});
  visit("nulls", m.nulls, FieldRange{0, 1});
  visit("rows", m.rows, FieldRange{0, kMostRows});
  visit("origin", m.origin, kFinite);
  visit("unit", m.unit, kPositive);
  visit("scale", m.scale, kPositive);
  visit("min", m.min, kFinite);
  visit("max", m.max, kFinite);
  visit("mean", m.mean, kFinite);
  visit("variance", m.variance, kCount);
  visit("mean error", m.mean_error, kCount);
  visit("slack", m.slack, kCount);
  visit("mean variance", m.mean_variance, kCount);
}

template <Stored<RangeEffectsHeader> T, typename Visit>
constexpr void fields(T& e, Visit&& visit) {
  visit("bytes", e.bytes);
  visit("cells", e.cells, FieldRange{2, kMostEffectCells});
  visit("flags", e.flags, FieldRange{1, kEffectsOfCounts | kEffectsOfMeans});
  visit("reserved", e.reserved, kZero);
}

template <Stored<WordsHeader> T, typename Visit>
constexpr void fields(T& w, Visit&& visit) {
  visit("bytes", w.bytes);
  visit("words", w.words);
  visit("text bytes", w.text_bytes);
  visit("type", w.type);
  visit("flags", w.flags, flags_to(kFolded));
  visit("reserved", w.reserved, kZero);
  visit("distinct", w.distinct, kCount);
  visit("others", w.others, kCount);
  visit("others most", w.others_most, kCount);
  visit("unseen", w.unseen, kCount);
  visit("unseen error", w.unseen_error, kCount);
  visit("unseen one", w.unseen_one, kCount);
  visit("most spread", w.most_spread, FieldRange{0, kBeyond});
}

template <Stored<GroupsHeader> T, typename Visit>
constexpr void fields(T& g, Visit&& visit) {
  visit("bytes", g.bytes);
  visit("groups", g.groups);
  visit("rest", g.rest);
  visit("unseen", g.unseen, kCount);
  visit("unseen error", g.unseen_error, kCount);
}

template <Stored<GroupHeader> T, typename Visit>
constexpr void fields(T& g, Visit&& visit) {
  visit("bytes", g.bytes);
  visit("key bytes", g.key_bytes);
}

template <Stored<JointHeader> T, typename Visit>
constexpr void fields(T& h, Visit&& visit) {
  visit("length word", h.varlena);
  visit("version", h.version);
  visit("kind", h.kind);
  visit("columns", h.columns, FieldRange{2, kMaxColumns});
  visit("flags", h.flags, flags_to(kContrasts));
  visit("method", h.method, one_of(kJointMethods));
  visit("contrasts", h.contrasts, FieldRange{0, kMostContrasts});
  visit("reserved", h.reserved, kZero);
  visit("points", h.points, FieldRange{2, kGreatest});
  visit("rows", h.rows, FieldRange{1, 0x1p62});
  visit("sample rows", h.sample_rows, FieldRange{0, 0x1p62});
  visit("own rows", h.own_rows, kCount);
  visit("sampling variance", h.sampling_variance, kVarianceOfRows);
  visit("reading variance", h.reading_variance, kVarianceOfRows);
  visit("rows variance", h.rows_variance, kVarianceOfRows);
  visit("count error", h.count_error, kCount);
  visit("mean error", h.mean_error, kCount);
}

template <Stored<JointColumn> T, typename Visit>
constexpr void fields(T& c, Visit&& visit) {
  visit("value type", c.value_type, one_of(kValueTypes));
  visit("flags", c.flags, flags_to(kLatticeValues));
  visit("value bytes", c.value_bytes);
  visit("reserved", c.reserved, kZero);
  visit("heavy", c.heavy);
  visit("marginal bytes", c.marginal_bytes);
  visit("reserved", c.reserved2, kZero);
  visit("center", c.center, kFinite);
  visit("bandwidth", c.bandwidth, kPositive);
  visit("value center", c.value_center, kFinite);
  visit("value unit", c.value_unit, kPositive);
}

// Whether the fields are all bytes of a struct.
template <typename T>
consteval bool described_whole() {
  T t{};
  std::size_t bytes = 0;
  fields(t, [&bytes](const char*, const auto& x, FieldRange = {}) { bytes += sizeof x; });
  return bytes == sizeof t;
}
static_assert(described_whole<Header>() && described_whole<HistogramBlock>() &&
              described_whole<MeasureHeader>() && described_whole<RangeEffectsHeader>() &&
              described_whole<WordsHeader>() && described_whole<GroupsHeader>() &&
              described_whole<GroupHeader>() && described_whole<JointHeader>() &&
              described_whole<JointColumn>());

// Calls use(number) for each number in x, arrays looked through.
template <typename T, typename Use>
void each_number(T& x, const Use& use) {
  if constexpr (std::is_array_v<T>) {
    for (auto& y : x) each_number(y, use);
  } else {
    use(x);
  }
}

// Whether every field is in its range. of: what is said of it, such as " of a measure". Errors:
// invalid_format with the first that is not, and its value.
template <typename T>
Status check_fields(const T& t, const char* of = "") {
  Status status = Status::success();
  fields(t, [&](const char* name, const auto& field, FieldRange range = kMaybeInfinite) {
    // Without a range a field is an integer.
    each_number(field, [&](const auto& number) {
      const auto x = static_cast<double>(number);
      if (!(x >= range.least && x <= range.most) && status.ok())
        status = Status::error(Code::invalid_format, "%s%s is %g, not in [%g, %g]", name, of, x,
                               range.least, range.most);
    });
  });
  return status;
}

}  // namespace kde
