// Pictures as SVG 1.1, of one element that needs nothing else.
//
// Colours are those of M. Okabe and K. Ito (Color Universal Design, 2008), which the colour-blind
// tell apart; on a dark ground the same, lighter. Presentation attributes have the light ones, and
// a style sheet of classes of its own overrides them where the reader prefers dark: so that a page
// that strips style sheets shows the picture all the same, and two pictures on a page agree.
#include "core/picture/layout.h"
#include "core/picture/scale.h"
#include "core/guarded.h"

#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace kde {

namespace {

using picture::highest;

constexpr const char* kColours[kMostCurves] = {"#0072b2", "#d55e00", "#009e73",
                                               "#cc79a7", "#e69f00", "#56b4e9"};
constexpr const char* kDarkColours[kMostCurves] = {"#4ba3e3", "#f0803c", "#2fc79a",
                                                   "#e29bc3", "#f0b840", "#8ecdf5"};
constexpr const char* kGround = "#ffffff";
constexpr const char* kInk = "#1f2328";
constexpr const char* kMuted = "#59636e";
constexpr const char* kGrid = "#e4e7eb";
constexpr const char* kAxis = "#8b949e";

// Sizes in pixels.
constexpr double kText = 12, kTitle = 15, kSmall = 11;
constexpr double kDigit = 0.6;  // width of a character over its size: of a digit 0.56
constexpr double kMargin = 12, kLine = 16;
constexpr double kBesides = 60;  // of the width, what is not the plot, about

class Element {
 public:
  explicit Element(std::string* out) : out_(out) {}

  void raw(std::string_view text) { *out_ += text; }
  __attribute__((format(printf, 2, 3))) void put(const char* format, ...) {
    char text[400];
    va_list args;
    va_start(args, format);
    const int n = std::vsnprintf(text, sizeof text, format, args);
    va_end(args);
    out_->append(text, static_cast<std::size_t>(std::clamp<int>(n, 0, sizeof text - 1)));
  }
  void escaped(std::string_view text) {
    for (const char c : text) {
      switch (c) {
        case '<':
          raw("&lt;");
          break;
        case '>':
          raw("&gt;");
          break;
        case '&':
          raw("&amp;");
          break;
        case '"':
          raw("&quot;");
          break;
        case '\'':
          raw("&#39;");
          break;
        default:
          *out_ += c;
      }
    }
  }
  // A place or a length: a tenth of a pixel is enough.
  void number(double x) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", x);
    std::string_view digits(text);
    if (digits.ends_with(".0")) digits.remove_suffix(2);
    raw(digits == "-0" ? "0" : digits);
  }
  void point(char command, double x, double y) {
    *out_ += command;
    number(x);
    *out_ += ' ';
    number(y);
  }

  enum class Anchor { start, middle, end };
  void text(double x, double y, Anchor anchor, std::string_view text, double size = kText,
            bool muted = true) {
    raw("<text x=\"");
    number(x);
    raw("\" y=\"");
    number(y);
    raw("\"");
    if (anchor != Anchor::start)
      put(" text-anchor=\"%s\"", anchor == Anchor::end ? "end" : "middle");
    if (size != kText) put(" font-size=\"%g\"", size);
    if (size == kTitle) raw(" font-weight=\"600\"");
    if (!muted) put(" fill=\"%s\" class=\"kde-ink\"", kInk);
    raw(">");
    escaped(text);
    raw("</text>\n");
  }

 private:
  std::string* out_;
};

using Anchor = Element::Anchor;

double width_of(const Label& label, double size) { return label.width * kDigit * size; }

