// See query_rows.h.
#include "pg/plain_sql/query_rows.h"

#include "pg/answer/moments.h"
#include "pg/answer/value_bounds.h"

extern "C" {
#include "access/stratnum.h"
}

#include <algorithm>
#include <cmath>

namespace kde_pg {

namespace {

kde::Header no_rows() {
  kde::Header none = {};
  none.flags = kde::kEveryRowRead;
  return none;
}

bool has_in(const kde::Range& r, double x) {
  const bool above =
      r.lower_unbounded || is_less(r.lower, x) || (r.lower == x && r.lower_inclusive);
  const bool below =
      r.upper_unbounded || is_less(x, r.upper) || (r.upper == x && r.upper_inclusive);
  return above && below && !r.empty;
}

}  // namespace

bool is_less(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

void narrow(kde::Range* r, int strategy, double x) {
  const bool below = strategy <= BTEqualStrategyNumber;
  const bool above = strategy >= BTEqualStrategyNumber;
  const bool inclusive = strategy != BTLessStrategyNumber && strategy != BTGreaterStrategyNumber;
  if (above && (r->lower_unbounded || is_less(r->lower, x) || (r->lower == x && !inclusive))) {
    r->lower = x;
    r->lower_unbounded = false;
    r->lower_inclusive = inclusive;
  }
  if (below && (r->upper_unbounded || is_less(x, r->upper) || (r->upper == x && !inclusive))) {
    r->upper = x;
    r->upper_unbounded = false;
    r->upper_inclusive = inclusive;
  }
}

const kde::Interval& PlainTotal::interval(PlainAnswer answer) const {
  switch (answer) {
    case PlainAnswer::rows:
    case PlainAnswer::values:
    case PlainAnswer::ones:
      return total.count;
    case PlainAnswer::sum:
      return total.sum;
    case PlainAnswer::avg:
      return total.mean;
    default:
      return variance;
  }
}

kde::OwnBox PlainRows::box_of(const kde::Range& first) const {
  kde::OwnBox out;
  for (int i = 0; i < plan_.key.columns; ++i) out.add(i, i == 0 ? first : range[i], words[i]);
  return out;
}

kde::IntervalOptions PlainRows::with_bounds(int column) const {
  return column < 0 ? options
                    : with_value_bounds(plan_.key.relation, plan_.key.column[column].attnum,
                                        density.type(column), options);
}

kde::Evidence PlainRows::ask(kde::Wanted wanted, int column, const kde::Range& first) const {
  const kde::OwnBox asked = box_of(first);
  return kde::ask(wanted, density, asked.box(), column,
                  wanted == kde::Wanted::count ? options : with_bounds(column));
}

bool PlainRows::Last::operator==(const Last& o) const {
  return density == o.density && words == o.words && first_word == o.first_word &&
         unknown_words == o.unknown_words && range.lower == o.range.lower &&
         range.upper == o.range.upper && range.lower_inclusive == o.range.lower_inclusive &&
         range.upper_inclusive == o.range.upper_inclusive &&
         range.lower_unbounded == o.range.lower_unbounded &&
         range.upper_unbounded == o.range.upper_unbounded && range.empty == o.range.empty;
}

PlainRows::Last PlainRows::asked_now() const {
  Last out;
  out.density = density.one_column;
  out.range = range[0];
  if (words[0] == nullptr) return out;
  out.words = words[0]->ranks.size();
  out.first_word = out.words > 0 ? words[0]->ranks[0] : 0;
  out.unknown_words = words[0]->unknown;
  return out;
}

const kde::Evidence& PlainRows::known(kde::Wanted wanted, int column) {
  const Last now = asked_now();
  if (!(now == last_)) {
    last_ = now;
    std::fill_n(is_known_, std::size(is_known_), false);
  }
  const int at = 2 * (column + 1) + (wanted == kde::Wanted::count ? 0 : 1);
  if (!is_known_[at]) {
    known_[at] = ask(wanted, column, range[0]);
    is_known_[at] = true;
  }
  return known_[at];
}

kde::ChangedRows PlainRows::changes_by_new(const PlainAggregate& a, const kde::Range& of) const {
  const bool of_nulls = plan_.null_of >= 0 && plan_.is_null && a.column >= 0;
  if (!(options.changed_rows > 0) || of_nulls) return {};
  const kde::IntervalOptions given = with_bounds(a.column);
  kde::ChangedRows out = kde::changed_rows(no_rows(), of, given);
  if (out.rows > 0 && a.column != 0) out.came = {given.least_value, given.greatest_value};
  return out;
}

kde::ChangedRows PlainRows::changes(const PlainAggregate& a, const kde::Evidence& evidence) const {
  kde::ChangedRows out = evidence.changed;
  if (may_be_new && options.changed_rows > 0)
    out.take_in(changes_by_new(a, listed || by_column_ ? range[0] : before_passages));
  return out;
}

void PlainRows::change(const kde::Range& of, kde::Interval* count) const {
  kde::changed_rows(no_rows(), of, options).count(count);
}

bool PlainRows::is_empty(const kde::Range& of, bool by_all) {
  const kde::Range whole = range[0];
  range[0] = of;
  kde::Interval there = values(kde::kRowsThemselves);
  if (by_all) change(of, &there);
  range[0] = whole;
  return there.upper < 0.5;
}

// Rows where the density's column is NULL: by a sample any number.
kde::Interval PlainRows::nulls() const {
  const kde::Header& h = *density.one_column;
  if ((h.flags & kde::kEveryRowRead) == 0) return {h.nulls, 0, h.rows + h.nulls};
  return {h.nulls, h.nulls, h.nulls};
}

kde::Interval PlainRows::rows() {
  if (plan_.null_of < 0) return values(kde::kRowsThemselves);
  if (plan_.null_of == 0) return nulls();
  kde::Interval there = values(plan_.null_of);
  const kde::Interval all = values(kde::kRowsThemselves);
  // Of a sample, which may have met none.
  const kde::MeasureHeader& m =
      kde::MeasureView(density.one_column, plan_.null_of - plan_.key.columns).header();
  if (m.nulls == 0 && m.has(kde::MeasurePart::rows)) there.lower = 0;
  if (!plan_.is_null) return there;
  return {std::max(0.0, all.estimate - there.estimate), std::max(0.0, all.lower - there.upper),
          std::max(0.0, all.upper - there.lower)};
}

bool PlainRows::add(const PlainAggregate& a, PlainTotal* to) {
  if (a.answer == PlainAnswer::grouping) return true;
  if (plan_.null_of >= 0 && plan_.is_null && a.column >= 0) return true;  // of NULLs alone
  if (counts(a)) {
    const kde::Evidence& counted = known(kde::Wanted::count, a.column);
    const bool of_query = plan_.null_of >= 0 && a.column < 0;
    const kde::ChangedRows changed = changes(a, counted);
    if (of_query) {
      to->total.add_count(rows(), changed, {});
    } else {
      // Of groups, most rows are not told by those that they leave out.
      const kde::DrawnRows drawn = plan_.key.groups == 0 ? counted.drawn : kde::DrawnRows();
      to->total.add_count(counted.count, changed, drawn);
      if (drawn.unit > 0) note_range(to);
    }
    return true;
  }
  if ((a.is_percentile() || a.is_of_differing()) && options.changed_rows >= 0.5)
    return state_.refuse(PlainOutcome::new_groups);
  if (a.is_of_differing()) return true;
  // Measures have none.
  if (a.column < plan_.key.columns) {
    const kde::OwnBox asked = box_of(range[0]);
    if (has_special_values(kde::moments_in(density, asked.box(), a.column)))
      return state_.refuse(PlainOutcome::not_finite);
  }
  if (a.answer == PlainAnswer::sum || a.answer == PlainAnswer::avg) {
    const kde::Evidence& added = known(kde::Wanted::sum, a.column);
    if (added.count.upper > 0) ++to->parts;
    to->total.add(added, changes(a, added), a.answer == PlainAnswer::avg);
    return true;
  }
  const kde::Evidence& counted = known(kde::Wanted::count, a.column);
  const bool none = counted.count.upper < 0.5, none_before = to->total.count.upper < 0.5;
  if (a.is_percentile() && !none) {
    to->its_ordered()->add(density, range[0], counted.count, false);
  } else if (a.is_extreme()) {
    const bool is_max = a.answer == PlainAnswer::max;
    const double extreme =
        none ? std::numeric_limits<double>::quiet_NaN() : extreme_of(is_max, a.column);
    if (!none && (none_before || std::isnan(extreme)))
      to->extreme = extreme;
    else if (!none)
      to->extreme = is_max ? std::max(to->extreme, extreme) : std::min(to->extreme, extreme);
  } else if (!none && !a.is_percentile()) {
    // Of one group alone: they are not added up.
    if (!none_before) {
      state_.out.detail = "variances of several groups are not put together";
      return state_.refuse(PlainOutcome::inaccurate);
    }
    to->variance = variance_of(a, counted.count);
  }
  to->total.add_count(counted.count, changes(a, counted), counted.drawn);
  return true;
}

void PlainRows::note_range(PlainTotal* of) const {
  if (!of->in_order) return;
  if (of->ranges != NIL) {
    const auto& last = *static_cast<const kde::Range*>(llast(of->ranges));
    of->in_order =
        !last.upper_unbounded && !range[0].lower_unbounded &&
        (last.upper < range[0].lower ||
         (last.upper == range[0].lower && !(last.upper_inclusive && range[0].lower_inclusive)));
  }
  of->ranges = lappend(of->ranges, new (palloc(sizeof(kde::Range))) kde::Range(range[0]));
}

void PlainRows::settle(const PlainAggregate& a, PlainTotal* total) {
  if (!counts(a) || !total->in_order || list_length(total->ranges) < 2) return;
  kde::Total by_others;
  const auto add = [&](const kde::Range& of, bool out) {
    range[0] = of;
    const kde::Evidence& counted = known(kde::Wanted::count, a.column);
    by_others.add_count(counted.count, {}, counted.drawn, out);
  };
  add({}, false);
  if (2 * total->total.count.estimate <= by_others.count.estimate) return;
  kde::Range gap;
  for (const kde::Range* of : of_list<const kde::Range>(total->ranges)) {
    gap.upper_unbounded = of->lower_unbounded;
    gap.upper = of->lower;
    gap.upper_inclusive = !of->lower_inclusive;
    if (!gap.upper_unbounded) add(gap, true);
    gap = {};
    gap.lower_unbounded = of->upper_unbounded;
    gap.lower = of->upper;
    gap.lower_inclusive = !of->upper_inclusive;
  }
  if (!gap.lower_unbounded) add(gap, true);
  by_others.changed = total->total.changed;
  total->total = by_others;
}

kde::Interval PlainRows::variance_of(const PlainAggregate& a, const kde::Interval& count) const {
  const double n = std::rint(count.estimate);
  const bool changed = options.changed_rows > 0;
  if (a.population && n == 1 && count.lower == count.upper && !changed) return {0, 0, 0};
  const bool is_root = a.answer == PlainAnswer::stddev;
  const Aggregate aggregate = is_root ? Aggregate::stddev : Aggregate::variance;
  kde::Interval out = interval_of(aggregate, ask(wanted_by(aggregate), a.column, range[0]));
  if (!a.population) return out;
  const double part = is_root ? std::sqrt((n - 1) / n) : (n - 1) / n;
  for (double* x : {&out.estimate, &out.lower, &out.upper}) *x *= part;
  return out;
}

// The least or greatest value in the range, which has rows: by bisection of the counts up to its
// end, which no row may have changed; of a measure that of all rows. NaN: it is not known.
double PlainRows::extreme_of(bool is_max, int column) const {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  const kde::Header& h = *density.one_column;
  if ((h.flags & kde::kEveryRowRead) == 0 || options.changed_rows > 0) return kUnknown;
  const kde::Range& r = range[0];
  if (column > 0) {
    if (words[0] != nullptr) return kUnknown;  // of some of a category's values
    const kde::MeasureHeader& m = kde::MeasureView(&h, column - plan_.key.columns).header();
    return has_in(r, h.min) && has_in(r, h.max) ? (is_max ? m.max : m.min) : kUnknown;
  }
  const double end = is_max ? h.max : h.min;
  if (has_in(r, end)) return end;
  if (!(h.lattice_step > 0)) return kUnknown;
  const auto place_of = [&h](double x) {
    return std::rint((x - h.lattice_offset) / h.lattice_step);
  };
  // Of the range from `near` on there are rows, from `far` on none.
  double near = place_of(is_max ? h.min : h.max) - (is_max ? 1 : -1);
  double far = place_of(end) + (is_max ? 1 : -1);
  while (std::fabs(far - near) > 1) {
    const double middle = near + std::trunc((far - near) / 2);
    const double x = h.lattice_point(middle);
    const bool beyond = is_max ? !r.upper_unbounded && is_less(r.upper, x)
                               : !r.lower_unbounded && is_less(x, r.lower);
    kde::Range part = r;
    narrow(&part, is_max ? BTGreaterEqualStrategyNumber : BTLessEqualStrategyNumber, x);
    const kde::Interval there =
        beyond ? kde::Interval{0, 0, 0}
               : interval_of(Aggregate::count, ask(kde::Wanted::count, 0, part));
    if (there.lower < 0.5 && !(there.upper < 0.5)) return kUnknown;
    (there.upper < 0.5 ? far : near) = middle;
  }
  return h.lattice_point(near);
}

}  // namespace kde_pg
