// Writing and strictly reading the fields of the text form (text.h).
#pragma once

#include "core/density/format.h"
#include "core/density/name_list.h"
#include "core/status.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace kde {

class Writer {
 public:
  explicit Writer(std::string* out) : out_(*out) {}

  template <typename T>
  void number(T x) {
    char buffer[40];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, x).ptr;
    out_.append(buffer, end);
  }
  void text(std::string_view s) { out_.append(s); }
  void field(std::string_view name) {
    out_.push_back(' ');
    out_.append(name);
    out_.push_back('=');
  }
  template <typename T>
  void field(std::string_view name, const T& x) {
    field(name);
    number(x);
  }
  template <std::size_t N, typename Enum>
  void field(std::string_view name, const char* const (&names)[N], Enum x) {
    field(name);
    text(names[static_cast<int>(x)]);
  }
  // "[x,x,...]", one for each scale.
  void errors(std::string_view name, const float (&errors)[kErrorScales]) {
    field(name);
    const char* separator = "[";
    for (float x : errors) {
      text(separator);
      number(x);
      separator = ",";
    }
    text("]");
  }

 private:
  std::string& out_;
};

// Consumes the text from the left; after a failure everything fails.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool ok() const { return failed_at_ == nullptr; }
  const char* failed_at() const { return failed_at_; }

  void skip_space() {
    while (!rest_.empty() && is_space(rest_.front())) rest_.remove_prefix(1);
  }
  bool at_end() {
    skip_space();
    return rest_.empty();
  }
  // Whether that is what the next word begins with.
  bool next_is(std::string_view word) {
    skip_space();
    return rest_.substr(0, word.size()) == word;
  }
  // The next character, whatever it is; false at the end.
  bool next(char* c) {
    if (rest_.empty()) return false;
    *c = rest_.front();
    rest_.remove_prefix(1);
    return true;
  }
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c, const char* where) {
    if (ok() && !take(c)) failed_at_ = where;
  }
  void field(const char* name) {
    if (!ok()) return;
    skip_space();
    const std::string_view n(name);
    if (rest_.substr(0, n.size()) != n || rest_.substr(n.size(), 1) != "=") {
      failed_at_ = name;
      return;
    }
    rest_.remove_prefix(n.size() + 1);
  }
  template <typename T>
  T number(const char* where) {
    T x{};
    if (!ok()) return x;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), x);
    if (error != std::errc()) {
      failed_at_ = where;
      return x;
    }
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return x;
  }
  // The index of the word that follows, up to white space or `end`, in a list of names.
  template <std::size_t N>
  std::uint8_t word(const char* const (&names)[N], const char* where, char end = ' ') {
    if (!ok()) return 0;
    std::size_t length = 0;
    while (length < rest_.size() && !is_space(rest_[length]) && rest_[length] != end) ++length;
    const std::string_view w = rest_.substr(0, length);
    rest_.remove_prefix(length);
    std::uint8_t found = 0;
    if (!find_name(names, w, &found)) failed_at_ = where;
    return found;
  }
  // The fields of Writer.
  template <typename T>
  void field(const char* name, T& x) {
    field(name);
    x = number<T>(name);
  }
  template <std::size_t N, typename Enum>
  void field(const char* name, const char* const (&names)[N], Enum& x) {
    field(name);
    x = static_cast<Enum>(word(names, name));
  }
  void errors(const char* name, float (&errors)[kErrorScales]);

  // What follows, up to white space; may be empty.
  std::string_view token() {
    if (!ok()) return {};
    std::size_t length = 0;
    while (length < rest_.size() && !is_space(rest_[length])) ++length;
    const std::string_view t = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return t;
  }
  void fail(const char* where) {
    if (ok()) failed_at_ = where;
  }

 private:
  static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

  std::string_view rest_;
  const char* failed_at_ = nullptr;
};

// Reads "[item,item,...]", calling read(reader) for each; at most `limit` of them.
template <typename Read>
void read_list(Reader& in, const char* name, std::size_t limit, Read read) {
  in.field(name);
  in.expect('[', name);
  if (!in.ok() || in.take(']')) return;
  std::size_t n = 0;
  do {
    if (++n > limit) in.fail(name);
    if (in.ok()) read(in);
  } while (in.ok() && in.take(','));
  in.expect(']', name);
}

ValueType read_value_type(Reader& in);

// A density of one column from there on. Errors: as from_text() of text.h. May throw
// std::bad_alloc.
Status read_text(Reader& in, DensityBytes* density);
// With its words, if it has them.
Status read_column_text(Reader& in, DensityBytes* density);

}  // namespace kde
