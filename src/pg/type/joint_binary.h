// The binary form of a joint density, every number in network order:
//
//   byte     version, kind, columns, flags, method, 0, 0, 0
//   int32    number of points
//   float8   rows, sample_rows, own_rows, sampling_variance, reading_variance,
//            rows_variance
//   float4   count_error, mean_error
//   of every column
//     byte   value_type, flags
//     int16  0
//     int32  number of heavy values, bytes of the marginal on the wire, 0
//     float8 center, bandwidth, value_center, value_unit
//   float8   correlation, heavy
//            marginals, each in its own binary form (type.cpp)
//   int32    effect, coordinate, weight, value: the sections as stored, bit for bit
//
// Boxes are made anew.
#pragma once

#include "pg/base/pg.h"

#include "core/kde.h"

extern "C" {
#include "lib/stringinfo.h"
}

namespace kde_pg {

void send_joint(StringInfo out, const kde::JointHeader* density);

// A message from its first byte on. Palloc'ed, with its length word, validated. Errors: 22P03.
struct varlena* receive_joint(StringInfo message);

}  // namespace kde_pg
