// A refresh that reads what changed alone. Of a table's blocks stretches have densities of their own
// (stretch_fit.h), and cells of all of them are of one grid, so they are added and taken out:
//
//   density now = density then - the changed stretches then + those and what came now
//
// What the visibility map proves (proof/proof.h) is not read. A leaf that was attached is read whole,
// of one that is gone its stretches are taken out. Where that cannot be told exactly (values beside
// cells, groups that share a list, a greatest value that is gone) all rows are read.
#include "pg/aggregate/aggregate_memory.h"
#include "pg/base/fault.h"
#include "pg/base/interrupts.h"
#include "pg/base/options.h"
#include "pg/base/owned.h"
#include "pg/catalog/as_fitted.h"
#include "pg/catalog/planned_rows.h"
#include "pg/catalog/read_counters.h"
#include "pg/fit/column_fit.h"
#include "pg/fit/road.h"
#include "pg/fit/stretch_fit.h"
#include "pg/fit/word_fit.h"
#include "pg/read/changed_stretches.h"
#include "pg/read/row_reader.h"
#include "pg/type/density_datum.h"

#include <algorithm>

extern "C" {
#include "access/table.h"
#include "catalog/pg_inherits.h"
#include "utils/snapmgr.h"
}

namespace kde_pg {

namespace {

// Beyond, one scan of all is as fast. What a fit takes is for the most part its own work on the rows,
// so that it is as much of several densities.
constexpr double kMostShare = 0.5;

const kde::Header* header_of(struct varlena* density) {
  return density_from_datum(PointerGetDatum(density), nullptr);
}

// Whether the same rows may give other values, or others pass the filter, at another time.
bool is_of_its_time(const DensityKey& key) {
  bool is = contain_mutable_functions(key.condition);
  for (int i = 0; i < key.all(); ++i)
    is = is || contain_mutable_functions(key.column[i].expression);
  return is;
}

// Of densities. No row comes by itself.
class AddedEstimate final : public LineEstimate {
 public:
  AddedEstimate(const DensityRequest& request, MemoryContext context) : LineEstimate(request) {
    const kde::Chain chain = chain_of(request.key, request.asked);
    options_.method = kde::Method::automatic;
    options_.added_up = true;  // its totals have been rounded once for each refresh
    if (is_category(request.key, 0)) {
      type_ = word_type(request.key, context);
      options_.as_counted = true;
      word_sums_ = Owned<kde::WordSums>::create(context, request.key.measures);
      words_ = Owned<kde::Words>::create(context, word_options(request, type_));
      return;
    }
    cells_ = Owned<kde::OwnedGridCells>::create(context, chain, request.key.measures);
    (*cells_)->keep_cells();
    if (request.key.groups == 0) return;
    groups_ = new (MemoryContextAlloc(context, sizeof(kde::GridGroups)))
        kde::GridGroups(memory_of(context), chain, request.key.measures);
    groups_->keep_cells();
  }

  // A density then as it is now, by the cells that changed; of words: too_large.
  kde::Status splice(const kde::Header& then, const ColumnTypes& types,
                     const kde::GridCells::Without& without,
                     std::span<const kde::Header* const> came, const char* model,
                     const kde::Control& control) {
    if (words_ != nullptr) return kde::Status::error(kde::Code::too_large, "words");
    set_options(types, {}, chosen_engine());
    if (kde::Status s = kde::splice_density(then, without, came, options_, grid_bytes(), control,
                                            &density_, &report_);
        !s.ok())
      return s;
    const kde::Header& h = density_.header();
    sample_.totals.merge(h.finite_rows(), h.sample_rows, h.min, h.max, h.mean, h.variance);
    sample_.specials = {h.nulls, h.nans, h.negative_infinities, h.positive_infinities};
    model_ = model;
    is_spliced_ = true;
    return kde::Status::success();
  }

  kde::Status add(const kde::Header& density, const kde::GridCells::Without& without) {
    if (words_ != nullptr) return word_sums_->add(density, without);
    if (kde::Status s = (*cells_)->add(density, without); !s.ok()) return s;
    return groups_ != nullptr ? groups_->add(density, without) : kde::Status::success();
  }

