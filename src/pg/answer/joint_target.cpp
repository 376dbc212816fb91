// From the arguments of a question about several columns to the density that answers it.
#include "pg/answer/joint_target.h"

#include "pg/type/density_datum.h"
#include "pg/catalog/cache.h"
#include "pg/catalog/expression.h"
#include "pg/catalog/not_fitted.h"
#include "pg/answer/target.h"
#include "pg/catalog/density_name.h"
#include "pg/catalog/privileges.h"

#include "core/kde.h"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
}

#include <algorithm>

namespace kde_pg {

namespace {

ArrayType* array_of_one(Datum element) {
  return construct_array(&element, 1, TEXTOID, -1, false, TYPALIGN_INT);
}

bool is_empty(ArrayType* array) { return ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) == 0; }

// The columns' present types.
void set_types(Question* q) {
  check_can_be_fitted(q->asked);
  for (int i = 0; i < q->asked.columns; ++i) {
    int32 typmod;
    (void)value_type_of(key_column_type(q->asked, i, &typmod), &q->type[i]);
  }
}

// target: an array of its name, or null.
Question question_of(Oid table, ArrayType* target, ArrayType* columns, text* filter) {
  Question q;
  const bool sides = !is_empty(columns);
  DensityKey averaged;
  if (target != nullptr) {
    check_words(table, target);
    averaged = key_by_arrays(table, target, sides ? nullptr : filter);
    check_readable(averaged);
    q.asked = averaged;
    q.target = 0;
  }
  if (sides) {
    check_words(table, columns);
    q.asked = key_by_arrays(table, columns, filter);
    check_readable(q.asked);
    q.sides = q.asked.columns;
  }
  if (sides && target != nullptr) {
    q.target = find_column(q.asked, averaged.column[0]);
    if (q.target < 0) {
      if (q.asked.columns == kde::kMaxColumns)
        ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                        errmsg("a density has at most %d columns", kde::kMaxColumns)));
      q.target = q.asked.columns;
      q.asked.column[q.asked.columns++] = averaged.column[0];
    }
  }
  set_types(&q);
  return q;
}

[[noreturn]] void raise_none_covers(const Question& q) {
  ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
                  errmsg("no density is fitted that covers %s", display_name(q.asked)),
                  errhint("%s", fitting_hint(q.asked))));
  pg_unreachable();
}

Candidate* candidate_of(const Question& q, const CatalogEntry* entry) {
  auto* c = static_cast<Candidate*>(palloc0(sizeof(Candidate)));
  c->key = &entry->key;
  c->fitted_at = entry->fitted_at;
  c->outdated = TIMESTAMP_IS_NOBEGIN(entry->fitted_at);
  c->same_filter = strcmp(entry->key.filter, q.asked.filter) == 0;
  c->lacking = -1;
  for (int i = q.asked.columns - 1; i >= 0; --i) {
    c->place[i] = find_column(entry->key, q.asked.column[i]);
    if (c->place[i] < 0) c->lacking = i;
  }
  return c;
}

// Those of as few columns as possible, and the best of them first. Their values are looked at only
// where there is a choice.
struct Standing {
  Candidate* candidate;
  bool automatic;
  double points;
};

bool is_better(const Question& q, const Standing& a, const Standing& b) {
  if (a.candidate->covers() != b.candidate->covers()) return a.candidate->covers();
  if (!a.candidate->covers()) return false;
  if (a.candidate->outdated != b.candidate->outdated) return b.candidate->outdated;
  const int beyond = a.candidate->beyond(q) - b.candidate->beyond(q);
  if (beyond != 0) return beyond < 0;
  if (a.automatic != b.automatic) return a.automatic;
  if (a.points != b.points) return a.points > b.points;
  return a.candidate->fitted_at > b.candidate->fitted_at;
}

// The candidates among which more than the number of columns decides.
bool has_rival(const Question& q, List* all, const Candidate* c) {
  ListCell* cell;
  foreach (cell, all) {
    const auto* other = static_cast<const Candidate*>(lfirst(cell));
    if (other != c && other->covers() && !other->outdated && other->beyond(q) == c->beyond(q))
      return true;
  }
  return false;
}

List* catalog_list_now(Oid relation) {
  // As cached_density(), which is asked next: under the active snapshot, if there is one.
  const bool push = !ActiveSnapshotSet();
  if (push) PushActiveSnapshot(GetTransactionSnapshot());
  List* entries = catalog_list(relation, GetActiveSnapshot());
  if (push) PopActiveSnapshot();
  return entries;
}

