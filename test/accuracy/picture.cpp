// The SVG of picture.h, in pixels from the upper left corner.
#include "picture.h"

#include "grouped.h"

#include "core/integrate/integrate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <fstream>
#include <stdexcept>

namespace kde::accuracy {

namespace {

constexpr double kWidth = 720, kHeight = 400;
constexpr double kLeft = 64, kRight = 20, kTop = 64, kBottom = 52;
constexpr double kPlotWidth = kWidth - kLeft - kRight, kPlotHeight = kHeight - kTop - kBottom;
constexpr int kBars = 120;
constexpr double kTail = 0.002;
constexpr double kSecondsPerDay = 86400;

__attribute__((format(printf, 1, 2))) std::string text(const char* format, ...) {
  char buffer[512];
  va_list args;
  va_start(args, format);
  std::vsnprintf(buffer, sizeof buffer, format, args);
  va_end(args);
  return buffer;
}

std::string escaped(const std::string& plain) {
  std::string out;
  for (const char c : plain) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else {
      out += c;
    }
  }
  return out;
}

bool is_time(ColumnType type) {
  return type == ColumnType::date || type == ColumnType::timestamp ||
         type == ColumnType::timestamptz;
}

using Days = std::chrono::sys_days;

Days day_of(double seconds) {
  return Days{std::chrono::days{static_cast<long>(std::floor(seconds / kSecondsPerDay))}};
}

std::string date_label(double seconds) {
  const std::chrono::year_month_day date{day_of(seconds)};
  return text("%04d-%02u-%02u", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
              static_cast<unsigned>(date.day()));
}

// 1, 2 or 5 times a power of ten, so that [low, high] has 4 to 9 of them.
double tick_step(double low, double high) {
  const double power = std::pow(10.0, std::floor(std::log10((high - low) / 4)));
  double step = power;
  for (const double factor : {2.0, 5.0, 10.0})
    if ((high - low) / (factor * power) >= 4) step = factor * power;
  return step;
}

// First days of months, every 1, 2, 3, 6, 12 ... of them, 9 at most.
std::vector<double> month_ticks(double low, double high) {
  const double months = (high - low) / (30.4 * kSecondsPerDay);
  int step = 1;
  for (const int candidate : {2, 3, 6, 12, 24, 60, 120, 240, 600, 1200})
    if (months > 8 * step) step = candidate;
  std::vector<double> ticks;
  const std::chrono::year_month_day first{day_of(low)};
  std::chrono::year_month month{first.year(), std::chrono::January};
  for (;; month += std::chrono::months(step)) {
    const Days day{month / std::chrono::day(1)};
    const double x = kSecondsPerDay * static_cast<double>(day.time_since_epoch().count());
    if (x > high) return ticks;
    if (x >= low) ticks.push_back(x);
  }
}

// What is drawn; heights are percents of the non-NULL rows in a bar.
struct Bar {
  double left, right;
  double seen = 0, fitted = 0;
};
struct Picture {
  double low = 0, high = 1;  // of x
  double top = 1;            // of the heights
  double outside = 0;        // rows left out
  std::vector<Bar> bars;
};

// The smallest gap between values, or 0 where bars of that width would be more than `bars`.
double value_step(const std::vector<double>& sorted, double low, double high, int bars) {
  double step = 0;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const double gap = sorted[i] - sorted[i - 1];
    if (gap > 1e-9 * (high - low) && (step == 0 || gap < step)) step = gap;
  }
  return step * 16 * bars < high - low ? 0 : step;
}

void find_extent(const std::vector<double>& sorted, Picture* picture) {
  const double n = static_cast<double>(sorted.size());
  picture->low = sorted.front();
  picture->high = sorted.back();
  const double tail_low = sorted[static_cast<std::size_t>(kTail * (n - 1))];
  const double tail_high = sorted[static_cast<std::size_t>((1 - kTail) * (n - 1))];
  const double body = tail_high - tail_low;
  if (body <= 0) return;
  if (tail_low - picture->low > body / 10) picture->low = tail_low;
  if (picture->high - tail_high > body / 10) picture->high = tail_high;
}

