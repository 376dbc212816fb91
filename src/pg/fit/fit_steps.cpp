// Steps of every fit: arguments, privileges, what can have a density.
#include "pg/fit/fit_steps.h"

#include "pg/base/options.h"
#include "pg/catalog/density_name.h"
#include "pg/catalog/name_text.h"
#include "pg/catalog/privileges.h"

namespace kde_pg {

double elapsed_ms(instr_time start) {
  instr_time now;
  INSTR_TIME_SET_CURRENT(now);
  INSTR_TIME_SUBTRACT(now, start);
  return INSTR_TIME_GET_MILLISEC(now);
}

void check_may_write(const char* function) {
  PreventCommandDuringRecovery(function);
  PreventCommandIfReadOnly(function);
  PreventCommandIfParallelMode(function);
}

int64 random_seed() {
  uint64 bits;
  if (!pg_strong_random(&bits, sizeof bits))
    ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not generate a random seed")));
  return static_cast<int64>(bits >> 11);
}

const char* read_alias(FunctionCallInfo fcinfo, int argument) {
  if (PG_ARGISNULL(argument)) return nullptr;
  const char* alias = text_to_cstring(PG_GETARG_TEXT_PP(argument));
  if (*alias == '\0' || strlen(alias) >= NAMEDATALEN)
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_NAME), errmsg("invalid name of a density: \"%s\"", alias),
             errdetail("It has 1 to %d bytes.", NAMEDATALEN - 1)));
  return alias;
}

FitRequest read_asked(FunctionCallInfo fcinfo, int seed_argument, int max_error_argument,
                      int name_argument) {
  reject_null(fcinfo, 2, "method");
  FitRequest asked = {};
  asked.method = text_to_cstring(PG_GETARG_TEXT_PP(2));
  asked.sample_rows = PG_ARGISNULL(3) ? kAllRowsRead : PG_GETARG_INT64(3);
  // The number that stands for none.
  if (!PG_ARGISNULL(3) && asked.sample_rows == kAllRowsRead)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("sample_rows must not be 0"),
                    errhint("Leave it out for every row that is read.")));
  asked.alias = read_alias(fcinfo, name_argument);
  asked.bytes = session_density_bytes();
  asked.seed_given = !PG_ARGISNULL(seed_argument);
  asked.seed = asked.seed_given ? PG_GETARG_INT64(seed_argument) : random_seed();
  if (!PG_ARGISNULL(max_error_argument)) {
    asked.max_error = PG_GETARG_FLOAT8(max_error_argument);
    if (!(asked.max_error > 0 && asked.max_error <= 1))
      ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                      errmsg("max_relative_error must be above 0 and at most 1, not %g",
                             asked.max_error)));
    if (asked.sample_rows != kAllRowsRead)
      ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                      errmsg("sample_rows and max_relative_error exclude each other"),
                      errhint("Leave one of them out.")));
  }
  return asked;
}

ArrayType* names_argument(FunctionCallInfo fcinfo, int n, Oid relation, const char* argument) {
  if (PG_ARGISNULL(n)) return nullptr;
  ArrayType* names = names_list(PG_GETARG_TEXT_PP(n), argument);
  check_words(relation, names);
  return names;
}

ArrayType* array_argument(FunctionCallInfo fcinfo, int n) {
  return PG_ARGISNULL(n) ? nullptr : PG_GETARG_ARRAYTYPE_P(n);
}

text* text_argument(FunctionCallInfo fcinfo, int n) {
  return PG_ARGISNULL(n) ? nullptr : PG_GETARG_TEXT_PP(n);
}

Size density_bytes(const FitRequest& asked) {
  return asked.bytes > 0 ? static_cast<Size>(asked.bytes)
                         : static_cast<Size>(option_density_bytes) * 1024;
}

Size memory_limit() { return static_cast<Size>(maintenance_work_mem) * 1024; }

void check_sample_fits(int64 rows, Size bytes_per_row, const char* hint) {
  const int64 most = static_cast<int64>(memory_limit() / bytes_per_row);
  if (rows <= most) return;
  ereport(ERROR,
          (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
           errmsg("a sample of %lld rows needs more memory than maintenance_work_mem",
                  static_cast<long long>(rows)),
           errdetail("%d kB allow %lld rows.", maintenance_work_mem, static_cast<long long>(most)),
           errhint("%s", hint)));
}

namespace {

[[noreturn]] void raise_no_relation(Oid relation) {
  ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
                  errmsg("relation with OID %u does not exist", relation)));
  pg_unreachable();
}

}  // namespace

Relation open_relation(Oid relation) {
  Relation rel = try_relation_open(relation, AccessShareLock);
  if (rel == nullptr) raise_no_relation(relation);
  return rel;
}

namespace {

Relation open_checked(Oid relation, void (*check)(Oid relation)) {
  if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relation))) raise_no_relation(relation);
  check(relation);
  Relation rel = open_relation(relation);
  check(relation);
  return rel;
}

}  // namespace

Relation open_owned_relation(Oid relation) { return open_checked(relation, check_owner); }

Relation open_maintained_relation(Oid relation) {
  return open_checked(relation, check_may_maintain);
}

