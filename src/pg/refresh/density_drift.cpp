// kde_drift, and the same for refreshes: the distance of a small fresh sample from the stored
// distribution of each column, Kolmogorov and Smirnov's or, of categories, of the values' shares.
#include "pg/refresh/density_drift.h"

#include "pg/base/interrupts.h"
#include "pg/base/options.h"
#include "pg/base/owned.h"
#include "pg/base/pinned.h"
#include "pg/values/result_set.h"
#include "pg/type/density_datum.h"
#include "pg/catalog/catalog.h"
#include "pg/catalog/density_name.h"
#include "pg/catalog/expression.h"
#include "pg/catalog/not_fitted.h"
#include "pg/catalog/staleness.h"
#include "pg/progress/progress.h"
#include "pg/fit/fit_steps.h"
#include "pg/read/word_finder.h"

#include "core/kde.h"

#include <deque>

namespace kde_pg {

namespace {

// A sampler for each column; NULLs of one do not concern another.
class EachColumn final : public RowSink {
 public:
  explicit EachColumn(std::deque<kde::Sampler>* samplers) : samplers_(samplers) {}
  // Of a category: by the ranks that its density has.
  void rank_by(int column, Categories* categories) { categories_[column] = categories; }
  Categories* categories(int column) override { return categories_[column]; }
  kde::Status add(const double* values, uint16 nulls) noexcept override {
    for (std::size_t k = 0; k < samplers_->size(); ++k) {
      if ((nulls >> k & 1) != 0) {
        (*samplers_)[k].add_null();
      } else if (const kde::Status status = (*samplers_)[k].add(values[k]); !status.ok()) {
        return status;
      }
    }
    return kde::Status::success();
  }
  kde::Status begin_block() noexcept override {
    for (kde::Sampler& sampler : *samplers_) {
      if (const kde::Status status = sampler.begin_block(); !status.ok()) return status;
    }
    return kde::Status::success();
  }

 private:
  std::deque<kde::Sampler>* samplers_;
  Categories* categories_[kde::kMaxColumns] = {};
};

// `columns` samplers of one choice of rows.
struct Samplers {
  Samplers(int columns, const kde::ValueType* types, kde::Sampler::Options options) {
    for (int k = 0; k < columns; ++k) {
      options.chain = kde::chain_of(types[k]);
      all.emplace_back(options);
    }
  }
  std::deque<kde::Sampler> all;
};

// The distribution of a column of the stored density, and what it was estimated from.
const kde::Header* column_density(const AnyDensity& density, int column, double* estimated_from) {
  const kde::Header* header = density.column(column);
  *estimated_from = kde::rows_behind(*header);
  return header;
}

AnyDensity stored_density(const CatalogEntry& entry) {
  const AnyDensity density = any_density_from_datum(PointerGetDatum(catalog_value(entry)));
  if (density.columns() != entry.key.columns)
    ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
                    errmsg("the density of %s is not of its columns", display_name(entry.key))));
  return density;
}

// A category of the density, by whose words its values are ranked.
struct RankedColumn {
  WordType type;
  WordFinder finder;
  Categories categories;
  kde::WordsView words;

  explicit RankedColumn(const kde::Header* header) : words(header) {}
};

// Column k of the key, whose own density that is. Null: its words are not of its type as it is now.
RankedColumn* rank_column(const kde::Header* header, const DensityKey& key, int k,
                          MemoryContext context) {
  if (header->words == 0)
    ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
                    errmsg("the density of %s is not of its columns", display_name(key))));
  int32 typmod;
  MemoryContext caller = MemoryContextSwitchTo(context);
  auto* column = new (palloc(sizeof(RankedColumn))) RankedColumn(header);
  column->type.begin(key_column_type(key, k, &typmod), key_column_collation(key, k));
  column->finder.begin(&column->words, &column->type);
  column->categories.rank_by(
      [](void* finder, Datum value) { return static_cast<WordFinder*>(finder)->rank(value); },
      &column->finder);
  MemoryContextSwitchTo(caller);
  return column->type.why_outdated(column->words) == nullptr ? column : nullptr;
}

// What is noted of several columns, of which so many were tested, with Bonferroni's p-values: the
// greatest distance that is not by chance; else the least probable one. Columns differ in their
// NULLs and in how alike the rows of a block are, so neither is the other: of the greatest distance
// alone, few rows would hide a small one that is sure, and of the least p-value alone the reverse.
kde::Drift worst_of(const kde::Drift* drifts, int columns, int tested) {
  kde::Drift worst;
  for (int k = 0; k < columns; ++k) {
    kde::Drift drift = drifts[k];
    drift.p_value = Min(drift.p_value * Max(tested, 1), 1.0);
    const bool equal =
        drift.p_value == worst.p_value || Max(drift.p_value, worst.p_value) < kSureDriftPValue;
    if (equal ? drift.distance > worst.distance : drift.p_value < worst.p_value) worst = drift;
  }
  return worst;
}

void note_drift(Upkeep* upkeep, double distance, double p_value) {
  upkeep->drift = distance;
  upkeep->drift_p_value = p_value;
  upkeep->drift_at = GetCurrentTimestamp();
  upkeep_write(upkeep);
}

}  // namespace

