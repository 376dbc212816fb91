// The psql session of comparators.h.
#include "comparators.h"

#include "script.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

namespace kde::accuracy {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
// The first line of the output: from then on there is a server, and a failure is one.
constexpr const char* kStarted = "started";

// What t-digest may take: the stored density's, of the sample at which the two are compared.
std::size_t density_bytes(const ColumnResult& column) { return column.shown().auto_bytes; }

// The tables measured and range (comparators.sql).
void write_columns(const std::vector<ColumnResult>& columns, std::ostream& out) {
  out << "CREATE TABLE measured (column_id integer, relation regclass, column_name name, "
         "type text, bytes integer, rows bigint);\n"
         "COPY measured FROM STDIN (FORMAT csv);\n";
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const ColumnResult& column = columns[c];
    out << c << ',' << csv_field("public." + identifier(column.table)) << ','
        << csv_field(column.column) << ',' << sql_type(column.type) << ',' << density_bytes(column)
        << ',' << column.rows() << '\n';
  }
  out << "\\.\n";
  write_ranges(columns, out);
}

void write_script(const std::vector<Table>& tables, const std::vector<ColumnResult>& columns,
                  const std::string& path) {
  std::ofstream out(path);
  out << "\\echo " << kStarted
      << "\nCREATE SCHEMA accuracy;\nSET search_path = accuracy, public;\nSET TimeZone = "
         "'UTC';\nSET DateStyle = 'ISO';\n";
  for (const Table& table : tables) write_table(table, out);
  write_columns(columns, out);
  out << "\\set target_1000 " << kTarget1000 << "\n\\set target_10000 " << kTarget10000
      << "\n\\set runs " << kAnalyzeRuns << '\n'
      << read_text("test/accuracy/digest.sql") << read_text("test/accuracy/comparators.sql");
  if (!out.flush()) throw std::runtime_error("could not write " + path);
}

// One column's answers, by what and range.
struct Told {
  std::map<int, std::vector<double>> planner_errors;  // by target
  std::vector<Answers> digest;
};

Answers no_answer() { return {{kNan, kNan, kNan}}; }

void tell(const std::string& what, int target, std::size_t r, double value, ColumnResult* column,
          Told* told) {
  const Question& question = column->questions.at(r);
  if (what == "planner") {
    Answers answers = no_answer();
    answers.value[kCount] = value;
    told->planner_errors[target].push_back(error_of(kCount, answers, question));
  } else if (what == "sql_count") {
    const DensityView density = column->levels[kLevelAll].density.view();
    const double core = count(density, question.range);
    const double difference = std::fabs(value - core) / std::max(std::fabs(core), 1.0);
    column->sql_difference =
        std::max(column->sql_difference, std::isnan(difference) ? HUGE_VAL : difference);
  } else {
    if (told->digest.empty()) told->digest.assign(column->questions.size(), no_answer());
    const Quantity quantity = what == "digest_count" ? kCount : what == "digest_sum" ? kSum : kMean;
    told->digest.at(r).value[quantity] = value;
  }
}

void sum_up(const Told& told, ColumnResult* column) {
  for (const auto& [target, errors] : told.planner_errors) {
    Level& level = column->levels[target == kTarget1000 ? kLevel1000 : kLevel10000];
    level.errors[kPlanner][kCount] = summarise(errors);
  }
  if (told.digest.empty()) return;
  for (int q = 0; q < kQuantities; ++q) {
    std::vector<double> errors;
    for (std::size_t r = 0; r < told.digest.size(); ++r)
      errors.push_back(error_of(static_cast<Quantity>(q), told.digest[r], column->questions[r]));
    column->levels[kLevelAll].errors[kDigest][q] = summarise(errors);
  }
}

double value_of(const std::string& text) { return text.empty() ? kNan : std::stod(text); }

ComparatorOutcome read_output(const std::string& path, std::vector<ColumnResult>* columns) {
  std::ifstream in(path);
  std::vector<Told> told(columns->size());
  ComparatorOutcome outcome;
  std::string line;
  while (std::getline(in, line)) {
    if (line == kStarted) continue;
    std::istringstream fields(line + ",");
    std::array<std::string, 6> field;
    for (std::string& text : field) std::getline(fields, text, ',');
    const std::size_t c = std::stoul(field[1]);
    ColumnResult& column = columns->at(c);
    outcome.planner |= field[0] == "planner";
    outcome.sql |= field[0] == "sql_count";
    if (field[0] == "digest_bytes") {
      outcome.digest = true;
      column.digest_bytes = std::stoi(field[5]);
    } else {
      tell(field[0], field[2].empty() ? 0 : std::stoi(field[2]), std::stoul(field[4]),
           value_of(field[5]), &column, &told[c]);
    }
  }
  for (std::size_t c = 0; c < columns->size(); ++c) sum_up(told[c], &(*columns)[c]);
  return outcome;
}

}  // namespace

ComparatorOutcome run_comparators(const std::vector<Table>& tables, const std::string& folder,
                                  std::vector<ColumnResult>* columns) {
  const std::string script = folder + "/comparators.script";
  const std::string output = folder + "/comparators.out";
  write_script(tables, *columns, script);
  // The caller's autovacuum would analyze in between.
  const std::string command =
      "KDE_AQP_CONF='autovacuum = off' scripts/private_cluster.sh "
      "psql -X -q -A -t -v ON_ERROR_STOP=1 <'" +
      script + "' >'" + output + "'";
  const int status = std::system(command.c_str());
  const bool started = read_text(output).starts_with(kStarted);
  if (status != 0 && started) throw std::runtime_error("the session with the server failed");
  if (!started) return {};
  return read_output(output, columns);
}

}  // namespace kde::accuracy
