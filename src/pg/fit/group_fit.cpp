// Fitting groups: from a row's values of what they are by to their numbers, and back to keys as
// text when all is read. A key is its value as PostgreSQL prints it; of several columns the array
// of those, text[].
#include "pg/fit/group_fit.h"

#include "pg/base/owned.h"
#include "pg/base/pinned.h"
#include "pg/fit/column_fit.h"
#include "pg/fit/look_up.h"
#include "pg/read/categories.h"

#include "core/kde.h"

extern "C" {
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
}

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
  GroupEstimate(const DensityKey& key, Estimate* column, const kde::Sampler::Options& sampling)
      : column_(column),
        groups_(sampling, most_groups()),
        measures_(static_cast<std::size_t>(key.measures)),
        first_(key.first_group()),
        by_(key.groups) {}

  Categories* categories(int column) override {
    return column >= first_ ? &categories_[column - first_] : nullptr;
  }
  kde::Status add(const double* values, uint16 nulls) noexcept override {
    if (const kde::Status s = column_->add(values, nulls); !s.ok()) return s;
    return add_to_group(values, nulls);
  }
  // The row's group alone.
  kde::Status add_to_group(const double* values, uint16 nulls) noexcept {
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
  kde::Status begin_block() noexcept override {
    groups_.begin_block();
    return column_->begin_block();
  }
  void look_again(Relation relation, const DensityRequest& request, const ColumnTypes& types,
                  const ScanResult& scan) override;
  void scanned() override;
  kde::Status finish(const kde::Control& control) noexcept override {
    return column_->finish(control);
  }
  const char* nothing_to_fit(const DensityKey& key) const override {
    return column_->nothing_to_fit(key);
  }
  kde::SumsWork sums() const override { return column_->sums(); }
  kde::Status fit(const ColumnTypes& types, const ScanResult& scan, const kde::Engine& engine,
                  const kde::Control& control) noexcept override;
  void check(const kde::Status& status, const DensityKey& key) const override {
    column_->check(status, key);
  }
  double expected_error() const override { return column_->expected_error(); }
  void describe(DensityFit* fit) const override;
  const Estimate* of_column() const override { return column_; }

  // Before the scan.
  Categories categories_[kde::kMaxGroupBy];

 private:
  Estimate* column_;
  kde::Groups groups_;
  kde::GroupsReport report_;
  std::size_t measures_;
  int first_, by_;
  bool fitted_ = false;
};

// All rows of groups that are begun again.
class AgainSink final : public RowSink {
 public:
  explicit AgainSink(GroupEstimate* groups) : groups_(groups) {}
  Categories* categories(int column) override { return groups_->categories(column); }
  kde::Status add(const double* values, uint16 nulls) noexcept override {
    return groups_->add_to_group(values, nulls);
  }
  kde::Status begin_block() noexcept override { return kde::Status::success(); }

 private:
  GroupEstimate* groups_;
};

// Groups of fewer rows read may be read again, as long as all of them together have so many rows
// for a block that was read.
constexpr double kFewRows = 100;
constexpr double kRowsAgainPerBlock = 2;

