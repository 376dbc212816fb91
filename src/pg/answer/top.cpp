// approx_top: the most frequent values, of those that a density knows one by one, with intervals.
//
// A count's interval is that of the range [value, value]. But values that are picked for having
// many rows in a sample have more there than in the table: of 10,000 values of 3 rows each a
// sample's ten foremost have 10. So intervals of a sample's are those of a higher confidence, which
// Y. Benjamini and D. Yekutieli (JASA 100, 2005) give for R that are picked of m: 1 - (1 -
// confidence) R/m, with which at most the share 1 - confidence of all that is listed is false. m is
// what may have been picked: of values with at least a quarter of the share p of the last listed
// there are at most 4/p, and where all are known no more than there are. What has fewer than that
// in the table is picked so seldom that it does not count, as long as the interval tells the one
// from the other; so the list ends before a value whose interval reaches below a quarter of its
// rows. That ends it, too, before values that what is stored tells less well than by their rows:
// one in a range of values may have as many, and so may one of a category that is not kept.
//
// Nor do all values that a sample has most of belong there. One does not, if any behind the n that are
// asked for has more rows in the table: with independent normal errors, of counts x_j with standard
// deviations s_j, with the probability 1 - E product over those of Phi((x + s Z - x_j)/s_j). The list
// is the longest of which at most the share 1 - confidence is expected to be so.
#include "pg/answer/top.h"

#include "pg/values/result_set.h"
#include "pg/answer/asked_words.h"

#include "core/kde.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

namespace kde_pg {

namespace {

enum Argument { kDensity, kValues, kByNameOnly, kFilter, kConfidence, kChangedRows };
constexpr int kResults = 5;
constexpr int kMostValues = 10000;
constexpr double kTold = 0.25;  // the share of its rows that a value has at least

struct Value {
  double x, rows;  // of a category its rank
};

kde::Range at(double x) {
  kde::Range range;
  range.lower = range.upper = x;
  range.lower_unbounded = range.upper_unbounded = false;
  return range;
}

class Top {
 public:
  // words: of a category, else null. Both outlive it.
  Top(const kde::DensityView& density, const kde::WordsView* words)
      : density_(density), h_(density.header()), words_(words) {
    if (words != nullptr)
      add_words();
    else
      add_numbers();
    std::sort(values_, values_ + n_,
              [this](const Value& a, const Value& b) { return is_before(a, b); });
  }

  // How many to list of at most so many, and the confidence of their intervals.
  int pick(int most, double* confidence) const {
    const double wanted = *confidence;
    for (int n = std::min(most, n_); n > 0; --n) {
      CHECK_FOR_INTERRUPTS();
      *confidence = is_sampled() ? confidence_of(n, wanted) : wanted;
      const kde::Interval last = interval(n - 1, {*confidence, 0});
      if (!(last.lower >= kTold * last.estimate)) continue;
      const int listed = is_sampled() ? foremost(n, std::min(most, n_), wanted) : n;
      if (listed < n && listed > 0) *confidence = confidence_of(listed, wanted);
      return listed;
    }
    return 0;
  }

  text* value(int i) const {
    if (words_ == nullptr) return cstring_to_text(double_to_text(h_.value_type, values_[i].x));
    const std::string_view word = this->word(values_[i]);
    return cstring_to_text_with_len(word.data(), static_cast<int>(word.size()));
  }
  kde::Interval interval(int i, const kde::IntervalOptions& options) const {
    if (words_ == nullptr)
      return kde::interval_of(kde::Wanted::count, density_, at(values_[i].x), options);
    const auto rank = static_cast<uint32>(values_[i].x);
    return kde::interval_of(kde::Wanted::count, density_, *words_, {{&rank, 1}, 0}, options);
  }

 private:
  // Of a value's count: the halves of its interval.
  struct Count {
    double rows, below, above;
  };
  Count count_at(int i, double confidence) const {
    const kde::Interval of = interval(i, {confidence, 0});
    return {of.estimate, of.estimate - of.lower, of.upper - of.estimate};
  }

  // How many of the first n to list of the `most` that are asked for.
  int foremost(int n, int most, double confidence) const {
    auto* const behind = static_cast<Count*>(palloc(sizeof(Count) * (n_ - most + 1)));
    int read = 0;
    int listed = 0;
    double displaced = 0;
    for (int i = 0; i < n; ++i) {
      displaced += 1 - stays(count_at(i, confidence), most, confidence, behind, &read);
      if (displaced <= (1 - confidence) * (i + 1)) listed = i + 1;
    }
    pfree(behind);
    return listed;
  }

  // The probability that no value behind the first `most` has more rows: the mean over what `own` may be.
  // behind: of *read of them, for the next call.
  double stays(const Count& own, int most, double confidence, Count* behind, int* read) const {
    constexpr int kParts = 8;
    constexpr double kNoMatter = 1e-3;
    const double z = kde::normal_central_quantile(confidence);
    double rows[kParts], product[kParts];
    for (int k = 0; k < kParts; ++k) {
      const double off = kde::normal_quantile((k + 0.5) / kParts) / z;
      rows[k] = own.rows + off * (off < 0 ? own.below : own.above);
      product[k] = 1;
    }
    for (int j = 0; j < n_ - most && product[kParts - 1] > kNoMatter; ++j) {
      CHECK_FOR_INTERRUPTS();
      if (j == *read) behind[(*read)++] = count_at(most + j, confidence);
      const Count& other = behind[j];
      const auto less = [&](double x) {
        const double half = x > other.rows ? other.above : other.below;
        return half > 0          ? kde::normal_cdf(z * (x - other.rows) / half)
               : x >= other.rows ? 1.0
                                 : 0.0;
      };
      // Those behind it have fewer rows still.
      if ((1 - less(rows[0])) * (n_ - most) < kNoMatter) break;
      for (int k = 0; k < kParts; ++k) product[k] *= less(rows[k]);
    }
    double sum = 0;
    for (const double p : product) sum += p;
    return sum / kParts;
  }

