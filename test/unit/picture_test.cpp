// Pictures (core/picture): what is drawn, line by line and element by element, against texts that
// were looked at; scales and spans against their rules.
#include "core/picture/picture.h"
#include "core/picture/scale.h"
#include "core/picture/steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "histogram_fixture.h"

namespace kde {
namespace {

Label label(std::string_view text) { return {text, static_cast<int>(text.size())}; }

TEST(PictureScale, RoundUpIsTheLeast) {
  EXPECT_EQ(round_up(0), 1);
  EXPECT_EQ(round_up(1), 1);
  EXPECT_EQ(round_up(1.01), 2);
  EXPECT_EQ(round_up(3), 5);
  EXPECT_EQ(round_up(7), 10);
  EXPECT_EQ(round_up(0.3 - 0.1), 0.2);  // 0.19999999999999998
  EXPECT_EQ(round_up(6e300), 1e301);
  for (int i = -40; i <= 40; ++i) {
    const double x = std::pow(1.97, i);
    const double up = round_up(x);
    EXPECT_GE(up, x * (1 - 1e-8));
    EXPECT_LE(up, 2.5 * x * (1 + 1e-8));
  }
}

TEST(PictureScale, BeginsAtZeroAndHoldsWhatIsShown) {
  for (int i = -80; i <= 110; ++i) {
    const double most = std::pow(1.29, i);
    for (int ticks = 1; ticks <= 8; ++ticks) {
      const Scale s = scale_of(most, ticks);
      EXPECT_GE(s.top, most * (1 - 1e-8));
      EXPECT_NEAR(s.top / s.step, std::nearbyint(s.top / s.step), 1e-6);
      EXPECT_GE(s.top / s.step, 1 - 1e-9);
      EXPECT_LT(s.top, most + s.step * (1 + 1e-9));  // no tick too many
    }
    for (int rows = 2; rows <= 60; ++rows) {
      const RowScale s = row_scale_of(most, rows);
      EXPECT_GE(s.top, most * (1 - 1e-8));
      // A tick stands on a whole row.
      EXPECT_NEAR(s.step / s.top * rows, s.rows_a_tick, 1e-6);
      EXPECT_LE(s.rows_a_tick, rows);
      EXPECT_LE(s.top, 2.5 * most * (1 + 1e-6));
    }
  }
}

TEST(PictureScale, NumbersAreShort) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(0.05), "0.05");
  EXPECT_EQ(short_number(250), "250");
  EXPECT_EQ(short_number(1500), "1.5k");
  EXPECT_EQ(short_number(2e7), "20M");
  EXPECT_EQ(short_number(3e9), "3G");
  EXPECT_EQ(short_number(4e12), "4T");
  EXPECT_EQ(short_number(5e-7), "5e-07");
  EXPECT_EQ(short_number(2e18), "2e+18");
  for (int exponent = -9; exponent <= 13; ++exponent)
    for (const double size : {1.0, 2.0, 5.0})
      for (int k = 0; k <= 8; ++k)
        EXPECT_LE(short_number(k * size * std::pow(10, exponent)).size(), 7u);
}

// ---- the span

histograms::Bytes density_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  histograms::Parts parts;
  for (const double x : values) {
    if (!parts.cells.empty() && parts.cells.back().value == x) {
      parts.cells.back().rows += 1;
    } else {
      parts.cells.push_back({x, 1, true});
    }
  }
  histograms::set_totals(&parts);
  return histograms::encode(parts);
}

TEST(PictureSpan, WholeWhereNothingIsFar) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(3, 9);
  std::vector<double> values(2000);
  for (double& x : values) x = uniform(random);
  const histograms::Bytes density = density_of(values);
  const DensityView view(density.data());
  const AxisSpan span = readable_span(view);
  EXPECT_EQ(span.lower, view.header().min);
  EXPECT_EQ(span.upper, view.header().max);
}

