// A hash table of words: word_finder.h.
#include "pg/read/word_finder.h"

#include "pg/base/pinned.h"
#include "pg/base/subtransaction.h"

extern "C" {
#include "miscadmin.h"
#include "utils/memutils.h"
}

namespace kde_pg {

void WordFinder::begin(const kde::WordsView* words, WordType* type) {
  words_ = words;
  type_ = type;
  context_ = AllocSetContextCreate(CurrentMemoryContext, "kde_aqp words", ALLOCSET_DEFAULT_SIZES);
  each_ = AllocSetContextCreate(context_, "kde_aqp word", ALLOCSET_DEFAULT_SIZES);
  read_ = outdated_ = false;
}

int64 WordFinder::find(Datum value) {
  MemoryContext caller = MemoryContextSwitchTo(each_);
  int64 rank = words_->find(type_->text(value));
  if (rank < 0 && !type_->direct()) {
    if (!read_) read();
    const uint32 number = values_.find(value);
    if (number > 0) rank = rank_of_[number - 1];
  }
  MemoryContextSwitchTo(caller);
  MemoryContextReset(each_);
  return rank;
}

void WordFinder::read() {
  read_ = true;
  values_.begin(type_->base(), type_->collation(), "words", context_);
  rank_of_ =
      static_cast<uint32*>(MemoryContextAlloc(context_, sizeof(uint32) * Max(words_->words(), 1)));
  const auto read_all = [this] {
    // What was printed under pinned settings is read under them.
    PinnedSettings settings;
    settings.begin();
    for (uint32 i = 0; i < words_->words(); ++i) {
      CHECK_FOR_INTERRUPTS();
      const std::string_view word = words_->word(i);
      const Datum value = type_->read(pnstrdup(word.data(), word.size()));
      const uint32 before = values_.size();
      if (values_.number(value) > before) rank_of_[before] = i;
      MemoryContextReset(each_);
    }
    settings.end();
  };
  // A parallel worker has no subtransactions.
  if (IsInParallelMode())
    read_all();
  else
    outdated_ = !without_error(read_all);
}

}  // namespace kde_pg
