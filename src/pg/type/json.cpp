// The casts of a density to json and jsonb: what it holds and its curve, for plots and programs.
//
//   value_type, kind, steps, method, kernel, bandwidth, rows, nulls, nans, negative_infinities,
//   positive_infinities, min, max, min_text, max_text, mean, stddev
//   atoms      [[value, rows], ...], ascending: single values with at least one in kLeastShare
//              of the rows; null where they are more than kMostAtoms
//   points     {"x": [...], "density": [...], "cdf": [...]}, as kde_points() gives them
//   quantiles  {"fraction": [...], "value": [...]}
//
// Values are numbers, dates and times seconds since 1970; what JSON has no number for is null.
#include "pg/base/owned.h"
#include "pg/values/values.h"
#include "pg/type/curve.h"
#include "pg/type/density_datum.h"

#include "core/kde.h"

extern "C" {
#include "common/shortest_dec.h"
#include "utils/json.h"
}

#include <cmath>
#include <iterator>
#include <vector>

namespace kde_pg {

namespace {

constexpr int kMostAtoms = 100;
constexpr int kLeastShare = 1000;
constexpr int kPoints = 100;
constexpr double kFractions[] = {0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99};

void put_number(StringInfo out, double x) {
  char digits[DOUBLE_SHORTEST_DECIMAL_LEN] = "null";
  if (std::isfinite(x)) double_to_shortest_decimal_buf(x, digits);
  appendStringInfoString(out, digits);
}

// ,"name": unless it is the object's first.
void put_key(StringInfo out, const char* name) {
  if (out->data[out->len - 1] != '{') appendStringInfoString(out, ", ");
  escape_json(out, name);
  appendStringInfoString(out, ": ");
}

void put_field(StringInfo out, const char* name, double x) {
  put_key(out, name);
  put_number(out, x);
}

void put_field(StringInfo out, const char* name, const char* text) {
  put_key(out, name);
  escape_json(out, text);
}

// An array of value(i).
template <typename Value>
void put_array(StringInfo out, const char* name, int n, Value value) {
  put_key(out, name);
  appendStringInfoChar(out, '[');
  for (int i = 0; i < n; ++i) {
    if (i > 0) appendStringInfoString(out, ", ");
    put_number(out, value(i));
  }
  appendStringInfoChar(out, ']');
}

struct Atom {
  double value, rows;
};

using Cells = std::vector<kde::HistogramCell>;

// The core's decoder lets bad_alloc pass.
bool decode(const kde::Header* h, Cells* cells) {
  try {
    kde::decode_histogram(kde::DensityView(h), cells);
    return true;
  } catch (...) {
    return false;
  }
}

// Up to `most` of the single values with a share of the rows worth showing, in ascending order.
// Returns how many there are.
int find_atoms(const kde::Header* h, int most, Atom* atoms) {
  int n = 0;
  const auto see = [&](double value, double rows) {
    if (!(rows * kLeastShare >= h->finite_rows())) return;
    if (n < most) atoms[n] = {value, rows};
    ++n;
  };
  auto* cells = Owned<Cells>::create(CurrentMemoryContext);
  if (!decode(h, cells)) ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
  for (const kde::HistogramCell& cell : *cells)
    if (cell.point) see(cell.value, cell.rows);
  return n;
}

void put_atoms(StringInfo out, const kde::Header* density) {
  Atom atoms[kMostAtoms];
  const int n = density->finite_rows() > 0 ? find_atoms(density, kMostAtoms, atoms) : 0;
  put_key(out, "atoms");
  if (n > kMostAtoms) {
    appendStringInfoString(out, "null");
    return;
  }
  appendStringInfoChar(out, '[');
  for (int i = 0; i < n; ++i) {
    appendStringInfoString(out, i > 0 ? ", [" : "[");
    put_number(out, atoms[i].value);
    appendStringInfoString(out, ", ");
    put_number(out, atoms[i].rows);
    appendStringInfoChar(out, ']');
  }
  appendStringInfoChar(out, ']');
}

void put_header(StringInfo out, const kde::Header& h) {
  // Of ranks nothing is told.
  const bool has_finite = h.finite_rows() > 0 && h.value_type != kde::ValueType::category;
  const auto finite = [has_finite](double x) { return has_finite ? x : std::nan(""); };
  put_field(out, "value_type", value_type_label(h.value_type));
  put_field(out, "kind", kind_name(h));
  if (has_finite) put_field(out, "steps", kde::steps_name(h));
  put_field(out, "method", kde::asked_method_name(h));
  put_field(out, "bandwidth", h.bandwidth > 0 ? h.bandwidth : std::nan(""));
  put_field(out, "rows", h.rows);
  put_field(out, "nulls", h.nulls);
  put_field(out, "nans", h.nans);
  put_field(out, "negative_infinities", h.negative_infinities);
  put_field(out, "positive_infinities", h.positive_infinities);
  put_field(out, "min", finite(h.min));
  put_field(out, "max", finite(h.max));
  if (has_finite) {
    put_field(out, "min_text", double_to_text(h.value_type, h.min));
    put_field(out, "max_text", double_to_text(h.value_type, h.max));
  } else {
    put_field(out, "min_text", std::nan(""));
    put_field(out, "max_text", std::nan(""));
  }
  put_field(out, "mean", finite(h.mean));
  put_field(out, "stddev", finite(std::sqrt(h.variance)));
}

void put_curve(StringInfo out, const kde::Header& h) {
  const kde::DensityView density(&h);
  int points = kPoints;
  if (!(h.finite_rows() > 0))
    points = 0;
  else if (h.min == h.max)
    points = 1;
  const Curve curve = {density, h.min, h.max, points};
  const auto x = [&](int i) { return curve.x(i); };
  put_key(out, "points");
  appendStringInfoChar(out, '{');
  put_array(out, "x", points, x);
  put_array(out, "density", points, [&](int i) { return curve.height(i); });
  put_array(out, "cdf", points, [&](int i) { return kde::cdf(density, x(i)); });
  appendStringInfoChar(out, '}');

  const int fractions = h.rows > 0 ? static_cast<int>(std::size(kFractions)) : 0;
  put_key(out, "quantiles");
  appendStringInfoChar(out, '{');
  put_array(out, "fraction", fractions, [](int i) { return kFractions[i]; });
  put_array(out, "value", fractions, [&](int i) { return kde::quantile(density, kFractions[i]); });
  appendStringInfoChar(out, '}');
}

// [value, rows] of each that is kept, most rows first; and what is known of the others.
void put_words(StringInfo out, const kde::Header* density) {
  put_key(out, "words");
  appendStringInfoChar(out, '[');
  if (density->words > 0) {
    const kde::WordsView words(density);
    const kde::DensityView view(density);
    for (uint32 i = 0; i < words.words(); ++i) {
      const std::string_view word = words.word(i);
      appendStringInfoString(out, i > 0 ? ", [" : "[");
      escape_json(out, pnstrdup(word.data(), word.size()));
      appendStringInfoString(out, ", ");
      const uint32 rank[] = {i};
      put_number(out, kde::words_count(view, words, {rank, 0}));
      appendStringInfoChar(out, ']');
    }
    appendStringInfoChar(out, ']');
    put_field(out, "distinct", words.header().distinct);
    return;
  }
  appendStringInfoChar(out, ']');
}

// The object as palloc'ed text.
StringInfo density_to_json(const kde::Header* density) {
  StringInfo out = makeStringInfo();
  appendStringInfoChar(out, '{');
  put_header(out, *density);
  if (density->value_type == kde::ValueType::category) {
    put_words(out, density);
    appendStringInfoChar(out, '}');
    return out;
  }
  put_atoms(out, density);
  put_curve(out, *density);
  appendStringInfoChar(out, '}');
  return out;
}

}  // namespace

}  // namespace kde_pg

KDE_EXPORT(kde_to_json);
Datum kde_to_json(PG_FUNCTION_ARGS) {
  StringInfo json = kde_pg::density_to_json(PG_GETARG_DENSITY(0));
  PG_RETURN_TEXT_P(cstring_to_text_with_len(json->data, json->len));
}

KDE_EXPORT(kde_to_jsonb);
Datum kde_to_jsonb(PG_FUNCTION_ARGS) {
  StringInfo json = kde_pg::density_to_json(PG_GETARG_DENSITY(0));
  return DirectFunctionCall1(jsonb_in, CStringGetDatum(json->data));
}
