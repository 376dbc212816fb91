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
#include "pg/fit/road.h"
#include "pg/fit/store.h"
#include "pg/read/leaves.h"
#include "pg/type/density_datum.h"

#include <algorithm>

namespace kde_pg {

namespace {

// What all parts of a density take, about, and one of them at least.
constexpr Size kBytesOfParts = Size{32} << 20;
constexpr Size kBytesOfShards = Size{8} << 20;  // they travel
constexpr Size kLeastPartBytes = 16384;
// A node's finer cells are as those of a part: it is read whenever another one has changed.
constexpr Size kFinerBytesOfNode = 32768;
// A part's variance is estimated from its own blocks.
constexpr int64 kLeastPartBlocks = 128;

// The parts of a table, by their numbers, and what else is kept: lists of KeptPart*.
struct Parts {
  List* all = NIL;
  List* gone = NIL;   // parts that are no more
  List* nodes = NIL;  // sums
};

KeptPart* part_at(const List* parts, int i) { return static_cast<KeptPart*>(list_nth(parts, i)); }

KeptPart* new_part(int64 number, int32 node) {
  auto* part = new (palloc(sizeof(KeptPart))) KeptPart;
  part->part = number;
  part->node = node;
  return part;
}

Settings settings_of_parts(const DensityRequest& request) {
  const ColumnTypes types = check_types(request.key);
  Settings out = {types.value_type[0], chain_of(request.key, request.asked),
                  read_column_method(request.asked.method), request.asked.bytes,
                  request.key.measures};
  std::copy_n(types.value_type + 1, request.key.measures, out.measure_type);
  out.grouped = request.key.groups > 0;
  return out;
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
  for (const KeptPart* part : of_list<const KeptPart>(kept)) {
    if (part->density != nullptr)
      return settings_of(*header_of(part->density), settings.bytes) == settings;
  }
  return true;
}

// Whether the same rows may give other values, or others pass the filter, at another time.
bool is_of_its_time(const DensityKey& key) {
  bool is = contain_mutable_functions(key.condition);
  for (int i = 0; i < key.all(); ++i)
    is = is || contain_mutable_functions(key.column[i].expression);
  return is;
}

// The parts of those numbers, which ascend, with what is kept of them.
Parts match_parts(List* numbers, List* kept) {
  Parts out;
  list_sort(kept, compare_by_part);
  int k = 0;
  const auto take_below = [&](int64 number, List** into) {
    for (; k < list_length(kept) && part_at(kept, k)->part < number; ++k)
      *into = lappend(*into, part_at(kept, k));
  };
  take_below(kWholeNode + 1, &out.nodes);
  for (int64* item : of_list<int64>(numbers)) {
    const int64 number = *item;
    take_below(number, &out.gone);
    const bool is_kept = k < list_length(kept) && part_at(kept, k)->part == number;
    out.all = lappend(out.all, is_kept ? part_at(kept, k++) : new_part(number, -1));
  }
  take_below(PG_INT64_MAX, &out.gone);
  return out;
}

// The density of a part, in the current memory context; null where it has no row.
struct varlena* fit_part(const DensityRequest& request, Relation relation,
                         const ScanOptions& options, Proof* proof) {
  Road road;
  road.begin(request);
  road.read(relation, options, false);
  *proof = road.scan().proof;
  Datum density = 0;
  if (road.nothing_to_fit() == nullptr) {
    road.fit();
    density = density_to_datum(road.estimate().density());
  } else if (const double nulls = road.estimate().nulls_read(); nulls > 0) {
    AggregateState* state = new_state(CurrentMemoryContext, settings_of_parts(request));
    state->cells->add_null(nulls * road.scan().rows_per_row_read);
    density = finish_state(*state);
  }
  road.end();
  return reinterpret_cast<struct varlena*>(DatumGetPointer(density));
}

Size bytes_of_each(Size all, int parts, const FitRequest& asked) {
  return Max(kLeastPartBytes, Min(all / Max(parts, 1), density_bytes(asked)));
}

// ------------------------------------------------------------------------------- leaves of a tree

List* leaf_numbers(Relation relation, const DensityKey& key) {
  List* leaves = leaf_relations(relation, key);
  list_sort(leaves, list_oid_cmp);
  List* out = NIL;
  for (const Oid oid : oids(leaves)) {
    auto* number = static_cast<int64*>(palloc(sizeof(int64)));
    *number = oid;
    out = lappend(out, number);
  }
  return out;
}

// Fits those that changed, or came.
void fit_leaves(const DensityRequest& request, Relation relation, const Parts& parts) {
  const int count = list_length(parts.all);
  auto* live = static_cast<double*>(palloc(sizeof(double) * (count + 1)));
  double all_live = 0;
  for (int i = 0; i < count; ++i) {
    const auto leaf = static_cast<Oid>(part_at(parts.all, i)->part);
    live[i] = static_cast<double>(read_counters(leaf, AskPlanner::no).live());
    all_live += live[i];
  }
  DensityRequest own = request;
  own.bytes = bytes_of_each(kBytesOfParts, count, request.asked);
  for (int i = 0; i < count; ++i) {
    KeptPart* part = part_at(parts.all, i);
    const auto leaf = static_cast<Oid>(part->part);
    // Under an old snapshot rows may be there that it does not see.
    if (!IsolationUsesXactSnapshot() && is_unchanged(leaf, part->proof, RelationGetRelid(relation)))
      continue;
    own.asked.seed = request.asked.seed ^ static_cast<int64>(static_cast<uint64>(i) << 20);
    // Each has its share of the blocks, by its rows where they are known.
    const double share = all_live > 0 ? live[i] / all_live : 1.0 / count;
    ScanOptions options =
        scan_options(own, Max(kLeastPartBlocks, static_cast<int64>(share * option_sample_blocks)));
    options.leaf = leaf;
    options.least_blocks = kLeastPartBlocks;
    part->density = fit_part(own, relation, options, &part->proof);
    note_definition(RelationGetRelid(relation), columns_read_by(request.key), &part->proof);
    part->changed = true;
  }
}

// ---------------------------------------------------------------------------------------- shards

// The call that a shard's node answers, for run_on_shards().
const char* shard_call(const DensityRequest& request, int shards) {
  const DensityKey& key = request.key;
  const auto literal = [](ArrayType* names) {
    return names == nullptr
               ? "NULL"
               : quote_literal_cstr(OidOutputFunctionCall(F_ARRAY_OUT, PointerGetDatum(names)));
  };
  DensityKey columns = key;
  columns.measures = columns.groups = 0;
  return psprintf(
      "kde_aqp.kde_send(kde_aqp.shard_density(" KDE_SHARD
      ", %s, %s, %s, %s, %s, %lld, %d, %lld, %s))",
      literal(column_names_of(columns)), literal(measures_of(key)),
      key.has_filter() ? quote_literal_cstr(key.filter) : "NULL",
      quote_literal_cstr(request.asked.method), request.asked.sample_rows == -1 ? "true" : "false",
      static_cast<long long>(Max(kLeastPartBlocks, option_sample_blocks / Max(shards, 1))),
      static_cast<int>(bytes_of_each(kBytesOfShards, shards, request.asked)),
      static_cast<long long>(request.asked.seed),
      request.asked.steps != nullptr ? quote_literal_cstr(request.asked.steps) : "NULL");
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
void fit_shards(const DensityRequest& request, Relation relation, const Parts& parts,
                Counters* counters) {
  AsOwner owner;
  owner.begin(relation);
  bool any_kept = false;
  List* all = NIL;
  ListCell* cell;
  for (KeptPart* part : of_list<KeptPart>(parts.all)) {
    any_kept = any_kept || part->row != nullptr;
    all = lappend(all, &part->part);
  }
  List* wanted = NIL;
  List* now = any_kept ? run_on_shards(relation, all, nullptr) : NIL;
  foreach (cell, parts.all) {
    auto* part = static_cast<KeptPart*>(lfirst(cell));
    part->changed =
        !any_kept ||
        !is_untouched(
            part->counters,
            static_cast<ShardResult*>(list_nth(now, foreach_current_index(cell)))->counters);
    if (part->changed) wanted = lappend(wanted, &part->part);
  }
  List* results =
      wanted == NIL ? NIL : run_on_shards(relation, wanted, shard_call(request, list_length(all)));
  owner.end();
  counters->known = counters->of_shards = true;
  counters->leaf =
      static_cast<LeafCounters*>(palloc0(sizeof(LeafCounters) * (list_length(all) + 1)));
  ListCell* result = list_head(results);
  for (KeptPart* part : of_list<KeptPart>(parts.all)) {
    if (part->changed) {
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

// ------------------------------------------------------------------------------------ their sum

// Null where no part has a density. finer: as of finish_state().
struct varlena* sum_of(List* parts, const Settings& settings, Size finer) {
  AggregateState* state = nullptr;
  for (KeptPart* item : of_list<KeptPart>(parts)) {
    struct varlena* density = item->density;
    if (density == nullptr) continue;
    if (state == nullptr) state = new_state(CurrentMemoryContext, settings);
    add_density(state, header_of(density));
  }
  if (state == nullptr) return nullptr;
  merge_waiting(state);
  return reinterpret_cast<struct varlena*>(DatumGetPointer(finish_state(*state, finer)));
}

// Gives parts that have no node the first that has room. Which parts each has: *count lists.
List** members_of_nodes(const Parts& parts, int* count) {
  *count = 0;
  for (const List* kept : {parts.all, parts.gone, parts.nodes})
    for (int i = 0; i < list_length(kept); ++i) *count = Max(*count, part_at(kept, i)->node + 1);
  const int most = *count + list_length(parts.all) + 1;
  auto* rows = static_cast<int*>(palloc0(sizeof(int) * most));
  auto** members = static_cast<List**>(palloc0(sizeof(List*) * most));
  for (int i = 0; i < list_length(parts.all); ++i)
    if (part_at(parts.all, i)->node >= 0) ++rows[part_at(parts.all, i)->node];
  int next = 0;
  for (int i = 0; i < list_length(parts.all); ++i) {
    KeptPart* part = part_at(parts.all, i);
    if (part->node < 0) {
      while (rows[next] >= kPartsPerNode) ++next;
      part->node = next;
      ++rows[next];
      *count = Max(*count, next + 1);
    }
    members[part->node] = lappend(members[part->node], part);
  }
  return members;
}

// Adds up the parts, node by node; of nodes in which nothing changed what is kept of them.
struct varlena* add_up(const Settings& settings, Parts* parts) {
  int count;
  List** members = members_of_nodes(*parts, &count);
  auto** node = static_cast<KeptPart**>(palloc0(sizeof(KeptPart*) * (count + 1)));
  for (KeptPart* whole : of_list<KeptPart>(parts->nodes)) {
    node[whole->node] = whole;
  }
  parts->nodes = NIL;
  for (int k = 0; k < count; ++k) {
    if (node[k] == nullptr) {
      node[k] = new_part(kWholeNode, k);
      node[k]->changed = true;
    }
    parts->nodes = lappend(parts->nodes, node[k]);
  }
  for (KeptPart* item : of_list<KeptPart>(parts->gone)) node[item->node]->changed = true;
  for (const KeptPart* part : of_list<const KeptPart>(parts->all)) {
    if (part->changed) node[part->node]->changed = true;
  }
  for (int k = 0; k < count; ++k) {
    CHECK_FOR_INTERRUPTS();
    if (node[k]->changed)
      node[k]->density = sum_of(members[k], settings, count > 1 ? kFinerBytesOfNode : 0);
  }
  return count == 1 ? node[0]->density : sum_of(parts->nodes, settings, 0);
}

void keep_parts(int64 id, const Parts& parts) {
  for (KeptPart* entry : of_list<KeptPart>(parts.gone)) part_remove(*entry);
  for (List* kept : {parts.all, parts.nodes}) {
    for (KeptPart* part : of_list<KeptPart>(kept)) {
      if (part->changed) part_store(id, part);
    }
  }
  CommandCounterIncrement();
}

// "", or what groups there are; tells by a NOTICE of those that have none by themselves.
const char* groups_text(const kde::Header& density) {
  if (density.grouped == 0) return "";
  const kde::GroupsHeader& h = kde::GroupsView(&density).header();
  if (h.rest == 0) return psprintf(", %u groups", h.groups);
  ereport(NOTICE, (errmsg("%u or more groups share one density", h.rest),
                   errdetail("They have fewer rows than the others, in all parts or in one.")));
  return psprintf(", %u groups, and %u or more that share one density", h.groups - 1, h.rest);
}

// Null, or of what densities are that are not added up.
const char* why_not_added_up(const DensityRequest& request) {
  return request.key.columns > 1       ? "several columns"
         : is_category(request.key, 0) ? "categories"
                                       : nullptr;
}

// Null, or an option that has no meaning for parts.
const char* option_not_of_parts(const DensityRequest& request) {
  const FitRequest& asked = request.asked;
  return asked.sample_rows > 0 ? "sample_rows"
         : asked.max_error > 0 ? "max_relative_error"
         : asked.exact         ? "exact"
                               : nullptr;
}

}  // namespace

void check_incremental(const DensityRequest& request) {
  if (const char* what = why_not_added_up(request))
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("densities of %s cannot be incremental", what),
                    errdetail("They are not added up."), errhint("Leave incremental out.")));
  if (request.key.groups > 0 && is_of_shards(request.key.relation))
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("densities with groups of a table in shards cannot be incremental"),
                    errhint("Leave incremental out.")));
  if (request.key.groups > 0 && request.asked.sample_rows != -1)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("densities with groups are incremental where every row is read"),
                    errhint("Pass sample_rows => -1, or leave incremental out.")));
  if (const char* option = option_not_of_parts(request))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("%s is not for incremental densities", option),
                    errhint("sample_rows => -1 reads every row of each part.")));
}

