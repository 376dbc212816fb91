// The candidates for a question, in order, and the best of them opened.
#include "pg/answer/candidates.h"

#include "pg/catalog/as_fitted.h"
#include "pg/catalog/cache.h"
#include "pg/catalog/not_fitted.h"
#include "pg/type/density_datum.h"

#include <algorithm>

namespace kde_pg {

namespace {

// As AnsweringDensity::place; -1: it has no such column. A measure is none that can be bounded.
int place_of(const Question& q, const DensityKey& key, int i) {
  const int column = find_column(key, q.asked.column[i]);
  if (column >= 0 || i < q.named) return column;
  const int measure = find_measure(key, q.asked.column[i]);
  return measure >= 0 ? key.columns + measure : -1;
}

Candidate* candidate_of(const Question& q, const CatalogEntry* entry) {
  auto* c = static_cast<Candidate*>(palloc0(sizeof(Candidate)));
  c->key = &entry->key;
  c->fitted_at = entry->fitted_at;
  c->same_filter = strcmp(entry->key.filter, q.asked.filter) == 0;
  c->lacking = -1;
  for (int i = q.asked.columns - 1; i >= 0; --i) {
    c->place[i] = place_of(q, entry->key, i);
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
  for (const Candidate* other : of_list<const Candidate>(all)) {
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
  List* entries = catalog_list_now(q.asked.relation);
  for (const CatalogEntry* entry : of_list<const CatalogEntry>(entries)) {
    // The column's own density is beside that of its groups.
    if (entry->key.groups == 0) all = lappend(all, candidate_of(q, entry));
  }
  return all;
}

Standing standing_of(const Question& q, List* all, Candidate* c) {
  Standing s = {c, false, 0};
  if (!c->covers() || !has_rival(q, all, c)) return s;
  const CachedDensity cached = cached_density(*c->key, nullptr, Tell::nothing);
  if (cached.value == nullptr || !has_settings(cached.settings)) {
    c->outdated = true;
    return s;
  }
  const AnsweringDensity target = open_candidate(q, *c);
  s.automatic = target.is_automatic();
  s.points = target.points();
  return s;
}

}  // namespace

bool same_meaning(kde::ValueType a, kde::ValueType b) {
  const auto is_number = [](kde::ValueType t) { return t <= kde::ValueType::numeric; };
  return a == b || (is_number(a) && is_number(b));
}

void AnsweringDensity::take_margin() {
  if (joint == nullptr) return;
  const kde::JointView view(joint);
  one_column = view.marginal(place[0]);
  scale = view.marginal_scale(place[0]);
  joint = nullptr;
  sums = {};
  place[0] = 0;
}

namespace {

// What is stored for a key, whose columns are at the places that *target has already.
void open_density(const Question& q, const DensityKey& key, const CachedDensity& cached,
                  AnsweringDensity* target) {
  target->take(cached_any_density(cached.value));
  target->sums = cached.sums;
  if (target->columns() != key.columns)
    ereport(ERROR,
            (errcode(ERRCODE_DATA_CORRUPTED), errmsg("the density stored for %s has %d columns",
                                                     display_name(key), target->columns())));
  for (int i = 0; i < q.asked.columns; ++i) {
    const int place = target->place[i];
    if (place >= target->columns() + target->measures())
      ereport(ERROR,
              (errcode(ERRCODE_DATA_CORRUPTED), errmsg("the density stored for %s has %d measures",
                                                       display_name(key), target->measures())));
    if (!same_meaning(q.type[i], target->type(place)))
      ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                      errmsg("the density of %s was fitted before column \"%s\" changed its type",
                             display_name(key), q.asked.column[i].text),
                      errhint("Fit it again with kde_fit.")));
  }
}

// Where the key's columns are among names, which are those of the same set. False if they are not.
bool find_places(const DensityKey& key, ArrayType* names, int* place) {
  Datum* values;
  int n;
  deconstruct_array(names, TEXTOID, -1, false, TYPALIGN_INT, &values, nullptr, &n);
  for (int i = 0; i < key.columns; ++i) {
    const Size length = strlen(key.column[i].text);
    int k = 0;
    for (; k < n; ++k) {
      const text* name = DatumGetTextPP(values[k]);
      if (VARSIZE_ANY_EXHDR(name) == length &&
          memcmp(VARDATA_ANY(name), key.column[i].text, length) == 0)
        break;
    }
    if (k == n) return false;
    place[i] = k;
  }
  return true;
}

// The density of the one bounded column, if it has the measure. False if there is none that
// answers.
bool find_with_measure(const Question& q, AnsweringDensity* target) {
  if (q.named != 1 || q.asked.columns != 2) return false;
  DensityKey key = q.asked;
  key.columns = 1;
  const CachedDensity cached = cached_density(key, &target->fit);
  if (cached.value == nullptr || cached.column_names == nullptr) return false;
  if (!find_places(q.asked, cached.column_names, target->place) || target->place[1] == 0)
    return false;
  open_density(q, key, cached, target);
  return true;
}

// The density of exactly what is asked about, which is the best there can be: no other is looked
// at, however many the table has. False if there is none that answers.
bool find_exactly(const Question& q, AnsweringDensity* target) {
  const CachedDensity cached = cached_density(q.asked, &target->fit);
  if (cached.value == nullptr) return false;
  if (cached.column_names != nullptr && !find_places(q.asked, cached.column_names, target->place))
    return false;
  open_density(q, q.asked, cached, target);
  return true;
}

// The fit that would answer the question.
DensityKey fit_to_ask_for(const Question& q, Form wanted) {
  DensityKey key = q.asked;
  if (wanted == Form::any && q.named == 1 && key.columns == 2 && is_added_up(q.type[1])) {
    key.columns = 1;
    key.measures = 1;
  }
  return key;
}

}  // namespace

AnsweringDensity open_candidate(const Question& q, const Candidate& candidate) {
  AnsweringDensity target;
  const CachedDensity cached = cached_density(*candidate.key, &target.fit);
  if (cached.value == nullptr) raise_not_fitted(fit_to_ask_for(q, Form::any));
  std::copy(candidate.place, candidate.place + kde::kMaxColumns, target.place);
  open_density(q, *candidate.key, cached, &target);
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

AnsweringDensity find_density(const Question& q, Form wanted) {
  AnsweringDensity found;
  if (wanted == Form::any && find_with_measure(q, &found)) return found;
  found = {};
  if (find_exactly(q, &found)) return found;
  const Candidate* best = nullptr;
  for (const Candidate* candidate : of_list<const Candidate>(list_candidates(q))) {
    if (wanted == Form::joint && candidate->key->columns < 2) continue;
    best = candidate;
    break;
  }
  if (best == nullptr || !best->covers()) raise_not_fitted(fit_to_ask_for(q, wanted));
  return open_candidate(q, *best);
}

}  // namespace kde_pg
