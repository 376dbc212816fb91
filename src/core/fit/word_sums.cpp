// See word_sums.h.
#include "core/fit/word_sums.h"

#include "core/guarded.h"

#include <algorithm>
#include <utility>

namespace kde {

WordSums::WordSums(int measures)
    : cells_(std::make_unique<OwnedGridCells>(Chain::decimal, measures, kAnyWords)) {
  (*cells_)->keep_cells();
}

bool WordSums::is_told(const Header& density) {
  if (density.words == 0) return false;
  const WordsHeader& h = WordsView(&density).header();
  return h.others == 0 && h.unseen == 0 && (h.flags & (kFolded | kPlaced)) == 0;
}

double WordSums::number(std::string_view text) {
  const auto [at, is_new] = number_.emplace(text, static_cast<std::uint32_t>(text_.size()));
  if (is_new) text_.push_back(at->first);
  return at->second;
}

Status WordSums::add(const Header& density, const GridCells::Without& without) noexcept {
  return guarded([&] {
    if (!is_told(density) || !std::all_of(without.parts.begin(), without.parts.end(),
                                          [](const Header* part) { return is_told(*part); }))
      return Status::error(Code::too_large, "values without words");
    const auto number_of = [this](const Header& of, double rank) {
      const WordsView words(&of);
      return rank < words.words() ? number(words.word(static_cast<std::uint32_t>(rank))) : -1;
    };
    const FunctionRef<double(const Header&, double)> number(number_of);
    GridCells::Without by_number = without;
    by_number.number = &number;
    return (*cells_)->add(density, by_number);
  });
}

Status WordSums::rank(Words* out) noexcept {
  return guarded([&] {
    GridList list;
    if (Status s = (*cells_)->list(&list); !s.ok()) return s;
    out->begin_every_row();
    out->add_null((*cells_)->specials().nulls);
    out->take(list.entries, std::move(cells_));
    if (Status s = out->rank(); !s.ok()) return s;
    bool full = false;
    for (std::size_t i = 0; i < out->distinct(); ++i) {
      const std::uint32_t at = out->number(i);
      const auto text = static_cast<std::size_t>(list.entries[at - 1].x);
      if (Status s = out->keep(at, text_[text], 0, &full); !s.ok()) return s;
    }
    return out->end_keeping();
  });
}

}  // namespace kde
