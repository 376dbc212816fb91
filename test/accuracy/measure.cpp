// The run of measure.h.
#include "measure.h"

#include "core/random.h"

#include "stream.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <mutex>
#include <utility>

namespace kde::accuracy {

namespace {

using ErrorLists = std::array<std::array<std::vector<double>, kQuantities>, kEstimators>;

// One sample of one column: a task of its own, which writes to nothing else.
struct Task {
  std::size_t column = 0;
  int level = 0, sample = 0;
  bool errors = false;
  ErrorLists error_lists;
  std::array<Coverage, kQuantities> coverage;
  std::size_t auto_bytes = 0, plugin_bytes = 0;
  Fitted density;
};

void add_errors(Estimator estimator, const Answers& answers, const Question& question,
                ErrorLists* lists) {
  for (int q = 0; q < kQuantities; ++q)
    (*lists)[estimator][q].push_back(error_of(static_cast<Quantity>(q), answers, question));
}

void run_task(const Plan& plan, const ColumnResult& column, Task* task) {
  const std::size_t rows = column.rows();
  const bool every_row = kLevelRows[task->level] == 0;
  std::vector<double> sample =
      every_row ? column.values
                : draw_sample(column.values, kLevelRows[task->level],
                              stream(plan.seed, column.name(), task->level + 1, task->sample));
  FitRequest request;
  request.type = column.type;
  request.rows = rows;
  Fitted density = fit(sample, request);
  task->auto_bytes = density.bytes.size();
  Fitted plugin;
  if (task->errors) {
    request.method = Method::plugin;
    plugin = fit(sample, request);
    task->plugin_bytes = plugin.bytes.size();
  }
  std::sort(sample.begin(), sample.end());
  const UnitKernel unit_kernel(task->errors ? sample : std::vector<double>());

  for (const Question& question : column.questions) {
    const Slice slice = slice_of(sample, question.range);
    for (int q = 0; q < kQuantities; ++q)
      count_question(static_cast<Quantity>(q), density.view(), slice, sample.size(), rows, question,
                     &task->coverage[q]);
    if (!task->errors) continue;
    add_errors(kAuto, density_answers(density.view(), question.range), question,
               &task->error_lists);
    add_errors(kPlugin, density_answers(plugin.view(), question.range), question,
               &task->error_lists);
    add_errors(kRaw, sample_answers(slice, sample.size(), rows), question, &task->error_lists);
    add_errors(kUnitKernel, unit_kernel.answers(question.range, rows), question,
               &task->error_lists);
  }
  if (task->sample == 0) task->density = std::move(density);
}

std::vector<Task> make_tasks(const Plan& plan, const std::vector<ColumnResult>& columns) {
  std::vector<Task> tasks;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    for (int l = 0; l < kLevels; ++l) {
      const bool every_row = kLevelRows[l] == 0;
      if (columns[c].rows() < 2 * kLevelRows[l]) continue;
      for (int s = 0; s < (every_row ? 1 : plan.coverage_samples); ++s) {
        Task task;
        task.column = c;
        task.level = l;
        task.sample = s;
        task.errors = s < plan.error_samples;
        tasks.push_back(std::move(task));
      }
    }
  }
  return tasks;
}

// In the order of the tasks, whichever ended first.
void collect(std::vector<Task>* tasks, std::vector<ColumnResult>* columns) {
  for (auto first = tasks->begin(); first != tasks->end();) {
    Level& level = (*columns)[first->column].levels[first->level];
    level.measured = true;
    level.sample_rows = kLevelRows[first->level];
    if (level.sample_rows == 0) level.sample_rows = (*columns)[first->column].rows();
    ErrorLists lists;
    auto task = first;
    for (; task != tasks->end() && task->column == first->column && task->level == first->level;
         ++task) {
      for (int e = 0; e < kEstimators; ++e) {
        for (int q = 0; q < kQuantities; ++q)
          lists[e][q].insert(lists[e][q].end(), task->error_lists[e][q].begin(),
                             task->error_lists[e][q].end());
      }
      for (int q = 0; q < kQuantities; ++q) level.coverage[q].add(task->coverage[q]);
      level.auto_bytes = std::max(level.auto_bytes, task->auto_bytes);
      level.plugin_bytes = std::max(level.plugin_bytes, task->plugin_bytes);
      if (task->sample == 0) level.density = std::move(task->density);
    }
    for (int e = 0; e < kEstimators; ++e)
      for (int q = 0; q < kQuantities; ++q) level.errors[e][q] = summarise(lists[e][q]);
    first = task;
  }
}

// A table 10 times the sample's rows, its values drawn from the column with replacement.
double timed_fit(const Plan& plan, const ColumnResult& column) {
  std::vector<double> milliseconds;
  for (int run = 0; run < plan.timed_fits; ++run) {
    Random random(stream(plan.seed, column.name(), kLevels + 1, run));
    std::vector<double> values(plan.timed_rows);
    for (double& x : values) x = column.values[random.below(column.rows())];
    FitRequest request;
    request.type = column.type;
    request.rows = 10 * values.size();
    request.threads = plan.timed_threads;
    const FitReport report = fit(values, request).report;
    milliseconds.push_back(report.select_ms + report.estimate_ms);
  }
  return quantile_of(milliseconds, 0.5);
}

}  // namespace

std::vector<ColumnResult> columns_to_measure(Table* table, std::uint64_t seed) {
  std::vector<ColumnResult> results;
  for (Column& column : table->columns) {
    if (column.values.empty()) continue;
    std::vector<double> sorted = column.values;
    std::sort(sorted.begin(), sorted.end());
    RangeRule rule;
    if (column.type == ColumnType::timestamp || column.type == ColumnType::timestamptz)
      rule.grid = 1;
    ColumnResult result;
    result.questions =
        make_questions(sorted, rule, stream(seed, table->name + "." + column.name, 0, 0));
    if (result.questions.empty()) continue;
    result.distinct = static_cast<std::size_t>(
        std::distance(sorted.begin(), std::unique(sorted.begin(), sorted.end())));
    result.table = table->name;
    result.column = column.name;
    result.type = column.type;
    result.nulls = column.nulls;
    result.values = std::move(column.values);
    results.push_back(std::move(result));
  }
  return results;
}

void measure(const Plan& plan, std::vector<ColumnResult>* columns) {
  std::vector<Task> tasks = make_tasks(plan, *columns);
  std::exception_ptr failure;
  std::mutex mutex;
  const int count = static_cast<int>(tasks.size());
#pragma omp parallel for schedule(dynamic)
  for (int i = 0; i < count; ++i) {
    try {
      run_task(plan, (*columns)[tasks[i].column], &tasks[i]);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  collect(&tasks, columns);
  for (ColumnResult& column : *columns) column.fit_ms = timed_fit(plan, column);
}

}  // namespace kde::accuracy
