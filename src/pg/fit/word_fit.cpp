// A scan of a category: numbers of its values (Categories) to kde::Words, which are ranked after it
// and kept as text as far as there is room.
#include "pg/fit/word_fit.h"

#include "pg/base/interrupts.h"
#include "pg/base/owned.h"
#include "pg/catalog/expression.h"
#include "pg/fit/column_fit.h"
#include "pg/fit/expected_error.h"

#include "core/kde.h"

extern "C" {
#include "miscadmin.h"
#include "utils/memutils.h"
}

#include <cmath>

namespace kde_pg {

namespace {

// A column of a table that nobody named is a document, or a key, if it has more different values
// and more than half of its rows have one of their own.
constexpr double kFewValues = 5000;
constexpr double kMostDistinct = 0.5;
// The share of the rows whose count's error is told, and may be asked for.
constexpr double kFewRows = 0.01;
constexpr const char* kNoCategory =
    "More than half of its rows have a value of their own: kde_fit() of the column by its name.";
constexpr const char* kTooLarge =
    "Its different values take more memory than a table's columns have: kde_fit() of the column by "
    "its name, or of an expression of it.";

class WordEstimate final : public Estimate {
 public:
  WordEstimate(const DensityKey& key, const kde::Words::Options& options, bool of_table)
      : words_(options), measures_(static_cast<std::size_t>(key.measures)), of_table_(of_table) {
    for (std::size_t k = 0; k < measures_; ++k) names_[k] = key.column[k + 1].text;
  }

  Categories* categories(int column) override { return column == 0 ? &categories_ : nullptr; }
  kde::Status add(const double* values, uint16 nulls) noexcept override {
    if ((nulls & 1) != 0) {
      words_.add_null();
      return kde::Status::success();
    }
    if (categories_.given_up()) return kde::Status::success();
    double y[kde::kMaxMeasures];
    for (std::size_t k = 0; k < measures_; ++k) {
      const bool is_null = (nulls >> (k + 1) & 1) != 0;
      y[k] = is_null ? std::nan("") : values[k + 1];
      if (!is_null && !std::isfinite(y[k]))
        return kde::Status::error(kde::Code::invalid_argument,
                                  "measure \"%s\" has a value that is not finite", names_[k]);
    }
    const kde::Status status = words_.add(static_cast<uint32>(values[0]), {y, measures_});
    // Half of them at least, of as many rows as make that sure.
    if (of_table_ && static_cast<double>(words_.distinct()) > 10 * kFewValues && is_unlike())
      categories_.give_up();
    return status;
  }
  kde::Status begin_block() noexcept override { return words_.begin_block(); }
  void scanned() override;
  kde::Status finish(const kde::Control& control) noexcept override {
    if (of_table_ && not_worth() != nullptr) return kde::Status::success();
    return words_.finish(&sample_, control);
  }
  const char* nothing_to_fit(const DensityKey& key) const override {
    if (words_.rows() > 0 || categories_.given_up()) return nullptr;
    return words_.nulls() > 0 ? "Every value read is null."
           : key.has_filter() ? "The scan found no rows that the filter accepts."
                              : "The scan found no rows.";
  }
  const char* not_worth() const override {
    const bool many = static_cast<double>(words_.distinct()) > kFewValues && is_unlike();
    return many ? kNoCategory : categories_.given_up() ? kTooLarge : nullptr;
  }
  kde::SumsWork sums() const override { return {}; }
  kde::Status fit(const ColumnTypes& types, const ScanResult& scan, const kde::Engine& engine,
                  const kde::Control& control) noexcept override;
  void check(const kde::Status& status, const DensityKey& key) const override {
    check_status(status, psprintf("fit a density to %s", describe_columns(key)));
  }
  double expected_error() const override {
    return kde::expected_errors(kde::DensityView(&density_.header()), kFewRows).count;
  }
  void describe(DensityFit* fit) const override;

  // Before the scan.
  Categories categories_;
  WordType type_;

 private:
  bool is_unlike() const {
    return static_cast<double>(words_.distinct()) > kMostDistinct * words_.rows();
  }

