// kde_plot and kde_svg: densities as pictures, of characters or as SVG.
//
// A name or a value of one density is a picture; with groups, the largest of them are drawn over
// one axis; so are the values of an array. Privileges, staleness and filters are those of answers,
// as a picture is nothing but the counts and intervals that anybody may ask for who may ask.
//
// Block elements are for UTF-8 on both sides: where the database has another encoding they cannot
// be in a text at all, and where the client has, converting the row that has them to its encoding
// is an error for all of the query (22P05). What the client has is not known to a parallel worker,
// so kde_plot runs in none.
#include "pg/answer/beyond_fit.h"
#include "pg/answer/call.h"
#include "pg/answer/asked_words.h"
#include "pg/base/owned.h"
#include "pg/values/result_set.h"
#include "pg/catalog/density_name.h"
#include "pg/plot/drawing.h"
#include "pg/type/anykde.h"

extern "C" {
#include "mb/pg_wchar.h"

Datum anykde_of_text(PG_FUNCTION_ARGS);
}

#include <cmath>
#include <limits>
#include <string>
#include <string_view>

namespace kde_pg {

namespace {

// Of groups and arrays, in a terminal.
constexpr int kMostPanels = 12;
// A value of an array.
constexpr int kMostValues = 10000;

// Where the arguments are; -1: there is none.
struct Arguments {
  int labels, width, by_name_only, lower, kind, filter, confidence, title;
  bool svg;
};
constexpr Arguments kPlot = {-1, 1, 3, 4, 6, 7, 8, -1, false};
constexpr Arguments kPlotOfArray = {1, 2, 4, 5, 7, -1, 8, -1, false};
constexpr Arguments kSvg = {-1, 1, 3, 4, 6, 7, 8, 9, true};
constexpr Arguments kSvgOfArray = {1, 2, 4, 5, 7, -1, 8, 9, true};

int read_size(FunctionCallInfo fcinfo, int argument, const char* name, int least, int most) {
  reject_null(fcinfo, argument, name);
  const int size = PG_GETARG_INT32(argument);
  if (size < least || size > most)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("%s must be from %d to %d, not %d", name, least, most, size)));
  return size;
}

kde::PictureKind read_kind(FunctionCallInfo fcinfo, int argument) {
  reject_null(fcinfo, argument, "kind");
  const text* value = PG_GETARG_TEXT_PP(argument);
  const std::string_view name(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value));
  if (name == "histogram") return kde::PictureKind::histogram;
  if (name == "density") return kde::PictureKind::density;
  if (name != "cumulative")
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("invalid value for kind: \"%s\"", text_to_cstring(value)),
                    errhint("It is 'histogram', 'density' or 'cumulative'.")));
  return kde::PictureKind::cumulative;
}

class Picturing {
 public:
  Picturing(FunctionCallInfo fcinfo, const Arguments& at) : fcinfo_(fcinfo), at_(at) {
    check_by_name_only(fcinfo, at.by_name_only);
    style_.svg = at.svg;
    style_.blocks = GetDatabaseEncoding() == PG_UTF8 && pg_get_client_encoding() == PG_UTF8;
    using namespace kde;
    style_.width = read_size(fcinfo, at.width, "width", at.svg ? kLeastPixels : kLeastColumns,
                             at.svg ? kMostPixels : kMostColumns);
    style_.height = read_size(fcinfo, at.width + 1, "height", at.svg ? kLeastPixels : kLeastLines,
                              at.svg ? kMostPixels : kMostLines);
    style_.kind = read_kind(fcinfo, at.kind);
    style_.confidence = read_confidence(fcinfo, at.confidence);
    style_.title = nullptr;
    style_.ends = ends_;
    out_ = Owned<std::string>::create(CurrentMemoryContext);
    const int most = at.svg ? kMostCurves : kMostPanels;
    shown_ = static_cast<Shown*>(palloc(sizeof(Shown) * most));
  }

  // Of argument 0, not NULL: a density, by name or as a value.
  std::string* draw_density() {
    text* name = name_in(value_at(0));
    Call call;
    call.accuracy.interval.confidence = style_.confidence;
    const bool grouped = name != nullptr
                             ? names_more(name) && parts_of_name(name).group_by != nullptr
                             : any_density_from_datum(value_at(0)).has_groups();
    (void)read_density(fcinfo_, -1, at_.filter, grouped ? Needs::groups : Needs::column, &call);
    read_title(name);
    const bool has_ends = read_ends(call.question.type[0]);
    if (is_category(call.question)) {
      draw_words(call, nullptr);
      return out_;
    }
    if (has_ends) check_ends_beyond(call);
    const kde::IntervalOptions options = interval_options(call);
    if (grouped) {
      add_groups(call, options);
    } else {
      add({call.density.one_column, call.density.sums, call.density.scale, options, nullptr});
    }
    draw_curves(shown_, n_, others_, style_, out_);
    return out_;
  }

