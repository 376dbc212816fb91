// A memory file of numbers that nobody can change any more (memfd_create, sealed): how samples and
// queries pass to another process.
#pragma once

#include <span>

#include "core/control.h"
#include "core/device/descriptor.h"
#include "core/room.h"
#include "core/status.h"

namespace kde {

// *file: of values.size() doubles, closed on exec. Errors: unavailable (no memory or no descriptor
// for it), cancelled.
Status make_memory_file(std::span<const double> values, const Control& control, Descriptor* file);

}  // namespace kde
