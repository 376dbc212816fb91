// Values of a type that need not be numbers, numbered as they are met: 1, 2, ... Values are the
// same where the type's default hash operator class says so, under the column's collation, as in
// GROUP BY.
#pragma once

#include "pg/base/pg.h"

#include "core/kde.h"

extern "C" {
#include "utils/typcache.h"
}

namespace kde_pg {

// Trivially destructible: what it holds is its context's.
class Categories {
 public:
  // Error 42883 for a type without equality that can be hashed. name: of the column, for messages.
  void begin(Oid type, Oid collation, const char* name, MemoryContext context);

  // Of a non-null value. Errors: those of the type's functions.
  uint32 number(Datum value);
  uint32 size() const { return size_; }
  Datum value(uint32 number) const { return entry_[number - 1].value; }

  // As the type's output function prints it; palloc'ed. To be called with settings pinned, so that
  // it reads back in any session.
  char* text(uint32 number) const;

 private:
  struct Entry {
    Datum value;
    uint32 hash;
  };

  void grow();

  MemoryContext context_;
  TypeCacheEntry* type_;
  Oid collation_;
  FmgrInfo output_;
  Entry* entry_;   // number n at n - 1
  uint32* place_;  // open addressing: numbers, 0 where free
  uint32 size_, places_;
};

}  // namespace kde_pg
