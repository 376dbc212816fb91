// What a density says of the rows in a query's box, or in one part of it: of a group, of a bucket.
// Internal to src/pg/plain_sql.
#pragma once

#include "pg/plain_sql/answer_state.h"
#include "pg/plain_sql/value_sets.h"

#include "core/kde.h"

#include <limits>

namespace kde_pg {

// Whole numbers beyond it are not all doubles; answers by it are off by so much, at most.
inline constexpr double kMostWhole = 9007199254740992.0;

// As btrees have it: NaN is above all else.
bool is_less(double a, double b);
// Takes in a comparison of the column with x, by a btree's strategy.
void narrow(kde::Range* range, int strategy, double x);

// Of one aggregate.
struct PlainTotal {
  kde::Total total;
  kde::Interval zeros = {0, 0, 0};                            // rows that it adds 0 for
  int parts = 0;                                              // that were added up
  kde::Interval variance = {0, 0, 0};                         // or its root; all NaN for NULL
  double extreme = std::numeric_limits<double>::quiet_NaN();  // NaN: of no row
  // Of several sources (tally.h): what sums were added up or taken out in all, and the decimals of
  // what was read.
  bool together = false;
  double magnitude = 0;
  int decimals = 0;
  // The same of the least or greatest value: how many were read, and theirs; that of what was taken
  // out, NaN: not known.
  double values_read = 0;
  Datum extreme_read = 0;
  bool any = false, any_out = false;  // values of the density, of what was taken out
  double extreme_out = std::numeric_limits<double>::quiet_NaN();
  // Of rows of a sample that are counted: the ranges they are in, while each was after the one before.
  List* ranges = NIL;
  bool in_order = true;
  // Of percentiles, and of values that differ; null: of no row.
  OrderedValues* ordered = nullptr;
  DistinctValues* differing = nullptr;

  OrderedValues* its_ordered() {
    if (ordered == nullptr) ordered = new (palloc(sizeof(OrderedValues))) OrderedValues();
    return ordered;
  }
  DistinctValues* its_differing(const PlainAggregate& a) {
    if (differing == nullptr) {
      const auto* value = reinterpret_cast<const Node*>(a.open_value);
      differing = new (palloc(sizeof(DistinctValues)))
          DistinctValues(exprType(value), exprCollation(value));
    }
    return differing;
  }

  // Of what is counted or added up: the interval of its answer.
  const kde::Interval& interval(PlainAnswer answer) const;
};

inline bool counts(const PlainAggregate& a) { return a.answer <= PlainAnswer::ones; }

class PlainRows {
 public:
  explicit PlainRows(PlainState* state)
      : state_(*state), plan_(state->plan), by_column_(state->plan.is_by_column()) {}

  // What is asked about from now on.
  void look_at(const kde::AnyDensity& of) {
    density = of;
    cuts_ = {};
    density.sums.cuts = &cuts_;
  }

  kde::AnyDensity density;  // of the group that is asked about
  kde::IntervalOptions options;
  kde::Range range[kde::kMaxColumns];
  const kde::WordSet* words[kde::kMaxColumns] = {};  // of categories; null: all
  kde::Range before_passages;  // range[0], before comparisons of its functions
  bool listed = false;         // range[0] is one of several values
  bool may_be_new = false;     // rows changed may be of groups or values not met

  // Values of a column or measure in the box as of the fit, or kde::kRowsThemselves.
  kde::Interval values(int column) { return known(kde::Wanted::count, column).count; }
  // Rows in the box that the query is of, as of the fit.
  kde::Interval rows();
  // With those that may have come into the range, or gone from it.
  void change(const kde::Range& of, kde::Interval* count) const;
  // Whether there is certainly no row in a range; by_all: not of rows changed either.
  bool is_empty(const kde::Range& of, bool by_all);

  // Adds the rows in the box to an aggregate's. False, and refused: by this density it has no
  // answer.
  bool add(const PlainAggregate& a, PlainTotal* to);
  // When all are added: most rows of a sample are counted by those that they leave out (ask/add_up.h).
  void settle(const PlainAggregate& a, PlainTotal* total);
  // What rows changed may do where they are of groups or values that there were none of.
  kde::ChangedRows changes_by_new(const PlainAggregate& a, const kde::Range& of) const;

 private:
  kde::OwnBox box_of(const kde::Range& first) const;
  kde::Evidence ask(kde::Wanted wanted, int column, const kde::Range& first) const;
  const kde::Evidence& known(kde::Wanted wanted, int column);
  kde::IntervalOptions with_bounds(int column) const;
  kde::ChangedRows changes(const PlainAggregate& a, const kde::Evidence& evidence) const;
  void note_range(PlainTotal* of) const;
  kde::Interval nulls() const;
  kde::Interval variance_of(const PlainAggregate& a, const kde::Interval& count) const;
  double extreme_of(bool is_max, int column) const;

  kde::LastCuts cuts_;
  // What several aggregates ask alike, of the rows that were asked about last.
  struct Last {
    const kde::Header* density = nullptr;
    kde::Range range;
    std::size_t words = 0;
    std::uint32_t first_word = 0;
    double unknown_words = 0;

    bool operator==(const Last& o) const;
  };
  Last asked_now() const;

  PlainState& state_;
  const PlainPlan& plan_;
  const bool by_column_;
  Last last_;
  bool is_known_[2 * (kde::kMaxColumns + 1)] = {};
  kde::Evidence known_[2 * (kde::kMaxColumns + 1)];
};

}  // namespace kde_pg
