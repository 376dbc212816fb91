// The elements of a List for range-based loops, as foreach() goes through them: those that are appended
// meanwhile come, too.
#pragma once

#include <type_traits>

extern "C" {
#include "nodes/pg_list.h"
}

namespace kde_pg {

template <typename T>
class OfList {
 public:
  explicit OfList(const List* list) : list_(list) {}

  struct Iterator {
    const List* list;
    int i;
    T operator*() const {
      const ListCell* cell = &list->elements[i];
      if constexpr (std::is_pointer_v<T>)
        return static_cast<T>(lfirst(cell));
      else
        return std::is_same_v<T, Oid> ? static_cast<T>(lfirst_oid(cell))
                                      : static_cast<T>(lfirst_int(cell));
    }
    void operator++() { ++i; }
    bool operator!=(const Iterator&) const { return i < list_length(list); }
  };
  Iterator begin() const { return {list_, 0}; }
  Iterator end() const { return {list_, 0}; }

 private:
  const List* list_;
};

template <typename T>
OfList<T*> of_list(const List* list) {
  return OfList<T*>(list);
}
inline OfList<Oid> oids(const List* list) { return OfList<Oid>(list); }
inline OfList<int> ints(const List* list) { return OfList<int>(list); }

}  // namespace kde_pg