void open(const Label& title, const Label& unit, const SvgStyle& style, Element* out) {
  out->put(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"kde-plot\" role=\"img\" width=\"%d\" "
      "height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"system-ui, sans-serif\" "
      "font-size=\"%g\" style=\"font-variant-numeric: tabular-nums\">\n",
      style.width, style.height, style.width, style.height, kText);
  out->raw("<title>");
  out->escaped(title.text);
  if (!unit.text.empty()) {
    out->raw(title.text.empty() ? "" : ", ");
    out->escaped(unit.text);
  }
  out->raw(
      "</title>\n<style>@media (prefers-color-scheme: dark) {"
      ".kde-plot .kde-ground {fill: #15181d} .kde-plot .kde-ink {fill: #e6e9ed} "
      ".kde-plot .kde-muted {fill: #9ba5b0} .kde-plot .kde-grid {stroke: #2b3138} "
      ".kde-plot .kde-axis {stroke: #6b7681} .kde-plot .kde-mark {stroke: #e6e9ed}");
  for (int i = 0; i < kMostCurves; ++i)
    out->put(" .kde-plot .kde-fill-%d {fill: %s} .kde-plot .kde-line-%d {stroke: %s}", i + 1,
             kDarkColours[i], i + 1, kDarkColours[i]);
  out->raw("}</style>\n");
  out->put("<rect class=\"kde-ground\" width=\"%d\" height=\"%d\" fill=\"%s\"/>\n", style.width,
           style.height, kGround);
}

void fill(std::size_t i, double opacity, Element* out) {
  out->put("class=\"kde-fill-%d\" fill=\"%s\"", static_cast<int>(i) + 1, kColours[i]);
  if (opacity < 1) out->put(" fill-opacity=\"%g\"", opacity);
}

// What surrounds what is drawn; y grows downwards.
struct Frame {
  double left, right, top, bottom;
  double width() const { return right - left; }
  double height() const { return bottom - top; }
};

// The title, what the heights are, and the notes; *frame is what is left.
void put_texts(const Label& title, const Label& unit, std::span<const Label> notes,
               std::span<const Label> of_interval, const SvgStyle& style, Frame* frame,
               Element* out) {
  *frame = {kMargin, style.width - kMargin, kMargin, style.height - kMargin};
  out->put("<g class=\"kde-muted\" fill=\"%s\">\n", kMuted);
  if (!title.text.empty()) {
    out->text(frame->left, frame->top + kTitle - 2, Anchor::start, title.text, kTitle, false);
    frame->top += kTitle + 5;
  }
  if (!unit.text.empty()) {
    out->text(frame->left, frame->top + kSmall - 1, Anchor::start, unit.text, kSmall);
    frame->top += kSmall + 5;
  }
  const std::vector<std::string> lines =
      picture::lines_of(notes, of_interval, static_cast<int>(frame->width() / (kDigit * kSmall)));
  for (std::size_t i = 0; i < lines.size(); ++i)
    out->text(frame->left, frame->bottom - static_cast<double>(lines.size() - 1 - i) * kLine - 2,
              Anchor::start, lines[i], kSmall);
  frame->bottom -= static_cast<double>(lines.size()) * kLine;
  out->raw("</g>\n");
}

class Drawing {
 public:
  Drawing(const Picture& picture, const SvgStyle& style, std::string* out)
      : p_(picture), style_(style), out_(out) {}

  void draw() {
    open(p_.title, p_.unit, style_, &out_);
    put_texts(p_.title, p_.unit, p_.notes, p_.interval_notes, style_, &frame_, &out_);
    if (p_.curves.size() > 1) put_legend();
    if (p_.edges.size() > 1) {
      double most = 0;
      for (const Curve& curve : p_.curves) most = std::max(most, highest(curve));
      scale_ = p_.kind == PictureKind::cumulative
                   ? Scale{20, 100}
                   : scale_of(most, std::clamp(static_cast<int>(frame_.height() / 45), 2, 8));
      put_axes();
      const bool alone = p_.curves.size() == 1;
      for (std::size_t i = 0; i < p_.curves.size(); ++i) {
        if (p_.curves[i].value.empty()) continue;
        if (p_.kind == PictureKind::histogram && alone) {
          put_bars(p_.curves[i]);
        } else {
          put_curve(p_.curves[i], i, alone);
        }
      }
      put_floor();
    } else {
      out_.put("<g class=\"kde-muted\" fill=\"%s\">", kMuted);
      out_.text(style_.width / 2.0, (frame_.top + frame_.bottom) / 2, Anchor::middle,
                "nothing to draw");
      out_.raw("</g>\n");
    }
    out_.raw("</svg>\n");
  }

