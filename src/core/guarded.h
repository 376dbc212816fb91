// The end of a core function that throws nothing: what its work throws becomes a Status.
#pragma once

#include "core/status.h"

#include <new>

namespace kde {

template <typename Work>
Status guarded(const Work& work) noexcept {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (...) {
    return Status::error(Code::internal, "unexpected exception");
  }
}

}  // namespace kde
