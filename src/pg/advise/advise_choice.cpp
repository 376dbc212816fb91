// See advise_choice.h. A fit by groups stores the density of its column, too, so that both are one
// proposal with one set of measures: as many as a density may have, and groups leave room for.
#include "pg/advise/advise_choice.h"

#include "pg/advise/advise_cost.h"
#include "pg/advise/advise_union.h"
#include "pg/base/options.h"

namespace kde_pg {

namespace {

// Densities that answer so much less than the best are as good, where they are smaller.
constexpr double kAboutAsMuch = 0.98;

// By more groups cells may be longer.
bool is_as_accurate(const AdvisedOption& option, const AdvisedDensity& density, int measures) {
  return advised_error(density, measures, option.asked) <= option_approximate_error;
}

// A fit by groups leaves the column's own density that another has stored with other measures.
bool is_fit_of(const AdvisedOption& option, const AdvisedDensity& density) {
  if (option.density == &density ||
      (option.by_more && list_member_ptr(density.within, option.density)))
    return true;
  const AdvisedDensity* own = density.own;
  return own == option.density && !density.own_is_fitted &&
         (own->stored_by == nullptr || own->stored_by == &density);
}

// The measures of an option, in the numbers of a density that answers it.
Bitmapset* measures_in(Advice* advice, const AdvisedOption& option, AdvisedDensity* density) {
  if (option.density == density) return option.measures;
  Bitmapset* out = nullptr;
  for (int i = -1; (i = bms_next_member(option.measures, i)) >= 0;)
    out = bms_add_member(
        out,
        advised_measure(advice, density,
                        *static_cast<const KeyColumn*>(list_nth(option.density->measures, i))));
  return out;
}

// What a density would answer of what is left, with the measures that this takes.
struct Gain {
  double ms = 0;
  int measures = 0;
};

class Choice {
 public:
  explicit Choice(Advice* advice)
      : advice_(advice),
        scratch_(AllocSetContextCreate(advice->memory, "kde_aqp advice", ALLOCSET_DEFAULT_SIZES)) {}

  List* run(double least_ms) {
    by_time();
    index_uses();
    add_unions();
    find_within();
    List* chosen = NIL;
    for (;;) {
      CHECK_FOR_INTERRUPTS();
      AdvisedDensity* best = next(least_ms);
      if (best == nullptr) break;
      take(best);
      chosen = lappend(chosen, best);
    }
    chosen = without_spare(chosen);
    ListCell* cell;
    foreach (cell, chosen)
      static_cast<AdvisedDensity*>(lfirst(cell))->rank = foreach_current_index(cell) + 1;
    account();
    return chosen;
  }

 private:
  // The longest first, so that a density has the measures that they need.
  void by_time() {
    const auto longer = [](const ListCell* a, const ListCell* b) {
      const double x = static_cast<const AdvisedStatement*>(lfirst(a))->ms;
      const double y = static_cast<const AdvisedStatement*>(lfirst(b))->ms;
      return x < y ? 1 : x > y ? -1 : 0;
    };
    list_sort(advice_->statements, longer);
  }

  static bool is_open(const AdvisedDemand& demand) {
    return !demand.answered && demand.by == nullptr;
  }

  // Measures that an option adds are taken if there is room for them.
  bool admit(const AdvisedOption& option, AdvisedDensity* density, Bitmapset** measures) {
    if (!is_fit_of(option, *density)) return false;
    Bitmapset* all = bms_union(*measures, measures_in(advice_, option, density));
    const int n = bms_num_members(all);
    const bool by_fewer =
        density->key.groups > option.density->key.groups && option.density->key.groups > 0;
    if (by_fewer && !is_as_accurate(option, *density, n)) return false;
    if (n > kde::kMaxMeasures || !fits_whole(*density, n)) return bms_is_subset(all, *measures);
    *measures = all;
    return true;
  }

  const AdvisedOption* admitted(const AdvisedDemand& demand, AdvisedDensity* density,
                                Bitmapset** measures) {
    for (const AdvisedOption* option : of_list<const AdvisedOption>(demand.options)) {
      if (admit(*option, density, measures)) return option;
    }
    return nullptr;
  }

  // What each density would answer, the longest first.
  void index_uses() {
    for (AdvisedStatement* statement : of_list<AdvisedStatement>(advice_->statements)) {
      if (statement->why != nullptr) continue;
      for (AdvisedDemand* demand : of_list<AdvisedDemand>(statement->demands)) {
        demand->ms = statement->ms / list_length(statement->demands);
        for (const AdvisedOption* option : of_list<const AdvisedOption>(demand->options)) {
          AdvisedDensity* density = option->density;
          if (density->uses == NIL || llast(density->uses) != demand)
            density->uses = lappend(density->uses, demand);
        }
      }
    }
  }

