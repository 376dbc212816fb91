// Which stretches of a density's blocks changed since its fit, as the active snapshot sees them: those
// with a block that is neither proven to be as it was (proof/proof.h) nor found to hold the rows that
// it held (read/block_hash.h).
// Internal to src/pg/plain_sql.
#pragma once

#include "pg/catalog/cache.h"

namespace kde_pg {

struct ChangedStretches {
  Stretch* stretch = nullptr;
  struct varlena** density =
      nullptr;  // of each that changed; null: there is nothing to be taken out
  int n = 0;

  bool any() const {
    for (int i = 0; i < n; ++i)
      if (stretch[i].changed) return true;
    return false;
  }
};

inline double blocks_of(const Stretch& stretch) {
  return static_cast<double>(stretch.end - stretch.first);
}

// What is kept of the density's, and behind it what came. False: blocks elsewhere changed, too, or
// more than may be read.
bool find_changed_stretches(const CachedDensity& cached, Oid relation, int64 id,
                            ChangedStretches* out);

}  // namespace kde_pg
