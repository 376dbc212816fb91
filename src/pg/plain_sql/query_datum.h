// From what a density answers to the values that the exact plan would have, as far as the density
// knows them: of the aggregate's type, sums of numeric with the column's decimals, means as
// numeric_div() of sum and count. What is not as accurate as is asked for is refused.
// Internal to src/pg/plain_sql.
#pragma once

#include "pg/plain_sql/query_rows.h"

#include <cmath>
#include <limits>

namespace kde_pg {

// Whether x, of that type, is a greatest (or least) value among those that are no greater than y.
bool reaches(const PlainAggregate& a, Oid type, Datum x, Datum y);

class PlainDatums {
 public:
  // density: of all groups; outlives it.
  PlainDatums(PlainState* state, const kde::AnyDensity& density)
      : state_(*state), density_(density) {}

  // Of aggregate k into the row, of a grouping set. False: refused.
  bool put(int k, const PlainTotal& answer, int set, PlainRow* row);
  // What a function demanded in place of a row.
  bool note_intervals(const PlainTotal* answers);

 private:
  // The decimals of a sum's values, as far as double precision has them.
  struct Digits {
    int decimals;  // -1: not known
    double unit;   // so many make one
    bool all;      // whether a sum has them
    double round(double sum) const { return all ? std::rint(sum * unit) / unit : sum; }
  };
  Digits digits_of(const PlainAggregate& a, const PlainTotal& answer) const;
  kde::Interval as_put(const PlainAggregate& a, const PlainTotal& answer) const;
  // Notes how far it may be off; false: too far. shown: what becomes of the estimate.
  bool is_close(const PlainAggregate& a, const kde::Interval& i, double shown, bool lost_digits);
  // The answer is inaccurate, by the worst that is met. Always false.
  bool refuse_far(double error, const char* detail);

  bool put_zero(const PlainTotal& answer, Oid type, Datum* value, bool* is_null);
  bool put_sum(const PlainAggregate& a, const PlainTotal& answer, bool is_end, Oid type,
               Datum* value, bool* is_null);
  bool put_mean(const PlainAggregate& a, const PlainTotal& answer, bool is_end, Oid type,
                Datum* value, bool* is_null);
  bool put_differing(const PlainAggregate& a, const PlainTotal& answer, Datum* value,
                     bool* is_null);
  struct Fractions {
    ArrayType* array;  // null: of one, not of an array
    Datum* value;
    bool* nulls;
    int n;
  };
  Fractions fractions_of(int k) const;
  bool are_fractions(int k) const;
  bool find_percentile(const PlainAggregate& a, const PlainTotal& answer, double p,
                       kde::Interval* out);
  bool put_percentile(const PlainAggregate& a, const PlainTotal& answer, double p, Oid type,
                      Datum* value);
  bool put_percentiles(int k, const PlainTotal& answer, Oid type, Datum* value, bool* is_null);
  bool put_extreme(const PlainAggregate& a, const PlainTotal& answer, Oid type, Datum* value,
                   bool* is_null);
  bool put_variance(const PlainAggregate& a, const PlainTotal& answer, bool is_end, Oid type,
                    Datum* value, bool* is_null);

  static constexpr double kFarthest = std::numeric_limits<double>::infinity();

  PlainState& state_;
  const kde::AnyDensity& density_;
  double worst_ = 0;
};

}  // namespace kde_pg
