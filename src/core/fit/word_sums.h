// Densities of words (words.h) that are added up, without parts of them: by their texts, as ranks are
// each density's own.
#pragma once

#include "core/fit/words.h"
#include "core/grid/owned_cells.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kde {

class WordSums {
 public:
  explicit WordSums(int measures);

  // A density's, with words, of every row and as many measures. Errors: as of GridCells::add() without
  // parts; too_large also where words may share a rank, be equal though their texts are not, or have
  // places. It must not be used further then.
  Status add(const Header& density, const GridCells::Without& without) noexcept;
  // Whether each value in it has a text by which it is known.
  static bool is_told(const Header& density);
  // Ends it: values, all of them, to words that have met none. Errors: out_of_memory.
  Status rank(Words* out) noexcept;

 private:
  double number(std::string_view text);

  std::unique_ptr<OwnedGridCells> cells_;  // of numbers
  std::unordered_map<std::string, std::uint32_t> number_;
  std::vector<std::string_view> text_;  // of each
};

}  // namespace kde
