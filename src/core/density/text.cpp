// Writing and strictly reading the text form of text.h.
#include "core/density/text.h"

#include "core/density/histogram_text.h"
#include "core/density/text_fields.h"
#include "core/joint/text.h"

#include <cmath>
#include <new>

namespace kde {

namespace {

constexpr const char* kMethodNames[] = {"auto",  "plugin",         "silverman", "normal_reference",
                                        "scott", "sheather_jones", "lscv",      "smoothed_cv"};
static_assert(std::size(kMethodNames) == kMethods);
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
constexpr Field kFields[] = {
    {"rows", &Header::rows},
    {"nulls", &Header::nulls},
    {"nans", &Header::nans},
    {"negative_infinities", &Header::negative_infinities},
    {"positive_infinities", &Header::positive_infinities},
    {"sample_rows", &Header::sample_rows},
    {"bandwidth", &Header::bandwidth},
    {"origin", &Header::origin},
    {"lattice_step", &Header::lattice_step},
    {"lattice_offset", &Header::lattice_offset},
    {"lattice_scale", &Header::lattice_scale},
    {"min", &Header::min},
    {"max", &Header::max},
    {"mean", &Header::mean},
    {"variance", &Header::variance},
    {"smooth_rows", &Header::smooth_rows},
    {"slope_unit", &Header::slope_unit},
    {"error", &Header::error},
    {"sampling_variance", &Header::sampling_variance},
};

// All before the atoms.
Header read_header(Reader& in) {
  Header h{};
  in.skip_space();
  for (char c : std::string_view("kde/1")) in.expect(c, "kde/1");
  h.kind = Kind::one_column;
  if (in.sees("kind")) {
    in.field("kind");
    constexpr const char* kKindNames[] = {"histogram"};
    in.word(kKindNames, "kind");
    h.kind = Kind::histogram;
  }
  in.field("kernel");
  h.kernel = static_cast<Kernel>(in.word(kKernelNames, "kernel"));
  in.field("type");
  h.value_type = read_value_type(in);
  in.field("method");
  h.method = static_cast<Method>(in.word(kMethodNames, "method"));
  in.field("flags");
  h.flags = in.number<std::uint8_t>("flags");
  in.field("exponent");
  h.exponent = in.number<std::int32_t>("exponent");
  for (const Field& f : kFields) {
    in.field(f.name);
    h.*f.member = in.number<double>(f.name);
  }
  read_errors(in, "count_error", h.count_error);
  read_errors(in, "mean_error", h.mean_error);
  return h;
}

void read_atoms(Reader& in, DensityParts* parts) {
  read_list(in, "atoms", kMaxBytes / 8, [parts](Reader& r) {
    parts->atom_value.push_back(r.number<double>("atoms"));
    r.expect(':', "atoms");
    parts->atom_rows.push_back(r.number<double>("atoms"));
  });
}

void read_knots(Reader& in, DensityParts* parts) {
  read_list(in, "knots", kMaxBytes / 12, [parts](Reader& r) {
    const double u = r.number<double>("knots");
    if (truncate_position(u) != u) r.fail("knots");  // more digits than are stored
    parts->knot_u.push_back(u + 0.0);
    r.expect(':', "knots");
    parts->knot_mass.push_back(r.number<std::uint32_t>("knots"));
    r.expect(':', "knots");
    parts->knot_slope.push_back(r.number<std::uint16_t>("knots"));
  });
  read_list(in, "moments", kMaxBytes / 8, [parts](Reader& r) {
    parts->block_moment.push_back(r.number<float>("moments"));
    r.expect(':', "moments");
    parts->block_moment.push_back(r.number<float>("moments"));
  });
}

void write_header(const Header& h, Writer& w) {
  w.text("kde/1");
  if (h.kind == Kind::histogram) {
    w.field("kind");
    w.text("histogram");
  }
  w.field("kernel");
  w.text(kernel_name(h.kernel));
  w.field("type");
  w.text(value_type_name(h.value_type));
  w.field("method");
  w.text(method_name(h.method));
  w.field("flags");
  w.number(int{h.flags});
  w.field("exponent");
  w.number(h.exponent);
  for (const Field& f : kFields) {
    w.field(f.name);
    w.number(h.*f.member);
  }
  w.errors("count_error", h.count_error);
  w.errors("mean_error", h.mean_error);
}

void write_knots(const DensityView& d, Writer& w) {
  w.field("knots");
  for (int i = 0; i < d.knots(); ++i) {
    w.text(i == 0 ? "[" : ",");
    w.number(d.knot_u(i));
    w.text(":");
    w.number(d.knot_mass_raw(i));
    w.text(":");
    w.number(unsigned{d.knot_slope_raw(i)});
  }
  w.text(d.knots() == 0 ? "[]" : "]");
  w.field("moments");
  for (int b = 0; b < d.blocks(); ++b) {
    w.text(b == 0 ? "[" : ",");
    w.number(d.block_moment(b, 1));
    w.text(":");
    w.number(d.block_moment(b, 2));
  }
  w.text(d.blocks() == 0 ? "[]" : "]");
}

// Whether the atoms are stored as they were read: lattice points are, other values would move.
bool atoms_kept(const DensityParts& parts, const DensityView& d) {
  for (int i = 0; i < d.atoms(); ++i) {
    if (d.atom_value(i) != parts.atom_value[static_cast<std::size_t>(i)]) return false;
  }
  return true;
}

}  // namespace

const char* method_name(Method method) { return kMethodNames[static_cast<int>(method)]; }

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
    if (d.header().kind == Kind::histogram) {
      write_blocks(HistogramView(&d.header()), w);
    } else {
      write_knots(d, w);
    }
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

Status read_text(Reader& in, std::vector<std::uint64_t>* words, std::size_t* size) {
  DensityParts parts;
  HistogramText blocks;
  parts.header = read_header(in);
  const bool histogram = parts.header.kind == Kind::histogram;
  read_atoms(in, &parts);
  if (histogram) {
    read_blocks(in, &blocks);
  } else {
    read_knots(in, &parts);
  }
  if (!in.ok()) return Status::error(Code::invalid_format, "expected field \"%s\"", in.failed_at());
  if (histogram) return store_histogram(parts, blocks, words, size);
  const Status s = encode(parts, words, size);
  // Parts of unequal length are the text's fault here.
  if (s.code == Code::internal)
    return Status::error(Code::invalid_format, "knots and moments do not fit each other");
  if (s.ok() && !atoms_kept(parts, DensityView(words->data())))
    return Status::error(Code::invalid_format, "an atom is not on the lattice");
  return s;
}

Status from_text(std::string_view text, std::vector<std::uint64_t>* words, std::size_t* size,
                 const Control& control) {
  try {
    if (is_joint_text(text)) return joint_from_text(text, words, size, control);
    Reader in(text);
    if (Status s = read_text(in, words, size); !s.ok()) return s;
    if (!in.at_end()) return Status::error(Code::invalid_format, "unexpected text after the end");
    return Status::success();
  } catch (const std::bad_alloc&) {
    return Status::error(Code::out_of_memory, "out of memory");
  }
}

}  // namespace kde
