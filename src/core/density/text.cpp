// Writing and strictly reading the text form of text.h.
#include "core/density/text.h"

#include "core/density/group_format.h"
#include "core/density/histogram_pack.h"
#include "core/density/histogram_view.h"
#include "core/density/joint_text.h"
#include "core/density/name_list.h"
#include "core/density/text_fields.h"
#include "core/density/measure_format.h"
#include "core/density/word_format.h"
#include "core/status.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace kde {

namespace {

// A density as it was read: the cells as bits.
struct HistogramText {
  Header header{};
  std::vector<double> atom_value, atom_rows;
  std::vector<HistogramBlock> blocks;
  BitWriter bits;
};

constexpr const char* kKindNames[] = {"ranges", "points", "mixed"};
constexpr const char* kWhere = "blocks";

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

void read_block(Reader& in, HistogramText* out) {
  HistogramBlock block{};
  block.byte = static_cast<std::uint16_t>(out->bits.next_byte());
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
    if (block.kinds == CellKinds::mixed) out->bits.put(point, 1);
    out->bits.put(step, block.key_bits);
    out->bits.put(rows, block.rows_bits);
  } while (in.take(','));
  in.expect(')', kWhere);
  block.last_cell = static_cast<std::uint8_t>(cells - 1);
  out->blocks.push_back(block);
  // More would not be a density.
  if (out->bits.words().size() * sizeof(std::uint64_t) > kMaxBytes) in.fail(kWhere);
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
  read_list(in, kWhere, kMaxBytes / sizeof(HistogramBlock),
            [out](Reader& r) { read_block(r, out); });
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
                                      "timestamptz",      "interval", "time",   "category"};
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
    {"mean_error", &Header::mean_error},
    {"known_below", &Header::known_below},
    {"known_above", &Header::known_above},
};

// All before the atoms: io is a Reader or a Writer.
template <typename Io, typename AnyHeader>
void header_fields(Io& io, AnyHeader& h) {
  io.field("kernel", kKernelNames, h.kernel);
  io.field("type", kTypeNames, h.value_type);
  io.field("method", kMethodNames, h.method);
  io.field("flags", h.flags);
  for (const Field& f : kFields) io.field(f.name, h.*f.member);
  for (int i = 0; i < kShapes; ++i) io.errors(kShapeNames[i], h.count_variance[i]);
}

struct MeasureField {
  const char* name;
  double MeasureHeader::*member;
};
constexpr MeasureField kMeasureFields[] = {
    {"rows", &MeasureHeader::rows},
    {"origin", &MeasureHeader::origin},
    {"unit", &MeasureHeader::unit},
    {"scale", &MeasureHeader::scale},
    {"min", &MeasureHeader::min},
    {"max", &MeasureHeader::max},
    {"mean", &MeasureHeader::mean},
    {"variance", &MeasureHeader::variance},
    {"mean_error", &MeasureHeader::mean_error},
    {"slack", &MeasureHeader::slack},
};

// All of a measure before its parts.
template <typename Io, typename AnyHeader>
void measure_fields(Io& io, AnyHeader& m) {
  io.field("measure", kTypeNames, m.value_type);
  io.field("parts", m.parts);
  io.field("decimals", m.decimals);
  io.field("nulls", m.nulls);
  for (const MeasureField& f : kMeasureFields) io.field(f.name, m.*f.member);
  io.errors("mean_variance", m.mean_variance);
}

void append(const void* bytes, std::size_t size, std::vector<char>* out) {
  const auto* from = static_cast<const char*>(bytes);
  out->insert(out->end(), from, from + size);
  out->resize((out->size() + 7) / 8 * 8, 0);
}

Status write_measures(const DensityView& d, std::string* out) {
  for (int k = 0; k < d.header().measures; ++k) {
    const MeasureView measure(&d.header(), k);
    Writer w(out);
    measure_fields(w, measure.header());
    for (int p = 0; p < kMeasureParts; ++p) {
      if (!measure.header().has(static_cast<MeasurePart>(p))) continue;
      std::string part;
      if (Status s = to_text(measure.part(static_cast<MeasurePart>(p)), &part); !s.ok()) return s;
      w.text(" ");
      w.text(part);
    }
  }
  return Status::success();
}

// In double quotes, which are doubled in it.
void write_quoted(std::string_view text, Writer& w) {
  w.text("\"");
  for (const char& c : text) {
    if (c == '"') w.text("\"");
    w.text({&c, 1});
  }
  w.text("\"");
}

void read_quoted(Reader& in, const char* name, std::string* text) {
  in.expect('"', name);
  while (in.ok()) {
    char c;
    if (!in.next(&c)) {
      in.fail(name);
    } else if (c == '"' && !in.take('"')) {
      return;
    } else {
      text->push_back(c);
    }
  }
}

