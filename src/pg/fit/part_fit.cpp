// Fits by parts: which changed, the fit of each of them, and their sum by nodes (parts.h).
#include "pg/fit/part_fit.h"

#include "pg/aggregate/aggregate_state.h"
#include "pg/base/fault.h"
#include "pg/base/options.h"
#include "pg/catalog/parts.h"
#include "pg/fit/column_fit.h"
#include "pg/fit/fit_log.h"
#include "pg/type/density_datum.h"

extern "C" {
#include "access/xact.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/rel.h"
}

#include <algorithm>

namespace kde_pg {

namespace {

// What all parts of a density take, about, and one of them at least.
constexpr Size kBytesOfParts = Size{4} << 20;
constexpr Size kLeastPartBytes = 4096;
// A part's variance is estimated from its own blocks.
constexpr int64 kLeastPartBlocks = 128;

// The parts of a table, in the order of their numbers.
struct Parts {
  KeptPart** item;
  int count;
  int read;              // of them, fitted anew
  double live;           // rows, by the statistics
  Settings settings;     // of each density
  Size bytes;            // of each density at most
  MemoryContext memory;  // of the densities
};

bool same_settings(const Settings& a, const Settings& b) {
  return a.type == b.type && a.method == b.method && a.measures == b.measures &&
         std::equal(a.measure_type, a.measure_type + a.measures, b.measure_type);
}

const kde::Header* header_of(struct varlena* density) {
  return density_from_datum(PointerGetDatum(density), nullptr);
}

bool is_unchanged(const KeptPart& kept, const Counters& now) {
  return kept.counters.known && now.known && changed_rows(kept.counters, now) == 0 &&
         expression_changed(kept.counters.generated, now.generated) == nullptr;
}

int compare_by_part(const ListCell* a, const ListCell* b) {
  const int64 x = static_cast<const KeptPart*>(lfirst(a))->part;
  const int64 y = static_cast<const KeptPart*>(lfirst(b))->part;
  return x < y ? -1 : x > y ? 1 : 0;
}

// Whether what is kept is of densities as they are wanted now: a column's type may have changed.
bool is_of(List* kept, const Settings& settings) {
  ListCell* cell;
  foreach (cell, kept) {
    const auto* part = static_cast<const KeptPart*>(lfirst(cell));
    if (part->density != nullptr)
      return same_settings(settings_of(*header_of(part->density), settings.bytes), settings);
  }
  return true;
}

// What is kept, but for the table's parts.
struct KeptParts {
  List* gone = NIL;   // parts that are no more
  List* nodes = NIL;  // sums
};

// The parts of a table with what is kept of them. wanted[i]: whether the i-th has to be fitted.
KeptParts match_parts(List* leaves, List* kept, bool* wanted, Parts* parts) {
  KeptParts out;
  list_sort(kept, compare_by_part);
  list_sort(leaves, list_oid_cmp);
  int k = 0;
  const auto at = [&] { return static_cast<KeptPart*>(list_nth(kept, k)); };
  for (; k < list_length(kept) && at()->part == kWholeNode; ++k)
    out.nodes = lappend(out.nodes, at());
  ListCell* cell;
  foreach (cell, leaves) {
    const Oid leaf = lfirst_oid(cell);
    for (; k < list_length(kept) && at()->part < static_cast<int64>(leaf); ++k)
      out.gone = lappend(out.gone, at());
    KeptPart* part = nullptr;
    if (k < list_length(kept) && at()->part == static_cast<int64>(leaf)) {
      part = at();
      ++k;
    }
    // The planner is asked of those alone that are read: who puts a table beneath another, or takes
    // it away, changes that one's rows.
    const Counters now =
        read_counters(leaf, AskPlanner::no, part != nullptr ? &part->counters : nullptr);
    wanted[parts->count] = part == nullptr || !is_unchanged(*part, now);
    if (part == nullptr) {
      part = static_cast<KeptPart*>(palloc0(sizeof(KeptPart)));
      part->part = leaf;
      part->node = -1;
    }
    part->counters = wanted[parts->count] ? read_counters(leaf) : now;
    parts->live += static_cast<double>(part->counters.live());
    parts->item[parts->count++] = part;
  }
  for (; k < list_length(kept); ++k) out.gone = lappend(out.gone, at());
  return out;
}

// Each part has its share of the blocks, by its rows where they are known.
int64 blocks_of(const Parts& parts, const KeptPart& part) {
  const double share =
      parts.live > 0 ? static_cast<double>(part.counters.live()) / parts.live : 1.0 / parts.count;
  return Max(kLeastPartBlocks, static_cast<int64>(share * option_sample_blocks));
}

// Of a part without values its NULLs, or null.
Datum density_of_nulls(const Settings& settings, double nulls, MemoryContext context) {
  AggregateState* state = new_state(context, settings);
  if (nulls > 0) state->summary.add_null(nulls);
  return finish_state(*state);
}

void fit_part(const DensityRequest& request, Relation relation, const ColumnTypes& types,
              const Parts& parts, int number, KeptPart* part) {
  PartRequest wanted;
  wanted.leaf = static_cast<Oid>(part->part);
  wanted.blocks = blocks_of(parts, *part);
  wanted.bytes = parts.bytes;
  wanted.seed = request.asked.seed ^ static_cast<int64>(static_cast<uint64>(number) << 20);
  const PartFit made = fit_leaf(request, relation, types, wanted);
  MemoryContext caller = MemoryContextSwitchTo(parts.memory);
  const Datum density = made.density != 0 ? datumCopy(made.density, false, -1)
                        : made.nulls > 0
                            ? density_of_nulls(parts.settings, made.nulls, parts.memory)
                            : 0;
  part->density = reinterpret_cast<struct varlena*>(DatumGetPointer(density));
  if (made.elsewhere && !part->counters.has_beneath()) part->counters.known = false;
  MemoryContextSwitchTo(caller);
}

// The sum of densities; null where there is none.
class Sum {
 public:
  Sum(const Settings& settings, MemoryContext memory) : settings_(settings), memory_(memory) {}
  void add(struct varlena* density) {
    if (density == nullptr) return;
    if (state_ == nullptr) state_ = new_state(memory_, settings_);
    MemoryContext each =
        AllocSetContextCreate(CurrentMemoryContext, "kde_aqp part", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(each);
    merge_density(state_, header_of(density));
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(each);
  }
  struct varlena* finish() const {
    if (state_ == nullptr) return nullptr;
    return reinterpret_cast<struct varlena*>(DatumGetPointer(finish_state(*state_)));
  }

 private:
  const Settings& settings_;
  MemoryContext memory_;
  AggregateState* state_ = nullptr;
};

// Gives parts that have none a node: the first that has room.
void assign_nodes(const Parts& parts, int* nodes) {
  int* members = static_cast<int*>(palloc0(sizeof(int) * (*nodes + parts.count + 1)));
  for (int i = 0; i < parts.count; ++i)
    if (parts.item[i]->node >= 0) ++members[parts.item[i]->node];
  int next = 0;
  for (int i = 0; i < parts.count; ++i) {
    KeptPart* part = parts.item[i];
    if (part->node >= 0) continue;
    while (members[next] >= kPartsPerNode) ++next;
    part->node = next;
    ++members[next];
    *nodes = Max(*nodes, next + 1);
  }
}

// Adds up the parts, node by node; of nodes in which nothing changed what is kept of them.
// node[k]: of number k, or null.
struct varlena* add_up(const Parts& parts, const bool* changed, KeptPart** node, int nodes) {
  Sum all(parts.settings, parts.memory);
  for (int k = 0; k < nodes; ++k) {
    CHECK_FOR_INTERRUPTS();
    if (changed[k]) {
      Sum sum(parts.settings, parts.memory);
      for (int i = 0; i < parts.count; ++i)
        if (parts.item[i]->node == k) sum.add(parts.item[i]->density);
      if (node[k] == nullptr) {
        node[k] = static_cast<KeptPart*>(palloc0(sizeof(KeptPart)));
        node[k]->node = k;
        node[k]->part = kWholeNode;
      }
      node[k]->density = sum.finish();
    }
    all.add(node[k]->density);
  }
  return all.finish();
}

}  // namespace

void check_incremental(const DensityRequest& request) {
  const char* what = request.key.columns > 1  ? "several columns"
                     : request.key.groups > 0 ? "groups"
                                              : nullptr;
  int32 typmod;
  kde::ValueType type;
  if (what == nullptr && value_type_of(key_column_type(request.key, 0, &typmod), &type) &&
      type == kde::ValueType::category)
    what = "categories";
  if (what != nullptr)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("densities of %s cannot be incremental", what),
                    errdetail("They are not added up.")));
  const FitRequest& asked = request.asked;
  const char* option = asked.sample_rows > 0                     ? "sample_rows"
                       : asked.max_error > 0                     ? "max_relative_error"
                       : asked.exact                             ? "exact"
                       : request.kernel != kde::Kernel::gaussian ? "kernel"
                                                                 : nullptr;
  if (option != nullptr)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("%s is not for incremental densities", option),
                    errhint("sample_rows => -1 reads every row of each part.")));
}

