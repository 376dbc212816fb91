// Writing and strictly reading the text form of text.h.
#include "core/density/text.h"

#include "core/density/name_list.h"
#include "core/density/text_fields.h"
#include "core/density/joint_text.h"

#include <array>
#include <new>
#include <span>
#include "core/density/histogram_view.h"
#include "core/status.h"
#include <cstdint>
#include <vector>
#include <cstring>

namespace kde {

namespace {

// The blocks of a histogram as text (text.h).
// A density as it was read: the cells as bits.
struct HistogramText {
  Header header{};
  std::vector<double> atom_value, atom_rows;
  std::vector<HistogramBlock> blocks;
  std::vector<std::uint64_t> bits;
};

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

constexpr const char* kMethodNames[] = {"auto",  "plugin",         "silverman", "normal_reference",
                                        "scott", "sheather_jones", "lscv",      "smoothed_cv"};
static_assert(std::size(kMethodNames) == kMethods);
// The order of lists: what finds its bandwidth in the values, best first, then rules of thumb.
constexpr Method kListedMethods[] = {
    Method::automatic,        Method::plugin,      Method::lscv,
    Method::sheather_jones,   Method::smoothed_cv, Method::silverman,
    Method::normal_reference, Method::scott};
static_assert(std::size(kListedMethods) == kMethods);
constexpr auto kListedMethodNames = [] {
  std::array<const char*, kMethods> names{};
  for (std::size_t i = 0; i < names.size(); ++i)
    names[i] = kMethodNames[static_cast<int>(kListedMethods[i])];
  return names;
}();
constexpr const char* kKernelNames[] = {"gaussian",   "epanechnikov", "biweight",
                                        "triangular", "uniform",      "cosine"};
static_assert(std::size(kKernelNames) == kKernels);
constexpr const char* kTypeNames[] = {"smallint",         "integer",  "bigint", "real",
                                      "double_precision", "numeric",  "date",   "timestamp",
                                      "timestamptz",      "interval", "time"};
static_assert(std::size(kTypeNames) == kValueTypes);

// The double fields of the header in the order of the text.
struct Field {
  const char* name;
  double Header::*member;
};
constexpr const char* kShapeNames[] = {"two_ends", "above", "below"};
static_assert(std::size(kShapeNames) == kShapes);
constexpr Field kFields[] = {
    {"rows", &Header::rows},
    {"nulls", &Header::nulls},
    {"nans", &Header::nans},
    {"negative_infinities", &Header::negative_infinities},
    {"positive_infinities", &Header::positive_infinities},
    {"sample_rows", &Header::sample_rows},
    {"bandwidth", &Header::bandwidth},
    {"lattice_step", &Header::lattice_step},
    {"lattice_offset", &Header::lattice_offset},
    {"lattice_scale", &Header::lattice_scale},
    {"min", &Header::min},
    {"max", &Header::max},
    {"mean", &Header::mean},
    {"variance", &Header::variance},
    {"cell_rows", &Header::cell_rows},
    {"row_unit", &Header::row_unit},
    {"error", &Header::error},
    {"rows_variance", &Header::rows_variance},
    {"end_variance", &Header::end_variance},
    {"known_below", &Header::known_below},
    {"known_above", &Header::known_above},
};

// All before the atoms.
Header read_header(Reader& in) {
  Header h{};
  in.skip_space();
  for (char c : std::string_view("kde/2")) in.expect(c, "kde/2");
  h.kind = Kind::one_column;
  in.field("kernel");
  h.kernel = static_cast<Kernel>(in.word(kKernelNames, "kernel"));
  in.field("type");
  h.value_type = read_value_type(in);
  in.field("method");
  h.method = static_cast<Method>(in.word(kMethodNames, "method"));
  in.field("flags");
  h.flags = in.number<std::uint8_t>("flags");
  for (const Field& f : kFields) {
    in.field(f.name);
    h.*f.member = in.number<double>(f.name);
  }
  for (int i = 0; i < kShapes; ++i) read_errors(in, kShapeNames[i], h.count_variance[i]);
  return h;
}

void write_header(const Header& h, Writer& w) {
  w.text("kde/2");
  w.field("kernel");
  w.text(kernel_name(h.kernel));
  w.field("type");
  w.text(value_type_name(h.value_type));
  w.field("method");
  w.text(method_name(h.method));
  w.field("flags");
  w.number(int{h.flags});
  for (const Field& f : kFields) {
    w.field(f.name);
    w.number(h.*f.member);
  }
  for (int i = 0; i < kShapes; ++i) w.errors(kShapeNames[i], h.count_variance[i]);
}

}  // namespace

const char* method_name(Method method) { return kMethodNames[static_cast<int>(method)]; }

const char* method_list() {
  static constexpr NameList kList = name_list(kListedMethodNames);
  return kList.text;
}

const char* selector_list() {
  static constexpr NameList kList = name_list(std::span(kListedMethodNames).subspan<1>());
  return kList.text;
}

bool parse_method(std::string_view name, Method* method) {
  for (std::size_t i = 0; i < std::size(kMethodNames); ++i) {
    if (name == kMethodNames[i]) {
      *method = static_cast<Method>(i);
      return true;
    }
  }
  return false;
}

const char* kernel_name(Kernel kernel) { return kKernelNames[static_cast<int>(kernel)]; }

const char* kernel_list() {
  static constexpr NameList kList = name_list(kKernelNames);
  return kList.text;
}

bool parse_kernel(std::string_view name, Kernel* kernel) {
  for (std::size_t i = 0; i < std::size(kKernelNames); ++i) {
    if (name == kKernelNames[i]) {
      *kernel = static_cast<Kernel>(i);
      return true;
    }
  }
  return false;
}

const char* value_type_name(ValueType type) { return kTypeNames[static_cast<int>(type)]; }

Status to_text(const DensityView& d, std::string* out) {
  try {
    out->clear();
    Writer w(out);
    write_header(d.header(), w);
    w.field("atoms");
    for (int i = 0; i < d.atoms(); ++i) {
      w.text(i == 0 ? "[" : ",");
      w.number(d.atom_value(i));
      w.text(":");
      w.number(d.atom_cumulative_rows(i));
    }
    w.text(d.atoms() == 0 ? "[]" : "]");
    write_blocks(d, w);
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "out of memory");
  }
  return Status::success();
}