 private:
  double x(double at) const {
    const double low = p_.edges.front();
    const double high = p_.edges.back();
    // Halves: the span may overflow.
    const double t = (at / 2 - low / 2) / (high / 2 - low / 2);
    return frame_.left + std::clamp(t, 0.0, 1.0) * frame_.width();
  }
  double y(double height) const {
    return frame_.bottom - std::min(height / scale_.top, 1.0) * frame_.height();
  }

  void put_legend() {
    out_.put("<g class=\"kde-muted\" fill=\"%s\">\n", kMuted);
    double at = frame_.left;
    for (std::size_t i = 0; i < p_.curves.size(); ++i) {
      const double needs = 18 + width_of(p_.curves[i].label, kText) + 16;
      if (at > frame_.left && at + needs > frame_.right) {
        at = frame_.left;
        frame_.top += kLine;
      }
      out_.raw("<rect x=\"");
      out_.number(at);
      out_.raw("\" y=\"");
      out_.number(frame_.top + 2);
      out_.raw("\" width=\"12\" height=\"10\" rx=\"2\" ");
      fill(i, 1, &out_);
      out_.raw("/>\n");
      out_.text(at + 18, frame_.top + kText - 1, Anchor::start, p_.curves[i].label.text, kText,
                false);
      at += needs;
    }
    frame_.top += kLine + 6;
    out_.raw("</g>\n");
  }

  void put_axes() {
    std::vector<std::string> labels;
    std::size_t widest = 1;
    const int ticks = static_cast<int>(std::nearbyint(scale_.top / scale_.step));
    for (int k = 0; k <= ticks; ++k) {
      labels.push_back(short_number(k * scale_.step));
      widest = std::max(widest, labels.back().size());
    }
    frame_.left += static_cast<double>(widest) * kDigit * kText + 6;
    frame_.right -= 4;
    frame_.top += 10;
    frame_.bottom -= p_.ticks.empty() ? 4 : kText + 12;
    out_.put("<g class=\"kde-muted\" fill=\"%s\">\n", kMuted);
    out_.put("<path class=\"kde-grid\" stroke=\"%s\" d=\"", kGrid);
    for (int k = 1; k <= ticks; ++k) {
      out_.point('M', frame_.left, grid(y(k * scale_.step)));
      out_.raw("H");
      out_.number(frame_.right);
    }
    out_.raw("\"/>\n");
    for (int k = 0; k <= ticks; ++k)
      out_.text(frame_.left - 6, y(k * scale_.step) + kText / 3, Anchor::end,
                labels[static_cast<std::size_t>(k)]);
    put_ticks();
    out_.raw("</g>\n");
  }

  // Lines a pixel wide lie in the middle of one.
  static double grid(double at) { return std::floor(at) + 0.5; }

  void put_ticks() {
    if (p_.ticks.empty()) return;
    out_.put("<path class=\"kde-axis\" stroke=\"%s\" d=\"", kAxis);
    for (const Tick& tick : p_.ticks) {
      out_.point('M', grid(x(tick.at)), frame_.bottom);
      out_.raw("v4");
    }
    out_.raw("\"/>\n");
    double used = 0;
    for (const Tick& tick : p_.ticks) {
      const double half = width_of(tick.label, kText) / 2;
      const double middle = std::clamp(x(tick.at), std::min(half, style_.width / 2.0),
                                       std::max(style_.width - half - 4, style_.width / 2.0));
      if (used > 0 && middle - half < used + 4) continue;
      out_.text(middle, frame_.bottom + kText + 6, Anchor::middle, tick.label.text);
      used = middle + half;
    }
  }

