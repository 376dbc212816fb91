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

namespace kde_pg {

// Names are looked up in pg_catalog alone; dates, times, intervals and numbers are printed so that
// they read back as they were, whatever the session's settings.
class PinnedSettings {
 public:
  void begin();
  void end();

 private:
  int nest_ = 0;
};

// Names are looked up in pg_catalog alone.
class PinnedSearchPath {
 public:
  void begin();
  void end();

 private:
  int nest_ = 0;
};

// Lines of "NAME=VALUE", those that a density was fitted under; null: none.
class FittedSettings {
 public:
  void begin(const char* settings);
  void end();

 private:
  int nest_ = 0;
};

// No density answers a query, as it might with kde_aqp.approximate = all: for exact ones.
class PinnedExact {
 public:
  void begin();
  void end();

 private:
  int nest_ = 0;
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