TEST(PictureSpan, ALongTailIsCutAndCounted) {
  std::mt19937_64 random(2);
  std::lognormal_distribution<double> skewed(0, 1.5);
  std::vector<double> values(5000);
  for (double& x : values) x = skewed(random);
  const histograms::Bytes density = density_of(values);
  const DensityView view(density.data());
  const AxisSpan span = readable_span(view);
  EXPECT_EQ(span.lower, view.header().min);
  EXPECT_LT(span.upper, view.header().max / 1.5);
  const RowsBeyond beyond = rows_beyond(view, span);
  EXPECT_EQ(beyond.below, 0);
  const auto above =
      std::count_if(values.begin(), values.end(), [&](double x) { return x > span.upper; });
  EXPECT_NEAR(beyond.above, static_cast<double>(above), 0.01 * 5000);
  EXPECT_LE(beyond.above, 0.025 * 5000);
}

TEST(PictureSpan, MostlyOneValueIsShownWhole) {
  std::vector<double> values(995, 0.0);
  for (int i = 1; i <= 5; ++i) values.push_back(i * 100);
  const histograms::Bytes density = density_of(values);
  const AxisSpan span = readable_span(DensityView(density.data()));
  EXPECT_EQ(span.lower, 0);
  EXPECT_EQ(span.upper, 500);
}

// ---- heights

TEST(PictureSteps, CountsDensitiesAndTheDistributionFunction) {
  const histograms::Bytes density = density_of({1, 1, 1, 2, 4, 4, 5, 5, 5, 5});
  const DensityView view(density.data());
  const std::vector<double> edges = {0.5, 1.5, 2.5, 5};
  std::vector<double> value(3), lower(3), upper(3);
  const StepValues out = {value, lower, upper};
  count_steps(view, edges, {}, out);
  EXPECT_EQ(value, (std::vector<double>{3, 1, 6}));
  EXPECT_EQ(lower, value);
  EXPECT_EQ(upper, value);
  density_steps(view, edges, 2, {}, out);
  EXPECT_DOUBLE_EQ(value[0], 60);
  EXPECT_DOUBLE_EQ(value[1], 20);
  EXPECT_DOUBLE_EQ(value[2], 60 / 2.5 * 2);
  cumulative_steps(view, edges, {}, out);
  EXPECT_DOUBLE_EQ(value[0], 30);
  EXPECT_DOUBLE_EQ(value[1], 40);
  EXPECT_DOUBLE_EQ(value[2], 100);
  IntervalOptions changed;
  changed.changed_rows = 2;
  cumulative_steps(view, edges, changed, out);
  EXPECT_DOUBLE_EQ(lower[0], 10);
  EXPECT_DOUBLE_EQ(upper[0], 50);
  EXPECT_DOUBLE_EQ(upper[2], 100);
}

TEST(PictureSteps, TheNarrowestHaveFiniteHeights) {
  const histograms::Bytes density = density_of({0, 1e-320, 2e-320});
  const std::vector<double> edges = {0, 5e-324, 1e-323};
  std::vector<double> value(2), lower(2), upper(2);
  density_steps(DensityView(density.data()), edges, 1, {}, {value, lower, upper});
  for (const double x : value) EXPECT_TRUE(std::isfinite(x));
}

// ---- drawings

int occurrences(std::string_view text, std::string_view what) {
  int n = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos;
       at = text.find(what, at + what.size()))
    ++n;
  return n;
}

struct Small {
  std::vector<double> edges = {0, 1, 2, 3, 4};
  std::vector<double> value = {1, 4, 2, 0}, lower = {1, 3, 1, 0}, upper = {1, 5, 3, 1};
  std::vector<Tick> ticks = {{0, label("0")}, {2, label("2")}, {4, label("4")}};
  std::vector<Curve> curves = {{{}, value, lower, upper}};
  std::vector<Label> notes = {label("10 rows"), label("a note")};
  std::vector<Label> interval_notes = {label("band")};
  Picture picture;

  explicit Small(PictureKind kind = PictureKind::histogram) {
    picture.kind = kind;
    picture.title = label("t.x");
    picture.unit = label("rows per 1");
    picture.edges = edges;
    picture.ticks = ticks;
    picture.curves = curves;
    picture.notes = notes;
    picture.interval_notes = interval_notes;
  }
};

std::string terminal(const Picture& p, const TerminalStyle& style) {
  std::string out;
  EXPECT_TRUE(draw_terminal(p, style, &out).ok());
  return "\n" + out;
}

