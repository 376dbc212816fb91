// Texts as SQL's arrays have them and as lists of C strings.
#pragma once

#include "pg/base/pg.h"

extern "C" {
#include "common/hashfn.h"
}

namespace kde_pg {

// The elements of a text[] of one dimension, char* each; of a null "", or where `null_is_error`
// gives the array's name, error 22004. NIL of no such array, and of null.
List* texts_of_array(ArrayType* array, const char* null_is_error = nullptr);

ArrayType* array_of_texts(const char* const* texts, int count);
ArrayType* array_of_texts(const List* texts);

inline uint64 hash_text(const char* text, uint64 seed = 0) {
  return hash_bytes_extended(reinterpret_cast<const unsigned char*>(text),
                             static_cast<int>(strlen(text)), seed);
}

}  // namespace kde_pg