int64 store_value(const DensityRequest& request, const Counters& counters, Datum density,
                  const char* model, double scan_ms, DensityFit* fit) {
  const kde::Header* header = density_from_datum(density, nullptr);
  *fit = {};
  FitRecord& record = fit->record;
  record.density = reinterpret_cast<struct varlena*>(DatumGetPointer(density));
  record.request = request.asked;
  record.counters = counters;
  record.scan_ms = scan_ms;
  record.threads = 1;
  record.model = model;
  record.rows_read = static_cast<int64>(Min(header->sample_rows, 0x1p62));
  for (const auto& shape : header->count_variance)
    record.design_effect = Max(record.design_effect, static_cast<double>(shape[0]));
  record.table_rows = table_rows(request.key, counters, header->rows + header->nulls);
  describe_density(header, fit);
  progress_phase(Phase::storing);
  return catalog_store(request.key, record, request.locked);
}

void fit_by_parts(const DensityRequest& request, Relation relation, DensityFit* fit) {
  const DensityKey& key = request.key;
  check_incremental(request);
  const ColumnTypes types = check_types(key);
  instr_time begun;
  INSTR_TIME_SET_CURRENT(begun);
  progress_begin(key, request.operation);
  if (request.locked == nullptr) catalog_lock(key);
  KDE_FAULT("fit.locked");
  instr_time start;
  INSTR_TIME_SET_CURRENT(start);
  Counters counters = read_counters(RelationGetRelid(relation));

  List* leaves = leaf_relations(relation, key);
  Parts parts = {};
  parts.item = static_cast<KeptPart**>(palloc(sizeof(KeptPart*) * (list_length(leaves) + 1)));
  parts.settings = {types.value_type[0], read_column_method(request.asked.method),
                    static_cast<int32>(kde::kMaxBytes), key.measures};
  std::copy_n(types.value_type + 1, key.measures, parts.settings.measure_type);
  bool renew = request.locked == nullptr || request.every_part;
  List* kept = renew ? NIL : parts_of(request.locked->entry->id);
  if (!is_of(kept, parts.settings)) {
    kept = NIL;
    renew = true;
  }
  parts.memory =
      AllocSetContextCreate(CurrentMemoryContext, "kde_aqp parts", ALLOCSET_DEFAULT_SIZES);
  bool* wanted = static_cast<bool*>(palloc0(sizeof(bool) * (list_length(leaves) + 1)));
  const KeptParts of_before = match_parts(leaves, kept, wanted, &parts);
  parts.bytes = Max(kLeastPartBytes, Min(kBytesOfParts / Max(parts.count, 1), kde::kMaxBytes));

  int nodes = 0;
  ListCell* cell;
  foreach (cell, kept) nodes = Max(nodes, static_cast<KeptPart*>(lfirst(cell))->node + 1);
  assign_nodes(parts, &nodes);
  KeptPart** node = static_cast<KeptPart**>(palloc0(sizeof(KeptPart*) * (nodes + 1)));
  bool* changed = static_cast<bool*>(palloc0(sizeof(bool) * (nodes + 1)));
  foreach (cell, of_before.nodes) {
    auto* whole = static_cast<KeptPart*>(lfirst(cell));
    node[whole->node] = whole;
  }
  foreach (cell, of_before.gone) changed[static_cast<KeptPart*>(lfirst(cell))->node] = true;
  for (int k = 0; k < nodes; ++k) changed[k] = changed[k] || node[k] == nullptr;

  for (int i = 0; i < parts.count; ++i) {
    KeptPart* part = parts.item[i];
    if (!wanted[i]) continue;
    fit_part(request, relation, types, parts, i, part);
    changed[part->node] = true;
    ++parts.read;
  }
  KDE_FAULT("fit.scanned");
  struct varlena* sum = add_up(parts, changed, node, nodes);
  if (sum == nullptr || !(header_of(sum)->rows > 0))
    raise_nothing_to_fit(relation, key, "The parts of the table have no values.");
  KDE_FAULT("fit.estimated");

  const char* model = psprintf("%d parts, %d of them read", parts.count, parts.read);
  const int64 id =
      store_value(request, counters, PointerGetDatum(sum), model, elapsed_ms(start), fit);
  if (renew) parts_remove(id);
  for (int i = 0; i < parts.count; ++i)
    if (wanted[i]) part_store(id, parts.item[i]);
  foreach (cell, of_before.gone) part_remove(*static_cast<KeptPart*>(lfirst(cell)));
  for (int k = 0; k < nodes; ++k) {
    if (changed[k]) part_store(id, node[k]);
  }
  CommandCounterIncrement();
  progress_end();
  log_long_fit(key, fit->record, fit->sample_rows, begun);
  MemoryContextDelete(parts.memory);
}

}  // namespace kde_pg
