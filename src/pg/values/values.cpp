// The conversions declared in values.h.
//
// Dates and times go through whole seconds in 64-bit integers before they become doubles, so that
// microseconds survive the way there and back wherever a double can hold them (up to the year 2106
// and beyond: its spacing at 2^32 seconds is half a microsecond).
#include "pg/values/values.h"

#include "pg/values/numeric_decode.h"

extern "C" {
#include "common/shortest_dec.h"
#include "utils/date.h"
#include "utils/float.h"
#include "utils/numeric.h"
#include "utils/typcache.h"
}

#include <cmath>

namespace kde_pg {

namespace {

using kde::ValueType;

constexpr int64 kSecondsPerDay = SECS_PER_DAY;
constexpr int64 kMicroseconds = USECS_PER_SEC;
// Days and seconds from 1970-01-01, the core's origin, to 2000-01-01, PostgreSQL's.
constexpr int64 kEpochDays = POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE;
constexpr int64 kEpochSeconds = kEpochDays * kSecondsPerDay;

// In the order of kde::ValueType.
constexpr Oid kSqlTypes[kde::kValueTypes] = {INT2OID,        INT4OID,     INT8OID, FLOAT4OID,
                                             FLOAT8OID,      NUMERICOID,  DATEOID, TIMESTAMPOID,
                                             TIMESTAMPTZOID, INTERVALOID, TIMEOID, InvalidOid};

// ------------------------------------------------------------------------------ SQL to double

// Below that many seconds, some 272 years, doubles tell microseconds apart.
constexpr double kAllMicroseconds = 0x1p33;

// Farther out a time that is no double becomes its neighbour whose last bit is 1: so it stays on
// its side of every whole second, and of whatever else is a rounder double. (Rounding to odd: S.
// Boldo and G. Melquiond, IEEE Trans. Computers 57, 2008.) x: the double nearest to seconds + rest
// / 10^6, from kAllMicroseconds on; rest: 0 .. 999,999.
double to_odd(double x, int64 seconds, int64 rest) {
  // x is a whole number of 2^-19 seconds, and at most a second from the time.
  const double whole = std::floor(x);
  const auto part = static_cast<int64>((x - whole) * 0x1p19);
  const int64 beyond =
      (((seconds - static_cast<int64>(whole)) * kMicroseconds + rest) << 19) - part * kMicroseconds;
  uint64 bits;
  memcpy(&bits, &x, sizeof bits);
  if (beyond == 0 || (bits & 1) != 0) return x;
  return std::nextafter(x, beyond > 0 ? get_float8_infinity() : -get_float8_infinity());
}

// seconds + microseconds / 10^6, where microseconds may be of any size and sign.
double from_seconds(int64 seconds, int64 microseconds) {
  seconds += microseconds / kMicroseconds;
  int64 rest = microseconds % kMicroseconds;
  if (rest < 0) {
    rest += kMicroseconds;
    --seconds;
  }
  const double x =
      static_cast<double>(seconds) + static_cast<double>(rest) / static_cast<double>(kMicroseconds);
  return std::fabs(x) < kAllMicroseconds ? x : to_odd(x, seconds, rest);
}

double date_to_double(DateADT date) {
  if (DATE_IS_NOBEGIN(date)) return -get_float8_infinity();
  if (DATE_IS_NOEND(date)) return get_float8_infinity();
  return static_cast<double>((date + kEpochDays) * kSecondsPerDay);
}

// Also for timestamptz, which has the same representation.
double timestamp_to_double(Timestamp timestamp) {
  if (TIMESTAMP_IS_NOBEGIN(timestamp)) return -get_float8_infinity();
  if (TIMESTAMP_IS_NOEND(timestamp)) return get_float8_infinity();
  return from_seconds(kEpochSeconds, timestamp);
}

double interval_to_double(const Interval* interval) {
  if (INTERVAL_IS_NOBEGIN(interval)) return -get_float8_infinity();
  if (INTERVAL_IS_NOEND(interval)) return get_float8_infinity();
  const int64 days = int64{interval->month} * DAYS_PER_MONTH + interval->day;
  return from_seconds(days * kSecondsPerDay, interval->time);
}

double time_to_double(TimeADT time) { return from_seconds(0, time); }

// ---------------------------------------------------------------------------- bounds to double

bool is_number(ValueType type) { return type <= ValueType::numeric; }

bool is_text(Oid type) {
  return type == TEXTOID || type == VARCHAROID || type == BPCHAROID || type == UNKNOWNOID;
}

// The type that reads a bound given as text.
ValueType reader_of(ValueType column) {
  switch (column) {
    case ValueType::int2:
    case ValueType::int4:
    case ValueType::int8:
      return ValueType::numeric;  // 1.5 and 1e30 are fair bounds of an integer column
    case ValueType::float4:
      return ValueType::float8;  // what PostgreSQL compares a real with
    default:
      return column;
  }
}

Datum read_text(ValueType reader, Oid type, Datum value) {
  char* string = type == UNKNOWNOID ? DatumGetCString(value) : TextDatumGetCString(value);
  Oid input;
  Oid io_param;
  getTypeInputInfo(sql_type_of(reader), &input, &io_param);
  const Datum read = OidInputFunctionCall(input, string, io_param, -1);
  if (type != UNKNOWNOID) pfree(string);
  return read;
}

double text_to_double(ValueType column, Oid type, Datum value) {
  const ValueType reader = reader_of(column);
  return value_to_double(reader, read_text(reader, type, value));
}

// A bound of one of the three date and time types for a column of another one. The session's time
// zone stands between timestamptz and the two others.
double datetime_bound(ValueType column, Oid type, Datum value) {
  const bool with_zone = column == ValueType::timestamptz;
  if (type == TIMESTAMPTZOID) {
    if (!with_zone) value = DirectFunctionCall1(timestamptz_timestamp, value);
    return timestamp_to_double(DatumGetTimestamp(value));
  }
  const double as_is = type == DATEOID ? date_to_double(DatumGetDateADT(value))
                                       : timestamp_to_double(DatumGetTimestamp(value));
  // Midnight, or the time, in UTC. A date that no timestamp can hold (they end in the year 294276,
  // dates in 5874897) is beyond all of the column's values in any zone.
  if (!with_zone || std::isinf(as_is)) return as_is;
  KDE_OVERFLOW(overflow);
  const TimestampTz zoned = type == DATEOID
                                ? with_zone_of_date(DatumGetDateADT(value), overflow)
                                : with_zone_of_timestamp(DatumGetTimestamp(value), overflow);
  return has_overflowed(overflow) ? as_is : timestamp_to_double(zoned);
}

// ------------------------------------------------------------------------------ double to SQL

// Each returns false where the type has no such value.

bool double_to_float4(double x, Datum* out) {
  const auto rounded = static_cast<float4>(x);
  *out = Float4GetDatum(rounded);
  return !std::isinf(rounded) || std::isinf(x);
}

Datum double_to_numeric(double x) {
  char digits[DOUBLE_SHORTEST_DECIMAL_LEN];
  double_to_shortest_decimal_buf(x, digits);
  return DirectFunctionCall3(numeric_in, CStringGetDatum(digits), ObjectIdGetDatum(InvalidOid),
                             Int32GetDatum(-1));
}

bool double_to_date(double x, Datum* out) {
  if (std::isinf(x)) {
    *out = DateADTGetDatum(x < 0 ? DATEVAL_NOBEGIN : DATEVAL_NOEND);
    return true;
  }
  const double days = std::rint(x / static_cast<double>(kSecondsPerDay));
  // Negated, so that NaN is out of range too.
  if (!(std::fabs(days) < PG_INT32_MAX)) return false;
  const int64 date = static_cast<int64>(days) - kEpochDays;
  *out = DateADTGetDatum(static_cast<DateADT>(date));
  return IS_VALID_DATE(date);
}

bool double_to_timestamp(double x, Datum* out) {
  if (std::isinf(x)) {
    *out = TimestampGetDatum(x < 0 ? DT_NOBEGIN : DT_NOEND);
    return true;
  }
  const double floor = std::floor(x);
  constexpr int64 kFirst = MIN_TIMESTAMP / kMicroseconds + kEpochSeconds;
  constexpr int64 kEnd = END_TIMESTAMP / kMicroseconds + kEpochSeconds;
  // At this distance a double's spacing is milliseconds, and the last timestamps become kEnd
  // itself.
  if (x == static_cast<double>(kEnd)) {
    *out = TimestampGetDatum(END_TIMESTAMP - 1);
    return true;
  }
  if (!(floor >= static_cast<double>(kFirst) && floor < static_cast<double>(kEnd))) return false;
  const auto microseconds =
      static_cast<int64>(std::rint((x - floor) * static_cast<double>(kMicroseconds)));
  const int64 timestamp =
      (static_cast<int64>(floor) - kEpochSeconds) * kMicroseconds + microseconds;
  *out = TimestampGetDatum(timestamp);
  return IS_VALID_TIMESTAMP(timestamp);
}

// Days and the rest of a day, of one sign. Months, whose length is not one, only for what days
// alone cannot hold (5.8 million years).
bool double_to_interval(double x, Datum* out) {
  auto* interval = static_cast<Interval*>(palloc0(sizeof(Interval)));
  *out = IntervalPGetDatum(interval);
  if (std::isinf(x)) {
    if (x < 0) {
      INTERVAL_NOBEGIN(interval);
    } else {
      INTERVAL_NOEND(interval);
    }
    return KDE_INTERVAL_HAS_INFINITY;
  }
  constexpr auto kDay = static_cast<double>(kSecondsPerDay);
  constexpr auto kMonth = kDay * DAYS_PER_MONTH;
  if (!(std::fabs(x) < PG_INT32_MAX * kMonth)) return false;
  if (std::fabs(x) >= (PG_INT32_MAX - 1) * kDay) {
    interval->month = static_cast<int32>(x / kMonth);
    x -= interval->month * kMonth;
  }
  const double rest = std::fmod(x, kDay);  // exact, and so is the difference below
  interval->day = static_cast<int32>(std::rint((x - rest) / kDay));
  interval->time = static_cast<int64>(std::rint(rest * static_cast<double>(kMicroseconds)));
  if (interval->time >= USECS_PER_DAY || interval->time <= -USECS_PER_DAY) {
    interval->day += interval->time > 0 ? 1 : -1;
    interval->time = 0;
  }
  return true;
}

bool double_to_time(double x, Datum* out) {
  // 24:00:00 is a time. Negated, so that NaN is out of range too.
  if (!(x >= 0 && x <= static_cast<double>(kSecondsPerDay))) return false;
  *out = TimeADTGetDatum(static_cast<TimeADT>(std::rint(x * static_cast<double>(kMicroseconds))));
  return true;
}

}  // namespace

bool value_type_of(Oid type, ValueType* value_type) {
  const Oid base = getBaseType(type);
  for (int i = 0; i < kde::kValueTypes; ++i) {
    if (kSqlTypes[i] == base) {
      *value_type = static_cast<ValueType>(i);
      return true;
    }
  }
  if (conversion_of(base) != nullptr) return false;
  const TypeCacheEntry* cache =
      lookup_type_cache(base, TYPECACHE_HASH_PROC | TYPECACHE_EQ_OPR_FINFO);
  *value_type = ValueType::category;
  return OidIsValid(cache->hash_proc) && OidIsValid(cache->eq_opr);
}

const char* value_type_label(ValueType value_type) {
  return value_type == ValueType::category ? "category" : format_type_be(sql_type_of(value_type));
}

void refuse_category(ValueType type, const char* what) {
  if (type != ValueType::category) return;
  ereport(ERROR,
          (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("a category has no %s", what),
           errdetail("Its values are compared for equality alone."),
           errhint("Ask approx_count() for a value or an array of them; what is to be added up "
                   "beside it is a measure: kde_fit(..., measures => ARRAY['amount']).")));
}

const char* conversion_of(Oid type) {
  switch (getBaseType(type)) {
    case MONEYOID:
      return "numeric";
    case TIMETZOID:
      return "time";
    default:
      return nullptr;
  }
}

double lattice_step_of(ValueType value_type, int32 typmod) {
  switch (value_type) {
    case ValueType::int2:
    case ValueType::int4:
    case ValueType::int8:
    case ValueType::category:
      return 1;
    case ValueType::date:
      return static_cast<double>(kSecondsPerDay);
    case ValueType::numeric: {
      if (typmod < static_cast<int32>(VARHDRSZ)) return 0;
      // The scale is the low 11 bits, signed from 15 on; before, it is at most 1000.
      const int scale = (((typmod - VARHDRSZ) & 0x7ff) ^ 1024) - 1024;
      return scale > 0 ? 1 / std::pow(10.0, scale) : std::pow(10.0, -scale);
    }
    default:
      return 0;
  }
}

Oid sql_type_of(ValueType value_type) { return kSqlTypes[static_cast<int>(value_type)]; }

double convert_to_double(ValueType value_type, Datum value) {
  switch (value_type) {
    case ValueType::int2:
      return DatumGetInt16(value);
    case ValueType::int4:
      return DatumGetInt32(value);
    case ValueType::int8:
      return static_cast<double>(DatumGetInt64(value));
    case ValueType::float4:
      return DatumGetFloat4(value);
    case ValueType::float8:
      return DatumGetFloat8(value);
    case ValueType::numeric:
      return numeric_told_apart(value);
    case ValueType::date:
      return date_to_double(DatumGetDateADT(value));
    case ValueType::timestamp:
    case ValueType::timestamptz:
      return timestamp_to_double(DatumGetTimestamp(value));
    case ValueType::interval:
      return interval_to_double(DatumGetIntervalP(value));
    case ValueType::time:
      return time_to_double(DatumGetTimeADT(value));
    case ValueType::category:
      break;
  }
  elog(ERROR, "unrecognized value type: %d", static_cast<int>(value_type));
  pg_unreachable();
}

double bound_to_double(ValueType value_type, Oid type, Datum value) {
  refuse_category(value_type, "ranges");
  const Oid base = getBaseType(type);
  if (is_text(base)) return text_to_double(value_type, base, value);

  ValueType bound_type;
  if (value_type_of(base, &bound_type)) {
    const bool of_floats = value_type == ValueType::float4 || value_type == ValueType::float8;
    // Such a column is compared with the double nearest to the bound.
    if (of_floats && bound_type == ValueType::numeric) return numeric_to_double(value);
    if (is_number(value_type) && is_number(bound_type)) return value_to_double(bound_type, value);
    const bool stands_alone = value_type == ValueType::interval || value_type == ValueType::time;
    if (stands_alone && bound_type == value_type) return value_to_double(bound_type, value);
    const auto is_datetime = [](ValueType t) {
      return t >= ValueType::date && t <= ValueType::timestamptz;
    };
    if (is_datetime(value_type) && is_datetime(bound_type))
      return datetime_bound(value_type, base, value);
  }
  const bool seconds = !is_number(value_type);
  if (seconds && base == FLOAT8OID && !std::isnan(DatumGetFloat8(value)))
    return DatumGetFloat8(value);
  const bool number = value_type_of(base, &bound_type) && is_number(bound_type);
  ereport(ERROR,
          (errcode(ERRCODE_DATATYPE_MISMATCH),
           errmsg("a bound of type %s does not fit a column of type %s", format_type_be(type),
                  value_type_label(value_type)),
           seconds && number && base != FLOAT8OID
               ? errhint("Seconds, as answers have them, are a bound of type double precision.")
               : 0));
  pg_unreachable();
}

Oid bound_to_sql(ValueType value_type, Oid type, Datum* value) {
  const Oid base = getBaseType(type);
  if (base == FLOAT8OID && !is_number(value_type)) {
    const ValueType held = value_type == ValueType::date ? ValueType::timestamp : value_type;
    *value = double_to_value(held, DatumGetFloat8(*value));
    return sql_type_of(held);
  }
  if (!is_text(base)) return base;
  const ValueType reader = reader_of(value_type);
  *value = read_text(reader, base, *value);
  return sql_type_of(reader);
}

bool try_double_to_value(ValueType value_type, double x, Datum* out) {
  switch (value_type) {
    case ValueType::int2:
      x = std::rint(x);
      if (!FLOAT8_FITS_IN_INT16(x)) return false;
      *out = Int16GetDatum(static_cast<int16>(x));
      return true;
    case ValueType::int4:
      x = std::rint(x);
      if (!FLOAT8_FITS_IN_INT32(x)) return false;
      *out = Int32GetDatum(static_cast<int32>(x));
      return true;
    case ValueType::int8:
      x = std::rint(x);
      if (x == 0x1p63) {  // what the largest bigints become
        *out = Int64GetDatum(PG_INT64_MAX);
        return true;
      }
      if (!FLOAT8_FITS_IN_INT64(x)) return false;
      *out = Int64GetDatum(static_cast<int64>(x));
      return true;
    case ValueType::float4:
      return double_to_float4(x, out);
    case ValueType::float8:
      *out = Float8GetDatum(x);
      return true;
    case ValueType::numeric:
      *out = double_to_numeric(x);
      return true;
    case ValueType::date:
      return double_to_date(x, out);
    case ValueType::timestamp:
    case ValueType::timestamptz:
      return double_to_timestamp(x, out);
    case ValueType::interval:
      return double_to_interval(x, out);
    case ValueType::time:
      return double_to_time(x, out);
    case ValueType::category:
      return false;
  }
  elog(ERROR, "unrecognized value type: %d", static_cast<int>(value_type));
  pg_unreachable();
}

Datum double_to_value(ValueType value_type, double x) {
  Datum out;
  if (try_double_to_value(value_type, x, &out)) return out;
  if (value_type == ValueType::float4) float_overflow_error();
  ereport(ERROR, (errcode(value_type <= ValueType::numeric ? ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE
                                                           : ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
                  errmsg("%s out of range",
                         value_type == ValueType::timestamp || value_type == ValueType::timestamptz
                             ? "timestamp"
                             : value_type_label(value_type))));
  pg_unreachable();
}

char* double_to_text(ValueType value_type, double x) {
  Datum value;
  if (!try_double_to_value(value_type, x, &value)) {
    // Beyond all integers without an exponent, as they are.
    const bool is_integer = value_type <= ValueType::int8;
    value_type = is_integer ? ValueType::numeric : ValueType::float8;
    value = is_integer ? double_to_numeric(x) : Float8GetDatum(x);
  }
  Oid output;
  bool is_varlena;
  getTypeOutputInfo(sql_type_of(value_type), &output, &is_varlena);
  return OidOutputFunctionCall(output, value);
}

char* place_to_text(ValueType value_type, double x) {
  const double step = lattice_step_of(value_type, -1);
  if (step > 0 && std::isfinite(x) && std::fmod(x, step) != 0)
    value_type = value_type == ValueType::date ? ValueType::timestamp : ValueType::float8;
  return double_to_text(value_type, x);
}

}  // namespace kde_pg
