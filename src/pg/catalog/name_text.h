// Names within texts: identifiers with points between them, and lists with commas.
#pragma once

#include "pg/base/pg.h"

namespace kde_pg {

// An identifier that needs no quotes.
bool is_word(const char* text);

// The first of `wanted` outside quotes and, of a comma or the end, outside brackets; null if there
// is none. Strings with backslash escapes and dollar quotes are not looked into: an expression with
// a bracket or comma in one can be written with a plain string.
const char* find_outside(const char* from, const char* wanted);

// The elements of a list between begin and end, a text[]: identifiers as SQL reads them, and
// expressions. Null where one is empty.
ArrayType* elements_of(const char* begin, const char* end);

// The identifiers of a qualified name (String*). Error 42602; the hint is the name in quotes.
List* identifiers_of(text* name);

// A list as in GROUP BY, or an array's text, '{column,expression}', whose elements are as they are.
// argument: of which function's it is, for the error 42602. Others: those of text[].
ArrayType* names_list(text* list, const char* argument);

// The table of a number, as regclass has one where no table is of the text's name. True: it is one.
bool is_number_of_table(const char* text, Oid* relation);

}  // namespace kde_pg
