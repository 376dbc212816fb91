// See drawing.h.
//
// Bins of a histogram: each value by itself where the column has a lattice and there is room for
// all its points; else bins with round ends (answer/round_edges.h), as many as a terminal's columns
// are best used by. A curve has a step for each column, or for as many lattice points to each, lest
// some steps have a point more than others. Of times its steps are whole hours, days or weeks: of
// 3.15 days each cuts another part of the days, and a rhythm of them becomes waves that are not
// there.
#include "pg/plot/drawing.h"

#include "pg/answer/top.h"
#include "pg/answer/asked_words.h"
#include "pg/values/equally_spaced.h"
#include "pg/plot/labels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

namespace kde_pg {

namespace {

using kde::Label;
using kde::PictureKind;
using kde::ValueType;

constexpr double kDay = 86400;

double* new_numbers(int n) { return static_cast<double*>(palloc(sizeof(double) * std::max(n, 1))); }

int characters_of(const PictureStyle& style) {
  return style.svg ? kde::svg_characters(style.width) : kde::terminal_steps(style.width);
}

// ---- texts

// Characters of a line of text of that size (pixels) across the picture.
int text_room(const PictureStyle& style, double size) {
  constexpr double kMargins = 24, kCharacter = 0.6;
  return style.svg ? static_cast<int>((style.width - kMargins) / (kCharacter * size)) : style.width;
}
constexpr int kLeastUnit = 8;
constexpr double kTitleSize = 15, kTextSize = 12, kNoteSize = 11;

class Notes {
 public:
  explicit Notes(const PictureStyle& style) : most_(text_room(style, kNoteSize) - 1) {}

  int most() const { return most_; }
  void add(const char* text) {
    if (n_ < kMost) notes_[n_++] = label_of(text, most_);
  }
  std::span<const Label> all() const { return {notes_, static_cast<std::size_t>(n_)}; }
  // Those from now on are of the interval.
  void begin_interval() { first_of_interval_ = n_; }
  std::span<const Label> others() const { return all().first(of_interval()); }
  std::span<const Label> of_the_interval() const { return all().subspan(of_interval()); }

 private:
  std::size_t of_interval() const {
    return static_cast<std::size_t>(std::min(first_of_interval_, n_));
  }

  static constexpr int kMost = 12;
  Label notes_[kMost];
  int n_ = 0;
  int first_of_interval_ = kMost;
  int most_;
};

// With commas.
char* counted(double x) {
  char* digits = psprintf("%.0f", std::fabs(x) < 1e15 ? x : 1e15);
  StringInfoData out;
  initStringInfo(&out);
  const int n = static_cast<int>(strlen(digits));
  for (int i = 0; i < n; ++i) {
    if (i > 0 && (n - i) % 3 == 0) appendStringInfoChar(&out, ',');
    appendStringInfoChar(&out, digits[i]);
  }
  return out.data;
}

// What is about so many has no more than four digits to tell.
const char* rows_text(double rows, bool is_known) {
  if (!is_known && rows >= 1e4) {
    const double unit = std::pow(10.0, std::floor(std::log10(rows)) - 3);
    rows = std::nearbyint(rows / unit) * unit;
  }
  return psprintf("%s%s %s", is_known ? "" : "about ", counted(rows),
                  std::nearbyint(rows) == 1 ? "row" : "rows");
}

bool is_known(const kde::Header& h) { return h.rows_variance == 0; }

// From the least value to the greatest, to be read, not to be reckoned with: six digits of numbers
// that have more, whole seconds.
const char* values_text(ValueType type, double least, double greatest) {
  if (least == greatest) return psprintf("of %s", double_to_text(type, least));
  const bool has_clock = type == ValueType::timestamp || type == ValueType::timestamptz;
  const auto text = [&](double x) {
    return double_to_text(type, has_clock ? std::nearbyint(x) : x);
  };
  const char* from = text(least);
  const char* to = text(greatest);
  constexpr size_t kMany = 12;
  if (type <= ValueType::numeric && std::max(strlen(from), strlen(to)) > kMany) {
    const char* short_from = psprintf("%.6g", least);
    const char* short_to = psprintf("%.6g", greatest);
    if (strcmp(short_from, short_to) != 0) return psprintf("from %s to %s", short_from, short_to);
  }
  return psprintf("from %s to %s", from, to);
}

// "0.12 %", "3 %"
const char* share_text(double share) {
  return psprintf(share < 0.00095  ? "%.1g %%"
                  : share < 0.0995 ? "%.2g %%"
                                   : "%.0f %%",
                  100 * share);
}

// How the interval is told.
const char* interval_text(const PictureStyle& style, bool of_bars) {
  const char* mark = style.svg ? of_bars ? "line" : "band" : style.blocks ? "\u2593\u2591" : "+:";
  return psprintf("%s = %g %% interval", mark, 100 * style.confidence);
}

// ---- the axis

class Composition {
 public:
  Composition(const Shown* shown, int n, const PictureStyle& style)
      : shown_(shown), n_(n), style_(style), type_(shown[0].density->value_type) {}

