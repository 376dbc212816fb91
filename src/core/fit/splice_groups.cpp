// See splice_groups.h.
#include "core/fit/splice_groups.h"

#include "core/density/checks.h"
#include "core/density/measure_format.h"
#include "core/fit/fit_cells.h"
#include "core/fit/lists_by_group.h"
#include "core/grid/splice.h"
#include "core/guarded.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

namespace kde {

namespace {

Status not_told(const char* why) { return Status::error(Code::too_large, "%s", why); }

// One group as it is to be.
struct Spliced {
  GroupView group;
  DensityBytes own;
  bool is_new = false;

  const Header& header() const { return is_new ? own.header() : *group.density(); }
  const char* bytes() const { return reinterpret_cast<const char*>(&header()); }
  std::size_t front() const { return sizeof(GroupHeader) + key_size(*group.header); }
  std::size_t size() const { return is_new ? aligned(own.size()) : group.header->bytes - front(); }
};

// In their order, of GridGroupsEncoder.
bool is_more(const Spliced& a, const Spliced& b) {
  const double of_a = a.header().rows, of_b = b.header().rows;
  if (of_a != of_b) return of_a > of_b;
  const bool has_a = a.group.has_key(), has_b = b.group.has_key();
  return has_a == has_b ? a.group.key() < b.group.key() : has_b;
}

Status splice_groups(const Header& density, const GridCells::Without& without,
                     std::span<const Header* const> came, std::size_t most,
                     std::vector<Spliced>* out) {
  ListsByGroup parts, others, new_ones;
  GroupsView view(&density);
  if (view.header().rest > 0 || view.header().unseen > 0 || !parts.add(without.parts) ||
      !others.add(without.others) || !new_ones.add(came))
    return not_told("groups that share a list");
  GroupView group;
  while (view.next(&group)) {
    Spliced& to = out->emplace_back();
    to.group = group;
    const std::vector<const Header*> gone = parts.take(group), come = new_ones.take(group),
                                     beside = others.take(group);
    if (gone.empty() && come.empty()) continue;
    to.is_new = true;
    if (Status s = splice(*group.density(), {gone, beside, without.all, without.control}, come,
                          most, &to.own);
        !s.ok())
      return s;
  }
  if (!parts.empty() || !new_ones.empty()) return not_told("groups that come");
  std::sort(out->begin(), out->end(), is_more);
  return Status::success();
}

// Behind the density of all rows.
void append(const GroupsHeader& of_all, const std::vector<Spliced>& groups, DensityBytes* density) {
  std::size_t bytes = aligned(density->size()) + sizeof(GroupsHeader);
  for (const Spliced& g : groups) bytes += g.front() + g.size();
  DensityBytes all(bytes);
  std::memcpy(all.data(), density->data(), density->size());
  char* const begin = all.data() + aligned(density->size());
  char* to = begin + sizeof(GroupsHeader);
  for (const Spliced& g : groups) {
    std::memcpy(to, g.group.header, g.front());
    const GroupHeader front = {static_cast<std::uint32_t>(g.front() + g.size()),
                               g.group.header->key_bytes};
    std::memcpy(to, &front, sizeof front);
    std::memcpy(to + g.front(), g.bytes(), g.is_new ? g.own.size() : g.size());
    to += g.front() + g.size();
  }
  GroupsHeader header = of_all;
  header.bytes = static_cast<std::uint64_t>(to - begin);
  std::memcpy(begin, &header, sizeof header);
  all.header().grouped = 1;
  *density = std::move(all);
}

}  // namespace

Status splice_density(const Header& density, const GridCells::Without& without,
                      std::span<const Header* const> came, const FitOptions& options,
                      const GridBytes& bytes, const Control& control, DensityBytes* out,
                      FitReport* report) noexcept {
  return guarded([&] {
    *report = {};
    if (Status s = splice(density, without, came, bytes.most, out); !s.ok()) return s;
    if (Status s = select_again(options, control, out, report); !s.ok()) return s;
    if (density.grouped == 0) return Status::success();
    std::vector<Spliced> groups;
    if (Status s = splice_groups(density, without, came, bytes.most, &groups); !s.ok()) return s;
    const GroupsHeader& before = GroupsView(&density).header();
    append(before, groups, out);
    const GroupsBytes room = GroupsBytes::of(bytes);
    const std::size_t now = GroupsView(&out->header()).header().bytes;
    return now <= room.most || (before.bytes > room.most && now <= room.many)
               ? Status::success()
               : not_told("more bytes than groups may take");
  });
}

}  // namespace kde
