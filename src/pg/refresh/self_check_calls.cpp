// kde_self_check(), and what the view kde_self_checks shows.
#include "pg/base/pinned.h"
#include "pg/base/result_set.h"
#include "pg/base/subtransaction.h"
#include "pg/catalog/density_name.h"
#include "pg/catalog/not_fitted.h"
#include "pg/catalog/privileges.h"
#include "pg/fit/fit_steps.h"
#include "pg/refresh/self_check.h"

extern "C" {
#include "access/relation.h"
#include "miscadmin.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

#include <cmath>
#include <limits>

namespace kde_pg {

namespace {

constexpr int kMostQuestions = 10000;

// Columns of a result, NaN as NULL.
struct Columns {
  Datum values[10] = {};
  bool nulls[10] = {};
  int count = 0;

  void put(Datum value, bool is_null = false) {
    values[count] = value;
    nulls[count++] = is_null;
  }
  void put(double x) { put(Float8GetDatum(x), std::isnan(x)); }
};

// Without what the table says where its query failed.
void put_check(Tuplestorestate* rows, TupleDesc desc, const SelfCheck& check) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  Columns c;
  c.put(check.question != nullptr ? CStringGetTextDatum(check.question) : 0,
        check.question == nullptr);
  for (double x : {check.answer.estimate, check.answer.lower, check.answer.upper}) c.put(x);
  c.put(check.finished ? check.exact : kNone);
  c.put(check.finished ? check.error() : kNone);
  c.put(BoolGetDatum(check.held), !check.finished);
  c.put(check.finished ? check.ms : kNone);
  tuplestore_putvalues(rows, desc, c.values, c.nulls);
}

struct Output {
  Tuplestorestate* rows;
  TupleDesc desc;
};

void put_history(HeapTuple, TupleDesc, const CatalogEntry& entry, void* state) {
  if (!is_readable(entry.key)) return;
  auto* out = static_cast<Output*>(state);
  const SelfCheckCounts n = self_check_history(entry.id, entry.fitted_at, GetActiveSnapshot()).all;
  Columns c;
  c.put(CStringGetTextDatum(density_name(entry.key)));
  c.put(ObjectIdGetDatum(entry.key.relation));
  const bool filtered = entry.key.has_filter();
  c.put(filtered ? CStringGetTextDatum(entry.key.filter) : 0, !filtered);
  c.put(Int64GetDatum(n.checks));
  c.put(Int64GetDatum(n.held));
  c.put(Int64GetDatum(n.unfinished));
  c.put(Float8GetDatum(static_cast<double>(n.held) / static_cast<double>(Max(n.checks, 1))),
        n.checks == 0);
  c.put(Float8GetDatum(n.error_sum / static_cast<double>(Max(n.errors, 1))), n.errors == 0);
  c.put(Float8GetDatum(n.worst_error), n.errors == 0);
  c.put(TimestampTzGetDatum(n.last), n.last == 0);
  tuplestore_putvalues(out->rows, out->desc, c.values, c.nulls);
}

// Of values: a sum that overflows, a division by zero in a measure.
bool is_of_values(int sqlstate) { return ERRCODE_TO_CATEGORY(sqlstate) == ERRCODE_DATA_EXCEPTION; }

int read_questions(FunctionCallInfo fcinfo, int argument) {
  reject_null(fcinfo, argument, "questions");
  const int32 questions = PG_GETARG_INT32(argument);
  if (questions < 1 || questions > kMostQuestions)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("questions must be between 1 and %d", kMostQuestions),
                    errdetail("The value given was %d.", questions)));
  return questions;
}

}  // namespace

}  // namespace kde_pg

// kde_self_check(density, by_name_only, filter, questions, seed)
KDE_FUNCTION(kde_self_check) {
  using namespace kde_pg;
  check_may_write("kde_self_check()");
  reject_null(fcinfo, 0, "density");
  check_by_name_only(fcinfo, 1);
  const int questions = read_questions(fcinfo, 3);
  kde::Random random(
      static_cast<std::uint64_t>(PG_ARGISNULL(4) ? random_seed() : PG_GETARG_INT64(4)));
  TupleDesc desc;
  Tuplestorestate* rows = begin_rows(fcinfo, 8, &desc);
  const NameParts parts = parts_of_name(PG_GETARG_TEXT_PP(0));
  Relation relation = open_owned_relation(parts.relation);
  const DensityKey key = key_of_parts(parts, text_argument(fcinfo, 2));
  catalog_lock(key);
  const CatalogEntry* entry = catalog_entry(key);
  if (entry == nullptr) raise_not_fitted(key);
  AsOwner owner;
  owner.begin(relation);
  check_readable(entry->key);
  if (const char* why = why_unchecked(relation))
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("cannot check the density of %s", display_name(key)),
                    errdetail("Of table \"%s\" %s.", RelationGetRelationName(relation), why)));
  for (int i = 0; i < questions; ++i) {
    CHECK_FOR_INTERRUPTS();
    SelfCheck check;
    bool asked = false;
    const char* error = nullptr;
    const auto ask = [&] { asked = ask_and_count(*entry, relation, nullptr, &random, i, &check); };
    if (!without_error(ask, nullptr, is_of_values, true, &error)) {
      check.finished = false;
      ereport(WARNING,
              (errmsg("could not check a question of the density of %s", display_name(key)),
               errdetail("The table's rows give an error: %s.", error)));
    } else if (!asked) {
      continue;
    }
    if (check.question != nullptr) self_check_note(entry->id, entry->fitted_at, check);
    put_check(rows, desc, check);
  }
  owner.end();
  relation_close(relation, NoLock);
  return static_cast<Datum>(0);
}

// kde_aqp.self_checks()
KDE_FUNCTION(kde_self_checks) {
  using namespace kde_pg;
  Output out = {};
  out.rows = begin_rows(fcinfo, 10, &out.desc);
  catalog_visit(GetActiveSnapshot(), put_history, &out);
  PG_RETURN_NULL();
}