struct WordsField {
  const char* name;
  double WordsHeader::*member;
};
constexpr WordsField kWordsFields[] = {
    {"distinct", &WordsHeader::distinct},         {"others", &WordsHeader::others},
    {"others_most", &WordsHeader::others_most},   {"unseen", &WordsHeader::unseen},
    {"unseen_error", &WordsHeader::unseen_error}, {"unseen_one", &WordsHeader::unseen_one},
    {"most_spread", &WordsHeader::most_spread},
};

template <typename Io, typename AnyHeader>
void words_fields(Io& io, AnyHeader& h) {
  io.field("words", h.words);
  io.field("words_type", h.type);
  io.field("words_flags", h.flags);
  for (const WordsField& f : kWordsFields) io.field(f.name, h.*f.member);
}

// word="text":place:spread, as many times as there are words.
void write_words(const DensityView& d, std::string* out) {
  if (d.header().words == 0) return;
  Writer w(out);
  const WordsView words(&d.header());
  words_fields(w, words.header());
  for (std::uint32_t i = 0; i < words.words(); ++i) {
    w.field("word");
    write_quoted(words.word(i), w);
    w.text(":");
    w.number(words.place(i));
    w.text(":");
    w.number(words.spread_code(i));
  }
}

Status read_words(Reader& in, DensityBytes* density) {
  WordsHeader h{};
  words_fields(in, h);
  std::vector<std::string> texts;
  std::vector<WordEntry> entries;
  std::size_t bytes = 0;
  for (std::uint32_t i = 0; in.ok() && i < h.words; ++i) {
    in.field("word");
    std::string text;
    read_quoted(in, "word", &text);
    bytes += text.size();
    if (i >= kMostWords || bytes > kMostWordsBytes) in.fail("word");
    texts.push_back(std::move(text));
    in.expect(':', "word");
    const auto place = in.number<std::uint16_t>("word");
    in.expect(':', "word");
    const auto spread = in.number<std::uint8_t>("word");
    if ((place != 0 && (h.flags & kPlaced) == 0) || (spread != 0 && (h.flags & kSpread) == 0))
      in.fail("word");
    entries.push_back({{}, place, spread});
  }
  if (!in.ok()) return Status::error(Code::invalid_format, "expected field \"%s\"", in.failed_at());
  for (std::size_t i = 0; i < entries.size(); ++i) entries[i].text = texts[i];
  if (Status s = insert_words(h, entries.data(), entries.size(), density); !s.ok())
    return Status::error(Code::invalid_format, "%s", s.message);
  return validate(density->data(), density->size());
}

// A key in double quotes, which are doubled in it; NULL and none is -.
void write_key(const GroupView& group, Writer& w) {
  w.field("group");
  if (!group.has_key()) return w.text("-");
  write_quoted(group.key(), w);
}

Status write_groups(const DensityView& d, std::string* out) {
  if (d.header().grouped == 0) return Status::success();
  Writer w(out);
  GroupsView groups(&d.header());
  w.field("rest", groups.header().rest);
  w.field("unseen", groups.header().unseen);
  w.field("unseen_error", groups.header().unseen_error);
  GroupView group;
  while (groups.next(&group)) {
    write_key(group, w);
    w.text(" ");
    std::string density;
    if (Status s = to_text(DensityView(group.density()), &density); !s.ok()) return s;
    w.text(density);
  }
  return Status::success();
}

// False: there is none.
bool read_key(Reader& in, std::string* key) {
  in.field("group");
  if (in.take('-')) return false;
  read_quoted(in, "group", key);
  return true;
}

Status expected(const Reader& in) {
  return Status::error(Code::invalid_format, "expected field \"%s\"", in.failed_at());
}

Status read_measures(Reader& in, DensityBytes* density);

Status read_groups(Reader& in, DensityBytes* density) {
  std::vector<char> bytes;
  append(density->data(), density->size(), &bytes);
  const std::size_t begin = bytes.size();
  GroupsHeader h{};
  in.field("rest", h.rest);
  in.field("unseen", h.unseen);
  in.field("unseen_error", h.unseen_error);
  if (!in.ok()) return expected(in);
  append(&h, sizeof h, &bytes);
  while (!in.at_end()) {
    std::string key;
    const bool has_key = read_key(in, &key);
    if (!in.ok()) return expected(in);
    const std::size_t at = bytes.size();
    GroupHeader g{0, has_key ? static_cast<std::uint32_t>(key.size()) : kNoKey};
    append(&g, sizeof g, &bytes);
    if (has_key && !key.empty()) append(key.data(), key.size(), &bytes);
    DensityBytes own;
    if (Status s = read_text(in, &own); !s.ok()) return s;
    if (in.next_is("measure"))
      if (Status s = read_measures(in, &own); !s.ok()) return s;
    append(own.data(), own.size(), &bytes);
    if (bytes.size() > kMostDensityBytes)
      return Status::error(Code::invalid_format, "too many groups");
    g.bytes = static_cast<std::uint32_t>(bytes.size() - at);
    std::memcpy(bytes.data() + at, &g, sizeof g);
    ++h.groups;
  }
  h.bytes = bytes.size() - begin;
  std::memcpy(bytes.data() + begin, &h, sizeof h);
  DensityBytes all(bytes.size());
  std::memcpy(all.data(), bytes.data(), bytes.size());
  all.header().grouped = 1;
  *density = std::move(all);
  return validate(density->data(), density->size());
}

