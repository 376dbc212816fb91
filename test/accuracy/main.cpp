// `make accuracy`: how far the answers are from the truth, on every column of a folder of CSV
// files, beside what a user would otherwise use.
//
//   accuracy FOLDER OUTPUT_FOLDER [columns | shapes | joint | places | all [TABLE:COLUMN,COLUMN... ...]]
//
// columns: each column by itself, ranges that hold 0.3 to 10 % of the rows; shapes: every shape of
// question (shapes_part.h); joint: densities of several columns, of the tables and columns named
// (joint_part.h), or of those that are asked for; places: boxes on points that are made by rule (places.h).
//
// Run from the repository's root. Exit status 0 if everything was measured, whatever the figures
// are; 1 if something failed, or SQL's answers are not the core's.
#include "comparators.h"
#include "joint_part.h"
#include "measure.h"
#include "picture.h"
#include "places.h"
#include "report.h"
#include "shapes_part.h"

#include <cstdio>
#include <exception>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace kde::accuracy {

namespace {

constexpr double kSqlTolerance = 1e-9;  // relative

void say_what_is_missing(const ComparatorOutcome& outcome, const std::string& folder) {
  if (!outcome.sql) {
    std::printf("\nNo server: the planner, t-digest and SQL's answers were not measured.\n");
  } else if (!outcome.digest) {
    std::printf(
        "\nt-digest was not measured: the server has no extension tdigest; scripts/deps.sh "
        "accuracy installs it (Debian: postgresql-NN-tdigest).\n");
  }
  std::printf("\nFigures: %s/accuracy.csv; pictures: %s/TABLE.COLUMN.svg\n", folder.c_str(),
              folder.c_str());
}

std::vector<Table> read_tables(const std::string& data) {
  std::vector<Table> tables;
  for (const std::string& path : list_tables(data)) tables.push_back(read_table(path));
  return tables;
}

void run_columns(const std::vector<Table>& tables, const std::string& data,
                 const std::string& folder) {
  const Plan plan;
  std::vector<ColumnResult> columns;
  for (Table table : tables) {
    std::vector<ColumnResult> found = columns_to_measure(&table, plan.seed);
    columns.insert(columns.end(), std::make_move_iterator(found.begin()),
                   std::make_move_iterator(found.end()));
  }
  if (columns.empty()) throw std::runtime_error("no column to measure in " + data);
  std::printf("%zu columns of %zu tables in %s\n", columns.size(), tables.size(), data.c_str());
  std::fflush(stdout);

  measure(plan, &columns);
  const ComparatorOutcome outcome = run_comparators(tables, folder, &columns);
  print_columns(columns, stdout);
  print_coverage(columns, stdout);
  print_summary(columns, outcome, stdout);
  write_csv(columns, folder + "/accuracy.csv");
  for (const ColumnResult& column : columns) draw_column(column, folder);
  say_what_is_missing(outcome, folder);
  std::fflush(stdout);

  for (const ColumnResult& column : columns) {
    if (column.sql_difference <= kSqlTolerance) continue;
    throw std::runtime_error("approx_count of " + column.name() + " is not the core's");
  }
}

int run(const std::string& data, const std::string& folder, const std::string& part,
        const std::string& joint_tables) {
  const auto asked = [&part](const char* name) { return part == name || part == "all"; };
  if (!asked("columns") && !asked("shapes") && !asked("joint") && !asked("places"))
    throw std::runtime_error("there is no part " + part);
  std::filesystem::create_directories(folder);
  if (asked("places")) run_places(stdout);
  if (part == "places") return 0;
  const std::vector<Table> tables = read_tables(data);
  if (asked("columns")) run_columns(tables, data, folder);
  if (asked("shapes")) run_shapes(tables, folder);
  if (asked("joint")) run_joint(tables, joint_tables, folder);
  return 0;
}

}  // namespace

}  // namespace kde::accuracy

int main(int argc, char** argv) {
  if (argc < 3 || argc > 5) {
    std::fprintf(stderr,
                 "usage: accuracy FOLDER OUTPUT_FOLDER [columns | shapes | joint | places | all "
                 "[TABLE:COLUMN,...]]\n");
    return 1;
  }
  try {
    const bool named = argc > 4 && argv[4][0] != '\0';
    return kde::accuracy::run(argv[1], argv[2], argc > 3 ? argv[3] : "all",
                              named ? argv[4] : kde::accuracy::kJointTables);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "accuracy: %s\n", e.what());
    return 1;
  }
}
