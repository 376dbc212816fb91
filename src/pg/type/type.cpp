// Input and output of the SQL type `kde`: text (core/density/text.h) and binary.
//
// Binary form, every number in network order:
//
//   byte     version, kind, kernel, flags, value_type, method, measures, grouped, words, and 3 of 0
//   int32    number of atoms, number of blocks
//   float8   rows ... known_above: the doubles of kde::Header in its order
//   float4   count_variance, shape by shape
//   float8   atom_value[atoms], atom_rows[atoms]
//   int64, float8, int16, 6 bytes   first_key, rows_below, byte, last_cell ... rows_shift of a
//   block;
//                                   as many times as there are blocks
//   int64    the words of the cells' bits
//
// Of a density with words, measures or groups an int32 follows its header, the bytes up to the end
// of the words of bits. Of one with words their number, type and flags as int32 come next, distinct
// ... most_spread as float8, and of each the length as int32, the text in the client's encoding,
// its place as int16 and its spread as a byte. Then of each measure: type, parts, decimals, nulls
// as bytes, rows ... slack as float8, mean_variance as float4, and of each part an int32, its
// bytes, and it in this form.
//
// Then of one with groups their number and the rest as int32, unseen and unseen_error as float8,
// and of each group the length of its key as int32 (-1: none), the key in the client's encoding,
// and an int32, the bytes of its density, and that in this form.
//
// Of several columns: joint_binary.h. Both readers end in kde::validate: a kde value that exists
// obeys every rule of the format.
#include "pg/base/interrupts.h"
#include "pg/base/owned.h"
#include "pg/base/pg.h"
#include "pg/type/density_datum.h"
#include "pg/type/joint_binary.h"
#include "pg/type/type_binary.h"

#include "core/kde.h"

extern "C" {
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "nodes/pg_list.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/varlena.h"
}

#include <bit>
#include <cstring>
#include <string>
#include <vector>

namespace {

using kde::DensityView;
using kde::Header;
using kde::MeasureHeader;
using kde::Status;
using kde_pg::invalid_binary;
using kde_pg::Owned;

// The doubles of a header, in order.
constexpr int kHeaderDoubles =
    (offsetof(Header, count_variance) - offsetof(Header, rows)) / sizeof(double);

// What the core builds while text is converted lives in a context of its own, so that it is
// destroyed at once and not with the caller's context.
MemoryContext create_work_memory() {
  return AllocSetContextCreate(CurrentMemoryContext, "kde_aqp type", ALLOCSET_SMALL_SIZES);
}

// ------------------------------------------------------------------------------- binary input

// Writes the stored form field after field.
struct Writer {
  char* next;

