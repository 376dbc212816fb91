// Self-checks: a density answers a question anew, as a user would be answered, and the table's rows
// are counted for it, under one snapshot and as the table's owner; whether the interval held is
// kept (catalog/self_checks.h). Questions are those that somebody asked (answer/noted_questions.h),
// or drawn.
//
// Drawn ones take turns: ranges that hold 30, 5 and 0.5 % of the rows, all below or above a value,
// one value, everything, and a sum and a mean, their ends at quantiles of the density that a seed
// chooses; of several columns a box of two of them; of a category one of its values; of a density
// with groups the same in one of the groups.
//
// Tables that are not, or not all, on this server are left alone: foreign ones, shards, and those
// whose rows are elsewhere (catalog/planned_rows.h). So is what row-level security keeps from the
// owner himself.
#pragma once

#include "pg/answer/noted_questions.h"
#include "pg/catalog/self_checks.h"
#include "pg/refresh/refresh.h"

#include "core/kde.h"

namespace kde_pg {

// Why a table's densities are not checked, palloc'ed or constant; null: they may be. The relation
// is locked. Asks the planner as the present user.
const char* why_unchecked(Relation relation);

// The density of an entry, which the present user may read: asked the question, or where that is
// null one drawn, the shape-th. Needs an active snapshot. Runs as the present user, within
// AsOwner (base/pinned.h). False if there is nothing to compare: it is gone, or holds no such
// rows. *out is palloc'ed; its question is set before the exact query runs, which may not finish.
bool ask_and_count(const CatalogEntry& entry, Relation relation, const NotedQuestion* noted,
                   kde::Random* random, int shape, SelfCheck* out);

}  // namespace kde_pg
