// The steps of the joint part, in order.
#include "joint_part.h"

#include "joint_comparators.h"
#include "joint_measure.h"
#include "joint_report.h"

#include <cstdio>
#include <iterator>
#include <sstream>
#include <utility>

namespace kde::accuracy {

const char* const kJointTables = "ccpp diamonds:carat,depth,price nyc_weather:temp,humid,pressure";

namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

std::vector<std::string> numbers_of(const Table& table) {
  std::vector<std::string> names;
  for (const Column& column : table.columns)
    if (column.type != ColumnType::text) names.push_back(column.name);
  return names;
}

}  // namespace

void run_joint(const std::vector<Table>& tables, const std::string& names,
               const std::string& folder) {
  std::vector<JointTable> measured;
  for (const std::string& word : split(names, ' ')) {
    const std::string name = word.substr(0, word.find(':'));
    for (const Table& table : tables) {
      if (table.name != name) continue;
      measured.push_back(joint_table(
          table, word == name ? numbers_of(table) : split(word.substr(name.size() + 1), ',')));
    }
  }
  const JointPlan plan;
  std::vector<JointSet> sets;
  for (const JointTable& table : measured) {
    std::vector<JointSet> found = joint_sets(table, plan);
    sets.insert(sets.end(), std::make_move_iterator(found.begin()),
                std::make_move_iterator(found.end()));
  }
  if (sets.empty()) {
    std::printf("\nJoint densities were not measured: the folder has none of %s\n", names.c_str());
    return;
  }
  measure_joint(plan, &sets);
  if (!run_joint_comparators(tables, folder, &sets))
    std::printf("\nNo server: the planner was not measured.\n");
  print_joint(measured, sets, plan, stdout);
  write_joint_csv(sets, folder + "/joint.csv");
  std::printf("Figures: %s/joint.csv\n", folder.c_str());
  std::fflush(stdout);
}

}  // namespace kde::accuracy
