// A C++ object owned by a memory context: its destructor runs when the context is reset or
// deleted, so also when an error abandons the work. The object itself lives in malloc'ed memory.
#pragma once

#include "pg/base/pg.h"

#include <new>
#include <utility>

namespace kde_pg {

template <typename T>
class Owned {
 public:
  // The callback is registered before the object exists: no moment at which it could leak.
  // Construction must not throw but for memory, which becomes ereport(ERROR).
  template <typename... Args>
  static T* create(MemoryContext context, Args&&... args) {
    Holder* holder = static_cast<Holder*>(MemoryContextAllocZero(context, sizeof(Holder)));
    holder->callback.func = [](void* arg) { delete static_cast<Holder*>(arg)->object; };
    holder->callback.arg = holder;
    MemoryContextRegisterResetCallback(context, &holder->callback);
    try {
      holder->object = new T(std::forward<Args>(args)...);
    } catch (...) {
      holder->object = nullptr;
    }
    if (holder->object == nullptr)
      ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
    return holder->object;
  }

 private:
  struct Holder {
    MemoryContextCallback callback;
    T* object;
  };
};

}  // namespace kde_pg
