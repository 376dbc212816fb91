// See take_out.h.
#include "core/grid/take_out.h"

#include <algorithm>

namespace kde {

namespace {

class TakingOut {
 public:
  TakingOut(const RoundEnds& ends, int measures, const CellList& part, CellList* whole)
      : ends_(ends), measures_(static_cast<std::size_t>(measures)), part_(part), whole_(*whole) {}

  bool run() {
    std::size_t i = 0;
    for (std::size_t j = 0; j < part_.entries.size(); ++j) {
      const GridEntry& taken = part_.entries[j];
      while (i < whole_.entries.size() && is_before(whole_.entries[i], taken)) keep(i++);
      if (i == whole_.entries.size()) return false;
      if (!holds(whole_.entries[i], taken)) {
        if (!holds(taken, whole_.entries[i])) return false;
        for (; i + 1 < whole_.entries.size() && holds(taken, whole_.entries[i + 1]); ++i) join(i);
        whole_.entries[i].x = taken.x;
        whole_.entries[i].level = taken.level;
      }
      if (!subtract(i, j)) return false;
    }
    while (i < whole_.entries.size()) keep(i++);
    whole_.entries.resize(kept_);
    whole_.sums.resize(kept_ * measures_);
    return true;
  }

 private:
  double end(const GridEntry& e) const {
    return e.level < 0 ? e.x : ends_.end(e.level, ends_.cell(e.level, e.x) + 1);
  }
  // Cells are open.
  bool is_before(const GridEntry& a, const GridEntry& b) const {
    return a.level < 0 && b.level < 0 ? a.x < b.x : end(a) <= b.x;
  }
  bool holds(const GridEntry& a, const GridEntry& b) const {
    if (a.level < 0) return b.level < 0 && a.x == b.x;
    return b.level < 0 ? a.x < b.x && b.x < end(a) : a.x <= b.x && end(b) <= end(a);
  }

  MeasureSums& sums(std::size_t i, std::size_t k) { return whole_.sums[i * measures_ + k]; }

  // An entry goes to where those that stay end, unless it has none.
  void keep(std::size_t i) {
    if (whole_.entries[i].rows == 0) return;
    whole_.entries[kept_] = whole_.entries[i];
    for (std::size_t k = 0; k < measures_; ++k) sums(kept_, k) = sums(i, k);
    ++kept_;
  }
  // Into the next.
  void join(std::size_t i) {
    whole_.entries[i + 1].rows += whole_.entries[i].rows;
    for (std::size_t k = 0; k < measures_; ++k) sums(i + 1, k).add(sums(i, k));
  }
  bool subtract(std::size_t i, std::size_t j) {
    GridEntry& from = whole_.entries[i];
    from.rows -= part_.entries[j].rows;
    if (from.rows < 0) return false;
    for (std::size_t k = 0; k < measures_; ++k) {
      MeasureSums& s = sums(i, k);
      const MeasureSums& t = part_.sums[j * measures_ + k];
      s.add({-t.rows, -t.sum, -t.squares});
      if (s.rows < 0 || s.rows > from.rows) return false;
      if (s.rows == 0) s = {};
      s.squares = std::max(s.squares, 0.0);
    }
    return true;
  }

  const RoundEnds& ends_;
  std::size_t measures_;
  const CellList& part_;
  CellList& whole_;
  std::size_t kept_ = 0;
};

}  // namespace

bool take_out(const RoundEnds& ends, int measures, const CellList& part, CellList* whole) {
  return TakingOut(ends, measures, part, whole).run();
}

}  // namespace kde
