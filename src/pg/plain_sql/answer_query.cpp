// See query_answer.h. A density is opened, its box read, and its groups and their parts walked, which
// add to the rows of the answer that they are of (part_values.h, tally.h); what each says is asked in
// query_rows.h, and made a value in query_datum.h. Where rows changed since in
// blocks that are known (proof/proof.h), the answer is put together (tally.h):
//
//   what the density says - what those say of the stretches with such blocks + what is read of them
//
// Of a stretch that had no row that the statement asks for those blocks alone are read.
#include "pg/plain_sql/query_answer.h"

#include "pg/answer/asked_words.h"
#include "pg/base/options.h"
#include "pg/base/subtransaction.h"
#include "pg/base/tree_walk.h"
#include "pg/catalog/as_fitted.h"
#include "pg/catalog/cache.h"
#include "pg/catalog/expression.h"
#include "pg/catalog/extension_lock.h"
#include "pg/read/changed_stretches.h"
#include "pg/plain_sql/query_box.h"
#include "pg/plain_sql/query_datum.h"
#include "pg/plain_sql/group_keys.h"
#include "pg/plain_sql/part_values.h"
#include "pg/plain_sql/tally.h"
#include "pg/type/density_datum.h"

#include <algorithm>
#include <cmath>

extern "C" {
#include "utils/snapmgr.h"
}

namespace kde_pg {

namespace {

// Certainly none: every row was read, whatever its group, and no NULL met.
bool may_have_nulls_in(const kde::AnyDensity& density, int columns) {
  for (int i = 0; columns >> i != 0; ++i) {
    if ((columns >> i & 1) == 0) continue;
    const kde::Header& h = *density.column(i);
    if ((h.flags & kde::kEveryRowRead) == 0 || h.nulls > 0) return true;
  }
  return false;
}

// Nobody who drops the extension is waited for: none then.
CachedDensity density_if_there(const DensityKey& key, AnsweringFit* fit) {
  const Oid extension = hold_extension_at_once();
  if (!OidIsValid(extension)) return {};
  const CachedDensity found = cached_density(key, fit, Tell::nothing);
  release_extension(extension);
  return found;
}

class PlainAnswering {
 public:
  // as_of_then: by the owner's consent, whatever changed since.
  enum class Mode { now, by_stretches, as_of_then };
  PlainAnswering(const PlainAsked& asked, Mode mode)
      : state_{asked, *asked.plan, {}}, mode_(mode) {}
  // That of a stretch, which is added to a tally, or taken out of it.
  PlainAnswering(const PlainAnswering& whole, const struct varlena* stretch, bool out)
      : state_{whole.state_.asked, whole.plan_, {}},
        is_whole_(false),
        goes_to_minute_(whole.goes_to_minute_),
        tally_(whole.tally_),
        out_(out) {
    rows_.options = state_.asked.interval;
    (void)look_at(stretch);
  }

  // Whether there was something.
  bool add_to_tally() {
    answer();
    return any_row_;
  }
  const PlainAnswers& answers() const { return state_.out; }

  PlainAnswers run() {
    if (open()) {
      // What changed is out of it: other rows are those of the fit.
      goes_to_minute_ = is_proven_ && !(rows_.options.changed_rows > 0) && box_.is_free_to_minute();
      if (tally_ != nullptr)
        answer_together_with_rest();
      else
        try_to([this] { answer(); });
    }
    if (is_as_of_then() && state_.out.outcome == PlainOutcome::answered && !any_row_)
      (void)refuse(PlainOutcome::beyond);
    tell_of_unread();
    return state_.out;
  }

  // Whether an answer as of now would read more blocks than it may.
  bool reads_too_much() const { return reads_too_much_; }
  // Whether a least or greatest value went that those of all stretches may tell.
  bool asks_all_stretches() const { return state_.out.extreme_went && changed_.are_all; }
  // Whether it may be answered as of the fit, where it is not as of now.
  bool has_consent() const { return consented_; }

 private:
  void answer() {
    if (state_.out.outcome != PlainOutcome::answered || !box_.read_bounds()) return;
    if (goes_to_minute_) box_.go_to_minute();
    if (is_mostly_beyond() || !box_.read_passages()) return;
    if (plan_.of_words)
      answer_words();
    else if (may_have_nulls())
      (void)refuse(PlainOutcome::nulls);
    else if (plan_.with_nulls != 0 && by_column_ && rows_.options.changed_rows >= 0.5)
      (void)refuse(PlainOutcome::new_groups);  // that of NULL
    else if (density_.has_groups())
      answer_groups();
    else
      answer_all();
  }

