// See grid_groups.h: how groups are stored.
#include "core/fit/grid_groups.h"

#include "core/density/checks.h"
#include "core/first_true.h"
#include "core/fit/fit_cells.h"
#include "core/grid/owned_cells.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>

namespace kde {

namespace {

// No coarser than so many cells of numbers before the smallest groups share one list.
constexpr double kFewCells = 64;
// Trials to find the limit.
constexpr int kTrials = 6;

class GridGroupsEncoder {
 public:
  GridGroupsEncoder(const std::vector<GroupCells>& groups, const FitOptions& options,
                    const GroupsBytes& bytes, const Control& control)
      : options_(options),
        control_(control),
        bytes_(bytes),
        most_(room(bytes.most)),
        finer_(room(bytes.finer)) {
    for (const GroupCells& g : groups) groups_.push_back({g, 0});
  }

  // rest: null: there is none yet.
  Status run(GridCells* rest, std::size_t rest_groups, DensityBytes* density,
             GroupsReport* report) {
    for (Group& g : groups_) {
      if (Status s = g.cells->settle(); !s.ok()) return s;
      g.rows = rows_of(*g.cells);
    }
    sort_by_rows();
    if (Status s = prepare(rest); !s.ok()) return s;
    GridCut cut = choose_floor();
    std::size_t own = groups_.size();
    if (bytes_of(cut) > most_ && most_ < room(bytes_.many)) {
      most_ = room(bytes_.many);
      cut = choose_floor();
    }
    if (bytes_of(cut) > most_) {
      own = coarsen(&cut);
      rest_groups += groups_.size() - own;
      if (Status s = merge_from(own, rest); !s.ok()) return s;
      while (cut.floor != floors_.back() && bytes_of(cut) > most_) cut.floor = coarser(cut.floor);
    }
    choose_limit(&cut);
    report->groups = own;
    report->rest = std::min<std::size_t>(rest_groups, std::numeric_limits<std::uint32_t>::max());
    // The coarsest.
    const List* coarsest = nullptr;
    for (const List& list : lists_)
      if (coarsest == nullptr || list.list->coarsest > coarsest->list->coarsest) coarsest = &list;
    if (coarsest != nullptr && (cut.limit > 0 || coarsest->list->coarsest >= 0))
      describe_ends(coarsest->cells->ends(), *coarsest->list, cut, report->cells,
                    sizeof report->cells);
    return write(cut, report->rest, density);
  }

 private:
  struct Group : GroupCells {
    double rows;  // with an x
  };

  static double rows_of(const GridCells& cells) {
    const SpecialRows& s = cells.specials();
    return cells.totals().rows() + s.nans + s.negative_infinities + s.positive_infinities;
  }
  // But for what rounding adds.
  static std::size_t room(std::size_t bytes) { return bytes - bytes / kPlanned; }

  struct List {
    GridCells* cells = nullptr;
    const Group* group = nullptr;  // null: the rest
    Header header = {};
    std::unique_ptr<GridList> list;
    std::unique_ptr<GridEncoder> encoder;
  };

  // Groups of NULL x alone have none.
  void sort_by_rows() {
    std::erase_if(groups_, [](const Group& g) { return g.rows == 0; });
    std::sort(groups_.begin(), groups_.end(), [](const Group& a, const Group& b) {
      if (a.rows != b.rows) return a.rows > b.rows;
      return a.has_key == b.has_key ? a.key < b.key : b.has_key;
    });
  }

  Status prepare(const Group* group, GridCells* cells) {
    if (control_.stop_requested()) return cancelled();
    List& list = lists_.emplace_back();
    list.cells = cells;
    list.group = group;
    list.list = std::make_unique<GridList>();
    if (Status s = describe_cells(cells, options_, &list.header); !s.ok()) return s;
    if (Status s = cells->list(&*list.list, &list.header); !s.ok()) return s;
    list.encoder = std::make_unique<GridEncoder>(*cells, *list.list, list.header,
                                                 options_.measure_types, control_);
    return list.encoder->prepare();
  }