bool is_read_by_shard(const DensityRequest& request) {
  return why_not_added_up(request) == nullptr && request.key.groups == 0 &&
         option_not_of_parts(request) == nullptr && is_of_shards(request.key.relation);
}

const char* fit_by_parts(const DensityRequest& request, Relation relation, DensityFit* fit) {
  const DensityKey& key = request.key;
  check_incremental(request);
  const Settings settings = settings_of_parts(request);
  instr_time begun;
  INSTR_TIME_SET_CURRENT(begun);
  begin_to_store(request);
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
  bool renew = request.locked == nullptr || request.every_part || is_of_its_time(key);
  List* kept = renew ? NIL : parts_of(request.locked->entry->id);
  if (renew || !is_of(kept, settings)) {
    kept = NIL;
    renew = true;
  }
  Parts parts = match_parts(numbers, kept);
  if (of_shards) {
    fit_shards(request, relation, parts, &counters);
  } else {
    fit_leaves(request, relation, parts);
  }
  KDE_FAULT("fit.scanned");

  struct varlena* sum = add_up(settings, &parts);
  if (sum == nullptr || !(header_of(sum)->rows > 0)) {
    progress_end();
    MemoryContextSwitchTo(caller);
    return key.has_filter() ? "Its parts have no values that the filter accepts."
                            : "Its parts have no values.";
  }
  KDE_FAULT("fit.estimated");

  int read = 0;
  for (const KeptPart* part : of_list<const KeptPart>(parts.all)) {
    read += part->changed;
    if (!of_shards && !part->proof.known) proof = unproven(Unproven::by_parts, proof);
  }
  const int count = list_length(parts.all);
  const char* model = psprintf("%d %s%s, %d read%s", count, of_shards ? "shard" : "part",
                               count == 1 ? "" : "s", read, groups_text(*header_of(sum)));
  MemoryContextSwitchTo(caller);
  const int64 id =
      store_value(request, counters, proof, PointerGetDatum(sum), model, elapsed_ms(start), fit);
  if (request.asked.incremental) {
    if (renew) parts_remove(id);
    keep_parts(id, parts);
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

// kde_aqp.shard_density(relation, column, measures, filter, method, every_row, blocks, bytes, seed, steps)
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
  if (!PG_ARGISNULL(9)) request.asked.steps = text_to_cstring(PG_GETARG_TEXT_PP(9));
  check_incremental(request);
  check_readable(request.key);
  check_steps(request.key, request.asked);
  request.bytes =
      static_cast<Size>(Max(Min(PG_GETARG_INT32(7), static_cast<int32>(kde::kMostListBytes)),
                            static_cast<int32>(kLeastPartBytes)));
  // Shards that were filled alike must not give the same blocks.
  request.asked.seed = PG_GETARG_INT64(8) ^ static_cast<int64>(static_cast<uint64>(oid) << 20);
  Relation relation = open_relation(oid);
  check_kind(relation);
  check_readable(request.key);
  ScanOptions options = scan_options(request, Max(PG_GETARG_INT64(6), INT64CONST(1)));
  options.least_blocks = 1;
  options.as_owner = false;
  Proof proof;
  progress_begin(request.key, request.operation);
  struct varlena* density = fit_part(request, relation, options, &proof);
  progress_end();
  relation_close(relation, NoLock);
  if (density == nullptr) PG_RETURN_NULL();
  PG_RETURN_POINTER(density);
}
