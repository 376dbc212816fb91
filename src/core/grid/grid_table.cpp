// See grid_table.h.
#include "core/grid/grid_table.h"

#include <algorithm>

namespace kde {

template <typename Key>
Status GridTable::rebuild(const Memory& memory, std::size_t capacity, const Key& key) {
  GridTable to = *this;
  to.slots_ =
      static_cast<double*>(memory.allocate(memory.context, capacity * stride_ * sizeof(double)));
  if (to.slots_ == nullptr) return Status::error(Code::out_of_memory, "out of memory");
  std::fill_n(to.slots_, capacity * stride_, 0.0);
  to.capacity_ = capacity;
  to.size_ = 0;
  for (std::size_t i = 0; i < capacity_; ++i)
    if (is_used(i)) to.add(key(key_at(i)), slot(i));
  release(memory);
  *this = to;
  return Status::success();
}

Status GridTable::reserve(const Memory& memory, std::size_t size) {
  const std::size_t capacity = capacity_for(size);
  if (capacity <= capacity_) return Status::success();
  return rebuild(memory, capacity, [](std::int64_t key) { return key; });
}

Status GridTable::map(const Memory& memory, FunctionRef<std::int64_t(std::int64_t)> key) {
  if (size_ == 0) return Status::success();
  return rebuild(memory, capacity_, key);
}

void GridTable::release(const Memory& memory) {
  if (slots_ != nullptr) memory.release(memory.context, slots_);
  slots_ = nullptr;
  size_ = capacity_ = 0;
}

}  // namespace kde
