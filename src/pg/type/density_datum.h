// A `kde` datum and the density inside it: the bytes of core/density/format.h, the length word
// being Header::varlena.
#pragma once

#include "pg/base/pg.h"

#include "core/kde.h"

namespace kde_pg {

using kde::AnyDensity;

// The density of a non-null `kde` datum, as below.
AnyDensity any_density_from_datum(Datum datum);

// That of a value that was checked when it was cached: the same, in a time that its size has no part in.
AnyDensity cached_any_density(const struct varlena* value);

// The density of one column of a non-null `kde` datum, decompressed and fetched if need be, 8-byte
// aligned, fit for kde::DensityView. *copied (may be null) tells whether the result is palloc'ed
// memory of its own, to be pfree'd; otherwise it lives as long as the datum. Checks what keeps
// later reads inside the bytes and in a known format; the rest was validated when the value came
// into being. Errors: feature_not_supported (0A000) for an unknown version, kind or kernel;
// data_corrupted (XX001) for a length that does not fit; invalid_parameter_value (22023) for a
// joint density.
const kde::Header* density_from_datum(Datum datum, bool* copied);

// The error 22023 for a joint density.
[[noreturn]] void raise_several_columns();

// A palloc'ed `kde` datum of a density built or validated by the core.
// bytes: `size` of them, which outlive an ereport (out_of_memory) by a memory context's care.
Datum density_to_datum(const void* bytes, Size size);
inline Datum density_to_datum(const kde::DensityBytes& density) {
  return density_to_datum(density.data(), density.size());
}

// How the density came to be: "fitted" (by kde_fit) or "aggregated" (by kde_agg or rollup).
const char* kind_name(const kde::Header& density);

}  // namespace kde_pg

// Argument n as const kde::Header*; a copy, if one is made, goes with the call's memory context.
#define PG_GETARG_DENSITY(n) kde_pg::density_from_datum(PG_GETARG_DATUM(n), nullptr)