  void put_floor() {
    out_.put("<path class=\"kde-axis\" stroke=\"%s\" d=\"", kAxis);
    out_.point('M', frame_.left, grid(frame_.bottom));
    out_.raw("H");
    out_.number(frame_.right);
    out_.raw("\"/>\n");
  }

  void put_bars(const Curve& curve) {
    out_.raw("<path ");
    fill(0, 0.85, &out_);
    out_.raw(" d=\"");
    for (std::size_t i = 0; i < curve.value.size(); ++i) {
      if (curve.value[i] > 0) put_bar(i, curve.value[i]);
    }
    out_.raw("\"/>\n");
    if (p_.interval_notes.empty()) return;
    // The interval, a line about the bar's end.
    const double width = frame_.width() / static_cast<double>(curve.value.size());
    out_.put(
        "<path class=\"kde-mark\" stroke=\"%s\" stroke-width=\"%.1f\" stroke-opacity=\"0.6\" d=\"",
        kInk, std::clamp(width * 0.15, 1.0, 4.0));
    for (std::size_t i = 0; i < curve.value.size(); ++i) {
      if (!(curve.upper[i] > curve.lower[i])) continue;
      out_.point('M', (x(p_.edges[i]) + x(p_.edges[i + 1])) / 2, y(curve.lower[i]));
      out_.raw("V");
      out_.number(y(curve.upper[i]));
    }
    out_.raw("\"/>\n");
  }
  // Blank to either side of a bar.
  double gap(std::size_t i) const {
    const double width = x(p_.edges[i + 1]) - x(p_.edges[i]);
    return p_.apart ? std::min(width * 0.15, 8.0) : std::min(width * 0.05, 0.5);
  }
  void put_bar(std::size_t i, double height) {
    out_.point('M', x(p_.edges[i]) + gap(i), y(0));
    out_.raw("V");
    out_.number(y(height));
    out_.raw("H");
    out_.number(x(p_.edges[i + 1]) - gap(i));
    out_.raw("V");
    out_.number(y(0));
    out_.raw("z");
  }

  // Few steps are drawn as such.
  bool is_staircase() const {
    constexpr std::size_t kFew = 60;
    return p_.kind == PictureKind::histogram ||
           (p_.kind == PictureKind::density && p_.apart && p_.edges.size() <= kFew);
  }
  // The points of a line of heights, of which the first has `command`; from the right if backwards.
  void put_line(std::span<const double> heights, char command, bool backwards) {
    const std::size_t n = heights.size();
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t i = backwards ? n - 1 - k : k;
      const double left = p_.edges[i];
      const double right = p_.edges[i + 1];
      const double height = y(heights[i]);
      if (is_staircase()) {
        out_.point(command, x(backwards ? right : left), height);
        out_.point('L', x(backwards ? left : right), height);
      } else if (p_.kind == PictureKind::cumulative) {
        out_.point(command, x(right), height);
      } else {
        out_.point(command, x(left / 2 + right / 2), height);
      }
      command = 'L';
    }
  }

  void put_curve(const Curve& curve, std::size_t i, bool alone) {
    if (alone) {
      out_.raw("<path ");
      fill(i, 0.12, &out_);
      out_.raw(" d=\"");
      const double first = first_x();
      out_.point('M', first, frame_.bottom);
      put_line(curve.value, 'L', false);
      out_.point('L', last_x(), frame_.bottom);
      out_.raw("z\"/>\n");
    }
    if (!p_.interval_notes.empty()) {
      out_.raw("<path ");
      fill(i, 0.25, &out_);
      out_.raw(" d=\"");
      put_line(curve.upper, 'M', false);
      put_line(curve.lower, 'L', true);
      out_.raw("z\"/>\n");
    }
    out_.put(
        "<path class=\"kde-line-%d\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.75\" "
        "stroke-linejoin=\"round\" d=\"",
        static_cast<int>(i) + 1, kColours[i]);
    put_line(curve.value, 'M', false);
    out_.raw("\"/>\n");
  }
  double first_x() const {
    if (is_staircase()) return x(p_.edges[0]);
    return x(p_.kind == PictureKind::cumulative ? p_.edges[1] : p_.edges[0] / 2 + p_.edges[1] / 2);
  }
  double last_x() const {
    const std::size_t n = p_.edges.size();
    if (is_staircase() || p_.kind == PictureKind::cumulative) return x(p_.edges[n - 1]);
    return x(p_.edges[n - 2] / 2 + p_.edges[n - 1] / 2);
  }

  const Picture& p_;
  const SvgStyle& style_;
  Element out_;
  Frame frame_ = {};
  Scale scale_;
};

