// estimate/cell_nodes.h: the distribution function at the edges, whatever the cells, and the knots
// that are made of it.
#include "core/estimate/cell_nodes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/density/format.h"
#include "core/estimate/smooth.h"
#include "core/random.h"
#include "distinct.h"
#include "samples.h"

namespace kde {
namespace {

Cells cells_with_edges(const std::vector<double>& edge) {
  Cells cells;
  cells.edge = edge;
  for (std::size_t i = 0; i + 1 < edge.size(); ++i) {
    cells.centre.push_back((edge[i] + edge[i + 1]) / 2);
    cells.count.push_back(1);
    if (edge[i] == edge[i + 1]) cells.points.push_back(i);
  }
  return cells;
}

TEST(CellNodes, ByHand) {
  const Cells cells = cells_with_edges({-0.5, 0, 0.25, 0.75});
  const CellNodes nodes(cells, std::vector<double>{2, 3, 5});
  ASSERT_EQ(nodes.nodes(), 4);
  const double mass[] = {0, 0.2, 0.5, 1};
  // Densities of the cells: 0.4, 1.2, 1; at their edges the harmonic means.
  const double density[] = {0.4, 2 / (1 / 0.4 + 1 / 1.2), 2 / (1 / 1.2 + 1), 1};
  const double first[] = {0, -0.05, -0.0125, 0.2375};
  const double second[] = {0, 0.0125, 0.0171875, 0.1421875};
  for (std::int64_t q = 0; q < 4; ++q) {
    EXPECT_EQ(nodes.position(q), cells.edge[static_cast<std::size_t>(q)]);
    EXPECT_NEAR(nodes.value(q).mass, mass[q], 1e-15);
    EXPECT_NEAR(nodes.value(q).density, density[q], 1e-14);
    EXPECT_NEAR(nodes.moments(q).first - nodes.moments(0).first, first[q], 1e-15);
    EXPECT_NEAR(nodes.moments(q).second - nodes.moments(0).second, second[q], 1e-15);
  }
}

// An empty cell has no density at its edges; a point and edges as near as 2^-41 are one node, and
// the ends stay.
TEST(CellNodes, EdgesThatCannotBeToldApart) {
  const Cells cells =
      cells_with_edges({-0.7, -0.7 + 0x1p-41, 0, 0, 0.3, 0.3 + 0x1p-42, 0.6 - 0x1p-41, 0.6});
  const CellNodes nodes(cells, std::vector<double>{1, 1, 0, 0, 0, 1, 1});
  std::vector<double> positions;
  for (std::int64_t q = 0; q < nodes.nodes(); ++q) positions.push_back(nodes.position(q));
  EXPECT_EQ(positions, (std::vector<double>{-0.7, 0, 0.3, 0.6}));
  EXPECT_EQ(nodes.value(0).mass, 0);
  EXPECT_EQ(nodes.value(1).mass, 0.5);
  EXPECT_EQ(nodes.value(2).mass, 0.5);
  EXPECT_EQ(nodes.value(2).density, 0);
  EXPECT_EQ(nodes.value(3).mass, 1);
}

// Cubics through the nodes rise: no density exceeds three times the secant on either side.
TEST(CellNodes, DensitiesKeepTheCubicsMonotone) {
  Random random(3);
  for (int k = 0; k < 30; ++k) {
    std::vector<double> edge = {-1, 1};
    for (int i = 0; i < 200; ++i) edge.push_back(std::pow(2 * random.uniform() - 1, 3));
    std::sort(edge.begin(), edge.end());
    std::vector<double> share;
    for (int i = 0; i < 201; ++i)
      share.push_back(random.below(4) == 0 ? 0 : std::exp(10 * random.uniform()));
    const CellNodes nodes(cells_with_edges(edge), share);
    EXPECT_EQ(nodes.value(0).mass, 0);
    EXPECT_EQ(nodes.value(nodes.nodes() - 1).mass, 1);
    for (std::int64_t q = 0; q + 1 < nodes.nodes(); ++q) {
      const double secant = (nodes.value(q + 1).mass - nodes.value(q).mass) /
                            (nodes.position(q + 1) - nodes.position(q));
      ASSERT_GE(secant, 0);
      ASSERT_LE(nodes.value(q).density, 3 * secant);
      ASSERT_LE(nodes.value(q + 1).density, 3 * secant);
    }
    // And through the knots chosen among them, at every edge within the error they state (seen at
    // test nodes; those between are within the tolerance or 1.2 of it).
    SmoothPart part;
    ASSERT_TRUE(fit_smooth(nodes, 1000, {}, &part).ok());
    EXPECT_LE(part.error, 1e-5);
    for (std::size_t i = 0; i < part.knot_u.size(); ++i) {
      std::int64_t q = 0;
      while (truncate_position(nodes.position(q)) < part.knot_u[i]) ++q;
      ASSERT_NEAR(part.knot_mass[i] / double{kMassOne}, nodes.value(q).mass, 1e-6);
    }
  }
}

}  // namespace
}  // namespace kde