  Status prepare(GridCells* rest) {
    lists_.reserve(groups_.size() + 1);
    for (const Group& group : groups_)
      if (Status s = prepare(&group, group.cells); !s.ok()) return s;
    if (rest != nullptr)
      if (Status s = prepare(nullptr, rest); !s.ok()) return s;
    // Each has those from its own rows' level on.
    for (const List& list : lists_)
      for (const int level : list.encoder->floors()) floors_.push_back(level);
    std::sort(floors_.begin(), floors_.end());
    floors_.erase(std::unique(floors_.begin(), floors_.end()), floors_.end());
    if (floors_.empty()) floors_.push_back(0);
    return Status::success();
  }

  static bool has_key(const List& list) { return list.group != nullptr && list.group->has_key; }
  static std::size_t front_of(const List& list) {
    return sizeof(GroupHeader) + (has_key(list) ? aligned(list.group->key.size()) : 0);
  }

  // More than there may be where they take more.
  std::size_t bytes_of(const GridCut& cut) { return bytes_of(cut, most_); }
  std::size_t bytes_of(const GridCut& cut, std::size_t most) {
    std::size_t bytes = sizeof(GroupsHeader);
    for (std::size_t i = 0; i < lists_.size() && bytes <= most; ++i) {
      if (control_.stop_requested()) return most + 1;
      bytes += front_of(lists_[i]) + lists_[i].encoder->bytes_of(cut, most);
    }
    return bytes;
  }

  // Not coarser than people ask.
  GridCut choose_floor() {
    std::size_t n = floors_.size();
    const RoundEnds& ends = lists_.empty() ? RoundEnds(Chain::decimal) : lists_[0].cells->ends();
    if (ends.is_of_times()) {
      while (n > 1 && floors_[n - 1] > kDayLevel) --n;
    } else {
      double width = 0;
      for (const List& list : lists_) width = std::max(width, list.header.max - list.header.min);
      while (n > 1 && ends.step(floors_[n - 1]) * kFewCells > width) --n;
    }
    if (bytes_of({floors_[0], 0}, finer_) <= finer_) return {floors_[0], 0};
    const int first = first_true(0, static_cast<int>(n) - 1, [&](int i) {
      return bytes_of({floors_[static_cast<std::size_t>(i)]}) <= most_;
    });
    return {floors_[static_cast<std::size_t>(first)]};
  }

  int coarser(int floor) const { return *(std::find(floors_.begin(), floors_.end(), floor) + 1); }

  // How many groups stay. A coarser floor than people ask for is worth it where those are twice as
  // many.
  std::size_t coarsen(GridCut* cut) {
    std::size_t stay = share_rest(*cut);
    while (cut->floor != floors_.back()) {
      const GridCut coarse{coarser(cut->floor)};
      const std::size_t more = share_rest(coarse);
      if (more < 2 * stay) break;
      *cut = coarse;
      stay = more;
    }
    return stay;
  }

  // As many groups as leave room for what the rest takes, which is no more than one of them, or
  // than the largest and what there was.
  std::size_t share_rest(const GridCut& cut) {
    std::size_t bytes = sizeof(GroupsHeader);
    std::size_t largest = 0;
    std::size_t i = 0;
    for (std::size_t k = groups_.size(); k < lists_.size(); ++k)
      bytes += front_of(lists_[k]) + lists_[k].encoder->bytes_of(cut, most_);
    for (; i < groups_.size(); ++i) {
      const std::size_t own = front_of(lists_[i]) + lists_[i].encoder->bytes_of(cut, most_);
      largest = std::max(largest, own);
      if (bytes + own + largest > most_) break;
      bytes += own;
    }
    // A rest is of several.
    if (lists_.size() == groups_.size() && i + 1 == groups_.size()) i = i > 0 ? i - 1 : 1;
    return i;
  }

