// What is printed and written of shapes_part.h.
#include "shapes_part.h"

#include "made_columns.h"
#include "shapes.h"

#include <cmath>
#include <cstdio>
#include <limits>
#include <stdexcept>

namespace kde::accuracy {

namespace {

constexpr double kPooledLow = 0.93, kPooledHigh = 0.98;
constexpr double kColumnLow = 0.88, kFewRowsLow = 0.85, kFewRows = 5;
constexpr double kPooledError = 1.05, kColumnError = 1.15, kWidth = 1.1;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// One class of questions, drawn one way, over all columns.
struct Pooled {
  int way, asked, c;
  ShapeFigures all;
  std::array<double, kQuantities> error, worst;  // geometric mean; the largest
};

const ShapeFigures& figures_of(const ShapesColumn& column, int way, int asked, int c) {
  return column.figures[way][asked][c];
}

Pooled pool(const std::vector<ShapesColumn>& columns, int way, int asked, int c) {
  Pooled out{way, asked, c, {}, {}, {}};
  for (const ShapesColumn& column : columns) out.all.add(figures_of(column, way, asked, c));
  for (int q = 0; q < kQuantities; ++q) {
    std::vector<double> ratios;
    out.worst[q] = kNan;
    for (const ShapesColumn& column : columns) {
      const double ratio = figures_of(column, way, asked, c).ratio(q);
      if (std::isnan(ratio)) continue;
      ratios.push_back(ratio);
      out.worst[q] = std::fmax(out.worst[q], ratio);
    }
    out.error[q] = geometric_mean(ratios);
  }
  return out;
}

std::vector<double> widths_of(const Pooled& pooled, int quantity) {
  const std::vector<float>& width = pooled.all.width[quantity];
  return {width.begin(), width.end()};
}

// The figures that are short, printed as they are found.
class Shorts {
 public:
  explicit Shorts(std::FILE* out) : out_(out) {}

  void check(bool ok, const Pooled& of, const std::string& column, const char* what, double figure,
             double asked) {
    ++checked_;
    if (ok) return;
    ++short_;
    std::fprintf(out_, "  SHORT  %-7s %-9s %-11s %-28s %-16s %7.3f, asked %.2f\n",
                 kDrawNames[of.way], kAskedNames[of.asked], class_name(of.asked, of.c).c_str(),
                 column.c_str(), what, figure, asked);
  }
  void sum_up() const { std::fprintf(out_, "%d of %d figures short\n", short_, checked_); }

