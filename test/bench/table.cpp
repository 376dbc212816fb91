// Columns and rows of the table.
#include "table.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <vector>

namespace kde::bench {
namespace {

std::map<std::string, Row>& rows() {
  static std::map<std::string, Row> all;
  return all;
}

std::string name_of(const Row& row) {
  return row.selector + "/n=" + std::to_string(row.n) + "/d=" + std::to_string(row.d) + "/" +
         row.engine + "/" + row.instructions + "/" + row.precision +
         "/threads=" + std::to_string(row.threads);
}

std::string cell(const char* format, double value) {
  if (std::isnan(value)) return "-";
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

class Table : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override {
    std::printf("%-9s %8s %2s %-13s %-6s %2s %-6s %10s %10s %8s %9s\n", "selector", "n", "d",
                "engine", "set", "th", "word", "ms", "terms/s", "ratio", "error");
    return true;
  }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type == Run::RT_Aggregate && run.aggregate_name != "median") continue;
      const Row& row = rows().at(run.run_name.function_name);
      std::printf("%-9s %8lld %2d %-13s %-6s %2d %-6s ", row.selector.c_str(),
                  static_cast<long long>(row.n), row.d, row.engine.c_str(),
                  row.instructions.c_str(), row.threads, row.precision.c_str());
      if (run.error_occurred) {
        std::printf("%s\n", run.error_message.c_str());
      } else {
        const double ms = run.GetAdjustedRealTime();
        std::printf("%10s %10s %8s %9s\n", cell("%.3f", ms).c_str(),
                    cell("%.2e", run.counters.at("terms") / ms * 1e3).c_str(),
                    cell("%.1f", run.counters.at("sequential_ms") / ms).c_str(),
                    cell("%.0e", run.counters.at("error")).c_str());
      }
      std::fflush(stdout);
    }
  }
};

}  // namespace

void add(const Row& row, int runs, const std::function<Outcome(benchmark::State&)>& work) {
  const std::string name = name_of(row);
  rows()[name] = row;
  benchmark::RegisterBenchmark(name.c_str(),
                               [work](benchmark::State& state) {
                                 const Outcome outcome = work(state);
                                 state.counters["terms"] = outcome.terms;
                                 state.counters["error"] = outcome.error;
                                 state.counters["sequential_ms"] = outcome.sequential_ms;
                               })
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime()
      ->Iterations(1)
      ->Repetitions(runs)
      ->DisplayAggregatesOnly(true);
}

int run_table(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  Table table;
  benchmark::RunSpecifiedBenchmarks(&table);
  return 0;
}

double milliseconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

}  // namespace kde::bench
