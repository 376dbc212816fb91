// Input and output of the SQL type `kde`: binary, the form of core/density/wire.h, its texts in the
// server's encoding, whose number goes with them; and text, `\x` and that in hexadecimal digits, as
// a bytea prints it (which no name begins with: anykde.cpp). One way in for both, which ends in
// kde::validate: a kde value that exists obeys every rule of the format.
#include "pg/base/interrupts.h"
#include "pg/base/owned.h"
#include "pg/base/pg.h"
#include "pg/type/density_datum.h"

#include "core/kde.h"

extern "C" {
#include "catalog/namespace.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "utils/varlena.h"
}

#include <algorithm>
#include <array>
#include <cstring>

namespace {

using kde::Code;
using kde::Header;
using kde::Status;
using kde_pg::Owned;

// ------------------------------------------------------------------------ texts of other encodings

struct Text {
  const char* bytes;
  int size;
};

// Whether texts in it can be had in the server's.
bool is_known_encoding(int encoding) {
  const int own = GetDatabaseEncoding();
  return PG_VALID_BE_ENCODING(encoding) &&
         (encoding == own || encoding == PG_SQL_ASCII || own == PG_SQL_ASCII ||
          OidIsValid(FindDefaultConversionProc(encoding, own)));
}

// In the server's encoding: itself, or palloc'ed. Errors: 22021, 22P05.
Text in_server_encoding(std::string_view text, int encoding) {
  const int size = static_cast<int>(text.size());
  const char* converted = pg_any_to_server(text.data(), size, encoding);
  if (converted == text.data()) return {converted, size};
  return {converted, static_cast<int>(strlen(converted))};
}

void append(StringInfo out, const void* bytes, Size size) {
  appendBinaryStringInfo(out, static_cast<const char*>(bytes), static_cast<int>(size));
}

// The cells and words of a category, with its words converted.
Status append_category(StringInfo out, const Header* h, int encoding) {
  const kde::WordsView words(h);
  auto* entries =
      static_cast<kde::WordEntry*>(palloc(sizeof(kde::WordEntry) * (words.words() + 1)));
  for (std::uint32_t i = 0; i < words.words(); ++i) {
    CHECK_FOR_INTERRUPTS();
    const Text text = in_server_encoding(words.word(i), encoding);
    entries[i] = {{text.bytes, static_cast<Size>(text.size)}, words.place(i), words.spread_code(i)};
  }
  auto* converted = Owned<kde::DensityBytes>::create(CurrentMemoryContext);
  const Status status = kde::insert_words(words.header(), entries, words.words(), h,
                                          kde::histogram_size(h, kde::kMostListBytes), converted);
  if (status.ok()) append(out, converted->data(), converted->size());
  return status;
}

Status append_one_column(StringInfo out, const Header* h, int encoding) {
  const char* bytes = reinterpret_cast<const char*>(h);
  const Size measured = kde::measured_size(h, kde::kMostMeasuredBytes);
  Size done = 0;
  if (h->words > 0) {
    const Status status = append_category(out, h, encoding);
    if (!status.ok()) return status;
    done = kde::column_size(h, kde::kMostColumnBytes);
  }
  append(out, bytes + done, measured - done);
  if (h->grouped == 0) return Status::success();
  kde::GroupsView groups(h);
  const int begin = out->len;
  append(out, &groups.header(), sizeof(kde::GroupsHeader));
  kde::GroupView group;
  while (groups.next(&group)) {
    CHECK_FOR_INTERRUPTS();
    const int at = out->len;
    const Text key = in_server_encoding(group.key(), encoding);
    kde::GroupHeader header = *group.header;
    if (group.has_key()) header.key_bytes = static_cast<std::uint32_t>(key.size);
    append(out, &header, sizeof header);
    append(out, key.bytes, static_cast<Size>(key.size));
    while (out->len % 8 != 0) appendStringInfoCharMacro(out, '\0');
    append(out, group.density(), kde::measured_size(group.density(), kde::kMostMeasuredBytes));
    header.bytes = static_cast<std::uint32_t>(out->len - at);
    std::memcpy(out->data + at, &header, sizeof header);
  }
  const auto all = static_cast<std::uint64_t>(out->len - begin);
  std::memcpy(out->data + begin + offsetof(kde::GroupsHeader, bytes), &all, sizeof all);
  return Status::success();
}

Status append_joint(StringInfo out, const kde::JointHeader* h, int encoding) {
  const kde::JointView d(h);
  const char* bytes = reinterpret_cast<const char*>(h);
  kde::JointSizes sizes;
  for (int k = 0; k < d.columns(); ++k) sizes.add(d.column(k));
  const kde::JointLayout at = kde::joint_layout(*h, sizes);
  append(out, bytes, at.marginal);
  for (int k = 0; k < d.columns(); ++k) {
    const int begin = out->len;
    const Status status = append_one_column(out, d.marginal(k), encoding);
    if (!status.ok()) return status;
    kde::JointColumn column = d.column(k);
    column.marginal_bytes = static_cast<std::uint32_t>(out->len - begin);
    std::memcpy(out->data + at.column + static_cast<Size>(k) * sizeof column, &column,
                sizeof column);
  }
  append(out, bytes + at.effect, at.size - at.effect);
  return Status::success();
}

// ------------------------------------------------------------------------------------ in and out

// Bytes between two looks at interrupts.
constexpr Size kSlice = Size{1} << 20;

bool has_texts(const Header* h) {
  if (h->kind != kde::Kind::joint) return h->words > 0 || h->grouped > 0;
  const kde::JointView d(h);
  for (int k = 0; k < d.columns(); ++k)
    if (d.column(k).is_category()) return true;
  return false;
}

// The value on the wire. room: `size` bytes, palloc'ed, which become the value's; may be `wire`.
Status receive(const char* wire, Size size, char* room, Datum* value) {
  std::uint8_t encoding;
  Status status = kde::from_wire(wire, size, room, &encoding, kde_pg::begin_core_work(1));
  if (!status.ok()) return status;
  if (!is_known_encoding(encoding))
    return Status::error(Code::invalid_format, "unknown encoding %d", int{encoding});
  SET_VARSIZE(room, size);
  *value = PointerGetDatum(room);
  const auto* h = reinterpret_cast<const Header*>(room);
  if (!has_texts(h)) return status;
  // In the server's own encoding, too, bytes may be none of its characters.
  MemoryContext work =
      AllocSetContextCreate(CurrentMemoryContext, "kde_aqp texts", ALLOCSET_DEFAULT_SIZES);
  MemoryContext caller = MemoryContextSwitchTo(work);
  StringInfoData out;
  initStringInfo(&out);
  status = h->kind == kde::Kind::joint
               ? append_joint(&out, reinterpret_cast<const kde::JointHeader*>(h), encoding)
               : append_one_column(&out, h, encoding);
  MemoryContextSwitchTo(caller);
  const auto converted = static_cast<Size>(out.len);
  if (status.ok() && (converted != size || std::memcmp(out.data, room, size) != 0)) {
    status = kde::validate(out.data, converted, kde_pg::begin_core_work(1));
    if (status.ok()) *value = kde_pg::density_to_datum(out.data, converted);
  }
  MemoryContextDelete(work);
  return status;
}

// The binary form of a non-null datum.
bytea* send(Datum datum) {
  const kde_pg::AnyDensity density = kde_pg::any_density_from_datum(datum);
  const void* bytes =
      density.joint != nullptr ? static_cast<const void*>(density.joint) : density.one_column;
  const Size size = VARSIZE(bytes);
  auto* wire = static_cast<bytea*>(palloc(VARHDRSZ + size));
  SET_VARSIZE(wire, VARHDRSZ + size);
  if (!kde::to_wire(bytes, size, static_cast<std::uint8_t>(GetDatabaseEncoding()), VARDATA(wire)))
    ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
                    errmsg("kde value is corrupted: its length does not fit its contents")));
  return wire;
}

