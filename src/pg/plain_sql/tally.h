// Totals of an answer's rows, each of what the query is grouped by: of a density those of its groups
// and parts, or of several sources, a density, those of stretches of blocks, which are taken out, and
// rows that were read.
// Internal to src/pg/plain_sql.
#pragma once

#include "pg/plain_sql/hashed_entries.h"
#include "pg/plain_sql/query_rows.h"
#include "pg/plain_sql/rest.h"

namespace kde_pg {

class PlainTally {
 public:
  struct Entry {
    PlainRow* row;  // what the query is by; the rest is NULL
    uint32 hash;
    int set;              // of the plan's grouping sets
    kde::Interval there;  // rows
    kde::Range around;    // all parts that they are of
    PlainTotal* answers;  // of each aggregate
  };

  explicit PlainTally(const PlainState& state) : state_(state) {}

  // That of what the set has of the key, or a new one.
  Entry* entry_of(const PlainRow& key, int set);
  // Of a density: `there` rows and their answers, of the entry's key and set; out: they are taken out.
  void add(const Entry& of, const kde::Interval& there, const PlainTotal* answers, bool out);
  // Of rows that were read.
  void add(const RestRow& row);
  // Entry*, in the order in which they came.
  List* entries() const { return entries_.all(); }

 private:
  void begin();
  void add_list(const PlainAggregate& a, const RestTotal& from, PlainTotal* to) const;
  void add_extreme(const PlainAggregate& a, const PlainTotal& from, bool out, PlainTotal* to) const;

  const PlainState& state_;
  HashedEntries<Entry> entries_;
  void add(const RestRow& row, Entry* entry);

  // What each grouping set is by, and the whole of it.
  int same_ = -1;  // that of the range column, too
  int* columns_ = nullptr;
  HashedValue** key_ = nullptr;
};

}  // namespace kde_pg
