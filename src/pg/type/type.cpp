// Input and output of the SQL type `kde`: text (core/density/text.h) and binary.
//
// Binary form, every number in network order:
//
//   byte     version, kind, kernel, flags, value_type, method
//   int16    0
//   int32    exponent, number of atoms, number of knots
//   float8   rows ... sampling_variance: the doubles of kde::Header in its order
//   float4   count_error, mean_error
//   float8   atom_value[atoms], atom_rows[atoms]; or int32 atom_point[atoms], atom_mass[atoms]
//   int32    knot_mass[knots], knot_high[knots]
//   float4   block_moment[2 * blocks]
//   int16    knot_low[knots], knot_slope[knots]
//
// and of a histogram, after its atoms
//
//   int64, float8, int16, 6 bytes   first_key, rows_below, byte, last_cell ... rows_shift of a
//   block;
//                                   as many times as there are blocks
//   int64    the words of the cells' bits
//
// Of several columns: joint_binary.h. Both readers end in kde::validate: a kde value that exists
// obeys every rule of the format.
#include "pg/base/pg.h"

#include "core/density/histogram_view.h"
#include "core/density/text.h"
#include "core/joint/text.h"
#include "pg/type/density_datum.h"
#include "pg/base/interrupts.h"
#include "pg/type/joint_binary.h"
#include "pg/base/owned.h"
#include "pg/type/type_binary.h"

#include <bit>
#include <cstring>
#include <string>
#include <vector>

extern "C" {
#include "libpq/pqformat.h"
#include "nodes/pg_list.h"
#include "utils/memutils.h"
#include "utils/varlena.h"
}

namespace {

using kde::DensityView;
using kde::Header;
using kde::Status;
using kde_pg::invalid_binary;
using kde_pg::Owned;

using Words = std::vector<std::uint64_t>;

// The doubles of a header, in order.
constexpr int kHeaderDoubles =
    (offsetof(Header, count_error) - offsetof(Header, rows)) / sizeof(double);

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
  constexpr int kHeaderBytes = 6 + 2 + 3 * 4 + kHeaderDoubles * 8 + 2 * kde::kErrorScales * 4;
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
  header.reserved = static_cast<std::uint16_t>(pq_getmsgint(message, 2));
  header.exponent = static_cast<std::int32_t>(pq_getmsgint(message, 4));
  header.atoms = pq_getmsgint(message, 4);
  header.knots = pq_getmsgint(message, 4);
  double doubles[kHeaderDoubles];
  for (double& x : doubles) x = pq_getmsgfloat8(message);
  std::memcpy(&header.rows, doubles, sizeof doubles);
  for (float& x : header.count_error) x = pq_getmsgfloat4(message);
  for (float& x : header.mean_error) x = pq_getmsgfloat4(message);
  return header;
}

// The arrays in stored order; `knots` and `atoms` are known to be small.
void receive_arrays(StringInfo message, const Header& header, Writer* out) {
  const std::size_t blocks =
      header.knots == 0 ? 0 : (header.knots - 1 + kde::kBlockCells - 1) / kde::kBlockCells;
  for (std::size_t i = 0; i < 2 * std::size_t{header.atoms}; ++i) {
    if (header.lattice_atoms()) {
      out->put(static_cast<std::uint32_t>(pq_getmsgint(message, 4)));
    } else {
      out->put(pq_getmsgfloat8(message));
    }
  }
  for (std::size_t i = 0; i < 2 * std::size_t{header.knots}; ++i)
    out->put(static_cast<std::uint32_t>(pq_getmsgint(message, 4)));
  for (std::size_t i = 0; i < 2 * blocks; ++i) out->put(pq_getmsgfloat4(message));
  for (std::size_t i = 0; i < 2 * std::size_t{header.knots}; ++i)
    out->put(static_cast<std::uint16_t>(pq_getmsgint(message, 2)));
}

