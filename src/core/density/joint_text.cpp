// Writing and strictly reading the text form of joint_text.h.
#include "core/density/joint_text.h"

#include "core/density/text.h"
#include "core/density/text_fields.h"
#include "core/density/base64.h"
#include "core/density/joint_format.h"

#include <cstring>
#include <new>

namespace kde {

namespace {

// The double fields of the header in the order of the text.
struct HeaderField {
  const char* name;
  double JointHeader::*member;
};
constexpr HeaderField kHeaderFields[] = {
    {"rows", &JointHeader::rows},
    {"sample_rows", &JointHeader::sample_rows},
    {"own_rows", &JointHeader::own_rows},
    {"sampling_variance", &JointHeader::sampling_variance},
    {"reading_variance", &JointHeader::reading_variance},
    {"rows_variance", &JointHeader::rows_variance},
};
struct ColumnField {
  const char* name;
  double JointColumn::*member;
};
constexpr ColumnField kColumnFields[] = {
    {"center", &JointColumn::center},
    {"bandwidth", &JointColumn::bandwidth},
    {"value_center", &JointColumn::value_center},
    {"value_unit", &JointColumn::value_unit},
};

// What is read before the sections, which take their place at once.
struct Parts {
  JointHeader header{};
  std::vector<JointColumn> column;
  std::vector<double> heavy;  // of all columns
  std::vector<DensityBytes> marginal;
  std::vector<double> correlation;
  std::string_view effects, coordinates, weights, values;  // base64
};

void write_numbers(Writer& w, const char* name, std::span<const double> numbers) {
  w.field(name);
  w.text("[");
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) w.text(",");
    w.number(numbers[i]);
  }
  w.text("]");
}

// After the method. io is a Reader or a Writer.
template <typename Io, typename AnyHeader>
void header_fields(Io& io, AnyHeader& h) {
  io.field("flags", h.flags);
  io.field("points", h.points);
  for (const HeaderField& f : kHeaderFields) io.field(f.name, h.*f.member);
  io.errors("count_error", h.count_error);
  io.errors("mean_error", h.mean_error);
  io.field("columns", h.columns);
}

// After the type.
template <typename Io, typename AnyColumn>
void column_fields(Io& io, AnyColumn& c) {
  io.field("flags", c.flags);
  io.field("value_bytes", c.value_bytes);
  for (const ColumnField& f : kColumnFields) io.field(f.name, c.*f.member);
}

Status write_column(const JointView& d, int k, Writer& w) {
  const JointColumn& c = d.column(k);
  w.field("column", k + 1);
  w.field("type");
  w.text(value_type_name(c.value_type));
  column_fields(w, c);
  write_numbers(w, "heavy", d.heavy(k));
  std::string marginal;
  if (Status s = to_text(DensityView(d.marginal(k)), &marginal); !s.ok()) return s;
  w.field("marginal");
  w.text("(");
  w.text(marginal);
  w.text(")");
  return Status::success();
}

void write_section(Writer& w, const char* name, const void* numbers, std::size_t count,
                   std::string* out) {
  w.field(name);
  write_base64(static_cast<const std::uint32_t*>(numbers), count, out);
}

Status write(const JointView& d, std::string* out) {
  out->clear();
  Writer w(out);
  const JointHeader& h = d.header();
  w.text("kde/2 kind=joint");
  w.field("method");
  w.text(joint_method_name(h.method));
  header_fields(w, h);
  for (int k = 0; k < d.columns(); ++k) {
    if (Status s = write_column(d, k, w); !s.ok()) return s;
  }
  std::vector<double> correlation;
  for (int j = 1; d.correlated() && j < d.columns(); ++j) {
    for (int k = 0; k < j; ++k) correlation.push_back(d.correlation(j, k));
  }
  write_numbers(w, "correlation", correlation);
  JointSizes sizes;
  for (int k = 0; k < d.columns(); ++k) sizes.add(d.column(k));
  const JointLayout at = joint_layout(h, sizes);
  const auto section = [&](const char* name, std::size_t begin, std::size_t end) {
    write_section(w, name, reinterpret_cast<const char*>(&h) + begin, (end - begin) / sizeof(float),
                  out);
  };
  section("effects", at.effect, at.box);
  section("coordinates", at.coordinate, at.weight);
  section("weights", at.weight, at.value);
  section("values", at.value, at.size);
  return Status::success();
}

void read_start(Reader& in) {
  in.skip_space();
  for (char c : std::string_view("kde/2")) in.expect(c, "kde/2");
  constexpr const char* kKinds[] = {"joint"};
  in.field("kind");
  in.word(kKinds, "kind");
}

void read_header(Reader& in, Parts* parts) {
  JointHeader& h = parts->header;
  h.version = kFormatVersion;
  h.kind = Kind::joint;
  read_start(in);
  in.field("method");
  const std::string_view method = in.token();
  if (!parse_joint_method(std::string(method).c_str(), &h.method)) in.fail("method");
  header_fields(in, h);
  if (h.columns < 2 || h.columns > kMaxColumns) in.fail("columns");
}

Status read_column(Reader& in, int number, Parts* parts) {
  JointColumn c{};
  in.field("column");
  if (in.number<int>("column") != number) in.fail("column");
  in.field("type");
  c.value_type = read_value_type(in);
  column_fields(in, c);
  read_list(in, "heavy", kMaxHeavy, [&](Reader& r) {
    parts->heavy.push_back(r.number<double>("heavy"));
    ++c.heavy;
  });
  in.field("marginal");
  in.expect('(', "marginal");
  DensityBytes marginal;
  if (in.ok()) {
    const auto read = c.is_category() ? read_column_text : read_text;
    if (Status s = read(in, &marginal); !s.ok()) return s;
  }
  in.expect(')', "marginal");
  c.marginal_bytes = static_cast<std::uint32_t>(marginal.whole_words());
  parts->column.push_back(c);
  parts->marginal.push_back(std::move(marginal));
  return Status::success();
}