  void draw(const NotShown& others, std::string* out) {
    kde::Picture picture;
    picture.kind = style_.kind;
    Notes notes(style_);
    kde::Curve* curves = static_cast<kde::Curve*>(palloc(sizeof(kde::Curve) * n_));
    for (int i = 0; i < n_; ++i) curves[i] = kde::Curve();
    const char* unit = nullptr;
    bool has_interval = false;
    if (choose_span()) {
      choose_edges();
      choose_ticks(&picture);
      choose_unit();
      picture.edges = {edges_, static_cast<std::size_t>(steps_) + 1};
      picture.apart = apart_;
      find_curves(curves);
      if (narrow_unit(curves)) find_curves(curves);
      unit = unit_text();
      for (int i = 0; i < n_; ++i) has_interval |= shows_interval(curves[i]);
    }
    for (int i = 0; i < n_; ++i)
      if (shown_[i].label != nullptr) curves[i].label = curve_label(shown_[i]);
    picture.curves = {curves, static_cast<std::size_t>(n_)};
    if (style_.title != nullptr)
      picture.title = label_of(style_.title, text_room(style_, kTitleSize));
    // In a terminal on the title's line.
    const int taken = style_.svg || picture.title.width == 0 ? 0 : picture.title.width + 2;
    if (unit != nullptr && text_room(style_, kNoteSize) - taken >= kLeastUnit)
      picture.unit = label_of(unit, text_room(style_, kNoteSize) - taken);
    add_notes(others, has_interval, &notes);
    picture.notes = notes.others();
    picture.interval_notes = notes.of_the_interval();
    const kde::Status status =
        style_.svg ? kde::draw_svg(picture, {style_.width, style_.height}, out)
                   : kde::draw_terminal(picture, {style_.width, style_.height, style_.blocks}, out);
    check_status(status, "draw the density");
  }

 private:
  // False where there is nothing on the axis.
  bool choose_span() {
    lower_ = style_.ends[0];
    upper_ = style_.ends[1];
    double low = INFINITY;
    double high = -INFINITY;
    for (int i = 0; i < n_; ++i) {
      const kde::Header& h = *shown_[i].density;
      if (!(h.finite_rows() > 0)) continue;
      const kde::AxisSpan span = kde::readable_span(view(shown_[i]));
      low = std::min(low, span.lower);
      high = std::max(high, span.upper);
      if (lattice_ == nullptr) lattice_ = &h;
    }
    if (std::isnan(lower_)) lower_ = std::isnan(upper_) ? low : std::min(low, upper_);
    if (std::isnan(upper_)) upper_ = std::max(high, lower_);
    if (!std::isfinite(lower_) || !std::isfinite(upper_)) return false;
    for (int i = 0; i < n_; ++i) {
      const kde::Header& h = *shown_[i].density;
      if (h.finite_rows() > 0 && !same_lattice(h)) lattice_ = nullptr;
    }
    if (lower_ == upper_) widen();
    return true;
  }

  bool same_lattice(const kde::Header& h) const {
    if (lattice_ == nullptr || !(h.lattice_step > 0) || h.lattice_step != lattice_->lattice_step)
      return false;
    const double apart = (h.lattice_offset - lattice_->lattice_offset) / h.lattice_step;
    return std::fabs(apart - std::nearbyint(apart)) < 1e-6;
  }
  double lattice_step() const { return lattice_ != nullptr ? lattice_->lattice_step : 0; }

