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
  bool of_dimensions;
  int16 length;  // of its type
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
  // Whether the part's rows are not asked for, whatever the group; false also where that is not known.
  bool is_left_out(int part) const {
    return part_ != nullptr && part_[part] != nullptr && part_[part]->is_left_out;
  }
  // Whether of two parts all is alike, whatever the group; false as above.
  bool are_alike(int a, int b) const;
  // Whether that may be so of any.
  bool may_be_alike() const { return !varies_by_both_ && !joins_by_both_; }
  // How many parts were met.
  int parts_met() const { return parts_met_; }
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
  struct Part {
    bool is_left_out;
    Known* known;
  };

  bool holds(bool of_dimensions, bool of_column);
  bool is_of_part();
  PartNotes note_of(int aggregate);
  NullableDatum evaluate(int i) const;
  const NullableDatum& value(int i);
  bool is_true(int i) {
    const NullableDatum& v = value(i);
    return !v.isnull && DatumGetBool(v.value);
  }

  const PlainState& state_;
  const OpenExpressions& open_;
  Known* group_ = nullptr;    // of the group
  Part** part_ = nullptr;     // null: not met yet; of all groups
  Known* both_ = nullptr;     // of the part of the group
  bool joins_parts_ = false;  // whether dimensions are looked up by parts
  // By a part and a group together: an expression, what dimensions are looked up by.
  bool varies_by_both_ = false, joins_by_both_ = false;
  int parts_met_ = 0;
  PartNotes* notes_ = nullptr;
  int now_ = 0;
};

}  // namespace kde_pg
