// A scan of a category: numbers of its values (Categories) to kde::Words, which are ranked after it
// and kept as text as far as there is room.
#include "pg/fit/word_fit.h"

#include "pg/base/interrupts.h"
#include "pg/base/owned.h"
#include "pg/catalog/expression.h"
#include "pg/fit/column_fit.h"

#include "core/kde.h"

namespace kde_pg {

namespace {

// A column of a table that nobody named is a document, or a key, if it has more different values
// and more than half of its rows have one of their own.
constexpr double kFewValues = 5000;
constexpr double kMostDistinct = 0.5;
constexpr const char* kNoCategory =
    "More than half of its rows have a value of their own: kde_fit() of the column by its name.";
constexpr const char* kTooLarge =
    "Its different values take more memory than a table's columns have: kde_fit() of the column by "
    "its name, or of an expression of it.";

class WordEstimate final : public LineEstimate {
 public:
  WordEstimate(const DensityRequest& request, const kde::Words::Options& options)
      : LineEstimate(request), words_(options), of_table_(request.of_table) {
    options_.as_counted = true;
  }

  Categories* categories(int column) override { return column == 0 ? &categories_ : nullptr; }
  kde::Status add(const double* values, uint16 nulls) noexcept override {
    if ((nulls & 1) != 0) {
      words_.add_null();
      return kde::Status::success();
    }
    if (categories_.given_up()) return kde::Status::success();
    double y[kde::kMaxMeasures];
    if (const kde::Status s = read_measures(values, nulls, y); !s.ok()) return s;
    const kde::Status status = words_.add(static_cast<uint32>(values[0]), {y, measures()});
    // Half of them at least, of as many rows as make that sure.
    if (of_table_ && static_cast<double>(words_.distinct()) > 10 * kFewValues && is_unlike())
      categories_.give_up();
    return status;
  }
  kde::Status begin_block() noexcept override { return words_.begin_block(); }
  void begin_rows(bool every_row) override {
    if (every_row) words_.begin_every_row();
  }
  // Which of several texts a value has does not depend on a plan then.
  bool takes_values() const override { return !of_table_ && type_.direct(); }
  kde::Status add_value(uint32 number, double rows,
                        std::span<const kde::ValueSums> measures) noexcept override {
    if (number > 0) return words_.add(number, rows, measures);
    words_.add_null(rows);
    return kde::Status::success();
  }
  void scanned() override {
    if (not_worth() == nullptr) keep_words(categories_, &type_, &words_);
  }
  kde::Status finish(const kde::Control& control) noexcept override {
    return not_worth() != nullptr ? kde::Status::success() : words_.finish(&sample_, control);
  }
  const char* nothing_to_fit() const override {
    const char* why = not_worth();
    return why != nullptr ? why : LineEstimate::nothing_to_fit();
  }
  kde::Status fit(const ColumnTypes& types, const kde::ReadShare& read, const kde::Engine& engine,
                  const kde::Control& control) noexcept override {
    if (kde::Status s = fit_line(types, read, engine, control); !s.ok()) return s;
    return append_words(words_, type_, &options_, &density_);
  }
  void describe(DensityFit* fit) const override {
    LineEstimate::describe(fit);
    describe_words(&density_.header(), fit);
  }

  // Before the scan.
  Categories categories_;
  WordType type_;

 private:
  bool is_unlike() const {
    return static_cast<double>(words_.distinct()) > kMostDistinct * words_.rows();
  }
  // Where the column is one of a table's that nobody named: null, or why it is left out.
  const char* not_worth() const {
    if (!of_table_) return nullptr;
    const bool many = static_cast<double>(words_.distinct()) > kFewValues && is_unlike();
    return many ? kNoCategory : categories_.given_up() ? kTooLarge : nullptr;
  }

  kde::Words words_;
  bool of_table_;
};

}  // namespace

void describe_words(const kde::Header* density, DensityFit* fit) {
  const kde::WordsView words(density);
  fit->record.model =
      words.others() > 0
          ? psprintf("values as counted: %u kept of %.0f; another has %.0f rows at most",
                     words.words(), words.header().distinct, words.header().others_most)
          : psprintf("values as counted: %.0f", words.header().distinct);
}

kde::Status append_words(const kde::Words& words, const WordType& type, kde::FitOptions* options,
                         kde::DensityBytes* density) noexcept {
  options->word_type = type.number();
  options->word_flags = word_flags(type);
  return words.append(*options, density);
}

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
  bool full = false;
  for (Size i = 0; i < words->distinct() && !full; ++i) {
    CHECK_FOR_INTERRUPTS();
    const uint32 number = words->number(i);
    const char* text = type->text(categories.value(number));
    check_status(words->keep(number, text, place_of(text), &full), doing);
    MemoryContextReset(each);
  }
  // Those that no row has, so that what is renamed is missed.
  for (int i = 0; i < list_length(labels) && !full; ++i)
    check_status(words->keep(0, static_cast<const char*>(list_nth(labels, i)),
                             static_cast<uint16>(i), &full),
                 doing);
  check_status(words->end_keeping(), doing);
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

WordType word_type(const DensityKey& key, MemoryContext context) {
  int32 typmod;
  WordType type;
  MemoryContext caller = MemoryContextSwitchTo(context);
  type.begin(key_column_type(key, 0, &typmod), key_column_collation(key, 0));
  MemoryContextSwitchTo(caller);
  return type;
}

kde::Words::Options word_options(const DensityRequest& request, const WordType& type) {
  kde::Words::Options options;
  options.seed = request.seed();
  options.measures = request.key.measures;
  options.placed = type.is_enum();
  return options;
}

Estimate* new_word_estimate(const DensityRequest& request, MemoryContext context) {
  const DensityKey& key = request.key;
  check_fitted_by_auto(request, psprintf("%s is a category, which is", describe_column(key, 0)));
  const WordType type = word_type(key, context);
  auto* estimate = Owned<WordEstimate>::create(context, request, word_options(request, type));
  estimate->type_ = type;
  estimate->categories_.begin(type.base(), type.collation(), key.column[0].text, context);
  estimate->categories_.limit(most_word_memory(), !request.of_table);
  return estimate;
}

}  // namespace kde_pg