  // About a single value.
  void widen() {
    const double step = std::max(lattice_step(), lattice_step_of(type_, -1));
    const bool is_number = type_ <= ValueType::numeric;
    const double around = step > 0      ? step
                          : !is_number  ? 1
                          : lower_ == 0 ? 1
                                        : std::fabs(lower_) / 10;
    constexpr double kMost = std::numeric_limits<double>::max();
    lower_ = std::max(lower_ - around, -kMost);
    upper_ = std::min(upper_ + around, kMost);
  }

  // ---- steps

  void choose_edges() {
    int room = style_.svg ? kde::svg_steps(style_.width) : kde::terminal_steps(style_.width);
    // Curves that cross are to be told apart.
    if (style_.svg && n_ > 1) room = std::max(room / 2, 10);
    if (style_.kind != PictureKind::cumulative && choose_points(room)) return;
    if (style_.kind == PictureKind::histogram && choose_round(room)) return;
    if (style_.kind == PictureKind::density && choose_times(room)) return;
    steps_ = room;
    edges_ = new_numbers(steps_ + 1);
    for (int i = 0; i <= steps_; ++i) edges_[i] = equally_spaced(lower_, upper_, i, steps_);
    // A line begins at the left end.
    if (style_.kind == PictureKind::cumulative && style_.svg)
      edges_[1] = std::nextafter(lower_, upper_);
    drop_repeated();
  }

  // The least step of at least that many seconds in which clocks and weeks go round whole times;
  // narrower than a second, or wider than what the calendar repeats within, any will do.
  double whole_times(double least) const {
    constexpr double kMinute = 60, kHour = 3600, kWeek = 7 * kDay, kYear = 365.2425 * kDay;
    if (type_ <= ValueType::numeric || !(least > 1)) return least;
    for (const double unit : {1.0, kMinute})
      for (const double size : {1.0, 2.0, 5.0, 10.0, 15.0, 30.0})
        if (size * unit >= least) return size * unit;
    for (const double size : {1.0, 2.0, 3.0, 6.0, 12.0, 24.0, 48.0})
      if (size * kHour >= least) return size * kHour;
    const double round = least <= kYear / 2 ? kWeek : kYear;
    return std::ceil(least / round) * round;
  }

  // The axis' end, of steps of days or more a whole number of days from its beginning: the last day
  // may have no rows but in its morning.
  double end_of_day(double end, double step) const {
    if (type_ <= ValueType::numeric || step < kDay) return end;
    return edges_[0] + std::ceil((end - edges_[0]) / kDay - 1e-9) * kDay;
  }

  // Whole times, the last step with what is left of one. False where there are none, or too few.
  // Wherever they begin, each has as much of the day as the others, also where clocks are changed.
  bool choose_times(int room) {
    constexpr int kFewest = 4;
    if (type_ <= ValueType::numeric) return false;
    const double step = whole_times((upper_ - lower_) / room);
    const double n = std::floor((upper_ - lower_) / step + 1e-9);
    if (!(n >= kFewest) || n > room) return false;
    steps_ = static_cast<int>(n);
    edges_ = new_numbers(steps_ + 1);
    for (int i = 0; i < steps_; ++i) edges_[i] = lower_ + i * step;
    edges_[steps_] = end_of_day(upper_, step);
    drop_repeated();
    return true;
  }

  // Steps of one lattice point each, or for a curve of as many each. False where there is no
  // lattice, or no room.
  bool choose_points(int room) {
    const double step = lattice_step();
    if (!(step > 0)) return false;
    // One of the points: others are whole steps away.
    const double point = lattice_->min;
    const double first = std::ceil((lower_ - point) / step - 1e-6);
    const double last = std::floor((upper_ - point) / step + 1e-6);
    const double points = last - first + 1;
    if (!(points >= 1) || !(std::fabs(first) < 1e15) || !(std::fabs(last) < 1e15)) return false;
    if (style_.kind == PictureKind::histogram && points > room) return false;
    double each = std::ceil(points / room);
    const double times = std::nearbyint(whole_times(each * step) / step);
    constexpr double kFewest = 4;
    if (each > 1 && times > each && points / times >= kFewest) each = times;
    apart_ = each == 1;
    // The last with what is left, lest it ends in the middle of nothing.
    steps_ = static_cast<int>(std::floor(points / each));
    edges_ = new_numbers(steps_ + 1);
    for (int i = 0; i < steps_; ++i) edges_[i] = point + (first - 0.5 + i * each) * step;
    edges_[steps_] = end_of_day(point + (last + 0.5) * step, each * step);
    drop_repeated();
    return steps_ >= 1;
  }

