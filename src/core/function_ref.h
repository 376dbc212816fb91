// A reference to something that can be called, for a parameter: nothing is copied or allocated, and
// what is referred to must outlive the call it is passed to (as std::function_ref of C++26, P0792).
#pragma once

#include "core/room.h"

#include <type_traits>

namespace kde {

template <typename Signature>
class FunctionRef;

template <typename R, typename... Args>
class FunctionRef<R(Args...)> {
 public:
  template <typename F,
            typename = std::enable_if_t<!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> &&
                                        std::is_invocable_r_v<R, F&, Args...>>>
  FunctionRef(F&& f)
      : object_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(static_cast<Args>(args)...);
        }) {}

  R operator()(Args... args) const { return call_(object_, static_cast<Args>(args)...); }

 private:
  void* object_;
  R (*call_)(void* object, Args... args);
};

}  // namespace kde
