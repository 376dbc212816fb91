// See numeric_decode.h for the stored form and why one operation suffices.
#include "pg/values/numeric_decode.h"

extern "C" {
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"
}

#include <cfloat>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace kde_pg {

namespace {

constexpr uint16 kSignMask = 0xC000;
constexpr uint16 kLongNegative = 0x4000;
constexpr uint16 kShort = 0x8000;
constexpr uint16 kSpecial = 0xC000;
constexpr uint16 kShortNegative = 0x2000;
constexpr uint16 kShortWeightSign = 0x0040;
constexpr uint16 kShortWeightMask = 0x003F;

constexpr uint64 kMaxExactInteger = UINT64CONST(1) << 53;
constexpr uint64 kFewDigits = UINT64CONST(1000000000000000);  // from here on there are 16 digits
constexpr int kMaxExactPower = 22;  // 10^22 = 2^22 * 5^22, and 5^22 < 2^53
constexpr double kPower[kMaxExactPower + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                               1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                               1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// A short varlena's payload has no alignment.
uint16 read_word(const char* p) {
  uint16 word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

// decode_numeric(), and where it succeeds whether no number of up to 15 digits but this one is the
// same double: such are told apart, and so are whole ones below 2^53.
bool decode(const char* payload, Size bytes, double* x, bool* is_alone) {
  // Where doubles are computed in wider registers, one operation may round twice.
  if constexpr (FLT_EVAL_METHOD != 0) return false;
  if (bytes < sizeof(uint16)) return false;

  const uint16 header = read_word(payload);
  Size header_bytes = sizeof(uint16);
  bool negative;
  int weight;
  if ((header & kSignMask) == kSpecial) return false;
  if ((header & kSignMask) == kShort) {
    negative = (header & kShortNegative) != 0;
    weight = header & kShortWeightMask;
    if (header & kShortWeightSign) weight -= kShortWeightSign;
  } else {
    header_bytes += sizeof(int16);
    if (bytes < header_bytes) return false;
    negative = (header & kSignMask) == kLongNegative;
    weight = static_cast<int16>(read_word(payload + sizeof(uint16)));
  }

  const Size digits = (bytes - header_bytes) / sizeof(int16);
  if (digits == 0) {
    *x = 0;
    *is_alone = true;
    return true;
  }
  uint64 integer = 0;
  for (Size i = 0; i < digits; ++i) {
    if (integer >= PG_UINT64_MAX / 10000) return false;
    integer = integer * 10000 + read_word(payload + header_bytes + i * sizeof(int16));
  }
  int exponent = 4 * (weight - (static_cast<int>(digits) - 1));

  // The last digit's own trailing zeros: 12345678901.25 is held as ...,2500.
  while (integer >= kMaxExactInteger && integer % 10 == 0) {
    integer /= 10;
    ++exponent;
  }
  if (integer >= kMaxExactInteger) return false;
  if (exponent < -kMaxExactPower || exponent > kMaxExactPower) return false;

  const double exact = static_cast<double>(integer);
  const double magnitude = exponent < 0 ? exact / kPower[-exponent] : exact * kPower[exponent];
  *x = negative ? -magnitude : magnitude;
  *is_alone = exponent == 0 || integer < kFewDigits || integer % 10 == 0;
  return true;
}

}  // namespace

bool decode_numeric(const char* payload, Size bytes, double* x) {
  bool is_alone;
  return decode(payload, bytes, x, &is_alone);
}

double numeric_to_double(Datum value) {
  // Undoes compression and fetches what is out of line, but leaves a one-byte header alone.
  struct varlena* packed = PG_DETOAST_DATUM_PACKED(value);
  double x;
  if (!decode_numeric(VARDATA_ANY(packed), VARSIZE_ANY_EXHDR(packed), &x)) {
    Numeric number = DatumGetNumeric(PointerGetDatum(packed));
    x = DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, NumericGetDatum(number)));
    if (reinterpret_cast<char*>(number) != reinterpret_cast<char*>(packed)) pfree(number);
  }
  if (reinterpret_cast<char*>(packed) != DatumGetPointer(value)) pfree(packed);
  return x;
}

double numeric_told_apart(Datum value) {
  struct varlena* packed = PG_DETOAST_DATUM_PACKED(value);
  double x;
  bool is_alone = false;
  const bool decoded = decode(VARDATA_ANY(packed), VARSIZE_ANY_EXHDR(packed), &x, &is_alone);
  if (packed != reinterpret_cast<struct varlena*>(DatumGetPointer(value))) pfree(packed);
  if (decoded && is_alone) return x;
  x = numeric_to_double(value);
  if (!std::isfinite(x) || x == 0) return x;
  char text[32];
  snprintf(text, sizeof text, "%.*g", DBL_DIG, x);
  if (strtod(text, nullptr) != x) return x;
  const Datum with_few_digits = DirectFunctionCall3(
      numeric_in, CStringGetDatum(text), ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
  const int32 side = DatumGetInt32(DirectFunctionCall2(numeric_cmp, value, with_few_digits));
  pfree(DatumGetPointer(with_few_digits));
  if (side == 0) return x;
  return std::nextafter(x, side > 0 ? HUGE_VAL : -HUGE_VAL);
}

}  // namespace kde_pg
