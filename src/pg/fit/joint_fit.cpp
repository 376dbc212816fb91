// Fitting several columns: the sample's size, errors that name the column in the way, the values of
// categories among them (word_fit.h), and what is recorded.
#include "pg/values/number_array.h"
#include "pg/base/options.h"
#include "pg/base/owned.h"
#include "pg/catalog/expression.h"
#include "pg/device/device.h"
#include "pg/fit/arrays.h"
#include "pg/fit/estimate.h"
#include "pg/fit/word_fit.h"

#include "core/kde.h"

namespace kde_pg {

namespace {

kde::JointMethod read_joint_method(const char* name) {
  kde::JointMethod method;
  if (!kde::parse_joint_method(name, &method))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("unknown method \"%s\"", name),
                    errhint("The methods for several columns are %s.", kde::joint_method_list())));
  return method;
}

// A row of the sample in the sampler, in the sample, in axes' coordinates and whitened.
Size bytes_per_row(int columns) { return (4 * sizeof(double)) * (columns + 1); }

// Where none are asked for: by auto what the density's budget holds, within memory; by name, whose
// bandwidths take the square of them, so many.
constexpr int64 kRowsByName = 10000;

int64 joint_sample_rows(const FitRequest& asked, kde::JointMethod method, int columns,
                        int categories) {
  if (asked.sample_rows != kAllRowsRead) return asked.sample_rows;
  if (method != kde::JointMethod::automatic) return kRowsByName;
  const auto budget = static_cast<Size>(option_joint_bytes) * 1024;
  const auto most = static_cast<int64>(memory_limit() / bytes_per_row(columns));
  return Max(Min(kde::rows_of_budget(columns, budget, categories), most), 2);
}

void check_joint_sample_rows(int64 sample_rows, int columns) {
  if (sample_rows == -1)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("a density of several columns is fitted to a sample"),
                    errdetail("sample_rows => -1 would keep every row."),
                    errhint("Use sample_rows of at least 2. The columns' own distributions are "
                            "taken from every row that is read; kde_aqp.sample_blocks says how "
                            "many are.")));
  if (sample_rows < 2)
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("sample_rows must be at least 2"),
             errdetail("The value given was %lld.", static_cast<long long>(sample_rows))));
  check_sample_fits(sample_rows, bytes_per_row(columns),
                    "Use a smaller sample or raise maintenance_work_mem.");
}

class JointEstimate final : public Estimate {
 public:
  JointEstimate(const DensityRequest& request, const kde::JointSampler::Options& sampling,
                kde::JointMethod method)
      : Estimate(request), columns_(sampling.columns), sampler_(sampling) {
    options_.method = method;
    options_.budget = static_cast<Size>(option_joint_bytes) * 1024;
    options_.bandwidth_rows = option_bandwidth_rows;
    options_.seed = sampling.seed;
  }

  // Before the scan, of the columns that the sampler has as categories; in their context.
  void begin_categories(uint16 categories, MemoryContext context);

  Categories* categories(int column) override { return category_[column]; }
  void scanned() override {
    for (int k = 0; k < columns_; ++k)
      if (category_[k] != nullptr) keep_words(*category_[k], &word_type_[k], sampler_.words(k));
  }
  kde::Status add(const double* values, uint16 nulls) noexcept override {
    return sampler_.add(values, nulls);
  }
  kde::Status begin_block() noexcept override { return sampler_.begin_block(); }
  kde::Status finish(const kde::Control& control) noexcept override {
    return sampler_.finish(&sample_, control);
  }

  // Columns may be NULL in every row; a table without rows has no density.
  const char* nothing_to_fit() const override {
    return sample_.rows_read > 0 ? nullptr : no_rows();
  }

  kde::SumsWork sums() const override {
    kde::MatrixMethod method;
    if (!kde::parse_matrix_method(kde::joint_method_name(options_.method), &method)) return {};
    return matrix_work(method, Min(sample_.rows, options_.bandwidth_rows), columns_);
  }

  kde::Status fit(const ColumnTypes& types, const kde::ReadShare& read, const kde::Engine& engine,
                  const kde::Control& control) noexcept override {
    for (int k = 0; k < columns_; ++k) {
      options_.value_type[k] = types.value_type[k];
      options_.lattice_step[k] = types.lattice_step[k];
      if (category_[k] == nullptr) continue;
      options_.word_type[k] = word_type_[k].number();
      options_.word_flags[k] = word_flags(word_type_[k]);
    }
    static_cast<kde::ReadShare&>(options_) = read;
    options_.engine = engine;
    in_the_way_ = -1;
    return kde::fit_joint(sample_, options_, control, &density_, &report_, &in_the_way_);
  }

