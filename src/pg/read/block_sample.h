// Which blocks of a table a sampling scan reads: one from each of as many strata of neighbouring
// blocks, so that a table in the order of its column (an increasing key, a time) is covered evenly;
// there, blocks drawn independently would miss a stretch and count another twice. Where order and
// value have nothing to do with each other the choice is as good as an independent one.
// Source: stratified sampling with one unit a stratum, Cochran, Sampling Techniques (1977),
// sections 5A.7 and 8.5.
//
// The strata's sizes differ by at most one block. They lie on the circle of all blocks and start at
// a random one, so that every block is as likely as any other.
#pragma once

#include "pg/base/pg.h"

#include "core/kde.h"

namespace kde_pg {

// `wanted` different numbers of 0 .. total-1 in ascending order, palloc'ed;
// 1 <= wanted <= total < 2^63.
uint64* choose_blocks(uint64 total, uint64 wanted, kde::Random* random);

}  // namespace kde_pg