void fill_bars(const std::vector<double>& sorted, int most_bars, Picture* picture) {
  const double n = static_cast<double>(sorted.size());
  double width = (picture->high - picture->low) / most_bars;
  double start = picture->low;
  int bars = most_bars;
  const double step = value_step(sorted, picture->low, picture->high, most_bars);
  if (step > 0 || width == 0) {
    // Whole steps a bar, their values away from its edges.
    width = step > 0 ? step * std::max(1.0, std::ceil(width / step - 1e-6)) : 1;
    start = picture->low - (step > 0 ? step : 1) / 2;
    bars = static_cast<int>(std::ceil((picture->high - start) / width + 1e-6));
  }
  auto at = std::lower_bound(sorted.begin(), sorted.end(), picture->low);
  const auto last = std::upper_bound(sorted.begin(), sorted.end(), picture->high);
  picture->outside = static_cast<double>((at - sorted.begin()) + (sorted.end() - last)) / n;
  for (int b = 0; b < bars; ++b) {
    const double right = start + (b + 1) * width;
    const auto end = b + 1 == bars ? last : std::lower_bound(at, last, right);
    picture->bars.push_back({start + b * width, right, 100 * static_cast<double>(end - at) / n});
    at = end;
  }
  picture->low = start;
  picture->high = start + bars * width;
}

void fill_density(const DensityView& density, Picture* picture) {
  for (Bar& bar : picture->bars) {
    Range range;
    range.lower_unbounded = range.upper_unbounded = false;
    range.lower = bar.left;
    range.upper = bar.right;
    range.upper_inclusive = false;
    bar.fitted = 100 * count(density, range) / density.header().rows;
  }
}

void find_top(Picture* picture) {
  double high = 0;
  for (const Bar& bar : picture->bars) high = std::max({high, bar.seen, bar.fitted});
  picture->top = 1.05 * high;
}

class Drawing {
 public:
  Drawing(const ColumnResult& column, const Picture& picture, std::ostream& out)
      : column_(column), picture_(picture), out_(out) {}

  void draw() {
    out_ << text(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\" "
                "height=\"%g\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n",
                kWidth, kHeight, kWidth, kHeight)
         << "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
    title();
    y_axis();
    bars();
    fitted();
    x_axis();
    legend();
    out_ << "</svg>\n";
  }

 private:
  double px(double x) const {
    return kLeft + kPlotWidth * (x - picture_.low) / (picture_.high - picture_.low);
  }
  double py(double y) const { return kTop + kPlotHeight * (1 - std::min(y / picture_.top, 1.0)); }

  void title() {
    const Level& level = column_.shown();
    out_ << text("<text x=\"%g\" y=\"24\" font-size=\"16\" font-weight=\"bold\">", kLeft)
         << escaped(column_.name()) << "</text>\n"
         << text("<text x=\"%g\" y=\"43\" fill=\"#666\">", kLeft)
         << escaped(grouped(column_.rows())) << " rows, " << escaped(grouped(column_.distinct))
         << " distinct values; fitted to "
         << (level.sample_rows == column_.rows() ? "all of them"
                                                 : "a sample of " + grouped(level.sample_rows))
         << "; " << escaped(grouped(level.density.bytes.size())) << " bytes";
    if (picture_.outside > 0)
      out_ << text("; %.2g %% of the rows not shown", 100 * picture_.outside);
    out_ << "</text>\n";
  }

  void y_axis() {
    out_ << "<g stroke=\"#e4e4e4\">\n";
    const std::vector<double> ticks = axis_ticks(0, picture_.top);
    for (const double y : ticks)
      out_ << text("<path d=\"M%g %.1fH%g\"/>\n", kLeft, py(y), kWidth - kRight);
    out_ << "</g>\n<g text-anchor=\"end\">\n";
    for (const double y : ticks)
      out_ << text("<text x=\"%g\" y=\"%.1f\">%.4g</text>\n", kLeft - 8, py(y) + 4, y);
    out_ << "</g>\n"
         << text(
                "<text transform=\"translate(16 %g) rotate(-90)\" text-anchor=\"middle\" "
                "fill=\"#666\">%% of the rows in a bar</text>\n",
                kTop + kPlotHeight / 2);
  }