// The same for a histogram; what is left of the message are the cells' bits.
void receive_histogram(StringInfo message, const Header& header, Writer* out) {
  for (std::size_t i = 0; i < 2 * std::size_t{header.atoms}; ++i)
    out->put(pq_getmsgfloat8(message));
  for (std::uint32_t i = 0; i < header.knots; ++i) {
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

// Bytes of the stored form; refuses what cannot be one before anything of that size is allocated.
// The arrays take as many bytes on the wire.
Size stored_size(StringInfo message, const Header& header) {
  const auto left = static_cast<Size>(bytes_left(message));
  if (header.kind == kde::Kind::histogram) {
    if (header.atoms > kde::kMaxBytes || header.knots > kde::kMaxBytes)
      invalid_binary("wrong number of blocks or atoms");
    const Size arrays =
        header.atoms * 2 * sizeof(double) + header.knots * sizeof(kde::HistogramBlock);
    if (left < arrays || left % sizeof(std::uint64_t) != 0 || left > kde::kMaxBytes - sizeof header)
      invalid_binary("length does not fit its contents");
    return sizeof header + left;
  }
  if (header.atoms > kde::kMaxBytes || header.knots > kde::kMaxBytes || header.knots == 1 ||
      kde::density_size(header.atoms, header.knots, header.lattice_atoms()) > kde::kMaxBytes)
    invalid_binary("wrong number of knots or atoms");
  const Size size = kde::density_size(header.atoms, header.knots, header.lattice_atoms());
  if (left != size - sizeof(Header)) invalid_binary("length does not fit its contents");
  return size;
}

// ------------------------------------------------------------------------------ binary output

void send_header(StringInfo out, const Header& header) {
  pq_sendint8(out, header.version);
  pq_sendint8(out, static_cast<uint8>(header.kind));
  pq_sendint8(out, static_cast<uint8>(header.kernel));
  pq_sendint8(out, header.flags);
  pq_sendint8(out, static_cast<uint8>(header.value_type));
  pq_sendint8(out, static_cast<uint8>(header.method));
  pq_sendint16(out, header.reserved);
  pq_sendint32(out, static_cast<uint32>(header.exponent));
  pq_sendint32(out, header.atoms);
  pq_sendint32(out, header.knots);
  double doubles[kHeaderDoubles];
  std::memcpy(doubles, &header.rows, sizeof doubles);
  for (double x : doubles) pq_sendfloat8(out, x);
  for (float x : header.count_error) pq_sendfloat4(out, x);
  for (float x : header.mean_error) pq_sendfloat4(out, x);
}

void send_arrays(StringInfo out, const DensityView& density) {
  const auto position = [&density](int i) {
    return std::bit_cast<std::uint64_t>(density.knot_u(i));
  };
  if (density.header().lattice_atoms()) {
    for (int i = 0; i < density.atoms(); ++i) pq_sendint32(out, density.atom_point_raw(i));
    for (int i = 0; i < density.atoms(); ++i) pq_sendint32(out, density.atom_mass_raw(i));
  } else {
    for (int i = 0; i < density.atoms(); ++i) pq_sendfloat8(out, density.atom_value(i));
    for (int i = 0; i < density.atoms(); ++i) pq_sendfloat8(out, density.atom_cumulative_rows(i));
  }
  for (int i = 0; i < density.knots(); ++i) pq_sendint32(out, density.knot_mass_raw(i));
  for (int i = 0; i < density.knots(); ++i)
    pq_sendint32(out, static_cast<uint32>(position(i) >> 32));
  for (int b = 0; b < density.blocks(); ++b) {
    pq_sendfloat4(out, density.block_moment(b, 1));
    pq_sendfloat4(out, density.block_moment(b, 2));
  }
  for (int i = 0; i < density.knots(); ++i)
    pq_sendint16(out, static_cast<uint16>(position(i) >> 16));
  for (int i = 0; i < density.knots(); ++i) pq_sendint16(out, density.knot_slope_raw(i));
}

void send_histogram(StringInfo out, const kde::HistogramView& d, Size size) {
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

kde::Header* receive_density(StringInfo message, Size* size) {
  const Header header = receive_header(message);
  *size = stored_size(message, header);
  char* bytes = static_cast<char*>(palloc(*size));
  Writer writer = {bytes};
  writer.put(header);
  if (header.kind == kde::Kind::histogram) {
    receive_histogram(message, header, &writer);
  } else {
    receive_arrays(message, header, &writer);
  }
  Assert(writer.next == bytes + *size);
  return reinterpret_cast<Header*>(bytes);
}

void send_density(StringInfo out, const Header* density) {
  send_header(out, *density);
  if (density->kind == kde::Kind::histogram) {
    send_histogram(out, kde::HistogramView(density), kde::histogram_size(density, kde::kMaxBytes));
  } else {
    send_arrays(out, DensityView(density));
  }
}

}  // namespace kde_pg

// kde_in(cstring) -> kde. Errors: 22P02 with what is wrong, soft from PostgreSQL 16 on; of text
// that could be a density's name with the call that finds it: an untyped literal is read here where
// a function takes values alone.
KDE_FUNCTION(kde_in) {
  const char* input = PG_GETARG_CSTRING(0);
  MemoryContext work = create_work_memory();
  Words* words = Owned<Words>::create(work);
  std::size_t size = 0;
  const Status status = kde::from_text(input, words, &size, kde_pg::begin_core_work(1));
  Datum result = 0;
  if (status.ok()) result = kde_pg::density_to_datum(words->data(), size);
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
KDE_FUNCTION(kde_out) {
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
KDE_FUNCTION(kde_recv) {
  auto* message = reinterpret_cast<StringInfo>(PG_GETARG_POINTER(0));
  if (is_joint_message(message)) PG_RETURN_POINTER(kde_pg::receive_joint(message));
  Size size;
  Header* density = kde_pg::receive_density(message, &size);
  const Status status = kde::validate(density, size);
  if (!status.ok()) invalid_binary(status.message);
  SET_VARSIZE(density, size);
  PG_RETURN_POINTER(density);
}

// kde_send(kde) -> bytea.
KDE_FUNCTION(kde_send) {
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
