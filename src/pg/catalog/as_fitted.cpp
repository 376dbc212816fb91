// What is kept of how a density's columns, expressions and filter were meant, and whether they mean
// the same now.
#include "pg/catalog/as_fitted.h"

#include "pg/base/pinned.h"
#include "pg/base/subtransaction.h"
#include "pg/base/text_list.h"
#include "pg/catalog/meaning.h"

#include <cstdio>

namespace kde_pg {

namespace {

constexpr const char* kSetting = "setting ";
constexpr const char* kLabels = "labels ";
constexpr const char* kNumbers = "numbers ";

bool begins(const char* text, const char* with) { return strncmp(text, with, strlen(with)) == 0; }

// Lines of those settings, as the key has them, else as the session has.
char* settings_text(const DensityKey& key, unsigned settings) {
  StringInfoData text;
  initStringInfo(&text);
  for (unsigned i = 0; i < lengthof(kSettingNames); ++i) {
    if ((settings >> i & 1U) == 0) continue;
    const char* value = nullptr;
    (void)for_settings(key.settings, [&](std::string_view name, std::string_view of) {
      if (name == kSettingNames[i]) value = pnstrdup(of.data(), of.size());
      return value == nullptr;
    });
    if (value == nullptr) value = GetConfigOption(kSettingNames[i], false, false);
    appendStringInfo(&text, "%s%s=%s", text.len > 0 ? "\n" : "", kSettingNames[i], value);
  }
  return text.data;
}

List* read_list(const char* line, Size from) {
  Oid input, io_param;
  getTypeInputInfo(TEXTARRAYOID, &input, &io_param);
  return texts_of_array(DatumGetArrayTypeP(
      OidInputFunctionCall(input, const_cast<char*>(line + from), io_param, -1)));
}

int place_in(List* texts, const char* text) {
  ListCell* cell;
  foreach (cell, texts)
    if (strcmp(static_cast<const char*>(lfirst(cell)), text) == 0)
      return foreach_current_index(cell);
  return -1;
}

// Whether the labels that there were are there, in their order: those that were added change
// nothing of the values that were read. A label may have been renamed, and its old name be
// another's by now: its number tells, unless a dump came between.
bool are_labels_kept(List* then, List* numbers, List* now, List* numbers_now) {
  int last = -1;
  for (int i = 0; i < list_length(then); ++i) {
    const int at = place_in(now, static_cast<const char*>(list_nth(then, i)));
    if (at <= last) return false;
    last = at;
    const int renamed = i < list_length(numbers)
                            ? place_in(numbers_now, static_cast<const char*>(list_nth(numbers, i)))
                            : -1;
    if (renamed >= 0 && renamed != at) return false;
  }
  return true;
}

// Up to the last '=' that is no part of the name; names may have one, quoted.
Size name_length(const char* line) {
  bool quoted = false;
  for (const char* p = line; *p != '\0'; ++p) {
    if (*p == '"') quoted = !quoted;
    if (*p == '=' && !quoted) return static_cast<Size>(p - line);
  }
  return strlen(line);
}

// What a line of labels, the k-th of them, says beside that of their numbers, which follows it.
char* labels_changed(const char* then, const char* numbers, int k, List* now) {
  const Size length = name_length(then);
  int found = -1, same_place = -1, place = 0;
  for (int i = 0; i < list_length(now); ++i) {
    const char* line = static_cast<const char*>(list_nth(now, i));
    if (!begins(line, kLabels)) continue;
    if (name_length(line) == length && strncmp(line, then, length) == 0) found = i;
    if (place++ == k) same_place = i;
  }
  // A type that was renamed.
  if (found < 0) found = same_place;
  if (found >= 0 && found + 1 < list_length(now)) {
    const char* labels = static_cast<const char*>(list_nth(now, found));
    const char* present = static_cast<const char*>(list_nth(now, found + 1));
    if (are_labels_kept(
            read_list(then, length + 1),
            begins(numbers, kNumbers) ? read_list(numbers, name_length(numbers) + 1) : NIL,
            read_list(labels, name_length(labels) + 1),
            read_list(present, name_length(present) + 1)))
      return nullptr;
  }
  return psprintf("labels of type %s were renamed",
                  pnstrdup(then + strlen(kLabels), length - strlen(kLabels)));
}

char* line_changed(const char* then, List* now) {
  const Size length = name_length(then);
  const char* found = nullptr;
  for (const char* line : of_list<const char>(now)) {
    if (name_length(line) == length && strncmp(line, then, length) == 0) found = line;
  }
  if (found != nullptr && strcmp(found, then) == 0) return nullptr;
  const char* name = pnstrdup(then, length);
  const char* of = strchrnul(name, ' ');
  of = *of == '\0' ? of : of + 1;
  if (begins(then, "function ")) return psprintf("function %s was redefined", of);
  if (begins(then, "collation ")) return psprintf("collation %s has another version", of);
  return psprintf("type %s was changed", of);
}

bool is_whole(const char* type) {
  return strcmp(type, "smallint") == 0 || strcmp(type, "integer") == 0 ||
         strcmp(type, "bigint") == 0;
}

// Characters that a text may have at most; -1: it is no text, or may be padded.
int most_characters(const char* type) {
  if (strcmp(type, "text") == 0 || strcmp(type, "character varying") == 0) return PG_INT32_MAX;
  int n;
  return std::sscanf(type, "character varying(%d)", &n) == 1 ? n : -1;
}

// Digits before and after the point.
bool read_digits(const char* type, int* whole, int* decimals) {
  *whole = *decimals = PG_INT32_MAX;
  if (strcmp(type, "numeric") == 0) return true;
  int precision;
  if (std::sscanf(type, "numeric(%d,%d)", &precision, decimals) != 2) return false;
  *whole = precision - *decimals;
  return true;
}

// Whether all values of a type are the same ones in another, as where a column is made wider.
// is_number: to those who ask, who compare numbers, whatever they are of.
bool is_wider(char* then, char* now, bool is_number) {
  char* collation = strstr(then, " collate ");
  char* other = strstr(now, " collate ");
  if ((collation == nullptr) != (other == nullptr)) return false;
  if (collation != nullptr && strcmp(collation, other) != 0) return false;
  if (collation != nullptr) *collation = *other = '\0';
  if (is_whole(then) && is_whole(now)) return true;
  const int most = most_characters(then);
  if (most >= 0) return most_characters(now) >= most;
  if (!is_number) return false;
  int whole, decimals, whole_now, decimals_now;
  // What is stored are doubles.
  const bool is_decimal = read_digits(then, &whole, &decimals);
  if (strcmp(now, "double precision") == 0)
    return is_whole(then) || is_decimal || strcmp(then, "real") == 0;
  if (is_whole(then)) return strcmp(now, "numeric") == 0 || read_digits(now, &whole, &decimals);
  return is_decimal && read_digits(now, &whole_now, &decimals_now) && whole_now >= whole &&
         decimals_now >= decimals;
}

// In the subtransaction: the present meaning.
char* compare(const DensityKey& wanted, List* then) {
  const DensityKey key = analysed(wanted);
  Meaning m;
  List* now = meaning_of(key, &m);
  const int places = list_length(now);
  if (list_length(then) < places || key.references != wanted.references)
    return pstrdup("its expressions or its filter use other columns");
  for (int i = 0; i < key.all(); ++i)
    if (strcmp(key.column[i].text, wanted.column[i].text) != 0)
      return psprintf("%s is written as %s now", describe_column(wanted, i), key.column[i].text);
  if (strcmp(key.filter, wanted.filter) != 0)
    return psprintf("its filter is written as %s now", key.filter);
  for (int i = 0; i < places; ++i) {
    const char* before = static_cast<const char*>(list_nth(then, i));
    const char* after = static_cast<const char*>(list_nth(now, i));
    if (begins(before, "enum ") && begins(after, "enum ")) continue;
    const bool is_value = i < key.first_group() && key.column[i].attnum != 0;
    if (strcmp(before, after) == 0 || is_wider(pstrdup(before), pstrdup(after), is_value)) continue;
    const char* what = i < key.all()
                           ? describe_column(key, i)
                           : psprintf("column \"%s\"",
                                      live_column_name(key.relation, key.reference[i - key.all()]));
    return psprintf("%s is of type %s, and was of type %s", what, after, before);
  }
  int labels = 0;
  for (int i = places; i < list_length(then); ++i) {
    const char* line = static_cast<const char*>(list_nth(then, i));
    if (begins(line, kSetting) || begins(line, kNumbers)) continue;
    const char* next =
        i + 1 < list_length(then) ? static_cast<const char*>(list_nth(then, i + 1)) : "";
    char* why = begins(line, kLabels) ? labels_changed(line, next, labels++, m.lines)
                                      : line_changed(line, m.lines);
    if (why != nullptr) return why;
  }
  return nullptr;
}

}  // namespace

const char* settings_of(const DensityKey& key) {
  if (!key.has_texts()) return "";
  Meaning m;
  look_at_trees(analysed(key), &m);
  return settings_text(key, m.settings);
}

ArrayType* as_fitted(const DensityKey& wanted) {
  const DensityKey key = analysed(wanted);
  Meaning m;
  List* texts = meaning_of(key, &m);
  texts = list_concat(texts, m.lines);
  // Outside of what meaning_of() pins.
  const char* settings = settings_text(wanted, m.settings);
  (void)for_settings(settings, [&](std::string_view name, std::string_view value) {
    texts = lappend(texts, psprintf("%s%.*s", kSetting,
                                    static_cast<int>(value.end() - name.begin()), name.data()));
    return true;
  });
  return array_of_texts(texts);
}

const char* settings_in(ArrayType* fitted) {
  StringInfoData text;
  initStringInfo(&text);
  List* lines = texts_of_array(fitted);
  for (const char* line : of_list<const char>(lines)) {
    if (begins(line, kSetting))
      appendStringInfo(&text, "%s%s", text.len > 0 ? "\n" : "", line + strlen(kSetting));
  }
  return text.data;
}

const char* changed_since_fit(const DensityKey& key, ArrayType* fitted) {
  if (fitted == nullptr) return pstrdup("what its columns were when it was fitted is not known");
  List* then = texts_of_array(fitted);
  char* why = nullptr;
  // A parallel worker has no subtransactions, and where nothing is analysed none is needed.
  if (is_analysed(key) || IsInParallelMode()) return compare(key, then);
  if (!without_error([&] { why = compare(key, then); }))
    return pstrdup("its expressions or its filter can no longer be read");
  return why;
}

bool is_gone(const DensityKey& key) {
  if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(key.relation))) return true;
  const Bitmapset* columns = columns_read_by(key);
  for (int i = -1; (i = bms_next_member(columns, i)) >= 0;)
    if (live_column_name(key.relation, static_cast<AttrNumber>(i)) == nullptr) return true;
  return false;
}