  // A column that stands in the way is named.
  void check(const kde::Status& status) const override {
    const DensityKey& key = request_.key;
    const char* doing = psprintf("fit a density to %s", describe_columns(key));
    const bool no_bandwidth =
        status.code == kde::Code::degenerate && options_.method != kde::JointMethod::automatic;
    if (status.ok() || in_the_way_ < 0 || in_the_way_ >= columns_) {
      check_status(status, doing, no_bandwidth ? "Method auto takes any columns." : nullptr);
      return;
    }
    const KeyColumn& c = key.column[in_the_way_];
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("could not %s", doing),
             errdetail_internal("%s \"%s\": %s.", c.attnum != 0 ? "Column" : "Expression", c.text,
                                status.message),
             errhint("Leave it out, or use method auto.")));
  }

  void describe(DensityFit* fit) const override {
    show_notice(report_.notice);
    FitRecord& record = fit->record;
    record.rows_read = sample_.rows_read;
    record.design_effect = sample_.design_effect();
    record.bandwidth_rows = report_.bandwidth_rows;
    record.bandwidth_status = report_.status;
    if (report_.model[0] != '\0') record.model = pstrdup(report_.model);
    record.select_ms = report_.select_ms;
    record.estimate_ms = report_.estimate_ms;
    if (report_.bandwidth.size() == static_cast<Size>(columns_) * static_cast<Size>(columns_))
      record.bandwidth_matrix = matrix_array(report_.bandwidth.data(), columns_);
    record.stored_rows = report_.points;
    fit->method = kde::joint_method_name(report_.method);
    fit->rows = reinterpret_cast<const kde::JointHeader*>(density_.data())->rows;
    fit->sample_rows = report_.sample_rows;
    record.table_rows = fit->rows;
  }

 private:
  int columns_;
  kde::JointSampler sampler_;
  Categories* category_[kde::kMaxColumns] = {};  // null: a number
  WordType word_type_[kde::kMaxColumns];
  kde::JointSample sample_;
  kde::JointFitOptions options_;
  kde::JointFitReport report_;
  int in_the_way_ = -1;
};

void JointEstimate::begin_categories(uint16 categories, MemoryContext context) {
  const DensityKey& key = request_.key;
  Categories* last = nullptr;
  MemoryContext caller = MemoryContextSwitchTo(context);
  for (int k = 0; k < columns_; ++k) {
    if ((categories >> k & 1) == 0) continue;
    int32 typmod;
    word_type_[k].begin(key_column_type(key, k, &typmod), key_column_collation(key, k));
    auto* own = new (palloc(sizeof(Categories))) Categories;
    own->begin(word_type_[k].base(), word_type_[k].collation(), key.column[k].text, context);
    own->limit(most_word_memory(), true);
    if (last != nullptr) own->share_limit(last);
    category_[k] = last = own;
  }
  MemoryContextSwitchTo(caller);
}

// Which columns are categories, and of them those whose words have places. How many.
int find_categories(const DensityKey& key, kde::JointMethod method,
                    kde::JointSampler::Options* sampling) {
  int categories = 0;
  for (int k = 0; k < key.columns; ++k) {
    if (!is_category(key, k)) continue;
    if (method != kde::JointMethod::automatic)
      ereport(ERROR,
              (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
               errmsg("%s is a category, which only method auto takes", describe_column(key, k)),
               errhint("Leave method out.")));
    WordType words;
    int32 typmod;
    words.begin(key_column_type(key, k, &typmod), key_column_collation(key, k));
    sampling->categories |= static_cast<uint16>(1 << k);
    if (words.is_enum()) sampling->placed |= static_cast<uint16>(1 << k);
    ++categories;
  }
  if (categories == key.columns)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("a density of several columns needs a number or a date among them"),
                    errhint("Fit each category by itself, or with a column of numbers.")));
  sampling->words_bytes =
      kde::words_of_budget(categories, static_cast<Size>(option_joint_bytes) * 1024);
  return categories;
}

}  // namespace

Estimate* new_joint_estimate(const DensityRequest& request, MemoryContext context) {
  const kde::JointMethod method = read_joint_method(request.asked.method);
  kde::JointSampler::Options sampling;
  sampling.columns = request.key.columns;
  const ColumnTypes types = check_types(request.key);
  for (int k = 0; k < sampling.columns; ++k) sampling.chain[k] = kde::chain_of(types.value_type[k]);
  if (request.asked.max_error > 0)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("max_relative_error is of densities of one column"),
                    errhint("Pass sample_rows instead.")));
  const int categories = find_categories(request.key, method, &sampling);
  sampling.sample_rows = joint_sample_rows(request.asked, method, sampling.columns, categories);
  check_joint_sample_rows(sampling.sample_rows, sampling.columns);
  sampling.seed = request.seed();
  auto* estimate = Owned<JointEstimate>::create(context, request, sampling, method);
  estimate->begin_categories(sampling.categories, context);
  return estimate;
}

}  // namespace kde_pg
