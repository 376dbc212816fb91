// The binary form of a density of one column (type.cpp), for what has such densities in it.
#pragma once

#include "pg/base/pg.h"

#include "core/kde.h"

extern "C" {
#include "lib/stringinfo.h"
}

namespace kde_pg {

// Appends it. density: one of one column.
void send_density(StringInfo out, const kde::Header* density);

// Reads the rest of the message as one, which may have measures or not; palloc'ed, *size bytes. Its
// sizes are checked; the caller validates the rest. Errors: 22P03.
kde::Header* receive_density(StringInfo message, bool measures, Size* size);

// 22P03 with what is wrong.
[[noreturn]] void invalid_binary(const char* detail);

}  // namespace kde_pg
