// Densities a backend keeps at hand, so that an answer by name costs microseconds.
//
// An entry is a row version of the catalog, and the row itself tells who may use it: the first
// answer of every statement looks whether the statement's snapshot sees that version still (one
// buffer of the catalog; the density itself is not read). So an answer is never of another state
// than the statement's other rows: not of an old one between another's commit and its invalidation,
// not of what was rolled back, on a standby, or under an old snapshot, which loads the version that
// it sees. Writers need not tell anybody, and a fit costs no session the densities that it did not
// touch.
//
// A version is known by its place, its inserter and the catalog's file, so that neither VACUUM nor
// VACUUM FULL can put another one in its place unnoticed.
//
// Least recently used entries go first when kde_aqp.cache_size is exceeded.
#pragma once

#include "pg/catalog/catalog.h"
#include "pg/catalog/stale_answers.h"

namespace kde_pg {

// The stored density of a column, or of a key, as the active snapshot sees it, or null. Valid until
// the next call or the end of the statement's row, whichever is first: copy what must live longer.
// One that was fitted to something else than its key means now (as_fitted.h) is an error with
// Tell::as_asked, as is one under other settings than the session's; with Tell::nothing the former
// is null, and the latter's settings are left to the caller.
// *fit: where it is put what check_stale() returned, if there is a density.
struct CachedDensity {
  const struct varlena* value;  // null: there is none
  kde::BlockSums sums;          // of one column
  // In the density's order, then its measures; null of a column by itself that has none.
  ArrayType* column_names;
  const char* settings;  // those it was fitted under (as_fitted.h): its STABLE parts'; "": none
  Proof proof;
  RowVersion version;
  struct CacheHolders* holders;
};
CachedDensity cached_density(TableColumn column, AnsweringFit* fit = nullptr,
                             Tell how = Tell::as_asked);
CachedDensity cached_density(const DensityKey& key, AnsweringFit* fit = nullptr,
                             Tell how = Tell::as_asked);
// Its value and what belongs to it, just asked for, then stay until the current memory context ends,
// whatever else is asked for.
void hold(const CachedDensity& density);

}  // namespace kde_pg
