// What the virtual generated columns of a table are computed by. They are stored nowhere: where
// ALTER TABLE ... SET EXPRESSION changes one (PostgreSQL 18), no row is written and nothing is
// counted, yet all its values are others. (One that is stored is written anew, to a new file, which
// counters.h sees.)
#pragma once

#include "pg/base/pg.h"

extern "C" {
#include "access/attnum.h"
}

namespace kde_pg {

struct GeneratedColumn {
  Oid relation;
  AttrNumber attnum;
  int64 expression;  // a hash of the expression as the server stores it
};

// In the order of relations and columns; palloc'ed.
struct GeneratedColumns {
  int count = 0;
  GeneratedColumn* column = nullptr;
};

// Of a relation and its descendants, all in `members`; none if the relation itself has none, as its
// descendants then have none of its columns. Locks nothing.
GeneratedColumns read_generated(Oid relation, const List* members);

// The name of a column that both have and whose expression differs, palloc'ed, or null. Columns
// that came or went change no values of others.
const char* expression_changed(const GeneratedColumns& then, const GeneratedColumns& now);

}  // namespace kde_pg