constexpr double kBar = 20;  // of a category, with what is between

void draw_bars(const Bars& p, const SvgStyle& style, std::string* text) {
  Element out(text);
  open(p.title, p.unit, style, &out);
  Frame frame;
  put_texts(p.title, p.unit, p.notes, p.interval_notes, style, &frame, &out);
  frame.top += 4;
  double labels = 0;
  double counts = 0;
  for (const Bar& bar : p.bars) {
    labels = std::max(labels, width_of(bar.label, kText));
    counts = std::max(counts, width_of(bar.count, kText));
  }
  const double left = std::min(frame.left + labels + 6, style.width / 2.0);
  const double most = highest(p);
  const double room = std::max(frame.right - left - counts - 8, 1.0);
  const double scale = most > 0 ? room / most : 0;
  const double each =
      p.bars.empty() ? 0 : std::min(frame.height() / static_cast<double>(p.bars.size()), 40.0);
  for (std::size_t i = 0; i < p.bars.size(); ++i) {
    const Bar& bar = p.bars[i];
    const double top = frame.top + static_cast<double>(i) * each + each * 0.1;
    const double high = each * 0.8;
    const double base = top + high / 2 + kText / 3;
    out.put("<g class=\"kde-muted\" fill=\"%s\">", kMuted);
    out.text(left - 6, base, Anchor::end, bar.label.text, kText, false);
    out.raw("</g><rect ");
    fill(0, 0.85, &out);
    out.put(" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", left, top,
            bar.value * scale, high);
    if (!p.interval_notes.empty() && bar.upper > bar.lower)
      out.put(
          "<rect class=\"kde-ink\" fill=\"%s\" fill-opacity=\"0.3\" x=\"%.1f\" y=\"%.1f\" "
          "width=\"%.1f\" height=\"%.1f\"/>\n",
          kInk, left + bar.lower * scale, top + high * 0.3, (bar.upper - bar.lower) * scale,
          high * 0.4);
    out.put("<g class=\"kde-muted\" fill=\"%s\">", kMuted);
    out.text(left + std::max(bar.value, bar.upper) * scale + 6, base, Anchor::start,
             bar.count.text);
    out.raw("</g>\n");
  }
  out.put("<path class=\"kde-axis\" stroke=\"%s\" d=\"M%.1f %.1fV%.1f\"/>\n", kAxis, left,
          frame.top, frame.top + each * static_cast<double>(p.bars.size()));
  out.raw("</svg>\n");
}

}  // namespace

int svg_steps(int width) { return std::clamp((width - static_cast<int>(kBesides)) / 5, 10, 400); }
int svg_characters(int width) { return static_cast<int>((width - kBesides) / (kDigit * kText)); }
int svg_bars(int height) {
  constexpr double kAround = 2 * kMargin + kTitle + kSmall + 10 + 2 * kLine;
  return std::max(static_cast<int>((height - kAround) / kBar), 1);
}

Status draw_svg(const Picture& picture, const SvgStyle& style, std::string* out) noexcept {
  return guarded([&] {
    Drawing(picture, style, out).draw();
    return Status::success();
  });
}

Status draw_svg(const Bars& bars, const SvgStyle& style, std::string* out) noexcept {
  return guarded([&] {
    draw_bars(bars, style, out);
    return Status::success();
  });
}

}  // namespace kde
