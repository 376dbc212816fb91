// Pictures of characters: a row of block elements shows heights to an eighth of itself
// (U+2581 to U+2588; of bars from the left U+2589 to U+258F), shades (U+2591, U+2593) the interval.
//
//   full    below the interval's lower end
//   dark    from there to the estimate
//   light   from the estimate to the upper end
//
// A tick's label stands beside the row that a bar of that height fills to its top, and 0 beside the
// axis.
#include "core/picture/layout.h"
#include "core/picture/scale.h"
#include "core/guarded.h"

#include <cmath>
#include <vector>

namespace kde {

namespace {

using picture::highest;
using picture::step_of;

// Columns left of the axis, the axis, and one for a tick at the right end.
constexpr int kHeights = 7;
constexpr int kBesides = kHeights + 2;

struct Characters {
  std::string_view upwards[9], rightwards[9];  // eighths
  std::string_view dark, light;
  std::string_view axis, axis_tick, corner, floor, floor_tick, corner_tick;
};

constexpr Characters kBlocks = {
    {" ", "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"},
    {" ", "\u258F", "\u258E", "\u258D", "\u258C", "\u258B", "\u258A", "\u2589", "\u2588"},
    "\u2593",
    "\u2591",
    "\u2502",
    "\u2524",
    "\u2514",
    "\u2500",
    "\u2534",
    "\u2534"};
constexpr Characters kAscii = {{" ", "_", "_", "_", "#", "#", "#", "#", "#"},
                               {" ", ".", ".", ".", "#", "#", "#", "#", "#"},
                               "+",
                               ":",
                               "|",
                               "+",
                               "+",
                               "-",
                               "+",
                               "+"};

// Lines, one after the other.
class Page {
 public:
  explicit Page(std::string* out) : out_(out) {}

  void put(std::string_view text) { *out_ += text; }
  void put(const Label& label) { put(label.text); }
  void blanks(int n) { out_->append(static_cast<std::size_t>(std::max(n, 0)), ' '); }
  void put_cell(std::string_view cell, const Characters& characters) {
    has_interval_ |= cell == characters.dark || cell == characters.light;
    put(cell);
  }
  // Whether a cell was of an interval.
  bool has_interval() const { return has_interval_; }
  void end() {
    while (!out_->empty() && out_->back() == ' ') out_->pop_back();
    *out_ += '\n';
  }

 private:
  std::string* out_;
  bool has_interval_ = false;
};

// How many eighths of cell k, from 0 on, a length of so many cells fills.
int eighths(double length, int k) {
  return static_cast<int>(std::clamp(std::nearbyint((length - k) * 8), 0.0, 8.0));
}

// A cell of a bar; lengths in cells. seen: whether it is shown however short it is.
struct Extent {
  double value, lower, upper;
  bool seen;
};
// Half a row rounds to one.
constexpr double kSomeRows = 0.5;

std::string_view cell_of(const Extent& bar, int k, const Characters& characters,
                         const std::string_view (&parts)[9]) {
  const double middle = k + 0.5;
  int filled = eighths(bar.value, k);
  if (k == 0 && bar.seen) filled = std::max(filled, 1);
  if (filled == 8 && middle > bar.lower && bar.value - bar.lower >= 0.5) return characters.dark;
  if (filled > 0) return parts[filled];
  return middle < bar.upper ? characters.light : " ";
}

// "title, unit", as far as there are such.
void put_head(const Label& title, const Label& unit, Page* page) {
  if (title.text.empty() && unit.text.empty()) return;
  page->put(title);
  if (!title.text.empty() && !unit.text.empty()) page->put(", ");
  page->put(unit);
  page->end();
}

void put_notes(std::span<const Label> notes, std::span<const Label> of_interval, int width,
               Page* page) {
  if (!page->has_interval()) of_interval = {};
  for (const std::string& line : picture::lines_of(notes, of_interval, width)) {
    page->put(line);
    page->end();
  }
}

class Drawing {
 public:
  Drawing(const Picture& picture, const TerminalStyle& style, std::string* out)
      : p_(picture),
        style_(style),
        characters_(style.blocks ? kBlocks : kAscii),
        page_(out),
        steps_(static_cast<int>(picture.edges.size()) - 1),
        each_(steps_ > 0 ? std::max(terminal_steps(style.width) / steps_, 1) : 0) {}

  void draw() {
    put_head(p_.title, p_.unit, &page_);
    const bool several = p_.curves.size() > 1;
    const int rows = several ? std::max(style_.height / 3, 3) : std::max(style_.height - 3, 3);
    const double shared = shared_height();
    for (std::size_t i = 0; i < p_.curves.size(); ++i) {
      const Curve& curve = p_.curves[i];
      if (!curve.label.text.empty()) {
        page_.put(curve.label);
        page_.end();
      }
      if (curve.value.empty() || steps_ < 1) continue;
      draw_curve(curve, shared > 0 ? shared : highest(curve), rows);
    }
    if (steps_ >= 1) draw_labels();
    put_notes(p_.notes, p_.interval_notes, style_.width, &page_);
  }

 private:
  // One scale for all, unless one of them would be too low to be seen. 0: each has its own.
  double shared_height() const {
    constexpr double kMostApart = 4;
    double least = INFINITY;
    double most = 0;
    for (const Curve& curve : p_.curves) {
      if (curve.value.empty()) continue;
      least = std::min(least, highest(curve));
      most = std::max(most, highest(curve));
    }
    return most <= kMostApart * least ? most : 0;
  }