  void x_axis() {
    const double base = kTop + kPlotHeight;
    out_ << text("<path d=\"M%g %.1fH%g\" stroke=\"#333\"/>\n", kLeft, base, kWidth - kRight);
    out_ << "<g text-anchor=\"middle\">\n";
    const double width = picture_.high - picture_.low;
    const bool dates = is_time(column_.type) && width > 8 * kSecondsPerDay;
    std::vector<double> ticks = axis_ticks(picture_.low, picture_.high);
    if (dates && width > 60 * kSecondsPerDay) {
      ticks = month_ticks(picture_.low, picture_.high);
    } else if (dates) {
      ticks = axis_ticks(picture_.low / kSecondsPerDay, picture_.high / kSecondsPerDay);
      for (double& x : ticks) x *= kSecondsPerDay;
    }
    for (const double x : ticks)
      out_ << text("<path d=\"M%.1f %.1fv5\" stroke=\"#333\"/><text x=\"%.1f\" y=\"%.1f\">", px(x),
                   base, px(x), base + 19)
           << (dates ? date_label(x) : text("%.6g", x)) << "</text>\n";
    out_ << "</g>\n"
         << text("<text x=\"%g\" y=\"%g\" text-anchor=\"middle\" fill=\"#666\">",
                 kLeft + kPlotWidth / 2, kHeight - 12)
         << escaped(column_.column) << "</text>\n";
  }

  void bars() {
    out_ << "<path fill=\"#c9ccd1\" d=\"";
    for (const Bar& bar : picture_.bars) {
      if (!(bar.seen > 0)) continue;
      const double left = px(bar.left);
      const double full = px(bar.right) - left;
      const double width = full - std::min(0.6, full / 8);
      out_ << text("M%.1f %.1fh%.1fV%.1fh-%.1fz", left, py(bar.seen), width, py(0), width);
    }
    out_ << "\"/>\n";
  }

  void fitted() {
    out_ << "<path fill=\"none\" stroke=\"#0b62a8\" stroke-width=\"1.4\" d=\""
         << text("M%.1f %.1f", px(picture_.low), py(0));
    for (const Bar& bar : picture_.bars) out_ << text("V%.1fH%.1f", py(bar.fitted), px(bar.right));
    out_ << text("V%.1f", py(0)) << "\"/>\n";
  }

  void legend() {
    double x = kWidth - kRight;
    const auto entry = [&](const char* colour, double stroke, const char* label, double width) {
      x -= width;
      out_ << text(
          "<path d=\"M%g 20h18\" stroke=\"%s\" stroke-width=\"%g\"/><text x=\"%g\" "
          "y=\"24\">%s</text>\n",
          x, colour, stroke, x + 24, label);
    };
    entry("#0b62a8", 1.6, "fitted density", 116);
    entry("#c9ccd1", 10, "all rows", 88);
  }

  const ColumnResult& column_;
  const Picture& picture_;
  std::ostream& out_;
};

// A file's name from a column's: nothing that means something to a file system.
std::string file_name(std::string name) {
  for (char& c : name)
    if (c == '/' || c == '\\' || c == '\0') c = '_';
  return name;
}

}  // namespace

std::vector<double> axis_ticks(double low, double high) {
  const double step = tick_step(low, high);
  std::vector<double> ticks;
  for (double k = std::ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k += 1)
    ticks.push_back(k == 0 ? 0.0 : k * step);
  return ticks;
}

void draw_column(const ColumnResult& column, const std::string& folder) {
  std::vector<double> sorted = column.values;
  std::sort(sorted.begin(), sorted.end());
  Picture picture;
  find_extent(sorted, &picture);
  const DensityView density = column.shown().density.view();
  fill_bars(sorted, kBars, &picture);
  fill_density(density, &picture);
  find_top(&picture);
  const std::string path = folder + "/" + file_name(column.name()) + ".svg";
  std::ofstream out(path);
  Drawing(column, picture, out).draw();
  if (!out.flush()) throw std::runtime_error("could not write " + path);
}

}  // namespace kde::accuracy
