// The table that `make bench` prints: one row a measurement, made with Google Benchmark, whose
// --benchmark_filter chooses rows by their names (`--benchmark_list_tests` lists them).
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>

namespace kde::bench {

// What a row is about: its first columns, and the parts of its name.
struct Row {
  std::string selector;
  std::int64_t n = 0;
  int d = 1;
  std::string engine;
  std::string instructions = "-";
  int threads = 1;
  std::string precision = "double";
};

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// What a run tells besides its time; kUnknown is shown as "-".
struct Outcome {
  double terms = 0;         // terms of the textbook's sums, whether or not they were visited
  double error = kUnknown;  // relative, of what was selected or evaluated
  double sequential_ms = kUnknown;  // of the textbook's loops on the same work in this process
};

// work: holds the loop over `state`, and whatever must not be timed around it. It is called `runs`
// times, one iteration each; the table shows the median.
void add(const Row& row, int runs, const std::function<Outcome(benchmark::State&)>& work);

// Runs what the command line chooses and prints the table. Returns the exit status.
int run_table(int argc, char** argv);

// Milliseconds that `work` takes, once.
double milliseconds_of(const std::function<void()>& work);

}  // namespace kde::bench
