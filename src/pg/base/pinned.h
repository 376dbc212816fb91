// Settings that what is parsed, printed and executed on behalf of the catalog does not take from
// the session.
//
// All classes are trivially destructible: an error restores what they changed with the
// transaction.
#pragma once

#include "pg/base/pg.h"

extern "C" {
#include "utils/relcache.h"
}

#include <string_view>

namespace kde_pg {

class Pinned {
 public:
  void end();

 protected:
  int nest_ = 0;
};

// Names are looked up in pg_catalog alone; dates, times, intervals and numbers are printed so that
// they read back as they were, whatever the session's settings.
struct PinnedSettings : Pinned {
  void begin();
};

// Names are looked up in pg_catalog alone.
struct PinnedSearchPath : Pinned {
  void begin();
};

// Calls visit(name, value) for each line "NAME=VALUE", until it returns false, which is then
// returned. lines: those that a density was fitted under; null: none.
template <typename Visit>
bool for_settings(const char* lines, Visit visit) {
  for (const char* line = lines; line != nullptr && *line != '\0';) {
    const char* end = strchrnul(line, '\n');
    const std::string_view all(line, static_cast<Size>(end - line));
    const Size equals = all.find('=');
    if (equals == all.npos || !visit(all.substr(0, equals), all.substr(equals + 1))) return false;
    line = *end == '\0' ? end : end + 1;
  }
  return true;
}

struct FittedSettings : Pinned {
  void begin(const char* settings);
};

// No density answers a query, as it might with kde_aqp.approximate = all: for exact ones.
struct PinnedExact : Pinned {
  void begin();
};

// The rights of a relation's owner, restricted to what a query may do, and nothing of the caller's
// search path in reach.
class AsOwner {
 public:
  void begin(Relation relation);
  void end();

 private:
  Oid user_ = InvalidOid;
  int security_ = 0;
  int nest_ = 0;
};

// For the rest of a background process: no timeout that is set with sessions in mind. One that ends
// the session would end the process.
void pin_timeouts();

}  // namespace kde_pg
