// What kde_advise() knows of statements and of densities that would answer them. All of it lies in
// one memory context.
#pragma once

#include "pg/advise/advise_ends.h"
#include "pg/catalog/density_key.h"

extern "C" {
#include "nodes/bitmapset.h"
}

namespace kde_pg {

// A density that could be fitted, or one that is and only lacks its owner's consent.
struct AdvisedDensity {
  DensityKey key;  // without measures and trees
  const char* identity;
  uint32 hash;  // of it
  uint32 kin;   // the same of all that differ in groups alone
  bool fitted;
  AdvisedDensity* own;  // of its column alone, of one with groups; null: none is asked for
  bool own_is_fitted;   // that one, which a fit by groups may then leave as it is
  const AdvisedDensity* stored_by;  // of the chosen: the first fit that stores this one; null: none
  List* measures;   // KeyColumn*, that statements ask for; sets of them are by their index
  Bitmapset* kept;  // of the same that is fitted now: a fit must have them, too
  List* within;     // AdvisedDensity* by fewer groups, whose questions it answers, too

  // For the estimates (advise_cost.h).
  double rows, pages;  // of the table
  double distinct;     // values of the column; of several columns 0
  double hours;        // that its times are of; 0: they are none, or it is not known
  double groups;       // 1: none
  double by_distinct[kde::kMaxGroupBy];  // values of each that groups are by
  bool of_words, readable;
  bool guessed;  // the table was never analysed

  // The choice (advise_choice.h).
  int rank;          // 0: not chosen
  List* uses;        // AdvisedDemand*, that have an option of it
  double potential;  // milliseconds of what is open that it would answer, at most
  Bitmapset* chosen_measures;
  bool serves, serves_own;  // statements by itself, and by its column's own density
  double statements, ms, calls;
  double error;            // of the least accurate answer that is expected
  bool error_is_of_tenth;  // of ranges of a tenth of the rows, as theirs are not known
};

// What is asked of a density of one column.
struct AdvisedRange {
  double share;   // of the rows that the range takes; 1: all
  bool buckets;   // of the column, in GROUP BY
  bool sums;      // or means, rather than counts alone
  bool extremes;  // the column's least or greatest value
  AskedEnds ends;
};

// That it would answer a grouped query of a statement, with these measures.
struct AdvisedOption {
  AdvisedDensity* density;
  Bitmapset* measures;
  double error;  // relative, half of the interval that is expected; 0: exact
  bool error_is_of_tenth;
  bool by_more;  // whether a density by more groups would do, too, if it is as accurate
  AdvisedRange asked;
};

// A grouped query of one table within a statement.
struct AdvisedDemand {
  Oid relation;
  List*
      dimensions;  // OIDs of tables that it is joined with, whose rows a density's answer reads, too
  double pages;
  Bitmapset* columns;  // of the relation that it uses, offset by FirstLowInvalidHeapAttributeNumber
  List* options;       // AdvisedOption*
  bool answered;       // by a density that there is
  const char* why;     // there is no option
  AdvisedDensity* by;  // chosen
  double ms;           // its part of the statement's
  int round;           // in which it was looked at last
};

struct AdvisedStatement {
  const char* text;  // "": the caller may not see it
  int64 id;          // of pg_stat_statements; 0: not known
  Oid user;          // whose it is; InvalidOid: the caller's
  double ms, calls;
  List* demands;             // AdvisedDemand*
  const char* why;           // no density answers it; null: some may
  const AdvisedDensity* by;  // the last of the chosen that it needs; null: none
};

struct Advice {
  MemoryContext memory;
  List* statements = NIL;  // AdvisedStatement*
  List* densities = NIL;   // AdvisedDensity*
  List* tables = NIL;      // what advise_demand.cpp knows of tables
};

// An AdvisedDensity of a key, found or new. key: of any memory; measures are left out.
AdvisedDensity* advised_density(Advice* advice, const DensityKey& key, bool fitted);
// The index of a measure of it.
int advised_measure(Advice* advice, AdvisedDensity* density, const KeyColumn& measure);

}  // namespace kde_pg
