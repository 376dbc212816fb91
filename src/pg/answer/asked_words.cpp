// Reads what is asked of a category: asked_words.h.
#include "pg/answer/asked_words.h"

#include "pg/answer/ranges.h"
#include "pg/catalog/column_name.h"
#include "pg/catalog/expression.h"
#include "pg/read/word_finder.h"

extern "C" {
#include "access/transam.h"
#include "catalog/pg_collation.h"
#include "parser/parse_coerce.h"
}

#include <algorithm>

namespace kde_pg {

namespace {

bool is_text(Oid type) { return type == TEXTOID || type == VARCHAROID || type == BPCHAROID; }

// A bound as a value of the category's type.
Datum value_of(const WordType& type, Oid given, Datum bound) {
  const Oid from = getBaseType(given);
  if (from == type.base()) return bound;
  // As SQL casts it where it compares the two.
  if (from == BPCHAROID) bound = DirectFunctionCall1(rtrim1, bound);
  if (is_text(from)) {
    return is_text(type.base()) ? bound : type.read(TextDatumGetCString(bound));
  }
  if (from == UNKNOWNOID) return type.read(DatumGetCString(bound));
  if (from == NAMEOID && is_text(type.base())) return type.read(NameStr(*DatumGetName(bound)));
  if (!IsBinaryCoercible(from, type.base()))
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("a value of type %s does not fit a column of type %s",
                           format_type_be(given), format_type_be(type.base())),
                    errhint("Give it as text, or cast it.")));
  return bound;
}

[[noreturn]] void raise_range() {
  ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                  errmsg("a category has no ranges: its values are compared for equality"),
                  errhint("Give one value, with the upper bound left out or the same, or an array "
                          "of values.")));
  pg_unreachable();
}

[[noreturn]] void raise_outdated(const DensityKey& key, const char* why) {
  ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                  errmsg("the density of %s was fitted before its values changed their meaning",
                         key.is_plain() ? display_name(key.plain()) : display_name(key)),
                  errdetail("%s", why), errhint("Fit it again with kde_fit.")));
  pg_unreachable();
}

// Where the words have values. Those that they have not are told apart as the column does it.
class Gathering {
 public:
  // of_value: a value of type kde, in which its column's equality is not.
  Gathering(const kde::WordsView& words, WordType* type, bool of_value, int most) : type_(type) {
    only_by_text_ = of_value && (words.header().flags & kde::kFolded) != 0;
    finder_.begin(&words, type);
    unknown_.begin(type->base(), type->collation(), "lower", CurrentMemoryContext);
    ranks_ = static_cast<uint32*>(palloc(sizeof(uint32) * (most + 1)));
    values_ = static_cast<Datum*>(palloc(sizeof(Datum) * (most + 1)));
  }

  void add(Datum value) {
    values_[count_++] = value;
    const int64 rank = finder_.find(value);
    if (rank >= 0) {
      ranks_[found_++] = static_cast<uint32>(rank);
      return;
    }
    if (only_by_text_)
      ereport(ERROR,
              (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
               errmsg("a value of type kde cannot tell whether it has \"%s\"", type_->text(value)),
               errdetail("By its column's type or collation other values may be the same."),
               errhint("Ask by the name of the column.")));
    unknown_.number(value);
  }

  bool outdated() const { return finder_.outdated(); }

  void end(AskedWords* out) {
    std::sort(ranks_, ranks_ + found_);
    const auto ranks = std::unique(ranks_, ranks_ + found_) - ranks_;
    out->all = false;
    out->set.ranks = {ranks_, static_cast<Size>(ranks)};
    out->set.unknown = unknown_.size();
    out->values = {type_->base(), type_->collation(), count_, values_};
  }

 private:
  WordType* type_;
  bool only_by_text_;
  WordFinder finder_;
  Categories unknown_;
  uint32* ranks_;
  Datum* values_;
  int found_ = 0, count_ = 0;
};

void check_readable_words(const Gathering& gathering, const Question& q) {
  if (gathering.outdated() && !q.is_value())
    raise_outdated(q.asked, "Its type cannot read the values any more.");
}

// The type of what a value of type kde holds: its own where it is the same everywhere, else text.
Oid type_of_value(const kde::WordsView& words) {
  const Oid type = words.header().type;
  kde::ValueType held;
  const bool known = type != 0 && type < FirstNormalObjectId &&
                     SearchSysCacheExists1(TYPEOID, ObjectIdGetDatum(type)) &&
                     value_type_of(type, &held) && held == kde::ValueType::category;
  return known ? type : TEXTOID;
}

// Of the question's column i; and their type.
kde::WordsView words_of(const Question& q, int i, const kde::Header* density, WordType* type) {
  if (density->words == 0)
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
             errmsg("the density of a category has no values"), errdetail("It has ranks alone."),
             errhint("Fit the column again with kde_fit().")));
  const kde::WordsView words(density);
  if (q.is_value()) {
    type->begin(type_of_value(words), DEFAULT_COLLATION_OID);
    return words;
  }
  int32 typmod;
  type->begin(key_column_type(q.asked, i, &typmod), key_column_collation(q.asked, i));
  const char* why = type->why_outdated(words);
  if (why != nullptr) raise_outdated(q.asked, why);
  return words;
}

