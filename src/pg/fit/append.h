// Incremental upkeep: rows that were appended to a table since the last fit are added to the sample
// of that fit, and the bandwidth and the density are made anew from it, without reading the table
// again. For densities of one column whose setting append_by says how rows are appended:
//
//   block      at the end of the table's file: rows beyond the line pointers that were there
//   key:NAME   with ever greater values of the column NAME
//
// A fit of such a density keeps the state of its sampler (append_state.h); an append goes on from
// it and keeps the new one. Where every row was read by the fit, what results is what a fit of all
// rows in the same order, with the same seed, results in, to the last bit. Where blocks were
// sampled, appended blocks are chosen at the same rate: each row of the table still has the same
// chance to be in the sample, and totals are still right on average; the choice is no longer one of
// strata of the whole table.
//
// What makes an append wrong is found by the cumulative statistics, from the fit on: rows that were
// updated or deleted, and rows that were inserted but not found, as they went into free space, came
// with a smaller key, or were not yet committed when the table was read. Then the density is
// fitted anew. As statistics of other sessions arrive late, up to one in kToleratedShare of the
// appended rows may be missing; more rows than the statistics count are no sign of anything.
#pragma once

#include "pg/read/append_state.h"
#include "pg/fit/column_fit.h"

namespace kde_pg {

inline constexpr int kToleratedShare = 100;

// What a fit does to keep its state. Trivially destructible.
class KeepState {
 public:
  // Before the rows are read; append_by: the density's, or null for nothing to do. Locks the
  // leaves, reads how far they go, and makes a fresh snapshot the active one. What cannot be kept
  // is told by a NOTICE, as `name` of the density.
  void begin(Relation relation, const DensityKey& key, const char* append_by, const char* name);
  bool is_on() const { return on_; }
  // What the scan may read, null: everything.
  const HighWater* up_to() const {
    return on_ && state_.mode == AppendMode::block ? &state_.marks : nullptr;
  }
  // After the rows were read: the state to be stored, null: none. Before the sampler is finished.
  bytea* end(const kde::Sampler& sampler, kde::ValueType value_type, const ScanResult& scan);

 private:
  AppendState state_;
  bool on_ = false;
};

struct Appended {
  bool done;           // false: fit it anew
  bool exact;          // every row was read, and the statistics count as many
  int64 rows;          // appended
  const char* reason;  // why not done, or not exact; null: exact
};

// Adds what was appended to the stored density of request.key, and stores the result as a fit does.
// request: as for the fit that else would follow, its seed being that fit's; state: of
// upkeep_sampler(), or null; append_by: the density's. relation: of open_owned_relation(), checked
// by check_kind(). The caller holds the key's lock. *fit is written if done.
Appended append_rows(const ColumnFitRequest& request, Relation relation, const char* append_by,
                     bytea* state, ColumnFit* fit);

}  // namespace kde_pg
