// See grid_groups.h: how groups are added up.
#include "core/fit/grid_groups.h"

#include "core/density/checks.h"
#include "core/density/histogram_view.h"
#include "core/density/measure_format.h"
#include "core/fit/lists_by_group.h"
#include "core/guarded.h"

#include <cstring>
#include <limits>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

namespace kde {

namespace {

constexpr std::uint32_t kFirstGroups = 8;
constexpr std::uint32_t kMagic = 0x6b646772;

std::size_t hash_of(std::string_view key, bool has_key) {
  std::size_t hash = has_key ? 0xcbf29ce484222325U : 0;  // FNV-1a
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash ^ hash >> 32;
}

// Whether a group's density can be added to others' of the same column.
bool is_alike(const Header& group, const Header& density) {
  if (!group.has_exact_ends() || group.value_type != density.value_type ||
      group.measures != density.measures)
    return false;
  for (int k = 0; k < density.measures; ++k)
    if (MeasureView(&group, k).header().value_type != MeasureView(&density, k).header().value_type)
      return false;
  return true;
}

}  // namespace

// With its key behind it.
struct GridGroups::Group {
  GridCells* cells;     // null: they are in the rest
  std::uint32_t pass;   // in which it was met last
  std::uint32_t bytes;  // of the key
  bool has_key;