  // Of argument 0, not NULL: an array of values.
  std::string* draw_array() {
    Datum* densities;
    bool* nulls;
    const int n = elements(0, "densities", &densities, &nulls);
    Datum* labels = nullptr;
    bool* no_label = nullptr;
    if (!is_null(at_.labels) && elements(at_.labels, "labels", &labels, &no_label) != n)
      ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
                      errmsg("there must be a label for each density")));
    bool any = false;
    kde::ValueType type = kde::ValueType::float8;
    bool is_category = false;
    int categories = 0;
    for (int i = 0; i < n; ++i) {
      CHECK_FOR_INTERRUPTS();
      if (nulls[i]) continue;
      Call call;
      call.accuracy.interval.confidence = style_.confidence;
      read_value(densities[i], Needs::column, &call);
      const kde::ValueType its = call.question.type[0];
      if (!any) {
        type = its;
        read_title(nullptr);
        (void)read_ends(type);
        is_category = kde_pg::is_category(call.question);
      }
      any = true;
      if (!same_meaning(type, its))
        ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                        errmsg("densities of types %s and %s have no axis in common",
                               value_type_label(type), value_type_label(its))));
      const char* label = labels != nullptr && !no_label[i] ? TextDatumGetCString(labels[i]) : "";
      if (is_category) {
        if (++categories > 1 && style_.svg)
          ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                          errmsg("several categories cannot be drawn into one another"),
                          errhint("Draw each by itself, or use kde_plot().")));
        draw_words(call, label);
      } else {
        add({call.density.one_column, {}, 1, call.accuracy.interval, label});
      }
    }
    if (n_ == 1 && shown_[0].label[0] == '\0') shown_[0].label = nullptr;
    if (n_ > 0) draw_curves(shown_, n_, others_, style_, out_);
    return out_;
  }

 private:
  Datum value_at(int i) const { return fcinfo_->args[i].value; }
  bool is_null(int i) const { return fcinfo_->args[i].isnull; }

  int most() const { return style_.svg ? kde::kMostCurves : kMostPanels; }

  void add(const Shown& shown) {
    if (n_ < most()) {
      shown_[n_++] = shown;
      return;
    }
    others_.densities += 1;
    others_.rows += shown.density->rows * shown.scale;
  }

  // The largest come first; those that share a density come last.
  void add_groups(const Call& call, const kde::IntervalOptions& options) {
    kde::GroupsView groups(call.density.one_column);
    const kde::GroupsHeader header = groups.header();
    kde::GroupView group;
    while (groups.next(&group)) {
      CHECK_FOR_INTERRUPTS();
      const char* label = "NULL";
      if (group.is_rest) label = psprintf("%u other groups", header.rest);
      if (group.has_key()) label = pnstrdup(group.key().data(), group.key().size());
      add({group.density(), {}, 1, options, label});
      // Each of them counts.
      if (group.is_rest && others_.densities > 0) others_.densities += header.rest - 1;
    }
  }

  // What the picture is of: the title that is asked for, or the name with its filter; a value has
  // none.
  void read_title(text* name) {
    if (at_.title >= 0 && !is_null(at_.title)) {
      style_.title = text_to_cstring(DatumGetTextPP(value_at(at_.title)));
    } else if (name != nullptr) {
      style_.title = text_to_cstring(name);
      if (!is_null(at_.filter))
        style_.title = psprintf("%s where %s", style_.title,
                                text_to_cstring(DatumGetTextPP(value_at(at_.filter))));
    }
  }

  // Bounds that are given. Whether any is.
  bool read_ends(kde::ValueType type) {
    bool any = false;
    for (int i = 0; i < 2; ++i) {
      const int argument = at_.lower + i;
      ends_[i] = std::numeric_limits<double>::quiet_NaN();
      if (is_null(argument)) continue;
      refuse_category(type, "axis with bounds");
      any = true;
      ends_[i] =
          bound_to_double(type, get_fn_expr_argtype(fcinfo_->flinfo, argument), value_at(argument));
      if (!std::isfinite(ends_[i]))
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("the axis of a picture needs finite bounds")));
    }
    if (ends_[0] > ends_[1])
      ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                      errmsg("the lower bound of the picture is above the upper"),
                      errdetail("The bounds are %s and %s.", double_to_text(type, ends_[0]),
                                double_to_text(type, ends_[1]))));
    return any;
  }

  // Rows that came since the fit may be where the axis reaches beyond it.
  void check_ends_beyond(const Call& call) const {
    kde::Range ranges[kde::kMaxColumns];
    ranges[0].lower_unbounded = std::isnan(ends_[0]);
    ranges[0].upper_unbounded = std::isnan(ends_[1]);
    ranges[0].lower = ends_[0];
    ranges[0].upper = ends_[1];
    check_beyond_fit(call.question, call.density, ranges);
  }

  void draw_words(const Call& call, const char* label) {
    if (style_.kind == kde::PictureKind::cumulative)
      refuse_category(kde::ValueType::category, "distribution function");
    draw_category(call, label, style_, out_);
  }

  int elements(int argument, const char* name, Datum** values, bool** nulls) const {
    ArrayType* array = DatumGetArrayTypeP(value_at(argument));
    if (ARR_NDIM(array) > 1)
      ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
                      errmsg("%s must be an array of one dimension", name)));
    int16 length;
    bool by_value;
    char align;
    get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &by_value, &align);
    int n;
    deconstruct_array(array, ARR_ELEMTYPE(array), length, by_value, align, values, nulls, &n);
    if (n > kMostValues)
      ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                      errmsg("%s has more than %d elements", name, kMostValues)));
    return n;
  }

  FunctionCallInfo fcinfo_;
  const Arguments& at_;
  PictureStyle style_;
  double ends_[2] = {std::numeric_limits<double>::quiet_NaN(),
                     std::numeric_limits<double>::quiet_NaN()};
  Shown* shown_;
  int n_ = 0;
  NotShown others_ = {0, 0};
  std::string* out_;
};

