// A density as people look at it: bars and curves with axes, drawn with the characters of a
// terminal (terminal.cpp) or as SVG (svg.cpp). What is drawn comes here ready: numbers and texts;
// what they mean is another's affair (steps.h, and the glue, which knows the column's type).
//
// Both obey what W. S. Cleveland (The Elements of Graphing Data, 1985) and E. Tufte (The Visual
// Display of Quantitative Information, 1983) ask of such pictures: heights begin at 0, which is
// labelled; ticks are round; the uncertainty is shown where the estimate is.
#pragma once

#include "core/status.h"

#include <span>
#include <string>
#include <string_view>

namespace kde {

// A text without control characters, and how many columns of a terminal it takes.
struct Label {
  std::string_view text;
  int width = 0;
};

enum class PictureKind {
  histogram,   // bars
  density,     // a curve, and what is below it
  cumulative,  // the same of the distribution function
};

struct Tick {
  double at;
  Label label;
};

// One density: a value for each step, >= 0 and finite, lower <= value <= upper. Without values it
// has nothing to draw.
struct Curve {
  Label label;
  std::span<const double> value, lower, upper;
};

// Curves over one axis. In a terminal they are drawn under one another, in SVG into one another.
struct Picture {
  PictureKind kind = PictureKind::histogram;
  Label title;
  Label unit;                     // of the heights: "rows per 10"
  std::span<const double> edges;  // of the steps, ascending, finite; at least two, or none at all
  bool apart = false;             // each step is one value by itself
  std::span<const Tick> ticks;    // ascending, within the edges
  std::span<const Curve> curves;
  std::span<const Label> notes;  // what else is to be said
  // And of the interval, last: where lower and upper are to be seen. In a terminal only if they are
  // far enough apart for its rows.
  std::span<const Label> interval_notes;
};

// A category: a bar for each value, from the left.
struct Bar {
  Label label;
  double value, lower, upper;  // as above
  Label count;                 // the value in full, at the bar's end
};
struct Bars {
  Label title;
  Label unit;
  std::span<const Bar> bars;
  std::span<const Label> notes, interval_notes;  // as above
};

// Sizes of what is drawn, all in all: of a terminal in characters, of SVG in pixels.
inline constexpr int kLeastColumns = 30, kMostColumns = 500, kLeastLines = 6, kMostLines = 200;
inline constexpr int kLeastPixels = 160, kMostPixels = 4000;

// How many steps fit into a picture of that width: a column each, or what a line is drawn by.
int terminal_steps(int width);
int svg_steps(int width);
// How many digits of the size in which ticks are labelled lie beside each other on that many.
int svg_characters(int width);
// How many bars of a category fit into that height.
int terminal_bars(int height);
int svg_bars(int height);

// A drawing in characters. `blocks`: with block elements (UTF-8, U+2500 to U+2593), else in ASCII.
// width, height: within the bounds above. The lines of one picture are `height`, and the notes; of
// several curves each has about a third of it. Lines end with a line feed, and have no blanks
// before it. Errors: out_of_memory.
struct TerminalStyle {
  int width, height;
  bool blocks;
};
Status draw_terminal(const Picture& picture, const TerminalStyle& style, std::string* out) noexcept;
Status draw_terminal(const Bars& bars, const TerminalStyle& style, std::string* out) noexcept;

// One element `svg`, which stands alone or in a page of HTML beside others: it has no ids, its
// classes begin with kde-, and its colours follow the reader's preference of light or dark where
// style sheets are let through, else they are the light ones. Errors: out_of_memory.
struct SvgStyle {
  int width, height;
};
Status draw_svg(const Picture& picture, const SvgStyle& style, std::string* out) noexcept;
Status draw_svg(const Bars& bars, const SvgStyle& style, std::string* out) noexcept;

// Curves that SVG tells apart by their colours.
inline constexpr int kMostCurves = 6;

}  // namespace kde