  std::string_view key() const { return {reinterpret_cast<const char*>(this + 1), bytes}; }
};

// As stored between processes: this, then each group with its key and its cells, the rest last.
struct GridGroups::Serialized {
  std::uint32_t magic, groups;
  std::uint64_t rest_groups;
};
struct GridGroups::SerializedGroup {
  std::uint32_t key_bytes, has_key;
  std::uint64_t cells_bytes;  // 0: they are in the rest
};

void GridGroups::free_cells(GridCells** cells) {
  if (*cells == nullptr) return;
  (*cells)->release();
  memory_.release(memory_.context, *cells);
  *cells = nullptr;
}

void GridGroups::release() {
  for (std::uint32_t i = 0; i < size_; ++i) {
    free_cells(&groups_[i]->cells);
    memory_.release(memory_.context, groups_[i]);
  }
  free_cells(&rest_);
  if (groups_ != nullptr) memory_.release(memory_.context, groups_);
  if (index_ != nullptr) memory_.release(memory_.context, index_);
  groups_ = nullptr;
  index_ = nullptr;
  size_ = capacity_ = own_ = 0;
}

Status GridGroups::new_cells(GridCells** out) {
  void* room = memory_.allocate(memory_.context, sizeof(GridCells));
  if (room == nullptr) return out_of_memory();
  *out = new (room) GridCells(memory_, chain_, measures_, most_);
  if (keeps_cells_) (*out)->keep_cells();
  return Status::success();
}

// The index's slot of a key, or the one where it is to be.
std::uint32_t* GridGroups::slot_of(std::string_view key, bool has_key) const {
  const std::size_t mask = 2 * std::size_t{capacity_} - 1;
  std::size_t i = hash_of(key, has_key) & mask;
  while (index_[i] != kNone &&
         (groups_[index_[i]]->has_key != has_key || groups_[index_[i]]->key() != key))
    i = (i + 1) & mask;
  return index_ + i;
}

Status GridGroups::grow() {
  const std::uint32_t capacity = std::max(2 * capacity_, kFirstGroups);
  if (capacity > std::numeric_limits<std::uint32_t>::max() / 4) return out_of_memory();
  auto* groups = static_cast<Group**>(
      memory_.allocate(memory_.context, std::size_t{capacity} * sizeof(void*)));
  auto* index = static_cast<std::uint32_t*>(
      memory_.allocate(memory_.context, 2 * capacity * sizeof(std::uint32_t)));
  if (groups == nullptr || index == nullptr) {
    if (groups != nullptr) memory_.release(memory_.context, groups);
    if (index != nullptr) memory_.release(memory_.context, index);
    return out_of_memory();
  }
  std::copy_n(groups_, size_, groups);
  std::fill_n(index, 2 * capacity, kNone);
  if (groups_ != nullptr) memory_.release(memory_.context, groups_);
  if (index_ != nullptr) memory_.release(memory_.context, index_);
  groups_ = groups;
  index_ = index;
  capacity_ = capacity;
  for (std::uint32_t i = 0; i < size_; ++i) *slot_of(groups_[i]->key(), groups_[i]->has_key) = i;
  return Status::success();
}

Status GridGroups::find_or_add(std::string_view key, bool has_key, Group** group, bool* is_new) {
  if (size_ == capacity_)
    if (Status s = grow(); !s.ok()) return s;
  std::uint32_t* slot = slot_of(key, has_key);
  *is_new = *slot == kNone;
  if (*is_new) {
    void* room = memory_.allocate(memory_.context, sizeof(Group) + key.size());
    if (room == nullptr) return out_of_memory();
    *slot = size_;
    auto* added = new (room) Group{nullptr, 0, static_cast<std::uint32_t>(key.size()), has_key};
    if (!key.empty()) std::memcpy(added + 1, key.data(), key.size());
    groups_[size_++] = added;
  }
  *group = groups_[*slot];
  return Status::success();
}

Status GridGroups::put_into_rest(Group* group) {
  if (Status s = rest_->merge(group->cells); !s.ok()) return s;
  free_cells(&group->cells);
  --own_;
  return Status::success();
}

// Others have a rest of so many groups: what they have no list of may be in it. Those that they have
// one of were met in this pass.
Status GridGroups::begin_rest(std::size_t groups) {
  if (rest_ == nullptr)
    if (Status s = new_cells(&rest_); !s.ok()) return s;
  rest_groups_ = std::max<std::uint64_t>(rest_groups_, groups);
  for (std::uint32_t i = 0; i < size_; ++i)
    if (groups_[i]->cells != nullptr && groups_[i]->pass != pass_)
      if (Status s = put_into_rest(groups_[i]); !s.ok()) return s;
  return Status::success();
}

// Those that rows of a group that others have a list of go to. had_rest: before them.
Status GridGroups::cells_for(std::string_view key, bool has_key, bool had_rest, GridCells** out) {
  Group* group = nullptr;
  bool is_new = false;
  if (Status s = find_or_add(key, has_key, &group, &is_new); !s.ok() || group == nullptr) return s;
  group->pass = pass_;
  if (is_new && !had_rest) {
    most_ = cells_of_each(own_ + 1);
    if (Status s = new_cells(&group->cells); !s.ok()) return s;
    ++own_;
    if (most_ < cells_of_each(own_ - 1))
      for (std::uint32_t i = 0; i < size_; ++i)
        if (groups_[i]->cells != nullptr)
          if (Status s = groups_[i]->cells->set_most(most_); !s.ok()) return s;
  }
  *out = group->cells != nullptr ? group->cells : rest_;
  return Status::success();
}

Status GridGroups::add_lists(const Header& density, const GridCells::Without& without) {
  GroupsView view(&density);
  if (view.header().unseen > 0) return invalid("groups of a sample");
  ++pass_;
  const bool had_rest = rest_ != nullptr;
  ListsByGroup parts, others;
  if (!parts.add(without.parts) || !others.add(without.others) ||
      (!parts.empty() && view.header().rest > 0))
    return Status::error(Code::too_large, "groups that share a list");
  GroupView group;
  while (view.next(&group)) {
    const Header& own = *group.density();
    if (!is_alike(own, density)) return invalid("a group's list is unlike the column's");
    if (group.is_rest)
      if (Status s = begin_rest(view.header().rest); !s.ok()) return s;
    GridCells* to = rest_;
    if (!group.is_rest)
      if (Status s = cells_for(group.key(), group.has_key(), had_rest, &to); !s.ok()) return s;
    const std::vector<const Header*> of_parts = parts.take(group), of_others = others.take(group);
    if (Status s = to->add(own, {of_parts, of_others, without.all, without.control}); !s.ok())
      return s;
  }
  return parts.empty() ? Status::success() : invalid("a part has a group that the whole has not");
}

Status GridGroups::add(const Header& density, const GridCells::Without& without) {
  return guarded([&] { return add_lists(density, without); });
}

Status GridGroups::merge(GridGroups* other) {
  ++pass_;
  const bool had_rest = rest_ != nullptr;
  // Names of what is in the other's rest: a list of theirs is put there by begin_rest().
  for (std::uint32_t i = 0; i < other->size_; ++i) {
    Group& from = *other->groups_[i];
    if (from.cells == nullptr) {
      Group* group;
      bool is_new;
      if (Status s = find_or_add(from.key(), from.has_key, &group, &is_new); !s.ok()) return s;
      continue;
    }
    GridCells* to;
    if (Status s = cells_for(from.key(), from.has_key, had_rest, &to); !s.ok()) return s;
    if (Status s = to->merge(from.cells); !s.ok()) return s;
    other->free_cells(&from.cells);
  }
  if (other->rest_ == nullptr) return Status::success();
  if (Status s = begin_rest(other->rest_groups_); !s.ok()) return s;
  return rest_->merge(other->rest_);
}

Status GridGroups::append(const FitOptions& options, const GroupsBytes& bytes,
                          const Control& control, DensityBytes* density,
                          GroupsReport* report) const noexcept {
  return guarded([&] {
    std::vector<GroupCells> groups;
    for (std::uint32_t i = 0; i < size_; ++i)
      if (groups_[i]->cells != nullptr)
        groups.push_back({groups_[i]->cells, groups_[i]->key(), groups_[i]->has_key});
    const std::size_t at_least = std::max<std::size_t>(rest_groups_, size_ - own_);
    return append_groups(groups, rest_, at_least, options, bytes, control, density, report);
  });
}

std::size_t GridGroups::serialized_size() const {
  std::size_t size = sizeof(Serialized);
  for (std::uint32_t i = 0; i < size_; ++i)
    size += sizeof(SerializedGroup) + aligned(groups_[i]->bytes) +
            (groups_[i]->cells != nullptr ? groups_[i]->cells->serialized_size() : 0);
  return size + (rest_ != nullptr ? rest_->serialized_size() : 0);
}

void GridGroups::serialize(void* out) const {
  auto* to = static_cast<char*>(out);
  const auto put = [&to](const void* from, std::size_t bytes) {
    std::memcpy(to, from, bytes);
    to += bytes;
  };
  const Serialized s = {kMagic, size_, rest_ != nullptr ? rest_groups_ : 0};
  put(&s, sizeof s);
  for (std::uint32_t i = 0; i < size_; ++i) {
    const Group& g = *groups_[i];
    const std::size_t cells = g.cells != nullptr ? g.cells->serialized_size() : 0;
    const SerializedGroup of = {g.bytes, g.has_key ? 1U : 0U, cells};
    put(&of, sizeof of);
    std::memset(to, 0, aligned(g.bytes));
    std::memcpy(to, g.key().data(), g.bytes);
    to += aligned(g.bytes);
    if (cells > 0) g.cells->serialize(to);
    to += cells;
  }
  if (rest_ != nullptr) rest_->serialize(to);
}

Status GridGroups::deserialize(const void* bytes, std::size_t size) {
  const auto* from = static_cast<const char*>(bytes);
  const char* const end = from + size;
  const auto left = [&] { return static_cast<std::size_t>(end - from); };
  Serialized s;
  if (left() < sizeof s) return invalid("groups are too short");
  std::memcpy(&s, from, sizeof s);
  from += sizeof s;
  if (s.magic != kMagic) return invalid("not the groups of a column");
  if (s.rest_groups == 1 || s.rest_groups > std::numeric_limits<std::uint32_t>::max())
    return invalid("a rest is of several groups");
  if (s.rest_groups > 0)
    if (Status status = new_cells(&rest_); !status.ok()) return status;
  rest_groups_ = s.rest_groups;
  for (std::uint32_t i = 0; i < s.groups; ++i) {
    SerializedGroup of;
    if (left() < sizeof of) return invalid("groups are too short");
    std::memcpy(&of, from, sizeof of);
    from += sizeof of;
    if (of.key_bytes > kMostStoredKeyBytes || of.has_key > 1 ||
        (of.has_key == 0 && of.key_bytes > 0) || aligned(of.key_bytes) > left() ||
        of.cells_bytes > left() - aligned(of.key_bytes) ||
        (of.cells_bytes == 0 && rest_ == nullptr))
      return invalid("a group is out of range");
    const std::string_view key(from, of.key_bytes);
    from += aligned(of.key_bytes);
    GridCells* cells = nullptr;
    Group* group;
    bool is_new = true;
    Status status = of.cells_bytes > 0 ? cells_for(key, of.has_key != 0, false, &cells)
                                       : find_or_add(key, of.has_key != 0, &group, &is_new);
    if (status.ok() && (!is_new || (cells != nullptr && cells->size() > 0)))
      return invalid("a group is there twice");
    if (status.ok() && cells != nullptr) status = cells->deserialize(from, of.cells_bytes);
    if (!status.ok()) return status;
    from += of.cells_bytes;
  }
  if (rest_ != nullptr) return rest_->deserialize(from, left());
  return left() == 0 ? Status::success() : invalid("groups have another length");
}

}  // namespace kde
