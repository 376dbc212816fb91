// What answers to come may be off by, in words: the half widths of 95 % intervals, of ranges that
// hold 1 % and 10 % of the rows (kde::expected_errors). Where every row was read they are bounds.
// With groups they are of each group's answers, as nobody asks such a density for its column.
#include "pg/fit/column_fit.h"
#include "pg/type/density_datum.h"

#include <cmath>

namespace kde_pg {

namespace {

constexpr double kFewRows = 0.01;
constexpr double kManyRows = 0.1;
constexpr double kRounding = 1e-8;  // what sums of doubles may be off by

struct Errors {
  kde::ExpectedErrors few, many;
  bool known, exact;
  bool kept_alone;  // exact for the values of a category that are kept, and no others
  bool are_bounds;
};

Errors errors_of_column(const kde::Header* density) {
  const kde::DensityView view(density);
  Errors e = {};
  e.few = kde::expected_errors(view, kFewRows);
  e.many = kde::expected_errors(view, kManyRows);
  e.are_bounds = (density->flags & kde::kEveryRowRead) != 0;
  if (density->value_type == kde::ValueType::category) {
    e.exact = e.are_bounds && density->error == 0;
    e.kept_alone = e.exact && kde::WordsView(density).others() > 0;
  } else {
    e.exact = density->min == density->max && density->finite_rows() > 0
                  ? e.are_bounds
                  : e.few.count + e.many.count + e.many.one_sided + e.many.mean < kRounding;
  }
  e.known = e.exact || !std::isnan(e.few.count);
  return e;
}

// Groups lie in the order of their rows: the worst of the largest, which have nine tenths of the
// rows, or are so many. Exact where all groups are, the small ones too.
Errors errors_of_groups(const kde::Header* density) {
  constexpr double kMostRows = 0.9;
  constexpr int kMostGroups = 100;
  Errors worst = {};
  worst.few.count = -1;
  worst.exact = true;
  double rows = 0;
  kde::GroupsView groups(density);
  kde::GroupView group;
  for (int n = 0; groups.next(&group); ++n) {
    if (!worst.exact && (n >= kMostGroups || rows >= kMostRows * density->rows)) break;
    const kde::Header* of = group.density();
    const Errors e = errors_of_column(of);
    rows += of->rows;
    // One value, whose rows were all read, has no ranges of 1 % of them.
    if (e.exact || (e.are_bounds && !(of->min < of->max))) continue;
    worst.exact = false;
    if (e.known && e.few.count > worst.few.count) worst = e;
  }
  worst.known = worst.exact || worst.few.count >= 0;
  worst.are_bounds = (density->flags & kde::kEveryRowRead) != 0;
  return worst;
}

Errors errors_of(const kde::Header* density) {
  return density->grouped != 0 ? errors_of_groups(density) : errors_of_column(density);
}

// Two digits, or all before the point; palloc'ed.
const char* percent(double share) {
  return share < 0.995 ? psprintf("%.2g %%", 100 * share) : psprintf("%.0f %%", 100 * share);
}

// palloc'ed or a literal; null where it is not known: counts of 1 % and of 10 % of the rows, with two
// ends and beyond a bound, and means of 10 %.
const char* expected_errors_text(const kde::Header* density) {
  const Errors e = errors_of(density);
  if (!e.known) return nullptr;
  if (e.kept_alone) return "counts of the values that are kept are exact";
  if (e.exact) return "answers are exact";
  const char* who = e.are_bounds ? "answers are" : "95 % of answers are";
  if (density->value_type == kde::ValueType::category)
    return psprintf("%s within: count of a value of 1 %% of the rows %s, of 10 %% %s", who,
                    percent(e.few.count), percent(e.many.count));
  const char* of = density->grouped != 0 ? "of a group, " : "";
  return psprintf(
      "%s%s within: count of 1 %% of the rows %s, of 10 %% %s, of 10 %% beyond a bound "
      "%s, mean of 10 %% %.2g standard deviations",
      of, who, percent(e.few.count), percent(e.many.count), percent(e.many.one_sided), e.many.mean);
}

}  // namespace

const char* expected_error_text(const kde::Header* density) {
  const Errors e = errors_of(density);
  if (!e.known) return nullptr;
  if (e.exact) return e.kept_alone ? "exact if kept" : "exact";
  return percent(e.few.count);
}

}  // namespace kde_pg

// kde_aqp.expected_error(kde) -> text
KDE_EXPORT(kde_expected_error);
Datum kde_expected_error(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  const AnyDensity density = any_density_from_datum(PG_GETARG_DATUM(0));
  if (density.joint != nullptr) PG_RETURN_NULL();
  const char* errors = expected_errors_text(density.one_column);
  if (errors == nullptr) PG_RETURN_NULL();
  PG_RETURN_TEXT_P(cstring_to_text(errors));
}
