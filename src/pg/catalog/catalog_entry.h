// What the catalog has of a density, and its columns.
#pragma once

#include "pg/catalog/density_key.h"
#include "pg/catalog/upkeep.h"
#include "pg/proof/proof.h"

extern "C" {
#include "access/transam.h"
#include "storage/itemptr.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"
#include "utils/tuplestore.h"
}

namespace kde_pg {

// Tells a version of a row from every other: while a version can be seen, no other takes its place
// in the file, and what comes there later is another transaction's (unless all transaction numbers
// have come round between two looks).
struct RowVersion {
  Oid file;  // of the catalog; VACUUM FULL and TRUNCATE give it a new one
  ItemPointerData tid;
  TransactionId xmin;  // as inserted, also when frozen since
};

// A density as found in the catalog.
struct StoredDensity {
  struct varlena* value = nullptr;  // detoasted, palloc'ed; null: there is none
  RowVersion version;
  int64 id = 0;  // ties it to its row of kde_aqp.upkeep
  TimestampTz fitted_at = 0;
  Proof proof;  // palloc'ed
  // In the density's order, then its measures and what its groups are by; palloc'ed.
  ArrayType* column_names = nullptr;
  const char* settings = nullptr;  // DensityKey::settings
  const char* model = nullptr;     // FitRecord::model
};

// Settings of a density; negative: the option's.
struct RefreshSettings {
  bool enabled = true;
  double scale_factor = -1;
  int64 threshold = -1;
  double max_age = -1;  // seconds; 0: any age will do
  // Whether plain SQL may be answered by it (plain_sql/), which refreshes have no part in.
  bool plain_sql = false;
  // Its owner's consent to answers as of a time, in plain SQL, where rows may have changed since:
  // so many seconds ago at most. Negative: none.
  double plain_sql_age = -1;
};

// How many rows may change before what holds `rows` is stale.
struct ChangeLimit {
  double threshold, scale_factor;

  double of(double rows) const { return threshold + scale_factor * rows; }
};
ChangeLimit change_limit(const RefreshSettings& settings);

// Of FitRequest::sample_rows: every row that the scan reads counts.
inline constexpr int64 kAllRowsRead = 0;

// How a fit was asked for, as far as it is not in the density: what a refresh asks for again.
struct FitRequest {
  const char* method;
  bool exact;         // of one column
  int64 sample_rows;  // -1: every row of the table; kAllRowsRead
  bool seed_given;    // a refresh then takes the same
  int64 seed;
  double max_error;   // of one column: of counts of 1 % of the rows; 0: none is asked for
  const char* alias;  // a name of the density's own; null: the one it has
  int32 bytes;  // kde_aqp.density_bytes as session or role had set it; 0: as the server has it
  const char* steps;  // of a column of numbers: kde::parse_steps(); null: its type's
  // What gives it, of one that was stored as a value, or kNoRefresh; null: the table's rows.
  const char* query;
};

// The query of a value that nothing gives anew.
inline constexpr char kNoRefresh[] = "";

// A density of a relation, without its value.
struct CatalogEntry {
  DensityKey key;  // without analysed trees
  TimestampTz fitted_at;
  ItemPointerData tid;
  int64 id;
  double cost_ms;  // of the fit
  FitRequest request;
  RefreshSettings settings;
  Proof proof;                 // noted at the fit
  bool has_stretches;          // plain SQL reads what changed beside it (stretches.h)
  ArrayType* fitted;           // as_fitted.h; null: not known
  struct KnownDensity* known;  // plain_sql/known_densities.h; null: it was read for one look
};

// What is stored beside a density; see the table's definition.
struct FitRecord {
  struct varlena* density;
  FitRequest request;  // its seed is the one used
  int64 rows_read;
  double design_effect;  // kde::Sample::design_effect
  int64 bandwidth_rows;
  const char* bandwidth_status;  // null: the method searches nothing
  const char* model;             // kde::FitReport::model; null: the method is the model
  const char* engine;            // of the pair sums; null: none were needed
  int threads;                   // in them; 1: none were needed
  double scan_ms, select_ms, estimate_ms;
  // Of several columns: H, a double precision[][] (null: none), and the points that are stored.
  ArrayType* bandwidth_matrix;
  int64 stored_rows;  // 0: does not apply
  Proof proof;        // of the rows that were read
  List* stretches;    // KeptStretch*, to be stored (stretches.h); NIL: none are kept
  uint64 hash_seed;   // theirs
  // For kde_aqp.upkeep: the table's statistics before the rows were read.
  Counters counters;
  double table_rows;
};

// The columns of the catalog and of kde_aqp.density, as the install script has them. Those of the
// key are the first.
enum class CatalogColumn {
  relation = 1,
  column_names,
  attribute_numbers,
  filter,
  reference_names,
  reference_numbers,
  density,
  requested_method,
  requested_exact,
  requested_sample_rows,
  seed,
  rows_read,
  design_effect,
  bandwidth_rows,
  bandwidth_status,
  model,
  engine,
  threads,
  scan_ms,
  select_ms,
  estimate_ms,
  bandwidth_matrix,
  stored_rows,
  fitted_at,
  id,
  requested_seed,
  refresh_enabled,
  refresh_scale_factor,
  refresh_threshold,
  refresh_max_age,
  requested_error,
  measures,
  groups,
  alias,
  plain_sql,
  refresh_query,
  plain_sql_age,
  as_fitted,
  as_of,
  requested_bytes,
  requested_steps,
  proof,
  hash_seed
};
inline constexpr int kCatalogColumns = static_cast<int>(CatalogColumn::hash_seed);

}  // namespace kde_pg