  bool choose_round(int room) {
    double best = 0;
    for (int wanted = room; wanted >= 4; wanted = wanted * 4 / 5) {
      const RoundBins bins = {lower_, upper_, true, wanted, room, lattice_step()};
      int n;
      RoundStep step;
      const double* edges = round_edges(type_, bins, &n, &step);
      if (edges == nullptr || n < 1 || n > room) continue;
      const double used = use_of(n, room);
      if (used <= best) continue;
      best = used;
      steps_ = n;
      edges_ = const_cast<double*>(edges);
      bin_ = step.text;
    }
    return best > 0;
  }
  // How good so many bins are: of characters the share of the columns that they fill.
  double use_of(int n, int room) const {
    constexpr double kFew = 20, kBest = 30;
    if (style_.svg) return 1 / (1 + std::fabs(std::log(n / kBest)));
    return static_cast<double>(n * (room / n)) / room * std::min(std::sqrt(n / kFew), 1.0);
  }

  // Of numbers beside which the steps are too narrow to be told.
  void drop_repeated() {
    int kept = 0;
    for (int i = 1; i <= steps_; ++i)
      if (edges_[i] > edges_[kept]) edges_[++kept] = edges_[i];
    steps_ = kept;
  }

  // ---- ticks

  double low_end() const {
    return apart_ ? lower_ : std::max(edges_[0], -std::numeric_limits<double>::max());
  }
  double high_end() const { return apart_ ? upper_ : edges_[steps_]; }

  void choose_ticks(kde::Picture* picture) {
    const double low = low_end();
    const double high = high_end();
    AxisTicks ticks = {nullptr, 0, {RoundStep::Of::numbers, 0, nullptr}};
    if (low < high) ticks = round_ticks(type_, low, high, lattice_step(), characters_of(style_));
    picture->ticks = {ticks.ticks, static_cast<std::size_t>(ticks.count)};
  }

  // ---- what the heights are of

  void choose_unit() {
    each_ = bin_;
    unit_ = 1;
    if (apart_) {
      each_ = type_ > ValueType::numeric && lattice_step() == kDay ? "day" : "value";
      unit_ = lattice_step();
    } else if (style_.kind == PictureKind::density) {
      // Of about as many stretches as a histogram has bins.
      (void)offer_unit(20, lattice_step());
    }
  }

  // A round stretch, of which about that many make the axis. False if there is none narrower than
  // the one before.
  bool offer_unit(int stretches, double least) {
    if (!(low_end() < high_end())) return false;
    const RoundBins wanted = {low_end(), high_end(), true, stretches, 10 * stretches, least};
    int n;
    RoundStep step;
    if (round_edges(type_, wanted, &n, &step) == nullptr) return false;
    if (each_ != nullptr && step.width >= unit_) return false;
    each_ = step.text;
    unit_ = step.width;
    return true;
  }

  // Where a curve is above 100 %, which no stretch holds, a stretch narrow enough. True if there
  // is.
  bool narrow_unit(const kde::Curve* curves) {
    if (style_.kind != PictureKind::density || apart_) return false;
    double most = 0, top = 0;
    for (int i = 0; i < n_; ++i)
      for (const double upper : curves[i].upper) most = std::max(most, upper);
    for (int i = 0; i < n_; ++i) top = std::max(top, highest(curves[i]));
    most = std::min(most, 1.5 * top);  // intervals beyond are cut off
    const double widest = unit_ * (100 / most) * (1 + 1e-9);
    const bool too_wide = unit_ > widest;
    // A step holds 100 % at most, so as wide as a step will do; beside it for the rounding.
    const int enough = 16 * steps_;
    for (int stretches = 40; unit_ > widest && stretches <= enough; stretches += stretches / 2)
      if (!offer_unit(stretches, lattice_step())) (void)offer_unit(stretches, 0);
    return too_wide;
  }

