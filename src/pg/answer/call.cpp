// From a call's arguments to the density it asks and what it asks of it.
#include "pg/answer/call.h"

#include "pg/catalog/cache.h"
#include "pg/catalog/catalog.h"
#include "pg/catalog/column_name.h"
#include "pg/catalog/density_name.h"
#include "pg/catalog/expression.h"
#include "pg/catalog/not_fitted.h"
#include "pg/catalog/privileges.h"
#include "pg/type/anykde.h"
#include "pg/type/density_datum.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace kde_pg {

namespace {

bool is_of_one_column(Needs needs) { return needs == Needs::column || needs == Needs::order; }

text* text_or_null(FunctionCallInfo fcinfo, int argument) {
  return argument < 0 || PG_ARGISNULL(argument) ? nullptr : PG_GETARG_TEXT_PP(argument);
}

// The table is not locked, so it may be gone at any time.
[[noreturn]] void raise_gone() {
  ereport(ERROR,
          (errcode(ERRCODE_UNDEFINED_TABLE), errmsg("the column asked about no longer exists")));
  pg_unreachable();
}

// The density of a column by itself; false if none is fitted. No name of anything is looked up but
// for errors: this is what takes a microsecond.
bool find_of_column(TableColumn column, Call* call) {
  check_readable(column);
  AnsweringDensity* found = &call->density;
  const CachedDensity cached = cached_density(column, &found->fit);
  if (cached.value == nullptr) return false;
  found->one_column = cached_any_density(cached.value).one_column;
  found->sums = cached.sums;
  Question* q = &call->question;
  int32 typmod;
  if (!column_value_type(column, &q->type[0], &typmod) ||
      !same_meaning(q->type[0], found->one_column->value_type)) {
    if (live_column_name(column.relation, column.attnum) == nullptr) raise_gone();
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("the density of %s was fitted before the column changed its type",
                           display_name(column)),
                    errhint("Fit it again with kde_fit.")));
  }
  q->asked.relation = column.relation;
  q->asked.columns = q->named = q->sides = 1;
  q->asked.column[0] = {column.attnum, nullptr, nullptr};
  q->measure = 0;
  return true;
}

[[noreturn]] void raise_no_groups() {
  ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("the density has no groups"),
                  errhint("They come of kde_fit(..., group_by => 'column').")));
  pg_unreachable();
}

// The density of one key alone.
const struct varlena* stored_value(const DensityKey& key, AnsweringFit* fit) {
  check_readable(key);
  const struct varlena* value = cached_density(key, fit).value;
  if (value == nullptr) raise_not_fitted(key);
  return value;
}

// The stored key with groups that a name means: its own, or those of the column's only density with
// some.
const DensityKey* grouped_key(const DensityKey& asked) {
  const bool push = !ActiveSnapshotSet();
  if (push) PushActiveSnapshot(GetTransactionSnapshot());
  List* entries = catalog_list(asked.relation, GetActiveSnapshot());
  if (push) PopActiveSnapshot();
  const DensityKey* found = nullptr;
  StringInfoData names;
  initStringInfo(&names);
  int n = 0;
  for (const CatalogEntry* item : of_list<const CatalogEntry>(entries)) {
    const DensityKey& key = item->key;
    if (key.groups == 0 || !same_key(asked.groups > 0 ? key : ungrouped(key), asked)) continue;
    // Who may not read what groups are by does not hear that there are some.
    if (!is_readable(key)) continue;
    found = &key;
    appendStringInfo(&names, "%s%s", n++ > 0 ? ", " : "", quote_literal_cstr(density_name(key)));
  }
  if (n > 1)
    ereport(ERROR, (errcode(ERRCODE_AMBIGUOUS_ALIAS),
                    errmsg("%s has several densities with groups", display_name(asked)),
                    errhint("Name one of %s.", names.data)));
  if (found == nullptr) {
    check_can_be_fitted(asked);
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
                    errmsg("no density with groups is fitted for %s", display_name(asked)),
                    asked.groups > 0
                        ? errhint("%s", fitting_hint(asked))
                        : errhint("Fit one: SELECT * FROM %s;", fit_call_by(asked, "a column"))));
  }
  return found;
}

