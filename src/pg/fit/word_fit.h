// What a density of a category is fitted from and how: its values counted as they are met
// (kde::Words), the most frequent kept as text.
#pragma once

#include "pg/fit/estimate.h"
#include "pg/read/categories.h"
#include "pg/type/word_type.h"

namespace kde_pg {

// What Categories of a fit may take: of the values themselves, of all columns that are read
// together; beside them each takes what kde::Words counts, as much again at most where they are
// short. Some is allowed whatever maintenance_work_mem.
Size most_word_memory();
// After a scan, as its user: ranks the values and keeps the most frequent as text; of an enum the
// labels without rows, too.
void keep_words(const Categories& categories, WordType* type, kde::Words* words);
// FitOptions::word_flags.
uint32 word_flags(const WordType& type);
// Of a key's column; its functions live as long as `context`.
WordType word_type(const DensityKey& key, MemoryContext context);
kde::Words::Options word_options(const DensityRequest& request, const WordType& type);
// Words behind the cells of a density of their ranks.
kde::Status append_words(const kde::Words& words, const WordType& type, kde::FitOptions* options,
                         kde::DensityBytes* density) noexcept;
// What a density of words says of itself.
void describe_words(const kde::Header* density, DensityFit* fit);

}  // namespace kde_pg
