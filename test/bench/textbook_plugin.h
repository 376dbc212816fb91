// PLUGIN as its sources print it (plugin.h): what every engine is timed and judged against.
#pragma once

#include <span>

namespace kde::bench {

// The bandwidth of x, 2 values or more, by two plain double loops over the pairs.
double textbook_plugin(std::span<const double> x);

struct TextbookPlugin {
  double h = 0;
  double ms = 0;
};

// Of samples::mix(n); run when first asked for and kept.
const TextbookPlugin& textbook_plugin_of_mix(int n);

}  // namespace kde::bench