  // Blocks that changed and are not read are why an answer is not for certain.
  void tell_of_unread() {
    const PlainOutcome why = state_.out.outcome;
    if (changed_.unread == 0 || state_.asked.rest->most_blocks() == 0 ||
        (why != PlainOutcome::inaccurate && why != PlainOutcome::unsure &&
         why != PlainOutcome::new_groups && why != PlainOutcome::nulls))
      return;
    state_.out.outcome = PlainOutcome::unproven;
    const PlainRest& rest = *state_.asked.rest;
    state_.out.detail =
        rest.is_dear()
            ? psprintf("reading %.0f blocks that changed may cost more than the exact plan",
                       changed_.unread)
            : psprintf(
                  "%.0f blocks changed, and at most %.0f are read "
                  "(\"kde_aqp.approximate_scan_size\")",
                  changed_.unread, rest.most_blocks());
  }

  bool is_as_of_then() const { return mode_ == Mode::as_of_then; }
  bool refuse(PlainOutcome why) { return state_.refuse(why); }

  bool open() {
    const CachedDensity cached =
        plan_.demanded ? cached_density(plan_.key, &fit_) : density_if_there(plan_.key, &fit_);
    if (cached.value == nullptr)
      return refuse(fit_.redefined ? PlainOutcome::other_shape : PlainOutcome::gone);
    if (!has_settings(cached.settings)) return refuse(PlainOutcome::other_settings);
    if ((fit_.elsewhere || fit_.other) && !plan_.demanded) return refuse(PlainOutcome::stale);
    // Open expressions, values that buckets are compared with, types of words and of groups' keys, and
    // blocks that are read may have functions that ask for other densities.
    hold(cached);
    if (!is_fresh(cached)) return false;
    return look_at(cached.value);
  }

  bool look_at(const struct varlena* value) {
    density_ = cached_any_density(value);
    rows_.look_at(density_);
    if (density_.columns() != plan_.key.columns || density_.measures() < plan_.key.measures ||
        density_.has_groups() != (plan_.key.groups > 0) || plan_.of_words != density_.is_of_words())
      return refuse(PlainOutcome::other_shape);
    return true;
  }

  // What changed since the fit, and whether the answer may be as of now, or of then. A function
  // demands what is answered within what is known.
  bool is_fresh(const CachedDensity& cached) {
    rows_.options = state_.asked.interval;
    const Freshness freshness = freshness_of(fit_);
    // Of other leaves than the plan's: whatever was judged under the same snapshot.
    const bool is_of_others = !plan_.demanded && freshness.judgement.leaves != plan_.leaves;
    const bool is_unknown = freshness.judgement.changed == Changed::unknown || is_of_others;
    is_proven_ = !is_unknown && !is_as_of_then();
    state_.out.as_of = freshness.as_of;
    state_.out.changed_rows =
        is_unknown ? std::numeric_limits<double>::infinity() : freshness.judgement.rows;
    if (plan_.demanded) {
      const double changed = rows_changed_since(fit_);
      if (std::isfinite(state_.asked.error)) {
        state_.out.detail = why_unproven(fit_);
        if (state_.out.detail != nullptr) return refuse(PlainOutcome::unproven);
        // Where it matters, of what its caller does not count himself.
        if (changed > 0 && rows_.options.changed_rows == 0 && !is_unknown && reads_rest(cached))
          return true;
      }
      rows_.options.changed_rows = std::max(rows_.options.changed_rows, changed);
      return true;
    }
    consented_ = freshness.consented && !state_.asked.own_changes &&
                 (is_unknown || freshness.judgement.changed != Changed::nothing);
    state_.out.as_of_then = is_as_of_then();
    if (is_as_of_then()) return consented_ || refuse(PlainOutcome::unproven);
    if (is_unknown) {
      state_.out.detail =
          psprintf("what changed since the fit is not known: %s",
                   freshness.judgement.changed == Changed::unknown
                       ? freshness.judgement.why
                       : "tables were attached, detached, made or dropped beside the statement");
      return refuse(PlainOutcome::unproven);
    }
    if (state_.out.changed_rows > 0 && !reads_rest(cached) && state_.asked.own_changes)
      return refuse(PlainOutcome::own_changes);
    rows_.options.changed_rows = std::max(rows_.options.changed_rows, state_.out.changed_rows);
    return true;
  }