void check_may_fit(const DensityKey& key) {
  if (is_owner(key.relation)) return;
  bool computed = key.has_filter();
  for (int k = 0; k < key.all(); ++k) computed = computed || key.column[k].attnum == 0;
  if (computed)
    ereport(ERROR,
            (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
             errmsg("must be owner of table \"%s\" to fit a density to expressions or with a "
                    "filter",
                    get_rel_name(key.relation)),
             errdetail("They are computed with the owner's rights."),
             errhint("Let the owner fit it, or fit the columns themselves.")));
  check_readable(key);
}

void check_kind(Relation rel) {
  switch (rel->rd_rel->relkind) {
    case RELKIND_RELATION:
    case RELKIND_MATVIEW:
    case RELKIND_PARTITIONED_TABLE:
    case RELKIND_FOREIGN_TABLE:
      break;
    case RELKIND_VIEW:
      ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                      errmsg("cannot fit a density to view \"%s\"", RelationGetRelationName(rel)),
                      errhint("Fit it to the table behind the view, or to a materialized view.")));
    default:
      ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                      errmsg("cannot fit a density to \"%s\"", RelationGetRelationName(rel)),
                      errdetail("It is not a table, materialized view or foreign table.")));
  }
  // Temporary tables go without telling event triggers, and their rows of the catalog would stay.
  if (rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
    ereport(ERROR,
            (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
             errmsg("cannot fit a density to temporary table \"%s\"", RelationGetRelationName(rel)),
             errhint("Use a permanent table.")));
}

namespace {

// Of what can be added up.
void check_measure_type(const DensityKey& key, int k, Oid type) {
  kde::ValueType held;
  if (value_type_of(type, &held) && is_added_up(held)) return;
  ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                  errmsg("measure \"%s\" is of type %s, which is not added up", key.column[k].text,
                         format_type_be(type)),
                  errhint("A measure is a number or an interval.")));
}

}  // namespace

ColumnTypes check_types(const DensityKey& key) {
  ColumnTypes types = {};
  for (int k = 0; k < key.all(); ++k) {
    int32 typmod;
    const Oid type = key_column_type(key, k, &typmod);
    if (k >= key.first_group()) continue;
    if (k >= key.columns) check_measure_type(key, k, type);
    if (!value_type_of(type, &types.value_type[k])) {
      const char* to = conversion_of(type);
      const char* text =
          key.column[k].attnum != 0 ? quote_identifier(key.column[k].text) : key.column[k].text;
      ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                      errmsg("%s is of type %s, which has no density", describe_column(key, k),
                             format_type_be(type)),
                      to != nullptr ? errhint("Fit it as %s: ARRAY[%s].", to,
                                              quote_literal_cstr(psprintf("%s::%s", text, to)))
                                    : errhint("A density can be fitted to %s.", KDE_COLUMN_TYPES)));
    }
    types.lattice_step[k] = lattice_step_of(types.value_type[k], typmod);
  }
  return types;
}

kde::Chain chain_of(const DensityKey& key, const FitRequest& asked) {
  const kde::ValueType type = check_types(key).value_type[0];
  kde::Chain chain;
  // A column's type may have changed since.
  const bool told = asked.steps != nullptr && kde::parse_steps(asked.steps, &chain) &&
                    kde::is_chain_of(type, chain);
  return told ? chain : kde::chain_of(type);
}

void check_steps(const DensityKey& key, const FitRequest& asked) {
  if (asked.steps == nullptr) return;
  kde::Chain chain;
  if (!kde::parse_steps(asked.steps, &chain))
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("unknown steps \"%s\"", asked.steps),
             errhint("Steps are %s.", kde::steps_list())));
  if (key.columns == 1 && check_types(key).value_type[0] <= kde::ValueType::numeric) return;
  ereport(ERROR,
          (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
           errmsg("steps are of densities of one column of numbers"), errhint("Leave steps out.")));
}

bool is_category(const DensityKey& key, int column) {
  int32 typmod;
  kde::ValueType type;
  return value_type_of(key_column_type(key, column, &typmod), &type) &&
         type == kde::ValueType::category;
}

double table_rows(const DensityKey& key, const Counters& counters, double met, double rows) {
  if (!key.has_filter()) return rows;
  if (met >= 0) return Max(rows, met);
  return Max(rows, static_cast<double>(counters.live()));
}

void raise_nothing_to_fit(Relation relation, const DensityKey& key, const char* detail) {
  ereport(ERROR,
          (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
           errmsg("cannot fit a density to %s of \"%s\"", describe_columns(key),
                  RelationGetRelationName(relation)),
           errdetail("%s", detail),
           key.has_filter()
               ? errhint("Where few rows pass the filter, sample_rows => -1 meets all of them.")
               : 0));
  pg_unreachable();
}

bool is_nothing_to_fit(const ErrorData& error) {
  constexpr char kMessage[] = "cannot fit a density to ";
  return error.sqlerrcode == ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE && error.detail != nullptr &&
         strncmp(error.message, kMessage, sizeof kMessage - 1) == 0 &&
         (strncmp(error.detail, "The scan found no rows", 22) == 0 ||
          strncmp(error.detail, "Its parts have no values", 24) == 0);
}

}  // namespace kde_pg