void GroupEstimate::look_again(Relation relation, const DensityRequest& request,
                               const ColumnTypes& types, const ScanResult& scan) {
  const DensityKey& key = request.key;
  if (scan.every_row_read || by_ != 1 || !can_look_up(relation, key.column[first_])) return;
  Categories* values = &categories_[0];
  const uint32 met = values->size();
  const bool all = number_values(relation, key.column[first_], most_groups(), values);

  struct Rare {
    uint32 number;
    double rows;
  };
  auto* rare = static_cast<Rare*>(
      MemoryContextAllocHuge(CurrentMemoryContext, sizeof(Rare) * (Size{values->size()} + 1)));
  Size n = 0;
  for (Size g = 0; g < groups_.size(); ++g) {
    const std::uint32_t number = groups_.codes(g)[0];
    if (number != 0 && groups_.rows(g) < kFewRows) rare[n++] = {number, groups_.rows(g)};
  }
  for (uint32 number = met + 1; number <= values->size(); ++number) rare[n++] = {number, 0};
  std::sort(rare, rare + n, [](const Rare& a, const Rare& b) {
    return a.rows != b.rows ? a.rows < b.rows : a.number < b.number;
  });
  double left = kRowsAgainPerBlock * static_cast<double>(scan.blocks_read);
  Size chosen = 0;
  for (; chosen < n; ++chosen) {
    left -= Max(rare[chosen].rows, 1) * scan.rows_per_row_read;
    if (left < 0) break;
  }
  if (chosen == 0) return;
  auto* numbers = static_cast<uint32*>(palloc_extended(sizeof(uint32) * chosen, MCXT_ALLOC_HUGE));
  for (Size i = 0; i < chosen; ++i) {
    numbers[i] = rare[i].number;
    check_status(groups_.begin_again({numbers[i]}), "fit groups");
  }
  // The unmet come first.
  if (all && chosen >= values->size() - met) groups_.met_all();
  AgainSink sink(this);
  ScanOptions options;
  options.every_row = options.by_query = true;
  ScanResult again;
  DensityKey some = columns_read(key);
  some.filter = with_values(key, key.column[first_], *values, numbers, chosen);
  scan_as_owner(relation, some, types, options, psprintf("read %s", describe_columns(key)), &sink,
                &again);
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

kde::Status GroupEstimate::fit(const ColumnTypes& types, const ScanResult& scan,
                               const kde::Engine& engine, const kde::Control& control) noexcept {
  if (kde::Status s = column_->fit(types, scan, engine, control); !s.ok()) return s;
  kde::GroupOptions options;
  options.fit.value_type = types.value_type[0];
  options.fit.lattice_step = types.lattice_step[0];
  std::copy_n(types.value_type + 1, measures_, options.fit.measure_types);
  options.fit.rows_per_row_read = scan.rows_per_row_read;
  options.fit.every_row_read = scan.every_row_read;
  options.fit.share_of_blocks = scan.every_row_read ? 1 : scan.share_read();
  density_ = column_->density();
  return groups_.append(options, control, &density_, &report_);
}

void GroupEstimate::describe(DensityFit* fit) const {
  column_->describe(fit);
  StringInfoData model;
  initStringInfo(&model);
  appendStringInfo(&model, "%zu groups", report_.groups);
  if (report_.rest > 0)
    appendStringInfo(&model, ", and %zu with fewer rows that share one density", report_.rest);
  if (report_.rest > 0)
    ereport(
        NOTICE,
        (errmsg("%zu groups of %zu share one density", report_.rest, report_.groups + report_.rest),
         errdetail("They have fewer rows than the others, and would take more than %zu MB.",
                   kde::kGroupsBytes >> 20)));
  fit->record.model = model.data;
}

}  // namespace

Estimate* new_group_estimate(const DensityRequest& request, MemoryContext context) {
  const DensityKey& key = request.key;
  if (read_column_method(request.asked.method) != kde::Method::automatic ||
      request.asked.sample_rows > 0 || request.asked.exact)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("groups are fitted by method auto, to all rows that are read"),
                    errhint("Leave method, exact and sample_rows out; sample_rows => -1 reads "
                            "every row.")));
  if (request.asked.max_error > 0)
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("max_relative_error is of densities without groups")));
  DensityRequest column = request;
  column.key = ungrouped(key);
  kde::Sampler::Options sampling;
  sampling.seed = static_cast<uint64>(request.asked.seed);
  sampling.measures = key.measures;
  auto* estimate =
      Owned<GroupEstimate>::create(context, key, new_column_estimate(column, context), sampling);
  for (int i = 0; i < key.groups; ++i) {
    int32 typmod;
    const int at = key.first_group() + i;
    estimate->categories_[i].begin(key_column_type(key, at, &typmod), key_column_collation(key, at),
                                   key.column[at].text, context);
  }
  return estimate;
}

}  // namespace kde_pg
