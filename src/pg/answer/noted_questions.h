// Questions that sessions have had answered by named densities, a few of them, kept in shared
// memory for the self-checks of the background worker (refresh/self_check.h). Only with
// kde_aqp.self_check_budget, where shared_preload_libraries names the library: one a statement and
// second of a backend at most, the last 64 of the server.
#pragma once

#include "pg/answer/moments.h"
#include "pg/base/options.h"

namespace kde_pg {

// A count, sum or mean over the rows in a range or box, or of one word of a category, in terms of
// the density's columns.
struct NotedQuestion {
  Oid database;
  int64 density_id;  // 0: none
  Aggregate aggregate;
  int columns;                  // asked about: those with a range, then perhaps the measure
  int sides;                    // of them
  int measure;                  // index in them; -1: none
  int place[kde::kMaxColumns];  // column of the density, or 1 + its measure (AnsweringDensity)
  bool of_word;                 // of a category by itself
  uint32 word;                  // its rank
  kde::Range range[kde::kMaxColumns];
};

// False where it is no question as above, as variances and several words are not.
bool describe_question(Aggregate aggregate, const Question& question,
                       const AnsweringDensity& density, const kde::Range* ranges,
                       NotedQuestion* out);

void note_question_now(Aggregate aggregate, const Question& question,
                       const AnsweringDensity& density, const kde::Range* ranges);

// A density answers that. Raises no error, and waits for nobody.
inline void note_question(Aggregate aggregate, const Question& question,
                          const AnsweringDensity& density, const kde::Range* ranges) {
  if (option_self_check_budget > 0) note_question_now(aggregate, question, density, ranges);
}

inline constexpr int kMostNotedQuestions = 64;

// Takes those of this database out, oldest first; how many.
int take_questions(NotedQuestion out[kMostNotedQuestions]);

// From _PG_init, while shared_preload_libraries are loaded.
void request_question_memory();

}  // namespace kde_pg
