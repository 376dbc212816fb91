// The data of `make bench-agg`'s table of errors: writes a script for psql that makes the tables of
// a folder of CSV files and one of two generated columns, the columns to measure and the ranges to
// ask about, with what they truly hold. The rules are those of `make accuracy` (ranges.h, table.h).
//
//   accuracy_script FOLDER WORK_FOLDER GENERATED_ROWS     the script goes to standard output
//
// What is generated is what real columns of this folder are not: a lognormal with sigma 2, whose
// upper end is a million times its middle, and a Cauchy, which has no mean.
#include "accuracy/measure.h"
#include "accuracy/script.h"
#include "accuracy/table.h"
#include "core/random.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <numbers>
#include <stdexcept>
#include <string>
#include <vector>

namespace kde::accuracy {

namespace {

constexpr std::uint64_t kSeed = 1;
constexpr double kSigma = 2;

// G. E. P. Box & M. E. Muller, Ann. Math. Stat. 29 (1958).
double normal(Random* random) {
  const double radius = std::sqrt(-2 * std::log(random->uniform()));
  return radius * std::cos(2 * std::numbers::pi * random->uniform());
}

void generate(const std::string& path, long rows) {
  std::ofstream out(path);
  out << "lognormal,cauchy\n";
  out.precision(17);
  Random random(kSeed);
  for (long i = 0; i < rows; ++i) {
    const double lognormal = std::exp(kSigma * normal(&random));
    const double cauchy = std::tan(std::numbers::pi * (random.uniform() - 0.5));
    out << lognormal << ',' << cauchy << '\n';
  }
  if (!out.flush()) throw std::runtime_error("could not write " + path);
}

void write_columns(const std::vector<ColumnResult>& columns, std::ostream& out) {
  out << "CREATE TABLE column_of (column_id integer, relation regclass, column_name name, type "
         "text, rows bigint, distinct_values bigint);\n"
         "COPY column_of FROM STDIN (FORMAT csv);\n";
  for (std::size_t c = 0; c < columns.size(); ++c) {
    out << c << ',' << csv_field("public." + identifier(columns[c].table)) << ','
        << csv_field(columns[c].column) << ',' << sql_type(columns[c].type) << ','
        << columns[c].rows() << ',' << columns[c].distinct << '\n';
  }
  out << "\\.\nCREATE TABLE measured AS SELECT c.column_id, c.relation, c.column_name, c.type, "
         "size AS bytes, c.rows FROM column_of AS c CROSS JOIN unnest(ARRAY[4096, 16384]) AS "
         "size;\n";
}

void run(const std::string& data, const std::string& folder, long generated_rows) {
  std::filesystem::create_directories(folder);
  const std::string generated = folder + "/generated.csv";
  generate(generated, generated_rows);
  std::vector<std::string> paths = list_tables(data);
  paths.push_back(generated);
  std::vector<ColumnResult> columns;
  for (const std::string& path : paths) {
    Table table = read_table(path);
    write_table(table, std::cout);
    std::vector<ColumnResult> found = columns_to_measure(&table, kSeed);
    columns.insert(columns.end(), std::make_move_iterator(found.begin()),
                   std::make_move_iterator(found.end()));
  }
  write_columns(columns, std::cout);
  write_ranges(columns, std::cout);
  if (!std::cout.flush()) throw std::runtime_error("could not write the script");
}

}  // namespace

}  // namespace kde::accuracy

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: accuracy_script FOLDER WORK_FOLDER GENERATED_ROWS\n");
    return 1;
  }
  try {
    kde::accuracy::run(argv[1], argv[2], std::strtol(argv[3], nullptr, 10));
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "accuracy_script: %s\n", e.what());
    return 1;
  }
}
