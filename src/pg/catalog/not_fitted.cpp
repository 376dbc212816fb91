// The error where no density is fitted, with a hint that names those nearby and the call that fits
// one.
#include "pg/catalog/not_fitted.h"

#include "pg/catalog/catalog.h"
#include "pg/catalog/column_name.h"
#include "pg/catalog/expression.h"
#include "pg/catalog/privileges.h"

namespace kde_pg {

namespace {

constexpr int kMost = 5;

int shared_columns(const DensityKey& wanted, const DensityKey& fitted) {
  int shared = 0;
  for (int i = 0; i < wanted.columns; ++i) shared += find_column(fitted, wanted.column[i]) >= 0;
  return shared;
}

int compare_names(const ListCell* a, const ListCell* b) {
  return strcmp(static_cast<const char*>(lfirst(a)), static_cast<const char*>(lfirst(b)));
}

// Names of those that share at least so many columns.
List* names_of(List* entries, const DensityKey& wanted, int least) {
  List* names = NIL;
  for (const CatalogEntry* item : of_list<const CatalogEntry>(entries)) {
    const DensityKey& fitted = item->key;
    if (shared_columns(wanted, fitted) >= least && is_readable(fitted))
      names = lappend(names, display_name(fitted));
  }
  list_sort(names, compare_names);
  return names;
}

// Of the density that a key finds, where it may be read; null: there is none.
const DensityKey* readable_there(const DensityKey& wanted) {
  for (const CatalogEntry* entry : of_list<const CatalogEntry>(catalog_list(wanted.relation))) {
    const DensityKey& fitted = entry->key;
    if (same_key(fitted, wanted) && is_readable(fitted)) return &fitted;
  }
  return nullptr;
}

// With the measures that the density has by now, which a fit without them would lose.
DensityKey with_measures_there(const DensityKey& wanted) {
  const bool measured = wanted.columns == 1 && wanted.measures > 0;
  const DensityKey* fitted = measured ? readable_there(wanted) : nullptr;
  if (fitted == nullptr) return wanted;
  DensityKey out = wanted;
  int at = wanted.columns;
  const auto put = [&](const KeyColumn& measure) {
    if (at < wanted.columns + kde::kMaxMeasures) out.column[at++] = measure;
  };
  for (int k = 0; k < wanted.measures; ++k) put(wanted.column[wanted.columns + k]);
  for (int k = 0; k < fitted->measures; ++k) {
    const KeyColumn& measure = fitted->column[fitted->columns + k];
    if (find_measure(wanted, measure) < 0) put(measure);
  }
  out.measures = at - wanted.columns;
  for (int k = 0; k < wanted.groups; ++k)
    out.column[at++] = wanted.column[wanted.first_group() + k];
  return out;
}

}  // namespace

const char* fitted_nearby(const DensityKey& key) {
  List* entries = catalog_list(key.relation);
  List* names = names_of(entries, key, key.columns);
  if (names == NIL) names = names_of(entries, key, 1);
  if (names == NIL) return "";
  StringInfoData out;
  initStringInfo(&out);
  for (int i = 0; i < Min(list_length(names), kMost); ++i)
    appendStringInfo(&out, "%s%s", i == 0 ? "Densities are fitted for " : "; ",
                     static_cast<const char*>(list_nth(names, i)));
  appendStringInfoString(&out, list_length(names) > kMost ? " ... " : ". ");
  return out.data;
}

const char* measures_there(const DensityKey& key) {
  StringInfoData out;
  initStringInfo(&out);
  const DensityKey* fitted = readable_there(key);
  for (int k = 0; fitted != nullptr && k < fitted->measures; ++k)
    appendStringInfo(&out, "%s%s", k > 0 ? " or " : "",
                     quote_literal_cstr(fitted->column[fitted->columns + k].text));
  return out.data;
}

const char* fitting_hint(const DensityKey& key) {
  return psprintf("%sFit one: SELECT * FROM %s;", fitted_nearby(key),
                  fit_call(with_measures_there(key)));
}

void check_can_be_fitted(const DensityKey& key) {
  for (int i = 0; i < key.columns; ++i) {
    if (key.column[i].attnum == 0 && key.column[i].expression == nullptr) continue;
    int32 typmod;
    kde::ValueType held;
    const Oid type = key_column_type(key, i, &typmod);
    if (!OidIsValid(type) || value_type_of(type, &held)) continue;
    const char* columns = fittable_columns(key.relation);
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("%s is of type %s, which no density can hold", describe_column(key, i),
                           format_type_be(type)),
                    columns[0] != '\0' ? errhint("%s", columns) : 0));
  }
}

void raise_not_fitted(const DensityKey& key) {
  // Lest the hint be to a fit that is refused.
  check_can_be_fitted(key);
  ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
                  key.measures > 0 ? errmsg("no density is fitted for %s with the measure \"%s\"",
                                            display_name(key), key.column[key.columns].text)
                                   : errmsg("no density is fitted for %s", display_name(key)),
                  errhint("%s", fitting_hint(key))));
  pg_unreachable();
}

}  // namespace kde_pg
