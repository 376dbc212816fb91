// The binary form of a density of one column (type.cpp), for what has such densities in it.
#pragma once

#include "pg/base/pg.h"

#include "core/kde.h"

extern "C" {
#include "lib/stringinfo.h"
}

namespace kde_pg {

// What may follow a density's column.
enum class Followed { by_nothing, by_measures, by_groups };

// Appends it. density: one of one column.
void send_density(StringInfo out, const kde::Header* density);

// Reads the rest of the message as one, followed by that at most (groups are by measures, too);
// palloc'ed, *size bytes. Its sizes are checked; the caller validates the rest. Errors: 22P03.
kde::Header* receive_density(StringInfo message, Followed followed, Size* size);

// 22P03 with what is wrong.
[[noreturn]] void invalid_binary(const char* detail);

}  // namespace kde_pg
