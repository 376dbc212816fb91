// Groups that are added up, against the rows of all parts: who is by itself, who is in the rest, and
// what each has.
#include "core/fit/grid_groups.h"

#include "core/answer/measure_evidence.h"
#include "core/fit/fit_cells.h"
#include "core/fit/groups.h"
#include "core/grid/owned_cells.h"
#include "core/random.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace kde {
namespace {

using Key = std::optional<std::string>;

struct Row {
  int group;
  double x, y;
};

Key key_of(int group) {
  if (group == 0) return {};
  return group == 1
             ? ""
             : std::string(static_cast<std::size_t>(group * 7 % 40), 'k') + std::to_string(group);
}

// Of a day: group g has about 1/(g + 1) of the rows of the first.
std::vector<Row> rows_of_day(int day, int groups, std::size_t n, Random* random) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < n; ++i) {
    const int g = static_cast<int>(std::exp(random->uniform() * std::log(groups + 1.0))) - 1;
    const double x = 1767225600.0 + 86400.0 * day + std::floor(86400e6 * random->uniform()) / 1e6;
    rows.push_back({g, x, static_cast<double>(random->below(100000)) / 100});
  }
  return rows;
}

FitOptions options_of(bool added_up) {
  FitOptions options;
  options.value_type = ValueType::timestamp;
  options.measure_types[0] = ValueType::float8;
  options.every_row_read = true;
  options.added_up = added_up;
  return options;
}

// Of one part. most: bytes of its groups.
DensityBytes fit_part(const std::vector<Row>& rows, std::size_t most) {
  Groups groups({.chain = Chain::calendar, .measures = 1}, 100000);
  groups.begin_every_row();
  OwnedGridCells all(Chain::calendar, 1);
  for (const Row& row : rows) {
    EXPECT_TRUE(all->add(row.x, {&row.y, 1}).ok());
    EXPECT_TRUE(groups.add({static_cast<std::uint32_t>(row.group)}, row.x, {&row.y, 1}).ok());
  }
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Key key = key_of(static_cast<int>(groups.codes(g)[0]));
    if (!key) continue;
    EXPECT_TRUE(groups.set_key(g, *key).ok());
  }
  DensityBytes density;
  FitReport fit_report;
  EXPECT_TRUE(fit_cells(&*all, options_of(false), kGridBytes, {}, &density, &fit_report).ok());
  GroupsReport report;
  EXPECT_TRUE(groups.append(options_of(false), {}, &density, &report, {most, most, most}).ok());
  EXPECT_TRUE(validate(density.data(), density.size()).ok());
  return density;
}

class Sum {
 public:
  Sum() : all_(Chain::calendar, 1), groups_(memory(), Chain::calendar, 1) {}
  Sum(const Sum&) = delete;
  Sum& operator=(const Sum&) = delete;
  ~Sum() { groups_.release(); }

  Status add(const DensityBytes& part) {
    if (Status s = all_->add(part.header()); !s.ok()) return s;
    return groups_.add(part.header());
  }
  Status add(const DensityBytes& whole, const GridCells::Without& without) {
    if (Status s = all_->add(whole.header(), without); !s.ok()) return s;
    return groups_.add(whole.header(), without);
  }
  // By way of another process.
  void merge(Sum* other) {
    std::vector<char> bytes(other->groups_.serialized_size());
    other->groups_.serialize(bytes.data());
    GridGroups copy(memory(), Chain::calendar, 1);
    EXPECT_TRUE(copy.deserialize(bytes.data(), bytes.size()).ok());
    EXPECT_TRUE(groups_.merge(&copy).ok());
    copy.release();
    EXPECT_TRUE(all_->merge(&*other->all_).ok());
  }
  DensityBytes density(std::size_t most = kMostGroupsBytes) {
    DensityBytes out;
    FitReport fit_report;
    GroupsReport report;
    EXPECT_TRUE(fit_cells(&*all_, options_of(true), kGridBytes, {}, &out, &fit_report).ok());
    EXPECT_TRUE(groups_.append(options_of(true), {most, most, most}, {}, &out, &report).ok());
    const Status valid = validate(out.data(), out.size());
    EXPECT_TRUE(valid.ok()) << valid.message;
    return out;
  }
  const GridGroups& groups() const { return groups_; }

  static Memory memory() {
    return {[](void*, std::size_t bytes) { return std::malloc(bytes); },
            [](void*, void* chunk) { std::free(chunk); }, nullptr};
  }

 private:
  OwnedGridCells all_;
  GridGroups groups_;
};

struct Listed {
  std::set<Key> own;
  std::size_t rest = 0;
};

