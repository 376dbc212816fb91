// What methods are called, in SQL and in messages.
#pragma once

#include "core/density/format.h"

#include <string_view>

namespace kde {

const char* method_name(Method method);  // "auto", "plugin", "silverman", ...
// By which a density was asked for: "auto" where the bandwidth is the plug-in's, but bounded.
const char* asked_method_name(const Header& header);
bool parse_method(std::string_view name, Method* method);
const char* method_list();  // "auto, plugin, ... and scott", for messages
// By which steps cells end, as a fit is told and as it is shown.
const char* steps_name(const Header& header);
bool parse_steps(std::string_view name, Chain* chain);
const char* steps_list();
const char* selector_list();  // the same without auto, which is no bandwidth selector

}  // namespace kde
