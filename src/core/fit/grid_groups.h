// Groups whose lists have round ends: how they are stored, and how they are added up.
//
// They are stored with one floor and one limit for all, the finest with which all fit. Where not even
// days of times fit, or a few cells of numbers, the smallest groups share one list, the rest.
//
// Densities are added up group by group, those of the same key text (that of NULL is one, too). A group
// that has no list in a density has no row in it, unless that has a rest, which does not tell of whom
// it is. So
//
//   a group is by itself   where every density that has a rest has a list of the group's own
//   the rest               has the rests, and the lists of all other groups
//
// whatever the order; no row is counted to a group that it may not be of, and none is lost. How many
// groups the rest has is not known where it was added up, as no names are kept of those in a rest:
// at least as many as the largest of the rests, and as came into it by name.
#pragma once

#include "core/control.h"
#include "core/density/bytes.h"
#include "core/density/group_format.h"
#include "core/fit/fit.h"
#include "core/grid/grid_encode.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace kde {

// Bytes that groups take by default.
inline constexpr std::size_t kGroupsBytes = std::size_t{4} << 20;

struct GroupsReport {
  std::size_t groups = 0;  // with a density of their own
  std::size_t whole = 0;   // of these, read whole by begin_whole()
  std::size_t rest = 0;    // that share one
  char cells[80] = {};     // of every row: where counts are exact
};

// The bytes of all groups together.
struct GroupsBytes {
  GroupsBytes(std::size_t all) : GroupsBytes(all, all, kGroupsBytes) {}
  GroupsBytes(std::size_t all, std::size_t of_finer, std::size_t of_many)
      : most(all), finer(std::min(all, of_finer)), many(std::max(all, of_many)) {}
  // Where a list has those: as eight lists, and finer cells that have less than those of one.
  static GroupsBytes of(const GridBytes& list) {
    const std::size_t all = std::min(8 * list.most, kMostGroupsBytes);
    return {all, list.finer < list.most ? list.finer : all, kGroupsBytes};
  }

  std::size_t most, finer;  // as of GridBytes
  std::size_t many;         // where with `most` not all have a list of their own
};

// Of a group the cells that it has by itself, at most, where there are so many groups: as many
// together as four columns have.
std::size_t cells_of_each(std::size_t groups);

// The rows of a group.
struct GroupCells {
  GridCells* cells;
  std::string_view key;
  bool has_key;  // false: NULL
};

// Appends groups that have rows with an x to the density of all rows. rest: rows of rest_groups more;
// null: there are none. options: as of all rows. Cells have the same rows as before. Errors:
// cancelled, out_of_memory, those of fit_cells().
Status append_groups(const std::vector<GroupCells>& groups, GridCells* rest,
                     std::size_t rest_groups, const FitOptions& options, const GroupsBytes& bytes,
                     const Control& control, DensityBytes* density, GroupsReport* report);

// Groups that are added up. It owns no memory and has no destructor: its arrays come from a Memory
// (summary/memory.h).
class GridGroups {
 public:
  GridGroups() = default;
  GridGroups(const Memory& memory, Chain chain, int measures)
      : memory_(memory), chain_(chain), measures_(measures) {}

  // As GridCells::keep_cells(), of all; before any density.
  void keep_cells() { keeps_cells_ = true; }
  // A density's, of the same chain and as many measures: valid, with groups. Errors: out_of_memory;
  // invalid_format of groups without round ends or not of every row, and of what no fit writes. It
  // must not be used further then.
  Status add(const Header& density) { return add(density, {}); }
  // As GridCells::add() without parts: too_large also where some groups share a list.
  Status add(const Header& density, const GridCells::Without& without);
  // Adds what another has, of the same chain and as many measures; it is used up. Errors:
  // out_of_memory; neither may be used further then.
  Status merge(GridGroups* other);

  // As append_groups(). It has the same rows as before.
  Status append(const FitOptions& options, const GroupsBytes& bytes, const Control& control,
                DensityBytes* density, GroupsReport* report) const noexcept;

  // For another process of this machine. bytes: of unknown origin and alignment; checked. Errors:
  // invalid_format, out_of_memory.
  std::size_t serialized_size() const;
  void serialize(void* out) const;
  Status deserialize(const void* bytes, std::size_t size);

  // Frees what it holds; it must not be used further.
  void release();

 private:
  struct Serialized;
  struct SerializedGroup;
  struct Group;
  static constexpr std::uint32_t kNone = 0xffffffff;

  Status add_lists(const Header& density, const GridCells::Without& without);
  std::uint32_t* slot_of(std::string_view key, bool has_key) const;
  Status find_or_add(std::string_view key, bool has_key, Group** group, bool* is_new);
  Status grow();
  Status new_cells(GridCells** out);
  Status cells_for(std::string_view key, bool has_key, bool had_rest, GridCells** out);
  Status put_into_rest(Group* group);
  Status begin_rest(std::size_t groups);
  void free_cells(GridCells** cells);

  Memory memory_ = {};
  Chain chain_ = Chain::decimal;
  int measures_ = 0;
  bool keeps_cells_ = false;
  std::uint32_t pass_ = 0;  // numbers what is added
  // Those with a list of their own, and names of others.
  Group** groups_ = nullptr;
  std::uint32_t size_ = 0, capacity_ = 0;
  std::uint32_t own_ = 0;              // of them
  std::uint32_t* index_ = nullptr;     // by key: open-addressed, twice as many as capacity_
  GridCells* rest_ = nullptr;          // null: there is none
  std::uint64_t rest_groups_ = 0;      // of the largest
  std::size_t most_ = kMostGridCells;  // cells of each
};

}  // namespace kde
