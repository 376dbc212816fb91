// Fitting groups: from a row's values of what they are by to their numbers, and back to keys as
// text when all is read. A key is its value as PostgreSQL prints it; of several columns the array
// of those, text[].
#include "pg/base/owned.h"
#include "pg/base/pinned.h"
#include "pg/fit/column_fit.h"
#include "pg/read/categories.h"
#include "pg/read/look_up.h"

#include "core/kde.h"

#include <algorithm>
#include <cmath>

namespace kde_pg {

namespace {

// Of memory that a group of few rows takes.
constexpr Size kBytesPerGroup = 8192;
// As many are allowed whatever the memory.
constexpr Size kSomeGroups = 20000;

Size most_groups() { return Max(memory_limit() / kBytesPerGroup, kSomeGroups); }

class GroupEstimate final : public Estimate {
 public:
  // column: of the same context.
  GroupEstimate(const DensityRequest& request, LineEstimate* column,
                const kde::Sampler::Options& sampling)
      : Estimate(request),
        column_(column),
        groups_(sampling, most_groups()),
        measures_(static_cast<std::size_t>(request.key.measures)),
        first_(request.key.first_group()),
        by_(request.key.groups),
        attnum_(request.key.column[first_].attnum) {}

  Categories* categories(int column) override {
    return column >= first_ ? &categories_[column - first_] : nullptr;
  }
  void begin_rows(bool every_row) override {
    column_->begin_rows(every_row);
    every_row_ = every_row;
    if (every_row) groups_.begin_every_row(request_.level_of_groups);
  }
  kde::Status add(const double* values, uint16 nulls) noexcept override {
    if (!again_)
      if (const kde::Status s = column_->add(values, nulls); !s.ok()) return s;
    kde::GroupCodes codes = {};
    for (int i = 0; i < by_; ++i) {
      const bool is_null = (nulls >> (first_ + i) & 1) != 0;
      codes[static_cast<std::size_t>(i)] =
          is_null ? 0 : static_cast<std::uint32_t>(values[first_ + i]);
    }
    if ((nulls & 1) != 0) return groups_.add_null(codes);
    double y[kde::kMaxMeasures];
    for (std::size_t k = 0; k < measures_; ++k)
      y[k] = (nulls >> (k + 1) & 1) != 0 ? std::nan("") : values[k + 1];
    return groups_.add(codes, values[0], {y, measures_});
  }
  void raise(const kde::Status& status, const char* doing) const override {
    if (status.code == kde::Code::too_large && groups_.size() == most_groups())
      ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                      errmsg("there are more than %zu groups", groups_.size()),
                      errhint("Raise maintenance_work_mem, of which a group takes %zu kB, or group "
                              "by an expression of fewer values.",
                              kBytesPerGroup >> 10)));
    column_->raise(status, doing);
  }
  kde::Status begin_block() noexcept override {
    groups_.begin_block();
    return column_->begin_block();
  }
  void look_again(Relation table, Snapshot snapshot, const ScanResult& scan,
                  RowReader* reader) override;
  void scanned() override;
  kde::Status finish(const kde::Control& control) noexcept override {
    return column_->finish(control);
  }
  const char* nothing_to_fit() const override { return column_->nothing_to_fit(); }
  double nulls_read() const override { return column_->nulls_read(); }
  int level() const override { return column_->level(); }
  int level_of_groups() const override { return groups_.coarsest_level(); }
  kde::SumsWork sums() const override { return column_->sums(); }
  kde::Status fit(const ColumnTypes& types, const kde::ReadShare& read, const kde::Engine& engine,
                  const kde::Control& control) noexcept override {
    if (kde::Status s = column_->fit(types, read, engine, control); !s.ok()) return s;
    density_ = column_->density();
    return groups_.append(column_->options(), control, &density_, &report_, bytes());
  }
  void check(const kde::Status& status) const override { column_->check(status); }
  void describe(DensityFit* fit) const override;
  const Estimate* of_column() const override { return column_; }

  // Before the scan.
  Categories categories_[kde::kMaxGroupBy];

 private:
  kde::GroupsBytes bytes() const {
    return every_row_ ? kde::GroupsBytes::of(column_->grid_bytes()) : kde::kGroupsBytes;
  }
  void read_whole(LookUp* look_up, Size budget, RowReader* reader);

  LineEstimate* column_;
  kde::Groups groups_;
  kde::GroupsReport report_;
  std::size_t measures_;
  int first_, by_;
  AttrNumber attnum_;  // of the first that groups are by; 0: an expression
  bool every_row_ = false;
  bool again_ = false;  // rows are of groups that are read whole
};

// Index entries visited to find the values there are, for a block that was read, at most; and as
// many again for the rows of groups. A row may lie in a block of its own.
constexpr Size kEntriesPerBlock = 2;

// A value that a group is of, and the rows that were sampled of it.
struct SampledValue {
  uint32 number;
  double rows;
};

// Groups are read whole where they have fewer than so many index entries, whatever was sampled of
// them (core/fit/groups.h): as many as keep those visited within `budget`. values: by their rows,
// ascending; *n: how many, then of them those to be looked up. Others have as many rows, or more.
Size whole_below(const SampledValue* values, Size* n, Size budget) {
  const Size all = *n;
  while (*n > 0 && values[*n - 1].rows >= static_cast<double>(budget / *n)) --*n;
  if (*n == 0) return 0;
  const Size most = budget / *n;
  return *n < all ? Min(most, static_cast<Size>(values[*n].rows)) : most;
}

