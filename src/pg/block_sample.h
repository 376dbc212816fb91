// Which blocks of a table a sampling scan reads: a uniform choice without replacement.
//
// Numbers are drawn, sorted and stripped of repeats until there are enough. Every step treats all
// blocks alike, so every set of that size is as likely as any other. Where more than half of the
// blocks are wanted, those to leave out are drawn instead. Work and memory are of the order of the
// blocks wanted, not of those in the table: selection sampling (Knuth, TAOCP 2, 3.4.2, Algorithm S)
// would draw a number for each of a large table's 10^10 blocks.
#pragma once

#include "pg/pg.h"

#include "core/random.h"

namespace kde_pg {

// `wanted` different numbers of 0 .. total-1 in ascending order, palloc'ed; 1 <= wanted <= total.
uint64* choose_blocks(uint64 total, uint64 wanted, kde::Random* random);

}  // namespace kde_pg