// A density with groups, and which of its measures is meant.
void find_groups(text* name, text* measure, text* filter, Call* call) {
  Question* q = &call->question;
  q->asked = key_by_text(name, filter);
  check_readable(q->asked);
  q->grouped = grouped_key(q->asked);
  check_readable(*q->grouped);
  q->asked = ungrouped(q->asked);
  q->named = q->sides = 1;
  q->measure = 0;
  AnsweringDensity* found = &call->density;
  const CachedDensity cached = cached_density(*q->grouped, &found->fit);
  if (cached.value == nullptr) raise_not_fitted(*q->grouped);
  found->one_column = cached_any_density(cached.value).one_column;
  if (!found->has_groups()) raise_no_groups();
  int32 typmod;
  const Oid type = key_column_type(q->asked, 0, &typmod);
  if (!value_type_of(type, &q->type[0]) || !same_meaning(q->type[0], found->one_column->value_type))
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("the density of %s was fitted before the column changed its type",
                           display_name(*q->grouped)),
                    errhint("Fit it again with kde_fit.")));
  if (measure == nullptr) return;
  const KeyColumn column = measured_column(q->asked.relation, measure);
  if (same_column(column, q->asked.column[0])) return;
  const int k = find_measure(*q->grouped, column);
  if (k < 0 || k >= found->one_column->measures)
    ereport(
        ERROR,
        (errcode(ERRCODE_UNDEFINED_OBJECT),
         errmsg("the density of %s has no measure \"%s\"", display_name(*q->grouped), column.text),
         errhint("Fit it again with measures => ARRAY[%s].", quote_literal_cstr(column.text))));
  q->measure = q->asked.columns++;
  q->asked.column[q->measure] = column;
  q->type[q->measure] = found->type(1 + k);
  found->place[q->measure] = 1 + k;
}

void find_by_name(text* name, text* measure, text* filter, Needs needs, Call* call) {
  if (needs == Needs::groups) return find_groups(name, measure, filter, call);
  const bool plain = measure == nullptr && filter == nullptr && !names_more(name);
  if (plain && find_of_column(column_by_text(name), call)) return;
  call->question = question_by_name(name, measure, filter,
                                    needs == Needs::rows ? Measured::rows : Measured::values);
  if (is_of_one_column(needs) && call->question.named > 1) raise_several_columns();
  call->density = find_density(call->question, needs == Needs::joint ? Form::joint : Form::any);
  if (is_of_one_column(needs)) call->density.take_margin();
}

// A value has no names: its columns are told by their numbers, from 1.
int measure_of_value(text* measure, int columns) {
  char* end;
  const char* number = text_to_cstring(measure);
  const long k = strtol(number, &end, 10);
  if (*number == '\0' || *end != '\0' || k < 1 || k > columns)
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
             errmsg("measure \"%s\" is no column of the value", number),
             errdetail("A value has no names: its columns are told by their numbers, 1 to %d.",
                       columns)));
  return static_cast<int>(k) - 1;
}

// Of a column's density that measure which its number says, as the question's second column.
void take_measure_of_value(Call* call) {
  Question* q = &call->question;
  const int k = q->measure - q->named;
  q->measure = q->named;
  q->asked.columns = q->named + 1;
  call->density.place[q->measure] = 1 + k;
  q->type[q->measure] = call->density.type(1 + k);
}

void take_value(Datum datum, text* measure, text* filter, Needs needs, Call* call) {
  if (filter != nullptr)
    ereport(
        ERROR,
        (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("a value of type kde cannot be filtered"),
         errdetail("It has no rows, only their density."),
         errhint("Name the density, or take the value of one that was fitted with the filter.")));
  const AnyDensity density = any_density_from_datum(datum);
  const bool is_of_one = is_of_one_column(needs) || needs == Needs::groups;
  if (is_of_one && density.joint != nullptr) raise_several_columns();
  if (needs == Needs::groups && !density.has_groups()) raise_no_groups();
  Question* q = &call->question;
  call->density.take(density);
  q->named = q->sides = q->asked.columns = density.columns();
  for (int i = 0; i < q->named; ++i) {
    call->density.place[i] = i;
    q->type[i] = density.type(i);
  }
  const int measures = density.measures();
  if (measure != nullptr) {
    q->measure = measure_of_value(measure, q->named + measures);
    if (q->measure >= q->named) take_measure_of_value(call);
  } else if (q->named == 1 && (measures == 0 || is_of_one)) {
    q->measure = 0;
  }
}

// Read in every call, so not copied.
Otherwise read_otherwise(FunctionCallInfo fcinfo, int argument) {
  reject_null(fcinfo, argument, "otherwise");
  const text* value = PG_GETARG_TEXT_PP(argument);
  const std::string_view name(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value));
  if (name == "error") return Otherwise::error;
  if (name == "null") return Otherwise::null;
  if (name != "exact")
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("invalid value for otherwise: \"%s\"", text_to_cstring(value)),
                    errhint("It is 'error', 'null' or 'exact'.")));
  return Otherwise::exact;
}

