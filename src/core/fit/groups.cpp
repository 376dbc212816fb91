// See groups.h.
#include "core/fit/groups.h"

#include "core/summary/measure_encode.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <utility>

namespace kde {

namespace {

constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

Status out_of_memory() {
  return Status::error(Code::out_of_memory, "out of memory while gathering groups");
}

}  // namespace

Status Groups::find(const GroupCodes& codes, Group** found) {
  if (groups_.empty() || groups_[latest_].codes != codes) {
    const auto [at, fresh] = index_.try_emplace(codes, groups_.size());
    latest_ = at->second;
    if (fresh) {
      if (groups_.size() == most_)
        return Status::error(Code::too_large, "there are more than %zu groups", most_);
      groups_.emplace_back();
      groups_.back().codes = codes;
      groups_.back().sampler = std::make_unique<Sampler>(sampling_);
    }
  }
  *found = &groups_[latest_];
  return Status::success();
}

Status Groups::find(const GroupCodes& codes, Group** found, Sampler** sampler) {
  if (Status s = find(codes, found); !s.ok()) return s;
  Group& group = **found;
  *sampler = again_ ? group.whole.get() : group.sampler.get();
  if (again_ || blocks_ == 0 || group.last_block == blocks_) return Status::success();
  group.last_block = blocks_;
  ++group.blocks;
  return group.sampler->begin_block(blocks_ - 1);
}

Status Groups::add(const GroupCodes& codes, double x, std::span<const double> y) noexcept {
  try {
    Group* group;
    Sampler* sampler;
    if (Status s = find(codes, &group, &sampler); !s.ok()) return s;
    if (sampler == nullptr) return Status::success();
    (again_ ? group->whole_rows : group->rows) += 1;
    return sampler->add(x, y);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

Status Groups::add_null(const GroupCodes& codes) noexcept {
  try {
    Group* group;
    Sampler* sampler;
    if (Status s = find(codes, &group, &sampler); !s.ok()) return s;
    if (sampler != nullptr) sampler->add_null();
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
  return Status::success();
}

Status Groups::begin_again(const GroupCodes& codes) noexcept {
  again_ = true;
  try {
    Group* group;
    if (Status s = find(codes, &group); !s.ok()) return s;
    group->whole = std::make_unique<Sampler>(sampling_);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
  return Status::success();
}

Status Groups::set_key(std::size_t group, std::string_view key) noexcept {
  if (key.size() > kMostKeyBytes)
    return Status::error(Code::too_large, "a group's key has more than %zu bytes", kMostKeyBytes);
  try {
    groups_[group].key = key;
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
  return Status::success();
}

class GroupsEncoder {
 public:
  GroupsEncoder(std::vector<Groups::Group>* groups, std::uint32_t blocks_read, bool met_all,
                const GroupOptions& options, const Control& control)
      : groups_(*groups),
        blocks_read_(blocks_read),
        met_all_(met_all),
        options_(options),
        control_(control) {}

  Status run(DensityBytes* density, GroupsReport* report) {
    sort_by_rows();
    measures_ = density->header().measures;
    calibrate();
    append(density->data(), density->size());
    begin_ = bytes_.size();
    GroupsHeader header{};
    estimate_unseen(&header);
    append(&header, sizeof header);
    const std::size_t most = most_for_one();
    std::size_t i = 0;
    for (; i < groups_.size(); ++i) {
      if (i + 1 < groups_.size() && !has_room(groups_[i], most)) break;
      if (Status s = add(&groups_[i], true, most); !s.ok()) return s;
      ++header.groups;
    }
    report->groups = i;
    if (i < groups_.size()) {
      report->rest = groups_.size() - i;
      double sampled = 0, found = 0;
      for (std::size_t k = i; k < groups_.size(); ++k) {
        sampled += groups_[k].rows;
        found += groups_[k].whole_rows;
      }
      if (Status s = merge_from(i); !s.ok()) return s;
      if (sampled > 0) {
        groups_[i].whole.reset();
        if (Status s = add(&groups_[i], false, kMaxBytes); !s.ok()) return s;
        ++header.groups;
        header.rest = static_cast<std::uint32_t>(report->rest);
      } else {
        header.unseen += found;
      }
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

  // Rows that the density is made of.
  static double rows_of(const Group& g) { return g.whole != nullptr ? g.whole_rows : g.rows; }
  // Rows of the table.
  double table_rows(const Group& g) const {
    return g.whole != nullptr ? g.whole_rows : g.rows * options_.fit.rows_per_row_read;
  }

  // Groups of NULL x alone have none.
  void sort_by_rows() {
    std::erase_if(groups_, [](const Group& g) { return rows_of(g) == 0; });
    std::sort(groups_.begin(), groups_.end(), [this](const Group& a, const Group& b) {
      const double rows_a = table_rows(a), rows_b = table_rows(b);
      return rows_a != rows_b ? rows_a > rows_b : a.key < b.key;
    });
  }

  void calibrate() {
    double sampled = 0, found = 0, others = 0;
    for (const Group& g : groups_) {
      if (g.whole != nullptr) {
        sampled += g.rows * options_.fit.rows_per_row_read;
        found += g.whole_rows;
      } else if (g.rows < kFewGroupRows) {
        others += g.rows * options_.fit.rows_per_row_read;
      }
    }
    constexpr double kLeast = 0.5;
    if (others > 0) weight_ = std::clamp((sampled + others - found) / others, kLeast, 1.0);
  }

  // Of the rows read those whose group was met in one block: as many of the table's, of those that
  // were not read, are of groups that were not met.
  void estimate_unseen(GroupsHeader* header) const {
    if (options_.fit.every_row_read || met_all_) return;
    double rows = 0, squares = 0, all = 0;
    for (const Group& g : groups_) {
      all += g.rows;
      const double once = blocks_read_ > 0 ? g.blocks == 1 : g.rows == 1;
      rows += once * g.rows;
      squares += once * g.rows * g.rows;
    }
    const double draws = blocks_read_ > 0 ? blocks_read_ : all;
    const double scale = options_.fit.rows_per_row_read;
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
    const double bytes = parts * (sizeof(Header) + kBytesAPoint * rows_of(g));
    return bytes < limit() ? static_cast<std::size_t>(bytes) : static_cast<std::size_t>(limit());
  }
  double limit() const { return kMaxBytes * (measures_ > 1 ? 1 + (measures_ - 1) / 2.0 : 1.0); }

  // So many that all fit if none takes more; no less than a few hundred.
  std::size_t most_for_one() const {
    double low = 1024, high = limit();
    for (int i = 0; i < 32; ++i) {
      const double middle = (low + high) / 2;
      double sum = 0;
      for (const Group& g : groups_)
        sum += std::min<double>(static_cast<double>(wanted(g)), middle);
      (sum <= static_cast<double>(options_.bytes) ? low : high) = middle;
    }
    return static_cast<std::size_t>(low);
  }

  // And for the rest behind it.
  bool has_room(const Group& g, std::size_t most) const {
    const std::size_t rest = static_cast<std::size_t>(limit()) + sizeof(GroupHeader);
    return bytes_.size() - begin_ + std::min(wanted(g), most) + kMostKeyBytes + rest <=
           options_.bytes;
  }

  Status merge_from(std::size_t i) {
    for (std::size_t k = i + 1; k < groups_.size(); ++k) {
      if (control_.stop_requested()) return Status::error(Code::cancelled, "cancelled");
      if (Status s = groups_[i].sampler->merge(groups_[k].sampler.get()); !s.ok()) return s;
      groups_[k].sampler.reset();
    }
    return Status::success();
  }

  // most: bytes of it.
  Status add(Group* group, bool has_key, std::size_t most) {
    Sample sample;
    FitOptions fit = options_.fit;
    fit.as_counted = true;
    std::uint32_t blocks = blocks_read_;
    if (has_key && group->whole == nullptr && group->rows < kFewGroupRows)
      fit.rows_per_row_read = std::max(fit.rows_per_row_read * weight_, 1.0);
    if (group->whole != nullptr) {
      group->sampler.swap(group->whole);
      fit.every_row_read = true;
      fit.rows_per_row_read = fit.share_of_blocks = 1;
      blocks = 0;
    }
    if (Status s = group->sampler->finish(&sample, control_, blocks); !s.ok()) return s;
    group->sampler.reset();
    group->whole.reset();
    const std::size_t least = measures_ > 0 ? kLeastMeasuredBytes : kLeastHistogramBytes;
    // With more measures each takes as much as the first.
    const std::size_t of_one =
        measures_ > 1 ? 2 * most / static_cast<std::size_t>(1 + measures_) : most;
    fit.budget = std::clamp(of_one / 8 * 8, least, kMaxBytes);
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
  const GroupOptions& options_;
  const Control& control_;
  int measures_ = 0;
  double weight_ = 1;      // of sampled groups of few rows
  std::size_t begin_ = 0;  // of GroupsHeader
  std::vector<char> bytes_;
};

Status Groups::append(const GroupOptions& options, const Control& control, DensityBytes* density,
                      GroupsReport* report) noexcept {
  try {
    return GroupsEncoder(&groups_, blocks_, met_all_, options, control).run(density, report);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

}  // namespace kde
