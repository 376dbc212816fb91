// Rows found by the values of a column that an index has: which values there are, and the rows of
// some of them.
#pragma once

#include "pg/catalog/density_key.h"
#include "pg/read/categories.h"

extern "C" {
#include "utils/relcache.h"
}

namespace kde_pg {

// Whether a B-tree index over all rows begins with the column, and its type compares by operators
// of the server's own. Of a table without children, or a partitioned one.
bool can_look_up(Relation relation, const KeyColumn& column);

// Numbers the column's values that are not NULL, each read from the index once, as the relation's
// owner: a loose scan, one look-up a value. False if there are more than `most`, or a privilege is
// lacking.
bool number_values(Relation relation, const KeyColumn& column, Size most, Categories* values);

// The condition of a key's rows that have one of n values, palloc'ed.
const char* with_values(const DensityKey& key, const KeyColumn& column, const Categories& values,
                        const uint32* numbers, Size n);

}  // namespace kde_pg
