// Which stretches of a density's blocks changed since its fit, as the active snapshot sees them: those
// with a block that is neither proven to be as it was (proof/proof.h) nor found to hold the rows that
// it held (block_hash.h).
#pragma once

#include "pg/catalog/stretches.h"

namespace kde_pg {

inline double blocks_of(const Stretch& stretch) {
  return static_cast<double>(stretch.end - stretch.first);
}

// All of a density's stretches, and what came behind them and in other leaves.
struct ChangedStretches {
  Stretch* stretch = nullptr;
  int* number = nullptr;  // of each among those kept; -1: what came
  int n = 0;
  uint64 leaves = 0;     // that there are, as a set
  bool are_all = false;  // each block of then is in one that is kept
  double unread = 0;     // blocks, where those are more than may be read

  bool is_kept(int i) const { return number[i] >= 0; }
  // Of what came the whole is one.
  bool is_new(int i) const { return stretch[i].changed && number[i] < 0; }
  // It changed, and what it had is kept.
  bool is_changed(int i) const { return stretch[i].changed && number[i] >= 0; }
  bool any() const {
    for (int i = 0; i < n; ++i)
      if (stretch[i].changed) return true;
    return false;
  }
};

// What became of rows that only moved, from some blocks to others.
enum class Moved { changed, unchanged };

// kept: of a density that has that proof. most: blocks that are read for it. False: blocks elsewhere
// changed, too, or more than those.
bool find_changed(Oid relation, const Proof& proof, const StretchReader& kept, double most,
                  Moved moved, ChangedStretches* out);

}  // namespace kde_pg