  template <typename T>
  void put(T value) {
    std::memcpy(next, &value, sizeof value);
    next += sizeof value;
  }
};

int bytes_left(StringInfo message) { return message->len - message->cursor; }

Header receive_header(StringInfo message) {
  constexpr int kHeaderBytes =
      12 + 2 * 4 + kHeaderDoubles * 8 + kde::kShapes * kde::kErrorScales * 4;
  Header header = {};
  if (bytes_left(message) < 1) invalid_binary("too short");
  header.version = static_cast<std::uint8_t>(pq_getmsgbyte(message));
  // A version that is not known may continue in any way.
  if (header.version != kde::kFormatVersion)
    invalid_binary(psprintf("unknown format version %d", header.version));
  if (bytes_left(message) < kHeaderBytes - 1) invalid_binary("too short");
  header.kind = static_cast<kde::Kind>(pq_getmsgbyte(message));
  header.kernel = static_cast<kde::Kernel>(pq_getmsgbyte(message));
  header.flags = static_cast<std::uint8_t>(pq_getmsgbyte(message));
  header.value_type = static_cast<kde::ValueType>(pq_getmsgbyte(message));
  header.method = static_cast<kde::Method>(pq_getmsgbyte(message));
  header.measures = static_cast<std::uint8_t>(pq_getmsgbyte(message));
  header.grouped = static_cast<std::uint8_t>(pq_getmsgbyte(message));
  header.words = static_cast<std::uint8_t>(pq_getmsgbyte(message));
  for (std::uint8_t& x : header.reserved) x = static_cast<std::uint8_t>(pq_getmsgbyte(message));
  header.atoms = pq_getmsgint(message, 4);
  header.blocks = pq_getmsgint(message, 4);
  double doubles[kHeaderDoubles];
  for (double& x : doubles) x = pq_getmsgfloat8(message);
  std::memcpy(&header.rows, doubles, sizeof doubles);
  for (auto& scales : header.count_variance) {
    for (float& x : scales) x = pq_getmsgfloat4(message);
  }
  return header;
}

// What is left of the message are the cells' bits.
void receive_histogram(StringInfo message, const Header& header, Writer* out) {
  for (std::size_t i = 0; i < 2 * std::size_t{header.atoms}; ++i)
    out->put(pq_getmsgfloat8(message));
  for (std::uint32_t i = 0; i < header.blocks; ++i) {
    kde::HistogramBlock block;
    block.first_key = pq_getmsgint64(message);
    block.rows_below = pq_getmsgfloat8(message);
    block.byte = static_cast<std::uint16_t>(pq_getmsgint(message, 2));
    block.last_cell = static_cast<std::uint8_t>(pq_getmsgbyte(message));
    block.key_shift = static_cast<std::uint8_t>(pq_getmsgbyte(message));
    block.key_bits = static_cast<std::uint8_t>(pq_getmsgbyte(message));
    block.rows_bits = static_cast<std::uint8_t>(pq_getmsgbyte(message));
    block.kinds = static_cast<kde::CellKinds>(pq_getmsgbyte(message));
    block.rows_shift = static_cast<std::uint8_t>(pq_getmsgbyte(message));
    out->put(block);
  }
  while (bytes_left(message) > 0) out->put(pq_getmsgint64(message));
}

// The next `length` bytes of a message as one of their own.
StringInfoData next_part(StringInfo message, int length) {
  if (length < 0 || length > bytes_left(message))
    invalid_binary("length does not fit its contents");
  StringInfoData part = *message;
  part.data = message->data + message->cursor;
  part.len = length;
  part.cursor = 0;
  message->cursor += length;
  return part;
}

void put_column(StringInfo message, const Header& header, Size size, char* out) {
  Writer writer = {out};
  writer.put(header);
  receive_histogram(message, header, &writer);
  Assert(writer.next == out + size);
}

// The doubles of a measure, in order.
constexpr int kMeasureDoubles =
    (offsetof(MeasureHeader, mean_variance) - offsetof(MeasureHeader, rows)) / sizeof(double);

void receive_measure(StringInfo message, StringInfo out) {
  constexpr int kBytes = 4 + kMeasureDoubles * 8 + kde::kErrorScales * 4;
  if (bytes_left(message) < kBytes) invalid_binary("too short");
  MeasureHeader m = {};
  m.value_type = static_cast<kde::ValueType>(pq_getmsgbyte(message));
  m.parts = static_cast<std::uint8_t>(pq_getmsgbyte(message));
  m.decimals = static_cast<std::uint8_t>(pq_getmsgbyte(message));
  m.nulls = static_cast<std::uint8_t>(pq_getmsgbyte(message));
  double doubles[kMeasureDoubles];
  for (double& x : doubles) x = pq_getmsgfloat8(message);
  std::memcpy(&m.rows, doubles, sizeof doubles);
  for (float& x : m.mean_variance) x = pq_getmsgfloat4(message);
  const int at = out->len;
  appendBinaryStringInfo(out, reinterpret_cast<const char*>(&m), sizeof m);
  for (int p = 0; p < kde::kMeasureParts; ++p) {
    if (!m.has(static_cast<kde::MeasurePart>(p))) continue;
    StringInfoData part = next_part(message, static_cast<int>(pq_getmsgint(message, 4)));
    Size size;
    Header* density = kde_pg::receive_density(&part, kde_pg::Followed::by_nothing, &size);
    appendBinaryStringInfo(out, reinterpret_cast<const char*>(density), static_cast<int>(size));
    while (out->len % 8 != 0) appendStringInfoCharMacro(out, '\0');
    pfree(density);
  }
  m.bytes = static_cast<std::uint32_t>(out->len - at);
  std::memcpy(out->data + at, &m, sizeof m);
}

// Bytes of the stored form; refuses what cannot be one before anything of that size is allocated.
// The arrays take as many bytes on the wire.
Size stored_size(StringInfo message, const Header& header) {
  const auto left = static_cast<Size>(bytes_left(message));
  if (header.kind != kde::Kind::one_column) invalid_binary("unknown kind of density");
  if (header.atoms > kde::kMaxBytes || header.blocks > kde::kMaxBytes)
    invalid_binary("wrong number of blocks or atoms");
  const Size arrays =
      header.atoms * 2 * sizeof(double) + header.blocks * sizeof(kde::HistogramBlock);
  if (left < arrays || left % sizeof(std::uint64_t) != 0 || left > kde::kMaxBytes - sizeof header)
    invalid_binary("length does not fit its contents");
  return sizeof header + left;
}

// ------------------------------------------------------------------------------ binary output

void send_header(StringInfo out, const Header& header) {
  pq_sendint8(out, header.version);
  pq_sendint8(out, static_cast<uint8>(header.kind));
  pq_sendint8(out, static_cast<uint8>(header.kernel));
  pq_sendint8(out, header.flags);
  pq_sendint8(out, static_cast<uint8>(header.value_type));
  pq_sendint8(out, static_cast<uint8>(header.method));
  pq_sendint8(out, header.measures);
  pq_sendint8(out, header.grouped);
  pq_sendint8(out, header.words);
  for (const std::uint8_t x : header.reserved) pq_sendint8(out, x);
  pq_sendint32(out, header.atoms);
  pq_sendint32(out, header.blocks);
  double doubles[kHeaderDoubles];
  std::memcpy(doubles, &header.rows, sizeof doubles);
  for (double x : doubles) pq_sendfloat8(out, x);
  for (const auto& scales : header.count_variance) {
    for (const float x : scales) pq_sendfloat4(out, x);
  }
}

void send_histogram(StringInfo out, const DensityView& d, Size size) {
  for (int i = 0; i < d.atoms(); ++i) pq_sendfloat8(out, d.atom_value(i));
  for (int i = 0; i < d.atoms(); ++i) pq_sendfloat8(out, d.atom_cumulative_rows(i));
  for (int b = 0; b < d.blocks(); ++b) {
    const kde::HistogramBlock& block = d.block(b);
    pq_sendint64(out, static_cast<uint64>(block.first_key));
    pq_sendfloat8(out, block.rows_below);
    pq_sendint16(out, block.byte);
    pq_sendint8(out, block.last_cell);
    pq_sendint8(out, block.key_shift);
    pq_sendint8(out, block.key_bits);
    pq_sendint8(out, block.rows_bits);
    pq_sendint8(out, static_cast<uint8>(block.kinds));
    pq_sendint8(out, block.rows_shift);
  }
  const char* end = reinterpret_cast<const char*>(&d.header()) + size;
  for (const std::uint64_t* word = d.words(); reinterpret_cast<const char*>(word) < end; ++word)
    pq_sendint64(out, *word);
}

void send_measure(StringInfo out, const kde::MeasureView& measure) {
  const MeasureHeader& m = measure.header();
  pq_sendint8(out, static_cast<uint8>(m.value_type));
  for (const std::uint8_t x : {m.parts, m.decimals, m.nulls}) pq_sendint8(out, x);
  double doubles[kMeasureDoubles];
  std::memcpy(doubles, &m.rows, sizeof doubles);
  for (double x : doubles) pq_sendfloat8(out, x);
  for (const float x : m.mean_variance) pq_sendfloat4(out, x);
  for (int p = 0; p < kde::kMeasureParts; ++p) {
    if (!m.has(static_cast<kde::MeasurePart>(p))) continue;
    StringInfoData part;
    initStringInfo(&part);
    kde_pg::send_density(&part, &measure.part(static_cast<kde::MeasurePart>(p)).header());
    pq_sendint32(out, static_cast<uint32>(part.len));
    pq_sendbytes(out, part.data, part.len);
    pfree(part.data);
  }
}

// 'table.column', 'schema.table.column' and so on, quoted or not.
bool reads_as_name(const char* input) {
  constexpr Size kLongest = 4 * (2 * NAMEDATALEN + 3);
  if (strlen(input) > kLongest) return false;
  List* names;
  return SplitIdentifierString(pstrdup(input), '.', &names) && list_length(names) >= 2;
}

// The kind of the density that a message holds: its second byte.
bool is_joint_message(StringInfo message) {
  return bytes_left(message) >= 2 &&
         static_cast<std::uint8_t>(message->data[message->cursor]) == kde::kFormatVersion &&
         static_cast<kde::Kind>(message->data[message->cursor + 1]) == kde::Kind::joint;
}

}  // namespace

