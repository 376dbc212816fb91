#include "core/fit/fit_cells.h"
#include "core/fit/grid_groups.h"
#include "core/fit/groups.h"
#include "core/grid/owned_cells.h"
#include "core/random.h"
#include "core/stopwatch.h"
#include <gtest/gtest.h>
#include <cstdio>
#include <cstdlib>
namespace kde { namespace {
FitOptions o(bool a) { FitOptions options; options.value_type = ValueType::timestamp; options.lattice_step=1e-6; options.measure_types[0] = ValueType::numeric; options.every_row_read = true; options.added_up = a; return options; }
Memory mem() { return {[](void*, std::size_t b) { return std::malloc(b); }, [](void*, void* c) { std::free(c); }, nullptr}; }
struct Made { DensityBytes d; double add, col, grp; };
Made add_up(const std::vector<const DensityBytes*>& in, bool grouped, GridBytes bytes, bool is_node) {
  (void)is_node;
  Stopwatch v; Made m;
  OwnedGridCells c(Chain::calendar, 1);
  GridGroups g(mem(), Chain::calendar, 1);
  for (auto* p : in) { EXPECT_TRUE(c->add(p->header()).ok()); if (grouped) EXPECT_TRUE(g.add(p->header()).ok()); }
  m.add = v.ms();
  FitReport r; EXPECT_TRUE(fit_cells(&*c, o(true), bytes, {}, &m.d, &r).ok());
  m.col = v.ms() - m.add;
  GroupsReport gr; if (grouped) EXPECT_TRUE(g.append(o(true), GroupsBytes::of(bytes), {}, &m.d, &gr).ok());
  m.grp = v.ms() - m.add - m.col;
  g.release();
  return m;
}
void run(bool grouped) {
  Random random(1);
  std::vector<DensityBytes> parts, nodes;
  Stopwatch w;
  for (int d = 0; d < 1000; ++d) {
    OwnedGridCells c(Chain::calendar, 1);
    Groups g({.measures = 1}, 100); g.begin_every_row(Chain::calendar);
    for (int i = 0; i < 2000; ++i) { double y = double(random.below(100007)) / 100; double x=1704067200.0 + 86400.0 * d + std::floor(random.uniform() * 864000) / 10; (void)c->add(x, {&y, 1}); if (grouped) (void)g.add({1 + (std::uint32_t)i % 8}, x, {&y, 1}); }
    for (std::size_t i = 0; i < g.size(); ++i) (void)g.set_key(i, "r" + std::to_string(g.codes(i)[0]));
    FitReport r; GroupsReport gr; parts.emplace_back();
    ASSERT_TRUE(fit_cells(&*c, o(false), {262144, 32768}, {}, &parts.back(), &r).ok());
    if (grouped) ASSERT_TRUE(g.append(o(false), {}, &parts.back(), &gr, GroupsBytes::of({262144, 32768})).ok());
  }
  std::printf("parts %.1f of %zu\n", w.ms(), parts[0].size());
  for (int n = 0; n < 32; ++n) {
    std::vector<const DensityBytes*> in;
    for (int d = n * 32; d < std::min(1000, n * 32 + 32); ++d) in.push_back(&parts[d]);
    Made m = add_up(in, grouped, {262144, 32768}, true);
    if (n % 8 == 5) std::printf("node add %.1f col %.1f groups %.1f bytes %zu\n", m.add, m.col, m.grp, m.d.size());
    nodes.push_back(std::move(m.d));
  }
  std::vector<const DensityBytes*> in;
  for (auto& n : nodes) in.push_back(&n);
  for (int i = 0; i < 3; ++i) {
    Made m = add_up(in, grouped, {262144, 262144}, false);
    std::printf("sum add %.1f col %.1f groups %.1f bytes %zu\n", m.add, m.col, m.grp, m.d.size());
  }
}
TEST(ZBench, Sum) { run(false); }
TEST(ZBench, Groups) { run(true); }
}}
