// kde_self_check(): a density answers questions, as a user would be answered, and the table's rows
// are counted for each, under one snapshot and as the table's owner.
//
// They are drawn, and take turns: ranges that hold 30, 5 and 0.5 % of the rows, all below or above
// a value, one value, everything, and a sum and a mean, their ends at quantiles of the density that
// a seed chooses; of several columns a box of two of them; of a category one of its values; of a
// density with groups the same in one of the groups.
//
// Tables that are not, or not all, on this server are refused: foreign ones, shards, and those
// whose rows are elsewhere (catalog/planned_rows.h). So is what row-level security keeps from the
// owner himself.
#include "pg/answer/exact.h"
#include "pg/answer/moments.h"
#include "pg/answer/asked_words.h"
#include "pg/base/pinned.h"
#include "pg/values/result_set.h"
#include "pg/base/subtransaction.h"
#include "pg/catalog/cache.h"
#include "pg/catalog/catalog.h"
#include "pg/catalog/density_name.h"
#include "pg/catalog/expression.h"
#include "pg/catalog/not_fitted.h"
#include "pg/catalog/planned_rows.h"
#include "pg/catalog/privileges.h"
#include "pg/catalog/shards.h"
#include "pg/device/device_program.h"
#include "pg/fit/fit_steps.h"
#include "pg/type/density_datum.h"
#include "pg/type/word_type.h"

#include "core/kde.h"