Listed listed(const DensityBytes& density) {
  Listed out;
  GroupsView view(&density.header());
  out.rest = view.header().rest;
  GroupView group;
  while (view.next(&group)) {
    if (group.is_rest) continue;
    const bool added =
        out.own.insert(group.has_key() ? Key(std::string(group.key())) : Key()).second;
    EXPECT_TRUE(added) << group.key();
  }
  return out;
}

// The rule of grid_groups.h. rest: at least.
Listed expected(const std::vector<DensityBytes>& parts) {
  std::set<Key> all, shared;
  Listed out;
  for (const DensityBytes& part : parts) {
    const Listed own = listed(part);
    all.insert(own.own.begin(), own.own.end());
    out.rest = std::max(out.rest, own.rest);
  }
  for (const DensityBytes& part : parts) {
    const Listed own = listed(part);
    for (const Key& key : all)
      if (own.rest > 0 && own.own.count(key) == 0) shared.insert(key);
  }
  for (const Key& key : all)
    if (shared.count(key) == 0) out.own.insert(key);
  out.rest = std::max(out.rest, shared.size());
  return out;
}

// Counts and sums of each group, and of the rest, between whole days and hours.
void expect_truth(const DensityBytes& density, const std::vector<Row>& rows, bool exact) {
  const Listed who = listed(density);
  for (const auto& [from, to] : {std::pair(0.0, 400.0), {1.0, 3.0}, {0.25, 5.75}, {2.5, 2.75}}) {
    Range range;
    range.lower = 1767225600.0 + 86400.0 * from;
    range.upper = 1767225600.0 + 86400.0 * to;
    range.lower_unbounded = range.upper_unbounded = range.upper_inclusive = false;
    std::map<Key, std::pair<double, double>> truth;
    const Key rest = "the rest";
    for (const Row& row : rows) {
      if (row.x < range.lower || row.x >= range.upper) continue;
      const Key key = key_of(row.group);
      auto& [count, sum] = truth[who.own.count(key) > 0 ? key : rest];
      count += 1;
      sum += row.y;
    }
    GroupsView view(&density.header());
    GroupView group;
    while (view.next(&group)) {
      const auto [count, sum] = truth[group.is_rest     ? rest
                                      : group.has_key() ? Key(std::string(group.key()))
                                                        : Key()];
      const DensityView d(group.density());
      const MeasureView m(group.density(), 0);
      const Interval counted = interval_of(Wanted::count, d, m, range, {});
      const Interval added = interval_of(Wanted::sum, d, m, range, {});
      EXPECT_LE(counted.lower, count) << group.key();
      EXPECT_GE(counted.upper, count) << group.key();
      if (exact || to == 400) {
        EXPECT_EQ(counted.lower, counted.upper) << group.key();
      }
      if (count == 0) continue;
      const double rounding = 1e-9 * (1 + std::fabs(sum));
      EXPECT_LE(added.lower, sum + rounding) << group.key();
      EXPECT_GE(added.upper, sum - rounding) << group.key();
    }
  }
}

constexpr int kDays = 7, kGroups = 60;

std::vector<std::vector<Row>> days_of(std::uint64_t seed) {
  Random random(seed);
  std::vector<std::vector<Row>> out;
  for (int day = 0; day < kDays; ++day)
    out.push_back(rows_of_day(day, day % 3 == 0 ? 8 : kGroups, 3000, &random));
  return out;
}

std::vector<Row> all_of(const std::vector<std::vector<Row>>& days) {
  std::vector<Row> out;
  for (const auto& rows : days) out.insert(out.end(), rows.begin(), rows.end());
  return out;
}

TEST(GroupSums, AreTheFitOfTheUnion) {
  const std::vector<std::vector<Row>> days = days_of(1);
  Sum sum;
  for (const auto& rows : days) ASSERT_TRUE(sum.add(fit_part(rows, kMostGroupsBytes)).ok());
  const DensityBytes density = sum.density();
  const DensityBytes at_once = fit_part(all_of(days), kMostGroupsBytes);
  EXPECT_EQ(listed(density).own, listed(at_once).own);
  EXPECT_EQ(listed(density).rest, 0u);
  expect_truth(density, all_of(days), true);
  // As it is finished, what it has stays.
  expect_truth(sum.density(90000), all_of(days), false);
  EXPECT_GT(listed(sum.density(90000)).rest, 0u);
  const DensityBytes again = sum.density();
  EXPECT_TRUE(std::equal(again.data(), again.data() + again.size(), density.data()));
}

