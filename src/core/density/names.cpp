// The tables of names.h.
#include "core/density/names.h"

#include "core/density/name_list.h"

#include <array>
#include <span>

namespace kde {

namespace {

constexpr const char* kMethodNames[] = {"auto",  "plugin",         "silverman", "normal_reference",
                                        "scott", "sheather_jones", "lscv",      "smoothed_cv"};
static_assert(std::size(kMethodNames) == kMethods);
// The order of lists: what finds its bandwidth in the values, best first, then rules of thumb.
constexpr Method kListedMethods[] = {
    Method::automatic,        Method::plugin,      Method::lscv,
    Method::sheather_jones,   Method::smoothed_cv, Method::silverman,
    Method::normal_reference, Method::scott};
static_assert(std::size(kListedMethods) == kMethods);
constexpr auto kListedMethodNames = [] {
  std::array<const char*, kMethods> names{};
  for (std::size_t i = 0; i < names.size(); ++i)
    names[i] = kMethodNames[static_cast<int>(kListedMethods[i])];
  return names;
}();

}  // namespace

const char* asked_method_name(const Header& header) {
  return method_name((header.flags & kBounded) != 0 ? Method::automatic : header.method);
}

const char* method_name(Method method) { return kMethodNames[static_cast<int>(method)]; }

const char* method_list() {
  static constexpr NameList kList = name_list(kListedMethodNames);
  return kList.text;
}

const char* selector_list() {
  static constexpr NameList kList = name_list(std::span(kListedMethodNames).subspan<1>());
  return kList.text;
}

bool parse_method(std::string_view name, Method* method) {
  return find_name(kMethodNames, name, method);
}

}  // namespace kde