bool has_settings(const char* settings) {
  return for_settings(settings, [](std::string_view name, std::string_view value) {
    char copy[NAMEDATALEN];
    copy[name.copy(copy, sizeof copy - 1)] = '\0';
    const char* now = GetConfigOption(copy, true, false);
    return now != nullptr && value == now;
  });
}

void raise_changed_meaning(const DensityKey& key, const char* why) {
  ereport(ERROR,
          (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
           errmsg("the density of %s was fitted before its definition changed", display_name(key)),
           errdetail_internal("%s%s.", psprintf("%c", pg_toupper(static_cast<unsigned char>(*why))),
                              why + 1),
           errhint("Refresh it with kde_refresh(), or fit it again with kde_fit().")));
  pg_unreachable();
}

void raise_other_settings(const DensityKey& key, const char* settings) {
  StringInfoData set;
  initStringInfo(&set);
  (void)for_settings(settings, [&set](std::string_view name, std::string_view value) {
    appendStringInfo(&set, "%sSET %.*s = %s", set.len > 0 ? "; " : "",
                     static_cast<int>(name.size()), name.data(),
                     quote_literal_cstr(pnstrdup(value.data(), value.size())));
    return true;
  });
  ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                  errmsg("the density of %s was fitted under other settings than this session's",
                         display_name(key)),
                  errdetail("Its expressions or its filter depend on them."),
                  errhint("Run %s, or fit it again under the present ones.", set.data)));
  pg_unreachable();
}

ArrayType* reorder_fitted(ArrayType* fitted, int columns, const NamedColumns& brought,
                          const DensityKey& key) {
  List* texts = texts_of_array(fitted);
  if (list_length(texts) < columns + brought.count || brought.count != key.references)
    return nullptr;
  List* out = NIL;
  for (int i = 0; i < columns; ++i) out = lappend(out, list_nth(texts, i));
  for (int i = 0; i < key.references; ++i) {
    const char* name = live_column_name(key.relation, key.reference[i]);
    int k = 0;
    while (k < brought.count && (name == nullptr || strcmp(brought.name[k], name) != 0)) ++k;
    if (k == brought.count) return nullptr;
    out = lappend(out, list_nth(texts, columns + k));
  }
  for (int i = columns + brought.count; i < list_length(texts); ++i)
    out = lappend(out, list_nth(texts, i));
  return array_of_texts(out);
}

}  // namespace kde_pg
