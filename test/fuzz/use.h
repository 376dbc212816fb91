// What becomes of a density once it is read: all that SQL does with a value (answers, roll-up,
// drift, pictures, the wire), each of them within a second of the processor's time. What a roll-up gives must
// be a valid density that reads back.
#pragma once

#include "core/kde.h"

#include "answers.h"
#include "finding.h"
#include "joint_answers.h"
#include "round_trip.h"

#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <string>
#include <vector>

namespace kde::fuzz {

// Ends the program where what follows takes more than a second.
class Second {
 public:
  Second() {
    std::signal(SIGVTALRM, [](int) {
      constexpr char kWhat[] = "broken rule: a use takes more than a second\n";
      (void)!write(STDERR_FILENO, kWhat, sizeof kWhat - 1);
      std::abort();
    });
    set(1);
  }
  ~Second() { set(0); }
  Second(const Second&) = delete;
  Second& operator=(const Second&) = delete;

 private:
  static void set(time_t seconds) {
    const itimerval limit = {{0, 0}, {seconds, 0}};
    setitimer(ITIMER_VIRTUAL, &limit, nullptr);
  }
};

inline void check(const Status& status) {
  if (!status.ok()) fail(status.message);
}

// The bytes are a density that comes back over the wire.
inline void check_round_trip(const DensityBytes& bytes) {
  check(validate(bytes.data(), bytes.size()));
  if (const char* wrong = round_trip(bytes)) fail(wrong);
}

inline std::vector<Range> some_ranges(const Header& h) {
  const auto between = [](double a, double b) {
    Range r;
    r.lower_unbounded = r.upper_unbounded = false;
    r.lower = a;
    r.upper = b;
    return r;
  };
  Range open;
  Range below = between(0, h.mean);
  below.lower_unbounded = true;
  return {open,
          below,
          between(h.min, h.max),
          between(h.min / 2 + h.mean / 2, h.mean),
          between(h.mean, h.mean),
          between(h.max, h.max + 1)};
}

inline void check_order(const Interval& i, const char* what) {
  if (std::isnan(i.estimate)) return;
  if (!(i.lower <= i.estimate && i.estimate <= i.upper)) fail(what);
}

inline void check_sane(const DensityView& d) {
  const Second second;
  if (const char* insane = fitted::insane_answer(d, 8)) fail(insane);
  if (const char* insane = fitted::insane_words(d)) fail(insane);
}

inline void answer(const DensityView& d) {
  check_sane(d);
  const Header& h = d.header();
  IntervalOptions some;
  IntervalOptions changed;
  changed.changed_rows = 17;
  for (const IntervalOptions& options : {some, changed}) {
    for (const Range& range : some_ranges(h)) {
      const Second second;
      check_order(interval_of(Wanted::count, d, range, options),
                  "a count's interval is out of order");
      (void)interval_of(Wanted::sum, d, range, options);
      check_order(interval_of(Wanted::mean, d, range, options),
                  "a mean's interval is out of order");
      (void)interval_of(Wanted::variance, d, range, options);
      for (int k = 0; k < h.measures; ++k) {
        const MeasureView m(&h, k);
        (void)measure_moments(d, m, range);
        check_order(interval_of(Wanted::count, d, m, range, options), "a measure's count");
        (void)interval_of(Wanted::sum, d, m, range, options);
        check_order(interval_of(Wanted::mean, d, m, range, options), "a measure's mean");
        (void)interval_of(Wanted::variance, d, m, range, options);
      }
    }
    for (const double q : {0.0, 0.01, 0.5, 1.0}) {
      const Second second;
      (void)quantile_interval(d, q, options);
    }
  }
  const Second second;
  (void)expected_errors(d, 0.1);
  (void)distinct_values(d);
  SingleValues values(d);
  double value, rows;
  while (values.next(&value, &rows)) {
  }
}

inline void draw(const DensityView& d) {
  const Second second;
  const Header& h = d.header();
  if (!(h.finite_rows() > 0)) return;
  const AxisSpan span = readable_span(d);
  (void)rows_beyond(d, span);
  std::vector<double> edges;
  for (int i = 0; i <= 64; ++i) {
    const double x = span.lower * (1 - i / 64.0) + span.upper * (i / 64.0);
    if (edges.empty() || x > edges.back()) edges.push_back(x);
  }
  if (edges.size() < 2 || !std::isfinite(edges.front()) || !std::isfinite(edges.back())) return;
  std::vector<double> steps(3 * (edges.size() - 1));
  const std::size_t n = edges.size() - 1;
  const StepValues into = {{steps.data(), n}, {steps.data() + n, n}, {steps.data() + 2 * n, n}};
  for (const PictureKind kind :
       {PictureKind::histogram, PictureKind::density, PictureKind::cumulative}) {
    if (kind == PictureKind::histogram) count_steps(d, edges, {}, into);
    if (kind == PictureKind::density) density_steps(d, edges, 1, {}, into);
    if (kind == PictureKind::cumulative) cumulative_steps(d, edges, {}, into);
    Curve curve;
    curve.value = into.value;
    curve.lower = into.lower;
    curve.upper = into.upper;
    Picture picture;
    picture.kind = kind;
    picture.edges = edges;
    picture.curves = {&curve, 1};
    std::string out;
    check(draw_terminal(picture, {80, 20, true}, &out));
    check(draw_svg(picture, {640, 400}, &out));
  }
}

// With others, of as many measures; whatever comes of it.
inline void roll_up(const std::vector<const Header*>& densities) {
  const Second second;
  const Header& h = *densities[0];
  OwnedGridCells cells(h.chain, h.measures, 4096);
  const Status added = add_densities(densities, Control{}, &*cells);
  // Cells that no fit makes are refused.
  if (added.code == Code::invalid_format) return;
  check(added);
  FitOptions options;
  options.method = (h.flags & kBounded) != 0 ? Method::automatic : h.method;
  options.value_type = h.value_type;
  options.added_up = true;
  for (int k = 0; k < h.measures; ++k)
    options.measure_types[k] = MeasureView(&h, k).header().value_type;
  DensityBytes out;
  FitReport report;
  const std::size_t bytes = h.measures > 0 ? kLeastMeasuredBytes + 4096 : 4096;
  const Status status = fit_cells(&*cells, options, bytes, Control{}, &out, &report);
  // Rows and values beyond all bounds are refused.
  if (status.code == Code::invalid_argument || status.code == Code::out_of_range) return;
  check(status);
  check_round_trip(out);
  const DensityView sum(out.data());
  if (const char* insane = fitted::insane_answer(sum, 8)) fail(insane);
}

inline void drift_against(const DensityView& d) {
  const Second second;
  static const Sample* sample = [] {
    auto* out = new Sample;
    Sampler sampler(Sampler::Options{});
    for (int i = 0; i < 500; ++i) (void)sampler.add(i % 37);
    check(sampler.finish(out));
    return out;
  }();
  Drift out;
  check(drift(d, *sample, rows_behind(d.header()), &out));
  if (d.header().words == 0) return;
  const Status status = word_drift(d, WordsView(&d.header()), *sample, Control{}, &out);
  if (!status.ok() && status.code != Code::out_of_memory) fail(status.message);
}

// other: of the same measures, or null.
inline void use_one_column(const Header* h, const Header* other) {
  const DensityView d(h);
  answer(d);
  draw(d);
  drift_against(d);
  if (h->words == 0 && h->grouped == 0) {
    std::vector<const Header*> all(5, h);
    roll_up({h});
    roll_up(all);
    if (other != nullptr && other->measures == h->measures && other->value_type == h->value_type &&
        other->chain == h->chain) {
      roll_up({h, other});
      roll_up({other, h, h});
    }
  }
  if (h->grouped == 0) return;
  GroupsView groups(h);
  (void)most_unseen(groups.header(), 0.95);
  GroupView group;
  while (groups.next(&group)) use_one_column(group.density(), other);
}

// bytes: valid.
inline void use(const DensityBytes& bytes, const Header* other) {
  {
    const Second second;
    check_round_trip(bytes);
  }
  if (bytes.header().kind != Kind::joint) return use_one_column(&bytes.header(), other);
  const JointView d(bytes.data());
  {
    const Second second;
    if (const char* insane = joints::insane_answer(d, 8)) fail(insane);
  }
  for (int k = 0; k < d.columns(); ++k) use_one_column(d.marginal(k), nullptr);
}

}  // namespace kde::fuzz
