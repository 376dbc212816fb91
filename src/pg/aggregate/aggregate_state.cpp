// The state declared in aggregate_state.h.
//
// Its bytes, as a value: kVersion, whose own tell the byte order too, and packed (core/grid/packed_words.h)
//
//   int32    bytes
//   uint8    value type, method, number of measures, chain of steps
//   uint8    the measures' types, 8 of them
//   uint32   bytes of the cells, 1: with groups
//   ...      the cells (core/grid/grid_cells.h) and, if there are some, groups (core/fit/grid_groups.h)
#include "pg/aggregate/aggregate_state.h"

#include "pg/aggregate/aggregate_memory.h"
#include "pg/base/interrupts.h"
#include "pg/base/options.h"
#include "pg/base/owned.h"
#include "pg/values/values.h"
#include "pg/type/density_datum.h"

#include "core/kde.h"

extern "C" {
#include "nodes/execnodes.h"
}

#include <algorithm>
#include <iterator>
#include <new>
#include <span>
#include <type_traits>

namespace kde_pg {

namespace {

static_assert(std::is_trivially_destructible_v<AggregateState>);

constexpr uint32 kVersion = 0x4b444105;

// Densities that wait, in bytes, and where many states may be in memory at a time.
constexpr Size kFineWaiting = 16 * 1024 * 1024, kCoarseWaiting = 256 * 1024;

// Cells of a state that is one of many.
constexpr Size kFewCells = kde::kMostGridCells / 8;

constexpr char kAdding[] = "add up densities";

struct SerialHeader {
  int32 bytes;
  uint8 type;
  uint8 method;
  uint8 measures;
  uint8 chain;
  uint8 measure_type[kde::kMaxMeasures];
  uint32 cells_bytes;
  uint32 grouped;
};
static_assert(sizeof(SerialHeader) % 8 == 0);

kde::FitOptions options_of(const Settings& settings) {
  kde::FitOptions options;
  options.method = settings.method;
  options.value_type = settings.type;
  options.lattice_step = lattice_step_of(settings.type, -1);
  options.added_up = true;
  std::copy(std::begin(settings.measure_type), std::end(settings.measure_type),
            std::begin(options.measure_types));
  return options;
}

Size grid_bytes_of(const Settings& settings) {
  const Size bytes =
      settings.bytes > 0 ? static_cast<Size>(settings.bytes) : Size{1024} * option_density_bytes;
  return bytes + bytes / 2 * static_cast<Size>(Max(settings.measures, 1) - 1);
}

void finish_cells(const AggregateState& state, kde::DensityBytes* density) {
  const kde::GridBytes bytes = grid_bytes_of(state.settings);
  constexpr char kDoing[] = "make a density of the values";
  const kde::FitOptions options = options_of(state.settings);
  const kde::Control control = begin_core_work(1);
  kde::FitReport report;
  check_status(kde::fit_cells(state.cells, options, bytes, control, density, &report), kDoing);
  if (state.groups == nullptr) return;
  kde::GroupsBytes of_groups = kde::GroupsBytes::of(bytes);
  if (state.settings.bytes > 0) of_groups.many = of_groups.most;
  kde::GroupsReport groups;
  check_status(state.groups->append(options, of_groups, control, density, &groups), kDoing);
}

void wait(AggregateState* state, const kde::Header* density) {
  MemoryContext context = state->header.eoh_context;
  WaitingDensities& waiting = state->waiting;
  const Size bytes = VARSIZE(density);
  if (waiting.count > 0 && waiting.bytes + bytes > waiting.most) merge_waiting(state);
  if (waiting.count == waiting.capacity) {
    const int capacity = Max(16, 2 * waiting.capacity);
    auto** moved = static_cast<const kde::Header**>(
        MemoryContextAlloc(context, static_cast<Size>(capacity) * sizeof(kde::Header*)));
    if (waiting.count > 0)
      memcpy(moved, waiting.density, static_cast<Size>(waiting.count) * sizeof(kde::Header*));
    if (waiting.density != nullptr) pfree(waiting.density);
    waiting.density = moved;
    waiting.capacity = capacity;
  }
  void* copy = MemoryContextAllocHuge(context, bytes);
  memcpy(copy, density, bytes);
  waiting.density[waiting.count++] = static_cast<const kde::Header*>(copy);
  waiting.bytes += bytes;
}

[[noreturn]] void invalid_state(const char* detail) {
  ereport(ERROR, (errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
                  errmsg("invalid state of an aggregate of densities"), errdetail("%s", detail)));
  pg_unreachable();
}

void check_foreign(const kde::Status& status) {
  if (status.code != kde::Code::invalid_format) return check_status(status, kAdding);
  invalid_state(psprintf("It has %s.", status.message));
}

// ------------------------------------------------------------------------------------ its bytes

// In the state's own memory, also what it frees again: since 17 a sort that asks for them has memory of
// which nothing can be freed. Settles it.
struct varlena* write_state(AggregateState* state) {
  merge_waiting(state);
  check_status(state->cells->settle(), kAdding);
  const Size cells = state->cells->serialized_size();
  const Size groups = state->groups != nullptr ? state->groups->serialized_size() : 0;
  const Size size = sizeof(SerialHeader) + cells + groups;
  MemoryContext context = state->header.eoh_context;
  auto* words = static_cast<char*>(MemoryContextAllocZero(context, size));
  auto* header = reinterpret_cast<SerialHeader*>(words);
  header->bytes = state->settings.bytes;
  header->type = static_cast<uint8>(state->settings.type);
  header->method = static_cast<uint8>(state->settings.method);
  header->measures = static_cast<uint8>(state->settings.measures);
  header->chain = static_cast<uint8>(state->settings.chain);
  header->cells_bytes = static_cast<uint32>(cells);
  header->grouped = state->groups != nullptr ? 1 : 0;
  for (int k = 0; k < kde::kMaxMeasures; ++k)
    header->measure_type[k] = static_cast<uint8>(state->settings.measure_type[k]);
  char* at = words + sizeof(SerialHeader);
  state->cells->serialize(at);
  if (state->groups != nullptr) state->groups->serialize(at + cells);
  const Size front = VARHDRSZ + sizeof kVersion;
  const Size packed = front + kde::packed_size({words, size});
  auto* out = static_cast<char*>(MemoryContextAlloc(context, packed));
  SET_VARSIZE(out, packed);
  memcpy(out + VARHDRSZ, &kVersion, sizeof kVersion);
  kde::pack_words({words, size}, out + front);
  pfree(words);
  return reinterpret_cast<struct varlena*>(out);
}

// Of ExpandedObjectMethods.
Size flat_size(ExpandedObjectHeader* header) {
  auto* state = reinterpret_cast<AggregateState*>(header);
  if (state->bytes != nullptr) pfree(state->bytes);
  state->bytes = nullptr;  // where what follows fails
  state->bytes = write_state(state);
  return VARSIZE(state->bytes);
}

void flatten(ExpandedObjectHeader* header, void* result, Size size) {
  auto* state = reinterpret_cast<AggregateState*>(header);
  memcpy(result, state->bytes, size);
  pfree(state->bytes);
  state->bytes = nullptr;
}

constexpr ExpandedObjectMethods kMethods = {flat_size, flatten};

}  // namespace

AggregateState* new_state(FunctionCallInfo fcinfo, const Settings& settings, bool combined) {
  MemoryContext context = states_memory(fcinfo);
  bool one_at_a_time = false;  // over a window none of them is known to be
  // Who runs a transition inside an aggregate of its own, as Citus's nodes, has no expression of the call,
  // and sends the state to where there are many.
  const bool is_sent = fcinfo->flinfo->fn_expr == nullptr && !combined;
  if (IsA(fcinfo->context, AggState) && !is_sent) {
    const AggStrategy strategy = castNode(AggState, fcinfo->context)->aggstrategy;
    one_at_a_time = strategy == AGG_PLAIN || strategy == AGG_SORTED;
  }
  AggregateState* state = new_state(context, settings, !one_at_a_time);
  state->row = fcinfo->flinfo->fn_oid;
  return state;
}

AggregateState* new_state(MemoryContext context, const Settings& settings, bool one_of_many) {
  const Size waiting = one_of_many ? kCoarseWaiting : kFineWaiting;
  auto* state = new (MemoryContextAlloc(context, sizeof(AggregateState))) AggregateState{
      {}, settings, nullptr, nullptr, {nullptr, 0, 0, 0, waiting}, 0, InvalidOid, false, nullptr};
  EOH_init_header(&state->header, &kMethods, context);
  const kde::Chain chain = settings.chain;
  state->cells = new (MemoryContextAlloc(context, sizeof(kde::GridCells))) kde::GridCells(
      memory_of(context), chain, settings.measures, one_of_many ? kFewCells : kde::kMostGridCells);
  if (settings.grouped)
    state->groups = new (MemoryContextAlloc(context, sizeof(kde::GridGroups)))
        kde::GridGroups(memory_of(context), chain, settings.measures);
  return state;
}

AggregateState* own_state(FunctionCallInfo fcinfo) {
  if (PG_ARGISNULL(0)) return nullptr;
  const Datum state = PG_GETARG_DATUM(0);
  if (likely(VARATT_IS_EXTERNAL_EXPANDED_RW(DatumGetPointer(state))))
    return reinterpret_cast<AggregateState*>(DatumGetEOHP(state));
  return read_state(states_memory(fcinfo), PG_GETARG_VARLENA_P(0));
}

void advance_by(FunctionCallInfo fcinfo, AggregateState* state, const Settings& settings) {
  check_same(state->settings, settings);
  state->row = fcinfo->flinfo->fn_oid;
}

void add_density(AggregateState* state, const kde::Header* density) {
  if (!density->has_exact_ends())
    wait(state, density);
  else
    check_status(state->cells->add(*density), kAdding);
  if (state->groups != nullptr) check_status(state->groups->add(*density), kAdding);
}

void merge_waiting(AggregateState* state) {
  WaitingDensities& waiting = state->waiting;
  if (waiting.count == 0) return;
  const std::span densities(waiting.density, static_cast<std::size_t>(waiting.count));
  check_status(kde::add_densities(densities, begin_core_work(1), state->cells), kAdding);
  for (int i = 0; i < waiting.count; ++i) pfree(const_cast<kde::Header*>(waiting.density[i]));
  waiting.count = 0;
  waiting.bytes = 0;
}

void merge_state(AggregateState* state, AggregateState* other) {
  check_same(state->settings, other->settings);
  state->is_foreign = state->is_foreign || other->is_foreign;
  if (state->groups != nullptr) check_status(state->groups->merge(other->groups), kAdding);
  merge_waiting(other);
  check_status(state->cells->merge(other->cells), kAdding);
}

void check_same(const Settings& a, const Settings& b) {
  const auto refuse = [](int code, const char* what, const char* detail, const char* hint) {
    ereport(ERROR, (errcode(code), errmsg("all %s", what), errdetail_internal("%s", detail),
                    errhint("%s", hint)));
  };
  if (a == b) return;
  if (a.type != b.type)
    refuse(ERRCODE_DATATYPE_MISMATCH, "densities of a group must be of the same type",
           psprintf("There are %s and %s.", value_type_label(a.type), value_type_label(b.type)),
           "Group by the column that they are densities of.");
  const auto steps = [](const Settings& s) {
    kde::Header of{};
    of.value_type = s.type;
    of.chain = s.chain;
    return kde::steps_name(of);
  };
  if (a.chain != b.chain)
    refuse(ERRCODE_INVALID_PARAMETER_VALUE, "densities of a group must have the same steps",
           psprintf("There are %s and %s.", steps(a), steps(b)),
           "Fit all of them by the same steps, or group by kde_info(density).steps.");
  if (a.method != b.method)
    refuse(ERRCODE_INVALID_PARAMETER_VALUE, "rows of a group must have the same method",
           psprintf("There are \"%s\" and \"%s\".", kde::method_name(a.method),
                    kde::method_name(b.method)),
           "Pass a constant, or group by the method.");
  if (a.bytes != b.bytes)
    refuse(ERRCODE_INVALID_PARAMETER_VALUE, "rows of a group must have the same bytes",
           psprintf("There are %d and %d.", a.bytes, b.bytes),
           "Pass a constant, or group by the bytes.");
  if (a.grouped != b.grouped)
    refuse(ERRCODE_INVALID_PARAMETER_VALUE, "densities of a group must have groups, or none",
           "There are densities with groups and without.",
           "Group by the columns that they have groups of.");
  constexpr char kSameMeasures[] = "densities of a group must have the same measures";
  if (a.measures != b.measures)
    refuse(ERRCODE_INVALID_PARAMETER_VALUE, kSameMeasures,
           psprintf("There are densities with %d and with %d measures.", a.measures, b.measures),
           "Group by the measures that they have.");
  for (int k = 0; k < a.measures; ++k) {
    if (a.measure_type[k] != b.measure_type[k])
      refuse(ERRCODE_DATATYPE_MISMATCH, kSameMeasures,
             psprintf("There are measures of types %s and %s.", value_type_label(a.measure_type[k]),
                      value_type_label(b.measure_type[k])),
             "Make all of them with the measure cast to one type.");
  }
}

Settings settings_of(const kde::Header& density, int32 bytes) {
  if (density.value_type == kde::ValueType::category)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("densities of categories cannot be added up"),
                    errhint("Fit the column of the whole table: kde_fit('table', 'column').")));
  if (density.grouped > 0 && !density.has_exact_ends())
    ereport(ERROR,
            (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("groups of samples cannot be added up"),
             errhint("Fit them to every row: sample_rows => -1.")));
  constexpr auto kLeastMeasured = static_cast<int32>(kde::kLeastMeasuredBytes);
  if (density.measures > 0 && bytes > 0 && bytes < kLeastMeasured)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("bytes of densities with measures must be at least %d, not %d",
                           kLeastMeasured, bytes)));
  // auto's resolves to another method, and bounds it.
  const bool automatic = (density.flags & kde::kBounded) != 0;
  Settings settings = {density.value_type, density.chain,
                       automatic ? kde::Method::automatic : density.method, bytes,
                       density.measures};
  settings.grouped = density.grouped > 0;
  for (int k = 0; k < density.measures; ++k)
    settings.measure_type[k] = kde::MeasureView(&density, k).header().value_type;
  return settings;
}

