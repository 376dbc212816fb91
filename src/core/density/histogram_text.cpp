// The blocks of a histogram as text; see text.h.
#include "core/density/histogram_text.h"

#include <cstring>

namespace kde {

namespace {

constexpr const char* kKindNames[] = {"ranges", "points", "mixed"};
constexpr const char* kWhere = "blocks";

// Appends fields from the least significant bit on.
class BitWriter {
 public:
  explicit BitWriter(std::vector<std::uint64_t>* words)
      : words_(*words), bit_(64 * words->size()) {}

  void put(std::uint64_t field, unsigned bits) {
    for (unsigned i = 0; i < bits; ++i, ++bit_) {
      if (bit_ / 64 == words_.size()) words_.push_back(0);
      words_[bit_ / 64] |= (field >> i & 1) << bit_ % 64;
    }
  }
  // Where the next block's cells begin.
  std::size_t next_byte() {
    while (bit_ % 8 != 0) put(0, 1);
    return bit_ / 8;
  }

 private:
  std::vector<std::uint64_t>& words_;
  std::size_t bit_;
};

std::uint64_t read_bits(Reader& in, unsigned bits) {
  const auto field = in.number<std::uint64_t>(kWhere);
  if (field >> bits != 0) in.fail(kWhere);
  return field;
}

std::uint8_t read_up_to(Reader& in, unsigned most) {
  const auto field = in.number<std::uint8_t>(kWhere);
  if (field <= most) return field;
  in.fail(kWhere);
  return 0;
}

void read_block(Reader& in, BitWriter* bits, HistogramText* out) {
  HistogramBlock block{};
  block.byte = static_cast<std::uint16_t>(bits->next_byte());
  block.first_key = in.number<std::int64_t>(kWhere);
  in.expect(':', kWhere);
  block.rows_below = in.number<double>(kWhere);
  in.expect(':', kWhere);
  block.key_shift = read_up_to(in, 62);
  in.expect(':', kWhere);
  block.key_bits = read_up_to(in, 63);
  in.expect(':', kWhere);
  block.rows_shift = read_up_to(in, 53);
  in.expect(':', kWhere);
  block.rows_bits = read_up_to(in, 53u - block.rows_shift);
  in.expect(':', kWhere);
  block.kinds = static_cast<CellKinds>(in.word(kKindNames, kWhere, '('));
  in.expect('(', kWhere);
  int cells = 0;
  do {
    const std::uint64_t step = read_bits(in, block.key_bits);
    const bool point = in.take('@');
    if (!point) in.expect(':', kWhere);
    const std::uint64_t rows = read_bits(in, block.rows_bits);
    if (++cells > kHistogramCells ||
        (block.kinds != CellKinds::mixed && point != (block.kinds == CellKinds::points)))
      in.fail(kWhere);
    if (!in.ok()) return;
    if (block.kinds == CellKinds::mixed) bits->put(point, 1);
    bits->put(step, block.key_bits);
    bits->put(rows, block.rows_bits);
  } while (in.take(','));
  in.expect(')', kWhere);
  block.last_cell = static_cast<std::uint8_t>(cells - 1);
  out->blocks.push_back(block);
  // More would not be a density.
  if (out->bits.size() * sizeof(std::uint64_t) > kMaxBytes) in.fail(kWhere);
}

}  // namespace

void write_blocks(const DensityView& d, Writer& w) {
  w.field("blocks");
  for (int b = 0; b < d.blocks(); ++b) {
    const HistogramBlock& block = d.block(b);
    w.text(b == 0 ? "[" : ",");
    w.number(block.first_key);
    w.text(":");
    w.number(block.rows_below);
    for (const unsigned field : {unsigned{block.key_shift}, unsigned{block.key_bits},
                                 unsigned{block.rows_shift}, unsigned{block.rows_bits}}) {
      w.text(":");
      w.number(field);
    }
    w.text(":");
    w.text(kKindNames[static_cast<int>(block.kinds)]);
    BitReader bits(d.words(), block.byte);
    for (int i = 0; i <= block.last_cell; ++i) {
      const bool point =
          block.kinds == CellKinds::mixed ? bits.take(1) != 0 : block.kinds == CellKinds::points;
      w.text(i == 0 ? "(" : ",");
      w.number(bits.take(block.key_bits));
      w.text(point ? "@" : ":");
      w.number(bits.take(block.rows_bits));
    }
    w.text(")");
  }
  w.text(d.blocks() == 0 ? "[]" : "]");
}

void read_blocks(Reader& in, HistogramText* out) {
  BitWriter bits(&out->bits);
  read_list(in, kWhere, kMaxBytes / sizeof(HistogramBlock),
            [&bits, out](Reader& r) { read_block(r, &bits, out); });
}

Status store_histogram(const HistogramText& text, DensityBytes* density) {
  const std::size_t atoms = text.atom_value.size();
  const std::size_t blocks = text.blocks.size();
  const std::size_t size = sizeof(Header) + atoms * 2 * sizeof(double) +
                           blocks * sizeof(HistogramBlock) +
                           text.bits.size() * sizeof(std::uint64_t);
  if (size > kMaxBytes) return Status::error(Code::invalid_format, "density exceeds 16 KB");
  Header header = text.header;
  header.version = kFormatVersion;
  header.atoms = static_cast<std::uint32_t>(atoms);
  header.blocks = static_cast<std::uint32_t>(blocks);
  *density = DensityBytes(size);
  char* p = density->data();
  const auto put = [&p](const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(p, from, bytes);
    p += bytes;
  };
  put(&header, sizeof header);
  put(text.atom_value.data(), atoms * sizeof(double));
  put(text.atom_rows.data(), atoms * sizeof(double));
  put(text.blocks.data(), blocks * sizeof(HistogramBlock));
  put(text.bits.data(), text.bits.size() * sizeof(std::uint64_t));
  return validate(density->data(), size);
}

}  // namespace kde
