// The values of an aggregate's rows, of aggregates that no sums tell: percentiles, of the range column
// by counts up to a value, and those of the values that differ, which are groups' and parts'.
// Internal to src/pg/plain_sql.
#pragma once

#include "pg/plain_sql/hashed_entries.h"
#include "pg/plain_sql/value_steps.h"

#include "core/kde.h"

namespace kde_pg {

// Values of the range column: of the rows in ranges of densities, which may be taken out, and values
// that were read. The k-th is the least value up to which there are k rows,
//
//   least x with #{rows in a range, value <= x} >= k,
//
// which bisection finds, on the type's steps or on the doubles themselves. What is between two cells'
// ends is known within the cell: an interval.
class OrderedValues {
 public:
  // `rows` of it. The density outlives it.
  void add(const kde::AnyDensity& density, const kde::Range& range, const kde::Interval& rows,
           bool out);
  void add(const OrderedValues& other, bool out);
  // In any order.
  void add_read(double value);
  // The k-th value, from 1. steps: of the column; without any, doubles. False: an end of it is not
  // known.
  bool find(double k, const ValueSteps& steps, const kde::IntervalOptions& options,
            kde::Interval* value);
  // Questions that a density was asked so far.
  double asked() const { return asked_; }
  // The density whose values they are, all of them; null: they are others.
  const kde::AnyDensity* whole() const;

 private:
  struct Piece {
    kde::AnyDensity density;
    kde::Range range;
    kde::Interval rows;
    bool out;
  };
  // Rows up to x.
  kde::Interval count_to(double x, const kde::IntervalOptions& options);
  void sort();

  List* pieces_ = NIL;  // Piece*
  double* read_ = nullptr;
  int read_count_ = 0, room_ = 0;
  bool sorted_ = true;
  double asked_ = 0;
};

// Values that differ, each with its rows.
class DistinctValues {
 public:
  struct Entry {
    uint32 hash;
    Datum value;
    kde::Interval rows;
  };
  DistinctValues(Oid type, Oid collation);
  void add(Datum value, const kde::Interval& rows, bool out);
  void add(const DistinctValues& other, bool out);
  List* entries() const { return entries_.all(); }  // Entry*, in the order in which they came
  // How many have rows. False: of one that is not certain.
  bool count(double* n) const;
  // The least of those of the most rows; null: there is none. False: which it is, is not certain.
  bool most_frequent(const Entry** most) const;

 private:
  HashedEntries<Entry> entries_;
  HashedValue key_;
  FmgrInfo* order_;
  bool by_value_;
  int16 length_;
};

}  // namespace kde_pg
