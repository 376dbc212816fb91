// The bytes of append_state.h: numbers one after another in this machine's order, as they are read
// on no other. What is read was written here, but it comes from a table: each number is checked for
// what would do harm, and a count against the bytes that are left.
#include "pg/read/append_state.h"

extern "C" {
#include "lib/stringinfo.h"
#include "utils/memutils.h"
}

namespace kde_pg {

namespace {

constexpr uint32 kMagic = 0x6b647370;  // also tells the byte order
constexpr uint32 kVersion = 2;

template <typename T>
void put(StringInfo to, T x) {
  appendBinaryStringInfo(to, reinterpret_cast<const char*>(&x), sizeof x);
}

class Reader {
 public:
  Reader(const char* data, Size size) : at_(data), left_(size) {}

  template <typename T>
  T take() {
    T x{};
    if (const char* from = take_bytes(sizeof x)) memcpy(&x, from, sizeof x);
    return x;
  }
  // Null if so many are not there; then all that follow are none either.
  const char* take_bytes(Size n) {
    if (n > left_) {
      good_ = false;
      left_ = 0;
      return nullptr;
    }
    const char* from = at_;
    at_ += n;
    left_ -= n;
    return from;
  }
  // A number of things of at least `size` bytes each.
  int take_count(Size size) {
    const uint32 n = take<uint32>();
    if (n <= left_ / size) return static_cast<int>(n);
    good_ = false;
    return 0;
  }
  Size left() const { return left_; }
  bool good() const { return good_; }

 private:
  const char* at_;
  Size left_;
  bool good_ = true;
};

constexpr Size kLeafCountersBytes = 2 * sizeof(Oid) + 4 * sizeof(int64);
constexpr Size kGeneratedBytes = sizeof(Oid) + sizeof(AttrNumber) + sizeof(int64);
constexpr Size kLeastMarkBytes = 2 * sizeof(Oid) + 2 * sizeof(uint32);

bool read_marks(Reader* from, HighWater* marks) {
  marks->leaves = from->take_count(kLeastMarkBytes);
  marks->leaf = static_cast<LeafMark*>(palloc0(sizeof(LeafMark) * (marks->leaves + 1)));
  for (int i = 0; i < marks->leaves; ++i) {
    LeafMark& mark = marks->leaf[i];
    mark.relation = from->take<Oid>();
    mark.file = from->take<Oid>();
    mark.blocks = from->take<BlockNumber>();
    mark.window = from->take<int32>();
    if (mark.window < 0 || mark.window > kWindowBlocks ||
        static_cast<BlockNumber>(mark.window) > mark.blocks)
      return false;
    for (int k = 0; k < mark.window; ++k) mark.offset[k] = from->take<OffsetNumber>();
  }
  return true;
}

}  // namespace

bytea* append_state_to_bytea(const AppendState& state) {
  StringInfoData out;
  initStringInfo(&out);
  put(&out, int32{0});  // the length word
  put(&out, kMagic);
  put(&out, kVersion);
  put(&out, static_cast<uint8>(state.mode));
  put(&out, static_cast<uint8>(state.value_type));
  put(&out, state.blocks_read);
  put(&out, state.blocks_total);
  put(&out, state.offered);
  put(&out, state.found);
  put(&out, state.block_rows);
  put(&out, static_cast<uint32>(state.counters.leaves));
  for (int i = 0; i < state.counters.leaves; ++i) {
    const LeafCounters& leaf = state.counters.leaf[i];
    put(&out, leaf.relation);
    put(&out, leaf.file);
    for (int64 n : {leaf.inserts, leaf.updates, leaf.deletes, leaf.live}) put(&out, n);
  }
  put(&out, static_cast<uint32>(state.counters.generated.count));
  for (int i = 0; i < state.counters.generated.count; ++i) {
    const GeneratedColumn& column = state.counters.generated.column[i];
    put(&out, column.relation);
    put(&out, column.attnum);
    put(&out, column.expression);
  }
  put(&out, static_cast<uint32>(state.marks.leaves));
  for (int i = 0; i < state.marks.leaves; ++i) {
    const LeafMark& mark = state.marks.leaf[i];
    put(&out, mark.relation);
    put(&out, mark.file);
    put(&out, mark.blocks);
    put(&out, static_cast<int32>(mark.window));
    for (int k = 0; k < mark.window; ++k) put(&out, mark.offset[k]);
  }
  put(&out, state.key);
  const bool any = state.greatest != nullptr;
  put(&out, static_cast<uint8>(any));
  const uint32 length = any ? static_cast<uint32>(strlen(state.greatest)) : 0;
  put(&out, length);
  if (any) appendBinaryStringInfo(&out, state.greatest, static_cast<int>(length));
  if (state.sampler_size > MaxAllocSize - 1024 - static_cast<Size>(out.len)) return nullptr;
  appendBinaryStringInfo(&out, reinterpret_cast<const char*>(state.sampler),
                         static_cast<int>(state.sampler_size));
  SET_VARSIZE(out.data, out.len);
  return reinterpret_cast<bytea*>(out.data);
}

bool append_state_from_bytea(bytea* bytes, AppendState* state) {
  *state = {};
  Reader from(VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes));
  if (from.take<uint32>() != kMagic || from.take<uint32>() != kVersion) return false;
  const uint8 mode = from.take<uint8>();
  if (mode > static_cast<uint8>(AppendMode::key)) return false;
  state->mode = static_cast<AppendMode>(mode);
  state->value_type = static_cast<kde::ValueType>(from.take<uint8>());
  state->blocks_read = from.take<int64>();
  state->blocks_total = from.take<int64>();
  state->offered = from.take<int64>();
  state->found = from.take<int64>();
  state->block_rows = from.take<int64>();
  if (state->blocks_read < 1 || state->blocks_read > state->blocks_total || state->offered < 0 ||
      state->found < 0 || state->block_rows < 0 || state->block_rows > MaxOffsetNumber)
    return false;
  Counters& counters = state->counters;
  counters.known = true;
  counters.leaves = from.take_count(kLeafCountersBytes);
  counters.leaf = static_cast<LeafCounters*>(palloc0(sizeof(LeafCounters) * (counters.leaves + 1)));
  for (int i = 0; i < counters.leaves; ++i) {
    LeafCounters& leaf = counters.leaf[i];
    leaf.relation = from.take<Oid>();
    leaf.file = from.take<Oid>();
    for (int64* n : {&leaf.inserts, &leaf.updates, &leaf.deletes, &leaf.live})
      *n = from.take<int64>();
  }
  GeneratedColumns& generated = counters.generated;
  generated.count = from.take_count(kGeneratedBytes);
  generated.column =
      static_cast<GeneratedColumn*>(palloc0(sizeof(GeneratedColumn) * (generated.count + 1)));
  for (int i = 0; i < generated.count; ++i) {
    GeneratedColumn& column = generated.column[i];
    column.relation = from.take<Oid>();
    column.attnum = from.take<AttrNumber>();
    column.expression = from.take<int64>();
  }
  if (!read_marks(&from, &state->marks)) return false;
  state->key = from.take<AttrNumber>();
  const bool any = from.take<uint8>() != 0;
  const int length = from.take_count(1);
  const char* text = from.take_bytes(static_cast<Size>(length));
  if (!from.good()) return false;
  if (any) state->greatest = pnstrdup(text, static_cast<Size>(length));
  state->sampler_size = from.left();
  state->sampler = reinterpret_cast<const uint8*>(from.take_bytes(state->sampler_size));
  return true;
}

}  // namespace kde_pg
