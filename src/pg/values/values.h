// Between SQL's values and the core's doubles: which types a density can hold, how a column's
// value, a bound and an answer are converted. See kde::ValueType for the meaning of the numbers.
#pragma once

#include "pg/base/pg.h"

#include "core/kde.h"

namespace kde_pg {

// The value type of a column; domains are looked through. Types that are no numbers and can be
// hashed, as in GROUP BY, are categories, but for those that have a conversion_of(). False if it
// has none.
bool value_type_of(Oid type, kde::ValueType* value_type);

// Its name as SQL has it: "category" of those, which have no one type.
const char* value_type_label(kde::ValueType value_type);

// The types that are points of a line, for hints.
#define KDE_NUMBER_TYPES                                                                \
  "smallint, integer, bigint, real, double precision, numeric, date, time, timestamp, " \
  "timestamptz and interval"
// And all that have a density.
#define KDE_COLUMN_TYPES                                                                \
  "smallint, integer, bigint, real, double precision, numeric, date, time, timestamp, " \
  "timestamptz, interval, and, as categories, types that can be hashed, such as text"

// The type that values of a type without one are to be converted to, or null. What a unit of money
// is depends on lc_monetary; values of timetz at one instant differ by their zones, so they are no
// points of a line.
const char* conversion_of(Oid type);

// The step on which every value of such a column lies by its type alone: 1 for the integers,
// 86,400 for dates, 10^-scale for numeric(p, scale) (typmod), 0 otherwise.
double lattice_step_of(kde::ValueType value_type, int32 typmod);

// The SQL type behind a value type, but of categories (InvalidOid).
Oid sql_type_of(kde::ValueType value_type);

// A non-null value of the column. Infinite dates and timestamps (and intervals, from 17) become
// infinities; a numeric beyond double's range becomes an infinity of its sign.
double convert_to_double(kde::ValueType value_type, Datum value);
inline double value_to_double(kde::ValueType value_type, Datum value) {
  return value_type == kde::ValueType::float8 ? DatumGetFloat8(value)
                                              : convert_to_double(value_type, value);
}

// A non-null bound of SQL type `type` for a column of `value_type`.
//   numbers      any numeric type; as text, read as numeric (float8 for real and double precision)
//   dates, timestamps   date, timestamp, timestamptz, converted as PostgreSQL's comparison
//                operators do (session time zone); as text, read by the column's type
//   times        time; as text likewise
//   intervals    interval; as text likewise
//   all but numbers also double precision: seconds, as answers have them
// Errors: datatype_mismatch (42804) naming both types; what the types' input functions report.
double bound_to_double(kde::ValueType value_type, Oid type, Datum value);

// A bound as a value to compare the column with in SQL: text is read as above, the rest is
// as it is. Returns the value's type, no domain.
Oid bound_to_sql(kde::ValueType value_type, Oid type, Datum* value);

// An answer as the column's own type: rounded to the type's resolution (integers to nearest).
// Errors: 22003 out of range for the type; 22008 for dates and timestamps.
// `x` may be infinite where the type has infinities. numeric: shortest digits that read back as x.
Datum double_to_value(kde::ValueType value_type, double x);

// double_to_value() without an error: false where the type has no such value.
bool try_double_to_value(kde::ValueType value_type, double x, Datum* out);

// The value as palloc'ed text, as the type's output function prints it; where the type has no such
// value, the number. Never an error.
char* double_to_text(kde::ValueType value_type, double x);

// As text a place on the axis that need not be a value: between two integers it is a number,
// between two dates a time of day.
char* place_to_text(kde::ValueType value_type, double x);

// Whether sums of such values mean anything: numbers and intervals.
inline bool is_added_up(kde::ValueType type) {
  return type <= kde::ValueType::numeric || type == kde::ValueType::interval;
}

// Error 0A000 where what is asked for is of points of a line; what: "quantiles", for the message.
void refuse_category(kde::ValueType type, const char* what);

}  // namespace kde_pg
