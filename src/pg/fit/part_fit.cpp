// Fits by parts: which changed, the fit of each of them, and their sum by nodes (parts.h).
#include "pg/fit/part_fit.h"

#include "pg/aggregate/aggregate_state.h"
#include "pg/base/fault.h"
#include "pg/base/options.h"
#include "pg/base/pinned.h"
#include "pg/catalog/density_name.h"
#include "pg/catalog/parts.h"
#include "pg/catalog/privileges.h"
#include "pg/catalog/read_counters.h"
#include "pg/catalog/shards.h"
#include "pg/fit/column_fit.h"
#include "pg/fit/fit_log.h"
#include "pg/type/density_datum.h"

extern "C" {
#include "access/relation.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
}

#include <algorithm>

namespace kde_pg {

namespace {

// What all parts of a density take, about, and one of them at least.
constexpr Size kBytesOfParts = Size{4} << 20;
constexpr Size kBytesOfShards = Size{512} << 10;  // they travel
constexpr Size kLeastPartBytes = 4096;
// A part's variance is estimated from its own blocks.
constexpr int64 kLeastPartBlocks = 128;

// The parts of a table, in the order of their numbers.
struct Parts {
  KeptPart** item;
  bool* read;  // of each, whether it was fitted anew
  int count;
  Settings settings;  // of each density
  MemoryContext memory;
};

Settings settings_of_parts(const DensityRequest& request, const ColumnTypes& types) {
  Settings out = {types.value_type[0], read_column_method(request.asked.method),
                  static_cast<int32>(kde::kMaxBytes), request.key.measures};
  std::copy_n(types.value_type + 1, request.key.measures, out.measure_type);
  return out;
}

bool same_settings(const Settings& a, const Settings& b) {
  return a.type == b.type && a.method == b.method && a.measures == b.measures &&
         std::equal(a.measure_type, a.measure_type + a.measures, b.measure_type);
}

const kde::Header* header_of(struct varlena* density) {
  return density_from_datum(PointerGetDatum(density), nullptr);
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

// Whether the same rows may give other values, or others pass the filter, at another time.
bool is_of_its_time(const DensityKey& key) {
  bool is = contain_mutable_functions(key.condition);
  for (int i = 0; i < key.all(); ++i)
    is = is || contain_mutable_functions(key.column[i].expression);
  return is;
}

// The parts of a table with what is kept of them, which are sorted by their numbers.
KeptParts match_parts(List* numbers, List* kept, Parts* parts) {
  KeptParts out;
  list_sort(kept, compare_by_part);
  int k = 0;
  const auto at = [&] { return static_cast<KeptPart*>(list_nth(kept, k)); };
  for (; k < list_length(kept) && at()->part == kWholeNode; ++k)
    out.nodes = lappend(out.nodes, at());
  ListCell* cell;
  foreach (cell, numbers) {
    const int64 number = *static_cast<int64*>(lfirst(cell));
    for (; k < list_length(kept) && at()->part < number; ++k) out.gone = lappend(out.gone, at());
    KeptPart* part = nullptr;
    if (k < list_length(kept) && at()->part == number) {
      part = at();
      ++k;
    } else {
      part = static_cast<KeptPart*>(palloc0(sizeof(KeptPart)));
      part->part = number;
      part->node = -1;
    }
    parts->item[parts->count++] = part;
  }
  for (; k < list_length(kept); ++k) out.gone = lappend(out.gone, at());
  return out;
}

// Of a part without values its NULLs.
Datum density_of_nulls(const Settings& settings, double nulls) {
  AggregateState* state = new_state(CurrentMemoryContext, settings);
  if (nulls > 0) state->summary.add_null(nulls);
  return finish_state(*state);
}

// In the current memory context; null where the part has no row.
struct varlena* density_of(const PartFit& made, const Settings& settings) {
  const Datum density = made.density != 0 ? made.density
                        : made.nulls > 0  ? density_of_nulls(settings, made.nulls)
                                          : 0;
  return reinterpret_cast<struct varlena*>(DatumGetPointer(density));
}

Size bytes_of_each(Size all, int parts) {
  return Max(kLeastPartBytes, Min(all / Max(parts, 1), kde::kMaxBytes));
}

// ------------------------------------------------------------------------------- leaves of a tree

List* leaf_numbers(Relation relation, const DensityKey& key) {
  List* leaves = leaf_relations(relation, key);
  list_sort(leaves, list_oid_cmp);
  List* out = NIL;
  ListCell* cell;
  foreach (cell, leaves) {
    auto* number = static_cast<int64*>(palloc(sizeof(int64)));
    *number = lfirst_oid(cell);
    out = lappend(out, number);
  }
  return out;
}

// Fits those that changed, or came.
void fit_leaves(const DensityRequest& request, Relation relation, const ColumnTypes& types,
                Parts* parts) {
  auto* live = static_cast<double*>(palloc(sizeof(double) * (parts->count + 1)));
  double all_live = 0;
  for (int i = 0; i < parts->count; ++i) {
    live[i] = static_cast<double>(
        read_counters(static_cast<Oid>(parts->item[i]->part), AskPlanner::no).live());
    all_live += live[i];
  }
  PartRequest wanted;
  wanted.bytes = bytes_of_each(kBytesOfParts, parts->count);
  wanted.least_blocks = kLeastPartBlocks;
  for (int i = 0; i < parts->count; ++i) {
    KeptPart* part = parts->item[i];
    wanted.leaf = static_cast<Oid>(part->part);
    // Under an old snapshot rows may be there that it does not see.
    if (!IsolationUsesXactSnapshot() &&
        is_unchanged(wanted.leaf, part->proof, RelationGetRelid(relation)))
      continue;
    wanted.seed = request.asked.seed ^ static_cast<int64>(static_cast<uint64>(i) << 20);
    // Each has its share of the blocks, by its rows where they are known.
    const double share = all_live > 0 ? live[i] / all_live : 1.0 / parts->count;
    wanted.blocks = Max(kLeastPartBlocks, static_cast<int64>(share * option_sample_blocks));
    const PartFit made = fit_leaf(request, relation, types, wanted);
    part->density = density_of(made, parts->settings);
    part->proof = made.proof;
    note_definition(RelationGetRelid(relation), columns_read_by(request.key), &part->proof);
    parts->read[i] = true;
  }
}

// ---------------------------------------------------------------------------------------- shards

// The call that a shard's node answers, for run_on_shards().
const char* shard_call(const DensityRequest& request, const Parts& parts) {
  const DensityKey& key = request.key;
  const auto literal = [](ArrayType* names) {
    return names == nullptr
               ? "NULL"
               : quote_literal_cstr(OidOutputFunctionCall(F_ARRAY_OUT, PointerGetDatum(names)));
  };
  DensityKey columns = key;
  columns.measures = columns.groups = 0;
  return psprintf(
      "kde_aqp.kde_send(kde_aqp.shard_density(" KDE_SHARD ", %s, %s, %s, %s, %s, %lld, %d, %lld))",
      literal(column_names_of(columns)), literal(measures_of(key)),
      key.has_filter() ? quote_literal_cstr(key.filter) : "NULL",
      quote_literal_cstr(request.asked.method), request.asked.sample_rows == -1 ? "true" : "false",
      static_cast<long long>(Max(kLeastPartBlocks, option_sample_blocks / Max(parts.count, 1))),
      static_cast<int>(bytes_of_each(kBytesOfShards, parts.count)),
      static_cast<long long>(request.asked.seed));
}

struct varlena* receive_density(struct varlena* bytes) {
  if (bytes == nullptr) return nullptr;
  Oid function, parameter;
  getTypeBinaryInputInfo(
      get_atttype(catalog_oid(), static_cast<AttrNumber>(CatalogColumn::density)), &function,
      &parameter);
  StringInfoData message;
  initStringInfo(&message);
  appendBinaryStringInfo(&message, VARDATA_ANY(bytes), static_cast<int>(VARSIZE_ANY_EXHDR(bytes)));
  const Datum density = OidReceiveFunctionCall(function, &message, parameter, -1);
  pfree(message.data);
  return reinterpret_cast<struct varlena*>(DatumGetPointer(density));
}

// The same of shards, which their nodes fit. *counters: of all, a leaf each.
void fit_shards(const DensityRequest& request, Relation relation, Parts* parts,
                Counters* counters) {
  AsOwner owner;
  owner.begin(relation);
  bool any_kept = false;
  List* all = NIL;
  for (int i = 0; i < parts->count; ++i) {
    any_kept = any_kept || parts->item[i]->row != nullptr;
    all = lappend(all, &parts->item[i]->part);
  }
  List* wanted = NIL;
  List* now = any_kept ? run_on_shards(relation, all, nullptr) : NIL;
  for (int i = 0; i < parts->count; ++i) {
    KeptPart* part = parts->item[i];
    if (any_kept &&
        is_untouched(part->counters, static_cast<ShardResult*>(list_nth(now, i))->counters))
      continue;
    parts->read[i] = true;
    wanted = lappend(wanted, &part->part);
  }
  List* results =
      wanted == NIL ? NIL : run_on_shards(relation, wanted, shard_call(request, *parts));
  owner.end();
  counters->known = counters->of_shards = true;
  counters->leaf = static_cast<LeafCounters*>(palloc0(sizeof(LeafCounters) * (parts->count + 1)));
  ListCell* result = list_head(results);
  for (int i = 0; i < parts->count; ++i) {
    KeptPart* part = parts->item[i];
    if (parts->read[i]) {
      const auto* made = static_cast<const ShardResult*>(lfirst(result));
      part->density = receive_density(made->value);
      part->counters = made->counters;
      result = lnext(results, result);
    }
    if (!part->counters.known) counters->known = false;
    counters->leaf[counters->leaves++] =
        sum_of_leaves(static_cast<Oid>(part->part), part->counters);
  }
}

// The sum of densities; null where there is none.
class Sum {
 public:
  Sum(const Settings& settings, MemoryContext memory) : settings_(settings), memory_(memory) {}
  void add(struct varlena* density) {
    if (density == nullptr) return;
    if (state_ == nullptr) state_ = new_state(memory_, settings_);
    add_density(memory_, state_, header_of(density));
  }
  struct varlena* finish() const {
    if (state_ == nullptr) return nullptr;
    merge_waiting(state_);
    return reinterpret_cast<struct varlena*>(DatumGetPointer(finish_state(*state_)));
  }

 private:
  const Settings& settings_;
  MemoryContext memory_;
  AggregateState* state_ = nullptr;
};

// The nodes of parts, their sums and whether a part of theirs changed.
struct Nodes {
  KeptPart** item;
  bool* changed;
  int count;
};

// Gives parts that have no node the first that has room.
void assign_nodes(const Parts& parts, int* count) {
  int* members = static_cast<int*>(palloc0(sizeof(int) * (*count + parts.count + 1)));
  for (int i = 0; i < parts.count; ++i)
    if (parts.item[i]->node >= 0) ++members[parts.item[i]->node];
  int next = 0;
  for (int i = 0; i < parts.count; ++i) {
    KeptPart* part = parts.item[i];
    if (part->node >= 0) continue;
    while (members[next] >= kPartsPerNode) ++next;
    part->node = next;
    ++members[next];
    *count = Max(*count, next + 1);
  }
}

Nodes nodes_of(const Parts& parts, List* kept, const KeptParts& of_before) {
  Nodes nodes = {};
  ListCell* cell;
  foreach (cell, kept)
    nodes.count = Max(nodes.count, static_cast<KeptPart*>(lfirst(cell))->node + 1);
  assign_nodes(parts, &nodes.count);
  nodes.item = static_cast<KeptPart**>(palloc0(sizeof(KeptPart*) * (nodes.count + 1)));
  nodes.changed = static_cast<bool*>(palloc0(sizeof(bool) * (nodes.count + 1)));
  foreach (cell, of_before.nodes) {
    auto* whole = static_cast<KeptPart*>(lfirst(cell));
    nodes.item[whole->node] = whole;
  }
  foreach (cell, of_before.gone) nodes.changed[static_cast<KeptPart*>(lfirst(cell))->node] = true;
  for (int i = 0; i < parts.count; ++i)
    if (parts.read[i]) nodes.changed[parts.item[i]->node] = true;
  for (int k = 0; k < nodes.count; ++k) {
    if (nodes.item[k] != nullptr) continue;
    nodes.item[k] = static_cast<KeptPart*>(palloc0(sizeof(KeptPart)));
    nodes.item[k]->node = k;
    nodes.item[k]->part = kWholeNode;
    nodes.changed[k] = true;
  }
  return nodes;
}

// Adds up the parts, node by node; of nodes in which nothing changed what is kept of them.
struct varlena* add_up(const Parts& parts, Nodes* nodes) {
  Sum all(parts.settings, parts.memory);
  for (int k = 0; k < nodes->count; ++k) {
    CHECK_FOR_INTERRUPTS();
    if (nodes->changed[k]) {
      Sum sum(parts.settings, parts.memory);
      for (int i = 0; i < parts.count; ++i)
        if (parts.item[i]->node == k) sum.add(parts.item[i]->density);
      nodes->item[k]->density = sum.finish();
    }
    all.add(nodes->item[k]->density);
  }
  return all.finish();
}

void keep_parts(int64 id, const Parts& parts, const KeptParts& of_before, const Nodes& nodes) {
  for (int i = 0; i < parts.count; ++i)
    if (parts.read[i]) part_store(id, parts.item[i]);
  ListCell* cell;
  foreach (cell, of_before.gone) part_remove(*static_cast<KeptPart*>(lfirst(cell)));
  for (int k = 0; k < nodes.count; ++k)
    if (nodes.changed[k]) part_store(id, nodes.item[k]);
  CommandCounterIncrement();
}

// Null, or of what densities are that are not added up.
const char* why_not_added_up(const DensityRequest& request) {
  if (request.key.columns > 1) return "several columns";
  if (request.key.groups > 0) return "groups";
  int32 typmod;
  kde::ValueType type;
  const bool is_category = value_type_of(key_column_type(request.key, 0, &typmod), &type) &&
                           type == kde::ValueType::category;
  return is_category ? "categories" : nullptr;
}

// Null, or an option that has no meaning for parts.
const char* option_not_of_parts(const DensityRequest& request) {
  const FitRequest& asked = request.asked;
  return asked.sample_rows > 0                     ? "sample_rows"
         : asked.max_error > 0                     ? "max_relative_error"
         : asked.exact                             ? "exact"
         : request.kernel != kde::Kernel::gaussian ? "kernel"
                                                   : nullptr;
}

}  // namespace

void check_incremental(const DensityRequest& request) {
  if (const char* what = why_not_added_up(request))
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("densities of %s cannot be incremental", what),
                    errdetail("They are not added up."), errhint("Leave incremental out.")));
  if (const char* option = option_not_of_parts(request))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("%s is not for incremental densities", option),
                    errhint("sample_rows => -1 reads every row of each part.")));
}

