// Fitting one column: the sampler's size, the finite population's correction, and what is recorded.
#include "pg/fit/column_fit.h"

#include "pg/base/options.h"
#include "pg/base/owned.h"
#include "pg/device/device.h"
#include "pg/fit/arrays.h"

#include "core/kde.h"

#include <algorithm>
#include <cmath>

namespace kde_pg {

namespace {

// A row drawn and its block, and copies of them that are sorted and scaled.
constexpr Size kBytesPerSampleRow = 64;
// A density of a part's sample.
constexpr Size kLeastSampleBytes = 4096;

void check_sample_rows(int64 sample_rows) {
  if (sample_rows == kAllRowsRead) return;
  if (sample_rows != -1 && sample_rows < 2)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("sample_rows must be at least 2, -1 for every row of the table, or null "
                           "for every row that is read"),
                    errdetail("The value given was %lld.", static_cast<long long>(sample_rows))));
  check_sample_fits(sample_rows, kBytesPerSampleRow,
                    "Use a smaller sample, raise maintenance_work_mem, or leave sample_rows out: "
                    "every row that is read then counts, in bounded memory.");
}

kde::Sampler::Options sampler_options(const DensityRequest& request) {
  kde::Sampler::Options options;
  options.chain = chain_of(request.key, request.asked);
  options.sample_rows = Max(request.asked.sample_rows, 0);
  options.seed = request.seed();
  options.measures = request.key.measures;
  options.range_cells = kde::kMostEffectCells;
  return options;
}

class ColumnEstimate final : public LineEstimate {
 public:
  ColumnEstimate(const DensityRequest& request, kde::Method method, MemoryContext context)
      : LineEstimate(request), context_(context), sampler_(sampler_options(request)) {
    options_.method = method;
    options_.exact = request.asked.exact;
    options_.bandwidth_rows = option_bandwidth_rows;
    options_.seed = request.seed();
    if (request.bytes == 0) return;
    // A sample tells no more, however many bytes it has.
    options_.budget = std::clamp(request.bytes / 4, kLeastSampleBytes, kde::kMaxBytes);
    options_.as_counted = options_.seeks_lattice = method == kde::Method::automatic;
  }

  // Of every row nothing is estimated.
  void begin_rows(bool every_row) override {
    if (!every_row || !takes_cells()) return;
    cells_ = Owned<kde::OwnedGridCells>::create(context_, chain_of(request_.key, request_.asked),
                                                request_.key.measures);
    (*cells_)->begin_at(request_.level);
  }
  int level() const override { return cells_ != nullptr ? (*cells_)->level() : -1; }
  bool takes_cells() const override {
    return options_.method == kde::Method::automatic && !options_.exact &&
           request_.asked.sample_rows <= 0;
  }
  kde::Status add(const double* values, uint16 nulls) noexcept override {
    if ((nulls & 1) != 0) {
      if (cells_ != nullptr)
        (*cells_)->add_null();
      else
        sampler_.add_null();
      return kde::Status::success();
    }
    double y[kde::kMaxMeasures];
    if (const kde::Status s = read_measures(values, nulls, y); !s.ok()) return s;
    const std::span<const double> of_row = {y, measures()};
    return cells_ != nullptr ? (*cells_)->add(values[0], of_row) : sampler_.add(values[0], of_row);
  }
  kde::Status add_rows(std::span<const double> values) noexcept override {
    return cells_ != nullptr ? (*cells_)->add(values) : sampler_.add_rows(values);
  }
  kde::Status begin_block() noexcept override {
    return cells_ != nullptr ? kde::Status::success() : sampler_.begin_block();
  }
  kde::Status add_cells(kde::GridCells* cells) noexcept override { return (*cells_)->merge(cells); }
  kde::Status finish(const kde::Control& control) noexcept override {
    if (cells_ == nullptr) return sampler_.finish(&sample_, control);
    if (const kde::Status s = (*cells_)->settle(); !s.ok()) return s;
    sample_.totals = (*cells_)->totals();
    sample_.specials = (*cells_)->specials();
    return kde::Status::success();
  }
  kde::SumsWork sums() const override {
    if (cells_ != nullptr) return {};
    return line_work(options_.method, options_.exact, kde::rows_of_exact_sums(sample_, options_));
  }
  kde::Status fit(const ColumnTypes& types, const kde::ReadShare& read, const kde::Engine& engine,
                  const kde::Control& control) noexcept override {
    if (cells_ == nullptr) return fit_line(types, read, engine, control);
    set_options(types, read, engine);
    options_.added_up = sample_.not_null() == 0;  // of NULLs alone, a stretch
    return kde::fit_cells(&**cells_, options_, grid_bytes(), control, &density_, &report_);
  }