  kde::Status add(const double*, uint16) noexcept override {
    return kde::Status::error(kde::Code::internal, "a row among densities");
  }
  kde::Status begin_block() noexcept override { return kde::Status::success(); }
  kde::Status finish(const kde::Control& control) noexcept override {
    if (is_spliced_) return kde::Status::success();
    if (words_ != nullptr) {
      const kde::Status s = word_sums_->rank(words_);
      return s.ok() ? words_->finish(&sample_, control) : s;
    }
    if (kde::Status s = (*cells_)->settle(); !s.ok()) return s;
    sample_.totals = (*cells_)->totals();
    sample_.specials = (*cells_)->specials();
    return kde::Status::success();
  }
  kde::Status fit(const ColumnTypes& types, const kde::ReadShare& read, const kde::Engine& engine,
                  const kde::Control& control) noexcept override {
    if (is_spliced_) return kde::Status::success();
    if (words_ != nullptr) {
      if (kde::Status s = fit_line(types, read, engine, control); !s.ok()) return s;
      return append_words(*words_, type_, &options_, &density_);
    }
    set_options(types, read, engine);
    const kde::GridBytes bytes = grid_bytes();
    if (kde::Status s = kde::fit_cells(&**cells_, options_, bytes, control, &density_, &report_);
        !s.ok() || groups_ == nullptr)
      return s;
    return groups_->append(options_, kde::GroupsBytes::of(bytes), control, &density_, &of_groups_);
  }
  void describe(DensityFit* fit) const override {
    LineEstimate::describe(fit);
    if (words_ != nullptr) describe_words(&density_.header(), fit);
    if (is_spliced_ && (groups_ != nullptr || report_.model[0] == '\0')) fit->record.model = model_;
    if (groups_ != nullptr && !is_spliced_)
      describe_groups(of_groups_, kde::GroupsBytes::of(grid_bytes()), fit);
  }

