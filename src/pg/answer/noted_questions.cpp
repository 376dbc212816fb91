// The ring of questions that were answered, in shared memory.
#include "pg/answer/noted_questions.h"

#include "pg/base/shared_memory.h"

extern "C" {
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/lwlock.h"
#include "utils/timestamp.h"
}

#include <algorithm>

namespace kde_pg {

namespace {

struct Ring {
  LWLock* lock;
  uint32 next;
  NotedQuestion question[kMostNotedQuestions];
};

Ring* ring = nullptr;

void attach(void* memory, LWLock* lock, bool is_new) {
  ring = static_cast<Ring*>(memory);
  if (is_new) ring->lock = lock;
}

}  // namespace

bool describe_question(Aggregate aggregate, const Question& q, const AnsweringDensity& density,
                       const kde::Range* ranges, NotedQuestion* out) {
  if (aggregate > Aggregate::avg || density.fit.density_id == 0 || q.grouped != nullptr)
    return false;
  out->database = MyDatabaseId;
  out->density_id = density.fit.density_id;
  out->aggregate = aggregate;
  out->columns = q.asked.columns;
  out->sides = q.sides;
  out->measure = q.measure;
  out->of_word = density.words != nullptr;
  out->word = 0;
  if (out->of_word) {
    if (density.words->ranks.size() != 1 || density.words->unknown > 0) return false;
    out->word = density.words->ranks[0];
  }
  for (int i = 0; i < q.asked.columns; ++i) out->place[i] = density.place[i];
  for (int i = 0; i < q.sides; ++i) {
    if (density.side_words[i] != nullptr) return false;
    out->range[i] = ranges[i];
  }
  return true;
}

void note_question_now(Aggregate aggregate, const Question& q, const AnsweringDensity& density,
                       const kde::Range* ranges) {
  static TimestampTz next_at = 0;
  if (ring == nullptr) return;
  // No look at the clock: a statement that asks a million times is to lose nothing by it.
  const TimestampTz now = GetCurrentStatementStartTimestamp();
  if (now < next_at) return;
  NotedQuestion noted;
  if (!describe_question(aggregate, q, density, ranges, &noted)) return;
  if (!LWLockConditionalAcquire(ring->lock, LW_EXCLUSIVE)) return;
  next_at = now + USECS_PER_SEC;
  ring->question[ring->next++ % kMostNotedQuestions] = noted;
  LWLockRelease(ring->lock);
}

int take_questions(NotedQuestion out[kMostNotedQuestions]) {
  if (ring == nullptr) return 0;
  int count = 0;
  LWLockAcquire(ring->lock, LW_EXCLUSIVE);
  for (uint32 i = 0; i < kMostNotedQuestions; ++i) {
    NotedQuestion& q = ring->question[(ring->next + i) % kMostNotedQuestions];
    if (q.density_id == 0 || q.database != MyDatabaseId) continue;
    out[count++] = q;
    q.density_id = 0;
  }
  LWLockRelease(ring->lock);
  return count;
}

void request_question_memory() {
  request_shared_memory({"kde_aqp questions", sizeof(Ring), attach});
}

}  // namespace kde_pg