std::string_view read_section(Reader& in, const char* name) {
  in.field(name);
  return in.token();
}

// A section's `count` numbers, a slice at a time: three numbers are 16 characters.
Status read_numbers(std::string_view text, const char* field, std::uint32_t* numbers,
                    std::size_t count, const Control& control) {
  constexpr std::size_t kSliceNumbers = 3 << 15;  // a millisecond or two
  while (count > kSliceNumbers) {
    if (control.stop_requested()) return Status::error(Code::cancelled, "cancelled");
    const std::size_t length = base64_length(kSliceNumbers);
    if (text.size() < length || !read_base64(text.substr(0, length), numbers, kSliceNumbers))
      return Status::error(Code::invalid_format, "expected field \"%s\"", field);
    text.remove_prefix(length);
    numbers += kSliceNumbers;
    count -= kSliceNumbers;
  }
  if (!read_base64(text, numbers, count))
    return Status::error(Code::invalid_format, "expected field \"%s\"", field);
  return Status::success();
}

Status store(const Parts& parts, const Control& control, DensityBytes* density) {
  const JointHeader& h = parts.header;
  // What is no histogram, and so may end within a word, is refused later.
  JointSizes sizes;
  for (const JointColumn& c : parts.column) sizes.add(c);
  const JointLayout at = joint_layout(h, sizes);
  if (at.size > kMaxJointBytes) return Status::error(Code::invalid_format, "longer than 64 MB");
  if (parts.correlation.size() * sizeof(double) != at.heavy - at.correlation)
    return Status::error(Code::invalid_format, "correlations do not fit the columns");
  // Nothing large is allocated for a text that does not hold it.
  const std::size_t effects = joint_effects(h.columns);
  if (parts.effects.size() != base64_length(effects))
    return Status::error(Code::invalid_format, "effects do not fit the columns");
  const std::size_t coordinates = (at.weight - at.coordinate) / sizeof(float);
  const std::size_t weights = (at.value - at.weight) / sizeof(float);
  const std::size_t values = (at.size - at.value) / sizeof(float);
  if (parts.coordinates.size() != base64_length(coordinates))
    return Status::error(Code::invalid_format, "coordinates do not fit the points");
  if (parts.weights.size() != base64_length(weights))
    return Status::error(Code::invalid_format, "weights do not fit the points");
  if (parts.values.size() != base64_length(values))
    return Status::error(Code::invalid_format, "values do not fit the points");

  *density = DensityBytes(at.size);
  char* bytes = density->data();
  char* next = bytes;
  const auto put = [&next](const void* from, std::size_t n) {
    if (n > 0) std::memcpy(next, from, n);
    next += n;
  };
  put(&h, sizeof h);
  put(parts.column.data(), parts.column.size() * sizeof(JointColumn));
  put(parts.correlation.data(), parts.correlation.size() * sizeof(double));
  put(parts.heavy.data(), parts.heavy.size() * sizeof(double));
  for (const DensityBytes& marginal : parts.marginal) put(marginal.data(), marginal.whole_words());
  const auto numbers = [bytes](std::size_t offset) {
    return reinterpret_cast<std::uint32_t*>(bytes + offset);
  };
  if (Status s = read_numbers(parts.effects, "effects", numbers(at.effect), effects, control);
      !s.ok())
    return s;
  if (Status s = read_numbers(parts.coordinates, "coordinates", numbers(at.coordinate), coordinates,
                              control);
      !s.ok())
    return s;
  if (Status s = read_numbers(parts.weights, "weights", numbers(at.weight), weights, control);
      !s.ok())
    return s;
  if (Status s = read_numbers(parts.values, "values", numbers(at.value), values, control); !s.ok())
    return s;
  if (joint_size(bytes, at.size) != at.size)
    return Status::error(Code::invalid_format, "length does not fit its contents");
  write_boxes(bytes);
  return validate_joint(bytes, at.size);
}

}  // namespace

Status to_text(const JointView& density, std::string* out) noexcept {
  try {
    return write(density, out);
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "out of memory");
  }
}

bool is_joint_text(std::string_view text) {
  Reader in(text);
  read_start(in);
  return in.ok();
}

Status joint_from_text(std::string_view text, DensityBytes* density, const Control& control) {
  Reader in(text);
  Parts parts;
  read_header(in, &parts);
  for (int k = 1; in.ok() && k <= parts.header.columns; ++k) {
    if (Status s = read_column(in, k, &parts); !s.ok()) return s;
  }
  read_list(in, "correlation", kMaxColumns * (kMaxColumns - 1) / 2,
            [&parts](Reader& r) { parts.correlation.push_back(r.number<double>("correlation")); });
  parts.effects = read_section(in, "effects");
  parts.coordinates = read_section(in, "coordinates");
  parts.weights = read_section(in, "weights");
  parts.values = read_section(in, "values");
  if (!in.ok()) return Status::error(Code::invalid_format, "expected field \"%s\"", in.failed_at());
  if (!in.at_end()) return Status::error(Code::invalid_format, "unexpected text after the end");
  return store(parts, control, density);
}

}  // namespace kde