// Of a category by itself.
AskedWords read_words(FunctionCallInfo fcinfo, int lower, const Question& q,
                      const kde::Header* density) {
  AskedWords out;
  WordType type;
  const kde::WordsView words = words_of(q, 0, density, &type);
  const bool no_lower = PG_ARGISNULL(lower);
  const bool no_upper = PG_ARGISNULL(lower + 1);
  const Oid given = get_fn_expr_argtype(fcinfo->flinfo, lower);
  const bool own = OidIsValid(given) && getBaseType(given) == type.base();
  const bool list = OidIsValid(given) && !own && OidIsValid(get_element_type(getBaseType(given)));
  if (no_lower && no_upper) {
    out.null = list;
    return out;
  }
  if (no_lower) raise_range();
  if (!OidIsValid(given))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("could not determine the type of the bounds"),
                    errhint("Cast them to the type of the column.")));
  if (!own && type_is_range(getBaseType(given))) raise_range();
  if (list) {
    if (!no_upper) raise_range();
    const Elements elements = read_elements(fcinfo, lower, "lower");
    Gathering gathering(words, &type, q.is_value(), elements.count);
    for (int i = 0; i < elements.count; ++i) {
      CHECK_FOR_INTERRUPTS();
      if (!elements.nulls[i]) gathering.add(value_of(type, elements.type, elements.values[i]));
    }
    check_readable_words(gathering, q);
    gathering.end(&out);
    return out;
  }
  const Datum value = value_of(type, given, PG_GETARG_DATUM(lower));
  if (!no_upper && !type.same(value, value_of(type, given, PG_GETARG_DATUM(lower + 1))))
    raise_range();
  Gathering gathering(words, &type, q.is_value(), 1);
  gathering.add(value);
  check_readable_words(gathering, q);
  gathering.end(&out);
  return out;
}

// Of one among several columns.
AskedWords read_words(const Question& q, int i, const kde::Header* density, const SqlRange& range) {
  AskedWords out;
  WordType type;
  const kde::WordsView words = words_of(q, i, density, &type);
  const bool no_upper = range.upper.unbounded;
  if (!range.empty && range.lower.unbounded && no_upper) return out;
  Gathering gathering(words, &type, q.is_value(), 1);
  if (!range.empty) {
    if (range.lower.unbounded || !range.lower.inclusive || !range.upper.inclusive) raise_range();
    const Datum value = value_of(type, range.lower.type, range.lower.value);
    if (!no_upper && !type.same(value, value_of(type, range.upper.type, range.upper.value)))
      raise_range();
    gathering.add(value);
  }
  check_readable_words(gathering, q);
  gathering.end(&out);
  return out;
}

}  // namespace

bool names_category(const Question& q) {
  for (int i = 0; i < q.named; ++i)
    if (q.type[i] == kde::ValueType::category) return true;
  return false;
}

kde::WordsView words_of(const Question& q, const kde::Header* density) {
  WordType type;
  return words_of(q, 0, density, &type);
}

bool read_asked(FunctionCallInfo fcinfo, int lower, const Question& q, AnsweringDensity* density,
                kde::Range* ranges, AskedWords** words) {
  *words = nullptr;
  if (!names_category(q)) return read_ranges(fcinfo, lower, q, ranges);
  auto* asked = static_cast<AskedWords*>(palloc(sizeof(AskedWords) * kde::kMaxColumns));
  for (int i = 0; i < kde::kMaxColumns; ++i) new (&asked[i]) AskedWords;
  *words = asked;
  if (is_category(q)) {
    asked[0] = read_words(fcinfo, lower, q, density->asked_column(0));
    if (asked[0].null) return false;
  } else {
    SqlRange sql[kde::kMaxColumns];
    if (!read_sql_ranges(fcinfo, lower, q, sql)) return false;
    for (int i = 0; i < q.named; ++i) {
      if (q.type[i] == kde::ValueType::category)
        asked[i] = read_words(q, i, density->asked_column(i), sql[i]);
      else
        ranges[i] = core_range(q.type[i], sql[i]);
    }
  }
  for (int i = 0; i < q.named; ++i)
    if (!asked[i].all) density->words[i] = &asked[i].set;
  return true;
}

AskedWords read_word(const Question& q, const AnsweringDensity& density, int side, Oid type,
                     Datum value) {
  const Bound bound = {false, true, type, value};
  return read_words(q, side, density.asked_column(side), {false, bound, bound});
}

bool are_words_of(Oid column_type, Oid collation, const kde::Header* density) {
  WordType type;
  type.begin(column_type, collation);
  return type.why_outdated(kde::WordsView(density)) == nullptr;
}

bool find_words(Oid column_type, Oid collation, const kde::Header* density, Oid given,
                const NullableDatum* values, int count, kde::WordSet* out) {
  WordType type;
  const kde::WordsView words(density);
  type.begin(column_type, collation);
  if (type.why_outdated(words) != nullptr) return false;
  Gathering gathering(words, &type, false, count);
  for (int i = 0; i < count; ++i) {
    CHECK_FOR_INTERRUPTS();
    if (!values[i].isnull) gathering.add(value_of(type, given, values[i].value));
  }
  if (gathering.outdated()) return false;
  AskedWords asked;
  gathering.end(&asked);
  *out = asked.set;
  return true;
}

}  // namespace kde_pg