int64 store_value(const DensityRequest& request, const Counters& counters, const Proof& proof,
                  Datum density, const char* model, double scan_ms, DensityFit* fit) {
  const kde::Header* header = density_from_datum(density, nullptr);
  *fit = {};
  FitRecord& record = fit->record;
  record.density = reinterpret_cast<struct varlena*>(DatumGetPointer(density));
  record.request = request.asked;
  record.counters = counters;
  record.proof = proof;
  record.scan_ms = scan_ms;
  record.threads = 1;
  record.model = model;
  record.rows_read = static_cast<int64>(Min(header->sample_rows, 0x1p62));
  for (const auto& shape : header->count_variance)
    record.design_effect = Max(record.design_effect, static_cast<double>(shape[0]));
  record.table_rows = table_rows(request.key, counters, -1, header->rows + header->nulls);
  describe_density(header, fit);
  progress_phase(Phase::storing);
  return catalog_store(request.key, record, request.locked);
}

bool is_read_by_shard(const DensityRequest& request) {
  return why_not_added_up(request) == nullptr && option_not_of_parts(request) == nullptr &&
         is_of_shards(request.key.relation);
}

const char* fit_by_parts(const DensityRequest& request, Relation relation, DensityFit* fit) {
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
  MemoryContext memory =
      AllocSetContextCreate(CurrentMemoryContext, "kde_aqp parts", ALLOCSET_DEFAULT_SIZES);
  MemoryContext caller = MemoryContextSwitchTo(memory);

  const bool of_shards = is_of_shards(RelationGetRelid(relation));
  // Before the parts are listed: one that comes or goes meanwhile is another leaf to it.
  MemoryContextSwitchTo(caller);
  Proof proof = note_proof(RelationGetRelid(relation));
  MemoryContextSwitchTo(memory);
  // Before the parts are listed: one that is attached meanwhile counts as changed since.
  Counters counters;
  if (!of_shards) counters = read_counters(RelationGetRelid(relation));
  List* numbers = of_shards ? shards_of(RelationGetRelid(relation)) : leaf_numbers(relation, key);
  Parts parts = {};
  parts.item = static_cast<KeptPart**>(palloc(sizeof(KeptPart*) * (list_length(numbers) + 1)));
  parts.read = static_cast<bool*>(palloc0(sizeof(bool) * (list_length(numbers) + 1)));
  parts.memory = memory;
  parts.settings = settings_of_parts(request, types);
  bool renew = request.locked == nullptr || request.every_part || is_of_its_time(key);
  List* kept = renew ? NIL : parts_of(request.locked->entry->id);
  if (renew || !is_of(kept, parts.settings)) {
    kept = NIL;
    renew = true;
  }
  const KeptParts of_before = match_parts(numbers, kept, &parts);
  if (of_shards) {
    fit_shards(request, relation, &parts, &counters);
  } else {
    fit_leaves(request, relation, types, &parts);
  }
  KDE_FAULT("fit.scanned");

  Nodes nodes = nodes_of(parts, kept, of_before);
  struct varlena* sum = add_up(parts, &nodes);
  if (sum == nullptr || !(header_of(sum)->rows > 0)) {
    progress_end();
    MemoryContextSwitchTo(caller);
    return key.has_filter() ? "Its parts have no values that the filter accepts."
                            : "Its parts have no values.";
  }
  KDE_FAULT("fit.estimated");

  for (int i = 0; i < parts.count && !of_shards; ++i)
    if (!parts.item[i]->proof.known) proof = unproven(Unproven::by_parts, proof);
  const int read = static_cast<int>(std::count(parts.read, parts.read + parts.count, true));
  const char* model = psprintf("%d %s%s, %d read", parts.count, of_shards ? "shard" : "part",
                               parts.count == 1 ? "" : "s", read);
  MemoryContextSwitchTo(caller);
  const int64 id =
      store_value(request, counters, proof, PointerGetDatum(sum), model, elapsed_ms(start), fit);
  if (request.asked.incremental) {
    if (renew) parts_remove(id);
    keep_parts(id, parts, of_before, nodes);
  }
  progress_end();
  log_long_fit(key, fit->record, fit->sample_rows, begun);
  return nullptr;
}

}  // namespace kde_pg