extern "C" {
#include "catalog/pg_inherits.h"
}

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace kde_pg {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
// Of the larger number, that sums of doubles may differ by.
constexpr double kRounding = 1e-9;

constexpr int kMostQuestions = 10000;

// A count, sum or mean over the rows in a range or box, or of one word of a category, in terms of
// the density's columns.
struct Drawn {
  Aggregate aggregate;
  int columns;                  // asked about: those with a range, then perhaps the measure
  int sides;                    // of them
  int measure;                  // index in them; -1: none
  int place[kde::kMaxColumns];  // column of the density, or 1 + its measure (AnsweringDensity)
  bool of_word;                 // of a category by itself
  uint32 word;                  // its rank
  kde::Range range[kde::kMaxColumns];
};

struct SelfCheck {
  const char* question;  // as plain SQL
  kde::Interval answer;  // NaN for NULL
  double exact;          // NaN for NULL
  bool held;
  double ms;      // of the exact query
  bool finished;  // else that was an error

  // Of the estimate, relative to the exact answer; NaN where there is none, or it is 0.
  double error() const {
    if (exact == 0 || std::isnan(exact) || std::isnan(answer.estimate)) return kNone;
    return std::fabs(answer.estimate - exact) / std::fabs(exact);
  }
};

class Checking {
 public:
  Checking(const CatalogEntry& entry, Relation relation) : relation_(relation), key_(entry.key) {}

  // The density as it is stored. False: it answers nothing.
  bool open() {
    if (key_.has_texts()) analyse_key(relation_, nullptr, &key_);
    const CachedDensity cached = cached_density(key_, &density_.fit, Tell::nothing);
    if (cached.value == nullptr) return false;
    // What follows may ask for other densities.
    const Size size = VARSIZE(cached.value);
    auto* value = static_cast<struct varlena*>(palloc(size));
    memcpy(value, cached.value, size);
    const AnyDensity any = any_density_from_datum(PointerGetDatum(value));
    density_.take(any);
    return any.columns() == key_.columns && any.measures() >= key_.measures &&
           any.has_groups() == (key_.groups > 0);
  }

  bool draw(kde::Random* random, int shape) {
    if (key_.groups > 0 && !draw_group(random)) return false;
    asked_ = {};
    asked_.aggregate = Aggregate::count;
    asked_.measure = -1;
    asked_.columns = asked_.sides = 1;
    if (density_.joint != nullptr) return draw_box(random, shape);
    if (density_.is_of_words()) return draw_word(random, shape);
    const kde::Header& h = *density_.one_column;
    if (!draw_range(random, density_.one_column, shape % kShapes, &asked_.range[0])) return false;
    if (shape % kShapes >= kShapes - 2) add_up(random, h, shape % kShapes == kShapes - 1);
    return true;
  }

  // Of the question. False: the density has no such columns any more.
  bool prepare() {
    q_.asked.relation = key_.relation;
    q_.asked.filter = key_.filter;
    q_.asked.condition = key_.condition;
    q_.asked.references = key_.references;
    q_.asked.reference = key_.reference;
    q_.asked.columns = asked_.columns;
    q_.named = q_.sides = asked_.sides;
    q_.measure = asked_.measure;
    for (int i = 0; i < asked_.columns; ++i) {
      const int place = asked_.place[i];
      if (place < 0 || place >= key_.columns + key_.measures) return false;
      q_.asked.column[i] = key_.column[place];
      int32 typmod;
      if (!value_type_of(key_column_type(key_, place, &typmod), &q_.type[i]) ||
          !same_meaning(q_.type[i], density_.type(place)))
        return false;
      density_.place[i] = place;
      const bool is_word = i < asked_.sides && q_.type[i] == kde::ValueType::category;
      const kde::Range& r = asked_.range[i];
      if (is_word && (!r.lower_unbounded || !r.upper_unbounded)) return false;
    }
    return !asked_.of_word || take_word();
  }

  // The interval, as users get it.
  bool ask(SelfCheck* out) {
    kde::IntervalOptions options;
    options.changed_rows = rows_changed_since(density_.fit);
    if (asked_.aggregate != Aggregate::count &&
        has_special_values(moments_of(q_, density_, asked_.range)))
      return false;
    out->answer = interval_of(asked_.aggregate, q_, density_, asked_.range, options);
    out->question = text();
    return true;
  }

  // And what the rows say.
  void count(SelfCheck* out) {
    SqlRange ranges[kde::kMaxColumns];
    const WordValues* words[kde::kMaxColumns] = {};
    for (int i = 0; i < asked_.sides; ++i) ranges[i] = sql_range(q_.type[i], asked_.range[i]);
    if (asked_.of_word) words[0] = &word_;
    Question q = q_;
    if (condition_ != nullptr)
      q.asked.filter =
          q.asked.has_filter() ? psprintf("(%s) AND %s", q.asked.filter, condition_) : condition_;
    const double start = now_ms();
    const NullableDatum exact = exact_answer(asked_.aggregate, q, ranges, words);
    out->ms = now_ms() - start;
    out->exact = exact.isnull ? kNone : DatumGetFloat8(exact.value);
    out->held = holds(out->answer, out->exact);
  }

 private:
  static constexpr int kShapes = 10;

  // SQL's NULL, of no row: the answer is NULL, too, or there may be none.
  bool holds(const kde::Interval& i, double exact) const {
    if (std::isnan(exact)) {
      if (asked_.aggregate == Aggregate::avg || std::isnan(i.lower)) return true;
      exact = 0;
    }
    if (std::isnan(i.lower)) return false;
    const double slack =
        kRounding * std::max({std::fabs(i.lower), std::fabs(i.upper), std::fabs(exact)});
    return exact >= i.lower - slack && exact <= i.upper + slack;
  }

  // --- drawn questions --------------------------------------------------------------------------

  // What was fitted of a column, its ends where quantiles are.
  static bool draw_range(kde::Random* random, const kde::Header* column, int shape,
                         kde::Range* out) {
    *out = {};
    if (!(column->finite_rows() > 0)) return false;
    const kde::DensityView view(column, {});
    static constexpr double kParts[] = {0.3, 0.05, 0.3, 0.005, 0, 0, 0, 0, 0.3, 0.3};
    const double part = kParts[shape];
    const double u = random->uniform() * (1 - part);
    const auto set_lower = [&](double x) {
      out->lower = x;
      out->lower_unbounded = false;
    };
    const auto set_upper = [&](double x) {
      out->upper = x;
      out->upper_unbounded = false;
    };
    if (shape == 4) {
      set_upper(kde::quantile(view, u));
    } else if (shape == 5) {
      set_lower(kde::quantile(view, u));
    } else if (shape == 6) {
      set_lower(round_off(column->value_type, kde::quantile(view, u)));
      set_upper(out->lower);
    } else if (part > 0) {
      set_lower(kde::quantile(view, u));
      set_upper(kde::quantile(view, u + part));
    }
    for (double* x : {&out->lower, &out->upper}) *x = round_off(column->value_type, *x);
    return std::isfinite(out->lower) && std::isfinite(out->upper);
  }

  // A bound that SQL has, too.
  static double round_off(kde::ValueType type, double x) {
    Datum value;
    return try_double_to_value(type, x, &value) ? value_to_double(type, value) : x;
  }

  // A sum or mean, of a measure if there is one.
  void add_up(kde::Random* random, const kde::Header& h, bool mean) {
    int place = 0;
    if (key_.measures > 0)
      place = 1 + static_cast<int>(random->below(static_cast<std::uint64_t>(key_.measures)));
    if (!is_added_up(density_.type(place)) && !(mean && h.words == 0)) return;
    asked_.aggregate = mean ? Aggregate::avg : Aggregate::sum;
    asked_.measure = place == 0 ? 0 : 1;
    if (place > 0) asked_.place[asked_.columns++] = place;
  }

  bool draw_word(kde::Random* random, int shape) {
    const kde::WordsView words(density_.one_column);
    if (shape % kShapes == 7 || words.words() == 0) return words.words() > 0;
    asked_.of_word = true;
    asked_.word = static_cast<uint32>(random->below(words.words()));
    return true;
  }

  // Two columns, the others as they come.
  bool draw_box(kde::Random* random, int shape) {
    const kde::JointView view(density_.joint);
    asked_.columns = asked_.sides = key_.columns;
    const auto n = static_cast<std::uint64_t>(key_.columns);
    for (int i = 0; i < key_.columns; ++i) asked_.place[i] = i;
    for (int k = 0; k < 2; ++k) {
      const auto column = static_cast<int>(random->below(n));
      if (view.column(column).value_type == kde::ValueType::category) continue;
      static constexpr int kTurn[] = {0, 4, 5, 8};
      if (!draw_range(random, view.marginal(column), kTurn[(shape + k) % 4], &asked_.range[column]))
        return false;
    }
    return true;
  }

  bool draw_group(kde::Random* random) {
    kde::GroupsView groups(density_.one_column);
    if (groups.header().groups == 0) return false;
    auto left = random->below(groups.header().groups);
    kde::GroupView group;
    while (groups.next(&group)) {
      if (left-- > 0) continue;
      // Of those that share a density none is known by itself.
      if (group.is_rest) return false;
      const char* name =
          group.has_key() ? pnstrdup(group.key().data(), group.key().size()) : nullptr;
      condition_ = group_condition(key_, name);
      const KeyColumn& by = key_.column[key_.first_group()];
      const char* column = by.attnum != 0 ? quote_identifier(by.text) : in_parentheses(by.text);
      condition_text_ = key_.groups > 1   ? condition_
                        : name == nullptr ? psprintf("%s IS NULL", column)
                                          : psprintf("%s = %s", column, quote_literal_cstr(name));
      density_.one_column = group.density();
      return true;
    }
    return false;
  }

  // --- as SQL has it ----------------------------------------------------------------------------

  bool take_word() {
    const kde::Header* h = density_.one_column;
    if (h == nullptr || h->words == 0) return false;
    int32 typmod;
    const Oid type = key_column_type(key_, 0, &typmod);
    const Oid collation = key_column_collation(key_, 0);
    const kde::WordsView words(h);
    if (asked_.word >= words.words() || !are_words_of(type, collation, h)) return false;
    const std::string_view word = words.word(asked_.word);
    word_text_ = pnstrdup(word.data(), word.size());
    WordType as;
    as.begin(type, collation);
    word_value_ = as.read(word_text_);
    word_ = {as.base(), collation, 1, &word_value_};
    set_ = {{&asked_.word, 1}, 0};
    density_.words[0] = &set_;
    return true;
  }

  // Of the column's own type where that has the value, so that an index may be used.
  static Bound bound_of(kde::ValueType type, bool unbounded, bool inclusive, double x) {
    if (unbounded) return {true, true, InvalidOid, 0};
    Datum value;
    if (OidIsValid(sql_type_of(type)) && try_double_to_value(type, x, &value) &&
        value_to_double(type, value) == x)
      return {false, inclusive, sql_type_of(type), value};
    return {false, inclusive, FLOAT8OID, Float8GetDatum(x)};
  }

  static SqlRange sql_range(kde::ValueType type, const kde::Range& r) {
    return {r.empty, bound_of(type, r.lower_unbounded, r.lower_inclusive, r.lower),
            bound_of(type, r.upper_unbounded, r.upper_inclusive, r.upper)};
  }

  // Operators are printed in some.
  static const char* in_parentheses(const char* text) {
    return *text == '(' ? text : psprintf("(%s)", text);
  }

  const char* column_text(int i) const {
    const KeyColumn& c = q_.asked.column[i];
    return c.attnum != 0 ? quote_identifier(c.text) : in_parentheses(c.text);
  }

  static const char* literal(kde::ValueType type, double x) {
    const char* text = double_to_text(type, x);
    if (type <= kde::ValueType::numeric && std::isfinite(x)) return text;
    return psprintf("%s::%s", quote_literal_cstr(text),
                    type <= kde::ValueType::numeric ? "double precision" : value_type_label(type));
  }

  void add_condition(StringInfo sql, bool* any, const char* condition) const {
    appendStringInfo(sql, "%s%s", *any ? " AND " : " WHERE ", condition);
    *any = true;
  }

  // The question, to be read, and to be asked again by hand.
  const char* text() const {
    StringInfoData sql;
    initStringInfo(&sql);
    if (asked_.aggregate == Aggregate::count) {
      appendStringInfoString(&sql, "SELECT count(*)");
    } else {
      const char* of = column_text(asked_.measure);
      if (!is_added_up(q_.type[asked_.measure])) of = psprintf("extract(epoch FROM %s)", of);
      appendStringInfo(&sql, "SELECT %s(%s)", asked_.aggregate == Aggregate::sum ? "sum" : "avg",
                       of);
    }
    appendStringInfo(&sql, " FROM %s AS t",
                     quote_qualified_identifier(get_namespace_name(RelationGetNamespace(relation_)),
                                                RelationGetRelationName(relation_)));
    bool any = false;
    for (int i = 0; i < asked_.sides; ++i) add_side(&sql, &any, i);
    if (condition_text_ != nullptr) add_condition(&sql, &any, condition_text_);
    if (key_.has_filter()) add_condition(&sql, &any, in_parentheses(key_.filter));
    return sql.data;
  }

  void add_side(StringInfo sql, bool* any, int i) const {
    const char* column = column_text(i);
    const kde::Range& r = asked_.range[i];
    if (asked_.of_word && i == 0) {
      add_condition(sql, any, psprintf("%s = %s", column, quote_literal_cstr(word_text_)));
    } else if (r.empty) {
      add_condition(sql, any, "false");
    } else if (r.lower_unbounded && r.upper_unbounded) {
      add_condition(sql, any, psprintf("%s IS NOT NULL", column));
    } else if (!r.lower_unbounded && !r.upper_unbounded && r.lower == r.upper &&
               r.lower_inclusive && r.upper_inclusive) {
      add_condition(sql, any, psprintf("%s = %s", column, literal(q_.type[i], r.lower)));
    } else {
      if (!r.lower_unbounded)
        add_condition(sql, any,
                      psprintf("%s >%s %s", column, r.lower_inclusive ? "=" : "",
                               literal(q_.type[i], r.lower)));
      if (!r.upper_unbounded)
        add_condition(sql, any,
                      psprintf("%s <%s %s", column, r.upper_inclusive ? "=" : "",
                               literal(q_.type[i], r.upper)));
    }
  }

  Relation relation_;
  DensityKey key_;
  AnsweringDensity density_;
  Drawn asked_ = {};
  Question q_;
  const char* condition_ = nullptr;  // of the group
  const char* condition_text_ = nullptr;
  const char* word_text_ = nullptr;
  Datum word_value_ = 0;
  WordValues word_ = {};
  kde::WordSet set_;
};
static_assert(std::is_trivially_destructible_v<Checking>, "an error may leave it");

// Why a table's densities are not checked; null: they may be. The relation is locked.
const char* why_unchecked(Relation relation) {
  const Oid oid = RelationGetRelid(relation);
  if (is_of_shards(oid)) return "its rows are in shards";
  for (const Oid each : oids(find_all_inheritors(oid, AccessShareLock, nullptr))) {
    if (get_rel_relkind(each) == RELKIND_FOREIGN_TABLE) return "its rows are on another server";
  }
  return rows_are_elsewhere(relation) ? "its rows are elsewhere" : nullptr;
}

// The shape-th question, of the density of an entry which the present user may read. Within AsOwner
// (base/pinned.h), with an active snapshot. False if there is nothing to compare: it is gone, or
// holds no such rows. *out is palloc'ed.
bool ask_and_count(const CatalogEntry& entry, Relation relation, kde::Random* random, int shape,
                   SelfCheck* out) {
  if (!is_readable(entry.key)) return false;
  PinnedSettings pinned;
  pinned.begin();
  FittedSettings settings;
  settings.begin(entry.key.settings);
  Checking checking(entry, relation);
  const bool asked =
      checking.open() && checking.draw(random, shape) && checking.prepare() && checking.ask(out);
  if (asked) checking.count(out);
  settings.end();
  pinned.end();
  return asked;
}

// Without what the table says where its query failed.
void put_check(const ResultRows& rows, const SelfCheck& check) {
  const bool done = check.finished;
  const kde::Interval& a = check.answer;
  rows.put(check.question, a.estimate, a.lower, a.upper, done ? check.exact : kNone,
           done ? check.error() : kNone, Field(done, check.held), Field(done, check.ms));
}

// Of values: a sum that overflows, a division by zero in a measure.
bool is_of_values(int sqlstate) { return ERRCODE_TO_CATEGORY(sqlstate) == ERRCODE_DATA_EXCEPTION; }

int read_questions(FunctionCallInfo fcinfo, int argument) {
  reject_null(fcinfo, argument, "questions");
  const int32 questions = PG_GETARG_INT32(argument);
  if (questions < 1 || questions > kMostQuestions)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("questions must be between 1 and %d", kMostQuestions),
                    errdetail("The value given was %d.", questions)));
  return questions;
}

}  // namespace

}  // namespace kde_pg

