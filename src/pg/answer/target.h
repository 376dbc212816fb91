// What an answer function was asked about: a density and the column type its bounds are read by.
#pragma once

#include "pg/base/values.h"
#include "pg/catalog/catalog.h"
#include "pg/catalog/stale_answers.h"
#include "pg/type/density_datum.h"

namespace kde_pg {

struct Target {
  const kde::Header* density;  // fit for kde::DensityView; valid during the call
  kde::ValueType type;
  TableColumn column;  // whose density it is; InvalidOid for a value
  AnsweringFit fit;    // that it is of; none for a value
  kde::BlockSums sums;

  kde::DensityView view() const { return kde::DensityView(density, sums); }
};

// The three forms of every answer function: by text, by (regclass, name), by value, none of them
// null. They check
// privileges before anything is read. Errors: those of relation.h; 42704 if nothing is fitted (with
// the call that would); 55000 if the column has changed its type since.
Target target_by_text(FunctionCallInfo fcinfo);
Target target_by_column(FunctionCallInfo fcinfo);
Target target_by_value(FunctionCallInfo fcinfo);

// The stored density that a name says ('table.column', 'table (column, ...)'), or the value, of a
// non-null argument of type anykde, valid until the next look-up. Errors: those of key_by_text();
// 42501; 42704; 55000 as above.
AnyDensity density_by_text(text* name);
AnyDensity density_argument(FunctionCallInfo fcinfo, int argument);

// Whether bounds for one type mean the same for the other: any numbers, or the very same type.
bool same_meaning(kde::ValueType a, kde::ValueType b);

}  // namespace kde_pg
