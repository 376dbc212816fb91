// See grid_table.h.
#include "core/grid/grid_table.h"

#include <algorithm>
#include <array>

namespace kde {

namespace {

// A window is of half the room. It is looked for by so many stretches of what keys span, and worth it
// where a share of its slots is used. Beyond it there is room for as many as are, and a share.
constexpr std::size_t kStretches = 4096, kLeastWindow = 1024, kLeastUsed = 16, kLeastHashed = 16;

}  // namespace

Status GridTable::rebuild(const Memory& memory, std::size_t capacity, std::int64_t first,
                          std::size_t window) {
  GridTable to = *this;
  const std::size_t doubles = (window + capacity) * stride_;
  to.slots_ = static_cast<double*>(memory.allocate(memory.context, doubles * sizeof(double)));
  if (to.slots_ == nullptr) return out_of_memory();
  std::fill_n(to.slots_, doubles, 0.0);
  to.capacity_ = capacity;
  to.first_ = first;
  to.window_ = window;
  to.size_ = to.hashed_ = 0;
  for (std::size_t i = 0; i < slots(); ++i)
    if (is_used(i)) to.add(key_at(i), slot(i));
  if (slots_ != nullptr) memory.release(memory.context, slots_);
  *this = to;
  return Status::success();
}

Status GridTable::reserve(const Memory& memory, std::size_t hashed) {
  const std::size_t capacity = capacity_for(hashed);
  room_ = std::max(room_, capacity);
  if (capacity <= capacity_) return Status::success();
  return rebuild(memory, capacity, first_, window_);
}

Status GridTable::begin(const Memory& memory, std::size_t hashed, std::int64_t first,
                        std::size_t window) {
  room_ = std::max(capacity_for(hashed), window);
  return rebuild(memory, capacity_for(hashed), first, window);
}

// Where most odd keys are, in the middle if all are.
void GridTable::choose_window(std::int64_t* first, std::size_t* window) const {
  *window = 0;
  const std::size_t most = std::min(room_ / 2, kMostWindow);
  if (most < kLeastWindow) return;
  std::int64_t least = std::numeric_limits<std::int64_t>::max(), greatest = kNoKey;
  const auto for_each_odd = [this](const auto& f) {
    for (std::size_t i = 0; i < slots(); ++i)
      if (is_used(i) && (key_at(i) & 1) != 0) f(key_at(i));
  };
  for_each_odd([&](std::int64_t key) {
    least = std::min(least, key);
    greatest = std::max(greatest, key);
  });
  if (least > greatest) return;
  const auto place = [least](std::int64_t key) {
    return (static_cast<std::uint64_t>(key) - static_cast<std::uint64_t>(least)) / 2;
  };
  const std::uint64_t span = place(greatest) + 1;
  const auto shift = static_cast<int>(std::bit_width(span / kStretches));
  const auto stretches = static_cast<std::size_t>(most >> shift);
  std::array<std::uint32_t, kStretches> used{};
  for_each_odd([&](std::int64_t key) { ++used[static_cast<std::size_t>(place(key) >> shift)]; });
  std::size_t within = 0, best = 0, begin = 0;
  for (std::size_t i = 0; i < kStretches; ++i) {
    within += used[i];
    if (i >= stretches) within -= used[i - stretches];
    if (within <= best) continue;
    best = within;
    begin = i + 1 - std::min(i + 1, stretches);
  }
  if (best < most / kLeastUsed) return;
  const std::uint64_t before = span < most ? (most - span) / 2 : 0;
  *first = least + 2 * static_cast<std::int64_t>((begin << shift) - before);
  *window = most;
}

Status GridTable::map(const Memory& memory, FunctionRef<std::int64_t(std::int64_t)> key) {
  if (size_ == 0) return Status::success();
  for (std::size_t i = 0; i < slots(); ++i)
    if (is_used(i)) slot(i)[0] = std::bit_cast<double>(key(key_at(i)) ^ kNoKey);
  std::int64_t first = 0;
  std::size_t window = 0;
  choose_window(&first, &window);
  std::size_t hashed = 0;
  for (std::size_t i = 0; i < slots(); ++i) {
    if (!is_used(i)) continue;
    const auto place =
        std::rotr(static_cast<std::uint64_t>(key_at(i)) - static_cast<std::uint64_t>(first), 1);
    hashed += place < window ? 0 : 1;
  }
  return rebuild(memory, capacity_for(std::max(hashed, room_ / kLeastHashed)), first, window);
}

void GridTable::release(const Memory& memory) {
  if (slots_ != nullptr) memory.release(memory.context, slots_);
  const std::size_t stride = stride_;
  *this = GridTable();
  stride_ = stride;
}

}  // namespace kde
