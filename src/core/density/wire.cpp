// The passage between the stored form and that of wire.h: one walk for both ways.
#include "core/density/wire.h"

#include "core/density/checks.h"
#include "core/density/fields.h"
#include "core/density/histogram_view.h"

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

// Goes through the parts of a density from its first byte on, turning them. What tells how long a
// part is lies before it, and has passed: it is read on the machine's side. Each function but
// at_end() returns null or false where a part does not fit.
class Passage {
 public:
  // machine: from or to, whichever has the machine's order.
  Passage(const void* from, std::size_t size, void* to, const void* machine)
      : from_(static_cast<const char*>(from)),
        to_(static_cast<char*>(to)),
        machine_(static_cast<const char*>(machine)),
        size_(size) {}

  bool at_end() const { return at_ == size_; }

  // A density of one column and all that follows it.
  const Header* whole() {
    const Header* h = measured();
    if (h == nullptr || h->grouped == 0) return h;
    const auto* groups = pass<GroupsHeader>();
    for (std::uint32_t g = 0; groups != nullptr && g < groups->groups; ++g) {
      const auto* group = pass<GroupHeader>();
      if (group == nullptr) return nullptr;
      const std::size_t key = group->key_bytes == kNoKey ? 0 : aligned(group->key_bytes);
      if (pass<char>(key) == nullptr || measured() == nullptr) return nullptr;
    }
    return groups != nullptr ? h : nullptr;
  }

  bool joint() {
    const auto* h = pass<JointHeader>();
    if (h == nullptr || h->columns > kMaxColumns) return false;
    const auto* column = pass<JointColumn>(h->columns);
    if (column == nullptr || joint_size(h, size_) != size_) return false;
    JointSizes sizes;
    for (int k = 0; k < h->columns; ++k) sizes.add(column[k]);
    const JointLayout layout = joint_layout(*h, sizes);
    if (pass<double>((layout.marginal - layout.correlation) / sizeof(double)) == nullptr)
      return false;
    for (int k = 0; k < h->columns; ++k) {
      const std::size_t end = at_ + column[k].marginal_bytes;
      if (this->column() == nullptr || at_ != end) return false;
    }
    return pass<std::uint32_t>((size_ - at_) / sizeof(std::uint32_t)) != nullptr;
  }

 private:
  // The next n; where they lie on the machine's side.
  template <typename T>
  const T* pass(std::size_t n = 1) {
    if (n > (size_ - at_) / sizeof(T)) return nullptr;
    const auto* passed = reinterpret_cast<const T*>(machine_ + at_);
    for (; n > 0; --n, at_ += sizeof(T)) {
      T x;
      std::memcpy(&x, from_ + at_, sizeof x);
      if constexpr (std::endian::native == std::endian::little) turn(x);
      std::memcpy(to_ + at_, &x, sizeof x);
    }
    return passed;
  }

  const Header* cells() {
    const std::size_t begin = at_;
    const auto* h = pass<Header>();
    if (h == nullptr || pass<double>(2 * std::size_t{h->atoms}) == nullptr ||
        pass<HistogramBlock>(h->blocks) == nullptr)
      return nullptr;
    const std::size_t size = histogram_size(h, size_ - begin);
    if (size == 0 || pass<std::uint64_t>((begin + size - at_) / sizeof(std::uint64_t)) == nullptr)
      return nullptr;
    return h;
  }

  const Header* column() {
    const Header* h = cells();
    if (h == nullptr || h->words == 0) return h;
    const auto* w = pass<WordsHeader>();
    if (w == nullptr || w->words > kMostWords || w->text_bytes > kMostWordsBytes ||
        w->bytes != words_bytes(w->words, w->text_bytes, w->flags))
      return nullptr;
    const std::size_t begin = at_ - sizeof(WordsHeader);
    const std::size_t numbers = w->words * ((w->flags & kPlaced) != 0 ? 2UL : 1UL);
    if (pass<std::uint32_t>(w->words) == nullptr || pass<std::uint16_t>(numbers) == nullptr ||
        pass<char>(begin + w->bytes - at_) == nullptr)
      return nullptr;
    return h;
  }

  const Header* measured() {
    const Header* h = column();
    for (int k = 0; h != nullptr && k < h->measures; ++k) {
      const auto* m = pass<MeasureHeader>();
      if (m == nullptr) return nullptr;
      for (int p = 0; p < kMeasureParts; ++p)
        if (m->has(static_cast<MeasurePart>(p)) && cells() == nullptr) return nullptr;
    }
    return h;
  }

  const char* from_;
  char* to_;
  const char* machine_;
  std::size_t size_;
  std::size_t at_ = 0;
};

// The fields up to the kind have their place in every kind.
constexpr std::size_t kPrefix = offsetof(Header, kernel);

bool pass(const void* from, std::size_t size, void* to, const void* machine, Kind kind) {
  Passage passage(from, size, to, machine);
  return (kind == Kind::joint ? passage.joint() : passage.whole() != nullptr) && passage.at_end();
}

template <typename FirstStruct>
Status check_first(const void* density, std::size_t size) {
  if (size < sizeof(FirstStruct)) return invalid("too short");
  return check_fields(*static_cast<const FirstStruct*>(density));
}

}  // namespace

bool to_wire(const void* density, std::size_t size, std::uint8_t encoding, char* wire) noexcept {
  if (size < kPrefix ||
      !pass(density, size, wire, density, static_cast<const Header*>(density)->kind))
    return false;
  const std::uint8_t begin[sizeof(Header::varlena)] = {kFormatVersion, encoding};
  std::memcpy(wire, begin, sizeof begin);
  return true;
}

Status from_wire(const char* wire, std::size_t size, void* density,
                 std::uint8_t* encoding) noexcept {
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
  if (!pass(wire, size, density, density, kind)) return invalid("length does not fit its contents");
  static_cast<Header*>(density)->varlena = 0;
  return validate(density, size);
}

}  // namespace kde
