// Groups of a scan's rows, each with a density of its own, in a bounded size.
//
// The rows of each group are counted as they are (FitOptions::as_counted). Groups are stored in the
// order of their rows, each with the bytes that it needs, but no more than leave room for all;
// where not all fit, the smallest share one density, the rest: their rows are known, and how many
// groups they are.
//
// Of a sample of blocks, groups may have rows in other blocks alone. The share of the rows that are
// of such is estimated by that of the rows read whose group was met in one block only (I. J. Good,
// The population frequencies of species, Biometrika 40, 1953), a block in the place of a draw.
//
// Of a sample a group of few rows has few of them read, or none. Where its rows can be found apart,
// all of them take the place of those that were sampled, and the group is known as one of every
// row. Which groups these are must depend on the rows that they have, not on those sampled:
// whoever takes the groups that the sample is short of leaves those it has too many of, and their
// sum exceeds that of all rows. In the rest sampled rows stay, as one density has one scale, unless
// all of its groups were read whole. Where all groups together then have more rows or fewer than
// the interval of all rows allows, the sampled ones are scaled in proportion, no further than to
// its end: as the interval holds the truth, this brings their sum no farther from it.
//
// Of every row, groups are cells with round ends (grid_groups.h).
#pragma once

#include "core/density/group_format.h"
#include "core/fit/fit.h"
#include "core/fit/grid_groups.h"
#include "core/grid/owned_cells.h"
#include "core/sampling/sampler.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kde {

// Columns that groups are by, at most.
inline constexpr int kMaxGroupBy = 4;
// What a row has in each of them: numbers that stand for values, 0 for NULL.
using GroupCodes = std::array<std::uint32_t, kMaxGroupBy>;

// The rows of a scan, group by group.
class Groups {
 public:
  // sampling: of all rows; sample_rows and of_group are not used. most: groups at most.
  Groups(const Sampler::Options& sampling, std::size_t most) : sampling_(sampling), most_(most) {
    sampling_.sample_rows = 0;
    sampling_.of_group = true;
    sampling_.range_cells = std::min(sampling_.range_cells, kGroupRangeCells);
  }

  // Before the rows: all that there are will come. level: as of GridCells::begin_at().
  void begin_every_row(int level = -1) {
    every_row_ = true;
    level_ = level;
  }
  // The rows to come lie in another block; never called: they are independent.
  void begin_block() { ++blocks_; }
  // One row, as of Sampler::add. Errors: out_of_memory, invalid_argument; too_large for a group
  // beyond `most`. None may be used further.
  Status add(const GroupCodes& codes, double x, std::span<const double> y) noexcept;
  Status add_null(const GroupCodes& codes) noexcept;

  // After the rows of a sample: those of the group that come from here on are all that it has, and
  // take the place of those sampled. Errors: as add().
  Status begin_whole(const GroupCodes& codes) noexcept;
  // Not all of them came: those sampled stay. Of the group that was begun last.
  void give_up_whole();
  // Every group with rows was met in the sample, or begun and not given up.
  void met_all() { met_all_ = true; }

  std::size_t size() const { return groups_.size(); }
  // Rows read of it with an x: those sampled, or all.
  double rows(std::size_t group) const { return groups_[group].rows_read(); }
  const GroupCodes& codes(std::size_t group) const { return groups_[group].codes; }
  // Where every row is read, of the levels at which they are counted.
  int coarsest_level() const;
  // Its key as text; never called: NULL. Errors: out_of_memory; too_large for more than
  // kMostKeyBytes. But one that the sample had no row of is then left out, as if not found.
  Status set_key(std::size_t group, std::string_view key) noexcept;

  // Appends the groups that have rows with an x to the density of all rows. Uses them up. options:
  // as of all rows; budget is not used. Errors: cancelled, out_of_memory.
  Status append(const FitOptions& options, const Control& control, DensityBytes* density,
                GroupsReport* report, const GroupsBytes& bytes = kGroupsBytes) noexcept;

 private:
  friend class GroupsEncoder;
  struct Group {
    GroupCodes codes = {};
    std::uint32_t last_block = 0;  // blocks_ where its latest row lay
    std::uint32_t blocks = 0;      // in which it has rows
    double rows = 0;               // with an x
    std::unique_ptr<Sampler> sampler;
    std::unique_ptr<OwnedGridCells> cells;  // in the sampler's place where every row is read
    // All of its rows; null: they were not read.
    std::unique_ptr<Sampler> whole;
    double whole_rows = 0;

    double rows_read() const { return whole != nullptr ? whole_rows : rows; }
    std::optional<std::string> key;
  };
  struct HashCodes {
    std::size_t operator()(const GroupCodes& codes) const {
      std::size_t hash = 0;
      for (const std::uint32_t code : codes) hash = (hash ^ code) * 0x9e3779b97f4a7c15U;
      return hash ^ hash >> 32;
    }
  };

  Status find(const GroupCodes& codes, Group** group);
  // A row's group, its sampler in the row's block.
  Status find_for_row(const GroupCodes& codes, Group** group);

  Status add_group(const GroupCodes& codes);
  Status append_cells(const FitOptions& options, const Control& control, DensityBytes* density,
                      GroupsReport* report, const GroupsBytes& bytes);

  Sampler::Options sampling_;
  bool every_row_ = false;
  int level_ = -1;
  std::size_t most_;
  std::uint32_t blocks_ = 0;
  std::size_t latest_ = 0;  // group of the row before
  bool met_all_ = false;
  std::vector<Group> groups_;
  std::unordered_map<GroupCodes, std::size_t, HashCodes> index_;
};

}  // namespace kde