// Bytes of hexadecimal digits, two each; false where there is something else.
bool decode_digits(const char* digits, Size size, char* bytes) {
  static constexpr auto kDigits = [] {
    std::array<std::int8_t, 256> values;
    values.fill(-1);
    for (int i = 0; i < 16; ++i) values["0123456789abcdef"[i]] = values["0123456789ABCDEF"[i]] = i;
    return values;
  }();
  for (Size i = 0; i < size; ++i) {
    if (i % kSlice == 0) CHECK_FOR_INTERRUPTS();
    const int high = kDigits[static_cast<unsigned char>(digits[2 * i])];
    const int low = kDigits[static_cast<unsigned char>(digits[2 * i + 1])];
    if ((high | low) < 0) return false;
    bytes[i] = static_cast<char>(high << 4 | low);
  }
  return true;
}

// 'table.column', 'schema.table.column' and so on, quoted or not.
bool reads_as_name(const char* input) {
  constexpr Size kLongest = 4 * (2 * NAMEDATALEN + 3);
  if (strlen(input) > kLongest) return false;
  List* names;
  return SplitIdentifierString(pstrdup(input), '.', &names) && list_length(names) >= 2;
}

Status read_text(const char* input, Datum* value) {
  if (std::strncmp(input, "\\x", 2) != 0)
    return Status::error(Code::invalid_format, "a value begins with \\x");
  const Size digits = strlen(input + 2);
  const Size size = digits / 2;
  char* room = static_cast<char*>(palloc(size));
  if (digits % 2 != 0 || !decode_digits(input + 2, size, room))
    return Status::error(Code::invalid_format, "not pairs of hexadecimal digits");
  return receive(room, size, room, value);
}

}  // namespace

