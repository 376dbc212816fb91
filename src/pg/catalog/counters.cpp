// Rows changed between two readings of the cumulative statistics, and how readings are stored.
#include "pg/catalog/counters.h"

#include <algorithm>

extern "C" {
#include "common/int.h"
}

namespace kde_pg {

namespace {

constexpr int kNumbers = sizeof(LeafCounters) / sizeof(int64);

// Rows of a leaf, as many as there are of the relation that was asked about.
int64 in_rows(const LeafCounters& leaf, int64 rows) {
  int64 out;
  if (pg_mul_s64_overflow(rows, Max(leaf.rows_each, INT64CONST(1)), &out)) return PG_INT64_MAX / 4;
  return out;
}

// Whether a counter fell by more than what had not been sent.
bool began_anew(int64 then, int64 unsent, int64 now) { return now < then - unsent; }

// What a counter has grown by; one that began anew, from 0.
int64 growth(int64 then, int64 unsent, int64 now) {
  return began_anew(then, unsent, now) ? now : Max(now - then, INT64CONST(0));
}

bool began_anew(const LeafCounters& then, const LeafCounters& now) {
  return began_anew(then.inserts, then.unsent_inserts, now.inserts) ||
         began_anew(then.updates, then.unsent_updates, now.updates) ||
         began_anew(then.deletes, then.unsent_deletes, now.deletes);
}

int64 changed_in(const LeafCounters& then, const LeafCounters& now) {
  const bool anew = began_anew(then, now);
  const int64 inserts = growth(then.inserts, then.unsent_inserts, now.inserts);
  const int64 deletes = growth(then.deletes, then.unsent_deletes, now.deletes);
  int64 changed = inserts + growth(then.updates, then.unsent_updates, now.updates) + deletes;
  if (now.file == then.file) return changed;
  if (now.counted < 0) return changed + then.live;
  // A session's TRUNCATE and INSERT in quick succession leave `live` too high, and after the
  // counters began anew it says nothing.
  const int64 live = anew ? now.counted : Min(now.live, now.counted);
  changed += Max(then.live + (anew ? 0 : inserts - deletes) - live, INT64CONST(0));
  return changed;
}

}  // namespace

int64 Counters::live() const {
  int64 sum = 0;
  for (int i = 0; i < leaves; ++i) sum += in_rows(leaf[i], leaf[i].live);
  return sum;
}

bool Counters::has_beneath() const {
  return std::any_of(leaf, leaf + leaves, [](const LeafCounters& l) { return l.rows_each > 0; });
}

LeafCounters sum_of_leaves(Oid number, const Counters& counters) {
  LeafCounters sum = {};
  sum.relation = number;
  for (int i = 0; i < counters.leaves; ++i) {
    const LeafCounters& leaf = counters.leaf[i];
    sum.file += leaf.file;
    sum.inserts += leaf.inserts;
    sum.updates += leaf.updates;
    sum.deletes += leaf.deletes;
    sum.live += leaf.live;
    sum.counted = leaf.counted < 0 || sum.counted < 0 ? -1 : sum.counted + leaf.counted;
  }
  return sum;
}

void count_elsewhere(Counters* counters) {
  *counters = {};
  counters->elsewhere = true;
  counters->why = "queries do not read the table itself";
  counters->tell = true;
}

int64 changed_rows(const Counters& then, const Counters& now) {
  int64 changed = 0;
  int i = 0, j = 0;
  while (i < then.leaves || j < now.leaves) {
    const bool first =
        j == now.leaves || (i < then.leaves && then.leaf[i].relation < now.leaf[j].relation);
    const bool second =
        i == then.leaves || (j < now.leaves && now.leaf[j].relation < then.leaf[i].relation);
    if (first) {
      changed += in_rows(then.leaf[i], then.leaf[i].live);
      ++i;
    } else if (second) {
      changed += in_rows(now.leaf[j], now.leaf[j].live);
      ++j;
    } else {
      changed += in_rows(then.leaf[i], changed_in(then.leaf[i], now.leaf[j]));
      ++i;
      ++j;
    }
  }
  return changed;
}

ArrayType* counters_to_array(const Counters& counters) {
  if (counters.elsewhere) {
    Datum zero = Int64GetDatum(0);
    return construct_array(&zero, 1, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
  }
  if (!counters.known) return nullptr;
  const int rows = counters.leaves + counters.generated.count;
  Datum* values = static_cast<Datum*>(palloc(sizeof(Datum) * (rows * kNumbers + 1)));
  Datum* at = values;
  const auto put = [&at](const LeafCounters& row) {
    int64 numbers[kNumbers];
    memcpy(numbers, &row, sizeof row);
    for (const int64 number : numbers) *at++ = Int64GetDatum(number);
  };
  for (int i = 0; i < counters.leaves; ++i) put(counters.leaf[i]);
  for (int i = 0; i < counters.generated.count; ++i) {
    const GeneratedColumn& column = counters.generated.column[i];
    put({0, column.relation, column.attnum, column.expression, 0, 0, 0, 0, 0, 0, 0});
  }
  int dims[2] = {rows, kNumbers};
  int lower[2] = {1, 1};
  return construct_md_array(values, nullptr, rows > 0 ? 2 : 0, dims, lower, INT8OID, sizeof(int64),
                            FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
}

Counters counters_from_array(ArrayType* array) {
  Counters out;
  if (array == nullptr || ARR_ELEMTYPE(array) != INT8OID || ARR_HASNULL(array)) return out;
  out.elsewhere = ARR_NDIM(array) == 1;
  if (ARR_NDIM(array) != 0 && (ARR_NDIM(array) != 2 || ARR_DIMS(array)[1] != kNumbers)) return out;
  out.known = true;
  const int rows = ARR_NDIM(array) == 0 ? 0 : ARR_DIMS(array)[0];
  out.leaf = static_cast<LeafCounters*>(palloc0(sizeof(LeafCounters) * (rows + 1)));
  GeneratedColumns& generated = out.generated;
  generated.column = static_cast<GeneratedColumn*>(palloc0(sizeof(GeneratedColumn) * (rows + 1)));
  const char* at = ARR_DATA_PTR(array);
  for (int i = 0; i < rows; ++i, at += sizeof(LeafCounters)) {
    LeafCounters& leaf = out.leaf[out.leaves];
    memcpy(&leaf, at, sizeof leaf);
    if (leaf.relation != 0)
      ++out.leaves;
    else
      generated.column[generated.count++] = {static_cast<Oid>(leaf.file),
                                             static_cast<AttrNumber>(leaf.inserts), leaf.updates};
  }
  return out;
}

}  // namespace kde_pg
