// The fit of one density, of whatever form.
#pragma once

#include "pg/fit/road.h"

namespace kde_pg {

// Where a form of kde_fit has the arguments that all have; method and sample_rows are the third and
// fourth. exact: -1 where it has none, as that of several columns, which are its second.
struct FitArguments {
  int seed, exact, filter, max_error, measures, group_by, name, steps;
};

// What they ask for, and of what. column: by its name; null: those of the second argument. Errors:
// those of read_asked() and key_by_arrays().
FitRequest asked_by_call(FunctionCallInfo fcinfo, const FitArguments& at);
DensityKey key_by_call(FunctionCallInfo fcinfo, const FitArguments& at, Oid relation,
                       const char* column);

// The road of a fit, so that one scan may read for several before each of them is fitted. False:
// it has none, since a query gives it or its parts are fitted. relation: of
// open_maintained_relation(), checked by check_kind(). Errors: those of Road::begin() (road.h); of
// what cannot be computed.
bool begin_road(const DensityRequest& request, Relation relation, Road* road);

// Fits and stores. road: that of begin_road(), read or not; null: it has none. Shows the notices.
// Errors: those of Road, 55000 where there is nothing to fit a density to; those of reading, of
// parts and of queries.
void fit_density(const DensityRequest& request, Relation relation, Road* road, DensityFit* fit);

}  // namespace kde_pg