// kde_in(cstring) -> kde. Errors: 22P02 with what is wrong, soft from PostgreSQL 16 on; of text
// that could be a density's name with the call that finds it: an untyped literal is read here where
// a function takes values alone.
KDE_EXPORT(kde_in);
Datum kde_in(PG_FUNCTION_ARGS) {
  const char* input = PG_GETARG_CSTRING(0);
  Datum value = 0;
  const Status status = read_text(input, &value);
  if (status.code == Code::invalid_format || status.code == Code::invalid_argument)
    ereturn(fcinfo->context, (Datum)0,
            (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
             errmsg("invalid input syntax for type %s", "kde"), errdetail("%s", status.message),
             reads_as_name(input) ? errhint("To name a stored density, write kde_density(%s).",
                                            quote_literal_cstr(input))
                                  : 0));
  kde_pg::check_status(status, "read a kde value");
  PG_RETURN_DATUM(value);
}

// kde_out(kde) -> cstring.
KDE_EXPORT(kde_out);
Datum kde_out(PG_FUNCTION_ARGS) {
  const bytea* wire = send(PG_GETARG_DATUM(0));
  const Size size = VARSIZE(wire) - VARHDRSZ;
  char* output = static_cast<char*>(palloc(2 + 2 * size + 1));
  char* end = output + 2;
  std::memcpy(output, "\\x", 2);
  for (Size at = 0; at < size; at += kSlice) {
    CHECK_FOR_INTERRUPTS();
    end += hex_encode(VARDATA(wire) + at, std::min(kSlice, size - at), end);
  }
  *end = '\0';
  PG_RETURN_CSTRING(output);
}

// kde_recv(internal) -> kde. Errors: 22P03 with what is wrong.
KDE_EXPORT(kde_recv);
Datum kde_recv(PG_FUNCTION_ARGS) {
  auto* message = reinterpret_cast<StringInfo>(PG_GETARG_POINTER(0));
  const int size = message->len - message->cursor;
  const char* wire = pq_getmsgbytes(message, size);
  Datum value = 0;
  const Status status = receive(wire, static_cast<Size>(size),
                                static_cast<char*>(palloc(static_cast<Size>(size))), &value);
  if (status.code == Code::invalid_format || status.code == Code::invalid_argument)
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
             errmsg("invalid binary representation of type kde"), errdetail("%s", status.message)));
  kde_pg::check_status(status, "read a kde value");
  PG_RETURN_DATUM(value);
}

// kde_send(kde) -> bytea.
KDE_EXPORT(kde_send);
Datum kde_send(PG_FUNCTION_ARGS) { PG_RETURN_BYTEA_P(send(PG_GETARG_DATUM(0))); }