TEST(PictureTerminal, Blocks) {
  Small small;
  EXPECT_EQ(terminal(small.picture, {30, 9, true}), R"(
t.x, rows per 1
       │     ░░░░░
     4 ┤     ▓▓▓▓▓
       │     █████░░░░░
     2 ┤     █████▓▓▓▓▓
       │███████████████░░░░░
     0 └┴─────────┴─────────┴
        0         2         4
10 rows; a note; band
)");
}

TEST(PictureTerminal, Ascii) {
  Small small;
  EXPECT_EQ(terminal(small.picture, {30, 9, false}), R"(
t.x, rows per 1
       |     :::::
     4 +     +++++
       |     #####:::::
     2 +     #####+++++
       |###############:::::
     0 ++---------+---------+
        0         2         4
10 rows; a note; band
)");
}

TEST(PictureTerminal, NoNoteOfAnIntervalThatIsNotSeen) {
  Small small;
  std::vector<double> lower = {0.9, 3.9, 1.9, 0}, upper = {1.1, 4.1, 2.1, 0};
  small.curves = {{{}, small.value, lower, upper}};
  small.picture.curves = small.curves;
  const std::string out = terminal(small.picture, {30, 9, false});
  EXPECT_EQ(occurrences(out, "10 rows; a note\n"), 1) << out;
}

TEST(PictureTerminal, SingleValuesStandApartAndTicksBelowThem) {
  Small small;
  small.picture.apart = true;
  small.ticks = {{0.5, label("a")}, {1.5, label("b")}, {3.5, label("d")}};
  small.picture.ticks = small.ticks;
  EXPECT_EQ(terminal(small.picture, {30, 9, false}), R"(
t.x, rows per 1
       |     ::::
     4 +     ++++
       |     #### ::::
     2 +     #### ++++
       |#### #### #### ::::
     0 +--+----+---------+--
          a    b         d
10 rows; a note; band
)");
}

TEST(PictureTerminal, SharesAScaleWhereItCan) {
  Small small;
  std::vector<double> tall = {4, 9, 4, 4};
  small.curves = {{label("one"), small.value, small.value, small.value},
                  {label("two"), tall, tall, tall}};
  small.picture.curves = small.curves;
  std::string out = terminal(small.picture, {30, 15, false});
  EXPECT_EQ(occurrences(out, "    10 +"), 2) << out;
  // Thirty times as high: each has its own.
  std::vector<double> taller = {40, 120, 40, 40};
  small.curves[1] = {label("two"), taller, taller, taller};
  out = terminal(small.picture, {30, 15, false});
  EXPECT_EQ(occurrences(out, "   100 +"), 1) << out;
}

TEST(PictureTerminal, LabelsDoNotTouch) {
  Small small;
  small.ticks.clear();
  for (int i = 0; i <= 40; ++i) small.ticks.push_back({i / 10.0, label("2026-01-05")});
  small.picture.ticks = small.ticks;
  const std::string out = terminal(small.picture, {60, 9, true});
  EXPECT_EQ(out.find("2026-01-052026"), std::string::npos);
  EXPECT_NE(out.find("2026-01-05 "), std::string::npos);
}

TEST(PictureTerminal, LinesAreNeitherTooManyNorTooLong) {
  for (const int width : {kLeastColumns, 47, 78, kMostColumns}) {
    for (const int height : {kLeastLines, 11, 16, kMostLines}) {
      for (const PictureKind kind :
           {PictureKind::histogram, PictureKind::density, PictureKind::cumulative}) {
        Small small(kind);
        const std::string out = terminal(small.picture, {width, height, false});
        const auto lines = std::count(out.begin(), out.end(), '\n') - 1;
        EXPECT_LE(lines, height + 1);  // and the notes
        std::size_t at = 1;
        while (at < out.size()) {
          const std::size_t end = out.find('\n', at);
          EXPECT_LE(end - at, static_cast<std::size_t>(width));
          EXPECT_TRUE(end == at || out[end - 1] != ' ');
          at = end + 1;
        }
      }
    }
  }
}

TEST(PictureTerminal, NothingToDraw) {
  Picture p;
  p.title = label("t.x");
  const std::vector<Curve> curves(1);
  const std::vector<Label> notes = {label("no rows")};
  p.curves = curves;
  p.notes = notes;
  EXPECT_EQ(terminal(p, {30, 9, true}), "\nt.x\nno rows\n");
}