  void draw_curve(const Curve& curve, double most, int rows) {
    RowScale scale;
    if (p_.kind == PictureKind::cumulative) {
      // To 100 % with no row above it.
      rows = rows >= 10 ? rows - rows % 10 : rows >= 5 ? 5 : rows;
      scale = {rows >= 10 ? 20.0 : rows == 5 ? 20.0 : 100.0, 100, rows >= 10 ? rows / 5 : 1};
      if (rows < 5) scale.rows_a_tick = rows;
    } else {
      scale = row_scale_of(most, rows);
    }
    const double rows_a_unit = rows / scale.top;
    // Without those that nothing reaches into, but for the lowest tick.
    if (p_.kind != PictureKind::cumulative && most > 0)
      rows = static_cast<int>(std::clamp<double>(std::ceil(most * rows_a_unit - 1e-9),
                                                 std::min(scale.rows_a_tick, rows), rows));
    for (int row = rows - 1; row >= 0; --row) {
      const bool ticked = (row + 1) % scale.rows_a_tick == 0;
      const int tick = (row + 1) / scale.rows_a_tick;
      put_height(ticked ? short_number(tick * scale.step) : "");
      page_.put(ticked ? characters_.axis_tick : characters_.axis);
      for (int i = 0; i < steps_; ++i) {
        const auto k = static_cast<std::size_t>(i);
        const Extent bar = {curve.value[k] * rows_a_unit, curve.lower[k] * rows_a_unit,
                            curve.upper[k] * rows_a_unit,
                            p_.kind == PictureKind::histogram && curve.value[k] >= kSomeRows};
        const std::string_view cell = cell_of(bar, row, characters_, characters_.upwards);
        for (int j = 0; j < each_ - gap(); ++j) page_.put_cell(cell, characters_);
        page_.blanks(gap());
      }
      page_.end();
    }
    put_height("0");
    draw_floor();
  }

  int gap() const { return p_.apart && each_ >= 3 ? 1 : 0; }

  void put_height(std::string_view text) {
    page_.blanks(kHeights - 1 - static_cast<int>(text.size()));
    page_.put(text);
    page_.blanks(1);
  }

  // The column right of the axis, from 0 on, that a place on it lies in.
  int column_of(double x) const {
    const double place = step_of(p_.edges, x) * each_ - (p_.apart ? gap() / 2.0 : 0);
    return static_cast<int>(std::floor(place + 1e-9));
  }
  int columns() const { return steps_ * each_; }

  void draw_floor() {
    std::vector<bool> ticked(static_cast<std::size_t>(columns()) + 1);
    for (const Tick& tick : p_.ticks)
      ticked[static_cast<std::size_t>(std::clamp(column_of(tick.at), 0, columns()))] = true;
    page_.put(characters_.corner);
    for (int i = 0; i <= columns(); ++i) {
      const bool beyond = i == columns() && !ticked[static_cast<std::size_t>(i)];
      if (!beyond)
        page_.put(ticked[static_cast<std::size_t>(i)] ? characters_.floor_tick : characters_.floor);
    }
    page_.end();
  }

  // Each in the middle below its tick, as far as there is room; none touches another.
  void draw_labels() {
    int used = 0;
    for (const Tick& tick : p_.ticks) {
      const int tick_column = kHeights + 1 + column_of(tick.at);
      int from = tick_column - (tick.label.width - 1) / 2;
      from = std::max(std::min(from, style_.width - tick.label.width), 0);
      if (used > 0 && from < used + 1) continue;
      page_.blanks(from - used);
      page_.put(tick.label);
      used = from + tick.label.width;
    }
    page_.end();
  }

  const Picture& p_;
  const TerminalStyle& style_;
  const Characters& characters_;
  Page page_;
  int steps_, each_;  // columns of each step
};

void draw_bars(const Bars& p, const TerminalStyle& style, std::string* out) {
  const Characters& characters = style.blocks ? kBlocks : kAscii;
  Page page(out);
  put_head(p.title, p.unit, &page);
  int labels = 0;
  int counts = 0;
  for (const Bar& bar : p.bars) {
    labels = std::max(labels, bar.label.width);
    counts = std::max(counts, bar.count.width);
  }
  // Between them, an axis and a blank.
  const int room = std::max(style.width - labels - counts - 3, 1);
  const double most = highest(p);
  for (const Bar& bar : p.bars) {
    page.blanks(labels - bar.label.width);
    page.put(bar.label);
    page.blanks(1);
    page.put(characters.axis);
    const double cells = most > 0 ? room / most : 0;
    const Extent extent = {bar.value * cells, bar.lower * cells, bar.upper * cells,
                           bar.value >= kSomeRows};
    for (int k = 0; k < room; ++k)
      page.put_cell(cell_of(extent, k, characters, characters.rightwards), characters);
    page.blanks(1 + counts - bar.count.width);
    page.put(bar.count);
    page.end();
  }
  put_notes(p.notes, p.interval_notes, style.width, &page);
}

}  // namespace

int terminal_steps(int width) { return width - kBesides; }
int terminal_bars(int height) { return height - 2; }

Status draw_terminal(const Picture& picture, const TerminalStyle& style,
                     std::string* out) noexcept {
  return guarded([&] {
    Drawing(picture, style, out).draw();
    return Status::success();
  });
}

Status draw_terminal(const Bars& bars, const TerminalStyle& style, std::string* out) noexcept {
  return guarded([&] {
    draw_bars(bars, style, out);
    return Status::success();
  });
}

}  // namespace kde
