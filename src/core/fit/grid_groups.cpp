// Groups of every row (groups.h): lists of cells, all with one floor and one limit.
#include "core/fit/fit_cells.h"
#include "core/fit/groups.h"

#include "core/density/checks.h"
#include "core/first_true.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace kde {

namespace {

// No coarser than so many cells of numbers before the smallest groups share one list.
constexpr double kFewCells = 64;
// Trials to find the limit.
constexpr int kTrials = 6;

}  // namespace

class GridGroupsEncoder {
 public:
  GridGroupsEncoder(std::vector<Groups::Group>* groups, const FitOptions& options,
                    const Control& control, std::size_t most)
      : groups_(*groups), options_(options), control_(control), most_(room(most)) {}

  Status run(DensityBytes* density, GroupsReport* report) {
    sort_by_rows();
    if (Status s = prepare(); !s.ok()) return s;
    GridCut cut = choose_floor();
    std::size_t own = lists_.size();
    if (bytes_of(cut, own) > most_ && most_ < room(kGroupsBytes)) {
      // Many groups are worth as many bytes as of a sample.
      most_ = room(kGroupsBytes);
      cut = choose_floor();
    }
    if (bytes_of(cut, own) > most_) {
      own = coarsen(&cut);
      if (Status s = merge_from(own); !s.ok()) return s;
      while (cut.floor != floors_.back() && bytes_of(cut, lists_.size()) > most_)
        cut.floor = coarser(cut.floor);
    }
    choose_limit(&cut);
    report->groups = own;
    report->rest = groups_.size() - own;
    // The coarsest.
    const List* coarsest = nullptr;
    for (const List& list : lists_)
      if (coarsest == nullptr || list.list->coarsest > coarsest->list->coarsest) coarsest = &list;
    if (coarsest != nullptr && (cut.limit > 0 || coarsest->list->coarsest >= 0))
      describe_ends(coarsest->cells->ends(), *coarsest->list, cut, report->cells,
                    sizeof report->cells);
    return write(cut, own, density);
  }

 private:
  using Group = Groups::Group;
  // But for what rounding adds.
  static std::size_t room(std::size_t bytes) { return bytes - bytes / kPlanned; }

  struct List {
    GridCells* cells = nullptr;
    const Group* group = nullptr;
    Header header = {};
    std::unique_ptr<GridList> list;
    std::unique_ptr<GridEncoder> encoder;
  };

  // Groups of NULL x alone have none.
  void sort_by_rows() {
    std::erase_if(groups_, [](const Group& g) { return g.rows == 0; });
    std::sort(groups_.begin(), groups_.end(), [](const Group& a, const Group& b) {
      return a.rows != b.rows ? a.rows > b.rows : a.key < b.key;
    });
  }

  Status prepare(Group* group) {
    if (control_.stop_requested()) return Status::error(Code::cancelled, "cancelled");
    List& list = lists_.emplace_back();
    list.cells = &**group->cells;
    list.group = group;
    list.list = std::make_unique<GridList>();
    if (Status s = describe_cells(list.cells, options_, &list.header); !s.ok()) return s;
    if (Status s = list.cells->list(&*list.list); !s.ok()) return s;
    list.encoder = std::make_unique<GridEncoder>(*list.cells, *list.list, list.header,
                                                 options_.measure_types, control_);
    return list.encoder->prepare();
  }

  Status prepare() {
    lists_.reserve(groups_.size());
    for (Group& group : groups_)
      if (Status s = prepare(&group); !s.ok()) return s;
    // Each has those from its own rows' level on.
    for (const List& list : lists_)
      for (const int level : list.encoder->floors()) floors_.push_back(level);
    std::sort(floors_.begin(), floors_.end());
    floors_.erase(std::unique(floors_.begin(), floors_.end()), floors_.end());
    if (floors_.empty()) floors_.push_back(0);
    return Status::success();
  }

  static std::size_t front_of(const List& list) {
    return sizeof(GroupHeader) +
           (list.group->key.has_value() ? aligned(list.group->key->size()) : 0);
  }