void GroupEstimate::look_again(Relation table, Snapshot snapshot, const ScanResult& scan,
                               RowReader* reader) {
  LookUp look_up;
  if (by_ != 1 || attnum_ == 0 || !look_up.begin(table, snapshot, attnum_, &categories_[0])) return;
  // What it finds that is too long for a key is left out: no fit fails by a row not of its sample.
  categories_[0].limit_text(0);
  const Size budget = kEntriesPerBlock * static_cast<Size>(scan.blocks_read);
  // A group that is read whole has two samplers.
  const Size most = Min(budget, most_groups() / 2);
  if (groups_.size() < most && look_up.number_values(most)) read_whole(&look_up, budget, reader);
  look_up.end();
}

// Of every value, and of NULL.
void GroupEstimate::read_whole(LookUp* look_up, Size budget, RowReader* reader) {
  Size n = Size{categories_[0].size()} + 1;
  auto* values =
      static_cast<SampledValue*>(palloc_extended(sizeof(SampledValue) * n, MCXT_ALLOC_HUGE));
  for (Size i = 0; i < n; ++i) values[i] = {static_cast<uint32>(i), 0};
  for (Size g = 0; g < groups_.size(); ++g) values[groups_.codes(g)[0]].rows = groups_.rows(g);
  std::sort(values, values + n,
            [](const SampledValue& a, const SampledValue& b) { return a.rows < b.rows; });
  const Size below = whole_below(values, &n, budget);
  if (below == 0) return;
  again_ = true;
  bool met_all = true;
  for (Size i = 0; i < n; ++i) {
    check_status(groups_.begin_whole({values[i].number}), "fit groups");
    if (look_up->read(values[i].number, below - 1, reader)) continue;
    groups_.give_up_whole();
    if (values[i].rows == 0) met_all = false;
  }
  if (met_all) groups_.met_all();
}

// "{a,b}", with NULL for those that are.
char* array_text(const Categories* categories, const kde::GroupCodes& codes, int n) {
  Datum values[kde::kMaxGroupBy];
  bool nulls[kde::kMaxGroupBy];
  for (int i = 0; i < n; ++i) {
    const std::uint32_t code = codes[static_cast<Size>(i)];
    nulls[i] = code == 0;
    values[i] = nulls[i] ? 0 : CStringGetTextDatum(categories[i].text(code));
  }
  int lower_bound = 1;
  ArrayType* array =
      construct_md_array(values, nulls, 1, &n, &lower_bound, TEXTOID, -1, false, TYPALIGN_INT);
  return OidOutputFunctionCall(F_ARRAY_OUT, PointerGetDatum(array));
}

void GroupEstimate::scanned() {
  PinnedSettings settings;
  settings.begin();
  MemoryContext each =
      AllocSetContextCreate(CurrentMemoryContext, "kde_aqp group", ALLOCSET_SMALL_SIZES);
  MemoryContext caller = MemoryContextSwitchTo(each);
  for (Size g = 0; g < groups_.size(); ++g) {
    CHECK_FOR_INTERRUPTS();
    const kde::GroupCodes& codes = groups_.codes(g);
    if (by_ == 1 && codes[0] == 0) continue;  // NULL
    const char* key =
        by_ == 1 ? categories_[0].text(codes[0]) : array_text(categories_, codes, by_);
    check_status(groups_.set_key(g, key), "fit groups",
                 "Group by an expression that gives shorter values.");
    MemoryContextReset(each);
  }
  MemoryContextSwitchTo(caller);
  MemoryContextDelete(each);
  settings.end();
}

void GroupEstimate::describe(DensityFit* fit) const {
  column_->describe(fit);
  describe_groups(report_, bytes(), fit);
  fit->expected_error = expected_error_text(&density_.header());
}

}  // namespace

void describe_groups(const kde::GroupsReport& report, const kde::GroupsBytes& bytes,
                     DensityFit* fit) {
  StringInfoData model;
  initStringInfo(&model);
  appendStringInfo(&model, "%zu groups", report.groups);
  if (report.whole > 0) appendStringInfo(&model, ", %zu of them read whole", report.whole);
  if (report.cells[0] != '\0') appendStringInfo(&model, ", %s", report.cells);
  if (report.rest > 0)
    appendStringInfo(&model, ", and %zu with fewer rows that share one density", report.rest);
  if (report.rest > 0)
    ereport(NOTICE, (errmsg("%zu groups of %zu share one density", report.rest,
                            report.groups + report.rest),
                     errdetail("They have fewer rows than the others, and would take more than %zu "
                               "kB.",
                               bytes.many >> 10)));
  fit->record.model = model.data;
}

Estimate* new_group_estimate(const DensityRequest& request, MemoryContext context) {
  const DensityKey& key = request.key;
  check_fitted_by_auto(request, "groups are");
  if (request.asked.max_error > 0)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("max_relative_error is of densities without groups"),
                    errhint("Pass sample_rows => -1 to read every row.")));
  kde::Sampler::Options sampling;
  sampling.seed = request.seed();
  sampling.measures = key.measures;
  sampling.chain = chain_of(key, request.asked);
  auto* estimate = Owned<GroupEstimate>::create(context, request,
                                                new_column_estimate(request, context), sampling);
  for (int i = 0; i < key.groups; ++i) {
    int32 typmod;
    const int at = key.first_group() + i;
    estimate->categories_[i].begin(key_column_type(key, at, &typmod), key_column_collation(key, at),
                                   key.column[at].text, context);
    estimate->categories_[i].limit_text(kde::kMostKeyBytes);
  }
  return estimate;
}

}  // namespace kde_pg
