// What this backend is doing to a density, for kde_progress, error contexts and the server's log.
//
// It lies in shared memory of our own (progress_shared.h). Costs some ten nanoseconds a report;
// with track_activities off, nothing is shown.
#pragma once

#include "pg/catalog/density_key.h"
#include "pg/progress/progress_shared.h"

#include "core/kde.h"

namespace kde_pg {

const char* operation_name(Operation operation);
const char* phase_name(Phase phase);  // as in kde_progress
const char* unit_name(Unit unit);     // null: none

// Begins, waiting for its lock; to be ended by progress_end() or an error, which ends it by itself.
// Until then errors and messages say in their context what was being done, to what and in which
// phase. May be nested: the innermost is shown.
void progress_begin(const DensityKey& key, Operation operation);
// The same of work on an array, which is of no relation and says nothing in contexts.
void progress_begin(Operation operation, Phase phase);
void progress_end();

// The rest does nothing where nothing has begun.

// total: of the unit; 0: not known.
void progress_phase(Phase phase, Unit unit = Unit::none, int64 total = 0);
// So many of the total, not below what was said before. Cheap enough for every block.
void progress_done(int64 done);
// So many more: of this process or, in a parallel worker, of its leader.
void progress_add(int64 done);
// Whether a card computes the sums, and the pairs that all of them are expected to take (0: not
// known), which what comes corrects.
void progress_sums(bool on_device, int64 pairs);

// From _PG_init: in any process, and while shared_preload_libraries are loaded.
void register_progress_callbacks();
void request_progress_memory();

}  // namespace kde_pg