  // And of each that changed what it had; of all, where those that did not are asked.
  bool find_changed_stretches(const CachedDensity& cached) {
    const Oid extension = hold_extension_at_once();
    if (!OidIsValid(extension)) return false;
    bool found = false;
    const auto read = [&](const StretchReader& kept) {
      found = find_changed(plan_.key.relation, cached.proof, kept, state_.asked.rest->most_blocks(),
                           Moved::unchanged, &changed_);
      had_ = static_cast<struct varlena**>(
          palloc0(sizeof(struct varlena*) * static_cast<Size>(changed_.n + 1)));
      for (int i = 0; found && i < changed_.n; ++i)
        if (changed_.is_changed(i) || (mode_ == Mode::by_stretches && changed_.is_kept(i)))
          had_[i] = kept.density(changed_.number[i]);
    };
    read_stretches(cached.version, fit_.density_id, GetActiveSnapshot(), read);
    release_extension(extension);
    return found;
  }

  // Whether the rows that changed are read, if there are any.
  bool reads_rest(const CachedDensity& cached) {
    if (state_.asked.rest == nullptr || !find_changed_stretches(cached) ||
        changed_.leaves != plan_.leaves)
      return false;
    if (changed_.any()) tally_ = &own_tally_;
    state_.out.changed_rows = 0;
    return true;
  }

  void answer_what_did_not_change() {
    const bool by_stretches = mode_ == Mode::by_stretches;
    if (!by_stretches) answer();
    for (int i = 0; i < changed_.n && is_answered(); ++i) {
      Stretch& changed = changed_.stretch[i];
      bool is_touched = by_stretches || changed.runs == NIL;
      if (had_[i] != nullptr && changed.changed != by_stretches) {
        PlainAnswering stretch(*this, had_[i], !by_stretches);
        is_touched |= stretch.add_to_tally();
        state_.out.cells += stretch.answers().cells;
        state_.out.outcome = stretch.answers().outcome;
        state_.out.detail = stretch.answers().detail;
      }
      if (!changed.changed || changed.gone) continue;
      to_read_ = is_touched ? lappend(to_read_, &changed) : list_concat(to_read_, changed.runs);
    }
  }

  // An expression may raise an error of a group that there is no more, of a part that may have a row
  // and has none, or of rows that another condition leaves out first: whether it does of a row is for
  // the exact plan to find out.
  template <typename Work>
  void try_to(Work work) {
    if (!values_.any()) {
      work();
    } else if (!may_undo() || !without_error(work)) {
      state_.out.detail = "an expression raises an error of a group or a part";
      (void)refuse(PlainOutcome::unsure);
    }
  }

  void answer_together_with_rest() {
    try_to([this] { answer_what_did_not_change(); });
    for (const Stretch* stretch : of_list<const Stretch>(to_read_))
      state_.out.blocks_read += blocks_of(*stretch);
    reads_too_much_ = is_answered() && state_.out.blocks_read > state_.asked.rest->most_blocks();
    if (reads_too_much_) {
      state_.out.detail = psprintf(
          "changed blocks lie all over the table: %.0f blocks would be read, of at most "
          "%.0f; a refresh takes them in",
          state_.out.blocks_read, state_.asked.rest->most_blocks());
      (void)refuse(PlainOutcome::unproven);
    }
    if (!is_answered()) return;
    state_.asked.rest->read(plan_, state_.asked.dimensions, to_read_,
                            [this](const RestRow& row) { tally_->add(row); });
    List* entries = tally_->entries();
    tally_ = nullptr;
    for (const PlainTally::Entry* entry : of_list<const PlainTally::Entry>(entries)) {
      bool good = true;
      if (!plan_.is_of_all(entry->set) && !is_row(entry->there, &good)) {
        if (!good) return;
        continue;
      }
      if (!put_all(*entry, entry->there)) return;
    }
  }

  bool is_answered() const { return state_.out.outcome == PlainOutcome::answered; }
  bool is_inaccurate() const { return state_.out.outcome == PlainOutcome::inaccurate; }