namespace kde_pg {

void invalid_binary(const char* detail) {
  ereport(ERROR, (errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
                  errmsg("invalid binary representation of type kde"), errdetail("%s", detail)));
  pg_unreachable();
}

namespace {

void align(StringInfo out) {
  while (out->len % 8 != 0) appendStringInfoCharMacro(out, '\0');
}

void receive_groups(StringInfo message, StringInfo out) {
  kde::GroupsHeader h = {};
  const int begin = out->len;
  h.groups = pq_getmsgint(message, 4);
  h.rest = pq_getmsgint(message, 4);
  h.unseen = pq_getmsgfloat8(message);
  h.unseen_error = pq_getmsgfloat8(message);
  appendBinaryStringInfo(out, reinterpret_cast<const char*>(&h), sizeof h);
  for (std::uint32_t g = 0; g < h.groups; ++g) {
    CHECK_FOR_INTERRUPTS();
    const int at = out->len;
    const auto length = static_cast<int>(pq_getmsgint(message, 4));
    kde::GroupHeader group = {0, length < 0 ? kde::kNoKey : static_cast<std::uint32_t>(length)};
    appendBinaryStringInfo(out, reinterpret_cast<const char*>(&group), sizeof group);
    if (length >= 0) {
      int bytes;
      char* key = pq_getmsgtext(message, length, &bytes);
      group.key_bytes = static_cast<std::uint32_t>(bytes);
      appendBinaryStringInfo(out, key, bytes);
      pfree(key);
    }
    align(out);
    StringInfoData part = next_part(message, static_cast<int>(pq_getmsgint(message, 4)));
    Size size;
    Header* density = receive_density(&part, Followed::by_measures, &size);
    appendBinaryStringInfo(out, reinterpret_cast<const char*>(density), static_cast<int>(size));
    pfree(density);
    align(out);
    if (static_cast<Size>(out->len) > kde::kMostDensityBytes) invalid_binary("too many groups");
    group.bytes = static_cast<std::uint32_t>(out->len - at);
    std::memcpy(out->data + at, &group, sizeof group);
  }
  h.bytes = static_cast<std::uint64_t>(out->len - begin);
  std::memcpy(out->data + begin, &h, sizeof h);
}

void send_groups(StringInfo out, const Header* density) {
  kde::GroupsView groups(density);
  const kde::GroupsHeader& h = groups.header();
  pq_sendint32(out, h.groups);
  pq_sendint32(out, h.rest);
  pq_sendfloat8(out, h.unseen);
  pq_sendfloat8(out, h.unseen_error);
  kde::GroupView group;
  while (groups.next(&group)) {
    if (group.has_key()) {
      const std::string_view key = group.key();
      char* plain = pnstrdup(key.data(), key.size());
      char* text = pg_server_to_client(plain, static_cast<int>(key.size()));
      pq_sendint32(out, static_cast<uint32>(strlen(text)));
      pq_sendbytes(out, text, static_cast<int>(strlen(text)));
      if (text != plain) pfree(text);
      pfree(plain);
    } else {
      pq_sendint32(out, static_cast<uint32>(-1));
    }
    StringInfoData part;
    initStringInfo(&part);
    send_density(&part, group.density());
    pq_sendint32(out, static_cast<uint32>(part.len));
    pq_sendbytes(out, part.data, part.len);
    pfree(part.data);
  }
}

}  // namespace

namespace {

// The doubles of the words, in order.
constexpr int kWordsDoubles =
    (sizeof(kde::WordsHeader) - offsetof(kde::WordsHeader, distinct)) / sizeof(double);

// out: the density so far, which they are put behind.
void receive_words(StringInfo message, StringInfo out) {
  kde::WordsHeader h = {};
  h.words = pq_getmsgint(message, 4);
  h.type = pq_getmsgint(message, 4);
  h.flags = pq_getmsgint(message, 4);
  double doubles[kWordsDoubles];
  for (double& x : doubles) x = pq_getmsgfloat8(message);
  std::memcpy(&h.distinct, doubles, sizeof doubles);
  constexpr int kLeast = 4 + 2 + 1;
  if (h.words > kde::kMostWords || bytes_left(message) / kLeast < static_cast<int>(h.words))
    invalid_binary("wrong number of words");
  auto* entries = static_cast<kde::WordEntry*>(palloc(sizeof(kde::WordEntry) * (h.words + 1)));
  for (std::uint32_t i = 0; i < h.words; ++i) {
    CHECK_FOR_INTERRUPTS();
    const auto length = static_cast<int>(pq_getmsgint(message, 4));
    if (length < 0 || length > bytes_left(message))
      invalid_binary("length does not fit its contents");
    int bytes;
    const char* text = pq_getmsgtext(message, length, &bytes);
    const auto place = static_cast<std::uint16_t>(pq_getmsgint(message, 2));
    const auto spread = static_cast<std::uint8_t>(pq_getmsgbyte(message));
    entries[i] = {{text, static_cast<Size>(bytes)}, place, spread};
  }
  MemoryContext work = create_work_memory();
  auto* density = Owned<kde::DensityBytes>::create(work);
  const Status status =
      kde::words_behind(h, entries, h.words, out->data, static_cast<Size>(out->len), density);
  if (status.code == kde::Code::invalid_argument) invalid_binary(status.message);
  kde_pg::check_status(status, "read a kde value");
  resetStringInfo(out);
  appendBinaryStringInfo(out, density->data(), static_cast<int>(density->size()));
  MemoryContextDelete(work);
}

void send_words(StringInfo out, const Header* density) {
  const kde::WordsView words(density);
  const kde::WordsHeader& h = words.header();
  for (const std::uint32_t x : {h.words, h.type, h.flags}) pq_sendint32(out, x);
  double doubles[kWordsDoubles];
  std::memcpy(doubles, &h.distinct, sizeof doubles);
  for (const double x : doubles) pq_sendfloat8(out, x);
  for (std::uint32_t i = 0; i < h.words; ++i) {
    const std::string_view word = words.word(i);
    char* plain = pnstrdup(word.data(), word.size());
    char* text = pg_server_to_client(plain, static_cast<int>(word.size()));
    pq_sendint32(out, static_cast<uint32>(strlen(text)));
    pq_sendbytes(out, text, static_cast<int>(strlen(text)));
    pq_sendint16(out, words.place(i));
    pq_sendint8(out, words.spread_code(i));
    if (text != plain) pfree(text);
    pfree(plain);
  }
}

}  // namespace

kde::Header* receive_density(StringInfo message, Followed followed, Size* size) {
  const Header header = receive_header(message);
  // Before anything nested is looked at.
  if (header.measures > 0 && followed == Followed::by_nothing)
    invalid_binary("measures where none can be");
  if (header.grouped > 0 && followed != Followed::by_groups)
    invalid_binary("groups where none can be");
  if (header.words > 0 && followed == Followed::by_nothing)
    invalid_binary("words where none can be");
  if (header.measures == 0 && header.grouped == 0 && header.words == 0) {
    *size = stored_size(message, header);
    char* bytes = static_cast<char*>(palloc(*size));
    put_column(message, header, *size, bytes);
    return reinterpret_cast<Header*>(bytes);
  }
  if (header.measures > kde::kMaxMeasures) invalid_binary("too many measures");
  StringInfoData column = next_part(message, static_cast<int>(pq_getmsgint(message, 4)));
  const Size column_size = stored_size(&column, header);
  StringInfoData out;
  initStringInfo(&out);
  enlargeStringInfo(&out, static_cast<int>(column_size));
  put_column(&column, header, column_size, out.data);
  out.len = static_cast<int>(column_size);
  if (header.words > 0) receive_words(message, &out);
  if (header.measures > 0) align(&out);
  for (int k = 0; k < header.measures; ++k) receive_measure(message, &out);
  if (header.grouped > 0) {
    align(&out);
    receive_groups(message, &out);
  }
  *size = static_cast<Size>(out.len);
  return reinterpret_cast<Header*>(out.data);
}

void send_density(StringInfo out, const Header* density) {
  const Size size = kde::histogram_size(density, kde::kMaxBytes);
  send_header(out, *density);
  if (density->measures > 0 || density->grouped > 0 || density->words > 0)
    pq_sendint32(out, static_cast<uint32>(size - sizeof(Header)));
  send_histogram(out, DensityView(density), size);
  if (density->words > 0) send_words(out, density);
  for (int k = 0; k < density->measures; ++k) send_measure(out, kde::MeasureView(density, k));
  if (density->grouped > 0) send_groups(out, density);
}

}  // namespace kde_pg