  kde::Words words_;
  kde::Sample sample_;
  kde::FitReport report_;
  std::size_t measures_;
  bool of_table_;
  const char* names_[kde::kMaxMeasures] = {};
};

void WordEstimate::scanned() {
  if (of_table_ && not_worth() != nullptr) return;
  keep_words(categories_, &type_, &words_);
}

kde::Status WordEstimate::fit(const ColumnTypes& types, const ScanResult& scan, const kde::Engine&,
                              const kde::Control& control) noexcept {
  kde::FitOptions options;
  static_cast<kde::ReadShare&>(options) = scan;
  options.value_type = kde::ValueType::category;
  options.lattice_step = 1;
  options.as_counted = true;
  std::copy_n(types.value_type + 1, measures_, options.measure_types);
  if (kde::Status s = kde::fit_column(sample_, options, control, &density_, &report_); !s.ok())
    return s;
  options.word_type = type_.number();
  options.word_flags = word_flags(type_);
  return words_.append(options, &density_);
}

void WordEstimate::describe(DensityFit* fit) const {
  FitRecord& record = fit->record;
  const kde::Header& header = density_.header();
  const kde::WordsView words(&header);
  record.rows_read = static_cast<int64>(words_.rows() + words_.nulls());
  record.design_effect = sample_.blocks.design_effect();
  record.select_ms = report_.select_ms;
  record.estimate_ms = report_.estimate_ms;
  record.table_rows = header.rows + header.nulls;
  record.model = words.others() > 0
                     ? psprintf("values as counted: %u kept of %.0f; another has %.0f rows at most",
                                words.words(), words.header().distinct, words.header().others_most)
                     : psprintf("values as counted: %.0f", words.header().distinct);
  fit->method = kde::asked_method_name(header);
  fit->rows = header.rows;
  fit->sample_rows = report_.sample_rows;
  fit->expected_error = expected_error_text(&header);
}

}  // namespace

// Texts are those of the scan's user, who may print what he may read.
void keep_words(const Categories& categories, WordType* type, kde::Words* words) {
  const char* doing = "keep the values of a category";
  check_status(words->rank(), doing);
  List* labels = type->is_enum() ? enum_labels(type->base()) : NIL;
  const auto place_of = [labels](const char* text) {
    for (int i = 0; i < list_length(labels); ++i)
      if (strcmp(static_cast<const char*>(list_nth(labels, i)), text) == 0)
        return static_cast<uint16>(i);
    return uint16{0};
  };
  MemoryContext each =
      AllocSetContextCreate(CurrentMemoryContext, "kde_aqp word", ALLOCSET_DEFAULT_SIZES);
  MemoryContext caller = MemoryContextSwitchTo(each);
  kde::Words::Kept kept = kde::Words::Kept::kept;
  for (Size i = 0; i < words->distinct() && kept != kde::Words::Kept::full; ++i) {
    CHECK_FOR_INTERRUPTS();
    const uint32 number = words->number(i);
    const char* text = type->text(categories.value(number));
    check_status(words->keep(number, text, place_of(text), &kept), doing);
    MemoryContextReset(each);
  }
  // Those that no row has, so that what is renamed is missed.
  for (int i = 0; i < list_length(labels) && kept != kde::Words::Kept::full; ++i)
    check_status(words->keep(0, static_cast<const char*>(list_nth(labels, i)),
                             static_cast<uint16>(i), &kept),
                 doing);
  MemoryContextSwitchTo(caller);
  MemoryContextDelete(each);
}

Size most_word_memory() {
  constexpr Size kSomeMemory = Size{256} << 20;
  return Max(memory_limit(), kSomeMemory);
}

uint32 word_flags(const WordType& type) {
  return (type.folded() ? uint32{kde::kFolded} : 0) | (type.is_enum() ? uint32{kde::kPlaced} : 0);
}

Estimate* new_word_estimate(const DensityRequest& request, MemoryContext context) {
  const DensityKey& key = request.key;
  if (read_column_method(request.asked.method) != kde::Method::automatic ||
      request.asked.sample_rows > 0 || request.asked.exact ||
      request.kernel != kde::Kernel::gaussian)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("%s is a category, which is fitted by method auto, to all rows that are "
                           "read",
                           describe_column(key, 0)),
                    errhint("Leave method, kernel, exact and sample_rows out; sample_rows => -1 "
                            "reads every row.")));
  int32 typmod;
  const Oid type = key_column_type(key, 0, &typmod);
  const Oid collation = key_column_collation(key, 0);
  WordType words;
  words.begin(type, collation);
  kde::Words::Options options;
  options.seed = static_cast<uint64>(request.asked.seed);
  options.measures = key.measures;
  options.placed = words.is_enum();
  auto* estimate = Owned<WordEstimate>::create(context, key, options, request.of_table);
  // Its functions live as long as the estimate.
  MemoryContext caller = MemoryContextSwitchTo(context);
  estimate->type_.begin(type, collation);
  MemoryContextSwitchTo(caller);
  estimate->categories_.begin(words.base(), collation, key.column[0].text, context);
  estimate->categories_.limit(most_word_memory(), !request.of_table);
  return estimate;
}

}  // namespace kde_pg
