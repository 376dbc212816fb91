// What a density's columns, expressions and filter mean in this database, as texts by which it can
// be told whether they mean the same later (as_fitted.h has what each line is).
#pragma once

#include "pg/catalog/density_key.h"

namespace kde_pg {

// Settings that STABLE parts depend on, one bit each of Meaning::settings.
inline constexpr const char* kSettingNames[] = {
    "TimeZone",    "DateStyle",  "IntervalStyle", "extra_float_digits",        "bytea_output",
    "lc_monetary", "lc_numeric", "lc_time",       "default_text_search_config"};

struct Meaning {
  List* lines = NIL;  // char*, each once
  unsigned settings = 0;
  List* types = NIL;  // those looked at, Oids
  List* functions = NIL;
  bool refuses = false;
  bool stable = false;  // there are STABLE parts of known kinds
};

// Whether a key has its trees; the same with them, whose relation need not be open.
bool is_analysed(const DensityKey& key);
DensityKey analysed(const DensityKey& key);

// Of an analysed key what each column, expression and reference is, in their order, as texts; the
// rest in *m.
List* meaning_of(const DensityKey& key, Meaning* m);
// The same of its expressions and filter alone.
void look_at_trees(const DensityKey& key, Meaning* m);

// Refuses volatile functions, also those that inlining brings in, and what depends on the time, the
// session or a user's STABLE function (42P17): an analysed key. Folds constants, so it is to be
// called as the relation's owner (AsOwner, pinned.h).
void check_not_volatile(const DensityKey& key);

}  // namespace kde_pg
