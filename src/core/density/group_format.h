// The stored form of groups, behind the density of a column and its measures.
//
//   offset  what
//   0       the density of all rows (histogram.h, measure_format.h), Header::grouped 1
//   ...     GroupsHeader, 8-byte aligned
//   ...     each group, 8-byte aligned: GroupHeader, its key as text, a density of one column with
//           as many measures, without groups
//
// Groups lie in the order of their rows, most first. The smallest may share one density, the rest,
// which comes last and has no key.
#pragma once

#include "core/control.h"
#include "core/density/checks.h"
#include "core/density/format.h"
#include "core/status.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kde {

struct GroupsHeader {
  std::uint64_t bytes;   // with all groups; a multiple of 8
  std::uint32_t groups;  // entries that follow
  std::uint32_t rest;    // groups that share the last of them; 0: each is one
  // Rows of groups that a sample did not meet: estimated, and the estimate's standard error.
  double unseen, unseen_error;
};

struct GroupHeader {
  std::uint32_t bytes;      // with key and density; a multiple of 8
  std::uint32_t key_bytes;  // of the key; kNoKey: it is NULL, or there is none
};
inline constexpr std::uint32_t kNoKey = 0xffffffff;
// With its padding.
inline std::size_t key_size(const GroupHeader& g) {
  return g.key_bytes == kNoKey ? 0 : aligned(g.key_bytes);
}

// One group; points into the bytes.
struct GroupView {
  const GroupHeader* header = nullptr;
  bool is_rest = false;

  bool has_key() const { return header->key_bytes != kNoKey; }
  std::string_view key() const {
    return {reinterpret_cast<const char*>(header + 1), has_key() ? header->key_bytes : 0};
  }
  const Header* density() const;
};

// All of a density's, in order. density: validated, grouped.
class GroupsView {
 public:
  explicit GroupsView(const Header* density);

  const GroupsHeader& header() const { return *header_; }
  // False after the last.
  bool next(GroupView* group);

 private:
  const GroupsHeader* header_;
  const char* at_;
  std::uint32_t left_;
};

// Bytes of a density of one column with its measures and groups, whose first `available` bytes are
// given; 0 where it cannot be known from them, or they do not fit together, but for what is within
// the groups.
std::size_t density_size(const void* bytes, std::size_t available);
// All of a density's groups, and a density with them, at most.
inline constexpr std::size_t kMostGroupsBytes = std::size_t{8} << 20;
inline constexpr std::size_t kMostDensityBytes = std::size_t{16} << 20;
// At a fit; in the encoding of another database it may be up to four times as long.
inline constexpr std::size_t kMostKeyBytes = 1024;
inline constexpr std::size_t kMostStoredKeyBytes = 4 * kMostKeyBytes;

// The rules above, of bytes of unknown origin behind a valid density and its measures. Errors:
// invalid_format, cancelled.
Status validate_groups(const void* bytes, std::size_t size, const Control& control);

}  // namespace kde
