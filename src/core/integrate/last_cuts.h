// Where lists were last cut, for who asks often: at ends that ascend each cell is read once, and a list is
// cut once at an end, though its rows and what the end cuts of a cell are asked for one after the other, and
// again by the range that begins there.
#pragma once

#include "core/density/histogram_view.h"
#include "core/integrate/range.h"

#include <cstdint>

namespace kde {

class LastCuts {
 public:
  // A cell, and what lies before it in its block.
  struct Place {
    int block = 0;
    CellReader after;         // reads on from here
    std::uint64_t units = 0;  // of the block's cells before
    StoredCell cell;
    bool is_end = false;  // no cell of the block is left
  };
  // Rows of the list below an end, and the cell that the end cuts.
  struct End {
    double below = 0;
    CutCell cell;
  };

  // Null: it was not cut there lately.
  const End* at(const Header* list, double x, bool inclusive) const {
    for (const Cut& cut : set_of(list).cut)
      if (cut.list == list && cut.x == x && cut.inclusive == inclusive) return &cut.end;
    return nullptr;
  }
  // The last place of those before the key, in the block that has it; null: none.
  const Place* before(const Header* list, std::int64_t key) const {
    const Cut* found = nullptr;
    for (const Cut& cut : set_of(list).cut)
      if (cut.list == list && cut.first <= key && key <= cut.last &&
          (found == nullptr || cut.first > found->first))
        found = &cut;
    return found == nullptr ? nullptr : &found->place;
  }
  // first, last: keys from the last cell before the place's, or the block's begin, to the block's end;
  // none where first > last.
  void put(const Header* list, double x, bool inclusive, const End& end, const Place& place,
           std::int64_t first, std::int64_t last) {
    Set& set = set_of(list);
    set.cut[set.next] = {list, x, inclusive, end, place, first, last};
    set.next ^= 1;
  }

 private:
  struct Cut {
    const Header* list = nullptr;
    double x = 0;
    bool inclusive = false;
    End end;
    Place place;
    std::int64_t first = 1, last = 0;
  };
  // Both ends of a range. Lists are the column's and a measure's four.
  struct Set {
    Cut cut[2];
    unsigned next = 0;
  };
  static constexpr unsigned kSetBits = 3;
  // Fibonacci hashing (Knuth, The Art of Computer Programming 3, section 6.4).
  static std::size_t number_of(const Header* list) {
    return reinterpret_cast<std::uintptr_t>(list) * 0x9E3779B97F4A7C15U >> (64 - kSetBits);
  }
  const Set& set_of(const Header* list) const { return sets_[number_of(list)]; }
  Set& set_of(const Header* list) { return sets_[number_of(list)]; }

  Set sets_[1U << kSetBits];
};

}  // namespace kde