// Argument max_relative_error.
void read_required(FunctionCallInfo fcinfo, int argument, Accuracy* accuracy) {
  accuracy->required = !PG_ARGISNULL(argument);
  if (!accuracy->required) return;
  accuracy->most_error = PG_GETARG_FLOAT8(argument);
  if (!(accuracy->most_error >= 0))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("max_relative_error must be at least 0"),
                    errdetail("The value given was %g.", accuracy->most_error),
                    errhint("0.01 asks for an error of at most 1 %%.")));
}

}  // namespace

double read_confidence(FunctionCallInfo fcinfo, int argument) {
  reject_null(fcinfo, argument, "confidence");
  const double confidence = PG_GETARG_FLOAT8(argument);
  if (!(confidence > 0 && confidence < 1))
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
             errmsg("confidence must be between 0 and 1, exclusive"),
             errdetail("The value given was %g.", confidence),
             errhint("0.95 asks for intervals that hold the exact answer 95 times in 100.")));
  return confidence;
}

double read_changed_rows(FunctionCallInfo fcinfo, int argument) {
  reject_null(fcinfo, argument, "changed_rows");
  const double changed = PG_GETARG_FLOAT8(argument);
  if (!(changed >= 0) || std::isinf(changed))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("changed_rows must be a finite number of at least 0"),
                    errdetail("The value given was %g.", changed),
                    errhint("It is the number of rows inserted, updated and deleted since the "
                            "fit.")));
  return changed;
}

Accuracy read_accuracy(FunctionCallInfo fcinfo, int first) {
  Accuracy out;
  out.otherwise = read_otherwise(fcinfo, first + 1);
  read_required(fcinfo, first, &out);
  out.interval.confidence = read_confidence(fcinfo, first + 2);
  out.interval.changed_rows = read_changed_rows(fcinfo, first + 3);
  return out;
}

bool read_density(FunctionCallInfo fcinfo, int measure, int filter, Needs needs, Call* call) {
  if (PG_ARGISNULL(0)) return false;
  const Datum datum = PG_GETARG_DATUM(0);
  text* measured = text_or_null(fcinfo, measure);
  text* filtered = text_or_null(fcinfo, filter);
  text* name = name_in(datum);
  if (name != nullptr) {
    find_by_name(name, measured, filtered, needs, call);
  } else {
    take_value(datum, measured, filtered, needs, call);
  }
  if (needs == Needs::order) refuse_category(call->question.type[0], "order");
  return true;
}

void read_value(Datum density, Needs needs, Call* call) {
  take_value(density, nullptr, nullptr, needs, call);
  if (needs == Needs::order) refuse_category(call->question.type[0], "order");
}

bool read_call(FunctionCallInfo fcinfo, int by_name_only, Needs needs, Call* call) {
  if (PG_ARGISNULL(0)) return false;
  check_by_name_only(fcinfo, by_name_only);
  const int measure = is_of_one_column(needs) ? -1 : by_name_only + 1;
  const int filter = is_of_one_column(needs) ? by_name_only + 1 : by_name_only + 2;
  call->accuracy = read_accuracy(fcinfo, filter + 1);
  const Accuracy* accuracy = &call->accuracy;
  if (!accuracy->required && accuracy->otherwise != Otherwise::error)
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("otherwise needs max_relative_error"),
             errhint("Pass max_relative_error => 0.01 for an error of at most 1 %%.")));
  if (!read_density(fcinfo, measure, filter, needs, call)) return false;
  if (accuracy->otherwise == Otherwise::exact && call->question.is_value())
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("a value of type kde has no table to answer from exactly"),
                    errhint("Name the column instead, or pass otherwise => 'null'.")));
  return true;
}

kde::IntervalOptions interval_options(const Call& call) {
  kde::IntervalOptions options = call.accuracy.interval;
  options.changed_rows = std::max(options.changed_rows, rows_changed_since(call.density.fit));
  options.changed_rows /= call.density.scale;
  return options;
}

const kde::Header* density_of_column(TableColumn column) {
  Call call;
  if (find_of_column(column, &call)) return call.density.one_column;
  const DensityKey key = key_of(column);
  if (key.column[0].text == nullptr) raise_gone();
  raise_not_fitted(key);
}

AnyDensity density_by_text(text* name) {
  if (!names_more(name)) return {density_of_column(column_by_text(name)), nullptr};
  return any_density_from_datum(PointerGetDatum(stored_value(key_by_text(name, nullptr), nullptr)));
}

AnyDensity density_argument(FunctionCallInfo fcinfo, int argument) {
  const Datum datum = PG_GETARG_DATUM(argument);
  text* name = name_in(datum);
  return name != nullptr ? density_by_text(name) : any_density_from_datum(datum);
}

}  // namespace kde_pg
