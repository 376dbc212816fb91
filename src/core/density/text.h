// The text form of a density: a line of `key=value` fields in a fixed order, numbers in their
// shortest form that reads back to the same bits, so that text round-trips exactly.
//
//   kde/2 kernel=gaussian type=numeric method=plugin flags=5 rows=53940 nulls=0 ...
//   atoms=[value:rows,...]
//   blocks=[first_key:rows_below:key_shift:key_bits:rows_shift:rows_bits:mixed(3:12,1@5,...),...]
//
// Blocks have their cells: the step of the key and the rows as stored, behind a colon over the
// step, behind an @ at its end.
//
// Words (word_format.h) follow as word="text":place:spread, quotes doubled.
//
// A density of several columns: density/joint_text.h.
#pragma once

#include "core/control.h"
#include "core/density/histogram_view.h"

#include <string>
#include <string_view>

namespace kde {

// Of one column. Errors: out_of_memory.
Status to_text(const DensityView& density, std::string* out);

// Of any kind. Strict: every field, once, in order; white space only between fields; validated as a
// whole.
// Errors: invalid_format naming the field; out_of_memory.
Status from_text(std::string_view text, DensityBytes* density, const Control& control = {});

const char* method_name(Method method);  // "auto", "plugin", "silverman", ...
// By which a density was asked for: "auto" where the bandwidth is the plug-in's, but bounded.
const char* asked_method_name(const Header& header);
bool parse_method(std::string_view name, Method* method);
const char* method_list();               // "auto, plugin, ... and scott", for messages
const char* selector_list();             // the same without auto, which is no bandwidth selector
const char* kernel_name(Kernel kernel);  // "gaussian", "epanechnikov", "biweight" ...
bool parse_kernel(std::string_view name, Kernel* kernel);
const char* kernel_list();                    // "gaussian, epanechnikov, ..."
const char* value_type_name(ValueType type);  // "smallint", "timestamptz", ... as shown in text

}  // namespace kde
