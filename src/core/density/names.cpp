// The tables of names.h.
#include "core/density/names.h"

#include "core/density/name_list.h"
#include "core/density/round_ends.h"

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

// In the order of chains; what a number's calendar is called is another name.
constexpr const char* kChainNames[] = {"decimal", "calendar", "duration", "unix milliseconds"};
static_assert(std::size(kChainNames) == kChains);
constexpr const char* kUnixSeconds = "unix seconds";
constexpr const char* kToldNames[] = {"decimal", kUnixSeconds, "unix milliseconds"};

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

const char* steps_name(const Header& header) {
  const bool seconds = header.chain == Chain::calendar && is_told(header.value_type, header.chain);
  return seconds ? kUnixSeconds : kChainNames[static_cast<int>(header.chain)];
}

const char* steps_list() {
  static constexpr NameList kList = name_list(kToldNames);
  return kList.text;
}

bool parse_steps(std::string_view name, Chain* chain) {
  constexpr Chain kTold[] = {Chain::decimal, Chain::calendar, Chain::milliseconds};
  std::size_t at;
  if (!find_name(kToldNames, name, &at)) return false;
  *chain = kTold[at];
  return true;
}

bool parse_method(std::string_view name, Method* method) {
  return find_name(kMethodNames, name, method);
}

}  // namespace kde