 private:
  std::FILE* out_;
  int checked_ = 0, short_ = 0;
};

void check_coverage(const std::vector<ShapesColumn>& columns, const Pooled& pooled, int q,
                    Shorts* shorts) {
  const std::string what = std::string("coverage ") + kQuantityNames[q];
  const double share = pooled.all.held[q].share();
  if (std::isnan(share)) return;
  const double width = quantile_of(widths_of(pooled, q), 0.5);
  const bool high = share > kPooledHigh && width > kWidth;
  shorts->check(share >= kPooledLow && !high, pooled, "all columns", what.c_str(), share,
                high ? kPooledHigh : kPooledLow);
  for (const ShapesColumn& column : columns) {
    const double own = figures_of(column, pooled.way, pooled.asked, pooled.c).held[q].share();
    const double rows = static_cast<double>(column.rows[pooled.way]);
    const bool few = rows * least_share(pooled.asked, pooled.c) < kFewRows;
    const double asked = few ? kFewRowsLow : kColumnLow;
    if (!std::isnan(own))
      shorts->check(own >= asked, pooled, column.name, what.c_str(), own, asked);
  }
}

void check_error(const std::vector<ShapesColumn>& columns, const Pooled& pooled, int q,
                 Shorts* shorts) {
  if (std::isnan(pooled.error[q])) return;
  const std::string what = std::string("error ") + kQuantityNames[q];
  shorts->check(pooled.error[q] <= kPooledError, pooled, "all columns", what.c_str(),
                pooled.error[q], kPooledError);
  if (pooled.asked == kQuantile) return;
  for (const ShapesColumn& column : columns) {
    const double ratio = figures_of(column, pooled.way, pooled.asked, pooled.c).ratio(q);
    if (!std::isnan(ratio))
      shorts->check(ratio <= kColumnError, pooled, column.name, what.c_str(), ratio, kColumnError);
  }
}

void check(const std::vector<ShapesColumn>& columns, const std::vector<Pooled>& classes,
           std::FILE* out) {
  std::fprintf(out, "\nWhat is short of what is asked for (test/accuracy/shapes_part.h)\n");
  Shorts shorts(out);
  for (const Pooled& pooled : classes) {
    for (int q = 0; q < kQuantities; ++q) check_coverage(columns, pooled, q, &shorts);
    for (const int q : {kCount, kMean}) check_error(columns, pooled, q, &shorts);
    const double width = quantile_of(widths_of(pooled, kCount), 0.5);
    if (!std::isnan(width))
      shorts.check(width <= kWidth, pooled, "all columns", "width COUNT", width, kWidth);
  }
  shorts.sum_up();
}

// A figure in its column; a dash for none.
void put(double figure, const char* format, int width, std::FILE* out) {
  char text[32] = "-";
  if (!std::isnan(figure)) std::snprintf(text, sizeof text, format, figure);
  std::fprintf(out, " %*s", width, text);
}

void print(const std::vector<Pooled>& classes, std::size_t columns, std::FILE* out) {
  std::fprintf(out,
               "\nEvery shape of question, %zu columns: coverage of 95 %% intervals in percent; "
               "error over that of counting the rows drawn, geometric mean and worst column; "
               "median width over the textbook's\n  %-7s %-9s %-11s %9s %6s %6s %6s %13s %13s %6s "
               "%6s\n",
               columns, "rows", "shape", "share", "asked", "COUNT", "SUM", "AVG", "error COUNT",
               "error AVG", "COUNT", "AVG");
  for (const Pooled& p : classes) {
    std::fprintf(out, "  %-7s %-9s %-11s %9ld", kDrawNames[p.way], kAskedNames[p.asked],
                 class_name(p.asked, p.c).c_str(), p.all.held[kCount].total);
    for (const Tally& held : p.all.held) put(100 * held.share(), "%.1f", 6, out);
    for (const int q : {kCount, kMean}) {
      put(p.error[q], "%.2f", 6, out);
      put(p.worst[q], "%.2f", 6, out);
    }
    for (const int q : {kCount, kMean}) put(quantile_of(widths_of(p, q), 0.5), "%.2f", 6, out);
    std::fprintf(out, "\n");
  }
}

void write_csv(const std::vector<ShapesColumn>& columns, const std::vector<Pooled>& classes,
               const std::string& path) {
  std::FILE* out = std::fopen(path.c_str(), "w");
  if (out == nullptr) throw std::runtime_error("could not write " + path);
  std::fprintf(out, "column,rows,shape,share,quantity,asked,coverage,error_ratio,width\n");
  for (const ShapesColumn& column : columns) {
    for (const Pooled& p : classes) {
      const ShapeFigures& figures = figures_of(column, p.way, p.asked, p.c);
      for (int q = 0; q < kQuantities; ++q) {
        if (figures.held[q].total == 0) continue;
        const std::vector<double> width(figures.width[q].begin(), figures.width[q].end());
        std::fprintf(out, "%s,\"%s\",%s,%s,%s,%ld,%.4f,%.4f,%.4f\n", column.name.c_str(),
                     kDrawNames[p.way], kAskedNames[p.asked], class_name(p.asked, p.c).c_str(),
                     kQuantityNames[q], figures.held[q].total, figures.held[q].share(),
                     figures.ratio(q), quantile_of(width, 0.5));
      }
    }
  }
  if (std::fclose(out) != 0) throw std::runtime_error("could not write " + path);
}

}  // namespace

void run_shapes(std::vector<Table> tables, const std::string& folder) {
  tables.push_back(made_columns());
  const std::vector<ShapesColumn> columns = measure_shapes(tables, {});
  std::vector<Pooled> classes;
  for (int way = 0; way < kDraws; ++way) {
    for (int asked = 0; asked < kAskeds; ++asked) {
      for (int c = 0; c < classes_of(asked); ++c) {
        Pooled pooled = pool(columns, way, asked, c);
        if (pooled.all.held[kCount].total > 0) classes.push_back(std::move(pooled));
      }
    }
  }
  print(classes, columns.size(), stdout);
  check(columns, classes, stdout);
  write_csv(columns, classes, folder + "/shapes.csv");
  std::printf("Figures: %s/shapes.csv\n", folder.c_str());
  std::fflush(stdout);
}

}  // namespace kde::accuracy
