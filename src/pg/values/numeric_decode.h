// numeric -> double for a whole column, without numeric_float8's detour through text.
//
// The stored form (src/backend/utils/adt/numeric.c, unchanged since 9.1) is a header of one 16-bit
// word (short) or two (long), then base-10000 digits d_0 d_1 ..., worth sum d_i 10000^(weight - i):
//
//   short   1 0 S D D D D D D W W W W W W W    S sign, D display scale, W weight (7 bits, signed)
//   long    0 S D D D D D D D D D D D D D D    then the weight as an int16
//   special 1 1 ...                            NaN and the infinities
//
// A value that is M 10^e with an integer M < 2^53 and |e| <= 22 needs one operation on two exact
// doubles, M * 10^e or M / 10^-e, so it is rounded once, correctly, as strtod would (W. D. Clinger,
// How to read floating point numbers accurately, PLDI 1990). Everything else is left to PostgreSQL.
#pragma once

#include "pg/base/pg.h"

namespace kde_pg {

// The payload of a numeric (what follows its varlena header; any alignment), `bytes` long.
// False if the value is special or needs more than one rounding; *x is then untouched.
bool decode_numeric(const char* payload, Size bytes, double* x);

// Any numeric datum: inline, short, compressed or out of line. NaN and the infinities become
// theirs; beyond double's range, an infinity of its sign. Frees what it copies.
double numeric_to_double(Datum value);

// numeric_to_double(), but that a number of more than 15 digits never becomes the double of one
// that has no more: it is that one's neighbour, on its side. So it is not counted as that number.
double numeric_told_apart(Datum value);

}  // namespace kde_pg