  void add_numbers() {
    double x, rows;
    int most = 0;
    kde::SingleValues count(density_);
    while (count.next(&x, &rows)) ++most;
    all_known_ = count.rows_in_ranges() == 0;
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    values_ = static_cast<Value*>(palloc(sizeof(Value) * (most + 3)));
    kde::SingleValues values(density_);
    while (values.next(&x, &rows)) add(x);
    if (h_.negative_infinities > 0) add(-kInfinity);
    if (h_.positive_infinities > 0) add(kInfinity);
    if (h_.nans > 0) add(std::nan(""));
  }

  void add_words() {
    all_known_ = words_->others() == 0;
    values_ = static_cast<Value*>(palloc(sizeof(Value) * (words_->words() + 1)));
    const double rounded = 2 * h_.error * h_.rows;
    for (uint32 rank = 0; rank < words_->words(); ++rank) {
      add(rank);
      const double rows = values_[n_ - 1].rows;
      // An enum's labels are kept without rows, too.
      if (rows == 0 || rows + rounded < words_->header().others_most) --n_;
    }
  }

  void add(double x) {
    CHECK_FOR_INTERRUPTS();
    // With what a lattice has there besides.
    values_[n_++] = {x, kde::count(density_, at(x))};
  }

  std::string_view word(const Value& v) const { return words_->word(static_cast<uint32>(v.x)); }

  bool is_before(const Value& a, const Value& b) const {
    if (a.rows != b.rows) return a.rows > b.rows;
    if (words_ != nullptr) return word(a) < word(b);
    // NaN is above all.
    return a.x < b.x || (std::isnan(b.x) && !std::isnan(a.x));
  }

  bool is_sampled() const {
    if (words_ != nullptr) return (h_.flags & kde::kEveryRowRead) == 0;
    for (const auto& shape : h_.count_variance) {
      for (float v : shape)
        if (v > 0) return true;
    }
    return false;
  }

  double confidence_of(int n, double wanted) const {
    double candidates = h_.rows / (kTold * values_[n - 1].rows);
    if (all_known_) candidates = std::min<double>(candidates, n_);
    return 1 - (1 - wanted) * n / std::max<double>(candidates, n);
  }

  kde::DensityView density_;
  const kde::Header& h_;
  const kde::WordsView* words_;
  Value* values_;
  int n_ = 0;
  bool all_known_;
};

// Whose answers a kernel spreads has no rows at any one value; and some are one as doubles.
void check_tells_values(const kde::Header& h) {
  if ((h.flags & kde::kBounded) == 0 && h.bandwidth != 0)
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("a density of method \"%s\" has no rows at single values",
                           kde::asked_method_name(h)),
                    errhint("Fit it by method auto, which keeps frequent values apart.")));
  if (kde::may_have_lost_digits(h))
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("the density may not tell one value from another"),
             errdetail("Its numbers have more digits than double precision, or any number of "
                       "them."),
             errhint("Ask the table: SELECT value, count(*) ... GROUP BY value.")));
}

}  // namespace

int list_top(const Call& call, int most, TopValue** out) {
  const kde::Header& h = *call.density.one_column;
  std::optional<kde::WordsView> words;
  if (is_category(call.question))
    words = words_of(call.question, &h);
  else
    check_tells_values(h);
  const Top top(call.density.view(), words ? &*words : nullptr);
  kde::IntervalOptions options = interval_options(call);
  const int listed = top.pick(most, &options.confidence);
  *out = static_cast<TopValue*>(palloc(sizeof(TopValue) * (listed + 1)));
  for (int i = 0; i < listed; ++i) {
    const kde::Interval count = top.interval(i, options);
    const double scale = call.density.scale;
    (*out)[i] = {top.value(i), {count.estimate * scale, count.lower * scale, count.upper * scale}};
  }
  return listed;
}

}  // namespace kde_pg

// approx_top(density, n, by_name_only, filter, confidence, changed_rows). A row for each value that
// is listed, none where the density is NULL. Errors: 22023 for a number out of range; 55000 for a
// density that a kernel smooths; those of read_density() and words_of().
KDE_EXPORT(approx_top);
Datum approx_top(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  const ResultRows rows = begin_rows(fcinfo, kResults);
  if (PG_ARGISNULL(kDensity)) PG_RETURN_NULL();
  check_by_name_only(fcinfo, kByNameOnly);
  reject_null(fcinfo, kValues, "n");
  const int most = PG_GETARG_INT32(kValues);
  if (most < 1 || most > kMostValues)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("there are 1 to %d most frequent values, not %d", kMostValues, most)));
  Call call;
  call.accuracy.interval = {read_confidence(fcinfo, kConfidence),
                            read_changed_rows(fcinfo, kChangedRows)};
  (void)read_density(fcinfo, -1, kFilter, Needs::column, &call);
  TopValue* values;
  const int listed = list_top(call, most, &values);
  for (int i = 0; i < listed; ++i) {
    const TopValue& v = values[i];
    rows.put(i + 1, PointerGetDatum(v.value), v.count.estimate, v.count.lower, v.count.upper);
  }
  PG_RETURN_NULL();
}
