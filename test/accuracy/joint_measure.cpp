// The run of joint_measure.h.
#include "joint_measure.h"

#include "stream.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>

namespace kde::accuracy {

namespace {

// One sample of one set: a task of its own, which writes to nothing else.
struct Task {
  std::size_t set = 0;
  int level = 0;
  Reading reading = kReadAll;
  int repetition = 0;
  bool others = false;  // estimators but auto and the raw sample
  std::vector<JointCase> cases;
  std::array<Coverage, kQuantities> coverage;
  std::size_t bytes = 0;
  double fit_ms = 0;
};

struct Candidate {
  JointEstimator estimator;
  std::optional<JointFitted> fitted;
  std::vector<int> column;
};

std::vector<int> with(std::vector<int> columns, int target) {
  if (target >= 0 && std::find(columns.begin(), columns.end(), target) == columns.end())
    columns.push_back(target);
  return columns;
}

int position_of(const std::vector<int>& columns, int column) {
  if (column < 0) return -1;
  return static_cast<int>(std::find(columns.begin(), columns.end(), column) - columns.begin());
}

void note_cost(const JointFitted& fitted, Task* task) {
  task->bytes = std::max(task->bytes, fitted.bytes.size());
  task->fit_ms = std::max(task->fit_ms, fitted.report.select_ms + fitted.report.estimate_ms);
}

JointDraw draw_for(const JointSet& set, const std::vector<int>& columns, const Task& task,
                   const JointPlan& plan) {
  const std::size_t n = plan.rows[task.level];
  const std::size_t all = set.table->rows.rows;
  const std::size_t read = task.reading == kReadAll         ? all
                           : task.reading == kReadThreefold ? std::min(3 * n, all)
                                                            : n;
  // The same rows whatever the target: the draw depends on the numbers of rows alone.
  return draw_joint(*set.table, columns, n, read,
                    stream(plan.seed, set.name(), 1 + task.level * kReadings + task.reading,
                           2 * static_cast<std::size_t>(task.repetition)));
}

// The densities that answer questions about those columns.
std::vector<Candidate> candidates_for(const JointSet& set, const JointDraw& draw, Task* task) {
  std::vector<Candidate> candidates;
  const auto add = [&](JointEstimator estimator, JointMethod method) {
    candidates.push_back({estimator, fit_joint(draw, *set.table, method), draw.column});
  };
  add(kJointAuto, JointMethod::automatic);
  note_cost(*candidates.back().fitted, task);
  if (!task->others) return candidates;
  add(kJointMatrix, JointMethod::lscv_matrix);
  add(kJointScalar, JointMethod::lscv);
  add(kJointPlugin, JointMethod::plugin_product);
  return candidates;
}

void run_case(const JointSet& set, const JointDraw& draw, const std::vector<Candidate>& candidates,
              const std::vector<BoxTotals>& sample_totals, JointCase* of, Task* task) {
  const std::size_t rows = set.table->rows.rows;
  const std::size_t n = draw.rows.rows;
  std::array<std::vector<double>, kJointEstimators> errors;
  for (std::size_t b = 0; b < set.questions.size(); ++b) {
    const BoxQuestion& box = set.questions[b];
    const Question question = question_of(set, box, *of);
    const BoxTotals& totals = sample_totals[b];
    Slice slice;
    slice.rows = totals.rows;
    if (of->target >= 0) slice = totals.slice[position_of(draw.column, of->target)];
    for (const Candidate& candidate : candidates) {
      const Box within = box_within(box.box, candidate.column);
      const int target = position_of(candidate.column, of->target);
      if (!candidate.fitted) continue;
      const JointView density = candidate.fitted->view();
      errors[candidate.estimator].push_back(
          error_of(of->quantity, joint_answers(density, within, target), question));
      if (candidate.estimator != kJointAuto) continue;
      count_question(of->quantity, joint_interval(of->quantity, density, within, target), slice, n,
                     rows, question, &task->coverage[of->quantity]);
    }
    errors[kJointRaw].push_back(
        error_of(of->quantity, raw_answers(totals, slice, n, rows), question));
  }
  of->errors[kJointRaw].push_back(summarise(errors[kJointRaw]).mean);
  for (const Candidate& candidate : candidates)
    of->errors[candidate.estimator].push_back(summarise(errors[candidate.estimator]).mean);
}

void run_task(const JointPlan& plan, const JointSet& set, Task* task) {
  task->cases = cases_of(set);
  std::vector<Candidate> wide;
  std::vector<int> all(set.table->columns());
  std::iota(all.begin(), all.end(), 0);
  // The cases of a target follow each other, and they share what is fitted.
  for (auto first = task->cases.begin(); first != task->cases.end();) {
    auto last = first;
    const std::vector<int> columns = with(set.column, first->target);
    while (last != task->cases.end() && with(set.column, last->target) == columns) ++last;
    const JointDraw draw = draw_for(set, columns, *task, plan);
    std::vector<Candidate> candidates = candidates_for(set, draw, task);
    if (task->others && columns.size() < all.size()) {
      if (wide.empty()) {
        const JointDraw wide_draw = draw_for(set, all, *task, plan);
        wide.push_back({kJointWide, fit_joint(wide_draw, *set.table, JointMethod::automatic), all});
      }
      candidates.push_back(wide.front());
    }
    std::vector<BoxTotals> totals;
    for (const BoxQuestion& box : set.questions)
      totals.push_back(totals_of(draw.rows, box_within(box.box, columns)));
    for (; first != last; ++first) run_case(set, draw, candidates, totals, &*first, task);
  }
}

std::vector<Task> make_tasks(const JointPlan& plan, const std::vector<JointSet>& sets) {
  std::vector<Task> tasks;
  // The long ones first, so that they do not end alone.
  for (int level = kJointLevels - 1; level >= 0; --level) {
    for (std::size_t s = 0; s < sets.size(); ++s) {
      if (sets[s].table->rows.rows <= plan.rows[level]) continue;
      for (const Reading reading : {kReadAll, kReadThreefold, kReadSample}) {
        const int repetitions =
            reading == kReadAll ? plan.repetitions[level] : plan.other_repetitions[level];
        for (int r = 0; r < repetitions; ++r) {
          Task task;
          task.set = s;
          task.level = level;
          task.reading = reading;
          task.repetition = r;
          task.others = reading == kReadAll && r < plan.other_repetitions[level];
          tasks.push_back(std::move(task));
        }
      }
    }
  }
  return tasks;
}

// In the order of the tasks, whichever ended first.
void collect(const std::vector<Task>& tasks, std::vector<JointSet>* sets) {
  for (const Task& task : tasks) {
    JointLevel& level = (*sets)[task.set].levels[task.reading][task.level];
    if (!level.measured) level.cases = cases_of((*sets)[task.set]);
    level.measured = true;
    for (std::size_t c = 0; c < level.cases.size(); ++c) {
      for (int e = 0; e < kJointEstimators; ++e) {
        std::vector<double>& to = level.cases[c].errors[e];
        to.insert(to.end(), task.cases[c].errors[e].begin(), task.cases[c].errors[e].end());
      }
    }
    for (int q = 0; q < kQuantities; ++q) level.coverage[q].add(task.coverage[q]);
    level.bytes = std::max(level.bytes, task.bytes);
    level.fit_ms = std::max(level.fit_ms, task.fit_ms);
  }
}

}  // namespace

std::string JointSet::name() const {
  std::string text = table->name;
  for (std::size_t k = 0; k < column.size(); ++k)
    text += (k == 0 ? "(" : ", ") + table->column_name[column[k]];
  return text + ")";
}

std::vector<JointSet> joint_sets(const JointTable& table, const JointPlan& plan) {
  std::vector<JointSet> sets;
  const auto add = [&](const std::vector<int>& columns) {
    JointSet set;
    set.table = &table;
    set.column = columns;
    set.questions = make_boxes(table.rows, columns, plan.rule, stream(plan.seed, set.name(), 0, 0));
    if (!set.questions.empty()) sets.push_back(std::move(set));
  };
  const int d = table.columns();
  for (int i = 0; i < d; ++i)
    for (int j = i + 1; j < d; ++j) add({i, j});
  for (int i = 0; i < d; ++i)
    for (int j = i + 1; j < d; ++j)
      for (int k = j + 1; k < d; ++k) add({i, j, k});
  return sets;
}

std::vector<JointCase> cases_of(const JointSet& set) {
  std::vector<JointCase> cases(1);
  std::vector<int> targets = {set.column.front()};
  for (int k = 0; k < set.table->columns(); ++k)
    if (std::find(set.column.begin(), set.column.end(), k) == set.column.end())
      targets.push_back(k);
  for (const int target : targets) {
    for (const Quantity quantity : {kSum, kMean}) {
      cases.emplace_back();
      cases.back().quantity = quantity;
      cases.back().target = target;
    }
  }
  return cases;
}

Question question_of(const JointSet& set, const BoxQuestion& box, const JointCase& of) {
  Question question;
  question.fraction = box.fraction;
  question.truth.rows = box.truth.rows;
  if (of.target < 0) return question;
  question.truth = box.truth.slice[of.target];
  const auto side = std::find(box.box.column.begin(), box.box.column.end(), of.target);
  if (side != box.box.column.end()) {
    question.range = box.box.range[side - box.box.column.begin()];
  } else {
    const double mean = set.table->mean[of.target];
    question.range = closed_range(mean, mean);
  }
  return question;
}

void measure_joint(const JointPlan& plan, std::vector<JointSet>* sets) {
  std::vector<Task> tasks = make_tasks(plan, *sets);
  std::exception_ptr failure;
  std::mutex mutex;
  const int count = static_cast<int>(tasks.size());
#pragma omp parallel for schedule(dynamic)
  for (int i = 0; i < count; ++i) {
    try {
      run_task(plan, (*sets)[tasks[i].set], &tasks[i]);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  collect(tasks, sets);
}

}  // namespace kde::accuracy
