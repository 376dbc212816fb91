// Internal to src/core/fit: lists of densities with groups, by their groups.
#pragma once

#include "core/density/group_format.h"

#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace kde {

class ListsByGroup {
 public:
  // False where some share one.
  bool add(std::span<const Header* const> densities) {
    for (const Header* h : densities) {
      GroupsView view(h);
      if (view.header().rest > 0) return false;
      GroupView group;
      while (view.next(&group)) lists_[{group.key(), group.has_key()}].push_back(group.density());
    }
    return true;
  }
  // They are given once.
  std::vector<const Header*> take(const GroupView& group) {
    const auto found = lists_.find({group.key(), group.has_key()});
    if (found == lists_.end()) return {};
    std::vector<const Header*> out = std::move(found->second);
    lists_.erase(found);
    return out;
  }
  bool empty() const { return lists_.empty(); }

 private:
  std::map<std::pair<std::string_view, bool>, std::vector<const Header*>> lists_;
};

}  // namespace kde