void measure_drift(LockedDensity* locked, const DensityKey& key, Relation relation,
                   int64 sample_rows, int64 seed, ColumnDrift* out) {
  const ColumnTypes types = check_types(key);
  const AnyDensity density = stored_density(*locked->entry);
  progress_begin(key, Operation::drift);

  MemoryContext context =
      AllocSetContextCreate(CurrentMemoryContext, "kde_drift", ALLOCSET_DEFAULT_SIZES);
  kde::Sampler::Options sampling;
  sampling.sample_rows = sample_rows;
  sampling.seed = static_cast<uint64>(seed);
  Samplers* samplers = Owned<Samplers>::create(context, key.columns, types.value_type, sampling);
  kde::Sample* sample = Owned<kde::Sample>::create(context);
  ScanOptions options;
  options.sample_blocks = Max(option_sample_blocks / 10, 1);
  options.seed = static_cast<uint64>(seed);
  EachColumn sink(&samplers->all);
  RankedColumn* ranked[kde::kMaxColumns] = {};
  double estimated_from[kde::kMaxColumns];
  const kde::Header* stored[kde::kMaxColumns];
  // Of words all that they say is of other values.
  const auto note_all_changed = [&] {
    for (int k = 0; out != nullptr && k < key.columns; ++k) out[k] = {{1, 0}, 0};
    note_drift(&locked->upkeep, 1, 0);
    MemoryContextDelete(context);
    progress_end();
  };
  for (int k = 0; k < key.columns; ++k) {
    stored[k] =
        column_density(density, find_column(locked->entry->key, key.column[k]), &estimated_from[k]);
    if (types.value_type[k] != kde::ValueType::category) continue;
    ranked[k] = rank_column(stored[k], key, k, context);
    if (ranked[k] == nullptr) return note_all_changed();
    sink.rank_by(k, &ranked[k]->categories);
  }
  DensityKey columns = key;
  columns.measures = columns.groups = 0;
  ScanResult scan;
  const char* doing = psprintf("read %s", describe_columns(key));
  scan_rows(relation, columns, types.value_type, options, &sink, &scan);
  for (const RankedColumn* column : ranked)
    if (column != nullptr && column->finder.outdated()) return note_all_changed();

  kde::Drift drifts[kde::kMaxColumns];
  int tested = 0;
  for (int k = 0; k < key.columns; ++k) {
    check_status(samplers->all[static_cast<Size>(k)].finish(sample, begin_core_work(1)), doing);
    // Blocks without a row that the filter accepts say nothing of the others.
    if (sample->rows_read() == 0 && (!key.has_filter() || scan.every_row_read))
      raise_nothing_to_fit(relation, key, "The scan found no rows.");
    if (sample->not_null() > 0) {
      const kde::DensityView stored_view(stored[k]);
      if (ranked[k] != nullptr)
        check_status(
            kde::word_drift(stored_view, ranked[k]->words, *sample, begin_core_work(1), &drifts[k]),
            doing);
      else
        check_status(kde::drift(stored_view, *sample, estimated_from[k], &drifts[k]), doing);
      ++tested;
    }
    if (out != nullptr) {
      out[k].drift = drifts[k];
      out[k].sample_rows =
          static_cast<int64>(sample->sample_rows() + sample->not_null() - sample->totals.count());
    }
  }
  const kde::Drift noted = worst_of(drifts, key.columns, tested);
  note_drift(&locked->upkeep, noted.distance, noted.p_value);
  MemoryContextDelete(context);
  progress_end();
}

}  // namespace kde_pg

// kde_drift(density, by_name_only, filter, sample_rows, seed)
KDE_EXPORT(kde_drift_by_name);
Datum kde_drift_by_name(PG_FUNCTION_ARGS) {
  using namespace kde_pg;
  check_may_write("kde_drift()");
  reject_null(fcinfo, 0, "density");
  check_by_name_only(fcinfo, 1);
  reject_null(fcinfo, 3, "sample_rows");
  const int64 sample_rows = PG_GETARG_INT64(3);
  if (sample_rows < 2)
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("sample_rows must be at least 2"),
             errdetail("The value given was %lld.", static_cast<long long>(sample_rows))));
  check_sample_fits(sample_rows, 64 * kde::kMaxColumns,
                    "Use a smaller sample or raise maintenance_work_mem.");
  const ResultRows rows = begin_rows(fcinfo, 4);
  const NameParts parts = parts_of_name(PG_GETARG_TEXT_PP(0));
  Relation relation = open_maintained_relation(parts.relation);
  check_kind(relation);
  const DensityKey key = key_of_parts(parts, text_argument(fcinfo, 2));
  check_may_fit(key);
  catalog_lock(key);
  ColumnDrift out[kde::kMaxColumns];
  LockedDensity locked = {catalog_entry(key), {}};
  if (locked.entry == nullptr) raise_not_fitted(key);
  locked.upkeep = upkeep_find(locked.entry->id);
  measure_drift(&locked, key, relation, sample_rows,
                PG_ARGISNULL(4) ? random_seed() : PG_GETARG_INT64(4), out);
  for (int k = 0; k < key.columns; ++k) {
    rows.put(key.column[k].text, out[k].drift.distance, out[k].drift.p_value, out[k].sample_rows);
  }
  relation_close(relation, NoLock);
  return static_cast<Datum>(0);
}