TEST(PictureTerminal, BarsOfACategory) {
  const std::vector<Bar> bars = {{label("EU"), 8, 6, 10, label("8")},
                                 {label("US"), 3, 3, 3, label("3")}};
  Bars p;
  p.title = label("t.s");
  p.unit = label("rows per value");
  p.bars = bars;
  std::string out;
  ASSERT_TRUE(draw_terminal(p, {26, 9, true}, &out).ok());
  EXPECT_EQ(out,
            "t.s, rows per value\n"
            "EU │████████████▓▓▓▓░░░░ 8\n"
            "US │██████               3\n");
}

// ---- SVG

std::string svg(const Picture& p) {
  std::string out;
  EXPECT_TRUE(draw_svg(p, {400, 200}, &out).ok());
  return out;
}

TEST(PictureSvg, TextsAreEscaped) {
  Small small;
  small.picture.title = label("<a & \"b\" 'c'>");
  const std::string out = svg(small.picture);
  EXPECT_EQ(occurrences(out, "&lt;a &amp; &quot;b&quot; &#39;c&#39;&gt;"), 2);
  EXPECT_EQ(out.find("<a"), std::string::npos);
}

TEST(PictureSvg, NothingLeaksIntoThePage) {
  for (const PictureKind kind :
       {PictureKind::histogram, PictureKind::density, PictureKind::cumulative}) {
    Small small(kind);
    const std::string out = svg(small.picture);
    EXPECT_EQ(out.find(" id="), std::string::npos);
    EXPECT_EQ(out.find("href"), std::string::npos);
    EXPECT_EQ(occurrences(out, "class=\""), occurrences(out, "class=\"kde-"));
    EXPECT_EQ(occurrences(out, "role=\"img\""), 1);
    EXPECT_EQ(occurrences(out, "<title>t.x, rows per 1</title>"), 1);
    // Each rule of the style sheet is of the element's own classes.
    const std::size_t from = out.find("<style>");
    const std::string style = out.substr(from, out.find("</style>") - from);
    EXPECT_EQ(occurrences(style, "} ."), occurrences(style, "} .kde-plot .kde-"));
    // No number that is none.
    EXPECT_EQ(out.find("nan"), std::string::npos);
    EXPECT_EQ(out.find("inf"), std::string::npos);
  }
}

TEST(PictureSvg, EveryCurveHasItsColourAndItsLabel) {
  Small small(PictureKind::density);
  small.curves = {{label("one"), small.value, small.lower, small.upper},
                  {label("two"), small.value, small.lower, small.upper}};
  small.picture.curves = small.curves;
  const std::string out = svg(small.picture);
  EXPECT_EQ(occurrences(out, "class=\"kde-line-1\""), 1);
  EXPECT_EQ(occurrences(out, "class=\"kde-line-2\""), 1);
  EXPECT_EQ(occurrences(out, ">one</text>"), 1);
  EXPECT_EQ(occurrences(out, ">two</text>"), 1);
}

TEST(PictureSvg, EveryColourHasADarkOne) {
  Small small;
  const std::string out = svg(small.picture);
  const std::size_t end = out.find("</style>");
  const std::string_view style = std::string_view(out).substr(0, end);
  const std::string_view rest = std::string_view(out).substr(end);
  for (std::size_t at = rest.find("class=\"kde-"); at != std::string_view::npos;
       at = rest.find("class=\"kde-", at + 1)) {
    const std::size_t from = at + 7;
    const std::string_view name = rest.substr(from, rest.find('"', from) - from);
    EXPECT_NE(style.find("." + std::string(name) + " {"), std::string_view::npos) << name;
  }
}

TEST(PictureSvg, WhatIsDrawnIsInside) {
  Small small(PictureKind::histogram);
  small.upper[1] = 1e6;  // an interval far above
  const std::string out = svg(small.picture);
  for (std::size_t at = out.find('V'); at != std::string::npos; at = out.find('V', at + 1)) {
    const double y = std::strtod(out.c_str() + at + 1, nullptr);
    EXPECT_GE(y, 0);
    EXPECT_LE(y, 200);
  }
}

}  // namespace
}  // namespace kde
