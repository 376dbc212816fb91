// Where flat objects have their arrays, so that PostgreSQL's memory contexts own them and see their size.
#pragma once

#include <cstddef>

namespace kde {

// Both keep to C: no exception, no jump.
struct Memory {
  void* (*allocate)(void* context, std::size_t bytes);  // 8-byte aligned; null: out of memory
  void (*release)(void* context, void* chunk);          // of allocate's; not null
  void* context;
};

}  // namespace kde
