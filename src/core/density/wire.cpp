// The passage between the stored form and that of wire.h: one way for both.
#include "core/density/wire.h"

#include "core/density/fields.h"
#include "core/density/layout.h"

#include <bit>
#include <cstring>

namespace kde {

namespace {

// The bytes of every number in x, from the machine's order to the network's or back.
template <typename T>
void turn(T& x) {
  if constexpr (std::is_class_v<T>) {
    fields(x, [](const char*, auto& field, FieldRange = {}) {
      each_number(field, [](auto& number) { turn(number); });
    });
  } else if constexpr (sizeof x == 2) {
    x = std::bit_cast<T>(__builtin_bswap16(std::bit_cast<std::uint16_t>(x)));
  } else if constexpr (sizeof x == 4) {
    x = std::bit_cast<T>(__builtin_bswap32(std::bit_cast<std::uint32_t>(x)));
  } else if constexpr (sizeof x == 8) {
    x = std::bit_cast<T>(__builtin_bswap64(std::bit_cast<std::uint64_t>(x)));
  }
}

// Passes numbers from the one order to the other; in slices, as many bytes are long.
struct Turning {
  const char* from;
  char* to;
  const Control& control;

  template <typename T>
  bool operator()(std::size_t at, std::size_t n) const {
    constexpr std::size_t kSlice = std::size_t{1} << 20;
    for (std::size_t i = 0; i < n; ++i, at += sizeof(T)) {
      if (i % kSlice == kSlice - 1 && control.stop_requested()) return false;
      T x;
      std::memcpy(&x, from + at, sizeof x);
      if constexpr (std::endian::native == std::endian::little) turn(x);
      std::memcpy(to + at, &x, sizeof x);
    }
    return true;
  }
};

// The fields up to the kind have their place in every kind.
constexpr std::size_t kPrefix = offsetof(Header, flags);

// machine: that of the two sides which has the machine's order.
bool pass(const Turning& turning, const void* machine, std::size_t size, Kind kind) {
  Walk<Turning> walk(machine, size, turning);
  return (kind == Kind::joint ? walk.joint() : walk.whole() != nullptr) && walk.at() == size;
}

template <typename FirstStruct>
Status check_first(const void* density, std::size_t size) {
  if (size < sizeof(FirstStruct)) return invalid("too short");
  return check_fields(*static_cast<const FirstStruct*>(density));
}

}  // namespace

bool to_wire(const void* density, std::size_t size, std::uint8_t encoding, char* wire) noexcept {
  if (size < kPrefix || !pass({static_cast<const char*>(density), wire, Control{}}, density, size,
                              static_cast<const Header*>(density)->kind))
    return false;
  const std::uint8_t begin[sizeof(Header::varlena)] = {kFormatVersion, encoding};
  std::memcpy(wire, begin, sizeof begin);
  return true;
}

Status from_wire(const char* wire, std::size_t size, void* density, std::uint8_t* encoding,
                 const Control& control) noexcept {
  if (size < kPrefix) return invalid("too short");
  const auto byte = [wire](std::size_t i) { return static_cast<std::uint8_t>(wire[i]); };
  // Another version may continue in any way.
  for (const std::uint8_t version : {byte(0), byte(offsetof(Header, version))})
    if (version != kFormatVersion)
      return Status::error(Code::invalid_format, "unknown format version %d", int{version});
  if (byte(2) != 0 || byte(3) != 0) return invalid("reserved field is not 0");
  const auto kind = static_cast<Kind>(byte(offsetof(Header, kind)));
  if (kind != Kind::one_column && kind != Kind::joint) return invalid("unknown kind of density");
  *encoding = byte(1);
  if (!pass({wire, static_cast<char*>(density), control}, density, size, kind)) {
    if (control.stop_requested()) return cancelled();
    // What has passed may tell why.
    const Status status = kind == Kind::joint ? check_first<JointHeader>(density, size)
                                              : check_first<Header>(density, size);
    return status.ok() ? invalid("length does not fit its contents") : status;
  }
  static_cast<Header*>(density)->varlena = 0;
  return validate(density, size, control);
}

}  // namespace kde
