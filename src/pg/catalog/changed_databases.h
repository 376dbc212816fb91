// The databases in which densities were changed, for the refresh launcher: it visits them at its
// next round, however rarely it was until now.
#pragma once

#include "pg/base/pg.h"

namespace kde_pg {

// Notes that densities of this database were changed by the current transaction, for the time when
// it commits. Does nothing without shared memory.
void note_changed_densities();

// The databases noted since the last call, at most kMostNotes of them; -1: more, so take all.
inline constexpr int kMostNotes = 128;
int take_notes(Oid databases[kMostNotes]);

// From _PG_init: in any process, and while shared_preload_libraries are loaded.
void register_note_callbacks();
void request_note_memory();

}  // namespace kde_pg