// kde_aqp.shard_counters(regclass) -> bigint[]
KDE_EXPORT(kde_shard_counters);
Datum kde_shard_counters(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  Counters counters = read_counters(PG_GETARG_OID(0));
  note_columns(&counters);
  ArrayType* array = counters_to_array(counters);
  if (array == nullptr) PG_RETURN_NULL();
  PG_RETURN_ARRAYTYPE_P(array);
}

// kde_aqp.shard_density(relation, column, measures, filter, method, every_row, blocks, bytes, seed)
KDE_EXPORT(kde_shard_density);
Datum kde_shard_density(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  for (const int required : {0, 1, 4, 5, 6, 7, 8}) reject_null(fcinfo, required, "argument");
  const Oid oid = PG_GETARG_OID(0);
  DensityRequest request;
  request.key = key_by_arrays(oid, PG_GETARG_ARRAYTYPE_P(1), text_argument(fcinfo, 3),
                              measures_argument(fcinfo, 2), nullptr);
  request.asked = {};
  request.asked.method = text_to_cstring(PG_GETARG_TEXT_PP(4));
  request.asked.sample_rows = PG_GETARG_BOOL(5) ? -1 : kAllRowsRead;
  check_incremental(request);
  check_readable(request.key);
  PartRequest part;
  part.as_owner = false;
  part.blocks = Max(PG_GETARG_INT64(6), INT64CONST(1));
  part.bytes = static_cast<Size>(Max(Min(PG_GETARG_INT32(7), static_cast<int32>(kde::kMaxBytes)),
                                     static_cast<int32>(kLeastPartBytes)));
  // Shards that were filled alike must not give the same blocks.
  part.seed = PG_GETARG_INT64(8) ^ static_cast<int64>(static_cast<uint64>(oid) << 20);
  Relation relation = try_relation_open(oid, AccessShareLock);
  if (relation == nullptr)
    ereport(ERROR,
            (errcode(ERRCODE_UNDEFINED_TABLE), errmsg("relation with OID %u does not exist", oid)));
  check_kind(relation);
  check_readable(request.key);
  const ColumnTypes types = check_types(request.key);
  progress_begin(request.key, request.operation);
  const PartFit made = fit_leaf(request, relation, types, part);
  progress_end();
  relation_close(relation, NoLock);
  struct varlena* density = density_of(made, settings_of_parts(request, types));
  if (density == nullptr) PG_RETURN_NULL();
  PG_RETURN_POINTER(density);
}