std::string* draw(FunctionCallInfo fcinfo, const Arguments& at) {
  Picturing picturing(fcinfo, at);
  return at.labels >= 0 ? picturing.draw_array() : picturing.draw_density();
}

// A row for each line.
Datum plot(FunctionCallInfo fcinfo, const Arguments& at) {
  const ResultRows rows = begin_rows(fcinfo, 1);
  if (PG_ARGISNULL(0)) PG_RETURN_NULL();
  const std::string* drawn = draw(fcinfo, at);
  const char* line = drawn->data();
  const char* const end = line + drawn->size();
  while (line < end) {
    CHECK_FOR_INTERRUPTS();
    const auto* after = static_cast<const char*>(memchr(line, '\n', end - line));
    rows.put(PointerGetDatum(cstring_to_text_with_len(line, static_cast<int>(after - line))));
    line = after + 1;
  }
  PG_RETURN_NULL();
}

Datum svg(FunctionCallInfo fcinfo, const Arguments& at) {
  if (PG_ARGISNULL(0)) PG_RETURN_NULL();
  const std::string* drawn = draw(fcinfo, at);
  if (drawn->empty()) PG_RETURN_NULL();  // of an array of NULLs
  PG_RETURN_TEXT_P(cstring_to_text_with_len(drawn->data(), static_cast<int>(drawn->size())));
}

// Of a name as text, which is let in as the cast to anykde does. The executor's own argument stays
// as it is: a constant is set once for all rows, and what the cast makes lives for one.
using Draw = Datum (*)(FunctionCallInfo fcinfo, const Arguments& at);
Datum of_text(FunctionCallInfo fcinfo, const Arguments& at, Draw draw) {
  if (PG_ARGISNULL(0)) return draw(fcinfo, at);
  const Size size = SizeForFunctionCallInfo(fcinfo->nargs);
  auto* call = static_cast<FunctionCallInfo>(palloc(size));
  memcpy(call, fcinfo, size);
  call->args[0].value = DirectFunctionCall1(anykde_of_text, PG_GETARG_DATUM(0));
  return draw(call, at);
}

}  // namespace

}  // namespace kde_pg

// kde_plot(density, width, height, by_name_only, lower, upper, kind, filter, confidence); no row of
// a NULL density. Errors: 22023 for sizes, kinds and bounds that make no sense, and a density of
// several columns; 0A000 for what a category has not; those of read_density().
KDE_EXPORT(kde_plot);
Datum kde_plot(PG_FUNCTION_ARGS) { return kde_pg::plot(fcinfo, kde_pg::kPlot); }
// kde_plot of a name as text. (Beside the next an untyped literal would be of no one type.)
KDE_EXPORT(kde_plot_name);
Datum kde_plot_name(PG_FUNCTION_ARGS) {
  return kde_pg::of_text(fcinfo, kde_pg::kPlot, kde_pg::plot);
}
// kde_plot(densities, labels, width, height, by_name_only, lower, upper, kind, confidence). NULLs
// among them are left out. Errors besides: 42804 for densities of different types; 2202E for arrays
// of other shapes.
KDE_EXPORT(kde_plot_array);
Datum kde_plot_array(PG_FUNCTION_ARGS) { return kde_pg::plot(fcinfo, kde_pg::kPlotOfArray); }

// kde_svg(density, width, height, by_name_only, lower, upper, kind, filter, confidence, title); the
// others as above.
KDE_EXPORT(kde_svg);
Datum kde_svg(PG_FUNCTION_ARGS) { return kde_pg::svg(fcinfo, kde_pg::kSvg); }
KDE_EXPORT(kde_svg_name);
Datum kde_svg_name(PG_FUNCTION_ARGS) { return kde_pg::of_text(fcinfo, kde_pg::kSvg, kde_pg::svg); }
KDE_EXPORT(kde_svg_array);
Datum kde_svg_array(PG_FUNCTION_ARGS) { return kde_pg::svg(fcinfo, kde_pg::kSvgOfArray); }