// Some parts have a rest, in any order and along any way.
TEST(GroupSums, TellNoGroupApartThatMayBeInARest) {
  int shared = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const std::vector<std::vector<Row>> days = days_of(seed);
    Random random(seed + 100);
    std::vector<DensityBytes> parts;
    for (const auto& rows : days)
      parts.push_back(fit_part(rows, random.below(2) == 0 ? kMostGroupsBytes : 60000));
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < parts.size(); ++i)
      order.insert(order.begin() + static_cast<std::ptrdiff_t>(random.below(i + 1)), i);
    Sum sum, other;
    for (const std::size_t i : order)
      ASSERT_TRUE((random.below(2) == 0 ? sum : other).add(parts[i]).ok());
    sum.merge(&other);
    const DensityBytes density = sum.density();
    const Listed found = listed(density), wanted = expected(parts);
    EXPECT_EQ(found.own, wanted.own) << seed;
    EXPECT_EQ(found.rest, wanted.rest) << seed;
    EXPECT_GT(found.own.size(), 0u);
    shared += found.rest > 0 ? 1 : 0;
    expect_truth(density, all_of(days), false);
  }
  EXPECT_GT(shared, 6);
}

TEST(GroupSums, RefuseWhatNoFitWrites) {
  const DensityBytes good = fit_part(days_of(3)[1], 60000);
  EXPECT_GT(listed(good).rest, 0u);
  const auto refused = [&good](const auto& spoil) {
    DensityBytes bad(good.size());
    std::copy_n(good.data(), good.size(), bad.data());
    GroupsView view(&bad.header());
    GroupView group;
    view.next(&group);
    spoil(const_cast<GroupsHeader*>(&view.header()), const_cast<Header*>(group.density()));
    Sum sum;
    return sum.add(bad).code == Code::invalid_format;
  };
  EXPECT_FALSE(refused([](GroupsHeader*, Header*) {}));
  EXPECT_TRUE(refused([](GroupsHeader* h, Header*) { h->unseen = 1; }));
  EXPECT_TRUE(refused([](GroupsHeader*, Header* d) { d->value_type = ValueType::float8; }));
  EXPECT_TRUE(refused([](GroupsHeader*, Header* d) { d->measures = 0; }));
}

TEST(GroupSums, RefuseBytesThatAreNone) {
  Sum sum;
  ASSERT_TRUE(sum.add(fit_part(days_of(3)[1], 60000)).ok());
  ASSERT_TRUE(sum.add(fit_part(days_of(3)[0], kMostGroupsBytes)).ok());
  std::vector<char> good(sum.groups().serialized_size());
  sum.groups().serialize(good.data());
  const auto read = [](const char* bytes, std::size_t size) {
    GridGroups groups(Sum::memory(), Chain::calendar, 1);
    const Status status = groups.deserialize(bytes, size);
    groups.release();
    return status.code;
  };
  EXPECT_EQ(read(good.data(), good.size()), Code::ok);
  for (std::size_t size = 0; size < good.size(); size += 1 + good.size() / 199)
    EXPECT_EQ(read(good.data(), size), Code::invalid_format) << size;
  Random random(5);
  for (int i = 0; i < 300; ++i) {
    std::vector<char> bad = good;
    bad[random.below(std::min<std::size_t>(bad.size(), 4000))] ^= 1 << random.below(8);
    (void)read(bad.data(), bad.size());
  }
}

// Days are taken out and come again as others. What a group of those days alone had is nowhere.
TEST(GroupSums, AreWhatIsLeftAndWhatCame) {
  std::vector<std::vector<Row>> days = days_of(41);
  for (Row& row : days[2])
    if (row.group == 5) row.group = 99;
  const DensityBytes whole = fit_part(all_of(days), kMostGroupsBytes);
  const DensityBytes gone[] = {fit_part(days[2], kMostGroupsBytes),
                               fit_part(days[6], kMostGroupsBytes)};
  const Header* parts[] = {&gone[0].header(), &gone[1].header()};
  days[2] = days_of(42)[2];
  days.pop_back();
  std::vector<DensityBytes> known;
  std::vector<const Header*> others;
  for (const auto& day : days) known.push_back(fit_part(day, kMostGroupsBytes));
  for (const DensityBytes& d : known) others.push_back(&d.header());
  Sum sum;
  const Status left = sum.add(whole, {parts, others, true});
  ASSERT_TRUE(left.ok()) << left.message;
  ASSERT_TRUE(sum.add(known[2]).ok());
  const DensityBytes now = sum.density();
  expect_truth(now, all_of(days), true);
  EXPECT_EQ(listed(now).own, listed(fit_part(all_of(days), kMostGroupsBytes)).own);
  // Who shares a list cannot be taken out of it.
  Sum few;
  const DensityBytes shared = fit_part(all_of(days), 16384);
  ASSERT_GT(listed(shared).rest, 0U);
  EXPECT_EQ(few.add(shared, {others, {}, true}).code, Code::too_large);
}

}  // namespace
}  // namespace kde
