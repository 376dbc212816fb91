// Texts of a picture: a label's width in characters, ticks in the column's own type.
#pragma once

#include "pg/answer/round_edges.h"

#include "core/kde.h"

#include <string_view>

namespace kde_pg {

// Without control characters, and what XML has no place for; of more columns than `most` its
// beginning, and dots. palloc'ed.
kde::Label label_of(std::string_view text, int most);

// Ticks at round places of [lower, upper], lower < upper: so many as have room for their labels on
// an axis as long as so many characters. palloc'ed; none where no step will do.
//   numbers             as their type prints them
//   dates, timestamps   2026, 2026-03, 2026-03-21, or of parts of a day 15:30, whatever DateStyle
//                       says; a timestamptz by the session's time zone
struct AxisTicks {
  kde::Tick* ticks;
  int count;
  RoundStep step;
};
AxisTicks round_ticks(kde::ValueType type, double lower, double upper, double lattice_step,
                      int characters);

}  // namespace kde_pg
