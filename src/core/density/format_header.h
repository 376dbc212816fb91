// The rules of a Header that every kind of density shares.
#pragma once

#include "core/density/format.h"
#include "core/status.h"

namespace kde {

// Errors: invalid_format with what is wrong.
Status validate_header(const Header& h);

}  // namespace kde
