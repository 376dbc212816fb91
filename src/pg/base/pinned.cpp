// Pins settings for the catalog's work, and becomes a table's owner, restricted, until it is done.
#include "pg/base/pinned.h"

namespace kde_pg {

namespace {

void pin(const char* name, const char* value) {
  (void)set_config_option(name, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

// Temporary objects are looked at last.
constexpr const char* kSearchPath = "pg_catalog, pg_temp";

}  // namespace

void Pinned::end() { AtEOXact_GUC(false, nest_); }

void PinnedSettings::begin() {
  nest_ = NewGUCNestLevel();
  pin("search_path", kSearchPath);
  pin("DateStyle", "ISO, YMD");
  pin("IntervalStyle", "postgres");
  pin("TimeZone", "UTC");
  pin("extra_float_digits", "1");
  pin("bytea_output", "hex");
  pin("array_nulls", "on");
  pin("quote_all_identifiers", "off");
  pin("standard_conforming_strings", "on");
}

void PinnedSearchPath::begin() {
  nest_ = NewGUCNestLevel();
  pin("search_path", kSearchPath);
}

void FittedSettings::begin(const char* settings) {
  nest_ = NewGUCNestLevel();
  (void)for_settings(settings, [](std::string_view name, std::string_view value) {
    pin(pnstrdup(name.data(), name.size()), pnstrdup(value.data(), value.size()));
    return true;
  });
}

void PinnedExact::begin() {
  nest_ = NewGUCNestLevel();
  pin("kde_aqp.approximate", "off");
}

void AsOwner::begin(Relation relation) {
  GetUserIdAndSecContext(&user_, &security_);
  SetUserIdAndSecContext(relation->rd_rel->relowner, security_ | SECURITY_RESTRICTED_OPERATION);
  nest_ = NewGUCNestLevel();
  pin("search_path", kSearchPath);
  // A query whose rows a policy would hide from the owner is an error, not a part of the rows.
  pin("row_security", "off");
}

void AsOwner::end() {
  AtEOXact_GUC(false, nest_);
  SetUserIdAndSecContext(user_, security_);
}

void pin_timeouts() {
  constexpr const char* kTimeouts[] = {
    "statement_timeout",
    "idle_in_transaction_session_timeout",
    "idle_session_timeout",
#if PG_VERSION_NUM >= 170000
    "transaction_timeout",
#endif
  };
  for (const char* name : kTimeouts) SetConfigOption(name, "0", PGC_SUSET, PGC_S_OVERRIDE);
}

}  // namespace kde_pg
