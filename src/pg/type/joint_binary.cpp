// The binary form of a joint density, read and written: COPY BINARY, drivers.
#include "pg/type/joint_binary.h"

#include "pg/type/type_binary.h"

#include "core/kde.h"

extern "C" {
#include "libpq/pqformat.h"
}

#include <cstring>

namespace kde_pg {

namespace {

using kde::JointColumn;
using kde::JointHeader;
using kde::JointLayout;

constexpr int kHeaderBytes = 8 + 4 + 6 * 8 + 2 * kde::kErrorScales * 4;
constexpr int kColumnBytes = 4 + 3 * 4 + 4 * 8;
// A length word is no part of what is sent.
constexpr Size kNotSent = sizeof(kde::Header::varlena);

Size bytes_left(StringInfo message) { return static_cast<Size>(message->len - message->cursor); }

void receive_header(StringInfo message, JointHeader* h) {
  if (bytes_left(message) < kHeaderBytes) invalid_binary("too short");
  h->version = static_cast<std::uint8_t>(pq_getmsgbyte(message));
  h->kind = static_cast<kde::Kind>(pq_getmsgbyte(message));
  h->columns = static_cast<std::uint8_t>(pq_getmsgbyte(message));
  h->flags = static_cast<std::uint8_t>(pq_getmsgbyte(message));
  h->method = static_cast<kde::JointMethod>(pq_getmsgbyte(message));
  for (std::uint8_t& b : h->reserved) b = static_cast<std::uint8_t>(pq_getmsgbyte(message));
  h->points = pq_getmsgint(message, 4);
  for (double* x : {&h->rows, &h->sample_rows, &h->own_rows, &h->sampling_variance,
                    &h->reading_variance, &h->rows_variance})
    *x = pq_getmsgfloat8(message);
  for (float& x : h->count_error) x = pq_getmsgfloat4(message);
  for (float& x : h->mean_error) x = pq_getmsgfloat4(message);
  if (h->columns < 2 || h->columns > kde::kMaxColumns)
    invalid_binary("number of columns is out of range");
}

// As sent: marginal_bytes are those on the wire.
void receive_columns(StringInfo message, int columns, JointColumn* column) {
  if (bytes_left(message) < static_cast<Size>(columns * kColumnBytes)) invalid_binary("too short");
  for (int k = 0; k < columns; ++k) {
    JointColumn& c = column[k];
    c.value_type = static_cast<kde::ValueType>(pq_getmsgbyte(message));
    c.flags = static_cast<std::uint8_t>(pq_getmsgbyte(message));
    c.value_bytes = static_cast<std::uint8_t>(pq_getmsgbyte(message));
    c.reserved = static_cast<std::uint8_t>(pq_getmsgbyte(message));
    c.heavy = pq_getmsgint(message, 4);
    c.marginal_bytes = pq_getmsgint(message, 4);
    c.reserved2 = pq_getmsgint(message, 4);
    for (double* x : {&c.center, &c.bandwidth, &c.value_center, &c.value_unit})
      *x = pq_getmsgfloat8(message);
    // Words may be longer in another encoding.
    const bool fits = c.is_category() ? c.marginal_bytes < kde::kMaxJointBytes
                                      : c.marginal_bytes <= kde::kMaxBytes &&
                                            (c.marginal_bytes + kNotSent) % sizeof(double) == 0;
    if (c.heavy > kde::kMaxHeavy || !fits) invalid_binary("length does not fit its contents");
  }
}

// The next marginal of the message, palloc'ed; sets its bytes, of which there are `most`.
kde::Header* receive_marginal(StringInfo message, JointColumn* column, Size most) {
  StringInfoData part = *message;
  part.data = message->data + message->cursor;
  part.len = static_cast<int>(column->marginal_bytes);
  part.cursor = 0;
  Size size;
  kde::Header* marginal = receive_density(
      &part, column->is_category() ? Followed::by_measures : Followed::by_nothing, &size);
  const bool whole =
      column->is_category() ? part.cursor == part.len : size == column->marginal_bytes + kNotSent;
  if (!whole || size > most || size % sizeof(double) != 0)
    invalid_binary("length does not fit its contents");
  column->marginal_bytes = static_cast<std::uint32_t>(size);
  (void)pq_getmsgbytes(message, part.len);
  return marginal;
}

void receive_numbers(StringInfo message, void* out, Size count) {
  auto* numbers = static_cast<std::uint32_t*>(out);
  for (Size i = 0; i < count; ++i) numbers[i] = pq_getmsgint(message, 4);
}

void send_numbers(StringInfo out, const char* numbers, Size count) {
  for (Size i = 0; i < count; ++i) {
    uint32 x;
    std::memcpy(&x, numbers + i * sizeof x, sizeof x);
    pq_sendint32(out, x);
  }
}

}  // namespace

struct varlena* receive_joint(StringInfo message) {
  JointHeader header = {};
  JointColumn column[kde::kMaxColumns] = {};
  receive_header(message, &header);
  receive_columns(message, header.columns, column);
  kde::JointSizes sizes;
  for (int k = 0; k < header.columns; ++k) sizes.add(column[k]);
  const Size on_wire = sizes.marginal_bytes;
  sizes.marginal_bytes += header.columns * kNotSent;
  JointLayout at = kde::joint_layout(header, sizes);
  // Nothing is allocated but for a message that holds as much.
  if (at.size > kde::kMaxJointBytes || bytes_left(message) != (at.marginal - at.correlation) +
                                                                  on_wire + (at.box - at.effect) +
                                                                  (at.size - at.coordinate))
    invalid_binary("length does not fit its contents");