AggregateState* read_state(MemoryContext context, const struct varlena* bytes) {
  const std::span<const char> given(VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes));
  uint32 version = 0;
  if (given.size() >= sizeof version) memcpy(&version, given.data(), sizeof version);
  if (version != kVersion)
    invalid_state("It is of another version, or of a machine of another byte order.");
  const std::span<const char> packed = given.subspan(sizeof version);
  const Size size = kde::unpacked_size(packed);
  SerialHeader header;
  if (size < sizeof header) invalid_state("It is not packed.");
  auto* words = static_cast<char*>(palloc(size));
  kde::unpack_words(packed, words);
  memcpy(&header, words, sizeof header);
  const auto is_type = [](uint8 type) {
    return type < kde::kValueTypes && type != static_cast<uint8>(kde::ValueType::category);
  };
  if (!is_type(header.type) || header.method >= kde::kMethods ||
      !kde::is_chain_of(static_cast<kde::ValueType>(header.type),
                        static_cast<kde::Chain>(header.chain)) ||
      header.grouped > 1 || header.measures > kde::kMaxMeasures ||
      header.cells_bytes > size - sizeof header ||
      (header.bytes != 0 && header.bytes < static_cast<int32>(kde::kLeastHistogramBytes)) ||
      header.bytes > static_cast<int32>(kde::kMostListBytes))
    invalid_state("Its settings are out of range.");
  Settings settings = {static_cast<kde::ValueType>(header.type),
                       static_cast<kde::Chain>(header.chain),
                       static_cast<kde::Method>(header.method), header.bytes, header.measures};
  settings.grouped = header.grouped != 0;
  for (int k = 0; k < kde::kMaxMeasures; ++k) {
    if (!is_type(header.measure_type[k])) invalid_state("Its settings are out of range.");
    settings.measure_type[k] = static_cast<kde::ValueType>(header.measure_type[k]);
  }
  AggregateState* state = new_state(context, settings, true);
  state->is_foreign = true;
  const char* at = words + sizeof header;
  const Size rest = size - sizeof header - header.cells_bytes;
  if (rest > 0 && state->groups == nullptr) invalid_state("It is too long.");
  check_foreign(state->cells->deserialize(at, header.cells_bytes));
  if (state->groups != nullptr)
    check_foreign(state->groups->deserialize(at + header.cells_bytes, rest));
  pfree(words);
  return state;
}

Datum finish_state(const AggregateState& state) {
  MemoryContext context =
      AllocSetContextCreate(CurrentMemoryContext, "kde_aqp aggregate", ALLOCSET_DEFAULT_SIZES);
  auto* density = Owned<kde::DensityBytes>::create(context);
  finish_cells(state, density);
  if (state.is_foreign)
    check_foreign(kde::validate(density->data(), density->size(), begin_core_work(1)));
  const Datum result = density_to_datum(*density);
  MemoryContextDelete(context);
  return result;
}

}  // namespace kde_pg