 private:
  MemoryContext context_;
  kde::Sampler sampler_;
  kde::OwnedGridCells* cells_ = nullptr;  // of every row; else the sampler has them
};

}  // namespace

kde::Method read_column_method(const char* name) {
  kde::Method method;
  if (!kde::parse_method(name, &method))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("unknown method \"%s\"", name),
                    errhint("The methods for one column are %s.", kde::method_list())));
  return method;
}

const char* LineEstimate::nothing_to_fit() const {
  if (sample_.not_null() > 0) return nullptr;
  return sample_.rows_read() > 0 ? "Every value read is null." : no_rows();
}

kde::Status LineEstimate::read_measures(const double* values, uint16 nulls,
                                        double* y) const noexcept {
  for (Size k = 0; k < measures(); ++k) {
    const bool is_null = (nulls >> (k + 1) & 1) != 0;
    y[k] = is_null ? std::nan("") : values[k + 1];
    if (!is_null && !std::isfinite(y[k]))
      return kde::Status::error(kde::Code::invalid_argument,
                                "measure \"%s\" has a value that is not finite",
                                request_.key.column[k + 1].text);
  }
  return kde::Status::success();
}

kde::GridBytes LineEstimate::grid_bytes() const {
  const Size bytes = density_bytes(request_.asked);
  const Size most = bytes + bytes / 2 * (Max(measures(), Size{1}) - 1);
  return {most, request_.bytes > 0 ? request_.bytes : most};
}

void LineEstimate::set_options(const ColumnTypes& types, const kde::ReadShare& read,
                               const kde::Engine& engine) noexcept {
  options_.value_type = types.value_type[0];
  options_.lattice_step = types.lattice_step[0];
  std::copy_n(types.value_type + 1, measures(), options_.measure_types);
  static_cast<kde::ReadShare&>(options_) = read;
  options_.engine = engine;
}

kde::Status LineEstimate::fit_line(const ColumnTypes& types, const kde::ReadShare& read,
                                   const kde::Engine& engine,
                                   const kde::Control& control) noexcept {
  set_options(types, read, engine);
  return kde::fit_column(sample_, options_, control, &density_, &report_);
}

void LineEstimate::check(const kde::Status& status) const {
  const char* hint = nullptr;
  const DensityKey& key = request_.key;
  if (status.code == kde::Code::out_of_range && status.measure >= 0 &&
      status.measure < key.measures) {
    const char* measure = key.column[key.columns + status.measure].text;
    hint = psprintf("Measure %d is \"%s\". Fit it in a larger unit, as '(%s) / 1e200'.",
                    status.measure + 1, measure, measure);
  }
  if (status.code == kde::Code::out_of_range && status.measure < 0 &&
      request_.asked.steps != nullptr)
    hint = "Leave steps out, or such values, by a filter.";
  check_status(status, psprintf("fit a density to %s", describe_columns(key)), hint);
}

void LineEstimate::describe(DensityFit* fit) const {
  show_notice(report_.notice);
  FitRecord& record = fit->record;
  const kde::Header& header = density_.header();
  record.rows_read = static_cast<int64>(sample_.rows_read());
  record.design_effect = sample_.blocks.design_effect();
  record.bandwidth_rows = report_.bandwidth_rows;
  record.bandwidth_status = report_.status;
  if (report_.model[0] != '\0') record.model = pstrdup(report_.model);
  record.engine = report_.engine;
  record.select_ms = report_.select_ms;
  record.estimate_ms = report_.estimate_ms;
  record.table_rows = header.rows + header.nulls;
  describe_density(&header, fit);
  fit->sample_rows = report_.sample_rows;
}

void describe_density(const kde::Header* density, DensityFit* fit) {
  fit->method = kde::asked_method_name(*density);
  fit->bytes = VARSIZE(density);
  fit->rows = density->rows;
  fit->sample_rows = static_cast<int64>(Min(density->sample_rows, 0x1p62));
  fit->expected_error = expected_error_text(density);
}

LineEstimate* new_column_estimate(const DensityRequest& request, MemoryContext context) {
  const kde::Method method = read_column_method(request.asked.method);
  check_sample_rows(request.asked.sample_rows);
  return Owned<ColumnEstimate>::create(context, request, method, context);
}

void check_fitted_by_auto(const DensityRequest& request, const char* what) {
  if (read_column_method(request.asked.method) != kde::Method::automatic ||
      request.asked.sample_rows > 0 || request.asked.exact)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("%s fitted by method auto, to all rows that are read", what),
                    errhint("Leave method, exact and sample_rows out; sample_rows => -1 reads "
                            "every row.")));
}

}  // namespace kde_pg