  // One by the slicers of several panels answers them all: greedily, of what takes longest, as many
  // as fit.
  void add_unions() {
    find_potential();
    List* single = list_copy(advice_->densities);
    const auto longer = [](const ListCell* a, const ListCell* b) {
      const double x = static_cast<const AdvisedDensity*>(lfirst(a))->potential;
      const double y = static_cast<const AdvisedDensity*>(lfirst(b))->potential;
      return x < y ? 1 : x > y ? -1 : 0;
    };
    list_sort(single, longer);
    List* unions = NIL;
    const auto is_open = [&](const AdvisedDensity& density) {
      bool out = density.potential > 0;
      for (const AdvisedDensity* all : of_list<const AdvisedDensity>(unions))
        out = out && !is_within(density, *all);
      return out;
    };
    for (const AdvisedDensity* density : of_list<const AdvisedDensity>(single)) {
      CHECK_FOR_INTERRUPTS();
      if (!is_open(*density)) continue;
      AdvisedDensity* all = nullptr;
      for (const AdvisedDensity* other : of_list<const AdvisedDensity>(single)) {
        if (!is_open(*other)) continue;
        AdvisedDensity* more = union_of(advice_, all != nullptr ? *all : *density, *other);
        if (more != nullptr) all = more;
      }
      if (all != nullptr) unions = lappend(unions, all);
    }
  }

  // Statements that several such densities answer are those of one.
  void find_within() {
    for (AdvisedDensity* more : of_list<AdvisedDensity>(advice_->densities)) {
      CHECK_FOR_INTERRUPTS();
      for (AdvisedDensity* density : of_list<AdvisedDensity>(advice_->densities))
        if (is_within(*density, *more)) more->within = lappend(more->within, density);
    }
  }

  // Calls visit for each open demand that a density would answer, with measures for which there is
  // room.
  template <typename Visit>
  Bitmapset* admit_all(AdvisedDensity* density, Visit visit) {
    Bitmapset* measures = density->kept;
    ++round_;
    List* answered = lcons(density, list_copy(density->within));
    if (density->own != nullptr) answered = lappend(answered, density->own);
    for (const AdvisedDensity* of : of_list<const AdvisedDensity>(answered)) {
      for (AdvisedDemand* demand : of_list<AdvisedDemand>(of->uses)) {
        if (!is_open(*demand) || demand->round == round_) continue;
        const AdvisedOption* option = admitted(*demand, density, &measures);
        if (option == nullptr) continue;
        demand->round = round_;
        visit(demand, *option);
      }
    }
    return measures;
  }

  Gain gain_of(AdvisedDensity* density) {
    Gain out;
    MemoryContext caller = MemoryContextSwitchTo(scratch_);
    const Bitmapset* measures = admit_all(
        density, [&](const AdvisedDemand* demand, const AdvisedOption&) { out.ms += demand->ms; });
    out.measures = bms_num_members(measures);
    MemoryContextSwitchTo(caller);
    MemoryContextReset(scratch_);
    return out;
  }

  // At most, as if there were room for all measures: in one pass, as there may be many densities.
  void find_potential() {
    for (AdvisedDensity* density : of_list<AdvisedDensity>(advice_->densities)) {
      density->potential = 0;
      for (const AdvisedDemand* demand : of_list<const AdvisedDemand>(density->uses)) {
        if (is_open(*demand)) density->potential += demand->ms;
      }
    }
  }

  static double potential_of(const AdvisedDensity& density) {
    double out = density.potential + (density.own != nullptr ? density.own->potential : 0);
    for (const AdvisedDensity* less : of_list<const AdvisedDensity>(density.within))
      out += less->potential;
    return out;
  }

