// Few densities that answer most of the time: those that are proposed.
#pragma once

#include "pg/advise/advise.h"

namespace kde_pg {

// The greedy rule for covers by weight (Chvatal, A greedy heuristic for the set-covering problem,
// Mathematics of Operations Research 4, 1979): again and again the density that answers most of the
// time that is left, of several that answer about as much the smallest, until none answers
// `least_ms`. A statement's time is shared by its demands. Returns AdvisedDensity*, in that order;
// their ranks, and of statements that stay unanswered the reasons, are set.
List* choose_densities(Advice* advice, double least_ms);

}  // namespace kde_pg
