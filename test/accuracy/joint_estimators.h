// Joint densities as the extension fits them, and their answers beside the sample's own.
#pragma once

#include "core/joint/fit_joint.h"
#include "core/joint/joint_moments.h"
#include "core/joint/joint_sampler.h"

#include "coverage.h"
#include "errors.h"
#include "joint_rows.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace kde::accuracy {

// What a scan saw of some columns of a table: `read` of its rows, and the sample it kept of them.
struct JointDraw {
  std::vector<int> column;  // of the table, position by position
  std::size_t read = 0;
  JointSample sample;
  RowSet rows;  // the sample's
};

// read: all of the table's rows, or fewer, which are drawn at random, each row by itself.
// sample_rows <= read. Throws std::runtime_error.
JointDraw draw_joint(const JointTable& table, const std::vector<int>& columns,
                     std::size_t sample_rows, std::size_t read, std::uint64_t seed);

struct JointFitted {
  DensityBytes bytes;
  JointFitReport report;

  JointView view() const { return JointView(bytes.data()); }
};

// As the extension fits after such a scan. {}: the method has no bandwidth for that sample (ties, a
// constant column); auto always has. Throws std::runtime_error.
std::optional<JointFitted> fit_joint(const JointDraw& draw, const JointTable& table,
                                     JointMethod method);

// The box with the columns numbered by their positions in `columns`, all of which are among them.
Box box_within(const Box& box, const std::vector<int>& columns);

// A density's answers, and the interval of one. Columns are the density's own; target: -1 for the
// count alone (SUM 0, no AVG).
Answers joint_answers(const JointView& density, const Box& box, int target);
std::optional<Interval> joint_interval(Quantity quantity, const JointView& density, const Box& box,
                                       int target);

// The raw sample's, scaled to `rows`. slice: of the target (anything for the count alone).
Answers raw_answers(const BoxTotals& totals, const Slice& slice, std::size_t sample_rows,
                    std::size_t rows);

}  // namespace kde::accuracy
