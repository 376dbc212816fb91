// Access to kde_aqp.self_check by its primary key. The layout here is that of the install script.
#include "pg/catalog/self_checks.h"

#include "pg/catalog/catalog.h"
#include "pg/catalog/extension_lock.h"

extern "C" {
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/indexing.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

#include <algorithm>
#include <cmath>
#include <limits>

namespace kde_pg {

namespace {

enum Column {
  kDensityId = 1,
  kNumber,
  kCheckedAt,
  kQuestion,
  kEstimate,
  kLowerBound,
  kUpperBound,
  kExact,
  kHeld,
  kMs,
  kColumns = kMs
};

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

struct Row {
  int64 number;
  TimestampTz at;
  SelfCheck check;
};

Row read_row(HeapTuple tuple, TupleDesc desc) {
  bool is_null;
  const auto get = [&](int column) { return heap_getattr(tuple, column, desc, &is_null); };
  const auto number = [&](int column) {
    const Datum value = get(column);
    return is_null ? kNone : DatumGetFloat8(value);
  };
  Row row;
  row.number = DatumGetInt64(get(kNumber));
  row.at = DatumGetTimestampTz(get(kCheckedAt));
  SelfCheck* check = &row.check;
  check->question = TextDatumGetCString(get(kQuestion));
  check->answer = {number(kEstimate), number(kLowerBound), number(kUpperBound)};
  check->exact = number(kExact);
  const Datum held = get(kHeld);
  check->finished = !is_null;
  check->held = check->finished && DatumGetBool(held);
  check->ms = number(kMs);
  return row;
}

// Calls visit(tuple) for the rows of a density.
template <typename Visit>
void for_checks(Relation checks, int64 density_id, Snapshot snapshot, Visit visit) {
  ScanKeyData key;
  ScanKeyInit(&key, kDensityId, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(density_id));
  SysScanDesc scan = systable_beginscan(checks, key_index_of(checks), true, snapshot, 1, &key);
  HeapTuple tuple;
  while (HeapTupleIsValid(tuple = systable_getnext(scan))) visit(tuple);
  systable_endscan(scan);
}

void insert(Relation checks, int64 density_id, int64 number, const SelfCheck& check) {
  Datum values[kColumns] = {};
  bool nulls[kColumns] = {};
  const auto put = [&](Column c, Datum value) { values[c - 1] = value; };
  const auto put_number = [&](Column c, double x) {
    put(c, Float8GetDatum(x));
    nulls[c - 1] = std::isnan(x);
  };
  put(kDensityId, Int64GetDatum(density_id));
  put(kNumber, Int64GetDatum(number));
  put(kCheckedAt, TimestampTzGetDatum(GetCurrentTimestamp()));
  put(kQuestion, CStringGetTextDatum(check.question));
  put_number(kEstimate, check.answer.estimate);
  put_number(kLowerBound, check.answer.lower);
  put_number(kUpperBound, check.answer.upper);
  put_number(kExact, check.finished ? check.exact : kNone);
  put(kHeld, BoolGetDatum(check.held));
  nulls[kHeld - 1] = !check.finished;
  put_number(kMs, check.ms);
  CatalogTupleInsert(checks, heap_form_tuple(RelationGetDescr(checks), values, nulls));
}

}  // namespace

double SelfCheck::error() const {
  if (!finished || exact == 0 || std::isnan(exact) || std::isnan(answer.estimate)) return kNone;
  return std::fabs(answer.estimate - exact) / std::fabs(exact);
}

double SelfCheck::beyond() const {
  if (!finished || held) return 0;
  constexpr double kFar = std::numeric_limits<double>::infinity();
  const double half = answer.upper / 2 - answer.lower / 2;
  const double outside = std::max(exact - answer.upper, answer.lower - exact);
  return half > 0 && std::isfinite(outside) ? outside / half : kFar;
}

void SelfCheckCounts::add(const SelfCheck& check, TimestampTz at) {
  if (at >= last) last_unfinished = !check.finished;
  last = std::max(last, at);
  if (!check.finished) {
    ++unfinished;
    return;
  }
  ++checks;
  if (check.held) ++held;
  if (check.beyond() > 1) ++far;
  const double error = check.error();
  if (std::isnan(error)) return;
  ++errors;
  error_sum += error;
  worst_error = std::max(worst_error, error);
}

Relation open_self_checks(LOCKMODE lock) {
  Relation checks = open_own_table(checks_oid_or_invalid, lock);
  if (RelationGetNumberOfAttributes(checks) != kColumns) raise_other_version();
  return checks;
}

SelfCheckHistory self_check_history(int64 density_id, TimestampTz fitted_at, Snapshot snapshot) {
  SelfCheckHistory out;
  // Unlogged tables cannot be read there.
  if (RecoveryInProgress()) return out;
  Relation checks = open_self_checks(AccessShareLock);
  int64 before = 0, last = 0;
  for_checks(checks, density_id, snapshot, [&](HeapTuple tuple) {
    const Row row = read_row(tuple, RelationGetDescr(checks));
    out.all.add(row.check, row.at);
    last = std::max(last, row.number);
    if (row.at >= fitted_at) {
      out.since_fit.add(row.check, row.at);
    } else {
      before = std::max(before, row.number);
    }
  });
  out.asked = last - before;
  table_close(checks, AccessShareLock);
  return out;
}

void self_check_note(int64 density_id, TimestampTz fitted_at, const SelfCheck& check) {
  Relation checks = open_self_checks(RowExclusiveLock);
  Snapshot latest = RegisterSnapshot(GetLatestSnapshot());
  int64 last = 0;
  // By their numbers, as the index has them: the oldest first.
  int others = 0;
  ItemPointerData oldest = {};
  for_checks(checks, density_id, latest, [&](HeapTuple tuple) {
    const Row row = read_row(tuple, RelationGetDescr(checks));
    last = std::max(last, row.number);
    if (row.at >= fitted_at && strcmp(row.check.question, check.question) == 0) {
      CatalogTupleDelete(checks, &tuple->t_self);
    } else if (others++ == 0) {
      oldest = tuple->t_self;
    }
  });
  if (others >= kMostSelfChecks) CatalogTupleDelete(checks, &oldest);
  UnregisterSnapshot(latest);
  insert(checks, density_id, last + 1, check);
  table_close(checks, NoLock);
  CommandCounterIncrement();
}

void self_checks_remove(int64 density_id) {
  Relation checks = open_self_checks(RowExclusiveLock);
  Snapshot latest = RegisterSnapshot(GetLatestSnapshot());
  bool any = false;
  for_checks(checks, density_id, latest, [&](HeapTuple tuple) {
    CatalogTupleDelete(checks, &tuple->t_self);
    any = true;
  });
  UnregisterSnapshot(latest);
  table_close(checks, NoLock);
  if (any) CommandCounterIncrement();
}

}  // namespace kde_pg