  // As of then, a range more than half of which lies beyond the values that there were: what is
  // there now came since.
  bool is_mostly_beyond() {
    if (!is_as_of_then()) return false;
    for (int i = 0; i < density_.columns(); ++i) {
      const kde::Header& h = *density_.column(i);
      const kde::Range& r = rows_.range[i];
      if (r.empty || h.words != 0 || !(h.finite_rows() > 0)) continue;
      const bool no_lower = r.lower_unbounded || std::isinf(r.lower);
      const bool no_upper = r.upper_unbounded || std::isinf(r.upper);
      const double lower = no_lower ? h.min : r.lower, upper = no_upper ? h.max : r.upper;
      const double inside = std::min(upper, h.max) - std::max(lower, h.min);
      if (inside < 0 || inside < (upper - lower) / 2) {
        (void)refuse(PlainOutcome::beyond);
        return true;
      }
    }
    return false;
  }

  // Takes the rows changed in, and puts the answers into the row; or adds them to a tally.
  bool put_all(const PlainTally::Entry& of, const kde::Interval& there) {
    PlainTotal* answers = of.answers;
    if (tally_ != nullptr) {
      tally_->add(of, there, answers, out_);
      any_row_ |= there.upper >= 0.5;
      for (int k = 0; k < plan_.aggregates; ++k) any_row_ |= answers[k].total.count.upper >= 0.5;
      return true;
    }
    for (int k = 0; k < plan_.aggregates; ++k) {
      answers[k].total = answers[k].total.as_of_now();
      any_row_ |= answers[k].total.count.upper >= 0.5;
    }
    if (plan_.demanded) return datums_.note_intervals(answers);
    for (int k = 0; k < plan_.aggregates; ++k)
      if (!datums_.put(k, answers[k], of.set, of.row) && !is_inaccurate()) return false;
    if (is_answered()) state_.out.rows = lappend(state_.out.rows, of.row);
    return true;
  }

  // Whether the answer has a row where there are so many. False: not by this density, or not for
  // certain, which is refused.
  bool is_row(const kde::Interval& there, bool* good) {
    *good = tally_ != nullptr || there.upper < 0.5 || there.lower >= 0.5 ||
            refuse(PlainOutcome::unsure);
    return *good && !(there.upper < 0.5);
  }

  // The parts of the box, of which all groups' rows are. False: not by this density.
  bool begin_parts(double groups) {
    if (!box_.read_parts()) return false;
    values_.begin_parts(box_.parts);
    groups_left_ = groups;
    stretches_ = box_.parts;
    may_be_alike_ = values_.any() && values_.may_be_alike() && !rows_.listed;
    if (!may_be_alike_ && groups * box_.parts > state_.asked.most_parts) return refuse_parts();
    end_ = static_cast<int*>(palloc(sizeof(int) * static_cast<Size>(box_.parts + 1)));
    for (int i = 0; i < box_.parts; ++i) end_[i] = i + 1;
    key_ = state_.new_row();
    return true;
  }

  // Parts one after the other of which all is alike, as groups before have shown, are one. False: there
  // are too many still.
  bool join_parts() {
    if (may_be_alike_ && parts_met_ != values_.parts_met()) {
      parts_met_ = values_.parts_met();
      for (int i = 0; i < box_.parts; i = end_[i])
        while (end_[i] < box_.parts && values_.are_alike(i, end_[i])) end_[i] = end_[end_[i]];
      stretches_ = 0;
      for (int i = 0; i < box_.parts; i = end_[i]) ++stretches_;
    }
    // Some groups show how many are.
    constexpr double kShown = 0.1;
    const double most = state_.asked.most_parts;
    asked_ += stretches_;
    --groups_left_;
    return !(asked_ > kShown * most && asked_ + groups_left_ * stretches_ > most) || refuse_parts();
  }
  bool refuse_parts() {
    if (state_.asked.most_parts < kMostAsked)
      state_.out.detail = "asking about its groups and buckets may cost more than the exact plan";
    return refuse(PlainOutcome::buckets);
  }

  // Buckets within cells of which nobody knows whether there is a row in one: the first show it of all. Of
  // groups that are added up another may have one for certain.
  bool is_hopeless(const kde::Interval& there) {
    constexpr int kShown = 64;
    const bool is_by_all = plan_.by_groups == (1 << plan_.groups) - 1;
    if (!is_whole_ || !by_column_ || plan_.others == 0 || !is_by_all) return false;
    any_sure_ = any_sure_ || there.lower >= 0.5;
    if (any_sure_ || ++unsure_ < kShown) return false;
    state_.out.detail = "buckets are shorter than the cells that the density has";
    return !refuse(PlainOutcome::unsure);
  }

