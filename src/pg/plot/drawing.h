// From densities to the picture that the core draws: which part of the axis, which bins, ticks and
// texts.
#pragma once

#include "pg/answer/call.h"

#include "core/kde.h"

namespace kde_pg {

// What is asked of a picture.
struct PictureStyle {
  kde::PictureKind kind;
  bool svg;            // else characters
  bool blocks;         // of characters: block elements, else ASCII
  int width, height;   // within the core's bounds
  const double* ends;  // lower and upper, NaN where the picture chooses; finite, ascending
  double confidence;   // of the intervals, for the notes
  const char* title;   // null: none
};

// A density of it, of one column with an order; all of a picture have one type.
struct Shown {
  const kde::Header* density;
  kde::BlockSums sums;
  double scale;  // rows of the table that each row of it stands for
  kde::IntervalOptions options;
  const char* label;  // null: it stands alone
};

// Groups that are not drawn, for the notes.
struct NotShown {
  double densities, rows;
};

// Both append to *out. Errors: what is drawn is not, but of memory.
void draw_curves(const Shown* shown, int n, const NotShown& others, const PictureStyle& style,
                 std::string* out);
// The most frequent values of a category. call: of one column. label: as Shown's.
void draw_category(const Call& call, const char* label, const PictureStyle& style,
                   std::string* out);

}  // namespace kde_pg
