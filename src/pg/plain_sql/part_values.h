// What a query's expressions are of a group and of a part of the range (part_reader.cpp), as the
// server evaluates them. An expression may raise an error of a part where no row is: none is asked of
// one before a row is known to be there, nor a FILTER where a condition does not hold; and each but
// once of what it is of.
// Internal to src/pg/plain_sql.
#pragma once

#include "pg/plain_sql/answer_state.h"

namespace kde_pg {

struct OpenExpression {
  ExprState* state;
  bool of_groups, of_column;
  bool of_dimensions;  // whose columns are of groups
  int16 length;        // of its type
  bool by_value;
};

// Of a plan: the conditions, what else the query is grouped by, then the rows, the zeros and the values
// of each aggregate.
struct OpenExpressions {
  int conditions = 0, others = 0, all = 0;
  const OpenExpression* expression = nullptr;
  // Of each aggregate its number; -1: of all rows, of none, of none.
  const int *rows = nullptr, *zeros = nullptr, *values = nullptr;

  // Those that are of groups' keys.
  bool has_keys() const {
    for (int i = 0; i < all; ++i)
      if (expression[i].of_groups) return true;
    return false;
  }
};

OpenExpressions begin_open_expressions(const PlainPlan& plan, PlanState* parent);

// Of an aggregate and a part: whether it is of its rows, whether it has 0 for them, and what of them it
// counts, or takes the most frequent of.
struct PartNotes {
  bool has_rows, has_zeros;
  NullableDatum value;
};

class PartValues {
 public:
  explicit PartValues(const PlainState& state) : state_(state), open_(*state.asked.open) {}

  // Whether there are any of parts, or of groups.
  bool any() const { return open_.all > 0 || state_.plan.dimensions > 0; }
  bool has_keys() const { return open_.has_keys() || state_.plan.dimensions > 0; }
  void begin_parts(int parts);
  // Goes on with a group, of which there are rows; false: its rows are not asked for.
  bool begin_group(const PlainRow* key);
  // And with one of its parts, by a value of the column in it. row: what the query is grouped by, until
  // the next one.
  bool begin_part(int part, Datum value, PlainRow* row);
  // What each aggregate makes of it, until the next note.
  const PartNotes* note();
  const PartNotes* noted() const { return notes_; }
  // Whether a note would be the same.
  bool is_as_before();

 private:
  struct Known {
    NullableDatum value;
    bool known;
  };

  bool holds(bool of_dimensions);
  PartNotes note_of(int aggregate);
  NullableDatum evaluate(int i) const;
  const NullableDatum& value(int i);
  bool is_true(int i) {
    const NullableDatum& v = value(i);
    return !v.isnull && DatumGetBool(v.value);
  }

  const PlainState& state_;
  const OpenExpressions& open_;
  Known* group_ = nullptr;  // of the group
  Known** part_ = nullptr;  // of each part, null: not asked yet; of all groups
  Known* both_ = nullptr;   // of the part of the group
  PartNotes* notes_ = nullptr;
  int now_ = 0;
};

}  // namespace kde_pg