void read_errors(Reader& in, const char* name, float (&errors)[kErrorScales]) {
  std::size_t n = 0;
  read_list(in, name, kErrorScales,
            [&errors, &n, name](Reader& r) { errors[n++] = r.number<float>(name); });
  if (n != kErrorScales) in.fail(name);
}

ValueType read_value_type(Reader& in) {
  return static_cast<ValueType>(in.word(kTypeNames, "type"));
}

Status read_text(Reader& in, DensityBytes* density) {
  HistogramText text;
  text.header = read_header(in);
  read_list(in, "atoms", kMaxBytes / (2 * sizeof(double)), [&text](Reader& r) {
    text.atom_value.push_back(r.number<double>("atoms"));
    r.expect(':', "atoms");
    text.atom_rows.push_back(r.number<double>("atoms"));
  });
  read_blocks(in, &text);
  if (!in.ok()) return Status::error(Code::invalid_format, "expected field \"%s\"", in.failed_at());
  return store_histogram(text, density);
}

Status from_text(std::string_view text, DensityBytes* density, const Control& control) {
  try {
    if (is_joint_text(text)) return joint_from_text(text, density, control);
    Reader in(text);
    if (Status s = read_text(in, density); !s.ok()) return s;
    if (!in.at_end()) return Status::error(Code::invalid_format, "unexpected text after the end");
    return Status::success();
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "out of memory");
  }
}

}  // namespace kde