// kde_in(cstring) -> kde. Errors: 22P02 with what is wrong, soft from PostgreSQL 16 on; of text
// that could be a density's name with the call that finds it: an untyped literal is read here where
// a function takes values alone.
KDE_EXPORT(kde_in);
Datum kde_in(PG_FUNCTION_ARGS) {
  const char* input = PG_GETARG_CSTRING(0);
  MemoryContext work = create_work_memory();
  auto* density = Owned<kde::DensityBytes>::create(work);
  const Status status = kde::from_text(input, density, kde_pg::begin_core_work(1));
  Datum result = 0;
  if (status.ok()) result = kde_pg::density_to_datum(*density);
  MemoryContextDelete(work);

  if (status.code == kde::Code::invalid_format)
    ereturn(fcinfo->context, (Datum)0,
            (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
             errmsg("invalid input syntax for type %s", "kde"), errdetail("%s", status.message),
             reads_as_name(input) ? errhint("To name a stored density, write kde_density(%s).",
                                            quote_literal_cstr(input))
                                  : 0));
  kde_pg::check_status(status, "read a kde value");
  PG_RETURN_DATUM(result);
}

// kde_out(kde) -> cstring.
KDE_EXPORT(kde_out);
Datum kde_out(PG_FUNCTION_ARGS) {
  const kde_pg::AnyDensity density = kde_pg::any_density_from_datum(PG_GETARG_DATUM(0));
  MemoryContext work = create_work_memory();
  std::string* output = Owned<std::string>::create(work);
  const Status status = density.joint != nullptr
                            ? kde::to_text(kde::JointView(density.joint), output)
                            : kde::to_text(DensityView(density.one_column), output);
  kde_pg::check_status(status, "write a kde value");
  if (!AllocSizeIsValid(output->size() + 1))
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("kde value is too large")));
  char* result = pnstrdup(output->data(), output->size());
  MemoryContextDelete(work);
  PG_RETURN_CSTRING(result);
}

// kde_recv(internal) -> kde. Errors: 22P03 with what is wrong.
KDE_EXPORT(kde_recv);
Datum kde_recv(PG_FUNCTION_ARGS) {
  auto* message = reinterpret_cast<StringInfo>(PG_GETARG_POINTER(0));
  if (is_joint_message(message)) PG_RETURN_POINTER(kde_pg::receive_joint(message));
  Size size;
  Header* density = kde_pg::receive_density(message, kde_pg::Followed::by_groups, &size);
  const Status status = kde::validate(density, size);
  if (!status.ok()) invalid_binary(status.message);
  SET_VARSIZE(density, size);
  PG_RETURN_POINTER(density);
}

// kde_send(kde) -> bytea.
KDE_EXPORT(kde_send);
Datum kde_send(PG_FUNCTION_ARGS) {
  const kde_pg::AnyDensity density = kde_pg::any_density_from_datum(PG_GETARG_DATUM(0));
  StringInfoData message;
  pq_begintypsend(&message);
  if (density.joint != nullptr) {
    kde_pg::send_joint(&message, density.joint);
  } else {
    kde_pg::send_density(&message, density.one_column);
  }
  PG_RETURN_BYTEA_P(pq_endtypsend(&message));
}
