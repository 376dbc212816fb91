// See consent.h.
#include "pg/plain_sql/consent.h"

extern "C" {
#include "utils/hsearch.h"
#include "utils/inval.h"
}

namespace kde_pg {

namespace {

// Beyond so many tables all are forgotten.
constexpr long kMostTables = 10000;

HTAB* tables = nullptr;
uint64 invalidations = 0;

void forget_all() {
  if (tables != nullptr) hash_destroy(tables);
  tables = nullptr;
}

void forget(Datum, Oid relation) {
  ++invalidations;
  if (tables == nullptr) return;
  if (OidIsValid(relation))
    hash_search(tables, &relation, HASH_REMOVE, nullptr);
  else
    forget_all();
}

}  // namespace

bool has_no_consent(Oid relation) {
  return tables != nullptr && hash_search(tables, &relation, HASH_FIND, nullptr) != nullptr;
}

uint64 consent_invalidations() { return invalidations; }

void note_no_consent(Oid relation, uint64 before) {
  if (before != invalidations) return;
  if (tables != nullptr && hash_get_num_entries(tables) >= kMostTables) forget_all();
  if (tables == nullptr) {
    HASHCTL control = {};
    control.keysize = control.entrysize = sizeof(Oid);
    control.hcxt = CacheMemoryContext;
    tables = hash_create("kde_aqp tables of functions alone", 64, &control,
                         HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
  }
  hash_search(tables, &relation, HASH_ENTER, nullptr);
}

void register_consent_callback() { CacheRegisterRelcacheCallback(forget, 0); }

}  // namespace kde_pg