 private:
  WordType type_ = {};
  kde::WordSums* word_sums_ = nullptr;
  kde::Words* words_ = nullptr;  // of a category; then none of the following
  kde::OwnedGridCells* cells_ = nullptr;
  kde::GridGroups* groups_ = nullptr;
  kde::GroupsReport of_groups_;
  bool is_spliced_ = false;
  const char* model_ = nullptr;  // then
};

// What is to be read, and what is left.
struct Changes {
  List* gone = NIL;    // densities, struct varlena*
  List* left = NIL;    // KeptStretch*, of which nothing is fetched
  List* wanted = NIL;  // KeptStretch*, without densities
  bool all = true;     // there is nothing beside the stretches
  double blocks = 0;   // of those wanted
};

// As long as those of before were made, where these were large.
BlockNumber longest_of(double blocks, const StretchReader& kept) {
  BlockNumber longest = longest_stretch(blocks);
  for (int i = 0; i < kept.size(); ++i)
    longest = Max(longest, kept.stretch(i).end - kept.stretch(i).first);
  return longest;
}

Changes changes_of(const Proof& then, const Proof& now, const StretchReader& kept,
                   const ChangedStretches& found) {
  Changes out;
  const BlockNumber longest = longest_of(blocks_of(now), kept);
  double covered = 0;
  for (int i = 0; i < found.n; ++i) {
    const Stretch& s = found.stretch[i];
    // What came after the proof was noted is none of it.
    const ProofLeaf* leaf = find_leaf(now, s.leaf);
    const BlockNumber end = leaf != nullptr ? Min(s.end, leaf->blocks) : s.end;
    if (found.is_new(i) && s.first < end) {
      out.blocks += end - s.first;
      add_stretches(&out.wanted, s.leaf, s.first, end, longest);
    }
    if (!found.is_kept(i)) continue;
    covered += s.end - s.first;
    auto* stretch = static_cast<KeptStretch*>(palloc0(sizeof(KeptStretch)));
    *stretch = {s.leaf, s.first, s.end, nullptr, kept.seed(), nullptr, false, found.number[i]};
    if (!s.changed) {
      out.left = lappend(out.left, stretch);
      continue;
    }
    struct varlena* density = kept.density(found.number[i]);
    if (density != nullptr) out.gone = lappend(out.gone, density);
    if (s.gone) continue;
    stretch->number = -1;
    stretch->end = end;
    if (stretch->first >= stretch->end) continue;
    out.blocks += stretch->end - stretch->first;
    out.wanted = lappend(out.wanted, stretch);
  }
  for (KeptStretch* stretch : of_list<KeptStretch>(out.wanted)) stretch->seed = kept.seed();
  out.all = covered == blocks_of(then);
  return out;
}

// Whether the leaves found are those of a proof that was noted beside.
bool are_leaves_of(const Proof& now, const Proof& then, const ChangedStretches& found) {
  for (int i = 0; i < found.n; ++i)
    if (!found.stretch[i].gone && found.stretch[i].end > found.stretch[i].first &&
        find_leaf(now, found.stretch[i].leaf) == nullptr)
      return false;
  auto* whole = static_cast<Oid*>(palloc(sizeof(Oid) * static_cast<Size>(found.n + 1)));
  Size size = 0;
  for (int i = 0; i < found.n; ++i)
    if (found.is_new(i) && found.stretch[i].first == 0) whole[size++] = found.stretch[i].leaf;
  std::sort(whole, whole + size);
  return std::all_of(now.leaf, now.leaf + now.leaves, [&](const ProofLeaf& leaf) {
    const ProofLeaf* before = find_leaf(then, leaf.relation);
    return leaf.blocks == 0 || (before != nullptr && before->file == leaf.file) ||
           std::binary_search(whole, whole + size, leaf.relation);
  });
}

// Whether rows of all of them are read without a query.
bool are_read_by_block(const DensityKey& key, Relation relation, List* stretches) {
  Oid before = InvalidOid;
  bool are = true;
  for (const KeptStretch* stretch : of_list<const KeptStretch>(stretches)) {
    if (stretch->leaf == before) continue;
    before = stretch->leaf;
    Relation leaf = table_open(before, NoLock);
    are = are && !RowReader::needs_query(relation, key, leaf);
    table_close(leaf, NoLock);
  }
  return are;
}

int compare_stretches(const ListCell* a, const ListCell* b) {
  const auto* x = static_cast<const KeptStretch*>(lfirst(a));
  const auto* y = static_cast<const KeptStretch*>(lfirst(b));
  if (x->leaf != y->leaf) return x->leaf < y->leaf ? -1 : 1;
  return x->first < y->first ? -1 : x->first > y->first ? 1 : 0;
}

// Blocks that are looked through for changes, of all. Where none was counted VACUUM may have frozen
// all of them: their hashes say so for a part of what a fit takes.
double most_blocks(const LockedDensity& locked, const Counters& now, double blocks) {
  const Counters& then = locked.upkeep.counters;
  const bool none = then.known && now.known && changed_rows(then, now) == 0;
  return none ? blocks : kMostShare * blocks;
}

bool read_all(const char* why) {
  ereport(DEBUG1, (errmsg_internal("all rows are read: %s", why)));
  return false;
}

// Adds what there is. Null, or why it cannot be told exactly. Raises other errors.
const char* add(AddedEstimate* sum, struct varlena* density,
                const kde::GridCells::Without& without = {}) {
  const kde::Status status = sum->add(*header_of(density), without);
  if (status.code == kde::Code::too_large || status.code == kde::Code::invalid_format)
    return pstrdup(status.message);
  check_status(status, "add up densities");
  return nullptr;
}

const kde::Header** headers_of(List* densities) {
  auto** out = static_cast<const kde::Header**>(
      palloc(sizeof(kde::Header*) * static_cast<Size>(list_length(densities) + 1)));
  int n = 0;
  for (struct varlena* density : of_list<struct varlena>(densities)) out[n++] = header_of(density);
  return out;
}

std::span<const kde::Header* const> span_of(List* densities) {
  return {headers_of(densities), static_cast<Size>(list_length(densities))};
}

List* densities_of(List* stretches) {
  List* out = NIL;
  for (const KeptStretch* stretch : of_list<const KeptStretch>(stretches))
    if (stretch->density != nullptr) out = lappend(out, stretch->density);
  return out;
}

// The whole as it is now, of the lists of which those cells alone are read that changed. Null: it is to be
// added up.
AddedEstimate* splice(const DensityRequest& request, const ColumnTypes& types,
                      MemoryContext context, const StoredDensity& then, const Changes& changes,
                      List* came) {
  auto* sum = Owned<AddedEstimate>::create(context, request, context);
  const kde::Control control = begin_core_work(1);
  const kde::Status status = sum->splice(*header_of(then.value), types,
                                         {span_of(changes.gone), span_of(came), false, &control},
                                         span_of(came), then.model, control);
  if (status.ok()) return sum;
  if (status.code != kde::Code::too_large && status.code != kde::Code::invalid_format)
    sum->check(status);
  ereport(DEBUG1, (errmsg_internal("all cells are read: %s", status.message)));
  return nullptr;
}

// A density then without those that are gone, and with those that came. others: of what is in it
// beside the former, all of it or some. Null: *why it cannot be told.
AddedEstimate* add_up(const DensityRequest& request, MemoryContext context, struct varlena* then,
                      List* gone, List* came, List* others, bool all, const char** why) {
  auto* sum = Owned<AddedEstimate>::create(context, request, context);
  const kde::Control control = begin_core_work(1);
  *why = add(sum, then, {span_of(gone), span_of(list_concat_copy(others, came)), all, &control});
  for (struct varlena* density : of_list<struct varlena>(came)) {
    CHECK_FOR_INTERRUPTS();
    if (*why == nullptr) *why = add(sum, density);
  }
  return *why == nullptr ? sum : nullptr;
}

// The whole as it is now. Those that are left are looked at where a least or greatest value went, and
// did not come again. Null: *why it cannot be told.
AddedEstimate* add_up(const DensityRequest& request, MemoryContext context, struct varlena* then,
                      const Changes& changes, List* came, const StretchReader& kept,
                      const char** why) {
  AddedEstimate* sum = add_up(request, context, then, changes.gone, came, NIL, false, why);
  if (sum != nullptr || changes.gone == NIL) return sum;
  List* others = NIL;
  for (const KeptStretch* stretch : of_list<const KeptStretch>(changes.left))
    if (struct varlena* density = kept.density(stretch->number)) others = lappend(others, density);
  return add_up(request, context, then, changes.gone, came, others, changes.all, why);
}

// One of both, whose densities are added; null: they cannot be.
KeptStretch* merged(const DensityRequest& request, const ColumnTypes& types,
                    const kde::ReadShare& read, MemoryContext context, const StretchReader& kept,
                    KeptStretch a, KeptStretch b) {
  for (KeptStretch* of : {&a, &b})
    if (of->number >= 0) kept.fetch(of);
  auto* out = static_cast<KeptStretch*>(palloc(sizeof(KeptStretch)));
  *out = {a.leaf, a.first, b.end, a.density != nullptr ? a.density : b.density,
          a.seed, nullptr, false, -1};
  const Size blocks_of_a = a.end - a.first, blocks_of_b = b.end - b.first;
  auto* hash = static_cast<uint64*>(palloc(sizeof(uint64) * (blocks_of_a + blocks_of_b)));
  memcpy(hash, a.hash, sizeof(uint64) * blocks_of_a);
  memcpy(hash + blocks_of_a, b.hash, sizeof(uint64) * blocks_of_b);
  out->hash = hash;
  if (a.density == nullptr || b.density == nullptr) return out;
  DensityRequest own = request;
  own.bytes = finer_bytes_of(*out);
  auto* sum = Owned<AddedEstimate>::create(context, own, context);
  if (add(sum, a.density) != nullptr || add(sum, b.density) != nullptr) return nullptr;
  const kde::Control control = begin_core_work(1);
  sum->check(sum->finish(control));
  sum->check(sum->fit(types, read, chosen_engine(), control));
  out->density =
      reinterpret_cast<struct varlena*>(DatumGetPointer(density_to_datum(sum->density())));
  return out;
}

}  // namespace

// In their order, those that follow each other put together where that is better.
List* Road::put_together(List* stretches, double blocks, const StretchReader& kept) const {
  const BlockNumber longest = longest_of(blocks, kept);
  list_sort(stretches, compare_stretches);
  List* out = NIL;
  const int n = list_length(stretches);
  BlockNumber end = 0;
  for (int i = 0; i < n; ++i) {
    CHECK_FOR_INTERRUPTS();
    auto* stretch = static_cast<KeptStretch*>(list_nth(stretches, i));
    if (i == 0 || static_cast<KeptStretch*>(llast(out))->leaf != stretch->leaf) {
      int last = i;
      while (last + 1 < n &&
             static_cast<const KeptStretch*>(list_nth(stretches, last + 1))->leaf == stretch->leaf)
        ++last;
      end = static_cast<const KeptStretch*>(list_nth(stretches, last))->end;
    } else {
      const auto* before = static_cast<const KeptStretch*>(llast(out));
      KeptStretch* both =
          are_better_one(*before, *stretch, end, longest)
              ? merged(*request_, types_, reading_.result, context_, kept, *before, *stretch)
              : nullptr;
      if (both != nullptr) {
        llast(out) = both;
        continue;
      }
    }
    out = lappend(out, stretch);
  }
  return out;
}

bool Road::read_changed(Relation relation, const StoredDensity& stored, const StretchReader& kept,
                        const Proof& now) {
  ChangedStretches found;
  const double blocks = blocks_of(now);
  if (kept.size() == 0) return read_all("no stretches are kept");
  if (is_category(request_->key, 0) && !(word_type(request_->key, context_).direct() &&
                                         kde::WordSums::is_told(*header_of(stored.value))))
    return read_all("values are not known by their texts");
  if (!find_changed(RelationGetRelid(relation), stored.proof, kept,
                    most_blocks(*request_->locked, counters_, blocks), Moved::changed, &found))
    return read_all("what changed is not known, or much");
  if (!are_leaves_of(now, stored.proof, found)) return read_all("leaves come and go");
  const Changes changes = changes_of(stored.proof, now, kept, found);
  if (changes.blocks > kMostShare * blocks) return read_all("much changed");
  if (!are_read_by_block(request_->key, relation, changes.wanted))
    return read_all("a leaf is read by a query");
  ereport(DEBUG1, (errmsg_internal("reading %.0f of %.0f blocks that changed for 1 density",
                                   changes.blocks, blocks)));
  reading_.result = {};
  reading_.result.every_row_read = true;
  reading_.result.proof = now;
  reading_.result.blocks_total = static_cast<int64>(blocks);
  reading_.result.blocks_read = static_cast<int64>(changes.blocks);
  reading_.result.snapshot = GetActiveSnapshot();
  if (kde::GroupView group; header_of(stored.value)->grouped != 0) {
    kde::GroupsView groups(header_of(stored.value));
    if (groups.next(&group)) level_of_groups_ = kde::coarsest_time_level(*group.density());
  }
  Road* const roads[] = {this};
  for (const KeptStretch* stretch : of_list<const KeptStretch>(changes.wanted))
    fit_stretch(roads, 1, relation, *stretch);
  reading_.result.snapshot = nullptr;
  stretches_of_column_ = NIL;
  const char* why = nullptr;
  List* const came = densities_of(stretches_);
  AddedEstimate* sum = splice(*request_, types_, context_, stored, changes, came);
  if (sum == nullptr) sum = add_up(*request_, context_, stored.value, changes, came, kept, &why);
  if (sum == nullptr) {
    stretches_ = NIL;
    return read_all(why);
  }
  stretches_ = put_together(list_concat(changes.left, stretches_), blocks, kept);
  estimate_ = sum;
  return true;
}

bool Road::read_changed(Relation relation) {
  const DensityRequest& request = *request_;
  if (request.locked == nullptr || request.anew || IsolationUsesXactSnapshot() ||
      !may_have_stretches(request) || !request.locked->entry->proof.known ||
      is_of_its_time(request.key) ||
      changed_since_fit(request.key, request.locked->entry->fitted) != nullptr)
    return false;
  instr_time start;
  INSTR_TIME_SET_CURRENT(start);
  const Oid oid = RelationGetRelid(relation);
  MemoryContext caller = MemoryContextSwitchTo(context_);
  (void)find_all_inheritors(oid, AccessShareLock, nullptr);
  counters_ = read_counters(oid);
  const ProofBegun begun = begin_proof(oid);
  PushActiveSnapshot(GetLatestSnapshot());
  const StoredDensity stored = catalog_find(request.key, GetActiveSnapshot());
  if (stored.value != nullptr && stored.id == request.locked->entry->id &&
      !rows_are_elsewhere(relation)) {
    const Proof now = note_proof(oid, GetActiveSnapshot(), &begun);
    KDE_FAULT("refresh.noted");
    const auto read = [&](const StretchReader& kept) {
      reading_.done = read_changed(relation, stored, kept, now);
    };
    if (now.known) read_stretches(stored.version, stored.id, GetActiveSnapshot(), read);
  }
  PopActiveSnapshot();
  MemoryContextSwitchTo(caller);
  scan_ms_ = elapsed_ms(start);
  return reading_.done;
}

}  // namespace kde_pg