  const char* unit_text() const {
    if (style_.kind == PictureKind::cumulative) return "% of rows up to here";
    const char* what = style_.kind == PictureKind::density ? "% of rows" : "rows";
    return each_ != nullptr ? psprintf("%s per %s", what, each_) : what;
  }

  // ---- curves

  static kde::DensityView view(const Shown& s) { return kde::DensityView(s.density, s.sums); }

  kde::Curve curve_of(const Shown& s) const {
    kde::Curve out;
    if (!(s.density->rows > 0) || steps_ < 1) return out;
    const auto n = static_cast<std::size_t>(steps_);
    double* values = new_numbers(3 * steps_);
    const kde::StepValues into = {{values, n}, {values + n, n}, {values + 2 * n, n}};
    const std::span<const double> edges(edges_, n + 1);
    switch (style_.kind) {
      case PictureKind::histogram:
        kde::count_steps(view(s), edges, s.options, into);
        for (int i = 0; i < 3 * steps_; ++i) values[i] *= s.scale;
        break;
      case PictureKind::density:
        kde::density_steps(view(s), edges, unit_, s.options, into);
        break;
      case PictureKind::cumulative:
        kde::cumulative_steps(view(s), edges, s.options, into);
        break;
    }
    out.value = into.value;
    out.lower = into.lower;
    out.upper = into.upper;
    return out;
  }

  void find_curves(kde::Curve* curves) const {
    for (int i = 0; i < n_; ++i) {
      CHECK_FOR_INTERRUPTS();
      curves[i] = curve_of(shown_[i]);
    }
  }

  static double highest(const kde::Curve& curve) {
    double height = 0;
    for (const double value : curve.value) height = std::max(height, value);
    return height;
  }

  // Whether there is an interval; in SVG one of a pixel at least. What a terminal's rows show of it
  // is known where they are drawn.
  bool shows_interval(const kde::Curve& curve) const {
    double width = 0;
    for (std::size_t i = 0; i < curve.value.size(); ++i)
      width = std::max(width, curve.upper[i] - curve.lower[i]);
    const double height = style_.kind == PictureKind::cumulative ? 100 : highest(curve);
    return style_.svg ? width * style_.height >= height && width > 0 : width > 1e-6 * height;
  }

  Label curve_label(const Shown& s) const {
    const kde::Header& h = *s.density;
    const char* rows = rows_text(h.rows * s.scale, is_known(h));
    const char* text = s.label[0] == '\0' ? rows : psprintf("%s: %s", s.label, rows);
    return label_of(text, style_.svg ? text_room(style_, kTextSize) - 3 : style_.width);
  }

  // ---- notes

  void add_notes(const NotShown& others, bool has_interval, Notes* notes) const {
    double rows = 0, nulls = 0, nans = 0, infinite = 0, finite = 0, below = 0, above = 0;
    double changed = 0;
    bool known = true;
    double least = INFINITY;
    double greatest = -INFINITY;
    for (int i = 0; i < n_; ++i) {
      const Shown& s = shown_[i];
      const kde::Header& h = *s.density;
      rows += h.rows * s.scale;
      nulls += h.nulls * s.scale;
      nans += h.nans * s.scale;
      infinite += (h.positive_infinities + h.negative_infinities) * s.scale;
      changed = std::max(changed, s.options.changed_rows * s.scale);
      known &= is_known(h);
      if (!(h.finite_rows() > 0)) continue;
      finite += h.finite_rows();
      least = std::min(least, h.min);
      greatest = std::max(greatest, h.max);
      if (steps_ < 1) continue;
      const kde::RowsBeyond beyond = kde::rows_beyond(view(s), {edges_[0], edges_[steps_]});
      below += beyond.below;
      above += beyond.above;
    }
    const char* total = rows_text(rows, known);
    if (!(finite > 0)) {
      notes->add(n_ == 1 && rows == 0 ? "no rows" : psprintf("%s, no finite value", total));
    } else {
      const char* values = values_text(type_, least, greatest);
      if (static_cast<int>(strlen(total) + strlen(values)) < notes->most()) {
        notes->add(psprintf("%s %s", total, values));
      } else {
        notes->add(total);
        notes->add(values);
      }
    }
    if (below >= 0.5) notes->add(psprintf("%s below the axis", share_text(below / finite)));
    if (above >= 0.5) notes->add(psprintf("%s above the axis", share_text(above / finite)));
    if (nulls >= 0.5) notes->add(psprintf("%s NULL", counted(nulls)));
    if (nans >= 0.5) notes->add(psprintf("%s NaN", counted(nans)));
    if (infinite >= 0.5) notes->add(psprintf("%s infinite", counted(infinite)));
    if (others.densities > 0)
      notes->add(psprintf("%s more with %s not shown", counted(others.densities),
                          rows_text(others.rows, true)));
    if (!has_interval) return;
    notes->begin_interval();
    notes->add(interval_text(style_, style_.kind == PictureKind::histogram && n_ == 1));
    if (changed >= 0.5)
      notes->add(psprintf("%s changed since the fit are in it", rows_text(changed, true)));
  }