  // From part i on those that are one.
  kde::Range range_from(int i) const {
    kde::Range out = box_.part[i].range;
    const kde::Range& last = box_.part[end_[i] - 1].range;
    out.upper = last.upper;
    out.upper_unbounded = last.upper_unbounded;
    out.upper_inclusive = last.upper_inclusive;
    return out;
  }

  // Adds those of a group, or of all, to the rows of the answer that they are of. False: not by this
  // density.
  bool add_parts(const PlainRow* key) { return !values_.begin_group(key) || add_each_part(key); }

  bool add_each_part(const PlainRow* key) {
    if (key != nullptr) {
      std::copy_n(key->values, plan_.groups, key_->values);
      std::copy_n(key->nulls, plan_.groups, key_->nulls);
    }
    const bool counts_rows = plan_.is_grouped() || plan_.sets > 0 || values_.any();
    // One after the other of which all is alike are asked about at once: their errors are then one's.
    const bool joins = values_.any() && !by_column_ && !rows_.listed;
    kde::Range joined;
    bool any = false;
    if (!join_parts()) return false;
    state_.out.cells += stretches_;
    for (int i = 0; i < box_.parts; i = end_[i]) {
      CHECK_FOR_INTERRUPTS();
      if (values_.is_left_out(i)) {
        if (any && !add_joined(joined)) return false;
        any = false;
        continue;
      }
      const kde::Range range = range_from(i);
      rows_.range[0] = range;
      kde::Interval there = {0, 0, 0};
      if (counts_rows) {
        there = rows_.rows();
        kde::Interval now = there;
        rows_.change(range, &now);
        if (now.upper < 0.5) continue;
        if (is_hopeless(there)) return false;
      }
      const bool is_of = values_.begin_part(i, box_.part[i].value, key_);
      if (!joins) {
        if (is_of && !add_part(range, there, values_.note())) return false;
        continue;
      }
      if (is_of && any && values_.is_as_before()) {
        joined.upper = range.upper;
        joined.upper_unbounded = range.upper_unbounded;
        joined.upper_inclusive = range.upper_inclusive;
        continue;
      }
      if (any && !add_joined(joined)) return false;
      any = is_of;
      joined = range;
      if (is_of) (void)values_.note();
    }
    return !any || add_joined(joined);
  }

  bool add_joined(const kde::Range& range) {
    rows_.range[0] = range;
    return add_part(range, rows_.rows(), values_.noted());
  }

  bool add_part(const kde::Range& range, const kde::Interval& there, const PartNotes* notes) {
    for (int set = 0; set < Max(plan_.sets, 1); ++set) {
      PlainTally::Entry* row = rows_of_answer_.entry_of(*key_, set);
      kde::add_up(&row->there, there);
      take_in(range, &row->around);
      if (!add_all(there, notes, row->answers)) return false;
    }
    return list_length(rows_of_answer_.entries()) <= kMostRows || refuse(PlainOutcome::buckets);
  }

  bool add_all(const kde::Interval& there, const PartNotes* notes, PlainTotal* answers) {
    for (int k = 0; k < plan_.aggregates; ++k) {
      if (notes[k].has_rows) {
        if (!rows_.add(plan_.aggregate[k], &answers[k])) return false;
        if (!notes[k].value.isnull)
          answers[k].its_differing(plan_.aggregate[k])->add(notes[k].value.value, there, false);
      } else if (notes[k].has_zeros) {
        kde::add_up(&answers[k].zeros, there);
      }
    }
    return true;
  }

  static void take_in(const kde::Range& part, kde::Range* around) {
    if (around->empty) {
      *around = part;
      return;
    }
    around->lower_unbounded |= part.lower_unbounded;
    around->upper_unbounded |= part.upper_unbounded;
    around->lower = std::min(around->lower, part.lower);
    around->upper = std::max(around->upper, part.upper);
    around->lower_inclusive = around->upper_inclusive = true;
  }

