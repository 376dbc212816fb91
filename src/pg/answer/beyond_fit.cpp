// See beyond_fit.h.
#include "pg/answer/beyond_fit.h"

#include "pg/answer/moments.h"

#include <cmath>

namespace kde_pg {

namespace {

// Moves a range that reaches beyond [least, greatest] on one side to where it ends there, as wide;
// one with no end there has its width already. False if it reaches beyond neither, or beyond both:
// then all rows are in it, and the density is stale or not.
bool move_inside(const kde::Header& h, kde::Range* r) {
  if (r->empty || !(h.finite_rows() > 0)) return false;
  const bool no_lower = r->lower_unbounded || r->lower == -INFINITY;
  const bool no_upper = r->upper_unbounded || !(r->upper < INFINITY);
  if ((!no_lower && !std::isfinite(r->lower)) || (!no_upper && !std::isfinite(r->upper)))
    return false;
  const bool below = no_lower || r->lower < h.min;
  const bool above = no_upper || r->upper > h.max;
  if (below == above || (!no_lower && !no_upper && r->lower > r->upper)) return false;
  if (no_lower || no_upper) return true;
  const double width = r->upper - r->lower;
  r->lower = above ? h.max - width : h.min;
  r->upper = above ? h.max : h.min + width;
  return true;
}

}  // namespace

void check_beyond_fit(const Question& question, const AnsweringDensity& density,
                      const kde::Range* ranges) {
  kde::Range inside[kde::kMaxColumns];
  bool beyond = false;
  for (int i = 0; i < question.sides; ++i) {
    inside[i] = ranges[i];
    beyond |= move_inside(*density.asked_column(i), &inside[i]);
  }
  if (!beyond || !may_be_stale_beyond(density.fit)) return;
  check_stale_beyond(density.fit, count_of(question, density, inside));
}

}  // namespace kde_pg