  const Shown* shown_;
  int n_;
  const PictureStyle& style_;
  ValueType type_;
  const kde::Header* lattice_ = nullptr;  // of the first, where all have the same
  double lower_ = 0, upper_ = 0;
  double* edges_ = nullptr;
  int steps_ = 0;
  bool apart_ = false;
  const char* bin_ = nullptr;   // of round bins
  const char* each_ = nullptr;  // what a height is per
  double unit_ = 1;             // of a density: how wide that is
};

}  // namespace

void draw_curves(const Shown* shown, int n, const NotShown& others, const PictureStyle& style,
                 std::string* out) {
  Composition(shown, n, style).draw(others, out);
}

void draw_category(const Call& call, const char* label, const PictureStyle& style,
                   std::string* out) {
  const kde::Header& h = *call.density.one_column;
  const double scale = call.density.scale;
  TopValue* values;
  const int room = style.svg ? kde::svg_bars(style.height) : kde::terminal_bars(style.height);
  const int n = h.rows > 0 ? list_top(call, room, &values) : 0;
  const int text = text_room(style, kTextSize);
  auto* bars = static_cast<kde::Bar*>(palloc(sizeof(kde::Bar) * std::max(n, 1)));
  double shown = 0;
  double most = 0, widest = 0;
  for (int i = 0; i < n; ++i) {
    const kde::Interval& count = values[i].count;
    const std::string_view word(VARDATA_ANY(values[i].value), VARSIZE_ANY_EXHDR(values[i].value));
    shown += count.estimate;
    most = std::max({most, count.upper, count.estimate});
    widest = std::max(widest, count.upper - count.lower);
    bars[i] = {label_of(word, text / 3), count.estimate, count.lower, count.upper,
               label_of(counted(count.estimate), text)};
  }
  Notes notes(style);
  const double rows = h.rows * scale;
  notes.add(h.rows > 0 ? rows_text(rows, is_known(h)) : "no rows");
  if (rows - shown >= 0.5)
    notes.add(psprintf("%s of other values", rows_text(rows - shown, is_known(h))));
  if (h.nulls * scale >= 0.5) notes.add(psprintf("%s NULL", counted(h.nulls * scale)));
  if (widest >= 0.5 && (!style.svg || widest * style.width >= most)) {
    notes.begin_interval();
    notes.add(interval_text(style, true));
  }
  kde::Bars picture;
  const char* title = label != nullptr && label[0] != '\0' ? label : style.title;
  if (title != nullptr) picture.title = label_of(title, text_room(style, kTitleSize));
  if (style.svg || picture.title.width + 16 <= style.width)
    picture.unit = label_of("rows per value", text);
  picture.bars = {bars, static_cast<std::size_t>(n)};
  picture.notes = notes.others();
  picture.interval_notes = notes.of_the_interval();
  const kde::Status status =
      style.svg ? kde::draw_svg(picture, {style.width, style.height}, out)
                : kde::draw_terminal(picture, {style.width, style.height, style.blocks}, out);
  check_status(status, "draw the density");
}

}  // namespace kde_pg
