// Which blocks of a table a sampling scan reads: one from each of as many stretches of neighbouring
// blocks, all of the same length, so that a table in the order of its column (an increasing key, a
// time) is covered evenly; there, blocks drawn independently would miss a stretch and count another
// twice. Where order and value have nothing to do with each other the choice is as good as an
// independent one.
//
// Every block has the same chance p = wanted / total. A stretch is 1/p blocks long, which is no
// whole number, so stretches share blocks: stretches of two and of three blocks instead would make
// some blocks count for more than others, and where a pattern of the table keeps step with theirs,
// all of one kind. Source: ordered pivotal sampling, J.-C. Deville and Y. Tille, Unequal
// probability sampling without replacement through a splitting method, Biometrika 85 (1998), with
// equal chances; that it draws one of each stretch: G. Chauvet, On a characterization of ordered
// pivotal sampling, Bernoulli 18 (2012).
//
// The stretches lie on the circle of all blocks and start at a random one.
#pragma once

#include "core/random.h"

#include <cstdint>
#include <span>

namespace kde {

// As many different numbers of 0 .. total-1 as `chosen` is long, in ascending order: at least one,
// at most total < 2^62.
void choose_blocks(std::uint64_t total, std::span<std::uint64_t> chosen, Random* random);

}  // namespace kde
