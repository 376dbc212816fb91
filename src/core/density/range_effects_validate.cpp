// The rules of range_effects.h, checked on bytes of unknown origin.
#include "core/density/checks.h"
#include "core/density/fields.h"
#include "core/density/range_effects.h"

#include <algorithm>
#include <cmath>

namespace kde {

namespace {

Status validate_bytes(const RangeEffectsHeader& e, const char* used) {
  const char* end = reinterpret_cast<const char*>(&e) + e.bytes;
  return all_zero(used, end) ? Status::success() : invalid("unused bytes are not 0");
}

// Where what follows the means begins.
Status validate_means(const RangeEffectsHeader& e, const char* mean) {
  const auto* codes = reinterpret_cast<const std::int8_t*>(mean);
  const std::size_t pairs = effect_pairs(e.cells);
  if (std::find(codes, codes + pairs, kOneValue) != codes + pairs)
    return invalid("a ratio of variances is out of range");
  const auto* correlation = reinterpret_cast<const std::uint8_t*>(codes + pairs);
  for (std::size_t pair = 0; pair < 2 * correlation_bytes(e.cells); ++pair) {
    const int code = correlation[pair / 2] >> (pair % 2 == 0 ? 0 : 4) & 15;
    if ((code == 0) != (pair == pairs)) return invalid("a correlation is out of range");
  }
  return validate_bytes(e, mean + pairs + correlation_bytes(e.cells));
}

}  // namespace

Status validate_count_effects(const Header& list, const RangeEffectsHeader& e) {
  if (Status s = check_fields(e, " of effects"); !s.ok()) return s;
  if ((e.flags & kEffectsOfCounts) == 0) return invalid("effects of a list have no counts");
  if ((list.flags & kEveryRowRead) != 0) return invalid("effects where every row was read");
  const std::size_t ends = effect_ends(e), pairs = effect_pairs(e.cells);
  const auto* end = reinterpret_cast<const double*>(&e + 1);
  const auto* through = reinterpret_cast<const float*>(end + ends);
  for (std::size_t i = 0; i < ends; ++i) {
    if (!std::isfinite(end[i]) || (i > 0 && !(end[i] > end[i - 1])))
      return invalid("ends of effects are not in ascending order");
    if (!(through[i] > (i > 0 ? through[i - 1] : 0) && through[i] < 1))
      return invalid("shares of effects are not in ascending order");
  }
  const auto* count = reinterpret_cast<const std::int8_t*>(through + ends);
  if (std::find(count, count + pairs, kOneValue) != count + pairs)
    return invalid("a ratio of variances is out of range");
  const char* rest = reinterpret_cast<const char*>(count + pairs + e.cells);
  return (e.flags & kEffectsOfMeans) != 0 ? validate_means(e, rest) : validate_bytes(e, rest);
}

Status validate_mean_effects(const RangeEffectsHeader* of_list, const RangeEffectsHeader* measure) {
  if (Status s = check_fields(*measure, " of a measure's effects"); !s.ok()) return s;
  if (of_list == nullptr || of_list->cells != measure->cells || measure->flags != kEffectsOfMeans)
    return invalid("a measure's effects are of other ranges than its column's");
  return validate_means(*measure, reinterpret_cast<const char*>(measure + 1));
}

}  // namespace kde