// kde_self_check(density, by_name_only, filter, questions, seed)
KDE_EXPORT(kde_self_check);
Datum kde_self_check(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  reject_null(fcinfo, 0, "density");
  check_by_name_only(fcinfo, 1);
  const int questions = read_questions(fcinfo, 3);
  kde::Random random(
      static_cast<std::uint64_t>(PG_ARGISNULL(4) ? random_seed() : PG_GETARG_INT64(4)));
  const ResultRows rows = begin_rows(fcinfo, 8);
  const NameParts parts = parts_of_name(PG_GETARG_TEXT_PP(0));
  Relation relation = open_owned_relation(parts.relation);
  const DensityKey key = key_of_parts(parts, text_argument(fcinfo, 2));
  const CatalogEntry* entry = catalog_entry(key);
  if (entry == nullptr) raise_not_fitted(key);
  AsOwner owner;
  owner.begin(relation);
  check_readable(entry->key);
  if (const char* why = why_unchecked(relation))
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("cannot check the density of %s", display_name(key)),
                    errdetail("Of table \"%s\" %s.", RelationGetRelationName(relation), why)));
  for (int i = 0; i < questions; ++i) {
    CHECK_FOR_INTERRUPTS();
    SelfCheck check = {};
    bool asked = false;
    const char* error = nullptr;
    const auto ask = [&] { asked = ask_and_count(*entry, relation, &random, i, &check); };
    check.finished = without_error(ask, nullptr, is_of_values, true, &error);
    if (!check.finished)
      ereport(WARNING,
              (errmsg("could not check a question of the density of %s", display_name(key)),
               errdetail("The table's rows give an error: %s.", error)));
    else if (!asked)
      continue;
    put_check(rows, check);
  }
  owner.end();
  relation_close(relation, NoLock);
  return static_cast<Datum>(0);
}
