// libFuzzer target: what a summary (src/core/aggregate) goes through. The first byte chooses
// between bytes as a serialised summary and a list of steps: rows one by one, in runs, at random,
// weighted, other summaries and stored histograms merged. After them its cells must be a partition
// with all the rows, and what is stored of it a valid density that answers sanely
// (test/unit/answers.h), within its stated error of the cells.
#include "core/summary/summary.h"
#include "core/density/format.h"
#include "core/density/histogram_view.h"
#include "core/integrate/integrate.h"

#include "answers.h"
#include "finding.h"
#include "input.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace {

using kde::HistogramCell;
using kde::Status;
using kde::Summary;
using kde::fuzz::fail;
using kde::fuzz::Input;

// Frees at the end of a run what summaries, which own nothing, leave.
class Arena {
 public:
  kde::Memory memory() { return {&allocate, &release, this}; }
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() {
    for (void* chunk : chunks_) std::free(chunk);
  }

 private:
  static void* allocate(void* context, std::size_t bytes) {
    void* chunk = std::malloc(bytes);
    static_cast<Arena*>(context)->chunks_.push_back(chunk);
    return chunk;
  }
  static void release(void* context, void* chunk) {
    std::erase(static_cast<Arena*>(context)->chunks_, chunk);
    std::free(chunk);
  }
  std::vector<void*> chunks_;
};

std::vector<HistogramCell> checked_cells(const Summary& s) {
  std::vector<HistogramCell> cells;
  double rows = 0;
  for (std::size_t i = 0; i < s.cells(); ++i) {
    const HistogramCell cell = s.cell(i);
    if (!std::isfinite(cell.value) || !(cell.rows > 0)) fail("a cell is no cell");
    if (i > 0 && !(cell.point ? cell.value >= cells.back().value : cell.value > cells.back().value))
      fail("cells are out of order");
    rows += cell.rows;
    cells.push_back(cell);
  }
  if (s.cells() > kde::kFineCells) fail("too many cells");
  if (std::fabs(rows - s.totals().rows()) > 1e-9 * rows) fail("rows were lost");
  if (!(s.error_rows() >= 0)) fail("no bound");
  return cells;
}

// What is stored of the summary; empty where the core refuses.
kde::DensityBytes store(const Summary& s, bool bounded, std::size_t budget) {
  const std::vector<HistogramCell> cells = checked_cells(s);
  kde::Header h{};
  h.flags = static_cast<std::uint8_t>(kde::kEveryRowRead | (bounded ? kde::kBounded : 0));
  h.value_type = kde::ValueType::float8;
  h.method = kde::Method::plugin;
  h.rows = s.totals().rows();
  h.sample_rows = s.totals().count();
  h.known_below = -std::numeric_limits<double>::infinity();
  h.known_above = std::numeric_limits<double>::infinity();
  if (h.rows > 0) {
    h.min = s.totals().min();
    h.max = s.totals().max();
    h.mean = s.totals().mean();
    h.variance = s.totals().variance();
  }
  kde::DensityBytes bytes;
  const double slack = h.rows > 0 ? s.error_rows() / h.rows : 0;
  const Status status = kde::encode_histogram(h, cells, slack, budget, &bytes);
  if (!status.ok()) fail(status.message);
  if (bytes.size() > budget) fail("beyond the budget");
  const Status valid = kde::validate(bytes.data(), bytes.size());
  if (!valid.ok()) fail(valid.message);
  return bytes;
}

void check_answers(const Summary& s, const kde::DensityBytes& bytes) {
  const kde::DensityView density(bytes.data());
  if (const char* insane = kde::fitted::insane_answer(density, 20)) fail(insane);
  const kde::Header& h = density.header();
  const double bound = (h.error + 1e-9) * h.rows;
  double below = 0;
  for (std::size_t i = 0; i < s.cells(); ++i) {
    const HistogramCell cell = s.cell(i);
    below += cell.rows;
    if (i % 97 != 0 || (i + 1 < s.cells() && s.cell(i + 1).value == cell.value)) continue;
    kde::Range range;
    range.upper_unbounded = false;
    range.upper = cell.value;
    if (std::fabs(kde::count(density, range) - below) > bound) fail("beyond the stated error");
  }
}

void add(Summary* s, double x, double weight) {
  if (!s->add(x, weight).ok()) fail("out of memory");
}

void take_step(Input* in, Arena* arena, Summary* s, std::size_t* rows_left) {
  const auto kind = in->take<std::uint8_t>();
  const auto count = [&](std::size_t most) {
    const std::size_t n = in->take<std::uint16_t>() % most + 1;
    const std::size_t allowed = n < *rows_left ? n : *rows_left;
    *rows_left -= allowed;
    return allowed;
  };
  switch (kind % 8) {
    case 0:
      add(s, in->take<double>(), 1);
      break;
    case 1: {  // a run in order
      const double x = in->take<double>();
      const double step = in->take<float>();
      const std::size_t n = count(12000);
      for (std::size_t i = 0; i < n; ++i) add(s, x + static_cast<double>(i) * step, 1);
      break;
    }
    case 2: {  // at random, on a lattice or not
      const double x = in->take<double>();
      const double width = in->take<float>();
      const bool whole = in->take<std::uint8_t>() % 2 == 0;
      std::mt19937 random(in->take<std::uint8_t>());
      const std::size_t n = count(20000);
      for (std::size_t i = 0; i < n; ++i) {
        const double u = x + width * static_cast<double>(random()) * 0x1p-32;
        add(s, whole ? std::floor(u) : u, 1);
      }
      break;
    }
    case 3: {
      const double x = in->take<double>();
      const double weight = std::fabs(in->take<float>());
      if (weight > 0 && weight < Summary::kMostWeight) add(s, x, weight);
      break;
    }
    case 4:
      if (!s->settle().ok()) fail("out of memory");
      break;
    case 5: {
      Summary copy(arena->memory());
      if (!s->clone(arena->memory(), &copy).ok() || !s->merge(copy).ok()) fail("out of memory");
      break;
    }
    case 6: {  // as it is stored, beside itself or alone
      const std::uint16_t choice = in->take<std::uint16_t>();
      if (!s->settle().ok()) fail("out of memory");
      const std::size_t budget = kde::kLeastHistogramBytes + choice % 15000;
      const kde::DensityBytes bytes = store(*s, true, budget);
      std::vector<HistogramCell> cells;
      const kde::DensityView view(bytes.data());
      kde::decode_histogram(view, &cells);
      if (choice % 2 == 0) *s = Summary(arena->memory());
      if (!s->merge(view.header(), cells).ok()) fail("a stored histogram does not merge");
      break;
    }
    default:
      s->add_null(1);
      break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  Arena arena;
  Summary s(arena.memory());
  if (data[0] % 4 == 0) {
    const Status status = s.deserialize(data + 1, size - 1);
    if (!status.ok()) return 0;
  } else {
    Input in(data + 1, size - 1);
    std::size_t rows_left = 100000;
    for (int step = 0; step < 12 && !in.spent(); ++step) take_step(&in, &arena, &s, &rows_left);
  }
  if (!s.settle().ok()) fail("out of memory");
  // Sums of huge weights may overflow; glue bounds them, a state in transit is bounded by its
  // check.
  if (!std::isfinite(s.totals().rows())) return 0;
  const kde::DensityBytes bytes = store(s, true, 4096);
  check_answers(s, bytes);
  return 0;
}
