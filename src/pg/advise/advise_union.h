// Densities by groups of one column and of the same rows: which answers what another does, and the one
// by the groups of both.
#pragma once

#include "pg/advise/advise.h"

namespace kde_pg {

// Whether what is asked of a density by some groups is asked of another, too: by these and more.
bool is_within(const AdvisedDensity& a, const AdvisedDensity& b);

// Null: they are not alike, or groups would be too many. Columns that depend on each other have fewer
// together, as extended statistics of just these know, or of those of one of the two.
AdvisedDensity* union_of(Advice* advice, const AdvisedDensity& a, const AdvisedDensity& b);

}  // namespace kde_pg
