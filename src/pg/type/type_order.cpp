// Equality, order and hash of the type `kde`: those of its stored bytes (core/density/format.h)
// without the length word, decompressed, as of a bytea.
//
// Two values are equal if they were stored alike to the last bit: then they answer every question
// alike. Other bytes may stand for the same distribution (another origin, another kind, -0 for 0,
// the same rows read in another order): those are different values. Any other rule would make equal
// what answers differently in the last digits. The order means nothing; it is there to sort by, as
// DISTINCT, GROUP BY and merges do, by the operator classes kde_ops.
#include "pg/base/pg.h"

extern "C" {
#include "access/detoast.h"
#include "common/hashfn.h"
}

#include <algorithm>
#include <cstring>

namespace {

struct varlena* bytes_of(FunctionCallInfo fcinfo, int argument) {
  return PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(argument));
}

// Indexes call these for many values in one memory context.
void free_copy(FunctionCallInfo fcinfo, int argument, struct varlena* bytes) {
  if (reinterpret_cast<Pointer>(bytes) != DatumGetPointer(PG_GETARG_DATUM(argument))) pfree(bytes);
}

int compare(FunctionCallInfo fcinfo) {
  struct varlena* a = bytes_of(fcinfo, 0);
  struct varlena* b = bytes_of(fcinfo, 1);
  const Size a_size = VARSIZE_ANY_EXHDR(a);
  const Size b_size = VARSIZE_ANY_EXHDR(b);
  const int order = std::memcmp(VARDATA_ANY(a), VARDATA_ANY(b), std::min(a_size, b_size));
  free_copy(fcinfo, 0, a);
  free_copy(fcinfo, 1, b);
  if (order != 0) return order;
  return a_size < b_size ? -1 : a_size > b_size;
}

// Values of different lengths differ, which is known without fetching what is toasted.
bool equal(FunctionCallInfo fcinfo) {
  return toast_raw_datum_size(PG_GETARG_DATUM(0)) == toast_raw_datum_size(PG_GETARG_DATUM(1)) &&
         compare(fcinfo) == 0;
}

}  // namespace

KDE_EXPORT(kde_eq);
Datum kde_eq(PG_FUNCTION_ARGS) { PG_RETURN_BOOL(equal(fcinfo)); }  // =
KDE_EXPORT(kde_ne);
Datum kde_ne(PG_FUNCTION_ARGS) { PG_RETURN_BOOL(!equal(fcinfo)); }  // <>
KDE_EXPORT(kde_lt);
Datum kde_lt(PG_FUNCTION_ARGS) { PG_RETURN_BOOL(compare(fcinfo) < 0); }  // <
KDE_EXPORT(kde_le);
Datum kde_le(PG_FUNCTION_ARGS) { PG_RETURN_BOOL(compare(fcinfo) <= 0); }  // <=
KDE_EXPORT(kde_gt);
Datum kde_gt(PG_FUNCTION_ARGS) { PG_RETURN_BOOL(compare(fcinfo) > 0); }  // >
KDE_EXPORT(kde_ge);
Datum kde_ge(PG_FUNCTION_ARGS) { PG_RETURN_BOOL(compare(fcinfo) >= 0); }  // >=
KDE_EXPORT(kde_cmp);
Datum kde_cmp(PG_FUNCTION_ARGS) { PG_RETURN_INT32(compare(fcinfo)); }

// kde_hash(kde) -> integer.
KDE_EXPORT(kde_hash);
Datum kde_hash(PG_FUNCTION_ARGS) {
  struct varlena* bytes = bytes_of(fcinfo, 0);
  const Datum hash = hash_any(reinterpret_cast<const unsigned char*>(VARDATA_ANY(bytes)),
                              static_cast<int>(VARSIZE_ANY_EXHDR(bytes)));
  free_copy(fcinfo, 0, bytes);
  return hash;
}

// kde_hash_extended(kde, seed bigint) -> bigint; with seed 0 its low 32 bits are kde_hash()'s.
KDE_EXPORT(kde_hash_extended);
Datum kde_hash_extended(PG_FUNCTION_ARGS) {
  struct varlena* bytes = bytes_of(fcinfo, 0);
  const Datum hash = hash_any_extended(reinterpret_cast<const unsigned char*>(VARDATA_ANY(bytes)),
                                       static_cast<int>(VARSIZE_ANY_EXHDR(bytes)),
                                       static_cast<uint64>(PG_GETARG_INT64(1)));
  free_copy(fcinfo, 0, bytes);
  return hash;
}