List* read_candidates(const Question& q) {
  List* all = NIL;
  ListCell* cell;
  List* entries = catalog_list_now(q.asked.relation);
  foreach (cell, entries)
    all = lappend(all, candidate_of(q, static_cast<const CatalogEntry*>(lfirst(cell))));
  return all;
}

Standing standing_of(const Question& q, List* all, Candidate* c) {
  Standing s = {c, false, 0};
  if (!c->covers() || c->outdated || !has_rival(q, all, c)) return s;
  const JointTarget target = open_candidate(q, *c);
  s.automatic = target.automatic();
  s.points = target.points();
  return s;
}

}  // namespace

Question read_question(FunctionCallInfo fcinfo, int relation, int target, int columns, int filter) {
  ArrayType* names = PG_GETARG_ARRAYTYPE_P(columns);
  if (is_empty(names) && target < 0)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("columns must have at least one element")));
  return question_of(PG_GETARG_OID(relation),
                     target < 0 ? nullptr : array_of_one(PG_GETARG_DATUM(target)), names,
                     PG_ARGISNULL(filter) ? nullptr : PG_GETARG_TEXT_PP(filter));
}

Question read_pair(FunctionCallInfo fcinfo, int relation, int target, int on, int filter) {
  const Question q = question_of(PG_GETARG_OID(relation), array_of_one(PG_GETARG_DATUM(target)),
                                 array_of_one(PG_GETARG_DATUM(on)),
                                 PG_ARGISNULL(filter) ? nullptr : PG_GETARG_TEXT_PP(filter));
  if (q.target == 0)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("target and \"on\" must be different columns")));
  return q;
}

bool JointTarget::automatic() const {
  return joint != nullptr && joint->method == kde::JointMethod::automatic;
}

double JointTarget::points() const {
  return joint != nullptr ? joint->points : one_column->sample_rows;
}

const char* JointTarget::method() const {
  return joint != nullptr ? kde::joint_method_name(joint->method)
                          : kde::method_name(one_column->method);
}

JointTarget open_candidate(const Question& q, const Candidate& candidate) {
  JointTarget target;
  const struct varlena* value = cached_density(*candidate.key, &target.fit).value;
  if (value == nullptr) raise_none_covers(q);
  const AnyDensity density = any_density_from_datum(PointerGetDatum(value));
  target.one_column = density.one_column;
  target.joint = density.joint;
  std::copy(candidate.place, candidate.place + kde::kMaxColumns, target.place);
  const int columns = density.joint != nullptr ? density.joint->columns : 1;
  if (columns != candidate.key->columns)
    ereport(ERROR,
            (errcode(ERRCODE_DATA_CORRUPTED), errmsg("the density stored for %s has %d columns",
                                                     display_name(*candidate.key), columns)));
  for (int i = 0; i < q.asked.columns; ++i) {
    const kde::ValueType fitted =
        density.joint != nullptr ? kde::JointView(density.joint).column(target.place[i]).value_type
                                 : density.one_column->value_type;
    if (!same_meaning(q.type[i], fitted))
      ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                      errmsg("the density of %s was fitted before column \"%s\" changed its type",
                             display_name(*candidate.key), q.asked.column[i].text),
                      errhint("Fit it again with kde_fit.")));
  }
  return target;
}

List* list_candidates(const Question& q) {
  List* all = read_candidates(q);
  const int n = list_length(all);
  auto* standings = static_cast<Standing*>(palloc(sizeof(Standing) * (n + 1)));
  for (int i = 0; i < n; ++i) {
    const Standing s = standing_of(q, all, static_cast<Candidate*>(list_nth(all, i)));
    int at = i;
    for (; at > 0 && is_better(q, s, standings[at - 1]); --at) standings[at] = standings[at - 1];
    standings[at] = s;
  }
  List* sorted = NIL;
  for (int i = 0; i < n; ++i) sorted = lappend(sorted, standings[i].candidate);
  return sorted;
}

JointTarget find_joint_target(const Question& q) {
  List* sorted = list_candidates(q);
  const auto* best = sorted != NIL ? static_cast<const Candidate*>(linitial(sorted)) : nullptr;
  if (best == nullptr || !best->covers()) raise_none_covers(q);
  return open_candidate(q, *best);
}

}  // namespace kde_pg
