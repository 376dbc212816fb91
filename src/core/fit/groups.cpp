// See groups.h.
#include "core/fit/groups.h"

#include "core/answer/column_evidence.h"
#include "core/guarded.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <utility>

namespace kde {

Status Groups::find(const GroupCodes& codes, Group** group) {
  try {
    if (groups_.empty() || groups_[latest_].codes != codes) {
      const auto [at, fresh] = index_.try_emplace(codes, groups_.size());
      latest_ = at->second;
      if (fresh) {
        if (groups_.size() == most_)
          return Status::error(Code::too_large, "there are more than %zu groups", most_);
        if (Status s = add_group(codes); !s.ok()) return s;
      }
    }
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
  *group = &groups_[latest_];
  return Status::success();
}

int Groups::coarsest_level() const {
  int level = -1;
  for (const Group& group : groups_)
    if (group.cells != nullptr) level = std::max(level, (*group.cells)->level());
  return level;
}

Status Groups::add_group(const GroupCodes& codes) {
  groups_.emplace_back();
  Group& group = groups_.back();
  group.codes = codes;
  if (!every_row_) {
    group.sampler = std::make_unique<Sampler>(sampling_);
    return Status::success();
  }
  const std::size_t before = cells_of_each(groups_.size() - 1), now = cells_of_each(groups_.size());
  group.cells = std::make_unique<OwnedGridCells>(sampling_.chain, sampling_.measures, now);
  (*group.cells)->begin_at(level_);
  for (std::size_t i = 0; now < before && i + 1 < groups_.size(); ++i)
    if (Status s = (*groups_[i].cells)->set_most(now); !s.ok()) return s;
  return Status::success();
}

Status Groups::find_for_row(const GroupCodes& codes, Group** group) {
  if (Status s = find(codes, group); !s.ok() || *group == nullptr) return s;
  Group& found = **group;
  if (every_row_ || blocks_ == 0 || found.last_block == blocks_ || found.whole != nullptr)
    return Status::success();
  found.last_block = blocks_;
  ++found.blocks;
  return found.sampler->begin_block(blocks_ - 1);
}

Status Groups::add(const GroupCodes& codes, double x, std::span<const double> y) noexcept {
  Group* group = nullptr;
  if (Status s = find_for_row(codes, &group); !s.ok() || group == nullptr) return s;
  (group->whole != nullptr ? group->whole_rows : group->rows) += 1;
  if (every_row_) return (*group->cells)->add(x, y);
  return (group->whole != nullptr ? group->whole : group->sampler)->add(x, y);
}

Status Groups::add_null(const GroupCodes& codes) noexcept {
  Group* group = nullptr;
  if (Status s = find_for_row(codes, &group); !s.ok() || group == nullptr) return s;
  if (every_row_)
    (*group->cells)->add_null();
  else
    (group->whole != nullptr ? group->whole : group->sampler)->add_null();
  return Status::success();
}

Status Groups::begin_whole(const GroupCodes& codes) noexcept {
  Group* group = nullptr;
  if (Status s = find(codes, &group); !s.ok() || group == nullptr) return s;
  return guarded([&] {
    group->whole = std::make_unique<Sampler>(sampling_);
    return Status::success();
  });
}

void Groups::give_up_whole() {
  groups_[latest_].whole.reset();
  groups_[latest_].whole_rows = 0;
}

Status Groups::set_key(std::size_t group, std::string_view key) noexcept {
  Group& g = groups_[group];
  if (key.size() > kMostKeyBytes) {
    if (g.rows > 0)
      return Status::error(Code::too_large, "a group's key has more than %zu bytes", kMostKeyBytes);
    if (g.whole_rows > 0) met_all_ = false;
    g.whole.reset();
    return Status::success();
  }
  return guarded([&] {
    g.key = key;
    return Status::success();
  });
}

class GroupsEncoder {
 public:
  GroupsEncoder(std::vector<Groups::Group>* groups, std::uint32_t blocks_read, bool met_all,
                const FitOptions& options, const Control& control, std::size_t bytes)
      : groups_(*groups),
        blocks_read_(blocks_read),
        met_all_(met_all),
        options_(options),
        control_(control),
        most_bytes_(bytes) {}

  Status run(DensityBytes* density, GroupsReport* report) {
    sort_by_rows();
    measures_ = density->header().measures;
    scale_ = scale_of_sampled(DensityView(&density->header()));
    append(density->data(), density->size());
    begin_ = bytes_.size();
    GroupsHeader header{};
    estimate_unseen(&header);
    append(&header, sizeof header);
    const std::size_t most = most_for_one();
    std::size_t i = 0;
    for (; i < groups_.size(); ++i) {
      if (i + 1 < groups_.size() && !has_room(groups_[i], most)) break;
      report->whole += groups_[i].whole != nullptr;
      if (Status s = add(&groups_[i], true, most); !s.ok()) return s;
      ++header.groups;
    }
    report->groups = i;
    if (i < groups_.size()) {
      report->rest = groups_.size() - i;
      if (Status s = merge_from(i); !s.ok()) return s;
      if (Status s = add(&groups_[i], false, bytes_of_sample(measures_)); !s.ok()) return s;
      ++header.groups;
      header.rest = static_cast<std::uint32_t>(report->rest);
    }
    header.bytes = bytes_.size() - begin_;
    std::memcpy(bytes_.data() + begin_, &header, sizeof header);
    DensityBytes all(bytes_.size());
    std::memcpy(all.data(), bytes_.data(), bytes_.size());
    all.header().grouped = 1;
    *density = std::move(all);
    return Status::success();
  }

 private:
  using Group = Groups::Group;

  void append(const void* bytes, std::size_t size) {
    const auto* from = static_cast<const char*>(bytes);
    bytes_.insert(bytes_.end(), from, from + size);
    bytes_.resize(aligned(bytes_.size()), 0);
  }

  double table_rows(const Group& g) const {
    return g.whole != nullptr ? g.whole_rows : g.rows * options_.rows_per_row_read;
  }

  // Rows of the table per row read of the groups that were not read whole.
  double scale_of_sampled(const DensityView& all) const {
    const double scale = options_.rows_per_row_read;
    double sampled = 0, replaced = 0, whole = 0;
    for (const Group& g : groups_) {
      (g.whole != nullptr ? replaced : sampled) += g.rows * scale;
      whole += g.whole != nullptr ? g.whole_rows : 0;
    }
    if (sampled == 0 || whole == 0) return scale;
    const Interval rows = interval_of(Wanted::count, all, Range(), {});
    const double least = rows.lower - rows.estimate, most = rows.upper - rows.estimate;
    const double change = std::clamp(whole - replaced, std::min(least, 0.0), std::max(most, 0.0));
    return std::max(scale * (sampled + replaced + change - whole) / sampled, 1.0);
  }

  // Groups of NULL x alone have none.
  void sort_by_rows() {
    std::erase_if(groups_, [](const Group& g) { return g.rows_read() == 0; });
    std::sort(groups_.begin(), groups_.end(), [this](const Group& a, const Group& b) {
      const double rows_a = table_rows(a), rows_b = table_rows(b);
      return rows_a != rows_b ? rows_a > rows_b : a.key < b.key;
    });
  }

  // Of the rows read those whose group was met in one block: as many of the table's, of those that
  // were not read, are of groups that were not met. Where groups were read whole, this is of the
  // others: those that were not met are then of the others, too.
  void estimate_unseen(GroupsHeader* header) const {
    if (options_.every_row_read || met_all_) return;
    double rows = 0, squares = 0, all = 0;
    for (const Group& g : groups_) {
      all += g.rows;
      const double once = g.whole == nullptr && (blocks_read_ > 0 ? g.blocks == 1 : g.rows == 1);
      rows += once * g.rows;
      squares += once * g.rows * g.rows;
    }
    const double draws = blocks_read_ > 0 ? blocks_read_ : all;
    const double scale = options_.rows_per_row_read;
    const double not_read = scale > 1 ? scale - 1 : 0;
    header->unseen = rows * not_read;
    // That of a sum of independent ones, and of one more that there might have been.
    const double one = draws > 0 ? all / draws : 0;
    header->unseen_error = std::sqrt(squares + one * one) * not_read;
  }

  // Bytes that a group takes at most, by its rows.
  std::size_t wanted(const Group& g) const {
    constexpr double kBytesAPoint = 24;
    const double parts = 1 + 2 * measures_;
    const double bytes = parts * (sizeof(Header) + kBytesAPoint * g.rows_read());
    return bytes < limit() ? static_cast<std::size_t>(bytes) : static_cast<std::size_t>(limit());
  }
  double limit() const { return static_cast<double>(bytes_of_sample(measures_)); }

  // So many that all fit if none takes more; no less than a few hundred.
  std::size_t most_for_one() const {
    double low = 1024, high = limit();
    for (int i = 0; i < 32; ++i) {
      const double middle = (low + high) / 2;
      double sum = 0;
      for (const Group& g : groups_)
        sum += std::min<double>(static_cast<double>(wanted(g)), middle);
      (sum <= static_cast<double>(most_bytes_) ? low : high) = middle;
    }
    return static_cast<std::size_t>(low);
  }

  // And for the rest behind it.
  bool has_room(const Group& g, std::size_t most) const {
    const std::size_t rest = static_cast<std::size_t>(limit()) + sizeof(GroupHeader);
    return bytes_.size() - begin_ + std::min(wanted(g), most) + kMostKeyBytes + rest <= most_bytes_;
  }

  Status merge_from(std::size_t i) {
    const bool whole = std::all_of(groups_.begin() + static_cast<std::ptrdiff_t>(i), groups_.end(),
                                   [](const Group& g) { return g.whole != nullptr; });
    const auto rows = whole ? &Group::whole : &Group::sampler;
    if (!whole) groups_[i].whole.reset();
    for (std::size_t k = i + 1; k < groups_.size(); ++k) {
      if (control_.stop_requested()) return cancelled();
      if (Status s = (groups_[i].*rows)->merge((groups_[k].*rows).get()); !s.ok()) return s;
      groups_[k].sampler.reset();
      groups_[k].whole.reset();
    }
    return Status::success();
  }

  // most: bytes of it.
  Status add(Group* group, bool has_key, std::size_t most) {
    Sample sample;
    FitOptions fit = options_;
    fit.as_counted = true;
    fit.rows_per_row_read = scale_;
    if (group->whole != nullptr) {
      group->sampler.swap(group->whole);
      group->whole.reset();
      fit.every_row_read = true;
      fit.rows_per_row_read = fit.share_of_blocks = 1;
    }
    if (Status s = group->sampler->finish(&sample, control_, blocks_read_); !s.ok()) return s;
    group->sampler.reset();
    const std::size_t least =
        kLeastHistogramBytes + static_cast<std::size_t>(measures_) * kLeastMeasureBytes;
    fit.budget = std::max(most / 8 * 8, least);
    DensityBytes density;
    FitReport report;
    if (Status s = fit_column(sample, fit, control_, &density, &report); !s.ok()) return s;
    const std::size_t at = bytes_.size();
    has_key = has_key && group->key.has_value();
    GroupHeader header{0, has_key ? static_cast<std::uint32_t>(group->key->size()) : kNoKey};
    append(&header, sizeof header);
    if (has_key && !group->key->empty()) append(group->key->data(), group->key->size());
    append(density.data(), density.size());
    header.bytes = static_cast<std::uint32_t>(bytes_.size() - at);
    std::memcpy(bytes_.data() + at, &header, sizeof header);
    return Status::success();
  }

  std::vector<Group>& groups_;
  std::uint32_t blocks_read_;
  bool met_all_;
  const FitOptions& options_;
  const Control& control_;
  std::size_t most_bytes_;  // of all groups
  int measures_ = 0;
  double scale_ = 1;       // of groups that were not read whole
  std::size_t begin_ = 0;  // of GroupsHeader
  std::vector<char> bytes_;
};

Status Groups::append_cells(const FitOptions& options, const Control& control,
                            DensityBytes* density, GroupsReport* report, const GroupsBytes& bytes) {
  std::vector<GroupCells> cells;
  for (Group& g : groups_)
    cells.push_back({&**g.cells, g.key.has_value() ? std::string_view(*g.key) : std::string_view(),
                     g.key.has_value()});
  return append_groups(cells, nullptr, 0, options, bytes, control, density, report);
}

Status Groups::append(const FitOptions& options, const Control& control, DensityBytes* density,
                      GroupsReport* report, const GroupsBytes& bytes) noexcept {
  return guarded([&] {
    if (every_row_) return append_cells(options, control, density, report, bytes);
    return GroupsEncoder(&groups_, blocks_, met_all_, options, control, bytes.most)
        .run(density, report);
  });
}

}  // namespace kde
