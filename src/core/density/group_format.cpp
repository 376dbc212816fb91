// Views and rules of group_format.h.
#include "core/density/group_format.h"

#include "core/density/checks.h"
#include "core/density/fields.h"
#include "core/density/measure_format.h"

#include <algorithm>

namespace kde {

namespace {

std::size_t key_size(const GroupHeader& g) {
  return g.key_bytes == kNoKey ? 0 : aligned(g.key_bytes);
}

}  // namespace

const Header* GroupView::density() const {
  return reinterpret_cast<const Header*>(reinterpret_cast<const char*>(header + 1) +
                                         key_size(*header));
}

GroupsView::GroupsView(const Header* density)
    : header_(reinterpret_cast<const GroupsHeader*>(
          reinterpret_cast<const char*>(density) +
          aligned(measured_size(density, kMostMeasuredBytes)))),
      at_(reinterpret_cast<const char*>(header_ + 1)),
      left_(header_->groups) {}

bool GroupsView::next(GroupView* group) {
  if (left_ == 0) return false;
  --left_;
  group->header = reinterpret_cast<const GroupHeader*>(at_);
  group->is_rest = left_ == 0 && header_->rest > 0;
  at_ += group->header->bytes;
  return true;
}

std::size_t density_size(const void* bytes, std::size_t available) {
  const std::size_t front = measured_size(bytes, std::min(available, kMostMeasuredBytes));
  if (front == 0 || static_cast<const Header*>(bytes)->grouped == 0) return front;
  const std::size_t begin = aligned(front);
  if (begin + sizeof(GroupsHeader) > available) return 0;
  const char* at = static_cast<const char*>(bytes) + begin;
  const auto* h = reinterpret_cast<const GroupsHeader*>(at);
  if (h->bytes > available - begin || h->bytes < sizeof(GroupsHeader) || h->bytes % 8 != 0)
    return 0;
  return begin + h->bytes;
}

bool groups_fit(const Header* density) {
  GroupsView groups(density);
  const GroupsHeader& h = groups.header();
  const char* at = reinterpret_cast<const char*>(&h + 1);
  const char* end = reinterpret_cast<const char*>(&h) + h.bytes;
  for (std::uint32_t i = 0; i < h.groups; ++i) {
    const auto left = static_cast<std::size_t>(end - at);
    if (left < sizeof(GroupHeader)) return false;
    const auto* g = reinterpret_cast<const GroupHeader*>(at);
    if (g->bytes > left || (g->key_bytes != kNoKey && g->key_bytes > kMostKeyBytes)) return false;
    const std::size_t before = sizeof(GroupHeader) + key_size(*g);
    if (g->bytes < before) return false;
    const std::size_t size =
        measured_size(at + before, std::min<std::size_t>(g->bytes - before, kMostMeasuredBytes));
    if (size == 0 || before + aligned(size) != g->bytes) return false;
    at += g->bytes;
  }
  return at == end;
}

Status validate_groups(const void* bytes, std::size_t size) {
  const auto* density = static_cast<const Header*>(bytes);
  if (size > kMostDensityBytes) return invalid("too many groups");
  if (density->words != 0) return invalid("groups of a category");
  if (density_size(bytes, size) != size || !groups_fit(density))
    return invalid("length does not fit its contents");
  const char* front_end =
      static_cast<const char*>(bytes) + measured_size(bytes, kMostMeasuredBytes);
  GroupsView groups(density);
  const GroupsHeader& h = groups.header();
  if (!all_zero(front_end, reinterpret_cast<const char*>(&h)))
    return invalid("unused bytes are not 0");
  if (Status s = check_fields(h, " of groups"); !s.ok()) return s;
  if (h.rest == 1 || (h.rest > 0 && h.groups == 0)) return invalid("a rest is of several groups");
  GroupView g;
  while (groups.next(&g)) {
    if (g.is_rest && g.has_key()) return invalid("the rest has a key");
    const char* key_end = reinterpret_cast<const char*>(g.header + 1) + g.key().size();
    if (!all_zero(key_end, reinterpret_cast<const char*>(g.density())))
      return invalid("unused bytes are not 0");
    const Header* d = g.density();
    if (d->grouped != 0 || d->words != 0 || d->measures != density->measures)
      return invalid("a group's density has other measures, or groups or words");
    const std::size_t own = measured_size(d, kMostMeasuredBytes);
    if (Status s = validate_measured(d, own); !s.ok()) return s;
    if (d->varlena != 0) return invalid("unused bytes are not 0");
    if (d->value_type != density->value_type) return invalid("a group is of another type");
    if (!all_zero(reinterpret_cast<const char*>(d) + own,
                  reinterpret_cast<const char*>(g.header) + g.header->bytes))
      return invalid("unused bytes are not 0");
  }
  return Status::success();
}

}  // namespace kde