  // The groups from the i-th on, and the rest there was, become one.
  Status merge_from(std::size_t i, GridCells* rest) {
    if (i == groups_.size()) return Status::success();
    const GridCells& like = *groups_[i].cells;
    rest_.emplace(like.ends().chain(), like.measures(), cells_of_each(i + 1));
    lists_.erase(lists_.begin() + static_cast<std::ptrdiff_t>(i), lists_.end());
    if (rest != nullptr)
      if (Status s = (*rest_)->merge(rest); !s.ok()) return s;
    for (std::size_t k = i; k < groups_.size(); ++k) {
      if (control_.stop_requested()) return cancelled();
      if (Status s = (*rest_)->merge(groups_[k].cells); !s.ok()) return s;
    }
    return prepare(nullptr, &**rest_);
  }

  void choose_limit(GridCut* cut) {
    if (cut->limit == 0 || bytes_of(*cut, finer_) > finer_) return;
    double low = 0, high = 0;
    for (const List& list : lists_) high = std::max(high, std::log2(list.header.rows + 1));
    for (int i = 0; i < kTrials && !control_.stop_requested(); ++i) {
      const double middle = (low + high) / 2;
      const double limit = std::exp2(middle);
      if (bytes_of({cut->floor, limit}, finer_) <= finer_) {
        high = middle;
        cut->limit = limit;
      } else {
        low = middle;
      }
    }
  }

  Status write(const GridCut& cut, std::size_t rest_groups, DensityBytes* density) {
    std::vector<char> bytes(density->data(), density->data() + density->size());
    bytes.resize(aligned(bytes.size()), 0);
    const auto append = [&bytes](const void* from, std::size_t size) {
      const auto* at = static_cast<const char*>(from);
      bytes.insert(bytes.end(), at, at + size);
      bytes.resize(aligned(bytes.size()), 0);
    };
    const std::size_t begin = bytes.size();
    GroupsHeader header{};
    header.groups = static_cast<std::uint32_t>(lists_.size());
    header.rest = static_cast<std::uint32_t>(rest_groups);
    append(&header, sizeof header);
    for (const List& list : lists_) {
      DensityBytes of_group;
      if (Status s = list.encoder->write(cut, &of_group); !s.ok()) return s;
      const std::size_t at = bytes.size();
      const std::string_view key = has_key(list) ? list.group->key : std::string_view();
      GroupHeader front{0, has_key(list) ? static_cast<std::uint32_t>(key.size()) : kNoKey};
      append(&front, sizeof front);
      if (!key.empty()) append(key.data(), key.size());
      append(of_group.data(), of_group.size());
      front.bytes = static_cast<std::uint32_t>(bytes.size() - at);
      std::memcpy(bytes.data() + at, &front, sizeof front);
    }
    header.bytes = bytes.size() - begin;
    std::memcpy(bytes.data() + begin, &header, sizeof header);
    DensityBytes all(bytes.size());
    std::memcpy(all.data(), bytes.data(), bytes.size());
    all.header().grouped = 1;
    *density = std::move(all);
    return Status::success();
  }

  const FitOptions& options_;
  const Control& control_;
  GroupsBytes bytes_;
  std::size_t most_, finer_;
  std::vector<Group> groups_;
  std::optional<OwnedGridCells> rest_;  // where some were put together
  std::vector<List> lists_;             // of the groups, and then of the rest
  std::vector<int> floors_;
};

}  // namespace

std::size_t cells_of_each(std::size_t groups) {
  constexpr std::size_t kLeast = 2048;
  std::size_t most = kMostGridCells;
  while (most > kLeast && most * groups > 4 * kMostGridCells) most /= 2;
  return most;
}

Status append_groups(const std::vector<GroupCells>& groups, GridCells* rest,
                     std::size_t rest_groups, const FitOptions& options, const GroupsBytes& bytes,
                     const Control& control, DensityBytes* density, GroupsReport* report) {
  return GridGroupsEncoder(groups, options, bytes, control).run(rest, rest_groups, density, report);
}

}  // namespace kde
