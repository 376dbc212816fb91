// From a density's name, a measure and a filter to the columns asked about.
#include "pg/answer/question.h"

#include "pg/catalog/density_name.h"
#include "pg/catalog/expression.h"
#include "pg/catalog/not_fitted.h"
#include "pg/catalog/privileges.h"

namespace kde_pg {

KeyColumn measured_column(Oid relation, text* measure) {
  Datum element = PointerGetDatum(measure);
  ArrayType* columns = construct_array(&element, 1, TEXTOID, -1, false, TYPALIGN_INT);
  check_words(relation, columns);
  const DensityKey key = key_by_arrays(relation, columns, nullptr);
  check_readable(key);
  return key.column[0];
}

namespace {

void add_measure(text* measure, Measured what, Question* q) {
  const KeyColumn column = measured_column(q->asked.relation, measure);
  q->measure = find_column(q->asked, column);
  if (q->measure >= 0) return;
  if (q->asked.columns == kde::kMaxColumns)
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                    errmsg("a density has at most %d columns", kde::kMaxColumns)));
  q->measure = q->asked.columns++;
  q->asked.column[q->measure] = column;
  if (what == Measured::rows) ++q->sides;
}

// As a call has it.
const char* name_with_filter(const DensityKey& key) {
  const char* name = quote_literal_cstr(density_name(key));
  return key.has_filter() ? psprintf("%s with filter => %s", name, quote_literal_cstr(key.filter))
                          : name;
}

}  // namespace

Question question_by_name(text* name, text* measure, text* filter, Measured what) {
  Question q;
  q.asked = key_by_text(name, filter);
  if (q.asked.groups > 0)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("%s is a density with groups", display_name(q.asked)),
                    errhint("Ask approx_groups(), or %s about all rows.",
                            name_with_filter(ungrouped(q.asked)))));
  check_readable(q.asked);
  q.named = q.sides = q.asked.columns;
  if (q.named == 1) q.measure = 0;
  if (measure != nullptr) add_measure(measure, what, &q);
  check_can_be_fitted(q.asked);
  for (int i = 0; i < q.asked.columns; ++i) {
    int32 typmod;
    (void)value_type_of(key_column_type(q.asked, i, &typmod), &q.type[i]);
  }
  return q;
}

}  // namespace kde_pg
