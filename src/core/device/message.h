// Messages of wire.h over a socket: whole ones or a reason why not, and never a wait that its
// caller cannot end. For either end of the socket, which may be blocking or not.
#pragma once

#include <cstddef>
#include <span>

#include "core/device/wire.h"
#include "core/status.h"

namespace kde {

// Who waits, and whether it still does. Called by the waiting thread alone.
class Waiter {
 public:
  virtual ~Waiter() = default;
  // After every kSliceMs in which nothing moved, and after every signal; an error ends the wait and
  // is its result.
  virtual Status go_on() = 0;
  // Bytes have gone through.
  virtual void moved() {}
};

// What follows a message's Head, in this order.
struct Payload {
  std::span<const std::byte> body = {};  // the type's struct
  std::span<const double> numbers = {};
  int descriptor = -1;  // passed along, and stays the caller's
};

// One call of the system where the socket takes it whole. A peer that has hung up is no error here:
// what it said last is still there to be received. Errors: unavailable (no memory for it), failed,
// the waiter's.
Status send_message(int socket, wire::Type type, const Payload& payload, Waiter& waiter);

// Fills `out`. Errors: failed (the peer hung up, at once or in the middle), the waiter's.
Status receive_bytes(int socket, std::span<std::byte> out, Waiter& waiter);

// A Head with its magic checked, then its version, then that its body is at most kMaxBody. Errors:
// unavailable (another version), failed (nonsense), as receive_bytes.
Status receive_head(int socket, wire::Head* head, Waiter& waiter);

// The bytes of a struct of wire.h.
template <class Struct>
std::span<const std::byte> bytes_of(const Struct& value) {
  return std::as_bytes(std::span(&value, 1));
}
template <class Struct>
std::span<std::byte> writable_bytes_of(Struct& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

// Whether a text of fixed size is terminated. Bytes that are not printable ASCII become `?`: it may
// end in a log or a message of another encoding.
bool make_printable(std::span<char> text);

}  // namespace kde