  const Size doubles = at.marginal - at.correlation;
  char* front = static_cast<char*>(palloc(doubles + 1));
  for (char* next = front; next < front + doubles; next += sizeof(double)) {
    const double x = pq_getmsgfloat8(message);
    std::memcpy(next, &x, sizeof x);
  }
  kde::Header* marginal[kde::kMaxColumns];
  sizes.marginal_bytes = 0;
  for (int k = 0; k < header.columns; ++k) {
    marginal[k] = receive_marginal(message, &column[k], kde::kMaxJointBytes - sizes.marginal_bytes);
    sizes.marginal_bytes += column[k].marginal_bytes;
  }
  at = kde::joint_layout(header, sizes);
  if (at.size > kde::kMaxJointBytes) invalid_binary("length does not fit its contents");
  char* bytes = static_cast<char*>(palloc0(at.size));
  std::memcpy(bytes + at.correlation, front, doubles);
  char* next = bytes + at.marginal;
  for (int k = 0; k < header.columns; ++k) {
    std::memcpy(next, marginal[k], column[k].marginal_bytes);
    next += column[k].marginal_bytes;
    pfree(marginal[k]);
  }
  pfree(front);
  receive_numbers(message, bytes + at.effect, (at.box - at.effect) / 4);
  receive_numbers(message, bytes + at.coordinate, (at.size - at.coordinate) / 4);
  std::memcpy(bytes, &header, sizeof header);
  std::memcpy(bytes + at.column, column, header.columns * sizeof(JointColumn));
  if (kde::joint_size(bytes, at.size) != at.size)
    invalid_binary("length does not fit its contents");
  kde::write_boxes(bytes);
  const kde::Status status = kde::validate_joint(bytes, at.size);
  if (!status.ok()) invalid_binary(status.message);
  SET_VARSIZE(bytes, at.size);
  return reinterpret_cast<struct varlena*>(bytes);
}

void send_joint(StringInfo out, const JointHeader* density) {
  const kde::JointView d(density);
  pq_sendint8(out, density->version);
  pq_sendint8(out, static_cast<uint8>(density->kind));
  pq_sendint8(out, density->columns);
  pq_sendint8(out, density->flags);
  pq_sendint8(out, static_cast<uint8>(density->method));
  for (std::uint8_t b : density->reserved) pq_sendint8(out, b);
  pq_sendint32(out, density->points);
  for (double x : {density->rows, density->sample_rows, density->own_rows,
                   density->sampling_variance, density->reading_variance, density->rows_variance})
    pq_sendfloat8(out, x);
  for (float x : density->count_error) pq_sendfloat4(out, x);
  for (float x : density->mean_error) pq_sendfloat4(out, x);
  kde::JointSizes sizes;
  StringInfoData marginals;
  initStringInfo(&marginals);
  for (int k = 0; k < d.columns(); ++k) {
    const JointColumn& c = d.column(k);
    const int before = marginals.len;
    send_density(&marginals, d.marginal(k));
    sizes.add(c);
    pq_sendint8(out, static_cast<uint8>(c.value_type));
    pq_sendint8(out, c.flags);
    pq_sendint8(out, c.value_bytes);
    pq_sendint8(out, c.reserved);
    pq_sendint32(out, c.heavy);
    pq_sendint32(out, static_cast<uint32>(marginals.len - before));
    pq_sendint32(out, c.reserved2);
    for (double x : {c.center, c.bandwidth, c.value_center, c.value_unit}) pq_sendfloat8(out, x);
  }
  const JointLayout at = kde::joint_layout(*density, sizes);
  const char* bytes = reinterpret_cast<const char*>(density);
  for (Size i = at.correlation; i < at.marginal; i += sizeof(double)) {
    double x;
    std::memcpy(&x, bytes + i, sizeof x);
    pq_sendfloat8(out, x);
  }
  pq_sendbytes(out, marginals.data, marginals.len);
  pfree(marginals.data);
  send_numbers(out, bytes + at.effect, (at.box - at.effect) / 4);
  send_numbers(out, bytes + at.coordinate, (at.size - at.coordinate) / 4);
}

}  // namespace kde_pg
