// The psql session of joint_comparators.h.
#include "joint_comparators.h"

#include "script.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

namespace kde::accuracy {

namespace {

// The first line of the output: from then on there is a server, and a failure is one.
constexpr const char* kStarted = "started";

std::string relation_of(const JointTable& table) { return "public." + identifier(table.name); }

void write_statistics(const std::vector<JointSet>& sets, std::ostream& out) {
  std::set<std::string> relations;
  for (std::size_t s = 0; s < sets.size(); ++s) {
    const JointTable& table = *sets[s].table;
    out << "CREATE STATISTICS joint_" << s << " (dependencies, mcv) ON ";
    for (std::size_t k = 0; k < sets[s].column.size(); ++k)
      out << (k > 0 ? ", " : "") << identifier(table.column_name[sets[s].column[k]]);
    out << " FROM " << relation_of(table) << ";\n";
    relations.insert(relation_of(table));
  }
  for (const std::string& relation : relations) out << "ANALYZE " << relation << ";\n";
}

void write_boxes(const std::vector<JointSet>& sets, std::ostream& out) {
  out << "CREATE TABLE asked_box (set_id integer, box_id integer, relation regclass, condition "
         "text);\n"
         "COPY asked_box FROM STDIN (FORMAT csv);\n";
  for (std::size_t s = 0; s < sets.size(); ++s) {
    for (std::size_t b = 0; b < sets[s].questions.size(); ++b)
      out << s << ',' << b << ',' << csv_field(relation_of(*sets[s].table)) << ','
          << csv_field(condition_of(*sets[s].table, sets[s].questions[b].box)) << '\n';
  }
  out << "\\.\n";
}

void write_script(const std::vector<Table>& tables, const std::vector<JointSet>& sets,
                  const std::string& path) {
  std::ofstream out(path);
  out << "\\echo " << kStarted
      << "\nCREATE SCHEMA accuracy;\nSET search_path = accuracy, public;\nSET TimeZone = "
         "'UTC';\nSET DateStyle = 'ISO';\n";
  for (const Table& table : tables) {
    const bool asked = std::any_of(sets.begin(), sets.end(), [&](const JointSet& set) {
      return set.table->name == table.name;
    });
    if (asked) write_table(table, out);
  }
  write_statistics(sets, out);
  write_boxes(sets, out);
  out << read_text("test/accuracy/joint.sql");
  if (!out.flush()) throw std::runtime_error("could not write " + path);
}

void read_output(const std::string& path, std::vector<JointSet>* sets) {
  std::vector<std::vector<double>> errors(sets->size());
  std::ifstream in(path);
  std::string line;
  while (std::getline(in, line)) {
    if (line == kStarted) continue;
    std::istringstream fields(line);
    std::string s, b, rows;
    std::getline(fields, s, ',');
    std::getline(fields, b, ',');
    std::getline(fields, rows);
    const JointSet& set = sets->at(std::stoul(s));
    const BoxQuestion& box = set.questions.at(std::stoul(b));
    errors[std::stoul(s)].push_back(
        error_of(kCount, {{std::stod(rows), 0, 0}}, question_of(set, box, JointCase())));
  }
  for (std::size_t s = 0; s < sets->size(); ++s) {
    for (auto& levels : (*sets)[s].levels) {
      for (JointLevel& level : levels) {
        for (JointCase& of : level.cases)
          if (of.quantity == kCount) of.errors[kJointPlanner] = {summarise(errors[s]).mean};
      }
    }
  }
}

}  // namespace

std::string condition_of(const JointTable& table, const Box& box) {
  std::string text;
  for (std::size_t i = 0; i < box.column.size(); ++i) {
    const int k = box.column[i];
    const ColumnType type = table.type[k];
    const auto bound = [&](double x, bool lower) {
      return "'" + bound_text(type, x, lower) + "'::" + sql_type(type);
    };
    text += (i > 0 ? " AND " : "") + identifier(table.column_name[k]) + " BETWEEN " +
            bound(box.range[i].lower, true) + " AND " + bound(box.range[i].upper, false);
  }
  return text;
}

bool run_joint_comparators(const std::vector<Table>& tables, const std::string& folder,
                           std::vector<JointSet>* sets) {
  const std::string script = folder + "/joint.script";
  const std::string output = folder + "/joint.out";
  write_script(tables, *sets, script);
  // The caller's autovacuum would analyze in between.
  const std::string command =
      "KDE_AQP_CONF='autovacuum = off' scripts/private_cluster.sh "
      "psql -X -q -A -t -v ON_ERROR_STOP=1 <'" +
      script + "' >'" + output + "'";
  const int status = std::system(command.c_str());
  const bool started = read_text(output).starts_with(kStarted);
  if (status != 0 && started) throw std::runtime_error("the session with the server failed");
  if (started) read_output(output, sets);
  return started;
}

}  // namespace kde::accuracy
