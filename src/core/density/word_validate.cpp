// Views and rules of word_format.h.
#include "core/density/word_format.h"

#include "core/density/fields.h"
#include "core/density/layout.h"
#include "core/guarded.h"

#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

namespace kde {

namespace {

// Of one word, beside its text.
constexpr std::size_t bytes_of_one(std::uint32_t flags) {
  return sizeof(std::uint32_t) + sizeof(std::uint16_t) +
         ((flags & kPlaced) != 0 ? sizeof(std::uint16_t) : 0) + ((flags & kSpread) != 0 ? 1 : 0);
}

}  // namespace

std::size_t words_bytes(std::size_t words, std::size_t text_bytes, std::uint32_t flags) {
  return aligned(sizeof(WordsHeader) + words * bytes_of_one(flags) + text_bytes);
}

WordsView::WordsView(const Header* density) {
  const char* at = reinterpret_cast<const char*>(density) + histogram_size(density, kMostListBytes);
  header_ = reinterpret_cast<const WordsHeader*>(at);
  end_ = reinterpret_cast<const std::uint32_t*>(header_ + 1);
  order_ = reinterpret_cast<const std::uint16_t*>(end_ + words());
  const std::uint16_t* behind = order_ + words();
  place_ = nullptr;
  if ((header_->flags & kPlaced) != 0) {
    place_ = behind;
    behind += words();
  }
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(behind);
  spread_ = nullptr;
  if ((header_->flags & kSpread) != 0) {
    spread_ = bytes;
    bytes += words();
  }
  text_ = reinterpret_cast<const char*>(bytes);
}

std::int64_t WordsView::find(std::string_view text) const {
  std::uint32_t low = 0;
  std::uint32_t high = words();
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    const std::uint32_t rank = order_[middle];
    if (rank >= words()) return -1;
    const int compared = word(rank).compare(text);
    if (compared == 0) return rank;
    if (compared < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return -1;
}

std::size_t column_size(const void* bytes, std::size_t available) {
  Walk<> walk(bytes, available);
  return walk.column() != nullptr ? walk.at() : 0;
}

Status validate_words(const Header* density) {
  if (density->value_type != ValueType::category) return invalid("words of what is no category");
  const WordsView words(density);
  const WordsHeader& h = words.header();
  if (Status s = check_fields(h, " of words"); !s.ok()) return s;
  if (density->nans + density->negative_infinities + density->positive_infinities > 0)
    return invalid("a category has values that are not finite");
  if (!(density->lattice_step == 1 && density->lattice_offset == 0 &&
        density->lattice_scale <= 1) &&
      density->finite_rows() > 0)
    return invalid("ranks of words are no whole numbers");
  const bool has_others = density->finite_rows() > 0 && density->max == h.words;
  if (h.others > h.distinct || (h.others > 0) != has_others)
    return invalid("a number of words does not fit their rows");
  if (!(density->min >= 0 && density->max <= h.words)) return invalid("a rank is of no word");
  // Of a type with more values than are kept a place may be beyond them.
  std::vector<bool> seen(h.words), taken(std::size_t{1} << 16);
  std::uint32_t before = 0;
  for (std::uint32_t i = 0; i < h.words; ++i) {
    if (words.end_[i] < before || words.end_[i] > h.text_bytes ||
        words.end_[i] - before > kMostStoredWordBytes)
      return invalid("a word is out of place");
    before = words.end_[i];
    if (words.word(i).find('\0') != std::string_view::npos) return invalid("a word has a zero");
    const std::uint16_t rank = words.order_[i];
    if (rank >= h.words || seen[rank]) return invalid("words are in no order");
    seen[rank] = true;
    if (words.place_ == nullptr) continue;
    if (taken[words.place_[i]]) return invalid("two words have one place");
    taken[words.place_[i]] = true;
  }
  if (before != h.text_bytes) return invalid("a word is out of place");
  for (std::uint32_t i = 1; i < h.words; ++i)
    if (words.word(words.order_[i - 1]) >= words.word(words.order_[i]))
      return invalid("words are not in ascending order");
  const char* end = reinterpret_cast<const char*>(&h) + h.bytes;
  if (!all_zero(words.text_ + h.text_bytes, end)) return invalid("unused bytes are not 0");
  return Status::success();
}

namespace {

Status put_words(const WordsHeader& header, const WordEntry* entries, std::size_t words,
                 const void* density, std::size_t size, DensityBytes* out) {
  if (words > kMostWords) return Status::error(Code::invalid_argument, "too many words");
  std::vector<std::uint16_t> order(words);
  std::iota(order.begin(), order.end(), std::uint16_t{0});
  std::sort(order.begin(), order.end(), [entries](std::uint16_t a, std::uint16_t b) {
    return entries[a].text < entries[b].text;
  });
  for (std::size_t i = 1; i < words; ++i)
    if (entries[order[i - 1]].text == entries[order[i]].text)
      return Status::error(Code::invalid_argument, "two words are the same");
  WordsHeader h = header;
  std::size_t text = 0;
  for (std::size_t i = 0; i < words; ++i) text += entries[i].text.size();
  const std::size_t bytes = words_bytes(words, text, h.flags);
  if (bytes > kMostWordsBytes) return Status::error(Code::invalid_argument, "too many words");
  h.words = static_cast<std::uint32_t>(words);
  h.text_bytes = static_cast<std::uint32_t>(text);
  h.bytes = static_cast<std::uint32_t>(bytes);

  const std::size_t begin = histogram_size(density, size);
  DensityBytes all(size + bytes);
  char* to = all.data();
  std::memcpy(to, density, begin);
  std::memcpy(to + begin + bytes, static_cast<const char*>(density) + begin, size - begin);
  const auto put = [&to](const auto& value) {
    std::memcpy(to, &value, sizeof value);
    to += sizeof value;
  };
  to += begin;
  put(h);
  std::uint32_t end = 0;
  for (std::size_t i = 0; i < words; ++i) {
    end += static_cast<std::uint32_t>(entries[i].text.size());
    put(end);
  }
  for (const std::uint16_t rank : order) put(rank);
  if ((h.flags & kPlaced) != 0)
    for (std::size_t i = 0; i < words; ++i) put(entries[i].place);
  if ((h.flags & kSpread) != 0)
    for (std::size_t i = 0; i < words; ++i) put(entries[i].spread);
  for (std::size_t i = 0; i < words; ++i) {
    const std::string_view word = entries[i].text;
    if (!word.empty()) std::memcpy(to, word.data(), word.size());
    to += word.size();
  }
  all.header().words = 1;
  *out = std::move(all);
  return Status::success();
}

}  // namespace

Status insert_words(const WordsHeader& header, const WordEntry* entries, std::size_t words,
                    const void* density, std::size_t size, DensityBytes* out) noexcept {
  return guarded([&] { return put_words(header, entries, words, density, size, out); });
}

}  // namespace kde