  // What the rows of the answer come to.
  void put_rows() {
    // All together, also of no row.
    for (int set = 0; set < Max(plan_.sets, 1); ++set)
      if (plan_.is_of_all(set)) (void)rows_of_answer_.entry_of(*state_.new_row(), set);
    for (const PlainTally::Entry* row :
         of_list<const PlainTally::Entry>(rows_of_answer_.entries())) {
      for (int k = 0; k < plan_.aggregates; ++k) rows_.settle(plan_.aggregate[k], &row->answers[k]);
      const kde::Range& range = by_column_ ? row->around : rows_.before_passages;
      kde::Interval there = row->there;
      for (int k = 0; rows_.may_be_new && k < plan_.aggregates; ++k)
        row->answers[k].total.changed.take_in(rows_.changes_by_new(plan_.aggregate[k], range));
      if (!plan_.is_of_all(row->set)) {
        rows_.change(range, &there);
        bool good;
        if (!is_row(there, &good)) {
          if (!good) return;
          continue;
        }
      }
      if (!put_all(*row, there)) return;
    }
  }

  bool may_have_nulls() const { return may_have_nulls_in(density_, plan_.with_nulls); }

  // Of a column as it is now; an expression's type is that of the query's.
  bool are_current_words() const {
    const bool is_column = plan_.key.column[0].attnum != 0;
    const Form_pg_attribute of = TupleDescAttr(state_.desc(), plan_.first);
    int32 typmod;
    return are_words_of(is_column ? key_column_type(plan_.key, 0, &typmod) : of->atttypid,
                        is_column ? key_column_collation(plan_.key, 0) : of->attcollation,
                        density_.one_column);
  }

  // Of a category: the values asked for at once, or where something is of them, value by value.
  void answer_words() {
    const bool by_word = plan_.by_groups != 0 || values_.has_keys();
    if (!by_word) {
      if (may_have_nulls())
        (void)refuse(PlainOutcome::nulls);
      else
        answer_all();
      return;
    }
    if (!are_current_words()) {
      (void)refuse(PlainOutcome::other_shape);
      return;
    }
    const kde::WordsView words(density_.one_column);
    if (words.others() > 0) {
      (void)refuse(PlainOutcome::rest);
      return;
    }
    if (!knows_groups(kde::most_unseen(words.header(), rows_.options.confidence))) return;
    if (may_have_nulls() && values_.begin_group(state_.new_row())) {
      (void)refuse(PlainOutcome::nulls);
      return;
    }
    if (begin_parts(words.words()) && add_words(words)) put_rows();
  }

  // Whether all groups are known that the answer needs: those that a sample did not meet, and where
  // it is by them those that came since. Else rows of these are among those changed.
  bool knows_groups(double unseen) {
    if (is_by_keys() && rows_.options.changed_rows >= 0.5) return refuse(PlainOutcome::new_groups);
    rows_.may_be_new = true;
    return !(unseen >= 0.5) || refuse(PlainOutcome::unseen);
  }

  bool is_by_keys() const {
    const OpenExpressions& open = *state_.asked.open;
    bool is = plan_.by_groups != 0;
    for (int i = open.conditions; i < open.conditions + open.others; ++i)
      is = is || open.expression[i].of_groups;
    for (int k = 0; k < plan_.aggregates; ++k)
      is = is || (open.values[k] >= 0 && open.expression[open.values[k]].of_groups);
    return is;
  }

  bool add_words(const kde::WordsView& words) {
    const std::span<const std::uint32_t> listed =
        box_.words_set ? rows_.words[0]->ranks : std::span<const std::uint32_t>();
    const auto n = box_.words_set ? listed.size() : static_cast<std::size_t>(words.words());
    auto* ranks = static_cast<std::uint32_t*>(palloc(sizeof(std::uint32_t) * (n + 1)));
    std::size_t wanted = 0;
    kde::WordSet set;
    rows_.words[0] = &set;
    // What conditions leave is asked about at once.
    const bool at_once =
        plan_.by_groups == 0 && state_.asked.open->all == state_.asked.open->conditions;
    for (std::size_t i = 0; i < n; ++i) {
      CHECK_FOR_INTERRUPTS();
      const std::uint32_t rank = box_.words_set ? listed[i] : static_cast<std::uint32_t>(i);
      set = {{&rank, 1}, 0};
      // A condition may raise an error of a value that there is no more.
      if (!may_have_rows()) continue;
      PlainRow* key = state_.new_row();
      if (!read_word_key(&state_, words.word(rank), key)) return false;
      if (!at_once && !add_parts(key)) return false;
      if (at_once && values_.begin_group(key)) ranks[wanted++] = rank;
    }
    set = {{ranks, wanted}, 0};
    return !at_once || add_each_part(nullptr);
  }