  // Of the first n lists; more than there may be where they take more.
  std::size_t bytes_of(const GridCut& cut, std::size_t n) {
    std::size_t bytes = sizeof(GroupsHeader);
    for (std::size_t i = 0; i < n && bytes <= most_; ++i) {
      if (control_.stop_requested()) return most_ + 1;
      bytes += front_of(lists_[i]) + lists_[i].encoder->bytes_of(cut, most_);
    }
    return bytes;
  }

  // Not coarser than people ask.
  GridCut choose_floor() {
    std::size_t n = floors_.size();
    const RoundEnds& ends = lists_.empty() ? RoundEnds(Chain::decimal) : lists_[0].cells->ends();
    if (ends.chain() != Chain::decimal) {
      while (n > 1 && floors_[n - 1] > kDayLevel) --n;
    } else {
      double width = 0;
      for (const List& list : lists_) width = std::max(width, list.header.max - list.header.min);
      while (n > 1 && ends.step(floors_[n - 1]) * kFewCells > width) --n;
    }
    const std::size_t all = lists_.size();
    if (bytes_of({floors_[0], 0}, all) <= most_) return {floors_[0], 0};
    const int first = first_true(0, static_cast<int>(n) - 1, [&](int i) {
      return bytes_of({floors_[static_cast<std::size_t>(i)]}, all) <= most_;
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

  // As many groups as leave room for what the rest takes, which is no more than one of them.
  std::size_t share_rest(const GridCut& cut) {
    std::size_t bytes = sizeof(GroupsHeader);
    std::size_t largest = 0;
    std::size_t i = 0;
    for (; i < lists_.size(); ++i) {
      const std::size_t own = front_of(lists_[i]) + lists_[i].encoder->bytes_of(cut, most_);
      largest = std::max(largest, own);
      if (bytes + own + largest > most_) break;
      bytes += own;
    }
    return i;
  }

  // The groups from the i-th on become one.
  Status merge_from(std::size_t i) {
    if (i == lists_.size()) return Status::success();
    lists_.erase(lists_.begin() + static_cast<std::ptrdiff_t>(i), lists_.end());
    for (std::size_t k = i + 1; k < groups_.size(); ++k) {
      if (control_.stop_requested()) return Status::error(Code::cancelled, "cancelled");
      if (Status s = (*groups_[i].cells)->merge(&**groups_[k].cells); !s.ok()) return s;
      groups_[k].cells.reset();
    }
    groups_[i].key.reset();
    return prepare(&groups_[i]);
  }

  void choose_limit(GridCut* cut) {
    if (cut->limit == 0) return;
    double low = 0, high = 0;
    for (const List& list : lists_) high = std::max(high, std::log2(list.header.rows + 1));
    for (int i = 0; i < kTrials && !control_.stop_requested(); ++i) {
      const double middle = (low + high) / 2;
      const double limit = std::exp2(middle);
      if (bytes_of({cut->floor, limit}, lists_.size()) <= most_) {
        high = middle;
        cut->limit = limit;
      } else {
        low = middle;
      }
    }
  }

  Status write(const GridCut& cut, std::size_t own, DensityBytes* density) {
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
    header.rest = static_cast<std::uint32_t>(groups_.size() - own);
    append(&header, sizeof header);
    for (const List& list : lists_) {
      DensityBytes of_group;
      if (Status s = list.encoder->write(cut, &of_group); !s.ok()) return s;
      const std::size_t at = bytes.size();
      const std::optional<std::string>& key = list.group->key;
      GroupHeader front{0, key ? static_cast<std::uint32_t>(key->size()) : kNoKey};
      append(&front, sizeof front);
      if (key && !key->empty()) append(key->data(), key->size());
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

  std::vector<Group>& groups_;
  const FitOptions& options_;
  const Control& control_;
  std::size_t most_;
  std::vector<List> lists_;  // of the groups, and then of the rest
  std::vector<int> floors_;
};

Status Groups::append_cells(const FitOptions& options, const Control& control,
                            DensityBytes* density, GroupsReport* report, std::size_t bytes) {
  return GridGroupsEncoder(&groups_, options, control, bytes).run(density, report);
}

}  // namespace kde
