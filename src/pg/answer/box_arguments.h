// The arrays of bounds of a question about several columns, as the core's box.
#pragma once

#include "pg/answer/joint_target.h"

#include "core/kde.h"

namespace kde_pg {

// The ranges of a question's bounded columns, from the arguments `lower` and `upper`: arrays of an
// element for each column, inclusive as in BETWEEN; a NULL element, or a NULL array, is no bound.
// Elements of type text are read by each column's own type. lower > upper is an empty range. With
// no bounded column the target's range is the only one, without bounds. Errors: 2202E for an array
// of more dimensions or of another length; those of bound_to_double.
void read_ranges(FunctionCallInfo fcinfo, int lower, int upper, const Question& question,
                 kde::Range* ranges);

// The question as a joint density has it.
struct Box {
  kde::BoxSide side[kde::kMaxColumns];
  int sides;
  int target;  // -1: none
};
Box box_of(const Question& question, const JointTarget& target, const kde::Range* ranges);

// An array of one dimension, its elements and their type.
struct Elements {
  int count;
  Oid type;
  Datum* values;
  bool* nulls;
};

// Argument `argument`, not NULL. Error 2202E for an array of more dimensions; `name` is what the
// message calls it.
Elements read_elements(FunctionCallInfo fcinfo, int argument, const char* name);

}  // namespace kde_pg