// What follows a density of one column, as far as it goes.
Status read_measures(Reader& in, DensityBytes* density) {
  std::vector<char> bytes;
  append(density->data(), density->size(), &bytes);
  int measures = 0;
  for (; in.next_is("measure"); ++measures) {
    if (measures == kMaxMeasures) return Status::error(Code::invalid_format, "too many measures");
    MeasureHeader m{};
    measure_fields(in, m);
    if (!in.ok())
      return Status::error(Code::invalid_format, "expected field \"%s\"", in.failed_at());
    const std::size_t at = bytes.size();
    append(&m, sizeof m, &bytes);
    for (int p = 0; p < kMeasureParts; ++p) {
      if (!m.has(static_cast<MeasurePart>(p))) continue;
      DensityBytes part;
      if (Status s = read_text(in, &part); !s.ok()) return s;
      append(part.data(), part.size(), &bytes);
    }
    m.bytes = static_cast<std::uint32_t>(bytes.size() - at);
    std::memcpy(bytes.data() + at, &m, sizeof m);
  }
  DensityBytes all(bytes.size());
  std::memcpy(all.data(), bytes.data(), bytes.size());
  all.header().measures = static_cast<std::uint8_t>(measures);
  *density = std::move(all);
  return validate(density->data(), density->size());
}

}  // namespace

const char* asked_method_name(const Header& header) {
  return method_name((header.flags & kBounded) != 0 ? Method::automatic : header.method);
}

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
  return find_name(kMethodNames, name, method);
}

const char* kernel_name(Kernel kernel) { return kKernelNames[static_cast<int>(kernel)]; }

const char* kernel_list() {
  static constexpr NameList kList = name_list(kKernelNames);
  return kList.text;
}

bool parse_kernel(std::string_view name, Kernel* kernel) {
  return find_name(kKernelNames, name, kernel);
}

const char* value_type_name(ValueType type) { return kTypeNames[static_cast<int>(type)]; }

Status to_text(const DensityView& d, std::string* out) {
  try {
    out->clear();
    Writer w(out);
    w.text("kde/2");
    header_fields(w, d.header());
    w.field("atoms");
    for (int i = 0; i < d.atoms(); ++i) {
      w.text(i == 0 ? "[" : ",");
      w.number(d.atom_value(i));
      w.text(":");
      w.number(d.atom_cumulative_rows(i));
    }
    w.text(d.atoms() == 0 ? "[]" : "]");
    write_blocks(d, w);
    write_words(d, out);
    if (Status s = write_measures(d, out); !s.ok()) return s;
    return write_groups(d, out);
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "out of memory");
  }
}

void Reader::errors(const char* name, float (&errors)[kErrorScales]) {
  std::size_t n = 0;
  read_list(*this, name, kErrorScales,
            [&errors, &n, name](Reader& r) { errors[n++] = r.number<float>(name); });
  if (n != kErrorScales) fail(name);
}

ValueType read_value_type(Reader& in) {
  return static_cast<ValueType>(in.word(kTypeNames, "type"));
}

Status read_text(Reader& in, DensityBytes* density) {
  HistogramText text;
  text.header.kind = Kind::one_column;
  in.skip_space();
  for (char c : std::string_view("kde/2")) in.expect(c, "kde/2");
  header_fields(in, text.header);
  read_list(in, "atoms", kMaxBytes / (2 * sizeof(double)), [&text](Reader& r) {
    text.atom_value.push_back(r.number<double>("atoms"));
    r.expect(':', "atoms");
    text.atom_rows.push_back(r.number<double>("atoms"));
  });
  read_blocks(in, &text);
  if (!in.ok()) return Status::error(Code::invalid_format, "expected field \"%s\"", in.failed_at());
  *density = lay_out(text.header, text.atom_value, text.atom_rows, text.blocks, text.bits.words());
  if (density->size() > kMaxBytes)
    return Status::error(Code::invalid_format, "density exceeds 16 KB");
  // By the rules of a measure's part, of more weight than rows may be; whole ones are looked at
  // again.
  return validate_one_column(density->data(), density->size());
}

Status read_column_text(Reader& in, DensityBytes* density) {
  if (Status s = read_text(in, density); !s.ok()) return s;
  return in.next_is("words") ? read_words(in, density) : Status::success();
}

Status from_text(std::string_view text, DensityBytes* density, const Control& control) {
  try {
    if (is_joint_text(text)) return joint_from_text(text, density, control);
    Reader in(text);
    if (Status s = read_column_text(in, density); !s.ok()) return s;
    if (in.next_is("measure"))
      if (Status s = read_measures(in, density); !s.ok()) return s;
    if (in.next_is("rest")) return read_groups(in, density);
    if (in.at_end()) return validate(density->data(), density->size());
    return Status::error(Code::invalid_format, "unexpected text after the end");
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "out of memory");
  }
}

}  // namespace kde