  void answer_all() {
    if (begin_parts(1) && add_parts(nullptr)) put_rows();
  }

  bool may_have_rows() {
    for (int i = 0; i < box_.parts; ++i) {
      rows_.range[0] = box_.part[i].range;
      if (!(rows_.rows().upper < 0.5)) return true;
    }
    return false;
  }

  void answer_groups() {
    kde::GroupsView groups(density_.one_column);
    if (groups.header().rest > 0) {
      (void)refuse(PlainOutcome::rest);
      return;
    }
    if (!knows_groups(kde::most_unseen(groups.header(), rows_.options.confidence)) ||
        !begin_parts(groups.header().groups))
      return;
    List* keys = read_keys(&state_, density_.one_column);
    if (!is_answered()) return;
    kde::GroupView group;
    for (int k = 0; groups.next(&group); ++k) {
      CHECK_FOR_INTERRUPTS();
      rows_.look_at({group.density(), nullptr, {}});
      // A condition may raise an error of a group that has no row in the range.
      if (may_have_rows() && !add_parts(static_cast<const PlainRow*>(list_nth(keys, k)))) return;
    }
    put_rows();
  }

  PlainState state_;
  const PlainPlan& plan_ = state_.plan;
  const bool by_column_ = state_.plan.is_by_column();
  const Mode mode_ = Mode::now;
  const bool is_whole_ = true;  // not of a stretch alone
  bool consented_ = false;
  bool is_proven_ = false;       // what changed since the fit is known
  bool goes_to_minute_ = false;  // query_box.h
  bool any_row_ = false;         // of those answered
  bool reads_too_much_ = false;
  PlainTally rows_of_answer_{state_};
  PartValues values_{state_};
  PlainRow* key_ = nullptr;  // what the query is grouped by, of a part of a group
  // Of parts that are one the first has where the next begins.
  int* end_ = nullptr;
  bool may_be_alike_ = false;
  int parts_met_ = 0, stretches_ = 0;
  double asked_ = 0, groups_left_ = 0;
  int unsure_ = 0;
  bool any_sure_ = false;
  PlainTally own_tally_{state_};
  PlainTally* tally_ = nullptr;  // null: answers are rows at once
  bool out_ = false;             // they are taken out of it
  ChangedStretches changed_;
  struct varlena** had_ =
      nullptr;           // densities of those that changed; null: there is nothing in one
  List* to_read_ = NIL;  // Stretch*
  kde::AnyDensity density_;
  AnsweringFit fit_;
  PlainRows rows_{&state_};
  PlainBox box_{&state_, &rows_};
  PlainDatums datums_{&state_, density_};
};

}  // namespace

double most_plain_rows(const PlainQuery& query) {
  if (query.others != NIL) return kMostRows;
  if (query.by_groups == 0) return 1;
  const struct varlena* value =
      ActiveSnapshotSet() ? density_if_there(query.key, nullptr).value : nullptr;
  if (value == nullptr) return kMostRows;
  const kde::AnyDensity density = cached_any_density(value);
  if (query.of_words && density.is_of_words()) return kde::WordsView(density.one_column).words();
  return density.has_groups() ? kde::GroupsView(density.one_column).header().groups : kMostRows;
}

bool may_have_nulls(const DensityKey& key, int columns) {
  const struct varlena* value =
      ActiveSnapshotSet() ? density_if_there(key, nullptr).value : nullptr;
  if (value == nullptr) return true;
  const kde::AnyDensity density = cached_any_density(value);
  return density.columns() != key.columns || may_have_nulls_in(density, columns);
}

PlainAnswers plain_answers(const PlainAsked& asked) {
  using Mode = PlainAnswering::Mode;
  PlainAnswering now(asked, Mode::now);
  PlainAnswers answers = now.run();
  if (now.reads_too_much()) {
    PlainAsked without = asked;
    without.rest = nullptr;
    PlainAnswers out = plain_answers(without);
    if (out.outcome == PlainOutcome::new_groups || out.outcome == PlainOutcome::inaccurate)
      out.detail = answers.detail;
    return out;
  }
  if (now.asks_all_stretches()) {
    PlainAnswering by_stretches(asked, Mode::by_stretches);
    answers = by_stretches.run();
  }
  if (answers.outcome == PlainOutcome::answered || !now.has_consent()) return answers;
  PlainAnswering then(asked, Mode::as_of_then);
  return then.run();
}

}  // namespace kde_pg
