// See add_densities.h.
#include "core/grid/add_densities.h"

#include "core/grid/owned_cells.h"
#include "core/summary/strata.h"
#include "core/guarded.h"

#include <algorithm>

namespace kde {

namespace {

Status add_each(std::span<const Header* const> densities, const Control& control,
                GridCells* cells) {
  for (const Header* h : densities) {
    if (control.stop_requested()) return cancelled();
    if (Status s = cells->add(*h); !s.ok()) return s;
  }
  return Status::success();
}

// of: what was made of those densities.
Status describe_strata(std::span<const Header* const> densities, const Control& control,
                       GridCells* of) {
  GridList list;
  if (Status s = of->list(&list); !s.ok()) return s;
  std::vector<double> ends, rows;
  for (const GridEntry& e : list.entries) {
    const double end =
        e.level < 0 ? e.x : of->ends().end(e.level, of->ends().cell(e.level, e.x) + 1);
    if (!ends.empty() && end == ends.back()) {
      rows.back() += e.rows;
      continue;
    }
    ends.push_back(end);
    rows.push_back(e.rows);
  }
  Strata strata(densities, ends, rows);
  std::vector<HistogramCell> cells;
  for (std::size_t k = 0; k < densities.size(); ++k) {
    if (control.stop_requested()) return cancelled();
    decode_histogram(DensityView(densities[k]), &cells);
    strata.add(k, cells);
  }
  CountSampling counts;
  std::vector<MeanSampling> means;
  strata.describe(&counts, &means);
  of->set_sampling(counts, means);
  return Status::success();
}

}  // namespace

Status add_densities(std::span<const Header* const> densities, const Control& control,
                     GridCells* cells) noexcept {
  const bool sampled = std::any_of(densities.begin(), densities.end(),
                                   [](const Header* h) { return !h->has_exact_ends(); });
  if (!sampled || densities.size() < 2) return add_each(densities, control, cells);
  return guarded([&] {
    OwnedGridCells sum(cells->ends().chain(), cells->measures());
    if (Status s = add_each(densities, control, &*sum); !s.ok()) return s;
    if (Status s = describe_strata(densities, control, &*sum); !s.ok()) return s;
    return cells->merge(&*sum);
  });
}

}  // namespace kde