  AdvisedDensity* next(double least_ms) {
    find_potential();
    AdvisedDensity* best = nullptr;
    double best_ms = 0;
    double best_bytes = 0;
    for (AdvisedDensity* density : of_list<AdvisedDensity>(advice_->densities)) {
      CHECK_FOR_INTERRUPTS();
      const double most = potential_of(*density);
      if (density->serves || density->serves_own || !density->readable || !(most > 0) ||
          most < least_ms || most < best_ms * kAboutAsMuch)
        continue;
      const Gain gain = gain_of(density);
      if (!(gain.ms > 0) || gain.ms < least_ms) continue;
      const double bytes = density->fitted ? 0 : advised_bytes(*density, gain.measures);
      const bool more = gain.ms * kAboutAsMuch > best_ms;
      const bool as_much = gain.ms >= best_ms * kAboutAsMuch;
      if (best != nullptr && !more && !(as_much && bytes < best_bytes)) continue;
      best = density;
      best_ms = gain.ms;
      best_bytes = bytes;
    }
    return best;
  }

  void take(AdvisedDensity* density) {
    density->chosen_measures =
        admit_all(density, [density](AdvisedDemand* demand, const AdvisedOption& option) {
          serve(density, option, demand);
        });
    AdvisedDensity* own = density->own != nullptr ? density->own : density;
    if (own->stored_by == nullptr) own->stored_by = density;
    if (!density->serves_own) return;
    // Where that one is fitted by itself after all, it keeps what it has.
    for (int i = -1; (i = bms_next_member(density->chosen_measures, i)) >= 0;)
      own->kept = bms_add_member(
          bms_copy(own->kept),
          advised_measure(advice_, own,
                          *static_cast<const KeyColumn*>(list_nth(density->measures, i))));
  }

  static void serve(AdvisedDensity* density, const AdvisedOption& option, AdvisedDemand* demand) {
    demand->by = density;
    if (option.density == density->own)
      density->serves_own = true;
    else
      density->serves = true;
    const bool by_more =
        option.by_more && density != option.density && density != option.density->own;
    const double error =
        by_more ? advised_error(*density, bms_num_members(density->chosen_measures), option.asked)
                : option.error;
    if (error <= density->error) return;
    density->error = error;
    density->error_is_of_tenth = option.error_is_of_tenth;
  }

  // Those that came first may answer nothing that the later ones do not.
  List* without_spare(List* chosen) {
    for (int i = list_length(chosen) - 1; i >= 0; --i) {
      auto* density = static_cast<AdvisedDensity*>(list_nth(chosen, i));
      if (!move_all(chosen, density, false)) continue;
      (void)move_all(chosen, density, true);
      chosen = list_delete_nth_cell(chosen, i);
    }
    return chosen;
  }

  // Whether others answer all that one does; *move: they do from now on.
  bool move_all(List* chosen, const AdvisedDensity* from, bool move) {
    for (const AdvisedStatement* statement : of_list<AdvisedStatement>(advice_->statements)) {
      for (AdvisedDemand* demand : of_list<AdvisedDemand>(statement->demands)) {
        if (demand->by != from) continue;
        const AdvisedOption* option = nullptr;
        AdvisedDensity* to = another(chosen, from, *demand, &option);
        if (to == nullptr) return false;
        if (move) serve(to, *option, demand);
      }
    }
    return true;
  }

  AdvisedDensity* another(List* chosen, const AdvisedDensity* from, const AdvisedDemand& demand,
                          const AdvisedOption** option) {
    for (AdvisedDensity* density : of_list<AdvisedDensity>(chosen)) {
      if (density == from) continue;
      Bitmapset* measures = bms_copy(density->chosen_measures);
      *option = admitted(demand, density, &measures);
      if (*option != nullptr && bms_is_subset(measures, density->chosen_measures)) return density;
    }
    return nullptr;
  }

  // A statement is that of the last density that it waits for.
  void account() {
    for (AdvisedStatement* statement : of_list<AdvisedStatement>(advice_->statements)) {
      if (statement->why != nullptr) continue;
      AdvisedDensity* last = nullptr;
      bool answered = true;
      bool open = false;
      for (const AdvisedDemand* demand : of_list<const AdvisedDemand>(statement->demands)) {
        if (demand->answered) continue;
        answered = false;
        open = open || demand->by == nullptr;
        if (demand->by != nullptr && (last == nullptr || demand->by->rank > last->rank))
          last = demand->by;
      }
      if (answered) {
        statement->why = "a density answers it already";
      } else if (open) {
        statement->why = "a density for it would answer little else";
      } else {
        statement->by = last;
        last->statements += 1;
        last->ms += statement->ms;
        last->calls += statement->calls;
      }
    }
  }

  Advice* advice_;
  MemoryContext scratch_;  // of what is tried
  int round_ = 0;
};

}  // namespace

List* choose_densities(Advice* advice, double least_ms) {
  Choice choice(advice);
  return choice.run(least_ms);
}

}  // namespace kde_pg
