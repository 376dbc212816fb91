// Views and rules of group_format.h.
#include "core/density/group_format.h"

#include "core/density/fields.h"
#include "core/density/layout.h"

#include <algorithm>

namespace kde {

const Header* GroupView::density() const {
  return reinterpret_cast<const Header*>(reinterpret_cast<const char*>(header + 1) +
                                         key_size(*header));
}

GroupsView::GroupsView(const Header* density)
    : header_(reinterpret_cast<const GroupsHeader*>(reinterpret_cast<const char*>(density) +
                                                    measured_size(density, kMostMeasuredBytes))),
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
  if (front + sizeof(GroupsHeader) > available) return 0;
  const auto* h = reinterpret_cast<const GroupsHeader*>(static_cast<const char*>(bytes) + front);
  if (h->bytes > available - front || h->bytes < sizeof(GroupsHeader) || h->bytes % 8 != 0)
    return 0;
  return front + h->bytes;
}

Status validate_groups(const void* bytes, std::size_t size, const Control& control) {
  const auto* density = static_cast<const Header*>(bytes);
  if (size > kMostDensityBytes) return invalid("too many groups");
  if (density->words != 0) return invalid("groups of a category");
  Walk<> walk(bytes, size);
  if (walk.whole() == nullptr || walk.at() != size)
    return invalid("length does not fit its contents");
  GroupsView groups(density);
  const GroupsHeader& h = groups.header();
  if (Status s = check_fields(h, " of groups"); !s.ok()) return s;
  if (h.rest == 1 || (h.rest > 0 && h.groups == 0)) return invalid("a rest is of several groups");
  GroupView g;
  while (groups.next(&g)) {
    if (control.stop_requested()) return cancelled();
    if (g.is_rest && g.has_key()) return invalid("the rest has a key");
    const Header* d = g.density();
    if (!all_zero(g.key().data() + g.key().size(), reinterpret_cast<const char*>(d)) ||
        d->varlena != 0)
      return invalid("unused bytes are not 0");
    if (d->grouped != 0 || d->words != 0 || d->measures != density->measures)
      return invalid("a group's density has other measures, or groups or words");
    if (Status s = validate_measured(d, measured_size(d, kMostMeasuredBytes)); !s.ok()) return s;
    if (d->value_type != density->value_type || d->chain != density->chain)
      return invalid("a group is of another type");
  }
  return Status::success();
}

}  // namespace kde
